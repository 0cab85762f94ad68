//! The affine map between two ReLUs, kept as it stands in the file until it becomes a layer.
//!
//! A [`Monomial`] map is `y_i = s_i x_{p(i)} + t_i` with rational `s`, `t`: it takes entries, in any order
//! and as often as it likes. [`Affine`] is `x -> post(W pre(x) + b)`, where `pre` takes no entry twice if
//! there is a matrix behind it; its layer has the entries
//!
//! ```text
//! s_i W_{rj} p_j  in column q(j),    s_i (b_r + sum_j W_{rj} u_j) + t_i,    r = source of row i,
//! ```
//!
//! where `p`, `u`, `q` are the scale, shift and source of `pre`, and `s`, `t` those of `post`. Each is
//! computed without error and rounded once, to the nearest double (only shifts `u` that are no sums of
//! three doubles are cut, at a relative `2^-159`).

use std::collections::BTreeMap;

use fiberscope_core::{Matrix, Rational, SparseMatrix, Weights, two_product};

use super::exact_sum::ExactSum;

/// `y_i = scale_i * x[source_i] + shift_i`; what is left out is the identity.
#[derive(Clone, Default)]
struct Monomial {
    source: Option<Vec<usize>>,
    scale: Option<Vec<Rational>>,
    shift: Option<Vec<Rational>>,
}

impl Monomial {
    fn is_selection(&self) -> bool {
        self.scale.is_none() && self.shift.is_none()
    }

    fn is_identity(&self) -> bool {
        self.source.is_none() && self.is_selection()
    }

    fn source(&self, i: usize) -> usize {
        self.source.as_ref().map_or(i, |source| source[i])
    }

    /// The number of entries that it gives on `input` of them.
    fn output(&self, input: usize) -> usize {
        self.source.as_ref().map_or(input, Vec::len)
    }

    /// Whether no entry is taken twice.
    fn is_injective(&self, input: usize) -> bool {
        let Some(source) = &self.source else { return true };
        let mut seen = vec![false; input];
        source.iter().all(|&at| !std::mem::replace(&mut seen[at], true))
    }

    fn select(&mut self, new: &[usize]) {
        let take = |old: &mut Option<Vec<Rational>>| {
            if let Some(old) = old {
                *old = new.iter().map(|&i| old[i].clone()).collect();
            }
        };
        take(&mut self.scale);
        take(&mut self.shift);
        self.source = Some(new.iter().map(|&i| self.source(i)).collect());
    }

    fn scale(&mut self, factors: &[Rational]) {
        for list in [&mut self.scale, &mut self.shift].into_iter().flatten() {
            list.iter_mut().zip(factors).for_each(|(old, factor)| *old *= factor);
        }
        if self.scale.is_none() {
            self.scale = Some(factors.to_vec());
        }
    }

    fn shift(&mut self, terms: &[Rational]) {
        match &mut self.shift {
            Some(shift) => shift.iter_mut().zip(terms).for_each(|(old, term)| *old += term),
            None => self.shift = Some(terms.to_vec()),
        }
    }
}

/// An affine map in the making.
#[derive(Clone)]
pub(super) struct Affine {
    input: usize,
    pre: Monomial,
    matrix: Option<(Weights, Option<Vec<f64>>)>,
    post: Monomial,
}

impl Affine {
    /// The identity on this many numbers.
    pub(super) fn identity(input: usize) -> Self {
        Affine { input, pre: Monomial::default(), matrix: None, post: Monomial::default() }
    }

    /// Some of so many numbers, in this order.
    pub(super) fn selection(input: usize, source: Vec<usize>) -> Self {
        let pre = Monomial { source: Some(source), ..Monomial::default() };
        Affine { input, pre, matrix: None, post: Monomial::default() }
    }

    /// `x -> W x + b`.
    pub(super) fn product(weight: Weights, bias: Vec<f64>) -> Self {
        let input = weight.cols();
        let matrix = Some((weight, Some(bias)));
        Affine { input, pre: Monomial::default(), matrix, post: Monomial::default() }
    }

    /// The number of numbers that the map takes.
    pub(super) fn input(&self) -> usize {
        self.input
    }

    /// The number of numbers that the map gives.
    pub(super) fn output(&self) -> usize {
        let before = self.pre.output(self.input);
        self.matrix.as_ref().map_or(before, |(weight, _)| self.post.output(weight.rows()))
    }

    /// Whether there is a matrix in the map.
    pub(super) fn has_matrix(&self) -> bool {
        self.matrix.is_some()
    }

    /// The entries that the map takes, if it does nothing else.
    pub(super) fn taken(&self) -> Option<Vec<usize>> {
        let plain = self.matrix.is_none() && self.pre.is_selection();
        plain.then(|| (0..self.output()).map(|i| self.pre.source(i)).collect())
    }

    /// The entry, factor and term of entry `i` of a map without a matrix.
    pub(super) fn monomial(&self, i: usize) -> (usize, Option<&Rational>, Option<&Rational>) {
        let Monomial { scale, shift, .. } = &self.pre;
        (self.pre.source(i), scale.as_ref().map(|scale| &scale[i]), shift.as_ref().map(|shift| &shift[i]))
    }

    /// Whether the map is the identity.
    pub(super) fn is_identity(&self) -> bool {
        self.matrix.is_none() && self.pre.is_identity()
    }

    /// Whether a matrix may follow: there is none yet, and no entry is taken twice.
    pub(super) fn takes_matrix(&self) -> bool {
        self.matrix.is_none() && self.pre.is_injective(self.input)
    }

    /// The same map of the numbers at these places among `input` of them.
    pub(super) fn moved(mut self, places: &[usize], input: usize) -> Self {
        let before = self.pre.output(self.input);
        self.pre.source = Some((0..before).map(|i| places[self.pre.source(i)]).collect());
        self.input = input;
        self
    }

    /// The same map without a matrix, of a list with more numbers behind, `input` in all.
    pub(super) fn widened(self, input: usize) -> Self {
        let places: Vec<usize> = (0..self.input).collect();
        self.moved(&places, input)
    }

    /// Follows the map by `x -> W x`. There must be no matrix in it yet.
    pub(super) fn multiply(&mut self, weight: impl Into<Weights>) {
        self.matrix = Some((weight.into(), None));
    }

    /// Follows the map by the one that takes entry `i` from place `source[i]`.
    pub(super) fn select(&mut self, source: &[usize]) {
        self.last().select(source);
    }

    /// Follows the map by a multiplication of every entry.
    pub(super) fn scale(&mut self, factors: &[Rational]) {
        self.last().scale(factors);
    }

    /// Follows the map by an addition to every entry.
    pub(super) fn shift(&mut self, terms: &[Rational]) {
        self.last().shift(terms);
    }

    /// Whether the map ends with a matrix that has no bias yet.
    pub(super) fn lacks_bias(&self) -> bool {
        matches!(self.matrix, Some((_, None))) && self.post.is_identity()
    }

    /// Gives the matrix a bias, if it lacks one.
    pub(super) fn set_bias(&mut self, terms: Vec<f64>) {
        if let Some((_, bias)) = &mut self.matrix {
            *bias = Some(terms);
        }
    }

    /// How many products of the layer need rational arithmetic.
    pub(super) fn slow_products(&self) -> usize {
        let Some((weight, _)) = &self.matrix else { return 0 };
        let is_slow =
            |scale: &Vec<Rational>| scale.iter().any(|s| matches!(Factor::new(s).1, Shortcut::Neither));
        let slow = match (&self.pre.scale, &self.post.scale) {
            (None, None) => false,
            (Some(scale), None) | (None, Some(scale)) => is_slow(scale),
            (Some(_), Some(_)) => true,
        };
        if slow { weight.iter().count() } else { 0 }
    }

    /// How many numbers the layer stores.
    pub(super) fn stored(&self) -> usize {
        let width = self.output();
        let Some((weight, _)) = &self.matrix else { return width.saturating_mul(3) };
        match &self.post.source {
            None => weight.stored().len().saturating_add(width),
            Some(source) => {
                source.iter().fold(width, |sum, &at| sum.saturating_add(weight.stored_in_row(at)))
            }
        }
    }

    fn last(&mut self) -> &mut Monomial {
        if self.matrix.is_some() { &mut self.post } else { &mut self.pre }
    }

    /// The weight and bias of the map, and whether they are exact.
    pub(super) fn into_matrix(self) -> (Weights, Vec<f64>, bool) {
        let mut rounding = Rounding { exact: true };
        let (weight, bias) = match self.matrix {
            None => monomial_matrix(&self.pre, self.input, &mut rounding),
            Some((weight, bias)) => {
                let bias = bias.unwrap_or_else(|| vec![0.0; weight.rows()]);
                if self.pre.is_identity() && self.post.is_identity() {
                    (weight, bias)
                } else {
                    let bias = fold_bias(&self.pre, &weight, &bias, &self.post, &mut rounding);
                    (fold_weight(&self.pre, self.input, weight, &self.post, &mut rounding), bias)
                }
            }
        };
        (weight, bias, rounding.exact)
    }
}

/// The rational value of a constant, which was found finite when it was read.
pub(super) fn exact(value: f64) -> Rational {
    Rational::from_f64(value).expect("constants are finite")
}

fn monomial_matrix(map: &Monomial, input: usize, rounding: &mut Rounding) -> (Weights, Vec<f64>) {
    let width = map.output(input);
    let mut weight = SparseMatrix::with_capacity(input, width, width);
    for i in 0..width {
        let entry = map.scale.as_ref().map_or(1.0, |scale| rounding.nearest(&scale[i]));
        weight.push_row([(map.source(i), entry)]);
    }
    let bias = map.shift.as_ref().map(|shift| shift.iter().map(|t| rounding.nearest(t)).collect());
    (weight.into(), bias.unwrap_or_else(|| vec![0.0; width]))
}

fn fold_bias(
    pre: &Monomial,
    weight: &Weights,
    bias: &[f64],
    post: &Monomial,
    rounding: &mut Rounding,
) -> Vec<f64> {
    let shift = rounding.split(pre.shift.as_deref().unwrap_or(&[]));
    let fold = |i: usize| {
        let row = post.source(i);
        if pre.shift.is_none() && post.is_selection() {
            return bias[row];
        }
        let mut sum = ExactSum::new();
        sum.add_product(bias[row], 1.0);
        let mut extreme = Rational::ZERO;
        for (j, &w) in weight.row(row).filter(|_| pre.shift.is_some()) {
            shift.pieces[j].iter().for_each(|&piece| sum.add_product(w, piece));
            if let Some(term) = shift.extreme.get(&j) {
                extreme += &(&exact(w) * term);
            }
        }
        let mut value = &sum.total() + &extreme;
        if let Some(scale) = &post.scale {
            value *= &scale[i];
        }
        if let Some(shift) = &post.shift {
            value += &shift[i];
        }
        rounding.nearest(&value)
    };
    (0..post.output(weight.rows())).map(fold).collect()
}

fn fold_weight(
    pre: &Monomial,
    input: usize,
    weight: Weights,
    post: &Monomial,
    rounding: &mut Rounding,
) -> Weights {
    if pre.source.is_none() && pre.scale.is_none() && post.source.is_none() && post.scale.is_none() {
        return weight;
    }
    let rows = post.output(weight.rows());
    let factors: Option<Vec<Factor>> =
        pre.scale.as_ref().map(|scale| scale.iter().map(Factor::new).collect());
    let mut entry = |scale: Option<&Factor>, j: usize, entry: f64| {
        let factor = factors.as_ref().map(|factors| &factors[j]);
        match (scale, factor) {
            (None, None) => entry,
            (Some(factor), None) | (None, Some(factor)) => rounding.product(entry, factor),
            (Some(a), Some(b)) => rounding.nearest(&(&(&exact(entry) * &a.0) * &b.0)),
        }
    };
    let scale = |i: usize| post.scale.as_ref().map(|scale| Factor::new(&scale[i]));
    if let Some(dense) = weight.as_dense().filter(|dense| input <= 2 * dense.cols()) {
        let mut folded = Matrix::from_fn(rows, input, |_, _| 0.0);
        for i in 0..rows {
            let scale = scale(i);
            for (j, &w) in dense.row(post.source(i)).iter().enumerate() {
                folded[(i, pre.source(j))] = entry(scale.as_ref(), j, w);
            }
        }
        return folded.into();
    }
    let mut folded = SparseMatrix::with_capacity(input, rows, weight.stored().len());
    for i in 0..rows {
        let scale = scale(i);
        let terms = weight.row(post.source(i)).map(|(j, &w)| (pre.source(j), entry(scale.as_ref(), j, w)));
        folded.push_sum(terms.collect());
    }
    folded.into()
}

/// A scale, with the double it equals or is the inverse of, if any.
struct Factor(Rational, Shortcut);

enum Shortcut {
    Times(f64),
    Over(f64),
    Neither,
}

impl Factor {
    fn new(value: &Rational) -> Self {
        let over = || value.recip().filter(Rational::is_f64).map(|inverse| Shortcut::Over(inverse.to_f64()));
        let shortcut = if value.is_f64() { Some(Shortcut::Times(value.to_f64())) } else { over() };
        Factor(value.clone(), shortcut.unwrap_or(Shortcut::Neither))
    }
}

/// Rounds to the nearest double and remembers whether anything was lost.
struct Rounding {
    exact: bool,
}

impl Rounding {
    fn nearest(&mut self, value: &Rational) -> f64 {
        let rounded = value.to_f64();
        self.exact &= Rational::from_f64(rounded).as_ref() == Some(value);
        rounded
    }

    /// `entry * factor`. One floating-point operation rounds once, as [`Rounding::nearest`] does, and
    /// away from underflow the remainder, another double, tells whether it was exact.
    fn product(&mut self, entry: f64, factor: &Factor) -> f64 {
        let (result, remainder) = match factor.1 {
            Shortcut::Times(factor) => two_product(entry, factor),
            Shortcut::Over(divisor) => {
                let result = entry / divisor;
                (result, result.mul_add(-divisor, entry))
            }
            Shortcut::Neither => (f64::NAN, f64::NAN),
        };
        if entry == 0.0 {
            0.0
        } else if is_plain(entry) && is_plain(result) {
            self.exact &= remainder == 0.0;
            result
        } else {
            self.nearest(&(&exact(entry) * &factor.0))
        }
    }

    fn split(&mut self, shift: &[Rational]) -> Split {
        let mut split = Split { pieces: vec![[0.0; 3]; shift.len()], extreme: BTreeMap::new() };
        for (j, value) in shift.iter().enumerate().filter(|(_, value)| !value.is_zero()) {
            if !is_plain(value.to_f64()) {
                split.extreme.insert(j, value.clone());
                continue;
            }
            let mut rest = value.clone();
            for piece in &mut split.pieces[j] {
                *piece = rest.to_f64();
                rest -= &exact(*piece);
            }
            self.exact &= rest.is_zero();
        }
        split
    }
}

/// A list of numbers, each as the sum of three doubles, largest first, unless it is extreme.
struct Split {
    pieces: Vec<[f64; 3]>,
    extreme: BTreeMap<usize, Rational>,
}

/// Whether the number is so far from overflow and underflow that products and remainders are, too.
fn is_plain(x: f64) -> bool {
    x.abs() > 1e-140 && x.abs() < 1e140
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rationals(values: &[f64]) -> Vec<Rational> {
        values.iter().copied().map(exact).collect()
    }

    fn inverses(values: &[f64]) -> Vec<Rational> {
        values.iter().map(|&value| exact(value).recip().unwrap()).collect()
    }

    /// A map with everything in it, and the same map applied step by step without rounding.
    #[test]
    fn folding_rounds_the_exact_product_once() {
        let weight = Matrix::from_rows(&[[0.1, -3.5, 1e-3], [7.0, 0.0, 1.0 / 3.0]]).unwrap();
        let (mean, deviation, bias) = ([0.3, -1e-200, 5e-7], [1.7, 3.0, 0.25], [0.1, -0.2]);
        let (gain, offset) = ([1.1, -2.0 / 3.0], [1e-9, 4.0]);
        let mut map = Affine::identity(3);
        map.shift(&rationals(&mean));
        map.select(&[2, 0, 1]);
        map.scale(&inverses(&deviation));
        map.multiply(weight.clone());
        map.set_bias(bias.to_vec());
        map.scale(&rationals(&gain));
        map.select(&[1, 0]);
        map.shift(&rationals(&offset));
        let (weights, biases, is_exact) = map.into_matrix();
        assert!(!is_exact);

        let step_by_step = |x: &[Rational; 3]| -> Vec<Rational> {
            let shifted: Vec<_> = x.iter().zip(mean).map(|(x, mean)| x + &exact(mean)).collect();
            let scaled: Vec<_> =
                [2, 0, 1].iter().zip(deviation).map(|(&i, d)| &shifted[i] / &exact(d)).collect();
            let dot = |i: usize| -> Rational { (0..3).map(|j| &exact(weight[(i, j)]) * &scaled[j]).sum() };
            let out = |i: usize| &(dot(i) + exact(bias[i])) * &exact(gain[i]);
            vec![&out(1) + &exact(offset[0]), &out(0) + &exact(offset[1])]
        };
        let zero = step_by_step(&[Rational::ZERO, Rational::ZERO, Rational::ZERO]);
        assert_eq!(biases, [zero[0].to_f64(), zero[1].to_f64()]);
        for j in 0..3 {
            let mut unit = [Rational::ZERO, Rational::ZERO, Rational::ZERO];
            unit[j] = Rational::ONE;
            let column = step_by_step(&unit);
            for i in 0..2 {
                assert_eq!(weights.get(i, j), (&column[i] - &zero[i]).to_f64(), "weight {i} {j}");
            }
        }
    }

    #[test]
    fn products_with_one_factor_agree_with_rational_arithmetic() {
        let samples =
            [1.0, -1.5, 0.1, 3.0, 1e-170, 1e-300, 5e-324, 1e170, 1e300, f64::MAX, f64::from_bits(1 << 34)];
        for entry in samples {
            for other in samples {
                for factor in [exact(other), exact(other).recip().unwrap(), &exact(other) / &exact(3.0)] {
                    let product = &exact(entry) * &factor;
                    let mut rounding = Rounding { exact: true };
                    assert_eq!(
                        rounding.product(entry, &Factor::new(&factor)),
                        product.to_f64(),
                        "{entry} {factor}"
                    );
                    assert_eq!(rounding.exact, product.is_f64(), "{entry} {factor}");
                }
            }
        }
    }

    #[test]
    fn permutations_keep_every_bit() {
        let mut map = Affine::identity(2);
        map.select(&[1, 0]);
        map.multiply(Matrix::from_rows(&[[0.1, -0.0], [1.0, 2.0]]).unwrap());
        map.set_bias(vec![-0.0, 1.0]);
        map.select(&[1, 0]);
        map.select(&[1, 0]);
        let (weight, bias, is_exact) = map.into_matrix();
        assert!(is_exact);
        assert!(weight.get(0, 0).is_sign_negative() && bias[0].is_sign_negative());
    }
}
