//! Fibers: text as a mathematician would write it, JSON, LaTeX, and pictures.

mod describe;
mod drawing;
mod formula;
mod latex;
mod picture;
pub mod points;
mod section;
mod strip;

pub use describe::{Listing, Subject, membership, membership_text, summary};
pub use drawing::{FiberPictures, draw};
pub use picture::{FiberSlice, OrientationGraph, OrientationNode};
#[cfg(test)]
pub(crate) use section::STATEMENT;
pub use section::section;
pub use strip::{StripPanel, TranslationStrip};

use fiberscope::fiber::Condition;
use fiberscope_core::{Matrix, Neuron, Rational};
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
    /// The dimension of the listed pieces modulo permutation and scaling; `None` if the theory does not cover the network, not all pieces were gone through, or all are empty.
    pub dimension: Option<usize>,
    /// The dimension of the generic pieces among them.
    pub generic_dimension: Option<usize>,
    /// A lower bound for the dimension in the space of all parameters, from the symmetries.
    pub lower_bound: usize,
    /// The number of independent scalings.
    pub scalings: usize,
    /// `D` minus the functional dimension, and whether all linear regions were used.
    pub local: Option<(usize, bool)>,
    /// There are `2^exponent` orientations.
    pub exponent: usize,
    /// The number of pieces, if they were counted.
    pub pieces: Option<u64>,
    /// How many of them have points.
    pub nonempty: Option<u64>,
    /// How many of these are generic.
    pub generic: Option<u64>,
    /// The piece of the given parameter.
    pub own: Option<ComponentRow>,
    /// Why the given parameter lies in no piece.
    pub apart: Option<String>,
    /// The pieces that were listed.
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

/// A piece.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComponentRow {
    /// The orientation: `+` and `-`.
    pub orientation: String,
    /// The number of linear neurons.
    pub linear: usize,
    /// The number of dead neurons; `None` if there are too few neurons.
    pub dead: Option<usize>,
    /// Whether it is generic; `None` if that was too much work.
    pub generic: Option<bool>,
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

/// The equations of the pieces of one hidden layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Equations {
    /// Whether the map is considered on the orthant.
    pub orthant: bool,
    /// The base point.
    pub base: Vec<Rational>,
    /// The hyperplanes: normal, offset, weight.
    pub hyperplanes: Vec<(Vec<Rational>, Rational, Vec<Rational>)>,
    /// The number of neurons on no visible hyperplane: linear or dead.
    pub others: usize,
    /// The orientation for which `M_S` and `beta_S` are written.
    pub shown: String,
    /// `M_S` of this orientation.
    pub matrix: Matrix<Rational>,
    /// `beta_S` of this orientation.
    pub constant: Vec<Rational>,
}

/// What the software does not look for.
const NOT_COVERED: &str = "not covered: symmetries of several layers at once other than hidden hyperplanes, groups of neurons that cancel only together, and neurons that are dead or linear but not by signs or interval bounds";

impl FiberSummary {
    /// The description for a terminal.
    pub fn to_text(&self) -> String {
        let mut out = Lines::titled(&self.name);
        out.fact("widths", &words::widths(&self.widths));
        match &self.case {
            Some(case) => {
                out.fact("fiber", case);
                out.fact("dimension", &self.dimension_text());
                out.fact("pieces", &self.pieces_text());
                out.fact("given", &self.given_text());
            }
            None => {
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
            let bound = self.local_bound(complete);
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

    /// What stands before the local dimension: it is an upper bound unless the fiber is smooth at the parameter.
    pub(crate) fn local_bound(&self, complete: bool) -> &'static str {
        let generic = self.own.as_ref().is_some_and(|own| own.generic == Some(true));
        if complete && generic { "" } else { "at most " }
    }

    pub(crate) fn dimension_text(&self) -> String {
        let both = |dimension: usize| {
            let full = dimension + self.scalings;
            let all = grouped(self.parameters);
            format!("{dimension} modulo permutation and scaling, {full} in the space of all {all} parameters")
        };
        let own = self.own.as_ref().and_then(|own| own.dimension);
        match (self.dimension, own, self.nonempty) {
            (Some(dimension), _, _) => both(dimension),
            (None, Some(own), _) => format!("at least {}", both(own)),
            (None, None, Some(0)) => "no piece has points".into(),
            (None, None, _) => "not decided: there are too many pieces to go through".into(),
        }
    }

    pub(crate) fn pieces_text(&self) -> String {
        let orientations = match self.exponent {
            0 => "1 orientation".into(),
            exponent => format!("{} orientations", power_of_two(exponent)),
        };
        let (Some(pieces), Some(nonempty), Some(generic)) = (self.pieces, self.nonempty, self.generic) else {
            return format!(
                "{orientations}, too many to go through; which pieces are generic is not decided"
            );
        };
        let part = |count: u64, of: u64| match count {
            0 => "none".into(),
            _ if count == of => "all".into(),
            _ => grouped(count as usize),
        };
        let all = grouped(pieces as usize);
        match (pieces, nonempty) {
            (_, 0) => format!("{all} ({orientations}), all empty"),
            (1, _) => {
                format!("1 ({orientations}), {}", if generic == 1 { "generic" } else { "not generic" })
            }
            _ => format!(
                "{all} ({orientations}), {} of them with points, {} of these generic",
                part(nonempty, pieces),
                part(generic, nonempty)
            ),
        }
    }

    pub(crate) fn given_text(&self) -> String {
        match (&self.own, &self.apart) {
            (Some(own), _) => {
                let generic = match own.generic {
                    Some(true) => "generic",
                    Some(false) => "not generic",
                    None => "generic or not, that is not decided",
                };
                format!("in the piece {}, {generic}", own.name())
            }
            (None, Some(reason)) => format!("in no piece: {reason}"),
            (None, None) => "not looked at".into(),
        }
    }

    fn components_text(&self) -> String {
        if self.case.is_none() || (self.pieces == Some(1) && self.components.len() == 1) {
            return String::new();
        }
        let width =
            self.components.iter().map(|row| row.orientation.chars().count()).max().unwrap_or(0).max(2);
        let mut text = format!("components\n  {:<width$}  linear  dead  dimension  generic  why\n", "S");
        for row in &self.components {
            let dimension = row.dimension.map_or("empty".into(), |dimension| dimension.to_string());
            let dead = row.dead.map_or("-".into(), |dead| dead.to_string());
            text += &format!(
                "  {:<width$}  {:<6}  {dead:<4}  {dimension:<9}  {:<7}  {}\n",
                row.orientation,
                row.linear,
                row.generic_text(),
                row.reason
            );
        }
        if self.pieces.is_none_or(|pieces| pieces > self.components.len() as u64) {
            let all = self.pieces.map_or_else(
                || format!("pieces of {} orientations", power_of_two(self.exponent)),
                |pieces| format!("{} pieces", grouped(pieces as usize)),
            );
            text += &format!("  ... (--components N lists more of the {all})\n");
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
        let shown = if equations.shown.is_empty() { "{}" } else { &equations.shown };
        if equations.others > 0 {
            text +=
                &format!("  {} more: l' linear, the others dead (w <= 0, c <= 0, any V)\n", equations.others);
            text += "  V_Lin W_Lin = M_S,  W_Lin >= 0,  c_Lin >= 0,  e = beta_S - V_Lin c_Lin\n";
            text += &format!(
                "  M_S = {},  beta_S = {}  for S = {shown}\n",
                matrix_text(&equations.matrix),
                vector_text(&equations.constant),
            );
        } else {
            text += &format!("  e = beta_S = {}  for S = {shown}\n", vector_text(&equations.constant));
        }
        text
    }

    /// The facts with the keys of `fiberscope fiber --json`.
    pub fn to_json(&self) -> Value {
        let component = |row: &ComponentRow| json!({"orientation": row.orientation, "linear": row.linear, "dead": row.dead, "generic": row.generic, "empty": row.empty, "dimension": row.dimension, "reason": row.reason});
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
            "generic_dimension": self.generic_dimension,
            "dimension_in_parameters": self.dimension.map(|dimension| dimension + self.scalings),
            "lower_bound": self.lower_bound,
            "scalings": self.scalings,
            "local_dimension": self.local.map(|local| local.0),
            "local_dimension_complete": self.local.map(|local| local.1),
            "orientations": power_of_two(self.exponent),
            "pieces": self.pieces,
            "nonempty": self.nonempty,
            "nonempty_generic": self.generic,
            "given": self.own.as_ref().map(component),
            "given_in_no_piece": self.apart,
            "components": self.components.iter().map(component).collect::<Vec<_>>(),
            "hidden": hidden,
            "conditions": self.conditions.iter().map(condition).collect::<Vec<_>>(),
            "symmetries": self.symmetries,
            "classes": self.classes.iter().map(class).collect::<Vec<_>>(),
            "latex": self.to_latex(),
        })
    }
}

impl ComponentRow {
    /// The piece in words.
    pub fn name(&self) -> String {
        let dead = self.dead.map_or(String::new(), |dead| format!(", {dead} dead"));
        format!("({}, {} linear{dead})", self.orientation, self.linear)
    }

    pub(crate) fn generic_text(&self) -> &'static str {
        match self.generic {
            Some(true) => "yes",
            Some(false) => "no",
            None => "?",
        }
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
            pieces: Some(2),
            nonempty: Some(1),
            generic: Some(1),
            components: vec![
                ComponentRow {
                    orientation: "+".into(),
                    linear: 1,
                    dead: Some(0),
                    generic: Some(true),
                    empty: false,
                    dimension: Some(1),
                    reason: "the cone is pointed".into(),
                },
                ComponentRow {
                    orientation: "-".into(),
                    linear: 1,
                    dead: Some(0),
                    generic: Some(true),
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
                others: 1,
                shown: "+".into(),
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
