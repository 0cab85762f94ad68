//! `fiberscope linear sample`

use anyhow::{Context, bail};
use fiberscope::linear::{Fiber, LinearNetwork, StratumDag, sample_integer, sample_over, sample_stratum};
use serde_json::json;

use super::args::SampleArgs;
use super::{file_names, read_linear, stratum_json, stratum_limits, write_points};
use crate::Answer;
use crate::args::Global;
use crate::output::Output;

pub fn run(args: &SampleArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let fiber = Fiber::new(args.fiber.widths.clone(), args.fiber.rank)?;
    let dag = StratumDag::build_within(&fiber, &stratum_limits(&args.fiber, global))?;
    let at = match args.stratum {
        Some(at) if at < dag.len() => at,
        Some(at) => bail!("--stratum {at}: the strata have numbers 0 to {}", dag.len() - 1),
        None => (0..dag.len()).find(|&at| dag.dim(at) == dag.fiber_dimension()).unwrap_or(0),
    };
    let stratum = dag.stratum(at);
    let product = match &args.product {
        Some(argument) => Some(read_linear(argument, output)?),
        None => None,
    };
    let sample = |k: usize| -> anyhow::Result<LinearNetwork> {
        let seed = global.seed.wrapping_add(k as u64);
        Ok(match &product {
            Some(model) => {
                let product = model.product();
                let scale = args.tolerance.scale.unwrap_or(largest(model));
                sample_over(stratum.barcode(), &product, args.tolerance.tolerance * scale, seed)
                    .with_context(|| args.product.clone().unwrap_or_default())?
            }
            None if args.integer => sample_integer(stratum.barcode(), seed)?,
            None => sample_stratum(stratum.barcode(), seed)?,
        })
    };
    let points = (0..args.count).map(sample).collect::<anyhow::Result<Vec<_>>>()?;
    let difference = product
        .as_ref()
        .map(|model| points.iter().map(|point| product_difference(point, model)).fold(0.0, f64::max));
    let files = write_points(&args.output, &points)?;
    let kept =
        difference.map_or(String::new(), |difference| format!("; the product is kept to {difference:.1e}"));
    let text = format!(
        "wrote {} networks of stratum {at} ({}, {}) to {}{kept}\n",
        files.len(),
        stratum.short_name(),
        stratum.barcode(),
        args.output.display(),
    );
    let value = json!({"files": file_names(&files), "stratum": stratum_json(&stratum), "number": at, "max_difference": difference});
    output.result(&text, &value)?;
    Ok(Answer::Yes)
}

/// The product of the largest entries of the matrices: a scale for rounding errors of the product.
fn largest(network: &LinearNetwork) -> f64 {
    let entry = |weight: &fiberscope_core::Matrix| weight.entries().iter().fold(0f64, |m, x| m.max(x.abs()));
    network
        .weights()
        .iter()
        .map(|weight| entry(weight).max(f64::MIN_POSITIVE) * weight.cols() as f64)
        .product()
}

fn product_difference(a: &LinearNetwork, b: &LinearNetwork) -> f64 {
    let (a, b) = (a.product(), b.product());
    a.entries().iter().zip(b.entries()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}
