//! The fiber of a three-layer network with a bottleneck, `f = W_3 relu(W_2 relu(W_1 x + b_1) + b_2) + b_3`.
//!
//! Let `n_0 >= n_1 >= 2` and `W_1` have full row rank, so that the first layer maps onto the orthant, and let
//! `g` be the map behind it. Either every first-layer hyperplane is visible, or exactly one, `H_k`, is
//! *hidden*: `g = sum_j a_j relu(u_j x + t_j) + const` with `u_j[k] > 0`, `u_j[i] < 0` for `i != k` and
//! `t_j < 0` for all `j`. The generic parameters with the same function are, modulo permutation and scaling
//! [threelayer2026, Sections 5 and 6]:
//!
//! - not hiding: the same first layer, and behind it the generic pieces of the fiber of `g` on the orthant
//!   ([`LayerFiber`]), whose other pieces have the function, too;
//! - hiding: the translations `b_1[k] += t`, `b_2[j] -= t W_2[j,k]` for
//!   `t >= t_min = max_j b_2[j] / W_2[j,k]`; with one live second-layer neuron, the translations of all
//!   `2^(n_1 - 1)` flips; times everything that keeps the dead second-layer neurons dead, `n_1 + n_3`
//!   dimensions each.
//!
//! Both are found from `g`, not by counting the given neurons: a parameter whose linear neurons undo what
//! turned neurons do has the fiber of the function.

use fiberscope_algebra::rational::rank_at_most;
use fiberscope_core::{
    Activation, ExactNetwork, Layer, Matrix, Network, Neuron, Rational, Sight, least_translation,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::component::{Orientation, Piece};
use super::coordinates::Coordinates;
use super::facts::Condition;
use super::hyperplane::{OrientedHyperplane, factor_on};
use super::layer::{Ground, LayerFiber};
use super::membership::Violation;

/// The fiber of a three-layer network with a bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct BottleneckFiber {
    pub(super) network: ExactNetwork,
    rest: Rest,
    dead: Vec<usize>,
    /// If a hyperplane is hidden: why the given parameter lies in no piece.
    apart: Option<Violation>,
    conditions: Vec<Condition>,
}

/// What is free behind the rigid part.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there is one per fiber")]
pub enum Rest {
    /// The first layer is fixed; the rest is a map with one hidden layer on the orthant.
    Layerwise(LayerFiber),
    /// The second layer hides a first-layer hyperplane.
    Hiding(HiddenHyperplane),
}

/// A first-layer hyperplane that the second layer hides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenHyperplane {
    /// The hidden neuron of layer 1, from 0.
    pub unit: usize,
    /// `t_min`: the hyperplane can be translated by every `t >= t_min`.
    pub least: Rational,
    /// Whether one second-layer neuron is alive, so that the other neurons of layer 1 can be flipped.
    pub flips: bool,
    /// Whether the masked products have the largest possible ranks; `None` if that was too much work.
    pub generic: Option<bool>,
}

const RANK: &str = "n_0 >= n_1 and W_1 has full row rank";
const TWO: &str = "layer 1 has at least two neurons";
const ALIVE: &str = "the function is not constant";
const STRICT: &str = "a layer that hides a hyperplane has no zero weight or bias in its live neurons";
const VISIBLE: &str = "every hyperplane of layer 1 is visible or hidden";
const RELU: &str = "the hidden layers have ReLU activation";

impl BottleneckFiber {
    /// The fiber of a network with two hidden layers, or the conditions that were checked, of which at least
    /// one fails.
    pub fn new(network: &ExactNetwork) -> Result<Self, Vec<Condition>> {
        let mut checked = Checked(Vec::new());
        let [first, second, third] = network.layers() else {
            let found = format!("{} hidden layers", network.hidden_depth());
            return Err(vec![failing("the network has one or two hidden layers", found)]);
        };
        let identity = [first, second].iter().position(|layer| layer.activation() != Activation::Relu);
        checked.add(RELU, identity.map(|l| format!("layer {} has identity activation", l + 1)));
        checked.add(TWO, (first.width() < 2).then(|| format!("it has {}", first.width())));
        checked.add(RANK, rank_defect(first));
        let conditions = checked.finish()?;
        let layer = LayerFiber::in_coordinates(second, third, Ground::Orthant, 1, Coordinates::behind(first))
            .map_err(|more| [&conditions[..], &more].concat())?;
        let mut checked = Checked(conditions);
        checked.add(ALIVE, constant(&layer));
        let mut fiber = BottleneckFiber {
            network: network.clone(),
            dead: layer.dead(),
            rest: Rest::Layerwise(layer),
            apart: None,
            conditions: Vec::new(),
        };
        let Rest::Layerwise(layer) = &fiber.rest else { return Err(checked.0) };
        match hidden_by(layer) {
            Some((unit, orientation)) => {
                checked.add(STRICT, vanishing_entry(layer, second));
                fiber.conditions = checked.finish()?;
                fiber.hide(unit, orientation);
            }
            None => {
                checked.add(VISIBLE, invisible(layer).map(|unit| Neuron { layer: 0, unit }.to_string()));
                fiber.conditions = checked.finish()?;
            }
        }
        Ok(fiber)
    }

    /// Describes the translations of the hidden neuron `unit`. If the given parameter does not hide it
    /// itself, a parameter that does takes its place.
    fn hide(&mut self, unit: usize, orientation: Orientation) {
        let Rest::Layerwise(layer) = &self.rest else { return };
        let live = oriented(layer, &orientation);
        let least = least_translation(live.iter().map(|(row, offset)| (offset, &row[unit])));
        let least = least.unwrap_or(Rational::ZERO);
        let piece = Piece { orientation, linear: 0 };
        let hidden = HiddenHyperplane {
            unit,
            least,
            flips: live.len() == 1,
            generic: layer.component(&piece).and_then(|component| component.generic),
        };
        self.apart = match layer.own() {
            Ok(own) if own == piece => None,
            Ok(own) => Some(Violation::Hidden(format!(
                "its function is that of networks that hide the hyperplane of neuron {} of layer 1, its own layer 2 does not: with this first layer it is in the piece {own}, which is not generic",
                unit + 1
            ))),
            Err(violation) => Some(Violation::SecondLayer(Box::new(violation))),
        };
        if self.apart.is_some() {
            let (dead, n1) = (live.len()..live.len() + layer.others(), layer.inputs());
            let row = |j: usize, i: usize| live.get(j).map_or(-Rational::ONE, |live| live.0[i].clone());
            let weight = Matrix::from_fn(dead.end, n1, row);
            let bias = (0..dead.end).map(|j| live.get(j).map_or(-Rational::ONE, |live| live.1.clone()));
            let out = Matrix::from_fn(layer.outputs(), dead.end, |o, j| {
                layer.hyperplanes().get(j).map_or(Rational::ZERO, |each| each.weight[o].clone())
            });
            let (_, constant) = layer.affine_rest(&piece.orientation);
            let layers = vec![
                self.network.layers()[0].clone(),
                Layer::new(weight, bias.collect(), Activation::Relu),
                Layer::new(out, constant, Activation::Identity),
            ];
            self.network = Network::new(layers).expect("layers of the same shapes");
            self.dead = dead.collect();
        }
        self.rest = Rest::Hiding(hidden);
    }

    /// If a hyperplane is hidden: the piece of the given parameter, or why it lies in none.
    pub(super) fn own_hiding(&self) -> Result<Piece, Violation> {
        match &self.apart {
            Some(violation) => Err(violation.clone()),
            None => Ok(self.piece_of_flips(&vec![false; self.network.widths()[1]])),
        }
    }

    /// What is free.
    pub fn rest(&self) -> &Rest {
        &self.rest
    }

    /// The dead neurons of layer 2, from 0.
    pub fn dead(&self) -> &[usize] {
        &self.dead
    }

    /// The conditions that were checked, all of which hold.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The given parameter; if its function is that of networks that hide a hyperplane and it is not one of
    /// them, such a network.
    pub fn network(&self) -> &ExactNetwork {
        &self.network
    }
}

struct Checked(Vec<Condition>);

impl Checked {
    fn add(&mut self, statement: &str, failure: Option<String>) {
        self.0.push(Condition { statement: statement.into(), holds: failure.is_none(), detail: failure });
    }

    fn finish(self) -> Result<Vec<Condition>, Vec<Condition>> {
        if self.0.iter().all(|condition| condition.holds) { Ok(self.0) } else { Err(self.0) }
    }
}

pub(super) fn failing(statement: &str, detail: String) -> Condition {
    Condition { statement: statement.into(), holds: false, detail: Some(detail) }
}

fn rank_defect(first: &Layer<Rational>) -> Option<String> {
    let (n, inputs) = (first.width(), first.input_width());
    if inputs < n {
        return Some(format!("layer 1 is wider ({n}) than the input ({inputs})"));
    }
    let rank = rank_at_most(first.weight(), n);
    (rank < n).then(|| format!("W_1 has rank {rank}, expected {n}"))
}

/// Why the map is constant, if it is.
fn constant(layer: &LayerFiber) -> Option<String> {
    let (matrix, _) = layer.affine_rest(&Orientation::new(vec![true; layer.hyperplanes().len()]));
    let constant = layer.hyperplanes().is_empty() && matrix.entries().iter().all(Rational::is_zero);
    let (dead, width) = (layer.dead().len(), layer.others());
    constant.then(|| {
        if dead == width { format!("all {dead} neurons of layer 2 are dead") } else { "it is".into() }
    })
}

/// The rows and offsets of the visible neurons with an orientation.
fn oriented(layer: &LayerFiber, orientation: &Orientation) -> Vec<(Vec<Rational>, Rational)> {
    let row = |(each, &active): (&OrientedHyperplane, &bool)| {
        let sign = Rational::from(if active { 1 } else { -1 });
        (each.normal.iter().map(|u| u * &sign).collect(), &each.offset * &sign)
    };
    layer.hyperplanes().iter().zip(orientation.active()).map(row).collect()
}

/// The neuron of layer 1 that the map hides, where zeros count as negative, and the orientation in which its
/// visible neurons do.
fn hidden_by(layer: &LayerFiber) -> Option<(usize, Orientation)> {
    // What the neuron on the hyperplane sees with this sign.
    let sight = |each: &OrientedHyperplane, sign: i8| {
        Sight::of_signs(each.normal.iter().map(|u| sign * u.signum()), sign * each.offset.signum())
    };
    let first = layer.hyperplanes().first()?;
    [1, -1].into_iter().find_map(|sign| {
        let Sight::Hides(unit) = sight(first, sign) else { return None };
        let active = |each| {
            [1, -1].into_iter().find(|&sign| sight(each, sign) == Sight::Hides(unit)).map(|sign| sign > 0)
        };
        let orientation = Orientation::new(layer.hyperplanes().iter().map(active).collect::<Option<_>>()?);
        let (matrix, _) = layer.affine_rest(&orientation);
        matrix.entries().iter().all(Rational::is_zero).then_some((unit, orientation))
    })
}

fn vanishing_entry(layer: &LayerFiber, second: &Layer<Rational>) -> Option<String> {
    layer.hyperplanes().iter().find_map(|each| {
        let at = each.normal.iter().chain([&each.offset]).position(Rational::is_zero)?;
        let unit = (0..second.width()).find(|&unit| factor_on(each, second, unit).is_some())?;
        let neuron = Neuron { layer: 1, unit };
        Some(match at {
            at if at < each.normal.len() => format!("{neuron}: its weight on input {} is 0", at + 1),
            _ => format!("{neuron}: its bias is 0"),
        })
    })
}

/// A neuron of layer 1 for which no point of its hyperplane was found where the gradient jumps: activations
/// `x` with `x_k = 0` at which the map has another slope than 0 in `x_k`.
fn invisible(layer: &LayerFiber) -> Option<usize> {
    const TRIES: usize = 400;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let n1 = layer.inputs();
    let mut open: Vec<usize> = layer.coordinates.order.clone();
    for attempt in 0..TRIES {
        // Sparse and dense points of very different sizes reach thin cells, too.
        let sparse = attempt % 2 == 1;
        let point: Vec<Rational> = (0..n1)
            .map(|_| {
                let zero = sparse && rng.random_range(0..n1) > 1;
                let (mantissa, exponent) = (rng.random_range(1..256), rng.random_range(-16..8));
                if zero { Rational::ZERO } else { Rational::dyadic(mantissa, exponent) }
            })
            .collect();
        let x = layer.coordinates.inputs(&point);
        let values = layer.values(&x);
        open.retain(|&k| {
            let slope = layer.slope_on_face(&values, &x, k);
            !slope.is_some_and(|slope| slope.iter().any(|x| !x.is_zero()))
        });
        if open.is_empty() {
            return None;
        }
    }
    open.first().copied()
}
