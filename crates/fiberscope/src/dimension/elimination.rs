//! Gaussian elimination modulo a prime, one block of columns at a time.
//!
//! The columns are *generic* (random combinations of all columns of some matrix), so the first `r` of them
//! are independent, `r` the rank: no column has to be exchanged, and the first column without a pivot ends
//! the elimination. Blocks enter one after the other ("left-looking"), so that no column is made that is not
//! needed, and only the lower factor is stored, in single precision, which holds residues exactly.
//!
//! Within a block the factorisation is recursive: the left half, a triangular solve, one matrix product, the
//! right half.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};
use rayon::prelude::*;

use super::field::Field;

/// Blocks of at most so many columns are factored row by row.
pub(super) const BASE: usize = 32;
/// Rows of a stored block that are turned into doubles at a time.
pub(super) const TILE: usize = 256;

/// The elimination of a matrix with a fixed number of rows whose columns arrive in blocks.
#[derive(Debug)]
pub(super) struct Elimination<'f> {
    field: &'f Field,
    /// Place `i` holds row `order[i]` of the matrix.
    order: Vec<usize>,
    panels: Vec<Panel>,
    rank: usize,
}

/// The columns of the lower factor that belong to the pivots `start, start + 1, ...`, for the rows from
/// `start` on.
#[derive(Debug)]
struct Panel {
    start: usize,
    width: usize,
    /// Row by row, single precision.
    lower: Vec<f32>,
    /// The inverse of the unit lower triangular block on top.
    inverse: Array2<f64>,
}

impl<'f> Elimination<'f> {
    /// Nothing eliminated yet.
    pub fn new(field: &'f Field, rows: usize) -> Self {
        Elimination { field, order: (0..rows).collect(), panels: Vec::new(), rank: 0 }
    }

    /// The number of pivots.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The rows of the pivots: independent rows, as many as the rank.
    pub fn pivot_rows(&self) -> &[usize] {
        &self.order[..self.rank]
    }

    /// The bytes in use while a block of so many columns is eliminated.
    pub fn bytes_with(&self, cols: usize) -> usize {
        let stored: usize =
            self.panels.iter().map(|panel| 4 * panel.lower.len() + 8 * panel.inverse.len()).sum();
        let rows = self.order.len();
        stored + (2 * 8 + 4) * rows * cols
    }

    /// Eliminates more columns up to the first without a pivot, row `i` of the block belonging to row `i` of
    /// the matrix. Returns whether every one of them had a pivot; `false`, too, without any change if it is
    /// late ([`Field::is_late`]).
    pub fn push(&mut self, block: Array2<f64>) -> bool {
        let (rows, cols) = block.dim();
        let in_place = self.order.iter().enumerate().all(|(i, &from)| i == from);
        let mut work = if in_place { block } else { block.select(Axis(0), &self.order) };
        for panel in &self.panels {
            if self.field.is_late() {
                return false;
            }
            panel.apply(self.field, work.view_mut());
        }
        let start = self.rank;
        let mut bottom = work.slice_mut(s![start.., ..]);
        let (gained, swaps) = factor(self.field, bottom.view_mut());
        if self.field.is_late() {
            return false;
        }
        for &(i, j) in &swaps {
            self.order.swap(start + i, start + j);
            for panel in &mut self.panels {
                panel.swap(start + i, start + j);
            }
        }
        self.rank += gained;
        if gained > 0 && self.rank < rows {
            // If it is late by now the panel may be wrong; then no block is eliminated any more.
            self.panels.push(Panel::new(self.field, start, bottom.slice(s![.., ..gained])));
        }
        gained == cols
    }
}

impl Panel {
    /// `factored` holds the factors of columns that have a pivot.
    fn new(field: &Field, start: usize, factored: ArrayView2<f64>) -> Self {
        let width = factored.ncols();
        let lower = factored.iter().map(|&x| x as f32).collect();
        let mut inverse = Array2::eye(width);
        solve_lower(field, factored.slice(s![..width, ..]), inverse.view_mut());
        Panel { start, width, lower, inverse }
    }

    fn swap(&mut self, i: usize, j: usize) {
        let (i, j) = (i - self.start, j - self.start);
        if i != j {
            let (first, second) = self.lower.split_at_mut(i.max(j) * self.width);
            first[i.min(j) * self.width..][..self.width].swap_with_slice(&mut second[..self.width]);
        }
    }

    /// Does to later columns what was done to those of the panel.
    fn apply(&self, field: &Field, mut work: ArrayViewMut2<f64>) {
        let end = self.start + self.width;
        let top = work.slice(s![self.start..end, ..]).to_owned();
        let mut solved = Array2::zeros(top.dim());
        field.multiply(self.inverse.view(), top.view(), solved.view_mut());
        work.slice_mut(s![self.start..end, ..]).assign(&solved);
        let mut bottom = work.slice_mut(s![end.., ..]);
        let tiles: Vec<_> = self.lower[self.width * self.width..]
            .chunks(TILE * self.width)
            .zip(bottom.axis_chunks_iter_mut(Axis(0), TILE))
            .collect();
        tiles.into_par_iter().for_each_init(Vec::new, |buffer, (lower, out)| {
            buffer.clear();
            buffer.extend(lower.iter().map(|&x| f64::from(x)));
            let lower =
                ArrayView2::from_shape((out.nrows(), self.width), &*buffer).expect("a tile of the panel");
            field.add_product_here(-1.0, lower, solved.view(), out);
        });
    }
}

/// Exchanges of rows, in order.
pub(super) type Swaps = Vec<(usize, usize)>;

/// Factors a matrix with generic columns in place and gives the number of pivots: `L` (unit diagonal) below,
/// `U` above the diagonal.
pub(super) fn factor(field: &Field, mut matrix: ArrayViewMut2<f64>) -> (usize, Swaps) {
    let cols = matrix.ncols();
    if cols <= BASE {
        return factor_base(field, matrix);
    }
    let half = cols / 2;
    let (mut left, mut right) = matrix.view_mut().split_at(Axis(1), half);
    let (gained, mut swaps) = factor(field, left.view_mut());
    if gained < half {
        return (gained, swaps);
    }
    exchange(right.view_mut(), &swaps);
    let (mut top, mut bottom) = right.split_at(Axis(0), half);
    let (triangle, below) = left.view().split_at(Axis(0), half);
    solve_lower(field, triangle, top.view_mut());
    field.add_product(-1.0, below, top.view(), bottom.view_mut());
    let (more, later) = factor(field, bottom);
    exchange(left.slice_mut(s![half.., ..]), &later);
    swaps.extend(later.into_iter().map(|(i, j)| (i + half, j + half)));
    (half + more, swaps)
}

/// Factors a narrow matrix: first its top square; then the rows below are multiplied by the inverse of `U`.
/// If the square is singular, rows are exchanged.
fn factor_base(field: &Field, mut matrix: ArrayViewMut2<f64>) -> (usize, Swaps) {
    let (rows, cols) = matrix.dim();
    if rows > 2 * cols {
        let mut square = matrix.slice(s![..cols, ..]).to_owned();
        let (rank, swaps) = factor_rows(field, square.view_mut());
        if rank == cols {
            exchange(matrix.slice_mut(s![..cols, ..]), &swaps);
            let inverse = inverse_upper(field, square.view());
            let below = matrix.slice(s![cols.., ..]).to_owned();
            matrix.slice_mut(s![..cols, ..]).assign(&square);
            field.multiply(below.view(), inverse.view(), matrix.slice_mut(s![cols.., ..]));
            return (cols, swaps);
        }
    }
    factor_rows(field, matrix)
}

/// Elimination row by row, with exchanges.
fn factor_rows(field: &Field, mut matrix: ArrayViewMut2<f64>) -> (usize, Swaps) {
    let (rows, cols) = matrix.dim();
    let mut swaps = Vec::new();
    let mut pivot_row = vec![0.0; cols];
    for j in 0..cols.min(rows) {
        let Some(pivot) = (j..rows).find(|&i| matrix[(i, j)] != 0.0) else { return (j, swaps) };
        if pivot != j {
            swaps.push((j, pivot));
            exchange(matrix.view_mut(), &[(j, pivot)]);
        }
        let inverse = field.invert(matrix[(j, j)]);
        pivot_row.copy_from_slice(matrix.row(j).as_slice().expect("rows are contiguous"));
        for mut row in matrix.rows_mut().into_iter().skip(j + 1) {
            let row = row.as_slice_mut().expect("rows are contiguous");
            let factor = field.reduce(row[j] * inverse);
            row[j] = factor;
            if factor != 0.0 {
                for (x, &p) in row[j + 1..].iter_mut().zip(&pivot_row[j + 1..]) {
                    *x = field.reduce(*x - factor * p);
                }
            }
        }
    }
    (cols.min(rows), swaps)
}

/// The inverse of the upper triangle of a square matrix.
pub(super) fn inverse_upper(field: &Field, upper: ArrayView2<f64>) -> Array2<f64> {
    let n = upper.nrows();
    let mut inverse = Array2::<f64>::zeros((n, n));
    for i in (0..n).rev() {
        let pivot = field.invert(upper[(i, i)]);
        for j in i..n {
            let mut sum = if i == j { 1.0 } else { 0.0 };
            for k in i + 1..=j {
                sum -= upper[(i, k)] * inverse[(k, j)];
            }
            inverse[(i, j)] = field.reduce(field.reduce(sum) * pivot);
        }
    }
    inverse
}

/// `X = L^-1 X` for the unit lower triangle of a square matrix.
fn solve_lower(field: &Field, lower: ArrayView2<f64>, mut x: ArrayViewMut2<f64>) {
    let n = lower.nrows();
    if n <= BASE {
        for i in 1..n {
            let (above, mut row) = x.view_mut().split_at(Axis(0), i);
            let mut row = row.row_mut(0);
            let row = row.as_slice_mut().expect("rows are contiguous");
            for (k, above) in above.rows().into_iter().enumerate() {
                let factor = lower[(i, k)];
                row.iter_mut().zip(above).for_each(|(x, &a)| *x -= factor * a);
            }
            field.reduce_all(row);
        }
        return;
    }
    let half = n / 2;
    let (mut top, mut bottom) = x.split_at(Axis(0), half);
    solve_lower(field, lower.slice(s![..half, ..half]), top.view_mut());
    field.add_product(-1.0, lower.slice(s![half.., ..half]), top.view(), bottom.view_mut());
    solve_lower(field, lower.slice(s![half.., half..]), bottom);
}

pub(super) fn exchange(mut matrix: ArrayViewMut2<f64>, swaps: &[(usize, usize)]) {
    for &(i, j) in swaps {
        if i != j {
            let (mut first, mut second) = matrix.multi_slice_mut((s![i, ..], s![j, ..]));
            ndarray::Zip::from(&mut first).and(&mut second).for_each(std::mem::swap);
        }
    }
}

/// The rank by the plainest elimination.
#[cfg(test)]
pub(super) fn plain_rank(field: &Field, matrix: &Array2<f64>) -> usize {
    let mut a = matrix.clone();
    let mut rank = 0;
    for col in 0..a.ncols() {
        let Some(pivot) = (rank..a.nrows()).find(|&i| a[(i, col)] != 0.0) else { continue };
        exchange(a.view_mut(), &[(rank, pivot)]);
        let inverse = field.invert(a[(rank, col)]);
        for i in rank + 1..a.nrows() {
            let factor = field.reduce(a[(i, col)] * inverse);
            for j in col..a.ncols() {
                a[(i, j)] = field.reduce(a[(i, j)] - factor * a[(rank, j)]);
            }
        }
        rank += 1;
    }
    rank
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// A random matrix of a given rank, some of whose rows are zero or repeated, times a random matrix.
    fn check(rows: usize, rank: usize, widths: &[usize], seed: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let field = Field::random(&mut rng);
        let mut left = Array2::from_shape_fn((rows, rank), |_| field.sample(&mut rng));
        for _ in 0..rows / 3 {
            let (i, j) = (rng.random_range(0..rows), rng.random_range(0..rows));
            let copy = left.row(j).to_owned();
            if rng.random() { left.row_mut(i).assign(&copy) } else { left.row_mut(i).fill(0.0) }
        }
        let expected = plain_rank(&field, &left);
        let mut elimination = Elimination::new(&field, rows);
        for &width in widths {
            let right = Array2::from_shape_fn((rank, width), |_| field.sample(&mut rng));
            let mut block = Array2::zeros((rows, width));
            field.multiply(left.view(), right.view(), block.view_mut());
            if !elimination.push(block) {
                break;
            }
        }
        let total: usize = widths.iter().sum();
        assert_eq!(elimination.rank(), expected.min(total), "{rows} {rank} {widths:?}");
        let chosen = left.select(Axis(0), elimination.pivot_rows());
        assert_eq!(plain_rank(&field, &chosen), elimination.rank());
    }

    #[test]
    fn ranks_are_found_in_blocks_of_all_sizes() {
        check(1, 1, &[1], 1);
        check(10, 3, &[5], 2);
        check(40, 40, &[7, 33, 9], 3);
        check(150, 90, &[64, 64], 4);
        check(150, 150, &[100, 50], 5);
        check(700, 130, &[70, 70], 6);
        check(300, 299, &[256, 44], 7);
    }
}
