//! Single steps of an extraction: parameters from given boundary points, signs from queries, and what is
//! known when a later layer fails. Boundary points, gradients and the formulas of the theorem's proof are
//! computed here, from the true network.
use fiberscope::extract::{
    BOUNDARY_TOLERANCE, BoundaryError, BoundaryNeuron, BoundaryPoint, ExtractOptions, ExtractOutcome,
    KnownLayer, NetworkOracle, extract, orient_layer, recover_from_boundaries,
};
use fiberscope::{Activation, Layer, Matrix, Network};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn random_network(widths: &[usize], seed: u64) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let layers = widths.windows(2).enumerate().map(|(l, pair)| {
        let scale = (6.0 / pair[0] as f64).sqrt();
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| scale * rng.random_range(-1.0..1.0));
        let bias = (0..pair[1]).map(|_| rng.random_range(-0.5..0.5)).collect();
        let last = l + 2 == widths.len();
        Layer::new(weight, bias, if last { Activation::Identity } else { Activation::Relu })
    });
    Network::new(layers.collect()).unwrap()
}

/// A random network with points of the boundaries of all neurons of a layer, each of which crosses those of all
/// neurons of the layer before, with three points on either side.
fn crossing_network(
    widths: &[usize],
    layer: usize,
    count: usize,
    normals: bool,
    first_seed: u64,
) -> (Network, Vec<Vec<BoundaryPoint>>) {
    let crosses = |network: &Network, points: &[BoundaryPoint]| {
        (0..widths[layer]).all(|unit| {
            let active = points.iter().filter(|p| value(network, layer - 1, unit, &p.at) > 0.0).count();
            (3..=count - 3).contains(&active)
        })
    };
    let try_seed = |seed: u64| {
        let network = random_network(widths, seed);
        let all: Option<Vec<Vec<BoundaryPoint>>> = (0..widths[layer + 1])
            .map(|unit| {
                let points = boundary(&network, layer, unit, count, normals, seed + unit as u64)?;
                crosses(&network, &points).then_some(points)
            })
            .collect();
        all.map(|points| (network, points))
    };
    (first_seed..first_seed + 2000).find_map(try_seed).expect("one in 2000 networks has such boundaries")
}

/// The pre-activation of a neuron and its gradient, forward through the layers.
fn neuron(network: &Network, layer: usize, unit: usize, x: &[f64]) -> (f64, Vec<f64>) {
    let mut h: Vec<(f64, Vec<f64>)> = x
        .iter()
        .enumerate()
        .map(|(k, &v)| (v, (0..x.len()).map(|j| f64::from(u8::from(j == k))).collect()))
        .collect();
    for (l, each) in network.layers().iter().enumerate().take(layer + 1) {
        h = each
            .weight()
            .iter_rows()
            .zip(each.bias())
            .map(|(row, b)| {
                let value = row.iter().zip(&h).map(|(w, (v, _))| w * v).sum::<f64>() + b;
                let slope = |j: usize| row.iter().zip(&h).map(|(w, (_, g))| w * g[j]).sum::<f64>();
                let gradient: Vec<f64> = (0..x.len()).map(slope).collect();
                let dead = l < layer && value <= 0.0;
                if dead { (0.0, vec![0.0; x.len()]) } else { (value, gradient) }
            })
            .collect();
    }
    h.swap_remove(unit)
}

/// The pre-activation of a neuron.
fn value(network: &Network, layer: usize, unit: usize, x: &[f64]) -> f64 {
    let at = |row: &[f64], bias: f64, h: &[f64]| row.iter().zip(h).map(|(w, v)| w * v).sum::<f64>() + bias;
    let mut h = x.to_vec();
    for each in &network.layers()[..layer] {
        h = each.weight().iter_rows().zip(each.bias()).map(|(row, &b)| at(row, b, &h).max(0.0)).collect();
    }
    let last = &network.layers()[layer];
    at(last.weight().row(unit), last.bias()[unit], &h)
}

/// Points of the boundary of a neuron, by bisection on random segments; `None` if it hardly switches.
fn boundary(
    network: &Network,
    layer: usize,
    unit: usize,
    count: usize,
    normals: bool,
    seed: u64,
) -> Option<Vec<BoundaryPoint>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let inputs = network.input_width();
    let mut points = Vec::new();
    // A neuron that hardly switches is given up.
    for _ in 0..10 * count {
        if points.len() == count {
            break;
        }
        let mut end = || (0..inputs).map(|_| rng.random_range(-4.0..4.0)).collect::<Vec<f64>>();
        let (mut a, mut b) = (end(), end());
        let value = |x: &[f64]| value(network, layer, unit, x);
        if value(&a) * value(&b) >= 0.0 {
            continue;
        }
        for _ in 0..200 {
            let middle: Vec<f64> = a.iter().zip(&b).map(|(x, y)| 0.5 * (x + y)).collect();
            if middle == a || middle == b {
                break;
            }
            if value(&middle) * value(&a) > 0.0 { a = middle } else { b = middle }
        }
        let (_, gradient) = neuron(network, layer, unit, &a);
        // Normals have any length and either sign.
        let factor = rng.random_range(-3.0..3.0);
        let normal = normals.then(|| gradient.iter().map(|g| factor * g).collect());
        points.push(BoundaryPoint { at: a, normal });
    }
    (points.len() == count).then_some(points)
}

/// A hidden layer with its rows scaled, some of them negatively; and the signs that make it right.
fn scrambled(layer: &Layer, seed: u64) -> (KnownLayer, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let factors: Vec<f64> = (0..layer.width())
        .map(|_| rng.random_range(0.5..2.0) * if rng.random_bool(0.5) { 1.0 } else { -1.0 })
        .collect();
    let weight =
        Matrix::from_fn(layer.width(), layer.weight().cols(), |i, j| factors[i] * layer.weight()[(i, j)]);
    let bias = layer.bias().iter().zip(&factors).map(|(b, f)| b * f).collect();
    (KnownLayer { weight, bias, oriented: false }, factors)
}

fn oriented(layer: &Layer) -> KnownLayer {
    KnownLayer { weight: layer.weight().clone(), bias: layer.bias().to_vec(), oriented: true }
}

/// The rows that should come out: the incoming weights divided by the scales of the layer before.
fn check_rows(network: &Network, layer: usize, factors: &[f64], found: &[BoundaryNeuron], tolerance: f64) {
    for (unit, each) in found.iter().enumerate() {
        let BoundaryNeuron::Row { weight, bias: Some(bias), residual } = each else {
            panic!("{unit}: {each:?}")
        };
        let truth = &network.layers()[layer];
        let expected: Vec<f64> =
            truth.weight().row(unit).iter().zip(factors).map(|(w, f)| w / f.abs()).collect();
        let length = expected.iter().map(|x| x * x).sum::<f64>().sqrt();
        let sign = if weight[0] * expected[0] > 0.0 { 1.0 } else { -1.0 };
        for (w, e) in weight.iter().zip(&expected) {
            assert!((w * sign - e / length).abs() < tolerance, "{unit}: {w} {}", e / length);
        }
        assert!((bias * sign - truth.bias()[unit] / length).abs() < tolerance, "bias of {unit}");
        assert!(*residual < 1e-8);
    }
}

#[test]
fn boundary_points_give_rows_and_signs() {
    for (widths, normals, count, seed) in [
        ([4, 5, 3, 1], true, 80, 1),
        ([4, 5, 3, 1], false, 120, 2),
        ([3, 6, 4, 1], true, 120, 3),
        ([2, 4, 4, 1], false, 160, 4),
    ] {
        let (network, points) = crossing_network(&widths, 1, count, normals, seed);
        let first: Vec<_> =
            (0..widths[1]).filter_map(|unit| boundary(&network, 0, unit, widths[0] + 2, false, 7)).collect();
        assert_eq!(first.len(), widths[1]);
        let hyperplanes = recover_from_boundaries(widths[0], &[], &first, BOUNDARY_TOLERANCE).unwrap();
        check_rows(&network, 0, &vec![1.0; widths[0]], &hyperplanes.neurons, 1e-9);
        assert!(hyperplanes.layer().is_some_and(|layer| !layer.oriented));

        let (known, factors) = scrambled(&network.layers()[0], seed);
        let found = recover_from_boundaries(widths[0], &[known], &points, BOUNDARY_TOLERANCE).unwrap();
        check_rows(&network, 1, &factors, &found.neurons, 1e-7);
        let expected: Vec<Option<f64>> = factors.iter().map(|f| Some(f.signum())).collect();
        assert_eq!(found.signs, expected, "{widths:?}");
        assert!(found.known[0].oriented);
    }
}

#[test]
fn deeper_layers_are_recovered_behind_known_ones() {
    let (network, points) = crossing_network(&[4, 4, 4, 3, 1], 2, 120, true, 11);
    let (known, factors) = scrambled(&network.layers()[1], 5);
    let layers = [oriented(&network.layers()[0]), known];
    let found = recover_from_boundaries(4, &layers, &points, BOUNDARY_TOLERANCE).unwrap();
    check_rows(&network, 2, &factors, &found.neurons, 1e-6);
    assert_eq!(found.signs, factors.iter().map(|f| Some(f.signum())).collect::<Vec<_>>());
}

/// The proof of the theorem step by step, with the corrected formulas: gamma_s n_s - gamma_r n_r = omega v_h
/// along pairs of points that one neuron of the first layer separates.
#[test]
fn the_chain_of_precursors_gives_the_same_weights() {
    let (network, mut points) = crossing_network(&[4, 4, 2, 1], 1, 200, true, 21);
    let points = points.swap_remove(0);
    let (known, factors) = scrambled(&network.layers()[0], 2);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let sides: Vec<Vec<bool>> = points
        .iter()
        .map(|p| known.weight.iter_rows().zip(&known.bias).map(|(w, b)| dot(w, &p.at) + b > 0.0).collect())
        .collect();
    let mut gamma: Vec<Option<Vec<f64>>> = vec![None; points.len()];
    gamma[0] = points[0].normal.clone();
    let mut weights = [None; 4];
    let reached = |gamma: &[Option<Vec<f64>>]| gamma.iter().flatten().count();
    for _ in 0..points.len() {
        let before = reached(&gamma);
        for r in 0..points.len() {
            let Some(gr) = gamma[r].clone() else { continue };
            for s in 0..points.len() {
                let differ: Vec<usize> = (0..4).filter(|&i| sides[r][i] != sides[s][i]).collect();
                let &[h] = differ.as_slice() else { continue };
                let (v, n) = (known.weight.row(h), points[s].normal.clone().unwrap());
                let project = |a: &[f64]| -> Vec<f64> {
                    a.iter().zip(v).map(|(x, y)| x - y * dot(a, v) / dot(v, v)).collect()
                };
                let factor = dot(&project(&gr), &project(&n)) / dot(&project(&n), &project(&n));
                let gs: Vec<f64> = n.iter().map(|x| factor * x).collect();
                let step: Vec<f64> = gs.iter().zip(&gr).map(|(a, b)| a - b).collect();
                let omega = dot(&step, v) / dot(v, v);
                let towards: Vec<f64> = points[s].at.iter().zip(&points[r].at).map(|(a, b)| a - b).collect();
                weights[h].get_or_insert(dot(v, &towards).signum() * omega);
                gamma[s].get_or_insert(gs);
            }
        }
        if reached(&gamma) == before {
            break;
        }
    }
    let chain: Vec<f64> = weights.iter().map(|w| w.expect("every neuron separates some pair")).collect();
    let found = recover_from_boundaries(4, &[known], &[points], BOUNDARY_TOLERANCE).unwrap();
    let BoundaryNeuron::Row { weight, .. } = &found.neurons[0] else { panic!("{found:?}") };
    let ratio = chain[0] / weight[0];
    for (c, w) in chain.iter().zip(weight) {
        assert!((c / ratio - w).abs() < 1e-7, "{chain:?} {weight:?}");
    }
    assert_eq!(found.signs.len(), factors.len());
}

#[test]
fn too_few_points_and_foreign_points_are_told_apart() {
    let (network, _) = crossing_network(&[3, 4, 2, 1], 1, 60, false, 31);
    let (known, _) = scrambled(&network.layers()[0], 1);
    let few = boundary(&network, 1, 0, 4, false, 1).unwrap();
    let found = recover_from_boundaries(3, std::slice::from_ref(&known), &[few], BOUNDARY_TOLERANCE).unwrap();
    assert!(
        matches!(&found.neurons[0], BoundaryNeuron::Undetermined { freedom, .. } if *freedom >= 3),
        "{found:?}"
    );
    assert_eq!(found.signs, [None; 4]);
    let mixed =
        [boundary(&network, 1, 0, 30, false, 1).unwrap(), boundary(&network, 1, 1, 30, false, 2).unwrap()]
            .concat();
    let found =
        recover_from_boundaries(3, std::slice::from_ref(&known), &[mixed], BOUNDARY_TOLERANCE).unwrap();
    assert!(matches!(found.neurons[0], BoundaryNeuron::Inconsistent { .. }), "{found:?}");
    // Points that one piece of the boundary has do not tell the weights of neurons that do not switch there.
    let all = boundary(&network, 1, 0, 400, true, 3).unwrap();
    let side = |p: &BoundaryPoint| -> Vec<bool> {
        known
            .weight
            .iter_rows()
            .zip(&known.bias)
            .map(|(w, b)| w.iter().zip(&p.at).map(|(x, y)| x * y).sum::<f64>() + b > 0.0)
            .collect()
    };
    let one: Vec<BoundaryPoint> = all.iter().filter(|p| side(p) == side(&all[0])).cloned().collect();
    assert!(one.len() > 3);
    let found = recover_from_boundaries(3, std::slice::from_ref(&known), &[one], BOUNDARY_TOLERANCE).unwrap();
    assert!(
        matches!(&found.neurons[0], BoundaryNeuron::Undetermined { uncrossed, .. } if *uncrossed == [0, 1, 2, 3]),
        "{found:?}"
    );
    let wrong = |known: &[KnownLayer], points: &[Vec<BoundaryPoint>]| {
        recover_from_boundaries(3, known, points, 1e-8).unwrap_err()
    };
    assert_eq!(wrong(&[], &[]), BoundaryError::NoNeurons);
    let point = BoundaryPoint { at: vec![1.0, 2.0], normal: None };
    let text = wrong(&[], &[vec![point]]).to_string();
    assert_eq!(text, "neuron 1, point 1: expected 3 numbers in its coordinates, found 2");
    let text = wrong(&[known.clone(), oriented(&network.layers()[1])], &[Vec::new()]).to_string();
    assert_eq!(text, "known layer 1 is not oriented; only the last one, layer 2, may be so");
}

#[test]
fn signs_are_told_by_queries() {
    for (widths, layer, seed) in [(vec![8, 6, 1], 0, 1), (vec![8, 6, 5, 1], 0, 2), (vec![8, 6, 5, 1], 1, 3)] {
        let network = random_network(&widths, seed);
        let (known, factors) = scrambled(&network.layers()[layer], seed);
        let mut layers: Vec<KnownLayer> = network.layers()[..layer].iter().map(oriented).collect();
        layers.push(known);
        let options = ExtractOptions::new().domain(-2.0, 3.0);
        let found = orient_layer(&mut NetworkOracle::new(network.clone()), &layers, &options).unwrap();
        assert_eq!(
            found.signs,
            factors.iter().map(|f| Some(f.signum())).collect::<Vec<_>>(),
            "{widths:?} {layer}"
        );
        assert_eq!(found.last, layer + 2 == network.depth());
        assert!(found.known[layer].oriented);
    }
}

#[test]
fn layers_that_are_known_are_not_lost() {
    let network = random_network(&[8, 6, 5, 1], 4);
    let whole = extract(&mut NetworkOracle::new(network.clone()), &ExtractOptions::new()).unwrap();
    assert_eq!(whole.outcome, ExtractOutcome::Verified);
    assert!(whole.known.is_empty());
    let first: u64 = whole.spent.iter().filter(|(layer, ..)| *layer == 0).map(|(.., queries)| queries).sum();
    // Enough for the first layer, not for the second.
    let options = ExtractOptions::new().max_queries(first + 40);
    let found = extract(&mut NetworkOracle::new(network.clone()), &options).unwrap();
    assert!(found.stopped && found.network.is_none());
    assert!(matches!(found.outcome, ExtractOutcome::Partial { .. }), "{:?}", found.outcome);
    assert_eq!((found.known.len(), found.known[0].oriented), (1, true));
    let unit = |w: &[f64], b: f64| -> Vec<f64> {
        let length = w.iter().map(|x| x * x).sum::<f64>().sqrt();
        w.iter().chain([&b]).map(|x| x / length).collect()
    };
    let truth = &network.layers()[0];
    for (w, b) in truth.weight().iter_rows().zip(truth.bias()) {
        let expected = unit(w, *b);
        let rows = found.known[0].weight.iter_rows().zip(&found.known[0].bias);
        let best = rows
            .map(|(w, b)| unit(w, *b).iter().zip(&expected).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max))
            .fold(f64::INFINITY, f64::min);
        assert!(best < 1e-8, "{best}");
    }
}
