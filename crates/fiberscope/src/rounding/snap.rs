//! Reduction up to rounding: what is almost a multiple is made one.
//!
//! If row `j` of a layer is `c` times row `i` up to rounding, it is set to that multiple; if `c < 0`, only
//! where the outgoing weights cancel up to rounding as well, and these are set so that they do. Each such
//! nudge changes the function by an amount that the checker's lemma bounds. The exact moves of
//! [`crate::reduce`] then merge the neurons, and fold layers that are affine. Hidden hyperplanes go to their
//! fixed place, as in the canonical form.
//!
//! A layer may also be affine but for neurons that are only passed on: `relu(c relu(z))` with `c > 0` bends
//! where `z = 0`, whatever the first relu does below, so the first neuron may be translated until it is
//! linear on the box. So layers that split some neurons of the next one into `relu(z - t) - relu(t - z) + t`
//! and pass the others on are folded too.

use fiberscope_check::rounding_bound;
use fiberscope_core::{
    Activation, Domain, ExactNetwork, Layer, Move, MoveChain, Nudge, Rational, Role, RoundingStep, Sight,
    preactivation_range, side_by_side,
};

use crate::canonical::hidden;
use crate::limit::Deadline;
use crate::orbit::directions::{Directions, rows};
use crate::orbit::lines::neuron_ratio;
use crate::reduce::{ReduceOptions, is_affordable, reduce, vanishing_pairs};

/// A network with fewer neurons and nearly the same function.
pub struct Snapped {
    /// The network.
    pub network: ExactNetwork,
    /// How it was made of the given one.
    pub steps: Vec<RoundingStep>,
    /// A bound for the change of the outputs on the domain.
    pub change: Rational,
}

/// Reduces a network up to rounding by moves that hold on the first domain, with changes bounded on the
/// second; `None` if the time is up.
pub fn snap(
    network: ExactNetwork,
    (reduced_on, bounded): (&Domain, &Domain),
    closeness: f64,
    precision: f64,
    deadline: &Deadline,
) -> Option<Snapped> {
    let mut state = Snapped { network, steps: Vec::new(), change: Rational::ZERO };
    state.reduce(reduced_on, deadline)?;
    // Every round but the last one of a layer removes a neuron.
    let mut layer = 0;
    while layer < state.network.hidden_depth() {
        if deadline.is_past() {
            return None;
        }
        let before: usize = state.network.widths().iter().sum();
        let nudges = near_multiples(&state.network, layer, closeness, precision);
        let nudged = !nudges.is_empty();
        for nudge in nudges {
            state.nudge(nudge, bounded)?;
        }
        if nudged {
            state.reduce(reduced_on, deadline)?;
        }
        if layer + 1 < state.network.hidden_depth() && state.fold_passed_on(layer, bounded) {
            state.reduce(reduced_on, deadline)?;
            continue;
        }
        // Folding may have moved another layer to this place.
        if !nudged || state.network.widths().iter().sum::<usize>() == before {
            layer += 1;
        }
    }
    state.settle_hidden(reduced_on);
    Some(state)
}

/// Reduces a network by moves alone that hold on the domain; `None` if the time is up.
pub fn settle(network: ExactNetwork, domain: &Domain, deadline: &Deadline) -> Option<Snapped> {
    let mut state = Snapped { network, steps: Vec::new(), change: Rational::ZERO };
    state.reduce(domain, deadline)?;
    state.settle_hidden(domain);
    Some(state)
}

impl Snapped {
    /// All steps as one chain; `None` if there are nudges among them.
    pub fn moves(&self) -> Option<MoveChain> {
        self.steps.iter().try_fold(MoveChain::default(), |chain, step| match step {
            RoundingStep::Moves(moves) => Some(chain.compose(moves.clone())),
            RoundingStep::Nudge(_) => None,
        })
    }

    fn reduce(&mut self, domain: &Domain, deadline: &Deadline) -> Option<()> {
        let options = ReduceOptions::new().outweigh(false).deadline(deadline.clone());
        let reduction = reduce(&self.network, domain, &options).ok()?;
        self.network = reduction.network;
        self.push(reduction.moves);
        (!deadline.is_past()).then_some(())
    }

    fn push(&mut self, moves: MoveChain) {
        if !moves.is_empty() {
            self.steps.push(RoundingStep::Moves(moves));
        }
    }

    fn nudge(&mut self, nudge: Nudge, domain: &Domain) -> Option<()> {
        let mut nudged = self.network.clone();
        nudge.apply(&mut nudged).ok()?;
        self.change += &rounding_bound(&self.network, &nudged, domain).ok()?;
        self.network = nudged;
        self.steps.push(RoundingStep::Nudge(nudge));
        Some(())
    }

    /// Folds a layer of vanishing pairs, linear neurons and neurons that are only passed on; whether it is
    /// one.
    fn fold_passed_on(&mut self, layer: usize, domain: &Domain) -> bool {
        let [of, next] = [layer, layer + 1].map(|l| &self.network.layers()[l]);
        if [of, next].iter().any(|each| each.activation() != Activation::Relu) || !is_affordable(of, next) {
            return false;
        }
        let pairs = vanishing_pairs(&self.network, layer, &vec![Role::Nonlinear; of.width()]);
        let mut paired = vec![false; of.width()];
        pairs.iter().for_each(|&(i, j)| (paired[i], paired[j]) = (true, true));
        let passed: Vec<bool> =
            (0..of.width()).map(|unit| !paired[unit] && is_passed_on(next, unit)).collect();
        if !passed.contains(&true) {
            return false;
        }
        let Some(ranges) = self.network.activation_ranges(domain).nth(layer) else { return false };
        let mut moves = MoveChain::default();
        for unit in (0..of.width()).filter(|&unit| !paired[unit]) {
            match preactivation_range(of, unit, &ranges).lower {
                Some(below) if !below.is_negative() => {}
                Some(below) if passed[unit] => moves.push(Move::Translate { layer, unit, amount: -below }),
                _ => return false,
            }
        }
        if moves.is_empty() {
            return false;
        }
        moves.push(Move::Fold { layer, pairs });
        let mut folded = self.network.clone();
        if moves.apply(&mut folded, domain).is_err() {
            return false;
        }
        self.network = folded;
        self.push(moves);
        true
    }

    fn settle_hidden(&mut self, domain: &Domain) {
        let mut moves = MoveChain::default();
        for layer in (0..self.network.hidden_depth().saturating_sub(1)).rev() {
            for each in hidden::normalize(&self.network, layer) {
                if each.apply(&mut self.network, domain).is_ok() {
                    moves.push(each);
                }
            }
        }
        self.push(moves);
    }
}

/// Whether the neurons that are connected to this one hide it: `relu(c relu(z) - ...)` with `c > 0`.
fn is_passed_on(next: &Layer<Rational>, unit: usize) -> bool {
    let mut connected = (0..next.width()).filter(|&j| !next.weights().get(j, unit).is_zero());
    connected.all(|j| Sight::of(next, j) == Sight::Hides(unit))
}

/// The nudges that make multiples of what is almost one in a layer: of its rows, and of the columns
/// behind it.
fn near_multiples(network: &ExactNetwork, layer: usize, closeness: f64, precision: f64) -> Vec<Nudge> {
    let (of, next) = (&network.layers()[layer], &network.layers()[layer + 1]);
    if of.activation() != Activation::Relu {
        return Vec::new();
    }
    let columns = next.weights().columns();
    let all = rows(of);
    let directions = Directions::new(all.clone());
    let mut taken = vec![false; of.width()];
    let mut rows_nudge = Nudge { layer, ..Nudge::default() };
    let mut columns_nudge = Nudge { layer: layer + 1, ..Nudge::default() };
    for i in 0..of.width() {
        for (j, inverse) in directions.near(&all[i], closeness) {
            if j <= i || taken[i] || taken[j] {
                continue;
            }
            let cancels = inverse < 0.0 && cancelling(&columns[i], &columns[j], -inverse, closeness);
            if inverse < 0.0 && !cancels {
                continue;
            }
            let exact = neuron_ratio(of, i, j);
            let Some(factor) = exact.clone().or_else(|| short(1.0 / inverse, precision)) else { continue };
            taken[j] = true;
            if exact.is_none() {
                let entries = side_by_side(of.weights().row(i), of.weights().row(j));
                let new =
                    entries.map(|(column, w, _)| (j, column, w.map_or(Rational::ZERO, |w| w * &factor)));
                rows_nudge.weight.extend(new);
                rows_nudge.bias.push((j, &of.bias()[i] * &factor));
            }
            if cancels && let Some(scale) = factor.recip() {
                // v_i relu(z) + v_j relu(factor z) = v_i z where factor v_j = v_i, factor < 0.
                let pairs = side_by_side(columns[i].iter().copied(), columns[j].iter().copied());
                let wanted = pairs.map(|(row, v, u)| (row, v.map_or(Rational::ZERO, |v| v * &scale), u));
                let changed = wanted.filter(|(_, v, u)| u.unwrap_or(&Rational::ZERO) != v);
                columns_nudge.weight.extend(changed.map(|(row, v, _)| (row, j, v)));
                taken[i] = true;
            }
        }
    }
    let changes = |nudge: &Nudge| !nudge.weight.is_empty() || !nudge.bias.is_empty();
    [rows_nudge, columns_nudge].into_iter().filter(changes).collect()
}

/// Whether `v_i + v_j / size` is zero up to rounding.
fn cancelling(of_i: &Column, of_j: &Column, size: f64, closeness: f64) -> bool {
    let largest = of_i.iter().fold(0.0f64, |m, (_, v)| m.max(v.to_f64().abs()));
    let value = |v: Option<&Rational>| v.map_or(0.0, Rational::to_f64);
    side_by_side(of_i.iter().copied(), of_j.iter().copied())
        .all(|(_, v, u)| (value(v) + value(u) / size).abs() <= closeness * largest)
}

/// The entries of a column that are not zero, with their rows.
type Column<'a> = [(usize, &'a Rational)];

/// The factor rounded to the precision of the parameters, which keeps the products short.
fn short(factor: f64, precision: f64) -> Option<Rational> {
    let single = f64::from(factor as f32);
    let rounded = if precision >= f64::from(f32::EPSILON) && single != 0.0 { single } else { factor };
    Rational::from_f64(rounded).filter(|factor| !factor.is_zero())
}
