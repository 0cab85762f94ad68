//! Points of the fiber of a network that hides a first-layer hyperplane.
//!
//! A point is given by a set of flips (if one second-layer neuron is alive), a translation `t >= t_min`, the
//! scales of all neurons that are not dead and the weights of the dead ones
//! [threelayer2026, Section 5]. Decoding a parameter checks every equation of this description exactly.

use fiberscope_core::{
    Domain, ExactNetwork, HyperplaneRepresentation, Layer, Matrix, Move, Network, Rational, content, ratio_of,
};
use rand::{Rng, RngExt};

use super::bottleneck::{BottleneckFiber, HiddenHyperplane, Rest};
use super::component::{Existence, FiberComponent, Orientation, Piece};
use super::layer::Ground;
use super::membership::{Membership, Violation};
use super::singular::between;
use crate::equivalence::solve::Preimage;
use crate::orbit::lines::entries;

/// A dead neuron: its row with the bias, and its outgoing weights.
type Dead = (Vec<Rational>, Vec<Rational>);

/// A point in the order of the given parameter's neurons.
#[derive(Clone, Debug, PartialEq)]
pub struct HidingPoint {
    /// Which neurons of layer 1 are flipped, compared with the given parameter.
    pub flipped: Vec<bool>,
    /// What is added to the hidden neuron's bias.
    pub translation: Rational,
    /// The scales of layers 1 and 2 (1 for dead neurons).
    pub scales: [Vec<Rational>; 2],
    /// The dead neurons of layer 2, in order.
    pub dead: Vec<Dead>,
}

impl HidingPoint {
    /// The point at `s` on the straight line to another one with the same flips.
    pub fn between(&self, other: &Self, s: &Rational) -> Self {
        let line = |x: &[Rational], y: &[Rational]| -> Vec<Rational> {
            x.iter().zip(y).map(|(x, y)| between(x, y, s)).collect()
        };
        HidingPoint {
            flipped: self.flipped.clone(),
            translation: between(&self.translation, &other.translation, s),
            scales: [0, 1].map(|layer| line(&self.scales[layer], &other.scales[layer])),
            dead: self
                .dead
                .iter()
                .zip(&other.dead)
                .map(|(x, y)| (line(&x.0, &y.0), line(&x.1, &y.1)))
                .collect(),
        }
    }
}

impl BottleneckFiber {
    /// The hidden hyperplane, if there is one.
    pub fn hidden(&self) -> Option<&HiddenHyperplane> {
        match self.rest() {
            Rest::Hiding(hidden) => Some(hidden),
            Rest::Layerwise(_) => None,
        }
    }

    /// The number of free flips: `n_1 - 1` if one second-layer neuron is alive and hides a hyperplane, else
    /// 0.
    pub fn flips(&self) -> usize {
        if self.hidden().is_some_and(|hidden| hidden.flips) { self.network().widths()[1] - 1 } else { 0 }
    }

    /// The neurons of layer 1 in the order of the signs that name a piece: the hidden one, then the others by
    /// their hyperplanes.
    fn sign_order(&self, hidden: usize) -> Vec<(usize, bool)> {
        let first = &self.network().layers()[0];
        let line = |unit: usize| -> (Vec<Rational>, bool) {
            let positive = entries(first, unit).find(|x| !x.is_zero()).is_none_or(Rational::is_positive);
            let size = content(entries(first, unit)).unwrap_or(Rational::ONE);
            let scale = if positive { size } else { -size };
            (entries(first, unit).map(|x| x / &scale).collect(), positive)
        };
        let others = (0..first.width()).filter(|&unit| unit != hidden);
        let mut others: Vec<((Vec<Rational>, bool), usize)> = others.map(|unit| (line(unit), unit)).collect();
        others.sort();
        std::iter::once((hidden, true)).chain(others.into_iter().map(|(line, unit)| (unit, line.1))).collect()
    }

    /// The piece of the flips of these neurons of layer 1. Its name has a sign for the hidden neuron, always
    /// `+`, and one for each other neuron, in the order of their hyperplanes: whether the first of its
    /// weights that is not zero is positive. Without flips there is one piece, with `+` everywhere.
    pub(super) fn piece_of_flips(&self, flipped: &[bool]) -> Piece {
        let sign = |(unit, positive): (usize, bool)| self.flips() == 0 || positive != flipped[unit];
        let signs = self.hidden().map_or_else(Vec::new, |hidden| self.sign_order(hidden.unit));
        Piece { orientation: Orientation::new(signs.into_iter().map(sign).collect()), linear: 0 }
    }

    /// Which neurons of layer 1 are flipped in the piece of an orientation, compared with
    /// [`BottleneckFiber::network`].
    pub fn flips_of(&self, orientation: &Orientation) -> Vec<bool> {
        let mut flipped = vec![false; orientation.active().len()];
        if let (Some(hidden), true) = (self.hidden(), self.flips() > 0) {
            let signs = self.sign_order(hidden.unit).into_iter().zip(orientation.active());
            signs.for_each(|((unit, positive), &wanted)| flipped[unit] = positive != wanted);
        }
        flipped
    }

    /// A piece, if a hyperplane is hidden and there is such a piece.
    pub(super) fn hiding_component(&self, piece: &Piece) -> Option<FiberComponent> {
        let hidden = self.hidden()?;
        let [_, n1, _, n3] = self.network().widths()[..] else { return None };
        let signs = piece.orientation.active();
        let named = signs.len() == n1 && piece.linear == 0 && signs[0];
        let free = hidden.flips || signs.iter().all(|&positive| positive);
        (named && free).then(|| FiberComponent {
            orientation: piece.orientation.clone(),
            linear: 0,
            dead: Some(self.dead().len()),
            generic: hidden.generic,
            existence: Existence::Translations,
            rank: 0,
            dimension: Some(1 + self.dead().len() * (n1 + n3)),
        })
    }

    /// What is known of a parameter in which an equation of the hiding ones fails.
    pub(super) fn same_behind_the_first_layer(
        &self,
        other: &ExactNetwork,
        violation: Violation,
    ) -> Membership {
        let sides = Ground::Orthant.sides(self.network().widths()[1]);
        let layers = self.network().layers();
        let map = |hidden: &Layer<Rational>, output| HyperplaneRepresentation::new(hidden, output, &sides);
        let same = self
            .behind_the_first_layer(other)
            .is_some_and(|hidden| map(&layers[1], &layers[2]).same_map(&map(&hidden, &other.layers()[2])));
        if same { Membership::Elsewhere(violation) } else { Membership::Outside(violation) }
    }

    /// The given parameter with its hidden hyperplane translated by `t`: the same function iff `t >= t_min`.
    pub fn translated(&self, t: &Rational) -> Option<ExactNetwork> {
        let unit = self.hidden()?.unit;
        let mut layers = self.network().layers().to_vec();
        let weights = layers[1].weight().clone();
        for (l, layer) in layers.iter_mut().enumerate().take(2) {
            let (weight, mut bias, activation) = layer.clone().into_parts();
            match l {
                0 => bias[unit] += t,
                _ => bias.iter_mut().enumerate().for_each(|(j, b)| *b -= &(t * &weights[(j, unit)])),
            }
            *layer = Layer::new(weight, bias, activation);
        }
        Network::new(layers).ok()
    }

    /// A line of inputs `p + s q` on which the hidden neuron's pre-activation is `s` and the others of layer
    /// 1 are off.
    pub fn line_across(&self) -> Option<(Vec<Rational>, Vec<Rational>)> {
        let unit = self.hidden()?.unit;
        let first = &self.network().layers()[0];
        let preimage = Preimage::new(first)?;
        let wanted = |s: i64| -> Vec<Rational> {
            (0..first.width()).map(|i| if i == unit { Rational::from(s) } else { -Rational::ONE }).collect()
        };
        let (start, end) = (preimage.exact(&wanted(0))?, preimage.exact(&wanted(1))?);
        let direction = start.iter().zip(&end).map(|(p, q)| q - p).collect();
        Some((start, direction))
    }

    /// The network of a point; `None` if a scale is zero, or a flip is not allowed.
    pub(super) fn assemble(&self, point: &HidingPoint) -> Option<ExactNetwork> {
        let unit = self.hidden()?.unit;
        let mut network = self.network().clone();
        let flips: Vec<usize> = (0..point.flipped.len()).filter(|&i| point.flipped[i]).collect();
        if !flips.is_empty() {
            Move::Flip { layer: 0, unit, flips }.apply(&mut network, &Domain::Space).ok()?;
        }
        if !point.translation.is_zero() {
            let amount = point.translation.clone();
            Move::Translate { layer: 0, unit, amount }.apply(&mut network, &Domain::Space).ok()?;
        }
        for (layer, factors) in point.scales.iter().cloned().enumerate() {
            Move::Scale { layer, factors }.apply(&mut network, &Domain::Space).ok()?;
        }
        let mut layers = network.into_layers();
        let (mut out, constant, last) = layers.pop()?.into_parts();
        let (mut rows, mut bias, activation) = layers.pop()?.into_parts();
        for (&j, (row, outgoing)) in self.dead().iter().zip(&point.dead) {
            let (b, w) = row.split_last()?;
            rows.row_mut(j).clone_from_slice(w);
            bias[j] = b.clone();
            outgoing.iter().enumerate().for_each(|(o, v)| out[(o, j)] = v.clone());
        }
        layers.push(Layer::new(rows, bias, activation));
        layers.push(Layer::new(out, constant, last));
        Network::new(layers).ok()
    }

    /// The description of a parameter of the fiber, or the first equation that fails.
    pub(super) fn decode(&self, other: &ExactNetwork) -> Result<HidingPoint, Violation> {
        let hidden = self.hidden().ok_or_else(|| Violation::Hidden("no hyperplane is hidden".into()))?;
        let own = self.network().widths();
        let first = self.decode_first(hidden, &other.layers()[0])?;
        let flipped = self.assemble(&HidingPoint {
            flipped: first.flipped.clone(),
            translation: Rational::ZERO,
            scales: [vec![Rational::ONE; own[1]], vec![Rational::ONE; own[2]]],
            dead: self.own_dead(),
        });
        let flipped = flipped.ok_or_else(|| {
            Violation::FirstLayer("its rows cannot be flipped into those of the function".into())
        })?;
        let k = hidden.unit;
        let rows = &flipped.layers()[0];
        let (scale, shift) =
            scale_and_shift(rows, k, &other.layers()[0], first.places[k]).ok_or_else(|| {
                Violation::FirstLayer(format!(
                    "neuron {} is no translate of the hidden neuron {}",
                    first.places[k] + 1,
                    k + 1
                ))
            })?;
        if shift < hidden.least {
            let reason = format!(
                "the translation t = {shift} of neuron {} of layer 1 is below t_min = {}",
                k + 1,
                hidden.least
            );
            return Err(Violation::Hidden(reason));
        }
        let mut scales = first.scales;
        scales[k] = scale;
        let (second, dead) = self.decode_second(k, &shift, &scales, &first.places, other)?;
        Ok(HidingPoint { flipped: first.flipped, translation: shift, scales: [scales, second], dead })
    }

    fn own_dead(&self) -> Vec<Dead> {
        let [_, second, third] = self.network().layers() else { return Vec::new() };
        let row = |j: usize| entries(second, j).cloned().collect();
        self.dead().iter().map(|&j| (row(j), third.weight().column(j).cloned().collect())).collect()
    }

    /// Matches the rows of layer 1 but the hidden one.
    fn decode_first(&self, hidden: &HiddenHyperplane, other: &Layer<Rational>) -> Result<First, Violation> {
        let own = &self.network().layers()[0];
        let n = own.width();
        let (mut places, mut scales, mut flipped) = (vec![n; n], vec![Rational::ONE; n], vec![false; n]);
        for i in (0..n).filter(|&i| i != hidden.unit) {
            let found = (0..n).find_map(|place| {
                let factor = ratio_of(entries(own, i), entries(other, place))?;
                let allowed = factor.is_positive() || (hidden.flips && factor.is_negative());
                (allowed && !places.contains(&place)).then_some((place, factor))
            });
            let (place, factor) = found.ok_or_else(|| {
                Violation::FirstLayer(format!(
                    "no row is a multiple of row {} of the function's first layer",
                    i + 1
                ))
            })?;
            (places[i], scales[i], flipped[i]) = (place, factor.abs(), factor.is_negative());
        }
        places[hidden.unit] = (0..n).find(|place| !places.contains(place)).unwrap_or(0);
        Ok(First { places, scales, flipped })
    }

    /// Checks layers 2 and 3; the scales of layer 2 and its dead neurons.
    fn decode_second(
        &self,
        k: usize,
        shift: &Rational,
        scales: &[Rational],
        places: &[usize],
        other: &ExactNetwork,
    ) -> Result<(Vec<Rational>, Vec<Dead>), Violation> {
        let second = &self.network().layers()[1];
        let their = &other.layers()[1];
        // Their second layer in the coordinates of the given first layer.
        let weight =
            Matrix::from_fn(their.width(), places.len(), |j, i| &their.weight()[(j, places[i])] * &scales[i]);
        let theirs = Layer::new(weight, their.bias().to_vec(), their.activation());
        let dead = |layer: &Layer<Rational>, j: usize| {
            Ground::Orthant.role(layer.weight().row(j), &layer.bias()[j]) < 0
        };
        let mut factors = vec![Rational::ONE; second.width()];
        let mut used = vec![false; second.width()];
        for j in (0..second.width()).filter(|j| !self.dead().contains(j)) {
            let moved = &second.bias()[j] - &(shift * &second.weight()[(j, k)]);
            let row: Vec<Rational> = second.weight().row(j).iter().cloned().chain([moved]).collect();
            let found = (0..theirs.width()).find_map(|place| {
                let factor = ratio_of(row.iter(), entries(&theirs, place)).filter(Rational::is_positive)?;
                (!used[place] && !dead(&theirs, place)).then_some((place, factor))
            });
            let (place, factor) = found.ok_or_else(|| {
                Violation::Hidden(format!(
                    "no neuron of layer 2 is neuron {} of layer 2 after the translation by t = {shift}",
                    j + 1
                ))
            })?;
            self.check_out(j, place, &factor, &other.layers()[2])?;
            (factors[j], used[place]) = (factor, true);
        }
        self.check_constant(&other.layers()[2])?;
        let rest: Vec<usize> = (0..theirs.width()).filter(|&place| !used[place]).collect();
        if let Some(&unit) = rest.iter().find(|&&place| !dead(&theirs, place)) {
            return Err(Violation::Hidden(format!("neuron {} of layer 2 is not dead", unit + 1)));
        }
        let column = |place: usize| other.layers()[2].weight().column(place).cloned().collect();
        // Scaled back where the given scales will scale the columns again.
        let row = |place: usize| {
            let weight = their.weight();
            let scaled = places.iter().map(|&from| weight[(place, from)].clone());
            scaled.chain([their.bias()[place].clone()]).collect()
        };
        Ok((factors, rest.into_iter().map(|place| (row(place), column(place))).collect()))
    }

    fn check_out(
        &self,
        j: usize,
        place: usize,
        factor: &Rational,
        third: &Layer<Rational>,
    ) -> Result<(), Violation> {
        let own = &self.network().layers()[2];
        for output in 0..own.width() {
            let (expected, found) =
                (own.weight()[(output, j)].clone(), &third.weight()[(output, place)] * factor);
            if expected != found {
                return Err(Violation::SecondLayer(Box::new(Violation::Weight {
                    unit: place,
                    hyperplane: j,
                    output,
                    expected,
                    found,
                })));
            }
        }
        Ok(())
    }

    fn check_constant(&self, third: &Layer<Rational>) -> Result<(), Violation> {
        let own = self.network().layers()[2].bias();
        match own.iter().zip(third.bias()).position(|(x, y)| x != y) {
            None => Ok(()),
            Some(o) => Err(Violation::Hidden(format!(
                "output bias {}: expected {}, found {}",
                o + 1,
                own[o],
                third.bias()[o]
            ))),
        }
    }

    /// A random point with the given flips: short numbers, so that the parameter consists of doubles where
    /// that is possible.
    pub(super) fn random_point(&self, orientation: &Orientation, rng: &mut impl Rng) -> Option<HidingPoint> {
        let hidden = self.hidden()?;
        let [n1, n2, n3] = self.network().widths()[1..] else { return None };
        let size = -&hidden.least;
        let step = Rational::dyadic(1, i64::from(size.to_f64().log2().floor() as i32) - 3);
        let least = hidden.least.round_up(6);
        let mut scale = |count: usize| -> Vec<Rational> {
            (0..count).map(|_| Rational::dyadic(1, rng.random_range(-2..=2))).collect()
        };
        let mut scales = [scale(n1), scale(n2)];
        self.dead().iter().for_each(|&j| scales[1][j] = Rational::ONE);
        let mut short = |sign: i64| Rational::from(sign * rng.random_range(0..16));
        let dead = self.dead().iter().map(|_| {
            let row = (0..=n1).map(|_| short(-1)).collect();
            (row, (0..n3).map(|_| &short(1) - &short(1)).collect())
        });
        let dead = dead.collect();
        let translation = &least + &(&step * &Rational::from(rng.random_range(0..64)));
        Some(HidingPoint { flipped: self.flips_of(orientation), translation, scales, dead })
    }
}

struct First {
    places: Vec<usize>,
    scales: Vec<Rational>,
    flipped: Vec<bool>,
}

/// `(s, t)` with `(w', b') = s (w, b + t)`, `s > 0`.
fn scale_and_shift(
    own: &Layer<Rational>,
    unit: usize,
    other: &Layer<Rational>,
    place: usize,
) -> Option<(Rational, Rational)> {
    let factor = ratio_of(own.weight().row(unit).iter(), other.weight().row(place).iter())
        .filter(Rational::is_positive)?;
    let shift = &(&other.bias()[place] / &factor) - &own.bias()[unit];
    Some((factor, shift))
}
