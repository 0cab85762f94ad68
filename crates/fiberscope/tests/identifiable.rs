//! Networks that their function identifies: built for any widths and box, and held against plain evaluation,
//! the whole complex, and other parameters with the same function.

use crate::common;

use common::random_network;
use fiberscope::Network;
use fiberscope::complex::{
    BreakpointComplex, Built, ComplexOptions, ConstructOptions, FoldMatch, FoldPaths, Genericity,
    IdentifiabilityCertificate, IdentifiableError, PolyhedralComplex, Transparency, TransparencyOptions,
    WidthCondition, construct_identifiable, match_folds,
};
use fiberscope::core::{Domain, ExactNetwork, Rational};
use fiberscope::fiber::{DeeperFacts, construct_hiding, construct_nonlocal};
use fiberscope::limit::Deadline;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn whole(network: &Network, domain: &Domain) -> (Box<PolyhedralComplex>, BreakpointComplex) {
    let Built::Complete(complex) = PolyhedralComplex::build(network, domain, &ComplexOptions::new()).unwrap()
    else {
        panic!("there is no limit")
    };
    let breakpoints = BreakpointComplex::new(&complex, &ComplexOptions::new()).unwrap();
    (complex, breakpoints)
}

fn random(widths: &[usize], seed: u64) -> Network {
    random_network(&mut ChaCha8Rng::seed_from_u64(seed), widths).to_f64().unwrap().0
}

/// The pre-activations of all hidden layers, by the definition.
fn preactivations(network: &ExactNetwork, x: &[Rational]) -> Vec<Vec<Rational>> {
    let mut a = x.to_vec();
    let hidden = network.hidden_layers().iter();
    hidden
        .map(|layer| {
            let z: Vec<Rational> = (0..layer.width())
                .map(|i| {
                    let mut sum = layer.bias()[i].clone();
                    for (k, a) in a.iter().enumerate() {
                        sum += &(&layer.weight()[(i, k)] * a);
                    }
                    sum
                })
                .collect();
            a = z.iter().map(|z| z.clone().max(Rational::ZERO)).collect();
            z
        })
        .collect()
}

/// Every point says what it should, looked at without the library's check; the paths start at different
/// neurons and go down to the last hidden layer.
fn points_say_so(network: &Network, domain: &Domain, paths: &FoldPaths) {
    let exact = network.to_exact();
    let depth = exact.hidden_depth();
    assert!(paths.is_complete() && paths.hold(&exact, domain));
    for (l, points) in paths.points.iter().enumerate() {
        assert_eq!(points.len(), exact.layers()[l].width());
        for (unit, point) in points.iter().enumerate() {
            let point = point.as_ref().unwrap();
            let x = point.point();
            for (side, x) in domain.sides(x.len()).iter().zip(&x) {
                assert!(side.lower.as_ref().unwrap() < x && x < side.upper.as_ref().unwrap());
            }
            let z = preactivations(&exact, &x);
            for (k, z) in z[..=(l + 1).min(depth - 1)].iter().enumerate() {
                let zero = if k == l {
                    Some(unit)
                } else if k == l + 1 {
                    point.next
                } else {
                    None
                };
                for (i, z) in z.iter().enumerate() {
                    assert_eq!(z.signum(), i8::from(Some(i) != zero), "layer {k} neuron {i} at {x:?}");
                }
            }
            let path = paths.path(l, unit).unwrap();
            assert_eq!(path.len(), depth - l);
            for pair in path.windows(2) {
                assert!(!exact.layers()[pair[1].layer].weight()[(pair[1].unit, pair[0].unit)].is_zero());
            }
        }
    }
}

#[test]
fn any_widths_and_any_depth() {
    let deep: Vec<usize> = [3; 20].into_iter().chain([1]).collect();
    for widths in [
        &[2, 2, 1][..],
        &[2, 2, 2, 2, 2, 1],
        &[4, 4, 4, 4, 4, 1],
        &[20, 10, 1],
        &[10, 8, 1],
        &[9, 7, 7, 4, 2, 1],
        &deep,
    ] {
        for seed in 0..3 {
            let built = construct_identifiable(widths, &ConstructOptions::new().seed(seed)).unwrap();
            assert_eq!(built.network.widths(), widths);
            points_say_so(&built.network, &built.domain, &built.paths);
            // No hidden layer is off at random points, nor for the linear programs.
            let exact = built.network.to_exact();
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            for _ in 0..20 {
                let x: Vec<Rational> = (0..widths[0])
                    .map(|_| Rational::from_f64(rng.random_range(-1.0..1.0)).unwrap())
                    .collect();
                let is_on = |z: &Vec<Rational>| z.iter().any(|z| !z.is_negative());
                assert!(preactivations(&exact, &x).iter().all(is_on));
            }
            let found =
                Transparency::new(&built.network, &built.domain, &TransparencyOptions::new()).unwrap();
            assert_eq!(found.is_transparent(), Some(true));
        }
    }
}

#[test]
fn any_bounded_box() {
    let boxes = [
        vec![(0.0, 1.0), (0.0, 1.0), (0.0, 1.0)],
        vec![(-3.0, -2.5), (1000.0, 1001.0), (-1e-9, 1e-9)],
        vec![(1e-200, 2e-200), (-1e150, 1e150), (5.0, 7.0)],
        vec![(1e6, 1e6 + 1.0), (-1e6, -1e6 + 0.125), (0.0, 1e-3)],
    ];
    for bounds in boxes {
        let domain = Domain::from_bounds(&bounds).unwrap();
        for widths in [&[3, 3, 2, 1][..], &[3, 3, 3, 3, 3, 1]] {
            let options = ConstructOptions::new().domain(domain.clone());
            let built = construct_identifiable(widths, &options).unwrap();
            points_say_so(&built.network, &domain, &built.paths);
        }
    }
    let refused = |domain: Domain| {
        construct_identifiable(&[3, 2, 1], &ConstructOptions::new().domain(domain)).unwrap_err()
    };
    assert_eq!(refused(Domain::Space), IdentifiableError::Unbounded { input: 1 });
    let flat = Domain::from_bounds(&[(0.0, 1.0), (2.0, 2.0), (0.0, 1.0)]).unwrap();
    assert_eq!(refused(flat), IdentifiableError::Flat { input: 2 });
    assert!(matches!(refused(Domain::from_bounds(&[(0.0, 1.0)]).unwrap()), IdentifiableError::Domain(_)));
    // Doubles cannot tell the ends of such a box apart.
    let thin = Domain::from_bounds(&[(1e17, 1e17 + 16.0), (0.0, 1.0), (0.0, 1.0)]).unwrap();
    let found = construct_identifiable(&[3, 2, 2, 1], &ConstructOptions::new().domain(thin.clone()));
    match found {
        Ok(built) => points_say_so(&built.network, &thin, &built.paths),
        Err(error) => assert!(error.to_string().contains("doubles do not resolve the box")),
    }
}

#[test]
fn widths_without_a_theorem_are_told_why() {
    let condition = |widths: &[usize]| match construct_identifiable(widths, &ConstructOptions::new()) {
        Err(IdentifiableError::Widths { condition, .. }) => condition,
        other => panic!("{widths:?}: {other:?}"),
    };
    assert_eq!(condition(&[3, 1]), WidthCondition::NoHiddenLayer);
    assert_eq!(condition(&[]), WidthCondition::NoHiddenLayer);
    assert_eq!(condition(&[3, 2, 2]), WidthCondition::Outputs(2));
    assert_eq!(condition(&[2, 3, 1]), WidthCondition::Increasing { layer: 1 });
    assert_eq!(condition(&[4, 2, 3, 1]), WidthCondition::Increasing { layer: 2 });
    assert_eq!(condition(&[3, 1, 1]), WidthCondition::Narrow { layer: 1 });
    assert_eq!(condition(&[4, 3, 1, 2, 1]), WidthCondition::Narrow { layer: 2 });
    assert_eq!(condition(&[1, 1, 1]), WidthCondition::Inputs(1));
}

/// The points of the construction, those that linear programs find, and the whole complex agree.
#[test]
fn linear_programs_and_the_whole_complex_find_the_paths() {
    for widths in [&[2, 2, 2, 1][..], &[3, 3, 2, 1], &[2, 2, 2, 2, 2, 1], &[3, 3, 3, 3, 1]] {
        let built = construct_identifiable(widths, &ConstructOptions::new().seed(5)).unwrap();
        let found = FoldPaths::find(&built.network.to_exact(), &built.domain, &Deadline::NEVER);
        points_say_so(&built.network, &built.domain, &found);
        let (complex, breakpoints) = whole(&built.network, &built.domain);
        let genericity = Genericity::new(&complex, &ComplexOptions::new()).unwrap();
        let certificate = IdentifiabilityCertificate::new(
            &built.network,
            &complex,
            &breakpoints,
            &genericity,
            &ComplexOptions::new(),
        )
        .unwrap();
        assert!(certificate.holds(), "{widths:?}: {:?}", certificate.missing());
    }
}

/// In general and transparent networks, some with few paths, the complex has at least the paths that points
/// prove.
#[test]
fn points_never_prove_paths_that_the_complex_lacks() {
    let (mut compared, mut incomplete) = (0, 0);
    for (widths, seeds) in [(&[2, 2, 2, 1][..], 0..30), (&[3, 3, 2, 1], 0..20), (&[2, 2, 2, 2, 1], 0..30)] {
        for seed in seeds {
            // A network that has the paths, with noise that takes some of them away.
            let built = construct_identifiable(widths, &ConstructOptions::new().seed(seed)).unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let noise = 0.1 * (seed % 8) as f64;
            let mut noisy = |w: &f64| {
                let x = w * (1.0 + noise * rng.random_range(-1.0..1.0));
                (x * 1024.0).round() / 1024.0
            };
            let network = built.network.map(&mut noisy).unwrap();
            let domain = built.domain;
            let found = FoldPaths::find(&network.to_exact(), &domain, &Deadline::NEVER);
            assert!(found.hold(&network.to_exact(), &domain));
            let (complex, breakpoints) = whole(&network, &domain);
            let genericity = Genericity::new(&complex, &ComplexOptions::new()).unwrap();
            if !genericity.is_general() || !genericity.is_transparent() {
                continue;
            }
            let certificate = IdentifiabilityCertificate::new(
                &network,
                &complex,
                &breakpoints,
                &genericity,
                &ComplexOptions::new(),
            )
            .unwrap();
            for (l, layer) in certificate.layers.iter().enumerate() {
                assert!(layer.paths.len() >= found.count(l), "{widths:?} {seed}: layer {l}");
                compared += found.count(l);
            }
            incomplete += usize::from(!found.is_complete());
        }
    }
    assert!(compared > 100 && incomplete > 0, "{compared} paths, {incomplete} networks without all");
}

/// Permutations and scalings by real numbers, stored in doubles, are read off the folds.
#[test]
fn real_scalings_are_read_off_the_folds() {
    for (widths, seed) in [(&[2, 2, 1][..], 1), (&[3, 3, 2, 1], 2), (&[2, 2, 2, 2, 1], 3)] {
        let built = construct_identifiable(widths, &ConstructOptions::new().seed(seed)).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut layers = built.network.clone().into_layers();
        let mut meant = Vec::new();
        for l in 0..layers.len() - 1 {
            let width = layers[l].width();
            let order: Vec<usize> = (0..width).map(|i| (i + 1) % width).collect();
            let scales: Vec<f64> = (0..width).map(|_| rng.random_range(0.1..9.0)).collect();
            let (weight, bias, activation) = layers[l].clone().into_parts();
            let rows: Vec<Vec<f64>> = order
                .iter()
                .zip(&scales)
                .map(|(&i, c)| weight.row(i).iter().map(|w| w * c).collect())
                .collect();
            let bias: Vec<f64> = order.iter().zip(&scales).map(|(&i, c)| bias[i] * c).collect();
            layers[l] = fiberscope::core::Layer::new(
                fiberscope::core::Matrix::from_rows(&rows).unwrap(),
                bias,
                activation,
            );
            let (weight, bias, activation) = layers[l + 1].clone().into_parts();
            let next = fiberscope::core::Matrix::from_fn(weight.rows(), width, |i, j| {
                weight[(i, order[j])] / scales[j]
            });
            layers[l + 1] = fiberscope::core::Layer::new(next, bias, activation);
            meant.push((order, scales));
        }
        let other = Network::new(layers).unwrap();
        let (complex, breakpoints) = whole(&built.network, &built.domain);
        let FoldMatch::Nearly(found, bends) = match_folds(&complex, &breakpoints, &built.network, &other)
        else {
            panic!("{widths:?}: the networks match up to rounding")
        };
        assert!(bends.is_some() && found.relative.to_f64() < 1e-13, "{}", found.relative.to_f64());
        for ((order, scales), layer) in meant.iter().zip(&found.relabelling.layers) {
            for (i, (&partner, scale)) in layer.order.iter().zip(layer.scales()).enumerate() {
                assert_eq!(order[partner], i);
                assert!((scale.to_f64() / scales[partner] - 1.0).abs() < 1e-13);
            }
        }
    }
}

/// What is called fixed is the same in other parameters with the same function.
#[test]
fn what_deeper_networks_fix() {
    let never = &Deadline::NEVER;
    // A hidden hyperplane can be translated: it must not be called fixed.
    for (widths, seed) in [(&[3, 3, 2, 1][..], 1), (&[3, 3, 2, 2, 1], 2), (&[4, 3, 3, 2, 1], 3)] {
        let built = construct_hiding(widths, seed).unwrap();
        let facts = DeeperFacts::new(&built.network.to_exact(), never);
        let (a, b) = (built.network.to_exact(), built.twin.to_exact());
        for unit in 0..widths[1] {
            let moved = a.layers()[0].bias()[unit] != b.layers()[0].bias()[unit];
            assert!(!moved || facts.latest[unit].is_none(), "{widths:?}: neuron {unit} moves");
        }
        assert!(facts.fixed == 0);
    }
    // A layer that acts linearly is not fixed.
    for widths in [&[3, 3, 2, 2, 1][..], &[4, 4, 3, 3, 2, 1]] {
        let built = construct_nonlocal(widths, 4).unwrap();
        assert!(DeeperFacts::new(&built.network.to_exact(), never).fixed < 3);
    }
    // With three layers the chains tell what the theorem on bottlenecks tells.
    let mut fixed = 0;
    for seed in 0..60 {
        let network = random(&[3, 2, 2, 1], seed).to_exact();
        let facts = DeeperFacts::new(&network, never);
        let Ok(fiber) = fiberscope::fiber::describe(&network, fiberscope::fiber::Ground::Space) else {
            continue;
        };
        let fiberscope::fiber::Fiber::Bottleneck(fiber) = &fiber else { continue };
        if let Some(hidden) = fiber.hidden() {
            assert_eq!(facts.latest[hidden.unit], None, "seed {seed}");
        }
        let yes = fiberscope::fiber::SignVerdict::Identifiable;
        assert!(!facts.is_identifiable() || fiber.signs() == yes, "seed {seed}");
        fixed += usize::from(facts.is_identifiable());
    }
    assert!(fixed > 0);
    // Built networks are fixed down to the last layer.
    let built = construct_identifiable(&[3, 3, 3, 3, 2, 1], &ConstructOptions::new()).unwrap();
    assert!(DeeperFacts::new(&built.network.to_exact(), never).is_identifiable());
}
