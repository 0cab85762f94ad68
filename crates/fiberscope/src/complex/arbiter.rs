//! Exact answers about single vertices: where they are, and on which side of every neuron.

use std::sync::{Arc, OnceLock};

use dashu_int::UBig;
use fiberscope_algebra::elimination::solve;
use fiberscope_algebra::rational::dot;
use fiberscope_core::{Activation, ExactNetwork, Network, Rational};

use super::flat::FlatNetwork;

/// The network in exact arithmetic, made when it is first asked, with the sides of the box.
pub(crate) struct Arbiter {
    network: Network,
    exact: Arc<OnceLock<ExactNetwork>>,
    sides: Vec<[f64; 2]>,
}

impl Arbiter {
    pub fn new(network: &Network, sides: &[[f64; 2]]) -> Self {
        Arbiter { network: network.clone(), exact: Arc::default(), sides: sides.to_vec() }
    }

    /// The same network on another box.
    pub fn with_sides(&self, sides: &[[f64; 2]]) -> Self {
        Arbiter { network: self.network.clone(), exact: self.exact.clone(), sides: sides.to_vec() }
    }

    pub fn sides(&self) -> &[[f64; 2]] {
        &self.sides
    }

    pub fn network(&self) -> &ExactNetwork {
        self.exact.get_or_init(|| self.network.to_exact())
    }

    /// The pre-activations of all ReLU neurons at a point.
    pub fn values(&self, flat: &FlatNetwork, x: &[Rational]) -> Vec<Rational> {
        let (values, scale) = self.scaled_values(flat, x);
        let inverse = scale.recip().expect("a denominator is not zero");
        values.iter().map(|value| value * &inverse).collect()
    }

    /// The pre-activations of all ReLU neurons at a point, times a positive number, and that number: without
    /// fractions, which are slow.
    pub fn scaled_values(&self, flat: &FlatNetwork, x: &[Rational]) -> (Vec<Rational>, Rational) {
        let scale = x.iter().fold(Rational::ONE, |scale, x| {
            // What is left of the denominator after those so far.
            let rest = (x * &scale).to_big_parts().1;
            &scale * &Rational::from_big_parts(rest.into(), UBig::ONE, 0)
        });
        let mut values = Vec::with_capacity(flat.neurons);
        let mut a: Vec<Rational> = x.iter().map(|x| x * &scale).collect();
        for layer in self.network().hidden_layers() {
            let dot = |(row, b): (&[Rational], &Rational)| -> Rational {
                let terms = row.iter().zip(&a).filter(|(_, a)| !a.is_zero()).map(|(w, a)| w * a);
                terms.sum::<Rational>() + b * &scale
            };
            let mut z: Vec<Rational> = layer.weight().iter_rows().zip(layer.bias()).map(dot).collect();
            if layer.activation() == Activation::Relu {
                values.extend(z.iter().cloned());
                z.iter_mut().filter(|z| z.is_negative()).for_each(|z| *z = Rational::ZERO);
            }
            a = z;
        }
        (values, scale)
    }

    /// The gradient and the constant of a neuron where exactly the neurons with `active` are on.
    pub fn function(
        &self,
        flat: &FlatNetwork,
        neuron: usize,
        active: impl Fn(usize) -> bool,
    ) -> (Vec<Rational>, Rational) {
        let top = flat.layer_of[neuron] as usize;
        let unit = neuron - flat.layers[top].first;
        let layer = &self.network().layers()[top];
        let (mut row, mut constant) = (layer.weight().row(unit).to_vec(), layer.bias()[unit].clone());
        for l in (0..top).rev() {
            let layer = &self.network().layers()[l];
            let relu = layer.activation() == Activation::Relu;
            let mut below = vec![Rational::ZERO; layer.input_width()];
            for (i, w) in row.iter().enumerate() {
                if w.is_zero() || relu && !active(flat.layers[l].first + i) {
                    continue;
                }
                constant += &(w * &layer.bias()[i]);
                for (sum, v) in below.iter_mut().zip(layer.weight().row(i)) {
                    *sum += &(w * v);
                }
            }
            row = below;
        }
        (row, constant)
    }

    /// The gradient and the constant of a hyperplane: a neuron, or a side of the box (negative inside).
    pub fn hyperplane(
        &self,
        flat: &FlatNetwork,
        hyperplane: usize,
        active: impl Fn(usize) -> bool,
    ) -> (Vec<Rational>, Rational) {
        if hyperplane < flat.neurons {
            return self.function(flat, hyperplane, active);
        }
        let (input, upper) = ((hyperplane - flat.neurons) / 2, (hyperplane - flat.neurons) % 2);
        let mut row = vec![Rational::ZERO; self.sides.len()];
        let end = Rational::from_f64(self.sides[input][upper]).expect("the sides of a box are finite");
        row[input] = if upper == 1 { Rational::ONE } else { -Rational::ONE };
        (row, if upper == 1 { -end } else { end })
    }

    /// The point where these hyperplanes meet on the closure of the region of the pattern; `None` if they are
    /// dependent.
    pub fn vertex(&self, flat: &FlatNetwork, zeros: &[u32], signs: &[u64]) -> Option<Vec<Rational>> {
        let active = |neuron: usize| {
            let (word, bit) = flat.place(neuron);
            signs[word] & bit != 0
        };
        let equation = |&h: &u32| {
            let (mut row, constant) = self.hyperplane(flat, h as usize, active);
            row.push(-constant);
            row
        };
        solve(zeros.iter().map(equation).collect())
    }
}

/// The value of an affine function.
pub(crate) fn apply((row, constant): &(Vec<Rational>, Rational), x: &[Rational]) -> Rational {
    dot(row, x) + constant
}
