//! Rows that are nearly multiples of each other, in floats.

use fiberscope_core::{Layer, Rational};

use super::lines::entries;

/// The rows `(w, b)` of a layer in doubles.
pub fn rows(layer: &Layer<Rational>) -> Vec<Vec<f64>> {
    (0..layer.width()).map(|unit| entries(layer, unit).map(Rational::to_f64).collect()).collect()
}

/// Rows sorted by one coordinate of their direction, so that only neighbours are compared.
pub struct Directions {
    rows: Vec<Vec<f64>>,
    sorted: Vec<(f64, usize)>,
}

impl Directions {
    /// Sorts the rows.
    pub fn new(rows: Vec<Vec<f64>>) -> Self {
        let mut sorted: Vec<(f64, usize)> = rows.iter().enumerate().map(|(j, row)| (key(row), j)).collect();
        sorted.sort_by(|x, y| x.0.total_cmp(&y.0));
        Directions { rows, sorted }
    }

    /// The rows `r_j` with `abs(row - c r_j) <= closeness max abs(row)` in every entry for some `c != 0`, in
    /// order, with `c`.
    pub fn near(&self, row: &[f64], closeness: f64) -> Vec<(usize, f64)> {
        let at = (0..row.len()).max_by(|&i, &j| row[i].abs().total_cmp(&row[j].abs())).unwrap_or(0);
        let slack = 4.0 * closeness * row.len() as f64;
        let centre = key(row);
        let mut found: Vec<(usize, f64)> = [(1.0, centre), (-1.0, -centre)]
            .into_iter()
            .flat_map(|(sign, centre)| {
                let first = self.sorted.partition_point(|(k, _)| *k < centre - slack);
                let near = self.sorted[first..].iter().take_while(move |(k, _)| *k <= centre + slack);
                near.map(move |&(_, j)| (sign, j))
            })
            .filter_map(|(sign, j)| {
                let other = &self.rows[j];
                let factor = row[at] / other[at];
                let size = closeness * row[at].abs();
                let close = || row.iter().zip(other).all(|(x, y)| (x - y * factor).abs() <= size);
                (factor.is_finite() && factor * sign > 0.0 && close()).then_some((j, factor))
            })
            .collect();
        found.sort_by_key(|(j, _)| *j);
        found
    }
}

/// A linear form of the row over its size, the same for positive multiples up to rounding errors.
fn key(row: &[f64]) -> f64 {
    let sum: f64 = row.iter().enumerate().map(|(i, x)| x * ((i as f64 * 0.618).fract() + 0.5)).sum();
    sum / row.iter().map(|x| x.abs()).sum::<f64>().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_of_both_signs_are_near() {
        let directions = Directions::new(vec![
            vec![1.0, -2.0, 0.5],
            vec![3.0, 1.0, 1.0],
            vec![-0.5, 1.0, -0.25 + 1e-9],
            vec![0.0, 0.0, 0.0],
        ]);
        assert_eq!(directions.near(&[2.0, -4.0, 1.0], 1e-6), [(0, 2.0), (2, -4.0)]);
        assert_eq!(directions.near(&[2.0, -4.0, 1.0], 1e-10), [(0, 2.0)]);
        assert_eq!(directions.near(&[2.0, -4.0, 1.1], 1e-6), []);
    }
}
