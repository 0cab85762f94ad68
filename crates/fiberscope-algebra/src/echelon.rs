//! Rows that come one at a time, and whether each is independent of those before it.

use crate::Number;

/// Rows that are subtracted together: a sum of so many products of residues is reduced once.
const TOGETHER: usize = 8;

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
        for group in self.rows.chunks(TOGETHER) {
            let mut terms: Vec<(N, &[N])> = Vec::with_capacity(group.len());
            for (lead, earlier) in group {
                let mut factor = row[*lead].clone();
                factor.subtract_products(&terms, *lead);
                if !factor.is_zero() {
                    terms.push((factor, earlier));
                }
            }
            // Entries of an earlier row before its leading column are zero.
            let first = group.iter().map(|(lead, _)| *lead).min().unwrap_or(0);
            terms.iter_mut().for_each(|(_, earlier)| *earlier = &earlier[first..]);
            N::subtract_rows(&mut row[first..], &terms);
        }
        let Some(lead) = row.iter().position(|x| !x.is_zero()) else { return false };
        let scale = N::ONE.quotient(&row[lead]);
        row[lead..].iter_mut().for_each(|x| *x = x.times(&scale));
        self.rows.push((lead, row));
        true
    }

    /// Changes the entries of a vector at the leading columns so that its product with every row is zero; the
    /// others, which may be chosen freely, stay.
    pub fn solve_kernel(&self, vector: &mut [N]) {
        // A row has a zero in the leading columns of the rows before it.
        for (lead, row) in self.rows.iter().rev() {
            vector[*lead] = N::ZERO;
            let mut sum = N::ZERO;
            row.iter().zip(vector.iter()).for_each(|(a, x)| sum.subtract_product(a, x));
            vector[*lead] = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use fiberscope_core::Rational;

    use super::*;
    use crate::modular::Residue;

    /// Row after row, without groups.
    fn one_by_one<N: Number>(rows: &[Vec<N>]) -> Vec<bool> {
        let mut basis: Vec<(usize, Vec<N>)> = Vec::new();
        let insert = |row: &Vec<N>| {
            let mut row = row.clone();
            for (lead, earlier) in &basis {
                let factor = row[*lead].clone();
                row.iter_mut().zip(earlier).for_each(|(x, e)| x.subtract_product(&factor, e));
            }
            let lead = row.iter().position(|x| !x.is_zero());
            basis.extend(lead.map(|lead| {
                let scale = N::ONE.quotient(&row[lead]);
                (lead, row.iter().map(|x| x.times(&scale)).collect())
            }));
            lead.is_some()
        };
        rows.iter().map(insert).collect()
    }

    /// Rows of small numbers with many zeros and with relations, some of them repeated.
    fn rows(count: usize, columns: usize, seed: u64) -> Vec<Vec<i64>> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as i64
        };
        let mut rows: Vec<Vec<i64>> = Vec::new();
        for i in 0..count {
            let row = match i % 5 {
                3 => rows[i - 1].iter().zip(&rows[i - 2]).map(|(x, y)| x - 2 * y).collect(),
                4 => rows[i / 2].clone(),
                _ => (0..columns).map(|_| if next() % 3 == 0 { next() % 7 - 3 } else { 0 }).collect(),
            };
            rows.push(row);
        }
        rows
    }

    #[test]
    fn kernel_vectors_are_orthogonal_to_all_rows() {
        for (count, columns) in [(3, 5), (17, 30), (25, 60)] {
            let residue = |x: &i64| Residue::of(&Rational::from(*x)).expect("integers have residues");
            let all: Vec<Vec<Residue>> =
                rows(count, columns, 7).iter().map(|row| row.iter().map(residue).collect()).collect();
            let mut echelon = Echelon::default();
            all.iter().for_each(|row| _ = echelon.insert(row.clone()));
            let mut vector: Vec<Residue> = (1..=columns as u64).map(|k| Residue::new(k * k)).collect();
            echelon.solve_kernel(&mut vector);
            assert!(vector.iter().any(|x| *x != Residue::ZERO));
            for row in &all {
                let mut product = Residue::ZERO;
                row.iter().zip(&vector).for_each(|(a, x)| product.add_product(a, x));
                assert_eq!(product, Residue::ZERO);
            }
        }
    }

    #[test]
    fn groups_of_rows_are_rows_one_by_one() {
        for (seed, (count, columns)) in [(1, 1), (9, 4), (17, 30), (40, 25), (60, 60)].into_iter().enumerate()
        {
            let numbers = rows(count, columns, seed as u64);
            let rational: Vec<Vec<Rational>> =
                numbers.iter().map(|row| row.iter().map(|&x| Rational::from(x)).collect()).collect();
            let residues: Vec<Vec<Residue>> = rational
                .iter()
                .map(|row| row.iter().map(|x| Residue::of(x).expect("integers have residues")).collect())
                .collect();
            let (mut exact, mut modular) = (Echelon::default(), Echelon::default());
            let exactly: Vec<bool> = rational.iter().map(|row| exact.insert(row.clone())).collect();
            let modulo: Vec<bool> = residues.iter().map(|row| modular.insert(row.clone())).collect();
            assert_eq!((&exactly, &modulo), (&one_by_one(&rational), &one_by_one(&residues)));
            assert_eq!(exactly, modulo);
        }
    }
}
