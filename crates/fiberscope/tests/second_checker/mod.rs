//! Two checkers, one answer: `docs/formats/check.py`, which was written from the format page alone, is
//! started once per test and must say about every certificate what the checker of this workspace says: proved
//! (with the same claim and bound), refused, or unreadable. A difference is a bug in one of them, or a gap in
//! the page.

use crate::common;
mod decision;
mod difference;
mod forms;
mod rank;
mod second;
mod tampered;

use std::collections::BTreeMap;
use std::fs;

use common::certificates::{changes, numbers, valid_certificates};
use common::pairs::{DIFFERENT, EQUAL, doubles, sorted_pair};
use common::rng;
use fiberscope::core::{NetworkName, NeuronCopy};
use fiberscope::equivalence::regions::{SearchLimits, SearchOutcome, search};
use fiberscope::equivalence::{EquivalenceOptions, Method, Verdict, decide};
use fiberscope::reduce::{ReduceOptions, reduce};
use fiberscope::{Certificate, Domain, Evidence, ExactNetwork, Interval, Move, MoveChain, Network, Rational};
use fiberscope_io::zoo;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use second::Cases;
use serde_json::Value;

#[test]
fn the_zoo() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fiberscope-io/zoo/certificates");
    let index = fs::read(format!("{folder}/index.json")).unwrap();
    let entries: Vec<zoo::ZooCertificate> = serde_json::from_slice(&index).unwrap();
    let mut cases = Cases::default();
    for entry in &entries {
        let (a, b) = (zoo::network(&entry.a).unwrap().network, zoo::network(&entry.b).unwrap().network);
        cases.add(&entry.file, &fs::read(format!("{folder}/{}", entry.file)).unwrap(), &a, &b);
    }
    assert_eq!(cases.compare()["proved"], valid_certificates().len());
}

/// Every number of every valid certificate of the zoo changed, and its form changed in every way that comes
/// to mind.
#[test]
fn the_zoo_changed() {
    let mut cases = Cases::default();
    let rng = &mut rng(12);
    for (name, a, b) in valid_certificates() {
        let (a, b) = (zoo::network(&a).unwrap().network, zoo::network(&b).unwrap().network);
        let text = zoo::certificate(&name).unwrap();
        let original: Value = serde_json::from_str(text).unwrap();
        let mut places = Vec::new();
        numbers(&original, String::new(), &mut places);
        for place in &places {
            for value in changes(original.pointer(place).unwrap()) {
                // A part of them; the long tree has hundreds of numbers of the same kind.
                if rng.random_range(0..8) > if place.contains("/tree/") { 0 } else { 3 } {
                    continue;
                }
                let mut mutated = original.clone();
                *mutated.pointer_mut(place).unwrap() = value.clone();
                cases.add(&format!("{name}: {place} = {value}"), mutated.to_string().as_bytes(), &a, &b);
            }
        }
        for (change, text) in forms::changed(&original, rng) {
            cases.add(&format!("{name}: {change}"), text.as_bytes(), &a, &b);
        }
        for round in 0..60 {
            cases.add_broken(&format!("{name}: bytes {round}"), &forms::broken(text.as_bytes(), rng), &a, &b);
        }
    }
    let answers = cases.compare();
    assert!(answers.values().all(|&count| count > 100) && answers.len() == 3, "{answers:?}");
}

/// Adds a certificate, some with a number changed, one with its form changed, and one for the wrong networks.
fn add_with_changes(
    cases: &mut Cases,
    rng: &mut ChaCha8Rng,
    name: &str,
    certificate: &Certificate,
    a: &Network,
    b: &Network,
) {
    let text = certificate.to_json();
    cases.add(name, text.as_bytes(), a, b);
    cases.add(&format!("{name}, for B and A"), text.as_bytes(), b, a);
    let original: Value = serde_json::from_str(&text).unwrap();
    let mut places = Vec::new();
    numbers(&original["evidence"], String::new(), &mut places);
    for _ in 0..4 {
        let Some(place) = places.get(rng.random_range(0..places.len().max(1))) else { break };
        let values = changes(original["evidence"].pointer(place).unwrap());
        let mut mutated = original.clone();
        let value = &values[rng.random_range(0..values.len())];
        *mutated["evidence"].pointer_mut(place).unwrap() = value.clone();
        cases.add(&format!("{name}: {place} = {value}"), mutated.to_string().as_bytes(), a, b);
    }
    let forms = forms::changed(&original["evidence"], rng);
    let (change, evidence) = &forms[rng.random_range(0..forms.len())];
    let whole = original.to_string().replace(&original["evidence"].to_string(), evidence);
    cases.add(&format!("{name}: {change}"), whole.as_bytes(), a, b);
}

fn certificate(verdict: Verdict) -> Option<Certificate> {
    match verdict {
        Verdict::Equivalent { certificate }
        | Verdict::EquivalentUpToRounding { certificate, .. }
        | Verdict::Different { certificate, .. } => Some(certificate),
        Verdict::Undecided { .. } => None,
    }
}

fn kind(certificate: &Certificate) -> String {
    let value: Value = serde_json::from_str(&certificate.to_json()).unwrap();
    value["evidence"]["kind"].as_str().unwrap().to_owned()
}

/// Counts the kinds of the evidence that was found.
#[derive(Default)]
struct Found(BTreeMap<String, usize>);

impl Found {
    fn add(&mut self, certificate: &Certificate) {
        *self.0.entry(kind(certificate)).or_default() += 1;
    }
}

fn box_of(low: f64, high: f64, inputs: usize) -> Domain {
    Domain::from_bounds(&vec![(low, high); inputs]).unwrap()
}

/// What the decision procedure finds for generated pairs, on the whole space and on boxes.
#[test]
fn certificates_of_generated_pairs() {
    let (mut cases, mut found) = (Cases::default(), Found::default());
    let options = EquivalenceOptions::new().exact(true);
    for (kind, make) in EQUAL.into_iter().chain(DIFFERENT) {
        for seed in 500..506 {
            let rng = &mut rng(seed);
            let (a, b) = make(rng);
            let (a, b) = (doubles(&a), doubles(&b));
            let domain = if seed % 3 == 0 { box_of(-1.0, 0.5, a.input_width()) } else { Domain::Space };
            let decision = decide(&a, &b, &domain, &options).unwrap();
            let Some(certificate) = certificate(decision.verdict) else { continue };
            found.add(&certificate);
            add_with_changes(&mut cases, rng, &format!("{kind} {seed}"), &certificate, &a, &b);
        }
    }
    let answers = cases.compare();
    assert!(answers["proved"] > 75 && answers["refused"] > 50, "{answers:?}");
    assert!(
        ["moves", "hyperplanes", "witness"].iter().all(|kind| found.0.contains_key(*kind)),
        "{:?}",
        found.0
    );
}

/// Functions of one variable, and pairs that agree up to single precision.
#[test]
fn certificates_of_lines_and_of_rounded_pairs() {
    let (mut cases, mut found) = (Cases::default(), Found::default());
    for seed in 0..12 {
        let rng = &mut rng(seed);
        let single = |network: &ExactNetwork| network.map(|x| f64::from(x.to_f64() as f32)).unwrap();
        let exact = EquivalenceOptions::new().exact(true);
        let rounded = EquivalenceOptions::new().precision(f64::from(f32::EPSILON));
        let [line, sorted] = sorted_pair(rng, &[1, 3, 3, 1], 1);
        let deep = common::random_network(rng, &[3, 5, 4, 2]);
        let copy = NeuronCopy { of: 1, unit: 0, factor: common::r("3/10"), out: vec![common::r("1/3"); 4] };
        let split = common::apply(&deep, &Domain::Space, Move::Split { layer: 0, copies: vec![copy] });
        let factors = ["1/3", "3/7", "5", "1/9", "11/5"].map(common::r).to_vec();
        let scaled = common::apply(&deep, &Domain::Space, Move::Scale { layer: 0, factors });
        for (name, a, b, domain, options) in [
            ("line", line, sorted, box_of(-2.0, 1.5, 1), &exact),
            ("split", single(&deep), single(&split), box_of(-1.0, 1.0, 3), &rounded),
            ("scaled", single(&deep), single(&scaled), box_of(-1.0, 1.0, 3), &rounded),
            ("scaled everywhere", single(&deep), single(&scaled), Domain::Space, &rounded),
        ] {
            let decision = decide(&a, &b, &domain, options).unwrap();
            let Some(certificate) = certificate(decision.verdict) else { continue };
            found.add(&certificate);
            add_with_changes(&mut cases, rng, &format!("{name} {seed}"), &certificate, &a, &b);
        }
    }
    let answers = cases.compare();
    assert!(answers["proved"] > 30 && answers["refused"] > 50, "{answers:?}");
    let kinds = ["line", "rounding", "nudged", "close"];
    assert!(kinds.iter().all(|kind| found.0.contains_key(*kind)), "{:?}", found.0);
}

fn random_domain(rng: &mut ChaCha8Rng, inputs: usize) -> Domain {
    let r = |n: i64| Some(Rational::dyadic(n.into(), -1));
    let mut side = |_| {
        let low = rng.random_range(-4..=1);
        let (lower, upper) = match rng.random_range(0..6) {
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

/// Trees of the region search for small networks with few values, so that constant, dead and equal neurons
/// are common.
#[test]
fn trees_of_regions() {
    let (mut cases, mut nodes) = (Cases::default(), [0; 3]);
    for seed in 0..150 {
        let rng = &mut rng(seed);
        let inputs = rng.random_range(1..=3);
        let (a, b, domain) = if seed % 3 == 0 {
            // Pairs of the second layer take trees with leaves of all kinds.
            let [a, b] = sorted_pair(rng, &[inputs, 3, 2, 1], 1);
            (a, b, box_of(-2.0, 1.0, inputs))
        } else {
            let a = tampered::network(rng, &[inputs, 3, 2, 1]);
            let b = fiberscope::orbit::relabel(&a, seed).network;
            (a, b, random_domain(rng, inputs))
        };
        let found = search(&a.to_exact(), &b.to_exact(), &domain, &SearchLimits::default(), &|_| ()).unwrap();
        let SearchOutcome::Equal { tree, .. } = found else { panic!("{seed}: not equal") };
        let moves = MoveChain::default;
        let evidence = Evidence::Regions { a: moves(), b: moves(), prefix: 0, tree };
        let certificate = Certificate::new(&a, &b, domain, evidence);
        let text = certificate.to_json();
        for (count, node) in nodes.iter_mut().zip(["same", "empty", "none"]) {
            *count += text.matches(&format!("\"{node}\"")).count();
        }
        // Right where every neuron is decided on the path.
        cases.add(
            &format!("tree {seed} with equal leaves"),
            text.replace("\"same\"", "\"equal\"").as_bytes(),
            &a,
            &b,
        );
        for _ in 0..2 {
            add_with_changes(&mut cases, rng, &format!("tree {seed}"), &certificate, &a, &b);
        }
    }
    assert!(nodes.iter().all(|&count| count > 10), "{nodes:?}");
    let answers = cases.compare();
    assert!(answers["proved"] > 150 && answers["refused"] > 150, "{answers:?}");
}

/// Trees behind equal first layers, on boxes that interval arithmetic makes of these.
#[test]
fn trees_of_tails() {
    let (mut cases, mut found) = (Cases::default(), 0);
    for seed in 0..60 {
        let rng = &mut rng(seed);
        let inputs = rng.random_range(1..=3);
        let [a, b] = sorted_pair(rng, &[inputs, 3, 4, 2, 1], 1);
        let b = if seed % 2 == 0 { b } else { fiberscope::orbit::relabel(&b, seed).network };
        let domain = box_of(-2.0, 1.0, inputs);
        let options = EquivalenceOptions::new().only([Method::Tails]).exact(true);
        let Some(certificate) = certificate(decide(&a, &b, &domain, &options).unwrap().verdict) else {
            continue;
        };
        assert_eq!(kind(&certificate), "tails");
        found += 1;
        for _ in 0..2 {
            add_with_changes(&mut cases, rng, &format!("tails {seed}"), &certificate, &a, &b);
        }
    }
    assert!(found > 40, "{found}");
    let answers = cases.compare();
    assert!(answers["proved"] > 80 && answers["refused"] > 80, "{answers:?}");
}

/// Reductions on boxes, with linear programmes: moves of many kinds, `shift` among them.
#[test]
fn chains_of_reductions() {
    let (mut cases, mut kinds) = (Cases::default(), BTreeMap::<_, usize>::new());
    for seed in 0..60 {
        let rng = &mut rng(seed);
        let mut network = common::random_network(rng, &[2, 4, 5, 4, 1]);
        for layer in 0..3 {
            network = match rng.random_range(0..4) {
                0 => common::split(rng, &network, layer),
                1 => common::insert(rng, &network, layer),
                2 if layer > 0 => common::add_linear(rng, &network, layer),
                _ => network,
            };
        }
        let domain = Domain::from_bounds(&[(-0.25, 0.5), (0.0, 0.5)]).unwrap();
        let moves = reduce(&network, &domain, &ReduceOptions::default()).unwrap().moves;
        for each in moves.moves() {
            *kinds.entry(each.name()).or_default() += 1;
        }
        let network = doubles(&network);
        let name = NetworkName::of(&network);
        let evidence = Evidence::Moves { a: moves.clone(), b: moves };
        let certificate = Certificate { a: name.clone(), b: name, domain, evidence };
        add_with_changes(&mut cases, rng, &format!("reduction {seed}"), &certificate, &network, &network);
    }
    assert!(kinds["shift"] > 10, "{kinds:?}");
    assert!(cases.compare()["proved"] > 60);
}

/// Random moves, right and wrong, on random networks with few values, identity layers among them, and random
/// domains.
#[test]
fn random_moves() {
    let (mut cases, mut accepted) = (Cases::default(), BTreeMap::<String, usize>::new());
    for seed in 0..4000 {
        let rng = &mut rng(seed);
        let case = tampered::random_case(rng, &random_domain);
        if case.applies {
            *accepted.entry(case.kind.clone()).or_default() += 1;
        }
        cases.add(
            &format!("{} {seed}", case.kind),
            case.certificate.to_string().as_bytes(),
            &case.a,
            &case.b,
        );
    }
    let answers = cases.compare();
    assert!(accepted.len() == tampered::KINDS.len() && accepted.values().all(|&n| n >= 10), "{accepted:?}");
    assert!(answers["proved"] > 500 && answers["refused"] > 500, "{answers:?}");
}

/// Bounds that hold with equality, and by a hair not: both checkers round alike.
#[test]
fn bounds_to_the_last_bit() {
    let mut cases = Cases::default();
    for seed in 0..100 {
        let rng = &mut rng(seed);
        for (name, certificate, a, b) in tampered::bounds(rng) {
            cases.add(&format!("{name} {seed}"), certificate.to_string().as_bytes(), &a, &b);
        }
    }
    let answers = cases.compare();
    assert!(answers["proved"] >= 200 && answers["refused"] >= 200, "{answers:?}");
}

/// Moves make numbers longer: both checkers stop at the same length.
#[test]
fn numbers_stay_short() {
    let deep = zoo::network("deep").unwrap().network;
    let name = NetworkName::of(&deep);
    let mut cases = Cases::default();
    for digits in 9855..9873 {
        let factor = common::r(&format!("1{}1", "0".repeat(digits - 2)));
        let scale = Move::Scale { layer: 0, factors: vec![factor, Rational::ONE, Rational::ONE] };
        let moves = MoveChain::from(vec![scale.clone(), scale]);
        let evidence = Evidence::Moves { a: moves.clone(), b: moves };
        let certificate = Certificate { a: name.clone(), b: name.clone(), domain: Domain::Space, evidence };
        cases.add(&format!("{digits} digits"), certificate.to_json().as_bytes(), &deep, &deep);
    }
    let answers = cases.compare();
    assert!(answers["proved"] > 3 && answers["refused"] > 3, "{answers:?}");
}

/// Questions about another domain or another claim than the certificate's own.
#[test]
fn questions() {
    let ask = |certificate: &str, flags: &[(&str, Value)], expected: &str| {
        let entry = valid_certificates().into_iter().find(|(name, ..)| name == certificate).unwrap();
        let (a, b) = (zoo::network(&entry.1).unwrap().network, zoo::network(&entry.2).unwrap().network);
        let text = zoo::certificate(certificate).unwrap();
        let answer = second::ask(text, &a, &b, flags);
        assert_eq!(answer, expected, "{certificate} {flags:?}");
    };
    let (text, space) = (|text: &str| Value::from(text), ("space", Value::from(true)));
    for name in ["deep-shuffled", "linear-square-hyperplanes"] {
        ask(name, &[space.clone(), ("claim", text("equivalent"))], "proved");
        ask(name, &[("box", text("-1,1")), ("claim", text("within=0"))], "proved");
        ask(name, &[("claim", text("different"))], "refused");
        ask(name, &[("claim", text("within=-1"))], "unreadable");
    }
    for (bounds, expected) in
        [("-4,4", "proved"), ("-4,4.0000000000000009", "refused"), ("0,0", "proved"), ("1,0", "unreadable")]
    {
        ask("hiding-two-regions", &[("box", text(bounds))], expected);
    }
    ask("hiding-two-regions", std::slice::from_ref(&space), "refused");
    ask("deep-rounded", &[("claim", text("within=1e-12"))], "proved");
    ask("deep-rounded", &[("claim", text("within=0.9999999999999999999999e-12"))], "refused");
    ask("deep-rounded", &[("claim", text("equivalent"))], "refused");
    // The witness is (-1, -1, -1).
    ask("hiding-two-too-far", &[("box", text("-1,0")), ("claim", text("different"))], "proved");
    ask("hiding-two-too-far", &[("box", text("-0.5,1"))], "refused");
    ask("hiding-two-too-far", &[("claim", text("equivalent"))], "refused");
}
