//! Points and paths of a fiber, each compared with the given network.

use anyhow::Context;
use fiberscope::equivalence::{Difference, EquivalenceError, EquivalenceOptions, Verdict, decide};
use fiberscope::fiber::{Fiber, FiberComponent, FiberPath, FiberPoint, FiberSampler, Orientation, Piece};
use fiberscope_core::{Domain, Network, Rational, decimal};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::Subject;
use crate::Say;
use crate::number::significant_upper;

/// How often an exact point is looked for.
const TRIES: usize = 2000;

/// The piece that signs and a number of linear neurons name. Without signs that of the given parameter, if it
/// lies in one, else the first piece with points, generic ones before others; without a number the given
/// parameter's own, if it has these signs, else the smallest with which there are points.
pub fn piece(fiber: &Fiber, signs: Option<&str>, linear: Option<usize>) -> anyhow::Result<Piece> {
    let own = fiber.own().ok().filter(|own| linear.is_none_or(|linear| own.linear == linear));
    let Some(text) = signs else {
        return own.or_else(|| first_piece(fiber, linear)).context(
            "the network lies in no piece, and no piece with points was found; name one with its orientation",
        );
    };
    let length = fiber.sign_count();
    let orientation = Orientation::parse(text)
        .filter(|orientation| orientation.active().len() == length)
        .with_context(|| {
            format!(
                "orientation {text}: expected + or - for each of {length} {}",
                if fiber.layer().is_some() { "hyperplanes" } else { "neurons of layer 1" }
            )
        })?;
    if let Some(linear) = linear {
        return Ok(Piece { orientation, linear });
    }
    if let Some(own) = own.filter(|own| own.orientation == orientation) {
        return Ok(own);
    }
    let all = fiber.components_of(&orientation);
    let chosen = all.iter().find(|component| !component.is_empty()).or(all.first());
    Ok(chosen.map_or(Piece { orientation, linear: 0 }, FiberComponent::piece))
}

/// The first piece with points, generic ones before others; `None` if there is none, or there are too many
/// pieces.
fn first_piece(fiber: &Fiber, linear: Option<usize>) -> Option<Piece> {
    fiber.count()?;
    let pieces = |generic: bool| {
        fiber.components().find(|component| {
            !component.is_empty()
                && (component.generic == Some(true)) == generic
                && linear.is_none_or(|linear| component.linear == linear)
        })
    };
    pieces(true).or_else(|| pieces(false)).map(|component| component.piece())
}

/// Hands `count` random points of a piece to `keep`, fewer if the time is up; with `exact` only such whose
/// doubles lie in the fiber exactly.
pub fn sample(
    subject: &Subject,
    sampler: &FiberSampler,
    (count, exact): (usize, bool),
    say: Say,
    mut keep: impl FnMut(Network) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut rng = ChaCha8Rng::seed_from_u64(subject.seed);
    let mut draw = || -> anyhow::Result<FiberPoint> {
        if !exact {
            return sampler.sample(&mut rng).with_context(|| {
                format!("{}: the numbers of the piece's points are beyond the doubles", subject.name)
            });
        }
        let exact = (0..TRIES).map_while(|_| sampler.sample(&mut rng)).find(|point| point.exact);
        exact.with_context(|| {
            format!(
                "{}: no point of the piece was found whose doubles lie in the fiber exactly; do not ask for exact ones",
                subject.name
            )
        })
    };
    for k in 0..count {
        say(&format!("point {} of {count}", k + 1));
        if subject.deadline.is_past() {
            break;
        }
        keep(draw()?.network)?;
    }
    Ok(())
}

/// Hands the `steps + 1` points of a path to `keep`, fewer if the time is up.
pub fn path(
    subject: &Subject,
    path: &FiberPath,
    steps: u32,
    say: Say,
    mut keep: impl FnMut(Network) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for k in 0..=steps {
        say(&format!("point {} of {}", k + 1, steps + 1));
        if subject.deadline.is_past() {
            break;
        }
        let point = path.at(&(&Rational::from(i64::from(k)) / &Rational::from(i64::from(steps))))?;
        keep(point.to_f64()?.0)?;
    }
    Ok(())
}

/// How points compare with the given network.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Points that compute the same function exactly.
    pub exact: usize,
    /// Points that compute it up to rounding on the part of `[-1, 1]^n` in the domain.
    pub rounded: usize,
    /// Points for which neither was proved.
    pub unproved: usize,
    /// The largest difference of outputs that was proved or seen there.
    pub largest: f64,
}

impl Comparison {
    /// How many points compute the function, and how far apart the outputs are, as text.
    pub fn to_text(&self) -> String {
        let Comparison { exact, rounded, unproved, largest } = *self;
        let mut text = format!(
            "{exact} compute the same function exactly, {rounded} up to rounding (by equiv, certificates checked)\n"
        );
        if unproved > 0 {
            text += &format!("{unproved} were rounded and no bound was proved for them\n");
        }
        if rounded + unproved > 0 {
            text += &format!(
                "the outputs differ by at most {} for inputs of size at most 1{}\n",
                significant_upper(largest, 4),
                if unproved > 0 { " where that was looked at" } else { "" }
            );
        }
        text
    }

    /// The same with the keys of `fiberscope fiber --sample --json`; `files` are those of the points.
    pub fn to_json(&self, files: &[String]) -> Value {
        json!({
            "files": files, "max_difference": self.largest, "exact": self.exact,
            "up_to_rounding": self.rounded, "unproved": self.unproved, "connected": true,
        })
    }

    /// Compares a point with the given network.
    pub fn add(&mut self, subject: &Subject, network: &Network) -> Result<(), EquivalenceError> {
        let options = EquivalenceOptions::new().deadline(subject.deadline.clone()).seed(subject.seed);
        let decision = decide(&subject.network, network, &subject.domain(), &options)?;
        match decision.verdict {
            Verdict::Equivalent { .. } => self.exact += 1,
            Verdict::EquivalentUpToRounding { .. } | Verdict::Different { .. } => {
                self.add_rounded(subject, network, &options)?;
            }
            Verdict::Undecided { .. } => self.unproved += 1,
        }
        Ok(())
    }

    /// A point whose parameters were rounded: a bound for the outputs needs a box, which is the part of
    /// `[-1, 1]^n` in the domain.
    fn add_rounded(
        &mut self,
        subject: &Subject,
        network: &Network,
        options: &EquivalenceOptions,
    ) -> Result<(), EquivalenceError> {
        let sides = subject.domain().sides(network.input_width());
        let bounds: Vec<_> =
            sides.iter().map(|side| (if side.lower.is_some() { 0.0 } else { -1.0 }, 1.0)).collect();
        let domain = Domain::from_bounds(&bounds).unwrap_or(Domain::Space);
        match decide(&subject.network, network, &domain, options)?.verdict {
            Verdict::Equivalent { .. } => self.rounded += 1,
            Verdict::EquivalentUpToRounding { agreement, .. } => {
                self.rounded += 1;
                self.largest = self.largest.max(agreement.bound().map_or(0.0, decimal::upper_f64));
            }
            Verdict::Different { x, a, b, .. } => {
                self.unproved += 1;
                self.largest = self.largest.max(decimal::upper_f64(&Difference { x, a, b }.size()));
            }
            Verdict::Undecided { .. } => self.unproved += 1,
        }
        Ok(())
    }
}
