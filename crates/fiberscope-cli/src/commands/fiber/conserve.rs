//! `fiberscope conserve`

use anyhow::Context;
use fiberscope::fiber::conserve::{Conservation, FlowOptions, Integrator, follow};
use fiberscope::train::Loss;
use fiberscope_io::load_data;
use fiberscope_report::conserve::value;
use fiberscope_report::draw::graph::{Curve, Graph};

use super::args::{ConserveArgs, FlowLoss};
use super::read_model;
use crate::Answer;
use crate::args::Global;
use crate::output::{Output, write_picture};

pub fn run(args: &ConserveArgs, global: &Global, output: &Output) -> anyhow::Result<Answer> {
    let network = read_model(&args.model, &args.read.options(), output)?.network;
    let data = load_data(&args.data)?.points;
    let loss = match args.loss {
        FlowLoss::Mse => Loss::Mse,
        FlowLoss::CrossEntropy => Loss::CrossEntropy,
    };
    let (time, steps, halvings) = (args.time, args.steps, args.halvings);
    let options = FlowOptions { loss, time, steps, halvings, deadline: global.deadline() };
    let show = |part: f64| output.progress(&format!("{:3.0} % of the flows", 100.0 * part));
    let found = follow(&network, &data, &options, &show).with_context(|| args.data.display().to_string());
    output.end_progress();
    let found = found?;
    if let Some(path) = &args.plot {
        write_picture(path, &plot(&args.model, &found).draw())?;
    }
    if let Some(limit) = options.deadline.limit().filter(|_| !found.complete) {
        output.note(&format!("{limit} after {} runs", found.runs.len()));
    }
    output.result(&text(args, &found), &value(&found))?;
    Ok(if found.complete { Answer::Yes } else { Answer::Undecided })
}

const INTEGRATORS: [Integrator; 2] = [Integrator::GradientDescent, Integrator::RungeKutta];

fn text(args: &ConserveArgs, found: &Conservation) -> String {
    let mut text =
        format!("gradient flow of {} on {} for time {}\n", args.model, args.data.display(), args.time);
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
            "  the next layer hides {neuron}: the gradient has no component along its translation (cosine {along:.1e}),\n  yet the translation induces no conserved quantity: b[k] - sum_j W[j,k] b_next[j] changes as in the last column, whatever the step\n"
        );
    }
    text
}

/// The logarithm of the drift against that of the step.
fn plot(name: &str, found: &Conservation) -> Graph {
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
}
