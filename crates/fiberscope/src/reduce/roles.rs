//! The roles of one layer's neurons, by floats where these decide and exactly where they do not.
//!
//! The ends of the intervals of [`fiberscope_core::preactivation_range`] are computed in doubles
//! together with a bound on their error. An end that is certainly on the wrong side of zero decides
//! that a neuron is not dead, or not linear; every other question is asked again in exact arithmetic.

use fiberscope_algebra::{Approximate, ApproximateSum};
use fiberscope_core::{
    Activation, Domain, ExactNetwork, Interval, Layer, Rational, Role, preactivation_range,
};

use crate::orbit::lines::nonzero;

/// The roles of the neurons of hidden layer `layer`, as the rules of moves know them.
pub fn of_layer(network: &ExactNetwork, domain: &Domain, layer: usize) -> Vec<Role> {
    let rows = &network.layers()[layer];
    if rows.activation() == Activation::Identity {
        let role = |unit| if nonzero(rows, unit).next().is_none() { Role::Dead } else { Role::Linear };
        return (0..rows.width()).map(role).collect();
    }
    let nonnegative = layer > 0 && network.layers()[layer - 1].activation() == Activation::Relu;
    let mut inputs = Inputs { network, domain, layer, floats: None, exact: None };
    (0..rows.width())
        .map(|unit| {
            let signs = |sign: i8| nonnegative && nonzero(rows, unit).all(|(_, x)| x.signum() != -sign);
            if signs(-1) { Role::Dead } else { inputs.role(unit, signs(1)) }
        })
        .collect()
}

/// The intervals of a layer's inputs, each computed when it is needed.
struct Inputs<'a> {
    network: &'a ExactNetwork,
    domain: &'a Domain,
    layer: usize,
    floats: Option<Vec<FloatInterval>>,
    exact: Option<Vec<Interval>>,
}

impl Inputs<'_> {
    /// The role of a neuron that is linear by signs, or is not known to be.
    fn role(&mut self, unit: usize, linear: bool) -> Role {
        let otherwise = if linear { Role::Linear } else { Role::Nonlinear };
        let rows = &self.network.layers()[self.layer];
        let floats = self.floats.get_or_insert_with(|| float_ranges(self.network, self.domain, self.layer));
        let range = float_range(rows, unit, floats);
        let maybe_dead = range.upper.is_some_and(|end| !end.is_surely_positive());
        let maybe_linear = !linear && range.lower.is_some_and(|end| !end.is_surely_negative());
        if !maybe_dead && !maybe_linear {
            return otherwise;
        }
        let exact = self.exact.get_or_insert_with(|| {
            self.network.activation_ranges(self.domain).nth(self.layer).expect("the layer exists")
        });
        let range = preactivation_range(rows, unit, exact);
        if range.upper.is_some_and(|upper| !upper.is_positive()) {
            Role::Dead
        } else if range.lower.is_some_and(|lower| !lower.is_negative()) {
            Role::Linear
        } else {
            otherwise
        }
    }
}

#[derive(Clone, Copy)]
struct FloatInterval {
    lower: Option<Approximate>,
    upper: Option<Approximate>,
}

/// Intervals for the inputs of a layer.
fn float_ranges(network: &ExactNetwork, domain: &Domain, layer: usize) -> Vec<FloatInterval> {
    let side = |side: &Interval| FloatInterval {
        lower: side.lower.as_ref().map(Approximate::from),
        upper: side.upper.as_ref().map(Approximate::from),
    };
    let mut ranges: Vec<_> = domain.sides(network.input_width()).iter().map(side).collect();
    for rows in &network.layers()[..layer] {
        ranges = (0..rows.width())
            .map(|unit| {
                let z = float_range(rows, unit, &ranges);
                if rows.activation() == Activation::Identity {
                    return z;
                }
                FloatInterval {
                    lower: Some(z.lower.map_or(Approximate::exact(0.0), Approximate::or_zero)),
                    upper: z.upper.map(Approximate::or_zero),
                }
            })
            .collect();
    }
    ranges
}

fn float_range(layer: &Layer<Rational>, unit: usize, ranges: &[FloatInterval]) -> FloatInterval {
    let mut lower = Some(ApproximateSum::new(Approximate::from(&layer.bias()[unit])));
    let mut upper = lower;
    for (j, w) in layer.weights().row(unit) {
        let range = &ranges[j];
        let (low_end, high_end) = match w.signum() {
            0 => continue,
            1 => (range.lower, range.upper),
            _ => (range.upper, range.lower),
        };
        let w = w.to_f64();
        let plus = |(mut sum, end): (ApproximateSum, Approximate)| {
            sum.add(w, end);
            sum
        };
        lower = lower.zip(low_end).map(plus);
        upper = upper.zip(high_end).map(plus);
        if lower.is_none() && upper.is_none() {
            break;
        }
    }
    FloatInterval { lower: lower.map(ApproximateSum::total), upper: upper.map(ApproximateSum::total) }
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Layer, Matrix, Network};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn agrees_with_the_exact_roles() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut seen = [0; 3];
        for case in 0..200 {
            let widths = [2, 4, 4, 3, 1];
            // Small integers make intervals that end at zero exactly.
            let mut number = |bias: bool| f64::from(rng.random_range(if bias { -6..=6 } else { -3..=3i32 }));
            let layers = (0..4).map(|l| {
                let weight = Matrix::from_fn(widths[l + 1], widths[l], |_, _| number(false));
                let bias = (0..widths[l + 1]).map(|_| number(true)).collect();
                Layer::new(weight, bias, if l == 3 { Activation::Identity } else { Activation::Relu })
            });
            let network = Network::new(layers.collect()).unwrap().to_exact();
            let domain = match case % 3 {
                0 => Domain::Space,
                1 => Domain::orthant(2),
                _ => Domain::from_bounds(&[(-1.0, 1.0), (0.0, 0.5)]).unwrap(),
            };
            let expected = network.roles(&domain);
            for (layer, expected) in expected.iter().enumerate() {
                assert_eq!(&of_layer(&network, &domain, layer), expected, "case {case}, layer {layer}");
                expected.iter().for_each(|&role| seen[role as usize] += 1);
            }
        }
        assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
    }
}
