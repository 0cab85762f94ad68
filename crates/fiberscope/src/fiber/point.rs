//! Points of the fiber of a network: random ones, and whether a given parameter is one.

use fiberscope_core::{ExactNetwork, Layer, Matrix, Network, Rational};
use rand::{Rng, RngExt};

use super::bottleneck::{BottleneckFiber, Rest};
use super::component::{FiberComponent, Orientation};
use super::membership::{Membership, Violation};
use super::sample::{Sampler, shuffled};
use super::{Fiber, LayerFiber};
use crate::equivalence::matching::match_rows;

/// A point of the fiber.
#[derive(Clone, Debug, PartialEq)]
pub struct FiberPoint {
    /// The parameter.
    pub network: Network,
    /// Whether it computes the function exactly; otherwise up to rounding.
    pub exact: bool,
}

/// Draws points of one component of a fiber.
#[derive(Clone, Debug)]
pub struct FiberSampler {
    kind: Kind,
    given: Network,
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
    /// A sampler for the component of an orientation; `None` if there is no such component, or it is empty.
    pub fn new(fiber: &Fiber, orientation: &Orientation) -> Option<Self> {
        if orientation.active().len() != fiber.own().active().len() {
            return None;
        }
        let sampler = |fiber: &LayerFiber| Sampler::new(fiber, &fiber.component(orientation));
        let kind = match fiber {
            Fiber::OneHiddenLayer(fiber) => Kind::Layer(sampler(fiber)?),
            Fiber::Bottleneck(bottleneck) => match bottleneck.rest() {
                Rest::Layerwise(layer) => {
                    let (network, _) = bottleneck.network().to_f64().ok()?;
                    Kind::Bottleneck { first: network.layers()[0].clone(), rest: sampler(layer)? }
                }
                Rest::Hiding(hidden) => {
                    let flipped = orientation
                        .active()
                        .iter()
                        .enumerate()
                        .any(|(i, on)| !on && (i == hidden.unit || !hidden.flips));
                    let orientation = (!flipped).then(|| orientation.clone())?;
                    Kind::Hiding { fiber: Box::new(bottleneck.clone()), orientation }
                }
            },
        };
        let (given, _) = fiber.network().to_f64().ok()?;
        Some(FiberSampler { kind, given })
    }

    /// A random point (the given parameter if the numbers of many points are beyond the doubles).
    pub fn sample(&self, rng: &mut impl Rng) -> FiberPoint {
        let drawn = (0..REDRAWS).find_map(|_| self.draw(rng));
        drawn.unwrap_or_else(|| FiberPoint { network: self.given.clone(), exact: true })
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

    /// The orientation of the given parameter: of its second-layer neurons at the base point; if a hyperplane is hidden, `+` for every neuron of layer 1 (a component with
    /// `-` has it flipped).
    pub fn own(&self) -> Orientation {
        match self {
            Fiber::OneHiddenLayer(fiber) => fiber.own().clone(),
            Fiber::Bottleneck(fiber) => match fiber.rest() {
                Rest::Layerwise(layer) => layer.own().clone(),
                Rest::Hiding(_) => Orientation::new(vec![true; fiber.network().widths()[1]]),
            },
        }
    }

    /// The components, the given parameter's first, each made when it is asked for.
    pub fn components(&self) -> Box<dyn Iterator<Item = FiberComponent> + '_> {
        match self {
            Fiber::OneHiddenLayer(fiber) => Box::new(fiber.components()),
            Fiber::Bottleneck(fiber) => match fiber.rest() {
                Rest::Layerwise(layer) => Box::new(layer.components()),
                Rest::Hiding(hidden) => Box::new(flip_sets(fiber, hidden.unit)),
            },
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

    /// Whether a parameter lies in the generic fiber: the component, or the equation or inequality that fails.
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

impl BottleneckFiber {
    /// Whether a parameter lies in the generic fiber.
    pub fn contains(&self, other: &ExactNetwork) -> Membership {
        let Rest::Layerwise(fiber) = self.rest() else {
            return match self.decode(other) {
                Ok(point) => Membership::Member(point.orientation),
                Err(violation) => Membership::Outside(violation),
            };
        };
        let (own, found) = (self.network().widths(), other.widths());
        if own != found {
            return Membership::Outside(Violation::Shape {
                expected: format!("{own:?}"),
                found: format!("{found:?}"),
            });
        }
        let first = &self.network().layers()[0];
        let Some((order, factors)) = match_rows(first, &other.layers()[0]) else {
            return Membership::Outside(Violation::FirstLayer(unmatched(first, &other.layers()[0])));
        };
        // Row i of the given first layer is factors[i] times their row order[i].
        let second = &other.layers()[1];
        let inverse: Vec<Rational> = factors.iter().map(|x| x.recip().expect("a positive factor")).collect();
        let weight = Matrix::from_fn(second.width(), order.len(), |j, i| {
            &second.weight()[(j, order[i])] * &inverse[i]
        });
        let hidden = Layer::new(weight, second.bias().to_vec(), second.activation());
        match fiber.contains(&hidden, &other.layers()[2]) {
            Membership::Outside(violation) => {
                Membership::Outside(Violation::SecondLayer(Box::new(violation)))
            }
            member => member,
        }
    }
}

fn unmatched(own: &Layer<Rational>, other: &Layer<Rational>) -> String {
    let partner = |i: usize| {
        (0..other.width()).any(|j| crate::equivalence::matching::factor(own, i, other, j).is_some())
    };
    match (0..own.width()).find(|&i| !partner(i)) {
        Some(i) => format!("no row is a positive multiple of row {} of the function's first layer", i + 1),
        None => "its rows are no permutation of positive multiples of the function's first layer".into(),
    }
}

/// One component per set of flips, in the order of a Gray code.
fn flip_sets(fiber: &BottleneckFiber, hidden: usize) -> impl Iterator<Item = FiberComponent> + '_ {
    let others: Vec<usize> = (0..fiber.network().widths()[1]).filter(|&i| i != hidden).collect();
    let count = fiber.flips();
    let mut orientation = Orientation::new(vec![true; others.len() + 1]);
    let mut step = 0u64;
    std::iter::from_fn(move || {
        if step > 0 {
            let flip = step.trailing_zeros() as usize;
            if flip >= count {
                return None;
            }
            orientation.flip(others[flip]);
        }
        step += 1;
        Some(FiberComponent {
            orientation: orientation.clone(),
            existence: if step == 1 { super::Existence::Given } else { super::Existence::Flipped },
            rank: 0,
            dimension: Some(1),
        })
    })
}
