//! Exports against what they describe: points of fibers against the equations that are written of them, and
//! files of polyhedral geometry against the network, number by number.
use std::sync::Arc;

use fiberscope::complex::{Built, ComplexOptions, PolyhedralComplex};
use fiberscope::fiber::{FiberSampler, Ground};
use fiberscope::limit::Deadline;
use fiberscope::train::{Initialization, initial_network};
use fiberscope_core::{Domain, ExactNetwork, Interval, Move, Network, Rational};
use fiberscope_io::zoo;
use fiberscope_report::export::{CellComplex, Piece, Program, System};
use fiberscope_report::fiber::{Subject, system};
use fiberscope_report::regions::{ComplexView, cell_complex};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

fn subject(name: &str, network: Network, ground: Ground) -> Subject {
    Subject::new(name.into(), network, ground, Deadline::NEVER, 0)
}

/// All orders of `n` things.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![vec![]];
    }
    let insert = |order: Vec<usize>| {
        (0..n).map(move |at| [&order[..at], &[n - 1], &order[at..]].concat()).collect::<Vec<_>>()
    };
    orders(n - 1).into_iter().flat_map(insert).collect()
}

/// Whether a parameter with its neurons in some order satisfies the equations and inequalities of a piece.
fn lies_in(piece: &Piece, variables: usize, network: &ExactNetwork) -> bool {
    let mut all = vec![network.clone()];
    for layer in 0..network.hidden_depth() {
        let width = network.layers()[layer].width();
        let turned = |network: &ExactNetwork| {
            let permuted = |order: Vec<usize>| {
                let mut network = network.clone();
                Move::Permute { layer, order }.apply(&mut network, &Domain::Space).unwrap();
                network
            };
            orders(width).into_iter().map(permuted).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(turned).collect();
    }
    all.iter().any(|network| {
        let layers = network.layers().iter();
        let mut point: Vec<Rational> =
            layers.flat_map(|layer| [layer.weight().entries(), layer.bias()].concat()).collect();
        if variables > point.len() {
            // The translation, from an equation in which it stands.
            point.push(Rational::ZERO);
            let at = point.len() - 1;
            let mut moved = point.clone();
            moved[at] = Rational::ONE;
            let ends = piece.equations.iter().map(|each| (each.value(&point), each.value(&moved)));
            let Some((zero, one)) = ends.into_iter().find(|(zero, one)| zero != one) else { return false };
            point[at] = &zero / &(&zero - &one);
        }
        piece.equations.iter().all(|each| each.value(&point).is_zero())
            && piece.positive.iter().all(|each| each.value(&point).is_positive())
            && piece.nonnegative.iter().all(|each| !each.value(&point).is_negative())
    })
}

/// Holds what is written of a fiber against random points of it, and against parameters beside it.
fn compare(subject: &Subject, points: usize) -> usize {
    let fiber = subject.fiber.as_ref().unwrap();
    let written: System = system(subject, 12).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut compared = 0;
    if let Some((theta, own)) = &written.point {
        assert!(
            written.pieces[*own].equations.iter().all(|each| each.value(theta).is_zero()),
            "{}",
            subject.name
        );
        assert!(written.pieces[*own].positive.iter().all(|each| each.value(theta).is_positive()));
    }
    let components = fiber.components().filter(|component| !component.is_empty());
    for (component, piece) in components.zip(&written.pieces) {
        let Ok(sampler) = FiberSampler::new(fiber, &component.piece()) else { continue };
        for _ in 0..points {
            let Some(point) = sampler.sample(&mut rng).filter(|point| point.exact) else { continue };
            let exact = point.network.to_exact();
            assert!(lies_in(piece, written.variables.len(), &exact), "{}: {}", subject.name, piece.title);
            let elsewhere =
                written.pieces.iter().filter(|other| lies_in(other, written.variables.len(), &exact));
            assert_eq!(elsewhere.count(), 1, "{}: {} and another one", subject.name, piece.title);
            compared += 1;
            // The output bias belongs to no neuron: with another one the function is another one.
            let mut layers = point.network.layers().to_vec();
            let (weight, mut bias, activation) = layers.pop().unwrap().into_parts();
            bias[0] += 0.5;
            layers.push(fiberscope_core::Layer::new(weight, bias, activation));
            let beside = Network::new(layers).unwrap().to_exact();
            assert!(!written.pieces.iter().any(|each| lies_in(each, written.variables.len(), &beside)));
        }
    }
    compared
}

#[test]
fn points_of_fibers_satisfy_what_is_written_of_their_piece() {
    let mut compared = 0;
    for entry in zoo::entries() {
        let network = zoo::network(&entry.name).unwrap().network;
        let small = network.widths()[1..].iter().all(|&width| width <= 4) && network.hidden_depth() <= 2;
        if !small || network.hidden_depth() == 0 {
            continue;
        }
        for ground in [Ground::Space, Ground::Orthant] {
            let subject = subject(&entry.name, network.clone(), ground);
            if subject.fiber.is_ok() {
                compared += compare(&subject, 3);
            }
        }
    }
    for seed in 0..12 {
        let network = initial_network(&[3, 3, 2, 1], Initialization::Torch, false, seed);
        let subject = subject("random", network, Ground::Space);
        if subject.fiber.is_ok() {
            compared += compare(&subject, 2);
        }
    }
    assert!(compared >= 40, "{compared} points");
}

/// Points and rays (first entry 1 or 0), cells, lineality.
type Numbers = (Vec<Vec<Rational>>, Vec<Vec<usize>>, Vec<Vec<Rational>>);

/// The numbers of a polymake file.
fn read_polymake(text: &[u8]) -> Numbers {
    let value: Value = serde_json::from_slice(text).unwrap();
    let rows = |name: &str| {
        let rows = value[name].as_array().unwrap().iter().filter(|row| row.is_array());
        let number = |x: &Value| x.as_str().unwrap().parse::<Rational>().unwrap();
        rows.map(|row| row.as_array().unwrap().iter().map(number).collect()).collect::<Vec<Vec<Rational>>>()
    };
    let cells = value["INPUT_POLYTOPES"].as_array().unwrap().iter().filter(|row| row.is_array());
    let cell = |row: &Value| row.as_array().unwrap().iter().map(|x| x.as_u64().unwrap() as usize).collect();
    (rows("POINTS"), cells.map(cell).collect(), rows("INPUT_LINEALITY"))
}

/// The numbers of a script for Oscar: the same, rays told by the list of far ones.
fn read_oscar(text: &str) -> Numbers {
    let section = |start: &str, end: &str| {
        text.split(start).nth(1).map(|rest| rest.split(end).next().unwrap()).unwrap_or("")
    };
    let list = |line: &str| -> Vec<usize> {
        let inside = line.trim().trim_end_matches(',').trim_start_matches('[').trim_end_matches(']');
        inside.split(',').filter_map(|x| x.parse::<usize>().ok()).map(|x| x - 1).collect()
    };
    let rows = |text: &str| {
        let lines = text.lines().filter(|line| line.contains("//"));
        let number = |x: &str| x.trim().replace("//", "/").parse::<Rational>().unwrap();
        let row = |line: &str| line.trim_end_matches(',').split(',').map(number).collect();
        lines.map(row).collect::<Vec<Vec<Rational>>>()
    };
    let far = list(section("far = Int", "\n"));
    let mut points = rows(section("vertices_and_directions = ", "])"));
    for (at, point) in points.iter_mut().enumerate() {
        point.insert(0, if far.contains(&at) { Rational::ZERO } else { Rational::ONE });
    }
    let cells = section("IncidenceMatrix([\n", "])").lines().map(list).collect();
    let mut lineality = rows(section("lineality = ", "])"));
    lineality.iter_mut().for_each(|row| row.insert(0, Rational::ZERO));
    (points, cells, lineality)
}

/// All pre-activations at a point.
fn values(network: &ExactNetwork, x: &[Rational]) -> Vec<Rational> {
    let mut all = Vec::new();
    let mut a = x.to_vec();
    for layer in network.hidden_layers() {
        let z: Vec<Rational> = layer
            .weight()
            .iter_rows()
            .zip(layer.bias())
            .map(|(row, b)| row.iter().zip(&a).map(|(w, a)| w * a).sum::<Rational>() + b)
            .collect();
        a = z.iter().map(|z| if z.is_negative() { Rational::ZERO } else { z.clone() }).collect();
        all.extend(z);
    }
    all
}

/// Every corner of a region has, weakly, the signs of a point inside it, and where the region goes on for ever
/// it keeps them.
fn check_complex(network: &Network, domain: &Domain) -> (usize, usize) {
    let built = PolyhedralComplex::build(network, domain, &ComplexOptions::new()).unwrap();
    let Built::Complete(complex) = built else { panic!("there was no limit") };
    let view = ComplexView {
        name: "n".into(),
        network: Arc::new(network.clone()),
        domain: domain.clone(),
        axes: None,
    };
    let cells: CellComplex = cell_complex(&view, &complex, &Deadline::NEVER).unwrap();
    let (mut polymake, mut oscar) = (Vec::new(), Vec::new());
    cells.write_polymake(&mut polymake).unwrap();
    cells.write_oscar(&mut oscar).unwrap();
    let read = read_polymake(&polymake);
    assert_eq!(read, read_oscar(std::str::from_utf8(&oscar).unwrap()));
    let (points, regions, lineality) = read;
    assert_eq!(regions.len() as u64, complex.counts().regions());
    let exact = network.to_exact();
    for direction in &lineality {
        let still = exact.layers()[0]
            .weight()
            .iter_rows()
            .all(|row| row.iter().zip(&direction[1..]).map(|(w, x)| w * x).sum::<Rational>().is_zero());
        assert!(still && direction.iter().any(|x| !x.is_zero()));
    }
    let mut patterns = std::collections::BTreeSet::new();
    for region in &regions {
        let corners: Vec<&Vec<Rational>> = region.iter().map(|&at| &points[at]).collect();
        let (rays, ends): (Vec<&Vec<Rational>>, Vec<_>) = corners.into_iter().partition(|x| x[0].is_zero());
        assert!(!ends.is_empty());
        let share = Rational::from(ends.len() as i64).recip().unwrap();
        let mean = |i: usize| &ends.iter().map(|x| x[i].clone()).sum::<Rational>() * &share;
        let far = |i: usize| rays.iter().map(|x| x[i].clone()).sum::<Rational>();
        let inside: Vec<Rational> = (1..points[0].len()).map(|i| &mean(i) + &far(i)).collect();
        let signs: Vec<i8> = values(&exact, &inside).iter().map(Rational::signum).collect();
        for end in &ends {
            let at = values(&exact, &end[1..]);
            assert!(at.iter().zip(&signs).all(|(z, sign)| z.is_zero() || z.signum() == *sign));
            for ray in &rays {
                let along: Vec<Rational> = end[1..]
                    .iter()
                    .zip(&ray[1..])
                    .map(|(x, y)| x + &(y * &Rational::from(1_000_003)))
                    .collect();
                let on = values(&exact, &along);
                assert!(on.iter().zip(&signs).all(|(z, sign)| z.is_zero() || z.signum() == *sign));
            }
        }
        patterns.insert(signs);
    }
    assert_eq!(patterns.len(), regions.len(), "regions have different signs");
    (regions.len(), points.len())
}

#[test]
fn files_of_complexes_hold_exact_vertices_of_all_regions() {
    let mut regions = 0;
    let side =
        |lo: i64, hi: i64| Interval { lower: Some(Rational::from(lo)), upper: Some(Rational::from(hi)) };
    for seed in 0..8 {
        for widths in [&[1, 4, 1][..], &[2, 4, 3, 1], &[2, 3, 2, 2, 1], &[3, 2, 2, 1], &[3, 4, 1], &[4, 2, 1]]
        {
            let network = initial_network(widths, Initialization::He, false, seed);
            regions += check_complex(&network, &Domain::Space).0;
            regions += check_complex(&network, &Domain::Box(vec![side(-1, 2); widths[0]])).0;
        }
    }
    // Lines that meet in one point, in pairs that are parallel, and twice.
    for (rows, bias) in [
        (&[&[1.0, 0.0][..], &[0.0, 1.0], &[1.0, 1.0], &[1.0, -1.0]][..], &[0.0; 4][..]),
        (&[&[1.0, 0.0], &[1.0, 0.0], &[0.0, 1.0], &[0.0, 1.0]], &[0.0, -1.0, 0.0, 1.0]),
        (&[&[1.0, 1.0], &[2.0, 2.0], &[0.0, 1.0]], &[0.5, 1.0, 0.0]),
    ] {
        let ones = vec![1.0; rows.len()];
        let network = Network::from_rows(&[(rows, bias), (&[&ones], &[0.0])]).unwrap();
        regions += check_complex(&network, &Domain::Space).0;
    }
    assert!(regions > 500, "{regions}");
}

#[test]
fn files_name_every_piece_in_every_language() {
    let network = zoo::network("hiding-two").unwrap().network;
    let subject = subject("zoo:hiding-two", network, Ground::Space);
    let written = system(&subject, 32).unwrap();
    for program in [Program::Latex, Program::Sage, Program::Macaulay2] {
        let text = written.to_text(program);
        assert!(text.matches("piece ").count() >= written.pieces.len(), "{text}");
    }
    let [piece] = &written.pieces[..] else { panic!("one piece") };
    assert_eq!(piece.nonnegative.len(), 1, "t is at least t_min");
}
