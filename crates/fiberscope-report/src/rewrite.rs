//! Rewritten networks: reduced, canonical, aligned. What was written, whether exactly, and what is known
//! where it is not.

use std::fmt::Write as _;
use std::path::Path;

use crate::Svg;
use crate::draw::graph::{Curve, Graph};
use crate::json::upper;
use crate::number::significant;
use crate::words::joined;
use anyhow::bail;
use fiberscope::align::{AlignError, Alignment, Barrier, Image, interpolation_barrier};
use fiberscope::canonical::Canonical;
use fiberscope::check::{Outcome, check};
use fiberscope::reduce::{DoubleReduction, Left, LeftStep};
use fiberscope_core::{Certificate, Domain, Matrix, Network, Rational, decimal};
use fiberscope_io::Names;
use serde_json::{Value, json};

use crate::equivalence::certify;

/// The steps that are left out of a text after so many.
const SHOWN: usize = 8;

/// A reduction with its proof.
pub struct Reduced {
    /// The reduction.
    pub reduction: DoubleReduction,
    /// Equality of the given and the reduced network, or a bound for their difference, checked; `None` if the
    /// parameters were rounded and the domain is not bounded.
    pub certificate: Option<Certificate>,
    before: Vec<usize>,
    on_box: bool,
    /// Whether no limit ended the reduction.
    complete: bool,
}

impl Reduced {
    /// Checks the certificate of a reduction of `given`; a refusal is an error that names a bug.
    pub fn new(
        reduction: DoubleReduction,
        given: &Network,
        domain: &Domain,
        complete: bool,
    ) -> anyhow::Result<Self> {
        let certificate = reduction.certificate(given, domain);
        if let Some(certificate) = &certificate
            && let Outcome::Refused(refusal) = check(certificate, given, &reduction.network)
        {
            bail!("the checker refuses the proof of the reduction, which is a bug: {refusal}");
        }
        let on_box = *domain != Domain::Space;
        Ok(Reduced { certificate, before: given.widths(), on_box, complete, reduction })
    }

    /// The facts with the keys of `fiberscope reduce --json`.
    pub fn to_json(&self) -> Value {
        let DoubleReduction { network, moves, rounding, rational_widths, .. } = &self.reduction;
        let bound = rounding.as_ref().map_or(Some(&Rational::ZERO), |rounded| rounded.bound.as_ref());
        let relative = rounding.as_ref().map_or(&Rational::ZERO, |rounded| &rounded.relative);
        let left = |each: &Left| {
            let neurons: Vec<usize> = each.units.iter().map(|unit| unit + 1).collect();
            json!({"layer": each.layer + 1, "neurons": neurons, "step": each.step.name()})
        };
        json!({
            "widths_before": self.before,
            "widths_after": network.widths(),
            "moves": moves,
            "exact": rounding.is_none(),
            "bound": bound.map(upper),
            "relative": upper(relative),
            "certified": self.certificate.is_some(),
            "complete": self.complete,
            "rational_widths": rational_widths,
            "left": self.reduction.left.iter().map(left).collect::<Vec<_>>(),
        })
    }

    /// The facts in words.
    pub fn text(&self) -> String {
        let DoubleReduction { network, moves, rounding, rational_widths, left } = &self.reduction;
        let mut text = format!("{} -> {} in ", joined(&self.before, "-"), joined(&network.widths(), "-"));
        text += &match moves.moves().len() {
            1 => "1 move".to_owned(),
            n => format!("{n} moves"),
        };
        match rounding {
            None => text += ", exactly (certificate checked)\n",
            Some(rounded) => {
                let relative = decimal::upper(&rounded.relative);
                let _ = writeln!(text, ", then rounded to doubles: the function is not kept exactly");
                let _ = writeln!(text, "rounding changed parameters by at most {relative} of their size");
                match &rounded.bound {
                    Some(bound) => {
                        let _ = writeln!(
                            text,
                            "the outputs differ by at most {} on the box (certificate checked)",
                            decimal::upper(bound)
                        );
                    }
                    None => text += "no bound for the outputs: the domain is not bounded\n",
                }
            }
        }
        if let (None, Some(smaller)) = (rounding, rational_widths) {
            let _ = writeln!(
                text,
                "a reduction to {} has parameters that are no doubles, whatever scales were tried; it was left where that is so",
                joined(smaller, "-")
            );
            for each in left.iter().take(SHOWN) {
                let _ = writeln!(text, "  layer {}: {}", each.layer + 1, left_words(each));
            }
            if left.len() > SHOWN {
                let _ = writeln!(text, "  and {} more", left.len() - SHOWN);
            }
            let bound = if self.on_box { ", with a bound" } else { "" };
            let _ = writeln!(text, "--round takes these steps too and rounds the parameters{bound}");
        }
        text
    }
}

fn left_words(left: &Left) -> String {
    let units: Vec<String> = left.units.iter().take(SHOWN).map(|unit| (unit + 1).to_string()).collect();
    let more = if left.units.len() > SHOWN { ", ..." } else { "" };
    let units = units.join(", ") + more;
    match left.step {
        LeftStep::Merge => format!("neurons {units} are multiples of each other and were not merged"),
        LeftStep::Fold => "its neurons are linear and were not multiplied into the next layer".into(),
        _ => format!("the linear or cancelling neurons among {units} could be fewer"),
    }
}

/// A canonical form with the keys of `fiberscope canon --json`; `written` is what was written or is handed
/// over, if anything.
pub fn canonical_json(canonical: &Canonical, written: Option<&WrittenForm>) -> Value {
    let mut value = json!({
        "fingerprint": canonical.fingerprint,
        "class": canonical.class.name(),
        "complete": canonical.class.is_complete(),
        "meaning": canonical.class.meaning(),
        "moves": canonical.moves,
        "widths": canonical.network.widths(),
    });
    if let Some(written) = written {
        value["exact"] = json!(written.rounding.is_zero());
        value["relative"] = upper(&written.rounding);
    }
    value
}

/// A canonical form in words, without what was written.
pub fn canonical_text(canonical: &Canonical) -> String {
    let class = canonical.class;
    let (name, about, meaning) = (class.name(), class.about(), class.meaning());
    format!("fingerprint {}\nclass {name} ({about}): {meaning}\n", canonical.fingerprint)
}

/// A canonical representative in doubles.
pub struct WrittenForm {
    /// The network.
    pub network: Network,
    /// By how much rounding changed parameters, relative to their size: zero if they are exact.
    pub rounding: Rational,
}

impl WrittenForm {
    /// Rounds the representative where that is needed. Fails if a parameter is beyond the doubles.
    pub fn new(canonical: &Canonical) -> anyhow::Result<Self> {
        let (network, exact) = canonical.network.to_f64()?;
        let rounding = if exact {
            Rational::ZERO
        } else {
            fiberscope::orbit::relative_difference(&canonical.network.to_exact(), &network.to_exact())
        };
        Ok(WrittenForm { network: network.into_owned(), rounding })
    }

    /// That it was written to a file, and whether it is exact.
    pub fn written_text(&self, path: &Path) -> String {
        let mut text = format!("wrote {} ({})\n", path.display(), joined(&self.network.widths(), "-"));
        if !self.rounding.is_zero() {
            let _ = writeln!(
                text,
                "rounded to doubles, which changed parameters by at most {} of their size: the function of the file is not exactly the same",
                decimal::upper(&self.rounding)
            );
        }
        text
    }
}

/// Where a straight line between two networks is looked at for its barrier: at so many places.
const STEPS: usize = 20;

/// The barrier of the loss between two networks before and after an alignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Barriers {
    /// Before.
    pub before: Barrier,
    /// After.
    pub after: Barrier,
}

impl Barriers {
    /// The two heights for a terminal.
    pub fn to_text(&self) -> String {
        let [before, after] = [&self.before, &self.after].map(|barrier| significant(barrier.height, 4));
        format!(
            "interpolation barrier {before} -> {after}: how far the loss rises between A and B above its ends\n"
        )
    }

    /// Adds the heights and the losses along the way to the keys of `fiberscope align --json`.
    pub fn add_to(&self, value: &mut Value) {
        value["barrier_before"] = json!(self.before.height);
        value["barrier_after"] = json!(self.after.height);
        value["losses_before"] = json!(self.before.losses);
        value["losses_after"] = json!(self.after.losses);
    }

    /// The loss along the straight line from `A` to `B`, before and after the alignment.
    pub fn draw(&self) -> Svg {
        let curve = |name: &str, barrier: &Barrier| {
            let last = (barrier.losses.len() - 1).max(1) as f64;
            let points = barrier.losses.iter().enumerate().map(|(step, &loss)| (step as f64 / last, loss));
            let top = (barrier.height > 0.0).then(|| {
                let step = (barrier.at * last).round() as usize;
                (barrier.at, barrier.losses[step])
            });
            Curve { name: name.into(), points: points.collect(), breakpoints: top.into_iter().collect() }
        };
        Graph {
            title: "The loss between A and B".into(),
            x_label: "t: 0 is A, 1 is B".into(),
            y_label: "loss (squared distance)".into(),
            curves: vec![curve("B as it is", &self.before), curve("B aligned", &self.after)],
        }
        .draw()
    }
}

/// The images in the layers of two networks, as their files name them: those of one of them, or of both where they agree.
pub fn images(a: Option<&Names>, b: Option<&Names>) -> Vec<Vec<Image>> {
    let of_layer = |names: &Names, layer: usize| -> Vec<Image> {
        let parts = names.layers().get(layer).into_iter().flatten();
        parts.map(|part| Image::of_shape(&part.shape)).collect()
    };
    let depth = [a, b].into_iter().flatten().map(|names| names.layers().len()).max().unwrap_or(0);
    let layers = (0..depth).map(|layer| {
        let [of_a, of_b] = [a, b].map(|names| names.map(|names| of_layer(names, layer)));
        match (of_a, of_b) {
            (Some(of_a), Some(of_b)) if of_a != of_b => Vec::new(),
            (of_a, of_b) => of_a.or(of_b).unwrap_or_default(),
        }
    });
    layers.collect()
}

/// An alignment with its proof.
pub struct Aligned {
    /// The alignment.
    pub alignment: Alignment,
    /// That the result computes the function of `B`, checked; `None` if it was rounded.
    pub certificate: Option<Certificate>,
}

impl Aligned {
    /// Checks that the result is what the moves make of `b`, if it says so; a refusal is an error that names
    /// a bug.
    pub fn new(alignment: Alignment, b: &Network) -> anyhow::Result<Self> {
        let mut certificate = None;
        if alignment.exact {
            certificate = certify(b, &alignment.network, &alignment.moves, &Domain::Space);
            if certificate.is_none() {
                bail!("the checker refuses the proof of the alignment, which is a bug");
            }
        }
        Ok(Aligned { alignment, certificate })
    }

    /// The barrier of the loss between `a` and `b` before and after the alignment, on the points of a table.
    pub fn barrier(&self, a: &Network, b: &Network, points: &Matrix) -> Result<Barriers, AlignError> {
        let along = |b: &Network| interpolation_barrier(a, b, points, None, STEPS);
        Ok(Barriers { before: along(b)?, after: along(&self.alignment.network)? })
    }

    /// The facts with the keys of `fiberscope align --json`.
    pub fn to_json(&self) -> Value {
        let Alignment { moves, distance_before, distance_after, exact, rounded, relative, unmatched, .. } =
            &self.alignment;
        json!({
            "distance_before": distance_before,
            "distance_after": distance_after,
            "moves": moves,
            "exact": exact,
            "rounded": upper(rounded),
            "relative": relative.as_ref().map(upper),
            "certified": self.certificate.is_some(),
            "unmatched_layers": unmatched.iter().map(|layer| layer + 1).collect::<Vec<_>>(),
        })
    }

    /// The facts in words.
    pub fn text(&self) -> String {
        let Alignment { distance_before, distance_after, exact, rounded, relative, unmatched, .. } =
            &self.alignment;
        let mut text =
            format!("distance {} -> {}\n", significant(*distance_before, 4), significant(*distance_after, 4));
        match relative {
            Some(relative) if relative.is_zero() => {
                text += "B is A with neurons permuted and scaled, exactly\n";
            }
            Some(relative) => {
                let _ = writeln!(
                    text,
                    "B is A with neurons permuted and scaled, up to a relative difference of {} of the parameters",
                    decimal::upper(relative)
                );
            }
            None => {}
        }
        if !unmatched.is_empty() {
            let layers: Vec<usize> = unmatched.iter().map(|layer| layer + 1).collect();
            let _ = writeln!(
                text,
                "left in their order, as too many neurons that are no channels of an image: layer {}",
                joined(&layers, ", ")
            );
        }
        if *exact {
            text += "the result computes the function of B exactly (certificate checked)\n";
        } else {
            let _ = writeln!(
                text,
                "the result is B rewritten and rounded to doubles, which changed parameters by at most {} of their size",
                decimal::upper(rounded)
            );
        }
        text
    }
}
