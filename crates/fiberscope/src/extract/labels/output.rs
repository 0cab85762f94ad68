//! The output layer and the orientation of the last hidden layer, from points between classes.
//!
//! At a point between the classes `i` and `j` the two outputs are equal: with the hyperplanes of the last hidden
//! layer known, that is a linear equation for the output layer. The equations have no right side: outputs are
//! known up to a common factor, and up to a function that is added to all of them.

use faer::Mat;
use fiberscope_algebra::dense::{along, dot, norm};
use fiberscope_core::Matrix;

use super::super::algebra::Svd;
use super::super::bits;
use super::hunt::Plane;
use super::space::Place;

/// Equations are satisfied up to this share of their size.
const ROUNDING: f64 = 1e-8;

/// Singular values below this, relative to the largest, are zero.
const ZERO: f64 = 3e-9;

/// So many times as many equations as unknowns are enough.
const ENOUGH: usize = 6;

/// What the equations tell.
pub(super) struct Outputs {
    /// The classes between which there are points, in order.
    pub classes: Vec<usize>,
    /// Solutions: coefficients of every class at the features, zero for the first class.
    pub solutions: Vec<Vec<Vec<f64>>>,
}

/// The values of the neurons, the coordinates, and one.
fn features(planes: &[Plane], y: &[f64]) -> Vec<f64> {
    planes.iter().map(|plane| plane.at(y).max(0.0)).chain(y.iter().copied()).chain([1.0]).collect()
}

/// The solutions of the equations of all points; `None` if there are too few points, or no solution.
pub(super) fn outputs(planes: &[Plane], places: &[Place]) -> Option<Outputs> {
    let mut classes: Vec<usize> = places.iter().flat_map(|place| [place.pair.0, place.pair.1]).collect();
    classes.sort_unstable();
    classes.dedup();
    let width = planes.len() + places.first()?.at.len() + 1;
    let unknowns = (classes.len() - 1) * width;
    if places.len() < unknowns + 8 {
        return None;
    }
    let count = places.len().min(ENOUGH * unknowns);
    let used: Vec<&Place> = (0..count).map(|k| &places[k * places.len() / count]).collect();
    let mut rows = Mat::<f64>::zeros(count, unknowns);
    for (i, place) in used.iter().enumerate() {
        let features = features(planes, &place.at);
        let length = norm(&features);
        for (class, sign) in [(place.pair.0, 1.0), (place.pair.1, -1.0)] {
            let Some(block) = classes.binary_search(&class).ok().and_then(|at| at.checked_sub(1)) else {
                continue;
            };
            features.iter().enumerate().for_each(|(k, f)| rows[(i, block * width + k)] = sign * f / length);
        }
    }
    let lengths: Vec<f64> = (0..unknowns).map(|j| rows.col(j).norm_l2().max(f64::MIN_POSITIVE)).collect();
    let scaled = Mat::from_fn(count, unknowns, |i, j| rows[(i, j)] / lengths[j]);
    let triangle = scaled.qr().thin_R().to_owned();
    let svd =
        Svd::of(&Matrix::from_fn(unknowns, unknowns, |i, j| if i <= j { triangle[(i, j)] } else { 0.0 }))?;
    let zero = (0..unknowns).rev().take_while(|&k| svd.s[k] < ZERO * svd.s[0]).count();
    if zero == 0 {
        return None;
    }
    let solutions = (unknowns - zero..unknowns).map(|k| {
        let flat: Vec<f64> = svd.v[k].iter().zip(&lengths).map(|(v, length)| v / length).collect();
        std::iter::once(vec![0.0; width]).chain(flat.chunks(width).map(<[f64]>::to_vec)).collect()
    });
    Some(Outputs { solutions: solutions.collect(), classes })
}

impl Outputs {
    /// How far a point between two classes is from the boundary that a solution has there; infinite for classes
    /// that have none.
    pub fn miss(&self, solution: &[Vec<f64>], planes: &[Plane], place: &Place) -> f64 {
        let row = |class: usize| self.classes.binary_search(&class).ok().map(|at| &solution[at]);
        let (Some(first), Some(second)) = (row(place.pair.0), row(place.pair.1)) else {
            return f64::INFINITY;
        };
        let difference: Vec<f64> = along(first, -1.0, second);
        let features = features(planes, &place.at);
        let size = norm(&difference) * norm(&features);
        dot(&difference, &features).abs() / size.max(f64::MIN_POSITIVE)
    }

    /// Whether a point fits.
    pub fn explains(&self, planes: &[Plane], place: &Place) -> bool {
        self.solutions.iter().all(|solution| self.miss(solution, planes, place) < ROUNDING)
    }

    /// The combination of the solutions that gives points their classes, by the perceptron; `None` if none was
    /// found.
    pub fn combine(&self, planes: &[Plane], labelled: &[(Vec<f64>, usize)]) -> Option<Vec<Vec<f64>>> {
        const ROUNDS: usize = 3_000;
        let mut sides: Vec<Vec<f64>> = Vec::new();
        for (y, class) in labelled {
            let Ok(own) = self.classes.binary_search(class) else { continue };
            let features = features(planes, y);
            let scores: Vec<Vec<f64>> = self
                .solutions
                .iter()
                .map(|solution| solution.iter().map(|row| dot(row, &features)).collect())
                .collect();
            for other in (0..self.classes.len()).filter(|&other| other != own) {
                let side: Vec<f64> = scores.iter().map(|score| score[own] - score[other]).collect();
                let length = norm(&side);
                if length > 0.0 {
                    sides.push(side.iter().map(|v| v / length).collect());
                }
            }
        }
        let mut weights = vec![0.0; self.solutions.len()];
        for round in 0..ROUNDS {
            let wrong = sides.iter().filter(|side| dot(side, &weights) <= 0.0).fold(None, |worst, side| {
                let value = dot(side, &weights);
                match worst {
                    Some((least, _)) if least <= value => worst,
                    _ => Some((value, side)),
                }
            });
            let Some((_, side)) = wrong else { break };
            if round + 1 == ROUNDS {
                return None;
            }
            weights = along(&weights, 1.0, side);
        }
        if norm(&weights) == 0.0 {
            return None;
        }
        let mut sum = vec![vec![0.0; self.solutions[0][0].len()]; self.classes.len()];
        for (solution, weight) in self.solutions.iter().zip(&weights) {
            sum.iter_mut().zip(solution).for_each(|(sum, row)| *sum = along(sum, *weight, row));
        }
        Some(sum)
    }
}

/// A plane of so many whose coefficients are nothing beside the others: no class feels it.
pub(super) fn idle(outputs: &[Vec<f64>], planes: usize) -> Option<usize> {
    const NOTHING: f64 = 1e-8;
    let largest = outputs.iter().flatten().fold(0.0f64, |largest, v| largest.max(v.abs()));
    (0..planes).find(|&k| outputs.iter().all(|row| row[k].abs() < NOTHING * largest))
}

/// A last hidden layer with its outputs.
pub(super) struct Last {
    /// `1` where the neuron is on where its plane is positive, `-1` else.
    pub sides: Vec<f64>,
    /// Output weights of every class.
    pub weight: Vec<Vec<f64>>,
    /// What is left: a linear map of the coordinates, not explained by neurons that switch.
    pub rest: Vec<Vec<f64>>,
    /// The biases.
    pub bias: Vec<f64>,
    /// Whether the sides are determined.
    pub oriented: bool,
}

/// The orientation of the neurons: `relu(z) = relu(-z) + z`, so a wrong side leaves a linear map.
pub(super) fn orient(planes: &[Plane], outputs: &[Vec<f64>]) -> Option<Last> {
    let count = planes.len();
    let dimension = outputs.first()?.len() - count - 1;
    if count == 0 {
        // Outputs that are linear in the coordinates.
        let split = |row: &Vec<f64>| (row[..dimension].to_vec(), row[dimension]);
        let (rest, bias) = outputs.iter().map(split).unzip();
        return Some(Last {
            sides: Vec::new(),
            weight: vec![Vec::new(); outputs.len()],
            rest,
            bias,
            oriented: true,
        });
    }
    let (mut equations, mut right) = (Vec::new(), Vec::new());
    for row in &outputs[1..] {
        for i in 0..dimension {
            equations
                .push((0..count).map(|k| -(row[k] - outputs[0][k]) * planes[k].w[i]).collect::<Vec<f64>>());
            right.push(row[count + i] - outputs[0][count + i]);
        }
    }
    let svd = Svd::of(&Matrix::from_rows(&equations)?)?;
    let rank = svd.rank(1e-9);
    let bits = if rank == count {
        Some(svd.solve(&right, 1e-9))
    } else {
        bits::enumerated(&equations, &right, &svd, rank)
    };
    let is_bit = |b: &f64| b.abs().min((b - 1.0).abs()) < 1e-3;
    let size = norm(&right).max(f64::MIN_POSITIVE);
    let bits = bits
        .filter(|bits| bits.iter().all(is_bit))
        .map(|bits| bits.iter().map(|b| b.round()).collect::<Vec<f64>>());
    let bits = bits.filter(|bits| {
        let error: f64 = equations.iter().zip(&right).map(|(row, r)| (dot(row, bits) - r).powi(2)).sum();
        error.sqrt() < 1e-5 * size || size < 1e-9
    });
    let oriented = bits.is_some();
    let wrong = bits.unwrap_or_else(|| vec![0.0; count]);
    let mut last = Last {
        sides: wrong.iter().map(|b| 1.0 - 2.0 * b).collect(),
        weight: Vec::new(),
        rest: Vec::new(),
        bias: Vec::new(),
        oriented,
    };
    for row in outputs {
        let mut rest = row[count..count + dimension].to_vec();
        let mut bias = row[count + dimension];
        for (k, plane) in planes.iter().enumerate().filter(|(k, _)| wrong[*k] > 0.5) {
            rest = along(&rest, row[k], &plane.w);
            bias += row[k] * plane.b;
        }
        last.weight.push(row[..count].to_vec());
        last.rest.push(if oriented { vec![0.0; dimension] } else { rest });
        last.bias.push(bias);
    }
    Some(last)
}
