//! The `fiberscope` command: flags to meaning, meaning to library, results to text or JSON.
//!
//! Exit codes: 0 yes or done, 1 no (different, rejected), 2 error, 3 undecided within the limits.

mod args;
mod commands;
mod definition;
mod oracle;
mod output;
mod paint;
mod watch;

use std::ffi::OsString;
use std::io;

use clap::CommandFactory;
use fiberscope::limit::LimitReached;

use definition::{Cli, Command};
use output::Output;
use watch::Watch;

/// The definition of the command line.
pub fn definition() -> clap::Command {
    Cli::command()
}

/// Runs the command with its arguments, the name of the program first: prints what there is to print and
/// returns the exit code.
///
/// It talks to standard input, output and error of the process; the binary and the console script of the
/// Python package call it.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let mut cli = match Cli::parse(arguments.into_iter().collect()) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output with code 0; usage errors to standard error.
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return code;
        }
    };
    let mut output = Output::new(cli.global.json, cli.global.quiet);
    let limits = cli.global.begin();
    // These work until somebody stops them, and have nothing to hand over.
    if !matches!(cli.command, Command::Explore(_) | Command::Answer(_)) {
        watch::heed_interrupts(limits.stop.clone(), output.clone());
    }
    let _watch = Watch::start(limits, output.clone());
    let answer = dispatch(cli, &mut output).or_else(|error| match limit_in(&error) {
        Some(reached) => {
            output.end_progress();
            output.undecided(reached)?;
            Ok(Answer::Undecided)
        }
        None => Err(error),
    });
    match answer {
        Ok(answer) => answer.exit_code(),
        Err(error) if output::is_broken_pipe(&error) => 0,
        Err(error) => {
            output.error(&error);
            2
        }
    }
}

/// The limit that an error comes from, if it comes from one.
fn limit_in(error: &anyhow::Error) -> Option<&LimitReached> {
    error.chain().find_map(|cause| match cause.downcast_ref::<io::Error>() {
        // One that ended the writing of a file.
        Some(writing) => writing.get_ref().and_then(|inner| inner.downcast_ref()),
        None => cause.downcast_ref(),
    })
}

/// What a command answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Yes, or done.
    Yes,
    /// No: different, rejected.
    No,
    /// Undecided within the limits.
    Undecided,
}

impl Answer {
    fn exit_code(self) -> u8 {
        match self {
            Answer::Yes => 0,
            Answer::No => 1,
            Answer::Undecided => 3,
        }
    }
}

fn dispatch(cli: Cli, output: &mut Output) -> anyhow::Result<Answer> {
    let global = cli.global;
    let threads = || rayon::ThreadPoolBuilder::new().num_threads(global.threads.map_or(0, usize::from));
    // This thread works, too, unless it belongs to another pool, or has the small stack that Windows gives it.
    let pool = match cfg!(windows) {
        true => threads().build(),
        false => threads().use_current_thread().build().or_else(|_| threads().build()),
    }?;
    pool.install(|| match cli.command {
        Command::Tour(args) => commands::tour::run(&args, &global, output),
        Command::Info(args) => commands::info::run(&args, &global, output),
        Command::Convert(args) => commands::convert::run(&args, output),
        Command::Equiv(args) => commands::equiv::run(&args, &global, output),
        Command::Diff(args) => commands::diff::run(&args, &global, output),
        Command::Bounds(args) => commands::bounds::run(&args, &global, output),
        Command::Reduce(args) => commands::rewrite::reduce(&args, &global, output),
        Command::Canon(args) => commands::rewrite::canon(&args, &global, output),
        Command::Align(args) => commands::rewrite::align(&args, &global, output),
        Command::Check(args) => commands::check::run(args, &global, output),
        Command::Regions(args) => commands::complex::regions::run(&args, &global, output),
        Command::Folds(args) => commands::complex::folds::run(&args, &global, output),
        Command::Construct(args) => commands::complex::construct::run(&args, &global, output),
        Command::Fiber(args) => commands::fiber::run(&args, &global, output),
        Command::Symmetries(args) => commands::symmetries::run(&args, &global, output),
        Command::Volume(args) => commands::fiber::volume::run(&args, &global, output),
        Command::Conserve(args) => commands::fiber::conserve::run(&args, &global, output),
        Command::Funcdim(args) => commands::funcdim::run(&args, &global, output),
        Command::Extract(args) => commands::extract::run(&args, &global, output),
        Command::Answer(args) => commands::answer::run(&args, &global, output),
        Command::Train(args) => commands::train::run(&args, &global, output),
        Command::Reproduce(args) => commands::reproduce::run(&args, &global, output),
        Command::Survey(args) => commands::survey::run(&args, &global, output),
        Command::Linear(args) => commands::linear::run(&args, &global, output),
        Command::Plan(args) => commands::tasks::plan::run(&args, &global, output),
        Command::Work(args) => commands::tasks::work::run(&args, &global, output),
        Command::Merge(args) => commands::tasks::merge::run(&args, &global, output),
        Command::Report(args) => commands::report::run(&args, &global, output),
        Command::Explore(args) => commands::explore::run(&args, &global, output),
        Command::Zoo(args) => commands::zoo::run(&args, &global, output),
        Command::Completions(args) => commands::completions::run(&args, &mut definition(), output),
        Command::Man(args) => commands::man::run(&args, definition(), output),
    })
}
