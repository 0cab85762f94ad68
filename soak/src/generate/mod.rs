//! Pairs of networks, most of which are equal or different by construction.
//!
//! Equal pairs are made by rewritings in rational arithmetic and kept only if every number stays a double;
//! different ones come with a point where they differ. Where neither is known, the decomposition of the
//! module [`cells`](crate::cells) tells.

mod bumps;
mod classes;
mod compiled;
mod domains;
mod hidden;
mod maker;

use fiberscope_core::{Domain, Network, Rational};

use crate::cells::Supremum;
use crate::draft::Draft;
pub use maker::{Maker, exact};

/// What construction says about a pair.
#[derive(Clone, Debug)]
pub enum Known {
    /// The networks are equal on `R^n`.
    Equal,
    /// They are equal on the domain of the case.
    EqualThere,
    /// They differ at this point.
    Different(Vec<Rational>),
    /// Nothing.
    Open,
}

/// Two networks and what is known about them.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The first network.
    pub a: Draft,
    /// The second network.
    pub b: Draft,
    /// Whether they are equal.
    pub known: Known,
    /// The supremum of their difference on the domain of the case, where a formula gives it.
    pub supremum: Option<Supremum>,
    /// Whether their parameters agree to a few units in the last place after relabelling, or may do so after
    /// exact moves.
    pub close: bool,
    /// The domain, where the construction needs one.
    pub domain: Option<Domain>,
    /// The neuron that is the difference, if that is so.
    pub bump: Option<bumps::Bump>,
    /// Where something happens: domains near it are worth a look.
    pub place: Option<Vec<Rational>>,
}

impl Pair {
    fn new(a: Draft, b: Draft, known: Known) -> Self {
        Pair { a, b, known, supremum: None, close: false, domain: None, bump: None, place: None }
    }
}

/// A pair of doubles on a domain.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of its class.
    pub class: &'static str,
    /// The networks as they are given to the question.
    pub networks: (Network, Network),
    /// The same and what is known about them.
    pub pair: Pair,
    /// The domain.
    pub domain: Domain,
    /// Whether all numbers are singles.
    pub single: bool,
}

/// The names of the classes, in their order.
pub fn classes() -> impl Iterator<Item = &'static str> {
    classes::CLASSES.iter().map(|class| class.name)
}

/// The case of this number, and the maker to go on with; `None` if its numbers left the doubles.
pub fn case(maker: &mut Maker) -> Option<Case> {
    let total: u32 = classes::CLASSES.iter().map(|class| class.weight).sum();
    let mut at = maker.below(total as usize) as u32;
    let class = classes::CLASSES.iter().find(|class| {
        let found = at < class.weight;
        at = at.saturating_sub(class.weight);
        found
    })?;
    let mut pair = (class.make)(maker)?;
    let networks = (pair.a.network()?, pair.b.network()?);
    let domain = match &pair.domain {
        Some(domain) => domain.clone(),
        None => domains::domain(maker, pair.a.inputs(), pair.place.as_deref()),
    };
    if pair.supremum.is_none() {
        pair.supremum = bumps::supremum_there(&pair, &domain);
    }
    let (networks, pair) = if maker.percent(30) {
        let pair = Pair { a: pair.b, b: pair.a, ..pair };
        ((networks.1, networks.0), pair)
    } else {
        (networks, pair)
    };
    let single = [&networks.0, &networks.1].into_iter().all(is_single);
    Some(Case { class: class.name, networks, pair, domain, single })
}

/// Looks for a point where the networks differ, at several distances.
fn look(maker: &mut Maker, a: &Draft, b: &Draft, sizes: &[i64]) -> Known {
    let differ = |x: &Vec<Rational>| a.value(x) != b.value(x);
    let points = (0..24).map(|i| maker.point(a.inputs(), sizes[i % sizes.len()]));
    points.into_iter().find(differ).map_or(Known::Open, Known::Different)
}

fn is_single(network: &Network) -> bool {
    let single = |x: &f64| f64::from(*x as f32) == *x;
    network.layers().iter().all(|l| l.weight().entries().iter().chain(l.bias()).all(single))
}
