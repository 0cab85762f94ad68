//! The f-vector of a simple complex from its vertices and edges alone.
//!
//! Let `c` be a linear function that is constant on no edge. Every bounded cell has one lowest vertex `v`, and `v` is the lowest vertex
//! of a cell iff all edges of the cell at `v` go up. At a simple vertex the cells are the choices, for each of its `d` hyperplanes, of
//! lying on it or leaving it along one of the (at most two) edges that leave this hyperplane only; with `u_i` of these edges
//! going up, the number of `k`-cells with lowest vertex `v` is the coefficient of `y^k` in `prod_i (1 + u_i y)`. Hence
//!
//! ```text
//! sum_k f_k y^k = sum_v prod_i (1 + u_i(v) y).
//! ```
//!
//! The same sum with other factors for the sides of the box counts other things. A cell of the complex on a larger set that is cut by
//! an auxiliary hyperplane has pieces with alternating sum of dimensions `(-1)^dim` (Euler characteristic with compact support). So
//! `(u - 1) y` for the upper side and `u y` for the lower side of a box that is one of several that tile the domain
//! counts every cell of the whole exactly once in all, and for a box so large that its sides cut unbounded cells only, `u y` counts
//! the cells of the whole space and `(u - 1) y` the bounded ones.

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
        self.all.iter_mut().zip(&other.all).for_each(|(a, b)| *a += b);
        self.bounded.iter_mut().zip(&other.bounded).for_each(|(a, b)| *a += b);
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

/// Counts the cells, given for every edge whether its second end is the higher one.
pub(crate) fn tally(
    skeleton: &Skeleton,
    neurons: usize,
    sides: &[[SideKind; 2]],
    rises: impl Fn(usize) -> bool,
) -> Tally {
    let d = skeleton.dimension;
    let mut up = vec![0u8; skeleton.zeros.len()];
    for (e, edge) in skeleton.edges.iter().enumerate() {
        let low = if rises(e) { 0 } else { 1 };
        let v = edge.ends[low] as usize;
        let gone = edge.left[low] >> 1;
        let slot = skeleton.zeros_of(v).iter().position(|&h| h == gone);
        up[v * d + slot.expect("an edge leaves a hyperplane of its end")] += 1;
    }
    let mut tally = Tally::new(d);
    let whole = sides.iter().flatten().any(|&kind| kind == SideKind::Infinity);
    let mut product = vec![0i64; d + 1];
    for (zeros, up) in skeleton.zeros.chunks_exact(d).zip(up.chunks_exact(d)) {
        let kind = |h: u32| {
            let side = h as usize - neurons;
            sides[side / 2][side % 2]
        };
        let mut counts = |total: &mut [i64], bounded: bool| {
            product.fill(0);
            product[0] = 1;
            for (i, (&h, &u)) in zeros.iter().zip(up).enumerate() {
                let u = i64::from(u);
                let (stay, go) = if (h as usize) < neurons {
                    (1, u)
                } else {
                    match kind(h) {
                        SideKind::Boundary => (1, u),
                        SideKind::Neighbour => (0, u),
                        SideKind::Infinity if !bounded => (0, u),
                        SideKind::Infinity | SideKind::Shared => (0, u - 1),
                    }
                };
                for k in (0..=i + 1).rev() {
                    let below = if k > 0 { product[k - 1] } else { 0 };
                    product[k] = stay * product[k] + go * below;
                }
            }
            total.iter_mut().zip(&product).for_each(|(t, p)| *t += p);
        };
        counts(&mut tally.all, false);
        if whole {
            counts(&mut tally.bounded, true);
        }
    }
    if !whole {
        tally.bounded.clone_from(&tally.all);
    }
    tally
}
