//! An extraction as text.

use fiberscope::extract::{Disagreement, ExtractOutcome, ExtractStep, Fidelity, Undetermined};

use super::{ExtractionSummary, StepQueries, Truth, disagreements, name, power, reason, steps};
use crate::number::{grouped, significant, significant_upper};
use crate::text::Lines;
use crate::words;

impl ExtractionSummary {
    /// The facts for a terminal.
    pub fn to_text(&self) -> String {
        let (inputs, _) = self.sizes;
        let (lo, hi) = (significant(self.domain.0, 6), significant(self.domain.1, 6));
        let mut out = Lines::titled(&format!("{} on [{lo}, {hi}]^{inputs}", self.name));
        out.fact("verdict", &self.verdict());
        if let Some(network) = &self.found.network {
            let place = self.output.as_ref().map_or(String::new(), |file| format!(", written to {file}"));
            out.fact("network", &format!("{}{place}", words::widths(&network.widths())));
        } else {
            out.fact("network", "none");
        }
        for (at, layer) in self.found.known.iter().enumerate() {
            let state = if layer.oriented {
                "weights, biases and orientation"
            } else {
                "weights and biases up to sign; some neurons may be missing"
            };
            let seen = self.found.certainty.get(at).map_or(String::new(), |certainty| {
                let (predicted, seen) = (grouped(certainty.predicted), grouped(certainty.seen));
                format!("; seen to switch at {seen} of {predicted} places on lines")
            });
            out.fact(
                &format!("found {}", at + 1),
                &format!("{} neurons of hidden layer {}: {state}{seen}", grouped(layer.bias.len()), at + 1),
            );
        }
        if let Some(explained) = self.found.explained.filter(|explained| explained.kinks > 0) {
            out.fact(
                "explained",
                &format!(
                    "{} of {} kinks on lines ({:.0} %) are boundaries of the layers found",
                    grouped(explained.explained),
                    grouped(explained.kinks),
                    (100.0 * explained.share()).floor()
                ),
            );
        }
        if let Some(file) = &self.known {
            out.fact(
                "known layers",
                &format!("written to {file}; extract --known goes on from there, and so do --signs and --boundaries"),
            );
        }
        for open in &self.found.undetermined {
            out.fact(&format!("open {}", open.layer + 1), &undetermined_text(open));
        }
        if let Some(reason) = self.not_identifiable() {
            out.fact("open", &format!("the network that was written is not identifiable: {reason}"));
        }
        if self.identifiability_is_open() {
            out.fact("open", "whether other parameters have the function of this network, which was not looked into to the end");
        }
        let counted = if self.found.network.is_some() { self.found.layers.as_slice() } else { &[] };
        for (at, layer) in counted.iter().enumerate() {
            let linear = match layer.always_active {
                0 => String::new(),
                n => format!(", {n} of them never seen to switch"),
            };
            out.fact(&format!("layer {}", at + 1), &format!("{} neurons{linear}", grouped(layer.neurons)));
        }
        out.fact("queries", &queries_text(self.found.queries, self.replayed));
        for line in spent_text(&self.found.spent) {
            out.fact("", &line);
        }
        if self.found.queries > 0 {
            let noise = significant(self.found.noise, 2);
            out.fact("noise", &format!("{noise} of an answer at inputs of size 1"));
        }
        if let Some(fidelity) = &self.found.fidelity {
            out.fact("fidelity", &fidelity_text(fidelity));
        }
        if let Some(truth) = &self.truth {
            truth.add_to(&mut out);
        }
        for remark in &self.found.remarks {
            out.fact("remark", remark);
        }
        let disagreements = disagreements(&self.found.outcome);
        for Disagreement { x, oracle, recovered } in disagreements.iter().take(5) {
            let text = format!("at {}: oracle {}, network {}", vector(x), vector(oracle), vector(recovered));
            out.fact("disagreement", &text);
        }
        if let Some(more) = disagreements.len().checked_sub(5).filter(|more| *more > 0) {
            out.fact("", &format!("and {more} more (--json lists them)"));
        }
        if let Some(log) = &self.log {
            out.fact("query log", log);
        }
        out.finish()
    }

    fn verdict(&self) -> String {
        match (&self.found.outcome, &self.found.fidelity) {
            (ExtractOutcome::Verified, Some(fidelity)) => format!(
                "verified on this domain{}: with 95 % confidence differences above {} have at most {} % of it",
                if !self.found.undetermined.is_empty() || self.not_identifiable().is_some() {
                    " as a function, not its parameters"
                } else if self.identifiability_is_open() {
                    " as a function"
                } else {
                    ""
                },
                significant(fidelity.epsilon, 2),
                significant(100.0 * fidelity.delta, 2)
            ),
            (verdict, _) => {
                let reason = reason(verdict).map_or(String::new(), |reason| format!(": {reason}"));
                format!("{}{reason}", name(verdict))
            }
        }
    }
}

/// What is open in a hidden layer.
fn undetermined_text(open: &Undetermined) -> String {
    let neurons = |count: usize| if count == 1 { "1 neuron".into() } else { format!("{count} neurons") };
    let mut parts = Vec::new();
    if open.always_on > 0 {
        let known = if open.always_on == 1 { "its linear map" } else { "the sum of their linear maps" };
        parts.push(format!(
            "{} on at all points that were looked at, of which only {known} is known, shared with the layer behind",
            neurons(open.always_on)
        ));
    }
    if open.always_off > 0 {
        parts.push(format!("{} off at all points that were looked at", neurons(open.always_off)));
    }
    if open.weights > 0 {
        let weights = if open.weights == 1 { "1 weight".into() } else { format!("{} weights", open.weights) };
        parts.push(format!(
            "{weights} from neurons that were on at none of these points together with the one behind"
        ));
    }
    if open.directions > 0 {
        let count = open.directions;
        let directions = if count == 1 { "1 direction".into() } else { format!("{count} directions") };
        return format!(
            "the parameters are not determined by the answers: in {directions}, beside the scalings of neurons, they can change and no answer that was \
             looked at does, to first order"
        );
    }
    format!("hidden layer {} is not determined by the answers: {}", open.layer + 1, parts.join("; "))
}

fn fidelity_text(found: &Fidelity) -> String {
    format!(
        "{} fresh points differ by at most {}; {} kinks on {} fresh lines",
        grouped(found.points),
        significant(found.max_difference, 2),
        grouped(found.kinks),
        grouped(found.lines)
    )
}

impl Truth {
    fn add_to(&self, out: &mut Lines) {
        let said = match &self.aligned {
            Ok(aligned) => {
                let layers: Vec<_> = aligned.layers.iter().map(|&error| power(error)).collect();
                let layers = if layers.is_empty() {
                    String::new()
                } else {
                    format!("; by layer {}", layers.join(", "))
                };
                format!(
                    "largest error of a parameter {}, relative to its layer {}{layers}",
                    power(aligned.max_error),
                    power(aligned.max_relative_error)
                )
            }
            Err(reason) => format!("not aligned: {reason}"),
        };
        out.fact("truth", &said);
        if let Some((verdict, bound)) = &self.equiv {
            let bound = bound.map_or(String::new(), |bound| {
                format!(", the outputs differ by at most {} on the box: proved", significant_upper(bound, 3))
            });
            out.fact("equiv", &format!("{}{bound}", verdict.replace('_', " ")));
        }
    }
}

/// The number of queries.
pub(super) fn queries_text(queries: u64, replayed: u64) -> String {
    let replayed = match replayed {
        0 => String::new(),
        n => format!(", {} of them answered by the log", grouped(n as usize)),
    };
    match queries {
        0 => "none".to_owned(),
        n => format!("{} (2^{:.2}){replayed}", grouped(n as usize), log2(n)),
    }
}

/// A line for every step.
pub(super) fn spent_text(spent: &[(usize, ExtractStep, u64)]) -> Vec<String> {
    let line = |(step, queries): StepQueries| {
        let parts: Vec<_> = queries.iter().map(|&(layer, n)| part(layer, n)).collect();
        format!("{step} {}", parts.join(", "))
    };
    steps(spent).into_iter().map(line).collect()
}

fn log2(count: u64) -> f64 {
    (count.max(1) as f64).log2()
}

fn part(layer: Option<usize>, queries: u64) -> String {
    let queries = grouped(queries as usize);
    layer.map_or(queries.clone(), |layer| format!("{queries} (layer {})", layer + 1))
}

/// The first entries of a vector.
fn vector(x: &[f64]) -> String {
    let shown: Vec<_> = x.iter().take(4).map(|value| significant(*value, 6)).collect();
    let more = if x.len() > 4 { ", ..." } else { "" };
    format!("({}{more})", shown.join(", "))
}
