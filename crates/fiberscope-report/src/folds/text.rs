//! What the folds say, in words.

use std::fmt::Write;

use fiberscope::complex::{Genericity, exact_region_bound};
use fiberscope::orbit::LayerRelabelling;
use fiberscope_core::{Neuron, Rational, decimal};

use super::{FoldAnswer, Matched, StoppedFolds};

/// What the theorem says.
const IDENTIFIED: &str =
    "the function determines the parameters among general networks, up to permutation and scaling";

impl StoppedFolds {
    /// The facts for a terminal.
    pub fn to_text(&self) -> String {
        let bound = decimal::upper(&exact_region_bound(&self.network));
        let transparent = match (self.transparency.opaque(), &self.transparency.unknown()[..]) {
            (None, []) => format!("yes ({} linear programs)", self.transparency.programs),
            (None, open) => {
                let layers: Vec<String> = open.iter().map(|l| (l + 1).to_string()).collect();
                format!(
                    "unknown for layer {} after {} linear programs",
                    layers.join(", "),
                    self.transparency.programs
                )
            }
            (Some((layer, x)), _) => off(layer, x),
        };
        let mut text = format!(
            "the cells are not listed: {}; there may be up to {bound} regions\n  transparent            {transparent}\n",
            self.reason
        );
        if let Some(missing) = self.missing() {
            let _ = writeln!(text, "  certified identifiable no: {missing}");
        }
        let Some(paths) = &self.paths else { return text };
        let layers: Vec<String> = (0..paths.points.len())
            .map(|l| format!("{} of {} in layer {}", paths.count(l), paths.points[l].len(), l + 1))
            .collect();
        let _ = writeln!(
            text,
            "  paths of full length   {} ({} linear programs)",
            layers.join(", "),
            paths.programs
        );
        let total: usize = paths.points.iter().map(Vec::len).sum();
        let lacking = total - (0..paths.points.len()).map(|l| paths.count(l)).sum::<usize>();
        let _ = match (self.is_identifiable_if_general(), paths.is_stopped) {
            (true, _) if self.is_general => writeln!(
                text,
                "  certified identifiable yes: it is general (independent rows of W_1 are all it takes with one hidden layer), and {IDENTIFIED}"
            ),
            (true, _) => writeln!(
                text,
                "  identifiable           yes if it is general, as all networks but a set of measure zero are: then {IDENTIFIED}"
            ),
            (false, true) => writeln!(
                text,
                "  identifiable           unknown: the time was up before all paths were looked for; {lacking} of {total} neurons lack one so far, and more time (--time-limit) may find them"
            ),
            (false, false) => writeln!(
                text,
                "  identifiable           unknown: {lacking} of {total} neurons lack a path; none was found where all neurons before are positive. Another --box, or the network without neurons that it does not need (fiberscope reduce), may have them all"
            ),
        };
        text
    }
}

/// Where a layer (from 0) is off.
fn off(layer: usize, x: &[Rational]) -> String {
    let near: Vec<f64> = x.iter().map(Rational::to_f64).collect();
    format!("no: layer {} is off at x = {near:?}", layer + 1)
}

/// Whether a network is general, and why if it is not.
fn general(genericity: &Genericity) -> String {
    let name = |n: &Neuron| format!("{} of layer {}", n.unit + 1, n.layer + 1);
    let mut reasons = Vec::new();
    if !genericity.zero_optima.is_empty() {
        let names: Vec<String> = genericity.zero_optima.iter().map(name).collect();
        reasons.push(format!("a local optimum of neuron {} is exactly 0", few(&names)));
    }
    if !genericity.proportional.is_empty() {
        let names: Vec<String> =
            genericity.proportional.iter().map(|(a, b)| format!("{} and {}", name(a), name(b))).collect();
        reasons.push(format!("on some regions proportional functions have neurons {}", few(&names)));
    }
    match genericity.rank_violations {
        0 => {}
        1 => reasons.push("masked products have too small a rank".to_owned()),
        n => reasons.push(format!("{n} masked products have too small a rank")),
    }
    match (reasons.is_empty(), genericity.masks_complete) {
        (false, _) => format!("no: {}", reasons.join("; ")),
        (true, true) => "yes".to_owned(),
        (true, false) => "yes, as far as masks were tried".to_owned(),
    }
}

/// The first ones of a list.
fn few(names: &[String]) -> String {
    const MOST: usize = 4;
    let mut text = names[..names.len().min(MOST)].join(", ");
    if names.len() > MOST {
        text += &format!(" and {} more", names.len() - MOST);
    }
    text
}

impl FoldAnswer {
    /// The facts for a terminal.
    pub fn to_text(&self) -> String {
        let FoldAnswer { folds, graph, genericity, certificate } = self;
        let mut text = format!(
            "fold-set of order {}: {} pieces, {} dependencies\n",
            folds.order(),
            folds.pieces.len(),
            graph.edges.len()
        );
        for level in 1..=folds.order() {
            let count = folds.pieces.iter().filter(|piece| piece.level == level).count();
            let _ = writeln!(text, "  {:<22} {count} pieces", format!("level {level}"));
        }
        if folds.left_over > 0 {
            let _ = writeln!(
                text,
                "  left over              {} visible facets that no step reaches",
                folds.left_over
            );
        }
        let transversal = match genericity.transversality_violations {
            0 => "yes".to_owned(),
            n => format!("no ({n} cells lie on more bent hyperplanes than their codimension)"),
        };
        let _ = writeln!(text, "  supertransversal       {transversal}");
        let masks = match (genericity.masks_checked, genericity.masks_complete) {
            (1, true) => "one hidden layer: the rows of W_1 tell".to_owned(),
            (checked, true) => format!("all {checked} masks"),
            (checked, false) => format!("{checked} of the masks"),
        };
        let maximal = match genericity.rank_violations {
            0 => "yes".to_owned(),
            1 if genericity.masks_checked == 1 => "no".to_owned(),
            1 => "no: 1 product is deficient".into(),
            n => format!("no: {n} products are deficient"),
        };
        let _ = writeln!(text, "  maximal masked ranks   {maximal} ({masks})");
        let _ = writeln!(text, "  general                {}", general(genericity));
        match &genericity.opaque {
            None => {
                let _ =
                    writeln!(text, "  transparent            yes ({} linear programs)", genericity.programs);
            }
            Some((layer, x)) => {
                let _ = writeln!(text, "  transparent            {}", off(*layer, x));
            }
        }
        let _ = match certificate.missing() {
            None if self.is_certified() => writeln!(text, "  certified identifiable yes: {IDENTIFIED}"),
            None => writeln!(
                text,
                "  identifiable           yes if all masked products have maximal rank, as those of all networks but a set of measure zero have: then {IDENTIFIED}"
            ),
            Some(missing) => writeln!(text, "  certified identifiable no: {missing}"),
        };
        text
    }
}

impl Matched {
    /// Whether the second network is the first, relabelled; `None` if that is open.
    pub fn holds(&self) -> Option<bool> {
        match self {
            Matched::Relabelled { .. } | Matched::Nearly { .. } => Some(true),
            Matched::Different(_) | Matched::Unmatched { certain: true, .. } => Some(false),
            Matched::Unmatched { certain: false, .. } => None,
        }
    }

    /// Why the folds did not tell what the parameters do.
    pub fn note(&self) -> Option<String> {
        match self {
            Matched::Relabelled { open: Some(reason), .. } => {
                Some(format!("{reason}; the parameters themselves match"))
            }
            _ => None,
        }
    }

    /// The answer for a terminal.
    pub fn to_text(&self) -> String {
        match self {
            Matched::Different(x) => {
                format!("the functions differ: near x = {x:?} the first bends and the second is affine\n")
            }
            Matched::Unmatched { reason, certain: true } => format!(
                "no permutation and scaling of neurons turns the first network into the second, as the parameters show; from the folds: {reason}\n"
            ),
            Matched::Unmatched { reason, certain: false } => format!(
                "undecided: no permutation and scaling of neurons that turns the first network into the second was found, and neurons that are \
                 zero or multiples of each other leave open whether there is one: {reason}\n"
            ),
            Matched::Relabelled { layers, open } => {
                let read = if open.is_none() { "read off the folds" } else { "read off the parameters" };
                let text = format!(
                    "the second network is the first with neurons permuted and scaled, exactly ({read})\n"
                );
                text + &relabellings(layers)
            }
            Matched::Nearly { layers, relative, bends_at, from_folds } => {
                let read = if *from_folds { "read off the folds" } else { "read off the parameters" };
                let mut text = format!(
                    "the second network is the first with neurons permuted and scaled, up to a relative difference of {} of the parameters ({read})\n",
                    decimal::upper(relative)
                );
                if let Some(x) = bends_at {
                    let _ = writeln!(
                        text,
                        "not exactly: near x = {x:?} the first function bends and the second is affine"
                    );
                }
                text + &relabellings(layers)
            }
        }
    }
}

/// One line per hidden layer.
fn relabellings(layers: &[LayerRelabelling]) -> String {
    let mut text = String::new();
    for (l, layer) in layers.iter().enumerate() {
        let order: Vec<String> = layer.order.iter().map(|i| (i + 1).to_string()).collect();
        let scales: Vec<String> = layer.scales().iter().map(shown).collect();
        let _ = writeln!(
            text,
            "  layer {}   neurons go to {}; scaled by {}",
            l + 1,
            order.join(", "),
            scales.join(", ")
        );
    }
    text
}

/// A fraction if it is short, otherwise its double; the JSON has all digits.
fn shown(x: &Rational) -> String {
    const LENGTH: usize = 9;
    let text = x.to_string();
    if text.len() <= LENGTH { text } else { format!("{:?}", x.to_f64()) }
}
