//! Operators that take entries of a value: `Transpose`, `Slice`, `Gather`, `Split`, `Expand`, `Tile`, `Pad`,
//! `DepthToSpace`, `Trilu` and their like.
//!
//! Each is a list of places, one for every entry of the result; the same lists serve constants.

use fiberscope_core::Rational;

use super::affine::exact;
use super::layers::Value;
use super::lowering::{Lowering, Site};
use super::proto::Node;
use super::scatter::{index, places_along};
use super::shape::{self, resolve};
use super::tensor::Values;
use crate::FormatError;

/// Pads beyond this are no honest ones.
const MOST_PADDED: i64 = 1 << 31;

/// The shape of a result, and for every entry the place it comes from (left out if each stays where it is).
pub(super) type Taken = (Vec<usize>, Option<Vec<usize>>);

/// Whether the result of an operator takes entries of its first input, and nothing else.
pub(super) fn rearranges(operator: &str) -> bool {
    const REARRANGES: [&str; 10] = [
        "ArrayFeatureExtractor",
        "DepthToSpace",
        "Expand",
        "Gather",
        "GatherElements",
        "GatherND",
        "Slice",
        "SpaceToDepth",
        "Tile",
        "Transpose",
    ];
    REARRANGES.contains(&operator)
}

impl<'a> Lowering<'_, 'a> {
    /// An operator whose result takes entries of the value at hand.
    pub(super) fn rearrange(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        site.data_comes_first()?;
        let dims = self.hand.dims.clone();
        let (dims, source) = self.taken(site, &dims)?;
        if dims.contains(&0) {
            return Err(site.node.unsupported("its result is empty"));
        }
        if let Some(source) = source {
            self.hand.map.select(&source);
        }
        self.hand.dims = dims;
        Ok(())
    }

    /// What an operator takes from a tensor of shape `dims`, which is its first input.
    pub(super) fn taken(&mut self, site: &Site<'a>, dims: &[usize]) -> Result<Taken, FormatError> {
        let node = &site.node;
        let taken = match node.operator {
            "Transpose" => {
                self.budget.entries(node, shape::count(dims).unwrap_or(usize::MAX), 1)?;
                shape::transpose(dims, node.integers("perm")?.as_deref())
            }
            "Slice" => return self.slice(site, dims),
            "Gather" | "ArrayFeatureExtractor" => return self.gather(site, dims),
            "GatherND" => return self.gather_blocks(site, dims),
            "GatherElements" => {
                let axis = resolve(node.integer("axis", 0)?, dims.len(), false)
                    .map_err(|reason| node.malformed(reason))?;
                let indices = self.constant(site, 1)?;
                let Values::Integers(list) = &indices.values else {
                    return Err(node.malformed("its indices are no integers"));
                };
                let source = places_along(node, dims, &indices.dims, list, axis)?;
                Ok((indices.dims.clone(), Some(source)))
            }
            "DepthToSpace" | "SpaceToDepth" => {
                self.budget.entries(node, shape::count(dims).unwrap_or(usize::MAX), 1)?;
                let mode = node.attribute("mode")?.map(|mode| mode.string()).transpose()?;
                blocks_moved(node.operator, dims, node.integer("blocksize", 0)?, mode == Some(b"CRD"))
            }
            "Tile" => {
                let repeats = self.integers(site, 1)?.ok_or_else(|| node.malformed("it has no repeats"))?;
                let sizes: Option<Vec<usize>> = repeats.iter().map(|&r| usize::try_from(r).ok()).collect();
                let sizes = sizes.filter(|sizes| sizes.len() == dims.len());
                let sizes = sizes.ok_or_else(|| node.malformed("its repeats do not fit the value"))?;
                let total = |(&dim, &times): (&usize, &usize)| dim.saturating_mul(times);
                let result: Vec<usize> = dims.iter().zip(&sizes).map(total).collect();
                if result.contains(&0) {
                    return Err(node.unsupported("its result is empty"));
                }
                self.budget.entries(node, shape::count(&result).unwrap_or(usize::MAX), 1)?;
                let lists: Vec<Vec<usize>> =
                    result.iter().zip(dims).map(|(&all, &dim)| (0..all).map(|i| i % dim).collect()).collect();
                Ok((result, Some(shape::product(dims, &lists))))
            }
            _ => {
                let target = self.integers(site, 1)?.ok_or_else(|| node.malformed("it has no shape"))?;
                let target: Option<Vec<usize>> =
                    target.iter().map(|&dim| usize::try_from(dim).ok()).collect();
                let mut target = target.ok_or_else(|| node.malformed("its shape is negative"))?;
                self.one_sample(dims, &mut target);
                let expanded = shape::broadcast(dims, &target).map_err(|reason| node.malformed(reason))?;
                self.budget.entries(node, shape::count(&expanded).unwrap_or(usize::MAX), 1)?;
                let source = shape::broadcast_source(dims, &expanded);
                Ok((expanded, Some(source)))
            }
        };
        taken.map_err(|reason| node.malformed(reason))
    }

    /// `Slice`, whose bounds are attributes in old files and inputs in later ones.
    fn slice(&mut self, site: &Site<'a>, dims: &[usize]) -> Result<Taken, FormatError> {
        let node = &site.node;
        let missing = |what: &str| node.malformed(format!("it has no {what}"));
        let (starts, ends, axes, steps) = match node.integers("starts")? {
            Some(starts) => {
                (starts, node.integers("ends")?.ok_or_else(|| missing("ends"))?, node.integers("axes")?, None)
            }
            None => (
                self.integers(site, 1)?.ok_or_else(|| missing("starts"))?,
                self.integers(site, 2)?.ok_or_else(|| missing("ends"))?,
                self.integers(site, 3)?,
                self.integers(site, 4)?,
            ),
        };
        let axes = axes.unwrap_or_else(|| (0..starts.len() as i64).collect());
        let steps = steps.unwrap_or_else(|| vec![1; starts.len()]);
        if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
            return Err(node.malformed("its starts, ends, axes and steps have different lengths"));
        }
        self.budget.entries(node, shape::count(dims).unwrap_or(usize::MAX), 1)?;
        let mut lists: Vec<Vec<usize>> = dims.iter().map(|&dim| (0..dim).collect()).collect();
        for (((&start, &end), &axis), &step) in starts.iter().zip(&ends).zip(&axes).zip(&steps) {
            let axis = resolve(axis, dims.len(), false).map_err(|reason| node.malformed(reason))?;
            if step == 0 {
                return Err(node.malformed("a step is 0"));
            }
            lists[axis] = steps_between(start, end, step, dims[axis]);
        }
        let result: Vec<usize> = lists.iter().map(Vec::len).collect();
        // Of a shape nothing may be left.
        if result.contains(&0) && dims.len() > 1 {
            return Err(node.unsupported("its result is empty"));
        }
        Ok((result, Some(shape::product(dims, &lists))))
    }

    /// `Gather` along one axis, by constant indices.
    fn gather(&mut self, site: &Site<'a>, dims: &[usize]) -> Result<Taken, FormatError> {
        let node = &site.node;
        // The one of scikit-learn's exports takes columns, by a list of any shape.
        let columns = node.operator == "ArrayFeatureExtractor";
        let axis = if columns { -1 } else { node.integer("axis", 0)? };
        let axis = resolve(axis, dims.len(), false).map_err(|reason| node.malformed(reason))?;
        let indices = self.constant(site, 1)?;
        let Values::Integers(list) = &indices.values else {
            return Err(node.malformed("its indices are no integers"));
        };
        let chosen: Vec<usize> =
            list.iter().map(|&i| index(node, i, dims[axis])).collect::<Result<_, _>>()?;
        let taken = if columns { &[list.len()][..] } else { &indices.dims[..] };
        let result = [&dims[..axis], taken, &dims[axis + 1..]].concat();
        if result.contains(&0) && dims.len() > 1 {
            return Err(node.unsupported("its result is empty"));
        }
        self.budget.entries(node, shape::count(&result).unwrap_or(usize::MAX), 1)?;
        let mut lists: Vec<Vec<usize>> = dims.iter().map(|&dim| (0..dim).collect()).collect();
        lists[axis] = chosen;
        Ok((result, Some(shape::product(dims, &lists))))
    }

    /// `GatherND`: blocks by constant lists of indices.
    fn gather_blocks(&mut self, site: &Site<'a>, dims: &[usize]) -> Result<Taken, FormatError> {
        let node = &site.node;
        let indices = self.constant(site, 1)?;
        let Values::Integers(list) = &indices.values else {
            return Err(node.malformed("its indices are no integers"));
        };
        let depth = indices.dims.last().copied().filter(|depth| (1..=dims.len()).contains(depth));
        let depth = depth.ok_or_else(|| node.malformed("its indices do not fit the value"))?;
        if node.integer("batch_dims", 0)? != 0 {
            return Err(node.unsupported("its first dimensions are a batch (batch_dims); expected 0"));
        }
        let result = [&indices.dims[..indices.dims.len() - 1], &dims[depth..]].concat();
        self.budget.entries(node, shape::count(&result).unwrap_or(usize::MAX), 1)?;
        let block: usize = dims[depth..].iter().product();
        let mut source = Vec::new();
        for place in list.chunks(depth) {
            let mut at = 0;
            for (&i, &size) in place.iter().zip(dims) {
                at = at * size + index(node, i, size)?;
            }
            source.extend(at * block..(at + 1) * block);
        }
        Ok((result, Some(source)))
    }

    /// `Split` along an axis.
    pub(super) fn split(&mut self, site: &Site<'a>) -> Result<Vec<Value<'a>>, FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        let dims = self.hand.dims.clone();
        let axis =
            resolve(node.integer("axis", 0)?, dims.len(), false).map_err(|reason| node.malformed(reason))?;
        let outputs = node.outputs().count();
        let sizes = match node.integers("split")? {
            Some(sizes) => Some(sizes),
            None => self.integers(site, 1)?,
        };
        let sizes: Vec<usize> = match sizes {
            Some(sizes) => sizes.iter().map(|&size| usize::try_from(size).unwrap_or(usize::MAX)).collect(),
            None => {
                let each = dims[axis].div_ceil(outputs.max(1));
                (0..outputs).map(|at| each.min(dims[axis].saturating_sub(at * each))).collect()
            }
        };
        let total = sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size));
        if total != Some(dims[axis]) || sizes.contains(&0) || sizes.len() != outputs {
            let parts = shape::show(&sizes);
            return Err(node.malformed(format!("its parts ({parts}) do not make up {} entries", dims[axis])));
        }
        let value = self.put_down();
        let mut parts = Vec::with_capacity(outputs);
        let mut start = 0;
        for size in sizes {
            self.budget.entries(node, value.map.output(), value.map.price())?;
            let mut lists: Vec<Vec<usize>> = dims.iter().map(|&dim| (0..dim).collect()).collect();
            lists[axis] = (start..start + size).collect();
            start += size;
            let part = lists.iter().map(Vec::len).collect();
            parts.push(value.clone().select(part, &shape::product(&dims, &lists)));
        }
        Ok(parts)
    }

    /// `Pad` with a constant, with reflections or with the border.
    pub(super) fn pad(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        let dims = self.hand.dims.clone();
        let pads = match node.integers("pads")?.or(node.integers("paddings")?) {
            Some(pads) => pads,
            None => self.integers(site, 1)?.ok_or_else(|| node.malformed("it has no pads"))?,
        };
        let axes = match self.integers(site, 3)? {
            Some(axes) => axes,
            None => (0..dims.len() as i64).collect(),
        };
        if pads.len() != 2 * axes.len() {
            return Err(node.malformed(format!("it has {} pads; expected {}", pads.len(), 2 * axes.len())));
        }
        let mode = node.attribute("mode")?.map(|mode| mode.string()).transpose()?.unwrap_or(b"constant");
        let place: fn(i64, i64) -> Option<i64> = match mode {
            b"constant" => |at, size| (0..size).contains(&at).then_some(at),
            b"edge" => |at, size| Some(at.clamp(0, size - 1)),
            b"reflect" => reflected,
            b"wrap" => |at, size| Some(at.rem_euclid(size)),
            _ => return Err(node.unsupported("its mode is none of constant, edge, reflect and wrap")),
        };
        let mut lists: Vec<Vec<Option<usize>>> =
            dims.iter().map(|&dim| (0..dim).map(Some).collect()).collect();
        for (at, &axis) in axes.iter().enumerate() {
            let axis = resolve(axis, dims.len(), false).map_err(|reason| node.malformed(reason))?;
            let (before, after, size) = (pads[at], pads[at + axes.len()], dims[axis] as i64);
            if before.abs().max(after.abs()) > MOST_PADDED || (mode == b"wrap" && before.min(after) < 0) {
                return Err(node.unsupported(format!("its pads {before} and {after} are not read")));
            }
            let count = before.checked_add(after).and_then(|all| all.checked_add(size)).filter(|&n| n > 0);
            let count = count.ok_or_else(|| node.malformed("its pads leave nothing"))?;
            self.budget.entries(node, count as usize, 1)?;
            let entry = |i: i64| place(i - before, size).map(|at| at as usize);
            lists[axis] = (0..count).map(entry).collect();
        }
        let result: Vec<usize> = lists.iter().map(Vec::len).collect();
        self.budget.entries(node, shape::count(&result).unwrap_or(usize::MAX), 2)?;
        let value = match (node.attribute("value")?, site.input(2)) {
            (Some(value), _) => f64::from(value.float()?),
            (None, Some(_)) => self.floats(site, 2)?.1.first().copied().unwrap_or(0.0),
            (None, None) => 0.0,
        };
        let inside: Vec<bool> = shape::product_all(&lists, |list| list.is_some());
        let filled: Vec<Vec<usize>> =
            lists.iter().map(|list| list.iter().map(|at| at.unwrap_or(0)).collect()).collect();
        self.hand.map.select(&shape::product(&dims, &filled));
        self.hand.dims = result;
        if inside.contains(&false) {
            if !value.is_finite() {
                return Err(node.malformed(format!("it pads with {value}; expected a finite number")));
            }
            self.fill_outside(node, &inside, value)?;
        }
        Ok(())
    }

    /// `Trilu`: the entries of matrices above or below a diagonal are 0.
    pub(super) fn triangle(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        let &[.., rows, cols] = self.hand.dims.as_slice() else {
            return Err(node.malformed("expected matrices"));
        };
        let diagonal = self.integers(site, 1)?.and_then(|list| list.first().copied()).unwrap_or(0);
        let is_upper = node.integer("upper", 1)? != 0;
        let keeps = |i: usize, j: usize| {
            let beyond = i128::from(j as u64) - i128::from(i as u64) - i128::from(diagonal);
            if is_upper { beyond >= 0 } else { beyond <= 0 }
        };
        self.budget.entries(node, self.width(), 1)?;
        let inside: Vec<bool> = (0..self.width()).map(|at| keeps(at / cols % rows, at % cols)).collect();
        self.fill_outside(node, &inside, 0.0)
    }

    /// Sets the entries that are not inside to a number.
    fn fill_outside(&mut self, node: &Node<'a>, inside: &[bool], value: f64) -> Result<(), FormatError> {
        let factor = |&inside: &bool| if inside { Rational::ONE } else { Rational::ZERO };
        self.scale(node, &inside.iter().map(factor).collect::<Vec<_>>())?;
        if value != 0.0 {
            let number = exact(value);
            let term = |&inside: &bool| if inside { Rational::ZERO } else { number.clone() };
            self.shift(node, &inside.iter().map(term).collect::<Vec<_>>())?;
        }
        Ok(())
    }
}

/// `DepthToSpace` and `SpaceToDepth`: blocks of an image as channels, and back.
fn blocks_moved(operator: &str, dims: &[usize], block: i64, channels_first: bool) -> Result<Taken, String> {
    let expected = || {
        let found = shape::show(dims);
        format!("blocks of {block} x {block} do not fit a value of shape {found}")
    };
    let (&[samples, channels, height, width], Ok(block)) = (dims, usize::try_from(block)) else {
        return Err(expected());
    };
    let square = block.checked_mul(block).filter(|&square| square > 0).ok_or_else(expected)?;
    let (apart, order, result) = match operator {
        "DepthToSpace" if channels % square == 0 => {
            let left = channels / square;
            let result = vec![samples, left, height * block, width * block];
            match channels_first {
                true => (vec![samples, left, block, block, height, width], [0, 1, 4, 2, 5, 3], result),
                false => (vec![samples, block, block, left, height, width], [0, 3, 4, 1, 5, 2], result),
            }
        }
        "SpaceToDepth" if height % block == 0 && width % block == 0 => {
            let (down, across) = (height / block, width / block);
            let result = vec![samples, channels * square, down, across];
            (vec![samples, channels, down, block, across, block], [0, 3, 5, 1, 2, 4], result)
        }
        _ => return Err(expected()),
    };
    Ok((result, shape::transpose(&apart, Some(&order))?.1))
}

fn steps_between(start: i64, end: i64, step: i64, size: usize) -> Vec<usize> {
    if size == 0 {
        return Vec::new();
    }
    let size = size as i64;
    let wrapped = |at: i64| if at < 0 { at.saturating_add(size) } else { at };
    let (low, high) = if step > 0 { (0, size) } else { (-1, size - 1) };
    // Backwards a start before the first entry is the first one, as the standard says and numpy does not.
    let first = if step > 0 { wrapped(start).clamp(0, size) } else { wrapped(start).clamp(0, size - 1) };
    // An end before the first entry stays before it when it is far enough below.
    let end = if end < 0 && end.saturating_add(size) < 0 && step < 0 { -1 } else { wrapped(end) };
    let end = end.clamp(low, high);
    let mut list = Vec::new();
    let mut at = first;
    while (step > 0 && at < end) || (step < 0 && at > end) {
        list.push(at as usize);
        match at.checked_add(step) {
            Some(next) => at = next,
            None => break,
        }
    }
    list
}

/// The place of an entry outside, reflected at the first and the last.
fn reflected(at: i64, size: i64) -> Option<i64> {
    if size == 1 {
        return Some(0);
    }
    let period = 2 * (size - 1);
    let folded = at.rem_euclid(period);
    Some(if folded < size { folded } else { period - folded })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_as_numpy_takes_them() {
        assert_eq!(steps_between(0, i64::MAX, 1, 3), [0, 1, 2]);
        assert_eq!(steps_between(-2, 10, 1, 3), [1, 2]);
        assert_eq!(steps_between(-1, i64::MIN, -1, 3), [2, 1, 0]);
        assert_eq!(steps_between(5, 0, -2, 5), [4, 2]);
        assert!(steps_between(3, 1, 1, 5).is_empty());
        assert_eq!(steps_between(-9, i64::MIN, -1, 5), [0]);
        assert!(steps_between(-9, i64::MIN, -1, 0).is_empty());
        assert_eq!(steps_between(1, -1, 2, 6), [1, 3]);
    }

    #[test]
    fn reflections() {
        let found: Vec<_> = (-3..7).filter_map(|at| reflected(at, 4)).collect();
        assert_eq!(found, [3, 2, 1, 0, 1, 2, 3, 2, 1, 0]);
        assert_eq!(reflected(-5, 1), Some(0));
    }
}
