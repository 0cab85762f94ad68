//! Operators that onnxruntime makes when it optimises a graph (`FusedConv`, `FusedGemm`), written out again as the
//! operators of the standard that they were made of: the affine one, a sum, and the activation.

use super::build::{Attribute, Builder};
use super::pieces;
use super::proto::Node;
use super::wire::Message;
use crate::FormatError;

/// Whether a node is one of these.
pub(super) fn is_fused(node: &Node) -> bool {
    node.is_of_onnxruntime() && matches!(node.operator, "FusedConv" | "FusedGemm")
}

/// The nodes (fields 1 of a graph) that each of the fused nodes of a graph stands for, in their order.
pub(super) fn written_out(graph: Message) -> Result<Vec<Vec<u8>>, FormatError> {
    let mut all = Vec::new();
    for field in graph.fields() {
        let field = field?;
        if field.number == 1 {
            let node = Node::parse(field.message("a node")?)?;
            if is_fused(&node) {
                all.push(parts(&node)?);
            }
        }
    }
    Ok(all)
}

fn parts(node: &Node) -> Result<Vec<u8>, FormatError> {
    let inputs = node.inputs().collect::<Result<Vec<&str>, _>>()?;
    let output = node.outputs().next().transpose()?.unwrap_or_default();
    let activation = node.attribute("activation")?.map(|name| name.string()).transpose()?.unwrap_or_default();
    let activation = std::str::from_utf8(activation).unwrap_or("?");
    let (own, summand) = inputs.split_at(inputs.len().min(3));
    let affine = format!("{output}.affine");
    let mut value = if activation.is_empty() && summand.is_empty() { output } else { &affine };

    let mut affine_node = Vec::new();
    own.iter().for_each(|input| pieces::text(&mut affine_node, 1, input));
    pieces::text(&mut affine_node, 2, value);
    pieces::text(&mut affine_node, 3, node.name());
    pieces::text(&mut affine_node, 4, node.operator.trim_start_matches("Fused"));
    for attribute in node.attribute_messages() {
        let attribute = attribute?;
        let name = attribute.last(1)?.map(|name| name.text()).transpose()?.unwrap_or_default();
        if !name.starts_with("activation") {
            pieces::bytes(&mut affine_node, 5, attribute.bytes());
        }
    }
    let mut nodes = Vec::new();
    pieces::bytes(&mut nodes, 1, &affine_node);

    let mut rest = Builder::default();
    let sum = format!("{output}.sum");
    if let [summand] = summand {
        let made = if activation.is_empty() { output } else { &sum };
        rest.node("Add", &format!("{}.sum", node.name()), &[value, summand], made, &[]);
        value = made;
    }
    if !activation.is_empty() {
        let name = format!("{}.{activation}", node.name());
        rest.node(activation, &name, &[value], output, &parameters(node, activation)?);
    }
    nodes.extend(rest.into_nodes());
    Ok(nodes)
}

/// The numbers of an activation: a list, or one by one.
fn parameters(node: &Node, activation: &str) -> Result<Vec<Attribute<'static>>, FormatError> {
    let names: &[&'static str] = match activation {
        "LeakyRelu" => &["alpha"],
        "HardSigmoid" => &["alpha", "beta"],
        "Clip" => &["min", "max"],
        _ => &[],
    };
    let list = node.attribute("activation_params")?.map(|list| list.floats()).transpose()?;
    let mut made = Vec::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        let single = node.attribute(["activation_alpha", "activation_beta"][at])?;
        let value = match (&list, single) {
            (Some(list), _) => list.get(at).copied(),
            (None, Some(single)) => Some(single.float()?),
            (None, None) => None,
        };
        let value = value.ok_or_else(|| node.malformed(format!("its activation lacks {name}")))?;
        made.push(Attribute::Float(name, value));
    }
    Ok(made)
}
