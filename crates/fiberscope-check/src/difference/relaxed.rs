//! Where the bound of a row is attained.
//!
//! A row is the maximum over the box of a linear function of the inputs, which bounds the true one: every `a`
//! and `e` on the way was replaced by a line of `z` and `d`. With these lines in the place of the ReLUs the
//! networks have values at the vertex where the maximum is, and the derivative of the bound by a multiplier
//! is the value of what it multiplies. Nothing that is checked rests on this.

use fiberscope_core::{Activation as Function, Operand};

use super::zonotope::Bounder;

impl Bounder<'_> {
    /// The values of the pre-activations with known signs, times their signs, where the last row has its
    /// maximum: the derivatives of that bound by the multipliers.
    pub fn derivatives(&self, found: &mut Vec<f64>) {
        found.clear();
        found.resize(self.signs.len(), 0.0);
        let ends = self.lo.iter().zip(&self.hi).zip(&self.rows.input);
        let mut a: Vec<f64> = ends.map(|((lo, hi), c)| if *c > 0.0 { *hi } else { *lo }).collect();
        let mut e = vec![0.0; a.len()];
        let deepest = self.signs.iter().map(|sign| sign.neuron.layer + 1).max().unwrap_or(0);
        for (l, layer) in self.pair.layers()[..deepest].iter().enumerate() {
            let dot = |matrix: &[f64], i: usize, x: &[f64]| -> f64 {
                let row = &matrix[i * layer.columns..(i + 1) * layer.columns];
                row.iter().zip(x).map(|(w, x)| w * x).sum()
            };
            let z = |i| layer.bias_a[i] + dot(&layer.weight_a, i, &a);
            let z: Vec<f64> = (0..layer.rows).map(z).collect();
            let changed = |i| if l == 0 { 0.0 } else { dot(&layer.weight_b, i, &e) };
            let d = |i| layer.bias_d[i] + dot(&layer.weight_d, i, &a) + changed(i);
            let d: Vec<f64> = (0..layer.rows).map(d).collect();
            for (sign, found) in self.signs.iter().zip(found.iter_mut()) {
                let i = sign.neuron.unit;
                if sign.neuron.layer == l {
                    let t = if sign.operand == Operand::A { z[i] } else { z[i] + d[i] };
                    *found = sign.factor() * t;
                }
            }
            if l + 1 == deepest {
                return;
            }
            (a, e) = (Vec::with_capacity(layer.rows), Vec::with_capacity(layer.rows));
            for (i, lines) in self.rows.lines[l].iter().enumerate() {
                if layer.activation == Function::Identity {
                    a.push(z[i]);
                    e.push(d[i]);
                    continue;
                }
                let coefficients = &self.rows.coefficients[l];
                let of_a = if coefficients.a[i] > 0.0 { &lines.a_upper } else { &lines.a_lower };
                let of_e = if coefficients.e[i] > 0.0 { &lines.e_upper } else { &lines.e_lower };
                a.push(of_a.z * z[i] + of_a.offset);
                e.push(of_e.z * z[i] + of_e.d * d[i] + of_e.offset);
            }
        }
    }
}
