//! Laws of hidden hyperplanes: what a neuron sees, and when translations and flips keep the function.
use fiberscope_core::{
    Activation, Domain, ExactNetwork, Layer, Matrix, Move, Network, Rational, Sight, Strictness,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const WIDTH: usize = 3;

/// Three inputs, the identity as first layer (so that it maps onto the orthant), a layer of small integers
/// (mostly negative, so that all kinds of neurons are frequent), and its neurons as outputs.
fn network(rng: &mut ChaCha8Rng, neurons: usize) -> ExactNetwork {
    let unit = |i: usize, j: usize| Rational::from(i64::from(i == j));
    let positive = rng.random_range(0..WIDTH);
    let mut small = |often: bool| {
        let number = rng.random_range(-2..=2i64);
        let abs = number.abs();
        Rational::from(if rng.random_range(0..6) == 0 {
            number
        } else if often {
            abs
        } else {
            -abs
        })
    };
    let weight = Matrix::from_fn(neurons, WIDTH, |_, i| small(i == positive));
    let bias = (0..neurons).map(|_| small(false)).collect();
    let zeros = |n: usize| vec![Rational::ZERO; n];
    Network::new(vec![
        Layer::new(Matrix::from_fn(WIDTH, WIDTH, unit), zeros(WIDTH), Activation::Relu),
        Layer::new(weight, bias, Activation::Relu),
        Layer::new(Matrix::from_fn(neurons, neurons, unit), zeros(neurons), Activation::Identity),
    ])
    .unwrap()
}

/// Points that reach every neuron of [`network`] with the others on or off.
fn grid() -> Vec<Vec<Rational>> {
    let values = [-20, -3, 0, 3, 20].map(Rational::from);
    let points = (0..values.len().pow(WIDTH as u32)).map(|code| {
        (0..WIDTH).map(|i| values[code / values.len().pow(i as u32) % values.len()].clone()).collect()
    });
    points.collect()
}

fn same_function(a: &ExactNetwork, b: &ExactNetwork) -> bool {
    let mut points = grid().into_iter();
    points.all(|x| a.evaluate_exact(&x).unwrap() == b.evaluate_exact(&x).unwrap())
}

/// The network with the weights and biases of one layer changed; the bias counts as the last column.
fn edited(
    network: &ExactNetwork,
    layer: usize,
    change: impl Fn(usize, usize, &Rational) -> Rational,
) -> ExactNetwork {
    let mut layers = network.layers().to_vec();
    let (weight, bias, activation) = layers[layer].clone().into_parts();
    let last = weight.cols();
    let rows = Matrix::from_fn(weight.rows(), last, |i, j| change(i, j, &weight[(i, j)]));
    let bias = bias.iter().enumerate().map(|(i, b)| change(i, last, b)).collect();
    layers[layer] = Layer::new(rows, bias, activation);
    Network::new(layers).unwrap()
}

/// Whether a neuron is active somewhere with `a_k = 0`, by trying activations.
fn sees(layer: &Layer<Rational>, j: usize, k: usize) -> bool {
    grid().into_iter().filter(|a| a[k].is_zero() && a.iter().all(|x| !x.is_negative())).any(|a| {
        let sum: Rational = layer.weight().row(j).iter().zip(&a).map(|(w, a)| w * a).sum();
        (&sum + &layer.bias()[j]).is_positive()
    })
}

#[test]
fn sight_is_being_active_with_a_neuron_off() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut kinds = [0; 3];
    for _ in 0..300 {
        let network = network(&mut rng, 1);
        let next = &network.layers()[1];
        let seen: Vec<usize> = (0..WIDTH).filter(|&k| sees(next, 0, k)).collect();
        let sight = Sight::of(next, 0);
        let expected = match sight {
            Sight::Dead => vec![],
            Sight::Hides(unit) => (0..WIDTH).filter(|&k| k != unit).collect(),
            Sight::Sees => (0..WIDTH).collect(),
        };
        assert_eq!(seen, expected);
        kinds[match sight {
            Sight::Dead => 0,
            Sight::Hides(_) => 1,
            Sight::Sees => 2,
        }] += 1;
    }
    assert!(kinds.iter().all(|&count| count > 20), "{kinds:?}");
}

/// Law: for `t > 0`, `translate` applies iff translating keeps the function.
#[test]
fn a_translation_keeps_the_function_iff_no_connected_neuron_sees_it() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut counts = [0; 2];
    for case in 0..400 {
        let network = network(&mut rng, case % 3 + 1);
        for unit in 0..WIDTH {
            let next = &network.layers()[1];
            let first =
                edited(
                    &network,
                    0,
                    |i, j, x| {
                        if (i, j) == (unit, WIDTH) { x + &Rational::ONE } else { x.clone() }
                    },
                );
            let translated = edited(&first, 1, |i, j, x| {
                let moved = j == WIDTH && Sight::of(next, i) != Sight::Dead;
                if moved { x - &next.weight()[(i, unit)] } else { x.clone() }
            });
            let kept = same_function(&network, &translated);
            let mut moved = network.clone();
            let amount = Rational::ONE;
            let applies = Move::Translate { layer: 0, unit, amount }.apply(&mut moved, &Domain::Space);
            assert_eq!(applies.is_ok(), kept);
            assert!(!kept || moved == translated);
            counts[usize::from(kept)] += 1;
        }
    }
    assert!(counts.iter().all(|&count| count > 50), "{counts:?}");
}

/// Law: behind one neuron that is connected to both, flipping `i` across `k` keeps the function iff the
/// neuron hides `k`.
#[test]
fn a_flip_keeps_the_function_iff_the_neuron_is_hidden() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut counts = [0; 2];
    for _ in 0..400 {
        let network = network(&mut rng, 1);
        let next = &network.layers()[1];
        let connected = |unit: usize| !next.weight()[(0, unit)].is_zero();
        for (unit, i) in (0..WIDTH).flat_map(|k| (0..WIDTH).map(move |i| (k, i))) {
            if unit == i || !connected(unit) || !connected(i) || Sight::of(next, 0) == Sight::Dead {
                continue;
            }
            let ratio = &next.weight()[(0, i)] / &next.weight()[(0, unit)];
            let flipped = edited(&network, 0, |row, j, x| match (row, j) {
                (row, j) if (row, j) == (unit, i) => ratio.clone(),
                (row, j) if (row, j) == (i, i) => -Rational::ONE,
                _ => x.clone(),
            });
            let kept = same_function(&network, &flipped);
            assert_eq!(kept, Sight::of(next, 0) == Sight::Hides(unit));
            let mut moved = network.clone();
            let applies = Move::Flip { layer: 0, unit, flips: vec![i] }.apply(&mut moved, &Domain::Space);
            assert_eq!(applies.is_ok(), kept);
            assert!(!kept || moved == flipped);
            counts[usize::from(kept)] += 1;
        }
    }
    assert!(counts.iter().all(|&count| count > 50), "{counts:?}");
}

/// Law: the three degrees are the formulas of the module, each contained in the one before.
#[test]
fn strictness_is_what_its_formula_says() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut counts = [0; 4];
    for case in 0..4000 {
        let network = network(&mut rng, case % 3 + 1);
        let next = &network.layers()[1];
        let signs = |j: usize| -> Vec<i8> {
            next.weight().row(j).iter().chain([&next.bias()[j]]).map(Rational::signum).collect()
        };
        let rows: Vec<Vec<i8>> = (0..next.width()).map(signs).collect();
        let dead = |row: &Vec<i8>| row.iter().all(|&s| s <= 0);
        let hides = |row: &Vec<i8>, k: usize, most: i8| {
            (0..row.len()).all(|i| if i == k { row[i] == 1 } else { row[i] <= most })
        };
        let find = |test: &dyn Fn(usize) -> bool| (0..WIDTH).find(|&k| test(k));
        let weak = find(&|k| {
            rows.iter().all(|row| dead(row) || hides(row, k, 0)) && rows.iter().any(|row| !dead(row))
        });
        let alive = find(&|k| rows.iter().all(|row| hides(row, k, 0)));
        let strict = find(&|k| rows.iter().all(|row| hides(row, k, -1)));
        let degrees = [Strictness::Weak, Strictness::Alive, Strictness::Strict];
        let found = degrees.map(|strictness| network.hidden_unit(0, strictness));
        assert_eq!(found, [weak, alive, strict]);
        counts[found.iter().flatten().count()] += 1;
    }
    assert!(counts.iter().all(|&count| count > 50), "{counts:?}");
}

#[test]
fn layers_without_relu_hide_nothing() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let hiding = std::iter::repeat_with(|| network(&mut rng, 1))
        .find(|network| network.hidden_unit(0, Strictness::Weak).is_some())
        .unwrap();
    for layer in [0, 1] {
        let mut layers = hiding.layers().to_vec();
        let (weight, bias, _) = layers[layer].clone().into_parts();
        layers[layer] = Layer::new(weight, bias, Activation::Identity);
        assert_eq!(Network::new(layers).unwrap().hidden_unit(0, Strictness::Weak), None);
    }
    // The output layer hides nothing either.
    assert_eq!(hiding.hidden_unit(1, Strictness::Weak), None);
}
