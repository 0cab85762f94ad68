//! Hyperplanes of the first layer that the second layer hides, moved as far as that goes and further.
//!
//! If every second-layer neuron is `relu(p_j relu(z_k) - sum_i q_ji relu(z_i) - s_j)` with `p_j, s_j > 0` and
//! `q_ji >= 0`, it is off where `z_k <= 0`, and the kink of `relu(z_k)` shows nowhere: `b_k` may grow by `t`,
//! the second biases falling by `t p_j`, as long as they stay `<= 0`. With one such neuron, `relu(z_i)` may
//! become `relu(-z_i)`, since `relu(z_i) = z_i + relu(-z_i)` and `p z_k` takes up the affine part.

use fiberscope_core::Rational;
use rand::RngExt;

use super::maker::Maker;
use super::{Known, Pair};
use crate::draft::Draft;

/// A network whose second layer hides neuron `k` of the first.
fn hiding(maker: &mut Maker, second: usize) -> (Draft, usize) {
    let inputs = maker.pick(&[1, 2, 2, 3, 4, 5]);
    let first = 1 + maker.below(4);
    let mut widths = vec![inputs, first, second];
    if maker.percent(20) {
        widths.push(1 + maker.below(2));
    }
    widths.push(1 + maker.below(2));
    let mut draft = maker.network(&widths, false);
    let k = maker.below(first);
    for j in 0..second {
        let row = &mut draft.layers[1].weight[j];
        for (i, w) in row.iter_mut().enumerate() {
            *w = if i == k { maker.power() } else { -w.abs() };
        }
        draft.layers[1].bias[j] = -maker.positive();
    }
    (draft, k)
}

/// `b_k += t`, second biases fall by `t p_j`.
fn translated(draft: &Draft, k: usize, t: &Rational) -> Draft {
    let mut other = draft.clone();
    let column = draft.column(0, k);
    other.layers[0].bias[k] += t;
    for (b, p) in other.layers[1].bias.iter_mut().zip(&column) {
        *b -= &(t * p);
    }
    other
}

/// The least translation that keeps all second biases `<= 0`.
fn least(draft: &Draft, k: usize) -> Rational {
    let column = draft.column(0, k);
    let ends = draft.layers[1].bias.iter().zip(&column).map(|(b, p)| b / p);
    ends.max().unwrap_or(Rational::ZERO)
}

/// A translation that the second layer hides.
pub fn translate(maker: &mut Maker) -> Option<Pair> {
    let second = 1 + maker.below(3);
    let (a, k) = hiding(maker, second);
    let t = if maker.percent(60) {
        &least(&a, k) * &Rational::dyadic(maker.rng.random_range(1..=8), -3)
    } else {
        maker.positive()
    };
    let mut b = translated(&a, k, &t);
    finish(maker, &mut b);
    Some(Pair::new(a, b, Known::Equal))
}

/// A translation beyond that, by a little or by much.
pub fn translate_too_far(maker: &mut Maker) -> Option<Pair> {
    let second = 1 + maker.below(3);
    let (a, k) = hiding(maker, second);
    let by = Rational::dyadic(1, maker.rng.random_range(-30..=3));
    let t = &least(&a, k) - &by;
    let mut b = translated(&a, k, &t);
    finish(maker, &mut b);
    let known = super::look(maker, &a, &b, &[1, 4, 64, 1 << 12]);
    let mut pair = Pair::new(a, b, known);
    // What is left at the next biases may be a few units in the last place.
    pair.close = by < Rational::dyadic(1, -6);
    Some(pair)
}

/// Other neurons change their sign, and the hidden one makes up for it; or it does not.
pub fn flip(maker: &mut Maker, right: bool) -> Option<Pair> {
    let (a, k) = hiding(maker, 1);
    let (first, inputs) = (a.layers[0].width(), a.inputs());
    let mut b = a.clone();
    let p = a.layers[1].weight[0][k].clone();
    let mut any = false;
    for i in (0..first).filter(|&i| i != k) {
        if maker.percent(60) {
            any = true;
            let q = -&(&a.layers[1].weight[0][i] / &p);
            for x in 0..inputs {
                let w = a.layers[0].weight[i][x].clone();
                b.layers[0].weight[k][x] -= &(&q * &w);
                b.layers[0].weight[i][x] = -w;
            }
            let bias = a.layers[0].bias[i].clone();
            b.layers[0].bias[k] -= &(&q * &bias);
            b.layers[0].bias[i] = -bias;
        }
    }
    if !right {
        let by = Rational::dyadic(1, maker.rng.random_range(-12..=1));
        if maker.percent(50) || !any {
            let x = maker.below(inputs);
            b.layers[0].weight[k][x] += &by;
        } else {
            b.layers[0].bias[k] += &by;
        }
    }
    finish(maker, &mut b);
    let known = if right { Known::Equal } else { super::look(maker, &a, &b, &[1, 4, 64, 1 << 12]) };
    Some(Pair::new(a, b, known))
}

fn finish(maker: &mut Maker, draft: &mut Draft) {
    maker.disguise(draft);
    if maker.percent(15) {
        maker.rewrite(draft);
    }
}
