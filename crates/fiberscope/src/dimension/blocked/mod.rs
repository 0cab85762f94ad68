//! Eliminations modulo a prime on a device, block by block.
//!
//! They give the same ranks as the processor's, bit by bit: primes, weights and directions are drawn before, and where the rank
//! could depend on the order of the pivots (`symmetric`) the order is the same. They are written in terms of the steps of a
//! device (`dimension::device::engine`), and the tests run them on a plain implementation of these steps (`host`).
//!
//! A rank from a device is used only if every step of the device said that it was done: a GPU that fails in the middle is an
//! error ([`DeviceError::Failed`]), and pivots that it reported before are not counted.

#[cfg(any(test, feature = "cuda"))]
mod columns;
#[cfg(test)]
mod host;
#[cfg(any(test, feature = "cuda"))]
mod panels;
#[cfg(any(test, feature = "cuda"))]
mod resident;
#[cfg(any(test, feature = "cuda"))]
mod symmetric;
#[cfg(test)]
mod tests;

use rand_chacha::ChaCha8Rng;

#[cfg(any(test, feature = "cuda"))]
use super::device::engine::{Engine, PANEL};
use super::device::{Device, DeviceError};
use super::jacobian::{Factors, LayerWeights};

/// Asked before every block with the pivots found and the bytes in use: whether to go on.
pub(super) type GoOn<'a> = &'a dyn Fn(usize, usize) -> bool;

/// A rank and whether the elimination ended.
type Found = Result<(usize, bool), DeviceError>;

/// Device memory that is left to others: what the driver needs beside.
#[cfg(any(test, feature = "cuda"))]
const RESERVE: usize = 128 << 20;

/// The rank of the weighted kernel on a GPU, and whether the elimination ended; `None` without a GPU.
pub(super) fn symmetric_rank(
    device: &Device,
    factors: &Factors,
    weights: &[LayerWeights],
    upper: usize,
    go_on: GoOn,
) -> Option<Found> {
    #[cfg(feature = "cuda")]
    return device.with_engine(factors.field().prime(), |engine| {
        symmetric::symmetric_rank(engine, factors, weights, upper, go_on)
    });
    #[cfg(not(feature = "cuda"))]
    no_gpu((device, factors, weights, upper, go_on))
}

/// The rank of columns of the Jacobian on a GPU, and whether the elimination ended; `None` without a GPU.
pub(super) fn sketched_rank(
    device: &Device,
    factors: &Factors,
    upper: usize,
    only: Option<usize>,
    go_on: GoOn,
    rng: &mut ChaCha8Rng,
) -> Option<Found> {
    #[cfg(feature = "cuda")]
    return device.with_engine(factors.field().prime(), |engine| {
        columns::sketched_rank(engine, factors, upper, only, go_on, rng)
    });
    #[cfg(not(feature = "cuda"))]
    no_gpu((device, factors, upper, only, go_on, rng))
}

/// What becomes of work for a GPU where none can be had.
#[cfg(not(feature = "cuda"))]
fn no_gpu<W>(_work: W) -> Option<Found> {
    None
}

/// The bytes that are left for panels on a device beside what an elimination needs anyway, room for a panel of the host
/// included.
#[cfg(any(test, feature = "cuda"))]
fn room_for_panels<E: Engine>(engine: &E, fixed: usize, rows: usize) -> Result<usize, DeviceError> {
    let needed = fixed + RESERVE + 4 * PANEL * rows;
    let free = engine.free_bytes()?;
    free.checked_sub(needed).ok_or_else(|| DeviceError::Memory { name: engine.name(), needed, free })
}
