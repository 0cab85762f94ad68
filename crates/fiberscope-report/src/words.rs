//! Words that several questions share: widths, domains, lists, yes and no.

use fiberscope::difference::DifferenceProgress;
use fiberscope_core::{Domain, Interval};

use crate::number::{exact, grouped, significant};

/// Lists of layers longer than this are cut in the middle.
pub const LAYERS: usize = 12;
/// Of longer lists so many items are shown.
pub const LISTED: usize = 12;

/// How far a search for the largest difference is, in a line.
pub fn apart(now: DifferenceProgress) -> String {
    let most = if now.upper.is_finite() { significant(now.upper, 4) } else { "?".into() };
    format!(
        "the outputs differ by at least {} and at most {most}; {} boxes, {} open",
        significant(now.lower, 4),
        grouped(now.cells),
        grouped(now.open)
    )
}

/// `3-3-2-1`.
pub fn widths(widths: &[usize]) -> String {
    match widths {
        [.., last] if widths.len() > LAYERS => {
            format!("{}-...-{last} ({} layers)", joined(&widths[..LAYERS - 2], "-"), widths.len() - 1)
        }
        _ => joined(widths, "-"),
    }
}

/// `all of R^2`, `the box [-1, 1]^2`.
pub fn domain(domain: &Domain, inputs: usize) -> String {
    let sides = match domain {
        Domain::Space => return format!("all of R^{inputs}"),
        Domain::Box(sides) => sides,
    };
    match sides.as_slice() {
        [] => "an empty product of intervals".into(),
        [only] => format!("the interval {}", interval(only)),
        [first, rest @ ..] if rest.iter().all(|side| side == first) => {
            format!("the box {}^{}", interval(first), sides.len())
        }
        [first, second, ..] if sides.len() > 4 => {
            format!("the box {} x {} x ... with {} sides", interval(first), interval(second), sides.len())
        }
        _ => format!("the box {}", sides.iter().map(interval).collect::<Vec<_>>().join(" x ")),
    }
}

fn interval(side: &Interval) -> String {
    let lower = side.lower.as_ref().map_or("(-inf".into(), |x| format!("[{}", exact(x)));
    let upper = side.upper.as_ref().map_or("inf)".into(), |x| format!("{}]", exact(x)));
    format!("{lower}, {upper}")
}

/// Yes, no or unknown, as a word.
pub fn answer(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not decided",
    }
}

/// `a`, `a and b`, `a, b and c`, or the first items and how many more there are.
pub fn enumeration(items: &[String]) -> String {
    match items {
        [] => "nothing".into(),
        [only] => only.clone(),
        _ if items.len() > LISTED => {
            format!("{} and {} more", items[..LISTED].join(", "), items.len() - LISTED)
        }
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Numbers with something between them.
pub fn joined(numbers: &[usize], between: &str) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(between)
}

/// One of two words, by number.
pub fn plural<'a>(n: usize, one: &'a str, many: &'a str) -> &'a str {
    if n == 1 { one } else { many }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fiberscope_core::Rational;

    #[test]
    fn domains_have_short_names() {
        let r = |text: &str| text.parse::<Rational>().unwrap();
        let check =
            |given: Domain, inputs: usize, expected: &str| assert_eq!(domain(&given, inputs), expected);
        check(Domain::Space, 3, "all of R^3");
        check(Domain::from_bounds(&[(-1.0, 0.5)]).unwrap(), 1, "the interval [-1, 1/2]");
        check(Domain::from_bounds(&[(-1.0, 1.0); 784]).unwrap(), 784, "the box [-1, 1]^784");
        check(Domain::from_bounds(&[(0.0, 1.0), (0.0, 2.0)]).unwrap(), 2, "the box [0, 1] x [0, 2]");
        check(Domain::from_bounds(&[(0.0, 0.99999)]).unwrap(), 1, "the interval [0, 0.99999]");
        check(Domain::orthant(2), 2, "the box [0, inf)^2");
        let below = Interval { lower: None, upper: Some(r("1/3")) };
        let mut sides = vec![below; 5];
        sides[1] = Interval::ALL;
        check(Domain::Box(sides), 5, "the box (-inf, 1/3] x (-inf, inf) x ... with 5 sides");
    }

    #[test]
    fn many_widths_are_cut() {
        assert_eq!(widths(&[2, 3, 1]), "2-3-1");
        assert_eq!(widths(&[2; 20]), "2-2-2-2-2-2-2-2-2-2-...-2 (19 layers)");
    }
}
