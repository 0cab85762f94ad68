//! Paths in `{(V, W) : V W = M, W >= 0}`, made of segments that are rational in the parameter.
//!
//! - *Injective* (`l = rank M <= m`): `W_B = G W_A`, and on the straight line from `W_A` to `W_B` rows stay
//!   `>= 0`; it is a path if `det((1 - s) I + s G)` has no zero. Any two points are joined after exchanging
//!   two neurons if `det G < 0`: the rows of `G` lie in a convex cone with interior, and bases of one
//!   orientation in such a cone are connected. Random intermediate points are tried until all lines are good.
//! - *Surjective* (`l > m = rank M`): subtracting multiples of the other columns from one column of `V` (and
//!   adding multiples of one row to the others) makes the kernel of `V` contain a positive vector, scaling
//!   makes it the vector of ones; then rows of `W` may grow together, and `V` moves on a straight line in
//!   `{V : V 1 = 0}`.
//! - *Tall* (`l > d = rank M`): `V` moves on a straight line until it is zero but for `d` neurons whose rows
//!   are a basis; these are joined as above, the rows of the others on straight lines.

use fiberscope_algebra::elimination::{determinant, identity, inverse};
use fiberscope_algebra::modular::independent_rows;
use fiberscope_algebra::never;
use fiberscope_algebra::rational::coordinates;
use fiberscope_core::{Matrix, Rational, Scalar};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::singular::{mix, never_singular};

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
    /// `V` on a straight line, `W` fixed.
    Tilt { right: Matrix<Rational>, from: Matrix<Rational>, to: Matrix<Rational> },
    /// `W -> G(s) W`, `V -> V G(s)^-1` with `G(s)` on the line from one matrix to another.
    Turn { at: Pair, from: Matrix<Rational>, to: Matrix<Rational> },
    /// `V` on a straight line in `{V : V 1 = 0}`, `W` solved for in the columns `pivots` and raised by
    /// `raise`.
    Slide { product: Matrix<Rational>, from: Pair, to: Pair, pivots: Vec<usize>, raise: Vec<Rational> },
}

impl Segment {
    /// The point at `s`.
    pub fn at(&self, s: &Rational) -> Option<Pair> {
        match self {
            Segment::Line { left, from, to } => Some(Pair { left: left.clone(), right: mix(from, to, s) }),
            Segment::Tilt { right, from, to } => Some(Pair { left: mix(from, to, s), right: right.clone() }),
            Segment::Turn { at, from, to } => {
                let turn = mix(from, to, s);
                let right = Scalar::product(&turn, &at.right)?;
                let left = Scalar::product(&at.left, &inverse(&turn, &never)?)?;
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
                let solved = Scalar::product(&inverse(&left.select_columns(pivots), &never)?, &open)?;
                for (row, &k) in pivots.iter().enumerate() {
                    right.row_mut(k).clone_from_slice(solved.row(row));
                }
                Some(Pair { left, right: raised(&right, raise) })
            }
        }
    }
}

/// Joins two points; the second one after a permutation of its rows. `None` if the ranks are not those above,
/// or no good lines are found.
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
    } else if rank == product.cols() {
        tall(product, a, b)
    } else {
        None
    }
}

fn tall(product: &Matrix<Rational>, a: &Pair, b: &Pair) -> Option<(Vec<Segment>, Vec<usize>)> {
    let (l, d) = (a.right.rows(), product.cols());
    let (basis, basis_b) = (independent_rows(&a.right), independent_rows(&b.right));
    if basis.len() != d || basis_b.len() != d {
        return None;
    }
    let rest = |basis: &[usize]| (0..l).filter(|k| !basis.contains(k)).collect::<Vec<_>>();
    let others = rest(&basis);
    let mut order = vec![0; l];
    let places = basis.iter().chain(&others);
    places.zip(basis_b.iter().chain(&rest(&basis_b))).for_each(|(&place, &unit)| order[place] = unit);
    // V that is zero but for the basis.
    let square = |pair: &Pair| -> Option<Pair> {
        let right = pair.right.select_rows(&basis);
        let left = Scalar::product(product, &inverse(&right, &never)?)?;
        Some(Pair { left, right })
    };
    let spread = |left: &Matrix<Rational>| {
        let column = |k: usize| basis.iter().position(|&unit| unit == k);
        Matrix::from_fn(left.rows(), l, |o, k| column(k).map_or(Rational::ZERO, |k| left[(o, k)].clone()))
    };
    let (turns, swapped) = injective(&square(a)?, &square(&permuted(b, &order))?)?;
    let before = order.clone();
    basis.iter().zip(&swapped).for_each(|(&place, &k)| order[place] = before[basis[k]]);
    let b = permuted(b, &order);
    let (low_a, low_b) = (spread(&square(a)?.left), spread(&square(&b)?.left));
    let start = Pair { left: low_a.clone(), right: a.right.clone() };
    let block = |turn: &Matrix<Rational>| {
        let column = |k: usize| basis.iter().position(|&unit| unit == k);
        Matrix::from_fn(l, l, |i, j| match (column(i), column(j)) {
            (Some(i), Some(j)) => turn[(i, j)].clone(),
            _ if i == j => Rational::ONE,
            _ => Rational::ZERO,
        })
    };
    let mut segments = vec![Segment::Tilt { right: a.right.clone(), from: a.left.clone(), to: low_a }];
    for turn in turns {
        let Segment::Turn { from, to, .. } = turn else { return None };
        segments.push(Segment::Turn { at: start.clone(), from: block(&from), to: block(&to) });
    }
    let turned = Matrix::from_fn(l, d, |k, j| {
        if others.contains(&k) { a.right[(k, j)].clone() } else { b.right[(k, j)].clone() }
    });
    segments.push(Segment::Line { left: low_b.clone(), from: turned, to: b.right.clone() });
    segments.push(Segment::Tilt { right: b.right.clone(), from: low_b, to: b.left.clone() });
    Some((segments, order))
}

fn injective(a: &Pair, b: &Pair) -> Option<(Vec<Segment>, Vec<usize>)> {
    const TRIES: usize = 300;
    let l = a.right.rows();
    let mut order: Vec<usize> = (0..l).collect();
    let mut turn = coordinates(&a.right, &b.right, &never)?;
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
    // V_other = sum over pivots of alpha V_pivot; its multiples c are taken off such that the kernel has c -
    // alpha > 0.
    let alpha = coordinates(
        &point.left.select_columns(&pivots).transpose(),
        &point.left.select_columns(&[other]).transpose(),
        &never,
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
    let solved = Scalar::product(&inverse(&left.select_columns(pivots), &never)?, product)?;
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
