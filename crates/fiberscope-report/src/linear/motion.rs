//! Moves, paths, samples and walks in the fiber of a linear network.

use std::path::Path;

use anyhow::{Context, bail};
use fiberscope::limit::Deadline;
use fiberscope::linear::{
    Bar, Barcode, Connection, Displacement, DownMove, FlowBases, LinearError, LinearNetwork,
    ProductFiberPath, Stratum, StratumPath, TangentSpace, Tolerance, UpMove, Walk, cuts_to_minimum,
    random_tangent, sample_integer, sample_over, sample_stratum,
};
use fiberscope_core::Matrix;
use serde_json::{Value, json};

use super::omega;
use crate::number::{significant, significant_upper};

/// How far the velocity of a walk may be from a tangent, relative to its size.
const TANGENT: f64 = 1e-8;

/// The tolerance for two networks that may be close to zero: the scale is that of the larger.
pub(super) fn common_scale(a: &LinearNetwork, b: &LinearNetwork, tolerance: Tolerance) -> Tolerance {
    let largest = |network: &LinearNetwork| {
        let entries = network.weights().iter().flat_map(Matrix::entries);
        entries.fold(0f64, |largest, x| largest.max(x.abs()))
    };
    Tolerance { scale: tolerance.scale.or(Some(largest(a).max(largest(b)))), ..tolerance }
}

/// The distance of two lists of matrices of the same shapes.
fn distance(a: &[Matrix], b: &[Matrix]) -> f64 {
    let pairs = a.iter().zip(b).flat_map(|(x, y)| x.entries().iter().zip(y.entries()));
    pairs.map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

/// A move to another stratum.
#[derive(Clone, Copy, Debug)]
pub enum StepRequest {
    /// Connect or swap two bars, by a step of this size.
    Up(Bar, Bar, f64),
    /// Swap back a bar and one inside it.
    Down(Bar, Bar),
    /// Cut a bar after a layer.
    Cut(Bar, usize),
    /// Cut all bars but those from input to output.
    ToMinimum,
}

/// A move that was made.
#[derive(Clone, Debug)]
pub struct Step {
    /// The network after it.
    pub end: LinearNetwork,
    /// The bars that it leads to.
    pub planned: Barcode,
    /// How far the weights moved.
    pub distance: f64,
}

/// Makes a move.
pub(super) fn step(
    network: &LinearNetwork,
    flow: &FlowBases,
    request: StepRequest,
) -> Result<Step, LinearError> {
    let barcode = flow.barcode();
    let (end, planned) = match request {
        StepRequest::ToMinimum => {
            let end = cuts_to_minimum(network, flow, 1.0)?;
            (end, Stratum::new(barcode.rank_list()).fiber().minimum())
        }
        StepRequest::Up(source, target, epsilon) => {
            let up = UpMove { source, target, covering: false };
            let planned = up.apply(barcode)?;
            (Displacement::up(flow, &up)?.at(network, epsilon)?, planned)
        }
        StepRequest::Down(outer, inner) => {
            let down = DownMove { outer, inner: Some(inner), after: inner.end, covering: false };
            let planned = down.apply(barcode)?;
            (Displacement::down(flow, &down)?.at(network, 1.0)?, planned)
        }
        StepRequest::Cut(outer, after) => {
            let down = DownMove { outer, inner: None, after, covering: false };
            let planned = down.apply(barcode)?;
            (Displacement::down(flow, &down)?.at(network, 1.0)?, planned)
        }
    };
    Ok(Step { distance: distance(network.weights(), end.weights()), end, planned })
}

/// A curve of networks over `[0, 1]`.
pub type Curve = Box<dyn Fn(f64) -> Result<LinearNetwork, LinearError>>;

/// The path from one network to another in their stratum, or through the minimal stratum of their fiber; or
/// why there is none.
fn connect(
    a: &LinearNetwork,
    b: &LinearNetwork,
    through_minimum: bool,
    tolerance: Tolerance,
) -> Result<Result<Curve, String>, LinearError> {
    let tolerance = common_scale(a, b, tolerance);
    if through_minimum {
        Ok(curve_or_reason(ProductFiberPath::between(a, b, tolerance)?, "fiber", |path: ProductFiberPath| {
            Box::new(move |t| path.at(t))
        }))
    } else {
        Ok(curve_or_reason(StratumPath::between(a, b, tolerance)?, "stratum", |path: StratumPath| {
            Box::new(move |t| path.at(t))
        }))
    }
}

fn curve_or_reason<P>(
    connection: Connection<P>,
    set: &str,
    curve: impl Fn(P) -> Curve,
) -> Result<Curve, String> {
    match connection {
        Connection::Path(path) => Ok(curve(path)),
        Connection::DifferentFunctions { difference, allowed } => Err(format!(
            "they compute different functions: a difference of {}, more than rounding ({})",
            significant(difference, 2),
            significant_upper(allowed, 2)
        )),
        Connection::DifferentStrata => {
            Err("they lie in different strata of the fiber; a path through the minimum leaves the stratum"
                .into())
        }
        Connection::DifferentComponents => Err(format!(
            "they lie in different connected components of the {set}: signs of determinants differ that no motion in it can change"
        )),
    }
}

/// The path to the canonical point of the stratum, and where it leads.
fn to_canonical(a: &LinearNetwork, tolerance: Tolerance) -> Result<(Curve, &'static str), LinearError> {
    let (path, mirrored) = StratumPath::to_canonical(a, tolerance)?;
    let note = if mirrored {
        "to the mirror image of the canonical point, which lies in another component"
    } else {
        "to the canonical point of the stratum"
    };
    Ok((Box::new(move |t| path.at(t)), note))
}

/// The path from one network to another, or without one to the canonical point of its stratum, and which it
/// is; or why there is none.
pub fn path(
    a: &LinearNetwork,
    b: Option<&LinearNetwork>,
    through_minimum: bool,
    tolerance: Tolerance,
) -> Result<Result<(Curve, &'static str), String>, LinearError> {
    let Some(b) = b else { return to_canonical(a, tolerance).map(Ok) };
    let note = if through_minimum { "through the minimal stratum" } else { "in the stratum" };
    Ok(connect(a, b, through_minimum, tolerance)?.map(|curve| (curve, note)))
}

/// Which path was taken through so many points, and how much the product changes along it, as text.
pub fn path_text(note: &str, points: usize, difference: f64) -> String {
    format!(
        "connected by a path {note}\nthe product changes by at most {} on {points} points\n",
        significant_upper(difference, 2)
    )
}

/// The `steps + 1` points of a curve, and how much the product changes along it; the first of them if the
/// deadline comes first.
pub fn along(
    curve: &Curve,
    start: &LinearNetwork,
    steps: u32,
    deadline: &Deadline,
) -> Result<(Vec<LinearNetwork>, f64), LinearError> {
    let at = |step| {
        let point = curve(f64::from(step) / f64::from(steps))?;
        let difference = point.function_difference(start);
        Ok((point, difference))
    };
    let points = in_time(steps, deadline).map(at).collect::<Result<Vec<_>, LinearError>>()?;
    let difference = points.iter().map(|(_, difference)| *difference).fold(0.0, f64::max);
    Ok((points.into_iter().map(|(point, _)| point).collect(), difference))
}

/// The numbers from 0 to `steps`, the first at least, as long as there is time.
fn in_time(steps: u32, deadline: &Deadline) -> impl Iterator<Item = u32> {
    (0..=steps).take_while(move |&step| step == 0 || !deadline.is_past())
}

/// What random networks of a stratum have in common.
#[derive(Clone, Debug)]
pub enum SampleOver<'a> {
    /// Nothing.
    Anything,
    /// Small integers as weights.
    Integers,
    /// The product of this network.
    Product(&'a LinearNetwork, Tolerance),
}

/// A random network of a stratum.
pub fn sample(barcode: &Barcode, over: &SampleOver, seed: u64) -> Result<LinearNetwork, LinearError> {
    match over {
        SampleOver::Anything => sample_stratum(barcode, seed),
        SampleOver::Integers => sample_integer(barcode, seed),
        SampleOver::Product(model, tolerance) => {
            let scale = tolerance.scale.unwrap_or_else(|| largest(model));
            sample_over(barcode, &model.product(), tolerance.relative * scale, seed)
        }
    }
}

/// So many networks of a stratum and its number were written to a folder, and how far their product is from
/// the one asked for.
pub fn sample_text(
    count: usize,
    (at, stratum): (usize, &Stratum),
    folder: &Path,
    difference: Option<f64>,
) -> String {
    let kept = difference.map_or(String::new(), |difference| {
        format!("; the product is kept to {}", significant_upper(difference, 2))
    });
    format!(
        "wrote {count} networks of stratum {at} ({}, {}) to {}{kept}\n",
        stratum.short_name(),
        stratum.barcode(),
        folder.display(),
    )
}

/// The product of the largest entries of the matrices: a scale for rounding errors of the product.
fn largest(network: &LinearNetwork) -> f64 {
    let entry = |weight: &Matrix| weight.entries().iter().fold(0f64, |m, x| m.max(x.abs()));
    let bound = |weight: &Matrix| entry(weight).max(f64::MIN_POSITIVE) * weight.cols() as f64;
    network.weights().iter().map(bound).product()
}

/// The largest difference of the products of two networks.
pub fn product_difference(a: &LinearNetwork, b: &LinearNetwork) -> f64 {
    let (a, b) = (a.product(), b.product());
    a.entries().iter().zip(b.entries()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

/// A walk along a stratum.
#[derive(Debug)]
pub struct Walked {
    /// The points: one more than the steps, or fewer if the time was up.
    pub points: Vec<LinearNetwork>,
    /// The bars at the start and, numerically, at the end.
    pub bars: [Barcode; 2],
    /// The speed at the start.
    pub speed: f64,
    /// How far the weights moved.
    pub distance: f64,
    /// How much the product changed.
    pub difference: f64,
}

impl Walked {
    /// The facts of a walk for this time, for a terminal.
    pub fn to_text(&self, length: f64) -> String {
        format!(
            "walked along the stratum {} for time {length}, speed {} at the start; the weights moved by {}\nthe product \
             changed by at most {} on {} points; the numerical ranks at the end {}\n",
            self.bars[0],
            significant(self.speed, 4),
            significant(self.distance, 4),
            significant_upper(self.difference, 2),
            self.points.len(),
            if self.bars[0] == self.bars[1] { "are the same" } else { "differ at this tolerance" },
        )
    }

    /// The facts of a walk of so many steps for this time, with keys of `fiberscope linear walk --json`.
    pub fn to_json(&self, length: f64, steps: usize) -> Value {
        json!({
            "omega": omega(&self.bars[0]), "numerical": omega(&self.bars[1]), "length": length, "steps": steps,
            "speed": self.speed, "distance": self.distance, "max_difference": self.difference,
        })
    }
}

/// Walks for a time with a velocity (a network whose weights are the derivatives, its tangent part if
/// `project`; random without one).
pub fn walk(
    network: &LinearNetwork,
    velocity: Option<(&LinearNetwork, bool)>,
    (length, steps): (f64, u32),
    tolerance: Tolerance,
    seed: u64,
    deadline: &Deadline,
) -> anyhow::Result<Walked> {
    let flow = FlowBases::compute(network, tolerance)?;
    let space = TangentSpace::new(&flow);
    let velocity = match velocity {
        None => random_tangent(&space, seed),
        Some((given, true)) => space.project(given.weights()).context("the velocity")?,
        Some((given, false)) => given.weights().to_vec(),
    };
    let walk = match Walk::new(network, &flow, &velocity, TANGENT) {
        Err(error @ LinearError::NotTangent { .. }) => {
            bail!("{error} of its size; project it to take its tangent part")
        }
        walk => walk?,
    };
    let at = |step: u32| {
        let point = walk.at(length * f64::from(step) / f64::from(steps))?;
        let difference = point.function_difference(network);
        Ok((point, difference))
    };
    let points = in_time(steps, deadline)
        .map(at)
        .collect::<Result<Vec<_>, LinearError>>()
        .context("the weights grow too large; a shorter length may help")?;
    let difference = points.iter().map(|(_, difference)| *difference).fold(0.0, f64::max);
    let points: Vec<LinearNetwork> = points.into_iter().map(|(point, _)| point).collect();
    let end = points.last().expect("the first point is always there");
    let reached = FlowBases::compute(end, common_scale(network, end, tolerance))?;
    Ok(Walked {
        bars: [flow.barcode().clone(), reached.barcode().clone()],
        speed: velocity.iter().flat_map(Matrix::entries).map(|x| x * x).sum::<f64>().sqrt(),
        distance: distance(network.weights(), end.weights()),
        difference,
        points,
    })
}
