//! Two networks of one shape as doubles.
//!
//! Of two networks with parameters `W_A, b_A` and `W_B, b_B` (rational numbers) the matrices `W_A`, `W_B`,
//! `dW = W_B - W_A` and the vectors `b_A`, `db = b_B - b_A` are stored, each the double `x` nearest to the
//! exact value `x*`:
//!
//! ```text
//! abs(x* - x) <= u abs(x),   u = 2^-53.
//! ```
//!
//! The differences are taken exactly, before they are rounded. A value for which the inequality fails (it
//! lies beyond the doubles, or below the normal ones without being a double) is refused.

use fiberscope_core::{Activation, ExactNetwork, Layer, Rational};

/// One layer of both networks as doubles; matrices row by row, one row per neuron.
#[derive(Clone, Debug, PartialEq)]
pub struct PairLayer {
    /// The number of neurons.
    pub rows: usize,
    /// The number of inputs of the layer.
    pub columns: usize,
    /// What the layer does to its pre-activations.
    pub activation: Activation,
    /// `W_A`.
    pub weight_a: Vec<f64>,
    /// `W_B`.
    pub weight_b: Vec<f64>,
    /// `W_B - W_A`.
    pub weight_d: Vec<f64>,
    /// `b_A`.
    pub bias_a: Vec<f64>,
    /// `b_B - b_A`.
    pub bias_d: Vec<f64>,
}

/// Two networks of one shape, their parameters and the differences of these rounded to doubles.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    widths: Vec<usize>,
    layers: Vec<PairLayer>,
}

impl Pair {
    /// The pair of these networks; an error says why there is none.
    pub fn new(a: &ExactNetwork, b: &ExactNetwork) -> Result<Pair, String> {
        if a.widths() != b.widths() {
            return Err(crate::widths_differ(a, b));
        }
        let layers = a.layers().iter().zip(b.layers()).enumerate();
        let layers = layers.map(|(l, (of_a, of_b))| pair_layer(l, of_a, of_b)).collect::<Result<_, _>>()?;
        Ok(Pair { widths: a.widths(), layers })
    }

    /// The widths, from the inputs to the outputs.
    pub fn widths(&self) -> &[usize] {
        &self.widths
    }

    /// The layers; the last one is the output.
    pub fn layers(&self) -> &[PairLayer] {
        &self.layers
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.widths[0]
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.widths[self.widths.len() - 1]
    }
}

fn pair_layer(l: usize, a: &Layer<Rational>, b: &Layer<Rational>) -> Result<PairLayer, String> {
    if a.activation() != b.activation() {
        return Err(format!("layer {} has different activations", l + 1));
    }
    let stored = |name: &str, numbers: &mut dyn Iterator<Item = Rational>| {
        let double = |x: Rational| {
            let why = "is beyond the doubles, or below the normal ones without being one";
            store(&x).ok_or_else(|| format!("layer {}: {name} {why}: {}", l + 1, crate::short_number(&x)))
        };
        numbers.map(double).collect::<Result<Vec<f64>, String>>()
    };
    let (weight_a, weight_b) = (a.weight().entries(), b.weight().entries());
    Ok(PairLayer {
        rows: a.width(),
        columns: a.input_width(),
        activation: a.activation(),
        weight_a: stored("a weight of A", &mut weight_a.iter().cloned())?,
        weight_b: stored("a weight of B", &mut weight_b.iter().cloned())?,
        weight_d: stored("a difference of weights", &mut weight_b.iter().zip(weight_a).map(|(b, a)| b - a))?,
        bias_a: stored("a bias of A", &mut a.bias().iter().cloned())?,
        bias_d: stored("a difference of biases", &mut b.bias().iter().zip(a.bias()).map(|(b, a)| b - a))?,
    })
}

/// The double `x` nearest to a number `x*`, if `abs(x* - x) <= u abs(x)`.
fn store(exact: &Rational) -> Option<f64> {
    let stored = exact.to_f64();
    let near = Rational::from_f64(stored)?;
    if near == *exact {
        return Some(stored);
    }
    let unit = Rational::dyadic(1, -53);
    ((exact - &near).abs() <= &unit * &near.abs()).then_some(stored)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::network;

    #[test]
    fn numbers_are_stored_with_small_relative_error_or_refused() {
        let check = |text: &str, expected: Option<f64>| assert_eq!(store(&text.parse().unwrap()), expected);
        check("0", Some(0.0));
        check("1/3", Some(1.0 / 3.0));
        check("-9007199254740993", Some(-9007199254740992.0));
        let tiny = Rational::from_f64(5e-324).unwrap();
        assert_eq!(store(&tiny), Some(5e-324));
        assert_eq!(store(&(&tiny * &"4/3".parse().unwrap())), None);
        assert_eq!(store(&(&tiny * &"1/3".parse().unwrap())), None);
        let large = Rational::from_f64(f64::MAX).unwrap();
        assert_eq!(store(&large), Some(f64::MAX));
        assert_eq!(store(&(&large * &Rational::from(2))), None);
    }

    #[test]
    fn differences_are_taken_before_rounding() {
        let a = network(&[(&[&[9007199254740993]], &[1])]);
        let b = network(&[(&[&[9007199254740994]], &[1])]);
        let pair = Pair::new(&a, &b).unwrap();
        assert_eq!(pair.layers()[0].weight_d, [1.0]);
        assert_eq!(pair.layers()[0].weight_a, [9007199254740992.0]);
        assert_eq!((pair.inputs(), pair.outputs()), (1, 1));
    }

    #[test]
    fn other_shapes_are_refused() {
        let a = network(&[(&[&[1]], &[0]), (&[&[1]], &[0])]);
        let wider = network(&[(&[&[1], &[1]], &[0, 0]), (&[&[1, 1]], &[0])]);
        assert!(Pair::new(&a, &wider).unwrap_err().contains("A became a network of widths"));
    }
}
