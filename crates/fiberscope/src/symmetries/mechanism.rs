//! The catalogue: what lets parameters move without a change of the function, as a list of regions shows it.
//!
//! Let `s_j` be the derivative of the outputs by the activation of neuron `j`, in a region. Neuron `j` is *seen*
//! where `s_j` is not zero, and its row `(w_j, b_j)` is *used* where it is on and seen, for there alone the
//! outputs depend on it. In every region the outputs are multilinear in the rows, so with `e` a unit vector:
//!
//! - *dead*: off in all regions. Its row and its outgoing weights are free.
//! - *unseen*: its row is used in no region, so it is free.
//! - *idle*: input `k` of `j` is off wherever the row of `j` is used. The weight is free.
//! - *linear*: on in all regions; *hidden*: on wherever it is seen, so that its bend is seen nowhere. The bias moves
//!   by `t`, and the biases of the next layer by `-t w_ij`.
//! - *linear* and *twins*: `j` and `k` of one layer are on together wherever `j` is seen. Then
//!   `(w_j, b_j) += t (w_k, b_k)` and `w_ik -= t w_ij` for all `i` change the outputs by `t s_j z_k` times the
//!   difference of the two being on, which is zero.
//! - *proportional*: the rows of `j` and `k` are positive multiples of each other; they share outgoing weights.
//! - *dependent*: a vector `u` is orthogonal to `(h, 1)`, what the layer reads, wherever the row is used. The row
//!   moves by `t u`.
//! - *balanced*: the derivatives of the outputs by the pre-activations of a layer are orthogonal to a vector `v`
//!   wherever neuron `k` before it is on (for an input or the bias: in all regions). The weights from `k` move by
//!   `t v`.
//!
//! Along each of them the outputs of all these regions stay the same for every `t`, not only to first order. What
//! else the kernel has is *unrecognised*.

use fiberscope_algebra::modular::Residue;
use fiberscope_algebra::rational::kernel;
use fiberscope_algebra::{Echelon, Number};
use fiberscope_check::rank::Pattern;
use fiberscope_core::{Matrix, Network, Neuron, Rational};
use serde::{Deserialize, Serialize};

use super::layout::{Direction, Parameter, value};
use super::view::View;
use crate::limit::Deadline;
use crate::orbit::lines;

/// What lets parameters move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Mechanism {
    /// A neuron is never on.
    Dead,
    /// The outputs do not depend on a neuron wherever it is on.
    Unseen,
    /// Weights whose inputs are off wherever their neuron counts.
    Idle,
    /// Neurons that are always on.
    Linear,
    /// The bend of a neuron is seen nowhere.
    Hidden,
    /// A neuron switches with another one wherever it is seen.
    Twins,
    /// Neurons that are positive multiples of each other.
    Proportional,
    /// The inputs of a neuron satisfy a linear equation wherever it counts.
    Dependent,
    /// Changes of the weights from one neuron cancel on their way to the outputs.
    Balanced,
    /// None of these.
    Unrecognised,
}

impl Mechanism {
    /// All of them, in the order in which they are tried.
    pub const ALL: [Mechanism; 10] = [
        Mechanism::Dead,
        Mechanism::Unseen,
        Mechanism::Idle,
        Mechanism::Linear,
        Mechanism::Hidden,
        Mechanism::Proportional,
        Mechanism::Twins,
        Mechanism::Dependent,
        Mechanism::Balanced,
        Mechanism::Unrecognised,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Dead => "dead",
            Mechanism::Unseen => "unseen",
            Mechanism::Idle => "idle",
            Mechanism::Linear => "linear",
            Mechanism::Hidden => "hidden",
            Mechanism::Twins => "twins",
            Mechanism::Proportional => "proportional",
            Mechanism::Dependent => "dependent",
            Mechanism::Balanced => "balanced",
            Mechanism::Unrecognised => "unrecognised",
        }
    }
}

/// Directions that one mechanism gives.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The mechanism.
    pub mechanism: Mechanism,
    /// The neurons it is about.
    pub neurons: Vec<Neuron>,
    /// The directions; the parameters may move along all of them at once.
    pub directions: Vec<Direction>,
}

/// The scalings of the hidden neurons.
pub fn scalings(network: &Network, view: &View) -> Vec<Direction> {
    view.hidden().map(|neuron| mixed(network, view, neuron, neuron)).collect()
}

/// What the catalogue knows, in its order; `None` when it is late.
pub fn candidates(network: &Network, view: &View, deadline: &Deadline) -> Option<Vec<Candidate>> {
    let mut found = Vec::new();
    let mut add = |mechanism: Mechanism, neurons: Vec<Neuron>, directions: Vec<Direction>| {
        if !directions.is_empty() {
            found.push(Candidate { mechanism, neurons, directions });
        }
    };
    let last = view.layout.last();
    for neuron in view.hidden().filter(|&neuron| view.always(|r| !view.is_on(r, neuron))) {
        let free = view.layout.of_row(neuron).chain(view.layout.of_column(neuron));
        add(Mechanism::Dead, vec![neuron], free.map(unit).collect());
    }
    let all: Vec<Neuron> = (0..=last).flat_map(|layer| view.of_layer(layer)).collect();
    let used: Vec<(Neuron, Vec<usize>)> =
        all.into_iter().map(|neuron| (neuron, view.where_used(neuron))).collect();
    for (neuron, _) in used.iter().filter(|(_, used)| used.is_empty()) {
        add(Mechanism::Unseen, vec![*neuron], view.layout.of_row(*neuron).map(unit).collect());
    }
    for (neuron, used) in used.iter().filter(|(neuron, used)| neuron.layer > 0 && !used.is_empty()) {
        let is_off = |input: usize| {
            let source = Neuron { layer: neuron.layer - 1, unit: input };
            used.iter().all(|&r| !view.is_on(r, source))
        };
        let idle = (0..view.layout.widths[neuron.layer]).filter(|&input| is_off(input));
        let directions = idle.map(|input| unit(Parameter { neuron: *neuron, input })).collect();
        add(Mechanism::Idle, vec![*neuron], directions);
    }
    let linear: Vec<Neuron> =
        view.hidden().filter(|&neuron| view.always(|r| view.is_on(r, neuron))).collect();
    for &neuron in &linear {
        add(Mechanism::Linear, vec![neuron], vec![shift(network, view, neuron)]);
    }
    for (&j, &k) in linear.iter().flat_map(|j| linear.iter().map(move |k| (j, k))) {
        if j.layer == k.layer && j != k {
            add(Mechanism::Linear, vec![j, k], vec![mixed(network, view, j, k)]);
        }
    }
    for neuron in view.hidden() {
        if view.always(|r| view.is_on(r, neuron) || !view.is_seen(r, neuron)) {
            add(Mechanism::Hidden, vec![neuron], vec![shift(network, view, neuron)]);
        }
    }
    for layer in 0..last {
        for (pair, directions) in shared(network, view, layer) {
            add(Mechanism::Proportional, pair, directions);
        }
    }
    for j in view.hidden() {
        if deadline.is_past() {
            return None;
        }
        for k in view.of_layer(j.layer).filter(|&k| k != j) {
            if view.always(|r| view.is_on(r, j) == view.is_on(r, k) || !view.is_seen(r, j)) {
                add(Mechanism::Twins, vec![j, k], vec![mixed(network, view, j, k)]);
            }
        }
    }
    for (neuron, used) in used.iter().filter(|(_, used)| !used.is_empty()) {
        if deadline.is_past() {
            return None;
        }
        add(Mechanism::Dependent, vec![*neuron], dependent(network, view, *neuron, used));
    }
    for layer in 0..last {
        for input in 0..=view.layout.widths[layer] {
            if deadline.is_past() {
                return None;
            }
            for direction in balanced(network, view, layer, input) {
                let neurons = direction.iter().map(|(parameter, _)| parameter.neuron).collect();
                add(Mechanism::Balanced, neurons, vec![direction]);
            }
        }
    }
    Some(found)
}

fn unit(parameter: Parameter) -> Direction {
    vec![(parameter, Rational::ONE)]
}

/// The bias of a neuron moves, and the biases of the next layer make up for it.
fn shift(network: &Network, view: &View, neuron: Neuron) -> Direction {
    let bias = |neuron: Neuron| Parameter { neuron, input: view.layout.widths[neuron.layer] };
    let next = view.layout.of_column(neuron).map(|weight| (bias(weight.neuron), -value(network, weight)));
    std::iter::once((bias(neuron), Rational::ONE)).chain(next).filter(|(_, speed)| !speed.is_zero()).collect()
}

/// `(w_j, b_j) += t (w_k, b_k)` and `w_ik -= t w_ij`; for `k = j` the scaling of `j`.
fn mixed(network: &Network, view: &View, j: Neuron, k: Neuron) -> Direction {
    let rows = view.layout.of_row(j).zip(view.layout.of_row(k)).map(|(to, from)| (to, value(network, from)));
    let columns = view.layout.of_column(k).zip(view.layout.of_column(j));
    let columns = columns.map(|(to, from)| (to, -value(network, from)));
    rows.chain(columns).filter(|(_, speed)| !speed.is_zero()).collect()
}

/// Pairs of neurons of a layer that are positive multiples of each other, with the shares of outgoing weights.
fn shared(network: &Network, view: &View, layer: usize) -> Vec<(Vec<Neuron>, Vec<Direction>)> {
    let mut found = Vec::new();
    for group in lines::groups(&network.layers()[layer]) {
        for sign in [1, -1] {
            let ray: Vec<_> = group.iter().filter(|each| each.factor.signum() == sign).collect();
            for other in ray.iter().skip(1) {
                let neuron = |unit: usize| Neuron { layer, unit };
                let pair = vec![neuron(ray[0].unit), neuron(other.unit)];
                let columns = view.layout.of_column(pair[0]).zip(view.layout.of_column(pair[1]));
                let share = |(one, two)| vec![(one, other.factor.abs()), (two, -ray[0].factor.abs())];
                found.push((pair, columns.map(share).collect()));
            }
        }
    }
    found
}

/// Vectors that are orthogonal to the inputs of a row wherever it is used.
fn dependent(network: &Network, view: &View, neuron: Neuron, used: &[usize]) -> Vec<Direction> {
    let full = view.layout.widths[neuron.layer] + 1;
    let (mut echelon, mut rows) = (Echelon::default(), Vec::new());
    for &region in used {
        let inputs = view.residues.input_rows(&view.patterns[region], neuron.layer);
        for (at, row) in inputs.into_iter().enumerate() {
            if echelon.insert(row.into_iter().map(Residue::new).collect()) {
                rows.push(inputs_at(network, &view.patterns[region], neuron.layer, at));
            }
        }
        if echelon.rank() == full {
            return Vec::new();
        }
    }
    orthogonal(&rows, &view.layout.of_row(neuron).collect::<Vec<_>>())
}

/// Directions of some parameters along the vectors that are orthogonal to all rows; none if that is too much work.
fn orthogonal(rows: &[Vec<Rational>], parameters: &[Parameter]) -> Vec<Direction> {
    if rows.is_empty() {
        return parameters.iter().map(|&parameter| unit(parameter)).collect();
    }
    let direction = |vector: Vec<Rational>| {
        let largest = vector.iter().map(Rational::abs).max().unwrap_or(Rational::ONE);
        let entries = parameters.iter().zip(vector).filter(|(_, x)| !x.is_zero());
        entries.map(|(parameter, x)| (*parameter, &x / &largest)).collect()
    };
    let vectors = Matrix::from_rows(rows).and_then(|rows| kernel(&rows)).unwrap_or_default();
    vectors.into_iter().map(direction).collect()
}

/// Changes of the weights from one input of a layer that cancel in all outputs wherever the input is on.
fn balanced(network: &Network, view: &View, layer: usize, input: usize) -> Vec<Direction> {
    let is_neuron = layer > 0 && input < view.layout.widths[layer];
    let source = Neuron { layer: layer.saturating_sub(1), unit: input };
    let (last, full) = (view.layout.last(), view.layout.widths[layer + 1]);
    let (mut echelon, mut rows) = (Echelon::default(), Vec::new());
    for region in (0..view.patterns.len()).filter(|&r| !is_neuron || view.is_on(r, source)) {
        for output in 0..view.layout.widths[last + 1] {
            let signals = view.residues.signals(&view.patterns[region], last, output).swap_remove(layer);
            if echelon.insert(signals.into_iter().map(Residue::new).collect()) {
                rows.push(signals_at(network, &view.patterns[region], layer, output));
            }
        }
        if echelon.rank() == full {
            return Vec::new();
        }
    }
    let weights = view.of_layer(layer).map(|neuron| Parameter { neuron, input });
    orthogonal(&rows, &weights.collect::<Vec<_>>())
}

/// The derivatives of an output by the pre-activations of a hidden layer in a region, exactly.
fn signals_at(network: &Network, pattern: &Pattern, layer: usize, output: usize) -> Vec<Rational> {
    let last = network.hidden_depth();
    let mut signal: Vec<Rational> = (0..network.output_width())
        .map(|o| if o == output { Rational::ONE } else { Rational::ZERO })
        .collect();
    for l in (layer..last).rev() {
        let weight = network.layers()[l + 1].weight();
        let entry = |k: usize| match pattern[l][k] {
            false => Rational::ZERO,
            true => {
                let terms = signal.iter().enumerate().filter(|(_, s)| !s.is_zero());
                terms.map(|(i, s)| s * &exact(weight[(i, k)])).sum()
            }
        };
        signal = (0..pattern[l].len()).map(entry).collect();
    }
    signal
}

/// What a layer reads in a region at a unit vector of homogeneous coordinates, exactly.
fn inputs_at(network: &Network, pattern: &Pattern, layer: usize, at: usize) -> Vec<Rational> {
    let one = |k: usize| if k == at { Rational::ONE } else { Rational::ZERO };
    let (mut h, t): (Vec<Rational>, Rational) =
        ((0..network.input_width()).map(one).collect(), one(network.input_width()));
    for (layer, on) in network.layers()[..layer].iter().zip(pattern) {
        let unit = |unit: usize| {
            if !on[unit] {
                return Rational::ZERO;
            }
            let row = layer.weight().row(unit).iter().zip(&h).filter(|(_, h)| !h.is_zero());
            let mut z: Rational = row.map(|(w, h)| &exact(*w) * h).sum();
            z.add_product(&exact(layer.bias()[unit]), &t);
            z
        };
        h = (0..layer.width()).map(unit).collect();
    }
    h.push(t);
    h
}

fn exact(x: f64) -> Rational {
    Rational::from_f64(x).expect("parameters are finite")
}
