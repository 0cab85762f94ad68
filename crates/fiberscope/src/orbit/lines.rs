//! Rows `(w, b)` on one line: multiples of each other. Neurons with such rows share their hyperplane.
//!
//! Modulo the prime `p = 2^61 - 1`, a fixed linear form of a row divided by the row's first nonzero
//! entry is the same for all multiples of the row. Rows are sorted by this number, which costs one
//! multiplication of machine numbers per parameter, and only rows with the same number are compared
//! exactly.

use fiberscope_core::residue::{PRIME, inverse, multiply, reduce};
use fiberscope_core::{Layer, Rational};

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
pub fn groups(layer: &Layer<Rational>) -> Vec<Vec<Multiple>> {
    let known = |unit: usize| line(layer, unit).filter(|line| line.residue.is_some());
    let mut keys: Vec<(Line, usize)> =
        (0..layer.width()).filter_map(|unit| Some((known(unit)?, unit))).collect();
    keys.sort_unstable();
    let runs = keys.chunk_by(|x, y| x.0 == y.0).filter(|run| run.len() > 1);
    let exact = |run: &[(Line, usize)]| -> Vec<Multiple> {
        let multiple =
            |&(_, unit): &(_, usize)| Some(Multiple { unit, factor: ratio(layer, run[0].1, unit)? });
        run.iter().filter_map(multiple).collect()
    };
    let mut groups: Vec<_> = runs.map(exact).filter(|group| group.len() > 1).collect();
    groups.sort_by_key(|group| group[0].unit);
    groups
}

/// What multiples of a row have in common.
///
/// Rows on one line have the same `Line` unless one of them has an entry without residue or a first entry with residue 0, whose numerator or denominator
/// is a multiple of the prime. In networks of doubles, and in what scaling by quotients of their entries makes of them, there are none: the prime is larger than all mantissas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line {
    /// The place of the first entry that is not zero.
    pub lead: usize,
    /// A number that depends only on the line; `None` if it has none modulo the prime.
    pub residue: Option<u64>,
}

/// The line of a row; `None` for a row of zeros.
pub fn line(layer: &Layer<Rational>, unit: usize) -> Option<Line> {
    const BASE: u64 = 0x0123_4567_89ab_cdef % PRIME;
    let lead = entries(layer, unit).position(|x| !x.is_zero())?;
    let mut sum = 0;
    let mut leading = None;
    for x in entries(layer, unit).skip(lead) {
        let Some(residue) = x.residue() else { return Some(Line { lead, residue: None }) };
        leading.get_or_insert(residue);
        sum = reduce(u128::from(sum) * u128::from(BASE) + u128::from(residue));
    }
    let residue = leading.filter(|&leading| leading != 0).map(|leading| multiply(sum, inverse(leading)));
    Some(Line { lead, residue })
}

/// The `c` with `(w_other, b_other) = c (w_base, b_base)`, if there is one and row `base` is not zero.
pub fn ratio(layer: &Layer<Rational>, base: usize, other: usize) -> Option<Rational> {
    ratio_of(entries(layer, base), entries(layer, other))
}

/// The `c` with `other = c base`, entry by entry, if there is one and `base` is not zero.
pub fn ratio_of<'a>(
    base: impl Iterator<Item = &'a Rational> + Clone,
    other: impl Iterator<Item = &'a Rational> + Clone,
) -> Option<Rational> {
    let (x, y) = base.clone().zip(other.clone()).find(|(x, _)| !x.is_zero())?;
    let factor = y / x;
    base.zip(other).all(|(x, y)| &(x * &factor) == y).then_some(factor)
}

/// The row of a neuron followed by its bias.
pub fn entries(layer: &Layer<Rational>, unit: usize) -> impl Iterator<Item = &Rational> + Clone {
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
