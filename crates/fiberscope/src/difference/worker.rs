//! One part of the box: its bounds, how to cut it, and a point where the networks may be far apart.

use fiberscope_check::difference::{Bounder, Pair, Ran, Sign};
use fiberscope_core::RowMultipliers;

use super::branch::Splits;
use super::probe::Probe;
use super::rows::{Goal, output, sign};
use super::tree::{Part, Tree};

/// What is known of a part of the box.
pub struct Bounded {
    /// The bound of every row.
    pub bounds: Box<[f64]>,
    /// How far the worst row is from the goal.
    pub far: f64,
    /// How to cut it, the best cut first; empty if the goal is reached, or if nothing can be cut.
    pub splits: Splits,
    /// Multipliers for the rows.
    pub weights: Vec<RowMultipliers>,
    /// A point that is worth looking at.
    pub sight: Option<Sight>,
}

/// A point and the values of all rows there.
pub struct Sight {
    /// The point.
    pub x: Vec<f64>,
    /// `B - A` there.
    pub difference: Vec<f64>,
    /// The row that it was chosen for.
    pub row: usize,
    /// The bound of that row on the part where the point lies.
    pub bound: f64,
    /// The corner of the part where that bound is attained, and the opposite one.
    pub corner: Vec<f64>,
    pub other: Vec<f64>,
}

impl Sight {
    /// The value of a row.
    pub fn value(&self, row: usize) -> f64 {
        sign(row) * self.difference[output(row)]
    }
}

/// How a part is bounded.
type Run<'p> = fn(&mut Bounder<'p>, &[f64], &[f64], &[Sign]) -> Ran;

/// The workspace of a thread.
pub struct Worker<'p> {
    pub bounder: Bounder<'p>,
    pub probe: Probe<'p>,
    pub part: Part,
    pub(super) weights: Vec<RowMultipliers>,
    rows: usize,
}

impl<'p> Worker<'p> {
    pub fn new(pair: &'p Pair) -> Self {
        Worker {
            bounder: Bounder::new(pair),
            probe: Probe::new(pair),
            part: Part::default(),
            weights: Vec::new(),
            rows: 2 * pair.outputs(),
        }
    }

    /// Bounds the part as far as the goal asks for, and closer if it asks for that: at once where the part is of one that was
    /// near the goal, since a first look is rarely enough there.
    pub fn bound(&mut self, goal: &Goal, tree: &Tree, known: &[RowMultipliers], near: bool) -> Bounded {
        if near && goal.closer > 0.0 && goal.ceilings.is_empty() {
            let found = self.look(goal, tree, known, Bounder::run_closely);
            if found.far < f64::INFINITY {
                return found;
            }
        }
        let first = self.look(goal, tree, known, Bounder::run_where);
        let reached = goal.ceilings.iter().zip(&first.bounds).all(|(ceiling, bound)| bound <= ceiling);
        if reached && (first.far <= goal.aim || first.far > goal.closer * goal.aim) {
            return first;
        }
        let again = self.look(goal, tree, known, Bounder::run_closely);
        if again.far <= first.far { again } else { first }
    }

    /// Rows are tightened from the worst one on, until the worst is one that was tightened. Multipliers are looked for
    /// from those that are known.
    fn look(&mut self, goal: &Goal, tree: &Tree, known: &[RowMultipliers], run: Run<'p>) -> Bounded {
        let mut bounds = vec![f64::INFINITY; self.rows].into_boxed_slice();
        self.weights.clear();
        let ran = run(&mut self.bounder, &self.part.lo, &self.part.hi, &self.part.signs);
        match ran {
            Ran::Bounded => {}
            Ran::Empty => {
                bounds.fill(f64::NEG_INFINITY);
                let far = f64::NEG_INFINITY;
                return Bounded { bounds, far, splits: Splits::default(), weights: Vec::new(), sight: None };
            }
            Ran::Beyond => {
                let splits = Splits::widest(&self.part, tree);
                return Bounded { bounds, far: f64::INFINITY, splits, weights: Vec::new(), sight: None };
            }
        }
        let (below, above) = self.bounder.output_bounds();
        for (k, (below, above)) in below.iter().zip(above).enumerate() {
            (bounds[2 * k], bounds[2 * k + 1]) = (*above, -below);
        }
        // What was reached before is reached again, whatever the goal is now.
        for (row, &ceiling) in goal.ceilings.iter().enumerate() {
            if bounds[row] > ceiling {
                bounds[row] = bounds[row].min(self.tighten(row, ceiling, known));
            }
        }
        let mut tightened = vec![false; self.rows];
        let mut last = None;
        let (row, far) = loop {
            let (row, far) = goal.worst(&bounds);
            if far <= goal.aim {
                let weights = std::mem::take(&mut self.weights);
                return Bounded { bounds, far, splits: Splits::default(), weights, sight: None };
            }
            match last {
                // One row beyond the aim is reason enough to bisect, and where nothing but the aim counts no
                // more is asked.
                Some(last) if goal.decides && goal.distance(last, bounds[last]) > goal.aim => {
                    break (last, far);
                }
                Some(last) if tightened[row] && last == row => break (row, far),
                _ => {}
            }
            // The last row is the one whose coefficients are kept.
            let bound = self.tighten(row, goal.level(row), known);
            bounds[row] = bounds[row].min(bound);
            (tightened[row], last) = (true, Some(row));
        };
        let splits = Splits::new(&mut self.bounder, &self.part, tree);
        let sight = Some(self.sight(row, bounds[row]));
        Bounded { bounds, far, splits, weights: std::mem::take(&mut self.weights), sight }
    }

    /// The vertex where the row that was tightened last is largest, and the middle of the box.
    fn sight(&mut self, row: usize, bound: f64) -> Sight {
        let slopes = self.bounder.row_inputs();
        let ends = self.part.lo.iter().zip(&self.part.hi);
        let vertex: Vec<f64> =
            ends.clone().zip(slopes).map(|((lo, hi), c)| if *c > 0.0 { *hi } else { *lo }).collect();
        let middle: Vec<f64> = ends.map(|(lo, hi)| (0.5 * lo + 0.5 * hi).clamp(*lo, *hi)).collect();
        let value = |probe: &mut Probe, x: &[f64]| probe.difference(x).to_vec();
        let [at_vertex, at_middle] = [&vertex, &middle].map(|x| value(&mut self.probe, x));
        let ends = self.part.lo.iter().zip(&self.part.hi).zip(&vertex);
        let other = ends.map(|((lo, hi), x)| if x == lo { *hi } else { *lo }).collect();
        let better = sign(row) * at_middle[output(row)] > sign(row) * at_vertex[output(row)];
        let (x, difference) = if better { (middle, at_middle) } else { (vertex.clone(), at_vertex) };
        Sight { x, difference, row, bound, corner: vertex, other }
    }
}
