//! What may be said of two networks: a proved difference is never a yes, except in the two precise senses of
//! rounding, and a tolerance is a question about that number.
use fiberscope::check::{Outcome, check};
use fiberscope::equivalence::{
    Agreement, Decision, EquivalenceOptions, Method, Verdict, coarser_precision, decide,
};
use fiberscope::{Activation, Domain, Evidence, Layer, Matrix, Network, Rational};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn unit(inputs: usize) -> Domain {
    Domain::from_bounds(&vec![(-1.0, 1.0); inputs]).unwrap()
}

fn asked(a: &Network, b: &Network, domain: &Domain, options: &EquivalenceOptions) -> Decision {
    let decision = decide(a, b, domain, options).unwrap();
    let certificate = match &decision.verdict {
        Verdict::Equivalent { certificate }
        | Verdict::EquivalentUpToRounding { certificate, .. }
        | Verdict::Different { certificate, .. } => certificate,
        Verdict::Undecided { .. } => return decision,
    };
    assert!(matches!(check(certificate, a, b), Outcome::Proved(_)));
    assert_eq!(&certificate.domain, domain);
    decision
}

fn in_doubles() -> EquivalenceOptions<'static> {
    EquivalenceOptions::new()
}

fn largest(a: &Network, b: &Network, x: &[Rational]) -> Rational {
    let (y, z) = (a.evaluate_exact(x).unwrap(), b.evaluate_exact(x).unwrap());
    y.iter().zip(&z).map(|(y, z)| (y - z).abs()).max().unwrap()
}

/// `relu(x) + 1000 relu(x - 2)` and `relu(x)`: equal on a box, different without one, whoever answers.
#[test]
fn a_bump_outside_an_imagined_box_is_a_difference() {
    let bumpy =
        Network::from_rows(&[(&[&[1.0], &[1.0]], &[0.0, -2.0]), (&[&[1.0, 1000.0]], &[0.0])]).unwrap();
    let flat = Network::from_rows(&[(&[&[1.0]], &[0.0]), (&[&[1.0]], &[0.0])]).unwrap();
    for without_points in [false, true] {
        let options = if without_points { in_doubles().without(Method::Evaluation) } else { in_doubles() };
        for (a, b) in [(&bumpy, &flat), (&flat, &bumpy)] {
            let everywhere = asked(a, b, &Domain::Space, &options).verdict;
            assert!(matches!(everywhere, Verdict::Different { .. }), "{everywhere:?}");
            assert!(matches!(asked(a, b, &unit(1), &options).verdict, Verdict::Equivalent { .. }));
            let half_line = Domain::orthant(1);
            assert!(matches!(asked(a, b, &half_line, &options).verdict, Verdict::Different { .. }));
        }
    }
}

/// A bound as large as the outputs is no rounding: `2^53 relu(x) - (2^53 - 4096) relu((1 + 2^-52) x)` against
/// `4096 relu(x)`.
#[test]
fn a_bound_as_large_as_the_outputs_is_no_rounding() {
    let huge = 2f64.powi(53);
    let cancelling = Network::from_rows(&[
        (&[&[1.0], &[1.0 + f64::EPSILON]], &[0.0, 0.0]),
        (&[&[huge, -(huge - 4096.0)]], &[0.0]),
    ])
    .unwrap();
    let plain = Network::from_rows(&[(&[&[1.0]], &[0.0]), (&[&[4096.0]], &[0.0])]).unwrap();
    for domain in [Domain::Space, unit(1)] {
        for (a, b) in [(&cancelling, &plain), (&plain, &cancelling)] {
            let verdict = asked(a, b, &domain, &in_doubles()).verdict;
            let Verdict::Different { x, bound, .. } = verdict else { panic!("{verdict:?}") };
            assert!(bound.is_none_or(|bound| bound >= largest(a, b, &x)));
        }
    }
}

/// The zero function has no row to align; the networks are compared as they stand.
#[test]
fn a_tolerance_around_zero() {
    let constant = |y: f64| Network::from_rows(&[(&[&[0.0]], &[y])]).unwrap();
    let options = in_doubles().tolerance(1.0);
    let verdict = asked(&constant(0.0), &constant(0.25), &unit(1), &options).verdict;
    let Verdict::EquivalentUpToRounding { agreement, .. } = verdict else { panic!("{verdict:?}") };
    assert_eq!(agreement.bound(), Some(&Rational::dyadic(1, -2)));
}

/// Outputs that differ by 1/4 everywhere: within 1/4, and within nothing less.
#[test]
fn a_tolerance_is_a_question_about_that_number() {
    let a = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.5, 0.25]), (&[&[1.0, 2.0]], &[0.0])]).unwrap();
    let b = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.5, 0.25]), (&[&[1.0, 2.0]], &[0.25])]).unwrap();
    let within = |tolerance: f64| in_doubles().tolerance(tolerance);
    let (at, below, above) = (0.25, 0.25f64.next_down(), 0.25f64.next_up());
    for tolerance in [at, above, 100.0] {
        let verdict = asked(&a, &b, &unit(1), &within(tolerance)).verdict;
        let Verdict::EquivalentUpToRounding { agreement, differ_at, .. } = verdict else {
            panic!("{verdict:?}")
        };
        assert_eq!(agreement, Agreement::Outputs { bound: Rational::dyadic(1, -2), size: None });
        assert_eq!(differ_at.unwrap().size(), Rational::dyadic(1, -2));
        // Without a box the bound is not proved; but no point is called different for less than was asked.
        let decision = asked(&a, &b, &Domain::Space, &within(tolerance));
        let Verdict::Undecided { difference, bound, .. } = decision.verdict else { panic!("{decision:?}") };
        assert_eq!((difference.unwrap().size(), bound), (Rational::dyadic(1, -2), None));
        assert_eq!(decision.tolerance, Rational::from_f64(tolerance));
    }
    for tolerance in [below, 0.1, 1e-300] {
        for domain in [unit(1), Domain::Space] {
            let verdict = asked(&a, &b, &domain, &within(tolerance)).verdict;
            let Verdict::Different { x, .. } = verdict else { panic!("{verdict:?}") };
            assert!(largest(&a, &b, &x) > Rational::from_f64(tolerance).unwrap());
        }
    }
    for equal in [&unit(1), &Domain::Space] {
        assert!(matches!(asked(&a, &a, equal, &within(1e-300)).verdict, Verdict::Equivalent { .. }));
    }
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = decide(&a, &b, &unit(1), &within(wrong)).unwrap_err().to_string();
        assert!(refused.contains("expected a positive number"), "{refused}");
    }
}

/// Slopes that differ: any tolerance is exceeded far out; on a box the corner decides.
#[test]
fn slopes_that_differ_exceed_every_tolerance_far_out() {
    let a = Network::from_rows(&[(&[&[1.0]], &[0.0]), (&[&[1.0]], &[0.0])]).unwrap();
    let b = Network::from_rows(&[(&[&[1.0]], &[0.0]), (&[&[1.0 + 2f64.powi(-20)]], &[0.0])]).unwrap();
    let within = |tolerance: f64| in_doubles().tolerance(tolerance);
    for tolerance in [1e-9, 1.0, 1e12] {
        let verdict = asked(&a, &b, &Domain::Space, &within(tolerance)).verdict;
        let Verdict::Different { x, .. } = verdict else { panic!("{tolerance}: {verdict:?}") };
        assert!(largest(&a, &b, &x) > Rational::from_f64(tolerance).unwrap());
    }
    let step = 2f64.powi(-20);
    let yes = asked(&a, &b, &unit(1), &within(step)).verdict;
    assert!(matches!(yes, Verdict::EquivalentUpToRounding { .. }), "{yes:?}");
    let no = asked(&a, &b, &unit(1), &within(step.next_down())).verdict;
    assert!(matches!(no, Verdict::Different { .. }), "{no:?}");
}

/// Points of data are tried first: a bump of width 1e-12 in the middle of nowhere.
#[test]
fn the_points_of_the_data_are_looked_at() {
    let place = 0.612_345_678_901;
    let first: &[&[f64]] = &[&[1.0], &[-1.0]];
    let bump = |height: f64| {
        Network::from_rows(&[(first, &[-place, place]), (&[&[-1.0, -1.0]], &[height]), (&[&[1e15]], &[1.0])])
            .unwrap()
    };
    let (flat, bumpy) = (bump(-1.0), bump(1e-12));
    let data = vec![vec![Rational::from_f64(place).unwrap()]];
    let options = in_doubles().data(data);
    let decision = asked(&flat, &bumpy, &unit(1), &options);
    assert_eq!(decision.method, Method::Evaluation);
    assert!(matches!(decision.verdict, Verdict::Different { .. }));
}

fn single(x: f64) -> f64 {
    f64::from(x as f32)
}

/// A network in single precision.
fn random(rng: &mut ChaCha8Rng, widths: &[usize]) -> Vec<(Vec<Vec<f64>>, Vec<f64>)> {
    let mut draw = || single(rng.random_range(-1.0..1.0));
    let mut layer = |ends: &[usize]| {
        (
            (0..ends[1]).map(|_| (0..ends[0]).map(|_| draw()).collect()).collect(),
            (0..ends[1]).map(|_| draw()).collect(),
        )
    };
    widths.windows(2).map(&mut layer).collect()
}

fn build(layers: &[(Vec<Vec<f64>>, Vec<f64>)]) -> Network {
    let last = layers.len() - 1;
    let layer = |(l, (rows, bias)): (usize, &(Vec<Vec<f64>>, Vec<f64>))| {
        let activation = if l == last { Activation::Identity } else { Activation::Relu };
        Layer::new(Matrix::from_rows(rows).unwrap(), bias.clone(), activation)
    };
    Network::new(layers.iter().enumerate().map(layer).collect()).unwrap()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Twin {
    /// A neuron more that is off on the unit box.
    FarBump,
    /// One weight changed by a ten-thousandth.
    Changed,
    /// Every neuron scaled by a real number, in single precision.
    Rescaled,
    /// A neuron split in two, in single precision.
    Split,
}

fn twin(rng: &mut ChaCha8Rng, layers: &[(Vec<Vec<f64>>, Vec<f64>)], kind: Twin) -> Network {
    let mut layers = layers.to_vec();
    let inputs = layers[0].0[0].len();
    match kind {
        Twin::FarBump => {
            let row: Vec<f64> = (0..inputs).map(|_| single(rng.random_range(-1.0..1.0))).collect();
            let reach: f64 = row.iter().map(|w| w.abs()).sum();
            layers[0].0.push(row);
            layers[0].1.push(-single(reach * rng.random_range(1.5..3.0)));
            layers[1].0.iter_mut().for_each(|row| row.push(single(rng.random_range(100.0..1000.0))));
        }
        Twin::Changed => {
            let last = layers.len() - 1;
            let weight = &mut layers[last].0[0][0];
            *weight = single(*weight * 1.0001);
        }
        Twin::Rescaled => {
            for l in 0..layers.len() - 1 {
                for unit in 0..layers[l].0.len() {
                    let factor = single(rng.random_range(0.1..10.0));
                    layers[l].0[unit].iter_mut().for_each(|w| *w = single(*w * factor));
                    layers[l].1[unit] = single(layers[l].1[unit] * factor);
                    layers[l + 1].0.iter_mut().for_each(|row| row[unit] = single(row[unit] / factor));
                }
            }
        }
        Twin::Split => {
            let (factor, part) = (single(rng.random_range(0.1..10.0)), rng.random_range(0.2..0.8));
            let copy: Vec<f64> = layers[0].0[0].iter().map(|w| single(w * factor)).collect();
            let bias = single(layers[0].1[0] * factor);
            layers[0].0.push(copy);
            layers[0].1.push(bias);
            for row in &mut layers[1].0 {
                let whole = row[0];
                row[0] = single(whole * part);
                row.push(single((whole - row[0]) / factor));
            }
        }
    }
    build(&layers)
}

/// Points of the unit box, and far ones without it.
fn points(rng: &mut ChaCha8Rng, inputs: usize, domain: &Domain) -> Vec<Vec<Rational>> {
    let scale = if *domain == Domain::Space { 64.0 } else { 1.0 };
    let mut x =
        || (0..inputs).map(|_| Rational::from_f64(scale * rng.random_range(-1.0..1.0)).unwrap()).collect();
    (0..40).map(|_| x()).collect()
}

#[test]
fn a_difference_is_a_yes_only_as_rounding_and_in_so_many_words() {
    let options = EquivalenceOptions::new().precision(f64::from(f32::EPSILON));
    let (mut parameters, mut outputs, mut different, mut worst) = (0, 0, 0, 0.0f64);
    for seed in 0..60u64 {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let widths: &[usize] = [&[2, 4, 3, 1][..], &[3, 5, 2], &[2, 3, 3, 3, 2]][seed as usize % 3];
        let layers = random(rng, widths);
        let a = build(&layers);
        for kind in [Twin::FarBump, Twin::Changed, Twin::Rescaled, Twin::Split] {
            let b = twin(rng, &layers, kind);
            for domain in [Domain::Space, unit(widths[0])] {
                let seen = points(rng, widths[0], &domain).iter().map(|x| largest(&a, &b, x)).max().unwrap();
                let verdict = asked(&a, &b, &domain, &options).verdict;
                match (&verdict, kind) {
                    (Verdict::Equivalent { .. }, _) => assert!(seen.is_zero(), "{seed} {kind:?}"),
                    (Verdict::EquivalentUpToRounding { agreement, certificate, differ_at }, _) => {
                        assert!(
                            seen.is_zero() || differ_at.is_some(),
                            "{seed} {kind:?}: the point is forgotten"
                        );
                        match agreement {
                            Agreement::Outputs { bound, size: Some(size) } => {
                                assert!(domain != Domain::Space && seen <= *bound);
                                assert!(&Rational::from(1024) * bound <= *size);
                                outputs += 1;
                            }
                            Agreement::Parameters { relative } => {
                                assert!(domain == Domain::Space);
                                assert!(matches!(certificate.evidence, Evidence::Close { .. }));
                                worst = worst.max(relative.to_f64() / options.precision.unwrap());
                                parameters += 1;
                            }
                            other => panic!("{seed} {kind:?}: {other:?}"),
                        }
                        // A change of a ten-thousandth may be small beside the outputs on a box; nothing else
                        // is.
                        let outputs_only = kind == Twin::Changed && domain != Domain::Space;
                        assert!(
                            outputs_only || matches!(kind, Twin::Rescaled | Twin::Split),
                            "{seed} {kind:?} {domain:?}"
                        );
                    }
                    (Verdict::Different { x, a: y, b: z, .. }, _) => {
                        assert_eq!((&a.evaluate_exact(x).unwrap(), &b.evaluate_exact(x).unwrap()), (y, z));
                        assert_ne!(y, z);
                        assert!(kind != Twin::Rescaled, "{seed}: {domain:?}");
                        different += 1;
                    }
                    (Verdict::Undecided { .. }, _) => panic!("{seed} {kind:?}: undecided"),
                }
            }
        }
    }
    // On the whole space: rescaled ones; on the box: rescaled and split ones.
    assert!(parameters >= 50 && outputs >= 80 && different >= 150, "{parameters} {outputs} {different}");
    assert!(worst <= 12.0, "{worst} units");
}

/// A flip of a hidden hyperplane adds a large row to a small one; what differs in the small one is no
/// rounding, although the sums agree to six digits.
#[test]
fn sums_do_not_hide_a_difference() {
    let a = Network::from_rows(&[
        (&[&[-6.625, 3.5, 6.25, 6.875], &[-5.5, -1.5, 0.125, 6.5]], &[-5.625, -7.0]),
        (&[&[0.0625, -8.0]], &[-6.125]),
        (&[&[-7.375]], &[0.625]),
    ])
    .unwrap();
    let b = Network::from_rows(&[
        (&[&[-0.6875, -0.1875, 0.015625, 0.8125], &[-26.4921875, 14.0, 25.0, 27.5]], &[-0.875, -22.5]),
        (&[&[-1024.0, 0.25]], &[-98.0]),
        (&[&[-0.4609375]], &[0.625]),
    ])
    .unwrap();
    let options = EquivalenceOptions::new().precision(f64::from(f32::EPSILON));
    let verdict = asked(&a, &b, &Domain::Space, &options).verdict;
    assert!(matches!(verdict, Verdict::Different { .. }), "{verdict:?}");
}

/// What exporters make of a clipped layer with batch normalisation: folded in doubles or in single precision, with the
/// bound 6 in a bias, which takes more bits, and averages between two layers.
#[test]
fn folding_in_another_precision_is_rounding() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for _ in 0..8 {
        let mut exact = || -> Vec<f64> { (0..8).map(|_| rng.random_range(-1.0..1.0)).collect() };
        let (rows, bias, last) = ((0..8).map(|_| exact()).collect::<Vec<_>>(), exact(), [exact(), exact()]);
        let clipped = |stored: fn(f64) -> f64| {
            let stored = |row: &Vec<f64>| row.iter().map(|&x| stored(x)).collect::<Vec<_>>();
            let bias = stored(&bias);
            let layers = [
                (
                    rows.iter().chain(&rows).map(stored).collect::<Vec<_>>(),
                    bias.iter().copied().chain(bias.iter().map(|b| b - 6.0)).collect(),
                    Activation::Relu,
                ),
                (
                    (0..8).map(|i| (0..16).map(|j| if j % 8 == i { 0.25 } else { 0.0 }).collect()).collect(),
                    vec![0.0; 8],
                    Activation::Identity,
                ),
                (last.iter().map(stored).collect(), vec![0.0; 2], Activation::Identity),
            ];
            let layer = |(rows, bias, activation): (Vec<Vec<f64>>, Vec<f64>, _)| {
                Layer::new(Matrix::from_rows(&rows).unwrap(), bias, activation)
            };
            Network::new(layers.into_iter().map(layer).collect()).unwrap()
        };
        let (a, b) = (clipped(|x| x), clipped(single));
        let options = EquivalenceOptions::new().precision(None);
        let verdict = asked(&a, &b, &unit(8), &options).verdict;
        let Verdict::EquivalentUpToRounding { agreement: Agreement::Outputs { bound, .. }, .. } = &verdict
        else {
            panic!("{verdict:?}")
        };
        assert!(bound.to_f64() < 1e-4, "{}", bound.to_f64());
    }
}

/// A quarter of numbers in doubles does not hide that the others were rounded; half of them does.
#[test]
fn the_precision_is_that_of_most_numbers() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut mixed = |doubles: usize| {
        let mut row = |i: usize| -> Vec<f64> {
            let draws = (0..5).map(|_| rng.random_range(0.1..1.0));
            draws.map(|x| if i < doubles { x } else { single(x) }).collect()
        };
        build(&[((0..4).map(&mut row).collect(), vec![0.0; 4])])
    };
    let (one, two) = (mixed(1), mixed(2));
    assert_eq!(coarser_precision(&one, &one), f64::from(f32::EPSILON));
    assert_eq!(coarser_precision(&two, &two), f64::EPSILON);
}
