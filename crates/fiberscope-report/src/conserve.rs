//! What gradient flow conserves.

use fiberscope::fiber::conserve::{Conservation, FlowRun, Integrator};
use serde_json::{Value, json};

/// The runs of a flow with the keys of `fiberscope conserve --json`.
pub fn value(found: &Conservation) -> Value {
    let run = |run: &FlowRun| {
        json!({
            "integrator": run.integrator, "step": run.step, "steps": run.steps,
            "loss_start": run.loss.0, "loss_end": run.loss.1, "drift": run.drift, "other": run.other, "translation": run.translation,
        })
    };
    let series = found.runs.iter().map(|run| json!(run.series)).collect::<Vec<_>>();
    let linear: Vec<Vec<usize>> =
        found.linear.iter().map(|units| units.iter().map(|unit| unit + 1).collect()).collect();
    json!({
        "drift": found.runs.iter().map(run).collect::<Vec<_>>(),
        "complete": found.complete,
        "series": series,
        "always_active": linear,
        "order_gradient_descent": found.order(Integrator::GradientDescent),
        "order_runge_kutta": found.order(Integrator::RungeKutta),
        "hidden": found.hidden.map(|neuron| json!({"layer": neuron.layer + 1, "neuron": neuron.unit + 1})),
        "gradient_along_translation": found.along_translation,
    })
}
