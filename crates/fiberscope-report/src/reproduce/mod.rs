//! The experiments of the papers, run again.

mod course;
mod experiment;
mod extraction;
mod finding;
mod outcome;
mod pictures;
mod settings;
mod standing;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::page::{Page, Section};
use crate::training::write_tables;
use anyhow::{Context, bail};
use fiberscope::extract::ExtractTrial;
use fiberscope::limit::Deadline;
use fiberscope::tasks::TrainingGroup;
use fiberscope::train::TrainRun;
use fiberscope_core::Network;
use fiberscope_io::write_atomically;
use serde_json::{Value, json};

use crate::files::write_pictures;
use crate::{Say, Svg};
use experiment::{Experiment, Group, NAMES};
use extraction::ExtractionOutcome;
use finding::Finding;
use outcome::Outcome;
use settings::{EXTRACTION, FUNCTIONS};

pub use settings::{ReproduceSettings, names};

/// Which experiments are run, where to, and for how long.
#[derive(Clone, Debug)]
pub struct ReproduceQuestion {
    /// The experiments.
    pub settings: ReproduceSettings,
    /// The folder for figures, tables and the page.
    pub folder: PathBuf,
    /// When to stop.
    pub deadline: Deadline,
}

/// What the experiments found.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// For a terminal.
    pub text: String,
    /// The page that shows everything.
    pub page: PathBuf,
    /// All files that were written.
    pub files: Vec<String>,
    /// Whether nothing was cut short.
    pub complete: bool,
    results: Vec<Value>,
    findings: Value,
}

impl Reproduction {
    /// The results with the keys of `fiberscope reproduce --json`.
    pub fn to_json(&self) -> Value {
        json!({"experiments": self.results, "claims": self.findings, "files": self.files})
    }
}

/// Runs experiments again, writes their figures, tables and a page, and compares with what the papers say.
pub fn reproduce(question: &ReproduceQuestion, say: Say) -> anyhow::Result<Reproduction> {
    let ReproduceQuestion { settings, folder, deadline } = question;
    let names = settings.asked()?;
    let mut work = Work::new(folder)?;
    for name in names {
        if deadline.is_past() {
            work.complete = false;
            break;
        }
        match name {
            FUNCTIONS => work.functions(settings.seed, deadline, say)?,
            EXTRACTION => work.extraction(extraction::run(settings, deadline, say)?)?,
            name => {
                for experiment in settings.trainings(name) {
                    let runs = experiment.run(settings.seed, deadline, say)?;
                    work.training(&Outcome::new(experiment, runs))?;
                }
            }
        }
    }
    work.complete &= !deadline.is_past();
    work.finish(&settings.name)
}

/// An experiment that many workers run.
#[derive(Clone, Debug)]
pub enum Shared {
    /// Trainings.
    Trainings(Vec<TrainingGroup>),
    /// Extractions of networks, each with its seed.
    Extractions(Vec<Network>, Vec<u64>),
}

/// What workers are to do for an experiment, one experiment at a time.
pub fn share(settings: &ReproduceSettings) -> anyhow::Result<Shared> {
    settings.asked()?;
    match settings.name.as_str() {
        EXTRACTION => {
            let (networks, seeds) = extraction::question(settings);
            Ok(Shared::Extractions(networks, seeds))
        }
        "all" | FUNCTIONS => bail!(
            "{}: one experiment at a time is cut into tasks: {} or {EXTRACTION}",
            settings.name,
            NAMES.join(", ")
        ),
        name => {
            let experiments = settings.trainings(name);
            Ok(Shared::Trainings(experiments.iter().flat_map(|e| e.tasks(settings.seed)).collect()))
        }
    }
}

/// The pages, tables and figures of trainings that were done elsewhere, in the order of [`share`].
pub fn tell_trainings(
    settings: &ReproduceSettings,
    runs: Vec<TrainRun>,
    folder: &Path,
) -> anyhow::Result<Reproduction> {
    let mut work = Work::new(folder)?;
    let mut records = runs.into_iter().map(|run| run.state.records);
    for experiment in settings.trainings(&settings.name) {
        let of_group = |group: &Group| {
            let seeds = usize::try_from(experiment.seeds_of(group)).unwrap_or(usize::MAX);
            records.by_ref().take(seeds).collect::<Vec<_>>()
        };
        let runs = experiment.groups.iter().map(of_group).collect();
        work.training(&Outcome::new(experiment, runs))?;
    }
    work.finish(&settings.name)
}

/// The same for extractions.
pub fn tell_extractions(
    settings: &ReproduceSettings,
    trials: Vec<ExtractTrial>,
    folder: &Path,
) -> anyhow::Result<Reproduction> {
    let mut work = Work::new(folder)?;
    work.extraction(extraction::outcome(settings, trials))?;
    work.finish(&settings.name)
}

/// How long the experiments take, if it is more than a minute: in words, for one core.
pub fn estimate(question: &ReproduceQuestion) -> Option<String> {
    let settings = &question.settings;
    let wanted = names().into_iter().filter(|name| settings.name == "all" || settings.name == *name);
    let seconds: f64 = wanted
        .map(|name| match name {
            EXTRACTION => extraction::seconds(settings.seeds, settings.quick),
            // Two trainings, a second at most.
            FUNCTIONS => 0.0,
            name => settings.trainings(name).iter().map(Experiment::seconds).sum(),
        })
        .sum();
    (seconds > 60.0).then(|| format!("this takes about {:.0} minutes of one core", (seconds / 60.0).ceil()))
}

/// What was done so far.
struct Work<'a> {
    folder: &'a Path,
    text: String,
    files: Vec<String>,
    results: Vec<Value>,
    findings: Vec<Finding>,
    sections: Vec<Section>,
    complete: bool,
}

impl<'a> Work<'a> {
    fn new(folder: &'a Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        Ok(Work {
            folder,
            text: String::new(),
            files: Vec::new(),
            results: Vec::new(),
            findings: Vec::new(),
            sections: Vec::new(),
            complete: true,
        })
    }

    fn training(&mut self, outcome: &Outcome) -> anyhow::Result<()> {
        self.text += &format!("{}\n", outcome.text());
        self.pictures(&outcome.figures())?;
        for (group, runs) in outcome.experiment.groups.iter().zip(&outcome.runs) {
            let records: Vec<_> = runs.iter().flatten().cloned().collect();
            let stem = self.folder.join(file_name(&format!("{}-{}", outcome.experiment.stem(), group.label)));
            self.files.extend(write_tables(&stem, &records)?);
        }
        self.results.push(outcome.json());
        self.findings.extend(outcome.findings());
        self.sections.push(outcome.section());
        Ok(())
    }

    fn extraction(&mut self, outcome: ExtractionOutcome) -> anyhow::Result<()> {
        self.text += &format!("{}\n", outcome.text());
        self.pictures(&outcome.figures())?;
        self.files.push(outcome.write_table(self.folder)?);
        self.complete &= outcome.complete;
        self.results.push(outcome.json());
        self.findings.extend(outcome.findings());
        self.sections.push(outcome.section());
        Ok(())
    }

    fn functions(&mut self, seed: u64, deadline: &Deadline, say: Say) -> anyhow::Result<()> {
        let Some(figures) = pictures::figures(seed, deadline, say)? else {
            self.complete = false;
            return Ok(());
        };
        self.pictures(&figures)?;
        self.text += &format!("{FUNCTIONS}: figures 1, 7 and 8 of the paper, {} drawings\n\n", figures.len());
        self.results.push(
            json!({"name": FUNCTIONS, "figures": figures.iter().map(|(stem, ..)| stem).collect::<Vec<_>>()}),
        );
        let mut section =
            Section::new("Data, and a function during training (the paper's Figures 1, 7 and 8)");
        for (_, caption, drawing) in figures {
            section = section.figure(drawing, caption);
        }
        self.sections.push(section);
        Ok(())
    }

    fn pictures(&mut self, figures: &[(String, String, Svg)]) -> anyhow::Result<()> {
        for (stem, _, drawing) in figures {
            self.files.extend(write_pictures(self.folder, &file_name(stem), drawing)?);
        }
        Ok(())
    }

    /// Writes the page.
    fn finish(mut self, name: &str) -> anyhow::Result<Reproduction> {
        let mut page = Page::new("The experiments of the papers again")
            .introduce("Every network was trained or extracted anew, and every functional dimension computed exactly; the float32 rank is what the paper's software reports.")
            .introduce("The claims are the papers'; the verdicts are about these runs. Where a paper does not say (epochs, scaling of the energy data), the choice is named.");
        if !self.findings.is_empty() {
            page = page.section(finding::section(&self.findings));
            self.text += &format!("{}\n", finding::text(&self.findings));
        }
        for section in self.sections {
            page = page.section(section);
        }
        let path = self.folder.join(format!("{name}.html"));
        write_atomically(&path, |file| file.write_all(page.to_html().as_bytes()))?;
        self.files.push(path.display().to_string());
        self.text += &format!("wrote {} files; {} shows everything\n", self.files.len(), path.display());
        let findings = finding::json(&self.findings);
        Ok(Reproduction {
            text: self.text,
            page: path,
            files: self.files,
            complete: self.complete,
            results: self.results,
            findings,
        })
    }
}

fn file_name(text: &str) -> String {
    text.replace([' ', ','], "-").replace("--", "-")
}
