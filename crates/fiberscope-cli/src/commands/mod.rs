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
pub mod symmetries;
pub mod tasks;
pub mod tour;
pub mod train;
pub mod zoo;

use std::path::Path;

use anyhow::{Context, ensure};
use fiberscope_core::{Domain, LARGEST_DENSE};
use fiberscope_io::{Model, ReadOptions, domain, load, load_data};

use crate::args::AroundArgs;
use crate::output::Output;

/// Reads a model argument and passes the reader's notes on.
fn read_model(argument: &str, options: &ReadOptions, output: &Output) -> anyhow::Result<Model> {
    let model = load(argument, options)?;
    for note in &model.notes {
        output.note(&format!("{argument}: {note}"));
    }
    output.read(argument, model.assumed, &model.set_aside);
    let widths: Vec<String> = model.network.widths().iter().map(ToString::to_string).collect();
    output.know(format!(
        "{argument} has widths {} and {} parameters",
        widths.join("-"),
        model.network.parameter_count()
    ));
    Ok(model)
}

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

/// The domain that `--box` and `--around` name: the box around a row of a table, cut with the other box.
fn read_box(argument: Option<&str>, around: &AroundArgs, inputs: usize) -> anyhow::Result<Domain> {
    read_box_around(argument, around_row(around, inputs)?, inputs)
}

/// The row that the box of --around is around, and its radius.
fn around_row(around: &AroundArgs, inputs: usize) -> anyhow::Result<Option<(Vec<f64>, f64)>> {
    let (Some(place), Some(radius)) = (&around.around, around.radius) else { return Ok(None) };
    let mut rows = data_rows(place, inputs).context("--around")?;
    match (rows.pop(), rows.len()) {
        (Some(row), 0) => Ok(Some((row, radius))),
        (_, others) => anyhow::bail!("--around {place}: expected one row, found {}", others + 1),
    }
}

/// The box around a point, cut with --box; the domain of --box if there is no point.
fn read_box_around(
    argument: Option<&str>,
    around: Option<(Vec<f64>, f64)>,
    inputs: usize,
) -> anyhow::Result<Domain> {
    let Some((point, radius)) = around else { return read_domain(argument, inputs) };
    let mut bounds: Vec<(f64, f64)> = point.iter().map(|x| (x - radius, x + radius)).collect();
    if let Some(argument) = argument {
        let cut =
            domain::parse_box(argument, inputs).map_err(|error| anyhow::anyhow!("--box {error}"))?.bounds;
        for (i, (side, (low, high))) in bounds.iter_mut().zip(cut).enumerate() {
            *side = (side.0.max(low), side.1.min(high));
            ensure!(
                side.0 <= side.1,
                "--around: input {} lies outside of the box by more than the radius",
                i + 1
            );
        }
    }
    Domain::from_bounds(&bounds).context("--around: the bounds of the box are not finite")
}

/// Rows of a table, `FILE:ROW,ROW,..` counted from 1; columns behind the inputs are left out.
fn data_rows(place: &str, inputs: usize) -> anyhow::Result<Vec<Vec<f64>>> {
    let expected = || format!("{place}: expected FILE:ROW, rows counted from 1");
    let (file, rows) = place.rsplit_once(':').with_context(expected)?;
    let rows: Vec<usize> =
        rows.split(',').map(str::parse).collect::<Result<_, _>>().ok().with_context(expected)?;
    let points = load_data(Path::new(file))?.points;
    ensure!(
        points.cols() >= inputs,
        "{file}: expected {inputs} columns (one per input), found {}",
        points.cols()
    );
    let row = |number: usize| {
        ensure!(
            (1..=points.rows()).contains(&number),
            "{file}: expected a row from 1 to {}, found {number}",
            points.rows()
        );
        Ok(points.row(number - 1)[..inputs].to_vec())
    };
    rows.into_iter().map(row).collect()
}
