//! Whether the networks compute the same expressions at a node, and which neurons to decide if they do not.

use std::sync::Arc;

use super::{Node, Unit};
use crate::equivalence::regions::integer::{Form, LayerNumbers};
use crate::equivalence::regions::numbering::{Expression, Numbering};
use crate::equivalence::regions::problem::Problem;
use crate::equivalence::regions::residue::Scale;

/// The most splits from a guess that failed to the next.
const PATIENCE: u32 = 4;

/// So many failed guesses on a path are narrowed down, if that takes at most so many multiplications, and the best
/// decision makes so many atoms less that only one network has, on both sides together.
const NARROWED: u32 = 3;
const WORK: usize = 1 << 24;
const CLEAR: usize = 4;

/// The last guess on a path.
#[derive(Clone, Debug, Default)]
pub(super) struct Guess {
    /// Neurons that keep the networks apart, with the weight of the reasons.
    blamed: Vec<(Unit, u8)>,
    /// How many layers were complete then.
    layers: usize,
    /// How many splits were on the path then.
    depth: u32,
    /// How many guesses failed on the path.
    failures: u32,
}

impl Node {
    /// Guesses whether the networks compute the same expressions, if the answer may have changed since the
    /// last guess.
    pub fn may_be_same(&mut self, problem: &Problem) -> bool {
        let Some(numbers) = problem.numbers.as_ref().filter(|_| self.may_have_changed(problem)) else {
            return false;
        };
        let (numbering, outputs) = self.numbered(problem, numbers, None);
        let same = outputs[0] == outputs[1];
        let failures = self.guess.as_ref().map_or(0, |guess| guess.failures) + 1;
        let mut blamed = if same { Vec::new() } else { numbering.blame(&outputs) };
        if failures <= NARROWED {
            self.narrow(problem, numbers, &mut blamed, numbering.alone());
        }
        let layers = self.complete_layers();
        self.guess = Some(Arc::new(Guess { blamed, layers, depth: self.depth, failures }));
        same
    }

    /// The atoms and the outputs of both networks on the polytope, on one side of a neuron's hyperplane if that is
    /// given.
    fn numbered(
        &self,
        problem: &Problem,
        numbers: &[Vec<LayerNumbers>; 2],
        side: Option<(Unit, bool)>,
    ) -> (Numbering, [Vec<Expression>; 2]) {
        let mut numbering = Numbering::new(&problem.ranges);
        let decided = self.path.iter().map(|step| (step.unit, step.on)).chain(side);
        for (unit, on) in decided.filter(|(unit, _)| !self.form(*unit).is_constant()) {
            let known = expression(self.form(unit), &numbers[unit.network][unit.layer].scale);
            numbering.assume(&if on { known } else { known.negated() });
        }
        let outputs =
            [0, 1].map(|network| self.expressions(&numbers[network], network, side, &mut numbering));
        (numbering, outputs)
    }

    /// Keeps of the neurons with the most blame those whose decision brings the networks together most, if some
    /// are clearly better than others: neurons that are wired up in another way are often blamed together with
    /// all that they meet.
    fn narrow(
        &self,
        problem: &Problem,
        numbers: &[Vec<LayerNumbers>; 2],
        blamed: &mut Vec<(Unit, u8)>,
        alone: usize,
    ) {
        let Some(most) = blamed.iter().map(|(_, weight)| *weight).max() else { return };
        let mut tried: Vec<Unit> = Vec::new();
        for &(unit, _) in blamed.iter().filter(|(_, weight)| *weight == most) {
            if !tried.contains(&unit) {
                tried.push(unit);
            }
        }
        let weights = numbers.iter().flatten().map(|layer| layer.weight.iter().map(Vec::len).sum::<usize>());
        let work = weights.sum::<usize>().saturating_mul(2 * tried.len());
        if tried.len() < 2 || work > WORK || problem.is_late() {
            return;
        }
        let gain = |&unit: &Unit| -> usize {
            let left = |on: bool| self.numbered(problem, numbers, Some((unit, on))).0.alone();
            [false, true].map(|on| alone.saturating_sub(left(on))).iter().sum()
        };
        let gains: Vec<usize> = tried.iter().map(gain).collect();
        let best = gains.iter().copied().max().unwrap_or(0);
        let is_kept =
            |unit: &Unit| tried.iter().zip(&gains).any(|(u, gain)| u == unit && 4 * gain >= 3 * best);
        if best >= CLEAR {
            blamed.retain(|(unit, weight)| *weight == most && is_kept(unit));
        }
    }

    /// How much a neuron keeps the networks apart.
    pub(super) fn blame(&self, unit: Unit) -> u8 {
        let blamed = self.guess.as_ref().map_or(&[][..], |guess| &guess.blamed);
        blamed.iter().filter(|(other, _)| *other == unit).map(|(_, weight)| *weight).max().unwrap_or(0)
    }

    /// Whether a layer is complete, or the neurons that most kept the networks apart are decided, since the
    /// last guess. Where guesses fail, they become rare.
    pub fn may_have_changed(&self, problem: &Problem) -> bool {
        let changed = |guess: &Guess| {
            self.depth >= guess.depth + (guess.failures.saturating_sub(2) / 2).min(PATIENCE)
                && (guess.layers != self.complete_layers() || self.is_blame_outdated(guess))
        };
        problem.numbers.is_some() && self.guess.as_deref().is_none_or(changed)
    }

    fn complete_layers(&self) -> usize {
        self.done.iter().map(Vec::len).sum()
    }

    fn is_blame_outdated(&self, guess: &Guess) -> bool {
        let most = guess.blamed.iter().map(|(_, weight)| *weight).max();
        most.is_some()
            && guess.blamed.iter().all(|&(unit, weight)| Some(weight) != most || self.status(unit).is_some())
    }

    fn expressions(
        &self,
        numbers: &[LayerNumbers],
        network: usize,
        side: Option<(Unit, bool)>,
        numbering: &mut Numbering,
    ) -> Vec<Expression> {
        let complete = self.done[network].len();
        let chosen = |unit: usize| {
            side.filter(|(of, _)| *of == Unit { network, layer: complete, unit }).map(|(_, on)| on)
        };
        let mut values = match (&self.current[network], self.done[network].last()) {
            (Some(layer), _) => {
                let value = |unit: usize| match layer.on[unit].or_else(|| chosen(unit)) {
                    Some(false) => Expression::default(),
                    Some(true) => expression(&layer.forms[unit], &numbers[complete].scale),
                    None => {
                        let e = expression(&layer.forms[unit], &numbers[complete].scale);
                        numbering.relu(&e, network, Some(Unit { network, layer: complete, unit }))
                    }
                };
                (0..layer.forms.len()).map(value).collect()
            }
            (None, Some(layer)) => {
                let value = |(form, on): (&Form, &Option<bool>)| match on {
                    Some(true) => expression(form, &numbers[complete - 1].scale),
                    _ => Expression::default(),
                };
                layer.forms.iter().zip(&layer.on).map(value).collect()
            }
            (None, None) => numbering.input_values(),
        };
        let first = complete + usize::from(self.current[network].is_some());
        for (l, layer) in numbers.iter().enumerate().skip(first) {
            let mut next = Vec::with_capacity(layer.bias.len());
            for (row, &bias) in layer.weight.iter().zip(&layer.bias) {
                let e = numbering.combine(row, bias, &values);
                next.push(if l + 1 == numbers.len() { e } else { numbering.relu(&e, network, None) });
            }
            values = next;
        }
        values
    }
}

fn expression(form: &Form, scale: &Scale) -> Expression {
    let number = |i: usize| scale.times(&form.exact[i], form.approximate[i], form.exponent);
    let last = form.exact.len() - 1;
    let terms = (0..last).map(|i| (i as u32, number(i))).filter(|(_, c)| !c.is_zero()).collect();
    Expression { terms, constant: number(last) }
}
