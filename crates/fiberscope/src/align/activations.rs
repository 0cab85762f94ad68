//! Matching by activations: neurons that do the same on data, whatever their weights.
//!
//! For points `x` of the caller, `z_i(x)` is the value of a hidden neuron of `A` behind its activation and `w_j(x)` one
//! of `B`. A pair costs the squared distance of the centred values at norm one, that is `2 - 2 r`, `r` their correlation;
//! a neuron that is constant on the data correlates with none. The best permutation of every layer is an assignment
//! problem; the channels of an image are compared by their values at all places. Permuting or scaling the layers before does not change which values a neuron takes, so every layer is
//! solved once. [ainsworth2023git, Section 3.1] matches without centring and norming.

use fiberscope_algebra::dense::fast_dot;
use fiberscope_core::{Activation, Layer, Matrix, Network};
use rayon::prelude::*;

use super::assignment::assign;
use super::rewriting::MOST_UNITS;
use super::units::{Class, Member};
use crate::limit::Deadline;
use crate::orbit::LayerRelabelling;

/// The most points that are used, and the most values of a layer; of more points, some at equal distances.
const POINTS: usize = 4096;
const VALUES: usize = 1 << 24;

/// For every class the relabelling of the channels of `b` that do most nearly what those of `a` do, and the ratios of the
/// sizes of their values. `None` if the values are not finite or the deadline comes first.
pub(super) fn match_activations(
    a: &Network,
    b: &Network,
    classes: &[Class],
    points: &Matrix,
    deadline: &Deadline,
) -> Option<Vec<LayerRelabelling<f64>>> {
    let widest = a.widths().into_iter().max().unwrap_or(1).max(1);
    let most = POINTS.min(VALUES / widest).max(1);
    let step = points.rows().div_ceil(most).max(1);
    let rows = points.rows().div_ceil(step);
    let chosen = Matrix::from_fn(rows, points.cols(), |i, j| points[(i * step, j)]);
    let (mut at_a, mut at_b) = (chosen.clone(), chosen);
    let mut found = vec![LayerRelabelling::default(); classes.len()];
    for (layer, (layer_a, layer_b)) in a.hidden_layers().iter().zip(b.hidden_layers()).enumerate() {
        at_a = behind(layer_a, &at_a)?;
        at_b = behind(layer_b, &at_b)?;
        for (class, found) in classes.iter().zip(&mut found) {
            let (member, n) = (&class.members[0], class.channels());
            if member.layer != layer {
                continue;
            }
            if n > MOST_UNITS {
                *found = LayerRelabelling::identity(n, 1.0);
                continue;
            }
            let (of_a, of_b) = (Values::of(&at_a, member, n)?, Values::of(&at_b, member, n)?);
            let mut entries = vec![0.0; n * n];
            entries.par_chunks_mut(n).enumerate().for_each(|(i, row)| {
                for (j, entry) in row.iter_mut().enumerate() {
                    *entry = -fast_dot(of_a.normed.row(i), of_b.normed.row(j));
                }
            });
            if deadline.is_past() {
                return None;
            }
            let order = assign(&Matrix::from_fn(n, n, |i, j| entries[i * n + j]));
            let ratio = |(i, &j): (usize, &usize)| match of_a.size[i] / of_b.size[j] {
                ratio if ratio.is_normal() => ratio,
                _ => 1.0,
            };
            let factors = order.iter().enumerate().map(ratio).collect();
            *found = LayerRelabelling { order, factors };
        }
    }
    Some(found)
}

/// The values behind a layer, one row per point.
fn behind(layer: &Layer, batch: &Matrix) -> Option<Matrix> {
    let affine = Layer::new(layer.weights().clone(), layer.bias().to_vec(), Activation::Identity);
    let mut values = Network::new(vec![affine]).ok()?.evaluate_batch(batch).ok()?;
    if layer.activation() == Activation::Relu {
        for i in 0..values.rows() {
            values.row_mut(i).iter_mut().for_each(|value| *value = value.max(0.0));
        }
    }
    Some(values)
}

/// The values of the channels of an image, one row per channel: those at all places and points.
struct Values {
    /// Centred and of norm one, or zero if they are all the same.
    normed: Matrix,
    /// The root of the mean square.
    size: Vec<f64>,
}

impl Values {
    fn of(batch: &Matrix, member: &Member, channels: usize) -> Option<Self> {
        if batch.entries().iter().any(|value| !value.is_finite()) {
            return None;
        }
        let places = member.channel(0).len();
        let count = batch.rows() * places;
        let value =
            |channel: usize, at: usize| batch[(at / places, member.channel(channel).start + at % places)];
        let mut normed = Matrix::from_fn(channels, count, value);
        let mut size = Vec::with_capacity(channels);
        let count = count.max(1) as f64;
        for i in 0..channels {
            let row = normed.row_mut(i);
            size.push((fast_dot(row, row) / count).sqrt());
            let mean = row.iter().sum::<f64>() / count;
            row.iter_mut().for_each(|value| *value -= mean);
            let norm = fast_dot(row, row).sqrt();
            let by = if norm > 1e-12 * size[i] { 1.0 / norm } else { 0.0 };
            row.iter_mut().for_each(|value| *value *= by);
        }
        Some(Values { normed, size })
    }
}
