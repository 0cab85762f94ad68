//! Searches with other aims: differences measured against the size of the outputs, and searches that go on from earlier
//! ones for something else. Nothing that was known is lost, and parts of the size are decided however close they are.
use crate::common;

use common::{edit, random_network, rng};
use fiberscope::check::{Outcome, check};
use fiberscope::difference::{
    Decision, Difference, DifferenceOptions, Ended, GAP, Relative, measure, ranges, relative,
};
use fiberscope::limit::Progress;
use fiberscope::{Domain, Network, Rational};
use rand::RngExt;

/// `abs(x) + y / 4` and a network that differs from it by at most 3/16 on the square: at x = -1 and y = 1.
fn networks() -> [Network; 2] {
    let rows: &[&[f64]] = &[&[1.0, 0.0], &[-1.0, 0.0], &[0.0, 1.0]];
    let network =
        |w: f64, v: f64| Network::from_rows(&[(rows, &[0.0, 0.0, 1.0]), (&[&[1.0, w, v]], &[-v])]).unwrap();
    [network(1.0, 0.25), network(1.125, 0.3125)]
}

fn ask(epsilon: Option<&str>, gap: f64) -> Relative {
    let [a, b] = networks();
    let domain = Domain::from_bounds(&[(-1.0, 1.0); 2]).unwrap();
    let mut options = DifferenceOptions::new().gap(gap);
    options.epsilon = epsilon.map(|text| text.parse().unwrap());
    relative(&a, &b, &domain, &options, Progress::SILENT).unwrap()
}

#[test]
fn parts_of_the_size_are_decided_however_close() {
    // The size is 5/4, so the quotient is 3/20; the first bounds of the size are nowhere near as close.
    for (epsilon, expected) in [
        ("1/10", Decision::Exceeds),
        ("1499/10000", Decision::Exceeds),
        ("1501/10000", Decision::Within),
        ("2/10", Decision::Within),
    ] {
        let found = ask(Some(epsilon), GAP);
        let decision = found.size.decision(&found.difference, &epsilon.parse().unwrap());
        assert_eq!(decision, expected, "{epsilon}");
    }
}

#[test]
fn the_quotient_is_brought_within_the_gap() {
    for gap in [0.5, 0.01, 1e-3, 10.0] {
        let Relative { difference, size } = ask(None, gap);
        assert!(size.is_within_gap(&difference, gap), "{gap}");
        let (least, most) = size.quotient(&difference);
        let quotient: Rational = "3/20".parse().unwrap();
        assert!(least.unwrap() <= quotient && quotient <= most.unwrap());
    }
}

#[test]
fn what_only_a_file_states_decides_nothing() {
    let Relative { mut difference, size } = ask(Some("2/10"), GAP);
    difference.taken_over = true;
    assert_eq!(size.decision(&difference, &"2/10".parse().unwrap()), Decision::Undecided);
}

fn no_worse(later: &Difference, earlier: &Difference) {
    assert!(later.upper.as_ref().unwrap() <= earlier.upper.as_ref().unwrap());
    assert!(later.lower >= earlier.lower);
    for (later, earlier) in later.outputs.iter().zip(&earlier.outputs) {
        assert!(later.upper.as_ref().unwrap() <= earlier.upper.as_ref().unwrap());
    }
}

#[test]
fn a_search_that_goes_on_for_another_aim_keeps_all_bounds() {
    for (inputs, seed) in [(3, 1), (3, 2), (30, 3)] {
        let mut rng = rng(seed);
        let exact = random_network(&mut rng, &[inputs, 8, 8, 3]);
        let nudged = edit(&exact, |_, _, _, x| &x + &(&x * &Rational::dyadic(rng.random_range(-8..=8), -8)));
        let [a, b] = [exact, nudged].map(|network| network.to_f64().unwrap().0);
        let side = if inputs > 10 { 0.05 } else { 1.0 };
        let domain = Domain::from_bounds(&vec![(-side, side); inputs]).unwrap();
        let first = measure(&a, &b, &domain, &DifferenceOptions::new().gap(0.02).boxes(400)).unwrap();
        // Aims that are met at once, and one that is not.
        let much = &Rational::from(10) * first.upper.as_ref().unwrap();
        let aims = [
            DifferenceOptions::new().epsilon(much),
            DifferenceOptions::new().gap(5.0),
            DifferenceOptions::new().gap(0.01).boxes(900),
        ];
        for options in aims {
            let later = measure(&a, &b, &domain, &options.resume(first.state.clone())).unwrap();
            no_worse(&later, &first);
            assert!(matches!(check(later.certificate.as_ref().unwrap(), &a, &b), Outcome::Proved(_)));
        }
    }
}

#[test]
fn a_longer_search_has_no_worse_bound() {
    // A part of a box may have a larger bound than the box: the tree is that of the moment with the least one.
    for seed in 0..2 {
        let mut rng = rng(seed);
        let exact = random_network(&mut rng, &[3, 12, 12, 2]);
        let nudged = edit(&exact, |_, _, _, x| &x + &(&x * &Rational::dyadic(rng.random_range(-8..=8), -8)));
        let [a, b] = [exact, nudged].map(|network| network.to_f64().unwrap().0);
        let domain = Domain::from_bounds(&[(-1.0, 1.0); 3]).unwrap();
        let mut least: Option<Rational> = None;
        for boxes in (100..600).step_by(20) {
            let options = DifferenceOptions::new().gap(1e-5).boxes(boxes);
            let found = measure(&a, &b, &domain, &options).unwrap();
            assert!(matches!(check(found.certificate.as_ref().unwrap(), &a, &b), Outcome::Proved(_)));
            let upper = found.upper.unwrap();
            assert!(least.is_none_or(|least| upper <= least), "seed {seed}, {boxes} boxes");
            least = Some(upper);
        }
    }
}

/// One neuron after the other, with these weights.
fn chain(weights: &[f64]) -> Network {
    const NONE: &[f64] = &[0.0];
    let weights: Vec<[f64; 1]> = weights.iter().map(|w| [*w]).collect();
    let rows: Vec<[&[f64]; 1]> = weights.iter().map(|row| [row.as_slice()]).collect();
    let layers: Vec<(&[&[f64]], &[f64])> = rows.iter().map(|row| (row.as_slice(), NONE)).collect();
    Network::from_rows(&layers).unwrap()
}

#[test]
fn values_beyond_the_doubles_inside_a_network_do_not_matter() {
    // 1e308 * 1e308 * 5e-324 * 1e-290 x: the first product is beyond the doubles.
    let (a, b) = (chain(&[1e308, 1e308, 5e-324, 1e-290]), chain(&[1e308, 1e308, 1e-323, 1e-290]));
    let domain = Domain::from_bounds(&[(-1.0, 1.0)]).unwrap();
    let found = measure(&a, &b, &domain, &DifferenceOptions::new()).unwrap();
    assert!(found.is_within_gap(GAP), "{found:?}");
    let certificate = found.certificate.as_ref().unwrap();
    assert!(matches!(check(certificate, &a, &b), Outcome::Proved(_)));
    let range = ranges(&a, &domain, &DifferenceOptions::new()).unwrap();
    let outputs = range.outputs.unwrap();
    assert!(outputs[0].upper >= found.lower && outputs[0].upper <= &Rational::from(2) * &found.lower);
    assert!(matches!(check(&range.certificate.unwrap(), &a, &range.constant), Outcome::Proved(_)));
}

#[test]
fn differences_that_no_double_reaches_have_a_lower_bound() {
    let (a, b) = (chain(&[1e308]), chain(&[-1e308]));
    let domain = Domain::from_bounds(&[(-1.0, 1.0)]).unwrap();
    let found = measure(&a, &b, &domain, &DifferenceOptions::new()).unwrap();
    assert_eq!((found.upper.clone(), found.ended), (None, Ended::Rounding));
    assert_eq!(found.lower, &Rational::from(2) * &Rational::from_f64(1e308).unwrap());
    let decided = measure(&a, &b, &domain, &DifferenceOptions::new().epsilon(Rational::ONE)).unwrap();
    assert_eq!(decided.decision, Some(Decision::Exceeds));
    // Beyond what a search can bound there is nothing to go on with, and it says the same again.
    let again = measure(&a, &b, &domain, &DifferenceOptions::new().resume(found.state)).unwrap();
    assert_eq!(again.lower, found.lower);
}

#[test]
fn outputs_beyond_the_doubles_end_a_search_at_once() {
    let a = chain(&[1e308, 1e308]);
    let domain = Domain::from_bounds(&[(-1.0, 1.0)]).unwrap();
    for b in [chain(&[1e308, -1e308]), chain(&[1e308, 1e308, 1e10])] {
        let found = measure(&a, &b, &domain, &DifferenceOptions::new()).unwrap();
        assert_eq!((found.upper.clone(), found.ended), (None, Ended::Rounding));
        assert!(found.lower > Rational::from_f64(f64::MAX).unwrap() && found.certificate.is_none());
    }
    let range = ranges(&a, &domain, &DifferenceOptions::new()).unwrap();
    assert!(range.outputs.is_none() && range.certificate.is_none());
    assert_eq!(range.ended, Ended::Rounding);
}

#[test]
fn a_gap_that_doubles_cannot_reach_ends_the_search() {
    let network =
        |w: f64| Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.0]), (&[&[1.0, w]], &[0.0])]).unwrap();
    let domain = Domain::from_bounds(&[(-1.0, 1.0)]).unwrap();
    for gap in [0.0, 1e-9, 5e-7] {
        let found =
            measure(&network(1.0), &network(1.25), &domain, &DifferenceOptions::new().gap(gap)).unwrap();
        assert_eq!(found.ended, Ended::Rounding);
        assert!(found.is_within_gap(1e-5) && !found.is_within_gap(gap));
    }
}
