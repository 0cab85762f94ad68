//! Searches for the largest difference of two networks on a box ([`crate::difference`] says why their pieces fit together).

use std::sync::OnceLock;

use fiberscope_core::{Domain, Network, Rational};
use serde::{Deserialize, Serialize};

use crate::difference::{
    Difference, DifferenceError, DifferenceOptions, Preparation, PreparedSearch, SearchPart, SearchPiece,
    prepare,
};
use crate::limit::Deadline;
use crate::tasks::answer::Answer;
use crate::tasks::error::TaskError;
use crate::tasks::question::{Known, Means, Merging, Question, Worked};

use super::two_networks;

/// How far apart are two networks at most on a box?
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DifferenceQuestion {
    domain: Domain,
    epsilon: Option<Rational>,
    gap: f64,
    prepared: Preparation,
    #[serde(skip)]
    search: OnceLock<PreparedSearch>,
}

/// The most rounds; each has an aim at least `1 + gap` times that of the one before.
const ROUNDS: usize = 10_000;

impl DifferenceQuestion {
    /// The question of [`measure`](crate::difference::measure) with these options: brings the networks to one shape and
    /// looks for points where they are far apart.
    pub fn new(
        a: &Network,
        b: &Network,
        domain: &Domain,
        options: &DifferenceOptions,
    ) -> Result<Self, TaskError> {
        let prepared = prepare(a, b, domain, options)?;
        let (epsilon, gap) = (options.epsilon.clone(), options.gap);
        Ok(DifferenceQuestion { domain: domain.clone(), epsilon, gap, prepared, search: OnceLock::new() })
    }

    fn search(&self, networks: &[Network]) -> Result<&PreparedSearch, TaskError> {
        if let Some(search) = self.search.get() {
            return Ok(search);
        }
        let (a, b) = two_networks(networks)?;
        let search = PreparedSearch::new(a, b, &self.domain, &self.prepared)?;
        Ok(self.search.get_or_init(|| search))
    }

    /// What differences are compared with if a point has this one.
    fn aim(&self, lower: &Rational) -> Result<Rational, TaskError> {
        let factor = Rational::from_f64(1.0 + self.gap).ok_or(DifferenceError::Gap(self.gap.to_string()))?;
        Ok(self.epsilon.clone().unwrap_or_else(|| &factor * lower))
    }

    fn first_aim(&self, search: &PreparedSearch) -> Result<Rational, TaskError> {
        let worst = search.worst(self.prepared.points());
        self.aim(&worst.map_or(Rational::ZERO, |point| point.largest().1))
    }
}

impl From<Difference> for Answer {
    fn from(difference: Difference) -> Self {
        Answer::Difference(Box::new(difference))
    }
}

impl Question for DifferenceQuestion {
    const KIND: &'static str = "difference";
    type Piece = SearchPiece;
    type Part = SearchPart;
    type Answer = Difference;

    fn whole(&self, networks: &[Network], pieces: usize) -> Result<SearchPiece, TaskError> {
        let aim = self.first_aim(self.search(networks)?)?;
        Ok(PreparedSearch::whole(aim, pieces))
    }

    fn work(
        &self,
        networks: &[Network],
        piece: &SearchPiece,
        Means { deadline, .. }: &Means,
    ) -> Result<Worked<Self>, TaskError> {
        let search = self.search(networks)?;
        if self.prepared.equal {
            return Ok(Worked { part: SearchPart::default(), left: Vec::new() });
        }
        let worked = search.search(piece, deadline)?;
        worked.map(|(part, left)| Worked { part, left }).ok_or(TaskError::Stopped)
    }

    fn merge(
        &self,
        networks: &[Network],
        known: &Known<'_, Self>,
        _: &Deadline,
    ) -> Result<Merging<Self>, TaskError> {
        let (a, b) = two_networks(networks)?;
        let search = self.search(networks)?;
        let mut aim = self.first_aim(search)?;
        let conclude = |part, aim: &Rational, points: &[Vec<f64>]| -> Result<_, TaskError> {
            let epsilon = self.epsilon.as_ref();
            let told = search.conclude((a, b), &self.domain, &self.prepared, (part, aim), points, epsilon)?;
            Ok(Merging::Answer(Box::new(told)))
        };
        if self.prepared.equal {
            return conclude(None, &aim, &[]);
        }
        // A point that decides is enough.
        let worst = search.worst(self.prepared.points());
        if let (Some(epsilon), Some(point)) = (&self.epsilon, worst)
            && point.largest().1 > *epsilon
        {
            return conclude(None, &aim, &[]);
        }
        let (mut whole, mut points): (Option<SearchPart>, Vec<Vec<f64>>) = (None, Vec::new());
        let mut gathered = known.gather_all()?;
        for _ in 0..ROUNDS {
            let beyond: Vec<Vec<f64>> =
                gathered.parts.iter().flat_map(|(part, _)| part.beyond()).map(<[f64]>::to_vec).collect();
            let farthest = search.farthest(&beyond);
            if let (Some(_), Some((x, _))) = (&self.epsilon, &farthest) {
                return conclude(None, &aim, std::slice::from_ref(x));
            }
            if !gathered.missing.is_empty() {
                return Ok(Merging::Missing(gathered.missing));
            }
            let part = gathered.fold(|part, left| Ok(part.clone().with(left)?))?;
            let part = match whole.take() {
                None => part,
                Some(before) => before.after(part)?,
            };
            let Some((x, difference)) = farthest else {
                return if known.wanted { conclude(Some(part), &aim, &points) } else { Ok(Merging::Known) };
            };
            points.push(x);
            aim = self.aim(&difference)?;
            gathered = known.gather_of(&part.again(aim.clone(), known.pieces))?;
            whole = Some(part);
        }
        Err(TaskError::Damaged(format!("the search has more than {ROUNDS} rounds")))
    }
}
