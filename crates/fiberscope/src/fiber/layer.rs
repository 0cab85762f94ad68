//! The generic fiber of a map with one hidden layer, `g(x) = V relu(W x + c) + e` on `R^d` or on the orthant.
//!
//! Generic: different nonlinear neurons lie on different hyperplanes and have outgoing weights, no neuron is constant. Let the `s` nonlinear neurons have hyperplanes
//! `u_i x + t_i = 0`, written with `u_i x_0 + t_i > 0` at a base point `x_0`, and outgoing weights `a_i`; let `A_0 x + b_0` be the affine map of `g` near `x_0` and `l` the number of linear
//! neurons. For a set `S` of hyperplanes put
//!
//! ```text
//! M_S = A_0 - sum_{i in S} a_i u_i^T,      beta_S = b_0 - sum_{i in S} a_i t_i.
//! ```
//!
//! The generic parameters with the same function are, modulo permutation and scaling, the disjoint union over `S` of the *components*
//!
//! ```text
//! (w_i, c_i) = (u_i, t_i) if i in S, else -(u_i, t_i);   V_i = a_i;
//! V_Lin W_Lin = M_S,   W_Lin >= 0,   c_Lin >= 0,   e = beta_S - V_Lin c_Lin
//! ```
//!
//! [threelayer2026, Section 4]. Dead neurons (on the orthant) may have any incoming weights `<= 0` and any outgoing weights.
//!
//! As representatives `(u_i, t_i)` the rows of the given parameter are taken: no roots, no divisions.

use fiberscope_core::residue::{PRIME, reduce};
use fiberscope_core::{Activation, Condition, Interval, Layer, Matrix, Neuron, Rational};

use super::component::{FiberComponent, Orientation};
use super::pointed::{dot, pointedness};
use crate::lines;
use crate::rank::{rank_at_most, residue_rank};

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

/// A hyperplane of the function with its weight, oriented towards the base point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrientedHyperplane {
    /// The neuron of the given parameter, from 0.
    pub unit: usize,
    /// The normal `u`.
    pub normal: Vec<Rational>,
    /// The offset `t`; `u x_0 + t > 0`.
    pub offset: Rational,
    /// The weight `a`, one entry per output.
    pub weight: Vec<Rational>,
}

/// The generic fiber of a map with one hidden layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerFiber {
    pub(super) ground: Ground,
    pub(super) hidden: Layer<Rational>,
    pub(super) output: Layer<Rational>,
    hyperplanes: Vec<OrientedHyperplane>,
    linear: Vec<usize>,
    dead: Vec<usize>,
    base: Vec<Rational>,
    map: Matrix<Rational>,
    constant: Vec<Rational>,
    own: Orientation,
    conditions: Vec<Condition>,
}

const DISTINCT: &str = "nonlinear neurons lie on different hyperplanes";
const CONNECTED: &str = "every nonlinear neuron has outgoing weights";
const NOT_CONSTANT: &str = "no neuron that is not dead has only zero incoming weights";

impl LayerFiber {
    /// The fiber of `output . relu . hidden`, or the conditions that were checked, of which at least one fails. `layer` is the place of the hidden layer in its network, from
    /// 0, for the names of neurons.
    pub fn new(
        hidden: &Layer<Rational>,
        output: &Layer<Rational>,
        ground: Ground,
        layer: usize,
    ) -> Result<Self, Vec<Condition>> {
        let role = |unit: usize| ground.role(hidden.weight().row(unit), &hidden.bias()[unit]);
        let with = |wanted: i8| (0..hidden.width()).filter(move |&unit| role(unit) == wanted);
        let (nonlinear, linear): (Vec<usize>, Vec<usize>) = (with(0).collect(), with(1).collect());
        let mut dead: Vec<usize> = with(-1).collect();
        let name = |unit: usize| Neuron { layer, unit }.to_string();
        let condition = |statement: &str, failure: Option<String>| Condition {
            statement: statement.into(),
            holds: failure.is_none(),
            detail: failure,
        };
        let mut conditions = Vec::new();
        if hidden.activation() != Activation::Relu {
            let detail = format!("layer {} has identity activation", layer + 1);
            conditions.push(condition("the hidden layers have ReLU activation", Some(detail)));
        }
        let shared = lines::groups(hidden).into_iter().find_map(|group| {
            let units: Vec<usize> =
                group.iter().map(|each| each.unit).filter(|unit| nonlinear.contains(unit)).collect();
            (units.len() > 1)
                .then(|| format!("neurons {} and {} of layer {}", units[0] + 1, units[1] + 1, layer + 1))
        });
        conditions.push(condition(DISTINCT, shared));
        let unconnected = nonlinear.iter().find(|&&unit| output.weight().column(unit).all(Rational::is_zero));
        conditions.push(condition(CONNECTED, unconnected.map(|&unit| name(unit))));
        let constant = |unit: &&usize| hidden.weight().row(**unit).iter().all(Rational::is_zero);
        // On all of R^d a dead neuron is constant, too.
        let constants = if ground == Ground::Space { dead.iter().find(constant) } else { None };
        let constants = constants.or_else(|| linear.iter().find(constant));
        conditions.push(condition(NOT_CONSTANT, constants.map(|&unit| name(unit))));
        if conditions.iter().any(|condition| !condition.holds) {
            return Err(conditions);
        }
        dead.sort_unstable();
        let mut fiber = LayerFiber {
            ground,
            hidden: hidden.clone(),
            output: output.clone(),
            hyperplanes: Vec::new(),
            linear,
            dead,
            base: base_point(hidden, &nonlinear),
            map: Matrix::from_fn(output.width(), hidden.input_width(), |_, _| Rational::ZERO),
            constant: output.bias().to_vec(),
            own: Orientation::new(Vec::new()),
            conditions,
        };
        fiber.orient(&nonlinear);
        Ok(fiber)
    }

    /// Orients the hyperplanes towards the base point and adds up the affine map there.
    fn orient(&mut self, nonlinear: &[usize]) {
        let mut active = Vec::with_capacity(nonlinear.len());
        for &unit in nonlinear {
            let value = &dot(self.hidden.weight().row(unit), &self.base) + &self.hidden.bias()[unit];
            let sign = Rational::from(i64::from(value.signum()));
            self.hyperplanes.push(OrientedHyperplane {
                unit,
                normal: self.hidden.weight().row(unit).iter().map(|w| w * &sign).collect(),
                offset: &self.hidden.bias()[unit] * &sign,
                weight: self.output.weight().column(unit).cloned().collect(),
            });
            active.push(value.is_positive());
        }
        let at_base: Vec<usize> =
            nonlinear.iter().zip(&active).filter(|(_, on)| **on).map(|(unit, _)| *unit).collect();
        for &unit in at_base.iter().chain(&self.linear) {
            for o in 0..self.output.width() {
                let v = &self.output.weight()[(o, unit)];
                let row = self.map.row_mut(o);
                row.iter_mut().zip(self.hidden.weight().row(unit)).for_each(|(m, w)| *m += &(v * w));
                self.constant[o] += &(v * &self.hidden.bias()[unit]);
            }
        }
        self.own = Orientation::new(active);
    }

    /// Where the map is considered.
    pub fn ground(&self) -> Ground {
        self.ground
    }

    /// The number `d` of inputs.
    pub fn inputs(&self) -> usize {
        self.hidden.input_width()
    }

    /// The number `m` of outputs.
    pub fn outputs(&self) -> usize {
        self.output.width()
    }

    /// The hyperplanes `H_1, ..., H_s`, in the order of the given neurons.
    pub fn hyperplanes(&self) -> &[OrientedHyperplane] {
        &self.hyperplanes
    }

    /// The linear neurons of the given parameter, from 0.
    pub fn linear(&self) -> &[usize] {
        &self.linear
    }

    /// The dead neurons of the given parameter, from 0.
    pub fn dead(&self) -> &[usize] {
        &self.dead
    }

    /// The base point `x_0`.
    pub fn base(&self) -> &[Rational] {
        &self.base
    }

    /// The orientation of the given parameter.
    pub fn own(&self) -> &Orientation {
        &self.own
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
        for (hyperplane, _) in self.hyperplanes.iter().zip(orientation.active()).filter(|(_, on)| **on) {
            add(&mut matrix, &mut constant, hyperplane, -1);
        }
        (matrix, constant)
    }

    /// The component of an orientation, which must have one entry per hyperplane.
    ///
    /// # Panics
    /// If it has not.
    pub fn component(&self, orientation: &Orientation) -> FiberComponent {
        let (matrix, _) = self.affine_rest(orientation);
        let shape = (matrix.rows(), matrix.cols());
        let rank = rank_at_most(&matrix, shape.0.min(shape.1));
        let given = *orientation == self.own;
        FiberComponent::new(orientation.clone(), shape, rank, self.linear.len(), given, &mut || {
            pointedness(&matrix)
        })
    }

    /// All components, the given parameter's first, each made when it is asked for: every next orientation differs from the one before in one hyperplane (a Gray code).
    pub fn components(&self) -> Components<'_> {
        let (matrix, _) = self.affine_rest(&self.own);
        let term = |hyperplane: &OrientedHyperplane| {
            Matrix::from_fn(matrix.rows(), matrix.cols(), |o, j| {
                &hyperplane.weight[o] * &hyperplane.normal[j]
            })
        };
        let terms: Vec<Matrix<Rational>> = self.hyperplanes.iter().map(term).collect();
        let residues = |matrix: &Matrix<Rational>| {
            matrix.entries().iter().map(Rational::residue).collect::<Option<Vec<u64>>>()
        };
        let residues = residues(&matrix).zip(terms.iter().map(residues).collect::<Option<Vec<_>>>());
        Components {
            fiber: self,
            orientation: self.own.clone(),
            exact: (self.own.clone(), matrix),
            terms,
            residues,
            step: 0,
            done: false,
        }
    }

    /// The dimension at the given parameter, modulo permutation and scaling: that of its component and of its dead neurons. Components without rank
    /// defects have the same dimension.
    pub fn dimension(&self) -> usize {
        let own = self.component(&self.own);
        own.dimension.expect("the given parameter lies in its component")
            + self.dead.len() * (self.inputs() + self.outputs())
    }
}

/// Adds `sign` times `a (u x + t)`.
fn add(matrix: &mut Matrix<Rational>, constant: &mut [Rational], hyperplane: &OrientedHyperplane, sign: i64) {
    let sign = Rational::from(sign);
    for (o, a) in hyperplane.weight.iter().enumerate().filter(|(_, a)| !a.is_zero()) {
        let a = a * &sign;
        matrix.row_mut(o).iter_mut().zip(&hyperplane.normal).for_each(|(m, u)| *m += &(&a * u));
        constant[o] += &(&a * &hyperplane.offset);
    }
}

/// The components of a fiber in the order of a Gray code.
///
/// The residues of `M_S` modulo a prime are kept up to date: where they have full rank, so has `M_S`. `M_S` itself is brought up to date when it is needed.
#[derive(Clone, Debug)]
pub struct Components<'a> {
    fiber: &'a LayerFiber,
    orientation: Orientation,
    /// `M_S` for an earlier orientation.
    exact: (Orientation, Matrix<Rational>),
    /// The matrices `a_i u_i^T`.
    terms: Vec<Matrix<Rational>>,
    /// The residues of `M_S` and of the terms.
    residues: Option<(Vec<u64>, Vec<Vec<u64>>)>,
    step: u64,
    done: bool,
}

impl Components<'_> {
    fn component(&mut self) -> FiberComponent {
        let shape = (self.fiber.outputs(), self.fiber.inputs());
        let full = shape.0.min(shape.1);
        let certified =
            self.residues.as_ref().is_some_and(|(now, _)| residue_rank(now.clone(), shape.1) == full);
        let rank = if certified { full } else { rank_at_most(self.matrix(), full) };
        let given = self.orientation == self.fiber.own;
        let (orientation, linear) = (self.orientation.clone(), self.fiber.linear.len());
        FiberComponent::new(orientation, shape, rank, linear, given, &mut || pointedness(self.matrix()))
    }

    /// `M_S` of the current orientation.
    fn matrix(&mut self) -> &Matrix<Rational> {
        for (i, term) in self.terms.iter().enumerate() {
            let (before, now) = (self.exact.0.active()[i], self.orientation.active()[i]);
            if before != now {
                let pairs = self.exact.1.entries_mut().iter_mut().zip(term.entries());
                pairs.for_each(|(m, t)| if now { *m -= t } else { *m += t });
                self.exact.0.flip(i);
            }
        }
        &self.exact.1
    }

    fn flip(&mut self, hyperplane: usize) {
        let was_active = self.orientation.active()[hyperplane];
        if let Some((now, terms)) = &mut self.residues {
            for (m, &t) in now.iter_mut().zip(&terms[hyperplane]) {
                let change = if was_active { t } else { PRIME - t };
                *m = reduce(u128::from(*m) + u128::from(change));
            }
        }
        self.orientation.flip(hyperplane);
    }
}

impl Iterator for Components<'_> {
    type Item = FiberComponent;

    fn next(&mut self) -> Option<FiberComponent> {
        if self.done {
            return None;
        }
        let component = self.component();
        self.step += 1;
        let flip = self.step.trailing_zeros() as usize;
        if flip >= self.fiber.hyperplanes.len() {
            self.done = true;
        } else {
            self.flip(flip);
        }
        Some(component)
    }
}

/// A point with small positive coordinates on none of the hyperplanes.
fn base_point(hidden: &Layer<Rational>, nonlinear: &[usize]) -> Vec<Rational> {
    let d = hidden.input_width();
    let free = |x: &[Rational]| {
        nonlinear.iter().all(|&unit| !(&dot(hidden.weight().row(unit), x) + &hidden.bias()[unit]).is_zero())
    };
    // The points (1, ..., 1) + (k, k^2, ..., k^d) lie on a curve that meets each hyperplane in at most d of them.
    let point = |k: i64| -> Vec<Rational> {
        let step = Rational::from(k);
        std::iter::successors(Some(step.clone()), |x| Some(x * &step))
            .take(d)
            .map(|x| &x + &Rational::ONE)
            .collect()
    };
    (0..).map(point).find(|x| free(x)).expect("a curve in general position leaves finitely many hyperplanes")
}
