//! What certificates say.

use std::fmt;

use crate::{Rational, decimal};

/// What a certificate says about `f_A` and `f_B` on its domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// `f_A(x) = f_B(x)` for every `x`.
    Equivalent,
    /// `abs(f_A(x) - f_B(x)) <= bound` for every `x` and every output.
    EquivalentUpToRounding {
        /// The bound.
        bound: Rational,
    },
    /// `abs(f_A(x)[k] - f_B(x)[k]) <= bounds[k]` for every `x` and every output `k`.
    Within {
        /// A bound for each output.
        bounds: Vec<Rational>,
    },
    /// For every `x` and every output `i` with `f_A(x)[i] - f_A(x)[l] >= margin` for all others `l` (`> 0`
    /// for all others, if the margin is 0), `f_B(x)[i] > f_B(x)[j]` for all others `j`: where the first
    /// network decides for a class by the margin, the second one decides for it too.
    SameClass {
        /// The margin, not negative.
        margin: Rational,
    },
    /// Moves that keep both functions lead to networks whose parameters agree one by one. Nothing is said
    /// about the outputs.
    ParametersAgree {
        /// Parameters `p`, `q` satisfy `abs(p - q) <= relative * max(abs(p), abs(q))`.
        relative: Rational,
    },
    /// `f_A(x) != f_B(x)` for some `x`.
    Different,
    /// Near the parameters of `A`, those with the same function on the domain lie in a manifold of this
    /// dimension. If it is the number of the positive scalings, they are the scalings of `A` and no others: the
    /// parameters are locally identifiable.
    FiberDimension {
        /// The dimension.
        upper: u64,
        /// How many hidden neurons can be scaled.
        scalings: u64,
    },
}

impl Claim {
    /// The claim's name in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Claim::Equivalent => "equivalent",
            Claim::EquivalentUpToRounding { .. } => "equivalent_up_to_rounding",
            Claim::Within { .. } => "within",
            Claim::SameClass { .. } => "same_class",
            Claim::ParametersAgree { .. } => "parameters_agree",
            Claim::Different => "different",
            Claim::FiberDimension { upper, scalings } if upper == scalings => "locally_identifiable",
            Claim::FiberDimension { .. } => "fiber_dimension",
        }
    }

    /// The largest difference of two outputs that the claim allows, if it speaks of one.
    pub fn bound(&self) -> Option<&Rational> {
        match self {
            Claim::EquivalentUpToRounding { bound } => Some(bound),
            Claim::Within { bounds } => bounds.iter().max(),
            Claim::Equivalent
            | Claim::SameClass { .. }
            | Claim::ParametersAgree { .. }
            | Claim::Different
            | Claim::FiberDimension { .. } => None,
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Claim::Equivalent => write!(f, "the networks compute the same function"),
            Claim::EquivalentUpToRounding { .. } | Claim::Within { .. } => {
                let bound = self.bound().unwrap_or(&Rational::ZERO);
                write!(f, "the outputs differ by at most {}", decimal::upper(bound))
            }
            Claim::SameClass { margin } if margin.is_zero() => {
                write!(f, "wherever one output of A is the largest, that output of B is the largest")
            }
            Claim::SameClass { margin } => write!(
                f,
                "wherever one output of A is the largest by at least {}, that output of B is the largest",
                decimal::upper(margin)
            ),
            Claim::ParametersAgree { relative } => write!(
                f,
                "moves that keep both functions lead to networks whose parameters agree one by one to a relative difference of {}; \
                 nothing is said about the outputs",
                decimal::upper(relative)
            ),
            Claim::Different => write!(f, "the networks compute different functions"),
            Claim::FiberDimension { upper, scalings } if upper == scalings => write!(
                f,
                "the parameters are locally identifiable: near them, those with the same function are their \
                 positive scalings and no others"
            ),
            Claim::FiberDimension { upper, scalings } => write!(
                f,
                "near the parameters, those with the same function lie in a manifold of dimension {upper}, of which {scalings} \
                 are positive scalings"
            ),
        }
    }
}
