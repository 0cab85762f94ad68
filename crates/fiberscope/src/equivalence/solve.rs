//! Inputs with wanted pre-activations: `W x + b = z` for a matrix of full row rank.

use fiberscope_algebra::dense::regular_columns;
use fiberscope_algebra::elimination::solve;
use fiberscope_core::{Layer, Matrix, Rational};

/// Solves `W x + b = z` for many `z`, first in floats, exactly where that is asked for.
pub struct Preimage<'a> {
    layer: &'a Layer<Rational>,
    floats: Matrix,
    /// Columns of a regular square part of `W`, chosen by float elimination.
    columns: Vec<usize>,
}

impl<'a> Preimage<'a> {
    /// For a layer whose weight has full row rank (in floats; exactly, a solution is always verified by
    /// whoever uses it).
    pub fn new(layer: &'a Layer<Rational>) -> Option<Self> {
        let floats = layer.weight().map(Rational::to_f64);
        let columns = regular_columns(&floats)?;
        Some(Preimage { layer, floats, columns })
    }

    /// A double vector close to a solution.
    pub fn approximate(&self, z: &[Rational]) -> Option<Vec<Rational>> {
        let n = self.columns.len();
        let equation = |(i, right): (usize, f64)| {
            self.columns.iter().map(|&j| self.floats[(i, j)]).chain([right]).collect()
        };
        let solve_for = |right: Vec<f64>| {
            let solution = solve(right.into_iter().enumerate().map(equation).collect())?;
            solution.iter().all(|x: &f64| x.is_finite()).then_some(solution)
        };
        let target = z.iter().zip(self.layer.bias()).map(|(z, b)| (z - b).to_f64()).collect();
        let mut solution = solve_for(target)?;
        // One step of refinement with the residual in exact arithmetic.
        let exact: Option<Vec<_>> = solution.iter().map(|&x| Rational::from_f64(x)).collect();
        let exact = exact?;
        let residual = (0..n).map(|i| {
            let row: Rational = (0..n).map(|j| &self.layer.weight()[(i, self.columns[j])] * &exact[j]).sum();
            (&(&z[i] - &self.layer.bias()[i]) - &row).to_f64()
        });
        let correction = solve_for(residual.collect())?;
        solution.iter_mut().zip(&correction).for_each(|(x, dx)| *x += dx);
        let mut x = vec![Rational::ZERO; self.layer.input_width()];
        for (&column, &value) in self.columns.iter().zip(&solution) {
            x[column] = Rational::from_f64(value)?;
        }
        Some(x)
    }

    /// An exact solution, by elimination over the rationals.
    pub fn exact(&self, z: &[Rational]) -> Option<Vec<Rational>> {
        let equation = |i: usize| {
            let row = self.columns.iter().map(|&j| self.layer.weight()[(i, j)].clone());
            row.chain([&z[i] - &self.layer.bias()[i]]).collect()
        };
        let solution = solve((0..self.columns.len()).map(equation).collect())?;
        let mut x = vec![Rational::ZERO; self.layer.input_width()];
        self.columns.iter().zip(solution).for_each(|(&column, value)| x[column] = value);
        Some(x)
    }
}

#[cfg(test)]
mod tests {
    use fiberscope_core::Activation;

    use super::*;

    #[test]
    fn wanted_preactivations_are_reached() {
        let rows = [[0.0, 2.0, 1.0], [1.0, 0.5, -1.0]];
        let weight = Matrix::from_rows(&rows).unwrap().map(|&x| Rational::from_f64(x).unwrap());
        let bias = vec![Rational::from(1), Rational::from(-2)];
        let layer = Layer::new(weight, bias, Activation::Relu);
        let preimage = Preimage::new(&layer).unwrap();
        let wanted = [Rational::from(3), Rational::ZERO];
        let value = |x: &[Rational]| -> Vec<Rational> {
            (0..2)
                .map(|i| {
                    let dot: Rational = layer.weight().row(i).iter().zip(x).map(|(w, x)| w * x).sum();
                    &dot + &layer.bias()[i]
                })
                .collect()
        };
        assert_eq!(value(&preimage.exact(&wanted).unwrap()), wanted);
        for (z, wanted) in value(&preimage.approximate(&wanted).unwrap()).iter().zip(&wanted) {
            assert!((z - wanted).abs() < Rational::dyadic(1, -45));
        }
    }

    #[test]
    fn rank_deficient_weights_have_no_preimage() {
        let weight =
            Matrix::from_rows(&[[1.0, 2.0], [0.0, 0.0]]).unwrap().map(|&x| Rational::from_f64(x).unwrap());
        let layer = Layer::new(weight, vec![Rational::ZERO; 2], Activation::Relu);
        assert!(Preimage::new(&layer).is_none());
    }
}
