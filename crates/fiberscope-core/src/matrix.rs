//! Dense matrices, stored row by row.
//!
//! A weight matrix `W` of shape `n_l x n_{l-1}` maps the activations of layer `l-1` to the
//! pre-activations of layer `l`: row `i` belongs to neuron `i`, column `j` to its `j`-th input.

use std::ops::{Index, IndexMut};

/// A dense matrix in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix<S = f64> {
    rows: usize,
    cols: usize,
    entries: Vec<S>,
}

impl<S> Matrix<S> {
    /// The matrix with these entries, row by row; `None` if their number is not `rows * cols`.
    pub fn from_entries(rows: usize, cols: usize, entries: Vec<S>) -> Option<Self> {
        (rows.checked_mul(cols)? == entries.len()).then_some(Matrix { rows, cols, entries })
    }

    /// The matrix whose entry in row `i`, column `j` is `entry(i, j)`.
    pub fn from_fn(rows: usize, cols: usize, mut entry: impl FnMut(usize, usize) -> S) -> Self {
        let mut entries = Vec::with_capacity(rows * cols);
        for i in 0..rows {
            entries.extend((0..cols).map(|j| entry(i, j)));
        }
        Matrix { rows, cols, entries }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All entries, row by row.
    pub fn entries(&self) -> &[S] {
        &self.entries
    }

    /// All entries, row by row, for changing them in place.
    pub fn entries_mut(&mut self) -> &mut [S] {
        &mut self.entries
    }

    /// The entries, row by row, giving up the matrix.
    pub fn into_entries(self) -> Vec<S> {
        self.entries
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[S] {
        &self.entries[i * self.cols..(i + 1) * self.cols]
    }

    /// Row `i`, for changing it in place.
    pub fn row_mut(&mut self, i: usize) -> &mut [S] {
        &mut self.entries[i * self.cols..(i + 1) * self.cols]
    }

    /// The rows in order. (A matrix without columns has `rows()` empty rows.)
    pub fn iter_rows(&self) -> impl Iterator<Item = &[S]> {
        (0..self.rows).map(|i| self.row(i))
    }

    /// Column `j`, from top to bottom.
    pub fn column(&self, j: usize) -> impl Iterator<Item = &S> {
        (0..self.rows).map(move |i| &self[(i, j)])
    }

    /// The matrix with `f` applied to every entry.
    pub fn map<T>(&self, f: impl FnMut(&S) -> T) -> Matrix<T> {
        Matrix { rows: self.rows, cols: self.cols, entries: self.entries.iter().map(f).collect() }
    }
}

impl<S: Sync> Matrix<S> {
    /// Every entry mapped, on all threads of the current pool.
    pub(crate) fn map_all<T: Send>(&self, f: impl Fn(&S) -> T + Sync + Send) -> Matrix<T> {
        #[cfg(feature = "parallel")]
        let entries = {
            use rayon::prelude::*;
            self.entries.par_iter().with_min_len(1 << 14).map(f).collect()
        };
        #[cfg(not(feature = "parallel"))]
        let entries = self.entries.iter().map(f).collect();
        Matrix { rows: self.rows, cols: self.cols, entries }
    }
}

impl<S: Clone> Matrix<S> {
    /// The matrix with these rows; `None` if they differ in length.
    pub fn from_rows<R: AsRef<[S]>>(rows: &[R]) -> Option<Self> {
        let cols = rows.first().map_or(0, |row| row.as_ref().len());
        if rows.iter().any(|row| row.as_ref().len() != cols) {
            return None;
        }
        let entries = rows.iter().flat_map(|row| row.as_ref().iter().cloned()).collect();
        Some(Matrix { rows: rows.len(), cols, entries })
    }

    /// The transposed matrix.
    pub fn transpose(&self) -> Self {
        Matrix::from_fn(self.cols, self.rows, |i, j| self[(j, i)].clone())
    }

    /// The matrix made of the given rows, in the given order.
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let entries = rows.iter().flat_map(|&row| self.row(row).iter().cloned()).collect();
        Matrix { rows: rows.len(), cols: self.cols, entries }
    }

    /// The matrix made of the given columns, in the given order.
    pub fn select_columns(&self, columns: &[usize]) -> Self {
        let mut entries = Vec::with_capacity(self.rows * columns.len());
        for row in self.iter_rows() {
            entries.extend(columns.iter().map(|&column| row[column].clone()));
        }
        Matrix { rows: self.rows, cols: columns.len(), entries }
    }
}

impl<S> Index<(usize, usize)> for Matrix<S> {
    type Output = S;

    fn index(&self, (i, j): (usize, usize)) -> &S {
        &self.row(i)[j]
    }
}

impl<S> IndexMut<(usize, usize)> for Matrix<S> {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut S {
        &mut self.row_mut(i)[j]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_must_fit_the_entries() {
        assert!(Matrix::from_entries(2, 2, vec![1.0; 3]).is_none());
        assert!(Matrix::from_entries(usize::MAX, 2, vec![1.0; 3]).is_none());
        assert!(Matrix::from_rows(&[vec![1.0], vec![1.0, 2.0]]).is_none());
    }

    #[test]
    fn rows_columns_and_transpose_agree() {
        let m = Matrix::from_rows(&[[1, 2, 3], [4, 5, 6]]).unwrap();
        assert_eq!(m.row(1), [4, 5, 6]);
        assert_eq!(m.column(2).copied().collect::<Vec<_>>(), [3, 6]);
        assert_eq!(m.transpose().row(2), [3, 6]);
        assert_eq!(m.select_columns(&[2, 0]).row(0), [3, 1]);
        assert_eq!(m.select_rows(&[1]).row(0), [4, 5, 6]);
    }
}
