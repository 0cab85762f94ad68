//! The assignment problem: a permutation `p` of least cost `sum_i c[i][p(i)]`.
//!
//! Shortest augmenting paths with dual prices (Jonker and Volgenant's second phase): rows are assigned
//! one after another; each time a path of least reduced cost to a free column is found as in Dijkstra's
//! algorithm, and the prices `u`, `v` are changed such that `c[i][j] - u[i] - v[j] >= 0` everywhere and
//! `= 0` on the assignment, which proves it optimal. `O(n^3)` at worst; every round reads rows of the
//! matrix from left to right.

use fiberscope_core::Matrix;

const NONE: usize = usize::MAX;

/// The column of every row in an assignment of least cost. The matrix is square and its entries are finite.
///
/// ```
/// let cost = fiberscope::Matrix::from_rows(&[[1.0, 2.0], [1.0, 5.0]]).unwrap();
/// assert_eq!(fiberscope::align::assign(&cost), [1, 0]);
/// ```
pub fn assign(cost: &Matrix) -> Vec<usize> {
    let n = cost.rows();
    let mut prices = Prices { row: vec![0.0; n], column: column_minima(cost) };
    let mut row_of = vec![NONE; n];
    let mut column_of = greedy(cost, &mut prices, &mut row_of);
    for row in 0..n {
        if column_of[row] == NONE {
            augment(cost, row, &mut prices, &mut row_of, &mut column_of);
        }
    }
    column_of
}

struct Prices {
    row: Vec<f64>,
    column: Vec<f64>,
}

fn column_minima(cost: &Matrix) -> Vec<f64> {
    let mut minima = vec![f64::INFINITY; cost.cols()];
    for row in cost.iter_rows() {
        minima.iter_mut().zip(row).for_each(|(least, &c)| *least = least.min(c));
    }
    minima
}

/// Gives every row its cheapest column at current prices where that is free.
fn greedy(cost: &Matrix, prices: &mut Prices, row_of: &mut [usize]) -> Vec<usize> {
    let cheapest = |row: &[f64], column: &[f64]| {
        let reduced = row.iter().zip(column).map(|(c, v)| c - v).enumerate();
        reduced.min_by(|x, y| x.1.total_cmp(&y.1)).expect("widths are at least 1")
    };
    let mut column_of = vec![NONE; cost.rows()];
    for (i, row) in cost.iter_rows().enumerate() {
        let (j, least) = cheapest(row, &prices.column);
        prices.row[i] = least;
        if row_of[j] == NONE {
            (row_of[j], column_of[i]) = (i, j);
        }
    }
    column_of
}

/// Assigns `start` along a shortest path to a free column.
fn augment(cost: &Matrix, start: usize, prices: &mut Prices, row_of: &mut [usize], column_of: &mut [usize]) {
    let n = cost.rows();
    let mut distance = vec![f64::INFINITY; n];
    let mut before = vec![NONE; n];
    let mut open: Vec<usize> = (0..n).collect();
    let mut closed: Vec<usize> = Vec::new();
    let (mut row, mut reached) = (start, 0.0);
    let end = loop {
        let (costs, price) = (cost.row(row), prices.row[row]);
        let mut nearest = (f64::INFINITY, 0);
        for (place, &j) in open.iter().enumerate() {
            let through = reached + costs[j] - price - prices.column[j];
            if through < distance[j] {
                (distance[j], before[j]) = (through, row);
            }
            if distance[j] < nearest.0 {
                nearest = (distance[j], place);
            }
        }
        reached = nearest.0;
        let column = open.swap_remove(nearest.1);
        if row_of[column] == NONE {
            break column;
        }
        closed.push(column);
        row = row_of[column];
    };
    prices.row[start] += reached;
    for &j in &closed {
        let shift = reached - distance[j];
        prices.column[j] -= shift;
        prices.row[row_of[j]] += shift;
    }
    let mut column = end;
    loop {
        let row = before[column];
        row_of[column] = row;
        column = std::mem::replace(&mut column_of[row], column);
        if row == start {
            break;
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
