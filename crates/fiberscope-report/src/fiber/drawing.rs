//! Which pictures a fiber has: its orientations, a slice of a piece, a translation as a strip; and their
//! files.

use std::path::Path;

use anyhow::{Context, bail};
use fiberscope::fiber::{BottleneckFiber, Fiber, FiberComponent};
use fiberscope_core::{ExactNetwork, Rational};

use super::{FiberSlice, OrientationGraph, OrientationNode, StripPanel, Subject, TranslationStrip};
use crate::files::write_picture;

/// The most components in a graph.
const NODES: usize = 64;

/// The files that pictures are wanted in (.svg, .png, .pdf or .tex).
#[derive(Clone, Copy, Debug, Default)]
pub struct FiberPictures<'a> {
    /// The orientations, neighbours joined.
    pub graph: Option<&'a Path>,
    /// A plane through the piece of the given parameter.
    pub slice: Option<&'a Path>,
    /// A hidden hyperplane that moves.
    pub strip: Option<&'a Path>,
}

/// Writes the pictures that are wanted.
pub fn draw(subject: &Subject, pictures: &FiberPictures) -> anyhow::Result<()> {
    let wanted = [pictures.graph, pictures.slice, pictures.strip].into_iter().flatten().next();
    let fiber = match (&subject.fiber, wanted) {
        (_, None) => return Ok(()),
        (Ok(fiber), _) => fiber,
        (Err(_), Some(path)) => bail!(
            "{}: the theory does not cover {}, so there is no fiber to draw",
            path.display(),
            subject.name
        ),
    };
    if let Some(path) = pictures.graph {
        graph(subject, fiber, path)?;
    }
    if let Some(path) = pictures.slice {
        let slice = slice(subject, fiber).with_context(|| {
            format!(
                "{}: {} has no linear neuron, so there is no plane to slice its piece with",
                path.display(),
                subject.name
            )
        })?;
        write_picture(path, &slice.draw())?;
    }
    if let Some(path) = pictures.strip {
        let inner = match fiber {
            Fiber::Bottleneck(inner) if inner.hidden().is_some() => inner,
            _ => bail!("{}: {} hides no hyperplane", path.display(), subject.name),
        };
        let strip = strip(subject, inner).with_context(|| path.display().to_string())?;
        write_picture(path, &strip.draw())?;
    }
    Ok(())
}

/// One node per orientation, empty if all its pieces are.
fn graph(subject: &Subject, fiber: &Fiber, path: &Path) -> anyhow::Result<()> {
    let exponent = fiber.component_exponent();
    if 1u64.checked_shl(exponent as u32).is_none_or(|count| count > NODES as u64) {
        bail!("{}: a graph of 2^{exponent} orientations cannot be read (at most {NODES})", path.display());
    }
    let mut nodes: Vec<OrientationNode> = Vec::new();
    for component in fiber.components() {
        let (signs, empty) = (component.orientation.active().to_vec(), FiberComponent::is_empty(&component));
        match nodes.last_mut() {
            Some(last) if last.signs == signs => last.empty &= empty,
            _ => nodes.push(OrientationNode { signs, empty }),
        }
    }
    write_picture(
        path,
        &OrientationGraph { title: format!("Orientations in the fiber of {}", subject.name), nodes }.draw(),
    )
}

/// The plane of `W_1 + x W_2, W_2 + y W_1` for two linear neurons, of scale and bias for one.
fn slice(subject: &Subject, fiber: &Fiber) -> Option<FiberSlice> {
    let layer = fiber.layer()?;
    let name = |unit: usize| unit + 1;
    let depth = subject.network.hidden_depth();
    let rows = &subject.network.layers()[depth - 1];
    match layer.linear()[..] {
        [] => None,
        [only] => {
            let bias = rows.bias()[only];
            Some(FiberSlice {
                title: format!("A slice of the component of {}", subject.name),
                axes: [
                    format!("scale s of neuron {}", name(only)),
                    format!("bias of neuron {} before scaling", name(only)),
                ],
                view: [(-0.5, 3.0), (-0.25 * (1.0 + bias), 2.0 * (1.0 + bias))],
                lower: [0.0, 0.0],
                excluded: Vec::new(),
                excluded_name: String::new(),
                point: (1.0, bias),
            })
        }
        [first, second, ..] => {
            let least = |of: usize, by: usize| {
                let ratios =
                    rows.weight().row(of).iter().zip(rows.weight().row(by)).filter(|(_, y)| **y > 0.0);
                -ratios.map(|(x, y)| x / y).fold(f64::INFINITY, f64::min)
            };
            let lower = [least(first, second), least(second, first)];
            let size = lower.iter().fold(1f64, |m, x| m.max(x.abs())).min(1e6);
            let view = [(-1.4 * size, 2.6 * size); 2];
            let (low, high) = view[0];
            let inside = |point: &(f64, f64)| {
                (low..=high).contains(&point.1) && point.0 >= lower[0] && point.1 >= lower[1]
            };
            let branch = |from: f64, to: f64| -> Vec<(f64, f64)> {
                (0..=400)
                    .map(|k| from + (to - from) * f64::from(k) / 400.0)
                    .map(|x| (x, 1.0 / x))
                    .filter(inside)
                    .collect()
            };
            let excluded = [branch(1.0 / high, high), branch(low, 1.0 / low)]
                .into_iter()
                .filter(|piece| piece.len() > 1)
                .collect();
            Some(FiberSlice {
                title: format!("A slice of the component of {}", subject.name),
                axes: [
                    format!("x in W_{0} + x W_{1}, V_{1} adjusted", name(first), name(second)),
                    format!("y in W_{1} + y W_{0}", name(first), name(second)),
                ],
                view,
                lower,
                excluded,
                excluded_name: "not invertible: x y = 1".into(),
                point: (0.0, 0.0),
            })
        }
    }
}

fn strip(subject: &Subject, fiber: &BottleneckFiber) -> anyhow::Result<TranslationStrip> {
    const POINTS: i128 = 240;
    let hidden = fiber.hidden().context("no hyperplane is hidden")?;
    let (start, direction) = fiber.line_across().context("the line across the hyperplane was not found")?;
    let size = -&hidden.least;
    let at =
        |s: &Rational| -> Vec<Rational> { start.iter().zip(&direction).map(|(p, q)| p + &(s * q)).collect() };
    let places: Vec<Rational> = (0..=POINTS)
        .map(|k| &(&size * &Rational::from(3)) * &Rational::dyadic(2 * k - POINTS, 0))
        .map(|s| &s / &Rational::dyadic(POINTS, 0))
        .collect();
    // The first output that is not constant on the line.
    let values = |network: &ExactNetwork, output: usize| -> anyhow::Result<Vec<(f64, f64)>> {
        let value = |s: &Rational| anyhow::Ok((s.to_f64(), network.evaluate_exact(&at(s))?[output].to_f64()));
        places.iter().map(value).collect()
    };
    let given = fiber.network();
    let outputs = subject.network.output_width();
    let varies = |output: &usize| {
        values(given, *output).is_ok_and(|points| points.iter().any(|point| point.1 != points[0].1))
    };
    let output = (0..outputs).find(varies).unwrap_or(0);
    let reference = values(given, output)?;
    let half = Rational::dyadic(1, -1);
    let shifts =
        [&hidden.least - &(&size * &half), hidden.least.clone(), Rational::ZERO, size.clone(), &size + &size];
    let mut panels = Vec::new();
    for t in shifts {
        let network = fiber.translated(&t).context("no hyperplane is hidden")?;
        let points = values(&network, output)?;
        let name = if t == hidden.least {
            format!("t = t_min = {:.3}", t.to_f64())
        } else {
            format!("t = {:.3}", t.to_f64())
        };
        panels.push(StripPanel { name, points, hyperplane: Some(-t.to_f64()), same: t >= hidden.least });
    }
    Ok(TranslationStrip {
        title: format!(
            "{}: the hidden hyperplane moves, output {} does not change",
            subject.name,
            output + 1
        ),
        x_label: format!(
            "pre-activation of neuron {} of layer 1 in the given network, the others off",
            hidden.unit + 1
        ),
        reference,
        panels,
    })
}
