//! Vertices and edges of the complex of a network on a box, by subdividing edges layer by layer.
//!
//! Neuron `k` of a layer is affine on every cell of the complex `C` of the neurons before it, so it cuts the
//! edges at whose ends it has opposite signs, in a new vertex each; two new vertices are joined by a new edge
//! iff their edges lie in one two-dimensional face [berzins2023polyhedral, Section 4]. Edges wait in the
//! bucket of the first neuron that cuts them, so that a neuron touches only what it cuts.
//!
//! **Lemma.** Let `C` be simple (every vertex on exactly `d` hyperplanes, bent ones and sides of the box, and
//! these are independent there), and let the neuron `z` vanish at no vertex of `C`. Then the complex `C'` cut
//! by `z` is simple; its vertices are those of `C` and one on every edge whose ends have opposite signs of
//! `z`; its edges are the edges of `C`, cut in two where they have a new vertex, and one between the two new
//! vertices of every two-dimensional face that has any. *Proof.* A vertex of `C'` that is none of `C` is the
//! point of an edge of `C` where `z` is zero; `z` changes sign along this edge, so it is independent of the
//! `d - 1` hyperplanes of the edge. A new edge lies in a two-dimensional face, which is a convex polygon: if
//! `z` is not zero at its vertices, `z` cuts none or two of its edges. ∎
//!
//! So the skeleton is right, by induction from the box, if every sign that is computed here is the sign at
//! the exact vertex. [`super::vertex`] bounds all errors, and [`super::settle`] computes exactly what they
//! leave open; a sign that is zero, or a complex that is not simple in another way, ends the attempt with
//! [`Stop::Irregular`]. A vertex inherits the signs on which its edge has one sign; only the others are
//! computed.
//!
//! A cut is computed from the ends of the whole edge as it was before neurons of this layer cut it, so that
//! errors pile up with the dimension only. Edges are directed along a linear function that is constant on
//! none ([`super::count`] needs it): halves of an edge keep its direction.

use super::arbiter::Arbiter;
use super::faces::Faces;
use super::flat::{FlatLayer, FlatNetwork};
use super::newton::Newton;
use super::rows::Rows;
use super::skeleton::{Edge, Signs, Skeleton, Stop};
use super::work::{NONE, Work, coefficient};

/// How many vertices there may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// The most of them.
    pub most: usize,
    /// The most that a guess may expect once an eighth of `most` are found: it saves time to know early.
    /// Guesses are far too high where a box is cut by few neurons, so that they must not decide about tiles,
    /// or cutting might never end.
    pub expected: f64,
}

impl Room {
    /// Room for so many, however many are expected.
    pub fn up_to(most: usize) -> Self {
        Room { most, expected: f64::INFINITY }
    }
}

/// What is wanted of a subdivision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Vertices and edges, with all signs.
    Skeleton,
    /// Vertices, and how many edges go up from them: edges that nothing cuts any more are forgotten.
    Vertices,
}

/// The vertices and edges on the box with these sides.
pub(crate) fn subdivide(
    network: &FlatNetwork,
    arbiter: &Arbiter,
    sides: &[[f64; 2]],
    wanted: Wanted,
    room: Room,
    go_on: &(dyn Fn(usize) -> bool + Sync),
) -> Result<Skeleton, Stop> {
    let mut work = Work::new(network, arbiter, sides, wanted);
    let expected = expected(network, sides.len(), room);
    work.reserve(expected, LIST_AT_ONCE);
    let mut a = work.skeleton.points.clone();
    let mut rows = Rows::new(work.skeleton.len(), sides.len(), network.layers.len() >= DEEP);
    rows.reserve(expected, LIST_AT_ONCE);
    for (l, layer) in network.layers.iter().enumerate() {
        let below = l.checked_sub(1).map(|below| &network.layers[below]);
        rows.fill(layer, below, &a, &work.skeleton);
        if layer.relu {
            work.layer(l, &mut rows, room, go_on)?;
        }
        if l + 1 < network.layers.len() {
            rows.rectify(layer, &mut a);
        }
    }
    Ok(work.skeleton)
}

/// For how many vertices memory is taken at once: what has to grow is copied. That of more than there are is
/// never touched.
fn expected(network: &FlatNetwork, dimension: usize, room: Room) -> usize {
    // As many as hyperplanes through a box have in general.
    let (mut choices, mut vertices) = (1.0, 0.0);
    for k in 0..=dimension {
        vertices += choices * f64::from(1u32 << (dimension - k).min(31));
        choices *= network.neurons.saturating_sub(k) as f64 / (k + 1) as f64;
    }
    (vertices as usize).min(room.most).min(AT_ONCE)
}

/// The most vertices for which memory is taken at once, and the most numbers of a list.
const AT_ONCE: usize = 1 << 16;
const LIST_AT_ONCE: usize = 1 << 21;

/// Networks with so many hidden layers are worth a bound on the error of every value.
const DEEP: usize = 4;

impl<'a> Work<'a> {
    fn new(network: &'a FlatNetwork, arbiter: &'a Arbiter, sides: &[[f64; 2]], wanted: Wanted) -> Self {
        let skeleton = corners(network, sides);
        let mut work = Work {
            network,
            arbiter,
            keeps_edges: wanted == Wanted::Skeleton,
            drops_edges: false,
            faces: Faces::new(network, sides.len(), skeleton.len()),
            height: Vec::new(),
            coefficients: (0..sides.len()).map(coefficient).collect(),
            signs: Vec::new(),
            next: Vec::new(),
            whole: Vec::new(),
            whole_of: Vec::new(),
            places: Vec::new(),
            newton: Newton::default(),
            found: Vec::new(),
            skeleton,
        };
        work.height = (0..work.skeleton.len()).map(|v| work.height_of(v)).collect();
        work
    }

    /// Cuts by all neurons of a layer; the rows have their values at the vertices and get those at new ones.
    fn layer(
        &mut self,
        l: usize,
        rows: &mut Rows,
        room: Room,
        go_on: &(dyn Fn(usize) -> bool + Sync),
    ) -> Result<(), Stop> {
        let layer = &self.network.layers[l];
        let is_last = l + 1 == self.network.layers.len();
        self.drops_edges = is_last && !self.keeps_edges;
        self.first_signs(l, rows)?;
        let mut heads = vec![NONE; layer.width];
        self.whole.clear();
        self.whole_of.clear();
        self.whole_of.resize(self.skeleton.edges.len(), NONE);
        self.next.resize(self.skeleton.edges.len(), NONE);
        self.wait(0..self.skeleton.edges.len(), layer.words(), &mut heads);
        let mut cut = Vec::new();
        for k in 0..layer.width {
            self.found.push(self.skeleton.len() as u32);
            cut.clear();
            let mut edge = heads[k];
            while edge != NONE {
                cut.push(edge);
                edge = self.next[edge as usize];
            }
            if cut.is_empty() {
                continue;
            }
            self.cut(l, k, &cut, rows, &mut heads)?;
            let guess = self.guess(layer.first + k + 1);
            if self.is_too_large(guess, room) || !go_on(self.skeleton.len()) {
                return Err(Stop::TooMany(guess, std::mem::take(&mut self.skeleton.points)));
            }
        }
        if !self.drops_edges {
            self.finish(layer);
        }
        Ok(())
    }

    /// How many vertices there will be, after so many neurons: their number grows with a power of the number
    /// of neurons, the dimension at first and less in deep layers.
    fn guess(&self, neurons: usize) -> f64 {
        let now = self.skeleton.len() as f64;
        let growth = (now / f64::from(self.found[neurons / 2])).log2();
        let power = growth.clamp(1.0, self.skeleton.dimension as f64);
        now * (self.network.neurons as f64 / neurons as f64).powf(power)
    }

    /// Whether there are too many vertices, or will be.
    fn is_too_large(&self, guess: f64, room: Room) -> bool {
        let found = self.skeleton.len() - (1 << self.skeleton.dimension);
        self.skeleton.len() > room.most || found > room.most / 8 && guess > room.expected
    }

    /// The signs of a layer at the vertices of the layers before.
    fn first_signs(&mut self, l: usize, rows: &mut Rows) -> Result<(), Stop> {
        let layer = &self.network.layers[l];
        let words = layer.words();
        self.signs.clear();
        self.signs.resize(self.skeleton.len() * words, Signs::default());
        let doubtful = rows.signs(&mut self.signs);
        for (v, word, bits) in doubtful {
            let positive = self.settle(l, v, rows, word, bits)?;
            let signs = &mut self.signs[v * words + word];
            signs.positive = signs.positive & !bits | positive;
        }
        Ok(())
    }

    /// Puts edges into the buckets of the first neurons that cut them.
    #[inline(always)]
    fn wait(&mut self, edges: impl IntoIterator<Item = usize>, words: usize, heads: &mut [u32]) {
        let Work { skeleton, signs, next, .. } = self;
        for edge in edges {
            let [a, b] = skeleton.edges[edge].ends.map(|v| v as usize * words);
            for (word, (from, to)) in signs[a..a + words].iter().zip(&signs[b..b + words]).enumerate() {
                let apart = from.apart(*to);
                if apart != 0 {
                    let k = 64 * word + apart.trailing_zeros() as usize;
                    next[edge] = heads[k];
                    heads[k] = edge as u32;
                    break;
                }
            }
        }
    }

    /// Cuts edges by a neuron.
    fn cut(
        &mut self,
        l: usize,
        k: usize,
        cut: &[u32],
        rows: &mut Rows,
        heads: &mut [u32],
    ) -> Result<(), Stop> {
        // Loops over so many hyperplanes are short, and faster where it is known how short.
        match self.skeleton.dimension {
            2 => self.cut_in::<2>(l, k, cut, rows, heads),
            3 => self.cut_in::<3>(l, k, cut, rows, heads),
            4 => self.cut_in::<4>(l, k, cut, rows, heads),
            5 => self.cut_in::<5>(l, k, cut, rows, heads),
            _ => self.cut_in::<0>(l, k, cut, rows, heads),
        }
    }

    /// The same in `D` dimensions, or in any number if that is zero.
    fn cut_in<const D: usize>(
        &mut self,
        l: usize,
        k: usize,
        cut: &[u32],
        rows: &mut Rows,
        heads: &mut [u32],
    ) -> Result<(), Stop> {
        let layer = &self.network.layers[l];
        let words = layer.words();
        let first_new = self.skeleton.len();
        let first_edge = self.skeleton.edges.len();
        let id = 2 * (layer.first + k) as u32;
        self.new_vertices::<D>(l, k, cut, rows)?;
        for (v, &e) in (first_new as u32..).zip(cut) {
            let edge = self.skeleton.edges[e as usize];
            let mut whole = self.whole_of[e as usize];
            if whole == NONE {
                whole = self.whole.len() as u32;
                self.whole.push(edge.ends);
                self.whole_of[e as usize] = whole;
            }
            let [a, b] = edge.ends;
            let side = (self.signs[b as usize * words + k / 64].positive >> (k % 64) & 1) as u32;
            self.skeleton.edges[e as usize] = Edge { ends: [a, v], left: [edge.left[0], id + 1 - side] };
            let upper = Edge { ends: [v, b], left: [id + side, edge.left[1]] };
            self.new_edge(words, upper, whole);
        }
        self.join_faces::<D>(layer, k, first_new)?;
        self.next.resize(self.skeleton.edges.len(), NONE);
        self.wait(cut.iter().map(|&e| e as usize), words, heads);
        self.wait(first_edge..self.skeleton.edges.len(), words, heads);
        Ok(())
    }

    /// Stores the signs of a finished layer.
    fn finish(&mut self, layer: &FlatLayer) {
        let words = layer.words();
        for v in 0..self.skeleton.len() {
            let at = v * self.skeleton.words + layer.word;
            for (word, own) in self.signs[v * words..(v + 1) * words].iter().enumerate() {
                self.skeleton.signs[at + word] = own.positive;
            }
            self.faces.finish(v, layer.word, &self.skeleton.signs[at..at + words]);
        }
    }
}

/// The corners and edges of the box.
fn corners(network: &FlatNetwork, sides: &[[f64; 2]]) -> Skeleton {
    let d = sides.len();
    let mut skeleton = Skeleton { dimension: d, words: network.words, ..Skeleton::default() };
    skeleton.signs = vec![0; network.words << d];
    skeleton.distance = vec![0.0; 1 << d];
    for corner in 0..1usize << d {
        for (i, side) in sides.iter().enumerate() {
            skeleton.points.push(side[corner >> i & 1]);
            skeleton.zeros.push((network.neurons + 2 * i + (corner >> i & 1)) as u32);
            skeleton.up.push((corner >> i & 1 == 0).into());
        }
        for i in (0..d).filter(|i| corner >> i & 1 == 0) {
            let left = [0, 1].map(|upper| 2 * (network.neurons + 2 * i + upper) as u32);
            skeleton.edges.push(Edge { ends: [corner as u32, (corner | 1 << i) as u32], left });
        }
    }
    skeleton
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Activation, Domain, Layer, Matrix, Network};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::super::count::tally;
    use super::super::frame::Frame;
    use super::*;

    fn frame(widths: &[usize], seed: u64) -> Frame {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let layers = widths.windows(2).enumerate().map(|(l, pair)| {
            let size = (6.0 / pair[0] as f64).sqrt();
            let weight = Matrix::from_fn(pair[1], pair[0], |_, _| size * rng.random_range(-1.0..1.0));
            let bias = (0..pair[1]).map(|_| rng.random_range(-0.5..0.5)).collect();
            let last = l + 2 == widths.len();
            Layer::new(weight, bias, if last { Activation::Identity } else { Activation::Relu })
        });
        let network = Network::new(layers.collect()).unwrap();
        Frame::new(&network, &Domain::from_bounds(&vec![(-1.0, 1.0); widths[0]]).unwrap()).unwrap()
    }

    fn subdivided(frame: &Frame, wanted: Wanted) -> Skeleton {
        let room = Room::up_to(usize::MAX);
        subdivide(&frame.flat, &frame.arbiter, &frame.sides, wanted, room, &|_| true).unwrap()
    }

    /// With rows of values and without, with bounds for rows and for values, in dimensions whose loops are unrolled
    /// and in others.
    const SHAPES: [&[usize]; 7] = [
        &[1, 9, 7, 1],
        &[2, 9, 30, 1],
        &[3, 6, 40, 1],
        &[2, 5, 5, 5, 5, 5, 5, 5, 5, 1],
        &[3, 4, 4, 4, 4, 33, 1],
        &[4, 5, 4, 1],
        &[6, 5, 4, 1],
    ];

    /// All signs are those at the exact vertices.
    #[test]
    fn signs_are_exact() {
        for (seed, widths) in (0..).zip(SHAPES) {
            let frame = frame(widths, seed);
            let skeleton = subdivided(&frame, Wanted::Skeleton);
            for v in (0..skeleton.len()).step_by(skeleton.len() / 150 + 1) {
                let (zeros, signs) = (skeleton.zeros_of(v), skeleton.signs_of(v));
                let x = frame.arbiter.vertex(&frame.flat, zeros, signs).unwrap();
                for (neuron, value) in frame.arbiter.values(&frame.flat, &x).iter().enumerate() {
                    assert_eq!(value.is_zero(), zeros.contains(&(neuron as u32)), "{widths:?} {v} {neuron}");
                    assert_eq!(
                        value.is_positive(),
                        frame.flat.is_on(signs, neuron),
                        "{widths:?} {v} {neuron}"
                    );
                }
            }
        }
    }

    /// Edges that are forgotten change no count.
    #[test]
    fn vertices_without_edges() {
        for (seed, widths) in (0..).zip(SHAPES) {
            let frame = frame(widths, seed);
            let [all, few] = [Wanted::Skeleton, Wanted::Vertices].map(|wanted| subdivided(&frame, wanted));
            assert!(few.edges.len() < all.edges.len() && all.zeros == few.zeros && all.up == few.up);
            let [all, few] = [all, few].map(|skeleton| tally(&skeleton, frame.flat.neurons, &frame.kinds));
            assert_eq!(all, few);
            assert_eq!(all.counts(0).euler(), 1);
        }
    }
}
