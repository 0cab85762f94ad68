//! Bounds of a pre-activation on a box by the triangle relaxation, from a dual solution.
//!
//! The relaxation replaces `a = relu(z)` on `l <= z <= u`, `l < 0 < u`, by `a >= 0`, `a >= z` and
//! `a <= u (z - l) / (u - l)`; maximising a pre-activation over it is a linear programme. Its dual solutions
//! are slopes `0 <= s_j <= 1`, one per neuron of the layers before.
//!
//! **Lemma** (weak duality). Go backwards from `z = sum c_j a_j + beta`. Where `c_j >= 0`, use
//! `a_j <= p z_j + q` with any `p`, `q` such that `p l + q >= 0` and `p u + q >= u`; where `c_j < 0`, use
//! `a_j >= s_j z_j`. Each step gives a larger affine function of the layer before; at the inputs its maximum
//! over the box is read off. It bounds `z` on the domain. *Proof.* `relu` is convex, so below a line that is
//! above it at `l` and `u`; and `relu(z) >= s z` for `0 <= s <= 1`, as both `0` and `z` are at most
//! `relu(z)`. Since `a_j >= 0`, rounding `c_j` upwards does no harm.
//!
//! The intervals `[l, u]` are those of interval arithmetic, so that the slopes are all there is to say.

use crate::range::preactivation_range;
use crate::{Activation, Domain, ExactNetwork, Interval, Layer, Rational};

/// The length of the coefficients.
const BITS: u32 = 128;

/// An upper bound for `sign z` on the domain, `z` being the pre-activation of neuron `unit` of layer `layer`
/// (from 0), from one list of slopes for each layer before. `None` if there is no finite one, or if the
/// slopes do not fit.
pub fn relaxed_bound(
    network: &ExactNetwork,
    domain: &Domain,
    (layer, unit): (usize, usize),
    sign: i64,
    slopes: &[Vec<Rational>],
) -> Option<Rational> {
    let before = &network.layers()[..layer];
    let fits = |(slopes, layer): (&Vec<Rational>, &Layer<Rational>)| slopes.len() == layer.width();
    let between = |slope: &Rational| !slope.is_negative() && *slope <= Rational::ONE;
    if slopes.len() != layer || !slopes.iter().zip(before).all(fits) || !slopes.iter().flatten().all(between)
    {
        return None;
    }
    let inputs: Vec<Vec<Interval>> = network.activation_ranges(domain).take(layer).collect();
    let (sign, of) = (Rational::from(sign), &network.layers()[layer]);
    let mut coefficients = vec![Rational::ZERO; of.input_width()];
    of.weights().row(unit).for_each(|(j, w)| coefficients[j] = w * &sign);
    let mut constant = &of.bias()[unit] * &sign;
    for (l, rows) in before.iter().enumerate().rev() {
        let mut next = vec![Rational::ZERO; rows.input_width()];
        for (j, c) in coefficients.iter().enumerate().filter(|(_, c)| !c.is_zero()) {
            let z = || preactivation_range(rows, j, &inputs[l]);
            let (p, q) = match rows.activation() {
                Activation::Identity => (Rational::ONE, Rational::ZERO),
                Activation::Relu => line(c, z(), &slopes[l][j])?,
            };
            let slope = c * &p;
            constant += &(&(c * &q) + &(&slope * &rows.bias()[j]));
            if !slope.is_zero() {
                rows.weights().row(j).for_each(|(k, w)| next[k] += &(&slope * w));
            }
        }
        let nonnegative = l > 0 && before[l - 1].activation() == Activation::Relu;
        coefficients = if nonnegative { next.iter().map(|c| c.round_up(BITS)).collect() } else { next };
    }
    let sides = domain.sides(network.input_width());
    for (c, side) in coefficients.iter().zip(&sides).filter(|(c, _)| !c.is_zero()) {
        let end = if c.is_positive() { &side.upper } else { &side.lower };
        constant += &(c * end.as_ref()?);
    }
    Some(constant)
}

/// The `p`, `q` with `c relu(z) <= c (p z + q)` on the interval.
fn line(c: &Rational, z: Interval, slope: &Rational) -> Option<(Rational, Rational)> {
    if z.upper.as_ref().is_some_and(|upper| !upper.is_positive()) {
        return Some((Rational::ZERO, Rational::ZERO));
    }
    if z.lower.as_ref().is_some_and(|lower| !lower.is_negative()) {
        return Some((Rational::ONE, Rational::ZERO));
    }
    if c.is_negative() {
        return Some((slope.clone(), Rational::ZERO));
    }
    let (lower, upper) = (z.lower?, z.upper?);
    // Any slope will do; this one is short and close to the best.
    let best = (&upper / &(&upper - &lower)).to_f64() as f32;
    let p = Rational::from_f64(f64::from(best)).unwrap_or(Rational::ONE);
    let q = (-(&p * &lower)).max(&upper - &(&p * &upper));
    Some((p, q))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{random_exact_point, random_network};

    /// Slopes that are fractions of 16.
    fn slopes(network: &ExactNetwork, layer: usize, seed: u64) -> Vec<Vec<Rational>> {
        let width = |l: usize| network.layers()[l].width();
        let slope =
            |l: usize, j: usize| Rational::dyadic(((seed + 7 * l as u64 + 3 * j as u64) % 17).into(), -4);
        (0..layer).map(|l| (0..width(l)).map(|j| slope(l, j)).collect()).collect()
    }

    #[test]
    fn no_point_of_the_box_is_above_the_bound() {
        for seed in 0..20 {
            let network = random_network(&[2, 5, 4, 4, 1], seed).to_exact();
            let domain = Domain::from_bounds(&[(-1.0, 1.0), (0.0, 0.5)]).unwrap();
            for layer in 0..3 {
                for unit in 0..4 {
                    for sign in [1, -1] {
                        let slopes = slopes(&network, layer, seed);
                        let bound = relaxed_bound(&network, &domain, (layer, unit), sign, &slopes).unwrap();
                        for point in 0..20 {
                            let x = random_exact_point(2, 100 * seed + point);
                            let clamp = |x: &Rational, low: &str, high: &str| {
                                x.clone().max(low.parse().unwrap()).min(high.parse().unwrap())
                            };
                            let x = [clamp(&x[0], "-1", "1"), clamp(&x[1], "0", "1/2")];
                            let z = preactivation(&network, (layer, unit), &x);
                            assert!(&z * &Rational::from(sign) <= bound);
                        }
                    }
                }
            }
        }
    }

    fn preactivation(network: &ExactNetwork, (layer, unit): (usize, usize), x: &[Rational]) -> Rational {
        let dot = |layer: &Layer<Rational>, unit: usize, a: &[Rational]| -> Rational {
            let sum: Rational = layer.weight().row(unit).iter().zip(a).map(|(w, a)| w * a).sum();
            &sum + &layer.bias()[unit]
        };
        let a = network.layers()[..layer].iter().fold(x.to_vec(), |a, layer| {
            (0..layer.width()).map(|i| dot(layer, i, &a).max(Rational::ZERO)).collect()
        });
        dot(&network.layers()[layer], unit, &a)
    }

    #[test]
    fn the_relaxation_sees_what_intervals_do_not() {
        // a = relu(x + 1), b = relu(x - 1): a - b - 2 <= 0 on [-3, 3], but 2 by intervals.
        let layer = |rows: &[Vec<i64>], bias: &[i64], activation| {
            let rows: Vec<Vec<_>> =
                rows.iter().map(|row| row.iter().map(|&w| Rational::from(w)).collect()).collect();
            let bias = bias.iter().map(|&b| Rational::from(b)).collect();
            Layer::new(crate::Matrix::from_rows(&rows).unwrap(), bias, activation)
        };
        let network = ExactNetwork::new(vec![
            layer(&[vec![1], vec![1]], &[1, -1], Activation::Relu),
            layer(&[vec![1, -1]], &[-3], Activation::Relu),
            layer(&[vec![1]], &[0], Activation::Identity),
        ])
        .unwrap();
        let domain = Domain::from_bounds(&[(-3.0, 3.0)]).unwrap();
        let bound = |slopes: &[&str]| {
            let slopes = vec![slopes.iter().map(|s| s.parse().unwrap()).collect()];
            relaxed_bound(&network, &domain, (1, 0), 1, &slopes)
        };
        let zero = Rational::ZERO;
        assert!(bound(&["0", "0"]).unwrap() > zero);
        assert!(bound(&["0", "2/3"]).unwrap() <= zero);
        assert_eq!(bound(&["0", "2"]), None);
        assert_eq!(bound(&["0"]), None);
        assert_eq!(relaxed_bound(&network, &Domain::Space, (1, 0), 1, &[vec![zero.clone(), zero]]), None);
    }
}
