//! Fibers: text as a mathematician would write it, JSON, LaTeX, and pictures.

mod formula;
mod latex;
mod picture;
mod strip;

pub use picture::{FiberSlice, OrientationGraph, OrientationNode};
pub use strip::{StripPanel, TranslationStrip};

use fiberscope_core::{Condition, Matrix, Neuron, Rational};
use serde_json::{Value, json};

use crate::number::grouped;
use crate::text::Lines;
use crate::words;
use formula::{affine_form, matrix_text, vector_text};

/// What is known of the fiber of a network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FiberSummary {
    /// The network's name.
    pub name: String,
    /// Its widths.
    pub widths: Vec<usize>,
    /// The number of its parameters.
    pub parameters: usize,
    /// What the theory says of it, as a sentence; `None` if it does not cover it.
    pub case: Option<String>,
    /// The dimension modulo permutation and scaling; `None` if the theory does not cover the network.
    pub dimension: Option<usize>,
    /// A lower bound for the dimension in the space of all parameters, from the symmetries.
    pub lower_bound: usize,
    /// The number of independent scalings.
    pub scalings: usize,
    /// `D` minus the functional dimension, and whether all linear regions were used.
    pub local: Option<(usize, bool)>,
    /// There are `2^exponent` orientations.
    pub exponent: usize,
    /// How many of them have parameters, if that was counted.
    pub nonempty: Option<u64>,
    /// The components that were listed, the given parameter's first.
    pub components: Vec<ComponentRow>,
    /// The hidden hyperplane.
    pub hidden: Option<HiddenRow>,
    /// The conditions that were checked.
    pub conditions: Vec<Condition>,
    /// The symmetries, as sentences.
    pub symmetries: Vec<String>,
    /// The equations of the one-hidden-layer part, with numbers, for small networks.
    pub equations: Option<Equations>,
    /// The classes of the general fiber, if they were asked for.
    pub classes: Vec<ClassRow>,
}

/// A component.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComponentRow {
    /// The orientation: `+` and `-`.
    pub orientation: String,
    /// Whether it has no points.
    pub empty: bool,
    /// Its dimension modulo permutation and scaling.
    pub dimension: Option<usize>,
    /// Why it has points or has none.
    pub reason: String,
}

/// A hidden hyperplane.
#[derive(Clone, Debug, PartialEq)]
pub struct HiddenRow {
    /// The neuron.
    pub neuron: Neuron,
    /// `t_min`.
    pub least: Rational,
    /// The number of flips that can be chosen.
    pub flips: usize,
}

/// A class of the general fiber.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassRow {
    /// What it is, in short.
    pub name: String,
    /// Whether it has no points; `None` if that was too much work.
    pub empty: Option<bool>,
    /// Its equations and inequalities.
    pub constraints: Vec<String>,
}

/// The equations of a component of one hidden layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Equations {
    /// Whether the map is considered on the orthant.
    pub orthant: bool,
    /// The base point.
    pub base: Vec<Rational>,
    /// The hyperplanes: normal, offset, weight.
    pub hyperplanes: Vec<(Vec<Rational>, Rational, Vec<Rational>)>,
    /// The number of linear neurons.
    pub linear: usize,
    /// The number of dead neurons.
    pub dead: usize,
    /// The given orientation.
    pub own: String,
    /// `M_S` of the given orientation.
    pub matrix: Matrix<Rational>,
    /// `beta_S` of the given orientation.
    pub constant: Vec<Rational>,
}

/// What the software does not look for.
const NOT_COVERED: &str = "not covered: symmetries of several layers at once other than hidden hyperplanes, groups of neurons that cancel only together, and neurons that are dead or linear but not by signs or interval bounds";

impl FiberSummary {
    /// The description for a terminal.
    pub fn to_text(&self) -> String {
        let mut out = Lines::titled(&self.name);
        out.fact("widths", &words::widths(&self.widths));
        match (&self.case, self.dimension) {
            (Some(case), Some(dimension)) => {
                out.fact("fiber", case);
                let full = dimension + self.scalings;
                out.fact(
                    "dimension",
                    &format!("{dimension} modulo permutation and scaling, {full} in the space of all {} parameters", grouped(self.parameters)),
                );
                out.fact("orientations", &self.orientations());
            }
            _ => {
                out.fact("fiber", "the theory of generic fibers does not cover this network");
                for condition in self.conditions.iter().filter(|condition| !condition.holds) {
                    out.fact(
                        "fails",
                        &format!("{}: {}", condition.statement, condition.detail.as_deref().unwrap_or("")),
                    );
                }
                out.fact(
                    "still holds",
                    &format!(
                        "dimension at least {} in the space of all {} parameters, {} of it scalings",
                        self.lower_bound,
                        grouped(self.parameters),
                        self.scalings
                    ),
                );
            }
        }
        if let Some((dimension, complete)) = self.local {
            let how = if complete { "all linear regions" } else { "sampled linear regions" };
            let bound = match (complete, self.case.is_some()) {
                (true, true) => "",
                _ => "at most ",
            };
            out.fact(
                "local",
                &format!(
                    "{bound}{dimension} = {} - functional dimension, in the space of all parameters ({how})",
                    grouped(self.parameters)
                ),
            );
        }
        for symmetry in &self.symmetries {
            out.fact("symmetry", symmetry);
        }
        if self.case.is_none() {
            out.fact("", NOT_COVERED);
        } else {
            for condition in &self.conditions {
                out.fact("checked", &condition.statement);
            }
        }
        let mut text = out.finish();
        text += &self.equations_text();
        text += &self.components_text();
        text += &self.classes_text();
        text
    }

    pub(crate) fn orientations(&self) -> String {
        let all = power_of_two(self.exponent);
        match (self.nonempty, self.exponent) {
            (_, 0) => "1".into(),
            (Some(count), exponent) if exponent < 64 && count == 1 << exponent => {
                format!("{all}, all of them non-empty")
            }
            (Some(count), _) => format!("{all}, {} of them non-empty", grouped(count as usize)),
            (None, _) => format!("{all}; too many to go through, the first ones are below"),
        }
    }

    fn components_text(&self) -> String {
        if self.components.len() < 2 && self.exponent == 0 {
            return String::new();
        }
        let width =
            self.components.iter().map(|row| row.orientation.chars().count()).max().unwrap_or(0).max(2);
        let mut text = format!("components\n  {:<width$}  dimension  why\n", "S");
        for row in &self.components {
            let dimension = row.dimension.map_or("empty".into(), |dimension| dimension.to_string());
            text += &format!("  {:<width$}  {dimension:<9}  {}\n", row.orientation, row.reason);
        }
        let all = 1u128.checked_shl(self.exponent as u32);
        if all.is_none_or(|all| all > self.components.len() as u128) {
            text += &format!("  ... (--components N lists more of the {})\n", power_of_two(self.exponent));
        }
        text
    }

    fn classes_text(&self) -> String {
        let mut text = String::new();
        if !self.classes.is_empty() {
            text += "classes of the general fiber\n";
        }
        for class in &self.classes {
            let state = match class.empty {
                Some(true) => "empty",
                Some(false) => "has points",
                None => "not decided",
            };
            text += &format!("  {}: {state}\n", class.name);
            if class.empty != Some(true) {
                class.constraints.iter().for_each(|line| text += &format!("    {line}\n"));
            }
        }
        text
    }

    fn equations_text(&self) -> String {
        let mut text = String::new();
        if let Some(hidden) = &self.hidden {
            let k = hidden.neuron.unit + 1;
            let t = crate::number::short(&hidden.least);
            text += "equations\n";
            text += &format!("  b_1[{k}] + t,  b_2[j] - t W_2[j,{k}] for all j,  t >= t_min = {t}\n");
            if hidden.flips > 0 {
                text += &format!("  for every set I of the other {} neurons of layer 1:\n", hidden.flips);
                text += "    (w_i, b_1[i]) -> -(w_i, b_1[i]) for i in I\n";
                text += &format!(
                    "    (w_{k}, b_1[{k}]) -> (w_{k}, b_1[{k}]) + sum_(i in I) W_2[1,i] / W_2[1,{k}] (w_i, b_1[i])\n"
                );
            }
        }
        let Some(equations) = &self.equations else { return text };
        text += &format!(
            "equations (base point x_0 = {}, S the neurons that are active there)\n",
            vector_text(&equations.base)
        );
        for (i, (normal, offset, weight)) in equations.hyperplanes.iter().enumerate() {
            text += &format!(
                "  H_{0}: {1} = 0,  a_{0} = {2}\n",
                i + 1,
                affine_form(normal, offset),
                vector_text(weight)
            );
        }
        if !equations.hyperplanes.is_empty() {
            text += "  (w_i, c_i) = (u_i, t_i) for i in S, else -(u_i, t_i);  V_i = a_i\n";
        }
        if equations.linear > 0 {
            text += &format!(
                "  V_Lin W_Lin = M_S,  W_Lin >= 0,  c_Lin >= 0,  e = beta_S - V_Lin c_Lin   ({} linear)\n",
                equations.linear
            );
            text += &format!(
                "  M_S = {},  beta_S = {}  for S = {}\n",
                matrix_text(&equations.matrix),
                vector_text(&equations.constant),
                equations.own
            );
        } else {
            text += &format!(
                "  e = beta_S = {}  for S = {}\n",
                vector_text(&equations.constant),
                if equations.own.is_empty() { "{}" } else { &equations.own }
            );
        }
        if equations.dead > 0 {
            text += &format!("  {} dead: w <= 0, c <= 0, V free\n", equations.dead);
        }
        text
    }

    /// The facts with the keys of `fiberscope fiber --json`.
    pub fn to_json(&self) -> Value {
        let component = |row: &ComponentRow| json!({"orientation": row.orientation, "empty": row.empty, "dimension": row.dimension, "reason": row.reason});
        let condition = |condition: &Condition| json!({"condition": condition.statement, "holds": condition.holds, "detail": condition.detail});
        let class = |class: &ClassRow| json!({"class": class.name, "empty": class.empty, "constraints": class.constraints});
        let hidden = self.hidden.as_ref().map(|hidden| {
            json!({
                "layer": hidden.neuron.layer + 1, "neuron": hidden.neuron.unit + 1,
                "t_min": hidden.least.to_f64(), "t_min_exact": hidden.least.to_string(), "flips": hidden.flips,
            })
        });
        json!({
            "model": self.name,
            "widths": self.widths,
            "covered": self.case.is_some(),
            "description": self.case,
            "dimension": self.dimension,
            "dimension_in_parameters": self.dimension.map(|dimension| dimension + self.scalings),
            "lower_bound": self.lower_bound,
            "scalings": self.scalings,
            "local_dimension": self.local.map(|local| local.0),
            "local_dimension_complete": self.local.map(|local| local.1),
            "orientations": power_of_two(self.exponent),
            "nonempty": self.nonempty,
            "components": self.components.iter().map(component).collect::<Vec<_>>(),
            "hidden": hidden,
            "conditions": self.conditions.iter().map(condition).collect::<Vec<_>>(),
            "symmetries": self.symmetries,
            "classes": self.classes.iter().map(class).collect::<Vec<_>>(),
            "latex": self.to_latex(),
        })
    }
}

/// `2^n`, written out where that is short.
fn power_of_two(exponent: usize) -> String {
    if exponent < 40 { grouped(1 << exponent).replace(',', "") } else { format!("2^{exponent}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> FiberSummary {
        let r = Rational::from;
        FiberSummary {
            name: "a_b & 50%".into(),
            widths: vec![2, 2, 2, 1],
            parameters: 15,
            case: Some("three layers with a bottleneck".into()),
            dimension: Some(1),
            scalings: 4,
            lower_bound: 5,
            exponent: 1,
            nonempty: Some(1),
            components: vec![
                ComponentRow {
                    orientation: "+".into(),
                    empty: false,
                    dimension: Some(1),
                    reason: "the given one".into(),
                },
                ComponentRow {
                    orientation: "-".into(),
                    empty: true,
                    dimension: None,
                    reason: "the cone is not pointed".into(),
                },
            ],
            hidden: None,
            equations: Some(Equations {
                orthant: true,
                base: vec![r(1), r(1)],
                hyperplanes: vec![(vec![r(-1), r(2)], r(1), vec![r(3)])],
                linear: 1,
                dead: 0,
                own: "+".into(),
                matrix: Matrix::from_rows(&[[r(1), r(2)]]).unwrap(),
                constant: vec![r(0)],
            }),
            ..FiberSummary::default()
        }
    }

    #[test]
    fn text_has_the_numbers() {
        let text = summary().to_text();
        for part in [
            "H_1: -x_1 + 2 x_2 + 1 = 0,  a_1 = 3",
            "1 modulo permutation and scaling, 5 in the space",
            "M_S = [1 2]",
            "empty",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    /// Environments and braces balance, and special characters are escaped.
    #[test]
    fn latex_is_balanced() {
        let hidden =
            HiddenRow { neuron: Neuron { layer: 0, unit: 1 }, least: "-1/2".parse().unwrap(), flips: 2 };
        for summary in [
            summary(),
            FiberSummary { hidden: Some(hidden), ..summary() },
            FiberSummary { case: None, dimension: None, ..summary() },
        ] {
            let latex = summary.to_latex();
            let mut open: Vec<&str> = Vec::new();
            for part in latex.split('\\').skip(1) {
                let name = |from: &str| part.strip_prefix(from).and_then(|rest| rest.split('}').next());
                if let Some(name) = name("begin{") {
                    open.push(name);
                } else if let Some(name) = name("end{") {
                    assert_eq!(open.pop(), Some(name), "{latex}");
                }
            }
            assert!(open.is_empty(), "{open:?}");
            let bare = latex.replace("\\{", "").replace("\\}", "");
            assert_eq!(bare.matches('{').count(), bare.matches('}').count(), "{latex}");
            assert!(latex.contains(r"a\_b \& 50\%"), "{latex}");
            assert_eq!(latex.matches('$').count() % 2, 0);
        }
    }
}
