//! The fraction of parameters that their function identifies: text and JSON.

use fiberscope::fiber::{MonteCarlo, Volume, VolumeError, check_widths, monte_carlo, volume};
use fiberscope::limit::Deadline;
use fiberscope_core::{Rational, decimal};
use serde_json::{Value, json};

use crate::number::significant;
use crate::words::joined;

/// Fractions up to this many characters are printed in text; JSON has them whole.
const SHORT: usize = 72;

/// The fraction and an estimate of it.
pub struct VolumeAnswer {
    /// The widths.
    pub widths: Vec<usize>,
    /// The fraction and its bounds.
    pub found: Volume,
    /// The estimate from random parameters.
    pub estimate: MonteCarlo,
}

impl VolumeAnswer {
    /// Computes the fraction; without a number of samples as many are drawn as take about a second, and fewer
    /// if the time is up.
    pub fn new(
        widths: &[usize],
        samples: Option<u64>,
        seed: u64,
        deadline: &Deadline,
    ) -> Result<Self, VolumeError> {
        let found = volume(widths)?;
        let samples = samples_for(widths, samples)?;
        let estimate = monte_carlo(widths, samples, seed, deadline)?;
        Ok(VolumeAnswer { widths: widths.to_vec(), found, estimate })
    }

    /// The fraction of parameters that are not identified.
    pub fn rest(&self) -> Rational {
        &Rational::ONE - &self.found.exact
    }

    /// About how large the fraction is, in a sentence.
    pub fn known(&self) -> String {
        format!("the fraction is about {}", near_one(&self.found.exact, Rational::to_f64, decimal::upper))
    }

    /// The facts for a terminal.
    pub fn to_text(&self) -> String {
        let fraction = self.found.exact.to_string();
        let shown = if fraction.len() <= SHORT {
            fraction
        } else {
            format!("a fraction of {} digits (--json prints it)", fraction.len() - 1)
        };
        let MonteCarlo { samples, estimate, error, .. } = &self.estimate;
        let estimate = match samples {
            0 => "none: a limit was reached".into(),
            _ => format!("{estimate} +- {} ({samples} parameters)", significant(*error, 2)),
        };
        let names = joined(&self.widths, ",");
        format!(
            "identifiable parameters of widths {names}\n  formula       (1 - 2^-n_1)^n_2 - n_1 2^(-(n_1 + 1) n_2)\n  exact         {shown}\n  decimal       {}\n  1 - decimal   {}\n  bounds        {} to {}\n  Monte Carlo   {estimate}\n",
            self.found.exact.to_f64(),
            decimal::nearest(&self.rest(), 7),
            near_one(&self.found.lower, decimal::lower_f64, decimal::upper),
            near_one(&self.found.upper, decimal::upper_f64, decimal::lower),
        )
    }

    /// The facts with the keys of `fiberscope volume --json`.
    pub fn to_json(&self) -> Value {
        let drawn = self.estimate.samples > 0;
        json!({
            "widths": self.widths,
            "exact": self.found.exact.to_string(),
            "decimal": self.found.exact.to_f64(),
            "complement": self.rest().to_f64(),
            "lower": decimal::lower_f64(&self.found.lower),
            "upper": decimal::upper_f64(&self.found.upper),
            "monte_carlo": drawn.then_some(self.estimate.estimate),
            "monte_carlo_error": drawn.then_some(self.estimate.error),
            "monte_carlo_samples": self.estimate.samples,
        })
    }
}

/// How many parameters are drawn for these widths: as many as take about a second, if nobody says it.
pub fn samples_for(widths: &[usize], samples: Option<u64>) -> Result<u64, VolumeError> {
    check_widths(widths)?;
    let bits = ((widths[1] + 1) * widths[2]) as u64;
    Ok(samples.unwrap_or_else(|| (200_000_000 / bits).clamp(1000, 200_000)))
}

/// A bound as a decimal, rounded to its side; one that rounds to 1 by its distance from it, rounded to the
/// other.
fn near_one(x: &Rational, round: fn(&Rational) -> f64, distance: fn(&Rational) -> String) -> String {
    match x.to_f64() {
        value if value == 1.0 && *x != Rational::ONE => format!("1 - {}", distance(&(&Rational::ONE - x))),
        _ => round(x).to_string(),
    }
}
