//! Vertices and edges of the complex of a network on a box, by subdividing edges layer by layer.
//!
//! Neuron `k` of a layer is affine on every edge of the complex so far, so it cuts the edges at whose ends it has
//! opposite signs, in a new vertex each; two new vertices are joined by a new edge iff their edges lie in one
//! two-dimensional face [berzins2023polyhedral, Section 4]. Edges wait in the bucket of the first neuron that cuts them, so that a neuron
//! touches only what it cuts. A face is found by a hash of its sign vector: the exclusive or of one random word per
//! positive neuron and one per zero, so that moving off a hyperplane changes one word.
//!
//! A new vertex inherits every sign on which the ends of its edge agree; only the others are computed. Everything here is a
//! proposal in doubles for *simple* complexes (every vertex on exactly `d` hyperplanes, bent ones and sides of the
//! box); [`super::certify`] decides whether it is the complex.

use super::flat::{FlatLayer, FlatNetwork};

/// An edge; hyperplanes are numbered: neurons first, then the lower and the upper side of every input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub ends: [u32; 2],
    /// For each end, the hyperplane through it that the edge leaves, times two, plus one if the edge is on its positive side.
    pub left: [u32; 2],
}

/// The vertices and edges of a simple complex.
#[derive(Debug, Default)]
pub(crate) struct Skeleton {
    pub dimension: usize,
    /// Coordinates, vertex after vertex.
    pub points: Vec<f64>,
    /// The `dimension` hyperplanes through every vertex.
    pub zeros: Vec<u32>,
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

/// Why there is no proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Something is not as in a simple complex.
    Irregular,
    /// More vertices than allowed.
    TooMany,
}

/// Proposes the vertices and edges on the box with these sides.
pub(crate) fn subdivide(
    network: &FlatNetwork,
    sides: &[[f64; 2]],
    most: usize,
    go_on: &(dyn Fn(usize) -> bool + Sync),
) -> Result<Skeleton, Stop> {
    let mut work = Work::new(network, sides);
    let mut a = work.skeleton.points.clone();
    let mut z = Vec::new();
    for layer in &network.layers {
        let count = work.skeleton.len();
        z.clear();
        z.resize(count * layer.width, 0.0);
        layer.forward(count, &a, &mut z);
        if layer.relu {
            work.layer(layer, &mut z, most, go_on)?;
        }
        std::mem::swap(&mut a, &mut z);
        if layer.relu {
            a.iter_mut().for_each(|x| *x = x.max(0.0));
        }
    }
    Ok(work.skeleton)
}

const NONE: u32 = u32::MAX;

/// A vertex on a face that waits for its partner.
#[derive(Clone, Copy)]
struct Waiting {
    key: u64,
    stamp: u32,
    vertex: u32,
    left: u32,
}

struct Work<'a> {
    network: &'a FlatNetwork,
    skeleton: Skeleton,
    /// Random words: for positive neurons, and for zeros.
    positive: Vec<u64>,
    zero: Vec<u64>,
    /// Hash of the positive neurons of finished layers, per vertex.
    hash: Vec<u64>,
    /// The next edge of the same bucket.
    next: Vec<u32>,
    /// Positive neurons and zeros of the current layer, per vertex.
    signs: Vec<u64>,
    zeros: Vec<u64>,
    /// Hash of a byte of signs of the current layer, 256 entries per byte.
    bytes: Vec<u64>,
    table: Vec<Waiting>,
    stamp: u32,
}

impl<'a> Work<'a> {
    fn new(network: &'a FlatNetwork, sides: &[[f64; 2]]) -> Self {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = || {
            // Splitmix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut x = state;
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ (x >> 31)
        };
        let hyperplanes = network.neurons + 2 * sides.len();
        let skeleton = corners(network, sides);
        Work {
            network,
            positive: (0..hyperplanes).map(|_| random()).collect(),
            zero: (0..hyperplanes).map(|_| random()).collect(),
            hash: vec![0; skeleton.len()],
            next: Vec::new(),
            signs: Vec::new(),
            zeros: Vec::new(),
            bytes: Vec::new(),
            table: Vec::new(),
            stamp: 0,
            skeleton,
        }
    }

    /// Cuts by all neurons of a layer; `z` has their values at the vertices and gets those at new ones.
    fn layer(
        &mut self,
        layer: &FlatLayer,
        z: &mut Vec<f64>,
        most: usize,
        go_on: &(dyn Fn(usize) -> bool + Sync),
    ) -> Result<(), Stop> {
        let (width, words) = (layer.width, layer.words());
        self.prepare_bytes(layer);
        self.signs.clear();
        for row in z.chunks_exact(width) {
            for part in row.chunks(64) {
                let mut word = 0;
                for (bit, value) in part.iter().enumerate() {
                    word |= u64::from(*value > 0.0) << bit;
                }
                self.signs.push(word);
            }
        }
        if z.contains(&0.0) {
            return Err(Stop::Irregular);
        }
        self.zeros.clear();
        self.zeros.resize(self.signs.len(), 0);
        let mut heads = vec![NONE; width];
        self.next.clear();
        self.next.resize(self.skeleton.edges.len(), NONE);
        for edge in 0..self.skeleton.edges.len() {
            self.wait(edge, words, &mut heads);
        }
        let mut cut = Vec::new();
        for k in 0..width {
            cut.clear();
            let mut edge = heads[k];
            while edge != NONE {
                cut.push(edge);
                edge = self.next[edge as usize];
            }
            if cut.is_empty() {
                continue;
            }
            self.cut(layer, k, &cut, z, &mut heads)?;
            if self.skeleton.len() > most || !go_on(self.skeleton.len()) {
                return Err(Stop::TooMany);
            }
        }
        self.finish(layer);
        Ok(())
    }

    fn prepare_bytes(&mut self, layer: &FlatLayer) {
        self.bytes.clear();
        for start in (0..layer.width).step_by(8) {
            let own = &self.positive[layer.first + start..layer.first + layer.width.min(start + 8)];
            let base = self.bytes.len();
            self.bytes.push(0);
            for byte in 1..256usize {
                let bit = byte.trailing_zeros() as usize;
                let rest = self.bytes[base + (byte & (byte - 1))];
                self.bytes.push(rest ^ own.get(bit).copied().unwrap_or(0));
            }
        }
    }

    /// The hash of the signs of the current layer's first `k` neurons.
    fn hash_of(&self, vertex: usize, words: usize, k: usize) -> u64 {
        let mut hash = 0;
        for word in 0..words.min(k / 64 + 1) {
            let mut signs = self.signs[vertex * words + word];
            if word == k / 64 {
                signs &= (1 << (k % 64)) - 1;
            }
            let mut at = word * 8 * 256;
            while signs != 0 {
                hash ^= self.bytes[at + (signs & 255) as usize];
                signs >>= 8;
                at += 256;
            }
        }
        hash
    }

    /// Puts an edge into the bucket of the first neuron that cuts it.
    #[inline]
    fn wait(&mut self, edge: usize, words: usize, heads: &mut [u32]) {
        let [a, b] = self.skeleton.edges[edge].ends.map(|v| v as usize * words);
        for word in 0..words {
            let apart = (self.signs[a + word] ^ self.signs[b + word])
                & !(self.zeros[a + word] | self.zeros[b + word]);
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
        layer: &FlatLayer,
        k: usize,
        cut: &[u32],
        z: &mut Vec<f64>,
        heads: &mut [u32],
    ) -> Result<(), Stop> {
        let words = layer.words();
        let d = self.skeleton.dimension;
        let first_new = self.skeleton.len();
        let first_edge = self.skeleton.edges.len();
        let faces = (2 * (d - 1) * cut.len()).next_power_of_two() * 2;
        if self.table.len() < faces {
            self.table.resize(faces, Waiting { key: 0, stamp: 0, vertex: 0, left: 0 });
        }
        self.stamp += 1;
        let mut waiting = 0usize;
        let id = (layer.first + k) as u32;
        for (i, &e) in cut.iter().enumerate() {
            let edge = self.skeleton.edges[e as usize];
            let v = (first_new + i) as u32;
            self.new_vertex(layer, k, edge, z);
            let [a, b] = edge.ends;
            let side =
                |end: u32| 2 * id + ((self.signs[end as usize * words + k / 64] >> (k % 64)) & 1) as u32;
            let (to_a, to_b) = (side(a), side(b));
            self.skeleton.edges[e as usize] = Edge { ends: [a, v], left: [edge.left[0], to_a] };
            self.skeleton.edges.push(Edge { ends: [v, b], left: [to_b, edge.left[1]] });
            if d > 1 {
                waiting = self.join_faces(edge, v, words, k, faces, waiting)?;
            }
        }
        if waiting != 0 {
            return Err(Stop::Irregular);
        }
        self.next.resize(self.skeleton.edges.len(), NONE);
        for &e in cut {
            self.wait(e as usize, words, heads);
        }
        for e in first_edge..self.skeleton.edges.len() {
            self.wait(e, words, heads);
        }
        Ok(())
    }

    /// Looks for the partner of a new vertex in every two-dimensional face of its edge.
    fn join_faces(
        &mut self,
        edge: Edge,
        v: u32,
        words: usize,
        k: usize,
        faces: usize,
        mut waiting: usize,
    ) -> Result<usize, Stop> {
        let d = self.skeleton.dimension;
        let a = edge.ends[0] as usize;
        let (gone, side) = ((edge.left[0] >> 1) as usize, edge.left[0] & 1);
        let mut base = self.hash[a] ^ self.hash_of(a, words, k);
        if side == 1 {
            base ^= self.positive[gone];
        }
        for i in 0..d {
            let h = self.skeleton.zeros[a * d + i] as usize;
            if h != gone {
                base ^= self.zero[h];
            }
        }
        let mask = faces - 1;
        for i in 0..d {
            let h = self.skeleton.zeros[a * d + i] as usize;
            if h == gone {
                continue;
            }
            let sides = if h < self.network.neurons { 2 } else { 1 };
            for side in 0..sides {
                let key = base ^ self.zero[h] ^ if side == 1 { self.positive[h] } else { 0 };
                let left = 2 * h as u32 + side;
                let mut at = key as usize & mask;
                loop {
                    let slot = &mut self.table[at];
                    if slot.stamp != self.stamp {
                        *slot = Waiting { key, stamp: self.stamp, vertex: v, left };
                        waiting += 1;
                        break;
                    }
                    if slot.key == key {
                        if slot.vertex == NONE {
                            return Err(Stop::Irregular);
                        }
                        self.skeleton.edges.push(Edge { ends: [slot.vertex, v], left: [slot.left, left] });
                        slot.vertex = NONE;
                        waiting -= 1;
                        break;
                    }
                    at = (at + 1) & mask;
                }
            }
        }
        Ok(waiting)
    }

    /// The vertex where neuron `k` is zero on an edge.
    fn new_vertex(&mut self, layer: &FlatLayer, k: usize, edge: Edge, z: &mut Vec<f64>) {
        let (d, width, words) = (self.skeleton.dimension, layer.width, layer.words());
        let [a, b] = edge.ends.map(|v| v as usize);
        let (za, zb) = (z[a * width + k], z[b * width + k]);
        let t = za / (za - zb);
        for i in 0..d {
            let (from, to) = (self.skeleton.points[a * d + i], self.skeleton.points[b * d + i]);
            self.skeleton.points.push(from + t * (to - from));
        }
        let gone = edge.left[0] >> 1;
        for i in 0..d {
            let h = self.skeleton.zeros[a * d + i];
            self.skeleton.zeros.push(if h == gone { (layer.first + k) as u32 } else { h });
        }
        let start = z.len();
        z.resize(start + width, 0.0);
        let (old, new) = z.split_at_mut(start);
        let (from, to) = (&old[a * width..(a + 1) * width], &old[b * width..(b + 1) * width]);
        for ((z, from), to) in new.iter_mut().zip(from).zip(to) {
            *z = from + t * (to - from);
        }
        new[k] = 0.0;
        for word in 0..words {
            let (pa, pb) = (self.signs[a * words + word], self.signs[b * words + word]);
            let (na, nb) = (self.zeros[a * words + word], self.zeros[b * words + word]);
            let mut apart = (pa ^ pb) & !(na | nb);
            let mut positive = (pa | pb) & !apart;
            let mut zero = na & nb;
            if word == k / 64 {
                apart &= !(1 << (k % 64));
                zero |= 1 << (k % 64);
            }
            while apart != 0 {
                let bit = apart.trailing_zeros();
                positive |= u64::from(new[64 * word + bit as usize] > 0.0) << bit;
                apart &= apart - 1;
            }
            self.signs.push(positive);
            self.zeros.push(zero);
        }
        self.inherit_finished(layer, a, edge);
    }

    /// The signs of finished layers at an inner point of an edge with one end at `a`, and their hash.
    fn inherit_finished(&mut self, layer: &FlatLayer, a: usize, edge: Edge) {
        let words = self.skeleton.words;
        let start = self.skeleton.signs.len();
        self.skeleton.signs.extend_from_within(a * words..(a + 1) * words);
        let (gone, side) = ((edge.left[0] >> 1) as usize, edge.left[0] & 1);
        let mut hash = self.hash[a];
        if side == 1 && gone < layer.first {
            hash ^= self.positive[gone];
            let (word, bit) = self.network.place(gone);
            self.skeleton.signs[start + word] |= bit;
        }
        self.hash.push(hash);
    }

    /// Stores the signs of a finished layer.
    fn finish(&mut self, layer: &FlatLayer) {
        let words = layer.words();
        for v in 0..self.skeleton.len() {
            let at = v * self.skeleton.words + layer.word;
            self.skeleton.signs[at..at + words].copy_from_slice(&self.signs[v * words..(v + 1) * words]);
            self.hash[v] ^= self.hash_of(v, words, layer.width);
        }
    }
}

/// The corners and edges of the box.
fn corners(network: &FlatNetwork, sides: &[[f64; 2]]) -> Skeleton {
    let d = sides.len();
    let mut skeleton = Skeleton { dimension: d, words: network.words, ..Skeleton::default() };
    skeleton.signs = vec![0; network.words << d];
    for corner in 0..1usize << d {
        for (i, side) in sides.iter().enumerate() {
            skeleton.points.push(side[corner >> i & 1]);
            skeleton.zeros.push((network.neurons + 2 * i + (corner >> i & 1)) as u32);
        }
        for i in (0..d).filter(|i| corner >> i & 1 == 0) {
            let left = [0, 1].map(|upper| 2 * (network.neurons + 2 * i + upper) as u32);
            skeleton.edges.push(Edge { ends: [corner as u32, (corner | 1 << i) as u32], left });
        }
    }
    skeleton
}
