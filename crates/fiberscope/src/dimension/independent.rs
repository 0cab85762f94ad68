//! Rows that are independent for certain, of large matrices of doubles.

use fiberscope_core::Matrix;
use ndarray::Array2;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::PANEL;
use super::elimination::Elimination;
use super::field::Field;

/// Whether the rows are independent modulo a prime, column by column from the left: then they are independent. The
/// converse fails where the first columns, as many as there are rows, are dependent, and for an unlucky prime.
///
/// The work is in matrix products; [`independent_rows`](fiberscope_algebra::modular::independent_rows), which
/// leaves out nothing, takes several times as long.
pub(crate) fn are_surely_independent(matrix: &Matrix) -> bool {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    if rows > cols {
        return false;
    }
    let field = Field::random(&mut ChaCha8Rng::seed_from_u64(rows as u64));
    let mut elimination = Elimination::new(&field, rows);
    (0..rows).step_by(PANEL).all(|first| {
        let width = PANEL.min(rows - first);
        let entry = |(i, j): (usize, usize)| field.residue(matrix[(i, first + j)]);
        elimination.push(Array2::from_shape_fn((rows, width), entry))
    }) && elimination.rank() == rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_rows_are_told_and_dependent_ones_are_not() {
        let number = |i: usize, j: usize| {
            ((i * i + 7 * i * j + j * j * 11 + 5) as f64).sin() * 2f64.powi((i % 7) as i32 - 3)
        };
        for (rows, cols) in [(1, 1), (3, 5), (40, 40), (150, 170), (300, 300)] {
            let matrix = Matrix::from_fn(rows, cols, number);
            assert!(are_surely_independent(&matrix), "{rows} {cols}");
            let twice = |i: usize, j: usize| if i + 1 == rows { -2.0 * number(0, j) } else { number(i, j) };
            let dependent = Matrix::from_fn(rows, cols, twice);
            assert_eq!(are_surely_independent(&dependent), rows == 1, "{rows} {cols}");
        }
        assert!(!are_surely_independent(&Matrix::from_fn(3, 2, number)));
    }
}
