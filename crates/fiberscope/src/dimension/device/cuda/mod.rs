//! NVIDIA's GPUs: the kernels of `kernels.cu` behind the steps of an [`Engine`].
//!
//! Nothing of CUDA is needed to build the program. The driver's library is loaded when a GPU is asked for, and brings the compiler
//! of the kernels' text (`kernels_80.ptx`, `kernels_90.ptx`; `make_ptx.sh` makes them).

#![allow(
    unsafe_code,
    reason = "memory and kernels of the device are raw pointers; each call says what it needs"
)]

mod driver;

use std::cell::RefCell;
use std::ffi::c_void;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUresult};

pub(in crate::dimension) use driver::Cuda;
use driver::{Kernel, Session};

use super::DeviceError;
use super::engine::{Engine, Entry, OutputLayer, PANEL, Place, Product, Scaling, Scratch, Segment};

/// Rows and columns of a tile of a product, the threads that make it, and how many a multiprocessor makes at a time; as in the
/// kernels.
const TILE: usize = 64;
const THREADS: u32 = 128;
const TILES_AT_ONCE: usize = 4;
/// Most shares of the inner dimension that a product is cut into: sums of so many residues fit an integer.
const SHARES: usize = 32;

/// A GPU at work modulo one prime.
pub(in crate::dimension) struct CudaEngine<'d> {
    cuda: &'d Cuda,
    prime: Prime,
    /// Where tables of matrices lie.
    table: RefCell<Option<Memory>>,
    _session: Session<'d>,
}

/// As in the kernels.
#[repr(C)]
#[derive(Clone, Copy)]
struct Prime {
    prime: f64,
    inverse: f64,
}

/// As in the kernels.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawSegment {
    base: u64,
    ld: i32,
    steps: i32,
}

/// Integers on the device.
pub(in crate::dimension) struct Memory {
    start: sys::CUdeviceptr,
    count: usize,
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was allocated once, in the context that is current while the engine lives, which outlives it.
        let _ = unsafe { result::free_sync(self.start) };
    }
}

/// What a kernel is given.
enum Argument {
    Pointer(u64),
    Int(i32),
    Long(i64),
    Prime(Prime),
    Segment(RawSegment),
}

impl<'d> CudaEngine<'d> {
    /// Works on a GPU modulo a prime until it is dropped.
    pub fn new(cuda: &'d Cuda, prime: f64) -> Result<Self, DeviceError> {
        let prime = Prime { prime, inverse: prime.recip() };
        Ok(CudaEngine { cuda, prime, table: RefCell::new(None), _session: cuda.session()? })
    }

    fn failed(&self, when: &'static str) -> impl Fn(DriverError) -> DeviceError {
        move |error| self.cuda.failed(when, error)
    }

    /// Where some integers begin, of which there are enough.
    fn pointer(&self, place: Place<Memory>) -> Result<u64, DeviceError> {
        if place.at > place.memory.count {
            return Err(DeviceError::Nonsense);
        }
        Ok(place.memory.start + 4 * place.at as u64)
    }

    /// Matrices as the kernels read them: the table on the device, and the first of them. One alone needs no
    /// table, the copying of which would wait for all kernels.
    fn segments(&self, segments: &[Segment<Memory>]) -> Result<[Argument; 2], DeviceError> {
        let raw: Vec<RawSegment> = segments
            .iter()
            .map(|segment| {
                let base = self.pointer(segment.start)?;
                Ok(RawSegment { base, ld: segment.ld as i32, steps: segment.steps as i32 })
            })
            .collect::<Result<_, DeviceError>>()?;
        let first = Argument::Segment(*raw.first().ok_or(DeviceError::Nonsense)?);
        if raw.len() == 1 {
            return Ok([Argument::Pointer(0), first]);
        }
        let mut table = self.table.borrow_mut();
        if table.as_ref().is_none_or(|table| table.count < 4 * raw.len()) {
            *table = None;
            *table = Some(self.allocate(8 * raw.len())?);
        }
        let start = table.as_ref().map_or(0, |table| table.start);
        // SAFETY: a segment takes the room of four integers, and kernels that read the old table come before.
        unsafe { result::memcpy_htod_sync(start, &raw) }.map_err(self.failed("while copying"))?;
        Ok([Argument::Pointer(start), first])
    }

    fn launch(
        &self,
        kernel: Kernel,
        (x, y, z): (usize, usize, usize),
        threads: u32,
        arguments: &mut [Argument],
    ) -> Result<(), DeviceError> {
        let mut pointers: Vec<*mut c_void> = arguments
            .iter_mut()
            .map(|argument| match argument {
                Argument::Pointer(x) => std::ptr::from_mut(x).cast(),
                Argument::Int(x) => std::ptr::from_mut(x).cast(),
                Argument::Long(x) => std::ptr::from_mut(x).cast(),
                Argument::Prime(x) => std::ptr::from_mut(x).cast(),
                Argument::Segment(x) => std::ptr::from_mut(x).cast(),
            })
            .collect();
        let grid = (x as u32, y as u32, z as u32);
        let function = self.cuda.kernel(kernel);
        let stream = std::ptr::null_mut();
        // SAFETY: the arguments are those of the kernel, in its order, and outlive the call, which copies them.
        unsafe { result::launch_kernel(function, grid, (threads, 1, 1), 0, stream, &mut pointers) }
            .map_err(self.failed("while eliminating"))
    }

    /// How many shares of the inner dimension keep the processors busy to the end: as few as are nearly best.
    fn shares(&self, tiles: usize, steps: usize) -> usize {
        let at_once = TILES_AT_ONCE * self.cuda.processors as usize;
        let most = SHARES.min(steps / 8).max(1);
        let load = |shares: usize| {
            let blocks = tiles * shares;
            // A share costs about as much as six steps beside its own.
            let one = steps as f64 / shares as f64 + 6.0;
            blocks.div_ceil(at_once) as f64 * one
        };
        let best = (1..=most).map(load).fold(f64::INFINITY, f64::min);
        (1..=most).find(|&shares| load(shares) <= 1.02 * best).unwrap_or(1)
    }

    fn invert(
        &self,
        block: Place<Memory>,
        scratch: &Scratch<Memory>,
        unit: bool,
        out: &Memory,
    ) -> Result<(), DeviceError> {
        let mut arguments = [
            Argument::Pointer(self.pointer(block)?),
            Argument::Pointer(scratch.found.start),
            Argument::Pointer(scratch.inverses.start),
            Argument::Int(i32::from(unit)),
            Argument::Pointer(out.start),
            Argument::Prime(self.prime),
        ];
        self.launch(Kernel::InvertTriangle, (PANEL / 8, 1, 1), 256, &mut arguments)
    }
}

impl Engine for CudaEngine<'_> {
    type Memory = Memory;

    fn name(&self) -> String {
        self.cuda.name.clone()
    }

    fn free_bytes(&self) -> Result<usize, DeviceError> {
        let (free, _) = result::mem_get_info().map_err(self.failed("when asked for its memory"))?;
        Ok(free)
    }

    fn allocate(&self, count: usize) -> Result<Memory, DeviceError> {
        let bytes = 4 * count.max(1);
        // SAFETY: the memory is freed once, when it is dropped.
        match unsafe { result::malloc_sync(bytes) } {
            Ok(start) => Ok(Memory { start, count: count.max(1) }),
            Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                let free = self.free_bytes()?;
                Err(DeviceError::Memory { name: self.cuda.name.clone(), needed: bytes, free })
            }
            Err(error) => Err(self.cuda.failed("when asked for memory", error)),
        }
    }

    fn clear(&self, memory: &Memory, count: usize) -> Result<(), DeviceError> {
        // SAFETY: not more than was allocated.
        unsafe { result::memset_d8_sync(memory.start, 0, 4 * count.min(memory.count)) }
            .map_err(self.failed("while clearing"))
    }

    fn write(&self, to: Place<Memory>, numbers: &[i32]) -> Result<(), DeviceError> {
        if to.at + numbers.len() > to.memory.count {
            return Err(DeviceError::Nonsense);
        }
        // SAFETY: there is room, as was just seen.
        unsafe { result::memcpy_htod_sync(self.pointer(to)?, numbers) }.map_err(self.failed("while copying"))
    }

    fn read(&self, from: Place<Memory>, numbers: &mut [i32]) -> Result<(), DeviceError> {
        if from.at + numbers.len() > from.memory.count {
            return Err(DeviceError::Nonsense);
        }
        // SAFETY: there are so many.
        unsafe { result::memcpy_dtoh_sync(numbers, self.pointer(from)?) }
            .map_err(self.failed("while eliminating"))
    }

    fn product(&self, product: &Product<Memory>) -> Result<(), DeviceError> {
        let steps: usize = product.left.iter().map(|segment| segment.steps).sum();
        if product.rows == 0 || steps == 0 {
            return Ok(());
        }
        let optional = |place: Option<Place<Memory>>| place.map_or(Ok(0), |place| self.pointer(place));
        let (mode, weights, outputs) = match product.entry {
            Entry::Store => (0, 0, 1),
            Entry::Subtract => (1, 0, 1),
            Entry::Weigh { weights, outputs } => (2, weights.start, outputs),
            Entry::Transpose => (3, 0, 1),
        };
        let columns = product.columns.div_ceil(TILE);
        let tiles = (columns, product.rows.div_ceil(TILE));
        let shares =
            if let Entry::Subtract = product.entry { self.shares(tiles.0 * tiles.1, steps) } else { 1 };
        let [table, first] = self.segments(product.left)?;
        let mut arguments = [
            table,
            first,
            Argument::Pointer(optional(product.index)?),
            Argument::Pointer(self.pointer(product.right)?),
            Argument::Long(product.right_ld as i64),
            Argument::Pointer(self.pointer(product.out)?),
            Argument::Long(product.out_ld as i64),
            Argument::Int(product.rows as i32),
            Argument::Int(product.columns as i32),
            Argument::Int(steps as i32),
            Argument::Int(mode),
            Argument::Pointer(weights),
            Argument::Int(outputs as i32),
            Argument::Pointer(product.place.map_or(0, |place| place.start)),
            Argument::Prime(self.prime),
        ];
        self.launch(Kernel::Product, (tiles.0, tiles.1, shares), THREADS, &mut arguments)?;
        if shares > 1 {
            let mut arguments = [
                Argument::Pointer(self.pointer(product.out)?),
                Argument::Long((product.rows * product.out_ld) as i64),
                Argument::Prime(self.prime),
            ];
            self.launch(Kernel::ReduceAll, (8 * self.cuda.processors as usize, 1, 1), 256, &mut arguments)?;
        }
        Ok(())
    }

    fn scale_rows(&self, scaling: &Scaling<Memory>) -> Result<(), DeviceError> {
        let [table, first] = self.segments(scaling.matrices)?;
        let index = scaling.index.map_or(Ok(0), |place| self.pointer(place))?;
        let mut arguments = [
            table,
            first,
            Argument::Int(scaling.matrices.len() as i32),
            Argument::Pointer(index),
            Argument::Int(scaling.divisor as i32),
            Argument::Pointer(self.pointer(scaling.factors)?),
            Argument::Pointer(self.pointer(scaling.out)?),
            Argument::Long(scaling.out_ld as i64),
            Argument::Int(scaling.count as i32),
            Argument::Prime(self.prime),
        ];
        let grid = (scaling.matrices.len().min(16), PANEL, 1);
        self.launch(Kernel::ScaleRows, grid, 256, &mut arguments)
    }

    fn add_outputs(&self, outer: &OutputLayer<Memory>) -> Result<(), DeviceError> {
        let mut arguments = [
            Argument::Pointer(self.pointer(outer.index)?),
            Argument::Pointer(outer.table.start),
            Argument::Pointer(outer.weights.start),
            Argument::Int(outer.outputs as i32),
            Argument::Pointer(outer.block.start),
            Argument::Int(outer.rows as i32),
            Argument::Prime(self.prime),
        ];
        let blocks = outer.rows.clamp(1, 8 * self.cuda.processors as usize);
        self.launch(Kernel::AddOutputs, (blocks, 1, 1), PANEL as u32, &mut arguments)
    }

    fn factor_diagonal(
        &self,
        block: &Memory,
        width: usize,
        scratch: &Scratch<Memory>,
        pivots: Place<Memory>,
    ) -> Result<(), DeviceError> {
        let mut arguments = [
            Argument::Pointer(block.start),
            Argument::Int(width as i32),
            Argument::Pointer(scratch.work.start),
            Argument::Pointer(scratch.found.start),
            Argument::Pointer(self.pointer(pivots)?),
            Argument::Pointer(scratch.inverses.start),
            Argument::Prime(self.prime),
        ];
        self.launch(Kernel::FactorDiagonal, (1, 1, 1), 1024, &mut arguments)
    }

    fn invert_upper(&self, scratch: &Scratch<Memory>, out: &Memory) -> Result<(), DeviceError> {
        self.invert(Place { memory: &scratch.work, at: 0 }, scratch, false, out)
    }

    fn invert_lower(
        &self,
        block: Place<Memory>,
        scratch: &Scratch<Memory>,
        out: &Memory,
    ) -> Result<(), DeviceError> {
        self.invert(block, scratch, true, out)
    }

    fn move_rows(&self, matrices: &[Segment<Memory>], moves: &[(usize, usize)]) -> Result<(), DeviceError> {
        let [table, first] = self.segments(matrices)?;
        let numbers: Vec<i32> = moves
            .iter()
            .map(|&(from, _)| from)
            .chain(moves.iter().map(|&(_, to)| to))
            .map(|x| x as i32)
            .collect();
        let places = self.allocate(numbers.len())?;
        self.write(Place { memory: &places, at: 0 }, &numbers)?;
        let mut arguments = [
            table,
            first,
            Argument::Pointer(places.start),
            Argument::Pointer(self.pointer(Place { memory: &places, at: moves.len() })?),
            Argument::Int(moves.len() as i32),
        ];
        self.launch(Kernel::MoveRows, (matrices.len(), moves.len().min(64), 1), 256, &mut arguments)
    }

    fn exchange_rows(
        &self,
        matrices: &[Segment<Memory>],
        found: &Memory,
        count: usize,
    ) -> Result<(), DeviceError> {
        let [table, first] = self.segments(matrices)?;
        let mut arguments = [table, first, Argument::Pointer(found.start), Argument::Int(count as i32)];
        self.launch(Kernel::ExchangeRows, (matrices.len(), 1, 1), 256, &mut arguments)
    }

    fn transpose(&self, block: Place<Memory>, rows: usize, out: &Memory) -> Result<(), DeviceError> {
        let mut arguments = [
            Argument::Pointer(self.pointer(block)?),
            Argument::Long(PANEL as i64),
            Argument::Int(rows as i32),
            Argument::Pointer(out.start),
        ];
        self.launch(Kernel::Transpose, (64, 1, 1), 256, &mut arguments)
    }

    fn factor_columns(
        &self,
        block: Place<Memory>,
        rows: usize,
        width: usize,
        scratch: &Scratch<Memory>,
    ) -> Result<(), DeviceError> {
        self.clear(&scratch.found, 1 + PANEL)?;
        let block = self.pointer(block)?;
        for column in 0..width.min(rows) {
            let mut arguments = [
                Argument::Pointer(block),
                Argument::Int(rows as i32),
                Argument::Int(column as i32),
                Argument::Pointer(scratch.found.start),
                Argument::Pointer(scratch.inverses.start),
                Argument::Prime(self.prime),
            ];
            self.launch(Kernel::FindPivot, (1, 1, 1), 1024, &mut arguments)?;
            let mut arguments = [
                Argument::Pointer(block),
                Argument::Int(rows as i32),
                Argument::Int(column as i32),
                Argument::Int(width as i32),
                Argument::Pointer(scratch.found.start),
                Argument::Pointer(scratch.inverses.start),
                Argument::Prime(self.prime),
            ];
            let blocks = rows.div_ceil(8).clamp(1, 8 * self.cuda.processors as usize);
            self.launch(Kernel::EliminateColumn, (blocks, 1, 1), 256, &mut arguments)?;
        }
        Ok(())
    }
}
