//! The experiments of the papers, run again.

mod course;
mod experiment;
mod extraction;
mod finding;
mod outcome;
mod pictures;
mod standing;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::page::{Page, Section};
use crate::training::write_tables;
use anyhow::{Context, bail};
use fiberscope::limit::Deadline;
use fiberscope_io::write_atomically;
use serde_json::{Value, json};

use crate::files::write_pictures;
use crate::{Say, Svg};
use experiment::{Experiment, HIDDEN, NAMES, SWEEP, experiment};
use extraction::ExtractionOutcome;
use finding::Finding;
use outcome::Outcome;

/// Which experiments are run, and how.
#[derive(Clone, Debug)]
pub struct ReproduceQuestion {
    /// The name of an experiment (see [`names`]), or `all`.
    pub name: String,
    /// Seeds per group, where not those of the experiment.
    pub seeds: Option<u64>,
    /// Epochs of training, where not those of the experiment.
    pub epochs: Option<u64>,
    /// The widths of hidden layers, for trainings; every one is an experiment of its own.
    pub widths: Option<Vec<usize>>,
    /// A tenth of the epochs and a third of the seeds.
    pub quick: bool,
    /// The first seed.
    pub seed: u64,
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

/// Everything that can be run again.
pub fn names() -> Vec<&'static str> {
    NAMES.into_iter().chain([FUNCTIONS, EXTRACTION]).collect()
}

/// The figures of data and functions.
const FUNCTIONS: &str = "ntk-functions";
/// Networks from queries.
const EXTRACTION: &str = "extraction";

/// Runs experiments again, writes their figures, tables and a page, and compares with what the papers say.
pub fn reproduce(question: &ReproduceQuestion, say: Say) -> anyhow::Result<Reproduction> {
    let ReproduceQuestion { name, seeds, epochs, widths, quick, seed, folder, deadline } = question;
    let names = if name == "all" { names() } else { vec![name.as_str()] };
    if let Some(unknown) = names.iter().find(|name| !self::names().contains(name)) {
        bail!("no experiment {unknown:?}; expected all or one of {}", self::names().join(", "));
    }
    if *seeds == Some(0) || *epochs == Some(0) {
        bail!("expected at least one seed and one epoch");
    }
    if widths
        .as_ref()
        .is_some_and(|widths| widths.is_empty() || widths.iter().any(|&width| width == 0 || width > 200))
    {
        bail!("--widths: expected widths of hidden layers from 1 to 200");
    }
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut work = Work {
        folder,
        text: String::new(),
        files: Vec::new(),
        results: Vec::new(),
        findings: Vec::new(),
        sections: Vec::new(),
        complete: true,
    };
    for name in names {
        if deadline.is_past() {
            work.complete = false;
            break;
        }
        match name {
            FUNCTIONS => work.functions(*seed, deadline, say)?,
            EXTRACTION => work.extraction(extraction::run(*seeds, *quick, *seed, deadline, say)?)?,
            name => {
                for experiment in trainings(question, name) {
                    let runs = experiment.run(*seed, deadline, say)?;
                    work.training(&Outcome::new(experiment, runs))?;
                }
            }
        }
    }
    work.complete &= !deadline.is_past();
    work.finish(name)
}

/// The trainings that a question asks for, in their sizes.
fn trainings(question: &ReproduceQuestion, name: &str) -> Vec<Experiment> {
    let Some(base) = experiment(name) else { return Vec::new() };
    let sweep = if name == "ntk-sweep" { SWEEP.to_vec() } else { vec![HIDDEN] };
    let sized =
        |width: usize| base.clone().of_width(width).sized(question.seeds, question.epochs, question.quick);
    question.widths.clone().unwrap_or(sweep).into_iter().map(sized).collect()
}

/// How long the experiments take, if it is more than a minute: in words, for one core.
pub fn estimate(question: &ReproduceQuestion) -> Option<String> {
    let wanted = names().into_iter().filter(|name| question.name == "all" || question.name == *name);
    let seconds: f64 = wanted
        .map(|name| match name {
            EXTRACTION => extraction::seconds(question.seeds, question.quick),
            // Two trainings, a second at most.
            FUNCTIONS => 0.0,
            name => trainings(question, name).iter().map(Experiment::seconds).sum(),
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

impl Work<'_> {
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
