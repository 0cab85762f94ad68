//! `fiberscope regions`

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use anyhow::ensure;
use fiberscope::complex::ComplexOptions;
use fiberscope_report::regions::{
    COUNTED, ComplexView, Depth, Found, RegionsQuestion, Search, export, picture, regions,
};
use serde_json::json;

use super::args::{RegionsArgs, RegionsMethod};
use super::endings;
use super::slice::slice;
use crate::Answer;
use crate::args::Global;
use crate::commands::{read_box, read_dense_model};
use crate::output::Output;

pub fn run(args: &RegionsArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let start = Instant::now();
    let question = question(args, global, output)?;
    let wanted = question.depth == Depth::Cells;
    ensure!(
        !wanted || question.search() == Search::Edges,
        "pictures and exports need the cells that --method edges lists; {}, or take a slice (--slice, --directions)",
        match args.method {
            Some(_) => "leave out --method walk",
            None => "with this many inputs it has to be asked for (and may take long)",
        }
    );
    let deadline = question.limits.deadline.clone();
    let answer = regions(question, &|text| output.progress(text), &|text| output.know(text.to_owned()));
    output.end_progress();
    let answer = answer?;
    let mut text = answer.to_text();
    match &answer.found {
        Found::Stopped { listing: true, .. } => deadline.check(match wanted {
            true => "before all cells were listed",
            false => "before the facets of the complex were weighed",
        })?,
        Found::Listed { complex, breakpoints, .. } => {
            for path in &args.plot {
                picture::write(&answer.view, complex, breakpoints, path)?;
            }
            for path in &args.export {
                export(&answer.view, complex, breakpoints, &deadline, path)?;
            }
            for path in args.plot.iter().chain(&args.export) {
                let _ = writeln!(text, "wrote {}", path.display());
            }
        }
        _ => {}
    }
    let mut value = answer.to_json();
    value["seconds"] = json!(start.elapsed().as_secs_f64());
    output.result(&text, &value)?;
    let complete = answer.is_complete();
    // The process ends here; to free hundreds of thousands of lists one by one would take time.
    std::mem::forget(answer);
    Ok(if complete { Answer::Yes } else { Answer::Undecided })
}

/// What the flags ask for.
fn question(args: &RegionsArgs, global: &Global, output: &Output) -> anyhow::Result<RegionsQuestion> {
    let model = read_dense_model(&args.model, &args.read.options(), output)?;
    let sliced = slice(args, &model.network)?;
    let inputs = sliced.as_ref().map_or(&model.network, |(slice, _)| &slice.network).input_width();
    endings::check(args, inputs)?;
    let (network, axes, domain) = match sliced {
        Some((slice, domain)) => (slice.network, Some(slice.axes), domain),
        None => {
            let domain = read_box(args.domain.as_deref(), &args.around, inputs)?;
            (model.network, None, domain)
        }
    };
    let view = ComplexView { name: args.model.clone(), network: Arc::new(network), domain, axes };
    Ok(RegionsQuestion {
        view,
        limits: ComplexOptions::new()
            .regions(args.max_regions.unwrap_or(COUNTED))
            .deadline(global.deadline()),
        search: args.method.map(|method| match method {
            RegionsMethod::Edges => Search::Edges,
            RegionsMethod::Walk => Search::Walk,
        }),
        depth: match args.plot.is_empty() && args.export.is_empty() {
            true if args.count_only => Depth::Counts,
            true => Depth::Weights,
            false => Depth::Cells,
        },
        resume: args.resume.clone(),
    })
}
