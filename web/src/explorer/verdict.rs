//! Is it still the same function? The library's verdict, with the certificate that the checker accepted.

use std::time::Duration;

use fiberscope::equivalence::{Agreement, EquivalenceOptions, Verdict, decide};
use fiberscope::limit::Deadline;
use fiberscope_check::{Outcome, check};
use fiberscope_core::{Certificate, Domain, Evidence, MoveChain, Network, Rational, decimal};
use serde_json::{Value, json};

use super::apart::apart;
use crate::request::Request;

/// `{"start", "current", "box", "view", "moves", "seconds"}` to
/// `{"verdict", "method", "witness", "bound", "relative", "differ_at", "certificate", "apart"}`. Moves that lead
/// from the first network to the second are tried first. What differs comes with bounds of the largest
/// difference ([`apart`]).
pub fn verdict(request: &Request) -> Result<Value, String> {
    let (a, b) = (request.network("start")?, request.network("current")?);
    let domain = request.domain(a.input_width())?;
    let networks = (&a, &b);
    if let Some(moves) = request.optional::<MoveChain>("moves")?
        && let Some(certificate) = by_moves(&a, &b, &domain, moves)
    {
        return Ok(answer("equivalent", "moves", Some(&certificate)));
    }
    let seconds: f64 = request.optional("seconds")?.unwrap_or(2.0);
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| "\"seconds\": expected a positive number")?;
    let options = EquivalenceOptions::new().deadline(Deadline::after(Some(time)));
    let decision = decide(&a, &b, &domain, &options).map_err(|error| error.to_string())?;
    let numbers = |xs: &[Rational]| -> Vec<f64> { xs.iter().map(Rational::to_f64).collect() };
    Ok(match &decision.verdict {
        Verdict::Equivalent { certificate } => {
            answer("equivalent", decision.method.name(), Some(certificate))
        }
        Verdict::EquivalentUpToRounding { agreement, certificate, differ_at } => {
            let mut value = answer("equivalent_up_to_rounding", decision.method.name(), Some(certificate));
            match agreement {
                Agreement::Outputs { bound, .. } => value["bound"] = json!(decimal::upper_f64(bound)),
                Agreement::Parameters { relative } => value["relative"] = json!(decimal::upper_f64(relative)),
            }
            if let Some(found) = differ_at {
                value["differ_at"] = json!(numbers(&found.x));
            }
            value
        }
        Verdict::Different { x, a, b, certificate, .. } => {
            let mut value = answer("different", decision.method.name(), Some(certificate));
            value["witness"] = json!({"x": numbers(x), "a": numbers(a), "b": numbers(b)});
            value["apart"] = json!(apart(request, networks, &domain, time)?);
            value
        }
        Verdict::Undecided { .. } => answer("undecided", decision.method.name(), None),
    })
}

fn answer(verdict: &str, method: &str, certificate: Option<&Certificate>) -> Value {
    json!({"verdict": verdict, "method": method, "certificate": certificate.map(Certificate::to_json)})
}

/// The certificate of the moves, if the checker accepts it.
fn by_moves(a: &Network, b: &Network, domain: &Domain, moves: MoveChain) -> Option<Certificate> {
    let certificate =
        Certificate::new(a, b, domain.clone(), Evidence::Moves { a: moves, b: MoveChain::default() });
    matches!(check(&certificate, a, b), Outcome::Proved(_)).then_some(certificate)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ask, refusal, zoo};
    use serde_json::json;

    #[test]
    fn verdicts_come_with_what_proves_them() {
        let (start, moved) = (zoo("hiding-two"), zoo("hiding-two-translated"));
        let same = ask(&json!({"op": "verdict", "start": start, "current": moved}));
        assert_eq!(same["verdict"], "equivalent");
        let checked =
            ask(&json!({"op": "check", "certificate": same["certificate"], "a": start, "b": moved}));
        assert_eq!(checked["valid"], true);
        let other = ask(&json!({"op": "verdict", "start": start, "current": zoo("hiding-two-too-far")}));
        assert_eq!(other["verdict"], "different");
        assert_ne!(other["witness"]["a"], other["witness"]["b"]);
        let moves = json!([{"move": "translate", "layer": 1, "unit": 2, "amount": "-1"}]);
        let by_moves = ask(&json!({"op": "verdict", "start": start, "current": moved, "moves": moves}));
        assert_eq!(by_moves["method"], "moves");
        let wrong = json!([{"move": "translate", "layer": 1, "unit": 2, "amount": "-1/2"}]);
        let all_the_same = ask(&json!({"op": "verdict", "start": start, "current": moved, "moves": wrong}));
        assert_eq!((&all_the_same["verdict"], &all_the_same["method"]), (&same["verdict"], &same["method"]));
    }

    #[test]
    fn a_box_is_a_domain() {
        let (start, nudged) = (zoo("identifiable"), zoo("identifiable-nudged"));
        let verdict = ask(&json!({"op": "verdict", "start": start, "current": nudged, "box": [-1, 1]}));
        assert_eq!(verdict["verdict"], "different");
        let empty = refusal(&json!({"op": "verdict", "start": start, "current": nudged, "box": [1, 1]}));
        assert_eq!(empty, "\"box\": expected lo < hi, found 1 and 1");
        let shapes = refusal(&json!({"op": "verdict", "start": start, "current": zoo("tent")}));
        assert!(shapes.contains("inputs"), "{shapes}");
    }
}
