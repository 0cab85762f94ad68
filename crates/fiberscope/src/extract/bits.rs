//! Linear equations for bits: `sum_j beta_j a_j = y` with `beta_j` 0 or 1.
//!
//! Where there are fewer independent equations (`r`) than bits (`n`), the bits are a subset sum of vectors of
//! reals, which nearly always has one solution only. The bits of `r` independent columns follow from the
//! others: `beta_K = c - B beta_F`; so each row of `B beta_F` agrees with `c` up to an integer. The sums over
//! one half of the columns `F` are sorted by their fractional parts in one row and met by those over the other
//! half: about `2^((n - r) / 2)` steps instead of `2^(n - r)`.

use fiberscope_algebra::dense::{along, direction, dot, norm};
use fiberscope_core::Matrix;

use super::algebra::Svd;

/// The most bits left open by the equations.
pub(super) const ENUMERATED_BITS: usize = 36;

/// How far sums may be from an integer in the first row; less where there are many of them.
const NEAR: f64 = 1e-5;
const NEARER: f64 = 1e-6;
const MANY_BITS: usize = 28;

/// How far a bit may be from 0 and 1.
const BIT_ERROR: f64 = 0.01;

/// More sums than this are not looked at: where many have the same fractional part, say because the columns are
/// integers, the halves do not meet in few places.
const MOST_SUMS: usize = 1 << 21;

/// More solutions than this are not compared.
const MOST_SOLUTIONS: usize = 64;

/// The bits, if only one choice of them satisfies the equations, whose singular values and rank are given.
pub(super) fn enumerated(equations: &[Vec<f64>], right: &[f64], svd: &Svd, rank: usize) -> Option<Vec<f64>> {
    let count = equations.first()?.len();
    if rank == 0 || rank > count || count - rank > ENUMERATED_BITS {
        return None;
    }
    // As many equations as there are independent ones.
    let y: Vec<f64> = (0..rank).map(|k| dot(&svd.u[k], right)).collect();
    let columns: Vec<Vec<f64>> =
        (0..count).map(|j| (0..rank).map(|k| svd.s[k] * svd.v[k][j]).collect()).collect();
    let kept = independent(&columns, rank)?;
    let free: Vec<usize> = (0..count).filter(|j| !kept.contains(j)).collect();
    let small = Svd::of(&Matrix::from_fn(rank, rank, |i, k| columns[kept[k]][i]))?;
    if small.rank(1e-8) < rank {
        return None;
    }
    let sums = Sums {
        target: small.solve(&y, 1e-8),
        columns: free.iter().map(|&j| small.solve(&columns[j], 1e-8)).collect(),
    };
    let scale = norm(right).max(1e-300);
    let mut found: Vec<(f64, Vec<f64>)> = Vec::new();
    for choice in sums.solutions()? {
        let mut bits = vec![0.0; count];
        free.iter().enumerate().for_each(|(k, &j)| bits[j] = bit(choice, k));
        kept.iter().zip(sums.rest(choice)).for_each(|(&j, value)| bits[j] = value.round());
        let error: f64 =
            equations.iter().zip(right).map(|(row, r)| (dot(row, &bits) - r).powi(2)).sum::<f64>().sqrt();
        found.push((error / scale, bits));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let clear = found.len() == 1 || (found.len() > 1 && found[1].0 > 1e3 * found[0].0.max(1e-12));
    (clear && found[0].0 < 1e-5).then(|| found.swap_remove(0).1)
}

/// Independent columns: always the one that is farthest from the span of those before.
fn independent(columns: &[Vec<f64>], rank: usize) -> Option<Vec<usize>> {
    let mut rest = columns.to_vec();
    let mut kept = Vec::with_capacity(rank);
    for _ in 0..rank {
        let farthest = (0..rest.len()).max_by(|&a, &b| norm(&rest[a]).total_cmp(&norm(&rest[b])))?;
        let unit = direction(&rest[farthest])?;
        kept.push(farthest);
        for column in &mut rest {
            *column = along(column, -dot(column, &unit), &unit);
        }
    }
    Some(kept)
}

fn bit(choice: u64, k: usize) -> f64 {
    f64::from(u8::from(choice >> k & 1 == 1))
}

/// `target - sum_k beta_k columns_k` shall have entries 0 and 1.
struct Sums {
    target: Vec<f64>,
    columns: Vec<Vec<f64>>,
}

impl Sums {
    /// What is left of the target.
    fn rest(&self, choice: u64) -> Vec<f64> {
        let mut rest = self.target.clone();
        for (_, column) in self.columns.iter().enumerate().filter(|(k, _)| choice >> k & 1 == 1) {
            rest = along(&rest, -1.0, column);
        }
        rest
    }

    /// All choices, unless there are many.
    fn solutions(&self) -> Option<Vec<u64>> {
        let count = self.columns.len();
        let half = count / 2;
        let near = if count > MANY_BITS { NEARER } else { NEAR };
        let mut first: Vec<(f64, u64)> =
            (0..1u64 << half).map(|choice| (fraction(self.first_row(0..half, choice)), choice)).collect();
        first.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut found, mut looked_at) = (Vec::new(), 0);
        for second in 0..1u64 << (count - half) {
            let wanted = fraction(self.target[0] - self.first_row(half..count, second));
            // Fractions next to 0 and next to 1 are near each other.
            for wanted in [wanted, wanted - 1.0, wanted + 1.0] {
                let from = first.partition_point(|(fraction, _)| *fraction < wanted - near);
                for (_, choice) in first[from..].iter().take_while(|(sum, _)| *sum <= wanted + near) {
                    let choice = choice | second << half;
                    if self.rest(choice).iter().all(|b| b.abs().min((b - 1.0).abs()) < BIT_ERROR) {
                        found.push(choice);
                    }
                    looked_at += 1;
                    if found.len() > MOST_SOLUTIONS || looked_at > MOST_SUMS {
                        return None;
                    }
                }
            }
        }
        Some(found)
    }

    fn first_row(&self, columns: std::ops::Range<usize>, choice: u64) -> f64 {
        self.columns[columns].iter().enumerate().map(|(k, column)| bit(choice, k) * column[0]).sum()
    }
}

fn fraction(x: f64) -> f64 {
    x - x.floor()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern between -1 and 1.
    fn number(k: usize) -> f64 {
        let x = (k as f64 * 12.9898).sin() * 43_758.545_3;
        2.0 * (x - x.floor()) - 1.0
    }

    fn solve(equations: &[Vec<f64>], bits: &[f64]) -> Option<Vec<f64>> {
        let right: Vec<f64> = equations.iter().map(|row| dot(row, bits)).collect();
        let svd = Svd::of(&Matrix::from_rows(equations).unwrap()).unwrap();
        let rank = svd.rank(1e-9);
        enumerated(equations, &right, &svd, rank)
    }

    #[test]
    fn few_equations_tell_many_bits() {
        for (rows, count) in [(1, 8), (2, 16), (5, 20), (5, 40), (3, 3), (12, 10)] {
            let equations: Vec<Vec<f64>> =
                (0..rows).map(|i| (0..count).map(|j| number(100 * i + j)).collect()).collect();
            let bits: Vec<f64> = (0..count).map(|j| f64::from(u8::from(number(7_000 + j) > 0.0))).collect();
            assert_eq!(solve(&equations, &bits), Some(bits), "{rows} x {count}");
        }
    }

    #[test]
    fn bits_that_are_not_determined_are_not_told() {
        // Two equal columns: either may be chosen.
        assert_eq!(solve(&[vec![1.0, 1.0, 0.3]], &[1.0, 0.0, 1.0]), None);
        // Too few equations for so many bits.
        let row: Vec<f64> = (0..36).map(number).collect();
        let bits: Vec<f64> = (0..36).map(|j| f64::from(u8::from(number(7_000 + j) > 0.0))).collect();
        assert_eq!(solve(&[row], &bits), None);
    }

    #[test]
    fn integers_end_soon() {
        // All sums have the fractional part 0, and few are 0 or 1 in both rows.
        let row = |shift: usize| (0..38).map(|j| 3.0 + ((j * j + shift) % 5) as f64).collect::<Vec<f64>>();
        let bits: Vec<f64> = (0..38).map(|j| f64::from(u8::from(j % 3 == 0))).collect();
        assert_eq!(solve(&[row(0), row(1)], &bits), None);
    }

    #[test]
    fn what_is_no_sum_has_no_bits() {
        let equations = [vec![0.31, 0.77, -0.41, 0.93], vec![0.11, -0.53, 0.87, 0.29]];
        let svd = Svd::of(&Matrix::from_rows(&equations).unwrap()).unwrap();
        assert_eq!(enumerated(&equations, &[0.123, 0.456], &svd, 2), None);
    }
}
