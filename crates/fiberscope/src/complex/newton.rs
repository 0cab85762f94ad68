//! A vertex, and the values of a layer there, from a point nearby: one step of Newton's method with bounds on
//! all errors.
//!
//! **Lemma.** Let `F(y) = F(x) + M (y - x)` be the `d` hyperplanes of a vertex `v` as the affine functions of
//! [`super::affine`], so `F(v) = 0`, let `F~` and `M~` be within `e_k` and `r_k` of `F(x)` and `M`, let `X`
//! be any matrix and `s = X F~ + t`. With maximum norms of vectors and row-sum norms of matrices, if
//! `eta = |I - X M| < 1`, then
//!
//! ```text
//! h := v - (x - s) has |h| <= (eta |s| + max_i sum_k |X_ik| e_k + |t|) / (1 - eta) =: H.
//! ```
//!
//! *Proof.* `M h = -F + M s`, so `X M h = -X (F - F~) - s + t + X M s`, and
//! `h = (I - X M) (h - s) - X (F - F~) + t`. ∎
//!
//! So `z_j(v) = z_j(x) - g_j s + g_j h` is within `e_j + |g~_j|_1 H + r_j (|s| + H)`, and rounding, of
//! `z~_j - g~_j s`: gradients count, not products of norms. After one step `s` is as small as the errors of
//! doubles, and a second step with values in twofold arithmetic knows `z_j(v)` to about the square of these
//! errors.

use super::affine::{Columns, Inputs, Precision};
use super::flat::{FlatNetwork, SAFE, TINY, largest};

/// What is known of a vertex without coordinates.
pub(crate) struct Incidence<'a> {
    pub network: &'a FlatNetwork,
    pub sides: &'a [[f64; 2]],
    /// Its hyperplanes.
    pub zeros: &'a [u32],
    /// The neurons that are on, in all layers before the last one looked at.
    pub signs: &'a [u64],
}

/// The result of a step, and memory to use again.
#[derive(Default)]
pub(crate) struct Newton {
    /// `x - s` in doubles, and a bound on its distance from the vertex.
    pub point: Vec<f64>,
    pub distance: f64,
    /// `s`, and `H` of the lemma.
    step: Vec<f64>,
    rest: f64,
    /// Whether the first term of `H` is the largest, so that another step helps.
    pub is_far: bool,
    hyperplanes: Hyperplanes,
    own: Columns,
    below: Columns,
    inputs: Inputs,
}

/// The hyperplanes of a vertex at a point, as in the lemma.
#[derive(Default)]
struct Hyperplanes {
    value: Vec<f64>,
    error: Vec<f64>,
    row: Vec<f64>,
    row_error: Vec<f64>,
    inverse: Vec<f64>,
    work: Vec<f64>,
}

impl Newton {
    /// A step from a point to a vertex, with the values of layer `l`; the hyperplanes are sides and neurons
    /// of layers up to `l`. The distance is infinite if there is no bound.
    pub fn step(&mut self, place: &Incidence, l: usize, x: &[f64], precision: Precision) {
        self.pass(place, l, x, precision);
        self.solve(x);
    }

    /// The functions of layer `l` at the point of the last step, for [`Newton::value`].
    pub fn pass(&mut self, place: &Incidence, l: usize, x: &[f64], precision: Precision) {
        let d = x.len();
        self.hyperplanes.clear(d);
        self.hyperplanes.add_sides(place, x);
        self.own.start(x);
        for (i, layer) in place.network.layers.iter().enumerate().take(l + 1) {
            std::mem::swap(&mut self.own, &mut self.below);
            let before = i.checked_sub(1).map(|before| &place.network.layers[before]);
            self.inputs.find(layer, before, place.signs);
            self.own.pass(layer, &self.below, &mut self.inputs, d, precision);
            self.hyperplanes.add_neurons(place, i, &self.own);
        }
    }

    /// The value of a unit of the last layer at the vertex, and a bound on its error.
    #[inline]
    pub fn value(&self, unit: usize) -> (f64, f64) {
        let own = &self.own;
        let (mut change, mut size, mut slope) = (0.0, 0.0, 0.0);
        let mut longest = 0.0f64;
        for (i, s) in self.step.iter().enumerate() {
            let g = own.slope[i * own.stride + unit];
            change += g * s;
            size += (g * s).abs();
            slope += g.abs();
            longest = longest.max(s.abs());
        }
        let value = (own.value[unit] - change) + own.low[unit];
        let rounding = (self.step.len() as f64 + 4.0) * f64::EPSILON;
        let error = own.error[unit]
            + slope * self.rest
            + own.slope_error[unit] * (longest + self.rest)
            + rounding * (size + value.abs() + own.low[unit].abs());
        (value, error * SAFE + TINY)
    }

    #[allow(clippy::needless_range_loop, reason = "the number runs through several lists")]
    fn solve(&mut self, x: &[f64]) {
        let d = x.len();
        let system = &mut self.hyperplanes;
        self.step.clear();
        self.step.resize(d, 0.0);
        self.point.clear();
        self.point.extend_from_slice(x);
        (self.rest, self.distance, self.is_far) = (f64::INFINITY, f64::INFINITY, false);
        if !system.invert(d) {
            return;
        }
        let rounding = (d as f64 + 3.0) * f64::EPSILON;
        let (mut eta, mut errors) = (0.0f64, 0.0f64);
        for (i, own) in system.inverse.chunks_exact(d).enumerate() {
            let (mut error, mut size, mut apart) = (0.0, 0.0, 0.0);
            for k in 0..d {
                self.step[i] += own[k] * system.value[k];
                size += (own[k] * system.value[k]).abs();
                error += own[k].abs() * system.error[k];
                apart += own[k].abs() * system.row_error[k];
            }
            for j in 0..d {
                let (mut product, mut size) = (0.0, 1.0);
                for k in 0..d {
                    product += own[k] * system.row[k * d + j];
                    size += (own[k] * system.row[k * d + j]).abs();
                }
                apart += (product - f64::from(u8::from(i == j))).abs() + rounding * size;
            }
            (eta, errors) = (worse(eta, apart), worse(errors, error + rounding * size));
        }
        (eta, errors) = (eta * SAFE, errors * SAFE + TINY);
        let longest = largest(&self.step);
        if !(eta < 0.5 && longest.is_finite() && errors.is_finite()) {
            self.step.fill(0.0);
            return;
        }
        self.is_far = eta * longest > errors;
        self.rest = (eta * longest + errors) / (1.0 - eta) * SAFE;
        self.point.iter_mut().zip(&self.step).for_each(|(x, s)| *x -= s);
        self.distance = (self.rest + f64::EPSILON * largest(&self.point)) * SAFE + TINY;
    }
}

/// The larger bound; what is not a number is not lost.
fn worse(bound: f64, other: f64) -> f64 {
    if other <= bound { bound } else { other }
}

impl Hyperplanes {
    fn clear(&mut self, d: usize) {
        for (list, size) in
            [(&mut self.value, d), (&mut self.error, d), (&mut self.row_error, d), (&mut self.row, d * d)]
        {
            list.clear();
            list.resize(size, 0.0);
        }
    }

    fn add_sides(&mut self, place: &Incidence, x: &[f64]) {
        for (k, &h) in place.zeros.iter().enumerate() {
            if let Some(side) = (h as usize).checked_sub(place.network.neurons) {
                self.value[k] = x[side / 2] - place.sides[side / 2][side % 2];
                self.error[k] = f64::EPSILON * self.value[k].abs();
                self.row[k * x.len() + side / 2] = 1.0;
            }
        }
    }

    fn add_neurons(&mut self, place: &Incidence, l: usize, own: &Columns) {
        let d = self.value.len();
        let layer = &place.network.layers[l];
        for (k, &h) in place.zeros.iter().enumerate() {
            if place.network.layer_of.get(h as usize) == Some(&(l as u32)) {
                let unit = h as usize - layer.first;
                self.value[k] = own.value[unit];
                self.error[k] = own.error[unit] + own.low[unit].abs();
                self.row_error[k] = own.slope_error[unit];
                (0..d).for_each(|i| self.row[k * d + i] = own.slope[i * own.stride + unit]);
            }
        }
    }

    /// An approximate inverse of the rows, by Gauss and Jordan; whether there is one. A loop of its own, not
    /// [`fiberscope_algebra::dense::invert`]: it runs for every vertex and takes no memory after the first.
    fn invert(&mut self, d: usize) -> bool {
        let Hyperplanes { row, inverse, work, .. } = self;
        work.clone_from(row);
        inverse.clear();
        inverse.resize(d * d, 0.0);
        (0..d).for_each(|i| inverse[i * d + i] = 1.0);
        for k in 0..d {
            let pivot =
                (k + 1..d).fold(k, |p, i| if work[i * d + k].abs() > work[p * d + k].abs() { i } else { p });
            let scale = 1.0 / work[pivot * d + k];
            if !scale.is_finite() {
                return false;
            }
            for matrix in [&mut *work, &mut *inverse] {
                for j in 0..d {
                    matrix.swap(k * d + j, pivot * d + j);
                    matrix[k * d + j] *= scale;
                }
            }
            for i in (0..d).filter(|&i| i != k) {
                let factor = work[i * d + k];
                for matrix in [&mut *work, &mut *inverse] {
                    for j in 0..d {
                        matrix[i * d + j] -= factor * matrix[k * d + j];
                    }
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Activation, Domain, Layer, Matrix, Network, Rational};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::super::arbiter::apply;
    use super::super::frame::Frame;
    use super::super::skeleton::Skeleton;
    use super::super::subdivide::{Room, Wanted, subdivide};
    use super::*;

    /// As deep as bounds by norms would be useless: `scale` is the standard deviation of a weight times the
    /// root of the fan-in.
    fn deep(widths: &[usize], scale: f64, seed: u64) -> Network {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let layers = widths.windows(2).enumerate().map(|(l, pair)| {
            let size = scale * (3.0 / pair[0] as f64).sqrt();
            let weight = Matrix::from_fn(pair[1], pair[0], |_, _| size * rng.random_range(-1.0..1.0));
            let bias = (0..pair[1]).map(|_| rng.random_range(-0.5..0.5)).collect();
            let last = l + 2 == widths.len();
            Layer::new(weight, bias, if last { Activation::Identity } else { Activation::Relu })
        });
        Network::new(layers.collect()).unwrap()
    }

    /// What a step says, against rational numbers.
    #[derive(Default)]
    struct Seen {
        vertices: usize,
        /// The largest bounds of values and of points, without rounding.
        bounds: [f64; 2],
        /// The largest errors, and the largest quotient of an error and its bound.
        errors: [f64; 2],
        used: f64,
    }

    impl Seen {
        fn see(&mut self, which: usize, approximate: f64, exact: &Rational, bound: f64) {
            let error = (&Rational::from_f64(approximate).unwrap() - exact).to_f64().abs();
            assert!(error <= bound, "{error} is more than {bound}");
            // A value is rounded to a double in the end.
            self.bounds[which] = self.bounds[which].max(bound - 16.0 * f64::EPSILON * approximate.abs());
            self.errors[which] = self.errors[which].max(error);
            self.used = self.used.max(error / bound);
        }
    }

    /// Looks at vertices of a network from points that are moved by up to `away`.
    fn look(network: &Network, precision: Precision, away: f64, steps: usize, seen: &mut Seen) {
        let d = network.input_width();
        let frame = Frame::new(network, &Domain::from_bounds(&vec![(-1.0, 1.0); d]).unwrap()).unwrap();
        let room = Room::up_to(usize::MAX);
        let skeleton: Skeleton =
            subdivide(&frame.flat, &frame.arbiter, &frame.sides, Wanted::Skeleton, room, &|_| true).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut newton = Newton::default();
        let l = frame.flat.layers.len() - 1;
        let layer = &frame.flat.layers[l];
        for v in (0..skeleton.len()).step_by(skeleton.len() / 60 + 1) {
            let (zeros, signs) = (skeleton.zeros_of(v), skeleton.signs_of(v));
            let at = Incidence { network: &frame.flat, sides: &frame.sides, zeros, signs };
            let mut x: Vec<f64> =
                skeleton.point(v).iter().map(|x| x + away * rng.random_range(-1.0..1.0)).collect();
            for step in 1..=steps {
                newton.step(&at, l, &x, if step == steps { precision } else { Precision::Double });
                x.clone_from(&newton.point);
            }
            let vertex = frame.arbiter.vertex(&frame.flat, zeros, signs).unwrap();
            for (x, exact) in newton.point.iter().zip(&vertex) {
                seen.see(1, *x, exact, newton.distance);
            }
            let active = |neuron: usize| {
                let (word, bit) = frame.flat.place(neuron);
                signs[word] & bit != 0
            };
            for unit in 0..layer.width {
                let function = frame.arbiter.function(&frame.flat, layer.first + unit, active);
                let (value, bound) = newton.value(unit);
                seen.see(0, value, &apply(&function, &vertex), bound);
            }
            seen.vertices += 1;
        }
    }

    fn look_at_all(precision: Precision, away: f64, steps: usize) -> Seen {
        let mut seen = Seen::default();
        for seed in 0..3 {
            look(&deep(&[2, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 1], 1.4, seed), precision, away, steps, &mut seen);
            look(&deep(&[3, 7, 7, 7, 7, 7, 7, 1], 2.0, seed), precision, away, steps, &mut seen);
            look(&deep(&[5, 6, 5, 5, 1], 1.4, seed), precision, away, steps, &mut seen);
        }
        assert!(seen.vertices > 300, "{}", seen.vertices);
        seen
    }

    /// Bounds in doubles hold, are small, and are within a few orders of magnitude of errors that are there.
    #[test]
    fn doubles_keep_their_bounds() {
        let seen = look_at_all(Precision::Double, 0.0, 1);
        assert!(seen.errors[0] > 1e-16 && seen.used > 1e-3, "{:?} {}", seen.errors, seen.used);
        assert!(seen.bounds[0] < 1e-6, "{:?}", seen.bounds);
    }

    /// From a point that is off by a visible distance, the bounds hold as well, and steps come back to the
    /// vertex.
    #[test]
    fn bounds_hold_from_afar() {
        let far = look_at_all(Precision::Double, 1e-3, 1);
        let near = look_at_all(Precision::Double, 1e-3, 3);
        assert!(
            near.bounds[0] < 1e-6 && near.bounds[0] <= far.bounds[0],
            "{:?} {:?}",
            near.bounds,
            far.bounds
        );
    }

    /// Values in twofold arithmetic are right to about the square of the errors of doubles, but for their own
    /// rounding.
    #[test]
    fn twofold_values_are_better() {
        let seen = look_at_all(Precision::Twofold, 0.0, 2);
        assert!(seen.errors[0] > 0.0 && seen.bounds[0] < 1e-17, "{:?} {:?}", seen.errors, seen.bounds);
    }
}
