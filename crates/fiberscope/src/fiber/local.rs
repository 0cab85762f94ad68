//! The dimension of the fiber near a parameter, by the rank of the parameter Jacobian.
//!
//! The directions in which the function does not change to first order are the kernel of the Jacobian on a
//! decisive set [grigsby2022functional, Section 3]; where the fiber is smooth with this tangent space, that
//! is its dimension.

use std::time::Duration;

use fiberscope_core::{Domain, Network};

use crate::complex::{ComplexOptions, walk_regions};
use crate::dimension::{DimensionOptions, RegionSample, full_functional_dimension, sample_regions};

/// Regions are not listed for longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The dimension of the fiber near a parameter by the rank of the parameter Jacobian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalDimension {
    /// `D` minus the rank, scalings included: the dimension of the fiber near the parameter if it is smooth
    /// there, else an upper bound.
    pub dimension: usize,
    /// Whether all linear regions were used; otherwise `dimension` is an upper bound.
    pub complete: bool,
}

/// The dimension of the fiber near a parameter: `D` minus the functional dimension, on all linear regions if
/// there are at most `regions`, else on those that `samples` random points find.
pub fn local_dimension(
    network: &Network,
    regions: u64,
    samples: usize,
    options: &DimensionOptions,
) -> LocalDimension {
    if network.hidden_depth() == 0 {
        return LocalDimension { dimension: 0, complete: true };
    }
    let limits = ComplexOptions::new().regions(regions).deadline(options.deadline.at_most(PATIENCE));
    let widths = network.widths();
    let neurons: usize = widths[1..widths.len() - 1].iter().sum();
    let walked = if neurons <= 64 { walk_regions(network, &Domain::Space, &limits).ok() } else { None };
    let listed = walked.filter(|walked| walked.complete).map(|walked| walked.sign_vectors(network));
    let (sample, complete) = match listed {
        // Where a neuron vanishes on a whole region, the outputs are not differentiable in the parameters.
        Some(mut signs) => {
            signs.retain(|signs| !signs.has_zero());
            (RegionSample::complete(network, &signs), true)
        }
        None => {
            let unlimited = DimensionOptions::new().seed(options.seed);
            let sample = sample_regions(network, &Domain::Space, samples, &unlimited);
            (sample.expect("there is no limit"), false)
        }
    };
    let found = full_functional_dimension(network, &sample, options);
    let exhausted = found.regions == found.regions_used && !options.deadline.is_past();
    LocalDimension {
        dimension: network.parameter_count() - found.rank.lower,
        complete: complete && (exhausted || found.rank.lower == found.rank.upper),
    }
}
