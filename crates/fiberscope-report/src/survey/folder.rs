//! The folder of a survey: what was measured, task by task, so that a survey that was stopped, or killed, goes on.
//!
//! `plan.json` says what is surveyed. `parts` has a file for every task that is done, written beside and renamed, so
//! that a file that is there is whole. The tables and charts are made of the parts at the end.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use fiberscope::limit::Deadline;
use fiberscope::survey::{Plan, Row, Task, rows};
use fiberscope_io::table::{Table, Values};
use fiberscope_io::write_atomically;

use super::chart::{chart, pgf};
use super::statistics;
use crate::Say;
use crate::files::write_picture;

/// A survey that was carried out, or as much of it as there was time for.
#[derive(Clone, Debug)]
pub struct Surveyed {
    /// The rows of every list of widths, by seed.
    pub rows: Vec<Vec<Row>>,
    /// Whether all networks were measured.
    pub complete: bool,
    /// Networks that had been measured before.
    pub resumed: usize,
    /// The files that were written.
    pub files: Vec<String>,
}

/// Carries out a survey in a folder, beginning with what is there, and writes tables and charts.
pub fn carry_out(folder: &Path, plan: &Plan, deadline: &Deadline, say: Say) -> anyhow::Result<Surveyed> {
    plan.check()?;
    let parts = folder.join("parts");
    std::fs::create_dir_all(&parts).with_context(|| parts.display().to_string())?;
    keep_plan(&folder.join("plan.json"), plan)?;
    let (tasks, mut done, mut resumed) = (plan.tasks(), HashMap::<Task, Vec<Row>>::new(), 0);
    for task in &tasks {
        let path = part(&parts, task);
        if path.exists() {
            let found = read_part(&path, plan, task)?;
            resumed += found.len();
            done.insert(*task, found);
        }
    }
    for (at, task) in tasks.iter().enumerate() {
        if done.contains_key(task) {
            continue;
        }
        say(&format!("task {} of {}", at + 1, tasks.len()));
        let Some(found) = rows(plan, task, deadline) else { break };
        let json = serde_json::to_vec(&found)?;
        write_atomically(&part(&parts, task), |file| file.write_all(&json))?;
        done.insert(*task, found);
    }
    let complete = tasks.iter().all(|task| done.contains_key(task));
    let of_axis = |axis: usize| {
        let mine = tasks.iter().filter(|task| task.axis == axis);
        mine.filter_map(|task| done.get(task)).flatten().cloned().collect::<Vec<Row>>()
    };
    let rows: Vec<Vec<Row>> = (0..plan.widths.len()).map(of_axis).collect();
    let files = write_files(folder, plan, &rows)?;
    Ok(Surveyed { rows, complete, resumed, files })
}

/// Writes the tables and charts of a survey whose rows are all known, list of widths by list of widths.
pub fn write_complete(folder: &Path, plan: &Plan, rows: Vec<Row>) -> anyhow::Result<Surveyed> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let length = usize::try_from(plan.count).unwrap_or(usize::MAX).max(1);
    let mut by_axis: Vec<Vec<Row>> = rows.chunks(length).map(<[Row]>::to_vec).collect();
    by_axis.resize(plan.widths.len(), Vec::new());
    let files = write_files(folder, plan, &by_axis)?;
    Ok(Surveyed { rows: by_axis, complete: true, resumed: 0, files })
}

/// Writes the plan, or makes sure that the one that is there is the same but for the number of networks.
fn keep_plan(path: &Path, plan: &Plan) -> anyhow::Result<()> {
    if path.exists() {
        let name = || path.display().to_string();
        let bytes = std::fs::read(path).with_context(name)?;
        let mut found: Plan =
            serde_json::from_slice(&bytes).with_context(|| format!("{}: no plan", name()))?;
        found.count = plan.count;
        if found != *plan {
            bail!(
                "{}: the folder holds another survey (other widths, measures, seed, initialisation or domain); choose \
                 another folder",
                name()
            );
        }
    }
    let json = serde_json::to_vec_pretty(plan)?;
    Ok(write_atomically(path, |file| file.write_all(&json))?)
}

fn part(parts: &Path, task: &Task) -> PathBuf {
    parts.join(format!("{}-{}-{}.json", task.axis, task.first, task.count))
}

fn read_part(path: &Path, plan: &Plan, task: &Task) -> anyhow::Result<Vec<Row>> {
    let name = || path.display().to_string();
    let bytes = std::fs::read(path).with_context(name)?;
    let rows: Vec<Row> = serde_json::from_slice(&bytes).with_context(name)?;
    let seeds = (task.first..task.first + task.count).zip(&rows);
    let fit = rows.len() as u64 == task.count
        && seeds.into_iter().all(|(seed, row)| row.seed == seed && row.values.len() == plan.measures.len());
    if !fit {
        bail!("{}: expected the seeds {} to {}", name(), task.first, task.first + task.count - 1);
    }
    Ok(rows)
}

/// Writes the tables, and for each measure a chart.
fn write_files(folder: &Path, plan: &Plan, rows: &[Vec<Row>]) -> anyhow::Result<Vec<String>> {
    let table = table(plan, rows);
    let mut files = Vec::new();
    let mut add = |path: PathBuf| {
        files.push(path.display().to_string());
        path
    };
    write_atomically(&add(folder.join("survey.csv")), |file| table.write_csv(file))?;
    write_atomically(&add(folder.join("survey.parquet")), |file| table.write_parquet(file))?;
    let by_axis: Vec<_> =
        rows.iter().map(|rows| statistics(plan, &rows.iter().collect::<Vec<_>>())).collect();
    for (at, measure) in plan.measures.iter().enumerate() {
        let groups: Vec<_> = plan.widths.iter().zip(by_axis.iter().map(|found| &found[at].1)).collect();
        let drawing = chart(*measure, plan.training.is_some(), &groups);
        for ending in ["svg", "pdf"] {
            write_picture(&add(folder.join(format!("{}.{ending}", measure.name()))), &drawing)?;
        }
        let tex = pgf(*measure, &groups);
        write_atomically(&add(folder.join(format!("{}.tex", measure.name()))), |file| {
            file.write_all(tex.as_bytes())
        })?;
    }
    Ok(files)
}

/// A row per network: the number of its list of widths (from 1), its seed, and the measures, NaN where undecided.
fn table(plan: &Plan, rows: &[Vec<Row>]) -> Table {
    let each = || rows.iter().enumerate().flat_map(|(axis, rows)| rows.iter().map(move |row| (axis, row)));
    let integers =
        |f: &dyn Fn(usize, &Row) -> i64| Values::Integers(each().map(|(axis, row)| f(axis, row)).collect());
    let table = Table::new()
        .column("widths", integers(&|axis, _| axis as i64 + 1))
        .and_then(|table| table.column("seed", integers(&|_, row| row.seed as i64)));
    let with = |table: Option<Table>, (at, measure): (usize, &fiberscope::survey::Measure)| {
        let values = each().map(|(_, row)| row.values[at].unwrap_or(f64::NAN)).collect();
        table?.column(measure.name(), Values::Numbers(values))
    };
    plan.measures.iter().enumerate().fold(table, with).expect("columns of one length")
}
