//! The roles of one layer's neurons, by floats where these decide and exactly where they do not.
//!
//! The ends of the intervals of [`fiberscope_core::preactivation_range`] are computed in doubles
//! together with a bound on their error. An end that is certainly on the wrong side of zero decides
//! that a neuron is not dead, or not linear; every other question is asked again in exact arithmetic.

use std::rc::Rc;

use fiberscope_algebra::{Approximate, ApproximateSum};
use fiberscope_core::{
    Activation, Domain, ExactNetwork, Interval, Layer, Rational, Role, activation_ranges_behind,
    preactivation_range,
};

use crate::orbit::lines::nonzero;

/// What is known of the layers of a network on a domain, each list computed when it is needed.
#[derive(Default)]
pub struct Known {
    /// Intervals for the inputs of the first layers, in doubles.
    floats: Vec<Vec<FloatInterval>>,
    /// The same, exactly.
    exact: Vec<Vec<Interval>>,
    /// The roles of the neurons of each layer.
    roles: Vec<Option<Rc<[Role]>>>,
}

impl Known {
    /// Forgets what may not hold any more when this layer, or one behind it, has changed.
    pub fn forget(&mut self, layer: usize) {
        self.floats.truncate(layer + 1);
        self.exact.truncate(layer + 1);
        self.roles.truncate(layer);
    }

    /// The roles of the neurons of hidden layer `layer`, as the rules of moves know them.
    pub fn roles(&mut self, network: &ExactNetwork, domain: &Domain, layer: usize) -> Rc<[Role]> {
        if let Some(Some(roles)) = self.roles.get(layer) {
            return Rc::clone(roles);
        }
        let roles: Rc<[Role]> = self.compute(network, domain, layer).into();
        self.roles.resize(self.roles.len().max(layer + 1), None);
        self.roles[layer] = Some(Rc::clone(&roles));
        roles
    }

    /// Intervals for the inputs of a layer.
    pub fn inputs(&mut self, network: &ExactNetwork, domain: &Domain, layer: usize) -> &[Interval] {
        if self.exact.is_empty() {
            self.exact.push(domain.sides(network.input_width()));
        }
        for of in self.exact.len() - 1..layer {
            self.exact.push(activation_ranges_behind(&network.layers()[of], &self.exact[of]));
        }
        &self.exact[layer]
    }

    fn float_inputs(&mut self, network: &ExactNetwork, domain: &Domain, layer: usize) -> &[FloatInterval] {
        if self.floats.is_empty() {
            self.floats.push(domain.sides(network.input_width()).iter().map(FloatInterval::from).collect());
        }
        for of in self.floats.len() - 1..layer {
            self.floats.push(floats_behind(&network.layers()[of], &self.floats[of]));
        }
        &self.floats[layer]
    }

    fn compute(&mut self, network: &ExactNetwork, domain: &Domain, layer: usize) -> Vec<Role> {
        let rows = &network.layers()[layer];
        if rows.activation() == Activation::Identity {
            let role = |unit| if nonzero(rows, unit).next().is_none() { Role::Dead } else { Role::Linear };
            return (0..rows.width()).map(role).collect();
        }
        let nonnegative = layer > 0 && network.layers()[layer - 1].activation() == Activation::Relu;
        let role = |unit| {
            let signs = |sign: i8| nonnegative && nonzero(rows, unit).all(|(_, x)| x.signum() != -sign);
            if signs(-1) { Role::Dead } else { self.by_intervals((network, domain, layer), unit, signs(1)) }
        };
        (0..rows.width()).map(role).collect()
    }

    /// The role of a neuron that is linear by signs, or is not known to be.
    fn by_intervals(
        &mut self,
        (network, domain, layer): (&ExactNetwork, &Domain, usize),
        unit: usize,
        linear: bool,
    ) -> Role {
        let otherwise = if linear { Role::Linear } else { Role::Nonlinear };
        let rows = &network.layers()[layer];
        let range = float_range(rows, unit, self.float_inputs(network, domain, layer));
        let maybe_dead = range.upper.is_some_and(|end| !end.is_surely_positive());
        let maybe_linear = !linear && range.lower.is_some_and(|end| !end.is_surely_negative());
        if !maybe_dead && !maybe_linear {
            return otherwise;
        }
        let range = preactivation_range(rows, unit, self.inputs(network, domain, layer));
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

impl From<&Interval> for FloatInterval {
    fn from(side: &Interval) -> Self {
        let end = |end: &Option<Rational>| end.as_ref().map(Approximate::from);
        FloatInterval { lower: end(&side.lower), upper: end(&side.upper) }
    }
}

/// Intervals for the activations of a layer.
fn floats_behind(rows: &Layer<Rational>, inputs: &[FloatInterval]) -> Vec<FloatInterval> {
    let activation = |unit| {
        let z = float_range(rows, unit, inputs);
        if rows.activation() == Activation::Identity {
            return z;
        }
        FloatInterval {
            lower: Some(z.lower.map_or(Approximate::exact(0.0), Approximate::or_zero)),
            upper: z.upper.map(Approximate::or_zero),
        }
    };
    (0..rows.width()).map(activation).collect()
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
            let mut known = Known::default();
            for (layer, expected) in expected.iter().enumerate() {
                let roles = known.roles(&network, &domain, layer);
                assert_eq!(*roles, **expected, "case {case}, layer {layer}");
                expected.iter().for_each(|&role| seen[role as usize] += 1);
            }
        }
        assert!(seen.iter().all(|&count| count > 50), "{seen:?}");
    }
}
