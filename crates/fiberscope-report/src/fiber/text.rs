//! The description of a fiber as text.

use super::formula::{affine_form, matrix_text, vector_text};
use super::{FiberSummary, deeper};
use crate::number::{grouped, short};
use crate::rigidity;
use crate::text::Lines;
use crate::words::{self, answer};

/// What the software does not look for.
const NOT_COVERED: &str = "not covered: symmetries of several layers at once other than hidden hyperplanes, groups of neurons that cancel only together, and neurons that are dead or linear but not by signs, interval bounds or, for dead ones, because those that could turn them on are outweighed";

/// What tells more where the theory does not cover a network.
const ASK_NEXT: &str = "fiberscope folds MODEL --box LO,HI: whether the function determines the parameters among general networks; fiberscope reduce MODEL -o OUT: fewer neurons may fit the theory; fiberscope funcdim MODEL: the local dimension with more regions (--samples)";

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
        if let (None, Some((upper, complete))) = (&self.case, self.local) {
            out.fact("gap", &self.gap_text(upper, complete));
        }
        if let Some(sentence) = self.local_sentence() {
            out.fact("locally", &format!("identifiable: {sentence}"));
        }
        if let Some(facts) = &self.deeper {
            let [hyperplanes, rigid] = deeper::sentences(facts);
            out.fact("hyperplanes", &hyperplanes);
            out.fact("rigid", &rigid);
        }
        for symmetry in &self.symmetries {
            out.fact("symmetry", symmetry);
        }
        if self.case.is_none() {
            out.fact("", NOT_COVERED);
            out.fact("ask next", ASK_NEXT);
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

    /// Whether the fiber near the parameter is the orbit of scalings, in words.
    pub(crate) fn local_sentence(&self) -> Option<String> {
        let found = self.rigidity.as_ref()?;
        let answer = answer(self.is_locally_identifiable());
        Some(match self.is_locally_identifiable() {
            Some(false) => format!("{answer}: there are symmetries beyond permutation and scaling, below"),
            _ => format!("{answer}: {}", rigidity::sentence(found)),
        })
    }

    /// Why the bounds of the dimension differ, if they do.
    fn gap_text(&self, upper: usize, complete: bool) -> String {
        let gap = upper.saturating_sub(self.lower_bound);
        match (gap, complete) {
            (0, _) => "none: near the parameter the symmetries below are all of the fiber".to_owned(),
            (gap, false) => format!(
                "{gap}: regions that were not sampled may raise the rank, or a symmetry below is missing"
            ),
            (gap, true) => format!(
                "{gap}: the function is constant to first order in {gap} more directions than the symmetries below have; a symmetry is missing, or the fiber is not smooth here"
            ),
        }
    }

    /// What stands before the local dimension: it is an upper bound unless the fiber is smooth at the
    /// parameter.
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
            let t = short(&hidden.least);
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
}

/// `2^n`, written out where that is short.
pub(super) fn power_of_two(exponent: usize) -> String {
    if exponent < 40 { grouped(1 << exponent).replace(',', "") } else { format!("2^{exponent}") }
}
