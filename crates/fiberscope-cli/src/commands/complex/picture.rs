//! Pictures of complexes.

use std::io::Write;
use std::path::Path;

use anyhow::{bail, ensure};
use fiberscope::complex::{BreakpointComplex, PolyhedralComplex};
use fiberscope_core::{Domain, Network};
use fiberscope_io::write_atomically;
use fiberscope_report::Svg;
use fiberscope_report::complex::{Fold, Mesh, MeshFacet, PlanePicture, PlaneRegion, space_page};
use fiberscope_report::graph::{Curve, Graph};

use super::args::RegionsArgs;
use super::regions::Job;
use crate::output::write_picture;

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or("")
}

/// Refuses what cannot be drawn before anything is computed.
pub fn check(args: &RegionsArgs, inputs: usize) -> anyhow::Result<()> {
    for path in &args.plot {
        let name = path.display();
        match (ending(path), inputs) {
            ("svg" | "png", 1 | 2) | ("html", 3) => {}
            ("svg" | "png", 3) => bail!(
                "{name}: a complex with 3 inputs is drawn as .html; for .svg and .png draw a slice (--slice, --directions)"
            ),
            ("html", 1 | 2) => bail!("{name}: a complex with {inputs} inputs is drawn as .svg or .png"),
            ("svg" | "png" | "html", _) => bail!(
                "{name}: a complex with {inputs} inputs cannot be drawn; draw a slice (--slice with three points, or --directions with two vectors)"
            ),
            _ => bail!("{name}: expected a file name ending in .svg, .png or .html"),
        }
        ensure!(inputs != 3 || args.domain.is_some(), "{name}: a picture in space needs a box (--box LO,HI)");
    }
    for path in &args.export {
        let name = path.display();
        match (ending(path), inputs) {
            ("json", _) | ("obj" | "vtk", 3) => {}
            ("obj" | "vtk", _) => {
                bail!("{name}: .obj and .vtk hold complexes with 3 inputs; this one has {inputs}")
            }
            _ => bail!("{name}: expected a file name ending in .json, .obj or .vtk"),
        }
        ensure!(ending(path) == "json" || args.domain.is_some(), "{name}: a mesh needs a box (--box LO,HI)");
    }
    Ok(())
}

/// Draws the complex in the format that the file's name asks for.
pub fn draw(
    job: &Job,
    complex: &PolyhedralComplex,
    breakpoints: &BreakpointComplex,
    path: &Path,
) -> anyhow::Result<()> {
    if ending(path) == "html" {
        let page = space_page(&mesh(job, complex, breakpoints));
        write_atomically(path, |file| file.write_all(page.as_bytes()))?;
        return Ok(());
    }
    let svg = match complex.factor_dimension() {
        1 => line(job, complex, breakpoints),
        2 => {
            let axes = job.slice.map_or_else(|| axes(complex), |slice| slice.axes.clone());
            plane(title(job), axes, job.network, complex, breakpoints, &job.domain)
        }
        d => bail!("{}: this complex has {d} dimensions", path.display()),
    };
    write_picture(path, &svg)
}

fn title(job: &Job) -> String {
    let widths: Vec<String> = job.network.widths().iter().map(ToString::to_string).collect();
    let name = Path::new(&job.args.model).file_name().map(|name| name.to_string_lossy().into_owned());
    format!("{} ({}) on {}", name.unwrap_or_default(), widths.join("-"), job.place())
}

/// The rectangle shown: the box, or what holds most vertices of a complex on the whole space.
fn view(domain: &Domain, complex: &PolyhedralComplex) -> Vec<(f64, f64)> {
    if let Domain::Box(sides) = domain {
        let end = |x: &Option<fiberscope_core::Rational>| x.as_ref().map_or(0.0, |x| x.to_f64());
        return sides.iter().map(|side| (end(&side.lower), end(&side.upper))).collect();
    }
    let vertices: Vec<&[f64]> = complex
        .cells(0)
        .filter(|vertex| !vertex.is_artificial())
        .map(|vertex| complex.point(vertex.number()))
        .collect();
    let range = |i: usize| {
        let mut values: Vec<f64> = vertices.iter().map(|x| x[i]).collect();
        values.sort_by(f64::total_cmp);
        let (Some(&low), Some(&high)) =
            (values.get(values.len() / 12), values.get(values.len() - 1 - values.len() / 12))
        else {
            return (-1.0, 1.0);
        };
        (low, high)
    };
    let ranges: Vec<(f64, f64)> = (0..complex.factor_dimension())
        .map(|i| if vertices.is_empty() { (-1.0, 1.0) } else { range(i) })
        .collect();
    let size = ranges.iter().map(|(low, high)| high - low).fold(0.0, f64::max);
    let size = if size > 0.0 { size } else { 2.0 };
    let square = |(low, high): (f64, f64)| {
        let (middle, half) = ((low + high) / 2.0, 0.7 * size);
        (middle - half, middle + half)
    };
    ranges.into_iter().map(square).collect()
}

fn line(job: &Job, complex: &PolyhedralComplex, breakpoints: &BreakpointComplex) -> Svg {
    let (low, high) = view(&job.domain, complex)[0];
    let value = |x: f64| network_value(job.network, complex, &[x]);
    let mut xs: Vec<f64> = complex.cells(0).map(|v| complex.point(v.number())[0]).collect();
    xs.extend([low, high]);
    xs.retain(|x| (low..=high).contains(x));
    xs.sort_by(f64::total_cmp);
    let mut curves: Vec<Curve> = (0..job.network.output_width().min(4))
        .map(|o| Curve {
            name: if job.network.output_width() == 1 { "f".into() } else { format!("f{}", o + 1) },
            points: xs.iter().map(|&x| (x, value(x)[o])).collect(),
            breakpoints: Vec::new(),
        })
        .collect();
    let layers = job.network.hidden_depth();
    for layer in 0..layers {
        let own = breakpoints.facets.iter().filter(|f| f.layer == layer && f.visible);
        let points: Vec<(f64, f64)> = own
            .map(|f| complex.point(f.facet)[0])
            .filter(|x| (low..=high).contains(x))
            .map(|x| (x, value(x)[0]))
            .collect();
        if !points.is_empty() {
            curves.push(Curve {
                name: format!("breakpoints of layer {}", layer + 1),
                points: Vec::new(),
                breakpoints: points,
            });
        }
    }
    Graph { title: title(job), x_label: "x".into(), y_label: "f(x)".into(), curves }.draw()
}

/// The names of the two inputs that a complex in the plane has.
pub fn axes(complex: &PolyhedralComplex) -> [String; 2] {
    [0, 1].map(|i| format!("x{}", complex.inputs()[i] + 1))
}

/// A complex in the plane: of a network with two inputs, or on a slice.
pub fn plane(
    title: String,
    axes: [String; 2],
    network: &Network,
    complex: &PolyhedralComplex,
    breakpoints: &BreakpointComplex,
    domain: &Domain,
) -> Svg {
    let view = view(domain, complex);
    let view = [view[0], view[1]];
    let point = |v: u32| {
        let x = complex.point(v as usize);
        (x[0], x[1])
    };
    let regions = complex.regions().map(|region| {
        let corners: Vec<(f64, f64)> = region.cell().polygon().into_iter().map(point).collect();
        PlaneRegion {
            value: network_value(network, complex, &region.center())[0],
            corners: clip_polygon(corners, view),
        }
    });
    let hidden = breakpoints.hidden_neurons(complex);
    let folds = breakpoints.facets.iter().filter_map(|facet| {
        let ends = complex.cell(1, facet.facet).vertices();
        let (from, to) = clip_segment(point(ends[0]), point(ends[1]), view)?;
        let hidden = facet.neurons.iter().all(|&h| hidden.contains(&complex.neuron(h)));
        Some(Fold { from, to, layer: facet.layer, weight: facet.size(), hidden: hidden && !facet.visible })
    });
    PlanePicture {
        title,
        axes,
        view,
        regions: regions.filter(|region| region.corners.len() > 2).collect(),
        folds: folds.collect(),
        layers: network.hidden_depth(),
    }
    .draw()
}

/// The facets of a complex in space.
pub fn mesh(job: &Job, complex: &PolyhedralComplex, breakpoints: &BreakpointComplex) -> Mesh {
    let points = complex.cells(0).map(|v| {
        let x = complex.point(v.number());
        [x[0], x[1], x[2]]
    });
    let cells: Vec<_> = complex.cells(2).collect();
    let facets = breakpoints.facets.iter().map(|facet| {
        let neuron = complex.neuron(facet.neurons[0]);
        MeshFacet {
            corners: cells[facet.facet].polygon(),
            layer: neuron.layer,
            unit: neuron.unit,
            weight: facet.size(),
        }
    });
    Mesh {
        title: title(job),
        points: points.collect(),
        facets: facets.collect(),
        regions: complex.regions().len(),
    }
}

/// The part of a convex polygon inside a rectangle.
fn clip_polygon(mut corners: Vec<(f64, f64)>, view: [(f64, f64); 2]) -> Vec<(f64, f64)> {
    for (axis, (low, high)) in view.into_iter().enumerate() {
        for (end, sign) in [(low, 1.0), (high, -1.0)] {
            let inside = |p: &(f64, f64)| sign * (if axis == 0 { p.0 } else { p.1 } - end);
            let mut kept = Vec::with_capacity(corners.len() + 2);
            for (i, p) in corners.iter().enumerate() {
                let q = &corners[(i + 1) % corners.len()];
                let (a, b) = (inside(p), inside(q));
                if a >= 0.0 {
                    kept.push(*p);
                }
                if (a > 0.0 && b < 0.0) || (a < 0.0 && b > 0.0) {
                    let t = a / (a - b);
                    kept.push((p.0 + t * (q.0 - p.0), p.1 + t * (q.1 - p.1)));
                }
            }
            corners = kept;
        }
    }
    corners
}

/// The part of a segment inside a rectangle.
fn clip_segment(from: (f64, f64), to: (f64, f64), view: [(f64, f64); 2]) -> Option<((f64, f64), (f64, f64))> {
    let (mut start, mut end) = (0.0f64, 1.0f64);
    for (a, b, (low, high)) in [(from.0, to.0, view[0]), (from.1, to.1, view[1])] {
        for (p, q) in [(a - low, b - low), (high - a, high - b)] {
            if p < 0.0 && q < 0.0 {
                return None;
            }
            if p < 0.0 {
                start = start.max(p / (p - q));
            } else if q < 0.0 {
                end = end.min(p / (p - q));
            }
        }
    }
    let at = |t: f64| (from.0 + t * (to.0 - from.0), from.1 + t * (to.1 - from.1));
    (start < end).then(|| (at(start), at(end)))
}

/// The outputs at a point given in the coordinates of the complex.
fn network_value(network: &Network, complex: &PolyhedralComplex, x: &[f64]) -> Vec<f64> {
    let mut input = vec![0.0; network.input_width()];
    for (&i, &x) in complex.inputs().iter().zip(x) {
        input[i] = x;
    }
    network.evaluate(&input).expect("the point has a coordinate per input")
}
