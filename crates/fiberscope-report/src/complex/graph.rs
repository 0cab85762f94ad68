//! The dependency graph of a fold-set, by levels: DOT and SVG.

use std::fmt::Write;

use crate::markup::Element;
use crate::svg::{Svg, circle, label, polyline, shortened};

/// A piece of the canonical representation.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldNode {
    /// Its name.
    pub name: String,
    /// Its level, counted from 1.
    pub level: usize,
}

/// An edge from a piece to one of a higher level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldEdge {
    /// The lower piece.
    pub from: usize,
    /// The higher piece.
    pub to: usize,
}

/// A dependency graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoldPicture {
    /// The title.
    pub title: String,
    /// The pieces.
    pub nodes: Vec<FoldNode>,
    /// The edges.
    pub edges: Vec<FoldEdge>,
}

const ROW: f64 = 110.0;
const TOP: f64 = 80.0;
const LEFT: f64 = 90.0;
const COLOURS: [&str; 7] = [
    "piece fold-1",
    "piece fold-2",
    "piece fold-3",
    "piece fold-4",
    "piece fold-5",
    "piece fold-6",
    "piece fold-7",
];

impl FoldPicture {
    /// The graph in the language of Graphviz.
    pub fn to_dot(&self) -> String {
        let mut text =
            String::from("digraph folds {\n  rankdir=BT;\n  node [shape=circle, fontname=\"sans-serif\"];\n");
        let levels = self.nodes.iter().map(|node| node.level).max().unwrap_or(0);
        for level in 1..=levels {
            let _ = write!(text, "  {{ rank=same;");
            for (at, _) in self.nodes.iter().enumerate().filter(|(_, node)| node.level == level) {
                let _ = write!(text, " p{at};");
            }
            text.push_str(" }\n");
        }
        for (at, node) in self.nodes.iter().enumerate() {
            let name = node.name.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(text, "  p{at} [label=\"{name}\"];");
        }
        for edge in &self.edges {
            let _ = writeln!(text, "  p{} -> p{};", edge.from, edge.to);
        }
        text.push_str("}\n");
        text
    }

    /// Draws the graph: one row per level, the first at the bottom.
    pub fn draw(&self) -> Svg {
        let levels = self.nodes.iter().map(|node| node.level).max().unwrap_or(1);
        let widest = (1..=levels).map(|level| self.row(level).len()).max().unwrap_or(1).max(1);
        let gap = (900.0 / widest as f64).clamp(18.0, 80.0);
        let radius = (gap * 0.36).min(17.0);
        let width = (LEFT + gap * widest as f64 + 40.0).max(420.0);
        let height = TOP + ROW * levels as f64;
        let mut places = vec![(0.0, 0.0); self.nodes.len()];
        for level in 1..=levels {
            let row = self.row(level);
            let start = LEFT + (width - LEFT - 20.0 - gap * row.len() as f64) / 2.0;
            for (k, at) in row.into_iter().enumerate() {
                places[at] = (start + gap * (k as f64 + 0.5), height - ROW * (level as f64 - 0.5));
            }
        }
        let mut content = vec![label("head", (20.0, 26.0), &shortened(&self.title, 90))];
        for edge in &self.edges {
            let (from, to) = (places[edge.from], places[edge.to]);
            content.push(Element::new("path").class("cover").attr("d", polyline(&[from, to])));
        }
        for (at, node) in self.nodes.iter().enumerate() {
            content.push(circle(COLOURS[(node.level - 1) % COLOURS.len()], places[at], radius));
            if radius >= 11.0 {
                content.push(label("mid", (places[at].0, places[at].1 + 4.0), &shortened(&node.name, 4)));
            }
        }
        for level in 1..=levels {
            let y = height - ROW * (level as f64 - 0.5) + 4.0;
            content.push(label("name", (20.0, y), &format!("level {level}")));
        }
        let description = format!(
            "Dependency graph with {} pieces on {levels} levels and {} edges.",
            self.nodes.len(),
            self.edges.len()
        );
        Svg::new((width, height), &self.title, description, content)
    }

    fn row(&self, level: usize) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&at| self.nodes[at].level == level).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_and_svg_show_every_piece() {
        let node = |name: &str, level| FoldNode { name: name.into(), level };
        let picture = FoldPicture {
            title: "Folds".into(),
            nodes: vec![node("1", 1), node("\"2\"", 1), node("3", 2)],
            edges: vec![FoldEdge { from: 0, to: 2 }],
        };
        let dot = picture.to_dot();
        assert!(dot.contains("p0 -> p2;") && dot.contains("label=\"\\\"2\\\"\""), "{dot}");
        let svg = picture.draw().to_document();
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains("level 2"));
    }
}
