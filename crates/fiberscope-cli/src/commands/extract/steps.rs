//! `fiberscope extract --boundaries` and `--signs`: single steps of an extraction.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use fiberscope::extract::{
    BoundaryPoint, ExtractError, Extraction, KnownLayer, OrientError, Orientation, orient_layer,
    recover_from_boundaries,
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
    let mut opened = open::open(args, deadline, output)?;
    let sizes = (opened.oracle.inputs(), opened.oracle.outputs());
    let known = read_layers(path, sizes.0)?;
    let options = options(args, global, deadline, sizes);
    let found: Orientation = match orient_layer(opened.oracle.as_mut(), &known, &options) {
        Err(OrientError::Layers(error)) => return Err(error).with_context(|| name),
        Err(OrientError::Oracle(error @ ExtractError::Oracle(_))) if deadline.is_past() => {
            output.error(&error.into());
            return Ok(Answer::Undecided);
        }
        found => found?,
    };
    if let Some(out) = &args.output {
        write_layers(out, sizes.0, &found.known)?;
    }
    output.result(&orientation_text(&opened.name, &found), &orientation_value(&opened.name, &found))?;
    Ok(if found.signs.iter().all(Option::is_some) { Answer::Yes } else { Answer::Undecided })
}

/// Writes layers as a file to which points of the next boundaries can be added.
pub fn write_layers(path: &Path, inputs: usize, layers: &[KnownLayer]) -> anyhow::Result<()> {
    Ok(BoundaryFile::new(inputs, known_layers_value(layers), Vec::new()).write(path)?)
}

/// The layers of a file, for an oracle with so many inputs.
pub fn read_layers(path: &Path, inputs: usize) -> anyhow::Result<Vec<KnownLayer>> {
    let file = BoundaryFile::read(path)?;
    if file.inputs != inputs {
        let name = path.display();
        anyhow::bail!("{name}: expected {inputs} inputs, as the oracle has, found {}", file.inputs);
    }
    Ok(known_layers(&file))
}

/// The file of the layers that are known, written after every stage: what a run leaves that is killed.
pub struct StageFile {
    path: PathBuf,
    inputs: usize,
    /// Whether the user gave it, too: then it stays.
    named: bool,
    written: AtomicBool,
}

impl StageFile {
    /// A file that is not written yet.
    pub fn new(path: PathBuf, inputs: usize, given: Option<&Path>) -> Self {
        let named = given == Some(path.as_path());
        StageFile { path, inputs, named, written: AtomicBool::new(false) }
    }

    /// Keeps the layers. A file that cannot be written now is written at the end, or said to be missing.
    pub fn keep(&self, layers: &[KnownLayer]) {
        if write_layers(&self.path, self.inputs, layers).is_ok() {
            self.written.store(true, Ordering::Relaxed);
        }
    }

    /// The file if it is of use after the extraction.
    pub fn end(self, found: &Extraction) -> anyhow::Result<Option<PathBuf>> {
        if !found.known.is_empty() {
            write_layers(&self.path, self.inputs, &found.known)?;
            return Ok(Some(self.path));
        }
        if self.written.into_inner() && !self.named {
            // A file that cannot be removed does no harm.
            let _ = std::fs::remove_file(&self.path);
        }
        Ok(None)
    }
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
