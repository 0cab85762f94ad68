//! A bound for the difference of two aligned networks on a bounded domain.
//!
//! Lemma. Let `a_l, a'_l` be the activations of two networks of equal widths and activations, and
//! `d_l >= abs(a_l - a'_l)`, `d_0 = 0`. Since
//! `z_l - z'_l = (W_l - W'_l) a_{l-1} + W'_l (a_{l-1} - a'_{l-1}) + b_l - b'_l`,
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

use fiberscope_core::decimal::shortest;
use fiberscope_core::{
    Domain, ExactNetwork, Interval, Network, ProductSum, Rational, RoundingStep, side_by_side,
};

use crate::{End, Stop, apply_moves, check_lengths, go_on, refuse, short_number, widths_differ};

/// The length of the numbers `d_l`.
const BITS: u32 = 64;

/// Checks that the outputs differ by at most `bound` on the domain.
pub fn verify(
    a: &ExactNetwork,
    b: &ExactNetwork,
    domain: &Domain,
    bound: &Rational,
    stop: Stop,
) -> Result<(), End> {
    within(difference_bound(a, b, domain, stop)?, bound)
}

/// Checks that the changes along both chains and the difference of the results add up to at most `bound`.
pub fn verify_nudged(
    (a, steps_a): (&Network, &[RoundingStep]),
    (b, steps_b): (&Network, &[RoundingStep]),
    domain: &Domain,
    bound: &Rational,
    stop: Stop,
) -> Result<(), End> {
    let (a, changed_a) = follow("A", a, steps_a, domain, stop)?;
    let (b, changed_b) = follow("B", b, steps_b, domain, stop)?;
    within(&(&changed_a + &changed_b) + &difference_bound(&a, &b, domain, stop)?, bound)
}

/// The network after the steps, and a bound for the change of its outputs.
fn follow(
    name: &str,
    given: &Network,
    steps: &[RoundingStep],
    domain: &Domain,
    stop: Stop,
) -> Result<(ExactNetwork, Rational), End> {
    let (mut network, mut change) = (given.to_exact(), Rational::ZERO);
    let parameters = given.stored_count();
    for (place, step) in steps.iter().enumerate() {
        match step {
            RoundingStep::Moves(moves) => {
                apply_moves(name, &mut network, moves, domain, (parameters, stop))?;
            }
            RoundingStep::Nudge(nudge) => {
                let mut nudged = network.clone();
                let applied = nudge.apply(&mut nudged).map_err(|error| error.to_string());
                applied
                    .and_then(|()| check_lengths(&nudged, parameters))
                    .or_else(|rule| refuse(format!("step {} on {name} (nudge)", place + 1), rule))?;
                change += &difference_bound(&network, &nudged, domain, stop)?;
                network = nudged;
            }
        }
    }
    Ok((network, change))
}

fn within(computed: Rational, bound: &Rational) -> Result<(), End> {
    if computed > *bound {
        let shown = |x: &Rational| match x.to_f64() {
            near if near.is_finite() => shortest(near),
            _ => short_number(x),
        };
        let (computed, bound) = (shown(&computed), shown(bound));
        return refuse("bound", format!("the propagated bound is {computed}; it must be at most {bound}"));
    }
    Ok(())
}

/// The bound of the lemma for the outputs.
pub fn difference_bound(
    a: &ExactNetwork,
    b: &ExactNetwork,
    domain: &Domain,
    stop: Stop,
) -> Result<Rational, End> {
    let step = "comparison after the moves";
    if a.widths() != b.widths() {
        return refuse(step, widths_differ(a, b));
    }
    if domain.sides(a.input_width()).iter().any(|side| side.magnitude().is_none()) {
        return refuse("domain", "a bound on the difference needs a box that is bounded on all sides");
    }
    let (mut ranges, mut behind) = (a.activation_ranges(domain), 0);
    let mut difference = vec![Rational::ZERO; a.input_width()];
    for (l, (of_a, of_b)) in a.layers().iter().zip(b.layers()).enumerate() {
        go_on(stop)?;
        if of_a.activation() != of_b.activation() {
            return refuse(step, format!("layer {} has different activations", l + 1));
        }
        // The sizes of the inputs matter only where weights differ.
        let sizes = (of_a.weights() != of_b.weights()).then(|| {
            let inputs = ranges.nth(l - behind).expect("the layer exists");
            behind = l + 1;
            let size = |side: &Interval| side.magnitude().expect("the box is bounded");
            inputs.iter().map(size).collect::<Vec<_>>()
        });
        let zero = Rational::ZERO;
        let row_bound = |i: usize| -> Rational {
            let mut total = ProductSum::default();
            for (j, w, w_b) in side_by_side(of_a.weights().row(i), of_b.weights().row(i)) {
                let (w, w_b) = (w.unwrap_or(&zero), w_b.unwrap_or(&zero));
                if let Some(sizes) = &sizes
                    && w != w_b
                {
                    total.add(&(w - w_b).abs(), &sizes[j]);
                }
                if !difference[j].is_zero() {
                    total.add(&w_b.abs(), &difference[j]);
                }
            }
            total.add(&(&of_a.bias()[i] - &of_b.bias()[i]).abs(), &Rational::ONE);
            total.to_rational().round_up(BITS)
        };
        difference = (0..of_a.width()).map(row_bound).collect();
    }
    Ok(difference.into_iter().max().expect("a network has outputs"))
}
