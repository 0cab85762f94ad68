//! The components of the generic fiber of a map with one hidden layer, one per orientation.
//!
//! Component `S` asks for `V W = M_S` with `l` rows `W >= 0`. Let `rho = rank M_S`. The *nonnegative column rank* of `M_S`, the least number of rows for which
//! this is possible, is `rho` if the columns of `M_S` span a pointed cone and `rho + 1` if not [threelayer2026, Section 4]; on `R^d`, where linear neurons have `W = 0`, the component
//! is non-empty iff `M_S = 0`.
//!
//! **Dimension** of `{(V, W) : V W = M, W >= 0}`, hence (the rows' norms take away what the free biases `c >= 0` add) of the component modulo
//! scaling. Let `q = rank V`, `rho <= q <= min(l, m)`. The `V` of rank `q` whose columns span a space that contains those of `M` have dimension
//! `q l + (q - rho)(m - q)`. Over such a `V` the `W` with `V W = M` are an affine space of dimension `(l - q) d`, which has points with
//! positive entries for the `V` (an open set of them) whose columns positively span; these exist if `q < l`. If `q = l`, `W` is determined by `V`, and it is `>= 0` for an open set of `V` if
//! the cone of `M` is pointed, else for none. So
//!
//! ```text
//! dim = max { q l + (q - rho)(m - q) + (l - q) d :  rho <= q <= min(l, m),  q < l or M pointed },
//! ```
//!
//! which is `l (m + d) - r (m + d - r)` if `rho = r = min(l, m, d)`.

use std::fmt;

use fiberscope_core::Rational;

use super::pointed::Pointedness;

/// Which nonlinear neurons are active at the base point `x_0`: the set `S`, one entry per hyperplane.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Orientation(Vec<bool>);

impl Orientation {
    /// The orientation in which the hyperplanes with `true` are active at the base point.
    pub fn new(active: Vec<bool>) -> Self {
        Orientation(active)
    }

    /// Reads `+-+`: one sign per hyperplane, `+` for active at the base point.
    pub fn parse(text: &str) -> Option<Self> {
        let sign = |c: char| match c {
            '+' => Some(true),
            '-' => Some(false),
            _ => None,
        };
        text.chars().map(sign).collect::<Option<_>>().map(Orientation)
    }

    /// One entry per hyperplane.
    pub fn active(&self) -> &[bool] {
        &self.0
    }

    /// The number of hyperplanes on which two orientations differ.
    pub fn distance(&self, other: &Self) -> usize {
        self.0.iter().zip(&other.0).filter(|(a, b)| a != b).count()
    }

    pub(super) fn flip(&mut self, hyperplane: usize) {
        self.0[hyperplane] = !self.0[hyperplane];
    }
}

impl fmt::Display for Orientation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.iter().try_for_each(|&active| f.write_str(if active { "+" } else { "-" }))
    }
}

/// A component of the fiber: the parameters with one orientation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiberComponent {
    /// The orientation `S`.
    pub orientation: Orientation,
    /// Whether there are parameters with it, and why.
    pub existence: Existence,
    /// The rank of `M_S`.
    pub rank: usize,
    /// The dimension modulo permutation and scaling; `None` if it is empty.
    pub dimension: Option<usize>,
}

/// Why a component has points or has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Existence {
    /// It is the component of the given parameter.
    Given,
    /// `M_S` is zero and no linear neuron is needed.
    NothingToAbsorb,
    /// More linear neurons than the rank of `M_S`: rank + 1 generators always suffice.
    EnoughLinear,
    /// As many linear neurons as the rank, and the columns span a pointed cone: a functional that is positive on them.
    PointedCone(Vec<Rational>),
    /// A flip of the given parameter across its hidden hyperplane.
    Flipped,
    /// Empty: the rank of `M_S` is larger than the number of linear neurons.
    RankTooLarge,
    /// Empty: as many linear neurons as the rank, but the columns of `M_S` with these nonnegative multipliers add up to zero.
    NotPointed(Vec<Rational>),
}

impl FiberComponent {
    /// Whether there is no parameter in it.
    pub fn is_empty(&self) -> bool {
        matches!(self.existence, Existence::RankTooLarge | Existence::NotPointed(_))
    }

    /// The component of orientation `S` with `M_S` of the given shape and rank, for `linear` neurons; `given` if the given parameter lies in it. Whether the columns of `M_S` span a
    /// pointed cone is asked for where it matters only.
    pub(super) fn new(
        orientation: Orientation,
        (m, d): (usize, usize),
        rank: usize,
        linear: usize,
        given: bool,
        pointedness: &mut dyn FnMut() -> Pointedness,
    ) -> Self {
        let existence = match rank {
            0 if !given => Existence::NothingToAbsorb,
            _ if rank > linear => Existence::RankTooLarge,
            _ if given => Existence::Given,
            _ if rank < linear => Existence::EnoughLinear,
            _ => match pointedness() {
                Pointedness::Pointed { functional } => Existence::PointedCone(functional),
                Pointedness::NotPointed { combination } => Existence::NotPointed(combination),
            },
        };
        let empty = matches!(existence, Existence::RankTooLarge | Existence::NotPointed(_));
        let pointed = match &existence {
            // With as many neurons as the rank, being non-empty is being pointed; with more it matters only below the largest rank of V.
            Existence::EnoughLinear | Existence::Given if rank < linear && linear <= m => {
                matches!(pointedness(), Pointedness::Pointed { .. })
            }
            _ => !empty,
        };
        let dimension = if empty { None } else { factor_dimension(linear, m, d, rank, pointed) };
        FiberComponent { orientation, existence, rank, dimension }
    }
}

/// The dimension of `{(V, W) : V W = M, W >= 0}` without zero rows in `W`, for `M` of shape `m x d` and the given rank, `l` rows in `W`; `None` if it is empty.
pub fn factor_dimension(l: usize, m: usize, d: usize, rank: usize, pointed: bool) -> Option<usize> {
    let possible = |&q: &usize| q < l || (q == l && pointed && (rank > 0 || l == 0));
    (rank..=l.min(m)).filter(possible).map(|q| q * l + (q - rank) * (m - q) + (l - q) * d).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_dimensions() {
        let generic = |l: usize, m: usize, d: usize| {
            let r = l.min(m).min(d);
            (l * (m + d) - r * (m + d - r), factor_dimension(l, m, d, r, true))
        };
        for l in 0..7 {
            for m in 1..6 {
                for d in 1..6 {
                    let (formula, found) = generic(l, m, d);
                    assert_eq!(found, Some(formula), "l = {l}, m = {m}, d = {d}");
                }
            }
        }
        assert_eq!(factor_dimension(2, 3, 4, 2, true), Some(4));
        assert_eq!(factor_dimension(4, 3, 5, 3, false), Some(3 * 4 + 5));
        assert_eq!(factor_dimension(3, 3, 5, 3, false), None);
    }

    #[test]
    fn orientations_are_written_as_signs() {
        let orientation = Orientation::new(vec![true, false, true]);
        assert_eq!(orientation.to_string(), "+-+");
        assert_eq!(Orientation::parse("+-+"), Some(orientation));
        assert_eq!(Orientation::parse("+x"), None);
    }
}
