//! Exact sums of products, without allocation as long as the numbers are of ordinary length.
//!
//! The positive and the negative terms are added up apart, in fixed point: `n 2^base` with a natural number
//! `n`. The first term fixes the base and leaves room below it. A term that does not fit (a fraction that is
//! not dyadic, or a number much longer or smaller than the first) is added to a [`Rational`] beside them, so
//! the sum is exact whatever comes. What this saves is one big number per term.

use dashu_int::{IBig, Sign, UBig, Word};

use crate::Rational;

/// The length of the sums in words of 64 bits; the uppermost one is left to carries.
const LENGTH: usize = 12;

/// The longest factor that is multiplied in place, one word for a shift included.
const FACTOR: usize = 6;

/// The bits left below the first term.
const BELOW: i64 = 128;

/// A sum of products.
///
/// ```
/// use fiberscope_core::{ProductSum, Rational};
///
/// let number = |x: f64| Rational::from_f64(x).unwrap();
/// let mut sum = ProductSum::default();
/// sum.add(&number(1e17), &number(1.0));
/// sum.add(&number(0.5), &number(0.25));
/// sum.subtract(&number(1e17), &number(1.0));
/// assert_eq!(sum.to_rational(), number(0.125));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ProductSum {
    /// The positive terms and the negative ones.
    sums: [[u64; LENGTH]; 2],
    base: Option<i64>,
    rest: Rational,
}

/// A dyadic number, `words 2^exponent` or its negative; a mantissa of one word stands in `short`.
struct Factor<'a> {
    negative: bool,
    short: [u64; 1],
    long: Option<&'a [u64]>,
    exponent: i64,
}

impl<'a> Factor<'a> {
    /// The number with this mantissa, if that can be multiplied in place.
    fn new(mantissa: &'a IBig, exponent: i64) -> Option<Self> {
        let (sign, words) = mantissa.as_sign_words();
        let long = whole_words(words).filter(|words| words.len() < FACTOR)?;
        Some(Factor { negative: sign == Sign::Negative, short: [0], long: Some(long), exponent })
    }

    fn of(number: &'a Rational) -> Option<Self> {
        if let Some((mantissa, exponent)) = number.short_parts() {
            let short = [mantissa.unsigned_abs()];
            return Some(Factor { negative: mantissa < 0, short, long: None, exponent });
        }
        number.long_parts().and_then(|(mantissa, exponent)| Factor::new(mantissa, exponent))
    }

    fn words(&self) -> &[u64] {
        self.long.unwrap_or(&self.short)
    }
}

/// A number that is a factor of many products.
pub(crate) struct Multiplier<'a> {
    number: &'a Rational,
    factor: Option<Factor<'a>>,
}

impl<'a> Multiplier<'a> {
    pub(crate) fn new(number: &'a Rational) -> Self {
        Multiplier { number, factor: Factor::of(number) }
    }
}

/// The words as they are where they have 64 bits.
#[cfg(target_pointer_width = "64")]
fn whole_words(words: &[Word]) -> Option<&[u64]> {
    Some(words)
}

/// Shorter words are left to big numbers.
#[cfg(not(target_pointer_width = "64"))]
fn whole_words(_: &[Word]) -> Option<&[u64]> {
    None
}

impl ProductSum {
    /// A sum of integers only.
    pub fn of_integers() -> Self {
        ProductSum { base: Some(0), ..ProductSum::default() }
    }

    /// Adds `a b`.
    pub fn add(&mut self, a: &Rational, b: &Rational) {
        if !self.add_factors(Factor::of(a), Factor::of(b), false) {
            self.rest += &(a * b);
        }
    }

    /// Subtracts `a b`.
    pub fn subtract(&mut self, a: &Rational, b: &Rational) {
        if !self.add_factors(Factor::of(a), Factor::of(b), true) {
            self.rest -= &(a * b);
        }
    }

    /// Adds `a b`, where `b` is a factor of many products and `a` as a rule a short mantissa with an exponent.
    pub(crate) fn add_multiple(
        &mut self,
        short: Option<(i64, i64)>,
        a: impl FnOnce() -> Rational,
        b: &Multiplier,
    ) {
        if !short.zip(b.factor.as_ref()).is_some_and(|(short, factor)| self.add_short(short, factor)) {
            self.add(&a(), b.number);
        }
    }

    /// Adds `m 2^e b`; false if the product does not fit.
    fn add_short(&mut self, (mantissa, exponent): (i64, i64), b: &Factor) -> bool {
        let words = b.words();
        if mantissa == 0 || words.iter().all(|&word| word == 0) {
            return true;
        }
        let Some((place, bits)) = self.place(exponent, b.exponent, 1 + words.len()) else { return false };
        let sum = &mut self.sums[usize::from((mantissa < 0) != b.negative)][place..];
        add_shifted_multiple(sum, mantissa.unsigned_abs(), words, bits);
        true
    }

    /// Adds `a b`, or subtracts it.
    pub fn add_integers(&mut self, a: &IBig, b: &IBig, subtract: bool) {
        if !self.add_factors(Factor::new(a, 0), Factor::new(b, 0), subtract) {
            let product = Rational::from_big_parts(a * b, UBig::ONE, 0);
            if subtract { self.rest -= &product } else { self.rest += &product }
        }
    }

    /// The sum.
    pub fn to_rational(&self) -> Rational {
        let Some(base) = self.base else { return self.rest.clone() };
        let (negative, words) = self.difference();
        let Some(low) = words.iter().position(|&word| word != 0) else { return self.rest.clone() };
        let exponent = base + 64 * low as i64;
        let words = &words[low..];
        let sum = match small(words) {
            Some(n) => Rational::dyadic(if negative { -n } else { n }, exponent),
            None => Rational::from_big_parts(big(negative, words), UBig::ONE, exponent),
        };
        if self.rest.is_zero() { sum } else { &sum + &self.rest }
    }

    /// The sign of the sum: -1, 0 or 1.
    pub fn signum(&self) -> i8 {
        if !self.rest.is_zero() {
            return self.to_rational().signum();
        }
        let [positive, negative] = &self.sums;
        positive.iter().rev().cmp(negative.iter().rev()) as i8
    }

    /// The sum of products of integers.
    pub fn to_integer(&self) -> IBig {
        if self.base != Some(0) || !self.rest.is_zero() {
            let (numerator, _, exponent) = self.to_rational().to_big_parts();
            return if exponent >= 0 { numerator << exponent as usize } else { numerator };
        }
        let (negative, words) = self.difference();
        match small(&words) {
            Some(n) => IBig::from(if negative { -n } else { n }),
            None => big(negative, &words),
        }
    }

    /// Whether the negative terms outweigh the positive ones, and by how much the two differ.
    fn difference(&self) -> (bool, [u64; LENGTH]) {
        let [positive, negative] = &self.sums;
        let reversed = positive.iter().rev().lt(negative.iter().rev());
        let (mut words, less) = if reversed { (*negative, positive) } else { (*positive, negative) };
        let mut borrow = false;
        for (word, &less) in words.iter_mut().zip(less) {
            let (first, under) = word.overflowing_sub(less);
            let (second, again) = first.overflowing_sub(u64::from(borrow));
            (*word, borrow) = (second, under || again);
        }
        (reversed, words)
    }

    /// False if the product does not fit.
    fn add_factors(&mut self, a: Option<Factor>, b: Option<Factor>, subtract: bool) -> bool {
        let (Some(a), Some(b)) = (a, b) else { return false };
        let (x, y) = (a.words(), b.words());
        if [x, y].iter().any(|words| words.iter().all(|&word| word == 0)) {
            return true;
        }
        let Some((place, bits)) = self.place(a.exponent, b.exponent, x.len() + y.len()) else { return false };
        let negative = (a.negative != b.negative) != subtract;
        let sum = &mut self.sums[usize::from(negative)][place..];
        if bits == 0 {
            add_product(sum, x, y);
        } else {
            add_product(sum, x, &shifted(y, bits)[..=y.len()]);
        }
        true
    }

    /// The word and the bit where a product of this many words begins, if it fits.
    fn place(&mut self, a: i64, b: i64, words: usize) -> Option<(usize, usize)> {
        let exponent = a.checked_add(b)?;
        let room = exponent.checked_sub(BELOW)?;
        let base = *self.base.get_or_insert(room);
        let shift = usize::try_from(exponent.checked_sub(base)?).ok()?;
        // One word is left for the carries of 2^64 terms.
        (shift / 64 < LENGTH && shift / 64 + words + 1 < LENGTH).then_some((shift / 64, shift % 64))
    }
}

/// Adds `a b 2^bits` to a longer natural number, for bits < 64.
fn add_shifted_multiple(sum: &mut [u64], a: u64, b: &[u64], bits: usize) {
    let (lower, upper) = sum.split_at_mut(b.len() + 2);
    let (mut carry, mut before, mut over) = (0, 0, false);
    for (word, &y) in lower.iter_mut().zip(b.iter().chain([&0, &0])) {
        let product = u128::from(a) * u128::from(y) + u128::from(carry);
        carry = (product >> 64) as u64;
        // The product's words, moved up; a shift by 64 bits in two steps.
        let moved = (product as u64) << bits | before >> 1 >> (63 - bits);
        before = product as u64;
        let (first, once) = word.overflowing_add(moved);
        let (second, again) = first.overflowing_add(u64::from(over));
        (*word, over) = (second, once || again);
    }
    for word in upper {
        if !over {
            break;
        }
        (*word, over) = word.overflowing_add(1);
    }
}

/// The number times `2^bits`, for 0 < bits < 64.
fn shifted(words: &[u64], bits: usize) -> [u64; FACTOR] {
    let mut shifted = [0; FACTOR];
    let mut before = 0;
    for (to, &word) in shifted.iter_mut().zip(words.iter().chain([&0])) {
        *to = word << bits | before >> (64 - bits);
        before = word;
    }
    shifted
}

/// Adds the product of two natural numbers to a longer one.
fn add_product(sum: &mut [u64], a: &[u64], b: &[u64]) {
    for (i, &x) in a.iter().enumerate() {
        let (lower, upper) = sum[i..].split_at_mut(b.len());
        let mut carry = 0;
        for (word, &y) in lower.iter_mut().zip(b) {
            let total = u128::from(x) * u128::from(y) + u128::from(*word) + u128::from(carry);
            (*word, carry) = (total as u64, (total >> 64) as u64);
        }
        for word in upper {
            let (total, over) = word.overflowing_add(carry);
            *word = total;
            if !over {
                break;
            }
            carry = 1;
        }
    }
}

/// The number, if it has less than 128 bits.
fn small(words: &[u64]) -> Option<i128> {
    let (low, high) = words.split_at(words.len().min(2));
    if high.iter().any(|&word| word != 0) {
        return None;
    }
    let number = low.iter().rev().fold(0u128, |number, &word| number << 64 | u128::from(word));
    i128::try_from(number).ok()
}

fn big(negative: bool, words: &[u64]) -> IBig {
    let used = words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
    let mut bytes = [0; 8 * LENGTH];
    for (bytes, word) in bytes.chunks_exact_mut(8).zip(&words[..used]) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    let magnitude = IBig::from(UBig::from_le_bytes(&bytes[..8 * used]));
    if negative { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Numbers of all lengths, and some that are not dyadic.
    fn number(rng: &mut ChaCha8Rng) -> Rational {
        let mantissa = rng.random::<i128>() >> rng.random_range(0..127);
        let short = Rational::dyadic(mantissa, rng.random_range(-90..90));
        match rng.random_range(0..12) {
            0 => Rational::ZERO,
            1 => &short * &"1/3".parse().unwrap(),
            2 => &short * &Rational::dyadic(1, rng.random_range(-900..900)),
            3 | 4 => &(&short * &Rational::dyadic(rng.random(), 0)) + &Rational::dyadic(rng.random(), -40),
            5 => (0..3).fold(short, |long, _| &(&long * &Rational::dyadic(rng.random(), 0)) + &Rational::ONE),
            _ => short,
        }
    }

    #[test]
    fn sums_agree_with_sums_of_numbers() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for round in 0..3000 {
            let (mut sum, mut expected) = (ProductSum::default(), Rational::ZERO);
            for _ in 0..=round % 9 {
                let (a, b) = (number(&mut rng), number(&mut rng));
                if rng.random() {
                    match rng.random() {
                        true => sum.add_multiple(a.short_parts(), || a.clone(), &Multiplier::new(&b)),
                        false => sum.add(&a, &b),
                    }
                    expected += &(&a * &b);
                } else {
                    sum.subtract(&a, &b);
                    expected -= &(&a * &b);
                }
                assert_eq!(sum.to_rational(), expected);
                assert_eq!(sum.signum(), expected.signum());
            }
        }
    }

    #[test]
    fn sums_of_integers_agree_with_big_integers() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let edges = [0, 1, -1, i128::MAX, i128::MIN, 1 << 64, (1 << 64) - 1, -(1 << 64), 1 << 63];
        for round in 0..3000 {
            let mut integer = || {
                let short = match rng.random_range(0..3) {
                    0 => edges[rng.random_range(0..edges.len())],
                    _ => rng.random::<i128>() >> rng.random_range(0..128),
                };
                let long = IBig::from(short);
                if rng.random_range(0..5) == 0 { long.pow(1 + rng.random_range(0..4)) } else { long }
            };
            let (mut sum, mut expected) = (ProductSum::of_integers(), IBig::ZERO);
            for term in 0..=round % 7 {
                let (a, b) = (integer(), integer());
                sum.add_integers(&a, &b, term % 2 == 1);
                if term % 2 == 1 {
                    expected -= a * b
                } else {
                    expected += a * b
                }
                assert_eq!(sum.to_integer(), expected);
            }
        }
    }

    #[test]
    fn a_cancelled_sum_is_zero_and_takes_new_terms() {
        let number = |x: f64| Rational::from_f64(x).unwrap();
        let mut sum = ProductSum::default();
        sum.add(&number(3e-200), &number(1.0));
        sum.subtract(&number(3e-200), &number(1.0));
        assert!(sum.to_rational().is_zero());
        sum.add(&number(1e200), &number(-2.0));
        assert_eq!(sum.to_rational(), number(-2e200));
    }
}
