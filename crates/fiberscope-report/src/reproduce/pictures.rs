//! The paper's figures that show data and functions: 1 (univariate data), 7 (a function during training) and
//! 8 (bivariate data).

use fiberscope::limit::Deadline;
use fiberscope::train::{Samples, Task, TrainError, TrainOptions, Trainer};
use fiberscope_core::Network;

use super::experiment::HIDDEN;
use crate::Say;
use crate::draw::graph::{Curve, Graph};
use crate::draw::svg::{Svg, circle, label, rectangle};

/// The epochs at which the function of Figure 7 is shown.
const EPOCHS: [u64; 3] = [20, 200, 2000];
/// Places at which functions of one variable are drawn.
const FINE: usize = 400;
const SHADES: [&str; 12] = [
    "shade-0", "shade-1", "shade-2", "shade-3", "shade-4", "shade-5", "shade-6", "shade-7", "shade-8",
    "shade-9", "shade-10", "shade-11",
];

/// A file's name without its ending, a caption, and the drawing.
pub type Figure = (String, String, Svg);

/// Figures 1, 7 and 8. `None` if the deadline comes first.
pub fn figures(seed: u64, deadline: &Deadline, say: Say) -> Result<Option<Vec<Figure>>, TrainError> {
    let mut figures = Vec::new();
    for k in 1..=3 {
        let caption = format!(
            "Figure 1: f{k}, and its 100 samples with noise of deviation 0.01 on inputs and outputs."
        );
        figures.push((format!("ntk-functions-f{k}-data"), caption, univariate_data(k).draw()));
    }
    for k in 2..=3 {
        let Some(graph) = evolution(k, seed, deadline, say)? else { return Ok(None) };
        let caption = format!("Figure 7: the function of one network during training on f{k}, seed {seed}.");
        figures.push((format!("ntk-functions-f{k}-evolution"), caption, graph.draw()));
    }
    for k in 1..=3 {
        let caption = format!("Figure 8: g{k} on the unit square, and its 400 samples; darker is larger.");
        figures.push((format!("ntk-functions-g{k}-data"), caption, bivariate_data(k)));
    }
    Ok(Some(figures))
}

fn line(name: String, function: impl Fn(f64) -> f64) -> Curve {
    let at = |i: usize| i as f64 / (FINE - 1) as f64;
    Curve { name, points: (0..FINE).map(|i| (at(i), function(at(i)))).collect(), breakpoints: Vec::new() }
}

fn samples(task: Task) -> Vec<(f64, f64)> {
    let (inputs, targets) = task.samples();
    (0..inputs.rows()).map(|i| (inputs[(i, 0)], targets[(i, 0)])).collect()
}

fn univariate_data(k: u8) -> Graph {
    let task = Task::Univariate(k);
    let exact = line(format!("f{k}"), |x| task.exact(&[x]).unwrap_or(f64::NAN));
    let data = Curve { name: "samples".into(), points: Vec::new(), breakpoints: samples(task) };
    Graph {
        title: format!("f{k} and its samples"),
        x_label: "x".into(),
        y_label: "y".into(),
        curves: vec![exact, data],
    }
}

/// The function of a network at some epochs of a training as the paper's.
fn evolution(k: u8, seed: u64, deadline: &Deadline, say: Say) -> Result<Option<Graph>, TrainError> {
    let task = Task::Univariate(k);
    let (inputs, targets) = task.samples();
    let last = EPOCHS[EPOCHS.len() - 1];
    let options = TrainOptions::paper(&[1, HIDDEN, HIDDEN, HIDDEN, HIDDEN, 1], last);
    options.check(&inputs, &targets)?;
    let data = Samples::<f32>::new(&inputs, &targets);
    let mut trainer = Trainer::new(&options, &data, seed);
    let exact = line(format!("f{k}"), |x| task.exact(&[x]).unwrap_or(f64::NAN));
    let mut curves = vec![Curve { breakpoints: samples(task), ..exact }];
    let value = |network: &Network, x: f64| network.evaluate(&[x]).map_or(f64::NAN, |y| y[0]);
    while trainer.epoch() < last {
        if trainer.run_epoch(deadline).is_none() {
            return Ok(None);
        }
        if trainer.epoch().is_multiple_of(100) {
            say(&format!("ntk-functions: f{k}, epoch {} of {last}", trainer.epoch()));
        }
        if EPOCHS.contains(&trainer.epoch())
            && let Some(network) = trainer.network()
        {
            let (_, score) = trainer.evaluate();
            let name = format!("epoch {}, r^2 {score:.3}", trainer.epoch());
            curves.push(line(name, |x| value(&network, x)));
        }
    }
    Ok(Some(Graph {
        title: format!("The function of a network during training on f{k}"),
        x_label: "x".into(),
        y_label: "y".into(),
        curves,
    }))
}

/// A function of two variables as shades, and its samples as shaded points, side by side.
fn bivariate_data(k: u8) -> Svg {
    const SIDE: f64 = 260.0;
    const CELLS: usize = 40;
    let task = Task::Bivariate(k);
    let exact = |x: f64, y: f64| task.exact(&[x, y]).unwrap_or(0.0);
    let (inputs, targets) = task.samples();
    let all: Vec<f64> = targets.entries().to_vec();
    let (low, high) = all.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (l.min(x), h.max(x)));
    let shade = |value: f64| {
        let part = (value - low) / (high - low).max(f64::MIN_POSITIVE);
        SHADES[((part * SHADES.len() as f64) as usize).min(SHADES.len() - 1)]
    };
    let title = format!("g{k} and its samples");
    let (top, left, second) = (48.0, 30.0, 30.0 + SIDE + 40.0);
    let mut content = vec![label("head", (16.0, 24.0), &title)];
    let cell = SIDE / CELLS as f64;
    for i in 0..CELLS {
        for j in 0..CELLS {
            let (x, y) = ((i as f64 + 0.5) / CELLS as f64, (j as f64 + 0.5) / CELLS as f64);
            let corner = (left + cell * i as f64, top + SIDE - cell * (j + 1) as f64);
            content.push(rectangle(shade(exact(x, y)), corner, (cell + 0.3, cell + 0.3)));
        }
    }
    content.push(rectangle("axis", (left, top), (SIDE, SIDE)));
    content.push(rectangle("axis", (second, top), (SIDE, SIDE)));
    for row in 0..inputs.rows() {
        let at = (second + SIDE * inputs[(row, 0)], top + SIDE * (1.0 - inputs[(row, 1)]));
        content.push(circle("axis", at, 4.2));
        content.push(circle(shade(targets[(row, 0)]), at, 4.0));
    }
    for x in [left, second] {
        content.push(label(
            "soft",
            (x + SIDE / 2.0, top + SIDE + 18.0),
            "x from 0 to 1, y upwards from 0 to 1",
        ));
    }
    let text = format!("light: {low:.2}, dark: {high:.2}");
    content.push(label("tick", (left, top + SIDE + 38.0), &text));
    let description = format!("The function g{k} and 400 samples of it; {text}.");
    Svg::new((second + SIDE + 20.0, top + SIDE + 48.0), title, description, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All figures of the paper are there; every sample is drawn, and a network that was trained is near the
    /// function at the end.
    #[test]
    fn data_and_functions_are_drawn() {
        let figures = figures(0, &Deadline::NEVER, &|_| ()).unwrap().unwrap();
        let names: Vec<&str> = figures.iter().map(|(name, ..)| name.as_str()).collect();
        let ends = [
            "f1-data",
            "f2-data",
            "f3-data",
            "f2-evolution",
            "f3-evolution",
            "g1-data",
            "g2-data",
            "g3-data",
        ];
        assert_eq!(names, ends.map(|end| format!("ntk-functions-{end}")));
        for (name, caption, drawing) in &figures {
            let svg = drawing.to_document();
            let drawn = svg.matches("<circle").count();
            // In two dimensions each sample is a shaded point with a rim; in one the legend has a point too.
            assert_eq!(drawn, if name.contains("-g") { 2 * 400 } else { 100 + 1 }, "{name}");
            assert!(caption.starts_with("Figure "), "{caption}");
        }
        let graph = evolution(2, 0, &Deadline::NEVER, &|_| ()).unwrap().unwrap();
        let [exact, early, .., last] = &graph.curves[..] else { panic!("{} curves", graph.curves.len()) };
        let distance = |curve: &Curve| {
            let pairs = curve.points.iter().zip(&exact.points);
            (pairs.map(|((_, y), (_, f))| (y - f).powi(2)).sum::<f64>() / FINE as f64).sqrt()
        };
        let (early, last) = (distance(early), distance(last));
        assert!(last < 0.5 * early, "{early} after {} epochs, {last} at the end", EPOCHS[0]);
        let past = Deadline::after(Some(std::time::Duration::ZERO));
        assert!(super::figures(0, &past, &|_| ()).unwrap().is_none());
    }
}
