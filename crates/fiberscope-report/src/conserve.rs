//! What gradient flow conserves: text, JSON and a picture.

use fiberscope::fiber::conserve::{Conservation, FlowRun, Integrator};
use serde_json::{Value, json};

use crate::Svg;
use crate::draw::graph::{Curve, Graph};
use crate::number::significant;

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

const INTEGRATORS: [Integrator; 2] = [Integrator::GradientDescent, Integrator::RungeKutta];

/// The runs of a flow of the network `name` on `data` for a time, as text.
pub fn text(name: &str, data: &str, time: f64, found: &Conservation) -> String {
    let mut text = format!("gradient flow of {name} on {data} for time {time}\n");
    for (l, units) in found.linear.iter().enumerate() {
        let list: Vec<String> = units.iter().map(|unit| (unit + 1).to_string()).collect();
        let names = if list.is_empty() { "none".into() } else { list.join(", ") };
        text += &format!("  layer {}: always active on the data: {names}\n", l + 1);
    }
    text += "  Q = W_l W_l^T + b_l b_l^T - W_(l+1)^T W_(l+1); conserved: its diagonal, and the entries between neurons that are always active\n\n";
    let translation = found.hidden.is_some();
    let head = if translation { "  translation" } else { "" };
    text += &format!(
        "  {:<16}  {:>10}  {:>7}  {:>11}  {:>11}  {:>11}{head}\n",
        "integrator", "step", "steps", "loss", "drift of Q", "other Q"
    );
    for run in &found.runs {
        text += &format!(
            "  {:<16}  {:>10.3e}  {:>7}  {:>11.4e}  {:>11.3e}  {:>11.3e}",
            run.integrator.name(),
            run.step,
            run.steps,
            run.loss.1,
            run.drift,
            run.other
        );
        text += &run.translation.map_or("\n".into(), |change| format!("  {change:>11.3e}\n"));
    }
    text.push('\n');
    for integrator in INTEGRATORS {
        if let Some(order) = found.order(integrator) {
            text += &format!("  {}: the drift falls like step^{order:.2}\n", integrator.name());
        }
    }
    if let (Some(neuron), Some(along)) = (found.hidden, found.along_translation) {
        text += &format!(
            "  the next layer hides {neuron}: the gradient has no component along its translation (cosine {}),\n  yet the translation induces no conserved quantity: b[k] - sum_j W[j,k] b_next[j] changes as in the last column, whatever the step\n",
            significant(along, 2)
        );
    }
    text
}

/// A drawing of the logarithm of the drift against that of the step.
pub fn draw(name: &str, found: &Conservation) -> Svg {
    let curve = |name: String, runs: &mut dyn Iterator<Item = (f64, f64)>| {
        let mut points: Vec<(f64, f64)> =
            runs.filter(|(_, y)| *y > 0.0).map(|(x, y)| (x.log10(), y.log10())).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Curve { name, breakpoints: points.clone(), points }
    };
    let of = |integrator: Integrator| found.runs.iter().filter(move |run| run.integrator == integrator);
    let mut curves: Vec<Curve> = INTEGRATORS
        .iter()
        .map(|&integrator| {
            curve(integrator.name().into(), &mut of(integrator).map(|run| (run.step, run.drift)))
        })
        .collect();
    if found.hidden.is_some() {
        let runs = of(Integrator::RungeKutta).filter_map(|run| Some((run.step, run.translation?)));
        curves.push(curve("translation (not conserved)".into(), &mut runs.collect::<Vec<_>>().into_iter()));
    }
    Graph {
        title: format!("Drift of Q along gradient flow of {name}"),
        x_label: "log10 of the step".into(),
        y_label: "log10 of the drift".into(),
        curves,
    }
    .draw()
}
