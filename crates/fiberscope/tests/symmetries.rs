//! Hidden symmetries: networks with planted mechanisms, networks without any, and ends that are proved.
use std::time::Duration;

use fiberscope::check::{Outcome, check};
use fiberscope::complex::ComplexOptions;
use fiberscope::dimension::{DimensionOptions, full_functional_dimension, list_regions};
use fiberscope::limit::Limit;
use fiberscope::rigidity::RigidityError;
use fiberscope::survey::{Measure, Plan, rows};
use fiberscope::symmetries::{HiddenSymmetries, Mechanism, Proof, SymmetryOptions, hidden_symmetries};
use fiberscope::train::{Initialization, initial_network};
use fiberscope::{Claim, Deadline, Domain, Network, Neuron};

fn found(network: &Network, domain: &Domain) -> HiddenSymmetries {
    let found = hidden_symmetries(network, domain, &SymmetryOptions::new()).unwrap();
    assert_ends(&found, network);
    found
}

/// Every end is another network, and its certificate is accepted.
fn assert_ends(found: &HiddenSymmetries, network: &Network) {
    for symmetry in &found.found {
        let Some(end) = &symmetry.end else { continue };
        assert_ne!(&end.network, network, "{:?}", symmetry.mechanism);
        match &end.proof {
            Proof::Equal { certificate, .. } => {
                let Outcome::Proved(claim) = check(certificate, network, &end.network) else { panic!() };
                assert_eq!(claim, Claim::Equivalent);
            }
            Proof::Within { certificate, .. } => {
                assert!(matches!(check(certificate, network, &end.network), Outcome::Proved(_)));
            }
            _ => {}
        }
    }
}

/// The dimensions of the mechanisms, in the order of the catalogue, those with none left out.
fn explained(found: &HiddenSymmetries) -> Vec<(&'static str, usize)> {
    let of = Mechanism::ALL.map(|each| (each.name(), found.explained_by(each)));
    of.into_iter().filter(|(_, dimensions)| *dimensions > 0).collect()
}

fn all_proved_equal(found: &HiddenSymmetries) -> bool {
    let equal = |end: &fiberscope::symmetries::End| matches!(end.proof, Proof::Equal { .. });
    found.is_decided() && found.found.iter().all(|each| each.end.as_ref().is_some_and(equal))
}

fn square(low: f64, high: f64) -> Domain {
    Domain::from_bounds(&[(low, high); 2]).unwrap()
}

#[test]
fn what_is_locally_identifiable_has_none() {
    let network =
        Network::from_rows(&[(&[&[1.0, 0.5], &[0.25, -1.0]], &[0.5, 0.25]), (&[&[1.0, -2.0]], &[0.5])])
            .unwrap();
    let found = found(&network, &Domain::Space);
    assert_eq!((found.gap, found.found.len(), found.certain), (Some(0), 0, 0));
    assert!(found.rigidity.is_proved() && found.is_decided());
}

/// `relu(relu(x) - 3 relu(-x) - 1/2)`: where `relu(-x)` is on, the second layer is off. The bend of `relu(x)` is
/// seen nowhere.
#[test]
fn unseen_neurons_and_hidden_bends() {
    let network = Network::from_rows(&[
        (&[&[1.0], &[-1.0]], &[0.25, 0.125]),
        (&[&[1.0, -3.0]], &[-0.5]),
        (&[&[2.0]], &[0.75]),
    ])
    .unwrap();
    let found = found(&network, &Domain::Space);
    // The function has a slope, a breakpoint and a constant: 9 parameters, 3 scalings, rank 3.
    assert_eq!((found.gap, found.complete), (Some(3), true));
    assert_eq!(explained(&found), [("unseen", 2), ("hidden", 1)]);
    assert!(all_proved_equal(&found), "{:?}", found.found);
    assert_eq!(found.found[0].neurons, [Neuron { layer: 0, unit: 1 }]);
}

/// The first neuron of the second layer is on only where the second input neuron is off.
#[test]
fn idle_weights() {
    let network = Network::from_rows(&[
        (&[&[1.0], &[-1.0]], &[0.0625, 0.25]),
        (&[&[1.0, -3.0], &[-1.0, 2.0]], &[-0.5, 0.125]),
        (&[&[1.0, 2.0]], &[0.5]),
    ])
    .unwrap();
    let found = found(&network, &Domain::Space);
    assert!(found.explained_by(Mechanism::Idle) >= 1, "{:?}", explained(&found));
    let idle = found.found.iter().find(|each| each.mechanism == Mechanism::Idle).unwrap();
    assert_eq!(idle.neurons, [Neuron { layer: 1, unit: 0 }]);
    assert_eq!(idle.directions[0][0].0.input, 1);
    assert!(matches!(idle.end.as_ref().unwrap().proof, Proof::Equal { .. }));
}

/// On the box both neurons of the first layer are always on: two biases and two mixtures.
#[test]
fn linear_neurons() {
    let network = Network::from_rows(&[
        (&[&[1.0, 0.5], &[0.25, -1.0]], &[4.0, 4.0]),
        (&[&[1.0, -1.0]], &[0.25]),
        (&[&[1.5]], &[0.5]),
    ])
    .unwrap();
    let found = found(&network, &square(-1.0, 1.0));
    // relu(a x + c) k + b: four numbers; 6 + 3 + 2 parameters, 3 scalings.
    assert_eq!(found.gap, Some(4));
    assert_eq!(explained(&found), [("linear", 4)]);
    assert!(all_proved_equal(&found));
}

/// On `[-1, 1]^2`, `relu(relu(x) + relu(y) - 3/2)` is on only where both neurons are.
#[test]
fn twins_behind_a_mask() {
    let network = Network::from_rows(&[
        (&[&[1.0, 0.0], &[0.0, 1.0]], &[0.0, 0.0]),
        (&[&[1.0, 1.0]], &[-1.5]),
        (&[&[1.0]], &[0.0]),
    ])
    .unwrap();
    let found = found(&network, &square(-1.0, 1.0));
    assert_eq!(found.gap, Some(4));
    assert_eq!(explained(&found), [("hidden", 2), ("twins", 2)]);
    assert!(all_proved_equal(&found), "{:?}", found.found);
}

#[test]
fn proportional_neurons() {
    let network = Network::from_rows(&[
        (&[&[1.0, 2.0], &[2.0, 4.0], &[1.0, -1.0]], &[0.5, 1.0, 0.25]),
        (&[&[1.0, 0.5, 1.0], &[2.0, -0.25, 1.0]], &[0.25, 0.5]),
    ])
    .unwrap();
    let found = found(&network, &Domain::Space);
    // One share for each of the two outputs.
    assert_eq!(found.explained_by(Mechanism::Proportional), 2, "{:?}", explained(&found));
    assert!(found.certain >= 2);
    assert!(all_proved_equal(&found));
}

/// The first neuron of the second layer counts only where all three of the first are on; they read one input, so that
/// two equations hold between them and the constant there. The second neuron sees their bends.
#[test]
fn dependent_inputs() {
    let network = Network::from_rows(&[
        (&[&[1.0], &[1.0], &[1.0]], &[0.0, -1.0, -2.0]),
        (&[&[1.0, 1.0, 1.0], &[1.0, -2.0, 1.5]], &[-10.0, 1.0]),
        (&[&[1.0, 1.0]], &[0.5]),
    ])
    .unwrap();
    let found = found(&network, &Domain::Space);
    assert_eq!(found.explained_by(Mechanism::Dependent), 2, "{:?}", explained(&found));
    let dependent = found.found.iter().find(|each| each.mechanism == Mechanism::Dependent).unwrap();
    assert_eq!(dependent.neurons, [Neuron { layer: 1, unit: 0 }]);
    let sum: usize = explained(&found).iter().map(|(_, dimensions)| dimensions).sum();
    assert_eq!(Some(sum), found.gap);
    assert!(found.is_decided());
}

/// Random networks, by their seeds: in one, changes of weights from a neuron cancel; in the other something moves that
/// no mechanism explains, and is handed over as it is.
#[test]
fn balanced_weights_and_what_is_not_recognised() {
    for (seed, mechanism) in [(2, Mechanism::Balanced), (17, Mechanism::Unrecognised)] {
        let network = initial_network(&[3, 3, 3, 2, 2, 1], Initialization::He, false, seed);
        let found = found(&network, &Domain::Space);
        assert!(found.explained_by(mechanism) >= 1, "{seed}: {:?}", explained(&found));
        let one = found.found.iter().find(|each| each.mechanism == mechanism).unwrap();
        assert!(one.neurons.len() > 1 && one.dimensions == 1, "{:?}", one.neurons);
    }
}

/// The dimensions add up to the parameters less scalings and the rank on all regions, whose computation shares no
/// code with this one.
#[test]
fn random_networks_are_explained() {
    let mut decided = 0;
    for (widths, seeds) in [(&[3, 3, 3, 2, 2, 1][..], 0..5), (&[2, 3, 3, 1], 0..5), (&[2, 2, 2, 2, 2], 0..5)]
    {
        for seed in seeds {
            let network = initial_network(widths, Initialization::He, false, seed);
            let options = SymmetryOptions::new().patience(Duration::from_secs(2));
            let found = hidden_symmetries(&network, &Domain::Space, &options).unwrap();
            assert_ends(&found, &network);
            let regions = list_regions(&network, &Domain::Space, &ComplexOptions::new()).unwrap().unwrap();
            let whole = full_functional_dimension(&network, &regions, &DimensionOptions::new()).rank;
            let gap = network.parameter_count() - whole.value().unwrap() - found.scalings;
            assert_eq!(found.gap, Some(gap), "{widths:?} {seed}");
            let sum: usize = found.found.iter().map(|each| each.dimensions).sum();
            assert_eq!(sum, gap, "{widths:?} {seed}");
            decided += usize::from(found.is_decided());
        }
    }
    assert!(decided >= 11, "{decided} of 15 are decided");
}

#[test]
fn surveys_count_mechanisms() {
    let measures = [Measure::Gap, Measure::GapDead, Measure::GapIdle, Measure::GapUnrecognised].to_vec();
    let plan = Plan::new(vec![vec![2, 3, 2, 1]], 20, measures).unwrap();
    let rows = rows(&plan, &plan.tasks()[0], &Deadline::NEVER).unwrap();
    for row in rows {
        let network = plan.network(0, row.seed);
        let found = hidden_symmetries(&network, &Domain::Space, &SymmetryOptions::new().ends(false)).unwrap();
        let of = |mechanism| Some(found.explained_by(mechanism) as f64);
        let expected = [
            found.gap.map(|gap| gap as f64),
            of(Mechanism::Dead),
            of(Mechanism::Idle),
            of(Mechanism::Unrecognised),
        ];
        assert_eq!(row.values, expected, "{}", row.seed);
    }
}

#[test]
fn limits_and_sizes_are_told() {
    let network = initial_network(&[3, 3, 3, 2, 2, 1], Initialization::He, false, 0);
    let late = SymmetryOptions::new().deadline(Deadline::after(Some(Duration::ZERO)));
    let found = hidden_symmetries(&network, &Domain::Space, &late).unwrap();
    assert_eq!((found.gap, found.limit), (None, Some(Limit::Time)));
    assert!(!found.is_decided());
    let large = initial_network(&[10, 60, 60, 1], Initialization::He, false, 0);
    let refused = hidden_symmetries(&large, &Domain::Space, &SymmetryOptions::new());
    assert!(matches!(refused, Err(RigidityError::TooLarge(_))));
}

/// Without a list of regions, the points of the rank stand for it, and paths that fail add what they miss.
#[test]
fn paths_raise_the_rank() {
    let mut learned = 0;
    for seed in 0..6 {
        let network = initial_network(&[2, 4, 4, 1], Initialization::He, false, seed);
        let options = SymmetryOptions::new().regions(1).patience(Duration::from_secs(2));
        let found = hidden_symmetries(&network, &Domain::Space, &options).unwrap();
        assert_ends(&found, &network);
        assert!(!found.complete);
        let certificate = found.rigidity.certificate.as_ref().unwrap();
        assert!(matches!(check(certificate, &network, &network), Outcome::Proved(_)));
        learned += found.learned;
        let whole = hidden_symmetries(&network, &Domain::Space, &SymmetryOptions::new().ends(false)).unwrap();
        assert!(found.gap >= whole.gap, "{seed}: {:?} {:?}", found.gap, whole.gap);
    }
    assert!(learned < 6 * 64);
}
