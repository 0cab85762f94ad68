//! How often which mechanism explains hidden symmetries, of random and of trained networks?
//!
//! Every network is looked at as `fiberscope symmetries` does, on all inputs. Trained networks begin as the random ones
//! of their seed and fit the heating loads (Adam, rate 0.01); of fewer than eight inputs they are given the first ones.
//! Arguments choose rows by their widths.

#![allow(clippy::print_stdout, reason = "the tables are the output of a benchmark")]

use std::error::Error;
use std::time::Duration;

use fiberscope::symmetries::{HiddenSymmetries, Mechanism, Proof, SymmetryOptions, hidden_symmetries};
use fiberscope::train::{Initialization, initial_network};
use fiberscope::{Deadline, Domain, Network};
use fiberscope_bench::thread_seconds;
use fiberscope_bench::trained::fitted;
use rayon::ThreadPoolBuilder;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Widths, how many seeds are random, how many are trained, and the epochs.
const NETWORKS: [(&[usize], u64, u64, u64); 6] = [
    (&[3, 3, 3, 2, 2, 1], 60, 60, 100),
    (&[3, 4, 4, 3, 2, 1], 30, 30, 100),
    (&[2, 5, 5, 5, 1], 20, 20, 100),
    (&[4, 8, 8, 1], 10, 10, 100),
    (&[8, 16, 16, 1], 5, 5, 100),
    (&[4, 16, 16, 16, 1], 2, 2, 100),
];
/// What a network may take in all, and one proof.
const PATIENCE: Duration = Duration::from_secs(40);
const PROOF: Duration = Duration::from_secs(2);

/// What was found of the networks of a row.
#[derive(Default)]
struct Row {
    networks: usize,
    late: usize,
    complete: usize,
    gaps: usize,
    dimensions: usize,
    /// Of each mechanism: networks in which it explains something, and dimensions.
    explained: Vec<(usize, usize)>,
    recognised: usize,
    /// Ends that are proved equal, within a bound, and neither.
    ends: [usize; 3],
    seconds: f64,
}

fn main() -> Result<()> {
    let chosen: Vec<String> = std::env::args().skip(1).filter(|name| name != "--").collect();
    let one = ThreadPoolBuilder::new().num_threads(1).build()?;
    let names: Vec<&str> = Mechanism::ALL.iter().map(|mechanism| mechanism.name()).collect();
    println!(
        "Of each mechanism: networks with it, and dimensions. Ends: networks along a symmetry that are proved to compute the same function, proved to differ by at most a bound on a box, neither. CPU seconds per network, one thread.\n"
    );
    println!(
        "| network | networks | all regions listed | with a gap | dimensions | {} | gap explained in full | ends | s |",
        names.join(" | ")
    );
    println!("|---|{}", "---:|".repeat(names.len() + 7));
    for (widths, random, trained, epochs) in NETWORKS {
        let name = widths.iter().map(usize::to_string).collect::<Vec<_>>().join("-");
        if !chosen.is_empty() && !chosen.contains(&name) {
            continue;
        }
        let drawn = |seed| Ok(initial_network(widths, Initialization::He, false, seed));
        for (kind, count) in [("random", random), ("trained", trained)] {
            let mut row = Row { explained: vec![(0, 0); names.len()], ..Row::default() };
            for seed in 0..count {
                let network: Result<Network> =
                    if kind == "random" { drawn(seed) } else { fitted(widths, seed, epochs) };
                let network = network?;
                one.install(|| row.add(&network))?;
            }
            row.print(&format!("{name}, {kind}"));
        }
    }
    Ok(())
}

impl Row {
    fn add(&mut self, network: &Network) -> std::result::Result<(), String> {
        let start = thread_seconds();
        let options = SymmetryOptions::new().patience(PROOF).deadline(Deadline::after(Some(PATIENCE)));
        let found =
            hidden_symmetries(network, &Domain::Space, &options).map_err(|error| error.to_string())?;
        self.seconds += thread_seconds() - start;
        self.networks += 1;
        self.count(&found);
        Ok(())
    }

    fn count(&mut self, found: &HiddenSymmetries) {
        let Some(gap) = found.gap else {
            self.late += 1;
            return;
        };
        if gap == 0 {
            return;
        }
        self.gaps += 1;
        self.complete += usize::from(found.complete);
        self.dimensions += gap;
        for (place, &mechanism) in self.explained.iter_mut().zip(&Mechanism::ALL) {
            let dimensions = found.explained_by(mechanism);
            *place = (place.0 + usize::from(dimensions > 0), place.1 + dimensions);
        }
        self.recognised += usize::from(found.explained_by(Mechanism::Unrecognised) == 0);
        for symmetry in &found.found {
            let place = match symmetry.end.as_ref().map(|end| &end.proof) {
                Some(Proof::Equal { .. }) => 0,
                Some(Proof::Within { .. }) => 1,
                _ => 2,
            };
            self.ends[place] += 1;
        }
    }

    fn print(&self, name: &str) {
        let explained: Vec<String> = self
            .explained
            .iter()
            .map(|(networks, dimensions)| match networks {
                0 => "0".to_owned(),
                networks => format!("{networks}, {dimensions}"),
            })
            .collect();
        let late = if self.late > 0 { format!(" ({} at a limit)", self.late) } else { String::new() };
        let [equal, within, open] = self.ends;
        println!(
            "| {name} | {}{late} | {} of {} | {} | {} | {} | {} | {equal}, {within}, {open} | {:.2} |",
            self.networks,
            self.complete,
            self.gaps,
            self.gaps,
            self.dimensions,
            explained.join(" | "),
            self.recognised,
            self.seconds / self.networks.max(1) as f64,
        );
    }
}
