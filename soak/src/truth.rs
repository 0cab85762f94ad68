//! What is true of a pair on a domain: by construction, by decomposition, or at least at many points and on
//! many lines.

use std::cell::OnceCell;

use fiberscope_core::{Domain, Interval, Rational};
use rand::RngExt;

use crate::cells::{Place, Supremum, largest_output, supremum};
use crate::generate::{Case, Known, Maker};

/// Steps that the decomposition of a whole domain may take, and of a line.
const CELLS: usize = 6_000;
const LINE: usize = 2_000;

/// The truth about a case.
pub struct Truth<'a> {
    case: &'a Case,
    seed: u64,
    whole: OnceCell<Option<Supremum>>,
    least: OnceCell<Supremum>,
}

/// How a statement was found to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// True.
    True,
    /// False.
    False,
    /// True at all points and on all lines that were looked at.
    Sampled,
}

impl<'a> Truth<'a> {
    /// The truth about a case.
    pub fn new(case: &'a Case, seed: u64) -> Self {
        Truth { case, seed, whole: OnceCell::new(), least: OnceCell::new() }
    }

    /// The supremum of the difference on the domain of the case, if it can be known.
    pub fn supremum(&self) -> Option<&Supremum> {
        self.whole.get_or_init(|| self.supremum_on(&self.case.domain)).as_ref()
    }

    fn supremum_on(&self, domain: &Domain) -> Option<Supremum> {
        let own = *domain == self.case.domain;
        match &self.case.pair.known {
            Known::Equal => Some(Supremum::Finite(Rational::ZERO)),
            Known::EqualThere if own => Some(Supremum::Finite(Rational::ZERO)),
            _ if own && self.case.pair.supremum.is_some() => self.case.pair.supremum.clone(),
            _ => self.decomposed(domain),
        }
    }

    /// The supremum by decomposition alone.
    pub fn decomposed(&self, domain: &Domain) -> Option<Supremum> {
        let (a, b) = (&self.case.pair.a, &self.case.pair.b);
        supremum(a, b, &Place::domain(domain, a.inputs()), CELLS)
    }

    /// Whether the networks differ by at most `bound` on a domain.
    pub fn within(&self, bound: &Rational, domain: &Domain) -> Standing {
        let own = *domain == self.case.domain;
        let known = if own { self.supremum().cloned() } else { self.supremum_on(domain) };
        let standing = |sure: Standing, holds: bool| if holds { sure } else { Standing::False };
        match known {
            Some(supremum) => standing(Standing::True, supremum.is_at_most(bound)),
            None if own => standing(Standing::Sampled, self.least().is_at_most(bound)),
            None => standing(Standing::Sampled, self.sampled(domain).is_at_most(bound)),
        }
    }

    fn least(&self) -> &Supremum {
        self.least.get_or_init(|| self.sampled(&self.case.domain))
    }

    /// The largest difference at some points of the domain and on some lines.
    fn sampled(&self, domain: &Domain) -> Supremum {
        let (a, b) = (&self.case.pair.a, &self.case.pair.b);
        let mut points = self.points(domain);
        if let Known::Different(x) = &self.case.pair.known {
            points.extend(domain.contains(x).then(|| x.clone()));
        }
        let mut largest = Rational::ZERO;
        for x in &points {
            let (y, z) = (a.value(x), b.value(x));
            largest = largest.max(distance(&y, &z));
        }
        for pair in points.windows(2).take(12) {
            let direction: Vec<_> = pair[0].iter().zip(&pair[1]).map(|(x, y)| y - x).collect();
            match supremum(a, b, &Place::line(domain, &pair[0], &direction), LINE) {
                Some(Supremum::Finite(x)) => largest = largest.max(x),
                Some(Supremum::Infinite) => return Supremum::Infinite,
                None => {}
            }
        }
        Supremum::Finite(largest)
    }

    /// Whether a bound is small beside the outputs on the domain.
    pub fn is_small(&self, bound: &Rational) -> Standing {
        let place = Place::domain(&self.case.domain, self.case.pair.a.inputs());
        let enough = bound * &Rational::from(256);
        match largest_output(&self.case.pair.a, &place, CELLS) {
            Some(Supremum::Finite(size)) if size < enough => Standing::False,
            Some(_) => Standing::True,
            None => Standing::Sampled,
        }
    }

    /// Points of a domain, some corners among them.
    fn points(&self, domain: &Domain) -> Vec<Vec<Rational>> {
        let mut maker = Maker::new(self.seed, 0x00c0_ffee);
        let sides = domain.sides(self.case.pair.a.inputs());
        let coordinate = |side: &Interval, maker: &mut Maker, corner: bool| {
            let reach = Rational::from(maker.pick(&[1, 4, 64]));
            let lower = side.lower.clone().unwrap_or_else(|| match &side.upper {
                Some(upper) => upper - &reach,
                None => -&reach,
            });
            let upper = side.upper.clone().unwrap_or_else(|| &lower + &(&reach * &Rational::from(2)));
            let share =
                if corner { 16 * maker.rng.random_range(0..2) } else { maker.rng.random_range(0..=16) };
            &lower + &(&Rational::dyadic(share, -4) * &(&upper - &lower))
        };
        (0..40).map(|i| sides.iter().map(|side| coordinate(side, &mut maker, i % 3 == 0)).collect()).collect()
    }
}

/// The largest difference of two outputs.
pub fn distance(y: &[Rational], z: &[Rational]) -> Rational {
    y.iter().zip(z).map(|(y, z)| (y - z).abs()).max().unwrap_or(Rational::ZERO)
}
