//! Coordinates of the inputs of a map, and an order of hyperplanes and a base point in them, that depend on
//! the function only.
//!
//! Behind a first layer the inputs are its activations: permuting and scaling its neurons permutes and scales
//! them. Dividing each by the content of its neuron's weights and sorting by the neurons' rows undoes that.

use std::cmp::Ordering;

use fiberscope_core::{Layer, Rational, content};

use super::hyperplane::OrientedHyperplane;
use crate::orbit::lines::entries;

/// Coordinates that depend on the function only: coordinate `k` of them is input `order[k]` divided by
/// `sizes[k] > 0`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Coordinates {
    pub order: Vec<usize>,
    pub sizes: Vec<Rational>,
}

impl Coordinates {
    /// Those of the inputs themselves.
    pub fn plain(inputs: usize) -> Self {
        Coordinates { order: (0..inputs).collect(), sizes: vec![Rational::ONE; inputs] }
    }

    /// The inputs with these coordinates.
    pub fn inputs(&self, point: &[Rational]) -> Vec<Rational> {
        let mut x = vec![Rational::ZERO; point.len()];
        for ((&input, size), y) in self.order.iter().zip(&self.sizes).zip(point) {
            x[input] = y * size;
        }
        x
    }

    /// Coordinates of the orthant behind the first layer that permutation and scaling of its neurons do not
    /// change.
    pub fn behind(first: &Layer<Rational>) -> Self {
        let size = |unit: usize| content(first.weight().row(unit).iter()).unwrap_or(Rational::ONE);
        let row = |unit: usize| {
            let size = size(unit);
            let row: Vec<Rational> = entries(first, unit).map(|x| x / &size).collect();
            (row, unit, size)
        };
        let mut rows: Vec<_> = (0..first.width()).map(row).collect();
        rows.sort();
        let (order, sizes) = rows.into_iter().map(|(_, unit, size)| (unit, size)).unzip();
        Coordinates { order, sizes }
    }

    /// The order of hyperplanes whose first nonzero entries are positive: by the entries divided by these.
    /// Scaling an input does not change it.
    pub fn compare(&self, x: &OrientedHyperplane, y: &OrientedHyperplane) -> Ordering {
        let order = &self.order;
        let lead = |h: &OrientedHyperplane| order.iter().position(|&j| !h.normal[j].is_zero());
        let (at_x, at_y) = (lead(x), lead(y));
        let (Some(i), Some(j)) = (at_x, at_y) else { return at_x.cmp(&at_y) };
        let (lead_x, lead_y) = (&x.normal[order[i]], &y.normal[order[j]]);
        let entry = |a: &Rational, b: &Rational| (a * lead_y).cmp(&(b * lead_x));
        let entries = order.iter().map(|&j| entry(&x.normal[j], &y.normal[j]));
        at_x.cmp(&at_y).then_with(|| {
            entries.chain([entry(&x.offset, &y.offset)]).find(|each| each.is_ne()).unwrap_or(Ordering::Equal)
        })
    }

    /// The inputs of a point with small positive coordinates on none of the hyperplanes.
    pub fn base_point(&self, hyperplanes: &[OrientedHyperplane]) -> Vec<Rational> {
        // The points (1, ..., 1) + (k, k^2, ..., k^d) lie on a curve that meets each hyperplane in at most d
        // of them.
        let point = |k: i64| -> Vec<Rational> {
            let step = Rational::from(k);
            let powers = std::iter::successors(Some(step.clone()), |x| Some(x * &step));
            let point: Vec<Rational> = powers.take(self.order.len()).map(|x| &x + &Rational::ONE).collect();
            self.inputs(&point)
        };
        let free = |x: &Vec<Rational>| hyperplanes.iter().all(|each| !each.value(x).is_zero());
        (0..).map(point).find(free).expect("a curve in general position leaves finitely many hyperplanes")
    }
}
