//! Zip archives from strangers, for npz and PyTorch files.
//!
//! The central directory decides before anything is inflated: the declared sizes together may be at
//! most [`inflation_limit`] of the archive's size, no two entries share a name, none is encrypted.
//! Every read is then bounded by the declared size of its entry, and the checksum is verified when
//! the entry ends.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipFileHeaderRecord, ZipSliceArchive};

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
    checksum: u32,
    place: ZipArchiveEntryWayfinder,
}

/// An opened archive.
pub(crate) struct Archive<'a> {
    zip: ZipSliceArchive<&'a [u8]>,
    entries: Vec<Entry>,
    places: BTreeMap<String, usize>,
}

impl<'a> Archive<'a> {
    /// Reads and checks the central directory.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let no_archive = |what: &str| FormatError::malformed(format!("no zip archive: {}", clipped(what)));
        let zip = ZipArchive::from_slice(bytes).map_err(|e| no_archive(&e.to_string()))?;
        let (mut entries, mut places) = (Vec::new(), BTreeMap::new());
        let mut total = 0u64;
        for record in zip.entries() {
            let entry = check_entry(&record.map_err(|e| no_archive(&e.to_string()))?)?;
            total = total.saturating_add(entry.size);
            if places.insert(entry.name.clone(), entries.len()).is_some() {
                return Err(broken(&entry.name, "the archive holds it twice"));
            }
            entries.push(entry);
        }
        if entries.len() as u64 != zip.entries_hint() {
            let (expected, found) = (zip.entries_hint(), entries.len());
            return Err(no_archive(&format!("its end announces {expected} entries, found {found}")));
        }
        if total > inflation_limit(bytes.len()) {
            return Err(FormatError::malformed(format!(
                "the archive has {} bytes and declares {total} when inflated; at most {} (64 MiB + 32 x the file's \
                 size) are read",
                bytes.len(),
                inflation_limit(bytes.len())
            )));
        }
        Ok(Archive { zip, entries, places })
    }

    /// The entries, in the order of the central directory.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The place of the entry of this name in [`Archive::entries`].
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// The contents of entry `index` from their beginning.
    pub(crate) fn reader(&self, index: usize) -> Result<EntryReader<'a>, FormatError> {
        let entry = &self.entries[index];
        let packed = self.packed(entry)?;
        let source = if entry.stored {
            Source::Stored(packed)
        } else {
            Source::Deflated(Box::new(DeflateDecoder::new(packed)))
        };
        let (name, checksum, left) = (entry.name.clone(), entry.checksum, entry.size);
        Ok(EntryReader { source, name, checksum, found: Crc::new(), left })
    }

    /// The whole contents of entry `index`: borrowed if stored, inflated otherwise.
    pub(crate) fn contents(&self, index: usize) -> Result<Cow<'a, [u8]>, FormatError> {
        let entry = &self.entries[index];
        let size = usize::try_from(entry.size)
            .map_err(|_| broken(&entry.name, "it is too large for this machine"))?;
        if entry.stored {
            let contents = self.packed(entry)?;
            let mut found = Crc::new();
            found.update(contents);
            check_sum(&entry.name, entry.checksum, &found)?;
            return Ok(Cow::Borrowed(contents));
        }
        let mut reader = self.reader(index)?;
        // The declared size is bounded by that of the file, but memory is taken as it is needed.
        let mut contents = Vec::new();
        let inflated = reader.source.by_ref().take(size as u64).read_to_end(&mut contents);
        inflated.map_err(|e| broken(&entry.name, &e.to_string()))?;
        reader.found.update(&contents);
        reader.left -= contents.len() as u64;
        reader.finish()?;
        Ok(Cow::Owned(contents))
    }

    /// The bytes of an entry as they stand in the archive.
    fn packed(&self, entry: &Entry) -> Result<&'a [u8], FormatError> {
        let found =
            self.zip.get_entry(entry.place).map_err(|e| broken(&entry.name, &clipped(&e.to_string())))?;
        let (start, end) = found.compressed_data_range();
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let bytes: &'a [u8] = self.zip.get_ref();
        range
            .and_then(|(start, end)| bytes.get(start..end))
            .ok_or_else(|| broken(&entry.name, "the file ends inside it"))
    }
}

/// Where the bytes of an entry come from.
enum Source<'a> {
    Stored(&'a [u8]),
    Deflated(Box<DeflateDecoder<&'a [u8]>>),
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Source::Stored(bytes) => bytes.read(buffer),
            Source::Deflated(decoder) => decoder.read(buffer),
        }
    }
}

/// A reader of one entry that gives exactly the declared number of bytes or fails.
pub(crate) struct EntryReader<'a> {
    source: Source<'a>,
    name: String,
    checksum: u32,
    found: Crc,
    left: u64,
}

impl EntryReader<'_> {
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
        self.source.read_exact(buffer).map_err(|e| broken(&self.name, &e.to_string()))?;
        self.found.update(buffer);
        self.left -= length;
        Ok(())
    }

    /// Checks that the entry ends here and that its checksum is right.
    pub(crate) fn finish(mut self) -> Result<(), FormatError> {
        if self.left > 0 {
            return Err(broken(&self.name, &format!("expected its end, found {} more bytes", self.left)));
        }
        match self.source.read(&mut [0]) {
            Ok(0) => check_sum(&self.name, self.checksum, &self.found),
            Ok(_) => Err(broken(&self.name, "it inflates to more bytes than the archive declares")),
            Err(e) => Err(broken(&self.name, &e.to_string())),
        }
    }
}

fn check_sum(name: &str, expected: u32, found: &Crc) -> Result<(), FormatError> {
    if found.sum() == expected { Ok(()) } else { Err(broken(name, "its checksum is wrong")) }
}

fn check_entry(record: &ZipFileHeaderRecord) -> Result<Entry, FormatError> {
    let path = record.file_path();
    let raw: &[u8] = path.as_ref();
    let name = std::str::from_utf8(raw).map_err(|_| {
        let lossy = String::from_utf8_lossy(raw);
        FormatError::malformed(format!("entry {}: its name is not UTF-8", quoted(&lossy)))
    })?;
    if record.flags().is_encrypted() {
        return Err(FormatError::unsupported(format!("entry {}: it is encrypted", quoted(name))));
    }
    let stored = match record.compression_method() {
        CompressionMethod::STORE => true,
        CompressionMethod::DEFLATE => false,
        other => {
            let message =
                format!("entry {}: expected stored or deflated data, found {other:?}", quoted(name));
            return Err(FormatError::unsupported(message));
        }
    };
    let (packed, size) = (record.compressed_size_hint(), record.uncompressed_size_hint());
    if stored && packed != size {
        let message = format!("entry {}: {packed} stored bytes are declared to be {size}", quoted(name));
        return Err(FormatError::malformed(message));
    }
    let (checksum, place) = (record.crc32(), record.wayfinder());
    Ok(Entry { name: name.to_owned(), size, stored, checksum, place })
}

fn broken(entry: &str, what: &str) -> FormatError {
    FormatError::malformed(format!("entry {}: {what}", quoted(entry)))
}
