//! Products of the two layers in which the mask keeps visible neurons only.
//!
//! With the orientation `S` and a set `T` of visible neurons the product is
//!
//! ```text
//! P_{S,T} = sum_{i in T} s_i a_i u_i^T,      s_i = 1 if i is in S, else -1,
//! ```
//!
//! and a generic parameter has `rank P_{S,T} = min(m, d, |T|)` for all `T`. Up to `min(m, d)` neurons that
//! asks for independent weights `a_i` and independent normals `u_i`, whatever the signs: two visible
//! hyperplanes that are parallel are enough to break it. The products of more neurons depend on the signs, as
//! terms may cancel.

use fiberscope_core::residue::{PRIME, reduce};
use fiberscope_core::{Matrix, Rational};

use super::component::Orientation;
use fiberscope_algebra::modular::rank_of_residues;
use fiberscope_algebra::rational::rank_at_most;

/// More masks than these are not listed.
const LISTED: usize = 1 << 12;

/// A set `T` of visible neurons with their signs, one bit per neuron.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mask {
    kept: u32,
    /// The neurons of `T` whose sign is plus.
    plus: u32,
}

impl Mask {
    /// `|T|`.
    pub fn len(self) -> usize {
        self.kept.count_ones() as usize
    }

    /// Whether the neurons of `T` have these signs in an orientation.
    pub fn agrees(self, orientation: &Orientation) -> bool {
        orientation.active().iter().enumerate().all(|(i, &active)| match self.sign(i) {
            None => true,
            Some(plus) => plus == active,
        })
    }

    fn sign(self, i: usize) -> Option<bool> {
        (self.kept >> i & 1 == 1).then_some(self.plus >> i & 1 == 1)
    }

    fn with(self, i: usize, plus: bool) -> Self {
        Mask { kept: self.kept | 1 << i, plus: self.plus | u32::from(plus) << i }
    }
}

/// The terms `a_i u_i^T` of the visible neurons, at most 32 of them.
pub(super) struct Products<'a> {
    /// The terms.
    pub terms: &'a [Matrix<Rational>],
    /// Their residues modulo [`PRIME`], if all entries have one.
    pub residues: Option<&'a [Vec<u64>]>,
    /// `m` and `d`.
    pub shape: (usize, usize),
}

impl Products<'_> {
    /// The masks whose product has too small a rank, with the signs of one orientation or with all signs;
    /// `None` if there are too many.
    pub fn deficient(&self, orientation: Option<&Orientation>) -> Option<Vec<Mask>> {
        let mut found = Vec::new();
        let zero = vec![0; self.shape.0 * self.shape.1];
        self.walk(0, Mask::default(), &zero, orientation, &mut found)?;
        Some(found)
    }

    /// Goes through the masks that continue one whose first `at` neurons are chosen; `sum` is the residue of
    /// its product.
    fn walk(
        &self,
        at: usize,
        mask: Mask,
        sum: &[u64],
        orientation: Option<&Orientation>,
        found: &mut Vec<Mask>,
    ) -> Option<()> {
        if at == self.terms.len() {
            if self.is_deficient(mask, sum) {
                found.push(mask);
            }
            return (found.len() <= LISTED).then_some(());
        }
        self.walk(at + 1, mask, sum, orientation, found)?;
        for plus in [true, false] {
            if orientation.is_some_and(|orientation| orientation.active()[at] != plus) {
                continue;
            }
            let mut next = sum.to_vec();
            if let Some(residues) = self.residues {
                for (x, &t) in next.iter_mut().zip(&residues[at]) {
                    *x = reduce(u128::from(*x) + u128::from(if plus { t } else { PRIME - t }));
                }
            }
            self.walk(at + 1, mask.with(at, plus), &next, orientation, found)?;
        }
        Some(())
    }

    fn is_deficient(&self, mask: Mask, sum: &[u64]) -> bool {
        let wanted = mask.len().min(self.shape.0).min(self.shape.1);
        // The rank modulo a prime is never larger than the rank.
        let certified = self.residues.is_some() && rank_of_residues(sum.to_vec(), self.shape.1) == wanted;
        !certified && rank_at_most(&self.product(mask), wanted) < wanted
    }

    fn product(&self, mask: Mask) -> Matrix<Rational> {
        let mut product = Matrix::from_fn(self.shape.0, self.shape.1, |_, _| Rational::ZERO);
        for (i, term) in self.terms.iter().enumerate() {
            let Some(plus) = mask.sign(i) else { continue };
            let pairs = product.entries_mut().iter_mut().zip(term.entries());
            pairs.for_each(|(x, t)| if plus { *x += t } else { *x -= t });
        }
        product
    }
}
