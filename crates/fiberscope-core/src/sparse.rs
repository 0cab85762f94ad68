//! Matrices with few entries, as compressed rows.
//!
//! A convolution written out as a matrix has as many entries in a row as its kernel has taps: 27 for `3 x 3` on
//! three channels, whatever the size of the image. Only these are stored, row by row, with their columns.
//!
//! Two matrices with the same numbers are the same matrix however they are stored, so a number that is zero is
//! never stored and the columns of a row increase: there is one way to store a matrix.

use std::sync::OnceLock;

use crate::alike::{Alike, first_equal};
use crate::{Matrix, Scalar};

/// A matrix of which the entries that are not zero are stored, row by row.
///
/// ```
/// use fiberscope_core::SparseMatrix;
///
/// let mut matrix = SparseMatrix::new(4);
/// matrix.push_row([(1, 2.0), (3, -1.0)]);
/// matrix.push_row([]);
/// assert_eq!((matrix.rows(), matrix.cols(), matrix.entries().len()), (2, 4, 2));
/// assert_eq!(matrix.to_dense().row(0), [0.0, 2.0, 0.0, -1.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SparseMatrix<S = f64> {
    /// In a box of their own, so that a layer is small whichever way it is stored.
    parts: Box<Parts<S>>,
}

#[derive(Debug)]
struct Parts<S> {
    cols: usize,
    /// Row `i` has the entries from `ends[i - 1]` to `ends[i]`.
    ends: Vec<usize>,
    columns: Vec<u32>,
    entries: Vec<S>,
    /// The matrix with its zeros written out, once somebody has asked for it.
    dense: OnceLock<Matrix<S>>,
    /// The rows in groups, once somebody has asked for them.
    alike: OnceLock<Alike>,
    /// For each row the first one with the same entries, once somebody has asked for it.
    first_equal: OnceLock<Vec<u32>>,
}

impl<S> Parts<S> {
    fn new(cols: usize, ends: Vec<usize>, columns: Vec<u32>, entries: Vec<S>) -> Box<Self> {
        let (dense, alike, first_equal) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Box::new(Parts { cols, ends, columns, entries, dense, alike, first_equal })
    }
}

impl<S: Clone> Clone for Parts<S> {
    fn clone(&self) -> Self {
        *Parts::new(self.cols, self.ends.clone(), self.columns.clone(), self.entries.clone())
    }
}

impl<S: PartialEq> PartialEq for Parts<S> {
    fn eq(&self, other: &Self) -> bool {
        (self.cols, &self.ends, &self.columns, &self.entries)
            == (other.cols, &other.ends, &other.columns, &other.entries)
    }
}

impl<S> SparseMatrix<S> {
    /// The matrix with this many columns and no rows yet.
    pub fn new(cols: usize) -> Self {
        SparseMatrix { parts: Parts::new(cols, Vec::new(), Vec::new(), Vec::new()) }
    }

    /// The same, with room for so many rows and entries.
    pub fn with_capacity(cols: usize, rows: usize, entries: usize) -> Self {
        let (ends, columns) = (Vec::with_capacity(rows), Vec::with_capacity(entries));
        let entries = Vec::with_capacity(entries);
        SparseMatrix { parts: Parts::new(cols, ends, columns, entries) }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.parts.ends.len()
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.parts.cols
    }

    /// The stored entries, row by row.
    pub fn entries(&self) -> &[S] {
        &self.parts.entries
    }

    /// The columns of the stored entries, row by row.
    pub fn columns(&self) -> &[u32] {
        &self.parts.columns
    }

    /// The places of row `i` in [`SparseMatrix::entries`] and [`SparseMatrix::columns`].
    #[inline]
    pub fn range(&self, i: usize) -> std::ops::Range<usize> {
        let start = if i == 0 { 0 } else { self.parts.ends[i - 1] };
        start..self.parts.ends[i]
    }

    /// Row `i`: its columns, increasing, and their entries.
    #[inline]
    pub fn row(&self, i: usize) -> (&[u32], &[S]) {
        let range = self.range(i);
        (&self.parts.columns[range.clone()], &self.parts.entries[range])
    }

    /// The entry in row `i`, column `j`, unless it is zero.
    pub fn get(&self, i: usize, j: usize) -> Option<&S> {
        let (columns, entries) = self.row(i);
        let at = columns.binary_search(&u32::try_from(j).ok()?).ok()?;
        Some(&entries[at])
    }

    /// The matrix with `f` applied to every stored entry; none may become zero.
    pub(crate) fn map_entries<T>(&self, f: impl FnMut(&S) -> T) -> SparseMatrix<T> {
        self.with_entries(self.parts.entries.iter().map(f).collect())
    }

    /// The matrix with other entries in the same places.
    pub(crate) fn with_entries<T>(&self, entries: Vec<T>) -> SparseMatrix<T> {
        let Parts { cols, ends, columns, .. } = &*self.parts;
        SparseMatrix { parts: Parts::new(*cols, ends.clone(), columns.clone(), entries) }
    }

    /// The rows in groups that can be worked off together, found once and kept.
    pub(crate) fn alike(&self) -> &Alike {
        self.parts.alike.get_or_init(|| Alike::new(self.rows(), |row| self.row(row as usize).0))
    }

    /// Ends the row that entries were put into.
    fn end_row(&mut self) {
        self.parts.ends.push(self.parts.columns.len());
        self.parts.dense.take();
        self.parts.alike.take();
        self.parts.first_equal.take();
    }

    fn push(&mut self, column: usize, entry: S) {
        self.parts.columns.push(u32::try_from(column).expect("a matrix has fewer than 2^32 columns"));
        self.parts.entries.push(entry);
    }
}

impl SparseMatrix<f64> {
    /// For each row the first one with the same entries, as rows of a convolution at two places of the image have:
    /// who reads all rows over and over again reads those of the first, which stay in the cache.
    pub(crate) fn first_equal(&self) -> &[u32] {
        self.parts.first_equal.get_or_init(|| first_equal(self.rows(), |i| self.row(i).1))
    }
}

impl<S: Scalar> SparseMatrix<S> {
    /// Adds a row with these entries, whose columns increase and exist; zeros are left out.
    ///
    /// # Panics
    /// If a column does not exist or does not come after the one before.
    pub fn push_row(&mut self, row: impl IntoIterator<Item = (usize, S)>) {
        let mut least = 0;
        for (column, entry) in row {
            assert!(
                column >= least && column < self.parts.cols,
                "column {column} of {} comes after {least}",
                self.parts.cols
            );
            least = column + 1;
            if !entry.is_zero() {
                self.push(column, entry);
            }
        }
        self.end_row();
    }

    /// The same for columns in any order, where the entries of a column that comes twice are added up.
    pub fn push_sum(&mut self, mut row: Vec<(usize, S)>) {
        row.sort_by_key(|(column, _)| *column);
        let mut sums: Vec<(usize, S)> = Vec::with_capacity(row.len());
        for (column, entry) in row {
            match sums.last_mut() {
                Some((last, sum)) if *last == column => *sum = sum.plus(&entry),
                _ => sums.push((column, entry)),
            }
        }
        self.push_row(sums);
    }

    /// The entries of a dense matrix that are not zero.
    pub fn from_dense(matrix: &Matrix<S>) -> Self {
        let mut sparse = SparseMatrix::new(matrix.cols());
        matrix.iter_rows().for_each(|row| sparse.push_row(row.iter().cloned().enumerate()));
        sparse
    }

    /// The same matrix with its zeros written out, made once and kept.
    pub(crate) fn dense(&self) -> &Matrix<S> {
        self.parts.dense.get_or_init(|| self.to_dense())
    }

    /// The same matrix with its zeros written out.
    pub fn to_dense(&self) -> Matrix<S> {
        let mut dense = Matrix::from_fn(self.rows(), self.parts.cols, |_, _| S::zero());
        for i in 0..self.rows() {
            let (columns, entries) = self.row(i);
            let row = dense.row_mut(i);
            columns.iter().zip(entries).for_each(|(&j, entry)| row[j as usize] = entry.clone());
        }
        dense
    }

    /// The matrix with `f` applied to every stored entry.
    pub fn map<T: Scalar>(&self, f: impl FnMut(&S) -> T) -> SparseMatrix<T> {
        let mapped = self.map_entries(f);
        if mapped.parts.entries.iter().any(Scalar::is_zero) { mapped.without_zeros() } else { mapped }
    }

    /// Changes every stored entry in place, given its row and column; none may become zero.
    pub(crate) fn change(&mut self, mut f: impl FnMut(usize, usize, &mut S)) {
        self.parts.dense.take();
        self.parts.first_equal.take();
        for i in 0..self.rows() {
            for at in self.range(i) {
                f(i, self.parts.columns[at] as usize, &mut self.parts.entries[at]);
            }
        }
    }

    fn without_zeros(self) -> Self {
        let Parts { cols, ends, columns, entries, .. } = *self.parts;
        let mut clean = SparseMatrix::with_capacity(cols, ends.len(), entries.len());
        let mut pairs = columns.into_iter().zip(entries);
        let mut start = 0;
        for end in ends {
            clean.push_row(pairs.by_ref().take(end - start).map(|(column, entry)| (column as usize, entry)));
            start = end;
        }
        clean
    }

    /// The transposed matrix.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let mut rows = vec![Vec::new(); self.parts.cols];
        for i in 0..self.rows() {
            let (columns, entries) = self.row(i);
            columns.iter().zip(entries).for_each(|(&j, entry)| rows[j as usize].push((i, entry.clone())));
        }
        let mut transposed =
            SparseMatrix::with_capacity(self.rows(), self.parts.cols, self.parts.entries.len());
        rows.into_iter().for_each(|row| transposed.push_row(row));
        transposed
    }

    /// The matrix made of the given rows, in the given order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let mut selected = SparseMatrix::new(self.parts.cols);
        for &i in rows {
            let (columns, entries) = self.row(i);
            selected.parts.columns.extend_from_slice(columns);
            selected.parts.entries.extend_from_slice(entries);
            selected.end_row();
        }
        selected
    }

    /// The matrix made of the given columns, in the given order.
    #[must_use]
    pub fn select_columns(&self, columns: &[usize]) -> Self {
        // The places of each column among the new ones, one list after the other.
        let mut ends = vec![0usize; self.parts.cols + 1];
        columns.iter().for_each(|&j| ends[j + 1] += 1);
        (0..self.parts.cols).for_each(|j| ends[j + 1] += ends[j]);
        let (mut places, mut next) = (vec![0usize; columns.len()], ends.clone());
        for (new, &old) in columns.iter().enumerate() {
            places[next[old]] = new;
            next[old] += 1;
        }
        let mut selected = SparseMatrix::with_capacity(columns.len(), self.rows(), self.parts.entries.len());
        let mut row: Vec<(usize, usize)> = Vec::new();
        for i in 0..self.rows() {
            let range = self.range(i);
            row.clear();
            for at in range {
                let j = self.parts.columns[at] as usize;
                row.extend(places[ends[j]..ends[j + 1]].iter().map(|&new| (new, at)));
            }
            row.sort_unstable();
            row.iter().for_each(|&(new, at)| selected.push(new, self.parts.entries[at].clone()));
            selected.end_row();
        }
        selected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Matrix {
        Matrix::from_rows(&[[0.0, 2.0, 0.0, -0.0], [1.0, 0.0, 0.5, 3.0], [0.0; 4]]).unwrap()
    }

    #[test]
    fn what_is_done_to_the_entries_is_done_to_the_matrix() {
        let dense = example();
        let sparse = SparseMatrix::from_dense(&dense);
        assert_eq!(sparse.entries(), [2.0, 1.0, 0.5, 3.0]);
        assert_eq!(sparse.to_dense(), dense);
        assert_eq!(sparse.transpose().to_dense(), dense.transpose());
        let (rows, columns) = ([2, 1, 1], [3, 0, 3, 1]);
        assert_eq!(sparse.select_rows(&rows).to_dense(), dense.select_rows(&rows));
        assert_eq!(sparse.select_columns(&columns).to_dense(), dense.select_columns(&columns));
        assert_eq!((sparse.get(1, 2), sparse.get(1, 1)), (Some(&0.5), None));
    }

    #[test]
    fn rows_that_change_are_no_longer_equal() {
        let mut matrix = SparseMatrix::new(3);
        (0..2).for_each(|i| matrix.push_row([(i, 1.0), (i + 1, 2.0)]));
        assert_eq!(matrix.first_equal(), [0, 0]);
        matrix.change(|i, _, entry| *entry += i as f64);
        assert_eq!(matrix.first_equal(), [0, 1]);
        matrix.push_row([(0, 1.0), (2, 2.0)]);
        assert_eq!(matrix.first_equal(), [0, 1, 0]);
    }

    #[test]
    fn zeros_are_never_stored() {
        let sparse = SparseMatrix::from_dense(&example());
        let halved = sparse.map(|x| if *x < 1.0 { 0.0 } else { *x });
        assert_eq!((halved.entries().len(), halved.row(1).0), (3, &[0, 3][..]));
        let mut sums = SparseMatrix::new(3);
        sums.push_sum(vec![(2, 1.0), (0, 1.0), (2, -1.0), (0, 2.0)]);
        assert_eq!(sums.row(0), (&[0][..], &[3.0][..]));
    }

    #[test]
    #[should_panic(expected = "column 1 of 2 comes after 2")]
    fn columns_increase() {
        SparseMatrix::new(2).push_row([(1, 1.0), (1, 1.0)]);
    }
}
