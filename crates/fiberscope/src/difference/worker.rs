//! One box: its bounds, the input to bisect, and a point where the networks may be far apart.

use fiberscope_check::difference::{Bounder, Pair};

use super::branch::Splits;
use super::probe::Probe;
use super::rows::{Goal, output, sign};

/// What is known of a box.
pub struct Bounded {
    /// The bound of every row.
    pub bounds: Box<[f64]>,
    /// How far the worst row is from the goal.
    pub far: f64,
    /// The inputs to bisect, the best one first; empty if the goal is reached, or if no input can be
    /// bisected.
    pub splits: Splits,
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
}

impl Sight {
    /// The value of a row.
    pub fn value(&self, row: usize) -> f64 {
        sign(row) * self.difference[output(row)]
    }
}

/// A point is worth looking at if it comes as near to the best one as this.
const NEAR: f64 = 0.5;

/// The workspace of a thread.
pub struct Worker<'p> {
    pub bounder: Bounder<'p>,
    pub probe: Probe<'p>,
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
    rows: usize,
}

impl<'p> Worker<'p> {
    pub fn new(pair: &'p Pair) -> Self {
        Worker {
            bounder: Bounder::new(pair),
            probe: Probe::new(pair),
            lo: Vec::new(),
            hi: Vec::new(),
            rows: 2 * pair.outputs(),
        }
    }

    /// Bounds the box `[lo, hi]` as far as the goal asks for: rows are tightened from the worst one on, until
    /// the worst is one that was tightened. `best` is the largest value of every row that is known, and
    /// `root` the root box.
    pub fn bound(&mut self, goal: &Goal, best: &[f64], root: (&[f64], &[f64])) -> Bounded {
        let mut bounds = vec![f64::INFINITY; self.rows].into_boxed_slice();
        if !self.bounder.run(&self.lo, &self.hi) {
            let splits = Splits::widest(&self.lo, &self.hi, root);
            return Bounded { bounds, far: f64::INFINITY, splits, sight: None };
        }
        let (below, above) = self.bounder.output_bounds();
        for (k, (below, above)) in below.iter().zip(above).enumerate() {
            (bounds[2 * k], bounds[2 * k + 1]) = (*above, -below);
        }
        let mut tightened = vec![false; self.rows];
        let mut last = None;
        let (row, far) = loop {
            let (row, far) = goal.worst(&bounds);
            if far <= goal.aim {
                return Bounded { bounds, far, splits: Splits::default(), sight: None };
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
            let bound = self.bounder.tighten(output(row), if sign(row) > 0.0 { 1 } else { -1 });
            bounds[row] = bounds[row].min(bound);
            (tightened[row], last) = (true, Some(row));
        };
        let splits = Splits::new(&mut self.bounder, &self.lo, &self.hi, root);
        let sight = self.look(row, best);
        Bounded { bounds, far, splits, sight }
    }

    /// The vertex where the row that was tightened last is largest, and the middle of the box.
    fn look(&mut self, row: usize, best: &[f64]) -> Option<Sight> {
        let slopes = self.bounder.row_inputs();
        let ends = self.lo.iter().zip(&self.hi);
        let vertex: Vec<f64> =
            ends.clone().zip(slopes).map(|((lo, hi), c)| if *c > 0.0 { *hi } else { *lo }).collect();
        let middle: Vec<f64> = ends.map(|(lo, hi)| (0.5 * lo + 0.5 * hi).clamp(*lo, *hi)).collect();
        let mut seen: Option<Sight> = None;
        for x in [vertex, middle] {
            let difference = self.probe.difference(&x).to_vec();
            let sight = Sight { x, difference, row };
            if seen.as_ref().is_none_or(|seen| sight.value(row) > seen.value(row)) {
                seen = Some(sight);
            }
        }
        seen.filter(|sight| {
            sight.value(row) > NEAR * best[row] || (0..self.rows).any(|row| sight.value(row) > best[row])
        })
    }
}
