//! The decision procedure on thousands of fresh pairs whose answers are known by construction, of the kinds
//! and sizes of the golden pairs. Every verdict is right, every certificate is accepted by the checker,
//! and pairs of bottleneck networks are decided without search and without luck.
use crate::common;

use common::pairs::{DIFFERENT, EQUAL, Pair, doubles, too_far};
use common::{edit, r, random_network, rng};
use fiberscope::check::{Outcome, check};
use fiberscope::equivalence::regions::{SearchLimits, SearchOutcome, search};
use fiberscope::equivalence::{Decision, EquivalenceOptions, Method, Verdict, decide};
use fiberscope::{Domain, Network, Rational};
use rand::RngExt;

/// Pairs of each kind.
const PAIRS: u64 = 150;

fn exactly(a: &Network, b: &Network, domain: &Domain) -> Decision {
    // The procedures are tested, not the luck of a few points.
    let options = EquivalenceOptions::new().exact(true).without(Method::Evaluation);
    decide(a, b, domain, &options).unwrap()
}

/// Decides the pair and checks the verdict, its certificate, and the witness.
fn check_pair(name: &str, (a, b): &Pair, domain: &Domain, equal: bool) -> Decision {
    let (a, b) = (doubles(a), doubles(b));
    let decision = exactly(&a, &b, domain);
    match &decision.verdict {
        Verdict::Equivalent { certificate } => {
            assert!(equal, "{name}: equivalent by {}", decision.method);
            assert!(matches!(check(certificate, &a, &b), Outcome::Proved(_)), "{name}");
        }
        Verdict::Different { x, certificate, .. } => {
            assert!(!equal, "{name}: different by {}", decision.method);
            assert!(matches!(check(certificate, &a, &b), Outcome::Proved(_)), "{name}");
            assert_ne!(a.evaluate_exact(x).unwrap(), b.evaluate_exact(x).unwrap(), "{name}");
            assert!(domain.contains(x), "{name}");
        }
        other => panic!("{name}: {other:?}"),
    }
    decision
}

#[test]
fn equal_pairs_are_proved_equal_without_search() {
    for (kind, make) in EQUAL {
        for seed in 0..PAIRS {
            let name = format!("{kind} {seed}");
            let decision = check_pair(&name, &make(&mut rng(seed)), &Domain::Space, true);
            assert_ne!(decision.method, Method::Regions, "{name}");
        }
    }
}

#[test]
fn witnesses_of_bottleneck_pairs_are_constructed() {
    for (kind, make) in DIFFERENT {
        for seed in 0..PAIRS {
            let name = format!("{kind} {seed}");
            let decision = check_pair(&name, &make(&mut rng(seed)), &Domain::Space, false);
            assert!(
                [Method::Bottleneck, Method::Hyperplanes, Method::AffineMaps].contains(&decision.method),
                "{name}: {}",
                decision.method
            );
        }
    }
}

/// The region where the functions differ shrinks with the number of first-layer neurons.
#[test]
fn translations_beyond_the_limit_are_told_in_high_dimension() {
    for first in [8, 12, 16] {
        for seed in 0..20 {
            let rng = &mut rng(seed);
            let widths = [first + 1, first, rng.random_range(1..=4), 2];
            let pair = too_far(rng, &widths, 20);
            let decision = check_pair(&format!("n_1 = {first}, {seed}"), &pair, &Domain::Space, false);
            assert_eq!(decision.method, Method::Bottleneck);
        }
    }
}

/// A neuron bends outside the box only, in different places: equal on the box, different beyond it.
#[test]
fn differences_outside_the_box_do_not_count() {
    let mut beyond = 0;
    for seed in 0..PAIRS {
        let rng = &mut rng(seed);
        let widths: Vec<_> = (0..rng.random_range(3..=4)).map(|_| rng.random_range(2..=3)).collect();
        let network = random_network(rng, &widths);
        let total: Rational = network.layers()[0].weight().row(0).iter().map(Rational::abs).sum();
        let bent_at = |factor: &str| {
            let bias = &-&total * &r(factor);
            edit(&network, |l, i, j, x| if (l, i, j) == (0, 0, widths[0]) { bias.clone() } else { x })
        };
        let pair = (bent_at("1"), bent_at("2"));
        let sides = |end: f64| Domain::from_bounds(&vec![(-end, end); widths[0]]).unwrap();
        check_pair(&format!("outside {seed}"), &pair, &sides(1.0), true);
        let (a, b) = (doubles(&pair.0), doubles(&pair.1));
        if let Verdict::Different { x, .. } = exactly(&a, &b, &sides(3.0)).verdict {
            assert!(!sides(1.0).contains(&x));
            beyond += 1;
        }
    }
    assert!(beyond > PAIRS / 2, "{beyond}");
}

/// Small pairs of every kind: the complete search says the same.
#[test]
fn the_region_search_agrees() {
    let mut searched = 0;
    for (kind, make) in EQUAL.into_iter().chain(DIFFERENT) {
        for seed in 0..PAIRS {
            let (a, b) = make(&mut rng(seed));
            let neurons: usize = a.widths().iter().chain(&b.widths()).sum();
            if a.input_width() > 3 || neurons > 24 {
                continue;
            }
            let equal = EQUAL.iter().any(|(name, _)| *name == kind);
            let outcome = search(&a, &b, &Domain::Space, &SearchLimits::default(), &|_| ()).unwrap();
            match outcome {
                SearchOutcome::Equal { .. } => assert!(equal, "{kind} {seed}"),
                SearchOutcome::Different { .. } => assert!(!equal, "{kind} {seed}"),
                SearchOutcome::Undecided { .. } | SearchOutcome::TooLarge => panic!("{kind} {seed}"),
            }
            searched += 1;
        }
    }
    assert!(searched > 100, "{searched}");
}
