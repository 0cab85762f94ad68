//! The stratum dag as a drawing or as a file for Graphviz. Edges point from a stratum to those that cover it;
//! the minimal stratum is at the bottom.
//!
//! Nodes stand in layers (every edge goes up at least one layer) ordered by the mean place of their
//! neighbours, or, for two matrices, in the grid of the ranks of the two.

use std::fmt::Write;

use crate::draw::markup::Element;
use crate::draw::svg::{Svg, coordinate, label, polyline, segment, text_width};

/// A stratum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DagNode {
    /// The name, in the first line.
    pub name: String,
    /// The second line: dimensions.
    pub numbers: String,
    /// The length of the longest chain of edges below.
    pub level: usize,
    /// The column and the row (from the bottom) of a grid, for all nodes or for none.
    pub cell: Option<(usize, usize)>,
    /// Open in the fiber.
    pub maximal: bool,
    /// The fiber is a smooth manifold here.
    pub smooth: bool,
}

/// A covering relation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DagEdge {
    /// The lower node.
    pub from: usize,
    /// The upper node.
    pub to: usize,
    /// Swapping; else connecting.
    pub swap: bool,
    /// The two bars.
    pub bars: String,
}

/// A stratum dag.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DagPicture {
    /// The title.
    pub title: String,
    /// The strata.
    pub nodes: Vec<DagNode>,
    /// The covering relations.
    pub edges: Vec<DagEdge>,
    /// The names of the axes of the grid, if nodes stand in one: columns and rows.
    pub axes: Option<(String, String)>,
}

const TOP: f64 = 56.0;
const MARGIN: f64 = 28.0;
const NODE_HEIGHT: f64 = 36.0;
const LAYER_HEIGHT: f64 = 92.0;
const GAP: f64 = 26.0;

impl DagPicture {
    /// The text of a Graphviz file.
    pub fn to_dot(&self) -> String {
        let mut dot =
            String::from("digraph strata {\n  rankdir=BT;\n  node [shape=box, fontname=\"sans-serif\"];\n");
        for (at, node) in self.nodes.iter().enumerate() {
            let pen = if node.maximal { ", penwidth=2" } else { "" };
            let fill = if node.smooth { ", style=filled, fillcolor=\"#d9efe6\"" } else { "" };
            writeln!(
                dot,
                "  s{at} [label=\"{}\\n{}\"{pen}{fill}];",
                quoted(&node.name),
                quoted(&node.numbers)
            )
            .expect("writing to a string does not fail");
        }
        for edge in &self.edges {
            let style = if edge.swap { ", style=dashed" } else { "" };
            writeln!(dot, "  s{} -> s{} [tooltip=\"{}\"{style}];", edge.from, edge.to, quoted(&edge.bars))
                .expect("writing to a string does not fail");
        }
        dot.push_str("}\n");
        dot
    }

    /// Draws the dag.
    pub fn draw(&self) -> Svg {
        let width = self.node_width();
        let places = self.places(width);
        let right = places.iter().map(|(x, _)| x + width / 2.0).fold(0.0, f64::max) + MARGIN;
        let bottom = places.iter().map(|(_, y)| y + NODE_HEIGHT / 2.0).fold(0.0, f64::max);
        let mut content = vec![label("head", (MARGIN, 24.0), &self.title)];
        for edge in &self.edges {
            content.push(self.arrow(edge, &places));
        }
        for (node, &(x, y)) in self.nodes.iter().zip(&places) {
            content.extend(draw_node(node, (x, y), width));
        }
        let mut below = bottom + 24.0;
        if let Some((columns, rows)) = &self.axes {
            content.push(label(
                "tick",
                (MARGIN, below),
                &format!("left to right: {columns}; bottom to top: {rows}"),
            ));
            below += 18.0;
        }
        let legend = [
            "thick frame: open in the fiber; shaded: the fiber is smooth there",
            "solid arrow: connecting move; dashed arrow: swapping move",
        ];
        for text in legend {
            content.push(label("tick", (MARGIN, below), text));
            below += 18.0;
        }
        let right =
            right.max(MARGIN + text_width(legend[0]) + 10.0).max(MARGIN + 1.2 * text_width(&self.title));
        let description = format!("{} strata and {} covering edges.", self.nodes.len(), self.edges.len());
        Svg::new((right, below), &self.title, description, content)
    }

    /// The centres of the nodes in the drawing.
    pub(super) fn node_places(&self) -> Vec<(f64, f64)> {
        self.places(self.node_width())
    }

    fn node_width(&self) -> f64 {
        let texts = self.nodes.iter().flat_map(|node| [&node.name, &node.numbers]);
        texts.map(|text| text_width(text)).fold(40.0, f64::max) + 14.0
    }

    /// The centres of the nodes.
    fn places(&self, width: f64) -> Vec<(f64, f64)> {
        let left = MARGIN + width / 2.0;
        if self.nodes.iter().all(|node| node.cell.is_some()) {
            let cells: Vec<(usize, usize)> = self.nodes.iter().filter_map(|node| node.cell).collect();
            let top = cells.iter().map(|(_, row)| *row).max().unwrap_or(0);
            let least = cells
                .iter()
                .fold((usize::MAX, usize::MAX), |least, cell| (least.0.min(cell.0), least.1.min(cell.1)));
            let place = |(column, row): (usize, usize)| {
                let x = left + (column - least.0) as f64 * (width + 2.0 * GAP);
                (x, TOP + NODE_HEIGHT / 2.0 + (top - row) as f64 * (NODE_HEIGHT + 34.0))
            };
            return cells.into_iter().map(place).collect();
        }
        let layers = self.layers();
        let widest = layers.iter().map(Vec::len).max().unwrap_or(0) as f64;
        let mut places = vec![(0.0, 0.0); self.nodes.len()];
        for (level, layer) in layers.iter().enumerate() {
            let y = TOP + NODE_HEIGHT / 2.0 + (layers.len() - 1 - level) as f64 * LAYER_HEIGHT;
            // Short layers are spread out a little, and centred.
            let step = (width + GAP) * (1.0 + 0.35 * (widest / layer.len() as f64 - 1.0).clamp(0.0, 1.0));
            let first = left + ((widest - 1.0) * (width + GAP) - (layer.len() - 1) as f64 * step) / 2.0;
            for (at, &node) in layer.iter().enumerate() {
                places[node] = (first + at as f64 * step, y);
            }
        }
        let least = places.iter().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
        places.iter().map(|&(x, y)| (x - least.min(left) + left, y)).collect()
    }

    /// The nodes of each level, ordered by sweeps down and up that sort by the mean place of the neighbours.
    fn layers(&self) -> Vec<Vec<usize>> {
        let levels = self.nodes.iter().map(|node| node.level + 1).max().unwrap_or(0);
        let mut layers = vec![Vec::new(); levels];
        for (at, node) in self.nodes.iter().enumerate() {
            layers[node.level].push(at);
        }
        let mut neighbours = vec![(Vec::new(), Vec::new()); self.nodes.len()];
        for edge in &self.edges {
            neighbours[edge.from].1.push(edge.to);
            neighbours[edge.to].0.push(edge.from);
        }
        for sweep in 0..8 {
            let mut place = vec![0.0; self.nodes.len()];
            for layer in &layers {
                for (at, &node) in layer.iter().enumerate() {
                    place[node] = (at as f64 + 0.5) / layer.len() as f64;
                }
            }
            let mean = |node: usize, place: &[f64]| {
                let of = if sweep % 2 == 0 { &neighbours[node].0 } else { &neighbours[node].1 };
                let sum: f64 = of.iter().map(|&other| place[other]).sum();
                if of.is_empty() { place[node] } else { sum / of.len() as f64 }
            };
            let order: Vec<usize> =
                if sweep % 2 == 0 { (0..levels).collect() } else { (0..levels).rev().collect() };
            for level in order {
                let layer = &mut layers[level];
                layer.sort_by(|&a, &b| mean(a, &place).total_cmp(&mean(b, &place)).then(a.cmp(&b)));
                for (at, &node) in layer.iter().enumerate() {
                    place[node] = (at as f64 + 0.5) / layer.len() as f64;
                }
            }
        }
        layers
    }

    fn arrow(&self, edge: &DagEdge, places: &[(f64, f64)]) -> Element {
        let (from, to) = (places[edge.from], places[edge.to]);
        let half_width = self.node_width() / 2.0;
        // Edges to the right in a grid leave at the side, all others at the top.
        let sideways = (from.1 - to.1).abs() < 1.0;
        let (start, end) = if sideways {
            ((from.0 + half_width, from.1), (to.0 - half_width, to.1))
        } else {
            ((from.0, from.1 - NODE_HEIGHT / 2.0), (to.0, to.1 + NODE_HEIGHT / 2.0))
        };
        let class = if edge.swap { "cover-swap" } else { "cover" };
        let line = segment(class, start, end);
        let length = ((end.0 - start.0).powi(2) + (end.1 - start.1).powi(2)).sqrt().max(1e-9);
        let (dx, dy) = ((end.0 - start.0) / length, (end.1 - start.1) / length);
        let back = (end.0 - 8.0 * dx, end.1 - 8.0 * dy);
        let tip = [(back.0 - 3.2 * dy, back.1 + 3.2 * dx), end, (back.0 + 3.2 * dy, back.1 - 3.2 * dx)];
        let head = Element::new("path").class("cover-tip").attr("d", format!("{}Z", polyline(&tip)));
        let kind = if edge.swap { "swap" } else { "connect" };
        Element::new("g")
            .child(Element::of_text("title", &format!("{kind} {}", edge.bars)))
            .child(line)
            .child(head)
    }
}

fn draw_node(node: &DagNode, (x, y): (f64, f64), width: f64) -> [Element; 3] {
    let class = match (node.maximal, node.smooth) {
        (true, _) => "stratum open smooth",
        (false, true) => "stratum smooth",
        (false, false) => "stratum",
    };
    let frame = Element::new("rect")
        .class(class)
        .attr("x", coordinate(x - width / 2.0))
        .attr("y", coordinate(y - NODE_HEIGHT / 2.0))
        .attr("width", coordinate(width))
        .attr("height", coordinate(NODE_HEIGHT))
        .attr("rx", "5");
    [frame, label("mid", (x, y - 3.0), &node.name), label("soft", (x, y + 12.0), &node.numbers)]
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diamond() -> DagPicture {
        let node = |name: &str, level| DagNode {
            name: name.into(),
            level,
            maximal: level == 2,
            ..DagNode::default()
        };
        let edge = |from, to, swap| DagEdge { from, to, swap, bars: "[0,0] [1,1]".into() };
        DagPicture {
            title: "a < b".into(),
            nodes: vec![node("bottom", 0), node("left \"x\"", 1), node("right", 1), node("top", 2)],
            edges: vec![edge(0, 1, false), edge(0, 2, true), edge(1, 3, false), edge(2, 3, false)],
            axes: None,
        }
    }

    #[test]
    fn every_node_and_edge_is_drawn_and_edges_go_up() {
        let picture = diamond();
        let svg = picture.draw().to_document();
        assert_eq!(svg.matches("<rect class=\"stratum").count(), 4);
        assert_eq!(svg.matches("class=\"cover-tip\"").count(), 4);
        assert_eq!(svg.matches("class=\"cover-swap\"").count(), 1);
        assert!(svg.contains("a &lt; b"));
        let places = picture.places(100.0);
        assert!(picture.edges.iter().all(|edge| places[edge.from].1 > places[edge.to].1));
    }

    #[test]
    fn dot_files_quote_names() {
        let dot = diamond().to_dot();
        assert!(dot.contains("s1 [label=\"left \\\"x\\\"\\n\"];"), "{dot}");
        assert!(dot.contains("s0 -> s2 [tooltip=\"[0,0] [1,1]\", style=dashed];"));
    }

    #[test]
    fn an_empty_dag_is_drawn() {
        assert!(!DagPicture::default().draw().to_document().contains("NaN"));
    }
}
