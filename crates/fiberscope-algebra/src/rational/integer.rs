//! Linear systems of integers, without fractions.

use dashu_int::IBig;

/// The solution `x_i / D` of `A x = b` for integers `A` with `n` independent columns, from the rows of
/// `[A | b]`: the denominator `D` and the numerators `x_i`. `None` if the columns are dependent or there is
/// no solution.
///
/// Elimination without fractions: after `k` steps the entries are minors of order `k + 1`, so that dividing
/// by the pivot of the step before is exact [bareiss1968sylvester, Section 2]. `D` is the minor of the
/// pivots, with either sign.
pub fn solve_integers(mut rows: Vec<Vec<IBig>>, n: usize) -> Option<(IBig, Vec<IBig>)> {
    let mut before = IBig::ONE;
    for column in 0..n {
        let pivot = (column..rows.len()).find(|&r| !rows[r][column].is_zero())?;
        rows.swap(column, pivot);
        let pivot_row = rows[column].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(r, _)| *r != column) {
            let factor = row[column].clone();
            for (x, p) in row.iter_mut().zip(&pivot_row) {
                *x = (&*x * &pivot_row[column] - &factor * p) / &before;
            }
        }
        before = pivot_row[column].clone();
    }
    if rows[n..].iter().any(|row| !row[n].is_zero()) {
        return None;
    }
    Some((before, rows.into_iter().take(n).map(|mut row| row.swap_remove(n)).collect()))
}
