//! The classes of pairs.

use fiberscope_core::{Domain, Interval, Rational};
use rand::RngExt;

use super::maker::{Maker, Style, exact};
use super::{Known, Pair, bumps, compiled, hidden, look};
use crate::draft::Draft;

/// A class of pairs.
pub struct Class {
    /// Its name in the report.
    pub name: &'static str,
    /// How often it comes, among the others.
    pub weight: u32,
    /// Makes a pair; `None` if it came to nothing.
    pub make: fn(&mut Maker) -> Option<Pair>,
}

const fn class(name: &'static str, weight: u32, make: fn(&mut Maker) -> Option<Pair>) -> Class {
    Class { name, weight, make }
}

/// All classes.
pub const CLASSES: &[Class] = &[
    class("relabelled", 6, relabelled),
    class("rescaled", 6, rescaled),
    class("rewritten", 14, rewritten),
    class("rewritten, changed", 10, rewritten_and_changed),
    class("split, single precision", 6, split_single),
    class("far bump", 14, bumps::bump),
    class("far hat", 5, bumps::hat),
    class("offset", 5, bumps::offset),
    class("hidden, translated", 6, hidden::translate),
    class("hidden, too far", 6, hidden::translate_too_far),
    class("hidden, flipped", 4, |maker| hidden::flip(maker, true)),
    class("hidden, flipped wrongly", 4, |maker| hidden::flip(maker, false)),
    class("compiled twice", 5, |maker| compiled::compiled(maker, true)),
    class("compiled, different", 4, |maker| compiled::compiled(maker, false)),
    class("one ulp", 8, one_ulp),
    class("slightly changed", 8, slightly),
    class("huge cancelling weights", 5, huge),
    class("stable on a box", 6, stable),
    class("unrelated", 4, unrelated),
];

fn relabelled(maker: &mut Maker) -> Option<Pair> {
    let a = maker.any();
    let mut b = a.clone();
    maker.disguise(&mut b);
    Some(Pair::new(a, b, Known::Equal))
}

/// Scaled by numbers that are no powers of two: exactly, or as close as the format allows.
fn rescaled(maker: &mut Maker) -> Option<Pair> {
    let mut a = maker.any();
    let mut b = a.clone();
    let exactly = maker.percent(50);
    for layer in 0..a.hidden() {
        for unit in 0..a.layers[layer].width() {
            let factor = Rational::from(maker.pick(&[1, 3, 5, 7]));
            if exactly {
                // c relu(z) = relu(c z), the factor behind the neuron in one network and before it in the
                // other.
                a.layers[layer + 1].weight.iter_mut().for_each(|row| row[unit] *= &factor);
                b.layers[layer].weight[unit].iter_mut().for_each(|w| *w *= &factor);
                b.layers[layer].bias[unit] *= &factor;
            } else {
                let factor = if maker.percent(50) { factor } else { maker.positive() };
                b.scale(layer, unit, &factor);
            }
        }
    }
    maker.disguise(&mut b);
    if exactly { Some(Pair::new(a, b, Known::Equal)) } else { round(maker, a, b) }
}

/// The pair with the numbers of the second rounded to doubles or singles.
fn round(maker: &mut Maker, a: Draft, b: Draft) -> Option<Pair> {
    let single = maker.style == Style::Singles || maker.percent(30);
    let to = |x: &Rational| Some(if single { f64::from(x.to_f64() as f32) } else { x.to_f64() });
    let (a, rounded) = (Draft::of(&a.rounded(to)?), Draft::of(&b.rounded(to)?));
    let known = look(maker, &a, &rounded, &[1, 4]);
    let mut pair = Pair::new(a, rounded, known);
    pair.close = true;
    Some(pair)
}

fn rewritten(maker: &mut Maker) -> Option<Pair> {
    let base = maker.any();
    let a = if maker.percent(50) { maker.rewritten(&base) } else { base.clone() };
    let b = maker.rewritten(&base);
    Some(Pair::new(a, b, Known::Equal))
}

fn rewritten_and_changed(maker: &mut Maker) -> Option<Pair> {
    let a = maker.any();
    let mut b = maker.rewritten(&a);
    let mut numbers = b.numbers();
    let at = maker.below(numbers.len());
    let by = maker.nonzero();
    *numbers[at] += &by;
    let known = look(maker, &a, &b, &[1, 4, 64]);
    Some(Pair::new(a, b, known))
}

/// Neurons split, turned and carried, with the result stored in single or double precision.
fn split_single(maker: &mut Maker) -> Option<Pair> {
    maker.style = if maker.percent(70) { Style::Singles } else { Style::Doubles };
    let widths = maker.widths();
    let a = maker.network(&widths, false);
    let mut b = a.clone();
    for _ in 0..1 + maker.below(3) {
        let layer = maker.below(b.hidden());
        let unit = maker.below(b.layers[layer].width());
        match maker.below(5) {
            0..3 => {
                let (factor, share) = (maker.positive(), exact(maker.rng.random()));
                b.split(layer, unit, &factor, &share);
            }
            3 => b.turn(layer, unit, &Rational::ONE),
            _ if b.layers.len() < 5 => b.deepen(layer, true),
            _ => {}
        }
    }
    maker.disguise(&mut b);
    round(maker, a, b)
}

fn one_ulp(maker: &mut Maker) -> Option<Pair> {
    let a = maker.any();
    let mut b = a.clone();
    let single = maker.style == Style::Singles;
    let mut numbers = b.numbers();
    let at = maker.below(numbers.len());
    let x = numbers[at].to_f64();
    *numbers[at] = exact(if single { f64::from((x as f32).next_up()) } else { x.next_up() });
    if maker.percent(50) {
        maker.disguise(&mut b);
    }
    let known = look(maker, &a, &b, &[1, 4, 64]);
    let mut pair = Pair::new(a, b, known);
    pair.close = true;
    Some(pair)
}

/// One number changed by a part of itself.
fn slightly(maker: &mut Maker) -> Option<Pair> {
    let a = maker.any();
    let mut b = a.clone();
    let bits = maker.rng.random_range(2..50);
    let mut numbers = b.numbers();
    let at = maker.below(numbers.len());
    let by = numbers[at].to_f64() * 2f64.powi(-bits);
    *numbers[at] = exact(numbers[at].to_f64() + by);
    if maker.percent(50) {
        maker.disguise(&mut b);
    }
    let known = look(maker, &a, &b, &[1, 4, 64]);
    let mut pair = Pair::new(a, b, known);
    pair.close = bits > 9;
    Some(pair)
}

/// `c relu(x)` as the difference of two large multiples, with and without a mistake in the last place.
fn huge(maker: &mut Maker) -> Option<Pair> {
    let n = maker.pick(&[1, 1, 2, 3]);
    let row = (0..n).map(|_| Rational::from(maker.rng.random_range(1..=3))).collect::<Vec<_>>();
    let base = Rational::dyadic(maker.rng.random_range(1..=9), maker.rng.random_range(-4..=12));
    let large = Rational::dyadic(1, maker.rng.random_range(30..70));
    let bias = maker.number();
    let one = |c: &Rational| -> Draft {
        let mut draft = empty(n);
        draft.append(0, row.clone(), bias.clone(), std::slice::from_ref(c));
        draft
    };
    let a = one(&base);
    let sum = exact((&base + &large).to_f64());
    let mut b = one(&sum);
    let factor = maker.power();
    b.append(0, row.iter().map(|w| w * &factor).collect(), &bias * &factor, &[-&(&large / &factor)]);
    if maker.percent(40) {
        let mut numbers = b.numbers();
        let at = maker.below(numbers.len());
        *numbers[at] = exact(numbers[at].to_f64().next_up());
    }
    maker.disguise(&mut b);
    let known = if sum == &base + &large && b_is_exact(&a, &b) {
        Known::Open
    } else {
        look(maker, &a, &b, &[1, 4, 64])
    };
    Some(Pair::new(a, b, known))
}

/// Whether a network may still be equal: at a few points it is.
fn b_is_exact(a: &Draft, b: &Draft) -> bool {
    let point = |x: i64| vec![Rational::from(x); a.inputs()];
    [-5, -1, 0, 1, 2, 7].into_iter().all(|x| a.value(&point(x)) == b.value(&point(x)))
}

/// A network with one output and a neuron that says nothing.
fn empty(inputs: usize) -> Draft {
    let zeros = vec![Rational::ZERO; inputs];
    let first = crate::draft::Rows { weight: vec![zeros], bias: vec![Rational::ZERO], relu: true };
    let last =
        crate::draft::Rows { weight: vec![vec![Rational::ZERO]], bias: vec![Rational::ZERO], relu: false };
    Draft { layers: vec![first, last] }
}

/// On a box, neurons of the first layer that are off there are left out, and those that are on may get
/// another bias that the next layer takes up.
fn stable(maker: &mut Maker) -> Option<Pair> {
    let a = maker.any();
    let n = a.inputs();
    let radius = Rational::dyadic(1, maker.rng.random_range(-6..=1));
    let centre = maker.point(n, 1);
    let sides: Vec<_> = centre.iter().map(|x| Interval::new(x - &radius, x + &radius)).collect();
    let mut b = a.clone();
    let mut changed = false;
    for i in 0..a.layers[0].width() {
        let rows = &a.layers[0];
        let middle: Rational = rows.weight[i].iter().zip(&centre).map(|(w, x)| w * x).sum();
        let spread: Rational = rows.weight[i].iter().map(|w| &w.abs() * &radius).sum();
        let (middle, spread) = (&middle + &rows.bias[i], spread);
        if &middle + &spread <= Rational::ZERO {
            // Off: whatever it says to the next layer is not heard.
            let out = maker.vector(a.layers[1].width());
            b.layers[1].weight.iter_mut().zip(out).for_each(|(row, v)| row[i] = v);
            changed = true;
        } else if &middle - &spread >= Rational::ZERO && rows.relu {
            let by = maker.positive();
            b.layers[0].bias[i] += &by;
            let column = a.column(0, i);
            b.layers[1].bias.iter_mut().zip(&column).for_each(|(b, v)| *b -= &(&by * v));
            changed = true;
        }
    }
    if !changed || !a.layers[0].relu {
        return None;
    }
    maker.disguise(&mut b);
    let mut pair = Pair::new(a, b, Known::EqualThere);
    pair.domain = Some(Domain::Box(sides));
    Some(pair)
}

fn unrelated(maker: &mut Maker) -> Option<Pair> {
    let widths = maker.widths();
    let (a, b) = (maker.network(&widths, true), maker.network(&widths, true));
    let known = look(maker, &a, &b, &[1, 4]);
    Some(Pair::new(a, b, known))
}
