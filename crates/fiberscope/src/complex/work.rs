//! A subdivision at work: the skeleton so far and what the steps share.
//!
//! [`super::subdivide`] goes through layers and neurons, [`super::vertex`] makes the vertices that a neuron
//! cuts, [`super::join`] the edges between them, and [`super::settle`] decides what the bounds on errors
//! leave open.

use super::arbiter::Arbiter;
use super::faces::Faces;
use super::flat::{FlatNetwork, SAFE};
use super::newton::Newton;
use super::rows::larger;
use super::skeleton::{Edge, Signs, Skeleton};

pub(crate) struct Work<'a> {
    pub network: &'a FlatNetwork,
    pub arbiter: &'a Arbiter,
    pub skeleton: Skeleton,
    pub faces: Faces,
    /// Bounds on the errors of the values at the vertices, for the current layer.
    pub error: Vec<f64>,
    /// The linear function along which edges are directed, with bounds on its errors.
    pub height: Vec<(f64, f64)>,
    pub coefficients: Vec<f64>,
    /// The current layer at every vertex.
    pub signs: Vec<Signs>,
    /// The next edge of the same bucket.
    pub next: Vec<u32>,
    /// The ends of whole edges of the current layer, before they were cut, and the whole edge of every edge.
    pub whole: Vec<[u32; 2]>,
    pub whole_of: Vec<u32>,
    /// Where the edges of the current neuron are cut.
    pub places: Vec<Place>,
    pub newton: Newton,
    /// The number of vertices before every neuron so far.
    pub found: Vec<u32>,
}

/// Where an edge is cut: the ends of the whole edge, the place between them, and how wrong it may be.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub ends: [usize; 2],
    pub t: f64,
    pub dt: f64,
}

impl Work<'_> {
    /// Adds an edge that no neuron has cut yet.
    pub(super) fn new_edge(&mut self, edge: Edge) {
        self.whole_of.push(self.whole.len() as u32);
        self.whole.push(edge.ends);
        self.skeleton.edges.push(edge);
    }

    /// The function along which edges are directed, and a bound on its error.
    pub(super) fn height_of(&self, v: usize) -> (f64, f64) {
        let (d, point) = (self.skeleton.dimension as f64, self.skeleton.point(v));
        let (mut height, mut size) = (0.0, 0.0);
        for (i, &x) in point.iter().enumerate() {
            height += self.coefficients[i] * x;
            size = larger(size, x.abs());
        }
        let rounding = (d + 2.0) * f64::EPSILON * size;
        (height, 1.5 * d * (self.skeleton.distance[v] + rounding) * SAFE)
    }
}

/// A coefficient of the function along which edges are directed, between 0.5 and 1.5.
pub(crate) fn coefficient(i: usize) -> f64 {
    0.5 + (0.618_033_988_749_894_9 * (i as f64 + 1.0)).fract()
}
