//! A first point of a component: `V W = M_S` with `W >= 0`, of dyadic numbers where `M_S` has them.
//!
//! - More linear neurons than the rank of `M` (rank `m`): `V = [I, -1, 0]`, `W = [M + 1 g; g; free]` for a row `g` that is large enough. The vector
//!   of ones lies in the kernel of `[I, -1]`, so that `g` may grow.
//! - As many as inputs: `W = I`, `V = M`.
//! - As many as the rank `m`, and a functional `y` is positive on the columns, with `y_p = 1` or `-1`: the rows `y` and `e_i + k y` (`i != p`) for large `k` make a matrix `Y` with
//!   `det Y = 1` or `-1`, whose inverse has no denominators but those of `y`; `W = Y M`, `V = Y^-1`.
//! - Otherwise (a rank defect) a rational factorisation [threelayer2026, Section 4].

use fiberscope_core::{Matrix, Rational};

use super::component::{Existence, FiberComponent};
use super::layer::LayerFiber;
use super::pointed::dot;
use crate::limit::Deadline;
use crate::reduce::{Allowed, allowed_factorization, inverse};

/// A factorisation `left * right` with `right >= 0`.
#[derive(Clone, Debug, PartialEq)]
pub struct Factors {
    /// `V_Lin`, one column per linear neuron.
    pub left: Matrix<Rational>,
    /// `W_Lin`, one row per linear neuron.
    pub right: Matrix<Rational>,
    /// The first so many columns of `left` add up to zero: a row may be added to so many rows of `right`.
    pub(super) loose: usize,
    /// The rows of `right` behind these are free: their columns of `left` are zero.
    pub(super) used: usize,
}

impl LayerFiber {
    /// A factorisation for a component of this fiber; `None` if it is empty, or if the exact factorisation is too much work.
    pub fn factors(&self, component: &FiberComponent) -> Option<Factors> {
        let (l, m, d) = (self.linear().len(), self.outputs(), self.inputs());
        let given = component.orientation == *self.own();
        if component.is_empty() {
            return None;
        }
        let (matrix, _) = self.affine_rest(&component.orientation);
        let found = if l == 0 {
            Factors { left: zeros(m, 0), right: zeros(0, d), loose: 0, used: 0 }
        } else if component.rank == m && l > m {
            loose(&matrix, l)
        } else if given {
            self.given()
        } else if l == d {
            let unit = |i, j| if i == j { Rational::ONE } else { Rational::ZERO };
            Factors { right: Matrix::from_fn(d, d, unit), left: matrix.clone(), loose: 0, used: l }
        } else if let (Existence::PointedCone(functional), true) = (&component.existence, component.rank == m)
        {
            pointed(&matrix, functional)?
        } else {
            rational(&matrix, l)?
        };
        debug_assert!(found.right.entries().iter().all(|x| !x.is_negative()));
        Some(found)
    }

    /// The factorisation of the given parameter.
    pub(super) fn given(&self) -> Factors {
        let l = self.linear().len();
        Factors {
            left: self.output.weight().select_columns(self.linear()),
            right: self.hidden.weight().select_rows(self.linear()),
            loose: 0,
            used: l,
        }
    }
}

pub(super) fn zeros(rows: usize, cols: usize) -> Matrix<Rational> {
    Matrix::from_fn(rows, cols, |_, _| Rational::ZERO)
}

fn loose(matrix: &Matrix<Rational>, l: usize) -> Factors {
    let (m, d) = (matrix.rows(), matrix.cols());
    let shift: Vec<Rational> = (0..d)
        .map(|j| matrix.column(j).map(|x| -x).max().unwrap_or(Rational::ZERO).max(Rational::ZERO))
        .collect();
    let right = Matrix::from_fn(l, d, |k, j| match k {
        k if k < m => &matrix[(k, j)] + &shift[j],
        k if k == m => shift[j].clone(),
        _ => Rational::ZERO,
    });
    let left = Matrix::from_fn(m, l, |i, k| match k {
        k if k == i => Rational::ONE,
        k if k == m => -Rational::ONE,
        _ => Rational::ZERO,
    });
    Factors { left, right, loose: m + 1, used: m + 1 }
}

fn pointed(matrix: &Matrix<Rational>, functional: &[Rational]) -> Option<Factors> {
    let (m, d) = (matrix.rows(), matrix.cols());
    let p = functional.iter().position(|y| y.abs() == Rational::ONE)?;
    let along: Vec<Rational> =
        (0..d).map(|j| dot(functional, &matrix.column(j).cloned().collect::<Vec<_>>())).collect();
    let multiple = |i: usize| {
        let needed =
            (0..d).filter(|&j| matrix[(i, j)].is_negative()).map(|j| -(&matrix[(i, j)] / &along[j])).max();
        // One more than needed, rounded up to a short number.
        &needed.unwrap_or(Rational::ZERO).round_up(2) + &Rational::ONE
    };
    let multiples: Vec<Rational> =
        (0..m).map(|i| if i == p { Rational::ZERO } else { multiple(i) }).collect();
    let turn = Matrix::from_fn(m, m, |i, j| {
        if i == p {
            return functional[j].clone();
        }
        let unit = if i == j { Rational::ONE } else { Rational::ZERO };
        &unit + &(&multiples[i] * &functional[j])
    });
    let right = Matrix::from_fn(m, d, |i, j| {
        if i == p { along[j].clone() } else { &matrix[(i, j)] + &(&multiples[i] * &along[j]) }
    });
    Some(Factors { left: inverse(turn, &Deadline::NEVER)?, right, loose: 0, used: m })
}

/// Any exact factorisation, filled up with free rows.
fn rational(matrix: &Matrix<Rational>, l: usize) -> Option<Factors> {
    let allowed = vec![Allowed::Sign(1); matrix.cols()];
    let found = allowed_factorization(matrix, &allowed, &Deadline::NEVER)?;
    let used = found.rows.rows();
    if used > l {
        return None;
    }
    let cell = |inside: bool, x: &dyn Fn() -> Rational| if inside { x() } else { Rational::ZERO };
    Some(Factors {
        left: Matrix::from_fn(matrix.rows(), l, |i, k| {
            cell(k < used, &|| found.coefficients[(i, k)].clone())
        }),
        right: Matrix::from_fn(l, matrix.cols(), |k, j| cell(k < used, &|| found.rows[(k, j)].clone())),
        loose: 0,
        used,
    })
}
