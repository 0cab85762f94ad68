//! Functions of one variable: a walk over the breakpoints of both networks.
//!
//! If all inputs but one are fixed by the domain, or if on `R^n` all rows of both first layers are multiples
//! of one row `w`, the networks are functions of one number `t` (an input with `w_i != 0`, the others fixed).
//! Every pre-activation is continuous and piecewise affine in `t`.
//!
//! **Lemma.** Let `z = s t + c` be a neuron's pre-activation right of `t_0`, as long as no neuron before it
//! changes. It keeps its sign up to the next zero of `s t + c` right of `t_0`. At `t_1`, the least such zero
//! of all neurons, only neurons that vanish there can change, and by continuity a neuron that vanishes at
//! `t_1` is on right of it iff its new slope is positive. So the walk visits every interval on which a
//! network is affine, and two networks are equal iff their outputs are the same affine functions on all joint
//! intervals.
//!
//! There may be exponentially many intervals. A certificate lists their ends, so that the walk takes one step
//! for each entry of the list: an end that is not listed is refused, and listed points at which nothing
//! happens are passed over.
//!
//! A change of one neuron adds a multiple of its function to the neurons behind it; nothing else is computed
//! anew. Zeros are compared as fractions that are not in lowest terms: that costs two products, not a common
//! divisor.

mod affine;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use fiberscope_core::{Activation, Domain, ExactNetwork, Interval, Rational};

use crate::{End, refuse, short_number};
use affine::{Affine, Fraction};

/// The longest breakpoint that a certificate may have, and the most bits of all together that a walk
/// collects.
const MAX_LENGTH: u64 = 1 << 17;
const MAX_BITS: u64 = 1 << 31;

/// What a walk found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum LineOutcome {
    /// The networks are equal; where neurons change their signs.
    Equal(Vec<Rational>),
    /// They differ at this input.
    Different(Vec<Rational>),
    /// The walk was stopped, or there are more breakpoints than a certificate can hold.
    Stopped,
}

/// Compares two networks that are functions of one variable on the domain; `None` if they are not. `stop` is
/// asked at every breakpoint.
///
/// ```
/// use fiberscope_check::{LineOutcome, compare_on_line};
/// use fiberscope_core::{Domain, Network};
///
/// let a = Network::from_rows(&[(&[&[1.0], &[-1.0]], &[0.0, 0.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap().to_exact();
/// let b = Network::from_rows(&[(&[&[2.0]], &[0.0]), (&[&[1.0]], &[0.0])]).unwrap().to_exact();
/// let equal = compare_on_line(&a, &a, &Domain::Space, &|| false);
/// assert!(matches!(equal, Some(LineOutcome::Equal(breakpoints)) if breakpoints == ["0".parse().unwrap()]));
/// assert!(matches!(compare_on_line(&a, &b, &Domain::Space, &|| false), Some(LineOutcome::Different(_))));
/// ```
pub fn compare_on_line(
    a: &ExactNetwork,
    b: &ExactNetwork,
    domain: &Domain,
    stop: &dyn Fn() -> bool,
) -> Option<LineOutcome> {
    let mut walk = JointWalk::new(a, b, domain)?;
    let (mut breakpoints, mut bits) = (Vec::new(), 0);
    loop {
        if stop() {
            return Some(LineOutcome::Stopped);
        }
        let next = walk.next();
        if let Some(t) = walk.difference(next.as_ref()) {
            return Some(LineOutcome::Different(walk.line.input(&t)));
        }
        let Some(t) = next else { return Some(LineOutcome::Equal(breakpoints)) };
        let value = t.value();
        bits += value.length();
        if value.length() > MAX_LENGTH || bits > MAX_BITS {
            return Some(LineOutcome::Stopped);
        }
        breakpoints.push(value);
        walk.pass(t);
    }
}

/// Both networks right of the current point.
struct JointWalk<'a> {
    line: Line,
    walks: [Walk<'a>; 2],
    from: Option<Fraction>,
    end: Option<Fraction>,
}

impl<'a> JointWalk<'a> {
    fn new(a: &'a ExactNetwork, b: &'a ExactNetwork, domain: &Domain) -> Option<Self> {
        let line = Line::of(a, b, domain)?;
        let walks = [Walk::new(a, &line), Walk::new(b, &line)];
        let [from, end] = [&line.side.lower, &line.side.upper].map(|end| end.as_ref().map(Fraction::of));
        Some(JointWalk { line, walks, from, end })
    }

    /// The next point at which a neuron changes, inside the range of the variable.
    fn next(&self) -> Option<Fraction> {
        let next = self.walks.iter().filter_map(Walk::next).min();
        next.filter(|next| self.end.as_ref().is_none_or(|end| next < end))
    }

    /// A point up to the next change (or the end) where the outputs differ.
    fn difference(&self, next: Option<&Fraction>) -> Option<Rational> {
        difference(&self.walks, self.from.as_ref(), next.or(self.end.as_ref()))
    }

    fn pass(&mut self, t: Fraction) {
        self.walks.iter_mut().for_each(|walk| walk.pass(&t));
        self.from = Some(t);
    }
}

/// The check that networks are equal functions of one variable, a breakpoint at a time.
pub struct LineCheck<'a> {
    walk: JointWalk<'a>,
    /// How many breakpoints there were, and the last one.
    count: u64,
    last: Option<Rational>,
}

impl<'a> LineCheck<'a> {
    pub fn new(a: &'a ExactNetwork, b: &'a ExactNetwork, domain: &Domain) -> Result<Self, End> {
        match JointWalk::new(a, b, domain) {
            Some(walk) => Ok(LineCheck { walk, count: 0, last: None }),
            None => refuse(
                "line",
                "all inputs but one must be fixed by the domain, or all rows of the first layers multiples of one",
            ),
        }
    }

    /// The next breakpoint.
    pub fn next(&mut self, t: &Rational) -> Result<(), End> {
        self.count += 1;
        let step = format!("line, breakpoint {}", self.count);
        if self.last.as_ref().is_some_and(|last| last >= t) {
            return refuse(step, "breakpoints must be strictly increasing");
        }
        let Interval { lower, upper } = &self.walk.line.side;
        if lower.as_ref().is_some_and(|lower| t <= lower) || upper.as_ref().is_some_and(|upper| t >= upper) {
            return refuse(step, "breakpoints must lie strictly inside the range of the variable");
        }
        self.last = Some(t.clone());
        let Some(next) = self.walk.next() else { return Ok(()) };
        match next.cmp(&Fraction::of(t)) {
            Ordering::Greater => Ok(()),
            Ordering::Equal => {
                self.compare(Some(&next), step)?;
                self.walk.pass(next);
                Ok(())
            }
            Ordering::Less => refuse(step, missing(&next)),
        }
    }

    /// The end of the list.
    pub fn finish(&mut self) -> Result<(), End> {
        match self.walk.next() {
            Some(next) => refuse("line, end of the breakpoints", missing(&next)),
            None => self.compare(None, "line, behind the last breakpoint".into()),
        }
    }

    fn compare(&self, next: Option<&Fraction>, step: String) -> Result<(), End> {
        match self.walk.difference(next) {
            None => Ok(()),
            Some(_) => refuse(step, "the outputs must be the same affine functions between all breakpoints"),
        }
    }
}

fn missing(t: &Fraction) -> String {
    format!("a neuron changes its sign at {}, which is not among the breakpoints", short_number(&t.value()))
}

/// A point between the ends where the outputs differ.
fn difference(walks: &[Walk; 2], from: Option<&Fraction>, to: Option<&Fraction>) -> Option<Rational> {
    let [a, b] = walks.each_ref().map(Walk::outputs);
    if a == b {
        return None;
    }
    // Two affine functions that are not equal agree at one point at most.
    let one = Rational::ONE;
    let (first, second) = match (from.map(Fraction::value), to.map(Fraction::value)) {
        (Some(from), Some(to)) => (from, to),
        (Some(from), None) => (from.clone(), &from + &one),
        (None, Some(to)) => (&to - &one, to),
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

/// One network right of the current point.
struct Walk<'a> {
    network: &'a ExactNetwork,
    /// Pre-activations, layer by layer.
    z: Vec<Vec<Affine>>,
    /// Whether hidden neurons are on.
    on: Vec<Vec<bool>>,
    /// The neurons of the first layer that are yet to change, the last first: their functions never change.
    queue: Vec<(Fraction, usize)>,
    /// The next change of each hidden layer, as far as the layers before stay as they are.
    next: Vec<Option<Fraction>>,
}

impl<'a> Walk<'a> {
    /// The network just right of the line's lower end.
    fn new(network: &'a ExactNetwork, line: &Line) -> Self {
        let input = |i: usize| match i == line.input {
            true => Affine { slope: Rational::ONE, constant: Rational::ZERO },
            false => Affine { slope: Rational::ZERO, constant: line.fixed[i].clone() },
        };
        let mut inputs: Vec<Affine> = (0..network.input_width()).map(input).collect();
        let mut walk = Walk { network, z: vec![], on: vec![], queue: vec![], next: vec![] };
        let start = line.side.lower.as_ref();
        for (l, layer) in network.layers().iter().enumerate() {
            let form = |(row, bias): (&[Rational], &Rational)| {
                let constant = Affine { slope: Rational::ZERO, constant: bias.clone() };
                let terms = row.iter().zip(&inputs).filter(|(w, _)| !w.is_zero());
                Affine::sum(terms.chain([(&Rational::ONE, &constant)]))
            };
            walk.z.push(layer.weight().iter_rows().zip(layer.bias()).map(form).collect());
            if l == network.hidden_depth() {
                break;
            }
            let on = |z: &Affine| layer.activation() == Activation::Identity || begins_on(z, start);
            walk.on.push(walk.z[l].iter().map(on).collect());
            inputs = (0..layer.width()).map(|unit| walk.activation(l, unit)).collect();
            if l == 0 {
                walk.queue = walk.changes(0).collect();
                walk.queue.sort_by(|a, b| b.cmp(a));
            }
            walk.next.push(walk.next_change(l));
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
    fn next(&self) -> Option<Fraction> {
        self.next.iter().flatten().min().cloned()
    }

    /// The zeros of a layer's neurons right of the current point. A neuron that is on is positive there, or
    /// zero throughout, so it has one iff it falls; one that is off iff it rises.
    fn changes(&self, layer: usize) -> impl Iterator<Item = (Fraction, usize)> {
        let relu = self.network.layers()[layer].activation() == Activation::Relu;
        let neurons = self.z[layer].iter().zip(&self.on[layer]).enumerate();
        neurons.filter_map(move |(unit, (z, on))| {
            let comes = relu && if *on { z.slope.is_negative() } else { z.slope.is_positive() };
            Some((z.root().filter(|_| comes)?, unit))
        })
    }

    fn next_change(&self, layer: usize) -> Option<Fraction> {
        match layer {
            0 => self.queue.last().map(|(t, _)| t.clone()),
            _ => self.changes(layer).map(|(t, _)| t).min(),
        }
    }

    /// The neurons of a layer that vanish at the next breakpoint `t`, except those that are zero throughout.
    fn vanishing(&mut self, layer: usize, t: &Fraction) -> Vec<usize> {
        if self.next[layer].as_ref() != Some(t) {
            return Vec::new();
        }
        if layer > 0 {
            return self.changes(layer).filter(|(zero, _)| zero == t).map(|(_, unit)| unit).collect();
        }
        let first = self.queue.iter().rposition(|(zero, _)| zero != t).map_or(0, |last| last + 1);
        self.queue.split_off(first).into_iter().map(|(_, unit)| unit).collect()
    }

    /// Goes to the right of the next breakpoint `t`.
    fn pass(&mut self, t: &Fraction) {
        // Changes of the activations of the layer before.
        let mut changes: Vec<(usize, Affine)> = Vec::new();
        for layer in 0..self.network.hidden_depth() {
            let vanishing = self.vanishing(layer, t);
            if vanishing.is_empty() && changes.is_empty() {
                continue;
            }
            // What changes in this layer, with the activations left of `t`.
            let mut old: BTreeMap<usize, Affine> = BTreeMap::new();
            for &unit in &vanishing {
                old.insert(unit, self.activation(layer, unit));
            }
            let risen = self.add_changes(layer, &changes, &mut old);
            if self.network.layers()[layer].activation() == Activation::Relu {
                for unit in vanishing.into_iter().chain(risen) {
                    self.on[layer][unit] = self.z[layer][unit].slope.is_positive();
                }
            }
            let change = |(unit, old): (usize, Affine)| (unit, self.activation(layer, unit).minus(&old));
            changes = old.into_iter().map(change).filter(|(_, change)| !change.is_zero()).collect();
            self.next[layer] = self.next_change(layer);
        }
        self.add_changes(self.network.hidden_depth(), &changes, &mut BTreeMap::new());
    }

    /// Adds the changes of the inputs to the pre-activations of a layer, and notes the activations that the
    /// neurons that see them had before. Returns the neurons that were zero throughout, and so vanish at the
    /// breakpoint too.
    fn add_changes(
        &mut self,
        layer: usize,
        changes: &[(usize, Affine)],
        old: &mut BTreeMap<usize, Affine>,
    ) -> Vec<usize> {
        let mut risen = Vec::new();
        if changes.is_empty() {
            return risen;
        }
        let hidden = layer < self.network.hidden_depth();
        for (unit, row) in self.network.layers()[layer].weight().iter_rows().enumerate() {
            let before = &self.z[layer][unit];
            let terms = changes.iter().map(|(j, change)| (&row[*j], change)).filter(|(w, _)| !w.is_zero());
            let after = Affine::sum(terms.chain([(&Rational::ONE, before)]));
            if after == *before {
                continue;
            }
            if hidden {
                if before.is_zero() {
                    risen.push(unit);
                }
                old.entry(unit).or_insert_with(|| self.activation(layer, unit));
            }
            self.z[layer][unit] = after;
        }
        risen
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::network;

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
        assert_eq!(compare(&a, &b, &Domain::Space), Some(LineOutcome::Equal(vec![Rational::ZERO])));
        let right = Domain::from_bounds(&[(0.0, 1.0)]).unwrap();
        assert_eq!(compare(&a, &b, &right), Some(LineOutcome::Equal(vec![])));
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
        assert_eq!(compare(&plane, &plane, &slice), Some(LineOutcome::Equal(vec![Rational::ZERO])));
    }
}
