//! The half-line of a hidden translation: the function along a line of inputs, panel by panel, does not
//! change.

use crate::draw::markup::Element;
use crate::draw::svg::{Svg, label, polyline, segment};

/// The function at one translation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StripPanel {
    /// The translation.
    pub name: String,
    /// Points `(s, f)` of the function along the line.
    pub points: Vec<(f64, f64)>,
    /// Where the hidden hyperplane meets the line, if it does.
    pub hyperplane: Option<f64>,
    /// Whether the function is that of the given parameter.
    pub same: bool,
}

/// Panels for several translations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TranslationStrip {
    /// The title.
    pub title: String,
    /// What the horizontal axes show.
    pub x_label: String,
    /// The function of the given parameter.
    pub reference: Vec<(f64, f64)>,
    /// The panels.
    pub panels: Vec<StripPanel>,
}

const PANEL: f64 = 150.0;
const GAP: f64 = 16.0;
const LEFT: f64 = 16.0;
const TOP: f64 = 92.0;
const SIZE: f64 = 150.0;

impl TranslationStrip {
    /// Draws the strip.
    pub fn draw(&self) -> Svg {
        let all = || self.panels.iter().flat_map(|panel| &panel.points).chain(&self.reference);
        let extent = |values: &mut dyn Iterator<Item = f64>| {
            let (low, high) = values
                .filter(|x| x.is_finite())
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
            if low < high { (low, high) } else { (low.min(0.0) - 1.0, low.max(0.0) + 1.0) }
        };
        let (x, y) = (extent(&mut all().map(|point| point.0)), extent(&mut all().map(|point| point.1)));
        let width = LEFT * 2.0 + (PANEL + GAP) * self.panels.len().max(2) as f64;
        let mut content = vec![label("head", (LEFT, 24.0), &self.title)];
        let entries =
            [("curve-1", "given parameter"), ("curve-2", "translated"), ("hides", "hidden hyperplane")];
        for (k, (class, name)) in entries.into_iter().enumerate() {
            let at = LEFT + 150.0 * k as f64;
            content.push(segment(class, (at, 46.0), (at + 30.0, 46.0)));
            content.push(label("name", (at + 36.0, 50.0), name));
        }
        for (k, panel) in self.panels.iter().enumerate() {
            let left = LEFT + (PANEL + GAP) * k as f64;
            let place = |(s, f): (f64, f64)| {
                (
                    left + PANEL * (s - x.0) / (x.1 - x.0),
                    TOP + SIZE - (SIZE - 12.0) * (f - y.0) / (y.1 - y.0) - 6.0,
                )
            };
            let line = |class: &'static str, points: &[(f64, f64)]| {
                let placed: Vec<_> = points.iter().map(|&point| place(point)).collect();
                Element::new("path").class(class).attr("d", polyline(&placed))
            };
            let corners = [
                (left, TOP),
                (left + PANEL, TOP),
                (left + PANEL, TOP + SIZE),
                (left, TOP + SIZE),
                (left, TOP),
            ];
            content.push(Element::new("path").class("axis").attr("d", polyline(&corners)));
            content.push(line("curve-1", &self.reference));
            content.push(line("curve-2", &panel.points));
            if let Some(s) = panel.hyperplane.filter(|s| (x.0..=x.1).contains(s)) {
                let at = place((s, y.0)).0;
                content.push(segment("hides", (at, TOP), (at, TOP + SIZE)));
            }
            content.push(label("mid", (left + PANEL / 2.0, TOP - 10.0), &panel.name));
            let verdict = if panel.same { "same function" } else { "another function" };
            content.push(label("soft", (left + PANEL / 2.0, TOP + SIZE + 18.0), verdict));
        }
        content.push(label("mid", (width / 2.0, TOP + SIZE + 42.0), &self.x_label));
        let same = self.panels.iter().filter(|panel| panel.same).count();
        let description = format!(
            "{} translations of a hidden hyperplane; {same} of them leave the function as it is.",
            self.panels.len()
        );
        Svg::new((width, TOP + SIZE + 56.0), &self.title, description, content)
    }
}
