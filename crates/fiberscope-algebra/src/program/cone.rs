//! Is a half-space superfluous in a cone? Doubles first, rational numbers last.
//!
//! The cone is `{y : a_i y >= 0}` with interior. Wanted is a point of it with `c y < 0`, or multipliers
//! `m_i >= 0` with `c = sum m_i a_i`, which show that there is none (Farkas). The dual simplex method on the
//! cone cut off by `|y_j| <= 1` starts at the corner of the cube where `c` is least and repairs violated
//! rows; the last basis is solved in rational numbers and checked. If rounding led astray, the method runs
//! once more in rational numbers, where it ends.

use fiberscope_core::Rational;

use super::basis::Basis;
use super::dual::{Rows, Upkeep, minimize};
use crate::elimination::solve;
use crate::rational::dot;
use crate::{Number, dense};

/// What the cone says about a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Side {
    /// A point of the cone where the row is negative.
    Beyond(Vec<Rational>),
    /// The row is nonnegative on the cone.
    Superfluous,
}

/// Rows of a cone, exactly and in doubles (scaled to largest entry 1).
#[derive(Clone, Debug)]
pub struct Cone {
    dimension: usize,
    exact: Vec<Vec<Rational>>,
    floats: Vec<Vec<f64>>,
}

/// Values below this count as violated in doubles.
const VIOLATED: f64 = -1e-10;
/// Values below this count as a point beyond.
const BEYOND: f64 = -1e-7;
/// Pivots below this count as zero.
const LEAST: f64 = 1e-13;

impl Cone {
    /// The cone of these rows.
    pub fn new(dimension: usize, rows: Vec<Vec<Rational>>) -> Self {
        let floats = rows.iter().map(|row| scaled(row)).collect();
        Cone { dimension, exact: rows, floats }
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<Rational>] {
        &self.exact
    }

    /// The rows in doubles, their largest entries 1.
    pub fn float_rows(&self) -> &[Vec<f64>] {
        &self.floats
    }

    /// Which side of the row `c` the cone of the rows with `keep` reaches; `None` if it is late before that
    /// is known.
    pub fn side(&self, c: &[Rational], keep: &[bool], is_late: &dyn Fn() -> bool) -> Option<Side> {
        let target = scaled(c);
        if let Some((basis, y)) = self.float_basis(&target, keep, is_late) {
            if dense::dot(&target, &y) < BEYOND
                && let Some(point) = self.rounded(c, keep, &y)
            {
                return Some(Side::Beyond(point));
            }
            if let Some(side) = self.settle(c, keep, basis.numbers()) {
                return Some(side);
            }
        }
        self.exact_side(c, keep, is_late)
    }

    /// The point in doubles, if it is exactly in the cone of the rows with `keep` and beyond the row.
    pub fn rounded(&self, c: &[Rational], keep: &[bool], y: &[f64]) -> Option<Vec<Rational>> {
        let point: Vec<Rational> = y.iter().map(|&y| Rational::from_f64(y)).collect::<Option<_>>()?;
        (self.contains(&point, keep) && dot(c, &point).is_negative()).then_some(point)
    }

    fn contains(&self, point: &[Rational], keep: &[bool]) -> bool {
        self.exact.iter().zip(keep).all(|(row, &keep)| !keep || !dot(row, point).is_negative())
    }

    /// The corner of the cube where a row is least, as a basis.
    fn corner<N: Entry>(&self, is_negative: impl Fn(usize) -> bool) -> Basis<N> {
        let (n, d) = (self.exact.len(), self.dimension);
        let number = |j: usize| if is_negative(j) { n + j } else { n + d + j };
        Basis::of_units((0..d).map(|j| number(j) as u32).collect(), &is_negative)
    }

    /// The method in doubles. The basis is made anew for every step: rows that nearly depend on each other
    /// are common, and a basis that is updated would carry their errors on.
    fn float_basis(
        &self,
        c: &[f64],
        keep: &[bool],
        is_late: &dyn Fn() -> bool,
    ) -> Option<(Basis<f64>, Vec<f64>)> {
        let steps = 40 + 4 * self.floats.len();
        let cut = Cut { rows: &self.floats, keep, dimension: self.dimension };
        minimize(&cut, c, self.corner(|j| c[j] < 0.0), Upkeep::Anew(LEAST), steps, is_late)
    }

    /// The answer of an optimal basis, if it is one.
    fn settle(&self, c: &[Rational], keep: &[bool], basis: &[u32]) -> Option<Side> {
        let (n, d) = (self.exact.len(), self.dimension);
        let cut = Cut { rows: &self.exact, keep, dimension: d };
        let rows: Vec<Vec<Rational>> = basis.iter().map(|&i| cut.gradient(i as usize)).collect();
        // c = sum_k m_k row_k.
        let equation = |j: usize| rows.iter().map(|row| row[j].clone()).chain([c[j].clone()]).collect();
        let multipliers = solve((0..d).map(equation).collect())?;
        if multipliers.iter().any(Rational::is_negative) {
            return None;
        }
        if basis.iter().zip(&multipliers).all(|(&i, m)| (i as usize) < n || m.is_zero()) {
            return Some(Side::Superfluous);
        }
        let equation = |(mut row, &i): (Vec<Rational>, &u32)| {
            row.push(-cut.constant(i as usize));
            row
        };
        let y = solve(rows.into_iter().zip(basis).map(equation).collect())?;
        (self.contains(&y, keep) && dot(c, &y).is_negative()).then_some(Side::Beyond(y))
    }

    /// The method in rational numbers.
    fn exact_side(&self, c: &[Rational], keep: &[bool], is_late: &dyn Fn() -> bool) -> Option<Side> {
        let cut = Cut { rows: &self.exact, keep, dimension: self.dimension };
        let corner = self.corner(|j| c[j].is_negative());
        let (_, y) = minimize(&cut, c, corner, Upkeep::Update, usize::MAX, is_late)?;
        Some(if dot(c, &y).is_negative() { Side::Beyond(y) } else { Side::Superfluous })
    }
}

/// The cone in the cube: rows `0..n` are those of the cone, then `1 - y_j >= 0`, then `1 + y_j >= 0`.
struct Cut<'a, N> {
    rows: &'a [Vec<N>],
    keep: &'a [bool],
    dimension: usize,
}

/// A number, and which row of a cone a point violates.
trait Entry: Number {
    fn violated(cut: &Cut<Self>, y: &[Self], basis: &Basis<Self>) -> Option<(usize, Self)>;
}

impl Entry for f64 {
    /// The row that is violated most.
    fn violated(cut: &Cut<f64>, y: &[f64], basis: &Basis<f64>) -> Option<(usize, f64)> {
        let open = (0..cut.rows.len()).filter(|&i| cut.keep[i] && !basis.contains(i));
        let worst = open.map(|i| (i, dense::dot(&cut.rows[i], y))).min_by(|a, b| a.1.total_cmp(&b.1));
        worst.filter(|(_, value)| *value < VIOLATED)
    }
}

impl Entry for Rational {
    /// The first row that is violated.
    fn violated(cut: &Cut<Rational>, y: &[Rational], _: &Basis<Rational>) -> Option<(usize, Rational)> {
        let kept = cut.rows.iter().enumerate().filter(|(i, _)| cut.keep[*i]);
        kept.map(|(i, row)| (i, dot(row, y))).find(|(_, value)| value.is_negative())
    }
}

impl<N: Entry> Rows<N> for Cut<'_, N> {
    fn gradient(&self, i: usize) -> Vec<N> {
        let (n, d) = (self.rows.len(), self.dimension);
        if i < n {
            return self.rows[i].clone();
        }
        let mut row = vec![N::ZERO; d];
        row[(i - n) % d] = if i - n < d { N::ONE.negated() } else { N::ONE };
        row
    }

    fn constant(&self, i: usize) -> N {
        if i < self.rows.len() { N::ZERO } else { N::ONE }
    }

    fn violated(&self, y: &[N], basis: &Basis<N>) -> Option<(usize, N)> {
        N::violated(self, y, basis)
    }
}

/// The row in doubles, its largest entry 1.
fn scaled(row: &[Rational]) -> Vec<f64> {
    let size = row.iter().map(Rational::abs).max().filter(Rational::is_positive).unwrap_or(Rational::ONE);
    row.iter().map(|x| (x / &size).to_f64()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::never;

    fn row(entries: &[i64]) -> Vec<Rational> {
        entries.iter().map(|&x| Rational::from(x)).collect()
    }

    #[test]
    fn rows_of_the_quadrant_and_others() {
        let cone = Cone::new(2, vec![row(&[1, 0]), row(&[0, 1])]);
        let check = |c: &[i64], superfluous: bool| {
            for side in
                [cone.side(&row(c), &[true, true], &never), cone.exact_side(&row(c), &[true, true], &never)]
            {
                match side.unwrap() {
                    Side::Superfluous => assert!(superfluous, "{c:?}"),
                    Side::Beyond(y) => {
                        assert!(!superfluous, "{c:?}");
                        assert!(dot(&row(c), &y).is_negative());
                        assert!(y.iter().all(|y| !y.is_negative()));
                    }
                }
            }
        };
        check(&[1, 1], true);
        check(&[1, 0], true);
        check(&[1, -1], false);
        check(&[-1, -1], false);
        assert!(matches!(cone.side(&row(&[1, 0]), &[false, true], &never), Some(Side::Beyond(_))));
    }
}
