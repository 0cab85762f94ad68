//! Two-dimensional slices of the input space.
//!
//! A slice is the plane `origin + s u + t v`; the network on it is the network with first layer
//! `(W_1 (u v), W_1 origin + b_1)`, computed exactly and rounded once to doubles.

use anyhow::{Context, ensure};
use fiberscope::complex::on_plane;
use fiberscope_core::{Network, Rational};

/// A plane in the input space.
pub struct Slice {
    /// The network on the plane.
    pub network: Network,
    /// The rectangle of coordinates to look at.
    pub view: [(f64, f64); 2],
    /// What the axes are.
    pub axes: [String; 2],
}

/// The plane through `origin` spanned by two directions.
pub fn along(network: &Network, origin: &[f64], directions: &[Vec<f64>; 2]) -> anyhow::Result<Slice> {
    check(network, [origin, &directions[0], &directions[1]])?;
    ensure!(
        independent(&directions[0], &directions[1]),
        "the two directions are parallel or zero; expected two that span a plane"
    );
    let axes = ["s (first direction)".into(), "t (second direction)".into()];
    Ok(Slice { network: restrict(network, origin, directions)?, view: [(-1.0, 1.0); 2], axes })
}

/// The plane through a point on which two inputs vary, counted from 0; they are its coordinates.
pub fn of_inputs(network: &Network, point: &[f64], inputs: [usize; 2]) -> anyhow::Result<Slice> {
    let count = network.input_width();
    for input in inputs {
        ensure!(input < count, "input {}: expected two inputs from 1 to {count}", input + 1);
    }
    let mut origin = point.to_vec();
    check(network, [&origin, &origin, &origin])?;
    let directions = inputs.map(|input| {
        origin[input] = 0.0;
        (0..count).map(|i| if i == input { 1.0 } else { 0.0 }).collect()
    });
    ensure!(inputs[0] != inputs[1], "expected two different inputs, found {} twice", inputs[0] + 1);
    let axes = inputs.map(|input| format!("input {}", input + 1));
    Ok(Slice { network: restrict(network, &origin, &directions)?, view: [(-1.0, 1.0); 2], axes })
}

/// The plane through three points, with orthonormal coordinates and the points inside the view.
pub fn through(network: &Network, points: &[Vec<f64>; 3]) -> anyhow::Result<Slice> {
    check(network, [&points[0], &points[1], &points[2]])?;
    let minus = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
    let (p, q) = (minus(&points[1], &points[0]), minus(&points[2], &points[0]));
    ensure!(independent(&p, &q), "the three points are collinear; expected three that span a plane");
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let unit = |a: Vec<f64>| -> Vec<f64> {
        let length = dot(&a, &a).sqrt();
        a.iter().map(|x| x / length).collect()
    };
    let u = unit(p.clone());
    let along = dot(&q, &u);
    let v = unit(q.iter().zip(&u).map(|(q, u)| q - along * u).collect());
    let corners = [(0.0, 0.0), (dot(&p, &u), 0.0), (along, dot(&q, &v))];
    let range = |values: [f64; 3]| {
        let (low, high) =
            values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (l.min(x), h.max(x)));
        (low, high)
    };
    let (x, y) = (range(corners.map(|c| c.0)), range(corners.map(|c| c.1)));
    let margin = 0.25 * (x.1 - x.0).max(y.1 - y.0);
    let view = [x, y].map(|(low, high)| (low - margin, high + margin));
    let axes = ["from the first point towards the second".into(), "towards the third".into()];
    Ok(Slice { network: restrict(network, &points[0], &[u, v])?, view, axes })
}

/// Whether two vectors span a plane, exactly.
fn independent(u: &[f64], v: &[f64]) -> bool {
    let exact = |x: f64| Rational::from_f64(x).expect("numbers were checked to be finite");
    (0..u.len()).any(|i| (0..i).any(|j| &exact(u[i]) * &exact(v[j]) != &exact(u[j]) * &exact(v[i])))
}

fn restrict(network: &Network, origin: &[f64], directions: &[Vec<f64>]) -> anyhow::Result<Network> {
    on_plane(network, origin, [&directions[0], &directions[1]]).context("the network on the slice")
}

fn check(network: &Network, vectors: [&[f64]; 3]) -> anyhow::Result<()> {
    let inputs = network.input_width();
    for vector in vectors {
        ensure!(vector.len() == inputs, "expected {inputs} numbers (one per input), found {}", vector.len());
        ensure!(vector.iter().all(|x| x.is_finite()), "expected finite numbers");
    }
    Ok(())
}
