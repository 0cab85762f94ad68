//! Is a layer off somewhere? Linear programs over decisions about the neurons before it.
//!
//! A hidden layer is *transparent* on the open domain if at every point one of its neurons has `z >= 0`. The
//! points where all are negative are an open set. The linear program of [`super::relaxed`] either shows that
//! there is none, or proposes a point, which is tried in exact arithmetic; if it is no such point, a neuron
//! of an earlier layer whose activation the program got wrong is decided, on and off, and both cases are
//! programs of their own. When all neurons are decided the program is exact, so that the search ends. It does
//! not need the complex, and large networks are settled where few decisions are enough.
//!
//! Before that, pairs are tried ([`covering_pair`]): if `z_i + c z_j >= 0` for some `c >= 0` wherever the
//! activations before are nonnegative, one of the two neurons is not off. This is how the networks of
//! [phuong2020functional, Lemma 4] are transparent, whatever their size.

use fiberscope_algebra::program::Side;
use fiberscope_algebra::rational::dot;
use fiberscope_core::{Activation, Domain, ExactNetwork, Interval, Layer, Network, Rational};

use super::ComplexError;
use super::relaxed::{Program, Proposal};
use crate::limit::Deadline;

/// Whether a hidden layer has a neuron that is not off, everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayerTransparency {
    /// It has: proved.
    Transparent,
    /// It has not: all its neurons are negative at this point, exactly.
    Opaque(Vec<Rational>),
    /// A limit came first.
    Unknown,
}

/// Whether every hidden layer has a neuron that is not off, everywhere on the open domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transparency {
    /// The ReLU layers (from 0) up to the first that is opaque, and what is known about them.
    pub layers: Vec<(usize, LayerTransparency)>,
    /// How many linear programs were solved.
    pub programs: usize,
}

/// When the search gives up: by default after 20 000 linear programs for a layer, however long they take.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TransparencyOptions {
    /// When to stop.
    pub deadline: Deadline,
    /// The most linear programs per layer.
    pub programs: usize,
}

impl Default for TransparencyOptions {
    fn default() -> Self {
        TransparencyOptions { deadline: Deadline::NEVER, programs: 20_000 }
    }
}

impl TransparencyOptions {
    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// When to stop.
    pub fn deadline(self, deadline: Deadline) -> Self {
        TransparencyOptions { deadline, ..self }
    }

    /// The most linear programs per layer.
    pub fn programs(self, programs: usize) -> Self {
        TransparencyOptions { programs, ..self }
    }
}

/// The most variables of a program that is solved in rational numbers.
const EXACT: usize = 40;
/// Activations off by less than this do not decide where to branch.
const CLOSE: f64 = 1e-7;
/// How often a point is moved half the way towards the inside, at most.
const HALVES: i64 = 4096;

impl Transparency {
    /// Decides the layers one after the other, up to the first that is opaque.
    ///
    /// ```
    /// use fiberscope::complex::{LayerTransparency, Transparency, TransparencyOptions};
    /// use fiberscope::core::{Activation, Domain, Layer, Matrix, Network};
    ///
    /// let hidden = Layer::new(Matrix::from_rows(&[[1.0], [-1.0]]).unwrap(), vec![0.0, -0.5], Activation::Relu);
    /// let output = Layer::new(Matrix::from_rows(&[[1.0, 1.0]]).unwrap(), vec![0.0], Activation::Identity);
    /// let network = Network::new(vec![hidden, output]).unwrap();
    /// let found = Transparency::new(&network, &Domain::Space, &TransparencyOptions::new()).unwrap();
    /// let Some((0, LayerTransparency::Opaque(x))) = found.layers.last() else { panic!() };
    /// assert!(-0.5 < x[0].to_f64() && x[0].to_f64() < 0.0);
    /// ```
    pub fn new(
        network: &Network,
        domain: &Domain,
        options: &TransparencyOptions,
    ) -> Result<Self, ComplexError> {
        domain.check(network.input_width())?;
        for (i, side) in domain.sides(network.input_width()).iter().enumerate() {
            if let (Some(lower), Some(upper)) = (&side.lower, &side.upper)
                && lower >= upper
            {
                let (lower, upper) = (lower.to_f64(), upper.to_f64());
                return Err(ComplexError::Flat { input: i + 1, lower, upper });
            }
        }
        let exact = network.to_exact();
        let mut found = Transparency { layers: Vec::new(), programs: 0 };
        for (layer, rows) in exact.hidden_layers().iter().enumerate() {
            if rows.activation() != Activation::Relu {
                continue;
            }
            if options.deadline.is_past() {
                found.layers.push((layer, LayerTransparency::Unknown));
                continue;
            }
            let sides = inputs_of(&exact, domain, layer);
            if covering_pair(rows, &sides, &options.deadline).is_some() {
                found.layers.push((layer, LayerTransparency::Transparent));
                continue;
            }
            let (program, deadline) = (Program::new(&exact, domain, layer), &options.deadline);
            let search = Search { network: &exact, domain, layer, program, deadline };
            let known = search.run(options.programs, &mut found.programs);
            let is_opaque = matches!(known, LayerTransparency::Opaque(_));
            found.layers.push((layer, known));
            if is_opaque {
                break;
            }
        }
        Ok(found)
    }

    /// Whether all layers are transparent, if it is known.
    pub fn is_transparent(&self) -> Option<bool> {
        match self.opaque() {
            Some(_) => Some(false),
            None => self.unknown().is_empty().then_some(true),
        }
    }

    /// The layer that is off somewhere (from 0), and a point where it is, exactly.
    pub fn opaque(&self) -> Option<(usize, &[Rational])> {
        self.layers.iter().find_map(|(layer, known)| match known {
            LayerTransparency::Opaque(x) => Some((*layer, &x[..])),
            _ => None,
        })
    }

    /// The layers (from 0) for which a limit came first.
    pub fn unknown(&self) -> Vec<usize> {
        let open = self.layers.iter().filter(|(_, known)| *known == LayerTransparency::Unknown);
        open.map(|(layer, _)| *layer).collect()
    }
}

/// Where the inputs of a layer lie: in the domain, or above zero.
pub(super) fn inputs_of(network: &ExactNetwork, domain: &Domain, layer: usize) -> Vec<Interval> {
    let n = network.layers()[layer].input_width();
    match layer.checked_sub(1).map(|before| network.layers()[before].activation()) {
        None => domain.sides(n),
        Some(Activation::Relu) => Domain::orthant(n).sides(n),
        Some(Activation::Identity) => vec![Interval::ALL; n],
    }
}

/// Neurons `i`, `j` of a layer with `z_i + c z_j >= 0` for some `c >= 0` on all inputs of these intervals:
/// nowhere are both off. With bounded intervals only `c = 1` is tried.
pub(super) fn covering_pair(
    layer: &Layer<Rational>,
    sides: &[Interval],
    deadline: &Deadline,
) -> Option<(usize, usize)> {
    let is_above =
        |side: &Interval| side.upper.is_none() && side.lower.as_ref().is_some_and(Rational::is_zero);
    let is_orthant = sides.iter().all(is_above);
    let rows: Vec<Vec<&Rational>> = layer
        .weight()
        .iter_rows()
        .zip(layer.bias())
        .map(|(row, b)| row.iter().chain([b]).collect())
        .collect();
    for i in 0..rows.len() {
        for j in (0..rows.len()).filter(|&j| j != i) {
            if deadline.is_past() {
                return None;
            }
            let covers =
                if is_orthant { share(&rows[i], &rows[j]) } else { sum_is_above(&rows[i], &rows[j], sides) };
            if covers {
                return Some((i, j));
            }
        }
    }
    None
}

/// Whether `x + c y >= 0` in every entry for some `c >= 0`.
fn share(x: &[&Rational], y: &[&Rational]) -> bool {
    let (mut least, mut most) = (Rational::ZERO, None::<Rational>);
    for (x, y) in x.iter().zip(y) {
        match y.signum() {
            0 if x.is_negative() => return false,
            1 => least = least.max(&-*x / *y),
            -1 => {
                let end = *x / &-*y;
                most = Some(most.map_or(end.clone(), |most| most.min(end)));
            }
            _ => {}
        }
    }
    most.is_none_or(|most| least <= most)
}

/// Whether `x + y >= 0` on the box, constants last.
fn sum_is_above(x: &[&Rational], y: &[&Rational], sides: &[Interval]) -> bool {
    let mut least = x[sides.len()] + y[sides.len()];
    for ((x, y), side) in x.iter().zip(y).zip(sides) {
        let slope = *x + *y;
        let end = if slope.is_negative() { &side.upper } else { &side.lower };
        match end {
            _ if slope.is_zero() => {}
            Some(end) => least += &(&slope * end),
            None => return false,
        }
    }
    !least.is_negative()
}

/// Decisions about the neurons that intervals leave open.
type Decisions = Vec<Option<bool>>;

/// What a program says.
enum Node {
    Never,
    Off(Vec<Rational>),
    /// A neuron to decide, and what it seems to be.
    Split(usize, bool),
    /// Too large for exact arithmetic, or out of time.
    Lost,
}

struct Search<'a> {
    network: &'a ExactNetwork,
    domain: &'a Domain,
    layer: usize,
    program: Program,
    deadline: &'a Deadline,
}

impl Search<'_> {
    fn run(&self, most: usize, programs: &mut usize) -> LayerTransparency {
        let end = programs.saturating_add(most);
        let mut stack: Vec<Decisions> = vec![vec![None; self.program.splits()]];
        let mut is_lost = false;
        while let Some(decisions) = stack.pop() {
            if *programs >= end || self.deadline.is_past() {
                return LayerTransparency::Unknown;
            }
            *programs += 1;
            match self.node(&decisions) {
                Node::Never => {}
                Node::Off(x) => return LayerTransparency::Opaque(x),
                Node::Lost => is_lost = true,
                Node::Split(at, likely) => {
                    for is_on in [!likely, likely] {
                        let mut decided = decisions.clone();
                        decided[at] = Some(is_on);
                        stack.push(decided);
                    }
                }
            }
        }
        if is_lost { LayerTransparency::Unknown } else { LayerTransparency::Transparent }
    }

    fn node(&self, decisions: &Decisions) -> Node {
        match self.program.propose(decisions) {
            Some(Proposal::Never) => return Node::Never,
            Some(Proposal::Here(point)) => {
                let exact: Option<Vec<Rational>> =
                    point.iter().chain([&1.0]).map(|&x| Rational::from_f64(x)).collect();
                if let Some(y) = exact {
                    if let Some(x) = self.towards_inside(self.program.inputs(&y), 4) {
                        return Node::Off(x);
                    }
                    if let Some((at, likely, far)) = self.program.worst(decisions, &y)
                        && far.to_f64() > CLOSE
                    {
                        return Node::Split(at, likely);
                    }
                }
            }
            None => {}
        }
        if self.program.size() > EXACT {
            return Node::Lost;
        }
        self.exact_node(decisions)
    }

    fn exact_node(&self, decisions: &Decisions) -> Node {
        let y = match self.program.solve(decisions, self.deadline) {
            Some(Side::Beyond(y)) => y,
            Some(Side::Superfluous) => return Node::Never,
            None => return Node::Lost,
        };
        let last = self.program.size();
        if let Some(x) = finite(self.program.inputs(&y), &y[last])
            && let Some(x) = self.towards_inside(&x, 4)
        {
            return Node::Off(x);
        }
        if let Some((at, likely, _)) = self.program.worst(decisions, &y) {
            return Node::Split(at, likely);
        }
        // All are decided: the layer is off at `y`, and near it, or beyond it.
        let inner = match self.program.finite(decisions, self.deadline) {
            Some(Side::Beyond(inner)) => inner,
            Some(Side::Superfluous) => return Node::Never,
            None => return Node::Lost,
        };
        let found = (1..HALVES).take_while(|_| !self.deadline.is_past()).find_map(|k| {
            let part = Rational::dyadic(1, -k);
            let near: Vec<Rational> = y.iter().zip(&inner).map(|(y, inner)| y + &(&part * inner)).collect();
            self.towards_inside(&finite(self.program.inputs(&near), &near[last])?, 8)
        });
        found.map_or(Node::Lost, Node::Off)
    }

    /// A point near `x`, towards the inside of the domain, where the layer is off; in doubles if there is
    /// one.
    fn towards_inside(&self, x: &[Rational], tries: i64) -> Option<Vec<Rational>> {
        let sides = self.domain.sides(x.len());
        let inner: Vec<Rational> = sides.iter().map(inside).collect();
        (0..tries).find_map(|k| {
            let part = Rational::dyadic(1, -10 * (k + 1));
            let near: Vec<Rational> =
                x.iter().zip(&inner).map(|(x, inner)| x + &(&part * &(inner - x))).collect();
            let rounded: Option<Vec<Rational>> =
                near.iter().map(|x| Rational::from_f64(x.to_f64())).collect();
            rounded.into_iter().chain([near]).find(|x| self.is_off(&sides, x))
        })
    }

    /// Whether a point is inside the domain and all neurons of the layer are negative there.
    fn is_off(&self, sides: &[Interval], x: &[Rational]) -> bool {
        let is_inside = sides.iter().zip(x).all(|(side, x)| {
            side.lower.as_ref().is_none_or(|lower| lower < x)
                && side.upper.as_ref().is_none_or(|upper| x < upper)
        });
        if !is_inside {
            return false;
        }
        let mut a = x.to_vec();
        for (l, layer) in self.network.layers()[..=self.layer].iter().enumerate() {
            let mut z = layer.weight().iter_rows().zip(layer.bias()).map(|(row, b)| dot(row, &a) + b);
            if l == self.layer {
                return z.all(|z| z.is_negative());
            }
            let is_relu = layer.activation() == Activation::Relu;
            a = z.map(|z| if is_relu && z.is_negative() { Rational::ZERO } else { z }).collect();
        }
        false
    }
}

/// The point with these homogeneous coordinates, if it is finite.
fn finite(inputs: &[Rational], last: &Rational) -> Option<Vec<Rational>> {
    let inverse = last.recip()?;
    Some(inputs.iter().map(|x| x * &inverse).collect())
}

/// A number inside an interval.
fn inside(side: &Interval) -> Rational {
    match (&side.lower, &side.upper) {
        (Some(lower), Some(upper)) => &(lower + upper) * &Rational::dyadic(1, -1),
        (Some(lower), None) => lower + &Rational::ONE,
        (None, Some(upper)) => upper - &Rational::ONE,
        (None, None) => Rational::ZERO,
    }
}
