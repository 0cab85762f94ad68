//! `check`: does a certificate prove its claim about two networks?

use fiberscope_check::{Outcome, check as verify};
use fiberscope_core::{Certificate, Digest};
use serde_json::{Value, json};

use crate::request::Request;

/// `{"certificate": text, "a": text, "b": text}` to `{"valid", "claim", "reason"}`.
pub fn check(request: &Request) -> Result<Value, String> {
    let certificate = Certificate::from_json(request.text("certificate")?.as_bytes())
        .map_err(|error| format!("certificate: {error}"))?;
    let (a, b) = (request.network("a")?, request.network("b")?);
    Ok(match verify(&certificate, &a, &b) {
        Outcome::Proved(claim) => json!({"valid": true, "claim": claim.name(), "reason": claim.to_string()}),
        Outcome::Refused(refusal) => {
            json!({"valid": false, "claim": certificate.claim().name(), "reason": refusal.to_string()})
        }
    })
}

/// `{"network": text}` to `{"sha256"}`: the name by which certificates know a network.
pub fn digest(request: &Request) -> Result<Value, String> {
    Ok(json!({"sha256": Digest::of(&request.network("network")?).to_string()}))
}

#[cfg(test)]
mod tests {
    use fiberscope_io::{json, zoo};
    use serde_json::Value;

    fn text(name: &str) -> String {
        let mut text = Vec::new();
        json::write(&zoo::network(name).unwrap().network, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    fn ask(certificate: &str, a: &str, b: &str) -> Value {
        let request = serde_json::json!({
            "op": "check", "certificate": zoo::certificate(certificate).unwrap(), "a": text(a), "b": text(b),
        });
        serde_json::from_str(&crate::answer(request.to_string().as_bytes())).unwrap()
    }

    #[test]
    fn the_checker_proves_and_refuses() {
        let proved = ask("hiding-two-translated", "hiding-two", "hiding-two-translated");
        assert_eq!((proved["valid"].as_bool(), proved["claim"].as_str()), (Some(true), Some("equivalent")));
        let refused = ask("hiding-two-translated", "hiding-two", "hiding-two-too-far");
        assert_eq!(refused["valid"], false);
        let request = serde_json::json!({"op": "digest", "network": text("hiding-two")});
        let digest: Value = serde_json::from_str(&crate::answer(request.to_string().as_bytes())).unwrap();
        let known: Value = serde_json::from_str(zoo::certificate("hiding-two-translated").unwrap()).unwrap();
        assert_eq!(digest["sha256"], known["a"]["sha256"]);
        assert!(refused["reason"].as_str().unwrap().starts_with("network B"), "{refused}");
    }

    #[test]
    fn damaged_requests_are_answered_in_sentences() {
        for (request, expected) in [
            ("", "not JSON: "),
            ("[]", "expected a JSON object"),
            ("{}", "\"op\": expected a text"),
            (r#"{"op": "check"}"#, "\"certificate\": expected a text"),
            (r#"{"op": "check", "certificate": "{"}"#, "certificate: "),
        ] {
            let answer: Value = serde_json::from_str(&crate::answer(request.as_bytes())).unwrap();
            assert!(answer["error"].as_str().unwrap().starts_with(expected), "{request}: {answer}");
        }
    }
}
