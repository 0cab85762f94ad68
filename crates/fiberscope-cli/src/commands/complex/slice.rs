//! Two-dimensional slices of the input space.
//!
//! A slice is the plane `origin + s u + t v`.

use anyhow::{Context, bail, ensure};
use fiberscope::complex::on_plane;
use fiberscope_core::{Network, Rational};

use super::args::RegionsArgs;

/// A plane in the input space.
pub struct Slice {
    /// The network on the plane.
    pub network: Network,
    /// The rectangle of coordinates, unless `--box` gives it.
    pub view: Option<[(f64, f64); 2]>,
    /// What the axes are.
    pub axes: [String; 2],
}

/// The slice that the flags ask for.
pub fn slice(args: &RegionsArgs, network: &Network) -> anyhow::Result<Option<Slice>> {
    let inputs = network.input_width();
    if let Some(text) = &args.slice {
        let points = vectors(text, 3, inputs).context("--slice")?;
        return through(network, &points).context("--slice").map(Some);
    }
    let Some(text) = &args.directions else { return Ok(None) };
    let directions = vectors(text, 2, inputs).context("--directions")?;
    let origin = match &args.origin {
        Some(text) => vectors(text, 1, inputs).context("--origin")?.remove(0),
        None => vec![0.0; inputs],
    };
    ensure!(
        independent(&directions[0], &directions[1]),
        "--directions: the two directions are parallel or zero; expected two that span a plane"
    );
    let view = args.domain.is_none().then_some([(-1.0, 1.0); 2]);
    let axes = ["s (first direction)".into(), "t (second direction)".into()];
    Ok(Some(Slice { network: restrict(network, &origin, &directions)?, view, axes }))
}

/// The plane through three points, with orthonormal coordinates and the points inside the view.
fn through(network: &Network, points: &[Vec<f64>]) -> anyhow::Result<Slice> {
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
    Ok(Slice { network: restrict(network, &points[0], &[u, v])?, view: Some(view), axes })
}

/// Whether two vectors span a plane, exactly.
fn independent(u: &[f64], v: &[f64]) -> bool {
    let exact = |x: f64| Rational::from_f64(x).expect("numbers were checked to be finite");
    (0..u.len()).any(|i| (0..i).any(|j| &exact(u[i]) * &exact(v[j]) != &exact(u[j]) * &exact(v[i])))
}

fn restrict(network: &Network, origin: &[f64], directions: &[Vec<f64>]) -> anyhow::Result<Network> {
    on_plane(network, origin, [&directions[0], &directions[1]]).context("the network on the slice")
}

/// `count` vectors of `inputs` numbers, separated by semicolons.
fn vectors(text: &str, count: usize, inputs: usize) -> anyhow::Result<Vec<Vec<f64>>> {
    let parts: Vec<&str> = text.split(';').collect();
    if parts.len() != count {
        bail!("expected {count} vectors separated by semicolons, found {}", parts.len());
    }
    let mut vectors = Vec::with_capacity(count);
    for (k, part) in parts.iter().enumerate() {
        let numbers: Result<Vec<f64>, _> = part.split(',').map(|x| x.trim().parse::<f64>()).collect();
        let Ok(numbers) = numbers else {
            bail!("vector {}: expected numbers separated by commas, found {part:?}", k + 1)
        };
        ensure!(numbers.iter().all(|x| x.is_finite()), "vector {}: expected finite numbers", k + 1);
        ensure!(
            numbers.len() == inputs,
            "vector {}: expected {inputs} numbers (one per input), found {}",
            k + 1,
            numbers.len()
        );
        vectors.push(numbers);
    }
    Ok(vectors)
}
