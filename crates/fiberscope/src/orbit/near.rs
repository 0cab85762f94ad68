//! Networks that are related by permutation and scaling up to rounding.
//!
//! A network that was scaled by a factor such as `0.37` and stored in doubles is no exact multiple: every
//! parameter was rounded. Layer by layer from the first, row `j` of `B` (its columns ordered and scaled as
//! the layer before demands) is the partner of row `i` of `A` if all quotients `A[i,k] / B[j,k]` of
//! corresponding entries, bias included, agree to [`CLOSE`]. The exact quotients span an interval; the factor
//! is the quotient itself where all are the same, a short fraction (3, 1/3, 37/100) within rounding of the
//! interval, which is the factor that was meant, or else the simplest fraction in it. Floats choose partners;
//! factors and differences are exact.

use std::collections::HashMap;

use dashu_int::ops::BitTest;
use dashu_int::{IBig, UBig};
use fiberscope_core::{Domain, ExactNetwork, Layer, Network, Rational, side_by_side};

use super::lines::nonzero;
use super::{LayerRelabelling, Relabelling};
use crate::limit::Deadline;

/// Corresponding parameters may differ by this, relative to the larger one.
pub const CLOSE: f64 = 1.0 / 1024.0;

/// How far rounding moves quotients, as powers of two: of entries, and of functions of deeper layers, which
/// are sums of products of entries.
const ENTRIES: i64 = -50;
const SUMS: i64 = -46;

/// A relabelling that nearly leads from one network to another.
#[derive(Clone, Debug, PartialEq)]
pub struct NearRelabelling {
    /// The relabelling of `B`.
    pub relabelling: Relabelling,
    /// The largest difference of corresponding parameters of `A` and of `B` after the moves, relative to the
    /// larger one, exactly: `B` is `A` permuted and scaled iff it is 0.
    pub relative: Rational,
}

/// Permutations and scalings of `B` after which all parameters agree with those of `A` to 1/1024, relatively
/// and one by one; `None` if none were found in time.
///
/// ```
/// use fiberscope::orbit::find_near;
/// use fiberscope::{Deadline, Network};
///
/// let a = Network::from_rows(&[(&[&[1.0, 0.3], &[0.7, -1.1]], &[0.2, 0.9]), (&[&[1.0, 2.0]], &[0.5])]).unwrap();
/// // Neuron 1 times 0.37, neuron 2 over 3, in doubles.
/// let b = Network::from_rows(&[
///     (&[&[0.37, 0.3 * 0.37], &[0.7 / 3.0, -1.1 / 3.0]], &[0.2 * 0.37, 0.3]),
///     (&[&[1.0 / 0.37, 6.0]], &[0.5]),
/// ])
/// .unwrap();
/// let found = find_near(&a, &b, &Deadline::NEVER).unwrap();
/// let factors: Vec<String> = found.relabelling.layers[0].factors.iter().map(ToString::to_string).collect();
/// assert_eq!(factors, ["100/37", "3"]);
/// assert!(found.relative.to_f64() < 4e-16);
/// ```
pub fn find_near(a: &Network, b: &Network, deadline: &Deadline) -> Option<NearRelabelling> {
    let activations = |network: &Network| network.layers().iter().map(Layer::activation).collect::<Vec<_>>();
    if a.widths() != b.widths() || activations(a) != activations(b) {
        return None;
    }
    let mut before = LayerRelabelling::identity(a.input_width(), Rational::ONE);
    let mut relabelling = Relabelling::default();
    for (rows_a, rows_b) in a.hidden_layers().iter().zip(b.hidden_layers()) {
        before = match_rows(rows_a, rows_b, &before, deadline)?;
        relabelling.layers.push(before.clone());
    }
    NearRelabelling::of(relabelling, &a.to_exact(), b.to_exact())
}

/// Whether the first neuron of `A` may have a partner in `B`, exactly or up to rounding. If not, which is seen at a few
/// of its entries, no relabelling leads from one to the other.
pub(crate) fn may_be_related(a: &Network, b: &Network) -> bool {
    let (Some(rows_a), Some(rows_b)) = (a.hidden_layers().first(), b.hidden_layers().first()) else {
        return true;
    };
    (0..rows_b.width()).any(|unit| {
        let (mut x, mut y) = (nonzero(rows_a, 0), nonzero(rows_b, unit));
        let mut ends = (f64::INFINITY, 0.0f64);
        loop {
            match (x.next(), y.next()) {
                (None, None) => return true,
                (Some((place, x)), Some((other, y))) if place == other => {
                    let quotient = x / y;
                    if quotient.is_sign_negative() {
                        return false;
                    }
                    if !quotient.is_normal() {
                        // The quotient is beyond the doubles: nothing is known.
                        return true;
                    }
                    ends = (ends.0.min(quotient), ends.1.max(quotient));
                    if ends.1 - ends.0 > 4.0 * CLOSE * ends.1 {
                        return false;
                    }
                }
                _ => return false,
            }
        }
    })
}

impl NearRelabelling {
    /// What a relabelling of `B` leaves of the difference to `A`; `None` if that is more than 1/1024 of some
    /// parameter.
    pub(crate) fn of(relabelling: Relabelling, a: &ExactNetwork, mut b: ExactNetwork) -> Option<Self> {
        relabelling.moves().apply(&mut b, &Domain::Space).ok()?;
        let relative = relative_difference(a, &b);
        (relative <= Rational::from_f64(CLOSE)?).then_some(NearRelabelling { relabelling, relative })
    }
}

/// The largest difference of corresponding parameters of two networks of the same widths, relative to the
/// larger of the two, exactly.
///
/// ```
/// use fiberscope::Network;
/// use fiberscope::orbit::relative_difference;
///
/// let network = |w: f64| Network::from_rows(&[(&[&[w, 1.0]], &[0.0])]).unwrap().to_exact();
/// assert_eq!(relative_difference(&network(4.0), &network(3.0)), "1/4".parse().unwrap());
/// ```
pub fn relative_difference(a: &ExactNetwork, b: &ExactNetwork) -> Rational {
    let relative = |x: &Rational, y: &Rational| &(x - y).abs() / &x.abs().max(y.abs());
    let mut most = Rational::ZERO;
    for (a, b) in a.layers().iter().zip(b.layers()) {
        for unit in 0..a.width() {
            // A weight that only one of the two has differs by all of itself.
            for (_, x, y) in side_by_side(nonzero(a, unit), nonzero(b, unit)) {
                match (x, y) {
                    (Some(x), Some(y)) if x != y => most = most.max(relative(x, y)),
                    (Some(_), Some(_)) => {}
                    _ => return Rational::from(1).max(most),
                }
            }
        }
    }
    most
}

/// Partners for all rows of `A`, the best one first.
fn match_rows(
    a: &Layer,
    b: &Layer,
    before: &LayerRelabelling,
    deadline: &Deadline,
) -> Option<LayerRelabelling> {
    let shrink: Vec<f64> = before.factors.iter().map(|c| c.to_f64().recip()).collect();
    let places = places(before);
    let row_of_a = |i: usize| nonzero(a, i).map(|(k, &x)| (k, x)).collect::<Row>();
    let row_of_b = |j: usize| {
        let bias = [(b.input_width(), b.bias()[j])].into_iter().filter(|(_, b)| *b != 0.0);
        let weights = b.weights().row(j).map(|(k, &w)| (places[k], w * shrink[places[k]]));
        let mut row: Row = weights.chain(bias).collect();
        row.sort_unstable_by_key(|(k, _)| *k);
        row
    };
    // Only rows with entries in the same places can be partners.
    let mut free: HashMap<Vec<usize>, Vec<(usize, Row)>> = HashMap::new();
    for j in 0..b.width() {
        let row = row_of_b(j);
        free.entry(row.iter().map(|(k, _)| *k).collect()).or_default().push((j, row));
    }
    let mut matched = LayerRelabelling::default();
    for i in 0..a.width() {
        if deadline.is_past() {
            return None;
        }
        let row = row_of_a(i);
        let candidates = free.get_mut(&row.iter().map(|(k, _)| *k).collect::<Vec<_>>())?;
        let spreads =
            candidates.iter().enumerate().filter_map(|(at, (_, other))| Some((spread(&row, other)?, at)));
        let (_, at) = spreads.min_by(|x, y| x.0.total_cmp(&y.0))?;
        let (partner, _) = candidates.remove(at);
        matched.push(partner, factor(a, i, b, partner, before, &places)?);
    }
    Some(matched)
}

/// The entries of a row that are not zero, with their places.
type Row = Vec<(usize, f64)>;

/// The new place of every neuron of `B`.
fn places(relabelling: &LayerRelabelling) -> Vec<usize> {
    let mut places = vec![0; relabelling.order.len()];
    relabelling.order.iter().enumerate().for_each(|(new, &old)| places[old] = new);
    places
}

/// By how much the quotients of corresponding entries differ, relatively; `None` if by more than [`CLOSE`],
/// or if they are not positive.
fn spread(x: &[(usize, f64)], y: &[(usize, f64)]) -> Option<f64> {
    let (mut least, mut greatest) = (f64::INFINITY, 0.0f64);
    for ((_, x), (_, y)) in x.iter().zip(y) {
        let quotient = x / y;
        (least, greatest) = (least.min(quotient), greatest.max(quotient));
        // Also refuses what is no positive number.
        if !(quotient > 0.0 && quotient.is_finite() && greatest - least <= 2.0 * CLOSE * greatest) {
            return None;
        }
    }
    Some(if greatest == 0.0 { 0.0 } else { (greatest - least) / greatest })
}

/// The factor between the exact quotients `x / y` of corresponding entries ([`meant`]), if these are positive
/// and agree to [`CLOSE`]; `None` for vectors of zeros. Entries far below the others in both vectors are what
/// rounding leaves of a sum that cancels, and do not count.
pub(crate) fn near_ratio(x: &[Rational], y: &[Rational]) -> Option<Rational> {
    let small = |vector: &[Rational]| {
        vector.iter().map(Rational::abs).max().map(|peak| &peak * &Rational::dyadic(1, -40))
    };
    let (small_x, small_y) = (small(x)?, small(y)?);
    let mut ends: Option<(Rational, Rational)> = None;
    for (x, y) in x.iter().zip(y).filter(|(x, y)| x.abs() > small_x || y.abs() > small_y) {
        let quotient = Some(x * &y.recip()?).filter(Rational::is_positive)?;
        ends = Some(match ends {
            None => (quotient.clone(), quotient),
            Some((least, greatest)) => (least.min(quotient.clone()), greatest.max(quotient)),
        });
    }
    let (least, greatest) = ends?;
    let is_close = &greatest - &least <= &greatest * &Rational::from_f64(2.0 * CLOSE)?;
    is_close.then(|| meant(&least, &greatest, SUMS))
}

/// The factor between the exact quotients of corresponding entries ([`meant`]); 1 for rows of zeros.
fn factor(
    a: &Layer,
    i: usize,
    b: &Layer,
    j: usize,
    before: &LayerRelabelling,
    places: &[usize],
) -> Option<Rational> {
    let exact = |x: f64| Rational::from_f64(x);
    let mut ends: Option<(Rational, Rational)> = None;
    let mut row: Row = b.weights().row(j).map(|(k, &w)| (places[k], w)).collect();
    row.sort_unstable_by_key(|(k, _)| *k);
    let columns = a.weights().row(i).zip(row).map(|((k, &x), (_, y))| (x, y, Some(&before.factors[k])));
    let bias = [(a.bias()[i], b.bias()[j], None)].into_iter().filter(|(x, y, _)| *x != 0.0 || *y != 0.0);
    for (x, y, divided) in columns.chain(bias) {
        let mut quotient = &exact(x)? * &exact(y)?.recip()?;
        if let Some(divided) = divided {
            quotient *= divided;
        }
        if !quotient.is_positive() {
            return None;
        }
        ends = Some(match ends {
            None => (quotient.clone(), quotient),
            Some((least, greatest)) if quotient < least => (quotient, greatest),
            Some((least, greatest)) if quotient > greatest => (least, quotient),
            Some(ends) => ends,
        });
    }
    Some(ends.map_or(Rational::ONE, |(least, greatest)| meant(&least, &greatest, ENTRIES)))
}

/// The number in an interval of positive quotients, or within rounding of it, that was most likely meant: the
/// simplest one nearby, to `2^near`, if it is short, else the simplest one inside.
fn meant(least: &Rational, greatest: &Rational, near: i64) -> Rational {
    // Numerator and denominator of at most four digits. Such fractions are so rare that one hardly comes so
    // near to an interval by chance.
    const SHORT: usize = 14;
    if least == greatest {
        return least.clone();
    }
    let room = |x: &Rational| x * &Rational::dyadic(1, near);
    let nearby = simplest(&(least - &room(least)), &(greatest + &room(greatest)));
    let (numerator, denominator) = parts(&nearby);
    let is_short = numerator.bit_len() <= SHORT && denominator.bit_len() <= SHORT;
    if is_short { nearby } else { simplest(least, greatest) }
}

/// Numerator and denominator.
fn parts(x: &Rational) -> (IBig, IBig) {
    let (n, d, e) = x.to_big_parts();
    let (d, shift) = (IBig::from(d), e.unsigned_abs() as usize);
    if e >= 0 { (n << shift, d) } else { (n, d << shift) }
}

/// The fraction with the least denominator in an interval of positive numbers (the continued fractions of the
/// ends, as long as they agree).
fn simplest(least: &Rational, greatest: &Rational) -> Rational {
    if least == greatest {
        return least.clone();
    }
    let ((mut n, mut d), (mut p, mut q)) = (parts(least), parts(greatest));
    // The convergents h/k of the common part.
    let (mut h, mut k) = ((IBig::ONE, IBig::ZERO), (IBig::ZERO, IBig::ONE));
    loop {
        let whole = &n / &d;
        let remainder = &n - &whole * &d;
        // An integer in the interval ends the fraction: the least one that is not below `n / d`.
        let ceiling = if remainder == IBig::ZERO { whole.clone() } else { &whole + IBig::ONE };
        let ends = &ceiling * &q <= p;
        let term = if ends { ceiling } else { whole.clone() };
        h = (&term * &h.0 + &h.1, h.0);
        k = (&term * &k.0 + &k.1, k.0);
        if ends {
            let denominator = UBig::try_from(k.0).expect("convergents of positive numbers are positive");
            return Rational::from_big_parts(h.0, denominator, 0);
        }
        // x -> 1 / (x - whole) turns the interval around.
        let rest = &p - &whole * &q;
        (n, d, p, q) = (q, rest, d, remainder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simplest_fraction_of_an_interval() {
        let r = |text: &str| text.parse::<Rational>().unwrap();
        for (least, greatest, expected) in [
            ("1/3", "1/3", "1/3"),
            ("3333/10000", "3334/10000", "1/3"),
            ("369/1000", "3701/10000", "17/46"),
            ("299/100", "301/100", "3"),
            ("1/1000001", "1/1000000", "1/1000000"),
            ("5/2", "8/3", "5/2"),
            ("7/5", "10/7", "7/5"),
            ("71/50", "143/100", "10/7"),
        ] {
            assert_eq!(simplest(&r(least), &r(greatest)), r(expected), "{least} {greatest}");
        }
        // Rounding has moved both ends off 7/11, and off no short fraction.
        let moved = |x: f64| Rational::from_f64(x).unwrap();
        let above = (7.0f64 / 11.0).next_up().next_up();
        assert_eq!(meant(&moved(above), &moved(above.next_up()), ENTRIES), r("7/11"));
        let real = std::f64::consts::E / 3.0;
        let between = meant(&moved(real), &moved(real.next_up()), SUMS);
        assert!(moved(real) <= between && between <= moved(real.next_up()));
        let tenth = 0.37f64;
        let ends = [tenth.next_down(), tenth.next_up()].map(|x| Rational::from_f64(x).unwrap());
        assert_eq!(simplest(&ends[0], &ends[1]), r("37/100"));
    }
}
