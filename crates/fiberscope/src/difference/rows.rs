//! Rows: what is bounded from above. Row `2 k` is `B_k - A_k` and row `2 k + 1` is `A_k - B_k`.

/// The output of a row.
pub fn output(row: usize) -> usize {
    row / 2
}

/// The sign of a row.
pub fn sign(row: usize) -> f64 {
    if row.is_multiple_of(2) { 1.0 } else { -1.0 }
}

/// When a search is at its end: every box has `(bound - offset) * weight <= aim` for every row.
#[derive(Clone, Debug)]
pub struct Goal {
    /// Per row, what of the bound is known to be reached.
    pub offset: Vec<f64>,
    /// Per row, the inverse of the unit in which the rest is measured.
    pub weight: Vec<f64>,
    /// What is small enough.
    pub aim: f64,
    /// Whether nothing but the aim counts: bounds beyond it need not be sharp.
    pub decides: bool,
    /// Per row, a bound that was reached before and is to be reached again; empty if there is none.
    pub ceilings: Vec<f64>,
    /// Parts whose worst row is at most so many times the aim are worth a closer look.
    pub closer: f64,
}

impl Goal {
    /// The largest bound of any row counts, against this aim.
    pub fn largest(rows: usize, aim: f64) -> Self {
        let (offset, weight) = (vec![0.0; rows], vec![1.0; rows]);
        Goal { offset, weight, aim, decides: false, ceilings: Vec::new(), closer: 0.0 }
    }

    /// How far a bound of a row is from what is known to be reached.
    pub fn distance(&self, row: usize, bound: f64) -> f64 {
        (bound - self.offset[row]) * self.weight[row]
    }

    /// The bound at which a row has reached its aim.
    pub fn level(&self, row: usize) -> f64 {
        self.offset[row] + self.aim / self.weight[row]
    }

    /// The row that is farthest from its aim, and how far.
    pub fn worst(&self, bounds: &[f64]) -> (usize, f64) {
        let mut worst = (0, f64::NEG_INFINITY);
        for (row, bound) in bounds.iter().enumerate() {
            let far = self.distance(row, *bound);
            if far > worst.1 {
                worst = (row, far);
            }
        }
        worst
    }
}
