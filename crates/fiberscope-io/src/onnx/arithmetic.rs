//! `Add`, `Sub`, `Mul` and `Div` of a value and a constant.

use fiberscope_core::Rational;

use super::affine::exact;
use super::lowering::{Lowering, Site};
use super::proto::Node;
use super::shape;
use crate::FormatError;

/// Before opset 7 the second operand stood at an axis of the first: dimensions 1 come behind it.
pub(super) fn stand_at_axis(node: &Node, dims: &mut Vec<usize>, rank: usize) -> Result<(), FormatError> {
    let Some(axis) = node.attribute("axis")? else { return Ok(()) };
    let (rank, axis) = (rank as i64, axis.integer()?);
    let start = if axis < 0 { axis.saturating_add(rank) } else { axis };
    let trailing = rank.saturating_sub(start).saturating_sub(dims.len() as i64);
    if start < 0 || trailing < 0 {
        return Err(node.malformed(format!("its attribute axis {axis} does not fit the value")));
    }
    dims.extend(vec![1; trailing as usize]);
    Ok(())
}

impl<'a> Lowering<'_, 'a> {
    /// Arithmetic with a constant, repeated as numpy does it.
    pub(super) fn arithmetic(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        let data_is_left = site.data_is_left()?;
        let mut operand = self.floats(site, usize::from(data_is_left))?;
        self.unbatch(&mut operand);
        let rank = self.hand.dims.len();
        match data_is_left {
            true => stand_at_axis(node, &mut operand.0, rank)?,
            false => stand_at_axis(node, &mut self.hand.dims, operand.0.len())?,
        }
        let dims = shape::broadcast(&self.hand.dims, &operand.0).map_err(|reason| node.malformed(reason))?;
        self.spread(node, &dims)?;
        let values = self.broadcast(node, operand, &dims)?;
        let rationals = |values: &[f64]| values.iter().copied().map(exact).collect::<Vec<_>>();
        match (node.operator, data_is_left) {
            ("Add", _) => self.add(node, values),
            ("Sub", true) => self.add(node, values.into_iter().map(|value| -value).collect()),
            ("Sub", _) => {
                self.scale(node, &vec![Rational::from(-1); values.len()])?;
                self.add(node, values)
            }
            ("Mul", _) => self.scale(node, &rationals(&values)),
            ("Div", true) => {
                let inverses: Option<Vec<_>> = rationals(&values).iter().map(Rational::recip).collect();
                let inverses = inverses.ok_or_else(|| node.malformed("it divides by zero"))?;
                self.scale(node, &inverses)
            }
            _ => Err(node.unsupported("it divides a constant by the data, which is not affine")),
        }
    }

    /// `(x - offset) * scale`, column by column.
    pub(super) fn scaler(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        let columns = self.hand.dims.last().copied().unwrap_or(1);
        let mut list = |name: &str, sign: f64| -> Result<Vec<Rational>, FormatError> {
            let values = node.attribute(name)?.map(|list| list.floats()).transpose()?.unwrap_or_default();
            let fits = (values.len() == 1 || values.len() == columns) && values.iter().all(|v| v.is_finite());
            if !fits {
                let found = format!("its {name} has {} numbers", values.len());
                return Err(node.malformed(format!("{found}; expected {columns} finite ones")));
            }
            let width = shape::count(&self.hand.dims).unwrap_or(0);
            self.budget.entries(node, width, 1)?;
            let entry = |i: usize| exact(sign * f64::from(values[i % columns % values.len()]));
            Ok((0..width).map(entry).collect())
        };
        let (offset, scale) = (list("offset", -1.0)?, list("scale", 1.0)?);
        self.shift(node, &offset)?;
        self.scale(node, &scale)
    }

    /// A constant with the batch of the file as its first dimension is that of one sample, if all are the
    /// same.
    fn unbatch(&self, (dims, values): &mut (Vec<usize>, Vec<f64>)) {
        let Some(batch) = self.batch else { return };
        if dims.len() == self.hand.dims.len() && dims.first() == Some(&batch) && self.hand.dims[0] == 1 {
            let one = values.len() / batch;
            if values.chunks(one.max(1)).all(|sample| sample == &values[..one]) {
                values.truncate(one);
                dims[0] = 1;
            }
        }
    }
}
