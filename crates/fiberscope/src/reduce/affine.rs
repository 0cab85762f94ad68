//! Linear neurons and cancelling pairs of a layer: the neurons that contribute affine terms.
//!
//! The linear neurons of a layer contribute `sum v_j w_j` to the linear part of the next layer's input.
//! A pair of neurons with opposite rows, `(w_j, b_j) = -c (w_i, b_i)`, is the neuron `i` with outgoing
//! weights `v_i + c v_j` and the affine term `v_j z_j`. So if neurons `D`, one per chosen pair, are
//! turned around and merged with their partners, linear neurons with
//!
//! ```text
//! sum over Lin of v w + sum over D of v w = M
//! ```
//!
//! must take up the rest: none if `M = 0`, the given ones if their rows span the rows of `M`, and
//! otherwise those of a factorisation of `M` ([`super::factor`]). Sets `D` are tried in a fixed order,
//! and the best is taken if it saves neurons.

use std::cell::RefCell;

use fiberscope_algebra::modular::independent_rows;
use fiberscope_algebra::rational::{coordinates, product};
use fiberscope_core::{
    Activation, Domain, ExactNetwork, Interval, Layer, LinearChange, Matrix, Move, PlacedNeuron, Rational,
    Role, ratio_of,
};

use super::factor::{Allowed, allowed_factorization};
use super::roles::Known;
use crate::limit::Deadline;
use crate::orbit::lines;

/// The most sets of pairs that are tried, and the most multiplications for one of them.
const ATTEMPTS: usize = 64;
const WORK: usize = 1 << 24;

/// Whether moves may be made.
pub type Fits<'a> = &'a dyn Fn(&[Move]) -> bool;

/// Moves that leave the layer with fewer neurons by rewriting its affine part, the best of those that fit
/// (any do if nothing is said); `None` if none were found.
pub fn settle(
    network: &ExactNetwork,
    (domain, known): (&Domain, &RefCell<Known>),
    layer: usize,
    deadline: &Deadline,
    fits: Option<Fits>,
) -> Option<Vec<Move>> {
    if [layer, layer + 1].iter().any(|&l| is_too_large(&network.layers()[l])) {
        return None;
    }
    let roles = known.borrow_mut().roles(network, domain, layer);
    let linear: Vec<_> = (0..roles.len()).filter(|&unit| roles[unit] == Role::Linear).collect();
    let pairs = opposite_pairs(network, layer, &roles);
    if pairs.is_empty() && (linear.is_empty() || all_needed(network, layer, &linear)) {
        return None;
    }
    let sides = known.borrow_mut().inputs(network, domain, layer).to_vec();
    let context = Context::new(network, layer, (linear, sides), deadline);
    let width = roles.len();
    let mut best = (width, Vec::new(), None);
    for chosen in candidates(&pairs, &context) {
        let turned: Vec<Pair> = [best.1.as_slice(), &chosen].concat();
        let repeated = turned.iter().enumerate().any(|(i, p)| turned[..i].iter().any(|q| q.same(p)));
        if repeated {
            continue;
        }
        if deadline.is_past() {
            break;
        }
        let saved: usize = turned.iter().map(|pair| if pair.vanishes { 2 } else { 1 }).sum();
        for insert in context.plans(&turned, fits.is_some()) {
            let left = width - context.linear.len() - saved + insert.len();
            if left >= best.0 {
                continue;
            }
            let moves = context.moves(&turned, insert);
            if fits.is_none_or(|fits| fits(&moves)) {
                best = (left, turned.clone(), Some(moves));
            }
        }
    }
    best.2
}

/// The pairs of neurons with opposite rows whose outgoing weights cancel, so that only something linear is
/// left of them.
pub fn vanishing_pairs(network: &ExactNetwork, layer: usize, roles: &[Role]) -> Vec<(usize, usize)> {
    let pairs = opposite_pairs(network, layer, roles).into_iter();
    pairs.filter(|pair| pair.vanishes).map(|pair| (pair.partner, pair.turned)).collect()
}

/// Whether a layer that is stored by its entries is too large to be written out: its affine part is left as it is.
pub fn is_too_large(layer: &Layer<Rational>) -> bool {
    layer.weights().is_sparse() && layer.width().saturating_mul(layer.input_width()) > WORK / 4
}

/// Whether the linear neurons have independent rows and independent columns, so that none can be saved.
fn all_needed(network: &ExactNetwork, layer: usize, linear: &[usize]) -> bool {
    let rows = network.layers()[layer].weight().select_rows(linear);
    let columns = network.layers()[layer + 1].weight().select_columns(linear);
    let full = rows.cols().min(columns.rows()) >= linear.len();
    full && independent_rows(&rows).len() == linear.len()
        && independent_rows(&columns.transpose()).len() == linear.len()
}

/// A neuron that may be turned around and merged with the neuron that has the opposite row.
#[derive(Clone, Debug)]
struct Pair {
    turned: usize,
    partner: usize,
    /// Whether the two have opposite outgoing weights, so that only the affine term is left.
    vanishes: bool,
}

impl Pair {
    fn same(&self, other: &Pair) -> bool {
        self.turned == other.turned || self.turned == other.partner
    }
}

/// Every pair of nonlinear neurons with opposite rows, once for each of the two that may be turned (once
/// only if the pair vanishes).
fn opposite_pairs(network: &ExactNetwork, layer: usize, roles: &[Role]) -> Vec<Pair> {
    if network.layers()[layer].activation() == Activation::Identity {
        return Vec::new();
    }
    let groups = lines::groups(&network.layers()[layer]);
    if groups.is_empty() {
        return Vec::new();
    }
    let columns = network.layers()[layer + 1].weights().columns();
    let mut pairs = Vec::new();
    for group in groups {
        let of_sign = |sign: i8| {
            group.iter().find(|each| each.factor.signum() == sign && roles[each.unit] == Role::Nonlinear)
        };
        let (Some(plus), Some(minus)) = (of_sign(1), of_sign(-1)) else { continue };
        let (f, g) = (&plus.factor, &minus.factor);
        let (v, u) = (&columns[plus.unit], &columns[minus.unit]);
        let vanishes =
            v.len() == u.len() && v.iter().zip(u).all(|((i, v), (j, u))| i == j && *v * f == *u * g);
        pairs.push(Pair { turned: minus.unit, partner: plus.unit, vanishes });
        if !vanishes {
            pairs.push(Pair { turned: plus.unit, partner: minus.unit, vanishes });
        }
    }
    pairs
}

/// Sets of pairs to try, one after another on top of the best so far: none; all that vanish; all; those
/// whose hyperplanes are parallel; two whose affine terms cancel; each alone.
fn candidates(pairs: &[Pair], context: &Context) -> Vec<Vec<Pair>> {
    let mut sets = vec![Vec::new()];
    sets.push(pairs.iter().filter(|pair| pair.vanishes).cloned().collect());
    let mut one_each: Vec<Pair> = Vec::new();
    for pair in pairs {
        if !one_each.iter().any(|other| other.same(pair)) {
            one_each.push(pair.clone());
        }
    }
    sets.push(one_each);
    let row = |pair: &Pair| context.network.layers()[context.layer].weight().row(pair.turned);
    let column = |pair: &Pair| context.network.layers()[context.layer + 1].weight().column(pair.turned);
    let column = |pair: &Pair| column(pair).collect::<Vec<_>>();
    for (i, first) in pairs.iter().enumerate().take(ATTEMPTS) {
        let parallel = |pair: &&Pair| ratio_of(row(first).iter(), row(pair).iter()).is_some();
        let bundle: Vec<_> = pairs.iter().filter(|pair| pair.vanishes).filter(parallel).cloned().collect();
        sets.push(bundle);
        let opposite = |pair: &&Pair| {
            let rows = ratio_of(row(first).iter(), row(pair).iter());
            let columns = ratio_of(column(first).into_iter(), column(pair).into_iter());
            rows.zip(columns).is_some_and(|(r, c)| &r * &c == Rational::from(-1))
        };
        sets.extend(pairs[i + 1..].iter().filter(opposite).map(|pair| vec![first.clone(), pair.clone()]));
        sets.push(vec![first.clone()]);
    }
    let mut first = true;
    sets.retain(|set| !set.is_empty() || std::mem::take(&mut first));
    sets.truncate(ATTEMPTS);
    sets
}

/// What is needed to plan a layer's linear neurons.
struct Context<'a> {
    network: &'a ExactNetwork,
    layer: usize,
    linear: Vec<usize>,
    sides: Vec<Interval>,
    allowed: Vec<Allowed>,
    deadline: &'a Deadline,
}

impl<'a> Context<'a> {
    fn new(
        network: &'a ExactNetwork,
        layer: usize,
        (linear, sides): (Vec<usize>, Vec<Interval>),
        deadline: &'a Deadline,
    ) -> Self {
        let allowed = match network.layers()[layer].activation() {
            Activation::Identity => vec![Allowed::Any; sides.len()],
            Activation::Relu => sides.iter().map(Allowed::on).collect(),
        };
        Context { network, layer, linear, sides, allowed, deadline }
    }

    /// Linear neurons (places not yet given) that take up the affine term of the given pairs besides
    /// their own: one way, or (with `all`) all that were found.
    fn plans(&self, turned: &[Pair], all: bool) -> Vec<Vec<PlacedNeuron>> {
        let (rows, columns) =
            (&self.network.layers()[self.layer], self.network.layers()[self.layer + 1].weight());
        let units: Vec<_> =
            self.linear.iter().copied().chain(turned.iter().map(|pair| pair.turned)).collect();
        if units.len().saturating_mul(rows.input_width()).saturating_mul(columns.rows()) > WORK {
            return Vec::new();
        }
        let (left, right) = (columns.select_columns(&units), rows.weight().select_rows(&units));
        let given = self.among_given_rows(&left, &right);
        let Some(matrix) = product(&left, &right, &|| self.deadline.is_past()) else { return Vec::new() };
        let best_possible = independent_rows(&matrix).len();
        if !all && given.as_ref().is_some_and(|neurons| neurons.len() == best_possible) {
            return given.into_iter().collect();
        }
        let factored = allowed_factorization(&matrix, &self.allowed, self.deadline).map(|found| {
            let rows = found.rows.iter_rows().enumerate();
            let neuron = |(k, row): (usize, &[Rational])| PlacedNeuron {
                unit: 0,
                weight: row.to_vec(),
                bias: self.least_bias(row),
                out: found.coefficients.column(k).cloned().collect(),
            };
            rows.map(neuron).collect::<Vec<_>>()
        });
        [given, factored].into_iter().flatten().collect()
    }

    /// Rows among those of the given linear neurons, if they span all of `right`.
    fn among_given_rows(
        &self,
        left: &Matrix<Rational>,
        right: &Matrix<Rational>,
    ) -> Option<Vec<PlacedNeuron>> {
        let rows = &self.network.layers()[self.layer];
        let given: Vec<usize> = (0..self.linear.len()).collect();
        let basis = independent_rows(&right.select_rows(&given));
        let coordinates = coordinates(&right.select_rows(&basis), right, &|| self.deadline.is_past())?;
        let coefficients = product(left, &coordinates, &|| self.deadline.is_past())?;
        let neuron = |(k, &at): (usize, &usize)| PlacedNeuron {
            unit: 0,
            weight: right.row(at).to_vec(),
            bias: rows.bias()[self.linear[at]].clone(),
            out: coefficients.column(k).cloned().collect(),
        };
        let neurons = basis.iter().enumerate().map(neuron);
        Some(neurons.filter(|neuron| neuron.out.iter().any(|v| !v.is_zero())).collect())
    }

    /// The bias that makes the least value of a neuron with this row zero (zero itself in an identity
    /// layer).
    fn least_bias(&self, row: &[Rational]) -> Rational {
        if self.network.layers()[self.layer].activation() == Activation::Identity {
            return Rational::ZERO;
        }
        let least = row.iter().zip(&self.sides).filter_map(|(w, side)| match w.signum() {
            0 => None,
            1 => side.lower.as_ref().map(|end| w * end),
            _ => side.upper.as_ref().map(|end| w * end),
        });
        -least.sum::<Rational>()
    }

    /// The moves that replace the linear neurons by these (at the end of the layer) and merge the
    /// turned neurons with their partners.
    fn moves(&self, turned: &[Pair], mut insert: Vec<PlacedNeuron>) -> Vec<Move> {
        let (layer, width) = (self.layer, self.network.layers()[self.layer].width());
        let kept = width - self.linear.len();
        if kept + insert.len() == 0 {
            insert.push(super::zero_neuron(self.network, layer));
        }
        insert.iter_mut().enumerate().for_each(|(i, neuron)| neuron.unit = kept + i);
        let change = LinearChange { remove: self.linear.clone(), insert };
        if turned.is_empty() {
            return vec![Move::Refactor { layer, linear: change }];
        }
        let place = |unit: usize| unit - self.linear.iter().filter(|&&gone| gone < unit).count();
        let units = turned.iter().map(|pair| pair.turned).collect();
        let pairs = turned.iter().map(|pair| (place(pair.partner), place(pair.turned))).collect();
        vec![Move::Reorient { layer, units, linear: change }, Move::Merge { layer, pairs }]
    }
}
