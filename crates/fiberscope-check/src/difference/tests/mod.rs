//! The law of the bounds: no exact value at any point of a box lies beyond them.

mod decision;
mod phases;
mod threads;
mod tree;

use fiberscope_core::{Activation, ExactNetwork, Layer, Matrix, Rational};

use super::exact::ExactBounder;
use super::*;

/// The same numbers for the same seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A double in `[-1, 1)`.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / 2f64.powi(52) - 1.0
    }

    /// A double in `[-1, 1]` with so many bits.
    fn short(&mut self, bits: i32) -> f64 {
        (self.unit() * 2f64.powi(bits)).round() / 2f64.powi(bits)
    }
}

fn exact(x: f64) -> Rational {
    Rational::from_f64(x).unwrap()
}

pub(super) fn relu_network(layers: &[(&[&[f64]], &[f64])]) -> ExactNetwork {
    let last = layers.len() - 1;
    let layer = |(l, (rows, bias)): (usize, &(&[&[f64]], &[f64]))| {
        let rows: Vec<Vec<Rational>> =
            rows.iter().map(|row| row.iter().map(|&w| exact(w)).collect()).collect();
        let activation = if l == last { Activation::Identity } else { Activation::Relu };
        Layer::new(Matrix::from_rows(&rows).unwrap(), bias.iter().map(|&b| exact(b)).collect(), activation)
    };
    ExactNetwork::new(layers.iter().enumerate().map(layer).collect()).unwrap()
}

/// The exact pre-activations of all layers.
fn truth(network: &ExactNetwork, x: &[Rational]) -> Vec<Vec<Rational>> {
    let mut a = x.to_vec();
    let mut all = Vec::new();
    for layer in network.layers() {
        let dot = |i: usize| {
            let sum: Rational = layer.weight().row(i).iter().zip(&a).map(|(w, a)| w * a).sum();
            &sum + &layer.bias()[i]
        };
        let z: Vec<Rational> = (0..layer.width()).map(dot).collect();
        a = match layer.activation() {
            Activation::Relu => z.iter().map(|z| z.clone().max(Rational::ZERO)).collect(),
            Activation::Identity => z.clone(),
        };
        all.push(z);
    }
    all
}

struct Case {
    a: ExactNetwork,
    b: ExactNetwork,
    lo: Vec<f64>,
    hi: Vec<f64>,
}

/// A small pair with some mischief: short mantissas, rows that cancel, wild scales, third parts, inputs far
/// away or fixed.
fn case(dice: &mut Dice) -> Case {
    let depth = 1 + dice.below(4) as usize;
    let mut widths = vec![1 + dice.below(3) as usize];
    (0..depth).for_each(|_| widths.push(1 + dice.below(6) as usize));
    let bits = [3, 8, 14, 52][dice.below(4) as usize];
    let wild = dice.below(3) == 0;
    let third = dice.below(4) == 0;
    let apart = [0, 6, 12, 30, 45][dice.below(5) as usize];
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    for l in 0..depth {
        let (rows, columns) = (widths[l + 1], widths[l]);
        let scale = if wild { 10f64.powi(dice.below(25) as i32 - 12) } else { 1.0 };
        let mut weight = vec![vec![0.0; columns]; rows];
        for i in 0..rows {
            weight[i].fill_with(|| dice.short(bits) * scale);
            match dice.below(5) {
                0 if i > 0 => weight[i] = weight[i - 1].iter().map(|w| -w).collect(),
                1 if columns > 1 => weight[i][1] = -weight[i][0] * 1e8,
                2 => weight[i].iter_mut().for_each(|w| *w = -w.abs()),
                _ => {}
            }
        }
        let bias: Vec<f64> = (0..rows).map(|_| dice.short(bits) * if wild { 1.0 } else { scale }).collect();
        let moved = |dice: &mut Dice, w: f64| match apart {
            0 => dice.short(bits) * scale,
            _ => w + w * dice.short(4) * 2f64.powi(-apart),
        };
        let factor: Rational = if third { "1/3".parse().unwrap() } else { Rational::ONE };
        let number = |x: f64| &exact(x) * &factor;
        let activation = match dice.below(8) {
            _ if l + 1 == depth => Activation::Identity,
            0 => Activation::Identity,
            _ => Activation::Relu,
        };
        let mut layer = |of: &mut Vec<Layer<Rational>>, change: bool| {
            let mut value = |w: f64| number(if change { moved(dice, w) } else { w });
            let entries = weight.iter().flatten().map(|&w| value(w)).collect();
            let biases = bias.iter().map(|&b| value(b)).collect();
            of.push(Layer::new(Matrix::from_entries(rows, columns, entries).unwrap(), biases, activation));
        };
        layer(&mut of_a, false);
        layer(&mut of_b, true);
    }
    let (mut lo, mut hi) = (Vec::new(), Vec::new());
    for _ in 0..widths[0] {
        let (c, r) =
            [(0.0, 1.0), (1e6, 1e-9), (0.3, 1e-3), (-2.0, 0.0), (1e-9, 1e-12)][dice.below(5) as usize];
        lo.push(c - r * dice.unit().abs());
        hi.push(c + r * dice.unit().abs());
    }
    Case { a: ExactNetwork::new(of_a).unwrap(), b: ExactNetwork::new(of_b).unwrap(), lo, hi }
}

/// A point of the box: a corner, or anywhere.
fn point(dice: &mut Dice, lo: &[f64], hi: &[f64]) -> Vec<Rational> {
    let corner = dice.below(2) == 0;
    let coordinate = |(&lo, &hi): (&f64, &f64)| match dice.below(2) {
        side if corner => exact(if side == 0 { lo } else { hi }),
        _ => exact((lo + dice.unit().abs() * (hi - lo)).clamp(lo, hi)),
    };
    lo.iter().zip(hi).map(coordinate).collect()
}

/// No layer and no row of the pair is bounded too tightly at this point.
fn holds(bounder: &mut Bounder, a: &ExactNetwork, b: &ExactNetwork, x: &[Rational], dice: &mut Dice) {
    let (of_a, of_b) = (truth(a, x), truth(b, x));
    let inside = |lower: f64, value: &Rational, upper: f64, what: &str| {
        assert!(exact(lower) <= *value && *value <= exact(upper), "{what}: {lower} {value} {upper}");
    };
    for (l, (z, y)) in of_a.iter().zip(&of_b).enumerate() {
        let bounds = bounder.layer(l);
        for i in 0..z.len() {
            inside(bounds.zl[i], &z[i], bounds.zu[i], "z");
            inside(bounds.yl[i], &y[i], bounds.yu[i], "y");
            inside(bounds.dl[i], &(&y[i] - &z[i]), bounds.du[i], "d");
        }
    }
    let (z, y) = (&of_a[of_a.len() - 1], &of_b[of_b.len() - 1]);
    for k in 0..z.len() {
        for sign in [-1, 1] {
            let bound = bounder.tighten(k, sign);
            let value = &(&y[k] - &z[k]) * &Rational::from(i64::from(sign));
            assert!(value <= exact(bound), "row {k} {sign}: {value} {bound}");
        }
    }
    let mut numbers = |n: usize| (0..n).map(|_| dice.short(10)).collect::<Vec<f64>>();
    let (c_z, c_d) = (numbers(z.len()), numbers(z.len()));
    let bound = bounder.row(&c_z, &c_d, 0.25);
    let terms = z.iter().zip(y).zip(c_z.iter().zip(&c_d));
    let value: Rational =
        terms.map(|((z, y), (&c_z, &c_d))| &(&exact(c_z) * z) + &(&exact(c_d) * &(y - z))).sum();
    assert!(bound == f64::INFINITY || &value + &exact(0.25) <= exact(bound), "{value} {bound}");
}

#[test]
fn no_exact_value_lies_beyond_a_bound() {
    let mut bounded = 0;
    for seed in 0..1500 {
        let mut dice = Dice(seed);
        let Case { a, b, lo, hi } = case(&mut dice);
        let pair = Pair::new(&a, &b).unwrap();
        let mut bounder = Bounder::new(&pair);
        if !bounder.run(&lo, &hi) {
            continue;
        }
        bounded += 1;
        for _ in 0..4 {
            let x = point(&mut dice, &lo, &hi);
            holds(&mut bounder, &a, &b, &x, &mut dice);
        }
    }
    assert!(bounded > 1400, "{bounded}");
}

#[test]
fn no_exact_value_lies_beyond_a_bound_of_a_closer_look() {
    let (mut bounded, mut closer) = (0, 0);
    for seed in 0..1500 {
        let mut dice = Dice(seed);
        let Case { a, b, lo, hi } = case(&mut dice);
        let pair = Pair::new(&a, &b).unwrap();
        let mut bounder = Bounder::new(&pair);
        let last = pair.layers().len() - 1;
        let widths = |bounder: &Bounder| -> Vec<f64> {
            let layer = |l| bounder.layer(l).zu.iter().zip(bounder.layer(l).zl).map(|(u, l)| u - l).collect();
            (0..last).flat_map(|l| -> Vec<f64> { layer(l) }).collect()
        };
        if !bounder.run(&lo, &hi) {
            continue;
        }
        let before = widths(&bounder);
        assert_eq!(bounder.run_closely(&lo, &hi, &[]), Ran::Bounded, "{seed}");
        closer += usize::from(widths(&bounder).iter().zip(&before).any(|(now, before)| now < before));
        bounded += 1;
        let mut exactly = ExactBounder::new(&[a.clone(), b.clone()]);
        assert!(exactly.run((&lo, &hi), &[], &mut bounder, &|| false).unwrap());
        for _ in 0..4 {
            let x = point(&mut dice, &lo, &hi);
            holds(&mut bounder, &a, &b, &x, &mut dice);
            for (l, (z, y)) in truth(&a, &x).iter().zip(&truth(&b, &x)).enumerate() {
                for (i, bounds) in exactly.bounds[l].iter().enumerate() {
                    let d = &y[i] - &z[i];
                    for (ends, value) in [(&bounds.z, &z[i]), (&bounds.d, &d), (&bounds.y, &y[i])] {
                        assert!(ends.0 <= *value && *value <= ends.1, "{seed}: layer {l}");
                    }
                }
            }
        }
    }
    assert!(bounded > 1400 && closer > 50, "{bounded} {closer}");
}

/// Layers of many neurons, so that sums have all their lanes and products all their blocks.
#[test]
fn no_exact_value_lies_beyond_a_bound_of_wide_networks() {
    for seed in 0..8 {
        let mut dice = Dice(seed);
        let widths = [[5, 50, 33, 3], [9, 17, 64, 2], [40, 8, 16, 1], [3, 200, 1, 5]][seed as usize % 4];
        let (far, radius) = [(0.0, 0.3), (1e6, 1e-9)][seed as usize / 4];
        let layers = |apart: f64| -> ExactNetwork {
            let mut dice = Dice(seed + 100);
            let layer = |l: usize| {
                let mut number = |_| exact(dice.unit() * (1.0 + apart * dice.unit()));
                let (rows, columns) = (widths[l + 1], widths[l]);
                let weight = (0..rows * columns).map(&mut number).collect();
                let bias = (0..rows).map(&mut number).collect();
                let activation = if l == 2 { Activation::Identity } else { Activation::Relu };
                Layer::new(Matrix::from_entries(rows, columns, weight).unwrap(), bias, activation)
            };
            ExactNetwork::new((0..3).map(layer).collect()).unwrap()
        };
        let (a, b) = (layers(0.0), layers(1e-3));
        let lo: Vec<f64> = (0..widths[0]).map(|_| far + radius * dice.unit()).collect();
        let hi: Vec<f64> = lo.iter().map(|lo| lo + radius * dice.unit().abs()).collect();
        let pair = Pair::new(&a, &b).unwrap();
        let mut bounder = Bounder::new(&pair);
        assert!(bounder.run(&lo, &hi));
        for closely in [false, true] {
            if closely {
                assert_eq!(bounder.run_closely(&lo, &hi, &[]), Ran::Bounded);
            }
            for _ in 0..3 {
                let x = point(&mut dice, &lo, &hi);
                holds(&mut bounder, &a, &b, &x, &mut dice);
            }
        }
    }
}

/// Exact bounds contain the exact values and lie within the bounds in doubles.
#[test]
fn exact_bounds_are_bounds_and_no_worse() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let Case { a, b, lo, hi } = case(&mut dice);
        let pair = Pair::new(&a, &b).unwrap();
        let mut bounder = Bounder::new(&pair);
        let networks = [a, b];
        let mut exactly = ExactBounder::new(&networks);
        if !bounder.run(&lo, &hi) {
            continue;
        }
        assert!(exactly.run((&lo, &hi), &[], &mut bounder, &|| false).unwrap());
        for (l, layer) in exactly.bounds.iter().enumerate() {
            let near = bounder.layer(l);
            for (i, bounds) in layer.iter().enumerate() {
                let within = |(lower, upper): &(Rational, Rational), near: (&[f64], &[f64])| {
                    assert!(
                        lower <= upper && exact(near.0[i]) <= *lower && *upper <= exact(near.1[i]),
                        "{seed}"
                    );
                };
                within(&bounds.z, (near.zl, near.zu));
                within(&bounds.d, (near.dl, near.du));
                within(&bounds.y, (near.yl, near.yu));
            }
        }
        let [a, b] = &networks;
        for _ in 0..3 {
            let x = point(&mut dice, &lo, &hi);
            for (l, (z, y)) in truth(a, &x).iter().zip(&truth(b, &x)).enumerate() {
                for (i, bounds) in exactly.bounds[l].iter().enumerate() {
                    let contains = |(lower, upper): &(Rational, Rational), value: &Rational| {
                        assert!(lower <= value && value <= upper, "{seed} {l} {i}");
                    };
                    contains(&bounds.z, &z[i]);
                    contains(&bounds.y, &y[i]);
                    contains(&bounds.d, &(&y[i] - &z[i]));
                    if l + 1 == exactly.bounds.len() {
                        for sign in [-1, 1] {
                            let row =
                                exactly.tighten((i, sign), (&[], None), &mut bounder, &|| false).unwrap();
                            let near = bounder.tighten(i, sign);
                            let value = &(&y[i] - &z[i]) * &Rational::from(i64::from(sign));
                            assert!(value <= row, "{seed}: {value} {row}");
                            assert!(
                                near == f64::INFINITY || row <= exact(near),
                                "{seed}: {} {near}",
                                row.to_f64()
                            );
                        }
                    }
                }
            }
        }
    }
}

/// The largest absolute bound of a single output, by the forms and by rows.
fn bound(a: &ExactNetwork, b: &ExactNetwork, lo: &[f64], hi: &[f64]) -> f64 {
    let pair = Pair::new(a, b).unwrap();
    let mut bounder = Bounder::new(&pair);
    if !bounder.run(lo, hi) {
        return f64::INFINITY;
    }
    let (lower, upper) = bounder.output_bounds();
    let forms = upper[0].max(-lower[0]);
    forms.min(bounder.tighten(0, 1).max(bounder.tighten(0, -1)))
}

#[test]
fn folded_constants_are_not_lost() {
    // A = relu(1e16 x1 - 1e16 x2 + x3 + 1), B = relu(x3), x1 = x2 = 1.
    let a = relu_network(&[(&[&[1e16, -1e16, 1.0]], &[1.0]), (&[&[1.0]], &[0.0])]);
    let b = relu_network(&[(&[&[0.0, 0.0, 1.0]], &[0.0]), (&[&[1.0]], &[0.0])]);
    assert!(bound(&a, &b, &[1.0, 1.0, 0.0], &[1.0, 1.0, 1.0]) >= 1.0);
}

#[test]
fn bounds_may_be_larger_than_any_constant() {
    // A = 1e-300 relu(1e152 x), B = 1e-300 relu(2e152 x), |x| <= 1e152: the difference is 1e4.
    let network = |w: f64| relu_network(&[(&[&[w]], &[0.0]), (&[&[1e-300]], &[0.0])]);
    assert!(bound(&network(1e152), &network(2e152), &[-1e152], &[1e152]) >= 0.99e4);
}

#[test]
fn slopes_that_round_to_0_or_1_leave_a_neuron_open() {
    // A = 0, B = 1000 relu(x) on [-1, 1e-4].
    let network = |w: f64| relu_network(&[(&[&[1.0]], &[0.0]), (&[&[w]], &[0.0])]);
    assert!(bound(&network(0.0), &network(1000.0), &[-1.0], &[1e-4]) >= 0.1);
    // B = 1000 (relu(x) - relu(x + 5) + 5) on [-1e-4, 1].
    let network = |w: f64| {
        let hidden: (&[&[f64]], &[f64]) = (&[&[1.0], &[1.0]], &[0.0, 5.0]);
        relu_network(&[hidden, (&[&[w, -w]], &[5.0 * w])])
    };
    assert!(bound(&network(0.0), &network(1000.0), &[-1e-4], &[1.0]) >= 0.1);
}

#[test]
fn rows_carry_their_error() {
    // Hidden rows (w, -w) with biases 5 on inputs far away.
    let mut dice = Dice(5);
    for _ in 0..200 {
        let rows: Vec<[f64; 2]> = (0..3).map(|_| dice.unit()).map(|w| [w, -w]).collect();
        let rows: Vec<&[f64]> = rows.iter().map(|row| &row[..]).collect();
        let outs: Vec<Vec<f64>> = (0..2).map(|_| (0..3).map(|_| dice.unit()).collect()).collect();
        let network = |out: &[f64]| relu_network(&[(&rows, &[5.0; 3]), (&[out], &[0.0])]);
        let (a, b) = (network(&outs[0]), network(&outs[1]));
        let (lo, hi) = ([-1e6; 2], [-1e6 + 2f64.powi(-10); 2]);
        let pair = Pair::new(&a, &b).unwrap();
        let mut bounder = Bounder::new(&pair);
        assert!(bounder.run(&lo, &hi));
        for _ in 0..8 {
            let x = point(&mut dice, &lo, &hi);
            holds(&mut bounder, &a, &b, &x, &mut dice);
        }
    }
    // Twelve layers of one neuron with db = 0.99u each, 1 at the output: D = 1 + 11.88u at most.
    let deep = |b: f64, last: f64| {
        let (weight, biases): ([&[f64]; 1], _) = ([&[1.0]], [[b], [last]]);
        let mut layers = vec![(&weight[..], &biases[0][..]); 12];
        layers.push((&weight, &biases[1]));
        relu_network(&layers)
    };
    let (a, b) = (deep(0.0, 0.0), deep(0.99 * U, 1.0));
    let pair = Pair::new(&a, &b).unwrap();
    let mut bounder = Bounder::new(&pair);
    assert!(bounder.run(&[1.0], &[2.0]));
    let true_difference = &truth(&b, &[exact(1.0)])[12][0] - &truth(&a, &[exact(1.0)])[12][0];
    assert!(true_difference > exact(1.0));
    assert!(exact(bounder.tighten(0, 1)) >= true_difference);
    assert!(exact(bounder.output_bounds().1[0]) >= true_difference);
}

#[test]
fn the_ends_of_the_doubles_are_handled_soundly() {
    let ends = [1e308, -1e308, 5e-324, 1e-310, 2e-160, 1e154, 1.0, -0.7];
    for seed in 0..600 {
        let mut dice = Dice(seed);
        let number = |dice: &mut Dice| ends[dice.below(8) as usize] * [1.0, 0.5][dice.below(2) as usize];
        let network = |dice: &mut Dice| {
            let w: Vec<f64> = (0..4).map(|_| number(dice)).collect();
            relu_network(&[(&[&w[..1], &w[1..2]], &[0.0, w[2]]), (&[&w[2..4]], &[w[0]])])
        };
        let (a, b) = (network(&mut dice), network(&mut dice));
        let Ok(pair) = Pair::new(&a, &b) else { continue };
        let mut bounder = Bounder::new(&pair);
        let radius = [1.0, 1e-309, 5e-324, 1e154][dice.below(4) as usize];
        let (lo, hi) = ([-radius], [radius]);
        if bounder.run(&lo, &hi) {
            let mut finite = || (0..2).all(|sign| bounder.tighten(0, 2 * sign - 1).is_finite());
            if finite() {
                for _ in 0..3 {
                    let x = point(&mut dice, &lo, &hi);
                    holds(&mut bounder, &a, &b, &x, &mut dice);
                }
            }
        }
    }
}

/// `g N` of such an input is no number other than 0, but its product with a weight rounds all the same.
#[test]
fn inputs_that_are_not_normal_have_errors_too() {
    let mut dice = Dice(8);
    for _ in 0..300 {
        let w = 1e308 * (0.5 + 0.5 * dice.unit().abs());
        let a = relu_network(&[(&[&[w, -w]], &[0.0])]);
        let b = relu_network(&[(&[&[w, -w.next_up()]], &[0.0])]);
        let x = 1e-310 * dice.unit().abs();
        let x = [x, x + 5e-324 * dice.below(3) as f64];
        let pair = Pair::new(&a, &b).unwrap();
        let mut bounder = Bounder::new(&pair);
        assert!(bounder.run(&x, &x));
        holds(&mut bounder, &a, &b, &x.map(exact), &mut dice);
    }
}

#[test]
fn bad_boxes_are_no_boxes() {
    let a = relu_network(&[(&[&[1.0]], &[0.0]), (&[&[1.0]], &[0.0])]);
    let pair = Pair::new(&a, &a).unwrap();
    let mut bounder = Bounder::new(&pair);
    for (lo, hi) in [(1.0, 0.0), (f64::NAN, 0.0), (0.0, f64::INFINITY), (f64::MAX, f64::MAX)] {
        assert!(!bounder.run(&[lo], &[hi]), "{lo} {hi}");
    }
    assert!(!bounder.run(&[], &[]));
    assert!(bounder.run(&[0.0], &[1.0]));
    let (lower, upper) = bounder.output_bounds();
    assert!(lower[0] <= 0.0 && upper[0] >= 0.0 && upper[0] < 1e-280);
}
