//! The rank of the Jacobian modulo one prime, in two ways.
//!
//! Columns of the Jacobian (`sketched_rank`) take `m r^2 - r^3 / 3` operations for `m` rows and rank `r`, the
//! kernel (`symmetric_rank`) `(m^3 - (m - r)^3) / 3`: less if the rank is more than about half of the rows.

use std::cell::{Cell, RefCell};

use rand_chacha::ChaCha8Rng;

use super::PANEL;
use super::blocked::{self, GoOn};
use super::device::{Device, DeviceError, DeviceUse};
use super::elimination::Elimination;
use super::jacobian::{Factors, LayerWeights};
use super::symmetric::SymmetricElimination;
use crate::clock::Instant;

/// What a rank modulo a prime took.
pub(super) struct Modular {
    /// Multiplications, about.
    pub work: f64,
    /// The minors that show the rank have this degree per pivot and layer.
    pub degree: usize,
}

/// Of less work than this the processor is done before a GPU has its numbers.
const SMALL: f64 = 1e9;

/// What devices did and did not do for a rank.
#[derive(Debug, Default)]
pub(super) struct Run {
    used: RefCell<DeviceUse>,
    failure: RefCell<Option<DeviceError>>,
}

impl Run {
    /// What the eliminations ran on, or why the device that was asked for could not.
    pub fn finish(&self) -> Result<DeviceUse, DeviceError> {
        match self.failure.borrow().clone() {
            Some(error) => Err(error),
            None => Ok(self.used.borrow().clone()),
        }
    }

    /// What a device found; `None` if the processor has to do it, the error if nobody may.
    fn on_device<T>(
        &self,
        device: &Device,
        work: f64,
        go_on: GoOn,
        eliminate: impl FnOnce(GoOn) -> Option<Result<T, DeviceError>>,
    ) -> Result<Option<T>, ()> {
        if device.falls_back() && work < SMALL {
            return Ok(None);
        }
        let (begun, most) = (Instant::now(), Cell::new(0));
        let watched = |done: usize, bytes: usize| {
            let going = go_on(done, bytes);
            if going {
                most.set(bytes.max(most.get()));
            }
            going
        };
        match eliminate(&watched) {
            None => Ok(None),
            Some(Ok(found)) => {
                let mut used = self.used.borrow_mut();
                used.gpu = device.name();
                used.seconds += begun.elapsed().as_secs_f64();
                used.bytes = used.bytes.max(most.get());
                Ok(Some(found))
            }
            Some(Err(error)) if device.falls_back() => {
                self.used.borrow_mut().fallback = Some(error);
                Ok(None)
            }
            Some(Err(error)) => {
                *self.failure.borrow_mut() = Some(error);
                Err(())
            }
        }
    }

    /// The rank of the kernel, at most `upper`, and whether the elimination ended.
    pub fn symmetric_rank(
        &self,
        (device, work): (&Device, f64),
        factors: &Factors,
        (upper, only): (usize, Option<usize>),
        go_on: GoOn,
        rng: &mut ChaCha8Rng,
    ) -> (usize, bool) {
        let weights = factors.weights(only, rng);
        let eliminate = |go_on: GoOn| blocked::symmetric_rank(device, factors, &weights, upper, go_on);
        match self.on_device(device, work, go_on, eliminate) {
            Ok(Some(found)) => found,
            Ok(None) => symmetric_rank(factors, &weights, upper, go_on),
            Err(()) => (0, false),
        }
    }

    /// The rank of columns of the Jacobian, at most `upper`, and whether the elimination ended.
    pub fn sketched_rank(
        &self,
        (device, work): (&Device, f64),
        factors: &Factors,
        (upper, only): (usize, Option<usize>),
        go_on: GoOn,
        rng: &mut ChaCha8Rng,
    ) -> (usize, bool) {
        let before = rng.clone();
        let eliminate = |go_on: GoOn| blocked::sketched_rank(device, factors, upper, only, go_on, rng);
        match self.on_device(device, work, go_on, eliminate) {
            Ok(Some(found)) => found,
            Ok(None) => {
                *rng = before;
                sketched_rank(factors, upper, only, go_on, rng)
            }
            Err(()) => (0, false),
        }
    }
}

/// The rank of the kernel, at most `upper`, and whether the elimination ended.
pub(super) fn symmetric_rank(
    factors: &Factors,
    weights: &[LayerWeights],
    upper: usize,
    go_on: GoOn,
) -> (usize, bool) {
    let mut elimination = SymmetricElimination::new(factors.field(), factors.rows());
    while elimination.rank() < upper && !elimination.remaining().is_empty() {
        if !go_on(elimination.rank(), elimination.bytes_with(PANEL)) {
            return (elimination.rank(), false);
        }
        let rows = elimination.remaining();
        let block = factors.kernel(weights, rows, &rows[..PANEL.min(rows.len())]);
        elimination.push(block);
    }
    (elimination.rank(), elimination.rank() == upper || !factors.field().is_late())
}

/// The rank of columns of the Jacobian, at most `upper`, and whether the elimination ended. Columns of one
/// layer are cheaper; what they leave is left to columns of all.
pub(super) fn sketched_rank(
    factors: &Factors,
    upper: usize,
    mut only: Option<usize>,
    go_on: GoOn,
    rng: &mut ChaCha8Rng,
) -> (usize, bool) {
    let mut elimination = Elimination::new(factors.field(), factors.rows());
    while elimination.rank() < upper {
        let done = elimination.rank();
        if !go_on(done, elimination.bytes_with(PANEL)) {
            return (done, false);
        }
        let block = factors.sketch(PANEL.min(upper - done), only, rng);
        if !elimination.push(block) && only.take().is_none() {
            break;
        }
    }
    (elimination.rank(), elimination.rank() == upper || !factors.field().is_late())
}
