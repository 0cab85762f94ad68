//! The forms behind a ReLU, with their errors (lemma E2).

use fiberscope_core::Activation as Function;
use fiberscope_core::wide::{Simd, WithSimd, wide};

use super::forms::Forms;
use super::pair::PairLayer;
use super::products::{Kept, Products};
use super::relax::{Activation, Change, Phase, activation, change};
use super::{TINY, U};

impl Forms {
    /// The forms of `a` and `e` behind a layer (R0, R4, R5, E2).
    pub fn activate(&mut self, layer: &PairLayer, products: &Products, kept: &Kept) {
        wide(Activate { forms: self, layer, products, kept });
    }

    #[inline(always)]
    fn take(&mut self, layer: &PairLayer, products: &Products, kept: &Kept) {
        let Products { columns, changes, .. } = *products;
        (self.columns, self.changes) = (columns, changes);
        self.a.clear();
        self.e.clear();
        self.e_changes.clear();
        self.symbols.clear();
        self.change_symbols.clear();
        for i in 0..layer.rows {
            let (a, e) = match layer.activation {
                Function::Identity => {
                    (Activation { phase: Phase::On, slope: 1.0, radius: 0.0 }, Change::Same)
                }
                Function::Relu => {
                    let a = activation(kept.zl[i], kept.zu[i]);
                    (a, change(&a, (kept.dl[i], kept.du[i]), (kept.yl[i], kept.yu[i])))
                }
            };
            self.push_a(i, &a, products);
            self.push_e(i, &a, e, products, layer.rows);
        }
    }

    #[inline(always)]
    fn push_a(&mut self, i: usize, a: &Activation, products: &Products) {
        let z = products.z(i);
        let (error, norm) = (products.error_z[i], products.norm_z[i]);
        match a.phase {
            Phase::Off => {}
            Phase::On => {
                self.a.rows.extend_from_slice(z);
                self.a.push(i, error, norm);
            }
            Phase::Open => {
                let start = self.a.rows.len();
                self.a.rows.extend(z.iter().map(|z| a.slope * z));
                self.a.rows[start] += a.radius;
                self.symbols.push((self.a.neurons.len(), a.radius, 0, 0.0));
                let norm = a.slope * norm + 2.0 * a.radius;
                self.a.push(i, a.slope * error + 4.0 * U * norm + TINY, norm);
            }
        }
    }

    /// The form of `e` of the neuron whose `a` was pushed last.
    #[inline(always)]
    fn push_e(&mut self, i: usize, a: &Activation, e: Change, products: &Products, rows: usize) {
        let (z, d, d_changes) = (products.z(i), products.d(i, rows), products.d_changes(i));
        let (error_d, norm_d) = (products.error_d[i], products.norm_d[i]);
        let (place, start) = (self.e.neurons.len(), self.e.rows.len());
        match e {
            Change::Zero => {}
            Change::Same => {
                self.e.rows.extend_from_slice(d);
                self.e_changes.extend_from_slice(d_changes);
                self.e.push(i, error_d, norm_d);
            }
            Change::Band { slope, offset, radius } => {
                self.e.rows.extend(d.iter().map(|d| slope * d));
                self.e.rows[start] += offset;
                self.e_changes.extend(d_changes.iter().map(|d| slope * d));
                self.change_symbols.push((place, radius));
                let norm = slope * norm_d + offset.abs() + radius;
                self.e.push(i, slope * error_d + 4.0 * U * norm + TINY, norm);
            }
            Change::Apart { slope, radius } => {
                let a_row = match a.phase {
                    Phase::Off => None,
                    _ => self.a.neurons.len().checked_sub(1),
                };
                if a.phase == Phase::Open
                    && let Some((.., row, coefficient)) = self.symbols.last_mut()
                {
                    (*row, *coefficient) = (place, -a.radius);
                }
                let a_form = a_row.map(|row| &self.a.rows[row * self.columns..]);
                if slope == 0.0 && radius == 0.0 {
                    // B is off: the negated form of `a`, exactly.
                    let (Some(row), Some(form)) = (a_row, a_form) else { return };
                    self.e.rows.extend(form.iter().map(|a| -a));
                    self.e_changes.extend(d_changes.iter().map(|_| 0.0));
                    let (error, norm) = (self.a.errors[row], self.a.norms[row]);
                    self.e.push(i, error, norm);
                    return;
                }
                match a_form {
                    Some(form) => {
                        let sums = z.iter().zip(d).zip(form);
                        self.e.rows.extend(sums.map(|((z, d), a)| slope * (z + d) - a));
                    }
                    None => self.e.rows.extend(z.iter().zip(d).map(|(z, d)| slope * (z + d))),
                }
                self.e_changes.extend(d_changes.iter().map(|d| slope * d));
                if radius > 0.0 {
                    self.e.rows[start] += radius;
                    self.change_symbols.push((place, radius));
                }
                let (error_a, norm_a) =
                    a_row.map_or((0.0, 0.0), |row| (self.a.errors[row], self.a.norms[row]));
                let norm = slope * (products.norm_z[i] + norm_d) + norm_a + 2.0 * radius;
                let error = slope * (products.error_z[i] + error_d) + error_a + 8.0 * U * norm + TINY;
                self.e.push(i, error, norm);
            }
        }
    }
}

/// The forms behind a layer.
struct Activate<'f> {
    forms: &'f mut Forms,
    layer: &'f PairLayer,
    products: &'f Products,
    kept: &'f Kept,
}

impl WithSimd for Activate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.forms.take(self.layer, self.products, self.kept);
    }
}
