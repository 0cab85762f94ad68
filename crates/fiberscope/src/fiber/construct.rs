//! Networks with a proved property: one that hides a hyperplane, and one whose fiber is not local.
//!
//! *Hiding*: every row of `[W_2 | b_2]` is positive in one column `k` of `W_2` and negative elsewhere, so
//! that the hyperplane of neuron `k` can be translated by `t >= t_min` [threelayer2026, Section 5].
//!
//! *Not local* [threelayer2026, Section 6]: widths `(n_0, ..., n_4)`, rows of `[W_2 | b_2]` with signs
//! `(-, ..., -, +)`, so that the second hidden layer maps into the box `prod_j [0, b_2[j]]`; rows of `W_3`
//! with a negative entry and biases `b_3` so large that the third hidden layer is positive on that box. The
//! sub-networks of layers 1 to 3 and of layers 2 to 4 are identifiable, but in the whole network layer 3 acts
//! linearly: `W_3 -> G W_3, b_3 -> G b_3, W_4 -> W_4 G^-1` keeps the function.

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
    #[error("expected five widths with n_0 >= n_1 >= n_2 >= 2 and n_3, n_4 >= 1, found {0:?}")]
    NonlocalWidths(Vec<usize>),
    #[error("no generic network was found for the widths {0:?} and this seed")]
    NotFound(Vec<usize>),
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

/// A network whose sub-networks of layers 1 to 3 and 2 to 4 are identifiable, but which is not.
///
/// ```
/// let built = fiberscope::fiber::construct_nonlocal(&[3, 3, 2, 2, 1], 0).unwrap();
/// assert_ne!(built.network, built.twin);
/// ```
pub fn construct_nonlocal(widths: &[usize], seed: u64) -> Result<Construction, ConstructionError> {
    let &[n0, n1, n2, n3, n4] = widths else {
        return Err(ConstructionError::NonlocalWidths(widths.to_vec()));
    };
    if !(n0 >= n1 && n1 >= n2 && n2 >= 2 && n3 >= 1 && n4 >= 1) {
        return Err(ConstructionError::NonlocalWidths(widths.to_vec()));
    }
    (0..ATTEMPTS)
        .find_map(|attempt| nonlocal(widths, &mut rng(seed, attempt)))
        .ok_or_else(|| ConstructionError::NotFound(widths.to_vec()))
}

fn nonlocal(widths: &[usize], rng: &mut ChaCha8Rng) -> Option<Construction> {
    let (n1, n2, n3) = (widths[1], widths[2], widths[3]);
    let network = random(widths, rng, |layer, _, j, x, _| match (layer, j) {
        (1, j) if j == n1 => x.abs(),
        (1, _) => -x.abs(),
        (2, 0) => -x.abs(),
        _ => x,
    });
    let mut layers = network.into_layers();
    let (rows, _, activation) = layers[2].clone().into_parts();
    let ends = layers[1].bias().to_vec();
    let bias = (0..n3).map(|i| {
        let lowest = (0..n2).map(|j| &rows[(i, j)] * &ends[j]).filter(Rational::is_negative);
        &Rational::ONE - &lowest.sum::<Rational>()
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
    let mut claims = vec![part(0)?, part(1)?];
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
    for layer in 0..widths.len() - 1 {
        let mut number = |i: usize, j: usize| {
            let size = i128::from(rng.random_range(1..=64u32));
            let number = Rational::dyadic(if rng.random() { size } else { -size }, -4);
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
        for widths in [vec![2, 2, 2, 1, 1], vec![3, 2, 2, 2, 1], vec![6, 5, 4, 3, 2], vec![4, 4, 2, 5, 3]] {
            let built = construct_nonlocal(&widths, 2).unwrap();
            assert_eq!(built.claims.len(), 3);
            assert_ne!(built.network, built.twin);
        }
        assert!(construct_nonlocal(&[2, 3, 2, 2, 1], 1).is_err());
    }
}
