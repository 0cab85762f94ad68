//! Pairs of networks whose answers are known by construction, of the kinds and sizes of the golden pairs.

use fiberscope::{Activation, Domain, ExactNetwork, Layer, Matrix, Move, Network, Rational};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::{apply, edit, hiding, insert, permute, r, random, random_network, scale, split};

/// Two networks.
pub type Pair = (ExactNetwork, ExactNetwork);

/// A name, and how to make a pair.
pub type Kind = (&'static str, fn(&mut ChaCha8Rng) -> Pair);

/// The network, whose numbers must be doubles.
pub fn doubles(network: &ExactNetwork) -> Network {
    let (network, lossless) = network.to_f64().unwrap();
    assert!(lossless);
    network
}

/// Widths of a bottleneck.
fn widths(rng: &mut ChaCha8Rng) -> [usize; 4] {
    let first = rng.random_range(2..=6);
    [first + rng.random_range(0..=2), first, rng.random_range(1..=6), rng.random_range(1..=3)]
}

/// The network with its neurons shuffled and scaled.
fn disguised(rng: &mut ChaCha8Rng, network: &ExactNetwork) -> ExactNetwork {
    (0..network.hidden_depth()).fold(network.clone(), |network, layer| {
        let permuted = permute(rng, &network, layer);
        scale(rng, &permuted, layer)
    })
}

/// A random network in which no second-layer neuron is dead or linear and none is hidden.
fn rigid(rng: &mut ChaCha8Rng, widths: &[usize]) -> ExactNetwork {
    edit(&random_network(rng, widths), |l, i, j, x| match (l, (i + j) % 2) {
        (1, _) if j == widths[1] => x,
        (1, 0) => x.abs(),
        (1, _) => -x.abs(),
        _ => x,
    })
}

fn hides(rng: &mut ChaCha8Rng, widths: &[usize]) -> (ExactNetwork, usize) {
    let k = rng.random_range(0..widths[1]);
    (hiding(rng, widths, k), k)
}

/// `max_j b_2[j] / W_2[j,k]`, which is negative.
fn least_translation(network: &ExactNetwork, k: usize) -> Rational {
    let next = &network.layers()[1];
    (0..next.width()).map(|j| &next.bias()[j] / &next.weight()[(j, k)]).max().unwrap()
}

/// `b_1[k] += t`, `b_2[j] -= t W_2[j,k]`, whether or not that keeps the function.
fn translated(network: &ExactNetwork, k: usize, t: &Rational) -> ExactNetwork {
    let (first, second) = (network.layers()[0].input_width(), network.layers()[1].input_width());
    let column: Vec<_> = network.layers()[1].weight().column(k).cloned().collect();
    edit(network, |l, i, j, x| match (l, j) {
        (0, j) if j == first && i == k => &x + t,
        (1, j) if j == second => &x - &(t * &column[i]),
        _ => x,
    })
}

/// The multiple of `2^-bits` below `x`.
fn floor(x: &Rational, bits: i64) -> Rational {
    let scaled = (x * &Rational::dyadic(1, bits)).to_f64().floor();
    &Rational::from_f64(scaled).unwrap() * &Rational::dyadic(1, -bits)
}

fn permscale(rng: &mut ChaCha8Rng) -> Pair {
    let widths = widths(rng);
    let a = random_network(rng, &widths);
    let b = disguised(rng, &a);
    (a, b)
}

fn deep_permscale(rng: &mut ChaCha8Rng) -> Pair {
    let depth = rng.random_range(3..=5);
    let widths: Vec<_> = (0..=depth).map(|_| rng.random_range(2..=6)).collect();
    let a = random_network(rng, &widths);
    let b = disguised(rng, &a);
    (a, b)
}

fn translate(rng: &mut ChaCha8Rng) -> Pair {
    let widths = widths(rng);
    let (a, k) = hides(rng, &widths);
    // Half of the way to the least translation, or away from it.
    let least = -&floor(&-&least_translation(&a, k), 8);
    let amount = if rng.random() { &least * &r("1/2") } else { random(rng).abs() };
    let b = apply(&a, &Domain::Space, Move::Translate { layer: 0, unit: k, amount });
    let b = disguised(rng, &b);
    (a, b)
}

/// The translation goes beyond what keeps the function, by `2^-bits` at most.
pub fn too_far(rng: &mut ChaCha8Rng, widths: &[usize], bits: i64) -> Pair {
    loop {
        let (a, k) = hides(rng, widths);
        let least = least_translation(&a, k);
        let below = floor(&least, bits);
        let t = if below == least { &below - &Rational::dyadic(1, -bits) } else { below };
        let b = translated(&a, k, &t);
        // Where the whole first layer is off, the second layer's positive biases show.
        let (bias, output) = (b.layers()[1].bias().to_vec(), b.layers()[2].weight().clone());
        let shows = output.iter_rows().any(|row| {
            let sum: Rational = row.iter().zip(&bias).map(|(v, b)| v * &b.clone().max(Rational::ZERO)).sum();
            !sum.is_zero()
        });
        if shows {
            let b = disguised(rng, &b);
            return (a, b);
        }
    }
}

fn translate_too_far(rng: &mut ChaCha8Rng) -> Pair {
    let widths = widths(rng);
    let bits = rng.random_range(4..=30);
    too_far(rng, &widths, bits)
}

/// A hiding network with one second-layer neuron whose weights are powers of two.
fn flippable(rng: &mut ChaCha8Rng) -> (ExactNetwork, usize, Vec<usize>) {
    let mut widths = widths(rng);
    widths[2] = 1;
    let (network, k) = hides(rng, &widths);
    let mut power = |x: Rational| if x.is_negative() { -1i128 } else { 1 } * (1 << rng.random_range(0..3));
    let network = edit(&network, |l, _, j, x| match l {
        1 if j < widths[1] => Rational::dyadic(power(x), -1),
        _ => x,
    });
    let mut flips: Vec<_> = (0..widths[1]).filter(|&i| i != k && rng.random()).collect();
    if flips.is_empty() {
        flips.push((k + 1) % widths[1]);
    }
    (network, k, flips)
}

fn flip(rng: &mut ChaCha8Rng) -> Pair {
    let (a, unit, flips) = flippable(rng);
    let b = apply(&a, &Domain::Space, Move::Flip { layer: 0, unit, flips });
    let b = disguised(rng, &b);
    (a, b)
}

/// Rows change sign, and the hidden row does not make up for it.
fn flip_wrong(rng: &mut ChaCha8Rng) -> Pair {
    let (a, k, flips) = flippable(rng);
    let right = apply(&a, &Domain::Space, Move::Flip { layer: 0, unit: k, flips });
    let b = match rng.random_range(0..3) {
        0 => edit(&right, |l, i, j, x| match (l, i) {
            (0, i) if i == k && j < a.input_width() => a.layers()[0].weight()[(k, j)].clone(),
            (0, i) if i == k => a.layers()[0].bias()[k].clone(),
            _ => x,
        }),
        // The row of the hidden neuron is off in one place only.
        1 => edit(&right, |l, i, j, x| if (l, i, j) == (0, k, 0) { &x + &r("1/64") } else { x }),
        _ => edit(&a, |l, i, _, x| if (l, i) == (0, (k + 1) % a.widths()[1]) { -x } else { x }),
    };
    let b = disguised(rng, &b);
    (a, b)
}

/// Linear neurons of the second layer mixed with each other.
fn linear_gl(rng: &mut ChaCha8Rng) -> Pair {
    let mut widths = widths(rng);
    widths[2] = widths[2].max(2);
    let linear = rng.random_range(2..=widths[2]);
    let a = edit(&random_network(rng, &widths), |l, i, _, x| if l == 1 && i < linear { x.abs() } else { x });
    let mut b = a.clone();
    for _ in 0..3 {
        // Row i gains a multiple of row j, column j loses it from column i.
        let i = rng.random_range(0..linear);
        let j = (i + rng.random_range(1..linear)) % linear;
        let c = random(rng).abs();
        let before = b.clone();
        b = edit(&b, |l, row, column, x| match (l, row, column) {
            (1, row, column) if row == i && column < widths[1] => {
                &x + &(&c * &before.layers()[1].weight()[(j, column)])
            }
            (1, row, _) if row == i => &x + &(&c * &before.layers()[1].bias()[j]),
            (2, row, column) if column == j => &x - &(&c * &before.layers()[2].weight()[(row, i)]),
            _ => x,
        });
    }
    let b = disguised(rng, &b);
    (a, b)
}

fn dead(rng: &mut ChaCha8Rng) -> Pair {
    let widths = widths(rng);
    let a = random_network(rng, &widths);
    let mut b = a.clone();
    for _ in 0..rng.random_range(1..=2) {
        let layer = rng.random_range(0..2);
        b = insert(rng, &b, layer);
    }
    let b = disguised(rng, &b);
    (a, b)
}

fn split_neuron(rng: &mut ChaCha8Rng) -> Pair {
    let widths = widths(rng);
    let a = random_network(rng, &widths);
    let layer = rng.random_range(0..2);
    let b = split(rng, &a, layer);
    let b = disguised(rng, &b);
    (a, b)
}

/// The second layer holds the identity, which takes up what a change of sign leaves.
fn reorient(rng: &mut ChaCha8Rng) -> Pair {
    let mut widths = widths(rng);
    widths[2] = widths[1] + rng.random_range(1..=3);
    let n = widths[1];
    let a = edit(&random_network(rng, &widths), |l, i, j, x| match l {
        1 if i < n && j < n => {
            if i == j {
                Rational::ONE
            } else {
                Rational::ZERO
            }
        }
        1 if i < n => x.abs(),
        _ => x,
    });
    let unit = rng.random_range(n..widths[2]);
    let (second, third) = (&a.layers()[1], &a.layers()[2]);
    // The identity neurons have biases of their own, which the output bias makes up for.
    let b = edit(&a, |l, i, j, x| match (l, i, j) {
        (1, i, _) if i == unit => -x,
        (2, i, j) if j < n => &x + &(&third.weight()[(i, unit)] * &second.weight()[(unit, j)]),
        (2, i, j) if j == widths[2] => {
            let shift: Rational = (0..n).map(|k| &second.weight()[(unit, k)] * &second.bias()[k]).sum();
            &x + &(&third.weight()[(i, unit)] * &(&second.bias()[unit] - &shift))
        }
        _ => x,
    });
    let b = disguised(rng, &b);
    (a, b)
}

/// One weight or bias is off by a little.
fn perturbed(rng: &mut ChaCha8Rng, bias: bool) -> Pair {
    let mut widths = widths(rng);
    widths[2] = widths[2].max(2);
    let a = rigid(rng, &widths);
    let layer = rng.random_range(0..3);
    let unit = rng.random_range(0..widths[layer + 1]);
    let column = if bias { widths[layer] } else { rng.random_range(0..widths[layer]) };
    let by = Rational::dyadic(1, -rng.random_range(6..30));
    let b = edit(&a, |l, i, j, x| if (l, i, j) == (layer, unit, column) { &x + &by } else { x });
    let b = disguised(rng, &b);
    (a, b)
}

fn perturb(rng: &mut ChaCha8Rng) -> Pair {
    perturbed(rng, false)
}

fn perturb_bias(rng: &mut ChaCha8Rng) -> Pair {
    perturbed(rng, true)
}

/// A first-layer neuron is turned around.
fn orient_sign(rng: &mut ChaCha8Rng) -> Pair {
    let mut widths = widths(rng);
    widths[2] = widths[2].max(2);
    let a = rigid(rng, &widths);
    let unit = rng.random_range(0..widths[1]);
    let b = edit(&a, |l, i, _, x| if (l, i) == (0, unit) { -x } else { x });
    let b = disguised(rng, &b);
    (a, b)
}

/// One weight of full length differs by one unit in its last place.
fn one_ulp(rng: &mut ChaCha8Rng) -> Pair {
    let mut widths = widths(rng);
    widths[2] = widths[2].max(2);
    let short = rigid(rng, &widths);
    let mut long = |x: &Rational| {
        let digits: f64 = rng.random();
        Rational::from_f64(x.to_f64() * (1.0 + digits / 1024.0)).unwrap()
    };
    let a = edit(&short, |_, _, _, x| long(&x));
    let layer = rng.random_range(0..3);
    let (unit, column) = (rng.random_range(0..widths[layer + 1]), rng.random_range(0..widths[layer]));
    let next = |x: &Rational| Rational::from_f64(f64::from_bits(x.to_f64().to_bits() + 1)).unwrap();
    let b = edit(&a, |l, i, j, x| if (l, i, j) == (layer, unit, column) { next(&x) } else { x });
    let b = disguised(rng, &b);
    (a, b)
}

/// A second-layer neuron that is active in a tiny corner only is missing.
fn almost_dead(rng: &mut ChaCha8Rng) -> Pair {
    let mut widths = widths(rng);
    widths[2] = widths[2].max(2);
    let size = Rational::dyadic(1, -rng.random_range(10..40));
    let last = widths[2] - 1;
    let a = edit(&rigid(rng, &widths), |l, i, j, x| match (l, i) {
        (1, i) if i == last && j < widths[1] => -x.abs(),
        (1, i) if i == last => size.clone(),
        _ => x,
    });
    let b = edit(&a, |l, i, j, x| if (l, i, j) == (1, last, widths[1]) { -x } else { x });
    let b = disguised(rng, &b);
    (a, b)
}

/// A network whose hidden layer `at` begins with neurons `y`, `z` of equal outgoing weights, and one that has
/// `relu(max(y, z)) + relu(min(y, z))` in their place, by one more layer. Equal on `[-2, 2]^n`.
pub fn sorted_pair(rng: &mut ChaCha8Rng, widths: &[usize], at: usize) -> [Network; 2] {
    const SHIFT: f64 = 4096.0;
    let mut number = || f64::from(rng.random_range(-64..=64)) / 64.0;
    let mut layers: Vec<(Matrix, Vec<f64>)> = widths
        .windows(2)
        .map(|w| (Matrix::from_fn(w[1], w[0], |_, _| number()), (0..w[1]).map(|_| number()).collect()))
        .collect();
    let behind = &layers[at + 1].0;
    layers[at + 1].0 =
        Matrix::from_fn(behind.rows(), behind.cols(), |i, j| behind[(i, if j == 1 { 0 } else { j })]);
    let network = |layers: &[(Matrix, Vec<f64>)]| {
        let layer = |(l, (weight, bias)): (usize, &(Matrix, Vec<f64>))| {
            let activation = if l + 1 == layers.len() { Activation::Identity } else { Activation::Relu };
            Layer::new(weight.clone(), bias.clone(), activation)
        };
        Network::new(layers.iter().enumerate().map(layer).collect()).unwrap()
    };
    let a = network(&layers);
    let (weight, bias) = layers[at].clone();
    let n = weight.rows();
    // y and z are carried shifted, the last neuron is relu(z - y).
    let row = |i: usize, j: usize| if i < n { weight[(i, j)] } else { weight[(1, j)] - weight[(0, j)] };
    let shifted = (0..n).map(|i| if i < 2 { bias[i] + SHIFT } else { bias[i] });
    layers[at] = (Matrix::from_fn(n + 1, weight.cols(), row), shifted.chain([bias[1] - bias[0]]).collect());
    let sort = |i: usize, j: usize| match (i, j) {
        (0, j) if j == n => 1.0,
        (1, j) if j == n => -1.0,
        (i, j) => f64::from(u8::from(i == j)),
    };
    let back = (0..n).map(|i| if i < 2 { -SHIFT } else { 0.0 }).collect();
    layers.insert(at + 1, (Matrix::from_fn(n, n + 1, sort), back));
    [a, network(&layers)]
}

/// Pairs of equal functions.
pub const EQUAL: [Kind; 8] = [
    ("permscale", permscale),
    ("deep_permscale", deep_permscale),
    ("translate", translate),
    ("flip", flip),
    ("linear_gl", linear_gl),
    ("dead", dead),
    ("split", split_neuron),
    ("reorient", reorient),
];

/// Pairs of different functions.
pub const DIFFERENT: [Kind; 7] = [
    ("translate_too_far", translate_too_far),
    ("flip_wrong", flip_wrong),
    ("perturb", perturb),
    ("perturb_bias", perturb_bias),
    ("orient_sign", orient_sign),
    ("one_ulp", one_ulp),
    ("almost_dead", almost_dead),
];
