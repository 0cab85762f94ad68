//! `B` rewritten inside its orbit of permutations and scalings to be as close to `A` as possible.
//!
//! With the other layers fixed, placing neuron `j` of `B` where `A` has neuron `i` and scaling it by
//! `c > 0` costs
//!
//! ```text
//! norm(a_in - c b_in)^2 + norm(a_out - b_out / c)^2,
//! ```
//!
//! where `in` are the row and the bias and `out` the outgoing column. The best `c` for every pair and then
//! the best permutation (an assignment problem, solved to the end) give the best rewriting of one layer; the
//! layers are improved in turn until none changes. The distance never grows, but the result is a local
//! minimum: several starts are made and the best is kept. If `A` and `B` are related by permutation and
//! scaling exactly, the relation is found first and the distance is zero; if they are up to the rounding of
//! their parameters, the real factors are found next ([`find_near`]), and the result says how far apart the
//! parameters are.
//!
//! The method is weight matching as in [ainsworth2023git, Section 3.2], with scalings. On points of the caller, neurons
//! are matched by what they do there instead ([`AlignOptions::activations`]).

mod activations;
pub(crate) mod assignment;
mod barrier;

use activations::match_activations;
pub use assignment::assign;
pub use barrier::{Barrier, interpolation_barrier};

use fiberscope_algebra::dense::fast_dot;
use fiberscope_core::{
    Activation, Domain, InputError, Layer, Matrix, Move, MoveChain, Network, Rational, Scalar,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use thiserror::Error;

use crate::limit::Deadline;
use crate::orbit::{self, LayerRelabelling, Relabelling, find_near, relative_difference};

/// Which positive scalings may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// Real factors where permutation and scaling relate the networks up to rounding, and the result is
    /// rounded; otherwise powers of two.
    #[default]
    Auto,
    /// Powers of two: doubles stay doubles, so that the result is exactly the same function.
    PowersOfTwo,
    /// Any doubles: closer, but the parameters are rounded, and the function changes by as much.
    Doubles,
    /// None.
    None,
}

impl Scaling {
    /// The factor that is allowed and nearest to one that is wanted.
    fn allowed(self, factor: f64) -> f64 {
        match self {
            Scaling::Auto | Scaling::PowersOfTwo => 2f64.powi(factor.log2().round() as i32),
            Scaling::Doubles => factor,
            Scaling::None => 1.0,
        }
    }
}

/// How [`align`] goes about its work.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AlignOptions {
    /// The scalings; [`Scaling::Auto`] by default.
    pub scaling: Scaling,
    /// Points, one per row, on which neurons are matched by their activations instead of their weights. By default there
    /// are none.
    pub activations: Option<Matrix>,
    /// The number of starts, 1 by default; the first matches incoming weights layer by layer, the second is
    /// `B` as it is, the others are random.
    pub starts: usize,
    /// The most rounds over the layers from one start, 50 by default.
    pub rounds: usize,
    /// The seed of the random starts, 0 by default.
    pub seed: u64,
    /// When to stop with the best that is known by then. By default there is no limit.
    pub deadline: Deadline,
}

impl Default for AlignOptions {
    fn default() -> Self {
        AlignOptions {
            scaling: Scaling::Auto,
            activations: None,
            starts: 1,
            rounds: 50,
            seed: 0,
            deadline: Deadline::NEVER,
        }
    }
}

impl AlignOptions {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Which positive scalings may be used.
    pub fn scaling(self, scaling: Scaling) -> Self {
        AlignOptions { scaling, ..self }
    }

    /// The points on which neurons are matched by their activations.
    pub fn activations(self, points: impl Into<Option<Matrix>>) -> Self {
        AlignOptions { activations: points.into(), ..self }
    }

    /// The number of starts.
    pub fn starts(self, starts: usize) -> Self {
        AlignOptions { starts, ..self }
    }

    /// The most rounds over the layers from one start.
    pub fn rounds(self, rounds: usize) -> Self {
        AlignOptions { rounds, ..self }
    }

    /// The seed of the random starts.
    pub fn seed(self, seed: u64) -> Self {
        AlignOptions { seed, ..self }
    }

    /// When to stop.
    pub fn deadline(self, deadline: Deadline) -> Self {
        AlignOptions { deadline, ..self }
    }
}

/// `B` rewritten to be close to `A`.
#[derive(Clone, Debug)]
pub struct Alignment {
    /// The network.
    pub network: Network,
    /// The moves that lead to it from `B`.
    pub moves: MoveChain,
    /// The Euclidean distance of the parameters of `A` and `B`.
    pub distance_before: f64,
    /// The Euclidean distance of the parameters of `A` and the result.
    pub distance_after: f64,
    /// Whether the result is exactly what the moves make of `B`. Otherwise its parameters are rounded.
    pub exact: bool,
    /// The largest difference of a parameter of the result and of what the moves make of `B`, relative to the
    /// larger one: zero if it is exact.
    pub rounded: Rational,
    /// Where permutation and scaling relate the networks, exactly or up to rounding: the largest difference
    /// of a parameter of `A` and of what the moves make of `B`, relative to the larger one.
    pub relative: Option<Rational>,
}

/// Why two networks cannot be aligned or compared.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum AlignError {
    #[error("expected networks of the same widths, found {a:?} and {b:?}")]
    Widths { a: Vec<usize>, b: Vec<usize> },
    #[error("layer {layer}: expected the same activation in both networks, found {a} and {b}")]
    Activation { layer: usize, a: Activation, b: Activation },
    #[error("expected targets of shape {} x {}, found {} x {}", .expected[0], .expected[1], .found[0], .found[1])]
    Targets { expected: [usize; 2], found: [usize; 2] },
    #[error("{0}")]
    Points(String),
}

/// Rewrites `b` by permutations and scalings of its hidden layers to be close to `a`.
///
/// ```
/// use fiberscope::Network;
/// use fiberscope::align::{AlignOptions, align};
///
/// let a = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.5]), (&[&[1.0, 3.0]], &[0.0])]).unwrap();
/// let b = Network::from_rows(&[(&[&[-1.0], &[2.0]], &[0.5, 0.0]), (&[&[3.0, 0.5]], &[0.0])]).unwrap();
/// let alignment = align(&a, &b, &AlignOptions::new().starts(3)).unwrap();
/// assert_eq!((alignment.network, alignment.distance_after), (a, 0.0));
/// ```
pub fn align(a: &Network, b: &Network, options: &AlignOptions) -> Result<Alignment, AlignError> {
    same_shape(a, b)?;
    if let Some(points) = &options.activations
        && points.cols() != a.input_width()
    {
        let wrong = InputError { expected: a.input_width(), found: points.cols() };
        return Err(AlignError::Points(wrong.to_string()));
    }
    let distance_before = distance(a, b);
    if let Some(found) = orbit::find(&a.to_exact(), &b.to_exact()) {
        return Ok(Alignment {
            network: a.clone(),
            moves: every_move(found),
            distance_before,
            distance_after: 0.0,
            exact: true,
            rounded: Rational::ZERO,
            relative: Some(Rational::ZERO),
        });
    }
    if options.scaling == Scaling::Auto
        && let Some(found) = find_near(a, b, &options.deadline)
        && let Some(alignment) = moved(a, b, found.relabelling.moves(), distance_before)
    {
        return Ok(Alignment { relative: Some(found.relative), ..alignment });
    }
    if let Some(points) = &options.activations {
        let mut rewriting = Rewriting::new(b);
        let matched = match_activations(a, b, points, &options.deadline).unwrap_or_default();
        for (layer, LayerRelabelling { order, factors }) in matched.into_iter().enumerate() {
            let factors = factors.into_iter().map(|c| options.scaling.allowed(c)).collect();
            rewriting.rewrite(layer, &LayerRelabelling { order, factors });
        }
        return Ok(rewriting.finish(a, b, options, distance_before));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let mut best = Rewriting::new(b);
    let mut least = distance_before;
    for start in (0..options.starts).take_while(|_| !options.deadline.is_past()) {
        let mut rewriting = Rewriting::new(b);
        match start {
            0 => rewriting.improve_all(a, options, false),
            1 => {}
            _ => rewriting.shuffle(&mut rng),
        }
        rewriting.descend(a, options);
        let found = distance(a, &rewriting.network);
        if found < least {
            (best, least) = (rewriting, found);
        }
    }
    Ok(best.finish(a, b, options, distance_before))
}

/// A permutation and a scaling of every layer, also where they change nothing: the record has one shape.
fn every_move(relabelling: Relabelling) -> MoveChain {
    let layers = relabelling.layers.into_iter().enumerate();
    let moves = layers.flat_map(|(layer, LayerRelabelling { order, factors })| {
        [Move::Permute { layer, order }, Move::Scale { layer, factors }]
    });
    MoveChain::from(moves.collect::<Vec<_>>())
}

/// `B` after the moves, in doubles.
fn moved(a: &Network, b: &Network, moves: MoveChain, distance_before: f64) -> Option<Alignment> {
    let mut made = b.to_exact();
    moves.apply(&mut made, &Domain::Space).ok()?;
    let (network, exact) = made.to_f64().ok()?;
    let rounded = if exact { Rational::ZERO } else { relative_difference(&made, &network.to_exact()) };
    let distance_after = distance(a, &network);
    Some(Alignment { network, moves, distance_before, distance_after, exact, rounded, relative: None })
}

fn same_shape(a: &Network, b: &Network) -> Result<(), AlignError> {
    if a.widths() != b.widths() {
        return Err(AlignError::Widths { a: a.widths(), b: b.widths() });
    }
    for (l, (x, y)) in a.layers().iter().zip(b.layers()).enumerate() {
        if x.activation() != y.activation() {
            return Err(AlignError::Activation { layer: l + 1, a: x.activation(), b: y.activation() });
        }
    }
    Ok(())
}

/// The Euclidean distance of the parameters of two networks of the same shape.
fn distance(a: &Network, b: &Network) -> f64 {
    let gaps = || {
        let layers = a.layers().iter().zip(b.layers());
        layers.flat_map(|(x, y)| {
            let weights = x.weight().entries().iter().zip(y.weight().entries());
            weights.chain(x.bias().iter().zip(y.bias())).map(|(x, y)| x - y)
        })
    };
    let sum = gaps().map(|gap| gap * gap).sum::<f64>();
    if sum.is_finite() {
        return sum.sqrt();
    }
    // The squares of large numbers are beyond the doubles.
    let largest = gaps().fold(0.0f64, |most, gap| most.max(gap.abs()));
    largest * gaps().map(|gap| (gap / largest) * (gap / largest)).sum::<f64>().sqrt()
}

/// A network of `B`'s orbit, with the relabelling that makes it of `B`, in doubles.
#[derive(Clone)]
struct Rewriting {
    network: Network,
    layers: Vec<LayerRelabelling<f64>>,
}

impl Rewriting {
    fn new(b: &Network) -> Self {
        let layers = b.hidden_layers().iter().map(|layer| LayerRelabelling::identity(layer.width(), 1.0));
        Rewriting { network: b.clone(), layers: layers.collect() }
    }

    fn shuffle(&mut self, rng: &mut ChaCha8Rng) {
        for layer in 0..self.layers.len() {
            let n = self.layers[layer].order.len();
            let mut shuffled = LayerRelabelling::identity(n, 1.0);
            for i in (1..n).rev() {
                shuffled.order.swap(i, rng.random_range(0..=i));
            }
            self.rewrite(layer, &shuffled);
        }
    }

    /// Improves the layers in turn until none changes.
    fn descend(&mut self, a: &Network, options: &AlignOptions) {
        let mut least = distance(a, &self.network);
        for _ in (0..options.rounds).take_while(|_| !options.deadline.is_past()) {
            let before = self.clone();
            self.improve_all(a, options, true);
            let now = distance(a, &self.network);
            if now >= least {
                *self = before;
                return;
            }
            least = now;
        }
    }

    /// Improves every layer once, as long as there is time.
    fn improve_all(&mut self, a: &Network, options: &AlignOptions, both: bool) {
        for layer in (0..self.layers.len()).take_while(|_| !options.deadline.is_past()) {
            self.improve(a, layer, options.scaling, both);
        }
    }

    /// The best permutation and scaling of one layer, by the incoming and (if `both`) the outgoing weights.
    fn improve(&mut self, a: &Network, layer: usize, scaling: Scaling, both: bool) {
        let in_a = incoming(&a.layers()[layer]);
        let in_b = incoming(&self.network.layers()[layer]);
        let out = |network: &Network| {
            if both {
                network.layers()[layer + 1].weight().transpose()
            } else {
                Matrix::from_fn(in_a.rows(), 0, |_, _| 0.0)
            }
        };
        let (out_a, out_b) = (out(a), out(&self.network));
        let n = in_a.rows();
        let squares = |matrix: &Matrix| matrix.iter_rows().map(|row| fast_dot(row, row)).collect::<Vec<_>>();
        let sizes = [&in_a, &in_b, &out_a, &out_b].map(squares);
        let products = |x: &Matrix, y: &Matrix| {
            Scalar::product(x, &y.transpose()).expect("the rows of both networks have the same lengths")
        };
        let (in_both, out_both) = rayon::join(|| products(&in_a, &in_b), || products(&out_a, &out_b));
        let pair = |i: usize, j: usize| Pair {
            in_a: sizes[0][i],
            in_b: sizes[1][j],
            in_both: in_both[(i, j)],
            out_a: sizes[2][i],
            out_b: sizes[3][j],
            out_both: out_both[(i, j)],
        };
        let mut table = vec![(0.0, 0.0); n * n];
        table.par_chunks_mut(n).enumerate().for_each(|(i, row)| {
            row.iter_mut().enumerate().for_each(|(j, entry)| *entry = pair(i, j).best(scaling));
        });
        let cost = Matrix::from_fn(n, n, |i, j| table[i * n + j].0);
        if cost.entries().iter().any(|c| !c.is_finite()) {
            return;
        }
        let order = assign(&cost);
        let factors = order.iter().enumerate().map(|(i, &j)| table[i * n + j].1).collect();
        self.rewrite(layer, &LayerRelabelling { order, factors });
    }

    /// Applies a permutation and a scaling to one layer.
    fn rewrite(&mut self, layer: usize, relabelling: &LayerRelabelling<f64>) {
        let LayerRelabelling { order, factors } = relabelling;
        let mut layers = self.network.layers().to_vec();
        let (rows, next) = (&layers[layer], &layers[layer + 1]);
        let weight = Matrix::from_fn(rows.width(), rows.input_width(), |i, j| {
            rows.weight()[(order[i], j)] * factors[i]
        });
        let bias = order.iter().zip(factors).map(|(&unit, c)| rows.bias()[unit] * c).collect();
        let columns = Matrix::from_fn(next.width(), next.input_width(), |i, j| {
            next.weight()[(i, order[j])] / factors[j]
        });
        let next = Layer::new(columns, next.bias().to_vec(), next.activation());
        layers[layer] = Layer::new(weight, bias, rows.activation());
        layers[layer + 1] = next;
        // Scaling may leave the doubles; then this layer stays as it is.
        let Ok(network) = Network::new(layers) else { return };
        self.network = network;
        let before = &self.layers[layer];
        self.layers[layer] = LayerRelabelling {
            order: order.iter().map(|&unit| before.order[unit]).collect(),
            factors: order.iter().zip(factors).map(|(&unit, c)| before.factors[unit] * c).collect(),
        };
    }

    /// Applies the moves to `B` exactly. If scaling by powers of two has left the doubles (by
    /// underflow), only the permutations are kept, and nothing at all if that is farther away.
    fn finish(self, a: &Network, b: &Network, options: &AlignOptions, distance_before: f64) -> Alignment {
        let candidates = [self.moves(true), self.moves(false), MoveChain::default()];
        let mut made = candidates.into_iter().filter_map(|moves| {
            let alignment = moved(a, b, moves, distance_before)?;
            let fits = alignment.exact || options.scaling == Scaling::Doubles;
            // What does the same on the data may have parameters that are farther away.
            let closer = options.activations.is_some() || alignment.distance_after <= distance_before;
            (fits && closer).then_some(alignment)
        });
        made.next().unwrap_or_else(|| Alignment {
            network: b.clone(),
            moves: MoveChain::default(),
            distance_before,
            distance_after: distance_before,
            exact: true,
            rounded: Rational::ZERO,
            relative: None,
        })
    }

    /// The moves from `B` to this network, with or without the scalings.
    fn moves(&self, scalings: bool) -> MoveChain {
        let exact = |layer: &LayerRelabelling<f64>| {
            let factor =
                |&c: &f64| if scalings { Rational::from_f64(c) } else { None }.unwrap_or(Rational::ONE);
            LayerRelabelling {
                order: layer.order.clone(),
                factors: layer.factors.iter().map(factor).collect(),
            }
        };
        Relabelling { layers: self.layers.iter().map(exact).collect() }.moves()
    }
}

/// The rows of a layer with the bias as last column.
fn incoming(layer: &Layer) -> Matrix {
    let cols = layer.input_width();
    Matrix::from_fn(
        layer.width(),
        cols + 1,
        |i, j| if j < cols { layer.weight()[(i, j)] } else { layer.bias()[i] },
    )
}

/// The inner products of a neuron of `A` and a neuron of `B`.
struct Pair {
    in_a: f64,
    in_b: f64,
    in_both: f64,
    out_a: f64,
    out_b: f64,
    out_both: f64,
}

impl Pair {
    fn cost(&self, c: f64) -> f64 {
        self.in_a - 2.0 * c * self.in_both + c * c * self.in_b + self.out_a - 2.0 * self.out_both / c
            + self.out_b / (c * c)
    }

    /// The least cost and its factor. The factor that balances the norms against those of `A`,
    /// `c^2 = (norm a_in / norm b_in) (norm b_out / norm a_out)`, is where the search for the best one
    /// begins.
    fn best(&self, scaling: Scaling) -> (f64, f64) {
        let with_outputs = self.out_a > 0.0 && self.out_b > 0.0;
        let ratio = if with_outputs {
            (self.in_a / self.in_b) * (self.out_b / self.out_a)
        } else {
            (self.in_a / self.in_b).powi(2)
        };
        let balanced = ratio.sqrt().sqrt();
        let usable = balanced.is_finite() && (1e-100..1e100).contains(&balanced);
        let candidates = match scaling {
            Scaling::Auto | Scaling::PowersOfTwo if usable => {
                let below = 2f64.powi(balanced.log2().floor() as i32);
                [1.0, below / 2.0, below, 2.0 * below, 4.0 * below]
            }
            Scaling::Doubles if usable => [1.0, balanced, self.refine(balanced), 1.0, 1.0],
            _ => [1.0; 5],
        };
        let priced = candidates.into_iter().map(|c| (self.cost(c), c));
        priced.min_by(|x, y| x.0.total_cmp(&y.0)).expect("there is a candidate")
    }

    /// A few steps of Newton's method for the stationary points of the cost in `s = log c`.
    fn refine(&self, mut c: f64) -> f64 {
        for _ in 0..8 {
            let (rising, falling) = (c * c * self.in_b, self.out_b / (c * c));
            let (first, second) = (c * self.in_both, self.out_both / c);
            let slope = 2.0 * (rising - first + second - falling);
            let curvature = 4.0 * (rising + falling) - 2.0 * (first + second);
            if curvature <= 0.0 {
                break;
            }
            c *= (-slope / curvature).clamp(-1.0, 1.0).exp();
        }
        if c.is_finite() && c > 0.0 { c } else { 1.0 }
    }
}
