//! Two-dimensional faces of a subdivision: which new vertices are joined.
//!
//! A new vertex lies on the zeros `h` of its edge; leaving one of them on either side gives the
//! two-dimensional faces around the edge. Two vertices in one face have the same face sign vector. Sign
//! vectors are looked up by a hash that is a sum, a term for every positive neuron and for every zero, so
//! that leaving a zero changes it by a number that depends on the hyperplane only; a match is compared sign
//! by sign, so that nothing depends on the hash.

use super::flat::FlatNetwork;
use super::skeleton::Stop;

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
    /// Per place the number of an entry plus one, a mark for faces that have both their vertices, and above them
    /// a part of the key.
    table: Vec<u64>,
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
    ///
    /// Half of all entries are the second of their face, at random, so that no branch asks which: only two faces
    /// that want the same place make one.
    pub fn pair(&mut self) -> Result<(), Stop> {
        let entries = self.keys.len();
        let bits = entries.next_power_of_two().trailing_zeros().max(1);
        let (mask, paired) = ((1usize << bits) - 1, 1u64 << (bits + 1));
        self.table.clear();
        self.table.resize(mask + 1, 0);
        self.pairs.clear();
        self.pairs.resize(entries / 2 + 1, [0; 2]);
        let (mut found, mut crowded) = (0, 0);
        for (i, &key) in self.keys.iter().enumerate() {
            let spread = key.wrapping_mul(SPREAD);
            let mut at = (spread >> (64 - bits)) as usize;
            let tag = spread << (bits + 2);
            let (held, is_same) = loop {
                let held = self.table[at & mask];
                let is_same = (held ^ tag) >> (bits + 2) == 0;
                if is_same || held == 0 {
                    break (held, is_same && held != 0);
                }
                at += 1;
            };
            self.table[at & mask] = if is_same { held | paired } else { tag | (i as u64 + 1) };
            crowded |= if is_same { held & paired } else { 0 };
            let partner = (held & (paired - 1)).wrapping_sub(1);
            self.pairs[found.min(entries / 2)] = [partner as u32, i as u32];
            found += usize::from(is_same);
        }
        self.pairs.truncate(found);
        match crowded != 0 || 2 * found != entries {
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

#[cfg(test)]
mod tests {
    use fiberscope_core::{Activation, Layer, Matrix, Network};

    use super::*;

    fn paired(keys: Vec<u64>) -> Result<Vec<[u32; 2]>, Stop> {
        let layer = |activation| Layer::new(Matrix::from_rows(&[[1.0]]).unwrap(), vec![0.0], activation);
        let network = Network::new(vec![layer(Activation::Relu), layer(Activation::Identity)]).unwrap();
        let mut faces = Faces::new(&FlatNetwork::new(&network), 1, 0);
        faces.keys = keys;
        faces.pair().map(|()| faces.pairs)
    }

    /// Entries with one key are a pair, in the order of the second; all others are no simple complex.
    #[test]
    fn pairs_of_keys() {
        assert_eq!(paired(vec![]), Ok(vec![]));
        assert_eq!(paired(vec![0, 0]), Ok(vec![[0, 1]]));
        assert_eq!(paired(vec![7, 0, 9, 0, 7, 9]), Ok(vec![[1, 3], [0, 4], [2, 5]]));
        let many: Vec<u64> = (0..5000u64).map(|i| scramble(i % 2500)).collect();
        assert_eq!(paired(many), Ok((0..2500).map(|i| [i, i + 2500]).collect()));
        for keys in [vec![1], vec![1, 2], vec![3, 3, 3], vec![4, 4, 4, 4], vec![5, 5, 6]] {
            assert_eq!(paired(keys.clone()), Err(Stop::Irregular), "{keys:?}");
        }
    }
}
