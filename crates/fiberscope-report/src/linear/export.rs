//! The stratum dag as a file: JSON, DOT, SVG, PDF or TikZ, and the equations of the strata.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use fiberscope::linear::StratumDag;
use fiberscope_io::write_atomically;

use super::ideal::to_text;
use super::{DagEdge, DagNode, DagPicture, write_json};
use crate::export::Program;
use crate::files::write_picture;
use crate::words::joined;

/// The most strata in a drawing that can be read.
const DRAWABLE: usize = 250;
/// The most strata whose equations are written.
const WRITABLE: usize = 2_000;

/// Writes the dag in the format that the file's name asks for.
pub fn export(dag: &StratumDag, path: &Path) -> anyhow::Result<()> {
    let name = path.display();
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => write_atomically(path, |out| write_json(dag, out))?,
        Some("dot") => write_atomically(path, |out| out.write_all(picture(dag).to_dot().as_bytes()))?,
        Some("svg" | "pdf" | "tex") if dag.len() > DRAWABLE => {
            bail!(
                "{name}: a drawing of {} strata cannot be read (at most {DRAWABLE}); write .dot or .json",
                dag.len()
            )
        }
        Some("svg" | "pdf") => write_picture(path, &picture(dag).draw())?,
        Some("tex") => write_atomically(path, |out| out.write_all(picture(dag).to_tikz().as_bytes()))?,
        Some("m2" | "sage") => export_equations(dag, path)?,
        _ => bail!("{name}: expected a file name ending in .svg, .pdf, .tex, .dot, .json, .m2 or .sage"),
    }
    Ok(())
}

/// Writes the strata as equations (.m2, .sage), or as a table (.tex).
pub fn export_equations(dag: &StratumDag, path: &Path) -> anyhow::Result<()> {
    let name = path.display();
    let Some(program) = Program::of(path) else {
        bail!("{name}: expected a file name ending in .tex, .m2 or .sage")
    };
    if dag.len() > WRITABLE {
        bail!("{name}: the equations of {} strata are too many (at most {WRITABLE}); write .json", dag.len())
    }
    let text = to_text(dag, program);
    Ok(write_atomically(path, |out| out.write_all(text.as_bytes()))?)
}

fn picture(dag: &StratumDag) -> DagPicture {
    let fiber = dag.fiber();
    let levels = dag.levels();
    let two = fiber.depth() == 2;
    let node = |at: usize| {
        let stratum = dag.stratum(at);
        let ranks = stratum.ranks();
        DagNode {
            name: if two { stratum.short_name() } else { format!("{} #{at}", stratum.short_name()) },
            numbers: format!("{} / {} / {}", dag.dim(at), dag.dof(at), dag.rdof(at)),
            level: levels[at] as usize,
            cell: two.then(|| (ranks.get(1, 0), ranks.get(2, 1))),
            maximal: dag.is_maximal(at),
            smooth: dag.is_smooth(at),
        }
    };
    let edge = |edge: fiberscope::linear::Edge| DagEdge {
        from: edge.from,
        to: edge.to,
        swap: edge.kind() == fiberscope::linear::MoveKind::Swap,
        bars: format!("{} {}", edge.source, edge.target),
    };
    DagPicture {
        title: format!(
            "Strata of widths {}, rank {}: dim / dof / rdof",
            joined(fiber.widths(), ","),
            fiber.rank()
        ),
        nodes: (0..dag.len()).map(node).collect(),
        edges: dag.edges().map(edge).collect(),
        axes: two.then(|| ("rk W1".to_owned(), "rk W2".to_owned())),
    }
}
