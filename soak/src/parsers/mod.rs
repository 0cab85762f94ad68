//! The readers on broken files: no panic, no more memory than a small multiple of the file, no hanging, and
//! what is accepted survives being written and read again.
//!
//! A round is a fixed number of executions of one reader. It starts from the committed files and depends on
//! the seed and its number alone, so that a finding is met again. Inputs that the reader answers in a new way
//! (another sentence, another kind of network) are kept for the rest of the round and changed further: error
//! messages are the coverage that a stable compiler gives.

mod bytes;
mod structure;
mod targets;
mod words;

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::memory::measure;
use crate::pairs::message;
use crate::tally::{Executions, Finding, Tally};
use bytes::{LONGEST, Random};
use structure::{Seed, Shape, apart, changed};
use targets::{BASE, Reading, TARGETS, Target};

/// Executions in a round.
pub const ROUND: u64 = 1 << 16;
/// A slower reading is a finding.
const SLOW: Duration = Duration::from_secs(1);
/// Laws are looked at for one in so many, and for more texts, of which fewer are accepted.
const LAWS: usize = 16;
const LAWS_OF_TEXTS: usize = 4;
/// Inputs kept in a round, accepted ones and others.
const KEPT: [usize; 2] = [200, 100];

/// How readers are soaked.
pub struct Parsers {
    seed: u64,
    findings: PathBuf,
    corpora: Vec<Vec<Vec<u8>>>,
    /// Where the input at hand is written before it is read, to find what ends the process.
    trace: Option<PathBuf>,
}

/// The names of the readers.
pub fn names() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().map(|target| target.name)
}

impl Parsers {
    /// Reads the committed files below the root of the repository.
    pub fn new(root: &Path, seed: u64, findings: PathBuf, trace: Option<PathBuf>) -> Result<Self, String> {
        let corpora: Vec<Vec<Vec<u8>>> = TARGETS.iter().map(|target| corpus(root, target.name)).collect();
        match corpora.iter().position(Vec::is_empty) {
            Some(at) => Err(format!("there are no files for {}", TARGETS[at].name)),
            None => Ok(Parsers { seed, findings, corpora, trace }),
        }
    }

    /// Runs so many executions of a round and counts them.
    pub fn run(&self, round: u64, executions: u64, tally: &mut Tally) {
        let at = (round % TARGETS.len() as u64) as usize;
        let (target, seeds) = (&TARGETS[at], &self.corpora[at]);
        let mut random = Random::new(self.seed.wrapping_mul(1_000_003) ^ round.wrapping_mul(0x2545_f491));
        let whole: Vec<Seed> = seeds.iter().filter_map(|bytes| apart(bytes, target.shape)).collect();
        let share = if target.shape == Shape::Text { LAWS_OF_TEXTS } else { LAWS };
        let (mut kept, mut of_kind) = (Vec::new(), [0, 0]);
        let mut kinds = BTreeSet::new();
        let mut counts = Executions { runs: executions, ..Executions::default() };
        let mut input = Vec::with_capacity(LONGEST);
        for execution in 0..executions {
            self.input(target, seeds, &whole, &kept, &mut random, &mut input);
            let laws = random.below(share) == 0;
            if let Some(trace) = &self.trace {
                // Without the file the round goes on; it is an aid.
                let _ = fs::write(trace, &input);
            }
            let start = Instant::now();
            let (outcome, held) = measure(|| catch_unwind(AssertUnwindSafe(|| (target.read)(&input, laws))));
            let took = start.elapsed();
            counts.slowest = counts.slowest.max(took.as_micros() as u64);
            let trouble = match &outcome {
                Err(panic) => Some(("panic", message(panic))),
                Ok(Reading::Broken(what)) => Some(("law", what.clone())),
                _ if took > SLOW => Some(("slow", format!("{} s", took.as_secs_f64()))),
                // Laws write and read once more.
                _ if !laws && held > BASE + target.per_byte * input.len() => {
                    Some(("memory", format!("{held} bytes held")))
                }
                _ => None,
            };
            if let Some((kind, what)) = trouble {
                self.find(target, round, execution, &input, kind, &what, tally);
            }
            let kind = match outcome {
                Ok(Reading::Accepted(kind)) => {
                    counts.accepted += 1;
                    (0, kind)
                }
                Ok(Reading::Refused(kind)) => (1, kind),
                _ => continue,
            };
            if of_kind[kind.0] < KEPT[kind.0] && kinds.insert(kind) {
                of_kind[kind.0] += 1;
                kept.push(input.clone());
            }
        }
        counts.kinds = kinds.len() as u64;
        let mut more = Tally::default();
        more.parsers.insert(target.name.to_owned(), counts);
        tally.add(more);
    }

    /// The next input of a round.
    fn input(
        &self,
        target: &Target,
        seeds: &[Vec<u8>],
        whole: &[Seed],
        kept: &[Vec<u8>],
        random: &mut Random,
        input: &mut Vec<u8>,
    ) {
        let choice = random.below(10);
        if !whole.is_empty() && choice < 4 {
            changed(&whole[random.below(whole.len())], target.words, random, input);
            if random.below(4) != 0 {
                return;
            }
        } else {
            let from = if !kept.is_empty() && choice < 6 { kept } else { seeds };
            input.clear();
            // The shorter of two: short files are read faster and broken more thoroughly.
            let (x, y) = (&from[random.below(from.len())], &from[random.below(from.len())]);
            input.extend_from_slice(if x.len() <= y.len() { x } else { y });
        }
        let text = target.shape == Shape::Text;
        for _ in 0..random.pick(&[1, 1, 1, 1, 2, 3]) {
            bytes::mutate(input, seeds, target.words, text, random);
        }
    }

    #[allow(clippy::too_many_arguments, reason = "a finding is where, what and how")]
    fn find(
        &self,
        target: &Target,
        round: u64,
        execution: u64,
        input: &[u8],
        kind: &str,
        what: &str,
        tally: &mut Tally,
    ) {
        let same = |finding: &&Finding| finding.kind == kind && finding.what.starts_with(target.name);
        // One defect is met thousands of times.
        if tally.findings.iter().filter(same).count() >= 10 {
            return;
        }
        let folder = self.findings.join(format!("{kind}-{}-{round}-{execution}", target.name));
        let finding = Finding {
            kind: kind.to_owned(),
            again: format!("--seed {} --round {round}", self.seed),
            what: format!(
                "{}, execution {execution}: {}",
                target.name,
                what.chars().take(300).collect::<String>()
            ),
        };
        let _ = fs::create_dir_all(&folder);
        let _ = fs::write(folder.join("input"), input);
        let _ = fs::write(folder.join("note.txt"), format!("{}\n{}\n", finding.again, finding.what));
        tally.findings.push(finding);
    }
}

/// The committed files of a reader, in the order of their names.
fn corpus(root: &Path, name: &str) -> Vec<Vec<u8>> {
    let tests = root.join("crates/fiberscope-io/tests");
    let format = name.trim_end_matches("-data");
    let mut paths = files(&tests.join("corpus").join(format), None);
    paths.extend(files(&tests.join("data").join(format), Some(&[format, "pth"])));
    match name {
        "csv" => paths.extend(files(&tests.join("data/nnet"), Some(&["csv"]))),
        "domain" => paths.extend(files(&tests.join("data/domain"), Some(&["csv", "json", "vnnlib"]))),
        "npy" => paths.extend(files(&tests.join("data/npz"), Some(&["npy"]))),
        "json" => paths.extend(files(&tests.join("../zoo/networks"), Some(&["json"]))),
        "certificate" => paths.extend(files(&tests.join("../zoo/certificates"), Some(&["json"]))),
        _ => {}
    }
    let read = |path: PathBuf| fs::read(path).ok().filter(|bytes| bytes.len() <= LONGEST);
    let mut seeds: Vec<Vec<u8>> = paths.into_iter().filter_map(read).collect();
    match name {
        "search-state" => seeds.extend(targets::states()),
        "number" => {
            seeds.extend(["0", "-1", "1/3", "-22/7", "123456789012345678901234567890/7"].map(Into::into))
        }
        _ => {}
    }
    seeds
}

fn files(folder: &Path, endings: Option<&[&str]>) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let wanted = |path: &PathBuf| {
        let ending = path.extension().map(|ending| ending.to_string_lossy().into_owned()).unwrap_or_default();
        path.is_file() && endings.is_none_or(|endings| endings.contains(&ending.as_str()))
    };
    let mut paths: Vec<PathBuf> =
        entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).filter(wanted).collect();
    paths.sort();
    paths
}
