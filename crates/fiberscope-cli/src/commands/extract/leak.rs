//! `fiberscope extract --leak-report`: the same extraction against answers of lower and lower precision.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::bail;
use fiberscope::extract::{NetworkOracle, Options, Precision, extract};
use fiberscope::limit::Deadline;
use fiberscope_answer::extraction::judge;
use fiberscope_core::Network;
use fiberscope_report::extraction::{Finding, LeakReport, LeakRow};
use rayon::prelude::*;

use super::args::ExtractArgs;
use super::open::is_endpoint;
use super::{options, truth};
use crate::Answer;
use crate::args::Global;
use crate::commands::read_model;
use crate::output::Output;

/// What an exposed model may answer with, from the most precise to the least.
const PRECISIONS: [(&str, Precision); 8] = [
    ("double", Precision { single: false, decimals: None }),
    ("12 decimals", Precision { single: false, decimals: Some(12) }),
    ("10 decimals", Precision { single: false, decimals: Some(10) }),
    ("8 decimals", Precision { single: false, decimals: Some(8) }),
    ("float32", Precision { single: true, decimals: None }),
    ("6 decimals", Precision { single: false, decimals: Some(6) }),
    ("4 decimals", Precision { single: false, decimals: Some(4) }),
    ("3 decimals", Precision { single: false, decimals: Some(3) }),
];

pub fn run(
    args: &ExtractArgs,
    global: &Global,
    deadline: Deadline,
    output: &Output,
) -> anyhow::Result<Answer> {
    let name = match &args.oracle {
        Some(name) if !is_endpoint(name) => name,
        _ => bail!("--leak-report: expected a model, whose parameters the results are compared with"),
    };
    let network = read_model(name, &args.read.options(), output)?.network;
    let options = options(args, global, deadline, (network.input_width(), network.output_width()));
    let done = AtomicUsize::new(0);
    let rows = PRECISIONS
        .par_iter()
        .map(|&(precision, answers)| {
            let row = row(precision, answers, &network, &options);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            output.progress(&format!("{done} of {} precisions", PRECISIONS.len()));
            row
        })
        .collect();
    output.end_progress();
    let report =
        LeakReport { name: name.clone(), parameters: network.parameter_count(), domain: args.domain, rows };
    output.result(&report.to_text(), &report.to_json())?;
    Ok(if deadline.is_past() { Answer::Undecided } else { Answer::Yes })
}

/// An extraction from answers of this precision. That nothing can be recovered is what the owner hopes for.
fn row(name: &str, precision: Precision, network: &Network, options: &Options) -> LeakRow {
    let mut oracle = NetworkOracle::new(network.clone()).with_precision(precision);
    let mut row = LeakRow {
        precision: name.into(),
        single: precision.single,
        decimals: precision.decimals,
        finding: Finding::Failed,
        reason: None,
        queries: 0,
        max_difference: None,
        max_relative_error: None,
    };
    match extract(&mut oracle, options, &mut |_| {}) {
        Err(error) => row.reason = Some(error.to_string()),
        Ok(found) => {
            let (finding, reason, _) = judge(&found.verdict);
            (row.finding, row.reason, row.queries) = (finding, reason, found.queries);
            row.max_difference = found.fidelity.as_ref().map(|fidelity| fidelity.max_difference);
            match found.network.as_ref().map(|found| truth::align(network, found)) {
                Some(Ok(aligned)) => row.max_relative_error = Some(aligned.max_relative_error),
                Some(Err(reason)) => row.reason = row.reason.or(Some(reason)),
                None => {}
            }
        }
    }
    row
}
