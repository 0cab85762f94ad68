//! A search that goes on from an earlier one: what the earlier one had is not lost.

use fiberscope_core::{Certificate, Domain, Network, Rational};

use super::exact::{Exact, Point};
use super::state::State;
use super::{DECLARED, Decision, Difference, POINTS_LATE, decided, evidence};

impl State {
    /// Per row, the bound that was found when the bounds of the state were declared.
    pub(super) fn ceilings(&self) -> Vec<f64> {
        let margin = 1.0 + (-DECLARED as f64).exp2();
        let found = |bound: &Rational| bound.to_f64() / margin;
        self.bounds.iter().flatten().flat_map(|bound| [found(bound); 2]).collect()
    }
}

impl Difference {
    /// Takes the state's own bounds if they are better and nothing was decided: a box that was cut once more may,
    /// by rounding, have a bound that is a little worse. Its best points are looked at in any case: in doubles others nearby
    /// may seem as good.
    pub(super) fn keep_better(
        &mut self,
        state: &State,
        networks: (&Network, &Network),
        domain: &Domain,
        exact: &Exact,
    ) {
        self.look_again(&state.points, exact);
        let stated = state.bounds.as_ref().and_then(|bounds| bounds.iter().max());
        let worse = match (&self.upper, stated) {
            (Some(found), Some(stated)) => found > stated,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if worse && matches!(self.decision, None | Some(Decision::Undecided)) {
            let decision = self.decision;
            self.take_over(state, networks, domain, (exact, None));
            self.decision = decision;
        }
    }

    /// Replaces what was found by the state and the upper bounds by those of the state, if it has any.
    pub(super) fn take_over(
        &mut self,
        state: &State,
        (a, b): (&Network, &Network),
        domain: &Domain,
        (exact, epsilon): (&Exact, Option<&Rational>),
    ) {
        self.state = state.clone();
        self.look_again(&state.points, exact);
        let State { bounds: Some(bounds), tree, moves_a, moves_b, .. } = state else { return };
        self.taken_over = true;
        self.upper = bounds.iter().max().cloned();
        self.outputs.iter_mut().zip(bounds).for_each(|(output, bound)| output.upper = Some(bound.clone()));
        let evidence = evidence([moves_a.clone(), moves_b.clone()], bounds.clone(), tree);
        self.certificate = Some(Certificate::new(a, b, domain.clone(), evidence));
        // What only a file says decides nothing.
        self.decision = epsilon.map(|epsilon| decided(&self.lower, None, epsilon));
    }

    /// Evaluates the best points of a state, for which the search may have had no time.
    fn look_again(&mut self, points: &[Vec<f64>], exact: &Exact) {
        for point in points.iter().take(POINTS_LATE).filter_map(|x| exact.at(x)) {
            for (k, output) in self.outputs.iter_mut().enumerate() {
                output.lower = point.difference(k).max(output.lower.clone());
            }
            let (_, difference) = point.largest();
            if self.worst.is_none() || difference > self.lower {
                self.lower = difference.max(self.lower.clone());
                put_first(&mut self.state.points, &point);
                self.worst = Some(point);
            }
        }
    }
}

/// Puts the worst point before the others.
pub(super) fn put_first(points: &mut Vec<Vec<f64>>, worst: &Point) {
    let x: Vec<f64> = worst.x.iter().map(Rational::to_f64).collect();
    points.retain(|point| *point != x);
    points.insert(0, x);
}
