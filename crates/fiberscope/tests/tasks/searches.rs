//! Searches over boxes and over regions: one tree after the merge, whatever the pieces were, and the checker accepts it.

use fiberscope::check::{Outcome, check};
use fiberscope::difference::{Decision, Difference, DifferenceOptions, measure};
use fiberscope::equivalence::{EquivalenceOptions, Method, Verdict, decide};
use fiberscope::tasks::{Answer, DifferenceQuestion, EquivalenceQuestion, Plan};
use fiberscope::{Deadline, Domain, Network, Rational};

use super::{Manner, answer, cube, network, reread};

fn planned(a: &Network, b: &Network, options: &DifferenceOptions, tasks: usize) -> Plan {
    let question = DifferenceQuestion::new(a, b, &cube(a.input_width()), options).unwrap();
    Plan::new(question, &[a, b], tasks, &Deadline::NEVER).unwrap()
}

fn difference(plan: &Plan, manner: Manner) -> Difference {
    let (Answer::Difference(found), _) = answer(&reread(plan), manner) else { panic!("another answer") };
    *found
}

/// A network and one with parameters nearby.
fn pair(widths: &[usize], seed: u64, noise: f64) -> (Network, Network) {
    let (a, n) = (network(widths, seed, 0.0), network(widths, seed + 1000, 0.0));
    let layers = a.layers().iter().zip(n.layers()).map(|(a, n)| {
        let weight = fiberscope::Matrix::from_fn(a.width(), a.input_width(), |i, j| {
            a.weight()[(i, j)] + noise * n.weight()[(i, j)]
        });
        let bias = a.bias().iter().zip(n.bias()).map(|(a, n)| a + noise * n).collect();
        fiberscope::Layer::new(weight, bias, a.activation())
    });
    let b = Network::new(layers.collect()).unwrap();
    (a, b)
}

/// All that is told of a difference.
fn told(found: &Difference) -> String {
    let proof = found.certificate.as_ref().map(|certificate| certificate.to_json());
    format!(
        "{} {:?} {:?} {:?} {} {proof:?}",
        found.lower, found.upper, found.worst, found.decision, found.cells
    )
}

#[test]
fn bounds_and_certificates_do_not_depend_on_the_pieces() {
    for (seed, widths) in [&[2, 8, 6, 1][..], &[3, 8, 8, 2], &[2, 5, 5, 5, 3]].into_iter().enumerate() {
        let (a, b) = pair(widths, seed as u64, 0.05);
        let options = DifferenceOptions::new().gap(0.05);
        let expected = difference(&planned(&a, &b, &options, 1), Manner::Plain);
        let direct = measure(&a, &b, &cube(widths[0]), &options).unwrap();
        // Other trees, but bounds of the same number.
        let (upper, lower) = (expected.upper.clone().unwrap(), expected.lower.clone());
        assert!(lower <= direct.upper.clone().unwrap() && direct.lower <= upper);
        assert!(expected.is_within_gap(0.05), "{lower} {upper}");
        let certificate = expected.certificate.clone().unwrap();
        assert!(matches!(check(&certificate, &a, &b), Outcome::Proved(_)));
        let plan = planned(&a, &b, &options, 1);
        for wild in 0..3 {
            assert_eq!(told(&difference(&plan, Manner::Wild(wild))), told(&expected), "slices {wild}");
        }
        for tasks in [5, 33] {
            let plan = planned(&a, &b, &options, tasks);
            for manner in [Manner::Plain, Manner::Wild(tasks as u64)] {
                assert_eq!(told(&difference(&plan, manner)), told(&expected), "{tasks} tasks, {manner:?}");
            }
        }
    }
}

#[test]
fn epsilon_is_decided_as_without_tasks() {
    let (mut within, mut exceeds) = (0, 0);
    for seed in 0..6u64 {
        let (a, b) = pair(&[2, 7, 5, 2], seed, 0.1);
        let bounds = measure(&a, &b, &cube(2), &DifferenceOptions::new().gap(0.02)).unwrap();
        let part = Rational::from_f64([0.5, 0.97, 1.05, 1.5][seed as usize % 4]).unwrap();
        let epsilon = &bounds.lower * &part;
        let options = DifferenceOptions::new().epsilon(epsilon.clone());
        let direct = measure(&a, &b, &cube(2), &options).unwrap();
        for (tasks, manner) in [(1, Manner::Plain), (9, Manner::Plain), (4, Manner::Wild(seed))] {
            let found = difference(&planned(&a, &b, &options, tasks), manner);
            assert_eq!(found.decision, direct.decision, "{seed} {tasks}");
            match found.decision {
                Some(Decision::Within) => {
                    within += 1;
                    let certificate = found.certificate.unwrap();
                    assert!(matches!(check(&certificate, &a, &b), Outcome::Proved(_)));
                }
                Some(Decision::Exceeds) => {
                    exceeds += 1;
                    assert!(found.lower > epsilon);
                    let witness = found.witness(&a, &b, &cube(2)).unwrap();
                    assert!(matches!(check(&witness, &a, &b), Outcome::Proved(_)));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(within >= 6 && exceeds >= 6, "{within} {exceeds}");
}

#[test]
fn networks_that_moves_make_equal_need_no_search() {
    let a = network(&[2, 6, 4, 1], 5, 0.0);
    let twin = fiberscope::orbit::relabel(&a, 3).network;
    let plan = planned(&a, &twin, &DifferenceOptions::new(), 8);
    let (found, done) = answer(&plan, Manner::Plain);
    let Answer::Difference(found) = found else { panic!("another answer") };
    assert_eq!(done, 0);
    // The twin is the same up to rounding, or exactly.
    assert!(found.upper.unwrap() <= Rational::from_f64(1e-9).unwrap());
}

fn decided(a: &Network, b: &Network, options: &EquivalenceOptions, tasks: usize, manner: Manner) -> Verdict {
    let question = EquivalenceQuestion::new(a, b, &cube(a.input_width()), options).unwrap();
    let plan = Plan::new(question, &[a, b], tasks, &Deadline::NEVER).unwrap();
    let (Answer::Equivalence(found), _) = answer(&reread(&plan), manner) else { panic!("another answer") };
    found.verdict
}

/// Two networks of different shapes with one function: the search over regions alone has to see it.
fn equal_pair(seed: u64) -> (Network, Network) {
    let (a, _) = pair(&[2, 5, 4, 1], seed, 0.0);
    (a.clone(), fiberscope::orbit::relabel(&a, seed).network)
}

#[test]
fn equality_is_proved_by_one_tree() {
    for seed in 0..4 {
        let (a, b) = equal_pair(seed);
        let options = EquivalenceOptions::new().exact(true).only([Method::Regions]);
        let direct = decide(&a, &b, &cube(2), &options).unwrap();
        let text = |verdict: &Verdict| match verdict {
            Verdict::Equivalent { certificate } => {
                assert!(matches!(check(certificate, &a, &b), Outcome::Proved(_)));
                certificate.to_json()
            }
            Verdict::Different { certificate, .. } => {
                assert!(matches!(check(certificate, &a, &b), Outcome::Proved(_)));
                "different".into()
            }
            other => panic!("{other:?}"),
        };
        let expected = text(&direct.verdict);
        for (tasks, manner) in
            [(1, Manner::Plain), (1, Manner::Wild(1)), (12, Manner::Plain), (12, Manner::Wild(seed))]
        {
            assert_eq!(
                text(&decided(&a, &b, &options, tasks, manner)),
                expected,
                "{seed} {tasks} {manner:?}"
            );
        }
    }
}

#[test]
fn a_difference_is_found_by_some_task() {
    let (a, b) = pair(&[2, 5, 4, 1], 3, 1e-3);
    let options = EquivalenceOptions::new().exact(true).only([Method::Regions, Method::Evaluation]);
    for (tasks, manner) in [(1, Manner::Plain), (6, Manner::Wild(2))] {
        let Verdict::Different { certificate, .. } = decided(&a, &b, &options, tasks, manner) else {
            panic!("they differ")
        };
        assert!(matches!(check(&certificate, &a, &b), Outcome::Proved(_)));
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (a, b) = (network(&[2, 3, 1], 0, 0.0), network(&[3, 3, 1], 0, 0.0));
    assert!(DifferenceQuestion::new(&a, &b, &cube(2), &DifferenceOptions::new()).is_err());
    assert!(DifferenceQuestion::new(&a, &a, &Domain::Space, &DifferenceOptions::new()).is_err());
    assert!(EquivalenceQuestion::new(&a, &b, &cube(2), &EquivalenceOptions::new()).is_err());
}
