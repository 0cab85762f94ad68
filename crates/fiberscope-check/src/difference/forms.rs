//! The forms of `a` and `e`, and those of the inputs.
//!
//! Forms of `a` have columns for the centre, the free inputs and the symbols of open neurons of A; those of
//! `e` have these and the symbols of the changes. A symbol that came with the last ReLU (or with the inputs)
//! has one entry in `a` and one in `e`; such columns are not stored.

use super::region::{centre, radius};

/// The error that stands for inputs that are exact but so small, below [`SMALL`], that their product with `g`
/// may not be normal: it covers what that loses.
const LEAST: f64 = 1e-322;
const SMALL: f64 = 1e-280;

/// The forms of `a` and `e`: rows of neurons that are not zero, over the columns that products are needed
/// for, and the symbols beside them.
#[derive(Clone, Debug, Default)]
pub(super) struct Forms {
    /// The columns of the centre, the inputs and the symbols of A.
    pub columns: usize,
    /// The columns of the symbols of changes.
    pub changes: usize,
    pub a: Side,
    pub e: Side,
    /// The part of `e` over the symbols of changes.
    pub e_changes: Vec<f64>,
    /// For each new symbol of A: its row in `a` and coefficient there, its row in `e` and coefficient there.
    pub symbols: Vec<(usize, f64, usize, f64)>,
    /// For each new symbol of a change: its row in `e` and coefficient there.
    pub change_symbols: Vec<(usize, f64)>,
}

/// The rows of `a` or of `e` that are not zero.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    /// The neurons.
    pub neurons: Vec<usize>,
    /// The coefficients, row by row.
    pub rows: Vec<f64>,
    /// The errors `E`.
    pub errors: Vec<f64>,
    /// Sums of the absolute values of the coefficients, `N`.
    pub norms: Vec<f64>,
    /// `E + g N`.
    pub terms: Vec<f64>,
}

impl Side {
    pub fn clear(&mut self) {
        self.neurons.clear();
        self.rows.clear();
        self.errors.clear();
        self.norms.clear();
    }

    pub fn push(&mut self, neuron: usize, error: f64, norm: f64) {
        self.neurons.push(neuron);
        self.errors.push(error);
        self.norms.push(norm);
    }

    pub fn take_terms(&mut self, g: f64) {
        self.terms.clear();
        self.terms.extend(self.errors.iter().zip(&self.norms).map(|(e, n)| e + g * n));
    }
}

impl Forms {
    /// The forms of the inputs; false if the box is none.
    pub fn start(&mut self, lo: &[f64], hi: &[f64], free: &mut Vec<usize>) -> bool {
        (self.columns, self.changes) = (1, 0);
        self.a.clear();
        self.e.clear();
        self.e_changes.clear();
        self.symbols.clear();
        self.change_symbols.clear();
        free.clear();
        for (j, (&lo, &hi)) in lo.iter().zip(hi).enumerate() {
            let Some(c) = centre(lo, hi).filter(|_| lo <= hi) else { return false };
            let r = if lo == hi { 0.0 } else { radius(lo, c, hi) };
            let c = if lo == hi { lo } else { c };
            self.a.rows.push(c);
            let norm = c.abs() + r;
            self.a.push(j, if norm > 0.0 && norm < SMALL { LEAST } else { 0.0 }, norm);
            if r > 0.0 {
                free.push(j);
                self.symbols.push((j, r, 0, 0.0));
            }
        }
        true
    }
}
