//! Heads: what stands behind the logits of a classifier. Softmax and its like are set aside, and the
//! questions are about the values before them.

use super::graph::{Graph, Maker};
use super::proto::{Node, Quoted};
use crate::FormatError;

/// Operators that end a classifier and are no part of its piecewise linear network.
const HEADS: [&str; 6] = ["Softmax", "LogSoftmax", "Sigmoid", "ArgMax", "ZipMap", "ArrayFeatureExtractor"];

/// Operators that may stand between a head and the output.
const BETWEEN: [&str; 5] = ["Cast", "Reshape", "Squeeze", "Flatten", "Identity"];

/// The value that the questions are about: the one that the caller names, or the only output, without its
/// head.
pub(super) struct Logits<'a> {
    pub(super) name: &'a str,
    /// The heads that were set aside, from the output inwards.
    pub(super) aside: Vec<Node<'a>>,
}

/// The value that the network computes.
pub(super) fn find<'a>(graph: &Graph<'a>, wanted: Option<&str>) -> Result<Logits<'a>, FormatError> {
    if let Some(wanted) = wanted {
        let name = graph.value(wanted).ok_or_else(|| {
            FormatError::unsupported(format!("there is no value {}; {}", Quoted(wanted), choices(graph)))
        })?;
        return before_heads(graph, name);
    }
    let mut all = Vec::new();
    for name in graph.outputs() {
        all.push(before_heads(graph, name)?);
    }
    if all.iter().any(|other| other.name != all[0].name) {
        return Err(FormatError::unsupported(format!("the graph has several outputs; {}", choices(graph))));
    }
    // One of them may be the logits themselves: what was set aside for the others is told, each node once.
    let mut told: Vec<&str> = Vec::new();
    let mut logits = Logits { name: all[0].name, aside: Vec::new() };
    for node in all.iter().flat_map(|each| &each.aside) {
        let result = node.outputs().next().transpose()?.unwrap_or_default();
        if !told.contains(&result) {
            told.push(result);
            logits.aside.push(*node);
        }
    }
    Ok(logits)
}

fn choices(graph: &Graph) -> String {
    const MOST: usize = 8;
    let names: Vec<_> = graph.outputs().iter().take(MOST).map(|name| Quoted(name).to_string()).collect();
    let more = if graph.outputs().len() > MOST { " and more" } else { "" };
    format!("choose a value by its name (--output); the outputs are {}{more}", names.join(", "))
}

fn before_heads<'a>(graph: &Graph<'a>, output: &'a str) -> Result<Logits<'a>, FormatError> {
    let mut logits = Logits { name: output, aside: Vec::new() };
    let (mut name, mut passed) = (output, 0);
    // As many steps as there are nodes: names may form no cycle, as the graph was sorted.
    while let Some(Maker::Node(at)) = graph.maker(name) {
        let node = &graph.nodes[at];
        let place = usize::from(node.operator == "ArrayFeatureExtractor");
        let Some(mut before) = node.inputs().nth(place).transpose()? else { break };
        if HEADS.contains(&node.operator) && (node.is_standard() || node.is_for_classifiers()) {
            logits.aside.push(*node);
            logits.name = before;
        } else if let Some(probability) = with_complement(graph, node)? {
            before = probability;
        } else if !BETWEEN.contains(&node.operator) {
            break;
        }
        name = before;
        passed += 1;
        if passed > graph.nodes.len() {
            break;
        }
    }
    Ok(logits)
}

/// The probability that stands beside its complement to a constant, if a node does that: a classifier of two classes
/// has one logit and two probabilities.
fn with_complement<'a>(graph: &Graph<'a>, node: &Node<'a>) -> Result<Option<&'a str>, FormatError> {
    let inputs = |node: &Node<'a>| node.inputs().collect::<Result<Vec<_>, _>>();
    if node.operator != "Concat" || !node.is_standard() {
        return Ok(None);
    }
    let [complement, probability] = inputs(node)?[..] else { return Ok(None) };
    let Some(Maker::Node(at)) = graph.maker(complement) else { return Ok(None) };
    let difference = &graph.nodes[at];
    if difference.operator != "Sub" || !difference.is_standard() {
        return Ok(None);
    }
    let [whole, part] = inputs(difference)?[..] else { return Ok(None) };
    let is_constant = matches!(graph.maker(whole), Some(Maker::Initializer(_)));
    Ok((is_constant && part == probability).then_some(probability))
}
