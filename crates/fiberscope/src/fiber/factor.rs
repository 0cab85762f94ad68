//! A first point of a piece: `V W = M_S` with `W >= 0`, of dyadic numbers where `M_S` has them.
//!
//! - More linear neurons than outputs: `V = [I, -1, 0]`, `W = [M + 1 g; g; free]` for a row `g` that is large
//!   enough. The vector of ones lies in the kernel of `[I, -1]`, so that `g` may grow.
//! - As many as inputs, or more: `W = [I; free]`, `V = [M, 0]`.
//! - As many as the rank, and a functional is positive on the columns that are not zero: `M = C B` for rows
//!   `B` of `M` that are a basis of its row space. Take a functional `y` that is positive on the columns of
//!   `B`, with `y_p = 1` or `-1`; the rows `y` and `e_i + k y` (`i != p`) for large `k` make a matrix `Y`
//!   with `det Y = 1` or `-1`, whose inverse has no denominators but those of `y`; `W = Y B`, `V = C Y^-1`.
//!
//! [threelayer2026, Section 4]

use fiberscope_algebra::elimination::inverse;
use fiberscope_algebra::modular::independent_rows;
use fiberscope_algebra::never;
use fiberscope_algebra::program::{Pointedness, pointedness};
use fiberscope_algebra::rational::coordinates;
use fiberscope_algebra::rational::dot;
use fiberscope_core::{Matrix, Rational, Scalar};

use super::component::{Existence, FiberComponent};
use super::layer::LayerFiber;

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
    /// A factorisation for a piece of this fiber; `None` if it is empty.
    pub fn factors(&self, component: &FiberComponent) -> Option<Factors> {
        let (l, m, d) = (component.linear, self.outputs(), self.inputs());
        let (matrix, _) = self.affine_rest(&component.orientation);
        let given = || self.own().is_ok_and(|own| own == component.piece());
        let found = match &component.existence {
            Existence::NothingToAbsorb => {
                Factors { left: zeros(m, 0), right: zeros(0, d), loose: 0, used: 0 }
            }
            _ if !component.is_empty() && l > m => loose(&matrix, l),
            _ if !component.is_empty() && given() => self.given(),
            Existence::AsManyAsInputs => Factors {
                right: Matrix::from_fn(l, d, |i, j| if i == j { Rational::ONE } else { Rational::ZERO }),
                left: Matrix::from_fn(
                    m,
                    l,
                    |o, k| if k < d { matrix[(o, k)].clone() } else { Rational::ZERO },
                ),
                loose: 0,
                used: d,
            },
            Existence::PointedCone(functional) if l == m => pointed(&matrix, functional)?,
            Existence::PointedCone(_) => pointed_of_smaller_rank(&matrix)?,
            _ => return None,
        };
        debug_assert!(found.right.entries().iter().all(|x| !x.is_negative()));
        Some(found)
    }

    /// The factorisation of the given parameter.
    fn given(&self) -> Factors {
        let linear = self.linear();
        Factors {
            left: self.output.weight().select_columns(&linear),
            right: self.hidden.weight().select_rows(&linear),
            loose: 0,
            used: linear.len(),
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
    let along: Vec<Rational> = (0..d).map(|j| dot(functional, matrix.column(j))).collect();
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
    Some(Factors { left: inverse(&turn, &never)?, right, loose: 0, used: m })
}

fn pointed_of_smaller_rank(matrix: &Matrix<Rational>) -> Option<Factors> {
    let basis = matrix.select_rows(&independent_rows(matrix));
    let left = coordinates(&basis, matrix, &never)?;
    let Some(Pointedness::Pointed { functional }) = pointedness(&basis, &never) else { return None };
    let found = pointed(&basis, &functional)?;
    Some(Factors { left: Scalar::product(&left, &found.left)?, ..found })
}
