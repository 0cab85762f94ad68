//! Constants that nodes compute: shapes and their arithmetic, tables that are rearranged, numbers in single
//! precision.
//!
//! Arithmetic of floats is rounded to their type, as a runtime does it.

use super::entrywise::{self, not_computed, rounding};
use super::external::External;
use super::lowering::{Lowering, Site};
use super::proto::Node;
use super::select;
use super::shape;
use super::sums;
use super::tensor::{Tensor, Values, float_type, type_name};
use super::wire::Message;
use crate::{FormatError, Precision};

/// The shape, or the number of entries, of a tensor of shape `dims`.
pub(super) fn shape_of(node: &Node, dims: &[usize]) -> Result<Tensor, FormatError> {
    let integer = |&dim: &usize| i64::try_from(dim).map_err(|_| node.malformed("a dimension is too large"));
    if node.operator == "Size" {
        let count = integer(&shape::count(dims).unwrap_or(usize::MAX))?;
        return Ok(Tensor { dims: vec![], values: Values::Integers(vec![count]) });
    }
    let all = dims.iter().map(integer).collect::<Result<Vec<_>, _>>()?;
    let rank = all.len() as i64;
    let clamp = |at: i64| (if at < 0 { at.saturating_add(rank) } else { at }).clamp(0, rank) as usize;
    let (start, end) = (clamp(node.integer("start", 0)?), clamp(node.integer("end", rank)?));
    let values = all.get(start..end).unwrap_or(&[]).to_vec();
    Ok(Tensor { dims: vec![values.len()], values: Values::Integers(values) })
}

/// The shape or axes that `Reshape`, `Squeeze` and `Unsqueeze` take as an attribute (in old files) or as
/// their second input.
fn shape_argument<'a>(
    lowering: &mut Lowering<'_, 'a>,
    site: &Site<'a>,
    attribute: &str,
) -> Result<Option<Vec<i64>>, FormatError> {
    match site.node.integers(attribute)? {
        Some(values) => Ok(Some(values)),
        None => lowering.integers(site, 1),
    }
}

/// The shape after an operator that keeps the order of the entries, or `None` for other operators.
pub(super) fn reshaped<'a>(
    lowering: &mut Lowering<'_, 'a>,
    site: &Site<'a>,
    dims: &[usize],
) -> Result<Option<Vec<usize>>, FormatError> {
    let node = &site.node;
    let missing = |what| node.malformed(format!("it has no {what}"));
    let reshaped = match node.operator {
        "Identity" | "Cast" => Ok(dims.to_vec()),
        "Flatten" => shape::flatten(dims, node.integer("axis", 1)?),
        "Reshape" => {
            let mut target = shape_argument(lowering, site, "shape")?.ok_or_else(|| missing("shape"))?;
            // A shape that was written down for the batch of the file is meant for one sample here. Constants keep
            // their shape.
            if let Some(batch) =
                lowering.batch.filter(|_| lowering.is_value(site.inputs[0]) || lowering.has_hand())
                && target.first() == i64::try_from(batch).ok().as_ref()
                && dims.first() == Some(&1)
            {
                target[0] = 1;
            }
            shape::reshape(dims, &target, node.integer("allowzero", 0)? != 0)
        }
        "Squeeze" => shape::squeeze(dims, shape_argument(lowering, site, "axes")?.as_deref()),
        "Unsqueeze" => {
            let axes = shape_argument(lowering, site, "axes")?.ok_or_else(|| missing("axes"))?;
            shape::unsqueeze(dims, &axes)
        }
        _ => return Ok(None),
    };
    reshaped.map(Some).map_err(|reason| node.malformed(reason))
}

/// Whether a node of this operator that reads constants only is computed here; others are read as the network
/// is.
pub(super) fn computes(operator: &str) -> bool {
    const COMPUTED: [&str; 21] = [
        "Cast",
        "Concat",
        "Constant",
        "ConstantOfShape",
        "DepthToSpace",
        "Expand",
        "Flatten",
        "Gather",
        "GatherElements",
        "GatherND",
        "Identity",
        "Range",
        "Reshape",
        "Shape",
        "Slice",
        "SpaceToDepth",
        "Squeeze",
        "Tile",
        "Transpose",
        "Unsqueeze",
        "Where",
    ];
    COMPUTED.contains(&operator) || entrywise::computes(operator) || sums::computes(operator)
}

/// The result of a node that reads constants only.
pub(super) fn evaluate<'a>(lowering: &mut Lowering<'_, 'a>, site: &Site<'a>) -> Result<Tensor, FormatError> {
    let node = &site.node;
    if node.operator == "Constant" {
        lowering.budget.entries(node, node.size() / 4 + 1, 1)?;
        return filled_up(node, constant_node(node, &lowering.graph.files)?);
    }
    let tensor = match node.operator {
        "Concat" => concatenated(lowering, site)?,
        "ConstantOfShape" => filled(lowering, site)?,
        "Range" => range(lowering, site)?,
        "Where" => entrywise::evaluate(lowering, site)?,
        operator if entrywise::computes(operator) => entrywise::evaluate(lowering, site)?,
        operator if sums::computes(operator) => sums::evaluate(lowering, site)?,
        _ => {
            let tensor = (*lowering.constant(site, 0)?).clone();
            let dims = tensor.dims.clone();
            match node.operator {
                operator if select::rearranges(operator) => {
                    let (dims, source) = lowering.taken(site, &dims)?;
                    let values = source.map_or_else(|| tensor.values.clone(), |at| tensor.values.select(&at));
                    Tensor { dims, values }
                }
                _ => {
                    let dims = reshaped(lowering, site, &dims)?.ok_or_else(|| not_computed(node))?;
                    let values =
                        if node.operator == "Cast" { cast(node, tensor.values)? } else { tensor.values };
                    Tensor { dims, values }
                }
            }
        }
    };
    lowering.budget.entries(node, shape::count(&tensor.dims).unwrap_or(usize::MAX), 1)?;
    filled_up(node, tensor)
}

/// A tensor, unless it has several dimensions and no entries: sizes of its axes could then be as large as they
/// like.
fn filled_up(node: &Node, tensor: Tensor) -> Result<Tensor, FormatError> {
    match tensor.dims.len() > 1 && tensor.dims.contains(&0) {
        true => Err(node.unsupported("its result is empty")),
        false => Ok(tensor),
    }
}

/// Constants along an axis; shapes and tables are short, so that lists will do.
fn concatenated<'a>(lowering: &mut Lowering<'_, 'a>, site: &Site<'a>) -> Result<Tensor, FormatError> {
    let node = &site.node;
    let mut parts = Vec::with_capacity(site.inputs.len());
    for at in 0..site.inputs.len() {
        parts.push(lowering.constant(site, at)?);
    }
    let Some(first) = parts.first() else { return Err(node.malformed("it has no inputs")) };
    let axis = shape::resolve(node.integer("axis", 1)?, first.dims.len(), false)
        .map_err(|reason| node.malformed(reason))?;
    let shapes: Vec<&[usize]> = parts.iter().map(|part| part.dims.as_slice()).collect();
    let dims = shape::side_by_side(&shapes, axis).map_err(|reason| node.malformed(reason))?;
    lowering.budget.entries(node, shape::count(&dims).unwrap_or(usize::MAX), 2)?;
    let source = shape::interleaved(&shapes, axis);
    let mut all = match &first.values {
        Values::Floats(_, precision) => Values::Floats(vec![], *precision),
        Values::Integers(_) => Values::Integers(vec![]),
    };
    for part in &parts {
        match (&mut all, &part.values) {
            (Values::Floats(all, _), Values::Floats(own, _)) => all.extend(own),
            (Values::Integers(all), Values::Integers(own)) => all.extend(own),
            _ => return Err(node.malformed("it joins integers and floating-point numbers")),
        }
    }
    Ok(Tensor { dims, values: all.select(&source) })
}

fn filled<'a>(lowering: &mut Lowering<'_, 'a>, site: &Site<'a>) -> Result<Tensor, FormatError> {
    let node = &site.node;
    let dims = lowering.integers(site, 0)?.ok_or_else(|| node.malformed("it has no shape"))?;
    let dims: Option<Vec<usize>> = dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
    let dims = dims.ok_or_else(|| node.malformed("its shape is negative"))?;
    if dims.len() > 1 && dims.contains(&0) {
        return Err(node.unsupported("its result is empty"));
    }
    let count = shape::count(&dims).unwrap_or(usize::MAX);
    lowering.budget.entries(node, count, 1)?;
    let value = match node.attribute("value")? {
        Some(attribute) => {
            let tensor: Message =
                attribute.tensor()?.ok_or_else(|| node.malformed("its value is no tensor"))?;
            Tensor::decode(tensor, node, &lowering.graph.files)?.values
        }
        None => Values::Floats(vec![0.0], Precision::F32),
    };
    let values = match value {
        Values::Floats(value, precision) if value.len() == 1 => {
            Values::Floats(vec![value[0]; count], precision)
        }
        Values::Integers(value) if value.len() == 1 => Values::Integers(vec![value[0]; count]),
        _ => return Err(node.malformed("its value is not one number")),
    };
    Ok(Tensor { dims, values })
}

fn range<'a>(lowering: &mut Lowering<'_, 'a>, site: &Site<'a>) -> Result<Tensor, FormatError> {
    let node = &site.node;
    let mut numbers = [0; 3];
    for (at, number) in numbers.iter_mut().enumerate() {
        let one = lowering.integers(site, at)?.filter(|list| list.len() == 1);
        *number = one.ok_or_else(|| node.unsupported("expected three integers"))?[0];
    }
    let [start, limit, delta] = numbers;
    if delta == 0 {
        return Err(node.malformed("its step is 0"));
    }
    let span = i128::from(limit) - i128::from(start);
    let count = (span.abs() + i128::from(delta).abs() - 1) / i128::from(delta).abs();
    let count = if (span > 0) == (delta > 0) { usize::try_from(count).unwrap_or(usize::MAX) } else { 0 };
    lowering.budget.entries(node, count, 1)?;
    let values = (0..count).map(|at| start.wrapping_add((at as i64).wrapping_mul(delta))).collect();
    Ok(Tensor { dims: vec![count], values: Values::Integers(values) })
}

/// Rounds the numbers to the type that the node asks for.
fn cast(node: &Node, values: Values) -> Result<Values, FormatError> {
    let to = node.integer("to", 0)?;
    if matches!(to, 6 | 7 | 9) {
        let whole = |x: f64| if to == 9 { i64::from(x != 0.0) } else { x as i64 };
        return Ok(Values::Integers(match values {
            Values::Integers(values) if to == 9 => values.iter().map(|&x| i64::from(x != 0)).collect(),
            Values::Integers(values) => values,
            Values::Floats(values, _) => values.into_iter().map(whole).collect(),
        }));
    }
    let Some(precision) = float_type(to) else {
        return Err(node.unsupported(format!("a cast to {} is not read", type_name(to))));
    };
    let round = rounding(precision);
    let mut numbers = match values {
        Values::Floats(numbers, _) => numbers,
        Values::Integers(integers) => integers.into_iter().map(|i| i as f64).collect(),
    };
    numbers.iter_mut().for_each(|x| *x = round(*x));
    match numbers.iter().find(|x| !x.is_finite()) {
        Some(x) => Err(node.malformed(format!("a constant becomes {x} as {}", type_name(to)))),
        None => Ok(Values::Floats(numbers, precision)),
    }
}

pub(super) fn constant_node(node: &Node, files: &External) -> Result<Tensor, FormatError> {
    if let Some(attribute) = node.attribute("value")? {
        let tensor: Message = attribute.tensor()?.ok_or_else(|| node.malformed("its value is no tensor"))?;
        return Tensor::decode(tensor, node, files);
    }
    let floats = |values: Vec<f32>| -> Result<Values, FormatError> {
        match values.iter().find(|x| !x.is_finite()) {
            Some(x) => Err(node.malformed(format!("its value is {x}; expected a finite number"))),
            None => Ok(Values::Floats(values.into_iter().map(f64::from).collect(), Precision::F32)),
        }
    };
    if let Some(attribute) = node.attribute("value_float")? {
        return Ok(Tensor { dims: vec![], values: floats(vec![attribute.float()?])? });
    }
    if let Some(attribute) = node.attribute("value_floats")? {
        let values = attribute.floats()?;
        return Ok(Tensor { dims: vec![values.len()], values: floats(values)? });
    }
    if let Some(attribute) = node.attribute("value_int")? {
        return Ok(Tensor { dims: vec![], values: Values::Integers(vec![attribute.integer()?]) });
    }
    if let Some(attribute) = node.attribute("value_ints")? {
        let values = attribute.integers()?;
        return Ok(Tensor { dims: vec![values.len()], values: Values::Integers(values) });
    }
    Err(node.unsupported("expected a tensor, a number or a list of numbers as its value"))
}
