//! A complex in the plane: regions shaded by the value of the function, folds coloured by layer.

use std::collections::BTreeMap;

use crate::draw::markup::Element;
use crate::draw::svg::{Svg, coordinate, label, polyline, segment, shortened, text_width};
use crate::number::{grouped, significant};

/// The side of the plot.
const SIZE: f64 = 640.0;
const LEFT: f64 = 62.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = 46.0;
const RIGHT: f64 = 20.0;
/// Shades of regions.
const SHADES: usize = 12;
/// Widths of lines, in steps.
const WIDTHS: usize = 6;

/// A region.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaneRegion {
    /// The corners in order.
    pub corners: Vec<(f64, f64)>,
    /// What decides its shade: the value of the function at its centre.
    pub value: f64,
}

/// A straight piece of a bent hyperplane.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// One end.
    pub from: (f64, f64),
    /// The other end.
    pub to: (f64, f64),
    /// The hidden layer.
    pub layer: usize,
    /// The size of the gradient's jump; 0 if the piece is invisible.
    pub weight: f64,
    /// Whether no piece of the whole bent hyperplane is visible.
    pub hidden: bool,
}

/// A picture of a complex in the plane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanePicture {
    /// The title.
    pub title: String,
    /// The names of the axes.
    pub axes: [String; 2],
    /// The rectangle that is shown: lower and upper end of each axis.
    pub view: [(f64, f64); 2],
    /// The regions.
    pub regions: Vec<PlaneRegion>,
    /// The folds.
    pub folds: Vec<Fold>,
    /// The number of hidden layers.
    pub layers: usize,
}

const LINES: [&str; 7] =
    ["fold fold-1", "fold fold-2", "fold fold-3", "fold fold-4", "fold fold-5", "fold fold-6", "fold fold-7"];
const DASHED: [&str; 7] = [
    "fold fold-1 unseen",
    "fold fold-2 unseen",
    "fold fold-3 unseen",
    "fold fold-4 unseen",
    "fold fold-5 unseen",
    "fold fold-6 unseen",
    "fold fold-7 unseen",
];
const SHADE: [&str; SHADES] = [
    "shade-0", "shade-1", "shade-2", "shade-3", "shade-4", "shade-5", "shade-6", "shade-7", "shade-8",
    "shade-9", "shade-10", "shade-11",
];

impl PlanePicture {
    /// Draws the picture.
    pub fn draw(&self) -> Svg {
        let mut content = vec![label("head", (LEFT, 24.0), &shortened(&self.title, 80))];
        content.extend(self.shades());
        content.extend(self.lines());
        content.extend(self.frame());
        content.extend(self.legend());
        let size = (LEFT + self.width() + RIGHT, TOP + self.height() + BOTTOM);
        Svg::new(size, &self.title, self.description(), content)
    }

    fn description(&self) -> String {
        let invisible = self.folds.iter().filter(|fold| fold.weight == 0.0).count();
        format!(
            "{} regions in the plane, separated by {} straight pieces of bent hyperplanes of {} hidden layers; {} of the pieces are invisible.",
            grouped(self.regions.len()),
            grouped(self.folds.len()),
            self.layers,
            grouped(invisible)
        )
    }

    /// Width and height of the plot, with equal units on both axes unless that is too flat.
    fn width(&self) -> f64 {
        let ratio = self.ratio();
        if ratio >= 1.0 { SIZE } else { SIZE * ratio }
    }

    fn height(&self) -> f64 {
        let ratio = self.ratio();
        if ratio >= 1.0 { SIZE / ratio } else { SIZE }
    }

    fn ratio(&self) -> f64 {
        let [x, y] = self.view.map(|(low, high)| high - low);
        let ratio = x / y;
        if (0.4..=2.5).contains(&ratio) { ratio } else { 1.0 }
    }

    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let part = |value: f64, (low, high): (f64, f64)| (value - low) / (high - low);
        (LEFT + part(x, self.view[0]) * self.width(), TOP + (1.0 - part(y, self.view[1])) * self.height())
    }

    /// The regions, one path per shade.
    fn shades(&self) -> Vec<Element> {
        let values = self.regions.iter().map(|region| region.value).filter(|value| value.is_finite());
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let shade = |value: f64| {
            let part = (value - low) / (high - low);
            if part.is_finite() { ((part * SHADES as f64) as usize).min(SHADES - 1) } else { 0 }
        };
        let mut paths = vec![String::new(); SHADES];
        for region in &self.regions {
            let corners: Vec<_> = region.corners.iter().map(|&corner| self.place(corner)).collect();
            let path = &mut paths[shade(region.value)];
            path.push_str(&polyline(&corners));
            path.push('Z');
        }
        let drawn = paths.into_iter().enumerate().filter(|(_, path)| !path.is_empty());
        drawn.map(|(shade, path)| Element::new("path").class(SHADE[shade]).attr("d", path)).collect()
    }

    /// The folds, one path per layer and width; deeper layers below, invisible pieces on top.
    fn lines(&self) -> Vec<Element> {
        let largest = self.folds.iter().map(|fold| fold.weight).fold(0.0, f64::max);
        let thin = if self.folds.len() > 5000 { 0.45 } else { 1.0 };
        let mut groups: BTreeMap<(bool, std::cmp::Reverse<usize>, usize, bool), String> = BTreeMap::new();
        for fold in &self.folds {
            let visible = fold.weight > 0.0;
            let part = if visible { (fold.weight / largest).sqrt() } else { 0.0 };
            let step = ((part * WIDTHS as f64) as usize).min(WIDTHS - 1);
            let key = (!visible, std::cmp::Reverse(fold.layer), step, fold.hidden);
            let path = groups.entry(key).or_default();
            path.push_str(&polyline(&[self.place(fold.from), self.place(fold.to)]));
        }
        let line = |((dashed, layer, step, hidden), path): (
            (bool, std::cmp::Reverse<usize>, usize, bool),
            String,
        )| {
            let classes = if dashed { DASHED } else { LINES };
            let class = if hidden { "fold hidden-fold" } else { classes[layer.0 % LINES.len()] };
            let width = thin * if dashed { 1.1 } else { 0.8 + 0.55 * step as f64 };
            let style = format!("stroke-width:{}", coordinate(if hidden { 1.8 } else { width }));
            Element::new("path").class(class).attr("style", style).attr("d", path)
        };
        groups.into_iter().map(line).collect()
    }

    fn frame(&self) -> Vec<Element> {
        let (right, bottom) = (LEFT + self.width(), TOP + self.height());
        let corners = [(LEFT, TOP), (right, TOP), (right, bottom), (LEFT, bottom), (LEFT, TOP)];
        let mut frame = vec![Element::new("path").class("axis").attr("d", polyline(&corners))];
        for (value, text) in crate::draw::graph::ticks(self.view[0], 6) {
            let x = self.place((value, self.view[1].0)).0;
            frame.push(segment("axis", (x, bottom), (x, bottom + 5.0)));
            frame.push(label("tick mid", (x, bottom + 18.0), &text));
        }
        for (value, text) in crate::draw::graph::ticks(self.view[1], 6) {
            let y = self.place((self.view[0].0, value)).1;
            frame.push(segment("axis", (LEFT - 5.0, y), (LEFT, y)));
            frame.push(label("tick end", (LEFT - 9.0, y + 4.0), &text));
        }
        frame.push(label("mid", ((LEFT + right) / 2.0, bottom + 38.0), &shortened(&self.axes[0], 50)));
        let middle = (TOP + bottom) / 2.0;
        let turned = format!("rotate(-90 16 {middle:.0})");
        frame.push(label("mid", (16.0, middle), &shortened(&self.axes[1], 50)).attr("transform", turned));
        frame
    }

    fn legend(&self) -> Vec<Element> {
        let mut entries: Vec<(&'static str, String)> = Vec::new();
        for (layer, class) in LINES.into_iter().enumerate().take(self.layers) {
            if self.folds.iter().any(|fold| fold.layer == layer) {
                entries.push((class, format!("layer {}", layer + 1)));
            }
        }
        if self.folds.iter().any(|fold| fold.weight == 0.0 && !fold.hidden) {
            entries.push(("fold unseen fold-7", "invisible".into()));
        }
        if self.folds.iter().any(|fold| fold.hidden) {
            entries.push(("fold hidden-fold", "hidden hyperplane".into()));
        }
        let (mut x, y) = (LEFT, 50.0);
        let mut legend = Vec::new();
        for (class, name) in entries {
            let line = segment(class, (x, y - 4.0), (x + 30.0, y - 4.0)).attr("style", "stroke-width:2.6");
            legend.extend([line, label("name", (x + 37.0, y), &name)]);
            x += 37.0 + text_width(&name) + 18.0;
        }
        let largest = self.folds.iter().map(|fold| fold.weight).fold(0.0, f64::max);
        let text = format!(
            "{} regions; broader lines bend more (largest jump of the gradient {}); shade: value of f",
            grouped(self.regions.len()),
            significant(largest, 3)
        );
        legend.push(label("tick", (LEFT, 72.0), &text));
        legend
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> PlanePicture {
        let corners = vec![(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
        let fold = |layer, weight, hidden| Fold { from: (-1.0, 0.0), to: (1.0, 0.5), layer, weight, hidden };
        PlanePicture {
            title: "A <net>".into(),
            axes: ["x1".into(), "x2".into()],
            view: [(-1.0, 1.0); 2],
            regions: vec![PlaneRegion { corners, value: 1.0 }],
            folds: vec![fold(0, 1.0, false), fold(1, 0.0, false), fold(0, 0.0, true)],
            layers: 2,
        }
    }

    #[test]
    fn layers_widths_and_dashes_are_drawn() {
        let svg = picture().draw().to_document();
        for part in [
            "fold fold-1\"",
            "fold fold-2 unseen\"",
            "hidden-fold",
            "hidden hyperplane",
            "layer 2",
            "A &lt;net&gt;",
        ] {
            assert!(svg.contains(part), "{part}");
        }
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn a_constant_function_has_one_shade() {
        let mut picture = picture();
        picture.folds.clear();
        let svg = picture.draw().to_document();
        assert!(svg.contains("shade-0\"") && !svg.contains("NaN"));
    }
}
