//! Bases of vectors with their dual bases: what every simplex method keeps between two steps.
//!
//! Let `b_1, ..., b_d` be a basis. Its dual basis `e_1, ..., e_d` has `e_k b_j = 1` for `j = k` and 0 else,
//! so that `e_k v` is the coordinate of a vector `v` at `b_k`. If the `b_k` are the gradients of rows that
//! are tight at a vertex, `e_k` is the edge that leaves row `k` and stays on the others. If `v` takes the
//! place of `b_k`, with coordinates `r_j = e_j v`, then
//!
//! ```text
//! e_k' = e_k / r_k,    e_j' = e_j - r_j e_k'  (j != k).
//! ```

use fiberscope_core::{Matrix, Rational};

use crate::{Number, dense, elimination, never};

/// A basis: the numbers of its vectors in a list that others keep, and its dual basis.
#[derive(Clone, Debug)]
pub(super) struct Basis<N> {
    numbers: Vec<u32>,
    /// `e_k` in the entries `k d .. (k + 1) d`.
    dual: Vec<N>,
}

impl<N: Number> Basis<N> {
    /// The basis of unit vectors, some of them turned around.
    pub fn of_units(numbers: Vec<u32>, is_negative: impl Fn(usize) -> bool) -> Self {
        let d = numbers.len();
        let mut dual = vec![N::ZERO; d * d];
        for k in 0..d {
            dual[k * d + k] = if is_negative(k) { N::ONE.negated() } else { N::ONE };
        }
        Basis { numbers, dual }
    }

    /// The dimension of the space.
    pub fn dimension(&self) -> usize {
        self.numbers.len()
    }

    /// The numbers of the vectors.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Whether the vector with this number is in the basis.
    pub fn contains(&self, number: usize) -> bool {
        self.numbers.contains(&(number as u32))
    }

    /// The dual vector `e_k`.
    pub fn edge(&self, k: usize) -> &[N] {
        let d = self.dimension();
        &self.dual[k * d..(k + 1) * d]
    }

    /// The coordinate of a vector at `b_k`.
    pub fn coordinate(&self, vector: &[N], k: usize) -> N {
        let mut sum = N::ZERO;
        self.edge(k).iter().zip(vector).for_each(|(e, v)| sum.add_product(e, v));
        sum
    }

    /// The coordinates of a vector.
    pub fn coordinates(&self, vector: &[N]) -> Vec<N> {
        (0..self.dimension()).map(|k| self.coordinate(vector, k)).collect()
    }

    /// Puts the vector with this number and these coordinates in the place of `b_k`; coordinate `k` is not
    /// zero.
    pub fn replace(&mut self, k: usize, number: usize, coordinates: &[N]) {
        self.edge_mut(k).iter_mut().for_each(|x| *x = x.quotient(&coordinates[k]));
        self.exchange(k, number, coordinates);
    }

    /// The same with one division, and a rounding more for each entry in doubles.
    pub fn replace_quickly(&mut self, k: usize, number: usize, coordinates: &[N]) {
        let scale = N::ONE.quotient(&coordinates[k]);
        self.edge_mut(k).iter_mut().for_each(|x| *x = x.times(&scale));
        self.exchange(k, number, coordinates);
    }

    fn edge_mut(&mut self, k: usize) -> &mut [N] {
        let d = self.dimension();
        &mut self.dual[k * d..(k + 1) * d]
    }

    /// The rest of an exchange, once `e_k'` is in its place.
    fn exchange(&mut self, k: usize, number: usize, coordinates: &[N]) {
        let d = self.dimension();
        let new = self.edge(k).to_vec();
        for (j, own) in self.dual.chunks_exact_mut(d).enumerate() {
            if j != k && !coordinates[j].is_zero() {
                own.iter_mut().zip(&new).for_each(|(x, e)| x.subtract_product(&coordinates[j], e));
            }
        }
        self.numbers[k] = number as u32;
    }

    /// The point `x` with `b_k x + c_k = 0` for all `k`.
    pub fn vertex(&self, constant: impl Fn(usize) -> N) -> Vec<N> {
        let mut x = vec![N::ZERO; self.dimension()];
        for (k, &number) in self.numbers.iter().enumerate() {
            let constant = constant(number as usize);
            x.iter_mut().zip(self.edge(k)).for_each(|(x, e)| x.subtract_product(&constant, e));
        }
        x
    }
}

/// Numbers whose matrices can be inverted.
pub(super) trait Invert: Number {
    /// The dual basis of vectors that are given one after the other; `None` if they look dependent. Pivots
    /// below `least` count as zero where numbers are rounded.
    fn dual(vectors: &[Self], d: usize, least: f64) -> Option<Vec<Self>>;
}

impl Invert for f64 {
    fn dual(vectors: &[f64], d: usize, least: f64) -> Option<Vec<f64>> {
        let inverse = dense::invert(vectors, d, least)?;
        Some((0..d * d).map(|at| inverse[at % d * d + at / d]).collect())
    }
}

impl Invert for Rational {
    fn dual(vectors: &[Rational], d: usize, _: f64) -> Option<Vec<Rational>> {
        let matrix = Matrix::from_entries(d, d, vectors.to_vec())?;
        Some(elimination::inverse(&matrix, &never)?.transpose().into_entries())
    }
}

impl<N: Invert> Basis<N> {
    /// The basis of the given vectors, one after the other; `None` if they look dependent.
    pub fn new(numbers: Vec<u32>, vectors: &[N], least: f64) -> Option<Self> {
        let dual = N::dual(vectors, numbers.len(), least)?;
        Some(Basis { numbers, dual })
    }
}
