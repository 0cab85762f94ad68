//! The fraction of parameters that their function identifies.

use fiberscope::fiber::{MonteCarlo, Volume, VolumeError, monte_carlo, volume};
use fiberscope::limit::Deadline;
use fiberscope_core::{Rational, decimal};
use serde_json::{Value, json};

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
    /// Computes the fraction; without a number of samples as many are drawn as take about a second, and fewer if the time is up.
    pub fn new(
        widths: &[usize],
        samples: Option<u64>,
        seed: u64,
        deadline: &Deadline,
    ) -> Result<Self, VolumeError> {
        let found = volume(widths)?;
        let bits = ((widths[1] + 1) * widths[2]) as u64;
        let samples = samples.unwrap_or_else(|| (200_000_000 / bits).clamp(1000, 200_000));
        let estimate = monte_carlo(widths, samples, seed, deadline)?;
        Ok(VolumeAnswer { widths: widths.to_vec(), found, estimate })
    }

    /// The fraction of parameters that are not identified.
    pub fn rest(&self) -> Rational {
        &Rational::ONE - &self.found.exact
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
