//! The edges between the new vertices of a subdivision: two are joined iff they lie in one two-dimensional
//! face ([`super::faces`] finds them).

use super::faces::{Corner, Faces, count};
use super::flat::FlatLayer;
use super::skeleton::{Edge, Stop};
use super::work::{NONE, Work};

impl Work<'_> {
    /// Joins the vertices from `first` on, which lie on neuron `k` of the layer, in every two-dimensional
    /// face that has two of them.
    pub(super) fn join_faces<const D: usize>(
        &mut self,
        layer: &FlatLayer,
        k: usize,
        first: usize,
    ) -> Result<(), Stop> {
        let count = self.skeleton.len() - first;
        if count >= Corner::MOST {
            return Err(Stop::Irregular);
        }
        self.face_keys::<D>(layer, k, first);
        self.faces.pair()?;
        let d = self.dimension::<D>();
        let words = layer.word + k / 64 + 1;
        let pairs = std::mem::take(&mut self.faces.pairs);
        self.skeleton.edges.reserve(pairs.len());
        for pair in &pairs {
            let [a, b] = pair.map(|entry| Corner::of(self.faces.codes[entry as usize]));
            let [h, g] = [a, b].map(|c| self.skeleton.zeros[(first + c.vertex) * d + c.slot]);
            if !self.is_same_face::<D>(words, first, [(a, h), (b, g)]) {
                return Err(Stop::Irregular);
            }
            let left = [2 * h + a.side as u32, 2 * g + b.side as u32];
            let ends = [a, b].map(|c| first + c.vertex);
            let low = usize::from(!self.rises(ends[0], ends[1]));
            let edge =
                Edge { ends: [ends[low] as u32, ends[1 - low] as u32], left: [left[low], left[1 - low]] };
            self.new_edge(layer.words(), edge, NONE);
            self.skeleton.up[ends[low] * d + [a, b][low].slot] += 1;
        }
        self.faces.pairs = pairs;
        Ok(())
    }

    /// The keys of the faces around the vertices from `first` on: all choices of a hyperplane but the last,
    /// and of a side.
    fn face_keys<const D: usize>(&mut self, layer: &FlatLayer, k: usize, first: usize) {
        let (d, neurons) = (self.dimension::<D>(), self.network.neurons);
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
    fn is_same_face<const D: usize>(
        &mut self,
        words: usize,
        first: usize,
        corners: [(Corner, u32); 2],
    ) -> bool {
        // A corner lacks the bit of the hyperplane that it lies on and the face leaves on its positive side.
        let missing = corners.map(|(c, h)| match c.side {
            1 => {
                let (word, bit) = self.network.place(h as usize);
                (c.vertex * words + word, bit)
            }
            _ => (c.vertex * words, 0),
        });
        missing.iter().for_each(|&(at, bit)| self.faces.words[at] |= bit);
        let [v, w] = corners.map(|(c, _)| &self.faces.words[c.vertex * words..(c.vertex + 1) * words]);
        let differing = v.iter().zip(w).fold(0, |differing, (v, w)| differing | (v ^ w));
        missing.iter().for_each(|&(at, bit)| self.faces.words[at] &= !bit);
        // The hyperplanes are in the same order everywhere.
        let d = self.dimension::<D>();
        let [(a, _), (b, _)] = corners;
        let [v, w] = [a, b].map(|c| &self.skeleton.zeros[(first + c.vertex) * d..][..d]);
        let mut others = 0;
        for i in 0..d.saturating_sub(2) {
            others |= v[i + usize::from(i >= a.slot)] ^ w[i + usize::from(i >= b.slot)];
        }
        differing == 0 && others == 0
    }
}
