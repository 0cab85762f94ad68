//! The neurons of a layer, from the bends of boundaries between classes.
//!
//! Where a boundary crosses the hyperplane of a neuron, its normal changes by a multiple of the neuron's row: so
//! the row lies in the plane of the normals before and behind the bend [carlini2025polynomial]. Two
//! bends of one neuron with unlike normals, say where another neuron is in its other state, have only the row in
//! common; and both lie in the hyperplane.

use fiberscope_algebra::dense::{along, dot, minus, norm, peak};

use super::super::ExtractStep;
use super::super::algebra::Svd;
use super::super::inquiry::Halt;
use super::ask::Asker;
use super::piece::{End, Ray, common};
use super::space::{Pair, Place, Space, ordered};
use fiberscope_core::Matrix;

/// Bends after which a new boundary is looked for.
const LONGEST_WALK: usize = 12;

/// So often a walk turns where it meets a wall.
const TURNS: usize = 4;

/// Segments without a boundary after which there seems to be none.
const PATIENCE: usize = 400;

/// Bends on the predicted hyperplane, away from where it was found, that accept it; one miss is allowed.
const HITS: usize = 5;

/// Bends that are not explained, at most: the oldest are forgotten.
const MOST_BENDS: usize = 3_000;

/// A hyperplane `w . y + b = 0` with `|w| = 1`; which side is on is not known.
#[derive(Clone, Debug)]
pub(super) struct Plane {
    pub w: Vec<f64>,
    pub b: f64,
    /// Whether it was seen to go on elsewhere, if that was looked at.
    pub confirmed: Option<bool>,
    /// Bends on it.
    on: Vec<Vec<f64>>,
}

impl Plane {
    /// The signed distance of a point.
    pub fn at(&self, y: &[f64]) -> f64 {
        dot(&self.w, y) + self.b
    }

    /// Whether another plane is this one, less precise.
    fn is_near(&self, other: &Plane) -> bool {
        norm(&along(&self.w, -dot(&self.w, &other.w), &other.w)) < 1e-5
    }

    /// With a bend more on it; once there are enough, they tell the plane better than two pairs of normals.
    fn refine(&mut self, bend: &[f64]) {
        const SPREAD: f64 = 0.02;
        let enough = bend.len() + 3;
        self.on.push(bend.to_vec());
        if self.on.len() < enough || self.on.len() > 8 * enough || !self.on.len().is_multiple_of(enough) {
            return;
        }
        let count = self.on.len() as f64;
        let mean = self.on.iter().fold(vec![0.0; bend.len()], |sum, y| along(&sum, 1.0 / count, y));
        let rows: Vec<Vec<f64>> = self.on.iter().map(|y| minus(y, &mean)).collect();
        let Some(svd) = Matrix::from_rows(&rows).and_then(|rows| Svd::of(&rows)) else { return };
        let last = bend.len() - 1;
        let is_clear = last > 0 && svd.s[last - 1] > SPREAD * svd.s[0] && svd.s[last] < 1e-9 * svd.s[0];
        let turned =
            svd.v[last].iter().map(|v| v * dot(&svd.v[last], &self.w).signum()).collect::<Vec<f64>>();
        if is_clear && norm(&minus(&turned, &self.w)) < 1e-6 {
            (self.b, self.w) = (-dot(&turned, &mean), turned);
        }
    }

    fn passes(&self, bend: &[f64], error: f64) -> bool {
        self.at(bend).abs() < (1e-9 + 1e2 * error) * (1.0 + peak(bend))
    }
}

/// A bend that no known neuron explains.
struct Bend {
    at: Vec<f64>,
    error: f64,
    normals: [Vec<f64>; 2],
}

/// A normal of the boundary.
pub(super) struct Normal {
    pub place: Place,
    pub normal: Vec<f64>,
}

/// What was seen in a space.
#[derive(Default)]
pub(super) struct Hunt {
    /// Hyperplanes that explain bends.
    pub planes: Vec<Plane>,
    /// Points of boundaries.
    pub places: Vec<Place>,
    /// Normals of boundaries.
    pub normals: Vec<Normal>,
    /// Points that are wrongly explained: boundaries are looked for beside them.
    pub starts: Vec<Vec<f64>>,
    bends: Vec<Bend>,
    /// Bends that were seen, and those that planes explained when they were seen.
    pub seen: usize,
    layer: usize,
}

impl Hunt {
    /// Nothing seen yet in the space of this hidden layer.
    pub fn new(layer: usize) -> Self {
        Hunt { layer, ..Hunt::default() }
    }

    /// Bends that no plane explains.
    pub fn unexplained(&self) -> usize {
        self.bends.len()
    }

    /// A random boundary of a kind that is wanted.
    pub fn boundary(
        &mut self,
        asker: &mut Asker<'_>,
        space: &Space,
        scale: f64,
        tries: usize,
        wanted: &dyn Fn(Pair) -> bool,
    ) -> Result<Option<(Place, Vec<f64>)>, Halt> {
        asker.begin(self.layer, ExtractStep::Lines);
        for _ in 0..tries {
            let a = match self.starts.pop() {
                Some(start) => start,
                None => space.sample(asker, scale),
            };
            let b = space.sample(asker, scale);
            if let Some((place, u)) = space.between(asker, (&a, &b), wanted)? {
                self.places.push(place.clone());
                return Ok(Some((place, u)));
            }
        }
        Ok(None)
    }

    /// The pairs of classes that met, and how many points there are between them.
    pub fn pairs(&self) -> Vec<(Pair, usize)> {
        let mut pairs: Vec<(Pair, usize)> = Vec::new();
        for pair in self.places.iter().map(|place| ordered(place.pair)) {
            match pairs.iter_mut().find(|(known, _)| *known == pair) {
                Some((_, count)) => *count += 1,
                None => pairs.push((pair, 1)),
            }
        }
        pairs
    }

    /// Points of boundaries near those of pairs that have fewer than `enough`.
    pub fn more(&mut self, asker: &mut Asker<'_>, space: &Space, enough: usize) -> Result<(), Halt> {
        const REACHES: [f64; 4] = [0.03, 0.1, 0.3, 1.0];
        asker.begin(self.layer, ExtractStep::Lines);
        for (pair, count) in self.pairs() {
            for round in count..count + 3 * enough.saturating_sub(count) {
                let known: Vec<&Place> =
                    self.places.iter().filter(|place| ordered(place.pair) == pair).collect();
                if known.len() >= enough {
                    break;
                }
                let at = &known[asker.below(known.len())].at;
                let reach = REACHES[round % REACHES.len()] * asker.radius;
                let (u, shift) = (asker.direction(space.dimension), asker.direction(space.dimension));
                let middle = along(at, reach / 3.0, &shift);
                let (a, b) = (along(&middle, -reach, &u), along(&middle, reach, &u));
                if !(space.holds(&a) && space.holds(&b)) {
                    continue;
                }
                if let Some((place, _)) = space.between(asker, (&a, &b), &|found| ordered(found) == pair)? {
                    self.places.push(place);
                }
            }
        }
        Ok(())
    }

    /// Follows a boundary from a random point, and looks for neurons at its bends. `false` if no boundary was
    /// found.
    pub fn walk(&mut self, asker: &mut Asker<'_>, space: &Space, scale: f64) -> Result<bool, Halt> {
        let Some((place, u)) = self.boundary(asker, space, scale, PATIENCE, &|_| true)? else {
            return Ok(false);
        };
        asker.begin(self.layer, ExtractStep::Bends);
        let Some(mut ray) = space.ray(asker, &place, &u)? else { return Ok(true) };
        let (mut before, mut turns): (Option<Vec<f64>>, usize) = (None, 0);
        for _ in 0..LONGEST_WALK {
            asker.begin(self.layer, ExtractStep::Bends);
            let End::Bend { at, error, distance, next, places } = space.follow(asker, &ray)? else {
                // Another way on the same piece.
                turns += 1;
                let place = Place { at: ray.at.clone(), pair: ray.pair };
                match space.ray(asker, &place, &ray.across)? {
                    Some(turned) if turns <= TURNS => ray = turned,
                    _ => break,
                }
                continue;
            };
            self.places.extend(places);
            self.seen += 1;
            let plane = self.planes.iter_mut().find(|plane| plane.passes(&at, error));
            let known = plane.is_some();
            if let Some(plane) = plane.filter(|_| error < 1e-11) {
                plane.refine(&at);
            }
            let mut behind = None;
            if !known && error < 1e-8 {
                let first = match before.take() {
                    Some(normal) => Some(normal),
                    None => self.normal(asker, space, &ray, distance)?,
                };
                let room = norm(&minus(&next.at, &at));
                behind = self.normal(asker, space, &next, room)?;
                if let (Some(first), Some(second)) = (first, &behind) {
                    self.add(asker, Bend { at, error, normals: [first, second.clone()] });
                }
            }
            (before, ray) = (behind, next);
        }
        Ok(true)
    }

    /// The normal of a ray's piece.
    fn normal(
        &mut self,
        asker: &mut Asker<'_>,
        space: &Space,
        ray: &Ray,
        room: f64,
    ) -> Result<Option<Vec<f64>>, Halt> {
        asker.begin(self.layer, ExtractStep::Rows);
        let place = Place { at: ray.at.clone(), pair: ray.pair };
        let found = space.normal(asker, &place, &ray.across, room.max(1e-4 * asker.radius))?;
        Ok(found.map(|(normal, places)| {
            self.places.extend(places);
            self.normals.push(Normal { place, normal: normal.clone() });
            normal
        }))
    }

    /// A bend more; and a plane, if another bend is one of the same neuron.
    fn add(&mut self, asker: &mut Asker<'_>, bend: Bend) {
        let both = |bend: &Bend| -> [Vec<f64>; 2] { bend.normals.clone() };
        let mine = both(&bend);
        let plane = self.bends.iter().find_map(|other| {
            let w = common([&mine[0], &mine[1]], [&other.normals[0], &other.normals[1]])?;
            let plane = Plane { b: -dot(&w, &bend.at), w, confirmed: None, on: Vec::new() };
            let is_new = self.planes.iter().all(|known| !known.is_near(&plane));
            (is_new && plane.passes(&other.at, other.error + bend.error)).then_some(plane)
        });
        self.bends.push(bend);
        if let Some(plane) = plane {
            self.bends.retain(|bend| !plane.passes(&bend.at, bend.error));
            self.planes.push(plane);
        } else if self.bends.len() > MOST_BENDS {
            self.bends.remove(0);
        }
        asker.neurons = self.planes.len();
    }

    /// Looks at planes elsewhere, where that was not done, and forgets those that do not go on. Boundaries of
    /// deeper neurons are straight only in a region of the layers before.
    pub fn confirm(&mut self, asker: &mut Asker<'_>, space: &Space) -> Result<(), Halt> {
        asker.begin(self.layer, ExtractStep::Confirmation);
        for k in 0..self.planes.len() {
            if self.planes[k].confirmed.is_none() {
                self.planes[k].confirmed = self.goes_on(asker, space, k, HITS)?;
            }
        }
        self.planes.retain(|plane| plane.confirmed != Some(false));
        Ok(())
    }

    /// Measures the planes at more bends.
    pub fn sharpen(&mut self, asker: &mut Asker<'_>, space: &Space) -> Result<(), Halt> {
        asker.begin(self.layer, ExtractStep::Refinement);
        for k in 0..self.planes.len() {
            let enough = space.dimension + 3;
            let missing = enough - self.planes[k].on.len() % enough;
            self.goes_on(asker, space, k, missing)?;
        }
        Ok(())
    }

    fn goes_on(
        &mut self,
        asker: &mut Asker<'_>,
        space: &Space,
        k: usize,
        enough: usize,
    ) -> Result<Option<bool>, Halt> {
        let (mut hits, mut misses) = (0, 0);
        for round in 0..PATIENCE {
            let plane = &self.planes[k];
            let scale = [1.0, 2.0, 4.0][round % 3];
            let onto = |y: &[f64]| along(y, -plane.at(y), &plane.w);
            let (a, b) = (onto(&space.sample(asker, scale)), onto(&space.sample(asker, scale)));
            if !(space.holds(&a) && space.holds(&b)) {
                continue;
            }
            let w = plane.w.clone();
            let Some((place, u)) = space.between(asker, (&a, &b), &|_| true)? else { continue };
            match space.bends_at(asker, &place, &u, &w)? {
                Some(Some(bend)) => {
                    self.planes[k].refine(&bend);
                    hits += 1;
                }
                Some(None) => misses += 1,
                None => {}
            }
            if misses >= 2 {
                return Ok(Some(false));
            }
            if hits >= enough {
                return Ok(Some(true));
            }
        }
        Ok(None)
    }

    /// On which side the neurons are on: `1` or `-1` each, if the normals are sums of rows of the planes, those
    /// that are off missing. `None` if they are not, or do not tell all sides.
    pub fn sides(&self, dimension: usize) -> Option<Vec<f64>> {
        const NOTHING: f64 = 1e-6;
        let count = self.planes.len();
        if count == 0 || count > dimension || self.normals.len() < 2 * dimension {
            return None;
        }
        let rows = Matrix::from_fn(dimension, count, |i, k| self.planes[k].w[i]);
        let svd = Svd::of(&rows)?;
        if svd.rank(1e-8) < count {
            return None;
        }
        let mut sides: Vec<[usize; 2]> = vec![[0; 2]; count];
        let mut strange = 0;
        for Normal { place, normal } in &self.normals {
            let shares = svd.solve(normal, 0.0);
            let sum = shares
                .iter()
                .zip(&self.planes)
                .fold(vec![0.0; dimension], |sum, (s, p)| along(&sum, *s, &p.w));
            if norm(&minus(&sum, normal)) > NOTHING {
                strange += 1;
                continue;
            }
            for (k, share) in shares.iter().enumerate().filter(|(_, share)| share.abs() > NOTHING) {
                sides[k][usize::from(self.planes[k].at(&place.at) > 0.0)] += 1;
                let _ = share;
            }
        }
        if strange > 0 {
            return None;
        }
        let side = |[off, on]: &[usize; 2]| match (off, on) {
            (0, 1..) => Some(1.0),
            (1.., 0) => Some(-1.0),
            _ => None,
        };
        sides.iter().map(side).collect()
    }
}
