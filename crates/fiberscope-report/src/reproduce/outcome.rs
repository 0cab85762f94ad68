//! What an experiment found beside what the paper says.

use crate::Svg;
use crate::draw::trajectory::{ScatterChart, Trajectory, TrajectoryChart};
use crate::page::{Badge, Cell, Section, Table};
use fiberscope::train::{Estimate, TrainRecord, correlation};
use serde_json::{Value, json};

use super::course::{self, Moment, Shape};
use super::experiment::{Experiment, Kind, SUCCESS};
use super::finding::Finding;
use super::standing::{ClaimStanding, interval, show};

/// Correlations above this count as strong.
const STRONG: f64 = 0.7;

/// A number of a record.
type Reading = fn(&TrainRecord) -> f64;

/// The results of an experiment.
pub struct Outcome {
    pub experiment: Experiment,
    /// Records by group and seed.
    pub runs: Vec<Vec<Vec<TrainRecord>>>,
    rows: Vec<Row>,
    comparisons: Vec<Comparison>,
    pub standing: ClaimStanding,
    moments: Vec<Moment>,
    shapes: Vec<Shape>,
}

struct Row {
    label: &'static str,
    paper: Option<f64>,
    counted: usize,
    runs: usize,
    /// Float32 rank, exact rank, regions, correlation.
    estimates: [Estimate; 4],
}

struct Comparison {
    what: String,
    /// Of the exact and of the float32 ranks.
    differences: [Estimate; 2],
}

impl Outcome {
    pub fn new(experiment: Experiment, runs: Vec<Vec<Vec<TrainRecord>>>) -> Self {
        let judge = |experiment: Experiment, runs: Vec<Vec<Vec<TrainRecord>>>| {
            let outcome = Outcome::at_end(experiment, runs);
            (outcome.compared_means(), outcome.standing)
        };
        let moments = course::moments(&experiment, &runs, &judge);
        let shapes = course::shapes(&experiment, &runs);
        Outcome { moments, shapes, ..Outcome::at_end(experiment, runs) }
    }

    /// The outcome at the last epoch, without its course.
    pub fn at_end(experiment: Experiment, runs: Vec<Vec<Vec<TrainRecord>>>) -> Self {
        let rows: Vec<Row> = experiment
            .groups
            .iter()
            .zip(&runs)
            .map(|(group, runs)| {
                let counted: Vec<&Vec<TrainRecord>> =
                    runs.iter().filter(|run| experiment.counts(run)).collect();
                let last = |f: &dyn Fn(&TrainRecord) -> f64| {
                    Estimate::of(counted.iter().filter_map(|run| run.last()).map(f))
                };
                let correlations =
                    counted.iter().map(|run| correlation(&pairs(run))).filter(|r| r.is_finite());
                Row {
                    label: group.label,
                    paper: group.paper,
                    counted: counted.len(),
                    runs: runs.len(),
                    estimates: [
                        last(&|r| r.rank_float32 as f64),
                        last(&|r| r.rank as f64),
                        last(&|r| r.regions as f64),
                        Estimate::of(correlations.collect::<Vec<_>>()),
                    ],
                }
            })
            .collect();
        let comparisons = compare(&experiment, &runs);
        let standing = judge(&experiment, &rows, &comparisons);
        Outcome { experiment, runs, rows, comparisons, standing, moments: Vec::new(), shapes: Vec::new() }
    }

    /// The means of the exact ranks of the groups that are compared.
    pub fn compared_means(&self) -> Vec<Estimate> {
        let groups = self.experiment.groups.iter().zip(&self.rows);
        groups.filter(|(group, _)| group.compared).map(|(_, row)| row.estimates[1]).collect()
    }

    /// The claims and what became of them.
    pub fn findings(&self) -> Vec<Finding> {
        let experiment = &self.experiment;
        let finding = |claim: &str, paper: &str, ours: String, standing: ClaimStanding| Finding {
            experiment: experiment.stem(),
            claim: claim.into(),
            paper: paper.into(),
            ours,
            standing,
        };
        let list = |index: usize| {
            let shown = experiment.groups.iter().zip(&self.rows).filter(|(group, _)| group.compared);
            let part = |(group, row): (&super::experiment::Group, &Row)| {
                let value = interval(&row.estimates[index]);
                row.paper.map_or_else(
                    || format!("{} {value}", group.label),
                    |bound| format!("{} {value} (paper: < {bound})", group.label),
                )
            };
            shown.map(part).collect::<Vec<_>>().join(", ")
        };
        let mut findings = match experiment.kind {
            Kind::Below => {
                vec![finding(experiment.claim, "< 20, < 60, < 400 (float32 rank)", list(0), self.standing)]
            }
            Kind::Correlated => vec![finding(
                experiment.claim,
                "strong (no number)",
                format!("r: {}", list(3)),
                self.standing,
            )],
            Kind::Rising | Kind::Falling => {
                let order = if experiment.kind == Kind::Rising {
                    "increasing (no numbers)"
                } else {
                    "decreasing (no numbers)"
                };
                let turned = match course::turning(&self.moments) {
                    Some(epoch) => format!("; so at every record from epoch {epoch} on"),
                    None => String::new(),
                };
                let ours = format!(
                    "{} after {} epochs, hidden width {}{turned}",
                    list(1),
                    experiment.epochs,
                    experiment.hidden
                );
                let mut all = vec![finding(experiment.claim, order, ours, self.standing)];
                // Where the verdict is another one earlier, the earlier one is told too.
                let earlier = course::shown(&self.moments)
                    .into_iter()
                    .find(|moment| moment.epoch == 2000 && moment.epoch < experiment.epochs);
                if let Some(moment) = earlier {
                    let means: Vec<String> = moment.means.iter().map(interval).collect();
                    let ours = format!("{} after {} epochs", means.join(", "), moment.epoch);
                    all.push(finding("the same, earlier", order, ours, moment.standing));
                }
                all
            }
        };
        if let Some(worst) = self.shapes.iter().map(Shape::standing).max_by_key(|standing| standing.rank()) {
            let parts = self.shapes.iter().map(|s| {
                format!(
                    "{}: rise {}, then {} ({})",
                    s.label,
                    interval(&s.rise),
                    interval(&s.late),
                    s.share_text()
                )
            });
            let claim =
                "the functional dimension rises early in training, then plateaus or gradually decreases";
            findings.push(finding(claim, "figures only", parts.collect::<Vec<_>>().join("; "), worst));
        }
        findings
    }

    pub fn text(&self) -> String {
        let experiment = &self.experiment;
        let mut text =
            format!("{}: {}\n  the paper: {}\n", experiment.stem(), experiment.title, experiment.claim);
        text += &format!(
            "  {:18} {:>9}  {:>15}  {:>15}  {:>15}  {:>13}  {:>6}\n",
            "", "paper", "float32 rank", "exact rank", "regions", "correlation", "runs"
        );
        for row in &self.rows {
            let paper = row.paper.map_or(String::new(), |bound| format!("< {bound}"));
            let [float, exact, regions, r] = row.estimates.map(|e| show(&e));
            let counted = format!("{}/{}", row.counted, row.runs);
            text += &format!(
                "  {:18} {paper:>9}  {float:>15}  {exact:>15}  {regions:>15}  {r:>13}  {counted:>6}\n",
                row.label
            );
        }
        for comparison in &self.comparisons {
            let [exact, float] = comparison.differences;
            text += &format!(
                "  {}: {} exact (paired t = {}), {} float32 (t = {})\n",
                comparison.what,
                show(&exact),
                t_value(&exact),
                show(&float),
                t_value(&float)
            );
        }
        text += &course::text(&self.moments, &self.shapes);
        text + &format!("  verdict: {}\n", self.standing.words())
    }

    pub fn json(&self) -> Value {
        let estimate = |e: &Estimate| json!({"mean": e.mean, "standard_error": e.error, "runs": e.count});
        let row = |row: &Row| {
            json!({
                "group": row.label, "paper_below": row.paper, "counted": row.counted, "runs": row.runs,
                "rank_float32": estimate(&row.estimates[0]), "rank": estimate(&row.estimates[1]),
                "regions": estimate(&row.estimates[2]), "correlation": estimate(&row.estimates[3]),
            })
        };
        let comparison = |c: &Comparison| {
            json!({
                "difference": c.what, "rank": estimate(&c.differences[0]), "t": c.differences[0].t(),
                "rank_float32": estimate(&c.differences[1]), "t_float32": c.differences[1].t(),
            })
        };
        let mut value = json!({
            "name": self.experiment.name, "hidden_width": self.experiment.hidden, "claim": self.experiment.claim, "verdict": self.standing.words(),
            "holds": self.standing == ClaimStanding::Holds,
            "epochs": self.experiment.epochs,
            "groups": self.rows.iter().map(row).collect::<Vec<_>>(),
            "comparisons": self.comparisons.iter().map(comparison).collect::<Vec<_>>(),
        });
        value["course"] = course::json(&self.moments, &self.shapes);
        value
    }

    /// The figures, with file names.
    pub fn figures(&self) -> Vec<(String, String, Svg)> {
        let name = self.experiment.stem();
        let mut figures = Vec::new();
        if self.experiment.kind == Kind::Below {
            return vec![(name, "One point per seed, at initialisation.".into(), self.scatter().draw())];
        }
        if self.experiment.kind == Kind::Correlated {
            for (group, runs) in self.experiment.groups.iter().zip(&self.runs) {
                let Some(run) = runs.iter().find(|run| self.experiment.counts(run)).or(runs.first()) else {
                    continue;
                };
                let chart = single_run(group.label, run);
                let file = format!("{name}-{}", group.label);
                figures.push((
                    file,
                    format!("One run on {}: seed {}.", group.label, run[0].seed),
                    chart.draw(),
                ));
            }
            figures.push((
                format!("{name}-scatter"),
                "All records of all runs.".into(),
                self.scatter().draw(),
            ));
            return figures;
        }
        let kinds: [(&str, &str, Reading); 2] = [
            ("float32", "rank with the float32 threshold, as in the paper", |r| r.rank_float32 as f64),
            ("exact", "functional dimension, exact", |r| r.rank as f64),
        ];
        for (suffix, label, value) in kinds {
            let caption = format!("{}: means over the runs that count, bands of one standard error.", label);
            figures.push((format!("{name}-{suffix}"), caption, self.trajectories(label, value).draw()));
        }
        figures
    }

    fn trajectories(&self, label: &str, value: Reading) -> TrajectoryChart {
        let groups = self.experiment.groups.iter().zip(&self.runs);
        let trajectories = groups.map(|(group, runs)| {
            let counted = runs.iter().filter(|run| self.experiment.counts(run));
            let line = |run: &Vec<TrainRecord>| run.iter().map(|r| (r.epoch as f64, value(r))).collect();
            Trajectory::of_runs(group.label, counted.map(line).collect())
        });
        TrajectoryChart {
            title: self.experiment.title.into(),
            x_label: "epoch".into(),
            y_label: label.split(',').next().unwrap_or(label).into(),
            trajectories: trajectories.collect(),
        }
    }

    fn scatter(&self) -> ScatterChart {
        let groups = self.experiment.groups.iter().zip(&self.runs);
        let points = |runs: &Vec<Vec<TrainRecord>>| runs.iter().flat_map(|run| pairs(run)).collect();
        ScatterChart {
            title: self.experiment.title.into(),
            x_label: "regions sampled".into(),
            y_label: "functional dimension, exact".into(),
            groups: groups.map(|(group, runs)| (group.label.to_owned(), points(runs))).collect(),
        }
    }

    /// The section of the page.
    pub fn section(&self) -> Section {
        let experiment = &self.experiment;
        let badge = match self.standing {
            ClaimStanding::Holds => Badge::good(self.standing.words()),
            ClaimStanding::NotSignificant | ClaimStanding::Open | ClaimStanding::TooFew => {
                Badge::open(self.standing.words())
            }
            ClaimStanding::Fails => Badge::bad(self.standing.words()),
        };
        let header = ["", "paper", "float32 rank", "exact rank", "regions", "correlation", "runs"];
        let mut table = Table::new(header).caption("Means and standard errors");
        for row in &self.rows {
            let paper = row.paper.map_or(String::new(), |bound| format!("< {bound}"));
            let numbers = row.estimates.iter().map(|e| Cell::number(show(e)));
            let counted = Cell::number(format!("{} of {}", row.counted, row.runs));
            table = table.row(
                [Cell::text(row.label), Cell::number(paper)].into_iter().chain(numbers).chain([counted]),
            );
        }
        let width = if experiment.stem() == experiment.name {
            String::new()
        } else {
            format!(", hidden width {}", experiment.hidden)
        };
        let mut section = Section::new(format!("{}{width}", experiment.title))
            .badge(badge)
            .paragraph(format!("The paper: {}.", experiment.claim))
            .table(table);
        if !self.comparisons.is_empty() {
            let mut table = Table::new(["difference", "exact", "paired t", "float32", "paired t"]);
            for c in &self.comparisons {
                let [exact, float] = c.differences;
                let t = |e: Estimate| Cell::number(t_value(&e));
                table = table.row([
                    Cell::text(&c.what),
                    Cell::number(show(&exact)),
                    t(exact),
                    Cell::number(show(&float)),
                    t(float),
                ]);
            }
            section = section.table(table);
        }
        section = course::add_to(section, experiment, &self.moments, &self.shapes);
        for (_, caption, drawing) in self.figures() {
            section = section.figure(drawing, caption);
        }
        let how = if experiment.epochs == 0 {
            format!(
                "Networks as initialised: weights and biases normal with variance 2 / inputs. Architecture (inputs, {0}, {0}, {0}, {0}, 1).",
                experiment.hidden
            )
        } else {
            format!(
                "{} epochs; a run counts if r^2 > {SUCCESS} at the end. Architecture (inputs, {1}, {1}, {1}, {1}, 1); Adam, rate 0.01, weight decay 1e-4 unless named, batches of 16, float32. Energy data: columns of mean 0 and deviation 1 unless named.",
                experiment.epochs, experiment.hidden
            )
        };
        section.paragraph(how).data(experiment.stem(), &self.json())
    }
}

fn pairs(run: &[TrainRecord]) -> Vec<(f64, f64)> {
    run.iter().map(|r| (r.regions as f64, r.rank as f64)).collect()
}

fn single_run(label: &str, run: &[TrainRecord]) -> TrajectoryChart {
    let line = |name: &str, value: Reading| {
        Trajectory::of_runs(name, vec![run.iter().map(|r| (r.epoch as f64, value(r))).collect()])
    };
    TrajectoryChart {
        title: format!("Functional dimension and regions: {label}"),
        x_label: "epoch".into(),
        y_label: "count".into(),
        trajectories: vec![
            line("functional dimension", |r| r.rank as f64),
            line("regions sampled", |r| r.regions as f64),
        ],
    }
}

/// The paired t-value; a dash if there is one pair only.
fn t_value(difference: &Estimate) -> String {
    let t = difference.t();
    if t.is_nan() { "-".into() } else { format!("{t:.2}") }
}

/// Differences of neighbouring groups, and of the last and the first, by seeds that count in both.
fn compare(experiment: &Experiment, runs: &[Vec<Vec<TrainRecord>>]) -> Vec<Comparison> {
    if !matches!(experiment.kind, Kind::Rising | Kind::Falling) {
        return Vec::new();
    }
    let compared = |flag: bool| (0..runs.len()).filter(move |&g| experiment.groups[g].compared == flag);
    let mut pairs = Vec::new();
    for list in [compared(true).collect::<Vec<_>>(), compared(false).collect()] {
        pairs.extend(list.windows(2).map(|pair| (pair[0], pair[1])));
        if list.len() > 2 {
            pairs.push((list[0], list[list.len() - 1]));
        }
    }
    let difference = |(a, b): (usize, usize)| {
        let both: Vec<_> = runs[a]
            .iter()
            .zip(&runs[b])
            .filter(|(x, y)| experiment.counts(x) && experiment.counts(y))
            .filter_map(|(x, y)| x.last().zip(y.last()))
            .collect();
        let of =
            |f: fn(&TrainRecord) -> usize| Estimate::of(both.iter().map(|(x, y)| f(y) as f64 - f(x) as f64));
        Comparison {
            what: format!("{} minus {}", experiment.groups[b].label, experiment.groups[a].label),
            differences: [of(|r| r.rank), of(|r| r.rank_float32)],
        }
    };
    pairs.into_iter().map(difference).collect()
}

/// Holds if the claim is clearly seen, fails if its contrary is: with 95 % confidence of every mean.
fn judge(experiment: &Experiment, rows: &[Row], comparisons: &[Comparison]) -> ClaimStanding {
    match experiment.kind {
        Kind::Below => {
            // The paper's numbers are float32 ranks.
            let margin = |row: &Row| {
                row.paper.map(|bound| (Estimate { mean: -row.estimates[0].mean, ..row.estimates[0] }, -bound))
            };
            ClaimStanding::above(&rows.iter().filter_map(margin).collect::<Vec<_>>())
        }
        Kind::Correlated => {
            ClaimStanding::above(&rows.iter().map(|row| (row.estimates[3], STRONG)).collect::<Vec<_>>())
        }
        Kind::Rising | Kind::Falling => {
            let sign = if experiment.kind == Kind::Rising { 1.0 } else { -1.0 };
            let count = experiment.groups.iter().filter(|group| group.compared).count();
            // The steps, and then, if there are several, the last group less the first.
            let differences: Vec<Estimate> = comparisons[..if count > 2 { count } else { 1 }]
                .iter()
                .map(|c| Estimate { mean: sign * c.differences[0].mean, ..c.differences[0] })
                .collect();
            if differences.iter().any(|difference| difference.count < 2) {
                return ClaimStanding::TooFew;
            }
            let ends = differences[differences.len() - 1];
            ClaimStanding::decide(
                differences.iter().all(|difference| difference.mean > 0.0),
                ends.mean > ends.half_width(),
                differences.iter().any(|difference| difference.mean < -difference.half_width()),
            )
        }
    }
}
