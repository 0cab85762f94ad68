//! Proof that a proposed skeleton is the skeleton of the complex.
//!
//! **Lemma.** Let vertices be proposed by `d` hyperplanes and the signs of all others, and edges between them. Suppose that
//!
//! 1. at every vertex the `d` hyperplanes, as affine functions of the region where its zeros are off, are independent, and their
//!    common point `v*` has exactly the proposed signs (zero on the `d` hyperplanes, nonzero on all others, inside the box);
//! 2. the sign vectors of the ends of every edge differ at one hyperplane through either end, and nowhere else;
//! 3. at every vertex and for each of its hyperplanes there is one proposed edge for either side of it (one for a side of the box).
//!
//! Then these are all vertices and edges of the complex on the box, and it is simple. *Proof.* By 1 the vertices are vertices of the complex,
//! and near them it is a product of `d` lines (half-lines for sides of the box), so that 3 lists as many edges as there are. By 2 all functions that are affine on
//! the edge's cell have weakly the same sign at both ends and strictly at one, so that the open segment between them lies in the cell, and its ends do not: the edge is the
//! cell. So the proposed graph is a union of components of the graph of the complex, which is connected. ∎
//!
//! Conditions 2 and 3 compare bits. Condition 1 is settled in doubles where it can be: with `F_i` the function of hyperplane `i`, `w_j`
//! the end of the edge on the negative side of hyperplane `j` (which lies in the closure of the region where the zeros are off), the
//! matrix `X` with columns `(w_j - v) / F_j(w_j)` is an approximate inverse of the gradients `M`, since `F_i(w_j)` is nearly 0 for `i != j`.
//! If `|I - M X| <= eta < 1`, then `M` is regular and `|v* - v| <= sum_j |X_j| max_i |F_i(v)| / (1 - eta)`; a sign is right if the value in doubles
//! exceeds its rounding and the Lipschitz constant times this distance. What is left is solved and evaluated in rational numbers.

use fiberscope_core::Rational;

use super::flat::FlatNetwork;
use super::oracle::Oracle;
use super::skeleton::Skeleton;

/// How many vertices are evaluated at a time.
const BLOCK: usize = 512;

/// What is known about a certified skeleton.
pub(crate) struct Certified {
    /// For every vertex a bound on the distance of its point from the exact vertex.
    pub distance: Vec<f64>,
    /// How many vertices needed exact arithmetic.
    pub exact: usize,
}

/// Proves the skeleton, or says that it is not right.
pub(crate) fn certify(
    flat: &FlatNetwork,
    oracle: &Oracle,
    skeleton: &Skeleton,
    sides: &[[f64; 2]],
) -> Option<Certified> {
    let corners = check_edges(flat, skeleton)?;
    let measured = Measured::new(flat, skeleton, sides, &corners)?;
    let mut certified = Certified { distance: Vec::with_capacity(skeleton.len()), exact: 0 };
    for v in 0..skeleton.len() {
        let distance = match measured.distance(flat, skeleton, &corners, v) {
            Some(distance) => distance,
            None => {
                certified.exact += 1;
                exact_distance(flat, oracle, skeleton, v)?
            }
        };
        certified.distance.push(distance);
    }
    Some(certified)
}

fn exact_distance(flat: &FlatNetwork, oracle: &Oracle, skeleton: &Skeleton, v: usize) -> Option<f64> {
    let (zeros, signs) = (skeleton.zeros_of(v), skeleton.signs_of(v));
    let x = oracle.vertex(flat, zeros, signs)?;
    if !oracle.agrees(flat, &x, zeros, signs) {
        return None;
    }
    let gap = |(x, &y): (&Rational, &f64)| {
        (x - &Rational::from_f64(y).expect("coordinates are finite")).to_f64().abs()
    };
    Some(x.iter().zip(skeleton.point(v)).map(gap).fold(0.0, f64::max) * (1.0 + 1e-9) + f64::MIN_POSITIVE)
}

/// For every vertex and each of its hyperplanes the edge on the negative side, as twice the edge plus
/// the end that is the vertex.
struct Corners(Vec<u32>);

const NONE: u32 = u32::MAX;

/// Conditions 2 and 3.
fn check_edges(flat: &FlatNetwork, skeleton: &Skeleton) -> Option<Corners> {
    let d = skeleton.dimension;
    let mut negative = vec![NONE; skeleton.zeros.len()];
    let mut positive = vec![false; skeleton.zeros.len()];
    for (e, edge) in skeleton.edges.iter().enumerate() {
        let [a, b] = edge.ends.map(|v| v as usize);
        check_signs(flat, skeleton, edge.left, a, b)?;
        for (end, v) in [(0, a), (1, b)] {
            let gone = edge.left[end] >> 1;
            let slot = v * d + skeleton.zeros_of(v).iter().position(|&h| h == gone)?;
            if edge.left[end] & 1 == 1 {
                if std::mem::replace(&mut positive[slot], true) {
                    return None;
                }
            } else if std::mem::replace(&mut negative[slot], (2 * e + end) as u32) != NONE {
                return None;
            }
        }
    }
    let complete = negative
        .iter()
        .zip(&positive)
        .zip(&skeleton.zeros)
        .all(|((&n, &p), &h)| n != NONE && p == ((h as usize) < flat.neurons));
    complete.then_some(Corners(negative))
}

/// The sign vectors of the ends differ at the hyperplanes that the edge leaves, and only there.
fn check_signs(flat: &FlatNetwork, skeleton: &Skeleton, left: [u32; 2], a: usize, b: usize) -> Option<()> {
    let [from, to] = left.map(|left| (left >> 1) as usize);
    if from == to {
        return None;
    }
    let mut apart = [(NONE as usize, 0); 2];
    for (slot, &left) in apart.iter_mut().zip(&left) {
        if left & 1 == 1 {
            *slot = flat.place((left >> 1) as usize);
        }
    }
    for (word, (p, q)) in skeleton.signs_of(a).iter().zip(skeleton.signs_of(b)).enumerate() {
        let expected = apart.iter().filter(|(w, _)| *w == word).fold(0, |bits, (_, bit)| bits | bit);
        if p ^ q != expected {
            return None;
        }
    }
    let positive = |v: usize, h: usize| {
        h < flat.neurons && {
            let (word, bit) = flat.place(h);
            skeleton.signs_of(v)[word] & bit != 0
        }
    };
    // The other end is on the side that the edge is said to be on.
    if positive(b, from) != (left[0] & 1 == 1) || positive(a, to) != (left[1] & 1 == 1) {
        return None;
    }
    let (zeros_a, zeros_b) = (skeleton.zeros_of(a), skeleton.zeros_of(b));
    let shared = |h: &u32| *h as usize == from || zeros_b.contains(h);
    let distinct = !zeros_b.contains(&(from as u32)) && !zeros_a.contains(&(to as u32));
    (distinct && zeros_a.iter().all(shared) && zeros_b.contains(&(to as u32))).then_some(())
}

/// What the evaluation in doubles found.
struct Measured {
    /// The largest absolute value of a neuron that should be zero, rounding included.
    residual: Vec<f64>,
    /// Per vertex and ReLU layer, the least absolute value of the other neurons; negative if a sign is wrong.
    margin: Vec<f64>,
    layers: usize,
    /// Per edge and end, the value at the other end of the hyperplane that the edge leaves there.
    value: Vec<[f64; 2]>,
    sides: Vec<[f64; 2]>,
    /// Per vertex, the residual with rounding.
    rest: Vec<f64>,
}

impl Measured {
    fn new(flat: &FlatNetwork, skeleton: &Skeleton, sides: &[[f64; 2]], corners: &Corners) -> Option<Self> {
        let layers = flat.layers.iter().filter(|layer| layer.relu).count();
        let count = skeleton.len();
        let mut measured = Measured {
            residual: vec![0.0; count],
            margin: vec![f64::INFINITY; count * layers],
            layers,
            value: vec![[0.0; 2]; skeleton.edges.len()],
            sides: sides.to_vec(),
            rest: Vec::new(),
        };
        if skeleton.points.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let wanted = Wanted::new(skeleton, corners);
        let mut values = vec![0.0; BLOCK * flat.neurons];
        let [mut a, mut z] = [Vec::new(), Vec::new()];
        for start in (0..count).step_by(BLOCK) {
            let block = start..count.min(start + BLOCK);
            a.clear();
            a.extend_from_slice(
                &skeleton.points[block.start * skeleton.dimension..block.end * skeleton.dimension],
            );
            let mut relu_layer = 0;
            for layer in &flat.layers {
                z.clear();
                z.resize(block.len() * layer.width, 0.0);
                layer.forward(block.len(), &a, &mut z);
                if layer.relu {
                    for (i, v) in block.clone().enumerate() {
                        let row = &mut z[i * layer.width..(i + 1) * layer.width];
                        values[i * flat.neurons + layer.first..][..layer.width].copy_from_slice(row);
                        measured.look(layer, skeleton, v, relu_layer, row);
                    }
                    relu_layer += 1;
                }
                std::mem::swap(&mut a, &mut z);
            }
            for (i, v) in block.enumerate() {
                wanted.serve(skeleton, flat, v, &values[i * flat.neurons..], &mut measured.value);
            }
        }
        let error = |k: usize| flat.layers.iter().map(|layer| layer.error[k]).fold(0.0, f64::max);
        let (constant, linear) = (error(0), error(1) + 4.0 * f64::EPSILON);
        measured.rest = (0..count)
            .map(|v| {
                let size = skeleton.point(v).iter().fold(0.0f64, |m, x| m.max(x.abs()));
                measured.residual[v] + constant + linear * size
            })
            .collect();
        Some(measured)
    }

    /// Compares a row of values with the proposed signs and sets it to the activations.
    fn look(
        &mut self,
        layer: &super::flat::FlatLayer,
        skeleton: &Skeleton,
        v: usize,
        relu_layer: usize,
        row: &mut [f64],
    ) {
        let units = |h: &u32| (*h as usize).checked_sub(layer.first).filter(|&unit| unit < layer.width);
        for unit in skeleton.zeros_of(v).iter().filter_map(units) {
            self.residual[v] = self.residual[v].max(row[unit].abs());
            row[unit] = f64::INFINITY;
        }
        let mut margin =
            row.iter().fold(f64::INFINITY, |least, z| if z.abs() < least { z.abs() } else { least });
        let signs = &skeleton.signs_of(v)[layer.word..layer.word + layer.words()];
        for (at, (part, &word)) in row.chunks(64).zip(signs).enumerate() {
            let mut found = 0;
            for (bit, z) in part.iter().enumerate() {
                found |= u64::from(*z > 0.0) << bit;
            }
            let mut zeros = 0;
            for unit in skeleton.zeros_of(v).iter().filter_map(units).filter(|unit| unit / 64 == at) {
                zeros |= 1 << (unit % 64);
            }
            if found & !zeros != word {
                margin = -1.0;
            }
        }
        // Not a number compares false everywhere above.
        if row.iter().any(|z| z.is_nan()) {
            margin = -1.0;
        }
        row.iter_mut().for_each(|z| *z = if *z > 0.0 { *z } else { 0.0 });
        for unit in skeleton.zeros_of(v).iter().filter_map(units) {
            row[unit] = 0.0;
        }
        self.margin[v * self.layers + relu_layer] = margin;
    }

    /// A bound on the distance of vertex `v` from the exact one, if it and all signs are certain.
    fn distance(&self, flat: &FlatNetwork, skeleton: &Skeleton, corners: &Corners, v: usize) -> Option<f64> {
        let d = skeleton.dimension;
        let point = skeleton.point(v);
        let rest = |v: usize| self.rest[v];
        let own = rest(v);
        let (mut eta, mut reach) = (0.0, 0.0);
        for &corner in &corners.0[v * d..(v + 1) * d] {
            let (e, end) = ((corner / 2) as usize, (corner % 2) as usize);
            let w = skeleton.edges[e].ends[1 - end] as usize;
            let value = self.value[e][end].abs();
            let length = point.iter().zip(skeleton.point(w)).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
            eta += ((1.0 + flat.path) * rest(w) + 2.0 * own) / value;
            reach += length / value;
        }
        eta *= 1.0 + 1e-9;
        // A value of zero makes it infinite or not a number.
        if eta.is_nan() || eta > 0.5 {
            return None;
        }
        let distance = 2.0 * reach * own * (1.0 + 1e-9);
        let size = point.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let relu = flat.layers.iter().filter(|layer| layer.relu);
        let certain = relu.zip(&self.margin[v * self.layers..]).all(|(layer, &margin)| {
            margin > layer.error[0] + layer.error[1] * size + layer.lipschitz * distance * (1.0 + 1e-9)
        });
        (certain && self.inside(flat, skeleton, v, distance)).then_some(distance)
    }

    /// The vertex is on the sides of the box among its zeros, and farther from all others than the distance.
    fn inside(&self, flat: &FlatNetwork, skeleton: &Skeleton, v: usize, distance: f64) -> bool {
        let zeros = skeleton.zeros_of(v);
        skeleton.point(v).iter().zip(&self.sides).enumerate().all(|(i, (x, ends))| {
            let on = |k: usize| zeros.contains(&((flat.neurons + 2 * i + k) as u32));
            (0..2).all(|k| if on(k) { *x == ends[k] } else { (x - ends[k]).abs() > 2.0 * distance })
                && ends[0] <= *x
                && *x <= ends[1]
        })
    }
}

/// Which values the edges want of a vertex.
struct Wanted {
    start: Vec<u32>,
    /// Twice the edge plus the end whose hyperplane's value is wanted at the other end.
    list: Vec<u32>,
}

impl Wanted {
    fn new(skeleton: &Skeleton, corners: &Corners) -> Self {
        let other =
            |corner: u32| skeleton.edges[(corner / 2) as usize].ends[1 - (corner % 2) as usize] as usize;
        let mut start = vec![0u32; skeleton.len() + 1];
        for &corner in &corners.0 {
            start[other(corner) + 1] += 1;
        }
        for v in 0..skeleton.len() {
            start[v + 1] += start[v];
        }
        let mut list = vec![0; corners.0.len()];
        let mut next = start.clone();
        for &corner in &corners.0 {
            let v = other(corner);
            list[next[v] as usize] = corner;
            next[v] += 1;
        }
        Wanted { start, list }
    }

    fn serve(
        &self,
        skeleton: &Skeleton,
        flat: &FlatNetwork,
        v: usize,
        values: &[f64],
        into: &mut [[f64; 2]],
    ) {
        for &corner in &self.list[self.start[v] as usize..self.start[v + 1] as usize] {
            let (e, end) = ((corner / 2) as usize, (corner % 2) as usize);
            let h = (skeleton.edges[e].left[end] >> 1) as usize;
            into[e][end] = if h < flat.neurons {
                values[h]
            } else {
                let i = (h - flat.neurons) / 2;
                skeleton.point(v)[i] - skeleton.point(skeleton.edges[e].ends[end] as usize)[i]
            };
        }
    }
}
