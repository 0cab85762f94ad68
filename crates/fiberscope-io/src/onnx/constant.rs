//! Constants: initializers, `Constant` nodes, and operators applied to these.
//!
//! A constant is followed back through operators that rearrange it until its numbers are found, then
//! the operators are applied in order; a loop, not a recursion. It is computed anew for each use, so
//! every use is charged to the [`Budget`].

use std::fmt;

use half::{bf16, f16};

use super::graph::{Graph, Maker};
use super::proto::{Node, Quoted};
use super::shape;
use super::tensor::{Tensor, Values, float_type, type_name};
use super::wire::Message;
use crate::{FormatError, Precision};

/// What a file may still cost. The bounds follow from its size and from the limit on matrices that
/// it does not hold as such, so a small file cannot ask for much memory or time.
pub(super) struct Budget {
    entries: Account,
    /// Operations in rational arithmetic.
    operations: Account,
}

struct Account {
    left: usize,
    limit: usize,
}

impl Budget {
    pub(super) fn new(file_size: usize, max_dense_entries: usize) -> Self {
        // A stored parameter takes two bytes or more, so an honest file stays below these bounds even
        // if every tensor is decoded, transposed and scaled.
        let account = |limit| Account { left: limit, limit };
        Budget {
            entries: account(file_size.saturating_mul(2).saturating_add(max_dense_entries)),
            operations: account(file_size.saturating_mul(4).saturating_add(max_dense_entries / 8)),
        }
    }

    /// Pays for `rows * cols` numbers before they are made.
    pub(super) fn entries(
        &mut self,
        who: impl fmt::Display,
        rows: usize,
        cols: usize,
    ) -> Result<(), FormatError> {
        let message = || format!("{who}: it takes {rows} x {cols} numbers to write out");
        self.entries.pay(rows.checked_mul(cols), message)
    }

    /// Pays for operations in rational arithmetic.
    pub(super) fn operations(&mut self, who: impl fmt::Display, count: usize) -> Result<(), FormatError> {
        self.operations.pay(Some(count), || format!("{who}: folding its constants takes {count} operations"))
    }
}

impl Account {
    fn pay(&mut self, price: Option<usize>, message: impl Fn() -> String) -> Result<(), FormatError> {
        self.left = price.and_then(|price| self.left.checked_sub(price)).ok_or_else(|| {
            let limit = format!("for the whole of this file at most {} are allowed", self.limit);
            FormatError::unsupported(format!("{}; {limit}", message()))
        })?;
        Ok(())
    }
}

/// The constant of this name, read by `reader`.
pub(super) fn constant(
    graph: &Graph,
    name: &str,
    reader: &Node,
    budget: &mut Budget,
) -> Result<Tensor, FormatError> {
    let mut operators: Vec<&Node> = Vec::new();
    let mut name = name;
    let mut tensor = loop {
        match graph.maker(name) {
            Some(Maker::Initializer(tensor)) => {
                budget.entries(reader, tensor.size() / 4, 1)?;
                break Tensor::decode(tensor, format_args!("initializer {}", Quoted(name)))?;
            }
            Some(Maker::Node(at, true)) => {
                let node = &graph.nodes[at];
                budget.entries(reader, node.size() / 4 + 1, 1)?;
                if node.operator == "Constant" && node.is_standard() {
                    break constant_node(node)?;
                }
                operators.push(node);
                name = match node.inputs().next() {
                    Some(input) => input?,
                    None => return Err(not_computed(node)),
                };
            }
            Some(Maker::Node(at, false)) => return Err(not_computed(&graph.nodes[at])),
            Some(Maker::Input) | None => {
                return Err(reader.malformed(format!("expected {} to be a constant", Quoted(name))));
            }
        }
    };
    for node in operators.into_iter().rev() {
        tensor = apply(graph, node, tensor, budget)?;
    }
    budget.entries(reader, shape::count(&tensor.dims).unwrap_or(usize::MAX), 1)?;
    Ok(tensor)
}

/// The integers of an optional input (a shape, axes), which must be there without computation.
fn integers(
    graph: &Graph,
    node: &Node,
    input: usize,
    budget: &mut Budget,
) -> Result<Option<Vec<i64>>, FormatError> {
    let name = node.inputs().nth(input).transpose()?.unwrap_or("");
    let tensor = match graph.maker(name) {
        _ if name.is_empty() => return Ok(None),
        Some(Maker::Initializer(tensor)) => {
            budget.entries(node, tensor.size() / 4, 1)?;
            Tensor::decode(tensor, format_args!("initializer {}", Quoted(name)))?
        }
        Some(Maker::Node(at, true)) if graph.nodes[at].operator == "Constant" => {
            budget.entries(node, graph.nodes[at].size() / 4, 1)?;
            constant_node(&graph.nodes[at])?
        }
        Some(Maker::Node(at, _)) => return Err(not_computed(&graph.nodes[at])),
        _ => return Err(node.unsupported(format!("expected {} to be a constant", Quoted(name)))),
    };
    match tensor.values {
        Values::Integers(values) => Ok(Some(values)),
        Values::Floats(..) => Err(node.malformed(format!("expected {} to hold integers", Quoted(name)))),
    }
}

/// The shape or axes that `Reshape`, `Squeeze` and `Unsqueeze` take as an attribute (in old files)
/// or as their second input.
fn shape_argument(
    graph: &Graph,
    node: &Node,
    attribute: &str,
    budget: &mut Budget,
) -> Result<Option<Vec<i64>>, FormatError> {
    match node.integers(attribute)? {
        Some(values) => Ok(Some(values)),
        None => integers(graph, node, 1, budget),
    }
}

/// The shape after an operator that keeps the order of the entries, or `None` for other operators.
pub(super) fn reshaped(
    graph: &Graph,
    node: &Node,
    dims: &[usize],
    budget: &mut Budget,
) -> Result<Option<Vec<usize>>, FormatError> {
    let missing = |what| node.malformed(format!("it has no {what}"));
    let reshaped = match node.operator {
        "Identity" | "Cast" => Ok(dims.to_vec()),
        "Flatten" => shape::flatten(dims, node.integer("axis", 1)?),
        "Reshape" => {
            let target = shape_argument(graph, node, "shape", budget)?.ok_or_else(|| missing("shape"))?;
            shape::reshape(dims, &target, node.integer("allowzero", 0)? != 0)
        }
        "Squeeze" => shape::squeeze(dims, shape_argument(graph, node, "axes", budget)?.as_deref()),
        "Unsqueeze" => {
            let axes = shape_argument(graph, node, "axes", budget)?.ok_or_else(|| missing("axes"))?;
            shape::unsqueeze(dims, &axes)
        }
        _ => return Ok(None),
    };
    reshaped.map(Some).map_err(|reason| node.malformed(reason))
}

fn apply(graph: &Graph, node: &Node, tensor: Tensor, budget: &mut Budget) -> Result<Tensor, FormatError> {
    if !node.is_standard() {
        return Err(not_computed(node));
    }
    if node.operator == "Transpose" {
        budget.entries(node, shape::count(&tensor.dims).unwrap_or(usize::MAX), 1)?;
        let permutation = node.integers("perm")?;
        let (dims, source) = shape::transpose(&tensor.dims, permutation.as_deref())
            .map_err(|reason| node.malformed(reason))?;
        let values = match (source, tensor.values) {
            (None, values) => values,
            (Some(source), Values::Floats(old, precision)) => {
                Values::Floats(source.iter().map(|&at| old[at]).collect(), precision)
            }
            (Some(source), Values::Integers(old)) => {
                Values::Integers(source.iter().map(|&at| old[at]).collect())
            }
        };
        return Ok(Tensor { dims, values });
    }
    let dims = reshaped(graph, node, &tensor.dims, budget)?.ok_or_else(|| not_computed(node))?;
    let values = if node.operator == "Cast" { cast(node, tensor.values)? } else { tensor.values };
    Ok(Tensor { dims, values })
}

/// Rounds the numbers to the type that the node asks for.
fn cast(node: &Node, values: Values) -> Result<Values, FormatError> {
    let to = node.integer("to", 0)?;
    let Some(precision) = float_type(to) else {
        return Err(
            node.unsupported(format!("expected a cast to floating-point numbers, found {}", type_name(to)))
        );
    };
    let round: fn(f64) -> f64 = match precision {
        Precision::F64 => |x| x,
        Precision::F32 => |x| (x as f32).into(),
        Precision::F16 => |x| f16::from_f64(x).to_f64(),
        Precision::Bf16 => |x| bf16::from_f64(x).to_f64(),
    };
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

fn constant_node(node: &Node) -> Result<Tensor, FormatError> {
    if let Some(attribute) = node.attribute("value")? {
        let tensor: Message = attribute.tensor()?.ok_or_else(|| node.malformed("its value is no tensor"))?;
        return Tensor::decode(tensor, node);
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

fn not_computed(node: &Node) -> FormatError {
    let known = "Constant, Identity, Cast, Transpose, Flatten, Reshape, Squeeze, Unsqueeze";
    node.unsupported(format!("constants are not computed through this operator, only through {known}"))
}
