//! Readers against broken files: every file of `tests/corpus/<format>`, every file that a real library wrote
//! for `tests/data`, and a few hundred mutations of each (fixed seed). No reader panics, and none holds more
//! memory than its line in [`FORMATS`] allows.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fiberscope_io::{
    FormatError, Model, Normalization, ReadOptions, csv, domain, json, nnet, npz, onnx, pt, safetensors,
};

/// Reads a file, whatever comes out.
type Read = fn(&[u8]);

/// Name of the corpus folder, reader, and the most heap memory that reading may hold at any time, in
/// bytes per byte of the file, beside [`BASE`]. A resized block counts with its old and new size.
///
/// The least text of a number has 2 bytes (`0,`), its double 8, and a vector that doubles holds three
/// times its contents while it moves: 12 bytes per byte. CSV also keeps names of columns, 4 bytes each;
/// NNet many layers of one neuron, 6 bytes each.
const FORMATS: &[(&str, Read, usize)] = &[
    ("csv", |bytes| drop(csv::read(bytes)), 16),
    ("domain", |bytes| drop(domain::read(bytes, 5)), 12),
    ("json", |bytes| model(json::read, bytes), 12),
    ("nnet", |bytes| model(nnet::read, bytes), 30),
    ("npy", |bytes| drop(npz::read_npy_data(bytes)), 16),
    ("npz", |bytes| model(npz::read, bytes), 64),
    ("onnx", |bytes| model(onnx::read, bytes), 64),
    ("pt", |bytes| model(pt::read, bytes), 64),
    ("safetensors", |bytes| model(safetensors::read, bytes), 64),
];

/// What a reader may hold however short its file is: error messages, and the identity matrix that
/// `MAX_DENSE_ENTRIES` allows.
const BASE: usize = (64 << 10) + 8 * MAX_DENSE_ENTRIES;
const MAX_DENSE_ENTRIES: usize = 1 << 12;
const MUTATIONS: u64 = 300;
const LONGEST: usize = 64 << 10;

fn model(read: fn(&[u8], &ReadOptions) -> Result<Model, FormatError>, bytes: &[u8]) {
    for normalization in [Normalization::Fold, Normalization::Ignore] {
        let options =
            ReadOptions { normalization, max_dense_entries: MAX_DENSE_ENTRIES, ..ReadOptions::default() };
        drop(read(bytes, &options));
    }
}

/// Held by the test that measures: memory is counted for all threads together.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn broken_files_neither_panic_nor_take_memory() {
    let _alone = ALONE.lock().unwrap();
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests");
    for folder in sorted(&tests.join("corpus")).into_iter().filter(|path| path.is_dir()) {
        let name = file_name(&folder);
        assert!(FORMATS.iter().any(|format| format.0 == name), "tests/corpus/{name} has no line in FORMATS");
    }
    let data: Vec<PathBuf> = sorted(&tests.join("data")).iter().flat_map(|folder| sorted(folder)).collect();
    for &(name, read, per_byte) in FORMATS {
        let of_format = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == name);
        let mut files: Vec<PathBuf> = data.iter().filter(of_format).cloned().collect();
        files.retain(|file| fs::metadata(file).unwrap().len() <= LONGEST as u64 / 4);
        if tests.join("corpus").join(name).is_dir() {
            files.extend(sorted(&tests.join("corpus").join(name)));
        }
        let seeds: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
        assert!(!seeds.is_empty(), "there are no files for {name}");
        for (file, seed) in files.iter().zip(&seeds) {
            let mut random = Random(0x9e37_79b9_7f4a_7c15);
            for mutation in 0..=MUTATIONS {
                let mut bytes = seed.clone();
                for _ in 0..mutation.min(1 + random.below(3) as u64) {
                    mutate(&mut bytes, &seeds, &mut random);
                }
                let case = format!("{name}/{}, mutation {mutation}", file_name(file));
                check(read, &bytes, per_byte, &case);
            }
        }
    }
}

/// A text with this many parts.
type Text = fn(usize) -> String;

/// Texts that make a reader keep much for little.
const SWOLLEN: &[(&str, Text)] = &[
    ("csv", |n| "0\n".repeat(n)),
    ("csv", |n| format!("a{}\n0{}", ",a".repeat(n), ",0".repeat(n))),
    ("domain", |n| "0,0\n".repeat(n)),
    ("domain", |n| format!("[{}", "[0,0],".repeat(n))),
    ("domain", |n| format!("(declare-network f (declare-input X r [5]){})", "(declare-hidden H)".repeat(n))),
    ("domain", |n| "(".repeat(n)),
    ("json", |n| format!(r#"{{"layers":[{{"bias":[{}"#, "0,".repeat(n))),
    ("json", |n| format!(r#"{{"layers":[{{"weight":[[0]{}"#, ",[0]".repeat(n))),
    ("json", |n| {
        let layer = r#"{"weight":[[0]],"bias":[0],"activation":"relu"},"#;
        format!(r#"{{"layers":[{}"#, layer.repeat(n))
    }),
    ("nnet", |n| "1,".repeat(n)),
    ("nnet", |n| format!("{n},1,1,1\n1{}\n{}", ",1".repeat(n), "1\n0\n".repeat(n))),
    ("nnet", |n| {
        let ranges: String = (0..n).map(|i| format!("{},", 2 * i + 3)).collect();
        format!("1,{n},1,1\n{n},1\n0\n0\n{}1\n{ranges}1\n{}\n0\n", "1,".repeat(n), "1,".repeat(n))
    }),
];

#[test]
fn swollen_files_take_memory_in_proportion() {
    let _alone = ALONE.lock().unwrap();
    for (name, text) in SWOLLEN {
        let &(_, read, per_byte) = FORMATS.iter().find(|format| format.0 == *name).unwrap();
        // Just above powers of two, where vectors that double in size are emptiest.
        for n in [1025, 16_385, 65_537] {
            let text = text(n);
            check(read, text.as_bytes(), per_byte, &format!("{name}, {n} times: {:?}", &text[..20]));
        }
    }
}

fn check(read: Read, bytes: &[u8], per_byte: usize, case: &str) {
    let before = CURRENT.load(Ordering::SeqCst);
    PEAK.store(before, Ordering::SeqCst);
    let outcome = catch_unwind(AssertUnwindSafe(|| read(bytes)));
    let held = PEAK.load(Ordering::SeqCst) - before;
    let text = || String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
    assert!(outcome.is_ok(), "{case}: the reader panicked on {:?}", text());
    let allowed = BASE + per_byte * bytes.len();
    assert!(held <= allowed, "{case}: {held} bytes held for {} bytes, beginning {:?}", bytes.len(), text());
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Changes the bytes in one of the ways in which files go wrong.
fn mutate(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    match random.below(8) {
        0 => bytes.truncate(at),
        1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        2 if at < bytes.len() => bytes[at] = random.pick(b"\0\x01\x7f\x80\xff\n ,;()[]{}\"-.e0"),
        3 => {
            let end = at + random.below(bytes.len() - at + 1);
            bytes.drain(at..end);
        }
        4 => {
            let other = &seeds[random.below(seeds.len())];
            let start = random.below(other.len() + 1);
            let end = start + random.below(other.len() - start + 1);
            bytes.splice(at..at, other[start..end].iter().copied());
        }
        5 => inflate_number(bytes, at, random),
        6 => {
            let sizes = [0, 1, 0x7fff_ffff, 0xffff_ffff, 1 << 40, u64::MAX / 8, i64::MAX as u64, u64::MAX];
            let size = sizes[random.below(sizes.len())].to_le_bytes();
            let length = (bytes.len() - at).min([2, 4, 8][random.below(3)]);
            bytes[at..at + length].copy_from_slice(&size[..length]);
        }
        _ => {
            let part = bytes[at..at + random.below((bytes.len() - at).min(40) + 1)].to_vec();
            let room = (LONGEST / (part.len() + 1)).min(1 << random.below(16));
            bytes.splice(at..at, part.repeat(room));
        }
    }
    bytes.truncate(2 * LONGEST);
}

/// Replaces the first decimal number at or after `at` by an absurd one.
fn inflate_number(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|skip| at + skip) else { return };
    let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let numbers: [&[u8]; 7] =
        [b"1099511627776", b"18446744073709551616", b"-1", b"1e999", b"4.9e-324", b"nan", b"1000000"];
    bytes.splice(start..start + length, random.pick(&numbers).iter().copied());
}

/// xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// The bytes that are allocated now, and the most that ever were.
static CURRENT: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(size: usize) {
    let current = CURRENT.fetch_add(size, Ordering::SeqCst) + size;
    PEAK.fetch_max(current, Ordering::SeqCst);
}

#[allow(unsafe_code, reason = "an allocator cannot be written without; every call is handed to the system's")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        CURRENT.fetch_sub(layout.size(), Ordering::SeqCst);
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        CURRENT.fetch_sub(layout.size(), Ordering::SeqCst);
        unsafe { System.realloc(block, layout, size) }
    }
}
