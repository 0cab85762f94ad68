//! Products of matrices of doubles, exactly.
//!
//! A matrix of doubles is `2^e` times a matrix of integers. These are cut into parts of so few bits that the
//! products of parts, summed up, are integers below `2^53`: products of matrices of doubles give them exactly,
//! and nothing is left but to add a few integers per entry.

use fiberscope_core::{Matrix, ProductSum, Rational, Scalar, mantissa_and_exponent};

/// With more parts than this of the two matrices, one product of rational numbers after the other is cheaper.
const PARTS: usize = 128;

/// `left right` for matrices that fit and whose entries are finite.
///
/// ```
/// use fiberscope_algebra::rational::product_of_doubles;
/// use fiberscope_core::Matrix;
///
/// let row = Matrix::from_rows(&[[0.1, 1e17]]).unwrap();
/// let column = Matrix::from_rows(&[[3.0], [1.0]]).unwrap();
/// let sum = product_of_doubles(&row, &column).into_entries().remove(0);
/// assert_eq!(sum.to_string(), "3602879701896396810808639105689191/36028797018963968");
/// ```
pub fn product_of_doubles(left: &Matrix, right: &Matrix) -> Matrix<Rational> {
    let zeros = || Matrix::from_fn(left.rows(), right.cols(), |_, _| Rational::ZERO);
    let (Some(of_left), Some(of_right)) = (Grid::of(left), Grid::of(right)) else { return zeros() };
    // `inner 2^(2 bits) <= 2^53`.
    let bits = (53 - usize::BITS.saturating_sub(left.cols().leading_zeros())) / 2;
    let (m, n) = (of_left.parts(bits), of_right.parts(bits));
    if m * n > PARTS {
        return one_by_one(left, right);
    }
    // The parts of the left matrix one below the other.
    let rows = left.rows();
    let all =
        Matrix::from_fn(m * rows, left.cols(), |i, j| of_left.part(left[(i % rows, j)], i / rows, bits));
    let mut sums = vec![vec![0i64; rows * right.cols()]; m + n - 1];
    for part in 0..n {
        let of_part = right.map(|&x| of_right.part(x, part, bits));
        let product = Scalar::product(&all, &of_part).expect("the matrices fit");
        for (other, entries) in product.entries().chunks_exact(rows * right.cols()).enumerate() {
            sums[part + other].iter_mut().zip(entries).for_each(|(sum, &entry)| *sum += entry as i64);
        }
    }
    let least = of_left.least + of_right.least;
    let entry = |i: usize, j: usize| {
        let mut sum = ProductSum::default();
        for (at, sums) in sums.iter().enumerate() {
            let exponent = least + i64::from(bits) * at as i64;
            sum.add(&Rational::dyadic(sums[i * right.cols() + j].into(), exponent), &Rational::ONE);
        }
        sum.to_rational()
    };
    Matrix::from_fn(rows, right.cols(), entry)
}

/// The same, for numbers of very different sizes.
fn one_by_one(left: &Matrix, right: &Matrix) -> Matrix<Rational> {
    let (left, right) = (left.map(Scalar::to_rational), right.transpose().map(Scalar::to_rational));
    Matrix::from_fn(left.rows(), right.rows(), |i, j| {
        let mut sum = ProductSum::default();
        left.row(i).iter().zip(right.row(j)).for_each(|(x, y)| sum.add(x, y));
        sum.to_rational()
    })
}

/// The powers of two between which the bits of some doubles lie.
struct Grid {
    least: i64,
    end: i64,
}

impl Grid {
    /// `None` if all entries are zero.
    fn of(matrix: &Matrix) -> Option<Self> {
        let mut grid: Option<Grid> = None;
        for &x in matrix.entries().iter().filter(|x| **x != 0.0) {
            let (mantissa, exponent) = mantissa_and_exponent(x);
            let end = i64::from(exponent) + i64::from(mantissa.unsigned_abs().ilog2()) + 1;
            let least = i64::from(exponent) + i64::from(mantissa.trailing_zeros());
            let of = grid.get_or_insert(Grid { least, end });
            *of = Grid { least: of.least.min(least), end: of.end.max(end) };
        }
        grid
    }

    /// How many parts of so many bits the integers have.
    fn parts(&self, bits: u32) -> usize {
        (self.end - self.least).unsigned_abs().div_ceil(u64::from(bits)) as usize
    }

    /// The bits of `x 2^-least` from place `bits part` on, with the sign of `x`.
    fn part(&self, x: f64, part: usize, bits: u32) -> f64 {
        let (mantissa, exponent) = mantissa_and_exponent(x);
        let shift = i64::from(exponent) - self.least - i64::from(bits) * part as i64;
        let (size, mask) = (mantissa.unsigned_abs(), (1u64 << bits) - 1);
        let found = match shift {
            0.. if shift < i64::from(bits) => size << shift & mask,
            -63..0 => size >> -shift & mask,
            _ => 0,
        };
        if mantissa < 0 { -(found as f64) } else { found as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Doubles without pattern; `spread` is the range of their exponents.
    fn matrix(rows: usize, cols: usize, spread: i32, seed: usize) -> Matrix {
        Matrix::from_fn(rows, cols, |i, j| {
            let k = (seed + 31 * i + 7 * j * j + i * j) as f64;
            let size = ((k * 0.37).sin() * f64::from(spread)) as i32;
            if (i * j + seed) % 11 == 3 { 0.0 } else { (k * 1.7).sin() * 2f64.powi(size) }
        })
    }

    #[test]
    fn sums_of_products_are_exact() {
        for (case, spread) in [0, 3, 40, 300, 1000].into_iter().enumerate() {
            for (rows, inner, cols) in [(1, 1, 1), (3, 40, 5), (2, 300, 17)] {
                let (left, right) = (matrix(rows, inner, spread, case), matrix(inner, cols, 2, case + 5));
                assert_eq!(product_of_doubles(&left, &right), one_by_one(&left, &right), "{spread} {inner}");
            }
        }
        // The largest parts in all places.
        let ones = Matrix::from_fn(2, 4096, |_, _| 1.0 - f64::EPSILON / 2.0);
        assert_eq!(product_of_doubles(&ones, &ones.transpose()), one_by_one(&ones, &ones.transpose()));
        let tiny = Matrix::from_rows(&[[5e-324, -f64::MIN_POSITIVE, f64::MAX]]).unwrap();
        assert_eq!(product_of_doubles(&tiny, &tiny.transpose()), one_by_one(&tiny, &tiny.transpose()));
        let zero = Matrix::from_rows(&[[0.0]]).unwrap();
        assert_eq!(product_of_doubles(&zero, &zero).entries(), [Rational::ZERO]);
    }
}
