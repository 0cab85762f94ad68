//! Pieces of the boundary between two classes: their normals, and where they bend.

use fiberscope_algebra::dense::{along, direction, dot, minus, norm, peak, reject, scaled};

use super::super::inquiry::Halt;
use super::ask::Asker;
use super::space::{Pair, Place, Space};

/// A predicted boundary may be off by so much, relative to the size of the point.
const SLACK: f64 = 1e-11;

/// The longest step from a point at which its normal is measured, in radii of the domain.
const LONGEST: f64 = 0.02;

/// The shortest one.
const SHORTEST: f64 = 1e-7;

/// Points at which a plane is checked.
const CHECKS: usize = 3;

/// A straight part of a boundary in a plane.
#[derive(Clone, Debug)]
pub(super) struct Ray {
    /// A point of the boundary.
    pub at: Vec<f64>,
    /// The boundary goes on in this direction, of length 1.
    pub along: Vec<f64>,
    /// From the first class to the second, of length 1.
    pub across: Vec<f64>,
    /// The two classes.
    pub pair: Pair,
}

/// A unit normal, and the points that it was measured with.
type Measured = (Vec<f64>, Vec<Place>);

/// Where a ray ends.
pub(super) enum End {
    /// At a bend.
    Bend {
        /// The place of the bend.
        at: Vec<f64>,
        /// The error of it.
        error: f64,
        /// How far it is from the point of the ray.
        distance: f64,
        /// The boundary behind it.
        next: Ray,
        /// Points behind it.
        places: Vec<Place>,
    },
    /// At the end of the space.
    Wall,
    /// Where several things happen at once, or a third class begins.
    Unclear,
}

fn slack(y: &[f64]) -> f64 {
    SLACK * (1.0 + peak(y))
}

impl Space {
    /// The unit normal of the boundary at a point that is crossed in the direction `u`, towards the second
    /// class, and the points it was measured with; `None` if the boundary bends close to it.
    pub fn normal(
        &self,
        asker: &mut Asker<'_>,
        place: &Place,
        u: &[f64],
        longest: f64,
    ) -> Result<Option<Measured>, Halt> {
        let tangents = self.tangents(asker, u);
        let mut h = longest.min(LONGEST * asker.radius);
        while h > SHORTEST * asker.radius {
            let bases: Vec<Vec<f64>> = tangents.iter().map(|v| along(&place.at, h, v)).collect();
            if let Some(t) = self.bisect(asker, &bases, u, 10.0 * h, place.pair)? {
                let mut normal = u.to_vec();
                for (t, v) in t.iter().zip(&tangents) {
                    normal = along(&normal, -t / h, v);
                }
                let normal = direction(&normal).unwrap_or(normal);
                let mut checks = Vec::new();
                for _ in 0..CHECKS {
                    let mut v = asker.direction(self.dimension);
                    reject(&mut v, &normal);
                    let v = scaled(&v, h / norm(&v));
                    checks.extend([along(&place.at, 1.0, &v), along(&place.at, -1.0, &v)]);
                }
                if self.separated(asker, &checks, &normal, slack(&place.at), place.pair)? {
                    let points = bases
                        .iter()
                        .zip(&t)
                        .map(|(base, t)| Place { at: along(base, *t, u), pair: place.pair });
                    return Ok(Some((normal, points.collect())));
                }
            }
            h /= 5.0;
        }
        Ok(None)
    }

    /// Unit vectors that make an orthonormal basis together with `u`.
    fn tangents(&self, asker: &mut Asker<'_>, u: &[f64]) -> Vec<Vec<f64>> {
        let mut basis = vec![u.to_vec()];
        while basis.len() < self.dimension {
            let mut v = asker.direction(self.dimension);
            // Twice: what is left of a random vector is short.
            for _ in 0..2 {
                basis.iter().for_each(|unit| reject(&mut v, unit));
                v = direction(&v).unwrap_or(v);
            }
            basis.push(v);
        }
        basis.split_off(1)
    }

    /// The boundary through a point in the plane of its crossing direction `u` and another direction.
    pub fn ray(&self, asker: &mut Asker<'_>, place: &Place, u: &[f64]) -> Result<Option<Ray>, Halt> {
        let mut v = asker.direction(self.dimension);
        reject(&mut v, u);
        let Some(v) = direction(&v) else { return Ok(None) };
        self.ray_along(asker, place, u, &v)
    }

    /// The boundary through a point in the plane of two orthogonal unit vectors, of which it is crossed along
    /// the first.
    pub fn ray_along(
        &self,
        asker: &mut Asker<'_>,
        place: &Place,
        u: &[f64],
        v: &[f64],
    ) -> Result<Option<Ray>, Halt> {
        let mut h = LONGEST * asker.radius;
        while h > SHORTEST * asker.radius {
            let bases = [along(&place.at, h, v), along(&place.at, h / 2.0, v)];
            let found = self.bisect(asker, &bases, u, 10.0 * h, place.pair)?;
            if let Some(t) = found.filter(|t| (t[0] / 2.0 - t[1]).abs() < 1e-2 * slack(&place.at)) {
                return Ok(Some(Ray::new(place, u, v, t[0] / h)));
            }
            h /= 5.0;
        }
        Ok(None)
    }

    /// Follows a ray to its end.
    pub fn follow(&self, asker: &mut Asker<'_>, ray: &Ray) -> Result<End, Halt> {
        let is_straight = |asker: &mut Asker<'_>, s: f64| {
            let point = along(&ray.at, s, &ray.along);
            self.separated(asker, std::slice::from_ref(&point), &ray.across, slack(&point), ray.pair)
        };
        let (mut lo, mut hi) = (0.0, 1e-3 * asker.radius);
        while is_straight(asker, hi)? {
            (lo, hi) = (hi, 2.0 * hi);
        }
        while hi - lo > 1e-6 * hi {
            let middle = (lo + hi) / 2.0;
            if is_straight(asker, middle)? {
                lo = middle;
            } else {
                hi = middle;
            }
        }
        let at = |s: f64| along(&ray.at, s, &ray.along);
        if !self.holds(&at(hi + 1e-4 * asker.radius)) {
            return Ok(End::Wall);
        }
        let tolerance = 1e-2 * slack(&at(hi));
        for share in [3e-2, 3e-3, 3e-4, 3e-5] {
            let a = share * asker.radius;
            let steps = [hi + a / 4.0, hi + a / 2.0, hi + a];
            let bases = steps.map(at);
            let mut found = None;
            for steep in [2.0, 20.0] {
                found = self.bisect(asker, &bases, &ray.across, steep * a, ray.pair)?;
                if found.is_some() {
                    break;
                }
            }
            let Some(t) = found else { continue };
            let slope = (t[2] - t[0]) / (steps[2] - steps[0]);
            if (t[0] + slope * (steps[1] - steps[0]) - t[1]).abs() > tolerance {
                continue;
            }
            let bend = steps[0] - t[0] / slope;
            let error = 1e-3 * slack(&at(hi)) / slope.abs() + 1e-3 * slack(&at(hi));
            let room = 1e-2 * a + error;
            if !(bend > lo - room && bend < hi + room) {
                continue;
            }
            let place = |k: usize| Place { at: along(&bases[k], t[k], &ray.across), pair: ray.pair };
            let places: Vec<Place> = (0..3).map(place).collect();
            let next = Ray::new(&places[2], &ray.across, &ray.along, slope);
            return Ok(End::Bend { at: at(bend), error, distance: bend, next, places });
        }
        Ok(End::Unclear)
    }

    /// The place of the bend at a point of the boundary, looked at in the direction `w` away from the crossing
    /// direction `u`: `Some(None)` if there is none, `None` if that cannot be seen.
    pub fn bends_at(
        &self,
        asker: &mut Asker<'_>,
        place: &Place,
        u: &[f64],
        w: &[f64],
    ) -> Result<Option<Option<Vec<f64>>>, Halt> {
        let tolerance = 1e-2 * slack(&place.at);
        for share in [1e-2, 1e-3, 1e-4] {
            let a = share * asker.radius;
            let steps = [-a, -a / 2.0, a / 2.0, a];
            let bases = steps.map(|s| along(&place.at, s, w));
            let mut found = None;
            for steep in [2.0, 30.0] {
                found = self.bisect(asker, &bases, u, steep * a, place.pair)?;
                if found.is_some() {
                    break;
                }
            }
            let Some(t) = found else { continue };
            let (left, right) = ((t[0] - t[1]) / (-a / 2.0), (t[3] - t[2]) / (a / 2.0));
            let jump = right - left;
            if jump.abs() * a < 10.0 * tolerance {
                // Straight through the point, or straight on both sides of a step that is not there.
                return Ok(Some(None));
            }
            let at = ((t[1] - left * steps[1]) - (t[2] - right * steps[2])) / jump;
            if at.abs() < 1e-4 * a {
                let across = t[1] + left * (at - steps[1]);
                return Ok(Some(Some(along(&along(&place.at, at, w), across, u))));
            }
            if at.abs() > a {
                // Two bends or more: look closer.
                continue;
            }
            if at.abs() < a / 2.0 {
                return Ok(Some(None));
            }
        }
        Ok(None)
    }
}

impl Ray {
    /// Through a point in the plane of `u` and `v`, `t` along `u` per step along `v`.
    fn new(place: &Place, u: &[f64], v: &[f64], slope: f64) -> Ray {
        let length = slope.hypot(1.0);
        Ray {
            at: place.at.clone(),
            along: scaled(&along(v, slope, u), 1.0 / length),
            across: scaled(&along(u, -slope, v), 1.0 / length),
            pair: place.pair,
        }
    }
}

/// The direction in both planes that two pairs of unit vectors span; `None` if there is none but the vectors
/// themselves, or more than one.
pub(super) fn common(first: [&[f64]; 2], second: [&[f64]; 2]) -> Option<Vec<f64>> {
    const PARALLEL: f64 = 1e-5;
    const MEETING: f64 = 1e-6;
    let apart = |a: &[f64], b: &[f64]| norm(&minus(a, b)).min(norm(&along(a, 1.0, b)));
    if first.iter().any(|a| second.iter().any(|b| apart(a, b) < PARALLEL)) {
        return None;
    }
    let basis = |[a, b]: [&[f64]; 2]| -> Option<[Vec<f64>; 2]> {
        let mut rest = b.to_vec();
        reject(&mut rest, a);
        Some([a.to_vec(), direction(&rest)?])
    };
    let (p, q) = (basis(first)?, basis(second)?);
    let m = [[dot(&p[0], &q[0]), dot(&p[0], &q[1])], [dot(&p[1], &q[0]), dot(&p[1], &q[1])]];
    // The angles of the largest singular value of a 2 x 2 matrix.
    let sum = (m[1][0] - m[0][1]).atan2(m[0][0] + m[1][1]);
    let difference = (m[1][0] + m[0][1]).atan2(m[0][0] - m[1][1]);
    let (left, right) = ((sum + difference) / 2.0, (difference - sum) / 2.0);
    let turned =
        |basis: &[Vec<f64>; 2], angle: f64| along(&scaled(&basis[0], angle.cos()), angle.sin(), &basis[1]);
    let (a, b) = (turned(&p, left), turned(&q, right));
    if apart(&a, &b) > MEETING {
        return None;
    }
    let smaller = (m[0][0] * m[1][1] - m[0][1] * m[1][0]).abs();
    let w = direction(&if dot(&a, &b) > 0.0 { along(&a, 1.0, &b) } else { minus(&a, &b) })?;
    let is_own = first.iter().chain(&second).any(|normal| apart(normal, &w) < PARALLEL);
    (smaller < 1.0 - MEETING && !is_own).then_some(w)
}
