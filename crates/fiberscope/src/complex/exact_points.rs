//! Vertices of a complex as rational numbers.
//!
//! A cell is open in the set where the neurons that are zero on it vanish, each taken with the pattern of the
//! cell: there the neurons that are zero contribute nothing, whichever side they are taken from. For a vertex
//! that set is a point, and so the one solution of these linear equations.

use fiberscope_algebra::elimination::solve;
use fiberscope_algebra::rational::{independent_of, is_zero, kernel};
use fiberscope_core::{Domain, Network, Rational, Sign};

use super::PolyhedralComplex;

impl PolyhedralComplex {
    /// The coordinates of a vertex, exactly. Those of an artificial one are where a cell meets the large box
    /// that stands for the space.
    ///
    /// # Panics
    ///
    /// If there are not that many vertices.
    pub fn exact_point(&self, vertex: usize) -> Vec<Rational> {
        let (frame, cells) = (&self.frame, self.level(0));
        let (signs, sides) = (cells.signs(vertex), cells.sides(vertex));
        let neurons = frame.flat.neurons;
        let zeros = (0..neurons).filter(|&h| signs[h] == Sign::Zero);
        let on = (0..2 * frame.dimension()).filter(|side| sides >> side & 1 == 1).map(|side| neurons + side);
        let mut equations = Vec::new();
        let mut rows = Vec::new();
        for hyperplane in on.chain(zeros) {
            let active = |neuron: usize| signs[neuron] == Sign::Positive;
            let (row, constant) = frame.arbiter.hyperplane(&frame.flat, hyperplane, active);
            // A neuron that is zero on the region around the vertex says nothing.
            if !is_zero(&row) {
                equations.push([&row[..], &[-constant]].concat());
                rows.push(row);
            }
        }
        let chosen = independent_of(&[], &rows);
        solve(chosen.into_iter().map(|k| equations[k].clone()).collect()).expect("a vertex is a point")
    }
}

/// A basis of the directions in which nothing changes: the kernel of the first layer for the whole input
/// space, nothing for a box. `None` if finding it is too much work.
pub fn lineality(network: &Network, domain: &Domain) -> Option<Vec<Vec<Rational>>> {
    match domain {
        Domain::Box(_) => Some(Vec::new()),
        Domain::Space => kernel(network.to_exact().layers()[0].weight()),
    }
}
