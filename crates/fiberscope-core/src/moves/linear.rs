//! Linear neurons, and the affine terms they take up.
//!
//! On the domain a set `J` of linear neurons contributes `sum_J v_j (w_j a + b_j)` to the next layer: an
//! affine map of the layer's input `a`. Any other set of linear neurons with the same linear part may
//! stand in its place, the difference of the constants going to the next bias. In the same way the
//! affine term `v_j z_j` left over by `relu(z) = z + relu(-z)` is absorbed [threelayer2026, Section 4].

use std::collections::BTreeMap;

use super::surgery::{check_neuron, check_units, extract, interleave, layout, rebuild};
use super::unused::InputRanges;
use super::{LinearChange, Move, MoveError, PlacedNeuron, Rule};
use crate::{Activation, Domain, ExactNetwork, Rational};

pub fn refactor(
    network: &mut ExactNetwork,
    domain: &Domain,
    layer: usize,
    linear: &LinearChange,
) -> Result<(), MoveError> {
    change(network, domain, layer, &[], linear)
}

pub fn reorient(
    network: &mut ExactNetwork,
    domain: &Domain,
    layer: usize,
    units: &[usize],
    linear: &LinearChange,
) -> Result<(), MoveError> {
    let relu = network.layers()[layer].activation() == Activation::Relu;
    Rule::ReluLayer.require(relu, || format!("layer {} has identity activation", layer + 1))?;
    change(network, domain, layer, units, linear)
}

/// Turns the rows of `units` around and replaces linear neurons so that they take up the rest.
fn change(
    network: &mut ExactNetwork,
    domain: &Domain,
    layer: usize,
    units: &[usize],
    linear: &LinearChange,
) -> Result<(), MoveError> {
    let turned = check_units(network, layer, units)?;
    let removed = check_units(network, layer, &linear.remove)?;
    let both = (0..turned.len()).find(|&unit| turned[unit] && removed[unit]);
    Rule::Distinct.require(both.is_none(), || "a neuron is both re-oriented and removed".into())?;
    let absorbed = Absorption::new(network, domain, layer, units, linear)?;
    let sources = layout(&removed, &linear.insert)?;
    let (rows, bias) = network.layers_mut()[layer].parts_mut();
    rows.change(|unit, _, w| {
        if turned[unit] {
            *w = -&*w;
        }
    });
    units.iter().for_each(|&unit| bias[unit] = -&bias[unit]);
    absorbed.add_constant(network);
    rebuild(network, layer, &sources);
    Ok(())
}

/// The proof that linear neurons can take up an affine term, and the constant that is left.
pub struct Absorption {
    layer: usize,
    constant: Vec<Rational>,
}

impl Absorption {
    /// Checks that the neurons of `linear` are linear and that
    /// `sum_removed v w + sum_turned v w = sum_inserted v w`.
    pub fn new(
        network: &ExactNetwork,
        domain: &Domain,
        layer: usize,
        turned: &[usize],
        linear: &LinearChange,
    ) -> Result<Self, MoveError> {
        let mut inputs = InputRanges::new(layer);
        for &unit in &linear.remove {
            let holds = inputs.linear(network, domain, unit);
            Rule::Linear.require(holds, || format!("neuron {} of layer {}", unit + 1, layer + 1))?;
        }
        linear.insert.iter().try_for_each(|neuron| check_neuron(network, layer, neuron))?;
        check_new_neurons_linear(network, domain, layer, &linear.insert)?;
        let mut difference = AffineSum::zero(network.layers()[layer + 1].width());
        for &unit in linear.remove.iter().chain(turned) {
            difference.add(&extract(network, layer, unit), &Rational::ONE);
        }
        for neuron in &linear.insert {
            difference.add(neuron, &Rational::from(-1));
        }
        if let Some((output, input, value)) = difference.left() {
            let (output, input) = (output + 1, input + 1);
            let detail = format!("input {input} to neuron {output} of layer {} is off by {value}", layer + 2);
            return Err(Rule::SameLinearMap.broken(detail));
        }
        Ok(Absorption { layer, constant: difference.constant })
    }

    /// Adds the constant to the bias of the next layer.
    pub fn add_constant(&self, network: &mut ExactNetwork) {
        let (_, bias) = network.layers_mut()[self.layer + 1].parts_mut();
        bias.iter_mut().zip(&self.constant).for_each(|(b, c)| *b += c);
    }
}

fn check_new_neurons_linear(
    network: &ExactNetwork,
    domain: &Domain,
    layer: usize,
    neurons: &[PlacedNeuron],
) -> Result<(), MoveError> {
    if neurons.is_empty() {
        return Ok(());
    }
    let all_removed = vec![true; network.layers()[layer].width()];
    let alone: Vec<_> =
        neurons.iter().enumerate().map(|(unit, n)| PlacedNeuron { unit, ..n.clone() }).collect();
    let mut with_new = network.clone();
    rebuild(&mut with_new, layer, &layout(&all_removed, &alone)?);
    let mut inputs = InputRanges::new(layer);
    for (unit, neuron) in neurons.iter().enumerate() {
        let holds = inputs.linear(&with_new, domain, unit);
        Rule::Linear.require(holds, || format!("new neuron {} of layer {}", neuron.unit + 1, layer + 1))?;
    }
    Ok(())
}

/// A sum of terms `v (w a + b)`: the matrix `sum v w`, of which the entries that some term reaches are kept, and
/// the vector `sum v b`.
struct AffineSum {
    linear: Vec<BTreeMap<usize, Rational>>,
    constant: Vec<Rational>,
}

impl AffineSum {
    fn zero(outputs: usize) -> Self {
        AffineSum { linear: vec![BTreeMap::new(); outputs], constant: vec![Rational::ZERO; outputs] }
    }

    /// The first entry of the matrix that is not zero.
    fn left(&self) -> Option<(usize, usize, &Rational)> {
        let rows = self.linear.iter().enumerate();
        rows.flat_map(|(i, row)| row.iter().map(move |(j, x)| (i, *j, x))).find(|(_, _, x)| !x.is_zero())
    }

    fn add(&mut self, neuron: &PlacedNeuron, factor: &Rational) {
        let entries: Vec<_> = neuron.weight.iter().enumerate().filter(|(_, w)| !w.is_zero()).collect();
        for (i, v) in neuron.out.iter().enumerate().filter(|(_, v)| !v.is_zero()) {
            let v = v * factor;
            let row = &mut self.linear[i];
            entries.iter().for_each(|&(j, w)| *row.entry(j).or_default() += &(&v * w));
            self.constant[i] += &(&v * &neuron.bias);
        }
    }
}

/// The change that undoes `linear`.
pub fn inverse_change(
    before: &ExactNetwork,
    layer: usize,
    linear: &LinearChange,
) -> Result<LinearChange, MoveError> {
    let removed = check_units(before, layer, &linear.remove)?;
    let gone = (0..removed.len()).filter(|&unit| removed[unit]);
    Ok(LinearChange {
        remove: linear.insert.iter().map(|neuron| neuron.unit).collect(),
        insert: gone.map(|unit| extract(before, layer, unit)).collect(),
    })
}

pub fn inverse_reorient(
    before: &ExactNetwork,
    layer: usize,
    units: &[usize],
    linear: &LinearChange,
) -> Result<Move, MoveError> {
    check_units(before, layer, units)?;
    let removed = check_units(before, layer, &linear.remove)?;
    let width = removed.len() - linear.remove.len() + linear.insert.len();
    let is_new = interleave(width, linear.insert.iter().map(|neuron| neuron.unit))?;
    let kept_places: Vec<_> = (0..width).filter(|&place| !is_new[place]).collect();
    let place =
        |&unit: &usize| kept_places.get(removed[..unit].iter().filter(|&&gone| !gone).count()).copied();
    let units: Option<Vec<_>> = units.iter().map(place).collect();
    let units =
        units.ok_or_else(|| Rule::Distinct.broken("a neuron is both re-oriented and removed".into()))?;
    Ok(Move::Reorient { layer, units, linear: inverse_change(before, layer, linear)? })
}
