//! What is known of the fiber of any network: symmetries that can be checked, and a lower bound for its
//! dimension.
//!
//! Each family below maps a neighbourhood of the parameter in its fiber into the fiber, smoothly: scalings;
//! `W_i += c W_j, V_j -= c V_i` and bias shifts of neurons that stay linear, and changes along the kernels of
//! their `V` and `W`; free weights of neurons that stay dead or have no outgoing weights; outgoing weights
//! shared by neurons on one ray; translations of a hidden hyperplane. Composing them gives a smooth map into
//! the fiber whose derivative has all their directions in its image, so the rank of these directions is a
//! lower bound for the dimension of the fiber at the parameter. The rank is taken modulo a prime after a
//! random projection, both of which can only lower it.
//!
//! "Stays" needs strict inequalities: a neuron counts as linear (dead) here if interval arithmetic bounds its
//! pre-activation away from zero and its weights on unbounded inputs are not zero. A neuron behind a ReLU layer that
//! something else shows to be dead need not stay so in all directions, but it does where its weights and bias fall: in
//! every neighbourhood there are parameters at which its directions count, and the bound is one for the fiber near by.

use fiberscope_algebra::modular::rank_of_sparse;
use fiberscope_algebra::rational::kernel;
use fiberscope_core::{
    Activation, Domain, ExactNetwork, Interval, Layer, Neuron, Rational, Strictness, least_translation,
    preactivation_range,
};

use super::span::{Direction, independent_scalings};
use crate::orbit::lines;

/// A symmetry of a network's parameters that can be checked on the numbers. Layers and neurons count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Symmetry {
    /// The neurons of a layer can be permuted.
    Permutation {
        /// The layer.
        layer: usize,
        /// Its width.
        width: usize,
    },
    /// The neurons of a ReLU layer can be scaled by positive factors.
    Scaling {
        /// The layer.
        layer: usize,
        /// Its width.
        width: usize,
    },
    /// Neurons that act linearly can be mixed, and their biases moved into the next layer.
    LinearNeurons {
        /// The layer.
        layer: usize,
        /// The neurons.
        units: Vec<usize>,
    },
    /// Neurons that are never active have free weights.
    DeadNeurons {
        /// The layer.
        layer: usize,
        /// The neurons.
        units: Vec<usize>,
    },
    /// Neurons without outgoing weights have free incoming weights.
    UnconnectedNeurons {
        /// The layer.
        layer: usize,
        /// The neurons.
        units: Vec<usize>,
    },
    /// Neurons that are positive multiples of each other share their outgoing weights.
    SharedRay {
        /// The layer.
        layer: usize,
        /// The neurons.
        units: Vec<usize>,
    },
    /// The next layer hides the hyperplane of a neuron, which can be translated by every `t >= least`.
    Translation {
        /// The neuron.
        neuron: Neuron,
        /// `t_min`.
        least: Rational,
    },
    /// One live neuron hides the hyperplane of a neuron, so that the others of its layer can be flipped.
    Flips {
        /// The neuron.
        neuron: Neuron,
        /// The number of flips that can be chosen.
        count: usize,
    },
}

/// The symmetries of a network that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownSymmetries {
    /// The symmetries, layer by layer.
    pub symmetries: Vec<Symmetry>,
    /// The number of independent scalings.
    pub scalings: usize,
    /// A lower bound for the dimension of the fiber in the space of all parameters, scalings included.
    pub dimension: usize,
}

/// More directions than these are not eliminated; scalings alone are then counted.
const DIRECTIONS: usize = 1024;

/// The symmetries of a network on a domain that can be checked on the numbers. A box must fit the network's
/// inputs.
///
/// ```
/// use fiberscope::fiber::symmetries;
/// use fiberscope::{Domain, Network};
///
/// let network = Network::from_rows(&[(&[&[1.0], &[-2.0]], &[0.5, 0.25]), (&[&[1.0, 3.0]], &[0.0])]).unwrap();
/// let known = symmetries(&network.to_exact(), &Domain::Space);
/// assert_eq!((known.symmetries.len(), known.scalings, known.dimension), (2, 2, 2));
/// ```
pub fn symmetries(network: &ExactNetwork, domain: &Domain) -> KnownSymmetries {
    symmetries_beside(network, domain, &[])
}

/// The same beside neurons that something else shows to be dead, behind ReLU layers: as all smaller rows are dead, too,
/// their rows can be changed in as many directions as they have parameters.
pub fn symmetries_beside(network: &ExactNetwork, domain: &Domain, dead: &[Neuron]) -> KnownSymmetries {
    let places = Places::of(network);
    let ranges: Vec<Vec<Interval>> = network.activation_ranges(domain).collect();
    let (mut symmetries, mut directions) = (Vec::new(), Vec::new());
    for layer in 0..network.hidden_depth() {
        let width = network.layers()[layer].width();
        symmetries.push(Symmetry::Permutation { layer, width });
        if network.layers()[layer].activation() == Activation::Relu {
            symmetries.push(Symmetry::Scaling { layer, width });
        }
        directions.extend(places.scalings(network, layer));
    }
    let scalings = independent_scalings(network);
    let plain = directions.len();
    for (layer, inputs) in ranges.iter().enumerate().take(network.hidden_depth()) {
        let mut found = LayerSymmetries::of(network, layer, inputs);
        found.add_dead(dead.iter().filter(|neuron| neuron.layer == layer).map(|neuron| neuron.unit));
        found.list(network, layer, &mut symmetries);
        directions.extend(found.directions(network, layer, &places));
    }
    let dimension = match directions.len() {
        count if count == plain || count > DIRECTIONS => scalings,
        _ => scalings.max(rank_of_sparse(&directions)),
    };
    KnownSymmetries { symmetries, scalings, dimension }
}

/// Where the parameters lie in one vector.
struct Places(Vec<(usize, usize)>);

impl Places {
    fn of(network: &ExactNetwork) -> Self {
        let mut at = 0;
        let place = |layer: &Layer<Rational>| {
            let weight = at;
            at += layer.width() * (layer.input_width() + 1);
            (weight, weight + layer.width() * layer.input_width())
        };
        Places(network.layers().iter().map(place).collect())
    }

    fn weight(&self, network: &ExactNetwork, layer: usize, i: usize, j: usize) -> usize {
        self.0[layer].0 + i * network.layers()[layer].input_width() + j
    }

    fn bias(&self, layer: usize, i: usize) -> usize {
        self.0[layer].1 + i
    }

    /// `factor` times the row and bias of neuron `from`, at the place of neuron `to`.
    fn row(&self, network: &ExactNetwork, layer: usize, to: usize, from: usize) -> Direction {
        let rows = &network.layers()[layer];
        let weights = rows
            .weight()
            .row(from)
            .iter()
            .enumerate()
            .map(|(j, w)| (self.weight(network, layer, to, j), w.clone()));
        weights.chain([(self.bias(layer, to), rows.bias()[from].clone())]).collect()
    }

    /// Minus the outgoing weights of neuron `from`, at the place of neuron `to`.
    fn minus_column(&self, network: &ExactNetwork, layer: usize, to: usize, from: usize) -> Direction {
        let column = network.layers()[layer + 1].weight().column(from);
        column.enumerate().map(|(o, v)| (self.weight(network, layer + 1, o, to), -v)).collect()
    }

    fn scalings(&self, network: &ExactNetwork, layer: usize) -> Vec<Direction> {
        let one = |unit: usize| {
            [self.row(network, layer, unit, unit), self.minus_column(network, layer, unit, unit)].concat()
        };
        (0..network.layers()[layer].width()).map(one).collect()
    }
}

/// The neurons of a layer with more than scalings.
struct LayerSymmetries {
    linear: Vec<usize>,
    /// Neurons whose bias can be shifted: also constant ones.
    shiftable: Vec<usize>,
    dead: Vec<usize>,
    /// Neurons that are linear or dead, but perhaps at the border of it.
    weakly_linear: Vec<usize>,
    weakly_dead: Vec<usize>,
    unconnected: Vec<usize>,
    rays: Vec<Vec<lines::Multiple>>,
    hidden: Option<(usize, Rational, bool)>,
}

impl LayerSymmetries {
    fn of(network: &ExactNetwork, layer: usize, inputs: &[Interval]) -> Self {
        let rows = &network.layers()[layer];
        let relu = rows.activation() == Activation::Relu;
        let range = |unit: usize| preactivation_range(rows, unit, inputs);
        // Weights on unbounded inputs keep their sign under small changes.
        let firm = |unit: usize| {
            rows.weight().row(unit).iter().zip(inputs).all(|(w, side)| {
                let bounded = side.lower.is_some() && side.upper.is_some();
                bounded || !w.is_zero()
            })
        };
        let positive = |unit: usize| !relu || range(unit).lower.is_some_and(|lower| lower.is_positive());
        let negative = |unit: usize| relu && range(unit).upper.is_some_and(|upper| upper.is_negative());
        let silent = |unit: usize| relu && range(unit).upper.is_some_and(|upper| !upper.is_positive());
        let units =
            |test: &dyn Fn(usize) -> bool| (0..rows.width()).filter(|&unit| test(unit)).collect::<Vec<_>>();
        let out = network.layers()[layer + 1].weight();
        let unconnected = units(&|unit| out.column(unit).all(Rational::is_zero));
        let mut rays: Vec<Vec<lines::Multiple>> = Vec::new();
        if relu {
            for group in lines::groups(rows) {
                for sign in [1, -1] {
                    let ray: Vec<_> =
                        group.iter().filter(|each| each.factor.signum() == sign).cloned().collect();
                    if ray.len() > 1 {
                        rays.push(ray);
                    }
                }
            }
        }
        LayerSymmetries {
            linear: units(&|unit| positive(unit) && (!relu || firm(unit))),
            shiftable: units(&positive),
            dead: units(&|unit| negative(unit) && firm(unit)),
            weakly_linear: units(&|unit| {
                !silent(unit) && (!relu || range(unit).lower.is_some_and(|lower| !lower.is_negative()))
            }),
            weakly_dead: units(&silent),
            unconnected,
            rays,
            hidden: hidden(network, layer),
        }
    }

    fn add_dead(&mut self, units: impl Iterator<Item = usize>) {
        for unit in units {
            for list in [&mut self.dead, &mut self.weakly_dead] {
                if let Err(at) = list.binary_search(&unit) {
                    list.insert(at, unit);
                }
            }
        }
    }

    fn list(&self, network: &ExactNetwork, layer: usize, symmetries: &mut Vec<Symmetry>) {
        if !self.weakly_linear.is_empty() {
            symmetries.push(Symmetry::LinearNeurons { layer, units: self.weakly_linear.clone() });
        }
        if !self.weakly_dead.is_empty() {
            symmetries.push(Symmetry::DeadNeurons { layer, units: self.weakly_dead.clone() });
        }
        if !self.unconnected.is_empty() {
            symmetries.push(Symmetry::UnconnectedNeurons { layer, units: self.unconnected.clone() });
        }
        for ray in &self.rays {
            symmetries.push(Symmetry::SharedRay { layer, units: ray.iter().map(|each| each.unit).collect() });
        }
        if let Some((unit, least, flips)) = &self.hidden {
            let neuron = Neuron { layer, unit: *unit };
            symmetries.push(Symmetry::Translation { neuron, least: least.clone() });
            if *flips {
                symmetries.push(Symmetry::Flips { neuron, count: network.layers()[layer].width() - 1 });
            }
        }
    }

    fn directions(&self, network: &ExactNetwork, layer: usize, places: &Places) -> Vec<Direction> {
        let (rows, next) = (&network.layers()[layer], &network.layers()[layer + 1]);
        let (inputs, outputs) = (rows.input_width(), next.width());
        let one = || Rational::ONE;
        let mut found: Vec<Direction> = Vec::new();
        for &i in &self.linear {
            for &j in self.linear.iter().filter(|&&j| j != i) {
                found.push(
                    [places.row(network, layer, i, j), places.minus_column(network, layer, j, i)].concat(),
                );
            }
        }
        for &i in &self.shiftable {
            let mut direction = vec![(places.bias(layer, i), one())];
            direction
                .extend(next.weight().column(i).enumerate().map(|(o, v)| (places.bias(layer + 1, o), -v)));
            found.push(direction);
        }
        for kernel in kernel(&next.weight().select_columns(&self.linear)).unwrap_or_default() {
            for j in 0..inputs {
                let entry = |(k, n): (usize, &Rational)| {
                    (places.weight(network, layer, self.linear[k], j), n.clone())
                };
                found.push(kernel.iter().enumerate().map(entry).collect());
            }
        }
        for kernel in kernel(&rows.weight().select_rows(&self.linear).transpose()).unwrap_or_default() {
            let constant: Rational =
                kernel.iter().zip(&self.linear).map(|(k, &unit)| k * &rows.bias()[unit]).sum();
            for o in 0..outputs {
                let entry = |(k, n): (usize, &Rational)| {
                    (places.weight(network, layer + 1, o, self.linear[k]), n.clone())
                };
                let weights = kernel.iter().enumerate().map(entry);
                found.push(weights.chain([(places.bias(layer + 1, o), -&constant)]).collect());
            }
        }
        for &unit in self.dead.iter().chain(&self.unconnected) {
            found.extend((0..inputs).map(|j| vec![(places.weight(network, layer, unit, j), one())]));
            found.push(vec![(places.bias(layer, unit), one())]);
        }
        for &unit in &self.dead {
            found.extend((0..outputs).map(|o| vec![(places.weight(network, layer + 1, o, unit), one())]));
        }
        for ray in &self.rays {
            for other in &ray[1..] {
                let share = |o: usize| {
                    let (first, second) = (
                        places.weight(network, layer + 1, o, ray[0].unit),
                        places.weight(network, layer + 1, o, other.unit),
                    );
                    vec![(first, other.factor.abs()), (second, -ray[0].factor.abs())]
                };
                found.extend((0..outputs).map(share));
            }
        }
        if let Some((unit, _, _)) = &self.hidden {
            let mut direction = vec![(places.bias(layer, *unit), one())];
            direction.extend((0..outputs).map(|j| (places.bias(layer + 1, j), -&next.weight()[(j, *unit)])));
            found.push(direction);
        }
        found
    }
}

/// The neuron that the next layer hides, strictly, with `t_min` and whether one neuron is alive there.
fn hidden(network: &ExactNetwork, layer: usize) -> Option<(usize, Rational, bool)> {
    let unit = network.hidden_unit(layer, Strictness::Strict)?;
    let next = &network.layers()[layer + 1];
    let least = least_translation(next.bias().iter().zip(next.weight().column(unit)))?;
    Some((unit, least, next.width() == 1))
}
