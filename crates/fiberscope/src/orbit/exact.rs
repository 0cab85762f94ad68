//! Rows matched exactly, up to permutation and positive scaling.
//!
//! Row `j` of `B` is a partner of row `i` of `A` iff `c (w_j, b_j) = (w_i, b_i)` for a rational `c > 0` (1
//! for rows of zeros). Lines modulo a prime propose, exact arithmetic disposes. Each row of `A`, in order,
//! takes its first partner that is still free: partners of one row are partners of each other's rows, so that
//! this finds a matching of the layer if there is one.

use std::collections::HashMap;

use fiberscope_core::{ExactNetwork, Layer, MoveChain, Network, Rational};

use super::lines::{Line, line, nonzero, row_ratio};
use super::{LayerRelabelling, Relabelling};
use crate::limit::Deadline;

/// The relabelling that turns `B` into `A`. Where several rows of a layer lie on one ray, only one order of
/// them is tried; if the rows tell the neurons apart ([`rows_tell`]), none is missed.
///
/// ```
/// use fiberscope::Network;
/// use fiberscope::orbit::{find, relabel};
///
/// let a = Network::from_rows(&[(&[&[1.0], &[-2.0]], &[0.5, 0.25]), (&[&[1.0, 3.0]], &[0.0])]).unwrap();
/// let b = relabel(&a, 1).network;
/// assert!(find(&a.to_exact(), &b.to_exact()).is_some());
/// let other = a.map(|w| w + 1.0).unwrap();
/// assert!(find(&a.to_exact(), &other.to_exact()).is_none());
/// ```
pub fn find(a: &ExactNetwork, b: &ExactNetwork) -> Option<Relabelling> {
    if a.widths() != b.widths() {
        return None;
    }
    let (mut network, mut found) = (b.clone(), Relabelling::default());
    for layer in 0..a.hidden_depth() {
        let matched = match_rows(&a.layers()[layer], &network.layers()[layer], &Deadline::NEVER)?;
        matched.apply(&mut network, layer);
        found.layers.push(matched);
    }
    (network == *a).then_some(found)
}

/// Whether the rows of every hidden layer tell its neurons apart: none is zero, none a positive multiple of
/// another.
pub fn rows_tell(network: &Network) -> bool {
    network.to_exact().hidden_layers().iter().all(|layer| {
        let partners = partners(layer, layer, &Deadline::NEVER);
        let alone = partners.is_some_and(|all| all.iter().all(|partners| partners.len() == 1));
        alone && (0..layer.width()).all(|unit| line(layer, unit).is_some())
    })
}

/// How far `B` could be rewritten to coincide with `A`.
pub struct Matching {
    /// `B` after the moves.
    pub network: ExactNetwork,
    /// Permutations and scalings of `B`.
    pub moves: MoveChain,
    /// The number of leading layers that are now equal.
    pub prefix: usize,
}

/// Permutes and scales the hidden layers of `B`, first to last, until one does not match `A`'s. `None` if the
/// deadline comes first.
///
/// ```
/// use fiberscope::orbit::match_layers;
/// use fiberscope::{Deadline, Network};
///
/// let network = |out: f64| {
///     Network::from_rows(&[(&[&[1.0], &[-2.0]], &[0.5, 0.25]), (&[&[out, 3.0]], &[0.0])]).unwrap().to_exact()
/// };
/// // The hidden layers are equal, the outputs are not.
/// assert_eq!(match_layers(&network(1.0), &network(2.0), &Deadline::NEVER).unwrap().prefix, 1);
/// ```
pub fn match_layers(a: &ExactNetwork, b: &ExactNetwork, deadline: &Deadline) -> Option<Matching> {
    let mut matching = Matching { network: b.clone(), moves: MoveChain::default(), prefix: 0 };
    let hidden = a.hidden_depth().min(b.hidden_depth());
    while matching.prefix < hidden {
        let layer = matching.prefix;
        let matched = match_rows(&a.layers()[layer], &matching.network.layers()[layer], deadline);
        if deadline.is_past() {
            return None;
        }
        let Some(matched) = matched else { return Some(matching) };
        matching.moves = matching.moves.compose(matched.apply(&mut matching.network, layer));
        matching.prefix += 1;
    }
    let last = a.depth() - 1;
    if a.depth() == b.depth() && a.layers()[last] == matching.network.layers()[last] {
        matching.prefix = a.depth();
    }
    Some(matching)
}

/// The relabelling that turns the rows of `B` into those of `A`; `None` if there is none, or the deadline
/// comes first.
///
/// ```
/// use fiberscope::orbit::match_rows;
/// use fiberscope::{Deadline, Network};
///
/// let network = |rows: &[&[f64]]| Network::from_rows(&[(rows, &[0.0, 1.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap().to_exact();
/// let (a, b) = (network(&[&[1.0], &[-1.0]]), network(&[&[1.0], &[1.0]]));
/// assert!(match_rows(&a.layers()[0], &a.layers()[0], &Deadline::NEVER).is_some());
/// assert!(match_rows(&a.layers()[0], &b.layers()[0], &Deadline::NEVER).is_none());
/// ```
pub fn match_rows(a: &Layer<Rational>, b: &Layer<Rational>, deadline: &Deadline) -> Option<LayerRelabelling> {
    let shape = |layer: &Layer<Rational>| (layer.width(), layer.input_width(), layer.activation());
    if shape(a) != shape(b) {
        return None;
    }
    let mut taken = vec![false; b.width()];
    let mut matched = LayerRelabelling::default();
    for partners in partners(a, b, deadline)? {
        let (unit, factor) = partners.into_iter().find(|(unit, _)| !taken[*unit])?;
        taken[unit] = true;
        matched.push(unit, factor);
    }
    Some(matched)
}

/// For every row of `A` its partners in `B`, in order, with the factors; `None` if the deadline comes first.
pub fn partners(
    a: &Layer<Rational>,
    b: &Layer<Rational>,
    deadline: &Deadline,
) -> Option<Vec<Vec<(usize, Rational)>>> {
    let mut units: HashMap<Option<Line>, Vec<usize>> = HashMap::new();
    // Rows without a line modulo the prime may be partners of any row.
    let mut unknown = Vec::new();
    for unit in 0..b.width() {
        match line(b, unit) {
            Some(Line { residue: None, .. }) => unknown.push(unit),
            line => units.entry(line).or_default().push(unit),
        }
    }
    (0..a.width())
        .map(|i| {
            let mut candidates: Vec<usize> = match line(a, i) {
                _ if deadline.is_past() => return None,
                Some(Line { residue: None, .. }) => (0..b.width()).collect(),
                line => units.get(&line).into_iter().flatten().chain(&unknown).copied().collect(),
            };
            candidates.sort_unstable();
            Some(candidates.into_iter().filter_map(|j| Some((j, factor(a, i, b, j)?))).collect())
        })
        .collect()
}

/// The `c > 0` with row `i` of `A` = `c` times row `j` of `B` (1 if both rows are zero).
pub fn factor(a: &Layer<Rational>, i: usize, b: &Layer<Rational>, j: usize) -> Option<Rational> {
    let zeros = || nonzero(a, i).chain(nonzero(b, j)).next().is_none();
    match row_ratio((b, j), (a, i)) {
        Some(factor) => Some(factor).filter(Rational::is_positive),
        None => zeros().then_some(Rational::ONE),
    }
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Domain, Move};

    use super::*;
    use crate::orbit::relabel;

    fn network(seed: u64) -> Network {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        Network::from_widths(&[4, 6, 5, 2], next).unwrap()
    }

    #[test]
    fn twins_match_completely() {
        for seed in 0..20 {
            let a = network(seed + 1);
            let b = relabel(&a, seed).network;
            let matching = match_layers(&a.to_exact(), &b.to_exact(), &Deadline::NEVER).unwrap();
            assert_eq!(matching.prefix, 3);
            assert_eq!(matching.network, a.to_exact());
        }
    }

    #[test]
    fn odd_factors_match_too() {
        let a = network(3).to_exact();
        let mut b = a.clone();
        let factors = (1..=6).map(|n| &Rational::from(n) / &Rational::from(7)).collect();
        Move::Scale { layer: 0, factors }.apply(&mut b, &Domain::Space).unwrap();
        assert_eq!(match_layers(&a, &b, &Deadline::NEVER).unwrap().prefix, 3);
    }

    #[test]
    fn strangers_do_not_match() {
        let (a, b) = (network(1).to_exact(), network(2).to_exact());
        assert_eq!(match_layers(&a, &b, &Deadline::NEVER).unwrap().prefix, 0);
    }

    #[test]
    fn without_time_nothing_is_said() {
        let a = network(1).to_exact();
        let late = Deadline::after(Some(std::time::Duration::ZERO));
        assert!(match_layers(&a, &a, &late).is_none());
    }
}
