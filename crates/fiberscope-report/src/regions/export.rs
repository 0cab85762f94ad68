//! Complexes as files for other programs.

use std::io::{self, Write};
use std::path::Path;

use fiberscope::complex::{BreakpointComplex, PolyhedralComplex};
use fiberscope::limit::Deadline;
use fiberscope_io::write_atomically;
use serde_json::json;

use super::ComplexView;
use super::picture::mesh;
use super::polyhedra::cell_complex;

/// Writes the complex in the format that the file's name asks for: meshes (.obj, .vtk), polymake (.pcom), Oscar
/// (.jl), else JSON. Exact vertices take time, so that those two look at the deadline.
pub fn export(
    view: &ComplexView,
    complex: &PolyhedralComplex,
    breakpoints: &BreakpointComplex,
    deadline: &Deadline,
    path: &Path,
) -> anyhow::Result<()> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("obj") => {
            let text = mesh(view, complex, breakpoints).to_obj();
            write_atomically(path, |file| file.write_all(text.as_bytes()))?;
        }
        Some("vtk") => {
            let text = mesh(view, complex, breakpoints).to_vtk();
            write_atomically(path, |file| file.write_all(text.as_bytes()))?;
        }
        Some("pcom") => {
            let cells = cell_complex(view, complex, deadline)?;
            write_atomically(path, |file| cells.write_polymake(file))?;
        }
        Some("jl") => {
            let cells = cell_complex(view, complex, deadline)?;
            write_atomically(path, |file| cells.write_oscar(file))?;
        }
        _ => write_atomically(path, |file| write_json(view, complex, breakpoints, file))?,
    }
    Ok(())
}

/// One JSON object, written cell by cell.
fn write_json(
    view: &ComplexView,
    complex: &PolyhedralComplex,
    breakpoints: &BreakpointComplex,
    out: &mut impl Write,
) -> io::Result<()> {
    let counts = complex.counts();
    let head = json!({
        "format": "fiberscope-complex",
        "version": 1,
        "widths": view.network.widths(),
        "domain": view.domain,
        "dimension": complex.dimension(),
        "factor_dimension": complex.factor_dimension(),
        "inputs": complex.inputs().iter().map(|i| i + 1).collect::<Vec<_>>(),
        "f_vector": counts.all,
        "bounded_f_vector": counts.bounded,
    });
    let head = head.to_string();
    write!(out, "{},\n\"cells\":[", head.trim_end_matches('}'))?;
    for k in 0..=complex.factor_dimension() {
        write!(out, "{}[", if k > 0 { "],\n" } else { "" })?;
        for (at, cell) in complex.cells(k).enumerate() {
            let mut value = json!({"signs": cell.sign_vector().to_string(), "bounded": cell.is_bounded()});
            if cell.is_artificial() {
                value["artificial"] = json!(true);
            }
            if k == 0 {
                value["point"] = json!(complex.point(at));
            } else {
                value["facets"] = json!(cell.facets());
            }
            write!(out, "{}\n{value}", if at > 0 { "," } else { "" })?;
        }
    }
    write!(out, "]],\n\"maps\":[")?;
    for (at, region) in complex.regions().enumerate() {
        let map = region.affine_map();
        let rows: Vec<&[f64]> = map.matrix().iter_rows().collect();
        let value = json!({"matrix": rows, "constant": map.constant()});
        write!(out, "{}\n{value}", if at > 0 { "," } else { "" })?;
    }
    write!(out, "],\n\"weights\":[")?;
    for (at, facet) in breakpoints.facets.iter().enumerate() {
        let names: Vec<[usize; 2]> = facet
            .neurons
            .iter()
            .map(|&h| {
                let neuron = complex.neuron(h);
                [neuron.layer + 1, neuron.unit + 1]
            })
            .collect();
        let value = json!({
            "facet": facet.facet,
            "regions": facet.regions,
            "neurons": names,
            "normal": facet.normal,
            "weight": facet.weight,
            "visible": facet.visible,
            "recovered_layer": breakpoints.recovered[at].map(|layer| layer + 1),
        });
        write!(out, "{}\n{value}", if at > 0 { "," } else { "" })?;
    }
    writeln!(out, "]}}")
}
