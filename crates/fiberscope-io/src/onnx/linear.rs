//! `Gemm`, `MatMul`, `BatchNormalization` and sums along axes.
//!
//! With a constant `W` (`n x k`) acting along one axis of a value of shape `(a, k, c)`, the flattened
//! map is `I_a (x) W (x) I_c`; for a single input row or column (`a = c = 1`) it is `W` itself.

use fiberscope_core::{Matrix, Rational, SparseMatrix, Weights};

use super::affine::exact;
use super::lowering::{Lowering, Site};
use super::proto::Node;
use super::shape;
use crate::FormatError;

impl<'a> Lowering<'_, 'a> {
    /// `alpha A B + beta C` with the value as `A`.
    pub(super) fn gemm(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        if self.hand.dims.len() > 2 && self.hand.dims[0] == 1 {
            let found = shape::show(&self.hand.dims);
            self.layers.notes.push(format!("{node}: its input of shape {found} is read as one row"));
            self.hand.dims = vec![1, self.width()];
        }
        if node.integer("transA", 0)? != 0 && self.hand.dims.len() == 2 {
            self.budget.entries(node, self.width(), 1)?;
            let (dims, source) =
                shape::transpose(&self.hand.dims, None).map_err(|reason| node.malformed(reason))?;
            if let Some(source) = source {
                self.hand.map.select(&source);
            }
            self.hand.dims = dims;
        }
        let &[rows, inner] = self.hand.dims.as_slice() else {
            let found = shape::show(&self.hand.dims);
            return Err(node.malformed(format!("expected an input with 2 dimensions, found shape {found}")));
        };
        let (dims, values) = self.floats(site, 1)?;
        let transposed = node.integer("transB", 0)? != 0;
        let (expected, cols) = match (dims.as_slice(), transposed) {
            (&[n, k], true) | (&[k, n], false) => (k, n),
            _ => return Err(node.malformed(format!("expected a matrix, found shape {}", shape::show(&dims)))),
        };
        check_inner(node, expected, inner)?;
        let stored = Matrix::from_entries(dims[0], dims[1], values).expect("the tensor's size was checked");
        let weight = if transposed { stored } else { self.transposed(node, &stored)? };
        let weight = self.repeat(node, rows, weight, 1)?;
        self.multiply(node, weight, vec![rows, cols])?;

        let (alpha, beta) = (finite(node, "alpha")?, finite(node, "beta")?);
        if alpha != 1.0 {
            self.scale(node, &vec![exact(alpha); self.width()])?;
        }
        if site.input(2).is_some() {
            let addend = self.floats(site, 2)?;
            let dims = self.hand.dims.clone();
            if shape::broadcast(&addend.0, &dims).as_ref() != Ok(&dims) {
                let (found, expected) = (shape::show(&addend.0), shape::show(&dims));
                return Err(node.malformed(format!("its bias has shape {found}; expected {expected}")));
            }
            let terms = self.broadcast(node, addend, &dims)?;
            if beta == 1.0 {
                self.add(node, terms)?;
            } else {
                let beta = exact(beta);
                self.shift(node, &terms.into_iter().map(|term| &exact(term) * &beta).collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }

    /// The product with a constant on the right (rows) or on the left (columns).
    pub(super) fn matmul(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        let value_is_left = site.data_is_left()?;
        let (dims, values) = self.floats(site, usize::from(value_is_left))?;
        let (lead, own) = dims.split_at(dims.len().saturating_sub(2));
        if lead.iter().any(|&dim| dim != 1) {
            return self.batched_matmul(node, value_is_left, &dims, &values);
        }
        // A vector is a column on the right and a row on the left, and leaves no dimension behind.
        let (rows, cols, keeps) = match (own, value_is_left) {
            (&[rows, cols], _) => (rows, cols, true),
            (&[length], true) => (length, 1, false),
            (&[length], false) => (1, length, false),
            _ => return Err(node.malformed("it multiplies by a single number; expected a matrix")),
        };
        let stored = Matrix::from_entries(rows, cols, values).expect("the tensor's size was checked");
        let (outer, inner, after) = self.split_for_matmul(value_is_left)?;
        let (weight, expected) =
            if value_is_left { (self.transposed(node, &stored)?, rows) } else { (stored, cols) };
        check_inner(node, expected, inner)?;
        let new = if keeps { vec![weight.rows()] } else { vec![] };
        // The dimensions in front of the matrix: those before the rows, or before the columns.
        let own = if value_is_left { outer.len().saturating_sub(1) } else { outer.len() };
        let padding = vec![1; lead.len().saturating_sub(own)];
        let dims = [padding, outer.clone(), new, after.clone()].concat();
        let (before, after) = (shape::count(&outer), shape::count(&after));
        let weight = self.repeat(node, before.unwrap_or(usize::MAX), weight, after.unwrap_or(usize::MAX))?;
        self.multiply(node, weight, dims)
    }

    /// One matrix for each of several blocks of the value.
    fn batched_matmul(
        &mut self,
        node: &Node,
        value_is_left: bool,
        dims: &[usize],
        values: &[f64],
    ) -> Result<(), FormatError> {
        let own = self.hand.dims.clone();
        if own.len() < 2 {
            return Err(node.unsupported("it multiplies a list by several matrices"));
        }
        let (own_lead, own_last) = own.split_at(own.len() - 2);
        let (lead, last) = dims.split_at(dims.len() - 2);
        let blocks = shape::broadcast(own_lead, lead).map_err(|reason| node.malformed(reason))?;
        let (&[a, b], &[c, d]) = (own_last, last) else { unreachable!("two dimensions each") };
        let (rows, inner, cols) = if value_is_left { (a, b, d) } else { (c, d, b) };
        check_inner(node, if value_is_left { c } else { d }, if value_is_left { b } else { a })?;
        self.spread(node, &[&blocks[..], own_last].concat())?;
        let count = shape::count(&blocks).unwrap_or(usize::MAX);
        let height = count.saturating_mul(rows).saturating_mul(cols);
        self.budget.matrix(node, (height, self.hand.map.output()), height.saturating_mul(inner))?;
        let which = shape::broadcast_source(lead, &blocks);
        let mut weight = SparseMatrix::with_capacity(self.width(), height, height * inner);
        for (block, at) in which.into_iter().enumerate() {
            for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
                weight.push_row((0..inner).map(|t| {
                    let (column, entry) = match value_is_left {
                        true => ((block * rows + i) * inner + t, (at * inner + t) * cols + j),
                        false => ((block * inner + t) * cols + j, (at * rows + i) * inner + t),
                    };
                    (column, values[entry])
                }));
            }
        }
        self.multiply(node, weight, [&blocks[..], &[rows, cols]].concat())
    }

    /// `ReduceSum` and `ReduceMean`.
    pub(super) fn reduce(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        let (dims, groups) = self.reduced_groups(site)?;
        self.budget.matrix(node, (groups.len(), self.width()), self.width())?;
        let mut weight = SparseMatrix::with_capacity(self.width(), groups.len(), self.width());
        groups.iter().for_each(|group| weight.push_row(group.iter().map(|&column| (column, 1.0))));
        self.multiply(node, weight, dims)?;
        if node.operator == "ReduceMean" {
            let size = groups.first().map_or(1, Vec::len);
            let part = Rational::from(i64::try_from(size).unwrap_or(i64::MAX)).recip();
            self.scale_all(node, &part.unwrap_or(Rational::ONE))?;
        }
        Ok(())
    }

    /// `CumSum`: sums of the entries before along an axis.
    pub(super) fn cumulate(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        let dims = self.hand.dims.clone();
        let axis = self.integers(site, 1)?.and_then(|list| list.first().copied());
        let axis = axis.ok_or_else(|| node.malformed("it has no axis"))?;
        let axis = shape::resolve(axis, dims.len(), false).map_err(|reason| node.malformed(reason))?;
        let (leaves_out, reverse) = (node.integer("exclusive", 0)? != 0, node.integer("reverse", 0)? != 0);
        let (size, stride) = (dims[axis], dims[axis + 1..].iter().product::<usize>());
        let width = self.width();
        let entries = width.saturating_mul(size.saturating_add(1)) / 2;
        self.budget.matrix(node, (width, width), entries)?;
        let mut weight = SparseMatrix::with_capacity(width, width, entries);
        for at in 0..width {
            let (place, start) = (at / stride % size, at - at / stride % size * stride);
            let terms = match (reverse, leaves_out) {
                (false, false) => 0..place + 1,
                (false, true) => 0..place,
                (true, false) => place..size,
                (true, true) => place + 1..size,
            };
            weight.push_row(terms.map(|term| (start + term * stride, 1.0)));
        }
        self.multiply(node, weight, dims)
    }

    /// The shape after a reduction of the value at hand, and for each entry the entries that it is made of.
    pub(super) fn reduced_groups(
        &mut self,
        site: &Site<'a>,
    ) -> Result<(Vec<usize>, Vec<Vec<usize>>), FormatError> {
        let dims = self.hand.dims.clone();
        self.groups_of(site, &dims)
    }

    /// The shape after a reduction of a tensor of shape `dims`, and for each entry the entries that it is made of.
    pub(super) fn groups_of(
        &mut self,
        site: &Site<'a>,
        dims: &[usize],
    ) -> Result<(Vec<usize>, Vec<Vec<usize>>), FormatError> {
        let node = &site.node;
        let count = shape::count(dims).unwrap_or(usize::MAX);
        let axes = match node.integers("axes")? {
            Some(axes) => Some(axes),
            None => self.integers(site, 1)?,
        };
        let axes = axes.filter(|axes| !axes.is_empty());
        if axes.is_none() && node.integer("noop_with_empty_axes", 0)? != 0 {
            self.budget.entries(node, count, 2)?;
            return Ok((dims.to_vec(), (0..count).map(|i| vec![i]).collect()));
        }
        let mut is_reduced = vec![axes.is_none(); dims.len()];
        for axis in axes.unwrap_or_default() {
            let axis = shape::resolve(axis, dims.len(), false).map_err(|reason| node.malformed(reason))?;
            is_reduced[axis] = true;
        }
        self.budget.entries(node, count, 2)?;
        let one = |(&dim, &gone): (&usize, &bool)| if gone { 1 } else { dim };
        let kept: Vec<usize> = dims.iter().zip(&is_reduced).map(one).collect();
        let place = shape::broadcast_source(&kept, dims);
        let mut groups = vec![Vec::new(); shape::count(&kept).unwrap_or(0)];
        place.into_iter().enumerate().for_each(|(entry, group)| groups[group].push(entry));
        let result = match node.integer("keepdims", 1)? {
            0 => kept.iter().zip(&is_reduced).filter(|(_, gone)| !**gone).map(|(&dim, _)| dim).collect(),
            _ => kept,
        };
        Ok((result, groups))
    }

    /// The value's dimensions before, at, and after the axis along which a matrix acts.
    fn split_for_matmul(&self, value_is_left: bool) -> Result<(Vec<usize>, usize, Vec<usize>), FormatError> {
        let axis = match (self.hand.dims.len(), value_is_left) {
            (0, _) => return Err(FormatError::malformed("a single number cannot be multiplied by a matrix")),
            (1, _) => 0,
            (rank, true) => rank - 1,
            (rank, false) => rank - 2,
        };
        Ok((self.hand.dims[..axis].to_vec(), self.hand.dims[axis], self.hand.dims[axis + 1..].to_vec()))
    }

    fn transposed(&mut self, node: &Node, matrix: &Matrix) -> Result<Matrix, FormatError> {
        self.budget.entries(node, matrix.cols(), matrix.rows())?;
        Ok(matrix.transpose())
    }

    /// `I_outer (x) weight (x) I_inner`.
    fn repeat(
        &mut self,
        node: &Node,
        outer: usize,
        weight: Matrix,
        inner: usize,
    ) -> Result<Weights, FormatError> {
        let copies = outer.saturating_mul(inner);
        if copies == 1 {
            return Ok(weight.into());
        }
        let (rows, cols) = (weight.rows(), weight.cols());
        let (all_rows, all_cols) = (rows.saturating_mul(copies), cols.saturating_mul(copies));
        self.budget.matrix(node, (all_rows, all_cols), all_rows.saturating_mul(cols))?;
        let mut result = SparseMatrix::with_capacity(all_cols, all_rows, all_rows * cols);
        for (a, row) in (0..outer).flat_map(|a| weight.iter_rows().map(move |row| (a, row))) {
            for c in 0..inner {
                let entries = row.iter().enumerate();
                result.push_row(entries.map(|(j, &entry)| ((a * cols + j) * inner + c, entry)));
            }
        }
        Ok(result.into())
    }

    /// `gamma (x - mean) / sqrt(variance + epsilon) + beta` for each channel. The factor of `x` is
    /// irrational in general: it is rounded to a double first, and the rest is exact.
    pub(super) fn batch_normalization(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        let trains = match (self.graph.is_before(7), self.graph.is_before(14)) {
            (true, _) => node.integer("is_test", 0)? == 0,
            // Versions 7 to 13 train where the means of the batch are asked for.
            (_, true) => node.outputs().count() > 1,
            _ => node.integer("training_mode", 0)? != 0,
        };
        if trains {
            return Err(node.unsupported("it is in training mode; export the model for inference"));
        }
        let &[_, channels, ..] = self.hand.dims.as_slice() else {
            let found = shape::show(&self.hand.dims);
            return Err(node.malformed(format!("expected an input with channels, found shape {found}")));
        };
        // Before version 9 every entry could have numbers of its own.
        let each = self.graph.is_before(9) && node.integer("spatial", 1)? == 0;
        let expected = if each { self.hand.dims[1..].to_vec() } else { vec![channels] };
        let channels = shape::count(&expected).unwrap_or(channels);
        let [gamma, beta, mean, variance] = self.per_channel(site, &expected)?;
        let epsilon = f64::from(node.float("epsilon", 1e-5)?);
        let mut all_exact = true;
        let (mut scale, mut shift) = (Vec::with_capacity(channels), Vec::with_capacity(channels));
        for (c, (&gamma, &variance)) in gamma.iter().zip(&variance).enumerate() {
            let (factor, is_exact) = quotient_by_root(gamma, variance, epsilon).ok_or_else(|| {
                node.malformed(format!("channel {} has variance {variance} + {epsilon}", c + 1))
            })?;
            all_exact &= is_exact;
            shift.push(&exact(beta[c]) - &(&exact(mean[c]) * &exact(factor)));
            scale.push(exact(factor));
        }
        let (width, per_channel) = (self.width(), self.width() / channels / self.hand.dims[0]);
        self.budget.entries(node, width, 2)?;
        let spread = |list: &[Rational]| {
            (0..width).map(|entry| list[entry / per_channel % channels].clone()).collect::<Vec<_>>()
        };
        self.scale(node, &spread(&scale))?;
        self.shift(node, &spread(&shift))?;
        if !all_exact {
            self.mark_rounded(node);
        }
        Ok(())
    }

    /// The inputs 2 to 5 of the node, each with one number per channel (or entry).
    fn per_channel(&mut self, site: &Site<'a>, expected: &[usize]) -> Result<[Vec<f64>; 4], FormatError> {
        let mut parameters = [const { Vec::new() }; 4];
        for (at, parameter) in parameters.iter_mut().enumerate() {
            let (dims, values) = self.floats(site, at + 1)?;
            if dims != expected {
                let found = format!("input {} has shape {}", at + 2, shape::show(&dims));
                let expected = shape::show(expected);
                return Err(site
                    .node
                    .malformed(format!("{found}; expected {expected} (one number per channel)")));
            }
            *parameter = values;
        }
        Ok(parameters)
    }
}

/// The double nearest to `gamma / sqrt(variance + epsilon)` (to within a relative `2^-100` before
/// rounding), and whether it is exact; `None` if the root is not positive or the quotient too large.
fn quotient_by_root(gamma: f64, variance: f64, epsilon: f64) -> Option<(f64, bool)> {
    let square = &exact(variance) + &Rational::from_f64(epsilon)?;
    let root = exact(square.to_f64().max(0.0).sqrt());
    let remainder = &square - &(&root * &root);
    let doubled = (&root + &root).recip()?;
    let refined = &root + &(&remainder * &doubled);
    let quotient = &exact(gamma) / &refined;
    let rounded = quotient.to_f64();
    rounded.is_finite().then(|| (rounded, remainder.is_zero() && quotient.is_f64()))
}

fn check_inner(node: &Node, expected: usize, found: usize) -> Result<(), FormatError> {
    if expected == found {
        return Ok(());
    }
    Err(node.malformed(format!("its matrix takes {expected} inputs, but the value before it has {found}")))
}

fn finite(node: &Node, attribute: &str) -> Result<f64, FormatError> {
    let value = node.float(attribute, 1.0)?;
    if value.is_finite() {
        return Ok(value.into());
    }
    Err(node.malformed(format!("{attribute} is {value}; expected a finite number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots() {
        assert_eq!(quotient_by_root(3.0, 4.0, 0.0), Some((1.5, true)));
        let (factor, is_exact) = quotient_by_root(1.0, 2.0, 0.0).unwrap();
        assert_eq!((factor, is_exact), (std::f64::consts::FRAC_1_SQRT_2, false));
        assert_eq!(quotient_by_root(1.0, -1.0, 1e-5), None);
        assert_eq!(quotient_by_root(1.0, 0.0, f64::NAN), None);
    }
}
