//! `fiberscope linear strata`

use std::fmt::Write;
use std::path::Path;

use anyhow::bail;
use fiberscope::linear::{Fiber, LinearError, StratumDag, count_strata};
use fiberscope_io::write_atomically;
use fiberscope_report::linear::{SpaceFiber, draw_fiber};
use serde_json::json;

use super::args::StrataArgs;
use super::{export, joined, stratum_limits};
use crate::Answer;
use crate::args::Global;
use crate::output::Output;

/// The most strata that text output lists one by one.
const LISTED: usize = 60;

pub fn run(args: &StrataArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let fiber = Fiber::new(args.fiber.widths.clone(), args.fiber.rank)?;
    if let Some(path) = &args.space {
        draw_space(&fiber, path)?;
    }
    if args.count_only {
        let count = count_strata(&fiber)?.to_string();
        let value = json!({"widths": fiber.widths(), "rank": fiber.rank(), "count": count});
        output.result(&format!("{count} strata\n"), &value)?;
        return Ok(Answer::Yes);
    }
    let dag = match StratumDag::build_within(&fiber, &stratum_limits(&args.fiber, global)) {
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
        export::export(&dag, path)?;
    }
    if global.json {
        let mut bytes = Vec::new();
        fiberscope_report::linear::write_json(&dag, &mut bytes)?;
        output.raw_result(&bytes)?;
    } else {
        output.raw_result(text(&dag).as_bytes())?;
    }
    Ok(Answer::Yes)
}

fn text(dag: &StratumDag) -> String {
    let fiber = dag.fiber();
    let mut text = format!(
        "widths {}, rank {}: {} weights\n{} strata, {} covering edges ({} moves up), {} open strata\nfiber: dimension {}, {} connected component(s)\n",
        joined(fiber.widths()),
        fiber.rank(),
        fiber.parameter_count(),
        dag.len(),
        dag.edge_count(),
        dag.move_count(),
        dag.maximal_count(),
        dag.fiber_dimension(),
        two_to(fiber.component_exponent()),
    );
    if fiber.depth() == 2 && dag.len() <= 4 * LISTED {
        text.push_str(&table(dag));
    }
    if dag.len() > LISTED {
        let _ = writeln!(text, "\nmore than {LISTED} strata: --json or --export FILE lists them all");
        return text;
    }
    let names: Vec<String> = dag.strata().map(|stratum| stratum.short_name()).collect();
    let wide = names.iter().map(String::len).max().unwrap_or(0).max(7);
    let _ = writeln!(text, "\n  no  {:wide$}  dim  dof rdof  parts  covered by        bars", "stratum");
    for (at, stratum) in dag.strata().enumerate() {
        let mut above = dag.successors(at).to_vec();
        above.sort_unstable();
        let above: Vec<String> = above.iter().map(ToString::to_string).collect();
        let above = if above.is_empty() { "none (open)".into() } else { above.join(",") };
        let _ = writeln!(
            text,
            "{at:4}  {:wide$} {:4} {:4} {:4} {:>6}  {above:16}  {}",
            names[at],
            dag.dim(at),
            dag.dof(at),
            dag.rdof(at),
            two_to(dag.component_exponent(at)),
            stratum.barcode(),
        );
    }
    text
}

fn two_to(exponent: u32) -> String {
    if exponent < 64 { (1u64 << exponent).to_string() } else { format!("2^{exponent}") }
}

/// The table of two-matrix fibers: dim / dof / rdof by the ranks of the two matrices.
fn table(dag: &StratumDag) -> String {
    let mut cells = std::collections::BTreeMap::new();
    for at in 0..dag.len() {
        let [first, _, second] = *dag.flat_ranks(at) else { return String::new() };
        cells.insert((second, first), format!("{}/{}/{}", dag.dim(at), dag.dof(at), dag.rdof(at)));
    }
    let wide = cells.values().map(String::len).max().unwrap_or(0) + 2;
    let columns: std::collections::BTreeSet<u16> = cells.keys().map(|(_, first)| *first).collect();
    let rows: std::collections::BTreeSet<u16> = cells.keys().map(|(second, _)| *second).collect();
    let mut text = String::from("\ndim/dof/rdof; rows: rank of W2, columns: rank of W1\n     |");
    columns.iter().for_each(|first| text.push_str(&format!("{first:>wide$}")));
    let _ = writeln!(text, "\n-----+{}", "-".repeat(wide * columns.len()));
    for second in rows.iter().rev() {
        let _ = write!(text, "{second:4} |");
        for first in &columns {
            let cell = cells.get(&(*second, *first)).map_or("-", String::as_str);
            let _ = write!(text, "{cell:>wide$}");
        }
        text.push('\n');
    }
    text
}

fn draw_space(fiber: &Fiber, path: &Path) -> anyhow::Result<()> {
    let drawn = match (fiber.widths(), fiber.rank()) {
        ([1, 1, 1, 1], 1) => SpaceFiber::ThreeNumbersOne,
        ([1, 1, 1, 1], 0) => SpaceFiber::ThreeNumbersZero,
        ([2, 1, 1], 0) => SpaceFiber::RowZero,
        ([1, 1, 2], 0) => SpaceFiber::ColumnZero,
        _ => bail!("--space draws widths 1,1,1,1 of rank 0 or 1, and widths 2,1,1 or 1,1,2 of rank 0"),
    };
    write_atomically(path, |out| std::io::Write::write_all(out, draw_fiber(drawn).to_document().as_bytes()))?;
    Ok(())
}
