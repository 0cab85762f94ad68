//! A boundary that does not tell all weights of its row.
//!
//! A weight from feature `k` is open if `k` is off along the whole boundary. More generally, a row is open along *free*
//! directions `v`, with `v . (h, 1) = 0` on the boundary. Several pieces that do not meet may be of one neuron.

use fiberscope_algebra::dense::{dot, peak, scaled};
use fiberscope_core::Matrix;

use super::algebra::Svd;
use super::first::Row;
use super::prefix::Prefix;
use super::probe::Boundary;

/// The error of an equation, relative to the largest gradient, beyond which pieces are not of one neuron.
const INCONSISTENT: f64 = 1e-5;

/// Singular values up to this share of the largest count as zero.
const RANK: f64 = 1e-9;

/// A piece of a boundary: a point of it inside a cell of the layers before, and the gradient of the neuron there.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The point.
    pub x: Vec<f64>,
    /// The gradient, up to a factor that all pieces share; nothing if it was not followed.
    pub g: Vec<f64>,
}

/// A row some of whose weights are open.
#[derive(Clone, Debug)]
pub(super) struct Open {
    /// The boundary, with its open weights marked.
    pub boundary: Boundary,
    /// Features that are off along the boundary.
    pub off: Vec<usize>,
    /// A row that has the boundary: the shortest one.
    pub row: Row,
    /// Orthonormal changes of the row (weights, then the bias) that leave the boundary where it was seen as it is, beside
    /// open weights.
    pub free: Vec<Vec<f64>>,
    /// What was seen of the boundary.
    pub pieces: Vec<Piece>,
}

impl Open {
    /// A row that is open in those weights only that are not known.
    pub fn of(boundary: Boundary, x: &[f64]) -> Open {
        let row = (boundary.w.clone(), boundary.b);
        let off = boundary.unknown(None).collect();
        Open { boundary, off, row, free: Vec::new(), pieces: vec![Piece { x: x.to_vec(), g: Vec::new() }] }
    }

    /// Whether more pieces beyond the boundary of feature `k` may tell more.
    pub fn leaves_open(&self, k: usize) -> bool {
        self.off.contains(&k) || self.free.iter().any(|v| v[k].abs() > 1e-4)
    }

    /// Both as one row, if they are pieces of the boundary of one neuron: more equations agree than it takes to tell
    /// their factors.
    fn joined(&self, prefix: &Prefix, other: &Open) -> Option<Open> {
        let width = prefix.width();
        let (first, second) = (equations(prefix, &self.pieces)?, equations(prefix, &other.pieces)?);
        // Unknown are the row and the factor of the other one's gradients.
        let extended = |(rows, right): &(Vec<Vec<f64>>, Vec<f64>), factor: bool| -> Vec<Vec<f64>> {
            let last = |r: &f64| if factor { -r } else { 0.0 };
            rows.iter().zip(right).map(|(row, r)| row.iter().copied().chain([last(r)]).collect()).collect()
        };
        let (a, b) = (extended(&first, false), extended(&second, true));
        let rank = |rows: &[Vec<f64>]| Some(Svd::of(&Matrix::from_rows(rows)?)?.rank(RANK));
        let mut all = a.clone();
        all.extend(b.iter().cloned());
        let mut right = first.1.clone();
        right.resize(all.len(), 0.0);
        let svd = Svd::of(&Matrix::from_rows(&all)?)?;
        if svd.rank(RANK) >= rank(&a)? + rank(&b)? {
            return None;
        }
        let solution = svd.solve(&right, RANK);
        let factor = solution[width + 1];
        let error = all.iter().zip(&right).map(|(e, r)| (dot(e, &solution) - r).abs()).fold(0.0, f64::max);
        let size = peak(&right);
        if error > INCONSISTENT * size || !(1e-6..1e6).contains(&factor.abs()) {
            return None;
        }
        let mut pieces = self.pieces.clone();
        pieces.extend(
            other.pieces.iter().map(|piece| Piece { x: piece.x.clone(), g: scaled(&piece.g, factor) }),
        );
        solve(prefix, &pieces)
    }

    /// All free directions: open weights, and the others.
    pub fn directions(&self) -> Vec<Vec<f64>> {
        let width = self.row.0.len();
        let unit = |k: usize| (0..=width).map(|i| f64::from(u8::from(i == k))).collect();
        self.off.iter().copied().map(unit).chain(self.free.iter().cloned()).collect()
    }
}

/// Joins the boundaries that are pieces of one.
pub(super) fn join(prefix: &Prefix, open: &mut Vec<Open>) {
    let mut i = 0;
    while i < open.len() {
        let found = (i + 1..open.len()).find_map(|k| Some((k, open[i].joined(prefix, &open[k])?)));
        match found {
            Some((k, joined)) => {
                open.remove(k);
                open[i] = joined;
                i = 0;
            }
            None => i += 1,
        }
    }
}

/// What the pieces say of the row (weights, then the bias).
fn equations(prefix: &Prefix, pieces: &[Piece]) -> Option<(Vec<Vec<f64>>, Vec<f64>)> {
    if pieces.iter().any(|piece| piece.g.is_empty()) {
        return None;
    }
    let width = prefix.width();
    let (mut equations, mut right) = (Vec::new(), Vec::new());
    for piece in pieces {
        let local = prefix.local(&piece.x);
        for (k, g) in piece.g.iter().enumerate() {
            equations
                .push((0..=width).map(|i| if i < width { local.gradient[(i, k)] } else { 0.0 }).collect());
            right.push(*g);
        }
        let share = 1.0 / (1.0 + peak(&local.hidden));
        equations.push(local.hidden.iter().chain(&[1.0]).map(|h| share * h).collect::<Vec<f64>>());
        right.push(0.0);
    }
    Some((equations, right))
}

/// The weights that the gradients of the pieces tell, and the bias that their points tell. `None` if the pieces
/// contradict each other.
pub(super) fn solve(prefix: &Prefix, pieces: &[Piece]) -> Option<Open> {
    let width = prefix.width();
    let (mut equations, mut right) = equations(prefix, pieces)?;
    // Features that are on at no piece.
    let off: Vec<bool> = (0..=width).map(|i| equations.iter().all(|row| row[i] == 0.0)).collect();
    for i in (0..=width).filter(|&i| off[i]) {
        equations.push((0..=width).map(|k| f64::from(u8::from(k == i))).collect());
        right.push(0.0);
    }
    // Rows of zeros, so that there is a right singular vector for every unknown.
    while equations.len() <= width {
        equations.push(vec![0.0; width + 1]);
        right.push(0.0);
    }
    let svd = Svd::of(&Matrix::from_rows(&equations)?)?;
    let rank = svd.rank(RANK);
    let mut row = svd.solve(&right, RANK);
    let error = equations.iter().zip(&right).map(|(e, r)| (dot(e, &row) - r).abs()).fold(0.0, f64::max);
    if error > INCONSISTENT * peak(&right) {
        return None;
    }
    let free: Vec<Vec<f64>> = svd.v[rank..].to_vec();
    // An unknown is determined if its axis lies in the row space.
    let determined = |i: usize| !off[i] && free.iter().map(|v| v[i].powi(2)).sum::<f64>() < 1e-7;
    let known: Vec<bool> = (0..width).map(|i| determined(i) && determined(width)).collect();
    let b = row.pop().unwrap_or(0.0);
    let mut w = row.clone();
    w.iter_mut().zip(&known).filter(|(_, known)| !**known).for_each(|(w, _)| *w = 0.0);
    let off = (0..width).filter(|&i| off[i]).collect();
    Some(Open { boundary: Boundary { w, b, known }, off, row: (row, b), free, pieces: pieces.to_vec() })
}
