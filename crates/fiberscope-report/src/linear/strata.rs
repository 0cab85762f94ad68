//! The strata of a fiber as text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use fiberscope::linear::StratumDag;

use crate::words::joined;

/// The most strata that are listed one by one.
const LISTED: usize = 60;

/// The numbers of strata and moves, the table of two-matrix fibers, and the strata one by one if they are
/// few.
pub fn text(dag: &StratumDag) -> String {
    let fiber = dag.fiber();
    let mut text = format!(
        "widths {}, rank {}: {} weights\n{} strata, {} covering edges ({} moves up), {} open strata\nfiber: dimension {}, {} connected component(s)\n",
        joined(fiber.widths(), ","),
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
    let mut cells = BTreeMap::new();
    for at in 0..dag.len() {
        let [first, _, second] = *dag.flat_ranks(at) else { return String::new() };
        cells.insert((second, first), format!("{}/{}/{}", dag.dim(at), dag.dof(at), dag.rdof(at)));
    }
    let wide = cells.values().map(String::len).max().unwrap_or(0) + 2;
    let columns: BTreeSet<u16> = cells.keys().map(|(_, first)| *first).collect();
    let rows: BTreeSet<u16> = cells.keys().map(|(second, _)| *second).collect();
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
