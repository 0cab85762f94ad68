//! Several values become one: sums of two branches, and tensors put side by side.

use fiberscope_core::{Activation, Matrix, Rational, SparseMatrix, Weights, two_sum};

use super::affine::Affine;
use super::arithmetic::stand_at_axis;
use super::layers::Value;
use super::lowering::{Lowering, Site};
use super::map::Map;
use super::proto::Node;
use super::rows::Rows;
use super::shape;
use crate::FormatError;

impl<'a> Lowering<'_, 'a> {
    /// `Add`, `Sub`, `Sum`, `Mean` and `Concat` of values and constants.
    pub(super) fn join(&mut self, site: &Site<'a>) -> Result<Value<'a>, FormatError> {
        let node = &site.node;
        let mut values = Vec::with_capacity(site.inputs.len());
        for at in 0..site.inputs.len() {
            values.push(self.operand(site, at)?);
        }
        if node.operator == "Concat" {
            return self.concatenate(node, values);
        }
        if let ("Add" | "Sub", [first, second]) = (node.operator, values.as_mut_slice()) {
            stand_at_axis(node, &mut second.dims, first.dims.len())?;
        }
        let count = values.len();
        // A sum of two may take a layer of its own; values that wait for the next sum must be part of it.
        if count > 2 && values.iter().any(|value| value.map.has_matrix()) {
            values = self.close(&node.to_string(), Activation::Identity, values, &mut [])?;
        }
        let mut values = values.into_iter();
        let Some(mut sum) = values.next() else { return Err(node.malformed("it has no inputs")) };
        for value in values {
            sum = self.sum(node, sum, value, node.operator == "Sub")?;
        }
        if node.operator == "Mean" {
            let parts = Rational::from(i64::try_from(count).unwrap_or(i64::MAX)).recip();
            self.hand = sum;
            self.scale_all(node, &parts.unwrap_or(Rational::ONE))?;
            sum = self.put_down();
        }
        Ok(sum)
    }

    /// One input of a node as a value: the one at hand, another that depends on the input, or a constant.
    pub(super) fn operand(&mut self, site: &Site<'a>, at: usize) -> Result<Value<'a>, FormatError> {
        match site.input(at) {
            _ if at == site.data && self.has_hand() => Ok(self.put_down()),
            Some(name) if self.is_value(name) => self.take(name, &site.node),
            _ => self.constant_value(site, at),
        }
    }

    pub(super) fn constant_value(&mut self, site: &Site<'a>, at: usize) -> Result<Value<'a>, FormatError> {
        let (dims, numbers) = self.floats(site, at)?;
        self.budget.operations(site.node, numbers.len())?;
        let rows = Rows::constants(self.layers.width(), &numbers);
        Ok(Value::new(dims, Map::Rows(rows)))
    }

    /// `a + b` or `a - b`, in the shape to which both are repeated.
    fn sum(
        &mut self,
        node: &Node<'a>,
        a: Value<'a>,
        b: Value<'a>,
        subtract: bool,
    ) -> Result<Value<'a>, FormatError> {
        let dims = shape::broadcast(&a.dims, &b.dims).map_err(|reason| node.malformed(reason))?;
        let mut both = Vec::with_capacity(2);
        for (value, negate) in [(a, false), (b, subtract)] {
            self.hand = value;
            self.spread(node, &dims)?;
            if negate {
                let minus = vec![Rational::from(-1); self.width()];
                self.budget.operations(node, minus.len())?;
                self.hand.map.scale(&minus);
            }
            both.push(self.put_down());
        }
        let (Some(b), Some(a)) = (both.pop(), both.pop()) else { unreachable!("two values were made") };
        if a.map.has_matrix() || b.map.has_matrix() {
            return self.matrix_sum(node, a, b);
        }
        self.sparse_sum(node, a, &b)
    }

    fn sparse_sum(
        &mut self,
        node: &Node<'a>,
        mut a: Value<'a>,
        b: &Value<'a>,
    ) -> Result<Value<'a>, FormatError> {
        let (mut rows, other) =
            (a.map.rows().expect("no matrix is in it"), b.map.rows().expect("no matrix is in it"));
        self.budget.operations(node, rows.entries() + other.entries())?;
        rows.add(&other);
        a.inherit(b);
        a.map = Map::Rows(rows);
        Ok(a)
    }

    /// The sum of two matrices where that is exact; otherwise both values become a layer first. Where constants
    /// that were folded into them (batch normalisation) round them anyway, and the note says so, so may the sums of
    /// their biases: a normalised sum has the layers that it has after the normalisation was folded by an exporter.
    fn matrix_sum(
        &mut self,
        node: &Node<'a>,
        mut a: Value<'a>,
        b: Value<'a>,
    ) -> Result<Value<'a>, FormatError> {
        let stored = a.map.stored().saturating_add(b.map.stored());
        self.budget.matrix(node, (a.map.output(), self.layers.width()), stored)?;
        let parts = [a.map.clone().into_matrix(), b.map.clone().into_matrix()];
        let [(weight_a, bias_a, is_exact_a), (weight_b, bias_b, is_exact_b)] = &parts;
        let rounds = !is_exact_a || !is_exact_b || a.rounded || b.rounded;
        let bias = match exact_sums(bias_a, bias_b) {
            None if rounds => Some(bias_a.iter().zip(bias_b).map(|(a, b)| a + b).collect()),
            exact => exact,
        };
        if let Some(weight) = exact_matrix_sum(weight_a, weight_b)
            && let Some(bias) = bias
        {
            a.inherit(&b);
            a.rounded |= rounds;
            a.map = Map::Plain(Affine::product(weight, bias));
            return Ok(a);
        }
        let mut made = self.close(&node.to_string(), Activation::Identity, vec![a, b], &mut [])?;
        let (Some(b), Some(a)) = (made.pop(), made.pop()) else { unreachable!("a layer of two values") };
        self.sparse_sum(node, a, &b)
    }

    /// The values along an axis, one behind the other.
    fn concatenate(&mut self, node: &Node<'a>, values: Vec<Value<'a>>) -> Result<Value<'a>, FormatError> {
        let Some(first) = values.first() else { return Err(node.malformed("it has no inputs")) };
        let axis = shape::resolve(node.integer("axis", 1)?, first.dims.len(), false)
            .map_err(|reason| node.malformed(reason))?;
        let shapes: Vec<&[usize]> = values.iter().map(|value| value.dims.as_slice()).collect();
        let dims = shape::side_by_side(&shapes, axis).map_err(|reason| node.malformed(reason))?;
        self.budget.entries(node, shape::count(&dims).unwrap_or(usize::MAX), 1)?;
        let source = shape::interleaved(&shapes, axis);
        Ok(self.stack(node, values)?.select(dims, &source))
    }

    /// The values below each other, in a list.
    pub(super) fn stack(
        &mut self,
        node: &Node<'a>,
        values: Vec<Value<'a>>,
    ) -> Result<Value<'a>, FormatError> {
        let mut all = Value::new(vec![], Map::Rows(Rows::constants(self.layers.width(), &[])));
        values.iter().for_each(|value| all.inherit(value));
        let count: usize = values.iter().map(|value| value.map.output()).sum();
        all.dims = vec![count];
        if values.iter().any(|value| value.map.has_matrix()) {
            let stored = values.iter().fold(0usize, |sum, value| sum.saturating_add(value.map.stored()));
            self.budget.matrix(node, (count, self.layers.width()), stored)?;
            let (mut rows, mut bias) = (SparseMatrix::new(self.layers.width()), Vec::with_capacity(count));
            for value in values {
                self.budget.stored(node, value.map.stored().saturating_mul(2))?;
                self.budget.operations(node, value.map.slow_products())?;
                let (weight, terms, is_exact) = value.map.into_matrix();
                all.rounded |= !is_exact;
                weight.iter_rows().for_each(|row| rows.push_row(row.map(|(j, &w)| (j, w))));
                bias.extend(terms);
            }
            all.map = Map::Plain(Affine::product(rows.into(), bias));
            return Ok(all);
        }
        let taken: Option<Vec<Vec<usize>>> = values.iter().map(|value| value.map.taken()).collect();
        if let Some(taken) = taken {
            all.map = Map::Plain(Affine::selection(self.layers.width(), taken.concat()));
            return Ok(all);
        }
        let mut rows = Rows::constants(self.layers.width(), &[]);
        for value in &values {
            let own = value.map.rows().expect("no matrix is in it");
            self.budget.operations(node, own.entries())?;
            rows.append(own);
        }
        all.map = Map::Rows(rows);
        Ok(all)
    }
}

/// The sum of two matrices, if all of its entries are doubles.
fn exact_matrix_sum(a: &Weights, b: &Weights) -> Option<Weights> {
    if let (Weights::Dense(a), Weights::Dense(b)) = (a, b) {
        let sums = exact_sums(a.entries(), b.entries())?;
        return Matrix::from_entries(a.rows(), a.cols(), sums).map(Weights::Dense);
    }
    let mut total = SparseMatrix::with_capacity(a.cols(), a.rows(), a.stored().len() + b.stored().len());
    for (row, other) in a.iter_rows().zip(b.iter_rows()) {
        let mut terms: Vec<(usize, f64)> = row.chain(other).map(|(j, &w)| (j, w)).collect();
        terms.sort_by_key(|(j, _)| *j);
        let mut sums: Vec<(usize, f64)> = Vec::with_capacity(terms.len());
        for (j, w) in terms {
            match sums.last_mut() {
                Some((last, sum)) if *last == j => *sum = exact_sum(*sum, w)?,
                _ => sums.push((j, w)),
            }
        }
        total.push_row(sums);
    }
    Some(total.into())
}

fn exact_sum(a: f64, b: f64) -> Option<f64> {
    let (sum, error) = two_sum(a, b);
    (error == 0.0 && sum.is_finite()).then_some(sum)
}

/// The sums of two lists, if all of them are doubles.
fn exact_sums(a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
    a.iter().zip(b).map(|(&a, &b)| exact_sum(a, b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_round_are_refused() {
        assert_eq!(exact_sums(&[0.5, 1.0], &[0.25, f64::EPSILON]), Some(vec![0.75, 1.0 + f64::EPSILON]));
        assert_eq!(exact_sums(&[1.0], &[1e-30]), None);
    }
}
