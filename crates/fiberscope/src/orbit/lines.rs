//! Rows `(w, b)` on one line: multiples of each other. Neurons with such rows share their hyperplane.
//!
//! Modulo the prime `p = 2^61 - 1`, a fixed linear form of a row divided by the row's first nonzero
//! entry is the same for all multiples of the row. Rows are sorted by this number, which costs one
//! multiplication of machine numbers per parameter, and only rows with the same number are compared
//! exactly.

use fiberscope_core::residue::{PRIME, inverse, multiply, reduce};
use fiberscope_core::{Layer, Rational, Scalar, ratio_of};

/// A row that is `factor` times the first row of its group.
#[derive(Clone, Debug, PartialEq)]
pub struct Multiple {
    /// The neuron.
    pub unit: usize,
    /// The factor, not zero.
    pub factor: Rational,
}

/// The groups of two and more neurons whose rows `(w, b)` are multiples of each other and not zero: sorted
/// by their first neuron, each in increasing order.
pub fn groups<S: Scalar>(layer: &Layer<S>) -> Vec<Vec<Multiple>> {
    let coefficients: Vec<u64> = (0..=layer.input_width()).map(coefficient).collect();
    let known = |unit: usize| {
        line_with(layer, unit, |place| coefficients[place]).filter(|line| line.residue.is_some())
    };
    let mut keys: Vec<(Line, usize)> =
        (0..layer.width()).filter_map(|unit| Some((known(unit)?, unit))).collect();
    keys.sort_unstable();
    let mut groups: Vec<Vec<Multiple>> = Vec::new();
    for run in keys.chunk_by(|x, y| x.0 == y.0).filter(|run| run.len() > 1) {
        // Rows with the same number are on one line, but for accidents.
        let first = groups.len();
        for &(_, unit) in run {
            let place = |group: &mut Vec<Multiple>| match neuron_ratio(layer, group[0].unit, unit) {
                Some(factor) => {
                    group.push(Multiple { unit, factor });
                    true
                }
                None => false,
            };
            if !groups[first..].iter_mut().any(place) {
                groups.push(vec![Multiple { unit, factor: Rational::ONE }]);
            }
        }
    }
    groups.retain(|group| group.len() > 1);
    groups.sort_by_key(|group| group[0].unit);
    groups
}

/// What multiples of a row have in common.
///
/// Rows on one line have the same `Line` unless one of them has an entry without residue or a first entry
/// with residue 0, whose numerator or denominator is a multiple of the prime. In networks of doubles, and in
/// what scaling by quotients of their entries makes of them, there are none: the prime is larger than all
/// mantissas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line {
    /// The place of the first entry that is not zero.
    pub lead: usize,
    /// A number that depends only on the line; `None` if it has none modulo the prime.
    pub residue: Option<u64>,
}

/// The line of a row; `None` for a row of zeros.
pub fn line<S: Scalar>(layer: &Layer<S>, unit: usize) -> Option<Line> {
    line_with(layer, unit, coefficient)
}

fn line_with<S: Scalar>(layer: &Layer<S>, unit: usize, coefficient: impl Fn(usize) -> u64) -> Option<Line> {
    let (lead, _) = nonzero(layer, unit).next()?;
    let mut sum = 0;
    let mut leading = None;
    for (place, x) in nonzero(layer, unit) {
        let Some(residue) = x.residue() else { return Some(Line { lead, residue: None }) };
        leading.get_or_insert(residue);
        sum = reduce(u128::from(sum) + u128::from(coefficient(place)) * u128::from(residue));
    }
    let residue = leading.filter(|&leading| leading != 0).map(|leading| multiply(sum, inverse(leading)));
    Some(Line { lead, residue })
}

/// The coefficients of the linear form: fixed numbers without simple relations.
fn coefficient(place: usize) -> u64 {
    let mut x = (place as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) % PRIME
}

/// The `c` with `(w_other, b_other) = c (w_base, b_base)`, if there is one and row `base` is not zero.
pub fn neuron_ratio<S: Scalar>(layer: &Layer<S>, base: usize, other: usize) -> Option<Rational> {
    row_ratio((layer, base), (layer, other))
}

/// The same for rows of two layers.
pub fn row_ratio<S: Scalar>(base: (&Layer<S>, usize), other: (&Layer<S>, usize)) -> Option<Rational> {
    let places =
        |(layer, unit): (&Layer<S>, usize)| nonzero(layer, unit).map(|(place, _)| place).collect::<Vec<_>>();
    let row = |(layer, unit): (&Layer<S>, usize)| {
        nonzero(layer, unit).map(|(_, x)| x.to_rational()).collect::<Vec<_>>()
    };
    if nonzero(other.0, other.1).next().is_none() {
        return nonzero(base.0, base.1).next().map(|_| Rational::ZERO);
    }
    if places(base) != places(other) {
        return None;
    }
    ratio_of(row(base).iter(), row(other).iter())
}

/// The entries of a row that are not zero, with their places; the bias stands behind the weights.
pub fn nonzero<S: Scalar>(layer: &Layer<S>, unit: usize) -> impl Iterator<Item = (usize, &S)> {
    let bias = [(layer.input_width(), &layer.bias()[unit])].into_iter().filter(|(_, b)| !b.is_zero());
    layer.weights().row(unit).chain(bias)
}

/// The row of a neuron followed by its bias.
pub fn entries<S: Scalar>(layer: &Layer<S>, unit: usize) -> impl Iterator<Item = &S> + Clone {
    layer.weight().row(unit).iter().chain(std::iter::once(&layer.bias()[unit]))
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Activation, Matrix};

    use super::*;

    #[test]
    fn multiples_are_found_and_near_multiples_are_not() {
        let third: Rational = "1/3".parse().unwrap();
        let row = |x: f64, y: f64, c: &Rational| [x, y].map(|x| &Rational::from_f64(x).unwrap() * c).to_vec();
        let one = Rational::ONE;
        let next = f64::from_bits(0.3f64.to_bits() + 1);
        let rows = [
            row(0.1, 0.3, &one),
            row(0.0, 0.0, &one),
            row(0.1, 0.3, &third),
            row(0.1, next, &one),
            row(-0.2, -0.6, &third),
        ];
        let bias = vec![Rational::ZERO; rows.len()];
        let layer = Layer::new(Matrix::from_rows(&rows).unwrap(), bias, Activation::Relu);
        let multiple = |unit, factor: &str| Multiple { unit, factor: factor.parse().unwrap() };
        assert_eq!(groups(&layer), [[multiple(0, "1"), multiple(2, "1/3"), multiple(4, "-2/3")]]);
    }
}
