//! The fiber of a map with one hidden layer, nothing assumed.
//!
//! Every parameter of the fiber puts each of its `n` neurons on a visible hyperplane `H_i` (several may share one), into a *cancelling group* (neurons on one hyperplane outside the visible ones, whose weights add up to
//! zero), or makes it linear or dead, and gives the hyperplane-neurons an orientation [threelayer2026, Section 4]. A *class* counts, up to the order of the neurons, how many there are of each kind.
//!
//! **When is a class non-empty?** Write `g = sum_i a_i relu(u_i x + t_i) + M x + beta`. A neuron on `H_i` turned around contributes `-V_j (u_i x + t_i)` besides its share of `a_i`; with `N_i` the sum of these `V_j`
//! (0 if no neuron is turned around, `a_i` if all are, free otherwise), and with `P_k v_k^T x` from cancelling group `k` that has both orientations (free rank one), the class needs
//!
//! ```text
//! M + sum_i N_i u_i^T = V_Lin W_Lin + sum_k P_k v_k^T,     W_Lin >= 0   (W_Lin = 0 on R^d).
//! ```
//!
//! Let `U` be the span of the `u_i` with free `N_i`, `B` the left-hand side without these, `rho = dim (rows(B) + U) / U`, and `K` the number of free groups. If `rho <= K`, or `l > rho - K`, there is a solution (a large row added to `rho - K` rows of
//! a basis makes them nonnegative). If `l = rho - K` there is one iff the nonnegative vectors of `rows(B) + U` span at least `l` dimensions modulo `U`; they span the subspace that is left after putting to zero, repeatedly, the columns that
//! Gordan's theorem shows to vanish on them. If `l < rho - K` there is none.

use fiberscope_core::{Activation, HyperplaneRepresentation, Layer, Matrix, Rational, Scalar};

use thiserror::Error;

use super::layer::Ground;
use super::pointed::{Pointedness, dot, pointedness};
use crate::limit::Deadline;
use crate::reduce::coordinates;

/// How many neurons there are of each kind and orientation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    /// Per visible hyperplane the numbers of neurons with its normal and with the opposite one.
    pub visible: Vec<(usize, usize)>,
    /// Per cancelling group the numbers of neurons of either orientation, the larger number first; groups in decreasing order.
    pub cancelling: Vec<(usize, usize)>,
    /// The linear neurons.
    pub linear: usize,
    /// The dead neurons.
    pub dead: usize,
}

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

    /// What solves the equation of the module.
    fn solve(&self, class: &Class) -> Result<Option<Solution>, TooMuchWork> {
        let hyperplanes = &self.representation.hyperplanes;
        let m = self.representation.constant.len();
        let mut base = Matrix::from_rows(&self.representation.linear).expect("one row per output");
        let mixed: Vec<usize> =
            (0..hyperplanes.len()).filter(|&i| class.visible[i].0 > 0 && class.visible[i].1 > 0).collect();
        let mut turned = vec![vec![Rational::ZERO; m]; hyperplanes.len()];
        for (i, hyperplane) in hyperplanes.iter().enumerate().filter(|(i, _)| class.visible[*i].0 == 0) {
            turned[i] = hyperplane.weight.clone();
            for (o, a) in hyperplane.weight.iter().enumerate() {
                base.row_mut(o).iter_mut().zip(&hyperplane.normal).for_each(|(x, u)| *x += &(a * u));
            }
        }
        let span = select_independent(
            &[],
            &mixed.iter().map(|&i| hyperplanes[i].normal.clone()).collect::<Vec<_>>(),
        );
        let span_of: Vec<usize> = span.iter().map(|&k| mixed[k]).collect();
        let span: Vec<Vec<Rational>> = span_of.iter().map(|&i| hyperplanes[i].normal.clone()).collect();
        let groups = class.cancelling.iter().filter(|group| group.1 > 0).count();
        let Some((rows, arbitrary)) = self.rows(&base, &span, class.linear, groups)? else { return Ok(None) };
        // Coordinates in an independent subset of [nonnegative rows, arbitrary rows, U].
        let all: Vec<Vec<Rational>> = rows.iter().chain(&arbitrary).chain(&span).cloned().collect();
        let chosen = select_independent(&[], &all);
        let basis: Vec<Vec<Rational>> = chosen.iter().map(|&k| all[k].clone()).collect();
        let solved = match Matrix::from_rows(&basis) {
            Some(basis) if !chosen.is_empty() => {
                coordinates(&basis, &base, Deadline::NEVER).ok_or(TooMuchWork)?
            }
            _ => Matrix::from_fn(m, 0, |_, _| Rational::ZERO),
        };
        let coefficient = |k: usize| -> Vec<Rational> {
            let at = chosen.iter().position(|&c| c == k);
            (0..m).map(|o| at.map_or(Rational::ZERO, |at| solved[(o, at)].clone())).collect()
        };
        let linear = rows.iter().enumerate().map(|(k, row)| (row.clone(), coefficient(k))).collect();
        let free =
            arbitrary.iter().enumerate().map(|(k, row)| (row.clone(), coefficient(rows.len() + k))).collect();
        for (k, &i) in span_of.iter().enumerate() {
            turned[i] = coefficient(rows.len() + arbitrary.len() + k).iter().map(|y| -y).collect();
        }
        Ok(Some(Solution { turned, linear, free }))
    }

    /// `linear` nonnegative rows and at most `groups` other rows that, together with `span`, span the rows of `base`.
    #[allow(clippy::type_complexity, reason = "two lists of rows")]
    fn rows(
        &self,
        base: &Matrix<Rational>,
        span: &[Vec<Rational>],
        linear: usize,
        groups: usize,
    ) -> Result<Option<(Vec<Vec<Rational>>, Vec<Vec<Rational>>)>, TooMuchWork> {
        let candidates: Vec<Vec<Rational>> = base.iter_rows().map(<[Rational]>::to_vec).collect();
        let basis: Vec<Vec<Rational>> =
            select_independent(span, &candidates).into_iter().map(|k| candidates[k].clone()).collect();
        let filler = |count: usize| {
            let entry = if self.ground == Ground::Orthant { Rational::ONE } else { Rational::ZERO };
            vec![vec![entry; self.inputs]; count]
        };
        let rho = basis.len();
        if rho <= groups {
            return Ok(Some((filler(linear), basis)));
        }
        let needed = rho - groups;
        if self.ground == Ground::Space || linear < needed {
            return Ok(None);
        }
        if linear > needed {
            let shift = |row: &[Rational]| row.iter().map(|x| -x).max().unwrap_or_default();
            let large = basis[..needed]
                .iter()
                .map(|row| shift(row))
                .max()
                .unwrap_or_default()
                .max(Rational::ZERO)
                .round_up(4);
            let large = &large + &Rational::ONE;
            let raised = |row: &Vec<Rational>| row.iter().map(|x| x + &large).collect::<Vec<_>>();
            let mut rows: Vec<Vec<Rational>> = basis[..needed].iter().map(raised).collect();
            rows.push(vec![large.clone(); self.inputs]);
            rows.extend(filler(linear - needed - 1));
            return Ok(Some((rows, basis[needed..].to_vec())));
        }
        let Some(rows) = nonnegative_rows(&basis, span, needed)? else { return Ok(None) };
        let rest = select_independent(&[span, &rows].concat(), &basis)
            .into_iter()
            .map(|k| basis[k].clone())
            .collect();
        Ok(Some((rows, rest)))
    }

    /// Some normal of a hyperplane for a group that contributes nothing.
    fn somewhere(&self, number: usize) -> Vec<Rational> {
        (0..self.inputs).map(|j| Rational::from((number + 2) as i64 + (j * (number + 1)) as i64)).collect()
    }

    /// An offset with which the normal gives a hyperplane that meets the interior and on which no neuron lies yet.
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

/// The exact solution of the equations of a class is too much work.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("solving the equations of the class exactly is too much work")]
pub struct TooMuchWork;

/// `N_i` per visible hyperplane, and the rows with their weights.
struct Solution {
    turned: Vec<Vec<Rational>>,
    linear: Vec<(Vec<Rational>, Vec<Rational>)>,
    free: Vec<(Vec<Rational>, Vec<Rational>)>,
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

/// `count` nonnegative rows of the span of both lists that are independent modulo `span`, if there are as many.
fn nonnegative_rows(
    basis: &[Vec<Rational>],
    span: &[Vec<Rational>],
    count: usize,
) -> Result<Option<Vec<Vec<Rational>>>, TooMuchWork> {
    let mut rows = [basis, span].concat();
    let inside = loop {
        let Some(matrix) = Matrix::from_rows(&rows).filter(|matrix| matrix.rows() > 0) else {
            return Ok(None);
        };
        match pointedness(&matrix) {
            Pointedness::Pointed { functional } => {
                break (0..matrix.cols())
                    .map(|j| dot(&functional, &matrix.column(j).cloned().collect::<Vec<_>>()))
                    .collect::<Vec<_>>();
            }
            // Every nonnegative row vanishes where the multipliers do not.
            Pointedness::NotPointed { combination } => {
                let zero: Vec<usize> =
                    (0..combination.len()).filter(|&j| !combination[j].is_zero()).collect();
                rows = vanishing(&matrix, &zero)?;
            }
        }
    };
    let chosen: Vec<usize> = select_independent(span, &rows).into_iter().take(count).collect();
    if chosen.len() < count {
        return Ok(None);
    }
    // Large multiples of the inner row make the chosen rows nonnegative; all but finitely many keep them independent.
    Ok((0..).map(|k: i64| Rational::dyadic(1, k.min(1 << 16))).find_map(|extra| {
        let lifted: Vec<Vec<Rational>> = chosen
            .iter()
            .enumerate()
            .map(|(place, &k)| {
                let needed = (0..inside.len())
                    .filter(|&j| rows[k][j].is_negative())
                    .map(|j| -(&rows[k][j] / &inside[j]))
                    .max();
                let factor = &needed.unwrap_or_default() + &(&extra * &Rational::from(place as i64 + 1));
                rows[k].iter().zip(&inside).map(|(x, y)| x + &(&factor * y)).collect()
            })
            .collect();
        (select_independent(span, &lifted).len() == count).then_some(lifted)
    }))
}

/// A basis of the vectors in the span of the rows that are zero in the given columns.
fn vanishing(matrix: &Matrix<Rational>, columns: &[usize]) -> Result<Vec<Vec<Rational>>, TooMuchWork> {
    // y M_j = 0 for the columns: the kernel of the transposed selection.
    let selected = matrix.select_columns(columns);
    let pivots = select_independent(&[], &selected.iter_rows().map(<[Rational]>::to_vec).collect::<Vec<_>>());
    let others: Vec<usize> = (0..matrix.rows()).filter(|k| !pivots.contains(k)).collect();
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let shares = if pivots.is_empty() {
        Matrix::from_fn(others.len(), 0, |_, _| Rational::ZERO)
    } else {
        coordinates(&selected.select_rows(&pivots), &selected.select_rows(&others), Deadline::NEVER)
            .ok_or(TooMuchWork)?
    };
    let combined = Scalar::product(&shares, &matrix.select_rows(&pivots)).ok_or(TooMuchWork)?;
    let row = |(k, &other): (usize, &usize)| -> Vec<Rational> {
        matrix
            .row(other)
            .iter()
            .enumerate()
            .map(|(j, x)| if pivots.is_empty() { x.clone() } else { x - &combined[(k, j)] })
            .collect()
    };
    Ok(others.iter().enumerate().map(row).collect())
}

/// The numbers of candidates that are independent of each other and of the given rows, the first ones where there is a choice: elimination over the rationals.
fn select_independent(given: &[Vec<Rational>], candidates: &[Vec<Rational>]) -> Vec<usize> {
    // Rows in echelon form with their leading column.
    let mut echelon: Vec<(usize, Vec<Rational>)> = Vec::new();
    let mut enters = |row: &[Rational]| {
        let mut row = row.to_vec();
        for (lead, earlier) in &echelon {
            if !row[*lead].is_zero() {
                let factor = &row[*lead] / &earlier[*lead];
                row.iter_mut().zip(earlier).for_each(|(x, e)| *x -= &(&factor * e));
            }
        }
        let lead = row.iter().position(|x| !x.is_zero());
        echelon.extend(lead.map(|lead| (lead, row)));
        lead.is_some()
    };
    given.iter().for_each(|row| {
        enters(row);
    });
    (0..candidates.len()).filter(|&k| enters(&candidates[k])).collect()
}

/// Numbers of neurons per visible hyperplane, at least one each, and how many are left.
fn visible_counts(
    hyperplanes: usize,
    neurons: usize,
) -> Box<dyn Iterator<Item = (Vec<(usize, usize)>, usize)>> {
    if hyperplanes == 0 {
        return Box::new(std::iter::once((Vec::new(), neurons)));
    }
    if neurons < hyperplanes {
        return Box::new(std::iter::empty());
    }
    Box::new((1..=neurons + 1 - hyperplanes).flat_map(move |total| {
        visible_counts(hyperplanes - 1, neurons - total).flat_map(move |(rest, left)| {
            (0..=total).map(move |minus| {
                let mut visible = vec![(total - minus, minus)];
                visible.extend(&rest);
                (visible, left)
            })
        })
    }))
}

/// The ways to form groups of `neurons` neurons, none larger (in the order of pairs) than `largest`.
fn groups(neurons: usize, largest: (usize, usize)) -> Box<dyn Iterator<Item = Vec<(usize, usize)>>> {
    if neurons == 0 {
        return Box::new(std::iter::once(Vec::new()));
    }
    let heads =
        (1..=neurons).flat_map(move |plus| (0..=plus.min(neurons - plus)).map(move |minus| (plus, minus)));
    Box::new(heads.filter(move |head| *head <= largest).flat_map(move |head| {
        groups(neurons - head.0 - head.1, head).map(move |mut rest| {
            rest.insert(0, head);
            rest
        })
    }))
}

impl Class {
    /// The equations and inequalities of the class, as lines of text; neurons are numbered in the order hyperplanes, groups, linear, dead.
    pub fn constraints(&self, ground: Ground) -> Vec<String> {
        let mut lines = Vec::new();
        let mut next = 1;
        let mut range = |count: usize| {
            let from = next;
            next += count;
            match count {
                1 => format!("{from}"),
                _ => format!("{from}..{}", from + count - 1),
            }
        };
        for (i, &(plus, minus)) in self.visible.iter().enumerate() {
            let h = i + 1;
            let (mut sides, mut sum) = (Vec::new(), Vec::new());
            for (count, sign) in [(plus, ""), (minus, "-")] {
                if count > 0 {
                    let units = range(count);
                    sides.push(format!("(w_j, c_j) = {sign}(u_{h}, t_{h}) for j = {units}"));
                    sum.push(units);
                }
            }
            lines.push(format!(
                "on H_{h}: {}; sum of V_j over j = {} is a_{h}",
                sides.join(", "),
                sum.join(", ")
            ));
        }
        for (k, &(plus, minus)) in self.cancelling.iter().enumerate() {
            let mut sides = vec![format!("(w_j, c_j) = (v_{0}, r_{0}) for j = {1}", k + 1, range(plus))];
            if minus > 0 {
                sides.push(format!("(w_j, c_j) = -(v_{0}, r_{0}) for j = {1}", k + 1, range(minus)));
            }
            lines.push(format!(
                "cancelling group {}: {}, on no H_i; their V_j add up to 0",
                k + 1,
                sides.join(", ")
            ));
        }
        let (linear, dead) = match ground {
            Ground::Orthant => ("w_j >= 0, c_j >= 0", "w_j <= 0, c_j <= 0"),
            Ground::Space => ("w_j = 0, c_j >= 0", "w_j = 0, c_j <= 0"),
        };
        if self.linear > 0 {
            lines.push(format!("linear: {linear} for j = {}", range(self.linear)));
        }
        if self.dead > 0 {
            lines.push(format!("dead: {dead} for j = {}, V_j free", range(self.dead)));
        }
        lines.push("the affine map at x_0 is A_0 x + b_0".into());
        lines
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
