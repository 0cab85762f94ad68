//! Where two maps with one hidden layer differ.
//!
//! If the hyperplane representations of `g_A` and `g_B` on a box differ, a point where `g_A != g_B` can be
//! written down: if the weights on a hyperplane differ, the second difference of `g_A - g_B` across it is
//! not zero, so the maps differ at one of three points; if only the affine rests differ, they differ at one
//! of `d + 1` points in general position.

use std::collections::BTreeMap;

use fiberscope_algebra::rational::dot;
use fiberscope_core::{ExactNetwork, HyperplaneRepresentation, Interval, Layer, Rational};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A map `x -> V relu(W x + c) + e` on a box.
pub struct Tail<'a> {
    /// The hidden layer.
    pub hidden: &'a Layer<Rational>,
    /// The output layer.
    pub output: &'a Layer<Rational>,
}

impl<'a> Tail<'a> {
    /// The last hidden layer and the output layer of a network.
    pub fn of(network: &'a ExactNetwork) -> Self {
        let layers = network.layers();
        Tail { hidden: &layers[layers.len() - 2], output: &layers[layers.len() - 1] }
    }
}

/// Points of the interior of the box, at one of which the maps differ if their representations do.
/// `None` if the maps are equal on the box.
pub fn difference_points(a: &Tail, b: &Tail, sides: &[Interval], seed: u64) -> Option<Vec<Vec<Rational>>> {
    let of = |tail: &Tail| HyperplaneRepresentation::new(tail.hidden, tail.output, sides);
    let (of_a, of_b) = (of(a), of(b));
    if of_a.same_map(&of_b) {
        return None;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut points = Vec::new();
    for (normal, offset) in different_hyperplanes(&of_a, &of_b).into_iter().take(8) {
        for _ in 0..8 {
            points.extend(across(&normal, &offset, sides, &mut rng));
        }
    }
    for _ in 0..=2 * sides.len() {
        points.push(sides.iter().map(|side| inside(side, &mut rng)).collect());
    }
    Some(points)
}

/// The hyperplanes that carry different weights in the two representations.
fn different_hyperplanes(
    a: &HyperplaneRepresentation,
    b: &HyperplaneRepresentation,
) -> Vec<(Vec<Rational>, Rational)> {
    let table = |representation: &HyperplaneRepresentation| -> BTreeMap<_, _> {
        let entry = |h: &fiberscope_core::WeightedHyperplane| {
            ((h.normal.clone(), h.offset.clone()), h.weight.clone())
        };
        representation.hyperplanes.iter().map(entry).collect()
    };
    let (of_a, of_b) = (table(a), table(b));
    let only = of_a.iter().filter(|(key, weight)| of_b.get(*key) != Some(*weight));
    let others = of_b.keys().filter(|key| !of_a.contains_key(*key));
    only.map(|(key, _)| key).chain(others).cloned().collect()
}

/// A random point of the interior of an interval (its only point if it has just one).
pub fn inside(side: &Interval, rng: &mut ChaCha8Rng) -> Rational {
    let (fraction, power): (i128, i64) = (rng.random_range(1..1 << 20), rng.random_range(-6..=6));
    let scaled = |fraction: i128| Rational::dyadic(fraction, power - 20);
    match (&side.lower, &side.upper) {
        (Some(lower), Some(upper)) => lower + &(&Rational::dyadic(fraction, -20) * &(upper - lower)),
        (Some(lower), None) => lower + &scaled(fraction),
        (None, Some(upper)) => upper - &scaled(fraction),
        (None, None) => scaled(fraction - (1 << 19)),
    }
}

/// Points on a hyperplane inside the box and beside it, at several distances.
fn across(
    normal: &[Rational],
    offset: &Rational,
    sides: &[Interval],
    rng: &mut ChaCha8Rng,
) -> Vec<Vec<Rational>> {
    let value = |x: &[Rational]| -> Rational { &dot(normal, x) + offset };
    let Some((low, high)) = both_sides(normal, &value, sides, rng) else { return Vec::new() };
    let (at_low, at_high) = (value(&low), value(&high));
    // The point of the segment from `low` to `high` where the value is zero.
    let t = &-&at_low / &(&at_high - &at_low);
    let step: Vec<_> = high.iter().zip(&low).map(|(h, l)| h - l).collect();
    let at = |t: &Rational| -> Vec<_> { low.iter().zip(&step).map(|(l, s)| l + &(t * s)).collect() };
    let room = t.clone().min(&Rational::ONE - &t);
    let mut points = vec![at(&t)];
    for shift in [1, 4, 10, 20, 40, 80] {
        let h = &room * &Rational::dyadic(1, -shift);
        points.extend([at(&(&t - &h)), at(&(&t + &h))]);
    }
    points
}

/// Interior points of the box on the negative and on the positive side of the hyperplane.
fn both_sides(
    normal: &[Rational],
    value: &dyn Fn(&[Rational]) -> Rational,
    sides: &[Interval],
    rng: &mut ChaCha8Rng,
) -> Option<(Vec<Rational>, Vec<Rational>)> {
    let start: Vec<_> = sides.iter().map(|side| inside(side, rng)).collect();
    let mut reach = |sign: i8| {
        // Towards the corner (or the infinite direction) where the value has that sign.
        (0..200).find_map(|k| {
            let towards = |j: usize, rng: &mut ChaCha8Rng| {
                let up = normal[j].signum() * sign;
                let end = if up > 0 { &sides[j].upper } else { &sides[j].lower };
                let close = &Rational::ONE - &Rational::dyadic(rng.random_range(1..1 << 10), -10 - k / 2);
                match (up, end) {
                    (0, _) => start[j].clone(),
                    (_, Some(end)) => &start[j] + &(&close * &(end - &start[j])),
                    (up, None) => &start[j] + &(&Rational::dyadic(up.into(), k) * &close),
                }
            };
            let point: Vec<_> = (0..normal.len()).map(|j| towards(j, rng)).collect();
            (value(&point).signum() == sign).then_some(point)
        })
    };
    Some((reach(-1)?, reach(1)?))
}
