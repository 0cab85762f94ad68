//! The decision procedure against pairs with known answers. Every verdict comes with a certificate that
//! the checker accepts here once more.
use crate::common;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::pairs::sorted_pair;
use fiberscope::check::{LineOutcome, Outcome, check, compare_on_line};
use fiberscope::core::{CoverNode, NeuronCopy};
use fiberscope::equivalence::regions::{SearchLimits, SearchOutcome, search};
use fiberscope::equivalence::{
    Agreement, Decision, EquivalenceOptions, METHODS, Method, Procedure, Verdict, decide,
};
use fiberscope::limit::{Deadline, Limit};
use fiberscope::orbit::relabel;
use fiberscope::{
    Activation, Certificate, Domain, Evidence, ExactNetwork, Layer, Matrix, Move, MoveChain, Network,
    Rational,
};
use fiberscope_io::json;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pairs")
}

fn network(name: &str) -> Network {
    let bytes = fs::read(folder().join(format!("{name}.json"))).unwrap();
    json::read(&bytes, &Default::default()).unwrap().network
}

fn exactly(a: &Network, b: &Network, domain: &Domain) -> Decision {
    let options = EquivalenceOptions::new().exact(true).without(Method::Evaluation);
    decide(a, b, domain, &options).unwrap()
}

fn certificate(decision: &Decision) -> &Certificate {
    match &decision.verdict {
        Verdict::Equivalent { certificate }
        | Verdict::EquivalentUpToRounding { certificate, .. }
        | Verdict::Different { certificate, .. } => certificate,
        Verdict::Undecided { .. } => panic!("undecided"),
    }
}

#[test]
fn golden_pairs() {
    let manifest: Vec<Value> =
        serde_json::from_slice(&fs::read(folder().join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest.len(), 78);
    for entry in manifest {
        let name = entry["name"].as_str().unwrap();
        let (a, b) = (network(&format!("{name}.a")), network(&format!("{name}.b")));
        let decision = exactly(&a, &b, &Domain::Space);
        let equal = matches!(decision.verdict, Verdict::Equivalent { .. });
        assert_eq!(equal, entry["equivalent"].as_bool().unwrap(), "{name} by {}", decision.method);
        assert!(matches!(check(certificate(&decision), &a, &b), Outcome::Proved(_)), "{name}");
        let widths = a.widths();
        if widths.len() == 4 && widths[0] >= widths[1] {
            let found = decision.method;
            assert!(
                [Method::Moves, Method::Hyperplanes, Method::Bottleneck].contains(&found),
                "{name} by {found}"
            );
        }
    }
}

fn cube(inputs: usize) -> Domain {
    Domain::from_bounds(&vec![(-2.0, 2.0); inputs]).unwrap()
}

/// Two neurons of the second or third layer that are wired up in another way take a split or two, however many cells
/// the layers before have; where one number of a tail is another one, nothing is said.
#[test]
fn deep_layers_are_compared_behind_equal_ones() {
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    for (round, (widths, at)) in
        [(&[5, 24, 20, 12, 1][..], 1), (&[4, 10, 12, 10, 8, 2], 2), (&[6, 20, 16, 1], 1)]
            .into_iter()
            .enumerate()
    {
        let [a, b] = sorted_pair(&mut rng, widths, at);
        let b = relabel(&b, round as u64).network;
        let options = EquivalenceOptions::new().exact(true);
        let decision = decide(&a, &b, &cube(widths[0]), &options).unwrap();
        assert_eq!(decision.method, Method::Tails, "{widths:?}");
        let proof = certificate(&decision);
        let Evidence::Regions { prefix, tree, .. } = &proof.evidence else { panic!("{proof:?}") };
        assert_eq!(*prefix, at);
        assert!(tree.len() < 10, "{widths:?}: {} nodes", tree.len());
        assert!(matches!(check(proof, &a, &b), Outcome::Proved(_)));
        let mut layers = b.layers().to_vec();
        let (weight, mut bias, activation) = layers.pop().unwrap().into_parts();
        bias[0] = bias[0].next_up();
        layers.push(Layer::new(weight, bias, activation));
        let other = Network::new(layers).unwrap();
        let only = EquivalenceOptions::new().only([Method::Tails]).exact(true);
        let unknown = decide(&a, &other, &cube(widths[0]), &only).unwrap();
        assert!(matches!(unknown.verdict, Verdict::Undecided { .. }), "{widths:?}");
    }
}

/// `relu(x)` and `relu(-x)` are never positive together, so that `relu(relu(x) - relu(-x))` is the first of them.
#[test]
fn tails_that_differ_prove_nothing() {
    let rows: &[&[f64]] = &[&[1.0, 0.5], &[-1.0, -0.5]];
    let network = |tail: &[f64]| {
        Network::from_rows(&[(rows, &[0.0, 0.0]), (&[tail], &[0.0]), (&[&[1.0]], &[0.0])]).unwrap()
    };
    let (a, b) = (network(&[1.0, -1.0]), network(&[1.0, 0.0]));
    for tree in [vec![CoverNode::Same], vec![CoverNode::Equal]] {
        let [x, y] = [MoveChain::default(), MoveChain::default()];
        let evidence = Evidence::Regions { a: x, b: y, prefix: 1, tree };
        let forged = Certificate::new(&a, &b, cube(2), evidence);
        assert!(matches!(check(&forged, &a, &b), Outcome::Refused(_)));
    }
    let all = EquivalenceOptions::new().exact(true);
    assert!(matches!(decide(&a, &b, &cube(2), &all).unwrap().verdict, Verdict::Equivalent { .. }));
}

/// Nothing is begun when the time is up, and nothing wrong is said.
#[test]
fn without_time_there_is_no_verdict() {
    let (a, b) = (network("translate_00.a"), network("translate_00.b"));
    let options = EquivalenceOptions::new().deadline(Deadline::after(Some(Duration::ZERO)));
    let decision = decide(&a, &b, &Domain::Space, &options).unwrap();
    assert!(matches!(decision.verdict, Verdict::Undecided { state: None, .. }));
}

/// A yes needs a checked certificate, and a check takes time too: even for equal networks.
#[test]
fn without_time_nothing_is_proved() {
    let a = network("translate_00.a");
    let options = EquivalenceOptions::new().deadline(Deadline::after(Some(Duration::ZERO)));
    let decision = decide(&a, &a, &Domain::Space, &options).unwrap();
    assert!(matches!(decision.verdict, Verdict::Undecided { limit: Some(Limit::Time), .. }));
    assert_eq!(decision.method, Method::None);
}

/// Every method answers alone what it answers in company, and nothing is said by a method that was not asked
/// for.
#[test]
fn methods_can_be_chosen() {
    let manifest: Vec<Value> =
        serde_json::from_slice(&fs::read(folder().join("manifest.json")).unwrap()).unwrap();
    let mut answered = Vec::new();
    for entry in manifest.iter().step_by(3) {
        let name = entry["name"].as_str().unwrap();
        let (a, b) = (network(&format!("{name}.a")), network(&format!("{name}.b")));
        let together = exactly(&a, &b, &Domain::Space);
        let alone = EquivalenceOptions::new().exact(true).only([together.method]);
        let found = decide(&a, &b, &Domain::Space, &alone).unwrap();
        assert_eq!(found.method, together.method, "{name}");
        assert_eq!(certificate(&found), certificate(&together), "{name}");
        answered.push(found.method);
        let identical = EquivalenceOptions::new().only([Method::Identical]);
        let nothing = decide(&a, &b, &Domain::Space, &identical).unwrap();
        assert!(matches!(nothing.verdict, Verdict::Undecided { state: None, limit: None, .. }), "{name}");
        assert_eq!(nothing.method, Method::None);
    }
    assert!(answered.contains(&Method::Moves) && answered.contains(&Method::Bottleneck), "{answered:?}");
}

/// Every method that can be chosen is in the list, and the other way round, in the same order; names are read
/// back.
#[test]
fn what_can_be_chosen_is_what_is_tried() {
    let mut tried: Vec<Method> = Vec::new();
    for procedure in METHODS {
        if !tried.contains(&procedure.method) {
            tried.push(procedure.method);
        }
    }
    assert_eq!(tried, Method::ALL);
    for method in Method::ALL {
        assert_eq!(method.name().parse(), Ok(method));
        assert_eq!(method.word().parse(), Ok(method));
    }
    assert!("luck".parse::<Method>().unwrap_err().to_string().contains("affine-maps"));
    assert!("too large".parse::<Method>().is_err());
}

/// The guide has a table of the methods: the lines of the list, in its order.
#[test]
fn the_guide_lists_the_methods() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/equivalence.md");
    let guide = fs::read_to_string(path).unwrap();
    let lines = METHODS.iter().enumerate();
    let line = |(i, each): (usize, &Procedure)| {
        format!("| {} | `{}` | {} |\n", i + 1, each.method.word(), each.about)
    };
    let table: String = lines.map(line).collect();
    // From the head of the table to the empty line behind it.
    assert!(guide.contains(&format!("|---|---|---|\n{table}\n")), "the guide's table should be\n{table}");
}

/// Functions of one variable, any depth: decided by a walk, as the search decides them.
#[test]
fn functions_of_one_variable_are_walked() {
    let mut verdicts = [0; 2];
    for seed in 0..60 {
        let rng = &mut common::rng(seed);
        let a = common::random_network(rng, &[1, 4, 3, 3, 2]);
        let permuted = common::permute(rng, &a, 1);
        let mut b = common::split(rng, &permuted, 0);
        if seed % 2 == 1 {
            b = common::edit(&b, |l, i, j, x| if (l, i, j) == (2, 0, 0) { -x } else { x });
        }
        let outcome = search(&a, &b, &Domain::Space, &SearchLimits::default(), &|_| ()).unwrap();
        let walk = compare_on_line(&a, &b, &Domain::Space, &|| false).unwrap();
        match (outcome, walk) {
            (SearchOutcome::Equal { .. }, LineOutcome::Equal(_)) => verdicts[0] += 1,
            (SearchOutcome::Different { .. }, LineOutcome::Different(x)) => {
                assert_ne!(a.evaluate_exact(&x).unwrap(), b.evaluate_exact(&x).unwrap());
                verdicts[1] += 1;
            }
            other => panic!("{seed}: {other:?}"),
        }
    }
    assert!(verdicts.iter().all(|&count| count > 10), "{verdicts:?}");
}

fn zoo(name: &str) -> Network {
    fiberscope_io::zoo::network(name).unwrap().network
}

#[test]
fn rounding_is_told_from_a_difference() {
    let options = EquivalenceOptions::new();
    let unit = Domain::from_bounds(&[(-1.0, 1.0); 2]).unwrap();
    let verdict = |a: &str, b: &str, domain: &Domain, options: &EquivalenceOptions| {
        decide(&zoo(a), &zoo(b), domain, options).unwrap().verdict
    };
    let everywhere = verdict("deep", "deep-rounded", &Domain::Space, &options);
    let Verdict::EquivalentUpToRounding { agreement, certificate, differ_at: Some(found) } = everywhere
    else {
        panic!("{everywhere:?}")
    };
    assert!(
        matches!(&agreement, Agreement::Parameters { relative } if relative.to_f64() < 12.0 * f64::EPSILON)
    );
    assert!(matches!(certificate.evidence, Evidence::Close { .. }) && certificate.domain == Domain::Space);
    assert_ne!(found.a, found.b);
    let on_box = verdict("deep", "deep-rounded", &unit, &options);
    let Verdict::EquivalentUpToRounding { agreement: Agreement::Outputs { bound, size }, .. } = on_box else {
        panic!("{on_box:?}")
    };
    assert!(bound.to_f64() < 1e-12 && size.unwrap().to_f64() > 1e-2);
    let nudged = verdict("identifiable", "identifiable-nudged", &unit, &options);
    assert!(matches!(nudged, Verdict::Different { .. }));
    let exact = options.exact(true);
    for domain in [&Domain::Space, &unit] {
        assert!(matches!(verdict("deep", "deep-rounded", domain, &exact), Verdict::Different { .. }));
    }
}

/// The network with every parameter rounded to single precision.
fn single(network: &ExactNetwork) -> Network {
    network.map(|x| f64::from(x.to_f64() as f32)).unwrap()
}

/// Every first-layer neuron `z` as `relu(s (z - t)) / s - relu(-r (z - t)) / r + t` behind a layer more.
fn with_inserted_layer(network: &ExactNetwork) -> ExactNetwork {
    let first = &network.layers()[0];
    let (width, inputs) = (first.width(), first.input_width());
    let scale = |row: usize| &Rational::from(row as i64 + 3) / &Rational::from(7);
    let shift = Rational::from(5);
    let sign = |row: usize| Rational::from(if row.is_multiple_of(2) { 1 } else { -1 });
    let inserted = Matrix::from_fn(2 * width, inputs, |row, j| {
        &(&sign(row) * &scale(row)) * &first.weight()[(row / 2, j)]
    });
    let bias =
        (0..2 * width).map(|row| &(&sign(row) * &scale(row)) * &(&first.bias()[row / 2] - &shift)).collect();
    let back = Matrix::from_fn(width, 2 * width, |i, row| {
        if row / 2 == i { &sign(row) / &scale(row) } else { Rational::ZERO }
    });
    let mut layers = vec![
        Layer::new(inserted, bias, Activation::Relu),
        Layer::new(back, vec![shift; width], Activation::Relu),
    ];
    layers.extend_from_slice(&network.layers()[1..]);
    Network::new(layers).unwrap()
}

/// The same for every second neuron only; the others are passed on: `relu(c relu(z / c))`.
fn with_mixed_layer(network: &ExactNetwork) -> ExactNetwork {
    let first = &network.layers()[0];
    let shift = common::r("37/100");
    let scale = |row: usize| &Rational::from(row as i64 + 2) / &Rational::from(3);
    let (mut rows, mut bias, mut back) = (Vec::new(), Vec::new(), Vec::new());
    for unit in 0..first.width() {
        let (row, b) = (first.weight().row(unit), &first.bias()[unit]);
        let (threshold, signs) =
            if unit.is_multiple_of(2) { (shift.clone(), &[1, -1][..]) } else { (Rational::ZERO, &[1][..]) };
        for &sign in signs {
            let factor = &Rational::from(sign) * &scale(rows.len());
            rows.push(row.iter().map(|w| w * &factor).collect::<Vec<_>>());
            bias.push(&(b - &threshold) * &factor);
            back.push((unit, factor.recip().unwrap()));
        }
    }
    let inserted = Layer::new(Matrix::from_rows(&rows).unwrap(), bias, Activation::Relu);
    let weight = Matrix::from_fn(first.width(), back.len(), |i, j| {
        if back[j].0 == i { back[j].1.clone() } else { Rational::ZERO }
    });
    let thresholds = |unit: usize| if unit.is_multiple_of(2) { shift.clone() } else { Rational::ZERO };
    let second = Layer::new(weight, (0..first.width()).map(thresholds).collect(), Activation::Relu);
    let mut layers = vec![inserted, second];
    layers.extend_from_slice(&network.layers()[1..]);
    Network::new(layers).unwrap()
}

/// Split neurons and inserted layers in single precision: no exact multiples, but within rounding.
#[test]
fn rounded_splits_are_equivalent_up_to_rounding() {
    let options = EquivalenceOptions::new().precision(f64::from(f32::EPSILON));
    let domain = Domain::from_bounds(&[(-1.0, 1.0); 3]).unwrap();
    let mut recognised = 0;
    for seed in 0..12 {
        let rng = &mut common::rng(seed);
        let network = common::random_network(rng, &[3, 5, 4, 2]);
        let copy = NeuronCopy { of: 1, unit: 0, factor: common::r("3/10"), out: vec![common::r("1/3"); 4] };
        let split = common::apply(&network, &domain, Move::Split { layer: 0, copies: vec![copy] });
        for other in [split, with_inserted_layer(&network), with_mixed_layer(&network)] {
            let (a, b) = (single(&network), single(&other));
            let verdict = decide(&a, &b, &domain, &options).unwrap().verdict;
            let Verdict::EquivalentUpToRounding { agreement, certificate, differ_at } = verdict else {
                // Equal exactly where the rounded neurons are dead on the box.
                assert!(matches!(verdict, Verdict::Equivalent { .. }), "{seed}");
                continue;
            };
            recognised += 1;
            assert!(
                matches!(
                    certificate.evidence,
                    Evidence::Nudged { .. } | Evidence::Rounding { .. } | Evidence::Difference { .. }
                ),
                "{seed}: {:?}",
                certificate.claim()
            );
            assert!(matches!(check(&certificate, &a, &b), Outcome::Proved(_)), "{seed}");
            let Agreement::Outputs { bound, size: Some(size) } = agreement else {
                panic!("{seed}: no bound")
            };
            assert!(&bound * &Rational::from(1024) <= size, "{seed}");
            let x = differ_at.unwrap().x;
            assert_ne!(a.evaluate_exact(&x).unwrap(), b.evaluate_exact(&x).unwrap());
            let exact = options.clone().exact(true);
            let verdict = decide(&a, &b, &domain, &exact).unwrap().verdict;
            assert!(matches!(verdict, Verdict::Different { .. }), "{seed}");
            // A real change is no rounding.
            let output = b.hidden_depth();
            let changed = common::edit(&b.to_exact(), |l, _, j, x| match (l, j) {
                (l, 4) if l == output => &x + &common::r("1/100"),
                _ => x,
            });
            let verdict = decide(&a, &single(&changed), &domain, &options).unwrap().verdict;
            assert!(!matches!(verdict, Verdict::EquivalentUpToRounding { .. }), "{seed}");
        }
    }
    assert!(recognised > 27, "{recognised} of 36");
}
