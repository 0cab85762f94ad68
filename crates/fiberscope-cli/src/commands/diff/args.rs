//! Flags of `fiberscope diff`.

use std::path::PathBuf;

use clap::Args;
use fiberscope::difference::GAP;
use fiberscope_core::Rational;
use fiberscope_report::certificate::parse_decimal;

use crate::args::ReadArgs;

/// Tell how far apart two networks can be on a box, with proof
///
/// Both bounds of the largest difference of an output are certified: the upper one by the checker's own
/// bounds on small boxes, the lower one by exact evaluation at the worst input found. Networks may be
/// permuted, rescaled, pruned or of different depths: moves that keep the functions bring them to one shape
/// first.
///
/// With --epsilon, exit code 0: the outputs differ by at most EPS; 1: an input where they differ by more is
/// shown; 3: neither was found within the limits. Without: exit code 0 when the upper bound is at most 1 + G
/// times the lower one; 3 with the best bounds when a limit comes first.
///
/// With --top1 the question is the decision instead: wherever A is sure of a class (its largest output), is it
/// the class of B? Exit code 0: yes, for every input of the box; 1: an input where B decides otherwise is
/// shown; 3: neither was found within the limits.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope diff zoo:deep zoo:deep-rounded --box -1,1 --epsilon 1e-9 --certificate proof.json\n  fiberscope diff a.onnx pruned.onnx --box 0,1 --gap 0.05 --time-limit 60 --resume search.json\n  fiberscope diff a.onnx b.onnx --around images.npy --radius 0.01 --epsilon 0.5\n  fiberscope diff a.onnx pruned.onnx --box 0,1 --top1 --margin 0.5 --certificate classes.json\n  fiberscope diff a.onnx pruned.onnx --box 0,1 --top1 --confidence 0.9\n  fiberscope diff f.onnx g.onnx --property instance.vnnlib --time-limit 100\n  fiberscope diff a.onnx b.onnx --box 0,1 --data images.npy --plot difference.png"
)]
pub struct DiffArgs {
    /// The first network
    #[arg(value_name = "A")]
    pub a: String,
    /// The second network
    #[arg(value_name = "B")]
    pub b: String,
    /// The inputs that matter: LO,HI for every input, or a file (JSON, CSV, VNN-LIB)
    #[arg(long = "box", value_name = "LO,HI or FILE", allow_hyphen_values = true)]
    pub domain: Option<String>,
    /// Take the box, and the question if it asks one, from a VNN-LIB file (2.0 with two networks, or 1.0)
    #[arg(long, value_name = "FILE", conflicts_with = "domain")]
    pub property: Option<PathBuf>,
    /// Where the inputs of the file are no box, use the smallest box around them
    #[arg(long, requires = "property")]
    pub bounding_box: bool,
    /// Where the file's constraints on outputs contradict each other, ask what seems to be meant
    #[arg(long, requires = "property")]
    pub intended: bool,
    /// Decide whether the outputs differ by at most EPS
    #[arg(long, value_name = "EPS", value_parser = epsilon, allow_hyphen_values = true)]
    pub epsilon: Option<Rational>,
    /// Search until the upper bound is at most 1 + G times the lower one
    #[arg(long, value_name = "G", default_value_t = GAP, value_parser = not_negative, allow_hyphen_values = true, conflicts_with = "epsilon")]
    pub gap: f64,
    /// Measure against the largest absolute value of an output of A on the box; EPS is a part of it
    #[arg(long, conflicts_with = "around")]
    pub relative: bool,
    /// Compare the networks on the rows of this file too (.csv, .npy, .npz)
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Bound the difference on balls around the rows of this file (.csv, .npy, .npz), cut with the box
    #[arg(long, value_name = "FILE", requires = "radius", conflicts_with_all = ["certificate", "resume"])]
    pub around: Option<PathBuf>,
    /// The radius of the balls, in every input
    #[arg(long, value_name = "R", value_parser = epsilon, allow_hyphen_values = true, requires = "around")]
    pub radius: Option<Rational>,
    /// Decide whether B has A's class, its largest output, wherever A is sure of it
    #[arg(long, conflicts_with_all = ["epsilon", "gap", "relative", "around", "resume"])]
    pub top1: bool,
    /// A is sure where its largest output leads all others by at least M; without this, by anything
    #[arg(long, value_name = "M", value_parser = epsilon, allow_hyphen_values = true, requires = "top1")]
    pub margin: Option<Rational>,
    /// A is sure where its largest output has a softmax probability of at least D
    #[arg(long, value_name = "D", value_parser = epsilon, allow_hyphen_values = true, requires = "top1", conflicts_with = "margin")]
    pub confidence: Option<Rational>,
    /// Do not permute and scale B towards A first
    #[arg(long)]
    pub as_given: bool,
    /// Draw the difference on a plane through the worst input, the bounds and the data (.svg, .png)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Write the certificate to this file
    #[arg(long, value_name = "OUT")]
    pub certificate: Option<PathBuf>,
    /// Go on with the search in this file if it exists, and write it there if a limit ends it
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
}

pub fn epsilon(text: &str) -> Result<Rational, String> {
    match parse_decimal(text) {
        Ok(number) if !number.is_negative() => Ok(number),
        _ => Err("expected a decimal number that is not negative, such as 0.05 or 1e-6".into()),
    }
}

pub fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number that is not negative".into()),
    }
}
