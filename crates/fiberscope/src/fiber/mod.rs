//! Fibers: every parameter with the same function.
//!
//! `fiber(theta)` is the set of parameters of the same architecture that realise the same function on the
//! whole input space. Its generic part is known completely for one hidden layer ([`LayerFiber`]) and for
//! three layers with a bottleneck ([`BottleneckFiber`]) [threelayer2026, Sections 4 to 6], together with
//! parameters that are not generic: both are described by a list of *pieces* that is made from the function,
//! so that equal networks of equal widths have the same list. For other networks [`symmetries`] lists the
//! parts of the fiber that can be checked, with a lower bound for its dimension.
//!
//! - [`describe`]: which of these cases a network is, and its fiber.
//! - [`Fiber::components`]: the pieces `(S, l')`, one per orientation of the visible neurons and number of
//!   linear ones, with emptiness and dimension and whether they are generic, lazily.
//! - [`FiberSampler`]: random points. [`FiberPath`]: paths. [`Fiber::contains`]: membership, with the
//!   equation that fails.
//! - [`GeneralFiber`]: the fiber of one hidden layer without any assumption, class by class.
//! - [`DeeperFacts`]: what is rigid in networks with more than three layers.
//! - [`Fiber::identifiability`] and [`volume()`]: is the fiber no more than permutation and scaling, and how
//!   often?
//! - [`construct_hiding`], [`construct_nonlocal`]: networks that hide a hyperplane, networks whose fiber is
//!   not local. [`conserve`]: what gradient flow keeps.

mod bottleneck;
mod component;
#[cfg(feature = "dense")]
pub mod conserve;
mod construct;
mod coordinates;
mod deeper;
mod exactly;
mod factor;
mod facts;
mod general;
mod genericity;
mod hidden;
mod hyperplane;
mod identifiable;
mod layer;
#[cfg(feature = "dense")]
mod local;
mod masks;
mod membership;
mod path;
mod pieces;
mod point;
mod sample;
mod segment;
mod singular;
mod span;
mod symmetry;
mod volume;

pub use fiberscope_algebra::program::{Pointedness, pointedness};

pub use bottleneck::{BottleneckFiber, HiddenHyperplane, Rest};
pub use component::{Existence, FiberComponent, Orientation, Piece};
pub use construct::{Construction, ConstructionError, LocalCondition, construct_hiding, construct_nonlocal};
pub use deeper::DeeperFacts;
pub use factor::Factors;
pub use facts::{Condition, FiberFacts, Identifiability};
pub use general::{Class, GeneralFiber, TooMuchWork};
pub use hyperplane::OrientedHyperplane;
pub use identifiable::{FiberCount, SignVerdict, by_signs};
pub use layer::{Ground, LayerFiber};
#[cfg(feature = "dense")]
pub use local::{LocalDimension, local_dimension};
pub use membership::{Membership, Violation};
pub use path::{FiberPath, PathError};
pub use pieces::Components;
pub use point::{FiberPoint, FiberSampler, SamplerError};
pub use sample::{LayerPoint, Sampler};
pub use symmetry::{KnownSymmetries, Symmetry, symmetries, symmetries_beside};
pub use volume::{MonteCarlo, Volume, VolumeError, check_widths, monte_carlo, volume};
pub(crate) use volume::{SIGN_BLOCK, draw_signs};

use fiberscope_core::ExactNetwork;

/// The fiber of a network that the theory covers.
#[derive(Clone, Debug, PartialEq)]
pub enum Fiber {
    /// One hidden layer.
    OneHiddenLayer(LayerFiber),
    /// Three layers with a bottleneck.
    Bottleneck(BottleneckFiber),
}

/// The fiber of a network; `ground` is where a network with one hidden layer is considered (deeper ones on
/// all of `R^n`). If the theory does not cover the network: the conditions that were checked, of which at
/// least one fails.
///
/// ```
/// use fiberscope::Network;
/// use fiberscope::fiber::{FiberSampler, Ground, Membership, describe};
/// use rand::SeedableRng;
///
/// let network = Network::from_rows(&[(&[&[1.0], &[-2.0]], &[0.5, 0.25]), (&[&[1.0, 3.0]], &[0.0])]).unwrap();
/// let fiber = describe(&network.to_exact(), Ground::Space).unwrap();
/// // A random parameter with the same function, and the proof that it has it.
/// let sampler = FiberSampler::new(&fiber, &fiber.own().unwrap()).unwrap();
/// let point = sampler.sample(&mut rand_chacha::ChaCha8Rng::seed_from_u64(0)).unwrap();
/// assert!(!point.exact || matches!(fiber.contains(&point.network.to_exact()), Membership::Member(_)));
/// ```
pub fn describe(network: &ExactNetwork, ground: Ground) -> Result<Fiber, Vec<Condition>> {
    match network.layers() {
        [hidden, output] => LayerFiber::new(hidden, output, ground, 0).map(Fiber::OneHiddenLayer),
        _ if ground == Ground::Orthant => Err(vec![bottleneck::failing(
            "on the orthant: the network has one hidden layer",
            hidden_layers(network),
        )]),
        _ => BottleneckFiber::new(network).map(Fiber::Bottleneck),
    }
}

fn hidden_layers(network: &ExactNetwork) -> String {
    format!("it has {} hidden layers", network.hidden_depth())
}

impl Fiber {
    /// The conditions that were checked, all of which hold.
    pub fn conditions(&self) -> &[Condition] {
        match self {
            Fiber::OneHiddenLayer(fiber) => fiber.conditions(),
            Fiber::Bottleneck(fiber) => fiber.conditions(),
        }
    }
}
