//! Networks whose parameters agree one by one.
//!
//! Lemma. If every move keeps its network's function on the domain, then `f_A` and `f_B` are on the domain
//! the functions of the two results; and these have the same architecture and parameters `p`, `q` with
//!
//! ```text
//! abs(p - q) <= relative * max(abs(p), abs(q)).
//! ```
//!
//! The inequality is symmetric, does not change if both parameters are multiplied by the same number, and for
//! `p = 0` says `q = 0`, since `relative < 1`. That is all that is claimed: how far apart the outputs are
//! depends on the inputs and on what cancels, and no bound for it follows.

use fiberscope_core::{ExactNetwork, Rational, side_by_side};

use crate::{End, refuse, verify_same_shape};

/// Beyond this relative difference nobody would call parameters close: `2^-10`.
const LARGEST: i64 = 1024;

/// Checks that the parameters of the results agree to the stated relative difference.
pub fn verify(a: &ExactNetwork, b: &ExactNetwork, relative: &Rational) -> Result<(), End> {
    if relative.is_negative() || &Rational::from(LARGEST) * relative > Rational::ONE {
        return refuse("relative", format!("the relative difference must lie between 0 and 1/{LARGEST}"));
    }
    for l in 0..a.depth().min(b.depth()) {
        verify_same_shape(l, a, b)?;
        let (of_a, of_b) = (&a.layers()[l], &b.layers()[l]);
        for i in 0..of_a.width() {
            let zero = Rational::ZERO;
            let far = |(_, p, q): &(usize, Option<&Rational>, Option<&Rational>)| {
                !agree(p.unwrap_or(&zero), q.unwrap_or(&zero), relative)
            };
            if let Some((j, ..)) = side_by_side(of_a.weights().row(i), of_b.weights().row(i)).find(far) {
                return apart(format!("layer {}: weight[{}][{}]", l + 1, i + 1, j + 1));
            }
        }
        let biases = of_a.bias().iter().zip(of_b.bias());
        if let Some(at) = biases.into_iter().position(|(p, q)| !agree(p, q, relative)) {
            return apart(format!("layer {}: bias[{}]", l + 1, at + 1));
        }
    }
    if a.depth() != b.depth() {
        return refuse(
            "comparison after the moves",
            format!("A became a network of {} layers, B of {}", a.depth(), b.depth()),
        );
    }
    Ok(())
}

fn agree(p: &Rational, q: &Rational, relative: &Rational) -> bool {
    p == q || (p - q).abs() <= relative * &p.abs().max(q.abs())
}

fn apart(place: String) -> Result<(), End> {
    refuse(
        "comparison after the moves",
        format!("{place} differs by more than the stated relative difference between A and B"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::network;

    #[test]
    fn parameters_agree_one_by_one() {
        let with = |w: i64, b: i64| network(&[(&[&[w], &[-1]], &[b, 0]), (&[&[1, 1]], &[0])]);
        let check = |a: &ExactNetwork, b: &ExactNetwork, relative: &str, refused: Option<&str>| {
            let found = verify(a, b, &relative.parse().unwrap()).map_err(|end| match end {
                End::Refused(refusal) => refusal.to_string(),
                End::Stopped => "stopped".into(),
            });
            match refused {
                None => assert_eq!(found, Ok(())),
                Some(why) => assert!(found.clone().unwrap_err().contains(why), "{found:?}"),
            }
        };
        let (a, b) = (with(2048, 4096), with(2047, 4098));
        check(&a, &b, "1/2048", None);
        check(&b, &a, "1/2048", None);
        check(&a, &b, "1/2049", Some("layer 1: weight[1][1] differs"));
        check(&a, &with(2048, 4090), "1/2048", Some("layer 1: bias[1] differs"));
        check(&a, &a, "0", None);
        check(&a, &b, "-1/2048", Some("between 0 and 1/1024"));
        check(&a, &b, "1/1023", Some("between 0 and 1/1024"));
        // Nothing is close to zero but zero.
        check(&with(1, 0), &with(1, 1), "1/1024", Some("layer 1: bias[1] differs"));
        let wider = network(&[(&[&[2048], &[-1], &[1]], &[4096, 0, 0]), (&[&[1, 1, 1]], &[0])]);
        check(&a, &wider, "1/1024", Some("layer 1 has different shapes or activations"));
        let deeper = network(&[(&[&[2048], &[-1]], &[4096, 0]), (&[&[1, 1]], &[0]), (&[&[1]], &[0])]);
        check(&a, &deeper, "1/1024", Some("layer 2 has different shapes or activations"));
    }
}
