//! `Where` with a constant condition, which takes entries of a value and of a constant; and
//! `Where(x > c, a, b)` with two lines `a` and `b` in `x` that meet at `c`.
//!
//! With `a(x) = p x + q` and `b(x) = r x + s`, entry by entry, and `a(c) = b(c)`,
//!
//! ```text
//! where(x > c, a(x), b(x)) = a(c) + p relu(x - c) - r relu(c - x)
//! ```
//!
//! exactly, and whether `c` itself belongs to the one or the other does not matter. Lines that do not meet
//! make a function that jumps, which no ReLU network computes. The lines are read off the nodes that make
//! `a` and `b`: sums, differences and multiples of `x` and constants.

use fiberscope_core::Rational;

use super::affine::exact;
use super::constant;
use super::graph::Maker;
use super::layers::Value;
use super::lowering::{Lowering, Site, Slot};
use super::proto::{Node, Quoted};
use super::shape;
use super::tensor::{Tensor, Values};
use crate::FormatError;

/// Longer chains of arithmetic between a value and the choice are not followed.
const MOST_STEPS: usize = 32;

/// Whether an operator compares.
pub(super) fn compares(operator: &str) -> bool {
    matches!(operator, "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual")
}

/// `slope x + offset`, entry by entry in this shape, which is repeated to larger ones.
#[derive(Clone)]
struct Line {
    dims: Vec<usize>,
    slope: Vec<Rational>,
    offset: Vec<Rational>,
}

/// The two lines, brought to the same shape.
pub(super) struct Bend {
    /// The slope where the value is above the bound, and below.
    pub(super) above: Vec<Rational>,
    pub(super) below: Vec<Rational>,
    /// The value at the bound.
    pub(super) at: Vec<Rational>,
}

impl<'a> Lowering<'_, 'a> {
    /// `x - c` for `x > c`, `c - x` for `x < c`, at hand; marked, as nothing but a choice may read it.
    pub(super) fn comparison(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        let data_is_left = site.data_is_left()?;
        let operand = self.floats(site, usize::from(data_is_left))?;
        let dims = shape::broadcast(&self.hand.dims, &operand.0).map_err(|reason| node.malformed(reason))?;
        self.spread(node, &dims)?;
        let bound: Vec<Rational> = self.broadcast(node, operand, &dims)?.into_iter().map(exact).collect();
        let is_above = node.operator.starts_with("Greater") == data_is_left;
        if is_above {
            self.shift(node, &bound.iter().map(|c| -c).collect::<Vec<_>>())?;
        } else {
            self.scale_all(node, &Rational::from(-1))?;
            self.shift(node, &bound)?;
        }
        self.hand.is_condition = true;
        Ok(())
    }

    /// `Where` with a constant condition: some entries of the value at hand, the others of a constant.
    pub(super) fn masked(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        let (kept, other) = match site.data {
            1 => (true, 2),
            2 => (false, 1),
            _ => return Err(node.unsupported("its condition depends on the input, and is no comparison")),
        };
        let condition = self.condition_values(site)?;
        let operand = self.floats(site, other)?;
        let mut dims = self.hand.dims.clone();
        for other in [&condition.0, &operand.0] {
            dims = shape::broadcast(&dims, other).map_err(|reason| node.malformed(reason))?;
        }
        self.spread(node, &dims)?;
        let values = self.broadcast(node, operand, &dims)?;
        let source = shape::broadcast_source(&condition.0, &dims);
        let keep: Vec<bool> = source.into_iter().map(|at| (condition.1[at] != 0) == kept).collect();
        let part = |keep: &bool| if *keep { Rational::ONE } else { Rational::ZERO };
        self.scale(node, &keep.iter().map(part).collect::<Vec<_>>())?;
        let rest = |(keep, value): (&bool, f64)| if *keep { Rational::ZERO } else { exact(value) };
        self.shift(node, &keep.iter().zip(values).map(rest).collect::<Vec<_>>())
    }

    /// The condition of a choice, `x - c`, and the lines on both sides of its zero.
    pub(super) fn bend(&mut self, site: &Site<'a>) -> Result<(Value<'a>, Bend), FormatError> {
        let node = site.node;
        let [condition, first, second] = site.inputs[..] else {
            return Err(node.malformed("expected three inputs"));
        };
        let (value, bound, is_above) = self.compared(&node, condition)?;
        let read = |lowering: &mut Self, name: &'a str| {
            lowering.line(&node, name, value, 0)?.ok_or_else(|| {
                node.unsupported(format!(
                    "it chooses {}, which is no multiple of {} plus a constant; such choices are not read",
                    Quoted(name),
                    Quoted(value)
                ))
            })
        };
        let lines = [read(self, first)?, read(self, second)?];
        let mut difference = self.take(condition, &node)?;
        difference.is_condition = false;
        for name in [first, second] {
            if self.is_value(name) {
                self.take(name, &node)?;
            }
        }
        let mut dims = difference.dims.clone();
        for line in lines.iter().chain([&bound]) {
            dims = shape::broadcast(&dims, &line.dims).map_err(|reason| node.malformed(reason))?;
        }
        self.hand = difference;
        self.spread(&node, &dims)?;
        let mut difference = self.put_down();
        let count = difference.map.output();
        self.budget.operations(node, count.saturating_mul(16))?;
        let [first, second] = lines.map(|line| line.spread(&dims));
        let bound = bound.spread(&dims).offset;
        let (above, below) = if is_above { (first, second) } else { (second, first) };
        let at: Vec<Rational> =
            (0..count).map(|i| &(&above.slope[i] * &bound[i]) + &above.offset[i]).collect();
        let meet = |i: usize| at[i] == &(&below.slope[i] * &bound[i]) + &below.offset[i];
        if let Some(i) = (0..count).find(|&i| !meet(i)) {
            let reason = format!("entry {} of its result jumps: no ReLU network does", i + 1);
            return Err(node.unsupported(reason));
        }
        if !is_above {
            difference.map.scale(&vec![Rational::from(-1); count]);
        }
        Ok((difference, Bend { above: above.slope, below: below.slope, at }))
    }

    /// What a condition compares with which constant, and whether it holds above it.
    fn compared(
        &mut self,
        node: &Node<'a>,
        condition: &'a str,
    ) -> Result<(&'a str, Line, bool), FormatError> {
        let expected = || {
            let found = format!("its condition {} is not read", Quoted(condition));
            node.unsupported(format!("{found}; expected a comparison of a value with a constant"))
        };
        let Some(Maker::Node(at)) = self.graph.maker(condition) else { return Err(expected()) };
        let site = self.site(at)?;
        if !compares(site.node.operator) {
            return Err(expected());
        }
        let &[left, right] = site.inputs.as_slice() else { return Err(expected()) };
        let is_greater = site.node.operator.starts_with("Greater");
        if let Some(bound) = self.literal(node, right)? {
            return Ok((left, bound, is_greater));
        }
        let bound = self.literal(node, left)?.ok_or_else(expected)?;
        Ok((right, bound, !is_greater))
    }

    /// The line that a name stands for, in the value `of`; `None` if it is none.
    fn line(
        &mut self,
        node: &Node<'a>,
        name: &'a str,
        of: &str,
        depth: usize,
    ) -> Result<Option<Line>, FormatError> {
        if name == of {
            return Ok(Some(Line { dims: vec![], slope: vec![Rational::ONE], offset: vec![Rational::ZERO] }));
        }
        if let Some(line) = self.literal(node, name)? {
            return Ok(Some(line));
        }
        let Some(Maker::Node(at)) = self.graph.maker(name) else { return Ok(None) };
        let site = self.site(at)?;
        if depth == MOST_STEPS || site.node.attribute("axis")?.is_some() {
            return Ok(None);
        }
        let mut parts = Vec::with_capacity(2);
        let inputs = match site.node.operator {
            "Add" | "Sub" | "Mul" | "Div" => 2,
            "Neg" | "Identity" => 1,
            _ => return Ok(None),
        };
        for at in 0..inputs {
            let Some(input) = site.input(at) else { return Ok(None) };
            let Some(part) = self.line(node, input, of, depth + 1)? else { return Ok(None) };
            parts.push(part);
        }
        let mut dims = vec![];
        for part in &parts {
            dims = shape::broadcast(&dims, &part.dims).map_err(|reason| site.node.malformed(reason))?;
        }
        self.budget.entries(node, shape::count(&dims).unwrap_or(usize::MAX), 4)?;
        let parts: Vec<Line> = parts.into_iter().map(|part| part.spread(&dims)).collect();
        Ok(combined(site.node.operator, &parts))
    }

    /// A constant that stands in the file, whether or not it is still at hand.
    fn literal(&mut self, node: &Node<'a>, name: &'a str) -> Result<Option<Line>, FormatError> {
        let tensor: Tensor = match (self.slots.get(name), self.graph.maker(name)) {
            (Some(Slot::Constant(tensor)), _) => (**tensor).clone(),
            (None, Some(Maker::Initializer(tensor))) => {
                self.budget.entries(node, tensor.size() / 4, 1)?;
                Tensor::decode(tensor, format_args!("initializer {}", Quoted(name)), &self.graph.files)?
            }
            (None, Some(Maker::Node(at))) if self.graph.nodes[at].operator == "Constant" => {
                let made = self.graph.nodes[at];
                self.budget.entries(node, made.size() / 4 + 1, 1)?;
                constant::constant_node(&made, &self.graph.files)?
            }
            _ => return Ok(None),
        };
        let Values::Floats(values, _) = tensor.values else { return Ok(None) };
        let slope = vec![Rational::ZERO; values.len()];
        Ok(Some(Line { dims: tensor.dims, slope, offset: values.into_iter().map(exact).collect() }))
    }
}

impl Line {
    /// The same in a larger shape.
    fn spread(&self, dims: &[usize]) -> Line {
        let source = shape::broadcast_source(&self.dims, dims);
        let select = |values: &[Rational]| source.iter().map(|&at| values[at].clone()).collect();
        Line { dims: dims.to_vec(), slope: select(&self.slope), offset: select(&self.offset) }
    }

    fn is_constant(&self) -> bool {
        self.slope.iter().all(Rational::is_zero)
    }
}

fn combined(operator: &str, parts: &[Line]) -> Option<Line> {
    type Combine<'c> = &'c dyn Fn(&Rational, &Rational) -> Rational;
    let zip = |a: &[Rational], b: &[Rational], f: Combine| a.iter().zip(b).map(|(a, b)| f(a, b)).collect();
    let times = |line: &Line, factors: &[Rational]| Line {
        dims: line.dims.clone(),
        slope: zip(&line.slope, factors, &|a, b| a * b),
        offset: zip(&line.offset, factors, &|a, b| a * b),
    };
    Some(match (operator, parts) {
        ("Identity", [one]) => one.clone(),
        ("Neg", [one]) => times(one, &vec![Rational::from(-1); one.slope.len()]),
        ("Add", [a, b]) => Line {
            dims: a.dims.clone(),
            slope: zip(&a.slope, &b.slope, &|a, b| a + b),
            offset: zip(&a.offset, &b.offset, &|a, b| a + b),
        },
        ("Sub", [a, b]) => Line {
            dims: a.dims.clone(),
            slope: zip(&a.slope, &b.slope, &|a, b| a - b),
            offset: zip(&a.offset, &b.offset, &|a, b| a - b),
        },
        ("Mul", [a, b]) if b.is_constant() => times(a, &b.offset),
        ("Mul", [a, b]) if a.is_constant() => times(b, &a.offset),
        ("Div", [a, b]) if b.is_constant() => {
            times(a, &b.offset.iter().map(Rational::recip).collect::<Option<Vec<_>>>()?)
        }
        _ => return None,
    })
}
