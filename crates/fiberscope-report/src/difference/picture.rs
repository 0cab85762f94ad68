//! Pictures of the difference of two networks: on a line or a plane through the worst input, over the outputs,
//! over the rows of a table, and over balls. What is drawn is computed in doubles; bounds are the certified
//! ones.

use fiberscope::difference::{Difference, OutputBounds};
use fiberscope_core::{Domain, Matrix, Network, Rational, decimal};

use super::{Around, Rows};
use crate::Svg;
use crate::draw::graph::{Curve, Graph};
use crate::draw::heat::HeatMap;
use crate::draw::histogram::Histogram;
use crate::draw::markup::Element;
use crate::draw::svg::{circle, label, polyline, segment};
use crate::number::{grouped, significant};

/// Cells of a side of the map, and points of a curve, unless the networks are large.
const CELLS: usize = 64;
const POINTS: usize = 513;
/// The most multiplications for a map.
const WORK: usize = 1 << 32;
/// The most outputs whose curves or bounds are drawn.
const OUTPUTS: usize = 16;
const CURVES: usize = 4;
/// Where an input is put to see how much it matters: parts of its side.
const PARTS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// Two networks with their names, and where they are compared.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    /// The networks.
    pub networks: (&'a Network, &'a Network),
    /// Their names.
    pub names: (&'a str, &'a str),
    /// The box.
    pub domain: &'a Domain,
}

impl Compared<'_> {
    /// The file's name without its folder.
    fn title(&self) -> String {
        let file = |name: &str| {
            let last = std::path::Path::new(name).file_name().map(|last| last.to_string_lossy().into_owned());
            last.unwrap_or_else(|| name.to_owned())
        };
        format!("{} and {}", file(self.names.0), file(self.names.1))
    }

    /// The ends of the sides.
    fn sides(&self) -> Option<Vec<(f64, f64)>> {
        super::sides(self.domain)
    }

    /// `B - A` at points, a row per point; `None` if the networks cannot be evaluated there.
    fn differences(&self, points: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
        let table = Matrix::from_rows(points)?;
        let (a, b) =
            (self.networks.0.evaluate_batch(&table).ok()?, self.networks.1.evaluate_batch(&table).ok()?);
        let minus = |(x, y): (&[f64], &[f64])| x.iter().zip(y).map(|(x, y)| y - x).collect();
        Some(a.iter_rows().zip(b.iter_rows()).map(minus).collect())
    }

    /// Points that may be evaluated.
    fn affordable(&self) -> usize {
        let parameters = self.networks.0.parameter_count() + self.networks.1.parameter_count();
        (WORK / parameters.max(1)).max(256)
    }
}

/// All pictures of a difference on a box.
pub fn pictures(of: &Compared, found: &Difference, rows: Option<&Rows>) -> Vec<(Svg, String)> {
    let mut pictures = Vec::new();
    pictures.extend(on_plane(of, found));
    // Where no input is free there is nothing else to draw.
    if found.outputs.len() > 1 || pictures.is_empty() {
        pictures.push((
            over_outputs(&found.outputs),
            "Certified bounds of the largest difference of each output: the circle is an exact difference at some input, the other end is proved not to be exceeded.".into(),
        ));
    }
    if let Some(rows) = rows {
        pictures.push((
            over_rows(rows, found),
            "How far apart the outputs are on the rows of the data, beside the certified bounds on the whole box.".into(),
        ));
    }
    pictures
}

/// The pictures as one drawing.
pub fn draw(of: &Compared, found: &Difference, rows: Option<&Rows>) -> Svg {
    let drawings: Vec<Svg> = pictures(of, found, rows).into_iter().map(|(drawing, _)| drawing).collect();
    Svg::stack(format!("The difference of {}", of.title()), &drawings)
}

/// The upper bounds on balls, and what there is on data, as one drawing.
pub fn draw_around(of: &Compared, found: &Around, epsilon: Option<&Rational>) -> Svg {
    let values =
        found.balls.iter().filter_map(|ball| ball.found.as_ref()?.upper.as_ref().map(Rational::to_f64));
    let bound = epsilon.map(|epsilon| {
        let value = epsilon.to_f64();
        (value, format!("epsilon {}", significant(value, 4)))
    });
    let histogram = Histogram {
        title: format!("{}: balls around rows", of.title()),
        x_label: format!(
            "certified bound of the largest difference on the ball of radius {}",
            significant(found.radius.to_f64(), 4)
        ),
        y_label: "balls".into(),
        values: values.collect(),
        lines: bound.into_iter().collect(),
    };
    histogram.draw()
}

/// The difference over one input, over two, or over the two that matter most, through the worst input; `None`
/// if no input is free.
fn on_plane(of: &Compared, found: &Difference) -> Option<(Svg, String)> {
    let sides = of.sides()?;
    let worst: Vec<f64> = match &found.worst {
        Some(worst) => worst.x.iter().map(Rational::to_f64).collect(),
        None => sides.iter().map(|(low, high)| 0.5 * low + 0.5 * high).collect(),
    };
    let free: Vec<usize> = (0..sides.len()).filter(|&j| sides[j].0 < sides[j].1).collect();
    let through = if free.len() < sides.len() || sides.len() > 2 {
        "; the other inputs are those of the worst input found"
    } else {
        ""
    };
    match most_telling(of, &sides, &worst, &free)?.as_slice() {
        [] => None,
        &[only] => {
            let through = if sides.len() > 1 { through } else { "" };
            Some((
                line(of, found, (&sides, &worst), only)?,
                format!("The difference B - A over input {}{through}.", only + 1),
            ))
        }
        &[first, second, ..] => {
            let caption = format!(
                "The largest difference of an output over inputs {} and {}{through}. The circle is the worst input found.",
                first + 1,
                second + 1
            );
            Some((map(of, found, (&sides, &worst), (first, second))?, caption))
        }
    }
}

/// The two free inputs that change the largest difference most when they alone are moved away from the worst
/// input, in their order.
fn most_telling(of: &Compared, sides: &[(f64, f64)], worst: &[f64], free: &[usize]) -> Option<Vec<usize>> {
    if free.len() <= 2 {
        return Some(free.to_vec());
    }
    let moved = |j: usize, part: f64| {
        let mut x = worst.to_vec();
        x[j] = sides[j].0 + part * (sides[j].1 - sides[j].0);
        x
    };
    let points: Vec<Vec<f64>> = free.iter().flat_map(|&j| PARTS.map(|part| moved(j, part))).collect();
    let sizes: Vec<f64> = of.differences(&points)?.iter().map(|row| largest(row)).collect();
    let spread = |values: &[f64]| {
        let (low, high) = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)));
        high - low
    };
    let mut order: Vec<(usize, f64)> =
        free.iter().copied().zip(sizes.chunks(PARTS.len()).map(spread)).collect();
    order.sort_by(|x, y| y.1.total_cmp(&x.1).then(x.0.cmp(&y.0)));
    let mut chosen: Vec<usize> = order.into_iter().take(2).map(|(j, _)| j).collect();
    chosen.sort_unstable();
    Some(chosen)
}

fn largest(row: &[f64]) -> f64 {
    row.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
}

/// Curves of `B_k - A_k` over one input, those with the largest bounds.
fn line(
    of: &Compared,
    found: &Difference,
    (sides, worst): (&[(f64, f64)], &[f64]),
    input: usize,
) -> Option<Svg> {
    let (low, high) = sides[input];
    let count = of.affordable().min(POINTS);
    let at = |i: usize| low + (high - low) * i as f64 / (count - 1) as f64;
    let mut xs: Vec<f64> = (0..count).map(at).chain([worst[input]]).collect();
    xs.sort_by(f64::total_cmp);
    let moved = |&x: &f64| {
        let mut point = worst.to_vec();
        point[input] = x;
        point
    };
    let values = of.differences(&xs.iter().map(moved).collect::<Vec<_>>())?;
    let curve = |&k: &usize| {
        let points: Vec<(f64, f64)> = xs.iter().zip(&values).map(|(x, row)| (*x, row[k])).collect();
        let marked = found.worst.as_ref().filter(|point| point.largest().0 == k);
        let breakpoints =
            marked.map(|point| (worst[input], (&point.b[k] - &point.a[k]).to_f64())).into_iter().collect();
        let name = if found.outputs.len() == 1 { "B - A".into() } else { format!("output {}: B - A", k + 1) };
        Curve { name, points, breakpoints }
    };
    let mut outputs = by_bound(&found.outputs);
    outputs.truncate(CURVES);
    outputs.sort_unstable();
    let graph = Graph {
        title: of.title(),
        x_label: format!("input {}", input + 1),
        y_label: "B - A".into(),
        curves: outputs.iter().map(curve).collect(),
    };
    Some(graph.draw())
}

/// The largest difference of an output over two inputs.
fn map(
    of: &Compared,
    found: &Difference,
    (sides, worst): (&[(f64, f64)], &[f64]),
    (first, second): (usize, usize),
) -> Option<Svg> {
    let cells = (of.affordable() as f64).sqrt().floor().min(CELLS as f64) as usize;
    let middle = |j: usize, i: usize| {
        let (low, high) = sides[j];
        low + (high - low) * (i as f64 + 0.5) / cells as f64
    };
    let point = |i: usize, j: usize| {
        let mut x = worst.to_vec();
        (x[first], x[second]) = (middle(first, j), middle(second, i));
        x
    };
    let points: Vec<Vec<f64>> =
        (0..cells).flat_map(|i| (0..cells).map(move |j| (i, j))).map(|(i, j)| point(i, j)).collect();
    let values: Vec<f64> = of.differences(&points)?.iter().map(|row| largest(row)).collect();
    let mark = found.worst.as_ref().map(|point| {
        let size = decimal::lower(&point.largest().1);
        ((worst[first], worst[second]), format!("worst input: {size}"))
    });
    let of_what = if found.outputs.len() == 1 { "|B - A|" } else { "largest |B - A| of an output" };
    let sliced = if sides.len() > 2 { ", through the worst input" } else { "" };
    let map = HeatMap {
        title: format!("{}{sliced}", of.title()),
        axes: [first, second].map(|j| format!("input {}", j + 1)),
        view: [sides[first], sides[second]],
        values: values.chunks(cells).map(<[f64]>::to_vec).collect(),
        of: of_what.into(),
        mark,
    };
    Some(map.draw())
}

/// The outputs, the one with the largest bound first.
fn by_bound(outputs: &[OutputBounds]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..outputs.len()).collect();
    // What has no bound comes first.
    let key = |k: usize| outputs[k].upper.as_ref().map_or(f64::INFINITY, Rational::to_f64);
    order.sort_by(|&x, &y| key(y).total_cmp(&key(x)).then(x.cmp(&y)));
    order
}

const WIDTH: f64 = 640.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 190.0;
const ROW: f64 = 22.0;

/// Both bounds of every output, over powers of ten.
fn over_outputs(outputs: &[OutputBounds]) -> Svg {
    let mut shown = by_bound(outputs);
    let left_out = shown.len().saturating_sub(OUTPUTS);
    shown.truncate(OUTPUTS);
    shown.sort_unstable();
    let ends = |k: usize| (outputs[k].lower.to_f64(), outputs[k].upper.as_ref().map(Rational::to_f64));
    let powers = shown.iter().flat_map(|&k| [Some(ends(k).0), ends(k).1]).flatten();
    let powers: Vec<f64> = powers.filter(|x| *x > 0.0 && x.is_finite()).map(f64::log10).collect();
    let first = powers.iter().copied().fold(0.0, f64::min).max(-18.0);
    let (low, high) = match powers.is_empty() {
        true => (first, 1.0),
        false => {
            let least = powers.iter().copied().fold(f64::INFINITY, f64::min);
            let most = powers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (least.floor().max(most.ceil() - 18.0), (most + 1e-9).floor() + 1.0)
        }
    };
    let place = |x: f64| {
        let power = if x > 0.0 { x.log10().clamp(low, high) } else { low };
        LEFT + (power - low) / (high - low) * (WIDTH - LEFT - RIGHT)
    };
    let top = 44.0;
    let bottom = top + ROW * shown.len() as f64;
    let title = "Largest difference of each output on the box, certified";
    let mut content = vec![label("head", (16.0, 24.0), title)];
    let step = ((high - low) / 6.0).ceil().max(1.0);
    let mut power = low;
    while power <= high {
        let x = place(10f64.powf(power));
        content.push(segment("grid", (x, top), (x, bottom)));
        content.push(label("tick mid", (x, bottom + 17.0), &format!("1e{power}")));
        power += step;
    }
    for (i, &k) in shown.iter().enumerate() {
        let y = top + ROW * (i as f64 + 0.5);
        let (least, most) = ends(k);
        content.push(label("end", (LEFT - 10.0, y + 4.0), &format!("output {}", k + 1)));
        let end = most.map_or(WIDTH - RIGHT, place);
        content
            .push(Element::new("path").class("track-1").attr("d", polyline(&[(place(least), y), (end, y)])));
        content.push(segment("track-1", (end, y - 6.0), (end, y + 6.0)));
        content.push(circle("dot-1", (place(least), y), 4.0));
        content.push(label("tick", (WIDTH - RIGHT + 12.0, y + 4.0), &range_text(&outputs[k])));
    }
    content.push(
        Element::new("path")
            .class("axis")
            .attr("d", polyline(&[(LEFT, top), (LEFT, bottom), (WIDTH - RIGHT, bottom)])),
    );
    let mut height = bottom + 30.0;
    if left_out > 0 {
        content.push(label(
            "soft",
            (0.5 * WIDTH, height + 6.0),
            &format!("{left_out} outputs with smaller bounds are not shown"),
        ));
        height += 20.0;
    }
    let line = |&k: &usize| format!("output {}: {}", k + 1, range_text(&outputs[k]));
    let description = format!(
        "Bounds of the largest difference. {}.",
        shown.iter().map(line).collect::<Vec<_>>().join("; ")
    );
    Svg::new((WIDTH, height + 8.0), title, description, content)
}

/// Both bounds, the lower one rounded down and the upper one up.
fn range_text(bounds: &OutputBounds) -> String {
    let most = bounds.upper.as_ref().map_or("?".into(), decimal::upper);
    format!("{} to {most}", decimal::lower(&bounds.lower))
}

/// The differences on the rows of a table, and the bounds on the box.
fn over_rows(rows: &Rows, found: &Difference) -> Svg {
    let most = found
        .upper
        .as_ref()
        .map(|upper| (upper.to_f64(), format!("at most {} on the box (certified)", decimal::upper(upper))));
    let worst = found.lower.to_f64();
    let least =
        (worst > 0.0).then(|| (worst, format!("worst input found: {}", decimal::lower(&found.lower))));
    let histogram = Histogram {
        title: format!("Differences on {} rows of data", grouped(rows.rows)),
        x_label: "largest difference of an output, |B - A|, in doubles".into(),
        y_label: "rows".into(),
        values: rows.differences.clone(),
        lines: most.into_iter().chain(least).collect(),
    };
    histogram.draw()
}

#[cfg(test)]
mod tests {
    use fiberscope::difference::{DifferenceOptions, measure};

    use super::*;

    /// `relu(x_1) + slope relu(x_2)`, and nothing of the other inputs.
    fn network(inputs: usize, slope: f64) -> Network {
        let row = |j: usize| (0..inputs).map(|i| if i == j { 1.0 } else { 0.0 }).collect::<Vec<f64>>();
        let rows: Vec<Vec<f64>> = (0..inputs.min(2)).map(row).collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let zeros = vec![0.0; rows.len()];
        let out = [1.0, slope];
        Network::from_rows(&[(&rows, &zeros), (&[&out[..rows.len()]], &[0.0])]).unwrap()
    }

    fn drawn(inputs: usize) -> String {
        let (a, b) = (network(inputs, 1.0), network(inputs, if inputs == 1 { 1.0 } else { 1.5 }));
        let domain = Domain::from_bounds(&vec![(-1.0, 1.0); inputs]).unwrap();
        let found = measure(&a, &b, &domain, &DifferenceOptions::new()).unwrap();
        let of = Compared { networks: (&a, &b), names: ("folder/a.json", "b.json"), domain: &domain };
        draw(&of, &found, None).to_document()
    }

    #[test]
    fn one_input_gives_curves_and_two_a_map() {
        assert!(drawn(1).contains("curve-1"));
        let svg = drawn(2);
        assert!(
            svg.contains("heat-11") && svg.contains("worst input: 0.5") && svg.contains("a.json and b.json")
        );
    }

    /// The difference depends on the second input alone, which is therefore one of those that are drawn.
    #[test]
    fn a_slice_shows_the_inputs_that_matter() {
        let svg = drawn(5);
        assert!(svg.contains(">input 2</text>") && !svg.contains(">input 5</text>"), "{svg}");
    }
}
