//! The inner products of the neurons or channels of two networks: of what comes in, and of what goes out.
//!
//! Matrices of doubles are multiplied here and not by [`Scalar::product`](fiberscope_core::Scalar::product), because a
//! factor is transposed: writing that out takes a fifth of the product's time for 1,024 neurons.

use std::ops::Range;

use fiberscope_algebra::dense::fast_dot;
use fiberscope_core::{Layer, Matrix, SparseMatrix, Weights};
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};
use rayon::prelude::*;

use super::moved::Moved;
use super::units::{Class, Member};

/// The inner products of the channels of two networks, each the sum over the rows of its neurons.
#[derive(Clone)]
pub(super) struct Products {
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
    /// Of every channel of `a` (rows) with every one of `b` (columns).
    pub(super) both: Matrix,
}

impl Products {
    /// Of the rows and biases of a class.
    pub(super) fn incoming(class: &Class, a: &[Layer], b: &[Layer]) -> Self {
        let member = &class.members[0];
        let [a, b] = [a, b].map(|layers| &layers[member.layer]);
        let mut found = Products::new(class.channels());
        found.add(member, a.weights(), b.weights());
        found.add_biases(member, a.bias(), b.bias());
        found
    }

    /// Of the columns of a class in the layers behind it.
    pub(super) fn outgoing(class: &Class, a: &[Layer], b: &[Layer]) -> Self {
        let mut found = Products::new(class.channels());
        for member in &class.members {
            let copied = copied(class, member);
            let [a, b] = [a, b].map(|layers| layers[member.layer + 1].weights());
            match (a, b) {
                (Weights::Dense(a), Weights::Dense(b)) if copied.is_empty() && member.places() == 1 => {
                    found.add_columns(member, a, b);
                }
                _ => found.add(member, &transposed(a, &copied), &transposed(b, &copied)),
            }
        }
        found
    }

    /// The squares of the columns of a class, and the products of each with its own: all that is needed of the columns
    /// to see that nothing better is to be had. `None` where that is not simple.
    pub(super) fn outgoing_sizes(class: &Class, a: &[Layer], b: &[Layer]) -> Option<[Vec<f64>; 3]> {
        let mut found = [(); 3].map(|()| vec![0.0; class.channels()]);
        for member in &class.members {
            let [a, b] = [a, b].map(|layers| layers[member.layer + 1].weights());
            let (Weights::Dense(a), Weights::Dense(b)) = (a, b) else { return None };
            if !copied(class, member).is_empty() || member.places() != 1 {
                return None;
            }
            let columns = member.neurons();
            for (x, y) in a.iter_rows().zip(b.iter_rows()) {
                for (i, (x, y)) in x[columns.clone()].iter().zip(&y[columns.clone()]).enumerate() {
                    found[0][i] += x * x;
                    found[1][i] += y * y;
                    found[2][i] += x * y;
                }
            }
        }
        Some(found)
    }

    /// Permutes and scales the channels of `b`.
    pub(super) fn relabel(&mut self, moved: &Moved) {
        moved.columns_of(&mut self.both);
        moved.list(&mut self.b, 2);
    }

    /// What becomes of the products where some inputs or outputs of the channels of `b` change. The matrices have a
    /// row per channel if these are inputs (`incoming`), and a column otherwise.
    pub(super) fn shift(&mut self, a: &Matrix, old: &Matrix, new: &Matrix, incoming: bool) {
        let mut gaps = new.clone();
        let cols = gaps.cols().max(1);
        for (s, gap) in gaps.entries_mut().iter_mut().enumerate() {
            let x = old.entries()[s];
            self.b[if incoming { s / cols } else { s % cols }] += *gap * *gap - x * x;
            *gap -= x;
        }
        match incoming {
            true => add_product(view(a), view(&gaps).reversed_axes(), &mut self.both),
            false => add_product(view(a).reversed_axes(), view(&gaps), &mut self.both),
        }
    }

    fn new(count: usize) -> Self {
        let both = Matrix::from_fn(count, count, |_, _| 0.0);
        Products { a: vec![0.0; count], b: vec![0.0; count], both }
    }

    fn add_biases(&mut self, member: &Member, a: &[f64], b: &[f64]) {
        let places = member.places();
        let [a, b] = [a, b].map(|biases| &biases[member.neurons()]);
        for (sums, biases) in [(&mut self.a, a), (&mut self.b, b)] {
            let squares = biases.chunks(places).map(|of| of.iter().map(|x| x * x).sum::<f64>());
            sums.iter_mut().zip(squares).for_each(|(sum, square)| *sum += square);
        }
        for (i, of_a) in a.chunks(places).enumerate() {
            for (sum, of_b) in self.both.row_mut(i).iter_mut().zip(b.chunks(places)) {
                *sum += of_a.iter().zip(of_b).map(|(x, y)| x * y).sum::<f64>();
            }
        }
    }

    /// Adds the products of the columns that belong to the neurons of an image of single places.
    fn add_columns(&mut self, member: &Member, a: &Matrix, b: &Matrix) {
        let columns = member.neurons();
        for (sums, matrix) in [(&mut self.a, a), (&mut self.b, b)] {
            for row in matrix.iter_rows() {
                sums.iter_mut().zip(&row[columns.clone()]).for_each(|(sum, x)| *sum += x * x);
            }
        }
        let views = [a, b].map(|matrix| view(matrix));
        let [left, right] = views.map(|all| all.slice_move(ndarray::s![.., columns.clone()]));
        add_product(left.reversed_axes(), right, &mut self.both);
    }

    /// Adds the products of the rows that belong to the neurons of an image.
    fn add(&mut self, member: &Member, a: &Weights, b: &Weights) {
        let count = self.a.len();
        let squares = |sums: &mut Vec<f64>, rows: &Weights| {
            for (channel, sum) in sums.iter_mut().enumerate() {
                *sum += member.channel(channel).map(|neuron| square(rows, neuron)).sum::<f64>();
            }
        };
        squares(&mut self.a, a);
        squares(&mut self.b, b);
        if let (Weights::Dense(a), Weights::Dense(b)) = (a, b) {
            for place in 0..member.places() {
                let neurons =
                    ndarray::s![member.neurons().start + place..member.neurons().end;member.places(), ..];
                let [left, right] = [a, b].map(|matrix| view(matrix).slice_move(neurons));
                add_product(left, right.reversed_axes(), &mut self.both);
            }
            return;
        }
        let room = || vec![0.0; a.cols()];
        self.both.entries_mut().par_chunks_mut(count).enumerate().for_each_init(room, |dense, (i, sums)| {
            for (place, neuron) in member.channel(i).enumerate() {
                a.row(neuron).for_each(|(column, &entry)| dense[column] = entry);
                for (j, sum) in sums.iter_mut().enumerate() {
                    let other = b.row(member.channel(j).start + place);
                    *sum += other.map(|(column, entry)| entry * dense[column]).sum::<f64>();
                }
                a.row(neuron).for_each(|(column, _)| dense[column] = 0.0);
            }
        });
    }
}

/// The neurons of the next layer that are copies of those of a member.
fn copied(class: &Class, member: &Member) -> Vec<Range<usize>> {
    let copies = class.members.iter().filter(|copy| copy.layer == member.layer + 1);
    copies.map(Member::neurons).collect()
}

/// The square of a row.
fn square(rows: &Weights, row: usize) -> f64 {
    match rows {
        Weights::Dense(matrix) => fast_dot(matrix.row(row), matrix.row(row)),
        sparse => sparse.row(row).map(|(_, entry)| entry * entry).sum(),
    }
}

fn view(matrix: &Matrix) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape((matrix.rows(), matrix.cols()), matrix.entries())
        .expect("the entries fill the shape")
}

/// Adds a product to a matrix, on all threads of the current pool.
fn add_product(left: ArrayView2<f64>, right: ArrayView2<f64>, sums: &mut Matrix) {
    /// Rows that are worth a thread of their own.
    const ROWS: usize = 128;
    let columns = sums.cols().max(1);
    sums.entries_mut().par_chunks_mut(ROWS * columns).enumerate().for_each(|(chunk, rows)| {
        let (first, count) = (chunk * ROWS, rows.len() / columns);
        let mut out = ArrayViewMut2::from_shape((count, columns), rows).expect("the entries fill the shape");
        general_mat_mul(1.0, &left.slice(ndarray::s![first..first + count, ..]), &right, 1.0, &mut out);
    });
}

/// The columns of a matrix as rows, without the numbers in some of its rows.
fn transposed(weights: &Weights, without: &[Range<usize>]) -> Weights {
    let is_out = |row: usize| without.iter().any(|rows| rows.contains(&row));
    match weights {
        Weights::Dense(matrix) => {
            let mut matrix = matrix.clone();
            let rows: Vec<usize> = (0..matrix.rows()).filter(|&row| is_out(row)).collect();
            rows.into_iter().for_each(|row| matrix.row_mut(row).fill(0.0));
            Weights::Dense(matrix.transpose())
        }
        Weights::Sparse(matrix) => {
            let mut kept = SparseMatrix::new(matrix.cols());
            for row in 0..matrix.rows() {
                let entries = weights.row(row).filter(|_| !is_out(row));
                kept.push_row(entries.map(|(column, &entry)| (column, entry)));
            }
            Weights::Sparse(kept.transpose())
        }
    }
}
