//! Points at which neurons are on and points at which they are off. Signs are those of doubles with a bound for
//! their errors, so that what was found is proved.

use fiberscope_algebra::{Approximate, ApproximateSum};
use fiberscope_core::{Activation, Domain, Interval, Layer, Network, Neuron, Rational};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::limit::Deadline;

/// The most points.
const POINTS: usize = 256;
/// About how many products are computed.
const WORK: usize = 20_000_000;

/// The neurons of these that are not seen to be positive at one of the points that are tried in the domain, and negative at
/// another.
pub(super) fn not_seen_switching(
    mut neurons: Vec<Neuron>,
    network: &Network,
    domain: &Domain,
    deadline: &Deadline,
) -> Vec<Neuron> {
    let layers = network.hidden_layers();
    let mut on: Vec<Vec<bool>> = layers.iter().map(|layer| vec![false; layer.width()]).collect();
    let mut off = on.clone();
    let sides = domain.sides(network.input_width());
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let points = (WORK / network.parameter_count().max(1)).clamp(8, POINTS);
    for _ in 0..points {
        if neurons.is_empty() || deadline.is_past() {
            break;
        }
        let Some(point) = point(&sides, &mut rng) else { continue };
        let mut values: Vec<Approximate> = point.into_iter().map(Approximate::exact).collect();
        for (layer, (on, off)) in layers.iter().zip(on.iter_mut().zip(&mut off)) {
            let sums: Vec<Approximate> = (0..layer.width()).map(|unit| sum(layer, unit, &values)).collect();
            for (unit, sum) in sums.iter().enumerate() {
                on[unit] |= sum.is_surely_positive();
                off[unit] |= sum.is_surely_negative();
            }
            values = match layer.activation() {
                Activation::Identity => sums,
                Activation::Relu => sums.into_iter().map(Approximate::or_zero).collect(),
            };
        }
        neurons.retain(|&Neuron { layer, unit }| !(on[layer][unit] && off[layer][unit]));
    }
    neurons
}

/// The pre-activation of a neuron.
fn sum(layer: &Layer, unit: usize, inputs: &[Approximate]) -> Approximate {
    let mut sum = ApproximateSum::new(Approximate::exact(layer.bias()[unit]));
    for (j, &weight) in layer.weights().row(unit) {
        sum.add(weight, inputs[j]);
    }
    sum.total()
}

/// A point with these coordinates' intervals: uniform where both ends are known, else at all sizes from 1/16 to 4096 from
/// the end or from 0. `None` if rounding led out of the domain.
fn point(sides: &[Interval], rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
    let scale = 2f64.powi(rng.random_range(-4..=12));
    let coordinate = |side: &Interval| {
        let end = |end: &Option<Rational>| end.as_ref().map(Rational::to_f64);
        let far = rng.random_range(0.0..1.0) * scale;
        let x = match (end(&side.lower), end(&side.upper)) {
            (Some(lower), Some(upper)) => {
                let share: f64 = rng.random_range(0.0..=1.0);
                lower * (1.0 - share) + upper * share
            }
            (Some(lower), None) => lower + far,
            (None, Some(upper)) => upper - far,
            (None, None) => rng.random_range(-1.0..1.0) * scale,
        };
        let exact = Rational::from_f64(x)?;
        let inside = side.lower.as_ref().is_none_or(|lower| *lower <= exact)
            && side.upper.as_ref().is_none_or(|upper| exact <= *upper);
        inside.then_some(x)
    };
    sides.iter().map(coordinate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places in the second layer that are not seen to switch.
    fn not_seen(network: &Network, domain: &Domain) -> Vec<usize> {
        let second = (0..network.layers()[1].width()).map(|unit| Neuron { layer: 1, unit }).collect();
        let left = not_seen_switching(second, network, domain, &Deadline::NEVER);
        left.into_iter().map(|neuron| neuron.unit).collect()
    }

    #[test]
    fn neurons_that_switch_are_found_and_others_are_not() {
        // From |x| a neuron that switches at -5000, one that is never on, and one that switches at 0.
        let network = Network::from_rows(&[
            (&[&[1.0], &[-1.0]], &[0.0, 0.0]),
            (&[&[1.0, -0.1], &[-1.0, -1.0], &[1.0, -1.0]], &[500.0, 0.0, 0.0]),
            (&[&[1.0, 1.0, 1.0]], &[0.0]),
        ])
        .unwrap();
        assert_eq!(not_seen(&network, &Domain::from_bounds(&[(-1000.0, 1000.0)]).unwrap()), [0, 1]);
        assert_eq!(not_seen(&network, &Domain::from_bounds(&[(-1e6, 1e6)]).unwrap()), [1]);
    }

    #[test]
    fn a_sum_that_cancels_has_no_sign() {
        let third = 1.0 / 3.0;
        let network = Network::from_rows(&[
            (&[&[third], &[third]], &[0.0, 0.0]),
            (&[&[3.0, -3.0]], &[0.0]),
            (&[&[1.0]], &[0.0]),
        ])
        .unwrap();
        assert_eq!(not_seen(&network, &Domain::Space), [0]);
    }
}
