//! `fiberscope folds`

use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;

use anyhow::bail;
use fiberscope::complex::ComplexOptions;
use fiberscope_io::write_atomically;
use fiberscope_report::folds::{FoldAnswer, FoldsAnswer, FoldsQuestion, StoppedFolds, folds};
use fiberscope_report::regions::ComplexView;

use super::args::FoldsArgs;
use crate::Answer;
use crate::args::Global;
use crate::commands::{read_box, read_dense_model};
use crate::output::{Output, check_picture, write_picture};

pub fn run(args: &FoldsArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    for path in &args.graph {
        if !matches!(path.extension().and_then(|e| e.to_str()), Some("svg" | "png" | "pdf" | "tex" | "dot")) {
            bail!("{}: expected a file name ending in .svg, .png, .pdf, .tex or .dot", path.display());
        }
        if path.extension().is_some_and(|ending| ending == "png") {
            check_picture(path)?;
        }
    }
    let network = read_dense_model(&args.model, &args.read.options(), output)?.network;
    let other = args.other.as_ref().map(|other| read_dense_model(other, &args.read.options(), output));
    let other = other.transpose()?.map(|model| Arc::new(model.network));
    let domain = read_box(args.domain.as_deref(), &args.around, network.input_width())?;
    let view = ComplexView { name: args.model.clone(), network: Arc::new(network), domain, axes: None };
    let limits =
        ComplexOptions::new().regions(args.max_regions).deadline(global.deadline()).seed(global.seed);
    let question = FoldsQuestion { view, other, limits };
    let found = folds(&question, &|text| output.progress(text), &|text| output.know(text.to_owned()));
    output.end_progress();
    match found? {
        FoldsAnswer::Folds(found) => drawn(args, &found, output),
        FoldsAnswer::Matched(found) => {
            found.note().into_iter().for_each(|note| output.note(&note));
            output.result(&found.to_text(), &found.to_json())?;
            Ok(match found.holds() {
                Some(true) => Answer::Yes,
                Some(false) => Answer::No,
                None => Answer::Undecided,
            })
        }
        FoldsAnswer::Stopped => {
            let known = StoppedFolds::new(&question)?;
            output.result(&known.to_text(), &known.to_json())?;
            Ok(if known.is_certified() { Answer::Yes } else { Answer::Undecided })
        }
    }
}

/// Draws the graph where that is asked for and prints what was found.
fn drawn(args: &FoldsArgs, found: &FoldAnswer, output: &Output) -> anyhow::Result<Answer> {
    let picture = found.picture(&args.model);
    let mut text = found.to_text();
    for path in &args.graph {
        match path.extension().and_then(|e| e.to_str()) {
            Some("dot") => write_atomically(path, |file| file.write_all(picture.to_dot().as_bytes()))?,
            _ => write_picture(path, &picture.draw())?,
        }
        let _ = writeln!(text, "wrote {}", path.display());
    }
    output.result(&text, &found.to_json())?;
    Ok(Answer::Yes)
}
