//! The command line: every command with its arguments.

use clap::{Parser, Subcommand};

use crate::args::{
    AlignArgs, CanonArgs, CheckArgs, CompletionsArgs, ConvertArgs, EquivArgs, Global, InfoArgs, ManArgs,
    ReduceArgs, TourArgs, ZooArgs,
};
use crate::commands::answer::AnswerArgs;
use crate::commands::bounds::BoundsArgs;
use crate::commands::complex::args::{ConstructArgs, FoldsArgs, RegionsArgs};
use crate::commands::diff::args::DiffArgs;
use crate::commands::explore::ExploreArgs;
use crate::commands::extract::args::ExtractArgs;
use crate::commands::fiber::args::{ConserveArgs, FiberArgs, VolumeArgs};
use crate::commands::funcdim::FuncdimArgs;
use crate::commands::linear::LinearArgs;
use crate::commands::report::ReportArgs;
use crate::commands::reproduce::ReproduceArgs;
use crate::commands::survey::SurveyArgs;
use crate::commands::symmetries::SymmetriesArgs;
use crate::commands::tasks::args::{MergeArgs, PlanArgs, WorkArgs};
use crate::commands::train::TrainArgs;

/// Answers, with proof, what people ask about the parameters of ReLU and linear networks.
#[derive(Debug, Parser)]
#[command(
    name = "fiberscope",
    version,
    propagate_version = true,
    disable_help_subcommand = true,
    after_help = "Example:\n  fiberscope tour\n\nExit codes: 0 yes or done, 1 no, 2 error, 3 undecided within the limits."
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Tour(TourArgs),
    Info(InfoArgs),
    Convert(ConvertArgs),
    Equiv(EquivArgs),
    Diff(DiffArgs),
    Bounds(BoundsArgs),
    Check(CheckArgs),
    Reduce(ReduceArgs),
    Canon(CanonArgs),
    Align(AlignArgs),
    Regions(RegionsArgs),
    Folds(FoldsArgs),
    Construct(ConstructArgs),
    Fiber(FiberArgs),
    Symmetries(SymmetriesArgs),
    Volume(VolumeArgs),
    Conserve(ConserveArgs),
    Funcdim(FuncdimArgs),
    Extract(ExtractArgs),
    Answer(AnswerArgs),
    Train(TrainArgs),
    Reproduce(ReproduceArgs),
    Survey(SurveyArgs),
    Linear(LinearArgs),
    Plan(Box<PlanArgs>),
    Work(WorkArgs),
    Merge(MergeArgs),
    Report(ReportArgs),
    Explore(ExploreArgs),
    Zoo(ZooArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("fiberscope "), "{}", command.get_name());
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
