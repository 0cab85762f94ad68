//! The first look at two networks: a few points, before anything that costs more than reading the files.
//!
//! The points are those of the data that the caller has, corners of the box, and random ones at several
//! scales. Doubles rank them; the most promising are evaluated exactly. Where doubles see nothing, outputs
//! are compared modulo a prime (module `residues`), which shows differences of one unit in the last place.

use std::cell::OnceCell;
use std::ops::ControlFlow;

use fiberscope_core::{Domain, Interval, Matrix, Network, Neuron, Rational};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::falsify::boundary::local;
use super::residues::{Residues, first_suspect};
use super::tail::inside;
use super::verdict::{Difference, size_of};

/// Random points, corners, and points far out that are tried.
const COUNTS: [usize; 3] = [64, 16, 16];

/// The most points of the data that are tried.
const DATA: usize = 256;

/// The most multiplications for the points: large networks are looked at in fewer.
const WORK: usize = 1 << 31;

/// The most points that are evaluated exactly.
const EXACT: usize = 3;

/// A difference in doubles that is so large beside the values is worth exact evaluation at once.
const VISIBLE: f64 = 1e-9;

/// Looks at the networks in a few points of the domain: the first difference that exact evaluation confirms and
/// that is enough for the question, or all that it confirms.
///
/// Points far out are looked at if none of ordinary size shows a difference that is enough: people would rather
/// look at small numbers.
pub fn look(
    networks: (&Network, &Network),
    domain: &Domain,
    data: &[Vec<Rational>],
    seed: u64,
    enough: &dyn Fn(&Difference) -> bool,
) -> ControlFlow<Difference, Vec<Difference>> {
    let parameters = networks.0.parameter_count() + networks.1.parameter_count();
    let Points { mut near, far } = points(domain, networks.0.input_width(), data, seed);
    let most = (WORK / parameters.max(1)).max(8);
    near.truncate(most);
    let residues = OnceCell::new();
    let found = look_at(networks, &residues, domain, &near, enough)?;
    let mut far = far.list();
    far.truncate(most - near.len());
    if !found.is_empty() && !differs_plainly(networks, &far) {
        return ControlFlow::Continue(found);
    }
    let beyond = look_at(networks, &residues, domain, &far, enough)?;
    ControlFlow::Continue(if found.is_empty() { beyond } else { found })
}

/// The first difference that is enough at the most promising points, or all of them.
fn look_at<'n>(
    (a, b): (&'n Network, &'n Network),
    residues: &OnceCell<(Residues<'n>, Residues<'n>)>,
    domain: &Domain,
    points: &[Vec<Rational>],
    enough: &dyn Fn(&Difference) -> bool,
) -> ControlFlow<Difference, Vec<Difference>> {
    let suspect = |points: &[Vec<Rational>]| {
        let (a, b) = residues.get_or_init(|| (Residues::new(a), Residues::new(b)));
        first_suspect(a, b, points)
    };
    let mut found: Vec<Difference> = Vec::new();
    let mut learn = |difference: Option<Difference>| match difference {
        Some(difference) if enough(&difference) => ControlFlow::Break(difference),
        difference => {
            found.extend(difference);
            ControlFlow::Continue(found.is_empty())
        }
    };
    let mut exact = 0;
    for (place, visible) in ranked((a, b), points) {
        if exact == EXACT {
            break;
        }
        let x = &points[place];
        if !visible && suspect(std::slice::from_ref(x)).is_none() {
            continue;
        }
        exact += 1;
        learn(nearer((a, b), domain, x).and_then(|nearer| compare((a, b), &nearer)))?;
        learn(compare((a, b), x))?;
    }
    let mut next = 0;
    while learn(None)?
        && exact < 2 * EXACT
        && let Some(at) = suspect(&points[next..])
    {
        exact += 1;
        learn(compare((a, b), &points[next + at]))?;
        next += at + 1;
    }
    ControlFlow::Continue(found)
}

/// A difference in doubles that is so large beside the values may be more than rounding.
const NOTABLE: f64 = 1e-4;

fn differs_plainly(networks: (&Network, &Network), points: &[Vec<Rational>]) -> bool {
    scores(networks, points).iter().any(|(_, (_, part))| *part > NOTABLE)
}

/// A difference in doubles that is so large beside the values needs no larger one to be believed.
const PLAIN: f64 = 0.1;

/// The point moved towards the origin as far as the difference stays plain in doubles and a coordinate is 1/2
/// or more: people would rather look at small numbers.
fn nearer((a, b): (&Network, &Network), domain: &Domain, x: &[Rational]) -> Option<Vec<Rational>> {
    let by = |power: i64| x.iter().map(|x| x * &Rational::dyadic(1, -power)).collect::<Vec<_>>();
    let size = x.iter().map(Rational::abs).max().unwrap_or_default();
    let large = |power: &i64| size >= Rational::dyadic(1, power - 1);
    let points: Vec<_> =
        (1..=32).rev().filter(large).map(by).filter(|x: &Vec<Rational>| domain.contains(x)).collect();
    let scores = scores((a, b), &points);
    scores.into_iter().find(|(_, (_, part))| *part > PLAIN).map(|(i, _)| points[i].clone())
}

/// Both values at a point, if they differ.
pub fn compare((a, b): (&Network, &Network), x: &[Rational]) -> Option<Difference> {
    let (a, b) = rayon::join(|| a.evaluate_exact(x), || b.evaluate_exact(x));
    let (a, b) = (a.ok()?, b.ok()?);
    (a != b).then(|| Difference { x: x.to_vec(), a, b })
}

/// The places of the points with the largest difference in doubles, absolute and relative, and whether it is
/// more than rounding; where doubles overflow there is nothing to see.
fn ranked((a, b): (&Network, &Network), points: &[Vec<Rational>]) -> Vec<(usize, bool)> {
    let scores = scores((a, b), points);
    let most = scores.iter().max_by(|x, y| x.1.0.total_cmp(&y.1.0));
    let relative = scores.iter().max_by(|x, y| x.1.1.total_cmp(&y.1.1));
    let mut places: Vec<_> =
        most.into_iter().chain(relative).map(|(i, (_, part))| (*i, *part > VISIBLE)).collect();
    places.dedup();
    places
}

/// The largest absolute and the largest relative difference in doubles at each point where there is one.
fn scores((a, b): (&Network, &Network), points: &[Vec<Rational>]) -> Vec<(usize, (f64, f64))> {
    let Some(rows) = matrix(points) else { return Vec::new() };
    let (Ok(of_a), Ok(of_b)) = (a.evaluate_batch(&rows), b.evaluate_batch(&rows)) else { return Vec::new() };
    let score = |i: usize| {
        let pairs = of_a.row(i).iter().zip(of_b.row(i));
        let scores = pairs.map(|(x, y)| {
            let gap = (x - y).abs();
            (gap, gap / (x.abs() + y.abs() + f64::MIN_POSITIVE))
        });
        scores.fold((0.0f64, 0.0f64), |(most, relative), (gap, part)| (most.max(gap), relative.max(part)))
    };
    let all = (0..points.len()).map(|i| (i, score(i)));
    all.filter(|(_, (gap, _))| *gap > 0.0 && gap.is_finite()).collect()
}

fn matrix(points: &[Vec<Rational>]) -> Option<Matrix> {
    let rows: Vec<Vec<f64>> = points.iter().map(|x| x.iter().map(Rational::to_f64).collect()).collect();
    Matrix::from_rows(&rows)
}

/// The points to look at.
struct Points {
    /// Of the data, random ones, corners.
    near: Vec<Vec<Rational>>,
    /// Those far out, where the domain has no end.
    far: FarPoints,
}

/// Points far out that are listed when somebody asks.
struct FarPoints {
    sides: Vec<Interval>,
    count: usize,
    rng: ChaCha8Rng,
}

impl FarPoints {
    fn list(mut self) -> Vec<Vec<Rational>> {
        let point = |k| self.sides.iter().map(|side| beyond(side, k, &mut self.rng)).collect();
        (0..self.count).map(point).collect()
    }
}

fn points(domain: &Domain, inputs: usize, data: &[Vec<Rational>], seed: u64) -> Points {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let sides = domain.sides(inputs);
    let of_data = data.iter().filter(|x| x.len() == inputs && domain.contains(x)).take(DATA);
    let mut points: Vec<Vec<Rational>> = of_data.cloned().collect();
    let [random, corners, far] = COUNTS;
    let bounded = sides.iter().any(|side| side.lower.is_some() || side.upper.is_some());
    points.extend((0..random).map(|_| sides.iter().map(|side| inside(side, &mut rng)).collect()));
    if bounded {
        points.extend((0..corners).map(|k| corner(&sides, |_| corner_bit(k, &mut rng), k as u64 + seed)));
    }
    let unbounded = sides.iter().any(|side| side.lower.is_none() || side.upper.is_none());
    let count = if unbounded { far } else { 0 };
    Points { near: points, far: FarPoints { sides, count, rng } }
}

/// The first two corners are those of all lower and of all upper ends; the others are random.
fn corner_bit(k: usize, rng: &mut ChaCha8Rng) -> bool {
    match k {
        0 => false,
        1 => true,
        _ => rng.random(),
    }
}

/// A corner of the box; a point inside where a side has no end.
fn corner(sides: &[Interval], mut upper: impl FnMut(usize) -> bool, seed: u64) -> Vec<Rational> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let coordinate = |(j, side): (usize, &Interval)| {
        let end = if upper(j) { side.upper.as_ref() } else { side.lower.as_ref() };
        end.or(side.lower.as_ref()).or(side.upper.as_ref()).cloned().unwrap_or_else(|| inside(side, &mut rng))
    };
    sides.iter().enumerate().map(coordinate).collect()
}

/// A number of the side, far out where it has no end.
fn beyond(side: &Interval, k: usize, rng: &mut ChaCha8Rng) -> Rational {
    let size = &Rational::dyadic(rng.random_range(1..1 << 20), -20) * &Rational::dyadic(1, 8 + k as i64);
    match (&side.lower, &side.upper) {
        (Some(_), Some(_)) => inside(side, rng),
        (Some(lower), None) => lower + &size,
        (None, Some(upper)) => upper - &size,
        (None, None) if rng.random() => size,
        (None, None) => -size,
    }
}

/// The size of the outputs on a bounded box: the largest absolute value of an output of `f` that was found at
/// an exactly evaluated point of the box, so a lower bound for the maximum. Corners to which the gradient of
/// an output points are tried besides the points of the first look.
pub fn size_on_box(network: &Network, domain: &Domain, data: &[Vec<Rational>], seed: u64) -> Rational {
    let sides = domain.sides(network.input_width());
    let mut points = points(domain, network.input_width(), data, seed).near;
    points.truncate((WORK / network.parameter_count().max(1)).max(8));
    points.extend(ascents(network, &sides));
    let values = matrix(&points).and_then(|rows| network.evaluate_batch(&rows).ok());
    let size = |i: usize| {
        let row = values.as_ref().map(|values| values.row(i)).unwrap_or_default();
        row.iter().fold(0.0f64, |most, y| most.max(y.abs()))
    };
    let best =
        (0..points.len()).filter(|&i| size(i).is_finite()).max_by(|&i, &j| size(i).total_cmp(&size(j)));
    let exact = best.and_then(|i| network.evaluate_exact(&points[i]).ok());
    exact.into_iter().flatten().map(|y| y.abs()).max().unwrap_or_default()
}

/// Outputs whose gradient is followed, and steps from corner to corner.
const ASCENT: (usize, usize) = (8, 3);

/// Corners of the box where an output is large or small, to first order.
fn ascents(network: &Network, sides: &[Interval]) -> Vec<Vec<Rational>> {
    let (outputs, steps) = ASCENT;
    let layer = network.depth() - 1;
    let start = || -> Vec<f64> {
        let middle = |side: &Interval| match (&side.lower, &side.upper) {
            (Some(lower), Some(upper)) => (lower.to_f64() + upper.to_f64()) / 2.0,
            (end, None) | (None, end) => end.as_ref().map_or(0.0, Rational::to_f64),
        };
        sides.iter().map(middle).collect()
    };
    let mut found = Vec::new();
    for unit in 0..network.output_width().min(outputs) {
        for sign in [1.0, -1.0] {
            let mut x = start();
            for _ in 0..steps {
                let (_, gradient) = local(network, &x, Neuron { layer, unit });
                let at = corner(sides, |j| gradient[j] * sign > 0.0, 0);
                x = at.iter().map(Rational::to_f64).collect();
                found.push(at);
            }
        }
    }
    found
}

/// How large the outputs of `f` are about as far from the origin as `x`, in doubles; for domains without a
/// bound.
pub fn size_around(network: &Network, domain: &Domain, x: &[Rational], seed: u64) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let far = x.iter().map(|x| x.to_f64().abs()).fold(0.0, f64::max);
    let sides = domain.sides(x.len());
    let end = |end: &Option<Rational>, missing: f64| end.as_ref().map_or(missing, Rational::to_f64);
    let coordinate = |side: &Interval, rng: &mut ChaCha8Rng| {
        let (lower, upper) = (end(&side.lower, f64::NEG_INFINITY), end(&side.upper, f64::INFINITY));
        (far * (2.0 * rng.random::<f64>() - 1.0)).max(lower).min(upper)
    };
    let random = (0..COUNTS[0]).map(|_| sides.iter().map(|side| coordinate(side, &mut rng)).collect());
    let rows: Vec<Vec<f64>> = random.chain([x.iter().map(Rational::to_f64).collect()]).collect();
    let values = Matrix::from_rows(&rows).and_then(|rows| network.evaluate_batch(&rows).ok());
    let sizes = values.iter().flat_map(|values| values.entries()).map(|y| y.abs());
    sizes.filter(|y| y.is_finite()).fold(0.0, f64::max)
}

/// The largest difference at exactly evaluated multiples of a point: on an unbounded domain, what differs by
/// a slope differs by any amount far out.
pub fn far_out((a, b): (&Network, &Network), domain: &Domain, x: &[Rational]) -> Option<Difference> {
    let multiples = [8, 24, 64, 256].map(|power| {
        let factor = Rational::dyadic(1, power);
        x.iter().map(|x| x * &factor).collect::<Vec<_>>()
    });
    let found = multiples.iter().filter(|x| domain.contains(x)).filter_map(|x| compare((a, b), x));
    found.max_by(|x, y| size_of(&x.a, &x.b).cmp(&size_of(&y.a, &y.b)))
}
