//! Activation patterns and the affine maps of regions.
//!
//! The sign vector of a point lists the signs of the pre-activations `z_l` of all ReLU neurons, layer
//! by layer. Where it is constant the network is affine: with `D_l` the diagonal matrix that has 1
//! for the active neurons (sign +) of layer `l` and 0 for the others,
//!
//! ```text
//! grad f = W_L D_{L-1} W_{L-1} ... D_1 W_1,   f(x) = (grad f) x + constant.
//! ```
//!
//! Hidden layers with the identity bend nothing: they have no entries in a sign vector and
//! `D_l = 1`. Written out, a sign vector has one character per neuron and a bar between ReLU layers:
//! `+-0|++`.
//!
//! Zeros count as inactive. At a point on a bent hyperplane the affine map of its sign vector is
//! therefore the map on the side where the neurons with sign 0 are off, if there is such a region;
//! its value at the point is `f(x)` in any case, since `relu(0) = 0` either way.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::evaluate::{check_width, forward, relu};
use crate::{Activation, ExactNetwork, InputError, Layer, Matrix, Network, Rational, Scalar, Weights};

/// The sign of a pre-activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sign {
    /// Below zero: the neuron is inactive.
    Negative,
    /// Zero: the point lies on the bent hyperplane of the neuron.
    Zero,
    /// Above zero: the neuron is active.
    Positive,
}

impl Sign {
    /// -1, 0 or 1.
    pub fn signum(self) -> i8 {
        self as i8 - 1
    }

    /// The sign of a double; `Zero` for NaN.
    fn of(z: f64) -> Self {
        if z > 0.0 {
            Sign::Positive
        } else if z < 0.0 {
            Sign::Negative
        } else {
            Sign::Zero
        }
    }
}

/// The signs of the pre-activations of all ReLU neurons, layer by layer.
///
/// ```
/// use fiberscope_core::{Sign, SignVector};
///
/// let signs: SignVector = "+-0|++".parse().unwrap();
/// assert_eq!(signs.widths(), [3, 2]);
/// assert_eq!(signs.layers().next().unwrap()[1], Sign::Negative);
/// assert_eq!(signs.to_string(), "+-0|++");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SignVector {
    layers: Vec<Vec<Sign>>,
}

impl SignVector {
    /// The sign vector with these entries, one list per ReLU layer; `None` if a list is empty.
    pub fn from_layers(layers: Vec<Vec<Sign>>) -> Option<Self> {
        layers.iter().all(|layer| !layer.is_empty()).then_some(SignVector { layers })
    }

    /// The entries, one slice per ReLU layer.
    pub fn layers(&self) -> impl DoubleEndedIterator<Item = &[Sign]> {
        self.layers.iter().map(Vec::as_slice)
    }

    /// The entries of all layers in order.
    pub fn signs(&self) -> impl Iterator<Item = Sign> {
        self.layers.iter().flatten().copied()
    }

    /// The widths of the ReLU layers.
    pub fn widths(&self) -> Vec<usize> {
        self.layers.iter().map(Vec::len).collect()
    }

    /// Whether some entry is zero: the point lies on a bent hyperplane.
    pub fn has_zero(&self) -> bool {
        self.signs().any(|sign| sign == Sign::Zero)
    }
}

impl fmt::Display for SignVector {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (l, layer) in self.layers.iter().enumerate() {
            if l > 0 {
                f.write_str("|")?;
            }
            for sign in layer {
                f.write_str(match sign {
                    Sign::Negative => "-",
                    Sign::Zero => "0",
                    Sign::Positive => "+",
                })?;
            }
        }
        Ok(())
    }
}

/// Why a text is no sign vector. Places count from 1.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum ParseSignVectorError {
    #[error("character {place} of the sign vector is {found:?}; expected '+', '-', '0' or '|'")]
    Character { place: usize, found: char },
    #[error("ReLU layer {layer} of the sign vector is empty; expected at least one sign")]
    EmptyLayer { layer: usize },
}

impl FromStr for SignVector {
    type Err = ParseSignVectorError;

    /// Reads what `Display` writes; the empty text is the sign vector of a network without ReLU.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut layers = vec![Vec::new()];
        for (at, found) in text.chars().enumerate() {
            let sign = match found {
                '+' => Sign::Positive,
                '-' => Sign::Negative,
                '0' => Sign::Zero,
                '|' => {
                    layers.push(Vec::new());
                    continue;
                }
                _ => return Err(ParseSignVectorError::Character { place: at + 1, found }),
            };
            layers.last_mut().expect("the list starts with a layer").push(sign);
        }
        if text.is_empty() {
            layers.clear();
        }
        match layers.iter().position(Vec::is_empty) {
            Some(l) => Err(ParseSignVectorError::EmptyLayer { layer: l + 1 }),
            None => Ok(SignVector { layers }),
        }
    }
}

/// The affine map `x -> A x + c`.
#[derive(Clone, Debug, PartialEq)]
pub struct AffineMap<S = f64> {
    matrix: Matrix<S>,
    constant: Vec<S>,
}

impl<S: Scalar> AffineMap<S> {
    /// The map `x -> matrix x + constant`; `None` if the constant has not one entry per row.
    pub fn new(matrix: Matrix<S>, constant: Vec<S>) -> Option<Self> {
        (matrix.rows() == constant.len()).then_some(AffineMap { matrix, constant })
    }

    /// The matrix `A`: the Jacobian of the map.
    pub fn matrix(&self) -> &Matrix<S> {
        &self.matrix
    }

    /// The constant `c`.
    pub fn constant(&self) -> &[S] {
        &self.constant
    }

    /// The matrix and the constant, giving up the map.
    pub fn into_parts(self) -> (Matrix<S>, Vec<S>) {
        (self.matrix, self.constant)
    }

    /// `A x + c`.
    pub fn apply(&self, x: &[S]) -> Result<Vec<S>, InputError> {
        check_width(self.matrix.cols(), x.len())?;
        let column = Matrix::from_entries(x.len(), 1, x.to_vec()).expect("one column");
        let product = S::product(&self.matrix, &column).expect("as many columns as coordinates");
        Ok(product.entries().iter().zip(&self.constant).map(|(z, c)| z.plus(c)).collect())
    }

    /// The map `x -> self(inner(x))`.
    pub fn compose(&self, inner: &AffineMap<S>) -> Result<AffineMap<S>, InputError> {
        check_width(self.matrix.cols(), inner.matrix.rows())?;
        let matrix = S::product(&self.matrix, &inner.matrix).expect("the widths agree");
        Ok(AffineMap { matrix, constant: self.apply(&inner.constant)? })
    }

    /// `A W`, for a matrix with as many rows as `A` has columns.
    fn times(self, weights: &Weights<S>) -> Matrix<S> {
        let product = Weights::product(&Weights::Dense(self.matrix), weights);
        product.expect("as many rows as columns").into_dense()
    }

    /// The map on the given coordinates, the others being zero.
    fn restrict_inputs(&self, coordinates: &[usize]) -> Self {
        AffineMap { matrix: self.matrix.select_columns(coordinates), constant: self.constant.clone() }
    }
}

/// A sign vector belongs to another architecture.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected signs for ReLU layers of widths {expected:?}, found widths {found:?}")]
pub struct PatternError {
    /// The widths of the network's ReLU layers.
    pub expected: Vec<usize>,
    /// The widths of the sign vector.
    pub found: Vec<usize>,
}

impl<S: Scalar> Network<S> {
    /// The affine map that the network computes where its activation pattern is `pattern`; zeros
    /// count as inactive. The map is defined by the pattern alone, whether or not some point has it.
    pub fn affine_map(&self, pattern: &SignVector) -> Result<AffineMap<S>, PatternError> {
        let relu = |layer: &&Layer<S>| layer.activation() == Activation::Relu;
        let expected: Vec<usize> = self.hidden_layers().iter().filter(relu).map(Layer::width).collect();
        if pattern.widths() != expected {
            return Err(PatternError { expected, found: pattern.widths() });
        }
        let output = &self.layers()[self.hidden_depth()];
        let mut map = AffineMap { matrix: output.weights().to_dense(), constant: output.bias().to_vec() };
        let mut signs = pattern.layers().rev();
        for layer in self.hidden_layers().iter().rev() {
            let units: Vec<usize> = match layer.activation() {
                Activation::Relu => active(signs.next().expect("one list of signs per ReLU layer")),
                Activation::Identity => (0..layer.width()).collect(),
            };
            let constant: Vec<S> = units.iter().map(|&i| layer.bias()[i].clone()).collect();
            let map_of_active = map.restrict_inputs(&units);
            map = AffineMap {
                constant: map_of_active.apply(&constant).expect("the widths agree"),
                matrix: map_of_active.times(&layer.weights().select_rows(&units)),
            };
        }
        Ok(map)
    }

    /// The Jacobian of `f` on the region of `x`, exactly. On a bent hyperplane: see
    /// [`Network::affine_map`].
    pub fn jacobian_exact(&self, x: &[Rational]) -> Result<Matrix<Rational>, InputError> {
        let signs = self.sign_vector_exact(x)?;
        let exact: ExactNetwork = self.map(Scalar::to_rational).expect("the shapes are those of a network");
        Ok(exact.affine_map(&signs).expect("the signs are of this network").matrix)
    }
}

impl Network {
    /// The signs of all pre-activations of ReLU neurons at `x`, as computed in double precision.
    /// Near a bent hyperplane rounding may decide; [`Network::sign_vector_exact`] is exact.
    pub fn sign_vector(&self, x: &[f64]) -> Result<SignVector, InputError> {
        check_width(self.input_width(), x.len())?;
        let mut layers = Vec::new();
        let mut a = x.to_vec();
        for layer in self.hidden_layers() {
            let mut next = vec![0.0; layer.width()];
            if layer.activation() == Activation::Relu {
                let mut signs = Vec::with_capacity(layer.width());
                forward(layer, &a, &mut next, |z| {
                    signs.push(Sign::of(z));
                    relu(z)
                });
                layers.push(signs);
            } else {
                forward(layer, &a, &mut next, |z| z);
            }
            a = next;
        }
        Ok(SignVector { layers })
    }

    /// The Jacobian of `f` on the region of `x`, in double precision. On a bent hyperplane: see
    /// [`Network::affine_map`].
    pub fn jacobian(&self, x: &[f64]) -> Result<Matrix, InputError> {
        let signs = self.sign_vector(x)?;
        Ok(self.affine_map(&signs).expect("the signs are of this network").matrix)
    }
}

fn active(signs: &[Sign]) -> Vec<usize> {
    (0..signs.len()).filter(|&i| signs[i] == Sign::Positive).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{random_exact_network, random_exact_point, random_network, random_points};

    const SHAPES: [&[usize]; 4] = [&[2, 1], &[2, 4, 1], &[3, 6, 5, 2], &[2, 5, 4, 5, 4, 3]];

    fn signs(text: &str) -> SignVector {
        text.parse().unwrap()
    }

    /// The hidden layer is the identity where `linear` says so.
    fn with_identity(network: &Network, linear: usize) -> Network {
        let mut layers = network.clone().into_layers();
        let (weight, bias, _) = layers[linear].clone().into_parts();
        layers[linear] = Layer::new(weight, bias, Activation::Identity);
        Network::new(layers).unwrap()
    }

    #[test]
    fn text_round_trips_and_bad_text_is_refused() {
        for text in ["", "+", "+-0|++", "0|0|-"] {
            assert_eq!(signs(text).to_string(), text);
        }
        let error = |text: &str| text.parse::<SignVector>().unwrap_err().to_string();
        assert_eq!(error("+1"), "character 2 of the sign vector is '1'; expected '+', '-', '0' or '|'");
        for (text, layer) in [("|", 1), ("+|", 2), ("+||-", 2)] {
            let expected =
                format!("ReLU layer {layer} of the sign vector is empty; expected at least one sign");
            assert_eq!(error(text), expected);
        }
        assert_eq!(SignVector::from_layers(vec![vec![]]), None);
    }

    #[test]
    fn the_map_of_the_region_agrees_with_the_network_exactly() {
        let check = |network: &ExactNetwork, x: &[Rational]| {
            let pattern = network.sign_vector_exact(x).unwrap();
            let map = network.affine_map(&pattern).unwrap();
            assert_eq!(map.apply(x).unwrap(), network.evaluate_exact(x).unwrap());
        };
        for seed in 0..20 {
            for widths in SHAPES {
                let x = random_exact_point(widths[0], seed);
                check(&random_exact_network(widths, seed), &x);
                check(&random_network(widths, seed).to_exact(), &x);
                if widths.len() > 3 {
                    check(&with_identity(&random_network(widths, seed), 1).to_exact(), &x);
                }
            }
        }
    }

    #[test]
    fn the_jacobian_is_the_difference_quotient_inside_the_region() {
        for seed in 0..10 {
            for widths in SHAPES {
                let network = random_network(widths, seed);
                let x = random_exact_point(widths[0], seed);
                let (here, value) =
                    (network.sign_vector_exact(&x).unwrap(), network.evaluate_exact(&x).unwrap());
                assert!(!here.has_zero());
                let jacobian = network.jacobian_exact(&x).unwrap();
                for j in 0..widths[0] {
                    let shifted = |k: i64| {
                        let mut y = x.clone();
                        y[j] += &Rational::dyadic(1, -k);
                        y
                    };
                    let k = (1..).find(|&k| network.sign_vector_exact(&shifted(k)).unwrap() == here).unwrap();
                    let there = network.evaluate_exact(&shifted(k)).unwrap();
                    let scale = Rational::dyadic(1, k);
                    let quotients: Vec<_> =
                        there.iter().zip(&value).map(|(b, a)| &(b - a) * &scale).collect();
                    assert!(quotients.iter().eq(jacobian.column(j)));
                }
            }
        }
    }

    #[test]
    fn doubles_approximate_the_exact_signs_and_jacobian() {
        for (seed, widths) in SHAPES.into_iter().enumerate() {
            let network = random_network(widths, seed as u64);
            for x in random_points(50, widths[0], seed as u64).iter_rows() {
                let exact: Vec<_> = x.iter().map(|&x| Rational::from_f64(x).unwrap()).collect();
                assert_eq!(network.sign_vector(x).unwrap(), network.sign_vector_exact(&exact).unwrap());
                let difference = network.jacobian_exact(&exact).unwrap().map(Rational::to_f64);
                let jacobian = network.jacobian(x).unwrap();
                for (a, b) in jacobian.entries().iter().zip(difference.entries()) {
                    assert!((a - b).abs() < 1e-10, "{a} {b}");
                }
            }
        }
    }

    #[test]
    fn zeros_count_as_inactive() {
        let hidden =
            Layer::new(Matrix::from_rows(&[[1.0], [-1.0]]).unwrap(), vec![0.0, 2.0], Activation::Relu);
        let output = Layer::new(Matrix::from_rows(&[[3.0, 1.0]]).unwrap(), vec![5.0], Activation::Identity);
        let network = Network::new(vec![hidden, output]).unwrap();
        assert_eq!(network.sign_vector(&[0.0]).unwrap(), signs("0+"));
        assert_eq!(network.jacobian(&[0.0]).unwrap().entries(), [-1.0]);
        let map = network.affine_map(&signs("0+")).unwrap();
        assert_eq!(map.apply(&[0.0]).unwrap(), network.evaluate(&[0.0]).unwrap());
        assert_eq!(network.affine_map(&signs("--")).unwrap().constant(), [5.0]);
        assert_eq!(network.affine_map(&signs("--")).unwrap().matrix().entries(), [0.0]);
    }

    #[test]
    fn identity_layers_have_no_entries() {
        let network = with_identity(&random_network(&[2, 3, 4, 2, 1], 1), 1);
        assert_eq!(network.sign_vector(&[0.0, 1.0]).unwrap().widths(), [3, 2]);
        let linear = random_network(&[2, 1], 1);
        assert_eq!(linear.sign_vector(&[0.0, 1.0]).unwrap().to_string(), "");
        assert_eq!(linear.jacobian(&[0.0, 1.0]).unwrap(), *linear.layers()[0].weight());
    }

    #[test]
    fn composition_is_application_twice() {
        let map = |rows: usize, cols: usize, seed| {
            let matrix = Matrix::from_entries(rows, cols, random_exact_point(rows * cols, seed)).unwrap();
            AffineMap::new(matrix, random_exact_point(rows, seed + 1)).unwrap()
        };
        let (outer, inner, x) = (map(2, 3, 1), map(3, 4, 3), random_exact_point(4, 5));
        let composed = outer.compose(&inner).unwrap();
        assert_eq!(composed.apply(&x).unwrap(), outer.apply(&inner.apply(&x).unwrap()).unwrap());
        assert_eq!(inner.compose(&outer), Err(InputError { expected: 4, found: 2 }));
        assert!(AffineMap::new(Matrix::from_entries(1, 1, vec![1.0]).unwrap(), vec![]).is_none());
    }

    #[test]
    fn bad_input_is_refused() {
        let network = random_network(&[2, 3, 4, 1], 1);
        let error = network.affine_map(&signs("+-0|++")).unwrap_err();
        assert_eq!(error.to_string(), "expected signs for ReLU layers of widths [3, 4], found widths [3, 2]");
        let error = Err(InputError { expected: 2, found: 1 });
        assert_eq!(network.sign_vector(&[1.0]), error);
        assert_eq!(network.jacobian(&[1.0]), Err(InputError { expected: 2, found: 1 }));
    }
}
