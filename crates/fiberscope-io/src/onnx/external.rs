//! Numbers of a model that stand in files beside it (`external_data`).
//!
//! A file may name any path. Only plain names are followed, to files of the folder in which the model lies.

use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use super::proto::Quoted;
use super::wire::Message;
use crate::FormatError;

const SAVE: &str = "save the model with its data inside (onnx.save_model without save_as_external_data)";

/// Where the numbers of a tensor are.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    location: String,
    offset: u64,
    length: Option<u64>,
}

impl Place {
    /// Takes over one entry of `external_data`: a key and a text.
    pub(super) fn set(&mut self, entry: Message) -> Result<(), FormatError> {
        let text = |number| entry.last(number)?.map_or(Ok(""), |field| field.text());
        let (key, value) = (text(1)?, text(2)?);
        let number = || {
            value.parse::<u64>().map_err(|_| {
                FormatError::malformed(format!("external data: its {key} is {}, no number", Quoted(value)))
            })
        };
        match key {
            "location" => self.location = value.to_owned(),
            "offset" => self.offset = number()?,
            "length" => self.length = Some(number()?),
            _ => {}
        }
        Ok(())
    }
}

/// The folder of the model, if it came from a file.
pub(super) struct External {
    folder: Option<PathBuf>,
    /// The bytes that were read.
    read: Cell<usize>,
}

impl External {
    /// Files of this folder.
    pub(super) fn new(folder: Option<&Path>) -> Self {
        External { folder: folder.map(Path::to_owned), read: Cell::new(0) }
    }

    /// No files.
    #[cfg(test)]
    pub(super) fn none() -> Self {
        External::new(None)
    }

    /// How many bytes were read so far.
    pub(super) fn bytes(&self) -> usize {
        self.read.get()
    }

    /// The bytes at a place, of which there must be `size`; the error is a reason.
    pub(super) fn read(&self, place: &Place, size: usize) -> Result<Vec<u8>, String> {
        let name = Path::new(&place.location);
        let shown = Quoted(&place.location);
        let Some(folder) = &self.folder else {
            return Err(format!("there is no folder to look for {shown} in; {SAVE}"));
        };
        if !matches!(name.components().collect::<Vec<_>>().as_slice(), [Component::Normal(_)]) {
            return Err(format!("expected the name of a file beside the model, found {shown}; {SAVE}"));
        }
        if place.length.is_some_and(|length| length != size as u64) {
            return Err(format!(
                "{shown} holds {} bytes of it; expected {size}",
                place.length.unwrap_or_default()
            ));
        }
        let failed = |error: std::io::Error| format!("{shown}: {error}");
        let path = folder.join(name).canonicalize().map_err(failed)?;
        if path.parent() != folder.canonicalize().ok().as_deref() {
            return Err(format!("{shown} leads outside the folder of the model"));
        }
        if !path.is_file() {
            return Err(format!("{shown} is no plain file"));
        }
        let mut file = File::open(path).map_err(failed)?;
        let there = file.metadata().map_err(failed)?.len();
        if place.offset.checked_add(size as u64).is_none_or(|end| end > there) {
            let found = format!("expected {size} bytes from byte {} on", place.offset);
            return Err(format!("{shown} has {there} bytes; {found}"));
        }
        file.seek(SeekFrom::Start(place.offset)).map_err(failed)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|_| format!("{shown} holds more than fits into memory"))?;
        file.take(size as u64).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() != size {
            return Err(format!("{shown} ended early"));
        }
        self.read.set(self.read.get().saturating_add(size));
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_beside_the_model_are_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("w.data"), [1, 2, 3, 4, 5]).unwrap();
        let inner = folder.path().join("model");
        std::fs::create_dir(&inner).unwrap();
        let at = |location: &str, offset| Place { location: location.into(), offset, length: None };
        let files = External::new(Some(folder.path()));
        assert_eq!(files.read(&at("w.data", 1), 4).unwrap(), [2, 3, 4, 5]);
        assert_eq!(files.bytes(), 4);
        assert!(files.read(&at("w.data", 2), 4).unwrap_err().contains("has 5 bytes"));
        assert!(files.read(&at("w.data", u64::MAX), 4).is_err());
        let files = External::new(Some(&inner));
        for location in ["../w.data", "/etc/hostname", "a/../../w.data", "", ".", ".."] {
            let reason = files.read(&at(location, 0), 1).unwrap_err();
            assert!(reason.contains("expected the name of a file beside the model"), "{location}: {reason}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.path().join("w.data"), inner.join("link")).unwrap();
            assert!(files.read(&at("link", 0), 1).unwrap_err().contains("outside the folder"));
        }
        assert!(External::none().read(&at("w.data", 0), 1).unwrap_err().contains("no folder"));
    }
}
