//! Rows of the first layer that belong further on are dropped (see [`super::straight`]).

use super::ExtractStep;
use super::inquiry::{Halt, Inquiry};
use super::recover::Recovery;
use super::straight::{DEPENDENT, FEWEST, MANY_INPUTS, is_met_beyond, svd};

impl Recovery {
    /// Drops rows of the first layer that are not met beyond the hyperplanes of the others; says whether there were any.
    /// Without an attempt that failed only if rows are dependent: else there is no sign of any.
    pub fn drop_strays(&mut self, inquiry: &mut Inquiry<'_>, attempt: usize) -> Result<bool, Halt> {
        let rows = &self.rows[0];
        if rows.len() < FEWEST || rows.len() > inquiry.inputs || inquiry.inputs <= MANY_INPUTS {
            return Ok(false);
        }
        let Some(svd) = svd(rows) else { return Ok(false) };
        if attempt == 0 && svd.rank(DEPENDENT) == rows.len() {
            return Ok(false);
        }
        inquiry.begin(0, ExtractStep::Confirmation);
        let mut kept = Vec::with_capacity(rows.len());
        for row in 0..rows.len() {
            if is_met_beyond(inquiry, rows, &svd, row)? {
                kept.push(rows[row].clone());
            }
        }
        let dropped = kept.len() < rows.len();
        if dropped {
            self.rows[0] = kept;
            self.forget_deeper(0);
        }
        Ok(dropped)
    }
}
