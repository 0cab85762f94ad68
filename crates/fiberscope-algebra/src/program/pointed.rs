//! Is the cone spanned by the columns of a matrix pointed? With proof of either answer.
//!
//! **Gordan's theorem.** For nonzero vectors `M_1, ..., M_d`, either some `y` has `y M_j > 0` for all `j`
//! (the cone is pointed), or `sum_j lambda_j M_j = 0` for some `lambda >= 0`, `lambda != 0` (it is not), and
//! never both.
//!
//! The first phase of the revised simplex method on `sum lambda_j (M_j, 1) = (0, 1)`, `lambda >= 0` finds one
//! or the other: a feasible basis is a `lambda`, and the multipliers `(-y, t)` of an infeasible end have
//! `y M_j >= t > 0`. It runs in doubles first; what it proposes is verified in rational numbers, and where
//! rounding led astray it runs again in rational numbers with Bland's rule, which ends [bland1977rules,
//! Section 2].

use fiberscope_core::{Matrix, Rational};

use super::basis::Basis;
use crate::rational::{dot, is_zero};
use crate::{Ordered, dense};

/// Whether the columns of a matrix that are not zero span a pointed cone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pointedness {
    /// They do.
    Pointed {
        /// A row `y` with `y M_j > 0` for every column `M_j != 0`; its largest entry is 1 or -1.
        functional: Vec<Rational>,
    },
    /// They do not.
    NotPointed {
        /// Multipliers `lambda_j >= 0` of the columns, not all zero and zero at zero columns, with
        /// `sum lambda_j M_j = 0`.
        combination: Vec<Rational>,
    },
}

impl Pointedness {
    /// Whether the proof holds for this matrix: exact arithmetic only.
    pub fn proves(&self, matrix: &Matrix<Rational>) -> bool {
        let columns = || (0..matrix.cols()).map(|j| matrix.column(j).cloned().collect::<Vec<_>>());
        match self {
            Pointedness::Pointed { functional } => {
                functional.len() == matrix.rows()
                    && columns().all(|c| is_zero(&c) || dot(functional, &c).is_positive())
            }
            Pointedness::NotPointed { combination } => {
                let vanishes = |row: &[Rational]| dot(row, combination).is_zero();
                combination.len() == matrix.cols()
                    && combination.iter().all(|x| !x.is_negative())
                    && columns().zip(combination).all(|(c, x)| x.is_zero() || !is_zero(&c))
                    && !is_zero(combination)
                    && matrix.iter_rows().all(vanishes)
            }
        }
    }
}

/// Decides whether the cone of the columns is pointed; `None` only if it is late before the answer is known.
///
/// ```
/// use fiberscope_algebra::never;
/// use fiberscope_algebra::program::{Pointedness, pointedness};
/// use fiberscope_core::{Matrix, Rational};
///
/// let matrix = |rows: &[[i64; 3]]| Matrix::from_rows(rows).unwrap().map(|&x| Rational::from(x));
/// let half_plane = matrix(&[[1, 0, -1], [2, 1, 3]]);
/// assert!(matches!(pointedness(&half_plane, &never), Some(Pointedness::Pointed { .. })));
/// let around = matrix(&[[1, 0, -1], [0, 1, -1]]);
/// assert!(matches!(pointedness(&around, &never), Some(Pointedness::NotPointed { .. })));
/// ```
pub fn pointedness(matrix: &Matrix<Rational>, is_late: &dyn Fn() -> bool) -> Option<Pointedness> {
    let columns: Vec<(usize, Vec<Rational>)> = (0..matrix.cols())
        .map(|j| (j, matrix.column(j).cloned().collect::<Vec<_>>()))
        .filter(|(_, column)| !is_zero(column))
        .collect();
    if columns.is_empty() {
        let functional = (0..matrix.rows()).map(|i| Rational::from(i64::from(i == 0))).collect();
        return Some(Pointedness::Pointed { functional });
    }
    let floats: Option<Vec<Vec<f64>>> = columns.iter().map(|(_, column)| unit(column)).collect();
    let proposed = floats.and_then(|floats| {
        let pivots = 8 * (floats.len() + matrix.rows()) + 32;
        match phase_one(&floats, pivots, is_late)? {
            End::Infeasible(y) => functional(&y, &columns),
            End::Feasible(basis) => {
                exact(&columns, &basis.iter().map(|b| b.0).collect::<Vec<_>>(), matrix.cols(), is_late)
            }
        }
    });
    proposed.or_else(|| {
        let all: Vec<usize> = (0..columns.len()).collect();
        exact(&columns, &all, matrix.cols(), is_late)
    })
}

/// A short functional near `y` if it is strictly positive on the columns, exactly.
fn functional(y: &[f64], columns: &[(usize, Vec<Rational>)]) -> Option<Pointedness> {
    let largest = y.iter().fold(0f64, |m, x| m.max(x.abs()));
    // Few bits suffice most of the time, and keep what is made of the functional short.
    for bits in [4, 12, 40] {
        let scale = 2f64.powi(bits);
        let short = |x: &f64| Rational::from_f64((x / largest * scale).round() / scale);
        let functional: Vec<Rational> = y.iter().map(short).collect::<Option<_>>()?;
        if columns.iter().all(|(_, column)| dot(&functional, column).is_positive()) {
            return Some(Pointedness::Pointed { functional });
        }
    }
    None
}

/// The answer for the given columns in rational numbers; `None` if they are not all columns and are pointed,
/// or if it is late.
fn exact(
    columns: &[(usize, Vec<Rational>)],
    chosen: &[usize],
    width: usize,
    is_late: &dyn Fn() -> bool,
) -> Option<Pointedness> {
    let vectors: Vec<Vec<Rational>> = chosen.iter().map(|&c| columns[c].1.clone()).collect();
    match phase_one(&vectors, usize::MAX, is_late)? {
        End::Feasible(basis) => {
            let mut combination = vec![Rational::ZERO; width];
            for (c, weight) in basis {
                combination[columns[chosen[c]].0] = weight;
            }
            Some(Pointedness::NotPointed { combination })
        }
        End::Infeasible(_) if chosen.len() < columns.len() => None,
        End::Infeasible(y) => {
            let largest = y.iter().map(Rational::abs).max().filter(|x| !x.is_zero()).and_then(|x| x.recip());
            let scale = largest.unwrap_or(Rational::ONE);
            Some(Pointedness::Pointed { functional: y.iter().map(|x| x * &scale).collect() })
        }
    }
}

/// The column as a unit vector of doubles.
fn unit(column: &[Rational]) -> Option<Vec<f64>> {
    let floats: Vec<f64> = column.iter().map(Rational::to_f64).collect();
    let norm = dense::norm(&floats);
    (norm.is_normal()).then(|| floats.iter().map(|x| x / norm).collect())
}

/// How the first phase ends.
enum End<N> {
    /// Columns of the basis with their values.
    Feasible(Vec<(usize, N)>),
    /// A functional that is positive on all columns.
    Infeasible(Vec<N>),
}

/// The first phase for the columns `(v_j, 1)` and the right-hand side `(0, 1)`; `None` after too many pivots,
/// or if it is late. Column `n + i` for `n` vectors is the artificial unit vector `i`.
fn phase_one<N: Ordered>(vectors: &[Vec<N>], pivots: usize, is_late: &dyn Fn() -> bool) -> Option<End<N>> {
    let (n, m) = (vectors.len(), vectors.first().map_or(0, Vec::len));
    let columns: Vec<Vec<N>> =
        vectors.iter().map(|v| v.iter().cloned().chain([N::ONE]).collect::<Vec<_>>()).collect();
    let mut basis = Basis::<N>::of_units((n..=n + m).map(|j| j as u32).collect(), |_| false);
    for _ in 0..pivots {
        if is_late() {
            return None;
        }
        let artificial = |basis: &Basis<N>, k: usize| basis.numbers()[k] as usize >= n;
        let mut multipliers = vec![N::ZERO; m + 1];
        for k in (0..=m).filter(|&k| artificial(&basis, k)) {
            multipliers.iter_mut().zip(basis.edge(k)).for_each(|(sum, x)| sum.add_product(x, &N::ONE));
        }
        let price = |j: usize| {
            let mut price = multipliers[m].clone();
            multipliers[..m].iter().zip(&vectors[j]).for_each(|(x, v)| price.add_product(x, v));
            price
        };
        let Some(entering) = (0..n).find(|&j| !basis.contains(j) && price(j).sign() > 0) else {
            // The value of a basic column is its coordinate in the right-hand side.
            let value = |k: usize| &basis.edge(k)[m];
            if (0..=m).any(|k| artificial(&basis, k) && value(k).sign() > 0) {
                return Some(End::Infeasible(multipliers[..m].iter().map(N::negated).collect()));
            }
            let real = (0..=m).filter(|&k| !artificial(&basis, k));
            return Some(End::Feasible(
                real.map(|k| (basis.numbers()[k] as usize, value(k).clone())).collect(),
            ));
        };
        let direction = basis.coordinates(&columns[entering]);
        let leaving = leaving_row(&basis, &direction)?;
        basis.replace(leaving, entering, &direction);
    }
    None
}

/// The place in the basis that limits the step; of several the one with the smallest column.
fn leaving_row<N: Ordered>(basis: &Basis<N>, direction: &[N]) -> Option<usize> {
    let last = direction.len() - 1;
    let mut best: Option<(usize, N)> = None;
    for (k, share) in direction.iter().enumerate().filter(|(_, share)| share.sign() > 0) {
        let step = basis.edge(k)[last].quotient(share);
        let better = best.as_ref().is_none_or(|(other, least)| {
            step < *least || (step <= *least && basis.numbers()[k] < basis.numbers()[*other])
        });
        if better {
            best = Some((k, step));
        }
    }
    best.map(|(k, _)| k)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::never;

    #[test]
    fn either_answer_is_proved_and_both_occur() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut pointed = 0;
        for _ in 0..2000 {
            let (m, d) = (rng.random_range(1..5), rng.random_range(1..8));
            let matrix = Matrix::from_fn(m, d, |_, _| Rational::from(rng.random_range(-2..=2)));
            let answer = pointedness(&matrix, &never).unwrap();
            assert!(answer.proves(&matrix), "{matrix:?} {answer:?}");
            pointed += usize::from(matches!(answer, Pointedness::Pointed { .. }));
        }
        assert!((200..1800).contains(&pointed), "{pointed}");
    }

    #[test]
    fn one_unit_in_the_last_place_decides() {
        let next = Rational::from_f64(1f64.next_up()).unwrap();
        let one = Rational::ONE;
        let rows = [[one.clone(), -&one], [one.clone(), -&one]];
        let line = Matrix::from_rows(&rows).unwrap();
        assert!(matches!(pointedness(&line, &never), Some(Pointedness::NotPointed { .. })));
        let rows = [[one.clone(), -&one], [one.clone(), -&next]];
        let nearly = Matrix::from_rows(&rows).unwrap();
        let answer = pointedness(&nearly, &never).unwrap();
        assert!(matches!(answer, Pointedness::Pointed { .. }) && answer.proves(&nearly));
        assert!(!answer.proves(&line));
    }
}
