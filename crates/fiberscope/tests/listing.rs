//! Cells that are listed late, and explorations, against cells that are all listed at once and counts.
use crate::common;

use std::time::Duration;

use common::complexes::{cube, random, random_degenerate};
use fiberscope::Deadline;
use fiberscope::complex::{
    BreakpointComplex, Built, CellCounts, ComplexOptions, CountOutcome, Exploration, PolyhedralComplex,
    count_cells, explore_breakpoints, explore_cells, explore_in_tiles,
};
use fiberscope::core::{Activation, Domain, Layer, Matrix, Network};

fn build(network: &Network, domain: &Domain, options: &ComplexOptions) -> PolyhedralComplex {
    match PolyhedralComplex::build(network, domain, options).unwrap() {
        Built::Complete(complex) => *complex,
        Built::Stopped { .. } => panic!("there is no limit"),
    }
}

/// Networks in general position and others: coincident hyperplanes, zero rows, duplicates.
fn networks() -> Vec<(Network, Domain)> {
    let shapes: [&[usize]; 7] = [
        &[1, 4, 3, 1],
        &[2, 5, 4, 2],
        &[2, 3, 3, 3, 1],
        &[3, 5, 3, 1],
        &[4, 5, 3, 1],
        &[5, 4, 3, 1],
        &[3, 1, 2, 1],
    ];
    let mut all = Vec::new();
    for (seed, shape) in shapes.iter().enumerate() {
        for network in [random(shape, seed as u64), random_degenerate(shape, seed as u64)] {
            all.push((network.clone(), cube(shape[0])));
            all.push((network, Domain::Space));
        }
    }
    all
}

/// The cells one by one, so that nothing depends on how they were counted.
fn counted(complex: &PolyhedralComplex) -> Vec<u64> {
    let number = |k: usize| complex.cells(k).filter(|cell| !cell.is_artificial()).count() as u64;
    let own = (0..=complex.factor_dimension()).map(number);
    std::iter::repeat_n(0, complex.dimension() - complex.factor_dimension()).chain(own).collect()
}

#[test]
fn cells_that_are_listed_late_are_the_same() {
    for (number, (network, domain)) in networks().iter().enumerate() {
        let eager = build(network, domain, &ComplexOptions::new());
        assert_eq!(eager.counts().all, counted(&eager), "{number}");
        let d = eager.factor_dimension();
        for codimension in 0..=d {
            let late = build(network, domain, &ComplexOptions::new().codimension(codimension));
            assert_eq!(late.counts(), eager.counts());
            // From the regions down, so that the lower ones are looked at last.
            for k in (0..=d).rev() {
                assert_eq!(late.cells(k).len(), eager.cells(k).len(), "{number}, {k}");
                for (a, b) in late.cells(k).zip(eager.cells(k)) {
                    assert_eq!(a.signs(), b.signs(), "{number}, {k}");
                    assert_eq!((a.facets(), a.cofacets()), (b.facets(), b.cofacets()), "{number}, {k}");
                    assert_eq!((a.is_on_boundary(), a.is_bounded()), (b.is_on_boundary(), b.is_bounded()));
                    assert_eq!(a.vertices(), b.vertices(), "{number}, {k}");
                }
            }
        }
    }
}

#[test]
fn two_codimensions_are_enough_for_weights() {
    for (number, (network, domain)) in networks().iter().enumerate() {
        let of = |options: &ComplexOptions| {
            let breakpoints = BreakpointComplex::new(&build(network, domain, options), options).unwrap();
            format!("{breakpoints:?}")
        };
        assert_eq!(of(&ComplexOptions::new().codimension(2)), of(&ComplexOptions::new()), "{number}");
    }
}

/// The numbers of facets that were weighed without a list of the cells are those of the list.
#[test]
fn breakpoints_are_the_same_without_a_list() {
    let deeper: [&[usize]; 4] = [&[2, 6, 5, 4, 5, 2], &[3, 5, 4, 4, 1], &[4, 5, 3, 3, 6], &[2, 70, 9, 1]];
    let mut all = networks();
    for (seed, shape) in deeper.iter().enumerate() {
        all.push((random(shape, seed as u64), cube(shape[0])));
    }
    // Paths through the second layer cancel: what the first neuron does is seen nowhere.
    let rows = |rows: &[&[f64]]| Matrix::from_rows(rows).unwrap();
    let relu = |weight: &[&[f64]], bias: &[f64]| Layer::new(rows(weight), bias.to_vec(), Activation::Relu);
    let hidden = Network::new(vec![
        relu(&[&[1.0, 0.25], &[0.5, -1.0], &[-0.75, 0.5]], &[0.1, 0.2, 0.3]),
        relu(&[&[1.0, 0.5, 0.25], &[-1.0, 0.5, -0.5], &[0.0, -0.5, 1.0]], &[8.0, 8.0, 0.125]),
        Layer::new(rows(&[&[1.0, 1.0, 1.0]]), vec![0.0], Activation::Identity),
    ]);
    all.push((hidden.unwrap(), cube(2)));
    for (number, (network, domain)) in all.iter().enumerate() {
        let options = ComplexOptions::new();
        let complex = build(network, domain, &options);
        let listed = BreakpointComplex::new(&complex, &options).unwrap().numbers(&complex);
        let found = explore_breakpoints(network, domain, u64::MAX, &options).unwrap();
        let Exploration::Weighed { counts, method, mut numbers } = found else {
            panic!("{number}: no limit")
        };
        assert_eq!((counts, method), (complex.counts(), complex.method()), "{number}");
        assert!(numbers.imbalance < 1e-6 && listed.imbalance < 1e-6, "{number}: {}", numbers.imbalance);
        assert!(numbers.disagreement < 1e-6 && listed.disagreement < 1e-6, "{number}");
        (numbers.imbalance, numbers.disagreement) = (listed.imbalance, listed.disagreement);
        assert_eq!(numbers, listed, "{number}");
    }
    let late = ComplexOptions::new().deadline(Deadline::after(Some(Duration::ZERO)));
    let found = explore_breakpoints(&all[0].0, &all[0].1, u64::MAX, &late).unwrap();
    assert!(matches!(found, Exploration::Stopped { .. }));
}

#[test]
fn explorations_agree_with_counts() {
    for (number, (network, domain)) in networks().iter().enumerate() {
        let CountOutcome::Complete { counts, method } =
            count_cells(network, domain, &ComplexOptions::new()).unwrap()
        else {
            panic!("there is no limit")
        };
        let regions = counts.regions();
        let explore = |listed: u64| {
            let options = ComplexOptions::new();
            [
                explore_cells(network, domain, listed, &options).unwrap(),
                explore_in_tiles(network, domain, listed, &options).unwrap(),
            ]
        };
        for found in explore(regions) {
            let Exploration::Listed(complex) = found else { panic!("{number}: few enough") };
            assert_eq!((complex.counts(), complex.method()), (counts.clone(), method), "{number}");
        }
        for found in explore(regions - 1) {
            let Exploration::Counted { counts: found, method: how } = found else {
                panic!("{number}: too many")
            };
            assert_eq!((found, how), (counts.clone(), method), "{number}");
        }
    }
}

#[test]
fn explorations_keep_their_limits() {
    let network = random(&[3, 30, 30, 1], 5);
    let few = ComplexOptions::new().regions(200);
    let found = explore_cells(&network, &cube(3), 1_000_000, &few).unwrap();
    let Exploration::Stopped { regions, counts, .. } = found else { panic!("200 regions are not enough") };
    assert!((200..2000).contains(&regions) && counts.is_none(), "{regions}");
    let late = ComplexOptions::new().deadline(Deadline::after(Some(Duration::ZERO)));
    let found = explore_cells(&network, &cube(3), 1_000_000, &late).unwrap();
    assert!(matches!(found, Exploration::Stopped { counts: None, .. }));
    let none: Option<CellCounts> = None;
    assert!(
        matches!(explore_in_tiles(&network, &cube(3), 9, &late).unwrap(), Exploration::Stopped { counts, .. } if counts == none)
    );
}
