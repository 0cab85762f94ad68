//! `fiberscope symmetries`

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use fiberscope::limit::Progress;
use fiberscope::symmetries::{SymmetryOptions, hidden_symmetries};
use fiberscope_report::reading::{add_names, name_neurons, names_text};
use fiberscope_report::symmetries::{text, value, write};

use super::{read_dense_model, read_domain};
use crate::Answer;
use crate::args::{Global, ReadArgs};
use crate::output::Output;

/// Find what else than scalings keeps the function near the parameters: directions, mechanisms, proved ends
///
/// Where the parameters are not proved to be locally identifiable (see info), lists the directions in which no
/// output changes to first order, beyond the scalings of neurons, and names what lets the parameters move: dead,
/// unseen, idle, linear, hidden, twins, proportional, dependent, balanced, or unrecognised. A path is followed along each, and
/// equiv proves that the network at its end computes the same function; where its numbers are rounded, that the
/// outputs differ by at most a bound on the box, or on [-16, 16]^n. Exit code 0: nothing is left undecided; 3: a limit
/// came first, or an end is not proved.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope symmetries zoo:hiding-two\n  fiberscope symmetries model.onnx --box -1,1 -o ends\n  fiberscope check ends/end-001-certificate.json model.onnx ends/end-001.json --box -1,1"
)]
pub struct SymmetriesArgs {
    /// The network
    pub model: String,
    /// The inputs that matter: LO,HI for every input, or a file (JSON, CSV, VNN-LIB)
    #[arg(long = "box", value_name = "LO,HI or FILE", allow_hyphen_values = true)]
    pub domain: Option<String>,
    /// Write the certificate of the rank, the ends of paths and their certificates to this folder
    #[arg(long = "out", short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// List directions and mechanisms only
    #[arg(long, conflicts_with = "output")]
    pub no_ends: bool,
    /// List at most this many linear regions; with more, the regions of points are used
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub max_regions: u64,
    /// How long the proof of one end may take
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub proof_seconds: u64,
    #[command(flatten)]
    pub read: ReadArgs,
}

pub fn run(args: &SymmetriesArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let model = read_dense_model(&args.model, &args.read.options(), output)?;
    let (network, names) = (&model.network, model.names.as_ref());
    let domain = read_domain(args.domain.as_deref(), network.input_width())?;
    let shown = output.clone();
    let show = |(at, count): (usize, usize)| shown.progress(&format!("path {} of {count}", at + 1));
    let options = SymmetryOptions::new()
        .seed(global.seed)
        .ends(!args.no_ends)
        .regions(args.max_regions)
        .patience(Duration::from_secs(args.proof_seconds))
        .deadline(global.deadline())
        .progress(Progress::to(&show));
    let found = hidden_symmetries(network, &domain, &options)?;
    output.end_progress();
    let files = match &args.output {
        Some(folder) => write(&found, folder)?,
        None => Vec::new(),
    };
    if let Some(limit) = found.limit {
        output.note(&format!("{limit}: what is known by then is told"));
    }
    let mut value = value(network, &domain, &found, &files);
    add_names(&mut value, names);
    for symmetry in value["symmetries"].as_array_mut().into_iter().flatten() {
        name_neurons(symmetry, "neurons", names);
    }
    output.result(&(text(&args.model, network, &domain, &found, &files) + &names_text(names)), &value)?;
    Ok(if found.is_decided() { Answer::Yes } else { Answer::Undecided })
}
