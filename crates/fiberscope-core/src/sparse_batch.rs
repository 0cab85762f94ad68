//! Evaluation of many points by a network with sparse layers.
//!
//! The points of a block stand side by side: number `j` of a layer is a run of [`POINTS`] doubles, one for each point.
//! A stored weight `w` in column `j` then adds `w` times a run to the run of its row, which stays in registers
//! until the row is done. The channels of a convolution read the same numbers at the same place: rows with the
//! same columns are worked off together, so that a run is loaded once for all of them. Dense layers of the same
//! network are rows that read everything.
//!
//! The numbers of one point are added in the order of the columns, whatever the other points of its block and the
//! other rows of its group are.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::{Activation, Layer, Network, SparseMatrix, Weights};

/// The points of a block.
pub(crate) const POINTS: usize = 16;

/// The most rows of a group.
const ROWS: usize = 8;

/// Doubles in a line of the cache: no vector of a run reaches over the end of one.
const LINE: usize = 8;

/// How the layers of a network are worked off: for each, its groups of rows.
pub(crate) struct Plan<'n> {
    layers: Vec<(&'n Layer, Groups)>,
}

impl<'n> Plan<'n> {
    pub(crate) fn new(network: &'n Network) -> Self {
        let groups = |layer: &'n Layer| match layer.weights() {
            Weights::Dense(matrix) => Groups::of_all(matrix.rows()),
            Weights::Sparse(matrix) => Groups::with_same_columns(matrix),
        };
        Plan { layers: network.layers().iter().map(|layer| (layer, groups(layer))).collect() }
    }

    /// Evaluates at most [`POINTS`] points, stored row by row, into `values`.
    pub(crate) fn evaluate_block(&self, room: &mut Room, points: &[f64], values: &mut [f64]) {
        let (Some((first, _)), Some((last, _))) = (self.layers.first(), self.layers.last()) else { return };
        let (inputs, outputs) = (first.input_width(), last.width());
        let Room { current, next } = room;
        side_by_side(points, inputs, current.resized(inputs));
        for (layer, groups) in &self.layers {
            let output = next.resized(layer.width());
            pulp::Arch::new().dispatch(Runs { layer, groups, input: current.numbers(), output });
            std::mem::swap(current, next);
        }
        for (p, value) in values.chunks_exact_mut(outputs).enumerate() {
            value.iter_mut().enumerate().for_each(|(i, y)| *y = current.numbers()[i * POINTS + p]);
        }
    }
}

/// Turns points, stored one after the other, into runs.
fn side_by_side(points: &[f64], inputs: usize, runs: &mut [f64]) {
    for (tile, runs) in runs.chunks_mut(LINE * POINTS).enumerate() {
        for (p, point) in points.chunks_exact(inputs).enumerate() {
            let from = &point[tile * LINE..];
            from.iter().zip(runs[p..].iter_mut().step_by(POINTS)).for_each(|(&x, place)| *place = x);
        }
    }
}

/// The numbers of two layers, kept from one block to the next.
#[derive(Default)]
pub(crate) struct Room {
    current: Block,
    next: Block,
}

/// Runs that begin where a line of the cache does.
#[derive(Default)]
struct Block {
    store: Vec<f64>,
    start: usize,
    length: usize,
}

impl Block {
    /// Room for so many runs, with any numbers in it.
    fn resized(&mut self, runs: usize) -> &mut [f64] {
        self.length = runs * POINTS;
        if self.store.len() < self.length + LINE {
            self.store = vec![0.0; self.length + LINE];
        }
        self.start = self.store.as_ptr().align_offset(LINE * size_of::<f64>()).min(LINE);
        &mut self.store[self.start..self.start + self.length]
    }

    fn numbers(&self) -> &[f64] {
        &self.store[self.start..self.start + self.length]
    }
}

/// Rows in groups of 8, 4, 2 or 1 that read the same columns.
struct Groups {
    rows: Vec<u32>,
    ends: Vec<usize>,
}

impl Groups {
    /// All of so many rows read the same.
    fn of_all(rows: usize) -> Self {
        let mut groups = Groups { rows: Vec::with_capacity(rows), ends: Vec::new() };
        groups.push(&(0..index(rows)).collect::<Vec<_>>());
        groups
    }

    /// The rows of a matrix, those with the same columns together.
    fn with_same_columns(matrix: &SparseMatrix) -> Self {
        let mut open: Vec<Vec<u32>> = Vec::new();
        // Rows that agree in length and both ends mostly agree; what does not begins another group.
        let mut last: HashMap<(usize, Option<u32>, Option<u32>), usize> = HashMap::new();
        for i in 0..matrix.rows() {
            let (columns, _) = matrix.row(i);
            match last.entry((columns.len(), columns.first().copied(), columns.last().copied())) {
                Entry::Occupied(group) if matrix.row(open[*group.get()][0] as usize).0 == columns => {
                    open[*group.get()].push(index(i));
                }
                group => {
                    group.insert_entry(open.len());
                    open.push(vec![index(i)]);
                }
            }
        }
        let mut groups = Groups { rows: Vec::with_capacity(matrix.rows()), ends: Vec::new() };
        // Neighbours read nearly the same numbers: the first rows of all groups, then the next ones.
        let most = open.iter().map(Vec::len).max().unwrap_or(0);
        for start in (0..most).step_by(ROWS) {
            for rows in open.iter().filter(|rows| rows.len() > start) {
                groups.push(&rows[start..rows.len().min(start + ROWS)]);
            }
        }
        groups
    }

    fn push(&mut self, mut rows: &[u32]) {
        while !rows.is_empty() {
            let size = [8, 4, 2, 1].into_iter().find(|&size| size <= rows.len()).unwrap_or(1);
            let (now, rest) = rows.split_at(size);
            self.rows.extend_from_slice(now);
            self.ends.push(self.rows.len());
            rows = rest;
        }
    }

    fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.rows[start..end])
    }
}

fn index(row: usize) -> u32 {
    u32::try_from(row).expect("a layer has fewer than 2^32 rows")
}

/// `output = act(W input + b)` on runs.
struct Runs<'a> {
    layer: &'a Layer,
    groups: &'a Groups,
    input: &'a [f64],
    output: &'a mut [f64],
}

impl pulp::WithSimd for Runs<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let Runs { layer, groups, input, output } = self;
        let mut runs =
            Vectors { simd, layer, input: S::as_simd_f64s(input).0, output: S::as_mut_simd_f64s(output).0 };
        for rows in groups.iter() {
            match *rows {
                // Sixteen sums stay in the registers of the widest vectors, eight in those of others.
                [a, b, c, d, e, f, g, h] if S::F64_LANES >= 8 => runs.group([a, b, c, d, e, f, g, h]),
                [a, b, c, d, e, f, g, h] => {
                    runs.group([a, b, c, d]);
                    runs.group([e, f, g, h]);
                }
                [a, b, c, d] => runs.group([a, b, c, d]),
                [a, b] => runs.group([a, b]),
                _ => rows.iter().for_each(|&row| runs.group([row])),
            }
        }
    }
}

/// The same in vectors of the machine.
struct Vectors<'a, S: pulp::Simd> {
    simd: S,
    layer: &'a Layer,
    input: &'a [S::f64s],
    output: &'a mut [S::f64s],
}

impl<S: pulp::Simd> Vectors<'_, S> {
    #[inline(always)]
    fn group<const R: usize>(&mut self, rows: [u32; R]) {
        match self.layer.weights() {
            Weights::Dense(matrix) => {
                self.sums(rows, rows.map(|row| matrix.row(row as usize)), 0..matrix.cols());
            }
            Weights::Sparse(matrix) => {
                let (columns, _) = matrix.row(rows[0] as usize);
                let entries = rows.map(|row| matrix.row(row as usize).1);
                self.sums(rows, entries, columns.iter().map(|&column| column as usize));
            }
        }
    }

    /// The runs of some rows, two vectors of each at a time.
    #[inline(always)]
    fn sums<const R: usize>(
        &mut self,
        rows: [u32; R],
        entries: [&[f64]; R],
        columns: impl ExactSizeIterator<Item = usize> + Clone,
    ) {
        const AT_A_TIME: usize = 2;
        let (simd, vectors) = (self.simd, POINTS / S::F64_LANES);
        let zero = simd.splat_f64s(0.0);
        let entries = entries.map(|entries| &entries[..columns.len()]);
        for part in (0..vectors).step_by(AT_A_TIME) {
            let mut sums = [[zero; AT_A_TIME]; R];
            for (at, column) in columns.clone().enumerate() {
                let start = column * vectors + part;
                let &[x, y] = &self.input[start..start + AT_A_TIME] else { return };
                for (sums, entries) in sums.iter_mut().zip(&entries) {
                    let w = simd.splat_f64s(entries[at]);
                    sums[0] = simd.mul_add_e_f64s(w, x, sums[0]);
                    sums[1] = simd.mul_add_e_f64s(w, y, sums[1]);
                }
            }
            for (&row, sums) in rows.iter().zip(sums) {
                let b = simd.splat_f64s(self.layer.bias()[row as usize]);
                let start = row as usize * vectors + part;
                for (out, sum) in self.output[start..start + AT_A_TIME].iter_mut().zip(sums) {
                    let z = simd.add_f64s(sum, b);
                    // As `relu`: NaN stays.
                    let is_off = simd.less_than_or_equal_f64s(z, zero);
                    *out = match self.layer.activation() {
                        Activation::Relu => simd.select_f64s(is_off, zero, z),
                        Activation::Identity => z,
                    };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_the_same_columns_are_together_and_every_row_is_in_one_group() {
        // Eleven channels of three places, one of them with a zero.
        let mut matrix = SparseMatrix::new(8);
        for i in 0..33 {
            let (channel, place) = (i / 3, i % 3);
            let tap = |k: usize| (place + 2 * k, if (channel, k) == (4, 1) { 0.0 } else { 1.0 + i as f64 });
            matrix.push_row((0..3).map(tap));
        }
        let groups = Groups::with_same_columns(&matrix);
        let mut seen: Vec<u32> = groups.rows.clone();
        seen.sort_unstable();
        assert_eq!(seen, (0..33).collect::<Vec<_>>());
        for rows in groups.iter() {
            assert!(matches!(rows.len(), 1 | 2 | 4 | 8));
            let columns = |row: u32| matrix.row(row as usize).0;
            assert!(rows.iter().all(|&row| columns(row) == columns(rows[0])));
        }
        let longest = groups.iter().filter(|rows| rows.len() == 8).count();
        assert_eq!(longest, 3, "ten channels share their columns, the one with a zero stands alone");
        assert_eq!(Groups::of_all(15).ends, [8, 12, 14, 15]);
    }

    #[test]
    fn points_stand_side_by_side() {
        let (inputs, count) = (19, 5);
        let points: Vec<f64> = (0..inputs * count).map(|i| i as f64).collect();
        let mut runs = vec![0.0; inputs * POINTS];
        side_by_side(&points, inputs, &mut runs);
        for j in 0..inputs {
            for p in 0..POINTS {
                let expected = if p < count { (p * inputs + j) as f64 } else { 0.0 };
                assert_eq!(runs[j * POINTS + p], expected);
            }
        }
    }
}
