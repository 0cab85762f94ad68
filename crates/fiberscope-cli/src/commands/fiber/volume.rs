//! `fiberscope volume`

use fiberscope_core::{Rational, decimal};
use fiberscope_report::volume::VolumeAnswer;

use super::args::VolumeArgs;
use crate::Answer;
use crate::args::Global;
use crate::output::Output;

/// Fractions up to this many characters are printed in text; JSON has them whole.
const SHORT: usize = 72;

pub fn run(args: &VolumeArgs, global: &Global, output: &Output) -> anyhow::Result<Answer> {
    let answer = VolumeAnswer::new(&args.widths, args.samples, global.seed, &global.deadline())?;
    let VolumeAnswer { found, estimate, .. } = &answer;
    // Writing a number of millions of digits may take long.
    output
        .know(format!("the fraction is about {}", near_one(&found.exact, Rational::to_f64, decimal::upper)));
    let fraction = found.exact.to_string();
    let shown = if fraction.len() <= SHORT {
        fraction
    } else {
        format!("a fraction of {} digits (--json prints it)", fraction.len() - 1)
    };
    let estimate = match estimate.samples {
        0 => "none: a limit was reached".into(),
        samples => format!("{} +- {:.1e} ({samples} parameters)", estimate.estimate, estimate.error),
    };
    let names = args.widths.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let text = format!(
        "identifiable parameters of widths {names}\n  formula       (1 - 2^-n_1)^n_2 - n_1 2^(-(n_1 + 1) n_2)\n  exact         {shown}\n  decimal       {}\n  1 - decimal   {:.6e}\n  bounds        {} to {}\n  Monte Carlo   {estimate}\n",
        found.exact.to_f64(),
        answer.rest().to_f64(),
        near_one(&found.lower, decimal::lower_f64, decimal::upper),
        near_one(&found.upper, decimal::upper_f64, decimal::lower),
    );
    output.result(&text, &answer.to_json())?;
    Ok(Answer::Yes)
}

/// A bound as a decimal, rounded to its side; one that rounds to 1 by its distance from it, rounded to the other.
fn near_one(x: &Rational, round: fn(&Rational) -> f64, distance: fn(&Rational) -> String) -> String {
    match x.to_f64() {
        value if value == 1.0 && *x != Rational::ONE => format!("1 - {}", distance(&(&Rational::ONE - x))),
        _ => round(x).to_string(),
    }
}
