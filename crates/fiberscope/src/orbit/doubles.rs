//! Permutation and scaling, proposed from the doubles alone.
//!
//! Networks that differ by the order and the scales of their neurons are the commonest twins, and the
//! largest. Their neurons are matched layer by layer in floating point, without the exact copies that
//! reduction makes: row `j` of `B`, with its columns ordered and scaled as the layer before demands, is
//! proposed for row `i` of `A` if the directions agree to some thirty bits. The factor is the exact quotient
//! of one entry of each. Whether the proposal is right, the checker says.

use std::collections::HashMap;

use fiberscope_core::{Layer, Network, Rational};
use rayon::prelude::*;

use super::{LayerRelabelling, Relabelling};

/// The relabelling of a layer, for the columns of the next one.
#[derive(Default)]
struct Labels {
    relabelling: LayerRelabelling,
    /// The reciprocals of the factors, rounded.
    shrink: Vec<f64>,
    /// The new place of every neuron of `B`.
    place: Vec<usize>,
}

/// The relabelling that may turn `B` into `A`.
///
/// ```
/// use fiberscope::orbit::{propose, relabel};
/// use fiberscope::{Domain, Network};
///
/// let a = Network::from_rows(&[(&[&[1.0], &[-2.0]], &[0.5, 0.25]), (&[&[1.0, 3.0]], &[0.0])]).unwrap();
/// let b = relabel(&a, 1).network;
/// let mut moved = b.to_exact();
/// propose(&a, &b).unwrap().moves().apply(&mut moved, &Domain::Space).unwrap();
/// assert_eq!(moved, a.to_exact());
/// ```
pub fn propose(a: &Network, b: &Network) -> Option<Relabelling> {
    if a.widths() != b.widths() {
        return None;
    }
    let mut found = Relabelling::default();
    let mut before: Option<Labels> = None;
    for (rows_a, rows_b) in a.hidden_layers().iter().zip(b.hidden_layers()) {
        if rows_a.activation() != rows_b.activation() {
            return None;
        }
        let labels = match_rows(rows_a, rows_b, before.as_ref())?;
        found.layers.push(labels.relabelling.clone());
        before = Some(labels);
    }
    Some(found)
}

fn match_rows(a: &Layer, b: &Layer, before: Option<&Labels>) -> Option<Labels> {
    let projection = Projection::new(a.input_width() + 1);
    let cell_of = |layer: &Layer, unit: usize, relabelled: Option<&Labels>| {
        let bias = (layer.input_width(), layer.bias()[unit]);
        let row = layer.weights().row(unit).map(|(column, &w)| match relabelled {
            None => (column, w),
            Some(Labels { shrink, place, .. }) => (place[column], w * shrink[place[column]]),
        });
        cell(projection.of(row.chain([bias])))
    };
    let cells = |layer: &Layer, relabelled: Option<&Labels>| -> Vec<(i64, i64)> {
        (0..layer.width()).into_par_iter().map(|unit| cell_of(layer, unit, relabelled)).collect()
    };
    let (cells_a, cells_b) = (cells(a, None), cells(b, before));
    let mut units: HashMap<(i64, i64), Vec<usize>> = HashMap::with_capacity(b.width());
    for (unit, cell) in cells_b.into_iter().enumerate().rev() {
        units.entry(cell).or_default().push(unit);
    }
    let mut labels = Labels::default();
    for (unit, at) in cells_a.into_iter().enumerate() {
        let near = near_cells(at).find(|cell| units.get(cell).is_some_and(|left| !left.is_empty()))?;
        let partner = units.get_mut(&near)?.pop()?;
        let factor = factor(a, unit, b, partner, before)?;
        labels.shrink.push(factor.to_f64().recip());
        labels.relabelling.push(partner, factor);
    }
    labels.place = vec![0; b.width()];
    let order = labels.relabelling.order.iter().enumerate();
    order.for_each(|(new, &old)| labels.place[old] = new);
    Some(labels)
}

/// The exact quotient of the entries at the place of the largest one of row `i` of `A`; 1 for rows of zeros.
fn factor(a: &Layer, i: usize, b: &Layer, j: usize, before: Option<&Labels>) -> Option<Rational> {
    let entry =
        |layer: &Layer, unit: usize, column: usize| Rational::from_f64(layer.weights().get(unit, column));
    let (mut x, mut y) = (Rational::from_f64(a.bias()[i])?, Rational::from_f64(b.bias()[j])?);
    let largest = a.weights().row(i).max_by(|(_, v), (_, w)| v.abs().total_cmp(&w.abs()));
    if let Some((at, _)) = largest {
        x = entry(a, i, at)?;
        y = match before {
            None => entry(b, j, at)?,
            Some(Labels { relabelling: LayerRelabelling { order, factors }, .. }) => {
                &entry(b, j, order[at])? / &factors[at]
            }
        };
    }
    match (x.is_zero(), y.is_zero()) {
        (true, true) => Some(Rational::ONE),
        (false, false) => Some(&x / &y).filter(Rational::is_positive),
        _ => None,
    }
}

/// Two coordinates of a row's direction that multiples of it share up to rounding errors.
struct Projection {
    /// Without simple relations, so that different directions rarely agree in both sums.
    weights: Vec<(f64, f64)>,
}

impl Projection {
    /// For rows of this length.
    fn new(length: usize) -> Self {
        const STEPS: (f64, f64) = (0.618_033_988_749_894_9, 0.414_213_562_373_095_1);
        let weight = |k: usize| ((0.5 + k as f64 * STEPS.0).fract(), (0.5 + k as f64 * STEPS.1).fract());
        Projection { weights: (1..=length).map(weight).collect() }
    }

    /// The coordinates of a row; zero for rows that have no direction.
    fn of(&self, row: impl Iterator<Item = (usize, f64)>) -> (f64, f64) {
        let (mut largest, mut sums) = (0.0f64, (0.0, 0.0));
        for (place, x) in row {
            let weight = self.weights[place];
            largest = largest.max(x.abs());
            sums = (sums.0 + weight.0 * x, sums.1 + weight.1 * x);
        }
        let scaled = (sums.0 / largest, sums.1 / largest);
        if scaled.0.is_finite() && scaled.1.is_finite() { scaled } else { (0.0, 0.0) }
    }
}

/// The cell of a grid much coarser than rounding errors and much finer than typical differences.
fn cell((x, y): (f64, f64)) -> (i64, i64) {
    const GRID: f64 = (1u64 << 30) as f64;
    ((x * GRID).floor() as i64, (y * GRID).floor() as i64)
}

/// A cell and those around it, itself first.
fn near_cells((x, y): (i64, i64)) -> impl Iterator<Item = (i64, i64)> {
    [0, -1, 1].into_iter().flat_map(move |dx| [0, -1, 1].map(|dy| (x + dx, y + dy)))
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Domain, Move};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::orbit::relabel;

    fn network(widths: &[usize], seed: u64) -> Network {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        Network::from_widths(widths, || rng.random_range(-1.0..1.0)).unwrap()
    }

    #[test]
    fn twins_of_all_shapes_are_found() {
        for seed in 0..30 {
            let a = network(&[[3, 8, 5, 2], [5, 1, 9, 1], [1, 20, 20, 3]][seed as usize % 3], seed);
            let b = relabel(&a, seed).network;
            let mut found = b.to_exact();
            propose(&a, &b).unwrap().moves().apply(&mut found, &Domain::Space).unwrap();
            assert_eq!(found, a.to_exact());
        }
    }

    #[test]
    fn factors_that_are_no_powers_of_two_are_exact() {
        let a = network(&[3, 6, 6, 2], 7);
        let mut scaled = a.to_exact();
        let factors = (0..6).map(|unit| Rational::from(2 * unit + 1)).collect();
        Move::Scale { layer: 0, factors }.apply(&mut scaled, &Domain::Space).unwrap();
        let (b, _) = scaled.to_f64().unwrap();
        // Rounding makes B another network, but the proposal names the right partners.
        let moves = propose(&a, &b).unwrap().moves();
        let Move::Scale { factors, .. } = &moves.moves()[0] else { panic!("{moves:?}") };
        assert!((factors[3].to_f64() - 1.0 / 7.0).abs() < 1e-12);
    }

    #[test]
    fn strangers_and_other_shapes_are_not_matched() {
        let a = network(&[3, 6, 2], 1);
        assert!(propose(&a, &network(&[3, 6, 2], 2)).is_none());
        assert!(propose(&a, &network(&[3, 5, 2], 1)).is_none());
        let zeros = a.map(|_| 0.0).unwrap();
        assert!(propose(&a, &zeros).is_none());
        assert!(propose(&zeros, &zeros).unwrap().moves().is_empty());
    }
}
