//! What shows how many parameters a network's function determines near the given ones.
//!
//! Points off all bent hyperplanes, and how they are used: two points whose activation patterns differ in one
//! neuron show the fold of that neuron, and every point shows rows of the Jacobian of the outputs. The lemma
//! stands in `docs/formats/certificate-v1.md`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Neuron, Rational};

/// Points and their use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankEvidence {
    /// The points.
    pub points: Vec<Vec<Rational>>,
    /// Pairs of points on two sides of a fold, neuron by neuron.
    pub folds: Vec<FoldPair>,
    /// The points, counted from 0, that determine the last layer.
    pub outputs: Vec<usize>,
    /// The points, counted from 0, all of whose rows are used.
    pub extra: Vec<usize>,
    /// The rank that is claimed.
    pub rank: u64,
}

/// Two points whose activation patterns differ in one neuron.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldPair {
    /// The neuron.
    pub neuron: Neuron,
    /// The points, counted from 0.
    pub points: (usize, usize),
}

impl RankEvidence {
    /// The claimed upper bound of the fiber's dimension near the parameters of a network of these widths, and the
    /// number of its scalings.
    pub(crate) fn dimensions(&self, widths: &[usize]) -> (u64, u64) {
        let (parameters, scalings) = counts(widths);
        (parameters.saturating_sub(self.rank), scalings)
    }
}

/// The numbers of parameters and of hidden neurons, as far as they fit into 64 bits.
fn counts(widths: &[usize]) -> (u64, u64) {
    let wide = |n: &usize| *n as u64;
    let layer = |pair: &[usize]| wide(&pair[1]).saturating_mul(wide(&pair[0]).saturating_add(1));
    let parameters = widths.windows(2).map(layer).fold(0, u64::saturating_add);
    let hidden = widths.iter().skip(1).rev().skip(1).map(wide).fold(0, u64::saturating_add);
    (parameters, hidden)
}

impl Serialize for FoldPair {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FoldPair { neuron, points: (p, q) } = self;
        [neuron.layer + 1, neuron.unit + 1, p + 1, q + 1].serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FoldPair {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let numbers = <[usize; 4]>::deserialize(deserializer)?;
        let [Some(layer), Some(unit), Some(p), Some(q)] = numbers.map(|number| number.checked_sub(1)) else {
            return Err(D::Error::custom("layers, neurons and points count from 1, found 0"));
        };
        Ok(FoldPair { neuron: Neuron { layer, unit }, points: (p, q) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_counted_without_overflow() {
        assert_eq!(counts(&[8, 32, 32, 1]), (1377, 64));
        assert_eq!(counts(&[3, 2]), (8, 0));
        assert_eq!(counts(&[usize::MAX, usize::MAX, 1]), (u64::MAX, u64::MAX));
        assert_eq!((counts(&[5]), counts(&[])), ((0, 0), (0, 0)));
    }
}
