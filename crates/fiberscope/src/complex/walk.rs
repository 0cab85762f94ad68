//! From region to region across facets.
//!
//! On a region every neuron is an affine function, so its closure is a polyhedron; a neuron is a facet iff
//! its inequality is not implied by the others. Homogeneous coordinates `y = (x, t)` with `t >= 0` make it a
//! cone, bounded or not, and an inequality is implied iff Farkas' multipliers exist ([`super::lp`]). If not,
//! there is a point beyond; the segment to it from a point inside the region meets the facet in its relative
//! interior, and the region behind has the signs of `(value, slope)` there in lexicographic order, which is
//! right for coincident hyperplanes, too. Regions are connected through facets, so all are found. In a box,
//! doubles with a proved bound settle most rows first ([`super::filter`]). All decisions are exact; nothing
//! here is shared with the subdivision of edges.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fiberscope_algebra::dense;
use fiberscope_algebra::program::{BoxedPolytope, Cone, Side};
use fiberscope_algebra::rational::dot;
use fiberscope_core::{Activation, Domain, ExactNetwork, Layer, Network, Rational, Sign, SignVector};

use super::ComplexError;
use super::count_state::CountProgress;
use super::options::ComplexOptions;
use crate::limit::Deadline;

/// What a walk found.
#[derive(Clone, Debug, Default)]
pub struct Walked {
    /// Whether all regions were visited.
    pub complete: bool,
    /// The number of regions.
    pub regions: usize,
    /// The number of bounded regions.
    pub bounded: usize,
    /// The number of facets between regions.
    pub facets: usize,
    /// The number of visible facets, if every output's jump was computed.
    pub visible_facets: Option<usize>,
    /// The signs of the regions, in the order in which they were found.
    pub signs: Vec<Vec<Sign>>,
}

impl Walked {
    /// The regions' sign vectors, layer by layer, for the network that was walked.
    pub fn sign_vectors(&self, network: &Network) -> Vec<SignVector> {
        let relu = |layer: &&Layer| layer.activation() == Activation::Relu;
        let by_layer = |signs: &Vec<Sign>| {
            let mut rest = &signs[..];
            let layers = network.hidden_layers().iter().filter(relu).map(|layer| {
                let (own, behind) = rest.split_at(layer.width());
                rest = behind;
                own.to_vec()
            });
            SignVector::from_layers(layers.collect()).expect("layers have neurons")
        };
        self.signs.iter().map(by_layer).collect()
    }
}

/// Visits all regions of a network on a domain. Its progress tells the number of regions only.
///
/// ```
/// use fiberscope::complex::{ComplexOptions, walk_regions};
/// use fiberscope::{Activation, Domain, Layer, Matrix, Network};
///
/// let rows = Matrix::from_rows(&[[1.0, 0.5], [-1.0, 2.0]]).unwrap();
/// let hidden = Layer::new(rows, vec![0.1, 0.2], Activation::Relu);
/// let output = Layer::new(Matrix::from_rows(&[[1.0, 1.0]]).unwrap(), vec![0.0], Activation::Identity);
/// let network = Network::new(vec![hidden, output]).unwrap();
/// let walked = walk_regions(&network, &Domain::Space, &ComplexOptions::new()).unwrap();
/// assert!(walked.complete);
/// assert_eq!((walked.regions, walked.bounded, walked.facets), (4, 0, 4));
/// ```
pub fn walk_regions(
    network: &Network,
    domain: &Domain,
    options: &ComplexOptions,
) -> Result<Walked, ComplexError> {
    domain.check(network.input_width())?;
    let walk = Walk::new(network, domain)?;
    let most = options.regions.unwrap_or(u64::MAX) as usize;
    let mut walked = Walked::default();
    let start = walk.start();
    let mut seen: BTreeSet<Vec<Sign>> = BTreeSet::from([start.0.clone()]);
    let mut queue = VecDeque::from([start]);
    let mut pairs = 0usize;
    let tell = |regions: usize| {
        options.progress.report(CountProgress { explored: 0.0, regions: regions as u64 });
    };
    tell(seen.len());
    while let Some((signs, inside)) = queue.pop_front() {
        if seen.len() > most || options.deadline.is_past() {
            walked.regions = seen.len().min(most);
            return Ok(walked);
        }
        let found = walk.region(&signs, &inside, *domain == Domain::Space, &options.deadline);
        let Some((bounded, facets)) = found else {
            walked.regions = seen.len().min(most);
            return Ok(walked);
        };
        walked.bounded += usize::from(bounded);
        for (facet, step) in facets {
            pairs += 1;
            let (next, point) = walk.across(&facet, &step);
            if seen.insert(next.clone()) {
                let rounded = walk.rounded(&point, &next);
                queue.push_back((next, rounded.unwrap_or(point)));
            }
        }
        walked.signs.push(signs);
        tell(seen.len());
    }
    walked.complete = true;
    walked.regions = seen.len();
    walked.facets = pairs / 2;
    Ok(walked)
}

type Point = Vec<Rational>;

struct Walk {
    network: ExactNetwork,
    neurons: usize,
    /// Rows of the domain: nonnegative inside.
    sides: Vec<Vec<Rational>>,
    /// The ends of the domain in doubles, if it is a box.
    bounds: Option<(Vec<f64>, Vec<f64>)>,
    inputs: usize,
}

impl Walk {
    fn new(network: &Network, domain: &Domain) -> Result<Self, ComplexError> {
        let inputs = network.input_width();
        let mut sides = Vec::new();
        let mut time = vec![Rational::ZERO; inputs + 1];
        time[inputs] = Rational::ONE;
        sides.push(time);
        for (i, interval) in domain.sides(inputs).iter().enumerate() {
            if let (Some(lower), Some(upper)) = (&interval.lower, &interval.upper)
                && lower >= upper
            {
                let (lower, upper) = (lower.to_f64(), upper.to_f64());
                return Err(ComplexError::Flat { input: i + 1, lower, upper });
            }
            for (end, sign) in [(&interval.lower, 1), (&interval.upper, -1)] {
                if let Some(end) = end {
                    let mut row = vec![Rational::ZERO; inputs + 1];
                    row[i] = Rational::from(sign);
                    row[inputs] = if sign > 0 { -end } else { end.clone() };
                    sides.push(row);
                }
            }
        }
        let relu = |layer: &&fiberscope_core::Layer| layer.activation() == Activation::Relu;
        let neurons = network.hidden_layers().iter().filter(relu).map(|layer| layer.width()).sum();
        let ends = domain
            .sides(inputs)
            .into_iter()
            .map(|interval| Some((interval.lower?.to_f64().next_down(), interval.upper?.to_f64().next_up())));
        let bounds = ends.collect::<Option<Vec<_>>>().map(|ends| ends.into_iter().unzip());
        Ok(Walk { network: network.to_exact(), neurons, sides, bounds, inputs })
    }

    /// A region, with a point inside.
    fn start(&self) -> (Vec<Sign>, Point) {
        let middle = |i: usize| -> Rational {
            let end = |sign: i64| {
                self.sides
                    .iter()
                    .skip(1)
                    .find(|row| row[i] == Rational::from(sign))
                    .map(|row| row[self.inputs].clone())
            };
            match (end(1), end(-1)) {
                (Some(lower), Some(upper)) => {
                    // Off the middle, where symmetric networks have their folds.
                    let part = Rational::dyadic(1_000_003 + 7919 * i as i128, -21);
                    -&lower + &part * &(&upper + &lower)
                }
                (Some(lower), None) => -lower + Rational::ONE,
                (None, Some(upper)) => upper - Rational::ONE,
                (None, None) => Rational::dyadic(1_000_003 + 7919 * i as i128, -21),
            }
        };
        let mut y: Point = (0..self.inputs).map(middle).collect();
        y.push(Rational::ONE);
        let direction: Point = (0..=self.inputs)
            .map(|i| {
                if i < self.inputs {
                    Rational::dyadic(611_953 + 104_729 * (i * i + 1) as i128, -20)
                } else {
                    Rational::ZERO
                }
            })
            .collect();
        self.across(&y, &direction)
    }

    /// The signs just behind a point in a direction, and a point with these signs.
    fn across(&self, y: &[Rational], direction: &[Rational]) -> (Vec<Sign>, Point) {
        let mut signs = Vec::with_capacity(self.neurons);
        // How far the signs stay as they are.
        let mut far: Option<Rational> = None;
        let mut shorten = |value: &Rational, slope: &Rational| {
            if !value.is_zero() && value.signum() * slope.signum() < 0 {
                let step = &value.abs() / &slope.abs();
                if far.as_ref().is_none_or(|far| step < *far) {
                    far = Some(step);
                }
            }
        };
        let (mut a, mut s) = (y[..self.inputs].to_vec(), direction[..self.inputs].to_vec());
        for layer in self.network.hidden_layers() {
            let mut values = Vec::with_capacity(layer.width());
            let mut slopes = Vec::with_capacity(layer.width());
            for (row, b) in layer.weight().iter_rows().zip(layer.bias()) {
                let value = dot(row, &a) + b * &y[self.inputs];
                let slope = dot(row, &s) + b * &direction[self.inputs];
                if layer.activation() == Activation::Relu {
                    shorten(&value, &slope);
                    let sign = if value.is_zero() { slope.signum() } else { value.signum() };
                    signs.push(match sign {
                        1 => Sign::Positive,
                        0 => Sign::Zero,
                        _ => Sign::Negative,
                    });
                    let on = sign > 0;
                    values.push(if on { value } else { Rational::ZERO });
                    slopes.push(if on { slope } else { Rational::ZERO });
                } else {
                    values.push(value);
                    slopes.push(slope);
                }
            }
            (a, s) = (values, slopes);
        }
        for row in &self.sides {
            shorten(&dot(row, y), &dot(row, direction));
        }
        let step = far.map_or(Rational::ONE, |far| (&far * &Rational::dyadic(1, -1)).min(Rational::ONE));
        let point: Point = y.iter().zip(direction).map(|(y, d)| y + &(&step * d)).collect();
        (signs, point)
    }

    /// The point rounded to doubles, if it has the same signs; keeps numbers short along the walk.
    fn rounded(&self, y: &[Rational], signs: &[Sign]) -> Option<Point> {
        let point: Option<Point> = y.iter().map(|x| Rational::from_f64(x.to_f64())).collect();
        let point = point?;
        let same = self.has_signs(&point, signs);
        let inside = self.sides.iter().all(|row| dot(row, &point).is_positive());
        (same && inside).then_some(point)
    }

    /// Whether the neurons have these signs at a point.
    fn has_signs(&self, y: &[Rational], signs: &[Sign]) -> bool {
        let mut signs = signs.iter();
        let mut a = y[..self.inputs].to_vec();
        for layer in self.network.hidden_layers() {
            let relu = layer.activation() == Activation::Relu;
            let mut next = Vec::with_capacity(layer.width());
            for (row, b) in layer.weight().iter_rows().zip(layer.bias()) {
                let value = dot(row, &a) + b * &y[self.inputs];
                if relu && signs.next().is_none_or(|sign| value.signum() != sign.signum()) {
                    return false;
                }
                next.push(if relu && value.is_negative() { Rational::ZERO } else { value });
            }
            a = next;
        }
        true
    }

    /// Whether a region is bounded, and its facets as [`Walk::facets`] gives them; `None` if the deadline
    /// comes first.
    fn region(
        &self,
        signs: &[Sign],
        inside: &[Rational],
        may_be_unbounded: bool,
        deadline: &Deadline,
    ) -> Option<(bool, Vec<(Point, Point)>)> {
        let cone = self.cone(signs, deadline)?;
        let bounded = !may_be_unbounded || !self.is_unbounded(&cone, deadline)?;
        Some((bounded, self.facets(&cone, signs, inside, deadline)?))
    }

    /// The functions of all neurons on a region, as rows in homogeneous coordinates.
    fn functions(&self, signs: &[Sign], deadline: &Deadline) -> Option<Vec<Vec<Rational>>> {
        let d = self.inputs;
        let mut functions = Vec::with_capacity(self.neurons);
        let unit = |i: usize| -> Vec<Rational> {
            (0..=d).map(|j| if i == j { Rational::ONE } else { Rational::ZERO }).collect()
        };
        let mut below: Vec<Vec<Rational>> = (0..d).map(unit).collect();
        for layer in self.network.hidden_layers() {
            let relu = layer.activation() == Activation::Relu;
            let first = functions.len();
            let mut next = Vec::with_capacity(layer.width());
            for (row, b) in layer.weight().iter_rows().zip(layer.bias()) {
                if deadline.is_past() {
                    return None;
                }
                let mut function = vec![Rational::ZERO; d + 1];
                function[d] = b.clone();
                for (w, from) in row.iter().zip(&below) {
                    if !w.is_zero() {
                        function
                            .iter_mut()
                            .zip(from)
                            .filter(|(_, f)| !f.is_zero())
                            .for_each(|(x, f)| *x += &(w * f));
                    }
                }
                if relu {
                    functions.push(function.clone());
                    if signs[first + next.len()] != Sign::Positive {
                        function = vec![Rational::ZERO; d + 1];
                    }
                }
                next.push(function);
            }
            below = next;
        }
        Some(functions)
    }

    /// The closure of a region: neurons with their signs, then the sides of the domain.
    fn cone(&self, signs: &[Sign], deadline: &Deadline) -> Option<Cone> {
        let mut rows = self.functions(signs, deadline)?;
        for (row, sign) in rows.iter_mut().zip(signs) {
            if *sign == Sign::Negative {
                row.iter_mut().for_each(|x| *x = -&*x);
            }
        }
        rows.extend(self.sides.iter().cloned());
        Some(Cone::new(self.inputs + 1, rows))
    }

    /// The facets inside the domain: a point in the relative interior of each and a direction across.
    fn facets(
        &self,
        cone: &Cone,
        signs: &[Sign],
        inside: &[Rational],
        deadline: &Deadline,
    ) -> Option<Vec<(Point, Point)>> {
        let d = self.inputs;
        let constant = |row: &[Rational]| row[..d].iter().all(Rational::is_zero);
        // Rows that are multiples of each other are one inequality.
        let mut groups: BTreeMap<Vec<Rational>, Vec<usize>> = BTreeMap::new();
        for (i, row) in cone.rows().iter().enumerate() {
            if i < signs.len() && (signs[i] == Sign::Zero || constant(row)) {
                continue;
            }
            let lead = row.iter().find(|x| !x.is_zero()).map(Rational::abs).unwrap_or(Rational::ONE);
            groups.entry(row.iter().map(|x| x / &lead).collect()).or_default().push(i);
        }
        let mut keep = vec![false; cone.rows().len()];
        for group in groups.values() {
            keep[group[0]] = true;
        }
        let polytope = self.bounds.as_ref().map(|(lower, upper)| {
            BoxedPolytope::new(cone.float_rows().to_vec(), lower.clone(), upper.clone())
        });
        let mut facets = Vec::new();
        for group in groups.values() {
            if group.iter().any(|&i| i >= signs.len()) {
                continue;
            }
            let first = group[0];
            keep[first] = false;
            let row = &cone.rows()[first];
            let side = polytope.as_ref().and_then(|polytope| filter(polytope, cone, first, &keep, inside));
            let side = match side {
                Some(side) => side,
                None => cone.side(row, &keep, &|| deadline.is_past())?,
            };
            if let Side::Beyond(y) = side {
                let (from, to) = (dot(row, inside), dot(row, &y));
                let t = &from / &(&from - &to);
                let point = inside.iter().zip(&y).map(|(a, b)| a + &(&t * &(b - a))).collect();
                let across =
                    row.iter().enumerate().map(|(i, x)| if i < d { -x } else { Rational::ZERO }).collect();
                facets.push((point, across));
                keep[first] = true;
            }
        }
        Some(facets)
    }

    /// Whether a region contains a ray: a point of its cone with `t = 0`.
    fn is_unbounded(&self, cone: &Cone, deadline: &Deadline) -> Option<bool> {
        let d = self.inputs;
        let rows: Vec<Vec<Rational>> = cone
            .rows()
            .iter()
            .map(|row| row[..d].to_vec())
            .filter(|row| row.iter().any(|x| !x.is_zero()))
            .collect();
        let recession = Cone::new(d, rows);
        let keep = vec![true; recession.rows().len()];
        for (i, sign) in (0..d).flat_map(|i| [(i, 1), (i, -1)]) {
            let mut c = vec![Rational::ZERO; d];
            c[i] = Rational::from(sign);
            if let Side::Beyond(_) = recession.side(&c, &keep, &|| deadline.is_past())? {
                return Some(true);
            }
        }
        Some(false)
    }
}

/// What doubles can prove about a row in a box: that it is positive where the others with `keep` are not
/// negative, or a point beyond it.
fn filter(
    polytope: &BoxedPolytope,
    cone: &Cone,
    row: usize,
    keep: &[bool],
    inside: &[Rational],
) -> Option<Side> {
    let least = polytope.least(&cone.float_rows()[row], keep)?;
    if least.bound > 0.0 {
        return Some(Side::Superfluous);
    }
    let inside: Vec<f64> = inside.iter().map(Rational::to_f64).collect();
    let here = dense::dot(&cone.float_rows()[row], &inside);
    // Half way back to the row, so that rounding leaves the point inside the others.
    let back = 0.5 * least.value / (least.value - here);
    let y: Vec<f64> =
        least.point.iter().chain([&1.0]).zip(&inside).map(|(y, x)| y + back * (x - y)).collect();
    cone.rounded(&cone.rows()[row], keep, &y).map(Side::Beyond)
}

/// The bound of [`region_bound`] exactly, for those who print it.
pub fn exact_region_bound(network: &Network) -> Rational {
    let relu = network.hidden_layers().iter().filter(|layer| layer.activation() == Activation::Relu);
    let number = |n: usize| Rational::from(n as i64);
    let (mut d, mut bound) = (network.input_width(), Rational::ONE);
    for n in relu.map(|layer| layer.width()) {
        let (mut term, mut sum) = (Rational::ONE, Rational::ONE);
        for k in 1..=d.min(n) {
            term = &(&term * &number(n - k + 1)) / &number(k);
            sum += &term;
        }
        bound = &bound * &sum;
        d = d.min(n);
    }
    bound
}

/// An upper bound on the number of regions, up to rounding: the product over the layers of
/// `sum_{k <= d} C(n_l, k)`, `d` the least width so far.
pub fn region_bound(network: &Network) -> f64 {
    let mut d = network.input_width();
    let mut bound = 1.0f64;
    for layer in network.hidden_layers().iter().filter(|layer| layer.activation() == Activation::Relu) {
        let n = layer.width();
        let (mut term, mut sum) = (1.0f64, 1.0f64);
        for k in 1..=d.min(n) {
            term *= (n - k + 1) as f64 / k as f64;
            sum += term;
        }
        bound *= sum;
        d = d.min(n);
    }
    bound
}
