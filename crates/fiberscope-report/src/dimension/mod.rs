//! The functional dimension and what explains it: text, JSON, and the deficit as a bar.

mod orbits;
mod question;
mod section;

pub use orbits::add_orbits;
pub use question::{BatchQuestion, RegionQuestion, on_batch, on_regions, summarize};
#[cfg(test)]
pub(crate) use section::STATEMENT;
pub use section::section;

use fiberscope::dimension::OrbitDimension;
use serde_json::{Value, json};

use crate::draw::svg::{Svg, label, rectangle, text_width};
use crate::number::{grouped, significant};
use crate::text::Lines;

/// What is known of a functional dimension, as plain numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DimensionSummary {
    /// The network.
    pub name: String,
    /// What the dimension is taken on: a data file, or regions.
    pub on: String,
    /// The rank; `None` if the limits stopped the computation.
    pub rank: Option<usize>,
    /// Certified bounds of the rank.
    pub interval: (usize, usize),
    /// The rank is above the lower bound with about this probability.
    pub failure_probability: f64,
    /// The generic rank of the activation cell.
    pub rank_generic: Option<usize>,
    /// Singular values above the threshold of single precision.
    pub rank_float32: Option<usize>,
    /// Singular values above the threshold of doubles.
    pub rank_float64: Option<usize>,
    /// The effective rank of the kernel.
    pub effective_rank: Option<f64>,
    /// Singular values of the Jacobian, largest first.
    pub singular_values: Option<Vec<f64>>,
    /// Rows of the Jacobian.
    pub rows: usize,
    /// Parameters.
    pub parameters: usize,
    /// Distinct activation patterns.
    pub regions: usize,
    /// What the regions cover, if they are not those of a batch.
    pub coverage: Option<String>,
    /// The rank of `(X, 1)` and the largest it could be.
    pub data_rank: Option<(usize, usize)>,
    /// The upper bounds by name; `None` where a bound does not apply.
    pub bounds: Vec<(String, Option<usize>)>,
    /// The parts of `parameters - rank` by name.
    pub deficit: Vec<(String, usize)>,
    /// Switching, always active and inactive neurons of the hidden layers.
    pub layers: Vec<[usize; 3]>,
    /// The neurons that do not switch: layer and unit, from 1, and their state.
    pub neurons: Vec<(usize, usize, String)>,
    /// The orbits of the hidden symmetry groups, if they were asked for.
    pub orbits: Vec<OrbitDimension>,
    /// The widths, inputs and outputs included.
    pub widths: Vec<usize>,
    /// What the eliminations ran on, if a device was asked for.
    pub device: Option<String>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// What a part of the deficit means.
fn meaning(part: &str) -> &'static str {
    match part {
        "inactive" => "inactive neurons, and layers before one that is constant",
        "collapse" => "linear neurons in excess of what their neighbours can use",
        "scaling" => "positive scalings of switching neurons",
        "general_linear" => "general linear groups of the linear neurons",
        "translation" => "translations of the linear neurons",
        "data" => "directions in which the inputs do not vary",
        "regions" => "too few points or regions",
        _ => "explained by no bound",
    }
}

/// What a bound means.
fn bound_meaning(bound: &str) -> &'static str {
    match bound {
        "rows" => "points times outputs",
        "scaling" => "parameters minus hidden neurons",
        "theorem_1" => "Theorem 1 of the paper (roughly monotonic widths)",
        "symmetry" => "symmetries of the reduced network (B)",
        "symmetry_on_data" => "the same, where the inputs do not fill the space",
        "regions" => "independent points of every region (RB)",
        _ => "layer by layer (LB)",
    }
}

impl DimensionSummary {
    /// The facts for a terminal.
    pub fn to_text(&self) -> String {
        let mut out = Lines::titled(&format!("{} on {}", self.name, self.on));
        let (lower, upper) = self.interval;
        let how = match self.rank {
            Some(_) if lower == upper => "proved".to_owned(),
            Some(_) if self.coverage.is_some() => format!(
                "on the regions below, but for a chance of {}; proved: {lower} to {upper}",
                significant(self.failure_probability, 1)
            ),
            Some(_) => format!(
                "proved: {lower} to {upper}; larger than {lower} with probability {}",
                significant(self.failure_probability, 1)
            ),
            None => "the limits stopped the computation".to_owned(),
        };
        let rank = self.rank.map_or(format!("{lower} to {upper}"), |rank| rank.to_string());
        out.fact("dimension", &format!("{rank} ({how})"));
        let float = [("float32", self.rank_float32), ("float64", self.rank_float64)];
        for (name, rank) in float.iter().filter_map(|(name, rank)| rank.map(|rank| (name, rank))) {
            out.fact(name, &format!("{rank} singular values above the threshold of {name}"));
        }
        if let Some(rank) = self.rank_generic {
            out.fact("generic", &format!("{rank} at random parameters with the same activation patterns"));
        }
        if let Some(rank) = self.effective_rank {
            out.fact("effective", &format!("{} (effective rank of the kernel)", significant(rank, 4)));
        }
        out.fact("rows", &grouped(self.rows));
        out.fact("parameters", &grouped(self.parameters));
        let coverage = self.coverage.as_ref().map_or(String::new(), |text| format!(" ({text})"));
        out.fact("regions", &format!("{}{coverage}", grouped(self.regions)));
        if let Some((rank, full)) = self.data_rank {
            out.fact("data rank", &format!("{rank} of {full} (inputs and a constant)"));
        }
        for (l, [switching, active, inactive]) in self.layers.iter().enumerate() {
            let name = format!("layer {}", l + 1);
            out.fact(&name, &format!("{switching} switching, {active} always active, {inactive} inactive"));
        }
        if let Some(device) = &self.device {
            out.fact("device", device);
        }
        self.add_orbits_to(&mut out);
        let mut text = out.finish();
        text += &self.bounds_text(lower);
        if self.rank.is_some() && !self.deficit.is_empty() {
            text += &self.deficit_text();
        }
        for warning in &self.warnings {
            text += &format!("warning: {warning}\n");
        }
        text
    }

    fn bounds_text(&self, rank: usize) -> String {
        let mut text = "upper bounds, and how far they are above\n".to_owned();
        for (name, value) in &self.bounds {
            let meaning = bound_meaning(name);
            text += &match value {
                Some(value) => format!("  {value:>9} {:>+9}  {meaning}\n", *value as i64 - rank as i64),
                None => format!("  {:>9} {:>9}  {meaning}\n", "-", ""),
            };
        }
        text
    }

    fn deficit_text(&self) -> String {
        let total: usize = self.deficit.iter().map(|(_, value)| value).sum();
        let mut text = format!("why {total} of {} parameters do not count\n", grouped(self.parameters));
        for (name, value) in self.deficit.iter().filter(|(_, value)| *value > 0) {
            let bar = "#".repeat((value * 24).div_ceil(total.max(1)));
            text += &format!("  {value:>9} {bar:<24}  {}\n", meaning(name));
        }
        text
    }

    /// The facts with the keys of `fiberscope funcdim --json`.
    pub fn to_json(&self) -> Value {
        let slack = |value: &Option<usize>| value.map(|value| value as i64 - self.interval.0 as i64);
        let map = |pairs: &[(String, usize)]| -> Value {
            pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect()
        };
        let bounds: Value = self.bounds.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let slacks: Value =
            self.bounds.iter().map(|(name, value)| (name.clone(), json!(slack(value)))).collect();
        let layers = self.layers.iter().enumerate().map(|(l, [switching, active, inactive])| {
            json!({"layer": l + 1, "switching": switching, "active": active, "inactive": inactive})
        });
        let neurons = self
            .neurons
            .iter()
            .map(|(layer, unit, state)| json!({"layer": layer, "neuron": unit, "state": state}));
        let mut value = json!({
            "model": self.name,
            "on": self.on,
            "rank": self.rank,
            "lower": self.interval.0,
            "upper": self.interval.1,
            "failure_probability": self.failure_probability,
            "rank_float32": self.rank_float32,
            "rank_float64": self.rank_float64,
            "rank_generic": self.rank_generic,
            "rows": self.rows,
            "parameters": self.parameters,
            "regions_sampled": self.regions,
            "coverage": self.coverage,
            "data_rank": self.data_rank.map(|(rank, _)| rank),
            "data_rank_full": self.data_rank.map(|(_, full)| full),
            "bounds": bounds,
            "slack": slacks,
            "symmetry_dimension": self.rank.map(|rank| self.parameters - rank),
            "deficit": map(&self.deficit),
            "layers": layers.collect::<Vec<_>>(),
            "fixed_neurons": neurons.collect::<Vec<_>>(),
            "effective_rank": self.effective_rank,
            "singular_values": self.singular_values,
            "warnings": self.warnings,
        });
        if let Some(device) = &self.device {
            value["device"] = json!(device);
        }
        if !self.orbits.is_empty() {
            value["orbits"] = self.orbits_json();
        }
        value
    }

    /// The deficit as a bar: the rank, then the parts.
    pub fn draw(&self) -> Svg {
        const WIDTH: f64 = 640.0;
        const LEFT: f64 = 16.0;
        let rank = self.rank.unwrap_or(self.interval.0);
        let mut parts = vec![("functional dimension", rank)];
        let named = self.deficit.iter().filter(|(_, value)| *value > 0);
        parts.extend(named.map(|(name, value)| (meaning(name), *value)));
        let scale = (WIDTH - 2.0 * LEFT) / self.parameters.max(1) as f64;
        let heading = format!("{} parameters of {}", grouped(self.parameters), self.name);
        let mut content = vec![label("head", (LEFT, 22.0), &heading)];
        let (mut x, mut y) = (LEFT, 92.0);
        for (index, (name, value)) in parts.iter().enumerate() {
            let width = *value as f64 * scale;
            let class = PARTS[index % PARTS.len()];
            content.push(rectangle(class, (x, 36.0), (width, 30.0)));
            let number = grouped(*value);
            if width > text_width(&number) + 8.0 {
                content.push(label("mid part-number", (x + width / 2.0, 55.0), &number));
            }
            content.push(rectangle(class, (LEFT, y - 11.0), (14.0, 14.0)));
            content.push(label("name", (LEFT + 22.0, y), &format!("{number}  {name}")));
            x += width;
            y += 21.0;
        }
        let listed: Vec<String> = parts.iter().map(|(name, value)| format!("{value} {name}")).collect();
        let description = format!("A bar of {} parameters: {}.", self.parameters, listed.join(", "));
        Svg::new((WIDTH, y), heading, description, content)
    }
}

const PARTS: [&str; 9] =
    ["part-0", "part-1", "part-2", "part-3", "part-4", "part-5", "part-6", "part-7", "part-8"];

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> DimensionSummary {
        DimensionSummary {
            name: "net".into(),
            on: "data.csv".into(),
            rank: Some(3),
            interval: (3, 3),
            rows: 4,
            parameters: 7,
            regions: 2,
            data_rank: Some((2, 2)),
            bounds: vec![("rows".into(), Some(4)), ("theorem_1".into(), None)],
            deficit: vec![("inactive".into(), 0), ("scaling".into(), 2), ("regions".into(), 2)],
            layers: vec![[2, 0, 0]],
            warnings: vec!["look".into()],
            ..DimensionSummary::default()
        }
    }

    #[test]
    fn text_has_the_slack_and_the_parts() {
        let text = summary().to_text();
        assert!(text.contains("dimension     3 (proved)"), "{text}");
        assert!(text.contains("        4        +1  points times outputs"), "{text}");
        assert!(text.contains("positive scalings") && !text.contains("inactive neurons,"), "{text}");
        assert!(text.ends_with("warning: look\n"));
    }

    #[test]
    fn json_has_the_keys_of_the_contract() {
        let value = summary().to_json();
        for key in
            ["rank", "rank_float32", "rows", "parameters", "regions_sampled", "bounds", "symmetry_dimension"]
        {
            assert!(value.get(key).is_some(), "{key}");
        }
        assert_eq!(value["symmetry_dimension"], 4);
        assert_eq!(value["slack"]["rows"], 1);
    }

    #[test]
    fn the_bar_is_as_long_as_there_are_parameters() {
        let svg = summary().draw().to_document();
        assert_eq!(svg.matches("<rect").count(), 2 * 3);
        assert!(svg.contains("2  too few points or regions"), "{svg}");
    }
}
