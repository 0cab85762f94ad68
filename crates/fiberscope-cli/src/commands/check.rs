//! `fiberscope check`

use std::fs::File;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::Context;
use fiberscope::threads;
use fiberscope_check::Question;
use fiberscope_check::difference::Arithmetic;
use fiberscope_core::Domain;
use fiberscope_report::certificate::{answer, parse_claim, too_late};

use super::{read_domain, read_model};
use crate::Answer;
use crate::args::{CheckArgs, Global};
use crate::output::Output;

/// How long a step that was begun in time may still take.
const GRACE: Duration = Duration::from_millis(500);

pub fn run(args: CheckArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let deadline = global.deadline();
    let path = args.certificate.display().to_string();
    let file = File::open(&args.certificate).with_context(|| path.clone())?;
    let claim = args.claim.as_deref().map(parse_claim).transpose().context("--claim")?;
    let options = args.read.options();
    let a = read_model(&args.a, &options, output)?.network;
    let name_b = args.b.unwrap_or_else(|| args.a.clone());
    let b = if name_b == args.a { a.clone() } else { read_model(&name_b, &options, output)?.network };
    let domain = match &args.domain {
        Some(text) => Some(read_domain(Some(text), a.input_width())?),
        None => args.space.then_some(Domain::Space),
    };
    let question = Question { claim, domain };
    let means = (if args.exact { Arithmetic::Exact } else { Arithmetic::Doubles }, threads());
    let late = too_late((&args.a, &name_b), &question);
    let left = deadline.left();
    let (sender, receiver) = channel();
    // A thread of its own: the check looks at the time between its steps, and one of them may be long.
    std::thread::Builder::new().spawn(move || {
        let names = (args.a.as_str(), name_b.as_str());
        // Nobody receives what comes too late.
        let _ = sender.send(answer(file, names, (&a, &b), &question, means, &deadline));
    })?;
    let found = match left {
        None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
        Some(left) => receiver.recv_timeout(left.saturating_add(GRACE)),
    };
    let answer = match found {
        Ok(answer) => answer.with_context(|| path)?,
        Err(RecvTimeoutError::Timeout) => late,
        Err(RecvTimeoutError::Disconnected) => anyhow::bail!("{path}: the check ended without an answer"),
    };
    if answer.swapped {
        output.note("the certificate names these networks in the other order; swap A and B");
    }
    output.result(&answer.text, &answer.value)?;
    Ok(match answer.proved {
        Some(true) => Answer::Yes,
        Some(false) => Answer::No,
        None => Answer::Undecided,
    })
}
