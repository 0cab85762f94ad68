//! The command line: every command with its arguments.

use std::ffi::OsString;

use clap::{Args, FromArgMatches, Parser, Subcommand};

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

/// The commands: an enumeration for the parser, and the arguments of each by its name.
macro_rules! commands {
    ($($word:literal $name:ident($arguments:ty)),* $(,)?) => {
        #[derive(Debug, Subcommand)]
        pub enum Command {
            $(#[command(name = $word)] $name($arguments)),*
        }

        /// The definition of the command of this name.
        fn one(name: &str) -> Option<clap::Command> {
            match name {
                $($word => Some(<$arguments as Args>::augment_args(clap::Command::new($word))),)*
                _ => None,
            }
        }
    };
}

commands! {
    "tour" Tour(TourArgs),
    "info" Info(InfoArgs),
    "convert" Convert(ConvertArgs),
    "equiv" Equiv(EquivArgs),
    "diff" Diff(DiffArgs),
    "bounds" Bounds(BoundsArgs),
    "check" Check(CheckArgs),
    "reduce" Reduce(ReduceArgs),
    "canon" Canon(CanonArgs),
    "align" Align(AlignArgs),
    "regions" Regions(RegionsArgs),
    "folds" Folds(FoldsArgs),
    "construct" Construct(ConstructArgs),
    "fiber" Fiber(FiberArgs),
    "symmetries" Symmetries(SymmetriesArgs),
    "volume" Volume(VolumeArgs),
    "conserve" Conserve(ConserveArgs),
    "funcdim" Funcdim(FuncdimArgs),
    "extract" Extract(ExtractArgs),
    "answer" Answer(AnswerArgs),
    "train" Train(TrainArgs),
    "reproduce" Reproduce(ReproduceArgs),
    "survey" Survey(SurveyArgs),
    "linear" Linear(LinearArgs),
    "plan" Plan(Box<PlanArgs>),
    "work" Work(WorkArgs),
    "merge" Merge(MergeArgs),
    "report" Report(ReportArgs),
    "explore" Explore(ExploreArgs),
    "zoo" Zoo(ZooArgs),
    "completions" Completions(CompletionsArgs),
    "man" Man(ManArgs),
}

impl Cli {
    /// Parses a command line. The definition of all commands, with all that they say, takes longer than some
    /// commands do: that of the first one named is enough if the line is right.
    pub fn parse(line: Vec<OsString>) -> Result<Self, clap::Error> {
        let named = line.iter().skip(1).find_map(|word| one(word.to_str()?));
        match named.and_then(|command| only(command).try_get_matches_from(&line).ok()) {
            Some(matches) => Cli::from_arg_matches(&matches),
            // What is wrong, or help, is said with the whole definition.
            None => Cli::try_parse_from(line),
        }
    }
}

/// A definition without the other commands.
fn only(command: clap::Command) -> clap::Command {
    let root = Global::augment_args(clap::Command::new("fiberscope").disable_help_subcommand(true));
    root.subcommand_required(true).subcommand(command)
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
    fn the_first_look_knows_every_command_and_reads_as_the_whole_definition_does() {
        let whole = Cli::command();
        assert!(whole.get_subcommands().count() > 30);
        for command in whole.get_subcommands() {
            let name = command.get_name();
            let alone = only(one(name).expect(name));
            let ids = |command: &clap::Command| -> Vec<String> {
                command.get_arguments().map(|argument| format!("{argument:?}")).collect()
            };
            assert_eq!(ids(alone.get_subcommands().next().unwrap()), ids(command), "{name}");
            assert_eq!(ids(&alone), ids(&whole), "{name}");
        }
        let lines = [
            "fiberscope",
            "fiberscope equiv",
            "fiberscope equiv a",
            "fiberscope equiv a b",
            "fiberscope --json equiv a b -q",
            "fiberscope -V",
            "fiberscope equiv -V",
            "fiberscope equiv --help",
            "fiberscope --help",
            "fiberscope help equiv",
            "fiberscope equivv a b",
            "fiberscope Equiv a b",
            "fiberscope --seed equiv a b",
            "fiberscope --seed 3 equiv a b --seed 4",
            "fiberscope --box -1,1 equiv a b",
            "fiberscope --nothing tour equiv a b",
            "fiberscope zoo",
            "fiberscope zoo list",
            "fiberscope zoo show x",
            "fiberscope regions equiv --box -1,1",
            "fiberscope regions m --box -1,1 --threads 0",
            "fiberscope equiv a b --time-limit -1",
            "fiberscope check a b equiv",
            "fiberscope -- equiv a b",
            "fiberscope equiv -- a b",
            "fiberscope man",
            "fiberscope completions bash",
        ];
        for line in lines {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let shown = |read: Result<Cli, clap::Error>| match read {
                Ok(cli) => format!("{cli:?}"),
                Err(error) => error.to_string(),
            };
            assert_eq!(shown(Cli::parse(words.clone())), shown(Cli::try_parse_from(words)), "{line}");
        }
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
