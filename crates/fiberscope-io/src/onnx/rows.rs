//! Affine maps with few entries, written out: what branches, differences and maxima are made of.
//!
//! Row `i` is `sum_k c_k x_{j_k} + t` with rational `c`, `t` and increasing `j`. Sums, selections and
//! multiples of such maps are exact; a product with a matrix is taken only where it is.

use fiberscope_core::{Rational, SparseMatrix, Weights, two_product, two_sum};

use super::affine::{Affine, exact};

/// Where a number of the layer before stands in the next one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// It is not there.
    Nowhere,
    /// It is this number.
    At(usize),
    /// It is the difference of these two numbers.
    Difference(usize, usize),
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    terms: Vec<(usize, Rational)>,
    constant: Rational,
}

/// An affine map with few entries.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    input: usize,
    rows: Vec<Row>,
}

impl Rows {
    /// The rows of a map without a matrix.
    pub(super) fn of(map: &Affine) -> Self {
        let row = |i| {
            let (at, factor, term) = map.monomial(i);
            let factor = factor.cloned().unwrap_or(Rational::ONE);
            let terms = if factor.is_zero() { vec![] } else { vec![(at, factor)] };
            Row { terms, constant: term.cloned().unwrap_or_default() }
        };
        Rows { input: map.input(), rows: (0..map.output()).map(row).collect() }
    }

    /// The map that gives these numbers, whatever it takes.
    pub(super) fn constants(input: usize, values: &[f64]) -> Self {
        let row = |&value: &f64| Row { terms: vec![], constant: exact(value) };
        Rows { input, rows: values.iter().map(row).collect() }
    }

    /// The number of numbers that the map gives.
    pub(super) fn output(&self) -> usize {
        self.rows.len()
    }

    /// The number of its coefficients.
    pub(super) fn entries(&self) -> usize {
        self.rows.iter().map(|row| row.terms.len() + 1).sum()
    }

    /// The numbers that it reads, each once or more.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.rows.iter().flat_map(|row| row.terms.iter().map(|(column, _)| *column))
    }

    /// Takes row `i` from place `source[i]`.
    pub(super) fn select(&mut self, source: &[usize]) {
        self.rows = source.iter().map(|&at| self.rows[at].clone()).collect();
    }

    /// Multiplies every row by a factor.
    pub(super) fn scale(&mut self, factors: &[Rational]) {
        for (row, factor) in self.rows.iter_mut().zip(factors) {
            if factor.is_zero() {
                *row = Row::default();
                continue;
            }
            row.terms.iter_mut().for_each(|(_, c)| *c *= factor);
            row.constant *= factor;
        }
    }

    /// Adds a term to every row.
    pub(super) fn shift(&mut self, terms: &[Rational]) {
        self.rows.iter_mut().zip(terms).for_each(|(row, term)| row.constant += term);
    }

    /// Adds the rows of another map of the same numbers.
    pub(super) fn add(&mut self, other: &Rows) {
        for (row, other) in self.rows.iter_mut().zip(&other.rows) {
            row.terms = merged(&row.terms, &other.terms);
            row.constant += &other.constant;
        }
    }

    /// Puts the rows of another map of the same numbers below these.
    pub(super) fn append(&mut self, other: Rows) {
        self.rows.extend(other.rows);
    }

    /// The same map in the numbers of the next layer, of which there are `input`.
    pub(super) fn moved(&self, places: &[Place], input: usize) -> Self {
        let row = |row: &Row| {
            let mut terms = Vec::with_capacity(row.terms.len());
            for (column, c) in &row.terms {
                match places[*column] {
                    Place::Nowhere => unreachable!("what is read is carried"),
                    Place::At(at) => terms.push((at, c.clone())),
                    Place::Difference(plus, minus) => terms.extend([(plus, c.clone()), (minus, -c)]),
                }
            }
            terms.sort_by_key(|(column, _)| *column);
            Row { terms, constant: row.constant.clone() }
        };
        Rows { input, rows: self.rows.iter().map(row).collect() }
    }

    /// The same map of a list with more numbers behind, `input` in all.
    pub(super) fn widened(self, input: usize) -> Self {
        Rows { input, ..self }
    }

    /// The map as a matrix and a bias, each number rounded to the nearest double, and whether that changed
    /// any.
    pub(super) fn into_matrix(self) -> (Weights, Vec<f64>, bool) {
        let mut is_exact = true;
        let mut nearest = |value: &Rational| {
            is_exact &= value.is_f64();
            value.to_f64()
        };
        let mut weight = SparseMatrix::with_capacity(self.input, self.rows.len(), self.entries());
        let mut bias = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            weight.push_row(row.terms.iter().map(|(column, c)| (*column, nearest(c))));
            bias.push(nearest(&row.constant));
        }
        (weight.into(), bias, is_exact)
    }

    /// The number of products that [`Rows::times`] takes.
    pub(super) fn products(&self, weight: &Weights) -> usize {
        weight.iter().fold(0, |sum, (_, k, _)| sum.saturating_add(self.rows[k].terms.len() + 1))
    }

    /// `x -> W (this map of x)`, unless a number of it is no double.
    pub(super) fn times(&self, weight: &Weights) -> Option<Affine> {
        let mut product = SparseMatrix::new(self.input);
        let (mut sums, mut columns) = (vec![0.0; self.input], Vec::new());
        let mut bias = Vec::with_capacity(weight.rows());
        let rows: Option<Vec<_>> = self.rows.iter().map(Doubles::of).collect();
        let rows = rows?;
        for row in weight.iter_rows() {
            let mut constant = Rational::ZERO;
            for (k, &w) in row {
                let row = &rows[k];
                for &(column, c) in &row.terms {
                    sums[column] = exact_product_sum(w, c, sums[column])?;
                    columns.push(column);
                }
                if row.constant != 0.0 {
                    constant += &(&exact(w) * &exact(row.constant));
                }
            }
            bias.push(constant.is_f64().then(|| constant.to_f64())?);
            columns.sort_unstable();
            columns.dedup();
            product.push_row(columns.drain(..).map(|column| (column, std::mem::take(&mut sums[column]))));
        }
        Some(Affine::product(product.into(), bias))
    }
}

/// A row all of whose numbers are doubles.
struct Doubles {
    terms: Vec<(usize, f64)>,
    constant: f64,
}

impl Doubles {
    fn of(row: &Row) -> Option<Self> {
        let double = |value: &Rational| value.is_f64().then(|| value.to_f64());
        let terms = row.terms.iter().map(|(column, c)| Some((*column, double(c)?))).collect::<Option<_>>()?;
        Some(Doubles { terms, constant: double(&row.constant)? })
    }
}

/// `w c + sum`, if it is a double.
fn exact_product_sum(w: f64, c: f64, sum: f64) -> Option<f64> {
    if sum == 0.0 && c.abs() == 1.0 {
        return Some(w * c);
    }
    let (product, rest) = two_product(w, c);
    if rest == 0.0 && product.abs() > 1e-140 && product.abs() < 1e140 {
        let (sum, rest) = two_sum(product, sum);
        return (rest == 0.0).then_some(sum);
    }
    let value = &(&exact(w) * &exact(c)) + &exact(sum);
    value.is_f64().then(|| value.to_f64())
}

fn merged(a: &[(usize, Rational)], b: &[(usize, Rational)]) -> Vec<(usize, Rational)> {
    let mut sum: Vec<(usize, Rational)> = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let next = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) if x.0 == y.0 => {
                let pair = (x.0, &x.1 + &y.1);
                a.next();
                b.next();
                pair
            }
            (Some(x), Some(y)) if x.0 > y.0 => b.next().expect("it was seen").clone(),
            (Some(_), _) => a.next().expect("it was seen").clone(),
            (None, Some(_)) => b.next().expect("it was seen").clone(),
            (None, None) => return sum,
        };
        if !next.1.is_zero() {
            sum.push(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use fiberscope_core::Matrix;

    use super::*;

    fn rows(map: Affine) -> Rows {
        Rows::of(&map)
    }

    #[test]
    fn sums_and_products_are_exact_or_refused() {
        let mut clip = rows(Affine::selection(4, vec![0, 1]));
        let mut minus = rows(Affine::selection(4, vec![2, 3]));
        minus.scale(&[Rational::from(-1), Rational::from(-1)]);
        clip.add(&minus);
        clip.shift(&[exact(0.5), Rational::ZERO]);
        let weight = Matrix::from_rows(&[[0.1, -3.0], [1e-3, 0.0]]).unwrap();
        let (product, bias, is_exact) =
            clip.times(&weight.into()).unwrap_or_else(|| panic!("inexact")).into_matrix();
        assert!(is_exact);
        let product = product.to_dense();
        assert_eq!(product.row(0), [0.1, -3.0, -0.1, 3.0]);
        assert_eq!(product.row(1), [1e-3, 0.0, -1e-3, 0.0]);
        assert_eq!(bias[1], 0.5e-3);
        // A slope that is no power of two would round.
        let mut leaky = rows(Affine::selection(2, vec![0]));
        let mut slope = rows(Affine::selection(2, vec![1]));
        slope.scale(&[exact(-0.01)]);
        leaky.add(&slope);
        assert!(leaky.times(&Matrix::from_rows(&[[0.1]]).unwrap().into()).is_none());
        assert!(leaky.times(&Matrix::from_rows(&[[0.5]]).unwrap().into()).is_some());
    }

    #[test]
    fn terms_that_cancel_are_gone() {
        let mut zero = rows(Affine::identity(1));
        let mut minus = zero.clone();
        minus.scale(&[Rational::from(-1)]);
        zero.add(&minus);
        assert_eq!(zero.entries(), 1);
        assert_eq!(zero.moved(&[Place::Nowhere], 1).into_matrix().0.to_dense().entries(), [0.0]);
    }
}
