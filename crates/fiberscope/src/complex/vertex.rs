//! New vertices of a subdivision, with bounds on all errors.
//!
//! For every vertex `v` the point `x~` is within `distance` of the exact vertex, and the values `z~_j` of the
//! neurons of the current layer are within `E` of those at the exact vertex ([`super::errors`] follows `E`
//! from layer to layer). Neuron `k` cuts the edge from `a` to `b`, on which the layer is affine, at
//! `t = z_k(a) / (z_k(a) - z_k(b))`. If the values are off by `E_a` and `E_b`, then `t` is off by at most
//!
//! ```text
//! dt = ((1 - t) E_a + t E_b) / (|z_k(a) - z_k(b)| - E_a - E_b) + 4 u,
//! ```
//!
//! and a value at the new vertex by at most `(1 - t) E_a + t E_b + dt (E_a + E_b + |z~(b) - z~(a)|)` and the
//! rounding of the interpolation; likewise the point. A sign is certain if the value exceeds its error;
//! [`super::settle`] looks at the others.

use super::errors::sure_sign;
use super::flat::{FlatLayer, SAFE, TINY, bits_of};
use super::rows::{Rows, larger};
use super::skeleton::{Signs, Stop};
use super::work::{Place, Work};

impl Work<'_> {
    /// The vertices where neuron `k` of layer `l` is zero on edges.
    pub(super) fn new_vertices(
        &mut self,
        l: usize,
        k: usize,
        cut: &[u32],
        rows: &mut Rows,
    ) -> Result<(), Stop> {
        let layer = &self.network.layers[l];
        let first = self.skeleton.len();
        self.reserve(cut.len(), layer.words());
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        for &e in cut {
            let edge = self.skeleton.edges[e as usize];
            let ends = self.whole[self.whole_of[e as usize] as usize].map(|v| v as usize);
            let place = self.place_of_cut(k, ends, rows);
            self.new_point(place);
            self.new_zeros(edge.ends[0] as usize, edge.left[0], (layer.first + k) as u32);
            self.inherit_finished(layer, edge.ends[0] as usize, edge.left[0]);
            places.push(place);
        }
        self.new_rows(l, k, &places, rows);
        self.places = places;
        for (v, &e) in (first..).zip(cut) {
            self.new_signs(l, k, self.skeleton.edges[e as usize].ends, v, rows)?;
            self.height.push(self.height_of(v));
        }
        Ok(())
    }

    fn reserve(&mut self, count: usize, words: usize) {
        let d = self.skeleton.dimension;
        self.skeleton.points.reserve(d * count);
        self.skeleton.zeros.reserve(d * count);
        self.skeleton.up.reserve(d * count);
        self.skeleton.distance.reserve(count);
        self.skeleton.signs.reserve(self.skeleton.words * count);
        self.signs.reserve(words * count);
    }

    /// The signs of the layer at a new vertex on an edge.
    fn new_signs(
        &mut self,
        l: usize,
        k: usize,
        [a, b]: [u32; 2],
        v: usize,
        rows: &mut Rows,
    ) -> Result<(), Stop> {
        let layer = &self.network.layers[l];
        let words = layer.words();
        let (a, b) = (a as usize * words, b as usize * words);
        for word in 0..words {
            let (from, to) = (self.signs[a + word], self.signs[b + word]);
            let mut apart = from.apart(to);
            let mut own =
                Signs { positive: (from.positive | to.positive) & !apart, zero: from.zero & to.zero };
            if word == k / 64 {
                apart &= !(1 << (k % 64));
                own.zero |= 1 << (k % 64);
            }
            let mut open = 0;
            for bit in bits_of(apart) {
                match sure_sign(rows.value(v, 64 * word + bit as usize), self.error[v]) {
                    Some(true) => own.positive |= 1 << bit,
                    Some(false) => {}
                    None => open |= 1 << bit,
                }
            }
            if open != 0 {
                own.positive |= self.settle(l, v, rows, word, open)?;
                rows.set(v, k, 0.0);
            }
            self.signs.push(own);
        }
        Ok(())
    }

    /// Where a neuron is zero between two vertices, and how wrong that may be.
    fn place_of_cut(&self, k: usize, ends: [usize; 2], rows: &Rows) -> Place {
        let [za, zb] = ends.map(|v| rows.value(v, k));
        let [ea, eb] = ends.map(|v| self.error[v]);
        let t = za / (za - zb);
        let room = (za - zb).abs() - ea - eb;
        let dt = ((1.0 - t).abs() * ea + t.abs() * eb) / room * SAFE + 2.0 * f64::EPSILON;
        match room > 0.0 && t.is_finite() {
            true => Place { ends, t: t.clamp(0.0, 1.0), dt: dt.min(1.0) },
            false => Place { ends, t: 0.5, dt: 1.0 },
        }
    }

    fn new_point(&mut self, place: Place) {
        let d = self.skeleton.dimension;
        let (mut size, mut length) = (0.0f64, 0.0f64);
        let [a, b] = place.ends.map(|v| v * d);
        for i in 0..d {
            let (from, to) = (self.skeleton.points[a + i], self.skeleton.points[b + i]);
            self.skeleton.points.push(from + place.t * (to - from));
            size = larger(size, from.abs());
            length = larger(length, (to - from).abs());
        }
        let distance = bound(place.ends.map(|v| self.skeleton.distance[v]), place, size, length);
        self.skeleton.distance.push(distance);
    }

    /// The rows of values at the new vertices, and their errors.
    fn new_rows(&mut self, l: usize, k: usize, places: &[Place], rows: &mut Rows) {
        let first = if l + 1 == self.network.layers.len() { k } else { 0 };
        rows.reserve(places.len(), first);
        let from = self.skeleton.len() - places.len();
        pulp::Arch::new().dispatch(Between { rows, error: &mut self.error, places, from, k, first });
    }

    /// The hyperplanes of the edge, then the one that cuts it: sides first, then neurons, in their order.
    fn new_zeros(&mut self, a: usize, left: u32, id: u32) {
        let d = self.skeleton.dimension;
        for i in 0..d {
            let h = self.skeleton.zeros[a * d + i];
            if h != left >> 1 {
                self.skeleton.zeros.push(h);
            }
        }
        self.skeleton.zeros.push(id);
        self.skeleton.up.resize(self.skeleton.zeros.len(), 0);
        // One half of the cut edge goes up.
        if let Some(last) = self.skeleton.up.last_mut() {
            *last = 1;
        }
    }

    /// The signs of finished layers inside an edge with one end at `a`, where it leaves a hyperplane.
    fn inherit_finished(&mut self, layer: &FlatLayer, a: usize, left: u32) {
        let words = self.skeleton.words;
        let start = self.skeleton.signs.len();
        self.skeleton.signs.extend_from_within(a * words..(a + 1) * words);
        let gone = (left >> 1) as usize;
        let positive = Some(gone).filter(|&gone| left & 1 == 1 && gone < layer.first);
        if let Some(gone) = positive {
            let (word, bit) = self.network.place(gone);
            self.skeleton.signs[start + word] |= bit;
        }
        self.faces.inherit(a, positive);
    }
}

/// The rows of values of new vertices on neuron `k`, from neuron `first` on.
struct Between<'a> {
    rows: &'a mut Rows,
    error: &'a mut Vec<f64>,
    places: &'a [Place],
    from: usize,
    k: usize,
    first: usize,
}

impl pulp::WithSimd for Between<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for (v, &place) in (self.from..).zip(self.places) {
            let (size, length) = self.rows.push_between(place.ends, place.t, self.first);
            self.rows.set(v, self.k, 0.0);
            let own = bound(place.ends.map(|v| self.error[v]), place, size, length);
            self.error.push(own);
        }
    }
}

/// The error at a point between two others: values up to `size` that differ by up to `length`.
#[inline(always)]
fn bound([ea, eb]: [f64; 2], Place { t, dt, .. }: Place, size: f64, length: f64) -> f64 {
    let mean = (1.0 - t) * ea + t * eb;
    (mean + dt * (ea + eb + length) + 4.0 * f64::EPSILON * (size + length)) * SAFE + TINY
}
