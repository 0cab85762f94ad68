//! The dependency graph of a fold-set, by levels: DOT and SVG.

use std::fmt::Write;

use crate::draw::markup::Element;
use crate::draw::svg::{Svg, circle, coordinate, label, polyline, shortened};

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

const ROW: f64 = 150.0;
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

const LINES: [&str; 7] =
    ["lean fold-1", "lean fold-2", "lean fold-3", "lean fold-4", "lean fold-5", "lean fold-6", "lean fold-7"];

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
        for (row, level) in self.rows(levels).into_iter().zip(1..) {
            // Every row as broad as the broadest, so that arrows fan out.
            let step = (width - LEFT - 40.0) / row.len().max(1) as f64;
            for (k, at) in row.into_iter().enumerate() {
                places[at] = (LEFT + step * (k as f64 + 0.5), height - ROW * (f64::from(level) - 0.5));
            }
        }
        let mut content = vec![label("head", (20.0, 26.0), &shortened(&self.title, 90))];
        for edge in &self.edges {
            let level = (self.nodes[edge.from].level - 1) % COLOURS.len();
            content.extend(arrow(LINES[level], places[edge.from], places[edge.to], radius));
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

    /// The pieces of every level, ordered so that edges cross little: every piece goes to the mean place of
    /// its neighbours, up and down a few times.
    fn rows(&self, levels: usize) -> Vec<Vec<usize>> {
        let mut rows: Vec<Vec<usize>> = (1..=levels).map(|level| self.row(level)).collect();
        let mut place = vec![0.0; self.nodes.len()];
        for sweep in 0..8 {
            for row in &rows {
                for (k, &at) in row.iter().enumerate() {
                    place[at] = (k as f64 + 0.5) / row.len() as f64;
                }
            }
            let order: Vec<usize> =
                if sweep % 2 == 0 { (0..levels).collect() } else { (0..levels).rev().collect() };
            for level in order {
                let mut wanted: Vec<(f64, usize)> = rows[level]
                    .iter()
                    .map(|&at| (self.mean_place(at, sweep % 2 == 0, &place).unwrap_or(place[at]), at))
                    .collect();
                wanted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                for (k, &(_, at)) in wanted.iter().enumerate() {
                    place[at] = (k as f64 + 0.5) / wanted.len() as f64;
                }
                rows[level] = wanted.into_iter().map(|(_, at)| at).collect();
            }
        }
        rows
    }

    /// The mean place of the pieces that this one leans on, or that lean on it.
    fn mean_place(&self, at: usize, below: bool, place: &[f64]) -> Option<f64> {
        let neighbour = |edge: &FoldEdge| match below {
            true => (edge.to == at).then_some(edge.from),
            false => (edge.from == at).then_some(edge.to),
        };
        let places: Vec<f64> = self.edges.iter().filter_map(neighbour).map(|n| place[n]).collect();
        (!places.is_empty()).then(|| places.iter().sum::<f64>() / places.len() as f64)
    }
}

/// A curve with an arrowhead from the top of one circle to the bottom of another.
fn arrow(class: &'static str, from: (f64, f64), to: (f64, f64), radius: f64) -> [Element; 2] {
    let size = (radius * 0.45).clamp(3.0, 7.0);
    let (start, tip) = ((from.0, from.1 - radius), (to.0, to.1 + radius + 1.0));
    let end = (tip.0, tip.1 + size);
    let bend = 0.45 * (start.1 - end.1);
    let [x0, y0, x1, y1, x2, y2, x3, y3] =
        [start.0, start.1, start.0, start.1 - bend, end.0, end.1 + bend, end.0, end.1].map(coordinate);
    let curve = format!("M{x0} {y0}C{x1} {y1} {x2} {y2} {x3} {y3}");
    let head = [(tip.0 - 0.45 * size, end.1), tip, (tip.0 + 0.45 * size, end.1)];
    [
        Element::new("path").class(class).attr("d", curve),
        Element::new("path").class("cover-tip").attr("d", format!("{}Z", polyline(&head))),
    ]
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
        assert_eq!(
            (svg.matches("class=\"lean fold-1\"").count(), svg.matches("class=\"cover-tip\"").count()),
            (1, 1)
        );
    }

    #[test]
    fn pieces_go_where_their_neighbours_are() {
        let node = |level| FoldNode { name: String::new(), level };
        let edge = |from, to| FoldEdge { from, to };
        let nodes = vec![node(1), node(1), node(2), node(2)];
        let crossed = FoldPicture { title: String::new(), nodes, edges: vec![edge(0, 3), edge(1, 2)] };
        assert_eq!(crossed.rows(2), [vec![0, 1], vec![3, 2]]);
    }
}
