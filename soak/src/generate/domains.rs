//! Where pairs are compared.

use fiberscope_core::{Domain, Interval, Rational};
use rand::RngExt;

use super::maker::{Maker, exact};

/// A domain for networks with this many inputs: the whole space, or a box of one of many kinds.
pub fn domain(maker: &mut Maker, inputs: usize, place: Option<&[Rational]>) -> Domain {
    if maker.percent(45) {
        return Domain::Space;
    }
    let kind = maker.below(10);
    let side = |maker: &mut Maker, i: usize| -> Interval {
        let centre = maker.number();
        let r = Rational::from;
        match kind {
            0 | 1 => Interval::new(r(-1), r(1)),
            // Tight.
            2 => {
                let width = Rational::dyadic(1, -maker.rng.random_range(1..40));
                Interval::new(centre.clone(), &centre + &width)
            }
            // Some or all inputs are fixed.
            3 => match maker.below(3) {
                0 => Interval::new(r(-2), r(2)),
                _ => Interval::new(centre.clone(), centre),
            },
            // Half-open, or open on both sides.
            4 => match maker.below(4) {
                0 => Interval::ALL,
                1 => Interval { lower: None, upper: Some(centre) },
                _ => Interval { lower: Some(centre), upper: None },
            },
            5 => Interval { lower: Some(Rational::ZERO), upper: None },
            // Huge.
            6 => {
                let size = Rational::dyadic(1, maker.rng.random_range(10..60));
                Interval::new(-&size, size)
            }
            // Around where something happens, or just beside it.
            7 | 8 if place.is_some() => {
                let at = place.map_or(Rational::ZERO, |place| place[i].clone());
                let width = maker.positive();
                match maker.below(3) {
                    0 => Interval::new(&at - &width, &at + &width),
                    1 => Interval::new(at.clone(), &at + &width),
                    _ => Interval::new(at.clone().min(Rational::ZERO), at.max(Rational::ZERO)),
                }
            }
            // Ends with all their digits.
            9 => {
                let (x, y) = (maker.rng.random::<f64>() * 6.0 - 3.0, maker.rng.random::<f64>() * 6.0 - 3.0);
                Interval::new(exact(x.min(y)), exact(x.max(y)))
            }
            _ => {
                let (x, y) = (maker.number(), maker.number());
                Interval::new(x.clone().min(y.clone()), x.max(y))
            }
        }
    };
    Domain::Box((0..inputs).map(|i| side(maker, i)).collect())
}
