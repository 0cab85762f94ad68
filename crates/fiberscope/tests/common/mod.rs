//! Random networks with short numbers, and random moves that apply to them.

#![allow(dead_code, clippy::unwrap_used, reason = "shared by several tests, which may panic")]

pub mod certificates;
pub mod complexes;
pub mod filters;
pub mod pairs;

use fiberscope::core::{LinearChange, NeuronCopy, PlacedNeuron};
use fiberscope::{Domain, ExactNetwork, Layer, Matrix, Move, MoveChain, Network, Rational};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub fn r(text: &str) -> Rational {
    text.parse().unwrap()
}

/// A number other than zero.
pub fn random(rng: &mut ChaCha8Rng) -> Rational {
    let size = rng.random_range(1..=64);
    Rational::dyadic(if rng.random() { size } else { -size }, -4)
}

pub fn random_network(rng: &mut ChaCha8Rng, widths: &[usize]) -> ExactNetwork {
    Network::from_widths(widths, || random(rng)).unwrap()
}

/// The network with some entries replaced: `edit(layer, row, column, value)`, the bias as last column.
pub fn edit(
    network: &ExactNetwork,
    mut edit: impl FnMut(usize, usize, usize, Rational) -> Rational,
) -> ExactNetwork {
    let layers = network.layers().iter().enumerate().map(|(l, layer)| {
        let cols = layer.input_width();
        let weight =
            Matrix::from_fn(layer.width(), cols, |i, j| edit(l, i, j, layer.weight()[(i, j)].clone()));
        let bias = layer.bias().iter().enumerate().map(|(i, b)| edit(l, i, cols, b.clone())).collect();
        Layer::new(weight, bias, layer.activation())
    });
    Network::new(layers.collect()).unwrap()
}

/// A network whose second layer hides neuron `k` of the first, strictly.
pub fn hiding(rng: &mut ChaCha8Rng, widths: &[usize], k: usize) -> ExactNetwork {
    edit(&random_network(rng, widths), |l, _, j, x| match (l, j) {
        (1, j) if j == k => x.abs(),
        (1, _) => -x.abs(),
        _ => x,
    })
}

pub fn apply(network: &ExactNetwork, domain: &Domain, each: Move) -> ExactNetwork {
    let mut after = network.clone();
    each.apply(&mut after, domain).unwrap_or_else(|error| panic!("{each:?}: {error}"));
    after
}

pub fn shuffled(rng: &mut ChaCha8Rng, n: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, rng.random_range(0..=i));
    }
    order
}

pub fn permute(rng: &mut ChaCha8Rng, network: &ExactNetwork, layer: usize) -> ExactNetwork {
    let order = shuffled(rng, network.layers()[layer].width());
    apply(network, &Domain::Space, Move::Permute { layer, order })
}

/// Scales by powers of two, so that doubles stay doubles.
pub fn scale(rng: &mut ChaCha8Rng, network: &ExactNetwork, layer: usize) -> ExactNetwork {
    let factors =
        (0..network.layers()[layer].width()).map(|_| Rational::dyadic(1, rng.random_range(-3..=3))).collect();
    apply(network, &Domain::Space, Move::Scale { layer, factors })
}

fn place(rng: &mut ChaCha8Rng, network: &ExactNetwork, layer: usize) -> usize {
    rng.random_range(0..=network.layers()[layer].width())
}

/// Puts a dead neuron into a layer (behind a ReLU layer by signs, in the first layer a constant one), or one
/// without outgoing weights.
pub fn insert(rng: &mut ChaCha8Rng, network: &ExactNetwork, layer: usize) -> ExactNetwork {
    let (inputs, outputs) = (network.layers()[layer].input_width(), network.layers()[layer + 1].width());
    let unit = place(rng, network, layer);
    let unconnected: bool = rng.random();
    let mut number = |dead: bool| if dead { -random(rng).abs() } else { random(rng) };
    let neuron = PlacedNeuron {
        unit,
        weight: (0..inputs)
            .map(|_| if layer == 0 && !unconnected { Rational::ZERO } else { number(!unconnected) })
            .collect(),
        bias: number(!unconnected),
        out: (0..outputs).map(|_| if unconnected { Rational::ZERO } else { number(false) }).collect(),
    };
    apply(network, &Domain::Space, Move::Insert { layer, neurons: vec![neuron] })
}

pub fn split(rng: &mut ChaCha8Rng, network: &ExactNetwork, layer: usize) -> ExactNetwork {
    let unit = place(rng, network, layer);
    let width = network.layers()[layer].width() + 1;
    let of = (unit + rng.random_range(1..width)) % width;
    let out = (0..network.layers()[layer + 1].width()).map(|_| random(rng)).collect();
    let copy = NeuronCopy { of, unit, factor: Rational::dyadic(1, rng.random_range(-2..=2)), out };
    apply(network, &Domain::Space, Move::Split { layer, copies: vec![copy] })
}

/// Adds two linear neurons whose contributions cancel up to a constant.
pub fn add_linear(rng: &mut ChaCha8Rng, network: &ExactNetwork, layer: usize) -> ExactNetwork {
    let (inputs, outputs) = (network.layers()[layer].input_width(), network.layers()[layer + 1].width());
    let weight: Vec<_> = (0..inputs).map(|_| random(rng).abs()).collect();
    let out: Vec<_> = (0..outputs).map(|_| random(rng)).collect();
    let negative = out.iter().map(|v| -v).collect();
    let width = network.layers()[layer].width();
    let insert = vec![
        PlacedNeuron { unit: 0, weight: weight.clone(), bias: random(rng).abs(), out },
        PlacedNeuron { unit: width + 1, weight, bias: random(rng).abs(), out: negative },
    ];
    let linear = LinearChange { remove: vec![], insert };
    apply(network, &Domain::Space, Move::Refactor { layer, linear })
}

/// Checks that the moves lead from one network to the other, and that these agree at random points of
/// the domain.
pub fn check_same(
    rng: &mut ChaCha8Rng,
    before: &ExactNetwork,
    moves: &MoveChain,
    after: &ExactNetwork,
    domain: &Domain,
) {
    let mut made = before.clone();
    moves.apply(&mut made, domain).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(&made, after);
    for _ in 0..10 {
        let x: Vec<_> = domain
            .sides(before.input_width())
            .iter()
            .map(|side| match (&side.lower, &side.upper) {
                (Some(lower), Some(upper)) => {
                    lower + &(&Rational::dyadic(rng.random_range(0..=16), -4) * &(upper - lower))
                }
                (Some(lower), None) => lower + &random(rng).abs(),
                _ => random(rng),
            })
            .collect();
        assert_eq!(before.evaluate_exact(&x).unwrap(), after.evaluate_exact(&x).unwrap());
    }
}
