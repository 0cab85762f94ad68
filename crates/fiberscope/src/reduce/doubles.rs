//! Reductions that can be written: networks of doubles.
//!
//! The exact reduction of a network of doubles has rational parameters. Often scales make doubles of them
//! ([`super::scales_to_doubles`]), and the written network computes the same function exactly. Where none
//! were found, there are two answers: a smaller reduction made of those steps only after which the parameters
//! are doubles (the steps that are left are listed), or the exact reduction rounded, with what rounding
//! changed.

use fiberscope_check::rounding_bound;
use fiberscope_core::{
    Certificate, Domain, DomainError, Evidence, ExactNetwork, Move, MoveChain, Network, NetworkError,
    Rational,
};
use thiserror::Error;

use super::{ReduceOptions, State, reduce, scales_to_doubles};
use crate::orbit::relative_difference;

/// Why a network was not reduced.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum ReduceError {
    #[error(transparent)]
    Domain(#[from] DomainError),
    #[error("the reduced network cannot be rounded: {0}")]
    Rounding(#[from] NetworkError),
}

/// A reduced network of doubles.
#[derive(Clone, Debug)]
pub struct DoubleReduction {
    /// The network.
    pub network: Network,
    /// The moves that lead from the given network to this one, or to the one that was rounded.
    pub moves: MoveChain,
    /// What rounding changed; `None` if the moves lead to the network exactly.
    pub rounding: Option<Rounded>,
    /// The widths of the exact reduction, where its parameters are no doubles with any scales that were
    /// found.
    pub rational_widths: Option<Vec<usize>>,
    /// Steps of the exact reduction that were left out, because they would have left the doubles.
    pub left: Vec<Left>,
}

/// What rounding the parameters of a reduced network changed.
#[derive(Clone, Debug)]
pub struct Rounded {
    /// The largest difference of a parameter and its double, relative to the larger of the two.
    pub relative: Rational,
    /// A bound for the change of the outputs; there is none on a domain that is not bounded.
    pub bound: Option<Rational>,
}

/// A step that would remove neurons of the written network, with parameters that are no doubles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The hidden layer, from 0.
    pub layer: usize,
    /// The neurons that the step is about, from 0.
    pub units: Vec<usize>,
    /// The step.
    pub step: LeftStep,
}

/// What a step would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftStep {
    /// Merge positive multiples.
    Merge,
    /// Rewrite linear neurons or cancelling pairs with fewer neurons.
    Settle,
    /// Multiply a linear layer into the next one.
    Fold,
}

impl LeftStep {
    /// The name of the step in files.
    pub fn name(self) -> &'static str {
        match self {
            LeftStep::Merge => "merge",
            LeftStep::Settle => "settle",
            LeftStep::Fold => "fold",
        }
    }
}

/// Reduces a network of doubles to a network of doubles. Where the exact reduction has other numbers, the
/// largest reduction that was found with doubles, or with [`ReduceOptions::round`] the exact one with its
/// parameters rounded.
///
/// ```
/// use fiberscope::reduce::{ReduceOptions, reduce_in_doubles};
/// use fiberscope::{Domain, Network};
///
/// // relu(3x) + relu(x): merged into the first neuron the weight is 1 + 1/3, and scales make doubles of it.
/// let network = Network::from_rows(&[(&[&[3.0], &[1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap();
///
/// let small = reduce_in_doubles(&network, &Domain::Space, &ReduceOptions::default()).unwrap();
/// assert_eq!(small.network.widths(), [1, 1, 1]);
/// assert!(small.rounding.is_none());
/// assert_eq!(small.network.evaluate(&[6.0]).unwrap(), network.evaluate(&[6.0]).unwrap());
/// ```
pub fn reduce_in_doubles(
    network: &Network,
    domain: &Domain,
    options: &ReduceOptions,
) -> Result<DoubleReduction, ReduceError> {
    let given = network.to_exact();
    let reduction = reduce(&given, domain, options)?;
    if let Some(scales) = scales_to_doubles(&reduction.network) {
        let mut scaled = reduction.network;
        scales.apply(&mut scaled, domain).expect("positive factors");
        return Ok(exact(&scaled, reduction.moves.compose(scales), None, Vec::new()));
    }
    let rational_widths = Some(reduction.network.widths());
    if options.round {
        let (network, _) = reduction.network.to_f64()?;
        let after = network.to_exact();
        let rounding = Some(Rounded {
            relative: relative_difference(&reduction.network, &after),
            bound: rounding_bound(&reduction.network, &after, domain).ok(),
        });
        let moves = reduction.moves;
        return Ok(DoubleReduction { network, moves, rounding, rational_widths, left: Vec::new() });
    }
    let mut state = State::new(&given, domain, options, true);
    state.run();
    let left = if options.deadline.is_past() { Vec::new() } else { state.left() };
    Ok(exact(&state.network, state.moves, rational_widths, left))
}

/// The reduction to a network whose parameters are doubles.
fn exact(
    network: &ExactNetwork,
    moves: MoveChain,
    rational_widths: Option<Vec<usize>>,
    left: Vec<Left>,
) -> DoubleReduction {
    let (network, _) = network.to_f64().expect("every parameter is a double");
    DoubleReduction { network, moves, rounding: None, rational_widths, left }
}

impl DoubleReduction {
    /// The certificate for the given network and this one, not yet checked: equality, or on a bounded box the
    /// bound of what rounding changed.
    pub fn certificate(&self, given: &Network, domain: &Domain) -> Option<Certificate> {
        let (a, b) = (self.moves.clone(), MoveChain::default());
        let evidence = match &self.rounding {
            None => Evidence::Moves { a, b },
            Some(rounded) => Evidence::Rounding { a, b, bound: rounded.bound.clone()? },
        };
        Some(Certificate::new(given, &self.network, domain.clone(), evidence))
    }
}

impl State<'_> {
    /// The steps that only rational numbers allow.
    fn left(&self) -> Vec<Left> {
        let mut left = Vec::new();
        for layer in (0..self.network.hidden_depth()).take_while(|_| !self.deadline.is_past()) {
            let width = self.network.layers()[layer].width();
            for (keep, drop) in self.multiples(layer) {
                left.push(Left { layer, units: vec![keep, drop], step: LeftStep::Merge });
            }
            if self.folding(layer).is_some() {
                left.push(Left { layer, units: (0..width).collect(), step: LeftStep::Fold });
            } else if let Some(moves) = self.settling(layer, false) {
                let units = moves.iter().flat_map(settled).collect();
                left.push(Left { layer, units, step: LeftStep::Settle });
            }
        }
        left
    }
}

/// The neurons that the first of the moves of a settled layer names.
fn settled(each: &Move) -> Vec<usize> {
    let mut units = match each {
        Move::Refactor { linear, .. } => linear.remove.clone(),
        Move::Reorient { units, linear, .. } => [units.as_slice(), &linear.remove].concat(),
        _ => Vec::new(),
    };
    units.sort_unstable();
    units
}
