//! The polyhedral complex: known counts, two algorithms with one answer, laws.
use crate::common;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use common::complexes::{cube, random, random_degenerate};
use fiberscope::complex::{
    BreakpointComplex, Built, CellCounts, CellMethod, ComplexOptions, ConstructOptions, CountOutcome,
    CountState, FoldMatch, FoldSet, Genericity, IdentifiabilityCertificate, Keeper, PolyhedralComplex,
    construct_identifiable, count_cells, match_folds, unseen_neurons, walk_regions, weigh_by_paths,
};
use fiberscope::core::{Activation, Domain, Layer, Matrix, Network, Sign};
use fiberscope_io::load;
use serde_json::Value;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/complex")
}

fn stored(name: &str) -> Network {
    let path = data().join(format!("{name}.npz"));
    load(path.to_str().unwrap(), &Default::default()).unwrap().network
}

fn count(network: &Network, domain: &Domain) -> (CellCounts, CellMethod) {
    match count_cells(network, domain, &ComplexOptions::new()).unwrap() {
        CountOutcome::Complete { counts, method } => (counts, method),
        CountOutcome::Stopped { .. } => panic!("there is no limit"),
    }
}

fn build(network: &Network, domain: &Domain) -> PolyhedralComplex {
    match PolyhedralComplex::build(network, domain, &ComplexOptions::new()).unwrap() {
        Built::Complete(complex) => *complex,
        Built::Stopped { .. } => panic!("there is no limit"),
    }
}

#[test]
fn known_counts() {
    let known: Value =
        serde_json::from_str(&std::fs::read_to_string(data().join("counts.json")).unwrap()).unwrap();
    for name in ["2-16-16-1", "2-32-32-1", "2-64-64-64-1", "3-16-16-1", "3-32-32-1", "4-12-12-1", "5-10-10-1"]
    {
        let network = stored(name);
        let d = network.input_width();
        let (counts, method) = count(&network, &cube(d));
        let expected: Vec<u64> = serde_json::from_value(known[name]["box"]["f_vector"].clone()).unwrap();
        assert_eq!((counts.all.clone(), method), (expected, CellMethod::Edges), "{name}");
        assert_eq!(counts.euler(), 1);
        assert_eq!(counts.bounded, counts.all);
    }
    for name in ["2-16-16-1", "2-32-32-1", "3-16-16-1", "4-12-12-1"] {
        let network = stored(name);
        let d = network.input_width();
        let (counts, _) = count(&network, &Domain::Space);
        assert_eq!(counts.all[d], known[name]["Rd"]["cells"].as_u64().unwrap(), "{name}");
        assert_eq!(counts.all[0], known[name]["Rd"]["vertices"].as_u64().unwrap(), "{name}");
        assert_eq!(counts.euler(), if d.is_multiple_of(2) { 1 } else { -1 });
    }
}

#[test]
fn known_counts_of_degenerate_networks() {
    let text = std::fs::read_to_string(data().join("degenerate/exact_counts.json")).unwrap();
    let known: Value = serde_json::from_str(&text).unwrap();
    for (name, expected) in known.as_object().unwrap() {
        let network = stored(&format!("degenerate/{name}"));
        let (counts, method) = count(&network, &cube(2));
        assert_eq!(counts.all[2], expected["cells"].as_u64().unwrap(), "{name}");
        assert_eq!(counts.all[0], expected["vertices"].as_u64().unwrap(), "{name}");
        assert_eq!((counts.euler(), method), (1, CellMethod::Cells));
        let complex = build(&network, &cube(2));
        assert_eq!(complex.counts(), counts);
    }
}

fn binomial(n: usize, k: usize) -> u64 {
    (0..k).fold(1, |c, i| c * (n - i) as u64 / (i + 1) as u64)
}

#[test]
fn one_generic_layer_follows_the_formula() {
    for d in 1..=5 {
        for n in 1..=7 {
            let (counts, _) = count(&random(&[d, n, 1], (10 * d + n) as u64), &Domain::Space);
            // Below codimension r: sum over k of C(n, r) C(n - r, k) cells.
            let regions: u64 = (0..=d.min(n)).map(|k| binomial(n, k)).sum();
            assert_eq!(counts.all[d], regions, "{n} hyperplanes in R^{d}");
            assert_eq!(counts.all[0], if n >= d { binomial(n, d) } else { 0 });
            let bounded = if n > d { binomial(n - 1, d) } else { 0 };
            assert_eq!(counts.bounded[d], bounded);
            assert_eq!(counts.euler(), if d % 2 == 0 { 1 } else { -1 });
        }
    }
}

/// The walk and the subdivision find the same regions.
fn agree(network: &Network, domain: &Domain, name: &str) {
    let complex = build(network, domain);
    let counts = complex.counts();
    let (counted, _) = count(network, domain);
    assert_eq!(counts, counted, "{name}");
    let d = complex.dimension();
    let expected = if *domain == Domain::Space && d % 2 == 1 { -1 } else { 1 };
    assert_eq!(counts.euler(), expected, "{name}");
    let walked = walk_regions(network, domain, &ComplexOptions::new()).unwrap();
    let mut ours: Vec<Vec<Sign>> = complex.regions().map(|region| region.cell().signs().to_vec()).collect();
    let mut theirs = walked.signs.clone();
    ours.sort();
    theirs.sort();
    assert_eq!(ours, theirs, "{name}");
    assert_eq!(counts.bounded[d], walked.bounded as u64, "{name}");
    assert_eq!(complex.adjacency().len(), walked.facets, "{name}");
}

#[test]
fn both_algorithms_agree_on_random_networks() {
    let shapes: [&[usize]; 10] = [
        &[1, 4, 3, 1],
        &[1, 3, 3, 3, 2],
        &[2, 4, 3, 1],
        &[2, 3, 2, 2, 1],
        &[3, 3, 2, 1],
        &[3, 4, 1],
        &[4, 3, 2, 1],
        &[4, 5, 1],
        &[5, 3, 2, 1],
        &[5, 4, 1],
    ];
    for seed in 0..10 {
        for widths in shapes {
            let name = format!("{widths:?} {seed}");
            let network = random(widths, 1000 + seed);
            agree(&network, &cube(widths[0]), &name);
            agree(&network, &Domain::Space, &name);
        }
    }
}

/// Weights that training lets decay to almost nothing bend the function far out.
#[test]
fn cells_far_out_are_found_or_refused() {
    let decayed = |network: &Network, size: f64| {
        let mut layers = network.layers().to_vec();
        let weight = layers[1].weight();
        let weight = Matrix::from_fn(weight.rows(), weight.cols(), |i, j| {
            weight[(i, j)] * if i == 0 || j == 0 { size } else { 1.0 }
        });
        layers[1] = Layer::new(weight, layers[1].bias().to_vec(), Activation::Relu);
        Network::new(layers).unwrap()
    };
    for seed in 0..8 {
        for (widths, size) in [(&[2, 3, 3, 1][..], 1e-41), (&[3, 3, 2, 1], 1e-41), (&[2, 3, 2, 2, 1], 1e-140)]
        {
            agree(&decayed(&random(widths, seed), size), &Domain::Space, &format!("{widths:?} {seed}"));
        }
    }
    let lines = |weight: f64| {
        let hidden =
            |w: f64, b: f64| Layer::new(Matrix::from_rows(&[[w]]).unwrap(), vec![b], Activation::Relu);
        let output = Layer::new(Matrix::from_rows(&[[1.0]]).unwrap(), vec![0.0], Activation::Identity);
        Network::new(vec![hidden(weight, 0.0), hidden(-weight, 1.0), output]).unwrap()
    };
    assert_eq!(count(&lines(1e-140), &Domain::Space).0.regions(), 3);
    let error = count_cells(&lines(1e-200), &Domain::Space, &ComplexOptions::new()).unwrap_err();
    assert!(error.to_string().contains("expected a bounded box"), "{error}");
    assert!(PolyhedralComplex::build(&lines(1e-200), &Domain::Space, &ComplexOptions::new()).is_err());
}

#[test]
fn both_algorithms_agree_on_degenerate_networks() {
    let shapes: [&[usize]; 5] = [&[1, 4, 3, 1], &[2, 4, 3, 1], &[2, 5, 1], &[3, 4, 2, 1], &[3, 3, 3, 1]];
    let mut irregular = 0;
    for seed in 0..12 {
        for widths in shapes {
            let name = format!("degenerate {widths:?} {seed}");
            let network = random_degenerate(widths, 2000 + seed);
            agree(&network, &cube(widths[0]), &name);
            agree(&network, &Domain::Space, &name);
            irregular += usize::from(count(&network, &Domain::Space).1 == CellMethod::Cells);
        }
    }
    assert!(irregular > 15, "{irregular}");
}

#[test]
fn regions_hold_the_map_of_the_network() {
    let network = random(&[3, 6, 4, 2], 5);
    let complex = build(&network, &cube(3));
    for region in complex.regions() {
        let x = region.center();
        let (map, f) = (region.affine_map().apply(&x).unwrap(), network.evaluate(&x).unwrap());
        assert!(map.iter().zip(&f).all(|(a, b)| (a - b).abs() < 1e-9));
        assert_eq!(network.sign_vector(&x).unwrap(), region.cell().sign_vector());
    }
    let bent: usize = complex.bent_hyperplanes().iter().map(|bent| bent.facets.len()).sum();
    assert_eq!(bent, complex.adjacency().len());
}

#[test]
fn weights_balance_and_both_formulas_agree() {
    for (widths, seed) in
        [(&[2, 7, 5, 1][..], 1), (&[2, 4, 4, 4, 2], 2), (&[3, 5, 4, 1], 3), (&[4, 4, 2, 1], 4)]
    {
        let network = random(widths, seed);
        for domain in [cube(widths[0]), Domain::Space] {
            let complex = build(&network, &domain);
            let breakpoints = BreakpointComplex::new(&complex, &ComplexOptions::new()).unwrap();
            assert!(breakpoints.imbalance < 1e-6, "{widths:?} {}", breakpoints.imbalance);
            assert!(breakpoints.disagreement < 1e-6, "{widths:?} {}", breakpoints.disagreement);
            assert_eq!((breakpoints.dishonest_ridges, breakpoints.cancelling_facets), (0, 0), "{widths:?}");
            let last = network.hidden_depth() - 1;
            assert!(breakpoints.facets.iter().filter(|f| f.layer == last).all(|f| f.visible));
            assert!(breakpoints.ridges > 0);
        }
    }
}

#[test]
fn weights_by_paths_alone_are_the_same() {
    let mut networks: Vec<Network> =
        [(&[2, 7, 5, 2][..], 1), (&[3, 5, 4, 1], 3)].map(|(widths, seed)| random(widths, seed)).into();
    networks.push(random_degenerate(&[2, 4, 3, 1], 2));
    for network in networks {
        let complex = build(&network, &cube(network.input_width()));
        let breakpoints = BreakpointComplex::new(&complex, &ComplexOptions::new()).unwrap();
        let by_paths = weigh_by_paths(&complex);
        assert_eq!(by_paths.len(), breakpoints.facets.len());
        for (a, b) in by_paths.iter().zip(&breakpoints.facets) {
            assert_eq!((a.facet, a.visible, &a.neurons), (b.facet, b.visible, &b.neurons));
            let close = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-9 * (1.0 + y.abs());
            assert!(a.weight.iter().zip(&b.weight).all(close), "{:?} {:?}", a.weight, b.weight);
        }
        assert_eq!(unseen_neurons(&complex, &by_paths), breakpoints.hidden_neurons(&complex));
    }
}

#[test]
fn cancellation_and_hiding_are_seen() {
    // relu(x) and relu(-x) with opposite weights: f = x, and both facets at 0 are one that cancels.
    let matrix = |rows: &[&[f64]]| Matrix::from_rows(rows).unwrap();
    let relu = |rows: &[&[f64]], bias: Vec<f64>| Layer::new(matrix(rows), bias, Activation::Relu);
    let output = |row: &[f64]| Layer::new(matrix(&[row]), vec![0.0], Activation::Identity);
    let linear =
        Network::new(vec![relu(&[&[1.0, 0.0], &[-1.0, 0.0]], vec![0.0; 2]), output(&[1.0, -1.0])]).unwrap();
    let breakpoints = BreakpointComplex::new(&build(&linear, &cube(2)), &ComplexOptions::new()).unwrap();
    assert_eq!((breakpoints.facets.len(), breakpoints.visible_facets()), (1, 0));
    // Two equal paths with opposite signs.
    let twins =
        [relu(&[&[1.0, 0.5]], vec![0.1]), relu(&[&[1.0], &[1.0]], vec![1.0, 2.0]), output(&[1.0, -1.0])];
    let breakpoints = BreakpointComplex::new(
        &build(&Network::new(twins.to_vec()).unwrap(), &cube(2)),
        &ComplexOptions::new(),
    )
    .unwrap();
    assert_eq!((breakpoints.visible_facets(), breakpoints.cancelling_facets), (0, 1));
}

#[test]
fn limits_stop_and_states_resume() {
    let network = stored("2-64-64-64-1");
    let limits = ComplexOptions::new().regions(2000);
    let stopped = count_cells(&network, &cube(2), &limits).unwrap();
    let CountOutcome::Stopped { regions, state, .. } = stopped else { panic!("2000 regions are not enough") };
    assert!(regions <= 13310, "{regions}");
    let json = serde_json::to_string(&state.unwrap()).unwrap();
    let damaged: CountState =
        serde_json::from_str(&json.replacen("\"sides\":[[", "\"sides\":[[0.5,-0.5],[", 2)).unwrap();
    let refused = count_cells(&network, &cube(2), &limits.clone().resume(damaged));
    assert!(refused.is_err());
    let state: CountState = serde_json::from_str(&json).unwrap();
    let other = count_cells(&stored("2-16-16-1"), &cube(2), &limits.clone().resume(state));
    assert_eq!(
        other.unwrap_err().to_string(),
        "the state belongs to another network or domain, or is damaged"
    );
    let CountOutcome::Stopped { state, .. } = count_cells(&network, &cube(2), &limits).unwrap() else {
        panic!("2000 regions are not enough")
    };
    let all = count_cells(&network, &cube(2), &ComplexOptions::new().resume(state)).unwrap();
    let CountOutcome::Complete { counts, .. } = all else { panic!("there is no limit") };
    assert_eq!(counts.all, [13498, 26807, 13310]);
}

/// A count that was killed goes on from any state that it handed out.
#[test]
fn killed_counts_go_on() {
    let network = random(&[3, 70, 50, 1], 1);
    let states = Mutex::new(Vec::new());
    let keep = |state: &CountState| states.lock().unwrap().push(serde_json::to_string(state).unwrap());
    let all = count_cells(&network, &cube(3), &ComplexOptions::new().keeper(Keeper::to(&keep)));
    let CountOutcome::Complete { counts, .. } = all.unwrap() else { panic!("there is no limit") };
    let states = states.into_inner().unwrap();
    assert!(states.len() >= 2, "{} states", states.len());
    for state in [&states[0], &states[states.len() - 1]] {
        let state = serde_json::from_str::<CountState>(state).unwrap();
        let again = count_cells(&network, &cube(3), &ComplexOptions::new().resume(state)).unwrap();
        let CountOutcome::Complete { counts: found, .. } = again else { panic!("there is no limit") };
        assert_eq!(found, counts);
    }
}

#[test]
fn layers_are_told_by_the_function_from_two_inputs_on() {
    let recovered = |widths: &[usize]| {
        let complex = build(&random(widths, 3), &Domain::Space);
        let breakpoints = BreakpointComplex::new(&complex, &ComplexOptions::new()).unwrap();
        (breakpoints.recovered_rightly(), breakpoints.visible_facets())
    };
    let (right, visible) = recovered(&[2, 6, 4, 1]);
    assert!(right * 10 > visible * 9, "{right} of {visible}");
    // relu(x - 1) with its breakpoint in the second layer, and in the first.
    let matrix = |x: f64| Matrix::from_rows(&[[x]]).unwrap();
    let net = |biases: [f64; 3]| {
        let layer = |(l, b)| {
            let activation = if l < 2 { Activation::Relu } else { Activation::Identity };
            Layer::new(matrix(1.0), vec![b], activation)
        };
        Network::new(biases.into_iter().enumerate().map(layer).collect()).unwrap()
    };
    let (second, first) = (net([5.0, -6.0, 0.0]), net([-1.0, 1.0, -1.0]));
    for (network, layer) in [(&second, 1), (&first, 0)] {
        let breakpoints =
            BreakpointComplex::new(&build(network, &Domain::Space), &ComplexOptions::new()).unwrap();
        let visible: Vec<usize> = breakpoints.facets.iter().filter(|f| f.visible).map(|f| f.layer).collect();
        assert_eq!((visible, breakpoints.recovered_rightly()), (vec![layer], 0));
        assert!(
            [-7.0, 0.5, 1.0, 4.0]
                .iter()
                .all(|&x: &f64| network.evaluate(&[x]).unwrap()[0] == (x - 1.0).max(0.0))
        );
    }
}

#[test]
fn bad_domains_are_refused() {
    let network = random(&[2, 3, 1], 1);
    let flat = Domain::from_bounds(&[(0.0, 1.0), (1.0, 1.0)]).unwrap();
    let error =
        |domain: &Domain| count_cells(&network, domain, &ComplexOptions::new()).unwrap_err().to_string();
    assert_eq!(error(&flat), "input 2: the box is flat, from 1 to 1; expected lo < hi");
    assert_eq!(error(&cube(3)), "expected a box with 2 intervals (one per input), found 3");
    assert!(error(&Domain::orthant(2)).contains("bounded on one side only"));
}

#[test]
fn folds_of_a_single_layer_are_full_hyperplanes() {
    let network = random(&[2, 5, 1], 3);
    let complex = build(&network, &Domain::Space);
    let breakpoints = BreakpointComplex::new(&complex, &ComplexOptions::new()).unwrap();
    let folds = FoldSet::new(&complex, &breakpoints.facets, 0, &ComplexOptions::new()).unwrap();
    assert_eq!((folds.order(), folds.pieces.len(), folds.left_over), (1, 5, 0));
    assert!(folds.dependencies(&complex, &breakpoints.facets, 0).edges.is_empty());
}

#[test]
fn folds_of_two_layers_lean_on_the_first() {
    let network = random(&[2, 4, 3, 1], 8);
    let complex = build(&network, &Domain::Space);
    let breakpoints = BreakpointComplex::new(&complex, &ComplexOptions::new()).unwrap();
    let folds = FoldSet::new(&complex, &breakpoints.facets, 0, &ComplexOptions::new()).unwrap();
    assert!(folds.order() >= 2);
    let graph = folds.dependencies(&complex, &breakpoints.facets, 0);
    assert!(!graph.edges.is_empty());
    for &(a, b) in &graph.edges {
        assert!(folds.pieces[a].level < folds.pieces[b].level);
    }
    // Visible facets are in one piece each, or left over.
    let assigned: usize = folds.pieces.iter().map(|piece| piece.facets.len()).sum();
    assert_eq!(assigned + folds.left_over, breakpoints.visible_facets());
}

#[test]
fn genericity_tells_what_is_wrong() {
    let generic =
        Genericity::new(&build(&random(&[2, 3, 2, 1], 4), &cube(2)), &ComplexOptions::new()).unwrap();
    assert!(generic.is_supertransversal() && generic.masks_complete && generic.rank_violations == 0);
    let zero = random_degenerate(&[2, 4, 3, 1], 2003);
    let report = Genericity::new(&build(&zero, &cube(2)), &ComplexOptions::new()).unwrap();
    assert!(!report.is_supertransversal());
    // A layer that is off on a half-plane.
    let matrix = |rows: &[&[f64]]| Matrix::from_rows(rows).unwrap();
    let hidden = Layer::new(matrix(&[&[1.0, 0.25]]), vec![0.0], Activation::Relu);
    let output = Layer::new(matrix(&[&[1.0]]), vec![0.0], Activation::Identity);
    let network = Network::new(vec![hidden, output]).unwrap();
    let report = Genericity::new(&build(&network, &cube(2)), &ComplexOptions::new()).unwrap();
    let (layer, x) = report.opaque.clone().unwrap();
    assert_eq!(layer, 0);
    assert!(x[0].to_f64() + 0.25 * x[1].to_f64() < 0.0 && !report.is_transparent());
}

#[test]
fn constructed_networks_are_certified_and_recovered() {
    for widths in [&[2, 2, 1][..], &[3, 2, 2, 1], &[3, 3, 2, 1]] {
        let built = construct_identifiable(widths, &ConstructOptions::new()).unwrap();
        assert_eq!(built.network.widths(), widths);
        let complex = build(&built.network, &built.domain);
        let breakpoints = BreakpointComplex::new(&complex, &ComplexOptions::new()).unwrap();
        let genericity = Genericity::new(&complex, &ComplexOptions::new().seed(1)).unwrap();
        let again = IdentifiabilityCertificate::new(
            &built.network,
            &complex,
            &breakpoints,
            &genericity,
            &ComplexOptions::new(),
        )
        .unwrap();
        assert!(again.holds(), "{widths:?}: {:?}", again.missing());
        let twin = fiberscope::orbit::relabel(&built.network, 7).network;
        let found = fiberscope::orbit::find(&built.network.to_exact(), &twin.to_exact()).unwrap();
        assert_eq!(found.layers.len(), widths.len() - 2);
        assert_eq!(match_folds(&complex, &breakpoints, &built.network, &twin), FoldMatch::Relabelled(found));
        let other = random(widths, 1);
        assert!(fiberscope::orbit::find(&built.network.to_exact(), &other.to_exact()).is_none());
        let FoldMatch::Different(x) = match_folds(&complex, &breakpoints, &built.network, &other) else {
            panic!("{widths:?}: the functions differ")
        };
        // The first bends at the point and the second does not.
        let zeros = |network: &Network| {
            let signs = network.sign_vector_exact(&x).unwrap();
            signs.signs().filter(|&sign| sign == Sign::Zero).count()
        };
        assert_eq!((zeros(&built.network), zeros(&other)), (1, 0));
    }
    for widths in [&[2, 3, 1][..], &[3, 2, 2], &[3, 1, 1], &[3, 1]] {
        assert!(construct_identifiable(widths, &ConstructOptions::new()).is_err(), "{widths:?}");
    }
}
