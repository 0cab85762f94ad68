//! Rows of residues in echelon form, as they come.

use std::collections::BTreeMap;

use fiberscope_core::residue::{PRIME, inverse, multiply, reduce};

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

    /// Adds a row; whether it is independent of those before it. All rows must have the same length.
    pub fn insert(&mut self, mut row: Vec<u64>) -> bool {
        let mut from = 0;
        while let Some(lead) = row[from..].iter().position(|&x| x != 0).map(|at| from + at) {
            let Some(earlier) = self.rows.get(&lead) else {
                let scale = inverse(row[lead]);
                row[lead..].iter_mut().for_each(|x| *x = multiply(*x, scale));
                self.rows.insert(lead, row);
                return true;
            };
            let factor = u128::from(PRIME - row[lead]);
            let pairs = row[lead..].iter_mut().zip(&earlier[lead..]);
            pairs.for_each(|(x, &e)| *x = reduce(u128::from(*x) + factor * u128::from(e)));
            from = lead + 1;
        }
        false
    }
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
}
