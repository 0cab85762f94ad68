//! Parameters that the answers do not determine.
//!
//! A neuron that is on at all questions is known as a linear map only, and only together with all others of
//! its layer that are; one that is off at all of them is not known at all. A weight from a neuron that is
//! never on together with the one it leads to is not felt. Any other values of such parameters that keep it so
//! give the same answers. In small networks the derivatives of the answers by the parameters show what else there is: a
//! direction in which all of them vanish, other than the scalings of neurons.

use fiberscope_core::Matrix;

use super::algebra::Svd;
use super::fit::FIT_REACH;
use super::inquiry::Inquiry;
use super::polish::{backward, inputs_of};
use super::prefix::Rows;

/// Answers that are looked at.
const LOOKED_AT: usize = 20_000;

/// The most parameters for which directions are looked for, and answers for each of them.
const SMALL: usize = 600;
const ANSWERS_EACH: usize = 3;

/// Singular values of the derivatives, scaled to columns of length one, that count as zero.
const VANISHING: f64 = 1e-11;

/// Parameters of one hidden layer that the answers do not determine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undetermined {
    /// The hidden layer, from 0.
    pub layer: usize,
    /// Neurons that were on at all stored points that were looked at: only the sum of their linear maps is known.
    pub always_on: usize,
    /// Neurons that were on at none of them.
    pub always_off: usize,
    /// Weights between neurons that switch, but were on together at none of them.
    pub weights: usize,
    /// If nothing else is open: directions, beside the scalings of neurons, in which the parameters of the whole
    /// network can change without a change of any stored answer that was looked at, to first order. They are named
    /// with the last hidden layer.
    pub directions: usize,
}

/// What the stored answers leave open of each hidden layer; layers that they determine are left out.
pub(super) fn undetermined(inquiry: &Inquiry<'_>, layers: &[Rows]) -> Vec<Undetermined> {
    let (points, _) = inquiry.stored(FIT_REACH, LOOKED_AT);
    let hidden = &layers[..layers.len() - 1];
    let mut states: Vec<States> = hidden.iter().map(States::new).collect();
    for x in points.iter_rows() {
        let mut h = x.to_vec();
        for (l, (layer, states)) in hidden.iter().zip(&mut states).enumerate() {
            let z = layer.at(&h);
            states.see(&z, if l == 0 { None } else { Some(&h) });
            h = z.into_iter().map(|z| z.max(0.0)).collect();
        }
    }
    let mut found = Vec::new();
    for (layer, now) in states.iter().enumerate() {
        let always_on = now.off.iter().filter(|off| !**off).count();
        let always_off = now.on.iter().filter(|on| !**on).count();
        let felt = |i: usize, k: usize| now.together[i * now.width + k];
        let before = layer.checked_sub(1).map(|before| &states[before]);
        let weights = before.map_or(0, |before| {
            let switching = (0..now.on.len()).filter(|&i| now.on[i] && now.off[i]);
            switching.map(|i| (0..now.width).filter(|&k| before.on[k] && !felt(i, k)).count()).sum()
        });
        if always_on + always_off + weights > 0 {
            found.push(Undetermined { layer, always_on, always_off, weights, directions: 0 });
        }
    }
    let directions = if found.is_empty() { free_directions(inquiry, layers) } else { 0 };
    if directions > 0 {
        found.push(Undetermined { layer: hidden.len() - 1, directions, ..Undetermined::default() });
    }
    found
}

/// Directions, beside the scalings of neurons, in which the derivatives of all answers vanish; 0 in large networks.
fn free_directions(inquiry: &Inquiry<'_>, layers: &[Rows]) -> usize {
    let total: usize = layers.iter().map(|layer| layer.len() * (layer.weight.cols() + 1)).sum();
    let scalings: usize = layers[..layers.len() - 1].iter().map(Rows::len).sum();
    if total > SMALL || inquiry.options.deadline.is_past() {
        return 0;
    }
    let (points, _) = inquiry.stored(FIT_REACH, ANSWERS_EACH * total);
    let mut rows = Vec::new();
    for x in points.iter_rows() {
        let inputs = inputs_of(layers, x);
        for output in 0..inquiry.outputs {
            let back = (0..inquiry.outputs).map(|o| f64::from(u8::from(o == output))).collect();
            let mut row = vec![0.0; total];
            backward(layers, &inputs, back, &mut row);
            rows.push(row);
        }
    }
    if rows.len() < 2 * total {
        return 0;
    }
    let mut lengths = vec![0.0f64; total];
    for row in &rows {
        lengths.iter_mut().zip(row).for_each(|(length, v)| *length += v * v);
    }
    let scaled = Matrix::from_fn(rows.len(), total, |i, j| {
        if lengths[j] > 0.0 { rows[i][j] / lengths[j].sqrt() } else { 0.0 }
    });
    let Some(svd) = Svd::of(&scaled) else { return 0 };
    let rank = svd.rank(VANISHING);
    (total - rank).saturating_sub(scalings)
}

/// In which states the neurons of a layer were seen.
struct States {
    width: usize,
    on: Vec<bool>,
    off: Vec<bool>,
    /// For every neuron and feature whether both were on at once; not for inputs.
    together: Vec<bool>,
}

impl States {
    fn new(layer: &Rows) -> Self {
        let (count, width) = (layer.len(), layer.weight.cols());
        States {
            width,
            on: vec![false; count],
            off: vec![false; count],
            together: vec![false; count * width],
        }
    }

    fn see(&mut self, z: &[f64], features: Option<&[f64]>) {
        for (i, z) in z.iter().enumerate() {
            if *z <= 0.0 {
                self.off[i] = true;
                continue;
            }
            self.on[i] = true;
            let row = &mut self.together[i * self.width..(i + 1) * self.width];
            for (felt, h) in row.iter_mut().zip(features.unwrap_or_default()) {
                *felt |= *h > 0.0;
            }
        }
    }
}
