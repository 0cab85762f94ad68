//! Parameters that the answers do not determine.
//!
//! A neuron that is on at all questions is known as a linear map only, and only together with all others of
//! its layer that are; one that is off at all of them is not known at all. A weight from a neuron that is
//! never on together with the one it leads to is not felt. Any other values of such parameters that keep it so
//! give the same answers.

use super::fit::FIT_REACH;
use super::inquiry::Inquiry;
use super::prefix::Rows;

/// Answers that are looked at.
const LOOKED_AT: usize = 20_000;

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
            found.push(Undetermined { layer, always_on, always_off, weights });
        }
    }
    found
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
