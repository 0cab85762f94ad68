//! Networks in the NNet text format (K. Julian, Stanford 2016), as used for ACAS Xu.
//!
//! Lines that begin with `//` and empty lines are skipped. The others hold numbers separated by
//! commas; a comma may end a line:
//!
//! ```text
//! layers, inputs, outputs, largest width       L, n_0, n_L, max n_l (the last is not used)
//! n_0, n_1, ..., n_L
//! flag                                         (not used; may be absent)
//! minima of the inputs                         the four normalisation lines may be absent,
//! maxima of the inputs                         but only together
//! means of the inputs, mean of the outputs
//! ranges of the inputs, range of the outputs
//! W_1, one row per line;  b_1, one entry per line;  W_2;  b_2;  ...
//! ```
//!
//! All layers but the last are followed by `relu`. The program that comes with the format clips an
//! input to `[minimum, maximum]`, feeds `(x - mean) / range` to the layers, and turns their result
//! `y` into `y * range + mean`. With [`Normalization::Fold`] the last two steps become part of
//! `(W_1, b_1)` and `(W_L, b_L)`: every parameter is computed exactly and rounded once to the nearest
//! double. Clipping is no affine map and never part of the network.
//!
//! Some files list more inputs in the normalisation lines than the network has (ACAS Xu: two more,
//! which chose between networks). The first `n_0` entries are those of the inputs, and the last mean
//! and range are those of the outputs.
//!
//! The numbers are decimal text, read as the nearest doubles: the precision is
//! [`Precision::F64`], however few digits they have.

mod fold;

use std::str::Lines;

use fiberscope_core::{Activation, Layer, Matrix, Network};

use crate::text::{clip, utf8};
use crate::{FormatError, Model, Normalization, Precision, ReadOptions};

/// Reads a network. Errors name the line, and the layer where there is one.
pub fn read(bytes: &[u8], options: &ReadOptions) -> Result<Model, FormatError> {
    let text = utf8(bytes)?;
    let mut rows = Rows { lines: text.lines(), line: 0 };
    let sizes = sizes(&mut rows)?;
    let mut notes = Vec::new();
    let normalizer = header(&mut rows, &sizes, options.normalization, &mut notes)?;
    let mut layers = layers(&mut rows, &sizes)?;
    if let Some(normalizer) = normalizer {
        fold::fold(&mut layers, &normalizer)?;
    }
    let last = layers.len() - 1;
    let layer = |(l, (weight, bias))| {
        Layer::new(weight, bias, if l < last { Activation::Relu } else { Activation::Identity })
    };
    let network = Network::new(layers.into_iter().enumerate().map(layer).collect())?;
    Ok(Model::new(network, Precision::F64, notes))
}

const FOLDED: &str = "the normalisation in the header is part of the network: x -> (x - mean) / range of the first \
    layer, y -> y * range + mean of the last, each parameter rounded once to the nearest double; the clipping of \
    inputs to [minimum, maximum] is not part of the network";
const IGNORED: &str = "the normalisation in the header is left out: the network takes (x - mean) / range and gives \
    (y - mean) / range; the clipping of inputs to [minimum, maximum] is not part of the network";
const ABSENT: &str = "the file has no normalisation header";

/// The lines that hold numbers.
#[derive(Clone)]
struct Rows<'t> {
    lines: Lines<'t>,
    /// The number of the line that came last, counted from 1.
    line: usize,
}

impl<'t> Iterator for Rows<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        loop {
            let row = self.lines.next()?.trim();
            self.line += 1;
            if !row.is_empty() && !row.starts_with("//") {
                return Some(row);
            }
        }
    }
}

impl<'t> Rows<'t> {
    /// The next line, which holds `what`.
    fn expect(&mut self, what: &str) -> Result<&'t str, FormatError> {
        self.next().ok_or_else(|| {
            FormatError::malformed(format!("the file ends after line {}; expected {what}", self.line))
        })
    }

    fn error(&self, what: &str, message: &str) -> FormatError {
        FormatError::malformed(format!("line {}: {what}: {message}", self.line))
    }

    /// Appends the numbers of the next line, which holds `what`, and says how many they are.
    fn numbers(&mut self, what: &str, into: &mut Vec<f64>) -> Result<usize, FormatError> {
        let row = self.expect(what)?;
        let mut count = 0;
        for cell in cells(row) {
            count += 1;
            match cell.parse::<f64>() {
                Ok(number) if number.is_finite() => into.push(number),
                _ => {
                    let message = format!("entry {count} is {:?}; expected a finite number", clip(cell));
                    return Err(self.error(what, &message));
                }
            }
        }
        Ok(count)
    }

    /// Appends the numbers of the next line, which holds `what` and must have this many.
    fn exactly(&mut self, expected: usize, what: &str, into: &mut Vec<f64>) -> Result<(), FormatError> {
        let found = self.numbers(what, into)?;
        if found == expected {
            return Ok(());
        }
        Err(self.error(what, &format!("expected {expected} numbers, found {found}")))
    }
}

/// The entries of a line, without the empty one after a last comma.
fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.strip_suffix(',').unwrap_or(row).split(',').map(str::trim)
}

/// The widths `(n_0, ..., n_L)` of the first two lines.
fn sizes(rows: &mut Rows) -> Result<Vec<usize>, FormatError> {
    const COUNTS: &str = "number of layers, inputs, outputs, largest width";
    let counts = integers(rows, COUNTS)?;
    let [layers, inputs, outputs, _] = counts[..] else {
        return Err(rows.error(COUNTS, &format!("expected 4 numbers, found {}", counts.len())));
    };
    let sizes = integers(rows, "widths of the layers")?;
    let fits = sizes.len().checked_sub(1) == Some(layers)
        && (sizes.first(), sizes.last()) == (Some(&inputs), Some(&outputs));
    if !fits || layers == 0 {
        let message = format!(
            "the line before says {layers} layers, {inputs} inputs and {outputs} outputs; found {} widths from \
             {} to {}",
            sizes.len(),
            sizes[0],
            sizes[sizes.len() - 1]
        );
        return Err(rows.error("widths of the layers", &message));
    }
    match sizes.iter().position(|&size| size == 0) {
        None => Ok(sizes),
        Some(at) => {
            let message = format!("width {} is 0; widths must be at least 1", at + 1);
            Err(rows.error("widths of the layers", &message))
        }
    }
}

/// The nonnegative integers of a line; at least one.
fn integers(rows: &mut Rows, what: &str) -> Result<Vec<usize>, FormatError> {
    let row = rows.expect(what)?;
    let parse = |(i, cell): (usize, &str)| {
        let message = || format!("entry {} is {:?}; expected a whole number", i + 1, clip(cell));
        cell.parse::<usize>().map_err(|_| rows.error(what, &message()))
    };
    cells(row).enumerate().map(parse).collect()
}

/// What is subtracted and divided before the first layer, multiplied and added after the last.
struct Normalizer {
    /// One mean per input.
    means: Vec<f64>,
    /// One range per input, none of them zero.
    ranges: Vec<f64>,
    output_mean: f64,
    output_range: f64,
}

/// Reads the lines between the widths and the weights. What they are follows from their number.
fn header(
    rows: &mut Rows,
    sizes: &[usize],
    normalization: Normalization,
    notes: &mut Vec<String>,
) -> Result<Option<Normalizer>, FormatError> {
    let found = rows.clone().count();
    let parameters = sizes[1..].iter().fold(0usize, |sum, size| sum.saturating_add(size.saturating_mul(2)));
    let (flag, normalized) = match found.checked_sub(parameters) {
        Some(0) => (false, false),
        Some(1) => (true, false),
        Some(4) => (false, true),
        Some(5) => (true, true),
        _ => {
            let message = format!(
                "expected {parameters} lines of weights and biases after it, and before these 5 lines (a flag, \
                 minima, maxima, means, ranges), 4 (no flag), 1 (only a flag) or none; found {found} lines in all"
            );
            return Err(rows.error("widths of the layers", &message));
        }
    };
    if flag {
        rows.next();
    }
    if !normalized {
        notes.push(ABSENT.to_owned());
        return Ok(None);
    }
    rows.next();
    rows.next();
    match normalization {
        Normalization::Ignore => {
            rows.next();
            rows.next();
            notes.push(IGNORED.to_owned());
            Ok(None)
        }
        Normalization::Fold => normalizer(rows, sizes[0], notes).map(Some),
    }
}

fn normalizer(rows: &mut Rows, inputs: usize, notes: &mut Vec<String>) -> Result<Normalizer, FormatError> {
    let (mut means, mut ranges) = (Vec::new(), Vec::new());
    let listed = rows.numbers("means", &mut means)?;
    if listed <= inputs {
        let message =
            format!("expected {inputs} numbers for the inputs and one for the outputs, found {listed}");
        return Err(rows.error("means", &message));
    }
    rows.exactly(listed, "ranges", &mut ranges)?;
    if let Some(input) = ranges[..inputs].iter().position(|&range| range == 0.0) {
        let message = format!("the range of input {} is 0; expected another number to divide by", input + 1);
        return Err(rows.error("ranges", &message));
    }
    if listed > inputs + 1 {
        notes.push(format!(
            "the header lists {} inputs, the network has {inputs}: the first {inputs} means and ranges are those \
             of the inputs, the last ones those of the outputs",
            listed - 1
        ));
    }
    notes.push(FOLDED.to_owned());
    let (output_mean, output_range) = (means[listed - 1], ranges[listed - 1]);
    means.truncate(inputs);
    ranges.truncate(inputs);
    Ok(Normalizer { means, ranges, output_mean, output_range })
}

/// `(W_l, b_l)` for every layer.
fn layers(rows: &mut Rows, sizes: &[usize]) -> Result<Vec<(Matrix, Vec<f64>)>, FormatError> {
    let mut layers = Vec::with_capacity(sizes.len() - 1);
    for (l, pair) in sizes.windows(2).enumerate() {
        let (cols, height) = (pair[0], pair[1]);
        let (mut weight, mut bias) = (Vec::new(), Vec::with_capacity(height));
        for i in 0..height {
            rows.exactly(cols, &format!("layer {}: weight row {}", l + 1, i + 1), &mut weight)?;
        }
        for i in 0..height {
            rows.exactly(1, &format!("layer {}: bias {}", l + 1, i + 1), &mut bias)?;
        }
        weight.shrink_to_fit();
        let weight = Matrix::from_entries(height, cols, weight).expect("every row has this many entries");
        layers.push((weight, bias));
    }
    Ok(layers)
}
