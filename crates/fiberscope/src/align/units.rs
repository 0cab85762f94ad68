//! What moves as one: a neuron, or a channel of a convolution at all places of the image.
//!
//! A layer holds values of a graph one behind the other ([`Image`]); permuting the channels of an image keeps a
//! convolution a convolution, permuting its neurons does not. A value that is carried past a layer (a residual block)
//! is a copy of one of the layer before: its channels move with those it copies.

use std::ops::Range;

use fiberscope_core::{Layer, Network};

use crate::orbit::LayerRelabelling;

/// Neurons of a layer, one behind the other: `channels` images of `places` neurons each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// The channels: what is permuted.
    pub channels: usize,
    /// The neurons of a channel.
    pub places: usize,
}

impl Image {
    /// The image of neurons of this shape, channels first.
    pub fn of_shape(shape: &[usize]) -> Self {
        match shape {
            [] => Image { channels: 1, places: 1 },
            [channels, places @ ..] => Image { channels: *channels, places: places.iter().product() },
        }
    }

    fn neurons(self) -> usize {
        self.channels * self.places
    }
}

/// An image inside a hidden layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) layer: usize,
    start: usize,
    image: Image,
}

impl Member {
    /// How many neurons a channel has.
    pub(super) fn places(&self) -> usize {
        self.image.places
    }

    /// The neurons of all channels.
    pub(super) fn neurons(&self) -> Range<usize> {
        self.start..self.start + self.image.neurons()
    }

    /// The neurons of a channel.
    pub(super) fn channel(&self, channel: usize) -> Range<usize> {
        let start = self.start + channel * self.image.places;
        start..start + self.image.places
    }

    /// A permutation and scaling of the channels as one of the neurons of the layer.
    pub(super) fn spread(&self, width: usize, channels: &LayerRelabelling<f64>) -> LayerRelabelling<f64> {
        let mut all = LayerRelabelling::identity(width, 1.0);
        for (new, (&old, &factor)) in channels.order.iter().zip(&channels.factors).enumerate() {
            for (new, old) in self.channel(new).zip(self.channel(old)) {
                (all.order[new], all.factors[new]) = (old, factor);
            }
        }
        all
    }
}

/// Images whose channels are permuted and scaled together: one, and its copies in the layers behind.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Class {
    pub(super) members: Vec<Member>,
}

impl Class {
    pub(super) fn channels(&self) -> usize {
        self.members[0].image.channels
    }

    /// The classes of the hidden layers of two networks of the same shape. Layers whose images do not fit are made of
    /// neurons.
    pub(super) fn all(a: &Network, b: &Network, images: &[Vec<Image>]) -> Vec<Class> {
        let mut classes: Vec<Class> = Vec::new();
        // The members of the layer before, with their classes.
        let mut before: Vec<(Member, usize)> = Vec::new();
        for (layer, of_a) in a.hidden_layers().iter().enumerate() {
            let width = of_a.width();
            let fits =
                |images: &&Vec<Image>| images.iter().map(|image| image.neurons()).sum::<usize>() == width;
            let single = vec![Image { channels: width, places: 1 }];
            let images = images.get(layer).filter(fits).unwrap_or(&single);
            let mut start = 0;
            let mut own = Vec::new();
            for &image in images {
                let member = Member { layer, start, image };
                start += image.neurons();
                let source = before.iter().find(|(from, _)| {
                    from.image == image
                        && [a, b].iter().all(|net| copies(&net.layers()[layer], from, &member))
                });
                let class = source.map_or(classes.len(), |(_, class)| *class);
                match classes.get_mut(class) {
                    Some(class) => class.members.push(member),
                    None => classes.push(Class { members: vec![member] }),
                }
                own.push((member, class));
            }
            before = own;
        }
        classes
    }
}

/// Whether an image of a layer is one of the layer before, number by number.
fn copies(layer: &Layer, from: &Member, to: &Member) -> bool {
    to.neurons().zip(from.neurons()).all(|(row, column)| {
        let mut entries = layer.weights().row(row);
        let only = entries.next() == Some((column, &1.0)) && entries.next().is_none();
        only && layer.bias()[row] == 0.0
    })
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Activation, Matrix};

    use super::*;
    use crate::align::products::Products;

    /// A layer that carries an image of two channels and three places past it, beside one neuron that it computes.
    fn network() -> Network {
        let mut rows = vec![[0.0; 7]; 7];
        (0..6).for_each(|at| rows[at + 1][at] = 1.0);
        rows[0] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        let layer = |rows: &[[f64; 7]], activation| {
            Layer::new(Matrix::from_rows(rows).unwrap(), vec![0.0; rows.len()], activation)
        };
        let first = layer(&[[1.0; 7]; 7], Activation::Relu);
        Network::new(vec![first, layer(&rows, Activation::Relu), layer(&[[1.0; 7]], Activation::Identity)])
            .unwrap()
    }

    #[test]
    fn copies_move_with_what_they_copy() {
        let network = network();
        let (image, one) = (Image::of_shape(&[2, 3]), Image::of_shape(&[1]));
        let classes = Class::all(&network, &network, &[vec![image, one], vec![one, image]]);
        let members: Vec<Vec<(usize, usize)>> =
            classes.iter().map(|class| class.members.iter().map(|m| (m.layer, m.start)).collect()).collect();
        assert_eq!(members, [vec![(0, 0), (1, 1)], vec![(0, 6)], vec![(1, 0)]]);
        // The copy itself does not count as a way out.
        let out = Products::outgoing(&classes[0], network.layers(), network.layers());
        assert_eq!(out.a, [1.0 + 4.0 + 9.0 + 3.0, 16.0 + 25.0 + 36.0 + 3.0]);
        assert_eq!(out.both[(0, 1)], 4.0 + 10.0 + 18.0 + 3.0);
        let spread =
            classes[0].members[1].spread(7, &LayerRelabelling { order: vec![1, 0], factors: vec![2.0, 4.0] });
        assert_eq!(spread.order, [0, 4, 5, 6, 1, 2, 3]);
        assert_eq!(spread.factors, [1.0, 2.0, 2.0, 2.0, 4.0, 4.0, 4.0]);
    }

    #[test]
    fn images_that_do_not_fit_are_neurons() {
        let network = network();
        let classes = Class::all(&network, &network, &[vec![Image::of_shape(&[2, 2])]]);
        assert_eq!(classes.iter().map(Class::channels).collect::<Vec<_>>(), [7, 7]);
    }
}
