//! How far apart two functions are: certified bounds on the box, or on the rectangle that is shown.

use std::time::Duration;

use fiberscope::difference::{DifferenceOptions, measure};
use fiberscope::limit::Deadline;
use fiberscope_core::{Domain, Network, Rational, decimal};
use serde_json::{Value, json};

use crate::request::Request;

/// A page is not kept waiting longer for the bounds.
const LONGEST: Duration = Duration::from_millis(700);

/// `{"lower", "upper", "x", "view"}`: both bounds of the largest difference, where it was found, and whether
/// they are about the part of the plane that is shown. That is so if there is no box and `"view"` has the ends
/// of every input; without either there are no bounds.
pub fn apart(
    request: &Request,
    (a, b): (&Network, &Network),
    domain: &Domain,
    time: Duration,
) -> Result<Option<Value>, String> {
    let view = request.optional::<Vec<(f64, f64)>>("view")?;
    let shown = match (domain, view) {
        (Domain::Box(_), _) => domain.clone(),
        (Domain::Space, Some(sides)) => Domain::from_bounds(&sides)
            .filter(|_| sides.len() == a.input_width())
            .ok_or("\"view\": expected the ends of every input")?,
        (Domain::Space, None) => return Ok(None),
    };
    let options = DifferenceOptions::new().deadline(Deadline::after(Some(time.min(LONGEST))));
    // Networks that cannot be compared are judged all the same.
    let Ok(found) = measure(a, b, &shown, &options) else { return Ok(None) };
    let numbers = |xs: &[Rational]| -> Vec<f64> { xs.iter().map(Rational::to_f64).collect() };
    Ok(Some(json!({
        "lower": decimal::lower_f64(&found.lower),
        "upper": found.upper.as_ref().map(decimal::upper_f64),
        "x": found.worst.as_ref().map(|worst| numbers(&worst.x)),
        "view": *domain == Domain::Space,
    })))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ask, refusal};
    use serde_json::json;

    /// `abs(x)`, and the same with another slope on the left.
    fn network(slope: f64) -> String {
        let layer = |weight: serde_json::Value, bias: serde_json::Value, activation: &str| json!({"weight": weight, "bias": bias, "activation": activation});
        let layers = [
            layer(json!([[1.0], [-1.0]]), json!([0.0, 0.0]), "relu"),
            layer(json!([[1.0, slope]]), json!([0.0]), "identity"),
        ];
        json!({"format": "fiberscope-network", "version": 1, "layers": layers}).to_string()
    }

    #[test]
    fn functions_that_differ_come_with_both_bounds() {
        let (start, current) = (network(1.0), network(1.5));
        for part in [json!({"box": [-2, 2]}), json!({"view": [[-2, 2]]})] {
            let mut question = json!({"op": "verdict", "start": start, "current": current});
            question.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
            let found = ask(&question);
            assert_eq!(found["verdict"], "different");
            let apart = &found["apart"];
            // At x = -2 they differ by 1.
            assert_eq!((apart["lower"].as_f64(), apart["x"][0].as_f64()), (Some(1.0), Some(-2.0)));
            assert!((1.0..1.11).contains(&apart["upper"].as_f64().unwrap()));
            assert_eq!(apart["view"], part.get("view").is_some());
        }
        let nowhere = ask(&json!({"op": "verdict", "start": start, "current": current}));
        assert!(nowhere["apart"].is_null());
        let wrong =
            refusal(&json!({"op": "verdict", "start": start, "current": current, "view": [[0, 1], [0, 1]]}));
        assert!(wrong.contains("ends of every input"), "{wrong}");
    }
}
