//! Does a parameter lie in the fiber, and if not, which equation or inequality fails?
//!
//! The equations of a piece are checked one after the other, exactly: every neuron lies on a hyperplane of
//! the function, or is linear, or is dead; every hyperplane carries one neuron with `|s| V = a`;
//! `V_Lin W_Lin = M_S`, of rank `min(l', m, d)`; `e = beta_S - V_Lin c_Lin`. Parameters with the same
//! function that lie in no piece are told by their hyperplane representation.

use fiberscope_algebra::rational::dot;
use fiberscope_algebra::rational::rank_at_most;
use fiberscope_core::{HyperplaneRepresentation, Layer, Rational};
use thiserror::Error;

use super::component::{Orientation, Piece};
use super::hyperplane::factor_on;
use super::layer::{Ground, LayerFiber};
use crate::orbit::lines::entries;

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Membership {
    /// The parameter lies in this piece.
    Member(Piece),
    /// It has the function, but lies in none of the pieces: the condition of the pieces that fails.
    Elsewhere(Violation),
    /// It does not lie in the generic fiber.
    Outside(Violation),
}

/// The first equation or inequality that fails. Neurons, inputs and outputs are counted from 0 and printed
/// from 1.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Violation {
    #[error("expected {expected} inputs, neurons and outputs of the layer, found {found}")]
    Shape { expected: String, found: String },
    #[error("neuron {} is neither on a hyperplane of the function nor linear: its {entry} is {value}, and w >= 0, c >= 0 fails", .unit + 1)]
    NeitherVisibleNorLinear { unit: usize, entry: String, value: Rational },
    #[error("neuron {} is constant: all its incoming weights are zero", .unit + 1)]
    Constant { unit: usize },
    #[error("neurons {} and {} lie on the same hyperplane H_{}; generic parameters have one there", .units.0 + 1, .units.1 + 1, .hyperplane + 1)]
    Shared { units: (usize, usize), hyperplane: usize },
    #[error("no neuron lies on the hyperplane H_{} of the function", .hyperplane + 1)]
    Missing { hyperplane: usize },
    #[error("the weight of neuron {} on H_{}, output {}: |s| V = a fails, expected {expected}, found {found}", .unit + 1, .hyperplane + 1, .output + 1)]
    Weight { unit: usize, hyperplane: usize, output: usize, expected: Rational, found: Rational },
    #[error("V_Lin W_Lin = M_S fails for S = {orientation}, output {}, input {}: expected {expected}, found {found}", .output + 1, .input + 1)]
    Linear { orientation: Orientation, output: usize, input: usize, expected: Rational, found: Rational },
    #[error("e = beta_S - V_Lin c_Lin fails for S = {orientation}, output {}: expected {expected}, found {found}", .output + 1)]
    Bias { orientation: Orientation, output: usize, expected: Rational, found: Rational },
    #[error("V_Lin W_Lin has rank {rank}, expected {expected} for {linear} linear neurons")]
    Rank { rank: usize, expected: usize, linear: usize },
    #[error("layer 1: {0}")]
    FirstLayer(String),
    #[error("layer 2: {0}")]
    SecondLayer(Box<Violation>),
    #[error("{0}")]
    Hidden(String),
}

/// A visible neuron: its hyperplane and the factor of its row.
type Place = (usize, Rational);

impl LayerFiber {
    /// The piece of the given parameter, or why it lies in none.
    pub fn own(&self) -> Result<Piece, Violation> {
        self.piece_of(&self.hidden, &self.output)
    }

    /// Checks the equations of the fiber on a parameter.
    pub fn contains(&self, hidden: &Layer<Rational>, output: &Layer<Rational>) -> Membership {
        match self.piece_of(hidden, output) {
            Ok(piece) => Membership::Member(piece),
            Err(violation @ Violation::Shape { .. }) => Membership::Outside(violation),
            Err(violation) => {
                let sides = self.ground.sides(self.inputs());
                let own = HyperplaneRepresentation::new(&self.hidden, &self.output, &sides);
                if own.same_map(&HyperplaneRepresentation::new(hidden, output, &sides)) {
                    Membership::Elsewhere(violation)
                } else {
                    Membership::Outside(violation)
                }
            }
        }
    }

    /// The piece of a parameter, or the first condition that fails.
    pub(super) fn piece_of(
        &self,
        hidden: &Layer<Rational>,
        output: &Layer<Rational>,
    ) -> Result<Piece, Violation> {
        let shape = |hidden: &Layer<Rational>, output: &Layer<Rational>| {
            format!("{}-{}-{}", hidden.input_width(), hidden.width(), output.width())
        };
        let (expected, found) = (shape(&self.hidden, &self.output), shape(hidden, output));
        if expected != found || output.input_width() != hidden.width() {
            return Err(Violation::Shape { expected, found });
        }
        if hidden.activation() != self.hidden.activation() {
            let [expected, found] = ["ReLU", "identity"].map(|name| format!("{name} activation"));
            return Err(Violation::Shape { expected, found });
        }
        let mut places: Vec<Option<(usize, Rational)>> = vec![None; self.hyperplanes().len()];
        let mut linear = Vec::new();
        for unit in 0..hidden.width() {
            match self.place(hidden, unit)? {
                Role::Dead => {}
                Role::Linear => linear.push(unit),
                Role::On((hyperplane, factor)) => match &places[hyperplane] {
                    Some((other, _)) => return Err(Violation::Shared { units: (*other, unit), hyperplane }),
                    None => places[hyperplane] = Some((unit, factor)),
                },
            }
        }
        let mut active = Vec::with_capacity(places.len());
        for (h, place) in places.iter().enumerate() {
            let Some((unit, factor)) = place else { return Err(Violation::Missing { hyperplane: h }) };
            self.check_weight(h, *unit, factor, output)?;
            active.push(factor.is_positive());
        }
        let orientation = Orientation::new(active);
        self.check_rest(&orientation, &linear, hidden, output)?;
        let (counts, linear) = (self.counts(), linear.len());
        let rank = rank_at_most(&self.affine_rest(&orientation).0, counts.full());
        if !counts.lists(rank, linear) {
            return Err(Violation::Rank { rank, expected: linear.min(counts.full()), linear });
        }
        Ok(Piece { orientation, linear })
    }

    fn place(&self, hidden: &Layer<Rational>, unit: usize) -> Result<Role, Violation> {
        let row = hidden.weight().row(unit);
        if self.ground == Ground::Space && row.iter().all(Rational::is_zero) {
            return Err(Violation::Constant { unit });
        }
        match self.ground.role(row, &hidden.bias()[unit]) {
            -1 => return Ok(Role::Dead),
            1 => return Ok(Role::Linear),
            _ => {}
        }
        for (h, hyperplane) in self.hyperplanes().iter().enumerate() {
            if let Some(factor) = factor_on(hyperplane, hidden, unit) {
                return Ok(Role::On((h, factor)));
            }
        }
        let at = entries(hidden, unit).position(Rational::is_negative).unwrap_or(0);
        let entry = if at < row.len() { format!("weight on input {}", at + 1) } else { "bias".into() };
        let value = entries(hidden, unit).nth(at).cloned().unwrap_or_default();
        Err(Violation::NeitherVisibleNorLinear { unit, entry, value })
    }

    fn check_weight(
        &self,
        hyperplane: usize,
        unit: usize,
        factor: &Rational,
        output: &Layer<Rational>,
    ) -> Result<(), Violation> {
        for (o, expected) in self.hyperplanes()[hyperplane].weight.iter().enumerate() {
            let found = &output.weight()[(o, unit)] * &factor.abs();
            if found != *expected {
                return Err(Violation::Weight {
                    unit,
                    hyperplane,
                    output: o,
                    expected: expected.clone(),
                    found,
                });
            }
        }
        Ok(())
    }

    fn check_rest(
        &self,
        orientation: &Orientation,
        linear: &[usize],
        hidden: &Layer<Rational>,
        output: &Layer<Rational>,
    ) -> Result<(), Violation> {
        let (matrix, constant) = self.affine_rest(orientation);
        let biases: Vec<Rational> = linear.iter().map(|&unit| hidden.bias()[unit].clone()).collect();
        for (o, constant) in constant.iter().enumerate() {
            let out: Vec<Rational> = linear.iter().map(|&unit| output.weight()[(o, unit)].clone()).collect();
            for input in 0..self.inputs() {
                let column: Vec<Rational> =
                    linear.iter().map(|&unit| hidden.weight()[(unit, input)].clone()).collect();
                let (expected, found) = (matrix[(o, input)].clone(), dot(&out, &column));
                if expected != found {
                    let orientation = orientation.clone();
                    return Err(Violation::Linear { orientation, output: o, input, expected, found });
                }
            }
            let expected = constant - &dot(&out, &biases);
            if expected != output.bias()[o] {
                let (orientation, found) = (orientation.clone(), output.bias()[o].clone());
                return Err(Violation::Bias { orientation, output: o, expected, found });
            }
        }
        Ok(())
    }
}

enum Role {
    Dead,
    Linear,
    On(Place),
}
