//! Extraction: the parameters of a ReLU network from queries alone.
//!
//! Where a neuron switches, the function has a kink: boundaries of the first layer are hyperplanes, deeper
//! ones bend at the boundaries before them [rolnick2020reverse, Section 4]. The jump of the gradient across a
//! boundary is a multiple of the neuron's row behind the layers before it [carlini2020cryptanalytic, Section
//! 4]; so a network is peeled layer by layer. Recoverable are its parameters up to permutation and positive
//! scaling of the neurons, as far as they matter on the domain. All decisions rest on multiples of the
//! measured noise, none on an architecture: depth and widths are what explains the answers.
//!
//! An answer is *verified* if fresh points and lines of the domain agree with the oracle (see [`Fidelity`]);
//! this is a statistical statement, not a proof. With the true network at hand, [`compare`] tells the error
//! and
//! [`crate::equivalence`] decides.
//!
//! ```
//! use fiberscope::core::{Activation, Layer, Matrix, Network};
//! use fiberscope::extract::{extract, NetworkOracle, ExtractOptions, ExtractOutcome};
//!
//! let hidden = Layer::new(Matrix::from_rows(&[[1.0, 2.0], [-1.0, 0.5]]).unwrap(), vec![0.3, -0.2], Activation::Relu);
//! let output = Layer::new(Matrix::from_rows(&[[1.0, -3.0]]).unwrap(), vec![0.1], Activation::Identity);
//! let secret = Network::new(vec![hidden, output]).unwrap();
//!
//! let mut oracle = NetworkOracle::new(secret.clone());
//! let found = extract(&mut oracle, &ExtractOptions::new()).unwrap();
//! assert_eq!(found.outcome, ExtractOutcome::Verified);
//! let comparison = fiberscope::extract::compare(&secret, &found.network.unwrap()).unwrap();
//! assert!(comparison.max_error < 1e-12);
//! ```

mod ahead;
mod algebra;
mod bits;
mod boundaries;
mod carry;
mod census;
mod close;
mod compare;
mod completion;
mod deeper;
mod determined;
mod extremes;
mod find;
mod finish;
mod first;
mod fit;
mod giving_up;
mod inquiry;
mod labels;
mod line;
mod open;
mod options;
mod oracle;
mod orient;
mod orientation;
mod polish;
mod prefix;
mod probe;
mod rare;
mod recover;
mod refine;
mod signs;
mod stage;
mod straight;
mod strays;
mod trace;
mod trial;
mod twins;
mod verify;

use std::fmt;

pub use boundaries::{
    BOUNDARY_TOLERANCE, BoundaryError, BoundaryNeuron, BoundaryPoint, BoundaryRecovery, KnownLayer,
    recover_from_boundaries,
};
pub use census::{Certainty, Explained};
pub use compare::{Comparison, compare};
pub use determined::Undetermined;
use fiberscope_core::Network;
use inquiry::{Halt, Inquiry, measure_noise};
pub use labels::{LabelAgreement, LabelExtraction, LabelOracle, class_of, compare_labels, extract_labels};
pub use options::ExtractOptions;
pub use oracle::{NetworkOracle, Oracle, OracleError, Precision};
pub use orientation::{OrientError, Orientation, orient_layer};
pub use trial::{ExtractTrial, extract_trial};

use boundaries::check_layers;
use recover::Recovery;

/// What the extraction is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExtractStep {
    /// The noise of the answers.
    Noise,
    /// Kinks along lines.
    Lines,
    /// Which kinks belong to the layer at hand.
    Bends,
    /// Rows from jumps of the gradient.
    Rows,
    /// Coordinates of rows that were inactive where the row was found.
    Completion,
    /// Predicted boundaries looked at elsewhere.
    Confirmation,
    /// Stored answers that the rows found so far do not explain.
    Counterexamples,
    /// Precise kinks for precise rows.
    Refinement,
    /// The orientation of the neurons.
    Signs,
    /// All parameters together against all answers.
    Polish,
    /// Fresh points and lines.
    Verification,
}

impl ExtractStep {
    /// The name in texts.
    pub fn name(self) -> &'static str {
        match self {
            ExtractStep::Noise => "noise",
            ExtractStep::Lines => "lines",
            ExtractStep::Bends => "bends",
            ExtractStep::Rows => "rows",
            ExtractStep::Completion => "completion",
            ExtractStep::Confirmation => "confirmation",
            ExtractStep::Counterexamples => "counterexamples",
            ExtractStep::Refinement => "refinement",
            ExtractStep::Signs => "signs",
            ExtractStep::Polish => "polish",
            ExtractStep::Verification => "verification",
        }
    }
}

impl fmt::Display for ExtractStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How far the extraction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtractProgress {
    /// The hidden layer at hand, from 0.
    pub layer: usize,
    /// What is being done.
    pub step: ExtractStep,
    /// Neurons of the layer found so far.
    pub neurons: usize,
    /// Kinks that no known neuron explains yet.
    pub kinks: usize,
    /// Queries spent.
    pub queries: u64,
}

/// What is known after a stage: a later extraction can go on from there, see [`ExtractOptions::known`].
#[derive(Clone, Debug, PartialEq)]
pub struct ExtractStage {
    /// The first hidden layers. Only the last one may lack its orientation, and neurons of it may be missing.
    pub known: Vec<KnownLayer>,
    /// How sure each of them is.
    pub certainty: Vec<Certainty>,
    /// How much of what was seen they explain.
    pub explained: Explained,
    /// Queries spent.
    pub queries: u64,
}

/// An input on which oracle and recovered network disagree.
#[derive(Clone, Debug, PartialEq)]
pub struct Disagreement {
    /// The input.
    pub x: Vec<f64>,
    /// The oracle's answer.
    pub oracle: Vec<f64>,
    /// The recovered network's output.
    pub recovered: Vec<f64>,
}

/// What the result is.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum ExtractOutcome {
    /// On fresh points and lines of the domain the network agrees with the oracle.
    Verified,
    /// A network that does not agree everywhere, or only the first layers.
    Partial {
        /// What is missing: a sentence.
        reason: String,
        /// Inputs on which the two disagree; empty if there is no network.
        disagreements: Vec<Disagreement>,
    },
    /// Nothing that could be used.
    Failed {
        /// Why: a sentence.
        reason: String,
    },
}

/// How well the recovered network agreed with the oracle on fresh queries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fidelity {
    /// Fresh random points of the domain.
    pub points: usize,
    /// The largest difference of an output on them.
    pub max_difference: f64,
    /// Twice the largest difference, at least the noise.
    pub epsilon: f64,
    /// With 95 % confidence, differences above `epsilon` have at most this share of the domain.
    pub delta: f64,
    /// Fresh random lines.
    pub lines: usize,
    /// Kinks on them, each of which both functions have at the same place.
    pub kinks: usize,
}

/// One hidden layer as it was recovered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecoveredLayer {
    /// Number of neurons.
    pub neurons: usize,
    /// Of them, neurons that were never seen to switch: together they stand for a linear map.
    pub always_active: usize,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Extraction {
    /// What the result is.
    pub outcome: ExtractOutcome,
    /// The recovered network, up to permutation and positive scaling of neurons; with a partial outcome the
    /// best one found, if any.
    pub network: Option<Network>,
    /// The hidden layers that were recovered, also without a network.
    pub layers: Vec<RecoveredLayer>,
    /// If the outcome is not verified: the parameters of the first layers as far as they are known, in the
    /// attempt that came furthest. Only the last one may lack its orientation, and neurons of it may be missing.
    pub known: Vec<KnownLayer>,
    /// How sure each of the known layers is.
    pub certainty: Vec<Certainty>,
    /// How much of what lines showed the known layers explain; nothing if the outcome is verified.
    pub explained: Option<Explained>,
    /// With a network: parameters that the answers do not determine. If there are any, it is a network with the
    /// same function, and others have it too.
    pub undetermined: Vec<Undetermined>,
    /// The agreement on fresh queries.
    pub fidelity: Option<Fidelity>,
    /// Whether queries or time ran out before there was more to say.
    pub stopped: bool,
    /// All queries.
    pub queries: u64,
    /// Queries by hidden layer (from 0) and step, in the order they were spent.
    pub spent: Vec<(usize, ExtractStep, u64)>,
    /// The noise of one answer at an input of size one, measured or given.
    pub noise: f64,
    /// What cannot be known from queries, or was seen on the way: sentences.
    pub remarks: Vec<String>,
}

/// Why there is no answer at all.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExtractError {
    /// The oracle gave no answers.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// Wrong number of answers or outputs.
    #[error(
        "the oracle answered {expected_rows} queries with a {found_rows} x {found_columns} table, expected {expected_columns} columns"
    )]
    Shape {
        /// Queries asked.
        expected_rows: usize,
        /// Outputs per query.
        expected_columns: usize,
        /// Rows of the answer.
        found_rows: usize,
        /// Columns of the answer.
        found_columns: usize,
    },
    /// An answer that is not a number.
    #[error("the oracle answered {value} in output {} for the input {}", .output + 1, short(.x))]
    NotFinite {
        /// The input.
        x: Vec<f64>,
        /// The output, from 0.
        output: usize,
        /// The answer.
        value: f64,
    },
    /// Two answers to one question.
    #[error("the oracle is not deterministic: asked twice for the input {}, output {} was {first} and then {second}", short(.x), .output + 1)]
    NotDeterministic {
        /// The input.
        x: Vec<f64>,
        /// The output, from 0.
        output: usize,
        /// The first answer.
        first: f64,
        /// The second answer.
        second: f64,
    },
    /// The function bends where no finite number of kinks explains it.
    #[error("the oracle is not piecewise linear: {0}")]
    NotPiecewiseLinear(String),
    /// A domain without an inside.
    #[error("the domain must be an interval with a lower end below the upper end, found {lo},{hi}")]
    Domain {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
    },
    /// Known layers that cannot be those of the oracle.
    #[error(transparent)]
    Known(#[from] BoundaryError),
    /// Widths that no network has.
    #[error("hidden widths must be positive numbers, found {0:?}")]
    Widths(Vec<usize>),
}

/// The first entries of an input.
fn short(x: &[f64]) -> String {
    let shown: Vec<String> = x.iter().take(4).map(|v| format!("{v}")).collect();
    let more = if x.len() > 4 { ", ..." } else { "" };
    format!("({}{more})", shown.join(", "))
}

/// Recovers a network from an oracle.
///
/// ```
/// use fiberscope::extract::{ExtractOptions, ExtractOutcome, NetworkOracle, extract};
/// use fiberscope::{Activation, Layer, Matrix, Network};
///
/// let hidden = Layer::new(Matrix::from_rows(&[[2.0], [-1.0]]).unwrap(), vec![1.0, 0.5], Activation::Relu);
/// let output = Layer::new(Matrix::from_rows(&[[1.0, -3.0]]).unwrap(), vec![0.0], Activation::Identity);
/// let secret = Network::new(vec![hidden, output]).unwrap();
///
/// // No more than 10 queries: too few to find anything.
/// let options = ExtractOptions::new().max_queries(10);
/// let found = extract(&mut NetworkOracle::new(secret), &options).unwrap();
/// assert!(found.stopped && found.queries <= 10);
/// assert!(matches!(found.outcome, ExtractOutcome::Failed { .. }));
/// ```
///
/// # Errors
///
/// If the oracle gives no usable answers, or the options make no sense. A network that could not be
/// recovered is not an error: see [`ExtractOutcome`].
pub fn extract(oracle: &mut dyn Oracle, options: &ExtractOptions) -> Result<Extraction, ExtractError> {
    if let Some(widths) = options.widths.as_ref().filter(|widths| widths.is_empty() || widths.contains(&0)) {
        return Err(ExtractError::Widths(widths.clone()));
    }
    let mut inquiry = Inquiry::new(oracle, options)?;
    check_layers(inquiry.inputs, &options.known)?;
    let mut recovery = Recovery::new(&inquiry, &options.known);
    let ended = measure_noise(&mut inquiry).and_then(|()| recovery.run(&mut inquiry, options));
    match ended {
        Ok(()) => {}
        Err(Halt::Error(error)) => return Err(error),
        Err(Halt::Limit(reason)) => {
            recovery.reason = reason;
            return Ok(Extraction { stopped: true, ..conclude(&inquiry, options, recovery) });
        }
    }
    Ok(conclude(&inquiry, options, recovery))
}

/// What the result is.
fn conclude(inquiry: &Inquiry<'_>, options: &ExtractOptions, recovery: Recovery) -> Extraction {
    let Recovery { layers, best, reason, mut remarks, known, undetermined, .. } = recovery;
    let whole = best.as_ref().is_some_and(|(_, gate)| gate.disagreements.is_empty());
    let (known, certainty, explained) = if whole {
        Default::default()
    } else {
        let stage = known.stage(inquiry);
        (stage.known, stage.certainty, Some(stage.explained))
    };
    let (network, fidelity, outcome) = match best {
        Some((network, gate)) if gate.disagreements.is_empty() => {
            let found: Vec<usize> =
                network.hidden_layers().iter().map(fiberscope_core::Layer::width).collect();
            let outcome = match &options.widths {
                Some(widths) if *widths != found => ExtractOutcome::Partial {
                    reason: format!("the hidden widths are {found:?}, expected {widths:?}"),
                    disagreements: Vec::new(),
                },
                _ => ExtractOutcome::Verified,
            };
            (Some(network), Some(gate.fidelity), outcome)
        }
        Some((network, gate)) => {
            let outcome = ExtractOutcome::Partial { reason, disagreements: gate.disagreements };
            (Some(network), Some(gate.fidelity), outcome)
        }
        None if layers.is_empty() && known.is_empty() => (None, None, ExtractOutcome::Failed { reason }),
        None => (None, None, ExtractOutcome::Partial { reason, disagreements: Vec::new() }),
    };
    if matches!(outcome, ExtractOutcome::Verified) {
        remarks.push(
            "neurons that never switch on the domain, and everything outside of it, cannot be seen by queries there".into(),
        );
    }
    let (queries, noise) = (inquiry.count(), inquiry.eta);
    let (stopped, spent) = (false, inquiry.spent.clone());
    Extraction {
        outcome,
        network,
        layers,
        known,
        certainty,
        explained,
        undetermined,
        fidelity,
        stopped,
        queries,
        spent,
        noise,
        remarks,
    }
}
