//! Inverses and regular parts of small matrices of doubles.

use fiberscope_core::Matrix;

/// The inverse of a square matrix, row by row, by the method of Gauss and Jordan with the largest pivots;
/// `None` if a pivot is smaller than `least`.
pub fn invert(matrix: &[f64], d: usize, least: f64) -> Option<Vec<f64>> {
    // [A | I], row by row.
    let width = 2 * d;
    let mut work = vec![0.0; width * d];
    for r in 0..d {
        work[width * r..width * r + d].copy_from_slice(&matrix[d * r..d * (r + 1)]);
        work[width * r + d + r] = 1.0;
    }
    for c in 0..d {
        let size = |r: usize| work[width * r + c].abs();
        let pivot = (c..d).max_by(|&r, &s| size(r).total_cmp(&size(s)))?;
        if size(pivot) < least {
            return None;
        }
        for j in 0..width {
            work.swap(width * c + j, width * pivot + j);
        }
        let scale = 1.0 / work[width * c + c];
        work[width * c..width * (c + 1)].iter_mut().for_each(|x| *x *= scale);
        for r in (0..d).filter(|&r| r != c) {
            let factor = work[width * r + c];
            if factor != 0.0 {
                for j in 0..width {
                    work[width * r + j] -= factor * work[width * c + j];
                }
            }
        }
    }
    Some((0..d).flat_map(|r| work[width * r + d..width * (r + 1)].iter().copied()).collect())
}

/// The solution of `A x = b` for a square matrix, from the rows of `[A | b]`, by the method of Gauss and
/// Jordan with the largest pivots; `None` if a pivot is smaller than `least`. Unlike
/// [`crate::elimination::solve`], which takes any pivot but zero, this leaves nearly singular systems alone.
pub fn solve(mut rows: Vec<Vec<f64>>, least: f64) -> Option<Vec<f64>> {
    let n = rows.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| rows[i][k].abs().total_cmp(&rows[j][k].abs()))?;
        if rows[pivot][k].abs() < least {
            return None;
        }
        rows.swap(k, pivot);
        let own = rows[k].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let factor = row[k] / own[k];
            row.iter_mut().zip(&own).for_each(|(x, p)| *x -= factor * p);
        }
    }
    Some((0..n).map(|k| rows[k][n] / rows[k][k]).collect())
}

/// Columns of a regular square part of a matrix, by elimination with complete pivoting; `None` if its rows
/// look dependent.
pub fn regular_columns(matrix: &Matrix) -> Option<Vec<usize>> {
    let mut work = matrix.clone();
    let mut columns: Vec<usize> = (0..work.cols()).collect();
    for k in 0..work.rows() {
        let (mut best, mut at) = (0.0, None);
        for i in k..work.rows() {
            for (j, &column) in columns.iter().enumerate().skip(k) {
                if work[(i, column)].abs() > best {
                    (best, at) = (work[(i, column)].abs(), Some((i, j)));
                }
            }
        }
        let (i, j) = at?;
        columns.swap(k, j);
        for c in 0..work.cols() {
            let upper = work[(k, c)];
            work[(k, c)] = work[(i, c)];
            work[(i, c)] = upper;
        }
        for i in k + 1..work.rows() {
            let factor = work[(i, columns[k])] / work[(k, columns[k])];
            if factor != 0.0 {
                for c in 0..work.cols() {
                    let term = factor * work[(k, c)];
                    work[(i, c)] -= term;
                }
                work[(i, columns[k])] = 0.0;
            }
        }
    }
    columns.truncate(work.rows());
    Some(columns)
}
