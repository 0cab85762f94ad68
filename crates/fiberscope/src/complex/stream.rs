//! Counting the cells of large complexes with little memory.
//!
//! The domain is tiled by boxes; a box with too many vertices is cut into several with about equally many.
//! Each box is subdivided and counted by itself ([`super::count`] says how counts of tiles add up) and
//! forgotten. What is left to do is a list of boxes, so that a count can be stopped, or killed, and taken up
//! again. The tiles do not depend on the number of threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fiberscope_core::{Digest, Domain, Network};
use rayon::prelude::*;

use super::ComplexError;
use super::arbiter::Arbiter;
use super::count::{CellCounts, Tally, tally};
use super::count_state::{CountProgress, CountState};
use super::frame::Frame;
use super::lattice::Lattice;
use super::options::ComplexOptions;
use super::skeleton::{Skeleton, Stop};
use super::subdivide::{Room, Wanted, subdivide};
use super::tile::{PLACE, Tile};

/// How the cells were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellMethod {
    /// Subdivision of edges in doubles, certified.
    Edges,
    /// Subdivision of all cells in exact arithmetic: the complex is not simple.
    Cells,
    /// From region to region across facets.
    Walk,
}

impl CellMethod {
    /// The name in outputs.
    pub fn name(self) -> &'static str {
        match self {
            CellMethod::Edges => "edges",
            CellMethod::Cells => "cells",
            CellMethod::Walk => "walk",
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
        method: CellMethod,
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

/// The most vertices of the first, undivided attempt.
const FIRST: usize = 1 << 17;
/// The fewest vertices that a tile has room for.
const SMALLEST: usize = 1 << 13;
/// About the bytes that a tile may take: little more than fits into a cache.
const TILE: usize = 1 << 24;
/// How many tiles there are at least after the first attempt.
const TILES: usize = 16;
/// How many tiles are counted between two savings of the state.
const BATCH: usize = 32;

/// Counts the cells of the complex of a network.
///
/// ```
/// use fiberscope::complex::{ComplexOptions, CountOutcome, count_cells};
/// use fiberscope::core::{Activation, Domain, Layer, Matrix, Network};
///
/// let hidden = Layer::new(Matrix::from_rows(&[[1.0, 0.5], [-1.0, 2.0]]).unwrap(), vec![0.1, 0.2], Activation::Relu);
/// let output = Layer::new(Matrix::from_rows(&[[1.0, 1.0]]).unwrap(), vec![0.0], Activation::Identity);
/// let network = Network::new(vec![hidden, output]).unwrap();
/// let outcome = count_cells(&network, &Domain::Space, &ComplexOptions::new()).unwrap();
/// let CountOutcome::Complete { counts, .. } = outcome else { panic!() };
/// assert_eq!((counts.all, counts.bounded), (vec![1, 4, 4], vec![1, 0, 0]));
/// ```
pub fn count_cells(
    network: &Network,
    domain: &Domain,
    options: &ComplexOptions,
) -> Result<CountOutcome, ComplexError> {
    let mut frame = Frame::with_corners(network, domain)?;
    let digest = Digest::of(network).to_string();
    let mut start = None;
    if let Some(state) = &options.resume {
        if state.network != digest || state.domain != *domain || !state.fits(frame.dimension()) {
            return Err(ComplexError::OtherState);
        }
        frame.sides.clone_from(&state.sides);
        frame.arbiter = frame.arbiter.with_sides(&frame.sides);
        start = Some(state.clone());
    }
    let run = Run::new(options, room(&frame));
    loop {
        let mut state = start.take().unwrap_or_else(|| CountState {
            network: digest.clone(),
            domain: domain.clone(),
            sides: frame.sides.clone(),
            pending: vec![Tile::whole(&frame)],
            tally: Tally::new(frame.dimension()),
        });
        match run.tiles(&frame, &mut state) {
            Tiled::Complete => {
                let counts = state.tally.counts(frame.extra);
                return Ok(CountOutcome::Complete { counts, method: CellMethod::Edges });
            }
            Tiled::Irregular => return run.lattice(&mut frame),
            Tiled::Wider(reach) => frame.widen_beyond(reach)?,
            Tiled::Stopped => {
                let regions = run.seen(&state);
                let explored = state.explored(&frame);
                return Ok(CountOutcome::Stopped { regions, explored, state: Some(state) });
            }
        }
    }
}

/// The most vertices of the undivided domain and of a tile.
fn room(frame: &Frame) -> [usize; 2] {
    let widest = frame.flat.layers.iter().map(|layer| layer.width).max().unwrap_or(1);
    let tile = (TILE / (8 * widest + 64 * frame.dimension())).max(SMALLEST);
    [FIRST.min(2 * tile), tile]
}

/// How a tile ended.
pub(super) enum TileEnd {
    Counted(Tally),
    Split(Vec<Tile>),
    Irregular,
    Wider(f64),
    Open(Tile),
}

/// How the tiling ended.
enum Tiled {
    Complete,
    Irregular,
    Wider(f64),
    Stopped,
}

/// What all tiles of a count share.
pub(super) struct Run<'a> {
    options: &'a ComplexOptions<'a>,
    /// Where cuts lie between two points.
    place: f64,
    stopped: AtomicBool,
    /// Regions of finished tiles.
    regions: AtomicU64,
    /// Regions that the attempt without tiles found, and those of tiles that were stopped.
    first: AtomicU64,
    open: AtomicU64,
    /// The most vertices of the undivided domain and of a tile.
    most: [usize; 2],
}

impl<'a> Run<'a> {
    fn new(options: &'a ComplexOptions<'a>, most: [usize; 2]) -> Self {
        Run {
            most,
            options,
            place: PLACE,
            stopped: AtomicBool::new(false),
            regions: AtomicU64::new(0),
            first: AtomicU64::new(0),
            open: AtomicU64::new(0),
        }
    }

    /// A run on tiles that fit into a cache, with cuts at this place between two points.
    pub fn cutting(options: &'a ComplexOptions<'a>, frame: &Frame, place: f64) -> Self {
        Run { place, ..Run::new(options, room(frame)) }
    }

    /// Whether to go on, with so many regions in hand.
    pub fn go_on(&self, regions: u64) -> bool {
        let late = self.options.deadline.is_past();
        let full = self
            .options
            .regions
            .is_some_and(|most| self.regions.load(Ordering::Relaxed).saturating_add(regions) > most);
        if late || full {
            self.stopped.store(true, Ordering::Relaxed);
        }
        !self.stopped.load(Ordering::Relaxed)
    }

    fn tiles(&self, frame: &Frame, state: &mut CountState) -> Tiled {
        let d = frame.dimension();
        let mut first = state.pending.len() == 1;
        while !state.pending.is_empty() {
            self.regions.store(state.tally.all[d].max(0) as u64, Ordering::Relaxed);
            if !self.go_on(0) {
                return Tiled::Stopped;
            }
            let most = self.most[usize::from(!first)];
            let batch = &state.pending[state.pending.len().saturating_sub(BATCH)..];
            let ends: Vec<TileEnd> =
                batch.par_iter().map(|tile| self.tile(frame, tile, most, first)).collect();
            state.pending.truncate(state.pending.len().saturating_sub(BATCH));
            for end in ends {
                match end {
                    TileEnd::Counted(tally) => state.tally.add(&tally),
                    TileEnd::Split(parts) => state.pending.extend(parts),
                    TileEnd::Open(tile) => state.pending.push(tile),
                    TileEnd::Irregular => return Tiled::Irregular,
                    TileEnd::Wider(reach) => return Tiled::Wider(reach),
                }
            }
            first = false;
            let (explored, regions) = (state.explored(frame), self.seen(state));
            self.options.progress.report(CountProgress { explored, regions });
            self.options.keeper.keep(state);
        }
        Tiled::Complete
    }

    /// About how many regions were seen: those of tiles that are finished or were stopped, or what the attempt
    /// without tiles found, which they are a part of.
    fn seen(&self, state: &CountState) -> u64 {
        let counted = state.tally.all.last().map_or(0, |&regions| regions.max(0) as u64);
        (counted + self.open.load(Ordering::Relaxed)).max(self.first.load(Ordering::Relaxed))
    }

    /// Counts the cells of a tile that is not the whole domain.
    pub fn part(&self, frame: &Frame, tile: &Tile) -> TileEnd {
        self.tile(frame, tile, self.most[1], false)
    }

    fn tile(&self, frame: &Frame, tile: &Tile, most: usize, first: bool) -> TileEnd {
        if !self.go_on(0) {
            return TileEnd::Open(tile.clone());
        }
        let d = frame.dimension() as u64;
        // A simple complex has about as many regions as vertices; corners of the box aside.
        let found = AtomicU64::new(0);
        let go_on = |vertices: usize| {
            let regions = (vertices as u64).saturating_sub(1 << d) / (d + 1);
            found.store(regions, Ordering::Relaxed);
            if first {
                self.first.store(regions, Ordering::Relaxed);
                self.options.progress.report(CountProgress { explored: 0.0, regions });
            }
            self.go_on(regions)
        };
        let arbiter = frame.arbiter.with_sides(&tile.sides);
        let room = if first { Room { most, expected: 1.25 * most as f64 } } else { Room::up_to(most) };
        let wanted = if frame.whole { Wanted::Skeleton } else { Wanted::Vertices };
        match subdivide(&frame.flat, &arbiter, &tile.sides, wanted, room, &go_on) {
            Err(Stop::Irregular | Stop::TooFar(_)) => TileEnd::Irregular,
            Err(Stop::TooMany(..)) if self.stopped.load(Ordering::Relaxed) => {
                self.open.fetch_add(found.load(Ordering::Relaxed), Ordering::Relaxed);
                TileEnd::Open(tile.clone())
            }
            Err(Stop::TooMany(guess, points)) => {
                let parts = (1.6 * guess / self.most[1] as f64).clamp(2.0, 1024.0) as usize;
                let parts = if first { parts.max(TILES) } else { parts.min(16) };
                TileEnd::Split(tile.parts(&points, parts, self.place))
            }
            Ok(skeleton) => self.finish_tile(frame, tile, &skeleton, &arbiter),
        }
    }

    fn finish_tile(&self, frame: &Frame, tile: &Tile, skeleton: &Skeleton, arbiter: &Arbiter) -> TileEnd {
        let kinds = tile.kinds();
        if frame.whole
            && let Some(reach) = frame.outside(skeleton, arbiter, &kinds)
        {
            return TileEnd::Wider(reach);
        }
        let tally = tally(skeleton, frame.flat.neurons, &kinds);
        let regions = tally.all[frame.dimension()].max(0) as u64;
        self.regions.fetch_add(regions, Ordering::Relaxed);
        TileEnd::Counted(tally)
    }

    fn lattice(&self, frame: &mut Frame) -> Result<CountOutcome, ComplexError> {
        self.regions.store(0, Ordering::Relaxed);
        let go_on = |regions: usize| {
            self.first.store(regions as u64, Ordering::Relaxed);
            self.options.progress.report(CountProgress { explored: 0.0, regions: regions as u64 });
            self.go_on(regions as u64)
        };
        Ok(match Lattice::of_frame(frame, &go_on)? {
            Some(lattice) => {
                CountOutcome::Complete { counts: lattice.counts(frame), method: CellMethod::Cells }
            }
            None => {
                let regions = self.first.load(Ordering::Relaxed);
                CountOutcome::Stopped { regions, explored: 0.0, state: None }
            }
        })
    }
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
                let options = ComplexOptions::new();
                let count = |most: [usize; 2]| {
                    let run = Run::new(&options, most);
                    let mut state = CountState {
                        network: String::new(),
                        domain: domain.clone(),
                        sides: frame.sides.clone(),
                        pending: vec![Tile::whole(&frame)],
                        tally: Tally::new(d),
                    };
                    match run.tiles(&frame, &mut state) {
                        Tiled::Complete => state.tally.counts(0),
                        _ => panic!("the complex is simple and the box wide"),
                    }
                };
                let whole = count([usize::MAX; 2]);
                assert_eq!(count([1, usize::MAX]), whole, "{widths:?} {domain:?}");
                assert_eq!(count([1, 60]), whole, "{widths:?} {domain:?}");
            }
        }
    }

    /// A count that is stopped tells no more regions than there are, and no part of the domain that is not finished.
    #[test]
    fn stopped_counts_are_parts() {
        let network = network(&[2, 9, 6, 1], 3);
        let domain = Domain::from_bounds(&[(-1.0, 1.0); 2]).unwrap();
        let frame = Frame::new(&network, &domain).unwrap();
        let CountOutcome::Complete { counts, .. } =
            count_cells(&network, &domain, &ComplexOptions::new()).unwrap()
        else {
            panic!("there is no limit")
        };
        for limit in 0..counts.regions() {
            let options = ComplexOptions::new().regions(limit);
            let run = Run::new(&options, [60, 20]);
            let mut state = CountState {
                network: String::new(),
                domain: domain.clone(),
                sides: frame.sides.clone(),
                pending: vec![Tile::whole(&frame)],
                tally: Tally::new(2),
            };
            assert!(matches!(run.tiles(&frame, &mut state), Tiled::Stopped));
            let (seen, explored) = (run.seen(&state), state.explored(&frame));
            assert!(seen <= counts.regions() && seen as i64 >= state.tally.all[2], "{limit}: {seen}");
            assert!((0.0..1.0).contains(&explored) && (explored > 0.0) == (state.tally.all[0] > 0));
        }
    }
}
