//! Fibers: text as a mathematician would write it, JSON, LaTeX, and pictures.

mod deeper;
mod describe;
mod drawing;
mod formula;
mod ideal;
mod latex;
mod picture;
pub mod points;
mod section;
mod strip;
mod text;

pub use describe::{Listing, Subject, membership, membership_text, summary};
pub use drawing::{FiberPictures, draw};
pub use ideal::system;
pub use picture::{FiberSlice, OrientationGraph, OrientationNode};
#[cfg(test)]
pub(crate) use section::STATEMENT;
pub use section::section;
pub use strip::{StripPanel, TranslationStrip};

use fiberscope::fiber::{Condition, DeeperFacts};
use fiberscope::rigidity::Rigidity;
use fiberscope_core::{Matrix, Neuron, Rational};
use serde_json::{Value, json};

use text::power_of_two;

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
    /// The dimension of the listed pieces modulo permutation and scaling; `None` if the theory does not cover
    /// the network, not all pieces were gone through, or all are empty.
    pub dimension: Option<usize>,
    /// The dimension of the generic pieces among them.
    pub generic_dimension: Option<usize>,
    /// A lower bound for the dimension in the space of all parameters, from the symmetries.
    pub lower_bound: usize,
    /// The number of independent scalings.
    pub scalings: usize,
    /// `D` minus the functional dimension, and whether all linear regions were used.
    pub local: Option<(usize, bool)>,
    /// What was proved of the rank of the parameter Jacobian.
    pub rigidity: Option<Rigidity>,
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
    /// What is rigid in a network with more than three layers.
    pub deeper: Option<DeeperFacts>,
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

impl FiberSummary {
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
            "locally_identifiable": self.is_locally_identifiable(),
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
            "deeper": self.deeper.as_ref().map(deeper::value),
            "classes": self.classes.iter().map(class).collect::<Vec<_>>(),
            "latex": self.to_latex(),
        })
    }
}

impl FiberSummary {
    /// Whether the fiber near the parameter is the orbit of scalings: proved, refuted by a symmetry, or not decided.
    pub fn is_locally_identifiable(&self) -> Option<bool> {
        let proved = self.rigidity.as_ref().is_some_and(Rigidity::is_proved);
        if self.lower_bound > self.scalings { Some(false) } else { proved.then_some(true) }
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
