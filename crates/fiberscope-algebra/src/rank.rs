//! Ranks of matrices of doubles, exactly.
//!
//! Scaling a row by a power of two makes its doubles integers and keeps the rank. Modulo a prime the rank of
//! an integer matrix can only drop, so the rank modulo one prime is a certified *lower* bound, and full rank
//! is proved by one elimination with machine numbers. The upper bound comes from the shape, or, if the
//! modular rank is not full, from elimination over the rationals.

use fiberscope_core::{Matrix, RankBounds, Scalar};

use crate::{elimination, modular};

/// The most entries times pivots for which rational elimination is tried.
const RATIONAL_WORK: usize = 1 << 18;

/// Bounds for the rank of a matrix of doubles. They agree unless the matrix is both large and (most likely)
/// of deficient rank, or it was late before they did.
pub fn rank(matrix: &Matrix, is_late: &dyn Fn() -> bool) -> RankBounds {
    let full = matrix.rows().min(matrix.cols());
    let lower = modular::rank_of_doubles(matrix, is_late);
    if lower == full || is_late() {
        return RankBounds { lower, upper: full };
    }
    if matrix.rows() * matrix.cols() * full <= RATIONAL_WORK {
        let exact = elimination::rank(&matrix.map(Scalar::to_rational));
        return RankBounds { lower: exact, upper: exact };
    }
    RankBounds { lower, upper: full }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::never;

    fn bounds(rows: &[[f64; 2]]) -> RankBounds {
        rank(&Matrix::from_rows(rows).unwrap(), &never)
    }

    #[test]
    fn one_unit_in_the_last_place_makes_the_rank_full() {
        let next = f64::from_bits(0.3f64.to_bits() + 1);
        assert_eq!(bounds(&[[0.1, 0.3], [0.1, next]]), RankBounds { lower: 2, upper: 2 });
        assert_eq!(bounds(&[[0.1, 0.3], [0.2, 0.6]]), RankBounds { lower: 1, upper: 1 });
    }

    #[test]
    fn without_time_the_shape_is_known() {
        let square = Matrix::from_rows(&[[1.0, 0.0], [0.0, 1.0]]).unwrap();
        assert_eq!(rank(&square, &|| true), RankBounds { lower: 0, upper: 2 });
    }

    #[test]
    fn extreme_exponents_and_zero_rows() {
        assert_eq!(bounds(&[[5e-324, f64::MAX], [0.0, 0.0], [1.0, -0.0]]).upper, 2);
    }
}
