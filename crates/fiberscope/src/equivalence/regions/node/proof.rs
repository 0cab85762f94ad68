//! What a node can prove about one side of a neuron: interior points, or Farkas' certificate that there are
//! none.

use std::sync::Arc;

use fiberscope_algebra::dense::dot;
use fiberscope_algebra::program::{Interior, Optimum, certain_sign, interior};
use fiberscope_core::Rational;

use super::{CandidateEnd, Half, Node, Sight, Witness};
use crate::equivalence::regions::farkas::{Certificate, Constraint, parallel, rational, rounded, solved};
use crate::equivalence::regions::integer::common_denominator;
use crate::equivalence::regions::problem::{Problem, Source, Unit};

impl Node {
    /// The decision that a proportional neuron implies.
    pub(super) fn by_twin(&self, problem: &Problem, unit: Unit, twin: Unit) -> Option<CandidateEnd> {
        let other = self.constraint(problem, twin, self.status(twin)?)?;
        let aligned = dot(&self.form(unit).approximate, &self.form(twin).approximate) > 0.0;
        let on = self.status(twin)? == aligned;
        let new = self.new_constraint(problem, unit, !on);
        parallel(new, other).map(|proof| CandidateEnd::Decided { on, proof })
    }

    /// The constraint of a decided neuron that has one.
    fn constraint<'a>(&'a self, problem: &'a Problem, unit: Unit, on: bool) -> Option<Constraint<'a>> {
        let layer = self.layer(unit.network, unit.layer)?;
        Some(Constraint { number: layer.numbers[unit.unit]?, ..self.new_constraint(problem, unit, on) })
    }

    /// The constraint that a neuron would add next.
    fn new_constraint<'a>(&'a self, problem: &'a Problem, unit: Unit, on: bool) -> Constraint<'a> {
        let scale = &problem.networks[unit.network].layers[unit.layer].scale;
        Constraint { form: self.form(unit), negative: !on, scale, number: self.next_number }
    }

    /// Whether a neuron can be on (or off) in the interior of the polytope.
    pub(super) fn half(&mut self, problem: &Problem, unit: Unit, on: bool) -> Half {
        let layer = self.layer(unit.network, unit.layer).expect("the layer was started");
        let forms = Arc::clone(&layer.forms);
        let form = &forms[unit.unit];
        if !self.blind {
            let sign = if on { 1.0 } else { -1.0 };
            if let Optimum::Vertex { multipliers, .. } =
                self.polytope.maximize(&form.approximate, sign, || problem.is_late())
            {
                let (certain, value) = certain_sign(&form.approximate, self.polytope.vertex());
                if f64::from(certain) == sign {
                    return Half::Inhabited(Sight::Seen(Arc::new(self.witness(value))));
                }
                if let Some(proof) = self.prove_empty(problem, unit, on, &multipliers, certain != 0) {
                    return Half::Empty(proof);
                }
            }
        }
        match self.interior(problem, Some((unit, on))) {
            Interior::Empty(multipliers) => {
                Half::Empty(self.certificate(problem, Some((unit, on)), &multipliers))
            }
            Interior::Unknown if problem.is_late() => Half::Late,
            Interior::Point(_) | Interior::Unknown => Half::Inhabited(Sight::Unseen),
        }
    }

    fn witness(&self, value: f64) -> Witness {
        Witness {
            basis: self.polytope.basis().into(),
            point: self.polytope.vertex().into(),
            value: value.abs(),
        }
    }

    /// An exact proof that one side is empty, from the multipliers of a float optimum.
    fn prove_empty(
        &self,
        problem: &Problem,
        unit: Unit,
        on: bool,
        multipliers: &[(usize, f64)],
        clear: bool,
    ) -> Option<Certificate> {
        let new = self.new_constraint(problem, unit, on);
        let largest = multipliers.iter().fold(0.0f64, |m, (_, multiplier)| m.max(*multiplier));
        let used: Vec<(Constraint, f64, bool)> = multipliers
            .iter()
            .filter(|(_, multiplier)| *multiplier > 1e-9 * largest)
            .filter_map(|&(row, multiplier)| {
                let side = matches!(self.sources[row], Source::Side(..));
                Some((self.row_constraint(problem, row)?, multiplier, side))
            })
            .collect();
        if clear {
            let inner: Vec<(Constraint, f64)> =
                used.iter().filter(|(_, _, side)| !side).map(|&(c, multiplier, _)| (c, multiplier)).collect();
            for bits in [20, 50] {
                if let Some(proof) = rounded(new, &inner, &problem.sides, bits) {
                    return Some(proof);
                }
            }
        }
        let used: Vec<Constraint> = used.into_iter().map(|(c, _, _)| c).collect();
        solved(new, &used)
    }

    /// The constraint of a row of the polytope; none for an artificial one.
    fn row_constraint<'a>(&'a self, problem: &'a Problem, row: usize) -> Option<Constraint<'a>> {
        match self.sources[row] {
            Source::Artificial => None,
            Source::Side(input, which) => {
                let side = problem.sides.sides[input][which].as_ref()?;
                Some(Constraint {
                    form: &side.form,
                    negative: false,
                    scale: &side.scale,
                    number: side.number,
                })
            }
            Source::Split(unit, on) => self.constraint(problem, unit, on),
        }
    }

    /// All constraints of the polytope, and one more.
    fn constraints<'a>(&'a self, problem: &'a Problem, new: Option<(Unit, bool)>) -> Vec<Constraint<'a>> {
        let rows = (0..self.sources.len()).filter_map(|row| self.row_constraint(problem, row));
        rows.chain(new.map(|(unit, on)| self.new_constraint(problem, unit, on))).collect()
    }

    /// An interior point of the polytope (with one more constraint), exactly.
    pub fn interior(&self, problem: &Problem, new: Option<(Unit, bool)>) -> Interior {
        let inequality = |constraint: &Constraint| -> Vec<Rational> {
            let factor =
                Rational::dyadic(if constraint.negative { -1 } else { 1 }, -constraint.form.exponent);
            constraint.form.exact.iter().map(|x| &rational(x.clone()) * &factor).collect()
        };
        let rows: Vec<_> = self.constraints(problem, new).iter().map(inequality).collect();
        interior(problem.dimension, &rows, || problem.is_late())
    }

    /// Whether a point lies in the interior of the polytope.
    pub fn contains(&self, problem: &Problem, x: &[Rational]) -> bool {
        self.constraints(problem, None).iter().all(|constraint| {
            let terms = constraint.form.exact.iter().zip(x).map(|(a, x)| &rational(a.clone()) * x);
            let value = terms.sum::<Rational>() + rational(constraint.form.constant().clone());
            if constraint.negative { value.is_negative() } else { value.is_positive() }
        })
    }

    /// The certificate for multipliers of [`Node::interior`].
    pub fn certificate(
        &self,
        problem: &Problem,
        new: Option<(Unit, bool)>,
        multipliers: &[Rational],
    ) -> Certificate {
        let constraints = self.constraints(problem, new);
        let terms: Vec<(usize, Rational)> = constraints
            .iter()
            .zip(multipliers)
            .filter(|(_, multiplier)| !multiplier.is_zero())
            .map(|(c, multiplier)| {
                let scale = Rational::dyadic(1, -c.form.exponent) * rational(c.scale.clone());
                (c.number, multiplier * &scale)
            })
            .collect();
        let denominator = rational(common_denominator(terms.iter().map(|(_, m)| m)));
        let mut terms: Certificate = terms.iter().map(|(number, m)| (*number, m * &denominator)).collect();
        terms.sort_by_key(|(number, _)| *number);
        terms
    }
}
