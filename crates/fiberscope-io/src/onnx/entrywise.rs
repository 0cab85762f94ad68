//! Constants that are computed entry by entry: arithmetic, comparisons, logic, choices, and what switches.
//!
//! Arithmetic of floats is rounded to their type, as a runtime does it.

use std::rc::Rc;

use half::{bf16, f16};

use super::arithmetic::stand_at_axis;
use super::lowering::{Lowering, Site};
use super::proto::Node;
use super::shape;
use super::tensor::{Tensor, Values};
use crate::{FormatError, Precision};

/// Whether constants are computed entry by entry through this operator.
pub(super) fn computes(operator: &str) -> bool {
    const COMPUTED: [&str; 23] = [
        "Abs",
        "Add",
        "And",
        "Clip",
        "Div",
        "Equal",
        "Greater",
        "GreaterOrEqual",
        "LeakyRelu",
        "Less",
        "LessOrEqual",
        "Max",
        "Min",
        "Mod",
        "Mul",
        "Neg",
        "Not",
        "Or",
        "Pow",
        "Reciprocal",
        "Relu",
        "Sqrt",
        "Sub",
    ];
    COMPUTED.contains(&operator)
}

/// The error for constants that are not computed.
pub(super) fn not_computed(node: &Node) -> FormatError {
    node.unsupported("constants are not computed through this operator")
}

/// The result of such a node, or of a choice between constants, in the shape to which its operands are repeated.
pub(super) fn evaluate<'a>(lowering: &mut Lowering<'_, 'a>, site: &Site<'a>) -> Result<Tensor, FormatError> {
    let node = &site.node;
    let (mut parts, mut dims) = (Vec::with_capacity(3), Vec::new());
    for part in operands(lowering, site)? {
        let mut own = part.dims.clone();
        if let (1, "Add" | "Sub" | "Mul" | "Div") = (parts.len(), node.operator) {
            stand_at_axis(node, &mut own, dims.len())?;
        }
        dims = shape::broadcast(&dims, &own).map_err(|reason| node.malformed(reason))?;
        parts.push((part, own));
    }
    let entries = shape::count(&dims).unwrap_or(usize::MAX);
    lowering.budget.entries(node, entries, parts.len() + 1)?;
    let spread: Vec<Values> =
        parts.iter().map(|(part, own)| part.values.select(&shape::broadcast_source(own, &dims))).collect();
    let values = match spread.as_slice() {
        [Values::Integers(choice), a, b] if node.operator == "Where" => chosen(node, choice, a, b)?,
        [first, rest @ ..] if matches!(node.operator, "Max" | "Min" | "Clip") => {
            let mut all = first.clone();
            for (at, next) in rest.iter().enumerate() {
                // The bounds of `Clip` are a lower and an upper one.
                let is_largest = node.operator == "Max" || (node.operator == "Clip" && at == 0);
                all = paired(node, if is_largest { "Max" } else { "Min" }, &all, next)?;
            }
            all
        }
        [one] => single(node, one)?,
        [a, b] => paired(node, node.operator, a, b)?,
        _ => return Err(node.malformed("it has too many inputs")),
    };
    Ok(Tensor { dims, values })
}

fn operands<'a>(lowering: &mut Lowering<'_, 'a>, site: &Site<'a>) -> Result<Vec<Rc<Tensor>>, FormatError> {
    let node = &site.node;
    if node.operator != "Clip" {
        let count = match node.operator {
            "Where" => 3,
            "Max" | "Min" => site.inputs.len(),
            "Abs" | "LeakyRelu" | "Neg" | "Not" | "Reciprocal" | "Relu" | "Sqrt" => 1,
            _ => 2,
        };
        return (0..count).map(|at| lowering.constant(site, at)).collect();
    }
    let mut parts = vec![lowering.constant(site, 0)?];
    for (at, (name, end)) in
        [("min", f64::from(f32::MIN)), ("max", f64::from(f32::MAX))].into_iter().enumerate()
    {
        parts.push(match (node.attribute(name)?, site.input(at + 1), &parts[0].values) {
            (None, Some(_), _) => lowering.constant(site, at + 1)?,
            (bound, None, Values::Floats(_, precision)) => {
                let bound = bound.map(|bound| bound.float()).transpose()?.map_or(end, f64::from);
                if bound.is_nan() {
                    return Err(node.malformed(format!("{name} is not a number")));
                }
                Rc::new(Tensor { dims: vec![], values: Values::Floats(vec![bound], *precision) })
            }
            (None, None, Values::Integers(_)) => {
                let end = if at == 0 { i64::MIN } else { i64::MAX };
                Rc::new(Tensor { dims: vec![], values: Values::Integers(vec![end]) })
            }
            _ => return Err(not_computed(node)),
        });
    }
    Ok(parts)
}

fn chosen(node: &Node, choice: &[i64], a: &Values, b: &Values) -> Result<Values, FormatError> {
    fn pick<T: Copy>(choice: &[i64], a: &[T], b: &[T]) -> Vec<T> {
        choice.iter().zip(a.iter().zip(b)).map(|(&first, (&a, &b))| if first != 0 { a } else { b }).collect()
    }
    match (a, b) {
        (Values::Integers(a), Values::Integers(b)) => Ok(Values::Integers(pick(choice, a, b))),
        (Values::Floats(a, precision), Values::Floats(b, _)) => {
            Ok(Values::Floats(pick(choice, a, b), *precision))
        }
        _ => Err(not_computed(node)),
    }
}

fn single(node: &Node, values: &Values) -> Result<Values, FormatError> {
    Ok(match (node.operator, values) {
        ("Neg", Values::Integers(all)) => Values::Integers(all.iter().map(|x| x.wrapping_neg()).collect()),
        ("Abs", Values::Integers(all)) => Values::Integers(all.iter().map(|x| x.wrapping_abs()).collect()),
        ("Relu", Values::Integers(all)) => Values::Integers(all.iter().map(|&x| x.max(0)).collect()),
        ("Not", Values::Integers(all)) => Values::Integers(all.iter().map(|&x| i64::from(x == 0)).collect()),
        ("Neg" | "Abs" | "Relu" | "LeakyRelu", Values::Floats(all, precision)) => {
            let slope = match node.operator {
                "Neg" | "Abs" => -1.0,
                "Relu" => 0.0,
                _ => f64::from(node.float("alpha", 0.01)?),
            };
            let round = rounding(*precision);
            let bent = |&x: &f64| match node.operator {
                "Neg" => -x,
                _ if x >= 0.0 => x,
                _ => round(slope * x) + 0.0,
            };
            finite(node, all.iter().map(bent).collect(), *precision)?
        }
        ("Sqrt" | "Reciprocal", Values::Floats(all, precision)) => {
            let round = rounding(*precision);
            let made = |&x: &f64| round(if node.operator == "Sqrt" { x.sqrt() } else { x.recip() });
            finite(node, all.iter().map(made).collect(), *precision)?
        }
        _ => return Err(not_computed(node)),
    })
}

fn paired(node: &Node, operator: &str, a: &Values, b: &Values) -> Result<Values, FormatError> {
    match (a, b) {
        (Values::Integers(a), Values::Integers(b)) => {
            let all = a.iter().zip(b).map(|(&a, &b)| whole(node, operator, a, b));
            Ok(Values::Integers(all.collect::<Result<_, _>>()?))
        }
        (Values::Floats(a, p), Values::Floats(b, q)) => {
            let pairs = a.iter().zip(b);
            let holds: Option<fn(&f64, &f64) -> bool> = match operator {
                "Equal" => Some(|a, b| a == b),
                "Greater" => Some(|a, b| a > b),
                "GreaterOrEqual" => Some(|a, b| a >= b),
                "Less" => Some(|a, b| a < b),
                "LessOrEqual" => Some(|a, b| a <= b),
                _ => None,
            };
            if let Some(holds) = holds {
                return Ok(Values::Integers(pairs.map(|(a, b)| i64::from(holds(a, b))).collect()));
            }
            let precision = *p.min(q);
            let round = rounding(precision);
            let all = pairs.map(|(&a, &b)| number(operator, a, b).map(round)).collect::<Option<Vec<_>>>();
            finite(node, all.ok_or_else(|| not_computed(node))?, precision)
        }
        _ => Err(not_computed(node)),
    }
}

fn whole(node: &Node, operator: &str, a: i64, b: i64) -> Result<i64, FormatError> {
    let result = match operator {
        "Add" => a.checked_add(b),
        "Sub" => a.checked_sub(b),
        "Mul" => a.checked_mul(b),
        "Div" => a.checked_div(b),
        // With the sign of the divisor, or, with `fmod`, of the dividend.
        "Mod" => a.checked_rem(b).map(|rest| match node.integer("fmod", 0) {
            Ok(0) if rest != 0 && (rest < 0) != (b < 0) => rest + b,
            _ => rest,
        }),
        "Max" => Some(a.max(b)),
        "Min" => Some(a.min(b)),
        "And" => Some(i64::from(a != 0 && b != 0)),
        "Or" => Some(i64::from(a != 0 || b != 0)),
        "Equal" => Some(i64::from(a == b)),
        "Greater" => Some(i64::from(a > b)),
        "GreaterOrEqual" => Some(i64::from(a >= b)),
        "Less" => Some(i64::from(a < b)),
        "LessOrEqual" => Some(i64::from(a <= b)),
        _ => return Err(not_computed(node)),
    };
    result.ok_or_else(|| node.malformed("it overflows or divides by zero"))
}

fn number(operator: &str, a: f64, b: f64) -> Option<f64> {
    Some(match operator {
        "Add" => a + b,
        "Sub" => a - b,
        "Mul" => a * b,
        "Div" => a / b,
        "Pow" => power(a, b),
        "Max" => a.max(b),
        "Min" => a.min(b),
        _ => return None,
    })
}

/// A power; the usual ones without the error of logarithms.
fn power(a: f64, b: f64) -> f64 {
    match b {
        0.5 => a.sqrt(),
        -0.5 => a.sqrt().recip(),
        2.0 => a * a,
        _ => a.powf(b),
    }
}

/// The numbers, unless one of them is not finite.
pub(super) fn finite(node: &Node, all: Vec<f64>, precision: Precision) -> Result<Values, FormatError> {
    match all.iter().any(|x| !x.is_finite()) {
        true => Err(node.malformed("a number of its result is not finite")),
        false => Ok(Values::Floats(all, precision)),
    }
}

/// Rounds to a type.
pub(super) fn rounding(precision: Precision) -> fn(f64) -> f64 {
    match precision {
        Precision::F64 => |x| x,
        Precision::F32 => |x| (x as f32).into(),
        Precision::F16 => |x| f16::from_f64(x).to_f64(),
        Precision::Bf16 => |x| bf16::from_f64(x).to_f64(),
    }
}
