//! Local identifiability: what is proved, and that the rank is that of the Jacobian.
use fiberscope::check::{Outcome, check};
use fiberscope::complex::ComplexOptions;
use fiberscope::dimension::{DimensionOptions, full_functional_dimension, list_regions};
use fiberscope::fiber::symmetries;
use fiberscope::limit::Limit;
use fiberscope::rigidity::{RigidityError, RigidityOptions, rigidity};
use fiberscope::train::{Initialization, Samples, Task, TrainOptions, Trainer, initial_network};
use fiberscope::{Claim, Deadline, Domain, Network};
use fiberscope_io::zoo;

fn random(widths: &[usize], seed: u64) -> Network {
    initial_network(widths, Initialization::He, false, seed)
}

/// The rank found is at most that on all regions, and together with the symmetries never more than the parameters;
/// where it is smaller, that is said.
#[test]
fn ranks_are_those_of_the_jacobian() {
    let (mut proved, mut reached, mut all) = (0, 0, 0);
    for widths in [&[2, 3, 1][..], &[3, 3, 2, 1], &[2, 4, 3, 2], &[2, 3, 3, 3, 1], &[1, 4, 3, 1]] {
        for seed in 0..12 {
            let network = random(widths, seed);
            let found = rigidity(&network, &Domain::Space, &RigidityOptions::new()).unwrap();
            let regions = list_regions(&network, &Domain::Space, &ComplexOptions::new()).unwrap().unwrap();
            let whole = full_functional_dimension(&network, &regions, &DimensionOptions::new()).rank;
            let known = symmetries(&network.to_exact(), &Domain::Space);
            assert!(found.rank <= whole.upper, "{widths:?} {seed}: {} {whole:?}", found.rank);
            assert!(known.dimension <= found.parameters - found.rank, "{widths:?} {seed}");
            assert_eq!(found.scalings, widths[1..widths.len() - 1].iter().sum::<usize>());
            all += 1;
            reached += usize::from(found.rank == whole.lower);
            proved += usize::from(found.is_proved());
            let certificate = found.certificate.as_ref().unwrap();
            let Outcome::Proved(claim) = check(certificate, &network, &network) else { panic!("{widths:?}") };
            let upper = (found.parameters - found.rank) as u64;
            assert_eq!(claim, Claim::FiberDimension { upper, scalings: found.scalings as u64 });
        }
    }
    assert!(
        proved >= 12 && reached * 10 >= all * 9,
        "{proved} proved, {reached} of {all} reach the rank of all regions"
    );
}

/// A trained network of ordinary widths, where random points stop early: 8-32-32-1 has 1,313 = 1,377 - 64.
#[test]
fn ordinary_widths_are_proved() {
    let network = random(&[8, 32, 32, 1], 1);
    let found = rigidity(&network, &Domain::Space, &RigidityOptions::new()).unwrap();
    assert_eq!((found.parameters, found.scalings), (1377, 64));
    assert!(found.is_proved(), "rank {} open {:?}", found.rank, found.open);
}

/// Two neurons of this one are on together only at the end of a narrow ridge, where climbs along gradients do not come.
#[test]
fn a_trained_network_is_proved() {
    let options = TrainOptions::paper(&[8, 32, 32, 1], 100).batch(64);
    let (inputs, targets) = Task::from_name("heating").unwrap().samples();
    let samples = Samples::<f64>::new(&inputs, &targets);
    let mut trainer = Trainer::new(&options, &samples, 1);
    (0..100).for_each(|_| _ = trainer.run_epoch(&Deadline::NEVER));
    let network = trainer.network().unwrap();
    let found = rigidity(&network, &Domain::Space, &RigidityOptions::new()).unwrap();
    assert!(found.is_proved(), "rank {} open {:?}", found.rank, found.open);
}

#[test]
fn what_has_symmetries_is_not_proved() {
    for name in ["dead", "duplicate", "hiding-one", "hiding-two", "linear-many", "cancelling", "unconnected"]
    {
        let network = zoo::network(name).unwrap().network;
        let found = rigidity(&network, &Domain::Space, &RigidityOptions::new()).unwrap();
        assert!(!found.is_proved(), "{name}");
        let known = symmetries(&network.to_exact(), &Domain::Space);
        assert!(found.parameters - found.rank >= known.dimension, "{name}");
    }
}

#[test]
fn points_stay_in_the_box() {
    let network = zoo::network("identifiable").unwrap().network;
    let wide = Domain::from_bounds(&[(-8.0, 8.0); 2]).unwrap();
    assert!(rigidity(&network, &wide, &RigidityOptions::new()).unwrap().is_proved());
    // A box inside one linear region shows an affine function and no more.
    let small = Domain::from_bounds(&[(10.0, 10.25), (0.0, 0.25)]).unwrap();
    let found = rigidity(&network, &small, &RigidityOptions::new()).unwrap();
    assert!(!found.is_proved() && found.rank <= 3, "{}", found.rank);
    let flat = Domain::from_bounds(&[(0.0, 1.0), (0.5, 0.5)]).unwrap();
    assert!(matches!(rigidity(&network, &flat, &RigidityOptions::new()), Err(RigidityError::Domain(_))));
}

#[test]
fn limits_and_other_activations() {
    let network = random(&[8, 32, 32, 1], 2);
    let over = Deadline::after(Some(std::time::Duration::ZERO));
    let found = rigidity(&network, &Domain::Space, &RigidityOptions::new().deadline(over)).unwrap();
    assert_eq!((found.certificate, found.rank, found.limit), (None, 0, Some(Limit::Time)));
    let linear = zoo::network("linear-network").unwrap().network;
    assert!(matches!(
        rigidity(&linear, &Domain::Space, &RigidityOptions::new()),
        Err(RigidityError::NotRelu(1))
    ));
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let network = random(&[3, 6, 5, 2], 3);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| rigidity(&network, &Domain::Space, &RigidityOptions::new()).unwrap())
    };
    assert_eq!(with(1), with(3));
}
