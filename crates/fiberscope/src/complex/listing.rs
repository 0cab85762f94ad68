//! All cells of a simple complex, from its certified vertices and edges.
//!
//! Every cell is listed once, at its lowest vertex, as a choice of stay or go up for each hyperplane there
//! ([`super::count`]). Its facets are found from the other side: a cell is a facet of those whose sign vector
//! differs from its own in one zero.

use std::collections::HashMap;

use fiberscope_core::Sign;

use super::frame::Frame;
use super::lattice::LatticeCell;
use super::skeleton::Skeleton;
use crate::limit::Deadline;

/// Lists the cells by dimension; the vertices in the order of the skeleton. `None` if the deadline comes
/// first.
pub(crate) fn list_cells(
    frame: &Frame,
    skeleton: &Skeleton,
    deadline: &Deadline,
) -> Option<Vec<Vec<LatticeCell>>> {
    let d = skeleton.dimension;
    let mut listing = Listing {
        frame,
        cells: vec![Vec::new(); d + 1],
        keys: vec![Vec::new(); d + 1],
        numbers: vec![HashMap::new(); d + 1],
    };
    let mut up = vec![[None::<u8>; 2]; skeleton.zeros.len()];
    for edge in &skeleton.edges {
        let v = edge.ends[0] as usize;
        let slot = skeleton.zeros_of(v).iter().position(|&h| h == edge.left[0] >> 1);
        let sides = &mut up[v * d + slot.expect("an edge leaves a hyperplane of its end")];
        let side = (edge.left[0] & 1) as u8;
        sides[usize::from(sides[0].is_some())] = Some(side);
    }
    for v in 0..skeleton.len() {
        if deadline.is_past() {
            return None;
        }
        let mut key: Vec<u64> = skeleton.signs_of(v).to_vec();
        key.extend(std::iter::repeat_n(0, skeleton.words + 1));
        for &h in skeleton.zeros_of(v) {
            listing.toggle_zero(&mut key, h as usize);
        }
        listing.choose(&mut key, skeleton.zeros_of(v), &up[v * d..(v + 1) * d], 0);
    }
    listing.join();
    Some(listing.cells)
}

struct Listing<'a> {
    frame: &'a Frame,
    cells: Vec<Vec<LatticeCell>>,
    /// Positive neurons, zero neurons, sides.
    keys: Vec<Vec<Box<[u64]>>>,
    numbers: Vec<HashMap<Box<[u64]>, u32>>,
}

impl Listing<'_> {
    fn toggle_zero(&self, key: &mut [u64], h: usize) {
        let flat = &self.frame.flat;
        if h < flat.neurons {
            let (word, bit) = flat.place(h);
            key[flat.words + word] ^= bit;
        } else {
            key[2 * flat.words] ^= 1 << (h - flat.neurons);
        }
    }

    fn toggle_positive(&self, key: &mut [u64], h: usize) {
        let (word, bit) = self.frame.flat.place(h);
        key[word] ^= bit;
    }

    /// Goes through all choices for the hyperplanes that are left.
    fn choose(&mut self, key: &mut [u64], zeros: &[u32], up: &[[Option<u8>; 2]], dimension: usize) {
        let Some((&h, zeros)) = zeros.split_first() else {
            let number = self.cells[dimension].len() as u32;
            let signs = self.signs(key);
            let sides = key[key.len() - 1];
            self.cells[dimension].push(LatticeCell { facets: Vec::new(), signs, sides });
            self.numbers[dimension].insert(key.into(), number);
            self.keys[dimension].push(key.into());
            return;
        };
        self.choose(key, zeros, &up[1..], dimension);
        for side in up[0].into_iter().flatten() {
            self.toggle_zero(key, h as usize);
            if side == 1 {
                self.toggle_positive(key, h as usize);
            }
            self.choose(key, zeros, &up[1..], dimension + 1);
            if side == 1 {
                self.toggle_positive(key, h as usize);
            }
            self.toggle_zero(key, h as usize);
        }
    }

    fn signs(&self, key: &[u64]) -> Vec<Sign> {
        let flat = &self.frame.flat;
        let sign = |neuron: usize| {
            let (word, bit) = flat.place(neuron);
            if key[word] & bit != 0 {
                Sign::Positive
            } else if key[flat.words + word] & bit != 0 {
                Sign::Zero
            } else {
                Sign::Negative
            }
        };
        (0..flat.neurons).map(sign).collect()
    }

    /// Enters every cell into the lists of facets of the cells around it.
    fn join(&mut self) {
        let flat = &self.frame.flat;
        for k in 0..self.cells.len() - 1 {
            for c in 0..self.cells[k].len() {
                let mut key = self.keys[k][c].clone();
                let zeros: Vec<usize> =
                    (0..flat.neurons).filter(|&h| self.cells[k][c].signs[h] == Sign::Zero).collect();
                for h in zeros {
                    self.toggle_zero(&mut key, h);
                    self.enter(k, c, &key);
                    self.toggle_positive(&mut key, h);
                    self.enter(k, c, &key);
                    self.toggle_positive(&mut key, h);
                    self.toggle_zero(&mut key, h);
                }
                for side in
                    (0..2 * self.frame.dimension()).filter(|side| key[2 * flat.words] >> side & 1 == 1)
                {
                    let mut key = key.clone();
                    key[2 * flat.words] ^= 1 << side;
                    self.enter(k, c, &key);
                }
            }
        }
    }

    fn enter(&mut self, k: usize, c: usize, key: &[u64]) {
        let number = self.numbers[k + 1][key];
        self.cells[k + 1][number as usize].facets.push(c as u32);
    }
}
