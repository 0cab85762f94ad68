//! Ranks of directions in the space of parameters, and kernels.

use fiberscope_core::residue::{PRIME, inverse, multiply, reduce};
use fiberscope_core::{ExactNetwork, Matrix, Rational};

use crate::limit::Deadline;
use crate::rank::independent_rows;
use crate::reduce::coordinates;

/// A sparse vector of parameters: places and entries.
pub(super) type Direction = Vec<(usize, Rational)>;

/// A basis of the kernel of a matrix (empty if finding it is too much work).
pub(super) fn kernel(matrix: &Matrix<Rational>) -> Vec<Vec<Rational>> {
    let columns = matrix.transpose();
    let pivots = independent_rows(&columns);
    let others: Vec<usize> = (0..columns.rows()).filter(|k| !pivots.contains(k)).collect();
    let Some(shares) =
        coordinates(&columns.select_rows(&pivots), &columns.select_rows(&others), &Deadline::NEVER)
    else {
        return Vec::new();
    };
    let vector = |(row, &other): (usize, &usize)| {
        let mut vector = vec![Rational::ZERO; columns.rows()];
        vector[other] = Rational::ONE;
        pivots.iter().enumerate().for_each(|(k, &pivot)| vector[pivot] = -&shares[(row, k)]);
        vector
    };
    others.iter().enumerate().map(vector).collect()
}

/// The number of independent scalings. In a vanishing combination of them, neurons that a weight connects have the same coefficient, and a neuron that a weight connects with an input or an output, or that has a
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

/// The rank of sparse vectors modulo the prime after a random projection: a lower bound for their rank.
pub(super) fn rank(directions: &[Direction]) -> usize {
    let columns = directions.len() + 8;
    let coefficient = |place: usize, column: usize| {
        let mut x = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ (column as u64).wrapping_mul(0xd1b5_4a32_d192_ed03);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % PRIME
    };
    let mut echelon: Vec<(usize, Vec<u64>)> = Vec::new();
    for direction in directions {
        let mut row = vec![0u64; columns];
        let Some(entries) =
            direction.iter().map(|(place, x)| Some((*place, x.residue()?))).collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        for (place, x) in entries.into_iter().filter(|(_, x)| *x != 0) {
            row.iter_mut().enumerate().for_each(|(c, sum)| {
                *sum = reduce(u128::from(*sum) + u128::from(x) * u128::from(coefficient(place, c)))
            });
        }
        for (lead, earlier) in &echelon {
            if row[*lead] != 0 {
                let factor = PRIME - row[*lead];
                row.iter_mut()
                    .zip(earlier)
                    .for_each(|(x, &e)| *x = reduce(u128::from(*x) + u128::from(factor) * u128::from(e)));
            }
        }
        if let Some(lead) = row.iter().position(|&x| x != 0) {
            let inverse = inverse(row[lead]);
            row.iter_mut().for_each(|x| *x = multiply(*x, inverse));
            echelon.push((lead, row));
        }
    }
    echelon.len()
}
