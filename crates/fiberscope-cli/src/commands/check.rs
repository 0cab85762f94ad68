//! `fiberscope check`

use anyhow::Context;
use fiberscope_check::{Outcome, check};
use fiberscope_core::{Certificate, NetworkName};
use fiberscope_report::{json, text};

use super::read_model;
use crate::Answer;
use crate::args::CheckArgs;
use crate::output::Output;

pub fn run(args: &CheckArgs, output: &mut Output) -> anyhow::Result<Answer> {
    let path = args.certificate.display();
    let bytes = std::fs::read(&args.certificate).with_context(|| path.to_string())?;
    let certificate = Certificate::from_json(&bytes).with_context(|| path.to_string())?;
    let options = args.read.options();
    let a = read_model(&args.a, &options, output)?.network;
    let b = read_model(&args.b, &options, output)?.network;
    let outcome = check(&certificate, &a, &b);
    let swapped = certificate.a != certificate.b
        && certificate.a == NetworkName::of(&b)
        && certificate.b == NetworkName::of(&a);
    if swapped {
        output.note("the certificate names these networks in the other order; swap A and B");
    }
    let names = (args.a.as_str(), args.b.as_str());
    output.result(
        &text::certificate(names, &certificate, &outcome),
        &json::certificate(&certificate, &outcome),
    )?;
    Ok(match outcome {
        Outcome::Proved(_) => Answer::Yes,
        Outcome::Refused(_) => Answer::No,
    })
}
