//! Rows that come one at a time, and whether each is independent of those before it.

use crate::Number;

/// A basis of the span of the rows inserted so far, in echelon form: each row of it has a 1 in its leading
/// column, and the rows inserted after it have a 0 there.
#[derive(Clone, Debug)]
pub struct Echelon<N> {
    /// Leading column and row.
    rows: Vec<(usize, Vec<N>)>,
}

impl<N> Default for Echelon<N> {
    fn default() -> Self {
        Echelon { rows: Vec::new() }
    }
}

impl<N: Number> Echelon<N> {
    /// The dimension of the span.
    pub fn rank(&self) -> usize {
        self.rows.len()
    }

    /// Adds a row; whether it is independent of those before it. All rows must have the same length.
    pub fn insert(&mut self, mut row: Vec<N>) -> bool {
        for (lead, earlier) in &self.rows {
            if !row[*lead].is_zero() {
                let factor = row[*lead].clone();
                // Entries of the earlier row before its leading column are zero.
                let pairs = row[*lead..].iter_mut().zip(&earlier[*lead..]);
                pairs.for_each(|(x, e)| x.subtract_product(&factor, e));
            }
        }
        let Some(lead) = row.iter().position(|x| !x.is_zero()) else { return false };
        let scale = N::ONE.quotient(&row[lead]);
        row[lead..].iter_mut().for_each(|x| *x = x.times(&scale));
        self.rows.push((lead, row));
        true
    }
}
