//! Permutation and scaling: `P D` in front of a layer and `(P D)^{-1}` behind it.

use super::{Move, MoveError, Rule};
use crate::{Activation, ExactNetwork, Network, Rational, Scalar};

pub fn permute<S: Scalar>(network: &mut Network<S>, layer: usize, order: &[usize]) -> Result<(), MoveError> {
    Rule::length("neurons", network.layers()[layer].width(), order.len())?;
    inverse_order(order)?;
    let layers = network.layers_mut();
    let (rows, bias) = layers[layer].parts_mut();
    *rows = rows.select_rows(order);
    *bias = order.iter().map(|&unit| bias[unit].clone()).collect();
    let (columns, _) = layers[layer + 1].parts_mut();
    *columns = columns.select_columns(order);
    Ok(())
}

pub fn inverse_permute(layer: usize, order: &[usize]) -> Result<Move, MoveError> {
    Ok(Move::Permute { layer, order: inverse_order(order)? })
}

fn inverse_order(order: &[usize]) -> Result<Vec<usize>, MoveError> {
    let mut inverse = vec![usize::MAX; order.len()];
    for (new, &old) in order.iter().enumerate() {
        let free = old < order.len() && inverse[old] == usize::MAX;
        Rule::Permutation.require(free, || format!("entry {} of the order is {}", new + 1, old + 1))?;
        inverse[old] = new;
    }
    Ok(inverse)
}

pub fn scale(network: &mut ExactNetwork, layer: usize, factors: &[Rational]) -> Result<(), MoveError> {
    let activation = network.layers()[layer].activation();
    Rule::length("factors", network.layers()[layer].width(), factors.len())?;
    for (unit, factor) in factors.iter().enumerate() {
        check_factor(activation, factor, unit)?;
    }
    let reciprocals: Vec<_> =
        factors.iter().map(|factor| factor.recip().expect("checked not to be zero")).collect();
    let layers = network.layers_mut();
    let (rows, bias) = layers[layer].parts_mut();
    let is_changed: Vec<bool> = factors.iter().map(|factor| *factor != Rational::ONE).collect();
    rows.change(|unit, _, w| {
        if is_changed[unit] {
            *w *= &factors[unit];
        }
    });
    bias.iter_mut().zip(factors).for_each(|(b, factor)| *b *= factor);
    let (columns, _) = layers[layer + 1].parts_mut();
    columns.change(|_, unit, v| {
        if is_changed[unit] {
            *v *= &reciprocals[unit];
        }
    });
    Ok(())
}

/// Scales in doubles, if the factors are powers of two and all products are doubles; otherwise the network is of no
/// use any more.
///
/// With `c` a power of two such that `c` and `1 / c` are normal, `p`, the rounded `w c`, is `w c` iff it is finite and
/// `p / c`, rounded, is `w`: if `p = w c`, the quotient is the double `w`. Otherwise `w c` is beyond the doubles and `p`
/// infinite, or below the normal ones, where `p / c` is a double or infinite, and not `w`.
pub fn scale_in_doubles(network: &mut Network, layer: usize, factors: &[Rational]) -> Option<()> {
    let power = |factor: &Rational| {
        let (mantissa, exponent) = factor.short_parts()?;
        let normal = mantissa == 1 && (-1022..=1022).contains(&exponent);
        normal.then(|| [exponent, -exponent].map(|e| f64::from_bits(((1023 + e) as u64) << 52)))
    };
    let powers: Vec<[f64; 2]> = factors.iter().map(power).collect::<Option<_>>()?;
    if powers.len() != network.layers()[layer].width() {
        return None;
    }
    let mut exact = true;
    let mut times = |w: &mut f64, by: f64, inverse: f64| {
        let product = *w * by;
        exact &= product.is_finite() && product * inverse == *w;
        *w = product;
    };
    let layers = network.layers_mut();
    let (rows, bias) = layers[layer].parts_mut();
    rows.change(|unit, _, w| times(w, powers[unit][0], powers[unit][1]));
    bias.iter_mut().zip(&powers).for_each(|(b, [power, inverse])| times(b, *power, *inverse));
    let (columns, _) = layers[layer + 1].parts_mut();
    columns.change(|_, unit, w| times(w, powers[unit][1], powers[unit][0]));
    exact.then_some(())
}

/// Whether this thread's arithmetic keeps doubles that are not normal; some libraries set processors to do otherwise.
pub fn subnormal_numbers_count() -> bool {
    let [least, next] = [5e-324, 1e-323].map(std::hint::black_box);
    least > 0.0 && least != next && f64::MIN_POSITIVE * std::hint::black_box(0.5) > 0.0
}

/// The rule for the factor of one neuron.
pub fn check_factor(activation: Activation, factor: &Rational, unit: usize) -> Result<(), MoveError> {
    let fine = match activation {
        Activation::Relu => factor.is_positive(),
        Activation::Identity => !factor.is_zero(),
    };
    Rule::Factors.require(fine, || format!("the factor of neuron {} is {factor}", unit + 1))
}

pub fn inverse_scale(layer: usize, factors: &[Rational]) -> Result<Move, MoveError> {
    let zero = || Rule::Factors.broken("a factor is zero".into());
    let factors = factors.iter().map(|factor| factor.recip().ok_or_else(zero)).collect::<Result<_, _>>()?;
    Ok(Move::Scale { layer, factors })
}
