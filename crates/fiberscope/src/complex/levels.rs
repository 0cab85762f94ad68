//! The cells of all dimensions, those of low dimension only when somebody looks at them.
//!
//! Weights and balance need the cells of codimension two and less. In many dimensions these are a small part
//! of all cells, and the vertices and edges from which all are listed take little memory.

use std::sync::OnceLock;

use super::cells::Cells;
use super::frame::Frame;
use super::listing::list_cells;
use super::skeleton::Skeleton;
use crate::limit::Deadline;

/// The cells of a complex by dimension.
pub(crate) struct Levels {
    /// The cells from dimension `first` on.
    listed: Vec<Cells>,
    first: usize,
    /// What the cells below are listed from.
    skeleton: Skeleton,
    /// The cells up to dimension `first`, those included: their facets are here.
    below: OnceLock<Vec<Cells>>,
}

impl Levels {
    /// All cells.
    pub fn all(listed: Vec<Cells>) -> Self {
        Levels { listed, first: 0, skeleton: Skeleton::default(), below: OnceLock::new() }
    }

    /// The cells of a simple complex, from a dimension on at once. `None` if the deadline comes first.
    pub fn of_skeleton(frame: &Frame, skeleton: Skeleton, first: usize, deadline: &Deadline) -> Option<Self> {
        let listed = list_cells(frame, &skeleton, first..=skeleton.dimension, deadline)?;
        let kept = if first == 0 { Skeleton::default() } else { skeleton };
        Some(Levels { listed, first, skeleton: kept, below: OnceLock::new() })
    }

    /// The cells of a dimension; their facets are told by [`Levels::facets`].
    pub fn cells(&self, frame: &Frame, dimension: usize) -> &Cells {
        match dimension.checked_sub(self.first) {
            Some(place) => &self.listed[place],
            None => &self.below(frame)[dimension],
        }
    }

    /// The facets of a cell.
    pub fn facets(&self, frame: &Frame, dimension: usize, cell: usize) -> &[u32] {
        match dimension.checked_sub(self.first) {
            Some(place) if place > 0 || dimension == 0 => self.listed[place].facets(cell),
            _ => self.below(frame)[dimension].facets(cell),
        }
    }

    fn below(&self, frame: &Frame) -> &[Cells] {
        self.below.get_or_init(|| {
            let listed = list_cells(frame, &self.skeleton, 0..=self.first, &Deadline::NEVER);
            listed.expect("there is no deadline")
        })
    }
}
