//! The fiber of a map with one hidden layer, nothing assumed.
//!
//! Every parameter of the fiber puts each of its `n` neurons on a visible hyperplane `H_i` (several may share
//! one), into a *cancelling group* (neurons on one hyperplane outside the visible ones, whose weights add up
//! to zero), or makes it linear or dead, and gives the hyperplane-neurons an orientation [threelayer2026,
//! Section 4]. A *class* counts, up to the order of the neurons, how many there are of each kind.
//!
//! **When is a class non-empty?** Write `g = sum_i a_i relu(u_i x + t_i) + M x + beta`. A neuron on `H_i`
//! turned around contributes `-V_j (u_i x + t_i)` besides its share of `a_i`; with `N_i` the sum of these
//! `V_j` (0 if no neuron is turned around, `a_i` if all are, free otherwise), and with `P_k v_k^T x` from
//! cancelling group `k` that has both orientations (free rank one), the class needs
//!
//! ```text
//! M + sum_i N_i u_i^T = V_Lin W_Lin + sum_k P_k v_k^T,     W_Lin >= 0   (W_Lin = 0 on R^d).
//! ```
//!
//! Let `U` be the span of the `u_i` with free `N_i`, `B` the left-hand side without these,
//! `rho = dim (rows(B) + U) / U`, and `K` the number of free groups. If `rho <= K`, or `l > rho - K`, there
//! is a solution (a large row added to `rho - K` rows of a basis makes them nonnegative). If `l = rho - K`
//! there is one iff the nonnegative vectors of `rows(B) + U` span at least `l` dimensions modulo `U`; they
//! span the subspace that is left after putting to zero, repeatedly, the columns that Gordan's theorem shows
//! to vanish on them. If `l < rho - K` there is none.

mod class;
mod solve;

use fiberscope_core::{Activation, HyperplaneRepresentation, Layer, Matrix, Rational};

use thiserror::Error;

pub use class::Class;
use class::{groups, visible_counts};

use super::layer::Ground;

/// The exact solution of the equations of a class is too much work.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("solving the equations of the class exactly is too much work")]
pub struct TooMuchWork;

/// The fiber of a map with one hidden layer of `n` neurons, nothing assumed.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneralFiber {
    ground: Ground,
    neurons: usize,
    inputs: usize,
    representation: HyperplaneRepresentation,
}

impl GeneralFiber {
    /// The fiber of `output . relu . hidden` among the parameters with `neurons` hidden neurons.
    pub fn new(hidden: &Layer<Rational>, output: &Layer<Rational>, ground: Ground, neurons: usize) -> Self {
        let inputs = hidden.input_width();
        let representation = HyperplaneRepresentation::new(hidden, output, &ground.sides(inputs));
        GeneralFiber { ground, neurons, inputs, representation }
    }

    /// The visible hyperplanes with their weights and the affine rest.
    pub fn representation(&self) -> &HyperplaneRepresentation {
        &self.representation
    }

    /// The classes, each made when it is asked for.
    pub fn classes(&self) -> impl Iterator<Item = Class> {
        visible_counts(self.representation.hyperplanes.len(), self.neurons).flat_map(|(visible, rest)| {
            (0..=rest).flat_map(move |linear| {
                let visible = visible.clone();
                (0..=rest - linear).flat_map(move |dead| {
                    let visible = visible.clone();
                    let left = rest - linear - dead;
                    groups(left, (left, left)).map(move |cancelling| Class {
                        visible: visible.clone(),
                        cancelling,
                        linear,
                        dead,
                    })
                })
            })
        })
    }

    /// A point of a class: the hidden and the output layer, exactly; `None` if the class is empty.
    pub fn point(&self, class: &Class) -> Result<Option<[Layer<Rational>; 2]>, TooMuchWork> {
        let Some(solution) = self.solve(class)? else { return Ok(None) };
        let mut neurons = Neurons::default();
        for (hyperplane, (&(plus, minus), turned)) in
            self.representation.hyperplanes.iter().zip(class.visible.iter().zip(&solution.turned))
        {
            let straight: Vec<Rational> = hyperplane.weight.iter().zip(turned).map(|(a, n)| a - n).collect();
            neurons.add_pair(&hyperplane.normal, &hyperplane.offset, (plus, &straight), (minus, turned));
        }
        let mut constant = self.representation.constant.clone();
        for (turned, hyperplane) in solution.turned.iter().zip(&self.representation.hyperplanes) {
            constant.iter_mut().zip(turned).for_each(|(e, n)| *e += &(n * &hyperplane.offset));
        }
        let mut free = solution.free.into_iter();
        for &(plus, minus) in &class.cancelling {
            let used = if minus > 0 { free.next() } else { None };
            let (normal, weight) = used.unwrap_or_else(|| {
                (self.somewhere(neurons.rows.len()), vec![Rational::ZERO; constant.len()])
            });
            let offset = self.fresh_offset(&normal, &neurons);
            constant.iter_mut().zip(&weight).for_each(|(e, p)| *e -= &(p * &offset));
            let negative: Vec<Rational> = weight.iter().map(|p| -p).collect();
            neurons.add_pair(&normal, &offset, (plus, &weight), (minus, &negative));
        }
        for (row, weight) in solution.linear {
            constant.iter_mut().zip(&weight).for_each(|(e, v)| *e -= v);
            neurons.add(row, Rational::ONE, weight);
        }
        for _ in 0..class.dead {
            let weight = if self.ground == Ground::Orthant { -Rational::ONE } else { Rational::ZERO };
            neurons.add(vec![weight; self.inputs], -Rational::ONE, vec![Rational::ONE; constant.len()]);
        }
        Ok(Some(neurons.layers(constant)))
    }

    /// Some normal of a hyperplane for a group that contributes nothing.
    fn somewhere(&self, number: usize) -> Vec<Rational> {
        (0..self.inputs).map(|j| Rational::from((number + 2) as i64 + (j * (number + 1)) as i64)).collect()
    }

    /// An offset with which the normal gives a hyperplane that meets the interior and on which no neuron lies
    /// yet.
    fn fresh_offset(&self, normal: &[Rational], neurons: &Neurons) -> Rational {
        let sign = if normal.iter().any(Rational::is_positive) { -1 } else { 1 };
        let free = |offset: &Rational| {
            let row: Vec<&Rational> = normal.iter().chain([offset]).collect();
            neurons.rows.iter().zip(&neurons.biases).all(|(other, bias)| {
                let other: Vec<&Rational> = other.iter().chain([bias]).collect();
                let lead = row.iter().position(|x| !x.is_zero()).unwrap_or(0);
                row.iter().zip(&other).any(|(x, y)| *x * other[lead] != *y * row[lead])
            })
        };
        (1..).map(|k| Rational::from(sign * k)).find(free).expect("finitely many hyperplanes are taken")
    }
}

/// The neurons of a point.
#[derive(Default)]
struct Neurons {
    rows: Vec<Vec<Rational>>,
    biases: Vec<Rational>,
    weights: Vec<Vec<Rational>>,
}

impl Neurons {
    fn add(&mut self, row: Vec<Rational>, bias: Rational, weight: Vec<Rational>) {
        self.rows.push(row);
        self.biases.push(bias);
        self.weights.push(weight);
    }

    /// Neurons on one hyperplane: of either orientation the first one carries the weight.
    fn add_pair(
        &mut self,
        normal: &[Rational],
        offset: &Rational,
        (plus, straight): (usize, &[Rational]),
        (minus, turned): (usize, &[Rational]),
    ) {
        for (count, weight, sign) in [(plus, straight, 1), (minus, turned, -1)] {
            let sign = Rational::from(sign);
            for k in 0..count {
                let weight = if k == 0 { weight.to_vec() } else { vec![Rational::ZERO; weight.len()] };
                self.add(normal.iter().map(|u| u * &sign).collect(), offset * &sign, weight);
            }
        }
    }

    fn layers(self, constant: Vec<Rational>) -> [Layer<Rational>; 2] {
        let (n, d) = (self.rows.len(), self.rows.first().map_or(0, Vec::len));
        let weight = Matrix::from_fn(n, d, |i, j| self.rows[i][j].clone());
        let out = Matrix::from_fn(constant.len(), n, |o, i| self.weights[i][o].clone());
        [Layer::new(weight, self.biases, Activation::Relu), Layer::new(out, constant, Activation::Identity)]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn layers(rng: &mut ChaCha8Rng, d: usize, n: usize, m: usize) -> [Layer<Rational>; 2] {
        let mut number = || Rational::from(rng.random_range(-3i64..=3));
        let weight = Matrix::from_fn(n, d, |_, _| number());
        let bias = (0..n).map(|_| number()).collect();
        let out = Matrix::from_fn(m, n, |_, _| number());
        let constant = (0..m).map(|_| number()).collect();
        [Layer::new(weight, bias, Activation::Relu), Layer::new(out, constant, Activation::Identity)]
    }

    /// The classes by brute force: every label for every neuron, then counted.
    fn brute(hyperplanes: usize, n: usize) -> BTreeSet<Class> {
        // Labels: hyperplane and sign, linear, dead, group and sign.
        let labels = 2 * hyperplanes + 2 + 2 * n;
        let mut found = BTreeSet::new();
        for code in 0..labels.pow(n as u32) {
            let label = |k: u32| code / labels.pow(k) % labels;
            let mut class =
                Class { visible: vec![(0, 0); hyperplanes], cancelling: vec![(0, 0); n], linear: 0, dead: 0 };
            for k in 0..n as u32 {
                match label(k) {
                    l if l < 2 * hyperplanes && l % 2 == 0 => class.visible[l / 2].0 += 1,
                    l if l < 2 * hyperplanes => class.visible[l / 2].1 += 1,
                    l if l == 2 * hyperplanes => class.linear += 1,
                    l if l == 2 * hyperplanes + 1 => class.dead += 1,
                    l if l % 2 == 0 => class.cancelling[(l - 2 * hyperplanes - 2) / 2].0 += 1,
                    l => class.cancelling[(l - 2 * hyperplanes - 2) / 2].1 += 1,
                }
            }
            if class.visible.contains(&(0, 0)) {
                continue;
            }
            class.cancelling.retain(|group| *group != (0, 0));
            class
                .cancelling
                .iter_mut()
                .for_each(|group| *group = (group.0.max(group.1), group.0.min(group.1)));
            class.cancelling.sort_by(|x, y| y.cmp(x));
            found.insert(class);
        }
        found
    }

    #[test]
    fn classes_are_those_of_brute_force() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for n in 1..=4 {
            for _ in 0..8 {
                let [hidden, output] = layers(&mut rng, 2, n, 1);
                let fiber = GeneralFiber::new(&hidden, &output, Ground::Orthant, n);
                let listed: Vec<Class> = fiber.classes().collect();
                let distinct: BTreeSet<Class> = listed.iter().cloned().collect();
                assert_eq!(listed.len(), distinct.len());
                assert_eq!(distinct, brute(fiber.representation().hyperplanes.len(), n), "{n}");
            }
        }
    }

    /// Every point has the function, and the class of the given parameter is never said to be empty.
    #[test]
    fn points_have_the_function() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let (mut points, mut empty) = (0, 0);
        for case in 0..120 {
            let ground = if case % 3 == 0 { Ground::Space } else { Ground::Orthant };
            let (d, n, m) = (rng.random_range(1..4), rng.random_range(1..4), rng.random_range(1..3));
            let [hidden, output] = layers(&mut rng, d, n, m);
            let fiber = GeneralFiber::new(&hidden, &output, ground, n + case % 2);
            let mut some = false;
            for class in fiber.classes() {
                let Some([hidden, output]) = fiber.point(&class).unwrap() else {
                    empty += 1;
                    continue;
                };
                some = true;
                points += 1;
                assert_eq!(hidden.width(), n + case % 2);
                let found = HyperplaneRepresentation::new(&hidden, &output, &ground.sides(d));
                assert!(found.same_map(fiber.representation()), "{class:?}");
                assert!(
                    hidden
                        .weight()
                        .iter_rows()
                        .zip(hidden.bias())
                        .filter(|(row, bias)| ground.role(row, bias) < 0)
                        .count()
                        == class.dead
                );
            }
            assert!(some, "the given parameter lies in some class");
        }
        assert!(points > 500 && empty > 500, "{points} {empty}");
    }

    #[test]
    fn constraints_name_every_neuron() {
        let class = Class { visible: vec![(2, 1)], cancelling: vec![(1, 1)], linear: 1, dead: 1 };
        let lines = class.constraints(Ground::Orthant);
        assert_eq!(
            lines[0],
            "on H_1: (w_j, c_j) = (u_1, t_1) for j = 1..2, (w_j, c_j) = -(u_1, t_1) for j = 3; sum of V_j over j = 1..2, 3 is a_1"
        );
        assert!(lines.iter().any(|line| line.contains("dead: w_j <= 0, c_j <= 0 for j = 7")));
    }
}
