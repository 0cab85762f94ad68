//! A closer look, exactly (lemma E6).

use fiberscope_core::{Activation as Function, Rational};

use super::phases::agree;
use super::{BOUND_BITS, Bounder, Bounds, ExactBounder, Phase, down, phase, up};
use crate::{End, Stop};

impl ExactBounder {
    /// Takes the closer ones of the bounds of rows for the open neurons of layer `l`; false if no input is left.
    pub(super) fn look_closely(
        &self,
        (bounds, l): (&mut [Bounds], usize),
        proposals: &mut Bounder,
        stop: Stop,
    ) -> Result<bool, End> {
        let rows = self.layers[l].bias_a.len();
        if l == 0 || self.layers[l].activation != Function::Relu {
            return Ok(true);
        }
        for (i, bounds) in bounds.iter_mut().enumerate() {
            let (open_a, open_b) = (phase(&bounds.z) == Phase::Open, phase(&bounds.y) == Phase::Open);
            let mut row = |change: bool, factor: i64| {
                let (mut c_z, mut c_d) = (vec![Rational::ZERO; rows], vec![Rational::ZERO; rows]);
                (if change { &mut c_d } else { &mut c_z })[i] = Rational::from(factor);
                self.descend(l, (c_z, c_d, Rational::ZERO), (&[], None), proposals, stop)
            };
            for change in [false, true] {
                if !(open_a || change && open_b) {
                    continue;
                }
                let (lower, upper) = (down(-row(change, -1)?, BOUND_BITS), up(row(change, 1)?, BOUND_BITS));
                let ends = if change { &mut bounds.d } else { &mut bounds.z };
                if lower > ends.0 {
                    ends.0 = lower;
                }
                if upper < ends.1 {
                    ends.1 = upper;
                }
            }
            if (open_a || open_b) && !agree(bounds) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
