//! What somebody wants to know of two networks, and whether a certificate that holds tells it.
//!
//! Lemma. Let a certificate prove its claim on `D`. It proves `f_A = f_B`, or `abs(f_A - f_B) <= eps`, on
//! every subset `Q` of `D` if it claims equality, and the latter also if it claims a bound of at most `eps`.
//! A point where the networks differ proves that they differ on every set in which it lies.
//!
//! That A's class is B's wherever A leads by at least `m` (strictly, if `m = 0`) follows on `Q` from equality,
//! from the same claim with a margin of at most `m`, as the premise asks for more then, and from bounds `e_k`
//! of the differences of outputs if `e_i + e_j < m` for all `i != j`: where `A_i - A_j >= m`,
//! `B_i - B_j >= m - e_i - e_j > 0`. That it is not so somewhere in `Q` follows from a point of `Q` whose values
//! say so.
//!
//! What is said of the parameters near the given ones with the same function on `D` is true of those with the same
//! function on any larger set: there are fewer of them.

use fiberscope_core::{Certificate, Claim, Domain, Evidence, Rational};

use crate::difference::class_change;

/// A claim that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskedClaim {
    /// The networks compute the same function.
    Equivalent,
    /// They do not.
    Different,
    /// The outputs differ by at most this.
    Within(Rational),
    /// Wherever one output of A leads all others by at least this (strictly, if it is 0), that output of B
    /// leads all others.
    SameClass(Rational),
    /// That is not so.
    OtherClass(Rational),
    /// Near the parameters, those with the same function are their positive scalings.
    LocallyIdentifiable,
}

/// A question about two networks. What is left open is taken from the certificate.
///
/// ```
/// use fiberscope_check::{AskedClaim, Question, Shortfall};
/// use fiberscope_core::{Certificate, Domain, Evidence, MoveChain, Network};
///
/// let a = Network::from_rows(&[(&[&[1.0]], &[0.0])]).unwrap();
/// let nothing = Evidence::Moves { a: MoveChain::default(), b: MoveChain::default() };
/// let on_the_orthant = Certificate::new(&a, &a, Domain::orthant(1), nothing);
/// let question = Question { claim: Some(AskedClaim::Equivalent), domain: Some(Domain::Space) };
/// assert_eq!(question.shortfall(&on_the_orthant), Some(Shortfall::Domain));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The claim.
    pub claim: Option<AskedClaim>,
    /// Where.
    pub domain: Option<Domain>,
}

/// Why a certificate that holds does not answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortfall {
    /// It proves another claim.
    Claim,
    /// Its bound is larger than what was asked for.
    Bound,
    /// It says nothing about leads as small as asked for.
    Margin,
    /// Its domain is not all of the question's domain.
    Domain,
    /// The point where the networks differ does not lie in the question's domain.
    Point,
    /// The question's domain does not contain the certificate's.
    Around,
}

impl Question {
    /// Whether something was asked.
    pub fn is_stated(&self) -> bool {
        self.claim.is_some() || self.domain.is_some()
    }

    /// What is missing, in a certificate that holds, to answer the question.
    pub fn shortfall(&self, certificate: &Certificate) -> Option<Shortfall> {
        let claim = certificate.claim();
        let holds = match (&self.claim, &claim) {
            (None, _)
            | (
                Some(AskedClaim::Equivalent | AskedClaim::Within(_) | AskedClaim::SameClass(_)),
                Claim::Equivalent,
            ) => true,
            (Some(AskedClaim::Different), Claim::Different) => true,
            (Some(AskedClaim::LocallyIdentifiable), Claim::FiberDimension { upper, scalings }) => {
                upper <= scalings
            }
            (Some(AskedClaim::Within(eps)), Claim::EquivalentUpToRounding { .. } | Claim::Within { .. }) => {
                if claim.bound().is_some_and(|bound| bound > eps) {
                    return Some(Shortfall::Bound);
                }
                true
            }
            (Some(AskedClaim::SameClass(margin)), _) => match (least_lead(&claim, certificate), &claim) {
                (Some(least), Claim::SameClass { .. }) if least <= *margin => true,
                (Some(least), Claim::Within { .. } | Claim::EquivalentUpToRounding { .. })
                    if least < *margin =>
                {
                    true
                }
                (Some(_), _) => return Some(Shortfall::Margin),
                (None, _) => false,
            },
            (Some(AskedClaim::OtherClass(margin)), Claim::Different) => match &certificate.evidence {
                Evidence::Witness { a, b, .. } if class_change(a, b, margin).is_some() => true,
                _ => return Some(Shortfall::Margin),
            },
            (Some(_), _) => false,
        };
        if !holds {
            return Some(Shortfall::Claim);
        }
        let asked = self.domain.as_ref()?;
        match &certificate.evidence {
            Evidence::Witness { x, .. } => (!asked.contains(x)).then_some(Shortfall::Point),
            Evidence::Rank(_) => {
                let inputs = certificate.a.widths.first().copied().unwrap_or(0);
                (!certificate.domain.is_inside(asked, inputs)).then_some(Shortfall::Around)
            }
            _ => {
                let inputs = certificate.a.widths.first().copied().unwrap_or(0);
                (!asked.is_inside(&certificate.domain, inputs)).then_some(Shortfall::Domain)
            }
        }
    }
}

/// What A's lead has to be, or has to exceed where a claim is about differences, for the claim to say that B's
/// class is the same; `None` if it says nothing of that.
fn least_lead(claim: &Claim, certificate: &Certificate) -> Option<Rational> {
    match claim {
        Claim::SameClass { margin } => Some(margin.clone()),
        Claim::EquivalentUpToRounding { bound } => Some(bound + bound),
        Claim::Within { bounds } => {
            let mut bounds: Vec<&Rational> = bounds.iter().collect();
            bounds.sort_unstable();
            let [.., second, first] = bounds[..] else { return None };
            Some(first + second)
        }
        Claim::Equivalent
        | Claim::ParametersAgree { .. }
        | Claim::Different
        | Claim::FiberDimension { .. } => None,
    }
    .filter(|_| certificate.a.widths.last().is_some_and(|&outputs| outputs > 1))
}
