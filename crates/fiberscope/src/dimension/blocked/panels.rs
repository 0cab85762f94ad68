//! The lower factor, panel by panel, in the device's memory as far as that goes and in the host's behind.
//!
//! A panel has the columns of the pivots that one block gave, for the rows behind these pivots. The first panels, which
//! are the longest, lie on the device; those that find no room lie in the host's memory and are copied when they are needed.

use crate::dimension::device::DeviceError;
use crate::dimension::device::engine::{DEPTH, Engine, Entry, PANEL, Product, Segment, at, start};

/// Devices give memory in pieces of so many bytes.
const GRAIN: usize = 2 << 20;

/// The panels of a lower factor.
pub(super) struct Panels<'e, E: Engine> {
    engine: &'e E,
    panels: Vec<Panel<E::Memory>>,
    /// Bytes of the device that panels may still take.
    room: usize,
    bytes: usize,
    depth: usize,
    /// Where panels of the host go to be used.
    stage: Option<(usize, E::Memory)>,
}

pub(super) struct Panel<M> {
    /// The place of the first row.
    pub first: usize,
    /// Padded.
    width: usize,
    /// Columns in front of the panel's, padded.
    pub depth: usize,
    data: Data<M>,
}

enum Data<M> {
    Device(M),
    Host(Vec<i32>),
}

impl<'e, E: Engine> Panels<'e, E> {
    /// None yet, with so many bytes of the device for them.
    pub fn new(engine: &'e E, room: usize) -> Self {
        Panels { engine, panels: Vec::new(), room, bytes: 0, depth: 0, stage: None }
    }

    /// The columns of all panels, padded.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The bytes of all panels, wherever they are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The panels in order.
    pub fn iter(&self) -> impl Iterator<Item = &Panel<E::Memory>> {
        self.panels.iter()
    }

    /// Adds a panel: the product that `make` describes, given where it goes and the padded width.
    pub fn push(
        &mut self,
        first: usize,
        rows: usize,
        columns: usize,
        make: impl Fn(&E::Memory, usize) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let width = columns.next_multiple_of(DEPTH);
        let count = rows * width;
        let bytes = 4 * count;
        let (engine, depth) = (self.engine, self.depth);
        let memory = match self.room.checked_sub(bytes.next_multiple_of(GRAIN)) {
            None => None,
            Some(left) => {
                self.room = left;
                match engine.allocate(count) {
                    // Somebody else took the memory.
                    Err(DeviceError::Memory { .. }) => None,
                    memory => Some(memory?),
                }
            }
        };
        let data = match memory {
            Some(memory) => {
                make(&memory, width)?;
                Data::Device(memory)
            }
            None => {
                // Panels of the device come first, so there is none behind one of the host.
                self.room = 0;
                let mut numbers = vec![0; count];
                let stage = self.stage(count)?;
                make(stage, width)?;
                engine.read(start(stage), &mut numbers)?;
                Data::Host(numbers)
            }
        };
        self.bytes += bytes;
        self.depth += width;
        self.panels.push(Panel { first, width, depth, data });
        Ok(())
    }

    /// Room for so many integers of a panel of the host.
    fn stage(&mut self, count: usize) -> Result<&E::Memory, DeviceError> {
        if self.stage.as_ref().is_none_or(|(size, _)| *size < count) {
            self.stage = None;
            self.stage = Some((count, self.engine.allocate(count)?));
        }
        let (_, stage) = self.stage.as_ref().expect("there is one now");
        Ok(stage)
    }

    /// The rows of the device's panels from a place on, which all of them have.
    pub fn on_device(&self, place: usize) -> Vec<Segment<'_, E::Memory>> {
        self.panels.iter().map_while(|panel| panel.segment(place)).collect()
    }

    /// Does something with each panel of the host, its rows from a place on having been copied to the device.
    pub fn for_host(
        &self,
        place: usize,
        mut act: impl FnMut(&Panel<E::Memory>, Segment<E::Memory>) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        for panel in &self.panels {
            if let Data::Host(_) = panel.data {
                self.with_segment(panel, place, |segment| act(panel, segment))?;
            }
        }
        Ok(())
    }

    /// Does something with the rows of one panel from a place on.
    pub fn with_segment(
        &self,
        panel: &Panel<E::Memory>,
        place: usize,
        act: impl FnOnce(Segment<E::Memory>) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        if let Some(segment) = panel.segment(place) {
            return act(segment);
        }
        let (Data::Host(numbers), Some((_, stage))) = (&panel.data, &self.stage) else {
            return Err(DeviceError::Nonsense);
        };
        self.engine.write(start(stage), &numbers[(place - panel.first) * panel.width..])?;
        act(Segment { start: start(stage), ld: panel.width, steps: panel.width / DEPTH })
    }

    /// Subtracts from the rows of `block`, which begin at `place`, the rows of the device's panels times `right`.
    pub fn subtract(
        &self,
        left: &[Segment<E::Memory>],
        right: (&E::Memory, usize),
        (block, offset): (&E::Memory, usize),
        rows: usize,
    ) -> Result<(), DeviceError> {
        if left.is_empty() || rows == 0 {
            return Ok(());
        }
        self.engine.product(&Product {
            left,
            index: None,
            right: start(right.0),
            right_ld: right.1,
            rows,
            columns: PANEL,
            out: at(block, offset),
            out_ld: PANEL,
            entry: Entry::Subtract,
            place: None,
        })
    }

    /// Copies rows, given by their places, in all panels.
    pub fn move_rows(&mut self, moves: &[(usize, usize)]) -> Result<(), DeviceError> {
        // Places count from the end of the last panel, which every panel has.
        let Some(end) = self.panels.last().map(|panel| panel.first) else { return Ok(()) };
        let moved: Vec<(usize, usize)> = moves.iter().map(|&(from, to)| (from - end, to - end)).collect();
        let segments = self.on_device(end);
        if !segments.is_empty() && !moved.is_empty() {
            self.engine.move_rows(&segments, &moved)?;
        }
        for panel in &mut self.panels {
            if let Data::Host(numbers) = &mut panel.data {
                let row = |place: usize| (place - panel.first) * panel.width;
                for &(from, to) in moves {
                    numbers.copy_within(row(from)..row(from) + panel.width, row(to));
                }
            }
        }
        Ok(())
    }

    /// Exchanges the rows at places `place + k` and `place + with[k]` in all panels, one after the other; `found`
    /// has the same on the device.
    pub fn exchange_rows(
        &mut self,
        place: usize,
        with: &[usize],
        found: &E::Memory,
    ) -> Result<(), DeviceError> {
        let segments = self.on_device(place);
        if !segments.is_empty() {
            self.engine.exchange_rows(&segments, found, with.len())?;
        }
        for panel in &mut self.panels {
            if let Data::Host(numbers) = &mut panel.data {
                let row = |k: usize| (place + k - panel.first) * panel.width;
                for (k, &other) in with.iter().enumerate().filter(|&(k, &other)| k != other) {
                    let (head, tail) = numbers.split_at_mut(row(other));
                    head[row(k)..][..panel.width].swap_with_slice(&mut tail[..panel.width]);
                }
            }
        }
        Ok(())
    }
}

impl<M> Panel<M> {
    /// The rows from a place on, if they lie on the device.
    fn segment(&self, place: usize) -> Option<Segment<'_, M>> {
        match &self.data {
            Data::Device(memory) => Some(Segment {
                start: at(memory, (place - self.first) * self.width),
                ld: self.width,
                steps: self.width / DEPTH,
            }),
            Data::Host(_) => None,
        }
    }
}
