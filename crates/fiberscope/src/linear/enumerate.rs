//! All strata of a fiber, listed in lexicographic order of their flattened rank lists.
//!
//! Filling `r_{1~0}, r_{2~0}, r_{2~1}, r_{3~0}, ...` in this order, with `r_{k~-1} = 0`, an entry can be
//! anything in
//!
//! ```text
//! r_{k~i-1} <= r_{k~i} <= min(d_k, r_{k~i-1} + r_{k-1~i} - r_{k-1~i-1}),   rho <= r_{k~0},   r_{L~0} = rho
//! ```
//!
//! (survivors of the class of bars born at `i`), and the smallest choice can always be continued. So the
//! list is an odometer without dead ends.

use super::{LinearError, ProductFiber, RankList, Stratum, count_strata};
use crate::limit::{Deadline, LimitReached};

/// When to stop listing strata: by default at [`StratumOptions::MOST`] strata, however long they take.
///
/// ```
/// use std::time::Duration;
///
/// use fiberscope::Deadline;
/// use fiberscope::linear::StratumOptions;
///
/// let options = StratumOptions::new().strata(1000).deadline(Deadline::after(Some(Duration::from_secs(60))));
/// assert_eq!(options.strata, 1000);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StratumOptions {
    /// The most strata.
    pub strata: usize,
    /// When the time is up.
    pub deadline: Deadline,
}

impl Default for StratumOptions {
    fn default() -> Self {
        StratumOptions { strata: StratumOptions::MOST, deadline: Deadline::NEVER }
    }
}

impl StratumOptions {
    /// More strata are not listed unasked.
    pub const MOST: usize = 1_000_000;

    /// The default.
    pub fn new() -> Self {
        Self::default()
    }

    /// The most strata.
    pub fn strata(self, strata: usize) -> Self {
        StratumOptions { strata, ..self }
    }

    /// When the time is up.
    pub fn deadline(self, deadline: Deadline) -> Self {
        StratumOptions { deadline, ..self }
    }

    /// Fails if the time is up, with the number of strata listed so far.
    pub(super) fn check_time(&self, listed: usize) -> Result<(), LinearError> {
        match self.deadline.limit() {
            Some(limit) => Err(LimitReached { limit, when: format!("after listing {listed} strata") }.into()),
            None => Ok(()),
        }
    }
}

/// Strata listed between looks at the clock.
const CLOCK: usize = 4096;

/// The rank lists of all strata of a fiber, sorted, two bytes for a rank.
#[derive(Clone, Debug)]
pub struct StratumTable {
    fiber: ProductFiber,
    stride: usize,
    ranks: Vec<u16>,
}

impl StratumTable {
    /// Lists the strata of a fiber; fails with their number if there are more than allowed.
    pub fn enumerate(fiber: &ProductFiber, options: &StratumOptions) -> Result<Self, LinearError> {
        let limit = options.strata;
        let depth = fiber.depth();
        let stride = depth * (depth + 1) / 2;
        let mut odometer = Odometer::new(fiber);
        let mut ranks = Vec::new();
        let mut len = 0;
        loop {
            if len == limit.min(u32::MAX as usize - 1) {
                let count = count_strata(fiber)
                    .map_or_else(|_| format!("more than {limit}"), |count| count.to_string());
                return Err(LinearError::TooManyStrata { count, limit });
            }
            if len.is_multiple_of(CLOCK) {
                options.check_time(len)?;
            }
            ranks.extend_from_slice(&odometer.ranks);
            len += 1;
            if !odometer.advance() {
                return Ok(StratumTable { fiber: fiber.clone(), stride, ranks });
            }
        }
    }

    /// The fiber.
    pub fn fiber(&self) -> &ProductFiber {
        &self.fiber
    }

    /// The number of strata.
    pub fn len(&self) -> usize {
        self.ranks.len() / self.stride
    }

    /// Whether there are no strata, which never happens.
    pub fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    /// The ranks of stratum `at`, flattened.
    pub fn flat(&self, at: usize) -> &[u16] {
        &self.ranks[at * self.stride..(at + 1) * self.stride]
    }

    /// Stratum `at`.
    pub fn stratum(&self, at: usize) -> Stratum {
        let ranks = self.flat(at).iter().map(|&rank| usize::from(rank)).collect();
        Stratum::new(
            RankList::from_flat(self.fiber.widths(), ranks).expect("the table holds valid rank lists"),
        )
    }

    /// The number of ranks in a list, `L (L + 1) / 2`.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }
}

/// The current rank list and, at every place, what bounds it.
struct Odometer<'a> {
    fiber: &'a ProductFiber,
    places: Vec<(usize, usize)>,
    ranks: Vec<u16>,
}

impl<'a> Odometer<'a> {
    fn new(fiber: &'a ProductFiber) -> Self {
        let places: Vec<_> = (1..=fiber.depth()).flat_map(|k| (0..k).map(move |i| (k, i))).collect();
        let mut odometer = Odometer { fiber, ranks: vec![0; places.len()], places };
        odometer.reset_from(0);
        odometer
    }

    /// Goes to the next rank list, if there is one.
    fn advance(&mut self) -> bool {
        for at in (0..self.ranks.len()).rev() {
            if self.ranks[at] < self.upper(at) {
                self.ranks[at] += 1;
                self.reset_from(at + 1);
                return true;
            }
        }
        false
    }

    fn reset_from(&mut self, first: usize) {
        for at in first..self.ranks.len() {
            let (_, i) = self.places[at];
            self.ranks[at] = if i == 0 { self.fiber.rank() as u16 } else { self.ranks[at - 1] };
        }
    }

    fn upper(&self, at: usize) -> u16 {
        let (k, i) = self.places[at];
        let (widths, rank) = (self.fiber.widths(), self.fiber.rank());
        if i == 0 && k == self.fiber.depth() {
            return rank as u16;
        }
        // Place (k - 1, i) is k - 1 places before (k, i).
        let before = |i: usize| usize::from(self.ranks[(k - 1) * (k - 2) / 2 + i]);
        let alive =
            if i + 1 == k { widths[k - 1] } else { before(i) } - if i == 0 { 0 } else { before(i - 1) };
        let left = if i == 0 { 0 } else { usize::from(self.ranks[at - 1]) };
        (left + alive).min(widths[k]) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enumerate(fiber: &ProductFiber, strata: usize) -> Result<StratumTable, LinearError> {
        StratumTable::enumerate(fiber, &StratumOptions::new().strata(strata))
    }

    #[test]
    fn sorted_valid_and_counted() {
        for (widths, rank) in
            [(vec![3, 4, 2, 5], 1), (vec![2, 2, 2, 2, 2], 0), (vec![4, 4], 2), (vec![1; 9], 0)]
        {
            let fiber = ProductFiber::new(widths, rank).unwrap();
            let table = enumerate(&fiber, 1 << 20).unwrap();
            assert_eq!(count_strata(&fiber).unwrap(), table.len().into());
            for at in 0..table.len() {
                assert_eq!(table.stratum(at).ranks().product_rank(), rank);
                assert!(at == 0 || table.flat(at - 1) < table.flat(at));
            }
        }
    }

    #[test]
    fn all_valid_rank_lists_are_there() {
        // Every list of numbers up to 2 is tried.
        let fiber = ProductFiber::new(vec![2, 1, 2, 2], 0).unwrap();
        let table = enumerate(&fiber, 1000).unwrap();
        let mut found = 0;
        for code in 0..3usize.pow(6) {
            let ranks: Vec<usize> = (0..6).map(|place| code / 3usize.pow(place) % 3).collect();
            let valid = RankList::from_flat(fiber.widths(), ranks).is_ok_and(|list| list.product_rank() == 0);
            found += usize::from(valid);
        }
        assert_eq!(table.len(), found);
    }

    #[test]
    fn the_limit_names_the_count() {
        let fiber = ProductFiber::new(vec![6, 6, 6, 6], 0).unwrap();
        let error = enumerate(&fiber, 100).unwrap_err();
        assert_eq!(error.to_string(), "the fiber has 714 strata, more than the limit of 100");
        assert!(enumerate(&fiber, 714).is_ok());
    }

    #[test]
    fn the_time_limit_names_what_was_listed() {
        let fiber = ProductFiber::new(vec![6, 6, 6, 6], 0).unwrap();
        let late = StratumOptions::new().deadline(Deadline::after(Some(std::time::Duration::ZERO)));
        let error = StratumTable::enumerate(&fiber, &late).unwrap_err();
        assert_eq!(error.to_string(), "the time limit was reached after listing 0 strata");
    }
}
