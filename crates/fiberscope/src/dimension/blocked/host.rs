//! The steps of a device on the host, as plainly as they can be written: what the kernels have to give.

use std::cell::{Cell, RefCell};

use crate::dimension::device::DeviceError;
use crate::dimension::device::engine::{
    DEPTH, Engine, Entry, OutputLayer, PANEL, Place, Product, Scaling, Scratch, Segment,
};
use crate::dimension::field::{Field, INNER};

type Numbers = RefCell<Vec<i32>>;

/// The host as a device, with so much memory, that fails at some step.
pub(super) struct Host<'f> {
    pub field: &'f Field,
    pub memory: usize,
    /// Steps until it fails.
    pub steps: Cell<usize>,
    taken: Cell<usize>,
}

impl<'f> Host<'f> {
    pub fn new(field: &'f Field, memory: usize, steps: usize) -> Self {
        Host { field, memory, steps: Cell::new(steps), taken: Cell::new(0) }
    }

    fn step(&self) -> Result<(), DeviceError> {
        let left = self.steps.get().checked_sub(1);
        self.steps.set(left.ok_or(DeviceError::Failed {
            name: self.name(),
            when: "in a test",
            reason: "it was told to".into(),
        })?);
        Ok(())
    }

    fn reduce(&self, x: f64) -> i32 {
        self.field.reduce(x) as i32
    }

    fn invert(
        &self,
        size: usize,
        entry: impl Fn(usize, usize) -> f64,
        pivot_inverse: impl Fn(usize) -> f64,
        put: &mut dyn FnMut(usize, usize, i32),
    ) {
        // Row k of X with X T = 1, T upper triangular.
        for k in 0..size {
            let mut x = vec![0.0; size];
            for m in k..size {
                let mut sum = if m == k { 1.0 } else { 0.0 };
                for (j, &known) in x.iter().enumerate().take(m).skip(k) {
                    sum = self.field.reduce(sum - known * entry(j, m));
                }
                x[m] = self.field.reduce(sum * pivot_inverse(m));
                put(k, m, x[m] as i32);
            }
        }
    }
}

fn number(place: Place<Numbers>, at: usize) -> f64 {
    f64::from(place.memory.borrow()[place.at + at])
}

/// A row of matrices side by side.
fn row(segments: &[Segment<Numbers>], row: usize) -> Vec<f64> {
    let part = |s: &Segment<Numbers>| {
        let start = s.start.at + row * s.ld;
        s.start.memory.borrow()[start..start + s.steps * DEPTH].to_vec()
    };
    segments.iter().flat_map(part).map(f64::from).collect()
}

impl Engine for Host<'_> {
    type Memory = Numbers;

    fn name(&self) -> String {
        "host".into()
    }

    fn free_bytes(&self) -> Result<usize, DeviceError> {
        self.step()?;
        Ok(self.memory)
    }

    fn allocate(&self, count: usize) -> Result<Numbers, DeviceError> {
        self.step()?;
        self.taken.set(self.taken.get() + 4 * count);
        if self.taken.get() > self.memory {
            return Err(DeviceError::Memory { name: self.name(), needed: 4 * count, free: 0 });
        }
        // Not zero: what is not written must not be used.
        Ok(RefCell::new(vec![i32::MIN + 12345; count]))
    }

    fn clear(&self, memory: &Numbers, count: usize) -> Result<(), DeviceError> {
        self.step()?;
        memory.borrow_mut()[..count].fill(0);
        Ok(())
    }

    fn write(&self, to: Place<Numbers>, numbers: &[i32]) -> Result<(), DeviceError> {
        self.step()?;
        to.memory.borrow_mut()[to.at..to.at + numbers.len()].copy_from_slice(numbers);
        Ok(())
    }

    fn read(&self, from: Place<Numbers>, numbers: &mut [i32]) -> Result<(), DeviceError> {
        self.step()?;
        numbers.copy_from_slice(&from.memory.borrow()[from.at..from.at + numbers.len()]);
        Ok(())
    }

    fn product(&self, p: &Product<Numbers>) -> Result<(), DeviceError> {
        self.step()?;
        let steps: usize = p.left.iter().map(|segment| segment.steps).sum();
        let right = [Segment { start: p.right, ld: p.right_ld, steps }];
        let right: Vec<Vec<f64>> = (0..p.columns).map(|c| row(&right, c)).collect();
        for r in 0..p.rows {
            let from = p.index.map_or(r, |index| number(index, r) as usize);
            let left = row(p.left, from);
            let to = p.place.map_or(r as i32, |place| place.borrow()[r]);
            for (c, right) in right.iter().enumerate() {
                let parts = left.chunks(INNER).zip(right.chunks(INNER));
                let x = parts.fold(0.0, |sum, (a, b)| {
                    let exact: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                    self.field.reduce(sum + exact)
                });
                let (i, j) = if let Entry::Transpose = p.entry { (c, to as usize) } else { (to as usize, c) };
                let entry = &mut p.out.memory.borrow_mut()[p.out.at + i * p.out_ld + j];
                *entry = match p.entry {
                    Entry::Store | Entry::Transpose => x as i32,
                    Entry::Subtract => self.reduce(f64::from(*entry) - x),
                    Entry::Weigh { weights, outputs } => {
                        let weight = f64::from(weights.borrow()[from / outputs * PANEL + c]);
                        self.reduce(f64::from(*entry) + x * weight)
                    }
                };
            }
        }
        Ok(())
    }

    fn scale_rows(&self, s: &Scaling<Numbers>) -> Result<(), DeviceError> {
        self.step()?;
        for c in 0..PANEL {
            let from = match s.index {
                _ if c >= s.count => 0,
                Some(index) => number(index, c) as usize / s.divisor,
                None => c,
            };
            for (k, x) in row(s.matrices, from).into_iter().enumerate() {
                let x = if c < s.count { self.reduce(x * number(s.factors, k)) } else { 0 };
                s.out.memory.borrow_mut()[s.out.at + c * s.out_ld + k] = x;
            }
        }
        Ok(())
    }

    fn add_outputs(&self, o: &OutputLayer<Numbers>) -> Result<(), DeviceError> {
        self.step()?;
        for r in 0..o.rows {
            let from = number(o.index, r) as usize;
            for c in 0..PANEL {
                let x = f64::from(o.table.borrow()[from % o.outputs * PANEL + c])
                    * f64::from(o.weights.borrow()[from / o.outputs * PANEL + c]);
                let entry = &mut o.block.borrow_mut()[r * PANEL + c];
                *entry = self.reduce(f64::from(*entry) + x);
            }
        }
        Ok(())
    }

    fn factor_diagonal(
        &self,
        block: &Numbers,
        width: usize,
        scratch: &Scratch<Numbers>,
        pivots: Place<Numbers>,
    ) -> Result<(), DeviceError> {
        self.step()?;
        let block = block.borrow();
        let entry = |i: usize, j: usize| f64::from(block[i.max(j) * PANEL + i.min(j)]);
        let mut square: Vec<Vec<f64>> =
            (0..width).map(|i| (0..width).map(|j| entry(i, j)).collect()).collect();
        let mut order: Vec<usize> = (0..PANEL).collect();
        let mut k = 0;
        while let Some(pivot) = (k..width).find(|&i| square[i][i] != 0.0) {
            order.swap(k, pivot);
            square.swap(k, pivot);
            square.iter_mut().for_each(|row| row.swap(k, pivot));
            let inverse = self.field.invert(square[k][k]);
            scratch.inverses.borrow_mut()[k] = inverse as i32;
            let top = square[k].clone();
            for row in &mut square[k + 1..] {
                let factor = self.field.reduce(row[k] * inverse);
                for (x, &above) in row.iter_mut().zip(&top).skip(k + 1) {
                    *x = self.field.reduce(*x - factor * above);
                }
            }
            k += 1;
        }
        let mut out = pivots.memory.borrow_mut();
        out[pivots.at..pivots.at + PANEL].fill(0);
        let mut work = scratch.work.borrow_mut();
        for (i, row) in square.iter().enumerate().take(k) {
            out[pivots.at + i] = row[i] as i32;
            for (to, &x) in work[i * PANEL..][..width].iter_mut().zip(row).skip(i) {
                *to = x as i32;
            }
        }
        let mut found = scratch.found.borrow_mut();
        found[0] = k as i32;
        order.iter().zip(&mut found[1..]).for_each(|(&from, to)| *to = from as i32);
        Ok(())
    }

    fn invert_upper(&self, scratch: &Scratch<Numbers>, out: &Numbers) -> Result<(), DeviceError> {
        self.step()?;
        let (work, found) = (scratch.work.borrow(), scratch.found.borrow());
        let inverses = scratch.inverses.borrow();
        let mut out = out.borrow_mut();
        out.fill(0);
        self.invert(
            found[0] as usize,
            |j, m| f64::from(work[j * PANEL + m]),
            |m| f64::from(inverses[m]),
            &mut |k, m, x| out[m * PANEL + found[1 + k] as usize] = x,
        );
        Ok(())
    }

    fn invert_lower(
        &self,
        block: Place<Numbers>,
        scratch: &Scratch<Numbers>,
        out: &Numbers,
    ) -> Result<(), DeviceError> {
        self.step()?;
        let mut out = out.borrow_mut();
        out.fill(0);
        let size = scratch.found.borrow()[0] as usize;
        // The transposed triangle is upper.
        let entry = |j: usize, m: usize| number(block, m * PANEL + j);
        self.invert(size, entry, |_| 1.0, &mut |k, m, x| out[m * PANEL + k] = x);
        Ok(())
    }

    fn move_rows(&self, matrices: &[Segment<Numbers>], moves: &[(usize, usize)]) -> Result<(), DeviceError> {
        self.step()?;
        for s in matrices {
            let mut numbers = s.start.memory.borrow_mut();
            for &(from, to) in moves {
                let place = |row: usize| s.start.at + row * s.ld;
                numbers.copy_within(place(from)..place(from) + s.steps * DEPTH, place(to));
            }
        }
        Ok(())
    }

    fn exchange_rows(
        &self,
        matrices: &[Segment<Numbers>],
        found: &Numbers,
        count: usize,
    ) -> Result<(), DeviceError> {
        self.step()?;
        for s in matrices {
            let mut numbers = s.start.memory.borrow_mut();
            for k in 0..count {
                let with = found.borrow()[1 + k] as usize;
                for c in 0..s.steps * DEPTH {
                    numbers.swap(s.start.at + k * s.ld + c, s.start.at + with * s.ld + c);
                }
            }
        }
        Ok(())
    }

    fn transpose(&self, block: Place<Numbers>, rows: usize, out: &Numbers) -> Result<(), DeviceError> {
        self.step()?;
        for (at, x) in out.borrow_mut().iter_mut().enumerate() {
            let (c, r) = (at / PANEL, at % PANEL);
            *x = if r < rows { number(block, r * PANEL + c) as i32 } else { 0 };
        }
        Ok(())
    }

    fn factor_columns(
        &self,
        block: Place<Numbers>,
        rows: usize,
        width: usize,
        scratch: &Scratch<Numbers>,
    ) -> Result<(), DeviceError> {
        self.step()?;
        let mut numbers = block.memory.borrow_mut();
        let at = |i: usize, j: usize| block.at + i * PANEL + j;
        let mut found = scratch.found.borrow_mut();
        found.fill(0);
        for k in 0..width.min(rows) {
            let Some(pivot) = (k..rows).find(|&i| numbers[at(i, k)] != 0) else { break };
            (0..PANEL).for_each(|c| numbers.swap(at(k, c), at(pivot, c)));
            let inverse = self.field.invert(f64::from(numbers[at(k, k)]));
            for i in k + 1..rows {
                let factor = self.field.reduce(f64::from(numbers[at(i, k)]) * inverse);
                numbers[at(i, k)] = factor as i32;
                for j in k + 1..width {
                    numbers[at(i, j)] =
                        self.reduce(f64::from(numbers[at(i, j)]) - factor * f64::from(numbers[at(k, j)]));
                }
            }
            found[0] = k as i32 + 1;
            found[1 + k] = pivot as i32;
        }
        Ok(())
    }
}
