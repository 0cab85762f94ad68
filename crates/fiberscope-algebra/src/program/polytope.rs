//! Linear programs over a polytope in few dimensions, in doubles, one after the other.
//!
//! The polytope is `{x : a_i x + b_i >= 0}`. A vertex is held as a basis of `d` rows with the inverse of
//! their matrix: column `k` of the inverse is the edge that leaves row `k` and stays on the others. With
//! `r = c A_B^-1`, the objective `c x + c_0` grows along edge `k` iff `r_k > 0`; if no `r_k > 0`, the vertex
//! is optimal and `c + sum_k (-r_k) a_k = 0` with nonnegative multipliers, which is Farkas' certificate.
//!
//! Whatever comes out of here is a proposal: exact arithmetic decides.

use super::basis::Basis;
use crate::dense::dot;

/// Rates below this count as zero (rows have largest entry about 1).
const RATE: f64 = 1e-11;

/// Values below this, relative to the size of their terms, have no certain sign.
const VALUE: f64 = 1e-11;

/// How many pivots are made between two looks at the clock.
const LATE: usize = 16;

/// What a linear program ended with.
#[derive(Clone, Debug, PartialEq)]
pub enum Optimum {
    /// The largest value, and nonnegative multipliers of the rows of the basis.
    Vertex {
        /// The value.
        value: f64,
        /// Row and multiplier.
        multipliers: Vec<(usize, f64)>,
    },
    /// No vertex was found to be optimal.
    Failed,
}

/// A polytope with a current vertex.
#[derive(Clone, Debug)]
pub struct Polytope {
    dimension: usize,
    /// Row after row: gradient, constant.
    rows: Vec<f64>,
    basis: Basis<f64>,
    vertex: Vec<f64>,
}

impl Polytope {
    /// The polytope with these rows (gradient, then constant) at the vertex of the given basis.
    pub fn new(dimension: usize, rows: Vec<f64>, basis: &[u32]) -> Option<Self> {
        let start = Basis::of_units(vec![0; dimension], |_| false);
        let mut polytope = Polytope { dimension, rows, basis: start, vertex: vec![0.0; dimension] };
        polytope.move_to(basis).then_some(polytope)
    }

    fn len(&self) -> usize {
        self.rows.len() / (self.dimension + 1)
    }

    /// The current vertex.
    pub fn vertex(&self) -> &[f64] {
        &self.vertex
    }

    /// The rows that are tight there.
    pub fn basis(&self) -> &[u32] {
        self.basis.numbers()
    }

    fn row(&self, i: usize) -> (&[f64], f64) {
        let row = &self.rows[i * (self.dimension + 1)..(i + 1) * (self.dimension + 1)];
        (&row[..self.dimension], row[self.dimension])
    }

    /// Adds a row; the current vertex must satisfy it.
    pub fn push(&mut self, row: impl Iterator<Item = f64>) {
        self.rows.extend(row);
    }

    /// Goes to the vertex of a basis; false if its rows are not independent.
    pub fn move_to(&mut self, basis: &[u32]) -> bool {
        let gradients: Vec<f64> = basis.iter().flat_map(|&i| self.row(i as usize).0).copied().collect();
        let Some(basis) = Basis::new(basis.to_vec(), &gradients, RATE) else { return false };
        self.basis = basis;
        self.place_vertex();
        true
    }

    fn place_vertex(&mut self) {
        self.vertex = self.basis.vertex(|i| self.row(i).1);
    }

    /// The largest value of `sign * form` on the polytope; fails when it is late.
    pub fn maximize(&mut self, form: &[f64], sign: f64, is_late: impl Fn() -> bool) -> Optimum {
        let d = self.dimension;
        let limit = 30 + 10 * d;
        let mut stalled = 0;
        for pivots in 1..=limit {
            if pivots % LATE == 0 && is_late() {
                return Optimum::Failed;
            }
            let bland = stalled > 2 * d;
            let Some(edge) = self.improving_edge(form, sign, bland) else {
                return self.optimum(form, sign);
            };
            let Some((entering, step)) = self.ratio_test(edge, bland) else { return Optimum::Failed };
            stalled = if step > 0.0 { 0 } else { stalled + 1 };
            if !self.pivot(edge, entering) {
                return Optimum::Failed;
            }
        }
        Optimum::Failed
    }

    /// The edge of steepest ascent, or the first of the smallest row number by Bland's rule.
    fn improving_edge(&self, form: &[f64], sign: f64, bland: bool) -> Option<usize> {
        let mut best = None;
        let mut best_rate = RATE;
        for k in 0..self.dimension {
            let edge = self.basis.edge(k);
            let size = edge.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            let rate = sign * dot(form, edge) / size;
            let better = match best {
                Some(other) if bland => rate > RATE && self.basis()[k] < self.basis()[other],
                _ => rate > best_rate,
            };
            if better {
                best = Some(k);
                best_rate = rate;
            }
        }
        best
    }

    /// The row that stops the move along an edge, and the length of the move.
    fn ratio_test(&self, k: usize, bland: bool) -> Option<(usize, f64)> {
        let edge = self.basis.edge(k);
        let size = edge.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let mut best: Option<(usize, f64, f64)> = None;
        for i in 0..self.len() {
            let (gradient, constant) = self.row(i);
            let rate = dot(gradient, edge) / size;
            if rate < -RATE && !self.basis.contains(i) {
                let slack = (dot(gradient, &self.vertex) + constant).max(0.0);
                let step = slack / -rate;
                let better = match best {
                    None => true,
                    // Among steps that are equal up to rounding the larger rate is the safer pivot.
                    Some((_, other, other_rate)) => {
                        step < other - 1e-13 * other || (!bland && step <= other && rate < other_rate)
                    }
                };
                if better {
                    best = Some((i, step, rate));
                }
            }
        }
        best.map(|(i, step, _)| (i, step))
    }

    /// Replaces row `k` of the basis.
    fn pivot(&mut self, k: usize, entering: usize) -> bool {
        let rates = self.basis.coordinates(self.row(entering).0);
        if rates[k] == 0.0 || !rates[k].is_finite() {
            return false;
        }
        self.basis.replace_quickly(k, entering, &rates);
        self.place_vertex();
        true
    }

    fn optimum(&self, form: &[f64], sign: f64) -> Optimum {
        let multiplier =
            |k: usize| (self.basis()[k] as usize, (-sign * dot(form, self.basis.edge(k))).max(0.0));
        let value = sign * (dot(form, &self.vertex) + form[self.dimension]);
        let multipliers = (0..self.dimension).map(multiplier).collect();
        if value.is_finite() { Optimum::Vertex { value, multipliers } } else { Optimum::Failed }
    }
}

/// The sign of an affine function at a point, 0 where rounding leaves it open, and its value.
pub fn certain_sign(form: &[f64], point: &[f64]) -> (i8, f64) {
    let constant = form[point.len()];
    let value = dot(form, point) + constant;
    let size = form.iter().zip(point).fold(constant.abs(), |total, (a, x)| total + (a * x).abs());
    let size = point.iter().fold(size, |total, x| total.max(x.abs()));
    let sign = if value > VALUE * size {
        1
    } else if value < -VALUE * size {
        -1
    } else {
        0
    };
    (sign, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[-1, 1]^d`, at the corner `(-1, ..., -1)`.
    fn cube(d: usize) -> Polytope {
        let mut rows = Vec::new();
        for i in 0..d {
            for sign in [1.0, -1.0] {
                rows.extend((0..d).map(|j| if i == j { sign } else { 0.0 }).chain([1.0]));
            }
        }
        let basis: Vec<u32> = (0..d as u32).map(|i| 2 * i).collect();
        Polytope::new(d, rows, &basis).unwrap()
    }

    #[test]
    fn the_optimum_on_a_cube_is_the_sum_of_absolute_values() {
        let form = [0.5, -0.25, 1.0, 0.125];
        let mut cube = cube(3);
        for sign in [1.0, -1.0] {
            let Optimum::Vertex { value, multipliers } = cube.maximize(&form, sign, || false) else {
                panic!("failed")
            };
            assert_eq!(value, 1.75 + sign * 0.125);
            let mut sizes: Vec<f64> = multipliers.iter().map(|m| m.1).collect();
            sizes.sort_by(f64::total_cmp);
            assert_eq!(sizes, [0.25, 0.5, 1.0]);
        }
    }

    #[test]
    fn an_added_row_is_respected() {
        let mut square = cube(2);
        square.push([-1.0, -1.0, 0.5].into_iter());
        let Optimum::Vertex { value, .. } = square.maximize(&[1.0, 0.5, 0.0], 1.0, || false) else {
            panic!("failed")
        };
        assert!((value - 0.75).abs() < 1e-12);
        assert_eq!(square.vertex(), [1.0, -0.5]);
        assert_eq!(certain_sign(&[1.0, 2.0, 0.0], square.vertex()).0, 0);
    }
}
