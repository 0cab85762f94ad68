//! Handles: what a page can offer as sliders and switches, with ranges and the statement behind each.

use fiberscope::fiber::Symmetry;
use fiberscope_core::{Network, Rational};
use serde_json::{Value, json};

/// The most pairs of linear neurons of a layer that are offered.
const PAIRS: usize = 12;
/// How finely a slider moves: powers of two, so that the doubles take the results.
const FINE: f64 = 1.0 / 16.0;

/// The handles of a network with these symmetries. `step` lacks the entry named `amount`, which runs from
/// `low` to `high` in steps of `by`; a flip has `bits` instead: the neurons that can be flipped.
pub fn handles(network: &Network, symmetries: &[Symmetry]) -> Vec<Value> {
    let mut handles: Vec<Value> = symmetries.iter().flat_map(|symmetry| special(network, symmetry)).collect();
    handles.extend(symmetries.iter().flat_map(ordinary));
    handles
}

const LINEAR: &str = "Linear neurons enter the next layer through the sum of v w only, so that any change of basis among them keeps the function while all stay linear.";
const SHIFTED: &str = "The bias of a linear neuron adds a constant, which the next bias can take up.";
const HIDDEN: &str = "Every live neuron of the next layer is active only where this neuron is, so that its bend is never seen and its hyperplane can be translated while the next biases stay nonpositive.";
const FLIPPED: &str = "Exactly one neuron of the next layer is alive and it hides this one's bend, so that relu(z) = z + relu(-z) can be absorbed by the hidden neuron.";
const DEAD: &str = "A neuron that is never active stays so when its bias falls.";
const SHARED: &str =
    "Neurons that are positive multiples of each other can share their outgoing weights in any way.";
const SCALED: &str =
    "relu(c z) = c relu(z) for c > 0: a neuron can be scaled if its outgoing weights are divided.";
const PERMUTED: &str = "The neurons of a layer can be listed in any order.";

fn slider(step: Value, label: String, (low, high, by): (f64, f64, f64), statement: &str) -> Value {
    json!({
        "step": step, "amount": "amount", "label": label, "low": low, "high": high, "by": by,
        "statement": statement,
    })
}

fn special(network: &Network, symmetry: &Symmetry) -> Vec<Value> {
    match symmetry {
        Symmetry::Translation { neuron, least } => {
            let step = json!({"kind": "translate", "layer": neuron.layer, "unit": neuron.unit});
            let low = -rounded_down(&-least);
            let label = format!("translate the hidden hyperplane of {neuron}");
            vec![slider(step, label, (low, low + 4.0, FINE), HIDDEN)]
        }
        Symmetry::Flips { neuron, .. } => {
            let width = network.layers()[neuron.layer].width();
            let others: Vec<usize> = (0..width).filter(|&unit| unit != neuron.unit).collect();
            vec![json!({
                "step": {"kind": "flip", "layer": neuron.layer, "unit": neuron.unit},
                "amount": "flips", "bits": others, "statement": FLIPPED,
                "label": format!("flip neurons across the hidden hyperplane of {neuron}"),
            })]
        }
        Symmetry::LinearNeurons { layer, units } => linear(*layer, units),
        Symmetry::DeadNeurons { layer, units } => units
            .iter()
            .map(|&unit| {
                let label = format!("lower the bias of dead neuron {} of layer {}", unit + 1, layer + 1);
                let step = json!({"kind": "lower", "layer": layer, "unit": unit});
                slider(step, label, (0.0, 4.0, FINE), DEAD)
            })
            .collect(),
        Symmetry::SharedRay { layer, units } => units[1..]
            .iter()
            .map(|&other| {
                let (one, two) = (units[0] + 1, other + 1);
                let label =
                    format!("shift outgoing weight from neuron {one} to neuron {two} of layer {}", layer + 1);
                let step = json!({"kind": "share", "layer": layer, "keep": units[0], "other": other});
                slider(step, label, (-2.0, 2.0, FINE), SHARED)
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn linear(layer: usize, units: &[usize]) -> Vec<Value> {
    let pairs = units.iter().flat_map(|&into| units.iter().map(move |&from| (into, from)));
    let mix = pairs.filter(|(into, from)| into != from).take(PAIRS).map(|(into, from)| {
        let label = format!("add linear neuron {} to neuron {} of layer {}", from + 1, into + 1, layer + 1);
        let step = json!({"kind": "mix", "layer": layer, "into": into, "from": from});
        slider(step, label, (-1.0, 1.0, FINE), LINEAR)
    });
    let shift = units.iter().map(|&unit| {
        let label = format!("shift the bias of linear neuron {} of layer {}", unit + 1, layer + 1);
        slider(json!({"kind": "shift", "layer": layer, "unit": unit}), label, (0.0, 4.0, FINE), SHIFTED)
    });
    mix.chain(shift).collect()
}

fn ordinary(symmetry: &Symmetry) -> Vec<Value> {
    match *symmetry {
        Symmetry::Scaling { layer, width } => (0..width)
            .map(|unit| {
                let label = format!("scale neuron {} of layer {} by 2^k", unit + 1, layer + 1);
                let step = json!({"kind": "scale", "layer": layer, "unit": unit});
                let mut handle = slider(step, label, (-3.0, 3.0, 1.0), SCALED);
                handle["amount"] = json!("power");
                (handle["low"], handle["high"], handle["by"]) = (json!(-3), json!(3), json!(1));
                handle
            })
            .collect(),
        Symmetry::Permutation { layer, width } if width > 1 => {
            vec![json!({
                "step": {"kind": "rotate", "layer": layer}, "amount": "by", "low": 0, "high": width - 1, "by": 1,
                "label": format!("rotate the order of layer {}", layer + 1), "statement": PERMUTED,
            })]
        }
        _ => Vec::new(),
    }
}

/// A multiple of the slider's step at most as large as `x >= 0`.
fn rounded_down(x: &Rational) -> f64 {
    let steps = (x.to_f64() / FINE).floor();
    let exact = |steps: f64| Rational::from_f64(steps * FINE);
    // The quotient may have been rounded up.
    if exact(steps).is_some_and(|value| value <= *x) { steps * FINE } else { (steps - 1.0) * FINE }
}
