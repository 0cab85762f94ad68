//! The fold-set of a function, its canonical representation and its dependency graph.
//!
//! The fold-set `S` is the set of points of the open domain `Z` where `f` is not differentiable: the closed
//! union of the visible facets. `B_1 S` is the union of all full hyperplanes `H ∩ Z` inside `S`, and
//! `B_{k+1} S` adds to `B_k S` every set `H ∩ P` inside `S`, for a hyperplane `H` and a connected component
//! `P` of `Z \ B_k S`
//! [phuong2020functional, Section 5]. Components are convex: pieces of one component are cut off by full
//! hyperplanes. So `H ∩ P` is inside `S` iff the visible facets in `H ∩ P` have no edge inside `P`, that is,
//! every ridge of theirs inside `P` is shared by two of them. The sets added at step `k` are the pieces of
//! level `k`; the last step is the order.
//!
//! The dependency graph has an edge from a piece to one of higher level iff the relative interior of the
//! first meets the closure of the second. A cell of the complex inside `Z` lies in the relative interior of
//! the pieces through it that have the lowest level there, and of no others.

use std::collections::{BTreeMap, BTreeSet};

use fiberscope_core::{Rational, Sign};

use super::collinear::equation;
use super::options::ComplexOptions;
use super::polyhedral::PolyhedralComplex;
use super::weights::WeightedFacet;
use crate::limit::{Deadline, LimitReached};

/// A flat piece of the canonical representation.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldPiece {
    /// The step at which it was added, from 1.
    pub level: usize,
    /// The places of its facets in the list of weighted facets.
    pub facets: Vec<usize>,
    /// The normal of its hyperplane, first nonzero entry 1.
    pub normal: Vec<Rational>,
    /// The offset: `normal x + offset = 0`.
    pub offset: Rational,
    /// The hidden layers (from 0) of the neurons that vanish on it.
    pub layers: BTreeSet<usize>,
}

/// The fold-set in its canonical representation.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldSet {
    /// The pieces, by level.
    pub pieces: Vec<FoldPiece>,
    /// Visible facets that no step reaches: 0 for fold-sets of general networks.
    pub left_over: usize,
}

/// Which pieces lean on which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyGraph {
    /// Pairs of pieces, the lower level first.
    pub edges: Vec<(usize, usize)>,
    pieces: usize,
}

/// When a limit ends the search for folds.
const WHEN: &str = "before the fold-set was known";

impl FoldSet {
    /// The fold-set on the part of the domain where all neurons of the first `prefix` hidden layers are on
    /// (all of it for 0), unless the deadline of the options comes first.
    pub fn new(
        complex: &PolyhedralComplex,
        facets: &[WeightedFacet],
        prefix: usize,
        options: &ComplexOptions,
    ) -> Result<Self, LimitReached> {
        let deadline = &options.deadline;
        let inside = Inside::new(complex, prefix);
        let d = complex.factor_dimension();
        let planes = Planes::new(complex, facets, &inside, deadline)?;
        let mut level: Vec<Option<usize>> = vec![None; facets.len()];
        let mut pieces = Vec::new();
        for step in 1.. {
            deadline.check(WHEN)?;
            let components = inside.components(complex, facets, &level);
            let mut groups: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
            for (at, facet) in facets.iter().enumerate() {
                if let (None, Some(plane)) = (level[at], planes.of[at]) {
                    groups.entry((components[facet.regions[0]], plane)).or_default().push(at);
                }
            }
            let mut levelled = vec![false; complex.level(d - 1).len()];
            for (facet, level) in facets.iter().zip(&level) {
                levelled[facet.facet] = level.is_some();
            }
            let full: Vec<_> = groups
                .into_iter()
                .filter(|(_, group)| is_full(complex, facets, &inside, &levelled, group))
                .collect();
            if full.is_empty() {
                break;
            }
            for ((_, plane), group) in full {
                group.iter().for_each(|&at| level[at] = Some(step));
                let (normal, offset) = planes.equations[plane].clone();
                let neurons = group.iter().flat_map(|&at| facets[at].neurons.iter());
                let layers = neurons.map(|&h| complex.neuron(h).layer).collect();
                pieces.push(FoldPiece { level: step, facets: group, normal, offset, layers });
            }
        }
        let left_over =
            planes.of.iter().zip(&level).filter(|(plane, level)| plane.is_some() && level.is_none()).count();
        Ok(FoldSet { pieces, left_over })
    }

    /// The last step at which pieces were added.
    pub fn order(&self) -> usize {
        self.pieces.iter().map(|piece| piece.level).max().unwrap_or(0)
    }

    /// The dependency graph.
    pub fn dependencies(
        &self,
        complex: &PolyhedralComplex,
        facets: &[WeightedFacet],
        prefix: usize,
    ) -> DependencyGraph {
        let inside = Inside::new(complex, prefix);
        let d = complex.factor_dimension();
        let mut edges = BTreeSet::new();
        // The pieces through every cell, dimension by dimension downwards.
        let mut through: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); complex.level(d - 1).len()];
        for (p, piece) in self.pieces.iter().enumerate() {
            piece.facets.iter().for_each(|&at| {
                through[facets[at].facet].insert(p);
            });
        }
        for k in (0..d.saturating_sub(1)).rev() {
            let mut next = vec![BTreeSet::new(); complex.level(k).len()];
            for (c, pieces) in next.iter_mut().enumerate() {
                for &above in complex.level(k).cofacets(c) {
                    pieces.extend(through[above as usize].iter().copied());
                }
                let lowest = pieces.iter().map(|&p| self.pieces[p].level).min();
                if !inside.holds(complex, k, c) || pieces.len() < 2 {
                    continue;
                }
                let (low, high): (Vec<usize>, Vec<usize>) =
                    pieces.iter().partition(|&&p| Some(self.pieces[p].level) == lowest);
                edges.extend(low.iter().flat_map(|&a| high.iter().map(move |&b| (a, b))));
            }
            through = next;
        }
        DependencyGraph { edges: edges.into_iter().collect(), pieces: self.pieces.len() }
    }
}

impl DependencyGraph {
    /// A directed path with the given number of edges from every piece that has one, in the order of the
    /// pieces.
    pub fn paths(&self, length: usize) -> Vec<Vec<usize>> {
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); self.pieces];
        self.edges.iter().for_each(|&(a, b)| next[a].push(b));
        // reach[k][p]: whether a path with k edges starts at p.
        let mut reach = vec![vec![true; self.pieces]];
        for k in 0..length {
            reach.push((0..self.pieces).map(|p| next[p].iter().any(|&q| reach[k][q])).collect());
        }
        let starts = (0..self.pieces).filter(|&p| reach[length][p]);
        let path = |start: usize| {
            let mut path = vec![start];
            for k in (0..length).rev() {
                let at = path[path.len() - 1];
                let step = next[at].iter().copied().find(|&q| reach[k][q]);
                path.push(step.expect("a path of this length starts here"));
            }
            path
        };
        starts.map(path).collect()
    }
}

/// The part of the domain that is looked at.
struct Inside {
    /// How many signs must be positive.
    neurons: usize,
}

impl Inside {
    fn new(complex: &PolyhedralComplex, prefix: usize) -> Self {
        let layers = complex.frame.flat.layers.iter().take(prefix).filter(|layer| layer.relu);
        Inside { neurons: layers.map(|layer| layer.width).sum() }
    }

    /// Whether a cell lies in the open part.
    fn holds(&self, complex: &PolyhedralComplex, dimension: usize, cell: usize) -> bool {
        let cells = complex.level(dimension);
        cells.sides(cell) == 0 && cells.signs(cell)[..self.neurons].iter().all(|&sign| sign == Sign::Positive)
    }

    /// The component of every region: regions are joined across facets without level.
    fn components(
        &self,
        complex: &PolyhedralComplex,
        facets: &[WeightedFacet],
        level: &[Option<usize>],
    ) -> Vec<usize> {
        let d = complex.factor_dimension();
        let mut parent: Vec<usize> = (0..complex.level(d).len()).collect();
        fn find(parent: &mut [usize], mut at: usize) -> usize {
            while parent[at] != at {
                parent[at] = parent[parent[at]];
                at = parent[at];
            }
            at
        }
        for (facet, level) in facets.iter().zip(level) {
            if level.is_none() && self.holds(complex, d - 1, facet.facet) {
                let [a, b] = facet.regions.map(|r| find(&mut parent, r));
                parent[a.max(b)] = a.min(b);
            }
        }
        (0..parent.len()).map(|r| find(&mut parent, r)).collect()
    }
}

/// The hyperplanes of the visible facets inside.
struct Planes {
    of: Vec<Option<usize>>,
    equations: Vec<(Vec<Rational>, Rational)>,
}

impl Planes {
    fn new(
        complex: &PolyhedralComplex,
        facets: &[WeightedFacet],
        inside: &Inside,
        deadline: &Deadline,
    ) -> Result<Self, LimitReached> {
        let d = complex.factor_dimension();
        let mut numbers: BTreeMap<(Vec<Rational>, Rational), usize> = BTreeMap::new();
        let mut planes = Planes { of: vec![None; facets.len()], equations: Vec::new() };
        for (at, facet) in facets.iter().enumerate() {
            if !facet.visible || !inside.holds(complex, d - 1, facet.facet) {
                continue;
            }
            deadline.check(WHEN)?;
            let equation = equation(complex, facet);
            let next = planes.equations.len();
            let number = *numbers.entry(equation.clone()).or_insert(next);
            if number == next {
                planes.equations.push(equation);
            }
            planes.of[at] = Some(number);
        }
        Ok(planes)
    }
}

/// Whether the facets of a group fill their hyperplane inside the component: every ridge inside is shared by
/// two of them.
fn is_full(
    complex: &PolyhedralComplex,
    facets: &[WeightedFacet],
    inside: &Inside,
    levelled: &[bool],
    group: &[usize],
) -> bool {
    let d = complex.factor_dimension();
    if d < 2 {
        return true;
    }
    let mut shared: BTreeMap<u32, usize> = BTreeMap::new();
    for &at in group {
        for &ridge in complex.facets(d - 1, facets[at].facet) {
            *shared.entry(ridge).or_default() += 1;
        }
    }
    shared.iter().all(|(&ridge, &count)| {
        let boundary = !inside.holds(complex, d - 2, ridge as usize)
            || complex.level(d - 2).cofacets(ridge as usize).iter().any(|&f| levelled[f as usize]);
        boundary || count == 2
    })
}
