//! Extraction from classes alone: success rates on random networks.
//!
//! An argument is an architecture, such as 10-8-3, or all of them without one; a number after it is that of random networks, instead of 20,
//! and another one the first seed, instead of 0.
//! A network that is called verified is compared with the truth in two ways: its parameters, up to what classes
//! leave open, and its classes at many random inputs. The verdict claims a share of the domain; a result for
//! which that claim is wrong is the worst outcome.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::Duration;

use fiberscope::core::{Matrix, Network};
use fiberscope::extract::{
    ExtractOptions, ExtractOutcome, LabelExtraction, LabelOracle, NetworkOracle, class_of, compare_labels,
    extract_labels,
};
use fiberscope::limit::Deadline;
use fiberscope_bench::random::{median, name, random};
use fiberscope_bench::thread_seconds;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The architectures.
const WIDTHS: [&[usize]; 6] =
    [&[10, 8, 2], &[10, 8, 3], &[10, 20, 3], &[20, 16, 4], &[10, 8, 8, 3], &[12, 6, 4, 3]];
/// Random networks of each.
const NETWORKS: u64 = 20;
/// Random inputs at which classes are compared.
const POINTS: usize = 200_000;
/// Parameters with a smaller error are those of the truth.
const SAME: f64 = 1e-6;
/// The longest time for one network.
const LONGEST: Duration = Duration::from_secs(60);

/// What came of one network.
struct Trial {
    found: LabelExtraction,
    seconds: f64,
    error: Option<f64>,
    /// The share of random inputs with another class.
    share: f64,
    /// Neurons of the first layer that came out, of so many.
    first: (usize, usize),
}

fn main() -> Result<(), Box<dyn Error>> {
    let part = std::env::args().nth(1);
    let networks = std::env::args().nth(2).map_or(Ok(NETWORKS), |count| count.parse::<u64>())?.max(1);
    let first_seed = std::env::args().nth(3).map_or(Ok(0), |seed| seed.parse::<u64>())?;
    let wanted = |widths: &&&[usize]| part.as_ref().is_none_or(|part| *part == name(widths));
    let chosen: Vec<_> = WIDTHS.iter().filter(wanted).collect();
    if chosen.is_empty() {
        return Err("expected an architecture such as 10-8-3".into());
    }
    println!(
        "{networks} random networks each, seeds from {first_seed}: weights from N(0, 2 / inputs of the layer), biases from N(0, 1/4), inputs from -3 to 3; \
         the oracle answers which output is the largest. The architecture is not given, no network may take more than {} s. \
         *Exact* are verified networks with the parameters of the truth (an error below {SAME:e}, after permutation, scaling, a common factor and a common function of the outputs), \
         *open* those that say that the answers leave parameters open, *other* those that do not say so and have other parameters; *wrong* are those whose class differs at more of \
         {POINTS} random inputs than the verdict says. *First layer*: networks whose first layer came out whole, with the right weights up to sign. Queries and errors are those of the exact networks.\n",
        LONGEST.as_secs()
    );
    println!(
        "| architecture | verified | exact | open | other | wrong | first layer | queries (median) | largest error | seconds (median) |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let mut failures = Vec::new();
    for widths in chosen {
        let trials: Vec<Trial> =
            (0..networks).map(|k| attempt(&random(widths, first_seed + k))).collect::<Result<_, _>>()?;
        let verified = |trial: &Trial| trial.found.outcome == ExtractOutcome::Verified;
        let exact = |trial: &Trial| verified(trial) && trial.error.is_some_and(|error| error < SAME);
        let open = |trial: &Trial| verified(trial) && !exact(trial) && !trial.found.open.is_empty();
        let count = |wanted: &dyn Fn(&Trial) -> bool| trials.iter().filter(|trial| wanted(trial)).count();
        let of_exact = |value: &dyn Fn(&Trial) -> f64| -> Vec<f64> {
            trials.iter().filter(|trial| exact(trial)).map(value).collect()
        };
        let errors = of_exact(&|trial| trial.error.unwrap_or(0.0));
        let delta = |trial: &Trial| trial.found.agreement.as_ref().map_or(0.0, |agreed| agreed.delta);
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            name(widths),
            count(&verified),
            count(&exact),
            count(&open),
            count(&|trial| verified(trial) && !exact(trial) && !open(trial)),
            count(&|trial| verified(trial) && trial.share > delta(trial)),
            count(&|trial| trial.first.0 == trial.first.1),
            if errors.is_empty() {
                "-".into()
            } else {
                format!("2^{:.1}", median(of_exact(&|trial| trial.found.queries as f64)).log2())
            },
            if errors.is_empty() {
                "-".into()
            } else {
                format!("2^{:.1}", errors.iter().copied().fold(0.0, f64::max).log2())
            },
            if errors.is_empty() {
                "-".into()
            } else {
                format!("{:.2}", median(of_exact(&|trial| trial.seconds)))
            },
        );
        for (seed, trial) in (first_seed..).zip(&trials).filter(|(_, trial)| !exact(trial)) {
            let said = match &trial.found.outcome {
                ExtractOutcome::Verified => format!("verified; {}", trial.found.open.join("; ")),
                ExtractOutcome::Partial { reason, .. } => format!("partial: {reason}"),
                ExtractOutcome::Failed { reason } => format!("failed: {reason}"),
            };
            failures.push(format!(
                "| {} | {seed} | 2^{:.1} | {said} |",
                name(widths),
                (trial.found.queries as f64).log2()
            ));
        }
    }
    println!("\n### All that are not exact\n");
    println!("| architecture | seed | queries | what was said |\n|---|---:|---:|---|");
    failures.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// Extracts a network and compares the result with it.
fn attempt(truth: &Network) -> Result<Trial, Box<dyn Error>> {
    let options = ExtractOptions::new().deadline(Deadline::after(Some(LONGEST)));
    let mut oracle = LabelOracle::new(NetworkOracle::new(truth.clone()));
    let start = thread_seconds();
    let found = extract_labels(&mut oracle, Some(truth.output_width()), &options)?;
    let seconds = thread_seconds() - start;
    let error =
        found.network.as_ref().and_then(|network| compare_labels(truth, network)).map(|c| c.max_error);
    let share = found.network.as_ref().map_or(0.0, |network| disagreement(truth, network, options.domain));
    let first = first_layer(truth, &found);
    Ok(Trial { found, seconds, error, share, first })
}

/// The share of random inputs with another class.
fn disagreement(truth: &Network, found: &Network, (lo, hi): (f64, f64)) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let points = Matrix::from_fn(POINTS, truth.input_width(), |_, _| rng.random_range(lo..hi));
    let (Ok(a), Ok(b)) = (truth.evaluate_batch(&points), found.evaluate_batch(&points)) else { return 1.0 };
    a.iter_rows().zip(b.iter_rows()).filter(|(a, b)| class_of(a) != class_of(b)).count() as f64
        / POINTS as f64
}

/// How many neurons of the first hidden layer have a row that came out, up to a factor.
fn first_layer(truth: &Network, found: &LabelExtraction) -> (usize, usize) {
    let unit = |w: &[f64], b: f64| -> Vec<f64> {
        let length = w.iter().map(|v| v * v).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        w.iter().chain([&b]).map(|v| v / length).collect()
    };
    let rows: Vec<Vec<f64>> = match (&found.network, found.known.first()) {
        (_, Some(layer)) => layer.weight.iter_rows().zip(&layer.bias).map(|(w, b)| unit(w, *b)).collect(),
        (Some(network), None) if network.layers().len() > 1 => {
            let layer = &network.layers()[0];
            layer.weight().iter_rows().zip(layer.bias()).map(|(w, b)| unit(w, *b)).collect()
        }
        _ => Vec::new(),
    };
    let layer = &truth.layers()[0];
    let has = |wanted: &[f64]| {
        let near = |sign: f64, row: &[f64]| row.iter().zip(wanted).all(|(a, b)| (sign * a - b).abs() < SAME);
        rows.iter().any(|row| near(1.0, row) || near(-1.0, row))
    };
    let count = layer.weight().iter_rows().zip(layer.bias()).filter(|(w, b)| has(&unit(w, **b))).count();
    (count, layer.bias().len())
}
