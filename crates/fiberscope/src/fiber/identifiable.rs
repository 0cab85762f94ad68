//! Is a generic three-layer bottleneck parameter determined by its function, up to permutation and scaling?
//! Signs decide.
//!
//! It is *not* iff (1) some row of `[W_2 | b_2]` is all negative (a dead neuron), or (2) some row is all
//! positive (a linear neuron), or (3) for some `k` every row is positive in column `k` of `W_2` and negative
//! elsewhere, bias included (a hidden hyperplane) [threelayer2026, Section 6].

use fiberscope_algebra::modular::independent_rows;
use fiberscope_core::{Matrix, Neuron, Rational, Sight};

use super::facts::{FiberFacts, Identifiability};

use super::layer::LayerFiber;
use super::{BottleneckFiber, Fiber};

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
///
/// ```
/// use fiberscope::fiber::{SignVerdict, by_signs};
///
/// let rows = [[true, false, false], [false, true, false]];
/// assert_eq!(by_signs(rows.iter().map(|row| &row[..])), SignVerdict::Identifiable);
/// assert_eq!(by_signs([&[false, false, false][..]].into_iter()), SignVerdict::Dead { row: 0 });
/// ```
pub fn by_signs<'a>(rows: impl Iterator<Item = &'a [bool]>) -> SignVerdict {
    let mut hidden: Option<Option<usize>> = None;
    for (row, signs) in rows.enumerate() {
        let sign = |positive: &bool| if *positive { 1 } else { -1 };
        let Some((bias, weights)) = signs.split_last() else { continue };
        let only = match Sight::of_signs(weights.iter().map(sign), sign(bias)) {
            Sight::Dead => return SignVerdict::Dead { row },
            Sight::Sees if signs.iter().all(|positive| *positive) => return SignVerdict::Linear { row },
            Sight::Hides(unit) => Some(unit),
            Sight::Sees => None,
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

/// What the list of pieces has. Dimensions are modulo permutation and scaling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FiberCount {
    /// The pieces.
    pub pieces: u64,
    /// Those that have points.
    pub nonempty: u64,
    /// Those that have points and are generic; `None` if that is too much work.
    pub generic: Option<u64>,
    /// The largest dimension of a piece; `None` if all are empty.
    pub dimension: Option<usize>,
    /// The largest dimension of a generic piece; `None` if all of these are empty, or it is not known which
    /// they are.
    pub generic_dimension: Option<usize>,
}

impl FiberCount {
    /// No pieces.
    pub const EMPTY: Self =
        FiberCount { pieces: 0, nonempty: 0, generic: Some(0), dimension: None, generic_dimension: None };

    /// Counts one more piece.
    pub fn add(&mut self, component: &super::FiberComponent) {
        let generic = component.generic.map(|generic| generic && !component.is_empty());
        self.pieces += 1;
        self.nonempty += u64::from(!component.is_empty());
        self.generic = self.generic.zip(generic).map(|(count, generic)| count + u64::from(generic));
        self.dimension = self.dimension.max(component.dimension);
        if generic == Some(true) {
            self.generic_dimension = self.generic_dimension.max(component.dimension);
        }
    }
}

impl Fiber {
    /// Counts the pieces; `None` if there are too many to go through.
    pub fn count(&self) -> Option<FiberCount> {
        match self.layer() {
            Some(layer) => {
                layer.generic_pieces()?;
                let mut count = FiberCount::EMPTY;
                layer.components().for_each(|component| count.add(&component));
                Some(count)
            }
            // The pieces of a hidden hyperplane are all alike.
            None => {
                let mut count = FiberCount::EMPTY;
                count.add(&self.components().next()?);
                let pieces = 1u64.checked_shl(self.component_exponent() as u32)?;
                Some(FiberCount {
                    pieces,
                    nonempty: pieces,
                    generic: count.generic.map(|generic| generic * pieces),
                    ..count
                })
            }
        }
    }

    /// What the list of pieces says.
    pub fn facts(&self) -> FiberFacts {
        let own_dimension = self.own_dimension();
        if let Some(count) = self.count() {
            return FiberFacts {
                dimension: count.dimension,
                generic_dimension: count.generic_dimension,
                own_dimension,
                components: Some(count.nonempty),
            };
        }
        let only = matches!(self.identifiability(), Identifiability::Yes { .. });
        // No piece has a larger dimension than those with M_S = 0.
        let largest = self.layer().map(|layer| layer.counts().dimension(0));
        let dimension = own_dimension.filter(|_| only || own_dimension == largest);
        FiberFacts { dimension, generic_dimension: None, own_dimension, components: only.then_some(1) }
    }

    /// The dimension of the piece of the given parameter, modulo permutation and scaling; `None` if it lies
    /// in none.
    pub fn own_dimension(&self) -> Option<usize> {
        self.own().ok().and_then(|own| self.component(&own)).and_then(|component| component.dimension)
    }

    /// Whether the fiber is no more than permutation and scaling.
    pub fn identifiability(&self) -> Identifiability {
        let no = |reason: String| Identifiability::No { reason };
        let layer = match (self, self.layer()) {
            (_, Some(layer)) => layer,
            (Fiber::Bottleneck(fiber), None) => {
                let unit = fiber.hidden().map_or(0, |hidden| hidden.unit);
                let neuron = Neuron { layer: 0, unit };
                return no(match self.own() {
                    Ok(_) => format!("the next layer hides {neuron}, so its hyperplane can be translated"),
                    Err(_) => format!(
                        "networks with the same function hide {neuron}, so that its hyperplane can be translated in them"
                    ),
                });
            }
            _ => return Identifiability::Unknown { reason: String::new() },
        };
        let neuron = |unit: usize| Neuron { layer: usize::from(matches!(self, Fiber::Bottleneck(_))), unit };
        if let Some(&unit) = layer.dead().first() {
            return no(format!("{} is dead, so its weights are free", neuron(unit)));
        }
        if let Some(&unit) = layer.linear().first() {
            return no(format!("{} acts linearly, so its bias can move into the next layer", neuron(unit)));
        }
        if let Err(violation) = layer.own() {
            return no(format!("fewer neurons have the same function on visible hyperplanes: {violation}"));
        }
        match other_orientation(layer) {
            Some(None) if self.own().is_ok_and(|own| layer.is_generic(&own) == Some(false)) => {
                Identifiability::Unknown {
                    reason: "the parameter is not generic; in the pieces of its fiber there are only its permutations and scalings".into(),
                }
            }
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
}

/// Without linear neurons: another orientation with `M_S = 0` (`Some(Some)`), the proof that there is none
/// (`Some(None)`), or neither.
fn other_orientation(layer: &LayerFiber) -> Option<Option<super::Orientation>> {
    let hyperplanes = layer.hyperplanes();
    // The matrices a_i u_i^T as rows: if they are independent, no signed sum of them vanishes. A few of their
    // entries are enough to see that.
    let (s, d, entries) = (hyperplanes.len(), layer.inputs(), layer.inputs() * layer.outputs());
    let wanted = entries.min(s + 16);
    let entry = |i: usize, k: usize| {
        let at = k * entries / wanted;
        &hyperplanes[i].weight[at / d] * &hyperplanes[i].normal[at % d]
    };
    if independent_rows(&Matrix::from_fn(s, wanted, entry)).len() == s {
        return Some(None);
    }
    let own = layer.own().ok()?.orientation;
    if turns_add_up(layer, &own) {
        return Some(None);
    }
    layer.generic_pieces()?;
    let other = |component: &super::FiberComponent| !component.is_empty() && component.orientation != own;
    Some(layer.components().find(other).map(|component| component.orientation))
}

/// Whether turning neurons round changes some entry of `M_S` always in the same direction: turning neuron `i`
/// adds `a_i u_i^T` if it is active at the base point and subtracts it if not, and if one entry of all these
/// matrices has one sign, no turn brings back the `M_S = 0` of the given orientation.
fn turns_add_up(layer: &LayerFiber, own: &super::Orientation) -> bool {
    let hyperplanes = layer.hyperplanes();
    let sign = |i: usize, r: usize, c: usize| {
        let sign = hyperplanes[i].weight[r].signum() * hyperplanes[i].normal[c].signum();
        if own.active()[i] { sign } else { -sign }
    };
    let entries = (0..layer.outputs()).flat_map(|r| (0..layer.inputs()).map(move |c| (r, c)));
    entries.into_iter().any(|(r, c)| {
        let mut signs = (0..hyperplanes.len()).map(|i| sign(i, r, c));
        let first = signs.next().unwrap_or(0);
        first != 0 && signs.all(|sign| sign == first)
    })
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
