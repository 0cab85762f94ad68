//! `fiberscope volume`

use fiberscope::fiber::{monte_carlo, volume};
use fiberscope_core::Rational;
use serde_json::json;

use super::args::VolumeArgs;
use crate::Answer;
use crate::args::Global;
use crate::output::Output;

/// Fractions up to this many characters are printed in text; JSON has them whole.
const SHORT: usize = 72;

pub fn run(args: &VolumeArgs, global: &Global, output: &Output) -> anyhow::Result<Answer> {
    let found = volume(&args.widths)?;
    let bits = ((args.widths[1] + 1) * args.widths[2]) as u64;
    let samples = args.samples.unwrap_or_else(|| (200_000_000 / bits).clamp(1000, 200_000));
    let estimate = monte_carlo(&args.widths, samples, global.seed)?;
    let rest = &Rational::ONE - &found.exact;
    let fraction = found.exact.to_string();
    let shown = if fraction.len() <= SHORT {
        fraction.clone()
    } else {
        format!("a fraction of {} digits (--json prints it)", fraction.len() - 1)
    };
    let names = args.widths.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let text = format!(
        "identifiable parameters of widths {names}\n  formula       (1 - 2^-n_1)^n_2 - n_1 2^(-(n_1 + 1) n_2)\n  exact         {shown}\n  decimal       {}\n  1 - decimal   {:.6e}\n  bounds        {} to {}\n  Monte Carlo   {} +- {:.1e} ({samples} parameters)\n",
        found.exact.to_f64(),
        rest.to_f64(),
        near_one(&found.lower),
        near_one(&found.upper),
        estimate.estimate,
        estimate.error,
    );
    let value = json!({
        "widths": args.widths,
        "exact": fraction,
        "decimal": found.exact.to_f64(),
        "complement": rest.to_f64(),
        "lower": found.lower.to_f64(),
        "upper": found.upper.to_f64(),
        "monte_carlo": estimate.estimate,
        "monte_carlo_error": estimate.error,
        "monte_carlo_samples": samples,
    });
    output.result(&text, &value)?;
    Ok(Answer::Yes)
}

/// A number as a decimal; one that rounds to 1 by its distance from it.
fn near_one(x: &Rational) -> String {
    match x.to_f64() {
        value if value == 1.0 && *x != Rational::ONE => format!("1 - {:.6e}", (&Rational::ONE - x).to_f64()),
        value => value.to_string(),
    }
}
