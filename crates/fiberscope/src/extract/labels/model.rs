//! The network that labels tell: hidden layers, and outputs of the classes that were seen.

use fiberscope_algebra::dense::{along, dot, norm, peak};
use fiberscope_core::{Activation, Layer, Matrix, Network};

use super::super::algebra::Svd;
use super::super::prefix::{Prefix, Rows};
use super::ask::Asker;
use super::hunt::Plane;
use super::output::Last;

/// Parts of the linear rest below this share of the outputs are rounding.
const NOTHING: f64 = 1e-7;

/// A network in coordinates relative to the centre of the domain.
#[derive(Clone)]
pub(super) struct Model {
    /// The hidden layers.
    pub hidden: Vec<Rows>,
    /// The classes that have an output, in order.
    pub classes: Vec<usize>,
    /// Their output weights and biases.
    pub output: Rows,
    /// Neurons of the last hidden layer that stand for a linear map.
    pub linear: usize,
}

impl Model {
    /// The known layers with a last one.
    pub fn new(
        known: &[Rows],
        planes: &[Plane],
        last: &Last,
        classes: Vec<usize>,
        asker: &Asker<'_>,
    ) -> Option<Model> {
        let count = last.weight.len() as f64;
        let mean = |rows: &[Vec<f64>]| {
            rows.iter().fold(vec![0.0; rows[0].len()], |sum, row| along(&sum, 1.0 / count, row))
        };
        let centered = |rows: &[Vec<f64>]| -> Vec<Vec<f64>> {
            let mean = mean(rows);
            rows.iter().map(|row| along(row, -1.0, &mean)).collect()
        };
        let (mut weight, rest) = (centered(&last.weight), centered(&last.rest));
        let shift = last.bias.iter().sum::<f64>() / count;
        let mut bias: Vec<f64> = last.bias.iter().map(|b| b - shift).collect();
        let mut rows: Vec<(Vec<f64>, f64)> = planes
            .iter()
            .zip(&last.sides)
            .map(|(plane, side)| (plane.w.iter().map(|w| side * w).collect(), side * plane.b))
            .collect();
        let mut linear = 0;
        if planes.is_empty() {
            // The coordinates themselves are the last hidden layer.
            weight = rest;
        } else {
            let size = weight.iter().chain(&rest).map(|row| norm(row)).fold(0.0, f64::max);
            let svd = Svd::of(&Matrix::from_rows(&rest)?)?;
            for (s, q) in svd.s.iter().zip(&svd.v).filter(|(s, _)| **s > NOTHING * size) {
                let _ = s;
                let offset = reach(known, q, asker.radius);
                for (i, row) in rest.iter().enumerate() {
                    let share = dot(row, q);
                    weight[i].push(share);
                    bias[i] -= share * offset;
                }
                rows.push((q.clone(), offset));
                linear += 1;
            }
        }
        let mut hidden = known.to_vec();
        if !planes.is_empty() {
            hidden.push(Rows::new(&rows)?);
        }
        let size = weight.iter().map(|row| peak(row)).fold(0.0, f64::max);
        if !(size > 0.0 && size.is_finite()) {
            return None;
        }
        let output: Vec<(Vec<f64>, f64)> = weight
            .iter()
            .zip(&bias)
            .map(|(row, b)| (row.iter().map(|w| w / size).collect(), b / size))
            .collect();
        Some(Model { hidden, classes, output: Rows::new(&output)?, linear })
    }

    /// The outputs of the classes.
    pub fn outputs(&self, x: &[f64]) -> Vec<f64> {
        self.output.at(&Prefix::of(x.len(), &self.hidden).hidden(x))
    }

    /// The class.
    pub fn class(&self, x: &[f64]) -> usize {
        let outputs = self.outputs(x);
        let best = (1..outputs.len()).fold(0, |best, k| if outputs[k] > outputs[best] { k } else { best });
        self.classes[best]
    }

    /// The network for inputs that are not relative to the centre, with so many outputs: classes that were not
    /// seen never win on the domain. A single output is positive in class 1.
    pub fn network(&self, outputs: usize, center: f64, radius: f64) -> Option<Network> {
        let mut layers = Vec::new();
        for rows in &self.hidden {
            layers.push(Layer::new(rows.weight.clone(), rows.bias.clone(), Activation::Relu));
        }
        let width = self.output.weight.cols();
        let row = |class: usize| self.classes.iter().position(|&c| c == class);
        let (weight, bias) = if outputs == 1 {
            let (zero, one) = (row(0)?, row(1)?);
            let weight = along(self.output.weight.row(one), -1.0, self.output.weight.row(zero));
            (Matrix::from_rows(&[weight])?, vec![self.output.bias[one] - self.output.bias[zero]])
        } else {
            let low = -1.0
                - self
                    .output
                    .iter()
                    .map(|(w, b)| reach(&self.hidden, w, radius) + b.abs())
                    .fold(0.0, f64::max);
            let weight =
                Matrix::from_fn(outputs, width, |i, j| row(i).map_or(0.0, |at| self.output.weight[(at, j)]));
            (weight, (0..outputs).map(|i| row(i).map_or(low, |at| self.output.bias[at])).collect())
        };
        layers.push(Layer::new(weight, bias, Activation::Identity));
        // From inputs relative to the centre to inputs.
        let first = &layers[0];
        let bias =
            first.weight().iter_rows().zip(first.bias()).map(|(w, b)| b - center * w.iter().sum::<f64>());
        layers[0] = Layer::new(first.weight().clone(), bias.collect(), first.activation());
        Network::new(layers).ok()
    }
}

/// A bound of `|q . h|` behind these layers on the domain.
fn reach(layers: &[Rows], q: &[f64], radius: f64) -> f64 {
    let size = |w: &[f64], bounds: &[f64]| w.iter().zip(bounds).map(|(w, b)| w.abs() * b).sum::<f64>();
    let mut bounds = vec![radius; layers.first().map_or(q.len(), |rows| rows.weight.cols())];
    for rows in layers {
        bounds = rows.iter().map(|(w, b)| size(w, &bounds) + b.abs()).collect();
    }
    1.0 + size(q, &bounds)
}
