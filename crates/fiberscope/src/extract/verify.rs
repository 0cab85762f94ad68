//! The gate before an answer: fresh points and fresh lines.
//!
//! If `N` random points of the domain show no difference above `epsilon`, such differences have at most the
//! share `3 / N` of the domain, with 95 % confidence. On a random line the recovered function is linear
//! between kinks that are computed from it; the oracle must agree at the kinks and at three points of every
//! piece, so that its slopes and kinks are the same. Corners of the domain and points where neurons may be
//! extreme are looked at too, and the earlier answers in it.

use fiberscope_algebra::dense::{along, minus, peak, scaled};
use fiberscope_core::Network;

use super::extremes::extremes;
use super::inquiry::{Halt, Inquiry};
use super::prefix::{Prefix, Rows};
use super::{Disagreement, ExtractStep, Fidelity};

/// Fresh points of the domain.
const POINTS: usize = 300;

/// Points closer to the centre and beyond the domain.
const SCALED_POINTS: usize = 40;

/// Fresh lines.
const LINES: usize = 2;

/// Corners, and points where combinations of neurons are extreme: this share of the queries that the
/// extraction took, at least and at most so many.
const SHARE: f64 = 0.1;
const FAR_POINTS: (usize, usize) = (120, 3_000);

/// Numbers in the earlier questions that are looked at again.
const EARLIER_NUMBERS: usize = 20_000_000;

/// The most disagreements that are kept.
const MOST_DISAGREEMENTS: usize = 20;

/// What the gate saw.
pub(super) struct Gate {
    /// The agreement.
    pub fidelity: Fidelity,
    /// Where the two disagree, the worst first.
    pub disagreements: Vec<Disagreement>,
    /// All questions on which they disagree, and those on which they agree.
    pub bad: Vec<Vec<f64>>,
    /// See `bad`.
    pub good: Vec<Vec<f64>>,
}

/// Compares the network with the oracle on fresh queries.
pub(super) fn verify(inquiry: &mut Inquiry<'_>, layers: &[Rows], network: &Network) -> Result<Gate, Halt> {
    inquiry.begin(layers.len() - 1, ExtractStep::Verification);
    // What the span of the rows does not show is looked for, too.
    inquiry.look_along(&[]);
    let mut questions: Vec<Vec<f64>> = (0..POINTS).map(|_| inquiry.point_of_domain()).collect();
    for scale in [0.1, 0.4] {
        for _ in 0..SCALED_POINTS {
            let x = inquiry.point_of_domain();
            questions.push(scaled(&x, scale));
        }
    }
    let share = (SHARE * inquiry.count() as f64) as usize;
    let budget = share.clamp(FAR_POINTS.0, FAR_POINTS.1);
    let radius = inquiry.radius;
    let corner = |v: &f64| radius.copysign(*v);
    questions.extend((0..budget / 3).map(|_| inquiry.direction().iter().map(corner).collect()));
    questions.extend(extremes(inquiry, layers, budget - budget / 3));
    let mut kinks = 0;
    for _ in 0..LINES {
        let (places, count) = line(inquiry, layers);
        questions.extend(places);
        kinks += count;
    }
    // Earlier answers cost nothing but memory.
    let (earlier, earlier_answers) = inquiry.stored(1.0, EARLIER_NUMBERS / inquiry.inputs);
    let mut answers = inquiry.ask(&questions)?;
    let spread = spread(&answers);
    questions.extend(earlier.iter_rows().map(<[f64]>::to_vec));
    answers.extend(earlier_answers.iter_rows().map(<[f64]>::to_vec));
    let center = inquiry.center();
    let (mut worst, mut size) = (0.0f64, 0.0f64);
    let mut differences = Vec::new();
    for (x, y) in questions.iter().zip(&answers) {
        let x: Vec<f64> = x.iter().map(|v| v + center).collect();
        let recovered = network.evaluate(&x).expect("the widths of the oracle");
        let difference = y.iter().zip(&recovered).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let difference = if difference.is_nan() { f64::INFINITY } else { difference };
        worst = worst.max(difference);
        size = size.max(peak(y));
        differences.push((difference, Disagreement { x, oracle: y.clone(), recovered }));
    }
    // Where noise is a good part of what there is to see, agreement within noise says nothing.
    let noise = (5.0 * inquiry.eta * (1.0 + inquiry.radius)).min(1e-2 * spread);
    let allowed = noise.max(1e-9 * spread).max(1e-13 * size);
    let (mut disagreements, mut bad, mut good) = (Vec::new(), Vec::new(), Vec::new());
    for (question, (difference, disagreement)) in questions.into_iter().zip(differences) {
        if difference > allowed {
            disagreements.push((difference, disagreement));
            bad.push(question);
        } else {
            good.push(question);
        }
    }
    disagreements.sort_by(|a: &(f64, Disagreement), b| b.0.total_cmp(&a.0));
    disagreements.truncate(MOST_DISAGREEMENTS);
    let epsilon = (2.0 * worst).max(inquiry.eta * (1.0 + inquiry.radius));
    Ok(Gate {
        fidelity: Fidelity {
            points: POINTS,
            max_difference: worst,
            epsilon,
            delta: 3.0 / POINTS as f64,
            lines: LINES,
            kinks,
        },
        disagreements: disagreements.into_iter().map(|(_, d)| d).collect(),
        bad,
        good,
    })
}

/// How much the outputs vary.
fn spread(answers: &[Vec<f64>]) -> f64 {
    (0..answers[0].len())
        .map(|o| {
            let values = || answers.iter().map(|y| y[o]);
            values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min)
        })
        .fold(0.0, f64::max)
}

/// Kinks of the recovered function on a random line within the domain, and three points of every piece.
fn line(inquiry: &mut Inquiry<'_>, layers: &[Rows]) -> (Vec<Vec<f64>>, usize) {
    let (a, b) = (inquiry.point_of_domain(), inquiry.point_of_domain());
    let u = minus(&b, &a);
    let hidden = Prefix::of(inquiry.inputs, &layers[..layers.len() - 1]);
    // From wall to wall of the domain.
    let (mut from, mut to) = (f64::NEG_INFINITY, f64::INFINITY);
    for (x, v) in a.iter().zip(&u).filter(|(_, v)| **v != 0.0) {
        let ends = [(-inquiry.radius - x) / v, (inquiry.radius - x) / v];
        from = from.max(ends[0].min(ends[1]));
        to = to.min(ends[0].max(ends[1]));
    }
    let mut cuts = hidden.flips(&a, &u, from, to);
    let count = cuts.len();
    cuts.insert(0, from);
    cuts.push(to);
    let mut places: Vec<f64> = cuts.clone();
    for pair in cuts.windows(2) {
        places.extend([0.125, 0.5, 0.875].map(|share| pair[0] + share * (pair[1] - pair[0])));
    }
    (places.into_iter().map(|t| along(&a, t, &u)).collect(), count)
}
