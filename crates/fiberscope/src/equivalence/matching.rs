//! Matching neurons layer by layer, up to permutation and positive scaling.
//!
//! Floats propose partners (rows with nearly the same direction), exact arithmetic disposes: row `j` of
//! `B` is a partner of row `i` of `A` iff `(w_j, b_j) c = (w_i, b_i)` for a rational `c > 0`.

use std::collections::HashMap;

use fiberscope_core::{Domain, ExactNetwork, Layer, Move, MoveChain, Rational};

use crate::limit::Deadline;
use crate::lines::entries;

/// How far `B` could be rewritten to coincide with `A`.
pub struct Matching {
    /// `B` after the moves.
    pub network: ExactNetwork,
    /// Permutations and scalings of `B`.
    pub moves: MoveChain,
    /// The number of leading layers that are now equal.
    pub prefix: usize,
}

/// Permutes and scales the hidden layers of `B`, first to last, until one does not match `A`'s. `None` if the deadline comes first.
pub fn match_layers(a: &ExactNetwork, b: &ExactNetwork, deadline: &Deadline) -> Option<Matching> {
    let mut matching = Matching { network: b.clone(), moves: MoveChain::default(), prefix: 0 };
    let hidden = a.hidden_depth().min(b.hidden_depth());
    while matching.prefix < hidden {
        let layer = matching.prefix;
        let matched = match_rows_until(&a.layers()[layer], &matching.network.layers()[layer], deadline);
        if deadline.is_past() {
            return None;
        }
        let Some((order, factors)) = matched else { return Some(matching) };
        let moves = relabel_layer(&mut matching.network, layer, order, factors);
        matching.moves = matching.moves.compose(moves);
        matching.prefix += 1;
    }
    let last = a.depth() - 1;
    if a.depth() == b.depth() && a.layers()[last] == matching.network.layers()[last] {
        matching.prefix = a.depth();
    }
    Some(matching)
}

/// Permutes and scales a layer, recording the moves that change something.
pub fn relabel_layer(
    network: &mut ExactNetwork,
    layer: usize,
    order: Vec<usize>,
    factors: Vec<Rational>,
) -> MoveChain {
    let moves = relabelling_moves(layer, order, factors);
    moves.apply(network, &Domain::Space).expect("a permutation and positive factors");
    moves
}

/// A permutation and a scaling of a layer, where they change something.
pub fn relabelling_moves(layer: usize, order: Vec<usize>, factors: Vec<Rational>) -> MoveChain {
    let moves: Vec<_> = [permutation(layer, order), scaling(layer, factors)].into_iter().flatten().collect();
    MoveChain::from(moves)
}

/// The permutation, unless it changes nothing.
fn permutation(layer: usize, order: Vec<usize>) -> Option<Move> {
    let trivial = order.iter().enumerate().all(|(i, &j)| i == j);
    (!trivial).then_some(Move::Permute { layer, order })
}

/// The scaling, unless it changes nothing.
fn scaling(layer: usize, factors: Vec<Rational>) -> Option<Move> {
    let trivial = factors.iter().all(|factor| *factor == Rational::ONE);
    (!trivial).then_some(Move::Scale { layer, factors })
}

/// For every row of `A` its partner in `B` and the factor that makes the partner equal to it.
pub fn match_rows(a: &Layer<Rational>, b: &Layer<Rational>) -> Option<(Vec<usize>, Vec<Rational>)> {
    match_rows_until(a, b, &Deadline::NEVER)
}

/// The same; without meaning if the deadline is past then.
fn match_rows_until(
    a: &Layer<Rational>,
    b: &Layer<Rational>,
    deadline: &Deadline,
) -> Option<(Vec<usize>, Vec<Rational>)> {
    let shape = |layer: &Layer<Rational>| (layer.width(), layer.input_width(), layer.activation());
    if shape(a) != shape(b) {
        return None;
    }
    let partners = partners_until(a, b, deadline);
    let mut taken = vec![false; b.width()];
    let mut order = Vec::with_capacity(a.width());
    let mut factors = Vec::with_capacity(a.width());
    for partner in partners {
        let (unit, factor) = partner.into_iter().find(|(unit, _)| !taken[*unit])?;
        taken[unit] = true;
        order.push(unit);
        factors.push(factor);
    }
    Some((order, factors))
}

/// For every row of `A` its partners in `B`, in order, with the factors.
pub fn partners(a: &Layer<Rational>, b: &Layer<Rational>) -> Vec<Vec<(usize, Rational)>> {
    partners_until(a, b, &Deadline::NEVER)
}

/// The same; without meaning if the deadline is past then.
fn partners_until(
    a: &Layer<Rational>,
    b: &Layer<Rational>,
    deadline: &Deadline,
) -> Vec<Vec<(usize, Rational)>> {
    let directions = Directions::new(a.input_width() + 1);
    let cell_of = |layer: &Layer<Rational>, unit: usize| {
        let row: Vec<f64> = entries(layer, unit).map(Rational::to_f64).collect();
        cell(directions.of(row.iter().copied()))
    };
    let mut buckets: HashMap<(i64, i64), Vec<usize>> = HashMap::new();
    for unit in 0..b.width() {
        buckets.entry(cell_of(b, unit)).or_default().push(unit);
    }
    (0..a.width())
        .map(|unit| {
            let near = near_cells(cell_of(a, unit));
            let mut candidates: Vec<usize> =
                near.filter_map(|cell| buckets.get(&cell)).flatten().copied().collect();
            candidates.sort_unstable();
            let partner = |j: usize| Some((j, factor(a, unit, b, j)?));
            if deadline.is_past() {
                candidates.clear();
            }
            candidates.into_iter().filter_map(partner).collect()
        })
        .collect()
}

/// Two coordinates of a row's direction that multiples of it share up to rounding errors.
pub struct Directions {
    /// Without simple relations, so that different directions rarely agree in both sums.
    weights: Vec<(f64, f64)>,
}

impl Directions {
    /// For rows of this length.
    pub fn new(length: usize) -> Self {
        const STEPS: (f64, f64) = (0.618_033_988_749_894_9, 0.414_213_562_373_095_1);
        let weight = |k: usize| ((0.5 + k as f64 * STEPS.0).fract(), (0.5 + k as f64 * STEPS.1).fract());
        Directions { weights: (1..=length).map(weight).collect() }
    }

    /// The coordinates of a row; zero for rows that have no direction.
    pub fn of(&self, row: impl Iterator<Item = f64>) -> (f64, f64) {
        let (mut largest, mut sums) = (0.0f64, (0.0, 0.0));
        for (x, weight) in row.zip(&self.weights) {
            largest = largest.max(x.abs());
            sums = (sums.0 + weight.0 * x, sums.1 + weight.1 * x);
        }
        let scaled = (sums.0 / largest, sums.1 / largest);
        if scaled.0.is_finite() && scaled.1.is_finite() { scaled } else { (0.0, 0.0) }
    }
}

/// The cell of a grid much coarser than rounding errors and much finer than typical differences.
pub fn cell((x, y): (f64, f64)) -> (i64, i64) {
    const GRID: f64 = (1u64 << 30) as f64;
    ((x * GRID).floor() as i64, (y * GRID).floor() as i64)
}

/// A cell and those around it, itself first.
pub fn near_cells((x, y): (i64, i64)) -> impl Iterator<Item = (i64, i64)> {
    [0, -1, 1].into_iter().flat_map(move |dx| [0, -1, 1].map(|dy| (x + dx, y + dy)))
}

/// The `c > 0` with row `i` of `A` = `c` times row `j` of `B`.
pub fn factor(a: &Layer<Rational>, i: usize, b: &Layer<Rational>, j: usize) -> Option<Rational> {
    ratio(a, i, b, j).filter(Rational::is_positive)
}

/// The `c != 0` with row `i` of `A` = `c` times row `j` of `B` (1 if both rows are zero).
pub fn ratio(a: &Layer<Rational>, i: usize, b: &Layer<Rational>, j: usize) -> Option<Rational> {
    let row = |layer: &'_ Layer<Rational>, unit: usize| -> Vec<Rational> {
        layer.weight().row(unit).iter().chain([&layer.bias()[unit]]).cloned().collect()
    };
    let (x, y) = (row(a, i), row(b, j));
    let Some(at) = y.iter().position(|y| !y.is_zero()) else {
        return x.iter().all(Rational::is_zero).then_some(Rational::ONE);
    };
    if x[at].is_zero() {
        return None;
    }
    let equal = x.iter().zip(&y).all(|(p, q)| p * &y[at] == q * &x[at]);
    equal.then(|| &x[at] / &y[at])
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Activation, Layer, Matrix, Network};

    use super::*;
    use crate::symmetry::relabel;

    fn network(seed: u64) -> Network {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let mut layer = |rows: usize, cols: usize, activation| {
            let weight = Matrix::from_fn(rows, cols, |_, _| next());
            let bias = (0..rows).map(|_| next()).collect();
            Layer::new(weight, bias, activation)
        };
        Network::new(vec![
            layer(6, 4, Activation::Relu),
            layer(5, 6, Activation::Relu),
            layer(2, 5, Activation::Identity),
        ])
        .unwrap()
    }

    #[test]
    fn twins_match_completely() {
        for seed in 0..20 {
            let a = network(seed + 1);
            let b = relabel(&a, seed).network;
            let matching = match_layers(&a.to_exact(), &b.to_exact(), &Deadline::NEVER).unwrap();
            assert_eq!(matching.prefix, 3);
            assert_eq!(matching.network, a.to_exact());
        }
    }

    #[test]
    fn odd_factors_match_too() {
        let a = network(3).to_exact();
        let mut b = a.clone();
        let factors = (1..=6).map(|n| &Rational::from(n) / &Rational::from(7)).collect();
        Move::Scale { layer: 0, factors }.apply(&mut b, &Domain::Space).unwrap();
        assert_eq!(match_layers(&a, &b, &Deadline::NEVER).unwrap().prefix, 3);
    }

    #[test]
    fn strangers_do_not_match() {
        let (a, b) = (network(1).to_exact(), network(2).to_exact());
        assert_eq!(match_layers(&a, &b, &Deadline::NEVER).unwrap().prefix, 0);
    }

    #[test]
    fn without_time_nothing_is_said() {
        let a = network(1).to_exact();
        let late = Deadline::after(Some(std::time::Duration::ZERO));
        assert!(match_layers(&a, &a, &late).is_none());
    }
}
