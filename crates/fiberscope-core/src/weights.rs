//! The weight of a layer, stored densely or by its entries.
//!
//! A matrix with few entries is stored by them ([`SparseMatrix`]), any other as it is; both are the same matrix to
//! everything that is asked of it: equality, digests and verdicts do not depend on the storage. Work is
//! proportional to the stored entries.

use std::collections::BTreeMap;

use crate::{Matrix, Scalar, SparseMatrix};

/// A matrix smaller than this is stored densely, whatever its entries.
const SMALL: usize = 1 << 14;

/// A matrix is stored by its entries if they are no more than this part of it.
const PART: usize = 4;

/// A weight matrix in one of two storages.
#[derive(Clone, Debug)]
pub enum Weights<S = f64> {
    /// All entries.
    Dense(Matrix<S>),
    /// The entries that are not zero.
    Sparse(SparseMatrix<S>),
}

impl<S> From<Matrix<S>> for Weights<S> {
    fn from(matrix: Matrix<S>) -> Self {
        Weights::Dense(matrix)
    }
}

/// Stored by its entries if they are few and the matrix is not small, and densely otherwise.
impl<S: Scalar> From<SparseMatrix<S>> for Weights<S> {
    fn from(matrix: SparseMatrix<S>) -> Self {
        match is_stored_by_entries(matrix.rows(), matrix.cols(), matrix.entries().len()) {
            true => Weights::Sparse(matrix),
            false => Weights::Dense(matrix.to_dense()),
        }
    }
}

/// Whether a sparse matrix of this shape, with so many entries, stays one when it becomes a weight.
///
/// ```
/// use fiberscope_core::is_stored_by_entries;
///
/// assert!(is_stored_by_entries(1000, 1000, 27_000));
/// assert!(!is_stored_by_entries(1000, 1000, 500_000) && !is_stored_by_entries(10, 10, 10));
/// ```
pub fn is_stored_by_entries(rows: usize, cols: usize, entries: usize) -> bool {
    let size = rows.saturating_mul(cols);
    size >= SMALL && entries <= size / PART
}

impl<S> Weights<S> {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Weights::Dense(matrix) => matrix.rows(),
            Weights::Sparse(matrix) => matrix.rows(),
        }
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        match self {
            Weights::Dense(matrix) => matrix.cols(),
            Weights::Sparse(matrix) => matrix.cols(),
        }
    }

    /// The stored entries, row by row: all of them, or those that are not zero.
    pub fn stored(&self) -> &[S] {
        match self {
            Weights::Dense(matrix) => matrix.entries(),
            Weights::Sparse(matrix) => matrix.entries(),
        }
    }

    /// The number of stored entries in a row: what work on it costs.
    pub fn stored_in_row(&self, i: usize) -> usize {
        match self {
            Weights::Dense(matrix) => matrix.cols(),
            Weights::Sparse(matrix) => matrix.range(i).len(),
        }
    }

    /// The row and column of a stored entry.
    pub(crate) fn place(&self, at: usize) -> (usize, usize) {
        match self {
            Weights::Dense(matrix) => (at / matrix.cols(), at % matrix.cols()),
            Weights::Sparse(matrix) => {
                let row = (0..matrix.rows()).find(|&i| at < matrix.range(i).end).unwrap_or(0);
                (row, matrix.columns()[at] as usize)
            }
        }
    }

    /// Whether the matrix is stored by its entries.
    pub fn is_sparse(&self) -> bool {
        matches!(self, Weights::Sparse(_))
    }

    /// The dense matrix, if it is stored so.
    pub fn as_dense(&self) -> Option<&Matrix<S>> {
        match self {
            Weights::Dense(matrix) => Some(matrix),
            Weights::Sparse(_) => None,
        }
    }
}

/// The entries of a row that are not zero, with their columns, increasing.
#[derive(Clone, Debug)]
pub enum RowEntries<'a, S> {
    /// Of a dense matrix.
    Dense(std::iter::Enumerate<std::slice::Iter<'a, S>>),
    /// Of a sparse one.
    Sparse(std::iter::Zip<std::slice::Iter<'a, u32>, std::slice::Iter<'a, S>>),
}

impl<'a, S: Scalar> Iterator for RowEntries<'a, S> {
    type Item = (usize, &'a S);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            RowEntries::Dense(row) => row.find(|(_, entry)| !entry.is_zero()),
            RowEntries::Sparse(row) => row.next().map(|(&column, entry)| (column as usize, entry)),
        }
    }
}

impl<S: Scalar> Weights<S> {
    /// The entries of row `i` that are not zero, with their columns, increasing.
    ///
    /// ```
    /// use fiberscope_core::{Matrix, Weights};
    ///
    /// let weights = Weights::from(Matrix::from_rows(&[[0.0, 2.0, 0.0, 1.0]]).unwrap());
    /// assert_eq!(weights.row(0).collect::<Vec<_>>(), [(1, &2.0), (3, &1.0)]);
    /// ```
    pub fn row(&self, i: usize) -> RowEntries<'_, S> {
        match self {
            Weights::Dense(matrix) => RowEntries::Dense(matrix.row(i).iter().enumerate()),
            Weights::Sparse(matrix) => {
                let (columns, entries) = matrix.row(i);
                RowEntries::Sparse(columns.iter().zip(entries))
            }
        }
    }

    /// The rows in order, each as its entries that are not zero.
    pub fn iter_rows(&self) -> impl Iterator<Item = RowEntries<'_, S>> {
        (0..self.rows()).map(|i| self.row(i))
    }

    /// All entries that are not zero: row, column, entry.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, &S)> {
        (0..self.rows()).flat_map(|i| self.row(i).map(move |(j, entry)| (i, j, entry)))
    }

    /// The entry in row `i`, column `j`.
    pub fn get(&self, i: usize, j: usize) -> S {
        match self {
            Weights::Dense(matrix) => matrix[(i, j)].clone(),
            Weights::Sparse(matrix) => matrix.get(i, j).cloned().unwrap_or_else(S::zero),
        }
    }

    /// Row `i`, zeros written out.
    pub fn dense_row(&self, i: usize) -> Vec<S> {
        let mut row = vec![S::zero(); self.cols()];
        self.row(i).for_each(|(j, entry)| row[j] = entry.clone());
        row
    }

    /// Column `j` from top to bottom, zeros written out.
    pub fn dense_column(&self, j: usize) -> Vec<S> {
        (0..self.rows()).map(|i| self.get(i, j)).collect()
    }

    /// For every column, the rows in which it has an entry that is not zero, and the entries.
    pub fn columns(&self) -> Vec<Vec<(usize, &S)>> {
        let mut columns = vec![Vec::new(); self.cols()];
        self.iter().for_each(|(i, j, entry)| columns[j].push((i, entry)));
        columns
    }

    /// For every column, whether it has an entry that is not zero.
    pub fn used_columns(&self) -> Vec<bool> {
        let mut used = vec![false; self.cols()];
        self.iter().for_each(|(_, j, _)| used[j] = true);
        used
    }

    /// The same matrix with its zeros written out.
    pub fn to_dense(&self) -> Matrix<S> {
        match self {
            Weights::Dense(matrix) => matrix.clone(),
            Weights::Sparse(matrix) => matrix.to_dense(),
        }
    }

    /// The same, giving up the other storage.
    pub fn into_dense(self) -> Matrix<S> {
        match self {
            Weights::Dense(matrix) => matrix,
            Weights::Sparse(matrix) => matrix.to_dense(),
        }
    }

    /// The matrix with `f`, which keeps zero, applied to every entry.
    pub fn map<T: Scalar>(&self, f: impl FnMut(&S) -> T) -> Weights<T> {
        match self {
            Weights::Dense(matrix) => Weights::Dense(matrix.map(f)),
            Weights::Sparse(matrix) => Weights::Sparse(matrix.map(f)),
        }
    }

    /// The matrix made of the given rows, in the given order.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        match self {
            Weights::Dense(matrix) => Weights::Dense(matrix.select_rows(rows)),
            Weights::Sparse(matrix) => Weights::Sparse(matrix.select_rows(rows)),
        }
    }

    /// The matrix made of the given columns, in the given order.
    #[must_use]
    pub fn select_columns(&self, columns: &[usize]) -> Self {
        match self {
            Weights::Dense(matrix) => Weights::Dense(matrix.select_columns(columns)),
            Weights::Sparse(matrix) => Weights::Sparse(matrix.select_columns(columns)),
        }
    }

    /// Changes every entry that is not zero in place, given its row and column; none may become zero.
    pub fn change(&mut self, mut f: impl FnMut(usize, usize, &mut S)) {
        match self {
            Weights::Sparse(matrix) => matrix.change(f),
            Weights::Dense(matrix) => {
                for i in 0..matrix.rows() {
                    for (j, entry) in matrix.row_mut(i).iter_mut().enumerate() {
                        if !entry.is_zero() {
                            f(i, j, entry);
                        }
                    }
                }
            }
        }
    }

    /// Sets entries: row, column, new value; the last one counts.
    pub fn set_entries(&mut self, entries: &[(usize, usize, S)]) {
        if let Weights::Dense(matrix) = self {
            entries.iter().for_each(|(i, j, value)| matrix[(*i, *j)] = value.clone());
            return;
        }
        let mut rows: BTreeMap<usize, BTreeMap<usize, S>> = BTreeMap::new();
        for (i, j, value) in entries {
            let row = rows.entry(*i).or_insert_with(|| self.row(*i).map(|(j, x)| (j, x.clone())).collect());
            row.insert(*j, value.clone());
        }
        self.replace_rows(rows.into_iter().map(|(i, row)| (i, row.into_iter().collect())).collect());
    }

    /// Adds multiples of columns to others: for each triple `column[to] += factor column[from]`. No column is
    /// both added to and added.
    pub fn add_columns(&mut self, triples: &[(usize, usize, &S)]) {
        if let Weights::Dense(matrix) = self {
            for i in 0..matrix.rows() {
                let row = matrix.row_mut(i);
                for &(to, from, factor) in triples.iter() {
                    if !row[from].is_zero() {
                        row[to] = row[to].plus(&factor.times(&row[from]));
                    }
                }
            }
            return;
        }
        let mut targets: BTreeMap<usize, Vec<(usize, &S)>> = BTreeMap::new();
        triples.iter().for_each(|&(to, from, factor)| targets.entry(from).or_default().push((to, factor)));
        let mut rows = Vec::new();
        for i in 0..self.rows() {
            let mut sums = Vec::new();
            for (from, entry) in self.row(i) {
                let to = targets.get(&from).into_iter().flatten();
                sums.extend(to.map(|&(to, factor)| (to, factor.times(entry))));
            }
            if !sums.is_empty() {
                sums.extend(self.row(i).map(|(j, x)| (j, x.clone())));
                rows.push((i, sums));
            }
        }
        self.replace_rows(rows);
    }

    /// Replaces rows by others of the same length; the entries of a column that comes twice are added up.
    pub fn replace_rows(&mut self, rows: Vec<(usize, Vec<(usize, S)>)>) {
        match self {
            Weights::Dense(matrix) => {
                for (i, row) in rows {
                    let old = matrix.row_mut(i);
                    old.fill(S::zero());
                    row.into_iter().for_each(|(j, entry)| old[j] = old[j].plus(&entry));
                }
            }
            Weights::Sparse(matrix) => {
                let mut new: Vec<Option<Vec<(usize, S)>>> = vec![None; matrix.rows()];
                rows.into_iter().for_each(|(i, row)| new[i] = Some(row));
                let mut changed =
                    SparseMatrix::with_capacity(matrix.cols(), matrix.rows(), matrix.entries().len());
                for (i, row) in new.into_iter().enumerate() {
                    match row {
                        Some(row) => changed.push_sum(row),
                        None => {
                            let (columns, entries) = matrix.row(i);
                            let columns = columns.iter().map(|&column| column as usize);
                            changed.push_row(columns.zip(entries.iter().cloned()));
                        }
                    }
                }
                *matrix = changed;
            }
        }
    }

    /// For every column, how many of its entries are stored.
    pub fn stored_in_columns(&self) -> Vec<usize> {
        match self {
            Weights::Dense(matrix) => vec![matrix.rows(); matrix.cols()],
            Weights::Sparse(matrix) => {
                let mut sizes = vec![0; matrix.cols()];
                matrix.columns().iter().for_each(|&column| sizes[column as usize] += 1);
                sizes
            }
        }
    }

    /// How many products of two stored entries `left right` is made of: what it costs, and the most entries that it
    /// can have. `None` if `left` has not as many columns as `right` has rows.
    ///
    /// ```
    /// use fiberscope_core::{Matrix, Weights};
    ///
    /// let weights = Weights::from(Matrix::from_rows(&[[1.0, 2.0], [3.0, 4.0]]).unwrap());
    /// assert_eq!(Weights::product_terms(&weights, &weights), Some(8));
    /// ```
    pub fn product_terms(left: &Self, right: &Self) -> Option<usize> {
        let sizes = if left.cols() == right.rows() { left.stored_in_columns() } else { return None };
        let terms = |(k, size): (usize, usize)| size.saturating_mul(right.stored_in_row(k));
        Some(sizes.into_iter().enumerate().map(terms).fold(0, usize::saturating_add))
    }

    /// `left right`, rounded for doubles; `None` if `left` has not as many columns as `right` has rows.
    pub fn product(left: &Self, right: &Self) -> Option<Self> {
        if let (Weights::Dense(left), Weights::Dense(right)) = (left, right) {
            return S::product(left, right).map(Weights::Dense);
        }
        if left.cols() != right.rows() {
            return None;
        }
        let mut product = SparseMatrix::new(right.cols());
        let mut sums: Vec<Option<S>> = vec![None; right.cols()];
        let mut touched: Vec<usize> = Vec::new();
        for row in left.iter_rows() {
            for (k, factor) in row {
                for (j, entry) in right.row(k) {
                    let term = factor.times(entry);
                    match &mut sums[j] {
                        Some(sum) => *sum = sum.plus(&term),
                        none => {
                            *none = Some(term);
                            touched.push(j);
                        }
                    }
                }
            }
            touched.sort_unstable();
            product.push_row(touched.drain(..).map(|j| (j, sums[j].take().unwrap_or_else(S::zero))));
        }
        Some(product.into())
    }
}

/// Two rows, their columns increasing, as one list: every column that is in one of them, with the entries there.
///
/// ```
/// use fiberscope_core::side_by_side;
///
/// let rows = side_by_side([(0, &1), (2, &5)].into_iter(), [(2, &7)].into_iter());
/// assert_eq!(rows.collect::<Vec<_>>(), [(0, Some(&1), None), (2, Some(&5), Some(&7))]);
/// ```
pub fn side_by_side<'a, S: 'a>(
    a: impl Iterator<Item = (usize, &'a S)>,
    b: impl Iterator<Item = (usize, &'a S)>,
) -> impl Iterator<Item = (usize, Option<&'a S>, Option<&'a S>)> {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    std::iter::from_fn(move || {
        let columns = [a.peek(), b.peek()].map(|next| next.map(|(column, _)| *column));
        let column = columns.into_iter().flatten().min()?;
        let of_a = if columns[0] == Some(column) { a.next() } else { None };
        let of_b = if columns[1] == Some(column) { b.next() } else { None };
        Some((column, of_a.map(|(_, x)| x), of_b.map(|(_, x)| x)))
    })
}

/// Two matrices are equal if their entries are, however they are stored.
impl<S: Scalar> PartialEq for Weights<S> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Weights::Dense(a), Weights::Dense(b)) => a == b,
            (Weights::Sparse(a), Weights::Sparse(b)) => a == b,
            _ => {
                (self.rows(), self.cols()) == (other.rows(), other.cols())
                    && (0..self.rows()).all(|i| self.row(i).eq(other.row(i)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_points;
    use crate::{Rational, Scalar};

    /// A matrix with about one entry in five, in both storages.
    fn both(rows: usize, cols: usize, seed: u64) -> [Weights; 2] {
        let dense = random_points(rows, cols, seed).map(|x| if x.abs() < 0.2 { *x } else { 0.0 });
        [Weights::Sparse(SparseMatrix::from_dense(&dense)), Weights::Dense(dense)]
    }

    #[test]
    fn both_storages_are_the_same_matrix() {
        for seed in 0..20 {
            let [sparse, dense] = both(7, 9, seed);
            let order = [3, 1, 1, 8, 0];
            assert_eq!(sparse, dense);
            assert_eq!(sparse.select_columns(&order), dense.select_columns(&order));
            assert_eq!(sparse.select_rows(&order[..3]), dense.select_rows(&order[..3]));
            assert_eq!(sparse.used_columns(), dense.used_columns());
            assert_eq!(sparse.columns(), dense.columns());
            assert_eq!(sparse.iter().collect::<Vec<_>>(), dense.iter().collect::<Vec<_>>());
            let rows = vec![(2, vec![(4, 1.0), (0, 2.0), (4, 0.5)]), (5, vec![])];
            let (mut a, mut b) = (sparse.clone(), dense.clone());
            a.replace_rows(rows.clone());
            b.replace_rows(rows);
            assert_eq!(a, b);
            assert_eq!((a.get(2, 4), a.get(5, 0)), (1.5, 0.0));
            a.change(|i, j, x| *x *= (i + 2 * j + 1) as f64);
            b.change(|i, j, x| *x *= (i + 2 * j + 1) as f64);
            assert_eq!(a, b);
            assert_ne!(a, dense);
        }
    }

    #[test]
    fn products_do_not_depend_on_the_storage() {
        let exact = |w: &Weights| w.map(|x| x.to_rational());
        let ([a, dense_a], [b, dense_b]) = (both(5, 8, 1), both(8, 6, 2));
        let expected = Rational::product(&exact(&dense_a).to_dense(), &exact(&dense_b).to_dense()).unwrap();
        let expected = Weights::Dense(expected);
        for (left, right) in [(&a, &b), (&a, &dense_b), (&dense_a, &b), (&dense_a, &dense_b)] {
            assert_eq!(Weights::product(&exact(left), &exact(right)).as_ref(), Some(&expected));
        }
        assert!(Weights::product(&a, &a).is_none());
    }

    #[test]
    fn storage_follows_density_and_size() {
        let chosen = |rows, cols, step: usize| {
            let matrix = Matrix::from_fn(rows, cols, |i, j| f64::from((i + j) % step == 0));
            Weights::from(SparseMatrix::from_dense(&matrix)).is_sparse()
        };
        assert!(chosen(200, 200, 5));
        assert!(!chosen(200, 200, 2));
        assert!(!chosen(20, 20, 20));
    }
}
