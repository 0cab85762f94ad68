//! Rows for classes, in exact numbers.

use fiberscope_core::Rational;

use super::super::decision::{WEIGHT_STEPS, own_lead, rival_row};
use super::{Bounder, ExactBounder};
use crate::{End, Stop};

impl ExactBounder {
    /// An upper bound of `A_class - A_other - margin` on the box of the last run.
    pub fn lead(
        &self,
        (class, other): (usize, usize),
        margin: &Rational,
        proposals: &mut Bounder,
        stop: Stop,
    ) -> Result<Rational, End> {
        let outputs = &self.bounds[self.bounds.len() - 1];
        let forms = &(&outputs[class].z.1 - &outputs[other].z.0) - margin;
        if forms.is_negative() {
            return Ok(forms);
        }
        let (mut c_z, c_d) = (vec![Rational::ZERO; outputs.len()], vec![Rational::ZERO; outputs.len()]);
        (c_z[class], c_z[other]) = (Rational::ONE, -Rational::ONE);
        Ok(self.descend(self.layers.len() - 1, (c_z, c_d, -margin), (&[], None), proposals, stop)?.min(forms))
    }

    /// An upper bound of `B_rival - B_class + sum_l w_l (A_class - A_l - margin)` on the box of the last run.
    pub fn rival(
        &self,
        (class, rival): (usize, usize),
        weights: &[(u32, u64)],
        margin: &Rational,
        proposals: &mut Bounder,
        stop: Stop,
    ) -> Result<Rational, End> {
        let outputs = &self.bounds[self.bounds.len() - 1];
        if *weights == own_lead(rival) {
            let forms = &(&outputs[rival].d.1 - &outputs[class].d.0) - margin;
            if forms.is_negative() {
                return Ok(forms);
            }
        }
        let (c_z, c_d, total) = rival_row(outputs.len(), (class, rival), weights);
        let steps = Rational::from(WEIGHT_STEPS as i64);
        let units = |row: Vec<i64>| -> Vec<Rational> {
            row.into_iter().map(|c| &Rational::from(c) / &steps).collect()
        };
        let kappa = -(&(margin * &Rational::from(total as i64)) / &steps);
        self.descend(self.layers.len() - 1, (units(c_z), units(c_d), kappa), (&[], None), proposals, stop)
    }
}
