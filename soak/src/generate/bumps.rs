//! Networks plus a neuron of their own, `c relu(w x - t)`: the difference is known everywhere.

use fiberscope_core::{Domain, Rational};
use rand::RngExt;

use super::maker::Maker;
use super::{Known, Pair};
use crate::cells::Supremum;
use crate::draft::Draft;

/// `A` and `A + c relu(w x - t)`, with the hyperplane far away or near.
pub fn bump(maker: &mut Maker) -> Option<Pair> {
    let widths = maker.widths();
    let degenerate = maker.percent(20);
    let mut a = maker.network(&widths, degenerate);
    let hidden = a.hidden();
    a.layers[..hidden].iter_mut().for_each(|rows| rows.relu = true);
    let n = a.inputs();
    let mut w = vec![Rational::ZERO; n];
    for _ in 0..1 + maker.below(n) {
        let at = maker.below(n);
        w[at] = Rational::from(maker.pick(&[1, 1, -1, 2, -3]));
    }
    let far = maker.pick(&[0, 1, 3, 10, 20, 40]);
    let t = Rational::dyadic(maker.rng.random_range(1..=9), far);
    let size = maker.pick(&[-20, -4, 0, 4, 10, 30]);
    let c: Vec<_> =
        (0..a.outputs()).map(|_| Rational::dyadic(maker.rng.random_range(1..=1000), size)).collect();
    let mut b = a.clone();
    beside(&mut b, &w, &-&t, &c);
    // Where w x = t + 1, and where w x = t.
    let square: Rational = w.iter().map(|x| x * x).sum();
    let at = |value: &Rational| w.iter().map(|x| &(x * value) / &square).collect::<Vec<_>>();
    let witness = at(&(&t + &Rational::ONE));
    let place = at(&t);
    if maker.percent(50) {
        maker.disguise(&mut b);
    }
    if maker.percent(20) {
        maker.rewrite(&mut b);
    }
    let mut pair = Pair::new(a, b, Known::Different(witness));
    pair.place = Some(place);
    pair.bump = Some(Bump { w, t, c });
    Some(pair)
}

/// A hat of height `c` far away: three neurons, equal to zero outside.
pub fn hat(maker: &mut Maker) -> Option<Pair> {
    let widths = maker.widths();
    let a = maker.network(&widths, false);
    let n = a.inputs();
    let mut w = vec![Rational::ZERO; n];
    w[maker.below(n)] = Rational::ONE;
    let t = Rational::dyadic(maker.rng.random_range(1..=9), maker.pick(&[0, 5, 12]));
    let (half, c) = (maker.power(), maker.positive());
    let mut b = a.clone();
    for (step, times) in [(0, 1), (1, -2), (2, 1)] {
        let out = vec![&c * &Rational::from(times); a.outputs()];
        beside(&mut b, &w, &-&(&t + &(&half * &Rational::from(step))), &out);
    }
    let place: Vec<_> = w.iter().map(|x| x * &(&t + &half)).collect();
    if maker.percent(50) {
        maker.disguise(&mut b);
    }
    let mut pair = Pair::new(a, b, Known::Different(place.clone()));
    pair.place = Some(place);
    Some(pair)
}

/// The same network with other output biases: the difference is the same everywhere.
pub fn offset(maker: &mut Maker) -> Option<Pair> {
    let a = maker.any();
    let mut b = a.clone();
    let by = Rational::dyadic(maker.rng.random_range(1..=9), maker.rng.random_range(-40..=4));
    let last = b.layers.len() - 1;
    let output = maker.below(b.outputs());
    b.layers[last].bias[output] += &by;
    maker.disguise(&mut b);
    let point = vec![Rational::ZERO; a.inputs()];
    let mut pair = Pair::new(a, b, Known::Different(point));
    // Small against one, and so perhaps a few units in the last place of the bias.
    pair.close = by < Rational::dyadic(1, -6);
    pair.supremum = Some(Supremum::Finite(by));
    Some(pair)
}

/// The neuron that one network has and the other has not.
#[derive(Clone, Debug)]
pub struct Bump {
    w: Vec<Rational>,
    t: Rational,
    c: Vec<Rational>,
}

/// `max c relu(w x - t)` over the domain, which is a product of intervals.
pub fn supremum_there(pair: &Pair, domain: &Domain) -> Option<Supremum> {
    let Bump { w, t, c } = pair.bump.as_ref()?;
    let mut reach = -t;
    for (w, side) in w.iter().zip(domain.sides(w.len())).filter(|(w, _)| !w.is_zero()) {
        match if w.is_positive() { side.upper } else { side.lower } {
            Some(end) => reach += &(w * &end),
            None => return Some(Supremum::Infinite),
        }
    }
    let largest = c.iter().max()?;
    Some(Supremum::Finite(&reach.max(Rational::ZERO) * largest))
}

/// Adds `c relu(w x + b)` to the outputs, carried past the other layers.
fn beside(draft: &mut Draft, w: &[Rational], bias: &Rational, c: &[Rational]) {
    let last = draft.hidden();
    let mut row = w.to_vec();
    let mut bias = bias.clone();
    for layer in 0..last {
        let next = draft.layers[layer + 1].width();
        let out = if layer + 1 == last { c.to_vec() } else { vec![Rational::ZERO; next] };
        draft.append(layer, row, bias, &out);
        row = vec![Rational::ZERO; draft.layers[layer].width()];
        let width = row.len();
        row[width - 1] = Rational::ONE;
        bias = Rational::ZERO;
    }
}
