//! Neurons that do nothing: dead on the domain, or without outgoing weights.

use super::surgery::{Source, check_neuron, check_units, extract, layout, rebuild};
use super::{Move, MoveError, PlacedNeuron, Rule};
use crate::range::preactivation_range;
use crate::{Activation, Domain, ExactNetwork, Interval, Layer, Rational};

pub fn drop(
    network: &mut ExactNetwork,
    domain: &Domain,
    layer: usize,
    units: &[usize],
) -> Result<(), MoveError> {
    let removed = check_units(network, layer, units)?;
    let sources: Vec<Source> = layout(&removed, &[])?;
    let mut inputs = InputRanges::new(layer);
    let connected = network.layers()[layer + 1].weights().used_columns();
    for &unit in units {
        let dead = !connected[unit] || inputs.dead(network, domain, unit);
        Rule::Dead.require(dead, || format!("neuron {} of layer {}", unit + 1, layer + 1))?;
    }
    rebuild(network, layer, &sources);
    Ok(())
}

pub fn insert(
    network: &mut ExactNetwork,
    domain: &Domain,
    layer: usize,
    neurons: &[PlacedNeuron],
) -> Result<(), MoveError> {
    neurons.iter().try_for_each(|neuron| check_neuron(network, layer, neuron))?;
    let kept = vec![false; network.layers()[layer].width()];
    let sources = layout(&kept, neurons)?;
    let mut after = network.clone();
    rebuild(&mut after, layer, &sources);
    let mut inputs = InputRanges::new(layer);
    for neuron in neurons {
        let unused = neuron.out.iter().all(Rational::is_zero) || inputs.dead(&after, domain, neuron.unit);
        Rule::Dead.require(unused, || format!("new neuron {} of layer {}", neuron.unit + 1, layer + 1))?;
    }
    *network = after;
    Ok(())
}

pub fn inverse_drop(before: &ExactNetwork, layer: usize, units: &[usize]) -> Result<Move, MoveError> {
    let removed = check_units(before, layer, units)?;
    let gone = (0..removed.len()).filter(|&unit| removed[unit]);
    Ok(Move::Insert { layer, neurons: gone.map(|unit| extract(before, layer, unit)).collect() })
}

/// The intervals of a layer's inputs, computed when signs alone do not decide.
pub struct InputRanges {
    layer: usize,
    ranges: Option<Vec<Interval>>,
}

impl InputRanges {
    pub fn new(layer: usize) -> Self {
        InputRanges { layer, ranges: None }
    }

    /// Whether neuron `unit` is 0 on the whole domain.
    pub fn dead(&mut self, network: &ExactNetwork, domain: &Domain, unit: usize) -> bool {
        let layer = &network.layers()[self.layer];
        let mut row = row_and_bias(layer, unit);
        match layer.activation() {
            Activation::Identity => row.all(Rational::is_zero),
            Activation::Relu => {
                (self.nonnegative_inputs(network) && row.all(|x| !x.is_positive()))
                    || self.range(network, domain, unit).upper.is_some_and(|upper| !upper.is_positive())
            }
        }
    }

    /// Whether neuron `unit` is its pre-activation on the whole domain.
    pub fn linear(&mut self, network: &ExactNetwork, domain: &Domain, unit: usize) -> bool {
        let layer = &network.layers()[self.layer];
        match layer.activation() {
            Activation::Identity => true,
            Activation::Relu => {
                (self.nonnegative_inputs(network) && row_and_bias(layer, unit).all(|x| !x.is_negative()))
                    || self.range(network, domain, unit).lower.is_some_and(|lower| !lower.is_negative())
            }
        }
    }

    fn nonnegative_inputs(&self, network: &ExactNetwork) -> bool {
        self.layer > 0 && network.layers()[self.layer - 1].activation() == Activation::Relu
    }

    fn range(&mut self, network: &ExactNetwork, domain: &Domain, unit: usize) -> Interval {
        let ranges = self.ranges.get_or_insert_with(|| {
            network.activation_ranges(domain).nth(self.layer).expect("the layer exists")
        });
        preactivation_range(&network.layers()[self.layer], unit, ranges)
    }
}

fn row_and_bias(layer: &Layer<Rational>, unit: usize) -> impl Iterator<Item = &Rational> {
    layer.weights().row(unit).map(|(_, w)| w).chain(std::iter::once(&layer.bias()[unit]))
}
