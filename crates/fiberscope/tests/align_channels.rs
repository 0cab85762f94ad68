//! Alignment of convolutional networks: channels are moved as one, and carried values with what they copy.
use crate::common::filters;

use fiberscope::align::{AlignOptions, Alignment, Image, align, interpolation_barrier};
use fiberscope::check::{Outcome, check};
use fiberscope::{
    Activation, Certificate, Claim, Domain, Evidence, Layer, Matrix, Move, MoveChain, Network, Rational,
    SparseMatrix,
};
use filters::Filters;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SIZE: usize = 6;
const PLACES: usize = SIZE * SIZE;
const CHANNELS: usize = 5;
const IMAGE: Image = Image { channels: CHANNELS, places: PLACES };

/// The filters of a network with a residual block: `relu(F3 relu(F2 h) + h)` with `h = relu(F1 x)`, and two outputs.
#[derive(Clone)]
struct Residual {
    filters: [Filters; 3],
    last: Matrix,
}

impl Residual {
    fn random(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let filters = [2, CHANNELS, CHANNELS].map(|inputs| Filters::random(CHANNELS, inputs, &mut rng));
        let last = Matrix::from_fn(2, CHANNELS * PLACES, |_, _| f64::from(rng.random_range(-1.0f32..1.0)));
        Residual { filters, last }
    }

    /// The same with a little noise on the filters: what training goes on to.
    fn trained(&self, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut other = self.clone();
        for filters in &mut other.filters {
            for tap in filters.kernel.iter_mut().flatten().flatten() {
                *tap += f64::from(rng.random_range(-0.05f32..0.05));
            }
        }
        other
    }

    fn network(&self) -> Network {
        let [first, second, third] = &self.filters;
        let identity = |row: usize, from: usize| (from + row, 1.0);
        let copied = CHANNELS * PLACES;
        let (second, third) = (second.layer(SIZE, 1), third.layer(SIZE, 1));
        let mut middle = SparseMatrix::new(copied);
        second.weights().iter_rows().for_each(|row| middle.push_row(row.map(|(j, w)| (j, *w))));
        (0..copied).for_each(|row| middle.push_row([identity(row, 0)]));
        let bias = [second.bias(), &vec![0.0; copied]].concat();
        let mut added = SparseMatrix::new(2 * copied);
        for (i, row) in third.weights().iter_rows().enumerate() {
            added.push_row(row.map(|(j, w)| (j, *w)).chain([identity(i, copied)]));
        }
        Network::new(vec![
            first.layer(SIZE, 1),
            Layer::new(middle, bias, Activation::Relu),
            Layer::new(added, third.bias().to_vec(), Activation::Relu),
            Layer::new(self.last.clone(), vec![0.5, -0.25], Activation::Identity),
        ])
        .unwrap()
    }
}

fn images() -> Vec<Vec<Image>> {
    vec![vec![IMAGE], vec![IMAGE, IMAGE], vec![IMAGE]]
}

/// Channels permuted and scaled by powers of two at random; those that the block carries with what they copy.
fn shaken(network: &Network, seed: u64) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut exact = network.to_exact();
    let mut channels = || {
        let mut order: Vec<usize> = (0..CHANNELS).collect();
        (1..CHANNELS).rev().for_each(|i| order.swap(i, rng.random_range(0..=i)));
        let factors: Vec<i64> = (0..CHANNELS).map(|_| rng.random_range(-2..=2)).collect();
        (order, factors)
    };
    let [stream, inner, last] = [channels(), channels(), channels()];
    for (layer, parts) in [vec![&stream], vec![&inner, &stream], vec![&last]].into_iter().enumerate() {
        let (mut order, mut factors) = (Vec::new(), Vec::new());
        for (channels, powers) in parts {
            let start = order.len();
            for (channel, power) in channels.iter().zip(powers) {
                order.extend((0..PLACES).map(|place| start + channel * PLACES + place));
                factors.extend((0..PLACES).map(|_| Rational::dyadic(1, *power)));
            }
        }
        Move::Permute { layer, order }.apply(&mut exact, &Domain::Space).unwrap();
        Move::Scale { layer, factors }.apply(&mut exact, &Domain::Space).unwrap();
    }
    let (network, is_exact) = exact.to_f64().unwrap();
    assert!(is_exact);
    network
}

fn check_certificate(b: &Network, alignment: &Alignment) {
    let moves = Evidence::Moves { a: alignment.moves.clone(), b: MoveChain::default() };
    let certificate = Certificate::new(b, &alignment.network, Domain::Space, moves);
    assert_eq!(check(&certificate, b, &alignment.network), Outcome::Proved(Claim::Equivalent));
}

#[test]
fn permuted_channels_of_a_residual_network_are_found_exactly() {
    for seed in 0..3 {
        let a = Residual::random(seed).network();
        let b = shaken(&a, seed + 100);
        let alignment = align(&a, &b, &AlignOptions::new().images(images())).unwrap();
        assert_eq!((&alignment.network, alignment.distance_after), (&a, 0.0));
        check_certificate(&b, &alignment);
    }
}

#[test]
fn what_was_trained_further_is_found_below_its_permutation() {
    for seed in 0..3 {
        let start = Residual::random(seed);
        let (a, trained) = (start.network(), start.trained(seed + 50).network());
        let b = shaken(&trained, seed + 100);
        let points = {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            Matrix::from_fn(20, a.input_width(), |_, _| rng.random_range(-1.0..1.0))
        };
        for by_activations in [false, true] {
            let options =
                AlignOptions::new().images(images()).activations(by_activations.then(|| points.clone()));
            let alignment = align(&a, &b, &options).unwrap();
            assert_eq!(alignment.network, trained, "by activations: {by_activations}");
            check_certificate(&b, &alignment);
        }
        let barrier = |b: &Network| interpolation_barrier(&a, b, &points, None, 4).unwrap().height;
        assert!(barrier(&trained) < 0.1 * barrier(&b));
    }
}

#[test]
fn channels_stay_together_where_networks_have_nothing_in_common() {
    let (a, b) = (Residual::random(1).network(), Residual::random(2).network());
    let alignment = align(&a, &b, &AlignOptions::new().images(images()).starts(3)).unwrap();
    assert!(alignment.distance_after < alignment.distance_before);
    check_certificate(&b, &alignment);
    for (step, made) in alignment.moves.moves().iter().enumerate() {
        if let Move::Permute { order, .. } = made {
            let whole = order.chunks(PLACES).all(|channel| {
                channel[0] % PLACES == 0 && channel.windows(2).all(|pair| pair[1] == pair[0] + 1)
            });
            assert!(whole, "move {step}");
        }
    }
}
