//! A bound for the difference of two aligned networks on a bounded domain.
//!
//! Lemma. Let `a_l, a'_l` be the activations of two networks of equal widths and activations, and
//! `d_l >= abs(a_l - a'_l)`, `d_0 = 0`. Since `z_l - z'_l = (W_l - W'_l) a_{l-1} + W'_l (a_{l-1} - a'_{l-1}) + b_l - b'_l`,
//!
//! ```text
//! abs(z_l - z'_l) <= abs(W_l - W'_l) abs(a_{l-1}) + abs(W'_l) d_{l-1} + abs(b_l - b'_l),
//! ```
//!
//! and relu and the identity do not increase differences. Rounding any `d_l` upwards keeps it a bound.
//!
//! A nudge leaves widths and activations as they are, so the lemma bounds by how much it changes the
//! function; moves change nothing. By the triangle inequality the changes along both chains and the
//! difference of the results add up to a bound for `abs(f_A - f_B)`.

use fiberscope_core::{Domain, ExactNetwork, Interval, Rational, RoundingStep};

use crate::{Refusal, apply_moves, refuse};

/// The length of the numbers `d_l`.
const BITS: u32 = 64;

/// Checks that the outputs differ by at most `bound` on the domain.
pub fn verify(a: &ExactNetwork, b: &ExactNetwork, domain: &Domain, bound: &Rational) -> Result<(), Refusal> {
    within(difference_bound(a, b, domain)?, bound)
}

/// Checks that the changes along both chains and the difference of the results add up to at most `bound`.
pub fn verify_nudged(
    (a, steps_a): (&ExactNetwork, &[RoundingStep]),
    (b, steps_b): (&ExactNetwork, &[RoundingStep]),
    domain: &Domain,
    bound: &Rational,
) -> Result<(), Refusal> {
    let (a, changed_a) = follow("A", a, steps_a, domain)?;
    let (b, changed_b) = follow("B", b, steps_b, domain)?;
    within(&(&changed_a + &changed_b) + &difference_bound(&a, &b, domain)?, bound)
}

/// The network after the steps, and a bound for the change of its outputs.
fn follow(
    name: &str,
    network: &ExactNetwork,
    steps: &[RoundingStep],
    domain: &Domain,
) -> Result<(ExactNetwork, Rational), Refusal> {
    let (mut network, mut change) = (network.clone(), Rational::ZERO);
    for (place, step) in steps.iter().enumerate() {
        match step {
            RoundingStep::Moves(moves) => apply_moves(name, &mut network, moves, domain)?,
            RoundingStep::Nudge(nudge) => {
                let mut nudged = network.clone();
                nudge.apply(&mut nudged).or_else(|error| {
                    refuse(format!("step {} on {name} (nudge)", place + 1), error.to_string())
                })?;
                change += &difference_bound(&network, &nudged, domain)?;
                network = nudged;
            }
        }
    }
    Ok((network, change))
}

fn within(computed: Rational, bound: &Rational) -> Result<(), Refusal> {
    if computed > *bound {
        let (computed, bound) = (computed.to_f64(), bound.to_f64());
        return refuse(
            "bound",
            format!("the propagated bound is {computed:e}; it must be at most {bound:e}"),
        );
    }
    Ok(())
}

/// The bound of the lemma for the outputs.
pub fn difference_bound(a: &ExactNetwork, b: &ExactNetwork, domain: &Domain) -> Result<Rational, Refusal> {
    let step = "comparison after the moves";
    if a.widths() != b.widths() {
        return refuse(step, format!("A became a network of widths {:?}, B of {:?}", a.widths(), b.widths()));
    }
    let mut difference = vec![Rational::ZERO; a.input_width()];
    let layers = a.layers().iter().zip(b.layers()).zip(a.activation_ranges(domain));
    for (l, ((of_a, of_b), inputs)) in layers.enumerate() {
        if of_a.activation() != of_b.activation() {
            return refuse(step, format!("layer {} has different activations", l + 1));
        }
        let sizes: Option<Vec<_>> = inputs.iter().map(Interval::magnitude).collect();
        let Some(sizes) = sizes else {
            return refuse("domain", "a bound on the difference needs a box that is bounded on all sides");
        };
        let row_bound = |i: usize| -> Rational {
            let rows = of_a.weight().row(i).iter().zip(of_b.weight().row(i));
            let terms = rows
                .zip(sizes.iter().zip(&difference))
                .map(|((w, w_b), (size, d))| &(&(w - w_b).abs() * size) + &(&w_b.abs() * d));
            let total = (&of_a.bias()[i] - &of_b.bias()[i]).abs() + terms.sum::<Rational>();
            total.round_up(BITS)
        };
        difference = (0..of_a.width()).map(row_bound).collect();
    }
    Ok(difference.into_iter().max().expect("a network has outputs"))
}
