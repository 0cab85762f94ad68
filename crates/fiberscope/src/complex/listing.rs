//! All cells of a simple complex, from its certified vertices and edges.
//!
//! Every cell is listed once, at its lowest vertex, as a choice of stay or go up for each hyperplane there
//! ([`super::count`]). A cell is a facet of those whose sign vector differs from its own in one zero: they
//! are looked up by sign vector. The hash of a sign vector is a sum (without carries) of random words, one
//! for every zero and one for every positive sign, so that it follows each step; a match is compared sign by
//! sign, so that nothing depends on the hash.

use std::ops::RangeInclusive;

use fiberscope_core::Sign;
use rayon::prelude::*;

use super::cells::{Cells, Lists};
use super::faces::scramble;
use super::flat::{FlatNetwork, bits_of};
use super::frame::Frame;
use super::skeleton::Skeleton;
use crate::limit::Deadline;

/// Cells that are joined before the clock is looked at again.
const CHUNK: usize = 1 << 12;

/// Lists the cells of some dimensions, and which of them are facets of which; the vertices in the order of the
/// skeleton. `None` if the deadline comes first.
pub(crate) fn list_cells(
    frame: &Frame,
    skeleton: &Skeleton,
    dimensions: RangeInclusive<usize>,
    deadline: &Deadline,
) -> Option<Vec<Cells>> {
    let marks = Marks::new(&frame.flat, skeleton.dimension);
    let levels = list(frame, skeleton, &marks, &dimensions, deadline)?;
    let mut cells: Vec<Cells> = levels.iter().map(|level| level.cells(&frame.flat)).collect();
    let mut cofacets = Vec::with_capacity(levels.len());
    for pair in levels.windows(2) {
        cofacets.push(join(frame, &marks, &pair[0], &pair[1].table(), deadline)?);
    }
    Cells::join(&mut cells, cofacets);
    Some(cells)
}

/// The random words of hyperplanes: neurons first, then sides.
struct Marks {
    zero: Vec<u64>,
    positive: Vec<u64>,
}

impl Marks {
    fn new(flat: &FlatNetwork, d: usize) -> Self {
        let hyperplanes = flat.neurons + 2 * d;
        let words = |from: usize| (from..from + hyperplanes).map(|i| scramble(i as u64 + 1)).collect();
        Marks { zero: words(0), positive: words(hyperplanes) }
    }
}

/// The sign vector of a cell: positive neurons, zero neurons, sides; and its hash.
struct Key<'a> {
    flat: &'a FlatNetwork,
    marks: &'a Marks,
    words: Vec<u64>,
    hash: u64,
}

impl Key<'_> {
    fn toggle_zero(&mut self, h: usize) {
        let flat = self.flat;
        match h < flat.neurons {
            true => {
                let (word, bit) = flat.place(h);
                self.words[flat.words + word] ^= bit;
            }
            false => self.words[2 * flat.words] ^= 1 << (h - flat.neurons),
        }
        self.hash ^= self.marks.zero[h];
    }

    fn toggle_positive(&mut self, h: usize) {
        let (word, bit) = self.flat.place(h);
        self.words[word] ^= bit;
        self.hash ^= self.marks.positive[h];
    }

    /// Leaves a hyperplane, on its positive side or not, or comes back to it.
    fn leave(&mut self, h: usize, positive: bool) {
        self.toggle_zero(h);
        if positive {
            self.toggle_positive(h);
        }
    }
}

/// The cells of one dimension by their sign vectors.
struct Level {
    /// The number of words of a key.
    stride: usize,
    keys: Vec<u64>,
    hashes: Vec<u64>,
}

impl Level {
    fn key(&self, cell: usize) -> &[u64] {
        &self.keys[cell * self.stride..(cell + 1) * self.stride]
    }

    fn cells(&self, flat: &FlatNetwork) -> Cells {
        let bytes = byte_signs();
        let count = self.hashes.len();
        let mut signs = vec![Sign::Negative; count * flat.neurons];
        let mut sides = Vec::with_capacity(count);
        for (cell, key) in self.keys.chunks_exact(self.stride).enumerate() {
            let own = &mut signs[cell * flat.neurons..(cell + 1) * flat.neurons];
            for layer in flat.layers.iter().filter(|layer| layer.relu) {
                let own = &mut own[layer.first..layer.first + layer.width];
                for (block, own) in own.chunks_mut(64).enumerate() {
                    let positive = key[layer.word + block].to_le_bytes();
                    for (own, byte) in own.chunks_mut(8).zip(positive) {
                        own.copy_from_slice(&bytes[usize::from(byte)][..own.len()]);
                    }
                    for bit in bits_of(key[flat.words + layer.word + block]) {
                        own[bit as usize] = Sign::Zero;
                    }
                }
            }
            sides.push(key[self.stride - 1]);
        }
        Cells::new(flat.neurons, signs, sides)
    }

    fn table(&self) -> Table<'_> {
        let bits = (2 * self.hashes.len()).next_power_of_two().trailing_zeros().max(1);
        let mut table = Table { level: self, shift: 64 - bits, places: vec![(0, 0); 1 << bits] };
        for (number, &hash) in self.hashes.iter().enumerate() {
            let mut at = table.home(hash);
            while table.places[at].1 != 0 {
                at = table.next(at);
            }
            table.places[at] = (hash as u32, number as u32 + 1);
        }
        table
    }
}

/// The signs of eight neurons for every byte that tells which of them are positive, the others being negative.
fn byte_signs() -> [[Sign; 8]; 256] {
    let sign = |byte: usize, place: usize| match byte >> place & 1 {
        1 => Sign::Positive,
        _ => Sign::Negative,
    };
    std::array::from_fn(|byte| std::array::from_fn(|place| sign(byte, place)))
}

/// Where the cells of one dimension are found by their sign vectors.
struct Table<'a> {
    level: &'a Level,
    shift: u32,
    /// A part of the hash, and the number of the cell plus one.
    places: Vec<(u32, u32)>,
}

impl Table<'_> {
    fn home(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }

    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.places.len() - 1)
    }

    fn find(&self, key: &Key) -> u32 {
        let mut at = self.home(key.hash);
        loop {
            let (tag, entry) = self.places[at];
            assert!(entry != 0, "the cells around a cell of a simple complex are listed");
            if tag == key.hash as u32 && self.level.key(entry as usize - 1) == key.words {
                return entry - 1;
            }
            at = self.next(at);
        }
    }
}

/// The sign vectors of all cells of some dimensions.
fn list(
    frame: &Frame,
    skeleton: &Skeleton,
    marks: &Marks,
    dimensions: &RangeInclusive<usize>,
    deadline: &Deadline,
) -> Option<Vec<Level>> {
    let (flat, d) = (&frame.flat, skeleton.dimension);
    let stride = 2 * flat.words + 1;
    let level = |_| Level { stride, keys: Vec::new(), hashes: Vec::new() };
    let mut up = vec![[None::<u8>; 2]; skeleton.zeros.len()];
    for edge in &skeleton.edges {
        let v = edge.ends[0] as usize;
        let slot = skeleton.zeros_of(v).iter().position(|&h| h == edge.left[0] >> 1);
        let sides = &mut up[v * d + slot.expect("an edge leaves a hyperplane of its end")];
        let side = (edge.left[0] & 1) as u8;
        sides[usize::from(sides[0].is_some())] = Some(side);
    }
    let mut levels: Vec<Level> = dimensions.clone().map(level).collect();
    for (count, level) in expected(&up, d)[*dimensions.start()..].iter().zip(&mut levels) {
        level.keys.reserve_exact(count * stride);
        level.hashes.reserve_exact(*count);
    }
    let mut listing =
        Listing { key: Key { flat, marks, words: vec![0; stride], hash: 0 }, levels, dimensions };
    for v in 0..skeleton.len() {
        if v % CHUNK == 0 && deadline.is_past() {
            return None;
        }
        let key = &mut listing.key;
        key.words.fill(0);
        key.words[..flat.words].copy_from_slice(skeleton.signs_of(v));
        key.hash = positive_hash(flat, marks, skeleton.signs_of(v));
        for &h in skeleton.zeros_of(v) {
            key.toggle_zero(h as usize);
        }
        listing.choose(skeleton.zeros_of(v), &up[v * d..(v + 1) * d], 0);
    }
    Some(listing.levels)
}

/// The number of cells of each dimension, from the ways up from every vertex.
fn expected(up: &[[Option<u8>; 2]], d: usize) -> Vec<usize> {
    let mut all = vec![0; d + 1];
    let mut ways = vec![0; d + 1];
    for up in up.chunks_exact(d) {
        ways.fill(0);
        ways[0] = 1;
        for (k, sides) in up.iter().enumerate() {
            let sides = sides.iter().flatten().count();
            for dimension in (0..=k).rev() {
                ways[dimension + 1] += sides * ways[dimension];
            }
        }
        all.iter_mut().zip(&ways).for_each(|(all, ways)| *all += ways);
    }
    all
}

fn positive_hash(flat: &FlatNetwork, marks: &Marks, signs: &[u64]) -> u64 {
    let mut hash = 0;
    for layer in flat.layers.iter().filter(|layer| layer.relu) {
        for (block, &word) in signs[layer.word..layer.word + layer.words()].iter().enumerate() {
            let first = layer.first + 64 * block;
            hash = bits_of(word).fold(hash, |hash, bit| hash ^ marks.positive[first + bit as usize]);
        }
    }
    hash
}

/// The cells so far, and the sign vector of the one that is being chosen.
struct Listing<'a> {
    key: Key<'a>,
    dimensions: &'a RangeInclusive<usize>,
    /// One for each of the dimensions.
    levels: Vec<Level>,
}

impl Listing<'_> {
    /// Goes through all choices for the hyperplanes that are left.
    fn choose(&mut self, zeros: &[u32], up: &[[Option<u8>; 2]], dimension: usize) {
        if dimension > *self.dimensions.end() || dimension + zeros.len() < *self.dimensions.start() {
            return;
        }
        let Some((&h, zeros)) = zeros.split_first() else {
            let level = &mut self.levels[dimension - self.dimensions.start()];
            level.keys.extend_from_slice(&self.key.words);
            level.hashes.push(self.key.hash);
            return;
        };
        self.choose(zeros, &up[1..], dimension);
        for side in up[0].into_iter().flatten() {
            self.key.leave(h as usize, side == 1);
            self.choose(zeros, &up[1..], dimension + 1);
            self.key.leave(h as usize, side == 1);
        }
    }
}

/// The cells of the next dimension around every cell.
fn join(frame: &Frame, marks: &Marks, level: &Level, above: &Table, deadline: &Deadline) -> Option<Lists> {
    let flat = &frame.flat;
    let chunk = |first: usize| {
        if deadline.is_past() {
            return None;
        }
        let mut lists = Lists::default();
        let mut key = Key { flat, marks, words: Vec::new(), hash: 0 };
        let mut around = Vec::new();
        for cell in first..(first + CHUNK).min(level.hashes.len()) {
            key.words.clear();
            key.words.extend_from_slice(level.key(cell));
            key.hash = level.hashes[cell];
            around.clear();
            for layer in flat.layers.iter().filter(|layer| layer.relu) {
                for block in 0..layer.words() {
                    for bit in bits_of(level.key(cell)[flat.words + layer.word + block]) {
                        let h = layer.first + 64 * block + bit as usize;
                        for positive in [false, true] {
                            key.leave(h, positive);
                            around.push(above.find(&key));
                            key.leave(h, positive);
                        }
                    }
                }
            }
            for side in bits_of(level.key(cell)[2 * flat.words]) {
                let h = flat.neurons + side as usize;
                key.toggle_zero(h);
                around.push(above.find(&key));
                key.toggle_zero(h);
            }
            around.sort_unstable();
            lists.push(around.iter().copied());
        }
        Some(lists)
    };
    let chunks: Vec<Lists> = (0..level.hashes.len().div_ceil(CHUNK))
        .into_par_iter()
        .map(|c| chunk(c * CHUNK))
        .collect::<Option<_>>()?;
    let mut all = Lists::default();
    chunks.iter().for_each(|lists| all.append(lists));
    Some(all)
}
