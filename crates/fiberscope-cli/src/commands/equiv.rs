//! `fiberscope equiv`

use std::io::Write;
use std::time::Instant;

use fiberscope::equivalence::{EquivalenceOptions, Verdict};
use fiberscope::limit::Limit;
use fiberscope_answer::equivalence::{certificate, search, text, value};
use fiberscope_io::write_atomically;
use serde_json::json;

use super::{read_domain, read_model};
use crate::Answer;
use crate::args::{EquivArgs, Global};
use crate::output::Output;

pub fn run(args: &EquivArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let start = Instant::now();
    let read = args.read.options();
    let (a, b) = (read_model(&args.a, &read, output)?, read_model(&args.b, &read, output)?);
    let domain = read_domain(args.domain.as_deref(), a.network.input_width())?;
    let options = EquivalenceOptions {
        exact: args.exact,
        tolerance: args.tolerance,
        precision: a.precision.min(b.precision).epsilon(),
        deadline: global.deadline(),
        seed: global.seed,
        resume: None,
    };
    let shown: &Output = output;
    let networks = (&a.network, &b.network);
    let decision = search(networks, &domain, options, args.resume.as_deref(), &|text| shown.progress(text))?;
    output.end_progress();
    if let (Some(path), Some(certificate)) = (&args.certificate, certificate(&decision.verdict)) {
        let json = certificate.to_json();
        write_atomically(path, |file| file.write_all(json.as_bytes()))?;
    }
    let mut value = value(&decision, &domain);
    value["seconds"] = json!(start.elapsed().as_secs_f64());
    let mut said = text(&decision, &domain);
    if global.deadline().limit() == Some(Limit::Memory) {
        said = said.replacen("the time limit", "the memory limit", 1);
    }
    output.result(&said, &value)?;
    Ok(match decision.verdict {
        Verdict::Equivalent { .. } | Verdict::EquivalentUpToRounding { .. } => Answer::Yes,
        Verdict::Different { .. } => Answer::No,
        Verdict::Undecided { .. } => Answer::Undecided,
    })
}
