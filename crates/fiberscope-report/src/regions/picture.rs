//! Pictures of complexes.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use fiberscope::complex::{BreakpointComplex, PolyhedralComplex};
use fiberscope_core::Domain;
use fiberscope_io::write_atomically;
use serde_json::{Value, json};

use super::{ComplexView, Fold, Mesh, MeshFacet, PlanePicture, PlaneRegion, space_page};
use crate::Svg;
use crate::draw::graph::{Curve, Graph};
use crate::files::write_picture;

/// The picture of a complex with one or two dimensions.
pub(crate) fn svg(
    of: &ComplexView,
    complex: &PolyhedralComplex,
    breakpoints: &BreakpointComplex,
) -> Option<Svg> {
    match complex.factor_dimension() {
        1 => Some(line(of, complex, breakpoints).draw()),
        2 => Some(plane(of, complex, breakpoints).draw()),
        _ => None,
    }
}

fn title(of: &ComplexView) -> String {
    let widths: Vec<String> = of.network.widths().iter().map(ToString::to_string).collect();
    let name = Path::new(&of.name).file_name().map(|name| name.to_string_lossy().into_owned());
    format!("{} ({}) on {}", name.unwrap_or_default(), widths.join("-"), of.place())
}

/// The rectangle shown: the box, or what holds most vertices of a complex on the whole space.
fn view(of: &ComplexView, complex: &PolyhedralComplex) -> Vec<(f64, f64)> {
    if let Domain::Box(sides) = &of.domain {
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

/// The function of one input with its breakpoints.
fn line(of: &ComplexView, complex: &PolyhedralComplex, breakpoints: &BreakpointComplex) -> Graph {
    let (low, high) = view(of, complex)[0];
    let value = |x: f64| of.network_value(complex, &[x]);
    let mut xs: Vec<f64> = complex.cells(0).map(|v| complex.point(v.number())[0]).collect();
    xs.extend([low, high]);
    xs.retain(|x| (low..=high).contains(x));
    xs.sort_by(f64::total_cmp);
    let mut curves: Vec<Curve> = (0..of.network.output_width().min(4))
        .map(|o| Curve {
            name: if of.network.output_width() == 1 { "f".into() } else { format!("f{}", o + 1) },
            points: xs.iter().map(|&x| (x, value(x)[o])).collect(),
            breakpoints: Vec::new(),
        })
        .collect();
    let layers = of.network.hidden_depth();
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
    Graph { title: title(of), x_label: "x".into(), y_label: "f(x)".into(), curves }
}

/// The regions and folds in a plane.
fn plane(of: &ComplexView, complex: &PolyhedralComplex, breakpoints: &BreakpointComplex) -> PlanePicture {
    let view = view(of, complex);
    let view = [view[0], view[1]];
    let point = |v: u32| {
        let x = complex.point(v as usize);
        (x[0], x[1])
    };
    let regions = complex.regions().map(|region| {
        let corners: Vec<(f64, f64)> = region.cell().polygon().into_iter().map(point).collect();
        PlaneRegion {
            value: of.network_value(complex, &region.center())[0],
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
    let axes = of.axes.clone().unwrap_or_else(|| [0, 1].map(|i| format!("x{}", complex.inputs()[i] + 1)));
    PlanePicture {
        title: title(of),
        axes,
        view,
        regions: regions.filter(|region| region.corners.len() > 2).collect(),
        folds: folds.collect(),
        layers: of.network.hidden_depth(),
    }
}

/// The facets of a complex in space.
pub(super) fn mesh(of: &ComplexView, complex: &PolyhedralComplex, breakpoints: &BreakpointComplex) -> Mesh {
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
        title: title(of),
        points: points.collect(),
        facets: facets.collect(),
        regions: complex.regions().len(),
    }
}

/// Writes the picture in the format that the file's name asks for: a page for a complex in space, else SVG or
/// PNG.
pub fn write(
    of: &ComplexView,
    complex: &PolyhedralComplex,
    breakpoints: &BreakpointComplex,
    path: &Path,
) -> anyhow::Result<()> {
    if path.extension().is_some_and(|ending| ending == "html") {
        let page = space_page(&mesh(of, complex, breakpoints));
        write_atomically(path, |file| file.write_all(page.as_bytes()))?;
        return Ok(());
    }
    match svg(of, complex, breakpoints) {
        Some(svg) => write_picture(path, &svg),
        None => bail!("{}: this complex has {} dimensions", path.display(), complex.factor_dimension()),
    }
}

/// What the picture of one or two inputs shows, as a JSON value.
pub fn value(of: &ComplexView, complex: &PolyhedralComplex, breakpoints: &BreakpointComplex) -> Value {
    if complex.factor_dimension() == 1 {
        let graph = line(of, complex, breakpoints);
        let curves = graph.curves.iter().map(
            |curve| json!({"name": curve.name, "points": curve.points, "breakpoints": curve.breakpoints}),
        );
        return json!({"title": graph.title, "curves": curves.collect::<Vec<_>>()});
    }
    let plane = plane(of, complex, breakpoints);
    let regions =
        plane.regions.iter().map(|region| json!({"corners": region.corners, "value": region.value}));
    let folds = plane.folds.iter().map(|fold| {
        json!({"from": fold.from, "to": fold.to, "layer": fold.layer + 1, "weight": fold.weight, "hidden": fold.hidden})
    });
    json!({
        "title": plane.title,
        "axes": plane.axes,
        "view": plane.view,
        "regions": regions.collect::<Vec<_>>(),
        "folds": folds.collect::<Vec<_>>(),
        "layers": plane.layers,
    })
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

impl ComplexView {
    /// The outputs at a point given in the coordinates of the complex.
    fn network_value(&self, complex: &PolyhedralComplex, x: &[f64]) -> Vec<f64> {
        let mut input = vec![0.0; self.network.input_width()];
        for (&i, &x) in complex.inputs().iter().zip(x) {
            input[i] = x;
        }
        self.network.evaluate(&input).expect("the point has a coordinate per input")
    }
}
