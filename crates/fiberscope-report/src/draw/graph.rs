//! Sampled functions of one variable as a line chart.
//!
//! Ticks stand at round numbers (1, 2 or 5 times a power of ten). The first curve is a broad solid line, the
//! others are narrow and dashed and lie above it, so that curves that coincide are all seen.

use crate::draw::markup::Element;
use crate::draw::svg::{Svg, circle, label, polyline, segment, shortened, text_width};
use crate::number::significant;

pub(crate) const WIDTH: f64 = 640.0;
pub(crate) const HEIGHT: f64 = 380.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 18.0;
const BOTTOM: f64 = 52.0;
/// Larger coordinates are treated as missing, so that differences of coordinates are finite.
const LARGEST: f64 = 1e300;

/// A function, sampled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// The name in the legend.
    pub name: String,
    /// Points `(x, f(x))` in the order of `x`; at one that is not finite the line is interrupted.
    pub points: Vec<(f64, f64)>,
    /// Points to be marked.
    pub breakpoints: Vec<(f64, f64)>,
}

/// A chart of functions on one interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// The title.
    pub title: String,
    /// What the horizontal axis shows.
    pub x_label: String,
    /// What the vertical axis shows.
    pub y_label: String,
    /// The functions.
    pub curves: Vec<Curve>,
}

impl Graph {
    /// Draws the chart.
    pub fn draw(&self) -> Svg {
        let frame = Frame::new(self);
        let mut content = frame.surroundings(&self.title, &self.x_label, &self.y_label);
        let styles = (0..4).cycle();
        for (curve, style) in self.curves.iter().zip(styles.clone()) {
            content.push(frame.line(curve, CURVES[style]));
        }
        for (curve, style) in self.curves.iter().zip(styles) {
            let marked = curve.breakpoints.iter().filter(|point| is_shown(point));
            content.extend(marked.map(|&point| circle(DOTS[style], frame.place(point), 4.0)));
        }
        content.extend(self.legend());
        Svg::new((WIDTH, HEIGHT), &self.title, self.description(&frame), content)
    }

    fn description(&self, frame: &Frame) -> String {
        let names: Vec<_> = self.curves.iter().map(|curve| curve.name.as_str()).collect();
        let range = |(low, high): (f64, f64)| format!("{} to {}", significant(low, 4), significant(high, 4));
        let (x, y) = (range(frame.x), range(frame.y));
        format!("Line chart of {}; horizontal axis from {x}, vertical axis from {y}.", names.join(", "))
    }

    /// The legend, above the plot, in as many lines as it needs: lines and marks as they are drawn.
    fn legend(&self) -> Vec<Element> {
        let mut legend = Vec::new();
        let places = legend_places(&names(&self.curves));
        for (index, ((at, name), curve)) in places.into_iter().zip(&self.curves).enumerate() {
            let middle = at.1 - 4.0;
            if !curve.points.is_empty() {
                legend.push(segment(CURVES[index % 4], (at.0, middle), (at.0 + 30.0, middle)));
            }
            if !curve.breakpoints.is_empty() {
                legend.push(circle(DOTS[index % 4], (at.0 + 15.0, middle), 4.0));
            }
            legend.push(label("name", (at.0 + 37.0, at.1), &name));
        }
        legend
    }
}

const CURVES: [&str; 4] = ["curve-1", "curve-2", "curve-3", "curve-4"];
const DOTS: [&str; 4] = ["dot-1", "dot-2", "dot-3", "dot-4"];

fn names(curves: &[Curve]) -> Vec<&str> {
    curves.iter().map(|curve| curve.name.as_str()).collect()
}

/// Where the entries of a legend stand, above the plot, in as many lines as they need.
pub(crate) fn legend_places(names: &[&str]) -> Vec<((f64, f64), String)> {
    let (mut x, mut y) = (LEFT, 46.0);
    let place = |name: &&str| {
        let name = shortened(name, 48);
        let width = 37.0 + text_width(&name);
        if x > LEFT && x + width > WIDTH - RIGHT {
            (x, y) = (LEFT, y + 20.0);
        }
        let at = (x, y);
        x += width + 22.0;
        (at, name)
    };
    names.iter().map(place).collect()
}

pub(crate) fn is_shown((x, y): &(f64, f64)) -> bool {
    x.abs() <= LARGEST && y.abs() <= LARGEST
}

/// The rectangle of the plot and the intervals it shows.
pub(crate) struct Frame {
    top: f64,
    pub(crate) x: (f64, f64),
    pub(crate) y: (f64, f64),
}

impl Frame {
    fn new(graph: &Graph) -> Self {
        let all = graph.curves.iter().flat_map(|curve| curve.points.iter().chain(&curve.breakpoints));
        Frame::around(&all.copied().collect::<Vec<_>>(), &names(&graph.curves))
    }

    /// The frame for points and a legend with these names.
    pub(crate) fn around(points: &[(f64, f64)], names: &[&str]) -> Self {
        let points = || points.iter().filter(|point| is_shown(point));
        let legend_end = legend_places(names).last().map_or(30.0, |((_, y), _)| *y);
        let (y_low, y_high) = extent(points().map(|point| point.1));
        let margin = 0.06 * (y_high - y_low);
        let y = (y_low - margin, y_high + margin);
        Frame { top: legend_end + 16.0, x: extent(points().map(|point| point.0)), y }
    }

    /// With a margin on the left and on the right, so that marks do not touch the frame.
    pub(crate) fn widened(self) -> Self {
        let margin = 0.02 * (self.x.1 - self.x.0);
        Frame { x: (self.x.0 - margin, self.x.1 + margin), ..self }
    }

    pub(crate) fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let part = |value: f64, (low, high): (f64, f64)| (value - low) / (high - low);
        let height = HEIGHT - BOTTOM - self.top;
        (LEFT + part(x, self.x) * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - part(y, self.y) * height)
    }

    /// The title, the axes and their labels.
    pub(crate) fn surroundings(&self, title: &str, x_label: &str, y_label: &str) -> Vec<Element> {
        let mut content = vec![label("head", (LEFT, 22.0), &shortened(title, 70))];
        content.extend(self.axes());
        let x_middle = (LEFT + WIDTH - RIGHT) / 2.0;
        content.push(label("mid", (x_middle, HEIGHT - 12.0), &shortened(x_label, 70)));
        let y_middle = (self.top + HEIGHT - BOTTOM) / 2.0;
        let turned = format!("rotate(-90 16 {y_middle:.0})");
        content.push(label("mid", (16.0, y_middle), &shortened(y_label, 40)).attr("transform", turned));
        content
    }

    fn axes(&self) -> Vec<Element> {
        let (left, right, bottom) = (LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM);
        let mut axes = Vec::new();
        for (value, text) in ticks(self.x, 8) {
            let x = self.place((value, self.y.0)).0;
            axes.push(segment("grid", (x, self.top), (x, bottom)));
            axes.push(label("tick mid", (x, bottom + 17.0), &text));
        }
        for (value, text) in ticks(self.y, 6) {
            let y = self.place((self.x.0, value)).1;
            axes.push(segment("grid", (left, y), (right, y)));
            axes.push(label("tick end", (left - 8.0, y + 4.0), &text));
        }
        let corner = [(left, self.top), (left, bottom), (right, bottom)];
        axes.push(Element::new("path").class("axis").attr("d", polyline(&corner)));
        axes
    }

    /// The polyline of a curve, interrupted where a point is missing.
    fn line(&self, curve: &Curve, class: &'static str) -> Element {
        let pieces = curve.points.split(|point| !is_shown(point));
        let placed = |piece: &[(f64, f64)]| piece.iter().map(|&point| self.place(point)).collect::<Vec<_>>();
        let path: String = pieces.map(|piece| polyline(&placed(piece))).collect();
        Element::new("path").class(class).attr("d", path)
    }
}

/// An interval of positive length that contains the values.
fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let outer = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), outer);
    if low > high {
        return (0.0, 1.0);
    }
    let size = low.abs().max(high.abs());
    let room = if size == 0.0 { 1.0 } else { 0.5 * size };
    if high - low > 1e-9 * size { (low, high) } else { (low - room, high + room) }
}

/// At most about `wanted` round numbers in an interval of positive length, with their texts.
pub(crate) fn ticks((low, high): (f64, f64), wanted: usize) -> Vec<(f64, String)> {
    let rough = (high - low) / wanted as f64;
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough).unwrap_or(10.0);
    let step = factor * power;
    if !step.is_normal() {
        return Vec::new();
    }
    let digits = |value: f64| (value.abs() / step).max(1.0).log10().floor() as usize + 2;
    let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
    let count = (last - first).clamp(0.0, 4.0 * wanted as f64) as usize;
    let tick = |k: usize| {
        let value = (first + k as f64) * step;
        (value, if value == 0.0 { "0".into() } else { significant(value, digits(value).min(17)) })
    };
    (0..=count).map(tick).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(interval: (f64, f64), wanted: usize) -> Vec<String> {
        ticks(interval, wanted).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(texts((-1.0, 1.0), 8), ["-1", "-0.5", "0", "0.5", "1"]);
        assert_eq!(texts((0.0, 10.0), 5), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(texts((0.0, 3e-7), 3), ["0", "1e-7", "2e-7", "3e-7"]);
        assert_eq!(texts((1000.0, 1002.0), 2), ["1000", "1001", "1002"]);
        assert_eq!(texts((0.0, 1500.0), 3), ["0", "500", "1000", "1500"]);
        assert_eq!(texts((-2e9, 2e9), 4), ["-2e9", "-1e9", "0", "1e9", "2e9"]);
    }

    #[test]
    fn every_interval_gets_few_ticks() {
        for low in [-1e300, -1e16, -3.0, 0.0, 1e-310, 7.5, 1e16] {
            for length in [1e-308, 1e-9, 0.3, 2.0, 17.0, 1e9, 1e300] {
                let interval = extent([low, low + length].into_iter());
                assert!(interval.0 < interval.1, "{low} {length}");
                assert!(ticks(interval, 8).len() <= 33, "{low} {length}");
            }
        }
    }

    #[test]
    fn missing_points_interrupt_the_line() {
        let points =
            vec![(0.0, 0.0), (1.0, 1.0), (2.0, f64::NAN), (3.0, f64::INFINITY), (4.0, 1.0), (5.0, 0.0)];
        let curve = Curve { name: "f".into(), points, breakpoints: vec![(1.0, 1.0), (2.0, f64::NAN)] };
        let graph = Graph { curves: vec![curve], ..Graph::default() };
        let svg = graph.draw().to_document();
        let line = svg.split("curve-1\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!((line.matches('M').count(), line.matches('L').count()), (2, 2), "{line}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        // The point that there is, and the one of the legend.
        assert_eq!(svg.matches("dot-1\"").count(), 2);
    }

    #[test]
    fn empty_and_constant_graphs_are_drawn() {
        let constant = Curve { name: "c".into(), points: vec![(0.0, 3.0), (1.0, 3.0)], breakpoints: vec![] };
        for curves in [vec![], vec![Curve::default()], vec![constant]] {
            let svg = Graph { curves, ..Graph::default() }.draw().to_document();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
