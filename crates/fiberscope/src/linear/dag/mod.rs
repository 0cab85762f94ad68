//! The stratum dag: strata, their numbers, and the covering relations of the closure order.
//!
//! `S_r` lies in the closure of `S_s` iff `r <= s` entrywise (Abeasis and Del Fra), and every such pair is
//! joined by moves up. The move on `[h,k], [i,l]` adds 1 to the ranks `r_{y~x}`, `h <= x < i`, `k < y <= l`,
//! and nothing else. So an edge is found by looking up one rank list: the table is hashed by a linear
//! function of the ranks, whose change under a move is a sum over a rectangle, read from prefix sums. Time
//! and memory are linear in strata plus moves. Ranks only grow along edges, so the sorted order of strata is
//! a topological order.

mod build;

use super::{Bar, LinearError, MoveKind, ProductFiber, RankList, Stratum, StratumOptions, StratumTable};
use build::Chunk;

/// The strata of a fiber in the order of [`StratumTable`], with dimensions and covering edges.
#[derive(Clone, Debug)]
pub struct StratumDag {
    table: StratumTable,
    numbers: Vec<Numbers>,
    /// The edges out of stratum `a` are `edges[first_edge[a]..first_edge[a + 1]]`.
    first_edge: Vec<u32>,
    targets: Vec<u32>,
    bars: Vec<[u8; 4]>,
    moves: u64,
}

/// What is known of one stratum.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    dim: u64,
    dof: u64,
    /// The largest dimension of a stratum whose closure contains this one.
    dim_above: u64,
    component_exponent: u32,
}

/// A covering relation of the closure order: a move from stratum `from` up to stratum `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The lower stratum, in the closure of the upper one.
    pub from: usize,
    /// The upper stratum.
    pub to: usize,
    /// The left bar `[h, k]`.
    pub source: Bar,
    /// The right bar `[i, l]`.
    pub target: Bar,
}

impl Edge {
    /// Connecting if the bars are adjacent, else swapping.
    pub fn kind(&self) -> MoveKind {
        if self.target.start == self.source.end + 1 { MoveKind::Connect } else { MoveKind::Swap }
    }
}

impl StratumDag {
    /// The dag of a fiber; fails with the number of strata if there are more than the options allow.
    ///
    /// ```
    /// use fiberscope::linear::{LinearError, ProductFiber, StratumDag, StratumOptions};
    ///
    /// let fiber = ProductFiber::new(vec![2, 2, 2], 1)?;
    /// let dag = StratumDag::build(&fiber, &StratumOptions::new())?;
    /// // The lowest stratum: both factors have rank 1; its dimension is less than that of the fiber.
    /// assert!(dag.dim(0) < dag.fiber_dimension());
    /// let refused = StratumDag::build(&fiber, &StratumOptions::new().strata(2));
    /// assert!(matches!(refused, Err(LinearError::TooManyStrata { .. })));
    /// # Ok::<(), LinearError>(())
    /// ```
    pub fn build(fiber: &ProductFiber, options: &StratumOptions) -> Result<Self, LinearError> {
        let table = StratumTable::enumerate(fiber, options)?;
        let chunks = build::chunks(&table, options)?;
        Self::assemble(table, chunks)
    }

    fn assemble(table: StratumTable, chunks: Vec<Chunk>) -> Result<Self, LinearError> {
        let edges: usize = chunks.iter().map(|chunk| chunk.targets.len()).sum();
        if edges > u32::MAX as usize {
            let count = format!("{} strata and {edges} edges", table.len());
            return Err(LinearError::TooManyStrata { count, limit: u32::MAX as usize });
        }
        let mut dag = StratumDag {
            numbers: Vec::with_capacity(table.len()),
            first_edge: Vec::with_capacity(table.len() + 1),
            targets: Vec::with_capacity(edges),
            bars: Vec::with_capacity(edges),
            moves: chunks.iter().map(|chunk| chunk.moves).sum(),
            table,
        };
        for chunk in chunks {
            let before = dag.targets.len() as u32;
            dag.first_edge.extend(chunk.first_edge.iter().map(|first| before + first));
            dag.numbers.extend(chunk.numbers);
            dag.targets.extend(chunk.targets);
            dag.bars.extend(chunk.bars);
        }
        dag.first_edge.push(edges as u32);
        for at in (0..dag.len()).rev() {
            let above = dag.successors(at).iter().map(|&to| dag.numbers[to as usize].dim_above).max();
            let numbers = &mut dag.numbers[at];
            numbers.dim_above = numbers.dim.max(above.unwrap_or(0));
        }
        Ok(dag)
    }

    /// The fiber.
    pub fn fiber(&self) -> &ProductFiber {
        self.table.fiber()
    }

    /// The number of strata.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are no strata, which never happens.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The number of covering edges.
    pub fn edge_count(&self) -> usize {
        self.targets.len()
    }

    /// The number of pairs (stratum, move up), covering or not.
    pub fn move_count(&self) -> u64 {
        self.moves
    }

    /// The flattened rank list of stratum `at`.
    pub fn flat_ranks(&self, at: usize) -> &[u16] {
        self.table.flat(at)
    }

    /// Stratum `at`.
    pub fn stratum(&self, at: usize) -> Stratum {
        self.table.stratum(at)
    }

    /// All strata in order.
    pub fn strata(&self) -> impl Iterator<Item = Stratum> + '_ {
        (0..self.len()).map(|at| self.stratum(at))
    }

    /// The place of the stratum with this rank list.
    pub fn position(&self, ranks: &RankList) -> Option<usize> {
        let wanted = ranks.flat();
        let order =
            |at: usize| self.table.flat(at).iter().map(|&rank| usize::from(rank)).cmp(wanted.iter().copied());
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            if order(middle).is_lt() { low = middle + 1 } else { high = middle }
        }
        (ranks.widths() == self.fiber().widths() && low < self.len() && order(low).is_eq()).then_some(low)
    }

    /// The dimension of stratum `at`.
    pub fn dim(&self, at: usize) -> u64 {
        self.numbers[at].dim
    }

    /// The dimension of the null space of the differential of `mu` on stratum `at`.
    pub fn dof(&self, at: usize) -> u64 {
        self.numbers[at].dof
    }

    /// The rank-increasing degrees of freedom, `dof - dim`.
    pub fn rdof(&self, at: usize) -> u64 {
        self.numbers[at].dof - self.numbers[at].dim
    }

    /// `e`, if stratum `at` has `2^e` connected components.
    pub fn component_exponent(&self, at: usize) -> u32 {
        self.numbers[at].component_exponent
    }

    /// Whether stratum `at` is open in the fiber.
    pub fn is_maximal(&self, at: usize) -> bool {
        self.rdof(at) == 0
    }

    /// Whether the fiber is a smooth manifold near the points of stratum `at`: iff `dof` is the largest
    /// dimension of a stratum above.
    pub fn is_smooth(&self, at: usize) -> bool {
        self.numbers[at].dof == self.numbers[at].dim_above
    }

    /// The dimension of the fiber.
    pub fn fiber_dimension(&self) -> u64 {
        self.numbers.iter().map(|numbers| numbers.dim).max().unwrap_or(0)
    }

    /// The number of strata that are open in the fiber; their closures are its irreducible components.
    pub fn maximal_count(&self) -> usize {
        (0..self.len()).filter(|&at| self.is_maximal(at)).count()
    }

    /// The strata that cover stratum `at`.
    pub fn successors(&self, at: usize) -> &[u32] {
        &self.targets[self.first_edge[at] as usize..self.first_edge[at + 1] as usize]
    }

    /// The edges out of stratum `at`.
    pub fn edges_from(&self, at: usize) -> impl Iterator<Item = Edge> + '_ {
        (self.first_edge[at] as usize..self.first_edge[at + 1] as usize).map(move |edge| {
            let [h, k, i, l] = self.bars[edge].map(usize::from);
            Edge { from: at, to: self.targets[edge] as usize, source: Bar::new(h, k), target: Bar::new(i, l) }
        })
    }

    /// All edges, by lower stratum.
    pub fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        (0..self.len()).flat_map(|at| self.edges_from(at))
    }

    /// The bytes that the dag holds.
    pub fn bytes(&self) -> usize {
        let strata = self.len() * (2 * self.table.stride() + size_of::<Numbers>() + size_of::<u32>());
        strata + self.edge_count() * (size_of::<u32>() + size_of::<[u8; 4]>())
    }

    /// The length of the longest chain of edges from the minimal stratum to each stratum: a layering in
    /// which every edge goes up.
    pub fn levels(&self) -> Vec<u32> {
        let mut levels = vec![0; self.len()];
        for at in 0..self.len() {
            for &to in self.successors(at) {
                levels[to as usize] = levels[to as usize].max(levels[at] + 1);
            }
        }
        levels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dag(widths: &[usize], rank: usize) -> StratumDag {
        StratumDag::build(&ProductFiber::new(widths.to_vec(), rank).unwrap(), &StratumOptions::new()).unwrap()
    }

    /// The slow and obvious oracle: compare all pairs, keep those with nothing between.
    fn covers_by_comparison(dag: &StratumDag) -> Vec<(usize, usize)> {
        let below = |a: usize, b: usize| {
            a != b && dag.flat_ranks(a).iter().zip(dag.flat_ranks(b)).all(|(r, s)| r <= s)
        };
        let n = dag.len();
        let pairs = (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|&(a, b)| below(a, b));
        pairs.filter(|&(a, b)| !(0..n).any(|c| below(a, c) && below(c, b))).collect()
    }

    #[test]
    fn edges_are_the_covering_pairs() {
        for (widths, rank) in
            [(vec![3, 3, 3, 3], 0), (vec![2, 3, 2, 3, 2], 0), (vec![1; 6], 0), (vec![4, 6, 5], 1)]
        {
            let dag = dag(&widths, rank);
            let mut edges: Vec<_> = dag.edges().map(|edge| (edge.from, edge.to)).collect();
            edges.sort_unstable();
            assert_eq!(edges, covers_by_comparison(&dag), "{widths:?} {rank}");
        }
    }

    #[test]
    fn the_reduction_lemma_holds() {
        // (d, rho) has the dag of (d - rho, 0), with dimensions shifted by a constant.
        let (full, reduced) = (dag(&[4, 5, 3, 4], 2), dag(&[2, 3, 1, 2], 0));
        assert_eq!(full.len(), reduced.len());
        assert!(full.edges().eq(reduced.edges()));
        let shift = full.fiber().parameter_count()
            - reduced.fiber().parameter_count()
            - full.fiber().product_dimension();
        assert!(
            (0..full.len())
                .all(|at| full.dim(at) == reduced.dim(at) + shift && full.rdof(at) == reduced.rdof(at))
        );
    }

    #[test]
    fn strata_are_found_by_rank_list_and_levels_rise() {
        let dag = dag(&[2, 3, 3, 2], 1);
        for at in 0..dag.len() {
            assert_eq!(dag.position(dag.stratum(at).ranks()), Some(at));
        }
        let levels = dag.levels();
        assert!(dag.edges().all(|edge| levels[edge.from] < levels[edge.to]));
        assert_eq!(levels[0], 0);
    }

    #[test]
    fn numbers_agree_with_those_of_single_strata() {
        let dag = dag(&[3, 2, 4, 3], 1);
        for (at, stratum) in dag.strata().enumerate() {
            assert_eq!(dag.dim(at), stratum.dimension());
            assert_eq!(dag.dof(at), stratum.degrees_of_freedom());
            assert_eq!(dag.component_exponent(at), stratum.component_exponent());
            assert_eq!(dag.is_maximal(at), stratum.up_moves().is_empty());
        }
    }
}
