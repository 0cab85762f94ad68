//! Neurons on the same hyperplane: multiples of each other.

use super::linear::{Absorption, inverse_change};
use super::relabel::check_factor;
use super::surgery::{check_units, column, extract, interleave, layout, rebuild};
use super::{LinearChange, Move, MoveChain, MoveError, NeuronCopy, PlacedNeuron, Rule};
use crate::{Activation, Domain, ExactNetwork, Layer, Rational, ratio_of};

pub fn merge(network: &mut ExactNetwork, layer: usize, pairs: &[(usize, usize)]) -> Result<(), MoveError> {
    let factors = merge_factors(network, layer, pairs)?;
    let dropped: Vec<_> = pairs.iter().map(|&(_, drop)| drop).collect();
    let removed = check_units(network, layer, &dropped)?;
    let (columns, _) = network.layers_mut()[layer + 1].parts_mut();
    let triples: Vec<_> =
        pairs.iter().zip(&factors).map(|(&(keep, drop), factor)| (keep, drop, factor)).collect();
    columns.add_columns(&triples);
    rebuild(network, layer, &layout(&removed, &[])?);
    Ok(())
}

fn merge_factors(
    network: &ExactNetwork,
    layer: usize,
    pairs: &[(usize, usize)],
) -> Result<Vec<Rational>, MoveError> {
    let dropped: Vec<_> = pairs.iter().map(|&(_, drop)| drop).collect();
    let removed = check_units(network, layer, &dropped)?;
    let factor = |&(keep, drop): &(usize, usize)| {
        check_units(network, layer, &[keep])?;
        Rule::Distinct.require(!removed[keep], || format!("neuron {} both stays and goes", keep + 1))?;
        let rows = &network.layers()[layer];
        let factor =
            neuron_ratio(rows, keep, drop).ok_or_else(|| not_multiples(Rule::Proportional, keep, drop))?;
        let fits = factor.is_positive() || rows.activation() == Activation::Identity;
        if fits { Ok(factor) } else { Err(not_multiples(Rule::Proportional, keep, drop)) }
    };
    pairs.iter().map(factor).collect()
}

/// The `c` with `(w_drop, b_drop) = c (w_keep, b_keep)`, if there is one and row `keep` is not zero.
fn neuron_ratio(layer: &Layer<Rational>, keep: usize, drop: usize) -> Option<Rational> {
    let places = |unit: usize| layer.weights().row(unit).map(|(j, _)| j);
    let row =
        |unit: usize| layer.weights().row(unit).map(|(_, w)| w).chain(std::iter::once(&layer.bias()[unit]));
    if row(drop).all(Rational::is_zero) {
        return row(keep).any(|x| !x.is_zero()).then_some(Rational::ZERO);
    }
    if places(keep).eq(places(drop)) { ratio_of(row(keep), row(drop)) } else { None }
}

fn not_multiples(rule: Rule, keep: usize, drop: usize) -> MoveError {
    rule.broken(format!("neurons {} and {}", keep + 1, drop + 1))
}

pub fn inverse_merge(
    before: &ExactNetwork,
    layer: usize,
    pairs: &[(usize, usize)],
) -> Result<Move, MoveError> {
    let factors = merge_factors(before, layer, pairs)?;
    let copy = |(&(of, unit), factor): (&(usize, usize), Rational)| NeuronCopy {
        of,
        unit,
        factor,
        out: column(&before.layers()[layer + 1], unit),
    };
    let mut copies: Vec<_> = pairs.iter().zip(factors).map(copy).collect();
    copies.sort_by_key(|copy| copy.unit);
    Ok(Move::Split { layer, copies })
}

pub fn split(network: &mut ExactNetwork, layer: usize, copies: &[NeuronCopy]) -> Result<(), MoveError> {
    let (rows, outputs) = (&network.layers()[layer], network.layers()[layer + 1].width());
    let total = rows.width() + copies.len();
    let is_new = interleave(total, copies.iter().map(|copy| copy.unit))?;
    // The place before the move of every neuron that stays.
    let mut old_places = (0..rows.width()).map(Some);
    let old_place: Vec<_> = is_new.iter().map(|&new| if new { None } else { old_places.next()? }).collect();
    let mut neurons = Vec::with_capacity(copies.len());
    for copy in copies {
        let original = old_place.get(copy.of).copied().flatten();
        let Some(original) = original else {
            return Err(
                Rule::Exists.broken(format!("neuron {} is no neuron that was there before", copy.of + 1))
            );
        };
        check_factor(rows.activation(), &copy.factor, copy.unit)?;
        Rule::length("outgoing weights", outputs, copy.out.len())?;
        let mut weight = vec![Rational::ZERO; rows.input_width()];
        rows.weights().row(original).for_each(|(j, w)| weight[j] = w * &copy.factor);
        let bias = &rows.bias()[original] * &copy.factor;
        neurons.push(PlacedNeuron { unit: copy.unit, weight, bias, out: copy.out.clone() });
    }
    rebuild(network, layer, &layout(&vec![false; total - copies.len()], &neurons)?);
    let factors: Vec<_> = copies.iter().map(|copy| -&copy.factor).collect();
    let triples: Vec<_> =
        copies.iter().zip(&factors).map(|(copy, factor)| (copy.of, copy.unit, factor)).collect();
    let (columns, _) = network.layers_mut()[layer + 1].parts_mut();
    columns.add_columns(&triples);
    Ok(())
}

pub fn cancel(
    network: &mut ExactNetwork,
    domain: &Domain,
    layer: usize,
    (keep, drop): (usize, usize),
    linear: &LinearChange,
) -> Result<(), MoveError> {
    let factor = opposite_factor(network, layer, (keep, drop))?;
    let mut removed = check_units(network, layer, &linear.remove)?;
    let named = removed[keep] || removed[drop];
    Rule::Distinct.require(!named, || "a neuron of the pair is also named as linear".into())?;
    removed[drop] = true;
    let absorbed = Absorption::new(network, domain, layer, &[drop], linear)?;
    let sources = layout(&removed, &linear.insert)?;
    network.layers_mut()[layer + 1].parts_mut().0.add_columns(&[(keep, drop, &factor)]);
    absorbed.add_constant(network);
    rebuild(network, layer, &sources);
    Ok(())
}

/// The `c > 0` with `(w_drop, b_drop) = -c (w_keep, b_keep)`.
pub fn opposite_factor(
    network: &ExactNetwork,
    layer: usize,
    (keep, drop): (usize, usize),
) -> Result<Rational, MoveError> {
    check_units(network, layer, &[keep, drop])?;
    let rows = &network.layers()[layer];
    let relu = rows.activation() == Activation::Relu;
    Rule::ReluLayer.require(relu, || format!("layer {} has identity activation", layer + 1))?;
    let factor = neuron_ratio(rows, keep, drop).filter(Rational::is_negative);
    factor.map(|c| -c).ok_or_else(|| not_multiples(Rule::Opposite, keep, drop))
}

/// Splits the pair again, the copy at the place from which [`linear::reorient`] puts it back where it
/// was, then changes the copy's sign and the linear neurons back.
///
/// [`linear::reorient`]: super::linear::reorient
pub fn inverse_cancel(
    before: &ExactNetwork,
    layer: usize,
    (keep, drop): (usize, usize),
    linear: &LinearChange,
) -> Result<MoveChain, MoveError> {
    let factor = opposite_factor(before, layer, (keep, drop))?;
    let mut removed = check_units(before, layer, &linear.remove)?;
    let named = removed[keep] || removed[drop];
    Rule::Distinct.require(!named, || "a neuron of the pair is also named as linear".into())?;
    removed[drop] = true;
    let after_width = before.layers()[layer].width() - linear.remove.len() - 1 + linear.insert.len();
    let is_new = interleave(after_width, linear.insert.iter().map(|neuron| neuron.unit))?;
    let kept_places: Vec<_> = (0..after_width).filter(|&place| !is_new[place]).collect();
    let rank = |unit: usize| removed[..unit].iter().filter(|&&gone| !gone).count();
    let unit = match rank(drop) {
        0 => 0,
        rank => kept_places[rank - 1] + 1,
    };
    let shifted = |place: usize| if place >= unit { place + 1 } else { place };
    let of = shifted(kept_places[rank(keep)]);
    let out = extract(before, layer, drop).out;
    let split = Move::Split { layer, copies: vec![NeuronCopy { of, unit, factor, out }] };
    let mut change = inverse_change(before, layer, linear)?;
    change.remove.iter_mut().for_each(|place| *place = shifted(*place));
    Ok(MoveChain::from(vec![split, Move::Reorient { layer, units: vec![unit], linear: change }]))
}
