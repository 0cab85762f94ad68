//! Networks to begin with.

use fiberscope_core::{Activation, Layer, Matrix, Network};
use fiberscope_io::{Model, Precision, ReadOptions, json, zoo};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

const FOLDED: &str = include_str!("../../examples/folded-map.json");
const HIDING: &str = include_str!("../../examples/hiding-plane.json");

/// The examples: a name and what it shows.
pub fn list() -> Value {
    let own = [
        ("hiding-plane", "2-3-2-1: the second layer hides the hyperplane of neuron 2"),
        ("folded-map", "2-4-3-2: two of the second layer's neurons act linearly"),
        ("random-16", "2-16-16-1 with random weights"),
    ];
    let own = own.into_iter().map(|(name, shows)| json!({"name": name, "shows": shows}));
    let zoo = zoo::entries()
        .into_iter()
        .map(|entry| json!({"name": format!("zoo:{}", entry.name), "shows": entry.shows}));
    json!({"examples": own.chain(zoo).collect::<Vec<_>>()})
}

/// The example of that name.
pub fn example(name: &str) -> Result<Model, String> {
    let read =
        |text: &str| json::read(text.as_bytes(), &ReadOptions::default()).map_err(|error| error.to_string());
    match (name, name.strip_prefix("zoo:")) {
        (_, Some(name)) => zoo::network(name).map_err(|error| error.to_string()),
        ("hiding-plane", _) => read(HIDING),
        ("folded-map", _) => read(FOLDED),
        ("random-16", _) => Ok(Model::new(random(&[2, 16, 16, 1]), Precision::F32, Vec::new())),
        _ => Err(format!("there is no example {name:?}")),
    }
}

/// A network with uniform weights of the usual size, rounded to 10 bits so that moves stay within the
/// doubles.
fn random(widths: &[usize]) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut layers = Vec::new();
    for (l, pair) in widths.windows(2).enumerate() {
        let size = (3.0 / pair[0] as f64).sqrt();
        let mut number = |size: f64| (rng.random_range(-size..size) * 1024.0).round() / 1024.0;
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| number(size));
        let bias = (0..pair[1]).map(|_| number(0.75 * size)).collect();
        let activation = if l + 2 == widths.len() { Activation::Identity } else { Activation::Relu };
        layers.push(Layer::new(weight, bias, activation));
    }
    Network::new(layers).expect("widths that chain and finite numbers")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ask, refusal};
    use serde_json::json;

    #[test]
    fn every_example_can_be_opened() {
        let listed = ask(&json!({"op": "examples"}));
        let examples = listed["examples"].as_array().unwrap();
        assert!(examples.len() > 20);
        for example in examples {
            let opened = ask(&json!({"op": "example", "name": example["name"]}));
            ask(&json!({"op": "info", "network": opened["network"]}));
        }
        assert_eq!(refusal(&json!({"op": "example", "name": "x"})), "there is no example \"x\"");
    }

    #[test]
    fn the_first_examples_have_the_symmetries_they_show() {
        let facts = |name: &str| {
            let network = ask(&json!({"op": "example", "name": name}))["network"].clone();
            ask(&json!({"op": "symmetries", "network": network}))["handles"].to_string()
        };
        assert!(facts("hiding-plane").contains("translate the hidden hyperplane of neuron 2 of layer 1"));
        assert!(facts("folded-map").contains("\"kind\":\"mix\""));
    }
}
