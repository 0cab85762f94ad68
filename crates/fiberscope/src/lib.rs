//! Fiberscope answers, with proof, questions about the *parameters* of ReLU and linear networks.
//!
//! Different parameters may give the same function; all that do are its *fiber*. Some are made from each
//! other by permuting and scaling neurons, others are not, and from the numbers alone one hardly sees it.
//!
//! # A tour
//!
//! A [`Network`] is made of rows of weights and biases; `fiberscope-io` reads one from a file.
//!
//! ```
//! use fiberscope::{Deadline, Domain, Network};
//!
//! // |x| = relu(x) + relu(-x)
//! let network = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])])?;
//!
//! // What is it? Roles of its neurons, what is hidden, whether its parameters can be told from its function.
//! let anatomy = fiberscope::anatomy::examine(&network, &Domain::Space, &Deadline::NEVER);
//! assert_eq!(anatomy.widths, [1, 2, 1]);
//!
//! // Another parameter with the same function, and the certificate that says so.
//! let twin = fiberscope::orbit::relabel(&network, 0);
//!
//! // A certificate is believed because a small checker follows it in exact arithmetic, not because of who made it.
//! use fiberscope::check::{Outcome, check};
//! assert!(matches!(check(&twin.certificate, &network, &twin.network), Outcome::Proved(_)));
//!
//! // Do two networks compute the same function? If not, at which point do they differ?
//! use fiberscope::equivalence::{EquivalenceOptions, Verdict, decide};
//! let line = Network::from_rows(&[(&[&[1.0]], &[0.0])])?;
//! let decision = decide(&network, &line, &Domain::Space, &EquivalenceOptions::new())?;
//! assert!(matches!(decision.verdict, Verdict::Different { .. }));
//! let decision = decide(&network, &line, &Domain::orthant(1), &EquivalenceOptions::new())?;
//! assert!(matches!(decision.verdict, Verdict::Equivalent { .. }));
//!
//! // Fewer neurons, same function: on the orthant relu(-x) is never active.
//! use fiberscope::reduce::{ReduceOptions, reduce};
//! let small = reduce(&network.to_exact(), &Domain::orthant(1), &ReduceOptions::new())?;
//! assert!(small.network.parameter_count() < network.parameter_count());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! The nouns stand at the root: [`Network`] and [`ExactNetwork`] (of doubles and of rational numbers),
//! [`Layer`],
//! [`Matrix`], [`Domain`], [`Move`], [`Certificate`] with its [`Evidence`] and its [`Claim`]. They are those of
//! [`fiberscope_core`], here as [`core`], which has the rarer ones too. One module per question:
//!
//! - [`anatomy`]: what is this network? Roles of neurons, hidden hyperplanes, what makes it non-identifiable.
//! - [`equivalence`]: do two networks compute the same function?
//! - [`difference`]: how far apart are two networks at most on a box?
//! - [`reduce`]: fewer neurons, same function.
//! - [`canonical`]: a canonical representative and a fingerprint of a network's function.
//! - [`orbit`]: permutations and positive scalings of neurons; whether they relate two networks; random ones.
//! - [`align`]: the parameters of one network's orbit nearest to another's.
//! - [`fiber`]: which parameters give a network's function? Components, dimensions, points and paths.
//! - [`complex`]: which linear regions does a network have, and where does its function bend?
//! - [`dimension`]: how many independent parameter perturbations change the outputs on a batch?
//! - [`rigidity`]: are the parameters near the given ones with the same function its scalings and no others?
//! - [`symmetries`]: what else than scalings keeps the function near the parameters, and why?
//! - [`survey`]: what is usual among random networks, and how often?
//! - [`linear`]: which parameters give a linear network the same product? Strata of the fiber, moves and
//!   paths.
//! - [`train`]: training of dense networks, with the functional dimension tracked.
//! - [`extract`]: which parameters does a black box have? From queries alone.
//! - [`tasks`]: long questions cut into tasks for many workers, and their results put together.
//!
//! [`limit`] says when long work stops, [`clock`] what time it is, also where the standard library has no clock.
//! The checker is [`fiberscope_check`], here as [`check`]; the linear algebra that questions share is
//! [`fiberscope_algebra`], here as [`algebra`].
//!
//! # Limits, options, progress
//!
//! One rule holds everywhere. Work that may take long is given a [`Deadline`]: a time, a switch, a limit of
//! memory, or [`Deadline::NEVER`]. A function with choices takes it in its options, one without as its last
//! argument; there is one function per question and no second one with a limit. When the deadline comes, the
//! answer is what is known by then and says so, or an error that names the limit. Options are built up from a
//! default that is a sensible question, `ReduceOptions::new().round(true)`; who wants to hear how far the
//! work is adds a [`limit::Progress`]. The crates below know no clock: there a callback, asked between two
//! steps, says whether to stop.
//!
//! Floating-point arithmetic proposes, exact arithmetic disposes: what is called exact or proved rests on
//! rational numbers, never on a tolerance that nobody asked for.

pub use fiberscope_algebra as algebra;
pub use fiberscope_check as check;
pub use fiberscope_core as core;

pub use fiberscope_core::{
    Activation, Certificate, Claim, Digest, Domain, Evidence, ExactNetwork, Interval, LARGEST_DENSE, Layer,
    Matrix, Move, MoveChain, Network, Neuron, Rational, Role, SparseMatrix, TooLargeDense, Weights,
};
pub use limit::Deadline;
pub use threads::threads;

pub mod align;
pub mod anatomy;
pub mod canonical;
pub mod clock;
pub mod complex;
pub mod difference;
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
pub mod rigidity;
mod rounding;
#[cfg(feature = "dense")]
pub mod survey;
#[cfg(feature = "dense")]
pub mod symmetries;
pub mod tasks;
mod threads;
#[cfg(feature = "dense")]
pub mod train;
