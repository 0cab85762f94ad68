//! Where boundaries between classes are looked for: the inputs, or the outputs of a known layer.
//!
//! A layer with independent rows, no more than there are inputs, has every positive vector `y` as its output,
//! at `x = W^+ (y - b)`. There the network is one with a layer less, whose first layer is looked for in the same
//! way; a hyperplane of it that meets a boundary between classes anywhere meets it there.

use fiberscope_algebra::dense::{along, minus, norm, peak, times};
use fiberscope_core::Matrix;

use super::super::algebra::Svd;
use super::super::inquiry::Halt;
use super::super::prefix::Rows;
use super::ask::Asker;

/// Boundaries are followed to this many times the radius of the domain.
const REACH: f64 = 30.0;

/// Points of a random segment at which classes are compared.
const STATIONS: usize = 8;

/// Two classes: where one begins and the other ends.
pub(super) type Pair = (usize, usize);

/// A point between two classes.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The point.
    pub at: Vec<f64>,
    /// The class before and the class behind it, seen along `u`.
    pub pair: Pair,
}

/// The coordinates of a layer.
pub(super) struct Space {
    /// Their number.
    pub dimension: usize,
    reach: f64,
    lift: Option<Lift>,
}

/// From outputs of a known layer, all positive, to an input.
struct Lift {
    layer: Rows,
    inverse: Matrix,
    offset: Vec<f64>,
}

impl Space {
    /// The inputs.
    pub fn inputs(asker: &Asker<'_>) -> Self {
        Space { dimension: asker.inputs, reach: REACH * asker.radius, lift: None }
    }

    /// The outputs of an oriented layer; `None` if its rows are dependent.
    pub fn behind(asker: &Asker<'_>, layer: &Rows) -> Option<Self> {
        let svd = Svd::of(&layer.weight)?;
        if layer.len() > asker.inputs || svd.rank(1e-8) < layer.len() {
            return None;
        }
        let unit = |k: usize| (0..layer.len()).map(|i| f64::from(u8::from(i == k))).collect::<Vec<f64>>();
        let columns: Vec<Vec<f64>> = (0..layer.len()).map(|k| svd.solve(&unit(k), 0.0)).collect();
        let inverse = Matrix::from_fn(asker.inputs, layer.len(), |i, k| columns[k][i]);
        let offset = times(&inverse, &layer.bias).iter().map(|v| -v).collect();
        let lengths = layer.weight.iter_rows().map(norm).fold(0.0, f64::max);
        let reach = REACH * asker.radius * lengths;
        Some(Space {
            dimension: layer.len(),
            reach,
            lift: Some(Lift { layer: layer.clone(), inverse, offset }),
        })
    }

    /// The input of a point.
    pub fn input(&self, y: &[f64]) -> Vec<f64> {
        match &self.lift {
            None => y.to_vec(),
            Some(lift) => along(&times(&lift.inverse, y), 1.0, &lift.offset),
        }
    }

    /// Whether the point is one of the space, and not too far.
    pub fn holds(&self, y: &[f64]) -> bool {
        peak(y) < self.reach && (self.lift.is_none() || y.iter().all(|&v| v > 0.0))
    }

    /// The classes of these points.
    pub fn classes(&self, asker: &mut Asker<'_>, points: &[Vec<f64>]) -> Result<Vec<usize>, Halt> {
        let inputs: Vec<Vec<f64>> = points.iter().map(|y| self.input(y)).collect();
        asker.classes(&inputs)
    }

    /// A random point.
    pub fn sample(&self, asker: &mut Asker<'_>, scale: f64) -> Vec<f64> {
        let x = asker.point(scale);
        match &self.lift {
            None => x,
            Some(lift) => lift.layer.at(&x).into_iter().map(f64::abs).collect(),
        }
    }

    /// A boundary on the segment from `a` to `b`, if its stations have different classes and none of them was
    /// refused; and the direction of the segment.
    pub fn between(
        &self,
        asker: &mut Asker<'_>,
        (a, b): (&[f64], &[f64]),
        wanted: &dyn Fn(Pair) -> bool,
    ) -> Result<Option<(Place, Vec<f64>)>, Halt> {
        let whole = minus(b, a);
        let length = norm(&whole);
        let u: Vec<f64> = whole.iter().map(|v| v / length).collect();
        let step = length / STATIONS as f64;
        let stations: Vec<Vec<f64>> = (0..=STATIONS).map(|k| along(a, k as f64 * step, &u)).collect();
        let classes = self.classes(asker, &stations)?;
        let changes: Vec<usize> = (0..STATIONS)
            .filter(|&k| classes[k] != classes[k + 1] && wanted((classes[k], classes[k + 1])))
            .collect();
        if changes.is_empty() {
            return Ok(None);
        }
        let k = changes[asker.below(changes.len())];
        let (from, mut to) = (classes[k], classes[k + 1]);
        let base = &stations[k];
        let (mut lo, mut hi) = (0.0, step);
        while let Some(middle) = middle(lo, hi, peak(base)) {
            let class = self.classes(asker, &[along(base, middle, &u)])?[0];
            if class == from {
                lo = middle;
            } else {
                (hi, to) = (middle, class);
            }
        }
        Ok(Some((Place { at: along(base, (lo + hi) / 2.0, &u), pair: (from, to) }, u)))
    }

    /// Where the lines `base + t u`, `|t| <= reach`, go from the first class of the pair to the second; `None` if
    /// one of them does not, or passes a third class.
    pub fn bisect(
        &self,
        asker: &mut Asker<'_>,
        bases: &[Vec<f64>],
        u: &[f64],
        reach: f64,
        pair: Pair,
    ) -> Result<Option<Vec<f64>>, Halt> {
        let ends: Vec<Vec<f64>> =
            bases.iter().flat_map(|base| [along(base, -reach, u), along(base, reach, u)]).collect();
        if !ends.iter().all(|y| self.holds(y)) {
            return Ok(None);
        }
        let classes = self.classes(asker, &ends)?;
        if classes.chunks(2).any(|ends| (ends[0], ends[1]) != pair) {
            return Ok(None);
        }
        let mut brackets = vec![(-reach, reach); bases.len()];
        loop {
            let open: Vec<(usize, f64)> = (0..bases.len())
                .filter_map(|k| Some((k, middle(brackets[k].0, brackets[k].1, peak(&bases[k]))?)))
                .collect();
            if open.is_empty() {
                return Ok(Some(brackets.iter().map(|(lo, hi)| (lo + hi) / 2.0).collect()));
            }
            let points: Vec<Vec<f64>> = open.iter().map(|&(k, t)| along(&bases[k], t, u)).collect();
            for (&(k, t), class) in open.iter().zip(self.classes(asker, &points)?) {
                if class == pair.0 {
                    brackets[k].0 = t;
                } else if class == pair.1 {
                    brackets[k].1 = t;
                } else {
                    return Ok(None);
                }
            }
        }
    }

    /// Whether the plane through these points, with the unit normal `normal`, separates the classes within
    /// `slack` at all of them.
    pub fn separated(
        &self,
        asker: &mut Asker<'_>,
        points: &[Vec<f64>],
        normal: &[f64],
        slack: f64,
        pair: Pair,
    ) -> Result<bool, Halt> {
        let sides: Vec<Vec<f64>> =
            points.iter().flat_map(|p| [along(p, -slack, normal), along(p, slack, normal)]).collect();
        if !sides.iter().all(|y| self.holds(y)) {
            return Ok(false);
        }
        Ok(self.classes(asker, &sides)?.chunks(2).all(|sides| (sides[0], sides[1]) == pair))
    }
}

/// The middle of an interval, unless its ends cannot be told apart at coordinates of this size.
fn middle(lo: f64, hi: f64, size: f64) -> Option<f64> {
    let middle = (lo + hi) / 2.0;
    (middle > lo && middle < hi && hi - lo > 0.5 * f64::EPSILON * size).then_some(middle)
}

/// The pair with the smaller class first.
pub(super) fn ordered((a, b): Pair) -> Pair {
    (a.min(b), a.max(b))
}
