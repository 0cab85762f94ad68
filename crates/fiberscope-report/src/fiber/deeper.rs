//! What is rigid in networks with more than three layers, in words and as JSON.

use fiberscope::fiber::DeeperFacts;
use serde_json::{Value, json};

/// The facts with the keys of `fiberscope fiber --json`.
pub(super) fn value(facts: &DeeperFacts) -> Value {
    json!({
        "hyperplanes_latest_layer": facts.latest,
        "fixed_layers": facts.fixed,
        "identifiable_if_generic": facts.is_identifiable().then_some(true),
        "stopped": facts.is_stopped,
    })
}

/// The hyperplanes of the first layer, and how much of the network is fixed: two sentences.
pub(super) fn sentences(facts: &DeeperFacts) -> [String; 2] {
    let mut known: Vec<String> = Vec::new();
    for layer in 1..facts.depth {
        let units: Vec<String> = (1..)
            .zip(&facts.latest)
            .filter(|(_, latest)| **latest == Some(layer))
            .map(|(unit, _)| unit.to_string())
            .collect();
        if !units.is_empty() {
            let of = if layer == 1 { "layer 1".to_owned() } else { format!("layer 1 to {layer}") };
            known.push(format!("{} in {of}", units.join(", ")));
        }
    }
    let open = facts.latest.iter().filter(|latest| latest.is_none()).count();
    let hyperplanes = match (known.is_empty(), open) {
        (true, _) => "no chain of folds tells the layer of a hyperplane of layer 1".to_owned(),
        (false, 0) => format!(
            "if this parameter is generic, then in every generic one with this function: {}",
            known.join("; ")
        ),
        (false, open) => {
            let rest =
                if facts.is_stopped { "not all looked for in time" } else { "no chain of folds found" };
            format!(
                "if this parameter is generic, then in every generic one with this function: {}; {open} open ({rest})",
                known.join("; ")
            )
        }
    };
    let rigid = if facts.is_identifiable() {
        "all layers, up to permutation and positive scaling, among generic parameters and if this one is generic: identifiable"
            .to_owned()
    } else {
        let first = match facts.fixed {
            0 => "no layer is known to be fixed".to_owned(),
            1 => "layer 1, up to permutation and positive scaling, if the parameter is generic".to_owned(),
            n => format!(
                "layers 1 to {n}, up to permutation and positive scaling, if the parameter is generic"
            ),
        };
        let next = facts.fixed + 1;
        let why = match facts.is_stopped {
            true => "the time was up before all chains were looked for".to_owned(),
            false => format!(
                "a neuron of layer {next} lacks a chain down to the last hidden layer, or layer {next} is wider than its input"
            ),
        };
        format!("{first}; {why}")
    };
    [hyperplanes, rigid]
}
