//! A bound without a search: networks of different widths whose neurons correspond up to rounding.
//!
//! Bounds of boxes compare neuron by neuron, and come close to the difference of such networks only on small boxes. A
//! matching up to rounding, after neurons that are nearly multiples of each other are merged, has a bound on the whole
//! box (`crate::rounding`). Asked about an epsilon, that may be enough; otherwise the search looks for the lower bound,
//! and seldom has a better upper one.

use std::time::Duration;

use fiberscope_core::{BoxNode, Certificate, Domain, Network, Rational};

use super::exact::Exact;
use super::shape::Shaped;
use super::state::State;
use super::twins::{look_alike, points};
use super::{Alignment, Decision, Difference, DifferenceOptions, Ended, OutputBounds, declared};
use crate::rounding::{Aligned, align, coarser_precision};

/// Outputs that differ by a larger part of their size differ by more than rounding.
const ALIKE: f64 = 1.0 / 1024.0;
/// Bounds of matchings grow from layer to layer, and a search may be what answers: it gets most of the time.
const PATIENCE: Duration = Duration::from_secs(10);
const SHARE: u32 = 8;

/// The bound that a matching up to rounding proves, if it is better than that of one box. Networks of the same widths are
/// left to the search: neuron by neuron it comes closer, and a matching takes longer than most decisions.
pub fn matching(
    (a, b): (&Network, &Network),
    domain: &Domain,
    shaped: Option<&Shaped>,
    root: (&[f64], &[f64]),
    options: &DifferenceOptions,
) -> Option<Aligned> {
    let whole = shaped.and_then(|shaped| declared(shaped.bound?));
    let answered =
        whole.as_ref().zip(options.epsilon.as_ref()).is_some_and(|(whole, epsilon)| whole <= epsilon);
    if !options.align
        || !options.rounding
        || answered
        || a.widths() == b.widths()
        || !look_alike(a, b, root, ALIKE)
    {
        return None;
    }
    let precision = (coarser_precision(a, b), options.epsilon.as_ref().map(Rational::to_f64));
    let enough = options.epsilon.clone().unwrap_or_default();
    let patience = options.deadline.left().map_or(PATIENCE, |left| PATIENCE.min(left / SHARE));
    let found = align((a, b), domain, precision, &enough, &options.deadline.at_most(patience))?;
    whole.is_none_or(|whole| found.bound < whole).then_some(found)
}

/// The answer that the difference is at most the epsilon that was asked about, if the bound proves it. A search that
/// goes on from it has the shape that one without this answer would have, where there is one.
pub fn within(
    (a, b): (&Network, &Network),
    domain: &Domain,
    shaped: Option<&Shaped>,
    exact: &Exact,
    root: (&[f64], &[f64]),
    (options, matched): (&DifferenceOptions, &Aligned),
) -> Option<Difference> {
    options.epsilon.as_ref().filter(|epsilon| matched.bound <= **epsilon)?;
    let farthest = farthest((a, b), root, options);
    let worst = farthest.as_ref().and_then(|x| exact.at(x));
    let apart = |k| worst.as_ref().map(|point| point.difference(k)).unwrap_or_default();
    let outputs: Vec<OutputBounds> =
        (0..a.output_width()).map(|k| OutputBounds { lower: apart(k), upper: None }).collect();
    let state = options.resume.clone().unwrap_or_else(|| {
        let (alignment, moves) = shaped.map_or((Alignment::AsGiven, Default::default()), |shaped| {
            (shaped.alignment, shaped.moves.clone())
        });
        State::new(
            (a, b),
            domain,
            alignment,
            moves,
            vec![BoxNode::Leaf],
            farthest.into_iter().collect(),
            None,
        )
    });
    let mut found = Difference {
        lower: outputs.iter().map(|output| output.lower.clone()).max().unwrap_or_default(),
        upper: None,
        outputs,
        worst,
        decision: Some(Decision::Within),
        cells: 0,
        ended: Ended::Reached,
        alignment: Alignment::Related,
        certificate: None,
        state,
        taken_over: false,
    };
    found.bounded_by(matched, (a, b), domain);
    Some(found)
}

impl Difference {
    /// Takes the bound of a matching if it is better.
    pub(super) fn bounded_by(&mut self, matched: &Aligned, (a, b): (&Network, &Network), domain: &Domain) {
        if self.upper.as_ref().is_some_and(|upper| *upper <= matched.bound) {
            return;
        }
        self.upper = Some(matched.bound.clone());
        self.outputs.iter_mut().for_each(|output| output.upper.clone_from(&self.upper));
        self.certificate = Some(Certificate::new(a, b, domain.clone(), matched.evidence.clone()));
        self.alignment = Alignment::Related;
        self.taken_over = false;
    }
}

/// The point with the largest difference in doubles, of those that were named and some of the box.
fn farthest(
    (a, b): (&Network, &Network),
    root: (&[f64], &[f64]),
    options: &DifferenceOptions,
) -> Option<Vec<f64>> {
    let mut most: Option<(f64, Vec<f64>)> = None;
    for x in options.points.iter().cloned().chain(points(root)) {
        if most.is_some() && options.deadline.is_past() {
            break;
        }
        let inside: Vec<f64> =
            x.iter().zip(root.0.iter().zip(root.1)).map(|(x, (lo, hi))| x.clamp(*lo, *hi)).collect();
        let (Ok(at_a), Ok(at_b)) = (a.evaluate(&inside), b.evaluate(&inside)) else { continue };
        let apart = at_a.iter().zip(&at_b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        if most.as_ref().is_none_or(|(known, _)| apart > *known) {
            most = Some((apart, inside));
        }
    }
    most.map(|(_, x)| x)
}
