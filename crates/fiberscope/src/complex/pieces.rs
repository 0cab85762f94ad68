//! A count of cells in pieces that are counted apart, on any machine, in any order.
//!
//! A cut `H = {x_i = c}` in general position to the complex (no vertex of it on `H`) makes of every `k`-cell that
//! it crosses two `k`-cells and one `(k-1)`-cell inside `H`. With `L`, `R` the complexes of the halves and `S`
//! that inside `H`,
//!
//! ```text
//! f_k = f_k(L) + f_k(R) - f_{k-1}(S) - 2 f_k(S).
//! ```
//!
//! The cells of `S` are those of `L` on its side `H`, so that no network is restricted, and rounded, to `H`: the
//! lower half contributes `f_k(L) - f_{k-1}(S) - f_k(S)` and the upper one `f_k(R) - f_k(S)`. Applied again and
//! again this is the sum over tiles of [`super::count`]. A piece is a list of tiles; what it contributes is a
//! [`CountPart`], and the parts of all pieces add up, whatever the cuts were.
//!
//! General position is checked exactly: where a tile is simple no vertex lies on one hyperplane too many; where
//! it is not, the cells are listed ([`Lattice::tally`]). If it fails, or if a box that stands for the space turns
//! out too small, the part says so, and the count begins again with other cuts ([`CountSum::again`]).

use fiberscope_core::{Domain, Network};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::ComplexError;
use super::count::{CellCounts, SideKind, Tally};
use super::frame::Frame;
use super::lattice::Lattice;
use super::options::ComplexOptions;
use super::skeleton::Stop;
use super::stream::{CellMethod, Run, TileEnd};
use super::subdivide::{Room, Wanted, subdivide};
use super::tile::{PLACE, Tile};
use crate::limit::Deadline;

/// A piece of a count: some tiles of the domain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountPiece {
    attempt: Attempt,
    /// The piece is not counted but cut into at least so many; 0 if it is counted.
    divide: usize,
    tiles: Vec<Tile>,
}

/// Which cuts are made, and how far a box that stands for the space reaches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attempt {
    number: u32,
    reach: Option<f64>,
}

impl Attempt {
    /// Where cuts lie between two points.
    fn place(&self) -> f64 {
        0.3 + 0.4 * (f64::from(self.number) * 0.618_033_988_749_894_9 + (PLACE - 0.3) / 0.4).fract()
    }
}

/// What a piece contributes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountPart {
    tally: Tally,
    /// Whether some cells were listed because the complex is not simple.
    listed: bool,
    trouble: Option<Trouble>,
}

/// Why an attempt is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Trouble {
    /// The box that stands for the space has to reach farther than this.
    Wider(f64),
    /// A cut meets a vertex.
    Misplaced,
}

/// The most regions of a tile whose cells are listed; more if the tile is small.
const LISTED: usize = 1 << 13;
/// The most vertices that are found to see where to cut.
const SAMPLE: usize = 1 << 14;
/// The most pieces that are handed back.
const LEFT: usize = 16;
/// The most attempts.
const ATTEMPTS: u32 = 24;

/// The pieces of a count on a domain, at least `count` if the domain can be cut.
pub fn count_pieces(
    network: &Network,
    domain: &Domain,
    count: usize,
    deadline: &Deadline,
) -> Result<Vec<CountPiece>, ComplexError> {
    let whole = CountPiece::whole(network, domain, count)?;
    match count_piece(network, domain, &whole, deadline)? {
        Some((_, pieces)) => Ok(pieces),
        None => Ok(vec![CountPiece { divide: 0, ..whole }]),
    }
}

/// What a piece contributes, and the pieces that are left when the deadline came; at least one tile is counted
/// or cut in any case. `None` if the work was stopped before.
pub fn count_piece(
    network: &Network,
    domain: &Domain,
    piece: &CountPiece,
    deadline: &Deadline,
) -> Result<Option<(CountPart, Vec<CountPiece>)>, ComplexError> {
    let frame = Frame::with_corners(network, domain)?.reaching(piece.attempt.reach);
    let d = frame.dimension();
    if !piece.tiles.iter().all(|tile| tile.fits(d)) {
        return Err(ComplexError::OtherState);
    }
    let options = ComplexOptions::new().deadline(deadline.endless());
    let run = Run::cutting(&options, &frame, piece.attempt.place());
    let mut part = CountPart { tally: Tally::new(d), listed: false, trouble: None };
    if piece.divide > 0 {
        let Some(tiles) = divided(&run, &frame, piece) else { return Ok(None) };
        return Ok(Some((part, piece.left(tiles, piece.divide.max(1) * 2))));
    }
    let mut pending = piece.tiles.clone();
    let batch = 2 * rayon::current_num_threads();
    let mut begun = false;
    while !(pending.is_empty() || begun && deadline.is_past()) {
        begun = true;
        let rest = pending.len().saturating_sub(batch);
        let count = |tile: &Tile| (self::count(&run, &frame, tile, piece.attempt.place()), tile.clone());
        let ends: Vec<(Option<End>, Tile)> = pending[rest..].par_iter().map(count).collect();
        pending.truncate(rest);
        for (end, tile) in ends {
            match end {
                None => pending.push(tile),
                Some(End::Split(tiles)) => pending.extend(tiles),
                Some(End::Trouble(trouble)) => {
                    part.trouble = Some(trouble);
                    return Ok(Some((part, Vec::new())));
                }
                Some(End::Counted(tally, listed)) => {
                    part.tally.add(&tally);
                    part.listed |= listed;
                }
            }
        }
        if options.deadline.is_past() {
            return Ok(None);
        }
    }
    Ok(Some((part, piece.left(pending, LEFT))))
}

impl CountPiece {
    /// The whole domain, to be cut into at least so many pieces.
    pub fn whole(network: &Network, domain: &Domain, pieces: usize) -> Result<Self, ComplexError> {
        let frame = Frame::with_corners(network, domain)?;
        Ok(CountPiece::of(&frame, Attempt { number: 0, reach: None }, pieces.max(1)))
    }

    fn of(frame: &Frame, attempt: Attempt, divide: usize) -> Self {
        CountPiece { attempt, divide, tiles: vec![Tile::whole(frame)] }
    }

    /// Tiles as at most so many pieces of the same attempt.
    fn left(&self, tiles: Vec<Tile>, most: usize) -> Vec<CountPiece> {
        let size = tiles.len().div_ceil(most).max(1);
        let piece =
            |tiles: &[Tile]| CountPiece { attempt: self.attempt.clone(), divide: 0, tiles: tiles.to_vec() };
        tiles.chunks(size).map(piece).collect()
    }
}

enum End {
    Counted(Tally, bool),
    Split(Vec<Tile>),
    Trouble(Trouble),
}

/// Counts a tile or cuts it; `None` if the work was stopped.
fn count(run: &Run, frame: &Frame, tile: &Tile, place: f64) -> Option<End> {
    Some(match run.part(frame, tile) {
        TileEnd::Counted(tally) => End::Counted(tally, false),
        TileEnd::Split(tiles) if tiles.len() > 1 => End::Split(tiles),
        // A tile that cannot be cut, for doubles are not fine enough.
        TileEnd::Split(_) => return list(run, frame, tile, place),
        TileEnd::Wider(reach) => End::Trouble(Trouble::Wider(reach)),
        TileEnd::Open(_) => return None,
        TileEnd::Irregular => return list(run, frame, tile, place),
    })
}

/// Lists the cells of a tile whose complex is not simple, or cuts it if they are many.
fn list(run: &Run, frame: &Frame, tile: &Tile, place: f64) -> Option<End> {
    // Where many regions meet in a point no cut makes them fewer.
    let halvings = -tile.share(frame).max(f64::MIN_POSITIVE).log2();
    let most = (LISTED as f64 * (0.25 * halvings).exp2()) as usize;
    let go_on = |_: usize| run.go_on(0);
    let halves = tile.parts(&[], 2, place);
    let most = if halves.len() > 1 { most } else { usize::MAX };
    let Some(lattice) = Lattice::new(&frame.network, &frame.flat, &tile.sides, most, &go_on) else {
        return run.go_on(0).then_some(End::Split(halves));
    };
    let kinds = tile.kinds();
    let infinite = kinds.iter().flatten().enumerate().filter(|(_, kind)| **kind == SideKind::Infinity);
    let ends: u64 = infinite.map(|(side, _)| 1u64 << side).sum();
    if let Some(reach) = lattice.leaving(frame, ends) {
        return Some(End::Trouble(Trouble::Wider(reach)));
    }
    Some(match lattice.tally(&kinds, frame.whole) {
        Some(tally) => End::Counted(tally, true),
        None => End::Trouble(Trouble::Misplaced),
    })
}

/// The tiles of the whole domain that have about equally many of the vertices that are found first.
fn divided(run: &Run, frame: &Frame, piece: &CountPiece) -> Option<Vec<Tile>> {
    let room = Room { most: SAMPLE, expected: 1.25 * SAMPLE as f64 };
    let go_on = |_: usize| run.go_on(0);
    let points = match subdivide(&frame.flat, &frame.arbiter, &frame.sides, Wanted::Vertices, room, &go_on) {
        Ok(skeleton) => skeleton.points,
        Err(Stop::TooMany(_, points)) => points,
        Err(Stop::Irregular | Stop::TooFar(_)) => Vec::new(),
    };
    run.go_on(0).then(|| Tile::whole(frame).parts(&points, piece.divide, piece.attempt.place()))
}

/// The parts of a count, added up.
#[derive(Clone, Debug)]
pub struct CountSum {
    extra: usize,
    total: CountPart,
}

impl CountSum {
    /// Nothing so far.
    pub fn new(network: &Network, domain: &Domain) -> Result<Self, ComplexError> {
        let frame = Frame::with_corners(network, domain)?;
        let total = CountPart { tally: Tally::new(frame.dimension()), listed: false, trouble: None };
        Ok(CountSum { extra: frame.extra, total })
    }

    /// Adds a part; fails if it is one of a network with another number of inputs.
    pub fn add(&mut self, part: &CountPart) -> Result<(), ComplexError> {
        let [own, other] = [&self.total, part].map(|part| &part.tally);
        if own.all.len() != other.all.len() || own.bounded.len() != other.bounded.len() {
            return Err(ComplexError::OtherState);
        }
        self.total.tally.add(&part.tally);
        self.total.listed |= part.listed;
        self.total.trouble = match (self.total.trouble, part.trouble) {
            (Some(Trouble::Wider(x)), Some(Trouble::Wider(y))) => Some(Trouble::Wider(x.max(y))),
            (Some(Trouble::Wider(x)), _) | (_, Some(Trouble::Wider(x))) => Some(Trouble::Wider(x)),
            (one, other) => one.or(other),
        };
        Ok(())
    }

    /// The piece with which the count has to begin again after one of these, if it has to.
    pub fn again(
        &self,
        network: &Network,
        domain: &Domain,
        before: &CountPiece,
        divide: usize,
    ) -> Result<Option<CountPiece>, ComplexError> {
        let Some(trouble) = self.total.trouble else { return Ok(None) };
        let number = before.attempt.number + 1;
        if number >= ATTEMPTS {
            return Err(ComplexError::NoCut { attempts: number });
        }
        let frame = Frame::with_corners(network, domain)?.reaching(before.attempt.reach);
        let reach = match trouble {
            _ if !frame.whole => None,
            Trouble::Wider(crossing) => Some(frame.beyond(crossing)?),
            // The sides of a box that stands for the space are cuts, too.
            Trouble::Misplaced => Some(1.25 * frame.reach()),
        };
        let (frame, attempt) = (frame.reaching(reach), Attempt { number, reach });
        Ok(Some(CountPiece::of(&frame, attempt, divide.max(1))))
    }

    /// The numbers of cells, and how they were found.
    pub fn counts(&self) -> (CellCounts, CellMethod) {
        let method = if self.total.listed { CellMethod::Cells } else { CellMethod::Edges };
        (self.total.tally.counts(self.extra), method)
    }
}
