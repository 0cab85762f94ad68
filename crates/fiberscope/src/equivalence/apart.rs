//! How far apart the outputs can be on a bounded box, by the search over boxes of [`crate::difference`].
//!
//! With a tolerance the search goes on until it is decided whether the largest difference exceeds it, or a
//! limit comes; with very many inputs, where bisecting some of them hardly helps, it ends after a few boxes. Up to rounding the question is equality, and a bound comes on top of the answer: there the
//! search is given a fixed amount of work, which does not depend on the machine.

use fiberscope_core::{Domain, Evidence, Network, Rational};

use super::options::{EquivalenceOptions, Goal};
use super::verdict::Difference;
use crate::difference::{DifferenceOptions, measure};

/// The operations that a bound on top of an answer is worth: less than a second.
const WORK: u64 = 1 << 32;

/// The most boxes for such a bound.
const BOXES: u64 = 1 << 10;

/// With more inputs than this, bisecting some of them is not worth its time: so few boxes with a tolerance, one
/// without.
const MANY: usize = 64;
const FEW: usize = 64;

/// What a search over boxes found.
pub struct Found {
    /// A bound for the difference of the outputs, with its evidence; `None` if the tolerance is exceeded.
    pub bound: Option<(Rational, Evidence)>,
    /// The point with the largest difference that was seen.
    pub worst: Option<Difference>,
}

/// Searches, and looks at `seen` first; `None` if the networks cannot be brought to one shape.
pub fn search(
    (a, b): (&Network, &Network),
    domain: &Domain,
    options: &EquivalenceOptions,
    goal: &Goal,
    seen: Option<&Difference>,
) -> Option<Found> {
    // Half of the time is left for the check of what was found, and for other methods.
    let deadline = &options.deadline;
    let deadline = deadline.left().map_or(deadline.clone(), |left| deadline.at_most(left / 2));
    let points = options.data.iter().chain(seen.map(|seen| &seen.x));
    let points = points.map(|x| x.iter().map(Rational::to_f64).collect::<Vec<_>>());
    // That is a method of its own, which comes before this one.
    let asked = DifferenceOptions::new()
        .rounding(false)
        .points(points.filter(|x| x.len() == a.input_width() && x.iter().all(|x| x.is_finite())).collect())
        .seed(options.seed)
        .deadline(deadline)
        .progress(options.apart);
    let asked = match goal {
        Goal::Within(tolerance) => {
            asked.epsilon(tolerance.clone()).boxes((a.input_width() > MANY).then_some(FEW))
        }
        Goal::Exact | Goal::Rounding => asked.boxes(affordable(a, b)),
    };
    let found = measure(a, b, domain, &asked).ok()?;
    let worst = found.worst.filter(|point| point.a != point.b);
    let worst = worst.map(|point| Difference { x: point.x, a: point.a, b: point.b });
    let beyond = |worst: &Difference| goal.tolerance().is_some_and(|tolerance| worst.size() > *tolerance);
    let bound = found.upper.zip(found.certificate).filter(|_| !worst.as_ref().is_some_and(beyond));
    Some(Found { bound: bound.map(|(upper, certificate)| (upper, certificate.evidence)), worst })
}

/// The number of boxes that a bound on top of an answer is worth.
fn affordable(a: &Network, b: &Network) -> usize {
    if a.input_width() > MANY {
        return 1;
    }
    let neurons = |network: &Network| network.widths().iter().sum::<usize>();
    let parameters = a.parameter_count().max(b.parameter_count()) as u64;
    let work = parameters.saturating_mul(neurons(a).max(neurons(b)) as u64).max(1);
    (WORK / work).clamp(1, BOXES) as usize
}
