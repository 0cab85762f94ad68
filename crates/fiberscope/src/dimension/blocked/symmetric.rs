//! The symmetric elimination of the weighted kernel on a device.
//!
//! Block by block the same pivots as on the processor (`dimension::symmetric`), in the same order, so that the ranks are
//! the same even where a prime is unlucky: the next [`PANEL`] rows that are left give a block of columns, from which the panels
//! before are subtracted in one product; pivots are looked for on the diagonal of its top; rows without one
//! depend on the others and leave. Only the number of pivots and their order come back to the host.

use super::panels::Panels;
use super::resident::Resident;
use super::{GoOn, room_for_panels};
use crate::dimension::device::DeviceError;
use crate::dimension::device::engine::{
    DEPTH, Engine, Entry, PANEL, Product, Scaling, Scratch, Segment, at, start,
};
use crate::dimension::jacobian::{Factors, LayerWeights};

/// The rank of the weighted kernel, at most `upper`, and whether the elimination ended.
pub(super) fn symmetric_rank<E: Engine>(
    engine: &E,
    factors: &Factors,
    weights: &[LayerWeights],
    upper: usize,
    go_on: GoOn,
) -> Result<(usize, bool), DeviceError> {
    let rows = factors.rows();
    let depth = (rows + DEPTH * rows.div_ceil(PANEL)).next_multiple_of(PANEL) + PANEL;
    let fixed = Resident::<E>::bytes(factors) + 4 * ((PANEL + 1) * depth + rows + 3 * PANEL * PANEL);
    let room = room_for_panels(engine, fixed, rows)?;
    if !go_on(0, fixed) {
        return Ok((0, false));
    }
    let resident = Resident::new(engine, factors)?;
    let mut elimination = Elimination {
        engine,
        resident,
        panels: Panels::new(engine, room),
        scratch: Scratch::new(engine)?,
        diagonal: engine.allocate(depth)?,
        upper: engine.allocate(PANEL * depth)?,
        solve: engine.allocate(PANEL * PANEL)?,
        place: engine.allocate(rows)?,
        order: (0..rows).collect(),
        open: rows,
        rank: 0,
    };
    elimination.resident.set_order(0, &elimination.order)?;
    while elimination.rank < upper && elimination.rank < elimination.open {
        let next = 4 * PANEL * (elimination.open - elimination.rank);
        if !go_on(elimination.rank, fixed + elimination.panels.bytes() + next) {
            return Ok((elimination.rank, false));
        }
        elimination.step(weights)?;
    }
    Ok((elimination.rank, true))
}

struct Elimination<'e, E: Engine> {
    engine: &'e E,
    resident: Resident<'e, E>,
    panels: Panels<'e, E>,
    scratch: Scratch<E::Memory>,
    /// `D`, at the padded columns of the panels.
    diagonal: E::Memory,
    /// `D L^T` for the columns of a block, transposed.
    upper: E::Memory,
    /// What the rows of a block below its top are multiplied by to become rows of `L`.
    solve: E::Memory,
    /// Where rows go.
    place: E::Memory,
    /// First the rows of the pivots, then those still to be eliminated, then those that depend on pivots' rows.
    order: Vec<usize>,
    open: usize,
    rank: usize,
}

impl<E: Engine> Elimination<'_, E> {
    /// Eliminates the next columns.
    fn step(&mut self, weights: &[LayerWeights]) -> Result<(), DeviceError> {
        let (engine, rank) = (self.engine, self.rank);
        let rows = self.open - rank;
        let width = rows.min(PANEL);
        self.resident.kernel(weights, rank, rows, &self.order[rank..rank + width])?;
        self.subtract_panels(rows, width)?;
        let pivots = at(&self.diagonal, self.panels.depth());
        engine.factor_diagonal(&self.resident.block, width, &self.scratch, pivots)?;
        engine.invert_upper(&self.scratch, &self.solve)?;
        let (gained, chosen) = self.scratch.found(engine, width, width)?;
        let before = self.order[rank..rank + width].to_vec();
        let mut taken = [false; PANEL];
        for (k, &from) in chosen[..width].iter().enumerate() {
            if from >= width || std::mem::replace(&mut taken[from], true) {
                return Err(DeviceError::Nonsense);
            }
            self.order[rank + k] = before[from];
        }
        let moves = self.drop_dependent(gained, width);
        self.rank += gained;
        let left = self.open - self.rank;
        if !moves.is_empty() {
            self.panels.move_rows(&moves)?;
            self.resident.set_order(rank, &self.order[rank..])?;
        }
        if gained == 0 || left == 0 {
            return Ok(());
        }
        if !moves.is_empty() {
            let mut place: Vec<i32> =
                (rank + width..).take(left).map(|old| old as i32 - self.rank as i32).collect();
            for &(from, to) in &moves {
                place[from - rank - width] = (to - self.rank) as i32;
            }
            engine.write(start(&self.place), &place)?;
        }
        let below =
            Segment { start: at(&self.resident.block, width * PANEL), ld: PANEL, steps: PANEL / DEPTH };
        let place = (!moves.is_empty()).then_some(&self.place);
        let solve = &self.solve;
        self.panels.push(self.rank, left, gained, |panel, padded| {
            engine.product(&Product {
                left: &[below],
                index: None,
                right: start(solve),
                right_ld: PANEL,
                rows: left,
                columns: padded,
                out: start(panel),
                out_ld: padded,
                entry: Entry::Store,
                place,
            })
        })
    }

    /// Does to a new block what was done to the columns of the panels.
    fn subtract_panels(&self, rows: usize, width: usize) -> Result<(), DeviceError> {
        let (engine, panels) = (self.engine, &self.panels);
        let subtract = |left: &[Segment<E::Memory>], depth: usize| {
            let ld = DEPTH * left.iter().map(|segment| segment.steps).sum::<usize>();
            engine.scale_rows(&Scaling {
                matrices: left,
                index: None,
                divisor: 1,
                factors: at(&self.diagonal, depth),
                out: start(&self.upper),
                out_ld: ld,
                count: width,
            })?;
            panels.subtract(left, (&self.upper, ld), (&self.resident.block, 0), rows)
        };
        let left = panels.on_device(self.rank);
        if !left.is_empty() {
            subtract(&left, 0)?;
        }
        panels.for_host(self.rank, |panel, segment| subtract(&[segment], panel.depth))
    }

    /// Moves the rows of a block from `gained` to `width`, which depend on others, behind those that are still to be
    /// eliminated, and gives the places that rows still to be eliminated come from and go to.
    fn drop_dependent(&mut self, gained: usize, width: usize) -> Vec<(usize, usize)> {
        let mut from: Vec<usize> = (self.rank..self.rank + width).collect();
        let mut moved = Vec::new();
        for place in (gained..width).rev() {
            self.open -= 1;
            self.order.swap(self.rank + place, self.open);
            match self.open.checked_sub(self.rank).filter(|&end| end < width) {
                Some(end) => from.swap(place, end),
                None => from[place] = self.open,
            }
        }
        let end = self.rank + gained;
        for (to, &from) in (self.rank..).zip(&from) {
            if (end..self.open).contains(&to) && from >= self.rank + width {
                moved.push((from, to));
            }
        }
        moved
    }
}
