//! A fiber `mu^{-1}(W)` up to a change of coordinates: the widths and the rank of `W`.
//!
//! For invertible `A, B` the fibers of `W` and `A W B` correspond under `W_L -> A W_L`, `W_1 -> W_1 B`, so
//! the strata, their dimensions and the dag depend on `W` only through its rank.

use super::widths::check_widths;
use super::{Bar, Barcode, LinearError};

/// The widths `d_0, ..., d_L` (at least two, all at least 1) and the rank `rho <= min d_j` of the product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductFiber {
    widths: Vec<usize>,
    rank: usize,
}

impl ProductFiber {
    /// The fiber for these widths and this rank of the product, if it is not empty.
    pub fn new(widths: Vec<usize>, rank: usize) -> Result<Self, LinearError> {
        check_widths(&widths)?;
        let narrowest = widths.iter().copied().min().unwrap_or(0);
        if rank > narrowest {
            return Err(LinearError::RankTooLarge { rank, width: narrowest });
        }
        Ok(ProductFiber { widths, rank })
    }

    /// The widths `d_0, ..., d_L`.
    pub fn widths(&self) -> &[usize] {
        &self.widths
    }

    /// The rank `rho` of the product.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number `L` of matrices.
    pub fn depth(&self) -> usize {
        self.widths.len() - 1
    }

    /// The number of weights, `d_theta = sum_j d_j d_{j-1}`.
    pub fn parameter_count(&self) -> u64 {
        self.widths.windows(2).map(|pair| pair[0] as u64 * pair[1] as u64).sum()
    }

    /// `rho (d_0 + d_L - rho)`, the dimension of the set of matrices of rank `rho`.
    pub fn product_dimension(&self) -> u64 {
        let (first, last) = (self.widths[0] as u64, self.widths[self.depth()] as u64);
        let rank = self.rank as u64;
        rank * (first + last - rank)
    }

    /// The barcode of the one stratum in the closure of all others: `rho` bars `[0, L]`, the rest points.
    pub fn minimum(&self) -> Barcode {
        let mut barcode = Barcode::empty(self.depth());
        barcode.set(Bar { start: 0, end: self.depth() }, self.rank);
        for (layer, width) in self.widths.iter().enumerate() {
            let point = Bar { start: layer, end: layer };
            barcode.set(point, barcode.get(point) + width - self.rank);
        }
        barcode
    }

    /// `e`, if the whole fiber has `2^e` connected components: the number of hidden layers of width
    /// `rho` if `rho > 0`, else 0.
    ///
    /// Cuts lead from every point down to the minimal stratum, which has that many components; the
    /// sign of the determinant of `W_{j~0}` on the row space of `W` is constant if `d_j = rho`.
    pub fn component_exponent(&self) -> u32 {
        let hidden = &self.widths[1..self.depth()];
        if self.rank == 0 { 0 } else { hidden.iter().filter(|&&width| width == self.rank).count() as u32 }
    }

    /// The number of hidden neurons, `d_1 + ... + d_{L-1}`: with biases, every stratum is a product
    /// with a space of that dimension.
    pub fn bias_dimension(&self) -> u64 {
        self.widths[1..self.depth()].iter().map(|&width| width as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(widths: &[usize], rank: usize, expected: &str) {
        assert_eq!(ProductFiber::new(widths.to_vec(), rank).unwrap_err().to_string(), expected);
    }

    #[test]
    fn bad_widths_and_ranks_are_refused() {
        refused(&[3], 0, "expected at least two widths (input and output), found 1");
        refused(&[3, 0, 2], 0, "width 1 is 0; expected at least 1");
        refused(
            &[3, 2, 4],
            3,
            "rank 3 is larger than the smallest width 2; no product of these widths has it",
        );
        refused(&[1 << 20, 2], 0, "width 0 is 1048576; expected at most 65535");
        refused(&[1; 200], 0, "199 matrices are more than the 120 that are supported");
    }

    #[test]
    fn the_minimum_has_the_least_ranks() {
        let fiber = ProductFiber::new(vec![4, 6, 5], 1).unwrap();
        let ranks = fiber.minimum().rank_list();
        assert_eq!(ranks.widths(), fiber.widths());
        assert_eq!(ranks.rows(), [vec![1], vec![1, 1]]);
    }
}
