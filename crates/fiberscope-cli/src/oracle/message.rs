//! The messages of `docs/formats/oracle-v1.md`: what an oracle outside this process says and is asked.

use std::fmt::Write;

use fiberscope::extract::Oracle;
use fiberscope_core::Matrix;
use serde::Deserialize;
use serde_json::{Value, json};

/// The most inputs or outputs an oracle may announce.
const WIDEST: u64 = 100_000;

/// What an oracle says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    pub inputs: usize,
    /// Numbers per answer: one for an oracle that answers classes.
    pub outputs: usize,
    /// For an oracle that answers classes: how many there are.
    pub classes: Option<usize>,
    /// The most queries it takes at once.
    pub max_batch: Option<usize>,
}

/// Reads the first message of an oracle.
pub fn read_hello(bytes: &[u8]) -> Result<Hello, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|_| {
        format!(
            "expected {{\"format\": \"fiberscope-oracle\", \"version\": 1, \"inputs\": N, \"outputs\": M}}, found {}",
            excerpt(bytes)
        )
    })?;
    if let Some(error) = value.get("error").and_then(Value::as_str) {
        return Err(error.to_owned());
    }
    if value["format"] != "fiberscope-oracle" {
        return Err(format!("expected the format \"fiberscope-oracle\", found {}", value["format"]));
    }
    if value["version"] != 1 {
        return Err(format!("expected version 1 of the format, found {}", value["version"]));
    }
    let size = |key: &str| match value[key].as_u64() {
        Some(size @ 1..=WIDEST) => Ok(size as usize),
        _ => Err(format!("{key}: expected a number from 1 to {WIDEST}, found {}", value[key])),
    };
    let optional = |key: &str| match value.get(key).is_none_or(Value::is_null) {
        true => Ok(None),
        false => size(key).map(Some),
    };
    let (max_batch, classes) = (optional("max_batch")?, optional("classes")?);
    let outputs = if classes.is_some() { 1 } else { size("outputs")? };
    Ok(Hello { inputs: size("inputs")?, outputs, classes, max_batch })
}

/// The first message of an oracle, or of one that answers only which of so many classes it is.
pub fn hello(oracle: &dyn Oracle, classes: Option<usize>) -> Value {
    let (inputs, outputs) = (oracle.inputs(), oracle.outputs());
    match classes {
        None => json!({"format": "fiberscope-oracle", "version": 1, "inputs": inputs, "outputs": outputs}),
        Some(classes) => {
            json!({"format": "fiberscope-oracle", "version": 1, "inputs": inputs, "classes": classes})
        }
    }
}

/// Reads a message that asks for answers.
pub fn read_request(bytes: &[u8], inputs: usize) -> Result<Matrix, String> {
    #[derive(Deserialize)]
    struct Request {
        inputs: Vec<Vec<f64>>,
    }
    let Request { inputs: rows } = serde_json::from_slice(bytes).map_err(|error| {
        format!("expected {{\"inputs\": [[..], ..]}}, found {} ({error})", excerpt(bytes))
    })?;
    if let Some((i, row)) = rows.iter().enumerate().find(|(_, row)| row.len() != inputs) {
        return Err(format!("query {}: expected {inputs} inputs, found {}", i + 1, row.len()));
    }
    let count = rows.len();
    let entries = rows.into_iter().flatten().collect();
    Ok(Matrix::from_entries(count, inputs, entries).expect("all rows have the length of the inputs"))
}

/// The message that asks for the rows of `points`, without a line end.
pub fn request(points: &Matrix) -> Vec<u8> {
    let rows: Vec<&[f64]> = points.iter_rows().collect();
    json!({ "inputs": rows }).to_string().into_bytes()
}

/// No answer to so many queries is longer.
pub fn longest_answer(rows: usize, outputs: usize) -> usize {
    rows.saturating_mul(outputs).saturating_mul(64).saturating_add(1 << 16)
}

#[derive(Deserialize)]
struct Answer {
    outputs: Option<Vec<Vec<Option<f64>>>>,
    labels: Option<Vec<u32>>,
    error: Option<String>,
}

/// Reads the answers to `rows` queries. `null`, and the `NaN` and `Infinity` that some writers of JSON
/// produce, are read as NaN: what is wrong with them is for the extraction to say.
pub fn read_answer(bytes: &[u8], rows: usize, outputs: usize) -> Result<Matrix, String> {
    let answer: Answer = serde_json::from_slice(bytes)
        .or_else(|error| match without_nan(bytes) {
            Some(text) => serde_json::from_str(&text),
            None => Err(error),
        })
        .map_err(|error| {
            format!("expected {{\"outputs\": [[..], ..]}}, found {} ({error})", excerpt(bytes))
        })?;
    if let Some(error) = answer.error {
        return Err(error);
    }
    let labels = answer.labels.filter(|_| outputs == 1);
    let rows_of = |labels: Vec<u32>| labels.into_iter().map(|label| vec![Some(f64::from(label))]).collect();
    let Some(table) = answer.outputs.or_else(|| labels.map(rows_of)) else {
        return Err(format!("expected the key \"outputs\", found {}", excerpt(bytes)));
    };
    if table.len() != rows {
        return Err(format!("expected {rows} answers to {rows} queries, found {}", table.len()));
    }
    if let Some((i, row)) = table.iter().enumerate().find(|(_, row)| row.len() != outputs) {
        return Err(format!("answer {}: expected {outputs} outputs, found {}", i + 1, row.len()));
    }
    let entries = table.into_iter().flatten().map(|number| number.unwrap_or(f64::NAN)).collect();
    Ok(Matrix::from_entries(rows, outputs, entries).expect("all rows have the length of the outputs"))
}

/// The text with `null` for numbers that JSON does not have; `None` if there are none.
fn without_nan(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let replaced = text.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", "null");
    (replaced != text).then_some(replaced)
}

/// The beginning of a message, fit to be printed.
pub fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 80;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN)]);
    let mut shown = String::from("\"");
    for c in text.trim().chars().take(SHOWN) {
        match c {
            '"' => shown.push('"'),
            c => write!(shown, "{}", c.escape_debug()).expect("writing to a string does not fail"),
        }
    }
    if text.trim().chars().count() > SHOWN || bytes.len() > 4 * SHOWN {
        shown.push_str("...");
    }
    shown.push('"');
    shown
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn hello() {
        let ok =
            br#"{"format": "fiberscope-oracle", "version": 1, "inputs": 3, "outputs": 2, "max_batch": 7}"#;
        assert_eq!(read_hello(ok), Ok(Hello { inputs: 3, outputs: 2, classes: None, max_batch: Some(7) }));
        let labels = br#"{"format": "fiberscope-oracle", "version": 1, "inputs": 3, "classes": 10}"#;
        assert_eq!(
            read_hello(labels),
            Ok(Hello { inputs: 3, outputs: 1, classes: Some(10), max_batch: None })
        );
        let check = |text: &str, expected: &str| {
            let error = read_hello(text.as_bytes()).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("Loading model...", "found \"Loading model...\"");
        check(r#"{"error": "no model"}"#, "no model");
        check(r#"{"format": "other"}"#, "found \"other\"");
        check(r#"{"format": "fiberscope-oracle", "version": 2}"#, "found 2");
        let sized =
            |n: &str| format!(r#"{{"format":"fiberscope-oracle","version":1,"inputs":{n},"outputs":1}}"#);
        for n in ["0", "-1", "1.5", "1e9", "\"3\"", "null"] {
            check(&sized(n), "inputs: expected a number from 1 to 100000");
        }
    }

    #[test]
    fn doubles_survive_the_way_there_and_back() {
        let points = Matrix::from_rows(&[[0.1, -1e-300], [1.0 / 3.0, 5e-324]]).unwrap();
        let text = String::from_utf8(request(&points)).unwrap();
        assert_eq!(read_request(text.as_bytes(), 2), Ok(points.clone()));
        let answer = text.replace("inputs", "outputs");
        assert_eq!(read_answer(answer.as_bytes(), 2, 2), Ok(points));
    }

    #[test]
    fn labels_are_answers_of_one_number() {
        let labels = br#"{"labels": [2, 0]}"#;
        assert_eq!(read_answer(labels, 2, 1).unwrap().entries(), [2.0, 0.0]);
        assert!(read_answer(labels, 2, 3).unwrap_err().contains("\"outputs\""));
        assert!(read_answer(br#"{"labels": [-1, 0]}"#, 2, 1).is_err());
    }

    #[test]
    fn answers_that_do_not_fit() {
        let check = |text: &str, expected: &str| {
            let error = read_answer(text.as_bytes(), 2, 1).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check(r#"{"outputs": [[1]]}"#, "expected 2 answers to 2 queries, found 1");
        check(r#"{"outputs": [[1], [1, 2]]}"#, "answer 2: expected 1 outputs, found 2");
        check(r#"{"outputs": [1, 2]}"#, "expected {\"outputs\"");
        check(r#"{"result": 1}"#, "expected the key \"outputs\"");
        check(r#"{"error": "too many NaN"}"#, "too many NaN");
        check("Traceback", "found \"Traceback\"");
    }

    #[test]
    fn numbers_that_json_lacks_are_nan() {
        for text in ["NaN", "Infinity", "-Infinity", "null"] {
            let answer = format!("{{\"outputs\": [[{text}]]}}");
            assert!(read_answer(answer.as_bytes(), 1, 1).unwrap().entries()[0].is_nan(), "{text}");
        }
    }

    #[test]
    fn excerpts_are_short_and_printable() {
        assert_eq!(excerpt(b"a\x1b[31m"), "\"a\\u{1b}[31m\"");
        assert!(excerpt(&[b'x'; 5000]).len() < 100);
    }
}
