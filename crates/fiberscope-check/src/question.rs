//! What somebody wants to know of two networks, and whether a certificate that holds tells it.
//!
//! Lemma. Let a certificate prove its claim on `D`. It proves `f_A = f_B`, or `abs(f_A - f_B) <= eps`, on
//! every subset `Q` of `D` if it claims equality, and the latter also if it claims a bound of at most `eps`.
//! A point where the networks differ proves that they differ on every set in which it lies.

use fiberscope_core::{Certificate, Claim, Domain, Evidence, Rational};

/// A claim that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskedClaim {
    /// The networks compute the same function.
    Equivalent,
    /// They do not.
    Different,
    /// The outputs differ by at most this.
    Within(Rational),
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
    /// Its domain is not all of the question's domain.
    Domain,
    /// The point where the networks differ does not lie in the question's domain.
    Point,
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
            (None, _) | (Some(AskedClaim::Equivalent | AskedClaim::Within(_)), Claim::Equivalent) => true,
            (Some(AskedClaim::Different), Claim::Different) => true,
            (Some(AskedClaim::Within(eps)), Claim::EquivalentUpToRounding { .. } | Claim::Within { .. }) => {
                if claim.bound().is_some_and(|bound| bound > eps) {
                    return Some(Shortfall::Bound);
                }
                true
            }
            (Some(_), _) => false,
        };
        if !holds {
            return Some(Shortfall::Claim);
        }
        let asked = self.domain.as_ref()?;
        match &certificate.evidence {
            Evidence::Witness { x, .. } => (!asked.contains(x)).then_some(Shortfall::Point),
            _ => {
                let inputs = certificate.a.widths.first().copied().unwrap_or(0);
                (!asked.is_inside(&certificate.domain, inputs)).then_some(Shortfall::Domain)
            }
        }
    }
}
