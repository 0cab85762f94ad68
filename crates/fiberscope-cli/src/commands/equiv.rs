//! `fiberscope equiv`

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use fiberscope::equivalence::regions::SearchState;
use fiberscope::equivalence::{Decision, EquivalenceError, EquivalenceOptions, Verdict, decide};
use fiberscope_answer::equivalence::{certificate, value};
use fiberscope_core::{Domain, Rational};
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
        time: global.time_limit.map(Duration::from_secs_f64),
        seed: global.seed,
        resume: args.resume.as_deref().filter(|path| path.exists()).map(read_state).transpose()?,
    };
    let shown: &Output = output;
    let decision = decide(&a.network, &b.network, &domain, &options, &|progress| {
        let percent = 100.0 * progress.explored;
        shown.progress(&format!("searched {percent:.2} % of the joint regions, {} agree", progress.leaves));
    })
    .map_err(|error| match (&error, &args.resume) {
        (EquivalenceError::Search(_), Some(path)) => anyhow!("{}: {error}", path.display()),
        _ => error.into(),
    })?;
    output.end_progress();
    let certificate = certificate(&decision.verdict);
    if let (Some(path), Some(certificate)) = (&args.certificate, certificate) {
        let json = certificate.to_json();
        write_atomically(path, |file| file.write_all(json.as_bytes()))?;
    }
    if let (Some(path), Verdict::Undecided { state: Some(state), .. }) = (&args.resume, &decision.verdict) {
        let json = serde_json::to_vec(state)?;
        write_atomically(path, |file| file.write_all(&json))?;
    }
    let mut value = value(&decision, &domain);
    value["seconds"] = json!(start.elapsed().as_secs_f64());
    output.result(&text(&decision, &domain), &value)?;
    Ok(match decision.verdict {
        Verdict::Equivalent { .. } | Verdict::EquivalentUpToRounding { .. } => Answer::Yes,
        Verdict::Different { .. } => Answer::No,
        Verdict::Undecided { .. } => Answer::Undecided,
    })
}

fn read_state(path: &Path) -> anyhow::Result<SearchState> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    SearchState::from_json(&bytes).with_context(|| path.display().to_string())
}

/// The verdict as text.
pub fn text(decision: &Decision, domain: &Domain) -> String {
    let place = match domain {
        Domain::Space => "everywhere",
        Domain::Box(_) => "on the box",
    };
    let on_box = if *domain == Domain::Space { "" } else { " on the box" };
    let method = decision.method;
    match &decision.verdict {
        Verdict::Equivalent { .. } => format!("equivalent {place} (method: {method}; certificate checked)\n"),
        Verdict::EquivalentUpToRounding { bound, differ_at, certificate } => {
            let on = if certificate.domain == *domain { "the box" } else { "the box [-1, 1]^n" };
            let known = match differ_at {
                Some(x) => format!("not exactly equal: they differ at x = {}", point(x)),
                None => "not proved exactly equal: their parameters differ in the last places, and no point \
                         where the outputs differ was found"
                    .to_owned(),
            };
            format!(
                "equivalent up to rounding: the outputs differ by at most {:.3e} on {on} (certificate checked)\n\
                 {known}\n",
                bound.to_f64()
            )
        }
        Verdict::Different { x, a, b, .. } => format!(
            "different{on_box} (method: {method}; witness checked exactly)\n  x    = {}\n  A(x) = {}\n  B(x) = {}\n",
            point(x),
            point(a),
            point(b)
        ),
        Verdict::Undecided { state: None, .. } => {
            "undecided within the time limit: it was reached before the search of joint regions began\n"
                .into()
        }
        Verdict::Undecided { explored, regions, .. } => format!(
            "undecided within the time limit: {:.2} % of the joint regions searched, {regions} agree\n",
            100.0 * explored
        ),
    }
}

/// A vector with its numbers as doubles, shortened where it is long.
fn point(xs: &[Rational]) -> String {
    const SHOWN: usize = 8;
    let numbers: Vec<_> = xs.iter().take(SHOWN).map(|x| x.to_f64().to_string()).collect();
    let rest = if xs.len() > SHOWN { format!(", ... ({} in all)", xs.len()) } else { String::new() };
    format!("({}{rest})", numbers.join(", "))
}
