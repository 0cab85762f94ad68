//! Is a half-space superfluous in a cone? Linear programs in few dimensions, doubles first, rational numbers last.
//!
//! The cone is `{y : a_i y >= 0}` with interior. Wanted is a point of it with `c y < 0`, or multipliers `m_i >= 0` with `c = sum m_i a_i`, which show that
//! there is none (Farkas). The dual simplex method on the cone cut off by `|y_j| <= 1` starts at the corner of the cube that is best for `-c` and
//! repairs violated rows; the last basis is solved in rational numbers and checked. If rounding led astray, the method runs once more in rational
//! numbers with Bland's rule, which ends.

use fiberscope_algebra::elimination;
use fiberscope_core::Rational;

use crate::limit::Deadline;

/// What the cone says about a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Side {
    /// A point of the cone where the row is negative.
    Beyond(Vec<Rational>),
    /// The row is nonnegative on the cone.
    Superfluous,
}

/// Rows of a cone, exactly and in doubles (scaled to largest entry 1).
pub(crate) struct Cone {
    dimension: usize,
    exact: Vec<Vec<Rational>>,
    floats: Vec<Vec<f64>>,
}

/// Values below this count as violated in doubles.
const VIOLATED: f64 = -1e-10;
/// Values below this count as a point beyond.
const BEYOND: f64 = -1e-7;

impl Cone {
    pub fn new(dimension: usize, rows: Vec<Vec<Rational>>) -> Self {
        let floats = rows.iter().map(|row| scaled(row)).collect();
        Cone { dimension, exact: rows, floats }
    }

    pub fn rows(&self) -> &[Vec<Rational>] {
        &self.exact
    }

    /// Which side of the row `c` the cone of the rows with `keep` reaches; `None` if the deadline comes first.
    pub fn side(&self, c: &[Rational], keep: &[bool], deadline: &Deadline) -> Option<Side> {
        let target = scaled(c);
        if let Some((basis, y)) = self.float_basis(&target, keep, deadline) {
            if dot(&target, &y) < BEYOND
                && let Some(point) = self.rounded(c, keep, &y)
            {
                return Some(Side::Beyond(point));
            }
            if let Some(side) = self.settle(c, keep, &basis) {
                return Some(side);
            }
        }
        self.exact_side(c, keep, deadline)
    }

    /// Rows `0..len` are those of the cone, then `1 - y_j >= 0`, then `1 + y_j >= 0`.
    fn float_row(&self, i: usize) -> (Vec<f64>, f64) {
        let (n, d) = (self.floats.len(), self.dimension);
        if i < n {
            return (self.floats[i].clone(), 0.0);
        }
        let mut row = vec![0.0; d];
        row[(i - n) % d] = if i - n < d { -1.0 } else { 1.0 };
        (row, 1.0)
    }

    fn exact_row(&self, i: usize) -> (Vec<Rational>, Rational) {
        let (n, d) = (self.exact.len(), self.dimension);
        if i < n {
            return (self.exact[i].clone(), Rational::ZERO);
        }
        let mut row = vec![Rational::ZERO; d];
        row[(i - n) % d] = if i - n < d { -Rational::ONE } else { Rational::ONE };
        (row, Rational::ONE)
    }

    /// The corner of the cube where `c` is least.
    fn start(&self, negative: impl Fn(usize) -> bool) -> Vec<usize> {
        let (n, d) = (self.exact.len(), self.dimension);
        (0..d).map(|j| if negative(j) { n + j } else { n + d + j }).collect()
    }

    fn float_basis(&self, c: &[f64], keep: &[bool], deadline: &Deadline) -> Option<(Vec<usize>, Vec<f64>)> {
        let d = self.dimension;
        let mut basis = self.start(|j| c[j] < 0.0);
        for _ in 0..40 + 4 * self.floats.len() {
            if deadline.is_past() {
                return None;
            }
            let rows: Vec<(Vec<f64>, f64)> = basis.iter().map(|&i| self.float_row(i)).collect();
            let inverse = invert(&rows.iter().map(|r| r.0.clone()).collect::<Vec<_>>())?;
            let y: Vec<f64> =
                (0..d).map(|j| -(0..d).map(|k| inverse[j][k] * rows[k].1).sum::<f64>()).collect();
            let worst = (0..self.floats.len())
                .filter(|&i| keep[i] && !basis.contains(&i))
                .map(|i| (dot(&self.floats[i], &y), i))
                .min_by(|a, b| a.0.total_cmp(&b.0));
            let entering = match worst {
                Some((value, i)) if value < VIOLATED => i,
                _ => return Some((basis, y)),
            };
            // Multipliers of c and of the entering row in the basis.
            let in_basis = |row: &[f64], k: usize| (0..d).map(|j| row[j] * inverse[j][k]).sum::<f64>();
            let leaving = (0..d)
                .filter_map(|k| {
                    let share = in_basis(&self.floats[entering], k);
                    (share > 1e-11).then(|| (in_basis(c, k).max(0.0) / share, k))
                })
                .min_by(|a, b| a.0.total_cmp(&b.0))?;
            basis[leaving.1] = entering;
        }
        None
    }

    /// A row in doubles, its largest entry 1.
    pub fn float_rows(&self) -> &[Vec<f64>] {
        &self.floats
    }

    /// The point in doubles, if it is exactly in the cone and beyond.
    pub fn rounded(&self, c: &[Rational], keep: &[bool], y: &[f64]) -> Option<Vec<Rational>> {
        let point: Option<Vec<Rational>> = y.iter().map(|&y| Rational::from_f64(y)).collect();
        let point = point?;
        let inside =
            self.exact.iter().zip(keep).all(|(row, &keep)| !keep || !product(row, &point).is_negative());
        (inside && product(c, &point).is_negative()).then_some(point)
    }

    /// The answer of an optimal basis, if it is one.
    fn settle(&self, c: &[Rational], keep: &[bool], basis: &[usize]) -> Option<Side> {
        let rows: Vec<(Vec<Rational>, Rational)> = basis.iter().map(|&i| self.exact_row(i)).collect();
        let multipliers = multipliers(&rows, c)?;
        if multipliers.iter().any(Rational::is_negative) {
            return None;
        }
        let n = self.exact.len();
        if basis.iter().zip(&multipliers).all(|(&i, m)| i < n || m.is_zero()) {
            return Some(Side::Superfluous);
        }
        let y = solve(rows)?;
        let inside = self.exact.iter().zip(keep).all(|(row, &keep)| !keep || !product(row, &y).is_negative());
        (inside && product(c, &y).is_negative()).then_some(Side::Beyond(y))
    }

    /// The dual simplex method in rational numbers.
    #[allow(clippy::needless_range_loop, reason = "the number runs through several lists")]
    fn exact_side(&self, c: &[Rational], keep: &[bool], deadline: &Deadline) -> Option<Side> {
        let n = self.exact.len();
        let mut basis = self.start(|j| c[j].is_negative());
        loop {
            if deadline.is_past() {
                return None;
            }
            let rows: Vec<(Vec<Rational>, Rational)> = basis.iter().map(|&i| self.exact_row(i)).collect();
            let y = solve(rows.clone()).expect("the rows of a basis are independent");
            let violated = (0..n).find(|&i| keep[i] && product(&self.exact[i], &y).is_negative());
            let Some(entering) = violated else {
                let beyond = product(c, &y).is_negative();
                return Some(if beyond { Side::Beyond(y) } else { Side::Superfluous });
            };
            let own = multipliers(&rows, c).expect("the rows of a basis are independent");
            let shares =
                multipliers(&rows, &self.exact[entering]).expect("the rows of a basis are independent");
            let mut best: Option<(Rational, usize)> = None;
            for k in 0..basis.len() {
                if shares[k].is_positive() {
                    let ratio = &own[k] / &shares[k];
                    let better = best
                        .as_ref()
                        .is_none_or(|(r, at)| ratio < *r || ratio == *r && basis[k] < basis[*at]);
                    if better {
                        best = Some((ratio, k));
                    }
                }
            }
            let (_, leaving) = best.expect("the cone contains zero");
            basis[leaving] = entering;
        }
    }
}

/// The solution of `row x + constant = 0` for all rows, as many as unknowns.
fn solve(rows: Vec<(Vec<Rational>, Rational)>) -> Option<Vec<Rational>> {
    let equation = |(mut row, constant): (Vec<Rational>, Rational)| {
        row.push(-constant);
        row
    };
    elimination::solve(rows.into_iter().map(equation).collect())
}

/// `m` with `c = sum_k m_k row_k`.
fn multipliers(rows: &[(Vec<Rational>, Rational)], c: &[Rational]) -> Option<Vec<Rational>> {
    let transposed = (0..c.len())
        .map(|j| (rows.iter().map(|(row, _)| row[j].clone()).collect::<Vec<_>>(), -&c[j]))
        .collect();
    solve(transposed)
}

pub(crate) fn product(a: &[Rational], b: &[Rational]) -> Rational {
    a.iter().zip(b).filter(|(a, b)| !a.is_zero() && !b.is_zero()).map(|(a, b)| a * b).sum()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The row in doubles, its largest entry 1.
fn scaled(row: &[Rational]) -> Vec<f64> {
    let size = row.iter().map(Rational::abs).max().filter(Rational::is_positive).unwrap_or(Rational::ONE);
    row.iter().map(|x| (x / &size).to_f64()).collect()
}

/// The inverse of a square matrix given by rows.
pub(crate) fn invert(rows: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let d = rows.len();
    let mut work: Vec<Vec<f64>> = rows
        .iter()
        .enumerate()
        .map(|(i, row)| row.iter().copied().chain((0..d).map(|j| f64::from(u8::from(i == j)))).collect())
        .collect();
    for k in 0..d {
        let pivot = (k..d).max_by(|&i, &j| work[i][k].abs().total_cmp(&work[j][k].abs()))?;
        if work[pivot][k].abs() < 1e-13 {
            return None;
        }
        work.swap(k, pivot);
        let scale = 1.0 / work[k][k];
        work[k].iter_mut().for_each(|x| *x *= scale);
        let own = work[k].clone();
        for (i, row) in work.iter_mut().enumerate() {
            if i != k && row[k] != 0.0 {
                let factor = row[k];
                row.iter_mut().zip(&own).for_each(|(x, p)| *x -= factor * p);
            }
        }
    }
    Some(work.into_iter().map(|row| row[d..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(entries: &[i64]) -> Vec<Rational> {
        entries.iter().map(|&x| Rational::from(x)).collect()
    }

    #[test]
    fn rows_of_the_quadrant_and_others() {
        let cone = Cone::new(2, vec![row(&[1, 0]), row(&[0, 1])]);
        let check = |c: &[i64], superfluous: bool| {
            for side in [
                cone.side(&row(c), &[true, true], &Deadline::NEVER),
                cone.exact_side(&row(c), &[true, true], &Deadline::NEVER),
            ] {
                match side.unwrap() {
                    Side::Superfluous => assert!(superfluous, "{c:?}"),
                    Side::Beyond(y) => {
                        assert!(!superfluous, "{c:?}");
                        assert!(product(&row(c), &y).is_negative());
                        assert!(y.iter().all(|y| !y.is_negative()));
                    }
                }
            }
        };
        check(&[1, 1], true);
        check(&[1, 0], true);
        check(&[1, -1], false);
        check(&[-1, -1], false);
        assert!(matches!(cone.side(&row(&[1, 0]), &[false, true], &Deadline::NEVER), Some(Side::Beyond(_))));
    }
}
