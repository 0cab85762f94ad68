//! The check of the trees of all classes.
//!
//! Lemma. If every rule below holds, the claim is true: every `x` of the domain lies in a leaf of each tree,
//! and there the lemma of the module settles the tree's class, since the results of the moves are `f_A` and
//! `f_B` on the domain.
//!
//! The trees are walked in preorder, one after the other; nothing is computed for a box that is bisected, and
//! a box that several trees begin with is bounded once.

use fiberscope_core::decimal::shortest;
use fiberscope_core::{DecisionNode, Domain, ExactNetwork, Rational, RivalWeights};

use super::super::exact::ExactBounder;
use super::super::{Arithmetic, Bounder, Pair, outward};
use super::path::BoxPath;
use super::{MAX_WEIGHT, own_lead};
use crate::{End, Stop, go_on, refuse};

/// The check of the trees, a node at a time.
pub struct Walk<'a> {
    bounder: Bounder<'a>,
    exact: Option<ExactBounder>,
    margin: Rational,
    /// The largest double that is at most the margin.
    near: f64,
    path: BoxPath,
    /// The box that is bounded.
    bounded: Option<(Vec<f64>, Vec<f64>)>,
    /// The class of the current tree, from 0; the number of outputs when all trees are complete.
    class: usize,
    outputs: usize,
    count: u64,
}

impl<'a> Walk<'a> {
    pub fn new(
        networks: &[ExactNetwork; 2],
        pair: &'a Pair,
        domain: &Domain,
        margin: &Rational,
        arithmetic: Arithmetic,
    ) -> Result<Self, End> {
        let root = outward(domain).or_else(|rule| refuse("domain", rule))?;
        let outputs = pair.outputs();
        if outputs < 2 {
            return refuse("networks", "a class needs two outputs or more");
        }
        if margin.is_negative() {
            return refuse("margin", "the margin must not be negative");
        }
        let exact = match arithmetic {
            Arithmetic::Doubles => None,
            Arithmetic::Exact => Some(ExactBounder::new(networks)),
        };
        Ok(Walk {
            bounder: Bounder::new(pair),
            exact,
            margin: margin.clone(),
            near: super::super::leaves::round_down(margin),
            path: BoxPath::new(root),
            bounded: None,
            class: 0,
            outputs,
            count: 0,
        })
    }

    /// The next node.
    pub fn next(&mut self, node: &DecisionNode, stop: Stop) -> Result<(), End> {
        self.count += 1;
        if self.class == self.outputs {
            return refuse(self.step(), "the trees of all classes end before this node");
        }
        match node {
            DecisionNode::Bisect(input) => {
                return self.path.bisect(*input as usize).or_else(|rule| refuse(self.step(), rule));
            }
            DecisionNode::Never(other) => self.never(*other as usize, stop)?,
            DecisionNode::Held(rivals) => self.held(rivals, stop)?,
        }
        if !self.path.turn() {
            self.class += 1;
        }
        Ok(())
    }

    /// The end of the list.
    pub fn finish(&self) -> Result<(), End> {
        if self.class == self.outputs {
            return Ok(());
        }
        let missing = self.path.missing() + self.outputs - self.class - 1;
        refuse(self.step(), format!("the list ends here; {missing} or more nodes are missing"))
    }

    fn step(&self) -> String {
        match self.class < self.outputs {
            true => format!("tree of class {}, node {}", self.class + 1, self.count),
            false => format!("trees of classes, node {}", self.count),
        }
    }

    /// Bounds the current box, unless that was done for the class before.
    fn bound(&mut self, stop: Stop) -> Result<(), End> {
        let BoxPath { lo, hi, .. } = &self.path;
        if self.bounded.as_ref().is_some_and(|(from, to)| from == lo && to == hi) {
            return Ok(());
        }
        self.bounded = None;
        if !self.bounder.run(lo, hi) {
            return refuse(self.step(), "the bounds on this box are beyond the doubles");
        }
        if let Some(exact) = &mut self.exact {
            exact.run((lo, hi), &[], &mut self.bounder, stop)?;
        }
        self.bounded = Some((lo.clone(), hi.clone()));
        Ok(())
    }

    fn never(&mut self, other: usize, stop: Stop) -> Result<(), End> {
        self.other_class(other)?;
        self.bound(stop)?;
        let class = self.class;
        let (below, lead) = match &self.exact {
            None => {
                let bound = self.bounder.lead(class, other, self.near);
                (bound < 0.0, bound)
            }
            Some(exact) => {
                let bound = exact.lead((class, other), &self.margin, &mut self.bounder, stop)?;
                (bound.is_negative(), bound.to_f64())
            }
        };
        if below {
            return Ok(());
        }
        let rule = format!(
            "A leads class {} by at most the margin and {} on this box; that must be less than the margin",
            other + 1,
            shortest(lead)
        );
        refuse(self.step(), rule)
    }

    fn held(&mut self, listed: &[RivalWeights], stop: Stop) -> Result<(), End> {
        self.check_weights(listed)?;
        self.bound(stop)?;
        let class = self.class;
        let mut listed = listed.iter().peekable();
        for rival in (0..self.outputs).filter(|&rival| rival != class) {
            go_on(stop)?;
            let given = listed.next_if(|held| held.rival as usize == rival);
            let own = own_lead(rival);
            let weights = given.map_or(&own[..], |held| &held.weights);
            let (held, bound) = match &self.exact {
                None => {
                    let bound = self.bounder.rival(class, rival, weights, self.near);
                    (bound < 0.0, bound)
                }
                Some(exact) => {
                    let pair = (class, rival);
                    let bound = exact.rival(pair, weights, &self.margin, &mut self.bounder, stop)?;
                    (bound.is_negative(), bound.to_f64())
                }
            };
            if !held {
                let rule = format!(
                    "class {} is held down to {} by its weights on this box; that must be less than 0",
                    rival + 1,
                    shortest(bound)
                );
                return refuse(self.step(), rule);
            }
        }
        Ok(())
    }

    fn other_class(&self, other: usize) -> Result<(), End> {
        if other < self.outputs && other != self.class {
            return Ok(());
        }
        let rule = format!("expected another class, from 1 to {}, found {}", self.outputs, other + 1);
        refuse(self.step(), rule)
    }

    fn check_weights(&self, listed: &[RivalWeights]) -> Result<(), End> {
        let mut before = None;
        for held in listed {
            self.other_class(held.rival as usize)?;
            if before.is_some_and(|before| before >= held.rival) {
                return refuse(self.step(), "the rivals must increase");
            }
            before = Some(held.rival);
            let (mut last, mut total) = (None, 0u64);
            for &(class, weight) in &held.weights {
                self.other_class(class as usize)?;
                if last.is_some_and(|last| last >= class) {
                    return refuse(self.step(), "the classes with weights must increase");
                }
                last = Some(class);
                total = total.saturating_add(weight);
                if weight == 0 || total > MAX_WEIGHT {
                    let rule = "weights must be positive, and add up to at most 2^42 units";
                    return refuse(self.step(), rule);
                }
            }
        }
        Ok(())
    }
}
