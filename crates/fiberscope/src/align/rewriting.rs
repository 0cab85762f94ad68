//! Walks inside the orbit of `B`: one class of channels or neurons after the other is permuted and scaled.

use fiberscope_core::{Domain, Layer, Matrix, MoveChain, Network, Rational, Weights, side_by_side};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::assignment::assign;
use super::pair::Pair;
use super::units::Class;
use super::{AlignOptions, Alignment, Scaling};
use crate::orbit::{LayerRelabelling, Relabelling, relative_difference};

/// Layers with more neurons or channels than this stay in their order: the table of all pairs would be too large.
pub(super) const MOST_UNITS: usize = 1 << 13;

/// A network of `B`'s orbit, with the relabelling that makes it of `B`, in doubles.
#[derive(Clone)]
pub(super) struct Rewriting<'c> {
    pub(super) network: Network,
    classes: &'c [Class],
    layers: Vec<LayerRelabelling<f64>>,
}

impl<'c> Rewriting<'c> {
    pub(super) fn new(b: &Network, classes: &'c [Class]) -> Self {
        let layers = b.hidden_layers().iter().map(|layer| LayerRelabelling::identity(layer.width(), 1.0));
        Rewriting { network: b.clone(), classes, layers: layers.collect() }
    }

    pub(super) fn shuffle(&mut self, rng: &mut ChaCha8Rng) {
        for class in self.classes {
            let mut shuffled = LayerRelabelling::identity(class.channels(), 1.0);
            for i in (1..class.channels()).rev() {
                shuffled.order.swap(i, rng.random_range(0..=i));
            }
            self.rewrite(class, &shuffled);
        }
    }

    /// Improves the classes in turn until none changes.
    pub(super) fn descend(&mut self, a: &Network, options: &AlignOptions) {
        let mut least = distance(a, &self.network);
        for _ in (0..options.rounds).take_while(|_| !options.deadline.is_past()) {
            let before = self.clone();
            self.improve_all(a, options, true);
            let now = distance(a, &self.network);
            if now >= least {
                *self = before;
                return;
            }
            least = now;
        }
    }

    /// Improves every class once, as long as there is time.
    pub(super) fn improve_all(&mut self, a: &Network, options: &AlignOptions, both: bool) {
        for class in self.classes.iter().take_while(|_| !options.deadline.is_past()) {
            self.improve(a, class, options.scaling, both);
        }
    }

    /// The best permutation and scaling of one class, by the incoming and (if `both`) the outgoing weights.
    fn improve(&mut self, a: &Network, class: &Class, scaling: Scaling, both: bool) {
        let n = class.channels();
        if n > MOST_UNITS {
            return;
        }
        let [incoming, outgoing] = class.products(a, &self.network, both);
        let pair = |i: usize, j: usize| Pair {
            in_a: incoming.a[i],
            in_b: incoming.b[j],
            in_both: incoming.both[(i, j)],
            out_a: outgoing.a[i],
            out_b: outgoing.b[j],
            out_both: outgoing.both[(i, j)],
        };
        let mut table = vec![(0.0, 0.0); n * n];
        table.par_chunks_mut(n).enumerate().for_each(|(i, row)| {
            row.iter_mut().enumerate().for_each(|(j, entry)| *entry = pair(i, j).best(scaling));
        });
        let cost = Matrix::from_fn(n, n, |i, j| table[i * n + j].0);
        if cost.entries().iter().any(|c| !c.is_finite()) {
            return;
        }
        let order = assign(&cost);
        let factors = order.iter().enumerate().map(|(i, &j)| table[i * n + j].1).collect();
        self.rewrite(class, &LayerRelabelling { order, factors });
    }

    /// Applies a permutation and a scaling to the channels of a class.
    pub(super) fn rewrite(&mut self, class: &Class, channels: &LayerRelabelling<f64>) {
        let mut layers = self.network.layers().to_vec();
        let mut relabelled = Vec::with_capacity(class.members.len());
        for member in &class.members {
            let all = member.spread(layers[member.layer].width(), channels);
            let (rows, columns) = (member.layer, member.layer + 1);
            layers[rows] = with_rows(&layers[rows], &all);
            layers[columns] = with_columns(&layers[columns], &all);
            relabelled.push((member.layer, all));
        }
        // Scaling may leave the doubles; then this class stays as it is.
        let Ok(network) = Network::new(layers) else { return };
        self.network = network;
        for (layer, LayerRelabelling { order, factors }) in relabelled {
            let before = &self.layers[layer];
            self.layers[layer] = LayerRelabelling {
                order: order.iter().map(|&unit| before.order[unit]).collect(),
                factors: order.iter().zip(factors).map(|(&unit, c)| before.factors[unit] * c).collect(),
            };
        }
    }

    /// Applies the moves to `B` exactly. If scaling by powers of two has left the doubles (by
    /// underflow), only the permutations are kept, and nothing at all if that is farther away.
    pub(super) fn finish(
        self,
        a: &Network,
        b: &Network,
        options: &AlignOptions,
        distance_before: f64,
    ) -> Alignment {
        let candidates = [self.moves(true), self.moves(false), MoveChain::default()];
        let mut made = candidates.into_iter().filter_map(|moves| {
            let alignment = moved(a, b, moves, distance_before)?;
            let fits = alignment.exact || options.scaling == Scaling::Doubles;
            // What does the same on the data may have parameters that are farther away.
            let closer = options.activations.is_some() || alignment.distance_after <= distance_before;
            (fits && closer).then_some(alignment)
        });
        made.next().unwrap_or_else(|| Alignment {
            network: b.clone(),
            moves: MoveChain::default(),
            distance_before,
            distance_after: distance_before,
            exact: true,
            rounded: Rational::ZERO,
            relative: None,
            unmatched: Vec::new(),
        })
    }

    /// The moves from `B` to this network, with or without the scalings.
    fn moves(&self, scalings: bool) -> MoveChain {
        let exact = |layer: &LayerRelabelling<f64>| {
            let factor =
                |&c: &f64| if scalings { Rational::from_f64(c) } else { None }.unwrap_or(Rational::ONE);
            LayerRelabelling {
                order: layer.order.clone(),
                factors: layer.factors.iter().map(factor).collect(),
            }
        };
        Relabelling { layers: self.layers.iter().map(exact).collect() }.moves()
    }
}

/// A layer with its neurons permuted and scaled.
fn with_rows(layer: &Layer, relabelling: &LayerRelabelling<f64>) -> Layer {
    let LayerRelabelling { order, factors } = relabelling;
    let mut weights = layer.weights().select_rows(order);
    weights.change(|i, _, entry| *entry *= factors[i]);
    let bias = order.iter().zip(factors).map(|(&unit, c)| layer.bias()[unit] * c).collect();
    // What became zero is no entry any more.
    Layer::new(weights.map(|&entry| entry), bias, layer.activation())
}

/// The layer behind it.
fn with_columns(layer: &Layer, relabelling: &LayerRelabelling<f64>) -> Layer {
    let LayerRelabelling { order, factors } = relabelling;
    let mut weights = layer.weights().select_columns(order);
    weights.change(|_, j, entry| *entry /= factors[j]);
    Layer::new(weights.map(|&entry| entry), layer.bias().to_vec(), layer.activation())
}

/// `B` after the moves, in doubles.
pub(super) fn moved(a: &Network, b: &Network, moves: MoveChain, distance_before: f64) -> Option<Alignment> {
    let mut made = b.to_exact();
    moves.apply(&mut made, &Domain::Space).ok()?;
    let (network, exact) = made.to_f64().ok()?;
    let rounded = if exact { Rational::ZERO } else { relative_difference(&made, &network.to_exact()) };
    let distance_after = distance(a, &network);
    Some(Alignment {
        network,
        moves,
        distance_before,
        distance_after,
        exact,
        rounded,
        relative: None,
        unmatched: Vec::new(),
    })
}

/// The Euclidean distance of the parameters of two networks of the same shape.
pub(super) fn distance(a: &Network, b: &Network) -> f64 {
    let sum = sum_of_gaps(a, b, |gap| gap * gap);
    if sum.is_finite() {
        return sum.sqrt();
    }
    // The squares of large numbers are beyond the doubles.
    let mut largest = 0.0f64;
    sum_of_gaps(a, b, |gap| {
        largest = largest.max(gap.abs());
        0.0
    });
    largest * sum_of_gaps(a, b, |gap| (gap / largest) * (gap / largest)).sqrt()
}

/// The sum of what `f` makes of the differences of the parameters.
fn sum_of_gaps(a: &Network, b: &Network, mut f: impl FnMut(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    for (x, y) in a.layers().iter().zip(b.layers()) {
        if let (Weights::Dense(x), Weights::Dense(y)) = (x.weights(), y.weights()) {
            sum += x.entries().iter().zip(y.entries()).map(|(x, y)| f(x - y)).sum::<f64>();
        } else {
            for (x, y) in x.weights().iter_rows().zip(y.weights().iter_rows()) {
                let gaps = side_by_side(x, y).map(|(_, x, y)| x.unwrap_or(&0.0) - y.unwrap_or(&0.0));
                sum += gaps.map(&mut f).sum::<f64>();
            }
        }
        sum += x.bias().iter().zip(y.bias()).map(|(x, y)| f(x - y)).sum::<f64>();
    }
    sum
}
