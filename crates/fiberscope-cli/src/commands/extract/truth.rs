//! A recovered network against the true one.

use std::time::Duration;

use fiberscope::align::{AlignOptions, align};
use fiberscope::equivalence::{EquivalenceOptions, Verdict, decide};
use fiberscope::extract::{Extraction, Options};
use fiberscope_core::{Domain, Network};
use fiberscope_report::extraction::Comparison;

use crate::commands::equiv;

/// The exact comparison is given up after so long, unless `--time-limit` ends it before.
const LONGEST: Duration = Duration::from_secs(60);

/// Aligns the recovered network with the truth and compares the two on the domain.
pub fn compare(truth: &Network, found: &Network, extraction: &Extraction, options: &Options) -> Comparison {
    let mut comparison =
        Comparison { equiv: on_domain(truth, found, extraction, options), ..Comparison::default() };
    match errors(truth, found, options.seed) {
        Ok(errors) => {
            comparison.max_error = Some(errors.iter().map(|(error, _)| *error).fold(0.0, f64::max));
            comparison.max_relative_error =
                Some(errors.iter().map(|(_, relative)| *relative).fold(0.0, f64::max));
            comparison.layer_errors = errors.into_iter().map(|(error, _)| error).collect();
        }
        Err(reason) => comparison.not_aligned = Some(reason),
    }
    comparison
}

/// The largest error of every layer after alignment, absolute and relative to the largest parameter of the neuron.
pub fn errors(truth: &Network, found: &Network, seed: u64) -> Result<Vec<(f64, f64)>, String> {
    if truth.widths() != found.widths() {
        let shown =
            |network: &Network| network.widths().iter().map(usize::to_string).collect::<Vec<_>>().join("-");
        return Err(format!("the truth has widths {}, the network {}", shown(truth), shown(found)));
    }
    let options = AlignOptions { seed, ..AlignOptions::default() };
    let aligned = align(truth, found, &options).map_err(|error| error.to_string())?.network;
    let layers = truth.layers().iter().zip(aligned.layers());
    let layer_error = |(a, b): (&fiberscope_core::Layer, &fiberscope_core::Layer)| {
        let neurons = a.weight().iter_rows().zip(a.bias()).zip(b.weight().iter_rows().zip(b.bias()));
        neurons.fold((0.0f64, 0.0f64), |(most, relative), ((v, c), (w, d))| {
            let error = v.iter().zip(w).map(|(v, w)| (v - w).abs()).fold((c - d).abs(), f64::max);
            let size = v.iter().map(|v| v.abs()).fold(c.abs(), f64::max);
            (most.max(error), relative.max(if error == 0.0 { 0.0 } else { error / size }))
        })
    };
    Ok(layers.map(layer_error).collect())
}

/// The verdict of the exact comparison and the bound it proves.
fn on_domain(
    truth: &Network,
    found: &Network,
    extraction: &Extraction,
    options: &Options,
) -> Option<(String, Option<f64>)> {
    let domain = Domain::from_bounds(&vec![options.domain; truth.input_width()])?;
    // Parameters with the error of many answers are still equal up to rounding.
    let size = options.domain.0.abs().max(options.domain.1.abs());
    let tolerance = 1e-6f64.max(1e6 * extraction.noise * (1.0 + size));
    let time = options.deadline.left().map_or(LONGEST, |left| left.min(LONGEST));
    let asked = EquivalenceOptions {
        tolerance: Some(tolerance),
        precision: f64::EPSILON,
        time: Some(time),
        seed: options.seed,
        ..EquivalenceOptions::default()
    };
    let decision = decide(truth, found, &domain, &asked, &|_| {}).ok()?;
    let bound = match &decision.verdict {
        Verdict::Equivalent { .. } => Some(0.0),
        Verdict::EquivalentUpToRounding { bound, .. } => Some(bound.to_f64()),
        Verdict::Different { .. } | Verdict::Undecided { .. } => None,
    };
    Some((equiv::name(&decision.verdict).into(), bound))
}
