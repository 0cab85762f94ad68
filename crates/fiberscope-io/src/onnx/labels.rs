//! What the neurons of a graph are called: by the parameters that make them, or by the node.
//!
//! PyTorch's exporters call a parameter `layer2.0.conv1.weight`, and a node `/layer2/layer2.0/conv1/Conv` where
//! the parameters were folded and lost their names. Both are the module `layer2.0.conv1`.

use std::sync::Arc;

use super::lowering::Site;
use super::proto::Node;
use crate::names::label;

/// Begins the name of a constant that is a parameter turned around, as the Python package writes it.
const TURNED: &str = "%turned.";

/// The name of what an operator with weights makes; `None` for other operators.
pub(super) fn of_weights(site: &Site) -> Option<Arc<str>> {
    let weight = match site.node.operator {
        "Gemm" | "Conv" | "ConvTranspose" => site.input(1),
        "MatMul" => site.input(1 - site.data.min(1)),
        _ => return None,
    };
    let module = weight.and_then(|name| name.strip_suffix(".weight"));
    let module = module.map(|module| module.strip_prefix(TURNED).unwrap_or(module));
    let module = module.filter(|module| !module.is_empty());
    module.map_or_else(|| of_node(&site.node), label)
}

/// The name of what a node makes.
pub(super) fn of_node(node: &Node) -> Option<Arc<str>> {
    let name = node.name();
    let Some(path) = name.strip_prefix('/') else { return label(name) };
    let mut module: Vec<&str> = Vec::new();
    for step in path.split('/') {
        // A step repeats those before it: `layer2/layer2.0` is `layer2.0`.
        if module.last().is_some_and(|last| step.strip_prefix(last).is_some_and(|rest| rest.starts_with('.')))
        {
            module.pop();
        }
        module.push(step);
    }
    if matches!(module.last(), Some(&("Gemm" | "MatMul" | "Conv" | "ConvTranspose"))) && module.len() > 1 {
        module.pop();
    }
    label(&module.join("."))
}

/// The name of the ReLUs that an operator is made of.
pub(super) fn inside(value: Option<&str>, operator: &str) -> Option<Arc<str>> {
    match value {
        Some(value) if value.ends_with(operator) => label(value),
        Some(value) => label(&format!("{value}.{operator}")),
        None => label(operator),
    }
}
