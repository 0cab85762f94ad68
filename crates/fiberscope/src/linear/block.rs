//! The always-active neurons of a ReLU layer: a linear network of two matrices inside a ReLU network.
//!
//! Let `P` be `m` neurons of one hidden layer with nonnegative pre-activation on the whole domain. With
//! `W, b` the layer and `V` the next one, `z_P -> g z_P + s` (`g` invertible, `s` a shift) keeps the function
//! while the pre-activations stay nonnegative, so `(W[P,:], V[:,P])` is a linear network of widths
//! `(n_in, m, n_out)`, with product `M = V[:,P] W[P,:]`. Near the given parameters, and for generic other
//! neurons, the parameters of the two layers with the same function form a set whose tangent directions are
//!
//! ```text
//! dof(n_in, m, n_out; rk W[P,:], rk V[:,P]) + m + #mixed + #dead (n_in + 1 + n_out)
//! ```
//!
//! in number. On a bounded domain, `rk M` neurons do the work of `P`.

use faer::Mat;
use fiberscope_core::{Activation, Domain, Interval, Layer, Matrix, Network, Role};

use super::{LinearError, LinearNetwork, Stratum, dense};

/// The always-active neurons of a layer as a linear network.
#[derive(Clone, Debug)]
pub struct ActiveBlock {
    /// The layer, 0 for the first hidden layer.
    pub layer: usize,
    /// The always-active neurons, counted from 0.
    pub active: Vec<usize>,
    /// The number of neurons that are never active.
    pub dead: usize,
    /// The number of neurons of which neither was proved.
    pub mixed: usize,
    /// `(W[P,:], b[P])` and `(V[:,P], 0)`.
    pub network: LinearNetwork,
}

impl ActiveBlock {
    /// The block of hidden ReLU layer `layer` (counted from 0) on a domain.
    pub fn find(network: &Network, layer: usize, domain: &Domain) -> Result<Self, LinearError> {
        let relu = network.hidden_layers().get(layer).is_some_and(|of| of.activation() == Activation::Relu);
        if !relu {
            return Err(LinearError::NoReluLayer { layer: layer + 1 });
        }
        let roles = &network.roles(domain)[layer];
        let with_role = |wanted: Role| (0..roles.len()).filter(move |&unit| roles[unit] == wanted);
        let active: Vec<usize> = with_role(Role::Linear).collect();
        if active.is_empty() {
            return Err(LinearError::NoActiveNeuron { layer: layer + 1 });
        }
        let (of, next) = (&network.layers()[layer], &network.layers()[layer + 1]);
        let weights = vec![of.weight().select_rows(&active), next.weight().select_columns(&active)];
        let biases = vec![active.iter().map(|&unit| of.bias()[unit]).collect(), vec![0.0; next.width()]];
        Ok(ActiveBlock {
            layer,
            dead: with_role(Role::Dead).count(),
            mixed: with_role(Role::Nonlinear).count(),
            network: LinearNetwork::new(weights, biases)?,
            active,
        })
    }

    /// The number of directions in which the two layers can move without changing the function, if the block
    /// lies in this stratum and the mixed neurons are generic.
    pub fn layer_pair_freedom(&self, stratum: &Stratum) -> u64 {
        let widths = stratum.fiber().widths();
        let dead = self.dead as u64 * (widths[0] + 1 + widths[2]) as u64;
        stratum.degrees_of_freedom() + self.active.len() as u64 + self.mixed as u64 + dead
    }
}

/// The network with the always-active neurons of a block replaced by `rk M` neurons, which are active on the
/// whole domain by a margin of 1. The function on the domain changes by rounding only.
pub fn compress_block(
    network: &Network,
    block: &ActiveBlock,
    domain: &Domain,
    tolerance: f64,
) -> Result<Network, LinearError> {
    let layer = block.layer;
    let ranges = network.activation_ranges(domain).nth(layer).unwrap_or_default();
    let weights = block.network.dense_weights();
    let svd =
        dense::svd(&(&weights[1] * &weights[0]), true).ok_or(LinearError::Numerical { layer: layer + 1 })?;
    let largest = svd.values.first().copied().unwrap_or(0.0);
    let rank = svd.values.iter().filter(|&&value| value > tolerance * largest).count();
    let root = |k: usize| svd.values[k].sqrt();
    let incoming = Mat::from_fn(rank, weights[0].ncols(), |k, j| root(k) * svd.v[(j, k)]);
    let outgoing = Mat::from_fn(weights[1].nrows(), rank, |i, k| svd.u[(i, k)] * root(k));
    let mut bias = Vec::with_capacity(rank);
    for k in 0..rank {
        bias.push(
            1.0 - lower_bound(&incoming, k, &ranges).ok_or(LinearError::Unbounded { layer: layer + 1 })?,
        );
    }
    let kept: Vec<usize> = (0..network.layers()[layer].width())
        .filter(|unit| block.active.binary_search(unit).is_err())
        .collect();
    rebuild(network, block, &kept, (&incoming, &bias, &outgoing))
}

/// The least value of row `k` on a box.
fn lower_bound(rows: &Mat<f64>, k: usize, ranges: &[Interval]) -> Option<f64> {
    let mut sum = 0.0;
    for (j, range) in ranges.iter().enumerate() {
        let w = rows[(k, j)];
        let end = if w > 0.0 { range.lower.as_ref() } else { range.upper.as_ref() };
        sum += if w == 0.0 { 0.0 } else { w * end?.to_f64() };
    }
    Some(sum)
}

fn rebuild(
    network: &Network,
    block: &ActiveBlock,
    kept: &[usize],
    (incoming, bias, outgoing): (&Mat<f64>, &[f64], &Mat<f64>),
) -> Result<Network, LinearError> {
    let layer = block.layer;
    let (of, next) = (&network.layers()[layer], &network.layers()[layer + 1]);
    // A layer needs a neuron, so a block of rank 0 leaves one without outgoing weights.
    let idle = usize::from(kept.is_empty() && bias.is_empty());
    let width = kept.len() + bias.len() + idle;
    let entry = |i: usize, j: usize| match kept.get(i) {
        Some(&unit) => of.weight()[(unit, j)],
        None if i - kept.len() < bias.len() => incoming[(i - kept.len(), j)],
        None => 0.0,
    };
    let first = Matrix::from_fn(width, of.input_width(), entry);
    let biases = kept.iter().map(|&unit| of.bias()[unit]).chain(bias.iter().copied()).chain(vec![0.0; idle]);
    let entry = |i: usize, j: usize| match kept.get(j) {
        Some(&unit) => next.weight()[(i, unit)],
        None if j - kept.len() < bias.len() => outgoing[(i, j - kept.len())],
        None => 0.0,
    };
    let second = Matrix::from_fn(next.width(), width, entry);
    let constant = |i: usize| {
        let old: f64 = block.active.iter().map(|&unit| next.weight()[(i, unit)] * of.bias()[unit]).sum();
        let new: f64 = bias.iter().enumerate().map(|(k, b)| outgoing[(i, k)] * b).sum();
        next.bias()[i] + old - new
    };
    let mut layers = network.layers().to_vec();
    layers[layer] = Layer::new(first, biases.collect(), Activation::Relu);
    layers[layer + 1] = Layer::new(second, (0..next.width()).map(constant).collect(), next.activation());
    Ok(Network::new(layers)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::{FlowBases, Tolerance};

    fn network() -> Network {
        // Five always-active neurons on [-1, 1]^3 whose outgoing weights make a product of rank 2, and one
        // that bends.
        let rows: Vec<[f64; 3]> =
            (0..6).map(|i| [0.3 * i as f64 - 0.4, 0.2, 0.1 * (i * i) as f64 - 0.5]).collect();
        let first = Layer::new(
            Matrix::from_rows(&rows).unwrap(),
            vec![4.0, 4.5, 5.0, 4.0, 4.0, 0.1],
            Activation::Relu,
        );
        let second = Matrix::from_fn(4, 6, |i, j| {
            if j == 5 { 1.0 } else { (i as f64 + 1.0) * (j as f64 - 1.0) + if i > 1 { 0.5 } else { 0.0 } }
        });
        Network::new(vec![first, Layer::new(second, vec![0.5; 4], Activation::Identity)]).unwrap()
    }

    #[test]
    fn compression_keeps_the_function_on_the_box() {
        let network = network();
        let domain = Domain::from_bounds(&[(-1.0, 1.0); 3]).unwrap();
        let block = ActiveBlock::find(&network, 0, &domain).unwrap();
        assert_eq!((block.active.as_slice(), block.mixed, block.dead), ([0, 1, 2, 3, 4].as_slice(), 1, 0));
        let small = compress_block(&network, &block, &domain, 1e-10).unwrap();
        assert_eq!(small.widths(), [3, 3, 4]);
        for x in [[1.0, -1.0, 1.0], [-1.0, -1.0, -1.0], [0.3, 0.9, -0.2], [1.0, 1.0, 1.0]] {
            let (a, b) = (network.evaluate(&x).unwrap(), small.evaluate(&x).unwrap());
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-12), "{a:?} {b:?}");
        }
        assert!(matches!(
            compress_block(&network, &block, &Domain::Space, 1e-10),
            Err(LinearError::Unbounded { layer: 1 })
        ));
    }

    #[test]
    fn freedom_counts_block_shift_and_scalings() {
        let domain = Domain::from_bounds(&[(-1.0, 1.0); 3]).unwrap();
        let block = ActiveBlock::find(&network(), 0, &domain).unwrap();
        let flow = FlowBases::compute(&block.network, Tolerance::default()).unwrap();
        let stratum = Stratum::new(flow.barcode().rank_list());
        // d_theta = 35, ranks 3 and 2: dof = 35 - 4*3 - 3*2 + 3*2 = 23.
        assert_eq!(stratum.ranks().rows(), [vec![3], vec![2, 2]]);
        assert_eq!(block.layer_pair_freedom(&stratum), 23 + 5 + 1);
    }

    #[test]
    fn layers_without_a_block_are_refused() {
        let network = network();
        assert_eq!(
            ActiveBlock::find(&network, 1, &Domain::Space).unwrap_err().to_string(),
            "layer 2 is no hidden ReLU layer"
        );
        let error = ActiveBlock::find(&network, 0, &Domain::Space).unwrap_err();
        assert_eq!(error.to_string(), "layer 1 has no neuron that is always active on the domain");
    }
}
