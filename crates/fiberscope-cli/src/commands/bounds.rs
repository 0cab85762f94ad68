//! `fiberscope bounds`

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{anyhow, ensure};
use clap::Args;
use fiberscope::check::{Checker, Outcome};
use fiberscope::difference::{DifferenceOptions, DifferenceProgress, Ended, GAP, ranges};
use fiberscope::limit::Progress;
use fiberscope::threads;
use fiberscope_core::Rational;
use fiberscope_io::{Precision, save, write_atomically};
use fiberscope_report::difference::{classes, range_progress, range_text, range_value};
use serde_json::json;

use super::diff::args::{epsilon, not_negative};
use super::diff::{answer, table};
use super::{read_dense_model, read_domain};
use crate::Answer;
use crate::args::{Global, ReadArgs};
use crate::output::Output;

/// Bound the range of every output of a network on a box, with proof
///
/// Exit code 0: every end of a range is known up to G times the width of the values that were found; 3: a
/// limit came first, and the best bounds are told. The certificate compares MODEL with a constant network,
/// which --constant writes: it says how far MODEL is from it.
///
/// With --around and --radius, another question: is the class (the largest output; of a single output its sign) the
/// same on each ball? Exit code 0: on all of them, certified; 1: an input of a ball with another class is shown;
/// 3: neither was found within the limits.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope bounds zoo:deep --box -1,1\n  fiberscope bounds model.onnx --box 0,1 --certificate proof.json --constant constant.json --time-limit 60\n  fiberscope check proof.json model.onnx constant.json\n  fiberscope bounds model.onnx --around images.npy --radius 0.01 --box 0,1"
)]
pub struct BoundsArgs {
    /// The network
    pub model: String,
    /// The inputs that matter: LO,HI for every input, or a file (JSON, CSV, VNN-LIB)
    #[arg(long = "box", value_name = "LO,HI or FILE", allow_hyphen_values = true)]
    pub domain: Option<String>,
    /// Search until every end is known up to G times the width of the values found
    #[arg(long, value_name = "G", default_value_t = GAP, value_parser = not_negative, allow_hyphen_values = true)]
    pub gap: f64,
    /// Ask whether the class is certain on balls around the rows of this file (.csv, .npy, .npz), cut with the box
    #[arg(long, value_name = "FILE", requires = "radius", conflicts_with_all = ["certificate", "constant"])]
    pub around: Option<PathBuf>,
    /// The radius of the balls, in every input
    #[arg(long, value_name = "R", value_parser = epsilon, allow_hyphen_values = true, requires = "around")]
    pub radius: Option<Rational>,
    /// Write the certificate to this file
    #[arg(long, value_name = "OUT", requires = "constant")]
    pub certificate: Option<PathBuf>,
    /// Write the constant network that the certificate names to this file (.json, .npz, .onnx, .safetensors)
    #[arg(long, value_name = "OUT")]
    pub constant: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
}

pub fn run(args: &BoundsArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let start = Instant::now();
    let network = read_dense_model(&args.model, &args.read.options(), output)?.network;
    ensure!(
        args.domain.is_some() || args.around.is_some(),
        "a box of inputs is needed: outputs have no bounds far away; use --box LO,HI, --box FILE, or --around FILE --radius R"
    );
    let domain = read_domain(args.domain.as_deref(), network.input_width())?;
    let shown = output.clone();
    let progress = |now: DifferenceProgress| shown.progress(&range_progress(now));
    let options = DifferenceOptions::new()
        .gap(args.gap)
        .seed(global.seed)
        .deadline(global.deadline())
        .progress(Progress::to(&progress));
    if let (Some(path), Some(radius)) = (&args.around, &args.radius) {
        let say = |text: &str| shown.progress(text);
        let options = options.progress(Progress::SILENT);
        let found = classes(&network, &table(path, &network)?, radius, &domain, &options, &say)?;
        output.end_progress();
        let mut value = found.value();
        value["seconds"] = json!(start.elapsed().as_secs_f64());
        output.result(&found.text(), &value)?;
        return Ok(answer(found.holds()));
    }
    let found = ranges(&network, &domain, &options)?;
    output.end_progress();
    let mut checked = false;
    if let Some(path) = &args.constant {
        save(&found.constant, path, Precision::F64)?;
    }
    if let (Some(path), Some(certificate)) = (&args.certificate, &found.certificate) {
        if !matches!(found.ended, Ended::Limit(_)) {
            let deadline = global.deadline();
            let late = || deadline.is_past();
            let checker = Checker::new(&network, &found.constant).threads(threads()).stop(&late);
            match checker.check(certificate) {
                Outcome::Proved(_) => checked = true,
                Outcome::Refused(refusal) => {
                    return Err(anyhow!("the checker refuses the certificate: {refusal}"));
                }
                Outcome::Stopped => {}
            }
        }
        let json = certificate.to_json();
        write_atomically(path, |file| file.write_all(json.as_bytes()))?;
    }
    let mut value = range_value(&found, &domain);
    value["seconds"] = json!(start.elapsed().as_secs_f64());
    output.result(&range_text(&found, checked), &value)?;
    let known = found.outputs.is_some() && found.ended == Ended::Reached;
    Ok(if known { Answer::Yes } else { Answer::Undecided })
}
