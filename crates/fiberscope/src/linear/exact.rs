//! Exact rank lists of weights that are doubles, hence rational numbers.
//!
//! The products `W_{k~i}` are formed over the rationals. Their ranks modulo a prime are lower bounds, and
//! `r_{k~i} <= min(r_{k-1~i}, r_{k~i+1})` gives upper bounds; where they differ, elimination over the
//! rationals decides.

use fiberscope_algebra::rational::rank_at_most;
use fiberscope_core::{Matrix, Rational, Scalar};

use super::{LinearError, LinearNetwork, RankList};

/// The rank list of a network, exactly. Fails if the ranks need more than `work` multiplications of
/// rationals.
///
/// ```
/// use fiberscope::Matrix;
/// use fiberscope::linear::{LinearNetwork, exact_rank_list};
///
/// // A rank that no tolerance sees: the rows are equal up to the last bit.
/// let weight = Matrix::from_rows(&[[1.0, 1.0], [1.0, 1.0 + f64::EPSILON]]).unwrap();
/// let network = LinearNetwork::from_weights(vec![weight])?;
/// assert_eq!(exact_rank_list(&network, 1000)?.product_rank(), 2);
/// # Ok::<(), fiberscope::linear::LinearError>(())
/// ```
pub fn exact_rank_list(network: &LinearNetwork, work: usize) -> Result<RankList, LinearError> {
    let weights: Vec<Matrix<Rational>> =
        network.weights().iter().map(|weight| weight.map(Scalar::to_rational)).collect();
    let widths = network.widths();
    let depth = weights.len();
    check_work(&widths, work)?;
    let mut ranks = vec![0; depth * (depth + 1) / 2];
    let mut products = weights.clone();
    // Products of `length` matrices, from shorter ones.
    for length in 1..=depth {
        for i in 0..=depth - length {
            let k = i + length;
            if length > 1 {
                products[i] =
                    Scalar::product(&weights[k - 1], &products[i]).expect("the widths of a network chain");
            }
            let upper = if length == 1 {
                widths[i].min(widths[k])
            } else {
                let shorter = |k: usize, i: usize| ranks[k * (k - 1) / 2 + i];
                shorter(k - 1, i).min(shorter(k, i + 1))
            };
            ranks[k * (k - 1) / 2 + i] = rank_at_most(&products[i], upper);
        }
    }
    RankList::from_flat(&widths, ranks)
}

/// Multiplications for all products, plus the same again for eliminating them.
fn check_work(widths: &[usize], work: usize) -> Result<(), LinearError> {
    let mut needed = 0usize;
    for (k, &rows) in widths.iter().enumerate() {
        for &cols in &widths[..k] {
            let inner = widths[k - 1].max(rows.min(cols));
            needed = needed.saturating_add(rows.saturating_mul(cols).saturating_mul(inner).saturating_mul(2));
        }
    }
    if needed > work { Err(LinearError::ExactTooLarge { needed, limit: work }) } else { Ok(()) }
}
