//! Backward rows: an upper bound of a linear function of the outputs (lemma E4).
//!
//! A row `(c_z, c_d, kappa, F)` of a layer says `f(x) <= c_z . z + c_d . d + kappa + F` on the box. It goes
//! through the layer's matrices to `a` and `e`, and through lines that bound `a` and `e` (R7) to `z` and `d`
//! of the layer before; at the inputs the maximum of a linear function on the box is left.

use fiberscope_core::wide::{Simd, WithSimd, wide};
use fiberscope_core::{Activation as Function, multiply_into};

use super::pair::PairLayer;
use super::phases::weigh;
use super::relax::Lines;
use super::space::{Gaps, OfNeuron, RowCoefficients, RowSpace, Sizes};
use super::vector::{abs_dot, add_scaled, dot};
use super::zonotope::Bounder;
use super::{TINY, U};

/// So many rows at a time are worth a product of matrices.
const MANY: usize = 4;

impl Bounder<'_> {
    /// A certified upper bound of `sign (f_B(x)[output] - f_A(x)[output])` on the box of the last run, which
    /// must have succeeded; infinite if something is not finite. Rows and forms are both bounds: take the
    /// smaller one.
    pub fn tighten(&mut self, output: usize, sign: i8) -> f64 {
        let outputs = self.pair.outputs();
        for row in [&mut self.rows.c_z, &mut self.rows.c_d] {
            row.clear();
            row.resize(outputs, 0.0);
        }
        self.rows.c_d[output] = if sign < 0 { -1.0 } else { 1.0 };
        self.single(0.0)
    }

    /// A certified upper bound of `c_z . f_A(x) + c_d . (f_B(x) - f_A(x)) + constant` on the box of the last
    /// run, for these very doubles.
    pub fn row(&mut self, c_z: &[f64], c_d: &[f64], constant: f64) -> f64 {
        for (kept, given) in [(&mut self.rows.c_z, c_z), (&mut self.rows.c_d, c_d)] {
            kept.clear();
            kept.extend_from_slice(given);
        }
        self.single(constant)
    }

    /// The bound of the row in `c_z`, `c_d` at the outputs.
    fn single(&mut self, constant: f64) -> f64 {
        self.rows.kappas.clear();
        self.rows.kappas.push(constant);
        self.descend(self.pair.layers().len() - 1, Start::Row);
        self.rows.kappas[0]
    }

    /// How far apart the lines of hidden layer `l` are.
    pub fn gap(&mut self, l: usize) -> &Gaps {
        self.prepare_rows();
        &self.rows.gaps[l]
    }

    /// The coefficients of the last row behind hidden layer `l`.
    pub fn row_coefficients(&self, l: usize) -> &RowCoefficients {
        &self.rows.coefficients[l]
    }

    /// The coefficients of the last row at the inputs: its maximum is where an input with a positive one is
    /// at its upper end.
    pub fn row_inputs(&self) -> &[f64] {
        &self.rows.input
    }

    /// The lines of hidden layer `l`.
    pub(super) fn lines(&mut self, l: usize) -> &[Lines] {
        self.prepare_rows();
        &self.rows.lines[l]
    }

    fn prepare_rows(&mut self) {
        self.prepare_rows_of(self.pair.layers().len() - 1);
    }

    /// Prepares what rows of layer `top` need: the bounds of the layers before it are final.
    pub(super) fn prepare_rows_of(&mut self, top: usize) {
        if self.rows.ready == 0 {
            let first = &mut self.rows.sizes[0];
            first.alpha.clear();
            first.alpha.extend(self.lo.iter().zip(&self.hi).map(|(lo, hi)| lo.abs().max(hi.abs())));
            first.eps.clear();
            first.eps.resize(self.lo.len(), 0.0);
            first.total = 1.0 + first.alpha.iter().sum::<f64>();
        }
        for l in self.rows.ready..=top {
            let layer = &self.pair.layers()[l];
            if let Some(before) = l.checked_sub(1) {
                self.take_lines(before);
            }
            wide(SizesBehind { layer, sizes: &mut self.rows.sizes[l] });
        }
        self.rows.ready = self.rows.ready.max(top + 1);
    }

    /// The lines of hidden layer `l`, and the sizes of `a` and `e` behind it.
    fn take_lines(&mut self, l: usize) {
        let layer = &self.pair.layers()[l];
        let sizes = &mut self.rows.sizes[l + 1];
        let (kept, lines, gaps) = (&self.kept[l], &mut self.rows.lines[l], &mut self.rows.gaps[l]);
        sizes.alpha.clear();
        sizes.eps.clear();
        lines.clear();
        gaps.a.clear();
        gaps.e.clear();
        sizes.total = 1.0;
        for i in 0..layer.rows {
            let (z, d, y) = ((kept.zl[i], kept.zu[i]), (kept.dl[i], kept.du[i]), (kept.yl[i], kept.yu[i]));
            let (zeta, delta) = (z.0.abs().max(z.1.abs()), d.0.abs().max(d.1.abs()));
            let (alpha, line) = match layer.activation {
                Function::Relu => (z.1.max(0.0), Lines::relu(z, d, y)),
                Function::Identity => (zeta, Lines::identity()),
            };
            sizes.alpha.push(alpha);
            sizes.eps.push(delta);
            sizes.total += alpha + 2.0 * delta + zeta;
            gaps.a.push(line.a_gap);
            gaps.e.push(line.e_gap);
            lines.push(line);
        }
        self.rows.slopes[l].take(&self.rows.lines[l], kept);
    }

    /// Takes rows from layer `top` to the inputs: those in `c_z`, `c_d`, or those of neurons. Their constants `kappas`
    /// become their bounds.
    pub(super) fn descend(&mut self, top: usize, start: Start) {
        self.prepare_rows_of(top);
        let layers = &self.pair.layers()[..=top];
        let Bounder { rows: space, kept, lo, hi, signs, .. } = self;
        space.errors.clear();
        space.errors.resize(space.kappas.len(), 0.0);
        for (l, layer) in layers.iter().enumerate().rev() {
            match start {
                Start::Neurons(neurons) if l == top => space.take_neurons(layer, l, neurons),
                _ => {
                    if let Start::Row = start {
                        let row = (&mut space.c_z[..], &mut space.c_d[..]);
                        space.errors[0] += weigh((signs, &space.multipliers), l, row, &kept[l]);
                    }
                    space.dense(layer, l);
                }
            }
            if l > 0 {
                space.relax(layer, l);
            }
        }
        // 4. The rounding of the error itself.
        let widest = layers.iter().map(|layer| layer.rows.max(layer.columns)).max().unwrap_or(0);
        let roundings = 4 * widest + 4 * layers.len() + 24;
        let inputs = lo.len();
        let RowSpace { input, kappas, errors, sizes, .. } = space;
        for ((c, kappa), error) in input.chunks_exact(inputs).zip(kappas).zip(errors) {
            // 3. Inputs.
            let (mut value, mut size) = (*kappa, kappa.abs());
            for ((c, alpha), (lo, hi)) in c.iter().zip(&sizes[0].alpha).zip(lo.iter().zip(hi.iter())) {
                value += (c * *lo).max(c * *hi);
                size += c.abs() * alpha;
            }
            let error = *error + 1.001 * (2 * inputs + 8) as f64 * U * size;
            let error = error * (1.0 + roundings as f64 * 1.01 * U);
            let sum = value + error;
            let bound = sum + 4.0 * U * sum.abs() + TINY;
            *kappa = if bound.is_finite() && error.is_finite() && size.is_finite() {
                bound
            } else {
                f64::INFINITY
            };
        }
    }
}

/// The sizes of what a layer makes of `a` and `e`.
struct SizesBehind<'r> {
    layer: &'r PairLayer,
    sizes: &'r mut Sizes,
}

impl WithSimd for SizesBehind<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let SizesBehind { layer, sizes: Sizes { alpha, eps, v_a, v_d, .. } } = self;
        v_a.clear();
        v_d.clear();
        for i in 0..layer.rows {
            let row = i * layer.columns..(i + 1) * layer.columns;
            v_a.push(abs_dot(simd, &layer.weight_a[row.clone()], alpha) + layer.bias_a[i].abs() + TINY);
            let size =
                abs_dot(simd, &layer.weight_d[row.clone()], alpha) + abs_dot(simd, &layer.weight_b[row], eps);
            v_d.push(size + layer.bias_d[i].abs() + TINY);
        }
    }
}

/// Where rows start.
#[derive(Clone, Copy)]
pub(super) enum Start<'r> {
    /// One row, at the outputs; signs have multipliers.
    Row,
    /// A row for each of these neurons.
    Neurons(&'r [OfNeuron]),
}

impl RowSpace {
    /// The coefficients behind layer `l`.
    fn behind(&mut self, l: usize, entries: usize) -> (&mut [f64], &mut [f64]) {
        let (a, e) = match l.checked_sub(1) {
            Some(hidden) => {
                let RowCoefficients { a, e } = &mut self.coefficients[hidden];
                e.resize(entries, 0.0);
                (a, &mut e[..])
            }
            None => (&mut self.input, &mut [][..]),
        };
        a.resize(entries, 0.0);
        (a, e)
    }

    /// 1. Dense, for rows that are multiples of `z` or `d` of one neuron.
    fn take_neurons(&mut self, layer: &PairLayer, l: usize, neurons: &[OfNeuron]) {
        let (n, m) = (neurons.len(), layer.columns);
        let (a, e) = self.behind(l, n * m);
        for (r, OfNeuron { neuron, change, sign }) in neurons.iter().enumerate() {
            let of = neuron * m..(neuron + 1) * m;
            let matrix = if *change { &layer.weight_d } else { &layer.weight_a };
            let into = &mut a[r * m..(r + 1) * m];
            into.iter_mut().zip(&matrix[of.clone()]).for_each(|(c, w)| *c = sign * w);
            if let Some(into) = e.get_mut(r * m..(r + 1) * m) {
                let factor = if *change { *sign } else { 0.0 };
                into.iter_mut().zip(&layer.weight_b[of]).for_each(|(c, w)| *c = factor * w);
            }
        }
        let sizes = &self.sizes[l];
        for (r, OfNeuron { neuron, change, sign }) in neurons.iter().enumerate() {
            let (bias, size) = match change {
                false => (layer.bias_a[*neuron], sizes.v_a[*neuron]),
                true => (layer.bias_d[*neuron], sizes.v_d[*neuron]),
            };
            self.kappas[r] = sign * bias;
            self.errors[r] += 1.001 * (2 * layer.rows + 8) as f64 * U * size + TINY * sizes.total;
        }
    }

    /// 1. Dense.
    fn dense(&mut self, layer: &PairLayer, l: usize) {
        let (count, n, m) = (self.kappas.len(), layer.rows, layer.columns);
        let (c_z, c_d) = (std::mem::take(&mut self.c_z), std::mem::take(&mut self.c_d));
        let (a, e) = self.behind(l, count * m);
        let shape = (count, n, m);
        product(shape, &c_z, &layer.weight_a, a, false);
        product(shape, &c_d, &layer.weight_d, a, true);
        if l > 0 {
            product(shape, &c_d, &layer.weight_b, e, false);
        }
        let sizes = &self.sizes[l];
        wide(Constants { layer, sizes, rows: (&c_z, &c_d), into: (&mut self.kappas, &mut self.errors) });
        (self.c_z, self.c_d) = (c_z, c_d);
    }

    /// 2. ReLU: from what is behind layer `l - 1` to its `z` and `d`.
    fn relax(&mut self, layer: &PairLayer, l: usize) {
        let (m, count) = (layer.columns, self.kappas.len());
        self.c_z.resize(count * m, 0.0);
        self.c_d.resize(count * m, 0.0);
        wide(Through { space: self, l, m });
    }
}

/// What biases and rounding add to the constants and errors of rows.
struct Constants<'r> {
    layer: &'r PairLayer,
    sizes: &'r Sizes,
    rows: (&'r [f64], &'r [f64]),
    into: (&'r mut [f64], &'r mut [f64]),
}

impl WithSimd for Constants<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Constants { layer, sizes, rows: (c_z, c_d), into: (kappas, errors) } = self;
        let n = layer.rows;
        let rows = c_z.chunks_exact(n).zip(c_d.chunks_exact(n));
        for ((c_z, c_d), (kappa, error)) in rows.zip(kappas.iter_mut().zip(errors)) {
            let size = kappa.abs() + abs_dot(simd, c_z, &sizes.v_a) + abs_dot(simd, c_d, &sizes.v_d);
            *kappa += dot(simd, c_z, &layer.bias_a);
            *kappa += dot(simd, c_d, &layer.bias_d);
            *error += 1.001 * (2 * n + 8) as f64 * U * size + TINY * sizes.total;
        }
    }
}

/// Rows on their way through the lines of layer `l - 1`, which has `m` neurons.
struct Through<'r> {
    space: &'r mut RowSpace,
    l: usize,
    m: usize,
}

impl WithSimd for Through<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Through { space, l, m } = self;
        let (slopes, delta) = (&space.slopes[l - 1], &space.sizes[l].eps);
        let RowCoefficients { a, e } = &space.coefficients[l - 1];
        let out = space.c_z.chunks_exact_mut(m).zip(space.c_d.chunks_exact_mut(m));
        let behind = a.chunks_exact(m).zip(e.chunks_exact(m));
        let constants = space.kappas.iter_mut().zip(&mut space.errors);
        for (((a, e), (c_z, c_d)), (kappa, error)) in behind.zip(out).zip(constants) {
            let before = kappa.abs();
            let sums = slopes.apply((a, e), delta, (c_z, c_d));
            *kappa += sums.kappa;
            *error += 4.0 * U * sums.slopes + 1.001 * (2 * m + 8) as f64 * U * (before + sums.offsets);
        }
    }
}

/// Rows times a matrix.
fn product((count, n, m): (usize, usize, usize), rows: &[f64], matrix: &[f64], out: &mut [f64], add: bool) {
    if count > MANY {
        return multiply_into((count, n, m), (rows, n), (matrix, m), (out, m), add);
    }
    wide(Few { shape: (n, m), rows, matrix, out, add });
}

/// A few rows times a matrix.
struct Few<'r> {
    shape: (usize, usize),
    rows: &'r [f64],
    matrix: &'r [f64],
    out: &'r mut [f64],
    add: bool,
}

impl WithSimd for Few<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Few { shape: (n, m), rows, matrix, out, add } = self;
        for (row, out) in rows.chunks_exact(n).zip(out.chunks_exact_mut(m)) {
            if !add {
                out.fill(0.0);
            }
            for (c, row) in row.iter().zip(matrix.chunks_exact(m)) {
                if *c != 0.0 {
                    add_scaled(out, *c, row);
                }
            }
        }
    }
}
