//! Reduction up to rounding: what is almost a multiple is made one.
//!
//! If row `j` of a layer is `c` times row `i` up to rounding, it is set to that multiple; if `c < 0`, only
//! where the outgoing weights cancel up to rounding as well, and these are set so that they do. Each such
//! nudge changes the function by an amount that the checker's lemma bounds. The exact moves of
//! [`crate::reduce`] then merge the neurons, and fold layers that are affine. Hidden hyperplanes go to their
//! fixed place, as in the canonical form.

use fiberscope_check::rounding_bound;
use fiberscope_core::{Activation, Domain, ExactNetwork, MoveChain, Nudge, Rational, RoundingStep};

use super::near::{Directions, rows};
use crate::canonical::hidden;
use crate::limit::Deadline;
use crate::lines::ratio;
use crate::reduce::{ReduceOptions, reduce_until};

/// A network with fewer neurons and nearly the same function.
pub struct Snapped {
    /// The network.
    pub network: ExactNetwork,
    /// How it was made of the given one.
    pub steps: Vec<RoundingStep>,
    /// A bound for the change of the outputs on the domain.
    pub change: Rational,
}

/// Reduces a network up to rounding by moves that hold on the first domain, with changes bounded on the second;
/// `None` if the time is up.
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
        // Folding may have moved another layer to this place.
        if !nudged || state.network.widths().iter().sum::<usize>() == before {
            layer += 1;
        }
    }
    state.settle_hidden(reduced_on);
    Some(state)
}

impl Snapped {
    fn reduce(&mut self, domain: &Domain, deadline: &Deadline) -> Option<()> {
        let reduction = reduce_until(&self.network, domain, &ReduceOptions::default(), deadline).ok()?;
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

/// The nudges that make multiples of what is almost one in a layer: of its rows, and of the columns
/// behind it.
fn near_multiples(network: &ExactNetwork, layer: usize, closeness: f64, precision: f64) -> Vec<Nudge> {
    let (of, next) = (&network.layers()[layer], &network.layers()[layer + 1]);
    if of.activation() != Activation::Relu {
        return Vec::new();
    }
    let columns: Vec<Vec<f64>> =
        (0..of.width()).map(|j| next.weight().column(j).map(Rational::to_f64).collect()).collect();
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
            let exact = ratio(of, i, j);
            let Some(factor) = exact.clone().or_else(|| short(1.0 / inverse, precision)) else { continue };
            taken[j] = true;
            if exact.is_none() {
                let (w, b): (Vec<_>, _) =
                    (of.weight().row(i).iter().map(|w| w * &factor).collect(), &of.bias()[i] * &factor);
                rows_nudge.weight.extend(w.into_iter().enumerate().map(|(column, w)| (j, column, w)));
                rows_nudge.bias.push((j, b));
            }
            if cancels && let Some(scale) = factor.recip() {
                // v_i relu(z) + v_j relu(factor z) = v_i z where factor v_j = v_i, factor < 0.
                let wanted = next.weight().column(i).map(|v| v * &scale);
                let changed = wanted.enumerate().filter(|(row, v)| next.weight()[(*row, j)] != *v);
                columns_nudge.weight.extend(changed.map(|(row, v)| (row, j, v)));
                taken[i] = true;
            }
        }
    }
    let changes = |nudge: &Nudge| !nudge.weight.is_empty() || !nudge.bias.is_empty();
    [rows_nudge, columns_nudge].into_iter().filter(changes).collect()
}

/// Whether `v_i + v_j / size` is zero up to rounding.
fn cancelling(of_i: &[f64], of_j: &[f64], size: f64, closeness: f64) -> bool {
    let largest = of_i.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    of_i.iter().zip(of_j).all(|(v, u)| (v + u / size).abs() <= closeness * largest)
}

/// The factor rounded to the precision of the parameters, which keeps the products short.
fn short(factor: f64, precision: f64) -> Option<Rational> {
    let single = f64::from(factor as f32);
    let rounded = if precision >= f64::from(f32::EPSILON) && single != 0.0 { single } else { factor };
    Rational::from_f64(rounded).filter(|factor| !factor.is_zero())
}
