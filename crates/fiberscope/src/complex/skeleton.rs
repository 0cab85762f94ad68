//! The vertices and edges of the complex of a network on a box, as data: [`super::subdivide`] makes them.

use super::ComplexError;

/// An edge; hyperplanes are numbered: neurons first, then the lower and the upper side of every input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// The lower end first.
    pub ends: [u32; 2],
    /// For each end, the hyperplane through it that the edge leaves, times two, plus one if the edge is on
    /// its positive side.
    pub left: [u32; 2],
}

/// The vertices and edges of a simple complex.
#[derive(Debug, Default)]
pub(crate) struct Skeleton {
    pub dimension: usize,
    /// Coordinates, vertex after vertex.
    pub points: Vec<f64>,
    /// Bounds on the distance of the points from the exact vertices.
    pub distance: Vec<f64>,
    /// The `dimension` hyperplanes through every vertex: sides first, then neurons, in their order.
    pub zeros: Vec<u32>,
    /// For each of them the number of edges that leave it, and no other, upwards.
    pub up: Vec<u8>,
    /// The positive neurons of every vertex, a bit each.
    pub signs: Vec<u64>,
    pub words: usize,
    pub edges: Vec<Edge>,
}

impl Skeleton {
    pub fn len(&self) -> usize {
        self.zeros.len() / self.dimension
    }

    pub fn point(&self, v: usize) -> &[f64] {
        &self.points[v * self.dimension..(v + 1) * self.dimension]
    }

    pub fn zeros_of(&self, v: usize) -> &[u32] {
        &self.zeros[v * self.dimension..(v + 1) * self.dimension]
    }

    pub fn signs_of(&self, v: usize) -> &[u64] {
        &self.signs[v * self.words..(v + 1) * self.words]
    }
}

/// Why there is no skeleton.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stop {
    /// The complex is not simple.
    Irregular,
    /// More vertices than allowed: a guess how many there are, and the coordinates of those found.
    TooMany(f64, Vec<f64>),
    /// No box can stand for the space.
    TooFar(ComplexError),
}

/// A word of signs.
#[derive(Clone, Copy, Default)]
pub(crate) struct Signs {
    pub positive: u64,
    pub zero: u64,
}

impl Signs {
    /// The neurons with opposite signs at two vertices.
    #[inline]
    pub fn apart(self, other: Signs) -> u64 {
        (self.positive ^ other.positive) & !(self.zero | other.zero)
    }
}
