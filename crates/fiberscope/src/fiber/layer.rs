//! The fiber of a map with one hidden layer, `g(x) = V relu(W x + c) + e` on `R^d` or on the orthant,
//! described from the function.
//!
//! Let `H_1, ..., H_r` be the *visible* hyperplanes, on which the gradient of `g` jumps, written
//! `u_i x + t_i = 0` with `u_i x_0 + t_i > 0` at a base point `x_0`, let `a_i u_i^T` be the jumps and
//! `A_0 x + b_0` the affine map of `g` near `x_0`. For a set `S` of hyperplanes (those whose neurons are
//! active at `x_0`) put
//!
//! ```text
//! M_S = A_0 - sum_{i in S} a_i u_i^T,      beta_S = b_0 - sum_{i in S} a_i t_i.
//! ```
//!
//! **Proposition** [threelayer2026, Section 4]. The parameters with `n` neurons and the function `g` that
//! have one neuron on each visible hyperplane and `s = n - r` others, `l'` of them linear and the rest dead,
//! are, modulo permutation and scaling, the disjoint union over `S` and `l'` of
//!
//! ```text
//! (w_i, c_i) = (u_i, t_i) if i in S, else -(u_i, t_i);   V_i = a_i;
//! V_Lin W_Lin = M_S,   W_Lin >= 0,   c_Lin >= 0,   e = beta_S - V_Lin c_Lin;
//! w <= 0, c <= 0, any V  for the dead neurons.
//! ```
//!
//! The *pieces* are those `(S, l')` for which `V_Lin W_Lin` has the rank `min(l', m, d)`
//! ([`FiberComponent`]); all generic parameters lie in them. Everything here is made from `g` and `n`: base
//! point, hyperplanes and their order do not depend on which parameter of the fiber is given. Of the given
//! parameter only numbers are taken, the rows of its neurons as representatives `(u_i, t_i)`: no roots, no
//! divisions.

use fiberscope_algebra::rational::dot;
use fiberscope_core::{
    Activation, HyperplaneRepresentation, Interval, Layer, Matrix, Neuron, Rational, ratio_of,
};

use super::component::{Counts, Orientation};
use super::coordinates::Coordinates;
use super::facts::Condition;
use super::genericity::Cached;
use super::hyperplane::OrientedHyperplane;
use crate::orbit::lines;

/// Where a map with one hidden layer is considered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// All of `R^d`.
    Space,
    /// The nonnegative orthant.
    Orthant,
}

impl Ground {
    /// The intervals of the inputs.
    pub fn sides(self, inputs: usize) -> Vec<Interval> {
        let side = match self {
            Ground::Space => Interval::ALL,
            Ground::Orthant => Interval { lower: Some(Rational::ZERO), upper: None },
        };
        vec![side; inputs]
    }

    /// What a neuron is there, by the signs of its row: -1 dead, 1 linear, 0 nonlinear.
    pub(super) fn role(self, row: &[Rational], bias: &Rational) -> i8 {
        let all = |sign: i8| row.iter().chain([bias]).all(|x| x.signum() != -sign);
        let constant = row.iter().all(Rational::is_zero);
        match self {
            Ground::Space if !constant => 0,
            _ if all(-1) => -1,
            _ if all(1) => 1,
            _ => 0,
        }
    }
}

/// The fiber of a map with one hidden layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerFiber {
    pub(super) ground: Ground,
    pub(super) hidden: Layer<Rational>,
    pub(super) output: Layer<Rational>,
    pub(super) coordinates: Coordinates,
    hyperplanes: Vec<OrientedHyperplane>,
    base: Vec<Rational>,
    map: Matrix<Rational>,
    constant: Vec<Rational>,
    conditions: Vec<Condition>,
    pub(super) cached: Cached,
}

const RELU: &str = "the hidden layers have ReLU activation";
const DISTINCT: &str = "nonlinear neurons lie on different hyperplanes";
const CONNECTED: &str = "every nonlinear neuron has outgoing weights";
const NOT_CONSTANT: &str = "no neuron has only zero incoming weights";

impl LayerFiber {
    /// The fiber of `output . relu . hidden`, or the conditions that were checked, of which at least one
    /// fails. `layer` is the place of the hidden layer in its network, from 0, for the names of neurons.
    pub fn new(
        hidden: &Layer<Rational>,
        output: &Layer<Rational>,
        ground: Ground,
        layer: usize,
    ) -> Result<Self, Vec<Condition>> {
        let coordinates = Coordinates::plain(hidden.input_width());
        Self::in_coordinates(hidden, output, ground, layer, coordinates)
    }

    pub(super) fn in_coordinates(
        hidden: &Layer<Rational>,
        output: &Layer<Rational>,
        ground: Ground,
        layer: usize,
        coordinates: Coordinates,
    ) -> Result<Self, Vec<Condition>> {
        let conditions = conditions(hidden, output, ground, layer);
        if conditions.iter().any(|condition| !condition.holds) {
            return Err(conditions);
        }
        let (d, m) = (hidden.input_width(), output.width());
        let seen = HyperplaneRepresentation::new(hidden, output, &ground.sides(d));
        let mut hyperplanes: Vec<OrientedHyperplane> = seen
            .hyperplanes
            .iter()
            .map(|each| {
                // The row of the first neuron there, with its first nonzero entry positive in the
                // coordinates' order.
                let unit = each.units[0];
                let (row, offset) = (hidden.weight().row(unit), &hidden.bias()[unit]);
                let scale = ratio_of(each.normal.iter(), row.iter()).unwrap_or(Rational::ONE);
                let inverse = scale.abs().recip().unwrap_or(Rational::ONE);
                let mut own = OrientedHyperplane {
                    normal: row.to_vec(),
                    offset: offset.clone(),
                    weight: each.weight.iter().map(|a| a * &inverse).collect(),
                };
                let lead = coordinates.order.iter().map(|&j| &row[j]).find(|w| !w.is_zero());
                if lead.is_some_and(Rational::is_negative) {
                    own.turn();
                }
                own
            })
            .collect();
        hyperplanes.sort_by(|x, y| coordinates.compare(x, y));
        let base = coordinates.base_point(&hyperplanes);
        let mut map = Matrix::from_fn(m, d, |o, j| seen.linear[o][j].clone());
        let mut constant = seen.constant.clone();
        for each in &seen.hyperplanes {
            if (&dot(&each.normal, &base) + &each.offset).is_positive() {
                add(&mut map, &mut constant, (&each.normal, &each.offset, &each.weight), 1);
            }
        }
        hyperplanes
            .iter_mut()
            .filter(|each| each.value(&base).is_negative())
            .for_each(OrientedHyperplane::turn);
        let (hidden, output, cached) = (hidden.clone(), output.clone(), Cached::default());
        Ok(LayerFiber {
            ground,
            hidden,
            output,
            coordinates,
            hyperplanes,
            base,
            map,
            constant,
            conditions,
            cached,
        })
    }

    /// Where the map is considered.
    pub fn ground(&self) -> Ground {
        self.ground
    }

    /// The hidden layer of the given parameter.
    pub fn hidden_layer(&self) -> &Layer<Rational> {
        &self.hidden
    }

    /// The number `d` of inputs.
    pub fn inputs(&self) -> usize {
        self.hidden.input_width()
    }

    /// The number `m` of outputs.
    pub fn outputs(&self) -> usize {
        self.output.width()
    }

    /// The visible hyperplanes `H_1, ..., H_r`, in an order that the function determines.
    pub fn hyperplanes(&self) -> &[OrientedHyperplane] {
        &self.hyperplanes
    }

    /// The number `s` of neurons that lie on no visible hyperplane if each of these carries one.
    ///
    /// It is not negative: the given parameter has a neuron on each of them.
    pub fn others(&self) -> usize {
        self.hidden.width() - self.hyperplanes.len()
    }

    pub(super) fn counts(&self) -> Counts {
        Counts { others: self.others(), outputs: self.outputs(), inputs: self.inputs() }
    }

    /// The neurons of the given parameter with a role, from 0.
    fn with_role(&self, wanted: i8) -> Vec<usize> {
        let role =
            |unit: &usize| self.ground.role(self.hidden.weight().row(*unit), &self.hidden.bias()[*unit]);
        (0..self.hidden.width()).filter(|unit| role(unit) == wanted).collect()
    }

    /// The linear neurons of the given parameter, from 0.
    pub fn linear(&self) -> Vec<usize> {
        self.with_role(1)
    }

    /// The dead neurons of the given parameter, from 0.
    pub fn dead(&self) -> Vec<usize> {
        self.with_role(-1)
    }

    /// The base point `x_0`.
    pub fn base(&self) -> &[Rational] {
        &self.base
    }

    /// The conditions that were checked, all of which hold.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// `M_S` and `beta_S`.
    ///
    /// # Panics
    /// If the orientation has not one entry per hyperplane.
    pub fn affine_rest(&self, orientation: &Orientation) -> (Matrix<Rational>, Vec<Rational>) {
        assert_eq!(orientation.active().len(), self.hyperplanes.len(), "one entry per hyperplane");
        let (mut matrix, mut constant) = (self.map.clone(), self.constant.clone());
        for (each, _) in self.hyperplanes.iter().zip(orientation.active()).filter(|(_, on)| **on) {
            add(&mut matrix, &mut constant, (&each.normal, &each.offset, &each.weight), -1);
        }
        (matrix, constant)
    }

    /// `u_i x + t_i` for all visible hyperplanes.
    pub(super) fn values(&self, x: &[Rational]) -> Vec<Rational> {
        self.hyperplanes.iter().map(|each| each.value(x)).collect()
    }

    /// The slope of `g` in the direction of an input at a point `x` with these values, but with 0 in place of
    /// that input; `None` if the point lies on a visible hyperplane.
    pub(super) fn slope_on_face(
        &self,
        values: &[Rational],
        x: &[Rational],
        input: usize,
    ) -> Option<Vec<Rational>> {
        let mut slope: Vec<Rational> = self.map.column(input).cloned().collect();
        for (each, value) in self.hyperplanes.iter().zip(values) {
            let u = &each.normal[input];
            let value = value - &(u * &x[input]);
            if value.is_zero() {
                return None;
            }
            if value.is_negative() {
                slope.iter_mut().zip(&each.weight).for_each(|(sum, a)| *sum -= &(a * u));
            }
        }
        Some(slope)
    }
}

fn conditions(
    hidden: &Layer<Rational>,
    output: &Layer<Rational>,
    ground: Ground,
    layer: usize,
) -> Vec<Condition> {
    let name = |unit: usize| Neuron { layer, unit }.to_string();
    let mut conditions = Vec::new();
    let mut check = |statement: &str, failure: Option<String>| {
        conditions.push(Condition { statement: statement.into(), holds: failure.is_none(), detail: failure });
    };
    let identity = hidden.activation() != Activation::Relu;
    check(RELU, identity.then(|| format!("layer {} has identity activation", layer + 1)));
    if ground == Ground::Space {
        // On all of R^d neither linear nor dead neurons are generic: each neuron must be a visible one.
        let constant = |unit: usize| hidden.weight().row(unit).iter().all(Rational::is_zero);
        let shared = lines::groups(hidden).into_iter().find(|group| !constant(group[0].unit)).map(|group| {
            format!("neurons {} and {} of layer {}", group[0].unit + 1, group[1].unit + 1, layer + 1)
        });
        check(DISTINCT, shared);
        let unconnected =
            (0..hidden.width()).find(|&unit| output.weight().column(unit).all(Rational::is_zero));
        check(CONNECTED, unconnected.map(name));
        check(NOT_CONSTANT, (0..hidden.width()).find(|&unit| constant(unit)).map(name));
    }
    conditions
}

/// Adds `sign` times `a (u x + t)`.
fn add(
    matrix: &mut Matrix<Rational>,
    constant: &mut [Rational],
    (normal, offset, weight): (&[Rational], &Rational, &[Rational]),
    sign: i64,
) {
    let sign = Rational::from(sign);
    for (o, a) in weight.iter().enumerate().filter(|(_, a)| !a.is_zero()) {
        let a = a * &sign;
        matrix.row_mut(o).iter_mut().zip(normal).for_each(|(m, u)| *m += &(&a * u));
        constant[o] += &(&a * offset);
    }
}
