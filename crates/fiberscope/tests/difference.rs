//! Laws of the certified difference: bounds contain what is sampled, small cases are exact, twins give the
//! same bounds, limits give bounds, and every certificate is accepted.
use crate::common;

use std::time::Duration;

use common::{edit, permute, random_network, rng, scale};
use fiberscope::check::{Outcome, check};
use fiberscope::difference::{
    Alignment, Decision, Difference, DifferenceError, DifferenceOptions, Ended, measure, ranges, within,
};
use fiberscope::equivalence::{EquivalenceOptions, Verdict, decide};
use fiberscope::limit::{Deadline, Progress, Stop};
use fiberscope::{Activation, Domain, Evidence, Layer, Matrix, Move, Network, Rational, SparseMatrix};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

fn doubles(network: &fiberscope::core::ExactNetwork) -> Network {
    let (network, exact) = network.to_f64().unwrap();
    assert!(exact);
    network
}

fn unit_box(inputs: usize) -> Domain {
    Domain::from_bounds(&vec![(-1.0, 1.0); inputs]).unwrap()
}

/// The network with every parameter moved by up to 1/32 of itself.
fn nudged(rng: &mut ChaCha8Rng, network: &fiberscope::core::ExactNetwork) -> fiberscope::core::ExactNetwork {
    edit(network, |_, _, _, x| &x + &(&x * &Rational::dyadic(rng.random_range(-8..=8), -8)))
}

fn sample(rng: &mut ChaCha8Rng, domain: &Domain, inputs: usize) -> Vec<Rational> {
    let sides = domain.sides(inputs);
    let part = |side: &fiberscope::Interval, rng: &mut ChaCha8Rng| {
        let (lower, upper) = (side.lower.clone().unwrap(), side.upper.clone().unwrap());
        &lower + &(&(&upper - &lower) * &Rational::dyadic(rng.random_range(0..=256), -8))
    };
    sides.iter().map(|side| part(side, rng)).collect()
}

/// Bounds are those of the largest difference as far as points can tell, and the certificate is accepted.
fn holds(rng: &mut ChaCha8Rng, a: &Network, b: &Network, domain: &Domain, found: &Difference) {
    let certificate = found.certificate.as_ref().expect("bounds are finite");
    let outcome = check(certificate, a, b);
    assert!(matches!(outcome, Outcome::Proved(_)), "{outcome:?}");
    let upper = found.upper.as_ref().unwrap();
    assert!(found.lower <= *upper);
    if let Some(worst) = &found.worst {
        assert!(domain.contains(&worst.x));
        assert_eq!(worst.a, a.evaluate_exact(&worst.x).unwrap());
        assert_eq!(worst.largest().1, found.lower);
    }
    for _ in 0..50 {
        let x = sample(rng, domain, a.input_width());
        let (of_a, of_b) = (a.evaluate_exact(&x).unwrap(), b.evaluate_exact(&x).unwrap());
        for (k, output) in found.outputs.iter().enumerate() {
            assert!((&of_a[k] - &of_b[k]).abs() <= *output.upper.as_ref().unwrap());
            assert!(output.lower <= *output.upper.as_ref().unwrap());
        }
    }
}

#[test]
fn bounds_contain_what_is_sampled() {
    let mut rng = rng(1);
    for widths in [&[2, 4, 1][..], &[3, 5, 4, 2], &[2, 3, 3, 3, 3], &[1, 2], &[4, 1, 6, 1]] {
        let exact = random_network(&mut rng, widths);
        let (a, b) = (doubles(&exact), doubles(&nudged(&mut rng, &exact)));
        let domain = unit_box(widths[0]);
        let found = measure(&a, &b, &domain, &DifferenceOptions::new()).unwrap();
        assert_eq!(found.ended, Ended::Reached);
        assert!(found.is_within_gap(0.1));
        holds(&mut rng, &a, &b, &domain, &found);
    }
}

/// The vertices of the arrangement of the neurons' lines and the sides of the box, where a piecewise linear
/// function has its maximum.
fn exact_maximum(a: &Network, b: &Network) -> Rational {
    let mut lines: Vec<[Rational; 3]> = Vec::new();
    let number = |x: f64| Rational::from_f64(x).unwrap();
    for network in [a, b] {
        let layer = &network.layers()[0];
        for (row, bias) in layer.weight().iter_rows().zip(layer.bias()) {
            lines.push([number(row[0]), number(row[1]), number(*bias)]);
        }
    }
    for (x, y, c) in [(1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)] {
        lines.push([x, y, c].map(Rational::from));
    }
    let domain = unit_box(2);
    let mut most = Rational::ZERO;
    for (i, [p, q, r]) in lines.iter().enumerate() {
        for [s, t, u] in &lines[..i] {
            let determinant = &(p * t) - &(q * s);
            let Some(inverse) = determinant.recip() else { continue };
            let x = vec![&(&(q * u) - &(r * t)) * &inverse, &(&(r * s) - &(p * u)) * &inverse];
            if domain.contains(&x) {
                let (of_a, of_b) = (a.evaluate_exact(&x).unwrap(), b.evaluate_exact(&x).unwrap());
                most = most.max((&of_a[0] - &of_b[0]).abs());
            }
        }
    }
    most
}

#[test]
fn small_networks_have_their_exact_maximum_between_the_bounds() {
    let mut rng = rng(2);
    for _ in 0..8 {
        let exact = random_network(&mut rng, &[2, 4, 1]);
        let (a, b) = (doubles(&exact), doubles(&nudged(&mut rng, &exact)));
        let most = exact_maximum(&a, &b);
        let found = measure(&a, &b, &unit_box(2), &DifferenceOptions::new().gap(0.01)).unwrap();
        assert!(found.lower <= most && most <= *found.upper.as_ref().unwrap());
        assert!(found.is_within_gap(0.01));
        // Both sides of the maximum are decided.
        let decide = |epsilon: Rational| {
            measure(&a, &b, &unit_box(2), &DifferenceOptions::new().epsilon(epsilon))
                .unwrap()
                .decision
                .unwrap()
        };
        assert_eq!(decide(&most * &Rational::dyadic(33, -5)), Decision::Within);
        assert_eq!(decide(&most * &Rational::dyadic(31, -5)), Decision::Exceeds);
    }
}

#[test]
fn networks_that_reduce_to_the_same_have_no_difference() {
    let mut rng = rng(11);
    for widths in [&[2, 5, 1][..], &[3, 5, 4, 2], &[2, 4, 4, 4, 1]] {
        let exact = random_network(&mut rng, widths);
        let domain = unit_box(widths[0]);
        // The first neuron twice, with three quarters and a quarter of its weights; a neuron that is never on.
        let first = &exact.layers()[0];
        let row: Vec<Rational> = first.weight().row(0).to_vec();
        let outputs = exact.layers()[1].weight().iter_rows().map(|row| row[0].clone());
        let quarter: Vec<Rational> = outputs.map(|w| &w * &"1/4".parse().unwrap()).collect();
        let mut layers = exact.layers().to_vec();
        let put = |layer: &Layer<Rational>, rows: Vec<Vec<Rational>>, bias: Vec<Rational>| {
            Layer::new(Matrix::from_rows(&rows).unwrap(), bias, layer.activation())
        };
        let mut rows: Vec<Vec<Rational>> = first.weight().iter_rows().map(<[Rational]>::to_vec).collect();
        rows.extend([row.clone(), vec![Rational::ONE; widths[0]]]);
        let mut bias = first.bias().to_vec();
        bias.extend([bias[0].clone(), Rational::from(-100)]);
        layers[0] = put(first, rows, bias);
        let behind = exact.layers()[1].weight().iter_rows().zip(&quarter).map(|(row, quarter)| {
            let mut row = row.to_vec();
            row[0] -= quarter;
            row.extend([quarter.clone(), Rational::ONE]);
            row
        });
        layers[1] = put(&exact.layers()[1], behind.collect(), exact.layers()[1].bias().to_vec());
        let other = permute(&mut rng, &fiberscope::core::ExactNetwork::new(layers).unwrap(), 0);
        let (a, b) = (doubles(&exact), doubles(&other));
        let found = measure(&a, &b, &domain, &DifferenceOptions::new()).unwrap();
        assert_eq!((found.upper.clone(), found.lower.clone()), (Some(Rational::ZERO), Rational::ZERO));
        holds(&mut rng, &a, &b, &domain, &found);
    }
}

#[test]
fn twins_are_aligned_first() {
    let mut rng = rng(3);
    for widths in [&[2, 6, 1][..], &[3, 5, 5, 2]] {
        let exact = random_network(&mut rng, widths);
        let changed = nudged(&mut rng, &exact);
        let mut twin = changed.clone();
        for layer in 0..widths.len() - 2 {
            let permuted = permute(&mut rng, &twin, layer);
            twin = scale(&mut rng, &permuted, layer);
            // A factor that is no power of two, and exact.
            let factors = (0..widths[layer + 1]).map(|_| Rational::from(3)).collect();
            let scaled = common::apply(&twin, &Domain::Space, Move::Scale { layer, factors });
            twin = scaled.to_f64().unwrap().0.to_exact();
        }
        let (a, b, twin) = (doubles(&exact), doubles(&changed), doubles(&twin));
        let domain = unit_box(widths[0]);
        let found = measure(&a, &b, &domain, &DifferenceOptions::new()).unwrap();
        let same = measure(&a, &twin, &domain, &DifferenceOptions::new()).unwrap();
        assert_ne!(same.alignment, Alignment::AsGiven);
        holds(&mut rng, &a, &twin, &domain, &same);
        // Up to the rounding of the twin's parameters, and the gap.
        assert!(same.lower.to_f64() <= 1.0001 * found.upper.as_ref().unwrap().to_f64());
        assert!(found.lower.to_f64() <= 1.0001 * same.upper.as_ref().unwrap().to_f64());
        let given = measure(&a, &twin, &domain, &DifferenceOptions::new().align(false)).unwrap();
        assert_eq!(given.alignment, Alignment::AsGiven);
        assert!(given.cells >= same.cells);
    }
}

#[test]
fn equal_networks_have_no_difference() {
    let mut rng = rng(4);
    let exact = random_network(&mut rng, &[2, 5, 3, 2]);
    let twin = permute(&mut rng, &exact, 0);
    let (a, b) = (doubles(&exact), doubles(&twin));
    let found = measure(&a, &b, &unit_box(2), &DifferenceOptions::new()).unwrap();
    assert_eq!((found.lower.clone(), found.upper.clone()), (Rational::ZERO, Some(Rational::ZERO)));
    assert!(found.is_within_gap(0.1));
    holds(&mut rng, &a, &b, &unit_box(2), &found);
}

#[test]
fn pruned_neurons_and_other_depths_are_padded() {
    let mut rng = rng(5);
    let exact = random_network(&mut rng, &[2, 5, 4, 1]);
    let a = doubles(&exact);
    // Neuron 2 of the first layer is left out.
    let layers = a.layers();
    let without = |xs: &[f64]| -> Vec<f64> {
        xs.iter().enumerate().filter(|(j, _)| *j != 1).map(|(_, x)| *x).collect()
    };
    let first: Vec<Vec<f64>> = layers[0]
        .weight()
        .iter_rows()
        .enumerate()
        .filter(|(i, _)| *i != 1)
        .map(|(_, row)| row.to_vec())
        .collect();
    let second: Vec<Vec<f64>> = layers[1].weight().iter_rows().map(without).collect();
    let pruned = Network::new(vec![
        Layer::new(Matrix::from_rows(&first).unwrap(), without(layers[0].bias()), Activation::Relu),
        Layer::new(Matrix::from_rows(&second).unwrap(), layers[1].bias().to_vec(), Activation::Relu),
        layers[2].clone(),
    ])
    .unwrap();
    let shallow = doubles(&random_network(&mut rng, &[2, 3, 1]));
    let affine = doubles(&random_network(&mut rng, &[2, 1]));
    for b in [pruned, shallow, affine] {
        for (a, b) in [(&a, &b), (&b, &a)] {
            let found = measure(a, b, &unit_box(2), &DifferenceOptions::new()).unwrap();
            assert!(found.is_within_gap(0.1));
            holds(&mut rng, a, b, &unit_box(2), &found);
        }
    }
}

#[test]
fn limits_give_bounds_and_searches_are_resumed() {
    let mut rng = rng(6);
    let exact = random_network(&mut rng, &[3, 8, 8, 2]);
    let (a, b) = (doubles(&exact), doubles(&nudged(&mut rng, &exact)));
    let domain = unit_box(3);
    let full = measure(&a, &b, &domain, &DifferenceOptions::new()).unwrap();
    let stop = Stop::default();
    let pull = |now: fiberscope::difference::DifferenceProgress| {
        if now.cells > 0 {
            stop.pull();
        }
    };
    let deadline = Deadline::NEVER.or(stop.clone());
    let early =
        measure(&a, &b, &domain, &DifferenceOptions::new().deadline(deadline).progress(Progress::to(&pull)))
            .unwrap();
    holds(&mut rng, &a, &b, &domain, &early);
    let none =
        measure(&a, &b, &domain, &DifferenceOptions::new().deadline(Deadline::after(Some(Duration::ZERO))))
            .unwrap();
    assert!(matches!(none.ended, Ended::Limit(_)));
    assert_eq!(none.cells, 1);
    holds(&mut rng, &a, &b, &domain, &none);
    for state in [none.state, early.state] {
        let read = fiberscope::difference::State::from_json(state.to_json().as_bytes()).unwrap();
        assert_eq!(read, state);
        let resumed = measure(&a, &b, &domain, &DifferenceOptions::new().resume(read)).unwrap();
        assert!(resumed.is_within_gap(0.1));
        holds(&mut rng, &a, &b, &domain, &resumed);
        assert!(resumed.lower <= *full.upper.as_ref().unwrap());
    }
}

#[test]
fn a_resumed_search_without_time_is_no_worse_and_decides_nothing() {
    let mut rng = rng(6);
    let exact = random_network(&mut rng, &[3, 8, 8, 2]);
    let (a, b) = (doubles(&exact), doubles(&nudged(&mut rng, &exact)));
    let domain = unit_box(3);
    let full = measure(&a, &b, &domain, &DifferenceOptions::new().gap(0.01)).unwrap();
    let upper = full.upper.clone().unwrap();
    let late = || DifferenceOptions::new().deadline(Deadline::after(Some(Duration::ZERO)));
    let resumed =
        measure(&a, &b, &domain, &late().resume(full.state.clone()).epsilon(upper.clone())).unwrap();
    assert!(resumed.taken_over && resumed.upper == Some(upper));
    assert_eq!(resumed.lower, full.lower);
    assert_eq!(resumed.decision, Some(Decision::Undecided));
    holds(&mut rng, &a, &b, &domain, &resumed);
    assert_eq!(resumed.state.to_json(), full.state.to_json());
    // A state with other bounds is not believed by a check.
    let json = full.state.to_json();
    let start = json.rfind("\"bounds\":").unwrap();
    let lies = format!("{}\"bounds\":[\"0\",\"0\"]}}", &json[..start]);
    let lies = fiberscope::difference::State::from_json(lies.as_bytes()).unwrap();
    let resumed = measure(&a, &b, &domain, &late().resume(lies)).unwrap();
    assert!(resumed.taken_over);
    assert!(matches!(check(&resumed.certificate.unwrap(), &a, &b), Outcome::Refused(_)));
}

#[test]
fn many_free_inputs_are_cut_at_neurons() {
    let mut rng = rng(20);
    let exact = random_network(&mut rng, &[40, 8, 2]);
    let (a, b) = (doubles(&exact), doubles(&nudged(&mut rng, &exact)));
    let domain = Domain::from_bounds(&vec![(-0.05, 0.05); 40]).unwrap();
    let asked = || DifferenceOptions::new().gap(0.02).deadline(Deadline::after(Some(Duration::from_secs(5))));
    let found = measure(&a, &b, &domain, &asked()).unwrap();
    holds(&mut rng, &a, &b, &domain, &found);
    let json = found.certificate.as_ref().unwrap().to_json();
    assert!(json.contains("[\"a\",") || json.contains("[\"b\","), "{} leaves", found.cells);
    // The state has the splits and their multipliers.
    let read = fiberscope::difference::State::from_json(found.state.to_json().as_bytes()).unwrap();
    let again = measure(&a, &b, &domain, &asked().resume(read)).unwrap();
    assert!(again.upper.as_ref().unwrap() <= found.upper.as_ref().unwrap());
    holds(&mut rng, &a, &b, &domain, &again);
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let mut rng = rng(7);
    let exact = random_network(&mut rng, &[3, 6, 6, 2]);
    let (a, b) = (doubles(&exact), doubles(&nudged(&mut rng, &exact)));
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| measure(&a, &b, &unit_box(3), &DifferenceOptions::new()).unwrap())
    };
    let (one, three) = (run(1), run(3));
    assert_eq!(one.certificate, three.certificate);
    assert_eq!((one.lower, one.cells, one.worst), (three.lower, three.cells, three.worst));
}

#[test]
fn one_call_decides() {
    let mut rng = rng(8);
    let exact = random_network(&mut rng, &[2, 4, 1]);
    let (a, b) = (doubles(&exact), doubles(&nudged(&mut rng, &exact)));
    let most = exact_maximum(&a, &b);
    assert!(within(&a, &b, &unit_box(2), &(&most + &most), &Deadline::NEVER).is_some());
    assert!(within(&a, &b, &unit_box(2), &(&most * &Rational::dyadic(1, -1)), &Deadline::NEVER).is_none());
}

#[test]
fn ranges_contain_what_is_sampled() {
    let mut rng = rng(9);
    for widths in [&[2, 4, 2][..], &[3, 5, 4, 1], &[2, 1]] {
        let network = doubles(&random_network(&mut rng, widths));
        let domain = unit_box(widths[0]);
        let found = ranges(&network, &domain, &DifferenceOptions::new()).unwrap();
        assert_eq!(found.ended, Ended::Reached);
        let certificate = found.certificate.as_ref().unwrap();
        assert!(matches!(check(certificate, &network, &found.constant), Outcome::Proved(_)));
        let outputs = found.outputs.unwrap();
        for range in &outputs {
            assert!(
                range.lower <= range.seen.0 && range.seen.0 <= range.seen.1 && range.seen.1 <= range.upper
            );
        }
        for _ in 0..50 {
            let x = sample(&mut rng, &domain, widths[0]);
            for (value, range) in network.evaluate_exact(&x).unwrap().iter().zip(&outputs) {
                assert!(range.lower <= *value && *value <= range.upper);
            }
        }
    }
}

#[test]
fn numbers_at_the_ends_of_the_doubles() {
    let network = |w: f64, v: f64| {
        let hidden = Layer::new(Matrix::from_rows(&[[w]]).unwrap(), vec![0.0], Activation::Relu);
        let output = Layer::new(Matrix::from_rows(&[[v]]).unwrap(), vec![0.0], Activation::Identity);
        Network::new(vec![hidden, output]).unwrap()
    };
    let mut rng = rng(10);
    let limit = || DifferenceOptions::new().deadline(Deadline::after(Some(Duration::from_secs(2))));
    for (a, b) in [
        (network(5e-324, 1.0), network(1e-323, 1.0)),
        (network(1e152, 1e-300), network(2e152, 1e-300)),
        (network(1e308, 1e-308), network(1e308, 2e-308)),
        (network(1e308, 1e308), network(-1e308, 1e308)),
    ] {
        match measure(&a, &b, &unit_box(1), &limit()) {
            Ok(found) if found.upper.is_some() => holds(&mut rng, &a, &b, &unit_box(1), &found),
            Ok(found) => assert!(found.certificate.is_none() && found.lower.is_positive()),
            Err(error) => assert!(matches!(error, DifferenceError::Shape(_)), "{error}"),
        }
    }
}

#[test]
fn bad_questions_are_refused() {
    let mut rng = rng(11);
    let [a, other_inputs, other_outputs] =
        [&[2, 3, 1][..], &[3, 3, 1], &[2, 3, 2]].map(|widths| doubles(&random_network(&mut rng, widths)));
    let refuse = |b: &Network, domain: &Domain, options: DifferenceOptions, expected: &str| {
        let error = measure(&a, b, domain, &options).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    refuse(&other_inputs, &unit_box(2), DifferenceOptions::new(), "inputs, found 2 and 3");
    refuse(&other_outputs, &unit_box(2), DifferenceOptions::new(), "outputs, found 1 and 2");
    refuse(&a, &unit_box(3), DifferenceOptions::new(), "2 intervals");
    refuse(&a, &Domain::Space, DifferenceOptions::new(), "bounded box");
    refuse(&a, &Domain::orthant(2), DifferenceOptions::new(), "bounded box");
    refuse(&a, &unit_box(2), DifferenceOptions::new().epsilon(Rational::from(-1)), "not negative");
    refuse(&a, &unit_box(2), DifferenceOptions::new().gap(f64::NAN), "not negative");
    refuse(&a, &unit_box(2), DifferenceOptions::new().points(vec![vec![1.0]]), "point 1");
    let state = measure(&a, &a, &unit_box(2), &DifferenceOptions::new()).unwrap().state;
    refuse(
        &a,
        &Domain::from_bounds(&[(0.0, 1.0); 2]).unwrap(),
        DifferenceOptions::new().resume(state),
        "the box is not the same",
    );
}

#[test]
fn networks_that_are_too_large_to_be_written_out_are_refused_at_once() {
    let twin = |last: f64| {
        let mut identity = SparseMatrix::with_capacity(20_000, 20_000, 20_000);
        (0..20_000).for_each(|i| identity.push_row([(i, if i == 7 { last } else { 1.0 })]));
        let mut sum = SparseMatrix::with_capacity(20_000, 1, 20_000);
        sum.push_row((0..20_000).map(|i| (i, 1.0)));
        let hidden = Layer::new(identity, vec![0.5; 20_000], Activation::Relu);
        Network::new(vec![hidden, Layer::new(sum, vec![0.0], Activation::Identity)]).unwrap()
    };
    let domain = Domain::from_bounds(&vec![(-1.0, 1.0); 20_000]).unwrap();
    let error = measure(&twin(1.0), &twin(2.0), &domain, &DifferenceOptions::new()).unwrap_err();
    assert!(matches!(error, DifferenceError::TooLarge(_)), "{error}");
    // The comparison goes without such a search.
    let decision =
        decide(&twin(1.0), &twin(1.0 + 4.0 * f64::EPSILON), &domain, &EquivalenceOptions::new()).unwrap();
    assert!(matches!(decision.verdict, Verdict::EquivalentUpToRounding { .. }), "{decision:?}");
}

/// A search compares neuron by neuron, and needs very many boxes where one network has neurons that are nearly multiples of
/// each other; a matching up to rounding needs none. A search that is asked for more goes on from there.
#[test]
fn networks_that_agree_up_to_rounding_need_no_search() {
    let single = |network: &fiberscope::core::ExactNetwork| -> Network {
        network.map(|x| f64::from(x.to_f64() as f32)).unwrap()
    };
    let domain = unit_box(3);
    let mut without = 0;
    for seed in 0..12 {
        let rng = &mut rng(seed);
        let network = edit(&random_network(rng, &[3, 5, 4, 2]), |_, row, j, x| {
            &x * &common::r(&format!("{}/9", 7 + row + j))
        });
        let split = common::split(rng, &network, 0);
        let scaled = scale(rng, &split, 1);
        let other = permute(rng, &scaled, 0);
        let (a, b) = (single(&network), single(&other));
        let options = DifferenceOptions::new().epsilon(common::r("1/10000")).seed(seed);
        let found = measure(&a, &b, &domain, &options).unwrap();
        assert_eq!(found.decision, Some(Decision::Within), "{seed}");
        holds(rng, &a, &b, &domain, &found);
        let certificate = found.certificate.as_ref().unwrap();
        // What rounding left equal is equal.
        if found.cells > 0 || matches!(certificate.evidence, Evidence::Moves { .. }) {
            continue;
        }
        without += 1;
        assert!(
            matches!(certificate.evidence, Evidence::Rounding { .. } | Evidence::Nudged { .. }),
            "{seed}: {}",
            certificate.evidence.kind()
        );
        let more = DifferenceOptions::new().resume(found.state.clone()).seed(seed).boxes(20);
        let more = measure(&a, &b, &domain, &more).unwrap();
        holds(rng, &a, &b, &domain, &more);
        assert!(more.cells > 0);
        let searched = measure(&a, &b, &domain, &options.rounding(false).boxes(20)).unwrap();
        assert!(searched.cells > 0, "{seed}");
    }
    assert!(without >= 8, "{without} of 12");
}

/// Nobody asks about an epsilon: boxes bring the lower bound, the matching up to rounding the upper one, and a search that
/// goes on says no less.
#[test]
fn a_matching_up_to_rounding_bounds_a_search_without_a_question() {
    let single = |network: &fiberscope::core::ExactNetwork| -> Network {
        network.map(|x| f64::from(x.to_f64() as f32)).unwrap()
    };
    let domain = unit_box(3);
    let (mut matched, mut closer) = (0, 0);
    for seed in 0..12 {
        let rng = &mut rng(seed);
        let network = edit(&random_network(rng, &[3, 5, 4, 2]), |_, row, j, x| {
            &x * &common::r(&format!("{}/9", 7 + row + j))
        });
        let split = common::split(rng, &network, 0);
        let scaled = scale(rng, &split, 1);
        let other = permute(rng, &scaled, 0);
        let (a, b) = (single(&network), single(&other));
        let options = DifferenceOptions::new().seed(seed).boxes(20);
        let found = measure(&a, &b, &domain, &options).unwrap();
        holds(rng, &a, &b, &domain, &found);
        let certificate = found.certificate.as_ref().unwrap();
        if !matches!(certificate.evidence, Evidence::Rounding { .. } | Evidence::Nudged { .. }) {
            continue;
        }
        matched += 1;
        let upper = found.upper.clone().unwrap();
        assert!(
            upper < common::r("1/10000") && found.outputs.iter().all(|o| o.upper.as_ref() == Some(&upper))
        );
        let searched = measure(&a, &b, &domain, &options.clone().rounding(false)).unwrap();
        closer += usize::from(searched.upper.unwrap() > upper);
        let more = options.resume(found.state.clone()).boxes(40);
        let more = measure(&a, &b, &domain, &more).unwrap();
        holds(rng, &a, &b, &domain, &more);
        assert!(more.upper.unwrap() <= upper && more.lower >= found.lower, "{seed}");
    }
    assert!(matched >= 8 && closer == matched, "{matched} of 12, {closer} closer than boxes");
}
