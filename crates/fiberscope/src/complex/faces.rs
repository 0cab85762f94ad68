//! Two-dimensional faces of a subdivision: which new vertices are joined.
//!
//! A new vertex lies on the zeros `h` of its edge; leaving one of them on either side gives the
//! two-dimensional faces around the edge. Two vertices in one face have the same face sign vector. Sign
//! vectors are looked up by a hash that is a sum, a term for every positive neuron and for every zero, so
//! that leaving a zero changes it by a number that depends on the hyperplane only; a match is compared sign
//! by sign, so that nothing depends on the hash.

use super::flat::FlatNetwork;
use super::skeleton::Stop;

/// Marks a place of the table whose face has both its vertices.
const PAIRED: u32 = 1 << 31;
/// An odd number that spreads keys over the table.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

pub(crate) struct Faces {
    /// How the key changes when a hyperplane is left on its negative and on its positive side.
    pub leave: Vec<[u64; 2]>,
    /// What the bits of the lower and the upper half of every word count.
    pub weights: Vec<[u64; 2]>,
    /// The part of the finished layers, per vertex.
    pub hash: Vec<u64>,
    /// The keys of the faces around all new vertices, and their corners there.
    pub keys: Vec<u64>,
    pub codes: Vec<u32>,
    /// The words of signs of the new vertices, of the neurons so far.
    pub words: Vec<u64>,
    /// Per place a part of the key, and the number of the entry plus one.
    table: Vec<(u32, u32)>,
    /// Entries that share a key.
    pub pairs: Vec<[u32; 2]>,
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
    pub fn pair(&mut self) -> Result<(), Stop> {
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
pub(crate) fn count([low, high]: [u64; 2], signs: u64) -> u64 {
    low.wrapping_mul(signs & 0xffff_ffff).wrapping_add(high.wrapping_mul(signs >> 32))
}

/// A random-looking word for a number.
pub(crate) fn scramble(number: u64) -> u64 {
    let mut x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// A vertex of a face, with the place of the hyperplane that the face leaves there, and the side.
#[derive(Clone, Copy)]
pub(crate) struct Corner {
    pub vertex: usize,
    pub slot: usize,
    pub side: usize,
}

impl Corner {
    /// The most vertices that a code can tell apart.
    pub const MOST: usize = 1 << 26;

    /// A corner in one number; there are fewer than 32 hyperplanes at a vertex.
    pub fn code(vertex: usize, slot: usize, side: usize) -> u32 {
        (vertex << 6 | slot << 1 | side) as u32
    }

    /// The corner of a code.
    pub fn of(code: u32) -> Self {
        let code = code as usize;
        Corner { vertex: code >> 6, slot: code >> 1 & 31, side: code & 1 }
    }
}
