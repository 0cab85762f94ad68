//! Rank lists `r_{k~i} = rk W_k ... W_{i+1}` and when a network has them.
//!
//! ```text
//! omega_{ki} = r_{k~i} - r_{k+1~i} - r_{k~i-1} + r_{k+1~i-1}      (r = 0 for k = L + 1 and for i = -1)
//! ```
//!
//! Some network has the ranks iff all `omega_{ki} >= 0`: inside, this is Frobenius' inequality; at the
//! borders, monotonicity of rank [shewchuk2024geometry].

use super::widths::check_widths;
use super::{Bar, Barcode, LinearError};

/// The ranks of all products of consecutive matrices of some network.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RankList {
    widths: Vec<usize>,
    /// `r_{k~i}` at `k (k - 1) / 2 + i`, `0 <= i < k <= L`.
    ranks: Vec<usize>,
}

impl Barcode {
    /// The ranks `r_{k~i} = sum of omega_{ts} over s <= i and t >= k`: bars that touch both layers.
    pub fn rank_list(&self) -> RankList {
        let depth = self.depth();
        let touching = |k: usize, i: usize| {
            self.bars().filter(|(bar, _)| bar.start <= i && bar.end >= k).map(|(_, count)| count).sum()
        };
        let ranks = (1..=depth).flat_map(|k| (0..k).map(move |i| (k, i))).map(|(k, i)| touching(k, i));
        RankList { widths: self.widths(), ranks: ranks.collect() }
    }
}

impl RankList {
    /// The rank list with these rows: row `k - 1` is `r_{k~0}, ..., r_{k~k-1}`. Fails if no network
    /// has these ranks.
    pub fn from_rows(widths: &[usize], rows: &[Vec<usize>]) -> Result<Self, LinearError> {
        check_widths(widths)?;
        let depth = widths.len() - 1;
        let shape = |row: usize, found: usize| LinearError::RankListShape { depth, row, found };
        if rows.len() != depth {
            return Err(shape(rows.len() + 1, 0));
        }
        if let Some(row) = (0..depth).find(|&row| rows[row].len() != row + 1) {
            return Err(shape(row + 1, rows[row].len()));
        }
        Self::from_flat(widths, rows.concat())
    }

    /// As [`RankList::from_rows`], with the rows one after the other.
    pub fn from_flat(widths: &[usize], ranks: Vec<usize>) -> Result<Self, LinearError> {
        check_widths(widths)?;
        let depth = widths.len() - 1;
        if ranks.len() != depth * (depth + 1) / 2 {
            return Err(LinearError::RankListShape { depth, row: depth, found: ranks.len() });
        }
        let list = RankList { widths: widths.to_vec(), ranks };
        list.try_barcode()?;
        Ok(list)
    }

    /// The widths `d_0, ..., d_L`.
    pub fn widths(&self) -> &[usize] {
        &self.widths
    }

    /// The number `L` of matrices.
    pub fn depth(&self) -> usize {
        self.widths.len() - 1
    }

    /// `r_{k~i}` for `0 <= i <= k <= L`.
    pub fn get(&self, k: usize, i: usize) -> usize {
        if k == i { self.widths[k] } else { self.ranks[k * (k - 1) / 2 + i] }
    }

    /// The rank `rho = r_{L~0}` of the product.
    pub fn product_rank(&self) -> usize {
        self.get(self.depth(), 0)
    }

    /// All `r_{k~i}`, `i < k`, one row after the other.
    pub fn flat(&self) -> &[usize] {
        &self.ranks
    }

    /// The rows `r_{k~0}, ..., r_{k~k-1}` for `k = 1, ..., L`.
    pub fn rows(&self) -> Vec<Vec<usize>> {
        (1..=self.depth()).map(|k| (0..k).map(|i| self.get(k, i)).collect()).collect()
    }

    /// Whether every rank is at most that of `other`: the stratum lies in the closure of the other's.
    pub fn is_below(&self, other: &RankList) -> bool {
        self.widths == other.widths && self.ranks.iter().zip(&other.ranks).all(|(r, s)| r <= s)
    }

    /// The barcode with these ranks.
    pub fn barcode(&self) -> Barcode {
        self.try_barcode().expect("a rank list has nonnegative multiplicities")
    }

    fn try_barcode(&self) -> Result<Barcode, LinearError> {
        let depth = self.depth();
        // r_{k~i-1}, zero beyond the borders; ranks above every width are as wrong when cut off.
        let cut_off = |rank: usize| u32::try_from(rank).unwrap_or(u32::MAX);
        let rank =
            |k: usize, i: usize| if k > depth || i == 0 { 0 } else { i64::from(cut_off(self.get(k, i - 1))) };
        let mut barcode = Barcode::empty(depth);
        for end in 0..=depth {
            for start in 0..=end {
                let alive_longer = rank(end + 1, start + 1) - rank(end + 1, start);
                let count = rank(end, start + 1) - rank(end, start) - alive_longer;
                let bar = Bar { start, end };
                if count < 0 {
                    return Err(LinearError::NegativeMultiplicity { bar, count });
                }
                barcode.set(bar, count as usize);
            }
        }
        Ok(barcode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frobenius_inequality_is_needed() {
        // Two rank-2 maps through a plane cannot multiply to 1.
        let error = RankList::from_rows(&[2, 2, 2], &[vec![2], vec![1, 2]]).unwrap_err();
        assert_eq!(error.to_string(), "no network has these ranks: they need -1 bars [1, 1]");
        let error = RankList::from_rows(&[2, 2, 2], &[vec![1], vec![2, 2]]).unwrap_err();
        assert!(matches!(error, LinearError::NegativeMultiplicity { .. }));
        let error = RankList::from_rows(&[2, 2], &[vec![1, 1]]).unwrap_err();
        assert_eq!(error.to_string(), "a rank list for 1 matrices has 1 rows of lengths 1 to 1; row 1 has 2");
    }

    #[test]
    fn ranks_and_bars_convert_both_ways() {
        let list = RankList::from_rows(&[3, 2, 3], &[vec![1], vec![1, 2]]).unwrap();
        assert_eq!(list.barcode().to_string(), "[0,0]x2 [0,2] [1,2] [2,2]");
        assert_eq!(list.barcode().rank_list(), list);
    }
}
