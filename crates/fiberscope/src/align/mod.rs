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
//! In a convolutional network the channels of an image are moved as one ([`AlignOptions::images`]), and a value that a
//! residual block carries past its layers moves with them.
//!
//! The method is weight matching as in [ainsworth2023git, Section 3.2], with scalings. On points of the caller, neurons
//! are matched by what they do there instead ([`AlignOptions::activations`]).

mod activations;
pub(crate) mod assignment;
mod barrier;
mod distance;
mod links;
mod moved;
mod pair;
mod products;
mod rewriting;
mod units;

use activations::match_activations;
pub use assignment::assign;
pub use barrier::{Barrier, interpolate, interpolation_barrier};
use distance::distance;
use rewriting::{MOST_UNITS, Rewriting, moved};
use units::Class;
pub use units::Image;

use fiberscope_core::{Activation, InputError, Matrix, Move, MoveChain, Network, Rational};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use crate::limit::Deadline;
use crate::orbit::{self, LayerRelabelling, Relabelling, find_near};

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
    /// For every hidden layer the images that it holds one behind the other, channels first; their channels are moved as
    /// one. By default, and in layers that they do not fill, every neuron is moved on its own.
    pub images: Vec<Vec<Image>>,
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
            images: Vec::new(),
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

    /// The images in the hidden layers.
    pub fn images(self, images: Vec<Vec<Image>>) -> Self {
        AlignOptions { images, ..self }
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
    /// Layers that were left in their order, because they have too many neurons that are not channels of an image.
    pub unmatched: Vec<usize>,
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
    let distance_before = distance(a.layers(), b.layers());
    let related = orbit::may_be_related(a, b);
    if related && let Some(found) = orbit::find(&a.to_exact(), &b.to_exact()) {
        return Ok(Alignment {
            network: a.clone(),
            moves: every_move(found),
            distance_before,
            distance_after: 0.0,
            exact: true,
            rounded: Rational::ZERO,
            relative: Some(Rational::ZERO),
            unmatched: Vec::new(),
        });
    }
    if related
        && options.scaling == Scaling::Auto
        && let Some(found) = find_near(a, b, &options.deadline)
        && let Some(alignment) = moved(a, b, found.relabelling.moves(), distance_before)
    {
        return Ok(Alignment { relative: Some(found.relative), ..alignment });
    }
    let classes = Class::all(a, b, &options.images);
    let large = classes.iter().filter(|class| class.channels() > MOST_UNITS);
    let unmatched: Vec<usize> = large.map(|class| class.members[0].layer).collect();
    if let Some(points) = &options.activations {
        let mut rewriting = Rewriting::new(b, &classes);
        let matched = match_activations(a, b, &classes, points, &options.deadline).unwrap_or_default();
        for (class, LayerRelabelling { order, factors }) in matched.into_iter().enumerate() {
            let factors = factors.into_iter().map(|c| options.scaling.allowed(c)).collect();
            rewriting.rewrite(a.layers(), class, &LayerRelabelling { order, factors });
        }
        return Ok(Alignment { unmatched, ..rewriting.finish(a, b, options, distance_before) });
    }
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let mut best = None;
    let mut least = distance_before;
    for start in (0..options.starts).take_while(|_| !options.deadline.is_past()) {
        let mut rewriting = Rewriting::new(b, &classes);
        match start {
            0 => _ = rewriting.improve_all(a.layers(), options, false),
            1 => {}
            _ => rewriting.shuffle(a.layers(), &mut rng),
        }
        rewriting.descend(a.layers(), options);
        let found = distance(a.layers(), &rewriting.layers);
        if found < least {
            (best, least) = (Some(rewriting), found);
        }
    }
    let best = best.unwrap_or_else(|| Rewriting::new(b, &classes));
    Ok(Alignment { unmatched, ..best.finish(a, b, options, distance_before) })
}

/// A permutation and a scaling of every layer, also where they change nothing: the record has one shape.
fn every_move(relabelling: Relabelling) -> MoveChain {
    let layers = relabelling.layers.into_iter().enumerate();
    let moves = layers.flat_map(|(layer, LayerRelabelling { order, factors })| {
        [Move::Permute { layer, order }, Move::Scale { layer, factors }]
    });
    MoveChain::from(moves.collect::<Vec<_>>())
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
