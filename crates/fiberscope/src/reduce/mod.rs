//! Fewer neurons, same function.
//!
//! On the domain (all of `R^n`, or a box) a hidden layer loses
//!
//! - neurons that are dead or have no outgoing weights,
//! - neurons that are positive multiples of others (merged with them),
//! - one of two neurons with opposite rows, or both, where linear neurons can take up the affine term
//!   that is left,
//! - linear neurons beyond those that the rank of their contribution demands,
//!
//! and a layer that is linear as a whole, or up to pairs of neurons that cancel to something linear, is
//! multiplied into the next one. The steps are repeated, layer by layer, until none applies. Whether a neuron
//! is dead or linear is decided by signs, by interval arithmetic and by linear programmes: on a bounded box those of
//! the module `relax`, on any domain those of the module `outweigh`. A neuron that is dead on the domain but not by
//! these bounds stays.
//!
//! Every step is a move whose rule was checked exactly when it was made, so the chain proves that the
//! function is the same. The numbers are rational; [`reduce_in_doubles`] gives a network that can be written.

mod affine;
mod doubles;
mod factor;
mod foresee;
mod outweigh;
mod relax;
mod roles;
mod scales;

use std::cell::RefCell;
use std::rc::Rc;

use fiberscope_core::{
    Activation, Domain, DomainError, ExactNetwork, Move, MoveChain, Network, PlacedNeuron, Rational, Role,
    ShownRole,
};

use crate::limit::Deadline;
use crate::orbit::lines;
pub(crate) use affine::vanishing_pairs;
pub use doubles::{DoubleReduction, Left, LeftStep, ReduceError, reduce_in_doubles};
pub(crate) use foresee::is_affordable;
pub(crate) use outweigh::outweighed;
use roles::Known;
pub use scales::{is_dyadic_up_to_scales, scales_to_doubles};

/// When a layer that is linear as a whole is multiplied into the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Folding {
    /// Where that leaves no more parameters than before, and where the layer is constant.
    #[default]
    WhenSmaller,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How [`reduce`] and [`reduce_in_doubles`] go about their work.
///
/// ```
/// use std::time::Duration;
///
/// use fiberscope::Deadline;
/// use fiberscope::reduce::{Folding, ReduceOptions};
///
/// let options = ReduceOptions::new().folding(Folding::Never).deadline(Deadline::after(Some(Duration::from_secs(9))));
/// assert!(!options.round);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReduceOptions {
    /// Which layers are folded. By default those that become no larger.
    pub folding: Folding,
    /// Whether [`reduce_in_doubles`] rounds the exact reduction where its parameters are no doubles. By
    /// default it makes those steps only after which they are.
    pub round: bool,
    /// Whether neurons are looked for that are dead because what could turn them on is outweighed; otherwise the
    /// reduction is the one that versions before gave, which fingerprints depend on.
    pub outweigh: bool,
    /// When to stop, with the steps that were made by then. By default there is no limit.
    pub deadline: Deadline,
}

impl Default for ReduceOptions {
    fn default() -> Self {
        ReduceOptions { folding: Folding::default(), round: false, outweigh: true, deadline: Deadline::NEVER }
    }
}

impl ReduceOptions {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Which layers are folded.
    pub fn folding(self, folding: Folding) -> Self {
        ReduceOptions { folding, ..self }
    }

    /// Whether parameters that are no doubles are rounded.
    pub fn round(self, round: bool) -> Self {
        ReduceOptions { round, ..self }
    }

    /// Whether neurons are looked for that are outweighed.
    pub fn outweigh(self, outweigh: bool) -> Self {
        ReduceOptions { outweigh, ..self }
    }

    /// When to stop.
    pub fn deadline(self, deadline: Deadline) -> Self {
        ReduceOptions { deadline, ..self }
    }
}

/// A network with the same function and no more neurons.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduction {
    /// The network.
    pub network: ExactNetwork,
    /// The moves that lead to it from the given one.
    pub moves: MoveChain,
}

/// Reduces a network on a domain, as far as the time allows. The only error is a box that does not fit the
/// network's inputs.
///
/// ```
/// use fiberscope::reduce::{ReduceOptions, reduce};
/// use fiberscope::{Domain, Network};
///
/// // relu(x) + relu(2x) - 2 relu(x - 1), with a neuron that is never active.
/// let hidden: (&[&[f64]], &[f64]) = (&[&[1.0], &[2.0], &[1.0], &[0.0]], &[0.0, 0.0, -1.0, -3.0]);
/// let network = Network::from_rows(&[hidden, (&[&[1.0, 1.0, -2.0, 5.0]], &[0.0])]).unwrap().to_exact();
///
/// let reduction = reduce(&network, &Domain::Space, &ReduceOptions::default()).unwrap();
/// assert_eq!(reduction.network.widths(), [1, 2, 1]);
///
/// let mut again = network.clone();
/// reduction.moves.apply(&mut again, &Domain::Space).unwrap();
/// assert_eq!(again, reduction.network);
/// ```
pub fn reduce(
    network: &ExactNetwork,
    domain: &Domain,
    options: &ReduceOptions,
) -> Result<Reduction, DomainError> {
    domain.check(network.input_width())?;
    let mut state = State::new(network, domain, options, false);
    state.run();
    Ok(Reduction { network: state.network, moves: state.moves })
}

/// Reduces two networks so that they can be compared: what only shares show to be dead is removed where that brings
/// them to the same widths, and otherwise left, as it need not be found in both.
pub(crate) fn reduce_alike(
    a: &Network,
    b: &Network,
    domain: &Domain,
    deadline: &Deadline,
) -> Result<(Reduction, Reduction), DomainError> {
    let (exact_a, exact_b) = (a.to_exact(), b.to_exact());
    let both = |outweigh: bool| {
        let options = ReduceOptions::new().outweigh(outweigh).deadline(deadline.clone());
        Ok((reduce(&exact_a, domain, &options)?, reduce(&exact_b, domain, &options)?))
    };
    let alike = |(a, b): &(Reduction, Reduction)| a.network.widths() == b.network.widths();
    let plain = both(false)?;
    if alike(&plain) || deadline.is_past() {
        return Ok(plain);
    }
    let outweighed = both(true)?;
    Ok(if alike(&outweighed) { outweighed } else { plain })
}

struct State<'a> {
    network: ExactNetwork,
    /// What was found out about the network as it is.
    known: RefCell<Known>,
    domain: &'a Domain,
    options: &'a ReduceOptions,
    deadline: &'a Deadline,
    moves: MoveChain,
    /// Whether only those steps are made after which all parameters are doubles, up to scales.
    in_doubles: bool,
}

impl<'a> State<'a> {
    fn new(network: &ExactNetwork, domain: &'a Domain, options: &'a ReduceOptions, in_doubles: bool) -> Self {
        let deadline = &options.deadline;
        State {
            network: network.clone(),
            known: RefCell::default(),
            domain,
            options,
            deadline,
            moves: MoveChain::default(),
            in_doubles,
        }
    }

    /// Goes on with another network.
    fn replace(&mut self, network: ExactNetwork) {
        let mut layers = self.network.layers().iter().zip(network.layers());
        let changed = layers.position(|(before, after)| before != after).unwrap_or(network.depth());
        self.known.get_mut().forget(changed);
        self.network = network;
    }

    fn roles(&self, layer: usize) -> Rc<[Role]> {
        self.known.borrow_mut().roles(&self.network, self.domain, layer)
    }

    /// Reduces layer after layer until no step applies or the time is up.
    fn run(&mut self) {
        let mut waiting = vec![true; self.network.hidden_depth()];
        while let Some(layer) = waiting.iter().position(|&waits| waits && !self.deadline.is_past()) {
            waiting[layer] = false;
            if self.reduce_layer(layer) {
                // Layers behind see other intervals, the layer before other outgoing weights.
                waiting = vec![true; self.network.hidden_depth()];
                waiting[..layer.saturating_sub(1)].fill(false);
            }
        }
    }

    /// Makes all the moves that are found on one layer; whether there were any.
    fn reduce_layer(&mut self, layer: usize) -> bool {
        let steps = [Self::drop_unused, Self::merge, Self::fold, Self::settle, Self::relax, Self::silence];
        steps.into_iter().any(|step| !self.deadline.is_past() && step(self, layer))
    }

    /// The network that the moves make, and scales that keep its parameters doubles where that is asked for;
    /// `None` if a rule does not hold, or there are no such scales.
    fn made(&self, moves: &[Move]) -> Option<(ExactNetwork, MoveChain)> {
        let mut network = self.network.clone();
        if moves.is_empty() || moves.iter().any(|each| each.apply(&mut network, self.domain).is_err()) {
            return None;
        }
        let mut scales = MoveChain::default();
        if self.in_doubles {
            scales = scales_to_doubles(&network)?;
            scales.apply(&mut network, self.domain).ok()?;
        }
        Some((network, scales))
    }

    /// Makes the moves if their rules hold, all or none.
    fn make(&mut self, moves: Vec<Move>) -> bool {
        let Some((network, scales)) = self.made(&moves) else { return false };
        self.replace(network);
        let moves = std::mem::take(&mut self.moves).compose(MoveChain::from(moves));
        self.moves = moves.compose(scales);
        true
    }

    /// Makes a move that others must follow, whatever its numbers.
    fn begin(&mut self, each: Move) -> bool {
        let mut network = self.network.clone();
        let done = each.apply(&mut network, self.domain).is_ok();
        if done {
            self.replace(network);
            self.moves.push(each);
        }
        done
    }

    fn drop_unused(&mut self, layer: usize) -> bool {
        let connected = self.network.layers()[layer + 1].weights().used_columns();
        let roles = self.roles(layer);
        let unused = |&unit: &usize| !connected[unit] || roles[unit] == Role::Dead;
        let mut units: Vec<_> = (0..roles.len()).filter(unused).collect();
        if units.len() < roles.len() {
            return !units.is_empty() && self.make(vec![Move::Drop { layer, units }]);
        }
        // The whole layer is constant: a neuron of zeros stays, and the layer is folded.
        let only_zeros = roles.len() == 1
            && !connected[0]
            && lines::nonzero(&self.network.layers()[layer], 0).next().is_none();
        let mut moves = Vec::new();
        if !only_zeros {
            units.iter_mut().for_each(|unit| *unit += 1);
            moves.push(Move::Insert { layer, neurons: vec![zero_neuron(&self.network, layer)] });
            moves.push(Move::Drop { layer, units });
        }
        if self.options.folding != Folding::Never {
            moves.push(Move::Fold { layer, pairs: Vec::new() });
        }
        self.make(moves)
    }

    fn merge(&mut self, layer: usize) -> bool {
        let pairs = self.multiples(layer);
        if !self.in_doubles {
            return !pairs.is_empty() && self.make(vec![Move::Merge { layer, pairs }]);
        }
        // One by one, the last neuron first, so that the places of the others stay.
        let (mut merged, deadline) = (false, self.deadline);
        for pair in pairs.into_iter().rev().take_while(|_| !deadline.is_past()) {
            merged |= self.make(vec![Move::Merge { layer, pairs: vec![pair] }]);
        }
        merged
    }

    /// The pairs (neuron that stays, neuron that goes) of positive multiples, sorted by the second.
    fn multiples(&self, layer: usize) -> Vec<(usize, usize)> {
        let rows = &self.network.layers()[layer];
        let identity = rows.activation() == Activation::Identity;
        let mut pairs = Vec::new();
        for group in lines::groups(rows) {
            for sign in [1, -1] {
                let mut same = group.iter().filter(|each| identity || each.factor.signum() == sign);
                let Some(first) = same.next() else { continue };
                pairs.extend(same.map(|other| (first.unit, other.unit)));
                if identity {
                    break;
                }
            }
        }
        if self.in_doubles {
            pairs.sort_unstable_by_key(|&(_, drop)| drop);
        }
        pairs
    }

    fn settle(&mut self, layer: usize) -> bool {
        match self.settling(layer, self.in_doubles) {
            Some(moves) => self.make(moves),
            None => false,
        }
    }

    /// The moves that rewrite the affine part of a layer with fewer neurons, only such as can be made in
    /// doubles if that is asked for.
    fn settling(&self, layer: usize, in_doubles: bool) -> Option<Vec<Move>> {
        let fits = |moves: &[Move]| self.made(moves).is_some();
        let fits: Option<affine::Fits> = if in_doubles { Some(&fits) } else { None };
        affine::settle(&self.network, (self.domain, &self.known), layer, self.deadline, fits)
    }

    /// Removes what only linear programmes show to be dead, and uses what they show to be linear if that
    /// removes a neuron.
    fn relax(&mut self, layer: usize) -> bool {
        let roles = self.roles(layer);
        let units: Vec<_> = (0..roles.len()).filter(|&unit| roles[unit] == Role::Nonlinear).collect();
        let shifts = relax::shifts(&self.network, self.domain, layer, &units, self.deadline);
        if shifts.is_empty() {
            // Copies of a large network would take longer than all the rest.
            return false;
        }
        let (dead, linear): (Vec<_>, Vec<_>) =
            shifts.into_iter().partition(|shift| shift.role == ShownRole::Dead);
        let before = (self.network.clone(), self.moves.clone());
        let mut removed = false;
        for shift in dead {
            removed |= self.begin(Move::Shift { layer, shifts: vec![shift] });
        }
        if removed && self.drop_unused(layer) {
            return true;
        }
        self.replace(before.0.clone());
        self.moves = before.1.clone();
        let mut shown = false;
        for shift in linear {
            shown |= self.begin(Move::Shift { layer, shifts: vec![shift] });
        }
        if shown && (self.fold(layer) || self.settle(layer)) {
            return true;
        }
        self.replace(before.0);
        self.moves = before.1;
        false
    }

    /// Removes what only shares show to be dead.
    fn silence(&mut self, layer: usize) -> bool {
        if !self.options.outweigh {
            return false;
        }
        let roles = self.roles(layer);
        let units: Vec<_> = (0..roles.len()).filter(|&unit| roles[unit] == Role::Nonlinear).collect();
        let neurons = outweigh::mutes(&self.network, self.domain, layer, &units, self.deadline);
        if neurons.is_empty() {
            return false;
        }
        let before = (self.network.clone(), self.moves.clone());
        if self.begin(Move::Mute { layer, neurons }) && self.drop_unused(layer) {
            return true;
        }
        self.replace(before.0);
        self.moves = before.1;
        false
    }

    fn fold(&mut self, layer: usize) -> bool {
        match self.folding(layer) {
            Some(fold) => self.make(vec![fold]),
            None => false,
        }
    }

    /// The move that multiplies the layer into the next one, if it is linear and that is wanted.
    fn folding(&self, layer: usize) -> Option<Move> {
        let [first, second] = [&self.network.layers()[layer], &self.network.layers()[layer + 1]];
        if self.options.folding == Folding::Never || !foresee::is_affordable(first, second) {
            return None;
        }
        let roles = self.roles(layer);
        let pairs = affine::vanishing_pairs(&self.network, layer, &roles);
        let linear = roles.iter().filter(|&&role| role == Role::Linear).count();
        let affine = linear + 2 * pairs.len() == roles.len();
        let wanted = || self.options.folding == Folding::Always || foresee::is_smaller(first, second);
        (affine && wanted() && foresee::ends_in_time(first, second, self.deadline))
            .then_some(Move::Fold { layer, pairs })
    }
}

/// A neuron whose weights are all zero, at the first place of the layer.
fn zero_neuron(network: &ExactNetwork, layer: usize) -> PlacedNeuron {
    PlacedNeuron {
        unit: 0,
        weight: vec![Rational::ZERO; network.layers()[layer].input_width()],
        bias: Rational::ZERO,
        out: vec![Rational::ZERO; network.layers()[layer + 1].width()],
    }
}
