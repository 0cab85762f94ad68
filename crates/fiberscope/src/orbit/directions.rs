//! Rows that are nearly multiples of each other, in floats.

use fiberscope_core::{Layer, Rational, side_by_side};

use super::lines::nonzero;

/// The entries of a row that are not zero, with their places.
pub type FloatRow = Vec<(usize, f64)>;

/// The rows `(w, b)` of a layer in doubles.
pub fn rows(layer: &Layer<Rational>) -> Vec<FloatRow> {
    let row = |unit| nonzero(layer, unit).map(|(place, x)| (place, x.to_f64())).collect();
    (0..layer.width()).map(row).collect()
}

/// Rows sorted by one coordinate of their direction, so that only neighbours are compared.
pub struct Directions {
    rows: Vec<FloatRow>,
    /// The most entries of a row that are not zero.
    longest: usize,
    sorted: Vec<(f64, usize)>,
    /// The same, behind every place at which a row has nearly its largest entry: a row that is close to a multiple of
    /// another has its own there. Rows of convolutions are many, and few of them look at one place.
    at_peaks: Vec<(usize, f64, usize)>,
}

/// What of a row's largest entry an entry has to be to count as nearly the largest.
const PEAK: f64 = 0.9;

/// Up to this closeness the largest entry of a row is nearly the largest one of the other: if `abs(x_k - c y_k)` is at most
/// `e abs(x_p)` for all `k`, and `x_p` is the largest, then `abs(y_k) <= abs(y_p) (1 + e) / (1 - e)`, and this is below 1.11.
const CLOSE: f64 = 0.05;

impl Directions {
    /// Sorts rows.
    pub fn new(rows: Vec<FloatRow>) -> Self {
        let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut sorted: Vec<(f64, usize)> = rows.iter().enumerate().map(|(j, row)| (key(row), j)).collect();
        sorted.sort_by(|x, y| x.0.total_cmp(&y.0));
        let mut at_peaks = Vec::new();
        for &(key, j) in &sorted {
            let peak = rows[j].iter().fold(0.0f64, |peak, (_, x)| peak.max(x.abs()));
            let near = rows[j].iter().filter(|(_, x)| x.abs() >= PEAK * peak);
            at_peaks.extend(near.map(|&(place, _)| (place, key, j)));
        }
        // Stable: behind one place the keys stay in order.
        at_peaks.sort_by_key(|&(place, _, _)| place);
        Directions { rows, longest, sorted, at_peaks }
    }

    /// The rows `r_j` with `abs(row - c r_j) <= closeness max abs(row)` in every entry for some `c != 0`, in
    /// order, with `c`.
    pub fn near(&self, row: &[(usize, f64)], closeness: f64) -> Vec<(usize, f64)> {
        let largest = row.iter().max_by(|x, y| x.1.abs().total_cmp(&y.1.abs()));
        let Some(&(place, largest)) = largest else { return Vec::new() };
        let slack = 4.0 * closeness * (self.longest + row.len()) as f64;
        let centre = key(row);
        let mut found: Vec<(usize, f64)> = [(1.0, centre), (-1.0, -centre)]
            .into_iter()
            .flat_map(|(sign, centre)| {
                let from = centre - slack;
                let (at_peak, anywhere) = if closeness <= CLOSE {
                    let first =
                        self.at_peaks.partition_point(|&(p, k, _)| p < place || p == place && k < from);
                    (&self.at_peaks[first..], &[][..])
                } else {
                    (&[][..], &self.sorted[self.sorted.partition_point(|&(k, _)| k < from)..])
                };
                let at_peak =
                    at_peak.iter().take_while(move |(p, _, _)| *p == place).map(|&(_, k, j)| (k, j));
                let all = at_peak.chain(anywhere.iter().copied());
                all.take_while(move |&(k, _)| k <= centre + slack).map(move |(_, j)| (sign, j))
            })
            .filter_map(|(sign, j)| {
                let other = &self.rows[j];
                let at = other.binary_search_by_key(&place, |(place, _)| *place).ok()?;
                let factor = largest / other[at].1;
                let size = closeness * largest.abs();
                (factor.is_finite() && factor * sign > 0.0 && are_close(row, other, factor, size))
                    .then_some((j, factor))
            })
            .collect();
        found.sort_by_key(|(j, _)| *j);
        found
    }
}

/// Whether the first row is the factor times the second, up to this much in every entry.
fn are_close(row: &[(usize, f64)], other: &[(usize, f64)], factor: f64, size: f64) -> bool {
    let value = |x: Option<&f64>| x.copied().unwrap_or(0.0);
    side_by_side(row.iter().map(|(place, x)| (*place, x)), other.iter().map(|(place, x)| (*place, x)))
        .all(|(_, x, y)| (value(x) - value(y) * factor).abs() <= size)
}

/// A linear form of the row over its size, the same for positive multiples up to rounding errors.
fn key(row: &[(usize, f64)]) -> f64 {
    let sum: f64 = row.iter().map(|&(i, x)| x * ((i as f64 * 0.618).fract() + 0.5)).sum();
    sum / row.iter().map(|(_, x)| x.abs()).sum::<f64>().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair is compared, as the definition says.
    #[test]
    fn what_is_found_is_what_is_near() {
        use rand::{RngExt, SeedableRng};
        let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let mut found = 0;
        for round in 0..200 {
            let closeness = [1e-9, 1e-3, 0.04, 0.06, 0.2][round % 5];
            let mut rows: Vec<FloatRow> = Vec::new();
            for _ in 0..30 {
                let fresh = (0..6).filter(|_| rng.random_bool(0.6)).collect::<Vec<usize>>();
                let mut row: FloatRow =
                    fresh.into_iter().map(|place| (place, rng.random_range(-1.0..1.0))).collect();
                if !rows.is_empty() && rng.random_bool(0.7) {
                    let (of, factor) = (rng.random_range(0..rows.len()), rng.random_range(-2.0..2.0));
                    row = rows[of].iter().map(|&(place, x)| (place, factor * x)).collect();
                    row.iter_mut()
                        .for_each(|(_, x)| *x *= 1.0 + 1.2 * closeness * rng.random_range(-1.0..1.0));
                }
                rows.push(row);
            }
            let directions = Directions::new(rows.clone());
            for row in &rows {
                let Some(&(place, largest)) = row.iter().max_by(|x, y| x.1.abs().total_cmp(&y.1.abs()))
                else {
                    continue;
                };
                let factor = |j: usize| {
                    let (_, other) = rows[j].iter().find(|(at, _)| *at == place)?;
                    let factor = largest / other;
                    are_close(row, &rows[j], factor, closeness * largest.abs()).then_some((j, factor))
                };
                let expected: Vec<_> = (0..rows.len()).filter_map(factor).collect();
                let near = directions.near(row, closeness);
                // With a coarse closeness one row may be near in both directions.
                assert!(
                    expected.iter().all(|each| near.contains(each)),
                    "{closeness}: {near:?} {expected:?}"
                );
                assert!(
                    near.iter().all(|each| expected.contains(each)),
                    "{closeness}: {near:?} {expected:?}"
                );
                found += expected.len();
            }
        }
        assert!(found > 10_000, "{found}");
    }

    #[test]
    fn multiples_of_both_signs_are_near() {
        let row = |entries: &[f64]| -> FloatRow {
            entries.iter().copied().enumerate().filter(|(_, x)| *x != 0.0).collect()
        };
        let rows = [[1.0, -2.0, 0.5], [3.0, 1.0, 1.0], [-0.5, 1.0, -0.25 + 1e-9], [0.0; 3], [1.0, -2.0, 0.0]];
        let directions = Directions::new(rows.iter().map(|entries| row(entries)).collect());
        assert_eq!(directions.near(&row(&[2.0, -4.0, 1.0]), 1e-6), [(0, 2.0), (2, -4.0)]);
        assert_eq!(directions.near(&row(&[2.0, -4.0, 1.0]), 1e-10), [(0, 2.0)]);
        assert_eq!(directions.near(&row(&[2.0, -4.0, 1.1]), 1e-6), []);
        // An entry that only one of two rows has counts with its size.
        assert_eq!(directions.near(&row(&[2.0, -4.0, 1e-9]), 1e-6), [(4, 2.0)]);
        assert_eq!(directions.near(&row(&[0.0; 3]), 1e-6), []);
    }
}
