//! Gaussian elimination over any [`Number`].
//!
//! Adding a multiple of one row to another and exchanging rows keep the row space, and with it the rank; they
//! keep the solutions of `A x = b` if the rows are those of `[A | b]`. [`eliminate`] brings rows to echelon
//! form; what is wanted of a matrix is read off there.

use fiberscope_core::Matrix;

use crate::{Number, never};

/// What elimination found in rows that it brought to echelon form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pivots {
    /// The leading column of each row that is not zero, from top to bottom; as many as the rank.
    pub leads: Vec<usize>,
    /// Whether an odd number of exchanges of rows was made.
    pub odd: bool,
}

/// Brings rows to echelon form in their first `columns` columns; `None` if it is late before that is done.
pub fn eliminate<N: Number>(
    rows: &mut [Vec<N>],
    columns: usize,
    is_late: &dyn Fn() -> bool,
) -> Option<Pivots> {
    let mut pivots = Pivots { leads: Vec::new(), odd: false };
    for column in 0..columns {
        let rank = pivots.leads.len();
        if rank == rows.len() {
            break;
        }
        if is_late() {
            return None;
        }
        let Some(place) = N::pivot(rows[rank..].iter().map(|row| &row[column])) else { continue };
        rows.swap(rank, rank + place);
        pivots.odd ^= place != 0;
        let (done, rest) = rows.split_at_mut(rank + 1);
        let pivot = &done[rank];
        for row in rest.iter_mut().filter(|row| !row[column].is_zero()) {
            let factor = row[column].quotient(&pivot[column]);
            row[column] = N::ZERO;
            for (x, p) in row[column + 1..].iter_mut().zip(&pivot[column + 1..]) {
                x.subtract_product(&factor, p);
            }
        }
        pivots.leads.push(column);
    }
    Some(pivots)
}

/// Brings rows to reduced echelon form in their first `columns` columns: the leading entries are 1, alone in
/// their columns. Gives the leading columns; `None` if it is late before that is done.
pub fn reduce<N: Number>(
    rows: &mut [Vec<N>],
    columns: usize,
    is_late: &dyn Fn() -> bool,
) -> Option<Vec<usize>> {
    let Pivots { leads, .. } = eliminate(rows, columns, is_late)?;
    for (k, &lead) in leads.iter().enumerate().rev() {
        if is_late() {
            return None;
        }
        let (above, rest) = rows.split_at_mut(k);
        let pivot = &mut rest[0];
        let scale = N::ONE.quotient(&pivot[lead]);
        pivot[lead..].iter_mut().for_each(|x| *x = x.times(&scale));
        for row in above.iter_mut().filter(|row| !row[lead].is_zero()) {
            let factor = row[lead].clone();
            row[lead..].iter_mut().zip(&pivot[lead..]).for_each(|(x, p)| x.subtract_product(&factor, p));
        }
    }
    Some(leads)
}

/// The rank of a matrix.
pub fn rank<N: Number>(matrix: &Matrix<N>) -> usize {
    let pivots = eliminate(&mut to_rows(matrix), matrix.cols(), &never);
    pivots.map_or(0, |pivots| pivots.leads.len())
}

/// The determinant of a square matrix.
pub fn determinant<N: Number>(matrix: &Matrix<N>) -> N {
    let n = matrix.rows();
    let mut rows = to_rows(matrix);
    match eliminate(&mut rows, n, &never) {
        Some(pivots) if pivots.leads.len() == n => {
            let product = (0..n).fold(N::ONE, |product, k| product.times(&rows[k][k]));
            if pivots.odd { product.negated() } else { product }
        }
        _ => N::ZERO,
    }
}

/// The solution of `A x = b` for a regular square matrix, from the rows of `[A | b]`; `None` if it is
/// singular.
pub fn solve<N: Number>(mut rows: Vec<Vec<N>>) -> Option<Vec<N>> {
    let n = rows.len();
    if eliminate(&mut rows, n, &never)?.leads.len() < n {
        return None;
    }
    let mut x = vec![N::ZERO; n];
    for (k, row) in rows.iter().enumerate().rev() {
        let mut known = N::ZERO;
        row[k + 1..n].iter().zip(&x[k + 1..]).for_each(|(a, x)| known.add_product(a, x));
        x[k] = row[n].minus(&known).quotient(&row[k]);
    }
    Some(x)
}

/// The inverse of a square matrix; `None` if it is singular, or if it is late before that is found.
pub fn inverse<N: Number>(matrix: &Matrix<N>, is_late: &dyn Fn() -> bool) -> Option<Matrix<N>> {
    let n = matrix.rows();
    let unit = |i: usize| (0..n).map(move |j| if i == j { N::ONE } else { N::ZERO });
    let mut rows: Vec<Vec<N>> =
        matrix.iter_rows().enumerate().map(|(i, row)| row.iter().cloned().chain(unit(i)).collect()).collect();
    if reduce(&mut rows, n, is_late)?.len() < n {
        return None;
    }
    Matrix::from_entries(n, n, rows.into_iter().flat_map(|row| row.into_iter().skip(n)).collect())
}

/// The unit matrix.
pub fn identity<N: Number>(n: usize) -> Matrix<N> {
    Matrix::from_fn(n, n, |i, j| if i == j { N::ONE } else { N::ZERO })
}

fn to_rows<N: Number>(matrix: &Matrix<N>) -> Vec<Vec<N>> {
    matrix.iter_rows().map(<[N]>::to_vec).collect()
}
