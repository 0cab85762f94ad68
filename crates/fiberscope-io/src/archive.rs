//! Zip archives from strangers, for npz and PyTorch files.
//!
//! The central directory decides before anything is inflated: the declared sizes together may be at
//! most [`inflation_limit`] of the archive's size, no two entries share a name, none is encrypted.
//! Every read is then bounded by the declared size of its entry, and the checksum is verified when
//! the entry ends.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Cursor, Read};

use zip::read::{ArchiveOffset, Config, ZipFile};
use zip::{CompressionMethod, ZipArchive};

use crate::FormatError;
use crate::state_dict::{clipped, quoted};

/// The most bytes that are made out of a file of `file_size` bytes: 64 MiB + 32 x its size.
pub(crate) fn inflation_limit(file_size: usize) -> u64 {
    (64 << 20) + 32 * file_size as u64
}

/// One file inside an archive.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Its name, with folders.
    pub(crate) name: String,
    /// Its size when inflated, as the archive declares it.
    pub(crate) size: u64,
    stored: bool,
}

/// An opened archive.
pub(crate) struct Archive<'a> {
    bytes: &'a [u8],
    zip: ZipArchive<Cursor<&'a [u8]>>,
    entries: Vec<Entry>,
}

impl<'a> Archive<'a> {
    /// Reads and checks the central directory.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, FormatError> {
        // Guessing the offset, the zip reader mistakes the second record of some archives for the first:
        // those of PyTorch whose first record is as long as the 76 bytes between directory and end record.
        let config = Config { archive_offset: ArchiveOffset::Known(0) };
        let zip = ZipArchive::with_config(config, Cursor::new(bytes))
            .map_err(|e| FormatError::malformed(format!("no zip archive: {}", clipped(&e.to_string()))))?;
        if zip.has_duplicate_names() {
            return Err(duplicate_name(bytes, zip.central_directory_start()));
        }
        let entries = (0..zip.len()).map(|i| check_entry(&zip, i)).collect::<Result<Vec<_>, _>>()?;
        let total = entries.iter().fold(0u64, |sum, entry| sum.saturating_add(entry.size));
        if total > inflation_limit(bytes.len()) {
            return Err(FormatError::malformed(format!(
                "the archive has {} bytes and declares {total} when inflated; at most {} (64 MiB + 32 x the file's \
                 size) are read",
                bytes.len(),
                inflation_limit(bytes.len())
            )));
        }
        Ok(Archive { bytes, zip, entries })
    }

    /// The entries, in the order of the central directory.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The place of the entry of this name in [`Archive::entries`].
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.zip.index_for_name_raw(name.as_bytes())
    }

    /// The contents of entry `index` from their beginning.
    pub(crate) fn reader(&mut self, index: usize) -> Result<EntryReader<'_, 'a>, FormatError> {
        let Entry { name, size, .. } = self.entries[index].clone();
        match self.zip.by_index(index) {
            Ok(file) => Ok(EntryReader { file, name, left: size }),
            Err(e) => Err(broken(&name, &clipped(&e.to_string()))),
        }
    }

    /// The whole contents of entry `index`: borrowed if stored, inflated otherwise.
    pub(crate) fn contents(&mut self, index: usize) -> Result<Cow<'a, [u8]>, FormatError> {
        let (bytes, Entry { name, size, stored }) = (self.bytes, self.entries[index].clone());
        let size = usize::try_from(size).map_err(|_| broken(&name, "it is too large for this machine"))?;
        let mut reader = self.reader(index)?;
        if stored {
            let start = reader.file.data_start().and_then(|start| usize::try_from(start).ok());
            io::copy(&mut reader.file, &mut io::sink()).map_err(|e| broken(&name, &e.to_string()))?;
            let contents = start.and_then(|start| bytes.get(start..start.checked_add(size)?));
            return contents.map(Cow::Borrowed).ok_or_else(|| broken(&name, "the file ends inside it"));
        }
        let mut contents = Vec::new();
        let inflated = reader.file.by_ref().take(size as u64).read_to_end(&mut contents);
        inflated.map_err(|e| broken(&name, &e.to_string()))?;
        reader.left -= contents.len() as u64;
        reader.finish()?;
        Ok(Cow::Owned(contents))
    }
}

/// A reader of one entry that gives exactly the declared number of bytes or fails.
pub(crate) struct EntryReader<'z, 'a> {
    file: ZipFile<'z, Cursor<&'a [u8]>>,
    name: String,
    left: u64,
}

impl EntryReader<'_, '_> {
    /// The declared number of bytes that have not been read yet.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Fills `buffer` with the next bytes.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<(), FormatError> {
        let length = buffer.len() as u64;
        if length > self.left {
            return Err(broken(&self.name, &format!("expected {length} more bytes, found {}", self.left)));
        }
        self.file.read_exact(buffer).map_err(|e| broken(&self.name, &e.to_string()))?;
        self.left -= length;
        Ok(())
    }

    /// Checks that the entry ends here and that its checksum is right.
    pub(crate) fn finish(mut self) -> Result<(), FormatError> {
        if self.left > 0 {
            return Err(broken(&self.name, &format!("expected its end, found {} more bytes", self.left)));
        }
        match self.file.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(broken(&self.name, "it inflates to more bytes than the archive declares")),
            Err(e) => Err(broken(&self.name, &e.to_string())),
        }
    }
}

fn check_entry(zip: &ZipArchive<Cursor<&[u8]>>, index: usize) -> Result<Entry, FormatError> {
    let data = zip.by_index_data(index).map_err(|e| FormatError::malformed(clipped(&e.to_string())))?;
    let name = std::str::from_utf8(data.name_raw()).map_err(|_| {
        let lossy = String::from_utf8_lossy(data.name_raw());
        FormatError::malformed(format!("entry {}: its name is not UTF-8", quoted(&lossy)))
    })?;
    if data.encrypted() {
        return Err(FormatError::unsupported(format!("entry {}: it is encrypted", quoted(name))));
    }
    let (stored, packed, size) = match data.compression() {
        CompressionMethod::Stored => (true, data.compressed_size(), data.size()),
        CompressionMethod::Deflated => (false, data.compressed_size(), data.size()),
        other => {
            let message =
                format!("entry {}: expected stored or deflated data, found {other:?}", quoted(name));
            return Err(FormatError::unsupported(message));
        }
    };
    if stored && packed != size {
        let message = format!("entry {}: {packed} stored bytes are declared to be {size}", quoted(name));
        return Err(FormatError::malformed(message));
    }
    Ok(Entry { name: name.to_owned(), size, stored })
}

fn broken(entry: &str, what: &str) -> FormatError {
    FormatError::malformed(format!("entry {}: {what}", quoted(entry)))
}

/// Walks the central directory (46 bytes, name, extra field, comment per entry) for the name that
/// occurs twice; the zip reader only knows that there is one.
fn duplicate_name(bytes: &[u8], directory: u64) -> FormatError {
    let mut names = BTreeSet::new();
    let mut rest = usize::try_from(directory).ok().and_then(|start| bytes.get(start..)).unwrap_or_default();
    while let Some(record) = rest.get(..46).filter(|record| record.starts_with(b"PK\x01\x02")) {
        let length = |at: usize| usize::from(u16::from_le_bytes([record[at], record[at + 1]]));
        let end = 46 + length(28);
        let Some(name) = rest.get(46..end) else { break };
        if !names.insert(name) {
            let name = String::from_utf8_lossy(name);
            return FormatError::malformed(format!("entry {}: the archive holds it twice", quoted(&name)));
        }
        rest = rest.get(end + length(30) + length(32)..).unwrap_or_default();
    }
    FormatError::malformed("two entries of the archive share a name")
}
