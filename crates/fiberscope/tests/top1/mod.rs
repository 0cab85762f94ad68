//! Do two networks decide alike? Answers are held against exact polygons for two inputs, against exact
//! evaluation at many points, and against what is known by hand where there are ties.

use crate::common;
mod polygons;

use std::time::Duration;

use common::rng;
use fiberscope::check::difference::Arithmetic;
use fiberscope::check::{AskedClaim, Checker, Outcome, Question, Shortfall};
use fiberscope::difference::{
    ClassState, DifferenceError, Sureness, Top1, Top1Options, Top1Verdict, Undecided, decide,
};
use fiberscope::limit::{Deadline, Limit};
use fiberscope::{Activation, Certificate, Claim, Domain, Evidence, Layer, Matrix, Network, Rational};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

fn r(text: &str) -> Rational {
    text.parse().unwrap()
}

/// Multiples of 1/16 in `[-1, 1]`, and near them others of 1/256.
fn pair(rng: &mut ChaCha8Rng, widths: &[usize], apart: i32) -> [Network; 2] {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for l in 0..widths.len() - 1 {
        let (rows, columns) = (widths[l + 1], widths[l]);
        let last = l + 2 == widths.len();
        let activation = if last { Activation::Identity } else { Activation::Relu };
        let number = |rng: &mut ChaCha8Rng| f64::from(rng.random_range(-16..=16)) / 16.0;
        let numbers: Vec<f64> = (0..rows * (columns + 1)).map(|_| number(rng)).collect();
        let near = |rng: &mut ChaCha8Rng, x: f64| x + f64::from(rng.random_range(-apart..=apart)) / 256.0;
        let others: Vec<f64> = numbers.iter().map(|&x| near(rng, x)).collect();
        let layer = |numbers: &[f64]| {
            let (weight, bias) = numbers.split_at(rows * columns);
            let weight = Matrix::from_entries(rows, columns, weight.to_vec()).unwrap();
            Layer::new(weight, bias.to_vec(), activation)
        };
        a.push(layer(&numbers));
        b.push(layer(&others));
    }
    [a, b].map(|layers| Network::new(layers).unwrap())
}

fn square(inputs: usize) -> Domain {
    Domain::from_bounds(&vec![(-1.0, 1.0); inputs]).unwrap()
}

fn ask(a: &Network, b: &Network, domain: &Domain, sureness: Sureness) -> Top1 {
    ask_within(10, a, b, domain, sureness)
}

fn ask_within(seconds: u64, a: &Network, b: &Network, domain: &Domain, sureness: Sureness) -> Top1 {
    let deadline = Deadline::after(Some(Duration::from_secs(seconds)));
    decide(a, b, domain, &Top1Options::new().sureness(sureness).deadline(deadline)).unwrap()
}

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

/// Whether A is sure of a class at a point, and B does not decide for it.
fn changes_at(a: &[Rational], b: &[Rational], margin: &Rational) -> bool {
    let others = |i: usize| (0..a.len()).filter(move |&l| l != i);
    let sure = |i: usize| others(i).all(|l| a[i] > a[l] && &a[i] - &a[l] >= *margin);
    (0..a.len()).any(|i| sure(i) && others(i).any(|j| b[j] >= b[i]))
}

/// Checks what comes with an answer; the answer.
fn verified(a: &Network, b: &Network, domain: &Domain, margin: &Rational, found: &Top1) -> Option<bool> {
    match &found.verdict {
        Top1Verdict::Same => {
            let certificate = found.certificate.as_ref().unwrap();
            for arithmetic in [Arithmetic::Doubles, Arithmetic::Exact] {
                let outcome = Checker::new(a, b).arithmetic(arithmetic).check(certificate);
                assert!(matches!(outcome, Outcome::Proved(_)), "{outcome:?}");
            }
            let question = |margin: &Rational| Question {
                claim: Some(AskedClaim::SameClass(margin.clone())),
                domain: Some(domain.clone()),
            };
            assert_eq!(question(margin).shortfall(certificate), None);
            if matches!(certificate.claim(), Claim::SameClass { .. }) && margin.is_positive() {
                let less = &(margin * &r("1023/1024"));
                assert_eq!(question(less).shortfall(certificate), Some(Shortfall::Margin));
            }
        }
        Top1Verdict::Changes(change) => {
            let x = &change.point.x;
            assert!(domain.contains(x));
            let (of_a, of_b) = (evaluate(a, x), evaluate(b, x));
            assert_eq!((&of_a, &of_b), (&change.point.a, &change.point.b));
            assert!(changes_at(&of_a, &of_b, margin));
            let certificate = found.certificate.as_ref().unwrap();
            assert_eq!(Checker::new(a, b).check(certificate), Outcome::Proved(Claim::Different));
            let question = Question { claim: Some(AskedClaim::OtherClass(margin.clone())), domain: None };
            assert_eq!(question.shortfall(certificate), None);
        }
        Top1Verdict::Undecided(_) => assert!(found.certificate.is_none()),
    }
    found.holds()
}

#[test]
fn answers_are_those_of_exact_polygons() {
    let rng = &mut rng(31);
    let mut counts = [0; 3];
    for round in 0..48 {
        let widths: &[usize] = [&[2, 4, 3][..], &[2, 3, 3, 3], &[2, 5, 2], &[2, 3, 4]][round % 4];
        let [a, b] = pair(rng, widths, [2, 8, 32][round % 3]);
        for margin in ["0", "1/16", "1/4", "1"].map(r) {
            let found = ask(&a, &b, &square(2), Sureness::Margin(margin.clone()));
            let expected = !polygons::class_changes(&a, &b, [(-1, 1), (-1, 1)], &margin);
            match verified(&a, &b, &square(2), &margin, &found) {
                Some(holds) => {
                    assert_eq!(holds, expected, "round {round}, margin {margin}");
                    counts[usize::from(holds)] += 1;
                }
                None => counts[2] += 1,
            }
        }
    }
    assert!(counts[0] > 40 && counts[1] > 40 && counts[2] <= 4, "{counts:?}");
}

#[test]
fn no_point_contradicts_a_proof() {
    let rng = &mut rng(32);
    let mut proved = 0;
    for round in 0..6 {
        let [a, b] = pair(rng, &[4, 8, 8, 5], 1);
        let margin = r(["1/8", "1/2"][round % 2]);
        let found = ask(&a, &b, &square(4), Sureness::Margin(margin.clone()));
        if verified(&a, &b, &square(4), &margin, &found) != Some(true) {
            continue;
        }
        proved += 1;
        let never: Vec<usize> = match &found.classes {
            Some(states) => (0..5).filter(|&i| states[i] == ClassState::Never).collect(),
            None => Vec::new(),
        };
        for _ in 0..400 {
            let x: Vec<Rational> = (0..4).map(|_| Rational::dyadic(rng.random_range(-32..=32), -5)).collect();
            let (of_a, of_b) = (evaluate(&a, &x), evaluate(&b, &x));
            assert!(!changes_at(&of_a, &of_b, &margin));
            for &i in &never {
                let sure = (0..5).filter(|&l| l != i).all(|l| &of_a[i] - &of_a[l] >= margin);
                assert!(!sure, "class {i} was said never to be one that A is sure of");
            }
        }
    }
    assert!(proved >= 2, "{proved}");
}

fn outputs(rows: &[&[f64]], bias: &[f64]) -> Network {
    Network::from_rows(&[(rows, bias)]).unwrap()
}

/// One input in `[-1, 1]`, and what is known by hand.
#[test]
fn ties_are_what_they_are_said_to_be() {
    let domain = square(1);
    let check = |a: &Network, b: &Network, margin: &str, expected: Option<bool>| {
        let margin = r(margin);
        let found = ask(a, b, &domain, Sureness::Margin(margin.clone()));
        assert_eq!(verified(a, b, &domain, &margin, &found), expected, "{:?}", found.verdict);
        found
    };
    let one = outputs(&[&[0.0], &[0.0]], &[0.5, 0.0]);
    // A tie of B is not the class of A, here at x = -1 alone.
    let touching = outputs(&[&[1.0], &[0.0]], &[1.0, 0.0]);
    check(&one, &touching, "0", Some(false));
    let clear = outputs(&[&[1.0], &[0.0]], &[1.0625, 0.0]);
    check(&one, &clear, "0", Some(true));
    // A lead of the margin itself counts.
    let other = outputs(&[&[0.0], &[0.0]], &[-1.0, 0.0]);
    check(&one, &other, "1/2", Some(false));
    let found = check(&one, &other, "513/1024", Some(true));
    assert_eq!(found.classes, Some(vec![ClassState::Never; 2]));
    // At a tie A has no class: where A and B agree everywhere else, the tie is no counterexample. Equal networks
    // are told by moves.
    let crossing = outputs(&[&[1.0], &[-1.0]], &[0.0, 0.0]);
    check(&crossing, &crossing, "0", Some(true));
    // B is twice A, with the same tie: no bound is sharp enough, and no input is a counterexample.
    let twice = outputs(&[&[2.0], &[-2.0]], &[0.0, 0.0]);
    let found = check(&crossing, &twice, "0", None);
    assert_eq!(found.verdict, Top1Verdict::Undecided(Undecided::Rounding));
    check(&crossing, &twice, "1/1024", Some(true));
    // B turns at another point.
    let shifted = outputs(&[&[1.0], &[-1.0]], &[0.0, 0.125]);
    let found = check(&crossing, &shifted, "0", Some(false));
    let Top1Verdict::Changes(change) = &found.verdict else { panic!() };
    assert_eq!((change.class, change.rival), (0, 1));
    check(&crossing, &shifted, "1/8", Some(false));
    check(&crossing, &shifted, "129/1024", Some(true));
    // A is a tie everywhere: with a margin that is never a lead.
    let tied = outputs(&[&[1.0], &[1.0]], &[0.0, 0.0]);
    check(&tied, &other, "1/1024", Some(true));
    // Without one no counterexample is ever found, and no bound excludes it.
    let found = ask_within(1, &tied, &other, &domain, Sureness::Margin(Rational::ZERO));
    assert_eq!(verified(&tied, &other, &domain, &Rational::ZERO, &found), None, "{:?}", found.verdict);
}

#[test]
fn confidence_is_a_probability() {
    let softmax = |a: &[f64], i: usize| 1.0 / a.iter().map(|x| (x - a[i]).exp()).sum::<f64>();
    let rng = &mut rng(33);
    let mut counts = [0; 3];
    for round in 0..24 {
        let [mut a, mut b] = pair(rng, &[2, 5, 3], [2, 16][round % 2]);
        // Larger outputs, so that probabilities come near 1.
        for network in [&mut a, &mut b] {
            let mut layers = network.layers().to_vec();
            let last = layers.pop().unwrap();
            let entries = last.weight().entries().iter().map(|w| 8.0 * w).collect();
            let weight = Matrix::from_entries(3, 5, entries).unwrap();
            let bias = last.bias().iter().map(|b| 8.0 * b).collect();
            layers.push(Layer::new(weight, bias, Activation::Identity));
            *network = Network::new(layers).unwrap();
        }
        for confidence in ["2/5", "3/5", "9/10", "999/1000"] {
            let found = ask(&a, &b, &square(2), Sureness::Confidence(r(confidence)));
            let least = r(confidence).to_f64();
            let at = |network: &Network, x: &[Rational]| -> Vec<f64> {
                evaluate(network, x).iter().map(Rational::to_f64).collect()
            };
            let best = |y: &[f64]| (0..3).reduce(|i, j| if y[j] > y[i] { j } else { i }).unwrap();
            match &found.verdict {
                Top1Verdict::Same => {
                    counts[1] += 1;
                    let outcome = Checker::new(&a, &b).check(found.certificate.as_ref().unwrap());
                    assert!(matches!(outcome, Outcome::Proved(_)), "{outcome:?}");
                    for _ in 0..200 {
                        let x = [0, 1].map(|_| Rational::dyadic(rng.random_range(-256..=256), -8));
                        let (of_a, of_b) = (at(&a, &x), at(&b, &x));
                        let i = best(&of_a);
                        assert!(softmax(&of_a, i) < least + 1e-9 || best(&of_b) == i);
                    }
                }
                Top1Verdict::Changes(change) => {
                    counts[0] += 1;
                    let (of_a, of_b) = (at(&a, &change.point.x), &change.point.b);
                    assert!(softmax(&of_a, change.class) >= least - 1e-12);
                    assert_eq!(best(&of_a), change.class);
                    assert!(of_b[change.rival] >= of_b[change.class]);
                }
                Top1Verdict::Undecided(_) => counts[2] += 1,
            }
        }
    }
    assert!(counts[0] > 10 && counts[1] > 20, "{counts:?}");
    assert!(counts[2] <= 10, "{counts:?}");
}

#[test]
fn twins_and_other_shapes_are_aligned() {
    let rng = &mut rng(34);
    let [a, b] = pair(rng, &[2, 6, 6, 3], 1);
    // Neurons of B in another order, and scaled by powers of two.
    let mut layers = b.layers().to_vec();
    let reversed = |layer: &Layer<f64>, factor: f64| {
        let mut rows: Vec<Vec<f64>> =
            layer.weight().iter_rows().map(|row| row.iter().map(|w| w * factor).collect()).collect();
        rows.reverse();
        let bias = layer.bias().iter().rev().map(|b| b * factor).collect();
        Layer::new(Matrix::from_rows(&rows).unwrap(), bias, Activation::Relu)
    };
    let behind = |layer: &Layer<f64>, factor: f64| {
        let rows: Vec<Vec<f64>> =
            layer.weight().iter_rows().map(|row| row.iter().rev().map(|w| w / factor).collect()).collect();
        Layer::new(Matrix::from_rows(&rows).unwrap(), layer.bias().to_vec(), layer.activation())
    };
    layers[0] = reversed(&layers[0], 4.0);
    layers[1] = behind(&layers[1], 4.0);
    let twin = Network::new(layers).unwrap();
    let margin = r("1/4");
    let found = ask(&a, &twin, &square(2), Sureness::Margin(margin.clone()));
    let expected = !polygons::class_changes(&a, &b, [(-1, 1), (-1, 1)], &margin);
    assert_eq!(verified(&a, &twin, &square(2), &margin, &found), Some(expected));
}

#[test]
fn the_answer_does_not_depend_on_threads() {
    let [a, b] = pair(&mut rng(35), &[3, 8, 8, 4], 4);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let options = Top1Options::new().sureness(Sureness::Margin(r("1/2")));
        let found = pool.install(|| decide(&a, &b, &square(3), &options)).unwrap();
        (found.verdict, found.cells, found.certificate.map(|certificate| certificate.to_json()))
    };
    assert!(run(1) == run(3));
}

#[test]
fn limits_leave_it_undecided() {
    let [a, b] = pair(&mut rng(36), &[4, 8, 8, 5], 1);
    let options = Top1Options::new().deadline(Deadline::after(Some(Duration::ZERO)));
    let found = decide(&a, &b, &square(4), &options).unwrap();
    assert_eq!(found.verdict, Top1Verdict::Undecided(Undecided::Limit(Limit::Time)));
    assert!(found.certificate.is_none());
}

#[test]
fn questions_that_are_none_are_refused() {
    let [a, b] = pair(&mut rng(37), &[2, 3, 3], 1);
    let error = |a: &Network, b: &Network, domain: &Domain, sureness: Sureness| {
        decide(a, b, domain, &Top1Options::new().sureness(sureness)).unwrap_err()
    };
    let zero = Sureness::Margin(Rational::ZERO);
    assert!(matches!(error(&a, &b, &Domain::Space, zero.clone()), DifferenceError::Unbounded(_)));
    let margin = Sureness::Margin(r("-1/2"));
    assert_eq!(error(&a, &b, &square(2), margin), DifferenceError::Margin(r("-1/2")));
    for confidence in ["0", "1/3", "1", "2", "-1"] {
        let found = error(&a, &b, &square(2), Sureness::Confidence(r(confidence)));
        assert_eq!(found, DifferenceError::Confidence { found: r(confidence), classes: 3 });
    }
    let single = outputs(&[&[1.0, 1.0]], &[0.0]);
    assert_eq!(error(&single, &single, &square(2), zero.clone()), DifferenceError::Classes(1));
    let wide = outputs(&[&[1.0, 1.0], &[1.0, 1.0]], &[0.0, 0.0]);
    assert_eq!(error(&a, &wide, &square(2), zero), DifferenceError::Outputs { a: 3, b: 2 });
}

/// Claims about sizes answer questions about classes too, where the lead is more than two bounds.
#[test]
fn bounds_answer_questions_about_classes() {
    let [a, b] = pair(&mut rng(38), &[2, 3, 3], 1);
    let bounds = ["1/8", "1/2", "1/4"].map(r).to_vec();
    let evidence = Evidence::Difference {
        a: Default::default(),
        b: Default::default(),
        bounds,
        tree: vec![fiberscope::core::BoxNode::Leaf],
    };
    let certificate = Certificate::new(&a, &b, square(2), evidence);
    let asked = |margin: &str| {
        Question { claim: Some(AskedClaim::SameClass(r(margin))), domain: None }.shortfall(&certificate)
    };
    assert_eq!(asked("3/4"), Some(Shortfall::Margin));
    assert_eq!(asked("769/1024"), None);
    let other = Question { claim: Some(AskedClaim::OtherClass(r("0"))), domain: None };
    assert_eq!(other.shortfall(&certificate), Some(Shortfall::Claim));
}
