//! A random element of the orbit.
//!
//! With powers of two for factors the new parameters are doubles again, so that the twin is exactly the same
//! function.

use fiberscope_core::{Activation, Certificate, Domain, Evidence, MoveChain, Network, Rational};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{LayerRelabelling, Relabelling};

/// A network, and the certificate that it computes the same function as the one it was made from.
#[derive(Clone, Debug)]
pub struct Twin {
    /// The network.
    pub network: Network,
    /// The certificate, with the original as `A` and this network as `B`.
    pub certificate: Certificate,
}

/// The network with every hidden layer permuted at random and scaled by random powers of two from
/// `1/4` to `4`. Equal seeds give equal twins.
///
/// ```
/// use fiberscope::Network;
/// use fiberscope::check::{Outcome, check};
/// use fiberscope::orbit::relabel;
///
/// let network = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap();
/// let twin = relabel(&network, 0);
/// assert!(matches!(check(&twin.certificate, &network, &twin.network), Outcome::Proved(_)));
/// ```
pub fn relabel(network: &Network, seed: u64) -> Twin {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let relabelling = network.hidden_layers().iter().map(|of| {
        let order = shuffle(&mut rng, of.width());
        let scalable = of.activation() == Activation::Relu;
        let mut factor = || if scalable { rng.random_range(-2..=2) } else { 0 };
        let factors = (0..of.width()).map(|_| Rational::dyadic(1, factor())).collect();
        LayerRelabelling { order, factors }
    });
    twin(network, Relabelling { layers: relabelling.collect() })
}

fn shuffle(rng: &mut impl Rng, n: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, rng.random_range(0..=i));
    }
    order
}

/// Relabels in exact arithmetic. Should scaling have left the doubles (by underflow or overflow), the
/// scalings are left out.
fn twin(network: &Network, mut relabelling: Relabelling) -> Twin {
    let apply = |chain: &MoveChain| {
        let mut exact = network.to_exact();
        chain.apply(&mut exact, &Domain::Space).expect("permutations and positive scalings apply");
        exact.to_f64().ok().filter(|(_, lossless)| *lossless).map(|(network, _)| network)
    };
    let chain = relabelling.moves();
    let (network_b, chain) = match apply(&chain) {
        Some(rewritten) => (rewritten, chain),
        None => {
            relabelling.layers.iter_mut().for_each(|layer| layer.factors.fill(Rational::ONE));
            let chain = relabelling.moves();
            (apply(&chain).expect("permuted doubles are doubles"), chain)
        }
    };
    let certificate = Certificate::new(
        network,
        &network_b,
        Domain::Space,
        Evidence::Moves { a: chain, b: MoveChain::default() },
    );
    Twin { network: network_b, certificate }
}

#[cfg(test)]
mod tests {
    use fiberscope_check::{Outcome, check};
    use fiberscope_core::{Claim, Layer, Matrix};

    use super::*;

    fn network(scale: f64) -> Network {
        let layer = |rows: usize, cols: usize, activation| {
            let weight = Matrix::from_fn(rows, cols, |i, j| scale * (i as f64 - 0.3 * j as f64));
            Layer::new(weight, vec![0.1 * scale; rows], activation)
        };
        Network::new(vec![layer(4, 3, Activation::Relu), layer(2, 4, Activation::Identity)]).unwrap()
    }

    #[test]
    fn twins_are_proved_equal_and_repeatable() {
        for seed in 0..10 {
            let twin = relabel(&network(1.0), seed);
            assert_eq!(
                check(&twin.certificate, &network(1.0), &twin.network),
                Outcome::Proved(Claim::Equivalent)
            );
            assert_eq!(relabel(&network(1.0), seed).network, twin.network);
        }
        assert_ne!(relabel(&network(1.0), 0).network, relabel(&network(1.0), 1).network);
    }

    #[test]
    fn the_edge_of_the_doubles_is_respected() {
        let tiny = network(1e-308);
        let twin = relabel(&tiny, 3);
        assert_eq!(check(&twin.certificate, &tiny, &twin.network), Outcome::Proved(Claim::Equivalent));
    }
}
