//! The generic fiber of a three-layer network with a bottleneck, `f = W_3 relu(W_2 relu(W_1 x + b_1) + b_2) + b_3`.
//!
//! Let `n_0 >= n_1 >= 2` and `W_1` have full row rank, so that the first layer maps onto the orthant. After leaving out dead second-layer neurons, either
//! every first-layer hyperplane is visible, or exactly one, `H_k`, is *hidden*: `W_2[j,k] > 0`, `W_2[j,i] < 0` for `i != k` and `b_2[j] < 0` for all `j`. The generic
//! parameters with the same function are, modulo permutation and scaling [threelayer2026, Sections 5 and 6]:
//!
//! - not hiding: the same first layer, and behind it the fiber of one hidden layer on the orthant ([`LayerFiber`]);
//! - hiding: the translations `b_1[k] += t`, `b_2[j] -= t W_2[j,k]` for `t >= t_min = max_j b_2[j] / W_2[j,k]`; with one live second-layer neuron, the
//!   translations of all `2^(n_1 - 1)` flips;
//! - dead second-layer neurons: times everything that keeps them dead, `n_1 + n_3` dimensions each.

use fiberscope_core::{Activation, Condition, ExactNetwork, Layer, Matrix, Neuron, Rational, Scalar};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::layer::{Ground, LayerFiber};
use crate::rank::rank_at_most;

/// The generic fiber of a three-layer network with a bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct BottleneckFiber {
    pub(super) network: ExactNetwork,
    rest: Rest,
    dead: Vec<usize>,
    conditions: Vec<Condition>,
}

/// What is free behind the rigid part.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there is one per fiber")]
pub enum Rest {
    /// The first layer is fixed; the rest is a map with one hidden layer on the orthant.
    Layerwise(LayerFiber),
    /// The second layer hides a first-layer hyperplane.
    Hiding(HiddenHyperplane),
}

/// A first-layer hyperplane that the second layer hides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenHyperplane {
    /// The hidden neuron of layer 1, from 0.
    pub unit: usize,
    /// `t_min`: the hyperplane can be translated by every `t >= t_min`.
    pub least: Rational,
    /// Whether one second-layer neuron is alive, so that the other neurons of layer 1 can be flipped.
    pub flips: bool,
}

const RANK: &str = "n_0 >= n_1 and W_1 has full row rank";
const TWO: &str = "layer 1 has at least two neurons";
const ALIVE: &str = "some neuron of layer 2 is not dead";
const STRICT: &str = "a layer that hides a hyperplane has no zero weight or bias in its live neurons";
const VISIBLE: &str = "every hyperplane of layer 1 is visible or hidden";
const RELU: &str = "the hidden layers have ReLU activation";
const LIVE_CONNECTED: &str = "every neuron of layer 2 that is not dead has outgoing weights";

impl BottleneckFiber {
    /// The fiber of a network with two hidden layers, or the conditions that were checked, of which at least one fails.
    pub fn new(network: &ExactNetwork) -> Result<Self, Vec<Condition>> {
        let mut checked = Checked(Vec::new());
        let [first, second, third] = network.layers() else {
            let found = format!("{} hidden layers", network.hidden_depth());
            return Err(vec![failing("the network has one or two hidden layers", found)]);
        };
        let identity = [first, second].iter().position(|layer| layer.activation() != Activation::Relu);
        checked.add(RELU, identity.map(|l| format!("layer {} has identity activation", l + 1)));
        checked.add(TWO, (first.width() < 2).then(|| format!("it has {}", first.width())));
        checked.add(RANK, rank_defect(first));
        let dead: Vec<usize> = (0..second.width())
            .filter(|&j| Ground::Orthant.role(second.weight().row(j), &second.bias()[j]) < 0)
            .collect();
        let live: Vec<usize> = (0..second.width()).filter(|j| !dead.contains(j)).collect();
        checked.add(ALIVE, live.is_empty().then(|| format!("all {} neurons are dead", dead.len())));
        let mut conditions = checked.finish()?;
        let rest = match hidden_unit(second, &live) {
            Some(unit) => {
                let mut checked = Checked(conditions);
                checked.add(STRICT, vanishing_entry(second, &live));
                let unconnected = live.iter().find(|&&j| third.weight().column(j).all(Rational::is_zero));
                checked.add(LIVE_CONNECTED, unconnected.map(|&unit| Neuron { layer: 1, unit }.to_string()));
                conditions = checked.finish()?;
                let distinct = LayerFiber::new(second, third, Ground::Orthant, 1);
                conditions.extend(
                    distinct.map_err(|more| [&conditions[..], &more].concat())?.conditions().to_vec(),
                );
                let least = live.iter().map(|&j| &second.bias()[j] / &second.weight()[(j, unit)]).max();
                let least = least.expect("some neuron is alive");
                Rest::Hiding(HiddenHyperplane { unit, least, flips: live.len() == 1 })
            }
            None => {
                let layer = LayerFiber::new(second, third, Ground::Orthant, 1);
                let layer = layer.map_err(|more| [&conditions[..], &more].concat())?;
                conditions.extend(layer.conditions().to_vec());
                let mut checked = Checked(conditions);
                checked
                    .add(VISIBLE, invisible(second, third).map(|unit| Neuron { layer: 0, unit }.to_string()));
                conditions = checked.finish()?;
                Rest::Layerwise(layer)
            }
        };
        Ok(BottleneckFiber { network: network.clone(), rest, dead, conditions })
    }

    /// What is free.
    pub fn rest(&self) -> &Rest {
        &self.rest
    }

    /// The dead neurons of layer 2, from 0.
    pub fn dead(&self) -> &[usize] {
        &self.dead
    }

    /// The conditions that were checked, all of which hold.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The given parameter.
    pub fn network(&self) -> &ExactNetwork {
        &self.network
    }

    /// The dimension at the given parameter, modulo permutation and scaling.
    pub fn dimension(&self) -> usize {
        let widths = self.network.widths();
        match &self.rest {
            Rest::Layerwise(fiber) => fiber.dimension(),
            Rest::Hiding(_) => 1 + self.dead.len() * (widths[1] + widths[3]),
        }
    }
}

struct Checked(Vec<Condition>);

impl Checked {
    fn add(&mut self, statement: &str, failure: Option<String>) {
        self.0.push(Condition { statement: statement.into(), holds: failure.is_none(), detail: failure });
    }

    fn finish(self) -> Result<Vec<Condition>, Vec<Condition>> {
        if self.0.iter().all(|condition| condition.holds) { Ok(self.0) } else { Err(self.0) }
    }
}

pub(super) fn failing(statement: &str, detail: String) -> Condition {
    Condition { statement: statement.into(), holds: false, detail: Some(detail) }
}

fn rank_defect(first: &Layer<Rational>) -> Option<String> {
    let (n, inputs) = (first.width(), first.input_width());
    if inputs < n {
        return Some(format!("layer 1 is wider ({n}) than the input ({inputs})"));
    }
    let rank = rank_at_most(first.weight(), n);
    (rank < n).then(|| format!("W_1 has rank {rank}, expected {n}"))
}

/// The neuron that all live neurons hide, where zeros count as negative.
fn hidden_unit(second: &Layer<Rational>, live: &[usize]) -> Option<usize> {
    let mut hidden = None;
    for &j in live {
        let mut positive = (0..second.input_width()).filter(|&i| second.weight()[(j, i)].is_positive());
        let unit = positive.next()?;
        let same = hidden.is_none_or(|other| other == unit);
        if !same || positive.next().is_some() || second.bias()[j].is_positive() {
            return None;
        }
        hidden = Some(unit);
    }
    hidden
}

fn vanishing_entry(second: &Layer<Rational>, live: &[usize]) -> Option<String> {
    live.iter().find_map(|&unit| {
        let neuron = Neuron { layer: 1, unit };
        match second.weight().row(unit).iter().position(Rational::is_zero) {
            Some(input) => Some(format!("{neuron}: its weight on input {} is 0", input + 1)),
            None => second.bias()[unit].is_zero().then(|| format!("{neuron}: its bias is 0")),
        }
    })
}

/// A neuron of layer 1 for which no point of its hyperplane was found where the gradient jumps: activations `a` with `a_k = 0`, at which the live neurons'
/// `W_3 D W_2[:, k]` is not zero.
fn invisible(second: &Layer<Rational>, third: &Layer<Rational>) -> Option<usize> {
    const TRIES: usize = 400;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (n1, n2) = (second.input_width(), second.width());
    let mut open: Vec<usize> = (0..n1).collect();
    for attempt in 0..TRIES {
        // Sparse and dense points of very different sizes reach thin cells, too.
        let sparse = attempt % 2 == 1;
        let a: Vec<Rational> = (0..n1)
            .map(|_| {
                let zero = sparse && rng.random_range(0..n1) > 1;
                let (mantissa, exponent) = (rng.random_range(1..256), rng.random_range(-16..8));
                if zero { Rational::ZERO } else { Rational::dyadic(mantissa, exponent) }
            })
            .collect();
        let z = Scalar::product(second.weight(), &Matrix::from_entries(n1, 1, a.clone()).expect("a column"));
        let z = z.expect("as many rows as inputs");
        open.retain(|&k| {
            let value = |j: usize| &(&z[(j, 0)] + &second.bias()[j]) - &(&second.weight()[(j, k)] * &a[k]);
            let signs: Vec<i8> = (0..n2).map(|j| value(j).signum()).collect();
            let jump = |row: &[Rational]| -> Rational {
                (0..n2).filter(|&j| signs[j] > 0).map(|j| &row[j] * &second.weight()[(j, k)]).sum()
            };
            signs.contains(&0) || !third.weight().iter_rows().any(|row| !jump(row).is_zero())
        });
        if open.is_empty() {
            return None;
        }
    }
    open.first().copied()
}
