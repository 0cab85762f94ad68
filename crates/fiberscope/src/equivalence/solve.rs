//! Inputs with wanted pre-activations: `W x + b = z` for a matrix of full row rank.

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
        let columns = pivot_columns(&floats)?;
        Some(Preimage { layer, floats, columns })
    }

    /// A double vector close to a solution.
    pub fn approximate(&self, z: &[Rational]) -> Option<Vec<Rational>> {
        let n = self.columns.len();
        let square = Matrix::from_fn(n, n, |i, j| self.floats[(i, self.columns[j])]);
        let target: Vec<f64> = z.iter().zip(self.layer.bias()).map(|(z, b)| (z - b).to_f64()).collect();
        let mut solution = solve_floats(square.clone(), target.clone())?;
        // One step of refinement with the residual in exact arithmetic.
        let exact: Option<Vec<_>> = solution.iter().map(|&x| Rational::from_f64(x)).collect();
        let exact = exact?;
        let residual = (0..n).map(|i| {
            let row: Rational = (0..n).map(|j| &self.layer.weight()[(i, self.columns[j])] * &exact[j]).sum();
            (&(&z[i] - &self.layer.bias()[i]) - &row).to_f64()
        });
        let correction = solve_floats(square, residual.collect())?;
        solution.iter_mut().zip(&correction).for_each(|(x, dx)| *x += dx);
        let mut x = vec![Rational::ZERO; self.layer.input_width()];
        for (&column, &value) in self.columns.iter().zip(&solution) {
            x[column] = Rational::from_f64(value)?;
        }
        Some(x)
    }

    /// An exact solution, by elimination over the rationals.
    pub fn exact(&self, z: &[Rational]) -> Option<Vec<Rational>> {
        let n = self.columns.len();
        let mut rows: Vec<Vec<Rational>> = (0..n)
            .map(|i| {
                let row = self.columns.iter().map(|&j| self.layer.weight()[(i, j)].clone());
                row.chain([&z[i] - &self.layer.bias()[i]]).collect()
            })
            .collect();
        for k in 0..n {
            let pivot = (k..n).find(|&i| !rows[i][k].is_zero())?;
            rows.swap(k, pivot);
            let (done, rest) = rows.split_at_mut(k + 1);
            for row in rest.iter_mut().filter(|row| !row[k].is_zero()) {
                let factor = &row[k] / &done[k][k];
                for j in k..=n {
                    let term = &factor * &done[k][j];
                    row[j] -= &term;
                }
            }
        }
        let mut x = vec![Rational::ZERO; self.layer.input_width()];
        for k in (0..n).rev() {
            let known: Rational = (k + 1..n).map(|j| &rows[k][j] * &x[self.columns[j]]).sum();
            x[self.columns[k]] = &(&rows[k][n] - &known) / &rows[k][k];
        }
        Some(x)
    }
}

/// Columns of a regular square part, by elimination with complete pivoting; `None` if the rank looks
/// deficient.
fn pivot_columns(matrix: &Matrix) -> Option<Vec<usize>> {
    let mut work = matrix.clone();
    let mut columns: Vec<usize> = (0..work.cols()).collect();
    for k in 0..work.rows() {
        let (mut best, mut at) = (0.0, None);
        for i in k..work.rows() {
            for (j, &column) in columns.iter().enumerate().skip(k) {
                if work[(i, column)].abs() > best {
                    (best, at) = (work[(i, column)].abs(), Some((i, j)));
                }
            }
        }
        let (i, j) = at?;
        columns.swap(k, j);
        for c in 0..work.cols() {
            let upper = work[(k, c)];
            work[(k, c)] = work[(i, c)];
            work[(i, c)] = upper;
        }
        for i in k + 1..work.rows() {
            let factor = work[(i, columns[k])] / work[(k, columns[k])];
            if factor != 0.0 {
                for c in 0..work.cols() {
                    let term = factor * work[(k, c)];
                    work[(i, c)] -= term;
                }
                work[(i, columns[k])] = 0.0;
            }
        }
    }
    columns.truncate(work.rows());
    Some(columns)
}

fn solve_floats(mut matrix: Matrix, mut rhs: Vec<f64>) -> Option<Vec<f64>> {
    let n = matrix.rows();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| matrix[(i, k)].abs().total_cmp(&matrix[(j, k)].abs()))?;
        if matrix[(pivot, k)] == 0.0 {
            return None;
        }
        rhs.swap(k, pivot);
        for j in 0..n {
            let upper = matrix[(k, j)];
            matrix[(k, j)] = matrix[(pivot, j)];
            matrix[(pivot, j)] = upper;
        }
        for i in k + 1..n {
            let factor = matrix[(i, k)] / matrix[(k, k)];
            for j in k..n {
                let term = factor * matrix[(k, j)];
                matrix[(i, j)] -= term;
            }
            rhs[i] -= factor * rhs[k];
        }
    }
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| matrix[(k, j)] * rhs[j]).sum();
        rhs[k] = (rhs[k] - known) / matrix[(k, k)];
    }
    rhs.iter().all(|x| x.is_finite()).then_some(rhs)
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
