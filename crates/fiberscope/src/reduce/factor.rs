//! Exact factorisations `M = C R` with as few rows in `R` as a layer of linear neurons allows.
//!
//! A linear neuron `w a + b >= 0` may have `w_j` of any sign where input `a_j` is bounded on both
//! sides, `w_j >= 0` where it is bounded below only, `w_j <= 0` where it is bounded above only, and
//! `w_j = 0` where it is not bounded; then `b = -min w a` makes it linear. Let `r = rank M`.
//!
//! - `r` rows suffice if some row `y` of the row space is strictly inside these conditions wherever `M`
//!   has a nonzero column: with `M = C R` and large enough `t >= 0`, the rows of `R + t y` obey them,
//!   and they still span the row space.
//! - `r + 1` rows always suffice if the unbounded columns of `M` are zero: `M = [C, -C 1] [R + 1 g; g]`
//!   for a large enough row `g`. So the nonnegative column rank is `r` or `r + 1` [threelayer2026,
//!   Section 4].

use fiberscope_algebra::modular::independent_rows;
use fiberscope_algebra::program::{Pointedness, pointedness};
use fiberscope_algebra::rational::{coordinates, dot};
use fiberscope_core::{Interval, Matrix, Rational};

use crate::limit::Deadline;

/// The length of the shifts that make rows allowed.
const SHIFT_BITS: u32 = 8;

/// A product `coefficients * rows`.
#[derive(Clone, Debug, PartialEq)]
pub struct Factorization {
    /// The left factor, one column per row of the right one.
    pub coefficients: Matrix<Rational>,
    /// The right factor.
    pub rows: Matrix<Rational>,
}

/// What a linear neuron's weight on an input may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Any number.
    Any,
    /// Numbers of this sign (1 or -1) and zero.
    Sign(i8),
    /// Zero only.
    Zero,
}

impl Allowed {
    /// What is allowed for an input in this interval.
    pub fn on(side: &Interval) -> Self {
        match (&side.lower, &side.upper) {
            (Some(_), Some(_)) => Allowed::Any,
            (Some(_), None) => Allowed::Sign(1),
            (None, Some(_)) => Allowed::Sign(-1),
            (None, None) => Allowed::Zero,
        }
    }

    fn admits(self, x: &Rational) -> bool {
        match self {
            Allowed::Any => true,
            Allowed::Sign(sign) => x.signum() * sign >= 0,
            Allowed::Zero => x.is_zero(),
        }
    }
}

/// `M = C R` with allowed rows in `R`: as few as the two constructions above give. `None` if there is
/// none, or if finding it would be too much work.
pub fn allowed_factorization(
    matrix: &Matrix<Rational>,
    allowed: &[Allowed],
    deadline: &Deadline,
) -> Option<Factorization> {
    let basis = independent_rows(matrix);
    let rows = matrix.select_rows(&basis);
    let coefficients = coordinates(&rows, matrix, &|| deadline.is_past())?;
    let free = |j: usize| allowed[j] != Allowed::Zero || matrix.column(j).all(Rational::is_zero);
    if !(0..matrix.cols()).all(free) {
        return None;
    }
    let plain = Factorization { coefficients, rows };
    Some(
        plain
            .with_signs(allowed)
            .or_else(|| plain.shifted(allowed, deadline))
            .unwrap_or_else(|| plain.extended(allowed)),
    )
}

impl Factorization {
    /// The factorisation with rows turned around where that makes all of them allowed.
    fn with_signs(&self, allowed: &[Allowed]) -> Option<Self> {
        let sign = |row: &[Rational]| {
            [1, -1].into_iter().find(|&sign| {
                let sign = Rational::from(sign);
                row.iter().zip(allowed).all(|(x, a)| a.admits(&(x * &sign)))
            })
        };
        let signs: Vec<Rational> =
            self.rows.iter_rows().map(|row| sign(row).map(Rational::from)).collect::<Option<_>>()?;
        let (m, r, d) = (self.coefficients.rows(), self.rows.rows(), self.rows.cols());
        Some(Factorization {
            coefficients: Matrix::from_fn(m, r, |i, k| &self.coefficients[(i, k)] * &signs[k]),
            rows: Matrix::from_fn(r, d, |k, j| &self.rows[(k, j)] * &signs[k]),
        })
    }

    /// Adds multiples of one row of the row space to all rows: `R' = (1 + t l^T) R`, whose inverse is
    /// that of Sherman and Morrison.
    fn shifted(&self, allowed: &[Allowed], deadline: &Deadline) -> Option<Self> {
        let (m, r, d) = (self.coefficients.rows(), self.rows.rows(), self.rows.cols());
        let combination = interior_combination(&self.rows, allowed, deadline)?;
        let y: Vec<Rational> = (0..d).map(|j| dot(&combination, self.rows.column(j))).collect();
        let mut shifts: Vec<Rational> = (0..r)
            .map(|k| {
                let wrong = (0..d).filter(|&j| !allowed[j].admits(&self.rows[(k, j)]));
                wrong.map(|j| -(&self.rows[(k, j)] / &y[j])).max().unwrap_or(Rational::ZERO)
            })
            .collect();
        // Larger shifts will do as well: a power of two as pivot leaves dyadic numbers dyadic.
        shifts.iter_mut().for_each(|shift| *shift = shift.round_up(SHIFT_BITS));
        let k = (0..r).max_by_key(|&k| combination[k].abs())?;
        let mut pivot = &Rational::ONE + &dot(&combination, shifts.iter());
        let sign = Rational::from(i64::from(combination[k].signum()));
        let wanted = &sign * &power_of_two_above(&(&sign * &pivot));
        shifts[k] += &(&(&wanted - &pivot) / &combination[k]);
        pivot = wanted;
        let rows = Matrix::from_fn(r, d, |k, j| &self.rows[(k, j)] + &(&shifts[k] * &y[j]));
        let scale = pivot.recip()?;
        let along: Vec<_> = (0..m).map(|i| &dot(self.coefficients.row(i), shifts.iter()) * &scale).collect();
        let coefficients =
            Matrix::from_fn(m, r, |i, k| &self.coefficients[(i, k)] - &(&along[i] * &combination[k]));
        Some(Factorization { coefficients, rows })
    }

    /// Adds one row that makes the others allowed.
    fn extended(&self, allowed: &[Allowed]) -> Self {
        let (m, r, d) = (self.coefficients.rows(), self.rows.rows(), self.rows.cols());
        let shift = |j: usize| {
            let wrong = self.rows.column(j).filter(|x| !allowed[j].admits(x));
            wrong.max_by_key(|x| x.abs()).map_or(Rational::ZERO, |x| -x)
        };
        let extra: Vec<_> = (0..d).map(shift).collect();
        let rows =
            Matrix::from_fn(
                r + 1,
                d,
                |k, j| {
                    if k == r { extra[j].clone() } else { &self.rows[(k, j)] + &extra[j] }
                },
            );
        let coefficients = Matrix::from_fn(m, r + 1, |i, k| {
            if k == r {
                -self.coefficients.row(i).iter().cloned().sum::<Rational>()
            } else {
                self.coefficients[(i, k)].clone()
            }
        });
        Factorization { coefficients, rows }
    }
}

/// Coefficients `l` such that `l R` has the strict sign wherever a sign is demanded and `R` has a nonzero
/// column: a functional that is positive on these columns, turned around where the sign is -1. There is one
/// iff they span a pointed cone, which is decided exactly. Its largest coefficient is 1 or -1.
fn interior_combination(
    rows: &Matrix<Rational>,
    allowed: &[Allowed],
    deadline: &Deadline,
) -> Option<Vec<Rational>> {
    let signed = |j: usize| match allowed[j] {
        Allowed::Sign(sign) => Some((j, Rational::from(i64::from(sign)))),
        _ => None,
    };
    let columns: Vec<(usize, Rational)> = (0..rows.cols()).filter_map(signed).collect();
    let turned = Matrix::from_fn(rows.rows(), columns.len(), |i, k| &rows[(i, columns[k].0)] * &columns[k].1);
    match pointedness(&turned, &|| deadline.is_past())? {
        Pointedness::Pointed { functional } => Some(functional),
        Pointedness::NotPointed { .. } => None,
    }
}

/// A power of two that is at least 1 and at least `x`.
fn power_of_two_above(x: &Rational) -> Rational {
    let mut power = Rational::ONE;
    while power < *x {
        power += &power.clone();
    }
    power
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn matrix(rows: &[&[i64]]) -> Matrix<Rational> {
        let rows: Vec<Vec<_>> =
            rows.iter().map(|row| row.iter().map(|&x| Rational::from(x)).collect()).collect();
        Matrix::from_rows(&rows).unwrap()
    }

    fn check(matrix: &Matrix<Rational>, allowed: &[Allowed]) -> usize {
        let found = allowed_factorization(matrix, allowed, &Deadline::NEVER).unwrap();
        for (i, row) in matrix.iter_rows().enumerate() {
            for (j, x) in row.iter().enumerate() {
                assert_eq!(&dot(found.coefficients.row(i), found.rows.column(j)), x);
            }
        }
        assert!(found.rows.iter_rows().all(|row| row.iter().zip(allowed).all(|(x, a)| a.admits(x))));
        found.rows.rows()
    }

    #[test]
    fn the_number_of_rows_is_the_nonnegative_column_rank() {
        use Allowed::{Any, Sign, Zero};
        let orthant = [Sign(1); 3];
        // Columns in a pointed cone, in a half-space bounded by one of them, around the origin.
        assert_eq!(check(&matrix(&[&[1, 0, -1], &[2, 1, 3]]), &orthant), 2);
        assert_eq!(check(&matrix(&[&[1, 0, -1], &[1, 1, -1]]), &orthant), 3);
        assert_eq!(check(&matrix(&[&[1, -1, -1]]), &orthant), 2);
        assert_eq!(check(&matrix(&[&[-1, -2, 0]]), &orthant), 1);
        assert_eq!(check(&matrix(&[&[1, -1, -1]]), &[Any, Sign(-1), Any]), 1);
        assert_eq!(check(&matrix(&[&[1, 0, -1]]), &[Any, Zero, Sign(-1)]), 1);
        assert_eq!(check(&matrix(&[&[0, 0, 0]]), &[Zero; 3]), 0);
        assert_eq!(allowed_factorization(&matrix(&[&[1, 0, 0]]), &[Zero; 3], &Deadline::NEVER), None);
    }

    #[test]
    fn random_matrices_factor() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        for _ in 0..200 {
            let (m, d) = (rng.random_range(1..5), rng.random_range(1..6));
            let matrix = Matrix::from_fn(m, d, |_, _| Rational::from(rng.random_range(-3..=3)));
            let allowed: Vec<_> = (0..d)
                .map(|_| [Allowed::Any, Allowed::Sign(1), Allowed::Sign(-1)][rng.random_range(0..3)])
                .collect();
            let rank = independent_rows(&matrix).len();
            let count = check(&matrix, &allowed);
            assert!(count == rank || count == rank + 1);
        }
    }
}
