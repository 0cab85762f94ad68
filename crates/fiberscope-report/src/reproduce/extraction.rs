//! Extraction over many networks: queries, success and errors of parameters [rolnick2020reverse, Section 6].
//!
//! The paper recovers networks of one and two hidden layers layer by layer and plots the number of queries
//! and the error of the recovered weights against the size of the network. Here random networks are extracted
//! with nothing known of them but their inputs and outputs, and compared with the truth.

use std::io::Write;
use std::path::Path;

use fiberscope::extract::{ExtractOptions, ExtractTrial, extract_trial};
use fiberscope::limit::Deadline;
use fiberscope::train::Estimate;
use fiberscope_core::{Activation, Layer, Matrix, Network};
use fiberscope_io::write_atomically;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::finding::Finding;
use super::settings::ReproduceSettings;
use super::standing::{ClaimStanding, interval};
use crate::Say;
use crate::draw::trajectory::ScatterChart;
use crate::page::{Badge, Cell, Section, Table};
use crate::{Svg, words};

/// Inputs, hidden widths, outputs. With many more neurons than inputs in the last hidden layer, their
/// orientation is a subset sum, and linear neurons stand for it; so there are none of these.
const ARCHITECTURES: [&[usize]; 8] = [
    &[10, 5, 1],
    &[10, 10, 1],
    &[10, 20, 1],
    &[20, 30, 1],
    &[10, 5, 5, 1],
    &[10, 8, 6, 1],
    &[10, 10, 10, 1],
    &[16, 12, 8, 1],
];
/// Networks per architecture.
const SEEDS: u64 = 5;
/// Measured: how long one network takes on one core, on average over the architectures.
const SECONDS: f64 = 0.12;
/// Parameters that come out this well count as recovered.
const RECOVERED: f64 = 1e-6;
const CLAIM: &str =
    "the parameters of random ReLU networks are recovered from queries, up to permutation and scaling";

/// One network.
struct Attempt {
    architecture: usize,
    seed: u64,
    parameters: usize,
    trial: ExtractTrial,
}

impl Attempt {
    fn recovered(&self) -> bool {
        self.trial.verified && self.trial.error.is_some_and(|error| error < RECOVERED)
    }

    /// Called verified without being the truth, as far as parameters tell.
    fn other(&self) -> bool {
        self.trial.verified && !self.recovered()
    }
}

/// All networks.
pub struct ExtractionOutcome {
    attempts: Vec<Attempt>,
    seeds: u64,
    pub complete: bool,
}

/// Weights normal with variance 2 / inputs, biases with deviation 1/2.
fn random_network(widths: &[usize], seed: u64) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = move || {
        let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    let layers = widths.windows(2).enumerate().map(|(l, pair)| {
        let scale = (2.0 / pair[0] as f64).sqrt();
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| scale * normal());
        let bias = (0..pair[1]).map(|_| 0.5 * normal()).collect();
        let activation = if l + 2 == widths.len() { Activation::Identity } else { Activation::Relu };
        Layer::new(weight, bias, activation)
    });
    Network::new(layers.collect()).expect("the widths chain and the numbers are finite")
}

/// Networks per architecture, as they are asked for.
fn networks(seeds: Option<u64>, quick: bool) -> u64 {
    seeds.unwrap_or(if quick { 2 } else { SEEDS })
}

/// How long it takes on one core, about.
pub fn seconds(seeds: Option<u64>, quick: bool) -> f64 {
    networks(seeds, quick) as f64 * ARCHITECTURES.len() as f64 * SECONDS
}

/// All networks with their architectures and seeds, in order.
fn all(settings: &ReproduceSettings) -> impl Iterator<Item = (usize, u64)> {
    let seeds = networks(settings.seeds, settings.quick);
    let seeds = settings.seed..settings.seed.saturating_add(seeds);
    (0..ARCHITECTURES.len()).flat_map(move |architecture| seeds.clone().map(move |seed| (architecture, seed)))
}

/// All networks, and the seeds of their extractions.
pub fn question(settings: &ReproduceSettings) -> (Vec<Network>, Vec<u64>) {
    all(settings)
        .map(|(architecture, seed)| (random_network(ARCHITECTURES[architecture], seed), seed))
        .unzip()
}

/// Extracts all networks.
pub fn run(settings: &ReproduceSettings, deadline: &Deadline, say: Say) -> anyhow::Result<ExtractionOutcome> {
    let mut trials = Vec::new();
    for (architecture, seed) in all(settings) {
        let widths = ARCHITECTURES[architecture];
        say(&format!("extraction: {}, network {seed}", words::widths(widths)));
        let options = ExtractOptions::new().seed(seed).deadline(deadline.clone());
        match extract_trial(&random_network(widths, seed), &options)? {
            Some(trial) if !deadline.is_past() => trials.push(trial),
            _ => break,
        }
    }
    Ok(outcome(settings, trials))
}

/// What so many trials, from the first one on, come to.
pub fn outcome(settings: &ReproduceSettings, trials: Vec<ExtractTrial>) -> ExtractionOutcome {
    let seeds = networks(settings.seeds, settings.quick);
    let complete = trials.len() == all(settings).count();
    let attempt = |((architecture, seed), trial)| {
        let parameters = random_network(ARCHITECTURES[architecture], seed).parameter_count();
        Attempt { architecture, seed, parameters, trial }
    };
    ExtractionOutcome { attempts: all(settings).zip(trials).map(attempt).collect(), seeds, complete }
}

/// One architecture's numbers.
struct Row {
    name: String,
    parameters: usize,
    attempts: usize,
    recovered: usize,
    /// Base-2 logarithms over the networks that were recovered.
    queries: Estimate,
    errors: Estimate,
}

impl ExtractionOutcome {
    fn rows(&self) -> Vec<Row> {
        let row = |(at, widths): (usize, &&[usize])| {
            let own: Vec<&Attempt> =
                self.attempts.iter().filter(|attempt| attempt.architecture == at).collect();
            let good = || own.iter().filter(|attempt| attempt.recovered());
            Row {
                name: words::widths(widths),
                parameters: own.first().map_or(0, |attempt| attempt.parameters),
                attempts: own.len(),
                recovered: good().count(),
                queries: Estimate::of(good().map(|attempt| (attempt.trial.queries as f64).log2())),
                errors: Estimate::of(
                    good().filter_map(|a| a.trial.error).map(|e| e.max(f64::EPSILON / 16.0).log2()),
                ),
            }
        };
        ARCHITECTURES.iter().enumerate().map(row).filter(|row| row.attempts > 0).collect()
    }

    fn count(&self, wanted: impl Fn(&Attempt) -> bool) -> usize {
        self.attempts.iter().filter(|attempt| wanted(attempt)).count()
    }

    fn standing(&self) -> ClaimStanding {
        let (recovered, all) = (self.count(Attempt::recovered), self.attempts.len());
        // Most networks, and of every architecture more than none.
        let each = self.rows().iter().all(|row| row.recovered > 0);
        ClaimStanding::decide(2 * recovered > all, each && 10 * recovered >= 9 * all, 2 * recovered < all)
    }

    /// The results for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!(
            "extraction: random networks from queries, {} per architecture\n  the paper: {CLAIM}\n",
            self.seeds
        );
        text += &format!(
            "  {:12} {:>10} {:>10} {:>18} {:>18}\n",
            "", "parameters", "recovered", "log2 queries", "log2 error"
        );
        for row in self.rows() {
            let recovered = format!("{}/{}", row.recovered, row.attempts);
            let (queries, errors) = (interval(&row.queries), interval(&row.errors));
            text += &format!(
                "  {:12} {:>10} {recovered:>10} {queries:>18} {errors:>18}\n",
                row.name, row.parameters
            );
        }
        for attempt in self.attempts.iter().filter(|attempt| !attempt.recovered()) {
            let name = words::widths(ARCHITECTURES[attempt.architecture]);
            let other = if attempt.trial.undetermined {
                "verified as a function; it was said that the answers do not determine all parameters"
            } else {
                "verified, but the parameters are others"
            };
            let why = attempt.trial.reason.as_deref().unwrap_or(other);
            text += &format!(
                "  {name}, network {}: not recovered after {} queries: {why}\n",
                attempt.seed, attempt.trial.queries
            );
        }
        text + &format!("  verdict: {}\n", self.standing().words())
    }

    /// The results as JSON.
    pub fn json(&self) -> Value {
        let attempt = |a: &Attempt| {
            json!({
                "widths": ARCHITECTURES[a.architecture], "seed": a.seed, "parameters": a.parameters, "queries": a.trial.queries,
                "verified": a.trial.verified, "recovered": a.recovered(), "max_error": a.trial.error, "reason": a.trial.reason,
                "undetermined": a.trial.undetermined,
            })
        };
        json!({
            "name": "extraction", "claim": CLAIM, "verdict": self.standing().words(),
            "holds": self.standing() == ClaimStanding::Holds,
            "networks": self.attempts.iter().map(attempt).collect::<Vec<_>>(),
        })
    }

    /// The claims and what became of them.
    pub fn findings(&self) -> Vec<Finding> {
        let (recovered, all) = (self.count(Attempt::recovered), self.attempts.len());
        let told = self.count(|attempt| attempt.other() && attempt.trial.undetermined);
        let silent = self.count(|attempt| attempt.other() && !attempt.trial.undetermined);
        let errors = Estimate::of(
            self.attempts
                .iter()
                .filter(|a| a.recovered())
                .filter_map(|a| a.trial.error)
                .map(|e| e.max(f64::EPSILON / 16.0).log2()),
        );
        let ours = format!(
            "{recovered} of {all} networks, log2 of the largest error {}; same function and other parameters, which the answers do not determine: {told}; \
             verified with other parameters and not said so: {silent}",
            interval(&errors)
        );
        vec![Finding {
            experiment: "extraction".into(),
            claim: CLAIM.into(),
            paper: "figures only".into(),
            ours,
            standing: self.standing(),
        }]
    }

    /// Queries against parameters, and errors against queries.
    pub fn figures(&self) -> Vec<(String, String, Svg)> {
        let groups = |value: &dyn Fn(&Attempt) -> Option<(f64, f64)>| -> Vec<(String, Vec<(f64, f64)>)> {
            let depth = |a: &Attempt| ARCHITECTURES[a.architecture].len() - 2;
            let of = |hidden: usize, good: bool| {
                let chosen = self.attempts.iter().filter(|a| depth(a) == hidden && a.recovered() == good);
                let state = if good { "recovered" } else { "not recovered" };
                let layers = if hidden == 1 { "one hidden layer" } else { "two hidden layers" };
                (format!("{layers}, {state}"), chosen.filter_map(value).collect::<Vec<_>>())
            };
            [of(1, true), of(2, true), of(1, false), of(2, false)]
                .into_iter()
                .filter(|(_, points)| !points.is_empty())
                .collect()
        };
        let cost = ScatterChart {
            title: "Queries against parameters".into(),
            x_label: "log2 of the number of parameters".into(),
            y_label: "log2 of the number of queries".into(),
            groups: groups(&|a| Some(((a.parameters as f64).log2(), (a.trial.queries as f64).log2()))),
        };
        let error = ScatterChart {
            title: "Errors against queries".into(),
            x_label: "log2 of the number of queries".into(),
            y_label: "log2 of the largest error of a parameter".into(),
            groups: groups(&|a| {
                a.trial.error.map(|e| ((a.trial.queries as f64).log2(), e.max(f64::EPSILON / 16.0).log2()))
            }),
        };
        vec![
            ("extraction-queries".into(), "One point per network: what it costs.".into(), cost.draw()),
            ("extraction-errors".into(), "One point per network: how exact it is.".into(), error.draw()),
        ]
    }

    /// The section of the page.
    pub fn section(&self) -> Section {
        let standing = self.standing();
        let badge = match standing {
            ClaimStanding::Holds => Badge::good(standing.words()),
            ClaimStanding::Fails => Badge::bad(standing.words()),
            _ => Badge::open(standing.words()),
        };
        let header = ["", "parameters", "recovered", "log2 queries", "log2 error"];
        let mut table = Table::new(header)
            .caption("Means over the networks that were recovered, intervals of 95 % confidence");
        for row in self.rows() {
            table = table.row([
                Cell::text(row.name),
                Cell::number(row.parameters.to_string()),
                Cell::number(format!("{} of {}", row.recovered, row.attempts)),
                Cell::number(interval(&row.queries)),
                Cell::number(interval(&row.errors)),
            ]);
        }
        let mut section = Section::new("Reverse engineering of random networks")
            .badge(badge)
            .paragraph(format!("The paper (Rolnick and Kording): {CLAIM}."))
            .table(table);
        for (_, caption, drawing) in self.figures() {
            section = section.figure(drawing, caption);
        }
        section
            .paragraph(format!("Weights normal with variance 2 / inputs, biases of deviation 1/2, inputs in [-3, 3]; depth and widths are not told. Recovered: verified by fresh queries, and the largest error of a parameter is below {RECOVERED:e}. Verified networks with other parameters have the same function on the domain: usually a neuron of the truth never switches there."))
            .data("extraction", &self.json())
    }

    /// The networks one by one as CSV.
    pub fn write_table(&self, folder: &Path) -> anyhow::Result<String> {
        let path = folder.join("extraction.csv");
        let mut text = "widths,seed,parameters,queries,verified,recovered,max_error\n".to_owned();
        for a in &self.attempts {
            let error = a.trial.error.map_or(String::new(), |error| format!("{error:e}"));
            let name = words::widths(ARCHITECTURES[a.architecture]);
            text += &format!(
                "{name},{},{},{},{},{},{error}\n",
                a.seed,
                a.parameters,
                a.trial.queries,
                a.trial.verified,
                a.recovered()
            );
        }
        write_atomically(&path, |file| file.write_all(text.as_bytes()))?;
        Ok(path.display().to_string())
    }
}
