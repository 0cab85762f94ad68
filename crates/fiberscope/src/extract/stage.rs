//! The first layers as they are known after a stage, inside an inquiry and outside of it.
//!
//! Inside, inputs are counted from the centre of the domain.

use super::inquiry::Inquiry;
use super::prefix::{Prefix, Rows};
use super::{ExtractStage, KnownLayer};

/// The first layers: rows, and how many of the layers are oriented.
#[derive(Clone, Default)]
pub(super) struct FirstLayers {
    /// The layers.
    pub layers: Vec<Rows>,
    /// How many of them are oriented: all, or all but the last.
    pub oriented: usize,
}

impl FirstLayers {
    /// These layers as they are known outside, and how sure they are.
    pub fn stage(&self, inquiry: &Inquiry<'_>) -> ExtractStage {
        let prefix = Prefix::of(inquiry.inputs, &self.layers);
        let (explained, certainty) = inquiry.census.count(&prefix, inquiry.radius);
        let known = outside(inquiry, &self.layers, self.oriented);
        ExtractStage { known, certainty, explained, queries: inquiry.count() }
    }
}

/// The known layers inside an inquiry, where inputs are counted from the centre of the domain.
pub(super) fn inside(inquiry: &Inquiry<'_>, known: &[KnownLayer]) -> Vec<Rows> {
    let shifted = |(l, layer): (usize, &KnownLayer)| {
        let shift = |w: &[f64]| if l == 0 { w.iter().sum::<f64>() * inquiry.center() } else { 0.0 };
        let bias = layer.weight.iter_rows().zip(&layer.bias).map(|(w, b)| b + shift(w)).collect();
        Rows { weight: layer.weight.clone(), bias }
    };
    known.iter().enumerate().map(shifted).collect()
}

/// The layers that are known inside an inquiry, in the coordinates of the oracle.
fn outside(inquiry: &Inquiry<'_>, layers: &[Rows], oriented: usize) -> Vec<KnownLayer> {
    let one = |(l, rows): (usize, &Rows)| KnownLayer {
        weight: rows.weight.clone(),
        bias: rows
            .iter()
            .map(|(w, b)| b - if l == 0 { w.iter().sum::<f64>() * inquiry.center() } else { 0.0 })
            .collect(),
        oriented: l < oriented,
    };
    layers.iter().enumerate().map(one).collect()
}
