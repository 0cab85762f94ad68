//! Ranks of matrices of doubles, exactly.
//!
//! Scaling a row by a power of two makes its doubles integers and keeps the rank. Modulo a prime the
//! rank of an integer matrix can only drop, so the rank modulo one prime is a certified *lower* bound,
//! and full rank is proved by one elimination with machine numbers. The upper bound comes from the
//! shape, or, if the modular rank is not full, from elimination over the rationals.

use fiberscope_core::residue::{PRIME, inverse, multiply, power, reduce};
use fiberscope_core::{Matrix, RankBounds, Rational, Scalar};

use crate::limit::Deadline;

/// The most entries times pivots for which rational elimination is tried.
const RATIONAL_WORK: usize = 1 << 18;

/// Bounds for the rank of a matrix of doubles. They agree unless the matrix is both large and (most
/// likely) of deficient rank.
pub fn rank(matrix: &Matrix) -> RankBounds {
    rank_until(matrix, &Deadline::NEVER)
}

/// The same, with what is known when the deadline comes first.
pub fn rank_until(matrix: &Matrix, deadline: &Deadline) -> RankBounds {
    let full = matrix.rows().min(matrix.cols());
    let lower = modular_rank(matrix, deadline);
    if lower == full || deadline.is_past() {
        return RankBounds { lower, upper: full };
    }
    if matrix.rows() * matrix.cols() * full <= RATIONAL_WORK {
        let exact = rational_rank(matrix.map(Scalar::to_rational));
        return RankBounds { lower: exact, upper: exact };
    }
    RankBounds { lower, upper: full }
}

/// The rank of a matrix of rationals that is known to be at most `upper`: one elimination modulo a prime if it is
/// `upper`, else elimination over the rationals.
pub fn rank_at_most(matrix: &Matrix<Rational>, upper: usize) -> usize {
    if independent_rows(matrix).len() == upper { upper } else { rational_rank(matrix.clone()) }
}

/// Rows of the matrix, as many as its rank modulo `2^61 - 1`, the first ones where there is a choice.
/// They are independent for certain; they are a basis of the row space unless the prime is unlucky.
pub fn independent_rows(matrix: &Matrix<Rational>) -> Vec<usize> {
    let mut independent = Vec::new();
    // Rows in echelon form with their leading column, where the entry is 1.
    let mut echelon: Vec<(usize, Vec<u64>)> = Vec::new();
    for (i, row) in matrix.iter_rows().enumerate() {
        let Some(mut row) = row.iter().map(Rational::residue).collect::<Option<Vec<u64>>>() else { continue };
        for (lead, earlier) in &echelon {
            if row[*lead] != 0 {
                let factor = PRIME - row[*lead];
                for (x, &e) in row.iter_mut().zip(earlier) {
                    *x = reduce(u128::from(*x) + u128::from(factor) * u128::from(e));
                }
            }
        }
        if let Some(lead) = row.iter().position(|&x| x != 0) {
            let inverse = inverse(row[lead]);
            row.iter_mut().for_each(|x| *x = multiply(*x, inverse));
            echelon.push((lead, row));
            independent.push(i);
        }
        if independent.len() == matrix.cols() {
            break;
        }
    }
    independent
}

/// The rank of a matrix of residues modulo [`PRIME`], row by row, by elimination without divisions.
pub(crate) fn residue_rank(mut entries: Vec<u64>, cols: usize) -> usize {
    let rows = entries.len() / cols.max(1);
    let mut rank = 0;
    for col in 0..cols {
        let Some(pivot) = (rank..rows).find(|&i| entries[i * cols + col] != 0) else { continue };
        (0..cols).for_each(|j| entries.swap(rank * cols + j, pivot * cols + j));
        for i in rank + 1..rows {
            let (scale, factor) = (entries[rank * cols + col], entries[i * cols + col]);
            if factor != 0 {
                for j in col..cols {
                    let taken = multiply(factor, entries[rank * cols + j]);
                    let kept = u128::from(entries[i * cols + j]) * u128::from(scale);
                    entries[i * cols + j] = reduce(kept + u128::from(PRIME - taken));
                }
            }
        }
        rank += 1;
        if rank == rows {
            break;
        }
    }
    rank
}

/// The rank modulo [`PRIME`] of the matrix with rows scaled to integers, or the pivots found before the deadline.
fn modular_rank(matrix: &Matrix, deadline: &Deadline) -> usize {
    let mut rows: Vec<Vec<u64>> = matrix.iter_rows().map(integer_row).collect();
    let mut rank = 0;
    for col in 0..matrix.cols() {
        if deadline.is_past() {
            break;
        }
        let Some(pivot) = (rank..rows.len()).find(|&i| rows[i][col] != 0) else { continue };
        rows.swap(rank, pivot);
        let (done, rest) = rows.split_at_mut(rank + 1);
        let pivot_row = &done[rank];
        let inverse = inverse(pivot_row[col]);
        for row in rest.iter_mut().filter(|row| row[col] != 0) {
            let factor = PRIME - multiply(row[col], inverse);
            for (x, &p) in row[col..].iter_mut().zip(&pivot_row[col..]) {
                *x = reduce(u128::from(*x) + u128::from(factor) * u128::from(p));
            }
        }
        rank += 1;
        if rank == rows.len() {
            break;
        }
    }
    rank
}

/// The row times a power of two that makes it integral, modulo [`PRIME`].
fn integer_row(row: &[f64]) -> Vec<u64> {
    let parts: Vec<_> = row.iter().map(|&x| mantissa_and_exponent(x)).collect();
    let least = parts.iter().filter(|(m, _)| *m != 0).map(|&(_, e)| e).min().unwrap_or(0);
    let entry = |&(mantissa, exponent): &(i64, i32)| {
        if mantissa == 0 {
            return 0;
        }
        let size = multiply(mantissa.unsigned_abs() % PRIME, power(2, (exponent - least) as u64));
        if mantissa < 0 { (PRIME - size) % PRIME } else { size }
    };
    parts.iter().map(entry).collect()
}

/// `(m, e)` with `x = m 2^e`.
fn mantissa_and_exponent(x: f64) -> (i64, i32) {
    let bits = x.to_bits();
    let (biased, fraction) = ((bits >> 52 & 0x7ff) as i32, (bits & ((1 << 52) - 1)) as i64);
    let (magnitude, exponent) =
        if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
    (if x < 0.0 { -magnitude } else { magnitude }, exponent)
}

/// The rank by elimination over the rationals: slow and obvious.
fn rational_rank(mut matrix: Matrix<Rational>) -> usize {
    let mut rank = 0;
    for col in 0..matrix.cols() {
        let Some(pivot) = (rank..matrix.rows()).find(|&i| !matrix[(i, col)].is_zero()) else { continue };
        for j in 0..matrix.cols() {
            let swapped = matrix[(pivot, j)].clone();
            matrix[(pivot, j)] = std::mem::replace(&mut matrix[(rank, j)], swapped);
        }
        for i in rank + 1..matrix.rows() {
            let factor = &matrix[(i, col)] / &matrix[(rank, col)];
            for j in col..matrix.cols() {
                let term = &factor * &matrix[(rank, j)];
                matrix[(i, j)] -= &term;
            }
        }
        rank += 1;
        if rank == matrix.rows() {
            break;
        }
    }
    rank
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn modular_and_rational_ranks_agree_with_the_rank_by_construction() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for case in 0..60 {
            let (rows, cols) = (rng.random_range(1..7), rng.random_range(1..7));
            let inner = case % 4 + 1;
            let mut small = |_: usize, _: usize| f64::from(rng.random_range(-8..=8));
            let (left, right) =
                (Matrix::from_fn(rows, inner, &mut small), Matrix::from_fn(inner, cols, &mut small));
            let product = Matrix::from_fn(rows, cols, |i, j| {
                (0..inner).map(|k| left[(i, k)] * right[(k, j)]).sum::<f64>() * 2f64.powi(10 * i as i32 - 30)
            });
            let bounds = rank(&product);
            assert_eq!(bounds.lower, bounds.upper);
            assert_eq!(bounds.lower, modular_rank(&product, &Deadline::NEVER));
            assert!(bounds.upper <= inner);
        }
    }

    #[test]
    fn independent_rows_span_the_row_space() {
        let third: Rational = "1/3".parse().unwrap();
        let row = |x: i64, y: i64| vec![&Rational::from(x) * &third, Rational::from(y)];
        let rows = [row(0, 0), row(3, 1), row(6, 2), row(0, 5), row(1, 1)];
        assert_eq!(independent_rows(&Matrix::from_rows(&rows).unwrap()), [1, 3]);
    }

    #[test]
    fn one_unit_in_the_last_place_makes_the_rank_full() {
        let next = f64::from_bits(0.3f64.to_bits() + 1);
        let rows = [[0.1, 0.3], [0.1, next]];
        assert_eq!(rank(&Matrix::from_rows(&rows).unwrap()), RankBounds { lower: 2, upper: 2 });
        let rows = [[0.1, 0.3], [0.2, 0.6]];
        assert_eq!(rank(&Matrix::from_rows(&rows).unwrap()), RankBounds { lower: 1, upper: 1 });
    }

    #[test]
    fn without_time_the_shape_is_known() {
        let square = Matrix::from_rows(&[[1.0, 0.0], [0.0, 1.0]]).unwrap();
        let late = Deadline::after(Some(std::time::Duration::ZERO));
        assert_eq!(rank_until(&square, &late), RankBounds { lower: 0, upper: 2 });
    }

    #[test]
    fn extreme_exponents_and_zero_rows() {
        let rows = [[5e-324, f64::MAX], [0.0, 0.0], [1.0, -0.0]];
        assert_eq!(rank(&Matrix::from_rows(&rows).unwrap()).upper, 2);
    }
}
