//! The queries of every step, stacked by layer, and the error of every layer.

use std::collections::BTreeSet;

use super::{ExtractionSummary, Truth, power, steps};
use crate::draw::graph::ticks;
use crate::draw::markup::Element;
use crate::draw::svg::{Svg, label, rectangle, segment, shortened, text_width};
use crate::number::{grouped, significant};

const WIDTH: f64 = 640.0;
const LEFT: f64 = 130.0;
const RIGHT: f64 = 74.0;
const BAR: f64 = 18.0;
const ROW: f64 = 26.0;
/// The hidden layers by colour; further ones begin anew.
const LAYERS: [&str; 6] = ["part-0", "part-2", "part-3", "part-5", "part-4", "part-7"];

impl ExtractionSummary {
    /// Draws the queries of every step, stacked by layer, and with the truth the error of every layer.
    pub fn draw(&self) -> Svg {
        let title =
            format!("{} queries to {}", grouped(self.found.queries as usize), shortened(&self.name, 44));
        let mut content = vec![label("head", (16.0, 22.0), &title)];
        let mut y = self.legend(&mut content);
        y = self.draw_steps(&mut content, y);
        let errors = self.truth.as_ref().map_or(&[] as &[f64], Truth::layer_errors);
        if !errors.is_empty() {
            y = draw_errors(&mut content, errors, y + 24.0);
        }
        let steps: Vec<String> = steps(&self.found.spent)
            .iter()
            .map(|(step, layers)| format!("{step} {}", layers.iter().map(|(_, n)| n).sum::<u64>()))
            .collect();
        let errors: Vec<String> = errors.iter().map(|&error| power(error)).collect();
        let errors = if errors.is_empty() {
            String::new()
        } else {
            format!(" Errors by layer: {}.", errors.join(", "))
        };
        let description = format!("Queries by step: {}.{errors}", steps.join(", "));
        Svg::new((WIDTH, y + 8.0), title, description, content)
    }

    fn legend(&self, content: &mut Vec<Element>) -> f64 {
        let (mut x, mut y) = (LEFT, 46.0);
        let spent = self.spent().filter(|(.., queries)| *queries > 0);
        let layers: BTreeSet<Option<usize>> = spent.map(|(layer, ..)| layer).collect();
        for layer in layers {
            let name = layer.map_or("whole network".into(), |layer| format!("layer {}", layer + 1));
            let width = 22.0 + text_width(&name) + 18.0;
            if x > LEFT && x + width > WIDTH - 16.0 {
                (x, y) = (LEFT, y + 20.0);
            }
            content.push(rectangle(class(layer), (x, y - 11.0), (14.0, 14.0)));
            content.push(label("name", (x + 22.0, y), &name));
            x += width;
        }
        y + 16.0
    }

    fn draw_steps(&self, content: &mut Vec<Element>, top: f64) -> f64 {
        let steps = steps(&self.found.spent);
        let sum = |layers: &[(Option<usize>, u64)]| layers.iter().map(|(_, n)| n).sum::<u64>();
        let most = steps.iter().map(|(_, layers)| sum(layers)).max().unwrap_or(0).max(1) as f64;
        let scale = (WIDTH - LEFT - RIGHT) / most;
        let bottom = top + ROW * steps.len() as f64;
        for (value, text) in ticks((0.0, most), 6) {
            let x = LEFT + value * scale;
            content.push(segment("grid", (x, top), (x, bottom)));
            content.push(label("tick mid", (x, bottom + 15.0), &text));
        }
        for (index, (step, layers)) in steps.iter().enumerate() {
            let y = top + ROW * index as f64;
            content.push(label("end", (LEFT - 8.0, y + 17.0), step.name()));
            let mut x = LEFT;
            for &(layer, queries) in layers {
                let width = queries as f64 * scale;
                content.push(rectangle(class(layer), (x, y + 4.0), (width, BAR)));
                x += width;
            }
            content.push(label("tick", (x + 6.0, y + 17.0), &grouped(sum(layers) as usize)));
        }
        content.push(segment("axis", (LEFT, top), (LEFT, bottom)));
        bottom + 20.0
    }
}

/// The colour of a layer; grey for what belongs to none.
fn class(layer: Option<usize>) -> &'static str {
    layer.map_or("part-1", |layer| LAYERS[layer % LAYERS.len()])
}

/// The errors on a scale of powers of two: the longer the bar, the more digits are right.
fn draw_errors(content: &mut Vec<Element>, errors: &[f64], top: f64) -> f64 {
    content.push(label(
        "head",
        (16.0, top),
        "Largest error of a parameter, bits after the point that are right",
    ));
    // An exact parameter is drawn as one that is right to the last bit of a double.
    let bits = |error: f64| if error == 0.0 { 53.0 } else { -error.log2() };
    let scale = (WIDTH - LEFT - RIGHT) / errors.iter().map(|&e| bits(e)).fold(53.0, f64::max);
    let bottom = top + 14.0 + ROW * errors.len() as f64;
    for (value, text) in ticks((0.0, 53.0), 6) {
        let x = LEFT + value * scale;
        content.push(segment("grid", (x, top + 14.0), (x, bottom)));
        content.push(label("tick mid", (x, bottom + 15.0), &text));
    }
    for (index, &error) in errors.iter().enumerate() {
        let y = top + 14.0 + ROW * index as f64;
        let name = if index + 1 == errors.len() { "output".into() } else { format!("layer {}", index + 1) };
        content.push(label("end", (LEFT - 8.0, y + 17.0), &name));
        let class = class(Some(index).filter(|_| index + 1 < errors.len()));
        let width = (bits(error) * scale).max(0.0);
        content.push(rectangle(class, (LEFT, y + 4.0), (width, BAR)));
        let text = if error == 0.0 { "exact".into() } else { significant(error, 2) };
        content.push(label("tick", (LEFT + width + 6.0, y + 17.0), &text));
    }
    content.push(segment("axis", (LEFT, top + 14.0), (LEFT, bottom)));
    bottom + 20.0
}

#[cfg(test)]
mod tests {
    use super::super::tests::{failed, summary, truth};

    #[test]
    fn every_step_and_layer_has_its_bar() {
        let svg = summary().draw().to_document();
        // Three in the legend, two steps of two layers and one of none, three errors.
        assert_eq!(svg.matches("<rect").count(), 3 + 5 + 3);
        assert!(
            svg.contains(">800</text>") && svg.contains(">434</text>") && svg.contains(">exact</text>"),
            "{svg}"
        );
    }

    #[test]
    fn nothing_spent_and_hopeless_errors_are_drawn() {
        let mut summary = failed("nothing");
        assert!(!summary.draw().to_document().contains("NaN"));
        summary.truth = Some(truth(vec![3.0, f64::INFINITY, 0.0]));
        let svg = summary.draw().to_document();
        assert!(!svg.contains("NaN") && !svg.contains("width=\"-"), "{svg}");
    }
}
