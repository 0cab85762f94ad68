//! Fiberscope answers, with proof, questions about the *parameters* of ReLU and linear networks.
//!
//! One module per question:
//!
//! - [`align`]: the parameters of one network's orbit nearest to another's.
//! - [`anatomy`]: what is this network? Roles of neurons, hidden hyperplanes, what makes it
//!   non-identifiable.
//! - [`canonical`]: a canonical representative and a fingerprint of a network's function.
//! - [`clock`]: the clock of time limits, also where the standard library has none.
//! - [`complex`]: which linear regions does a network have, and where does its function bend?
//! - [`dimension`]: how many independent parameter perturbations change the outputs on a batch?
//! - [`reduce`]: fewer neurons, same function.
//! - [`equivalence`]: do two networks compute the same function?
//! - [`extract`]: which parameters does a black box have? From queries alone.
//! - [`fiber`]: which parameters give a network's function? Components, dimensions, points and paths.
//! - [`limit`]: when long work stops.
//! - [`linear`]: which parameters give a linear network the same product? Strata of the fiber, moves and
//!   paths.
//! - [`train`]: training of dense networks, with the functional dimension tracked.
//! - [`orbit`]: permutations and positive scalings of neurons; whether they relate two networks; random ones.
//!
//! The nouns (networks, moves, certificates) are those of [`fiberscope_core`], re-exported here; the
//! checker is [`fiberscope_check`], the linear algebra that questions share [`fiberscope_algebra`].
//!
//! ```
//! use fiberscope::{Activation, Domain, Layer, Matrix, Network};
//!
//! let hidden = Layer::new(Matrix::from_rows(&[[1.0], [-1.0]]).unwrap(), vec![0.0, 0.0], Activation::Relu);
//! let output = Layer::new(Matrix::from_rows(&[[1.0, 1.0]]).unwrap(), vec![0.0], Activation::Identity);
//! let absolute_value = Network::new(vec![hidden, output]).unwrap();
//!
//! // Another parameter with the same function, and the certificate that says so.
//! let twin = fiberscope::orbit::relabel(&absolute_value, 0);
//! let outcome = fiberscope::check::check(&twin.certificate, &absolute_value, &twin.network);
//! assert!(matches!(outcome, fiberscope::check::Outcome::Proved(_)));
//!
//! let anatomy = fiberscope::anatomy::examine(&absolute_value, &Domain::Space);
//! assert_eq!(anatomy.widths, [1, 2, 1]);
//! ```

pub use fiberscope_algebra as algebra;
pub use fiberscope_check as check;
pub use fiberscope_core as core;

pub use fiberscope_core::{
    Activation, Certificate, Claim, Digest, Domain, Evidence, ExactNetwork, Interval, Layer, Matrix, Move,
    MoveChain, Network, Neuron, Rational, Role,
};
pub use limit::Deadline;

pub mod align;
pub mod anatomy;
pub mod canonical;
pub mod clock;
pub mod complex;
#[cfg(feature = "dense")]
pub mod dimension;
pub mod equivalence;
#[cfg(feature = "dense")]
pub mod extract;
pub mod fiber;
pub mod limit;
#[cfg(feature = "dense")]
pub mod linear;
pub mod orbit;
pub mod reduce;
#[cfg(feature = "dense")]
pub mod train;
