//! The moves out of one stratum, from bit masks: the inner loop of the stratum dag.
//!
//! The move up on `f = [h, k]`, `e = [i, l]` covers (is no composition of moves) iff no bar `[x, y]`
//! is present with `h <= x <= i` and `k <= y <= l`, except the corners `[h, k], [i, l], [h, l], [i, k]`.

use super::{Bar, Barcode};

/// A barcode laid out for finding moves: multiplicities by start and end, and for every start the set
/// of ends that occur, as bits.
#[derive(Clone, Debug)]
pub(super) struct LocalBarcode {
    depth: usize,
    counts: Vec<u32>,
    ends: Vec<u128>,
}

/// A move up on the bars `source` and `target`.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalMove {
    pub source: Bar,
    pub target: Bar,
    /// The number of pairs of copies.
    pub pairs: u64,
}

impl LocalBarcode {
    pub fn new(depth: usize) -> Self {
        LocalBarcode { depth, counts: vec![0; (depth + 1) * (depth + 1)], ends: vec![0; depth + 1] }
    }

    pub fn of(barcode: &Barcode) -> Self {
        let mut local = LocalBarcode::new(barcode.depth());
        for (bar, count) in barcode.bars() {
            local.put(bar, count as u32);
        }
        local
    }

    /// Reads a valid rank list: `r_{k~i}` at `k (k - 1) / 2 + i`.
    pub fn load(&mut self, widths: &[usize], ranks: &[u16]) {
        let depth = self.depth;
        self.counts.fill(0);
        self.ends.fill(0);
        let rank = |k: usize, i: usize| -> i32 {
            if k == i { widths[k] as i32 } else { i32::from(ranks[k * (k - 1) / 2 + i]) }
        };
        for start in 0..=depth {
            // Bars born at `start` that are alive at `end`.
            let born = |end: usize| rank(end, start) - if start > 0 { rank(end, start - 1) } else { 0 };
            let mut alive = born(start);
            for end in start..=depth {
                let still = if end < depth { born(end + 1) } else { 0 };
                if alive > still {
                    self.put(Bar { start, end }, (alive - still) as u32);
                }
                alive = still;
                if alive == 0 {
                    break;
                }
            }
        }
    }

    fn put(&mut self, bar: Bar, count: u32) {
        self.counts[bar.start * (self.depth + 1) + bar.end] = count;
        self.ends[bar.start] |= 1 << bar.end;
    }

    pub fn count(&self, bar: Bar) -> u64 {
        u64::from(self.counts[bar.start * (self.depth + 1) + bar.end])
    }

    /// The bars that are present, by start, then by end.
    pub fn bars(&self) -> impl Iterator<Item = Bar> + '_ {
        (0..=self.depth).flat_map(|start| bits(self.ends[start]).map(move |end| Bar { start, end }))
    }

    /// Every pair of bar types with `Ext = 1`, including those that change the product.
    pub fn extensions(&self) -> impl Iterator<Item = LocalMove> + '_ {
        self.bars().flat_map(move |source| {
            let later = !0u128 << (source.end + 1);
            let starts = source.start + 1..=(source.end + 1).min(self.depth);
            starts.flat_map(move |start| {
                bits(self.ends[start] & later).map(move |end| {
                    let target = Bar { start, end };
                    LocalMove { source, target, pairs: self.count(source) * self.count(target) }
                })
            })
        })
    }

    /// Whether the move keeps the rank of the product.
    pub fn keeps_product(&self, step: &LocalMove) -> bool {
        step.source.start != 0 || step.target.end != self.depth
    }

    /// Whether the move is a covering relation.
    pub fn covers(&self, step: &LocalMove) -> bool {
        let (Bar { start: h, end: k }, Bar { start: i, end: l }) = (step.source, step.target);
        let inner = range(k + 1, l);
        let outer = inner | 1 << k | 1 << l;
        (self.ends[h] | self.ends[i]) & inner == 0 && self.ends[h + 1..i].iter().all(|ends| ends & outer == 0)
    }

    /// `sum over k, i with i <= k + 1 of omega_{k0} omega_{Li}`, the rank of the differential of `mu`.
    pub fn differential_rank(&self) -> u64 {
        let mut rank = 0;
        for end in bits(self.ends[0]) {
            let starts = 0..=(end + 1).min(self.depth);
            let reached: u64 = starts.map(|start| self.count(Bar { start, end: self.depth })).sum();
            rank += self.count(Bar { start: 0, end }) * reached;
        }
        rank
    }

    /// `e`, if the stratum has `2^e` connected components; see [`super::Stratum::component_exponent`].
    pub fn component_exponent(&self, basis: &mut Vec<u128>) -> u32 {
        let depth = self.depth;
        basis.clear();
        let mut columns = 0u128;
        for bar in self.bars() {
            let row = super::signs::sign_row(bar, depth);
            columns |= row;
            insert(basis, row);
        }
        // Hidden layers count even if no bar touches them, which cannot be: widths are positive.
        columns.count_ones() - basis.len() as u32
    }
}

/// The bits `from..to`.
fn range(from: usize, to: usize) -> u128 {
    (1u128 << to) - (1u128 << from)
}

/// The positions of the bits that are set.
fn bits(mut mask: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(bit)
    })
}

/// Adds a vector over GF(2) to a basis in echelon form, if it is independent.
fn insert(basis: &mut Vec<u128>, mut row: u128) {
    for &other in basis.iter() {
        row = row.min(row ^ other);
    }
    if row != 0 {
        basis.push(row);
    }
}
