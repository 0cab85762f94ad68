//! The least value of an affine function on a polytope in a box, in doubles, with a bound that is proved.
//!
//! **Lemma.** Let `m_i >= 0` and `r = c - sum_i m_i a_i`, rows with the constant last. On `{x : a_i (x, 1) >= 0}` inside the box, `c (x, 1) >= r (x, 1) >= r_d + sum_j min(r_j lo_j, r_j hi_j)`.
//! The multipliers come from the dual simplex method, which starts at the corner of the box where `c` is least; however they were found, the
//! bound holds once the rounding of `r` is added.

use fiberscope_core::Rational;

/// Rows of a polytope in a box, each entry the nearest double of an exact one.
pub(crate) struct FloatPolytope {
    rows: Vec<Vec<f64>>,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

/// A lower bound of the least value, the point where doubles found it, and the multipliers of rows behind the bound.
pub(crate) struct Least {
    pub bound: f64,
    pub value: f64,
    pub point: Vec<f64>,
    pub multipliers: Vec<(usize, f64)>,
}

/// Rows violated by more than this enter the basis.
const VIOLATED: f64 = -1e-10;

impl FloatPolytope {
    pub fn new(rows: Vec<Vec<f64>>, lower: Vec<f64>, upper: Vec<f64>) -> Self {
        FloatPolytope { rows, lower, upper }
    }

    /// The least value of `c` where the rows with `keep` are not negative; `None` if the method gets lost.
    pub fn least(&self, c: &[f64], keep: &[bool]) -> Option<Least> {
        let d = self.lower.len();
        let n = self.rows.len();
        // Row `n + j` is `x_j >= lower`, row `n + d + j` is `x_j <= upper`; the inverse of the basis starts as a diagonal of signs.
        let mut basis: Vec<usize> = (0..d).map(|j| if c[j] >= 0.0 { n + j } else { n + d + j }).collect();
        let mut inverse: Vec<Vec<f64>> = (0..d)
            .map(|i| {
                (0..d)
                    .map(|j| {
                        if i != j {
                            0.0
                        } else if c[i] >= 0.0 {
                            1.0
                        } else {
                            -1.0
                        }
                    })
                    .collect()
            })
            .collect();
        let mut x: Vec<f64> =
            (0..d).map(|j| if c[j] >= 0.0 { self.lower[j] } else { self.upper[j] }).collect();
        for _ in 0..50 + 4 * (n + d) {
            let Some((entering, value)) = self.worst(&x, keep) else {
                return Some(self.finish(c, &basis, &inverse, x));
            };
            let row = self.row(entering);
            let shares = times(&row, &inverse);
            let own = times(c, &inverse);
            let leaving = (0..d)
                .filter(|&k| shares[k] > 1e-11)
                .min_by(|&i, &j| (own[i].max(0.0) / shares[i]).total_cmp(&(own[j].max(0.0) / shares[j])))?;
            // The new inverse: column `leaving` divided by its share, the others made orthogonal to the row.
            let share = shares[leaving];
            for (line, x) in inverse.iter_mut().zip(&mut x) {
                line[leaving] /= share;
                *x -= value * line[leaving];
                for k in (0..d).filter(|&k| k != leaving) {
                    line[k] -= shares[k] * line[leaving];
                }
            }
            basis[leaving] = entering;
        }
        None
    }

    fn row(&self, i: usize) -> Vec<f64> {
        let (n, d) = (self.rows.len(), self.lower.len());
        if i < n {
            return self.rows[i].clone();
        }
        let mut row = vec![0.0; d + 1];
        let j = (i - n) % d;
        (row[j], row[d]) = if i < n + d { (1.0, -self.lower[j]) } else { (-1.0, self.upper[j]) };
        row
    }

    /// The row that a point violates most.
    fn worst(&self, x: &[f64], keep: &[bool]) -> Option<(usize, f64)> {
        let (n, d) = (self.rows.len(), x.len());
        let mut worst = (usize::MAX, VIOLATED);
        let mut look = |i: usize, value: f64| {
            if value < worst.1 {
                worst = (i, value);
            }
        };
        for (i, row) in self.rows.iter().enumerate().filter(|(i, _)| keep[*i]) {
            look(i, value(row, x));
        }
        for (j, x) in x.iter().enumerate() {
            look(n + j, x - self.lower[j]);
            look(n + d + j, self.upper[j] - x);
        }
        (worst.0 < usize::MAX).then_some(worst)
    }

    fn finish(&self, c: &[f64], basis: &[usize], inverse: &[Vec<f64>], point: Vec<f64>) -> Least {
        let d = self.lower.len();
        let used = basis.iter().copied().zip(times(c, inverse));
        let multipliers: Vec<(usize, f64)> = used.filter(|(i, m)| *i < self.rows.len() && *m > 0.0).collect();
        let (mut rest, mut size) = (c.to_vec(), c.iter().map(|x| x.abs()).collect::<Vec<_>>());
        for &(i, m) in &multipliers {
            for ((r, s), a) in rest.iter_mut().zip(&mut size).zip(&self.rows[i]) {
                *r -= m * a;
                *s += m * a.abs();
            }
        }
        // Rows and `c` are rounded, too.
        let rounding = 4.0 * (d as f64 + 4.0) * f64::EPSILON;
        let mut bound = rest[d] - rounding * size[d];
        let mut scale = size[d];
        for j in 0..d {
            let most = self.lower[j].abs().max(self.upper[j].abs());
            bound += (rest[j] * self.lower[j]).min(rest[j] * self.upper[j]) - rounding * size[j] * most;
            scale += size[j] * most;
        }
        Least { bound: bound - rounding * scale, value: value(c, &point), point, multipliers }
    }
}

/// Whether multipliers of rows show, in rational numbers, that `c` is not negative on the polytope of the rows in the box: the lemma of this module without rounding.
pub(crate) fn is_proved(
    c: &[Rational],
    rows: &[Vec<Rational>],
    multipliers: &[(usize, f64)],
    lower: &[f64],
    upper: &[f64],
) -> bool {
    let mut rest = c.to_vec();
    for &(i, m) in multipliers {
        let Some(m) = Rational::from_f64(m).filter(|m| !m.is_negative()) else { return false };
        let entries = rest.iter_mut().zip(&rows[i]).filter(|(_, a)| !a.is_zero());
        entries.for_each(|(r, a)| *r -= &(&m * a));
    }
    let mut bound = rest[lower.len()].clone();
    for ((r, &low), &high) in rest.iter().zip(lower).zip(upper) {
        let Some(end) = Rational::from_f64(if r.is_negative() { high } else { low }) else { return false };
        bound += &(r * &end);
    }
    !bound.is_negative()
}

/// The row vector times a matrix given by rows.
fn times(row: &[f64], matrix: &[Vec<f64>]) -> Vec<f64> {
    let d = matrix.len();
    (0..d).map(|k| (0..d).map(|j| row[j] * matrix[j][k]).sum()).collect()
}

fn value(row: &[f64], x: &[f64]) -> f64 {
    row[x.len()] + row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The triangle `x >= 0, y >= 0, x + y <= 1` in a larger box.
    #[test]
    fn bounds_of_a_triangle() {
        let rows = vec![vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0], vec![-1.0, -1.0, 1.0]];
        let triangle = FloatPolytope::new(rows, vec![-2.0; 2], vec![3.0; 2]);
        let check = |c: [f64; 3], keep: [bool; 3], expected: f64| {
            let least = triangle.least(&c, &keep).unwrap();
            assert!(least.bound <= expected && expected - least.bound < 1e-12, "{c:?}: {}", least.bound);
            assert!((least.value - expected).abs() < 1e-12);
        };
        check([1.0, 1.0, 0.5], [true; 3], 0.5);
        check([-2.0, -1.0, 0.0], [true; 3], -2.0);
        check([-2.0, -1.0, 0.0], [false; 3], -9.0);
        check([1.0, 0.0, 0.0], [false, true, true], -2.0);
    }

    /// On the triangle `x + y + 1/2 >= 1/2`; the box alone does not show that it is not negative, and nothing shows that `x + y - 1/2` is not.
    #[test]
    fn multipliers_are_checked() {
        let exact = |row: &[f64]| row.iter().map(|&x| Rational::from_f64(x).unwrap()).collect::<Vec<_>>();
        let rows = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, -1.0, 1.0]].map(|row| exact(&row));
        let check = |c: [f64; 3], multipliers: &[(usize, f64)]| {
            is_proved(&exact(&c), &rows, multipliers, &[-2.0; 2], &[3.0; 2])
        };
        assert!(check([1.0, 1.0, 0.5], &[(0, 1.0), (1, 1.0)]));
        assert!(check([1.0, 1.0, 0.0], &[(0, 1.0), (1, 1.0)]));
        assert!(!check([1.0, 1.0, 0.5], &[]));
        assert!(!check([1.0, 1.0, -0.5], &[(0, 1.0), (1, 1.0)]));
        assert!(!check([-1.0, -1.0, 0.5], &[(2, 1.0), (0, -1.0)]));
    }
}
