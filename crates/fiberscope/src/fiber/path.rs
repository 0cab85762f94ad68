//! A path inside a piece of the fiber.
//!
//! The second parameter is first permuted so that its neurons stand in the order of the first one's (if a
//! hyperplane is hidden, both in the order of the fiber's). Then scales, biases of linear neurons, weights of
//! dead neurons and the translation of a hidden hyperplane go on straight lines, and the linear neurons'
//! `V W = M_S` along the segments of the module `segment`. Every point of the path is made of rational
//! numbers and lies in the fiber exactly; [`FiberPath::at`] checks that.

use fiberscope_core::{Activation, ExactNetwork, Layer, Matrix, Network, Rational};
use thiserror::Error;

use super::bottleneck::Rest;
use super::component::{FiberComponent, Piece};
use super::hidden::HidingPoint;
use super::hyperplane::factor_on;
use super::layer::LayerFiber;
use super::membership::{Membership, Violation};
use super::segment::{Pair, Segment, join};
use super::singular::between;
use super::{BottleneckFiber, Fiber};
use crate::limit::Deadline;
use crate::orbit::lines::entries;

/// Why there is no path.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum PathError {
    #[error("{end} lies in no piece of the fiber: {violation}")]
    Outside { end: &'static str, violation: Violation },
    #[error("the ends lie in different pieces, {a} and {b}; a path stays inside one piece")]
    DifferentPieces { a: Piece, b: Piece },
    #[error(
        "none was found between two points with {linear} linear neurons, {outputs} outputs and M_S of rank {rank}"
    )]
    RankDefect { rank: usize, linear: usize, outputs: usize },
    #[error("the point at {0} left the fiber")]
    LeftTheFiber(Rational),
}

/// A path in the fiber over `[0, 1]`.
#[derive(Clone, Debug)]
pub struct FiberPath {
    fiber: Fiber,
    way: Way,
}

#[derive(Clone, Debug)]
enum Way {
    Layer(LayerWay),
    /// Scales of the first layer at both ends, in the order of the given parameter's rows, with their places
    /// in the first end.
    Bottleneck {
        scales: Vec<(Rational, Rational)>,
        places: Vec<usize>,
        rest: LayerWay,
    },
    /// A straight line of scales, translations and dead neurons.
    Hiding {
        a: HidingPoint,
        b: HidingPoint,
    },
}

/// A neuron at both ends of a path.
#[derive(Clone, Debug)]
enum Track {
    Visible { hyperplane: usize, scales: (Rational, Rational) },
    Linear(usize),
    Dead { rows: [Vec<Rational>; 2], outs: [Vec<Rational>; 2] },
}

/// The path of one hidden layer.
#[derive(Clone, Debug)]
struct LayerWay {
    piece: Piece,
    /// In the order of the first end's neurons.
    tracks: Vec<Track>,
    biases: [Vec<Rational>; 2],
    segments: Vec<Segment>,
    start: Pair,
}

impl FiberPath {
    /// The path between two parameters of one piece, up to permutation of the second one.
    ///
    /// ```
    /// use fiberscope::Network;
    /// use fiberscope::fiber::{FiberPath, Ground, describe};
    /// use fiberscope::orbit::relabel;
    ///
    /// let a = Network::from_rows(&[(&[&[1.0], &[-2.0]], &[0.5, 0.25]), (&[&[1.0, 3.0]], &[0.0])]).unwrap();
    /// let b = relabel(&a, 1).network.to_exact();
    /// let a = a.to_exact();
    /// let path = FiberPath::between(&describe(&a, Ground::Space).unwrap(), &a, &b).unwrap();
    /// let middle = path.at(&"1/2".parse().unwrap()).unwrap();
    /// assert_eq!(middle.widths(), [1, 2, 1]);
    /// ```
    pub fn between(fiber: &Fiber, a: &ExactNetwork, b: &ExactNetwork) -> Result<Self, PathError> {
        let way = match fiber {
            Fiber::OneHiddenLayer(fiber) => {
                let ends = [a, b].map(|end| [&end.layers()[0], &end.layers()[1]].map(Clone::clone));
                Way::Layer(layer_way(fiber, &ends[0], &ends[1])?)
            }
            Fiber::Bottleneck(fiber) => bottleneck_way(fiber, a, b)?,
        };
        Ok(FiberPath { fiber: fiber.clone(), way })
    }

    /// The parameter at `s` in `[0, 1]`, exactly, after checking that it lies in the fiber.
    pub fn at(&self, s: &Rational) -> Result<ExactNetwork, PathError> {
        let left = || PathError::LeftTheFiber(s.clone());
        let network = match (&self.fiber, &self.way) {
            (Fiber::OneHiddenLayer(fiber), Way::Layer(way)) => {
                let [hidden, output] = way.at(fiber, s).ok_or_else(left)?;
                Network::new(vec![hidden, output]).map_err(|_| left())?
            }
            (Fiber::Bottleneck(fiber), Way::Bottleneck { scales, places, rest }) => {
                let Rest::Layerwise(layer) = fiber.rest() else { return Err(left()) };
                let [hidden, output] = rest.at(layer, s).ok_or_else(left)?;
                let first = &fiber.network().layers()[0];
                place_first(first, scales, places, hidden, output, s).ok_or_else(left)?
            }
            (Fiber::Bottleneck(fiber), Way::Hiding { a, b }) => {
                fiber.assemble(&a.between(b, s)).ok_or_else(left)?
            }
            _ => return Err(left()),
        };
        match self.fiber.contains(&network) {
            Membership::Member(_) => Ok(network),
            Membership::Elsewhere(_) | Membership::Outside(_) => Err(left()),
        }
    }
}

fn layer_way(
    fiber: &LayerFiber,
    a: &[Layer<Rational>; 2],
    b: &[Layer<Rational>; 2],
) -> Result<LayerWay, PathError> {
    let member = |end: &'static str, layers: &[Layer<Rational>; 2]| {
        let piece = fiber.piece_of(&layers[0], &layers[1]);
        let component = piece.map(|piece| fiber.component(&piece));
        let component = component.map_err(|violation| PathError::Outside { end, violation })?;
        Ok(component.expect("the piece of a parameter is listed"))
    };
    let (component, other) = (member("the first end", a)?, member("the second end", b)?);
    let piece = component.piece();
    if piece != other.piece() {
        return Err(PathError::DifferentPieces { a: piece, b: other.piece() });
    }
    let (linear_a, linear_b) = (linear_units(fiber, &a[0]), linear_units(fiber, &b[0]));
    let pair = |layers: &[Layer<Rational>; 2], units: &[usize]| Pair {
        left: layers[1].weight().select_columns(units),
        right: layers[0].weight().select_rows(units),
    };
    let (product, _) = fiber.affine_rest(&piece.orientation);
    let start = pair(a, &linear_a);
    let (segments, order) = join(&product, component.rank, &start, &pair(b, &linear_b))
        .ok_or_else(|| defect(fiber, &component))?;
    let bias = |layer: &Layer<Rational>, unit: usize| layer.bias()[unit].clone();
    let biases = [
        linear_a.iter().map(|&unit| bias(&a[0], unit)).collect(),
        order.iter().map(|&k| bias(&b[0], linear_b[k])).collect(),
    ];
    Ok(LayerWay { tracks: tracks(fiber, a, b), piece, biases, segments, start })
}

fn defect(fiber: &LayerFiber, component: &FiberComponent) -> PathError {
    PathError::RankDefect { rank: component.rank, linear: component.linear, outputs: fiber.outputs() }
}

fn linear_units(fiber: &LayerFiber, hidden: &Layer<Rational>) -> Vec<usize> {
    let role = |unit: &usize| fiber.ground().role(hidden.weight().row(*unit), &hidden.bias()[*unit]);
    (0..hidden.width()).filter(|unit| role(unit) == 1).collect()
}

/// The hyperplane of a neuron and the factor of its row.
fn place(fiber: &LayerFiber, hidden: &Layer<Rational>, unit: usize) -> Option<(usize, Rational)> {
    let mut hyperplanes = fiber.hyperplanes().iter().enumerate();
    hyperplanes.find_map(|(h, each)| factor_on(each, hidden, unit).map(|factor| (h, factor.abs())))
}

fn tracks(fiber: &LayerFiber, a: &[Layer<Rational>; 2], b: &[Layer<Rational>; 2]) -> Vec<Track> {
    let role = |hidden: &Layer<Rational>, unit: usize| {
        fiber.ground().role(hidden.weight().row(unit), &hidden.bias()[unit])
    };
    let n = a[0].width();
    let mut scales_b = vec![Rational::ONE; fiber.hyperplanes().len()];
    let mut dead_b = Vec::new();
    for unit in 0..n {
        match role(&b[0], unit) {
            0 => {
                if let Some((h, scale)) = place(fiber, &b[0], unit) {
                    scales_b[h] = scale;
                }
            }
            -1 => dead_b.push(unit),
            _ => {}
        }
    }
    let row =
        |layers: &[Layer<Rational>; 2], unit: usize| entries(&layers[0], unit).cloned().collect::<Vec<_>>();
    let out = |layers: &[Layer<Rational>; 2], unit: usize| {
        layers[1].weight().column(unit).cloned().collect::<Vec<_>>()
    };
    let (mut linear, mut dead) = (0, dead_b.into_iter());
    (0..n)
        .map(|unit| match role(&a[0], unit) {
            1 => {
                linear += 1;
                Track::Linear(linear - 1)
            }
            -1 => {
                let partner = dead.next().expect("as many dead neurons at both ends");
                Track::Dead { rows: [row(a, unit), row(b, partner)], outs: [out(a, unit), out(b, partner)] }
            }
            _ => {
                let (hyperplane, scale) =
                    place(fiber, &a[0], unit).expect("a member's neurons lie on the hyperplanes");
                Track::Visible { hyperplane, scales: (scale, scales_b[hyperplane].clone()) }
            }
        })
        .collect()
}

impl LayerWay {
    fn at(&self, fiber: &LayerFiber, s: &Rational) -> Option<[Layer<Rational>; 2]> {
        let pair = self.pair(s)?;
        let (d, m, n) = (fiber.inputs(), fiber.outputs(), self.tracks.len());
        let biases: Vec<Rational> =
            self.biases[0].iter().zip(&self.biases[1]).map(|(x, y)| between(x, y, s)).collect();
        let (_, mut constant) = fiber.affine_rest(&self.piece.orientation);
        let mut weight = Matrix::from_fn(n, d, |_, _| Rational::ZERO);
        let mut bias = vec![Rational::ZERO; n];
        let mut out = Matrix::from_fn(m, n, |_, _| Rational::ZERO);
        for (unit, track) in self.tracks.iter().enumerate() {
            let (row, c, v): (Vec<Rational>, Rational, Vec<Rational>) = match track {
                Track::Visible { hyperplane, scales } => {
                    let scale = between(&scales.0, &scales.1, s);
                    let sign =
                        if self.piece.orientation.active()[*hyperplane] { scale.clone() } else { -&scale };
                    let inverse = scale.recip()?;
                    let hyperplane = &fiber.hyperplanes()[*hyperplane];
                    (
                        hyperplane.normal.iter().map(|u| u * &sign).collect(),
                        &hyperplane.offset * &sign,
                        hyperplane.weight.iter().map(|a| a * &inverse).collect(),
                    )
                }
                Track::Linear(k) => {
                    (pair.right.row(*k).to_vec(), biases[*k].clone(), pair.left.column(*k).cloned().collect())
                }
                Track::Dead { rows, outs } => {
                    let line = |ends: &[Vec<Rational>; 2]| -> Vec<Rational> {
                        ends[0].iter().zip(&ends[1]).map(|(x, y)| between(x, y, s)).collect()
                    };
                    let mut row = line(rows);
                    let c = row.pop()?;
                    (row, c, line(outs))
                }
            };
            if let Track::Linear(_) = track {
                constant.iter_mut().zip(&v).for_each(|(e, v)| *e -= &(v * &c));
            }
            weight.row_mut(unit).clone_from_slice(&row);
            bias[unit] = c;
            v.into_iter().enumerate().for_each(|(o, v)| out[(o, unit)] = v);
        }
        Some([Layer::new(weight, bias, Activation::Relu), Layer::new(out, constant, Activation::Identity)])
    }

    fn pair(&self, s: &Rational) -> Option<Pair> {
        let count = self.segments.len() as i64;
        if count == 0 {
            return Some(self.start.clone());
        }
        let along = s * &Rational::from(count);
        let number = (0..count).rev().find(|&k| Rational::from(k) <= along).unwrap_or(0);
        self.segments[number as usize].at(&(&along - &Rational::from(number)))
    }
}

/// For each row of the given first layer, its place in another one and the factor there.
fn first_rows(own: &Layer<Rational>, other: &Layer<Rational>) -> Option<Vec<(usize, Rational)>> {
    let matched = crate::orbit::match_rows(own, other, &Deadline::NEVER)?;
    let scales = matched.scales();
    Some(matched.order.into_iter().zip(scales).collect())
}

/// The rest of a network in the coordinates of the given first layer.
fn rest_of(network: &ExactNetwork, rows: &[(usize, Rational)]) -> [Layer<Rational>; 2] {
    let second = &network.layers()[1];
    let weight =
        Matrix::from_fn(second.width(), rows.len(), |j, k| &second.weight()[(j, rows[k].0)] * &rows[k].1);
    [Layer::new(weight, second.bias().to_vec(), second.activation()), network.layers()[2].clone()]
}

fn bottleneck_way(fiber: &BottleneckFiber, a: &ExactNetwork, b: &ExactNetwork) -> Result<Way, PathError> {
    let outside = |end: &'static str, network: &ExactNetwork| match fiber.contains(network) {
        Membership::Member(piece) => Ok(piece),
        Membership::Elsewhere(violation) | Membership::Outside(violation) => {
            Err(PathError::Outside { end, violation })
        }
    };
    let (in_a, in_b) = (outside("the first end", a)?, outside("the second end", b)?);
    if in_a != in_b {
        return Err(PathError::DifferentPieces { a: in_a, b: in_b });
    }
    let Rest::Layerwise(layer) = fiber.rest() else {
        let decoded = |network: &ExactNetwork| fiber.decode(network).expect("members can be decoded");
        return Ok(Way::Hiding { a: decoded(a), b: decoded(b) });
    };
    let own = &fiber.network().layers()[0];
    let rows = |network: &ExactNetwork| {
        first_rows(own, &network.layers()[0]).expect("members have the same first layer")
    };
    let (rows_a, rows_b) = (rows(a), rows(b));
    let rest = layer_way(layer, &rest_of(a, &rows_a), &rest_of(b, &rows_b))?;
    let scales = rows_a.iter().zip(&rows_b).map(|(x, y)| (x.1.clone(), y.1.clone())).collect();
    Ok(Way::Bottleneck { scales, places: rows_a.iter().map(|row| row.0).collect(), rest })
}

/// The network with the first layer scaled and in the first end's order.
fn place_first(
    first: &Layer<Rational>,
    scales: &[(Rational, Rational)],
    places: &[usize],
    hidden: Layer<Rational>,
    output: Layer<Rational>,
    s: &Rational,
) -> Option<ExactNetwork> {
    let mut weight = first.weight().clone();
    let mut bias = first.bias().to_vec();
    let (next, next_bias, activation) = hidden.into_parts();
    let mut columns = next.clone();
    for (row, ((from, to), &place)) in scales.iter().zip(places).enumerate() {
        let scale = between(from, to, s);
        let inverse = scale.recip()?;
        let scaled: Vec<Rational> = first.weight().row(row).iter().map(|w| w * &scale).collect();
        weight.row_mut(place).clone_from_slice(&scaled);
        bias[place] = &first.bias()[row] * &scale;
        (0..next.rows()).for_each(|j| columns[(j, place)] = &next[(j, row)] * &inverse);
    }
    let first = Layer::new(weight, bias, Activation::Relu);
    Network::new(vec![first, Layer::new(columns, next_bias, activation), output]).ok()
}
