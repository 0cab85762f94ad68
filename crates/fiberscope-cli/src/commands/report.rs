//! `fiberscope report`

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use fiberscope::limit::Limit;
use fiberscope_io::{Model, write_atomically};
use fiberscope_report::dimension::BatchQuestion;
use fiberscope_report::report::{Named, ReportQuestion, Unfinished, report_with};

use super::funcdim::read_inputs;
use super::{read_box, read_dense_model};
use crate::args::{AroundArgs, Global, ReadArgs};
use crate::output::Output;
use crate::{Answer, limit_in};

/// Write a page about a network, or about two: what they are, with proof
///
/// One self-contained HTML file: roles of neurons, symmetries and fiber, identifiability, linear regions with
/// a picture, the functional dimension on given data, and for two networks the verdict and, with a bounded box,
/// how far apart they are at most, with pictures, on the data too. Every claim stands
/// with the statement it rests on; certificates are embedded, and a button of the page checks them again in
/// the reader's browser (if the command was built with `cargo xtask web`).
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope report zoo:hiding-two -o report.html\n  fiberscope report before.onnx after.onnx --box -1,1 --data inputs.csv -o report.html"
)]
pub struct ReportArgs {
    /// The network
    pub model: String,
    /// A second network to compare with
    #[arg(value_name = "B")]
    pub b: Option<String>,
    /// Inputs for the functional dimension, and to compare two networks on (.csv, .npy, .npz)
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Use the first N columns of the data as inputs (the others may be targets)
    #[arg(long, value_name = "N", requires = "data")]
    pub inputs: Option<usize>,
    /// Judge and compare on a box: LO,HI for every input, or a file (JSON, CSV, VNN-LIB)
    #[arg(long = "box", value_name = "LO,HI or FILE", allow_hyphen_values = true)]
    pub domain: Option<String>,
    #[command(flatten)]
    pub around: AroundArgs,
    /// Where to write the page
    #[arg(long = "out", short, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    #[command(flatten)]
    pub read: ReadArgs,
}

pub fn run(args: &ReportArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let deadline = global.deadline();
    let read = args.read.options();
    let a = read_dense_model(&args.model, &read, output)?;
    let b = args.b.as_deref().map(|name| read_dense_model(name, &read, output)).transpose()?;
    let domain = read_box(args.domain.as_deref(), &args.around, a.network.input_width())?;
    let data = args.data.as_deref().map(|path| read_inputs(path, args.inputs, &a.network)).transpose()?;
    let question = ReportQuestion {
        a: named(&args.model, &a),
        b: args.b.as_deref().zip(b.as_ref()).map(|(name, model)| named(name, model)),
        domain: &domain,
        batch: args.data.as_deref().zip(data.as_ref()).map(|(path, data)| {
            BatchQuestion::rank(path.display().to_string(), &data.points, data.columns.as_deref())
        }),
        seed: global.seed,
        deadline,
    };
    let shown: &Output = output;
    let unfinished = Unfinished::new(&question);
    let (kept, path) = (unfinished.clone(), args.output.clone());
    shown.rescue_with(move |limit| write_unfinished(&kept, &path, limit));
    let made = report_with(&question, &unfinished, &|text| shown.progress(text));
    output.end_progress();
    let reached = made.as_ref().err().and_then(limit_in).map(|reached| reached.limit);
    if (made.is_ok() || reached.is_some()) && !output.begin_result() {
        // A limit has come: the page of what was found is being written, and then the process ends.
        loop {
            std::thread::park();
        }
    }
    if let Some(limit) = reached {
        output.know(write_unfinished(&unfinished, &args.output, limit));
    }
    let made = made?;
    write_atomically(&args.output, |file| file.write_all(made.html.as_bytes()))?;
    let stopped = question.deadline.limit();
    if let Some(limit) = stopped {
        output.note(&format!("{limit}; the page says what was not decided"));
    }
    output.result(&made.to_text(&args.output), &made.to_json(&args.output))?;
    Ok(if stopped.is_some() { Answer::Undecided } else { Answer::Yes })
}

/// Writes the page of what was found before a limit, and says so.
fn write_unfinished(report: &Unfinished, path: &Path, limit: Limit) -> String {
    let html = report.html_at(&limit.to_string());
    match write_atomically(path, |file| file.write_all(html.as_bytes())) {
        Ok(()) => format!("what was found by then stands in {}", path.display()),
        Err(error) => format!("no page was written: {error}"),
    }
}

fn named<'a>(name: &'a str, model: &'a Model) -> Named<'a> {
    Named {
        name,
        network: &model.network,
        precision: model.precision,
        assumed: model.assumed,
        set_aside: &model.set_aside,
    }
}
