//! Two-dimensional faces of a subdivision: which new vertices are joined.
//!
//! A new vertex lies on the zeros `h` of its edge; leaving one of them on either side gives the two-dimensional faces around the edge. Two vertices in one face
//! have the same face sign vector. Sign vectors are looked up by a hash that is a sum, a term for every positive neuron and for every zero, so that leaving a zero changes it by a number that depends on the hyperplane
//! only; a match is compared sign by sign, so that nothing depends on the hash.

use super::flat::{FlatLayer, FlatNetwork};
use super::skeleton::{Edge, Stop, Work};

/// Marks a place of the table whose face has both its vertices.
const PAIRED: u32 = 1 << 31;
/// An odd number that spreads keys over the table.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

pub(crate) struct Faces {
    /// How the key changes when a hyperplane is left on its negative and on its positive side.
    leave: Vec<[u64; 2]>,
    /// What the bits of the lower and the upper half of every word count.
    weights: Vec<[u64; 2]>,
    /// The part of the finished layers, per vertex.
    hash: Vec<u64>,
    /// The keys of the faces around all new vertices, and their corners there.
    keys: Vec<u64>,
    codes: Vec<u32>,
    /// The words of signs of the new vertices, of the neurons so far.
    words: Vec<u64>,
    /// Per place a part of the key, and the number of the entry plus one.
    table: Vec<(u32, u32)>,
    /// Entries that share a key.
    pairs: Vec<[u32; 2]>,
}

impl Faces {
    pub fn new(network: &FlatNetwork, dimension: usize, vertices: usize) -> Self {
        let random = |i: usize| scramble(i as u64 + 1);
        let weights: Vec<[u64; 2]> = (0..network.words).map(|w| [random(2 * w), random(2 * w + 1)]).collect();
        let leave = |h: usize| {
            let zero = random(2 * network.words + h);
            let positive = (h < network.neurons).then(|| network.place(h));
            let on = positive.map_or(0, |(word, bit)| count(weights[word], bit));
            [zero.wrapping_neg(), on.wrapping_sub(zero)]
        };
        Faces {
            leave: (0..network.neurons + 2 * dimension).map(leave).collect(),
            weights,
            hash: vec![0; vertices],
            keys: Vec::new(),
            codes: Vec::new(),
            words: Vec::new(),
            table: Vec::new(),
            pairs: Vec::new(),
        }
    }

    /// Enters a finished layer's words of a vertex.
    pub fn finish(&mut self, v: usize, first: usize, words: &[u64]) {
        let own = words.iter().zip(&self.weights[first..]).map(|(&signs, &weights)| count(weights, signs));
        self.hash[v] = own.fold(self.hash[v], u64::wrapping_add);
    }

    /// Adds a vertex with the hash of `a`, but for a neuron that is positive.
    #[inline]
    pub fn inherit(&mut self, a: usize, positive: Option<usize>) {
        let [off, on] = positive.map_or([0; 2], |h| self.leave[h]);
        self.hash.push(self.hash[a].wrapping_add(on.wrapping_sub(off)));
    }

    /// Lists the pairs of entries with the same key; fails if an entry has no partner, or more than one.
    fn pair(&mut self) -> Result<(), Stop> {
        let entries = self.keys.len();
        let bits = entries.next_power_of_two().trailing_zeros().max(1);
        let mask = (1usize << bits) - 1;
        self.table.clear();
        self.table.resize(mask + 1, (0, 0));
        self.pairs.clear();
        self.pairs.resize(entries / 2 + 1, [0; 2]);
        let (mut found, mut is_crowded) = (0, false);
        for (i, &key) in self.keys.iter().enumerate() {
            let spread = key.wrapping_mul(SPREAD);
            let (mut at, tag) = ((spread >> (64 - bits)) as usize, spread as u32);
            loop {
                let (other, entry) = self.table[at & mask];
                let partner = (entry & !PAIRED).wrapping_sub(1);
                let is_same = entry != 0 && other == tag && self.keys[partner as usize] == key;
                if entry != 0 && !is_same {
                    at += 1;
                    continue;
                }
                self.table[at & mask] = (tag, if is_same { entry | PAIRED } else { i as u32 + 1 });
                is_crowded |= is_same && entry & PAIRED != 0;
                self.pairs[found.min(entries / 2)] = [partner, i as u32];
                found += usize::from(is_same);
                break;
            }
        }
        self.pairs.truncate(found);
        match is_crowded || 2 * found != entries {
            true => Err(Stop::Irregular),
            false => Ok(()),
        }
    }
}

/// What the bits of a word count.
#[inline]
fn count([low, high]: [u64; 2], signs: u64) -> u64 {
    low.wrapping_mul(signs & 0xffff_ffff).wrapping_add(high.wrapping_mul(signs >> 32))
}

/// A random-looking word for a number.
fn scramble(number: u64) -> u64 {
    let mut x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// A vertex of a face, with the place of the hyperplane that the face leaves there, and the side.
#[derive(Clone, Copy)]
struct Corner {
    vertex: usize,
    slot: usize,
    side: usize,
}

impl Corner {
    /// The most vertices that a code can tell apart.
    const MOST: usize = 1 << 26;

    /// A corner in one number; there are fewer than 32 hyperplanes at a vertex.
    fn code(vertex: usize, slot: usize, side: usize) -> u32 {
        (vertex << 6 | slot << 1 | side) as u32
    }

    fn of(code: u32) -> Self {
        let code = code as usize;
        Corner { vertex: code >> 6, slot: code >> 1 & 31, side: code & 1 }
    }
}

impl Work<'_> {
    /// Joins the vertices from `first` on, which lie on neuron `k` of the layer, in every two-dimensional face that has two of them.
    pub(super) fn join_faces(&mut self, layer: &FlatLayer, k: usize, first: usize) -> Result<(), Stop> {
        let count = self.skeleton.len() - first;
        if count >= Corner::MOST {
            return Err(Stop::Irregular);
        }
        self.face_keys(layer, k, first);
        self.faces.pair()?;
        let d = self.skeleton.dimension;
        let words = layer.word + k / 64 + 1;
        for i in 0..self.faces.pairs.len() {
            let [a, b] = self.faces.pairs[i].map(|entry| Corner::of(self.faces.codes[entry as usize]));
            let [h, g] = [a, b].map(|c| self.skeleton.zeros[(first + c.vertex) * d + c.slot]);
            if !self.is_same_face(words, first, [(a, h), (b, g)]) {
                return Err(Stop::Irregular);
            }
            let left = [2 * h + a.side as u32, 2 * g + b.side as u32];
            let ends = [a, b].map(|c| first + c.vertex);
            let low = usize::from(!self.rises(ends[0], ends[1]));
            let order = [low, 1 - low];
            self.new_edge(Edge { ends: order.map(|i| ends[i] as u32), left: order.map(|i| left[i]) });
            self.skeleton.up[ends[low] * d + [a, b][low].slot] += 1;
        }
        Ok(())
    }

    /// The keys of the faces around the vertices from `first` on: all choices of a hyperplane but the last, and of a side.
    fn face_keys(&mut self, layer: &FlatLayer, k: usize, first: usize) {
        let (d, neurons) = (self.skeleton.dimension, self.network.neurons);
        let (own, part) = (layer.words(), k / 64);
        let Faces { leave, weights, hash, keys, codes, words, .. } = &mut self.faces;
        keys.clear();
        codes.clear();
        words.clear();
        for (v, &finished) in hash.iter().enumerate().skip(first) {
            words.extend_from_slice(&self.skeleton.signs_of(v)[..layer.word]);
            let start = words.len();
            words.extend(self.signs[v * own..v * own + part + 1].iter().map(|signs| signs.positive));
            words[start + part] &= (1 << (k % 64)) - 1;
            let current = words[start..].iter().zip(&weights[layer.word..]);
            let mut base =
                current.fold(finished, |sum, (&signs, &weights)| sum.wrapping_add(count(weights, signs)));
            let zeros = &self.skeleton.zeros[v * d..v * d + d - 1];
            for &h in zeros {
                base = base.wrapping_sub(leave[h as usize][0]);
            }
            for (slot, &h) in zeros.iter().enumerate() {
                let sides = if (h as usize) < neurons { 2 } else { 1 };
                for (side, change) in leave[h as usize].iter().enumerate().take(sides) {
                    keys.push(base.wrapping_add(*change));
                    codes.push(Corner::code(v - first, slot, side));
                }
            }
        }
    }

    /// Compares the signs of two faces, given by corners and the hyperplanes they leave.
    #[inline]
    fn is_same_face(&self, words: usize, first: usize, corners: [(Corner, u32); 2]) -> bool {
        let d = self.skeleton.dimension;
        // A corner lacks the bit of the hyperplane that it lies on and the face leaves on its positive side.
        let missing = corners.map(|(c, h)| match c.side {
            1 => self.network.place(h as usize),
            _ => (0, 0),
        });
        let [v, w] = corners.map(|(c, _)| &self.faces.words[c.vertex * words..(c.vertex + 1) * words]);
        let mut differing = 0;
        for (word, (v, w)) in v.iter().zip(w).enumerate() {
            let bits = missing.map(|(at, bit)| if at == word { bit } else { 0 });
            differing |= (v | bits[0]) ^ (w | bits[1]);
        }
        // The hyperplanes are in the same order everywhere.
        let [(a, _), (b, _)] = corners;
        let [v, w] = [a, b].map(|c| &self.skeleton.zeros[(first + c.vertex) * d..][..d]);
        let mut others = 0;
        for i in 0..d.saturating_sub(2) {
            others |= v[i + usize::from(i >= a.slot)] ^ w[i + usize::from(i >= b.slot)];
        }
        differing == 0 && others == 0
    }
}
