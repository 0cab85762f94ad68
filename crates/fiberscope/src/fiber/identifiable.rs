//! Is a generic three-layer bottleneck parameter determined by its function, up to permutation and scaling? Signs decide.
//!
//! It is *not* iff (1) some row of `[W_2 | b_2]` is all negative (a dead neuron), or (2) some row is all positive (a linear neuron), or (3) for some `k` every row is positive in column `k` of `W_2` and
//! negative elsewhere, bias included (a hidden hyperplane) [threelayer2026, Section 6].

use fiberscope_core::{Identifiability, Matrix, Neuron, Rational};

use super::bottleneck::Rest;
use super::layer::LayerFiber;
use super::{BottleneckFiber, Fiber};
use crate::rank::independent_rows;

/// What the signs of `[W_2 | b_2]` say. Rows and columns count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignVerdict {
    /// The parameter is identifiable.
    Identifiable,
    /// A row is all negative.
    Dead {
        /// The row.
        row: usize,
    },
    /// A row is all positive.
    Linear {
        /// The row.
        row: usize,
    },
    /// Every row is positive in one column and negative elsewhere.
    Hiding {
        /// The column.
        column: usize,
    },
}

/// Reads off the signs; `positive` gives the entries of each row of `[W_2 | b_2]`, the bias last.
pub fn by_signs<'a>(rows: impl Iterator<Item = &'a [bool]>) -> SignVerdict {
    let mut hidden: Option<Option<usize>> = None;
    for (row, signs) in rows.enumerate() {
        let count = signs.iter().filter(|positive| **positive).count();
        if count == 0 {
            return SignVerdict::Dead { row };
        }
        if count == signs.len() {
            return SignVerdict::Linear { row };
        }
        let only = if count == 1 {
            signs.iter().position(|positive| *positive).filter(|&k| k + 1 < signs.len())
        } else {
            None
        };
        hidden = match hidden {
            None => Some(only),
            Some(column) if column == only => Some(column),
            Some(_) => Some(None),
        };
    }
    match hidden.flatten() {
        Some(column) => SignVerdict::Hiding { column },
        None => SignVerdict::Identifiable,
    }
}

/// The most orientations that are gone through to see whether others than the given one exist.
const ORIENTATIONS: usize = 16;

impl Fiber {
    /// Whether the fiber is no more than permutation and scaling.
    pub fn identifiability(&self) -> Identifiability {
        let no = |reason: String| Identifiability::No { reason };
        let layer = match self {
            Fiber::OneHiddenLayer(layer) => layer,
            Fiber::Bottleneck(fiber) => match fiber.rest() {
                Rest::Hiding(hidden) => {
                    let neuron = Neuron { layer: 0, unit: hidden.unit };
                    return no(format!("the next layer hides {neuron}, so its hyperplane can be translated"));
                }
                Rest::Layerwise(layer) => layer,
            },
        };
        let neuron = |unit: usize| Neuron { layer: usize::from(matches!(self, Fiber::Bottleneck(_))), unit };
        if let Some(&unit) = layer.dead().first() {
            return no(format!("{} is dead, so its weights are free", neuron(unit)));
        }
        if let Some(&unit) = layer.linear().first() {
            return no(format!("{} acts linearly, so its bias can move into the next layer", neuron(unit)));
        }
        match other_orientation(layer) {
            Some(None) => Identifiability::Yes { reason: self.reason() },
            Some(Some(orientation)) => no(format!("other neurons have the same affine map together: the orientation {orientation} has points, too")),
            None => Identifiability::Unknown {
                reason: "no dead or linear neuron and no hidden hyperplane; whether another orientation of the neurons has points is too much work".into(),
            },
        }
    }

    fn reason(&self) -> String {
        match self {
            Fiber::OneHiddenLayer(_) => "every generic parameter with this function is a permutation and scaling of it: distinct hyperplanes on which the gradient jumps".into(),
            Fiber::Bottleneck(_) => "every generic parameter with this function is a permutation and scaling of it: no row of [W_2 | b_2] is all positive or all negative, and none is hidden".into(),
        }
    }

    /// The number of components that are not empty, if there are few enough to go through them.
    pub fn nonempty_components(&self) -> Option<u64> {
        match self {
            _ if matches!(self.identifiability(), Identifiability::Yes { .. }) => Some(1),
            Fiber::Bottleneck(fiber) if fiber.hidden().is_some() => 1u64.checked_shl(fiber.flips() as u32),
            _ if self.component_exponent() <= ORIENTATIONS => {
                Some(self.components().filter(|component| !component.is_empty()).count() as u64)
            }
            _ => None,
        }
    }
}

/// Without linear neurons: another orientation with `M_S = 0` (`Some(Some)`), the proof that there is none (`Some(None)`), or neither.
fn other_orientation(layer: &LayerFiber) -> Option<Option<super::Orientation>> {
    let hyperplanes = layer.hyperplanes();
    // The matrices a_i u_i^T as rows: if they are independent, no signed sum of them vanishes. A few of their entries are enough to see that.
    let (s, d, entries) = (hyperplanes.len(), layer.inputs(), layer.inputs() * layer.outputs());
    let wanted = entries.min(s + 16);
    let entry = |i: usize, k: usize| {
        let at = k * entries / wanted;
        &hyperplanes[i].weight[at / d] * &hyperplanes[i].normal[at % d]
    };
    if independent_rows(&Matrix::from_fn(s, wanted, entry)).len() == s {
        return Some(None);
    }
    if hyperplanes.len() > ORIENTATIONS {
        return None;
    }
    let other = layer.components().skip(1).find(|component| !component.is_empty());
    Some(other.map(|component| component.orientation))
}

impl BottleneckFiber {
    /// What the signs of `[W_2 | b_2]` say of this parameter.
    pub fn signs(&self) -> SignVerdict {
        let second = &self.network().layers()[1];
        let rows: Vec<Vec<bool>> = (0..second.width())
            .map(|j| {
                second.weight().row(j).iter().chain([&second.bias()[j]]).map(Rational::is_positive).collect()
            })
            .collect();
        by_signs(rows.iter().map(Vec::as_slice))
    }
}
