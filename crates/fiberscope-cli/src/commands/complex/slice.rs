//! The slices that flags ask for.

use anyhow::{Context, bail, ensure};
use fiberscope_core::Network;
use fiberscope_report::regions::slice::{Slice, along, through};

use super::args::RegionsArgs;
use crate::commands::data_rows;

/// The slice that the flags ask for, and whether its own view is the domain.
pub fn slice(args: &RegionsArgs, network: &Network) -> anyhow::Result<Option<(Slice, bool)>> {
    let inputs = network.input_width();
    if let Some(text) = &args.slice {
        let points = points(text, inputs).context("--slice")?;
        return Ok(Some((through(network, &points).context("--slice")?, true)));
    }
    let Some(text) = &args.directions else { return Ok(None) };
    let directions = vectors(text, inputs).context("--directions")?;
    let origin = match &args.origin {
        Some(text) => vectors::<1>(text, inputs).context("--origin")?.concat(),
        None => vec![0.0; inputs],
    };
    let slice = along(network, &origin, &directions).context("--directions")?;
    Ok(Some((slice, args.domain.is_none())))
}

/// Three points: typed, or rows of a table.
fn points(text: &str, inputs: usize) -> anyhow::Result<[Vec<f64>; 3]> {
    if text.contains(';') || !text.contains(':') {
        return vectors(text, inputs);
    }
    let rows = data_rows(text, inputs)?;
    let found = rows.len();
    rows.try_into().ok().with_context(|| format!("{text}: expected three rows, found {found}"))
}

/// `COUNT` vectors of `inputs` numbers, separated by semicolons.
fn vectors<const COUNT: usize>(text: &str, inputs: usize) -> anyhow::Result<[Vec<f64>; COUNT]> {
    let parts: Vec<&str> = text.split(';').collect();
    if parts.len() != COUNT {
        bail!("expected {COUNT} vectors separated by semicolons, found {}", parts.len());
    }
    let mut vectors = std::array::from_fn(|_| Vec::new());
    for (k, part) in parts.iter().enumerate() {
        let numbers: Result<Vec<f64>, _> = part.split(',').map(|x| x.trim().parse::<f64>()).collect();
        let Ok(numbers) = numbers else {
            bail!("vector {}: expected numbers separated by commas, found {part:?}", k + 1)
        };
        ensure!(numbers.iter().all(|x| x.is_finite()), "vector {}: expected finite numbers", k + 1);
        ensure!(
            numbers.len() == inputs,
            "vector {}: expected {inputs} numbers (one per input), found {}",
            k + 1,
            numbers.len()
        );
        vectors[k] = numbers;
    }
    Ok(vectors)
}
