//! The picture of a run: loss, functional dimension, a row per neuron, and the drift of conserved quantities.

use super::dynamics::{Change, Dynamics};
use crate::Svg;
use crate::draw::graph::{Curve, Frame, Graph, HEIGHT, WIDTH, legend_places};
use crate::draw::svg::{label, rectangle, segment};

/// The most neurons that get rows.
const ROWS: usize = 400;
/// Layers with a curve of their own; more would repeat their colours.
const LAYERS: usize = 4;

/// The signs of states, their classes, how much of a row they fill, and their names. Not by colour alone: what
/// does less is thinner.
const STATES: [(char, &str, f64, &str); 3] = [
    ('~', "flow-used", 0.9, "nonlinear: active at some points"),
    ('+', "flow-unfed", 0.55, "linear: active at all points"),
    ('0', "flow-idle", 0.25, "dead: active at no point"),
];

impl Dynamics {
    /// Draws the run; `None` if there is nothing to be seen.
    pub fn draw(&self) -> Option<Svg> {
        let parts: Vec<Svg> = [self.loss(), self.dimension(), self.neurons(), self.drift(), self.by_step()]
            .into_iter()
            .flatten()
            .collect();
        (!parts.is_empty()).then(|| Svg::stack(&self.title, &parts))
    }

    fn graph(&self, title: &str, y_label: &str, curves: Vec<Curve>) -> Option<Svg> {
        let shown = curves.iter().any(|curve| curve.points.iter().any(|point| point.1.is_finite()));
        let graph =
            Graph { title: title.into(), x_label: self.unit.clone(), y_label: y_label.into(), curves };
        shown.then(|| graph.draw())
    }

    fn loss(&self) -> Option<Svg> {
        let logarithm = |x: f64| if x > 0.0 { x.log10() } else { f64::NAN };
        let points = self.moments.iter().map(|m| (m.at as f64, m.loss.map_or(f64::NAN, logarithm)));
        let curve = Curve { name: "loss".into(), points: points.collect(), breakpoints: Vec::new() };
        let title = format!("{}: loss", self.title);
        self.graph(&title, "log10 of the loss", vec![curve])
    }

    fn dimension(&self) -> Option<Svg> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (at, (rank, _)) in self.moments.iter().filter_map(|m| Some((m.at, m.rank?))) {
            // A staircase: what was recorded holds until the next record, as far as is known.
            if let Some(&(_, before)) = points.last() {
                points.push((at as f64, before));
            }
            points.push((at as f64, rank as f64));
        }
        let changed = |event: &super::dynamics::Event| match event.change {
            Change::Dimension(_, now) => Some((event.until as f64, now as f64)),
            Change::Neuron(..) => None,
        };
        let breakpoints: Vec<(f64, f64)> = self.events().iter().filter_map(changed).collect();
        let below = self.moments.iter().filter(|m| m.rank.is_some_and(|(rank, upper)| rank < upper)).count();
        let name = match below {
            0 => "functional dimension; circles: changes".to_owned(),
            _ => format!("from below at {below} of {}; circles: changes", self.moments.len()),
        };
        let title = format!("Functional dimension on the data, of {} parameters", self.parameters);
        self.graph(&title, "functional dimension", vec![Curve { name, points, breakpoints }])
    }

    /// A row per neuron, the first of the first layer at the bottom, at its number.
    fn neurons(&self) -> Option<Svg> {
        let known: Vec<(u64, Vec<char>)> = self
            .moments
            .iter()
            .filter(|moment| !moment.states.is_empty())
            .map(|moment| (moment.at, moment.states.concat().chars().collect()))
            .collect();
        let count = known.first().map_or(0, |(_, states)| states.len());
        if count == 0 || count > ROWS || known.len() < 2 {
            return None;
        }
        let names: Vec<&str> = STATES.iter().map(|state| state.3).collect();
        let (first, last) = (known[0].0 as f64, known[known.len() - 1].0 as f64);
        let frame = Frame::around(&[(first, 0.5), (last, count as f64 + 0.5)], &names);
        let mut content = frame.surroundings("Neurons on the data", &self.unit, "neuron, layer 1 first");
        for row in 0..count {
            let mut start = 0;
            while start + 1 < known.len() {
                let sign = known[start].1[row];
                let end = (start + 1..known.len() - 1)
                    .find(|&k| known[k].1[row] != sign)
                    .unwrap_or(known.len() - 1);
                let (_, class, part, _) = STATES.iter().find(|state| state.0 == sign).unwrap_or(&STATES[0]);
                let middle = row as f64 + 1.0;
                let (x0, top) = frame.place((known[start].0 as f64, middle + part / 2.0));
                let (x1, bottom) = frame.place((known[end].0 as f64, middle - part / 2.0));
                content.push(rectangle(class, (x0, top), (x1 - x0, bottom - top)));
                start = end;
            }
        }
        let mut before = 0;
        for layer in &self.moments.iter().find(|moment| !moment.states.is_empty())?.states {
            before += layer.chars().count();
            if before < count {
                let y = before as f64 + 0.5;
                content.push(segment("axis", frame.place((first, y)), frame.place((last, y))));
            }
        }
        for ((at, name), (_, class, part, _)) in legend_places(&names).into_iter().zip(STATES) {
            let height = 12.0 * part;
            content.push(rectangle(class, (at.0, at.1 - 4.0 - height / 2.0), (30.0, height)));
            content.push(label("name", (at.0 + 37.0, at.1), &name));
        }
        let description = format!(
            "{count} neurons, each a row that is thinner where it is linear and thinnest where it is dead."
        );
        Some(Svg::new((WIDTH, HEIGHT), "Neurons on the data", description, content))
    }

    fn drift(&self) -> Option<Svg> {
        let layers = self.moments.iter().map(|moment| moment.changes.len()).max().unwrap_or(0);
        let curve = |layer: usize| {
            let largest = |changes: &Vec<f64>| changes.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            let points =
                self.moments.iter().map(|m| (m.at as f64, m.changes.get(layer).map_or(f64::NAN, largest)));
            Curve { name: format!("layer {}", layer + 1), points: points.collect(), breakpoints: Vec::new() }
        };
        let title = match layers > LAYERS {
            true => format!("Drift of conserved quantities (the first {LAYERS} of {layers} layers)"),
            false => "Drift of conserved quantities".to_owned(),
        };
        self.graph(&title, "largest |change|", (0..layers.min(LAYERS)).map(curve).collect())
    }

    fn by_step(&self) -> Option<Svg> {
        let points =
            self.drifts.iter().map(|(step, drift)| (step.log10(), drift.log10())).collect::<Vec<_>>();
        let curve = Curve { name: "largest drift at the end".into(), breakpoints: points.clone(), points };
        let graph = Graph {
            title: "Drift and step, for trainings of the same length".into(),
            x_label: "log10 of the step".into(),
            y_label: "log10 of the drift".into(),
            curves: vec![curve],
        };
        (self.drifts.len() > 1).then(|| graph.draw())
    }
}

#[cfg(test)]
mod tests {
    use super::super::dynamics::Moment;
    use super::*;

    #[test]
    fn rows_are_cut_where_states_change() {
        let moment = |at: u64, states: &str| Moment {
            at,
            loss: Some(0.5),
            rank: Some((3, 3)),
            doubt: None,
            states: states.split(' ').map(str::to_owned).collect(),
            changes: vec![vec![0.1; 2]; 2],
        };
        let run = Dynamics {
            title: "run".into(),
            unit: "step".into(),
            parameters: 9,
            moments: vec![moment(0, "~~ +"), moment(5, "~0 +"), moment(9, "~0 +")],
            drifts: vec![(0.1, 0.2), (0.05, 0.1)],
        };
        let svg = run.draw().unwrap().to_document();
        // One row of one piece, one of two, and one; three in the legend.
        assert_eq!(svg.matches("<rect").count(), 4 + 3, "{svg}");
        assert_eq!(svg.matches("class=\"flow-idle\"").count(), 2);
        assert!(svg.contains("Drift and step") && !svg.contains("NaN"));
        assert!(Dynamics::default().draw().is_none());
    }
}
