//! The course of an experiment: what the verdict would have been after fewer epochs, where it turns, and
//! whether the functional dimension rises and then stays or falls.

use fiberscope::train::{Estimate, TrainRecord};
use serde_json::{Value, json};

use super::experiment::{Experiment, Kind};
use super::standing::{ClaimStanding, interval};
use crate::page::{Cell, Section, Table};

/// Epochs at which the verdict is told, as far as an experiment goes.
const SHOWN: [u64; 9] = [250, 500, 1000, 1500, 2000, 3000, 4000, 5000, 6000];

/// "Plateaus" means that the functional dimension grows, late in training, by less than this share of its
/// early rise.
const PLATEAU: f64 = 0.1;

/// The means of the compared groups after some epochs, and what they say.
#[derive(Clone, Debug)]
pub struct Moment {
    pub epoch: u64,
    /// Of each compared group, exact ranks of the runs that count by then.
    pub means: Vec<Estimate>,
    pub standing: ClaimStanding,
}

/// How the functional dimension of a group moves: two numbers for "rises, then plateaus or falls".
#[derive(Clone, Debug)]
pub struct Shape {
    pub label: &'static str,
    /// The mean over the second eighth of the epochs less that at the start.
    pub rise: Estimate,
    /// The mean over the last quarter less that over the second quarter.
    pub late: Estimate,
}

impl Shape {
    /// The late change as a share of the rise; `None` if there is no rise.
    pub fn share(&self) -> Option<f64> {
        (self.rise.mean > 0.0).then(|| self.late.mean / self.rise.mean)
    }

    /// The same in words.
    pub fn share_text(&self) -> String {
        match self.share() {
            Some(share) => format!("{:+.0} % of the rise", 100.0 * share),
            None if self.rise.count == 0 => "no run counts".into(),
            None => "no rise".into(),
        }
    }

    /// Whether it rises, and then grows by less than a tenth of that, with 95 % confidence each: clearly so, or
    /// clearly not, wherever in its interval the rise is.
    pub fn standing(&self) -> ClaimStanding {
        if self.rise.count < 2 || self.late.count < 2 {
            return ClaimStanding::TooFew;
        }
        let allowed = |rise: f64| PLATEAU * rise.max(0.0);
        let (rise, late) = (self.rise.half_width(), self.late.half_width());
        let average = self.rise.mean > 0.0 && self.late.mean <= allowed(self.rise.mean);
        let clear = self.rise.mean - rise > 0.0 && self.late.mean + late <= allowed(self.rise.mean - rise);
        let contrary = self.rise.mean + rise < 0.0 || self.late.mean - late > allowed(self.rise.mean + rise);
        ClaimStanding::decide(average, clear, contrary)
    }
}

/// The means of the groups that are compared, and what they say, at the end of an experiment.
pub type Judge<'a> = &'a dyn Fn(Experiment, Vec<Vec<Vec<TrainRecord>>>) -> (Vec<Estimate>, ClaimStanding);

/// The verdicts over time of a comparison of groups; none for other experiments.
pub fn moments(experiment: &Experiment, runs: &[Vec<Vec<TrainRecord>>], judge: Judge<'_>) -> Vec<Moment> {
    let compares = matches!(experiment.kind, Kind::Rising | Kind::Falling);
    let epochs = runs.iter().flatten().max_by_key(|run| run.len());
    let epochs =
        epochs.into_iter().flatten().map(|record| record.epoch).filter(|&epoch| compares && epoch > 0);
    epochs.map(|epoch| moment(experiment, runs, epoch, judge)).collect()
}

fn moment(experiment: &Experiment, runs: &[Vec<Vec<TrainRecord>>], epoch: u64, judge: Judge<'_>) -> Moment {
    let until = |run: &Vec<TrainRecord>| -> Vec<TrainRecord> {
        run.iter().filter(|record| record.epoch <= epoch).cloned().collect()
    };
    let cut: Vec<Vec<Vec<TrainRecord>>> =
        runs.iter().map(|group| group.iter().map(until).collect()).collect();
    let (means, standing) = judge(Experiment { epochs: epoch, ..experiment.clone() }, cut);
    Moment { epoch, means, standing }
}

/// The first epoch from which on the claim holds at every record; `None` if it does not at the last one.
pub fn turning(moments: &[Moment]) -> Option<u64> {
    let failing = moments.iter().rposition(|moment| moment.standing != ClaimStanding::Holds);
    moments.get(failing.map_or(0, |at| at + 1)).map(|moment| moment.epoch)
}

/// The moments that are shown: some round epochs and the last one.
pub fn shown(moments: &[Moment]) -> Vec<&Moment> {
    let last = moments.last().map(|moment| moment.epoch);
    moments.iter().filter(|m| SHOWN.contains(&m.epoch) || Some(m.epoch) == last).collect()
}

/// The shapes of the groups; none for experiments without training.
pub fn shapes(experiment: &Experiment, runs: &[Vec<Vec<TrainRecord>>]) -> Vec<Shape> {
    if experiment.epochs < 8 || experiment.kind == Kind::Below {
        return Vec::new();
    }
    let end = experiment.epochs as f64;
    let mean = |run: &[TrainRecord], from: f64, to: f64| {
        let inside = run.iter().filter(|r| r.epoch as f64 > from * end && r.epoch as f64 <= to * end);
        Estimate::of(inside.map(|record| record.rank as f64)).mean
    };
    let shape = |(group, runs): (&super::experiment::Group, &Vec<Vec<TrainRecord>>)| {
        let counted = || runs.iter().filter(|run| experiment.counts(run));
        let of = |value: &dyn Fn(&Vec<TrainRecord>) -> f64| {
            Estimate::of(counted().map(value).filter(|x| x.is_finite()))
        };
        Shape {
            label: group.label,
            rise: of(&|run| {
                mean(run, 0.125, 0.25) - run.first().map_or(f64::NAN, |record| record.rank as f64)
            }),
            late: of(&|run| mean(run, 0.75, 1.0) - mean(run, 0.25, 0.5)),
        }
    };
    experiment.groups.iter().zip(runs).map(shape).collect()
}

/// The course for a terminal.
pub fn text(moments: &[Moment], shapes: &[Shape]) -> String {
    let mut text = String::new();
    for moment in shown(moments) {
        let means: Vec<String> = moment.means.iter().map(interval).collect();
        text += &format!(
            "  after {:>5} epochs: {}: {}\n",
            moment.epoch,
            means.join(", "),
            moment.standing.words()
        );
    }
    if !moments.is_empty() {
        text += &match turning(moments) {
            Some(epoch) => format!("  the claim holds at every record from epoch {epoch} on\n"),
            None => "  at the last record the claim does not hold clearly\n".to_owned(),
        };
    }
    for shape in shapes {
        text += &format!(
            "  {}: rises by {} early, changes by {} late ({}): {}\n",
            shape.label,
            interval(&shape.rise),
            interval(&shape.late),
            shape.share_text(),
            shape.standing().words()
        );
    }
    text
}

/// The course with the keys of `fiberscope reproduce --json`.
pub fn json(moments: &[Moment], shapes: &[Shape]) -> Value {
    let estimate = |e: &Estimate| json!({"mean": e.mean, "half_width_95": e.half_width(), "runs": e.count});
    let moment = |m: &Moment| json!({"epoch": m.epoch, "rank": m.means.iter().map(estimate).collect::<Vec<_>>(), "verdict": m.standing.words()});
    let shape = |s: &Shape| {
        json!({
            "group": s.label, "rise": estimate(&s.rise), "late_change": estimate(&s.late), "share": s.share(),
            "verdict": s.standing().words(),
        })
    };
    json!({
        "by_epoch": moments.iter().map(moment).collect::<Vec<_>>(), "holds_from_epoch": turning(moments),
        "shape": shapes.iter().map(shape).collect::<Vec<_>>(),
    })
}

/// Adds the course to the section of an experiment.
pub fn add_to(
    mut section: Section,
    experiment: &Experiment,
    moments: &[Moment],
    shapes: &[Shape],
) -> Section {
    if !moments.is_empty() {
        let groups = experiment.groups.iter().filter(|group| group.compared).map(|group| group.label);
        let header: Vec<&str> = std::iter::once("epochs").chain(groups).chain(["verdict by then"]).collect();
        let mut table = Table::new(header).caption("Exact ranks with intervals of 95 % confidence, by epoch");
        for moment in shown(moments) {
            let means = moment.means.iter().map(|mean| Cell::number(interval(mean)));
            let ends = (Cell::number(moment.epoch.to_string()), Cell::text(moment.standing.words()));
            table = table.row(std::iter::once(ends.0).chain(means).chain([ends.1]));
        }
        section = section.table(table).paragraph(match turning(moments) {
            Some(epoch) => format!("The claim holds at every record from epoch {epoch} on."),
            None => "At the last record the claim does not hold clearly.".to_owned(),
        });
    }
    if !shapes.is_empty() {
        let header = ["", "early rise", "late change", "share", "rises, then plateaus or falls"];
        let mut table = Table::new(header).caption(
            "Early rise: mean over the second eighth of the epochs less the start. Late change: mean over the last quarter less that over the second quarter; a plateau grows by less than a tenth of the rise",
        );
        for shape in shapes {
            let share = shape.share_text();
            table = table.row([
                Cell::text(shape.label),
                Cell::number(interval(&shape.rise)),
                Cell::number(interval(&shape.late)),
                Cell::number(share),
                Cell::text(shape.standing().words()),
            ]);
        }
        section = section.table(table);
    }
    section
}
