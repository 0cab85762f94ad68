//! Residues modulo `2^61 - 1` as numbers of a field.

use fiberscope_core::Rational;
use fiberscope_core::residue::{PRIME, inverse, multiply, power, reduce, signed};

use crate::Number;

/// A residue modulo the prime `2^61 - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Residue(u64);

impl Residue {
    /// The residue of an integer.
    pub fn new(integer: u64) -> Self {
        Residue(reduce(u128::from(integer)))
    }

    /// The residue of a rational number; `None` if the prime divides its denominator.
    pub fn of(number: &Rational) -> Option<Self> {
        number.residue().map(Residue)
    }

    /// The residue of `mantissa * 2^exponent`.
    pub fn scaled(mantissa: i64, exponent: u64) -> Self {
        Residue(signed(multiply(mantissa.unsigned_abs() % PRIME, power(2, exponent)), mantissa < 0))
    }
}

impl Number for Residue {
    const ZERO: Residue = Residue(0);
    const ONE: Residue = Residue(1);

    fn is_zero(&self) -> bool {
        self.0 == 0
    }

    fn add_product(&mut self, a: &Residue, b: &Residue) {
        self.0 = reduce(u128::from(self.0) + u128::from(a.0) * u128::from(b.0));
    }

    fn subtract_product(&mut self, a: &Residue, b: &Residue) {
        self.0 = reduce(u128::from(self.0) + u128::from(PRIME - a.0) * u128::from(b.0));
    }

    #[allow(clippy::needless_range_loop, reason = "the number runs through several lists")]
    fn subtract_rows(row: &mut [Residue], terms: &[(Residue, &[Residue])]) {
        // A product has at most 122 bits, so that 8 of them fit beside a residue, and are reduced once.
        let groups = terms.chunks_exact(8);
        for (factor, other) in groups.remainder() {
            row.iter_mut().zip(*other).for_each(|(x, e)| x.subtract_product(factor, e));
        }
        for group in groups {
            let factors: [u64; 8] = std::array::from_fn(|k| PRIME - group[k].0.0);
            let rows: [&[Residue]; 8] = std::array::from_fn(|k| &group[k].1[..row.len()]);
            for (j, x) in row.iter_mut().enumerate() {
                let mut sum = u128::from(x.0);
                for k in 0..8 {
                    sum += u128::from(factors[k]) * u128::from(rows[k][j].0);
                }
                x.0 = reduce(sum);
            }
        }
    }

    fn minus(&self, other: &Residue) -> Residue {
        Residue(reduce(u128::from(self.0 + (PRIME - other.0))))
    }

    fn times(&self, other: &Residue) -> Residue {
        Residue(multiply(self.0, other.0))
    }

    fn quotient(&self, other: &Residue) -> Residue {
        Residue(multiply(self.0, inverse(other.0)))
    }

    fn negated(&self) -> Residue {
        Residue(signed(self.0, true))
    }
}
