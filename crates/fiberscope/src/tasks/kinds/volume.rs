//! Estimates of volumes: random signs, block by block.

use fiberscope_core::Network;
use serde::{Deserialize, Serialize};

use crate::fiber::{MonteCarlo, SIGN_BLOCK, draw_signs};
use crate::limit::Deadline;
use crate::tasks::answer::Answer;
use crate::tasks::error::TaskError;
use crate::tasks::question::{Known, Means, Merging, Question, Worked};

use super::rows::Rows;

/// How large is the share of identifiable parameters, by random signs?
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeQuestion {
    widths: Vec<usize>,
    samples: u64,
    seed: u64,
}

impl VolumeQuestion {
    /// The estimate of [`monte_carlo`](crate::fiber::monte_carlo).
    pub fn new(widths: &[usize], samples: u64, seed: u64) -> Self {
        VolumeQuestion { widths: widths.to_vec(), samples, seed }
    }
}

impl From<MonteCarlo> for Answer {
    fn from(estimate: MonteCarlo) -> Self {
        Answer::Volume(estimate)
    }
}

impl Question for VolumeQuestion {
    const KIND: &'static str = "volume";
    type Piece = Rows;
    /// Hits and draws.
    type Part = (u64, u64);
    type Answer = MonteCarlo;

    fn whole(&self, _: &[Network], pieces: usize) -> Result<Rows, TaskError> {
        Ok(Rows::whole(self.samples.div_ceil(SIGN_BLOCK), pieces))
    }

    fn work(
        &self,
        _: &[Network],
        piece: &Rows,
        Means { deadline, .. }: &Means,
    ) -> Result<Worked<Self>, TaskError> {
        if piece.is_cut() {
            return Ok(Worked { part: (0, 0), left: piece.cut() });
        }
        const STRIDE: u64 = 256;
        let (mut at, end) = piece.ends();
        let (stop, mut sum) = (deadline.endless(), (0, 0));
        let mut begun = false;
        while at < end && !(begun && deadline.is_past()) {
            begun = true;
            let next = at.saturating_add(STRIDE).min(end);
            let (hits, count) = draw_signs(&self.widths, self.samples, self.seed, at..next, &stop)?;
            if stop.is_past() {
                return Err(TaskError::Stopped);
            }
            (sum, at) = ((sum.0 + hits, sum.1 + count), next);
        }
        Ok(Worked { part: sum, left: piece.rest(at).into_iter().collect() })
    }

    fn merge(
        &self,
        _: &[Network],
        known: &Known<'_, Self>,
        _: &Deadline,
    ) -> Result<Merging<Self>, TaskError> {
        let gathered = known.gather_all()?;
        if !gathered.missing.is_empty() {
            return Ok(Merging::Missing(gathered.missing));
        }
        let add = |(hits, count): (u64, u64), (part, _): &(&(u64, u64), Vec<usize>)| {
            (hits.saturating_add(part.0), count.saturating_add(part.1))
        };
        let (hits, count) = gathered.parts.iter().fold((0, 0), add);
        if count != self.samples || hits > count {
            return Err(TaskError::Damaged("the results do not have every draw once".into()));
        }
        Ok(Merging::Answer(Box::new(MonteCarlo::of(hits, count))))
    }
}
