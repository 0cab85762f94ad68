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

/// The column of every row in an assignment of least cost. The matrix is square and its entries are finite.
///
/// ```
/// let cost = fiberscope::Matrix::from_rows(&[[1.0, 2.0], [1.0, 5.0]]).unwrap();
/// assert_eq!(fiberscope::align::assign(&cost), [1, 0]);
/// ```
pub fn assign(cost: &Matrix) -> Vec<usize> {
    assign_from(cost, &mut column_minima(cost))
}

/// The same, beginning with prices of the columns, which are finite; they become those that prove the assignment optimal.
pub(super) fn assign_from(cost: &Matrix, prices: &mut [f64]) -> Vec<usize> {
    let mut state =
        Assignment { cost, prices, row_of: vec![NONE; cost.rows()], column_of: vec![NONE; cost.rows()] };
    state.compete();
    state.complete();
    state.column_of
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
    /// The cheapest column of a row at current prices, and another that is the cheapest of the others.
    fn cheapest(&self, row: usize) -> [(f64, usize); 2] {
        let mut found = [(f64::INFINITY, 0); 2];
        for (j, (c, price)) in self.cost.row(row).iter().zip(self.prices.iter()).enumerate() {
            let reduced = c - price;
            if reduced < found[1].0 {
                found[1] = (reduced, j);
                if reduced < found[0].0 {
                    found.swap(0, 1);
                }
            }
        }
        found
    }

    /// Rows win their cheapest columns from each other, as long as prices fall and the turns last.
    fn compete(&mut self) {
        let n = self.cost.rows();
        let mut waiting: Vec<usize> = (0..n).rev().collect();
        for _ in 0..TURNS * n {
            let Some(row) = waiting.pop() else { break };
            let [first, second] = self.cheapest(row);
            let falls = second.0 - first.0;
            let mut column = first.1;
            if falls > 0.0 && falls.is_finite() {
                self.prices[column] -= falls;
            } else if self.row_of[column] != NONE && n > 1 {
                column = second.1;
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
    fn complete(&mut self) {
        let assigned = |(i, &j): (usize, &usize)| match j {
            NONE => 0.0,
            j => self.cost[(i, j)] - self.prices[j],
        };
        let mut rows: Vec<f64> = self.column_of.iter().enumerate().map(assigned).collect();
        for row in 0..self.cost.rows() {
            if self.column_of[row] == NONE {
                rows[row] = self.cheapest(row)[0].0;
                self.augment(row, &mut rows);
            }
        }
    }

    /// Assigns `start` along a shortest path to a free column.
    fn augment(&mut self, start: usize, rows: &mut [f64]) {
        let n = self.cost.rows();
        let mut distance = vec![f64::INFINITY; n];
        let mut before = vec![NONE; n];
        let mut open: Vec<usize> = (0..n).collect();
        let mut closed: Vec<usize> = Vec::new();
        let (mut row, mut reached) = (start, 0.0);
        let end = loop {
            let (costs, price) = (self.cost.row(row), rows[row]);
            let mut nearest = (f64::INFINITY, 0);
            for (place, &j) in open.iter().enumerate() {
                let through = reached + costs[j] - price - self.prices[j];
                if through < distance[j] {
                    (distance[j], before[j]) = (through, row);
                }
                if distance[j] < nearest.0 {
                    nearest = (distance[j], place);
                }
            }
            reached = nearest.0;
            let column = open.swap_remove(nearest.1);
            if self.row_of[column] == NONE {
                break column;
            }
            closed.push(column);
            row = self.row_of[column];
        };
        rows[start] += reached;
        for &j in &closed {
            let shift = reached - distance[j];
            self.prices[j] -= shift;
            rows[self.row_of[j]] += shift;
        }
        let mut column = end;
        loop {
            let row = before[column];
            self.row_of[column] = row;
            column = std::mem::replace(&mut self.column_of[row], column);
            if row == start {
                break;
            }
        }
    }
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
    fn finds_a_hidden_permutation() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let n = 120;
        let target: Vec<usize> = (0..n).map(|i| (i * 7 + 3) % n).collect();
        let cost =
            Matrix::from_fn(n, n, |i, j| if target[i] == j { 0.0 } else { rng.random_range(0.1..1.0) });
        assert_eq!(assign(&cost), target);
    }
}
