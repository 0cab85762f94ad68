//! Orbits and stabilisers of the hidden symmetry groups [ntk2026complexity, Propositions A.8 and A.10].
//!
//! `g = (g_1, ..., g_{d-1})` in a product of groups of matrices acts on the parameters by
//! `(W_l, b_l) -> (g_l W_l g_{l-1}^{-1}, g_l b_l)`, `g_0 = g_d = 1`. The tangent space of the orbit of
//! `theta` is the image of
//!
//! ```text
//! X -> (X_l W_l - W_l X_{l-1}, X_l b_l)_l,        X_0 = X_d = 0,
//! ```
//!
//! on the Lie algebra, and its kernel is the Lie algebra of the stabiliser: `dim orbit + dim stabiliser = dim
//! group`. The rank of this map is taken over the rationals, the parameters being the dyadic numbers that
//! doubles are.
//!
//! Three groups: positive *scalings* of all neurons; the *mixed* group, in which the always-active neurons of
//! a layer have their general linear group and all others are scaled, which keeps the function on the data
//! (Proposition A.10); and the whole *hidden* group `GL_{n_1} x ... x GL_{n_{d-1}}` of Proposition A.8, which
//! keeps the function of a linear network only. By A.8 its stabiliser is trivial at almost all parameters if
//! the widths are roughly monotonic. This is so if they never grow by more than one, `n_l - 1 <= n_{l-1}`;
//! the other half of the proposition, `n_{l-1} - 1 <= n_l`, is false: for widths 1, 4, 3 the stabiliser has
//! dimension 2, because `X_1 (W_1 b_1) = 0` and `W_2 X_1 = 0` leave matrices of rank one, `X_1 = u v^T` with
//! `u` in the kernel of `W_2` and `v` one of two directions.

use fiberscope_algebra::modular::independent_rows;
use fiberscope_algebra::rational::rank_at_most;
use fiberscope_core::{Matrix, Network, RankBounds, Rational, Scalar};

use super::DimensionError;
use super::pattern::{LayerStates, NeuronState};
use crate::limit::{Deadline, Limit, LimitReached};

/// Numbers in the matrix of the map up to which it is made at all.
const ENTRIES: usize = 1 << 23;
/// Multiplications of rationals up to which a rank that is not full is decided exactly.
const EXACT_WORK: usize = 1 << 24;

/// A group that acts on the hidden layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HiddenGroup {
    /// Positive scalings of all hidden neurons.
    Scalings,
    /// The general linear group of the always-active neurons of every layer, scalings of the others.
    Mixed,
    /// The general linear groups of all hidden layers.
    Hidden,
}

impl HiddenGroup {
    /// The name in texts.
    pub fn name(self) -> &'static str {
        match self {
            HiddenGroup::Scalings => "scalings",
            HiddenGroup::Mixed => "mixed",
            HiddenGroup::Hidden => "hidden",
        }
    }
}

/// The dimensions of a group, of the orbit of a network and of its stabiliser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrbitDimension {
    /// The group.
    pub group: HiddenGroup,
    /// Its dimension.
    pub dimension: usize,
    /// The dimension of the orbit.
    pub orbit: RankBounds,
}

impl OrbitDimension {
    /// The dimension of the stabiliser.
    pub fn stabiliser(&self) -> RankBounds {
        RankBounds { lower: self.dimension - self.orbit.upper, upper: self.dimension - self.orbit.lower }
    }
}

/// Whether the widths, inputs and outputs included, never grow by more than one from layer to layer, and
/// whether they never shrink by more than one: the two halves of "roughly monotonic" [ntk2026complexity,
/// Assumption A.1].
pub fn roughly_monotonic(widths: &[usize]) -> (bool, bool) {
    let pairs = || widths.windows(2).map(|pair| (pair[0], pair[1]));
    (pairs().all(|(a, b)| b <= a + 1), pairs().all(|(a, b)| a <= b + 1))
}

/// The orbit of a network under a group; `states` are those of the hidden layers on the data and are needed
/// for [`HiddenGroup::Mixed`] only.
///
/// ```
/// use fiberscope::dimension::{HiddenGroup, orbit_dimension};
/// use fiberscope::{Activation, Deadline, Layer, Matrix, Network};
///
/// let hidden = Layer::new(Matrix::from_rows(&[[1.0], [-2.0]]).unwrap(), vec![0.5, 1.0], Activation::Relu);
/// let output = Layer::new(Matrix::from_rows(&[[1.0, 3.0]]).unwrap(), vec![0.0], Activation::Identity);
/// let network = Network::new(vec![hidden, output]).unwrap();
/// let found = orbit_dimension(&network, HiddenGroup::Hidden, &[], &Deadline::NEVER)?;
/// assert_eq!((found.dimension, found.orbit.lower, found.stabiliser().upper), (4, 4, 0));
/// # Ok::<(), fiberscope::dimension::DimensionError>(())
/// ```
pub fn orbit_dimension(
    network: &Network,
    group: HiddenGroup,
    states: &[LayerStates],
    deadline: &Deadline,
) -> Result<OrbitDimension, DimensionError> {
    let widths = network.widths();
    let parameters = network.parameter_count();
    let generators = generators(&widths, group, states);
    let dimension = generators.len();
    if dimension.saturating_mul(parameters) > ENTRIES {
        let when = format!(
            "before the orbit was looked at: {dimension} tangents of {parameters} numbers are too many"
        );
        return Err(LimitReached { limit: Limit::Memory, when }.into());
    }
    let matrix = tangents(network, &generators);
    let rank = |lower: usize, upper: usize| RankBounds { lower, upper };
    let lower = independent_rows(&matrix).len();
    let upper = dimension.min(parameters);
    let work = dimension.saturating_mul(parameters).saturating_mul(lower);
    let orbit = if lower == upper {
        rank(lower, upper)
    } else if work <= EXACT_WORK && !deadline.is_past() {
        let exact = rank_at_most(&matrix, upper);
        rank(exact, exact)
    } else {
        rank(lower, upper)
    };
    Ok(OrbitDimension { group, dimension, orbit })
}

/// The matrix units `E_pq` of the hidden layers that span the Lie algebra: layer (from 0), `p`, `q`.
fn generators(widths: &[usize], group: HiddenGroup, states: &[LayerStates]) -> Vec<(usize, usize, usize)> {
    let mut units = Vec::new();
    for layer in 0..widths.len().saturating_sub(2) {
        let width = widths[layer + 1];
        let active = |unit: usize| {
            states.get(layer).and_then(|states| states.neurons.get(unit)) == Some(&NeuronState::Active)
        };
        let belongs = |p: usize, q: usize| match group {
            HiddenGroup::Scalings => p == q,
            HiddenGroup::Mixed => p == q || active(p) && active(q),
            HiddenGroup::Hidden => true,
        };
        let pairs = (0..width).flat_map(|p| (0..width).map(move |q| (p, q)));
        units.extend(pairs.filter(|&(p, q)| belongs(p, q)).map(|(p, q)| (layer, p, q)));
    }
    units
}

/// One row per generator: how the parameters (`W_1` row by row, `b_1`, `W_2`, ...) move.
fn tangents(network: &Network, generators: &[(usize, usize, usize)]) -> Matrix<Rational> {
    let layers: Vec<(Matrix<Rational>, Vec<Rational>)> = network
        .layers()
        .iter()
        .map(|layer| {
            (layer.weight().map(Scalar::to_rational), layer.bias().iter().map(Scalar::to_rational).collect())
        })
        .collect();
    let mut starts = vec![0];
    for (weight, bias) in &layers {
        starts.push(starts[starts.len() - 1] + weight.entries().len() + bias.len());
    }
    let mut matrix = Matrix::from_fn(generators.len(), network.parameter_count(), |_, _| Rational::ZERO);
    for (row, &(l, p, q)) in generators.iter().enumerate() {
        let (weight, bias) = &layers[l];
        let cols = weight.cols();
        for x in 0..cols {
            matrix[(row, starts[l] + p * cols + x)] = weight[(q, x)].clone();
        }
        matrix[(row, starts[l] + weight.entries().len() + p)] = bias[q].clone();
        let next = &layers[l + 1].0;
        for o in 0..next.rows() {
            matrix[(row, starts[l + 1] + o * next.cols() + q)] = -next[(o, p)].clone();
        }
    }
    matrix
}
