//! Steps of a walk, and the moves that make them.

use fiberscope_core::{ExactNetwork, LinearChange, Move, PlacedNeuron, Rational};
use serde::Deserialize;

/// A step. Layers and neurons count from 0.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Step {
    /// The hyperplane that the next layer hides moves.
    Translate { layer: usize, unit: usize, amount: f64 },
    /// Neurons are flipped across the hyperplane that the next layer hides.
    Flip { layer: usize, unit: usize, flips: Vec<usize> },
    /// `W_into += amount W_from`, `V_from -= amount V_into` for linear neurons.
    Mix { layer: usize, into: usize, from: usize, amount: f64 },
    /// The bias of a linear neuron grows, and the next bias makes up for it.
    Shift { layer: usize, unit: usize, amount: f64 },
    /// The bias of a dead neuron falls.
    Lower { layer: usize, unit: usize, amount: f64 },
    /// Of two neurons on one ray, `other` takes over `amount` times its outgoing weights from `keep`.
    Share { layer: usize, keep: usize, other: usize, amount: f64 },
    /// A neuron times `2^power`, its outgoing weights divided by it.
    Scale { layer: usize, unit: usize, power: i32 },
    /// The order of a layer is rotated.
    Rotate { layer: usize, by: usize },
}

/// Larger powers of two are beyond the doubles in any case.
const POWERS: i32 = 1000;

impl Step {
    pub fn name(&self) -> &'static str {
        match self {
            Step::Translate { .. } => "translation",
            Step::Flip { .. } => "flip",
            Step::Mix { .. } => "mixing of linear neurons",
            Step::Shift { .. } => "shift of a linear neuron",
            Step::Lower { .. } => "bias of a dead neuron",
            Step::Share { .. } => "sharing of outgoing weights",
            Step::Scale { .. } => "scaling",
            Step::Rotate { .. } => "permutation",
        }
    }

    /// The moves of the step from a network on.
    pub fn moves(&self, at: &ExactNetwork) -> Result<Vec<Move>, String> {
        Ok(match *self {
            Step::Translate { layer, unit, amount } => {
                vec![Move::Translate { layer, unit, amount: exact(amount)? }]
            }
            Step::Flip { ref flips, .. } if flips.is_empty() => Vec::new(),
            Step::Flip { layer, unit, ref flips } => vec![Move::Flip { layer, unit, flips: flips.clone() }],
            Step::Mix { layer, into, from, amount } => vec![mix(at, layer, (into, from), &exact(amount)?)?],
            Step::Shift { layer, unit, amount } => {
                let mut neuron = neuron(at, layer, unit)?;
                neuron.bias += &exact(amount)?;
                vec![Move::Refactor {
                    layer,
                    linear: LinearChange { remove: vec![unit], insert: vec![neuron] },
                }]
            }
            Step::Lower { layer, unit, amount } => {
                let mut neuron = neuron(at, layer, unit)?;
                neuron.bias = &neuron.bias - &exact(amount)?;
                vec![Move::Drop { layer, units: vec![unit] }, Move::Insert { layer, neurons: vec![neuron] }]
            }
            Step::Share { layer, keep, other, amount } => share(at, layer, (keep, other), &exact(amount)?)?,
            Step::Scale { layer, unit, power } => {
                let width = width(at, layer)?;
                if power.abs() > POWERS {
                    return Err(format!("\"power\": expected at most {POWERS}, found {power}"));
                }
                let factor =
                    |i: usize| if i == unit { Rational::dyadic(1, power.into()) } else { Rational::ONE };
                vec![Move::Scale { layer, factors: (0..width).map(factor).collect() }]
            }
            Step::Rotate { layer, by } => {
                let width = width(at, layer)?;
                vec![Move::Permute { layer, order: (0..width).map(|i| (i + by % width) % width).collect() }]
            }
        })
    }
}

fn exact(amount: f64) -> Result<Rational, String> {
    Rational::from_f64(amount).ok_or_else(|| "\"amount\": expected a finite number".into())
}

fn width(at: &ExactNetwork, layer: usize) -> Result<usize, String> {
    let hidden = at.hidden_layers().get(layer).map(|layer| layer.width());
    hidden.ok_or_else(|| format!("there is no hidden layer {}", layer.saturating_add(1)))
}

/// A neuron of the network, to be put back at its place.
fn neuron(at: &ExactNetwork, layer: usize, unit: usize) -> Result<PlacedNeuron, String> {
    if unit >= width(at, layer)? {
        return Err(format!("there is no neuron {} in layer {}", unit.saturating_add(1), layer + 1));
    }
    let rows = &at.layers()[layer];
    Ok(PlacedNeuron {
        unit,
        weight: rows.weight().row(unit).to_vec(),
        bias: rows.bias()[unit].clone(),
        out: at.layers()[layer + 1].weight().column(unit).cloned().collect(),
    })
}

fn mix(at: &ExactNetwork, layer: usize, (into, from): (usize, usize), c: &Rational) -> Result<Move, String> {
    let (mut grown, mut source) = (neuron(at, layer, into)?, neuron(at, layer, from)?);
    for (w, other) in grown.weight.iter_mut().zip(&source.weight) {
        *w += &(c * other);
    }
    grown.bias += &(c * &source.bias);
    for (v, other) in source.out.iter_mut().zip(&grown.out) {
        *v = &*v - &(c * other);
    }
    let mut insert = vec![grown, source];
    insert.sort_by_key(|neuron| neuron.unit);
    Ok(Move::Refactor {
        layer,
        linear: LinearChange { remove: vec![into.min(from), into.max(from)], insert },
    })
}

/// The two neurons are merged and split again in other shares.
fn share(
    at: &ExactNetwork,
    layer: usize,
    (keep, other): (usize, usize),
    amount: &Rational,
) -> Result<Vec<Move>, String> {
    neuron(at, layer, keep)?;
    let merge = Move::Merge { layer, pairs: vec![(keep, other)] };
    let back = merge.inverse(at).map_err(|error| error.to_string())?;
    let more = &Rational::ONE + amount;
    let split = back.moves().iter().cloned().map(|each| match each {
        Move::Split { layer, mut copies } => {
            copies.iter_mut().flat_map(|copy| &mut copy.out).for_each(|v| *v = &*v * &more);
            Move::Split { layer, copies }
        }
        each => each,
    });
    Ok(std::iter::once(merge.clone()).chain(split).collect())
}
