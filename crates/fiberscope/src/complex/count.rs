//! The f-vector of a simple complex from its vertices and edges alone.
//!
//! Let `c` be a linear function that is constant on no edge. Every bounded cell has one lowest vertex `v`,
//! and `v` is the lowest vertex of a cell iff all edges of the cell at `v` go up. At a simple vertex the
//! cells are the choices, for each of its `d` hyperplanes, of lying on it or leaving it along one of the (at
//! most two) edges that leave this hyperplane only; with `u_i` of these edges going up, the number of
//! `k`-cells with lowest vertex `v` is the coefficient of `y^k` in `prod_i (1 + u_i y)`. Hence
//!
//! ```text
//! sum_k f_k y^k = sum_v prod_i (1 + u_i(v) y).
//! ```
//!
//! The same sum with other factors for the sides of the box counts other things. A cell of the complex on a
//! larger set that is cut by an auxiliary hyperplane has pieces with alternating sum of dimensions `(-1)^dim`
//! (Euler characteristic with compact support). So `(u - 1) y` for the upper side and `u y` for the lower
//! side of a box that is one of several that tile the domain counts every cell of the whole exactly once in
//! all, and for a box so large that its sides cut unbounded cells only, `u y` counts the cells of the whole
//! space and `(u - 1) y` the bounded ones.

use super::skeleton::Skeleton;

/// What a side of the box is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SideKind {
    /// The boundary of the domain: its faces are cells.
    Boundary,
    /// The domain goes on for ever behind it: its faces are no cells.
    Infinity,
    /// Another box of the tiling lies behind it, and owns the cells on it.
    Neighbour,
    /// Another box of the tiling lies behind it; the cells on it are counted here.
    Shared,
}

/// Numbers of cells by dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellCounts {
    /// All cells of each dimension: vertices first, regions last.
    pub all: Vec<u64>,
    /// The bounded ones.
    pub bounded: Vec<u64>,
}

impl CellCounts {
    /// The number of regions.
    pub fn regions(&self) -> u64 {
        self.all.last().copied().unwrap_or(0)
    }

    /// The alternating sum of the numbers of cells: 1 on a box, `(-1)^d` on `R^d`.
    pub fn euler(&self) -> i64 {
        let signed = |(k, &n): (usize, &u64)| if k % 2 == 0 { n as i64 } else { -(n as i64) };
        self.all.iter().enumerate().map(signed).sum()
    }
}

/// Signed sums of cells, per dimension: contributions of boxes of a tiling may be negative.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Tally {
    pub all: Vec<i64>,
    pub bounded: Vec<i64>,
}

impl Tally {
    pub fn new(dimension: usize) -> Self {
        Tally { all: vec![0; dimension + 1], bounded: vec![0; dimension + 1] }
    }

    pub fn add(&mut self, other: &Tally) {
        self.all.iter_mut().zip(&other.all).for_each(|(a, b)| *a = a.saturating_add(*b));
        self.bounded.iter_mut().zip(&other.bounded).for_each(|(a, b)| *a = a.saturating_add(*b));
    }

    /// The counts with `extra` dimensions along which nothing changes.
    pub fn counts(&self, extra: usize) -> CellCounts {
        let shift = |counts: &[i64]| -> Vec<u64> {
            let own = counts.iter().map(|&n| n.max(0) as u64);
            std::iter::repeat_n(0, extra).chain(own).collect()
        };
        let all = shift(&self.all);
        let bounded = if extra > 0 { vec![0; all.len()] } else { shift(&self.bounded) };
        CellCounts { all, bounded }
    }
}

/// Counts the cells.
pub(crate) fn tally(skeleton: &Skeleton, neurons: usize, sides: &[[SideKind; 2]]) -> Tally {
    let d = skeleton.dimension;
    let mut tally = Tally::new(d);
    let whole = sides.iter().flatten().any(|&kind| kind == SideKind::Infinity);
    // Vertices inside, by the numbers of ones and of twos among their `u_i`.
    let mut inside = vec![0i64; (d + 1) * (d + 1)];
    let mut factors = vec![(0, 0); d];
    // Hyperplanes whose factors do not depend on what is counted.
    let sides_alike = sides.iter().flatten().map(|&kind| kind == SideKind::Boundary);
    let alike: Vec<bool> = std::iter::repeat_n(true, neurons).chain(sides_alike).collect();
    for (zeros, up) in skeleton.zeros.chunks_exact(d).zip(skeleton.up.chunks_exact(d)) {
        if zeros.iter().all(|&h| alike[h as usize]) {
            let count = |wanted: u8| up.iter().filter(|&&u| u == wanted).count();
            inside[count(1) * (d + 1) + count(2)] += 1;
            continue;
        }
        for (total, bounded) in [(&mut tally.all, false), (&mut tally.bounded, true)] {
            for ((factor, &h), &u) in factors.iter_mut().zip(zeros).zip(up) {
                let kind = (h as usize).checked_sub(neurons).map(|side| sides[side / 2][side % 2]);
                *factor = factor_of(kind, i64::from(u), bounded);
            }
            add_product(total, &factors, 1);
        }
    }
    for (at, &vertices) in inside.iter().enumerate().filter(|(_, vertices)| **vertices > 0) {
        let (ones, twos) = (at / (d + 1), at % (d + 1));
        let factor = |i: usize| (1, if i < ones { 1 } else { 2 * i64::from(i < ones + twos) });
        let factors: Vec<(i64, i64)> = (0..d).map(factor).collect();
        add_product(&mut tally.all, &factors, vertices);
        add_product(&mut tally.bounded, &factors, vertices);
    }
    if !whole {
        tally.bounded.clone_from(&tally.all);
    }
    tally
}

/// The factor `stay + go y` of a hyperplane that is a neuron or a side.
fn factor_of(side: Option<SideKind>, up: i64, bounded: bool) -> (i64, i64) {
    match side {
        None | Some(SideKind::Boundary) => (1, up),
        Some(SideKind::Neighbour) => (0, up),
        Some(SideKind::Infinity) if !bounded => (0, up),
        Some(SideKind::Infinity | SideKind::Shared) => (0, up - 1),
    }
}

/// Adds a multiple of a product of factors `stay + go y`.
fn add_product(total: &mut [i64], factors: &[(i64, i64)], times: i64) {
    let mut product = [0i64; 32];
    product[0] = times;
    for (i, &(stay, go)) in factors.iter().enumerate() {
        for k in (0..=i + 1).rev() {
            let below = if k > 0 { product[k - 1] } else { 0 };
            product[k] = stay * product[k] + go * below;
        }
    }
    total.iter_mut().zip(&product).for_each(|(t, p)| *t += p);
}
