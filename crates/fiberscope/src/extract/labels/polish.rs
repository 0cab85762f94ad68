//! All parameters together against all points between classes, by the method of Gauss and Newton. There the
//! outputs of two classes are equal, up to the rounding of the last bisection.

use fiberscope_algebra::dense::{along, dot, norm, row_times};
use fiberscope_core::Matrix;

use super::super::algebra::tall_least_squares;
use super::super::prefix::Rows;
use super::model::Model;
use super::space::Place;

/// Steps, at most.
const STEPS: usize = 4;

/// Networks with more parameters are not polished.
const MOST_PARAMETERS: usize = 1_500;

/// So many times as many points as parameters are enough.
const ENOUGH: usize = 4;

/// The model after polishing, if that made it better.
pub(super) fn polish(model: &Model, places: &[Place]) -> Model {
    let parameters: usize =
        model.hidden.iter().chain([&model.output]).map(|rows| rows.len() * (rows.weight.cols() + 1)).sum();
    let mut best = model.clone();
    if parameters > MOST_PARAMETERS || places.len() < parameters {
        return best;
    }
    let count = places.len().min(ENOUGH * parameters);
    let used: Vec<&Place> = (0..count).map(|k| &places[k * places.len() / count]).collect();
    let Some(mut system) = System::of(&best, &used) else { return best };
    for _ in 0..STEPS {
        let Some(step) = tall_least_squares(&system.jacobian, &system.right, 1e-11) else { break };
        let next = moved(&best, step.entries());
        let Some(after) = next.as_ref().and_then(|next| System::of(next, &used)) else { break };
        if after.error() >= system.error() {
            break;
        }
        (best, system) = (next.expect("there is a system of it"), after);
    }
    best
}

/// The distances of the points from the boundaries of the model, and their derivatives.
struct System {
    jacobian: Matrix,
    right: Matrix,
}

impl System {
    fn of(model: &Model, places: &[&Place]) -> Option<System> {
        let mut rows = Vec::with_capacity(places.len());
        let mut right = Vec::with_capacity(places.len());
        for place in places {
            let (row, distance) = derivative(model, place)?;
            rows.push(row);
            right.push([-distance]);
        }
        Some(System { jacobian: Matrix::from_rows(&rows)?, right: Matrix::from_rows(&right)? })
    }

    fn error(&self) -> f64 {
        norm(self.right.entries())
    }
}

/// The derivative of the distance by all parameters, layer by layer, weights before biases; and the distance.
fn derivative(model: &Model, place: &Place) -> Option<(Vec<f64>, f64)> {
    let mut hidden = vec![place.at.clone()];
    let mut on: Vec<Vec<bool>> = Vec::new();
    for rows in &model.hidden {
        let z = rows.at(hidden.last().expect("the input"));
        on.push(z.iter().map(|&z| z > 0.0).collect());
        hidden.push(z.into_iter().map(|z| z.max(0.0)).collect());
    }
    let index = |class: usize| model.classes.iter().position(|&c| c == class);
    let (i, j) = (index(place.pair.0)?, index(place.pair.1)?);
    let output = &model.output;
    let mut back = along(output.weight.row(i), -1.0, output.weight.row(j));
    let last = hidden.last().expect("the input");
    let value = dot(&back, last) + output.bias[i] - output.bias[j];
    let mut blocks = Vec::new();
    let block = |signs: &[f64], h: &[f64]| -> Vec<f64> {
        signs.iter().flat_map(|s| h.iter().map(move |v| s * v)).chain(signs.iter().copied()).collect()
    };
    let signs: Vec<f64> =
        (0..output.len()).map(|k| f64::from(u8::from(k == i)) - f64::from(u8::from(k == j))).collect();
    blocks.push(block(&signs, last));
    for l in (0..model.hidden.len()).rev() {
        back.iter_mut().zip(&on[l]).filter(|(_, on)| !**on).for_each(|(b, _)| *b = 0.0);
        blocks.push(block(&back, &hidden[l]));
        back = row_times(&back, &model.hidden[l].weight);
    }
    let slope = norm(&back);
    if !(slope > 0.0 && slope.is_finite()) {
        return None;
    }
    let weight = 1.0 / (slope * (1.0 + norm(&place.at)));
    let row = blocks.into_iter().rev().flatten().map(|v| weight * v).collect();
    Some((row, weight * value))
}

/// The model with a step added to its parameters.
fn moved(model: &Model, step: &[f64]) -> Option<Model> {
    let mut at = 0;
    let mut take = |rows: &Rows| -> Option<Rows> {
        let (count, width) = (rows.len(), rows.weight.cols());
        let part = step.get(at..at + count * (width + 1))?;
        at += part.len();
        Some(Rows {
            weight: Matrix::from_fn(count, width, |i, j| rows.weight[(i, j)] + part[i * width + j]),
            bias: along(&rows.bias, 1.0, &part[count * width..]),
        })
    };
    let hidden = model.hidden.iter().map(&mut take).collect::<Option<Vec<Rows>>>()?;
    let output = take(&model.output)?;
    Some(Model { hidden, output, ..model.clone() })
}
