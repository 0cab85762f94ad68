//! Walks inside the orbit of `B`: one class of channels or neurons after the other is permuted and scaled.

use std::collections::BTreeMap;

use fiberscope_core::{Domain, Layer, Matrix, MoveChain, Network, Rational, Weights, side_by_side};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::assignment::{assign_from, column_minima};
use super::pair::{Costs, is_best_as_it_is};
use super::products::Products;
use super::units::{Class, Member};
use super::{AlignOptions, Alignment, Scaling};
use crate::orbit::{LayerRelabelling, Relabelling, relative_difference};

/// Layers with more neurons or channels than this stay in their order: the table of all pairs would be too large.
pub(super) const MOST_UNITS: usize = 1 << 13;

/// A network of `B`'s orbit, with the relabelling that makes it of `B`, in doubles.
#[derive(Clone)]
pub(super) struct Rewriting<'c> {
    pub(super) layers: Vec<Layer>,
    classes: &'c [Class],
    relabellings: Vec<LayerRelabelling<f64>>,
    known: Vec<Known>,
}

/// What is known of a class from round to round. It is kept up to date when others are rewritten.
#[derive(Clone, Default)]
struct Known {
    incoming: Option<Products>,
    outgoing: Option<Products>,
    /// The prices of the channels of `B` in the last assignment.
    prices: Option<Vec<f64>>,
    /// Whether nothing before or behind it has changed since it was made as good as it can be.
    settled: bool,
}

/// An assignment that is better by less than this, relative to all that it is about, is no better.
const GAIN: f64 = 1e-12;

impl<'c> Rewriting<'c> {
    pub(super) fn new(b: &Network, classes: &'c [Class]) -> Self {
        let identity = |layer: &Layer| LayerRelabelling::identity(layer.width(), 1.0);
        Rewriting {
            layers: b.layers().to_vec(),
            classes,
            relabellings: b.hidden_layers().iter().map(identity).collect(),
            known: vec![Known::default(); classes.len()],
        }
    }

    pub(super) fn shuffle(&mut self, a: &[Layer], rng: &mut ChaCha8Rng) {
        for (at, class) in self.classes.iter().enumerate() {
            let mut shuffled = LayerRelabelling::identity(class.channels(), 1.0);
            for i in (1..class.channels()).rev() {
                shuffled.order.swap(i, rng.random_range(0..=i));
            }
            self.rewrite(a, at, &shuffled);
        }
    }

    /// Improves the classes in turn until none changes.
    pub(super) fn descend(&mut self, a: &[Layer], options: &AlignOptions) {
        for _ in (0..options.rounds).take_while(|_| !options.deadline.is_past()) {
            if !self.improve_all(a, options, true) {
                return;
            }
        }
    }

    /// Improves every class once, as long as there is time; whether one has changed.
    pub(super) fn improve_all(&mut self, a: &[Layer], options: &AlignOptions, both: bool) -> bool {
        let mut changed = false;
        for at in (0..self.classes.len()).take_while(|_| !options.deadline.is_past()) {
            changed |= self.improve(a, at, options.scaling, both);
        }
        changed
    }

    /// The best permutation and scaling of one class, by the incoming and (if `both`) the outgoing weights; whether it is
    /// another one.
    fn improve(&mut self, a: &[Layer], at: usize, scaling: Scaling, both: bool) -> bool {
        let (class, known) = (&self.classes[at], &mut self.known[at]);
        let n = class.channels();
        if n > MOST_UNITS || both && known.settled {
            return false;
        }
        let incoming = known.incoming.get_or_insert_with(|| Products::incoming(class, a, &self.layers));
        if both && known.outgoing.is_none() {
            let sizes = Products::outgoing_sizes(class, a, &self.layers);
            if sizes.is_some_and(|sizes| is_best_as_it_is(incoming, &sizes, scaling)) {
                known.settled = true;
                return false;
            }
            known.outgoing = Some(Products::outgoing(class, a, &self.layers));
        }
        let outgoing = known.outgoing.as_ref().filter(|_| both);
        let costs = Costs { incoming, outgoing, scaling };
        let cost = costs.table();
        if cost.entries().iter().any(|c| !c.is_finite()) {
            return false;
        }
        let order = match &mut known.prices {
            Some(prices) => assign_from(&cost, prices),
            none => {
                let mut prices = column_minima(&cost);
                let order = assign_from(&cost, &mut prices);
                *none = Some(prices);
                order
            }
        };
        let factors: Vec<f64> =
            order.iter().enumerate().map(|(i, &j)| costs.pair(i, j).best(scaling).1).collect();
        let gain: f64 = (0..n).map(|i| costs.pair(i, i).cost(1.0) - cost[(i, order[i])]).sum();
        let size: f64 = (0..n).map(|i| costs.pair(i, i).size()).sum();
        known.settled = both;
        // Also refuses what is no number.
        let better = gain > GAIN * size;
        better && self.rewrite(a, at, &LayerRelabelling { order, factors })
    }

    /// Applies a permutation and a scaling to the channels of a class. Scaling may leave the doubles; then the class
    /// stays as it is, and the answer is no.
    pub(super) fn rewrite(&mut self, a: &[Layer], at: usize, channels: &LayerRelabelling<f64>) -> bool {
        let LayerRelabelling { order, factors } = channels;
        let moved: Vec<usize> = (0..order.len()).filter(|&i| order[i] != i || factors[i] != 1.0).collect();
        if moved.is_empty() {
            return false;
        }
        let class = &self.classes[at];
        let mut made: BTreeMap<usize, Layer> = BTreeMap::new();
        let mut relabelled = Vec::with_capacity(class.members.len());
        for member in &class.members {
            let all = member.spread(self.layers[member.layer].width(), channels);
            for (layer, with) in
                [(member.layer, with_rows as fn(&Layer, &_) -> Layer), (member.layer + 1, with_columns)]
            {
                let before = made.get(&layer).unwrap_or(&self.layers[layer]);
                let after = with(before, &all);
                made.insert(layer, after);
            }
            relabelled.push((member.layer, all));
        }
        let is_finite =
            |layer: &Layer| layer.weights().stored().iter().chain(layer.bias()).all(|x| x.is_finite());
        if !made.values().all(is_finite) {
            return false;
        }
        for (layer, made) in made.iter_mut() {
            std::mem::swap(&mut self.layers[*layer], made);
        }
        for other in (0..self.classes.len()).filter(|&other| other != at) {
            self.update(other, a, &made, (at, &moved));
        }
        let known = &mut self.known[at];
        known.incoming = known.incoming.take().map(|found| found.relabelled(order, |i| factors[i]));
        known.outgoing = known.outgoing.take().map(|found| found.relabelled(order, |i| factors[i].recip()));
        known.prices = known.prices.take().map(|prices| order.iter().map(|&j| prices[j]).collect());
        for (layer, LayerRelabelling { order, factors }) in relabelled {
            let before = &self.relabellings[layer];
            self.relabellings[layer] = LayerRelabelling {
                order: order.iter().map(|&unit| before.order[unit]).collect(),
                factors: order.iter().zip(factors).map(|(&unit, c)| before.factors[unit] * c).collect(),
            };
        }
        true
    }

    /// Brings what is known of a class up to date after some channels of another one have changed; `old` has the layers
    /// before that.
    fn update(
        &mut self,
        other: usize,
        a: &[Layer],
        old: &BTreeMap<usize, Layer>,
        (at, moved): (usize, &[usize]),
    ) {
        let (class, changed) = (&self.classes[other], &self.classes[at]);
        let known = &mut self.known[other];
        let first = &class.members[0];
        // Columns of the rows of the class, and rows of its columns.
        let before: Vec<&Member> = changed.members.iter().filter(|m| m.layer + 1 == first.layer).collect();
        let behind: Vec<(&Member, &Member)> = class
            .members
            .iter()
            .flat_map(|own| changed.members.iter().map(move |m| (own, m)))
            .filter(|(own, m)| own.layer + 1 == m.layer)
            .collect();
        known.settled &= before.is_empty() && behind.is_empty();
        let few = 4 * moved.len() <= changed.channels();
        let dense = |layer: usize| {
            let [a, new, old] = [Some(&a[layer]), Some(&self.layers[layer]), old.get(&layer)];
            Some([a?.weights().as_dense()?, old?.weights().as_dense()?, new?.weights().as_dense()?])
        };
        let simple = |m: &Member, own: &Member| few && m.places() == 1 && own.places() == 1;
        if let Some(m) = before.first() {
            let layers = dense(first.layer).filter(|_| before.len() == 1 && simple(m, first));
            let shifted = known.incoming.take().zip(layers).map(|(mut products, layers)| {
                let (rows, columns) = (first.neurons(), m.neurons());
                let part = |matrix: &Matrix| {
                    let entry = |s: usize, i: usize| matrix[(rows.start + i, columns.start + moved[s])];
                    Matrix::from_fn(moved.len(), rows.len(), entry)
                };
                let [a, old, new] = layers.map(part);
                products.shift(&a, &old, &new);
                products
            });
            known.incoming = shifted;
        }
        if let Some((own, m)) = behind.first() {
            let layers = dense(m.layer).filter(|_| behind.len() == 1 && simple(m, own));
            let shifted = known.outgoing.take().zip(layers).map(|(mut products, layers)| {
                let (rows, columns) = (m.neurons(), own.neurons());
                let part = |matrix: &Matrix| {
                    let entry = |s: usize, j: usize| matrix[(rows.start + moved[s], columns.start + j)];
                    Matrix::from_fn(moved.len(), columns.len(), entry)
                };
                let [a, old, new] = layers.map(part);
                products.shift(&a, &old, &new);
                products
            });
            known.outgoing = shifted;
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
        Relabelling { layers: self.relabellings.iter().map(exact).collect() }.moves()
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
    let (network, rounded) = match moves.apply_in_doubles(b) {
        Some(network) => (network, Rational::ZERO),
        None => {
            let mut made = b.to_exact();
            moves.apply(&mut made, &Domain::Space).ok()?;
            let (network, exact) = made.to_f64().ok()?;
            let rounded =
                if exact { Rational::ZERO } else { relative_difference(&made, &network.to_exact()) };
            (network, rounded)
        }
    };
    let distance_after = distance(a.layers(), network.layers());
    Some(Alignment {
        network,
        moves,
        distance_before,
        distance_after,
        exact: rounded.is_zero(),
        rounded,
        relative: None,
        unmatched: Vec::new(),
    })
}

/// The Euclidean distance of the parameters of two networks of the same shape.
pub(super) fn distance(a: &[Layer], b: &[Layer]) -> f64 {
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
fn sum_of_gaps(a: &[Layer], b: &[Layer], mut f: impl FnMut(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    for (x, y) in a.iter().zip(b) {
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
