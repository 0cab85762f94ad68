//! Ends of paths: networks some way along a symmetry, and what is proved of them.

use std::collections::BTreeMap;
use std::time::Duration;

use fiberscope_core::{Certificate, Domain, Network, Rational};

use super::explain::Explained;
use super::layout::{Parameter, changed, value};
use super::mechanism::Mechanism;
use super::view::View;
use crate::equivalence::{Agreement, EquivalenceOptions, Method, Verdict, decide};
use crate::limit::Deadline;

/// The end of a path along a symmetry.
#[derive(Clone, Debug)]
pub struct End {
    /// The network there.
    pub network: Network,
    /// How far it is, in multiples of the directions.
    pub step: f64,
    /// What is proved of it.
    pub proof: Proof,
}

/// What is proved of an end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Proof {
    /// It computes the same function on the domain.
    Equal {
        /// The certificate, which was checked.
        certificate: Box<Certificate>,
        /// How that was found.
        method: Method,
    },
    /// Its parameters are rounded; the outputs differ by at most the bound on a box.
    Within {
        /// The bound.
        bound: Rational,
        /// The box.
        domain: Domain,
        /// The certificate, which was checked.
        certificate: Box<Certificate>,
    },
    /// Nothing: a limit came first.
    Undecided,
}

/// What became of a path.
pub enum Outcome {
    /// A network was reached.
    Reached(Box<End>),
    /// The functions differ at this input, whose region was not in the list: the list was not decisive.
    News(Vec<Rational>),
    /// The functions differ at all steps that were tried, in regions of the list or in such that are new at the end.
    Nowhere,
}

/// Sizes of steps that are tried, largest first.
const STEPS: [f64; 4] = [0.25, 0.03125, 0.0009765625, 0.000030517578125];
/// The difference of outputs that is asked about where numbers are rounded, relative to their size.
const TOLERANCE: f64 = 1e-9;

/// How far the box goes on which rounded numbers are compared, where the domain has no end.
const FAR: f64 = 16.0;

/// What is asked of paths.
pub struct Paths<'a> {
    pub network: &'a Network,
    pub domain: &'a Domain,
    pub seed: u64,
    /// How long one proof may take.
    pub patience: Duration,
    pub deadline: &'a Deadline,
}

impl Paths<'_> {
    /// Goes along a symmetry. `is_news` says whether an input lies in a region that tells something new.
    pub fn follow(
        &self,
        explained: &Explained,
        view: &View,
        is_news: &dyn Fn(&[Rational]) -> bool,
    ) -> Outcome {
        let (mut rounded, mut exact) = (Vec::new(), Vec::new());
        let signs: &[f64] =
            if explained.candidate.mechanism == Mechanism::Dead { &[-1.0] } else { &[1.0, -1.0] };
        for step in STEPS.iter().flat_map(|step| signs.iter().map(move |sign| step * sign)) {
            if self.deadline.is_past() {
                break;
            }
            match &explained.leftover {
                Some(leftover) => {
                    let step = step * self.scale(explained);
                    rounded.extend(
                        leftover.follow(self.network, view, step, self.deadline).map(|end| (step, end)),
                    );
                }
                None => match self.end(explained, step) {
                    Some((step, end, true)) => exact.push((step, end)),
                    Some((step, end, false)) => rounded.push((step, end)),
                    None => {}
                },
            }
        }
        for (step, end) in exact {
            if let Some(outcome) = self.prove(step, end, is_news, true) {
                return outcome;
            }
        }
        for (step, end) in rounded {
            if let Some(outcome) = self.prove(step, end, is_news, false) {
                return outcome;
            }
        }
        Outcome::Nowhere
    }

    /// A power of two of about the size of the rows that move, for directions with entries of about 1.
    fn scale(&self, explained: &Explained) -> f64 {
        let size = |parameter: Parameter| value(self.network, parameter).to_f64().abs();
        let entries = explained.candidate.directions.iter().flatten();
        let largest = entries.map(|(parameter, _)| size(*parameter)).fold(0.0, f64::max);
        if largest > 0.0 { 2f64.powf(largest.log2().round()) } else { 1.0 }
    }

    /// The network a step along all directions, and whether its numbers are exact.
    fn end(&self, explained: &Explained, step: f64) -> Option<(f64, Network, bool)> {
        let relative = matches!(explained.candidate.mechanism, Mechanism::Twins | Mechanism::Linear)
            && explained.candidate.neurons.len() > 1;
        let step = if relative { step } else { step * self.scale(explained) };
        let factor = Rational::from_f64(step)?;
        let mut numbers: BTreeMap<Parameter, Rational> = BTreeMap::new();
        for (parameter, speed) in explained.candidate.directions.iter().flatten() {
            let number = numbers.entry(*parameter).or_insert_with(|| value(self.network, *parameter));
            *number += &(&factor * speed);
        }
        let exact = numbers.values().all(Rational::is_f64);
        let number = |parameter: Parameter| {
            numbers.get(&parameter).map_or_else(|| value(self.network, parameter).to_f64(), Rational::to_f64)
        };
        Some((step, changed(self.network, number).ok()?, exact))
    }

    /// What is proved of a network; `None` if it differs and that tells nothing new.
    fn prove(
        &self,
        step: f64,
        end: Network,
        is_news: &dyn Fn(&[Rational]) -> bool,
        exact: bool,
    ) -> Option<Outcome> {
        let reached =
            |network: Network, proof: Proof| Outcome::Reached(Box::new(End { network, step, proof }));
        let options =
            EquivalenceOptions::new().seed(self.seed).deadline(self.deadline.at_most(self.patience));
        let bounded = self.bounded();
        let (domain, options) = match exact {
            true => (self.domain, options.exact(true)),
            false => (&bounded, options.tolerance(TOLERANCE * self.size())),
        };
        let Ok(decision) = decide(self.network, &end, domain, &options) else {
            return Some(reached(end, Proof::Undecided));
        };
        match decision.verdict {
            Verdict::Equivalent { certificate } => {
                let certificate = Box::new(certificate);
                let proof = match domain == self.domain {
                    true => Proof::Equal { certificate, method: decision.method },
                    false => Proof::Within { bound: Rational::ZERO, domain: domain.clone(), certificate },
                };
                Some(reached(end, proof))
            }
            Verdict::EquivalentUpToRounding {
                agreement: Agreement::Outputs { bound, .. },
                certificate,
                ..
            } => {
                let certificate = Box::new(certificate);
                Some(reached(end, Proof::Within { bound, domain: domain.clone(), certificate }))
            }
            Verdict::Different { x, .. } => is_news(&x).then_some(Outcome::News(x)),
            _ => Some(reached(end, Proof::Undecided)),
        }
    }

    /// The domain, cut where it has no ends.
    fn bounded(&self) -> Domain {
        let sides = self.domain.sides(self.network.input_width());
        if sides.iter().all(|side| side.lower.is_some() && side.upper.is_some()) {
            return self.domain.clone();
        }
        let end = |end: &Option<Rational>, other: f64| end.as_ref().map_or(other, Rational::to_f64);
        let bounds: Vec<(f64, f64)> = sides
            .iter()
            .map(|side| {
                let (low, high) = (end(&side.lower, f64::NEG_INFINITY), end(&side.upper, f64::INFINITY));
                match (low.is_finite(), high.is_finite()) {
                    (true, true) => (low, high),
                    (true, false) => (low, low.max(0.0) + FAR),
                    (false, true) => (high.min(0.0) - FAR, high),
                    (false, false) => (-FAR, FAR),
                }
            })
            .collect();
        Domain::from_bounds(&bounds).unwrap_or(Domain::Space)
    }

    /// About how large the outputs are on the bounded part of the domain.
    fn size(&self) -> f64 {
        let sides = self.bounded().sides(self.network.input_width());
        let end = |end: &Option<Rational>| end.as_ref().map_or(0.0, Rational::to_f64);
        let corner = |k: usize| -> Vec<f64> {
            let share = |i: usize| f64::from(u8::from((k >> (i % 5)) & 1 == 1)) * 0.75 + 0.125;
            let at = |(i, side): (usize, &fiberscope_core::Interval)| {
                end(&side.lower) + share(i) * (end(&side.upper) - end(&side.lower))
            };
            sides.iter().enumerate().map(at).collect()
        };
        let values = (0..32).filter_map(|k| self.network.evaluate(&corner(k)).ok()).flatten();
        let largest = values.map(f64::abs).filter(|x| x.is_finite()).fold(0.0, f64::max);
        if largest > 0.0 { largest } else { 1.0 }
    }
}
