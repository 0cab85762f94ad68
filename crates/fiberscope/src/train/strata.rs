//! The strata that the training of a linear network visits [shewchuk2024geometry].
//!
//! Almost every network has full ranks, so a stratum is named with a threshold: singular values up to it
//! count as zero. From small weights, gradient descent stays near the stratum of all ranks zero, then passes
//! by strata of higher and higher rank; the thresholded ranks tell when. What does not depend on the
//! threshold's exact value is recorded beside it: how far the weights are from having those ranks exactly,
//! and how far from there the strata of smaller ranks are.

use fiberscope_core::Network;
use serde::{Deserialize, Serialize};

use super::TrainError;
use crate::linear::{LinearError, LinearNetwork, Neighbourhood, Stratum, Tolerance};

/// Where in the rank stratification a linear network is, at the end of an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StratumRecord {
    /// The name: the ranks of `W_L, ..., W_1`.
    pub name: String,
    /// The rank list: row `k` has `r_{k~0}, ..., r_{k~k-1}`.
    pub ranks: Vec<Vec<usize>>,
    /// The rank of the product.
    pub product_rank: usize,
    /// The dimension of the stratum.
    pub dimension: u64,
    /// The number of directions in the fiber that raise ranks.
    pub rdof: u64,
    /// Weights with exactly these ranks are at most so far away.
    pub offset: f64,
    /// From there, weights with smaller ranks are at least so far away; nothing if all ranks are zero.
    pub below_lower: Option<f64>,
    /// And at most so far.
    pub below_upper: Option<f64>,
    /// The product whose rank drops there: `[k, i]` for `W_k ... W_{i+1}`.
    pub below_product: Option<[usize; 2]>,
}

impl StratumRecord {
    /// The record of a network; singular values up to `threshold` count as zero.
    pub fn of(network: &Network, threshold: f64) -> Result<Self, TrainError> {
        let wrong = |error: LinearError| TrainError::Options(error.to_string());
        let linear = LinearNetwork::from_network(network).map_err(wrong)?;
        let tolerance = Tolerance { relative: 1.0, scale: Some(threshold) };
        let around = Neighbourhood::of(&linear, tolerance).map_err(wrong)?;
        let stratum = Stratum::new(around.flow.barcode().rank_list());
        let below = around.below();
        let nearest = around.gaps.iter().min_by(|a, b| a.upper.total_cmp(&b.upper));
        Ok(StratumRecord {
            name: stratum.short_name(),
            ranks: stratum.ranks().rows(),
            product_rank: stratum.fiber().rank(),
            dimension: stratum.dimension(),
            rdof: stratum.rank_increasing_degrees_of_freedom(),
            offset: around.offset,
            below_lower: below.map(|(lower, _)| lower),
            below_upper: below.map(|(_, upper)| upper),
            below_product: nearest.map(|gap| [gap.k, gap.i]),
        })
    }
}
