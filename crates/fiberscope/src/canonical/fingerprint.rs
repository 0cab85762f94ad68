//! The fingerprint: a hash of what the function determines.
//!
//! A network in normal form is a prefix of layers, one more hidden layer and the output layer. The last
//! two are a map with one hidden layer on the box that encloses the prefix's outputs; they enter by
//! their hyperplane representation there, the prefix by its rows. Before that,
//!
//! - while the representation has no hyperplane, the last two layers are an affine map and join the
//!   layer before;
//! - while the map depends on one neuron `a = relu(z)` only, it is
//!   `sum_i alpha_i relu(a + t_i) + M a + beta` with `t_i < 0`, that is
//!   `sum_i alpha_i relu(z + t_i) + M relu(z) + beta`: again a map with one hidden layer, on the inputs
//!   of `z`;
//! - layers behind a layer of one neuron, or behind inputs on which they depend by one linear form only, are
//!   a function of one variable and have such a representation, too, whatever their number ([`super::line`]);
//! - neurons of the prefix on which nothing depends are left out.

use std::borrow::Cow;

use fiberscope_algebra::modular::independent_rows;
use fiberscope_core::{
    Activation, Domain, ExactNetwork, HyperplaneRepresentation, Interval, Layer, Matrix, Rational,
};

use super::CoveredClass;
use super::hashed::{FingerprintVersion, Lines};
use super::line::{representation, single_point};
use crate::limit::Deadline;

/// The fingerprint of a network in normal form, and its class. What is found after the time is up may be less
/// than there is.
pub fn fingerprint(
    network: &ExactNetwork,
    domain: &Domain,
    version: FingerprintVersion,
    deadline: &Deadline,
) -> (String, CoveredClass) {
    let invariants = Invariants::new(network, domain, deadline);
    let class = invariants.class(domain);
    (invariants.hash(network, domain, version), class)
}

/// Whether rows of doubles are found independent by matrix products; if not, nothing is known.
#[cfg(feature = "dense")]
pub fn are_quickly_independent(rows: &Matrix) -> bool {
    crate::dimension::are_surely_independent(rows)
}

/// There are no matrix products here.
#[cfg(not(feature = "dense"))]
pub fn are_quickly_independent(_: &Matrix) -> bool {
    false
}

struct Invariants<'a> {
    /// The layers of the prefix with the neurons that matter.
    prefix: Vec<(&'a Layer<Rational>, Vec<usize>)>,
    tail: HyperplaneRepresentation,
}

impl<'a> Invariants<'a> {
    fn new(network: &'a ExactNetwork, domain: &Domain, deadline: &Deadline) -> Self {
        let ranges: Vec<Vec<Interval>> = network.activation_ranges(domain).collect();
        let mut depth = network.hidden_depth();
        let output = &network.layers()[depth];
        let affine = |layer: &Layer<Rational>| HyperplaneRepresentation {
            hyperplanes: Vec::new(),
            linear: layer.weight().iter_rows().map(<[Rational]>::to_vec).collect(),
            constant: layer.bias().to_vec(),
        };
        let mut tail = affine(output);
        if let Some((start, found)) = on_a_line(network, &ranges, deadline) {
            (depth, tail) = (start, found);
        }
        while depth > 0 {
            let layer = &network.layers()[depth - 1];
            let Some((hidden, output)) = joined(layer, &tail) else { break };
            depth -= 1;
            tail = HyperplaneRepresentation::new(&hidden, &output, &ranges[depth]);
        }
        if depth == 0 {
            put_single_points_into_constant(&mut tail, &ranges[0]);
        }
        let mut used = inputs_of(&tail);
        let mut prefix = Vec::new();
        for layer in network.layers()[..depth].iter().rev() {
            let inputs = (0..layer.input_width())
                .filter(|&j| used.iter().any(|&i| !layer.weight()[(i, j)].is_zero()))
                .collect();
            prefix.push((layer, std::mem::replace(&mut used, inputs)));
        }
        prefix.reverse();
        Invariants { prefix, tail }
    }

    fn class(&self, domain: &Domain) -> CoveredClass {
        match self.prefix.as_slice() {
            [] if self.tail.hyperplanes.is_empty() => CoveredClass::Affine,
            [] => CoveredClass::OneHiddenLayer,
            [(layer, used)] if *domain == Domain::Space && layer.activation() == Activation::Relu => {
                let rows = layer.weight().select_rows(used);
                let quickly = rows.entries().iter().all(Rational::is_f64)
                    && are_quickly_independent(&rows.map(Rational::to_f64));
                let full = quickly || independent_rows(&rows).len() == used.len();
                if full { CoveredClass::Bottleneck } else { CoveredClass::General }
            }
            _ => CoveredClass::General,
        }
    }

    fn hash(&self, network: &ExactNetwork, domain: &Domain, version: FingerprintVersion) -> String {
        let mut lines = Lines::new(version);
        if let Domain::Box(sides) = domain {
            for side in sides {
                let end = |end: &Option<Rational>| end.as_ref().map_or("none".into(), Rational::to_string);
                lines.text(&format!("side {} {}", end(&side.lower), end(&side.upper)));
            }
        }
        lines.text(&format!("inputs {} outputs {}", network.input_width(), network.output_width()));
        let mut inputs: Vec<usize> = (0..network.input_width()).collect();
        for (layer, used) in &self.prefix {
            lines.text(&format!("layer {} {}", layer.activation(), used.len()));
            for &unit in used {
                let row = inputs.iter().map(|&j| &layer.weight()[(unit, j)]);
                lines.numbers("neuron", row.chain([&layer.bias()[unit]]));
            }
            inputs.clone_from(used);
        }
        for each in &self.tail.hyperplanes {
            let normal = inputs.iter().map(|&j| &each.normal[j]);
            lines.numbers("hyperplane", normal.chain([&each.offset]).chain(&each.weight));
        }
        for (row, constant) in self.tail.linear.iter().zip(&self.tail.constant) {
            lines.numbers("affine", inputs.iter().map(|&j| &row[j]).chain([constant]));
        }
        lines.finish()
    }
}

/// The first layer from which on the network is a function of one variable, and its representation; not where
/// that is the output layer alone.
fn on_a_line(
    network: &ExactNetwork,
    ranges: &[Vec<Interval>],
    deadline: &Deadline,
) -> Option<(usize, HyperplaneRepresentation)> {
    let narrow = (1..network.hidden_depth()).filter(|&layer| network.layers()[layer].input_width() == 1);
    let starts = std::iter::once(0).filter(|_| network.hidden_depth() > 0).chain(narrow);
    starts.into_iter().find_map(|start| {
        Some((start, representation(&network.layers()[start..], &ranges[start], deadline)?))
    })
}

/// Inputs that have one value only are no variables.
fn put_single_points_into_constant(tail: &mut HyperplaneRepresentation, sides: &[Interval]) {
    for (j, side) in sides.iter().enumerate() {
        let Some(value) = single_point(side) else { continue };
        for (row, constant) in tail.linear.iter_mut().zip(&mut tail.constant) {
            *constant += &(&row[j] * value);
            row[j] = Rational::ZERO;
        }
    }
}

/// The map with one hidden layer that `tail` makes with the layer before it, if it is one.
fn joined<'a>(
    layer: &'a Layer<Rational>,
    tail: &HyperplaneRepresentation,
) -> Option<(Cow<'a, Layer<Rational>>, Layer<Rational>)> {
    let outputs = tail.constant.len();
    let output = |weight| Layer::new(weight, tail.constant.clone(), Activation::Identity);
    if tail.hyperplanes.is_empty() {
        let weight = Matrix::from_fn(outputs, layer.width(), |i, j| tail.linear[i][j].clone());
        return Some((Cow::Borrowed(layer), output(weight)));
    }
    let used = inputs_of(tail);
    let &[unit] = used.as_slice() else { return None };
    if layer.activation() == Activation::Identity {
        return None;
    }
    let bends = tail.hyperplanes.len();
    let bias = |i: usize| match tail.hyperplanes.get(i) {
        Some(bend) => &layer.bias()[unit] + &bend.offset,
        None => layer.bias()[unit].clone(),
    };
    let rows = Matrix::from_fn(bends + 1, layer.input_width(), |_, j| layer.weight()[(unit, j)].clone());
    let columns = Matrix::from_fn(outputs, bends + 1, |o, i| match tail.hyperplanes.get(i) {
        Some(bend) => bend.weight[o].clone(),
        None => tail.linear[o][unit].clone(),
    });
    let hidden = Layer::new(rows, (0..=bends).map(bias).collect(), Activation::Relu);
    Some((Cow::Owned(hidden), output(columns)))
}

/// The inputs on which the map depends.
fn inputs_of(tail: &HyperplaneRepresentation) -> Vec<usize> {
    let rows = || tail.hyperplanes.iter().map(|each| &each.normal).chain(&tail.linear);
    let inputs = tail.linear.first().map_or(0, Vec::len);
    (0..inputs).filter(|&j| rows().any(|row| !row[j].is_zero())).collect()
}
