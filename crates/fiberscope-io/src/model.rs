//! A network together with what its file said about it.

use std::fmt;
use std::path::PathBuf;

use fiberscope_core::{Activation, Matrix, Network};

use crate::FormatError;
use crate::names::Names;

/// The number format in which parameters were stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// bfloat16: 8 bits of mantissa.
    Bf16,
    /// IEEE half precision: 11 bits of mantissa.
    F16,
    /// IEEE single precision: 24 bits of mantissa.
    F32,
    /// IEEE double precision: 53 bits of mantissa.
    F64,
}

impl Precision {
    /// The number of this precision that is nearest.
    pub fn nearest(self, number: f64) -> f64 {
        match self {
            Precision::Bf16 => half::bf16::from_f64(number).to_f64(),
            Precision::F16 => half::f16::from_f64(number).to_f64(),
            Precision::F32 => f64::from(number as f32),
            Precision::F64 => number,
        }
    }

    /// `bf16`, `f16`, `f32` or `f64`.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Bf16 => "bf16",
            Precision::F16 => "f16",
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        }
    }

    /// The distance from 1 to the next larger number of the format.
    pub fn epsilon(self) -> f64 {
        match self {
            Precision::Bf16 => 2f64.powi(-7),
            Precision::F16 => 2f64.powi(-10),
            Precision::F32 => 2f64.powi(-23),
            Precision::F64 => 2f64.powi(-52),
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A network as read from a file.
#[derive(Clone, Debug)]
pub struct Model {
    /// The network.
    pub network: Network,
    /// The precision of the stored parameters (the lowest, if they differ).
    pub precision: Precision,
    /// What the reader did beyond copying numbers, in sentences: folded constants, ignored headers.
    pub notes: Vec<String>,
    /// What hidden layers were taken to do, if the file does not say it.
    pub assumed: Option<Assumed>,
    /// What the file calls the neurons, if it has names for them.
    pub names: Option<Names>,
    /// The heads behind the outputs, such as a final softmax: nodes of the file that are no part of the network.
    pub set_aside: Vec<String>,
}

impl Model {
    /// A network of a file that says what its layers do and has no names for its neurons.
    pub fn new(network: Network, precision: Precision, notes: Vec<String>) -> Self {
        Model { network, precision, notes, assumed: None, names: None, set_aside: Vec::new() }
    }

    /// The notes, and behind them what was assumed.
    pub fn remarks(&self) -> Vec<String> {
        let assumed = self.assumed.map(|assumed| format!("{assumed} (the file holds none)"));
        self.notes.iter().cloned().chain(assumed).collect()
    }
}

/// The activation of the hidden layers of a file that holds weights and biases only.
///
/// Weights do not say what stands between them: a network with `tanh` has the same file as one with ReLUs.
/// Whatever is said of such a network rests on this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumed {
    /// What the hidden layers were taken to do.
    pub activation: Activation,
    /// Whether the caller stated it.
    pub stated: bool,
}

impl fmt::Display for Assumed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let how = if self.stated { "as stated" } else { "assumed" };
        let what = match self.activation {
            Activation::Relu => "ReLU",
            Activation::Identity => "identity",
        };
        write!(f, "activations {how}: {what}")
    }
}

/// What to do with the normalisation header of an NNet file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Normalization {
    /// Make it part of the first and last layer: the network takes and gives physical units.
    #[default]
    Fold,
    /// Leave it out: the network takes and gives normalised units.
    Ignore,
}

/// Choices of the reader.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// For NNet files.
    pub normalization: Normalization,
    /// The most entries a matrix may have that the file does not hold as such (convolutions written
    /// out as matrices). Protects against small files that describe huge networks.
    pub max_dense_entries: usize,
    /// For ONNX files: the value that the questions are about, if it is not the only output.
    pub output: Option<String>,
    /// For ONNX files, and convolutions of a state dict: shapes of inputs, batch included, that the file leaves open or that are to be others.
    pub shapes: Vec<(String, Vec<usize>)>,
    /// For files that hold weights and biases only: what the hidden layers do. Without it ReLU is assumed.
    pub activation: Option<Activation>,
    /// For ONNX files: the folder of the model, in which its numbers may stand in other files.
    pub folder: Option<PathBuf>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            normalization: Normalization::default(),
            max_dense_entries: 1 << 26,
            output: None,
            shapes: Vec::new(),
            activation: None,
            folder: None,
        }
    }
}

/// What rounding a network's parameters to a lower precision changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundingLoss {
    /// How many parameters changed.
    pub changed: usize,
    /// The largest absolute change of a parameter.
    pub largest_change: f64,
    /// The layer of the largest change, counted from 1.
    pub layer: usize,
}

/// The network with every parameter rounded to single precision, and what that changed, if
/// anything.
pub fn round_to_f32(network: &Network) -> Result<(Network, Option<RoundingLoss>), FormatError> {
    let mut loss = RoundingLoss { changed: 0, largest_change: 0.0, layer: 0 };
    for (l, layer) in network.layers().iter().enumerate() {
        for &w in layer.weights().stored().iter().chain(layer.bias()) {
            let change = (f64::from(w as f32) - w).abs();
            if change == f64::INFINITY {
                let message = format!("layer {}: {w} is beyond single precision; write f64", l + 1);
                return Err(FormatError::unsupported(message));
            }
            if change > 0.0 {
                loss.changed += 1;
                if change > loss.largest_change {
                    (loss.largest_change, loss.layer) = (change, l + 1);
                }
            }
        }
    }
    let rounded = network.map(|&w| f64::from(w as f32))?;
    Ok((rounded, (loss.changed > 0).then_some(loss)))
}

/// Inputs (or outputs), one row per point.
#[derive(Clone, Debug)]
pub struct Data {
    /// One row per point, one column per variable.
    pub points: Matrix,
    /// The names of the columns, if the file gives them.
    pub columns: Option<Vec<String>>,
}
