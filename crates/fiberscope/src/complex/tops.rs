//! The regions, facets and ridges of a simple complex, found around its vertices without their sign vectors.
//!
//! Every cell is listed once, at its lowest vertex ([`super::count`]), and known by a hash of its sign vector: a sum
//! of a word for every zero and of words for the positive neurons ([`super::faces`]), so that leaving a zero adds a
//! number. The cells around a cell of a simple complex are listed. So if no two of a dimension have the same hash,
//! which is looked at while they are entered, then the cell that is found by the hash of a cell around another is
//! that cell. Nothing else is compared.

use super::faces::{Faces, count};
use super::flat::FlatNetwork;
use super::skeleton::Skeleton;
use crate::limit::{Deadline, LimitReached};

/// Vertices that are looked at before the clock is.
pub(crate) const CHUNK: usize = 1 << 10;

/// An odd number that spreads hashes over a table.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// What is known around the vertices.
pub(crate) struct Tops<'a> {
    flat: &'a FlatNetwork,
    skeleton: &'a Skeleton,
    faces: Faces,
    /// For every hyperplane at every vertex the sides on which an edge that leaves it alone goes up: a bit each.
    up: Vec<u8>,
}

/// A cell at its lowest vertex.
#[derive(Clone, Copy)]
pub(crate) struct Top {
    pub vertex: u32,
    pub hash: u64,
    /// The hyperplanes at the vertex, by their places, that the cell lies on the positive side of.
    pub positive: u32,
}

impl<'a> Tops<'a> {
    pub fn new(flat: &'a FlatNetwork, skeleton: &'a Skeleton) -> Self {
        let d = skeleton.dimension;
        let mut up = vec![0u8; skeleton.zeros.len()];
        for edge in &skeleton.edges {
            let v = edge.ends[0] as usize;
            let slot = skeleton.zeros_of(v).iter().position(|&h| h == edge.left[0] >> 1);
            up[v * d + slot.expect("an edge leaves a hyperplane of its end")] |= 1 << (edge.left[0] & 1);
        }
        Tops { flat, skeleton, faces: Faces::new(flat, d, 0), up }
    }

    /// The places of the neurons among the hyperplanes at a vertex: behind the sides of the box.
    fn neurons_at(&self, v: usize) -> std::ops::Range<usize> {
        let zeros = self.skeleton.zeros_of(v);
        let sides = zeros.iter().take_while(|&&h| h as usize >= self.flat.neurons).count();
        sides..zeros.len()
    }

    /// The hash of a vertex.
    fn hash(&self, v: usize) -> u64 {
        let positive = self.skeleton.signs_of(v).iter().zip(&self.faces.weights);
        let hash = positive.fold(0, |sum: u64, (&signs, &weights)| sum.wrapping_add(count(weights, signs)));
        let zeros = self.skeleton.zeros_of(v).iter();
        zeros.fold(hash, |sum, &h| sum.wrapping_sub(self.faces.leave[h as usize][0]))
    }

    /// The hash of the cell around one on which a neuron vanishes, on its positive side or not.
    #[inline]
    pub fn beside(&self, hash: u64, neuron: u32, positive: bool) -> u64 {
        hash.wrapping_add(self.faces.leave[neuron as usize][usize::from(positive)])
    }

    /// The cells with this lowest vertex that stay on the hyperplanes with these places and leave all others.
    fn leaving(&self, v: usize, hash: u64, stay: u32, cells: &mut Vec<Top>) {
        let d = self.skeleton.dimension;
        let (zeros, up) = (self.skeleton.zeros_of(v), &self.up[v * d..(v + 1) * d]);
        cells.clear();
        cells.push(Top { vertex: v as u32, hash, positive: 0 });
        for slot in (0..d).filter(|slot| stay >> slot & 1 == 0) {
            let [off, on] = self.faces.leave[zeros[slot] as usize];
            for at in 0..cells.len() {
                let cell = cells[at];
                let left = |(side, change): (u32, u64)| Top {
                    hash: cell.hash.wrapping_add(change),
                    positive: cell.positive | side << slot,
                    ..cell
                };
                match up[slot] {
                    0 => return cells.clear(),
                    1 => cells[at] = left((0, off)),
                    2 => cells[at] = left((1, on)),
                    _ => {
                        cells[at] = left((0, off));
                        cells.push(left((1, on)));
                    }
                }
            }
        }
    }

    /// All regions.
    pub fn regions(&self, deadline: &Deadline, when: &'static str) -> Result<Vec<Top>, LimitReached> {
        let (mut regions, mut cells) = (Vec::new(), Vec::new());
        for v in 0..self.skeleton.len() {
            if v % CHUNK == 0 {
                deadline.check(when)?;
            }
            self.leaving(v, self.hash(v), 0, &mut cells);
            regions.extend_from_slice(&cells);
        }
        Ok(regions)
    }

    /// All facets between two regions, with the neurons that vanish on them.
    pub fn facets(&self, deadline: &Deadline, when: &'static str) -> Result<Vec<(u32, Top)>, LimitReached> {
        let (mut facets, mut cells) = (Vec::new(), Vec::new());
        for v in 0..self.skeleton.len() {
            if v % CHUNK == 0 {
                deadline.check(when)?;
            }
            let hash = self.hash(v);
            for slot in self.neurons_at(v) {
                self.leaving(v, hash, 1 << slot, &mut cells);
                let neuron = self.skeleton.zeros_of(v)[slot];
                facets.extend(cells.iter().map(|&cell| (neuron, cell)));
            }
        }
        Ok(facets)
    }

    /// The ridges inside the domain with these lowest vertices, each with the two neurons that vanish there, the
    /// lower one first.
    pub fn ridges(&self, vertices: std::ops::Range<usize>, mut visit: impl FnMut([u32; 2], Top)) {
        let mut cells = Vec::new();
        for v in vertices {
            let (hash, zeros) = (self.hash(v), self.skeleton.zeros_of(v));
            let own = self.neurons_at(v);
            for first in own.clone() {
                for second in first + 1..own.end {
                    self.leaving(v, hash, 1 << first | 1 << second, &mut cells);
                    cells.iter().for_each(|&cell| visit([zeros[first], zeros[second]], cell));
                }
            }
        }
    }

    /// Adds the positive neurons of a cell, a bit each.
    pub fn add_positive(&self, cell: Top, words: &mut Vec<u64>) {
        let (v, first) = (cell.vertex as usize, words.len());
        words.extend_from_slice(self.skeleton.signs_of(v));
        for (slot, &h) in self.skeleton.zeros_of(v).iter().enumerate() {
            if cell.positive >> slot & 1 == 1 {
                let (word, bit) = self.flat.place(h as usize);
                words[first + word] |= bit;
            }
        }
    }
}

/// Numbers of cells by their hashes.
pub(crate) struct Numbers {
    shift: u32,
    places: Vec<(u64, u32)>,
}

/// No number.
const NONE: u32 = u32::MAX;

impl Numbers {
    /// Cells are numbered in the order of their hashes; `None` if two have the same one.
    pub fn new(hashes: impl ExactSizeIterator<Item = u64>) -> Option<Self> {
        let bits = (2 * hashes.len()).next_power_of_two().trailing_zeros().max(1);
        let mut numbers = Numbers { shift: 64 - bits, places: vec![(0, NONE); 1 << bits] };
        for (number, hash) in (0..).zip(hashes) {
            let at = numbers.place(hash);
            if numbers.places[at].1 != NONE {
                return None;
            }
            numbers.places[at] = (hash, number);
        }
        Some(numbers)
    }

    /// Where a hash is, or would be.
    #[inline]
    fn place(&self, hash: u64) -> usize {
        let mut at = (hash.wrapping_mul(SPREAD) >> self.shift) as usize;
        while self.places[at].1 != NONE && self.places[at].0 != hash {
            at = (at + 1) & (self.places.len() - 1);
        }
        at
    }

    /// The number of the cell with this hash.
    #[inline]
    pub fn find(&self, hash: u64) -> u32 {
        let (_, number) = self.places[self.place(hash)];
        assert!(number != NONE, "the cells around a cell of a simple complex are listed");
        number
    }
}
