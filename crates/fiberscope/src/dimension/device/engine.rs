//! What a device does: products of matrices of residues, and the small steps between them.
//!
//! Residues are 32-bit integers of size at most `p / 2` and a little; matrices are stored row by row, and inner dimensions are
//! padded with zeros to multiples of [`DEPTH`]. The kernels of a GPU (`kernels.cu`) are one implementation; the
//! plain one of the tests (`dimension/blocked/host.rs`) says what each has to give.

use super::DeviceError;

/// Inner dimensions are multiples of this.
pub(in crate::dimension) const DEPTH: usize = 16;

/// Columns of a block.
pub(in crate::dimension) const PANEL: usize = crate::dimension::PANEL;

/// A device at work modulo one prime.
pub(in crate::dimension) trait Engine {
    /// Integers in the memory of the device, freed when they are dropped.
    type Memory;

    /// What the device is called.
    fn name(&self) -> String;

    /// Bytes of the device's memory that are free.
    fn free_bytes(&self) -> Result<usize, DeviceError>;

    /// Room for so many integers, whatever they are.
    fn allocate(&self, count: usize) -> Result<Self::Memory, DeviceError>;

    /// Zeros for the first `count` integers.
    fn clear(&self, memory: &Self::Memory, count: usize) -> Result<(), DeviceError>;

    /// Copies integers to the device.
    fn write(&self, to: Place<Self::Memory>, numbers: &[i32]) -> Result<(), DeviceError>;

    /// Copies integers from the device, after all that was begun is done.
    fn read(&self, from: Place<Self::Memory>, numbers: &mut [i32]) -> Result<(), DeviceError>;

    /// A product of matrices.
    fn product(&self, product: &Product<Self::Memory>) -> Result<(), DeviceError>;

    /// Rows of a matrix, their entries multiplied by factors.
    fn scale_rows(&self, scaling: &Scaling<Self::Memory>) -> Result<(), DeviceError>;

    /// `block[r] += table[i % outputs] o weights[i / outputs]` for the first rows of a block, `i = index[r]`.
    fn add_outputs(&self, outer: &OutputLayer<Self::Memory>) -> Result<(), DeviceError>;

    /// `K = L D L^T` for the symmetric matrix in the first `width` rows and columns of `block`, pivots on the
    /// diagonal, the first that is not zero each time. Row `k` of `work` then has, from the diagonal on, row `k` of
    /// `D L^T`; `pivots` the diagonal of `D`, zeros up to [`PANEL`]; `found` the number of pivots and then the rows in
    /// their new order.
    fn factor_diagonal(
        &self,
        block: &Self::Memory,
        width: usize,
        scratch: &Scratch<Self::Memory>,
        pivots: Place<Self::Memory>,
    ) -> Result<(), DeviceError>;

    /// The inverse of the upper triangle in `work`, of as many rows as were found: entry `(k, j)` at
    /// `(j, found[1 + k])` of `out`, zeros elsewhere.
    fn invert_upper(&self, scratch: &Scratch<Self::Memory>, out: &Self::Memory) -> Result<(), DeviceError>;

    /// The inverse of the unit lower triangle on top of a factored block, of as many rows as were found, zeros
    /// elsewhere.
    fn invert_lower(
        &self,
        block: Place<Self::Memory>,
        scratch: &Scratch<Self::Memory>,
        out: &Self::Memory,
    ) -> Result<(), DeviceError>;

    /// Copies rows of all the matrices: `(from, to)`, no row both read and written.
    fn move_rows(
        &self,
        matrices: &[Segment<Self::Memory>],
        moves: &[(usize, usize)],
    ) -> Result<(), DeviceError>;

    /// Exchanges rows `k` and `found[1 + k]` of all the matrices, `k = 0, 1, ...`.
    fn exchange_rows(
        &self,
        matrices: &[Segment<Self::Memory>],
        found: &Self::Memory,
        count: usize,
    ) -> Result<(), DeviceError>;

    /// The first `rows` rows of a block, transposed, zeros behind.
    fn transpose(
        &self,
        block: Place<Self::Memory>,
        rows: usize,
        out: &Self::Memory,
    ) -> Result<(), DeviceError>;

    /// Eliminates the first `width` columns of a block, up to the first without a pivot: `L` (unit diagonal) below, `U`
    /// above the diagonal. `found` has the number of pivots and then, of each, the row that was exchanged with its own.
    fn factor_columns(
        &self,
        block: Place<Self::Memory>,
        rows: usize,
        width: usize,
        scratch: &Scratch<Self::Memory>,
    ) -> Result<(), DeviceError>;
}

/// Integers from some place in the memory on.
#[derive(Debug)]
pub(in crate::dimension) struct Place<'a, M> {
    pub memory: &'a M,
    pub at: usize,
}

/// Some columns of a matrix: rows of `ld` integers, `steps * DEPTH` of them in use.
#[derive(Debug)]
pub(in crate::dimension) struct Segment<'a, M> {
    pub start: Place<'a, M>,
    pub ld: usize,
    pub steps: usize,
}

impl<M> Clone for Place<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Place<'_, M> {}

impl<M> Clone for Segment<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Segment<'_, M> {}

/// The start of a piece of memory.
pub(in crate::dimension) fn start<M>(memory: &M) -> Place<'_, M> {
    Place { memory, at: 0 }
}

/// A place of a piece of memory.
pub(in crate::dimension) fn at<M>(memory: &M, at: usize) -> Place<'_, M> {
    Place { memory, at }
}

/// The product of the rows of `left`, matrices side by side, and the transposed rows of `right`, of which there
/// are [`PANEL`].
pub(in crate::dimension) struct Product<'a, M> {
    pub left: &'a [Segment<'a, M>],
    /// Row `r` of the first factor is row `index[r]`; without it row `r`.
    pub index: Option<Place<'a, M>>,
    pub right: Place<'a, M>,
    pub right_ld: usize,
    pub rows: usize,
    /// Columns that are written.
    pub columns: usize,
    pub out: Place<'a, M>,
    pub out_ld: usize,
    pub entry: Entry<'a, M>,
    /// Row `r` is written to row `place[r]`; without it to row `r`.
    pub place: Option<&'a M>,
}

/// What becomes of an entry of a product.
pub(in crate::dimension) enum Entry<'a, M> {
    /// It is written.
    Store,
    /// It is subtracted from what was there.
    Subtract,
    /// Times `weights[index[r] / outputs][c]` it is added to what was there.
    Weigh { weights: &'a M, outputs: usize },
    /// It is written to the transposed place.
    Transpose,
}

/// Row `c` of `out`: row `index[c] / divisor` (or `c`) of the matrices side by side, entry `k` times
/// `factors[k]`; zeros from `count` to [`PANEL`].
pub(in crate::dimension) struct Scaling<'a, M> {
    pub matrices: &'a [Segment<'a, M>],
    pub index: Option<Place<'a, M>>,
    pub divisor: usize,
    pub factors: Place<'a, M>,
    pub out: Place<'a, M>,
    pub out_ld: usize,
    pub count: usize,
}

/// The part of the last layer, whose signals are unit vectors.
pub(in crate::dimension) struct OutputLayer<'a, M> {
    pub index: Place<'a, M>,
    /// One row of [`PANEL`] integers per output.
    pub table: &'a M,
    /// One row of [`PANEL`] integers per vector.
    pub weights: &'a M,
    pub outputs: usize,
    pub block: &'a M,
    pub rows: usize,
}

/// What factorisations write beside their factors.
pub(in crate::dimension) struct Scratch<M> {
    /// `PANEL x PANEL`.
    pub work: M,
    /// `1 + PANEL`.
    pub found: M,
    /// The inverses of the pivots, `PANEL`.
    pub inverses: M,
}

impl<M> Scratch<M> {
    /// Room on a device.
    pub fn new(engine: &impl Engine<Memory = M>) -> Result<Self, DeviceError> {
        Ok(Scratch {
            work: engine.allocate(PANEL * PANEL)?,
            found: engine.allocate(1 + PANEL)?,
            inverses: engine.allocate(PANEL)?,
        })
    }

    /// What a factorisation found: the number of pivots and a row for each of [`PANEL`]. What no factorisation of
    /// so many columns and rows gives is an error of the device.
    pub fn found(
        &self,
        engine: &impl Engine<Memory = M>,
        width: usize,
        rows: usize,
    ) -> Result<(usize, Vec<usize>), DeviceError> {
        let mut found = vec![0; 1 + PANEL];
        engine.read(start(&self.found), &mut found)?;
        let gained = usize::try_from(found[0]).ok().filter(|&gained| gained <= width);
        let row = |&x: &i32| usize::try_from(x).ok().filter(|&row| row < rows.max(PANEL));
        let known: Option<Vec<usize>> = found[1..].iter().map(row).collect();
        match (gained, known) {
            (Some(gained), Some(known)) => Ok((gained, known)),
            _ => Err(DeviceError::Nonsense),
        }
    }
}
