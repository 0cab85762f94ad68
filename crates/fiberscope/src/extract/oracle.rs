//! Oracles: black boxes that answer queries.
//!
//! The extraction sees a network only through [`Oracle::query`]. A [`NetworkOracle`] answers with a network
//! that is at hand, in double or single precision and rounded or not, which is what an exposed model does.

use fiberscope_core::{Activation, Matrix, Network};

/// A deterministic function `R^n -> R^m` that answers batches of queries.
pub trait Oracle {
    /// The number `n` of inputs.
    fn inputs(&self) -> usize;

    /// The number `m` of outputs.
    fn outputs(&self) -> usize;

    /// One answer per row of `points`, in the same order.
    ///
    /// # Errors
    ///
    /// If no answers can be had: the sentence says why.
    fn query(&mut self, points: &Matrix) -> Result<Matrix, OracleError>;
}

impl<O: Oracle + ?Sized> Oracle for Box<O> {
    fn inputs(&self) -> usize {
        (**self).inputs()
    }

    fn outputs(&self) -> usize {
        (**self).outputs()
    }

    fn query(&mut self, points: &Matrix) -> Result<Matrix, OracleError> {
        (**self).query(points)
    }
}

/// Why an oracle gave no answers: a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OracleError(pub String);

/// How an exposed model computes and prints its outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Precision {
    /// Parameters, inputs and arithmetic in single precision.
    pub single: bool,
    /// Outputs rounded to this many decimals.
    pub decimals: Option<u32>,
    /// Outputs rounded to half precision.
    pub half: bool,
    /// Outputs with noise, evenly distributed up to this many decimals: 3 for up to 0.001 on either side. The same
    /// input has the same noise.
    pub noise: Option<u32>,
}

/// A network that answers queries; its parameters are not seen through the trait.
#[derive(Clone, Debug)]
pub struct NetworkOracle {
    network: Network,
    precision: Precision,
}

impl NetworkOracle {
    /// The network, answering in double precision.
    pub fn new(network: Network) -> Self {
        NetworkOracle { network, precision: Precision::default() }
    }

    /// The same network with answers of this precision.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Self {
        NetworkOracle { precision, ..self }
    }
}

impl Oracle for NetworkOracle {
    fn inputs(&self) -> usize {
        self.network.input_width()
    }

    fn outputs(&self) -> usize {
        self.network.output_width()
    }

    fn query(&mut self, points: &Matrix) -> Result<Matrix, OracleError> {
        let mut answers = if self.precision.single {
            in_single_precision(&self.network, points)
        } else {
            self.network.evaluate_batch(points).map_err(|error| OracleError(error.to_string()))?
        };
        if let Some(decimals) = self.precision.noise {
            let size = 0.1f64.powi(decimals.min(300) as i32);
            for (i, x) in points.iter_rows().enumerate() {
                for (output, y) in answers.row_mut(i).iter_mut().enumerate() {
                    *y += size * scattered(x, output);
                }
            }
        }
        if let Some(decimals) = self.precision.decimals {
            let unit = 10f64.powi(decimals.min(300) as i32);
            answers.entries_mut().iter_mut().for_each(|y| *y = (*y * unit).round() / unit);
        }
        if self.precision.half {
            answers.entries_mut().iter_mut().for_each(|y| *y = in_half_precision(*y));
        }
        Ok(answers)
    }
}

/// A number between -1 and 1 that looks random and depends on nothing but an input and an output of it.
fn scattered(x: &[f64], output: usize) -> f64 {
    // The finaliser of SplitMix64, over all entries.
    let mix = |state: u64| {
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let state = x
        .iter()
        .fold(output as u64 + 1, |state, v| mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ v.to_bits()));
    (mix(state) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// The nearest number of half precision, the even one of two; infinite beyond the largest.
fn in_half_precision(y: f64) -> f64 {
    const LARGEST: f64 = 65_504.0;
    let exponent = if y == 0.0 { -14 } else { (y.abs().log2().floor() as i32).max(-14) };
    let unit = 2f64.powi(exponent - 10);
    let rounded = (y / unit).round_ties_even() * unit;
    if rounded.abs() > LARGEST { f64::INFINITY.copysign(y) } else { rounded }
}

/// The outputs when every number and every operation is a single.
fn in_single_precision(network: &Network, points: &Matrix) -> Matrix {
    let mut hidden: Vec<Vec<f32>> =
        points.iter_rows().map(|x| x.iter().map(|&v| v as f32).collect()).collect();
    for layer in network.layers() {
        let weight = layer.weight().map(|&w| w as f32);
        let bias: Vec<f32> = layer.bias().iter().map(|&b| b as f32).collect();
        let is_relu = layer.activation() == Activation::Relu;
        for h in &mut hidden {
            let z = weight
                .iter_rows()
                .zip(&bias)
                .map(|(row, b)| row.iter().zip(h.iter()).fold(*b, |sum, (w, v)| sum + w * v));
            *h = z.map(|z| if is_relu { z.max(0.0) } else { z }).collect();
        }
    }
    let outputs = network.output_width();
    Matrix::from_fn(hidden.len(), outputs, |i, j| f64::from(hidden[i][j]))
}

#[cfg(test)]
mod tests {
    use fiberscope_core::Layer;

    use super::*;

    #[test]
    fn half_precision_has_eleven_bits() {
        for (y, half) in [(1.0, 1.0), (1.0 + 1.0 / 2048.0, 1.0), (1.0 + 3.0 / 2048.0, 1.0 + 1.0 / 512.0)] {
            assert_eq!((in_half_precision(y), in_half_precision(-y)), (half, -half));
        }
        assert_eq!(in_half_precision(0.1), 0.099_975_585_937_5);
        assert_eq!(in_half_precision(65_519.0), 65_504.0);
        assert_eq!(in_half_precision(-65_521.0), f64::NEG_INFINITY);
        // The smallest one above zero, and less than half of it.
        assert_eq!((in_half_precision(5e-8), in_half_precision(2e-8)), (2f64.powi(-24), 0.0));
    }

    #[test]
    fn noise_is_bounded_and_the_same_for_the_same_input() {
        let noise: Vec<f64> = (0..1000).map(|k| scattered(&[k as f64, 0.5], k % 3)).collect();
        assert!(
            noise.iter().all(|v| v.abs() <= 1.0)
                && noise.iter().any(|v| *v > 0.9)
                && noise.iter().any(|v| *v < -0.9)
        );
        let mean = noise.iter().sum::<f64>() / 1000.0;
        assert!(mean.abs() < 0.1, "{mean}");
        assert_eq!(scattered(&[7.0, 0.5], 1), noise[7]);
        assert_ne!(scattered(&[7.0, 0.5], 0), noise[7]);
    }

    #[test]
    fn layers_without_relu_stay_so_in_single_precision() {
        let layer = |w: f64| Layer::new(Matrix::from_rows(&[[w]]).unwrap(), vec![0.0], Activation::Identity);
        let network = Network::new(vec![layer(-1.0), layer(2.0)]).unwrap();
        let points = Matrix::from_rows(&[[3.0]]).unwrap();
        assert_eq!(in_single_precision(&network, &points).entries(), [-6.0]);
    }
}
