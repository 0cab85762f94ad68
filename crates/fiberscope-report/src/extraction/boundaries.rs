//! What boundary points and sign recovery told, as text and JSON.

use fiberscope::extract::{BoundaryNeuron, BoundaryRecovery, KnownLayer, Orientation};
use serde_json::{Value, json};

use crate::number::significant;
use crate::text::Lines;
use crate::words::joined;

/// `+`, `-` and `?` for the signs of a layer.
fn sign_text(signs: &[Option<f64>]) -> String {
    let sign = |sign: &Option<f64>| match sign {
        Some(sign) if *sign > 0.0 => '+',
        Some(_) => '-',
        None => '?',
    };
    signs.iter().map(sign).collect()
}

/// Signs as 1, -1 and null.
fn sign_value(signs: &[Option<f64>]) -> Value {
    signs.iter().map(|sign| sign.map(|sign| sign as i64)).collect::<Vec<_>>().into()
}

/// The recovery for a terminal; `tolerance` is what counted as zero.
pub fn boundary_text(name: &str, found: &BoundaryRecovery, tolerance: f64) -> String {
    let layer = found.known.len() + 1;
    let mut out = Lines::titled(&format!("{name}: {} neurons of hidden layer {layer}", found.neurons.len()));
    let rows = found.neurons.iter().filter(|neuron| matches!(neuron, BoundaryNeuron::Row { .. })).count();
    out.fact("rows", &format!("{rows} of {} found, up to a factor of either sign", found.neurons.len()));
    for (at, neuron) in found.neurons.iter().enumerate() {
        let text = match neuron {
            BoundaryNeuron::Row { weight, bias, residual } => {
                let bias = bias
                    .map_or("unknown without the signs of the layer before".into(), |b| significant(b, 6));
                let shown: Vec<String> = weight.iter().take(6).map(|w| significant(*w, 6)).collect();
                let more = if weight.len() > 6 { ", ..." } else { "" };
                format!(
                    "weights {}{more}; bias {bias}; residual {}",
                    shown.join(", "),
                    significant(*residual, 2)
                )
            }
            BoundaryNeuron::Undetermined { freedom, uncrossed } => {
                let reason = if uncrossed.is_empty() {
                    "more points, or normals, are needed".to_owned()
                } else {
                    let units: Vec<usize> = uncrossed.iter().map(|unit| unit + 1).collect();
                    format!(
                        "all points lie on one side of neurons {} of layer {}",
                        joined(&units, ", "),
                        layer - 1
                    )
                };
                format!("not determined, {freedom} further dimension(s) of rows explain the points: {reason}")
            }
            BoundaryNeuron::Inconsistent { smallest } => format!(
                "no row of hidden layer {layer} has all these points on its boundary (smallest singular value {})",
                significant(*smallest, 2)
            ),
        };
        out.fact(&format!("neuron {}", at + 1), &text);
    }
    if !found.signs.is_empty() {
        let error = found
            .bit_error
            .map_or(String::new(), |error| format!(", bits off by at most {}", significant(error, 2)));
        out.fact("signs", &format!("of layer {}: {}{error}", layer - 1, sign_text(&found.signs)));
    }
    out.fact(
        "tolerance",
        &format!("singular values up to {} of the largest count as zero", significant(tolerance, 2)),
    );
    out.finish()
}

/// The same with the keys of `fiberscope extract --boundaries --json`.
pub fn boundary_value(name: &str, found: &BoundaryRecovery, tolerance: f64) -> Value {
    let neuron = |neuron: &BoundaryNeuron| match neuron {
        BoundaryNeuron::Row { weight, bias, residual } => {
            json!({"status": "row", "weight": weight, "bias": bias, "residual": residual})
        }
        BoundaryNeuron::Undetermined { freedom, uncrossed } => {
            let uncrossed: Vec<usize> = uncrossed.iter().map(|unit| unit + 1).collect();
            json!({"status": "undetermined", "freedom": freedom, "uncrossed": uncrossed})
        }
        BoundaryNeuron::Inconsistent { smallest } => {
            json!({"status": "inconsistent", "smallest_singular_value": smallest})
        }
    };
    json!({
        "file": name, "layer": found.known.len() + 1, "tolerance": tolerance,
        "neurons": found.neurons.iter().map(neuron).collect::<Vec<_>>(),
        "signs": sign_value(&found.signs), "bit_error": found.bit_error,
    })
}

/// The signs that queries told, for a terminal.
pub fn orientation_text(name: &str, found: &Orientation) -> String {
    let layer = found.known.len();
    let mut out = Lines::titled(&format!("signs of hidden layer {layer} by asking {name}"));
    out.fact("signs", &sign_text(&found.signs));
    let told = found.signs.iter().flatten().count();
    out.fact("told", &format!("{told} of {}", found.signs.len()));
    if found.last {
        out.fact("layer", "the last hidden one: on all points asked the function is affine in its neurons");
    }
    out.fact("queries", &found.queries.to_string());
    if let Some(reason) = &found.stopped {
        out.fact("stopped", reason);
    }
    out.finish()
}

/// The same with the keys of `fiberscope extract --signs --json`.
pub fn orientation_value(name: &str, found: &Orientation) -> Value {
    json!({
        "oracle": name, "layer": found.known.len(), "signs": sign_value(&found.signs), "last": found.last,
        "queries": found.queries, "stopped": found.stopped,
    })
}

/// Known layers as entries of a file of boundaries.
pub fn known_layers_value(layers: &[KnownLayer]) -> Vec<fiberscope_io::boundaries::LayerEntry> {
    let entry = |layer: &KnownLayer| fiberscope_io::boundaries::LayerEntry {
        weight: layer.weight.iter_rows().map(<[f64]>::to_vec).collect(),
        bias: layer.bias.clone(),
        oriented: layer.oriented,
    };
    layers.iter().map(entry).collect()
}
