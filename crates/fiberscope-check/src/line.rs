//! Functions of one variable: a walk over the breakpoints of both networks.
//!
//! If all inputs but one are fixed by the domain, or if on `R^n` all rows of both first layers are multiples of one
//! row `w`, the networks are functions of one number `t` (an input with `w_i != 0`, the others fixed). Every
//! pre-activation is continuous and piecewise affine in `t`.
//!
//! **Lemma.** Let `z = s t + c` be a neuron's pre-activation right of `t_0`, as long as no neuron before it changes.
//! It keeps its sign up to the next zero of `s t + c` right of `t_0`. At `t_1`, the least such zero of all neurons, only
//! neurons that vanish there can change, and by continuity a neuron that vanishes at `t_1` is on right of it iff
//! its new slope is positive. So the walk visits every interval on which a network is affine, and two networks are
//! equal iff their outputs are the same affine functions on all joint intervals.
//!
//! A change of one neuron adds a multiple of its function to the neurons behind it; nothing else is computed anew.

use std::collections::{BTreeMap, BTreeSet};

use fiberscope_core::{Activation, Domain, ExactNetwork, Interval, Rational};

use crate::{Refusal, refuse};

/// What a walk found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum LineOutcome {
    /// The networks are equal; the number of joint affine pieces.
    Equal(u64),
    /// They differ at this input.
    Different(Vec<Rational>),
    /// The walk was stopped.
    Stopped,
}

/// Compares two networks that are functions of one variable on the domain; `None` if they are not. `stop` is asked
/// at every breakpoint.
pub fn compare_on_line(
    a: &ExactNetwork,
    b: &ExactNetwork,
    domain: &Domain,
    stop: &dyn Fn() -> bool,
) -> Option<LineOutcome> {
    let line = Line::of(a, b, domain)?;
    let mut walks = [Walk::new(a, &line), Walk::new(b, &line)];
    let (mut from, mut pieces) = (line.side.lower.clone(), 0);
    loop {
        if stop() {
            return Some(LineOutcome::Stopped);
        }
        pieces += 1;
        let next = walks.iter().filter_map(Walk::next).min();
        let to = match (next, &line.side.upper) {
            (Some(next), Some(end)) => Some(next.min(end.clone())),
            (next, end) => next.or_else(|| end.clone()),
        };
        if let Some(t) = difference(&walks, from.as_ref(), to.as_ref()) {
            return Some(LineOutcome::Different(line.input(&t)));
        }
        let Some(t) = to.filter(|t| line.side.upper.as_ref() != Some(t)) else {
            return Some(LineOutcome::Equal(pieces));
        };
        walks.iter_mut().for_each(|walk| walk.pass(&t));
        from = Some(t);
    }
}

/// Checks that the networks are equal functions of one variable.
pub fn verify(a: &ExactNetwork, b: &ExactNetwork, domain: &Domain) -> Result<(), Refusal> {
    match compare_on_line(a, b, domain, &|| false) {
        Some(LineOutcome::Equal(_)) => Ok(()),
        Some(_) => refuse("line", "the outputs must be the same affine functions between all breakpoints"),
        None => refuse(
            "line",
            "all inputs but one must be fixed by the domain, or all rows of the first layers multiples of one",
        ),
    }
}

/// A point between the ends where the outputs differ.
fn difference(walks: &[Walk; 2], from: Option<&Rational>, to: Option<&Rational>) -> Option<Rational> {
    let [a, b] = walks.each_ref().map(Walk::outputs);
    if a == b {
        return None;
    }
    // Two affine functions that are not equal agree at one point at most.
    let one = Rational::ONE;
    let (first, second) = match (from, to) {
        (Some(from), Some(to)) => (from.clone(), to.clone()),
        (Some(from), None) => (from.clone(), from + &one),
        (None, Some(to)) => (to - &one, to.clone()),
        (None, None) => (Rational::ZERO, one),
    };
    let at = |t: &Rational| a.iter().zip(b).any(|(a, b)| a.at(t) != b.at(t));
    [first, second].into_iter().find(at)
}

/// The variable: one input, the others fixed.
struct Line {
    input: usize,
    side: Interval,
    fixed: Vec<Rational>,
}

impl Line {
    fn of(a: &ExactNetwork, b: &ExactNetwork, domain: &Domain) -> Option<Self> {
        let sides = domain.sides(a.input_width());
        let is_fixed = |side: &Interval| side.lower.is_some() && side.lower == side.upper;
        let free: Vec<usize> = (0..sides.len()).filter(|&i| !is_fixed(&sides[i])).collect();
        let fixed = sides.iter().map(|side| side.lower.clone().unwrap_or(Rational::ZERO)).collect();
        if let [input] = free[..] {
            return Some(Line { input, side: sides[input].clone(), fixed });
        }
        if *domain != Domain::Space {
            return None;
        }
        let rows = || [a, b].into_iter().flat_map(|network| network.layers()[0].weight().iter_rows());
        let base = rows().find(|row| row.iter().any(|w| !w.is_zero()))?;
        let input = base.iter().position(|w| !w.is_zero())?;
        let multiple = |row: &[Rational]| {
            let factor = &row[input] / &base[input];
            row.iter().zip(base).all(|(x, y)| *x == &factor * y)
        };
        rows().all(multiple).then(|| Line { input, side: Interval::ALL, fixed })
    }

    fn input(&self, t: &Rational) -> Vec<Rational> {
        let mut x = self.fixed.clone();
        x[self.input] = t.clone();
        x
    }
}

/// The function `slope t + constant`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Affine {
    slope: Rational,
    constant: Rational,
}

impl Affine {
    fn zero() -> Self {
        Affine { slope: Rational::ZERO, constant: Rational::ZERO }
    }

    fn at(&self, t: &Rational) -> Rational {
        &(&self.slope * t) + &self.constant
    }

    fn add(&mut self, factor: &Rational, other: &Affine) {
        self.slope += &(factor * &other.slope);
        self.constant += &(factor * &other.constant);
    }

    fn minus(&self, other: &Affine) -> Affine {
        Affine { slope: &self.slope - &other.slope, constant: &self.constant - &other.constant }
    }

    fn is_zero(&self) -> bool {
        self.slope.is_zero() && self.constant.is_zero()
    }
}

/// One network right of the current point.
struct Walk<'a> {
    network: &'a ExactNetwork,
    /// Pre-activations, layer by layer.
    z: Vec<Vec<Affine>>,
    /// Whether hidden neurons are on.
    on: Vec<Vec<bool>>,
    /// The coming zeros: where, layer, neuron.
    zeros: BTreeSet<(Rational, usize, usize)>,
}

impl<'a> Walk<'a> {
    /// The network just right of the line's lower end.
    fn new(network: &'a ExactNetwork, line: &Line) -> Self {
        let input = |i: usize| match i == line.input {
            true => Affine { slope: Rational::ONE, constant: Rational::ZERO },
            false => Affine { slope: Rational::ZERO, constant: line.fixed[i].clone() },
        };
        let mut inputs: Vec<Affine> = (0..network.input_width()).map(input).collect();
        let mut walk = Walk { network, z: Vec::new(), on: Vec::new(), zeros: BTreeSet::new() };
        let start = line.side.lower.as_ref();
        for (l, layer) in network.layers().iter().enumerate() {
            let form = |(row, bias): (&[Rational], &Rational)| {
                let mut z = Affine { slope: Rational::ZERO, constant: bias.clone() };
                row.iter().zip(&inputs).filter(|(w, _)| !w.is_zero()).for_each(|(w, a)| z.add(w, a));
                z
            };
            walk.z.push(layer.weight().iter_rows().zip(layer.bias()).map(form).collect());
            if l == network.hidden_depth() {
                break;
            }
            let identity = layer.activation() == Activation::Identity;
            let on = |z: &Affine| identity || begins_on(z, start);
            walk.on.push(walk.z[l].iter().map(on).collect());
            inputs = (0..layer.width()).map(|unit| walk.activation(l, unit)).collect();
            if !identity {
                (0..layer.width()).for_each(|unit| walk.expect_zero(l, unit, start));
            }
        }
        walk
    }

    fn activation(&self, layer: usize, unit: usize) -> Affine {
        if self.on[layer][unit] { self.z[layer][unit].clone() } else { Affine::zero() }
    }

    fn outputs(&self) -> &[Affine] {
        &self.z[self.z.len() - 1]
    }

    /// The next breakpoint.
    fn next(&self) -> Option<Rational> {
        self.zeros.first().map(|(t, _, _)| t.clone())
    }

    /// Notes the neuron's zero right of a point, if it has one.
    fn expect_zero(&mut self, layer: usize, unit: usize, after: Option<&Rational>) {
        if let Some(t) = zero(&self.z[layer][unit])
            && after.is_none_or(|after| t > *after)
        {
            self.zeros.insert((t, layer, unit));
        }
    }

    /// Goes to the right of `t`.
    fn pass(&mut self, t: &Rational) {
        let mut vanishing = Vec::new();
        while self.zeros.first().is_some_and(|(zero, _, _)| zero == t) {
            vanishing.extend(self.zeros.pop_first().map(|(_, layer, unit)| (layer, unit)));
        }
        let Some(first) = vanishing.iter().map(|(layer, _)| *layer).min() else { return };
        // Changes of the activations of the layer before.
        let mut changes: Vec<(usize, Affine)> = Vec::new();
        for layer in first..self.network.hidden_depth() {
            // What changes in this layer, with the activations left of `t`.
            let mut old: BTreeMap<usize, Affine> = BTreeMap::new();
            for (_, unit) in vanishing.iter().filter(|(l, _)| *l == layer) {
                old.insert(*unit, self.activation(layer, *unit));
            }
            self.add_changes(layer, &changes, &mut old);
            if self.network.layers()[layer].activation() == Activation::Relu {
                old.keys().for_each(|&unit| self.settle(layer, unit, t));
            }
            let change = |(unit, old): (usize, Affine)| (unit, self.activation(layer, unit).minus(&old));
            changes = old.into_iter().map(change).filter(|(_, change)| !change.is_zero()).collect();
        }
        self.add_changes(self.network.hidden_depth(), &changes, &mut BTreeMap::new());
    }

    /// Adds the changes of the inputs to the pre-activations of a layer, and notes the activations that the
    /// neurons that see them had before.
    fn add_changes(&mut self, layer: usize, changes: &[(usize, Affine)], old: &mut BTreeMap<usize, Affine>) {
        if changes.is_empty() {
            return;
        }
        let hidden = layer < self.network.hidden_depth();
        for (unit, row) in self.network.layers()[layer].weight().iter_rows().enumerate() {
            let mut sum = Affine::zero();
            changes
                .iter()
                .filter(|(j, _)| !row[*j].is_zero())
                .for_each(|(j, change)| sum.add(&row[*j], change));
            if sum.is_zero() {
                continue;
            }
            if hidden {
                old.entry(unit).or_insert_with(|| self.activation(layer, unit));
                if let Some(zero) = zero(&self.z[layer][unit]) {
                    self.zeros.remove(&(zero, layer, unit));
                }
            }
            self.z[layer][unit].add(&Rational::ONE, &sum);
        }
    }

    /// Decides a neuron right of `t`.
    fn settle(&mut self, layer: usize, unit: usize, t: &Rational) {
        let z = &self.z[layer][unit];
        if z.at(t).is_zero() {
            self.on[layer][unit] = z.slope.is_positive();
        }
        self.expect_zero(layer, unit, Some(t));
    }
}

/// Whether the function is positive right of a point, or far to the left.
fn begins_on(z: &Affine, start: Option<&Rational>) -> bool {
    let (value, slope) = match start {
        Some(start) => (z.at(start), z.slope.clone()),
        None if z.slope.is_zero() => (z.constant.clone(), Rational::ZERO),
        None => (-&z.slope, Rational::ZERO),
    };
    value.is_positive() || (value.is_zero() && slope.is_positive())
}

/// Where the function is zero, if at one point only.
fn zero(z: &Affine) -> Option<Rational> {
    Some(-(&z.constant * &z.slope.recip()?))
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Layer, Matrix};

    use super::*;

    fn network(layers: &[(&[&[i64]], &[i64])]) -> ExactNetwork {
        let last = layers.len() - 1;
        let layer = |(l, (rows, bias)): (usize, &(&[&[i64]], &[i64]))| {
            let rows: Vec<Vec<Rational>> =
                rows.iter().map(|row| row.iter().map(|&w| Rational::from(w)).collect()).collect();
            let bias = bias.iter().map(|&b| Rational::from(b)).collect();
            let activation = if l == last { Activation::Identity } else { Activation::Relu };
            Layer::new(Matrix::from_rows(&rows).unwrap(), bias, activation)
        };
        ExactNetwork::new(layers.iter().enumerate().map(layer).collect()).unwrap()
    }

    fn compare(a: &ExactNetwork, b: &ExactNetwork, domain: &Domain) -> Option<LineOutcome> {
        compare_on_line(a, b, domain, &|| false)
    }

    /// `|x|`, and `|x|` as a difference of bends in two layers.
    fn pair() -> (ExactNetwork, ExactNetwork) {
        let deep = network(&[
            (&[&[-2], &[2], &[0]], &[0, 0, 3]),
            (&[&[1, 1, 0], &[-1, -1, -1]], &[0, -1]),
            (&[&[1, 5]], &[0]),
            (&[&[1]], &[0]),
        ]);
        (network(&[(&[&[2], &[-2]], &[0, 0]), (&[&[1, 1]], &[0])]), deep)
    }

    #[test]
    fn equal_functions_are_equal_on_every_piece() {
        let (a, b) = pair();
        assert_eq!(compare(&a, &b, &Domain::Space), Some(LineOutcome::Equal(2)));
        let right = Domain::from_bounds(&[(0.0, 1.0)]).unwrap();
        assert_eq!(compare(&a, &b, &right), Some(LineOutcome::Equal(1)));
        assert_eq!(compare_on_line(&a, &b, &Domain::Space, &|| true), Some(LineOutcome::Stopped));
    }

    #[test]
    fn a_difference_is_found_where_it_is() {
        let (a, _) = pair();
        // relu(x - 7) more.
        let b = network(&[(&[&[2], &[-2], &[1]], &[0, 0, -7]), (&[&[1, 1, 1]], &[0])]);
        let Some(LineOutcome::Different(x)) = compare(&a, &b, &Domain::Space) else { panic!("equal") };
        assert_ne!(a.evaluate_exact(&x), b.evaluate_exact(&x));
        let left = Domain::from_bounds(&[(-9.0, 7.0)]).unwrap();
        assert!(matches!(compare(&a, &b, &left), Some(LineOutcome::Equal(_))));
    }

    #[test]
    fn one_direction_is_one_variable() {
        let wide = |sign: i64| {
            network(&[
                (&[&[2, 4], &[-sign, -2 * sign]], &[1, -1]),
                (&[&[3, 1], &[1, -1]], &[0, 1]),
                (&[&[1, 2]], &[0]),
            ])
        };
        assert!(matches!(compare(&wide(1), &wide(1), &Domain::Space), Some(LineOutcome::Equal(_))));
        let Some(LineOutcome::Different(x)) = compare(&wide(1), &wide(2), &Domain::Space) else {
            panic!("equal")
        };
        assert_ne!(wide(1).evaluate_exact(&x), wide(2).evaluate_exact(&x));
        let plane = network(&[(&[&[1, 0], &[0, 1]], &[0, 0]), (&[&[1, 1]], &[0])]);
        assert_eq!(compare(&plane, &plane, &Domain::Space), None);
        let slice = Domain::from_bounds(&[(-1.0, 1.0), (2.0, 2.0)]).unwrap();
        assert_eq!(compare(&plane, &plane, &slice), Some(LineOutcome::Equal(2)));
    }
}
