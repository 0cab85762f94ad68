//! `fiberscope extract --labels`

use anyhow::bail;
use fiberscope::extract::{ExtractOutcome, LabelOracle, Oracle, extract_labels};
use fiberscope::limit::{Deadline, Progress};
use fiberscope_io::{Precision, check_writable, save};
use fiberscope_report::extraction::{LabelSummary, Recorder, too_many_for_classes};

use super::args::ExtractArgs;
use super::{LogFile, check_sizes, open, options, progress, stopped};
use crate::Answer;
use crate::args::Global;
use crate::commands::read_dense_model;
use crate::output::Output;

pub fn run(
    args: &ExtractArgs,
    global: &Global,
    deadline: &Deadline,
    output: &mut Output,
) -> anyhow::Result<Answer> {
    let out = args.output.as_deref().expect("the command line requires it without --leak-report");
    check_writable(out)?;
    let truth =
        args.truth.as_ref().map(|name| read_dense_model(name, &args.read.options(), output)).transpose()?;
    let opened = open::open(args, deadline, output)?;
    let inputs = opened.oracle.inputs();
    // An oracle of classes answers one number; another one has an output per class.
    let outputs = opened.classes.unwrap_or(opened.oracle.outputs());
    if let Some(reason) = too_many_for_classes((inputs, outputs)) {
        bail!("{}: {reason}", opened.name);
    }
    let oracle: Box<dyn Oracle> =
        if opened.classes.is_some() { opened.oracle } else { Box::new(LabelOracle::new(opened.oracle)) };
    let truth = truth.map(|truth| truth.network);
    if let (Some(truth), Some(name)) = (&truth, &args.truth) {
        check_sizes(name, truth, (inputs, outputs))?;
    }
    let options = options(args, global, deadline, (inputs, outputs));
    let log = LogFile::choose(args, out, output);
    let mut recorder = Recorder::new(oracle, Some(log.open(&options, (inputs, 1))?), opened.batch);
    let show = progress(output);
    let told = options.clone().progress(Progress::to(&show));
    let found = extract_labels(&mut recorder, Some(outputs), &told);
    output.end_progress();
    let (asked, replayed) = (recorder.asked(), recorder.replayed());
    drop(recorder);
    let found = match found {
        Ok(found) => found,
        Err(error) => return stopped(error, log.keep_if(asked > 0), deadline, output),
    };
    let mut summary = LabelSummary::new(found, opened.name, (inputs, outputs), args.domain);
    (summary.asked, summary.replayed) = (asked, replayed);
    if let Some(network) = &summary.found.network {
        save(network, out, Precision::F64)?;
        summary.compare(truth.as_ref());
        summary.output = Some(out.display().to_string());
    }
    let kept = log.keep_if(summary.found.outcome != ExtractOutcome::Verified);
    summary.log = kept.map(|path| path.display().to_string());
    output.result(&summary.to_text(), &summary.to_json())?;
    Ok(match &summary.found.outcome {
        ExtractOutcome::Verified => Answer::Yes,
        ExtractOutcome::Failed { .. } if !summary.found.stopped => Answer::No,
        ExtractOutcome::Partial { .. } | ExtractOutcome::Failed { .. } => Answer::Undecided,
    })
}
