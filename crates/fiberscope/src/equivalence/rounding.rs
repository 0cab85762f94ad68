//! Networks that agree up to rounding.
//!
//! Neurons are matched by nearly equal directions; `B` is permuted and scaled (exactly, by rational
//! factors) to lie as close to `A` as rounding allows, and the checker's lemma bounds what is left. On an
//! unbounded domain the bound is for the box `[-1, 1]^n`, and the certificate says so.

use fiberscope_check::rounding_bound;
use fiberscope_core::{
    Activation, Domain, Evidence, ExactNetwork, Layer, Move, MoveChain, Network, Rational,
};

use super::EquivalenceOptions;

/// Parameters may differ by this many units in the last place, relative to the largest of their row.
const UNITS: f64 = 64.0;

/// Evidence that the networks differ by rounding only, and the box it is about.
pub fn align(
    a: &Network,
    b: &Network,
    domain: &Domain,
    options: &EquivalenceOptions,
) -> Option<(Evidence, Domain)> {
    if a.widths() != b.widths() {
        return None;
    }
    let closeness = match options.tolerance {
        Some(tolerance) => tolerance.max(UNITS * options.precision),
        None => UNITS * options.precision,
    };
    let exact_a = a.to_exact();
    let mut aligned = b.to_exact();
    let mut moves = MoveChain::default();
    for layer in 0..a.hidden_depth() {
        let (order, factors) = close_rows(&exact_a.layers()[layer], &aligned.layers()[layer], closeness)?;
        for each in [Move::Permute { layer, order }, Move::Scale { layer, factors }] {
            each.apply(&mut aligned, domain).ok()?;
            moves.push(each);
        }
    }
    if !close_outputs(&exact_a, &aligned, closeness) {
        return None;
    }
    let bounded = bounded(domain, a.input_width());
    let bound = certified(&exact_a, &aligned, &bounded)?;
    let within = options.tolerance.is_none_or(|tolerance| bound.to_f64() <= tolerance);
    within.then(|| (Evidence::Rounding { a: MoveChain::default(), b: moves, bound }, bounded))
}

/// Whether the last layers agree up to `closeness` times their largest entry.
fn close_outputs(a: &ExactNetwork, b: &ExactNetwork, closeness: f64) -> bool {
    let entries = |network: &ExactNetwork| -> Vec<Rational> {
        let last = &network.layers()[network.depth() - 1];
        last.weight().entries().iter().chain(last.bias()).cloned().collect()
    };
    let (of_a, of_b) = (entries(a), entries(b));
    let size = of_a.iter().map(|w| w.to_f64().abs()).fold(0.0, f64::max);
    of_a.iter().zip(&of_b).all(|(x, y)| (x - y).to_f64().abs() <= closeness * size)
}

fn certified(a: &ExactNetwork, b: &ExactNetwork, domain: &Domain) -> Option<Rational> {
    rounding_bound(a, b, domain).ok()
}

/// The domain, or the unit box if it is unbounded.
fn bounded(domain: &Domain, inputs: usize) -> Domain {
    let finite = |sides: &[fiberscope_core::Interval]| sides.iter().all(|side| side.magnitude().is_some());
    match domain {
        Domain::Box(sides) if finite(sides) => domain.clone(),
        _ => Domain::from_bounds(&vec![(-1.0, 1.0); inputs]).expect("finite bounds"),
    }
}

/// For every row of `A` the row of `B` with nearly the same direction, and the factor between them.
fn close_rows(
    a: &Layer<Rational>,
    b: &Layer<Rational>,
    closeness: f64,
) -> Option<(Vec<usize>, Vec<Rational>)> {
    if a.activation() != b.activation() || a.activation() != Activation::Relu {
        return None;
    }
    let rows = |layer: &Layer<Rational>| -> Vec<Vec<f64>> {
        (0..layer.width())
            .map(|i| layer.weight().row(i).iter().chain([&layer.bias()[i]]).map(Rational::to_f64).collect())
            .collect()
    };
    let (rows_a, rows_b) = (rows(a), rows(b));
    let largest = |row: &[f64]| -> usize {
        (0..row.len()).max_by(|&i, &j| row[i].abs().total_cmp(&row[j].abs())).unwrap_or(0)
    };
    // Sorted by one coordinate of the direction, so that only neighbours are compared.
    let key = |row: &[f64]| {
        let sum: f64 = row.iter().enumerate().map(|(i, x)| x * ((i as f64 * 0.618).fract() + 0.5)).sum();
        sum / row.iter().map(|x| x.abs()).sum::<f64>().max(f64::MIN_POSITIVE)
    };
    let mut sorted: Vec<(f64, usize)> = rows_b.iter().enumerate().map(|(j, row)| (key(row), j)).collect();
    sorted.sort_by(|x, y| x.0.total_cmp(&y.0));
    let mut taken = vec![false; rows_b.len()];
    let (mut order, mut factors) = (Vec::new(), Vec::new());
    for (i, row) in rows_a.iter().enumerate() {
        let at = largest(row);
        let centre = key(row);
        let slack = 4.0 * closeness * row.len() as f64;
        let first = sorted.partition_point(|(k, _)| *k < centre - slack);
        let near = sorted[first..].iter().take_while(|(k, _)| *k <= centre + slack);
        let close = |j: usize| {
            let other = &rows_b[j];
            let factor = row[at] / other[at];
            factor > 0.0
                && factor.is_finite()
                && row.iter().zip(other).all(|(x, y)| (x - y * factor).abs() <= closeness * row[at].abs())
        };
        let j = near.map(|&(_, j)| j).find(|&j| !taken[j] && close(j))?;
        taken[j] = true;
        order.push(j);
        let pivot = |layer: &Layer<Rational>, unit: usize| {
            layer.weight().row(unit).iter().chain([&layer.bias()[unit]]).nth(at).cloned()
        };
        factors.push(&pivot(a, i)? / &pivot(b, j)?);
    }
    Some((order, factors))
}
