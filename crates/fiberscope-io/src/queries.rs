//! The log of queries and answers: what was paid for is never asked again.
//!
//! A line of JSON names the run; a record per batch follows, written and flushed before the answers are used.
//! A record is its length (4 bytes), its content and the first 8 bytes of the content's SHA-256. The content
//! is the number of rows (4 bytes) and, for every row, a bit per input that is set where the input differs
//! from that of the row before (the first row: from 0), those inputs, and the outputs; numbers are doubles,
//! and everything is little-endian. Steps along one input, of which most queries consist, take a few bytes
//! this way.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use fiberscope_core::Matrix;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

const FORMAT: &str = "fiberscope-queries";
const VERSION: u32 = 1;
/// No first line is longer, and no record.
const LONGEST_LINE: u64 = 1 << 16;
const LONGEST_RECORD: u32 = 1 << 30;

/// What decides which queries a run asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The number of inputs.
    pub inputs: usize,
    /// The number of outputs.
    pub outputs: usize,
    /// The seed.
    pub seed: u64,
    /// The interval of every input.
    pub domain: (f64, f64),
    /// The hidden widths, if they are given.
    pub widths: Option<Vec<usize>>,
    /// The noise of an answer, if it is given.
    pub noise: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    version: u32,
    fiberscope: String,
    #[serde(flatten)]
    run: Run,
}

/// Why a log cannot be used.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum LogError {
    #[error("{path}: {source}", path = .path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{path}: not a log of queries: {reason}", path = .path.display())]
    Format { path: PathBuf, reason: String },
    #[error("{path}: the log of another run: it has {key} {found}, this run has {expected}", path = .path.display())]
    OtherRun { path: PathBuf, key: &'static str, found: String, expected: String },
    #[error("{path}: damaged at byte {at}, before its end", path = .path.display())]
    Damaged { path: PathBuf, at: u64 },
    #[error("{path}: in use by another run", path = .path.display())]
    InUse { path: PathBuf },
}

/// An open log: read from the start, then written at the end.
pub struct Log {
    path: PathBuf,
    file: File,
    reader: BufReader<File>,
    /// Where the next record to be read begins, and where the good ones end.
    at: u64,
    end: u64,
    run: Run,
    /// The version that wrote it.
    pub written_by: String,
}

/// A batch of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The queries, one per row.
    pub points: Matrix,
    /// The answers, one per row.
    pub answers: Matrix,
}

impl Log {
    /// Opens the log of this run, or begins one. A record that was cut off while it was written is left out.
    pub fn open(path: &Path, run: &Run) -> Result<Self, LogError> {
        let fail = |source| LogError::File { path: path.to_owned(), source };
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(fail)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(LogError::InUse { path: path.to_owned() }),
            // Some file systems have no locks: better a log than none.
            Err(TryLockError::Error(_)) | Ok(()) => {}
        }
        let mut written_by = env!("CARGO_PKG_VERSION").to_owned();
        let length = file.metadata().map_err(fail)?.len();
        if length == 0 {
            let header = Header {
                format: FORMAT.into(),
                version: VERSION,
                fiberscope: written_by.clone(),
                run: run.clone(),
            };
            let mut line = serde_json::to_vec(&header).expect("the header is plain data");
            line.push(b'\n');
            file.write_all(&line).map_err(fail)?;
        }
        file.seek(SeekFrom::Start(0)).map_err(fail)?;
        let mut reader = BufReader::with_capacity(1 << 18, file.try_clone().map_err(fail)?);
        let mut line = Vec::new();
        reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(fail)?;
        let header = read_header(path, &line)?;
        compare(path, &header.run, run)?;
        written_by.clone_from(&header.fiberscope);
        let start = line.len() as u64;
        let mut log = Log {
            path: path.to_owned(),
            file,
            reader,
            at: start,
            end: length.max(start),
            run: run.clone(),
            written_by,
        };
        log.end = log.find_end()?;
        log.at = start;
        log.reader.seek(SeekFrom::Start(start)).map_err(fail)?;
        Ok(log)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next batch; `None` at the end.
    pub fn next_batch(&mut self) -> Result<Option<Record>, LogError> {
        if self.at >= self.end {
            return Ok(None);
        }
        let damaged = LogError::Damaged { path: self.path.clone(), at: self.at };
        let content = match self.content() {
            Ok(Some(content)) => content,
            _ => return Err(damaged),
        };
        self.at += content.len() as u64 + 12;
        decode(&content, self.run.inputs, self.run.outputs).map(Some).ok_or(damaged)
    }

    /// Appends a batch.
    pub fn append(&mut self, points: &Matrix, answers: &Matrix) -> Result<(), LogError> {
        let content = encode(points, answers);
        let mut record = (content.len() as u32).to_le_bytes().to_vec();
        record.extend_from_slice(&content);
        record.extend_from_slice(&checksum(&content));
        let write = |file: &mut File, end: u64| {
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))?;
            file.write_all(&record)
        };
        write(&mut self.file, self.end)
            .map_err(|source| LogError::File { path: self.path.clone(), source })?;
        self.end += record.len() as u64;
        self.at = self.end;
        Ok(())
    }

    /// Where the last good record ends: a bad one is forgiven at the end of the file only.
    fn find_end(&mut self) -> Result<u64, LogError> {
        let fail = |source| LogError::File { path: self.path.clone(), source };
        let length = self.file.metadata().map_err(fail)?.len();
        self.end = length;
        while self.at < length {
            match self.content() {
                Ok(Some(content)) => self.at += content.len() as u64 + 12,
                Ok(None) => {
                    let after = self.reader.stream_position();
                    let path = self.path.clone();
                    if after.map_err(|source| LogError::File { path: path.clone(), source })? < length {
                        return Err(LogError::Damaged { path, at: self.at });
                    }
                    return Ok(self.at);
                }
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(self.at),
                Err(source) => return Err(LogError::File { path: self.path.clone(), source }),
            }
        }
        Ok(length)
    }

    /// The content of the record at hand; `None` if its checksum is wrong.
    fn content(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut size = [0; 4];
        self.reader.read_exact(&mut size)?;
        let size = u32::from_le_bytes(size);
        let left = self.end.saturating_sub(self.at + 12);
        if size > LONGEST_RECORD || u64::from(size) > left {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut content = vec![0; size as usize];
        self.reader.read_exact(&mut content)?;
        let mut sum = [0; 8];
        self.reader.read_exact(&mut sum)?;
        Ok((sum == checksum(&content)).then_some(content))
    }
}

fn read_header(path: &Path, line: &[u8]) -> Result<Header, LogError> {
    let wrong = |reason: String| LogError::Format { path: path.to_owned(), reason };
    let header: Header = serde_json::from_slice(line)
        .map_err(|_| wrong(format!("expected a first line with \"format\": \"{FORMAT}\"")))?;
    if header.format != FORMAT || header.version != VERSION || !line.ends_with(b"\n") {
        let found = format!("{} version {}", header.format, header.version);
        return Err(wrong(format!("expected {FORMAT} version {VERSION}, found {found}")));
    }
    Ok(header)
}

/// Refuses the log of a run that would ask other queries.
fn compare(path: &Path, found: &Run, expected: &Run) -> Result<(), LogError> {
    let shown = |run: &Run| {
        let widths = run.widths.as_ref().map_or("unknown".into(), |widths| format!("{widths:?}"));
        let noise = run.noise.map_or("measured".into(), |noise| noise.to_string());
        let (lo, hi) = run.domain;
        [
            ("inputs", run.inputs.to_string()),
            ("outputs", run.outputs.to_string()),
            ("seed", run.seed.to_string()),
            ("domain", format!("{lo},{hi}")),
            ("hidden widths", widths),
            ("noise", noise),
        ]
    };
    for ((key, found), (_, expected)) in shown(found).into_iter().zip(shown(expected)) {
        if found != expected {
            return Err(LogError::OtherRun { path: path.to_owned(), key, found, expected });
        }
    }
    Ok(())
}

fn checksum(content: &[u8]) -> [u8; 8] {
    let digest: [u8; 32] = Sha256::digest(content).into();
    digest[..8].try_into().expect("8 of 32 bytes")
}

fn encode(points: &Matrix, answers: &Matrix) -> Vec<u8> {
    let mut content = (points.rows() as u32).to_le_bytes().to_vec();
    let mut before = vec![0.0f64; points.cols()];
    for (x, y) in points.iter_rows().zip(answers.iter_rows()) {
        let differs = |(a, b): (&f64, &f64)| a.to_bits() != b.to_bits();
        let changed: Vec<bool> = x.iter().zip(&before).map(differs).collect();
        content.extend(
            changed.chunks(8).map(|bits| {
                bits.iter().enumerate().fold(0u8, |byte, (bit, &set)| byte | u8::from(set) << bit)
            }),
        );
        let new = x.iter().zip(&changed).filter(|(_, changed)| **changed).map(|(value, _)| value);
        content.extend(new.chain(y).flat_map(|value| value.to_le_bytes()));
        before.copy_from_slice(x);
    }
    content
}

fn decode(content: &[u8], inputs: usize, outputs: usize) -> Option<Record> {
    let (rows, mut rest) = content.split_first_chunk::<4>()?;
    let rows = u32::from_le_bytes(*rows) as usize;
    let number = |rest: &mut &[u8]| {
        let (bytes, after) = rest.split_first_chunk::<8>()?;
        *rest = after;
        Some(f64::from_le_bytes(*bytes))
    };
    let (mut points, mut answers) = (Vec::new(), Vec::new());
    let mut row = vec![0.0; inputs];
    for _ in 0..rows {
        let (mask, after) = rest.split_at_checked(inputs.div_ceil(8))?;
        rest = after;
        for (i, value) in row.iter_mut().enumerate() {
            if mask[i / 8] >> (i % 8) & 1 == 1 {
                *value = number(&mut rest)?;
            }
        }
        points.extend_from_slice(&row);
        for _ in 0..outputs {
            answers.push(number(&mut rest)?);
        }
    }
    if !rest.is_empty() {
        return None;
    }
    Some(Record {
        points: Matrix::from_entries(rows, inputs, points)?,
        answers: Matrix::from_entries(rows, outputs, answers)?,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    fn run() -> Run {
        Run { inputs: 9, outputs: 2, seed: 0, domain: (-1.0, 1.0), widths: None, noise: None }
    }

    fn batch(rows: usize) -> Record {
        let value = |i: usize, j: usize| if j == i % 9 { 0.1 * i as f64 } else { -1.0 / (j + 1) as f64 };
        Record {
            points: Matrix::from_fn(rows, 9, value),
            answers: Matrix::from_fn(rows, 2, |i, j| (i * j) as f64 + 0.3),
        }
    }

    /// A log of three batches, and where each ends.
    fn written(path: &Path) -> Vec<u64> {
        let mut log = Log::open(path, &run()).unwrap();
        let mut ends = Vec::new();
        for rows in [3, 1, 20] {
            let batch = batch(rows);
            log.append(&batch.points, &batch.answers).unwrap();
            ends.push(log.end);
        }
        ends
    }

    fn rows(path: &Path) -> Vec<usize> {
        let mut log = Log::open(path, &run()).unwrap();
        std::iter::from_fn(|| log.next_batch().unwrap().map(|record| record.points.rows())).collect()
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        written(&path);
        let mut log = Log::open(&path, &run()).unwrap();
        for rows in [3, 1, 20] {
            assert_eq!(log.next_batch().unwrap(), Some(batch(rows)));
        }
        assert_eq!(log.next_batch().unwrap(), None);
    }

    #[test]
    fn steps_along_one_input_are_short() {
        let record = batch(1000);
        assert!(encode(&record.points, &record.answers).len() < 1000 * (2 + 2 * 8 + 2 * 8) + 100);
    }

    #[test]
    fn a_cut_record_is_forgotten_and_the_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let ends = written(&path);
        let whole = std::fs::read(&path).unwrap();
        for cut in ends[1] + 1..ends[2] {
            std::fs::write(&path, &whole[..cut as usize]).unwrap();
            assert_eq!(rows(&path), [3, 1], "{cut}");
        }
        let mut log = Log::open(&path, &run()).unwrap();
        log.append(&batch(5).points, &batch(5).answers).unwrap();
        drop(log);
        assert_eq!(rows(&path), [3, 1, 5]);
    }

    #[test]
    fn damage_inside_is_an_error_and_at_the_end_forgiven() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let ends = written(&path);
        let whole = std::fs::read(&path).unwrap();
        let mut damaged = whole.clone();
        damaged[ends[0] as usize - 20] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        let error = Log::open(&path, &run()).err().unwrap().to_string();
        assert!(error.contains("damaged at byte"), "{error}");
        let mut damaged = whole.clone();
        *damaged.last_mut().unwrap() ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        assert_eq!(rows(&path), [3, 1]);
    }

    #[test]
    fn logs_of_other_runs_and_other_files_are_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        written(&path);
        let before = std::fs::read(&path).unwrap();
        for (other, key) in [
            (Run { seed: 1, ..run() }, "seed 0, this run has 1"),
            (Run { inputs: 2, ..run() }, "inputs 9, this run has 2"),
            (Run { domain: (0.0, 1.0), ..run() }, "domain -1,1, this run has 0,1"),
            (Run { widths: Some(vec![4]), ..run() }, "hidden widths unknown, this run has [4]"),
            (Run { noise: Some(0.5), ..run() }, "noise measured, this run has 0.5"),
        ] {
            let error = Log::open(&path, &other).err().unwrap().to_string();
            assert!(error.contains("another run") && error.contains(key), "{error}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
        for text in ["precious notes\n", "{\"format\": \"fiberscope-network\"}\n", "x", "\0\0\0\0"] {
            std::fs::write(&path, text).unwrap();
            let error = Log::open(&path, &run()).err().unwrap().to_string();
            assert!(error.contains("not a log of queries"), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn one_run_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let first = Log::open(&path, &run()).unwrap();
        assert!(matches!(Log::open(&path, &run()), Err(LogError::InUse { .. })));
        drop(first);
        assert!(Log::open(&path, &run()).is_ok());
    }
}
