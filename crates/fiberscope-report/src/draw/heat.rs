//! A function of two variables as a grid of coloured cells with a scale beside it.
//!
//! Colours go from light to dark in twelve steps, so that they can be told apart without colour vision and in
//! print.

use crate::draw::graph::ticks;
use crate::draw::markup::Element;
use crate::draw::svg::{Svg, circle, label, polyline, rectangle, segment, shortened};
use crate::number::significant;

/// The side of the plot.
const SIZE: f64 = 400.0;
const LEFT: f64 = 66.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 56.0;
/// The scale: its distance from the plot and its width, and the room for its numbers.
const SCALE: [f64; 3] = [26.0, 18.0, 130.0];
const STEPS: usize = 12;
const HEAT: [&str; STEPS] = [
    "heat-0", "heat-1", "heat-2", "heat-3", "heat-4", "heat-5", "heat-6", "heat-7", "heat-8", "heat-9",
    "heat-10", "heat-11",
];

/// Values on a grid over a rectangle, all at least 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// The title.
    pub title: String,
    /// What the axes show.
    pub axes: [String; 2],
    /// The rectangle: lower and upper end of each axis.
    pub view: [(f64, f64); 2],
    /// The values at the middles of the cells: rows from the lower end of the second axis on, in each row from
    /// the lower end of the first. Values that are not finite are left white.
    pub values: Vec<Vec<f64>>,
    /// What the values are.
    pub of: String,
    /// A point to be marked, and its name.
    pub mark: Option<((f64, f64), String)>,
}

impl HeatMap {
    /// The largest value that is finite.
    fn most(&self) -> f64 {
        self.values.iter().flatten().copied().filter(|value| value.is_finite()).fold(0.0, f64::max)
    }

    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let part = |value: f64, (low, high): (f64, f64)| (value - low) / (high - low);
        (LEFT + part(x, self.view[0]) * SIZE, TOP + (1.0 - part(y, self.view[1])) * SIZE)
    }

    /// Draws the map.
    pub fn draw(&self) -> Svg {
        let mut content = vec![label("head", (LEFT, 24.0), &shortened(&self.title, 70))];
        content.extend(self.cells());
        content.extend(self.axes());
        content.extend(self.scale());
        if let Some((at, name)) = &self.mark {
            let (x, y) = self.place(*at);
            content.push(circle("heat-mark", (x, y), 6.0));
            // The name stands towards the middle of the plot.
            let (class, shift) =
                if x > LEFT + 0.5 * SIZE { ("heat-name end", -11.0) } else { ("heat-name", 11.0) };
            let below = if y < TOP + 20.0 { 16.0 } else { -8.0 };
            content.push(label(class, (x + shift, y + below), &shortened(name, 40)));
        }
        let [gap, width, numbers] = SCALE;
        let size = (LEFT + SIZE + gap + width + numbers, TOP + SIZE + BOTTOM);
        let description = format!(
            "{} over {} and {}: the largest value on the grid is {}, the darker the larger.",
            self.of,
            self.axes[0],
            self.axes[1],
            significant(self.most(), 4)
        );
        Svg::new(size, &self.title, description, content)
    }

    /// One path per colour.
    fn cells(&self) -> Vec<Element> {
        let most = self.most();
        let mut paths = vec![String::new(); STEPS];
        let height = SIZE / self.values.len().max(1) as f64;
        for (i, row) in self.values.iter().enumerate() {
            let width = SIZE / row.len().max(1) as f64;
            let bottom = TOP + SIZE - height * i as f64;
            for (j, value) in row.iter().enumerate().filter(|(_, value)| value.is_finite()) {
                let part = if most > 0.0 { value / most } else { 0.0 };
                let step = ((part * STEPS as f64) as usize).min(STEPS - 1);
                let left = LEFT + width * j as f64;
                let corners = [
                    (left, bottom),
                    (left + width, bottom),
                    (left + width, bottom - height),
                    (left, bottom - height),
                ];
                paths[step].push_str(&polyline(&corners));
                paths[step].push('Z');
            }
        }
        let drawn = paths.into_iter().enumerate().filter(|(_, path)| !path.is_empty());
        drawn.map(|(step, path)| Element::new("path").class(HEAT[step]).attr("d", path)).collect()
    }

    fn axes(&self) -> Vec<Element> {
        let (right, bottom) = (LEFT + SIZE, TOP + SIZE);
        let mut axes = Vec::new();
        for (value, text) in ticks(self.view[0], 6) {
            let x = self.place((value, self.view[1].0)).0;
            axes.push(segment("axis", (x, bottom), (x, bottom + 5.0)));
            axes.push(label("tick mid", (x, bottom + 19.0), &text));
        }
        for (value, text) in ticks(self.view[1], 6) {
            let y = self.place((self.view[0].0, value)).1;
            axes.push(segment("axis", (LEFT - 5.0, y), (LEFT, y)));
            axes.push(label("tick end", (LEFT - 8.0, y + 4.0), &text));
        }
        let frame = [(LEFT, TOP), (LEFT, bottom), (right, bottom), (right, TOP), (LEFT, TOP)];
        axes.push(Element::new("path").class("axis").attr("d", polyline(&frame)));
        axes.push(label("mid", (LEFT + SIZE / 2.0, bottom + 42.0), &shortened(&self.axes[0], 60)));
        let middle = TOP + SIZE / 2.0;
        let turned = format!("rotate(-90 14 {middle:.0})");
        axes.push(label("mid", (14.0, middle), &shortened(&self.axes[1], 60)).attr("transform", turned));
        axes
    }

    /// The colours with the values that they stand for.
    fn scale(&self) -> Vec<Element> {
        let [gap, width, _] = SCALE;
        let left = LEFT + SIZE + gap;
        let step = SIZE / STEPS as f64;
        let colour = |(i, class): (usize, &&'static str)| {
            rectangle(class, (left, TOP + SIZE - step * (i + 1) as f64), (width, step))
        };
        let mut scale: Vec<Element> = HEAT.iter().enumerate().map(colour).collect();
        let most = self.most();
        let text = |i: usize| significant(most * i as f64 / STEPS as f64, 3);
        for i in (0..=STEPS).step_by(3) {
            let y = TOP + SIZE - step * i as f64;
            scale.push(segment("axis", (left + width, y), (left + width + 4.0, y)));
            scale.push(label("tick", (left + width + 8.0, y + 4.0), &text(i)));
        }
        let middle = TOP + SIZE / 2.0;
        let x = left + width + 92.0;
        let turned = format!("rotate(-90 {x:.0} {middle:.0})");
        scale.push(label("mid", (x, middle), &shortened(&self.of, 60)).attr("transform", turned));
        scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_cell_is_drawn_in_the_colour_of_its_value() {
        let map = HeatMap {
            view: [(0.0, 1.0), (-1.0, 1.0)],
            values: vec![vec![0.0, 1.0], vec![f64::NAN, 12.0]],
            mark: Some(((1.0, 1.0), "worst".into())),
            ..HeatMap::default()
        };
        let svg = map.draw().to_document();
        let cells = |class: &str| {
            let path = svg.split(&format!("class=\"{class}\" d=\"")).nth(1);
            path.map_or(0, |path| path.split('"').next().unwrap().matches('Z').count())
        };
        assert_eq!((cells("heat-0"), cells("heat-1"), cells("heat-11")), (1, 1, 1));
        assert!(!svg.contains("NaN") && svg.contains(">worst</text>"));
    }

    #[test]
    fn nothing_and_zeros_are_drawn() {
        for values in [vec![], vec![vec![0.0; 3]; 3], vec![vec![f64::INFINITY]]] {
            let svg = HeatMap { view: [(0.0, 1.0); 2], values, ..HeatMap::default() }.draw().to_document();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
