//! Building networks that their function identifies, for every non-increasing architecture.
//!
//! Layer by layer, with `P` the open convex set of inputs on which all neurons so far are on (there the
//! layers so far are affine; hyperplanes are chosen in the space of activations, points are kept as inputs):
//!
//! - neuron 1 cuts `P`; from layer 2 on it passes through the faces `{a_i = 0, others > 0}` of the image, at
//!   the points kept from the layer before;
//! - neuron 2 is `-z_1 + e (1 + t a)` with `|t a| < 1/2` on the image of the domain and `e` small: it cuts
//!   `P` and is positive wherever `z_1 <= 0`, which makes the layer transparent;
//! - neuron `i >= 3` separates a point of the active set from the convex hull of the points kept so far
//!   (neuron `j` zero at point `j`, the others positive).
//!
//! All choices are open and random, so that general networks come out with probability one
//! [phuong2020functional, Lemma 4]; the result is checked exactly and the construction repeated if a check
//! fails.

use std::fmt::{self, Display, Formatter};

use fiberscope_algebra::dense::{dot, solve};
use fiberscope_core::{Activation, Domain, Layer, Matrix, Network};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use super::breakpoints::BreakpointComplex;
use super::genericity::Genericity;
use super::identifiable::{IdentifiabilityCertificate, MissingCondition};
use super::options::ComplexOptions;
use super::polyhedral::{Built, PolyhedralComplex};
use crate::limit::{Deadline, LimitReached, Progress};

/// Why there is no construction.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IdentifiableError {
    #[error("expected widths n_0 >= n_1 >= ... >= 2, then 1, with at least one hidden layer; found {found}")]
    Widths { found: String },
    #[error("none of {attempts} attempts passed the checks; the last: {last}")]
    Attempts { attempts: usize, last: Rejection },
    #[error("the complex of an attempt has more than {most} regions; choose smaller widths")]
    TooLarge { most: u64 },
    #[error("{0}")]
    Limit(#[from] LimitReached),
}

/// Why an attempt was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// No point was found in the set where all neurons so far are on.
    NoPoint,
    /// A hidden layer is off somewhere.
    NotTransparent,
    /// The network is not general.
    NotGeneral,
    /// A condition of the certificate fails.
    Condition(MissingCondition),
}

impl Display for Rejection {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Rejection::NoPoint => f.write_str("no point was found in the active set"),
            Rejection::NotTransparent => f.write_str("not transparent"),
            Rejection::NotGeneral => f.write_str("not general"),
            Rejection::Condition(missing) => missing.fmt(f),
        }
    }
}

/// A network with its certificate.
#[derive(Debug)]
pub struct IdentifiableNetwork {
    /// The network.
    pub network: Network,
    /// The box on which the certificate holds.
    pub domain: Domain,
    /// The paths.
    pub certificate: IdentifiabilityCertificate,
    /// How many attempts were made.
    pub attempts: usize,
}

const ATTEMPTS: usize = 60;
const REGIONS: u64 = 200_000;

/// How a network is constructed. The default has the seed 0, no limit of time, and tells nobody.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ConstructOptions<'a> {
    /// The seed of all random choices.
    pub seed: u64,
    /// When to stop.
    pub deadline: Deadline,
    /// Who is told of every attempt.
    pub progress: Progress<'a, ConstructProgress>,
}

/// An attempt begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstructProgress {
    /// Its number, from 1.
    pub attempt: usize,
    /// Why one before it was rejected; `None` for the first.
    pub last: Option<Rejection>,
}

impl<'a> ConstructOptions<'a> {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// The seed of all random choices.
    pub fn seed(self, seed: u64) -> Self {
        ConstructOptions { seed, ..self }
    }

    /// When to stop.
    pub fn deadline(self, deadline: Deadline) -> Self {
        ConstructOptions { deadline, ..self }
    }

    /// Who is told of every attempt.
    pub fn progress(self, progress: Progress<'a, ConstructProgress>) -> Self {
        ConstructOptions { progress, ..self }
    }
}

/// A network of these widths that is identified by its function on the box `[-1, 1]^n`.
///
/// ```
/// use fiberscope::complex::{ConstructOptions, construct_identifiable};
///
/// let built = construct_identifiable(&[2, 2, 1], &ConstructOptions::new()).unwrap();
/// assert_eq!(built.network.widths(), [2, 2, 1]);
/// assert!(built.certificate.holds());
/// ```
pub fn construct_identifiable(
    widths: &[usize],
    options: &ConstructOptions,
) -> Result<IdentifiableNetwork, IdentifiableError> {
    let falling = widths.windows(2).all(|pair| pair[0] >= pair[1]);
    let hidden = widths.len() >= 3 && widths[..widths.len() - 1].iter().all(|&n| n >= 2);
    if !falling || !hidden || widths.last() != Some(&1) {
        let found: Vec<String> = widths.iter().map(ToString::to_string).collect();
        return Err(IdentifiableError::Widths { found: found.join(",") });
    }
    let domain = Domain::from_bounds(&vec![(-1.0, 1.0); widths[0]]).expect("finite bounds");
    let ConstructOptions { seed, deadline, progress } = options;
    let within = ComplexOptions::new().regions(REGIONS).deadline(deadline.clone()).seed(*seed);
    let mut rng = ChaCha8Rng::seed_from_u64(*seed);
    let mut last = Rejection::NoPoint;
    for attempt in 1..=ATTEMPTS {
        progress.report(ConstructProgress { attempt, last: (attempt > 1).then(|| last.clone()) });
        deadline.check("before an attempt passed the checks")?;
        let Some(network) = Builder::new(widths, &mut rng).build() else { continue };
        let Ok(built) = PolyhedralComplex::build(&network, &domain, &within) else { continue };
        let Built::Complete(complex) = built else {
            deadline.check("before the complex of an attempt was known")?;
            return Err(IdentifiableError::TooLarge { most: REGIONS });
        };
        let genericity = Genericity::new(&complex, &within)?;
        if !genericity.is_general() || !genericity.is_transparent() {
            last = if genericity.is_general() { Rejection::NotTransparent } else { Rejection::NotGeneral };
            continue;
        }
        let breakpoints = BreakpointComplex::new(&complex, &within)?;
        let certificate =
            IdentifiabilityCertificate::new(&network, &complex, &breakpoints, &genericity, &within)?;
        match certificate.missing() {
            None => return Ok(IdentifiableNetwork { network, domain, certificate, attempts: attempt }),
            Some(missing) => last = Rejection::Condition(missing),
        }
    }
    Err(IdentifiableError::Attempts { attempts: ATTEMPTS, last })
}

type Vector = Vec<f64>;

struct Builder<'a> {
    widths: &'a [usize],
    rng: &'a mut ChaCha8Rng,
    layers: Vec<(Vec<Vector>, Vector)>,
}

impl<'a> Builder<'a> {
    fn new(widths: &'a [usize], rng: &'a mut ChaCha8Rng) -> Self {
        Builder { widths, rng, layers: Vec::new() }
    }

    fn build(mut self) -> Option<Network> {
        let mut kept: Vec<Vector> = Vec::new();
        for l in 1..self.widths.len() - 1 {
            kept = self.layer(l, &kept)?;
        }
        let last = self.widths[self.widths.len() - 2];
        let output: Vector = (0..last).map(|_| self.signed(0.5, 1.5)).collect();
        let bias = self.signed(0.0, 1.0);
        self.layers.push((vec![output], vec![bias]));
        let depth = self.layers.len();
        let layers = self.layers.iter().enumerate().map(|(l, (rows, bias))| {
            let activation = if l + 1 < depth { Activation::Relu } else { Activation::Identity };
            Layer::new(Matrix::from_rows(rows).expect("rows of one length"), bias.clone(), activation)
        });
        Network::new(layers.collect()).ok()
    }

    fn signed(&mut self, low: f64, high: f64) -> f64 {
        let size = short(self.rng.random_range(low..high));
        if self.rng.random() { size } else { -size }
    }

    fn direction(&mut self, n: usize) -> Vector {
        (0..n).map(|_| short(self.rng.random_range(-1.0..1.0))).collect()
    }

    /// The activations of the layers so far where all of them are on: an affine map.
    fn activations(&self, x: &[f64]) -> Vector {
        self.layers.iter().fold(x.to_vec(), |a, (rows, bias)| {
            rows.iter().zip(bias).map(|(row, b)| dot(row, &a) + b).collect()
        })
    }

    /// Whether an input is in the box and all neurons so far are on, with the new ones of the layer at hand.
    fn active(&self, x: &[f64], rows: &[Vector], bias: &[f64]) -> bool {
        let mut a = x.to_vec();
        if x.iter().any(|x| x.abs() >= 0.98) {
            return false;
        }
        for (rows, bias) in &self.layers {
            a = rows.iter().zip(bias).map(|(row, b)| dot(row, &a) + b).collect();
            if a.iter().any(|&a| a <= 1e-7) {
                return false;
            }
        }
        rows.iter().zip(bias).all(|(row, b)| dot(row, &a) + b > 1e-7)
    }

    /// A bound on the activations of the layers so far on the box.
    fn bound(&self) -> f64 {
        self.layers.iter().fold(1.0, |size, (rows, bias)| {
            let row = |(row, b): (&Vector, &f64)| row.iter().map(|w| w.abs()).sum::<f64>() * size + b.abs();
            rows.iter().zip(bias).map(row).fold(0.0, f64::max)
        })
    }

    /// Adds layer `l`; the points of the layer before, and those of this one.
    fn layer(&mut self, l: usize, before: &[Vector]) -> Option<Vec<Vector>> {
        let (inputs, width) = (self.widths[l - 1], self.widths[l]);
        let (first, offset, center) = self.first_neuron(inputs, before)?;
        let (mut rows, mut bias) = (vec![first.clone()], vec![offset]);
        let beyond = self.uphill(&center, &first, offset)?;
        let height = dot(&first, &self.activations(&beyond)) + offset;
        let e = short(height * self.rng.random_range(0.3..0.6));
        let tilt = 0.5 / (inputs as f64 * self.bound());
        let second: Vector =
            first.iter().map(|w| -w + e * short(self.rng.random_range(-tilt..tilt))).collect();
        rows.push(second);
        bias.push(-offset + e);
        let mut points = vec![center.clone()];
        let values = [&center, &beyond].map(|x| dot(&rows[1], &self.activations(x)) + bias[1]);
        if !(values[0] > 0.0 && values[1] < 0.0) {
            return None;
        }
        points.push(mix(&center, &beyond, values[0] / (values[0] - values[1])));
        for _ in 2..width {
            let (row, b, point) = self.separate(&points, &rows, &bias)?;
            rows.push(row);
            bias.push(b);
            points.push(point);
        }
        self.layers.push((rows, bias));
        Some(points)
    }

    /// Neuron 1 with a point of `P` where it is zero.
    fn first_neuron(&mut self, inputs: usize, before: &[Vector]) -> Option<(Vector, f64, Vector)> {
        if before.is_empty() {
            let row = self.direction(inputs);
            let x: Vector = self.direction(inputs).iter().map(|x| 0.3 * x).collect();
            let offset = -dot(&row, &x);
            return Some((row, offset, x));
        }
        let images: Vec<Vector> = before.iter().map(|x| self.activations(x)).collect();
        let (mut row, mut offset) = hyperplane(&images)?;
        let size = row.iter().fold(0.0f64, |m, w| m.max(w.abs()));
        let sign = if self.rng.random() { size } else { -size };
        row.iter_mut().for_each(|w| *w /= sign);
        offset /= sign;
        let shares: Vector = before.iter().map(|_| self.rng.random_range(0.6..1.4)).collect();
        let sum: f64 = shares.iter().sum();
        let center = (0..before[0].len())
            .map(|i| before.iter().zip(&shares).map(|(x, s)| x[i] * s / sum).sum())
            .collect();
        Some((row, offset, center))
    }

    /// A point of `P` where a function that is zero at `x` is positive.
    fn uphill(&mut self, x: &[f64], row: &[f64], offset: f64) -> Option<Vector> {
        for _ in 0..200 {
            let direction = self.direction(x.len());
            let mut step = 1.0;
            for _ in 0..30 {
                let y: Vector = x.iter().zip(&direction).map(|(x, d)| x + step * d).collect();
                if self.active(&y, &[], &[]) && dot(row, &self.activations(&y)) + offset > 1e-5 {
                    return Some(y);
                }
                step *= 0.6;
            }
        }
        None
    }

    /// A neuron that is positive on the points, and a point of the active set where it is zero.
    fn separate(
        &mut self,
        points: &[Vector],
        rows: &[Vector],
        bias: &[f64],
    ) -> Option<(Vector, f64, Vector)> {
        let images: Vec<Vector> = points.iter().map(|x| self.activations(x)).collect();
        let n = points.len() as f64;
        let center: Vector =
            (0..points[0].len()).map(|i| points.iter().map(|x| x[i]).sum::<f64>() / n).collect();
        for _ in 0..300 {
            let direction = self.direction(center.len());
            let mut step = 1.0;
            for _ in 0..20 {
                let x: Vector = center.iter().zip(&direction).map(|(x, d)| x + step * d).collect();
                step *= 0.65;
                if !self.active(&x, rows, bias) {
                    continue;
                }
                let q = self.activations(&x);
                let (nearest, shares) = nearest_in_hull(&images, &q);
                let gap: Vector = nearest.iter().zip(&q).map(|(c, q)| c - q).collect();
                let length = dot(&gap, &gap).sqrt();
                if length < 1e-3 {
                    continue;
                }
                let row: Vector = gap.iter().map(|x| short(x / length)).collect();
                let foot: Vector =
                    (0..x.len()).map(|i| points.iter().zip(&shares).map(|(p, s)| p[i] * s).sum()).collect();
                let part = self.rng.random_range(0.35..0.65);
                let middle = mix(&x, &foot, part);
                let offset = -dot(&row, &self.activations(&middle));
                let positive = images.iter().all(|image| dot(&row, image) + offset > 1e-6);
                if positive && self.active(&middle, rows, bias) {
                    return Some((row, offset, middle));
                }
            }
        }
        None
    }
}

/// Rounded to 20 bits after the point, so that exact arithmetic stays short.
fn short(x: f64) -> f64 {
    (x * 1_048_576.0).round() / 1_048_576.0
}

fn mix(x: &[f64], y: &[f64], t: f64) -> Vector {
    x.iter().zip(y).map(|(x, y)| x + t * (y - x)).collect()
}

/// The hyperplane through as many points as dimensions.
fn hyperplane(points: &[Vector]) -> Option<(Vector, f64)> {
    // Solve w p + 1 = 0 for all points: a hyperplane that misses the origin.
    let w = solve(points.iter().map(|p| p.iter().copied().chain([-1.0]).collect()).collect(), 1e-12)?;
    w.iter().all(|x| x.is_finite()).then_some((w, 1.0))
}

/// The point of a convex hull nearest to `q`, with its shares, by Frank and Wolfe's method.
fn nearest_in_hull(points: &[Vector], q: &[f64]) -> (Vector, Vector) {
    let mut shares = vec![1.0 / points.len() as f64; points.len()];
    let at = |shares: &[f64]| -> Vector {
        (0..q.len()).map(|i| points.iter().zip(shares).map(|(p, s)| p[i] * s).sum()).collect()
    };
    for _ in 0..400 {
        let x = at(&shares);
        let gradient: Vector = x.iter().zip(q).map(|(x, q)| x - q).collect();
        let best = (0..points.len())
            .min_by(|&i, &j| dot(&gradient, &points[i]).total_cmp(&dot(&gradient, &points[j])));
        let Some(best) = best else { break };
        let direction: Vector = points[best].iter().zip(&x).map(|(p, x)| p - x).collect();
        let length = dot(&direction, &direction);
        let step = if length > 0.0 { (-dot(&gradient, &direction) / length).clamp(0.0, 1.0) } else { 0.0 };
        if step == 0.0 {
            break;
        }
        shares
            .iter_mut()
            .enumerate()
            .for_each(|(i, s)| *s = (1.0 - step) * *s + if i == best { step } else { 0.0 });
    }
    (at(&shares), shares)
}
