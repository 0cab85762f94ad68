//! Neurons behind a ReLU layer that are dead because what could turn them on is outweighed: shares for
//! [`fiberscope_core::Mute`], whose lemma this is about.
//!
//! For one neuron `k` that could turn neuron `z` on, the shares are multipliers of a linear programme in doubles. With
//! `h_i(y) = w_i y + b_i` and a scale `0 <= l <= 1`,
//!
//! ```text
//! minimise  -(w_k y + b_k l) + sum_i cap_i e_i   where   e_i >= w_i y + b_i l, e_i >= 0, w_k y + b_k l >= 0, y in l Y,
//! ```
//!
//! `cap_i` being what the neurons before have left of `-w_i`. Where `Y` has no end the multipliers must cancel the
//! slope of `h_k` exactly: as many of them as there are such inputs are corrected in rational numbers. What is
//! proposed here is verified exactly when it is used.

use std::iter::repeat_n;

use fiberscope_algebra::elimination::solve;
use fiberscope_algebra::program::{BoxedPolytope, Least};
use fiberscope_check::check_move;
use fiberscope_core::{
    Balance, Counterweight, Domain, ExactNetwork, Interval, Layer, Move, Mute, Network, Neuron, Rational,
    Share,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::limit::Deadline;

/// The most inputs and neurons of the layer before, together.
const LARGEST: usize = 320;
/// The most neurons that could turn one on.
const POSITIVE: usize = 64;
/// The most inputs whose slopes are cancelled exactly.
const EXACT: usize = 40;
/// How far the programme looks where the domain has no end; rows have largest weight 1.
const FAR: f64 = 1e4;
/// Counterweights are at most so many times what they outweigh.
const HEAVY: f64 = 1e4;
/// What counterweights cost, so that others have some left.
const COST: f64 = 1e-3;
/// Multipliers below this are left out.
const SMALL: f64 = 1e-11;
/// About how many products the points take at which neurons are seen to be on.
const WORK: usize = 2_000_000;

/// The neurons of these, of one hidden layer, that are shown to be dead on the domain, with the proofs; their
/// outgoing weights become zero.
pub fn mutes(
    network: &ExactNetwork,
    domain: &Domain,
    layer: usize,
    units: &[usize],
    deadline: &Deadline,
) -> Vec<Mute> {
    let Some(mut balance) = Balance::new(network, domain, layer) else { return Vec::new() };
    let [before, own] = [layer - 1, layer].map(|layer| &network.layers()[layer]);
    if units.is_empty() || before.width() + before.input_width() > LARGEST {
        return Vec::new();
    }
    let programme = Programme::new(before, balance.sides().to_vec());
    let never_on = programme.never_on(own, units);
    let mut found = Vec::new();
    for unit in never_on {
        let positive = balance.positive(unit);
        let row = own.weights().dense_row(unit);
        let shares = programme.shares(&row, &own.bias()[unit], positive, deadline);
        let Some(shares) = shares.filter(|shares| balance.is_outweighed(unit, shares)) else { continue };
        let out = vec![Rational::ZERO; network.layers()[layer + 1].width()];
        let mute = Mute { unit, out, shares };
        let each = Move::Mute { layer, neurons: vec![mute.clone()] };
        if check_move(&each, network, network.parameter_count()).is_ok() {
            found.push(mute);
        }
    }
    found
}

/// The neurons of these that are shown to be dead.
pub(crate) fn outweighed(
    network: &Network,
    domain: &Domain,
    open: &[Neuron],
    deadline: &Deadline,
) -> Vec<Neuron> {
    if open.is_empty() || network.parameter_count() > 1 << 20 {
        return Vec::new();
    }
    let exact = network.to_exact();
    let of_layer = |layer: usize| {
        let units: Vec<usize> =
            open.iter().filter(|neuron| neuron.layer == layer).map(|neuron| neuron.unit).collect();
        let found = mutes(&exact, domain, layer, &units, deadline);
        found.into_iter().map(move |mute| Neuron { layer, unit: mute.unit })
    };
    (1..network.hidden_depth()).flat_map(of_layer).collect()
}

/// The layer before in doubles.
struct Programme<'a> {
    before: &'a Layer<Rational>,
    sides: Vec<Interval>,
    /// Rows with the bias last, of largest weight 1, and what they were divided by.
    rows: Vec<Vec<f64>>,
    sizes: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl<'a> Programme<'a> {
    fn new(before: &'a Layer<Rational>, sides: Vec<Interval>) -> Self {
        let (mut rows, mut sizes) = (Vec::new(), Vec::new());
        for unit in 0..before.width() {
            let mut row: Vec<f64> = before.weights().dense_row(unit).iter().map(Rational::to_f64).collect();
            let largest = row.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            let size = if largest.is_normal() { largest } else { 1.0 };
            row.push(before.bias()[unit].to_f64());
            row.iter_mut().for_each(|x| *x /= size);
            rows.push(row);
            sizes.push(size);
        }
        let end = |end: &Option<Rational>, far: f64| end.as_ref().map_or(far, Rational::to_f64);
        let lower: Vec<f64> = sides.iter().map(|side| end(&side.lower, -FAR)).collect();
        let upper = sides.iter().zip(&lower).map(|(side, low)| end(&side.upper, FAR).max(*low)).collect();
        Programme { before, sides, rows, sizes, lower, upper }
    }

    /// The neurons of these that are on at none of many points.
    fn never_on(&self, own: &Layer<Rational>, units: &[usize]) -> Vec<usize> {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let rows: Vec<(Vec<f64>, f64)> = units
            .iter()
            .map(|&unit| {
                let row = own.weights().dense_row(unit);
                (row.iter().map(Rational::to_f64).collect(), own.bias()[unit].to_f64())
            })
            .collect();
        let products = self.rows.len() * (self.lower.len() + 1 + units.len());
        let mut on = vec![false; units.len()];
        for _ in 0..(WORK / products.max(1)).clamp(16, 256) {
            if on.iter().all(|on| *on) {
                break;
            }
            let scale = 2f64.powi(rng.random_range(-4..=12));
            let coordinate = |(low, high): (&f64, &f64)| {
                let (low, high) = (low.max(-scale), high.min(scale));
                if low < high { rng.random_range(low..=high) } else { low }
            };
            let y: Vec<f64> = self.lower.iter().zip(&self.upper).map(coordinate).collect();
            let value = |row: &Vec<f64>, size: &f64| {
                let sum: f64 = row.iter().zip(&y).map(|(w, y)| w * y).sum();
                (sum + row[y.len()]).max(0.0) * size
            };
            let a: Vec<f64> = self.rows.iter().zip(&self.sizes).map(|(row, size)| value(row, size)).collect();
            for ((row, bias), on) in rows.iter().zip(&mut on).filter(|(_, on)| !**on) {
                let terms = row.iter().zip(&a).map(|(w, a)| w * a);
                let (sum, size) =
                    terms.fold((*bias, bias.abs()), |(sum, size), term| (sum + term, size + term.abs()));
                *on = sum > 1e-9 * size;
            }
        }
        units.iter().zip(on).filter(|(_, on)| !on).map(|(unit, _)| *unit).collect()
    }

    /// Shares for all that could turn a neuron on, the strongest first.
    fn shares(
        &self,
        row: &[Rational],
        bias: &Rational,
        mut positive: Vec<usize>,
        deadline: &Deadline,
    ) -> Option<Vec<Share>> {
        if bias.is_positive() || positive.len() > POSITIVE {
            return None;
        }
        let strength = |k: usize| row[k].to_f64() * self.sizes[k];
        positive.sort_by(|&i, &j| strength(j).total_cmp(&strength(i)));
        let mut left: Vec<Rational> = row.iter().map(|w| (-w).max(Rational::ZERO)).collect();
        let mut shares = Vec::new();
        for k in positive {
            if deadline.is_past() {
                return None;
            }
            let share = self.share(k, &row[k], &left)?;
            for Counterweight { unit, weight } in &share.by {
                left[*unit] -= weight;
            }
            shares.push(share);
        }
        Some(shares)
    }

    /// The share of one neuron with this weight, from what is left.
    fn share(&self, k: usize, weight: &Rational, left: &[Rational]) -> Option<Share> {
        let strength = weight.to_f64() * self.sizes[k];
        let against: Vec<usize> = (0..left.len()).filter(|&i| i != k && left[i].is_positive()).collect();
        let caps: Vec<f64> =
            against.iter().map(|&i| (left[i].to_f64() * self.sizes[i] / strength).min(HEAVY)).collect();
        let found = self.least(k, &against, &caps)?;
        let mut factor = 1.0;
        let mut taken: Vec<(usize, f64)> = Vec::new();
        for &(row, multiplier) in found.multipliers.iter().filter(|(_, multiplier)| *multiplier > SMALL) {
            match row.checked_sub(against.len()) {
                None => taken.push((row, multiplier.min(caps[row]))),
                Some(0) => factor += multiplier,
                Some(_) => {}
            }
        }
        let exact = |x: f64| Rational::from_f64(x);
        let factor = exact(weight.to_f64() * factor)?.max(weight.clone());
        let mut by = Vec::new();
        for &(at, multiplier) in &taken {
            let unit = against[at];
            let most = left[unit].clone();
            by.push(Counterweight {
                unit,
                weight: exact(strength * multiplier / self.sizes[unit])?.min(most),
            });
        }
        // Those in the middle of what they may be can be corrected most.
        let room = |&(at, multiplier): &(usize, f64)| multiplier.min(caps[at] - multiplier);
        let mut order: Vec<usize> = (0..taken.len()).collect();
        order.sort_by(|&i, &j| room(&taken[j]).total_cmp(&room(&taken[i])));
        self.cancel(k, &factor, &mut by, &order)?;
        if by.iter().any(|each| each.weight.is_negative() || each.weight > left[each.unit]) {
            return None;
        }
        let (slope, constant) = self.rest(k, &factor, &by);
        let mut most = constant;
        for (c, side) in slope.iter().zip(&self.sides).filter(|(c, _)| !c.is_zero()) {
            let end = if c.is_positive() { &side.upper } else { &side.lower };
            most += &(c * end.as_ref()?);
        }
        Some(Share { of: k, factor, constant: short_above(&most)?, by })
    }

    /// The programme of neuron `k`: variables are those of `y`, `e` and the scale.
    fn least(&self, k: usize, against: &[usize], caps: &[f64]) -> Option<Least> {
        let (inputs, m) = (self.lower.len(), against.len());
        let scale = inputs + m;
        let signed = |of: usize, sign: f64| {
            let mut row = vec![0.0; scale + 2];
            row.iter_mut().zip(&self.rows[of][..inputs]).for_each(|(x, w)| *x = sign * w);
            row[scale] = sign * self.rows[of][inputs];
            row
        };
        let counterweight = |(at, &i): (usize, &usize)| {
            let mut row = signed(i, -1.0);
            row[inputs + at] = 1.0;
            row[scale + 1] = COST;
            row
        };
        let mut rows: Vec<Vec<f64>> = against.iter().enumerate().map(counterweight).collect();
        rows.push(signed(k, 1.0));
        for (j, side) in self.sides.iter().enumerate() {
            let ends = [(&side.upper, self.upper[j], -1.0), (&side.lower, self.lower[j], 1.0)];
            for (_, end, sign) in ends.iter().filter(|(end, value, _)| end.is_some() && *value != 0.0) {
                let mut row = vec![0.0; scale + 2];
                (row[j], row[scale]) = (*sign, -sign * end);
                rows.push(row);
            }
        }
        let farthest = self.lower.iter().chain(&self.upper).fold(1.0f64, |most, x| most.max(x.abs()));
        let biases = self.rows.iter().fold(0.0f64, |most, row| most.max(row[inputs].abs()));
        let highest = 2.0 * (farthest * inputs as f64 + biases);
        let lower = self.lower.iter().map(|x| x.min(0.0)).chain(repeat_n(0.0, m + 1)).collect();
        let upper = self.upper.iter().map(|x| x.max(0.0)).chain(repeat_n(highest, m)).chain([1.0]).collect();
        let mut objective = signed(k, -1.0);
        objective[inputs..scale].copy_from_slice(caps);
        let keep = vec![true; rows.len()];
        BoxedPolytope::new(rows, lower, upper).least(&objective, &keep)
    }

    /// Slopes and constant of `c h_k - sum t_i h_i`.
    fn rest(&self, k: usize, factor: &Rational, by: &[Counterweight]) -> (Vec<Rational>, Rational) {
        let mut slope = vec![Rational::ZERO; self.lower.len()];
        let mut constant = Rational::ZERO;
        let mut add = |unit: usize, factor: &Rational| {
            self.before.weights().row(unit).for_each(|(j, w)| slope[j] += &(factor * w));
            constant += &(factor * &self.before.bias()[unit]);
        };
        add(k, factor);
        by.iter().for_each(|each| add(each.unit, &-&each.weight));
        (slope, constant)
    }

    /// Corrects counterweights, the first of the order first, so that no slope is left where the domain has no end.
    fn cancel(&self, k: usize, factor: &Rational, by: &mut [Counterweight], order: &[usize]) -> Option<()> {
        let (slope, _) = self.rest(k, factor, by);
        let size = factor.to_f64() * self.sizes[k];
        let endless = |j: usize| self.sides[j].lower.is_none() || self.sides[j].upper.is_none();
        let near = |j: usize| slope[j].to_f64().abs() <= 1e-6 * size;
        let mut open: Vec<usize> = (0..slope.len()).filter(|&j| endless(j) && near(j)).collect();
        if open.iter().all(|&j| slope[j].is_zero()) {
            return Some(());
        }
        // Independent columns, and rows that tell them apart, by elimination in doubles.
        let (mut columns, mut rows): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut reduced: Vec<Vec<f64>> = Vec::new();
        for &at in order {
            let mut column: Vec<f64> = open.iter().map(|&j| self.rows[by[at].unit][j]).collect();
            for (earlier, &pivot) in reduced.iter().zip(&rows) {
                let factor = column[pivot];
                column.iter_mut().zip(earlier).for_each(|(x, y)| *x -= factor * y);
            }
            let best = (0..open.len()).max_by(|&i, &j| column[i].abs().total_cmp(&column[j].abs()))?;
            let value = column[best];
            if value.abs() > 1e-7 {
                column.iter_mut().for_each(|x| *x /= value);
                reduced.push(column);
                columns.push(at);
                rows.push(best);
            }
        }
        if rows.len() > EXACT {
            return None;
        }
        open = rows.iter().map(|&row| open[row]).collect();
        let weights = |j: usize, at: usize| self.before.weights().get(by[at].unit, j);
        let system = open.iter().map(|&j| {
            let row = columns.iter().map(|&at| weights(j, at));
            row.chain([slope[j].clone()]).collect::<Vec<Rational>>()
        });
        let corrections = solve(system.collect())?;
        for (&at, correction) in columns.iter().zip(&corrections) {
            by[at].weight += correction;
        }
        Some(())
    }
}

/// A short number that is not below one, and not negative.
fn short_above(x: &Rational) -> Option<Rational> {
    if !x.is_positive() {
        return Some(Rational::ZERO);
    }
    let near = x.to_f64();
    [near, near.next_up()].into_iter().filter_map(Rational::from_f64).find(|short| short >= x)
}
