//! Directions in which no output changes to first order, in no region of a list, modulo the prime `2^61 - 1`.
//!
//! In a region the differentials of an output at the unit vectors of homogeneous coordinates are its equations.
//! Most regions say nothing new: a random vector of the kernel tells that at the price of a scalar product.

use fiberscope_algebra::modular::Residue;
use fiberscope_algebra::{Echelon, Number};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::layout::{Direction, Layout};
use super::view::View;
use crate::limit::Deadline;

/// One equation: an output in a region, at a unit vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The region.
    pub region: usize,
    /// The output.
    pub output: usize,
    /// The unit vector of homogeneous coordinates.
    pub at: usize,
}

/// Independent equations.
pub struct Kernel {
    echelon: Echelon<Residue>,
    /// The equations, each with its residues.
    pub rows: Vec<(Place, Vec<Residue>)>,
    probe: Vec<Residue>,
    rng: ChaCha8Rng,
    columns: usize,
}

impl Kernel {
    /// No equations yet.
    pub fn new(layout: &Layout) -> Self {
        let (columns, rng) = (layout.count(), ChaCha8Rng::seed_from_u64(0));
        let mut kernel =
            Kernel { echelon: Echelon::default(), rows: Vec::new(), probe: Vec::new(), rng, columns };
        kernel.refresh();
        kernel
    }

    fn refresh(&mut self) {
        self.probe = (0..self.columns).map(|_| Residue::new(self.rng.random())).collect();
        self.echelon.solve_kernel(&mut self.probe);
    }

    /// The rank of the equations.
    pub fn rank(&self) -> usize {
        self.rows.len()
    }

    /// Adds the equations of regions from number `from` on; `None` when it is late.
    pub fn add(&mut self, view: &View, from: usize, deadline: &Deadline) -> Option<()> {
        let last = view.layout.last();
        for region in from..view.patterns.len() {
            for output in 0..view.layout.widths[last + 1] {
                if deadline.is_past() {
                    return None;
                }
                let rows = view.residues.differentials(&view.patterns[region], last, output);
                let mut gained = false;
                for (at, row) in rows.into_iter().enumerate() {
                    let row: Vec<Residue> = row.into_iter().map(Residue::new).collect();
                    if !is_zero(&row, &self.probe) && self.echelon.insert(row.clone()) {
                        self.rows.push((Place { region, output, at }, row));
                        gained = true;
                    }
                }
                if gained {
                    self.refresh();
                }
            }
        }
        Some(())
    }

    /// Whether no equation changes along a direction; false if it has no residues.
    pub fn contains(&self, layout: &Layout, direction: &Direction) -> bool {
        let Some(vector) = layout.residues(direction) else { return false };
        self.rows.iter().all(|(_, row)| is_zero(row, &vector))
    }
}

/// Whether the scalar product is zero.
fn is_zero(row: &[Residue], vector: &[Residue]) -> bool {
    let mut sum = Residue::ZERO;
    row.iter().zip(vector).for_each(|(a, x)| sum.add_product(a, x));
    sum.is_zero()
}
