//! One module per command.

pub mod answer;
pub mod bounds;
pub mod check;
pub mod completions;
pub mod complex;
pub mod convert;
pub mod diff;
pub mod equiv;
pub mod explore;
pub mod extract;
pub mod fiber;
pub mod funcdim;
pub mod info;
pub mod linear;
pub mod man;
pub mod report;
pub mod reproduce;
pub mod rewrite;
pub mod survey;
pub mod tour;
pub mod train;
pub mod zoo;

use anyhow::Context;
use fiberscope_core::Domain;
use fiberscope_io::{Model, ReadOptions, domain, load};

use crate::output::Output;

/// Reads a model argument and passes the reader's notes on.
fn read_model(argument: &str, options: &ReadOptions, output: &Output) -> anyhow::Result<Model> {
    let model = load(argument, options)?;
    for note in &model.notes {
        output.note(&format!("{argument}: {note}"));
    }
    output.assume(argument, model.assumed);
    let widths: Vec<String> = model.network.widths().iter().map(ToString::to_string).collect();
    output.know(format!(
        "{argument} has widths {} and {} parameters",
        widths.join("-"),
        model.network.parameter_count()
    ));
    Ok(model)
}

/// The most numbers of a network's layers, zeros included, for questions that write them out.
const LARGEST_DENSE: usize = 1 << 26;

/// The same for a question that works on dense layers: a network that would be too large so is refused.
fn read_dense_model(argument: &str, options: &ReadOptions, output: &Output) -> anyhow::Result<Model> {
    let model = read_model(argument, options, output)?;
    model.network.require_dense(LARGEST_DENSE).with_context(|| argument.to_owned())?;
    Ok(model)
}

/// The domain that `--box` names; all of `R^n` without it.
fn read_domain(argument: Option<&str>, inputs: usize) -> anyhow::Result<Domain> {
    let Some(argument) = argument else { return Ok(Domain::Space) };
    let parsed = domain::parse_box(argument, inputs).map_err(|error| anyhow::anyhow!("--box {error}"))?;
    let bounds = parsed.bounds;
    Ok(Domain::from_bounds(&bounds).expect("the bounds of a box are finite"))
}
