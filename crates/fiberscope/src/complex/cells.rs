//! The cells of one dimension, side by side in flat arrays.

use fiberscope_core::Sign;

use super::lattice::LatticeCell;

/// Lists of numbers, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    /// Where each list ends.
    ends: Vec<usize>,
    numbers: Vec<u32>,
}

impl Lists {
    /// Empty lists.
    pub fn empty(count: usize) -> Self {
        Lists { ends: vec![0; count], numbers: Vec::new() }
    }

    /// Adds a list.
    pub fn push(&mut self, list: impl IntoIterator<Item = u32>) {
        self.numbers.extend(list);
        self.ends.push(self.numbers.len());
    }

    /// Adds lists.
    pub fn append(&mut self, lists: &Lists) {
        let first = self.numbers.len();
        self.ends.extend(lists.ends.iter().map(|end| first + end));
        self.numbers.extend_from_slice(&lists.numbers);
    }

    /// One of the lists.
    pub fn get(&self, number: usize) -> &[u32] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.numbers[start..self.ends[number]]
    }

    /// For every number below `count` the lists that it is in, in their order.
    pub fn transposed(&self, count: usize) -> Lists {
        // While they are filled, `ends[n]` is where the next entry of list `n` goes.
        let mut ends = vec![0usize; count + 1];
        self.numbers.iter().for_each(|&number| ends[number as usize + 1] += 1);
        for number in 0..count {
            ends[number + 1] += ends[number];
        }
        let mut numbers = vec![0u32; self.numbers.len()];
        for list in 0..self.ends.len() {
            for &number in self.get(list) {
                numbers[ends[number as usize]] = list as u32;
                ends[number as usize] += 1;
            }
        }
        ends.truncate(count);
        Lists { ends, numbers }
    }
}

/// The cells of one dimension.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    /// The number of signs of a cell.
    neurons: usize,
    signs: Vec<Sign>,
    sides: Vec<u64>,
    /// Cells of one dimension less.
    facets: Lists,
    /// Cells of one dimension more that a cell is a facet of.
    cofacets: Lists,
}

impl Cells {
    /// Cells with these signs, one after the other, and sides; what they are joined to comes later.
    pub fn new(neurons: usize, signs: Vec<Sign>, sides: Vec<u64>) -> Self {
        let none = Lists::empty(sides.len());
        Cells { neurons, signs, sides, facets: none.clone(), cofacets: none }
    }

    /// The cells of a lattice, dimension by dimension.
    pub fn of_lattice(neurons: usize, lattice: &[Vec<LatticeCell>]) -> Vec<Self> {
        let of = |cells: &Vec<LatticeCell>| {
            let signs = cells.iter().flat_map(|cell| cell.signs.iter().copied()).collect();
            Cells::new(neurons, signs, cells.iter().map(|cell| cell.sides).collect())
        };
        let mut all: Vec<Cells> = lattice.iter().map(of).collect();
        for (k, cells) in lattice.iter().enumerate().skip(1) {
            let mut facets = Lists::default();
            cells.iter().for_each(|cell| facets.push(cell.facets.iter().copied()));
            all[k - 1].cofacets = facets.transposed(all[k - 1].len());
            all[k].facets = facets;
        }
        all
    }

    /// Enters the cofacets of the cells of every dimension but the last; facets follow from them.
    pub fn join(all: &mut [Cells], cofacets: Vec<Lists>) {
        for (k, cofacets) in cofacets.into_iter().enumerate() {
            all[k + 1].facets = cofacets.transposed(all[k + 1].len());
            all[k].cofacets = cofacets;
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sides.len()
    }

    /// The signs of a cell.
    pub fn signs(&self, cell: usize) -> &[Sign] {
        &self.signs[cell * self.neurons..(cell + 1) * self.neurons]
    }

    /// The sides of the box that contain a cell.
    pub fn sides(&self, cell: usize) -> u64 {
        self.sides[cell]
    }

    /// The facets of a cell.
    pub fn facets(&self, cell: usize) -> &[u32] {
        self.facets.get(cell)
    }

    /// The cells that a cell is a facet of.
    pub fn cofacets(&self, cell: usize) -> &[u32] {
        self.cofacets.get(cell)
    }
}
