//! A point where two networks differ, looked for where differences hide.
//!
//! Equality of piecewise affine maps fails, if at all, on an open set, but that set may be tiny and lie
//! beside a boundary or a vertex of the regions, or far out. So besides uniform points at several scales and
//! far points on rays, points are taken on and beside bent hyperplanes of both networks and their
//! intersections. Floats rank the points; exact evaluation decides. Finding nothing proves nothing.

pub(crate) mod boundary;

use fiberscope_core::{Domain, ExactEvaluator, Interval, Matrix, Network, Rational};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::verdict::size_of;
use crate::limit::Deadline;
use boundary::Boundaries;

/// How many points are evaluated together.
const BATCH: usize = 512;

/// How many points of a batch are evaluated exactly: the most promising, and some at random.
const EXACT: (usize, usize) = (4, 2);

/// From this many parameters on, points are moved onto one boundary only.
const WALK: usize = 400_000;

/// How long to look.
#[derive(Clone, Debug)]
pub struct FalsifyBudget {
    /// The most points.
    pub points: usize,
    /// When to stop.
    pub deadline: Deadline,
}

impl Default for FalsifyBudget {
    /// 16,384 points, no limit in time.
    fn default() -> Self {
        FalsifyBudget { points: 16_384, deadline: Deadline::NEVER }
    }
}

/// Looks for a point of the domain where the networks differ. What is found is verified by exact
/// evaluation. Networks of different shapes, and domains of another dimension, have no such point.
///
/// ```
/// use fiberscope::equivalence::falsify::{FalsifyBudget, falsify};
/// use fiberscope::{Domain, Network};
///
/// let line = |slope: f64| Network::from_rows(&[(&[&[slope]], &[0.0])]).unwrap();
/// let (one, more) = (line(1.0), line(1.0 + f64::EPSILON));
/// assert!(falsify(&one, &more, &Domain::Space, 0, &FalsifyBudget::default()).is_some());
/// assert!(falsify(&one, &one, &Domain::Space, 0, &FalsifyBudget::default()).is_none());
/// ```
pub fn falsify(
    a: &Network,
    b: &Network,
    domain: &Domain,
    seed: u64,
    budget: &FalsifyBudget,
) -> Option<Vec<Rational>> {
    falsify_beyond((a, b), domain, seed, budget, &Rational::ZERO)
}

/// The same for a point where an output differs by more than a threshold.
pub(super) fn falsify_beyond(
    (a, b): (&Network, &Network),
    domain: &Domain,
    seed: u64,
    budget: &FalsifyBudget,
    threshold: &Rational,
) -> Option<Vec<Rational>> {
    if a.input_width() != b.input_width()
        || a.output_width() != b.output_width()
        || domain.check(a.input_width()).is_err()
    {
        return None;
    }
    let mut points = Points::new(a, b, domain, seed);
    let evaluators = [ExactEvaluator::new(a), ExactEvaluator::new(b)];
    let mut left = budget.points;
    while left > 0 && !budget.deadline.is_past() {
        let batch = points.batch(BATCH.min(left));
        left -= BATCH.min(left);
        for place in promising(a, b, &batch, threshold, &mut points.rng) {
            if let Some(x) = verified(&evaluators, domain, batch.row(place), threshold) {
                return Some(x);
            }
        }
    }
    None
}

/// The rows of a batch that are worth exact evaluation.
fn promising(
    a: &Network,
    b: &Network,
    batch: &Matrix,
    threshold: &Rational,
    rng: &mut ChaCha8Rng,
) -> Vec<usize> {
    let random = |rng: &mut ChaCha8Rng| rng.random_range(0..batch.rows());
    let mut places: Vec<usize> = Vec::new();
    if let (Ok(of_a), Ok(of_b)) = (a.evaluate_batch(batch), b.evaluate_batch(batch)) {
        // Any difference counts relative to the size of the values, which rounding is relative to.
        let score = |i: usize| {
            let pairs = of_a.row(i).iter().zip(of_b.row(i));
            let unit = |x: f64, y: f64| {
                if threshold.is_zero() { x.abs() + y.abs() + f64::MIN_POSITIVE } else { 1.0 }
            };
            pairs.map(|(&x, &y)| (x - y).abs() / unit(x, y)).fold(0.0, f64::max)
        };
        let mut ranked: Vec<(f64, usize)> = (0..batch.rows()).map(|i| (score(i), i)).collect();
        ranked.retain(|(score, _)| *score > 0.0);
        ranked.sort_by(|(x, i), (y, j)| y.total_cmp(x).then(i.cmp(j)));
        places.extend(ranked.iter().take(EXACT.0).map(|(_, i)| i));
    }
    places.extend((0..EXACT.1).map(|_| random(rng)));
    places
}

fn verified(
    evaluators: &[ExactEvaluator; 2],
    domain: &Domain,
    point: &[f64],
    threshold: &Rational,
) -> Option<Vec<Rational>> {
    let x: Vec<Rational> = point.iter().map(|&x| Rational::from_f64(x)).collect::<Option<_>>()?;
    let [a, b] = evaluators;
    (domain.contains(&x) && size_of(&a.evaluate(&x).ok()?, &b.evaluate(&x).ok()?) > *threshold).then_some(x)
}

/// The points to try.
struct Points {
    rng: ChaCha8Rng,
    /// Finite bounds of the domain, or infinities.
    bounds: Vec<(f64, f64)>,
    boundaries: [Boundaries; 2],
    /// How many boundaries a point is moved onto at most; walking costs evaluations.
    most_faces: usize,
    round: u64,
}

impl Points {
    fn new(a: &Network, b: &Network, domain: &Domain, seed: u64) -> Self {
        let end = |bound: &Option<Rational>, missing: f64| bound.as_ref().map_or(missing, Rational::to_f64);
        let bounds = domain
            .sides(a.input_width())
            .iter()
            .map(|Interval { lower, upper }| (end(lower, f64::NEG_INFINITY), end(upper, f64::INFINITY)))
            .collect();
        Points {
            rng: ChaCha8Rng::seed_from_u64(seed),
            bounds,
            boundaries: [Boundaries::new(a), Boundaries::new(b)],
            most_faces: (WALK / (a.parameter_count() + b.parameter_count())).clamp(1, 8),
            round: 0,
        }
    }

    /// The next points: a quarter uniform, an eighth far, the rest on and beside boundaries.
    fn batch(&mut self, size: usize) -> Matrix {
        let inputs = self.bounds.len();
        let mut entries: Vec<f64> = Vec::with_capacity(size * inputs);
        while entries.len() < size * inputs {
            self.round += 1;
            match self.round % 8 {
                0 | 1 => {
                    let scale = self.scale(-6, 6);
                    let x = self.uniform(scale);
                    self.push(&mut entries, x);
                }
                2 => {
                    let scale = self.scale(8, 24);
                    let x = self.uniform(scale);
                    self.push(&mut entries, x);
                }
                _ => self.beside(&mut entries),
            }
        }
        entries.truncate(size * inputs);
        Matrix::from_entries(size, inputs, entries).expect("every point has one entry per input")
    }

    /// A random power of two.
    fn scale(&mut self, low: i32, high: i32) -> f64 {
        2f64.powi(self.rng.random_range(low..=high))
    }

    fn push(&self, entries: &mut Vec<f64>, x: Vec<f64>) {
        entries.extend(x.iter().zip(&self.bounds).map(|(x, (lower, upper))| x.clamp(*lower, *upper)));
    }

    /// Uniform in the box; where the box has no end, as far as the scale.
    fn uniform(&mut self, scale: f64) -> Vec<f64> {
        let rng = &mut self.rng;
        let coordinate = |&(lower, upper): &(f64, f64)| {
            let unit: f64 = rng.random();
            match (lower.is_finite(), upper.is_finite()) {
                (true, true) => lower + unit * (upper - lower),
                (true, false) => lower + unit * scale,
                (false, true) => upper - unit * scale,
                (false, false) => (2.0 * unit - 1.0) * scale,
            }
        };
        self.bounds.iter().map(coordinate).collect()
    }

    fn direction(&mut self) -> Vec<f64> {
        (0..self.bounds.len()).map(|_| 2.0 * self.rng.random::<f64>() - 1.0).collect()
    }

    /// A point where some neurons are zero, and points around it.
    fn beside(&mut self, entries: &mut Vec<f64>) {
        let scale = self.scale(-2, 4);
        let mut x = self.uniform(scale);
        let faces = self.rng.random_range(1..=self.bounds.len().min(self.most_faces));
        let mut kept = Vec::new();
        for _ in 0..faces {
            let u = self.direction();
            let which = usize::from(self.rng.random::<bool>());
            let pick: f64 = self.rng.random();
            self.boundaries[which].walk(&mut x, u, pick, &mut kept);
        }
        let u = self.direction();
        for step in [0.0, 1e-2, -1e-2, 1e-5, -1e-5, 1e-9, -1e-9] {
            let size = x.iter().fold(1.0f64, |m, x| m.max(x.abs()));
            let moved = x.iter().zip(&u).map(|(x, u)| x + step * size * u).collect();
            self.push(entries, moved);
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn a_bump_beside_a_vertex_is_found() {
        // relu(h - relu(x) - relu(-x) - relu(y) - relu(-y)): zero but on a square of size h.
        let first: &[&[f64]] = &[&[1.0, 0.0], &[-1.0, 0.0], &[0.0, 1.0], &[0.0, -1.0]];
        let bump = |height: f64| {
            Network::from_rows(&[
                (first, &[-0.7, 0.7, 0.3, -0.3]),
                (&[&[-1.0, -1.0, -1.0, -1.0]], &[height]),
                (&[&[1.0]], &[0.0]),
            ])
            .unwrap()
        };
        let (flat, bumpy) = (bump(-1.0), bump(1e-6));
        let domain = Domain::from_bounds(&[(-1.0, 1.0); 2]).unwrap();
        let x = falsify(&flat, &bumpy, &domain, 0, &FalsifyBudget::default()).unwrap();
        assert_ne!(flat.evaluate_exact(&x).unwrap(), bumpy.evaluate_exact(&x).unwrap());
        assert!(domain.contains(&x));
    }

    #[test]
    fn equal_networks_and_other_shapes_give_nothing() {
        let one = Network::from_rows(&[(&[&[1.0], &[-2.0]], &[0.5, 1.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap();
        let other = Network::from_rows(&[(&[&[1.0, 2.0]], &[0.5])]).unwrap();
        let budget = FalsifyBudget { points: 1000, ..FalsifyBudget::default() };
        assert_eq!(falsify(&one, &one, &Domain::Space, 3, &budget), None);
        assert_eq!(falsify(&one, &other, &Domain::Space, 3, &budget), None);
        let point = Domain::from_bounds(&[(0.25, 0.25)]).unwrap();
        assert_eq!(falsify(&one, &one, &point, 3, &budget), None);
    }
}
