//! The least value of an affine function on a polytope in a box, in doubles, with a bound that is proved.
//!
//! **Lemma.** Let `m_i >= 0` and `r = c - sum_i m_i a_i`, rows with the constant last. On
//! `{x : a_i (x, 1) >= 0}` inside the box, `c (x, 1) >= r (x, 1) >= r_d + sum_j min(r_j lo_j, r_j hi_j)`.
//!
//! The multipliers come from the dual simplex method, which starts at the corner of the box where `c` is
//! least; however they were found, the bound holds once the rounding of `r` is added.

use fiberscope_core::Rational;

use super::basis::Basis;
use super::dual::{Rows, Upkeep, minimize};
use crate::dense::value_at;
use crate::never;

/// Rows of a polytope in a box, each entry the nearest double of an exact one.
#[derive(Clone, Debug)]
pub struct BoxedPolytope {
    rows: Vec<Vec<f64>>,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

/// What is known of the least value.
#[derive(Clone, Debug, PartialEq)]
pub struct Least {
    /// A lower bound, proved.
    pub bound: f64,
    /// The value where doubles found it least.
    pub value: f64,
    /// That point.
    pub point: Vec<f64>,
    /// The rows behind the bound with their multipliers.
    pub multipliers: Vec<(usize, f64)>,
}

/// Rows violated by more than this enter the basis.
const VIOLATED: f64 = -1e-10;

impl BoxedPolytope {
    /// The polytope of these rows, constants last, in a box.
    pub fn new(rows: Vec<Vec<f64>>, lower: Vec<f64>, upper: Vec<f64>) -> Self {
        BoxedPolytope { rows, lower, upper }
    }

    /// The least value of `c` where the rows with `keep` are not negative; `None` if the method gets lost.
    pub fn least(&self, c: &[f64], keep: &[bool]) -> Option<Least> {
        let (n, d) = (self.rows.len(), self.lower.len());
        let number = |j: usize| if c[j] >= 0.0 { n + j } else { n + d + j };
        // The edges of a corner of the box point inside.
        let corner = Basis::of_units((0..d).map(|j| number(j) as u32).collect(), |j| number(j) >= n + d);
        let kept = Kept { polytope: self, keep };
        let (basis, x) = minimize(&kept, c, corner, Upkeep::Update, 50 + 4 * (n + d), &never)?;
        Some(self.finish(c, &basis, x))
    }

    fn finish(&self, c: &[f64], basis: &Basis<f64>, point: Vec<f64>) -> Least {
        let d = self.lower.len();
        let used = basis.numbers().iter().map(|&i| i as usize).zip(basis.coordinates(c));
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
        Least { bound: bound - rounding * scale, value: value_at(c, &point), point, multipliers }
    }
}

/// The rows with `keep` and the sides: row `n + j` is `x_j >= lower`, row `n + d + j` is `x_j <= upper`.
struct Kept<'a> {
    polytope: &'a BoxedPolytope,
    keep: &'a [bool],
}

impl Rows<f64> for Kept<'_> {
    fn gradient(&self, i: usize) -> Vec<f64> {
        let (n, d) = (self.polytope.rows.len(), self.polytope.lower.len());
        if i < n {
            return self.polytope.rows[i][..d].to_vec();
        }
        let mut row = vec![0.0; d];
        row[(i - n) % d] = if i < n + d { 1.0 } else { -1.0 };
        row
    }

    fn constant(&self, i: usize) -> f64 {
        let BoxedPolytope { rows, lower, upper } = self.polytope;
        let (n, d) = (rows.len(), lower.len());
        match i.checked_sub(n) {
            None => rows[i][d],
            Some(j) if j < d => -lower[j],
            Some(j) => upper[j - d],
        }
    }

    /// The row that a point violates most.
    fn violated(&self, x: &[f64], _: &Basis<f64>) -> Option<(usize, f64)> {
        let BoxedPolytope { rows, lower, upper } = self.polytope;
        let (n, d) = (rows.len(), x.len());
        let mut worst = (usize::MAX, VIOLATED);
        let mut look = |i: usize, value: f64| {
            if value < worst.1 {
                worst = (i, value);
            }
        };
        for (i, row) in rows.iter().enumerate().filter(|(i, _)| self.keep[*i]) {
            look(i, value_at(row, x));
        }
        for (j, x) in x.iter().enumerate() {
            look(n + j, x - lower[j]);
            look(n + d + j, upper[j] - x);
        }
        (worst.0 < usize::MAX).then_some(worst)
    }
}

/// Whether multipliers of rows show, in rational numbers, that `c` is not negative on the polytope of the
/// rows in the box: the lemma of this module without rounding.
pub fn is_proved(
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The triangle `x >= 0, y >= 0, x + y <= 1` in a larger box.
    #[test]
    fn bounds_of_a_triangle() {
        let rows = vec![vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0], vec![-1.0, -1.0, 1.0]];
        let triangle = BoxedPolytope::new(rows, vec![-2.0; 2], vec![3.0; 2]);
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

    /// On the triangle `x + y + 1/2 >= 1/2`; the box alone does not show that it is not negative, and nothing
    /// shows that `x + y - 1/2` is not.
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
