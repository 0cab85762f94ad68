//! The functional dimension against an explicit Jacobian over the rationals, and its bounds on random
//! networks.
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

mod stabilisers {
    use fiberscope::dimension::{
        DimensionOptions, HiddenGroup, LayerStates, NeuronState, functional_dimension, orbit_dimension,
        roughly_monotonic,
    };
    use fiberscope::{Activation, Deadline, Layer, Matrix, Network};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn random(widths: &[usize], seed: u64) -> Network {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut number = || rng.random_range(-8i32..=8) as f64 / 4.0;
        let layer = |(l, pair): (usize, &[usize])| {
            let activation = if l + 2 == widths.len() { Activation::Identity } else { Activation::Relu };
            Layer::new(
                Matrix::from_fn(pair[1], pair[0], |_, _| number()),
                (0..pair[1]).map(|_| number()).collect(),
                activation,
            )
        };
        Network::new(widths.windows(2).enumerate().map(layer).collect()).unwrap()
    }

    /// The dimension of the orbit by brute force: differences of parameters under group elements near the
    /// identity, `g = 1 + eps X`, and the number of their singular values that are not rounding, by
    /// elimination with pivots.
    fn brute_force(network: &Network, linear: &dyn Fn(usize, usize) -> bool, seed: u64) -> usize {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let widths = network.widths();
        let d = widths.len() - 1;
        let flat = |layers: &[(Vec<Vec<f64>>, Vec<f64>)]| -> Vec<f64> {
            layers
                .iter()
                .flat_map(|(w, b)| w.iter().flatten().chain(b).copied().collect::<Vec<_>>())
                .collect()
        };
        let layers: Vec<(Vec<Vec<f64>>, Vec<f64>)> = network
            .layers()
            .iter()
            .map(|layer| (layer.weight().iter_rows().map(<[f64]>::to_vec).collect(), layer.bias().to_vec()))
            .collect();
        let total: usize = widths[1..d].iter().map(|n| n * n).sum();
        let eps = 1e-7;
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for _ in 0..total + 3 {
            // g_l = 1 + eps X_l, whose inverse is 1 - eps X_l up to eps^2.
            let x: Vec<Vec<Vec<f64>>> = (0..=d)
                .map(|l| {
                    let hidden = l > 0 && l < d;
                    (0..widths[l])
                        .map(|p| {
                            (0..widths[l])
                                .map(|q| {
                                    let free = hidden && (p == q || linear(l - 1, p) && linear(l - 1, q));
                                    if free { rng.random_range(-1.0..1.0) } else { 0.0 }
                                })
                                .collect()
                        })
                        .collect()
                })
                .collect();
            let times = |a: &[Vec<f64>], b: &[Vec<f64>]| -> Vec<Vec<f64>> {
                a.iter()
                    .map(|row| {
                        (0..b[0].len())
                            .map(|c| row.iter().zip(b).map(|(r, line)| r * line[c]).sum())
                            .collect()
                    })
                    .collect()
            };
            let moved: Vec<(Vec<Vec<f64>>, Vec<f64>)> = layers
                .iter()
                .enumerate()
                .map(|(l, (w, b))| {
                    let g = |l: usize, sign: f64| -> Vec<Vec<f64>> {
                        x[l].iter()
                            .enumerate()
                            .map(|(p, row)| {
                                row.iter()
                                    .enumerate()
                                    .map(|(q, v)| f64::from(u8::from(p == q)) + sign * eps * v)
                                    .collect()
                            })
                            .collect()
                    };
                    let weight = times(&times(&g(l + 1, 1.0), w), &g(l, -1.0));
                    let column: Vec<Vec<f64>> = b.iter().map(|v| vec![*v]).collect();
                    (weight, times(&g(l + 1, 1.0), &column).into_iter().map(|row| row[0]).collect())
                })
                .collect();
            rows.push(flat(&moved).iter().zip(flat(&layers)).map(|(a, b)| (a - b) / eps).collect());
        }
        let mut rank = 0;
        while rank < rows.len() {
            let best = (rank..rows.len()).flat_map(|r| (0..rows[0].len()).map(move |c| (r, c)));
            let Some((r, c)) = best.max_by(|a, b| rows[a.0][a.1].abs().total_cmp(&rows[b.0][b.1].abs()))
            else {
                break;
            };
            if rows[r][c].abs() < 1e-4 {
                break;
            }
            rows.swap(rank, r);
            for other in rank + 1..rows.len() {
                let factor = rows[other][c] / rows[rank][c];
                for k in 0..rows[0].len() {
                    rows[other][k] -= factor * rows[rank][k];
                }
            }
            rank += 1;
        }
        rank
    }

    #[test]
    fn orbits_have_the_dimension_that_brute_force_finds() {
        for (widths, expected) in [
            (vec![1, 4, 3], 2),
            (vec![3, 3, 2], 0),
            (vec![2, 3, 2], 0),
            (vec![1, 3, 1], 2),
            (vec![2, 2, 2, 1], 0),
            (vec![1, 2, 3, 2], 0),
            (vec![1, 4, 4, 3], 1),
            (vec![1, 5, 1], 12),
        ] {
            let network = random(&widths, 3);
            let found = orbit_dimension(&network, HiddenGroup::Hidden, &[], &Deadline::NEVER).unwrap();
            assert_eq!(found.orbit.lower, found.orbit.upper);
            assert_eq!(found.orbit.lower, brute_force(&network, &|_, _| true, 1), "{widths:?}");
            let group: usize = widths[1..widths.len() - 1].iter().map(|n| n * n).sum();
            assert_eq!((found.dimension, found.stabiliser().lower), (group, expected), "{widths:?}");
            if roughly_monotonic(&widths).0 {
                assert_eq!(expected, 0, "Proposition A.8 (i)");
            }
            let scalings = orbit_dimension(&network, HiddenGroup::Scalings, &[], &Deadline::NEVER).unwrap();
            assert_eq!(scalings.orbit.upper, brute_force(&network, &|_, _| false, 1));
        }
        // The other half of Proposition A.8 covers widths 1, 4, 3, whose stabiliser is not trivial.
        assert_eq!(roughly_monotonic(&[1, 4, 3]), (false, true));
    }

    /// Proposition A.10: the group of a mixed network, and the functional dimension it leaves.
    #[test]
    fn mixed_groups_bound_the_functional_dimension() {
        let mut network = random(&[2, 3, 3, 1], 8);
        // Two neurons of the first layer are active on the data.
        let first = network.layers()[0].clone();
        let bias = [first.bias()[0] + 30.0, first.bias()[1] + 40.0, first.bias()[2]].to_vec();
        let mut layers = network.layers().to_vec();
        layers[0] = Layer::new(first.weight().clone(), bias, Activation::Relu);
        network = Network::new(layers).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let points = Matrix::from_fn(60, 2, |_, _| rng.random_range(-3.0..3.0));
        let found = functional_dimension(&network, &points, &DimensionOptions::new()).unwrap();
        let states: &[LayerStates] = &found.states;
        assert!(states[0].count(NeuronState::Active) >= 2);
        let linear = |l: usize, unit: usize| states[l].neurons[unit] == NeuronState::Active;
        let mixed = orbit_dimension(&network, HiddenGroup::Mixed, states, &Deadline::NEVER).unwrap();
        assert_eq!(mixed.orbit.lower, brute_force(&network, &linear, 2));
        assert!(found.rank.upper + mixed.orbit.lower <= network.parameter_count());
    }
}
