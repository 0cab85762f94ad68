//! Linear algebra modulo the prime `p = 2^61 - 1`.
//!
//! Rational numbers whose denominators `p` does not divide have residues, and sums and products of residues
//! are the residues of sums and products. A minor that is not zero modulo `p` is not zero, so the rank
//! modulo `p` is at most the rank: rows that are independent modulo `p` are independent. The converse holds
//! unless the prime is unlucky.

mod direct;
mod residue;

use fiberscope_core::{Matrix, Rational, mantissa_and_exponent};

pub use direct::rank_of_residues;
pub use residue::Residue;

use crate::{Echelon, Number};

/// Rows of the matrix, as many as its rank modulo `p`, the first ones where there is a choice.
/// They are independent for certain; they are a basis of the row space unless the prime is unlucky.
pub fn independent_rows(matrix: &Matrix<Rational>) -> Vec<usize> {
    let mut echelon = Echelon::default();
    let mut independent = Vec::new();
    for (i, row) in matrix.iter_rows().enumerate() {
        if echelon.rank() == matrix.cols() {
            break;
        }
        if row.iter().map(Residue::of).collect::<Option<_>>().is_some_and(|row| echelon.insert(row)) {
            independent.push(i);
        }
    }
    independent
}

/// The rank modulo `p` of a matrix of doubles whose rows are scaled to integers by powers of two, or that of
/// the rows that were looked at before it was late: a lower bound of the rank.
pub fn rank_of_doubles(matrix: &Matrix, is_late: &dyn Fn() -> bool) -> usize {
    let mut echelon = Echelon::default();
    for row in matrix.iter_rows() {
        if echelon.rank() == matrix.cols() || is_late() {
            break;
        }
        echelon.insert(integer_row(row));
    }
    echelon.rank()
}

/// The rank modulo `p` of sparse vectors (places and entries) after a random projection: a lower bound of
/// their rank. Vectors without residues are left out.
pub fn rank_of_sparse(vectors: &[Vec<(usize, Rational)>]) -> usize {
    let columns = vectors.len() + 8;
    let mut echelon = Echelon::default();
    for vector in vectors {
        let entry = |(place, x): &(usize, Rational)| Some((*place, Residue::of(x)?));
        let Some(entries) = vector.iter().map(entry).collect::<Option<Vec<_>>>() else { continue };
        let mut row = vec![Residue::ZERO; columns];
        for (place, x) in entries.into_iter().filter(|(_, x)| *x != Residue::ZERO) {
            row.iter_mut().enumerate().for_each(|(c, sum)| sum.add_product(&x, &projection(place, c)));
        }
        echelon.insert(row);
    }
    echelon.rank()
}

/// An entry of the random projection.
fn projection(place: usize, column: usize) -> Residue {
    let mut x = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (column as u64).wrapping_mul(0xd1b5_4a32_d192_ed03);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Residue::new(x ^ (x >> 31))
}

/// The row times a power of two that makes it integral.
fn integer_row(row: &[f64]) -> Vec<Residue> {
    let parts: Vec<(i64, i32)> = row.iter().map(|&x| mantissa_and_exponent(x)).collect();
    let least = parts.iter().filter(|(m, _)| *m != 0).map(|&(_, e)| e).min().unwrap_or(0);
    let entry = |&(mantissa, exponent): &(i64, i32)| match mantissa {
        0 => Residue::ZERO,
        _ => Residue::scaled(mantissa, (exponent - least) as u64),
    };
    parts.iter().map(entry).collect()
}
