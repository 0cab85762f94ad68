//! The region search against brute force, its certificates against the checker, and its bookkeeping.
use crate::brute;
use crate::common;

use std::time::Duration;

use brute::equal_by_brute_force;
use common::pairs::sorted_pair;
use fiberscope::check::{Outcome, check};
use fiberscope::core::{CoverNode, NetworkName};
use fiberscope::equivalence::falsify::{FalsifyBudget, falsify};
use fiberscope::equivalence::regions::{
    SearchError, SearchLimits, SearchOutcome, SearchState, resume, search,
};
use fiberscope::orbit::relabel;
use fiberscope::{
    Activation, Certificate, Claim, Deadline, Domain, Evidence, Interval, Layer, Matrix, MoveChain, Network,
    Rational,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use Activation::{Identity, Relu};

fn unlimited(a: &Network, b: &Network, domain: &Domain) -> SearchOutcome {
    search(&a.to_exact(), &b.to_exact(), domain, &SearchLimits::default(), &|_| ()).unwrap()
}

fn certificate(a: &Network, b: &Network, domain: &Domain, tree: Vec<CoverNode>) -> Certificate {
    Certificate::new(
        a,
        b,
        domain.clone(),
        Evidence::Regions { a: MoveChain::default(), b: MoveChain::default(), prefix: 0, tree },
    )
}

/// Searches, checks the evidence, and says whether the networks are equal.
fn decide(a: &Network, b: &Network, domain: &Domain) -> bool {
    match unlimited(a, b, domain) {
        SearchOutcome::Equal { tree, .. } => {
            let certificate = certificate(a, b, domain, tree);
            assert_eq!(check(&certificate, a, b), Outcome::Proved(Claim::Equivalent));
            true
        }
        SearchOutcome::Different { x } => {
            assert!(domain.contains(&x));
            assert_ne!(a.evaluate_exact(&x).unwrap(), b.evaluate_exact(&x).unwrap());
            false
        }
        SearchOutcome::Undecided { .. } | SearchOutcome::TooLarge => panic!("no limit was set"),
    }
}

/// Weights from few values make proportional, dead, constant and coincident neurons common.
fn random_network(rng: &mut ChaCha8Rng, widths: &[usize], coarse: bool) -> Network {
    let number = |rng: &mut ChaCha8Rng| {
        if coarse { f64::from(rng.random_range(-2..=2)) / 2.0 } else { 2.0 * rng.random::<f64>() - 1.0 }
    };
    let layers = (1..widths.len()).map(|l| {
        let weight = Matrix::from_fn(widths[l], widths[l - 1], |_, _| number(rng));
        let bias = (0..widths[l]).map(|_| number(rng)).collect();
        let hidden_identity = rng.random_range(0..6) == 0;
        let activation = if l + 1 == widths.len() || hidden_identity { Identity } else { Relu };
        Layer::new(weight, bias, activation)
    });
    Network::new(layers.collect()).unwrap()
}

fn random_domain(rng: &mut ChaCha8Rng, inputs: usize) -> Domain {
    let r = |n: i64| Some(Rational::dyadic(n.into(), -1));
    let mut side = |_| {
        let low = rng.random_range(-4..=1);
        let (lower, upper) = match rng.random_range(0..5) {
            0 => (r(low), None),
            1 => (None, r(low)),
            2 => (r(low), r(low)),
            _ => (r(low), r(low + rng.random_range(1..=5))),
        };
        Interval { lower, upper }
    };
    let sides = (0..inputs).map(&mut side).collect();
    if rng.random_range(0..3) == 0 { Domain::Space } else { Domain::Box(sides) }
}

fn random_widths(rng: &mut ChaCha8Rng, inputs: usize, outputs: usize) -> Vec<usize> {
    let hidden: Vec<usize> = match rng.random_range(0..6) {
        0 => vec![],
        1 | 2 => vec![rng.random_range(1..=4)],
        _ => vec![rng.random_range(1..=3), rng.random_range(1..=2)],
    };
    [vec![inputs], hidden, vec![outputs]].concat()
}

/// The network with one parameter changed by one unit in the last place.
fn nudged(rng: &mut ChaCha8Rng, network: &Network) -> Network {
    let place = rng.random_range(0..network.parameter_count());
    let mut at = 0;
    network
        .map(|&w| {
            at += 1;
            if at - 1 == place { w.next_up() } else { w }
        })
        .unwrap()
}

/// The network with a neuron of its first hidden layer in two halves.
fn halved(network: &Network) -> Network {
    let mut layers = network.layers().to_vec();
    if layers.len() < 2 {
        return network.clone();
    }
    let (weight, bias, activation) = layers[0].clone().into_parts();
    let rows: Vec<Vec<f64>> =
        weight.iter_rows().map(<[f64]>::to_vec).chain([weight.row(0).to_vec()]).collect();
    let bias = bias.iter().copied().chain([bias[0]]).collect();
    layers[0] = Layer::new(Matrix::from_rows(&rows).unwrap(), bias, activation);
    let (weight, bias, activation) = layers[1].clone().into_parts();
    let n = weight.cols();
    let half = |i: usize, j: usize| {
        let w = weight[(i, if j == n { 0 } else { j })];
        if j == 0 || j == n { w / 2.0 } else { w }
    };
    layers[1] = Layer::new(Matrix::from_fn(weight.rows(), n + 1, half), bias, activation);
    Network::new(layers).unwrap()
}

fn square() -> Domain {
    Domain::from_bounds(&[(-2.0, 2.0); 2]).unwrap()
}

#[test]
fn networks_that_differ_in_few_places_are_closed_early() {
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    for round in 0..20 {
        let at = round % 2;
        let [a, b] = sorted_pair(&mut rng, &[2, 6, 5, 1], at);
        let SearchOutcome::Equal { tree, leaves } = unlimited(&a, &b, &square()) else { panic!("equal") };
        assert!(tree.contains(&CoverNode::Same), "round {round}");
        if at == 0 {
            // Of all neurons only the difference of the two is worth a split.
            assert!(leaves <= 2, "round {round}: {leaves}");
        }
        let certificate = certificate(&a, &b, &square(), tree);
        assert_eq!(check(&certificate, &a, &b), Outcome::Proved(Claim::Equivalent));
        assert!(!decide(&a, &nudged_output(&b), &square()), "round {round}");
    }
}

/// The network with its output a little larger.
fn nudged_output(network: &Network) -> Network {
    let mut layers = network.layers().to_vec();
    let (weight, mut bias, activation) = layers.pop().unwrap().into_parts();
    bias[0] = bias[0].next_up();
    layers.push(Layer::new(weight, bias, activation));
    Network::new(layers).unwrap()
}

#[test]
fn search_agrees_with_brute_force() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut counts = [0, 0];
    for round in 0..1000 {
        let (inputs, outputs) = (rng.random_range(1..=3), rng.random_range(1..=2));
        let widths = random_widths(&mut rng, inputs, outputs);
        let a = random_network(&mut rng, &widths, round % 3 != 0);
        let b = match round % 5 {
            0 => {
                let other = random_widths(&mut rng, inputs, outputs);
                random_network(&mut rng, &other, true)
            }
            1 => nudged(&mut rng, &relabel(&a, round).network),
            2 => halved(&relabel(&a, round).network),
            3 => a.clone(),
            _ => relabel(&a, round).network,
        };
        let domain = random_domain(&mut rng, inputs);
        let equal = decide(&a, &b, &domain);
        assert_eq!(equal, equal_by_brute_force(&a, &b, &domain), "round {round}: {a:?} {b:?} {domain:?}");
        counts[usize::from(equal)] += 1;
        if round % 5 >= 2 {
            assert!(equal, "round {round}");
        }
        if let Some(x) =
            falsify(&a, &b, &domain, round, &FalsifyBudget { points: 512, ..FalsifyBudget::default() })
        {
            assert!(!equal && domain.contains(&x));
        }
    }
    assert!(counts.iter().all(|&count| count > 150), "{counts:?}");
}

/// Widths (n, n, 2, 1), the first neuron of layer 1 hidden; its translation by `t` beyond the bound (as a
/// fraction of the bound) or before it.
fn hiding(rng: &mut ChaCha8Rng, n: usize) -> Network {
    let mut dyadic = |low: i32, high: i32| f64::from(rng.random_range(low..=high)) / 64.0;
    let first = Matrix::from_fn(n, n, |i, j| if i == j { 1.0 } else { dyadic(-12, 12) });
    let bias = (0..n).map(|_| dyadic(-32, 32)).collect();
    let second = Matrix::from_fn(2, n, |_, j| if j == 0 { 1.0 } else { -dyadic(1, 64) });
    let bias_2 = vec![-dyadic(1, 64), -dyadic(1, 64)];
    let output = Matrix::from_fn(1, 2, |_, _| dyadic(1, 64));
    Network::new(vec![
        Layer::new(first, bias, Relu),
        Layer::new(second, bias_2, Relu),
        Layer::new(output, vec![0.0], Identity),
    ])
    .unwrap()
}

fn translated(network: &Network, t: f64) -> Network {
    let mut layers = network.layers().to_vec();
    let (weight, mut bias, activation) = layers[0].clone().into_parts();
    bias[0] += t;
    layers[0] = Layer::new(weight, bias, activation);
    let (weight, mut bias, activation) = layers[1].clone().into_parts();
    bias.iter_mut().for_each(|b| *b -= t);
    layers[1] = Layer::new(weight, bias, activation);
    Network::new(layers).unwrap()
}

#[test]
fn translations_of_a_hidden_hyperplane_are_told_apart() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for round in 0..24 {
        let n = 2 + round % 5;
        let network = hiding(&mut rng, n);
        let bound = network.layers()[1].bias().iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let tiny = 2f64.powi(-18 - round as i32);
        assert!(decide(&network, &translated(&network, bound), &Domain::Space), "round {round}");
        assert!(decide(&network, &translated(&network, bound + tiny), &Domain::Space), "round {round}");
        assert!(!decide(&network, &translated(&network, bound - tiny), &Domain::Space), "round {round}");
    }
}

/// `relu` layers with the given rows and one output that adds everything up.
fn shallow(rows: &[&[f64]], bias: &[f64]) -> Network {
    let output = Matrix::from_fn(1, rows.len(), |_, _| 1.0);
    Network::new(vec![
        Layer::new(Matrix::from_rows(rows).unwrap(), bias.to_vec(), Relu),
        Layer::new(output, vec![0.0], Identity),
    ])
    .unwrap()
}

#[test]
fn differences_outside_the_box_do_not_count() {
    let a = shallow(&[&[1.0, 1.0], &[1.0, -1.0]], &[0.25, 0.0]);
    let b = shallow(&[&[1.0, 1.0], &[1.0, -1.0], &[1.0, 1.0]], &[0.25, 0.0, -2.0]);
    let square = |side: f64| Domain::from_bounds(&[(-side, side); 2]).unwrap();
    assert!(decide(&a, &b, &square(1.0)));
    assert!(!decide(&a, &b, &square(1.0f64.next_up())));
    assert!(!decide(&a, &b, &Domain::Space));
}

#[test]
fn regions_far_out_and_slivers_are_found() {
    // Two nearly parallel lines that meet near x = 2^50, and a third network that tells the cell behind.
    let slope = 2f64.powi(-50);
    let a = shallow(&[&[0.0, 1.0], &[slope, -1.0]], &[0.0, -1.0]);
    assert!(decide(&a, &a, &Domain::Space));
    let bent = Network::new(vec![
        Layer::new(Matrix::from_rows(&[[0.0, 1.0], [slope, -1.0]]).unwrap(), vec![0.0, -1.0], Relu),
        Layer::new(
            Matrix::from_rows(&[[1.0, 0.0], [0.0, 1.0], [slope, slope]]).unwrap(),
            vec![0.0, 0.0, -4.0],
            Relu,
        ),
        Layer::new(Matrix::from_rows(&[[1.0, 1.0, 1.0]]).unwrap(), vec![0.0], Identity),
    ])
    .unwrap();
    assert!(!decide(&a, &bent, &Domain::Space));
    // A strip of width 2^-60 between parallel lines.
    let strip = 2f64.powi(-60);
    let b = shallow(&[&[1.0, 0.0], &[-1.0, 0.0]], &[0.0, strip]);
    let c = shallow(&[&[1.0, 0.0], &[-1.0, 0.0]], &[0.0, 0.0]);
    assert!(decide(&b, &relabel(&b, 1).network, &Domain::Space));
    assert!(!decide(&b, &c, &Domain::Space));
}

#[test]
fn one_input_with_many_breakpoints() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let a = random_network(&mut rng, &[1, 300, 1], false);
    let b = relabel(&a, 4).network;
    let domain = Domain::from_bounds(&[(-3.0, 3.0)]).unwrap();
    assert!(decide(&a, &b, &domain));
    assert!(!decide(&a, &nudged(&mut rng, &b), &domain));
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let [a, b] = sorted_pair(&mut rng, &[2, 8, 6, 1], 1);
    let different = nudged_output(&b);
    let domain = square();
    for b in [b, different] {
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| unlimited(&a, &b, &domain))
        };
        assert_eq!(with(1), with(3));
    }
}

#[test]
fn an_interrupted_search_goes_on() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let [a, b] = sorted_pair(&mut rng, &[2, 12, 6, 1], 1);
    let domain = square();
    let SearchOutcome::Equal { leaves: all, .. } = unlimited(&a, &b, &domain) else { panic!("equal") };
    assert!(all > 40, "{all}");
    let (exact_a, exact_b) = (a.to_exact(), b.to_exact());
    let limits = |leaves: u64| SearchLimits { leaves: Some(leaves), ..SearchLimits::default() };
    let mut outcome = search(&exact_a, &exact_b, &domain, &limits(5), &|_| ()).unwrap();
    let (mut rounds, mut before) = (0, 0.0);
    let (tree, leaves) = loop {
        match outcome {
            SearchOutcome::Equal { tree, leaves } => break (tree, leaves),
            SearchOutcome::Different { .. } | SearchOutcome::TooLarge => {
                panic!("the networks are equal and small")
            }
            SearchOutcome::Undecided { explored, leaves, state } => {
                assert!(explored > before && explored < 1.0, "{before} {explored}");
                before = explored;
                rounds += 1;
                // The number in the file is not believed.
                let edited = state.to_json().replace(&format!("\"leaves\":{leaves}"), "\"leaves\":987654321");
                assert!(edited.contains("987654321"));
                let state = SearchState::from_json(edited.as_bytes()).unwrap();
                assert_eq!(state.leaves(), leaves);
                let next = limits(leaves + 15);
                outcome = resume(&exact_a, &exact_b, &domain, state, &next, &|_| ()).unwrap();
            }
        }
    };
    assert!(rounds > 2, "{rounds}");
    assert_eq!(leaves, all);
    let certificate = certificate(&a, &b, &domain, tree);
    assert_eq!(check(&certificate, &a, &b), Outcome::Proved(Claim::Equivalent));
}

#[test]
fn a_state_is_bound_to_its_search() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let a = random_network(&mut rng, &[2, 4, 3, 1], false).to_exact();
    let b = random_network(&mut rng, &[2, 4, 3, 1], false).to_exact();
    let limits = SearchLimits { deadline: Deadline::after(Some(Duration::ZERO)), leaves: None };
    let SearchOutcome::Undecided { state, explored, leaves } =
        search(&a, &a, &Domain::Space, &limits, &|_| ()).unwrap()
    else {
        panic!("no time, no decision")
    };
    assert_eq!((explored, leaves), (0.0, 0));
    let other = Domain::from_bounds(&[(-1.0, 1.0); 2]).unwrap();
    let message = |result: Result<SearchOutcome, SearchError>| result.unwrap_err().to_string();
    let go = |a, b, domain, state| resume(a, b, domain, state, &SearchLimits::default(), &|_| ());
    assert!(message(go(&b, &a, &Domain::Space, state.clone())).contains("first network"));
    assert!(message(go(&a, &b, &Domain::Space, state.clone())).contains("second network"));
    assert!(message(go(&a, &a, &other, state.clone())).contains("domain"));
    let broken = state.to_json().replace("\"open\":[", "\"open\":[[\"a\",1,9,true,\"split\"]");
    let broken = SearchState::from_json(broken.as_bytes()).unwrap();
    assert!(message(go(&a, &a, &Domain::Space, broken)).contains("open node 1"));
    for text in ["{}", "[]", "{\"format\":\"fiberscope-search\",\"version\":2}"] {
        assert!(SearchState::from_json(text.as_bytes()).is_err(), "{text}");
    }
    let narrow = random_network(&mut rng, &[1, 2, 1], false).to_exact();
    assert!(message(search(&a, &narrow, &Domain::Space, &limits, &|_| ())).contains("inputs"));
    let short = Domain::from_bounds(&[(-1.0, 1.0)]).unwrap();
    assert!(message(search(&a, &a, &short, &limits, &|_| ())).contains("intervals"));
}

#[test]
fn changed_certificates_are_refused() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let [a, b] = sorted_pair(&mut rng, &[2, 4, 3, 1], 1);
    let domain = square();
    let SearchOutcome::Equal { tree, .. } = unlimited(&a, &b, &domain) else { panic!("equal") };
    assert!(tree.contains(&CoverNode::Same));
    let wrong = nudged_output(&b);
    let original: Value =
        serde_json::from_str(&certificate(&a, &b, &domain, tree.clone()).to_json()).unwrap();
    let proves = |json: &Value| {
        Certificate::from_json(json.to_string().as_bytes())
            .is_ok_and(|certificate| matches!(check(&certificate, &a, &b), Outcome::Proved(_)))
    };
    assert!(proves(&original));
    let (mut changed, mut same) = (0, 0);
    for place in 0..tree.len() {
        let node = format!("/evidence/tree/{place}");
        for path in [format!("{node}/split/1"), format!("{node}/split/2")]
            .into_iter()
            .chain((0..8).flat_map(|i| [0, 1].map(|j| format!("{node}/empty/{i}/{j}"))))
        {
            let Some(value) = original.pointer(&path) else { continue };
            let others: Vec<Value> = match value {
                Value::Number(n) => {
                    let n = n.as_u64().unwrap();
                    vec![json!(n + 1), json!(n - 1), json!(n + 1000)]
                }
                text => {
                    let n: Rational = text.as_str().unwrap().parse().unwrap();
                    let one = Rational::ONE;
                    [&n + &one, &n - &one, -&n, &n * &Rational::from(2), Rational::ZERO]
                        .map(|n| json!(n.to_string()))
                        .to_vec()
                }
            };
            for other in others {
                let mut mutated = original.clone();
                *mutated.pointer_mut(&path).unwrap() = other.clone();
                changed += 1;
                // Another constraint with the same function (that of a twin) proves the same, and another
                // split may end in the same leaves.
                if proves(&mutated) {
                    let twin = path.contains("/empty/") && path.ends_with("/0");
                    assert!(twin || path.contains("/split/"), "{path} = {other}");
                    same += 1;
                }
                if let Ok(mut certificate) = Certificate::from_json(mutated.to_string().as_bytes()) {
                    certificate.b = NetworkName::of(&wrong);
                    assert!(
                        matches!(check(&certificate, &a, &wrong), Outcome::Refused(_)),
                        "{path} = {other}"
                    );
                }
            }
        }
    }
    assert!(changed > 300 && 20 * same < changed, "{changed} {same}");
    // A leaf that closes more than it may.
    for place in 0..tree.len() {
        let mut mutated = tree.clone();
        mutated[place] = CoverNode::Same;
        let certificate = certificate(&a, &wrong, &domain, mutated);
        assert!(matches!(check(&certificate, &a, &wrong), Outcome::Refused(_)), "{place}");
    }
}
