//! Signs and heights that the errors of a subdivision leave open.
//!
//! [`super::newton`] makes a point better and bounds the values there, first in doubles, then with values in
//! twofold arithmetic; its bounds do not depend on how the vertex was found. What they still leave open is
//! solved and evaluated in rational numbers.

use fiberscope_core::Rational;

use super::affine::Precision;
use super::arbiter::apply;
use super::errors::sure_sign;
use super::flat::{FlatNetwork, bits_of, largest};
use super::newton::Incidence;
use super::rows::Rows;
use super::skeleton::Stop;
use super::work::{Work, coefficient};

/// The most steps to a vertex; one is enough for a point that is close.
const STEPS: usize = 3;

impl Work<'_> {
    /// The positive ones among the neurons `bits` of a word at vertex `v`, whose point and row of values get
    /// better.
    #[cold]
    pub(super) fn settle(
        &mut self,
        l: usize,
        v: usize,
        rows: &mut Rows,
        word: usize,
        bits: u64,
    ) -> Result<u64, Stop> {
        let (mut positive, mut open) = (0, bits);
        for precision in [Precision::Double, Precision::Twofold] {
            self.refine(v, l, precision);
            rows.improve(v, |unit| self.newton.value(unit));
            for bit in bits_of(std::mem::take(&mut open)) {
                let unit = 64 * word + bit as usize;
                let (value, error) = self.newton.value(unit);
                match sure_sign(value, error) {
                    None => open |= 1 << bit,
                    Some(is_positive) => {
                        rows.set(v, unit, (value, error));
                        positive |= u64::from(is_positive) << bit;
                    }
                }
            }
            if open == 0 {
                return Ok(positive);
            }
        }
        Ok(positive | self.settle_exactly(l, v, rows, word, open)?)
    }

    /// Where doubles, and pairs of them, are not sure.
    #[cold]
    fn settle_exactly(
        &self,
        l: usize,
        v: usize,
        rows: &mut Rows,
        word: usize,
        bits: u64,
    ) -> Result<u64, Stop> {
        let flat = self.network;
        let signs = self.skeleton.signs_of(v);
        let active = |neuron: usize| is_positive(flat, signs, neuron);
        let vertex = self.exact_vertex(v).ok_or(Stop::Irregular)?;
        let mut positive = 0;
        for bit in bits_of(bits) {
            let unit = 64 * word + bit as usize;
            let value = apply(&self.arbiter.function(flat, flat.layers[l].first + unit, active), &vertex);
            if value.is_zero() {
                return Err(Stop::Irregular);
            }
            let float = value.to_f64();
            let float = if float == 0.0 { f64::from(value.signum()) * f64::MIN_POSITIVE } else { float };
            rows.set(v, unit, (float, f64::EPSILON * float.abs() + f64::MIN_POSITIVE));
            positive |= u64::from(float > 0.0) << bit;
        }
        Ok(positive)
    }

    /// Whether vertex `b` is higher than `a`.
    #[inline]
    pub(super) fn rises(&mut self, a: usize, b: usize) -> bool {
        self.sure_rise(a, b).unwrap_or_else(|| self.settle_rise(a, b))
    }

    #[cold]
    fn settle_rise(&mut self, a: usize, b: usize) -> bool {
        for precision in [Precision::Double, Precision::Twofold] {
            for v in [a, b] {
                let layer_of = |h: &u32| self.network.layer_of.get(*h as usize);
                let top = self.skeleton.zeros_of(v).iter().filter_map(layer_of).max();
                let rounding = 2.0 * f64::EPSILON * largest(self.skeleton.point(v));
                if let Some(&top) = top.filter(|_| self.skeleton.distance[v] > rounding) {
                    self.refine(v, top as usize, precision);
                    self.height[v] = self.height_of(v);
                }
            }
            if let Some(rises) = self.sure_rise(a, b) {
                return rises;
            }
        }
        self.rises_exactly(a, b)
    }

    #[inline]
    fn sure_rise(&self, a: usize, b: usize) -> Option<bool> {
        let ((from, error_a), (to, error_b)) = (self.height[a], self.height[b]);
        sure_sign(to - from, error_a + error_b)
    }

    /// Where doubles are not sure; on a tie the order of coordinates decides, which is a small change of the
    /// function.
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
        self.arbiter.vertex(self.network, self.skeleton.zeros_of(v), self.skeleton.signs_of(v))
    }

    /// Makes the point of a vertex better, if it can, and knows the values of a layer there.
    fn refine(&mut self, v: usize, l: usize, precision: Precision) {
        let (d, skeleton) = (self.skeleton.dimension, &mut self.skeleton);
        for _ in 0..STEPS {
            let at = Incidence {
                network: self.network,
                sides: self.arbiter.sides(),
                zeros: skeleton.zeros_of(v),
                signs: skeleton.signs_of(v),
            };
            self.newton.step(&at, l, skeleton.point(v), precision);
            if self.newton.distance < skeleton.distance[v] {
                skeleton.points[v * d..(v + 1) * d].copy_from_slice(&self.newton.point);
                skeleton.distance[v] = self.newton.distance;
            }
            if !self.newton.is_far {
                break;
            }
        }
    }
}

fn is_positive(flat: &FlatNetwork, signs: &[u64], neuron: usize) -> bool {
    let (word, bit) = flat.place(neuron);
    signs[word] & bit != 0
}
