//! The elimination of generic columns on a device.
//!
//! The columns are random combinations of all columns of the Jacobian, so that the first without a pivot ends the
//! elimination (`dimension::elimination`): the rank is the number of columns in front of it, whatever rows the pivots are taken from,
//! and therefore the same as on the processor.

use rand_chacha::ChaCha8Rng;

use super::panels::Panels;
use super::resident::Resident;
use super::{GoOn, room_for_panels};
use crate::dimension::device::DeviceError;
use crate::dimension::device::engine::{DEPTH, Engine, Entry, PANEL, Product, Scratch, Segment, at, start};
use crate::dimension::jacobian::Factors;

/// The rank of columns of the Jacobian, at most `upper`, and whether the elimination ended. Columns of one layer
/// are cheaper; what they leave is left to columns of all.
pub(super) fn sketched_rank<E: Engine>(
    engine: &E,
    factors: &Factors,
    upper: usize,
    mut only: Option<usize>,
    go_on: GoOn,
    rng: &mut ChaCha8Rng,
) -> Result<(usize, bool), DeviceError> {
    let rows = factors.rows();
    let inverses = 4 * PANEL * PANEL * (upper.div_ceil(PANEL) + 1);
    let fixed = Resident::<E>::bytes(factors) + inverses + 4 * 4 * PANEL * PANEL;
    let room = room_for_panels(engine, fixed, rows)?;
    if !go_on(0, fixed) {
        return Ok((0, false));
    }
    let square = || engine.allocate(PANEL * PANEL);
    let mut elimination = Elimination {
        engine,
        resident: Resident::new(engine, factors)?,
        panels: Panels::new(engine, room),
        inverses: Vec::new(),
        scratch: Scratch::new(engine)?,
        top: square()?,
        solved: square()?,
        order: (0..rows).collect(),
        rank: 0,
    };
    while elimination.rank < upper {
        let done = elimination.rank;
        let next = 4 * PANEL * (rows - done);
        if !go_on(done, fixed + elimination.panels.bytes() + next) {
            return Ok((done, false));
        }
        elimination.resident.set_order(0, &elimination.order)?;
        let width = PANEL.min(upper - done);
        elimination.resident.sketch(&factors.directions(width, only, rng), rows)?;
        if !elimination.step(width)? && only.take().is_none() {
            break;
        }
    }
    Ok((elimination.rank, true))
}

struct Elimination<'e, E: Engine> {
    engine: &'e E,
    resident: Resident<'e, E>,
    panels: Panels<'e, E>,
    /// The inverse of the unit lower triangle on top of each panel.
    inverses: Vec<E::Memory>,
    scratch: Scratch<E::Memory>,
    /// Rows of a block, transposed.
    top: E::Memory,
    /// Rows of the upper factor, transposed.
    solved: E::Memory,
    /// Place `i` holds row `order[i]` of the Jacobian.
    order: Vec<usize>,
    rank: usize,
}

impl<E: Engine> Elimination<'_, E> {
    /// Eliminates the columns of the block up to the first without a pivot; whether there was none.
    fn step(&mut self, width: usize) -> Result<bool, DeviceError> {
        let (engine, start_place) = (self.engine, self.rank);
        let rows = self.order.len();
        self.apply_panels(rows)?;
        let bottom = at(&self.resident.block, start_place * PANEL);
        engine.factor_columns(bottom, rows - start_place, width, &self.scratch)?;
        let (gained, exchanged) = self.scratch.found(engine, width, rows - start_place)?;
        let exchanged = &exchanged[..gained];
        if exchanged.iter().enumerate().any(|(k, &with)| with < k || start_place + with >= rows) {
            return Err(DeviceError::Nonsense);
        }
        for (k, &with) in exchanged.iter().enumerate() {
            self.order.swap(start_place + k, start_place + with);
        }
        self.panels.exchange_rows(start_place, exchanged, &self.scratch.found)?;
        self.rank += gained;
        let left = rows - self.rank;
        if gained > 0 && left > 0 {
            let inverse = engine.allocate(PANEL * PANEL)?;
            engine.invert_lower(bottom, &self.scratch, &inverse)?;
            self.inverses.push(inverse);
            // The columns with a pivot, copied: times the unit matrix.
            let mut unit = vec![0; PANEL * PANEL];
            (0..gained).for_each(|k| unit[k * PANEL + k] = 1);
            engine.write(start(&self.solved), &unit)?;
            let below = at(&self.resident.block, self.rank * PANEL);
            let below = Segment { start: below, ld: PANEL, steps: PANEL / DEPTH };
            let unit = &self.solved;
            self.panels.push(self.rank, left, gained, |panel, padded| {
                engine.product(&Product {
                    left: &[below],
                    index: None,
                    right: start(unit),
                    right_ld: PANEL,
                    rows: left,
                    columns: padded,
                    out: start(panel),
                    out_ld: padded,
                    entry: Entry::Store,
                    place: None,
                })
            })?;
        }
        Ok(gained == width)
    }

    /// Does to the block what was done to the columns of the panels, one after the other.
    fn apply_panels(&self, rows: usize) -> Result<(), DeviceError> {
        let engine = self.engine;
        let mut first = 0;
        for (panel, inverse) in self.panels.iter().zip(&self.inverses) {
            let end = panel.first;
            engine.transpose(at(&self.resident.block, first * PANEL), end - first, &self.top)?;
            engine.product(&Product {
                left: &[Segment { start: start(inverse), ld: PANEL, steps: PANEL / DEPTH }],
                index: None,
                right: start(&self.top),
                right_ld: PANEL,
                rows: PANEL,
                columns: PANEL,
                out: start(&self.solved),
                out_ld: PANEL,
                entry: Entry::Transpose,
                place: None,
            })?;
            self.panels.with_segment(panel, end, |segment| {
                let block = (&self.resident.block, end * PANEL);
                self.panels.subtract(&[segment], (&self.solved, PANEL), block, rows - end)
            })?;
            first = end;
        }
        Ok(())
    }
}
