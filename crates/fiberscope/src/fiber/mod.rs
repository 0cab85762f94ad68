//! Fibers: every parameter with the same function.
//!
//! `fiber(theta)` is the set of parameters of the same architecture that realise the same function on the whole input space. It is known completely for generic
//! parameters of one hidden layer ([`LayerFiber`]) and of three layers with a bottleneck ([`BottleneckFiber`]) [threelayer2026, Sections 4 to 6]; for other networks [`symmetries`]
//! lists the parts of it that can be checked, with a lower bound for its dimension.
//!
//! - [`describe`]: which of these cases a network is, and its fiber.
//! - [`LayerFiber::components`]: the components, one per orientation, with emptiness and dimension, lazily.
//! - [`FiberSampler`]: random points. [`FiberPath`]: paths. [`Fiber::contains`]: membership, with the equation that fails.
//! - [`GeneralFiber`]: the fiber of one hidden layer without any assumption, class by class.
//! - [`Fiber::identifiability`] and [`volume()`]: is the fiber no more than permutation and scaling, and how often?
//! - [`construct_hiding`], [`construct_nonlocal`]: networks that hide a hyperplane, networks whose fiber is not local. [`conserve`]: what gradient flow keeps.

mod bottleneck;
mod component;
#[cfg(feature = "dense")]
pub mod conserve;
mod construct;
mod exactly;
mod factor;
mod general;
mod hidden;
mod identifiable;
mod layer;
#[cfg(feature = "dense")]
mod local;
mod membership;
mod path;
mod point;
mod pointed;
mod sample;
mod segment;
mod span;
mod symmetry;
mod volume;

pub use bottleneck::{BottleneckFiber, HiddenHyperplane, Rest};
pub use component::{Existence, FiberComponent, Orientation, factor_dimension};
pub use construct::{Construction, ConstructionError, construct_hiding, construct_nonlocal};
pub use factor::Factors;
pub use general::{Class, GeneralFiber, TooMuchWork};
pub use identifiable::{SignVerdict, by_signs};
pub use layer::{Components, Ground, LayerFiber, OrientedHyperplane};
#[cfg(feature = "dense")]
pub use local::{LocalDimension, local_dimension};
pub use membership::{Membership, Violation};
pub use path::{FiberPath, PathError};
pub use point::{FiberPoint, FiberSampler};
pub use pointed::{Pointedness, pointedness};
pub use sample::{LayerPoint, Sampler};
pub use symmetry::{KnownSymmetries, Symmetry, symmetries};
pub use volume::{MonteCarlo, Volume, VolumeError, monte_carlo, volume};

use fiberscope_core::{Condition, ExactNetwork};

/// The generic fiber of a network that the theory covers.
#[derive(Clone, Debug, PartialEq)]
pub enum Fiber {
    /// One hidden layer.
    OneHiddenLayer(LayerFiber),
    /// Three layers with a bottleneck.
    Bottleneck(BottleneckFiber),
}

/// The fiber of a network; `ground` is where a network with one hidden layer is considered (deeper ones on all of `R^n`). If the theory does not cover the network: the conditions that were
/// checked, of which at least one fails.
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
    /// The dimension at the given parameter, modulo permutation and scaling.
    pub fn dimension(&self) -> usize {
        match self {
            Fiber::OneHiddenLayer(fiber) => fiber.dimension(),
            Fiber::Bottleneck(fiber) => fiber.dimension(),
        }
    }

    /// The conditions that were checked, all of which hold.
    pub fn conditions(&self) -> &[Condition] {
        match self {
            Fiber::OneHiddenLayer(fiber) => fiber.conditions(),
            Fiber::Bottleneck(fiber) => fiber.conditions(),
        }
    }
}
