//! `fiberscope reproduce`

use std::path::PathBuf;

use clap::Args;
use fiberscope_report::reproduce::{ReproduceQuestion, ReproduceSettings, estimate, reproduce};

use crate::Answer;
use crate::args::Global;
use crate::output::Output;

/// Run an experiment of the papers again and compare
///
/// NAME is ntk-init, ntk-univariate, ntk-bivariate, ntk-energy, ntk-weight-decay, ntk-regions, ntk-sweep
/// (widths and epochs), ntk-functions (figures 1, 7 and 8), extraction (many random networks from queries),
/// or all. Runs them, draws the papers' figures (SVG; released programs write PNG too), writes the records
/// (CSV and Parquet) and one HTML page that begins with a table of claims, the papers' numbers, ours with
/// intervals of 95 % confidence, and verdicts, whether or not they agree. Trainings are judged at every
/// recorded epoch, and where the verdict turns is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope reproduce ntk-univariate -o figures\n  fiberscope reproduce all --quick -o figures\n  fiberscope reproduce ntk-sweep --widths 5,10,20 --epochs 6000 -o sweep\n  fiberscope reproduce extraction -o figures"
)]
pub struct ReproduceArgs {
    #[command(flatten)]
    pub settings: ReproduceFlags,
    /// The folder to write to
    #[arg(long = "out", short, value_name = "DIR", default_value = "reproduce")]
    pub output: PathBuf,
}

/// Which experiments are run, and how large.
#[derive(Debug, Args)]
pub struct ReproduceFlags {
    /// The experiment
    pub name: String,
    /// Seeds per group [default: as in the paper, or more]
    #[arg(long, value_name = "N")]
    pub seeds: Option<u64>,
    /// Epochs of training
    #[arg(long, value_name = "N")]
    pub epochs: Option<u64>,
    /// Trainings: the widths of the hidden layers; every width is an experiment of its own [default: 10, of
    /// ntk-sweep 5,10,15]
    #[arg(long, value_name = "N,N,..", value_delimiter = ',')]
    pub widths: Option<Vec<usize>>,
    /// A tenth of the epochs and a third of the seeds
    #[arg(long)]
    pub quick: bool,
}

impl ReproduceFlags {
    /// The experiments, from a seed on.
    pub fn settings(&self, seed: u64) -> ReproduceSettings {
        ReproduceSettings {
            name: self.name.clone(),
            seeds: self.seeds,
            epochs: self.epochs,
            widths: self.widths.clone(),
            quick: self.quick,
            seed,
        }
    }
}

pub fn run(args: &ReproduceArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let question = ReproduceQuestion {
        settings: args.settings.settings(global.seed),
        folder: args.output.clone(),
        deadline: global.deadline(),
    };
    if let Some(text) = estimate(&question) {
        output.note(&text);
    }
    let shown: &Output = output;
    let found = reproduce(&question, &|text| shown.progress(text));
    output.end_progress();
    let found = found?;
    output.result(&found.text, &found.to_json())?;
    Ok(if found.complete { Answer::Yes } else { Answer::Undecided })
}
