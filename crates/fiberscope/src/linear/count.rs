//! The number of strata of a fiber, without listing them.
//!
//! Bars `[0, L]` take part in no move, so `(d, rho)` has the strata of `(d - rho, 0)`. There, let `f_j(a)` be
//! the number of ways to choose the bars that end before layer `j` when `a_s` bars born at `s` are alive at
//! `j`, `a_0 + ... + a_j = d_j`. Survivors `s <= a` of any alive `a` are possible, so
//!
//! ```text
//! f_{j+1}(s_0, ..., s_j, d_{j+1} - sum s) = sum_{a >= s, sum a = d_j} f_j(a)
//! ```
//!
//! is a suffix sum over a simplex, one pass per coordinate. At the last layer no bar born at 0 survives,
//! and the others survive in `#{s <= (a_1, ..., a_{L-1}), sum s <= d_L}` ways.

use dashu_int::UBig;

use super::{LinearError, ProductFiber};

/// The most states of one layer.
const MAX_STATES: usize = 1 << 23;

/// The number of strata of a fiber; fails if the states do not fit into memory.
///
/// ```
/// use fiberscope::linear::{ProductFiber, count_strata};
///
/// let fiber = ProductFiber::new(vec![6, 6, 6, 6], 0)?;
/// assert_eq!(count_strata(&fiber)?, 714u32.into());
/// # Ok::<(), fiberscope::linear::LinearError>(())
/// ```
pub fn count_strata(fiber: &ProductFiber) -> Result<UBig, LinearError> {
    let widths: Vec<usize> = fiber.widths().iter().map(|width| width - fiber.rank()).collect();
    let backward: Vec<usize> = widths.iter().rev().copied().collect();
    // Transposing all matrices maps strata to strata.
    let (forward_states, backward_states) = (most_states(&widths), most_states(&backward));
    let (widths, states) =
        if backward_states < forward_states { (backward, backward_states) } else { (widths, forward_states) };
    if states > UBig::from(MAX_STATES) {
        return Err(LinearError::TooManyStates { states, limit: MAX_STATES });
    }
    Ok(count_reduced(&widths))
}

/// The states of the largest layer that [`count_reduced`] stores.
fn most_states(widths: &[usize]) -> UBig {
    let layers = 1..widths.len() - 1;
    let simplex = |j: usize| binomial(widths[j - 1] + j, j).max(binomial(widths[j] + j, j));
    layers.map(simplex).max().unwrap_or(UBig::ONE)
}

fn binomial(n: usize, k: usize) -> UBig {
    let mut value = UBig::ONE;
    for factor in 0..k {
        value = value * UBig::from(n - factor) / UBig::from(factor + 1);
    }
    value
}

/// Counts with `rho = 0` and widths that may be 0.
fn count_reduced(widths: &[usize]) -> UBig {
    let depth = widths.len() - 1;
    if depth == 1 {
        return UBig::ONE;
    }
    // f_0: all d_0 bars alive. The last coordinate is given by the others, so there is one state.
    let mut ways = vec![UBig::ONE];
    for j in 0..depth - 1 {
        ways = advance(j, widths[j], widths[j + 1], &ways);
    }
    let simplex = Simplex::new(depth - 1, widths[depth - 1]);
    let mut total = UBig::ZERO;
    simplex.for_each(|at, survivors| {
        let last = simplex.size - survivors.iter().sum::<usize>();
        let free = survivors[1..].iter().copied().chain([last]);
        total += &ways[at] * UBig::from(bounded_vectors(free, widths[depth]));
    });
    total
}

/// `f_{j+1}` as a function of `(s_0, ..., s_j)` from `f_j` as a function of `(a_0, ..., a_{j-1})`.
fn advance(j: usize, width: usize, next: usize, ways: &[UBig]) -> Vec<UBig> {
    let from = Simplex::new(j, width);
    let to = Simplex::new(j + 1, width);
    let mut sums = vec![UBig::ZERO; to.len()];
    let mut full = vec![0; j + 1];
    from.for_each(|at, alive| {
        full[..j].copy_from_slice(alive);
        full[j] = width - alive.iter().sum::<usize>();
        sums[to.rank(&full)] = ways[at].clone();
    });
    for coordinate in 0..=j {
        to.suffix_sum(coordinate, &mut sums);
    }
    // Keep what fits into the next layer.
    let kept = Simplex::new(j + 1, next);
    let mut result = vec![UBig::ZERO; kept.len()];
    kept.for_each(|at, survivors| {
        if survivors.iter().sum::<usize>() <= width {
            result[at] = sums[to.rank(survivors)].clone();
        }
    });
    result
}

/// The number of vectors `0 <= s <= bounds` of sum at most `sum`.
fn bounded_vectors(bounds: impl Iterator<Item = usize> + Clone, sum: usize) -> u64 {
    if bounds.clone().sum::<usize>() <= sum {
        return bounds.map(|bound| bound as u64 + 1).product();
    }
    let mut ways = vec![0u64; sum + 1];
    ways[0] = 1;
    for bound in bounds.filter(|&bound| bound > 0) {
        // Window sums: entry v becomes the sum over v - bound ..= v.
        let prefix: Vec<u64> = ways
            .iter()
            .scan(0, |sum, way| {
                *sum += way;
                Some(*sum)
            })
            .collect();
        for v in 0..=sum {
            ways[v] = prefix[v] - if v > bound { prefix[v - bound - 1] } else { 0 };
        }
    }
    ways.iter().sum()
}

/// The vectors of `dimension` nonnegative integers of sum at most `size`, in lexicographic order.
struct Simplex {
    dimension: usize,
    size: usize,
    /// `C(n + k, k)` at `k (size + 1) + n`, for `k <= dimension`.
    counts: Vec<usize>,
}

impl Simplex {
    fn new(dimension: usize, size: usize) -> Self {
        let mut counts = vec![1usize; (dimension + 1) * (size + 1)];
        for k in 1..=dimension {
            for n in 1..=size {
                counts[k * (size + 1) + n] =
                    counts[k * (size + 1) + n - 1] + counts[(k - 1) * (size + 1) + n];
            }
        }
        Simplex { dimension, size, counts }
    }

    fn len(&self) -> usize {
        self.vectors(self.dimension, self.size)
    }

    fn vectors(&self, dimension: usize, size: usize) -> usize {
        self.counts[dimension * (self.size + 1) + size]
    }

    /// The place of a vector in the order.
    fn rank(&self, vector: &[usize]) -> usize {
        let (mut rank, mut left) = (0, self.size);
        for (at, &x) in vector.iter().enumerate() {
            let free = self.dimension - at;
            rank += self.vectors(free, left) - self.vectors(free, left - x);
            left -= x;
        }
        rank
    }

    /// Calls `visit` with the place and the vector, in order.
    fn for_each(&self, mut visit: impl FnMut(usize, &[usize])) {
        let mut vector = vec![0; self.dimension];
        let (mut at, mut sum) = (0, 0);
        loop {
            visit(at, &vector);
            at += 1;
            // The next vector: increase the last coordinate that can grow, clear those behind it.
            let mut place = self.dimension;
            loop {
                if place == 0 {
                    return;
                }
                place -= 1;
                if sum < self.size {
                    break;
                }
                sum -= vector[place];
                vector[place] = 0;
            }
            vector[place] += 1;
            sum += 1;
        }
    }

    /// Adds to each value the value one step further along a coordinate, from the far end inwards.
    fn suffix_sum(&self, coordinate: usize, values: &mut [UBig]) {
        let mut next = Vec::with_capacity(self.len());
        let mut further = vec![0; self.dimension];
        self.for_each(|_, vector| {
            further.copy_from_slice(vector);
            further[coordinate] += 1;
            let inside = vector.iter().sum::<usize>() < self.size;
            next.push(if inside { self.rank(&further) as u32 } else { u32::MAX });
        });
        for at in (0..values.len()).rev() {
            if next[at] != u32::MAX {
                let (head, tail) = values.split_at_mut(at + 1);
                head[at] += &tail[next[at] as usize - at - 1];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(widths: &[usize], rank: usize) -> UBig {
        count_strata(&ProductFiber::new(widths.to_vec(), rank).unwrap()).unwrap()
    }

    #[test]
    fn small_counts() {
        for (widths, rank, expected) in [
            (vec![8, 8, 8], 0, 45u32),
            (vec![8, 8, 8], 3, 21),
            (vec![6, 6, 6, 6], 0, 714),
            (vec![6, 6, 6, 6], 2, 182),
            (vec![3, 3, 3, 3, 3], 0, 535),
            (vec![2, 3, 4, 3, 2], 0, 524),
            (vec![20, 20, 20, 20, 20], 0, 63_296_805),
            (vec![12, 15, 9, 14, 11], 0, 971_561),
            (vec![7, 9], 3, 1),
            (vec![3, 3, 3, 3], 3, 1),
        ] {
            assert_eq!(count(&widths, rank), expected.into(), "{widths:?} {rank}");
        }
    }

    #[test]
    fn width_one_networks_have_all_but_one_pattern_of_zeros() {
        for depth in 1..20 {
            assert_eq!(count(&vec![1; depth + 1], 0), ((1u32 << depth) - 1).into());
        }
    }

    #[test]
    fn two_matrices_of_any_width() {
        // Pairs (r_1, r_2) with r_1 + r_2 <= n.
        assert_eq!(count(&[3000, 3000, 3000], 0), (3001u32 * 3002 / 2).into());
    }

    #[test]
    fn reversal_keeps_the_count_and_far_too_many_states_are_refused() {
        assert_eq!(count(&[2, 9, 4, 7], 1), count(&[7, 4, 9, 2], 1));
        let fiber = ProductFiber::new(vec![1000; 9], 0).unwrap();
        assert!(matches!(count_strata(&fiber), Err(LinearError::TooManyStates { .. })));
    }
}
