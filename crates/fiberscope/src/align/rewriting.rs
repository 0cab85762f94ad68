//! Walks inside the orbit of `B`: one class of channels or neurons after the other is permuted and scaled.

use std::collections::BTreeMap;

use fiberscope_core::{Domain, Layer, Matrix, MoveChain, Network, Rational, Scalar};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::assignment::{assign_from, column_minima};
use super::distance::distance;
use super::links::{Link, Place, change};
use super::moved::Moved;
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
    /// Room for the costs of one class.
    table: Matrix,
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

/// Products are brought up to date if at most this part (3 of 4) of the channels that they depend on has changed,
/// and are computed again otherwise.
const MOST_SHIFTED: (usize, usize) = (4, 3);

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
            table: Matrix::from_fn(0, 0, |_, _| 0.0),
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
        let cost = &mut self.table;
        costs.fill(cost);
        if !Scalar::all_finite(cost.entries()) {
            return false;
        }
        let order = match &mut known.prices {
            Some(prices) => assign_from(cost, prices),
            none => {
                let mut prices = column_minima(cost);
                let order = assign_from(cost, &mut prices);
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
        let moved = Moved::of(channels);
        if moved.to.is_empty() {
            return false;
        }
        let class = &self.classes[at];
        let others = (0..self.classes.len()).filter(|other| *other != at);
        let links: Vec<_> = others.map(|other| (other, self.links(other, a, at, &moved))).collect();
        let mut kept: BTreeMap<usize, Layer> = BTreeMap::new();
        // Copies only where numbers may leave the doubles: nearly never.
        if !self.stays_finite(class, &moved) {
            let concerned = class.members.iter().flat_map(|member| [member.layer, member.layer + 1]);
            kept.extend(concerned.map(|layer| (layer, self.layers[layer].clone())));
        }
        for member in &class.members {
            let spread = Moved::of(&member.spread(self.layers[member.layer].width(), channels));
            change(&mut self.layers[member.layer], |layer| spread.rows(layer));
            change(&mut self.layers[member.layer + 1], |layer| spread.inverse().columns(layer));
        }
        let is_finite =
            |layer: &Layer| layer.weights().stored().iter().chain(layer.bias()).all(|x| x.is_finite());
        if !kept.keys().all(|&layer| is_finite(&self.layers[layer])) {
            kept.into_iter().for_each(|(layer, before)| self.layers[layer] = before);
            return false;
        }
        for (other, links) in links {
            self.update(other, links);
        }
        let known = &mut self.known[at];
        let inverse = moved.inverse();
        for (products, moved) in [(&mut known.incoming, &moved), (&mut known.outgoing, &inverse)] {
            if let Some(products) = products {
                products.relabel(moved);
            }
        }
        if let Some(prices) = &mut known.prices {
            moved.list(prices, 0);
        }
        for member in &class.members {
            let relabelling = &mut self.relabellings[member.layer];
            let LayerRelabelling { order, factors } = member.spread(relabelling.order.len(), channels);
            *relabelling = LayerRelabelling {
                order: order.iter().map(|&unit| relabelling.order[unit]).collect(),
                factors: order.iter().zip(factors).map(|(&unit, c)| relabelling.factors[unit] * c).collect(),
            };
        }
        true
    }

    /// Whether no weight or bias of a class becomes infinite, as is seen at the largest ones and the largest factors.
    fn stays_finite(&self, class: &Class, moved: &Moved) -> bool {
        let [up, down] = moved.largest_factors();
        let largest = |numbers: &[f64]| numbers.iter().fold(0.0, |most, x| f64::max(most, x.abs()));
        let fits = |layer: usize, factor: f64| {
            let layer = &self.layers[layer];
            factor == 1.0
                || [layer.weights().stored(), layer.bias()].iter().all(|x| (largest(x) * factor).is_finite())
        };
        match class.members.as_slice() {
            [member] => fits(member.layer, up) && fits(member.layer + 1, down),
            // Layers in the middle are scaled twice.
            _ => up == 1.0 && down == 1.0,
        }
    }

    /// How the products of a class depend on some channels of another one: what comes in, and what goes out.
    fn links(&self, other: usize, a: &[Layer], at: usize, moved: &Moved) -> [Link; 2] {
        let (class, changed) = (&self.classes[other], &self.classes[at]);
        let first = &class.members[0];
        // Columns of the rows of the class, and rows of its columns.
        let before: Vec<(&Member, &Member)> =
            changed.members.iter().filter(|m| m.layer + 1 == first.layer).map(|m| (first, m)).collect();
        let behind: Vec<(&Member, &Member)> = class
            .members
            .iter()
            .flat_map(|own| changed.members.iter().map(move |m| (own, m)))
            .filter(|(own, m)| own.layer + 1 == m.layer)
            .collect();
        let few = MOST_SHIFTED.0 * moved.to.len() <= MOST_SHIFTED.1 * changed.channels();
        [(before, true), (behind, false)].map(|(pairs, incoming)| {
            let Some((own, m)) = pairs.first() else { return Link::None };
            let layer = if incoming { first.layer } else { m.layer };
            let [of_a, of_b] = [a, &self.layers].map(|layers| layers[layer].weights().as_dense());
            let simple = few && pairs.len() == 1 && m.places() == 1 && own.places() == 1;
            let known = &self.known[other];
            let needed = if incoming { known.incoming.is_some() } else { known.outgoing.is_some() };
            match of_a.zip(of_b).filter(|_| simple && needed) {
                Some((of_a, of_b)) => {
                    let moved = moved.to.iter().map(|&channel| m.neurons().start + channel).collect();
                    let place = Place { layer, moved, own: own.neurons(), incoming };
                    Link::Part { a: place.part(of_a), old: place.part(of_b), place }
                }
                None => Link::All,
            }
        })
    }

    /// Brings what is known of a class up to date after some channels of another one have changed.
    fn update(&mut self, other: usize, links: [Link; 2]) {
        let known = &mut self.known[other];
        for (products, link) in [&mut known.incoming, &mut known.outgoing].into_iter().zip(links) {
            match link {
                Link::None => continue,
                Link::All => *products = None,
                Link::Part { place, a, old } => {
                    let new = self.layers[place.layer].weights().as_dense().map(|matrix| place.part(matrix));
                    if let (Some(products), Some(new)) = (products, new) {
                        products.shift(&a, &old, &new, place.incoming);
                    }
                }
            }
            known.settled = false;
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

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    /// What is kept from step to step is what would be computed anew, whether few channels have moved or many.
    #[test]
    fn what_is_known_is_kept_up_to_date() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let widths = [5, 12, 9, 11, 3];
        let [a, b] = [(); 2].map(|()| Network::from_widths(&widths, || rng.random_range(-1.0..1.0)).unwrap());
        let classes = Class::all(&a, &b, &[]);
        let mut rewriting = Rewriting::new(&b, &classes);
        let options = AlignOptions::new();
        rewriting.improve_all(a.layers(), &options, true);
        let mut kept = 0;
        for step in 0..40 {
            let at = step % 3;
            let mut channels = LayerRelabelling::identity(classes[at].channels(), 1.0);
            for _ in 0..step % 7 + 1 {
                let place = |rng: &mut ChaCha8Rng| rng.random_range(0..widths[at + 1]);
                let (i, j) = (place(&mut rng), place(&mut rng));
                channels.order.swap(i, j);
                channels.factors[i] *= [0.5, 2.0][step % 2];
            }
            rewriting.rewrite(a.layers(), at, &channels);
            for (class, known) in classes.iter().zip(&rewriting.known) {
                let incoming = Products::incoming(class, a.layers(), &rewriting.layers);
                let outgoing = Products::outgoing(class, a.layers(), &rewriting.layers);
                let pairs = [(&known.incoming, incoming), (&known.outgoing, outgoing)];
                for (known, found) in pairs.iter().filter_map(|(known, found)| Some((known.as_ref()?, found)))
                {
                    kept += 1;
                    let numbers = |of: &Products| [&of.a, &of.b, of.both.entries()].concat();
                    let near = |(x, y): (f64, f64)| (x - y).abs() < 1e-9 * (1.0 + y.abs());
                    assert!(numbers(known).into_iter().zip(numbers(found)).all(near), "step {step}");
                }
            }
            let moves = rewriting.moves(true);
            let made = moves.apply_in_doubles(&b).unwrap();
            assert_eq!(made.layers(), rewriting.layers);
        }
        assert!(kept > 60, "{kept}");
    }
}
