//! What moves as one: a neuron, or a channel of a convolution at all places of the image.
//!
//! A layer holds values of a graph one behind the other ([`Image`]); permuting the channels of an image keeps a
//! convolution a convolution, permuting its neurons does not. A value that is carried past a layer (a residual block)
//! is a copy of one of the layer before: its channels move with those it copies.

use std::ops::Range;

use fiberscope_core::{Layer, Matrix, Network, Scalar, SparseMatrix, Weights};
use rayon::prelude::*;

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
    fn neurons(&self) -> Range<usize> {
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

    /// The inner products of the channels of two networks: of what comes in, and of what goes out.
    pub(super) fn products(&self, a: &Network, b: &Network, both: bool) -> [Products; 2] {
        let channels = self.channels();
        let mut found = [Products::new(channels), Products::new(channels)];
        let first = &self.members[0];
        let [of_a, of_b] = [a, b].map(|network| &network.layers()[first.layer]);
        found[0].add(first, of_a.weights(), of_b.weights());
        found[0].add_biases(first, of_a.bias(), of_b.bias());
        for member in self.members.iter().filter(|_| both) {
            let copies = self.members.iter().filter(|copy| copy.layer == member.layer + 1);
            let copied: Vec<Range<usize>> = copies.map(Member::neurons).collect();
            let [of_a, of_b] =
                [a, b].map(|network| transposed(network.layers()[member.layer + 1].weights(), &copied));
            found[1].add(member, &of_a, &of_b);
        }
        found
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

/// The columns of a matrix as rows, without the numbers in some of its rows.
fn transposed(weights: &Weights, without: &[Range<usize>]) -> Weights {
    let is_out = |row: usize| without.iter().any(|rows| rows.contains(&row));
    match weights {
        Weights::Dense(matrix) => {
            let mut matrix = matrix.clone();
            let rows: Vec<usize> = (0..matrix.rows()).filter(|&row| is_out(row)).collect();
            rows.into_iter().for_each(|row| matrix.row_mut(row).fill(0.0));
            Weights::Dense(matrix.transpose())
        }
        Weights::Sparse(matrix) => {
            let mut kept = SparseMatrix::new(matrix.cols());
            for row in 0..matrix.rows() {
                let entries = weights.row(row).filter(|_| !is_out(row));
                kept.push_row(entries.map(|(column, &entry)| (column, entry)));
            }
            Weights::Sparse(kept.transpose())
        }
    }
}

/// The inner products of the channels of two networks, each the sum over the rows of its neurons.
pub(super) struct Products {
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
    /// Of every channel of `a` (rows) with every one of `b` (columns).
    pub(super) both: Matrix,
}

impl Products {
    fn new(count: usize) -> Self {
        let both = Matrix::from_fn(count, count, |_, _| 0.0);
        Products { a: vec![0.0; count], b: vec![0.0; count], both }
    }

    fn add_biases(&mut self, member: &Member, a: &[f64], b: &[f64]) {
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        for i in 0..self.a.len() {
            let (of_a, of_b) = (&a[member.channel(i)], &b[member.channel(i)]);
            self.a[i] += dot(of_a, of_a);
            self.b[i] += dot(of_b, of_b);
            for j in 0..self.a.len() {
                self.both[(i, j)] += dot(of_a, &b[member.channel(j)]);
            }
        }
    }

    /// Adds the products of the rows that belong to the neurons of an image.
    fn add(&mut self, member: &Member, a: &Weights, b: &Weights) {
        let count = self.a.len();
        let squares = |sums: &mut Vec<f64>, rows: &Weights| {
            for (channel, sum) in sums.iter_mut().enumerate() {
                let entries = member.channel(channel).flat_map(|neuron| rows.row(neuron));
                *sum += entries.map(|(_, entry)| entry * entry).sum::<f64>();
            }
        };
        squares(&mut self.a, a);
        squares(&mut self.b, b);
        if let (Weights::Dense(a), Weights::Dense(b)) = (a, b) {
            for place in 0..member.image.places {
                let neurons: Vec<usize> = (0..count).map(|c| member.channel(c).start + place).collect();
                let product = Scalar::product(&a.select_rows(&neurons), &b.select_rows(&neurons).transpose());
                let product = product.expect("the rows of both have the same lengths");
                self.both.entries_mut().iter_mut().zip(product.entries()).for_each(|(sum, x)| *sum += x);
            }
            return;
        }
        let room = || vec![0.0; a.cols()];
        self.both.entries_mut().par_chunks_mut(count).enumerate().for_each_init(room, |dense, (i, sums)| {
            for (place, neuron) in member.channel(i).enumerate() {
                a.row(neuron).for_each(|(column, &entry)| dense[column] = entry);
                for (j, sum) in sums.iter_mut().enumerate() {
                    let other = b.row(member.channel(j).start + place);
                    *sum += other.map(|(column, entry)| entry * dense[column]).sum::<f64>();
                }
                a.row(neuron).for_each(|(column, _)| dense[column] = 0.0);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use fiberscope_core::Activation;

    use super::*;

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
        let [_, out] = classes[0].products(&network, &network, true);
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
