//! What a search is about: two networks over the integers, the sides of the domain, and hints.

use fiberscope_algebra::dense::value_at;
use fiberscope_algebra::program::Polytope;
use fiberscope_core::{Domain, ExactNetwork, Interval, Operand, Rational};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::farkas::{Side, Sides};
use super::integer::{Form, IntegerLayer, IntegerNetwork, LayerNumbers, common_denominator, is_fixed, times};
use crate::limit::Deadline;

/// How far the artificial sides of an unbounded domain lie, relative to the hyperplanes of the first
/// layers. They only start the float computations; proofs never use them.
const FAR: f64 = 65_536.0;

/// How many points are asked which neurons are proportional.
const SAMPLES: usize = 6;

/// From this many products on one sample must do, or none.
const LARGE: usize = 10_000_000;
const HUGE: usize = 50_000_000;

/// Networks with more parameters together are not asked whether they compute the same expressions.
const MANY_PARAMETERS: usize = 1 << 20;

/// A hidden neuron of one of the networks; the layer counts ReLU layers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The network: 0 for A, 1 for B.
    pub network: usize,
    /// The ReLU layer.
    pub layer: usize,
    /// The place in the layer.
    pub unit: usize,
}

/// Where a row of a polytope comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A side of the domain: free input, and 0 for lower, 1 for upper.
    Side(usize, usize),
    /// A side that is not there.
    Artificial,
    /// A split.
    Split(Unit, bool),
}

/// Two networks to be compared on a domain.
pub struct Problem {
    /// A and B.
    pub networks: [IntegerNetwork; 2],
    /// How many inputs are free.
    pub dimension: usize,
    /// The finite sides of the free inputs.
    pub sides: Sides,
    /// How many finite sides there are.
    pub side_count: usize,
    /// The networks by residues and doubles, unless they are large.
    pub numbers: Option<[Vec<LayerNumbers>; 2]>,
    /// The domain of the free inputs.
    pub ranges: Vec<(f64, f64)>,
    /// Per network, layer and unit: a neuron that is proportional at a few points.
    hints: [Vec<Vec<Option<Unit>>>; 2],
    intervals: Vec<Interval>,
    deadline: Deadline,
}

impl Problem {
    /// The comparison of two networks on a domain, until some time.
    pub fn new(a: &ExactNetwork, b: &ExactNetwork, domain: &Domain, deadline: Deadline) -> Self {
        let intervals = domain.sides(a.input_width());
        let networks = [a, b].map(|network| IntegerNetwork::new(network, &intervals));
        let free: Vec<&Interval> = intervals.iter().filter(|side| !is_fixed(side)).collect();
        let (sides, side_count) = sides(&free);
        let end = |end: &Option<Rational>, none: f64| end.as_ref().map_or(none, Rational::to_f64);
        let ranges = free
            .iter()
            .map(|side| (end(&side.lower, f64::NEG_INFINITY), end(&side.upper, f64::INFINITY)))
            .collect();
        let small = a.parameter_count() + b.parameter_count() <= MANY_PARAMETERS;
        let numbers = small.then(|| [numbers(&networks[0]), numbers(&networks[1])]);
        let mut problem = Problem {
            dimension: free.len(),
            networks,
            sides,
            side_count,
            numbers,
            ranges,
            hints: [vec![], vec![]],
            intervals,
            deadline,
        };
        problem.hints = problem.find_hints();
        problem
    }

    /// Whether the time is up.
    pub fn is_late(&self) -> bool {
        self.deadline.is_past()
    }

    /// The operand and the layer of the network that a unit belongs to.
    pub fn name(&self, unit: Unit) -> (Operand, usize) {
        let operand = if unit.network == 0 { Operand::A } else { Operand::B };
        (operand, self.networks[unit.network].layers[unit.layer].source)
    }

    /// The ReLU layer that is this layer of the network.
    pub fn layer_of(&self, network: usize, source: usize) -> Option<usize> {
        let layers = &self.networks[network].layers;
        layers[..layers.len() - 1].iter().position(|layer| layer.source == source)
    }

    /// A neuron that is likely proportional to this one.
    pub fn hint(&self, unit: Unit) -> Option<Unit> {
        self.hints[unit.network][unit.layer][unit.unit]
    }

    /// All inputs, from the free ones.
    pub fn input(&self, free: &[Rational]) -> Vec<Rational> {
        let mut free = free.iter();
        let value = |side: &Interval| match &side.lower {
            Some(value) if is_fixed(side) => value.clone(),
            _ => free.next().cloned().unwrap_or_default(),
        };
        self.intervals.iter().map(value).collect()
    }

    /// The domain as a polytope, and where its rows come from.
    pub fn polytope(&self) -> (Polytope, Vec<Source>) {
        let d = self.dimension;
        let far = FAR * self.reach();
        let (mut rows, mut sources) = (Vec::new(), Vec::new());
        for (j, pair) in self.sides.sides.iter().enumerate() {
            for (which, sign) in [(0, 1.0), (1, -1.0)] {
                if let Some(side) = &pair[which] {
                    rows.extend(side.form.approximate.iter());
                    sources.push(Source::Side(j, which));
                } else {
                    rows.extend((0..d).map(|k| if k == j { sign } else { 0.0 }).chain([far]));
                    sources.push(Source::Artificial);
                }
            }
        }
        let basis: Vec<u32> = (0..d as u32).map(|j| 2 * j).collect();
        let polytope = Polytope::new(d, rows, &basis).expect("the sides of a box are independent");
        (polytope, sources)
    }

    /// A length beyond most of what happens: the distances of first-layer hyperplanes and finite sides.
    fn reach(&self) -> f64 {
        let offset = |form: &Form| {
            let d = self.dimension;
            let size = form.approximate[..d].iter().fold(0.0f64, |m, x| m.max(x.abs()));
            if size == 0.0 { 0.0 } else { form.approximate[d].abs() / size }
        };
        let hyperplanes = self.networks.iter().flat_map(|network| network.layers[0].input_forms());
        let sides = self.sides.sides.iter().flatten().flatten().map(|side| side.form.clone());
        hyperplanes.chain(sides).map(|form| offset(&form)).fold(1.0, f64::max).min(1e100)
    }

    /// How many samples are worth their time: their functions cost as much as those of a region.
    fn samples(&self) -> usize {
        let work = |network: &IntegerNetwork| {
            let widths: Vec<usize> = network.layers.iter().map(IntegerLayer::width).collect();
            widths.windows(2).map(|pair| pair[0] * pair[1]).sum::<usize>() * (self.dimension + 1)
        };
        match self.networks.iter().map(work).sum::<usize>() {
            ..LARGE => SAMPLES,
            LARGE..HUGE => 1,
            _ => 0,
        }
    }

    fn find_hints(&self) -> [Vec<Vec<Option<Unit>>>; 2] {
        let empty = |network: &IntegerNetwork| {
            network.layers[..network.depth()].iter().map(|layer| vec![None; layer.width()]).collect()
        };
        let mut hints: [Vec<Vec<Option<Unit>>>; 2] = [empty(&self.networks[0]), empty(&self.networks[1])];
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        for _ in 0..self.samples() {
            let point = self.sample(&mut rng);
            let forms = [0, 1].map(|network| self.forms_at(network, &point));
            let depth = hints[0].len().max(hints[1].len());
            (0..depth).for_each(|layer| note_twins(layer, &forms, &mut hints));
        }
        hints
    }

    /// A point of the domain with few bits.
    fn sample(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let bound = |side: &Option<Side>, sign: f64| {
            let side = side.as_ref()?;
            let gradient = side.form.approximate[..self.dimension].iter().find(|x| **x != 0.0)?;
            Some(sign * side.form.approximate[self.dimension] / gradient.abs())
        };
        let mut coordinate = |pair: &[Option<Side>; 2]| {
            let unit: f64 = rng.random();
            match (bound(&pair[0], -1.0), bound(&pair[1], 1.0)) {
                (Some(lower), Some(upper)) => lower + unit * (upper - lower),
                (Some(lower), None) => lower + 4.0 * unit,
                (None, Some(upper)) => upper - 4.0 * unit,
                (None, None) => 4.0 * unit - 2.0,
            }
        };
        self.sides.sides.iter().map(&mut coordinate).collect()
    }

    /// The pre-activations of all ReLU layers near a point.
    fn forms_at(&self, network: usize, point: &[f64]) -> Vec<Vec<Form>> {
        let layers = &self.networks[network].layers;
        let mut all: Vec<Vec<Form>> = Vec::new();
        for layer in &layers[..layers.len() - 1] {
            let forms = match all.last() {
                None => layer.input_forms(),
                Some(before) => {
                    let on: Vec<bool> = before.iter().map(|form| positive_at(form, point)).collect();
                    layer.forms(before, &on)
                }
            };
            all.push(forms);
        }
        all
    }
}

/// Notes for the neurons of a layer which others, of either network, have proportional functions.
fn note_twins(layer: usize, forms: &[Vec<Vec<Form>>; 2], hints: &mut [Vec<Vec<Option<Unit>>>; 2]) {
    let mut seen: Vec<(Unit, &Form)> = Vec::new();
    for (network, forms) in forms.iter().enumerate() {
        let Some(forms) = forms.get(layer) else { continue };
        for (unit, form) in forms.iter().enumerate().filter(|(_, form)| !form.is_constant()) {
            let this = Unit { network, layer, unit };
            match seen.iter().find(|(_, other)| proportional(form, other)) {
                Some(&(twin, _)) => {
                    hints[network][layer][unit].get_or_insert(twin);
                    hints[twin.network][layer][twin.unit].get_or_insert(this);
                }
                None => seen.push((this, form)),
            }
        }
    }
}

fn positive_at(form: &Form, point: &[f64]) -> bool {
    value_at(&form.approximate, point) > 0.0
}

/// Whether two functions are proportional up to rounding.
fn proportional(a: &Form, b: &Form) -> bool {
    let (a, b) = (&a.approximate, &b.approximate);
    let pivot = (0..a.len()).max_by(|&i, &j| a[i].abs().total_cmp(&a[j].abs())).unwrap_or(0);
    b[pivot] != 0.0
        && a.iter()
            .zip(b.iter())
            .all(|(x, y)| (x * b[pivot] - y * a[pivot]).abs() <= 1e-9 * (a[pivot] * b[pivot]).abs())
}

fn numbers(network: &IntegerNetwork) -> Vec<LayerNumbers> {
    let before = |l: usize| l.checked_sub(1).map(|l| &network.layers[l]);
    network.layers.iter().enumerate().map(|(l, layer)| layer.numbers(before(l))).collect()
}

fn sides(free: &[&Interval]) -> (Sides, usize) {
    let d = free.len();
    let multiple = common_denominator(
        free.iter().flat_map(|side| [&side.lower, &side.upper]).filter_map(|bound| bound.as_ref()),
    );
    let mut number = 0;
    let mut side = |j: usize, bound: &Option<Rational>, lower: bool| {
        let bound = bound.as_ref()?;
        let scale = common_denominator(std::iter::once(bound));
        let mut exact = vec![dashu_int::IBig::ZERO; d + 1];
        exact[j] = if lower { scale.clone() } else { -&scale };
        exact[d] = if lower { -times(bound, &scale) } else { times(bound, &scale) };
        number += 1;
        Some(Side { form: Form::new(exact), scale, number: number - 1 })
    };
    let sides = free
        .iter()
        .enumerate()
        .map(|(j, interval)| [side(j, &interval.lower, true), side(j, &interval.upper, false)])
        .collect();
    (Sides { sides, multiple }, number)
}
