//! The dual simplex method: the least value of a linear function where rows are not negative.
//!
//! The method starts at a vertex whose multipliers are nonnegative (a corner of a box where the function is
//! least) and repairs violated rows: the entering row takes the place of the row of the basis that keeps the
//! multipliers nonnegative. In exact arithmetic rows enter and leave by the smallest number, so that the
//! method ends [bland1977rules, Section 2].

use super::basis::{Basis, Invert};
use crate::Ordered;

/// The rows of a linear program, `a_i x + c_i >= 0`.
pub(super) trait Rows<N> {
    /// `a_i`.
    fn gradient(&self, i: usize) -> Vec<N>;

    /// `c_i`.
    fn constant(&self, i: usize) -> N;

    /// A row that is negative at a point, and its value; exact programs take the first one.
    fn violated(&self, x: &[N], basis: &Basis<N>) -> Option<(usize, N)>;
}

/// How the basis is kept from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Upkeep {
    /// It is changed in one place at a time.
    Update,
    /// It is made anew for every step, and pivots below this count as zero: slower, and rounding does not add
    /// up.
    Anew(f64),
}

/// The basis and the point where `c` is least; `None` after too many steps, if it is late, or if rounding
/// leads astray.
pub(super) fn minimize<N: Ordered + Invert>(
    rows: &impl Rows<N>,
    c: &[N],
    mut basis: Basis<N>,
    upkeep: Upkeep,
    steps: usize,
    is_late: &dyn Fn() -> bool,
) -> Option<(Basis<N>, Vec<N>)> {
    let mut x = basis.vertex(|i| rows.constant(i));
    for _ in 0..steps {
        if is_late() {
            return None;
        }
        let Some((entering, value)) = rows.violated(&x, &basis) else { return Some((basis, x)) };
        let shares = basis.coordinates(&rows.gradient(entering));
        let leaving = leaving(&basis, &basis.coordinates(c), &shares)?;
        match upkeep {
            Upkeep::Update => {
                basis.replace(leaving, entering, &shares);
                x.iter_mut().zip(basis.edge(leaving)).for_each(|(x, e)| x.subtract_product(&value, e));
            }
            Upkeep::Anew(least) => {
                let mut numbers = basis.numbers().to_vec();
                numbers[leaving] = entering as u32;
                let vectors: Vec<N> = numbers.iter().flat_map(|&i| rows.gradient(i as usize)).collect();
                basis = Basis::new(numbers, &vectors, least)?;
                x = basis.vertex(|i| rows.constant(i));
            }
        }
    }
    None
}

/// The place in the basis that the entering row takes: the least ratio of multiplier and share.
fn leaving<N: Ordered>(basis: &Basis<N>, own: &[N], shares: &[N]) -> Option<usize> {
    let mut best: Option<(usize, N)> = None;
    for (k, share) in shares.iter().enumerate().filter(|(_, share)| share.sign() > 0) {
        let multiplier = if own[k] < N::ZERO { N::ZERO } else { own[k].clone() };
        let ratio = multiplier.quotient(share);
        let better = best.as_ref().is_none_or(|(other, least)| {
            ratio < *least || N::IS_EXACT && ratio == *least && basis.numbers()[k] < basis.numbers()[*other]
        });
        if better {
            best = Some((k, ratio));
        }
    }
    best.map(|(k, _)| k)
}
