//! `fiberscope survey`

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use fiberscope::survey::{Measure, Plan, Training};
use fiberscope::train::Initialization;
use fiberscope_report::survey::{carry_out, text, value};

use super::train::InitName;
use crate::Answer;
use crate::args::Global;
use crate::output::Output;

/// Statistics over random or trained networks
///
/// Draws networks from seeds, trains them if --task says so, measures each, and writes into -o: survey.csv and survey.parquet with a row per network
/// (NaN where a measure was not decided), and a chart for each measure (SVG, PDF, and TeX for pgfplots). A survey that was
/// stopped, or killed, goes on where it was left when the same command is given again; a larger --count extends it.
/// Network k of each list of widths is the one that `train` starts with from seed --seed + k; with --task the one
/// that it ends with after --epochs.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope survey --widths 3,3,2,1 --count 100000 --measure identifiable,dead,linear,hidden -o survey\n  fiberscope survey --widths 2,4,4,1 --widths 2,8,8,1 --count 200 --measure regions,functional-dimension,locally-identifiable -o sizes\n  fiberscope survey --widths 3,3,3,2,2,1 --task heating --epochs 50 --count 100 --measure gap,gap-dead,gap-idle -o trained"
)]
pub struct SurveyArgs {
    #[command(flatten)]
    pub settings: SurveySettings,
    /// The folder to write to
    #[arg(long = "out", short, value_name = "DIR")]
    pub output: PathBuf,
}

/// How long networks are trained where nothing is said.
const EPOCHS: u64 = 100;

/// Which networks are drawn, and what is measured.
#[derive(Debug, Args)]
pub struct SurveySettings {
    /// Widths from inputs to outputs; may be given several times
    #[arg(long, value_name = "N,N,..", required = true)]
    pub widths: Vec<String>,
    /// Networks for each list of widths
    #[arg(long, value_name = "N")]
    pub count: u64,
    /// What is measured: identifiable, locally-identifiable, fiber-dimension, functional-dimension, regions, hidden,
    /// dead, linear, transparent, gap, and what explains the gap: gap-dead, gap-unseen, gap-idle, gap-linear,
    /// gap-hidden, gap-proportional, gap-twins, gap-dependent, gap-balanced, gap-unrecognised
    #[arg(long = "measure", value_name = "NAME,..", value_delimiter = ',', required = true)]
    pub measures: Vec<String>,
    /// Initialisation: he or torch (as torch.nn.Linear)
    #[arg(long, value_name = "NAME", default_value = "he")]
    pub init: InitName,
    /// Biases are zero
    #[arg(long)]
    pub no_bias: bool,
    /// Train the networks first, as `train --task NAME` does: f1, f2, f3, g1, g2, g3, heating, cooling (also -minmax,
    /// -raw); networks of fewer inputs are given the first ones
    #[arg(long, value_name = "NAME")]
    pub task: Option<String>,
    /// With --task: passes over the data [default: 100]
    #[arg(long, value_name = "N", requires = "task")]
    pub epochs: Option<u64>,
    /// Judge neurons and regions on a box: LO,HI for every input
    #[arg(long = "box", value_name = "LO,HI", allow_hyphen_values = true)]
    pub interval: Option<String>,
    /// List the regions of a network only if there are at most so many
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub regions: u64,
}

impl SurveySettings {
    /// The plan that the flags name.
    pub fn plan(&self, seed: u64) -> anyhow::Result<Plan> {
        let widths = self.widths.iter().map(|text| read_widths(text)).collect::<anyhow::Result<_>>()?;
        let measures = self.measures.iter().map(|name| read_measure(name)).collect::<anyhow::Result<_>>()?;
        let mut plan = Plan::new(widths, self.count, measures)?;
        plan.init = match self.init {
            InitName::He => Initialization::He,
            InitName::Torch => Initialization::Torch,
        };
        (plan.no_bias, plan.seed, plan.regions) = (self.no_bias, seed, self.regions);
        plan.interval = self.interval.as_deref().map(read_interval).transpose()?;
        let epochs = self.epochs.unwrap_or(EPOCHS);
        plan.training = self.task.clone().map(|task| Training { task, epochs });
        plan.check()?;
        Ok(plan)
    }
}

pub fn run(args: &SurveyArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let plan = args.settings.plan(global.seed)?;
    let shown: &Output = output;
    let found = carry_out(&args.output, &plan, &global.deadline(), &|text| shown.progress(text))?;
    output.end_progress();
    output.result(&text(&plan, &found), &value(&plan, &found))?;
    Ok(if found.complete { Answer::Yes } else { Answer::Undecided })
}

fn read_widths(text: &str) -> anyhow::Result<Vec<usize>> {
    let one = |part: &str| part.trim().parse::<usize>();
    let wrong = || format!("--widths {text:?}: expected widths such as 3,3,2,1");
    text.split(',').map(one).collect::<Result<_, _>>().with_context(wrong)
}

fn read_measure(name: &str) -> anyhow::Result<Measure> {
    let names: Vec<&str> = Measure::ALL.iter().map(|measure| measure.name()).collect();
    Measure::from_name(name)
        .with_context(|| format!("--measure {name:?}: expected one of {}", names.join(", ")))
}

fn read_interval(text: &str) -> anyhow::Result<(f64, f64)> {
    let wrong = || format!("--box {text:?}: expected LO,HI");
    let (low, high) = text.split_once(',').with_context(wrong)?;
    Ok((low.trim().parse().with_context(wrong)?, high.trim().parse().with_context(wrong)?))
}
