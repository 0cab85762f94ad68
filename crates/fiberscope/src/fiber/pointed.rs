//! Is the cone spanned by the columns of a matrix pointed? With proof of either answer.
//!
//! **Gordan's theorem.** For nonzero vectors `M_1, ..., M_d`, either some `y` has `y M_j > 0` for all `j` (the cone is pointed), or
//! `sum_j lambda_j M_j = 0` for some `lambda >= 0`, `lambda != 0` (it is not), and never both.
//!
//! The first phase of the revised simplex method on `sum lambda_j (M_j, 1) = (0, 1)`, `lambda >= 0` finds one or the other: a feasible basis is a
//! `lambda`, and the multipliers `(-y, t)` of an infeasible end have `y M_j >= t > 0`. It runs in doubles first; what it proposes is verified in
//! rational numbers, and where rounding led astray it runs again in rational numbers with Bland's rule, which ends
//! [bland1977rules, Section 2].

use fiberscope_core::{Matrix, Rational};

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
        /// Multipliers `lambda_j >= 0` of the columns, not all zero and zero at zero columns, with `sum lambda_j M_j = 0`.
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

/// Decides whether the cone of the columns is pointed.
///
/// ```
/// use fiberscope::core::{Matrix, Rational};
/// use fiberscope::fiber::{Pointedness, pointedness};
///
/// let matrix = |rows: &[[i64; 3]]| Matrix::from_rows(rows).unwrap().map(|&x| Rational::from(x));
/// let half_plane = matrix(&[[1, 0, -1], [2, 1, 3]]);
/// assert!(matches!(pointedness(&half_plane), Pointedness::Pointed { .. }));
/// let around = matrix(&[[1, 0, -1], [0, 1, -1]]);
/// assert!(matches!(pointedness(&around), Pointedness::NotPointed { .. }));
/// ```
pub fn pointedness(matrix: &Matrix<Rational>) -> Pointedness {
    let columns: Vec<(usize, Vec<Rational>)> = (0..matrix.cols())
        .map(|j| (j, matrix.column(j).cloned().collect::<Vec<_>>()))
        .filter(|(_, column)| !is_zero(column))
        .collect();
    if columns.is_empty() {
        let functional = (0..matrix.rows()).map(|i| Rational::from(i64::from(i == 0))).collect();
        return Pointedness::Pointed { functional };
    }
    let floats: Option<Vec<Vec<f64>>> = columns.iter().map(|(_, column)| unit(column)).collect();
    let proposed =
        floats.and_then(|floats| match phase_one(&floats, 8 * (floats.len() + matrix.rows()) + 32) {
            Some(End::Infeasible(y)) => functional(&y, &columns),
            Some(End::Feasible(basis)) => {
                exact(&columns, &basis.iter().map(|b| b.0).collect::<Vec<_>>(), matrix.cols())
            }
            None => None,
        });
    proposed.unwrap_or_else(|| {
        let all: Vec<usize> = (0..columns.len()).collect();
        exact(&columns, &all, matrix.cols()).expect("the method ends with one of the two answers")
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

/// The answer for the given columns in rational numbers; `None` if they are not all columns and are pointed.
fn exact(columns: &[(usize, Vec<Rational>)], chosen: &[usize], width: usize) -> Option<Pointedness> {
    let vectors: Vec<Vec<Rational>> = chosen.iter().map(|&c| columns[c].1.clone()).collect();
    match phase_one(&vectors, usize::MAX)? {
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
    let norm = floats.iter().map(|x| x * x).sum::<f64>().sqrt();
    (norm.is_normal()).then(|| floats.iter().map(|x| x / norm).collect())
}

/// How the first phase ends.
enum End<N> {
    /// Columns of the basis with their values.
    Feasible(Vec<(usize, N)>),
    /// A functional that is positive on all columns.
    Infeasible(Vec<N>),
}

/// What the simplex method needs of numbers.
trait Number: Clone {
    fn from_sign(sign: i8) -> Self;
    fn sign(&self) -> i8;
    fn add_product(&mut self, a: &Self, b: &Self);
    fn quotient(&self, other: &Self) -> Self;
    fn negated(&self) -> Self;
    fn less(&self, other: &Self) -> bool;
}

impl Number for f64 {
    fn from_sign(sign: i8) -> f64 {
        f64::from(sign)
    }
    fn sign(&self) -> i8 {
        const NOISE: f64 = 1e-11;
        i8::from(*self > NOISE) - i8::from(*self < -NOISE)
    }
    fn add_product(&mut self, a: &f64, b: &f64) {
        *self += a * b;
    }
    fn quotient(&self, other: &f64) -> f64 {
        self / other
    }
    fn negated(&self) -> f64 {
        -self
    }
    fn less(&self, other: &f64) -> bool {
        self < other
    }
}

impl Number for Rational {
    fn from_sign(sign: i8) -> Rational {
        Rational::from(i64::from(sign))
    }
    fn sign(&self) -> i8 {
        self.signum()
    }
    fn add_product(&mut self, a: &Rational, b: &Rational) {
        if !a.is_zero() && !b.is_zero() {
            *self += &(a * b);
        }
    }
    fn quotient(&self, other: &Rational) -> Rational {
        self / other
    }
    fn negated(&self) -> Rational {
        -self
    }
    fn less(&self, other: &Rational) -> bool {
        self < other
    }
}

/// The first phase for the columns `(v_j, 1)` and the right-hand side `(0, 1)`; `None` after too many pivots.
fn phase_one<N: Number>(vectors: &[Vec<N>], pivots: usize) -> Option<End<N>> {
    let m = vectors.first().map_or(0, Vec::len);
    let (zero, one) = (N::from_sign(0), N::from_sign(1));
    let entry = |j: usize, i: usize| if i < m { &vectors[j][i] } else { &one };
    // Columns beyond the given ones are artificial.
    let mut basis: Vec<usize> = (0..=m).map(|i| vectors.len() + i).collect();
    let mut inverse: Vec<Vec<N>> =
        (0..=m).map(|i| (0..=m).map(|k| N::from_sign(i8::from(i == k))).collect()).collect();
    let mut values: Vec<N> = (0..=m).map(|i| N::from_sign(i8::from(i == m))).collect();
    for _ in 0..pivots {
        let mut multipliers = vec![zero.clone(); m + 1];
        for (row, _) in inverse.iter().zip(&basis).filter(|(_, b)| **b >= vectors.len()) {
            multipliers.iter_mut().zip(row).for_each(|(sum, x)| sum.add_product(x, &one));
        }
        let price = |j: usize| {
            let mut price = multipliers[m].clone();
            (0..m).for_each(|i| price.add_product(&multipliers[i], entry(j, i)));
            price
        };
        let Some(entering) = (0..vectors.len()).find(|j| !basis.contains(j) && price(*j).sign() > 0) else {
            let infeasible = basis.iter().zip(&values).any(|(b, x)| *b >= vectors.len() && x.sign() > 0);
            return Some(if infeasible {
                End::Infeasible(multipliers[..m].iter().map(N::negated).collect())
            } else {
                let real = basis.into_iter().zip(values).filter(|(b, _)| *b < vectors.len());
                End::Feasible(real.collect())
            });
        };
        let direction: Vec<N> = inverse
            .iter()
            .map(|row| {
                let mut sum = zero.clone();
                (0..=m).for_each(|i| sum.add_product(&row[i], entry(entering, i)));
                sum
            })
            .collect();
        let leaving = leaving_row(&basis, &values, &direction)?;
        pivot(&mut inverse, &mut values, &direction, leaving);
        basis[leaving] = entering;
    }
    None
}

/// The row that limits the step; of several the one with the smallest column.
fn leaving_row<N: Number>(basis: &[usize], values: &[N], direction: &[N]) -> Option<usize> {
    let mut best: Option<(usize, N)> = None;
    for (i, share) in direction.iter().enumerate().filter(|(_, share)| share.sign() > 0) {
        let step = values[i].quotient(share);
        let better = best.as_ref().is_none_or(|(other, least)| {
            step.less(least) || (!least.less(&step) && basis[i] < basis[*other])
        });
        if better {
            best = Some((i, step));
        }
    }
    best.map(|(i, _)| i)
}

fn pivot<N: Number>(inverse: &mut [Vec<N>], values: &mut [N], direction: &[N], row: usize) {
    for x in inverse[row].iter_mut() {
        *x = x.quotient(&direction[row]);
    }
    values[row] = values[row].quotient(&direction[row]);
    let (pivot_row, value) = (inverse[row].clone(), values[row].clone());
    for i in (0..inverse.len()).filter(|&i| i != row) {
        let factor = direction[i].negated();
        inverse[i].iter_mut().zip(&pivot_row).for_each(|(x, p)| x.add_product(&factor, p));
        values[i].add_product(&factor, &value);
    }
}

fn is_zero(vector: &[Rational]) -> bool {
    vector.iter().all(Rational::is_zero)
}

pub(super) fn dot(x: &[Rational], y: &[Rational]) -> Rational {
    x.iter().zip(y).filter(|(x, y)| !x.is_zero() && !y.is_zero()).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn either_answer_is_proved_and_both_occur() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut pointed = 0;
        for _ in 0..2000 {
            let (m, d) = (rng.random_range(1..5), rng.random_range(1..8));
            let matrix = Matrix::from_fn(m, d, |_, _| Rational::from(rng.random_range(-2..=2)));
            let answer = pointedness(&matrix);
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
        assert!(matches!(pointedness(&line), Pointedness::NotPointed { .. }));
        let rows = [[one.clone(), -&one], [one.clone(), -&next]];
        let nearly = Matrix::from_rows(&rows).unwrap();
        let answer = pointedness(&nearly);
        assert!(matches!(answer, Pointedness::Pointed { .. }) && answer.proves(&nearly));
        assert!(!answer.proves(&line));
    }
}
