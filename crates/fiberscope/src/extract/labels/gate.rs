//! The gate before an answer: the classes of fresh points, and where classes change on fresh lines.

use fiberscope_algebra::dense::{along, minus, norm};

use super::super::ExtractStep;
use super::super::inquiry::Halt;
use super::super::prefix::Prefix;
use super::ask::Asker;
use super::model::Model;

/// Fresh points of the domain.
const POINTS: usize = 300;

/// Fresh lines.
const LINES: usize = 12;

/// A change of class is looked for so far before and behind its place, in radii of the domain.
const WITHIN: f64 = 1e-8;

/// The agreement of a network with the classes that an oracle answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelAgreement {
    /// Fresh random points of the domain.
    pub points: usize,
    /// With 95 % confidence, the classes differ on at most this share of the domain.
    pub delta: f64,
    /// Fresh random lines through the domain.
    pub lines: usize,
    /// Changes of the class on them.
    pub changes: usize,
    /// Both change within this distance of each other.
    pub within: f64,
}

/// What the gate saw: the agreement, and points, relative to the centre, with another class than the model has.
pub(super) fn verify(asker: &mut Asker<'_>, model: &Model) -> Result<(LabelAgreement, Vec<Vec<f64>>), Halt> {
    asker.begin(model.hidden.len(), ExtractStep::Verification);
    let mut questions: Vec<Vec<f64>> = (0..POINTS).map(|_| asker.point(1.0)).collect();
    let within = WITHIN * asker.radius;
    let mut changes = 0;
    for _ in 0..LINES {
        let (a, b) = (asker.point(1.0), asker.point(1.0));
        let whole = minus(&b, &a);
        let length = norm(&whole);
        let u: Vec<f64> = whole.iter().map(|v| v / length).collect();
        let places = changes_on(model, &a, &u, length);
        changes += places.len();
        let mut marks = vec![0.0];
        for t in places {
            marks.extend([t - within, t + within]);
        }
        marks.push(length);
        for pair in marks.windows(2) {
            // Both ends of every stretch of one class, and two points in it.
            let inner = [0.3, 0.7].map(|share| pair[0] + share * (pair[1] - pair[0]));
            questions.extend([pair[0], inner[0], inner[1]].map(|t| along(&a, t, &u)));
        }
    }
    let answers = asker.classes(&questions)?;
    let wrong = |(x, class): (&Vec<f64>, usize)| {
        // The stretch between the two sides of a change is not judged.
        let own = model.class(x);
        (own != class).then(|| x.clone())
    };
    let bad: Vec<Vec<f64>> = questions.iter().zip(answers).filter_map(wrong).collect();
    let delta = 3.0 / POINTS as f64;
    Ok((LabelAgreement { points: POINTS, delta, lines: LINES, changes, within }, bad))
}

/// Where the class of the model changes on `a + t u`, `0 < t < length`.
fn changes_on(model: &Model, a: &[f64], u: &[f64], length: f64) -> Vec<f64> {
    let mut cuts = Prefix::of(a.len(), &model.hidden).flips(a, u, 0.0, length);
    cuts.insert(0, 0.0);
    cuts.push(length);
    let mut places = Vec::new();
    for pair in cuts.windows(2).filter(|pair| pair[1] > pair[0]) {
        let (from, to) = (model.outputs(&along(a, pair[0], u)), model.outputs(&along(a, pair[1], u)));
        // Outputs are linear on the piece: the largest one is overtaken by the first that catches up.
        let (mut share, mut best) = (0.0, largest(&from, &to));
        loop {
            let overtakes = |k: &usize| {
                let (now, then) = (from[best] - from[*k], to[best] - to[*k]);
                let at = now / (now - then);
                (*k != best && then < 0.0 && at > share).then_some((at, *k))
            };
            let next = (0..from.len()).filter_map(|k| overtakes(&k)).min_by(|p, q| p.0.total_cmp(&q.0));
            let Some((at, k)) = next else { break };
            (share, best) = (at, k);
            places.push(pair[0] + share * (pair[1] - pair[0]));
        }
    }
    places
}

/// The largest output at the begin of a piece, and behind it if several are.
fn largest(from: &[f64], to: &[f64]) -> usize {
    (1..from.len()).fold(0, |best, k| if (from[k], to[k]) > (from[best], to[best]) { k } else { best })
}
