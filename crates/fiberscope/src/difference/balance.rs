//! Neurons scaled so that their values are of moderate size.
//!
//! Doubles end near `2^1024`, and a network may have weights and values beyond that inside though its outputs are small. A hidden ReLU neuron
//! may be scaled by any positive factor if its weights in the next layer are divided by it. With powers of two that bring what
//! can come of a neuron on the box near 1, in both networks alike, forms stay within the doubles as far as that is possible:
//! the weights of the next layer are then what the neuron can contribute.

use fiberscope_core::{Activation, ExactNetwork, Move, Rational};

/// Numbers are brought into the doubles by this power of two, or several of them.
const STEP: i64 = 1000;

/// `log2 abs(x)`, about; `None` for 0.
fn exponent(x: &Rational) -> Option<f64> {
    if x.is_zero() {
        return None;
    }
    // A product of parameters of a network is not farther away than this.
    let shifts = (0..64).flat_map(|k| [k * STEP, -k * STEP]);
    shifts.into_iter().find_map(|shift| {
        let near = (x * &Rational::dyadic(1, -shift)).to_f64().abs();
        near.is_normal().then(|| near.log2() + shift as f64)
    })
}

/// The scalings of the neurons of two networks of one shape, one for each hidden layer.
pub fn scalings(networks: [&ExactNetwork; 2], (lo, hi): (&[f64], &[f64])) -> Vec<Move> {
    let mut networks = networks.map(Clone::clone);
    let end = |(lo, hi): (&f64, &f64)| Rational::from_f64(lo.abs().max(hi.abs())).and_then(|x| exponent(&x));
    // What the values before a layer can be, as powers of two.
    let mut sizes: Vec<Option<f64>> = lo.iter().zip(hi).map(end).collect();
    let mut moves = Vec::new();
    for layer in 0..networks[0].hidden_depth() {
        let of = |network: &ExactNetwork, unit: usize| {
            let here = &network.layers()[layer];
            let row = here.weight().row(unit);
            let terms = row.iter().zip(&sizes).map(|(w, size)| Some(exponent(w)? + (*size)?));
            let terms = terms.chain([exponent(&here.bias()[unit])]).flatten();
            terms.fold(None, |most: Option<f64>, term| Some(most.map_or(term, |most| most.max(term))))
        };
        let width = networks[0].layers()[layer].width();
        let largest: Vec<Option<f64>> = (0..width)
            .map(|unit| of(&networks[0], unit).into_iter().chain(of(&networks[1], unit)).reduce(f64::max))
            .collect();
        if networks[0].layers()[layer].activation() != Activation::Relu {
            sizes = largest;
            continue;
        }
        let factors = largest.iter().map(|size| Rational::dyadic(1, -size.unwrap_or(0.0).round() as i64));
        let scaling = Move::Scale { layer, factors: factors.collect() };
        for network in &mut networks {
            if scaling.apply(network, &fiberscope_core::Domain::Space).is_err() {
                return Vec::new();
            }
        }
        moves.push(scaling);
        sizes = largest.iter().map(|size| size.map(|_| 0.0)).collect();
    }
    moves
}

#[cfg(test)]
mod tests {
    use fiberscope_core::Network;

    use super::*;

    #[test]
    fn numbers_have_exponents_within_and_beyond_the_doubles() {
        assert_eq!(exponent(&Rational::ZERO), None);
        for power in [-5000, -1074, -3, 0, 10, 1023, 1024, 9000] {
            assert_eq!(exponent(&Rational::dyadic(-1, power)), Some(power as f64));
        }
    }

    #[test]
    fn what_neurons_contribute_becomes_their_weight() {
        let network =
            Network::from_rows(&[(&[&[1e300]], &[1e290]), (&[&[1e300]], &[0.0]), (&[&[1e-308]], &[0.0])]);
        let mut network = network.unwrap().to_exact();
        let moves = scalings([&network, &network], (&[-1e-290], &[1e-290]));
        assert_eq!(moves.len(), 2);
        let x = [Rational::from_f64(1e-290).unwrap()];
        let before = network.evaluate_exact(&x).unwrap();
        for each in &moves {
            each.apply(&mut network, &fiberscope_core::Domain::Space).unwrap();
        }
        assert_eq!(network.evaluate_exact(&x).unwrap(), before);
        // 1e290 + 1e10, times 1e300 and 1e-308.
        assert!((network.layers()[2].weight().row(0)[0].to_f64().log10() - 282.0).abs() < 1.0);
    }
}
