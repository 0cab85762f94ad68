//! Points of the fiber of a network: random ones, and whether a given parameter is one.

use fiberscope_core::{ExactNetwork, Layer, Matrix, Network, Rational};
use rand::{Rng, RngExt};
use thiserror::Error;

use super::bottleneck::{BottleneckFiber, Rest};
use super::component::{FiberComponent, Orientation, Piece};
use super::membership::{Membership, Violation};
use super::sample::{Sampler, shuffled};
use super::{Fiber, LayerFiber};
use crate::limit::Deadline;
use crate::orbit::match_rows;

/// A point of the fiber.
#[derive(Clone, Debug, PartialEq)]
pub struct FiberPoint {
    /// The parameter.
    pub network: Network,
    /// Whether it computes the function exactly; otherwise up to rounding.
    pub exact: bool,
}

/// Draws points of one piece of a fiber.
#[derive(Clone, Debug)]
pub struct FiberSampler {
    kind: Kind,
}

/// Why there is no sampler.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum SamplerError {
    #[error("the list of the fiber has no piece {0}")]
    NoPiece(Piece),
    #[error("the piece {0} is empty")]
    Empty(Piece),
    #[error("a first point of the piece {0} is too much work, or beyond the doubles")]
    TooMuchWork(Piece),
}

/// How often a point is drawn again if its numbers are beyond the doubles.
const REDRAWS: usize = 16;

#[derive(Clone, Debug)]
enum Kind {
    Layer(Sampler),
    Bottleneck { first: Layer, rest: Sampler },
    Hiding { fiber: Box<BottleneckFiber>, orientation: Orientation },
}

impl FiberSampler {
    /// A sampler for a piece of the fiber.
    pub fn new(fiber: &Fiber, piece: &Piece) -> Result<Self, SamplerError> {
        let component = fiber.component(piece).ok_or_else(|| SamplerError::NoPiece(piece.clone()))?;
        if component.is_empty() {
            return Err(SamplerError::Empty(piece.clone()));
        }
        let kind = Self::kind(fiber, &component).ok_or_else(|| SamplerError::TooMuchWork(piece.clone()))?;
        Ok(FiberSampler { kind })
    }

    fn kind(fiber: &Fiber, component: &FiberComponent) -> Option<Kind> {
        Some(match fiber {
            Fiber::OneHiddenLayer(fiber) => Kind::Layer(Sampler::new(fiber, component)?),
            Fiber::Bottleneck(bottleneck) => match bottleneck.rest() {
                Rest::Layerwise(layer) => {
                    let (network, _) = bottleneck.network().to_f64().ok()?;
                    let first = network.layers()[0].clone();
                    Kind::Bottleneck { first, rest: Sampler::new(layer, component)? }
                }
                Rest::Hiding(_) => Kind::Hiding {
                    fiber: Box::new(bottleneck.clone()),
                    orientation: component.orientation.clone(),
                },
            },
        })
    }

    /// A random point; `None` if the numbers of many points are beyond the doubles.
    pub fn sample(&self, rng: &mut impl Rng) -> Option<FiberPoint> {
        (0..REDRAWS).find_map(|_| self.draw(rng))
    }

    fn draw(&self, rng: &mut impl Rng) -> Option<FiberPoint> {
        match &self.kind {
            Kind::Layer(sampler) => {
                let point = sampler.sample(rng);
                let network = Network::new(vec![point.hidden, point.output]).ok()?;
                Some(FiberPoint { network, exact: point.exact })
            }
            Kind::Bottleneck { first, rest } => {
                let point = rest.sample(rng);
                let (first, second) = relabelled(first, &point.hidden, rng);
                let network = Network::new(vec![first, second, point.output]).ok()?;
                Some(FiberPoint { network, exact: point.exact })
            }
            Kind::Hiding { fiber, orientation } => {
                let point = fiber.random_point(orientation, rng)?;
                let network = permuted(&fiber.assemble(&point)?, rng);
                let (network, exact) = network.to_f64().ok()?;
                Some(FiberPoint { network, exact })
            }
        }
    }
}

/// The first layer permuted and scaled by powers of two at random, and the second layer to match.
fn relabelled(first: &Layer, second: &Layer, rng: &mut impl Rng) -> (Layer, Layer) {
    let n = first.width();
    let order = shuffled(rng, n);
    let scales: Vec<f64> = (0..n).map(|_| 2f64.powi(rng.random_range(-2..=2))).collect();
    let mut weight = Vec::with_capacity(n * first.input_width());
    for (&unit, scale) in order.iter().zip(&scales) {
        weight.extend(first.weight().row(unit).iter().map(|w| w * scale));
    }
    let bias = order.iter().zip(&scales).map(|(&unit, scale)| first.bias()[unit] * scale).collect();
    let weight = Matrix::from_entries(n, first.input_width(), weight).expect("its shape");
    let inverse: Vec<f64> = scales.iter().map(|scale| 1.0 / scale).collect();
    let mut next = Vec::with_capacity(second.width() * n);
    for row in second.weight().iter_rows() {
        next.extend(order.iter().zip(&inverse).map(|(&unit, scale)| row[unit] * scale));
    }
    let next = Matrix::from_entries(second.width(), n, next).expect("its shape");
    (
        Layer::new(weight, bias, first.activation()),
        Layer::new(next, second.bias().to_vec(), second.activation()),
    )
}

fn permuted(network: &ExactNetwork, rng: &mut impl Rng) -> ExactNetwork {
    let mut network = network.clone();
    for layer in 0..network.hidden_depth() {
        let order = shuffled(rng, network.layers()[layer].width());
        let permute = fiberscope_core::Move::Permute { layer, order };
        permute.apply(&mut network, &fiberscope_core::Domain::Space).expect("a permutation");
    }
    network
}

impl Fiber {
    /// The given parameter.
    pub fn network(&self) -> ExactNetwork {
        match self {
            Fiber::OneHiddenLayer(fiber) => Network::new(vec![fiber.hidden.clone(), fiber.output.clone()])
                .expect("the layers of a network"),
            Fiber::Bottleneck(fiber) => fiber.network().clone(),
        }
    }

    /// The piece of the given parameter, or why it lies in none. Where a hyperplane is hidden, the signs are
    /// those of the other rows of layer 1.
    pub fn own(&self) -> Result<Piece, Violation> {
        match self {
            Fiber::OneHiddenLayer(fiber) => fiber.own(),
            Fiber::Bottleneck(fiber) => match fiber.rest() {
                Rest::Layerwise(layer) => layer.own().map_err(in_second),
                Rest::Hiding(_) => fiber.own_hiding(),
            },
        }
    }

    /// The map with one hidden layer whose pieces are those of the fiber; `None` if a hyperplane is hidden.
    pub fn layer(&self) -> Option<&LayerFiber> {
        match self {
            Fiber::OneHiddenLayer(layer) => Some(layer),
            Fiber::Bottleneck(fiber) => match fiber.rest() {
                Rest::Layerwise(layer) => Some(layer),
                Rest::Hiding(_) => None,
            },
        }
    }

    /// The number of signs that name an orientation: one per visible hyperplane; if a hyperplane is hidden,
    /// one per neuron of layer 1.
    pub fn sign_count(&self) -> usize {
        self.layer().map_or_else(|| self.network().widths()[1], |layer| layer.hyperplanes().len())
    }

    /// A piece of the list; `None` if there is no such piece.
    pub fn component(&self, piece: &Piece) -> Option<FiberComponent> {
        match (self, self.layer()) {
            (_, Some(layer)) => layer.component(piece),
            (Fiber::Bottleneck(fiber), None) => fiber.hiding_component(piece),
            _ => None,
        }
    }

    /// The pieces of one orientation.
    pub fn components_of(&self, orientation: &Orientation) -> Vec<FiberComponent> {
        match self.layer() {
            Some(layer) => layer.components_of(orientation),
            None => {
                let piece = Piece { orientation: orientation.clone(), linear: 0 };
                self.component(&piece).into_iter().collect()
            }
        }
    }

    /// The pieces, each made when it is asked for. Parameters with the same function and the same widths have
    /// the same list.
    pub fn components(&self) -> Box<dyn Iterator<Item = FiberComponent> + '_> {
        match (self, self.layer()) {
            (_, Some(layer)) => Box::new(layer.components()),
            (Fiber::Bottleneck(fiber), None) => Box::new(flip_sets(fiber)),
            _ => Box::new(std::iter::empty()),
        }
    }

    /// The number of orientations is `2^exponent`.
    pub fn component_exponent(&self) -> usize {
        match self {
            Fiber::OneHiddenLayer(fiber) => fiber.hyperplanes().len(),
            Fiber::Bottleneck(fiber) => match fiber.rest() {
                Rest::Layerwise(layer) => layer.hyperplanes().len(),
                Rest::Hiding(_) => fiber.flips(),
            },
        }
    }

    /// Whether a parameter lies in the fiber: its piece, or the equation or inequality that fails.
    pub fn contains(&self, other: &ExactNetwork) -> Membership {
        match (self, other.layers()) {
            (Fiber::OneHiddenLayer(fiber), [hidden, output]) => fiber.contains(hidden, output),
            (Fiber::Bottleneck(fiber), [_, _, _]) => fiber.contains(other),
            _ => Membership::Outside(Violation::Shape {
                expected: match self {
                    Fiber::OneHiddenLayer(_) => "one hidden layer".into(),
                    Fiber::Bottleneck(_) => "two hidden layers".into(),
                },
                found: format!("{} hidden layers", other.hidden_depth()),
            }),
        }
    }
}

fn in_second(violation: Violation) -> Violation {
    Violation::SecondLayer(Box::new(violation))
}

impl BottleneckFiber {
    /// Whether a parameter lies in the fiber.
    pub fn contains(&self, other: &ExactNetwork) -> Membership {
        let (own, found) = (self.network().widths(), other.widths());
        if own != found {
            return Membership::Outside(Violation::Shape {
                expected: format!("{own:?}"),
                found: format!("{found:?}"),
            });
        }
        let Rest::Layerwise(fiber) = self.rest() else {
            return match self.decode(other) {
                Ok(point) => Membership::Member(self.piece_of_flips(&point.flipped)),
                Err(violation) => self.same_behind_the_first_layer(other, violation),
            };
        };
        match self.behind_the_first_layer(other) {
            None => {
                let reason = unmatched(&self.network().layers()[0], &other.layers()[0]);
                Membership::Outside(Violation::FirstLayer(reason))
            }
            Some(hidden) => match fiber.contains(&hidden, &other.layers()[2]) {
                Membership::Outside(violation) => Membership::Outside(in_second(violation)),
                Membership::Elsewhere(violation) => Membership::Elsewhere(in_second(violation)),
                member => member,
            },
        }
    }

    /// The second layer of another parameter in the coordinates of the given first layer; `None` if the first
    /// layers differ by more than permutation and scaling.
    pub(super) fn behind_the_first_layer(&self, other: &ExactNetwork) -> Option<Layer<Rational>> {
        let matched = match_rows(&self.network().layers()[0], &other.layers()[0], &Deadline::NEVER)?;
        let (order, scales) = (&matched.order, matched.scales());
        let second = &other.layers()[1];
        let weight =
            Matrix::from_fn(second.width(), order.len(), |j, i| &second.weight()[(j, order[i])] * &scales[i]);
        Some(Layer::new(weight, second.bias().to_vec(), second.activation()))
    }
}

fn unmatched(own: &Layer<Rational>, other: &Layer<Rational>) -> String {
    let partner = |i: usize| (0..other.width()).any(|j| crate::orbit::factor(own, i, other, j).is_some());
    match (0..own.width()).find(|&i| !partner(i)) {
        Some(i) => format!("no row is a positive multiple of row {} of the function's first layer", i + 1),
        None => "its rows are no permutation of positive multiples of the function's first layer".into(),
    }
}

/// One piece per set of flips, in the order of a Gray code that begins with `+` everywhere.
fn flip_sets(fiber: &BottleneckFiber) -> impl Iterator<Item = FiberComponent> + '_ {
    let count = fiber.flips();
    let mut orientation = Orientation::new(vec![true; fiber.network().widths()[1]]);
    let mut step = 0u64;
    std::iter::from_fn(move || {
        if step > 0 {
            let flip = step.trailing_zeros() as usize;
            if flip >= count {
                return None;
            }
            // The first sign is that of the hidden neuron.
            orientation.flip(flip + 1);
        }
        step += 1;
        fiber.hiding_component(&Piece { orientation: orientation.clone(), linear: 0 })
    })
}
