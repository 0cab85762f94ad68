//! Backward rows: an upper bound of a linear function of the outputs (lemma E4).
//!
//! A row `(c_z, c_d, kappa, F)` of a layer says `f(x) <= c_z . z + c_d . d + kappa + F` on the box. It goes
//! through the layer's matrices to `a` and `e`, and through lines that bound `a` and `e` (R7) to `z` and `d`
//! of the layer before; at the inputs the maximum of a linear function on the box is left.

use fiberscope_core::Activation as Function;

use super::phases::weigh;
use super::relax::{Line, Lines};
use super::space::{Gaps, RowCoefficients};
use super::vector::{abs_dot, add_scaled};
use super::zonotope::Bounder;
use super::{TINY, U};

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
        self.descend(0.0)
    }

    /// A certified upper bound of `c_z . f_A(x) + c_d . (f_B(x) - f_A(x)) + constant` on the box of the last
    /// run, for these very doubles.
    pub fn row(&mut self, c_z: &[f64], c_d: &[f64], constant: f64) -> f64 {
        for (kept, given) in [(&mut self.rows.c_z, c_z), (&mut self.rows.c_d, c_d)] {
            kept.clear();
            kept.extend_from_slice(given);
        }
        self.descend(constant)
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
        if self.rows.ready {
            return;
        }
        self.rows.ready = true;
        let first = &mut self.rows.sizes[0];
        first.alpha.clear();
        first.alpha.extend(self.lo.iter().zip(&self.hi).map(|(lo, hi)| lo.abs().max(hi.abs())));
        first.eps.clear();
        first.eps.resize(self.lo.len(), 0.0);
        first.total = 1.0 + first.alpha.iter().sum::<f64>();
        for (l, layer) in self.pair.layers().iter().enumerate() {
            let sizes = &mut self.rows.sizes[l];
            sizes.v_a.clear();
            sizes.v_d.clear();
            for i in 0..layer.rows {
                let row = i * layer.columns..(i + 1) * layer.columns;
                let of = |matrix: &[f64], size: &[f64]| abs_dot(&matrix[row.clone()], size);
                sizes.v_a.push(of(&layer.weight_a, &sizes.alpha) + layer.bias_a[i].abs() + TINY);
                let v_d = of(&layer.weight_d, &sizes.alpha) + of(&layer.weight_b, &sizes.eps);
                sizes.v_d.push(v_d + layer.bias_d[i].abs() + TINY);
            }
            let Some(sizes) = self.rows.sizes.get_mut(l + 1) else { break };
            let (kept, lines, gaps) = (&self.kept[l], &mut self.rows.lines[l], &mut self.rows.gaps[l]);
            sizes.alpha.clear();
            sizes.eps.clear();
            lines.clear();
            gaps.a.clear();
            gaps.e.clear();
            sizes.total = 1.0;
            for i in 0..layer.rows {
                let (z, d, y) =
                    ((kept.zl[i], kept.zu[i]), (kept.dl[i], kept.du[i]), (kept.yl[i], kept.yu[i]));
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
        }
    }

    /// Takes the row in `c_z`, `c_d` from the outputs to the inputs.
    fn descend(&mut self, mut kappa: f64) -> f64 {
        self.prepare_rows();
        let mut error = 0.0;
        let layers = self.pair.layers();
        let Bounder { rows: space, kept, lo, hi, signs, .. } = self;
        let (mut c_z, mut c_d) = (std::mem::take(&mut space.c_z), std::mem::take(&mut space.c_d));
        for (l, layer) in layers.iter().enumerate().rev() {
            error += weigh((signs, &space.multipliers), l, (&mut c_z, &mut c_d), &kept[l]);
            // 1. Dense.
            let sizes = &space.sizes[l];
            let (c_a, c_e) = match l.checked_sub(1) {
                Some(hidden) => {
                    let RowCoefficients { a, e } = &mut space.coefficients[hidden];
                    e.clear();
                    e.resize(layer.columns, 0.0);
                    (a, Some(e))
                }
                None => (&mut space.input, None),
            };
            c_a.clear();
            c_a.resize(layer.columns, 0.0);
            let mut no_e = [];
            let c_e = c_e.map_or(&mut no_e[..], |e| &mut e[..]);
            let mut size = kappa.abs();
            for i in (0..layer.rows).filter(|&i| c_z[i] != 0.0 || c_d[i] != 0.0) {
                let row = i * layer.columns..(i + 1) * layer.columns;
                add_scaled(c_a, c_z[i], &layer.weight_a[row.clone()]);
                add_scaled(c_a, c_d[i], &layer.weight_d[row.clone()]);
                add_scaled(c_e, c_d[i], &layer.weight_b[row]);
                kappa += c_z[i] * layer.bias_a[i];
                kappa += c_d[i] * layer.bias_d[i];
                size += c_z[i].abs() * sizes.v_a[i] + c_d[i].abs() * sizes.v_d[i];
            }
            error += 1.001 * (2 * layer.rows + 8) as f64 * U * size + TINY * sizes.total;
            // 2. ReLU.
            let Some(hidden) = l.checked_sub(1) else { break };
            let (lines, bounds) = (&space.lines[hidden], &kept[hidden]);
            c_z.clear();
            c_d.clear();
            let (mut slopes, mut offsets) = (0.0, kappa.abs());
            for (i, lines) in lines.iter().enumerate() {
                let (a, e) = (c_a[i], c_e[i]);
                let of_a: &Line = if a > 0.0 { &lines.a_upper } else { &lines.a_lower };
                let of_e: &Line = if e > 0.0 { &lines.e_upper } else { &lines.e_lower };
                let (zeta, delta) = (bounds.zl[i].abs().max(bounds.zu[i].abs()), sizes.eps[i]);
                let (from_e, from_a, from_d) = (e * of_e.z, a * of_a.z, e * of_e.d);
                c_z.push(from_e + from_a);
                c_d.push(from_d);
                let (offset_e, offset_a) = (e * of_e.offset, a * of_a.offset);
                kappa += offset_e;
                kappa += offset_a;
                slopes += (from_e.abs() + from_a.abs()) * zeta + from_d.abs() * delta;
                offsets += offset_e.abs() + offset_a.abs();
            }
            error += 4.0 * U * slopes + 1.001 * (2 * layer.columns + 8) as f64 * U * offsets;
        }
        // 3. Inputs.
        let (mut value, mut size) = (kappa, kappa.abs());
        for ((c, alpha), (lo, hi)) in space.input.iter().zip(&space.sizes[0].alpha).zip(lo.iter().zip(hi)) {
            value += (c * *lo).max(c * *hi);
            size += c.abs() * alpha;
        }
        error += 1.001 * (2 * lo.len() + 8) as f64 * U * size;
        (space.c_z, space.c_d) = (c_z, c_d);
        // 4. The rounding of the error itself.
        let widest = layers.iter().map(|layer| layer.rows.max(layer.columns)).max().unwrap_or(0);
        let roundings = 4 * widest + 4 * layers.len() + 24;
        let error = error * (1.0 + roundings as f64 * 1.01 * U);
        let sum = value + error;
        let bound = sum + 4.0 * U * sum.abs() + TINY;
        if bound.is_finite() && error.is_finite() { bound } else { f64::INFINITY }
    }
}
