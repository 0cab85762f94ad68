//! `fiberscope construct identifiable`

use std::io::Write;

use fiberscope::complex::construct_identifiable;
use fiberscope_core::Digest;
use fiberscope_io::{Precision, save, write_atomically};
use serde_json::json;

use super::args::{ConstructArgs, ConstructCommand, IdentifiableArgs};
use super::folds::paths;
use crate::Answer;
use crate::args::Global;
use crate::output::Output;

pub fn run(args: &ConstructArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    match &args.command {
        ConstructCommand::Identifiable(args) => identifiable(args, global, output),
    }
}

fn identifiable(args: &IdentifiableArgs, global: &Global, output: &Output) -> anyhow::Result<Answer> {
    let built = construct_identifiable(&args.widths, global.seed)?;
    let certificate =
        args.certificate.clone().unwrap_or_else(|| args.output.with_extension("certificate.json"));
    save(&built.network, &args.output, Precision::F64)?;
    let value = json!({
        "claim": "certified_identifiable",
        "network": Digest::of(&built.network).to_string(),
        "widths": args.widths,
        "domain": built.domain,
        "general": built.certificate.general,
        "transparent": built.certificate.transparent,
        "layers": paths(&built.certificate),
        "seed": global.seed,
        "attempts": built.attempts,
        "files": [args.output.display().to_string(), certificate.display().to_string()],
    });
    let json = format!("{value:#}\n");
    write_atomically(&certificate, |file| file.write_all(json.as_bytes()))?;
    let text = format!(
        "wrote {}: general, transparent, and identified by its function on [-1, 1]^{} (attempt {})\nwrote {}: the paths of every layer\n",
        args.output.display(),
        args.widths[0],
        built.attempts,
        certificate.display()
    );
    output.result(&text, &value)?;
    Ok(Answer::Yes)
}
