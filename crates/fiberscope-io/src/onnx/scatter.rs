//! Operators whose result takes entries of two tensors: `Where` with a constant condition, `ScatterElements`
//! (`Scatter` in old files) and `ScatterND`.
//!
//! The tensors are put below each other, and every entry of the result has a place in that list.

use super::layers::Value;
use super::lowering::{Lowering, Site};
use super::proto::Node;
use super::shape::{self, resolve};
use super::tensor::Values;
use crate::FormatError;

impl<'a> Lowering<'_, 'a> {
    /// `Where` with a constant condition, of two values that depend on the input.
    pub(super) fn mixed(&mut self, site: &Site<'a>) -> Result<Value<'a>, FormatError> {
        let node = &site.node;
        let condition = self.condition_values(site)?;
        for &name in &site.inputs[1..] {
            self.refuse_condition(name, node)?;
        }
        let (first, second) = (self.operand(site, 1)?, self.operand(site, 2)?);
        let mut dims = condition.0.clone();
        for value in [&first, &second] {
            dims = shape::broadcast(&dims, &value.dims).map_err(|reason| node.malformed(reason))?;
        }
        let mut both = Vec::with_capacity(2);
        for value in [first, second] {
            self.hand = value;
            self.spread(node, &dims)?;
            both.push(self.put_down());
        }
        let count = shape::count(&dims).unwrap_or(0);
        let holds = shape::broadcast_source(&condition.0, &dims).into_iter().map(|at| condition.1[at] != 0);
        let source: Vec<usize> =
            holds.enumerate().map(|(i, holds)| if holds { i } else { count + i }).collect();
        Ok(self.stack(node, both)?.select(dims, &source))
    }

    /// The shape and the truth values of the constant condition of a `Where`.
    pub(super) fn condition_values(
        &mut self,
        site: &Site<'a>,
    ) -> Result<(Vec<usize>, Vec<i64>), FormatError> {
        let condition = self.constant(site, 0)?;
        match &condition.values {
            Values::Integers(values) => Ok((condition.dims.clone(), values.clone())),
            Values::Floats(..) => Err(site.node.malformed("expected its condition to hold truth values")),
        }
    }

    /// `ScatterElements` and `ScatterND` at constant places; either of the tensors may depend on the input.
    pub(super) fn scatter(&mut self, site: &Site<'a>) -> Result<Value<'a>, FormatError> {
        let node = &site.node;
        if let Some(reduction) = node.attribute("reduction")?
            && reduction.string()? != b"none"
        {
            return Err(node.unsupported("it combines numbers at one place (reduction); expected none"));
        }
        let indices = match site.input(1) {
            Some(name) if self.is_value(name) => {
                return Err(node.unsupported("its places depend on the input; expected constants"));
            }
            _ => self.constant(site, 1)?,
        };
        let Values::Integers(list) = &indices.values else {
            return Err(node.malformed("its indices are no integers"));
        };
        let (data, updates) = (self.operand(site, 0)?, self.operand(site, 2)?);
        let dims = data.dims.clone();
        let count = data.map.output();
        self.budget.entries(node, count, 1)?;
        self.budget.entries(node, updates.map.output(), 1)?;
        let places = match node.operator {
            "ScatterND" => blocks(node, &dims, &indices.dims, list, &updates.dims)?,
            _ => {
                let rank = dims.len();
                let axis = resolve(node.integer("axis", 0)?, rank, false)
                    .map_err(|reason| node.malformed(reason))?;
                if indices.dims != updates.dims {
                    return Err(node.malformed("its indices and its updates have different shapes"));
                }
                places_along(node, &dims, &indices.dims, list, axis)?
            }
        };
        let mut source: Vec<usize> = (0..count).collect();
        for (update, place) in places.into_iter().enumerate() {
            source[place] = count + update;
        }
        Ok(self.stack(node, vec![data, updates])?.select(dims, &source))
    }
}

/// The places in a tensor of shape `dims` that a tensor of indices along an axis names, one for each of them.
pub(super) fn places_along(
    node: &Node,
    dims: &[usize],
    own: &[usize],
    indices: &[i64],
    axis: usize,
) -> Result<Vec<usize>, FormatError> {
    let inside = |at: usize| at == axis || own[at] <= dims[at];
    if own.len() != dims.len() || !(0..own.len()).all(inside) {
        let (found, expected) = (shape::show(own), shape::show(dims));
        return Err(node.malformed(format!("its indices have shape {found}, which does not fit {expected}")));
    }
    let every: Vec<Vec<usize>> = own
        .iter()
        .enumerate()
        .map(|(at, &size)| if at == axis { vec![0; size] } else { (0..size).collect() })
        .collect();
    let stride: usize = dims[axis + 1..].iter().product();
    let start = shape::product(dims, &every);
    start.into_iter().zip(indices).map(|(at, &i)| Ok(at + index(node, i, dims[axis])? * stride)).collect()
}

/// The places of the blocks that `ScatterND` writes, entry by entry.
fn blocks(
    node: &Node,
    dims: &[usize],
    own: &[usize],
    indices: &[i64],
    updates: &[usize],
) -> Result<Vec<usize>, FormatError> {
    let depth = own.last().copied().filter(|depth| (1..=dims.len()).contains(depth));
    let depth = depth.ok_or_else(|| node.malformed("its indices do not fit the value"))?;
    if updates != [&own[..own.len() - 1], &dims[depth..]].concat() {
        return Err(node.malformed("its updates do not fit its indices"));
    }
    let block: usize = dims[depth..].iter().product();
    let mut places = Vec::new();
    for place in indices.chunks(depth) {
        let mut at = 0;
        for (&i, &size) in place.iter().zip(dims) {
            at = at * size + index(node, i, size)?;
        }
        places.extend(at * block..(at + 1) * block);
    }
    Ok(places)
}

/// An index counted from the front; negative ones count from the back.
pub(super) fn index(node: &Node, index: i64, size: usize) -> Result<usize, FormatError> {
    let found = if index < 0 { index.saturating_add(size as i64) } else { index };
    let found = usize::try_from(found).ok().filter(|&found| found < size);
    found.ok_or_else(|| node.malformed(format!("its index {index} is beyond {size} entries")))
}
