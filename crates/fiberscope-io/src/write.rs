//! Output files appear whole or not at all.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use crate::IoError;

/// Writes a file through a temporary file in the same folder, renamed at the end, so that no reader ever sees
/// a half-written file and a failure leaves what was there before. Devices and pipes are written directly:
/// they must not be replaced.
pub fn write_atomically(
    path: &Path,
    contents: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<(), IoError> {
    write(path, contents).map_err(|source| IoError::File { path: path.to_owned(), source })
}

fn write(path: &Path, contents: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> io::Result<()> {
    check_place(path)?;
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        let file = File::options().write(true).open(path)?;
        let mut writer = BufWriter::with_capacity(1 << 20, &file);
        contents(&mut writer)?;
        return writer.flush();
    }
    let folder = folder_of(path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".fiberscope-");
    #[cfg(unix)]
    {
        // The umask then decides, as it does for files made directly.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    // The kind alone: the full error names the temporary file, which the user never asked for.
    let begin = || builder.tempfile_in(folder).map_err(|error| io::Error::from(error.kind()));
    let (file, _listed) = begin_listed(begin)?;
    let mut writer = BufWriter::with_capacity(1 << 20, file.as_file());
    contents(&mut writer)?;
    writer.flush()?;
    drop(writer);
    let _held = begun();
    file.persist(path).map_err(|failure| failure.error)?;
    Ok(())
}

/// The temporary files of this process that are being written: what a process that ends in the midst of its
/// work has to remove.
static BEGUN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The place of a temporary file in the list.
struct Listed(PathBuf);

impl Drop for Listed {
    fn drop(&mut self) {
        begun().remove(&self.0);
    }
}

fn begin_listed(begin: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<(NamedTempFile, Listed)> {
    let mut begun = begun();
    let file = begin()?;
    begun.insert(file.path().to_owned());
    let listed = Listed(file.path().to_owned());
    Ok((file, listed))
}

fn begun() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    BEGUN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds all files of [`write_atomically`] where they are, for a process that is about to end in the midst of
/// its work: while the returned guard lives no file is begun and none takes its place. Dropped, it lets the
/// writers go on.
pub fn hold_writes() -> HeldWrites {
    HeldWrites(begun())
}

/// See [`hold_writes`].
pub struct HeldWrites(MutexGuard<'static, BTreeSet<PathBuf>>);

impl HeldWrites {
    /// Removes the temporary files of unfinished writes. The process has to end now: their writers will fail.
    pub fn remove(&self) {
        for path in &*self.0 {
            // What cannot be removed stays; there is nobody to tell.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Whether a file can be at this place: no folder is there, but the folder around it.
pub(crate) fn check_place(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "expected a file, found a folder"));
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        let missing = format!("there is no folder {}", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, missing));
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        // Through a link, so that a failure of this test does no harm.
        let link = folder.path().join("full");
        std::os::unix::fs::symlink("/dev/full", &link).unwrap();
        let error = write_atomically(&link, |w| w.write_all(b"new")).unwrap_err();
        assert!(error.to_string().contains("No space left"), "{error}");
        assert!(link.metadata().unwrap().file_type().is_char_device());
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        write_atomically(&path, |w| w.write_all(b"old")).unwrap();
        let failed = write_atomically(&path, |w| {
            w.write_all(b"new")?;
            Err(io::Error::other("the disk is full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), format!("{}: the disk is full", path.display()));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let missing = write_atomically(&folder.path().join("a/b"), |w| w.write_all(b"x")).unwrap_err();
        assert!(missing.to_string().contains("there is no folder"), "{missing}");
        let failed = write_atomically(folder.path(), |w| w.write_all(b"x")).unwrap_err();
        assert!(failed.to_string().ends_with("expected a file, found a folder"), "{failed}");
    }

    #[test]
    fn held_writes_leave_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        std::fs::write(&path, "before").unwrap();
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        let failed = write_atomically(&path, |file| {
            file.write_all(b"half")?;
            assert_eq!(names(), 2);
            hold_writes().remove();
            assert_eq!(names(), 1);
            Ok(())
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "before");
        write_atomically(&path, |file| file.write_all(b"after")).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "after");
        assert!(!begun().iter().any(|listed| listed.starts_with(folder.path())));
    }
}
