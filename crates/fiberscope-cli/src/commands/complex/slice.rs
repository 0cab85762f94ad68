//! The slices that flags ask for.

use anyhow::{Context, bail, ensure};
use fiberscope_core::{Domain, Network};
use fiberscope_report::regions::slice::{Slice, along, of_inputs, through};

use super::args::RegionsArgs;
use crate::commands::{around_row, data_rows, read_box_around, read_domain};

/// The slice that the flags ask for, and where on it.
pub fn slice(args: &RegionsArgs, network: &Network) -> anyhow::Result<Option<(Slice, Domain)>> {
    let inputs = network.input_width();
    let row = around_row(&args.around, inputs)?;
    let origin = || match (&args.origin, &row) {
        (Some(_), Some(_)) => bail!("--origin and --around: the plane goes through one of them, not both"),
        (Some(text), None) => Ok(vectors::<1>(text, inputs).context("--origin")?.concat()),
        (None, Some((row, _))) => Ok(row.clone()),
        (None, None) => Ok(vec![0.0; inputs]),
    };
    if let Some([first, second]) = args.slice.as_deref().and_then(two_inputs) {
        let chosen = [first, second].map(|input| input.wrapping_sub(1));
        let slice = of_inputs(network, &origin()?, chosen).context("--slice")?;
        let row = row.map(|(row, radius)| (chosen.map(|input| row[input]).to_vec(), radius));
        let domain = read_box_around(args.domain.as_deref(), row, 2)?;
        return Ok(Some((slice, domain)));
    }
    if let Some(text) = &args.slice {
        ensure!(
            row.is_none() && args.origin.is_none(),
            "--slice through three points has its own place; --around and --origin go with --directions, or with two inputs (--slice 1,2)"
        );
        let points = points(text, inputs).context("--slice")?;
        let slice = through(network, &points).context("--slice")?;
        let domain = Domain::from_bounds(&slice.view).expect("the view is finite");
        return Ok(Some((slice, domain)));
    }
    let Some(text) = &args.directions else {
        ensure!(
            args.origin.is_none(),
            "--origin: a point of a plane; expected --directions or --slice I,J with it"
        );
        return Ok(None);
    };
    let directions = vectors(text, inputs).context("--directions")?;
    let slice = along(network, &origin()?, &directions).context("--directions")?;
    let domain = match (row, &args.domain) {
        (Some((_, radius)), text) => read_box_around(text.as_deref(), Some((vec![0.0; 2], radius)), 2)?,
        (None, Some(text)) => read_domain(Some(text), 2)?,
        (None, None) => Domain::from_bounds(&slice.view).expect("the view is finite"),
    };
    Ok(Some((slice, domain)))
}

/// Two numbers of inputs, counted from 1, if the text is that.
fn two_inputs(text: &str) -> Option<[usize; 2]> {
    let numbers: Option<Vec<usize>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    numbers?.try_into().ok()
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
