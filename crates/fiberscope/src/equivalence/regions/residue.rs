//! Numbers known modulo `2^61 - 1` and as doubles: two that differ have different residues but for bad luck,
//! and the double tells the sign. What they suggest is proved in exact arithmetic.

use dashu_int::{IBig, Sign, Word};
use fiberscope_core::residue::{inverse, multiply, reduce, signed};

/// A number by its residue and its double.
#[derive(Clone, Copy, Debug, Default)]
pub struct Number {
    /// Modulo `2^61 - 1`.
    pub residue: u64,
    /// Nearly the number.
    pub value: f64,
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.residue == other.residue
    }
}

impl Number {
    /// One.
    pub const ONE: Number = Number { residue: 1, value: 1.0 };

    /// The sum.
    pub fn plus(self, other: Number) -> Self {
        let sum = u128::from(self.residue + other.residue);
        Number { residue: reduce(sum), value: self.value + other.value }
    }

    /// The product.
    pub fn times(self, other: Number) -> Self {
        Number { residue: multiply(self.residue, other.residue), value: self.value * other.value }
    }

    /// The negative.
    pub fn negated(self) -> Self {
        Number { residue: signed(self.residue, true), value: -self.value }
    }

    /// The inverse; of zero it is zero.
    pub fn inverse(self) -> Self {
        Number { residue: inverse(self.residue), value: 1.0 / self.value }
    }

    /// Whether the number is zero.
    pub fn is_zero(self) -> bool {
        self.residue == 0
    }
}

/// The residue of an integer.
fn residue(number: &IBig) -> u64 {
    let (sign, words) = number.as_sign_words();
    // 2^61 is 1.
    let shift = Word::BITS % 61;
    let size = words.iter().rev().fold(0, |sum, &word| reduce((u128::from(sum) << shift) + u128::from(word)));
    signed(size, sign == Sign::Negative)
}

/// `2^exponent`, 0 or a huge number where it is no double.
pub fn power_of_two(exponent: i64) -> f64 {
    match exponent {
        -1022..=1000 => f64::from_bits(((exponent + 1023) as u64) << 52),
        ..-1022 => 0.0,
        _ => f64::from_bits(((1000 + 1023) as u64) << 52),
    }
}

/// `1 / S` for a positive integer `S`, so that multiples of it become numbers.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    residue: u64,
    /// `S = mantissa * 2^exponent`.
    mantissa: f64,
    exponent: i64,
}

impl Scale {
    /// `1 / scale`.
    pub fn new(scale: &IBig) -> Self {
        use dashu_int::ops::BitTest;
        let exponent = scale.bit_len() as i64;
        let shift = (exponent - 64).max(0);
        let mantissa = (scale >> shift as usize).to_f64().value() * power_of_two(shift - exponent);
        Scale { residue: inverse(residue(scale)), mantissa, exponent }
    }

    /// `exact / S`, given `approximate = exact * 2^-exponent`.
    pub fn times(&self, exact: &IBig, approximate: f64, exponent: i64) -> Number {
        Number {
            residue: multiply(residue(exact), self.residue),
            value: approximate * power_of_two(exponent - self.exponent) / self.mantissa,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::farkas::rational;
    use super::*;

    #[test]
    fn residues_are_those_of_rational_numbers() {
        let scale = IBig::from(3) << 70;
        let exact = -(IBig::from(1_000_003) << 90) - IBig::from(5);
        let found = Scale::new(&scale).times(&exact, -1_000_003.0 / 1_048_576.0, 110);
        let expected = &rational(exact) / &rational(scale);
        assert_eq!(Some(found.residue), expected.residue());
        assert!((found.value / expected.to_f64() - 1.0).abs() < 1e-12);
        assert_eq!(found.times(found.inverse()).residue, 1);
        assert!(found.plus(found.negated()).is_zero());
    }
}
