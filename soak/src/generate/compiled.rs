//! The same function compiled in two ways: maxima in other brackets, medians by other comparators.
//!
//! `max(a, b) = a + relu(b - a)` and `min(a, b) = a - relu(a - b)`. An expression is made layer by layer;
//! what is needed later is carried as the pair `relu(z) - relu(-z)`.

use std::rc::Rc;

use fiberscope_core::Rational;

use super::maker::Maker;
use super::{Known, Pair};
use crate::draft::{Draft, Rows};

/// A function of the inputs.
#[derive(Clone, Debug)]
enum Expression {
    /// Gradient, then constant.
    Affine(Vec<Rational>),
    /// The larger of two.
    Max(Rc<Expression>, Rc<Expression>),
    /// The smaller of two.
    Min(Rc<Expression>, Rc<Expression>),
}

use Expression::{Affine, Max, Min};

impl Expression {
    fn depth(&self) -> usize {
        match self {
            Affine(_) => 0,
            Max(x, y) | Min(x, y) => 1 + x.depth().max(y.depth()),
        }
    }
}

type Shared = Rc<Expression>;

/// The network with these outputs; `turned` exchanges the operands of every comparison, which gives other
/// neurons.
fn compile(outputs: &[Shared], inputs: usize, turned: bool) -> Draft {
    let depth = outputs.iter().map(|e| e.depth()).max().unwrap_or(0);
    let mut layers = Vec::new();
    // What is known at this layer, as forms over its neurons with the constant last.
    let mut known: Vec<(Shared, Vec<Rational>)> = Vec::new();
    let mut width = inputs;
    for level in 1..=depth {
        let mut wanted = Vec::new();
        outputs.iter().for_each(|e| wants(e, level, &mut wanted));
        let mut rows = Rows { weight: vec![], bias: vec![], relu: true };
        let mut next: Vec<(Shared, Vec<(usize, i64)>)> = Vec::new();
        for e in wanted {
            let mut parts = Vec::new();
            let mut neuron = |form: Vec<Rational>, times: i64| {
                parts.push((rows.bias.len(), times));
                rows.bias.push(form[width].clone());
                rows.weight.push(form[..width].to_vec());
            };
            let (kept, compared) = match &*e {
                Max(x, y) | Min(x, y) if e.depth() == level => {
                    let (x, y) = if turned { (y, x) } else { (x, y) };
                    (x.clone(), Some((y.clone(), matches!(&*e, Max(..)))))
                }
                _ => (e.clone(), None),
            };
            let form = value(&known, &kept, width);
            let negative: Vec<_> = form.iter().map(|x| -x).collect();
            if let Some((other, max)) = compared {
                let other = value(&known, &other, width);
                let sign = Rational::from(if max { 1 } else { -1 });
                let difference = other.iter().zip(&form).map(|(y, x)| &(y - x) * &sign).collect();
                neuron(difference, if max { 1 } else { -1 });
            }
            neuron(form, 1);
            neuron(negative, -1);
            next.push((e, parts));
        }
        width = rows.bias.len();
        layers.push(rows);
        let form = |parts: Vec<(usize, i64)>| {
            let mut form = vec![Rational::ZERO; width + 1];
            parts.into_iter().for_each(|(at, times)| form[at] = Rational::from(times));
            form
        };
        known = next.into_iter().map(|(e, parts)| (e, form(parts))).collect();
    }
    let forms: Vec<_> = outputs.iter().map(|e| value(&known, e, width)).collect();
    layers.push(Rows {
        weight: forms.iter().map(|form| form[..width].to_vec()).collect(),
        bias: forms.iter().map(|form| form[width].clone()).collect(),
        relu: false,
    });
    Draft { layers }
}

/// The expressions that must be known after layer `level`, each once.
fn wants(e: &Shared, level: usize, found: &mut Vec<Shared>) {
    match &**e {
        Max(x, y) | Min(x, y) if e.depth() > level => {
            wants(x, level, found);
            wants(y, level, found);
        }
        _ if !found.iter().any(|other| Rc::ptr_eq(other, e)) => found.push(e.clone()),
        _ => {}
    }
}

fn value(known: &[(Shared, Vec<Rational>)], e: &Shared, width: usize) -> Vec<Rational> {
    if let Some((_, form)) = known.iter().find(|(other, _)| Rc::ptr_eq(other, e)) {
        return form.clone();
    }
    match &**e {
        Affine(form) => form.clone(),
        _ => vec![Rational::ZERO; width + 1],
    }
}

fn max(x: &Shared, y: &Shared) -> Shared {
    Rc::new(Max(x.clone(), y.clone()))
}

fn min(x: &Shared, y: &Shared) -> Shared {
    Rc::new(Min(x.clone(), y.clone()))
}

/// A maximum (or minimum) of all of them, bracketed at random.
fn bracket(maker: &mut Maker, parts: &[Shared], join: fn(&Shared, &Shared) -> Shared) -> Shared {
    let order = maker.order(parts.len());
    let mut left: Vec<Shared> = order.into_iter().map(|i| parts[i].clone()).collect();
    while left.len() > 1 {
        let i = maker.below(left.len() - 1);
        let second = left.remove(i + 1);
        left[i] = join(&left[i], &second);
    }
    left.swap_remove(0)
}

/// The middle one of three, in one of four ways.
fn median(maker: &mut Maker, parts: &[Shared]) -> Shared {
    let order = maker.order(3);
    let [a, b, c] = [0, 1, 2].map(|i| &parts[order[i]]);
    match maker.below(4) {
        0 => max(&min(a, b), &min(&max(a, b), c)),
        1 => min(&max(a, b), &max(&min(a, b), c)),
        2 => {
            let pairs = [min(a, b), min(b, c), min(a, c)];
            bracket(maker, &pairs, max)
        }
        _ => {
            let pairs = [max(a, b), max(b, c), max(a, c)];
            bracket(maker, &pairs, min)
        }
    }
}

/// Three numbers in order, by a network of comparators that begins with any pair.
fn sorted(maker: &mut Maker, parts: &[Shared]) -> Vec<Shared> {
    let mut wires: Vec<Shared> = parts.to_vec();
    let first = maker.pick(&[[0, 1, 0], [1, 0, 1]]);
    for gate in first {
        let (low, high) = (min(&wires[gate], &wires[gate + 1]), max(&wires[gate], &wires[gate + 1]));
        (wires[gate], wires[gate + 1]) = (low, high);
    }
    wires
}

/// Parts: coordinates, or affine functions.
fn parts(maker: &mut Maker, count: usize, inputs: usize) -> Vec<Shared> {
    let coordinates = count <= inputs && maker.percent(60);
    let part = |maker: &mut Maker, i: usize| {
        let mut form = vec![Rational::ZERO; inputs + 1];
        if coordinates {
            form[i] = Rational::ONE;
        } else {
            form = maker.vector(inputs + 1);
        }
        Rc::new(Affine(form))
    };
    (0..count).map(|i| part(maker, i)).collect()
}

/// The same function twice, or with something exchanged in the second.
pub fn compiled(maker: &mut Maker, same: bool) -> Option<Pair> {
    let inputs = maker.pick(&[1, 2, 2, 3, 3, 4]);
    let kind = maker.below(4);
    let count = if kind == 0 { 2 + maker.below(3) } else { 3 };
    let leaves = parts(maker, count, inputs);
    let other = if same || maker.percent(40) { leaves.clone() } else { parts(maker, count, inputs) };
    let make = |maker: &mut Maker, leaves: &[Shared], wrong: bool| -> Vec<Shared> {
        match kind {
            0 if wrong => vec![bracket(maker, leaves, min)],
            0 => vec![bracket(maker, leaves, max)],
            1 if wrong => vec![max(&leaves[0], &min(&leaves[1], &leaves[2]))],
            1 => vec![median(maker, leaves)],
            2 if wrong => vec![min(&leaves[2], &max(&leaves[1], &leaves[0]))],
            2 => vec![bracket(maker, &[min(&leaves[0], &leaves[1]), min(&leaves[0], &leaves[2])], max)],
            _ if wrong => {
                let mut wires = sorted(maker, leaves);
                wires.swap(0, 1);
                wires
            }
            _ => sorted(maker, leaves),
        }
    };
    let first = make(maker, &leaves, false);
    // max(min(a, b), min(a, c)) = min(a, max(b, c)).
    let second = if kind == 2 && same && maker.percent(50) {
        vec![min(&leaves[0], &max(&leaves[1], &leaves[2]))]
    } else {
        let wrong = !same && maker.percent(70);
        make(maker, &other, wrong)
    };
    let turned = (maker.percent(50), maker.percent(50));
    let a = compile(&first, inputs, turned.0);
    let mut b = compile(&second, inputs, turned.1);
    if maker.percent(40) {
        maker.disguise(&mut b);
    }
    let known = if same { Known::Equal } else { super::look(maker, &a, &b, &[1, 4]) };
    Some(Pair::new(a, b, known))
}
