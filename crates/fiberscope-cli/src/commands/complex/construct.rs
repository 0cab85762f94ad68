//! `fiberscope construct`

use std::io::Write;
use std::path::PathBuf;

use fiberscope::complex::{ConstructOptions, ConstructProgress, construct_identifiable};
use fiberscope::fiber::{Construction, construct_hiding, construct_nonlocal};
use fiberscope::limit::Progress;
use fiberscope_io::{Precision, save, write_atomically};
use fiberscope_report::construct;
use serde_json::json;

use super::args::{BuildArgs, ConstructArgs, ConstructCommand, IdentifiableArgs};
use crate::Answer;
use crate::args::Global;
use crate::commands::read_domain;
use crate::output::Output;

pub fn run(args: &ConstructArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    match &args.command {
        ConstructCommand::Identifiable(args) => identifiable(args, global, output),
        ConstructCommand::Hiding(args) => {
            with_twin(&construct_hiding(&args.build.widths, global.seed)?, "hiding", &args.build, output)
        }
        ConstructCommand::Nonlocal(args) => {
            with_twin(&construct_nonlocal(&args.build.widths, global.seed)?, "nonlocal", &args.build, output)
        }
    }
}

/// Writes a network, its twin and the certificate that they are equal.
fn with_twin(built: &Construction, kind: &str, args: &BuildArgs, output: &Output) -> anyhow::Result<Answer> {
    let beside = |given: &Option<PathBuf>, ending: &str| {
        given.clone().unwrap_or_else(|| args.output.with_extension(ending))
    };
    let (twin, certificate) =
        (beside(&args.twin, "twin.json"), beside(&args.certificate, "certificate.json"));
    save(&built.network, &args.output, Precision::F64)?;
    save(&built.twin, &twin, Precision::F64)?;
    let json = built.certificate.to_json();
    write_atomically(&certificate, |file| file.write_all(json.as_bytes()))?;
    let files = [&args.output, &twin, &certificate].map(|path| path.display().to_string());
    let value = json!({"kind": kind, "widths": args.widths, "claims": built.claims, "files": files});
    output.result(&construct::twin_text(built, &files), &value)?;
    Ok(Answer::Yes)
}

fn identifiable(args: &IdentifiableArgs, global: &Global, output: &Output) -> anyhow::Result<Answer> {
    let say = |ConstructProgress { attempt, last }: ConstructProgress| match last {
        None => output.progress(&format!("attempt {attempt}")),
        Some(last) => output.progress(&format!("attempt {attempt}; one before failed: {last}")),
    };
    let inputs = args.widths.first().copied().unwrap_or(0);
    let domain = args.domain.as_deref().map(|given| read_domain(Some(given), inputs)).transpose()?;
    let options = ConstructOptions::new()
        .domain(domain)
        .seed(global.seed)
        .deadline(global.deadline())
        .progress(Progress::to(&say));
    let built = construct_identifiable(&args.widths, &options);
    output.end_progress();
    let built = built?;
    let certificate =
        args.certificate.clone().unwrap_or_else(|| args.output.with_extension("certificate.json"));
    save(&built.network, &args.output, Precision::F64)?;
    let mut value = construct::value(&built, global.seed);
    value["files"] = json!([args.output.display().to_string(), certificate.display().to_string()]);
    let json = format!("{value:#}\n");
    write_atomically(&certificate, |file| file.write_all(json.as_bytes()))?;
    let text = construct::identifiable_text(&built, &args.output, &certificate);
    output.result(&text, &value)?;
    Ok(Answer::Yes)
}
