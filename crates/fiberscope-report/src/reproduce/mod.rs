//! The experiments of the papers, run again.

mod experiment;
mod outcome;

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::page::Page;
use crate::training::write_tables;
use anyhow::{Context, bail};
use fiberscope::limit::Deadline;
use fiberscope_io::write_atomically;
use serde_json::{Value, json};

use crate::Say;
use crate::draw::png;
use crate::files::write_picture;
use experiment::{NAMES, experiment};
use outcome::Outcome;

/// Which experiments are run, and how.
#[derive(Clone, Debug)]
pub struct ReproduceQuestion {
    /// The name of an experiment, or `all`.
    pub name: String,
    /// Seeds per group, where not those of the experiment.
    pub seeds: Option<u64>,
    /// Epochs of training, where not those of the experiment.
    pub epochs: Option<u64>,
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
}

impl Reproduction {
    /// The results with the keys of `fiberscope reproduce --json`.
    pub fn to_json(&self) -> Value {
        json!({"experiments": self.results, "files": self.files})
    }
}

/// Runs experiments again, writes their figures, tables and a page, and compares with what the papers say.
pub fn reproduce(question: &ReproduceQuestion, say: Say) -> anyhow::Result<Reproduction> {
    let ReproduceQuestion { name, seeds, epochs, quick, seed, folder, deadline } = question;
    let names: Vec<&str> = if name == "all" { NAMES.to_vec() } else { vec![name.as_str()] };
    let Some(experiments) = names.iter().map(|name| experiment(name)).collect::<Option<Vec<_>>>() else {
        bail!("no experiment {name:?}; expected all or one of {}", NAMES.join(", "));
    };
    if *seeds == Some(0) || *epochs == Some(0) {
        bail!("expected at least one seed and one epoch");
    }
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let (mut text, mut files, mut results) = (String::new(), Vec::new(), Vec::new());
    let mut page = Page::new("Empirical NTK tracks task complexity: the experiments again")
        .introduce("Every network was trained anew, and every functional dimension computed exactly; the float32 rank is what the paper's software reports.")
        .introduce("The claims are the paper's; the verdicts are about these runs. Where the paper does not say (epochs, scaling of the energy data), the choice is named.");
    for experiment in experiments {
        let experiment = experiment.sized(*seeds, *epochs, *quick);
        let runs = experiment.run(*seed, deadline, say)?;
        let outcome = Outcome::new(experiment, runs);
        text += &format!("{}\n", outcome.text());
        files.extend(write(&outcome, folder)?);
        results.push(outcome.json());
        page = page.section(outcome.section());
    }
    let path = folder.join(format!("{name}.html"));
    write_atomically(&path, |file| file.write_all(page.to_html().as_bytes()))?;
    files.push(path.display().to_string());
    text += &format!("wrote {} files; {} shows everything\n", files.len(), path.display());
    Ok(Reproduction { text, page: path, files, complete: !deadline.is_past(), results })
}

fn write(outcome: &Outcome, folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut files = Vec::new();
    let name = |text: &str| text.replace([' ', ','], "-").replace("--", "-");
    for (stem, _, drawing) in outcome.figures() {
        let endings: &[&str] = if png::AVAILABLE { &["svg", "png"] } else { &["svg"] };
        for ending in endings {
            let path = folder.join(format!("{}.{ending}", name(&stem)));
            write_picture(&path, &drawing)?;
            files.push(path.display().to_string());
        }
    }
    for (group, runs) in outcome.experiment.groups.iter().zip(&outcome.runs) {
        let records: Vec<_> = runs.iter().flatten().cloned().collect();
        let stem = folder.join(name(&format!("{}-{}", outcome.experiment.name, group.label)));
        files.extend(write_tables(&stem, &records)?);
    }
    Ok(files)
}
