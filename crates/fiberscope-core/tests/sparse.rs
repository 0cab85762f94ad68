//! The storage of a layer changes nothing but the cost: networks with dense and with sparse layers are equal, have
//! the same digest, the same values and ranges, and moves make the same of them.
use fiberscope_core::{
    Activation, Digest, Domain, ExactEvaluator, ExactNetwork, Layer, LinearChange, Matrix, Move, Network,
    NeuronCopy, PlacedNeuron, Rational, Scalar, SparseMatrix, Strictness, Weights,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A network about a fifth of whose weights are not zero, with short numbers.
fn network(widths: &[usize], seed: u64) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut number =
        |most: f64| f64::from(rng.random_range(-8i32..=8)) / 4.0 * f64::from(rng.random_bool(most));
    let depth = widths.len() - 1;
    let layers = widths.windows(2).enumerate().map(|(l, pair)| {
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| number(0.2));
        let bias = (0..pair[1]).map(|_| number(0.7)).collect();
        let linear = l + 1 == depth || (l + seed as usize).is_multiple_of(5);
        Layer::new(weight, bias, if linear { Activation::Identity } else { Activation::Relu })
    });
    Network::new(layers.collect()).unwrap()
}

/// The same network with every other layer, or all, stored by entries.
fn stored_by_entries<S: Scalar>(network: &Network<S>, every: usize) -> Network<S> {
    let layer = |(l, layer): (usize, &Layer<S>)| {
        let weight = match l.is_multiple_of(every) {
            true => Weights::Sparse(SparseMatrix::from_dense(layer.weight())),
            false => Weights::Dense(layer.weight().clone()),
        };
        Layer::new(weight, layer.bias().to_vec(), layer.activation())
    };
    Network::new(network.layers().iter().enumerate().map(layer).collect()).unwrap()
}

const WIDTHS: [&[usize]; 5] = [&[3, 2], &[4, 9, 3], &[6, 11, 8, 2], &[2, 5, 5, 5, 5, 1], &[40, 60, 50, 7]];

fn pairs() -> impl Iterator<Item = (Network, Network)> {
    (0..60).map(|seed| {
        let dense = network(WIDTHS[seed as usize % WIDTHS.len()], seed);
        let sparse = stored_by_entries(&dense, 1 + seed as usize % 2);
        assert!(sparse.layers()[0].weights().is_sparse());
        (dense, sparse)
    })
}

fn points(count: usize, inputs: usize, seed: u64) -> Matrix {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Matrix::from_fn(count, inputs, |_, _| rng.random_range(-2.0..2.0))
}

#[test]
fn they_are_the_same_network_with_the_same_name() {
    for (dense, sparse) in pairs() {
        assert_eq!(dense, sparse);
        assert_eq!(Digest::of(&dense), Digest::of(&sparse));
        assert_eq!(Digest::of_exact(&dense.to_exact()), Digest::of_exact(&sparse.to_exact()));
        assert_eq!(dense.to_exact(), sparse.to_exact());
        assert_eq!(sparse.to_exact().to_f64().unwrap(), (dense.clone(), true));
        assert_eq!(dense.parameter_count(), sparse.parameter_count());
        for (a, b) in dense.layers().iter().zip(sparse.layers()) {
            assert_eq!(a.weight(), b.weight());
        }
    }
}

#[test]
fn values_and_signs_are_the_same() {
    for (dense, sparse) in pairs() {
        let points = points(70, dense.input_width(), 5);
        let (a, b) = (dense.evaluate_batch(&points).unwrap(), sparse.evaluate_batch(&points).unwrap());
        let near = |x: f64, y: f64| (x - y).abs() <= 1e-12 * (1.0 + x.abs());
        assert!(a.entries().iter().zip(b.entries()).all(|(&x, &y)| near(x, y)));
        for (x, y) in points.iter_rows().zip(a.iter_rows()).take(5) {
            assert!(sparse.evaluate(x).unwrap().iter().zip(y).all(|(&x, &y)| near(x, y)));
            let exact: Vec<Rational> = x.iter().map(|&x| Rational::from_f64(x).unwrap()).collect();
            assert_eq!(dense.evaluate_exact(&exact), sparse.evaluate_exact(&exact));
            let third: Vec<Rational> = exact.iter().map(|x| x * &"1/3".parse().unwrap()).collect();
            let evaluators = [ExactEvaluator::new(&dense), ExactEvaluator::new(&sparse)];
            assert_eq!(evaluators[0].evaluate(&third), evaluators[1].evaluate(&third));
            assert_eq!(dense.sign_vector_exact(&exact), sparse.sign_vector_exact(&exact));
            assert_eq!(dense.jacobian_exact(&exact), sparse.jacobian_exact(&exact));
        }
    }
}

/// A block is evaluated like its points: threads and neighbours change no bit.
#[test]
fn a_point_has_one_value_in_every_batch() {
    let network = stored_by_entries(&network(&[40, 60, 50, 7], 4), 1);
    let points = points(100, 40, 6);
    let all = network.evaluate_batch(&points).unwrap();
    for (start, count) in [(0, 2), (31, 3), (64, 36)] {
        let part = points.select_rows(&(start..start + count).collect::<Vec<_>>());
        let values = network.evaluate_batch(&part).unwrap();
        assert_eq!(values, all.select_rows(&(start..start + count).collect::<Vec<_>>()));
    }
}

#[test]
fn ranges_roles_and_hidden_neurons_are_the_same() {
    for (dense, sparse) in pairs() {
        let bounds = vec![(-0.5, 1.0); dense.input_width()];
        for domain in [Domain::Space, Domain::from_bounds(&bounds).unwrap()] {
            assert_eq!(dense.roles(&domain), sparse.roles(&domain));
            let ranges = |network: &Network| network.activation_ranges(&domain).collect::<Vec<_>>();
            assert_eq!(ranges(&dense), ranges(&sparse));
        }
        for layer in 0..dense.hidden_depth() {
            for strictness in [Strictness::Weak, Strictness::Alive, Strictness::Strict] {
                assert_eq!(dense.hidden_unit(layer, strictness), sparse.hidden_unit(layer, strictness));
            }
        }
    }
}

/// Moves of all kinds that touch rows and columns, some of which do not apply.
fn moves(network: &ExactNetwork, layer: usize, seed: u64) -> Vec<Move> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let width = network.layers()[layer].width();
    let (inputs, outputs) = (network.layers()[layer].input_width(), network.layers()[layer + 1].width());
    let mut order: Vec<usize> = (0..width).collect();
    (1..width).rev().for_each(|i| order.swap(i, rng.random_range(0..=i)));
    let mut number = || &Rational::from(rng.random_range(-3..=3)) / &Rational::from(7);
    let factors = (0..width).map(|unit| &Rational::from(1 + unit as i64 % 4) / &Rational::from(3)).collect();
    let out: Vec<Rational> = (0..outputs).map(|_| number()).collect();
    let unused = PlacedNeuron {
        unit: width / 2,
        weight: (0..inputs).map(|_| number()).collect(),
        bias: number(),
        out: vec![Rational::ZERO; outputs],
    };
    let copy = NeuronCopy { of: 0, unit: width, factor: "5/3".parse().unwrap(), out };
    let mut list = vec![
        Move::Permute { layer, order },
        Move::Scale { layer, factors },
        Move::Insert { layer, neurons: vec![unused] },
        Move::Drop { layer, units: vec![width / 2] },
        Move::Split { layer, copies: vec![copy] },
        Move::Merge { layer, pairs: vec![(0, width)] },
        Move::Fold { layer, pairs: vec![] },
    ];
    for unit in 0..width {
        list.push(Move::Translate { layer, unit, amount: "-1/5".parse().unwrap() });
        list.push(Move::Flip {
            layer,
            unit,
            flips: (0..width).filter(|&other| other != unit).take(2).collect(),
        });
        list.push(Move::Refactor { layer, linear: LinearChange { remove: vec![unit], insert: vec![] } });
        list.push(Move::Reorient { layer, units: vec![unit], linear: LinearChange::default() });
    }
    list
}

#[test]
fn moves_and_their_inverses_make_the_same_networks() {
    let mut applied = 0;
    for (seed, (dense, sparse)) in pairs().enumerate() {
        let domain = Domain::from_bounds(&vec![(0.0, 1.0); dense.input_width()]).unwrap();
        for layer in 0..dense.hidden_depth() {
            let (mut a, mut b) = (dense.to_exact(), sparse.to_exact());
            for each in moves(&a, layer, seed as u64) {
                let inverses = (each.inverse(&a), each.inverse(&b));
                assert_eq!(inverses.0, inverses.1, "{each:?}");
                let done = each.apply(&mut a, &domain);
                assert_eq!(done, each.apply(&mut b, &domain), "{each:?}");
                assert_eq!(a, b, "{each:?}");
                applied += usize::from(done.is_ok());
                if a.hidden_depth() <= layer {
                    break;
                }
            }
        }
    }
    assert!(applied > 500, "{applied}");
}

#[test]
fn what_is_too_large_as_a_dense_network_is_refused() {
    let mut identity = SparseMatrix::with_capacity(100_000, 100_000, 100_000);
    (0..100_000).for_each(|i| identity.push_row([(i, 1.0 + i as f64)]));
    let layer = Layer::new(identity, vec![0.0; 100_000], Activation::Identity);
    let network = Network::new(vec![layer]).unwrap();
    assert_eq!(
        network.require_dense(1 << 26).unwrap_err().to_string(),
        "this needs dense layers, which are 10000100000 numbers for this network (200000 are stored); the limit is 67108864"
    );
    // By its entries it is a small network.
    let values = network.evaluate(&vec![1.0; 100_000]).unwrap();
    assert_eq!((values[0], values[99_999]), (1.0, 100_000.0));
    let copy = Network::new(network.layers().to_vec()).unwrap();
    assert_eq!(Digest::of(&network), Digest::of(&copy));
}
