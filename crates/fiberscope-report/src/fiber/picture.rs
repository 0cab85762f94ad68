//! The orientation graph of the components, and a two-dimensional slice of a component.

use crate::draw::graph::{Frame, HEIGHT, WIDTH};
use crate::draw::markup::Element;
use crate::draw::svg::{Svg, circle, label, polyline, segment, shortened};

/// A component in the orientation graph.
#[derive(Clone, Debug, PartialEq)]
pub struct OrientationNode {
    /// The orientation, one entry per hyperplane.
    pub signs: Vec<bool>,
    /// Whether the component is empty.
    pub empty: bool,
}

/// The components as corners of a cube: neighbours differ in one hyperplane. The first node is the given
/// parameter's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OrientationGraph {
    /// The title.
    pub title: String,
    /// The components.
    pub nodes: Vec<OrientationNode>,
}

const LEVEL: f64 = 78.0;
const TOP: f64 = 84.0;

impl OrientationGraph {
    /// Draws the graph: levels by the number of hyperplanes in which components differ from the given one.
    pub fn draw(&self) -> Svg {
        let own = self.nodes.first().map_or(&[][..], |node| &node.signs);
        let level = |node: &OrientationNode| node.signs.iter().zip(own).filter(|(a, b)| a != b).count();
        let levels = self.nodes.iter().map(level).max().unwrap_or(0) + 1;
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); levels];
        self.nodes.iter().enumerate().for_each(|(k, node)| rows[level(node)].push(k));
        let widest = rows.iter().map(Vec::len).max().unwrap_or(1);
        let gap = (26.0 + 8.5 * own.len() as f64).max(38.0);
        let width = (gap * (widest as f64 + 1.0)).max(440.0);
        let height = TOP + LEVEL * levels as f64;
        let mut places = vec![(0.0, 0.0); self.nodes.len()];
        for (l, row) in rows.iter_mut().enumerate() {
            row.sort_by(|&a, &b| self.nodes[b].signs.cmp(&self.nodes[a].signs));
            for (at, &k) in row.iter().enumerate() {
                places[k] =
                    (width * (at as f64 + 1.0) / (row.len() as f64 + 1.0), TOP + 20.0 + LEVEL * l as f64);
            }
        }
        let mut content = vec![label("head", (16.0, 24.0), &shortened(&self.title, 56))];
        content.push(circle("smooth open", (26.0, 46.0), 7.0));
        content.push(label("name", (40.0, 50.0), "has parameters"));
        content.push(circle("stratum", (160.0, 46.0), 7.0));
        content.push(label("name", (174.0, 50.0), "empty"));
        content.push(circle("smooth open", (240.0, 46.0), 7.0));
        content.push(circle("axis", (240.0, 46.0), 10.5));
        content.push(label("name", (257.0, 50.0), "the given parameter"));
        for (a, first) in self.nodes.iter().enumerate() {
            for (b, second) in self.nodes.iter().enumerate().skip(a + 1) {
                if first.signs.iter().zip(&second.signs).filter(|(x, y)| x != y).count() == 1 {
                    content.push(segment("grid", places[a], places[b]));
                }
            }
        }
        for (k, node) in self.nodes.iter().enumerate() {
            if k == 0 {
                content.push(circle("axis", places[k], 12.5));
            }
            content.push(circle(if node.empty { "stratum" } else { "smooth open" }, places[k], 9.0));
            let signs: String = node.signs.iter().map(|&on| if on { '+' } else { '-' }).collect();
            content.push(label("number", (places[k].0, places[k].1 + 26.0), &signs));
        }
        let full = self.nodes.iter().filter(|node| !node.empty).count();
        let description = format!(
            "{} components, {full} of them with parameters, as the corners of a cube.",
            self.nodes.len()
        );
        Svg::new((width, height), &self.title, description, content)
    }
}

/// A slice of a component by a plane of parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FiberSlice {
    /// The title.
    pub title: String,
    /// What the axes show.
    pub axes: [String; 2],
    /// The rectangle shown.
    pub view: [(f64, f64); 2],
    /// The lower ends of both coordinates in the component.
    pub lower: [f64; 2],
    /// A curve that does not belong to it, in pieces.
    pub excluded: Vec<Vec<(f64, f64)>>,
    /// What the curve is.
    pub excluded_name: String,
    /// The given parameter.
    pub point: (f64, f64),
}

impl FiberSlice {
    /// Draws the slice: the component shaded, its border and the excluded curve as lines.
    pub fn draw(&self) -> Svg {
        let [x, y] = self.view;
        let mut names = vec!["the component", "the given parameter"];
        if !self.excluded.is_empty() {
            names.push(&self.excluded_name);
        }
        let frame = Frame::around(&[(x.0, y.0), (x.1, y.1)], &names);
        let mut content = frame.surroundings(&self.title, &self.axes[0], &self.axes[1]);
        let low = [self.lower[0].max(x.0), self.lower[1].max(y.0)];
        let corners =
            [(low[0], low[1]), (x.1, low[1]), (x.1, y.1), (low[0], y.1)].map(|point| frame.place(point));
        content.push(Element::new("path").class("band-1").attr("d", format!("{}Z", polyline(&corners))));
        let border = [(low[0], y.1), (low[0], low[1]), (x.1, low[1])].map(|point| frame.place(point));
        content.push(Element::new("path").class("track-1").attr("d", polyline(&border)));
        for piece in &self.excluded {
            let placed: Vec<(f64, f64)> = piece.iter().map(|&point| frame.place(point)).collect();
            content.push(Element::new("path").class("track-2").attr("d", polyline(&placed)));
        }
        content.push(circle("fiber-point", frame.place(self.point), 5.0));
        for (k, (at, name)) in crate::draw::graph::legend_places(&names).into_iter().enumerate() {
            let line = (at.0, at.1 - 4.0);
            content.push(match k {
                0 => segment("track-1", line, (at.0 + 30.0, at.1 - 4.0)),
                1 => circle("fiber-point", (at.0 + 15.0, at.1 - 4.0), 5.0),
                _ => segment("track-2", line, (at.0 + 30.0, at.1 - 4.0)),
            });
            content.push(label("name", (at.0 + 37.0, at.1), &name));
        }
        let description =
            format!("The component is the set right of {} and above {}.", self.lower[0], self.lower[1]);
        Svg::new((WIDTH, HEIGHT), &self.title, description, content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_component_is_a_node() {
        let nodes = (0..8)
            .map(|k| OrientationNode { signs: (0..3).map(|i| k >> i & 1 == 0).collect(), empty: k % 3 == 1 })
            .collect();
        let svg = OrientationGraph { title: "t".into(), nodes }.draw().to_document();
        assert_eq!(svg.matches("class=\"number\"").count(), 8);
        assert_eq!(svg.matches("class=\"grid\"").count(), 12);
        assert!(OrientationGraph::default().draw().to_document().contains("<svg"));
    }
}
