//! From given points of boundaries to parameters: the step of [rolnick2020reverse, Theorem 4], without
//! queries.
//!
//! Layers `1, ..., k-2` are known, layer `k-1` up to the signs of its neurons: `z^_i = t_i z_i`. Of neurons
//! of layer `k` there are points of their boundaries, with or without the normals of the local hyperplanes.
//! Since `ReLU(z_i) = ReLU(z^_i) - beta_i z^_i` with `beta_i = (1 - t_i) / 2`, and `z^_i = w_i . h + c_i` in
//! the features `h` of layer `k-2`,
//!
//! ```text
//! z = sum_i W_i ReLU(z^_i) + E . h + e,      E = -sum_i W_i beta_i w_i,      e = b - sum_i W_i beta_i c_i,
//! ```
//!
//! is linear in the unknowns `(W, E, e)`. A point `p` of the boundary is one equation, `z(p) = 0`; its normal
//! `n` gives the others, `grad z(p)` being a multiple of `n`. The solution is unique up to a factor if the
//! boundary crosses those of all neurons of layer `k-1`, which is what the theorem's chains of precursors
//! provide; then `W` is the incoming weights up to the neuron's own sign. The signs follow from
//!
//! ```text
//! sum_i (W_ij w_i) beta_i = -E_j       for all neurons j of layer k together,
//! ```
//!
//! linear equations for bits, which are solved and must come out as bits. One neuron has as many equations as
//! layer `k-2` has features, so that several are needed where layer `k-1` is wider.

use fiberscope_algebra::dense::{dot, norm, peak};
use fiberscope_core::Matrix;

use super::algebra::Svd;
use super::bits::{ENUMERATED_BITS, enumerated};
use super::prefix::{Prefix, Rows};

/// A hidden layer that is known.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownLayer {
    /// One row of weights per neuron.
    pub weight: Matrix,
    /// The biases.
    pub bias: Vec<f64>,
    /// Whether the signs of the rows are right too.
    pub oriented: bool,
}

/// A point of the boundary of a neuron.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundaryPoint {
    /// The point.
    pub at: Vec<f64>,
    /// The normal of the boundary there, of any length and either sign.
    pub normal: Option<Vec<f64>>,
}

/// What is known of a neuron of the new layer.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum BoundaryNeuron {
    /// Its weights and bias, up to a factor that may be negative. The bias depends on the signs of the layer
    /// before and is absent if one of those that matter is not known.
    Row {
        /// The weights, of length 1.
        weight: Vec<f64>,
        /// The bias.
        bias: Option<f64>,
        /// The root mean square of the equations at the solution, relative to the largest singular value.
        residual: f64,
    },
    /// More than one row explains the points.
    Undetermined {
        /// The dimension of the solutions, less one for the factor.
        freedom: usize,
        /// Neurons of the layer before (from 0) whose boundary no point lies beyond.
        uncrossed: Vec<usize>,
    },
    /// No row explains the points: they are not of one neuron of this layer.
    Inconsistent {
        /// The smallest singular value of the equations, relative to the largest.
        smallest: f64,
    },
}

/// What boundary points tell.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundaryRecovery {
    /// The known layers, the last one oriented as far as signs were found.
    pub known: Vec<KnownLayer>,
    /// The factor of every row of the last known layer, as it was given: 1, -1, or unknown.
    pub signs: Vec<Option<f64>>,
    /// The largest distance of a solved bit from 0 or 1; nothing if no bits had to be solved for.
    pub bit_error: Option<f64>,
    /// The neurons, in the order of their points.
    pub neurons: Vec<BoundaryNeuron>,
}

impl BoundaryRecovery {
    /// The new layer, if all its neurons came out with their biases; not oriented.
    pub fn layer(&self) -> Option<KnownLayer> {
        let row = |neuron: &BoundaryNeuron| match neuron {
            BoundaryNeuron::Row { weight, bias: Some(bias), .. } => Some((weight.clone(), *bias)),
            _ => None,
        };
        let rows = Rows::new(&self.neurons.iter().map(row).collect::<Option<Vec<_>>>()?)?;
        Some(KnownLayer { weight: rows.weight, bias: rows.bias, oriented: false })
    }
}

/// Why boundary points cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum BoundaryError {
    #[error("known layer {layer}: expected {expected} columns of weights, found {found}")]
    Columns { layer: usize, expected: usize, found: usize },
    #[error("known layer {layer}: expected {expected} biases, one per row of weights, found {found}")]
    Biases { layer: usize, expected: usize, found: usize },
    #[error("known layer {layer} has no neurons")]
    Empty { layer: usize },
    #[error("known layer {layer} is not oriented; only the last one, layer {last}, may be so")]
    Orientation { layer: usize, last: usize },
    #[error("neuron {neuron}, point {point}: expected {expected} numbers in its {what}, found {found}")]
    Point { neuron: usize, point: usize, what: &'static str, expected: usize, found: usize },
    #[error("neuron {neuron}, point {point}: its {what} has a number that is not finite, or is zero")]
    NotFinite { neuron: usize, point: usize, what: &'static str },
    #[error("known layer {layer} has a number that is not finite")]
    LayerNotFinite { layer: usize },
    #[error("there are no neurons with boundary points")]
    NoNeurons,
    #[error("the tolerance is {0}; expected a number above 0 and below 1")]
    Tolerance(f64),
    #[error("there is nothing to orient: the last known layer is oriented already")]
    Oriented,
}

/// Singular values up to this share of the largest count as zero by default.
pub const BOUNDARY_TOLERANCE: f64 = 1e-8;

/// Recovers the rows of the layer after the known ones from points of the boundaries of its neurons, and the
/// signs of the last known layer.
///
/// ```
/// use fiberscope::extract::{BOUNDARY_TOLERANCE, BoundaryNeuron, BoundaryPoint, recover_from_boundaries};
///
/// // Points of the line x + 2 y = 1: a neuron of the first layer.
/// let point = |x: f64| BoundaryPoint { at: vec![x, (1.0 - x) / 2.0], normal: None };
/// let points = [point(0.0), point(1.0), point(-2.0)].to_vec();
/// let found = recover_from_boundaries(2, &[], &[points], BOUNDARY_TOLERANCE)?;
/// let BoundaryNeuron::Row { weight, bias: Some(bias), .. } = &found.neurons[0] else { unreachable!() };
/// assert!((weight[1] / weight[0] - 2.0).abs() < 1e-12 && (bias / weight[0] + 1.0).abs() < 1e-12);
/// # Ok::<(), fiberscope::extract::BoundaryError>(())
/// ```
pub fn recover_from_boundaries(
    inputs: usize,
    known: &[KnownLayer],
    neurons: &[Vec<BoundaryPoint>],
    tolerance: f64,
) -> Result<BoundaryRecovery, BoundaryError> {
    if !(tolerance > 0.0 && tolerance < 1.0) {
        return Err(BoundaryError::Tolerance(tolerance));
    }
    check_layers(inputs, known)?;
    check_points(inputs, neurons)?;
    let features = Features::new(inputs, known);
    let solved: Vec<Solution> = neurons.iter().map(|points| features.solve(points, tolerance)).collect();
    let (signs, bit_error) = features.signs(&solved, tolerance);
    let neurons = solved.into_iter().map(|solution| features.neuron(solution, &signs)).collect();
    let mut known = known.to_vec();
    if let Some(last) = known.last_mut() {
        *last = turned(last, &signs);
    }
    Ok(BoundaryRecovery { known, signs, bit_error, neurons })
}

/// The layer with its rows times their signs, oriented if all are known.
pub(super) fn turned(layer: &KnownLayer, signs: &[Option<f64>]) -> KnownLayer {
    let sign = |i: usize| signs[i].unwrap_or(1.0);
    KnownLayer {
        weight: Matrix::from_fn(layer.weight.rows(), layer.weight.cols(), |i, j| {
            sign(i) * layer.weight[(i, j)]
        }),
        bias: layer.bias.iter().enumerate().map(|(i, b)| sign(i) * b).collect(),
        oriented: signs.iter().all(Option::is_some),
    }
}

/// Whether layers chain and all but the last are oriented.
pub(super) fn check_layers(inputs: usize, known: &[KnownLayer]) -> Result<(), BoundaryError> {
    let mut expected = inputs;
    for (l, layer) in known.iter().enumerate() {
        let (number, found) = (l + 1, layer.weight.cols());
        if layer.weight.rows() == 0 {
            return Err(BoundaryError::Empty { layer: number });
        }
        if found != expected {
            return Err(BoundaryError::Columns { layer: number, expected, found });
        }
        expected = layer.weight.rows();
        if layer.bias.len() != expected {
            return Err(BoundaryError::Biases { layer: number, expected, found: layer.bias.len() });
        }
        if !layer.weight.entries().iter().chain(&layer.bias).all(|x| x.is_finite()) {
            return Err(BoundaryError::LayerNotFinite { layer: number });
        }
        if !layer.oriented && number < known.len() {
            return Err(BoundaryError::Orientation { layer: number, last: known.len() });
        }
    }
    Ok(())
}

fn check_points(inputs: usize, neurons: &[Vec<BoundaryPoint>]) -> Result<(), BoundaryError> {
    if neurons.is_empty() {
        return Err(BoundaryError::NoNeurons);
    }
    for (neuron, points) in neurons.iter().enumerate() {
        for (point, each) in points.iter().enumerate() {
            let parts = [("coordinates", Some(&each.at)), ("normal", each.normal.as_ref())];
            for (what, numbers) in parts {
                let Some(numbers) = numbers else { continue };
                let (neuron, point) = (neuron + 1, point + 1);
                if numbers.len() != inputs {
                    let found = numbers.len();
                    return Err(BoundaryError::Point { neuron, point, what, expected: inputs, found });
                }
                let size = norm(numbers);
                if !size.is_finite() || what == "normal" && size == 0.0 {
                    return Err(BoundaryError::NotFinite { neuron, point, what });
                }
            }
        }
    }
    Ok(())
}

/// The functions whose combination a neuron is.
struct Features {
    /// The oriented layers up to `k - 2`, or up to `k - 1` if that one is oriented too.
    before: Prefix,
    /// Layer `k - 1`, if its signs are to be found.
    unsigned: Option<Rows>,
    /// The last known layer, whatever its orientation, has so many neurons.
    last: usize,
}

/// What the equations of one neuron say.
enum Solution {
    /// The coefficients of the features and the residual.
    Unique(Vec<f64>, f64),
    Undetermined(usize, Vec<usize>),
    Inconsistent(f64),
}

impl Features {
    fn new(inputs: usize, known: &[KnownLayer]) -> Self {
        let rows = |layer: &KnownLayer| Rows { weight: layer.weight.clone(), bias: layer.bias.clone() };
        let (oriented, unsigned) = match known.split_last() {
            Some((last, before)) if !last.oriented => (before, Some(rows(last))),
            _ => (known, None),
        };
        let before = Prefix::of(inputs, &oriented.iter().map(rows).collect::<Vec<_>>());
        Features { before, unsigned, last: known.last().map_or(0, |layer| layer.weight.rows()) }
    }

    /// The number of weights of a neuron of the new layer.
    fn weights(&self) -> usize {
        self.unsigned.as_ref().map_or(self.before.width(), Rows::len)
    }

    /// The values of the features, the constant last, and their gradients, one row per feature.
    fn at(&self, point: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
        let local = self.before.local(point);
        let (mut values, mut gradients) = (Vec::new(), Vec::new());
        if let Some(rows) = &self.unsigned {
            for (w, b) in rows.iter() {
                let z = dot(w, &local.hidden) + b;
                let active = f64::from(u8::from(z > 0.0));
                values.push(active * z);
                let slope = |x: usize| (0..w.len()).map(|m| w[m] * local.gradient[(m, x)]).sum::<f64>();
                gradients.push((0..point.len()).map(|x| active * slope(x)).collect());
            }
        }
        values.extend(&local.hidden);
        gradients.extend(local.gradient.iter_rows().map(<[f64]>::to_vec));
        values.push(1.0);
        gradients.push(vec![0.0; point.len()]);
        (values, gradients)
    }

    fn equations(&self, points: &[BoundaryPoint]) -> Vec<Vec<f64>> {
        let mut equations = Vec::new();
        for point in points {
            let (values, gradients) = self.at(&point.at);
            let share = 1.0 / (1.0 + peak(&point.at));
            equations.push(values.iter().map(|value| share * value).collect());
            let Some(normal) = &point.normal else { continue };
            let length = norm(normal);
            let along: Vec<f64> = gradients.iter().map(|g| dot(g, normal) / length).collect();
            for x in 0..normal.len() {
                let across = |f: usize| gradients[f][x] - along[f] * normal[x] / length;
                equations.push((0..gradients.len()).map(across).collect());
            }
        }
        equations
    }

    fn solve(&self, points: &[BoundaryPoint], tolerance: f64) -> Solution {
        let mut equations = self.equations(points);
        let count = self.weights() + 1 + if self.unsigned.is_some() { self.before.width() } else { 0 };
        let uncrossed = || self.uncrossed(points);
        let mut scales = vec![0.0f64; count];
        for row in &equations {
            scales.iter_mut().zip(row).for_each(|(scale, x)| *scale += x * x);
        }
        scales.iter_mut().for_each(|scale| *scale = if *scale > 0.0 { scale.sqrt() } else { 1.0 });
        equations.iter_mut().for_each(|row| row.iter_mut().zip(&scales).for_each(|(x, scale)| *x /= scale));
        // Rows of zeros, so that there is a right singular vector for every unknown.
        while equations.len() < count {
            equations.push(vec![0.0; count]);
        }
        let Some(svd) = Matrix::from_rows(&equations).and_then(|matrix| Svd::of(&matrix)) else {
            return Solution::Undetermined(count - 1, uncrossed());
        };
        let rank = if svd.s[0] > 0.0 { svd.rank(tolerance) } else { 0 };
        match count - rank {
            0 => Solution::Inconsistent(svd.s[count - 1] / svd.s[0]),
            1 => {
                let found: Vec<f64> =
                    svd.v[count - 1].iter().zip(&scales).map(|(v, scale)| v / scale).collect();
                let length = norm(&found[..self.weights()]);
                // A solution without weights is a relation between the features before.
                if length <= tolerance * norm(&found) {
                    return Solution::Undetermined(1, uncrossed());
                }
                Solution::Unique(found.iter().map(|x| x / length).collect(), svd.s[count - 1] / svd.s[0])
            }
            more => Solution::Undetermined(more - 1, uncrossed()),
        }
    }

    /// Neurons of the last known layer that all points have on the same side.
    fn uncrossed(&self, points: &[BoundaryPoint]) -> Vec<usize> {
        let active = |point: &BoundaryPoint| -> Vec<bool> {
            let local = self.before.local(&point.at);
            let own = |rows: &Rows| rows.at(&local.hidden).iter().map(|&z| z > 0.0).collect();
            self.unsigned.as_ref().map_or_else(|| local.active.clone(), own)
        };
        let sides: Vec<Vec<bool>> = points.iter().map(active).collect();
        (0..self.last).filter(|&i| sides.windows(2).all(|pair| pair[0][i] == pair[1][i])).collect()
    }

    /// The signs of the last known layer from all neurons that were solved for.
    fn signs(&self, solved: &[Solution], tolerance: f64) -> (Vec<Option<f64>>, Option<f64>) {
        let Some(rows) = &self.unsigned else { return (vec![Some(1.0); self.last], None) };
        let count = rows.len();
        let (mut equations, mut right) = (Vec::new(), Vec::new());
        for solution in solved {
            let Solution::Unique(found, _) = solution else { continue };
            for m in 0..self.before.width() {
                equations.push((0..count).map(|i| found[i] * rows.weight[(i, m)]).collect::<Vec<f64>>());
                right.push(-found[count + m]);
            }
        }
        let unknown = (vec![None; count], None);
        while equations.len() < count && !equations.is_empty() {
            equations.push(vec![0.0; count]);
            right.push(0.0);
        }
        let Some(svd) = Matrix::from_rows(&equations).and_then(|matrix| Svd::of(&matrix)) else {
            return unknown;
        };
        if svd.s.is_empty() || svd.s[0] == 0.0 {
            return unknown;
        }
        let rank = svd.rank(tolerance.sqrt());
        let bits = svd.solve(&right, tolerance.sqrt());
        let off = |bit: f64| bit.abs().min((bit - 1.0).abs());
        let sign = |bit: f64| Some(1.0 - 2.0 * bit.round());
        if rank < count
            && count - rank <= ENUMERATED_BITS
            && let Some(bits) = enumerated(&equations, &right, &svd, rank)
        {
            return (bits.iter().map(|&bit| sign(bit)).collect(), Some(0.0));
        }
        // A bit is determined if its axis lies in the row space.
        let determined = |i: usize| 1.0 - (0..rank).map(|k| svd.v[k][i].powi(2)).sum::<f64>() < 1e-8;
        let one = |i: usize| if determined(i) && off(bits[i]) < 0.1 { sign(bits[i]) } else { None };
        let error = (0..count).filter(|&i| determined(i)).map(|i| off(bits[i])).reduce(f64::max);
        ((0..count).map(one).collect(), error)
    }

    fn neuron(&self, solution: Solution, signs: &[Option<f64>]) -> BoundaryNeuron {
        let (found, residual) = match solution {
            Solution::Unique(found, residual) => (found, residual),
            Solution::Undetermined(freedom, uncrossed) => {
                return BoundaryNeuron::Undetermined { freedom, uncrossed };
            }
            Solution::Inconsistent(smallest) => return BoundaryNeuron::Inconsistent { smallest },
        };
        let weight = found[..self.weights()].to_vec();
        let constant = found[found.len() - 1];
        let bias = match &self.unsigned {
            None => Some(constant),
            Some(rows) => (0..rows.len()).try_fold(constant, |sum, i| {
                // beta_i is 1 where the sign was wrong.
                signs[i].map(|sign| sum + weight[i] * (1.0 - sign) / 2.0 * rows.bias[i])
            }),
        };
        BoundaryNeuron::Row { weight, bias, residual }
    }
}
