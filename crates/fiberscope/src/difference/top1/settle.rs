//! One box and one class: settled, or the input to bisect.

use fiberscope_check::difference::{Bounder, Pair, own_lead};
use fiberscope_core::{DecisionNode, RivalWeights};

use super::super::branch::Splits;
use super::super::tree::{Part, Tree};
use super::weights::{Rival, STEPS, Weights};

/// A bound has to be below 0 by this part of the size of the outputs, so that another machine, which adds in
/// another order, finds it so too.
const SLACK: f64 = 1.0 / (1u64 << 40) as f64;
/// Bounds that are this close to 0 are those of rounding.
const GRAZING: f64 = 1.0 / (1u64 << 36) as f64;

/// Better weights that make less of a bound than this part of it are no gain.
const GAIN: f64 = 0.02;
/// After so many boxes without a gain better weights are looked for in one of so many only.
const VAIN: u32 = 2;
const SELDOM: u32 = 5;

/// What is taken over from the box that was bisected.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The rival that was not held down, which is tried first.
    pub first: Option<usize>,
    /// Weights of rivals whose own lead does not do.
    pub weights: Vec<(usize, Weights)>,
    /// How many boxes around this one, one in the other, were left open by rounding alone.
    pub grazed: u32,
    /// How many boxes around this one, one in the other, did not gain by better weights.
    pub vain: u32,
}

/// What is known of a class on a box.
pub enum Settled {
    /// It is settled.
    Leaf(DecisionNode),
    /// It is not.
    Open(Unsettled),
}

/// A box on which a class is not settled.
pub struct Unsettled {
    /// The bound of the rival that is not held down.
    pub far: f64,
    /// The inputs to bisect; empty if none can be.
    pub splits: Splits,
    /// For the halves.
    pub start: Start,
    /// Where the bound is attained, and the middle.
    pub points: Vec<Vec<f64>>,
}

/// The workspace of a thread.
pub struct Worker<'p> {
    pub bounder: Bounder<'p>,
    pub part: Part,
    margin: f64,
}

impl<'p> Worker<'p> {
    pub fn new(pair: &'p Pair, margin: f64) -> Self {
        Worker { bounder: Bounder::new(pair), part: Part::default(), margin }
    }

    /// Bounds the box `[lo, hi]`; false if something is not finite.
    pub fn bound(&mut self) -> bool {
        self.bounder.run(&self.part.lo, &self.part.hi)
    }

    /// What is known of a box that could not be bounded.
    pub fn unbounded(&self, tree: &Tree, start: &Start) -> Settled {
        let splits = Splits::widest(&self.part, tree);
        Settled::Open(Unsettled { far: f64::INFINITY, splits, start: start.clone(), points: Vec::new() })
    }

    /// Settles a class on the box that was bounded.
    pub fn settle(&mut self, class: usize, start: &Start, tree: &Tree) -> Settled {
        let layer = self.bounder.layer(self.bounder.pair().layers().len() - 1);
        let size = layer.zl.iter().chain(layer.zu).fold(0.0f64, |most, z| most.max(z.abs()));
        let aim = -SLACK * size;
        if let Some(other) = self.never(class, aim) {
            return Settled::Leaf(DecisionNode::Never(other as u32));
        }
        let mut start = start.clone();
        let mut listed = Vec::new();
        let tries = start.vain < VAIN || start.vain.is_multiple_of(SELDOM);
        let steps = if tries { STEPS } else { 0 };
        for rival in self.order(class, start.first) {
            let place = start.weights.iter().position(|(held, _)| *held == rival);
            let own = own_lead(rival);
            let known = place.map_or(&own[..], |place| &start.weights[place].1);
            let question = Rival { class, rival, margin: self.margin, aim, steps };
            let before = question.bound(&mut self.bounder, known);
            let (weights, bound) = match before < aim {
                true => (known.to_vec(), before),
                false => question.hold(&mut self.bounder, known, before),
            };
            let changed = *weights != own;
            if bound < aim {
                if changed {
                    listed.push(RivalWeights { rival: rival as u32, weights });
                }
                continue;
            }
            match place {
                Some(place) => start.weights[place].1 = weights,
                None if changed => start.weights.push((rival, weights)),
                None => {}
            }
            // What was found for the others is where their halves begin.
            for held in listed {
                start.weights.retain(|(rival, _)| *rival != held.rival as usize);
                start.weights.push((held.rival as usize, held.weights));
            }
            start.first = Some(rival);
            start.vain = if bound < (1.0 - GAIN) * before { 0 } else { start.vain + 1 };
            start.grazed = if bound <= GRAZING * size { start.grazed + 1 } else { 0 };
            let splits = Splits::of_boxes(&mut self.bounder, &self.part, tree);
            return Settled::Open(Unsettled { far: bound, splits, start, points: self.points() });
        }
        // Weights of a larger box may not be needed here.
        listed.retain(|held: &RivalWeights| {
            let rival = held.rival as usize;
            self.bounder.rival(class, rival, &own_lead(rival), self.margin) >= aim
        });
        listed.sort_by_key(|held| held.rival);
        Settled::Leaf(DecisionNode::Held(listed))
    }

    /// A class that keeps the lead from being large enough: that with the largest lower bound, or that which
    /// is largest in the middle.
    fn never(&mut self, class: usize, aim: f64) -> Option<usize> {
        let layer = self.bounder.layer(self.bounder.pair().layers().len() - 1);
        let others = (0..layer.zl.len()).filter(|&l| l != class);
        let largest = |value: &dyn Fn(usize) -> f64| {
            others.clone().reduce(|best, next| if value(next) > value(best) { next } else { best })
        };
        let middle = |l: usize| 0.5 * layer.zl[l] + 0.5 * layer.zu[l];
        let high = largest(&|l| layer.zl[l])?;
        if layer.zu[class] - layer.zl[high] - self.margin < 2.0 * aim {
            return (self.bounder.lead(class, high, self.margin) < aim).then_some(high);
        }
        let central = largest(&middle)?;
        if middle(class) - middle(central) >= self.margin {
            return None;
        }
        (self.bounder.lead(class, central, self.margin) < aim).then_some(central)
    }

    /// The rivals: the one that was not held down before, then by what their forms leave them.
    fn order(&self, class: usize, first: Option<usize>) -> Vec<usize> {
        let layer = self.bounder.layer(self.bounder.pair().layers().len() - 1);
        let mut rivals: Vec<usize> = (0..layer.du.len()).filter(|&j| j != class).collect();
        rivals.sort_by(|&x, &y| layer.du[y].total_cmp(&layer.du[x]));
        if let Some(place) = first.and_then(|first| rivals.iter().position(|&rival| rival == first)) {
            rivals[..=place].rotate_right(1);
        }
        rivals
    }

    /// The vertex where the last row is largest, and the middle of the box.
    fn points(&self) -> Vec<Vec<f64>> {
        let ends = self.part.lo.iter().zip(&self.part.hi);
        let slopes = self.bounder.row_inputs();
        let vertex = ends.clone().zip(slopes).map(|((lo, hi), c)| if *c > 0.0 { *hi } else { *lo });
        let middle = ends.map(|(lo, hi)| (0.5 * lo + 0.5 * hi).clamp(*lo, *hi));
        vec![vertex.collect(), middle.collect()]
    }
}
