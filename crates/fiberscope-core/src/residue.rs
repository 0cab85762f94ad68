//! Arithmetic modulo the prime `2^61 - 1`.
//!
//! `2^61` is 1, so numbers are reduced by adding their halves. Residues can refute an equation of numbers,
//! never prove one.

/// The prime.
pub const PRIME: u64 = (1 << 61) - 1;

/// The residue of any number.
#[inline]
pub fn reduce(x: u128) -> u64 {
    let folded = (x & u128::from(PRIME)) + (x >> 61);
    let folded = (folded & u128::from(PRIME)) as u64 + (folded >> 61) as u64;
    if folded >= PRIME { folded - PRIME } else { folded }
}

/// The residue of a number of this size, negative or not.
#[inline]
pub fn signed(size: u64, is_negative: bool) -> u64 {
    if is_negative && size != 0 { PRIME - size } else { size }
}

/// The product of two residues.
pub fn multiply(a: u64, b: u64) -> u64 {
    reduce(u128::from(a) * u128::from(b))
}

/// A power of a residue.
pub fn power(mut base: u64, mut exponent: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = multiply(result, base);
        }
        base = multiply(base, base);
        exponent >>= 1;
    }
    result
}

/// The inverse of a residue; that of zero is zero.
pub fn inverse(residue: u64) -> u64 {
    power(residue, PRIME - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residues_are_remainders() {
        let prime = u128::from(PRIME);
        for x in
            [0, 1, prime - 1, prime, prime + 1, prime * prime, u128::from(u64::MAX), u128::MAX, u128::MAX - 7]
        {
            assert_eq!(u128::from(reduce(x)), x % prime, "{x}");
        }
        for x in [1, 2, 12_345_678_901, PRIME - 1] {
            assert_eq!(multiply(x, inverse(x)), 1, "{x}");
            assert_eq!(reduce(u128::from(x) + u128::from(signed(x, true))), 0, "{x}");
        }
        assert_eq!((inverse(0), signed(0, true)), (0, 0));
    }
}
