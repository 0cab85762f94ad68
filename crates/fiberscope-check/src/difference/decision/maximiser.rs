//! Where a row is largest, in the relaxed sense: what a search needs to choose weights. Nothing that is
//! checked rests on it.
//!
//! A row is the maximum of a linear function over all `(x, a, e)` whose `a` and `e` lie between their lines. It
//! is attained at a vertex `x` of the box, with every `a` and `e` on the line that the row took for it. As a
//! function of the weights the bound is convex, and the leads `A_i - A_l - g` at that place are a
//! subgradient.

use super::super::zonotope::Bounder;

impl Bounder<'_> {
    /// The outputs of A at the place where the last row is largest.
    pub fn relaxed_outputs(&self) -> Vec<f64> {
        let ends = self.lo.iter().zip(&self.hi).zip(&self.rows.input);
        let mut a: Vec<f64> = ends.map(|((lo, hi), c)| if *c > 0.0 { *hi } else { *lo }).collect();
        let mut e = vec![0.0; a.len()];
        let layers = self.pair.layers();
        for (l, layer) in layers.iter().enumerate() {
            let rows = |matrix: &[f64], x: &[f64]| -> Vec<f64> {
                let dot = |row: &[f64]| row.iter().zip(x).map(|(w, x)| w * x).sum();
                matrix.chunks_exact(layer.columns).map(dot).collect()
            };
            let mut z = rows(&layer.weight_a, &a);
            z.iter_mut().zip(&layer.bias_a).for_each(|(z, bias)| *z += bias);
            let Some(lines) = self.rows.lines.get(l) else { return z };
            let mut d = rows(&layer.weight_d, &a);
            let from_e = if l > 0 { rows(&layer.weight_b, &e) } else { vec![0.0; layer.rows] };
            d.iter_mut().zip(from_e.iter().zip(&layer.bias_d)).for_each(|(d, (e, bias))| *d += e + bias);
            let c = &self.rows.coefficients[l];
            (a, e) = (Vec::new(), Vec::new());
            for (i, line) in lines.iter().enumerate() {
                let of_a = if c.a[i] > 0.0 { line.a_upper } else { line.a_lower };
                let of_e = if c.e[i] > 0.0 { line.e_upper } else { line.e_lower };
                a.push(of_a.z * z[i] + of_a.offset);
                e.push(of_e.z * z[i] + of_e.d * d[i] + of_e.offset);
            }
        }
        a
    }
}
