//! Functional dimensions of many networks on many data sets.

use fiberscope_core::{Matrix, Network};
use serde::{Deserialize, Serialize};

use crate::dimension::{DimensionOptions, FunctionalDimension, functional_dimension};
use crate::tasks::answer::Answer;
use crate::tasks::error::TaskError;
use crate::tasks::question::Means;

use super::table::Table;

/// The functional dimension of every network on every data set.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DimensionQuestion {
    seed: u64,
    primes: Option<usize>,
    generic: bool,
    /// Columns and entries, row by row.
    data: Vec<(usize, Vec<f64>)>,
}

impl DimensionQuestion {
    /// On these data sets, one point per row; of the options the seed, the primes and `generic` count.
    pub fn new(data: &[Matrix], options: &DimensionOptions) -> Self {
        let stored = |points: &Matrix| (points.cols(), points.entries().to_vec());
        DimensionQuestion {
            seed: options.seed,
            primes: options.primes,
            generic: options.generic,
            data: data.iter().map(stored).collect(),
        }
    }

    fn points(&self, number: usize) -> Result<Matrix, TaskError> {
        let (columns, entries) = &self.data[number];
        if *columns == 0 || entries.len() % columns != 0 {
            return Err(TaskError::Damaged("a data set has no columns, or rows of other lengths".into()));
        }
        Ok(Matrix::from_fn(entries.len() / columns, *columns, |i, j| entries[i * columns + j]))
    }
}

impl From<Vec<FunctionalDimension>> for Answer {
    fn from(found: Vec<FunctionalDimension>) -> Self {
        Answer::Dimensions(found)
    }
}

impl Table for DimensionQuestion {
    const NAME: &'static str = "dimension";
    type Row = FunctionalDimension;

    fn count(&self, networks: &[Network]) -> Result<u64, TaskError> {
        Ok((networks.len() * self.data.len()) as u64)
    }

    fn row(
        &self,
        networks: &[Network],
        number: u64,
        means: &Means,
    ) -> Result<FunctionalDimension, TaskError> {
        let stop = &means.deadline;
        let (network, data) = (number as usize / self.data.len(), number as usize % self.data.len());
        let options = DimensionOptions::new()
            .seed(self.seed)
            .primes(self.primes)
            .generic(self.generic)
            .memory(stop.room().unwrap_or(usize::MAX))
            .deadline(stop.clone())
            .device(means.device.clone());
        let found = functional_dimension(&networks[network], &self.points(data)?, &options)?;
        if stop.is_past() { Err(TaskError::Stopped) } else { Ok(found) }
    }
}
