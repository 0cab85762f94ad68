//! A subdivision at work: the skeleton so far and what the steps share.
//!
//! [`super::subdivide`] goes through layers and neurons, [`super::vertex`] makes the vertices that a neuron
//! cuts, [`super::join`] the edges between them, and [`super::settle`] decides what the bounds on errors
//! leave open.

use super::arbiter::Arbiter;
use super::faces::Faces;
use super::flat::{FlatLayer, FlatNetwork, SAFE, larger};
use super::newton::Newton;
use super::rows::Place;
use super::skeleton::{Edge, Signs, Skeleton};

/// The number of no edge.
pub(crate) const NONE: u32 = u32::MAX;

pub(crate) struct Work<'a> {
    pub network: &'a FlatNetwork,
    pub arbiter: &'a Arbiter,
    /// Whether all edges are wanted, and whether this layer drops those that it does not cut.
    pub keeps_edges: bool,
    pub drops_edges: bool,
    pub skeleton: Skeleton,
    pub faces: Faces,
    /// The linear function along which edges are directed, with bounds on its errors.
    pub height: Vec<(f64, f64)>,
    pub coefficients: Vec<f64>,
    /// The current layer at every vertex.
    pub signs: Vec<Signs>,
    /// The next edge of the same bucket.
    pub next: Vec<u32>,
    /// The ends of edges that the current layer has cut, as they were before, and which of these an edge is a
    /// part of; [`NONE`] for an edge that is whole.
    pub whole: Vec<[u32; 2]>,
    pub whole_of: Vec<u32>,
    /// Where the edges of the current neuron are cut.
    pub places: Vec<Place>,
    pub newton: Newton,
    /// The number of vertices before every neuron so far.
    pub found: Vec<u32>,
}

impl Work<'_> {
    /// Takes memory for so many vertices, and as many edges for each dimension.
    pub(super) fn reserve(&mut self, vertices: usize, most: usize) {
        let Skeleton { dimension: d, points, distance, zeros, up, signs, words, edges } = &mut self.skeleton;
        let count = |each: usize| (vertices * each).min(most);
        points.reserve(count(*d));
        distance.reserve(count(1));
        zeros.reserve(count(*d));
        up.reserve(count(*d));
        signs.reserve(count(*words));
        edges.reserve(count(*d));
        self.next.reserve(count(*d));
        self.whole_of.reserve(count(*d));
        self.height.reserve(count(1));
        self.faces.hash.reserve(count(1));
        self.signs.reserve(count(self.network.layers.iter().map(FlatLayer::words).max().unwrap_or(0)));
    }

    /// Adds an edge that is a part of a whole one, if it may be of use.
    #[inline]
    pub(super) fn new_edge(&mut self, words: usize, edge: Edge, whole: u32) {
        if self.drops_edges {
            let [a, b] = [edge.ends[0] as usize * words, edge.ends[1] as usize * words];
            let (from, to) = (&self.signs[a..a + words], &self.signs[b..b + words]);
            if from.iter().zip(to).all(|(from, to)| from.apart(*to) == 0) {
                return;
            }
        }
        self.whole_of.push(whole);
        self.skeleton.edges.push(edge);
    }

    /// The number of dimensions, which is `D` unless that is zero.
    #[inline(always)]
    pub(super) fn dimension<const D: usize>(&self) -> usize {
        if D == 0 { self.skeleton.dimension } else { D }
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
