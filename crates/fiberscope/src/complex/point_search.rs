//! Linear programs for the points of [`super::fold_points`].
//!
//! Where all neurons of the layers before are positive, the neurons of a layer are affine functions of the
//! input. Wanted is a point where two of them are zero and the others as positive as they can be: the largest
//! `e` with `z_h(x) >= e |grad z_h|` and a distance of `e` times its width from every side of the box.
//! Doubles propose it; where they lose it (deep networks, in which the set is tiny) and the dimension is
//! small, the two equations are solved exactly and the strict inequalities decided by the exact simplex
//! method.

use fiberscope_algebra::dense::{dot, product};
use fiberscope_algebra::program::{BoxedPolytope, Interior, interior};
use fiberscope_algebra::rational;
use fiberscope_core::{Domain, ExactNetwork, Interval, Matrix, Neuron, Rational};

use super::fold_points::FoldPoint;
use crate::limit::Deadline;

/// Half the width of the box in which points of unbounded domains are proposed.
const WIDE: f64 = 1024.0;
/// The most inputs for which the programs are also solved exactly.
const EXACT: usize = 8;

pub(super) struct PointSearch<'a> {
    network: &'a ExactNetwork,
    deadline: &'a Deadline,
    sides: Vec<Interval>,
    bounds: Vec<(f64, f64)>,
    /// For every hidden layer the functions of its neurons, constants last, where all neurons before are
    /// positive; in coordinates in which the box is the unit cube.
    forms: Vec<Vec<Vec<f64>>>,
}

impl<'a> PointSearch<'a> {
    pub(super) fn new(network: &'a ExactNetwork, domain: &Domain, deadline: &'a Deadline) -> Self {
        let n = network.input_width();
        let sides = domain.sides(n);
        let end = |end: &Option<Rational>, other: f64| end.as_ref().map_or(other, Rational::to_f64);
        let bounds: Vec<(f64, f64)> =
            sides.iter().map(|side| (end(&side.lower, -WIDE), end(&side.upper, WIDE))).collect();
        // Affine maps as matrices with a last row (0, ..., 0, 1).
        let mut map = Matrix::from_fn(n + 1, n + 1, |i, j| match (i == j, j == n, i < n) {
            (true, ..) => bounds.get(i).map_or(1.0, |(lower, upper)| upper - lower),
            (_, true, true) => bounds[i].0,
            _ => 0.0,
        });
        let mut forms = Vec::new();
        for layer in network.hidden_layers() {
            let (rows, cols) = (layer.width(), layer.input_width());
            let step = Matrix::from_fn(rows + 1, cols + 1, |i, j| match (i < rows, j < cols) {
                (true, true) => layer.weight()[(i, j)].to_f64(),
                (true, false) => layer.bias()[i].to_f64(),
                (false, true) => 0.0,
                (false, false) => 1.0,
            });
            map = product(&step, &map);
            forms.push((0..rows).map(|i| map.row(i).to_vec()).collect());
        }
        PointSearch { network, deadline, sides, bounds, forms }
    }

    /// A point of the fold of a neuron where the neuron `next` of the next layer is zero, too, if one was
    /// found.
    pub(super) fn point(&self, neuron: Neuron, next: Option<usize>) -> Option<FoldPoint> {
        let last = neuron.layer + usize::from(next.is_some());
        let is_zero = |layer: usize, unit: usize| {
            (layer == neuron.layer && unit == neuron.unit) || (layer > neuron.layer && Some(unit) == next)
        };
        if let Some(unit) = next
            && self.network.layers()[last].weight()[(unit, neuron.unit)].is_zero()
        {
            return None;
        }
        let proposed = self.propose(last, &is_zero);
        let settled = proposed.and_then(|x| FoldPoint::near(self.network, &self.sides, (neuron, next), &x));
        settled.or_else(|| self.solve(neuron, next, last, &is_zero))
    }

    fn propose(&self, last: usize, is_zero: &dyn Fn(usize, usize) -> bool) -> Option<Vec<Rational>> {
        let n = self.bounds.len();
        let mut rows = Vec::new();
        for (l, forms) in self.forms[..=last].iter().enumerate() {
            for (unit, form) in forms.iter().enumerate() {
                let size = dot(&form[..n], &form[..n]).sqrt();
                if !(size > 0.0 && size.is_finite()) {
                    return None;
                }
                let row = |sign: f64, margin: f64| -> Vec<f64> {
                    let scaled = form[..n].iter().map(|w| sign * w / size);
                    scaled.chain([-margin, sign * form[n] / size]).collect()
                };
                match is_zero(l, unit) {
                    true => rows.extend([row(1.0, 0.0), row(-1.0, 0.0)]),
                    false => rows.push(row(1.0, 1.0)),
                }
            }
        }
        for j in 0..n {
            for sign in [1.0, -1.0] {
                let mut row = vec![0.0; n + 2];
                (row[j], row[n]) = (sign, -1.0);
                row[n + 1] = if sign > 0.0 { 0.0 } else { 1.0 };
                rows.push(row);
            }
        }
        let keep = vec![true; rows.len()];
        let (mut lower, mut upper) = (vec![0.0; n + 1], vec![1.0; n + 1]);
        (lower[n], upper[n]) = (-4.0, 1.0);
        let mut target = vec![0.0; n + 2];
        target[n] = -1.0;
        let least = BoxedPolytope::new(rows, lower, upper).least(&target, &keep)?;
        let place =
            |(t, (lower, upper)): (&f64, &(f64, f64))| Rational::from_f64(lower + t * (upper - lower));
        least.point[..n].iter().zip(&self.bounds).map(place).collect()
    }

    /// The same in rational numbers.
    fn solve(
        &self,
        neuron: Neuron,
        next: Option<usize>,
        last: usize,
        is_zero: &dyn Fn(usize, usize) -> bool,
    ) -> Option<FoldPoint> {
        let n = self.bounds.len();
        if n > EXACT {
            return None;
        }
        let (mut zeros, mut positive) = (Vec::new(), Vec::new());
        let mut forms: Vec<Vec<Rational>> = (0..n)
            .map(|j| (0..=n).map(|k| if j == k { Rational::ONE } else { Rational::ZERO }).collect())
            .collect();
        for (side, form) in self.sides.iter().zip(&forms) {
            if let Some(lower) = &side.lower {
                let mut row = form.clone();
                row[n] -= lower;
                positive.push(row);
            }
            if let Some(upper) = &side.upper {
                let mut row: Vec<Rational> = form.iter().map(|x| -x).collect();
                row[n] += upper;
                positive.push(row);
            }
        }
        for (l, layer) in self.network.layers()[..=last].iter().enumerate() {
            let combine = |(row, b): (&[Rational], &Rational)| {
                let mut sum = vec![Rational::ZERO; n + 1];
                for (w, form) in row.iter().zip(&forms) {
                    sum.iter_mut().zip(form).for_each(|(s, f)| *s += &(w * f));
                }
                sum[n] += b;
                sum
            };
            let next: Vec<Vec<Rational>> =
                layer.weight().iter_rows().zip(layer.bias()).map(combine).collect();
            for (unit, form) in next.iter().enumerate() {
                if is_zero(l, unit) { &mut zeros } else { &mut positive }.push(form.clone());
            }
            forms = next;
        }
        // The equations, one variable after the other.
        let mut solved: Vec<(usize, Vec<Rational>)> = Vec::new();
        for k in 0..zeros.len() {
            let zero = zeros[k].clone();
            let pivot = (0..n).find(|&j| !zero[j].is_zero())?;
            let inverse = zero[pivot].recip()?;
            let expressed: Vec<Rational> = zero.iter().map(|x| &(-x) * &inverse).collect();
            let replace = |row: &mut Vec<Rational>| {
                let factor = std::mem::take(&mut row[pivot]);
                let others = row.iter_mut().zip(&expressed).enumerate().filter(|(j, _)| *j != pivot);
                others.for_each(|(_, (x, e))| *x += &(&factor * e));
            };
            zeros[k + 1..].iter_mut().chain(&mut positive).for_each(replace);
            solved.push((pivot, expressed));
        }
        let free: Vec<usize> = (0..n).filter(|j| solved.iter().all(|(pivot, _)| pivot != j)).collect();
        let rows: Vec<Vec<Rational>> = positive
            .iter()
            .map(|row| free.iter().map(|&j| row[j].clone()).chain([row[n].clone()]).collect())
            .collect();
        let Interior::Point(inner) = interior(free.len(), &rows, || self.deadline.is_past()) else {
            return None;
        };
        let mut x = vec![Rational::ZERO; n];
        free.iter().zip(inner).for_each(|(&j, value)| x[j] = value);
        for (pivot, expressed) in solved.iter().rev() {
            let others = x.iter().zip(expressed).enumerate().filter(|(j, _)| j != pivot);
            let (own, of): (Vec<&Rational>, Vec<&Rational>) = others.map(|(_, pair)| pair).unzip();
            x[*pivot] = rational::dot(own, of) + &expressed[n];
        }
        FoldPoint::near(self.network, &self.sides, (neuron, next), &x)
    }
}
