//! Constants that are sums: products of matrices and reductions, such as the lengths in a weight normalisation.
//!
//! Sums of floats are made in doubles and rounded once to their type. A runtime adds in an order of its own, so that its
//! last digits may be others; a note says so.

use super::entrywise::{finite, not_computed, rounding};
use super::lowering::{Lowering, Site};
use super::shape;
use super::tensor::{Tensor, Values};
use crate::FormatError;

/// Products of doubles that take as long as an operation in rational arithmetic.
const PRODUCTS_PER_OPERATION: usize = 256;

/// Whether constants are computed as sums through this operator.
pub(super) fn computes(operator: &str) -> bool {
    operator == "MatMul" || reduction(operator).is_some()
}

/// A step of integers, unless it overflows.
type Whole = fn(i64, i64) -> Option<i64>;

/// How the entries of a group become one, from left to right, and what is made of their number and the result.
struct Reduction {
    first: f64,
    step: fn(f64, f64) -> f64,
    last: fn(f64, usize) -> f64,
    /// The same for integers, if that is what shapes are computed by.
    whole: Option<(i64, Whole)>,
}

fn reduction(operator: &str) -> Option<Reduction> {
    type Step = fn(f64, f64) -> f64;
    type Last = fn(f64, usize) -> f64;
    let sum: Step = |sum, x| sum + x;
    let squares: Step = |sum, x| sum + x * x;
    let itself: Last = |x, _| x;
    let made = |first: f64, step: Step, last: Last, whole: Option<(i64, Whole)>| {
        Some(Reduction { first, step, last, whole })
    };
    match operator {
        "ReduceL1" => made(0.0, |sum, x| sum + x.abs(), itself, None),
        "ReduceL2" => made(0.0, squares, |x, _| x.sqrt(), None),
        "ReduceSumSquare" => made(0.0, squares, itself, None),
        "ReduceSum" => made(0.0, sum, itself, Some((0, i64::checked_add))),
        "ReduceMean" => made(0.0, sum, |x, count| x / count as f64, None),
        "ReduceProd" => made(1.0, |product, x| product * x, itself, Some((1, i64::checked_mul))),
        "ReduceMax" => made(f64::NEG_INFINITY, f64::max, itself, Some((i64::MIN, |a, b| Some(a.max(b))))),
        "ReduceMin" => made(f64::INFINITY, f64::min, itself, Some((i64::MAX, |a, b| Some(a.min(b))))),
        _ => None,
    }
}

/// The result of such a node.
pub(super) fn evaluate<'a>(lowering: &mut Lowering<'_, 'a>, site: &Site<'a>) -> Result<Tensor, FormatError> {
    let node = &site.node;
    let tensor = match reduction(node.operator) {
        Some(reduction) => reduced(lowering, site, &reduction)?,
        None => product(lowering, site)?,
    };
    if matches!(tensor.values, Values::Floats(..)) && !matches!(node.operator, "ReduceMax" | "ReduceMin") {
        lowering.summed.push(*node);
    }
    Ok(tensor)
}

fn reduced<'a>(
    lowering: &mut Lowering<'_, 'a>,
    site: &Site<'a>,
    by: &Reduction,
) -> Result<Tensor, FormatError> {
    let node = &site.node;
    let tensor = lowering.constant(site, 0)?;
    let (dims, groups) = lowering.groups_of(site, &tensor.dims)?;
    let values = match (&tensor.values, by.whole) {
        (Values::Floats(all, precision), _) => {
            let round = rounding(*precision);
            let one = |group: &Vec<usize>| {
                let folded = group.iter().fold(by.first, |sum, &at| (by.step)(sum, all[at]));
                round((by.last)(folded, group.len()))
            };
            finite(node, groups.iter().map(one).collect(), *precision)?
        }
        (Values::Integers(all), Some((first, step))) => {
            let one = |group: &Vec<usize>| group.iter().try_fold(first, |sum, &at| step(sum, all[at]));
            let whole: Option<Vec<i64>> = groups.iter().map(one).collect();
            Values::Integers(whole.ok_or_else(|| node.malformed("it overflows"))?)
        }
        (Values::Integers(_), None) => return Err(not_computed(node)),
    };
    Ok(Tensor { dims, values })
}

/// The product of two matrices, or of two for each place of the dimensions in front.
fn product<'a>(lowering: &mut Lowering<'_, 'a>, site: &Site<'a>) -> Result<Tensor, FormatError> {
    let node = &site.node;
    let (left, right) = (lowering.constant(site, 0)?, lowering.constant(site, 1)?);
    let (Values::Floats(a, p), Values::Floats(b, q)) = (&left.values, &right.values) else {
        return Err(not_computed(node));
    };
    let single = || node.malformed("it multiplies by a single number; expected a matrix");
    // A list is a row on the left and a column on the right, and leaves no dimension behind.
    let (a_lead, [rows, inner]) = match left.dims.as_slice() {
        [] => return Err(single()),
        &[length] => (&[][..], [1, length]),
        [lead @ .., rows, inner] => (lead, [*rows, *inner]),
    };
    let (b_lead, [expected, cols]) = match right.dims.as_slice() {
        [] => return Err(single()),
        &[length] => (&[][..], [length, 1]),
        [lead @ .., inner, cols] => (lead, [*inner, *cols]),
    };
    if inner != expected {
        let found = format!("it multiplies {inner} columns by {expected} rows");
        return Err(node.malformed(found));
    }
    let lead = shape::broadcast(a_lead, b_lead).map_err(|reason| node.malformed(reason))?;
    let blocks = shape::count(&lead).unwrap_or(usize::MAX);
    lowering.budget.entries(node, blocks.saturating_mul(rows), cols)?;
    let products = blocks.saturating_mul(rows).saturating_mul(cols).saturating_mul(inner);
    lowering.budget.operations(node, products / PRODUCTS_PER_OPERATION)?;
    let precision = *p.min(q);
    let round = rounding(precision);
    let mut all = Vec::with_capacity(blocks * rows * cols);
    let places =
        shape::broadcast_source(a_lead, &lead).into_iter().zip(shape::broadcast_source(b_lead, &lead));
    for (at, bt) in places {
        let (a, b) = (&a[at * rows * inner..][..rows * inner], &b[bt * inner * cols..][..inner * cols]);
        for row in 0..rows {
            let mut sums = vec![0.0; cols];
            for (t, x) in a[row * inner..][..inner].iter().enumerate() {
                sums.iter_mut().zip(&b[t * cols..]).for_each(|(sum, y)| *sum += x * y);
            }
            all.extend(sums.into_iter().map(round));
        }
    }
    let row = (left.dims.len() > 1).then_some(rows);
    let column = (right.dims.len() > 1).then_some(cols);
    let dims = lead.into_iter().chain(row).chain(column).collect();
    Ok(Tensor { dims, values: finite(node, all, precision)? })
}
