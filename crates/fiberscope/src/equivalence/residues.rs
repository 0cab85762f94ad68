//! Points at which two networks differ, found modulo a prime.
//!
//! Where the signs of all pre-activations are known, the outputs are sums of products of the parameters and
//! can be computed modulo `p = 2^61 - 1` with machine numbers, a hundred times faster than exactly; doubles
//! tell the signs. Outputs with different residues are different (if the signs are right), however small the
//! difference: one unit in the last place of one weight shows wherever its neuron is active. A point found
//! like this is evaluated exactly before anything is said about it.

use fiberscope_algebra::dense::fast_dot;
use fiberscope_core::residue::reduce;
use fiberscope_core::{Activation, Layer, Network, Rational, Weights};
use rayon::prelude::*;

/// Products below `2^122` that can be added before the sum is reduced.
const TERMS: usize = 32;

/// The first of the points at which the residues of the outputs differ.
pub fn first_suspect(a: &Residues, b: &Residues, points: &[Vec<Rational>]) -> Option<usize> {
    points.par_iter().position_first(|x| match (a.evaluate(x), b.evaluate(x)) {
        (Some(a), Some(b)) => a != b,
        _ => false,
    })
}

/// A network with the residues of its parameters.
pub struct Residues<'a> {
    network: &'a Network,
    /// The stored weights row by row, and biases.
    layers: Vec<(Vec<u64>, Vec<u64>)>,
}

impl<'a> Residues<'a> {
    /// Computes the residues.
    pub fn new(network: &'a Network) -> Self {
        let residue =
            |&x: &f64| Rational::from_f64(x).and_then(|x| x.residue()).expect("doubles have residues");
        let layer = |layer: &Layer| {
            let weights = layer.weights().stored().par_iter().with_min_len(1 << 12).map(residue).collect();
            (weights, layer.bias().iter().map(residue).collect())
        };
        Residues { network, layers: network.layers().iter().map(layer).collect() }
    }

    /// The residues of the outputs; `None` if the point has none.
    fn evaluate(&self, x: &[Rational]) -> Option<Vec<u64>> {
        let mut doubles: Vec<f64> = x.iter().map(Rational::to_f64).collect();
        let mut residues: Vec<u64> = x.iter().map(Rational::residue).collect::<Option<_>>()?;
        for (layer, (weights, biases)) in self.network.layers().iter().zip(&self.layers) {
            let relu = layer.activation() == Activation::Relu;
            let inputs = layer.input_width();
            let neuron = |unit: usize| match layer.weights() {
                Weights::Dense(matrix) => {
                    let z = layer.bias()[unit] + fast_dot(matrix.row(unit), &doubles);
                    if relu && z <= 0.0 {
                        return (0.0, 0);
                    }
                    (z, combine(&weights[unit * inputs..][..inputs], &residues, biases[unit]))
                }
                Weights::Sparse(matrix) => {
                    let ((columns, entries), range) = (matrix.row(unit), matrix.range(unit));
                    let terms = columns.iter().zip(entries).map(|(&j, w)| w * doubles[j as usize]);
                    let z = layer.bias()[unit] + terms.sum::<f64>();
                    if relu && z <= 0.0 {
                        return (0.0, 0);
                    }
                    let inputs: Vec<u64> = columns.iter().map(|&j| residues[j as usize]).collect();
                    (z, combine(&weights[range], &inputs, biases[unit]))
                }
            };
            (doubles, residues) = (0..layer.width()).map(neuron).unzip();
        }
        Some(residues)
    }
}

fn combine(row: &[u64], x: &[u64], bias: u64) -> u64 {
    row.chunks(TERMS).zip(x.chunks(TERMS)).fold(bias, |sum, (row, x)| {
        let products = row.iter().zip(x).map(|(&w, &x)| u128::from(w) * u128::from(x));
        reduce(u128::from(sum) + products.sum::<u128>())
    })
}

#[cfg(test)]
mod tests {
    use fiberscope_core::Matrix;

    use super::*;

    fn network(change: f64) -> Network {
        let entry = |i: usize, j: usize| ((3 * i + 5 * j) as f64).sin();
        let hidden = Layer::new(Matrix::from_fn(70, 40, entry), vec![0.1; 70], Activation::Relu);
        let next = Layer::new(Matrix::from_fn(50, 70, entry), vec![-0.2; 50], Activation::Relu);
        let last = Matrix::from_fn(2, 50, |i, j| entry(i, j) + if (i, j) == (1, 7) { change } else { 0.0 });
        Network::new(vec![hidden, next, Layer::new(last, vec![0.3, 0.4], Activation::Identity)]).unwrap()
    }

    fn points() -> Vec<Vec<Rational>> {
        let coordinate = |k: usize, j: usize| Rational::dyadic((k * 37 + j * 11) as i128 % 64 - 32, -5);
        (1..20).map(|k| (0..40).map(|j| coordinate(k, j)).collect()).collect()
    }

    #[test]
    fn residues_are_those_of_the_exact_outputs() {
        let network = network(0.0);
        for x in points() {
            let exact = network.evaluate_exact(&x).unwrap();
            let expected: Vec<u64> = exact.iter().map(|y| y.residue().unwrap()).collect();
            assert_eq!(Residues::new(&network).evaluate(&x).unwrap(), expected);
        }
    }

    #[test]
    fn one_unit_in_the_last_place_shows_where_the_neuron_is_active() {
        let (a, b) = (network(0.0), network(f64::EPSILON));
        let found = first_suspect(&Residues::new(&a), &Residues::new(&b), &points()).unwrap();
        let x = &points()[found];
        assert_ne!(a.evaluate_exact(x).unwrap(), b.evaluate_exact(x).unwrap());
        assert_eq!(first_suspect(&Residues::new(&a), &Residues::new(&a), &points()), None);
    }
}
