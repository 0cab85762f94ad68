//! Signs and heights that the errors of a subdivision leave open.
//!
//! Vertex `v` is the point where its `d` hyperplanes, as affine functions `F` with gradients `M` on the region where its zeros are off, are zero. Newton's method in doubles gives a point `x` and an approximate inverse `X` of `M`. With `eta = |I - X M|`, rounding of `M` included,
//!
//! ```text
//! |v - x| <= |X| max_i |F_i(x)| / (1 - eta)      if eta < 1,
//! ```
//!
//! with row-sum norms, rounding of `F` included; the new bounds do not depend on how the vertex was found. What they still leave open is solved and evaluated in rational numbers.

use fiberscope_core::Rational;

use super::flat::{Bounded, FlatNetwork};
use super::lp::invert;
use super::oracle::apply;
use super::rows::{Rows, largest};
use super::skeleton::{Stop, Work};
use super::vertex::{SAFE, TINY, coefficient, sure_sign};

impl Work<'_> {
    /// The positive ones among the neurons `bits` of a word at vertex `v`, whose point and row of values get better.
    #[cold]
    pub(super) fn settle(
        &mut self,
        l: usize,
        v: usize,
        rows: &mut Rows,
        word: usize,
        bits: u64,
    ) -> Result<u64, Stop> {
        let flat = self.network;
        let layer = &flat.layers[l];
        self.refine(v);
        let point = self.skeleton.point(v);
        let better = values(flat, l, point, self.skeleton.distance[v]);
        if better.error() < self.error[v] {
            self.error[v] = better.error();
            rows.replace(v, &better.values);
        }
        let mut exact: Option<Vec<Rational>> = None;
        let (mut positive, mut rest) = (0, bits);
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            let unit = 64 * word + bit as usize;
            if sure_sign(rows.value(v, unit), self.error[v]).is_none() {
                let signs = self.skeleton.signs_of(v);
                let active = |neuron: usize| is_positive(flat, signs, neuron);
                if exact.is_none() {
                    exact = Some(self.exact_vertex(v).ok_or(Stop::Irregular)?);
                }
                let vertex = exact.as_deref().expect("it was just computed");
                let value = apply(&self.oracle.function(flat, layer.first + unit, active), vertex);
                if value.is_zero() {
                    return Err(Stop::Irregular);
                }
                let float = value.to_f64();
                let float = if float == 0.0 { f64::from(value.signum()) * f64::MIN_POSITIVE } else { float };
                rows.set(v, unit, float);
            }
            positive |= u64::from(rows.value(v, unit) > 0.0) << bit;
        }
        Ok(positive)
    }

    /// Whether vertex `b` is higher than `a`.
    #[inline]
    pub(super) fn rises(&mut self, a: usize, b: usize) -> bool {
        self.sure_rise(a, b).unwrap_or_else(|| {
            for v in [a, b] {
                self.refine(v);
                self.height[v] = self.height_of(v);
            }
            self.sure_rise(a, b).unwrap_or_else(|| self.rises_exactly(a, b))
        })
    }

    #[inline]
    fn sure_rise(&self, a: usize, b: usize) -> Option<bool> {
        let ((from, error_a), (to, error_b)) = (self.height[a], self.height[b]);
        sure_sign(to - from, error_a + error_b)
    }

    /// Where doubles are not sure; on a tie the order of coordinates decides, which is a small change of the function.
    #[cold]
    fn rises_exactly(&self, a: usize, b: usize) -> bool {
        let [p, q] =
            [a, b].map(|v| self.exact_vertex(v).expect("the hyperplanes of a vertex are independent"));
        let exact = |i: usize| Rational::from_f64(coefficient(i)).expect("a finite number");
        let terms = p.iter().zip(&q).enumerate().map(|(i, (p, q))| &exact(i) * &(q - p));
        match terms.sum::<Rational>().signum() {
            0 => q > p,
            sign => sign > 0,
        }
    }

    fn exact_vertex(&self, v: usize) -> Option<Vec<Rational>> {
        self.oracle.vertex(self.network, self.skeleton.zeros_of(v), self.skeleton.signs_of(v))
    }

    /// Makes the point of a vertex better, if it can.
    fn refine(&mut self, v: usize) {
        let d = self.skeleton.dimension;
        let mut x = self.skeleton.point(v).to_vec();
        if self.skeleton.distance[v] <= 16.0 * f64::EPSILON * largest(&x) {
            return;
        }
        let mut bound = f64::INFINITY;
        for _ in 0..3 {
            let system = System::new(self, v, &x);
            let Some(inverse) = invert(&system.rows) else { return };
            bound = system.distance(&inverse);
            let step = |i: usize| (0..d).map(|k| inverse[i][k] * system.values[k]).sum::<f64>();
            let next: Vec<f64> = (0..d).map(|i| x[i] - step(i)).collect();
            if bound <= 4.0 * f64::EPSILON * largest(&x) || next.iter().any(|x| !x.is_finite()) {
                break;
            }
            let after = System::new(self, v, &next).distance(&inverse);
            if after.is_nan() || after >= bound {
                break;
            }
            (x, bound) = (next, after);
        }
        if bound < self.skeleton.distance[v] {
            self.skeleton.points[v * d..(v + 1) * d].copy_from_slice(&x);
            self.skeleton.distance[v] = bound;
        }
    }
}

/// The hyperplanes of a vertex at a point.
struct System {
    values: Vec<f64>,
    rows: Vec<Vec<f64>>,
    /// Bounds on the errors of the values, and of the rows in the sum norm.
    value_error: f64,
    row_error: f64,
}

impl System {
    fn new(work: &Work, v: usize, x: &[f64]) -> Self {
        let (flat, d) = (work.network, x.len());
        let (zeros, signs) = (work.skeleton.zeros_of(v), work.skeleton.signs_of(v));
        let size = largest(x);
        let mut system = System {
            values: vec![0.0; d],
            rows: vec![Vec::new(); d],
            value_error: 2.0 * f64::EPSILON * size + TINY,
            row_error: 0.0,
        };
        for (k, &h) in zeros.iter().enumerate().filter(|(_, h)| **h as usize >= flat.neurons) {
            let side = h as usize - flat.neurons;
            system.values[k] = x[side / 2] - work.oracle.sides()[side / 2][side % 2];
            system.rows[k] = (0..d).map(|j| f64::from(u8::from(j == side / 2))).collect();
        }
        // The point, and the unit vectors without biases, through the network with its neurons off or on as signs say.
        let mut point = Bounded { values: x.to_vec(), errors: vec![0.0; d] };
        let unit = |j: usize| (0..d).map(|i| f64::from(u8::from(i == j))).collect();
        let mut a: Vec<Vec<f64>> = (0..d).map(unit).collect();
        let top = zeros.iter().filter_map(|&h| flat.layer_of.get(h as usize)).max().copied();
        let layers = top.map_or(0, |top| top as usize + 1);
        for (l, layer) in flat.layers.iter().enumerate().take(layers) {
            // Of the last layer, the values of the zeros are enough.
            let wanted = |unit: usize| l + 1 < layers || zeros.contains(&((layer.first + unit) as u32));
            for a in &mut a {
                let dot = |(unit, row): (usize, &[f64])| match wanted(unit) {
                    true => row.iter().zip(a.iter()).map(|(w, a)| w * a).sum(),
                    false => 0.0,
                };
                *a = layer.weight.chunks_exact(layer.inputs).enumerate().map(dot).collect();
            }
            point = point.forward(layer);
            let rounding = (l as f64 + 1.0) * (flat.widest as f64 + 3.0) * f64::EPSILON * SAFE;
            for (k, &h) in zeros.iter().enumerate() {
                let own =
                    (h as usize).checked_sub(layer.first).filter(|unit| layer.relu && *unit < layer.width);
                if let Some(unit) = own.filter(|_| (h as usize) < flat.neurons) {
                    system.values[k] = point.values[unit];
                    system.rows[k] = (0..d).map(|j| a[j][unit]).collect();
                    system.value_error = system.value_error.max(point.errors[unit]);
                    system.row_error = system.row_error.max(rounding * layer.lipschitz);
                }
            }
            if layer.relu {
                for unit in (0..layer.width).filter(|unit| !is_positive(flat, signs, layer.first + unit)) {
                    a.iter_mut().for_each(|a| a[unit] = 0.0);
                    (point.values[unit], point.errors[unit]) = (0.0, 0.0);
                }
            }
        }
        system
    }

    /// A bound on the distance of the point from the vertex, infinite if there is none.
    fn distance(&self, inverse: &[Vec<f64>]) -> f64 {
        let d = self.values.len();
        let norm = inverse.iter().map(|row| row.iter().map(|x| x.abs()).sum()).fold(0.0, f64::max);
        let mut eta = 0.0f64;
        for (i, row) in inverse.iter().enumerate() {
            let entry = |j: usize| {
                let product: f64 = (0..d).map(|k| row[k] * self.rows[k][j]).sum();
                let sizes: f64 = (0..d).map(|k| (row[k] * self.rows[k][j]).abs()).sum();
                (product - f64::from(u8::from(i == j))).abs()
                    + (d as f64 + 3.0) * f64::EPSILON * (sizes + 1.0)
            };
            eta = eta.max((0..d).map(entry).sum());
        }
        eta = (eta + norm * self.row_error) * SAFE;
        let residual = largest(&self.values) + self.value_error;
        match eta < 0.5 {
            true => norm * residual / (1.0 - eta) * SAFE + TINY,
            false => f64::INFINITY,
        }
    }
}

fn is_positive(flat: &FlatNetwork, signs: &[u64], neuron: usize) -> bool {
    let (word, bit) = flat.place(neuron);
    signs[word] & bit != 0
}

/// The pre-activations of a layer near a point.
fn values(flat: &FlatNetwork, l: usize, x: &[f64], distance: f64) -> Bounded {
    let mut a = Bounded { values: x.to_vec(), errors: vec![distance; x.len()] };
    for (i, layer) in flat.layers[..=l].iter().enumerate() {
        a = a.forward(layer);
        if i < l && layer.relu {
            a.rectify();
        }
    }
    a
}
