//! Where one network is sure of a class, another one decides for it too.
//!
//! For outputs `A_1 .. A_m` and `B_1 .. B_m`, a margin `g >= 0` and a class `i`, let the *premise* at `x` be
//! `A_i(x) - A_l(x) >= g` for all `l != i`, and `> 0` if `g = 0`: at a tie A has no class. The claim is
//! `B_i(x) > B_j(x)` for all rivals `j != i` wherever the premise holds.
//!
//! Lemma. Let `X` be a box. If `A_i - A_l < g` on `X` for some `l`, the premise holds nowhere on `X`. If for
//! some weights `w_l >= 0`
//!
//! ```text
//! B_j - B_i + sum_l w_l (A_i - A_l - g) < 0   on X,
//! ```
//!
//! then `B_j < B_i` at every `x` of `X` where the premise holds. Proof: the sum is not negative there. (Without
//! weights B is bounded alone; with `w_j = 1` alone the left side is `d_j - d_i - g`, a difference only.)
//!
//! With `B = z + d` and `A = z` the left side is a row that starts at the outputs with
//!
//! ```text
//! c_d = e_j - e_i,   c_z = e_j - e_i + sum_l w_l (e_i - e_l),   kappa = -g sum_l w_l.
//! ```
//!
//! Weights are multiples of `2^-12` that add up to at most `2^30`, so that `c_z` is exact in doubles; `kappa`
//! is rounded up.

mod maximiser;
mod path;
mod walk;

use fiberscope_core::Rational;

pub(crate) use walk::Walk;

use super::zonotope::Bounder;

/// One over the unit of weights.
pub const WEIGHT_STEPS: u64 = 4096;

/// The most that the weights of a rival may add up to, in units.
pub const MAX_WEIGHT: u64 = 1 << 42;

/// The class of `a`, from 0, if it leads all others by the margin (strictly, if the margin is 0), and a rival
/// that `b` does not put below it; `None` if there is no such pair.
///
/// ```
/// use fiberscope_check::difference::class_change;
/// use fiberscope_core::Rational;
///
/// let [zero, one, two] = [0, 1, 2].map(Rational::from);
/// let (a, b) = ([two.clone(), one.clone()], [one.clone(), one.clone()]);
/// assert_eq!(class_change(&a, &b, &one), Some((0, 1)));
/// assert_eq!(class_change(&a, &b, &two), None);
/// assert_eq!(class_change(&b, &a, &zero), None); // at a tie there is no class
/// ```
pub fn class_change(a: &[Rational], b: &[Rational], margin: &Rational) -> Option<(usize, usize)> {
    let class = leading_class(a, margin)?;
    let rivals = (0..b.len()).filter(|&j| j != class);
    // The first of the largest ones.
    let rival = rivals.reduce(|best, next| if b[next] > b[best] { next } else { best })?;
    (b[rival] >= b[class]).then_some((class, rival))
}

/// The output that leads all others by the margin (strictly, if the margin is 0).
pub fn leading_class(a: &[Rational], margin: &Rational) -> Option<usize> {
    let class = (0..a.len()).reduce(|best, next| if a[next] > a[best] { next } else { best })?;
    let ahead = |l: usize| {
        let lead = &a[class] - &a[l];
        lead.is_positive() && lead >= *margin
    };
    (0..a.len()).all(|l| l == class || ahead(l)).then_some(class)
}

/// The coefficients `c_z`, `c_d` at the outputs of the row for a rival, and the sum of its weights, in units
/// of weights.
pub(super) fn rival_row(
    outputs: usize,
    (class, rival): (usize, usize),
    weights: &[(u32, u64)],
) -> (Vec<i64>, Vec<i64>, u64) {
    let (mut c_z, mut c_d) = (vec![0i64; outputs], vec![0i64; outputs]);
    let total: u64 = weights.iter().map(|(_, weight)| weight).sum();
    for row in [&mut c_z, &mut c_d] {
        row[rival] += WEIGHT_STEPS as i64;
        row[class] -= WEIGHT_STEPS as i64;
    }
    c_z[class] += total as i64;
    for &(l, weight) in weights {
        c_z[l as usize] -= weight as i64;
    }
    (c_z, c_d, total)
}

impl Bounder<'_> {
    /// A certified upper bound of `A_class - A_other - margin` on the box of the last run, for any margin that
    /// is at least this one.
    pub fn lead(&mut self, class: usize, other: usize, margin: f64) -> f64 {
        let last = &self.kept[self.kept.len() - 1];
        let forms = ((last.zu[class] - last.zl[other]).next_up() - margin).next_up();
        if forms < 0.0 {
            return forms;
        }
        let (mut c_z, c_d) = (vec![0.0; self.pair.outputs()], vec![0.0; self.pair.outputs()]);
        (c_z[class], c_z[other]) = (1.0, -1.0);
        self.row(&c_z, &c_d, -margin).min(forms)
    }

    /// A certified upper bound of `B_rival - B_class + sum_l w_l (A_class - A_l - margin)` on the box of the
    /// last run, for any margin that is at least this one. Classes differ, and weights, in units of `2^-12`,
    /// add up to at most [`MAX_WEIGHT`].
    pub fn rival(&mut self, class: usize, rival: usize, weights: &[(u32, u64)], margin: f64) -> f64 {
        let mut best = f64::INFINITY;
        if *weights == own_lead(rival) {
            let last = &self.kept[self.kept.len() - 1];
            best = ((last.du[rival] - last.dl[class]).next_up() - margin).next_up();
            if best < 0.0 {
                return best;
            }
        }
        let (c_z, c_d, total) = rival_row(self.pair.outputs(), (class, rival), weights);
        // Integers below 2^53, divided by a power of two.
        let units = |row: Vec<i64>| -> Vec<f64> { row.iter().map(|&c| c as f64 / STEPS).collect() };
        let kappa = if total == 0 { 0.0 } else { (-margin * (total as f64 / STEPS)).next_up() };
        self.row(&units(c_z), &units(c_d), kappa).min(best)
    }
}

const STEPS: f64 = WEIGHT_STEPS as f64;

/// The weights of a rival for which none are given.
pub fn own_lead(rival: usize) -> [(u32, u64); 1] {
    [(rival as u32, WEIGHT_STEPS)]
}
