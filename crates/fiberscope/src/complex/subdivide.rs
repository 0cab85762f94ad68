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
use super::errors::{deep_errors, layer_errors, sign_words};
use super::faces::Faces;
use super::flat::{FlatLayer, FlatNetwork};
use super::newton::Newton;
use super::rows::Rows;
use super::skeleton::{Edge, Signs, Skeleton, Stop};
use super::work::{Work, coefficient};

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

/// The vertices and edges on the box with these sides.
pub(crate) fn subdivide(
    network: &FlatNetwork,
    arbiter: &Arbiter,
    sides: &[[f64; 2]],
    room: Room,
    go_on: &(dyn Fn(usize) -> bool + Sync),
) -> Result<Skeleton, Stop> {
    let mut work = Work::new(network, arbiter, sides);
    let mut a = work.skeleton.points.clone();
    let mut rows = Rows::default();
    for (l, layer) in network.layers.iter().enumerate() {
        match l.checked_sub(1).filter(|below| *below >= DEEP) {
            Some(below) => {
                deep_errors(layer, &network.layers[below], &a, &work.skeleton, &mut work.error);
            }
            None => layer_errors(layer, &a, &mut work.error),
        }
        rows.fill(layer, &a);
        if layer.relu {
            work.layer(l, &mut rows, room, go_on)?;
        }
        rows.rectify(layer, &mut a);
    }
    Ok(work.skeleton)
}

/// After so many layers bounds on errors are worth more time.
const DEEP: usize = 2;

const NONE: u32 = u32::MAX;

impl<'a> Work<'a> {
    fn new(network: &'a FlatNetwork, arbiter: &'a Arbiter, sides: &[[f64; 2]]) -> Self {
        let skeleton = corners(network, sides);
        let mut work = Work {
            network,
            arbiter,
            faces: Faces::new(network, sides.len(), skeleton.len()),
            error: vec![0.0; skeleton.len()],
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
        self.first_signs(l, rows)?;
        let mut heads = vec![NONE; layer.width];
        self.next.clear();
        self.next.resize(self.skeleton.edges.len(), NONE);
        self.whole.clear();
        self.whole_of.clear();
        for edge in 0..self.skeleton.edges.len() {
            self.whole.push(self.skeleton.edges[edge].ends);
            self.whole_of.push(edge as u32);
            self.wait(edge, layer.words(), &mut heads);
        }
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
        self.finish(layer);
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
        let mut doubtful = Vec::new();
        sign_words(rows.values(), layer.width, &self.error, &mut self.signs, &mut doubtful);
        for (v, word, bits) in doubtful {
            let positive = self.settle(l, v, rows, word, bits)?;
            let signs = &mut self.signs[v * words + word];
            signs.positive = signs.positive & !bits | positive;
        }
        Ok(())
    }

    /// Puts an edge into the bucket of the first neuron that cuts it.
    #[inline]
    fn wait(&mut self, edge: usize, words: usize, heads: &mut [u32]) {
        let [a, b] = self.skeleton.edges[edge].ends.map(|v| v as usize * words);
        for word in 0..words {
            let apart = self.signs[a + word].apart(self.signs[b + word]);
            if apart != 0 {
                let k = 64 * word + apart.trailing_zeros() as usize;
                self.next[edge] = heads[k];
                heads[k] = edge as u32;
                return;
            }
        }
    }

    fn cut(
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
        self.new_vertices(l, k, cut, rows)?;
        for (v, &e) in (first_new as u32..).zip(cut) {
            let edge = self.skeleton.edges[e as usize];
            let whole = self.whole_of[e as usize];
            let [a, b] = edge.ends;
            let side = (self.signs[b as usize * words + k / 64].positive >> (k % 64) & 1) as u32;
            self.skeleton.edges[e as usize] = Edge { ends: [a, v], left: [edge.left[0], id + 1 - side] };
            self.skeleton.edges.push(Edge { ends: [v, b], left: [id + side, edge.left[1]] });
            self.whole_of.push(whole);
        }
        self.join_faces(layer, k, first_new)?;
        self.next.resize(self.skeleton.edges.len(), NONE);
        for &e in cut {
            self.wait(e as usize, words, heads);
        }
        for e in first_edge..self.skeleton.edges.len() {
            self.wait(e, words, heads);
        }
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
