//! `fiberscope linear sample`

use anyhow::{Context, bail};
use fiberscope::linear::{LinearNetwork, ProductFiber, StratumDag};
use fiberscope_report::linear::motion::{SampleOver, product_difference, sample, sample_text};
use fiberscope_report::linear::stratum_json;
use serde_json::json;

use super::args::SampleArgs;
use super::{all_or_undecided, file_names, read_linear, stratum_options, write_points};
use crate::Answer;
use crate::args::Global;
use crate::output::Output;

pub fn run(args: &SampleArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let fiber = ProductFiber::new(args.fiber.widths.clone(), args.fiber.rank)?;
    let dag = StratumDag::build(&fiber, &stratum_options(&args.fiber, global))?;
    let at = match args.stratum {
        Some(at) if at < dag.len() => at,
        Some(at) => bail!("--stratum {at}: the strata have numbers 0 to {}", dag.len() - 1),
        None => (0..dag.len()).find(|&at| dag.dim(at) == dag.fiber_dimension()).unwrap_or(0),
    };
    let stratum = dag.stratum(at);
    let product = match &args.product {
        Some(argument) => Some(read_linear(argument, &args.read, output)?),
        None => None,
    };
    let over = match &product {
        Some(model) => SampleOver::Product(model, args.tolerance.get()),
        None if args.integer => SampleOver::Integers,
        None => SampleOver::Anything,
    };
    let draw = |k: usize| -> anyhow::Result<LinearNetwork> {
        sample(stratum.barcode(), &over, global.seed.wrapping_add(k as u64))
            .with_context(|| args.product.clone().unwrap_or_default())
    };
    let deadline = global.deadline();
    let in_time = (0..args.count).take_while(|_| !deadline.is_past());
    let points = in_time.map(draw).collect::<anyhow::Result<Vec<_>>>()?;
    let difference = product
        .as_ref()
        .map(|model| points.iter().map(|point| product_difference(point, model)).fold(0.0, f64::max));
    let files = write_points(&args.output, &points)?;
    let text = sample_text(files.len(), (at, &stratum), &args.output, difference);
    let value = json!({"files": file_names(&files), "stratum": stratum_json(&stratum), "number": at, "max_difference": difference});
    output.result(&text, &value)?;
    Ok(all_or_undecided(files.len(), args.count, &deadline, output))
}
