//! Exact evaluation.
//!
//! A layer with rational parameters is kept as integers over one common scale,
//! `(W | b) = (M | B) 2^e / d` with `d` odd and `e <= 0`, and a point likewise, `a = A 2^f / g`. Then
//!
//! ```text
//! W a + b = (M A + g 2^-f B) 2^(e + f) / (d g),
//! ```
//!
//! so a layer is a product of integers: there are no fractions to bring to lowest terms before the
//! outputs. The sign of a pre-activation is the sign of its numerator. Numerators grow by the length
//! of the layer's entries with every layer; for doubles of similar size that is about 60 bits.

use dashu_int::{IBig, Sign as IntegerSign, UBig};
#[cfg(feature = "parallel")]
use rayon::prelude::*;

use crate::evaluate::check_width;
use crate::product::{Integers, dot, nonzero};
use crate::product_sum::Multiplier;
use crate::{
    Activation, InputError, Layer, Matrix, Network, ProductSum, Rational, Scalar, Sign, SignVector,
    SparseMatrix, Weights,
};

impl<S: Scalar> Network<S> {
    /// `f(x)` exactly. To evaluate at many points, make one [`ExactEvaluator`].
    ///
    /// ```
    /// use fiberscope_core::{Activation, Layer, Matrix, Network, Rational};
    ///
    /// let layer = Layer::new(Matrix::from_rows(&[[0.1]]).unwrap(), vec![0.2], Activation::Identity);
    /// let network = Network::new(vec![layer]).unwrap();
    /// let sum = &network.evaluate_exact(&[Rational::ONE]).unwrap()[0];
    /// assert_eq!(sum.to_f64(), 0.1 + 0.2);
    /// assert!(!sum.is_f64()); // the sum of the two doubles is no double: `0.1 + 0.2` rounds
    /// ```
    pub fn evaluate_exact(&self, x: &[Rational]) -> Result<Vec<Rational>, InputError> {
        check_width(self.input_width(), x.len())?;
        let mut parameters =
            self.layers().iter().flat_map(|layer| layer.weights().stored().iter().chain(layer.bias()));
        if x.iter().all(Rational::is_dyadic) && parameters.all(Scalar::is_dyadic) {
            let forward = |a: Vec<Rational>, layer: &Layer<S>| layer_at(layer, &a);
            return Ok(self.layers().iter().fold(x.to_vec(), forward));
        }
        ExactEvaluator::new(self).evaluate(x)
    }

    /// The signs of all pre-activations of ReLU neurons at `x`, exactly.
    pub fn sign_vector_exact(&self, x: &[Rational]) -> Result<SignVector, InputError> {
        ExactEvaluator::new(self).sign_vector(x)
    }
}

/// The activations of a layer at one point, for dyadic numbers: sums of products without a common scale.
fn layer_at<S: Scalar>(layer: &Layer<S>, a: &[Rational]) -> Vec<Rational> {
    let active: Vec<(usize, Multiplier)> =
        a.iter().enumerate().filter(|(_, a)| !a.is_zero()).map(|(j, a)| (j, Multiplier::new(a))).collect();
    let unit = |unit: usize| {
        let mut sum = ProductSum::default();
        match layer.weights() {
            Weights::Dense(matrix) => {
                let row = matrix.row(unit);
                active.iter().for_each(|(j, a)| {
                    let w = &row[*j];
                    sum.add_multiple(w.short_parts(), || w.to_rational(), a);
                });
            }
            sparse => {
                let terms = sparse.row(unit).filter(|(j, _)| !a[*j].is_zero());
                terms.for_each(|(j, w)| sum.add(&w.to_rational(), &a[j]));
            }
        }
        sum.add(&layer.bias()[unit].to_rational(), &Rational::ONE);
        let z = sum.to_rational();
        if layer.activation() == Activation::Relu && z.is_negative() { Rational::ZERO } else { z }
    };
    /// Products that are worth a thread of their own.
    #[cfg(feature = "parallel")]
    const STRETCH: usize = 1 << 13;
    #[cfg(feature = "parallel")]
    return (0..layer.width()).into_par_iter().with_min_len(STRETCH / (1 + active.len())).map(unit).collect();
    #[cfg(not(feature = "parallel"))]
    (0..layer.width()).map(unit).collect()
}

/// A network prepared for exact evaluation at many points.
#[derive(Clone, Debug)]
pub struct ExactEvaluator {
    layers: Vec<IntegerLayer>,
    input_width: usize,
}

impl ExactEvaluator {
    /// The evaluator of this network.
    pub fn new<S: Scalar>(network: &Network<S>) -> Self {
        let layers = network.layers().iter().map(IntegerLayer::new).collect();
        ExactEvaluator { layers, input_width: network.input_width() }
    }

    /// `f(x)`.
    pub fn evaluate(&self, x: &[Rational]) -> Result<Vec<Rational>, InputError> {
        check_width(self.input_width, x.len())?;
        let input = Integers::new(x.iter().cloned());
        Ok(self.layers.iter().fold(input, |a, layer| layer.activate(layer.affine(&a))).into_rationals())
    }

    /// The signs of all pre-activations of ReLU neurons at `x`.
    pub fn sign_vector(&self, x: &[Rational]) -> Result<SignVector, InputError> {
        check_width(self.input_width, x.len())?;
        let mut signs = Vec::new();
        let mut a = Integers::new(x.iter().cloned());
        for layer in &self.layers[..self.layers.len() - 1] {
            let z = layer.affine(&a);
            if layer.activation == Activation::Relu {
                signs.push(z.numerators.iter().map(sign).collect());
            }
            a = layer.activate(z);
        }
        Ok(SignVector::from_layers(signs).expect("every layer has a neuron"))
    }
}

fn sign(n: &IBig) -> Sign {
    match n.sign() {
        _ if n.is_zero() => Sign::Zero,
        IntegerSign::Positive => Sign::Positive,
        IntegerSign::Negative => Sign::Negative,
    }
}

/// `(W | b) = (M | B) 2^exponent / denominator`; the exponent is at most 0.
#[derive(Clone, Debug)]
struct IntegerLayer {
    weight: IntegerWeight,
    bias: Vec<IBig>,
    denominator: UBig,
    exponent: i64,
    activation: Activation,
}

/// The integers `M`, stored as the weight is.
#[derive(Clone, Debug)]
enum IntegerWeight {
    Dense(Matrix<IBig>),
    Sparse(SparseMatrix<IBig>),
}

impl IntegerWeight {
    /// `M a + shift`, one number per row.
    fn times(&self, a: &[IBig], shift: impl Iterator<Item = IBig>) -> Vec<IBig> {
        match self {
            IntegerWeight::Dense(matrix) => {
                let nonzero = nonzero(a);
                matrix.iter_rows().zip(shift).map(|(row, shift)| shift + dot(row, &nonzero)).collect()
            }
            IntegerWeight::Sparse(matrix) => {
                let row = |(i, shift): (usize, IBig)| {
                    let (columns, entries) = matrix.row(i);
                    let mut sum = ProductSum::of_integers();
                    let terms = columns.iter().map(|&j| &a[j as usize]).zip(entries);
                    terms.filter(|(a, _)| !a.is_zero()).for_each(|(a, m)| sum.add_integers(m, a, false));
                    shift + sum.to_integer()
                };
                shift.enumerate().map(row).collect()
            }
        }
    }
}

impl IntegerLayer {
    fn new<S: Scalar>(layer: &Layer<S>) -> Self {
        let parameters = layer.weights().stored().iter().chain(layer.bias());
        let exact = Scalar::to_rational;
        let Integers { mut numerators, denominator, exponent } = Integers::new(parameters.map(exact));
        let bias = numerators.split_off(layer.weights().stored().len());
        let weight = match layer.weights() {
            Weights::Dense(matrix) => IntegerWeight::Dense(
                Matrix::from_entries(matrix.rows(), matrix.cols(), numerators)
                    .expect("as many entries as before"),
            ),
            Weights::Sparse(matrix) => IntegerWeight::Sparse(matrix.with_entries(numerators)),
        };
        IntegerLayer { weight, bias, denominator, exponent, activation: layer.activation() }
    }

    /// `W a + b`.
    fn affine(&self, a: &Integers) -> Integers {
        let lift = IBig::from(&a.denominator << a.exponent.unsigned_abs() as usize);
        Integers {
            numerators: self.weight.times(&a.numerators, self.bias.iter().map(|b| b * &lift)),
            denominator: &self.denominator * &a.denominator,
            exponent: self.exponent + a.exponent,
        }
    }

    fn activate(&self, mut z: Integers) -> Integers {
        if self.activation == Activation::Relu {
            z.numerators
                .iter_mut()
                .filter(|n| n.sign() == IntegerSign::Negative)
                .for_each(|n| *n = IBig::ZERO);
        }
        z
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{random_exact_network, random_exact_point, random_network};

    /// The definition, with operations on fractions; the pre-activations of all layers.
    fn slow<S: Scalar>(network: &Network<S>, x: &[Rational]) -> Vec<Vec<Rational>> {
        let mut a = x.to_vec();
        let mut all = Vec::new();
        for layer in network.layers() {
            let exact = |w: &S| w.to_rational();
            let neuron = |(row, b): (&[S], &S)| {
                row.iter().zip(&a).map(|(w, a)| &exact(w) * a).sum::<Rational>() + exact(b)
            };
            let z: Vec<Rational> = layer.weight().iter_rows().zip(layer.bias()).map(neuron).collect();
            let relu = layer.activation() == Activation::Relu;
            a = z.iter().map(|z| if relu && z.is_negative() { Rational::ZERO } else { z.clone() }).collect();
            all.push(z);
        }
        all
    }

    fn check<S: Scalar>(network: &Network<S>, x: &[Rational]) {
        let all = slow(network, x);
        let evaluator = ExactEvaluator::new(network);
        assert_eq!(network.evaluate_exact(x), evaluator.evaluate(x));
        assert_eq!(&evaluator.evaluate(x).unwrap(), all.last().unwrap());
        let relu =
            network.layers().iter().zip(&all).filter(|(layer, _)| layer.activation() == Activation::Relu);
        let signs: Vec<Vec<i8>> = relu.map(|(_, z)| z.iter().map(Rational::signum).collect()).collect();
        let vector = evaluator.sign_vector(x).unwrap();
        let found: Vec<Vec<i8>> = vector.layers().map(|l| l.iter().map(|s| s.signum()).collect()).collect();
        assert_eq!(found, signs);
    }

    #[test]
    fn evaluation_is_the_definition_in_fractions() {
        for seed in 0..20 {
            for widths in [&[2, 1][..], &[1, 3, 1], &[3, 5, 4, 2], &[2, 3, 3, 3, 3, 2]] {
                let x = random_exact_point(widths[0], seed);
                check(&random_network(widths, seed), &x);
                check(&random_exact_network(widths, seed), &x);
            }
        }
    }

    #[test]
    fn extreme_doubles_are_exact() {
        let row = [f64::MAX, 5e-324, -f64::MIN_POSITIVE, 1.0];
        let hidden = Layer::new(
            Matrix::from_rows(&[row, row.map(|w| -w)]).unwrap(),
            vec![-1e-300, 3.0],
            Activation::Relu,
        );
        let output =
            Layer::new(Matrix::from_rows(&[[1e200, -1.0]]).unwrap(), vec![5e-324], Activation::Identity);
        let network = Network::new(vec![hidden, output]).unwrap();
        for x in [[1.0, 1.0, 1.0, 1.0], [5e-324, f64::MAX, 0.0, -1.0], [0.0; 4]] {
            check(&network, &x.map(|x| Rational::from_f64(x).unwrap()));
        }
        let integers = network.map(|w| w.signum() * 1024.0).unwrap();
        check(
            &integers,
            &[Rational::from(1 << 40), "1/3".parse().unwrap(), Rational::ZERO, "-5/7".parse().unwrap()],
        );
    }

    #[test]
    fn the_wrong_number_of_inputs_is_refused() {
        let network = random_network(&[3, 2], 0);
        let error = InputError { expected: 3, found: 0 };
        assert_eq!(network.evaluate_exact(&[]), Err(error));
        assert_eq!(network.sign_vector_exact(&[]), Err(error));
    }
}
