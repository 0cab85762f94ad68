//! New vertices of a subdivision, with bounds on all errors.
//!
//! For every vertex `v` the point `x~` is within `distance` of the exact vertex, and the values `z~_j` of the neurons of the current layer are within `E` of
//! those at the exact vertex. With row-sum norms, `u = 2^-53`, `n` inputs and `A` the largest activation,
//!
//! ```text
//! E_{l+1} = |W_{l+1}| E_l + 2 (n + 3) u (|W_{l+1}| A + |b_{l+1}|)
//! ```
//!
//! on the way to the next layer: the rectifier enlarges no error. Neuron `k` cuts the edge from `a` to `b`, on which the layer is affine, at `t = z_k(a) / (z_k(a) - z_k(b))`. If the values are off by `E_a` and `E_b`, then `t` is off by at most
//!
//! ```text
//! dt = ((1 - t) E_a + t E_b) / (|z_k(a) - z_k(b)| - E_a - E_b) + 4 u,
//! ```
//!
//! and a value at the new vertex by at most `(1 - t) E_a + t E_b + dt (E_a + E_b + |z~(b) - z~(a)|)` and the rounding of the interpolation; likewise the point. A sign is certain if the value exceeds its
//! error; [`super::settle`] looks at the others.

use super::flat::FlatLayer;
use super::skeleton::{Edge, Stop, Work};

/// Room for the rounding of the bounds themselves.
pub(crate) const SAFE: f64 = 1.0 + 1e-9;
/// Added to bounds, for underflow.
pub(crate) const TINY: f64 = 1e-290;

/// The errors of the next layer's values from those of its inputs `a`.
pub(crate) fn layer_errors(layer: &FlatLayer, a: &[f64], error: &mut [f64]) {
    let rounding = (layer.inputs as f64 + 3.0) * f64::EPSILON;
    for (row, error) in a.chunks_exact(layer.inputs).zip(error) {
        let size = pulp::Arch::new().dispatch(
            #[inline(always)]
            || largest(row),
        );
        *error = (layer.norm * *error + rounding * (layer.norm * size + layer.bias_size)) * SAFE + TINY;
    }
}

/// The positive values of every row as bits; lists the places (row, word, bits) where the error leaves a sign open.
pub(crate) fn sign_words(
    z: &[f64],
    width: usize,
    error: &[f64],
    signs: &mut [u64],
    doubtful: &mut Vec<(usize, usize, u64)>,
) {
    let words = width.div_ceil(64);
    for (v, (row, &error)) in z.chunks_exact(width).zip(error).enumerate() {
        for (word, part) in row.chunks(64).enumerate() {
            let (mut positive, mut certain) = (0u64, 0u64);
            for (bit, &value) in part.iter().enumerate() {
                positive |= u64::from(value > error) << bit;
                certain |= u64::from(value.abs() > error) << bit;
            }
            signs[v * words + word] = positive;
            let open = !certain & (u64::MAX >> (64 - part.len()));
            if open != 0 {
                doubtful.push((v, word, open));
            }
        }
    }
}

const LANES: usize = 8;

#[inline(always)]
fn larger(m: f64, x: f64) -> f64 {
    if x > m { x } else { m }
}

/// The largest absolute value.
#[inline(always)]
pub(crate) fn largest(row: &[f64]) -> f64 {
    let mut size = [0.0f64; LANES];
    let chunks = row.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        (0..LANES).for_each(|i| size[i] = larger(size[i], chunk[i].abs()));
    }
    rest.iter().map(|x| x.abs()).chain(size).fold(0.0, larger)
}

impl Work<'_> {
    /// The vertex where neuron `k` of layer `l` is zero on an edge, a part of the whole edge between two other vertices.
    pub(super) fn new_vertex(
        &mut self,
        l: usize,
        k: usize,
        edge: Edge,
        whole: [u32; 2],
        z: &mut Vec<f64>,
    ) -> Result<(), Stop> {
        let network = self.network;
        let layer = &network.layers[l];
        let [a, b] = edge.ends.map(|v| v as usize);
        let v = self.skeleton.len();
        let whole = whole.map(|v| v as usize);
        let (t, dt) = self.place_of_cut(layer.width, k, whole, z);
        self.new_point(whole, t, dt);
        self.new_zeros(a, edge.left[0], (layer.first + k) as u32);
        self.new_row(l, k, whole, (t, dt), z);
        self.inherit_finished(layer, a, edge.left[0]);
        let words = layer.words();
        for word in 0..words {
            let (pa, pb) = (self.signs[a * words + word], self.signs[b * words + word]);
            let (na, nb) = (self.zeros[a * words + word], self.zeros[b * words + word]);
            let mut apart = (pa ^ pb) & !(na | nb);
            let mut positive = (pa | pb) & !apart;
            let mut zero = na & nb;
            if word == k / 64 {
                apart &= !(1 << (k % 64));
                zero |= 1 << (k % 64);
            }
            self.zeros.push(zero);
            let row = &z[v * layer.width..];
            let (mut rest, mut open) = (apart, 0);
            while rest != 0 {
                let bit = rest.trailing_zeros();
                match sure_sign(row[64 * word + bit as usize], self.error[v]) {
                    Some(true) => positive |= 1 << bit,
                    Some(false) => {}
                    None => open |= 1 << bit,
                }
                rest &= rest - 1;
            }
            if open != 0 {
                let row = &mut z[v * layer.width..(v + 1) * layer.width];
                positive |= self.settle(l, v, row, word, open)?;
                row[k] = 0.0;
            }
            self.signs.push(positive);
        }
        self.height.push(self.height_of(v));
        Ok(())
    }

    /// Where a neuron is zero between two vertices, and how wrong that may be.
    fn place_of_cut(&self, width: usize, k: usize, [a, b]: [usize; 2], z: &[f64]) -> (f64, f64) {
        let (za, zb) = (z[a * width + k], z[b * width + k]);
        let (ea, eb) = (self.error[a], self.error[b]);
        let t = za / (za - zb);
        let room = (za - zb).abs() - ea - eb;
        let dt = ((1.0 - t).abs() * ea + t.abs() * eb) / room * SAFE + 2.0 * f64::EPSILON;
        match room > 0.0 && t.is_finite() {
            true => (t.clamp(0.0, 1.0), dt.min(1.0)),
            false => (0.5, 1.0),
        }
    }

    fn new_point(&mut self, [a, b]: [usize; 2], t: f64, dt: f64) {
        let d = self.skeleton.dimension;
        let (mut size, mut length) = (0.0f64, 0.0f64);
        for i in 0..d {
            let (from, to) = (self.skeleton.points[a * d + i], self.skeleton.points[b * d + i]);
            self.skeleton.points.push(from + t * (to - from));
            size = size.max(from.abs());
            length = length.max((to - from).abs());
        }
        let (da, db) = (self.skeleton.distance[a], self.skeleton.distance[b]);
        self.skeleton.distance.push(bound([da, db], t, dt, size, length));
    }

    /// The row of values at the new vertex, and their error.
    fn new_row(&mut self, l: usize, k: usize, [a, b]: [usize; 2], (t, dt): (f64, f64), z: &mut Vec<f64>) {
        let (width, last) = (self.network.layers[l].width, l + 1 == self.network.layers.len());
        let start = z.len();
        z.resize(start + width, 0.0);
        let (old, new) = z.split_at_mut(start);
        // No layer asks for the values of neurons that are done, if this is the last.
        let first = if last { k } else { 0 };
        let (from, to) = (&old[a * width + first..(a + 1) * width], &old[b * width + first..(b + 1) * width]);
        let (size, length) = pulp::Arch::new().dispatch(
            #[inline(always)]
            || interpolate(from, to, t, &mut new[first..]),
        );
        new[k] = 0.0;
        self.error.push(bound([self.error[a], self.error[b]], t, dt, size, length));
    }

    fn new_zeros(&mut self, a: usize, left: u32, id: u32) {
        let d = self.skeleton.dimension;
        for i in 0..d {
            let h = self.skeleton.zeros[a * d + i];
            let gone = h == left >> 1;
            self.skeleton.zeros.push(if gone { id } else { h });
            // One half of the cut edge goes up.
            self.skeleton.up.push(gone.into());
        }
    }

    /// The signs of finished layers inside an edge with one end at `a`, where it leaves a hyperplane.
    fn inherit_finished(&mut self, layer: &FlatLayer, a: usize, left: u32) {
        let words = self.skeleton.words;
        let start = self.skeleton.signs.len();
        self.skeleton.signs.extend_from_within(a * words..(a + 1) * words);
        let gone = (left >> 1) as usize;
        let mut change = None;
        if left & 1 == 1 && gone < layer.first {
            let (word, bit) = self.network.place(gone);
            change = Some((word, self.skeleton.signs[start + word], bit));
            self.skeleton.signs[start + word] |= bit;
        }
        self.faces.inherit(a, change);
    }

    /// The function along which edges are directed, and a bound on its error.
    pub(super) fn height_of(&self, v: usize) -> (f64, f64) {
        let (d, point) = (self.skeleton.dimension as f64, self.skeleton.point(v));
        let (mut height, mut size) = (0.0, 0.0);
        for (i, &x) in point.iter().enumerate() {
            height += self.coefficients[i] * x;
            size = larger(size, x.abs());
        }
        let rounding = (d + 2.0) * f64::EPSILON * size;
        (height, 1.5 * d * (self.skeleton.distance[v] + rounding) * SAFE)
    }
}

/// Whether a value is positive, if its error leaves no doubt; not a number is in doubt.
#[inline]
pub(crate) fn sure_sign(value: f64, error: f64) -> Option<bool> {
    if value > error {
        Some(true)
    } else if value < -error {
        Some(false)
    } else {
        None
    }
}

/// The error at a point between two others: values up to `size` that differ by up to `length`.
fn bound([ea, eb]: [f64; 2], t: f64, dt: f64, size: f64, length: f64) -> f64 {
    let mean = (1.0 - t) * ea + t * eb;
    (mean + dt * (ea + eb + length) + 4.0 * f64::EPSILON * (size + length)) * SAFE + TINY
}

/// `from + t (to - from)`; the largest of `from` and of the differences, in absolute value.
#[inline(always)]
fn interpolate(from: &[f64], to: &[f64], t: f64, new: &mut [f64]) -> (f64, f64) {
    let (mut size, mut length) = ([0.0f64; LANES], [0.0f64; LANES]);
    let mut chunks = new.chunks_exact_mut(LANES);
    for ((new, from), to) in (&mut chunks).zip(from.chunks_exact(LANES)).zip(to.chunks_exact(LANES)) {
        for i in 0..LANES {
            let step = to[i] - from[i];
            new[i] = from[i] + t * step;
            size[i] = larger(size[i], from[i].abs());
            length[i] = larger(length[i], step.abs());
        }
    }
    let rest = chunks.into_remainder();
    let at = from.len() - rest.len();
    for (i, new) in rest.iter_mut().enumerate() {
        let step = to[at + i] - from[at + i];
        *new = from[at + i] + t * step;
        size[i] = larger(size[i], from[at + i].abs());
        length[i] = larger(length[i], step.abs());
    }
    (size.into_iter().fold(0.0, larger), length.into_iter().fold(0.0, larger))
}

/// A coefficient of the function along which edges are directed, between 0.5 and 1.5.
pub(crate) fn coefficient(i: usize) -> f64 {
    0.5 + (0.618_033_988_749_894_9 * (i as f64 + 1.0)).fract()
}
