//! `fiberscope linear strata`

use std::path::Path;

use anyhow::bail;
use fiberscope::linear::{LinearError, ProductFiber, StratumDag, count_strata};
use fiberscope_io::write_atomically;
use fiberscope_report::linear::{SpaceFiber, draw_fiber, export, export_equations, strata, write_json};
use serde_json::json;

use super::args::StrataArgs;
use super::stratum_options;
use crate::Answer;
use crate::args::Global;
use crate::output::Output;

pub fn run(args: &StrataArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let fiber = ProductFiber::new(args.fiber.widths.clone(), args.fiber.rank)?;
    if let Some(path) = &args.space {
        draw_space(&fiber, path)?;
    }
    if args.count_only {
        let count = count_strata(&fiber)?.to_string();
        let value = json!({"widths": fiber.widths(), "rank": fiber.rank(), "count": count});
        output.result(&format!("{count} strata\n"), &value)?;
        return Ok(Answer::Yes);
    }
    let dag = match StratumDag::build(&fiber, &stratum_options(&args.fiber, global)) {
        Err(LinearError::Limit(reached)) => {
            let value = json!({
                "widths": fiber.widths(), "rank": fiber.rank(), "verdict": "undecided",
                "undecided": reached.to_string(), "limit": reached.limit.name(),
            });
            output.result(&format!("undecided: {reached}\n"), &value)?;
            return Ok(Answer::Undecided);
        }
        Err(error @ LinearError::TooManyStrata { .. }) => {
            bail!("{error}; raise --max-strata, or use --count-only")
        }
        built => built?,
    };
    for path in &args.export {
        export(&dag, path)?;
    }
    if let Some(path) = &args.latex {
        export_equations(&dag, path)?;
    }
    if global.json {
        let mut bytes = Vec::new();
        write_json(&dag, &mut bytes)?;
        output.raw_result(&bytes)?;
    } else {
        output.raw_result(strata::text(&dag).as_bytes())?;
    }
    Ok(Answer::Yes)
}

fn draw_space(fiber: &ProductFiber, path: &Path) -> anyhow::Result<()> {
    let Some(drawn) = SpaceFiber::of(fiber) else {
        bail!("--space draws widths 1,1,1,1 of rank 0 or 1, and widths 2,1,1 or 1,1,2 of rank 0")
    };
    write_atomically(path, |out| std::io::Write::write_all(out, draw_fiber(drawn).to_document().as_bytes()))?;
    Ok(())
}
