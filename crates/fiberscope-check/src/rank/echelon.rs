//! Rows of residues in echelon form, as they come.

use std::collections::BTreeMap;

use fiberscope_core::residue::{PRIME, inverse, multiply, reduce, signed};

use super::residues::dot;

/// A basis of the span of the rows that were inserted, modulo the prime `2^61 - 1`: each row has a 1 in its
/// leading column and zeros before it.
#[derive(Clone, Debug, Default)]
pub struct Echelon {
    rows: BTreeMap<usize, Vec<u64>>,
}

impl Echelon {
    /// The dimension of the span.
    pub fn rank(&self) -> usize {
        self.rows.len()
    }

    /// The rows by their leading columns.
    pub fn rows(&self) -> &BTreeMap<usize, Vec<u64>> {
        &self.rows
    }

    /// Adds a row; whether it is independent of those before it. All rows must have the same length.
    pub fn insert(&mut self, row: Vec<u64>) -> bool {
        let width = row.len();
        self.insert_within(row, width).is_none()
    }

    /// Adds a row if it is independent of those before it in the first `width` columns, where all leading columns
    /// must lie. Otherwise hands back what is left of it, which is zero in these columns.
    pub fn insert_within(&mut self, mut row: Vec<u64>, width: usize) -> Option<Vec<u64>> {
        let Some(lead) = self.eliminate(&mut row, width) else { return Some(row) };
        let scale = inverse(row[lead]);
        row[lead..].iter_mut().for_each(|x| *x = multiply(*x, scale));
        self.rows.insert(lead, row);
        None
    }

    /// Clears a row as far as it depends on the others; its first column below `width` that no row leads.
    pub fn eliminate(&self, row: &mut [u64], width: usize) -> Option<usize> {
        let mut from = 0;
        while let Some(lead) = row[from..width].iter().position(|&x| x != 0).map(|at| from + at) {
            let Some(earlier) = self.rows.get(&lead) else { return Some(lead) };
            subtract(&mut row[lead..], &earlier[lead..]);
            from = lead + 1;
        }
        None
    }

    /// Clears the leading columns in all other rows.
    pub fn reduce(&mut self) {
        let leads: Vec<usize> = self.rows.keys().copied().collect();
        for (at, lead) in leads.iter().enumerate().skip(1) {
            let later = self.rows[lead].clone();
            for earlier in &leads[..at] {
                let row = self.rows.get_mut(earlier).expect("a leading column");
                if row[*lead] != 0 {
                    subtract(&mut row[*lead..], &later[*lead..]);
                }
            }
        }
    }

    /// Sets the entries in the leading columns so that all rows are orthogonal to the vector.
    pub fn complete(&self, vector: &mut [u64]) {
        for (&lead, row) in self.rows.iter().rev() {
            let sum = dot(row[lead + 1..].iter().zip(&vector[lead + 1..]));
            vector[lead] = signed(sum, true);
        }
    }
}

/// Takes off the multiple of a row that begins with 1 which makes the first entry zero.
fn subtract(row: &mut [u64], earlier: &[u64]) {
    let factor = u128::from(PRIME - row[0]);
    let pairs = row.iter_mut().zip(earlier);
    pairs.for_each(|(x, &e)| *x = reduce(u128::from(*x) + factor * u128::from(e)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependent_rows_are_found() {
        let mut echelon = Echelon::default();
        assert!(echelon.insert(vec![0, 2, 4]));
        assert!(!echelon.insert(vec![0, PRIME - 1, PRIME - 2]));
        assert!(echelon.insert(vec![3, 2, 4]));
        assert!(!echelon.insert(vec![3, 0, 0]));
        assert!(!echelon.insert(vec![0, 0, 0]));
        assert!(echelon.insert(vec![1, 1, 1]));
        assert_eq!(echelon.rank(), 3);
    }

    #[test]
    fn rows_are_reduced_and_vectors_completed() {
        let mut echelon = Echelon::default();
        let rows = [vec![2, 4, 6, 1, 9], vec![1, 3, 1, 0, 5], vec![0, 0, 4, 2, 7]];
        rows.iter().for_each(|row| assert!(echelon.insert(row.clone())));
        let mut vector = vec![0, 0, 0, 11, 13];
        echelon.complete(&mut vector);
        rows.iter().for_each(|row| assert_eq!(dot(row.iter().zip(&vector)), 0));
        echelon.reduce();
        for (lead, row) in echelon.rows() {
            assert!((0..3).all(|at| row[at] == u64::from(at == *lead)), "{row:?}");
            assert_eq!(dot(row.iter().zip(&vector)), 0);
        }
        // Independent in the last column only.
        let left = echelon.insert_within(vec![2, 4, 6, 1, 10], 3).unwrap();
        assert_eq!(left, [0, 0, 0, 0, 1]);
        assert_eq!(echelon.rank(), 3);
    }
}
