//! The values of a layer's neurons at the vertices of a subdivision, a row per vertex.
//!
//! In the last layer nobody asks for neurons that are done: the row of a vertex on neuron `k` begins with
//! `k`. Most vertices are on late neurons, so this saves most of the memory.

use super::flat::{FlatLayer, LANES};

#[derive(Default)]
pub(crate) struct Rows {
    values: Vec<f64>,
    /// Where the value of neuron 0 of a vertex is, or would be.
    start: Vec<usize>,
    /// The first neuron with a value.
    first: Vec<u32>,
    width: usize,
}

impl Rows {
    /// The values of a layer at vertices with these activations of the layer before.
    pub fn fill(&mut self, layer: &FlatLayer, activations: &[f64]) {
        let count = activations.len() / layer.inputs;
        self.width = layer.width;
        self.values.clear();
        self.values.resize(count * layer.width, 0.0);
        layer.forward(count, activations, &mut self.values);
        self.start.clear();
        self.start.extend((0..count).map(|v| v * layer.width));
        self.first.clear();
        self.first.resize(count, 0);
    }

    /// The activations of whole rows, in exchange for memory to use again.
    pub fn rectify(&mut self, layer: &FlatLayer, activations: &mut Vec<f64>) {
        std::mem::swap(&mut self.values, activations);
        if layer.relu {
            activations.iter_mut().for_each(|x| *x = x.max(0.0));
        }
    }

    /// All values of whole rows.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    #[inline]
    pub fn value(&self, v: usize, neuron: usize) -> f64 {
        self.values[self.start[v] + neuron]
    }

    #[inline]
    pub fn set(&mut self, v: usize, neuron: usize, value: f64) {
        self.values[self.start[v] + neuron] = value;
    }

    /// The values from neuron `first` on.
    #[inline(always)]
    fn range(&self, v: usize, first: usize) -> std::ops::Range<usize> {
        self.start[v] + first..self.start[v] + self.width
    }

    /// Replaces the values of a vertex.
    pub fn replace(&mut self, v: usize, value: impl Fn(usize) -> f64) {
        let first = self.first[v] as usize;
        let range = self.range(v, first);
        self.values[range].iter_mut().zip(first..).for_each(|(own, unit)| *own = value(unit));
    }

    /// Makes room for rows of new vertices.
    pub fn reserve(&mut self, count: usize, first: usize) {
        self.values.reserve(count * (self.width - first));
        self.start.reserve(count);
        self.first.reserve(count);
    }

    /// Adds a row at `t` between those of two vertices, from neuron `first` on; the largest value of the
    /// first and the largest difference, in absolute value.
    #[inline(always)]
    pub fn push_between(&mut self, [a, b]: [usize; 2], t: f64, first: usize) -> (f64, f64) {
        let begin = self.values.len();
        self.values.extend_from_within(self.range(a, first));
        let other = self.range(b, first);
        let (old, new) = self.values.split_at_mut(begin);
        self.start.push(begin - first);
        self.first.push(first as u32);
        interpolate(new, &old[other], t)
    }
}

#[inline(always)]
pub(crate) fn larger(m: f64, x: f64) -> f64 {
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

/// `row + t (to - row)` in place; the largest of `row` and of the differences, in absolute value.
#[inline(always)]
fn interpolate(row: &mut [f64], to: &[f64], t: f64) -> (f64, f64) {
    let (mut size, mut length) = ([0.0f64; LANES], [0.0f64; LANES]);
    let mut chunks = row.chunks_exact_mut(LANES);
    let mut others = to.chunks_exact(LANES);
    for (row, to) in (&mut chunks).zip(&mut others) {
        for i in 0..LANES {
            let step = to[i] - row[i];
            size[i] = larger(size[i], row[i].abs());
            length[i] = larger(length[i], step.abs());
            row[i] += t * step;
        }
    }
    for (i, (x, to)) in chunks.into_remainder().iter_mut().zip(others.remainder()).enumerate() {
        let step = to - *x;
        size[i] = larger(size[i], x.abs());
        length[i] = larger(length[i], step.abs());
        *x += t * step;
    }
    (size.into_iter().fold(0.0, larger), length.into_iter().fold(0.0, larger))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_between_rows() {
        let bias: Vec<f64> = (0..11).map(f64::from).collect();
        let weight = vec![1.0; 11];
        let layer = FlatLayer {
            width: 11,
            inputs: 1,
            columns: weight.clone(),
            weight,
            bias,
            relu: true,
            first: 0,
            word: 0,
            norm: 1.0,
            bias_size: 10.0,
            lipschitz: 1.0,
            error: [0.0; 2],
        };
        let mut rows = Rows::default();
        rows.fill(&layer, &[0.0, -4.0]);
        assert_eq!((rows.value(0, 3), rows.value(1, 3)), (3.0, -1.0));
        assert_eq!(rows.push_between([0, 1], 0.25, 2), (10.0, 4.0));
        assert_eq!(rows.push_between([1, 2], 0.5, 9), (6.0, 3.0));
        assert_eq!((rows.value(2, 2), rows.value(2, 10), rows.value(3, 10)), (1.0, 9.0, 7.5));
        rows.replace(3, |unit| unit as f64 + 10.0);
        assert_eq!((rows.value(3, 9), rows.value(2, 10)), (19.0, 9.0));
    }
}
