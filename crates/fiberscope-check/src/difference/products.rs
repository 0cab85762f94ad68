//! The forms of `z` and `d` of a layer, their errors (lemma E1) and bounds (lemma E3).
//!
//! The columns of symbols that came with the last ReLU are taken from one scaled column of the layer's
//! matrices; the others are products of matrices. Rows of zeros (neurons that are off) are left out of the
//! products.

use fiberscope_core::multiply_into;
use fiberscope_core::wide::{Simd, WithSimd, wide};

use super::forms::Forms;
use super::pair::PairLayer;
use super::vector::{abs_dot, abs_sum, abs_sums};
use super::{TINY, U, UP};

/// What is kept of a layer after the pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    pub zl: Vec<f64>,
    pub zu: Vec<f64>,
    pub dl: Vec<f64>,
    pub du: Vec<f64>,
    pub yl: Vec<f64>,
    pub yu: Vec<f64>,
    /// What the inputs' coefficients in the forms of `z` and `d` add up to in absolute value, row by row.
    pub inputs: Vec<f64>,
}

impl Kept {
    pub fn new(rows: usize, inputs: usize) -> Self {
        let zeros = vec![0.0; rows];
        let [zl, zu, dl, du, yl, yu] = std::array::from_fn(|_| zeros.clone());
        Kept { zl, zu, dl, du, yl, yu, inputs: vec![0.0; rows * inputs] }
    }
}

/// The forms of `z` and `d` of a layer, and the columns of its matrices that meet rows which are not zero.
#[derive(Clone, Debug, Default)]
pub(super) struct Products {
    pub columns: usize,
    pub changes: usize,
    /// The rows of `z`, then those of `d`, over the centre, the inputs and the symbols of A.
    pub z_and_d: Vec<f64>,
    /// The rows of `d` over the symbols of changes.
    pub d_changes: Vec<f64>,
    /// Columns of `W_A`, then of `dW`.
    pub weights_a: Vec<f64>,
    /// Columns of `W_B`.
    pub weights_b: Vec<f64>,
    pub error_z: Vec<f64>,
    pub error_d: Vec<f64>,
    pub norm_z: Vec<f64>,
    pub norm_d: Vec<f64>,
}

impl Products {
    #[inline(always)]
    pub fn z(&self, i: usize) -> &[f64] {
        &self.z_and_d[i * self.columns..(i + 1) * self.columns]
    }

    #[inline(always)]
    pub fn d(&self, i: usize, rows: usize) -> &[f64] {
        self.z(rows + i)
    }

    #[inline(always)]
    pub fn d_changes(&self, i: usize) -> &[f64] {
        &self.d_changes[i * self.changes..(i + 1) * self.changes]
    }

    /// The forms of `z` and `d` from those of `a` and `e`.
    pub fn multiply(&mut self, layer: &PairLayer, forms: &mut Forms) {
        let n = layer.rows;
        let (old, old_changes) = (forms.columns, forms.changes);
        (self.columns, self.changes) = (old + forms.symbols.len(), old_changes + forms.change_symbols.len());
        let (columns, changes) = (self.columns, self.changes);
        let (in_a, in_e) = (&forms.a.neurons, &forms.e.neurons);
        self.weights_a.clear();
        for matrix in [&layer.weight_a, &layer.weight_d] {
            pick(matrix, layer.columns, in_a, &mut self.weights_a);
        }
        self.weights_b.clear();
        pick(&layer.weight_b, layer.columns, in_e, &mut self.weights_b);
        self.z_and_d.resize(2 * n * columns, 0.0);
        self.d_changes.resize(n * changes, 0.0);
        let (weights_a, weights_b) = ((&self.weights_a[..], in_a.len()), (&self.weights_b[..], in_e.len()));
        multiply_into(
            (2 * n, in_a.len(), old),
            weights_a,
            (&forms.a.rows, old),
            (&mut self.z_and_d, columns),
            false,
        );
        let d = &mut self.z_and_d[n * columns..];
        multiply_into((n, in_e.len(), old), weights_b, (&forms.e.rows, old), (d, columns), true);
        let e_changes = (&forms.e_changes[..], old_changes);
        let d_changes = (&mut self.d_changes[..], changes);
        multiply_into((n, in_e.len(), old_changes), weights_b, e_changes, d_changes, false);
        wide(NewSymbols { products: self, layer, forms, old: (old, old_changes) });
        let g = 1.001 * (2 * layer.columns + 8) as f64 * U;
        forms.a.take_terms(g);
        forms.e.take_terms(g);
    }

    /// Errors (E1) and bounds (E3) of the neurons of a layer; false if one is not finite.
    pub fn bound(&mut self, layer: &PairLayer, forms: &Forms, kept: &mut Kept) -> bool {
        wide(Bounds { products: self, layer, forms, kept })
    }

    pub fn keep_inputs(&self, free: &[usize], inputs: usize, kept: &mut [f64]) {
        kept.fill(0.0);
        let rows = kept.len() / inputs;
        for (i, row) in kept.chunks_exact_mut(inputs).enumerate() {
            let (z, d) = (self.z(i), self.d(i, rows));
            free.iter().enumerate().for_each(|(t, &j)| row[j] = z[1 + t].abs() + d[1 + t].abs());
        }
    }
}

/// The columns of the symbols that came with the last ReLU, and the biases.
struct NewSymbols<'p> {
    products: &'p mut Products,
    layer: &'p PairLayer,
    forms: &'p Forms,
    /// The columns that are there: of `z` and `d`, and of the symbols of changes.
    old: (usize, usize),
}

impl WithSimd for NewSymbols<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let NewSymbols { products, layer, forms, old: (old, old_changes) } = self;
        let (n, columns, changes) = (layer.rows, products.columns, products.changes);
        let (in_a, in_e) = (forms.a.neurons.len(), forms.e.neurons.len());
        let (z, d) = products.z_and_d.split_at_mut(n * columns);
        for i in 0..n {
            let weight_a = &products.weights_a[i * in_a..(i + 1) * in_a];
            let weight_d = &products.weights_a[(n + i) * in_a..(n + i + 1) * in_a];
            let weight_b = &products.weights_b[i * in_e..(i + 1) * in_e];
            let z = &mut z[i * columns..(i + 1) * columns];
            let d = &mut d[i * columns..(i + 1) * columns];
            let new = z[old..].iter_mut().zip(&mut d[old..]).zip(&forms.symbols);
            for ((z, d), &(row, radius, e_row, e_radius)) in new {
                *z = weight_a[row] * radius;
                *d = weight_d[row] * radius;
                if e_radius != 0.0 {
                    *d += weight_b[e_row] * e_radius;
                }
            }
            let of_changes = &mut products.d_changes[i * changes + old_changes..(i + 1) * changes];
            for (d, &(row, radius)) in of_changes.iter_mut().zip(&forms.change_symbols) {
                *d = weight_b[row] * radius;
            }
            z[0] += layer.bias_a[i];
            d[0] += layer.bias_d[i];
        }
    }
}

/// Errors and bounds of the neurons of a layer.
struct Bounds<'p> {
    products: &'p mut Products,
    layer: &'p PairLayer,
    forms: &'p Forms,
    kept: &'p mut Kept,
}

impl WithSimd for Bounds<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Bounds { products, layer, forms, kept } = self;
        let (n, in_a, in_e) = (layer.rows, forms.a.neurons.len(), forms.e.neurons.len());
        let g = 1.001 * (2 * layer.columns + 8) as f64 * U;
        let w = 1.0 + (2 * layer.columns + products.columns + products.changes + 24) as f64 * 1.01 * U;
        for list in [&mut products.error_z, &mut products.error_d, &mut products.norm_z, &mut products.norm_d]
        {
            list.clear();
        }
        let mut finite = true;
        for i in 0..n {
            let weight_a = &products.weights_a[i * in_a..(i + 1) * in_a];
            let weight_d = &products.weights_a[(n + i) * in_a..(n + i + 1) * in_a];
            let weight_b = &products.weights_b[i * in_e..(i + 1) * in_e];
            let error_z = w * (abs_dot(simd, weight_a, &forms.a.terms) + g * layer.bias_a[i].abs()) + TINY;
            let from_a = abs_dot(simd, weight_d, &forms.a.terms);
            let from_e = abs_dot(simd, weight_b, &forms.e.terms);
            let error_d = w * (from_a + from_e + g * layer.bias_d[i].abs()) + TINY;
            let (z, d) = (products.z(i), products.d(i, n));
            let [sum_z, sum_d, sum_y] = abs_sums(simd, &z[1..], &d[1..]);
            let sum_changes = abs_sum(simd, products.d_changes(i));
            let (sum_d, sum_y) = (sum_d + sum_changes, sum_y + sum_changes);
            let (z, d) = (z[0], d[0]);
            let y = z + d;
            let spread = |sum: f64, error: f64, size: f64| ((sum + error) * w + 4.0 * U * size) * UP;
            let (of_z, of_d) = (spread(sum_z, error_z, z.abs()), spread(sum_d, error_d, d.abs()));
            let of_y = spread(sum_y, error_z + error_d, z.abs() + d.abs());
            (kept.zl[i], kept.zu[i]) = (z - of_z, z + of_z);
            (kept.dl[i], kept.du[i]) = (d - of_d, d + of_d);
            (kept.yl[i], kept.yu[i]) = (y - of_y, y + of_y);
            let ends = [kept.zl[i], kept.zu[i], kept.dl[i], kept.du[i], kept.yl[i], kept.yu[i]];
            finite &= ends.iter().all(|end| end.is_finite());
            products.norm_z.push(z.abs() + sum_z);
            products.norm_d.push(d.abs() + sum_d);
            products.error_z.push(error_z);
            products.error_d.push(error_d);
        }
        finite
    }
}

/// Appends these columns of a matrix, row by row.
fn pick(matrix: &[f64], columns: usize, picked: &[usize], out: &mut Vec<f64>) {
    if picked.len() == columns {
        out.extend_from_slice(matrix);
        return;
    }
    for row in matrix.chunks_exact(columns) {
        out.extend(picked.iter().map(|&j| row[j]));
    }
}
