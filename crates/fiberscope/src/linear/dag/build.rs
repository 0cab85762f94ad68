//! Numbers and edges of strata, in parallel over consecutive ones, with a hash table to find the other ends.

use rayon::prelude::*;

use super::Numbers;
use crate::linear::local::{LocalBarcode, LocalMove};
use crate::linear::{LinearError, StratumOptions, StratumTable};

/// The numbers and edges of all strata of a table, in order.
pub fn chunks(table: &StratumTable, options: &StratumOptions) -> Result<Vec<Chunk>, LinearError> {
    let index = Index::new(table);
    (0..table.len().div_ceil(CHUNK))
        .into_par_iter()
        .map_init(
            || Scratch::new(table),
            |scratch, at| {
                options.check_time(table.len())?;
                Ok(scratch.chunk(table, &index, at))
            },
        )
        .collect()
}

/// Strata worked on by one task.
const CHUNK: usize = 4096;

/// The numbers and edges of consecutive strata.
pub struct Chunk {
    pub numbers: Vec<Numbers>,
    pub first_edge: Vec<u32>,
    pub targets: Vec<u32>,
    pub bars: Vec<[u8; 4]>,
    pub moves: u64,
}

struct Scratch {
    barcode: LocalBarcode,
    basis: Vec<u128>,
    above: Vec<u16>,
}

impl Scratch {
    fn new(table: &StratumTable) -> Self {
        let barcode = LocalBarcode::new(table.fiber().depth());
        Scratch { barcode, basis: Vec::new(), above: vec![0; table.stride()] }
    }

    fn chunk(&mut self, table: &StratumTable, index: &Index, at: usize) -> Chunk {
        let range = at * CHUNK..table.len().min((at + 1) * CHUNK);
        let mut chunk = Chunk {
            numbers: Vec::with_capacity(range.len()),
            first_edge: Vec::with_capacity(range.len()),
            targets: Vec::new(),
            bars: Vec::new(),
            moves: 0,
        };
        for at in range {
            self.stratum(table, index, at, &mut chunk);
        }
        chunk
    }

    fn stratum(&mut self, table: &StratumTable, index: &Index, at: usize, chunk: &mut Chunk) {
        let fiber = table.fiber();
        let ranks = table.flat(at);
        self.barcode.load(fiber.widths(), ranks);
        chunk.first_edge.push(chunk.targets.len() as u32);
        let hash = index.hash(ranks);
        let mut codimension = 0;
        for step in self.barcode.extensions() {
            codimension += step.pairs;
            if !self.barcode.keeps_product(&step) {
                continue;
            }
            chunk.moves += 1;
            if self.barcode.covers(&step) {
                self.above.copy_from_slice(ranks);
                raise(&mut self.above, &step);
                let to = index.find(table, hash.wrapping_add(index.change(&step)), &self.above);
                chunk.targets.push(to);
                let bars = [step.source.start, step.source.end, step.target.start, step.target.end];
                chunk.bars.push(bars.map(|layer| layer as u8));
            }
        }
        let dim = fiber.parameter_count() - fiber.product_dimension() - codimension;
        chunk.numbers.push(Numbers {
            dim,
            dof: fiber.parameter_count() - self.barcode.differential_rank(),
            dim_above: dim,
            component_exponent: self.barcode.component_exponent(&mut self.basis),
        });
    }
}

/// Adds 1 to the ranks that the move raises.
fn raise(ranks: &mut [u16], step: &LocalMove) {
    for k in step.source.end + 1..=step.target.end {
        let row = k * (k - 1) / 2;
        ranks[row + step.source.start..row + step.target.start].iter_mut().for_each(|rank| *rank += 1);
    }
}

/// An open-addressing hash table from rank lists to their places.
struct Index {
    slots: Vec<u32>,
    /// One coefficient per rank.
    coefficients: Vec<u64>,
    /// `prefix[y][x]`: the sum of coefficients of `r_{y'~x'}`, `y' < y`, `x' < x`.
    prefix: Vec<Vec<u64>>,
}

const EMPTY: u32 = u32::MAX;

impl Index {
    fn new(table: &StratumTable) -> Self {
        let depth = table.fiber().depth();
        let coefficients: Vec<u64> = (1..=table.stride() as u64).map(scramble).collect();
        let mut prefix = vec![vec![0u64; depth + 2]; depth + 2];
        for y in 0..=depth {
            for x in 0..=depth {
                let own = if x < y { coefficients[y * (y - 1) / 2 + x] } else { 0 };
                prefix[y + 1][x + 1] = own
                    .wrapping_add(prefix[y][x + 1])
                    .wrapping_add(prefix[y + 1][x])
                    .wrapping_sub(prefix[y][x]);
            }
        }
        let slots = vec![EMPTY; (2 * table.len()).next_power_of_two()];
        let mut index = Index { slots, coefficients, prefix };
        for at in 0..table.len() {
            let mut slot = index.slot(index.hash(table.flat(at)));
            while index.slots[slot] != EMPTY {
                slot = (slot + 1) & (index.slots.len() - 1);
            }
            index.slots[slot] = at as u32;
        }
        index
    }

    fn hash(&self, ranks: &[u16]) -> u64 {
        let terms = ranks.iter().zip(&self.coefficients).map(|(&rank, c)| c.wrapping_mul(u64::from(rank)));
        terms.fold(0, u64::wrapping_add)
    }

    /// How a move changes the hash.
    fn change(&self, step: &LocalMove) -> u64 {
        let (x0, x1, y0, y1) =
            (step.source.start, step.target.start, step.source.end + 1, step.target.end + 1);
        let corner = |y: usize, x: usize| self.prefix[y][x];
        corner(y1, x1).wrapping_sub(corner(y0, x1)).wrapping_sub(corner(y1, x0)).wrapping_add(corner(y0, x0))
    }

    fn slot(&self, hash: u64) -> usize {
        scramble(hash) as usize & (self.slots.len() - 1)
    }

    fn find(&self, table: &StratumTable, hash: u64, ranks: &[u16]) -> u32 {
        let mut slot = self.slot(hash);
        while table.flat(self.slots[slot] as usize) != ranks {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot]
    }
}

/// The finalizer of splitmix64.
fn scramble(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
