//! `check`: does a certificate prove its claim about two networks?

use fiberscope_check::{Checker, Outcome};
use fiberscope_core::{Certificate, CertificateError, Digest, Domain, Interval, Rational};
use serde_json::{Value, json};

use crate::request::Request;

/// `{"certificate": text, "a": text, "b": text}` to
/// `{"valid", "claim", "domain", "place", "kind", "reason"}`; `place` is the domain in words.
pub fn check(request: &Request) -> Result<Value, String> {
    let text = request.text("certificate")?;
    let unreadable = |error: CertificateError| format!("certificate: {error}");
    let (a, b) = match (request.network("a"), request.network("b")) {
        (Ok(a), Ok(b)) => (a, b),
        // What is no certificate is said first.
        (a, b) => {
            Certificate::from_json(text.as_bytes()).map_err(unreadable)?;
            (a?, b?)
        }
    };
    let checked = Checker::new(&a, &b).check_reader(text.as_bytes()).map_err(unreadable)?;
    let reason = match &checked.outcome {
        Outcome::Proved(claim) => claim.to_string(),
        Outcome::Refused(refusal) => refusal.to_string(),
        Outcome::Stopped => "not checked".into(),
    };
    let head = checked.head.as_ref();
    Ok(json!({
        "valid": matches!(checked.outcome, Outcome::Proved(_)),
        "claim": head.map(|head| head.claim().name()),
        "domain": head.map(|head| &head.domain),
        "place": head.map(|head| place(&head.domain, a.input_width())),
        "kind": head.map(|head| head.evidence.kind()),
        "reason": reason,
    }))
}

/// A domain in a few words.
fn place(domain: &Domain, inputs: usize) -> String {
    const SIDES: usize = 3;
    let Domain::Box(sides) = domain else { return format!("all of R^{inputs}") };
    let end =
        |end: &Option<Rational>, none: &str| end.as_ref().map_or(none.into(), |x| x.to_f64().to_string());
    let side = |side: &Interval| format!("[{}, {}]", end(&side.lower, "-inf"), end(&side.upper, "inf"));
    let shown: Vec<_> = sides.iter().take(SIDES).map(side).collect();
    let rest = if sides.len() > SIDES { format!(" x ... with {} sides", sides.len()) } else { String::new() };
    format!("the box {}{rest}", shown.join(" x "))
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
        assert_eq!((proved["kind"].as_str(), proved["place"].as_str()), (Some("moves"), Some("all of R^3")));
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
