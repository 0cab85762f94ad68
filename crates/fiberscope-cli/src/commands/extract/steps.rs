//! `fiberscope extract --boundaries` and `--signs`: single steps of an extraction.

use std::path::Path;

use anyhow::Context;
use fiberscope::extract::{
    BoundaryPoint, ExtractError, KnownLayer, OrientError, Orientation, orient_layer, recover_from_boundaries,
};
use fiberscope::limit::Deadline;
use fiberscope_core::Matrix;
use fiberscope_io::boundaries::{BoundaryFile, NeuronEntry};
use fiberscope_report::extraction::{
    boundary_text, boundary_value, known_layers_value, orientation_text, orientation_value,
};

use super::args::ExtractArgs;
use super::{open, options};
use crate::Answer;
use crate::args::Global;
use crate::output::Output;

/// From points of boundaries to rows, without an oracle.
pub fn boundaries(path: &Path, args: &ExtractArgs, output: &Output) -> anyhow::Result<Answer> {
    let name = path.display().to_string();
    let file = BoundaryFile::read(path)?;
    let known = known_layers(&file);
    let neurons: Vec<Vec<BoundaryPoint>> = file.neurons.iter().map(points).collect();
    let found = recover_from_boundaries(file.inputs, &known, &neurons, args.tolerance)
        .with_context(|| name.clone())?;
    let layer = found.layer();
    let complete = layer.is_some();
    if let Some(out) = &args.output {
        let layers: Vec<KnownLayer> = found.known.iter().cloned().chain(layer).collect();
        write_layers(out, file.inputs, &layers)?;
    }
    let (text, value) =
        (boundary_text(&name, &found, args.tolerance), boundary_value(&name, &found, args.tolerance));
    output.result(&text, &value)?;
    Ok(if complete { Answer::Yes } else { Answer::Undecided })
}

/// The signs of the last known layer, by queries.
pub fn signs(
    path: &Path,
    args: &ExtractArgs,
    global: &Global,
    deadline: &Deadline,
    output: &Output,
) -> anyhow::Result<Answer> {
    let name = path.display().to_string();
    let file = BoundaryFile::read(path)?;
    let mut opened = open::open(args, deadline, output)?;
    let sizes = (opened.oracle.inputs(), opened.oracle.outputs());
    if file.inputs != sizes.0 {
        anyhow::bail!("{name}: expected {} inputs, as the oracle has, found {}", sizes.0, file.inputs);
    }
    let options = options(args, global, deadline, sizes);
    let found: Orientation = match orient_layer(opened.oracle.as_mut(), &known_layers(&file), &options) {
        Err(OrientError::Layers(error)) => return Err(error).with_context(|| name),
        Err(OrientError::Oracle(error @ ExtractError::Oracle(_))) if deadline.is_past() => {
            output.error(&error.into());
            return Ok(Answer::Undecided);
        }
        found => found?,
    };
    if let Some(out) = &args.output {
        write_layers(out, file.inputs, &found.known)?;
    }
    output.result(&orientation_text(&opened.name, &found), &orientation_value(&opened.name, &found))?;
    Ok(if found.signs.iter().all(Option::is_some) { Answer::Yes } else { Answer::Undecided })
}

/// Writes layers as a file to which points of the next boundaries can be added.
pub fn write_layers(path: &Path, inputs: usize, layers: &[KnownLayer]) -> anyhow::Result<()> {
    Ok(BoundaryFile::new(inputs, known_layers_value(layers), Vec::new()).write(path)?)
}

fn known_layers(file: &BoundaryFile) -> Vec<KnownLayer> {
    let layer = |entry: &fiberscope_io::boundaries::LayerEntry| KnownLayer {
        // The reader has made sure that rows are equally long.
        weight: Matrix::from_rows(&entry.weight).unwrap_or_else(|| Matrix::from_fn(0, 0, |_, _| 0.0)),
        bias: entry.bias.clone(),
        oriented: entry.oriented,
    };
    file.layers.iter().map(layer).collect()
}

fn points(neuron: &NeuronEntry) -> Vec<BoundaryPoint> {
    let normal = |at: usize| neuron.normals.get(at).cloned();
    let point = |(at, point): (usize, &Vec<f64>)| BoundaryPoint { at: point.clone(), normal: normal(at) };
    neuron.points.iter().enumerate().map(point).collect()
}
