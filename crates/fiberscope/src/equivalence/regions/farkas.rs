//! From float multipliers to exact proofs of emptiness.
//!
//! Wanted are positive integers `m_c` with `sum m_c grad g_c = 0` and `sum m_c g_c(0) <= 0`. Three ways,
//! cheapest first: parallel constraints; rounded multipliers whose left-over gradient the sides of the box
//! cancel (enough where the constraints miss each other by more than the rounding); and the exact solution of
//! the linear system of the constraints that floats found tight.

use dashu_int::ops::{Abs, Gcd};
use dashu_int::{IBig, Sign, UBig};
use fiberscope_algebra::rational::solve_integers;
use fiberscope_core::{ProductSum, Rational};

use super::integer::Form;
use super::residue::power_of_two;

/// A constraint of a path, `g = form / scale` or its negative.
#[derive(Clone, Copy)]
pub struct Constraint<'a> {
    /// The function.
    pub form: &'a Form,
    /// Whether `g` is its negative.
    pub negative: bool,
    /// What the function is to be divided by.
    pub scale: &'a IBig,
    /// The constraint's number in the certificate.
    pub number: usize,
}

impl Constraint<'_> {
    /// Coefficient `j` of `g * scale`.
    fn coefficient(&self, j: usize) -> IBig {
        if self.negative { -&self.form.exact[j] } else { self.form.exact[j].clone() }
    }
}

/// Constraints with their multipliers.
pub type Certificate = Vec<(usize, Rational)>;

/// A finite side `x_j - lower >= 0` or `upper - x_j >= 0` of the domain.
#[derive(Clone, Debug)]
pub struct Side {
    /// `D x_j - D lower` or `D upper - D x_j`.
    pub form: Form,
    /// `D`.
    pub scale: IBig,
    /// The number of the constraint.
    pub number: usize,
}

/// The sides of the free inputs: lower and upper.
#[derive(Clone, Debug)]
pub struct Sides {
    /// Per free input.
    pub sides: Vec<[Option<Side>; 2]>,
    /// A common multiple of the scales.
    pub multiple: IBig,
}

/// The proof by two parallel constraints that exclude each other.
pub fn parallel(new: Constraint, other: Constraint) -> Option<Certificate> {
    let last = new.form.exact.len() - 1;
    let pivot =
        (0..last).max_by(|&i, &j| new.form.approximate[i].abs().total_cmp(&new.form.approximate[j].abs()))?;
    let (u, v) = (&new.form.approximate, &other.form.approximate);
    if (0..last).any(|j| (u[j] * v[pivot] - v[j] * u[pivot]).abs() > 1e-9) {
        return None;
    }
    let same = new.negative == other.negative;
    if (u[pivot] * v[pivot] > 0.0) == same {
        return None;
    }
    // Opposite signs of equal functions are the common case.
    if !same && new.scale == other.scale && new.form.exact == other.form.exact {
        return Some(vec![(new.number, Rational::ONE), (other.number, Rational::ONE)]);
    }
    let (alpha, beta) = ((&other.form.exact[pivot]).abs(), (&new.form.exact[pivot]).abs());
    let sum = |j: usize| &alpha * new.coefficient(j) + &beta * other.coefficient(j);
    if (0..last).any(|j| !sum(j).is_zero()) || sum(last).sign() == Sign::Positive && !sum(last).is_zero() {
        return None;
    }
    let (alpha, beta) = (alpha * new.scale, beta * other.scale);
    let common = IBig::from((&alpha).gcd(&beta));
    Some(vec![(new.number, rational(alpha / &common)), (other.number, rational(beta / &common))])
}

/// The proof by multipliers rounded to some bits, with the sides of the domain for the rest.
pub fn rounded(
    new: Constraint,
    others: &[(Constraint, f64)],
    sides: &Sides,
    bits: i32,
) -> Option<Certificate> {
    let last = new.form.exact.len() - 1;
    let largest = others.iter().fold(1.0f64, |m, (_, multiplier)| m.max(*multiplier));
    let unit = power_of_two(i64::from(bits) - largest.log2().ceil() as i64);
    let exponent = others.iter().map(|(c, _)| c.form.exponent).fold(new.form.exponent, i64::max);
    let mut total = vec![ProductSum::of_integers(); last + 1];
    let mut certificate = Vec::with_capacity(others.len() + 1 + last);
    for (constraint, multiplier) in std::iter::once((new, 1.0)).chain(others.iter().copied()) {
        let rounded = (multiplier * unit).round();
        let shift = exponent - constraint.form.exponent;
        if rounded < 1.0 || shift > 4096 {
            if certificate.is_empty() {
                return None;
            }
            continue;
        }
        let mut factor = IBig::from(rounded as i64) << shift as usize;
        if !sides.multiple.is_one() {
            factor *= &sides.multiple;
        }
        for (sum, x) in total.iter_mut().zip(constraint.form.exact.iter()) {
            sum.add_integers(&factor, x, constraint.negative);
        }
        certificate.push((constraint.number, factor * constraint.scale));
    }
    let mut total: Vec<IBig> = total.iter().map(ProductSum::to_integer).collect();
    let (constant, gradient) = total.split_last_mut()?;
    for (rest, pair) in gradient.iter().zip(&sides.sides) {
        if rest.is_zero() {
            continue;
        }
        let side = pair[usize::from(rest.sign() == Sign::Positive)].as_ref()?;
        let factor = rest.clone().abs() / &side.scale;
        *constant += &factor * side.form.constant();
        certificate.push((side.number, factor * &side.scale));
    }
    if constant.sign() == Sign::Positive && !constant.is_zero() {
        return None;
    }
    Some(finish(certificate))
}

/// The proof by the exact solution of `sum_i m_i grad g_i = -grad g_new` in the other constraints.
pub fn solved(new: Constraint, others: &[Constraint]) -> Option<Certificate> {
    let (d, n) = (new.form.exact.len() - 1, others.len());
    let row = |j: usize| -> Vec<IBig> {
        others.iter().map(|c| c.coefficient(j)).chain([-new.coefficient(j)]).collect()
    };
    let (determinant, numerators) = solve_integers((0..d).map(row).collect(), n)?;
    let flip = determinant.sign() == Sign::Negative;
    let value = |x: &IBig| if flip { -x } else { x.clone() };
    let leading = value(&determinant);
    let mut constant = &leading * new.coefficient(d);
    let mut certificate = vec![(new.number, &leading * new.scale)];
    for (constraint, numerator) in others.iter().zip(&numerators) {
        let multiplier = value(numerator);
        if multiplier.is_zero() {
            continue;
        }
        if multiplier.sign() == Sign::Negative {
            return None;
        }
        constant += &multiplier * constraint.coefficient(d);
        certificate.push((constraint.number, multiplier * constraint.scale));
    }
    (constant.is_zero() || constant.sign() == Sign::Negative).then(|| finish(certificate))
}

/// The multipliers without their common factor, in the order of the constraints.
fn finish(mut certificate: Vec<(usize, IBig)>) -> Certificate {
    certificate.sort_by_key(|(number, _)| *number);
    let zeros = certificate.iter().filter_map(|(_, m)| m.trailing_zeros()).min().unwrap_or(0);
    certificate.into_iter().map(|(number, multiplier)| (number, rational(multiplier >> zeros))).collect()
}

/// The integer as a rational number.
pub fn rational(integer: IBig) -> Rational {
    Rational::from_big_parts(integer, UBig::ONE, 0)
}
