//! Two-dimensional faces of a subdivision: which new vertices are joined.
//!
//! A new vertex lies on the zeros `h` of its edge; leaving one of them on either side gives the two-dimensional faces around the edge. Two vertices in one face
//! have the same face sign vector. Sign vectors are looked up by a hash: words of positive neurons are mixed, zeros have a random word each; a match is compared sign by sign, so that nothing depends on the hash.

use super::flat::{FlatLayer, FlatNetwork};
use super::skeleton::{Edge, Stop, Work};

/// A vertex on a face that waits for its partner.
#[derive(Clone, Copy, Default)]
struct Waiting {
    key: u64,
    stamp: u32,
    vertex: u32,
    left: u32,
    /// The place of the hyperplane among the zeros of the vertex.
    slot: u32,
}

const NONE: u32 = u32::MAX;

pub(crate) struct Faces {
    /// A random word per hyperplane.
    zero: Vec<u64>,
    /// Hash of the positive neurons of finished layers, per vertex.
    hash: Vec<u64>,
    table: Vec<Waiting>,
    mask: usize,
    stamp: u32,
    waiting: usize,
}

impl Faces {
    pub fn new(network: &FlatNetwork, dimension: usize, vertices: usize) -> Self {
        let hyperplanes = (network.neurons + 2 * dimension) as u64;
        Faces {
            zero: (0..hyperplanes).map(|h| mix(h + 1, usize::MAX)).collect(),
            hash: vec![0; vertices],
            table: Vec::new(),
            mask: 0,
            stamp: 0,
            waiting: 0,
        }
    }

    /// Starts with an empty table for so many faces; it has room for twice as many, should none be met a second time.
    pub fn begin(&mut self, faces: usize) {
        let size = faces.next_power_of_two() * 2;
        if self.table.len() < size {
            self.table.resize(size, Waiting::default());
        }
        self.mask = size - 1;
        self.stamp += 1;
        self.waiting = 0;
    }

    /// Whether every vertex found its partner.
    pub fn are_all_paired(&self) -> bool {
        self.waiting == 0
    }

    /// Enters a finished layer's words of a vertex.
    pub fn finish(&mut self, v: usize, first: usize, words: &[u64]) {
        for (word, &signs) in words.iter().enumerate() {
            self.hash[v] ^= mix(signs, first + word);
        }
    }

    /// Adds a vertex with the hash of `a`, but for a bit of a word that is set.
    pub fn inherit(&mut self, a: usize, change: Option<(usize, u64, u64)>) {
        let mut hash = self.hash[a];
        if let Some((word, signs, bit)) = change {
            hash ^= mix(signs, word) ^ mix(signs | bit, word);
        }
        self.hash.push(hash);
    }

    /// The vertex that waits for this one on the face with this key; else this one waits.
    #[inline]
    fn meet(&mut self, own: Waiting) -> Result<Option<Waiting>, Stop> {
        let mut at = own.key as usize & self.mask;
        loop {
            let slot = &mut self.table[at];
            if slot.stamp != self.stamp {
                *slot = Waiting { stamp: self.stamp, ..own };
                self.waiting += 1;
                return Ok(None);
            }
            if slot.key == own.key {
                if slot.vertex == NONE {
                    return Err(Stop::Irregular);
                }
                self.waiting -= 1;
                return Ok(Some(std::mem::replace(slot, Waiting { vertex: NONE, ..*slot })));
            }
            at = (at + 1) & self.mask;
        }
    }
}

/// Mixes a word with its place: the two halves of a product.
#[inline]
fn mix(signs: u64, place: usize) -> u64 {
    let salt = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xd6e8_feb8_6659_fd93;
    let product = u128::from(signs ^ salt) * u128::from(0xa076_1d64_78bd_642f_u64 ^ salt.rotate_left(29) | 1);
    (product as u64 ^ (product >> 64) as u64).wrapping_mul(0xe703_7ed1_a0b4_28db)
}

impl Work<'_> {
    /// Looks for the partner of a new vertex, on neuron `k` of the layer, in every two-dimensional face of its edge.
    pub(super) fn join_faces(&mut self, layer: &FlatLayer, k: usize, v: u32) -> Result<(), Stop> {
        let d = self.skeleton.dimension;
        let vertex = v as usize;
        let own = (layer.first + k) as u32;
        let mut base = self.faces.hash[vertex] ^ self.prefix_hash(layer, k, vertex);
        for &h in self.skeleton.zeros_of(vertex) {
            if h != own {
                base ^= self.faces.zero[h as usize];
            }
        }
        for slot in 0..d {
            let h = self.skeleton.zeros[vertex * d + slot];
            if h == own {
                continue;
            }
            let off = base ^ self.faces.zero[h as usize];
            self.join_face(
                layer,
                k,
                Waiting { key: off, stamp: 0, vertex: v, left: 2 * h, slot: slot as u32 },
            )?;
            if (h as usize) < self.network.neurons {
                let (word, bit) = self.network.place(h as usize);
                let signs = self.prefix_word(layer, k, vertex, word);
                let key = off ^ mix(signs, word) ^ mix(signs | bit, word);
                let waiting = Waiting { key, stamp: 0, vertex: v, left: 2 * h + 1, slot: slot as u32 };
                self.join_face(layer, k, waiting)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn join_face(&mut self, layer: &FlatLayer, k: usize, own: Waiting) -> Result<(), Stop> {
        let Some(other) = self.faces.meet(own)? else { return Ok(()) };
        if !self.is_same_face(layer, k, own, other) {
            return Err(Stop::Irregular);
        }
        let [low, high] = match self.rises(other.vertex as usize, own.vertex as usize) {
            true => [other, own],
            false => [own, other],
        };
        let ends = [low.vertex, high.vertex];
        self.new_edge(Edge { ends, left: [low.left, high.left] });
        self.skeleton.up[low.vertex as usize * self.skeleton.dimension + low.slot as usize] += 1;
        Ok(())
    }

    /// Compares the signs of the faces.
    #[inline]
    fn is_same_face(&self, layer: &FlatLayer, k: usize, a: Waiting, b: Waiting) -> bool {
        let last = layer.word + k / 64;
        let place = |w: Waiting| match w.left & 1 {
            1 => self.network.place((w.left >> 1) as usize),
            _ => (usize::MAX, 0),
        };
        let ((word_a, bit_a), (word_b, bit_b)) = (place(a), place(b));
        let [v, w] = [a, b].map(|w| w.vertex as usize);
        let words = (0..=last).all(|word| {
            let signs_a = self.prefix_word(layer, k, v, word) | if word == word_a { bit_a } else { 0 };
            let signs_b = self.prefix_word(layer, k, w, word) | if word == word_b { bit_b } else { 0 };
            signs_a == signs_b
        });
        let (zeros, others) = (self.skeleton.zeros_of(v), self.skeleton.zeros_of(w));
        // Shared hyperplanes mostly have the same place.
        let is_shared = |(h, other): (&u32, &u32)| {
            *h == a.left >> 1 || *h != b.left >> 1 && (h == other || others.contains(h))
        };
        words && zeros.iter().zip(others).all(is_shared)
    }

    /// A word of signs of the finished layers and the first `k` neurons of the current one.
    #[inline]
    fn prefix_word(&self, layer: &FlatLayer, k: usize, v: usize, word: usize) -> u64 {
        if word < layer.word {
            return self.skeleton.signs[v * self.skeleton.words + word];
        }
        let own = word - layer.word;
        let signs = self.signs[v * layer.words() + own];
        if own == k / 64 { signs & ((1 << (k % 64)) - 1) } else { signs }
    }

    #[inline]
    fn prefix_hash(&self, layer: &FlatLayer, k: usize, v: usize) -> u64 {
        (layer.word..=layer.word + k / 64)
            .fold(0, |hash, word| hash ^ mix(self.prefix_word(layer, k, v, word), word))
    }
}
