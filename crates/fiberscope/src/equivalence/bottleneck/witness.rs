//! A mismatch of two bottleneck networks, turned into a witness.
//!
//! Let `z = W_1 x + b_1`; since `W_1` has full row rank, every `z` is reached. Points are written down where
//! one of the networks must show what the other does not have:
//!
//! - on the hyperplane of a first-layer neuron `k` without partner, where a second-layer neuron `j` is
//!   active: `z_k = 0` and either all other `z_i` small (if `b_j > 0`) or one of them large with
//!   `W_2[j,i] > 0`. Only hidden hyperplanes have no such point [threelayer2026, Section 5];
//! - inside the regions where all `z_i > 0` and `j` is active: there a neuron with the opposite orientation,
//!   or a row outside the other network's row space, gives another gradient;
//! - on the bend of a second-layer neuron `j` where `z_i = -b_j / W_2[j,i]` and all other `z < 0`: for a
//!   hidden neuron this is the only place where its row is seen.
//!
//! At a point on a bend, exactly, a step `h` is halved until nothing else bends between `p - hu` and
//! `p + hu`. If the bend is missing in the other network, the second difference of `f_A - f_B` does not
//! vanish, so the networks differ at one of the three points. Beside them the affine maps are compared: where
//! they differ, a small step along a coordinate gives a point. Everything is evaluated exactly.

use fiberscope_core::{Activation, ExactNetwork, Layer, Matrix, Network, Rational, Sign, SignVector};

use super::super::solve::Preimage;
use crate::limit::Deadline;
use crate::orbit::partners;

/// The most points of each kind per network.
const POINTS: usize = 200;

/// The most halvings of a step.
const HALVINGS: i64 = 400;

/// Where to look: wanted pre-activations of the first layer, and what bends there.
struct Target {
    z: Vec<Rational>,
    bend: Option<Bend>,
}

/// A neuron whose pre-activation vanishes at the point, and the first-layer neuron to move along.
struct Bend {
    layer: usize,
    unit: usize,
    along: usize,
}

/// A point where the networks differ, if one of the constructions gives one.
pub fn find(a: &ExactNetwork, b: &ExactNetwork, deadline: &Deadline) -> Option<Vec<Rational>> {
    let kinds = [unpartnered, inside, axes];
    let both = [(a, b), (b, a)];
    kinds.into_iter().flat_map(|kind| both.map(|(of, other)| (kind, of, other))).find_map(
        |(kind, of, other)| {
            let preimage = Preimage::new(&of.layers()[0])?;
            let targets = kind(of, other).into_iter().take(POINTS).take_while(|_| !deadline.is_past());
            let mut around = targets.filter_map(|target| {
                let x = preimage.approximate(&target.z)?;
                match target.bend {
                    Some(bend) => across(of, other, x, &bend),
                    None => difference_at(of, other, &x),
                }
            });
            around.next()
        },
    )
}

/// Whether the networks differ at a point.
pub fn differ(a: &ExactNetwork, b: &ExactNetwork, x: &[Rational]) -> bool {
    a.evaluate_exact(x).ok() != b.evaluate_exact(x).ok()
}

/// Points on the hyperplanes of first-layer neurons without partner.
fn unpartnered(of: &ExactNetwork, other: &ExactNetwork) -> Vec<Target> {
    let partners = partners(&of.layers()[0], &other.layers()[0], &Deadline::NEVER).unwrap_or_default();
    let missing = (0..partners.len()).filter(|&unit| partners[unit].is_empty());
    let targets = missing.flat_map(|unit| {
        active_points(&of.layers()[1], Some(unit)).into_iter().map(move |mut z| {
            z[unit] = Rational::ZERO;
            Target { z, bend: Some(Bend { layer: 0, unit, along: unit }) }
        })
    });
    targets.collect()
}

/// Points with positive pre-activations.
fn inside(of: &ExactNetwork, _: &ExactNetwork) -> Vec<Target> {
    let points = active_points(&of.layers()[1], None);
    points.into_iter().map(|z| Target { z, bend: None }).collect()
}

/// Points with positive pre-activations (that of `without` does not matter) at which a second-layer neuron
/// that sees `without` is active.
fn active_points(next: &Layer<Rational>, without: Option<usize>) -> Vec<Vec<Rational>> {
    let inputs = next.input_width();
    // No simple relations between the coordinates.
    let uneven = |i: usize| &Rational::ONE + &Rational::dyadic((i as i128 * 89 + 37) % 128, -8);
    let mut points = Vec::new();
    for j in 0..next.width() {
        let row = next.weight().row(j);
        if without.is_some_and(|unit| row[unit].is_zero()) {
            continue;
        }
        let total = &row.iter().map(Rational::abs).sum::<Rational>() + &Rational::ONE;
        let all = |small: &Rational| -> Vec<Rational> { (0..inputs).map(|i| &uneven(i) * small).collect() };
        if next.bias()[j].is_positive() {
            let small = &next.bias()[j] / &(&total * &Rational::from(4));
            points.push(all(&short(&small)));
        }
        for i in (0..inputs).filter(|&i| Some(i) != without && row[i].is_positive()) {
            // Large enough to outweigh a negative bias, with the others small.
            let size = &(&(next.bias()[j].abs() + Rational::ONE) / &row[i]) * &Rational::from(2);
            let small = &(&size * &row[i]) / &(&total * &Rational::from(8));
            let mut z = all(&short(&small));
            z[i] = size;
            points.push(z);
        }
    }
    points
}

/// Points on the bends of second-layer neurons at which all first-layer neurons but one are off.
fn axes(of: &ExactNetwork, _: &ExactNetwork) -> Vec<Target> {
    let next = &of.layers()[1];
    let mut targets = Vec::new();
    for unit in 0..next.width() {
        for (along, w) in next.weight().row(unit).iter().enumerate() {
            let bias = &next.bias()[unit];
            if w.is_zero() || bias.signum() == w.signum() || (bias.is_zero() && w.is_negative()) {
                continue;
            }
            let mut z: Vec<Rational> = (0..next.input_width())
                .map(|i| -(&Rational::ONE + &Rational::dyadic((i as i128 * 53 + 11) % 64, -6)))
                .collect();
            z[along] = -(bias / w);
            targets.push(Target { z, bend: Some(Bend { layer: 1, unit, along }) });
        }
    }
    targets
}

/// A power of two below a positive number.
fn short(x: &Rational) -> Rational {
    let exponent = x.to_f64().log2().floor();
    if exponent.is_finite() { Rational::dyadic(1, exponent as i64) } else { x.clone() }
}

/// A difference at a bend near `x` or beside it.
fn across(of: &ExactNetwork, other: &ExactNetwork, x: Vec<Rational>, bend: &Bend) -> Option<Vec<Rational>> {
    let direction = of.layers()[0].weight().row(bend.along);
    let p = onto(of, bend, x, direction)?;
    let signs = [of, other].map(|network| network.sign_vector_exact(&p).ok());
    let step = |k: i64| -> [Vec<Rational>; 2] {
        [1, -1].map(|sign| moved(&p, direction, &Rational::dyadic(sign, -k)))
    };
    let beside = (0..HALVINGS).map(step).find(|points| {
        points.iter().all(|x| {
            let here = [of, other].map(|network| network.sign_vector_exact(x).ok());
            signs.iter().zip(&here).all(|(at, near)| at.as_ref().zip(near.as_ref()).is_some_and(kept))
        })
    })?;
    if differ(of, other, &p) {
        return Some(p);
    }
    beside.iter().find_map(|x| difference_at(of, other, x))
}

/// Whether what does not vanish at a point has the same sign near it.
fn kept((at, near): (&SignVector, &SignVector)) -> bool {
    at.signs().zip(near.signs()).all(|(at, near)| at == Sign::Zero || at == near)
}

/// The point of the line through `x` where the neuron vanishes, by exact secants on its affine pieces.
fn onto(of: &ExactNetwork, bend: &Bend, x: Vec<Rational>, direction: &[Rational]) -> Option<Vec<Rational>> {
    let network = alone(of, bend)?;
    let value = |x: &[Rational]| network.evaluate_exact(x).ok().map(|values| values[0].clone());
    let mut x = x;
    for _ in 0..4 {
        let here = value(&x)?;
        if here.is_zero() {
            return Some(x);
        }
        let delta = Rational::dyadic(1, -30);
        let there = value(&moved(&x, direction, &delta))?;
        let step = &(&here * &delta) * &(&here - &there).recip()?;
        x = moved(&x, direction, &step);
    }
    value(&x)?.is_zero().then_some(x)
}

/// The network whose output is the pre-activation of a neuron.
fn alone(of: &ExactNetwork, bend: &Bend) -> Option<ExactNetwork> {
    let layer = &of.layers()[bend.layer];
    let row = Matrix::from_rows(&[layer.weight().row(bend.unit).to_vec()])?;
    let last = Layer::new(row, vec![layer.bias()[bend.unit].clone()], Activation::Identity);
    Network::new(of.layers()[..bend.layer].iter().cloned().chain([last]).collect()).ok()
}

/// The point itself or one a small step along a coordinate away, if the networks' affine maps differ there.
fn difference_at(a: &ExactNetwork, b: &ExactNetwork, x: &[Rational]) -> Option<Vec<Rational>> {
    if differ(a, b, x) {
        return Some(x.to_vec());
    }
    let (of_a, of_b) = (a.jacobian_exact(x).ok()?, b.jacobian_exact(x).ok()?);
    let column = (0..x.len()).find(|&j| !of_a.column(j).eq(of_b.column(j)))?;
    let step = |k: i64| {
        let mut moved = x.to_vec();
        moved[column] += &Rational::dyadic(1, -k);
        moved
    };
    (0..HALVINGS).map(step).find(|x| differ(a, b, x))
}

fn moved(x: &[Rational], direction: &[Rational], step: &Rational) -> Vec<Rational> {
    x.iter().zip(direction).map(|(x, u)| x + &(u * step)).collect()
}
