//! A complex by the exact vertices and rays of its regions, for programs of polyhedral geometry.

use std::collections::HashMap;

use anyhow::{Context, ensure};
use fiberscope::complex::{PolyhedralComplex, lineality};
use fiberscope::limit::Deadline;
use fiberscope_core::{Rational, content};

use super::ComplexView;
use crate::export::CellComplex;

/// Vertices between two looks at the clock.
const LOOK: usize = 256;

/// The cells of a complex whose cells were listed. On the whole space the large box that stands for it is
/// left out: an edge that ends on it is a ray.
pub fn cell_complex(
    of: &ComplexView,
    complex: &PolyhedralComplex,
    deadline: &Deadline,
) -> anyhow::Result<CellComplex> {
    let ambient = of.network.input_width();
    let lineality = lineality(&of.network, &of.domain)
        .context("the directions in which nothing changes: finding them exactly is too much work")?;
    ensure!(
        lineality.len() + complex.factor_dimension() == ambient,
        "{}: layer 1 has only zero weights, so that its complex is the whole space, without a vertex",
        of.name
    );
    let in_space = |x: Vec<Rational>| {
        let mut all = vec![Rational::ZERO; ambient];
        complex.inputs().iter().zip(x).for_each(|(&input, x)| all[input] = x);
        all
    };
    let mut exact = Vec::with_capacity(complex.cells(0).len());
    for vertex in 0..complex.cells(0).len() {
        if vertex % LOOK == 0 {
            deadline.check("before all vertices were computed exactly")?;
        }
        exact.push(complex.exact_point(vertex));
    }
    let mut points = Vec::new();
    let mut number_of = vec![None; exact.len()];
    for cell in complex.cells(0).filter(|cell| !cell.is_artificial()) {
        number_of[cell.number()] = Some(points.len());
        points.push(in_space(exact[cell.number()].clone()));
    }
    let mut rays = Vec::new();
    let mut known: HashMap<Vec<Rational>, usize> = HashMap::new();
    let mut ray_of = vec![None; complex.cells(1).len()];
    for edge in complex.cells(1).filter(|edge| !edge.is_artificial()) {
        let &[a, b] = edge.facets() else { continue };
        let (inner, outer) = match (number_of[a as usize], number_of[b as usize]) {
            (Some(_), None) => (a, b),
            (None, Some(_)) => (b, a),
            _ => continue,
        };
        let away = exact[outer as usize].iter().zip(&exact[inner as usize]).map(|(x, y)| x - y);
        let ray = primitive(in_space(away.collect()));
        ray_of[edge.number()] = Some(*known.entry(ray).or_insert_with_key(|ray| {
            rays.push(ray.clone());
            rays.len() - 1
        }));
    }
    let cell = |region: fiberscope::complex::Region| {
        let corners = region.cell().vertices().into_iter().filter_map(|v| number_of[v as usize]);
        let mut cell: Vec<usize> = corners.collect();
        let edges = region.cell().faces(1).into_iter();
        cell.extend(edges.filter_map(|edge| ray_of[edge as usize]).map(|ray| points.len() + ray));
        cell.sort_unstable();
        cell.dedup();
        cell
    };
    let cells = complex.regions().map(cell).collect();
    let title = format!("the linear regions of {} on {}", of.name, of.place());
    Ok(CellComplex { title, ambient, points, rays, cells, lineality })
}

/// The shortest vector of integers in the same direction.
fn primitive(vector: Vec<Rational>) -> Vec<Rational> {
    let Some(content) = content(vector.iter()) else { return vector };
    // What is left are integers without a common divisor, times a power of two.
    let scaled: Vec<Rational> = vector.iter().map(|x| x / &content).collect();
    let exponents = scaled.iter().filter(|x| !x.is_zero()).map(|x| x.to_big_parts().2);
    let power = Rational::dyadic(1, -exponents.min().unwrap_or(0));
    scaled.iter().map(|x| x * &power).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rays_are_the_shortest_integers() {
        let vector =
            |numbers: &[&str]| -> Vec<Rational> { numbers.iter().map(|x| x.parse().unwrap()).collect() };
        for (given, expected) in [
            (&["6", "-10", "0"], &["3", "-5", "0"]),
            (&["1/3", "1/2", "1/4"], &["4", "6", "3"]),
            (&["0", "8", "0"], &["0", "1", "0"]),
            (&["0", "0", "0"], &["0", "0", "0"]),
        ] {
            assert_eq!(primitive(vector(given)), vector(expected));
        }
    }
}
