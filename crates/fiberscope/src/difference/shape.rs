//! A common shape for two networks.
//!
//! The bound compares neuron by neuron, so both networks need the same layers, widths and activations, and
//! corresponding neurons in corresponding places. Moves make them so, none of which changes a function on the
//! box:
//!
//! - Networks that are the same after reductions and a matching of neurons are taken so ([`twins`]).
//! - Where the activations differ, layers of identity neurons are multiplied into the next ones (`fold`).
//! - Where the depths differ, the shallower network gets layers that pass its values on (`unfold`): behind a
//!   ReLU layer values are nonnegative and `relu(a) = a`; before the first, `relu(x - lo) = x - lo` on the
//!   box. Behind which of its layers they are put is tried out.
//!   A layer that one network has more may also be one that folds: then both are reduced, and what is left
//!   may have one shape.
//! - Where widths differ, neurons of zeros are put in (`insert`).
//! - `B` is permuted and scaled to lie near `A` (`permute`, `scale`): first by the factors that relate the
//!   networks up to rounding, then by those that bring the parameters closest ([`align`]).
//!
//! - Where values inside are beyond the doubles, neurons are scaled by powers of two ([`scalings`]).
//!
//! Nothing shows beforehand which alignment is best, so each one is bounded on the whole box, and the least
//! bound is taken; networks that have nothing to do with each other stay as they are.

use fiberscope_check::difference::{Bounder, Pair};
use fiberscope_check::difference_fits;
use fiberscope_core::{
    Activation, Domain, ExactNetwork, Layer, Move, MoveChain, Network, PlacedNeuron, Rational,
};

use super::balance::scalings;
use super::{Alignment, DifferenceError, twins};
use crate::align::{AlignOptions, Scaling, align};
use crate::limit::Deadline;
use crate::reduce::{Reduction, reduce_alike};

/// Two networks of one shape, and the moves that lead to them.
#[derive(Clone)]
pub struct Shaped {
    /// The moves on the first network and on the second.
    pub moves: [MoveChain; 2],
    /// The networks in doubles.
    pub pair: Pair,
    /// Whether the moved networks are the same.
    pub equal: bool,
    /// How they were aligned.
    pub alignment: Alignment,
    /// The largest bound of an output on the whole box, if that is how they were chosen.
    pub bound: Option<f64>,
}

/// The pair with the least bound on the root box.
pub fn common(
    a: &Network,
    b: &Network,
    domain: &Domain,
    root: (&[f64], &[f64]),
    aligned: bool,
    deadline: &Deadline,
) -> Result<Shaped, DifferenceError> {
    if aligned
        && let Some(moves) = twins::same(a, b, domain, root, deadline)
        && let Ok(shaped) = moved(a, b, domain, moves, Alignment::Related)
        && shaped.equal
    {
        return Ok(shaped);
    }
    let mut pairs = folded(a, b, domain, deadline);
    if pairs.is_empty() {
        pairs = padded(Moved::new(a), Moved::new(b), domain)?;
    }
    let mut found = Found { root, best: None, refused: "no moves lead to one shape".into() };
    if !pairs.iter().any(|(a, _)| difference_fits(&a.network.widths())) {
        return Err(DifferenceError::Shape("they are too large for the checker".into()));
    }
    pairs.retain(|(a, _)| difference_fits(&a.network.widths()));
    for (a, b) in &pairs {
        for (b, alignment) in alignments(a, b.clone(), aligned, domain, deadline) {
            if found.consider(a, b, alignment) || deadline.is_past() {
                return found.best();
            }
        }
    }
    // Numbers beyond the doubles on the way may be within them if neurons are scaled.
    if !found.is_bounded() {
        for (mut a, mut b) in pairs {
            for scaling in scalings([&a.network, &b.network], root) {
                a.apply(scaling.clone(), domain)?;
                b.apply(scaling, domain)?;
            }
            found.consider(&a, b, Alignment::AsGiven);
        }
    }
    found.best()
}

/// The best pair so far.
struct Found<'r> {
    root: (&'r [f64], &'r [f64]),
    best: Option<(f64, Shaped)>,
    /// Why there is none.
    refused: String,
}

impl Found<'_> {
    /// Takes a pair if it is better than those before; whether it is one of equal networks.
    fn consider(&mut self, a: &Moved, b: Moved, alignment: Alignment) -> bool {
        let equal = a.network == b.network;
        let pair = match Pair::new(&a.network, &b.network) {
            Ok(pair) => pair,
            Err(reason) => {
                self.refused = reason;
                return false;
            }
        };
        let bound = root_bound(&pair, self.root.0, self.root.1);
        if self.best.as_ref().is_none_or(|(least, shaped)| equal && !shaped.equal || bound < *least) {
            let moves = [a.moves.clone(), b.moves];
            self.best = Some((bound, Shaped { moves, pair, equal, alignment, bound: Some(bound) }));
        }
        equal
    }

    fn is_bounded(&self) -> bool {
        self.best.as_ref().is_some_and(|(bound, _)| bound.is_finite())
    }

    fn best(self) -> Result<Shaped, DifferenceError> {
        self.best.map(|(_, shaped)| shaped).ok_or(DifferenceError::Beyond(self.refused))
    }
}

/// The pair that these moves make, as a search that is resumed has them.
pub fn moved(
    a: &Network,
    b: &Network,
    domain: &Domain,
    moves: [MoveChain; 2],
    alignment: Alignment,
) -> Result<Shaped, DifferenceError> {
    let wrong = |reason: String| DifferenceError::State(format!("its moves do not fit: {reason}"));
    let (mut exact_a, mut exact_b) = (a.to_exact(), b.to_exact());
    moves[0].apply(&mut exact_a, domain).map_err(|error| wrong(error.to_string()))?;
    moves[1].apply(&mut exact_b, domain).map_err(|error| wrong(error.to_string()))?;
    let pair = Pair::new(&exact_a, &exact_b).map_err(DifferenceError::Beyond)?;
    Ok(Shaped { moves, pair, equal: exact_a == exact_b, alignment, bound: None })
}

/// The largest bound of an output on the root box; infinite if it is not finite.
pub fn root_bound(pair: &Pair, lo: &[f64], hi: &[f64]) -> f64 {
    let mut bounder = Bounder::new(pair);
    if !bounder.run(lo, hi) {
        return f64::INFINITY;
    }
    let (below, above) = bounder.output_bounds();
    below.iter().zip(above).fold(0.0, |most: f64, (&below, &above)| most.max(above).max(-below))
}

/// A network and the moves that lead to it.
#[derive(Clone)]
struct Moved {
    network: ExactNetwork,
    moves: MoveChain,
}

impl Moved {
    fn new(network: &Network) -> Self {
        Moved { network: network.to_exact(), moves: MoveChain::default() }
    }

    fn apply(&mut self, each: Move, domain: &Domain) -> Result<(), DifferenceError> {
        each.apply(&mut self.network, domain).map_err(|error| DifferenceError::Shape(error.to_string()))?;
        self.moves.push(each);
        Ok(())
    }

    fn activations(&self) -> Vec<Activation> {
        self.network.layers().iter().map(Layer::activation).collect()
    }

    /// Multiplies hidden layers without activation into the next ones.
    fn fold(&mut self, domain: &Domain) -> Result<(), DifferenceError> {
        for layer in (0..self.network.hidden_depth()).rev() {
            if self.network.layers()[layer].activation() == Activation::Identity {
                self.apply(Move::Fold { layer, pairs: Vec::new() }, domain)?;
            }
        }
        Ok(())
    }

    /// Puts a layer that passes its inputs on before layer `layer`; hidden layers are of ReLUs.
    fn pass_through(&mut self, layer: usize, domain: &Domain) -> Result<(), DifferenceError> {
        let old = &self.network.layers()[layer];
        let n = old.input_width();
        let low = |input: usize| match domain {
            Domain::Box(sides) if layer == 0 => sides[input].lower.clone().unwrap_or_default(),
            _ => Rational::ZERO,
        };
        let unit = |i: usize, j: usize| if i == j { Rational::ONE } else { Rational::ZERO };
        let rows = old.weight().iter_rows();
        let bias_behind = |(row, bias): (&[Rational], &Rational)| {
            let shift: Rational = row.iter().enumerate().map(|(j, w)| w * &low(j)).sum();
            bias + &shift
        };
        let unfold = Move::Unfold {
            layer,
            weight: (0..n).map(|i| (0..n).map(|j| unit(i, j)).collect()).collect(),
            bias: (0..n).map(|j| -&low(j)).collect(),
            activation: Activation::Relu,
            next_weight: rows.map(<[Rational]>::to_vec).collect(),
            next_bias: old.weight().iter_rows().zip(old.bias()).map(bias_behind).collect(),
            pairs: Vec::new(),
        };
        self.apply(unfold, domain)
    }

    /// Puts in neurons of zeros until the hidden layers have these widths.
    fn widen(&mut self, widths: &[usize], domain: &Domain) -> Result<(), DifferenceError> {
        for (layer, &width) in widths.iter().enumerate() {
            let here = &self.network.layers()[layer];
            let (inputs, outputs) = (here.input_width(), self.network.layers()[layer + 1].width());
            let neuron = |unit| PlacedNeuron {
                unit,
                weight: vec![Rational::ZERO; inputs],
                bias: Rational::ZERO,
                out: vec![Rational::ZERO; outputs],
            };
            let neurons: Vec<_> = (here.width()..width).map(neuron).collect();
            if !neurons.is_empty() {
                self.apply(Move::Insert { layer, neurons }, domain)?;
            }
        }
        Ok(())
    }
}

/// Networks of different depths, reduced, if that brings them to the same layers. A layer that was split in
/// two, say, is put together again.
fn folded(a: &Network, b: &Network, domain: &Domain, deadline: &Deadline) -> Vec<(Moved, Moved)> {
    if a.hidden_depth() == b.hidden_depth() {
        return Vec::new();
    }
    let moved = |Reduction { network, moves }: Reduction| Moved { network, moves };
    let pair = reduce_alike(a, b, domain, deadline).ok().map(|(a, b)| (moved(a), moved(b)));
    let same = |(a, b): &(Moved, Moved)| {
        a.network.widths() == b.network.widths() && a.activations() == b.activations()
    };
    pair.filter(same).into_iter().collect()
}

/// Whether networks have equally many layers, or the same ones after reductions: where layers have to be put in, neurons
/// that correspond are rarely found, and looking for them takes long.
pub fn is_within_reach(a: &Network, b: &Network, domain: &Domain, deadline: &Deadline) -> bool {
    a.hidden_depth() == b.hidden_depth() || !folded(a, b, domain, deadline).is_empty()
}

/// The pairs of one shape that padding gives, neurons not yet aligned.
fn padded(mut a: Moved, mut b: Moved, domain: &Domain) -> Result<Vec<(Moved, Moved)>, DifferenceError> {
    if a.activations() != b.activations() {
        a.fold(domain)?;
        b.fold(domain)?;
    }
    let depths = (a.network.hidden_depth(), b.network.hidden_depth());
    let (missing, places) = (depths.0.abs_diff(depths.1), depths.0.min(depths.1));
    let mut pairs = Vec::new();
    for place in if missing == 0 { 0..=0 } else { 0..=places } {
        let (mut a, mut b) = (a.clone(), b.clone());
        let shallow = if depths.0 < depths.1 { &mut a } else { &mut b };
        for _ in 0..missing {
            shallow.pass_through(place, domain)?;
        }
        let hidden = |moved: &Moved| -> Vec<usize> {
            moved.network.hidden_layers().iter().map(Layer::width).collect()
        };
        let widths: Vec<usize> = hidden(&a).into_iter().zip(hidden(&b)).map(|(a, b)| a.max(b)).collect();
        a.widen(&widths, domain)?;
        b.widen(&widths, domain)?;
        pairs.push((a, b));
    }
    Ok(pairs)
}

/// Networks whose layers differ by less than this part of their size (Euclidean norms) are aligned as they
/// are.
const CLOSE: f64 = 0.1;

fn are_close(a: &Network, b: &Network) -> bool {
    let square = |xs: &mut dyn Iterator<Item = f64>| xs.map(|x| x * x).sum::<f64>();
    a.layers().iter().zip(b.layers()).all(|(a, b)| {
        let entries = || a.weight().entries().iter().chain(a.bias());
        let others = b.weight().entries().iter().chain(b.bias());
        let apart = square(&mut entries().zip(others).map(|(x, y)| x - y));
        apart <= CLOSE * CLOSE * square(&mut entries().copied())
    })
}

/// `B` as it is, and as it is permuted and scaled towards `A`.
fn alignments(
    a: &Moved,
    b: Moved,
    aligned: bool,
    domain: &Domain,
    deadline: &Deadline,
) -> Vec<(Moved, Alignment)> {
    let mut found = vec![(b, Alignment::AsGiven)];
    let doubles = |moved: &Moved| moved.network.to_f64().ok().map(|(network, _)| network);
    let (Some(near), Some(far), true) = (doubles(a), doubles(&found[0].0), aligned) else { return found };
    if are_close(&near, &far) {
        return found;
    }
    for (scaling, alignment) in [(Scaling::Auto, Alignment::Related), (Scaling::Doubles, Alignment::Closest)]
    {
        let options = AlignOptions { scaling, deadline: deadline.clone(), ..AlignOptions::default() };
        let Ok(result) = align(&near, &far, &options) else { continue };
        if result.moves.is_empty() || deadline.is_past() {
            continue;
        }
        let mut moved = found[0].0.clone();
        if result.moves.apply(&mut moved.network, domain).is_ok() {
            moved.moves = moved.moves.compose(result.moves);
            if found.iter().all(|(other, _)| other.moves != moved.moves) {
                found.push((moved, alignment));
            }
        }
    }
    found
}
