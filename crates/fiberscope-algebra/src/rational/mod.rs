//! Linear algebra over the rationals: what is built on [`crate::elimination`] and on residues.
//!
//! Rows that are independent modulo a prime are independent, so a basis is looked for modulo the prime, and
//! what is solved for in it is checked: an unlucky prime can only lead to no answer.

mod doubles;
mod integer;

use fiberscope_core::{Matrix, Rational, Scalar};

pub use doubles::product_of_doubles;
pub use integer::solve_integers;

use crate::modular::independent_rows;
use crate::{Echelon, Number, elimination, never};

/// What an exact solution may cost: multiplications times the growth of the numbers.
const WORK: usize = 1 << 22;

/// `x . y`, as far as both go.
pub fn dot<'a>(
    x: impl IntoIterator<Item = &'a Rational>,
    y: impl IntoIterator<Item = &'a Rational>,
) -> Rational {
    x.into_iter().zip(y).filter(|(x, y)| !x.is_zero() && !y.is_zero()).map(|(x, y)| x * y).sum()
}

/// Whether all entries are zero.
pub fn is_zero(vector: &[Rational]) -> bool {
    vector.iter().all(Rational::is_zero)
}

/// The product of two matrices that fit, row by row; `None` if it is late before it is done.
/// (`Scalar::product` is faster, and is not interrupted.)
pub fn product(
    left: &Matrix<Rational>,
    right: &Matrix<Rational>,
    is_late: &dyn Fn() -> bool,
) -> Option<Matrix<Rational>> {
    let mut result = Matrix::from_fn(left.rows(), right.cols(), |_, _| Rational::ZERO);
    for i in 0..left.rows() {
        if is_late() {
            return None;
        }
        for (k, v) in left.row(i).iter().enumerate().filter(|(_, v)| !v.is_zero()) {
            let pairs = result.row_mut(i).iter_mut().zip(right.row(k));
            pairs.for_each(|(sum, w)| sum.add_product(v, w));
        }
    }
    Some(result)
}

/// The rank of a matrix that is known to be at most `upper`: one elimination modulo a prime if it is `upper`,
/// else elimination over the rationals.
pub fn rank_at_most(matrix: &Matrix<Rational>, upper: usize) -> usize {
    if independent_rows(matrix).len() == upper { upper } else { elimination::rank(matrix) }
}

/// The numbers of candidates that are independent of each other and of the given rows, the first ones where
/// there is a choice.
pub fn independent_of(given: &[Vec<Rational>], candidates: &[Vec<Rational>]) -> Vec<usize> {
    let mut echelon = Echelon::default();
    for row in given {
        echelon.insert(row.clone());
    }
    (0..candidates.len()).filter(|&k| echelon.insert(candidates[k].clone())).collect()
}

/// The matrix `X` with `X basis = rows`, where the rows of `basis` are independent; `None` if there is none,
/// or if finding it would be too much work or was not done before it was late.
pub fn coordinates(
    basis: &Matrix<Rational>,
    rows: &Matrix<Rational>,
    is_late: &dyn Fn() -> bool,
) -> Option<Matrix<Rational>> {
    let r = basis.rows();
    // The numbers of the inverse grow in length with r, too.
    if r.saturating_mul(r).saturating_mul(r).saturating_mul(r + rows.rows()) > WORK {
        return None;
    }
    let pivots = independent_rows(&basis.transpose());
    if pivots.len() != r {
        return None;
    }
    let inverse = elimination::inverse(&basis.select_columns(&pivots), is_late)?;
    let at_pivots = rows.select_columns(&pivots);
    let solution = Scalar::product(&at_pivots, &inverse)?;
    (!is_late() && Scalar::product(&solution, basis)? == *rows).then_some(solution)
}

/// A basis of the kernel `{x : A x = 0}`, one vector per column of `A` that depends on columns before it;
/// `None` if finding it is too much work.
pub fn kernel(matrix: &Matrix<Rational>) -> Option<Vec<Vec<Rational>>> {
    let columns = matrix.transpose();
    let pivots = independent_rows(&columns);
    let others: Vec<usize> = (0..columns.rows()).filter(|k| !pivots.contains(k)).collect();
    let shares = coordinates(&columns.select_rows(&pivots), &columns.select_rows(&others), &never)?;
    let vector = |(row, &other): (usize, &usize)| {
        let mut vector = vec![Rational::ZERO; columns.rows()];
        vector[other] = Rational::ONE;
        pivots.iter().enumerate().for_each(|(k, &pivot)| vector[pivot] = -&shares[(row, k)]);
        vector
    };
    Some(others.iter().enumerate().map(vector).collect())
}
