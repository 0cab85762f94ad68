//! The strata that trainings pass, over time: a row per stratum, higher dimensions higher up.

use fiberscope::train::{StratumRecord, TrainRecord};

use crate::draw::graph::ticks;
use crate::draw::markup::Element;
use crate::draw::svg::{Svg, label, polyline, segment, text_width};

/// A chart of the strata that some trainings visit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StratumTimeline {
    /// The title.
    pub title: String,
    /// The strata, lowest first: name, rank of the product, dimension.
    pub strata: Vec<(String, usize, u64)>,
    /// Of each training, the epochs and the places of the strata in the list.
    pub runs: Vec<Vec<(f64, usize)>>,
}

const ROW: f64 = 30.0;
const TOP: f64 = 52.0;
const TRACKS: [&str; 4] = ["track-1", "track-2", "track-3", "track-4"];
/// The most strata in a drawing that can be read.
const DRAWABLE: usize = 80;

impl StratumTimeline {
    /// The strata in the records of some trainings; `None` if they have none, or too many to be read.
    pub fn of(runs: &[Vec<TrainRecord>]) -> Option<Self> {
        let key = |record: &StratumRecord| (record.dimension, record.product_rank, record.ranks.clone());
        let visits = || runs.iter().flatten().filter_map(|record| record.stratum.as_ref());
        let mut strata: Vec<&StratumRecord> = visits().collect();
        strata.sort_by_key(|record| (record.product_rank, record.dimension, record.ranks.clone()));
        strata.dedup_by_key(|record| key(record));
        if strata.is_empty() || strata.len() > DRAWABLE {
            return None;
        }
        let place = |record: &TrainRecord| {
            let stratum = record.stratum.as_ref()?;
            let row = strata.iter().position(|other| key(other) == key(stratum))?;
            Some((record.epoch as f64, row))
        };
        Some(StratumTimeline {
            title: "Strata visited during training".into(),
            strata: strata.iter().map(|s| (s.name.clone(), s.product_rank, s.dimension)).collect(),
            runs: runs.iter().map(|run| run.iter().filter_map(place).collect()).collect(),
        })
    }

    /// Draws the chart.
    pub fn draw(&self) -> Svg {
        let name = |(name, rank, dimension): &(String, usize, u64)| {
            format!("{name}, rk W = {rank}, dim {dimension}")
        };
        let names: Vec<String> = self.strata.iter().map(name).collect();
        let left = 24.0 + names.iter().map(|name| text_width(name)).fold(60.0, f64::max);
        let right = left + 520.0;
        let bottom = TOP + ROW * self.strata.len() as f64;
        let row = |at: usize| bottom - ROW * (at as f64 + 0.5);
        let last = self.runs.iter().flatten().map(|(epoch, _)| *epoch).fold(1.0, f64::max);
        let x = |epoch: f64| left + (right - left - 10.0) * epoch / last;
        let mut content = vec![label("head", (16.0, 24.0), &self.title)];
        for (at, name) in names.iter().enumerate() {
            content.push(segment("grid", (left, row(at)), (right, row(at))));
            content.push(label("tick end", (left - 8.0, row(at) + 4.0), name));
        }
        for (epoch, text) in ticks((0.0, last), 8) {
            content.push(segment("grid", (x(epoch), TOP), (x(epoch), bottom)));
            content.push(label("tick mid", (x(epoch), bottom + 16.0), &text));
        }
        content.push(label("mid", ((left + right) / 2.0, bottom + 34.0), "epoch"));
        let count = self.runs.len().max(1) as f64;
        for (index, run) in self.runs.iter().enumerate() {
            // Runs stand side by side, so that those in one stratum are all seen.
            let shift = (index as f64 - (count - 1.0) / 2.0) * (0.6 * ROW / count).min(5.0);
            let mut points: Vec<(f64, f64)> = Vec::new();
            for &(epoch, stratum) in run {
                let y = row(stratum) + shift;
                if let Some(&(_, before)) = points.last() {
                    points.push((x(epoch), before));
                }
                points.push((x(epoch), y));
            }
            content.push(Element::new("path").class(TRACKS[index % 4]).attr("d", polyline(&points)));
        }
        content.push(label(
            "tick",
            (16.0, bottom + 52.0),
            "a line per seed; higher up: higher rank of the product, then higher dimension",
        ));
        let description = format!("{} trainings visit {} strata.", self.runs.len(), self.strata.len());
        Svg::new((right + 10.0, bottom + 62.0), &self.title, description, content)
    }
}
