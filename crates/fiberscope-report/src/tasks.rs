//! Questions that were cut into tasks: what a plan remembers of the command that asked, and the command's answer after the
//! merge.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use fiberscope::complex::ComplexOptions;
use fiberscope::difference::Difference;
use fiberscope::dimension::FunctionalDimension;
use fiberscope::fiber::volume;
use fiberscope::limit::Deadline;
use fiberscope::tasks::{Answer, ExtractionQuestion, Plan, TrainingQuestion};
use fiberscope::train::TrainRun;
use fiberscope_core::{Activation, Certificate, Domain, Matrix, Network, Rational};
use fiberscope_io::{Assumed, Precision};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::dimension::{BatchQuestion, DimensionSummary, summarize};
use crate::reading::HowRead;
use crate::regions::{ComplexView, Depth, RegionsQuestion, with_counts};
use crate::reproduce::{ReproduceSettings, Reproduction, Shared, share, tell_extractions, tell_trainings};
use crate::volume::VolumeAnswer;
use crate::{difference, equivalence, survey, training};

/// What a plan remembers of the command that asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remembered {
    /// The question.
    pub command: Command,
    /// Files that do not say what their layers do, whether ReLU was taken, and whether the caller stated it.
    assumed: Vec<(String, bool, bool)>,
    /// Files with heads that are no part of the network, and the nodes of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    set_aside: Vec<(String, Vec<String>)>,
}

/// The command that asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum Command {
    Regions { model: String, domain: Domain, count_only: bool },
    Diff { domain: Domain, epsilon: Option<Rational>, gap: f64 },
    Equiv { domain: Domain },
    Reproduce { settings: ReproduceSettings },
    Survey { plan: fiberscope::survey::Plan },
    Funcdim { models: Vec<String>, data: Vec<DataNote> },
    Train { single: bool, dimension: bool },
    Volume { widths: Vec<usize> },
}

/// What is remembered of a data set.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataNote {
    /// Where it came from.
    pub place: String,
    /// The names of its columns.
    pub columns: Option<Vec<String>>,
}

impl Remembered {
    /// A command that asked about files, and how these were read.
    pub fn new(command: Command, read: &HowRead) -> Self {
        let assumed = |(file, assumed): &(String, Assumed)| {
            (file.clone(), assumed.activation == Activation::Relu, assumed.stated)
        };
        let assumed = read.assumed().iter().map(assumed).collect();
        Remembered { command, assumed, set_aside: read.set_aside().to_vec() }
    }

    /// What a plan remembers.
    pub fn of(plan: &Plan) -> anyhow::Result<Self> {
        Self::deserialize(plan.note()).context("the plan does not say which command it is for")
    }

    /// As a plan has it.
    pub fn note(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }

    /// How the files were read.
    pub fn how_read(&self) -> HowRead {
        let mut read = HowRead::default();
        for (file, relu, stated) in &self.assumed {
            let activation = if *relu { Activation::Relu } else { Activation::Identity };
            read.add(file, Some(Assumed { activation, stated: *stated }), &[]);
        }
        for (file, nodes) in &self.set_aside {
            read.add(file, None, nodes);
        }
        read
    }
}

/// The plan for an experiment of the papers, with about so many tasks.
pub fn plan_reproduce(
    settings: &ReproduceSettings,
    tasks: usize,
    deadline: &Deadline,
) -> anyhow::Result<Plan> {
    let command = Command::Reproduce { settings: settings.clone() };
    let note = Remembered::new(command, &HowRead::default()).note();
    Ok(match share(settings)? {
        Shared::Trainings(groups) => Plan::about(TrainingQuestion::new(groups), &[], tasks, note, deadline)?,
        Shared::Extractions(networks, seeds) => {
            let networks: Vec<&Network> = networks.iter().collect();
            Plan::about(ExtractionQuestion::new(seeds), &networks, tasks, note, deadline)?
        }
    })
}

/// The answer of a command.
pub struct Told {
    /// In words.
    pub text: String,
    /// As JSON.
    pub value: Value,
    /// Yes or done, no, or undecided.
    pub holds: Option<bool>,
    /// The proof, if there is one.
    pub certificate: Option<Certificate>,
}

/// What the command would have said. Trainings, experiments and surveys are written into `folder`.
pub fn tell(plan: &Plan, answer: Answer, folder: &Path, deadline: &Deadline) -> anyhow::Result<Told> {
    let networks = plan.networks();
    match (Remembered::of(plan)?.command, answer) {
        (Command::Regions { model, domain, count_only }, Answer::Cells(counts, method)) => {
            let network = networks.first().context("the plan has no network")?;
            let view = ComplexView { name: model, network: Arc::new(network.clone()), domain, axes: None };
            let question = RegionsQuestion {
                view,
                limits: ComplexOptions::new().deadline(deadline.clone()),
                search: None,
                depth: if count_only { Depth::Counts } else { Depth::Weights },
                resume: None,
            };
            let answer = with_counts(question, counts, method)?;
            let holds = answer.is_complete().then_some(true);
            Ok(Told { text: answer.to_text(), value: answer.to_json(), holds, certificate: None })
        }
        (Command::Diff { domain, epsilon, gap }, Answer::Difference(found)) => {
            let asked = difference::Asked { epsilon, gap, size: None };
            let [a, b] = networks else { bail!("the plan has {} networks, expected two", networks.len()) };
            tell_difference((a, b), &domain, &asked, &found, deadline)
        }
        (Command::Equiv { domain }, Answer::Equivalence(decision)) => Ok(Told {
            text: equivalence::text(&decision, &domain),
            value: equivalence::value(&decision, &domain),
            holds: equivalence::holds(&decision.verdict),
            certificate: equivalence::certificate(&decision.verdict).cloned(),
        }),
        (Command::Funcdim { models, data }, Answer::Dimensions(found)) => {
            tell_dimensions(networks, &models, &data, &found)
        }
        (Command::Train { single, dimension }, Answer::Trainings(runs)) => {
            let precision = if single { Precision::F32 } else { Precision::F64 };
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
            let drifts = training::DriftsBySeed::new();
            let written = training::write_results(folder, &runs, precision, dimension, &drifts)?;
            let diverged = runs.iter().all(|run: &TrainRun| run.state.diverged.is_some());
            let (text, value) = (
                training::text(&runs, &written, dimension, &drifts),
                training::value(&runs, &written, &drifts),
            );
            Ok(Told { text, value, holds: Some(!diverged), certificate: None })
        }
        (Command::Reproduce { settings }, Answer::Trainings(runs)) => {
            Ok(tell_reproduction(&tell_trainings(&settings, runs, folder)?))
        }
        (Command::Reproduce { settings }, Answer::Extractions(trials)) => {
            Ok(tell_reproduction(&tell_extractions(&settings, trials, folder)?))
        }
        (Command::Survey { plan }, Answer::Survey(rows)) => {
            let found = survey::write_complete(folder, &plan, rows)?;
            let (text, value) = (survey::text(&plan, &found), survey::value(&plan, &found));
            Ok(Told { text, value, holds: Some(true), certificate: None })
        }
        (Command::Volume { widths }, Answer::Volume(estimate)) => {
            let answer = VolumeAnswer { found: volume(&widths)?, widths, estimate };
            Ok(Told { text: answer.to_text(), value: answer.to_json(), holds: Some(true), certificate: None })
        }
        _ => bail!("the plan is for another command than its question"),
    }
}

fn tell_reproduction(found: &Reproduction) -> Told {
    let holds = found.complete.then_some(true);
    Told { text: found.text.clone(), value: found.to_json(), holds, certificate: None }
}

fn tell_difference(
    networks: (&Network, &Network),
    domain: &Domain,
    asked: &difference::Asked,
    found: &Difference,
    deadline: &Deadline,
) -> anyhow::Result<Told> {
    // What was put together from parts is checked before it is said.
    let proof = difference::certificate(networks, domain, asked, found, deadline)?;
    let checked = proof.as_ref().is_some_and(|(_, accepted)| *accepted);
    if proof.is_some() && !checked {
        deadline.check("before the certificate was checked")?;
    }
    Ok(Told {
        text: difference::text(asked, found, checked),
        value: difference::value(asked, found, domain),
        holds: asked.holds(found),
        certificate: proof.map(|(certificate, _)| certificate),
    })
}

fn tell_dimensions(
    networks: &[Network],
    models: &[String],
    data: &[DataNote],
    found: &[FunctionalDimension],
) -> anyhow::Result<Told> {
    let pairs = models.iter().zip(networks).flat_map(|named| data.iter().map(move |data| (named, data)));
    let none = Matrix::from_fn(0, 0, |_, _| 0.0);
    let mut summaries: Vec<(&str, &str, DimensionSummary)> = Vec::with_capacity(found.len());
    for (((name, network), data), found) in pairs.zip(found) {
        let question = BatchQuestion::rank(data.place.clone(), &none, data.columns.as_deref());
        summaries.push((name, &data.place, summarize(name, network, &question, found)));
    }
    if summaries.len() != found.len() {
        bail!("the plan has {} models and data sets, its answer {}", summaries.len(), found.len());
    }
    let complete = summaries.iter().all(|(_, _, summary)| summary.rank.is_some());
    let (text, value) = match &summaries[..] {
        [(_, _, summary)] if models.len() == 1 => (summary.to_text(), summary.to_json()),
        _ => table(&summaries),
    };
    Ok(Told { text, value, holds: complete.then_some(true), certificate: None })
}

/// A line for every network on every data set.
fn table(summaries: &[(&str, &str, DimensionSummary)]) -> (String, Value) {
    let longest = |column: fn(&(&str, &str, DimensionSummary)) -> usize, title: usize| {
        summaries.iter().map(column).max().unwrap_or(0).max(title)
    };
    let (model, data) = (longest(|row| row.0.chars().count(), 5), longest(|row| row.1.chars().count(), 4));
    let mut text = format!(
        "{:<model$}  {:<data$}  {:>9}  {:>10}  {:>8}\n",
        "model", "data", "dimension", "parameters", "rows"
    );
    for (name, place, summary) in summaries {
        let rank = summary.rank.map_or("?".to_owned(), |rank| rank.to_string());
        text += &format!(
            "{name:<model$}  {place:<data$}  {rank:>9}  {:>10}  {:>8}\n",
            summary.parameters, summary.rows
        );
    }
    let row = |(name, place, summary): &(&str, &str, DimensionSummary)| {
        let mut value = summary.to_json();
        value["model"] = json!(name);
        value["data"] = json!(place);
        value
    };
    (text, json!({"rows": summaries.iter().map(row).collect::<Vec<Value>>()}))
}
