//! The `fiberscope` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(fiberscope_cli::run(std::env::args_os()))
}
