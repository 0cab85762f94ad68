//! What is said of a tree does not depend on the number of threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use fiberscope_core::{BoxNode, Certificate, Evidence};

use super::tree::{certificate, domain, network};
use super::*;
use crate::{Checked, Checker, Outcome};

/// A tree of 320 leaves, more than two batches of two threads, some deeper than others.
fn long_tree() -> Vec<BoxNode> {
    fn grow(depth: u32, number: u32, tree: &mut Vec<BoxNode>) {
        if depth == 9 || depth == 8 && !number.is_multiple_of(4) {
            return tree.push(BoxNode::Leaf);
        }
        tree.push(BoxNode::Bisect(depth % 2));
        (0..2).for_each(|half| grow(depth + 1, 2 * number + half, tree));
    }
    let mut tree = Vec::new();
    grow(0, 0, &mut tree);
    tree
}

fn threads(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap()
}

fn with_tree(certificate: &mut Certificate) -> &mut Vec<BoxNode> {
    let Evidence::Difference { tree, .. } = &mut certificate.evidence else { panic!() };
    tree
}

/// What is said of a certificate in memory and of the text of a file, by so many threads.
fn said(
    certificate: &Certificate,
    text: &str,
    how: Arithmetic,
    n: usize,
) -> (Outcome, Result<Checked, String>) {
    let (a, b) = (network(0.0), network(1e-3));
    let checker = Checker::new(&a, &b).arithmetic(how).threads(threads(n));
    let read = checker.check_reader(text.as_bytes()).map_err(|error| error.to_string());
    (checker.check(certificate), read)
}

#[test]
fn threads_do_not_change_what_is_said() {
    let (a, b) = (network(0.0), network(1e-3));
    let valid = |bound: f64| {
        certificate([&a, &b], domain(), Default::default(), &[exact(bound), exact(bound)], &long_tree())
    };
    let leaves = long_tree().iter().filter(|node| **node == BoxNode::Leaf).count();
    assert_eq!(leaves, 320);
    let (mut proved, mut refused, mut unread) = (0, 0, 0);
    // A bound that is too small for more and more of the leaves.
    for bound in [1.0, 4e-3, 3e-3, 2.5e-3, 2e-3, 1.5e-3, 1e-3] {
        let whole = valid(bound);
        let mut cut = whole.clone();
        with_tree(&mut cut).truncate(600);
        let mut wrong = whole.clone();
        with_tree(&mut wrong)[550] = BoxNode::Bisect(7);
        let mut longer = whole.clone();
        with_tree(&mut longer).push(BoxNode::Leaf);
        for certificate in [whole, cut, wrong, longer] {
            let text = certificate.to_json();
            // A file that ends in the midst of its tree, too.
            for text in [&text[..], &text[..text.len() - 80]] {
                let expected = said(&certificate, text, Arithmetic::Doubles, 1);
                for n in [2, 3, 16] {
                    assert_eq!(said(&certificate, text, Arithmetic::Doubles, n), expected, "{n} threads");
                }
                match &expected.1 {
                    Ok(Checked { outcome: Outcome::Proved(_), .. }) => proved += 1,
                    Ok(Checked { outcome, listed, .. }) => {
                        let Outcome::Refused(refusal) = outcome else { panic!("{outcome:?}") };
                        assert!(refusal.step.contains(&format!("node {listed}")), "{refusal} {listed}");
                        refused += 1;
                    }
                    Err(_) => unread += 1,
                }
            }
        }
    }
    assert!(proved >= 1 && refused >= 20 && unread >= 4, "{proved} {refused} {unread}");
    // The same in exact numbers, for one of them.
    let certificate = valid(2e-3);
    let expected = said(&certificate, "", Arithmetic::Exact, 1);
    assert_eq!(said(&certificate, "", Arithmetic::Exact, 3), expected);
}

#[test]
fn leaves_are_bounded_on_several_threads() {
    let (a, b) = (network(0.0), network(1e-3));
    let bounds = [exact(1.0), exact(1.0)];
    let valid = certificate([&a, &b], domain(), Default::default(), &bounds, &long_tree());
    let here = thread::current().id();
    // So often it is asked before the first node.
    let asked = AtomicUsize::new(0);
    let count = || {
        asked.fetch_add(1, Ordering::Relaxed);
        false
    };
    assert!(matches!(Checker::new(&a, &b).stop(&count).check(&valid), Outcome::Proved(_)));
    let before = asked.load(Ordering::Relaxed) - long_tree().len();
    // The calling thread waits inside the first batch until another one has taken a leaf.
    let is_leaf = |(_, node): &(usize, BoxNode)| *node == BoxNode::Leaf;
    let (last, _) = long_tree().into_iter().enumerate().filter(is_leaf).nth(127).unwrap();
    let (asked, other, taken) = (AtomicUsize::new(0), Mutex::new(false), Condvar::new());
    let stop = || {
        if thread::current().id() != here {
            *other.lock().unwrap() = true;
            taken.notify_all();
        } else if asked.fetch_add(1, Ordering::Relaxed) == before + last + 1 {
            let waited =
                taken.wait_timeout_while(other.lock().unwrap(), Duration::from_secs(30), |other| !*other);
            return waited.unwrap().1.timed_out();
        }
        false
    };
    let outcome = Checker::new(&a, &b).threads(threads(2)).stop(&stop).check(&valid);
    assert!(matches!(outcome, Outcome::Proved(_)), "{outcome:?}");
    assert!(*other.lock().unwrap());
}

#[test]
fn threads_stop_when_told() {
    let (a, b) = (network(0.0), network(1e-3));
    let bounds = [exact(1.0), exact(1.0)];
    let valid = certificate([&a, &b], domain(), Default::default(), &bounds, &long_tree());
    let leaves_of_a_batch = 128;
    for end in [1, 10, leaves_of_a_batch + 170, 500] {
        let asked = AtomicUsize::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) >= end;
        let checker = Checker::new(&a, &b).threads(threads(2)).stop(&stop);
        assert_eq!(checker.check(&valid), Outcome::Stopped, "{end}");
    }
}
