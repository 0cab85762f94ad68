//! Linear inequalities decided exactly: an interior point, or Farkas' certificate that there is none.
//!
//! Maximise `e` subject to `a_i x + b_i - e >= 0` for all `i` and `e <= 1`, with `x` and `e` free. The
//! point `x = 0, e = min(b_i, 1)` is feasible, so there is no first phase; Bland's rule makes the simplex
//! method finite. As soon as `e > 0`, `x` is an interior point. At an optimum `e* <= 0` the row of `e`
//! reads `e = e* - sum_i m_i s_i` with slacks `s_i = a_i x + b_i - e` and `m_i >= 0`: so `sum m_i a_i = 0`
//! and `sum m_i b_i = e* <= 0`.
//!
//! The variables are free and no vertex is known, so this is a method on the whole tableau, unlike the
//! others, which start at a vertex and keep a basis.

use fiberscope_core::Rational;

/// More pivots than any polytope of the search needs; past them the answer is unknown.
const MAX_PIVOTS: usize = 20_000;

/// What strict inequalities `a_i x + b_i > 0` have.
#[derive(Clone, Debug, PartialEq)]
pub enum Interior {
    /// A point that satisfies them all.
    Point(Vec<Rational>),
    /// None: multipliers `m_i >= 0`, not all zero, with `sum m_i a_i = 0` and `sum m_i b_i <= 0`.
    Empty(Vec<Rational>),
    /// The method was stopped.
    Unknown,
}

/// Decides strict inequalities in `dimension` variables, each given as gradient, then constant, unless it is
/// late.
pub fn interior(dimension: usize, inequalities: &[Vec<Rational>], is_late: impl Fn() -> bool) -> Interior {
    let mut tableau = Tableau::new(dimension, inequalities);
    let first = tableau.lowest_row();
    tableau.pivot(first, dimension);
    for _ in 0..MAX_PIVOTS {
        if is_late() {
            return Interior::Unknown;
        }
        if tableau.objective().constant.is_positive() {
            return Interior::Point(tableau.point());
        }
        let Some((column, direction)) = tableau.entering() else {
            return Interior::Empty(tableau.multipliers());
        };
        let row =
            tableau.leaving(column, direction).expect("e is bounded by 1, so some row stops every ascent");
        tableau.pivot(row, column);
    }
    Interior::Unknown
}

/// A variable: `x_j`, then `e`, then the slacks (the last one is that of `e <= 1`).
type Variable = usize;

struct Row {
    basic: Variable,
    coefficients: Vec<Rational>,
    constant: Rational,
}

struct Tableau {
    dimension: usize,
    inequalities: usize,
    /// The variables of the columns.
    columns: Vec<Variable>,
    rows: Vec<Row>,
}

impl Tableau {
    fn new(dimension: usize, inequalities: &[Vec<Rational>]) -> Self {
        let slack = |i: usize| dimension + 1 + i;
        let minus_one = -Rational::ONE;
        let row = |(i, inequality): (usize, &Vec<Rational>)| {
            let mut coefficients = inequality[..dimension].to_vec();
            coefficients.push(minus_one.clone());
            Row { basic: slack(i), coefficients, constant: inequality[dimension].clone() }
        };
        let mut rows: Vec<Row> = inequalities.iter().enumerate().map(row).collect();
        let mut coefficients = vec![Rational::ZERO; dimension];
        coefficients.push(minus_one.clone());
        rows.push(Row { basic: slack(inequalities.len()), coefficients, constant: Rational::ONE });
        Tableau { dimension, inequalities: inequalities.len(), columns: (0..=dimension).collect(), rows }
    }

    fn is_free(&self, variable: Variable) -> bool {
        variable <= self.dimension
    }

    fn lowest_row(&self) -> usize {
        let constant = |r: &usize| &self.rows[*r].constant;
        (0..self.rows.len()).min_by(|r, s| constant(r).cmp(constant(s))).expect("the row of e <= 1 is there")
    }

    /// The row of `e`.
    fn objective(&self) -> &Row {
        let row = self.rows.iter().find(|row| row.basic == self.dimension);
        row.expect("e entered the basis first and free variables never leave it")
    }

    /// A column along which `e` grows, by Bland's rule, and its direction.
    fn entering(&self) -> Option<(usize, i8)> {
        let objective = self.objective();
        let growing = |c: &usize| {
            let sign = objective.coefficients[*c].signum();
            sign > 0 || (sign < 0 && self.is_free(self.columns[*c]))
        };
        let column = (0..self.columns.len()).filter(growing).min_by_key(|&c| self.columns[c])?;
        Some((column, objective.coefficients[column].signum()))
    }

    /// The slack that first becomes zero along a column, the smallest variable among equals.
    fn leaving(&self, column: usize, direction: i8) -> Option<usize> {
        let mut best: Option<(usize, Rational)> = None;
        for (r, row) in self.rows.iter().enumerate() {
            let coefficient = &row.coefficients[column];
            if self.is_free(row.basic) || coefficient.signum() != -direction {
                continue;
            }
            let step = &row.constant / &coefficient.abs();
            let better = best.as_ref().is_none_or(|(other, least)| {
                step < *least || (step == *least && row.basic < self.rows[*other].basic)
            });
            if better {
                best = Some((r, step));
            }
        }
        best.map(|(r, _)| r)
    }

    /// Exchanges the basic variable of a row and the variable of a column.
    fn pivot(&mut self, r: usize, c: usize) {
        let inverse = self.rows[r].coefficients[c].recip().expect("a pivot is not zero");
        let row = &mut self.rows[r];
        let factor = -&inverse;
        row.coefficients.iter_mut().for_each(|x| *x *= &factor);
        row.constant *= &factor;
        row.coefficients[c] = inverse;
        std::mem::swap(&mut row.basic, &mut self.columns[c]);
        let (coefficients, constant) = (row.coefficients.clone(), row.constant.clone());
        for (_, other) in self.rows.iter_mut().enumerate().filter(|(s, _)| *s != r) {
            let factor = std::mem::take(&mut other.coefficients[c]);
            if factor.is_zero() {
                continue;
            }
            for (x, y) in other.coefficients.iter_mut().zip(&coefficients) {
                *x += &(&factor * y);
            }
            other.constant += &(&factor * &constant);
        }
    }

    fn point(&self) -> Vec<Rational> {
        let value = |j: usize| self.rows.iter().find(|row| row.basic == j).map(|row| row.constant.clone());
        (0..self.dimension).map(|j| value(j).unwrap_or_default()).collect()
    }

    fn multipliers(&self) -> Vec<Rational> {
        let mut multipliers = vec![Rational::ZERO; self.inequalities];
        for (&variable, coefficient) in self.columns.iter().zip(&self.objective().coefficients) {
            if let Some(multiplier) =
                variable.checked_sub(self.dimension + 1).and_then(|i| multipliers.get_mut(i))
            {
                *multiplier = -coefficient;
            }
        }
        multipliers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_point_has_no_interior() {
        let rows = [[1, 0], [-1, 0]].map(|row| row.map(Rational::from).to_vec());
        let Interior::Empty(multipliers) = interior(1, &rows, || false) else { panic!("empty") };
        assert!(multipliers[0] == multipliers[1] && multipliers[0].is_positive());
    }
}
