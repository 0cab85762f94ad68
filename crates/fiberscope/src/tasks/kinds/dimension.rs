//! Functional dimensions of many networks on many data sets.

use fiberscope_core::{Matrix, Network};
use serde::{Deserialize, Serialize};

use crate::dimension::{DimensionOptions, FunctionalDimension, functional_dimension};
use crate::limit::Deadline;
use crate::tasks::answer::Answer;
use crate::tasks::error::TaskError;
use crate::tasks::question::{Known, Merging, Question, Worked};

use super::rows::Rows;
use super::table::{merge_rows, work_rows};

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

impl Question for DimensionQuestion {
    const KIND: &'static str = "dimension";
    type Piece = Rows;
    type Part = Vec<(u64, FunctionalDimension)>;
    type Answer = Vec<FunctionalDimension>;

    fn whole(&self, networks: &[Network], pieces: usize) -> Result<Rows, TaskError> {
        Ok(Rows::whole((networks.len() * self.data.len()) as u64, pieces))
    }

    fn work(
        &self,
        networks: &[Network],
        piece: &Rows,
        deadline: &Deadline,
    ) -> Result<Worked<Self>, TaskError> {
        work_rows(piece, deadline, |row| {
            let row = row as usize;
            let count = self.data.len();
            let network = networks
                .get(row.checked_div(count).unwrap_or(usize::MAX))
                .ok_or_else(|| TaskError::Damaged("there is no such row".into()))?;
            let stop = deadline.endless();
            let options = DimensionOptions::new()
                .seed(self.seed)
                .primes(self.primes)
                .generic(self.generic)
                .memory(stop.room().unwrap_or(usize::MAX))
                .deadline(stop.clone());
            let found = functional_dimension(network, &self.points(row % count)?, &options)?;
            if stop.is_past() { Err(TaskError::Stopped) } else { Ok(found) }
        })
    }

    fn merge(
        &self,
        networks: &[Network],
        known: &Known<'_, Self>,
        _: &Deadline,
    ) -> Result<Merging<Self>, TaskError> {
        merge_rows(known, (networks.len() * self.data.len()) as u64)
    }
}
