//! Extraction: networks come back from their answers, and nothing wrong is called verified.

use fiberscope::core::{Activation, Layer, Matrix, Network};
use fiberscope::extract::{
    ExtractError, ExtractOptions, ExtractOutcome, ExtractStage, Extraction, KnownLayer, LabelExtraction,
    LabelOracle, NetworkOracle, Oracle, OracleError, Precision, Undetermined, class_of, compare,
    compare_labels, extract, extract_labels,
};
use fiberscope::limit::{Deadline, Progress, Stop};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// `W ~ N(0, 2 / fan-in)`, `b ~ N(0, 1/4)`.
fn random(widths: &[usize], seed: u64) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || {
        let u: f64 = 1.0 - rng.random_range(0.0..1.0);
        let v: f64 = rng.random_range(0.0..1.0);
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    let last = widths.len() - 2;
    let layers = widths.windows(2).enumerate().map(|(l, pair)| {
        let scale = (2.0 / pair[0] as f64).sqrt();
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| scale * normal());
        let bias = (0..pair[1]).map(|_| 0.5 * normal()).collect();
        Layer::new(weight, bias, if l < last { Activation::Relu } else { Activation::Identity })
    });
    Network::new(layers.collect()).expect("widths chain")
}

fn run(network: &Network, options: &ExtractOptions) -> Extraction {
    extract(&mut NetworkOracle::new(network.clone()), options).expect("an oracle without fault")
}

fn seeded(seed: u64) -> ExtractOptions<'static> {
    ExtractOptions::new().seed(seed)
}

/// The largest difference on a grid of random points of the domain.
fn distance(a: &Network, b: &Network) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(99);
    let points = Matrix::from_fn(2_000, a.input_width(), |_, _| rng.random_range(-3.0..3.0));
    let values = |network: &Network| network.evaluate_batch(&points).expect("points of the right width");
    let (p, q) = (values(a), values(b));
    p.entries().iter().zip(q.entries()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

#[test]
fn shallow_and_deep_networks_come_back() {
    for (widths, seeds) in [
        (&[10, 8, 1][..], 0..4),
        (&[6, 5, 3], 0..3),
        (&[3, 7, 2], 0..2),
        (&[10, 8, 6, 1], 0..3),
        (&[8, 8, 8, 2], 0..2),
    ] {
        for seed in seeds {
            let network = random(widths, seed);
            let found = run(&network, &seeded(seed));
            assert_eq!(found.outcome, ExtractOutcome::Verified, "{widths:?}, seed {seed}");
            let recovered = found.network.expect("verified networks are there");
            assert!(distance(&network, &recovered) < 1e-11, "{widths:?}, seed {seed}");
            let comparison =
                compare(&network, &recovered).unwrap_or_else(|| panic!("{widths:?}, seed {seed}"));
            assert!(comparison.max_error < 1e-10, "{widths:?}, seed {seed}: {:e}", comparison.max_error);
            assert_eq!(found.spent.iter().map(|(_, _, count)| count).sum::<u64>(), found.queries);
        }
    }
}

/// Three hidden layers fail where rows are known to nine digits only.
#[test]
fn three_hidden_layers_come_back() {
    let network = random(&[16, 12, 8, 4, 1], 28);
    let found = run(&network, &seeded(0));
    assert_eq!(found.outcome, ExtractOutcome::Verified);
    let error = compare(&network, &found.network.expect("verified")).expect("the same widths").max_error;
    assert!(error < 1e-11, "{error:e}");
}

#[test]
fn more_neurons_than_inputs_are_found() {
    let network = random(&[5, 8, 6, 1], 1);
    let found = run(&network, &seeded(1));
    if let ExtractOutcome::Verified = found.outcome {
        assert!(distance(&network, &found.network.expect("verified")) < 1e-10);
    } else {
        panic!("{:?}", found.outcome);
    }
}

/// The orientation of more neurons than there are inputs is a subset sum.
#[test]
fn first_layers_may_be_much_wider_than_the_input() {
    for (widths, seed) in [(&[5, 20, 1][..], 0), (&[4, 24, 1], 1), (&[6, 12, 10, 1], 2)] {
        let network = random(widths, seed);
        let found = run(&network, &seeded(seed));
        assert_eq!(found.outcome, ExtractOutcome::Verified, "{widths:?}");
        assert!(found.undetermined.is_empty(), "{widths:?}: {:?}", found.undetermined);
        let error = compare(&network, &found.network.expect("verified")).expect("the same widths").max_error;
        assert!(error < 1e-9, "{widths:?}: {error:e}");
    }
}

/// With few inputs most networks have weights that nothing tells: then another network with the same function comes back,
/// and it is said.
#[test]
fn few_inputs_give_a_network_with_the_same_function() {
    for (widths, seeds) in [(&[2, 8, 8, 1][..], 2..5), (&[2, 16, 16, 1], 4..5), (&[3, 8, 8, 1], 0..1)] {
        for seed in seeds {
            let network = random(widths, seed);
            let found = run(&network, &seeded(0));
            assert_eq!(found.outcome, ExtractOutcome::Verified, "{widths:?}, seed {seed}");
            let recovered = found.network.expect("verified");
            let far = distance(&network, &recovered);
            assert!(far < 1e-7, "{widths:?}, seed {seed}: {far:e}");
            let same = compare(&network, &recovered).is_some_and(|found| found.max_error < 1e-8);
            // A neuron that is off everywhere leaves no trace.
            let fewer = recovered.widths() < network.widths();
            assert!(same || fewer || !found.undetermined.is_empty(), "{widths:?}, seed {seed}");
        }
    }
}

/// Boundaries in the plane are followed from cell to cell.
#[test]
fn two_hidden_layers_of_the_plane_come_back() {
    // z = ReLU(x), ReLU(y), ReLU(-x - y + 1); each neuron behind them meets all three lines.
    let network = Network::from_rows(&[
        (&[&[1.0, 0.1], &[0.2, 1.0], &[-1.0, -0.9]], &[0.1, -0.2, 1.0]),
        (&[&[1.0, -1.2, 0.7], &[-0.8, 0.9, 1.1]], &[-0.6, -0.9]),
        (&[&[1.0, -0.7]], &[0.0]),
    ])
    .unwrap();
    let found = run(&network, &seeded(0));
    assert_eq!(found.outcome, ExtractOutcome::Verified);
    assert!(distance(&network, &found.network.expect("verified")) < 1e-9);
}

/// What a run that ended at its limit knows is where another one goes on, for fewer queries.
#[test]
fn known_layers_are_not_looked_for_again() {
    let network = random(&[10, 8, 6, 1], 0);
    let stages = std::sync::Mutex::new(Vec::new());
    let keep = |stage: ExtractStage| stages.lock().unwrap().push(stage);
    let whole = run(&network, &seeded(0).stages(Progress::to(&keep)));
    assert_eq!(whole.outcome, ExtractOutcome::Verified);
    let stages = stages.into_inner().unwrap();
    // Some way into the second layer.
    let partial = run(&network, &seeded(0).max_queries(stages[0].queries + 400));
    assert!(partial.stopped && partial.network.is_none());
    assert!(partial.known[0].oriented && partial.known[0].bias.len() == 8);
    let sure = partial.certainty[0];
    assert!(sure.predicted > 0 && sure.seen == sure.predicted, "{sure:?}");
    let explained = partial.explained.expect("it is not verified");
    assert!(explained.explained > 0 && explained.explained < explained.kinks, "{explained:?}");
    assert_eq!(stages[0].known, partial.known);
    let again = run(&network, &seeded(1).known(partial.known.clone()));
    assert_eq!(again.outcome, ExtractOutcome::Verified);
    assert!(again.queries < whole.queries, "{} and {}", again.queries, whole.queries);
    assert!(compare(&network, &again.network.unwrap()).unwrap().max_error < 1e-10);
    // All hidden layers are known: only the output layer is missing.
    let all: Vec<KnownLayer> = network
        .hidden_layers()
        .iter()
        .map(|layer| KnownLayer {
            weight: layer.weight().clone(),
            bias: layer.bias().to_vec(),
            oriented: true,
        })
        .collect();
    let last = run(&network, &seeded(2).known(all.clone()));
    assert_eq!(last.outcome, ExtractOutcome::Verified);
    // Wrong layers are not verified.
    let mut wrong = all;
    wrong[0].bias[0] += 0.5;
    let refused = run(&network, &seeded(2).known(wrong).max_queries(6_000));
    assert_ne!(refused.outcome, ExtractOutcome::Verified);
}

#[test]
fn known_layers_must_fit_the_oracle() {
    let layer =
        KnownLayer { weight: Matrix::from_rows(&[[1.0, 2.0]]).unwrap(), bias: vec![0.0], oriented: true };
    let mut oracle = NetworkOracle::new(random(&[3, 2, 1], 0));
    let error = extract(&mut oracle, &ExtractOptions::new().known(vec![layer])).unwrap_err();
    assert_eq!(error.to_string(), "known layer 1: expected 3 columns of weights, found 2");
}

#[test]
fn the_domain_may_lie_anywhere() {
    let network = random(&[6, 5, 1], 3);
    let options = ExtractOptions::new().domain(0.0, 1.0);
    let found = run(&network, &options);
    assert_eq!(found.outcome, ExtractOutcome::Verified);
    assert!(compare(&network, &found.network.unwrap()).unwrap().max_error < 1e-10);
}

#[test]
fn neurons_without_influence_are_left_out() {
    // The second neuron is dead on the domain and far around it, the third one is linear there.
    let hidden = Layer::new(
        Matrix::from_rows(&[[1.0, 2.0], [0.5, 0.5], [0.25, -0.5]]).unwrap(),
        vec![0.3, -1e6, 1e6],
        Activation::Relu,
    );
    let output = Layer::new(Matrix::from_rows(&[[1.0, -3.0, 2.0]]).unwrap(), vec![0.1], Activation::Identity);
    let network = Network::new(vec![hidden, output]).unwrap();
    let found = run(&network, &ExtractOptions::default());
    assert_eq!(found.outcome, ExtractOutcome::Verified);
    let recovered = found.network.unwrap();
    assert_eq!(recovered.widths(), [2, 2, 1]);
    assert_eq!(found.layers[0].always_active, 1);
    // The one that stands for the linear part is one of many that would do, and this is said.
    let open = Undetermined { always_on: 1, ..Undetermined::default() };
    assert_eq!(found.undetermined, [open]);
    assert!(distance(&network, &recovered) < 1e-8, "{:e}", distance(&network, &recovered));
}

/// The network with the bias of neuron 0 of a hidden layer raised by `amount`, and the layer behind it
/// shifted such that its pre-activations stay what they are where the neuron is active.
fn with_active_neuron(network: &Network, layer: usize, amount: f64) -> Network {
    let mut layers: Vec<Layer> = network.layers().to_vec();
    let moved = |old: &Layer, change: &dyn Fn(usize) -> f64| {
        let bias = old.bias().iter().enumerate().map(|(i, b)| b + change(i)).collect();
        Layer::new(old.weight().clone(), bias, old.activation())
    };
    layers[layer] = moved(&layers[layer], &|i| if i == 0 { amount } else { 0.0 });
    let next = layers[layer + 1].clone();
    layers[layer + 1] = moved(&next, &|i| -amount * next.weight()[(i, 0)]);
    Network::new(layers).expect("widths chain")
}

#[test]
fn neurons_that_are_always_active_are_carried_past() {
    for (widths, layer, seed) in [(&[10, 8, 6, 1][..], 0, 0), (&[8, 6, 4, 3, 2], 1, 0)] {
        let network = with_active_neuron(&random(widths, seed), layer, 2e3);
        let found = run(&network, &seeded(seed));
        assert_eq!(found.outcome, ExtractOutcome::Verified, "{widths:?}, seed {seed}");
        let recovered = found.network.expect("verified networks are there");
        assert_eq!(recovered.widths(), widths);
        assert_eq!(found.layers[layer].always_active, 1);
        assert!(found.remarks.iter().any(|remark| remark.contains("never switch")), "{:?}", found.remarks);
        assert!(distance(&network, &recovered) < 1e-9, "{:e}", distance(&network, &recovered));
    }
}

/// The bias of one neuron of the second layer is such that it is off at 20,000 random points of the domain,
/// and yet not everywhere.
#[test]
fn neurons_that_are_nearly_always_off_are_found() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for seed in 0..3 {
        let network = random(&[10, 8, 6, 1], seed);
        let [first, second, output] = network.layers() else { panic!("three layers") };
        let height = |x: &[f64]| {
            let relu =
                |(w, b): (&[f64], &f64)| (w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>() + b).max(0.0);
            let h = first.weight().iter_rows().zip(first.bias()).map(relu);
            second.weight().row(0).iter().zip(h).map(|(w, h)| w * h).sum::<f64>()
        };
        let highest = (0..20_000)
            .map(|_| height(&[(); 10].map(|()| rng.random_range(-3.0..3.0))))
            .fold(f64::NEG_INFINITY, f64::max);
        let mut bias = second.bias().to_vec();
        bias[0] = -highest;
        let second = Layer::new(second.weight().clone(), bias, Activation::Relu);
        let network = Network::new(vec![first.clone(), second, output.clone()]).expect("widths chain");
        let found = run(&network, &seeded(seed));
        assert_eq!(found.outcome, ExtractOutcome::Verified, "seed {seed}");
        let recovered = found.network.expect("verified networks are there");
        let error = compare(&network, &recovered).map(|comparison| comparison.max_error);
        assert!(error.is_some_and(|error| error < 1e-6), "seed {seed}: {error:?}, {:?}", recovered.widths());
    }
}

#[test]
fn an_affine_function_has_no_hidden_layer() {
    let output = Layer::new(Matrix::from_rows(&[[1.0, -3.0]]).unwrap(), vec![0.1], Activation::Identity);
    let network = Network::new(vec![output]).unwrap();
    let found = run(&network, &ExtractOptions::default());
    assert_eq!(found.outcome, ExtractOutcome::Verified);
    assert!(distance(&network, &found.network.unwrap()) < 1e-12);
}

#[test]
fn rounded_answers_are_matched_or_refused() {
    for (seed, precisions) in [(0, [3, 7]), (1, [5, 9])] {
        for decimals in precisions {
            let network = random(&[6, 5, 1], seed);
            let precision = Precision { decimals: Some(decimals), ..Precision::default() };
            let mut oracle = NetworkOracle::new(network.clone()).with_precision(precision);
            let found = extract(&mut oracle, &seeded(seed)).unwrap();
            if let (ExtractOutcome::Verified, Some(recovered)) = (&found.outcome, &found.network) {
                let allowed = 100.0 * 10f64.powi(-(decimals as i32));
                assert!(distance(&network, recovered) < allowed, "{decimals} decimals, seed {seed}");
            }
        }
    }
}

/// Eight decimals hide a deeper network no better than a shallow one.
#[test]
fn rounded_answers_give_deeper_networks_away() {
    let network = random(&[10, 8, 6, 1], 3);
    let precision = Precision { decimals: Some(8), ..Precision::default() };
    let mut oracle = NetworkOracle::new(network.clone()).with_precision(precision);
    let found = extract(&mut oracle, &seeded(0)).expect("an oracle without fault");
    assert_eq!(found.outcome, ExtractOutcome::Verified);
    let error = compare(&network, &found.network.expect("verified")).expect("the same widths").max_error;
    assert!(error < 1e-6, "{error:e}");
}

#[test]
fn equal_seeds_ask_equal_questions() {
    let network = random(&[6, 5, 4, 1], 2);
    let (a, b) = (run(&network, &seeded(5)), run(&network, &seeded(5)));
    assert_eq!(a.queries, b.queries);
    assert_eq!(a.network, b.network);
}

#[test]
fn limits_are_kept() {
    let network = random(&[6, 5, 4, 1], 2);
    let found = run(&network, &seeded(5).max_queries(300));
    assert!(found.queries <= 300);
    assert!(!matches!(found.outcome, ExtractOutcome::Verified));
}

#[test]
fn widths_that_contradict_are_not_verified() {
    let network = random(&[6, 5, 1], 2);
    for widths in [vec![3], vec![9], vec![5, 4]] {
        let found = run(&network, &seeded(5).widths(widths.clone()));
        assert!(!matches!(found.outcome, ExtractOutcome::Verified), "{widths:?}");
    }
    let found = run(&network, &seeded(5).widths(vec![5]));
    assert_eq!(found.outcome, ExtractOutcome::Verified);
}

/// An oracle made of a function.
struct Function<F>(F);

impl<F: FnMut(&[f64]) -> Vec<f64>> Oracle for Function<F> {
    fn inputs(&self) -> usize {
        3
    }

    fn outputs(&self) -> usize {
        1
    }

    fn query(&mut self, points: &Matrix) -> Result<Matrix, OracleError> {
        let rows: Vec<Vec<f64>> = points.iter_rows().map(&mut self.0).collect();
        Matrix::from_rows(&rows).ok_or_else(|| OracleError("rows of unequal length".into()))
    }
}

fn error(oracle: impl FnMut(&[f64]) -> Vec<f64>) -> ExtractError {
    extract(&mut Function(oracle), &ExtractOptions::default()).expect_err("a faulty oracle")
}

#[test]
fn faulty_oracles_are_named() {
    let sigmoid = |x: &[f64]| vec![1.0 / (1.0 + (-x[0] - 0.5 * x[1]).exp())];
    assert!(matches!(error(sigmoid), ExtractError::NotPiecewiseLinear(_)));
    assert!(matches!(error(|_| vec![f64::NAN]), ExtractError::NotFinite { output: 0, .. }));
    assert!(matches!(error(|_| vec![1.0, 2.0]), ExtractError::Shape { found_columns: 2, .. }));
    let mut calls = 0.0;
    let counter = move |x: &[f64]| {
        calls += 1.0;
        vec![x[0].max(0.0) + 1e-3 * calls]
    };
    assert!(matches!(error(counter), ExtractError::NotDeterministic { .. }));
}

/// Far out, where noise is not measured, the answers have a thousand times the noise of those near the
/// centre.
#[test]
fn noise_that_was_not_measured_is_noticed() {
    let network = random(&[3, 7, 1], 0);
    let answer = |x: &[f64]| {
        let y = network.evaluate(x).expect("inputs of the right width");
        let mut bits = x.iter().fold(0u64, |h, x| (h ^ x.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        bits ^= bits >> 32;
        let noise = if x.iter().any(|x| x.abs() > 12.0) {
            2e-11 * (bits as f64 / u64::MAX as f64 - 0.5)
        } else {
            0.0
        };
        vec![y[0] + noise]
    };
    let found =
        extract(&mut Function(answer), &ExtractOptions::default()).expect("piecewise linear up to noise");
    assert_eq!(found.outcome, ExtractOutcome::Verified);
    assert!(distance(&network, &found.network.unwrap()) < 1e-8);
}

#[test]
fn senseless_options_are_refused() {
    let mut oracle = NetworkOracle::new(random(&[2, 2, 1], 0));
    for domain in [(1.0, 1.0), (2.0, -2.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        let options = ExtractOptions::new().domain(domain.0, domain.1);
        assert!(matches!(extract(&mut oracle, &options), Err(ExtractError::Domain { .. })));
    }
    let options = ExtractOptions::new().widths(vec![3, 0]);
    assert!(matches!(extract(&mut oracle, &options), Err(ExtractError::Widths(_))));
}

/// Answers so many batches; then the work is stopped while it computes the next.
struct Interrupted {
    inner: NetworkOracle,
    batches: usize,
    stop: Stop,
}

impl Oracle for Interrupted {
    fn inputs(&self) -> usize {
        self.inner.inputs()
    }

    fn outputs(&self) -> usize {
        self.inner.outputs()
    }

    fn query(&mut self, points: &Matrix) -> Result<Matrix, OracleError> {
        let Some(left) = self.batches.checked_sub(1) else {
            self.stop.pull();
            return Err(OracleError("no answer".into()));
        };
        self.batches = left;
        self.inner.query(points)
    }
}

#[test]
fn a_limit_that_comes_while_the_oracle_computes_is_a_limit() {
    let network = random(&[6, 5, 4, 1], 3);
    let inner = NetworkOracle::new(network.clone());
    let mut counting = Interrupted { inner, batches: usize::MAX, stop: Stop::default() };
    let whole = extract(&mut counting, &seeded(3)).expect("an oracle without fault");
    let count = usize::MAX - counting.batches;
    for batches in [0, count / 4, count / 2, count - 1] {
        let stop = Stop::default();
        let mut oracle =
            Interrupted { inner: NetworkOracle::new(network.clone()), batches, stop: stop.clone() };
        let options = seeded(3).deadline(Deadline::NEVER.or(stop));
        let found = extract(&mut oracle, &options).expect("it was stopped, and is not at fault");
        assert!(found.stopped && found.queries < whole.queries, "{batches}: {:?}", found.outcome);
        assert_ne!(found.outcome, ExtractOutcome::Verified);
    }
}

/// An extraction from classes alone.
fn from_classes(network: &Network, options: &ExtractOptions) -> LabelExtraction {
    let mut oracle = LabelOracle::new(NetworkOracle::new(network.clone()));
    extract_labels(&mut oracle, Some(network.output_width()), options).expect("a usable oracle")
}

#[test]
fn classes_tell_one_hidden_layer() {
    // Of the last one a class is never the largest output.
    let cases = [
        (&[6, 5, 3][..], 5, (-3.0, 3.0), true),
        (&[5, 4, 2], 0, (-1.0, 5.0), true),
        (&[6, 5, 3], 3, (-3.0, 3.0), false),
    ];
    for (widths, seed, domain, determined) in cases {
        let truth = random(widths, seed);
        let found = from_classes(&truth, &ExtractOptions::new().domain(domain.0, domain.1));
        assert_eq!(found.outcome, ExtractOutcome::Verified, "{widths:?}");
        assert_eq!(found.open.is_empty(), determined, "{widths:?}: {:?}", found.open);
        let network = found.network.expect("it is verified");
        // Nothing that is not told is claimed.
        let error = compare_labels(&truth, &network).map(|comparison| comparison.max_error);
        assert!(error.is_some_and(|error| error < 1e-9) || !found.open.is_empty(), "{widths:?}: {error:?}");
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        for _ in 0..1000 {
            let x: Vec<f64> = (0..widths[0]).map(|_| rng.random_range(domain.0..domain.1)).collect();
            let class = |network: &Network| class_of(&network.evaluate(&x).expect("so many inputs"));
            assert_eq!(class(&truth), class(&network), "{widths:?}");
        }
    }
}

#[test]
fn the_sign_of_one_output_is_a_class() {
    let truth = random(&[5, 4, 1], 2);
    let found = from_classes(&truth, &ExtractOptions::new());
    assert_eq!(found.outcome, ExtractOutcome::Verified);
    let network = found.network.expect("it is verified");
    assert_eq!(network.output_width(), 1);
    let error = compare_labels(&truth, &network).expect("the widths of the truth").max_error;
    assert!(error < 1e-9, "{error}");
}

#[test]
fn classes_that_tell_nothing_are_said_to() {
    // One class only.
    let layer = |rows: &[&[f64]], bias: &[f64], activation| {
        Layer::new(Matrix::from_rows(rows).expect("rows of one length"), bias.to_vec(), activation)
    };
    let hidden = layer(&[&[1.0, 0.5, 0.1]], &[0.2], Activation::Relu);
    let one = Network::new(vec![hidden, layer(&[&[1.0], &[-1.0]], &[5.0, -5.0], Activation::Identity)]);
    let found = from_classes(&one.expect("widths chain"), &ExtractOptions::new());
    assert!(matches!(&found.outcome, ExtractOutcome::Failed { reason } if reason.contains("one class only")));
    // A limit.
    let found = from_classes(&random(&[6, 5, 3], 3), &ExtractOptions::new().max_queries(500));
    assert!(found.stopped && found.queries <= 500 && found.outcome != ExtractOutcome::Verified);
    // Scores are no classes.
    let error = extract_labels(&mut NetworkOracle::new(random(&[3, 4, 1], 0)), None, &ExtractOptions::new());
    assert!(error.expect_err("no class").to_string().contains("expected a class"));
}

#[test]
fn bends_in_a_plane_are_said_to_tell_no_neurons() {
    let found = from_classes(&random(&[2, 8, 3], 0), &seeded(0));
    let ExtractOutcome::Failed { reason } = &found.outcome else { panic!("{:?}", found.outcome) };
    assert!(reason.contains("with 2 inputs") && reason.contains("takes three at least"), "{reason}");
    assert!(found.queries < 200_000, "{}", found.queries);
}

#[test]
fn parameters_from_classes_are_compared_up_to_what_classes_leave_open() {
    let truth = random(&[3, 4, 3], 0);
    let mut layers = truth.layers().to_vec();
    let last = layers.pop().expect("an output layer");
    let weight = Matrix::from_fn(3, 4, |i, j| 2.5 * last.weight()[(i, j)] + j as f64);
    layers.push(Layer::new(weight, last.bias().iter().map(|b| 2.5 * b - 7.0).collect(), last.activation()));
    let same = Network::new(layers.clone()).expect("widths chain");
    assert!(compare_labels(&truth, &same).expect("the same widths").max_error < 1e-13);
    let last = layers.pop().expect("an output layer");
    let weight = Matrix::from_fn(3, 4, |i, j| last.weight()[(i, j)] + f64::from(u8::from((i, j) == (0, 0))));
    layers.push(Layer::new(weight, last.bias().to_vec(), last.activation()));
    let other = Network::new(layers).expect("widths chain");
    assert!(compare_labels(&truth, &other).expect("the same widths").max_error > 0.1);
}
