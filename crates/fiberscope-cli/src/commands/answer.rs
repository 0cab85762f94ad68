//! `fiberscope answer`: a model as an oracle on standard input and output.

use std::io::{BufRead, BufReader, Read, stdin};

use anyhow::{Context, bail};
use clap::Args;
use fiberscope::extract::{NetworkOracle, Oracle, Precision, class_of};
use serde_json::json;

use super::{read_dense_model, read_model};
use crate::Answer;
use crate::args::{Global, ReadArgs};
use crate::oracle::{hello, read_request};
use crate::output::Output;

/// No batch is longer.
const LONGEST: u64 = 1 << 30;

/// Answer queries about a network as lines of JSON, for `fiberscope extract`
///
/// Reads batches {"inputs": [[..], ..]} from standard input, one per line, and writes {"outputs": [[..],
/// ..]}; the first line that it writes says how many inputs and outputs there are. On another machine it
/// shows what the network there leaks.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope extract -o found.json -- fiberscope answer zoo:duplicate-merged --decimals 6\n  fiberscope extract --labels -o found.json -- fiberscope answer model.onnx --labels\n  fiberscope extract -o found.json -- ssh host fiberscope answer model.onnx"
)]
pub struct AnswerArgs {
    /// The network
    pub model: String,
    /// Compute in single precision
    #[arg(long)]
    pub single: bool,
    /// Round the outputs to this many decimals
    #[arg(long, value_name = "N")]
    pub decimals: Option<u32>,
    /// Answer the class only: the largest output, or 1 where a single one is positive
    #[arg(long)]
    pub labels: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}

pub fn run(args: &AnswerArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    if args.model == "-" {
        bail!("-: expected a file or zoo:NAME; standard input has the queries");
    }
    // Single precision is computed on dense layers.
    let read = if args.single { read_dense_model } else { read_model };
    let network = read(&args.model, &args.read.options(), output)?.network;
    let precision = Precision { single: args.single, decimals: args.decimals, ..Precision::default() };
    let mut oracle = NetworkOracle::new(network).with_precision(precision);
    let classes = args.labels.then(|| oracle.outputs().max(2));
    let mut greeting = hello(&oracle, classes);
    output.how_read().add_to(&mut greeting);
    output.raw(format!("{greeting}\n").as_bytes())?;
    let deadline = global.deadline();
    let mut input = BufReader::new(stdin().lock());
    loop {
        let mut line = Vec::new();
        input.by_ref().take(LONGEST).read_until(b'\n', &mut line).context("standard input")?;
        if line.is_empty() {
            return Ok(Answer::Yes);
        }
        deadline.check("before this query")?;
        let answer = read_request(&line, oracle.inputs())
            .and_then(|points| oracle.query(&points).map_err(|error| error.to_string()));
        let message = match answer {
            Ok(outputs) if args.labels => {
                json!({ "labels": outputs.iter_rows().map(class_of).collect::<Vec<_>>() })
            }
            Ok(outputs) => json!({ "outputs": outputs.iter_rows().collect::<Vec<_>>() }),
            Err(reason) => json!({ "error": reason }),
        };
        output.raw(format!("{message}\n").as_bytes())?;
    }
}
