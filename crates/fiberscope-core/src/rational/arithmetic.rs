//! Order and arithmetic: inline numbers first, then long mantissas, then fractions.

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use super::Repr::{Big, Dyadic, Long};
use super::{EXPONENT_LIMIT, Rational};

impl Ord for Rational {
    fn cmp(&self, other: &Self) -> Ordering {
        match self.signum().cmp(&other.signum()) {
            Ordering::Equal => {}
            decided => return decided,
        }
        if let (Dyadic { mantissa: a, exponent: e }, Dyadic { mantissa: b, exponent: f }) =
            (&self.0, &other.0)
            && e == f
        {
            return a.cmp(b);
        }
        (self - other).signum().cmp(&0)
    }
}

impl PartialOrd for Rational {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Neg for Rational {
    type Output = Rational;

    fn neg(self) -> Rational {
        match self.0 {
            Dyadic { mantissa, exponent } => Rational::dyadic(-i128::from(mantissa), exponent.into()),
            Long(parts) => Rational(Long(Box::new((-parts.0, parts.1)))),
            Big(value) => Rational(Big(Box::new(-*value))),
        }
    }
}

impl Neg for &Rational {
    type Output = Rational;

    fn neg(self) -> Rational {
        -self.clone()
    }
}

/// `a 2^e + b 2^f` where it fits 128 bits.
fn add_dyadic(a: i64, e: i32, b: i64, f: i32) -> Option<Rational> {
    let (low, high, low_exponent, gap) =
        if e <= f { (a, b, e, i64::from(f) - i64::from(e)) } else { (b, a, f, i64::from(e) - i64::from(f)) };
    if high == 0 {
        return Some(Rational::dyadic(low.into(), low_exponent.into()));
    }
    (gap <= 62).then(|| Rational::dyadic((i128::from(high) << gap) + i128::from(low), low_exponent.into()))
}

impl Add<&Rational> for &Rational {
    type Output = Rational;

    fn add(self, other: &Rational) -> Rational {
        if let (Dyadic { mantissa: a, exponent: e }, Dyadic { mantissa: b, exponent: f }) =
            (&self.0, &other.0)
            && let Some(sum) = add_dyadic(*a, *e, *b, *f)
        {
            return sum;
        }
        if let (Some((a, e)), Some((b, f))) = (self.dyadic_parts(), other.dyadic_parts()) {
            let (low, high, exponent, gap) = if e <= f { (a, b, e, f - e) } else { (b, a, f, e - f) };
            return Rational::dyadic_big((high.as_ref() << gap as usize) + low.as_ref(), exponent);
        }
        Rational::from_big(self.to_big() + other.to_big())
    }
}

impl Sub<&Rational> for &Rational {
    type Output = Rational;

    fn sub(self, other: &Rational) -> Rational {
        self + &-other
    }
}

impl Mul<&Rational> for &Rational {
    type Output = Rational;

    fn mul(self, other: &Rational) -> Rational {
        match (&self.0, &other.0) {
            (Dyadic { mantissa: a, exponent: e }, Dyadic { mantissa: b, exponent: f }) => {
                Rational::dyadic(i128::from(*a) * i128::from(*b), i64::from(*e) + i64::from(*f))
            }
            _ if self.is_zero() || other.is_zero() => Rational::ZERO,
            _ => match (self.dyadic_parts(), other.dyadic_parts()) {
                (Some((a, e)), Some((b, f))) => Rational::dyadic_big(a.as_ref() * b.as_ref(), e + f),
                _ => Rational::from_big(self.to_big() * other.to_big()),
            },
        }
    }
}

impl Div<&Rational> for &Rational {
    type Output = Rational;

    /// # Panics
    /// If `other` is zero.
    #[allow(clippy::suspicious_arithmetic_impl)]
    fn div(self, other: &Rational) -> Rational {
        self * &other.recip().expect("division by zero")
    }
}

macro_rules! owned_operators {
    ($($operator:ident $method:ident),*) => {$(
        impl $operator for Rational {
            type Output = Rational;
            fn $method(self, other: Rational) -> Rational {
                (&self).$method(&other)
            }
        }
        impl $operator<&Rational> for Rational {
            type Output = Rational;
            fn $method(self, other: &Rational) -> Rational {
                (&self).$method(other)
            }
        }
    )*};
}

owned_operators!(Add add, Sub sub, Mul mul, Div div);

impl AddAssign<&Rational> for Rational {
    fn add_assign(&mut self, other: &Rational) {
        *self = &*self + other;
    }
}

impl SubAssign<&Rational> for Rational {
    fn sub_assign(&mut self, other: &Rational) {
        *self = &*self - other;
    }
}

impl MulAssign<&Rational> for Rational {
    fn mul_assign(&mut self, other: &Rational) {
        // Scaling by a power of two is what most factors do.
        if let (Dyadic { mantissa, exponent }, Dyadic { mantissa: 1, exponent: shift }) =
            (&mut self.0, &other.0)
            && *mantissa != 0
            && (i64::from(*exponent) + i64::from(*shift)).abs() <= EXPONENT_LIMIT
        {
            *exponent += shift;
            return;
        }
        *self = &*self * other;
    }
}

impl Sum for Rational {
    fn sum<I: Iterator<Item = Rational>>(terms: I) -> Rational {
        terms.fold(Rational::ZERO, |total, term| &total + &term)
    }
}
