//! What the folds say, in words.

use std::fmt::Write;

use fiberscope::complex::exact_region_bound;
use fiberscope::orbit::LayerRelabelling;
use fiberscope_core::{Rational, decimal};

use super::{FoldAnswer, Matched, StoppedFolds};

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
        format!(
            "stopped at a limit: more than {} regions or out of time; there may be up to {bound}\n  transparent            {transparent}\n",
            self.most
        )
    }
}

/// Where a layer (from 0) is off.
fn off(layer: usize, x: &[Rational]) -> String {
    let near: Vec<f64> = x.iter().map(Rational::to_f64).collect();
    format!("no: layer {} is off at x = {near:?}", layer + 1)
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
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
            let _ = writeln!(text, "  level {level}                {count} pieces");
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
        let masks = if genericity.masks_complete { "all" } else { "random" };
        let _ = writeln!(
            text,
            "  maximal masked ranks   {} ({} {masks} masks)",
            match genericity.rank_violations {
                0 => "yes".to_owned(),
                n => format!("no: {n} products are deficient"),
            },
            genericity.masks_checked
        );
        let _ = writeln!(text, "  general                {}", yes(genericity.is_general()));
        match &genericity.opaque {
            None => {
                let _ =
                    writeln!(text, "  transparent            yes ({} linear programs)", genericity.programs);
            }
            Some((layer, x)) => {
                let _ = writeln!(text, "  transparent            {}", off(*layer, x));
            }
        }
        match certificate.missing() {
        None => text.push_str("  certified identifiable yes: the function determines the parameters among general networks, up to permutation and scaling\n"),
        Some(missing) => {
            let _ = writeln!(text, "  certified identifiable no: {missing}");
        }
    }
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
                "no permutation and scaling of neurons turns the first network into the second: {reason}\n"
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
            Matched::Nearly { layers, relative, bends_at } => {
                let mut text = format!(
                    "the second network is the first with neurons permuted and scaled, up to a relative difference of {} of the parameters\n",
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
    const LENGTH: usize = 20;
    let text = x.to_string();
    if text.len() <= LENGTH { text } else { format!("{:?}", x.to_f64()) }
}
