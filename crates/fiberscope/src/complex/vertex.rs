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
use super::flat::{FlatLayer, SAFE, bits_of, larger};
use super::rows::{Place, Rows};
use super::skeleton::{Signs, Skeleton, Stop};
use super::work::{NONE, Work};

impl Work<'_> {
    /// The vertices where neuron `k` of layer `l` is zero on edges.
    pub(super) fn new_vertices<const D: usize>(
        &mut self,
        l: usize,
        k: usize,
        cut: &[u32],
        rows: &mut Rows,
    ) -> Result<(), Stop> {
        let layer = &self.network.layers[l];
        let first = self.skeleton.len();
        self.grow(cut.len());
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        for (v, &e) in (first..).zip(cut) {
            let edge = self.skeleton.edges[e as usize];
            let ends = match self.whole_of[e as usize] {
                NONE => edge.ends,
                whole => self.whole[whole as usize],
            };
            let place = place_of_cut(k, ends, rows);
            self.new_point::<D>(v, place);
            self.new_zeros::<D>(v, edge.ends[0] as usize, edge.left[0], (layer.first + k) as u32);
            self.inherit_finished(layer, v, edge.ends[0] as usize, edge.left[0]);
            places.push(place);
        }
        match self.is_last(l) {
            true if is_wide(layer, self.skeleton.dimension) => rows.remember(&places),
            true => rows.interpolate(&places, k, k),
            false => rows.interpolate(&places, k, 0),
        }
        self.places = places;
        self.signs.reserve(layer.words() * cut.len());
        for (v, &e) in (first..).zip(cut) {
            self.new_signs(l, k, self.skeleton.edges[e as usize].ends, v, rows)?;
            self.height.push(self.height_of(v));
        }
        Ok(())
    }

    fn is_last(&self, l: usize) -> bool {
        l + 1 == self.network.layers.len()
    }

    /// Makes room for so many vertices.
    fn grow(&mut self, count: usize) {
        let Skeleton { dimension, points, distance, zeros, up, signs, words, .. } = &mut self.skeleton;
        points.resize(points.len() + *dimension * count, 0.0);
        zeros.resize(zeros.len() + *dimension * count, 0);
        up.resize(zeros.len(), 0);
        distance.resize(distance.len() + count, 0.0);
        signs.resize(signs.len() + *words * count, 0);
        self.height.reserve(count);
        self.faces.hash.reserve(count);
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
                let (value, error) = rows.value(v, 64 * word + bit as usize);
                match sure_sign(value, error) {
                    Some(true) => own.positive |= 1 << bit,
                    Some(false) => {}
                    None => open |= 1 << bit,
                }
            }
            if open != 0 {
                own.positive |= self.settle(l, v, rows, word, open)?;
                rows.set(v, k, (0.0, 0.0));
            }
            self.signs.push(own);
        }
        Ok(())
    }

    fn new_point<const D: usize>(&mut self, v: usize, place: Place) {
        let d = self.dimension::<D>();
        let (mut size, mut length) = (0.0f64, 0.0f64);
        let (old, new) = self.skeleton.points.split_at_mut(v * d);
        let [a, b] = [place.ends[0] as usize, place.ends[1] as usize];
        let (from, to) = (&old[a * d..][..d], &old[b * d..][..d]);
        for ((x, from), to) in new[..d].iter_mut().zip(from).zip(to) {
            *x = from + place.t * (to - from);
            size = larger(size, from.abs());
            length = larger(length, (to - from).abs());
        }
        let distance = &mut self.skeleton.distance;
        distance[v] = place.bound([distance[a], distance[b]], size, length);
    }

    /// The hyperplanes of the edge from `a`, then the one that cuts it: sides first, then neurons, in their order.
    fn new_zeros<const D: usize>(&mut self, v: usize, a: usize, left: u32, id: u32) {
        let d = self.dimension::<D>();
        let (old, new) = self.skeleton.zeros.split_at_mut(v * d);
        // One hyperplane is left out, and the last place is overwritten if it is the last.
        let mut at = 0;
        for &h in &old[a * d..(a + 1) * d] {
            new[at] = h;
            at += usize::from(h != left >> 1);
        }
        new[d - 1] = id;
        // One half of the cut edge goes up.
        self.skeleton.up[(v + 1) * d - 1] = 1;
    }

    /// The signs of finished layers inside an edge with one end at `a`, where it leaves a hyperplane.
    fn inherit_finished(&mut self, layer: &FlatLayer, v: usize, a: usize, left: u32) {
        let words = self.skeleton.words;
        let (old, new) = self.skeleton.signs.split_at_mut(v * words);
        let finished = &old[a * words..][..layer.word];
        new.iter_mut().zip(finished).for_each(|(own, signs)| *own = *signs);
        let gone = (left >> 1) as usize;
        let positive = Some(gone).filter(|&gone| left & 1 == 1 && gone < layer.first);
        if let Some(gone) = positive {
            let (word, bit) = self.network.place(gone);
            new[word] |= bit;
        }
        self.faces.inherit(a, positive);
    }
}

/// Where a neuron is zero between two vertices, and how wrong that may be.
fn place_of_cut(k: usize, ends: [u32; 2], rows: &Rows) -> Place {
    let ((za, ea), (zb, eb)) = (rows.value(ends[0] as usize, k), rows.value(ends[1] as usize, k));
    let t = za / (za - zb);
    let room = (za - zb).abs() - ea - eb;
    let dt = ((1.0 - t).abs() * ea + t.abs() * eb) / room * SAFE + 2.0 * f64::EPSILON;
    match room > 0.0 && t.is_finite() {
        true => Place { ends, t: t.clamp(0.0, 1.0), dt: dt.min(1.0) },
        false => Place { ends, t: 0.5, dt: 1.0 },
    }
}

/// Whether a last layer has so many neurons that values are best found when they are asked for: a row costs as
/// much as it is long, a value as many others as a cell of this dimension has corners.
fn is_wide(layer: &FlatLayer, dimension: usize) -> bool {
    layer.width >= WIDE << dimension
}

/// How many neurons for each corner make a layer wide.
const WIDE: usize = 4;
