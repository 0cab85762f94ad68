//! The basis-flow diagram: one strip per kind of bar, from the layer where it is born to the layer where it
//! is last seen, as thick as there are copies.

use crate::draw::markup::Element;
use crate::draw::svg::{Svg, label, rectangle, segment, text_width};

/// `count` bars from layer `start` to layer `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowBar {
    /// The first layer.
    pub start: usize,
    /// The last layer.
    pub end: usize,
    /// The number of copies.
    pub count: usize,
}

/// A barcode to be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPicture {
    /// The title.
    pub title: String,
    /// The widths of the layers.
    pub widths: Vec<usize>,
    /// The ranks of the matrices.
    pub ranks: Vec<usize>,
    /// The bars that are present.
    pub bars: Vec<FlowBar>,
}

const LEFT: f64 = 60.0;
const TOP: f64 = 74.0;
const LANE_GAP: f64 = 8.0;

/// A strip of the diagram.
pub(super) struct Strip {
    pub from: f64,
    pub to: f64,
    pub y: f64,
    pub height: f64,
    pub class: &'static str,
    pub name: String,
}

/// Where everything stands.
pub(super) struct Layout {
    step: f64,
    pub top: f64,
    pub bottom: f64,
    pub strips: Vec<Strip>,
    pub legend: Vec<(&'static str, &'static str)>,
}

impl Layout {
    /// The horizontal place of a layer.
    pub fn at(&self, layer: usize) -> f64 {
        LEFT + self.step * layer as f64
    }
}

impl FlowPicture {
    /// Places the strips.
    pub(super) fn layout(&self) -> Layout {
        let depth = self.widths.len().saturating_sub(1);
        let step = (700.0 / depth.max(1) as f64).clamp(64.0, 150.0);
        let at = |layer: usize| LEFT + step * layer as f64;
        let lanes = self.lanes();
        let total: usize = lanes.iter().map(|lane| lane.iter().map(|bar| bar.count).max().unwrap_or(0)).sum();
        let unit = (420.0 / total.max(1) as f64).clamp(0.5, 16.0);
        let mut y = TOP;
        let mut strips = Vec::new();
        for lane in &lanes {
            let height = lane.iter().map(|bar| unit * bar.count as f64).fold(9.0, f64::max);
            for bar in lane {
                let name = format!("[{},{}]", bar.start, bar.end);
                strips.push(Strip {
                    from: at(bar.start),
                    to: at(bar.end),
                    y,
                    height: (unit * bar.count as f64).max(3.0),
                    class: meaning(bar, depth).0,
                    name: if bar.count > 1 { format!("{name} ×{}", bar.count) } else { name },
                });
            }
            y += height + LANE_GAP;
        }
        Layout { step, top: TOP, bottom: y, strips, legend: self.legend(depth) }
    }

    /// Draws the diagram.
    pub fn draw(&self) -> Svg {
        let depth = self.widths.len().saturating_sub(1);
        let layout = self.layout();
        let (at, bottom) = (|layer: usize| layout.at(layer), layout.bottom);
        let mut content = vec![label("head", (16.0, 24.0), &self.title)];
        for (layer, width) in self.widths.iter().enumerate() {
            content.push(segment("grid", (at(layer), TOP - 10.0), (at(layer), bottom)));
            content.push(label("mid", (at(layer), TOP - 30.0), &format!("layer {layer}")));
            content.push(label("soft", (at(layer), TOP - 16.0), &format!("width {width}")));
        }
        for strip in &layout.strips {
            content.push(rounded(
                strip.class,
                (strip.from - 7.0, strip.y),
                (strip.to - strip.from + 14.0, strip.height),
            ));
            content.push(label(
                "bar-name",
                (strip.to + 11.0, strip.y + strip.height / 2.0 + 4.0),
                &strip.name,
            ));
        }
        for (j, rank) in self.ranks.iter().enumerate() {
            content.push(label(
                "soft",
                ((at(j) + at(j + 1)) / 2.0, bottom + 14.0),
                &format!("rk W{} = {rank}", j + 1),
            ));
        }
        let mut below = bottom + 38.0;
        for &(class, text) in &layout.legend {
            content.push(rounded(class, (16.0, below - 9.0), (24.0, 10.0)));
            content.push(label("tick", (48.0, below), text));
            below += 18.0;
        }
        let right =
            (at(depth) + 130.0).max(48.0 + text_width("reaches the output, but is fed by nothing") + 30.0);
        let right = right.max(16.0 + 1.25 * text_width(&self.title));
        let description = format!(
            "Basis-flow diagram of {} kinds of bars over {} layers.",
            self.bars.len(),
            self.widths.len()
        );
        Svg::new((right, below), &self.title, description, content)
    }

    /// The bars in lanes: bars that do not touch can share one.
    fn lanes(&self) -> Vec<Vec<FlowBar>> {
        let mut bars = self.bars.clone();
        bars.sort_by_key(|bar| (bar.start, std::cmp::Reverse(bar.end)));
        let mut lanes: Vec<Vec<FlowBar>> = Vec::new();
        for bar in bars {
            let free = |lane: &Vec<FlowBar>| lane.last().is_some_and(|last| last.end < bar.start);
            match lanes.iter().position(free) {
                Some(lane) => lanes[lane].push(bar),
                None => lanes.push(vec![bar]),
            }
        }
        lanes
    }

    fn legend(&self, depth: usize) -> Vec<(&'static str, &'static str)> {
        let mut legend: Vec<_> = self.bars.iter().map(|bar| meaning(bar, depth)).collect();
        legend.sort_by_key(|(class, _)| ORDER.iter().position(|other| other == class));
        legend.dedup();
        legend
    }
}

const ORDER: [&str; 4] = ["flow-used", "flow-lost", "flow-unfed", "flow-idle"];

pub(super) fn meaning(bar: &FlowBar, depth: usize) -> (&'static str, &'static str) {
    match (bar.start == 0, bar.end == depth) {
        (true, true) => (ORDER[0], "from input to output: carries the product"),
        (true, false) => (ORDER[1], "from the input, discarded on the way"),
        (false, true) => (ORDER[2], "reaches the output, but is fed by nothing"),
        (false, false) => (ORDER[3], "idle: neither fed by the input nor seen by the output"),
    }
}

fn rounded(class: &'static str, corner: (f64, f64), size: (f64, f64)) -> Element {
    rectangle(class, corner, size).attr("rx", "3")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bar_has_a_strip_and_every_kind_a_line_in_the_legend() {
        let bar = |start, end, count| FlowBar { start, end, count };
        let picture = FlowPicture {
            title: "flow".into(),
            widths: vec![3, 3, 3],
            ranks: vec![2, 2],
            bars: vec![bar(0, 2, 1), bar(0, 1, 1), bar(0, 0, 1), bar(1, 2, 1), bar(2, 2, 1)],
        };
        let svg = picture.draw().to_document();
        assert_eq!(svg.matches("class=\"bar-name\"").count(), 5);
        // One strip and one legend entry each.
        assert_eq!(svg.matches("<rect class=\"flow-used\"").count(), 2);
        assert_eq!(svg.matches("<rect class=\"flow-lost\"").count(), 3);
        assert_eq!(svg.matches("<rect class=\"flow-unfed\"").count(), 3);
        assert!(!svg.contains("<rect class=\"flow-idle\""));
        let lanes = picture.lanes();
        assert_eq!(lanes.len(), 3, "{lanes:?}");
    }
}
