//! Random moves, mostly wrong ones, and bounds that hold or fail by a hair.

use fiberscope::check::rounding_bound;
use fiberscope::core::{
    BiasShift, Counterweight, LinearChange, Mute, NetworkName, NeuronCopy, Nudge, PlacedNeuron, Share,
    ShownRole,
};
use fiberscope::{Activation, Domain, ExactNetwork, Layer, Matrix, Move, MoveChain, Network, Rational};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::common::{apply, hiding, r, random_network, shuffled};

/// The moves.
pub const KINDS: [&str; 15] = [
    "permute",
    "scale",
    "drop",
    "insert",
    "merge",
    "split",
    "cancel",
    "refactor",
    "reorient",
    "translate",
    "flip",
    "shift",
    "mute",
    "fold",
    "unfold",
];

/// A network with numbers from few values, so that dead, constant and proportional neurons are common; some
/// hidden layers are identities.
pub fn network(rng: &mut ChaCha8Rng, widths: &[usize]) -> Network {
    let layers = (1..widths.len()).map(|l| {
        let mut weight =
            Matrix::from_fn(widths[l], widths[l - 1], |_, _| f64::from(rng.random_range(-2..=2)) / 2.0);
        let mut bias: Vec<_> = (0..widths[l]).map(|_| f64::from(rng.random_range(-2..=2)) / 2.0).collect();
        let (i, j) = (rng.random_range(0..widths[l]), rng.random_range(0..widths[l]));
        if i != j && rng.random_range(0..2) == 0 {
            let factor = [1.0, 2.0, 0.5, -1.0, -2.0, -0.5][rng.random_range(0..6)];
            let row: Vec<_> = weight.row(i).iter().map(|w| factor * w).collect();
            weight.row_mut(j).copy_from_slice(&row);
            bias[j] = factor * bias[i];
        }
        let identity = l + 1 == widths.len() || rng.random_range(0..6) == 0;
        Layer::new(weight, bias, if identity { Activation::Identity } else { Activation::Relu })
    });
    Network::new(layers.collect()).unwrap()
}

/// A certificate about a move, whether the first checker's rule for the move holds, and the networks.
pub struct Case {
    pub kind: String,
    pub applies: bool,
    pub certificate: Value,
    pub a: Network,
    pub b: Network,
}

/// A certificate of a kind for two networks. Its keys stand in the order in which they are given.
fn certificate(a: &Network, b: &Network, domain: &Domain, evidence: Value) -> Value {
    let name = |network: &Network| serde_json::to_value(NetworkName::of(network)).unwrap();
    json!({"format": "fiberscope-certificate", "version": 1, "a": name(a), "b": name(b),
           "domain": serde_json::to_value(domain).unwrap(), "evidence": evidence})
}

/// A random move on a random network. Where the move applies, `B` is the result or is given the same move;
/// otherwise it is `A` with the same move, which both checkers must refuse.
pub fn random_case(rng: &mut ChaCha8Rng, domain: &dyn Fn(&mut ChaCha8Rng, usize) -> Domain) -> Case {
    let kind = KINDS[rng.random_range(0..KINDS.len())];
    let widths: Vec<usize> =
        [2, rng.random_range(2..=3), rng.random_range(1..=3), 1 + rng.random_range(0..2)].to_vec();
    let k = rng.random_range(0..widths[1]);
    let mut a = match kind {
        "translate" | "flip" if rng.random_range(0..4) > 0 => hiding(rng, &widths, k),
        _ => network(rng, &widths).to_exact(),
    };
    let domain = domain(rng, widths[0]);
    let layer = if rng.random_range(0..12) == 0 { 2 } else { rng.random_range(0..2) };
    let chosen = if layer < 2 || kind == "unfold" {
        random_move(rng, kind, &mut a, layer, k, &domain)
    } else {
        Move::Fold { layer, pairs: vec![] }
    };
    let mut result = a.clone();
    let applies = chosen.apply(&mut result, &domain).is_ok();
    let a = a.to_f64().unwrap().0;
    let made =
        result.to_f64().ok().filter(|(_, lossless)| *lossless && applies && rng.random_range(0..5) > 0);
    let (b, back) = match made {
        Some((b, _)) => (b, vec![]),
        None => (a.clone(), vec![chosen.clone()]),
    };
    let evidence = json!({"kind": "moves", "a": [chosen], "b": back});
    Case {
        kind: chosen.name().to_owned(),
        applies,
        certificate: certificate(&a, &b, &domain, evidence),
        a,
        b,
    }
}

fn number(rng: &mut ChaCha8Rng) -> Rational {
    Rational::dyadic(rng.random_range(-4..=4), -1)
}

/// A neuron at a random place; dead, without outgoing weights, or any.
fn neuron(rng: &mut ChaCha8Rng, of: &ExactNetwork, layer: usize) -> PlacedNeuron {
    let (rows, outputs) = (&of.layers()[layer], of.layers()[layer + 1].width());
    let sort = rng.random_range(0..4);
    let mut entry = |zero: bool| if zero { Rational::ZERO } else { number(rng) };
    let (weight, bias): (Vec<_>, _) =
        ((0..rows.input_width()).map(|_| entry(sort == 0)).collect(), entry(false));
    let out = (0..outputs).map(|_| entry(sort == 1)).collect();
    let weight = if sort == 2 { weight.iter().map(|w: &Rational| -w.abs()).collect() } else { weight };
    let bias = if sort == 2 { -bias.abs() } else { bias };
    PlacedNeuron { unit: rng.random_range(0..=rows.width()), weight, bias, out }
}

/// Linear neurons that take up `sign v_j z_j` of neuron `unit`, on a box at least, with a bias that may be
/// too small.
fn absorbing(
    rng: &mut ChaCha8Rng,
    of: &ExactNetwork,
    layer: usize,
    unit: usize,
    place: usize,
) -> LinearChange {
    let rows = &of.layers()[layer];
    let bias = Rational::from(rng.random_range(-2..=30));
    let out = of.layers()[layer + 1].weight().column(unit).cloned().collect();
    let mut weight = rows.weight().row(unit).to_vec();
    if rng.random_range(0..8) == 0 {
        weight[0] = &weight[0] + &Rational::ONE;
    }
    LinearChange { remove: vec![], insert: vec![PlacedNeuron { unit: place, weight, bias, out }] }
}

/// Shares that often show that a neuron is dead if it has this bias.
fn random_shares(
    rng: &mut ChaCha8Rng,
    of: &ExactNetwork,
    layer: usize,
    unit: usize,
) -> (Vec<Share>, Rational) {
    let row = of.layers()[layer].weight().row(unit);
    let (mut shares, mut bias) = (Vec::new(), Rational::ZERO);
    for k in (0..row.len()).filter(|&k| row[k].is_positive()) {
        let constant = Rational::from(rng.random_range(0..12));
        bias -= &constant;
        let against: Vec<usize> = (0..row.len()).filter(|&i| row[i].is_negative()).collect();
        let mut by = Vec::new();
        for &unit in &against {
            let weight = ["1/8", "1/4", "1/3", "0"].map(r)[rng.random_range(0..4)].clone();
            by.extend(rng.random::<bool>().then_some(Counterweight { unit, weight }));
        }
        let factor = &row[k] + &["0", "0", "0", "1/2", "-1/2"].map(r)[rng.random_range(0..5)];
        shares.push(Share { of: k, factor, constant, by });
    }
    if rng.random_range(0..8) == 0 {
        shares.pop();
    }
    bias += &["0", "0", "0", "1/3", "-1"].map(r)[rng.random_range(0..5)];
    (shares, bias)
}

/// The network with another bias of one neuron.
fn with_bias(of: &ExactNetwork, layer: usize, unit: usize, bias: Rational) -> ExactNetwork {
    let mut after = of.clone();
    Nudge { layer, weight: vec![], bias: vec![(unit, bias)] }.apply(&mut after).unwrap();
    after
}

/// Often a move that applies. It may change the network to one for which there is such a move.
fn random_move(
    rng: &mut ChaCha8Rng,
    kind: &str,
    a: &mut ExactNetwork,
    layer: usize,
    k: usize,
    domain: &Domain,
) -> Move {
    let width = a.layers()[layer].width();
    let unit = rng.random_range(0..width);
    let other = if width > 1 { (unit + rng.random_range(1..width)) % width } else { 0 };
    let wrong = rng.random_range(0..10) == 0;
    match kind {
        "permute" => {
            let mut order = shuffled(rng, width);
            if wrong {
                order[0] = rng.random_range(0..=width);
            }
            Move::Permute { layer, order }
        }
        "scale" => {
            let mut factor = |_| ["1", "2", "1/2", "1/3", "7/5", "4"].map(r)[rng.random_range(0..6)].clone();
            let mut factors: Vec<_> = (0..width).map(&mut factor).collect();
            if wrong {
                factors[0] = ["0", "-1", "-1/3"].map(r)[rng.random_range(0..3)].clone();
            }
            Move::Scale { layer, factors }
        }
        "drop" => Move::Drop { layer, units: if wrong { vec![unit, unit] } else { vec![unit] } },
        "insert" => Move::Insert { layer, neurons: vec![neuron(rng, a, layer)] },
        "merge" => Move::Merge { layer, pairs: vec![(unit, other)] },
        "split" => {
            let out = neuron(rng, a, layer).out;
            let place = rng.random_range(0..=width);
            let of = if wrong { place } else { (place + rng.random_range(1..=width)) % (width + 1) };
            let factor = if rng.random_range(0..8) == 0 { r("-2") } else { r("3/2") };
            Move::Split { layer, copies: vec![NeuronCopy { of, unit: place, factor, out }] }
        }
        "cancel" => {
            *a = with_opposite_rows(a, layer, unit, other, rng.random_range(0..6) > 0);
            let place = rng.random_range(0..width.max(1));
            Move::Cancel { layer, keep: unit, drop: other, linear: absorbing(rng, a, layer, other, place) }
        }
        "refactor" => {
            let mut linear = absorbing(rng, a, layer, unit, 0);
            if rng.random() {
                linear.remove.push(unit);
            } else {
                let mut back = linear.insert[0].clone();
                back.unit = rng.random_range(0..width + 2);
                back.out = back.out.iter().map(|v| -v).collect();
                back.bias = Rational::from(rng.random_range(0..40));
                linear.insert.push(back);
            }
            Move::Refactor { layer, linear }
        }
        "reorient" => {
            let place = rng.random_range(0..=width);
            let mut linear = absorbing(rng, a, layer, unit, place);
            if wrong {
                linear.remove.push(unit);
            }
            Move::Reorient { layer, units: vec![unit], linear }
        }
        "translate" => Move::Translate { layer: 0, unit: k, amount: number(rng) },
        "flip" => Move::Flip {
            layer: 0,
            unit: k,
            flips: (0..a.layers()[0].width()).filter(|&i| i != k || wrong).collect(),
        },
        "shift" => {
            let slope =
                |rng: &mut ChaCha8Rng| ["0", "1/2", "1", "2/3"].map(r)[rng.random_range(0..4)].clone();
            let slopes =
                (0..layer).map(|l| (0..a.layers()[l].width()).map(|_| slope(rng)).collect()).collect();
            let role = if rng.random() { ShownRole::Dead } else { ShownRole::Linear };
            let amount = number(rng);
            Move::Shift { layer, shifts: vec![BiasShift { unit, role, amount, slopes }] }
        }
        "mute" => {
            let (shares, bias) = random_shares(rng, a, layer, unit);
            *a = with_bias(a, layer, unit, bias);
            let out = neuron(rng, a, layer).out;
            let neuron = || Mute { unit, out: out.clone(), shares: shares.clone() };
            Move::Mute { layer, neurons: (0..1 + usize::from(wrong)).map(|_| neuron()).collect() }
        }
        "fold" => {
            let mut pairs = vec![];
            if width > 1 && rng.random() {
                *a = with_opposite_rows(a, layer, unit, other, true);
                *a = with_cancelling_columns(a, layer, unit, other);
                pairs.push((unit, other));
            }
            Move::Fold { layer, pairs }
        }
        "unfold" => {
            let layer = layer.min(1);
            let [first, second] = [layer, layer + 1].map(|l| a.layers()[l].clone());
            let rows = |layer: &Layer<Rational>| layer.weight().iter_rows().map(<[_]>::to_vec).collect();
            let mut folded = a.clone();
            if (Move::Fold { layer, pairs: vec![] }).apply(&mut folded, domain).is_ok() {
                *a = folded;
            }
            let mut next_bias = second.bias().to_vec();
            if wrong {
                next_bias[0] += &Rational::ONE;
            }
            Move::Unfold {
                layer,
                weight: rows(&first),
                bias: first.bias().to_vec(),
                activation: first.activation(),
                next_weight: rows(&second),
                next_bias,
                pairs: vec![],
            }
        }
        _ => unreachable!("all kinds are listed"),
    }
}

/// The network with row `j` of a layer the opposite of twice row `i`, or the same.
fn with_opposite_rows(
    network: &ExactNetwork,
    layer: usize,
    i: usize,
    j: usize,
    opposite: bool,
) -> ExactNetwork {
    let factor = Rational::from(if opposite { -2 } else { 2 });
    let rows = network.layers()[layer].clone();
    let inputs = rows.input_width();
    super::common::edit(network, |l, row, column, x| match (l == layer && row == j, column < inputs) {
        (false, _) => x,
        (true, true) => &factor * &rows.weight()[(i, column)],
        (true, false) => &factor * &rows.bias()[i],
    })
}

/// The network with column `i` behind a layer `-2` times column `j`.
fn with_cancelling_columns(network: &ExactNetwork, layer: usize, i: usize, j: usize) -> ExactNetwork {
    let columns = network.layers()[layer + 1].weight().clone();
    super::common::edit(network, |l, row, column, x| {
        if l == layer + 1 && column == i { &Rational::from(-2) * &columns[(row, j)] } else { x }
    })
}

/// Certificates with a bound that holds with equality, and with one that is smaller by a part in `2^80`.
pub fn bounds(rng: &mut ChaCha8Rng) -> Vec<(&'static str, Value, Network, Network)> {
    let domain = Domain::from_bounds(&[(-1.0, 0.75), (0.3, 0.7)]).unwrap();
    let first = random_network(rng, &[2, 3, 3, 2]);
    let scale = Move::Scale { layer: 0, factors: ["1/3", "5/7", "1/11"].map(r).to_vec() };
    let scaled = apply(&first, &domain, scale.clone());
    let b =
        scaled.map(|x| x.to_f64() * (1.0 + f64::from(rng.random_range(0..3u8)) * 2f64.powi(-30))).unwrap();
    let exact_b = b.to_exact();
    let a = first.to_f64().unwrap().0;
    let bound = rounding_bound(&scaled, &exact_b, &domain).unwrap();
    let closest = relative(&scaled, &exact_b);
    // One layer of A is set to that of B, then the rest is compared.
    let layer = rng.random_range(0..3);
    let target = &exact_b.layers()[layer];
    let mut layers = scaled.layers().to_vec();
    layers[layer] = target.clone();
    let nudged = ExactNetwork::new(layers).unwrap();
    let weight: Vec<_> = (0..target.width())
        .flat_map(|i| (0..target.input_width()).map(move |j| json!([i + 1, j + 1, target.weight()[(i, j)]])))
        .collect();
    let bias: Vec<_> = target.bias().iter().enumerate().map(|(i, b)| json!([i + 1, b])).collect();
    let steps = json!([{"moves": [scale]}, {"nudge": {"layer": layer + 1, "weight": weight, "bias": bias}}]);
    let sum = &rounding_bound(&scaled, &nudged, &domain).unwrap()
        + &rounding_bound(&nudged, &exact_b, &domain).unwrap();
    let moves: MoveChain = vec![scale].into();
    let less = |x: &Rational| x - &(x * &Rational::dyadic(1, -80));
    let mut cases = Vec::new();
    for exactly in [true, false] {
        let at = |x: &Rational| if exactly { x.clone() } else { less(x) };
        let evidence = [
            (
                "rounding",
                json!({"kind": "rounding", "a": moves, "b": [], "bound": at(&bound)}),
                domain.clone(),
            ),
            ("nudged", json!({"kind": "nudged", "a": steps, "b": [], "bound": at(&sum)}), domain.clone()),
            ("close", json!({"kind": "close", "a": moves, "b": [], "relative": at(&closest)}), Domain::Space),
        ];
        for (name, evidence, domain) in evidence {
            cases.push((name, certificate(&a, &b, &domain, evidence), a.clone(), b.clone()));
        }
    }
    cases
}

/// The largest relative difference of two corresponding parameters.
fn relative(a: &ExactNetwork, b: &ExactNetwork) -> Rational {
    let entries = |network: &ExactNetwork| -> Vec<Rational> {
        let layers = network.layers().iter();
        layers.flat_map(|layer| layer.weight().entries().iter().chain(layer.bias()).cloned()).collect()
    };
    let difference = |(p, q): (Rational, Rational)| {
        let size = p.abs().max(q.abs());
        if size.is_zero() { size } else { &(&p - &q).abs() / &size }
    };
    entries(a).into_iter().zip(entries(b)).map(difference).max().unwrap()
}
