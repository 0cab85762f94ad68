//! The values of a layer's neurons at the vertices of a subdivision.
//!
//! Vertices of the layers before have a row each, and those of the layer get one by interpolation, since the next
//! layer needs all values. In the last layer nobody asks for neurons that are done: the row of a vertex on
//! neuron `k` begins with `k`. Where that layer is wide, few of the others are asked for either: of a hundred
//! neurons two or three cut an edge. So new vertices have no rows there, but remember their cuts, and a value is
//! interpolated when it is asked for, from the `2^g` rows that a vertex on `g` of the layer's neurons goes back to.
//!
//! Bounds on errors are one for each vertex where there are few layers; in deep networks, where they grow from
//! vertex to vertex and from layer to layer, every value has its own.

use super::errors::{forward_with_errors, layer_errors, sign_words};
use super::flat::{FlatLayer, LANES, SAFE, TINY, larger};
use super::skeleton::{Signs, Skeleton};

/// Where an edge is cut: the ends of the whole edge, the place between them, and how wrong it may be.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub ends: [u32; 2],
    pub t: f64,
    pub dt: f64,
}

/// A value, and a bound on its error.
pub(crate) type Value = (f64, f64);

#[derive(Default)]
pub(crate) struct Rows {
    values: Vec<f64>,
    /// Where the value of neuron 0 of a vertex is, or would be; [`NONE`] for vertices without a row.
    start: Vec<usize>,
    /// The first neuron with a value.
    first: Vec<u32>,
    /// The cuts that the vertices without rows are, from this vertex on.
    cuts: Vec<Place>,
    old: usize,
    width: usize,
    /// Whether every value has a bound on its error; otherwise every row has one for all.
    is_fine: bool,
    /// The bounds, as the values lie or a number for each vertex.
    error: Vec<f64>,
    /// Memory to use again.
    spare: Vec<f64>,
    /// For how many vertices memory is taken, and at most how much.
    expected: (usize, usize),
}

/// The place of no row.
const NONE: usize = usize::MAX;

impl Rows {
    /// For so many points of so many coordinates that are known exactly, and the layers behind them.
    pub fn new(count: usize, dimension: usize, is_fine: bool) -> Self {
        let error = vec![0.0; if is_fine { count * dimension } else { count }];
        Rows { is_fine, error, ..Rows::default() }
    }

    /// Takes memory for so many vertices in every layer, and at most so many numbers.
    pub fn reserve(&mut self, vertices: usize, most: usize) {
        self.expected = (vertices, most);
        self.start.reserve(vertices);
        self.first.reserve(vertices);
    }

    /// The values of a layer at the vertices so far, which have these activations of the layer before it.
    pub fn fill(
        &mut self,
        layer: &FlatLayer,
        below: Option<&FlatLayer>,
        activations: &[f64],
        skeleton: &Skeleton,
    ) {
        let (vertices, most) = self.expected;
        let expected = (vertices * layer.width).min(most);
        self.values.reserve(expected.saturating_sub(self.values.len()));
        if self.is_fine {
            self.spare.reserve(expected.saturating_sub(self.spare.len()));
            let inputs = (activations, &mut self.error[..]);
            let outputs = (&mut self.values, &mut self.spare);
            forward_with_errors(layer, below, skeleton, inputs, outputs);
            std::mem::swap(&mut self.error, &mut self.spare);
        } else {
            layer_errors(layer, activations, &mut self.error);
            layer.forward(activations, &mut self.values);
        }
        let count = activations.len() / layer.inputs;
        (self.width, self.old) = (layer.width, count);
        self.start.clear();
        self.start.extend((0..count).map(|v| v * layer.width));
        self.first.clear();
        self.first.resize(count, 0);
        self.cuts.clear();
    }

    /// The activations of whole rows, in exchange for memory to use again.
    pub fn rectify(&mut self, layer: &FlatLayer, activations: &mut Vec<f64>) {
        std::mem::swap(&mut self.values, activations);
        if layer.relu {
            activations.iter_mut().for_each(|x| *x = x.max(0.0));
        }
    }

    /// The signs of whole rows, and where errors leave them open.
    pub fn signs(&self, signs: &mut [Signs]) -> Vec<(usize, usize, u64)> {
        let mut doubtful = Vec::new();
        sign_words(&self.values, self.width, &self.error, signs, &mut doubtful);
        doubtful
    }

    /// The value of a neuron at a vertex.
    #[inline]
    pub fn value(&self, v: usize, neuron: usize) -> Value {
        match self.start[v] {
            NONE => self.between(v, neuron),
            start if self.is_fine => (self.values[start + neuron], self.error[start + neuron]),
            start => (self.values[start + neuron], self.error[v]),
        }
    }

    /// The value at a vertex without a row.
    fn between(&self, v: usize, neuron: usize) -> Value {
        let place = self.cuts[v - self.old];
        let [a, b] = place.ends;
        let ((from, ea), (to, eb)) = (self.value(a as usize, neuron), self.value(b as usize, neuron));
        let step = to - from;
        (from + place.t * step, place.bound([ea, eb], from.abs(), step.abs()))
    }

    /// Notes the value of a neuron at a vertex, unless the row's bound would not hold for it; where there is no
    /// row, it is found again when it is asked for.
    #[inline]
    pub fn set(&mut self, v: usize, neuron: usize, (value, error): Value) {
        let start = self.start[v];
        if start != NONE && self.is_fine {
            (self.values[start + neuron], self.error[start + neuron]) = (value, error);
        } else if start != NONE && error <= self.error[v] {
            self.values[start + neuron] = value;
        }
    }

    /// The values from neuron `first` on.
    #[inline(always)]
    fn range(&self, v: usize, first: usize) -> std::ops::Range<usize> {
        self.start[v] + first..self.start[v] + self.width
    }

    /// Replaces the values of a vertex by others, if their errors are smaller.
    pub fn improve(&mut self, v: usize, value: impl Fn(usize) -> Value) {
        let first = self.first[v] as usize;
        if self.is_fine {
            self.add_row(v);
            for neuron in first..self.width {
                let (value, error) = value(neuron);
                if error < self.error[self.start[v] + neuron] {
                    self.set(v, neuron, (value, error));
                }
            }
            return;
        }
        // What is not a number is not lost.
        let larger = |m: f64, e: f64| if e <= m { m } else { e };
        let error = (first..self.width).map(|neuron| value(neuron).1).fold(0.0, larger);
        if error < self.error[v] {
            self.add_row(v);
            self.error[v] = error;
            (first..self.width).for_each(|neuron| self.values[self.start[v] + neuron] = value(neuron).0);
        }
    }

    /// Makes room for the row of a vertex that has none.
    fn add_row(&mut self, v: usize) {
        if self.start[v] == NONE {
            self.start[v] = self.values.len();
            self.values.resize(self.values.len() + self.width, 0.0);
            if self.is_fine {
                self.error.resize(self.values.len(), f64::INFINITY);
            }
        }
    }

    /// Adds vertices at these places that have no rows.
    pub fn remember(&mut self, places: &[Place]) {
        self.cuts.extend_from_slice(places);
        let count = self.start.len() + places.len();
        self.start.resize(count, NONE);
        self.first.resize(count, 0);
        if !self.is_fine {
            self.error.resize(count, f64::INFINITY);
        }
    }

    /// Adds the rows of vertices at these places on neuron `k`, from neuron `first` on.
    pub fn interpolate(&mut self, places: &[Place], k: usize, first: usize) {
        let (old, begin, length) = (self.start.len(), self.values.len(), self.width - first);
        self.values.resize(begin + places.len() * length, 0.0);
        self.start.extend((0..places.len()).map(|row| begin + row * length - first));
        self.first.resize(self.start.len(), first as u32);
        self.error.resize(if self.is_fine { self.values.len() } else { self.start.len() }, 0.0);
        pulp::Arch::new().dispatch(Between { rows: self, places, old, k, first });
    }
}

/// The rows of new vertices, from number `old` on.
struct Between<'a> {
    rows: &'a mut Rows,
    places: &'a [Place],
    old: usize,
    k: usize,
    first: usize,
}

impl pulp::WithSimd for Between<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Between { rows, places, old, k, first } = self;
        for (v, place) in (old..).zip(places) {
            let [a, b] = [place.ends[0] as usize, place.ends[1] as usize];
            let (from, to) = (rows.range(a, first), rows.range(b, first));
            let begin = rows.start[v] + first;
            let (old, new) = rows.values.split_at_mut(begin);
            let row = &mut new[..from.len()];
            if rows.is_fine {
                let (old_errors, errors) = rows.error.split_at_mut(begin);
                let ends = [&old_errors[from.clone()], &old_errors[to.clone()]];
                between_fine(row, [&old[from], &old[to]], &mut errors[..row.len()], ends, place);
                rows.error[begin + k - first] = 0.0;
            } else {
                let (size, length) = between(row, [&old[from], &old[to]], place.t);
                rows.error[v] = place.bound([rows.error[a], rows.error[b]], size, length);
            }
            rows.values[begin + k - first] = 0.0;
        }
    }
}

/// `from + t (to - from)`, with bounds on the errors.
#[inline(always)]
fn between_fine(
    row: &mut [f64],
    [from, to]: [&[f64]; 2],
    errors: &mut [f64],
    [ea, eb]: [&[f64]; 2],
    place: &Place,
) {
    let rows = row.iter_mut().zip(from).zip(to).zip(errors).zip(ea).zip(eb);
    for (((((x, from), to), error), ea), eb) in rows {
        let step = to - from;
        *x = from + place.t * step;
        *error = place.bound([*ea, *eb], from.abs(), step.abs());
    }
}

impl Place {
    /// The error at the place, from those at the ends: of values up to `size` that differ by up to `length`.
    #[inline(always)]
    pub fn bound(&self, [ea, eb]: [f64; 2], size: f64, length: f64) -> f64 {
        let mean = (1.0 - self.t) * ea + self.t * eb;
        (mean + self.dt * (ea + eb + length) + 4.0 * f64::EPSILON * (size + length)) * SAFE + TINY
    }
}

/// `from + t (to - from)`; the largest of `from` and of the differences, in absolute value.
#[inline(always)]
fn between(row: &mut [f64], [from, to]: [&[f64]; 2], t: f64) -> (f64, f64) {
    let (mut size, mut length) = ([0.0f64; LANES], [0.0f64; LANES]);
    let mut chunks = row.chunks_exact_mut(LANES);
    let (mut froms, mut tos) = (from.chunks_exact(LANES), to.chunks_exact(LANES));
    for ((row, from), to) in (&mut chunks).zip(&mut froms).zip(&mut tos) {
        for i in 0..LANES {
            let step = to[i] - from[i];
            size[i] = larger(size[i], from[i].abs());
            length[i] = larger(length[i], step.abs());
            row[i] = from[i] + t * step;
        }
    }
    let rest = chunks.into_remainder().iter_mut().zip(froms.remainder()).zip(tos.remainder());
    for (i, ((x, from), to)) in rest.enumerate() {
        let step = to - from;
        size[i] = larger(size[i], from.abs());
        length[i] = larger(length[i], step.abs());
        *x = from + t * step;
    }
    (size.into_iter().fold(0.0, larger), length.into_iter().fold(0.0, larger))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer() -> FlatLayer {
        let weight = vec![1.0; 11];
        FlatLayer {
            width: 11,
            inputs: 1,
            columns: [&weight[..], &[0.0; 5]].concat(),
            weight,
            bias: (0..11).map(f64::from).collect(),
            relu: true,
            first: 0,
            word: 0,
            norm: 1.0,
            bias_size: 10.0,
            lipschitz: 1.0,
            error: [0.0; 2],
        }
    }

    /// Rows at two points, with a larger error than they have.
    fn start(points: [f64; 2]) -> Rows {
        let mut rows = Rows::new(2, 1, false);
        rows.fill(&layer(), None, &points, &Skeleton { dimension: 1, ..Skeleton::default() });
        rows.error.fill(1e-9);
        rows
    }

    fn place(ends: [u32; 2], t: f64) -> Place {
        Place { ends, t, dt: 0.0 }
    }

    #[test]
    fn rows_between_rows() {
        let mut rows = start([0.0, -4.0]);
        assert_eq!((rows.value(0, 3), rows.value(1, 3)), ((3.0, 1e-9), (-1.0, 1e-9)));
        rows.interpolate(&[place([0, 1], 0.25)], 2, 2);
        rows.interpolate(&[place([1, 2], 0.5)], 9, 9);
        assert_eq!((rows.value(2, 2).0, rows.value(2, 10).0, rows.value(3, 10).0), (0.0, 9.0, 7.5));
        assert!((1..4).all(|v| (1e-9..1.1e-9).contains(&rows.error[v])));
        rows.improve(3, |_| (0.0, 1.0));
        assert_eq!(rows.value(3, 10).0, 7.5);
        rows.improve(3, |unit| (unit as f64 + 10.0, 1e-12));
        assert_eq!((rows.value(3, 9), rows.value(2, 10).0), ((19.0, 1e-12), 9.0));
    }

    /// A bound for every value is at most the one for its row.
    #[test]
    fn bounds_of_values() {
        let skeleton = Skeleton { dimension: 1, ..Skeleton::default() };
        let [coarse, fine] = [false, true].map(|is_fine| {
            let mut rows = Rows::new(2, 1, is_fine);
            rows.fill(&layer(), None, &[0.5, -4.0], &skeleton);
            let cuts = [place([0, 1], 0.3), place([1, 2], 0.6), place([2, 3], 0.9)];
            for cut in cuts.map(|place| Place { dt: 1e-12, ..place }) {
                rows.interpolate(&[cut], 1, 0);
            }
            rows
        });
        for (v, neuron) in (0..5).flat_map(|v| (0..11).map(move |neuron| (v, neuron))) {
            let ((a, error), (b, own)) = (coarse.value(v, neuron), fine.value(v, neuron));
            assert!(
                (a - b).abs() <= own && own <= 1.000_000_1 * error,
                "{v} {neuron}: {a} {b} {error} {own}"
            );
        }
        assert_eq!(fine.value(3, 1), (0.0, 0.0));
    }

    /// The same values and no larger errors without rows.
    #[test]
    fn values_without_rows() {
        let (mut stored, mut found) = (start([0.5, -4.0]), start([0.5, -4.0]));
        let cuts = [place([0, 1], 0.3), place([1, 2], 0.6), place([2, 3], 0.9), place([4, 0], 0.1)];
        for cut in cuts.map(|place| Place { dt: 1e-12, ..place }) {
            stored.interpolate(&[cut], 0, 0);
            found.remember(&[cut]);
        }
        for (v, neuron) in (0..6).flat_map(|v| (1..11).map(move |neuron| (v, neuron))) {
            let ((a, error), (b, own)) = (stored.value(v, neuron), found.value(v, neuron));
            assert!(a == b && own <= error, "{v} {neuron}: {a} {b} {error} {own}");
        }
        // A row that was found elsewhere counts for vertices behind it, too.
        found.set(4, 5, (1e9, 0.0));
        found.improve(4, |unit| (unit as f64, 1e-12));
        assert_eq!(found.value(4, 5), (5.0, 1e-12));
        assert_eq!(found.value(5, 5).0, 5.0 + 0.1 * (5.5 - 5.0));
    }
}
