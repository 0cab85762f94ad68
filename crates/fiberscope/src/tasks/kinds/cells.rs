//! Counts of cells, tile by tile ([`crate::complex`] has the formula).

use fiberscope_core::{Domain, Network};
use serde::{Deserialize, Serialize};

use crate::complex::{CellCounts, CellMethod, CountPart, CountPiece, CountSum, count_piece};
use crate::limit::Deadline;
use crate::tasks::answer::Answer;
use crate::tasks::error::TaskError;
use crate::tasks::question::{Gathered, Known, Means, Merging, Question, Worked};

use super::one_network;

/// How many cells does the complex of a network have on a domain?
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellsQuestion {
    domain: Domain,
}

impl CellsQuestion {
    /// The cells on a domain.
    pub fn new(domain: Domain) -> Self {
        CellsQuestion { domain }
    }

    fn add(&self, network: &Network, gathered: &Gathered<Self>) -> Result<CountSum, TaskError> {
        let mut sum = CountSum::new(network, &self.domain)?;
        for (part, _) in &gathered.parts {
            sum.add(part)?;
        }
        Ok(sum)
    }
}

impl From<(CellCounts, CellMethod)> for Answer {
    fn from((counts, method): (CellCounts, CellMethod)) -> Self {
        Answer::Cells(counts, method)
    }
}

impl Question for CellsQuestion {
    const KIND: &'static str = "cells";
    type Piece = CountPiece;
    type Part = CountPart;
    type Answer = (CellCounts, CellMethod);

    fn whole(&self, networks: &[Network], pieces: usize) -> Result<CountPiece, TaskError> {
        Ok(CountPiece::whole(one_network(networks)?, &self.domain, pieces)?)
    }

    fn work(
        &self,
        networks: &[Network],
        piece: &CountPiece,
        Means { deadline, .. }: &Means,
    ) -> Result<Worked<Self>, TaskError> {
        let worked = count_piece(one_network(networks)?, &self.domain, piece, deadline)?;
        worked.map(|(part, left)| Worked { part, left }).ok_or(TaskError::Stopped)
    }

    fn merge(
        &self,
        networks: &[Network],
        known: &Known<'_, Self>,
        _: &Deadline,
    ) -> Result<Merging<Self>, TaskError> {
        let network = one_network(networks)?;
        let mut piece = CountPiece::whole(network, &self.domain, known.pieces)?;
        let mut gathered = known.gather_all()?;
        loop {
            let sum = self.add(network, &gathered)?;
            if let Some(again) = sum.again(network, &self.domain, &piece, known.pieces)? {
                gathered = known.gather_of(&again)?;
                piece = again;
                continue;
            }
            return Ok(match gathered.missing.is_empty() {
                true => Merging::Answer(Box::new(sum.counts())),
                false => Merging::Missing(gathered.missing),
            });
        }
    }
}
