//! Identities that hold for every network, on random ones.

use fiberscope::core::Matrix;
use fiberscope::linear::{
    Barcode, Connection, Displacement, FlowBases, LinearError, LinearNetwork, NormalKind, ProductFiberPath,
    Stratum, StratumPath, TangentSpace, Tolerance, Walk, cuts_to_minimum, exact_rank_list, point_over,
    random_tangent, sample_integer, sample_over, sample_stratum,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::barcodes;

/// Random networks of each barcode; there are some eighty barcodes.
const SAMPLES: u64 = 30;

fn flow(network: &LinearNetwork) -> FlowBases {
    FlowBases::compute(network, Tolerance::default()).unwrap()
}

#[track_caller]
fn check(network: &LinearNetwork, barcode: &Barcode, product: &LinearNetwork) {
    // Cuts can leave nothing but rounding noise, so the scale is that of the samples.
    let tolerance = Tolerance { scale: Some(1.0), ..Tolerance::default() };
    assert_eq!(FlowBases::compute(network, tolerance).unwrap().barcode(), barcode);
    let difference = network.function_difference(product);
    assert!(difference < 1e-9, "{difference}");
}

#[test]
fn sampled_points_have_the_barcode_and_flow_along_it() {
    for (seed, barcode) in barcodes().iter().enumerate() {
        for network in (0..SAMPLES).map(|k| sample_stratum(barcode, 1000 * k + seed as u64).unwrap()) {
            let flow = flow(&network);
            assert_eq!(flow.barcode(), barcode);
            assert!(flow.residual() < 1e-13, "{}", flow.residual());
        }
    }
}

#[test]
fn integer_points_have_exact_ranks_that_agree() {
    for (seed, barcode) in barcodes().iter().enumerate() {
        for network in (0..SAMPLES).map(|k| sample_integer(barcode, 1000 * k + seed as u64).unwrap()) {
            assert_eq!(&exact_rank_list(&network, 1 << 24).unwrap(), &barcode.rank_list());
            assert_eq!(flow(&network).barcode(), barcode);
        }
    }
}

#[test]
fn points_over_a_product_have_it() {
    for (seed, barcode) in barcodes().iter().enumerate() {
        let base = sample_stratum(barcode, seed as u64).unwrap();
        check(&point_over(barcode, &base.product(), 1e-10).unwrap(), barcode, &base);
        for seed in 0..SAMPLES {
            check(&sample_over(barcode, &base.product(), 1e-10, seed).unwrap(), barcode, &base);
        }
    }
}

#[test]
fn moves_up_and_down_reach_the_stratum_and_keep_the_product() {
    let mut moves = 0;
    for (seed, barcode) in barcodes().iter().flat_map(|barcode| (0..4).map(move |seed| (seed, barcode))) {
        let network = sample_stratum(barcode, seed).unwrap();
        let flow = flow(&network);
        let stratum = Stratum::new(barcode.rank_list());
        for up in stratum.up_moves() {
            let line = Displacement::up(&flow, &up).unwrap();
            for t in [1e-4, -1.0, 3.0] {
                check(&line.at(&network, t).unwrap(), &up.apply(barcode).unwrap(), &network);
                moves += 1;
            }
        }
        for down in stratum.down_moves() {
            let line = Displacement::down(&flow, &down).unwrap();
            check(&line.at(&network, 0.7).unwrap(), barcode, &network);
            check(&line.at(&network, 1.0).unwrap(), &down.apply(barcode).unwrap(), &network);
            moves += 1;
        }
        check(&cuts_to_minimum(&network, &flow, 0.5).unwrap(), barcode, &network);
        check(&cuts_to_minimum(&network, &flow, 1.0).unwrap(), &stratum.fiber().minimum(), &network);
    }
    assert!(moves > 1000, "{moves}");
}

#[test]
fn random_networks_of_random_widths_obey_the_identities() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for seed in 0..2000 {
        let widths: Vec<usize> = (0..rng.random_range(2..6)).map(|_| rng.random_range(1..5)).collect();
        let rank = rng.random_range(0..=*widths.iter().min().unwrap());
        let dag = super::dag(&widths, rank);
        let at = rng.random_range(0..dag.len());
        let stratum = dag.stratum(at);
        let network = sample_stratum(stratum.barcode(), seed).unwrap();
        let flow = flow(&network);
        assert_eq!(flow.barcode(), stratum.barcode());
        let space = TangentSpace::new(&flow);
        assert_eq!(space.dimension() as u64, stratum.dimension());
        assert_eq!(space.normal_count(NormalKind::Rank) as u64, dag.rdof(at));
        let off_product = stratum.fiber().parameter_count() - dag.dof(at);
        assert_eq!(space.normal_count(NormalKind::Product) as u64, off_product);
        let walk = Walk::new(&network, &flow, &random_tangent(&space, seed), 1e-8).unwrap();
        check(&walk.at(0.5).unwrap(), stratum.barcode(), &network);
    }
}

#[test]
fn projecting_keeps_tangents_and_removes_what_leaves_the_stratum() {
    for (seed, barcode) in barcodes().iter().enumerate() {
        let network = sample_stratum(barcode, seed as u64).unwrap();
        let flow = flow(&network);
        let space = TangentSpace::new(&flow);
        let gap = |a: &[Matrix], b: &[Matrix]| {
            let pairs = a.iter().zip(b).flat_map(|(a, b)| a.entries().iter().zip(b.entries()));
            pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
        };
        for tangent in space.tangents().step_by(5) {
            assert!(gap(&space.project(&tangent).unwrap(), &tangent) < 1e-12);
        }
        for normal in space.normals(NormalKind::Product).chain(space.normals(NormalKind::Rank)).step_by(5) {
            assert!(Walk::new(&network, &flow, &normal, 1e-8).is_err());
            assert!(Walk::new(&network, &flow, &space.project(&normal).unwrap(), 1e-8).is_ok());
        }
    }
    let network = sample_stratum(&barcodes()[3], 0).unwrap();
    let flow = flow(&network);
    let wrong = [Matrix::from_fn(1, 1, |_, _| 1.0)];
    assert!(matches!(TangentSpace::new(&flow).project(&wrong), Err(LinearError::WidthsDiffer { .. })));
}

#[test]
fn walking_stays_on_the_stratum_and_starts_with_the_velocity() {
    for (seed, barcode) in barcodes().iter().enumerate() {
        let network = sample_stratum(barcode, seed as u64).unwrap();
        let flow = flow(&network);
        let space = TangentSpace::new(&flow);
        for velocity in space.tangents().step_by(3) {
            let walk = Walk::new(&network, &flow, &velocity, 1e-8).unwrap();
            check(&walk.at(0.8).unwrap(), barcode, &network);
            let near = walk.at(1e-6).unwrap();
            for ((start, end), part) in network.weights().iter().zip(near.weights()).zip(&velocity) {
                let speeds = start.entries().iter().zip(end.entries()).map(|(x, y)| (y - x) / 1e-6);
                assert!(speeds.zip(part.entries()).all(|(speed, &v)| (speed - v).abs() < 1e-3));
            }
        }
        if let Some(normal) = space.rank_increasing().next() {
            assert!(Walk::new(&network, &flow, &normal, 1e-8).is_err(), "it leaves the stratum");
        }
    }
}

#[test]
fn paths_join_points_of_a_component_and_signs_separate_the_others() {
    let (mut joined, mut separated) = (0, 0);
    for (seed, barcode) in barcodes().iter().enumerate() {
        let a = sample_stratum(barcode, seed as u64).unwrap();
        let stratum = Stratum::new(barcode.rank_list());
        for k in 0..4 {
            let b = sample_over(barcode, &a.product(), 1e-10, k).unwrap();
            match StratumPath::between(&a, &b, Tolerance::default()).unwrap() {
                Connection::Path(path) => {
                    (1..8).for_each(|step| check(&path.at(f64::from(step) / 8.0).unwrap(), barcode, &a));
                    let close = path.at(1.0 - 1e-9).unwrap();
                    let gaps = close.weights().iter().zip(b.weights()).flat_map(|(x, y)| {
                        x.entries().iter().zip(y.entries()).map(|(x, y)| (x - y).abs()).collect::<Vec<_>>()
                    });
                    assert!(gaps.fold(0.0, f64::max) < 1e-6, "the path ends where it should");
                    joined += 1;
                }
                Connection::DifferentComponents => {
                    assert!(stratum.component_exponent() > 0);
                    separated += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        let (path, _) = StratumPath::to_canonical(&a, Tolerance::default()).unwrap();
        (0..=4).for_each(|step| check(&path.at(f64::from(step) / 4.0).unwrap(), barcode, &a));
    }
    assert!(joined > 50 && separated > 50, "{joined} {separated}");
}

#[test]
fn every_two_strata_of_a_connected_fiber_are_joined_through_the_minimum() {
    let strata: Vec<Stratum> = super::dag(&[2, 3, 2, 2], 1).strata().collect();
    let base = sample_stratum(strata[0].barcode(), 5).unwrap();
    let tolerance = Tolerance::default();
    for stratum in &strata[1..] {
        let other = sample_over(stratum.barcode(), &base.product(), 1e-10, 3).unwrap();
        let Connection::Path(path) = ProductFiberPath::between(&base, &other, tolerance).unwrap() else {
            panic!("no hidden layer is as narrow as the rank")
        };
        for step in 0..=12 {
            assert!(path.at(f64::from(step) / 12.0).unwrap().function_difference(&base) < 1e-9);
        }
        let apart = StratumPath::between(&base, &other, tolerance).unwrap();
        assert!(matches!(apart, Connection::DifferentStrata));
    }
}

#[test]
fn biases_follow_and_different_functions_are_told_apart() {
    let barcode = &barcodes()[20];
    let plain = sample_stratum(barcode, 1).unwrap();
    let biases: Vec<Vec<f64>> = plain.weights().iter().map(|weight| vec![0.5; weight.rows()]).collect();
    let biased = LinearNetwork::new(plain.weights().to_vec(), biases).unwrap();
    let (path, _) = StratumPath::to_canonical(&biased, Tolerance::default()).unwrap();
    check(&path.at(0.5).unwrap(), barcode, &biased);
    let apart = StratumPath::between(&plain, &biased, Tolerance::default()).unwrap();
    assert!(matches!(apart, Connection::DifferentFunctions { .. }));
}

#[test]
fn noise_below_the_tolerance_does_not_change_the_barcode() {
    for (seed, barcode) in barcodes().iter().enumerate() {
        let network = sample_stratum(barcode, seed as u64).unwrap();
        let noisy = |(l, weight): (usize, &Matrix)| {
            Matrix::from_fn(weight.rows(), weight.cols(), |i, j| {
                weight[(i, j)] + 1e-8 * ((12.9898 * (i + 7 * j + 31 * l + seed) as f64).sin())
            })
        };
        let noisy =
            LinearNetwork::from_weights(network.weights().iter().enumerate().map(noisy).collect()).unwrap();
        let tolerance = Tolerance { relative: 1e-6, scale: Some(1.0) };
        assert_eq!(FlowBases::compute(&noisy, tolerance).unwrap().barcode(), barcode);
    }
}

#[test]
fn a_product_below_the_tolerance_counts_as_zero_throughout() {
    let tiny = Matrix::from_rows(&[[1e-200, 2e-200], [3e-200, 1e-200]]).unwrap();
    let network =
        LinearNetwork::from_weights(vec![tiny, Matrix::from_rows(&[[1.0, 1.0], [1.0, -1.0]]).unwrap()]);
    let network = network.unwrap();
    let (path, _) = StratumPath::to_canonical(&network, Tolerance::default()).unwrap();
    assert!(path.at(0.5).unwrap().function_difference(&network) < 1e-15);
}
