//! The questions of the explorer page.

mod apart;
mod examples;
mod picture;
mod plane;
mod verdict;
mod walk;

use std::path::Path;

use fiberscope::Deadline;
use fiberscope::anatomy::examine;
use fiberscope::fiber::Identifiability;
use fiberscope_core::{Network, Neuron, Role};
use fiberscope_io::{Model, ReadOptions, json, load_bytes};
use serde_json::{Value, json};

use crate::request::{Request, unknown};

/// Files beyond this size are not read in a page.
const LARGEST_FILE: usize = 64 << 20;

/// Answers one of the explorer's questions.
pub fn dispatch(op: &str, request: &Request) -> Result<Value, String> {
    match op {
        "open" => open(request),
        "examples" => Ok(examples::list()),
        "example" => examples::example(request.text("name")?).map(|model| described(&model)),
        "info" => info(request),
        "picture" => picture::picture(request),
        "region" => picture::region(request),
        "gradient" => picture::gradient(request),
        "verdict" => verdict::verdict(request),
        "symmetries" => walk::symmetries(request),
        "walk" => walk::walk(request),
        "sample" => walk::sample(request),
        _ => Err(unknown(op)),
    }
}

/// `{"name", "text"}` or `{"name", "hex"}`: reads a model file by the ending of its name.
fn open(request: &Request) -> Result<Value, String> {
    let name = request.text("name")?;
    let bytes = match request.optional::<String>("text")? {
        Some(text) => text.into_bytes(),
        None => from_hex(request.text("hex")?)?,
    };
    if bytes.len() > LARGEST_FILE {
        return Err(format!("{name}: {} bytes; a page reads at most {LARGEST_FILE}", bytes.len()));
    }
    let model = load_bytes(Path::new(name), &bytes, &ReadOptions::default());
    model.map(|model| described(&model)).map_err(|error| error.to_string())
}

fn from_hex(hex: &str) -> Result<Vec<u8>, String> {
    let digit = |c: u8| (c as char).to_digit(16).map(|digit| digit as u8);
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(16 * digit(*high)? + digit(*low)?),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(pair).collect();
    bytes.ok_or_else(|| "\"hex\": expected pairs of hexadecimal digits".into())
}

fn described(model: &Model) -> Value {
    json!({
        "network": text(&model.network),
        "precision": model.precision.name(),
        "notes": model.remarks(),
    })
}

/// A network as the text of a network file.
fn text(network: &Network) -> String {
    let mut bytes = Vec::new();
    json::write(network, &mut bytes).expect("a list of bytes takes everything");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

/// `{"network", "box"}`: what is known of the network.
fn info(request: &Request) -> Result<Value, String> {
    let network = request.network("network")?;
    let anatomy = examine(&network, &request.domain(network.input_width())?, &Deadline::NEVER);
    let role = |neuron: Neuron| match anatomy.roles[neuron.layer][neuron.unit] {
        Role::Dead => "dead",
        Role::Linear => "linear",
        Role::Nonlinear if anatomy.undecided.contains(&neuron) => "dead, linear or nonlinear: not decided",
        Role::Nonlinear => "nonlinear",
    };
    let of_layer = |(layer, roles): (usize, &Vec<Role>)| -> Vec<&str> {
        (0..roles.len()).map(|unit| role(Neuron { layer, unit })).collect()
    };
    let roles: Vec<Vec<&str>> = anatomy.roles.iter().enumerate().map(of_layer).collect();
    let (identifiable, reason) = match &anatomy.identifiability {
        Identifiability::Yes { reason } => (Some(true), reason),
        Identifiability::No { reason } => (Some(false), reason),
        Identifiability::Unknown { reason } => (None, reason),
    };
    Ok(json!({
        "parameters": anatomy.parameters,
        "roles": roles,
        "hidden": anatomy.hidden.iter().map(|n| [n.layer, n.unit]).collect::<Vec<_>>(),
        "identifiable": identifiable,
        "reason": reason,
        "sha256": anatomy.digest.to_string(),
    }))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The answer to a request, which must not be an error.
    pub fn ask(request: &Value) -> Value {
        let answer: Value = serde_json::from_str(&crate::answer(request.to_string().as_bytes())).unwrap();
        assert!(answer.get("error").is_none(), "{answer}");
        answer
    }

    /// The error that a request is answered with.
    pub fn refusal(request: &Value) -> String {
        let answer: Value = serde_json::from_str(&crate::answer(request.to_string().as_bytes())).unwrap();
        answer["error"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// The text of a network of the zoo.
    pub fn zoo(name: &str) -> String {
        text(&fiberscope_io::zoo::network(name).unwrap().network)
    }

    #[test]
    fn files_are_read_by_their_ending() {
        let network = zoo("deep");
        let opened = ask(&json!({"op": "open", "name": "a.JSON", "text": network}));
        assert_eq!(opened["network"], json!(network));
        let mut onnx = Vec::new();
        let deep = fiberscope_io::zoo::network("deep").unwrap().network;
        fiberscope_io::onnx::write(&deep, fiberscope_io::Precision::F64, &mut onnx).unwrap();
        let hex: String = onnx.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(ask(&json!({"op": "open", "name": "a.onnx", "hex": hex}))["network"], json!(network));
        let mut npz = Vec::new();
        fiberscope_io::npz::write(&deep, fiberscope_io::Precision::F64, &mut npz).unwrap();
        let zipped: String = npz.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(ask(&json!({"op": "open", "name": "a.npz", "hex": zipped}))["network"], json!(network));
        let damaged = refusal(&json!({"op": "open", "name": "a.onnx", "hex": &hex[..99]}));
        assert_eq!(damaged, "\"hex\": expected pairs of hexadecimal digits");
        assert!(
            refusal(&json!({"op": "open", "name": "a.onnx", "hex": &hex[..100]})).starts_with("a.onnx: ")
        );
        assert!(refusal(&json!({"op": "open", "name": "a.txt", "text": ""})).contains("a.txt"));
    }

    #[test]
    fn facts_are_those_of_the_library() {
        let facts = ask(&json!({"op": "info", "network": zoo("hiding-two")}));
        assert_eq!(facts["hidden"], json!([[0, 1]]));
        assert_eq!(facts["identifiable"], false);
        assert_eq!(facts["roles"][1], json!(["nonlinear", "nonlinear"]));
    }
}
