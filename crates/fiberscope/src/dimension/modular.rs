//! The rank of the Jacobian modulo one prime, in two ways.
//!
//! Columns of the Jacobian (`sketched_rank`) take `m r^2 - r^3 / 3` operations for `m` rows and rank `r`, the
//! kernel (`symmetric_rank`) `(m^3 - (m - r)^3) / 3`: less if the rank is more than about half of the rows.

use rand_chacha::ChaCha8Rng;

use super::PANEL;
use super::elimination::Elimination;
use super::jacobian::Factors;
use super::symmetric::SymmetricElimination;

/// What a rank modulo a prime took.
pub(super) struct Modular {
    /// Multiplications, about.
    pub work: f64,
    /// The minors that show the rank have this degree per pivot and layer.
    pub degree: usize,
}

/// The rank of the kernel, at most `upper`, and whether the elimination ended.
pub(super) fn symmetric_rank(
    factors: &Factors,
    upper: usize,
    only: Option<usize>,
    go_on: &dyn Fn(usize, usize) -> bool,
    rng: &mut ChaCha8Rng,
) -> (usize, bool) {
    let weights = factors.weights(only, rng);
    let mut elimination = SymmetricElimination::new(factors.field(), factors.rows());
    while elimination.rank() < upper && !elimination.remaining().is_empty() {
        if !go_on(elimination.rank(), elimination.bytes_with(PANEL)) {
            return (elimination.rank(), false);
        }
        let rows = elimination.remaining();
        let block = factors.kernel(&weights, rows, &rows[..PANEL.min(rows.len())]);
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
    go_on: &dyn Fn(usize, usize) -> bool,
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
