//! Networks on planes of their input space.
//!
//! On the plane `origin + s u + t v` a network is the network with first layer
//! `(W_1 (u v), W_1 origin + b_1)`, computed exactly and rounded once to doubles.

use fiberscope_core::{Layer, Matrix, Network, NetworkError, Rational};

/// The network on the plane `origin + s u + t v`, a function of `(s, t)`. Fails if a parameter is beyond the
/// doubles.
///
/// # Panics
///
/// If the vectors do not have one finite entry per input.
pub fn on_plane(network: &Network, origin: &[f64], directions: [&[f64]; 2]) -> Result<Network, NetworkError> {
    let exact = |x: f64| Rational::from_f64(x).expect("the caller gives finite numbers");
    let first = &network.layers()[0];
    let dot = |i: usize, x: &[f64]| -> Rational {
        assert_eq!(first.input_width(), x.len(), "one entry per input");
        first.weights().row(i).map(|(j, &w)| &exact(w) * &exact(x[j])).sum()
    };
    let weight = Matrix::from_fn(first.width(), 2, |i, j| dot(i, directions[j]).to_f64());
    let bias = (0..first.width()).map(|i| (&dot(i, origin) + &exact(first.bias()[i])).to_f64()).collect();
    let mut layers = network.layers().to_vec();
    layers[0] = Layer::new(weight, bias, first.activation());
    Network::new(layers)
}

#[cfg(test)]
mod tests {
    use fiberscope_core::Activation;

    use super::*;

    #[test]
    fn the_network_on_a_plane_has_the_values_of_the_network() {
        let layer = |rows: usize, cols: usize, activation| {
            let weight = Matrix::from_fn(rows, cols, |i, j| (1 + 2 * i) as f64 - 1.5 * j as f64);
            Layer::new(weight, vec![0.25; rows], activation)
        };
        let network =
            Network::new(vec![layer(4, 3, Activation::Relu), layer(2, 4, Activation::Identity)]).unwrap();
        let (origin, u, v) = ([1.0, 2.0, -1.0], [1.0, 0.0, 2.0], [0.0, 1.0, -3.0]);
        let plane = on_plane(&network, &origin, [&u, &v]).unwrap();
        for (s, t) in [(0.0, 0.0), (1.0, -2.0), (0.5, 3.0)] {
            let x: Vec<f64> = (0..3).map(|i| origin[i] + s * u[i] + t * v[i]).collect();
            assert_eq!(plane.evaluate(&[s, t]).unwrap(), network.evaluate(&x).unwrap());
        }
    }
}
