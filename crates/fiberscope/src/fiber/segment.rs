//! Paths in `{(V, W) : V W = M, W >= 0}`, made of segments that are rational in the parameter.
//!
//! - *Injective* (`l = rank M <= m`): `W_B = G W_A`, and on the straight line from `W_A` to `W_B` rows stay `>= 0`; it is a path if `det((1 - s) I + s G)` has no zero. Any two
//!   points are joined after exchanging two neurons if `det G < 0`: the rows of `G` lie in a convex cone with interior, and bases of one orientation in such a cone are connected.
//!   Random intermediate points are tried until all lines are good.
//! - *Surjective* (`l > m = rank M`): subtracting multiples of the other columns from one column of `V` (and adding multiples of one row to the others) makes the kernel of `V` contain a
//!   positive vector, scaling makes it the vector of ones; then rows of `W` may grow together, and `V` moves on a straight line in `{V : V 1 = 0}`.
//!
//! That a determinant has no zero on `[0, 1]` is shown by the signs of its Bernstein coefficients, in rational numbers.

use fiberscope_core::{Matrix, Rational, Scalar};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::limit::Deadline;
use crate::rank::independent_rows;
use crate::reduce::{coordinates, inverse};

/// A point `(V, W)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// `V`.
    pub left: Matrix<Rational>,
    /// `W`.
    pub right: Matrix<Rational>,
}

/// A piece of a path, over `[0, 1]`.
#[derive(Clone, Debug)]
pub enum Segment {
    /// `W` on a straight line, `V` fixed.
    Line { left: Matrix<Rational>, from: Matrix<Rational>, to: Matrix<Rational> },
    /// `W -> G(s) W`, `V -> V G(s)^-1` with `G(s)` on the line from one matrix to another.
    Turn { at: Pair, from: Matrix<Rational>, to: Matrix<Rational> },
    /// `V` on a straight line in `{V : V 1 = 0}`, `W` solved for in the columns `pivots` and raised by `raise`.
    Slide { product: Matrix<Rational>, from: Pair, to: Pair, pivots: Vec<usize>, raise: Vec<Rational> },
}

impl Segment {
    /// The point at `s`.
    pub fn at(&self, s: &Rational) -> Option<Pair> {
        match self {
            Segment::Line { left, from, to } => Some(Pair { left: left.clone(), right: mix(from, to, s) }),
            Segment::Turn { at, from, to } => {
                let turn = mix(from, to, s);
                let right = Scalar::product(&turn, &at.right)?;
                let left = Scalar::product(&at.left, &inverse(turn, &Deadline::NEVER)?)?;
                Some(Pair { left, right })
            }
            Segment::Slide { product, from, to, pivots, raise } => {
                let left = mix(&from.left, &to.left, s);
                let mut right = mix(&from.right, &to.right, s);
                // What the rows beside the pivots leave over is solved for in the pivots.
                for &k in pivots {
                    right.row_mut(k).fill(Rational::ZERO);
                }
                let rest = Scalar::product(&left, &right)?;
                let open =
                    Matrix::from_fn(product.rows(), product.cols(), |i, j| &product[(i, j)] - &rest[(i, j)]);
                let solved =
                    Scalar::product(&inverse(left.select_columns(pivots), &Deadline::NEVER)?, &open)?;
                for (row, &k) in pivots.iter().enumerate() {
                    right.row_mut(k).clone_from_slice(solved.row(row));
                }
                Some(Pair { left, right: raised(&right, raise) })
            }
        }
    }
}

/// Joins two points; the second one after a permutation of its rows. `None` if the ranks are not those above, or no good lines are found.
pub fn join(
    product: &Matrix<Rational>,
    rank: usize,
    a: &Pair,
    b: &Pair,
) -> Option<(Vec<Segment>, Vec<usize>)> {
    let (l, m) = (a.right.rows(), product.rows());
    if l == 0 {
        return Some((Vec::new(), Vec::new()));
    }
    if rank == l {
        injective(a, b)
    } else if rank == m && l > m {
        surjective(product, a, b)
    } else {
        None
    }
}

fn injective(a: &Pair, b: &Pair) -> Option<(Vec<Segment>, Vec<usize>)> {
    const TRIES: usize = 300;
    let l = a.right.rows();
    let mut order: Vec<usize> = (0..l).collect();
    let mut turn = coordinates(&a.right, &b.right, &Deadline::NEVER)?;
    if determinant(&turn).is_negative() {
        if l < 2 {
            return None;
        }
        order.swap(0, 1);
        turn = turn.select_rows(&order);
    }
    let line = |from: &Matrix<Rational>, to: &Matrix<Rational>| Segment::Turn {
        at: a.clone(),
        from: from.clone(),
        to: to.clone(),
    };
    let unit = identity(l);
    if never_singular(&unit, &turn) {
        return Some((vec![line(&unit, &turn)], order));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..TRIES {
        // Nonnegative matrices keep W >= 0 on both sides.
        let mut random = || Matrix::from_fn(l, l, |_, _| Rational::dyadic(rng.random_range(1..64), -4));
        let (near_a, near_b) = (random(), Scalar::product(&random(), &turn)?);
        if never_singular(&unit, &near_a)
            && never_singular(&near_a, &near_b)
            && never_singular(&near_b, &turn)
        {
            return Some((vec![line(&unit, &near_a), line(&near_a, &near_b), line(&near_b, &turn)], order));
        }
    }
    None
}

/// The way from a point to one with `V 1 = 0`.
struct Balanced {
    segment: Segment,
    end: Pair,
    /// Columns of `V` that are independent.
    pivots: Vec<usize>,
}

fn balance(point: &Pair) -> Option<Balanced> {
    let (m, l) = (point.left.rows(), point.right.rows());
    let pivots = independent_rows(&point.left.transpose());
    if pivots.len() != m {
        return None;
    }
    let other = (0..l).find(|k| !pivots.contains(k))?;
    // V_other = sum over pivots of alpha V_pivot; its multiples c are taken off such that the kernel has c - alpha > 0.
    let alpha = coordinates(
        &point.left.select_columns(&pivots).transpose(),
        &point.left.select_columns(&[other]).transpose(),
        &Deadline::NEVER,
    )?;
    let mut shares = vec![Rational::ONE; l];
    let mut kernel = vec![Rational::ONE; l];
    for (k, &pivot) in pivots.iter().enumerate() {
        shares[pivot] = &alpha[(0, k)].clone().max(Rational::ZERO).round_up(4) + &Rational::ONE;
        kernel[pivot] = &shares[pivot] - &alpha[(0, k)];
    }
    let scale = |k: usize| kernel[k].recip().expect("positive");
    let turn = Matrix::from_fn(l, l, |i, j| {
        if i == j {
            scale(i)
        } else if j == other {
            &shares[i] * &scale(i)
        } else {
            Rational::ZERO
        }
    });
    let segment = Segment::Turn { at: point.clone(), from: identity(l), to: turn };
    let end = segment.at(&Rational::ONE)?;
    Some(Balanced { segment, end, pivots })
}

fn surjective(product: &Matrix<Rational>, a: &Pair, b: &Pair) -> Option<(Vec<Segment>, Vec<usize>)> {
    const TRIES: usize = 300;
    let (m, l) = (product.rows(), a.right.rows());
    let (from, at_b) = (balance(a)?, balance(b)?);
    // The pivots of B take the places of those of A.
    let rest = |pivots: &[usize]| (0..l).filter(|k| !pivots.contains(k)).collect::<Vec<_>>();
    let mut order = vec![0; l];
    for (&place, &unit) in
        from.pivots.iter().chain(&rest(&from.pivots)).zip(at_b.pivots.iter().chain(&rest(&at_b.pivots)))
    {
        order[place] = unit;
    }
    let sign = |pair: &Pair| determinant(&pair.left.select_columns(&from.pivots)).signum();
    let mut to = permuted(&at_b.end, &order);
    if sign(&from.end) != sign(&to) {
        let swaps: Vec<(usize, usize)> = if m >= 2 {
            vec![(from.pivots[0], from.pivots[1])]
        } else {
            rest(&from.pivots).into_iter().map(|k| (from.pivots[0], k)).collect()
        };
        let swap = swaps.into_iter().find(|&(i, j)| {
            let mut swapped = order.clone();
            swapped.swap(i, j);
            sign(&permuted(&at_b.end, &swapped)) == sign(&from.end)
        })?;
        order.swap(swap.0, swap.1);
        to = permuted(&at_b.end, &order);
    }
    let b = permuted(b, &order);
    let back = balance_of(&b, &at_b, &order)?;
    let pivots = &from.pivots;
    let columns = |pair: &Pair| pair.left.select_columns(pivots);
    let mut stations = vec![from.end.clone()];
    if !never_singular(&columns(&from.end), &columns(&to)) {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let middle = (0..TRIES).find_map(|_| {
            let middle = station(product, pivots, l, &mut rng)?;
            let good = never_singular(&columns(&from.end), &columns(&middle))
                && never_singular(&columns(&middle), &columns(&to));
            good.then_some(middle)
        })?;
        stations.push(middle);
    }
    stations.push(to);
    let slide = |pair: &[Pair], raise: Vec<Rational>| Segment::Slide {
        product: product.clone(),
        from: pair[0].clone(),
        to: pair[1].clone(),
        pivots: pivots.clone(),
        raise,
    };
    let raise =
        needed_raise(stations.windows(2).map(|pair| slide(pair, vec![Rational::ZERO; product.cols()])))?;
    let lift = |pair: &Pair, down: bool| {
        let high = raised(&pair.right, &raise);
        let (from, to) = if down { (high, pair.right.clone()) } else { (pair.right.clone(), high) };
        Segment::Line { left: pair.left.clone(), from, to }
    };
    let mut segments = vec![from.segment, lift(&stations[0], false)];
    segments.extend(stations.windows(2).map(|pair| slide(pair, raise.clone())));
    segments.push(lift(&stations[stations.len() - 1], true));
    segments.push(back);
    Some((segments, order))
}

/// The balancing segment of `B`, permuted and backwards.
fn balance_of(b: &Pair, balanced: &Balanced, order: &[usize]) -> Option<Segment> {
    let Segment::Turn { from, to, .. } = &balanced.segment else { return None };
    let relabel = |turn: &Matrix<Rational>| turn.select_rows(order).select_columns(order);
    Some(Segment::Turn { at: b.clone(), from: relabel(to), to: relabel(from) })
}

/// A random `(V, W)` with `V 1 = 0`, not necessarily with `W >= 0`.
fn station(product: &Matrix<Rational>, pivots: &[usize], l: usize, rng: &mut ChaCha8Rng) -> Option<Pair> {
    let (m, d) = (product.rows(), product.cols());
    let mut left = Matrix::from_fn(m, l, |_, _| Rational::from(rng.random_range(-8..=8)));
    let last = (0..l).rev().find(|k| !pivots.contains(k))?;
    for i in 0..m {
        left[(i, last)] = Rational::ZERO;
        left[(i, last)] = -left.row(i).iter().cloned().sum::<Rational>();
    }
    let solved = Scalar::product(&inverse(left.select_columns(pivots), &Deadline::NEVER)?, product)?;
    let mut right = Matrix::from_fn(l, d, |_, _| Rational::ZERO);
    for (row, &k) in pivots.iter().enumerate() {
        right.row_mut(k).clone_from_slice(solved.row(row));
    }
    Some(Pair { left, right })
}

/// Per column, more than what keeps `W >= 0` on a grid of points of the slides.
fn needed_raise(slides: impl Iterator<Item = Segment>) -> Option<Vec<Rational>> {
    const GRID: i128 = 16;
    let mut raise: Vec<Rational> = Vec::new();
    for slide in slides {
        for k in 0..=GRID {
            let point = slide.at(&Rational::dyadic(k, -4))?;
            raise.resize(point.right.cols(), Rational::ONE);
            for (j, most) in raise.iter_mut().enumerate() {
                let depth = point.right.column(j).map(|x| -x).max().unwrap_or(Rational::ZERO);
                *most = most.clone().max((&depth * &Rational::from(4)).round_up(8));
            }
        }
    }
    Some(raise)
}

fn permuted(pair: &Pair, order: &[usize]) -> Pair {
    Pair { left: pair.left.select_columns(order), right: pair.right.select_rows(order) }
}

fn raised(right: &Matrix<Rational>, raise: &[Rational]) -> Matrix<Rational> {
    Matrix::from_fn(right.rows(), right.cols(), |k, j| &right[(k, j)] + &raise[j])
}

fn identity(n: usize) -> Matrix<Rational> {
    Matrix::from_fn(n, n, |i, j| if i == j { Rational::ONE } else { Rational::ZERO })
}

/// `(1 - s) from + s to`.
pub(super) fn mix(from: &Matrix<Rational>, to: &Matrix<Rational>, s: &Rational) -> Matrix<Rational> {
    Matrix::from_fn(from.rows(), from.cols(), |i, j| between(&from[(i, j)], &to[(i, j)], s))
}

/// `(1 - s) x + s y`.
pub(super) fn between(x: &Rational, y: &Rational, s: &Rational) -> Rational {
    if x == y { x.clone() } else { x + &(s * &(y - x)) }
}

/// The determinant, by elimination.
fn determinant(matrix: &Matrix<Rational>) -> Rational {
    let (n, mut work, mut result) = (matrix.rows(), matrix.clone(), Rational::ONE);
    for col in 0..n {
        let Some(pivot) = (col..n).find(|&i| !work[(i, col)].is_zero()) else { return Rational::ZERO };
        if pivot != col {
            let order: Vec<usize> = (0..n)
                .map(|i| {
                    if i == col {
                        pivot
                    } else if i == pivot {
                        col
                    } else {
                        i
                    }
                })
                .collect();
            work = work.select_rows(&order);
            result = -result;
        }
        result *= &work[(col, col)];
        for i in col + 1..n {
            let factor = &work[(i, col)] / &work[(col, col)];
            for j in col..n {
                let term = &factor * &work[(col, j)];
                work[(i, j)] -= &term;
            }
        }
    }
    result
}

/// Whether `det((1 - s) from + s to)` has no zero for `s` in `[0, 1]`: proved if true.
fn never_singular(from: &Matrix<Rational>, to: &Matrix<Rational>) -> bool {
    const DEPTH: u32 = 12;
    let n = from.rows();
    if determinant(from).signum() * determinant(to).signum() != 1 {
        return false;
    }
    // Values at k/n, and from them the Bernstein coefficients.
    let node = |k: usize| &Rational::from(k as i64) / &Rational::from(n as i64);
    let values = Matrix::from_fn(n + 1, 1, |k, _| determinant(&mix(from, to, &node(k))));
    let collocation = Matrix::from_fn(n + 1, n + 1, |k, i| bernstein(n, i, &node(k)));
    let Some(coefficients) =
        inverse(collocation, &Deadline::NEVER).and_then(|inverse| Scalar::product(&inverse, &values))
    else {
        return false;
    };
    one_sign(coefficients.into_entries(), DEPTH)
}

fn bernstein(n: usize, i: usize, s: &Rational) -> Rational {
    let power = |x: &Rational, k: usize| (0..k).fold(Rational::ONE, |product, _| &product * x);
    let binomial = (0..i).fold(Rational::ONE, |product, k| {
        &(&product * &Rational::from((n - k) as i64)) / &Rational::from(k as i64 + 1)
    });
    &(&binomial * &power(s, i)) * &power(&(&Rational::ONE - s), n - i)
}

/// Whether a polynomial with these Bernstein coefficients is shown to have no zero on `[0, 1]`.
fn one_sign(coefficients: Vec<Rational>, depth: u32) -> bool {
    let sign = coefficients[0].signum();
    if coefficients.iter().all(|c| c.signum() == sign) {
        return sign != 0;
    }
    if depth == 0 || coefficients.last().is_some_and(|c| c.signum() != sign) {
        return false;
    }
    // De Casteljau at 1/2.
    let half = Rational::dyadic(1, -1);
    let (mut row, mut left, mut right) = (coefficients, Vec::new(), Vec::new());
    while let (Some(first), Some(last)) = (row.first(), row.last()) {
        left.push(first.clone());
        right.push(last.clone());
        row = row.windows(2).map(|pair| &(&pair[0] + &pair[1]) * &half).collect();
    }
    right.reverse();
    one_sign(left, depth - 1) && one_sign(right, depth - 1)
}
