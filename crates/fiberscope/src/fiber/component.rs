//! The pieces of the fiber of a map with one hidden layer: an orientation `S` of the visible neurons and a
//! number `l'` of linear ones.
//!
//! Let `M_S` (`m x d`) be what the linear neurons must supply, `rho = rank M_S`, `k = min(m, d)`, and `s` the
//! number of neurons that lie on no visible hyperplane: `l'` of them linear, the others dead. Piece `(S, l')`
//! asks for `V W = M_S` with `l'` rows `W >= 0` and for the rank `min(l', m, d)` of `V W`, that is for
//! `l' = rho` if `rho < k`, and for `l' >= rho` if `rho = k`.
//!
//! **Lemma** [threelayer2026, Section 4]. For such an `l'` there are `V` and `W >= 0` with `V W = M_S` iff
//! `l' = 0`, or `l' >= d`, or `l' >= m + 1`, or the columns of `M_S` that are not zero lie in an open
//! half-space (the cone is *pointed*). *Proof.* `W = 1` for `l' = d`, `V = [1, -1]`, `W = [M_S + 1 g; g]` for
//! `l' = m + 1`; more rows get `V = 0`. Else `l' = rho`: if `V W = M_S`, then `V` is injective, and the sum
//! of the coordinates of its image is positive on the columns that are not zero; conversely see the module
//! `factor`.
//!
//! **Dimension** modulo permutation and scaling (the rows' norms take away what the free biases `c >= 0` add;
//! a dead neuron is free, less its scale):
//!
//! ```text
//! dim = l' (m + d) - rho (m + d - rho) + (s - l') (m + d) = s (m + d) - rho (m + d - rho).
//! ```
//!
//! It does not depend on `l'`, and falls with `rho <= k`. On `R^d`, where there are no linear and no dead
//! neurons, `s = 0`, and a piece has points iff `M_S = 0`.

use std::fmt;

use fiberscope_algebra::never;
use fiberscope_algebra::program::{Pointedness, pointedness};
use fiberscope_core::{Matrix, Rational};

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

/// A piece of the fiber by name: which visible neurons are active at the base point, and how many of the
/// others are linear.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece {
    /// The orientation `S`.
    pub orientation: Orientation,
    /// The number `l'` of linear neurons.
    pub linear: usize,
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "({}, {} linear)", self.orientation, self.linear)
    }
}

/// A piece of the fiber and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiberComponent {
    /// The orientation `S`.
    pub orientation: Orientation,
    /// The number `l'` of linear neurons.
    pub linear: usize,
    /// The number of dead neurons; `None` if there are fewer neurons than the linear ones that are needed.
    pub dead: Option<usize>,
    /// Whether the products of its two layers have the largest possible ranks for all masks of the neurons
    /// between them, as those of generic parameters have; `None` if that was too much work.
    pub generic: Option<bool>,
    /// Whether it has points, and why.
    pub existence: Existence,
    /// The rank of `M_S`.
    pub rank: usize,
    /// The dimension modulo permutation and scaling; `None` if it is empty.
    pub dimension: Option<usize>,
}

/// Why a piece has points or has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Existence {
    /// `M_S` is zero and no linear neuron is needed.
    NothingToAbsorb,
    /// As many linear neurons as inputs, or more.
    AsManyAsInputs,
    /// More linear neurons than outputs.
    MoreThanOutputs,
    /// As many linear neurons as the rank, and the columns span a pointed cone: a functional that is positive
    /// on them.
    PointedCone(Vec<Rational>),
    /// The translations of a hidden hyperplane.
    Translations,
    /// Empty: the rank of `M_S` is larger than the number of neurons that can be linear.
    RankTooLarge,
    /// Empty: as many linear neurons as the rank, but the columns of `M_S` with these nonnegative multipliers
    /// add up to zero.
    NotPointed(Vec<Rational>),
}

/// The numbers that the pieces of all orientations have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    /// The number `s` of neurons on no visible hyperplane.
    pub others: usize,
    /// The number `m` of outputs.
    pub outputs: usize,
    /// The number `d` of inputs.
    pub inputs: usize,
}

impl Counts {
    /// `min(m, d)`, the largest rank of `M_S`.
    pub fn full(self) -> usize {
        self.outputs.min(self.inputs)
    }

    /// The dimension of the pieces of an orientation, those that have points.
    pub fn dimension(self, rank: usize) -> usize {
        let both = self.outputs + self.inputs;
        self.others * both - rank * (both - rank)
    }

    /// Whether `(S, l')` is listed, for the rank of `M_S`.
    pub fn lists(self, rank: usize, linear: usize) -> bool {
        linear == rank || (rank == self.full() && linear >= rank && linear <= self.others)
    }
}

impl FiberComponent {
    /// Whether there is no parameter in it.
    pub fn is_empty(&self) -> bool {
        matches!(self.existence, Existence::RankTooLarge | Existence::NotPointed(_))
    }

    /// Its name.
    pub fn piece(&self) -> Piece {
        Piece { orientation: self.orientation.clone(), linear: self.linear }
    }

    /// The piece `(S, l')`, for the matrix `M_S` of the given rank. Whether its columns span a pointed cone
    /// is asked for where it matters only.
    pub(super) fn new<'m>(
        piece: Piece,
        counts: Counts,
        rank: usize,
        generic: Option<bool>,
        matrix: impl FnOnce() -> &'m Matrix<Rational>,
    ) -> Self {
        let Piece { orientation, linear } = piece;
        let existence = match linear {
            _ if linear > counts.others || linear < rank => Existence::RankTooLarge,
            0 => Existence::NothingToAbsorb,
            _ if linear >= counts.inputs => Existence::AsManyAsInputs,
            _ if linear > counts.outputs => Existence::MoreThanOutputs,
            _ => match pointedness(matrix(), &never).expect("nobody stops it") {
                Pointedness::Pointed { functional } => Existence::PointedCone(functional),
                Pointedness::NotPointed { combination } => Existence::NotPointed(combination),
            },
        };
        let mut component = FiberComponent {
            orientation,
            linear,
            dead: counts.others.checked_sub(linear),
            generic,
            existence,
            rank,
            dimension: None,
        };
        component.dimension = (!component.is_empty()).then(|| counts.dimension(rank));
        component
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formula of the one-hidden-layer fiber, `l (m + d) - r (m + d - r)` with `r = min(l, m, d)`, and
    /// `m + d` for each dead neuron.
    #[test]
    fn the_table_of_dimensions() {
        for others in 0..7 {
            for outputs in 1..6 {
                for inputs in 1..6 {
                    let counts = Counts { others, outputs, inputs };
                    for rank in 0..=counts.full().min(others) {
                        for linear in (rank..=others).filter(|&linear| counts.lists(rank, linear)) {
                            let r = linear.min(outputs).min(inputs);
                            let both = outputs + inputs;
                            let expected = linear * both - r * (both - r) + (others - linear) * both;
                            assert_eq!(counts.dimension(rank), expected, "{counts:?} {rank} {linear}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn orientations_are_written_as_signs() {
        let orientation = Orientation::new(vec![true, false, true]);
        assert_eq!(orientation.to_string(), "+-+");
        assert_eq!(Orientation::parse("+-+"), Some(orientation));
        assert_eq!(Orientation::parse("+x"), None);
    }
}
