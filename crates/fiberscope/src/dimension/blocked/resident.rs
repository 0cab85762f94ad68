//! The factors of the Jacobian in the memory of a device, and the blocks of numbers that are made of them there.
//!
//! A block has one row per row of the Jacobian, in the order of the elimination, and [`PANEL`] columns: columns of the weighted
//! kernel, or the Jacobian times random directions. Either is a sum over the layers of an entrywise product, of something with
//! the rows `B_l` of the signals and something with the rows `H_{l-1}` of the inputs (`jacobian.rs`).

use ndarray::Array2;

use crate::dimension::device::DeviceError;
use crate::dimension::device::engine::{
    DEPTH, Engine, Entry, OutputLayer, PANEL, Place, Product, Scaling, Segment, at, start,
};
use crate::dimension::jacobian::{Direction, Factors, LayerWeights};

/// The factors on a device, with room for a block and what it is made of.
pub(super) struct Resident<'e, E: Engine> {
    engine: &'e E,
    outputs: usize,
    points: usize,
    inputs: Vec<Table<E::Memory>>,
    signals: Vec<Table<E::Memory>>,
    /// Row of the Jacobian by place.
    order: E::Memory,
    /// The second factor of products.
    right: E::Memory,
    /// The part of the inputs: one row per vector.
    weights: E::Memory,
    /// What the outputs weigh in the last layer.
    table: E::Memory,
    /// Numbers that entries are multiplied by.
    scale: E::Memory,
    /// The block.
    pub block: E::Memory,
}

/// A matrix whose rows are padded.
struct Table<M> {
    memory: M,
    ld: usize,
}

impl<'e, E: Engine> Resident<'e, E> {
    /// The bytes that all of it takes.
    pub fn bytes(factors: &Factors) -> usize {
        let (rows, points, outputs) = (factors.rows(), factors.points(), factors.outputs());
        let padded = |matrix: &Array2<f64>| matrix.ncols().next_multiple_of(DEPTH);
        let tables: usize =
            factors.inputs().iter().chain(factors.signals()).map(|m| m.nrows() * padded(m)).sum();
        let widest = widest(factors);
        4 * (tables + rows + (PANEL + 1) * widest + PANEL * (points + outputs + rows))
    }

    /// Copies the factors to the device.
    pub fn new(engine: &'e E, factors: &Factors) -> Result<Self, DeviceError> {
        let table = |matrix: &Array2<f64>| -> Result<Table<E::Memory>, DeviceError> {
            let ld = matrix.ncols().next_multiple_of(DEPTH);
            let memory = engine.allocate(matrix.nrows() * ld)?;
            let mut numbers = vec![0; matrix.nrows() * ld];
            for (row, padded) in matrix.rows().into_iter().zip(numbers.chunks_exact_mut(ld)) {
                padded.iter_mut().zip(row).for_each(|(to, &x)| *to = x as i32);
            }
            engine.write(start(&memory), &numbers)?;
            Ok(Table { memory, ld })
        };
        let tables = |all: &[Array2<f64>]| all.iter().map(table).collect::<Result<Vec<_>, _>>();
        let (rows, points, outputs) = (factors.rows(), factors.points(), factors.outputs());
        let widest = widest(factors);
        Ok(Resident {
            engine,
            outputs,
            points,
            inputs: tables(factors.inputs())?,
            signals: tables(factors.signals())?,
            order: engine.allocate(rows)?,
            right: engine.allocate(PANEL * widest)?,
            weights: engine.allocate(PANEL * points)?,
            table: engine.allocate(PANEL * outputs)?,
            scale: engine.allocate(widest)?,
            block: engine.allocate(PANEL * rows)?,
        })
    }

    /// Says which row of the Jacobian is at which place, from `first` on.
    pub fn set_order(&self, first: usize, order: &[usize]) -> Result<(), DeviceError> {
        let order: Vec<i32> = order.iter().map(|&row| row as i32).collect();
        self.engine.write(at(&self.order, first), &order)
    }

    /// The block of the weighted kernel of the rows from `place` on, its columns those of the first `width` of them; `order` has
    /// their rows of the Jacobian.
    pub fn kernel(
        &self,
        weights: &[LayerWeights],
        place: usize,
        rows: usize,
        order: &[usize],
    ) -> Result<(), DeviceError> {
        self.engine.clear(&self.block, rows * PANEL)?;
        let index = at(&self.order, place);
        let scaled = |table: &Table<E::Memory>, divisor: usize, factors: &[f64]| {
            let mut numbers = vec![0; table.ld];
            numbers.iter_mut().zip(factors).for_each(|(to, &x)| *to = x as i32);
            self.engine.write(start(&self.scale), &numbers)?;
            self.engine.scale_rows(&Scaling {
                matrices: &[table.segment()],
                index: Some(index),
                divisor,
                factors: start(&self.scale),
                out: start(&self.right),
                out_ld: table.ld,
                count: order.len(),
            })
        };
        for (layer, of_outputs, of_inputs) in weights {
            scaled(&self.inputs[*layer], self.outputs, of_inputs)?;
            self.weigh_inputs(*layer)?;
            match self.signals.get(*layer) {
                Some(table) => {
                    scaled(table, 1, of_outputs)?;
                    self.add_signals(table, index, rows)?;
                }
                None => {
                    let entry = |output: usize, column: usize| {
                        let same = order.get(column).is_some_and(|row| row % self.outputs == output);
                        if same { of_outputs[output] } else { 0.0 }
                    };
                    self.add_outputs(entry, index, rows)?;
                }
            }
        }
        Ok(())
    }

    /// The Jacobian times directions, one per column, all rows.
    pub fn sketch(&self, directions: &[Direction], rows: usize) -> Result<(), DeviceError> {
        self.engine.clear(&self.block, rows * PANEL)?;
        let index = start(&self.order);
        let put = |table: &Table<E::Memory>, columns: &Array2<f64>| {
            let mut numbers = vec![0; PANEL * table.ld];
            for ((k, c), &x) in columns.indexed_iter() {
                numbers[c * table.ld + k] = x as i32;
            }
            self.engine.write(start(&self.right), &numbers)
        };
        for (layer, u, v) in directions {
            put(&self.inputs[*layer], v)?;
            self.weigh_inputs(*layer)?;
            match self.signals.get(*layer) {
                Some(table) => {
                    put(table, u)?;
                    self.add_signals(table, index, rows)?;
                }
                None => {
                    let entry = |output, column| u.get((output, column)).copied().unwrap_or(0.0);
                    self.add_outputs(entry, index, rows)?;
                }
            }
        }
        Ok(())
    }

    /// `weights`: the inputs of a layer times the second factor.
    fn weigh_inputs(&self, layer: usize) -> Result<(), DeviceError> {
        let table = &self.inputs[layer];
        self.engine.product(&Product {
            left: &[table.segment()],
            index: None,
            right: start(&self.right),
            right_ld: table.ld,
            rows: self.points,
            columns: PANEL,
            out: start(&self.weights),
            out_ld: PANEL,
            entry: Entry::Store,
            place: None,
        })
    }

    /// Adds to the block the signals of a layer times the second factor, weighted.
    fn add_signals(
        &self,
        table: &Table<E::Memory>,
        index: Place<E::Memory>,
        rows: usize,
    ) -> Result<(), DeviceError> {
        self.engine.product(&Product {
            left: &[table.segment()],
            index: Some(index),
            right: start(&self.right),
            right_ld: table.ld,
            rows,
            columns: PANEL,
            out: start(&self.block),
            out_ld: PANEL,
            entry: Entry::Weigh { weights: &self.weights, outputs: self.outputs },
            place: None,
        })
    }

    /// Adds the part of the last layer to the block.
    fn add_outputs(
        &self,
        entry: impl Fn(usize, usize) -> f64,
        index: Place<E::Memory>,
        rows: usize,
    ) -> Result<(), DeviceError> {
        let numbers: Vec<i32> =
            (0..self.outputs * PANEL).map(|i| entry(i / PANEL, i % PANEL) as i32).collect();
        self.engine.write(start(&self.table), &numbers)?;
        self.engine.add_outputs(&OutputLayer {
            index,
            table: &self.table,
            weights: &self.weights,
            outputs: self.outputs,
            block: &self.block,
            rows,
        })
    }
}

impl<M> Table<M> {
    fn segment(&self) -> Segment<'_, M> {
        Segment { start: start(&self.memory), ld: self.ld, steps: self.ld / DEPTH }
    }
}

/// The most columns that a factor has, padded.
fn widest(factors: &Factors) -> usize {
    let matrices = factors.inputs().iter().chain(factors.signals());
    matrices.map(Array2::ncols).max().unwrap_or(0).next_multiple_of(DEPTH)
}
