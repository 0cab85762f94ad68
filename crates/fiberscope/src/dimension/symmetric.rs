//! Symmetric elimination of a weighted kernel modulo a prime.
//!
//! For positive weights `d` the matrix `K = J diag(d) J^T` has the rank of `J`. It is positive semidefinite
//! over the rationals, so the pivots of `K = L D L^T` stay on the diagonal: a diagonal entry that becomes
//! zero belongs to a row that depends on the pivots' rows. That takes half of the multiplications of an
//! elimination without symmetry. Modulo a prime the rank can only be lower, so the number of pivots is a
//! certified lower bound.
//!
//! Columns enter in blocks ("left-looking"), so that neither `K` nor `J` is ever stored: only `L`, below the
//! diagonal and in single precision, which holds residues exactly.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};
use rayon::prelude::*;

use super::elimination::{BASE, Swaps, TILE, exchange, factor, inverse_upper};
use super::field::Field;

/// The elimination of a symmetric matrix whose columns arrive in blocks.
#[derive(Debug)]
pub(super) struct SymmetricElimination<'f> {
    field: &'f Field,
    /// First the rows of the pivots, then those still to be eliminated, then those that depend on pivots'
    /// rows.
    order: Vec<usize>,
    /// Where the last part begins.
    open: usize,
    rank: usize,
    panels: Vec<Panel>,
}

/// The columns of `L` for some pivots, from the row after the last of them on.
#[derive(Debug)]
struct Panel {
    end: usize,
    /// Row by row.
    lower: Vec<f32>,
    pivots: Vec<f64>,
}

impl<'f> SymmetricElimination<'f> {
    /// Nothing eliminated yet.
    pub fn new(field: &'f Field, rows: usize) -> Self {
        SymmetricElimination { field, order: (0..rows).collect(), open: rows, rank: 0, panels: Vec::new() }
    }

    /// The number of pivots.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The rows that are still to be eliminated.
    pub fn remaining(&self) -> &[usize] {
        &self.order[self.rank..self.open]
    }

    /// The bytes in use while a block of so many columns is eliminated.
    pub fn bytes_with(&self, cols: usize) -> usize {
        let stored: usize = self.panels.iter().map(|panel| 4 * panel.lower.len()).sum();
        stored + (2 * 8 + 4) * self.remaining().len() * cols + 8 * self.rank * cols
    }

    /// Eliminates columns: entry `(i, j)` of the block belongs to the rows `remaining()[i]` and
    /// `remaining()[j]`. If it is late ([`Field::is_late`]) the rank stays as it is, and nothing may be
    /// eliminated any more.
    pub fn push(&mut self, mut block: Array2<f64>) {
        let width = block.ncols();
        self.apply_panels(block.view_mut());
        if self.field.is_late() {
            return;
        }
        let mut square = block.slice(s![..width, ..]).to_owned();
        let (mut gained, swaps) = factor(self.field, square.view_mut());
        if gained < width || !swaps.is_empty() {
            let swaps;
            (gained, swaps) = diagonal_pivots(self.field, block.slice(s![..width, ..]).to_owned());
            self.exchange(block.view_mut(), &swaps);
            square = block.slice(s![..gained, ..gained]).to_owned();
            factor(self.field, square.view_mut());
            self.drop_dependent(&mut block, gained, width);
        }
        if gained == 0 {
            return;
        }
        let end = self.rank + gained;
        let mut below = block.slice_mut(s![gained..self.open - self.rank, ..gained]);
        let blocks = UpperBlocks::new(self.field, square.view());
        let tiles: Vec<_> = below.axis_chunks_iter_mut(Axis(0), TILE).collect();
        tiles.into_par_iter().for_each(|tile| blocks.divide(self.field, tile));
        if self.field.is_late() {
            return;
        }
        let lower = below.iter().map(|&x| x as f32).collect();
        self.panels.push(Panel { end, lower, pivots: square.diag().to_vec() });
        self.rank = end;
    }

    /// Does to new columns what was done to those of the panels.
    fn apply_panels(&self, mut block: ArrayViewMut2<f64>) {
        let width = block.ncols();
        let uppers: Vec<Array2<f64>> =
            self.panels.par_iter().map(|panel| panel.upper(self.field, self.rank, width)).collect();
        let tiles: Vec<_> = block.axis_chunks_iter_mut(Axis(0), TILE).enumerate().collect();
        tiles.into_par_iter().for_each_init(Vec::new, |buffer, (tile, mut out)| {
            for (panel, upper) in self.panels.iter().zip(&uppers) {
                let lower = panel.rows(self.rank + tile * TILE, out.nrows(), buffer);
                self.field.add_product_here(-1.0, lower, upper.view(), out.view_mut());
            }
        });
    }

    fn exchange(&mut self, mut block: ArrayViewMut2<f64>, swaps: &Swaps) {
        exchange(block.view_mut(), swaps);
        exchange(block.reversed_axes(), swaps);
        for &(i, j) in swaps {
            self.exchange_order(self.rank + i, self.rank + j);
        }
    }

    fn exchange_order(&mut self, i: usize, j: usize) {
        self.order.swap(i, j);
        for panel in &mut self.panels {
            panel.exchange(i, j);
        }
    }

    /// Moves the rows of a block from `gained` to `width` behind those that are still to be eliminated.
    fn drop_dependent(&mut self, block: &mut Array2<f64>, gained: usize, width: usize) {
        for place in (gained..width).rev() {
            self.open -= 1;
            exchange(block.view_mut(), &[(place, self.open - self.rank)]);
            self.exchange_order(self.rank + place, self.open);
        }
    }
}

impl Panel {
    /// Rows from `first` on, as doubles.
    fn rows<'b>(&self, first: usize, count: usize, buffer: &'b mut Vec<f64>) -> ArrayView2<'b, f64> {
        let width = self.pivots.len();
        buffer.clear();
        let rows = &self.lower[(first - self.end) * width..][..count * width];
        buffer.extend(rows.iter().map(|&x| f64::from(x)));
        ArrayView2::from_shape((count, width), buffer).expect("rows of the panel")
    }

    /// `D L^T` for some rows of `L`: the panel's rows of the upper factor.
    fn upper(&self, field: &Field, first: usize, count: usize) -> Array2<f64> {
        let mut buffer = Vec::new();
        let mut upper = self.rows(first, count, &mut buffer).t().as_standard_layout().into_owned();
        for (mut row, &pivot) in upper.rows_mut().into_iter().zip(&self.pivots) {
            row.iter_mut().for_each(|x| *x = field.reduce(*x * pivot));
        }
        upper
    }

    fn exchange(&mut self, i: usize, j: usize) {
        let (width, i, j) = (self.pivots.len(), i.min(j) - self.end, i.max(j) - self.end);
        if i != j {
            let (first, second) = self.lower.split_at_mut(j * width);
            first[i * width..][..width].swap_with_slice(&mut second[..width]);
        }
    }
}

/// How many pivots the diagonal of a symmetric matrix has, and the exchanges of rows and columns that bring
/// them to the front.
fn diagonal_pivots(field: &Field, mut square: Array2<f64>) -> (usize, Swaps) {
    let n = square.nrows();
    let mut swaps = Vec::new();
    for k in 0..n {
        let Some(pivot) = (k..n).find(|&i| square[(i, i)] != 0.0) else { return (k, swaps) };
        if pivot != k {
            swaps.push((k, pivot));
            exchange(square.view_mut(), &[(k, pivot)]);
            exchange(square.view_mut().reversed_axes(), &[(k, pivot)]);
        }
        let inverse = field.invert(square[(k, k)]);
        let row = square.row(k).to_vec();
        for i in k + 1..n {
            let factor = field.reduce(row[i] * inverse);
            if factor != 0.0 {
                for j in k + 1..n {
                    square[(i, j)] = field.reduce(square[(i, j)] - factor * row[j]);
                }
            }
        }
    }
    (n, swaps)
}

/// An upper triangle `U` with the inverses of its blocks on the diagonal.
struct UpperBlocks<'a> {
    upper: ArrayView2<'a, f64>,
    inverses: Vec<Array2<f64>>,
}

impl<'a> UpperBlocks<'a> {
    fn new(field: &Field, upper: ArrayView2<'a, f64>) -> Self {
        let n = upper.nrows();
        let block = |start: usize| s![start..n.min(start + BASE), start..n.min(start + BASE)];
        let inverse = |start| inverse_upper(field, upper.slice(block(start)));
        UpperBlocks { upper, inverses: (0..n).step_by(BASE).map(inverse).collect() }
    }

    /// `X = X U^-1`.
    fn divide(&self, field: &Field, mut x: ArrayViewMut2<f64>) {
        for (k, inverse) in self.inverses.iter().enumerate() {
            let (start, end) = (k * BASE, k * BASE + inverse.nrows());
            let (done, mut rest) = x.view_mut().split_at(Axis(1), start);
            let mut here = rest.slice_mut(s![.., ..end - start]);
            if start > 0 {
                let above = self.upper.slice(s![..start, start..end]);
                field.add_product_here(-1.0, done.view(), above, here.view_mut());
            }
            let mut quotient = Array2::zeros(here.dim());
            field.multiply_here(here.view(), inverse.view(), &mut quotient);
            here.assign(&quotient);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::dimension::elimination::plain_rank;

    /// `A diag(d) A^T` for a matrix some of whose rows are zero or repeated.
    fn check(rows: usize, cols: usize, width: usize, seed: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let field = Field::random(&mut rng);
        let mut matrix = Array2::from_shape_fn((rows, cols), |_| field.sample(&mut rng));
        for i in (3..rows).step_by(4) {
            let copy = matrix.row(i / 2).to_owned();
            if i % 8 == 3 { matrix.row_mut(i).assign(&copy) } else { matrix.row_mut(i).fill(0.0) }
        }
        let weights: Vec<f64> = (0..cols).map(|_| field.sample(&mut rng)).collect();
        let weighted =
            Array2::from_shape_fn((cols, rows), |(k, i)| field.reduce(weights[k] * matrix[(i, k)]));
        let mut kernel = Array2::zeros((rows, rows));
        field.multiply(matrix.view(), weighted.view(), kernel.view_mut());
        let mut elimination = SymmetricElimination::new(&field, rows);
        while !elimination.remaining().is_empty() {
            let rows = elimination.remaining();
            let shape = (rows.len(), width.min(rows.len()));
            let block = Array2::from_shape_fn(shape, |(i, j)| kernel[(rows[i], rows[j])]);
            elimination.push(block);
        }
        let mut order = elimination.order.clone();
        order.sort_unstable();
        assert_eq!(order, (0..rows).collect::<Vec<_>>());
        assert_eq!(elimination.rank(), plain_rank(&field, &matrix), "{rows} {cols} {width}");
    }

    #[test]
    fn ranks_are_those_of_the_factor() {
        check(1, 1, 1, 1);
        check(10, 3, 5, 2);
        check(40, 40, 7, 3);
        check(150, 90, 64, 4);
        check(150, 200, 100, 5);
        check(700, 130, 256, 6);
        check(300, 299, 256, 7);
        check(600, 700, 256, 8);
    }

    #[test]
    fn a_zero_on_the_diagonal_is_no_end() {
        let field = Field::random(&mut ChaCha8Rng::seed_from_u64(1));
        let matrix = ndarray::array![[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 1.0]];
        let mut elimination = SymmetricElimination::new(&field, 3);
        elimination.push(matrix);
        assert_eq!((elimination.rank(), elimination.remaining().len()), (3, 0));
    }
}
