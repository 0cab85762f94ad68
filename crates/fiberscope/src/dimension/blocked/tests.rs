use fiberscope_core::{Matrix, Network};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::host::Host;
use super::{RESERVE, columns, symmetric};
use crate::dimension::DimensionOptions;
use crate::dimension::device::DeviceError;
use crate::dimension::field::Field;
use crate::dimension::jacobian::{At, Factors, Vectors};
use crate::dimension::modular;
use crate::dimension::pattern::Patterns;
use crate::dimension::testing::{random_network, random_points};

const AMPLE: usize = RESERVE + (1 << 34);

/// A network and points, some of them repeated so that rows depend on others.
struct Case {
    network: Network,
    points: Matrix,
    seed: u64,
}

impl Case {
    fn new(widths: &[usize], points: usize, repeated: usize, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut points = random_points(points, widths[0], seed);
        for _ in 0..repeated {
            let (from, to) = (rng.random_range(0..points.rows()), rng.random_range(0..points.rows()));
            let row = points.row(from).to_vec();
            points.row_mut(to).copy_from_slice(&row);
        }
        Case { network: random_network(widths, seed), points, seed }
    }

    /// Calls `act` with the factors of the Jacobian modulo a random prime.
    fn with_factors<T>(&self, act: impl FnOnce(&Field, &Factors, &mut ChaCha8Rng) -> T) -> T {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let field = Field::random(&mut rng);
        let patterns = Patterns::of(&self.network, &self.points, &DimensionOptions::new()).unwrap();
        let cols = self.points.cols();
        let coordinates =
            Matrix::from_fn(
                self.points.rows(),
                cols + 1,
                |i, j| {
                    if j < cols { self.points[(i, j)] } else { 1.0 }
                },
            );
        let vectors = Vectors { coordinates, pattern: (0..self.points.rows()).collect() };
        let factors = Factors::new(&field, &self.network, &patterns, &vectors, At::Network, &mut rng);
        act(&field, &factors, &mut rng)
    }
}

fn cases() -> Vec<Case> {
    vec![
        Case::new(&[1, 1], 1, 0, 1),
        Case::new(&[2, 3, 1], 5, 0, 2),
        Case::new(&[3, 8, 6, 2], 40, 7, 3),
        // More than one panel, with and without rows that depend on others.
        Case::new(&[5, 20, 20, 3], 120, 0, 4),
        Case::new(&[5, 20, 20, 3], 150, 60, 5),
        Case::new(&[4, 16, 12, 1], 600, 200, 6),
        // Far fewer parameters than rows.
        Case::new(&[2, 4, 3, 2], 300, 0, 7),
    ]
}

fn always(_: usize, _: usize) -> bool {
    true
}

#[test]
fn the_symmetric_elimination_finds_the_ranks_of_the_processor() {
    for (number, case) in cases().iter().enumerate() {
        case.with_factors(|field, factors, rng| {
            for only in [None, Some(0)] {
                let weights = factors.weights(only, rng);
                let expected = modular::symmetric_rank(factors, &weights, usize::MAX, &always);
                let host = Host::new(field, AMPLE, usize::MAX);
                let found = symmetric::symmetric_rank(&host, factors, &weights, usize::MAX, &always);
                assert_eq!(found, Ok(expected), "case {number}, {only:?}");
                // A bound ends it at the end of the block that reaches it, as on the processor.
                let upper = expected.0 / 2;
                let expected = modular::symmetric_rank(factors, &weights, upper, &always);
                let found = symmetric::symmetric_rank(&host, factors, &weights, upper, &always);
                assert_eq!(found, Ok(expected), "case {number}, {only:?}");
            }
        });
    }
}

#[test]
fn the_elimination_of_columns_finds_the_ranks_of_the_processor_and_draws_the_same_numbers() {
    for (number, case) in cases().iter().enumerate() {
        case.with_factors(|field, factors, rng| {
            for only in [None, Some(0)] {
                for upper in [factors.rows(), factors.rows().min(300) / 2] {
                    let (mut first, mut second) = (rng.clone(), rng.clone());
                    let expected = modular::sketched_rank(factors, upper, only, &always, &mut first);
                    let host = Host::new(field, AMPLE, usize::MAX);
                    let found = columns::sketched_rank(&host, factors, upper, only, &always, &mut second);
                    assert_eq!(found, Ok(expected), "case {number}, {only:?}, {upper}");
                    assert_eq!(first.random::<u64>(), second.random::<u64>());
                }
            }
        });
    }
}

#[test]
fn panels_that_the_device_does_not_hold_lie_in_the_memory_of_the_host() {
    for case in cases().iter().skip(3) {
        case.with_factors(|field, factors, rng| {
            let weights = factors.weights(None, rng);
            let fit = |memory: usize| {
                let host = Host::new(field, memory, usize::MAX);
                symmetric::symmetric_rank(&host, factors, &weights, usize::MAX, &always)
            };
            let Err(DeviceError::Memory { needed, free, .. }) = fit(1000) else { panic!("too little") };
            assert_eq!(free, 1000);
            let expected = modular::symmetric_rank(factors, &weights, usize::MAX, &always);
            // No panel on the device, one, and all.
            for more in [0, 2 << 20, 1 << 30] {
                assert_eq!(fit(needed + more), Ok(expected));
            }
            let mut first = rng.clone();
            let expected = modular::sketched_rank(factors, factors.rows(), None, &always, &mut first);
            let host = Host::new(field, needed + (8 << 20), usize::MAX);
            let found = columns::sketched_rank(&host, factors, factors.rows(), None, &always, rng);
            assert_eq!(found, Ok(expected));
        });
    }
}

#[test]
fn a_device_that_fails_at_any_step_gives_an_error_and_no_rank() {
    // Two panels, the second one of few columns.
    let case = Case::new(&[5, 20, 20, 1], 290, 24, 9);
    case.with_factors(|field, factors, rng| {
        let weights = factors.weights(None, rng);
        let symmetric = |steps: usize| {
            let host = Host::new(field, AMPLE, steps);
            symmetric::symmetric_rank(&host, factors, &weights, usize::MAX, &always)
        };
        let columns = |steps: usize| {
            let host = Host::new(field, AMPLE, steps);
            columns::sketched_rank(&host, factors, factors.rows(), None, &always, &mut rng.clone())
        };
        let mut steps = 0;
        while symmetric(steps).is_err() {
            steps += 1;
        }
        assert!(steps > 30, "{steps}");
        let mut steps = 0;
        while let Err(error) = columns(steps) {
            assert!(error.to_string().contains("nothing that it computed was used"), "{error}");
            steps += 1;
        }
        assert!(steps > 30, "{steps}");
    });
}

#[test]
fn it_stops_when_it_may_not_go_on() {
    let case = Case::new(&[5, 20, 20, 3], 200, 0, 10);
    case.with_factors(|field, factors, rng| {
        let weights = factors.weights(None, rng);
        let until = |done: usize, _: usize| done < 256;
        let expected = modular::symmetric_rank(factors, &weights, usize::MAX, &until);
        let host = Host::new(field, AMPLE, usize::MAX);
        assert_eq!(symmetric::symmetric_rank(&host, factors, &weights, usize::MAX, &until), Ok(expected));
        assert_eq!(expected, (256, false));
        let never = |_: usize, bytes: usize| bytes < 1000;
        assert_eq!(symmetric::symmetric_rank(&host, factors, &weights, usize::MAX, &never), Ok((0, false)));
    });
}
