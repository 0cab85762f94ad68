//! How many dimensions of the kernel each mechanism explains.

use fiberscope_algebra::Echelon;
use fiberscope_algebra::modular::Residue;
use fiberscope_core::Network;

use super::kernel::Kernel;
use super::layout::Direction;
use super::mechanism::{Candidate, Mechanism, candidates, scalings};
use super::remainder::{Leftover, remainder};
use super::view::View;
use crate::limit::Deadline;

/// A mechanism at work: directions that it adds to those before it.
pub struct Explained {
    /// What it is.
    pub candidate: Candidate,
    /// How many dimensions it adds.
    pub dimensions: usize,
    /// How to go along it, if it is not recognised.
    pub leftover: Option<Leftover>,
}

/// The kernel of a list of regions, explained.
pub struct Explanation {
    /// The number of independent scalings.
    pub scalings: usize,
    /// The dimension of the kernel beyond them.
    pub gap: usize,
    /// What explains it; the dimensions add up to the gap, unless numbers overflow.
    pub found: Vec<Explained>,
}

/// Explains the kernel; `None` when it is late.
pub fn explain(network: &Network, view: &View, kernel: &Kernel, deadline: &Deadline) -> Option<Explanation> {
    let mut known: Echelon<Residue> = Echelon::default();
    let insert = |known: &mut Echelon<Residue>, direction: &Direction| {
        view.layout.residues(direction).is_some_and(|row| known.insert(row))
    };
    for direction in scalings(network, view) {
        insert(&mut known, &direction);
    }
    let scalings = known.rank();
    let gap = view.layout.count() - kernel.rank() - scalings;
    let mut found = Vec::new();
    for mut candidate in candidates(network, view, deadline)? {
        if known.rank() == scalings + gap {
            break;
        }
        if deadline.is_past() {
            return None;
        }
        candidate.directions.retain(|direction| kernel.contains(&view.layout, direction));
        let before = known.rank();
        candidate.directions.iter().for_each(|direction| _ = insert(&mut known, direction));
        let dimensions = known.rank() - before;
        if dimensions > 0 {
            found.push(Explained { candidate, dimensions, leftover: None });
        }
    }
    let mechanism = Mechanism::Unrecognised;
    found.extend(remainder(network, view, kernel, &mut known, deadline)?.into_iter().map(|leftover| {
        let (neurons, directions) = (leftover.neurons.clone(), vec![leftover.direction.clone()]);
        let candidate = Candidate { mechanism, neurons, directions };
        Explained { candidate, dimensions: 1, leftover: Some(leftover) }
    }));
    Some(Explanation { scalings, gap, found })
}
