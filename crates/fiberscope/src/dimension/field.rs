//! Arithmetic modulo a prime `p < 2^23` with doubles.
//!
//! Residues are kept between `-(p+1)/2` and `(p+1)/2`, so that a product is below `2^44` and a sum of 256
//! products below `2^52`: a matrix product with an inner dimension of at most [`INNER`] is exact in doubles
//! in whatever order it is summed, and one reduction per entry follows. (`FFLAS` calls this delayed
//! reduction, [dumas2008dense, Section 2].) Residues fit into single precision.
//!
//! The eliminations of [`fiberscope_algebra::modular`] take residues of 61 bits one at a time, at about 4 ns
//! a multiplication. Jacobians have thousands of rows, so theirs stay special: panels go through matrix
//! products, 10,000 rows in 29 s on two threads, 0.1 ns a multiplication (`bench/results/funcdim.md`).
//!
//! Matrix products are where the time goes, so this is where the deadline is looked at: when it is past,
//! products are left unfinished. What was computed is used only if
//! [`Field::is_late`] says no *afterwards*; a deadline that is past stays so, so that then no product was left unfinished.

use faer::{Accum, Par};
use faer_ext::IntoFaer;
use fiberscope_core::mantissa_and_exponent;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, s};
use rand::{Rng, RngExt};
use rayon::prelude::*;

use crate::limit::Deadline;

/// The largest inner dimension of a product between two reductions.
pub(super) const INNER: usize = 256;

/// Products with more multiplications are spread over the threads, in blocks of so many rows.
const PARALLEL: usize = 1 << 22;
const TILE: usize = 256;

/// The integers modulo a prime.
#[derive(Clone, Debug)]
pub(super) struct Field {
    prime: f64,
    inverse: f64,
    /// `2^e` for the exponents of doubles, `e = -1074, ..., 971`.
    powers: Vec<f64>,
    deadline: Deadline,
}

impl Field {
    /// A random prime between `2^22` and `2^23`: one of about 268,000.
    pub fn random(rng: &mut impl Rng) -> Self {
        loop {
            let candidate = rng.random_range((1u32 << 22)..(1 << 23)) | 1;
            if is_prime(candidate) {
                return Field::new(candidate);
            }
        }
    }

    fn new(prime: u32) -> Self {
        let prime = f64::from(prime);
        let mut field =
            Field { prime, inverse: prime.recip(), powers: Vec::new(), deadline: Deadline::NEVER };
        let half = field.reduce((prime + 1.0) / 2.0);
        let mut down = vec![1.0];
        for _ in 0..1074 {
            down.push(field.reduce(down[down.len() - 1] * half));
        }
        down.reverse();
        for _ in 0..971 {
            down.push(field.reduce(down[down.len() - 1] * 2.0));
        }
        field.powers = down;
        field
    }

    /// The same, its products left unfinished when the deadline is past.
    pub fn until(self, deadline: &Deadline) -> Self {
        Field { deadline: deadline.clone(), ..self }
    }

    /// Whether products may have been left unfinished: what they gave must not be used.
    pub fn is_late(&self) -> bool {
        self.deadline.is_past()
    }

    /// The prime.
    pub fn prime(&self) -> f64 {
        self.prime
    }

    /// The residue of an integer below `2^53` in size.
    #[inline(always)]
    pub fn reduce(&self, x: f64) -> f64 {
        // Adding and subtracting 1.5 * 2^52 rounds to the nearest integer.
        const ROUND: f64 = 6_755_399_441_055_744.0;
        let quotient = (x * self.inverse + ROUND) - ROUND;
        x - quotient * self.prime
    }

    /// The residue of a finite double, which is an integer times a power of two.
    pub fn residue(&self, x: f64) -> f64 {
        let (mantissa, exponent) = mantissa_and_exponent(x);
        let size = self.reduce((mantissa % self.prime as i64) as f64);
        self.reduce(size * self.powers[(exponent + 1074) as usize])
    }

    /// The residues of finite doubles.
    pub fn residues(&self, xs: &[f64]) -> Vec<f64> {
        xs.iter().map(|&x| self.residue(x)).collect()
    }

    /// A random residue.
    pub fn sample(&self, rng: &mut impl Rng) -> f64 {
        self.reduce(f64::from(rng.random_range(0..self.prime as u32)))
    }

    /// The inverse of a residue other than 0, by Euclid's algorithm.
    pub fn invert(&self, x: f64) -> f64 {
        let prime = self.prime as i64;
        let (mut r, mut s) = ((prime, (x as i64).rem_euclid(prime)), (0i64, 1i64));
        while r.1 != 0 {
            let quotient = r.0 / r.1;
            r = (r.1, r.0 - quotient * r.1);
            s = (s.1, s.0 - quotient * s.1);
        }
        self.reduce(s.0 as f64)
    }

    /// Reduces integers below `2^53` in size in place.
    pub fn reduce_all(&self, xs: &mut [f64]) {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                for x in xs {
                    *x = self.reduce(*x);
                }
            },
        );
    }

    /// Reduces a matrix whose rows are contiguous.
    pub fn reduce_rows(&self, mut matrix: ArrayViewMut2<f64>) {
        match matrix.as_slice_mut() {
            Some(all) => self.reduce_all(all),
            None => {
                for mut row in matrix.rows_mut() {
                    self.reduce_all(row.as_slice_mut().expect("rows are contiguous"));
                }
            }
        }
    }

    /// `out = left right`, reduced; the rows of `out` are contiguous.
    pub fn multiply(&self, left: ArrayView2<f64>, right: ArrayView2<f64>, mut out: ArrayViewMut2<f64>) {
        out.fill(0.0);
        self.add_product(1.0, left, right, out);
    }

    /// `out = left right`, reduced, in the current thread.
    pub fn multiply_here(
        &self,
        left: ArrayView2<f64>,
        right: ArrayView2<f64>,
        out: &mut ndarray::Array2<f64>,
    ) {
        if left.ncols() <= INNER && !self.is_late() {
            product(Accum::Replace, 1.0, left, right, out.view_mut());
            self.reduce_rows(out.view_mut());
        } else {
            out.fill(0.0);
            self.add_product_here(1.0, left, right, out.view_mut());
        }
    }

    /// `out += sign left right`, reduced, for reduced matrices; the rows of `out` are contiguous.
    pub fn add_product(
        &self,
        sign: f64,
        left: ArrayView2<f64>,
        right: ArrayView2<f64>,
        mut out: ArrayViewMut2<f64>,
    ) {
        let work = left.nrows() * left.ncols() * right.ncols();
        if work < PARALLEL || rayon::current_num_threads() == 1 {
            return self.add_product_here(sign, left, right, out);
        }
        let tiles: Vec<_> =
            left.axis_chunks_iter(Axis(0), TILE).zip(out.axis_chunks_iter_mut(Axis(0), TILE)).collect();
        tiles.into_par_iter().for_each(|(left, out)| self.add_product_here(sign, left, right, out));
    }

    /// The same in the current thread.
    pub fn add_product_here(
        &self,
        sign: f64,
        left: ArrayView2<f64>,
        right: ArrayView2<f64>,
        mut out: ArrayViewMut2<f64>,
    ) {
        let inner = left.ncols();
        for start in (0..inner).step_by(INNER) {
            if self.is_late() {
                return;
            }
            let end = inner.min(start + INNER);
            let (left, right) = (left.slice(s![.., start..end]), right.slice(s![start..end, ..]));
            product(Accum::Add, sign, left, right, out.view_mut());
            self.reduce_rows(out.view_mut());
        }
    }
}

/// `out = factor left right`, added to what was there or not, in doubles.
fn product(
    accum: Accum,
    factor: f64,
    left: ArrayView2<f64>,
    right: ArrayView2<f64>,
    out: ArrayViewMut2<f64>,
) {
    let (left, right, out) = (left.into_faer(), right.into_faer(), out.into_faer());
    faer::linalg::matmul::matmul(out, accum, left, right, factor, Par::Seq);
}

fn is_prime(n: u32) -> bool {
    n > 2 && n % 2 == 1 && (3..).step_by(2).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn integer(field: &Field, x: f64) -> i64 {
        (x as i64).rem_euclid(field.prime as i64)
    }

    #[test]
    fn residues_of_doubles_are_those_of_the_fractions() {
        let field = Field::random(&mut ChaCha8Rng::seed_from_u64(3));
        let prime = field.prime as i64;
        for x in [0.0, 1.0, -1.0, 0.375, -2.5, 1e15, 5e-324, f64::MAX, -1.7e-308] {
            // x 2^k is an integer below 2^53 for some k, which is checked by multiplying back.
            let residue = field.residue(x);
            assert!(residue.abs() <= (field.prime + 1.0) / 2.0);
            if x.abs() < 1e14 && x.abs() > 1e-3 {
                assert_eq!(
                    integer(&field, field.reduce(residue * 8.0)),
                    ((x * 8.0) as i64).rem_euclid(prime)
                );
            }
        }
        let (tiny, huge) = (field.residue(5e-324), field.residue(2f64.powi(971)));
        let step = (0..1074 + 971).fold(tiny, |x, _| field.reduce(x * 2.0));
        assert_eq!(integer(&field, step), integer(&field, huge));
    }

    #[test]
    fn inverses() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let field = Field::random(&mut rng);
        for _ in 0..200 {
            let x = field.sample(&mut rng);
            if x != 0.0 {
                assert_eq!(integer(&field, field.reduce(x * field.invert(x))), 1);
            }
        }
    }

    #[test]
    fn products_are_those_of_integers() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let field = Field::random(&mut rng);
        let (m, k, n) = (5, 700, 4);
        let mut random = |r, c| Array2::from_shape_fn((r, c), |_| field.sample(&mut rng));
        let (a, b, mut c) = (random(m, k), random(k, n), random(m, n));
        let before = c.clone();
        field.add_product(-1.0, a.view(), b.view(), c.view_mut());
        for ((i, j), &x) in c.indexed_iter() {
            let sum: i128 = (0..k).map(|t| a[(i, t)] as i128 * b[(t, j)] as i128).sum();
            let expected = (before[(i, j)] as i128 - sum).rem_euclid(field.prime as i128);
            assert_eq!(i128::from(integer(&field, x)), expected);
        }
    }
}
