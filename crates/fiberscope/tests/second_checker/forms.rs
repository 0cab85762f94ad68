//! Certificates whose form is changed: some of the results are still of the form that the page describes,
//! most are not.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};

/// The places of all values, as JSON pointers.
fn places(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| places(item, format!("{path}/{i}"), found));
        }
        Value::Object(items) => {
            items.iter().for_each(|(key, item)| places(item, format!("{path}/{key}"), found))
        }
        _ => {}
    }
    found.push(path);
}

/// A key that stands for a second one of the same name, which no JSON value can hold.
const TWICE: &str = "--twice--";

/// The value with one place changed in each of many ways, with a name for the change. Of long lists only some
/// entries are changed.
pub fn changed(value: &Value, rng: &mut ChaCha8Rng) -> Vec<(String, String)> {
    let mut found = Vec::new();
    places(value, String::new(), &mut found);
    let mut results = vec![
        ("more behind".to_owned(), format!("{value} {{}}")),
        ("white space".to_owned(), format!(" \n{value}\t\r\n ")),
        ("nested deeply".to_owned(), format!("{}{value}{}", "[".repeat(5000), "]".repeat(5000))),
    ];
    let length = value.to_string().len();
    let share = (25.0 / found.len() as f64).min(1.0);
    for place in found {
        if !rng.random_bool(share) {
            continue;
        }
        for (change, other) in others(value.pointer(&place).unwrap()) {
            let mut changed = value.clone();
            *changed.pointer_mut(&place).unwrap() = other;
            let first =
                value.pointer(&place).and_then(Value::as_object).and_then(|object| object.keys().next());
            let text = changed.to_string().replace(TWICE, first.map_or("", String::as_str));
            // Very long numbers now and then.
            if text.len() > length + 10_000 && !rng.random_bool(0.01) {
                continue;
            }
            results.push((format!("{place}: {change}"), text));
        }
    }
    results
}

/// Other values for one place.
fn others(value: &Value) -> Vec<(&'static str, Value)> {
    let mut others = vec![("null", Value::Null), ("true", true.into()), ("in a list", json!([value]))];
    match value {
        Value::Object(object) => {
            let with = |key: &str, value: Value| {
                let mut object = object.clone();
                object.insert(key.to_owned(), value);
                Value::from(object)
            };
            others.push(("unknown key", with("why", json!(1))));
            others.push(("positional", object.values().cloned().collect()));
            others.push(("keys in reverse", object.clone().into_iter().rev().collect::<Map<_, _>>().into()));
            if let (Some((first, item)), Some(last)) = (object.iter().next(), object.keys().next_back()) {
                others.push(("key twice", with(TWICE, item.clone())));
                for (change, key) in [("first key left out", first), ("last key left out", last)] {
                    let mut without = object.clone();
                    without.shift_remove(key);
                    others.push((change, without.into()));
                }
            }
        }
        Value::Array(items) => {
            let list = |items: &[Value]| Value::from(items.to_vec());
            others.push(("empty", json!([])));
            others.push(("last left out", list(&items[..items.len().saturating_sub(1)])));
            others.push(("last twice", items.iter().chain(items.last()).cloned().collect()));
            others.push(("first left out", list(items.get(1..).unwrap_or_default())));
            others.push(("in reverse", items.iter().rev().cloned().collect()));
            others.push((
                "as an object",
                items.iter().enumerate().map(|(i, item)| (i.to_string(), item.clone())).collect(),
            ));
        }
        Value::String(text) => {
            others.push(("a name with null", json!({text: null})));
            let forms = [
                format!("+{text}"),
                format!("{text}/1"),
                format!("0{text}"),
                format!(" {text}"),
                format!("{text}.0"),
                format!("{text}e0"),
                format!("{text}/0"),
                format!("-{text}"),
                format!("{text}\u{660}"),
                format!("{text}_0"),
                "-0".into(),
                "0/2".into(),
                "2/4".into(),
                "".into(),
                "NaN".into(),
                "1/-2".into(),
                "9".repeat(5000),
                "9".repeat(20_001),
                format!("1/{}", "3".repeat(131_071)),
            ];
            others.extend(forms.map(|form| ("another form", form.into())));
            others.extend(text.parse::<i64>().ok().map(|number| ("a number", number.into())));
            others.push(("in capitals", text.to_uppercase().into()));
        }
        Value::Number(number) => {
            others.push(("a string", number.to_string().into()));
            others.push(("a float", json!(number.as_f64())));
            others.push(("negative", json!(-1)));
            others.push(("beyond every list", json!(u64::MAX / 2)));
            others.push(("a float beyond the integers", json!(1e30)));
        }
        _ => {}
    }
    others
}

/// The bytes with some of them changed, cut off or repeated.
pub fn broken(text: &[u8], rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..rng.random_range(1..3) {
        let at = rng.random_range(0..bytes.len());
        match rng.random_range(0..4) {
            0 => bytes[at] = rng.random(),
            1 => bytes[at] = b"0123456789-/[]{},\" "[rng.random_range(0..19)],
            2 => bytes.truncate(at.max(1)),
            _ => bytes.splice(at..at, text[..at.min(text.len())].iter().copied()).for_each(drop),
        }
    }
    bytes
}
