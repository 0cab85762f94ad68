//! The certificates of the zoo, and what becomes of them when a number is changed.

use fiberscope::Rational;
use fiberscope_io::zoo;
use serde_json::{Value, json};

/// The places of all numbers (integers, fractions, digests) in a JSON value, as JSON pointers.
pub fn numbers(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| numbers(item, format!("{path}/{i}"), found));
        }
        Value::Object(items) => {
            items.iter().for_each(|(key, item)| numbers(item, format!("{path}/{key}"), found))
        }
        Value::Number(_) => found.push(path),
        Value::String(text) if text.parse::<Rational>().is_ok() || text.len() == 64 => found.push(path),
        _ => {}
    }
}

/// Other values for the number.
pub fn changes(value: &Value) -> Vec<Value> {
    match value {
        Value::Number(number) => {
            let n = number.as_i64().unwrap();
            let less = (n != 0).then_some(n - 1);
            [Some(n + 1), less, Some(n + 1_000_000)].into_iter().flatten().map(|n| json!(n)).collect()
        }
        Value::String(text) if text.len() == 64 => {
            let flipped = if text.ends_with('0') { '1' } else { '0' };
            vec![json!(format!("{}{flipped}", &text[..63]))]
        }
        Value::String(text) => {
            let x: Rational = text.parse().unwrap();
            let tiny = Rational::dyadic(1, -40);
            let candidates =
                [&x + &Rational::ONE, -&x, &x + &tiny, &x - &tiny, &x * &Rational::from(2), Rational::ZERO];
            candidates.iter().filter(|&y| *y != x).map(|y| json!(y.to_string())).collect()
        }
        _ => vec![],
    }
}

/// Names of the valid certificates with their networks.
pub fn valid_certificates() -> Vec<(String, String, String)> {
    let index = concat!(env!("CARGO_MANIFEST_DIR"), "/../fiberscope-io/zoo/certificates/index.json");
    let entries: Vec<zoo::ZooCertificate> = serde_json::from_slice(&std::fs::read(index).unwrap()).unwrap();
    let names =
        entries.into_iter().map(|entry| (entry.file.trim_end_matches(".json").to_owned(), entry.a, entry.b));
    // The valid ones are embedded.
    names.filter(|(name, ..)| zoo::certificate(name).is_some()).collect()
}
