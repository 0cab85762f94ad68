//! Ranks of small matrices of residues, many of them.

use fiberscope_core::residue::{PRIME, multiply, reduce};

/// The rank of a matrix of residues modulo `2^61 - 1`, row by row, by elimination without divisions.
///
/// A division modulo the prime takes 120 multiplications, more than a whole row of a small matrix; two rows
/// are multiplied crosswise instead. Measured against [`crate::Echelon`], which divides: 0.14 us instead of
/// 1.3 us for a matrix of 4 by 6, 2.5 us instead of 5.1 us for 12 by 16; from 30 by 30 on dividing is faster.
pub fn rank_of_residues(mut entries: Vec<u64>, cols: usize) -> usize {
    let rows = entries.len() / cols.max(1);
    let mut rank = 0;
    for col in 0..cols {
        let Some(pivot) = (rank..rows).find(|&i| entries[i * cols + col] != 0) else { continue };
        (0..cols).for_each(|j| entries.swap(rank * cols + j, pivot * cols + j));
        for i in rank + 1..rows {
            let (scale, factor) = (entries[rank * cols + col], entries[i * cols + col]);
            if factor != 0 {
                for j in col..cols {
                    let taken = multiply(factor, entries[rank * cols + j]);
                    let kept = u128::from(entries[i * cols + j]) * u128::from(scale);
                    entries[i * cols + j] = reduce(kept + u128::from(PRIME - taken));
                }
            }
        }
        rank += 1;
        if rank == rows {
            break;
        }
    }
    rank
}
