//! The assignment problem: a permutation `p` of least cost `sum_i c[i][p(i)]`.
//!
//! The method of Jonker and Volgenant. With prices `v` of the columns every row has a cheapest column; rows compete for
//! columns and lower the prices of those they win by as much as the second cheapest one is dearer. The rows that are
//! left are assigned one after another along a path of least reduced cost to a free column, found as in Dijkstra's
//! algorithm. Prices are changed such that `c[i][j] - u[i] - v[j] >= 0` everywhere and `= 0` on the assignment, which
//! proves it optimal. `O(n^3)` at worst. Any prices will do to begin with: those of a problem that was nearly the same
//! leave little to be done.

use fiberscope_core::Matrix;

const NONE: usize = usize::MAX;

/// How often rows that have no column compete for one, in turns over all rows.
const TURNS: usize = 4;

/// How many numbers are worked on side by side.
const LANES: usize = 16;

/// The column of every row in an assignment of least cost. The matrix is square and its entries are finite.
///
/// ```
/// let cost = fiberscope::Matrix::from_rows(&[[1.0, 2.0], [1.0, 5.0]]).unwrap();
/// assert_eq!(fiberscope::align::assign(&cost), [1, 0]);
/// ```
pub fn assign(cost: &Matrix) -> Vec<usize> {
    assign_from(cost, &mut column_minima(cost))
}

/// The same, beginning with prices of the columns, which are finite; they become those that prove the assignment
/// optimal.
pub(super) fn assign_from(cost: &Matrix, prices: &mut [f64]) -> Vec<usize> {
    let n = cost.rows();
    assert!(cost.cols() == n && prices.len() == n, "the matrix is square, and every column has a price");
    let mut state = Assignment { cost, prices, row_of: vec![NONE; n], column_of: vec![NONE; n] };
    pulp::Arch::new().dispatch(&mut state);
    state.column_of
}

impl pulp::WithSimd for &mut Assignment<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.compete();
        self.complete();
    }
}

/// Prices to begin with where nothing is known.
pub(super) fn column_minima(cost: &Matrix) -> Vec<f64> {
    let mut minima = vec![f64::INFINITY; cost.cols()];
    for row in cost.iter_rows() {
        minima.iter_mut().zip(row).for_each(|(least, &c)| *least = least.min(c));
    }
    minima
}

struct Assignment<'a> {
    cost: &'a Matrix,
    prices: &'a mut [f64],
    row_of: Vec<usize>,
    column_of: Vec<usize>,
}

impl Assignment<'_> {
    /// Rows win their cheapest columns from each other, as long as prices fall and the turns last.
    #[inline(always)]
    fn compete(&mut self) {
        let n = self.cost.rows();
        let mut reduced = vec![0.0; n];
        let mut waiting: Vec<usize> = (0..n).rev().collect();
        for _ in 0..TURNS * n {
            let Some(row) = waiting.pop() else { break };
            let [first, second] = two_least(self.cost.row(row), self.prices, &mut reduced);
            let mut column = place_of(&reduced, first, NONE);
            let falls = second - first;
            if falls > 0.0 && falls.is_finite() {
                self.prices[column] -= falls;
            } else if self.row_of[column] != NONE && n > 1 {
                column = place_of(&reduced, second, column);
            }
            let loser = self.row_of[column];
            if loser != NONE && falls <= 0.0 {
                // Nobody gains by changing places at the same price.
                continue;
            }
            (self.row_of[column], self.column_of[row]) = (row, column);
            if loser != NONE {
                self.column_of[loser] = NONE;
                waiting.push(loser);
            }
        }
    }

    /// Assigns the rows that have no column.
    #[inline(always)]
    fn complete(&mut self) {
        let n = self.cost.rows();
        let assigned = |(i, &j): (usize, &usize)| match j {
            NONE => 0.0,
            j => self.cost[(i, j)] - self.prices[j],
        };
        let mut rows: Vec<f64> = self.column_of.iter().enumerate().map(assigned).collect();
        let mut paths = Paths {
            distance: vec![0.0; n],
            before: vec![0; n],
            open: vec![0.0; n],
            closed: Vec::with_capacity(n),
        };
        for row in 0..n {
            if self.column_of[row] == NONE {
                rows[row] = two_least(self.cost.row(row), self.prices, &mut paths.distance)[0];
                self.augment(row, &mut rows, &mut paths);
            }
        }
    }

    /// Assigns `start` along a shortest path to a free column.
    #[inline(always)]
    fn augment(&mut self, start: usize, rows: &mut [f64], paths: &mut Paths) {
        paths.distance.fill(f64::INFINITY);
        paths.open.copy_from_slice(self.prices);
        paths.closed.clear();
        let (mut row, mut reached) = (start, 0.0);
        let end = loop {
            reached = paths.go_on(self.cost.row(row), reached - rows[row], row as u64);
            let column = match reached < f64::INFINITY {
                true => place_of(&paths.distance, reached, NONE),
                false => paths.any_open(row as u64),
            };
            if self.row_of[column] == NONE {
                break column;
            }
            paths.closed.push((column, reached));
            // No way leads through it any more.
            (paths.distance[column], paths.open[column]) = (f64::INFINITY, f64::NEG_INFINITY);
            row = self.row_of[column];
        };
        rows[start] += reached;
        for &(column, distance) in &paths.closed {
            let shift = reached - distance;
            self.prices[column] -= shift;
            rows[self.row_of[column]] += shift;
        }
        let mut column = end;
        loop {
            let row = paths.before[column] as usize;
            self.row_of[column] = row;
            column = std::mem::replace(&mut self.column_of[row], column);
            if row == start {
                break;
            }
        }
    }
}

/// Shortest paths from a row to the columns.
struct Paths {
    /// The lengths of the shortest known ones to columns that may still come nearer; infinite for the others.
    distance: Vec<f64>,
    /// The row from which such a path reaches the column, in as many bits as the lengths have.
    before: Vec<u64>,
    /// The prices of columns that may still come nearer; those of the others are infinite below.
    open: Vec<f64>,
    /// The others, with their distances.
    closed: Vec<(usize, f64)>,
}

impl Paths {
    /// On from a row, whose column is reached at this length less its own price; the least of the distances.
    #[inline(always)]
    fn go_on(&mut self, costs: &[f64], base: f64, row: u64) -> f64 {
        let ((costs, last_costs), (open, last_open)) = (costs.as_chunks(), self.open.as_chunks());
        let (distance, last_distance) = self.distance.as_chunks_mut();
        let (before, last_before) = self.before.as_chunks_mut();
        let mut least = [f64::INFINITY; LANES];
        for ((c, price), (distance, before)) in costs.iter().zip(open).zip(distance.iter_mut().zip(before)) {
            nearer([c, price], distance, before, &mut least, (base, row));
        }
        for lane in 0..last_costs.len() {
            let (numbers, known) = ([&[last_costs[lane]], &[last_open[lane]]], &mut [least[lane]]);
            let (distance, before) = (&mut last_distance[lane..], &mut last_before[lane..]);
            if let (Some(distance), Some(before)) = (distance.first_chunk_mut(), before.first_chunk_mut()) {
                nearer::<1>(numbers, distance, before, known, (base, row));
            }
            least[lane] = known[0];
        }
        least.iter().fold(f64::INFINITY, |least, &x| if x < least { x } else { least })
    }
}

/// Distances by way of a row, where they are less than those known, and the least ones lane by lane.
#[inline(always)]
fn nearer<const N: usize>(
    [costs, prices]: [&[f64; N]; 2],
    distance: &mut [f64; N],
    before: &mut [u64; N],
    least: &mut [f64; N],
    (base, row): (f64, u64),
) {
    for lane in 0..N {
        let through = base + (costs[lane] - prices[lane]);
        let nearer = through < distance[lane];
        distance[lane] = if nearer { through } else { distance[lane] };
        before[lane] = if nearer { row } else { before[lane] };
        least[lane] = if distance[lane] < least[lane] { distance[lane] } else { least[lane] };
    }
}

impl Paths {
    /// Where costs are so large that their differences are not finite: a column that was not reached, as if it were
    /// from this row.
    #[cold]
    fn any_open(&mut self, row: u64) -> usize {
        let column = self.open.iter().position(|price| *price > f64::NEG_INFINITY).unwrap_or(0);
        self.before[column] = row;
        column
    }
}

/// The least two of the costs less the prices, all of which are written down.
#[inline(always)]
fn two_least(costs: &[f64], prices: &[f64], reduced: &mut [f64]) -> [f64; 2] {
    reduced.iter_mut().zip(costs.iter().zip(prices)).for_each(|(x, (c, price))| *x = c - price);
    let (mut first, mut second) = ([f64::INFINITY; LANES], [f64::INFINITY; LANES]);
    let chunks = reduced.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for lane in 0..LANES {
            let (x, least) = (chunk[lane], first[lane]);
            let larger = if x < least { least } else { x };
            first[lane] = if x < least { x } else { least };
            second[lane] = if larger < second[lane] { larger } else { second[lane] };
        }
    }
    let mut found = [f64::INFINITY; 2];
    for &x in first.iter().chain(&second).chain(rest) {
        if x < found[0] {
            found = [x, found[0]];
        } else if x < found[1] {
            found[1] = x;
        }
    }
    found
}

/// The first place of a number among others, but for one; the first of all if it is not there.
#[inline(always)]
fn place_of(numbers: &[f64], number: f64, without: usize) -> usize {
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    let is_there = |chunk: &[f64; LANES]| chunk.iter().fold(false, |found, x| found | (*x == number));
    for (k, chunk) in chunks.iter().enumerate().filter(|(_, chunk)| is_there(chunk)) {
        let mut places = (0..LANES).filter(|lane| chunk[*lane] == number).map(|lane| k * LANES + lane);
        if let Some(place) = places.find(|&place| place != without) {
            return place;
        }
    }
    let first = chunks.len() * LANES;
    let mut places = (0..rest.len()).filter(|at| rest[*at] == number).map(|at| first + at);
    places.find(|&place| place != without).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn total(cost: &Matrix, columns: &[usize]) -> f64 {
        columns.iter().enumerate().map(|(i, &j)| cost[(i, j)]).sum()
    }

    /// The least cost by trying everything.
    fn least(cost: &Matrix, row: usize, free: &mut Vec<usize>) -> f64 {
        let mut best = if row == cost.rows() { 0.0 } else { f64::INFINITY };
        for place in 0..free.len() {
            let j = free.swap_remove(place);
            best = best.min(cost[(row, j)] + least(cost, row + 1, free));
            free.push(j);
            let last = free.len() - 1;
            free.swap(place, last);
        }
        best
    }

    #[test]
    fn agrees_with_trying_everything() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        for case in 0..300 {
            let n = case % 6 + 1;
            // Few different costs make many ties.
            let cost = Matrix::from_fn(n, n, |_, _| f64::from(rng.random_range(-4..=4i32)));
            let columns = assign(&cost);
            let mut seen = columns.clone();
            seen.sort_unstable();
            assert_eq!(seen, (0..n).collect::<Vec<_>>());
            assert_eq!(total(&cost, &columns), least(&cost, 0, &mut (0..n).collect()));
        }
    }

    /// Whatever the prices to begin with, the cost is the least; with those of the solution, nothing changes.
    #[test]
    fn any_prices_will_do_to_begin_with() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        for case in 0..200 {
            let n = case % 40 + 1;
            let whole = case % 2 == 0;
            let number = |rng: &mut ChaCha8Rng| match whole {
                true => f64::from(rng.random_range(-6..=6i32)),
                false => rng.random_range(-1.0..1.0),
            };
            let cost = Matrix::from_fn(n, n, |_, _| number(&mut rng));
            let columns = assign(&cost);
            let mut prices: Vec<f64> = (0..n).map(|_| 3.0 * number(&mut rng)).collect();
            let others = assign_from(&cost, &mut prices);
            assert!((total(&cost, &columns) - total(&cost, &others)).abs() < 1e-9, "case {case}");
            for (row, &column) in others.iter().enumerate() {
                let own = cost[(row, column)] - prices[column];
                assert!((0..n).all(|j| cost[(row, j)] - prices[j] >= own - 1e-9), "case {case}");
            }
            let again = assign_from(&cost, &mut prices);
            assert!((total(&cost, &again) - total(&cost, &others)).abs() < 1e-9, "case {case}");
        }
    }

    #[test]
    fn costs_beyond_all_measure_are_assigned_somehow() {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        for n in [2, 5, 40] {
            let cost = Matrix::from_fn(n, n, |_, _| f64::MAX * rng.random_range(-1.0..1.0));
            let mut columns = assign(&cost);
            columns.sort_unstable();
            assert_eq!(columns, (0..n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn finds_a_hidden_permutation() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let n = 120;
        let target: Vec<usize> = (0..n).map(|i| (i * 7 + 3) % n).collect();
        let cost =
            Matrix::from_fn(n, n, |i, j| if target[i] == j { 0.0 } else { rng.random_range(0.1..1.0) });
        assert_eq!(assign(&cost), target);
    }
}
