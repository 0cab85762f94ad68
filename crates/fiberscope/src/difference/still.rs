//! Answers without a search: for networks that moves make equal, and for those whose numbers cannot be bounded.

use fiberscope_core::{BoxNode, Certificate, Domain, Evidence, MoveChain, Network, Rational};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::exact::{Exact, Point};
use super::shape::Shaped;
use super::state::State;
use super::{Alignment, Decision, Difference, DifferenceOptions, Ended, OutputBounds, decided};

/// Corners that are looked at where nothing can be bounded.
const CORNERS: usize = 64;

/// Moves make the same network of both.
pub fn equal(
    (a, b): (&Network, &Network),
    domain: &Domain,
    shaped: Shaped,
    exact: &Exact,
    root: &(Vec<f64>, Vec<f64>),
    options: &DifferenceOptions,
) -> Difference {
    let [moves_a, moves_b] = shaped.moves.clone();
    let none = OutputBounds { lower: Rational::ZERO, upper: Some(Rational::ZERO) };
    let (evidence, tree) = (Evidence::Moves { a: moves_a, b: moves_b }, vec![BoxNode::Leaf]);
    Difference {
        lower: Rational::ZERO,
        upper: Some(Rational::ZERO),
        outputs: vec![none; a.output_width()],
        worst: exact.at(&root.0),
        decision: options.epsilon.as_ref().map(|_| Decision::Within),
        cells: 0,
        ended: Ended::Reached,
        alignment: shaped.alignment,
        certificate: Some(Certificate::new(a, b, domain.clone(), evidence)),
        state: State::new((a, b), domain, shaped.alignment, shaped.moves, tree, Vec::new(), None),
        taken_over: false,
    }
}

/// What points alone tell, where nothing can be bounded.
pub fn unbounded(
    networks: (&Network, &Network),
    domain: &Domain,
    exact: &Exact,
    (lo, hi): &(Vec<f64>, Vec<f64>),
    options: &DifferenceOptions,
) -> Difference {
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    let middle = lo.iter().zip(hi).map(|(lo, hi)| 0.5 * lo + 0.5 * hi).collect();
    let corner = |_| lo.iter().zip(hi).map(|(lo, hi)| if random.random() { *hi } else { *lo }).collect();
    let corners: Vec<Vec<f64>> = (0..CORNERS).map(corner).collect();
    let points = options.points.iter().cloned().chain([middle, lo.clone(), hi.clone()]).chain(corners);
    let mut lowers = vec![Rational::ZERO; networks.0.output_width()];
    let mut worst: Option<(Rational, Point, Vec<f64>)> = None;
    for x in points {
        if worst.is_some() && options.deadline.is_past() {
            break;
        }
        let Some(point) = exact.at(&x) else { continue };
        lowers.iter_mut().enumerate().for_each(|(k, lower)| *lower = point.difference(k).max(lower.clone()));
        let difference = point.largest().1;
        if worst.as_ref().is_none_or(|(most, ..)| difference > *most) {
            worst = Some((difference, point, x));
        }
    }
    let lower = lowers.iter().max().cloned().unwrap_or_default();
    let decision = options.epsilon.as_ref().map(|epsilon| decided(&lower, None, epsilon));
    let (worst, places) = worst.map_or((None, Vec::new()), |(_, point, x)| (Some(point), vec![x]));
    let moves = [MoveChain::default(), MoveChain::default()];
    let ended = match decision {
        Some(Decision::Exceeds) => Ended::Reached,
        _ => options.deadline.limit().map_or(Ended::Rounding, Ended::Limit),
    };
    Difference {
        lower,
        upper: None,
        outputs: lowers.into_iter().map(|lower| OutputBounds { lower, upper: None }).collect(),
        worst,
        decision,
        cells: 0,
        ended,
        alignment: Alignment::AsGiven,
        certificate: None,
        state: State::new(networks, domain, Alignment::AsGiven, moves, vec![BoxNode::Leaf], places, None),
        taken_over: false,
    }
}
