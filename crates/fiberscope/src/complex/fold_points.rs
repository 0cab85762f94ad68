//! Paths of the dependency graph proved by points: one exact point per edge instead of the whole complex.
//!
//! For neuron `i` of hidden layer `k` let `C_{k,i}` be the set of inputs inside the domain at which it is
//! zero and all other neurons of the layers up to `k` are positive. There all these layers are affine, so
//! `C_{k,i}` is convex, a part of one hyperplane.
//!
//! **Lemma.** Let the network be general and transparent, and take the fold-set on the set where all neurons
//! of the layers before some layer `l <= k` are positive. A non-empty `C_{k,i}` lies in a single piece of its
//! canonical representation, and pieces of different `C` are different. If at a point of `C_{k,i}` neuron `j`
//! of layer `k+1` is zero, all other neurons of that layer are positive, and its weight for neuron `i` is not
//! zero, then the dependency graph has an edge from the piece of `C_{k,i}` to that of `C_{k+1,j}`.
//!
//! So such points, one for every neuron, prove the paths of [phuong2020functional, Lemma 4]. That the other
//! neurons of layer `k+1` are positive is not asked for there, and is needed: `docs/theory/identifiable.md`
//! has the proof and says what goes wrong without it. What doubles propose is moved onto the two zero sets
//! and checked exactly.

use fiberscope_algebra::rational::dot;
use fiberscope_core::{Activation, ExactNetwork, Interval, Neuron, Rational};

/// A point of the fold of one neuron; of all neurons of the layers up to it only that one is zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldPoint {
    /// The neuron that is zero.
    pub neuron: Neuron,
    /// The neuron of the next hidden layer that is zero there, too, while the others of that layer are
    /// positive; `None` in the last hidden layer.
    pub next: Option<usize>,
    /// The point times a positive factor, then the factor.
    homogeneous: Vec<Rational>,
}

impl FoldPoint {
    /// The point nearest to `x`, up to rounding, where the neurons are zero, if it proves what it should.
    pub(super) fn near(
        network: &ExactNetwork,
        sides: &[Interval],
        (neuron, next): (Neuron, Option<usize>),
        x: &[Rational],
    ) -> Option<Self> {
        let first = form(network, neuron);
        let second = next.map(|unit| form(network, Neuron { layer: neuron.layer + 1, unit }));
        // The gradients in coordinates in which the box is a cube.
        let width = |side: &Interval| match (&side.lower, &side.upper) {
            (Some(lower), Some(upper)) => (upper - lower).to_f64(),
            _ => 1.0,
        };
        let widths: Vec<f64> = sides.iter().map(width).collect();
        let directions = [Some(&first), second.as_ref()].map(|form| {
            form.map(|form| {
                let slopes: Vec<f64> =
                    form.iter().zip(&widths).map(|(w, width)| w.to_f64() * width).collect();
                let size = slopes.iter().fold(0.0f64, |most, slope| most.max(slope.abs()));
                let part = |(slope, width): (&f64, &f64)| Rational::from_f64(slope / size * width);
                slopes.iter().zip(&widths).map(part).collect::<Option<Vec<_>>>()
            })
        });
        let value = |form: &[Rational]| dot(form, x) + form.last().unwrap_or(&Rational::ZERO);
        // x + (p d + q e) / det with p, q, det by Cramer's rule.
        let (steps, det) = match (directions, second) {
            ([Some(Some(d)), Some(Some(e))], Some(second)) => {
                let [[a, b], [c, f]] = [&first, &second].map(|form| [dot(form, &d), dot(form, &e)]);
                let (v, w) = (value(&first), value(&second));
                let det = &(&a * &f) - &(&b * &c);
                (vec![(&(&b * &w) - &(&f * &v), d), (&(&c * &v) - &(&a * &w), e)], det)
            }
            ([Some(Some(d)), None], None) => {
                let det = dot(&first, &d);
                (vec![(-value(&first), d)], det)
            }
            _ => return None,
        };
        let sign = Rational::from(i64::from(det.signum()));
        let mut homogeneous: Vec<Rational> = x.iter().map(|x| x * &det).collect();
        for (step, direction) in &steps {
            homogeneous.iter_mut().zip(direction).for_each(|(x, d)| *x += &(step * d));
        }
        homogeneous.push(det);
        homogeneous.iter_mut().for_each(|x| *x *= &sign);
        let point = FoldPoint { neuron, next, homogeneous };
        point.holds(network, sides).then_some(point)
    }

    /// The point, exactly.
    pub fn point(&self) -> Vec<Rational> {
        let (factor, x) = self.homogeneous.split_last().expect("the factor is there");
        x.iter().map(|x| x / factor).collect()
    }

    /// Whether the point is inside the domain and proves what it should, exactly.
    pub fn holds(&self, network: &ExactNetwork, sides: &[Interval]) -> bool {
        let Neuron { layer, unit } = self.neuron;
        let last = layer + usize::from(self.next.is_some());
        let is_last = layer + 1 == network.hidden_depth();
        let Some((factor, x)) = self.homogeneous.split_last() else { return false };
        if !factor.is_positive() || x.len() != sides.len() || is_last != self.next.is_none() {
            return false;
        }
        let is_inside = sides.iter().zip(x).all(|(side, x)| {
            side.lower.as_ref().is_none_or(|lower| &(lower * factor) < x)
                && side.upper.as_ref().is_none_or(|upper| x < &(upper * factor))
        });
        if !is_inside || last >= network.hidden_depth() {
            return false;
        }
        let mut a = x.to_vec();
        for (l, rows) in network.layers()[..=last].iter().enumerate() {
            let zero = match l {
                _ if l == layer => Some(unit),
                _ if l == layer + 1 => self.next,
                _ => None,
            };
            a = rows
                .weight()
                .iter_rows()
                .zip(rows.bias())
                .map(|(row, b)| dot(row, &a) + b * factor)
                .collect();
            let signs = a.iter().enumerate().all(
                |(i, z)| {
                    if Some(i) == zero { z.is_zero() } else { z.is_positive() }
                },
            );
            let bends =
                l != layer + 1 || self.next.is_some_and(|next| !rows.weight()[(next, unit)].is_zero());
            if rows.activation() != Activation::Relu || !signs || !bends {
                return false;
            }
        }
        true
    }
}

/// The affine function of a neuron where all neurons before it are positive, its constant last.
fn form(network: &ExactNetwork, neuron: Neuron) -> Vec<Rational> {
    let rows = &network.layers()[neuron.layer];
    let mut row = rows.weight().row(neuron.unit).to_vec();
    let mut constant = rows.bias()[neuron.unit].clone();
    for before in network.layers()[..neuron.layer].iter().rev() {
        constant += &dot(&row, before.bias());
        let mut next = vec![Rational::ZERO; before.input_width()];
        for (w, own) in row.iter().zip(before.weight().iter_rows()) {
            next.iter_mut().zip(own).for_each(|(sum, v)| *sum += &(w * v));
        }
        row = next;
    }
    row.push(constant);
    row
}
