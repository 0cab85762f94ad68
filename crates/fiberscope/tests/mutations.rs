//! Every number of every valid certificate of the zoo is changed, in several ways. The checker must
//! refuse the result, or its claim must still be true.
//!
//! Some kinds of change keep a claim true, and only there is acceptance allowed: a larger `bound` (a weaker
//! statement), `bounds` or `relative`, another `domain` on which every rule still holds, a witness `x` moved
//! to a point with the same two values, other `slopes` that prove the same, and a `nudge` that costs no more
//! than the bound. What is accepted is compared with exact evaluation at many points, done here by a slow
//! evaluator of its own.
use crate::common;

use common::certificates::{changes, numbers, valid_certificates};
use fiberscope::check::{Outcome, check};
use fiberscope::complex::ComplexOptions;
use fiberscope::core::NetworkName;
use fiberscope::dimension::{DimensionOptions, full_functional_dimension, list_regions};
use fiberscope::{Activation, Certificate, Claim, Domain, ExactNetwork, Interval, Layer, Network, Rational};
use fiberscope_io::zoo;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

fn evaluate(network: &Network, x: &[Rational]) -> Vec<Rational> {
    let exact = |x: f64| Rational::from_f64(x).unwrap();
    network.layers().iter().fold(x.to_vec(), |a, layer| {
        let row = |i: usize| {
            let dot: Rational = layer.weight().row(i).iter().zip(&a).map(|(&w, a)| &exact(w) * a).sum();
            let z = &dot + &exact(layer.bias()[i]);
            if layer.activation() == Activation::Relu { z.max(Rational::ZERO) } else { z }
        };
        (0..layer.width()).map(row).collect()
    })
}

/// Points of the domain, corners among them.
fn points(certificate: &Certificate, inputs: usize) -> Vec<Vec<Rational>> {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let sides = certificate.domain.sides(inputs);
    let mut coordinate = |side: &Interval| {
        let lower = side.lower.clone().unwrap_or(Rational::from(-50));
        let upper = side.upper.clone().unwrap_or_else(|| &lower + &Rational::from(100));
        &lower + &(&Rational::dyadic(rng.random_range(0..=64), -6) * &(&upper - &lower))
    };
    (0..300).map(|_| sides.iter().map(&mut coordinate).collect()).collect()
}

/// Whether every output of A that leads all others by the margin leads in B as well.
fn class_is_kept(a: &[Rational], b: &[Rational], margin: &Rational) -> bool {
    let others = |i: usize| (0..a.len()).filter(move |&l| l != i);
    let sure = |i: usize| others(i).all(|l| a[i] > a[l] && &a[i] - &a[l] >= *margin);
    (0..a.len()).filter(|&i| sure(i)).all(|i| others(i).all(|j| b[i] > b[j]))
}

fn claim_is_true(certificate: &Certificate, claim: &Claim, a: &Network, b: &Network) -> bool {
    let differences = points(certificate, a.input_width()).into_iter().map(|x| {
        let (y, z) = (evaluate(a, &x), evaluate(b, &x));
        y.iter().zip(&z).map(|(y, z)| (y - z).abs()).max().unwrap()
    });
    match (claim, &certificate.evidence) {
        (Claim::Equivalent, _) => differences.max().unwrap().is_zero(),
        (Claim::EquivalentUpToRounding { bound }, _) => differences.max().unwrap() <= *bound,
        (Claim::Within { bounds }, _) => points(certificate, a.input_width()).into_iter().all(|x| {
            let (y, z) = (evaluate(a, &x), evaluate(b, &x));
            y.iter().zip(&z).zip(bounds).all(|((y, z), bound)| (y - z).abs() <= *bound)
        }),
        (Claim::SameClass { margin }, _) => points(certificate, a.input_width()).into_iter().all(|x| {
            let (y, z) = (evaluate(a, &x), evaluate(b, &x));
            class_is_kept(&y, &z, margin)
        }),
        (Claim::Different, fiberscope::Evidence::Witness { x, .. }) => {
            certificate.domain.contains(x) && evaluate(a, x) != evaluate(b, x)
        }
        (Claim::ParametersAgree { relative }, fiberscope::Evidence::Close { a: on_a, b: on_b, .. }) => {
            let (mut left, mut right) = (a.to_exact(), b.to_exact());
            on_a.apply(&mut left, &certificate.domain).unwrap();
            on_b.apply(&mut right, &certificate.domain).unwrap();
            let kept = points(certificate, a.input_width()).iter().all(|x| {
                evaluate(a, x) == left.evaluate_exact(x).unwrap()
                    && evaluate(b, x) == right.evaluate_exact(x).unwrap()
            });
            let parameters = |network: &ExactNetwork| -> Vec<Rational> {
                let entries = |layer: &Layer<Rational>| [layer.weight().entries(), layer.bias()].concat();
                network.layers().iter().flat_map(entries).collect()
            };
            let close = |(p, q): (&Rational, &Rational)| &p.abs().max(q.abs()) * relative >= (p - q).abs();
            kept && left.widths() == right.widths()
                && parameters(&left).iter().zip(&parameters(&right)).all(close)
        }
        // The rank on all regions is the largest that points can have.
        (Claim::FiberDimension { upper, .. }, fiberscope::Evidence::Rank(_)) => {
            let regions = list_regions(a, &Domain::Space, &ComplexOptions::new()).unwrap().unwrap();
            let most = full_functional_dimension(a, &regions, &DimensionOptions::new()).rank.upper;
            a.parameter_count() as u64 - upper <= most as u64
        }
        (Claim::Different | Claim::ParametersAgree { .. } | Claim::FiberDimension { .. }, _) => false,
    }
}

#[test]
fn changed_certificates_are_refused_or_still_true() {
    let mut changed = 0;
    for entry in valid_certificates() {
        let original: Value = serde_json::from_str(zoo::certificate(&entry.0).unwrap()).unwrap();
        let (a, b) = (zoo::network(&entry.1).unwrap().network, zoo::network(&entry.2).unwrap().network);
        let mut places = Vec::new();
        numbers(&original, String::new(), &mut places);
        for place in places {
            for value in changes(original.pointer(&place).unwrap()) {
                let mut mutated = original.clone();
                *mutated.pointer_mut(&place).unwrap() = value.clone();
                changed += 1;
                let Ok(certificate) = Certificate::from_json(mutated.to_string().as_bytes()) else {
                    continue;
                };
                if let Outcome::Proved(claim) = check(&certificate, &a, &b) {
                    let weaker = ["/evidence/bound", "/evidence/relative", "/domain/", "/evidence/x/"];
                    // Other factors may do as well where the parameters need only be close.
                    let factor =
                        matches!(claim, Claim::ParametersAgree { .. }) && place.contains("/factors/");
                    // Different constraints of a path may be the same function.
                    let constraint = place.contains("/tree/") && place.ends_with("/0");
                    let other_proof = ["/slopes/", "/nudge/"].iter().any(|part| place.contains(part));
                    // Points at which nothing happens may stand anywhere.
                    // A box may be cut across another input, and an alignment need not be the best one.
                    let cut = matches!(claim, Claim::Within { .. })
                        && ["/evidence/tree/", "/factors/"].iter().any(|part| place.contains(part));
                    // So it is with classes, where any moves do that leave two networks of one shape; weights may
                    // be others, and the margin larger.
                    let classes = matches!(claim, Claim::SameClass { .. }) && place.starts_with("/evidence/");
                    // The tree of tails may be cut at another neuron, and fewer layers be compared one by one.
                    let tails =
                        matches!(&certificate.evidence, fiberscope::Evidence::Regions { prefix: 1.., .. })
                            && ["/split/", "/prefix"].iter().any(|part| place.contains(part));
                    let idle = entry.0 == "abs-line-more"
                        && ["/evidence/breakpoints/0", "/evidence/breakpoints/2"].contains(&place.as_str());
                    // What comes and goes again on the way may be anything of the kind.
                    let passing = entry.0 == "deep-muted" && place.starts_with("/evidence/");
                    // Points may stand anywhere in their regions, and a smaller rank is a weaker statement.
                    let points =
                        matches!(claim, Claim::FiberDimension { .. }) && place.starts_with("/evidence/");
                    let allowed = constraint
                        || points
                        || factor
                        || other_proof
                        || idle
                        || passing
                        || cut
                        || classes
                        || tails
                        || weaker.iter().any(|prefix| place.starts_with(prefix));
                    assert!(allowed, "{}: accepted with {place} = {value}", entry.0);
                    assert!(
                        claim_is_true(&certificate, &claim, &a, &b),
                        "{}: {place} = {value} is false",
                        entry.0
                    );
                }
            }
        }
    }
    assert!(changed > 1000, "only {changed} changes were tried");
}

/// Bytes of certificates changed, cut and spliced at random: the parser and the checker return.
#[test]
fn broken_certificates_are_read_and_checked_without_harm() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let deep = zoo::network("deep").unwrap().network;
    for (name, ..) in valid_certificates() {
        let text = zoo::certificate(&name).unwrap().as_bytes();
        for _ in 0..300 {
            let mut bytes = text.to_vec();
            for _ in 0..rng.random_range(1..4) {
                let at = rng.random_range(0..bytes.len());
                match rng.random_range(0..4) {
                    0 => bytes[at] = rng.random(),
                    1 => bytes[at] = b"0123456789-/[]{},"[rng.random_range(0..17)],
                    2 => bytes.truncate(at.max(1)),
                    _ => bytes.splice(at..at, text[..at.min(text.len())].iter().copied()).for_each(drop),
                }
            }
            if let Ok(mut certificate) = Certificate::from_json(&bytes) {
                (certificate.a, certificate.b) = (NetworkName::of(&deep), NetworkName::of(&deep));
                let _ = check(&certificate, &deep, &deep);
            }
        }
    }
}
