//! Rewriting on a thousand random networks with duplicated, opposite, linear and dead neurons: what is
//! written is exactly the given function, or the answer says that it is not; equal fingerprints are equal
//! functions; alignment recovers real scalings.

use crate::common;

use common::{check_same, rng, shuffled};
use fiberscope::align::{AlignOptions, align};
use fiberscope::canonical::{CoveredClass, canonicalize, canonicalize_exact};
use fiberscope::check::{Outcome, check};
use fiberscope::equivalence::{EquivalenceOptions, Verdict, decide};
use fiberscope::reduce::{ReduceOptions, reduce, reduce_in_doubles};
use fiberscope::{Activation, Deadline, Domain, Layer, Matrix, Move, Network, Rational};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// How long the numbers of a network are.
#[derive(Clone, Copy, Debug)]
enum Numbers {
    /// Small integers over 8.
    Short,
    /// Single precision.
    Single,
    /// Double precision.
    Double,
}

fn number(rng: &mut ChaCha8Rng, numbers: Numbers) -> f64 {
    match numbers {
        Numbers::Short => f64::from(rng.random_range(-12..=12i32)) / 8.0,
        Numbers::Single => f64::from(rng.random_range(-1.0..1.0f64) as f32),
        Numbers::Double => rng.random_range(-1.0..1.0),
    }
}

/// A number as its format stores it.
fn stored(x: f64, numbers: Numbers) -> f64 {
    match numbers {
        Numbers::Single => f64::from(x as f32),
        Numbers::Short | Numbers::Double => x,
    }
}

/// Rows with multiples of others by factors that are no powers of two, opposite ones, linear and dead ones.
fn redundant(rng: &mut ChaCha8Rng, widths: &[usize], numbers: Numbers) -> Network {
    let last = widths.len() - 2;
    let layers = widths.windows(2).enumerate().map(|(l, ends)| {
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for i in 0..ends[1] {
            let fresh: Vec<f64> = (0..=ends[0]).map(|_| number(rng, numbers)).collect();
            let earlier = if i == 0 || l == last { None } else { Some(rows[rng.random_range(0..i)].clone()) };
            let factor = [2.0, 3.0, -1.0, -3.0, 5.0, -0.5, 7.0][rng.random_range(0..7)];
            rows.push(match (rng.random_range(0..6), earlier) {
                (0 | 1, Some(row)) => row.iter().map(|x| stored(x * factor, numbers)).collect(),
                (2, _) if l < last => fresh.iter().map(|x| x.abs()).collect(),
                (3, _) if l < last => fresh.iter().map(|x| -x.abs()).collect(),
                _ => fresh,
            });
        }
        let weight = Matrix::from_fn(ends[1], ends[0], |i, j| rows[i][j]);
        let bias = rows.iter().map(|row| row[ends[0]]).collect();
        Layer::new(weight, bias, if l == last { Activation::Identity } else { Activation::Relu })
    });
    Network::new(layers.collect()).unwrap()
}

fn shape(rng: &mut ChaCha8Rng) -> Vec<usize> {
    let depth = rng.random_range(2..=3);
    let mut widths = vec![rng.random_range(1..=3)];
    widths.extend((1..depth).map(|_| rng.random_range(2..=8)));
    widths.push(rng.random_range(1..=3));
    widths
}

fn domain_for(rng: &mut ChaCha8Rng, inputs: usize) -> Domain {
    if rng.random() { Domain::Space } else { Domain::from_bounds(&vec![(-1.0, 1.0); inputs]).unwrap() }
}

/// The networks of the laws: a fixed seed gives the same.
fn networks(count: u64) -> impl Iterator<Item = (u64, Network, Domain, ChaCha8Rng)> {
    (0..count).map(|seed| {
        let mut rng = rng(seed);
        let numbers = [Numbers::Short, Numbers::Single, Numbers::Double][seed as usize % 3];
        let widths = shape(&mut rng);
        let network = redundant(&mut rng, &widths, numbers);
        let domain = domain_for(&mut rng, widths[0]);
        (seed, network, domain, rng)
    })
}

#[test]
fn what_a_reduction_writes_is_exactly_the_function() {
    let (mut smaller, mut left, mut rational, mut scaled) = (0, 0, 0, 0);
    for (seed, network, domain, mut rng) in networks(1000) {
        let options = ReduceOptions::default();
        let small = reduce_in_doubles(&network, &domain, &options).unwrap();
        assert!(small.rounding.is_none());
        check_same(&mut rng, &network.to_exact(), &small.moves, &small.network.to_exact(), &domain);
        let certificate = small.certificate(&network, &domain).unwrap();
        assert!(matches!(check(&certificate, &network, &small.network), Outcome::Proved(_)), "seed {seed}");
        smaller += usize::from(small.network.parameter_count() < network.parameter_count());
        let Some(widths) = &small.rational_widths else {
            assert!(small.left.is_empty());
            let plain = reduce(&network.to_exact(), &domain, &options).unwrap().network;
            scaled += usize::from(!plain.to_f64().unwrap().1);
            continue;
        };
        rational += 1;
        left += usize::from(!small.left.is_empty());
        // Rounding reaches these widths, and says what it changed.
        let rounded = reduce_in_doubles(&network, &domain, &options.clone().round(true)).unwrap();
        assert_eq!(&rounded.network.widths(), widths);
        let rounding = rounded.rounding.as_ref().unwrap();
        assert!(rounding.relative.is_positive() && rounding.relative.to_f64() < 2e-16, "seed {seed}");
        assert_eq!(rounding.bound.is_some(), domain != Domain::Space);
        if let Some(certificate) = rounded.certificate(&network, &domain) {
            let outcome = check(&certificate, &network, &rounded.network);
            assert!(matches!(outcome, Outcome::Proved(_)), "seed {seed}: {outcome:?}");
        }
    }
    // Most get smaller; some reductions are doubles only after scaling, and some with no scales.
    let counts = (smaller, scaled, rational, left);
    assert!(smaller > 600 && scaled > 5 && rational > 50 && left > 50, "{counts:?}");
}

#[test]
fn the_decision_procedure_agrees_with_the_reduction() {
    for (seed, network, domain, _) in networks(120) {
        let options = ReduceOptions::default();
        let small = reduce_in_doubles(&network, &domain, &options).unwrap();
        let exactly = EquivalenceOptions::new().exact(true);
        let decision = decide(&network, &small.network, &domain, &exactly).unwrap();
        assert!(matches!(decision.verdict, Verdict::Equivalent { .. }), "seed {seed}: {decision:?}");
    }
}

#[test]
fn equal_fingerprints_are_equal_functions() {
    let mut seen: std::collections::BTreeMap<String, Network> = std::collections::BTreeMap::new();
    let mut pairs = 0;
    for seed in 0..600 {
        let mut rng = rng(seed);
        // Few small numbers, so that different parameters often have one function.
        let widths = [&[1, 2, 1][..], &[1, 2, 2, 1], &[2, 2, 1]][seed as usize % 3];
        let mut number = || f64::from(rng.random_range(-1..=1i32));
        let last = widths.len() - 2;
        let layers = widths.windows(2).enumerate().map(|(l, ends)| {
            let weight = Matrix::from_fn(ends[1], ends[0], |_, _| number());
            let bias = (0..ends[1]).map(|_| number()).collect();
            Layer::new(weight, bias, if l == last { Activation::Identity } else { Activation::Relu })
        });
        let network = Network::new(layers.collect()).unwrap();
        let found = canonicalize(&network, &Domain::Space, &Deadline::NEVER).unwrap();
        let options = EquivalenceOptions::new().exact(true);
        if let Some(other) = seen.get(&found.fingerprint) {
            let decision = decide(&network, other, &Domain::Space, &options).unwrap();
            assert!(matches!(decision.verdict, Verdict::Equivalent { .. }), "seed {seed}");
            pairs += 1;
        }
        seen.insert(found.fingerprint, network);
    }
    assert!(pairs > 100, "{pairs}");
}

#[test]
fn functions_of_one_variable_are_complete() {
    // On a line every pair is decided: fingerprints agree iff the functions do.
    let mut rng = rng(77);
    let mut made: Vec<(Network, String)> = Vec::new();
    for _ in 0..60 {
        let widths = [&[1, 2, 2, 1][..], &[1, 2, 2, 2, 1], &[1, 3, 1]][rng.random_range(0..3)];
        let mut number = || f64::from(rng.random_range(-1..=1i32));
        let last = widths.len() - 2;
        let layers = widths.windows(2).enumerate().map(|(l, ends)| {
            let weight = Matrix::from_fn(ends[1], ends[0], |_, _| number());
            let bias = (0..ends[1]).map(|_| number()).collect();
            Layer::new(weight, bias, if l == last { Activation::Identity } else { Activation::Relu })
        });
        let network = Network::new(layers.collect()).unwrap();
        let found = canonicalize(&network, &Domain::Space, &Deadline::NEVER).unwrap();
        assert!(found.class.is_complete(), "{:?}", found.class);
        made.push((network, found.fingerprint));
    }
    let options = EquivalenceOptions::new().exact(true);
    let mut equal = 0;
    for (i, (a, of_a)) in made.iter().enumerate() {
        for (b, of_b) in &made[..i] {
            let decision = decide(a, b, &Domain::Space, &options).unwrap();
            let same = matches!(decision.verdict, Verdict::Equivalent { .. });
            assert_eq!(same, of_a == of_b, "{a:?} {b:?}");
            equal += usize::from(same);
        }
    }
    assert!(equal > 20, "{equal}");
}

#[test]
fn rank_one_inputs_and_narrow_layers_are_functions_of_one_variable() {
    for seed in 0..40 {
        let mut rng = rng(seed);
        let line = [1.0, -0.5, 0.25];
        let mut first = redundant(&mut rng, &[1, 4, 4, 2], Numbers::Short).into_layers();
        let (weight, bias, activation) = first.remove(0).into_parts();
        // The same function of w x for a row w, and with the input doubled and halved again.
        let spread = |scale: f64| {
            let rows = Matrix::from_fn(4, 3, |i, j| weight[(i, 0)] * line[j] * scale);
            let mut layers = vec![Layer::new(rows, bias.clone(), activation)];
            layers.extend(first.iter().cloned());
            Network::new(layers).unwrap()
        };
        let found = canonicalize(&spread(1.0), &Domain::Space, &Deadline::NEVER).unwrap();
        assert!(found.class.is_complete(), "seed {seed}: {:?}", found.class);
        let mut other = spread(1.0).to_exact();
        for layer in 0..2 {
            let order = shuffled(&mut rng, 4);
            let factors = (0..4).map(|_| Rational::from(rng.random_range(1..9))).collect();
            for each in [Move::Permute { layer, order }, Move::Scale { layer, factors }] {
                each.apply(&mut other, &Domain::Space).unwrap();
            }
        }
        assert_eq!(
            canonicalize_exact(&other, &Domain::Space, &Deadline::NEVER).unwrap().fingerprint,
            found.fingerprint
        );
        let stretched = canonicalize(&spread(2.0), &Domain::Space, &Deadline::NEVER).unwrap();
        if found.class == CoveredClass::OneHiddenLayer {
            assert!(stretched.class.is_complete());
        }
    }
}

/// The network with its neurons permuted and scaled by real factors, rounded to doubles.
fn rescaled(rng: &mut ChaCha8Rng, network: &Network, factors: &[f64]) -> Network {
    let mut layers = network.layers().to_vec();
    for l in 0..layers.len() - 1 {
        let width = layers[l].width();
        let order = shuffled(rng, width);
        let scales: Vec<f64> = (0..width).map(|_| factors[rng.random_range(0..factors.len())]).collect();
        let (rows, next) = (&layers[l], &layers[l + 1]);
        let weight =
            Matrix::from_fn(width, rows.input_width(), |i, j| rows.weight()[(order[i], j)] * scales[i]);
        let bias = (0..width).map(|i| rows.bias()[order[i]] * scales[i]).collect();
        let columns = Matrix::from_fn(next.width(), width, |i, j| next.weight()[(i, order[j])] / scales[j]);
        let next = Layer::new(columns, next.bias().to_vec(), next.activation());
        layers[l] = Layer::new(weight, bias, rows.activation());
        layers[l + 1] = next;
    }
    Network::new(layers).unwrap()
}

fn dense(rng: &mut ChaCha8Rng, widths: &[usize], numbers: Numbers) -> Network {
    let nonzero = || loop {
        let x = number(rng, numbers);
        if x != 0.0 {
            return x;
        }
    };
    Network::from_widths(widths, nonzero).unwrap()
}

#[test]
fn real_scalings_are_recovered_up_to_a_few_units_in_the_last_place() {
    for seed in 0..100 {
        let mut rng = rng(seed);
        let widths: &[usize] = [&[3, 6, 2][..], &[4, 8, 7, 2], &[2, 5, 6, 5, 1]][seed as usize % 3];
        let a = dense(&mut rng, widths, Numbers::Double);
        let b = rescaled(&mut rng, &a, &[0.37, 3.0, 1.0 / 3.0, 1.7e-3, 1.0]);
        let found = align(&a, &b, &AlignOptions::default()).unwrap();
        let relative = found.relative.unwrap();
        assert!(relative.is_positive() && relative.to_f64() < 2e-15, "seed {seed}: {}", relative.to_f64());
        assert!(found.rounded.to_f64() < 2e-16);
        // One by one, as the sentence says.
        for (x, y) in a.layers().iter().zip(found.network.layers()) {
            for (x, y) in x.weight().entries().iter().zip(y.weight().entries()) {
                assert!((x - y).abs() <= 3e-15 * x.abs().max(y.abs()), "seed {seed}: {x} {y}");
            }
        }
    }
}

#[test]
fn exact_factors_are_recovered_exactly() {
    for seed in 0..60 {
        let mut rng = rng(seed);
        let a = dense(&mut rng, &[3, 5, 4, 2], Numbers::Short);
        let mut exact = a.to_exact();
        for layer in 0..2 {
            let order = shuffled(&mut rng, a.widths()[layer + 1]);
            let factors = order
                .iter()
                .map(|_| &Rational::from(rng.random_range(1..20)) / &Rational::from(rng.random_range(1..20)));
            let factors = factors.collect();
            for each in [Move::Permute { layer, order }, Move::Scale { layer, factors }] {
                each.apply(&mut exact, &Domain::Space).unwrap();
            }
        }
        // Only where the scaled network is one of doubles.
        let scales = fiberscope::reduce::scales_to_doubles(&exact).unwrap();
        scales.apply(&mut exact, &Domain::Space).unwrap();
        let (b, lossless) = exact.to_f64().unwrap();
        assert!(lossless);
        let found = align(&a, &b, &AlignOptions::default()).unwrap();
        assert!(found.exact && found.relative.unwrap().is_zero(), "seed {seed}");
        assert_eq!(found.network, a);
        assert!(fiberscope::orbit::find_near(&a, &b, &Deadline::NEVER).unwrap().relative.is_zero());
    }
}

#[test]
fn strangers_and_noise_are_no_relabellings() {
    for seed in 0..30 {
        let mut rng = rng(seed);
        let a = dense(&mut rng, &[3, 6, 5, 2], Numbers::Double);
        let b = dense(&mut rng, &[3, 6, 5, 2], Numbers::Double);
        assert!(fiberscope::orbit::find_near(&a, &b, &Deadline::NEVER).is_none());
        let noisy = a.map(|&w| w + rng.random_range(-0.01..0.01)).unwrap();
        let shaken = rescaled(&mut rng, &noisy, &[0.5, 2.0, 4.0]);
        let found = align(&a, &shaken, &AlignOptions::default()).unwrap();
        assert!(found.exact && found.relative.is_none(), "seed {seed}");
        assert!(found.distance_after < found.distance_before);
        // A relative difference of one part in a hundred of one parameter is no rounding.
        let mut layers = a.layers().to_vec();
        let (weight, bias, activation) = layers.remove(0).into_parts();
        let changed =
            Matrix::from_fn(6, 3, |i, j| weight[(i, j)] * if (i, j) == (2, 1) { 1.01 } else { 1.0 });
        layers.insert(0, Layer::new(changed, bias, activation));
        let changed = Network::new(layers).unwrap();
        assert!(fiberscope::orbit::find_near(&a, &changed, &Deadline::NEVER).is_none());
    }
}
