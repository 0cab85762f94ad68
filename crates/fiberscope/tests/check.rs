//! What a check costs and says: questions against what is proved, forms that are refused, streams, stops,
//! bounded work.
use std::cell::Cell;
use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};

use fiberscope::check::{
    AskedClaim, Checker, Outcome, Question, Shortfall, check, compare_on_line, regions_fit, rounding_bound,
};
use fiberscope::core::{BoxNode, CoverNode, NetworkName, Operand};
use fiberscope::equivalence::regions::{SearchLimits, SearchOutcome, SearchState, resume, search};
use fiberscope::{
    Activation, Certificate, Domain, Evidence, ExactNetwork, Layer, Matrix, Move, MoveChain, Network, Neuron,
    Rational,
};
use fiberscope_io::zoo;
use rand::{RngExt, SeedableRng};

fn r(text: &str) -> Rational {
    text.parse().unwrap()
}

fn no_moves() -> (MoveChain, MoveChain) {
    (MoveChain::default(), MoveChain::default())
}

fn bounds(lower: f64, upper: f64) -> Domain {
    Domain::from_bounds(&[(lower, upper)]).unwrap()
}

/// `|x|`.
fn absolute() -> Network {
    Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap()
}

#[test]
fn a_question_is_answered_by_what_is_proved() {
    let a = absolute();
    let ((x, y), unit) = (no_moves(), bounds(-1.0, 1.0));
    let equal_on =
        |domain: Domain| Certificate::new(&a, &a, domain, Evidence::Moves { a: x.clone(), b: y.clone() });
    let bounded = |bound: &str| {
        let (a_moves, b_moves) = no_moves();
        Certificate::new(&a, &a, unit.clone(), Evidence::Rounding { a: a_moves, b: b_moves, bound: r(bound) })
    };
    let within = |bounds: [&str; 2]| {
        let (a_moves, b_moves) = no_moves();
        let bounds = bounds.map(r).to_vec();
        let evidence = Evidence::Difference { a: a_moves, b: b_moves, bounds, tree: vec![BoxNode::Leaf] };
        Certificate::new(&a, &a, unit.clone(), evidence)
    };
    let witness = |x: &str, domain: Domain| {
        let evidence = Evidence::Witness { x: vec![r(x)], a: vec![r("1")], b: vec![r("2")] };
        Certificate::new(&a, &a, domain, evidence)
    };
    let claims = || {
        [
            None,
            Some(AskedClaim::Equivalent),
            Some(AskedClaim::Different),
            Some(AskedClaim::Within(r("1/3"))),
            Some(AskedClaim::Within(Rational::ZERO)),
        ]
    };
    use Shortfall::{Bound, Claim, Point};
    let place = Shortfall::Domain;
    // For each certificate and domain asked for: what is missing for each claim asked for.
    type Row = (Certificate, Option<Domain>, [Option<Shortfall>; 5]);
    let everything = Domain::Box(vec![fiberscope::Interval::ALL]);
    let rows: Vec<Row> = vec![
        (equal_on(Domain::Space), None, [None, None, Some(Claim), None, None]),
        (equal_on(Domain::Space), Some(unit.clone()), [None, None, Some(Claim), None, None]),
        (within(["1/4", "1/3"]), None, [None, Some(Claim), Some(Claim), None, Some(Bound)]),
        (within(["1/2", "1/4"]), None, [None, Some(Claim), Some(Claim), Some(Bound), Some(Bound)]),
        (within(["0", "1/4"]), Some(bounds(-1.0, 0.5)), [None, Some(Claim), Some(Claim), None, Some(Bound)]),
        (
            within(["0", "0"]),
            Some(Domain::Space),
            [Some(place), Some(Claim), Some(Claim), Some(place), Some(place)],
        ),
        (equal_on(unit.clone()), Some(unit.clone()), [None, None, Some(Claim), None, None]),
        (equal_on(unit.clone()), Some(bounds(-1.0, 0.5)), [None, None, Some(Claim), None, None]),
        (
            equal_on(unit.clone()),
            Some(bounds(-1.0, 1.5)),
            [Some(place), Some(place), Some(Claim), Some(place), Some(place)],
        ),
        (
            equal_on(unit.clone()),
            Some(Domain::Space),
            [Some(place), Some(place), Some(Claim), Some(place), Some(place)],
        ),
        (equal_on(everything), Some(Domain::Space), [None, None, Some(Claim), None, None]),
        (bounded("1/3"), None, [None, Some(Claim), Some(Claim), None, Some(Bound)]),
        (bounded("33333334/100000000"), None, [None, Some(Claim), Some(Claim), Some(Bound), Some(Bound)]),
        (
            bounded("1/4"),
            Some(Domain::Space),
            [Some(place), Some(Claim), Some(Claim), Some(place), Some(Bound)],
        ),
        (witness("2", Domain::Space), None, [None, Some(Claim), None, Some(Claim), Some(Claim)]),
        (
            witness("2", Domain::Space),
            Some(unit.clone()),
            [Some(Point), Some(Claim), Some(Point), Some(Claim), Some(Claim)],
        ),
        (
            witness("1", unit.clone()),
            Some(Domain::Space),
            [None, Some(Claim), None, Some(Claim), Some(Claim)],
        ),
        (
            witness("1", unit.clone()),
            Some(bounds(0.5, 9.0)),
            [None, Some(Claim), None, Some(Claim), Some(Claim)],
        ),
    ];
    for (n, (certificate, domain, expected)) in rows.into_iter().enumerate() {
        for (claim, expected) in claims().into_iter().zip(expected) {
            let question = Question { claim, domain: domain.clone() };
            assert_eq!(question.shortfall(&certificate), expected, "row {n}, {question:?}");
        }
    }
}

/// Every place of a certificate with an object, written as an array; a key twice; an unknown key; a name as
/// an object.
#[test]
fn there_is_one_form() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fiberscope-io/zoo/certificates/");
    let (mut objects, mut names) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        if Certificate::from_json(text.as_bytes()).is_err() {
            continue;
        }
        let refused = |changed: &str, what: &str| {
            assert!(
                Certificate::from_json(changed.as_bytes()).is_err(),
                "{}: {what}: {changed}",
                path.display()
            );
        };
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        for pointer in pointers(&value) {
            let part = value.pointer(&pointer).unwrap();
            if let Some(object) = part.as_object() {
                objects += 1;
                let mut changed = value.clone();
                *changed.pointer_mut(&pointer).unwrap() = object.values().cloned().collect();
                refused(&changed.to_string(), "an array");
                let mut changed = value.clone();
                changed.pointer_mut(&pointer).unwrap()["extra"] = serde_json::json!(1);
                refused(&changed.to_string(), "an unknown key");
                // The object with its first key a second time, in place of itself.
                let (key, first) = object.iter().next().unwrap();
                let mut marked = value.clone();
                *marked.pointer_mut(&pointer).unwrap() = serde_json::json!("MARK");
                let twice = format!(
                    "{},{}:{}}}",
                    part.to_string().strip_suffix('}').unwrap(),
                    serde_json::json!(key),
                    first
                );
                refused(&marked.to_string().replace("\"MARK\"", &twice), "a key twice");
            }
            let is_name = part.as_str().is_some_and(|text| text.starts_with(char::is_alphabetic))
                && !pointer.ends_with("sha256");
            if is_name {
                names += 1;
                let mut changed = value.clone();
                *changed.pointer_mut(&pointer).unwrap() = serde_json::json!({part.as_str().unwrap(): null});
                refused(&changed.to_string(), "a name as an object");
            }
        }
    }
    assert!(objects > 300 && names > 150, "{objects} {names}");
}

fn pointers(value: &serde_json::Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut add = |name: String, child: &serde_json::Value| {
        found.extend(pointers(child).into_iter().map(|rest| format!("/{name}{rest}")));
    };
    match value {
        serde_json::Value::Object(entries) => entries.iter().for_each(|(key, child)| add(key.clone(), child)),
        serde_json::Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, child)| add(i.to_string(), child));
        }
        _ => {}
    }
    found
}

#[test]
fn numbers_have_one_form() {
    let read = |text: &str| serde_json::from_str::<Rational>(&serde_json::json!(text).to_string());
    for text in ["0", "-1", "7/3", "-22/7", "10", "1/2"] {
        assert_eq!(read(text).unwrap().to_string(), text);
    }
    for text in
        ["-0", "+1", "01", "1/1", "2/4", "0/5", "1/02", "1/-2", "", "/", "1/", " 1", "1 ", "1.0", "0x1"]
    {
        assert!(read(text).is_err(), "{text:?}");
    }
    assert!(read(&"9".repeat(1 << 17)).is_ok());
    let error = read(&"9".repeat((1 << 17) + 1)).unwrap_err().to_string();
    assert!(error.len() < 200, "{error}");
}

/// A certificate that is generated while it is read, and counts how much was.
struct Endless<'a> {
    start: &'a [u8],
    node: &'a [u8],
    place: usize,
    read: &'a Cell<usize>,
}

impl Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        for byte in buffer.iter_mut() {
            *byte = match self.place.checked_sub(self.start.len()) {
                None => self.start[self.place],
                Some(behind) => self.node[behind % self.node.len()],
            };
            self.place += 1;
        }
        self.read.set(self.read.get() + buffer.len());
        Ok(buffer.len())
    }
}

#[test]
fn a_stream_is_read_no_further_than_needed() {
    let a = absolute();
    let ((x, y), domain) = (no_moves(), Domain::Space);
    let split = CoverNode::Split(Operand::A, Neuron { layer: 0, unit: 0 });
    let evidence = Evidence::Regions { a: x, b: y, prefix: 0, tree: vec![split] };
    let text = Certificate::new(&a, &a, domain, evidence).to_json();
    let start = text.rsplit_once(']').unwrap().0;
    let read = Cell::new(0);
    let endless = |node: &'static [u8]| {
        read.set(0);
        Endless { start: start.as_bytes(), node, place: 0, read: &read }
    };
    let refused = Checker::new(&a, &a).check_reader(endless(b",\"equal\"")).unwrap();
    let Outcome::Refused(refusal) = &refused.outcome else { panic!("{refused:?}") };
    assert!(refusal.step.starts_with("region tree, node 2 "), "{refusal}");
    assert_eq!(refused.listed, 2);
    assert!(read.get() < 20_000, "{}", read.get());
    // A file that never ends is read until somebody stops it.
    let calls = AtomicUsize::new(0);
    let stop = || calls.fetch_add(1, Ordering::Relaxed) >= 50;
    let stopped = Checker::new(&a, &a).stop(&stop).check_reader(endless(b" ")).unwrap();
    assert_eq!(stopped.outcome, Outcome::Stopped);
    assert!(read.get() < 1_000_000, "{}", read.get());
}

#[test]
fn every_check_can_be_stopped() {
    for stated in [
        "deep-shuffled",
        "deep-rounded",
        "hiding-two-regions",
        "hiding-two-same",
        "abs-line",
        "duplicate-nudged",
    ] {
        let certificate = Certificate::from_json(zoo::certificate(stated).unwrap().as_bytes()).unwrap();
        let networks: Vec<Network> = zoo::entries()
            .iter()
            .map(|entry| zoo::network(&entry.name).unwrap().network)
            .filter(|network| [&certificate.a, &certificate.b].contains(&&NetworkName::of(network)))
            .collect();
        let find = |name: &NetworkName| networks.iter().find(|n| NetworkName::of(n) == *name).unwrap();
        let (a, b) = (find(&certificate.a), find(&certificate.b));
        let asked = AtomicUsize::new(0);
        let count = || {
            asked.fetch_add(1, Ordering::Relaxed);
            false
        };
        assert!(
            matches!(Checker::new(a, b).stop(&count).check(&certificate), Outcome::Proved(_)),
            "{stated}"
        );
        let total = asked.load(Ordering::Relaxed);
        assert!(total > 1, "{stated}");
        for end in 1..=total {
            asked.store(0, Ordering::Relaxed);
            let stop = || asked.fetch_add(1, Ordering::Relaxed) + 1 >= end;
            assert_eq!(
                Checker::new(a, b).stop(&stop).check(&certificate),
                Outcome::Stopped,
                "{stated} at {end} of {total}"
            );
        }
    }
}

/// A network of one input with `2^depth` pieces: tents put into each other.
fn sawtooth(depth: usize) -> Network {
    let tent: (&[&[f64]], &[f64]) = (&[&[1.0], &[1.0]], &[0.0, -0.5]);
    let next: (&[&[f64]], &[f64]) = (&[&[2.0, -4.0], &[2.0, -4.0]], &[0.0, -0.5]);
    let last: (&[&[f64]], &[f64]) = (&[&[2.0, -4.0]], &[0.0]);
    let layers: Vec<_> =
        [tent].into_iter().chain(std::iter::repeat_n(next, depth - 1)).chain([last]).collect();
    Network::from_rows(&layers).unwrap()
}

#[test]
fn a_line_costs_one_step_for_each_breakpoint() {
    let (deep, unit) = (sawtooth(40), bounds(0.0, 1.0));
    let (x, y) = no_moves();
    // 2^40 pieces, and a certificate that lists three breakpoints.
    let breakpoints = vec![r("1/4"), r("1/2"), r("3/4")];
    let short = Certificate::new(&deep, &deep, unit.clone(), Evidence::Line { a: x, b: y, breakpoints });
    let asked = AtomicUsize::new(0);
    let count = || asked.fetch_add(1, Ordering::Relaxed) >= 1000;
    let Outcome::Refused(refusal) = Checker::new(&deep, &deep).stop(&count).check(&short) else { panic!() };
    assert!(refusal.rule.contains("not among the breakpoints"), "{refusal}");
    let asked = asked.into_inner();
    assert!(asked < 20, "{asked}");
    // What the walk finds is what the checker wants.
    let small = sawtooth(5);
    let exact = small.to_exact();
    let Some(fiberscope::check::LineOutcome::Equal(found)) =
        compare_on_line(&exact, &exact, &unit, &|| false)
    else {
        panic!()
    };
    assert_eq!(found.len(), 31);
    let with = |breakpoints: Vec<Rational>| {
        let (x, y) = no_moves();
        let evidence = Evidence::Line { a: x, b: y, breakpoints };
        check(&Certificate::new(&small, &small, unit.clone(), evidence), &small, &small)
    };
    assert!(matches!(with(found.clone()), Outcome::Proved(_)));
    for missing in 0..found.len() {
        let mut fewer = found.clone();
        fewer.remove(missing);
        assert!(matches!(with(fewer), Outcome::Refused(_)), "{missing}");
    }
    let mut more = found;
    more.push(r("1000/1001"));
    assert!(matches!(with(more), Outcome::Proved(_)));
}

#[test]
fn numbers_that_grow_are_refused() {
    let a = absolute();
    // Each pair of moves makes a column longer by what it says; nothing shrinks again.
    let long = Rational::from_canonical(&format!("1{}/3", "0".repeat(9_999))).unwrap();
    let grow = Move::Scale { layer: 0, factors: vec![long, Rational::ONE] };
    let moves = MoveChain::from(vec![grow; 100]);
    let evidence = Evidence::Moves { a: moves, b: MoveChain::default() };
    let Outcome::Refused(refusal) = check(&Certificate::new(&a, &a, Domain::Space, evidence), &a, &a) else {
        panic!()
    };
    assert!(refusal.step.starts_with("move 2 on A"), "{refusal}");
    assert!(refusal.rule.contains("numbers stay short"), "{refusal}");
    assert!(refusal.to_string().len() < 300);
}

/// Networks without a tree of regions are not searched, and the checker would refuse one.
#[test]
fn search_and_checker_share_their_limits() {
    let wide = |sign: f64| {
        let layer = |rows: usize, cols: usize, activation| {
            Layer::new(
                Matrix::from_fn(rows, cols, |i, j| sign * ((i + j) % 3) as f64 + 1.0),
                vec![0.0; rows],
                activation,
            )
        };
        let hidden = (0..250).map(|l| layer(2, if l == 0 { 10_800 } else { 2 }, Activation::Relu));
        Network::new(hidden.chain([layer(1, 2, Activation::Identity)]).collect()).unwrap()
    };
    let (a, b) = (wide(1.0), wide(-1.0));
    let (exact_a, exact_b) = (a.to_exact(), b.to_exact());
    assert!(!regions_fit(&exact_a, &exact_b, &Domain::Space));
    let outcome = search(&exact_a, &exact_b, &Domain::Space, &SearchLimits::default(), &|_| ()).unwrap();
    assert_eq!(outcome, SearchOutcome::TooLarge);
    let (x, y) = no_moves();
    let evidence = Evidence::Regions { a: x, b: y, prefix: 0, tree: vec![CoverNode::Same] };
    let Outcome::Refused(refusal) = check(&Certificate::new(&a, &b, Domain::Space, evidence), &a, &b) else {
        panic!()
    };
    assert!(refusal.rule.contains("too large for this kind of certificate"), "{refusal}");
}

/// A state of a search that somebody edited gives an error, or a result that the checker judges like any
/// other.
#[test]
fn edited_states_do_no_harm() {
    let a = Network::from_rows(&[
        (&[&[1.0, 2.0], &[-1.0, 1.0], &[0.5, -1.0]], &[0.25, -0.5, 0.0]),
        (&[&[1.0, -1.0, 2.0], &[-2.0, 1.0, 1.0]], &[-0.5, 0.25]),
        (&[&[1.0, -1.0]], &[0.0]),
    ])
    .unwrap();
    // A third neuron of layer 2 that is never on at the same time as the second makes expressions differ, not
    // functions.
    let b = Network::from_rows(&[
        (&[&[1.0, 2.0], &[-1.0, 1.0], &[0.5, -1.0]], &[0.25, -0.5, 0.0]),
        (&[&[1.0, -1.0, 2.0], &[-2.0, 1.0, 1.0], &[2.0, -1.0, -1.0]], &[-0.5, 0.25, -0.25]),
        (&[&[1.0, -2.0, 1.0]], &[0.0]),
    ])
    .unwrap();
    let (exact_a, exact_b, domain) = (a.to_exact(), b.to_exact(), Domain::Space);
    let limits = SearchLimits { leaves: Some(0), ..SearchLimits::default() };
    let SearchOutcome::Undecided { state, .. } =
        search(&exact_a, &exact_b, &domain, &limits, &|_| ()).unwrap()
    else {
        panic!("the search was not stopped")
    };
    let value: serde_json::Value = serde_json::from_str(&state.to_json()).unwrap();
    let mut resumed = 0;
    for pointer in pointers(&value).into_iter().filter(|pointer| pointer.starts_with("/items")) {
        let part = value.pointer(&pointer).unwrap();
        let changes = match part {
            serde_json::Value::Bool(on) => vec![serde_json::json!(!on)],
            serde_json::Value::Number(n) => {
                vec![serde_json::json!(n.as_u64().unwrap() + 1), serde_json::json!(0)]
            }
            serde_json::Value::Array(items) => {
                let twice: Vec<_> = items.iter().chain(items).cloned().collect();
                vec![serde_json::json!([]), serde_json::json!(twice)]
            }
            serde_json::Value::String(_) => {
                ["split", "implied", "constant", "equal", "same", "none", "a", "b"]
                    .map(|name| serde_json::json!(name))
                    .to_vec()
            }
            _ => vec![],
        };
        for change in changes {
            let mut edited = value.clone();
            *edited.pointer_mut(&pointer).unwrap() = change;
            let Ok(state) = SearchState::from_json(edited.to_string().as_bytes()) else { continue };
            let limits = SearchLimits { leaves: Some(200), ..SearchLimits::default() };
            let Ok(outcome) = resume(&exact_a, &exact_b, &domain, state, &limits, &|_| ()) else { continue };
            resumed += 1;
            match outcome {
                SearchOutcome::Equal { tree, .. } => {
                    let (x, y) = no_moves();
                    let evidence = Evidence::Regions { a: x, b: y, prefix: 0, tree };
                    let _ = check(&Certificate::new(&a, &b, domain.clone(), evidence), &a, &b);
                }
                SearchOutcome::Different { x } => {
                    assert_ne!(exact_a.evaluate_exact(&x), exact_b.evaluate_exact(&x));
                }
                SearchOutcome::Undecided { .. } | SearchOutcome::TooLarge => {}
            }
        }
    }
    assert!(resumed > 2, "{resumed}");
}

#[test]
fn refusals_are_short_sentences() {
    let (a, b) = (
        absolute(),
        Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.0]), (&[&[1.0, 2.0]], &[0.0])]).unwrap(),
    );
    let long = Rational::from_canonical(&format!("1{}/7", "0".repeat(9_000))).unwrap();
    let scale = MoveChain::from(vec![Move::Scale { layer: 0, factors: vec![long.clone(), long] }]);
    let evidence = Evidence::Moves { a: scale, b: MoveChain::default() };
    let Outcome::Refused(refusal) = check(&Certificate::new(&a, &b, Domain::Space, evidence), &a, &b) else {
        panic!()
    };
    assert!(refusal.to_string().len() < 300, "{}", refusal.to_string().len());
    let kind = "x".repeat(1 << 20);
    let text = Certificate::new(&a, &b, Domain::Space, Evidence::Moves { a: no_moves().0, b: no_moves().1 })
        .to_json()
        .replace("\"moves\"", &format!("{kind:?}"));
    let error = Certificate::from_json(text.as_bytes()).unwrap_err().to_string();
    assert!(error.len() < 300, "{}", error.len());
}

/// The lemma, one rational number after the other.
fn slow_bound(a: &ExactNetwork, b: &ExactNetwork, domain: &Domain) -> Rational {
    let mut difference = vec![Rational::ZERO; a.input_width()];
    let layers = a.layers().iter().zip(b.layers()).zip(a.activation_ranges(domain));
    for ((of_a, of_b), inputs) in layers {
        let row = |i: usize| -> Rational {
            let (row_a, row_b) = (of_a.weight().row(i), of_b.weight().row(i));
            let term = |j: usize| {
                let size = inputs[j].magnitude().unwrap();
                &(&(&row_a[j] - &row_b[j]).abs() * &size) + &(&row_b[j].abs() * &difference[j])
            };
            let terms: Rational = (0..row_a.len()).map(term).sum();
            ((&of_a.bias()[i] - &of_b.bias()[i]).abs() + terms).round_up(64)
        };
        difference = (0..of_a.width()).map(row).collect();
    }
    difference.into_iter().max().unwrap()
}

#[test]
fn the_bound_of_rounding_is_that_of_the_lemma() {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(8);
    let third: Rational = "1/3".parse().unwrap();
    for round in 0..200 {
        let widths = [3, 4, 1 + round % 3, 2];
        let same = round % 4;
        let mut networks = [Vec::new(), Vec::new()];
        for l in 0..3 {
            let mut number = || match rng.random_range(0..5) {
                0 => Rational::ZERO,
                1 => &Rational::from_f64(rng.random_range(-1.0..1.0)).unwrap() * &third,
                _ => Rational::from_f64(rng.random_range(-1.0..1.0)).unwrap(),
            };
            let weight = Matrix::from_fn(widths[l + 1], widths[l], |_, _| number());
            let bias: Vec<Rational> = (0..widths[l + 1]).map(|_| number()).collect();
            let mut near = |x: &Rational| {
                let changed = l != same && rng.random_bool(0.3);
                x + &Rational::from_f64(if changed { rng.random_range(-1e-6..1e-6) } else { 0.0 }).unwrap()
            };
            let other = weight.map(&mut near);
            let other_bias = bias.iter().map(&mut near).collect();
            let activation = if l == 2 { Activation::Identity } else { Activation::Relu };
            networks[0].push(Layer::new(weight, bias, activation));
            networks[1].push(Layer::new(other, other_bias, activation));
        }
        let [a, b] = networks.map(|layers| ExactNetwork::new(layers).unwrap());
        let domain = Domain::from_bounds(&[(-1.0, 1.0), (0.0, 0.25), (-3.0, -2.0)]).unwrap();
        assert_eq!(rounding_bound(&a, &b, &domain).unwrap(), slow_bound(&a, &b, &domain));
        assert!(rounding_bound(&a, &b, &Domain::orthant(3)).is_err());
    }
}
