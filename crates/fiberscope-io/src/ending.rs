//! How a list of layers becomes a network.
//!
//! The last layer of a [`Network`] is affine. A file may end with `relu` instead; since
//! `relu(z) = I relu(z) + 0`, one more layer with weight `I` and bias `0` makes such a list a network
//! that computes the same function, exactly.

use fiberscope_core::{Activation, Layer, Network, SparseMatrix};

use crate::{FormatError, ReadOptions};

/// The network with these layers, closed by an identity layer if the last one ends with `relu`; then a
/// note says so.
///
/// The added weight is the one matrix that the file does not hold: its entries, one per neuron, are limited by
/// [`ReadOptions::max_dense_entries`].
pub(crate) fn finish(
    mut layers: Vec<Layer>,
    notes: &mut Vec<String>,
    options: &ReadOptions,
) -> Result<Network, FormatError> {
    if let Some(last) = layers.last().filter(|last| last.activation() == Activation::Relu) {
        let (layer, width) = (layers.len(), last.width());
        if width > options.max_dense_entries {
            let message = format!(
                "layer {layer}: the last layer ends with relu and is too wide ({width}) to append an identity \
                 layer: expected at most {} entries",
                options.max_dense_entries
            );
            return Err(FormatError::unsupported(message));
        }
        layers.push(identity(width));
        notes.push(format!(
            "layer {layer}, the last, ends with relu: an identity layer of width {width} was appended, \
             which changes no value"
        ));
    }
    Ok(Network::new(layers)?)
}

fn identity(width: usize) -> Layer {
    let mut weight = SparseMatrix::with_capacity(width, width, width);
    (0..width).for_each(|i| weight.push_row([(i, 1.0)]));
    Layer::new(weight, vec![0.0; width], Activation::Identity)
}

#[cfg(test)]
mod tests {
    use fiberscope_core::Matrix;

    use super::*;

    fn wide(width: usize, activation: Activation) -> Vec<Layer> {
        vec![Layer::new(Matrix::from_fn(width, 1, |_, _| 1.0), vec![0.0; width], activation)]
    }

    #[test]
    fn an_affine_ending_stays() {
        let mut notes = Vec::new();
        let network = finish(wide(2, Activation::Identity), &mut notes, &ReadOptions::default()).unwrap();
        assert_eq!((network.widths(), notes.len()), (vec![1, 2], 0));
    }

    #[test]
    fn a_relu_ending_gets_an_identity_layer() {
        let mut notes = Vec::new();
        let network = finish(wide(2, Activation::Relu), &mut notes, &ReadOptions::default()).unwrap();
        assert_eq!(network.widths(), [1, 2, 2]);
        assert_eq!(network.layers()[1].weight().entries(), [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(network.layers()[1].bias(), [0.0, 0.0]);
        assert_eq!(
            notes,
            [
                "layer 1, the last, ends with relu: an identity layer of width 2 was appended, which changes no value"
            ]
        );
    }

    #[test]
    fn the_appended_layer_is_limited() {
        let options = ReadOptions { max_dense_entries: 2, ..Default::default() };
        let refused = finish(wide(3, Activation::Relu), &mut Vec::new(), &options).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "layer 1: the last layer ends with relu and is too wide (3) to append an identity layer: \
             expected at most 2 entries"
        );
    }
}
