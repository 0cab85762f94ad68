//! The functional dimension against an explicit Jacobian over the rationals, and its bounds on random
//! networks.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use fiberscope::algebra::rational::rank_at_most;
use fiberscope::complex::ComplexOptions;
use fiberscope::core::{Activation, Domain, Layer, Matrix, Network, Rational, Sign};
use fiberscope::dimension::ntk::{Kernel, rank_float64};
use fiberscope::dimension::{
    Coverage, DimensionError, DimensionOptions, FunctionalDimension, RegionSample, full_functional_dimension,
    functional_dimension, list_regions, sample_regions,
};
use fiberscope::limit::Deadline;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn network(widths: &[usize], mut number: impl FnMut() -> f64) -> Network {
    let layers = widths.windows(2).enumerate().map(|(l, pair)| {
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| number());
        let bias = (0..pair[1]).map(|_| number()).collect();
        let activation = if l + 2 == widths.len() { Activation::Identity } else { Activation::Relu };
        Layer::new(weight, bias, activation)
    });
    Network::new(layers.collect()).unwrap()
}

/// Short dyadic numbers, with zeros and repetitions: parameters that are not generic.
fn special(rng: &mut ChaCha8Rng) -> f64 {
    f64::from(rng.random_range(-3i8..=3)) / 2.0
}

fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    rng.random_range(-1.0..1.0)
}

fn exact(x: f64) -> Rational {
    Rational::from_f64(x).unwrap()
}

/// Row `(x, o)` of the parameter Jacobian, from the definition.
fn jacobian_rows(network: &Network, x: &[f64]) -> Vec<Vec<Rational>> {
    let x: Vec<Rational> = x.iter().map(|&x| exact(x)).collect();
    let signs = network.sign_vector_exact(&x).unwrap();
    let masks: Vec<Vec<bool>> =
        signs.layers().map(|layer| layer.iter().map(|&sign| sign == Sign::Positive).collect()).collect();
    let exact_network = network.to_exact();
    let layers = exact_network.layers();
    let mut inputs = vec![x];
    for (l, mask) in masks.iter().enumerate() {
        let layer = &layers[l];
        let next = (0..layer.width()).map(|i| {
            let z: Rational = layer.weight().row(i).iter().zip(&inputs[l]).map(|(w, h)| w * h).sum();
            if mask[i] { &z + &layer.bias()[i] } else { Rational::ZERO }
        });
        let next = next.collect();
        inputs.push(next);
    }
    let row = |output: usize| {
        let last = layers.len() - 1;
        let mut signal: Vec<Rational> = (0..layers[last].width())
            .map(|o| if o == output { Rational::ONE } else { Rational::ZERO })
            .collect();
        let mut parts = Vec::new();
        for l in (0..layers.len()).rev() {
            let mut part = Vec::new();
            for b in &signal {
                part.extend(inputs[l].iter().map(|h| b * h));
                part.push(b.clone());
            }
            parts.push(part);
            if l > 0 {
                signal = (0..layers[l].input_width())
                    .map(|j| {
                        let sum: Rational =
                            signal.iter().enumerate().map(|(i, b)| b * &layers[l].weight()[(i, j)]).sum();
                        if masks[l - 1][j] { sum } else { Rational::ZERO }
                    })
                    .collect();
            }
        }
        parts.into_iter().rev().flatten().collect()
    };
    (0..network.output_width()).map(row).collect()
}

fn oracle(network: &Network, points: &Matrix) -> usize {
    let rows: Vec<Vec<Rational>> = points.iter_rows().flat_map(|x| jacobian_rows(network, x)).collect();
    // An upper bound that is never reached makes the rank come from elimination over the rationals.
    rank_at_most(&Matrix::from_rows(&rows).unwrap(), usize::MAX)
}

fn dimension(network: &Network, points: &Matrix, seed: u64) -> FunctionalDimension {
    let options = DimensionOptions::new().seed(seed).generic(true);
    functional_dimension(network, points, &options).unwrap()
}

fn check_bounds(found: &FunctionalDimension, rank: usize, what: &str) {
    for (name, bound) in found.bounds.named() {
        assert!(bound.is_none_or(|bound| rank <= bound), "{what}: rank {rank}, bound {name} {bound:?}");
    }
    let deficit = found.deficit.as_ref().unwrap();
    assert_eq!(deficit.total(), found.parameters - rank, "{what}: {deficit:?}");
}

const WIDTHS: &[&[usize]] = &[
    &[1, 3, 1],
    &[2, 1],
    &[2, 3, 2],
    &[1, 4, 3],
    &[3, 2, 3, 1],
    &[2, 3, 3, 2],
    &[1, 2, 4, 1],
    &[2, 4, 1, 3, 1],
    &[1, 2, 2, 2, 2, 1],
];

#[test]
fn agrees_with_elimination_over_the_rationals() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let (mut cases, mut closed) = (0, 0);
    for round in 0..30 {
        for widths in WIDTHS {
            let generic = round % 2 == 0;
            let net = network(widths, || if generic { uniform(&mut rng) } else { special(&mut rng) });
            let count = rng.random_range(1..12);
            let points = Matrix::from_fn(count, widths[0], |_, _| {
                if generic { 2.0 * uniform(&mut rng) } else { special(&mut rng) }
            });
            let found = dimension(&net, &points, round);
            let rank = oracle(&net, &points);
            let what = format!("round {round}, widths {widths:?}, {count} points");
            assert_eq!(found.rank.value(), Some(rank), "{what}");
            assert!(found.rank.upper >= rank, "{what}");
            assert!(found.generic.unwrap().lower >= rank, "{what}: generic parameters have the largest rank");
            check_bounds(&found, rank, &what);
            cases += 1;
            closed += usize::from(found.rank.upper == rank);
        }
    }
    assert!(cases >= 270 && closed > cases / 2, "{closed} of {cases} are proved");
}

#[test]
fn bounds_hold_on_thousands_of_networks_of_any_widths() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    for case in 0..3000 {
        let depth = rng.random_range(2..6);
        let widths: Vec<usize> = (0..=depth).map(|_| rng.random_range(1..6)).collect();
        // Shifted biases make dead and linear neurons frequent.
        let shift = rng.random_range(-0.6..0.9);
        let net = network(&widths, || uniform(&mut rng) + shift);
        let count = rng.random_range(1..60);
        let scale = if case % 3 == 0 { 0.1 } else { 2.0 };
        let points = Matrix::from_fn(count, widths[0], |_, j| match (case % 5, j) {
            (1, 1..) => 0.5,
            _ => scale * uniform(&mut rng),
        });
        let found = dimension(&net, &points, case);
        let rank = found.rank.value().unwrap();
        check_bounds(&found, rank, &format!("case {case}, widths {widths:?}, {count} points"));
        let generic = found.generic.unwrap().lower;
        assert!(generic >= rank && generic <= found.rank.upper, "case {case}");
    }
}

#[test]
fn float64_singular_values_give_the_same_rank_at_initialisation() {
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    for (case, widths) in [&[1, 10, 10, 1][..], &[2, 8, 8, 1], &[3, 6, 6, 2], &[4, 12, 3]].iter().enumerate()
    {
        for seed in 0..6 {
            let net = network(widths, || 1.5 * uniform(&mut rng));
            let points = Matrix::from_fn(40, widths[0], |_, _| 2.0 * uniform(&mut rng));
            let found = dimension(&net, &points, seed);
            let values = Kernel::new(&net, &points).unwrap().singular_values(1 << 30).unwrap();
            let float = rank_float64(&values, found.rows, found.parameters);
            assert_eq!(found.rank.value(), Some(float), "case {case}, seed {seed}");
        }
    }
}

#[test]
fn the_formula_of_theorem_1_needs_its_condition() {
    // (1, 3 | 1), all active on the batch: the formula gives 10 - 9 = 1, the rank is 2.
    let net = network(&[1, 3, 1], || 1.0);
    let points = Matrix::from_rows(&[[1.0], [2.0], [3.0]]).unwrap();
    let found = dimension(&net, &points, 1);
    assert_eq!(found.parameters as i64 - 9, 1);
    assert_eq!((found.rank.value(), found.rank.upper, found.bounds.theorem_1), (Some(2), 2, None));
}

#[test]
fn the_stabiliser_of_1_4_3_is_two_dimensional() {
    // Four linear neurons between one input and three outputs: GL_4 (16 dimensions) and 4 translations act on
    // 8 + 15 parameters with orbits of dimension 23 - 6 = 17, so the stabiliser has dimension 3 of 20: two
    // dimensions of it in GL_4 and one shared with the translations.
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let net = network(&[1, 4, 3], || 1.0 + 0.5 * uniform(&mut rng));
    let points = Matrix::from_rows(&[[1.0], [2.0], [3.0]]).unwrap();
    let found = dimension(&net, &points, 1);
    assert_eq!((found.parameters, found.rank.value()), (23, Some(6)));
    // Were the stabiliser of GL_4 trivial, D - 16 = 7 would be the rank.
    assert!(found.parameters - 16 > found.rank.lower);
    assert_eq!(found.bounds.symmetry, 6);
}

#[test]
fn dead_layers_count_once_per_output() {
    // On the left of 0 the first layer is dead, and only the two output biases matter there.
    let hidden = Layer::new(Matrix::from_rows(&[[1.0]]).unwrap(), vec![0.0], Activation::Relu);
    let output =
        Layer::new(Matrix::from_rows(&[[1.0], [2.0]]).unwrap(), vec![0.5, 0.25], Activation::Identity);
    let net = Network::new(vec![hidden, output]).unwrap();
    let points = Matrix::from_rows(&[[-1.0], [-2.0], [-3.0]]).unwrap();
    let found = dimension(&net, &points, 0);
    assert_eq!((found.rank.value(), found.bounds.regions, found.rank.upper), (Some(2), 2, 2));
    check_bounds(&found, 2, "dead");
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads_or_on_the_seed() {
    let mut rng = ChaCha8Rng::seed_from_u64(14);
    let net = network(&[4, 30, 30, 2], || uniform(&mut rng));
    let points = Matrix::from_fn(300, 4, |_, _| 2.0 * uniform(&mut rng));
    let run = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let found = pool.install(|| dimension(&net, &points, seed));
        (found.rank, found.generic.unwrap().lower)
    };
    assert_eq!(run(1, 5), run(3, 5));
    assert_eq!(run(1, 5).0.lower, run(1, 6).0.lower);
}

#[test]
fn the_full_dimension_of_generic_one_hidden_layer_networks_misses_the_scalings_only() {
    // |x|: widths (1, 2, 1), regions x < 0 and x > 0.
    let net = network(&[1, 2, 1], || 1.0);
    let hidden = Layer::new(Matrix::from_rows(&[[1.0], [-1.0]]).unwrap(), vec![0.0, 0.0], Activation::Relu);
    let abs = Network::new(vec![hidden, net.layers()[1].clone()]).unwrap();
    let signs = ["+-", "-+"].map(|text| text.parse().unwrap());
    let complete = RegionSample::complete(&abs, &signs);
    let found = full_functional_dimension(&abs, &complete, &DimensionOptions::default());
    assert_eq!((found.regions, found.coverage, found.rank.value()), (2, Coverage::Complete, Some(4)));

    let mut rng = ChaCha8Rng::seed_from_u64(15);
    for widths in [&[2, 5, 1][..], &[3, 4, 2], &[2, 4, 3, 1]] {
        let net = network(widths, || uniform(&mut rng));
        let sample = sample_regions(&net, &Domain::Space, 4000, &DimensionOptions::new().seed(1)).unwrap();
        let found = full_functional_dimension(&net, &sample, &DimensionOptions::default());
        let hidden: usize = widths[1..widths.len() - 1].iter().sum();
        assert!(found.rank.lower <= net.parameter_count() - hidden);
        if widths.len() == 3 {
            assert_eq!(found.rank.lower, net.parameter_count() - hidden, "{widths:?}");
        }
        assert_eq!(found.upper, net.parameter_count() - hidden);
        // Rows on a batch of sampled points cannot have a larger rank.
        let points = Matrix::from_fn(200, widths[0], |_, _| 3.0 * uniform(&mut rng));
        assert!(dimension(&net, &points, 0).rank.lower <= found.rank.lower);
    }
}

/// The full dimension on the regions of the complex is the rank of the explicit Jacobian, over the rationals,
/// at points of every region.
#[test]
fn the_complex_gives_a_decisive_set() {
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    let limits = ComplexOptions::new().regions(500);
    for (widths, domain) in [
        (&[1, 4, 3, 1][..], Domain::Space),
        (&[2, 3, 2, 1], Domain::Space),
        (&[2, 4, 2], Domain::from_bounds(&[(-1.0, 1.0); 2]).unwrap()),
        (&[5, 2, 2, 1], Domain::Space),
    ] {
        for round in 0..4 {
            let net = network(widths, || if round % 2 == 0 { uniform(&mut rng) } else { special(&mut rng) });
            let listed = list_regions(&net, &domain, &limits).unwrap().unwrap();
            let found = full_functional_dimension(&net, &listed, &DimensionOptions::default());
            let what = format!("{widths:?}, round {round}");
            assert_eq!(found.coverage, Coverage::Complete, "{what}");
            // Regions that many random points see are all listed, and the points' rank is no larger.
            let sample = sample_regions(&net, &domain, 3000, &DimensionOptions::new().seed(round)).unwrap();
            assert!(sample.count() <= listed.count(), "{what}");
            let points = Matrix::from_fn(60, widths[0], |_, _| {
                let reach = if domain == Domain::Space { 2f64.powi(rng.random_range(-3..8)) } else { 1.0 };
                reach * uniform(&mut rng)
            });
            let rank = oracle(&net, &points);
            assert!(rank <= found.rank.lower && found.rank.lower <= found.upper, "{what}: {rank}, {found:?}");
            if sample.count() == listed.count() {
                let by_sampling = full_functional_dimension(&net, &sample, &DimensionOptions::default());
                assert_eq!(by_sampling.rank.lower, found.rank.lower, "{what}");
            }
        }
    }
    let wide = network(&[6, 40, 40, 1], || uniform(&mut rng));
    assert!(list_regions(&wide, &Domain::Space, &limits).unwrap().is_none(), "too many to walk");
    let flat = Domain::from_bounds(&[(1.0, 1.0)]).unwrap();
    assert!(list_regions(&network(&[1, 2, 1], || 1.0), &flat, &limits).is_err());
}

/// Many rows, several outputs, dependent rows and independent points: every way the rank is computed agrees
/// with singular values.
#[test]
fn larger_batches_agree_with_singular_values() {
    let mut rng = ChaCha8Rng::seed_from_u64(22);
    for (widths, count, repeated) in [
        (&[6, 12, 12, 1][..], 230, 0),
        (&[4, 16, 16, 3], 150, 0),
        (&[4, 16, 16, 3], 150, 60),
        (&[20, 9, 8, 3], 21, 0),
        (&[20, 9, 8, 3], 15, 4),
        (&[3, 30, 1], 300, 100),
    ] {
        let net = network(widths, || uniform(&mut rng));
        let mut points = Matrix::from_fn(count, widths[0], |_, _| 2.0 * uniform(&mut rng));
        for i in 0..repeated {
            let copy = points.row(count - 1 - i).to_vec();
            points.row_mut(i).copy_from_slice(&copy);
        }
        let found = dimension(&net, &points, 3);
        let values = Kernel::new(&net, &points).unwrap().singular_values(1 << 30).unwrap();
        let float = rank_float64(&values, found.rows, found.parameters);
        assert_eq!(found.rank.value(), Some(float), "{widths:?}, {count} points: {:?}", found.rank);
    }
}

#[test]
fn bad_batches_are_refused() {
    let net = network(&[2, 2, 1], || 1.0);
    let refuse = |points: Matrix| {
        functional_dimension(&net, &points, &DimensionOptions::default()).unwrap_err().to_string()
    };
    assert_eq!(
        refuse(Matrix::from_entries(0, 2, vec![]).unwrap()),
        "the data have no rows; expected at least one point"
    );
    assert_eq!(
        refuse(Matrix::from_entries(1, 3, vec![1.0; 3]).unwrap()),
        "expected 2 columns, as the network has inputs, found 3"
    );
    assert_eq!(
        refuse(Matrix::from_entries(2, 2, vec![1.0, 2.0, f64::NAN, 0.0]).unwrap()),
        "row 2, column 1 is NaN; expected a finite number"
    );
}

#[test]
fn time_and_memory_limits_leave_a_certified_interval() {
    let mut rng = ChaCha8Rng::seed_from_u64(16);
    // Several times as many independent points as the rank: columns of the Jacobian are eliminated.
    let net = network(&[3, 16, 16, 1], || uniform(&mut rng));
    let points = Matrix::from_fn(2000, 3, |_, _| 2.0 * uniform(&mut rng));
    let unlimited = dimension(&net, &points, 0);
    let (full, rows) = (unlimited.rank.lower, unlimited.bounds.regions);
    assert!(full > 256 && rows > 2 * full, "rank {full}, {rows} rows");
    // Enough for one panel of 256 columns.
    let limited = DimensionOptions::new().memory(rows * 256 * 21);
    let found = functional_dimension(&net, &points, &limited).unwrap();
    assert_eq!((found.rank.value(), found.rank.lower), (None, 256));
    assert!(found.rank.upper >= full && found.deficit.is_none());
    let late = DimensionOptions::new().deadline(Deadline::after(Some(std::time::Duration::ZERO)));
    let tight = DimensionOptions::new().memory(1 << 20);
    // The rank of the second network is near the number of rows: its kernel is eliminated.
    let wide = network(&[3, 40, 40, 1], || uniform(&mut rng));
    let few = points.select_rows(&(0..600).collect::<Vec<_>>());
    for (net, points) in [(&net, &points), (&wide, &few)] {
        let found = functional_dimension(net, points, &tight).unwrap();
        assert_eq!((found.rank.value(), found.rank.lower), (None, 0));
        let found = functional_dimension(net, points, &late);
        assert!(matches!(found, Err(DimensionError::Limit(_))));
    }
    assert!(dimension(&wide, &few, 0).rank.value().is_some_and(|rank| rank > 512));
}
