//! `fiberscope reproduce`: the experiments of the papers, run again.

mod experiment;
mod outcome;

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use fiberscope_io::write_atomically;
use fiberscope_report::page::Page;
use serde_json::json;

use super::train::write_tables;
use crate::Answer;
use crate::args::Global;
use crate::output::{Output, write_picture};
use experiment::{NAMES, experiment};
use outcome::Outcome;

/// Run an experiment of the papers again and compare
///
/// NAME is ntk-init, ntk-univariate, ntk-bivariate, ntk-energy, ntk-weight-decay, ntk-regions, or all. Trains the networks, draws the paper's figures (SVG and PNG), writes the records
/// (CSV and Parquet) and one HTML page, and prints our numbers beside the paper's claim, with standard errors and paired t-values, whether
/// or not they agree.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope reproduce ntk-univariate --output figures\n  fiberscope reproduce all --quick --output figures"
)]
pub struct ReproduceArgs {
    /// The experiment
    pub name: String,
    /// Seeds per group [default: as in the paper, or more]
    #[arg(long, value_name = "N")]
    pub seeds: Option<u64>,
    /// Epochs of training
    #[arg(long, value_name = "N")]
    pub epochs: Option<u64>,
    /// A tenth of the epochs and a third of the seeds
    #[arg(long)]
    pub quick: bool,
    /// The folder to write to
    #[arg(long, short, value_name = "DIR", default_value = "reproduce")]
    pub output: PathBuf,
}

pub fn run(args: &ReproduceArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let names: Vec<&str> = if args.name == "all" { NAMES.to_vec() } else { vec![args.name.as_str()] };
    let Some(experiments) = names.iter().map(|name| experiment(name)).collect::<Option<Vec<_>>>() else {
        bail!("no experiment {:?}; expected all or one of {}", args.name, NAMES.join(", "));
    };
    if args.seeds == Some(0) || args.epochs == Some(0) {
        bail!("expected at least one seed and one epoch");
    }
    std::fs::create_dir_all(&args.output).with_context(|| args.output.display().to_string())?;
    let deadline = global.time_limit.map(|limit| Instant::now() + Duration::from_secs_f64(limit));
    let shown: &Output = output;
    let (mut text, mut files, mut results) = (String::new(), Vec::new(), Vec::new());
    let mut page = Page::new("Empirical NTK tracks task complexity: the experiments again")
        .introduce("Every network was trained anew, and every functional dimension computed exactly; the float32 rank is what the paper's software reports.")
        .introduce("The claims are the paper's; the verdicts are about these runs. Where the paper does not say (epochs, scaling of the energy data), the choice is named.");
    for experiment in experiments {
        let experiment = experiment.sized(args.seeds, args.epochs, args.quick);
        let runs = experiment.run(global.seed, deadline, &|text| shown.progress(text))?;
        output.end_progress();
        let outcome = Outcome::new(experiment, runs);
        text += &format!("{}\n", outcome.text());
        files.extend(write(&outcome, args)?);
        results.push(outcome.json());
        page = page.section(outcome.section());
    }
    let path = args.output.join(format!("{}.html", args.name));
    write_atomically(&path, |file| file.write_all(page.to_html().as_bytes()))?;
    files.push(path.display().to_string());
    text += &format!("wrote {} files; {} shows everything\n", files.len(), path.display());
    output.result(&text, &json!({"experiments": results, "files": files}))?;
    let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
    Ok(if late { Answer::Undecided } else { Answer::Yes })
}

fn write(outcome: &Outcome, args: &ReproduceArgs) -> anyhow::Result<Vec<String>> {
    let mut files = Vec::new();
    let name = |text: &str| text.replace([' ', ','], "-").replace("--", "-");
    for (stem, _, drawing) in outcome.figures() {
        for ending in ["svg", "png"] {
            let path = args.output.join(format!("{}.{ending}", name(&stem)));
            write_picture(&path, &drawing)?;
            files.push(path.display().to_string());
        }
    }
    for (group, runs) in outcome.experiment.groups.iter().zip(&outcome.runs) {
        let records: Vec<_> = runs.iter().flatten().cloned().collect();
        let stem = args.output.join(name(&format!("{}-{}", outcome.experiment.name, group.label)));
        files.extend(write_tables(&stem, &records)?);
    }
    Ok(files)
}
