//! The rank of `(X, 1)`: how many affinely independent points a batch has.
//!
//! Rows that are independent modulo a prime are independent. That there are no more is proved by the linear
//! relations that the chosen rows satisfy: they are solved for over the rationals and checked on every row.

use fiberscope_algebra::elimination::reduce;
use fiberscope_algebra::never;
use fiberscope_core::{Matrix, RankBounds, Rational};
use ndarray::{Array2, ArrayView2};
use rand::Rng;

use super::field::Field;
use super::jacobian::independent;

/// Relations are proved if that takes at most about so many multiplications of fractions.
const WORK: usize = 1 << 20;

/// Independent rows among some rows of a matrix of doubles, and certified bounds of their rank.
pub(super) fn independent_rows(
    field: &Field,
    matrix: &Matrix,
    rows: &[usize],
    at_most: usize,
    rng: &mut impl Rng,
) -> (Vec<usize>, RankBounds) {
    let full = rows.len().min(at_most);
    if rows.len() == 1 {
        // Homogeneous vectors of points are not zero.
        return (rows.to_vec(), RankBounds { lower: 1, upper: 1 });
    }
    let cols = matrix.cols();
    let residues: Vec<f64> =
        rows.iter().flat_map(|&i| matrix.row(i).iter().map(|&x| field.residue(x))).collect();
    let residues = ArrayView2::from_shape((rows.len(), cols), &residues).expect("one row per point");
    let mix = Array2::from_shape_fn((cols, cols), |_| field.sample(rng));
    let places = independent(field, residues, mix.view());
    let lower = places.len();
    let chosen: Vec<usize> = places.iter().map(|&place| rows[place]).collect();
    let work = lower * lower * cols + rows.len() * lower * (cols - lower);
    let proved = lower == full || work <= WORK && satisfies_relations(matrix, rows, &chosen);
    (chosen, RankBounds { lower, upper: if proved { lower } else { full } })
}

/// Whether every row is a combination of the chosen ones, which are independent.
fn satisfies_relations(matrix: &Matrix, rows: &[usize], chosen: &[usize]) -> bool {
    let exact = |i: usize| -> Vec<Rational> {
        matrix.row(i).iter().map(|&x| Rational::from_f64(x).expect("data are finite")).collect()
    };
    let mut basis: Vec<Vec<Rational>> = chosen.iter().map(|&i| exact(i)).collect();
    let Some(leads) = reduce(&mut basis, matrix.cols(), &never) else { return false };
    let others: Vec<usize> = (0..matrix.cols()).filter(|col| !leads.contains(col)).collect();
    rows.iter().all(|&i| {
        let row = exact(i);
        others.iter().all(|&col| {
            let sum: Rational = basis.iter().zip(&leads).map(|(b, &lead)| &row[lead] * &b[col]).sum();
            sum == row[col]
        })
    })
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn check(rows: &[[f64; 4]], expected: usize) {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let field = Field::random(&mut rng);
        let matrix = Matrix::from_rows(rows).unwrap();
        let all: Vec<usize> = (0..rows.len()).collect();
        let (chosen, bounds) = independent_rows(&field, &matrix, &all, 4, &mut rng);
        assert_eq!((chosen.len(), bounds), (expected, RankBounds { lower: expected, upper: expected }));
    }

    #[test]
    fn relations_are_proved_exactly() {
        check(&[[1.0, 2.0, 3.0, 1.0]], 1);
        check(
            &[[1.0, 2.0, 3.0, 1.0], [0.5, 0.25, 0.75, 1.0], [2.0, -1.0, 1.0, 1.0], [0.0, 7.0, 7.0, 1.0]],
            3,
        );
        check(
            &[[0.1, 0.2, 0.3, 1.0], [0.5, 0.25, 0.75, 1.0], [2.0, -1.0, 1.0, 1.0], [0.0, 7.0, 7.0, 1.0]],
            4,
        );
        check(&[[0.0, 5.0, 0.0, 1.0], [0.0, 6.0, 0.0, 1.0], [0.0, 7.0, 0.0, 1.0]], 2);
    }
}
