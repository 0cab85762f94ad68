//! Boxes with ends that are doubles.
//!
//! The box of a certificate has rational ends. The root box has the nearest doubles outside; every other box
//! is a half of another one, bisected at `c = fl((lo + hi) / 2)`. Rounding is monotone, so `lo <= c <= hi`,
//! and the halves `[lo, c]` and `[c, hi]` cover the whole. The form of an input is `c + r s` with a symbol
//! `s` in `[-1, 1]` and
//!
//! ```text
//! r = fl(max(fl(hi - c), fl(c - lo)) (1 + 4u)):
//! ```
//!
//! each difference errs by at most `u` of itself and the product by `u` (a difference of doubles that is not
//! normal is exact), so `[lo, hi]` lies in `[c - r, c + r]`.

use fiberscope_core::{Domain, Rational};

use super::UP;

/// The smallest box with ends that are doubles and which contains the domain: the lower and the upper ends.
pub fn outward(domain: &Domain) -> Result<(Vec<f64>, Vec<f64>), String> {
    let Domain::Box(sides) = domain else {
        return Err("a bound on the difference needs a box".into());
    };
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    for (i, side) in sides.iter().enumerate() {
        let (Some(from), Some(to)) = (&side.lower, &side.upper) else {
            return Err(format!("input {}: a bound on the difference needs a box that is bounded", i + 1));
        };
        let beyond = || format!("input {}: an end of the interval is beyond the doubles", i + 1);
        // A difference, so that zero stays positive.
        lower.push(0.0 - round_up(&-from).ok_or_else(beyond)?);
        upper.push(round_up(to).ok_or_else(beyond)?);
    }
    Ok((lower, upper))
}

/// The least double that is not below a number.
fn round_up(x: &Rational) -> Option<f64> {
    let near = x.to_f64();
    let up = if Rational::from_f64(near)? < *x { near.next_up() } else { near };
    up.is_finite().then_some(up)
}

/// Where an interval is bisected; `None` if no double lies strictly inside, or if `lo + hi` is beyond the
/// doubles.
pub fn middle(lo: f64, hi: f64) -> Option<f64> {
    let c = centre(lo, hi)?;
    (lo < c && c < hi).then_some(c)
}

/// `fl((lo + hi) / 2)`.
pub(super) fn centre(lo: f64, hi: f64) -> Option<f64> {
    let sum = lo + hi;
    sum.is_finite().then_some(0.5 * sum)
}

/// The radius of the form of an input.
pub(super) fn radius(lo: f64, c: f64, hi: f64) -> f64 {
    (hi - c).max(c - lo) * UP
}

#[cfg(test)]
mod tests {
    use fiberscope_core::Interval;

    use super::*;

    #[test]
    fn the_root_box_contains_the_domain_and_no_smaller_one_does() {
        let sides: Vec<Interval> = [("1/3", "2/3"), ("-1/3", "1/3"), ("0", "0"), ("-7/10", "-1/10")]
            .iter()
            .map(|(from, to)| Interval::new(from.parse().unwrap(), to.parse().unwrap()))
            .collect();
        let (lower, upper) = outward(&Domain::Box(sides.clone())).unwrap();
        let exact = |x: f64| Rational::from_f64(x).unwrap();
        for (side, (&lo, &hi)) in sides.iter().zip(lower.iter().zip(&upper)) {
            let (from, to) = (side.lower.clone().unwrap(), side.upper.clone().unwrap());
            assert!(exact(lo) <= from && exact(lo.next_up()) > from);
            assert!(exact(hi) >= to && exact(hi.next_down()) < to);
        }
    }

    #[test]
    fn boxes_without_an_end_are_refused() {
        assert!(outward(&Domain::Space).unwrap_err().contains("needs a box"));
        assert!(outward(&Domain::orthant(1)).unwrap_err().contains("input 1"));
        let huge = &Rational::from_f64(f64::MAX).unwrap() * &Rational::from(2);
        let domain = Domain::Box(vec![Interval::new(Rational::ZERO, huge)]);
        assert!(outward(&domain).unwrap_err().contains("beyond the doubles"));
    }

    #[test]
    fn intervals_are_bisected_strictly_inside() {
        assert_eq!(middle(0.0, 1.0), Some(0.5));
        assert_eq!(middle(1.0, 1.0_f64.next_up()), None);
        assert_eq!(middle(1.0, 1.0), None);
        assert_eq!(middle(f64::MAX, f64::MAX), None);
        assert_eq!(middle(0.0, 5e-324), None);
        assert_eq!(middle(-5e-324, 5e-324), Some(0.0));
    }

    #[test]
    fn the_form_of_an_input_contains_its_interval() {
        let samples =
            [(0.1, 0.7), (-0.3920154590809128, 0.36931749175137263), (1e6, 1e6 + 1e-9), (1e-320, 3e-310)];
        for (lo, hi) in samples {
            let c = centre(lo, hi).unwrap();
            let r = Rational::from_f64(radius(lo, c, hi)).unwrap();
            let [lo, c, hi] = [lo, c, hi].map(|x| Rational::from_f64(x).unwrap());
            assert!(&c - &r <= lo && &c + &r >= hi);
        }
    }
}
