//! Boundaries of neurons in the complex of a function of two inputs.
//!
//! A side of a cell is an *arc* of the boundary of a neuron. Where two boundaries cross, four arcs meet, and opposite ones
//! belong together: within a cell of the layers before it a boundary is a line, and at the boundary of another neuron it
//! changes its direction, but crosses it. It bends there if and only if the other neuron is of a layer before; so of two
//! boundaries that cross one is straight, and both are if their neurons are of one layer. Arcs that belong together are a
//! *chain*: all of what is seen of a boundary, or a part of it.

use super::super::open::{Open, Piece, solve};
use super::super::prefix::Prefix;
use super::cell::{Affine, Point, along, cross, dot, minus, norm};
use super::explore::Plane;

/// How far apart, relative to the radius, corners are that are taken for one.
const SAME: f64 = 3e-6;

/// Sines of angles up to this are taken for 0, and those above for a bend.
const STRAIGHT: f64 = 1e-7;

/// Arcs whose direction is known less exactly tell nothing.
const INEXACT: f64 = 1e-7;

/// A side of two cells.
#[derive(Clone, Debug)]
pub(super) struct Arc {
    /// Its ends.
    pub ends: [Point; 2],
    /// A normal, of length one.
    pub normal: Point,
    /// How exactly its direction is known.
    pub error: f64,
    /// Whether the function is constant on one side.
    pub dark: bool,
    /// The chain it belongs to.
    pub chain: usize,
}

impl Arc {
    fn middle(&self) -> Point {
        along(self.ends[0], 0.5, minus(self.ends[1], self.ends[0]))
    }
}

/// A corner at which two boundaries cross: arcs that belong together, and whether they lie on a line.
#[derive(Clone, Debug)]
struct Crossing {
    /// Two arcs of one boundary and two of another; of the second one only the first arc is seen where the function is
    /// constant beyond.
    pairs: [(usize, Option<usize>, bool); 2],
}

/// All arcs, and where they cross.
pub(in super::super) struct Arcs {
    arcs: Vec<Arc>,
    crossings: Vec<Crossing>,
    chains: usize,
    radius: f64,
}

impl Arcs {
    /// The arcs of the complex.
    pub fn of(plane: &Plane) -> Arcs {
        let mut corners: Vec<Point> = Vec::new();
        let mut at_corner: Vec<Vec<usize>> = Vec::new();
        let mut arcs: Vec<Arc> = Vec::new();
        let mut place = |x: Point| {
            let same = |y: &Point| norm(minus(x, *y)) < SAME * (plane.radius + norm(x));
            corners.iter().position(same).unwrap_or_else(|| {
                corners.push(x);
                corners.len() - 1
            })
        };
        for (a, cell) in plane.cells.iter().enumerate().filter(|(_, cell)| !cell.dark) {
            let polygon = plane.polygon(a);
            for (i, corner) in polygon.iter().enumerate() {
                let Some(b) = corner.beyond else { continue };
                let other = &plane.cells[b];
                // The other cell has this side too.
                if b < a && !other.dark && plane.polygon(b).iter().any(|corner| corner.beyond == Some(a)) {
                    continue;
                }
                let ends = [corner.at, polygon[(i + 1) % polygon.len()].at];
                let (from, to) = (place(ends[0]), place(ends[1]));
                if from == to {
                    continue;
                }
                let jump = minus(other.affine.gradient, cell.affine.gradient);
                let size = norm(jump);
                let rough = |affine: &Affine| affine.noise / affine.base;
                let error = (rough(&cell.affine) + rough(&other.affine)) / size;
                at_corner.resize_with(at_corner.len().max(from.max(to) + 1), Vec::new);
                at_corner[from].push(arcs.len());
                at_corner[to].push(arcs.len());
                let normal = [jump[0] / size, jump[1] / size];
                arcs.push(Arc { ends, normal, error, dark: other.dark, chain: 0 });
            }
        }
        let limit = plane.reach * (1.0 - 1e-9);
        let mut crossings = Vec::new();
        for (k, around) in at_corner.iter().enumerate() {
            if corners[k].iter().any(|v| v.abs() > limit) {
                continue;
            }
            crossings.extend(crossing(&arcs, around, corners[k]));
        }
        let mut all = Arcs { arcs, crossings, chains: 0, radius: plane.radius };
        all.link();
        all
    }

    /// Numbers the chains.
    fn link(&mut self) {
        let mut classes = Classes::of(self.arcs.len());
        for crossing in &self.crossings {
            for (first, second, _) in &crossing.pairs {
                if let Some(second) = second {
                    classes.unite(*first, *second);
                }
            }
        }
        let mut numbers = vec![usize::MAX; self.arcs.len()];
        for i in 0..self.arcs.len() {
            let r = classes.root(i);
            if numbers[r] == usize::MAX {
                numbers[r] = self.chains;
                self.chains += 1;
            }
            self.arcs[i].chain = numbers[r];
        }
    }

    /// Whether an arc lies on the boundary of a known neuron.
    fn is_known(&self, prefix: &Prefix, arc: &Arc) -> bool {
        let x = arc.middle();
        prefix.local(&x).walls.iter().any(|(z, g)| {
            let g = [g[0], g[1]];
            let size = norm(g);
            size > 0.0
                && z.abs() < 1e-6 * size * (self.radius + norm(x))
                && cross(g, arc.normal).abs() < 1e-5 * size
        })
    }

    /// The boundaries of the layer behind the known ones: of those that are not known the ones that bend at known ones
    /// only. Boundaries that cross and are straight there are of one layer; so what crosses one of a layer further on
    /// like that is left out, too.
    pub fn opens(&self, known: &Prefix, features: &Prefix) -> Boundaries {
        let is_known: Vec<bool> = self.arcs.iter().map(|arc| self.is_known(known, arc)).collect();
        let mut count = vec![[0usize; 2]; self.chains];
        for (arc, known) in self.arcs.iter().zip(&is_known) {
            count[arc.chain][0] += 1;
            count[arc.chain][1] += usize::from(*known);
        }
        let known: Vec<bool> = count.iter().map(|c| 2 * c[1] > c[0]).collect();
        let mut classes = Classes::of(self.chains);
        let (mut further, mut walls) = (vec![false; self.chains], vec![false; self.chains]);
        for crossing in &self.crossings {
            let chains = crossing.pairs.map(|(arc, ..)| self.arcs[arc].chain);
            if chains.iter().any(|&chain| known[chain]) {
                continue;
            }
            let straight = crossing.pairs.map(|(.., straight)| straight);
            let whole = crossing.pairs.iter().all(|(_, other, _)| other.is_some());
            if straight[0] && straight[1] && whole {
                classes.unite(chains[0], chains[1]);
            }
            for k in 0..2 {
                if !straight[k] {
                    further[chains[k]] = true;
                    walls[chains[1 - k]] = true;
                }
            }
        }
        let roots: Vec<usize> = (0..self.chains).map(|chain| classes.root(chain)).collect();
        let mut class_further = vec![false; self.chains];
        let mut size = vec![0; self.chains];
        for chain in 0..self.chains {
            class_further[roots[chain]] |= further[chain];
            size[roots[chain]] += count[chain][0];
        }
        let candidates: Vec<usize> =
            (0..self.chains).filter(|&chain| !known[chain] && !class_further[roots[chain]]).collect();
        let largest = candidates.iter().map(|&chain| size[roots[chain]]).max().unwrap_or(0);
        let mut found = Boundaries { sure: Vec::new(), doubtful: Vec::new() };
        for chain in candidates {
            let Some(open) = solve(features, &self.pieces(chain)) else { continue };
            if size[roots[chain]] == largest || walls[chain] {
                found.sure.push(open);
            } else {
                found.doubtful.push(open);
            }
        }
        found.sure.sort_by_key(|open| std::cmp::Reverse(open.pieces.len()));
        found
    }

    /// The pieces of a chain, with gradients of one scale.
    fn pieces(&self, chain: usize) -> Vec<Piece> {
        let mine: Vec<usize> = (0..self.arcs.len()).filter(|&i| self.arcs[i].chain == chain).collect();
        let length = |i: usize| norm(minus(self.arcs[i].ends[1], self.arcs[i].ends[0]));
        let Some(&first) = mine.iter().max_by(|&&i, &&k| length(i).total_cmp(&length(k))) else {
            return Vec::new();
        };
        let mut gradient: Vec<Option<Point>> = vec![None; self.arcs.len()];
        gradient[first] = Some(self.arcs[first].normal);
        let mut queue = vec![first];
        while let Some(from) = queue.pop() {
            let Some(g) = gradient[from] else { continue };
            for crossing in &self.crossings {
                for k in 0..2 {
                    let (a, b, straight) = crossing.pairs[k];
                    let Some(b) = b else { continue };
                    let to = if a == from {
                        b
                    } else if b == from {
                        a
                    } else {
                        continue;
                    };
                    if gradient[to].is_some() {
                        continue;
                    }
                    let n = self.arcs[to].normal;
                    let factor = if straight {
                        dot(g, n)
                    } else {
                        let wall = self.arcs[crossing.pairs[1 - k].0].normal;
                        cross(g, wall) / cross(n, wall)
                    };
                    gradient[to] = Some([factor * n[0], factor * n[1]]);
                    queue.push(to);
                }
            }
        }
        mine.iter()
            .filter(|&&i| self.arcs[i].error < INEXACT)
            .filter_map(|&i| {
                let g = gradient[i]?;
                Some(Piece { x: self.arcs[i].middle().to_vec(), g: g.to_vec() })
            })
            .collect()
    }
}

/// The boundaries of all neurons.
#[derive(Default)]
pub(in super::super) enum Traced {
    /// They are not wanted.
    #[default]
    No,
    /// They are wanted, once it is known that there is more than one hidden layer.
    Wanted,
    /// They are too many.
    TooMany,
    /// Here they are.
    Yes(Arcs),
}

impl Traced {
    /// Whether they are there.
    pub fn is_at_hand(&self) -> bool {
        matches!(self, Traced::Yes(_))
    }

    /// The boundaries, if they are there.
    pub fn arcs(&self) -> Option<&Arcs> {
        match self {
            Traced::Yes(arcs) => Some(arcs),
            _ => None,
        }
    }
}

/// Boundaries of one layer.
pub(in super::super) struct Boundaries {
    /// Those that cross each other, and those at which others bend.
    pub sure: Vec<Open>,
    /// Others, which may be those of neurons further on.
    pub doubtful: Vec<Open>,
}

/// Sets of numbers.
struct Classes {
    parents: Vec<usize>,
}

impl Classes {
    /// Every number is a set of its own.
    fn of(count: usize) -> Self {
        Classes { parents: (0..count).collect() }
    }

    /// The number by which a set is called.
    fn root(&mut self, mut i: usize) -> usize {
        while self.parents[i] != i {
            self.parents[i] = self.parents[self.parents[i]];
            i = self.parents[i];
        }
        i
    }

    /// Makes two sets one.
    fn unite(&mut self, i: usize, k: usize) {
        let (i, k) = (self.root(i), self.root(k));
        self.parents[i] = k;
    }
}

/// How the arcs around a corner belong together.
fn crossing(arcs: &[Arc], around: &[usize], corner: Point) -> Option<Crossing> {
    let straight = |i: usize, k: usize| {
        let (a, b) = (&arcs[i], &arcs[k]);
        cross(a.normal, b.normal).abs() < STRAIGHT + a.error + b.error
    };
    let mut order: Vec<(f64, usize)> = around
        .iter()
        .map(|&i| {
            let way = minus(arcs[i].middle(), corner);
            (way[1].atan2(way[0]), i)
        })
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at = |i: usize| order[i].1;
    match order.len() {
        4 => {
            let pairs = [(0, 2), (1, 3)].map(|(i, k)| (at(i), Some(at(k)), straight(at(i), at(k))));
            pairs.iter().any(|(.., straight)| *straight).then_some(Crossing { pairs })
        }
        3 => {
            let dark: Vec<usize> = (0..3).filter(|&i| arcs[at(i)].dark).map(at).collect();
            let lit = (0..3).find(|&i| !arcs[at(i)].dark).map(at)?;
            let [a, b] = dark[..] else { return None };
            Some(Crossing { pairs: [(a, Some(b), straight(a, b)), (lit, None, true)] })
        }
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use fiberscope_core::{Activation, Layer, Network};

    use super::super::super::first::Row;
    use super::super::super::inquiry::{Inquiry, measure_noise};
    use super::super::super::prefix::Rows;
    use super::super::super::{ExtractOptions, NetworkOracle};
    use super::*;

    /// Rows of numbers without a pattern between -1 and 1.
    fn rows(count: usize, width: usize, seed: usize) -> Vec<Row> {
        let number = |k: usize| {
            let x = ((1000 * seed + k) as f64 * 12.9898).sin() * 43_758.545_3;
            2.0 * (x - x.floor()) - 1.0
        };
        let row = |j: usize| {
            let w = (0..width).map(|i| number(j * (width + 1) + i)).collect();
            (w, 0.5 * number(j * (width + 1) + width))
        };
        (0..count).map(row).collect()
    }

    #[test]
    fn boundaries_are_told_apart_by_where_they_bend() {
        let parts = [rows(5, 2, 1), rows(5, 5, 2), rows(4, 5, 3), rows(1, 4, 4)];
        let layers = parts.iter().enumerate().map(|(l, part)| {
            let all = Rows::new(part).unwrap();
            let activation = if l == 3 { Activation::Identity } else { Activation::Relu };
            Layer::new(all.weight, all.bias, activation)
        });
        let mut oracle = NetworkOracle::new(Network::new(layers.collect()).unwrap());
        let options = ExtractOptions::new();
        let mut inquiry = Inquiry::new(&mut oracle, &options).unwrap();
        measure_noise(&mut inquiry).unwrap();
        let plane = Plane::explore(&mut inquiry).unwrap().unwrap();
        assert_eq!(plane.open, 0);
        let arcs = Arcs::of(&plane);
        let mut prefix = Prefix::empty(2);
        for (l, part) in parts[..3].iter().enumerate() {
            let found = arcs.opens(&prefix, &prefix).sure;
            assert!(found.len() >= 2, "{} boundaries of layer {l}", found.len());
            for open in &found {
                // All pieces are of one neuron of the layer.
                let on = |(w, b): &Row, piece: &Piece| {
                    let hidden = prefix.hidden(&piece.x);
                    (w.iter().zip(&hidden).map(|(w, h)| w * h).sum::<f64>() + b).abs() < 1e-7
                };
                assert!(part.iter().any(|row| open.pieces.iter().all(|piece| on(row, piece))), "layer {l}");
            }
            prefix = prefix.extended(Rows::new(part).unwrap());
        }
        let all: Vec<bool> = arcs.arcs.iter().map(|arc| arcs.is_known(&prefix, arc)).collect();
        assert!(all.iter().all(|known| *known), "all arcs are of neurons");
    }
}
