//! Linear networks: strata, moves, paths and walks as JSON; pictures of the stratum dag, of the flow of bases
//! through the layers, and of fibers in space.

mod dag;
mod export;
mod flow;
mod ideal;
pub mod inspect;
mod lattice;
pub mod motion;
pub mod moves;
mod space;
pub mod strata;
mod subspaces;
mod tikz;
mod timeline;

pub use dag::{DagEdge, DagNode, DagPicture};
pub use export::{export, export_equations};
pub use flow::{FlowBar, FlowPicture};
pub use lattice::{LatticeCell, LatticeLayer, LatticePicture};
pub use space::{SpaceFiber, draw_fiber};
pub use timeline::StratumTimeline;

use std::io::{self, Write};

use fiberscope::linear::{Bar, Barcode, DownMove, Stratum, StratumDag, UpMove};
use fiberscope_core::Matrix;
use serde_json::{Value, json};

use crate::words::joined;

/// One JSON object, written stratum by stratum.
pub fn write_json(dag: &StratumDag, out: &mut impl Write) -> io::Result<()> {
    let fiber = dag.fiber();
    writeln!(out, "{{\"widths\":[{}],\"rank\":{},", joined(fiber.widths(), ","), fiber.rank())?;
    writeln!(
        out,
        "\"parameters\":{},\"bias_dimension\":{},",
        fiber.parameter_count(),
        fiber.bias_dimension()
    )?;
    let counts = (dag.len(), dag.edge_count(), dag.move_count(), dag.maximal_count());
    writeln!(
        out,
        "\"n_strata\":{},\"n_edges\":{},\"n_moves\":{},\"n_maximal\":{},",
        counts.0, counts.1, counts.2, counts.3
    )?;
    let components = power_of_two(fiber.component_exponent());
    writeln!(out, "\"fiber_dim\":{},\"fiber_components\":{components},", dag.fiber_dimension())?;
    write!(out, "\"strata\":[")?;
    for at in 0..dag.len() {
        let comma = if at == 0 { "" } else { "," };
        write!(out, "{comma}\n{}", stratum(dag, at))?;
    }
    write!(out, "],\n\"edges\":[")?;
    for (at, edge) in dag.edges().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let (f, e) = (edge.source, edge.target);
        let kind = edge.kind().name();
        write!(
            out,
            "{comma}\n[{},{},\"{kind}\",[{},{}],[{},{}]]",
            edge.from, edge.to, f.start, f.end, e.start, e.end
        )?;
    }
    writeln!(out, "]}}")
}

fn stratum(dag: &StratumDag, at: usize) -> Value {
    let stratum = dag.stratum(at);
    serde_json::json!({
        "r": stratum.ranks().rows(),
        "omega": omega(stratum.barcode()),
        "dim": dag.dim(at),
        "dof": dag.dof(at),
        "rdof": dag.rdof(at),
        "components": power_of_two(dag.component_exponent(at)),
        "maximal": dag.is_maximal(at),
        "smooth": dag.is_smooth(at),
        "hidden_orbit_dim": stratum.hidden_orbit_dimension(),
    })
}

/// The bars as `[start, end, multiplicity]`.
fn omega(barcode: &Barcode) -> Value {
    json!(barcode.bars().map(|(bar, count)| [bar.start, bar.end, count]).collect::<Vec<_>>())
}

/// The JSON object of one stratum.
pub fn stratum_json(stratum: &Stratum) -> Value {
    json!({
        "r": stratum.ranks().rows(),
        "omega": omega(stratum.barcode()),
        "dim": stratum.dimension(),
        "dof": stratum.degrees_of_freedom(),
        "rdof": stratum.rank_increasing_degrees_of_freedom(),
        "components": power_of_two(stratum.component_exponent()),
    })
}

/// `2^exponent` as a number, or as a string if JSON readers would round it.
fn power_of_two(exponent: u32) -> Value {
    if exponent < 53 {
        json!(1u64 << exponent)
    } else {
        json!((dashu_int::UBig::ONE << exponent as usize).to_string())
    }
}

fn rows(matrix: &Matrix) -> Value {
    json!(matrix.iter_rows().collect::<Vec<_>>())
}

fn bar_pair(bar: Bar) -> [usize; 2] {
    [bar.start, bar.end]
}

/// The moves up of a stratum.
fn ups(stratum: &Stratum) -> Value {
    let up = |up: UpMove| json!({"kind": up.kind().name(), "bars": [bar_pair(up.source), bar_pair(up.target)], "covering": up.covering});
    stratum.up_moves().into_iter().map(up).collect()
}

/// The moves down of a stratum.
fn downs(stratum: &Stratum) -> Value {
    let down = |down: DownMove| match down.inner {
        Some(inner) => {
            json!({"kind": "swap", "bars": [bar_pair(down.outer), bar_pair(inner)], "covering": down.covering})
        }
        None => {
            json!({"kind": "cut", "bars": [bar_pair(down.outer)], "after": down.after, "covering": down.covering})
        }
    };
    stratum.down_moves().into_iter().map(down).collect()
}
