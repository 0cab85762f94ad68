//! Networks with a proved property: one that hides a hyperplane, and one whose fiber is not local.
//!
//! *Hiding*: every row of `[W_2 | b_2]` is positive in one column `k` of `W_2` and negative elsewhere, so
//! that the hyperplane of neuron `k` can be translated by `t >= t_min` [threelayer2026, Section 5].
//!
//! *Not local* [threelayer2026, Section 7]: widths `(n_0, ..., n_L)` with `L >= 4`, rows of `[W_2 | b_2]`
//! with signs `(-, ..., -, +)`, so that the second hidden layer maps into the box `prod_j [0, b_2[j]]`; rows
//! of `W_3` with a negative entry and biases `b_3` so large that the third hidden layer is positive on that
//! box; further hidden layers have a negative entry and a positive bias in every row. Every sub-network of
//! three consecutive layers is identifiable by its signs, but in the whole network layer 3 acts linearly:
//! `W_3 -> G W_3, b_3 -> G b_3, W_4 -> W_4 G^-1` keeps the function. The theorem decides about a sub-network
//! of layers `l..l+2` if `n_{l-1} >= n_l >= 2`, so these are the widths for which this works.

use super::facts::Identifiability;
use fiberscope_check::{Outcome, check};
use fiberscope_core::{
    Activation, Certificate, Domain, Evidence, ExactNetwork, Layer, LinearChange, Matrix, Move, MoveChain,
    Network, PlacedNeuron, Rational,
};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use super::{Fiber, Ground, describe};

/// A network, another parameter with the same function, and the proof.
#[derive(Clone, Debug)]
pub struct Construction {
    /// The network.
    pub network: Network,
    /// Another parameter with the same function, not a permutation and scaling of it.
    pub twin: Network,
    /// The certificate that they compute the same function, already checked.
    pub certificate: Certificate,
    /// What is proved, as sentences.
    pub claims: Vec<String>,
}

/// Why there is no such network.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ConstructionError {
    #[error(
        "expected at least two hidden layers, n_0,n_1,n_2,...,n_L with L >= 3 and widths of at least 1, found {0:?}"
    )]
    HidingWidths(Vec<usize>),
    #[error(
        "widths {widths:?}: {condition}; expected n_0 >= n_1 >= ... >= n_(L-2) >= 2 and n_(L-1), n_L >= 1 with L >= 4"
    )]
    NonlocalWidths { widths: Vec<usize>, condition: LocalCondition },
    #[error("no generic network was found for the widths {0:?} and this seed")]
    NotFound(Vec<usize>),
}

/// What the construction of a fiber that is not local asks of widths and these do not have.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LocalCondition {
    #[error("two overlapping sub-networks of three layers need at least four layers, which are five widths")]
    Few,
    #[error("a layer is empty")]
    Empty,
    #[error(
        "the sub-network of layers {0} to {last} is no bottleneck: its first layer is wider than its input", last = .0 + 2
    )]
    Wide(usize),
    #[error(
        "the sub-network of layers {0} to {last} has a first layer of one neuron, so that its function is one of a single linear form, about which signs do not decide",
        last = .0 + 2
    )]
    Single(usize),
}

/// How many random networks are tried; almost all are generic.
const ATTEMPTS: u64 = 64;

/// A network whose second layer hides a hyperplane of the first one.
///
/// ```
/// let built = fiberscope::fiber::construct_hiding(&[3, 3, 2, 1], 0).unwrap();
/// assert_eq!(built.network.widths(), [3, 3, 2, 1]);
/// ```
pub fn construct_hiding(widths: &[usize], seed: u64) -> Result<Construction, ConstructionError> {
    if widths.len() < 4 || widths.contains(&0) {
        return Err(ConstructionError::HidingWidths(widths.to_vec()));
    }
    (0..ATTEMPTS)
        .find_map(|attempt| hiding(widths, &mut rng(seed, attempt)))
        .ok_or_else(|| ConstructionError::NotFound(widths.to_vec()))
}

fn hiding(widths: &[usize], rng: &mut ChaCha8Rng) -> Option<Construction> {
    let unit = rng.random_range(0..widths[1]);
    let network = random(widths, rng, |layer, _, j, x, power| match (layer, j) {
        // Powers of two make t_min a dyadic number.
        (1, j) if j == unit => power,
        (1, _) => -x.abs(),
        _ => x,
    });
    let second = &network.layers()[1];
    let least = (0..widths[2]).map(|j| &second.bias()[j] / &second.weight()[(j, unit)]).max()?;
    let covered = widths.len() == 4 && widths[0] >= widths[1] && widths[1] >= 2;
    let mut claims = vec![format!(
        "layer 2 hides the hyperplane of neuron {} of layer 1: it can be translated by every t >= t_min = {least}",
        unit + 1
    )];
    if covered {
        let fiber = describe(&network, Ground::Space).ok()?;
        let components = fiber.component_exponent();
        claims.push(match components {
            0 => "its generic fiber is a half-line of translations, modulo permutation and scaling".into(),
            _ => format!(
                "its generic fiber consists of 2^{components} half-lines, modulo permutation and scaling"
            ),
        });
    }
    let moves = vec![Move::Translate { layer: 0, unit, amount: least }];
    certified(&network, moves, claims)
}

/// A network that is not identifiable although all its sub-networks of three consecutive layers are.
///
/// ```
/// let built = fiberscope::fiber::construct_nonlocal(&[3, 3, 2, 2, 1], 0).unwrap();
/// assert_ne!(built.network, built.twin);
/// let error = fiberscope::fiber::construct_nonlocal(&[3, 3, 1, 2, 1], 0).unwrap_err();
/// assert!(error.to_string().contains("layers 2 to 4 has a first layer of one neuron"));
/// ```
pub fn construct_nonlocal(widths: &[usize], seed: u64) -> Result<Construction, ConstructionError> {
    if let Some(condition) = local_condition(widths) {
        return Err(ConstructionError::NonlocalWidths { widths: widths.to_vec(), condition });
    }
    (0..ATTEMPTS)
        .find_map(|attempt| nonlocal(widths, &mut rng(seed, attempt)))
        .ok_or_else(|| ConstructionError::NotFound(widths.to_vec()))
}

fn local_condition(widths: &[usize]) -> Option<LocalCondition> {
    if widths.len() < 5 {
        return Some(LocalCondition::Few);
    }
    if widths.contains(&0) {
        return Some(LocalCondition::Empty);
    }
    (1..widths.len() - 2).find_map(|l| match (widths[l - 1], widths[l]) {
        (before, own) if own > before => Some(LocalCondition::Wide(l)),
        (_, 1) => Some(LocalCondition::Single(l)),
        _ => None,
    })
}

fn nonlocal(widths: &[usize], rng: &mut ChaCha8Rng) -> Option<Construction> {
    let (n2, n3, depth) = (widths[2], widths[3], widths.len() - 1);
    let network = random(widths, rng, |layer, i, j, x, _| match (layer, j) {
        (0, _) => x,
        // With the negative first column of layer L-1: turning its neurons round cannot cancel.
        _ if layer + 1 == depth && i == 0 => x.abs(),
        (_, j) if layer + 1 < depth && j == widths[layer] => x.abs(),
        (1, _) => -x.abs(),
        (_, 0) if layer + 1 < depth => -x.abs(),
        _ => x,
    });
    let mut layers = network.into_layers();
    let (rows, _, activation) = layers[2].clone().into_parts();
    let ends = layers[1].bias().to_vec();
    let bias = (0..n3).map(|i| {
        let lowest = (0..n2).map(|j| &rows[(i, j)] * &ends[j]).filter(Rational::is_negative);
        // Short enough for a double, and for one half of it added to another.
        (&Rational::ONE - &lowest.sum::<Rational>()).round_up(30)
    });
    layers[2] = Layer::new(rows.clone(), bias.collect(), activation);
    let network = Network::new(layers).ok()?;
    let part = |from: usize| -> Option<String> {
        let mut layers = network.layers()[from..from + 3].to_vec();
        let (weight, bias, _) = layers.pop()?.into_parts();
        layers.push(Layer::new(weight, bias, Activation::Identity));
        let fiber = describe(&Network::new(layers).ok()?, Ground::Space).ok()?;
        let Fiber::Bottleneck(inner) = &fiber else { return None };
        let signs = inner.signs();
        let identifiable = matches!(fiber.identifiability(), Identifiability::Yes { .. });
        (identifiable && signs == super::SignVerdict::Identifiable).then(|| {
            format!(
                "the sub-network of layers {} to {} is identifiable, by the signs of its second layer",
                from + 1,
                from + 3
            )
        })
    };
    let mut claims = (0..depth - 2).map(part).collect::<Option<Vec<String>>>()?;
    claims.push(
        "the whole network is not: layer 3 acts linearly, and the twin has other weights or biases there"
            .into(),
    );
    let moves = vec![Move::Refactor { layer: 2, linear: mixed(&network) }];
    certified(&network, moves, claims)
}

/// The linear neurons of layer 3 with half of the second one added to the first; of a single neuron, the bias
/// raised by one.
fn mixed(network: &ExactNetwork) -> LinearChange {
    let (rows, next) = (&network.layers()[2], &network.layers()[3]);
    let half = Rational::dyadic(1, -1);
    let single = rows.width() == 1;
    let insert = (0..rows.width()).map(|unit| {
        let mut weight = rows.weight().row(unit).to_vec();
        let mut bias = rows.bias()[unit].clone();
        let mut out: Vec<Rational> = next.weight().column(unit).cloned().collect();
        match unit {
            0 if single => bias += &Rational::ONE,
            0 => {
                weight.iter_mut().zip(rows.weight().row(1)).for_each(|(w, other)| *w += &(&half * other));
                bias += &(&half * &rows.bias()[1]);
            }
            1 => out.iter_mut().zip(next.weight().column(0)).for_each(|(v, other)| *v -= &(&half * other)),
            _ => {}
        }
        PlacedNeuron { unit, weight, bias, out }
    });
    LinearChange { remove: (0..rows.width()).collect(), insert: insert.collect() }
}

/// The twin that the moves make, with the certificate, if the checker accepts it.
fn certified(network: &ExactNetwork, moves: Vec<Move>, claims: Vec<String>) -> Option<Construction> {
    let mut twin = network.clone();
    let chain = MoveChain::from(moves);
    chain.apply(&mut twin, &Domain::Space).ok()?;
    let ((network, first), (twin, second)) = (network.to_f64().ok()?, twin.to_f64().ok()?);
    if !first || !second {
        return None;
    }
    let certificate = Certificate::new(
        &network,
        &twin,
        Domain::Space,
        Evidence::Moves { a: chain, b: MoveChain::default() },
    );
    let proved = matches!(check(&certificate, &network, &twin), Outcome::Proved(_));
    proved.then_some(Construction { network, twin, certificate, claims })
}

fn rng(seed: u64, attempt: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(attempt);
    rng
}

/// A random network of short numbers; `entry(layer, row, column, number, power of two)` makes each entry, the
/// bias as last column.
fn random(
    widths: &[usize],
    rng: &mut impl Rng,
    entry: impl Fn(usize, usize, usize, Rational, Rational) -> Rational,
) -> ExactNetwork {
    let mut layers = Vec::new();
    // Among many neurons short numbers cancel by chance.
    let most = widths.iter().copied().max().unwrap_or(0).saturating_sub(8).min(16) as u32;
    for layer in 0..widths.len() - 1 {
        let mut number = |i: usize, j: usize| {
            let size = i128::from(rng.random_range(1..=64u32 << most));
            let number = Rational::dyadic(if rng.random() { size } else { -size }, -4 - i64::from(most));
            entry(layer, i, j, number, Rational::dyadic(1, rng.random_range(-1..=1)))
        };
        let weight = Matrix::from_fn(widths[layer + 1], widths[layer], &mut number);
        let bias = (0..widths[layer + 1]).map(|i| number(i, widths[layer])).collect();
        let activation = if layer + 2 == widths.len() { Activation::Identity } else { Activation::Relu };
        layers.push(Layer::new(weight, bias, activation));
    }
    Network::new(layers).expect("widths of at least 1 that chain")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hiding_networks_of_many_widths() {
        for widths in
            [vec![2, 2, 1, 1], vec![5, 4, 3, 2], vec![2, 3, 2, 1], vec![3, 2, 2, 2, 1], vec![1, 1, 1, 1]]
        {
            let built = construct_hiding(&widths, 1).unwrap();
            assert_eq!(built.network.widths(), widths);
            assert_ne!(built.network, built.twin);
            assert!(built.claims[0].contains("can be translated"));
        }
        assert!(construct_hiding(&[2, 2, 1], 1).is_err() && construct_hiding(&[2, 0, 1, 1], 1).is_err());
    }

    #[test]
    fn nonlocal_networks_have_identifiable_parts() {
        for widths in [
            vec![2, 2, 2, 1, 1],
            vec![3, 2, 2, 2, 1],
            vec![6, 5, 4, 3, 2],
            vec![4, 4, 2, 5, 3],
            vec![2, 2, 2, 20, 1],
            vec![3, 3, 2, 2, 2, 1],
            vec![4, 4, 4, 3, 2, 6, 2],
        ] {
            let built = construct_nonlocal(&widths, 2).unwrap();
            assert_eq!(built.claims.len(), widths.len() - 2);
            assert_ne!(built.network, built.twin);
        }
        let refused = |widths: &[usize]| match construct_nonlocal(widths, 1) {
            Err(ConstructionError::NonlocalWidths { condition, .. }) => condition,
            other => panic!("{widths:?}: {other:?}"),
        };
        assert_eq!(refused(&[2, 3, 2, 2, 1]), LocalCondition::Wide(1));
        assert_eq!(refused(&[3, 3, 1, 2, 1]), LocalCondition::Single(2));
        assert_eq!(refused(&[3, 3, 2, 1]), LocalCondition::Few);
        assert_eq!(refused(&[3, 3, 2, 0, 1]), LocalCondition::Empty);
        assert_eq!(refused(&[3, 3, 2, 2, 3, 1, 1]), LocalCondition::Wide(4));
    }
}
