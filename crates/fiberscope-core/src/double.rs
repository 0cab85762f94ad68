//! Doubles as integers times powers of two.

/// `(m, e)` with `x = m 2^e`, `|m| < 2^53` and `-1074 <= e <= 971`, for a finite double.
#[inline]
pub fn mantissa_and_exponent(x: f64) -> (i64, i32) {
    let bits = x.to_bits();
    let (biased, fraction) = ((bits >> 52 & 0x7ff) as i32, (bits & ((1 << 52) - 1)) as i64);
    let (magnitude, exponent) =
        if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
    (if x < 0.0 { -magnitude } else { magnitude }, exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_their_parts() {
        assert_eq!(mantissa_and_exponent(-0.75), (-3 << 51, -53));
        assert_eq!(mantissa_and_exponent(5e-324), (1, -1074));
        assert_eq!(mantissa_and_exponent(f64::MAX), ((1 << 53) - 1, 971));
        assert_eq!(mantissa_and_exponent(-0.0).0, 0);
        for x in [0.1, -1e300, 3e-310, f64::MIN_POSITIVE] {
            let (m, e) = mantissa_and_exponent(x);
            // In two steps, because 2^-1074 times a power of two may underflow on the way.
            assert_eq!(m as f64 * 2f64.powi(e / 2) * 2f64.powi(e - e / 2), x);
        }
    }
}
