//! A network drawn: columns of neurons, and lines for the weights.
//!
//! A hidden neuron shows the graph of what it does: a hinge (nonlinear), a rising line (linear), a flat
//! line (dead), a line through the origin (identity activation). A dashed ring marks a neuron
//! whose hyperplane the next layer hides. A line's width is its `abs(weight)` relative to the
//! largest of its layer; zero weights are not drawn. Of a wide layer the first neurons and the last are
//! shown, of a deep network the first layers and the last ones.

use std::collections::BTreeSet;

use fiberscope::anatomy::Anatomy;
use fiberscope_core::{Layer, Network, Neuron, Role};

use super::words;
use crate::draw::markup::Element;
use crate::draw::svg::{Svg, circle, coordinate, label, polyline, segment, shortened, text_width};
use crate::number::grouped;
use crate::words::widths;

/// Wider columns are shown in part.
const FULL_COLUMN: usize = 16;
/// Of a wider column so many first neurons are shown, and the last one.
const FIRST_UNITS: usize = 9;
/// Deeper networks are shown in part (columns count inputs and outputs).
const FULL_DEPTH: usize = 10;
const FIRST_COLUMNS: usize = 6;
const LAST_COLUMNS: usize = 3;
/// More lines between two columns than this are drawn narrower.
const CROWDED: usize = 64;

const RADIUS: f64 = 15.0;
/// The width that a drawing of many columns is fitted into, as far as that is possible.
const ROOM: f64 = 900.0;
const MARGIN: f64 = 44.0;
const TOP: f64 = 30.0;

/// Draws a network with the roles that its anatomy found. Name and description are for readers who
/// cannot see the drawing.
pub fn draw(name: &str, network: &Network, anatomy: &Anatomy) -> Svg {
    let plan = Plan::new(network, anatomy);
    let mut content: Vec<Element> = Vec::new();
    for pair in plan.columns.windows(2) {
        if pair[0].index + 1 == pair[1].index {
            content.push(edges(&network.layers()[pair[0].index], &pair[0], &pair[1]));
        } else {
            let middle = ((pair[0].x + pair[1].x) / 2.0, plan.axis() + 6.0);
            content.push(label("dots", middle, "⋯"));
        }
    }
    for column in &plan.columns {
        content.push(plan.neurons(column));
        content.extend(plan.caption(column));
    }
    let (legend, bottom, right) = plan.legend();
    content.push(legend);
    let width = plan.columns.last().map_or(0.0, |column| column.x + MARGIN).max(right);
    let title = format!("Network {}", shortened(name, 120));
    Svg::new((width, bottom - 12.0), title, description(anatomy), content)
}

fn description(anatomy: &Anatomy) -> String {
    let layers = words::layers(anatomy).into_iter().map(|(layer, roles)| format!(" {layer}: {roles}."));
    let hidden = format!(" Hidden hyperplanes: {}.", words::hidden(anatomy));
    format!("Widths {}.{}{hidden}", widths(&anatomy.widths), layers.collect::<String>())
}

/// One column of the drawing: the inputs (`index` 0) or the neurons of layer `index`.
struct Column {
    index: usize,
    x: f64,
    width: usize,
    /// The units that are shown, with their height.
    units: Vec<(usize, f64)>,
    /// The height of the ellipsis.
    gap: Option<f64>,
}

struct Plan<'a> {
    network: &'a Network,
    anatomy: &'a Anatomy,
    hidden: BTreeSet<Neuron>,
    columns: Vec<Column>,
    height: f64,
}

/// What a neuron is drawn as.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Look {
    Nonlinear,
    Linear,
    Dead,
    Identity,
    /// An input or an output.
    End,
}

impl<'a> Plan<'a> {
    fn new(network: &'a Network, anatomy: &'a Anatomy) -> Self {
        let widths = network.widths();
        let shown = shown_columns(widths.len());
        let rows = |width: usize| if width > FULL_COLUMN { FIRST_UNITS + 2 } else { width };
        let most = shown.iter().map(|&index| rows(widths[index])).max().unwrap_or(1);
        let row_height = if most > 8 { 46.0 } else { 54.0 };
        let height = row_height * most as f64;
        let fitting = (ROOM / shown.len() as f64).max(100.0);
        let step = (136.0 + 8.0 * most as f64).min(200.0).min(fitting);
        let place = |(at, &index): (usize, &usize)| {
            let (width, count) = (widths[index], rows(widths[index]));
            let y = |row: usize| TOP + height / 2.0 + row_height * (row as f64 - (count as f64 - 1.0) / 2.0);
            let x = MARGIN + step * at as f64;
            if width > FULL_COLUMN {
                let first = (0..FIRST_UNITS).map(|unit| (unit, y(unit)));
                let units = first.chain([(width - 1, y(count - 1))]).collect();
                Column { index, x, width, units, gap: Some(y(count - 2)) }
            } else {
                Column { index, x, width, units: (0..width).map(|unit| (unit, y(unit))).collect(), gap: None }
            }
        };
        let columns = shown.iter().enumerate().map(place).collect();
        let hidden = anatomy.hidden.iter().copied().collect();
        Plan { network, anatomy, hidden, columns, height }
    }

    fn axis(&self) -> f64 {
        TOP + self.height / 2.0
    }

    fn is_end(&self, column: &Column) -> bool {
        column.index == 0 || column.index == self.network.depth()
    }

    fn look(&self, column: &Column, unit: usize) -> Look {
        if self.is_end(column) {
            return Look::End;
        }
        let layer = column.index - 1;
        let role = self.anatomy.roles.get(layer).and_then(|roles| roles.get(unit));
        match (role, self.anatomy.relu.get(layer)) {
            (Some(Role::Dead), _) => Look::Dead,
            (_, Some(false)) => Look::Identity,
            (Some(Role::Linear), _) => Look::Linear,
            _ => Look::Nonlinear,
        }
    }

    fn hides(&self, column: &Column, unit: usize) -> bool {
        !self.is_end(column) && self.hidden.contains(&Neuron { layer: column.index - 1, unit })
    }

    fn neurons(&self, column: &Column) -> Element {
        let mut group = Element::new("g");
        for &(unit, y) in &column.units {
            let (at, look, hidden) = ((column.x, y), self.look(column, unit), self.hides(column, unit));
            let above = RADIUS + if hidden { 9.0 } else { 6.0 };
            group = group.children(neuron(at, look, hidden));
            group = match look {
                Look::End => group.child(end_label(at, column.index == 0, unit)),
                _ => group.child(label("number", (at.0, at.1 - above), &(unit + 1).to_string())),
            };
        }
        group.children(column.gap.map(|y| label("dots", (column.x, y + 6.0), "⋮")))
    }

    fn caption(&self, column: &Column) -> [Element; 2] {
        let (place, kind) = match column.index {
            0 => ("input".to_string(), ""),
            index if index == self.network.depth() => ("output".to_string(), ""),
            index => (format!("layer {index}"), self.network.layers()[index - 1].activation().name()),
        };
        let y = TOP + self.height + 22.0;
        let count = format!("{} {kind}", grouped(column.width));
        [label("mid", (column.x, y), &place), label("soft", (column.x, y + 16.0), count.trim_end())]
    }

    /// How the neurons of a column are drawn.
    fn units(&self, column: &Column) -> impl Iterator<Item = (Look, bool)> {
        column.units.iter().map(|&(unit, _)| (self.look(column, unit), self.hides(column, unit)))
    }

    /// The legend of what occurs in the drawing, the height where it ends, and its right end.
    fn legend(&self) -> (Element, f64, f64) {
        let drawn: BTreeSet<_> = self.columns.iter().flat_map(|column| self.units(column)).collect();
        let mut neurons: Vec<(Vec<Element>, &str)> = Vec::new();
        for (look, name) in NAMES {
            if drawn.iter().any(|&(drawn, _)| drawn == look) {
                neurons.push((neuron((0.0, 0.0), look, false), name));
            }
        }
        if drawn.iter().any(|&(_, hidden)| hidden) {
            neurons.push((vec![circle("hides", (0.0, 0.0), RADIUS - 1.0)], "hidden hyperplane"));
        }
        let weights = [("plus", "positive weight"), ("minus", "negative weight")].map(|(class, name)| {
            let sample = segment(class, (-15.0, 0.0), (15.0, 0.0)).attr("stroke-width", "2.4");
            (vec![sample], name)
        });
        let top = TOP + self.height + 72.0;
        let (first, middle, right) = legend_row(neurons, top);
        let (second, bottom, other_right) = legend_row(weights, middle);
        (Element::new("g").child(first).child(second), bottom, right.max(other_right))
    }
}

/// The lines between two columns, the largest weights on top.
fn edges(layer: &Layer, from: &Column, to: &Column) -> Element {
    let largest = layer.weight().entries().iter().fold(0.0f64, |most, w| most.max(w.abs()));
    let mut edges = Vec::new();
    for &(row, y_to) in &to.units {
        for &(column, y_from) in &from.units {
            let relative = layer.weight()[(row, column)] / largest;
            let class = if relative > 0.0 { "plus" } else { "minus" };
            if relative != 0.0 && relative.is_finite() {
                edges.push((relative.abs(), segment(class, (from.x, y_from), (to.x, y_to))));
            }
        }
    }
    edges.sort_by(|(x, _), (y, _)| x.total_cmp(y));
    let broadest = if edges.len() > CROWDED { 1.6 } else { 3.2 };
    let line =
        |(size, line): (f64, Element)| line.attr("stroke-width", coordinate(broadest * (0.2 + 0.8 * size)));
    Element::new("g").children(edges.into_iter().map(line))
}

/// A row of symbols with their names at height `y`, the height of the next row, and the row's right end.
fn legend_row<'n>(entries: impl IntoIterator<Item = (Vec<Element>, &'n str)>, y: f64) -> (Element, f64, f64) {
    let (mut row, mut x) = (Element::new("g"), MARGIN - RADIUS);
    let start = x;
    for (symbol, name) in entries {
        let place = format!("translate({} {})", coordinate(x + RADIUS), coordinate(y));
        row = row.child(Element::new("g").attr("transform", place).children(symbol));
        row = row.child(label("name", (x + 2.0 * RADIUS + 8.0, y + 4.0), name));
        x += 2.0 * RADIUS + 26.0 + text_width(name);
    }
    (row, if x > start { y + 36.0 } else { y }, x)
}

const NAMES: [(Look, &str); 4] = [
    (Look::Nonlinear, "nonlinear"),
    (Look::Linear, "linear"),
    (Look::Dead, "dead"),
    (Look::Identity, "identity"),
];

fn shown_columns(count: usize) -> Vec<usize> {
    if count <= FULL_DEPTH {
        (0..count).collect()
    } else {
        (0..FIRST_COLUMNS).chain(count - LAST_COLUMNS..count).collect()
    }
}

/// A neuron with the graph of what it does.
fn neuron(at: (f64, f64), look: Look, hidden: bool) -> Vec<Element> {
    let (class, graph): (_, &[(f64, f64)]) = match look {
        Look::Nonlinear => ("nonlinear", &[(-9.0, 3.5), (-1.0, 3.5), (7.5, -7.0)]),
        Look::Linear => ("linear", &[(-8.5, 5.0), (8.5, -7.0)]),
        Look::Dead => ("dead", &[(-9.0, 3.5), (9.0, 3.5)]),
        Look::Identity => ("identity", &[(-9.0, 9.0), (9.0, -9.0)]),
        Look::End => ("end-unit", &[]),
    };
    let mut parts = vec![circle(class, at, RADIUS)];
    if !graph.is_empty() {
        let points: Vec<_> = graph.iter().map(|&(x, y)| (at.0 + x, at.1 + y)).collect();
        parts.push(Element::new("path").class("graph").attr("d", polyline(&points)));
    }
    if hidden {
        parts.push(circle("hides", at, RADIUS + 4.5));
    }
    parts
}

fn end_label((x, y): (f64, f64), input: bool, unit: usize) -> Element {
    let number = Element::of_text("tspan", &(unit + 1).to_string()).attr("dy", "3").attr("font-size", "9");
    label("mid", (x, y + 3.0), if input { "x" } else { "y" }).child(number)
}
