//! `fiberscope extract`

pub mod args;
mod labels;
mod leak;
mod open;
mod steps;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use fiberscope::extract::{
    ExtractError, ExtractOptions, ExtractOutcome, ExtractProgress, ExtractStage, Extraction, extract,
};
use fiberscope::limit::{Deadline, Progress};
use fiberscope_core::Network;
use fiberscope_io::queries::{Log, Run};
use fiberscope_io::{Precision, check_writable, save};
use fiberscope_report::extraction::{self, ExtractionSummary, Recorder};

use super::read_dense_model;
use crate::Answer;
use crate::args::Global;
use crate::output::{Output, check_picture, write_picture};
use args::ExtractArgs;

/// The line of progress is written so often.
const SHOWN: Duration = Duration::from_millis(100);

pub fn run(args: &ExtractArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let deadline = global.deadline();
    check_domain(args.domain)?;
    if args.leak_report {
        return leak::run(args, global, &deadline, output);
    }
    if let Some(path) = &args.boundaries {
        return steps::boundaries(path, args, output);
    }
    if let Some(path) = &args.signs {
        return steps::signs(path, args, global, &deadline, output);
    }
    if args.labels {
        return labels::run(args, global, &deadline, output);
    }
    let out = args.output.as_deref().expect("the command line requires it without --leak-report");
    check_writable(out)?;
    args.plot.as_deref().map_or(Ok(()), check_picture)?;
    let truth =
        args.truth.as_ref().map(|name| read_dense_model(name, &args.read.options(), output)).transpose()?;
    let opened = open::open(args, &deadline, output)?;
    if opened.classes.is_some() {
        bail!("{}: it answers classes only; --labels extracts from these", opened.name);
    }
    let sizes = (opened.oracle.inputs(), opened.oracle.outputs());
    let truth = truth.map(|truth| truth.network);
    if let (Some(truth), Some(name)) = (&truth, &args.truth) {
        check_sizes(name, truth, sizes)?;
    }
    let mut options = options(args, global, &deadline, sizes);
    if let Some(path) = &args.known {
        options = options.known(steps::read_layers(path, sizes.0)?);
    }
    let log = LogFile::choose(args, out, output);
    let mut recorder = Recorder::new(opened.oracle, Some(log.open(&options, sizes)?), opened.batch);
    let show = progress(output);
    let stages = steps::StageFile::new(with_ending(out, ".known.json"), sizes.0, args.known.as_deref());
    let keep = |stage: ExtractStage| stages.keep(&stage.known);
    let told = options.clone().progress(Progress::to(&show)).stages(Progress::to(&keep));
    let found = extract(&mut recorder, &told);
    output.end_progress();
    let (asked, replayed) = (recorder.asked(), recorder.replayed());
    // The log is closed, and a child process ended, before anything is said.
    drop(recorder);
    let found = match found {
        Ok(found) => found,
        Err(error) => return stopped(error, log.keep_if(asked > 0), &deadline, output),
    };
    let mut summary = ExtractionSummary::new(found, opened.name, sizes, args.domain);
    (summary.asked, summary.replayed) = (asked, replayed);
    let found = &summary.found;
    if let Some(network) = &found.network {
        save(network, out, Precision::F64)?;
        summary.truth = truth.map(|truth| extraction::compare(&truth, network, found, &options));
        summary.output = Some(out.display().to_string());
    }
    summary.known = stages.end(&summary.found)?.map(|path| path.display().to_string());
    // Only now: where the network could not be written, its queries are not lost.
    let kept = log.keep_if(summary.found.outcome != ExtractOutcome::Verified);
    summary.log = kept.map(|path| path.display().to_string());
    summary.look_into_identifiability(&deadline);
    if let Some(path) = &args.plot {
        write_picture(path, &summary.draw())?;
    }
    output.result(&summary.to_text(), &summary.to_json())?;
    Ok(answer(&summary.found, &options))
}

/// What the verdict is as an exit code: widths that are refuted, and a failure within the limits, are a "no".
fn answer(found: &Extraction, options: &ExtractOptions) -> Answer {
    let hidden = |network: &Network| -> Vec<usize> {
        network.hidden_layers().iter().map(fiberscope_core::Layer::width).collect()
    };
    let refuted = match (&options.widths, &found.network) {
        (Some(given), Some(network)) => *given != hidden(network),
        _ => false,
    };
    match &found.outcome {
        ExtractOutcome::Verified => Answer::Yes,
        ExtractOutcome::Partial { disagreements, .. } if refuted && disagreements.is_empty() => Answer::No,
        ExtractOutcome::Partial { .. } => Answer::Undecided,
        ExtractOutcome::Failed { .. } if found.stopped => Answer::Undecided,
        ExtractOutcome::Failed { .. } => Answer::No,
    }
}

/// The error that ended an extraction, and where its queries are. Time that ran out is no error of the
/// oracle.
fn stopped(
    error: ExtractError,
    log: Option<&Path>,
    deadline: &Deadline,
    output: &Output,
) -> anyhow::Result<Answer> {
    let late = matches!(error, ExtractError::Oracle(_)) && deadline.is_past();
    let error = match log {
        Some(log) => {
            anyhow!("{error}\nthe query log is kept: --resume {} goes on without asking again", log.display())
        }
        None => error.into(),
    };
    if late {
        output.error(&error);
        return Ok(Answer::Undecided);
    }
    Err(error)
}

fn check_domain((lo, hi): (f64, f64)) -> Result<(), ExtractError> {
    if lo < hi { Ok(()) } else { Err(ExtractError::Domain { lo, hi }) }
}

fn check_sizes(name: &str, truth: &Network, (inputs, outputs): (usize, usize)) -> anyhow::Result<()> {
    let (n, m) = (truth.input_width(), truth.output_width());
    if (n, m) != (inputs, outputs) {
        let plural =
            |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
        let expected = format!("{} and {}", plural(inputs, "input"), plural(outputs, "output"));
        bail!("{name}: expected {expected}, as the oracle has, found {n} and {m}");
    }
    Ok(())
}

fn options<'a>(
    args: &ExtractArgs,
    global: &Global,
    deadline: &Deadline,
    sizes: (usize, usize),
) -> ExtractOptions<'a> {
    ExtractOptions::new()
        .widths(args.widths.as_deref().map(|widths| hidden(widths, sizes)))
        .domain(args.domain.0, args.domain.1)
        .max_queries(args.max_queries)
        .noise(args.noise.0)
        .seed(global.seed)
        .deadline(deadline.clone())
}

/// The hidden widths of a list that may have inputs and outputs at its ends.
fn hidden(widths: &[usize], (inputs, outputs): (usize, usize)) -> Vec<usize> {
    match widths {
        [first, between @ .., last] if (*first, *last) == (inputs, outputs) => between.to_vec(),
        _ => widths.to_vec(),
    }
}

/// A callback that keeps one line of a terminal up to date.
fn progress(output: &Output) -> impl Fn(ExtractProgress) + Sync {
    let last: Mutex<Option<Instant>> = Mutex::new(None);
    move |now: ExtractProgress| {
        {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.is_some_and(|last| last.elapsed() < SHOWN) {
                return;
            }
            *last = Some(Instant::now());
        }
        let place = extraction::place(now.layer, now.step)
            .map_or(String::new(), |layer| format!("layer {}, ", layer + 1));
        output.progress(&format!(
            "{place}{}: {} neurons found, {} kinks in the pool, {} queries",
            now.step, now.neurons, now.kinks, now.queries
        ));
    }
}

/// The name of a file beside the output.
fn with_ending(out: &Path, ending: &str) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Where queries are logged, and whether the user named the file.
struct LogFile {
    path: PathBuf,
    named: bool,
}

impl LogFile {
    /// The file of `--resume`, or one beside the output that does not exist yet.
    fn choose(args: &ExtractArgs, out: &Path, output: &Output) -> Self {
        if let Some(path) = &args.resume {
            return LogFile { path: path.clone(), named: true };
        }
        let mut path = with_ending(out, ".queries");
        let mut count = 1;
        while path.exists() {
            if count == 1 {
                output.note(&format!(
                    "{} has the queries of an earlier run; --resume goes on with it",
                    path.display()
                ));
            }
            count += 1;
            path = with_ending(out, &format!(".{count}.queries"));
        }
        LogFile { path, named: false }
    }

    fn open(&self, options: &ExtractOptions, (inputs, outputs): (usize, usize)) -> anyhow::Result<Log> {
        let ExtractOptions { seed, domain, widths, noise, .. } = options.clone();
        Ok(Log::open(&self.path, &Run { inputs, outputs, seed, domain, widths, noise })?)
    }

    /// The file if it is kept: it is if the user named it, or if it is of use.
    fn keep_if(&self, useful: bool) -> Option<&Path> {
        if self.named || useful {
            return Some(&self.path);
        }
        // A log that cannot be removed does no harm.
        let _ = std::fs::remove_file(&self.path);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_may_have_inputs_and_outputs() {
        assert_eq!(hidden(&[10, 8, 1], (10, 1)), [8]);
        assert_eq!(hidden(&[8], (10, 1)), [8]);
        assert_eq!(hidden(&[8, 6], (10, 1)), [8, 6]);
        assert_eq!(hidden(&[1], (1, 1)), [1]);
        assert!(hidden(&[10, 1], (10, 1)).is_empty());
    }
}
