//! Counting the cells of large complexes with little memory.
//!
//! The domain is tiled by boxes; a box with too many vertices is cut in two across its longest side. Each box is subdivided, certified and
//! counted by itself ([`super::count`] says how counts of tiles add up) and forgotten. What is left to do is a list of boxes, so that
//! a count can be stopped and taken up again. The tiles do not depend on the number of threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fiberscope_core::{Digest, Domain, Network, Rational};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::ComplexError;
use super::certify::{Certified, certify};
use super::count::{CellCounts, SideKind, Tally, tally};
use super::frame::Frame;
use super::lattice::Lattice;
use super::oracle::Oracle;
use super::skeleton::{Skeleton, Stop, subdivide};

/// When a computation gives up.
#[derive(Clone, Copy, Debug, Default)]
pub struct ComplexLimits {
    /// The longest time.
    pub time: Option<Duration>,
    /// The most regions.
    pub regions: Option<u64>,
}

/// How far a count is.
#[derive(Clone, Copy, Debug)]
pub struct CountProgress {
    /// The part of the domain's volume that is finished.
    pub explored: f64,
    /// The regions counted so far, roughly.
    pub regions: u64,
}

/// How the cells were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Subdivision of edges in doubles, certified.
    Edges,
    /// Subdivision of all cells in exact arithmetic: the complex is not simple.
    Cells,
    /// From region to region across facets.
    Walk,
}

impl Method {
    /// The name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Method::Edges => "edges",
            Method::Cells => "cells",
            Method::Walk => "walk",
        }
    }
}

/// What a count found.
#[derive(Clone, Debug)]
#[must_use]
pub enum CountOutcome {
    /// All cells.
    Complete {
        /// Their numbers.
        counts: CellCounts,
        /// How they were found.
        method: Method,
    },
    /// A limit was reached first.
    Stopped {
        /// The regions counted so far, roughly.
        regions: u64,
        /// The part of the domain's volume that is finished.
        explored: f64,
        /// Where to go on; only for boxes whose complex is simple so far.
        state: Option<CountState>,
    },
}

/// A count that was stopped.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CountState {
    network: String,
    domain: Domain,
    sides: Vec<[f64; 2]>,
    pending: Vec<Tile>,
    tally: Tally,
}

/// A box of the tiling.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Tile {
    sides: Vec<[f64; 2]>,
    kinds: Vec<[u8; 2]>,
}

/// The most vertices of the first, undivided attempt and of a tile.
const FIRST: usize = 1 << 15;
const TILE: usize = 1 << 19;
/// How many tiles there are at least after the first attempt.
const TILES: usize = 16;
/// The most inputs for which the corners of a box are listed.
const CORNERS: usize = 20;

/// Counts the cells of the complex of a network.
///
/// ```
/// use fiberscope::complex::{ComplexLimits, CountOutcome, count_cells};
/// use fiberscope::core::{Activation, Domain, Layer, Matrix, Network};
///
/// let hidden = Layer::new(Matrix::from_rows(&[[1.0, 0.5], [-1.0, 2.0]]).unwrap(), vec![0.1, 0.2], Activation::Relu);
/// let output = Layer::new(Matrix::from_rows(&[[1.0, 1.0]]).unwrap(), vec![0.0], Activation::Identity);
/// let network = Network::new(vec![hidden, output]).unwrap();
/// let outcome = count_cells(&network, &Domain::Space, &ComplexLimits::default(), None, &|_| ()).unwrap();
/// let CountOutcome::Complete { counts, .. } = outcome else { panic!() };
/// assert_eq!((counts.all, counts.bounded), (vec![1, 4, 4], vec![1, 0, 0]));
/// ```
pub fn count_cells(
    network: &Network,
    domain: &Domain,
    limits: &ComplexLimits,
    resume: Option<CountState>,
    progress: &(dyn Fn(CountProgress) + Sync),
) -> Result<CountOutcome, ComplexError> {
    let mut frame = Frame::new(network, domain)?;
    if frame.dimension() > CORNERS {
        return Err(ComplexError::TooManyInputs { inputs: frame.dimension(), most: CORNERS });
    }
    let run = Run::new(limits, progress, [FIRST, TILE]);
    let digest = Digest::of(network).to_string();
    let state = match resume {
        Some(state) if state.network != digest || state.domain != *domain => {
            return Err(ComplexError::OtherState);
        }
        Some(state) => Some(state),
        None => None,
    };
    loop {
        let (pending, total) = match &state {
            Some(state) => {
                frame.sides.clone_from(&state.sides);
                frame.oracle = Oracle::new(&frame.network, &frame.sides);
                (state.pending.clone(), state.tally.clone())
            }
            None => (vec![Tile::whole(&frame)], Tally::new(frame.dimension())),
        };
        match run.tiles(&frame, pending, total) {
            Tiled::Complete(tally) => {
                return Ok(CountOutcome::Complete {
                    counts: tally.counts(frame.extra),
                    method: Method::Edges,
                });
            }
            Tiled::Irregular => return run.lattice(&mut frame),
            Tiled::Wider(reach) => frame.widened(2.0 * reach.max(frame.reach())),
            Tiled::Stopped(pending, tally) => {
                let left: f64 = pending.iter().map(|tile| tile.share(&frame)).sum();
                let regions =
                    tally.all[frame.dimension()].max(0) as u64 + run.started.load(Ordering::Relaxed);
                let state = CountState {
                    network: digest,
                    domain: domain.clone(),
                    sides: frame.sides.clone(),
                    pending,
                    tally,
                };
                return Ok(CountOutcome::Stopped { regions, explored: 1.0 - left, state: Some(state) });
            }
        }
    }
}

impl Tile {
    fn whole(frame: &Frame) -> Self {
        Tile { sides: frame.sides.clone(), kinds: frame.kinds.iter().map(|pair| pair.map(code)).collect() }
    }

    /// The part of the domain's volume.
    fn share(&self, frame: &Frame) -> f64 {
        let part = |(own, all): (&[f64; 2], &[f64; 2])| (own[1] - own[0]) / (all[1] - all[0]);
        self.sides.iter().zip(&frame.sides).map(part).product()
    }

    fn kinds(&self) -> Vec<[SideKind; 2]> {
        self.kinds.iter().map(|pair| pair.map(kind)).collect()
    }

    /// Two tiles, cut across the side that is longest in proportion to the domain.
    fn halves(&self, frame: &Frame) -> [Tile; 2] {
        let length =
            |i: usize| (self.sides[i][1] - self.sides[i][0]) / (frame.sides[i][1] - frame.sides[i][0]);
        let axis = (0..self.sides.len()).max_by(|&i, &j| length(i).total_cmp(&length(j)).then(j.cmp(&i)));
        let axis = axis.expect("a box has sides");
        let [low, high] = self.sides[axis];
        // Not the middle, where symmetric networks have their folds.
        let middle = low + (high - low) * 0.487_654_321_234_567;
        let (mut lower, mut upper) = (self.clone(), self.clone());
        (lower.sides[axis][1], upper.sides[axis][0]) = (middle, middle);
        (lower.kinds[axis][1], upper.kinds[axis][0]) = (code(SideKind::Shared), code(SideKind::Neighbour));
        [lower, upper]
    }
}

const KINDS: [SideKind; 4] = [SideKind::Boundary, SideKind::Infinity, SideKind::Neighbour, SideKind::Shared];

fn code(kind: SideKind) -> u8 {
    KINDS.iter().position(|&k| k == kind).unwrap_or(0) as u8
}

fn kind(code: u8) -> SideKind {
    KINDS.get(code as usize).copied().unwrap_or(SideKind::Boundary)
}

/// How a tile ended.
enum TileEnd {
    Counted(Tally),
    Split([Tile; 2]),
    Irregular,
    Wider(f64),
    Open(Tile),
}

/// How the tiling ended.
enum Tiled {
    Complete(Tally),
    Irregular,
    Wider(f64),
    Stopped(Vec<Tile>, Tally),
}

struct Run<'a> {
    limits: &'a ComplexLimits,
    deadline: Option<Instant>,
    progress: &'a (dyn Fn(CountProgress) + Sync),
    stopped: AtomicBool,
    /// Regions of finished tiles, and of tiles that were stopped.
    regions: AtomicU64,
    started: AtomicU64,
    /// The most vertices of the undivided domain and of a tile.
    most: [usize; 2],
}

impl<'a> Run<'a> {
    fn new(
        limits: &'a ComplexLimits,
        progress: &'a (dyn Fn(CountProgress) + Sync),
        most: [usize; 2],
    ) -> Self {
        Run {
            most,
            limits,
            deadline: limits.time.and_then(|limit| Instant::now().checked_add(limit)),
            progress,
            stopped: AtomicBool::new(false),
            regions: AtomicU64::new(0),
            started: AtomicU64::new(0),
        }
    }

    /// Whether to go on, with so many regions in hand.
    fn go_on(&self, regions: u64) -> bool {
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let full = self
            .limits
            .regions
            .is_some_and(|most| self.regions.load(Ordering::Relaxed).saturating_add(regions) > most);
        if late || full {
            self.stopped.store(true, Ordering::Relaxed);
        }
        !self.stopped.load(Ordering::Relaxed)
    }

    fn tiles(&self, frame: &Frame, mut pending: Vec<Tile>, mut total: Tally) -> Tiled {
        let d = frame.dimension();
        self.regions.store(total.all[d].max(0) as u64, Ordering::Relaxed);
        let mut first = pending.len() == 1;
        while !pending.is_empty() {
            let most = self.most[usize::from(!first)];
            let ends: Vec<TileEnd> =
                pending.into_par_iter().map(|tile| self.tile(frame, tile, most)).collect();
            let mut next = Vec::new();
            for end in ends {
                match end {
                    TileEnd::Counted(tally) => total.add(&tally),
                    TileEnd::Split(halves) => next.extend(halves),
                    TileEnd::Open(tile) => next.push(tile),
                    TileEnd::Irregular => return Tiled::Irregular,
                    TileEnd::Wider(reach) => return Tiled::Wider(reach),
                }
            }
            while first && !next.is_empty() && next.len() < TILES {
                next = next.iter().flat_map(|tile| tile.halves(frame)).collect();
            }
            first = false;
            pending = next;
            let left: f64 = pending.iter().map(|tile| tile.share(frame)).sum();
            let regions = total.all[d].max(0) as u64;
            self.regions.store(regions, Ordering::Relaxed);
            (self.progress)(CountProgress { explored: 1.0 - left, regions });
            if !pending.is_empty() && !self.go_on(0) {
                return Tiled::Stopped(pending, total);
            }
        }
        Tiled::Complete(total)
    }

    fn tile(&self, frame: &Frame, tile: Tile, most: usize) -> TileEnd {
        if !self.go_on(0) {
            return TileEnd::Open(tile);
        }
        let d = frame.dimension() as u64;
        // A simple complex has about as many regions as vertices; corners of the box aside.
        let go_on = |vertices: usize| {
            let regions = (vertices as u64).saturating_sub(1 << d) / (d + 1);
            self.started.fetch_max(regions, Ordering::Relaxed);
            self.go_on(regions)
        };
        match subdivide(&frame.flat, &tile.sides, most, &go_on) {
            Err(Stop::Irregular) => TileEnd::Irregular,
            Err(Stop::TooMany) if self.stopped.load(Ordering::Relaxed) => TileEnd::Open(tile),
            Err(Stop::TooMany) => TileEnd::Split(tile.halves(frame)),
            Ok(skeleton) => self.finish_tile(frame, &tile, &skeleton),
        }
    }

    fn finish_tile(&self, frame: &Frame, tile: &Tile, skeleton: &Skeleton) -> TileEnd {
        let oracle;
        let oracle = if tile.sides == frame.sides {
            &frame.oracle
        } else {
            oracle = Oracle::new(&frame.network, &tile.sides);
            &oracle
        };
        let Some(certified) = certify(&frame.flat, oracle, skeleton, &tile.sides) else {
            return TileEnd::Irregular;
        };
        let kinds = tile.kinds();
        if frame.whole
            && let Some(reach) = frame.outside(skeleton, &certified, oracle, &kinds)
        {
            return TileEnd::Wider(reach);
        }
        let heights = Heights::new(frame, oracle, skeleton, &certified);
        let tally = tally(skeleton, frame.flat.neurons, &kinds, |e| heights.rises(e));
        let regions = tally.all[frame.dimension()].max(0) as u64;
        let sum = self.regions.fetch_add(regions, Ordering::Relaxed) + regions;
        (self.progress)(CountProgress { explored: 0.0, regions: sum });
        TileEnd::Counted(tally)
    }

    fn lattice(&self, frame: &mut Frame) -> Result<CountOutcome, ComplexError> {
        self.regions.store(0, Ordering::Relaxed);
        loop {
            let go_on = |regions: usize| {
                self.started.store(regions as u64, Ordering::Relaxed);
                (self.progress)(CountProgress { explored: 0.0, regions: regions as u64 });
                self.go_on(regions as u64)
            };
            let Some(lattice) = Lattice::new(&frame.network, &frame.flat, &frame.sides, usize::MAX, &go_on)
            else {
                let regions = self.started.load(Ordering::Relaxed);
                return Ok(CountOutcome::Stopped { regions, explored: 0.0, state: None });
            };
            if let Some(reach) = lattice.outside(frame) {
                frame.widened(2.0 * reach.max(frame.reach()));
                continue;
            }
            return Ok(CountOutcome::Complete { counts: lattice.counts(frame), method: Method::Cells });
        }
    }
}

/// A linear function that is constant on no edge, at every vertex.
pub(crate) struct Heights<'a> {
    frame: &'a Frame,
    oracle: &'a Oracle,
    skeleton: &'a Skeleton,
    value: Vec<f64>,
    error: Vec<f64>,
}

impl<'a> Heights<'a> {
    pub fn new(frame: &'a Frame, oracle: &'a Oracle, skeleton: &'a Skeleton, certified: &Certified) -> Self {
        let coefficients: Vec<f64> = (0..skeleton.dimension).map(coefficient).collect();
        let total: f64 = coefficients.iter().sum();
        let dot = |v: usize| skeleton.point(v).iter().zip(&coefficients).map(|(x, c)| c * x).sum::<f64>();
        let error = |v: usize| {
            let size = skeleton.point(v).iter().fold(0.0f64, |m, x| m.max(x.abs()));
            total * (certified.distance[v] + 1e-14 * size) * (1.0 + 1e-9)
        };
        Heights {
            frame,
            oracle,
            skeleton,
            value: (0..skeleton.len()).map(dot).collect(),
            error: (0..skeleton.len()).map(error).collect(),
        }
    }

    /// Whether the function is larger at the second end of an edge.
    pub fn rises(&self, e: usize) -> bool {
        let [a, b] = self.skeleton.edges[e].ends.map(|v| v as usize);
        let difference = self.value[b] - self.value[a];
        if difference.abs() > self.error[a] + self.error[b] {
            difference > 0.0
        } else {
            self.rises_exactly(a, b)
        }
    }

    /// Where doubles are not sure; on a tie the order of coordinates decides, which is a small change of the function.
    fn rises_exactly(&self, a: usize, b: usize) -> bool {
        let [p, q] = [a, b].map(|v| {
            self.oracle
                .vertex(&self.frame.flat, self.skeleton.zeros_of(v), self.skeleton.signs_of(v))
                .expect("a certified vertex exists")
        });
        let exact = |i: usize| Rational::from_f64(coefficient(i)).expect("a finite number");
        let terms = p.iter().zip(&q).enumerate().map(|(i, (p, q))| &exact(i) * &(q - p));
        match terms.sum::<Rational>().signum() {
            0 => q > p,
            sign => sign > 0,
        }
    }
}

fn coefficient(i: usize) -> f64 {
    0.5 + (0.618_033_988_749_894_9 * (i as f64 + 1.0)).fract()
}

#[cfg(test)]
mod tests {
    use fiberscope_core::{Activation, Layer, Matrix};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn network(widths: &[usize], seed: u64) -> Network {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let layers = widths.windows(2).enumerate().map(|(l, pair)| {
            let weight = Matrix::from_fn(pair[1], pair[0], |_, _| rng.random_range(-1.0..1.0));
            let bias = (0..pair[1]).map(|_| rng.random_range(-0.5..0.5)).collect();
            let last = l + 2 == widths.len();
            Layer::new(weight, bias, if last { Activation::Identity } else { Activation::Relu })
        });
        Network::new(layers.collect()).unwrap()
    }

    /// Tiles add up to the whole, whatever their size, on boxes and on the space.
    #[test]
    fn tiles_add_up() {
        for widths in [&[1, 9, 5, 1][..], &[2, 9, 6, 1], &[3, 7, 3, 1]] {
            let d = widths[0];
            for domain in [Domain::from_bounds(&vec![(-1.0, 1.0); d]).unwrap(), Domain::Space] {
                let network = network(widths, 3);
                let frame = {
                    let mut frame = Frame::new(&network, &domain).unwrap();
                    frame.widened_for_test(1e5);
                    frame
                };
                let limits = ComplexLimits::default();
                let count = |most: [usize; 2]| {
                    let run = Run::new(&limits, &|_| (), most);
                    match run.tiles(&frame, vec![Tile::whole(&frame)], Tally::new(d)) {
                        Tiled::Complete(tally) => tally.counts(0),
                        _ => panic!("the complex is simple and the box wide"),
                    }
                };
                let whole = count([usize::MAX; 2]);
                assert_eq!(count([1, usize::MAX]), whole, "{widths:?} {domain:?}");
                assert_eq!(count([1, 60]), whole, "{widths:?} {domain:?}");
            }
        }
    }
}
