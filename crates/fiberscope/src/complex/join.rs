//! The edges between the new vertices of a subdivision: two are joined iff they lie in one two-dimensional
//! face ([`super::faces`] finds them).

use super::faces::{Corner, Faces, count};
use super::flat::FlatLayer;
use super::skeleton::{Edge, Stop};
use super::work::Work;

impl Work<'_> {
    /// Joins the vertices from `first` on, which lie on neuron `k` of the layer, in every two-dimensional
    /// face that has two of them.
    pub(super) fn join_faces(&mut self, layer: &FlatLayer, k: usize, first: usize) -> Result<(), Stop> {
        let count = self.skeleton.len() - first;
        if count >= Corner::MOST {
            return Err(Stop::Irregular);
        }
        self.face_keys(layer, k, first);
        self.faces.pair()?;
        let d = self.skeleton.dimension;
        let words = layer.word + k / 64 + 1;
        for i in 0..self.faces.pairs.len() {
            let [a, b] = self.faces.pairs[i].map(|entry| Corner::of(self.faces.codes[entry as usize]));
            let [h, g] = [a, b].map(|c| self.skeleton.zeros[(first + c.vertex) * d + c.slot]);
            if !self.is_same_face(words, first, [(a, h), (b, g)]) {
                return Err(Stop::Irregular);
            }
            let left = [2 * h + a.side as u32, 2 * g + b.side as u32];
            let ends = [a, b].map(|c| first + c.vertex);
            let low = usize::from(!self.rises(ends[0], ends[1]));
            let order = [low, 1 - low];
            self.new_edge(Edge { ends: order.map(|i| ends[i] as u32), left: order.map(|i| left[i]) });
            self.skeleton.up[ends[low] * d + [a, b][low].slot] += 1;
        }
        Ok(())
    }

    /// The keys of the faces around the vertices from `first` on: all choices of a hyperplane but the last,
    /// and of a side.
    fn face_keys(&mut self, layer: &FlatLayer, k: usize, first: usize) {
        let (d, neurons) = (self.skeleton.dimension, self.network.neurons);
        let (own, part) = (layer.words(), k / 64);
        let Faces { leave, weights, hash, keys, codes, words, .. } = &mut self.faces;
        keys.clear();
        codes.clear();
        words.clear();
        for (v, &finished) in hash.iter().enumerate().skip(first) {
            words.extend_from_slice(&self.skeleton.signs_of(v)[..layer.word]);
            let start = words.len();
            words.extend(self.signs[v * own..v * own + part + 1].iter().map(|signs| signs.positive));
            words[start + part] &= (1 << (k % 64)) - 1;
            let current = words[start..].iter().zip(&weights[layer.word..]);
            let mut base =
                current.fold(finished, |sum, (&signs, &weights)| sum.wrapping_add(count(weights, signs)));
            let zeros = &self.skeleton.zeros[v * d..v * d + d - 1];
            for &h in zeros {
                base = base.wrapping_sub(leave[h as usize][0]);
            }
            for (slot, &h) in zeros.iter().enumerate() {
                let sides = if (h as usize) < neurons { 2 } else { 1 };
                for (side, change) in leave[h as usize].iter().enumerate().take(sides) {
                    keys.push(base.wrapping_add(*change));
                    codes.push(Corner::code(v - first, slot, side));
                }
            }
        }
    }

    /// Compares the signs of two faces, given by corners and the hyperplanes they leave.
    #[inline]
    fn is_same_face(&self, words: usize, first: usize, corners: [(Corner, u32); 2]) -> bool {
        let d = self.skeleton.dimension;
        // A corner lacks the bit of the hyperplane that it lies on and the face leaves on its positive side.
        let missing = corners.map(|(c, h)| match c.side {
            1 => self.network.place(h as usize),
            _ => (0, 0),
        });
        let [v, w] = corners.map(|(c, _)| &self.faces.words[c.vertex * words..(c.vertex + 1) * words]);
        let mut differing = 0;
        for (word, (v, w)) in v.iter().zip(w).enumerate() {
            let bits = missing.map(|(at, bit)| if at == word { bit } else { 0 });
            differing |= (v | bits[0]) ^ (w | bits[1]);
        }
        // The hyperplanes are in the same order everywhere.
        let [(a, _), (b, _)] = corners;
        let [v, w] = [a, b].map(|c| &self.skeleton.zeros[(first + c.vertex) * d..][..d]);
        let mut others = 0;
        for i in 0..d.saturating_sub(2) {
            others |= v[i + usize::from(i >= a.slot)] ^ w[i + usize::from(i >= b.slot)];
        }
        differing == 0 && others == 0
    }
}
