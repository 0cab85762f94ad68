//! `fiberscope plan`

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use fiberscope::difference::DifferenceOptions;
use fiberscope::dimension::DimensionOptions;
use fiberscope::tasks::{
    CellsQuestion, DifferenceQuestion, DimensionQuestion, EquivalenceQuestion, Merged, Plan, Results,
    SurveyQuestion, TrainingGroup, TrainingQuestion, VolumeQuestion,
};
use fiberscope::train::TrackOptions;
use fiberscope_core::Network;
use fiberscope_io::{Model, WorkFolder};
use fiberscope_report::tasks::{Command, DataNote, Remembered, plan_reproduce};
use fiberscope_report::volume::samples_for;
use serde_json::{Value, json};

use super::args::{PlanArgs, PlanCommand, PlanFuncdimArgs, PlanReproduceArgs, PlanSurveyArgs, PlanTrainArgs};
use crate::Answer;
use crate::args::{EquivArgs, Global};
use crate::commands::complex::args::{RegionsArgs, RegionsMethod};
use crate::commands::diff::args::DiffArgs;
use crate::commands::diff::table;
use crate::commands::fiber::args::VolumeArgs;
use crate::commands::funcdim::read_inputs;
use crate::commands::train::{PrecisionName, Settings};
use crate::commands::{equiv, read_box, read_dense_model, read_domain};
use crate::output::Output;

pub fn run(args: &PlanArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let folder = args.output.as_deref().context("expected -o DIR, the folder to write")?;
    ensure!(args.tasks >= 1, "--tasks 0: expected at least one task");
    let planner = Planner { tasks: args.tasks, global, output };
    let plan = match &args.command {
        PlanCommand::Regions(args) => planner.regions(args),
        PlanCommand::Diff(args) => planner.diff(args),
        PlanCommand::Equiv(args) => planner.equiv(args),
        PlanCommand::Funcdim(args) => planner.funcdim(args),
        PlanCommand::Reproduce(args) => planner.reproduce(args),
        PlanCommand::Survey(args) => planner.survey(args),
        PlanCommand::Train(args) => planner.train(args),
        PlanCommand::Volume(args) => planner.volume(args),
    }?;
    global.deadline().check("before the plan was made")?;
    let tasks = match Results::new(&plan).missing()? {
        Merged::Missing(tasks) => tasks,
        Merged::Answer(_) | Merged::Known => Vec::new(),
    };
    let files: Vec<(String, Vec<u8>)> = tasks.into_iter().map(|task| (task.name, task.bytes)).collect();
    WorkFolder::create(folder, plan.bytes(), &files, Duration::from_secs(60))?;
    let text = told(folder, files.len());
    let value = json!({"folder": folder.display().to_string(), "tasks": files.len(), "plan": plan.digest(), "kind": plan.kind()});
    output.result(&text, &value)?;
    Ok(Answer::Yes)
}

fn told(folder: &Path, tasks: usize) -> String {
    let folder = folder.display();
    match tasks {
        0 => format!("wrote {folder}: nothing is left to do; `fiberscope merge {folder}` gives the answer\n"),
        1 => format!(
            "wrote {folder} with 1 task; `fiberscope work {folder}` does it, `fiberscope merge {folder}` gives the answer\n"
        ),
        _ => format!(
            "wrote {folder} with {tasks} tasks; `fiberscope work {folder}` does them, on as many machines as you like, and `fiberscope merge {folder}` gives the answer\n"
        ),
    }
}

struct Planner<'a> {
    tasks: usize,
    global: &'a Global,
    output: &'a Output,
}

impl Planner<'_> {
    /// What the plan is to remember: the command, and how the files were read so far.
    fn note(&self, command: Command) -> Value {
        Remembered::new(command, &self.output.how_read()).note()
    }

    fn regions(&self, args: &RegionsArgs) -> anyhow::Result<Plan> {
        ensure!(
            args.plot.is_empty() && args.export.is_empty() && args.resume.is_none(),
            "plan regions: --plot, --export and --resume are for fiberscope regions"
        );
        ensure!(
            args.slice.is_none() && args.directions.is_none(),
            "plan regions: a slice has few regions; fiberscope regions counts them"
        );
        ensure!(
            args.method != Some(RegionsMethod::Walk),
            "plan regions: tasks subdivide edges; --method walk is for fiberscope regions"
        );
        let model = read_dense_model(&args.model, &args.read.options(), self.output)?;
        let domain = read_box(args.domain.as_deref(), &args.around, model.network.input_width())?;
        let command = Command::Regions {
            model: args.model.clone(),
            domain: domain.clone(),
            count_only: args.count_only,
        };
        let note = self.note(command);
        let question = CellsQuestion::new(domain);
        Ok(Plan::about(question, &[&model.network], self.tasks, note, &self.global.deadline())?)
    }

    fn diff(&self, args: &DiffArgs) -> anyhow::Result<Plan> {
        ensure!(
            !args.top1 && !args.relative && args.around.is_none() && args.property.is_none(),
            "plan diff: --top1, --relative, --around and --property are for fiberscope diff"
        );
        ensure!(
            args.plot.is_none() && args.certificate.is_none() && args.resume.is_none(),
            "plan diff: --plot and --resume are for fiberscope diff, --certificate is for fiberscope merge"
        );
        let read = args.read.options();
        let (a, b) =
            (read_dense_model(&args.a, &read, self.output)?, read_dense_model(&args.b, &read, self.output)?);
        ensure!(
            args.domain.is_some(),
            "a box of inputs is needed: far away two networks are as far apart as they like; use --box LO,HI or --box FILE"
        );
        let domain = read_domain(args.domain.as_deref(), a.network.input_width())?;
        let points = args.data.as_deref().map(|path| table(path, &a.network)).transpose()?;
        let mut options = DifferenceOptions::new()
            .align(!args.as_given)
            .seed(self.global.seed)
            .gap(args.gap)
            .deadline(self.global.deadline())
            .points(points.unwrap_or_default());
        options.epsilon.clone_from(&args.epsilon);
        let command = Command::Diff { domain: domain.clone(), epsilon: args.epsilon.clone(), gap: args.gap };
        let note = self.note(command);
        let question = DifferenceQuestion::new(&a.network, &b.network, &domain, &options)?;
        let networks = [&a.network, &b.network];
        Ok(Plan::about(question, &networks, self.tasks, note, &self.global.deadline())?)
    }

    fn equiv(&self, args: &EquivArgs) -> anyhow::Result<Plan> {
        ensure!(
            args.certificate.is_none() && args.resume.is_none(),
            "plan equiv: --resume is for fiberscope equiv, --certificate is for fiberscope merge"
        );
        let read = args.read.options();
        let (a, b) =
            (read_dense_model(&args.a, &read, self.output)?, read_dense_model(&args.b, &read, self.output)?);
        let (domain, options) = equiv::question(args, self.global, (&a, &b))?;
        let command = Command::Equiv { domain: domain.clone() };
        let note = self.note(command);
        let question = EquivalenceQuestion::new(&a.network, &b.network, &domain, &options)?;
        let networks = [&a.network, &b.network];
        Ok(Plan::about(question, &networks, self.tasks, note, &self.global.deadline())?)
    }

    fn funcdim(&self, args: &PlanFuncdimArgs) -> anyhow::Result<Plan> {
        let read = args.read.options();
        let models = args
            .models
            .iter()
            .map(|name| Ok((name.as_str(), read_dense_model(name, &read, self.output)?)))
            .collect::<anyhow::Result<Vec<(&str, Model)>>>()?;
        let (first, rest) = models.split_first().context("expected a model")?;
        for (name, model) in rest {
            let (expected, found) = (first.1.network.input_width(), model.network.input_width());
            if expected != found {
                bail!("{name}: expected {expected} inputs, as {} has, found {found}", first.0);
            }
        }
        let mut data = Vec::with_capacity(args.data.len());
        for path in &args.data {
            data.push(read_inputs(path, args.inputs, &first.1.network)?);
            fiberscope::dimension::check_points(&first.1.network, &data[data.len() - 1].points)
                .with_context(|| path.display().to_string())?;
        }
        let notes = args.data.iter().zip(&data).map(|(path, data)| DataNote {
            place: path.display().to_string(),
            columns: data.columns.clone(),
        });
        let command = Command::Funcdim { models: args.models.clone(), data: notes.collect() };
        let note = self.note(command);
        let options =
            DimensionOptions::new().seed(self.global.seed).primes(args.primes).generic(args.generic);
        let points: Vec<_> = data.into_iter().map(|data| data.points).collect();
        let networks: Vec<&Network> = models.iter().map(|(_, model)| &model.network).collect();
        let question = DimensionQuestion::new(&points, &options);
        Ok(Plan::about(question, &networks, self.tasks, note, &self.global.deadline())?)
    }

    fn train(&self, args: &PlanTrainArgs) -> anyhow::Result<Plan> {
        let file = args.config.as_deref().map(Settings::read).transpose()?.unwrap_or_default();
        let settings = args.settings.clone().over(file);
        ensure!(
            settings.halvings.unwrap_or(0) == 0,
            "--halvings is for `fiberscope train`: plan each rate by itself"
        );
        let (inputs, targets) = settings.samples()?;
        let options = settings.options(&inputs, &targets)?;
        settings.oddities(&inputs, &targets).iter().for_each(|text| self.output.note(text));
        let track = TrackOptions::new()
            .every(settings.every.unwrap_or(50))
            .dimension(!settings.no_dimension)
            .strata(settings.strata()?);
        let single = settings.precision.unwrap_or(PrecisionName::F32) == PrecisionName::F32;
        let command = Command::Train { single, dimension: !settings.no_dimension };
        let note = self.note(command);
        let seeds = (self.global.seed, settings.seeds.unwrap_or(1).max(1));
        let group = TrainingGroup::new(&options, &track, (&inputs, &targets), seeds, single);
        let question = TrainingQuestion::new(vec![group]);
        Ok(Plan::about(question, &[], self.tasks, note, &self.global.deadline())?)
    }

    fn reproduce(&self, args: &PlanReproduceArgs) -> anyhow::Result<Plan> {
        plan_reproduce(&args.settings.settings(self.global.seed), self.tasks, &self.global.deadline())
    }

    fn survey(&self, args: &PlanSurveyArgs) -> anyhow::Result<Plan> {
        let plan = args.settings.plan(self.global.seed)?;
        let note = self.note(Command::Survey { plan: plan.clone() });
        Ok(Plan::about(SurveyQuestion::new(plan), &[], self.tasks, note, &self.global.deadline())?)
    }

    fn volume(&self, args: &VolumeArgs) -> anyhow::Result<Plan> {
        let samples = samples_for(&args.widths, args.samples)?;
        let note = self.note(Command::Volume { widths: args.widths.clone() });
        let question = VolumeQuestion::new(&args.widths, samples, self.global.seed);
        Ok(Plan::about(question, &[], self.tasks, note, &self.global.deadline())?)
    }
}
