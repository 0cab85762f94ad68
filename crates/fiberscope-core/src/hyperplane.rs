//! The hyperplane representation of a network with one hidden layer on a box.
//!
//! Let `g(x) = V relu(W x + c) + e` on a box `X` (sides may be unbounded: `R^d` and the orthant are boxes; an
//! input whose side is a single point is put into the bias, so that `X` may be taken to have interior). A
//! neuron is dead on `X` if `max_X z <= 0`, linear if `min_X z >= 0`, and otherwise its hyperplane meets the
//! interior of `X`. Write every such hyperplane as `u x + t = 0` with `u` of
//! [content] 1 and its first nonzero entry positive. A neuron `(w, c) = s (u, t)` contributes `s V relu(u x + t)` if `s > 0`, and
//! `abs(s) V (relu(u x + t) - (u x + t))` if `s < 0`. Adding up,
//!
//! ```text
//! g(x) = sum_i a_i relu(u_i x + t_i) + M x + beta,    a_i = sum over neurons on H_i of abs(s_j) V_j,
//! ```
//!
//! with distinct hyperplanes; those with `a_i = 0` are left out.
//!
//! **Theorem** [threelayer2026, Section 4.1]. Two such networks are equal on `X` iff their representations
//! are equal. *Proof.* Equal representations give equal sums. Conversely, the gradient of `g` jumps by
//! `a_i u_i` across `H_i` inside `X` and nowhere else, so `g` determines the `H_i` and `a_i`; the difference
//! of equal functions with the same jumps is an affine map that vanishes on a set with interior.

use std::collections::BTreeMap;

use crate::product_sum::Multiplier;
use crate::{Activation, Interval, Layer, ProductSum, Rational, content};

/// The hyperplanes with their weights, and the affine rest, of a map with one hidden layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HyperplaneRepresentation {
    /// The visible hyperplanes, sorted.
    pub hyperplanes: Vec<WeightedHyperplane>,
    /// The linear rest `M`, one row per output.
    pub linear: Vec<Vec<Rational>>,
    /// The constant rest `beta`, one entry per output.
    pub constant: Vec<Rational>,
}

/// A hyperplane `u x + t = 0` (`u` has [content] 1 and its first nonzero entry is positive) across which the
/// gradient jumps by `weight u`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightedHyperplane {
    /// The normal `u`.
    pub normal: Vec<Rational>,
    /// The offset `t`.
    pub offset: Rational,
    /// The weight `a`, one entry per output.
    pub weight: Vec<Rational>,
    /// The neurons on the hyperplane, counted from 0.
    pub units: Vec<usize>,
}

impl HyperplaneRepresentation {
    /// The representation of `output . relu . hidden` on the box with these sides. The hidden layer may
    /// also have identity activation.
    pub fn new(hidden: &Layer<Rational>, output: &Layer<Rational>, sides: &[Interval]) -> Self {
        let outputs = output.width();
        let mut representation = HyperplaneRepresentation {
            hyperplanes: Vec::new(),
            linear: vec![vec![Rational::ZERO; hidden.input_width()]; outputs],
            constant: output.bias().to_vec(),
        };
        let mut affine = AffineSum::default();
        let mut groups: BTreeMap<Equation, (Vec<Rational>, Vec<usize>)> = BTreeMap::new();
        for unit in 0..hidden.width() {
            let out = output.weights().dense_column(unit);
            let (row, bias) = row_on(hidden, unit, sides);
            match kind(hidden.activation(), &row, &bias, sides) {
                Kind::Dead => {}
                Kind::Linear => affine.add(&out, &Rational::ONE, row, bias),
                Kind::Nonlinear { scale } => {
                    let inverse = scale.recip().expect("a content is not zero");
                    let normal: Vec<_> = row.iter().map(|w| w * &inverse).collect();
                    let key = (normal, &bias * &inverse);
                    let size = scale.abs();
                    if scale.is_negative() {
                        affine.add(&out, &-&size, key.0.clone(), key.1.clone());
                    }
                    let (weight, units) =
                        groups.entry(key).or_insert_with(|| (vec![Rational::ZERO; outputs], Vec::new()));
                    weight.iter_mut().zip(&out).for_each(|(a, v)| *a += &(&size * v));
                    units.push(unit);
                }
            }
        }
        for (o, (row, constant)) in
            representation.linear.iter_mut().zip(&mut representation.constant).enumerate()
        {
            affine.add_to(o, row, constant);
        }
        let visible = groups.into_iter().filter(|(_, (weight, _))| weight.iter().any(|a| !a.is_zero()));
        let hyperplane =
            |((normal, offset), (weight, units))| WeightedHyperplane { normal, offset, weight, units };
        representation.hyperplanes = visible.map(hyperplane).collect();
        representation
    }

    /// Whether the two maps are equal: the same hyperplanes, weights and affine rest.
    pub fn same_map(&self, other: &Self) -> bool {
        let same = |(p, q): (&WeightedHyperplane, &WeightedHyperplane)| {
            p.normal == q.normal && p.offset == q.offset && p.weight == q.weight
        };
        self.linear == other.linear
            && self.constant == other.constant
            && self.hyperplanes.len() == other.hyperplanes.len()
            && self.hyperplanes.iter().zip(&other.hyperplanes).all(same)
    }
}

/// A sum of affine maps `out (row x + bias)`.
#[derive(Default)]
struct AffineSum {
    terms: Vec<(Vec<Rational>, Vec<Rational>, Rational)>,
}

impl AffineSum {
    /// Adds `factor * out (row x + bias)`.
    fn add(&mut self, out: &[Rational], factor: &Rational, row: Vec<Rational>, bias: Rational) {
        self.terms.push((out.iter().map(|v| v * factor).collect(), row, bias));
    }

    /// Adds the row and the constant of one output.
    fn add_to(&self, output: usize, row: &mut [Rational], constant: &mut Rational) {
        let terms: Vec<_> = self.terms.iter().filter(|(out, ..)| !out[output].is_zero()).collect();
        if terms.is_empty() {
            return;
        }
        let mut sums = vec![ProductSum::default(); row.len() + 1];
        for (out, row, bias) in terms {
            let v = Multiplier::new(&out[output]);
            let numbers = row.iter().chain([bias]);
            sums.iter_mut()
                .zip(numbers)
                .for_each(|(sum, w)| sum.add_multiple(w.short_parts(), || w.clone(), &v));
        }
        let numbers = row.iter_mut().chain([constant]);
        numbers.zip(&sums).for_each(|(number, sum)| *number += &sum.to_rational());
    }
}

/// The normal and the offset of a hyperplane.
type Equation = (Vec<Rational>, Rational);

enum Kind {
    Dead,
    Linear,
    /// `scale` times a normal in normal form.
    Nonlinear {
        scale: Rational,
    },
}

/// The row and bias of a neuron, with the inputs that have one value only put into the bias.
fn row_on(hidden: &Layer<Rational>, unit: usize, sides: &[Interval]) -> (Vec<Rational>, Rational) {
    let (mut row, mut bias) = (hidden.weights().dense_row(unit), hidden.bias()[unit].clone());
    for (w, side) in row.iter_mut().zip(sides) {
        if let (Some(lower), Some(upper)) = (&side.lower, &side.upper)
            && lower == upper
        {
            bias += &(&*w * lower);
            *w = Rational::ZERO;
        }
    }
    (row, bias)
}

fn kind(activation: Activation, row: &[Rational], bias: &Rational, sides: &[Interval]) -> Kind {
    if activation == Activation::Identity {
        return Kind::Linear;
    }
    if maximum(row, bias, sides).is_some_and(|max| !max.is_positive()) {
        return Kind::Dead;
    }
    let negated: Vec<_> = row.iter().map(|w| -w).collect();
    if maximum(&negated, &-bias, sides).is_some_and(|max| !max.is_positive()) {
        return Kind::Linear;
    }
    match (row.iter().find(|w| !w.is_zero()), content(row.iter())) {
        (Some(leading), Some(size)) => {
            Kind::Nonlinear { scale: if leading.is_negative() { -&size } else { size } }
        }
        _ => Kind::Linear,
    }
}

/// The maximum of `row x + bias` on the box, exactly; `None` if it is infinite.
fn maximum(row: &[Rational], bias: &Rational, sides: &[Interval]) -> Option<Rational> {
    let mut sum = bias.clone();
    for (w, side) in row.iter().zip(sides) {
        let end = match w.signum() {
            0 => continue,
            1 => side.upper.as_ref()?,
            _ => side.lower.as_ref()?,
        };
        sum += &(w * end);
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;

    fn r(x: i64) -> Rational {
        Rational::from(x)
    }

    fn map(
        rows: &[&[i64]],
        bias: &[i64],
        out: &[&[i64]],
        constant: &[i64],
    ) -> (Layer<Rational>, Layer<Rational>) {
        let matrix = |rows: &[&[i64]]| {
            let rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(|&x| r(x)).collect()).collect();
            Matrix::from_rows(&rows).unwrap()
        };
        let numbers = |xs: &[i64]| xs.iter().map(|&x| r(x)).collect();
        (
            Layer::new(matrix(rows), numbers(bias), Activation::Relu),
            Layer::new(matrix(out), numbers(constant), Activation::Identity),
        )
    }

    fn same(
        a: &(Layer<Rational>, Layer<Rational>),
        b: &(Layer<Rational>, Layer<Rational>),
        sides: &[Interval],
    ) -> bool {
        let representation = |(hidden, output): &(Layer<Rational>, Layer<Rational>)| {
            HyperplaneRepresentation::new(hidden, output, sides)
        };
        representation(a).same_map(&representation(b))
    }

    #[test]
    fn orientation_scaling_and_splitting_do_not_matter() {
        let whole = [Interval::ALL];
        // |x| in three ways: x and -x; 2x - x with relu(x); weights shared by multiples.
        let plain = map(&[&[1], &[-1]], &[0, 0], &[&[1, 1]], &[0]);
        let shared = map(&[&[3], &[1], &[-2]], &[0, 0, 0], &[&[0, 1, 0]], &[0]);
        assert!(!same(&plain, &shared, &whole));
        let split = map(&[&[2], &[-1], &[-1]], &[0, 0, 0], &[&[1, 1, 1]], &[0]);
        let halves = map(&[&[1], &[1], &[-2]], &[0, 0, 0], &[&[1, 1, 1]], &[0]);
        assert!(same(&split, &halves, &whole));
    }

    #[test]
    fn the_orthant_makes_neurons_dead_and_linear() {
        let orthant = [Interval { lower: Some(Rational::ZERO), upper: None }];
        let with_dead = map(&[&[-1], &[2]], &[-1, 1], &[&[5, 1]], &[0]);
        let linear = map(&[&[1]], &[0], &[&[2]], &[1]);
        assert!(same(&with_dead, &linear, &orthant));
        assert!(!same(&with_dead, &linear, &[Interval::ALL]));
    }

    #[test]
    fn an_input_with_one_value_is_a_constant() {
        let at_two = [Interval::ALL, Interval::new(r(2), r(2))];
        let a = map(&[&[1, 1], &[1, -1]], &[0, 1], &[&[1, 1]], &[0]);
        let b = map(&[&[1, 0], &[2, -1]], &[2, 0], &[&[1, 0]], &[0]);
        let c = map(&[&[1, 3], &[1, 0]], &[-4, -1], &[&[1, 1]], &[0]);
        assert!(same(&a, &c, &at_two) && !same(&a, &b, &at_two));
        assert!(!same(&a, &c, &[Interval::ALL, Interval::ALL]));
    }

    #[test]
    fn cancelling_groups_are_invisible() {
        let whole = [Interval::ALL];
        let pair = map(&[&[1], &[-1], &[1], &[-1]], &[3, -3, 0, 0], &[&[1, -1, 0, 0]], &[0]);
        let other = map(&[&[1], &[-1]], &[0, 0], &[&[1, -1]], &[3]);
        assert!(same(&pair, &other, &whole));
    }
}
