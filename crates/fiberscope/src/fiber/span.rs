//! Directions in the space of parameters, and how many scalings are independent.

use fiberscope_core::{ExactNetwork, Rational};

/// A sparse vector of parameters: places and entries.
pub(super) type Direction = Vec<(usize, Rational)>;

/// The number of independent scalings. In a vanishing combination of them, neurons that a weight connects
/// have the same coefficient, and a neuron that a weight connects with an input or an output, or that has a
/// bias, has coefficient 0.
pub(super) fn independent_scalings(network: &ExactNetwork) -> usize {
    let widths = network.widths();
    let first: Vec<usize> = widths[1..]
        .iter()
        .scan(1, |at, &width| {
            let here = *at;
            *at += width;
            Some(here)
        })
        .collect();
    // Number 0 is the ground: inputs, biases and outputs.
    let hidden: usize = widths[1..widths.len() - 1].iter().sum();
    let mut parent: Vec<usize> = (0..=hidden).collect();
    fn root(parent: &mut [usize], mut x: usize) -> usize {
        while parent[x] != x {
            parent[x] = parent[parent[x]];
            x = parent[x];
        }
        x
    }
    for (l, layer) in network.layers().iter().enumerate() {
        let last = l + 1 == network.depth();
        for (i, row) in layer.weight().iter_rows().enumerate() {
            let to = if last { 0 } else { first[l] + i };
            for (j, _) in row.iter().enumerate().filter(|(_, w)| !w.is_zero()) {
                let from = if l == 0 { 0 } else { first[l - 1] + j };
                let (a, b) = (root(&mut parent, to), root(&mut parent, from));
                parent[a.max(b)] = a.min(b);
            }
            if !last && !layer.bias()[i].is_zero() {
                let a = root(&mut parent, to);
                parent[a] = 0;
            }
        }
    }
    let grounded = root(&mut parent, 0);
    let loose = (1..=hidden).filter(|&x| parent[x] == x && x != grounded).count();
    hidden - loose
}
