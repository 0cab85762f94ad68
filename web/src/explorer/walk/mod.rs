//! Walking along the fiber: handles that a page shows as sliders, and the moves behind them.
//!
//! A walk is a list of steps from a base parameter. The moves are applied one after another in exact
//! arithmetic and the result is rounded once, so that where nothing is lost the moves themselves are the
//! proof that the function has stayed the same [threelayer2026, Sections 4 and 5].

mod handle;
mod step;

use fiberscope::fiber::{
    Fiber, FiberSampler, Ground, Orientation, Piece, describe, symmetries as find_symmetries,
};
use fiberscope::orbit::relabel;
use fiberscope_core::{Move, MoveChain, Network};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::text;
use crate::request::Request;
use handle::handles;
use step::Step;

/// More parameters than these are not examined while a page waits.
const EXAMINED: usize = 1 << 14;
/// The most components that a page lists.
const COMPONENTS: usize = 64;

/// `{"network", "box"}` to `{"handles", "dimension", "scalings", "components"}`.
pub fn symmetries(request: &Request) -> Result<Value, String> {
    let network = small(request.network("network")?)?;
    let domain = request.domain(network.input_width())?;
    let known = find_symmetries(&network.to_exact(), &domain);
    let components: Vec<Value> = fiber(&network)
        .map(|fiber| {
            let nonempty = fiber.components().take(COMPONENTS).filter(|component| !component.is_empty());
            nonempty.map(|component| json!(name(&component.piece()))).collect()
        })
        .unwrap_or_default();
    Ok(json!({
        "handles": handles(&network, &known.symmetries),
        "dimension": known.dimension,
        "scalings": known.scalings,
        "components": components,
    }))
}

/// `{"network", "box", "steps"}` to `{"network", "exact", "moves"}`, or `{"refused": the rule that fails}`.
pub fn walk(request: &Request) -> Result<Value, String> {
    let network = small(request.network("network")?)?;
    let domain = request.domain(network.input_width())?;
    let steps: Vec<Step> = request.part("steps")?;
    let mut at = network.to_exact();
    let mut moves: Vec<Move> = Vec::new();
    for step in &steps {
        for each in step.moves(&at)? {
            if let Err(error) = each.apply(&mut at, &domain) {
                return Ok(json!({"refused": format!("{}: {error}", step.name())}));
            }
            moves.push(each);
        }
    }
    let (rounded, exact) = at.to_f64().map_err(|error| error.to_string())?;
    Ok(json!({"network": text(&rounded), "exact": exact, "moves": MoveChain::from(moves)}))
}

/// `{"network", "component", "seed"}` to `{"network", "exact"}`: a random point of a component of the fiber
/// where the theory covers the network, else a random permutation and scaling.
pub fn sample(request: &Request) -> Result<Value, String> {
    let network = small(request.network("network")?)?;
    let seed: u64 = request.part("seed")?;
    let wanted: Option<String> = request.optional("component")?;
    let Some(fiber) = fiber(&network) else {
        let twin = relabel(&network, seed);
        return Ok(json!({"network": text(&twin.network), "exact": true}));
    };
    let piece = match &wanted {
        None => fiber.own().map_err(|violation| format!("the network lies in no piece: {violation}"))?,
        Some(text) => named(text)
            .ok_or_else(|| format!("\"component\": expected signs such as +-+/1, found {text:?}"))?,
    };
    let sampler = FiberSampler::new(&fiber, &piece).map_err(|error| error.to_string())?;
    let point = sampler.sample(&mut ChaCha8Rng::seed_from_u64(seed));
    let point = point.ok_or("the numbers of the piece's points are beyond the doubles")?;
    Ok(json!({"network": text(&point.network), "exact": point.exact}))
}

/// A piece as a page names it: the signs, and the number of linear neurons.
fn name(piece: &Piece) -> String {
    format!("{}/{}", piece.orientation, piece.linear)
}

fn named(text: &str) -> Option<Piece> {
    let (signs, linear) = text.split_once('/')?;
    Some(Piece { orientation: Orientation::parse(signs)?, linear: linear.parse().ok()? })
}

fn fiber(network: &Network) -> Option<Fiber> {
    describe(&network.to_exact(), Ground::Space).ok()
}

fn small(network: Network) -> Result<Network, String> {
    let found = network.parameter_count();
    if found <= EXAMINED {
        Ok(network)
    } else {
        Err(format!("{found} parameters; a page walks with at most {EXAMINED}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ask, refusal, zoo};
    use serde_json::{Value, json};

    /// Every handle of a network, moved a step: the library must say that the function is the same.
    fn check_handles(name: &str, kinds: &[&str]) {
        let start = zoo(name);
        let found = ask(&json!({"op": "symmetries", "network": start}));
        let handles = found["handles"].as_array().unwrap();
        for kind in kinds {
            assert!(
                handles.iter().any(|handle| handle["step"]["kind"] == *kind),
                "{name}: no {kind} in {handles:?}"
            );
        }
        for handle in handles {
            let mut step = handle["step"].clone();
            let amount = if handle["high"] == 0 { &handle["low"] } else { &handle["high"] };
            let name = handle["amount"].as_str().unwrap();
            step[name] = if name == "flips" { json!([handle["bits"][0]]) } else { amount.clone() };
            let walked = ask(&json!({"op": "walk", "network": start, "steps": [step]}));
            assert!(walked["refused"].is_null(), "{handle}: {walked}");
            assert_ne!(walked["network"], json!(start), "{handle}");
            assert_eq!(walked["exact"], true, "{handle}");
            let verdict = ask(&json!({
                "op": "verdict", "start": start, "current": walked["network"], "moves": walked["moves"],
            }));
            assert_eq!(
                (&verdict["verdict"], &verdict["method"]),
                (&json!("equivalent"), &json!("moves")),
                "{handle}"
            );
        }
    }

    #[test]
    fn every_handle_keeps_the_function() {
        check_handles("hiding-two", &["translate", "scale", "rotate"]);
        check_handles("hiding-one", &["flip", "translate"]);
        check_handles("linear-square", &["mix", "shift"]);
        check_handles("duplicate", &["share"]);
        check_handles("dead", &["lower"]);
        check_handles("linear-network", &["mix", "shift"]);
    }

    #[test]
    fn too_far_is_refused_with_the_rule() {
        let step = json!({"kind": "translate", "layer": 0, "unit": 1, "amount": -1.25});
        let walked = ask(&json!({"op": "walk", "network": zoo("hiding-two"), "steps": [step]}));
        let refused = walked["refused"].as_str().unwrap();
        assert!(refused.contains("stay nonpositive"), "{refused}");
        let step = json!({"kind": "scale", "layer": 9, "unit": 0, "power": 1});
        assert!(
            refusal(&json!({"op": "walk", "network": zoo("deep"), "steps": [step]})).contains("layer 10")
        );
        let huge = json!({"kind": "scale", "layer": 0, "unit": 0, "power": 2_000_000_000});
        assert!(refusal(&json!({"op": "walk", "network": zoo("deep"), "steps": [huge]})).contains("power"));
    }

    #[test]
    fn points_of_other_components_have_the_function_too() {
        for name in ["linear-square", "hiding-one", "deep"] {
            let start = zoo(name);
            let components = ask(&json!({"op": "symmetries", "network": start}))["components"].clone();
            let component = components.as_array().unwrap().last().cloned().unwrap_or(Value::Null);
            let point = ask(&json!({"op": "sample", "network": start, "component": component, "seed": 3}));
            let verdict = ask(&json!({"op": "verdict", "start": start, "current": point["network"]}));
            assert_eq!(verdict["verdict"], "equivalent", "{name}: {component}");
        }
        let none = json!({"op": "sample", "network": zoo("linear-square"), "component": "+x", "seed": 0});
        assert!(refusal(&none).starts_with("\"component\": expected signs"));
    }
}
