//! A canonical representative of a network, and a fingerprint of its function.
//!
//! The network is reduced ([`crate::reduce`]), hidden hyperplanes are brought into normal form
//! ([threelayer2026, Section 5]), every row of a hidden layer (the bias included) is scaled to have [content]
//! 1, and the neurons of each layer are sorted. The fingerprint is a hash of this form in which the last
//! hidden layer and the output layer (or all layers behind, where the function depends on one variable only)
//! are replaced by their hyperplane representation, which does not depend on the parameters chosen for them.
//!
//! Networks with the same fingerprint have the same function on the domain. The converse holds for the
//! classes of [`CoveredClass`]; `docs/theory/canonical-form.md` says precisely when.

mod doubles;
mod fingerprint;
mod hashed;
pub(crate) mod hidden;
mod line;

use std::borrow::Cow;
use std::cmp::Ordering;

use fiberscope_core::{
    Domain, DomainError, ExactNetwork, Move, MoveChain, Network, NetworkError, Rational, Scalar, content,
};
pub use hashed::FingerprintVersion;
use thiserror::Error;

use crate::limit::{Deadline, LimitReached};
use crate::orbit::lines::entries;
use crate::reduce::{Folding, ReduceOptions, Reduction, reduce};

/// What a fingerprint says about networks with another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoveredClass {
    /// An affine map. Two networks of this class are equal iff their fingerprints are.
    Affine,
    /// A map with one hidden layer, as functions of one variable are at any depth. Two networks of this class
    /// are equal iff their fingerprints are.
    OneHiddenLayer,
    /// Two hidden layers on all of `R^n`, the first weight of full row rank. Two *generic* networks of
    /// this class are equal iff their fingerprints are.
    Bottleneck,
    /// Any other network. The fingerprint is the same for networks that permutation, scaling and the
    /// moves of reduction lead to the same form.
    General,
}

impl CoveredClass {
    /// The name of the class in files.
    pub fn name(self) -> &'static str {
        match self {
            CoveredClass::Affine => "affine",
            CoveredClass::OneHiddenLayer => "one_hidden_layer",
            CoveredClass::Bottleneck => "bottleneck",
            CoveredClass::General => "general",
        }
    }

    /// Which networks are of this class, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            CoveredClass::Affine => "an affine map",
            CoveredClass::OneHiddenLayer => "a map with one hidden layer",
            CoveredClass::Bottleneck => "two hidden layers, the first weight of full row rank",
            CoveredClass::General => "none of the classes affine, one_hidden_layer and bottleneck",
        }
    }

    /// Whether all networks of this class and the other complete ones with the same function have the same
    /// fingerprint. Otherwise different fingerprints prove nothing about networks of which nothing else is
    /// known.
    pub fn is_complete(self) -> bool {
        matches!(self, CoveredClass::Affine | CoveredClass::OneHiddenLayer)
    }

    /// What equal and different fingerprints prove, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            CoveredClass::Affine | CoveredClass::OneHiddenLayer => {
                "the same fingerprint proves the same function, another one of the same version and of class affine or one_hidden_layer another function"
            }
            CoveredClass::Bottleneck => {
                "the same fingerprint proves the same function; another one of the same version proves another function only of generic networks of this class"
            }
            CoveredClass::General => {
                "the same fingerprint proves the same function; another one proves nothing"
            }
        }
    }
}

/// The network of a canonical form: in doubles where it was found in doubles.
#[derive(Clone, Debug)]
pub enum Representative {
    /// In doubles.
    Doubles(Network),
    /// In rational numbers, which may be doubles.
    Rationals(ExactNetwork),
}

impl Representative {
    /// The widths.
    pub fn widths(&self) -> Vec<usize> {
        match self {
            Representative::Doubles(network) => network.widths(),
            Representative::Rationals(network) => network.widths(),
        }
    }

    /// Its parameters as rational numbers.
    pub fn to_exact(&self) -> Cow<'_, ExactNetwork> {
        match self {
            Representative::Doubles(network) => Cow::Owned(network.to_exact()),
            Representative::Rationals(network) => Cow::Borrowed(network),
        }
    }

    /// With every parameter rounded to the nearest double, and whether nothing was lost. Fails if a parameter is
    /// beyond the doubles.
    pub fn to_f64(&self) -> Result<(Cow<'_, Network>, bool), NetworkError> {
        match self {
            Representative::Doubles(network) => Ok((Cow::Borrowed(network), true)),
            Representative::Rationals(network) => {
                network.to_f64().map(|(network, exact)| (Cow::Owned(network), exact))
            }
        }
    }
}

/// The same numbers, however they are held.
impl PartialEq for Representative {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Representative::Doubles(x), Representative::Doubles(y)) => x == y,
            _ => self.to_exact() == other.to_exact(),
        }
    }
}

/// A network in canonical form.
#[derive(Clone, Debug, PartialEq)]
pub struct Canonical {
    /// The network.
    pub network: Representative,
    /// The moves that lead to it from the given one.
    pub moves: MoveChain,
    /// The fingerprint, of version 2: `v2:` and 64 hexadecimal digits.
    pub fingerprint: String,
    /// What the fingerprint says about networks with another one.
    pub class: CoveredClass,
}

/// Why there is no canonical form.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum CanonicalError {
    /// The box does not fit the network's inputs.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// A limit was reached first.
    #[error(transparent)]
    Limit(#[from] LimitReached),
}

impl Canonical {
    /// The fingerprint of a given version, on the domain of the canonical form.
    pub fn fingerprint_of(
        &self,
        version: FingerprintVersion,
        domain: &Domain,
        deadline: &Deadline,
    ) -> Result<String, LimitReached> {
        if version == FingerprintVersion::default() {
            return Ok(self.fingerprint.clone());
        }
        let (found, _) = fingerprint::fingerprint(&self.network.to_exact(), domain, version, deadline);
        deadline.check(LATE)?;
        Ok(found)
    }
}

/// When there was no answer yet.
const LATE: &str = "before the canonical form was known";

/// The canonical form of a network of doubles on a domain, without rational numbers where none are needed.
///
/// ```
/// use fiberscope::canonical::canonicalize;
/// use fiberscope::orbit::relabel;
/// use fiberscope::{Deadline, Domain, Network};
///
/// let network = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap();
/// let twin = relabel(&network, 1).network;
/// let [ours, theirs] =
///     [network, twin].map(|network| canonicalize(&network, &Domain::Space, &Deadline::NEVER).unwrap());
/// assert_eq!(ours.fingerprint, theirs.fingerprint);
/// ```
pub fn canonicalize(
    network: &Network,
    domain: &Domain,
    deadline: &Deadline,
) -> Result<Canonical, CanonicalError> {
    if *domain == Domain::Space
        && let Some(found) = doubles::canonicalize(network, deadline)
    {
        return Ok(found);
    }
    deadline.check(LATE)?;
    canonicalize_exact(&network.to_exact(), domain, deadline)
}

/// The canonical form of a network of rational numbers on a domain.
pub fn canonicalize_exact(
    network: &ExactNetwork,
    domain: &Domain,
    deadline: &Deadline,
) -> Result<Canonical, CanonicalError> {
    let options = ReduceOptions::new().folding(Folding::Always).outweigh(false).deadline(deadline.clone());
    let mut form = reduce(network, domain, &options)?;
    // Every round but the last one removes neurons.
    while settle_hidden(&mut form, domain) {
        let again = reduce(&form.network, domain, &options)?;
        let settled = again.moves.is_empty();
        form = Reduction { network: again.network, moves: form.moves.compose(again.moves) };
        if settled {
            break;
        }
    }
    // What a reduction left undone is no canonical form.
    deadline.check(LATE)?;
    let (mut network, mut moves) = (form.network, form.moves);
    for layer in 0..network.hidden_depth() {
        for make in [unit_scale, sorted as fn(&ExactNetwork, usize) -> Option<Move>] {
            if let Some(next) = make(&network, layer) {
                next.apply(&mut network, domain).expect("positive factors and permutations always apply");
                moves.push(next);
            }
        }
    }
    let version = FingerprintVersion::default();
    let (fingerprint, class) = fingerprint::fingerprint(&network, domain, version, deadline);
    deadline.check(LATE)?;
    Ok(Canonical { network: Representative::Rationals(network), moves, fingerprint, class })
}

/// Brings hidden hyperplanes into normal form, from the last layer to the first; whether there were any
/// moves.
fn settle_hidden(form: &mut Reduction, domain: &Domain) -> bool {
    let before = form.moves.moves().len();
    for layer in (0..form.network.hidden_depth().saturating_sub(1)).rev() {
        for each in hidden::normalize(&form.network, layer) {
            if each.apply(&mut form.network, domain).is_ok() {
                form.moves.push(each);
            }
        }
    }
    form.moves.moves().len() > before
}

/// The scaling that gives every row content 1, if it changes anything.
fn unit_scale(network: &ExactNetwork, layer: usize) -> Option<Move> {
    let rows = &network.layers()[layer];
    let factor = |unit: usize| content(entries(rows, unit))?.recip();
    let factors: Vec<_> = (0..rows.width()).map(|unit| factor(unit).unwrap_or(Rational::ONE)).collect();
    let changes = factors.iter().any(|factor| *factor != Rational::ONE);
    changes.then_some(Move::Scale { layer, factors })
}

/// The permutation that sorts the rows, if it changes anything.
fn sorted<S: Scalar + PartialOrd>(network: &Network<S>, layer: usize) -> Option<Move> {
    let rows = &network.layers()[layer];
    let mut order: Vec<_> = (0..rows.width()).collect();
    // Finite numbers can be compared.
    order.sort_by(|&i, &j| entries(rows, i).partial_cmp(entries(rows, j)).unwrap_or(Ordering::Equal));
    let changes = order.iter().enumerate().any(|(place, &unit)| place != unit);
    changes.then_some(Move::Permute { layer, order })
}
