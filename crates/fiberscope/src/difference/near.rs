//! An answer without a search: networks whose neurons correspond up to rounding.
//!
//! Bounds of boxes compare neuron by neuron, and come close to the difference of such networks only on small boxes. A
//! matching up to rounding, after neurons that are nearly multiples of each other are merged, has a bound on the whole
//! box (`crate::rounding`): asked about an epsilon, that may be enough.

use std::time::Duration;

use fiberscope_core::{BoxNode, Certificate, Domain, MoveChain, Network};

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

/// The answer that the difference is at most the epsilon that was asked about, if a matching proves it. A search that
/// goes on from it has the shape that one without this answer would have, where there is one.
pub fn within(
    (a, b): (&Network, &Network),
    domain: &Domain,
    shaped: Option<&Shaped>,
    exact: &Exact,
    root: (&[f64], &[f64]),
    options: &DifferenceOptions,
) -> Option<Difference> {
    let epsilon = options.epsilon.as_ref()?;
    // One box may be enough, and tells more.
    let whole = shaped.and_then(|shaped| declared(shaped.bound?));
    if whole.is_some_and(|bound| bound <= *epsilon) {
        return None;
    }
    if !options.align || !options.rounding || options.resume.is_some() || !look_alike(a, b, root, ALIKE) {
        return None;
    }
    let precision = (coarser_precision(a, b), Some(epsilon.to_f64()));
    let patience = options.deadline.left().map_or(PATIENCE, |left| PATIENCE.min(left / SHARE));
    let deadline = options.deadline.at_most(patience);
    let Aligned { evidence, bound } = align((a, b), domain, precision, epsilon, &deadline)?;
    if bound > *epsilon {
        return None;
    }
    let farthest = farthest((a, b), root, options);
    let worst = farthest.as_ref().and_then(|x| exact.at(x));
    let lowers =
        (0..a.output_width()).map(|k| worst.as_ref().map(|point| point.difference(k)).unwrap_or_default());
    let outputs: Vec<OutputBounds> =
        lowers.map(|lower| OutputBounds { lower, upper: Some(bound.clone()) }).collect();
    let lower = outputs.iter().map(|output| output.lower.clone()).max().unwrap_or_default();
    let (alignment, moves) = shaped
        .map_or((Alignment::AsGiven, [MoveChain::default(), MoveChain::default()]), |shaped| {
            (shaped.alignment, shaped.moves.clone())
        });
    Some(Difference {
        lower,
        upper: Some(bound),
        outputs,
        worst,
        decision: Some(Decision::Within),
        cells: 0,
        ended: Ended::Reached,
        alignment: Alignment::Related,
        certificate: Some(Certificate::new(a, b, domain.clone(), evidence)),
        state: State::new(
            (a, b),
            domain,
            alignment,
            moves,
            vec![BoxNode::Leaf],
            farthest.into_iter().collect(),
            None,
        ),
        taken_over: false,
    })
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
