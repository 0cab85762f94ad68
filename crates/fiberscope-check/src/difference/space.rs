//! What backward rows need of a box, and what they leave behind.

use super::pair::Pair;
use super::products::Kept;
use super::relax::Lines;
use super::vector::{LANES, total};

/// How far apart the lines of the neurons of a layer are.
#[derive(Clone, Debug, Default)]
pub struct Gaps {
    /// The largest distance of the lines of `a`.
    pub a: Vec<f64>,
    /// The distance of the lines of `e` in the middle.
    pub e: Vec<f64>,
}

/// The coefficients that the last rows had behind the neurons of a layer, row by row.
#[derive(Clone, Debug, Default)]
pub struct RowCoefficients {
    /// The coefficients of `a`.
    pub a: Vec<f64>,
    /// The coefficients of `e`.
    pub e: Vec<f64>,
}

/// A multiple of `z` or of `d` of a neuron: by 1 or -1.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfNeuron {
    pub neuron: usize,
    pub change: bool,
    pub sign: f64,
}

/// What rows need of a box, computed when the first row asks for it.
#[derive(Clone, Debug)]
pub(super) struct RowSpace {
    /// So many layers are prepared.
    pub ready: usize,
    /// Layer by layer, the inputs of the network first: bounds `alpha` of `abs(a)` and `eps` of `abs(e)`.
    pub sizes: Vec<Sizes>,
    pub lines: Vec<Vec<Lines>>,
    pub slopes: Vec<Slopes>,
    pub gaps: Vec<Gaps>,
    pub coefficients: Vec<RowCoefficients>,
    pub input: Vec<f64>,
    pub c_z: Vec<f64>,
    pub c_d: Vec<f64>,
    /// The constants of rows, in the end their bounds, and their errors `F`.
    pub kappas: Vec<f64>,
    pub errors: Vec<f64>,
    /// The multipliers of the signs; none is as good as zeros.
    pub multipliers: Vec<f64>,
}

/// The lines of a layer, number by number, and the sizes of what they are functions of.
#[derive(Clone, Debug, Default)]
pub(super) struct Slopes {
    a_upper: Vec<f64>,
    a_lower: Vec<f64>,
    a_offset: Vec<f64>,
    e_upper: [Vec<f64>; 3],
    e_lower: [Vec<f64>; 3],
    zeta: Vec<f64>,
}

/// What a row meets on its way through lines: the sum of their offsets, and the sums of absolute values that its
/// error needs.
pub(super) struct Behind {
    pub kappa: f64,
    pub slopes: f64,
    pub offsets: f64,
}

impl Slopes {
    pub fn take(&mut self, lines: &[Lines], kept: &Kept) {
        let fill = |list: &mut Vec<f64>, of: &dyn Fn(&Lines) -> f64| {
            list.clear();
            list.extend(lines.iter().map(of));
        };
        fill(&mut self.a_upper, &|line| line.a_upper.z);
        fill(&mut self.a_lower, &|line| line.a_lower.z);
        fill(&mut self.a_offset, &|line| line.a_upper.offset);
        fill(&mut self.e_upper[0], &|line| line.e_upper.z);
        fill(&mut self.e_upper[1], &|line| line.e_upper.d);
        fill(&mut self.e_upper[2], &|line| line.e_upper.offset);
        fill(&mut self.e_lower[0], &|line| line.e_lower.z);
        fill(&mut self.e_lower[1], &|line| line.e_lower.d);
        fill(&mut self.e_lower[2], &|line| line.e_lower.offset);
        self.zeta.clear();
        self.zeta.extend(kept.zl.iter().zip(&kept.zu).map(|(l, u)| l.abs().max(u.abs())));
    }

    /// Replaces `a` and `e` by lines of `z` and `d`. (Lower lines of `a` have no offset.)
    #[inline(always)]
    pub fn apply(
        &self,
        (a, e): (&[f64], &[f64]),
        delta: &[f64],
        (c_z, c_d): (&mut [f64], &mut [f64]),
    ) -> Behind {
        let m = c_z.len();
        let (mut kappas, mut slopes, mut offsets) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for start in (0..m).step_by(LANES) {
            let lanes = LANES.min(m - start);
            let at = |list: &[f64]| taken(list, start, lanes);
            let (of_a, of_e) = (at(a), at(e));
            let [a_upper, a_lower, a_offset] =
                [&self.a_upper, &self.a_lower, &self.a_offset].map(|list| at(list));
            let [z_upper, d_upper, o_upper] = self.e_upper.each_ref().map(|list| at(list));
            let [z_lower, d_lower, o_lower] = self.e_lower.each_ref().map(|list| at(list));
            let (zeta, delta) = (at(&self.zeta), at(delta));
            let (mut to_z, mut to_d) = ([0.0; LANES], [0.0; LANES]);
            for i in 0..LANES {
                // A number is its positive and its negative part, of which one is 0: there is nothing to round.
                let (above_a, below_a) = parts(of_a[i]);
                let (above_e, below_e) = parts(of_e[i]);
                let from_a = above_a * a_upper[i] + below_a * a_lower[i];
                let from_e = above_e * z_upper[i] + below_e * z_lower[i];
                let from_d = above_e * d_upper[i] + below_e * d_lower[i];
                let offset_a = above_a * a_offset[i];
                let offset_e = above_e * o_upper[i] + below_e * o_lower[i];
                (to_z[i], to_d[i]) = (from_e + from_a, from_d);
                kappas[i] += offset_e + offset_a;
                slopes[i] += (from_e.abs() + from_a.abs()) * zeta[i] + from_d.abs() * delta[i];
                offsets[i] += offset_e.abs() + offset_a.abs();
            }
            c_z[start..start + lanes].copy_from_slice(&to_z[..lanes]);
            c_d[start..start + lanes].copy_from_slice(&to_d[..lanes]);
        }
        let [kappa, slopes, offsets] = [kappas, slopes, offsets].map(total);
        Behind { kappa, slopes, offsets }
    }
}

/// `max(x, 0)` and `min(x, 0)`.
#[inline(always)]
fn parts(x: f64) -> (f64, f64) {
    (if x > 0.0 { x } else { 0.0 }, if x > 0.0 { 0.0 } else { x })
}

/// So many entries of a list from a place on, and zeros.
#[inline(always)]
fn taken(list: &[f64], start: usize, lanes: usize) -> [f64; LANES] {
    match list[start..].first_chunk() {
        Some(whole) => *whole,
        None => {
            let mut some = [0.0; LANES];
            some[..lanes].copy_from_slice(&list[start..start + lanes]);
            some
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Sizes {
    pub alpha: Vec<f64>,
    pub eps: Vec<f64>,
    /// `abs(W_A) alpha + abs(b_A)` and `abs(dW) alpha + abs(W_B) eps + abs(db)` of the layer behind.
    pub v_a: Vec<f64>,
    pub v_d: Vec<f64>,
    /// `1 + sum (alpha + eps + zeta + delta)`.
    pub total: f64,
}

impl RowSpace {
    pub fn new(pair: &Pair) -> Self {
        let hidden = pair.layers().len() - 1;
        RowSpace {
            ready: 0,
            sizes: vec![Sizes::default(); hidden + 1],
            lines: vec![Vec::new(); hidden],
            slopes: vec![Slopes::default(); hidden],
            gaps: vec![Gaps::default(); hidden],
            coefficients: vec![RowCoefficients::default(); hidden],
            input: Vec::new(),
            c_z: Vec::new(),
            c_d: Vec::new(),
            kappas: Vec::new(),
            errors: Vec::new(),
            multipliers: Vec::new(),
        }
    }

    pub fn forget(&mut self) {
        self.ready = 0;
        self.multipliers.clear();
    }
}
