//! `fiberscope reduce`, `canon` and `align`: a network rewritten inside its fiber.

use std::io::Write;
use std::path::Path;

use fiberscope::align::{AlignOptions, align as align_networks, interpolation_barrier};
use fiberscope::canonical::canonicalize_until;
use fiberscope::limit::{Limit, LimitReached};
use fiberscope::reduce::{ReduceOptions, reduce_until};
use fiberscope_answer::equivalence::certify;
use fiberscope_core::{Domain, ExactNetwork, Network};
use fiberscope_io::{Precision, load_data, save, write_atomically};
use serde_json::json;

use super::{read_domain, read_model};
use crate::Answer;
use crate::args::{AlignArgs, CanonArgs, Global, ReduceArgs};
use crate::output::Output;

pub fn reduce(args: &ReduceArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let deadline = global.deadline();
    let model = read_model(&args.model, &args.read.options(), output)?;
    let domain = read_domain(args.domain.as_deref(), model.network.input_width())?;
    // Half of the time is left to writing and checking.
    let half = deadline.left().map_or_else(|| deadline.clone(), |left| deadline.at_most(left / 2));
    let reduction = reduce_until(&model.network.to_exact(), &domain, &ReduceOptions::default(), &half)?;
    let stopped = half.limit();
    if let Some(limit) = stopped {
        output.note(&format!("{limit}; more neurons might go"));
    }
    let written = write_network(&reduction.network, &args.output, output)?;
    let certificate = certify(&model.network, &written, &reduction.moves, &domain);
    if let (Some(path), Some(certificate)) = (&args.certificate, &certificate) {
        let json = certificate.to_json();
        write_atomically(path, |file| file.write_all(json.as_bytes()))?;
    }
    let (before, after) = (model.network.widths(), written.widths());
    let proof =
        if certificate.is_some() { "certificate checked" } else { "parameters rounded: no certificate" };
    let text = format!(
        "{} -> {} in {} ({proof})\nwrote {}\n",
        widths(&before),
        widths(&after),
        moves(reduction.moves.moves().len()),
        args.output.display()
    );
    let path = args.certificate.as_ref().filter(|_| certificate.is_some());
    let value = json!({
        "widths_before": before,
        "widths_after": after,
        "moves": reduction.moves,
        "certificate": path.map(|path| path.display().to_string()),
        "certified": certificate.is_some(),
        "output": args.output.display().to_string(),
        "limit": stopped.map(|limit| limit.name()),
    });
    output.result(&text, &value)?;
    Ok(if stopped.is_some() { Answer::Undecided } else { Answer::Yes })
}

pub fn canon(args: &CanonArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let model = read_model(&args.model, &args.read.options(), output)?;
    let exact = model.network.to_exact();
    let deadline = global.deadline();
    let Some(canonical) = canonicalize_until(&exact, &Domain::Space, &deadline)? else {
        let limit = deadline.limit().unwrap_or(Limit::Time);
        return Err(LimitReached { limit, when: "before the canonical form was known".into() }.into());
    };
    let mut text = format!("fingerprint {}\nclass {}\n", canonical.fingerprint, canonical.class.name());
    if let Some(path) = &args.output {
        let written = write_network(&canonical.network, path, output)?;
        text += &format!("wrote {} ({})\n", path.display(), widths(&written.widths()));
    }
    let value = json!({
        "fingerprint": canonical.fingerprint,
        "class": canonical.class.name(),
        "moves": canonical.moves,
        "widths": canonical.network.widths(),
    });
    output.result(&text, &value)?;
    Ok(Answer::Yes)
}

pub fn align(args: &AlignArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let read = args.read.options();
    let (a, b) = (read_model(&args.a, &read, output)?.network, read_model(&args.b, &read, output)?.network);
    let options = AlignOptions { seed: global.seed, deadline: global.deadline(), ..AlignOptions::default() };
    let alignment = align_networks(&a, &b, &options)?;
    let stopped = options.deadline.limit();
    if let Some(limit) = stopped {
        output.note(&format!("{limit}; there may be a closer network"));
    }
    save(&alignment.network, &args.output, Precision::F64)?;
    let mut text = format!(
        "distance {:.6e} -> {:.6e}\nwrote {}\n",
        alignment.distance_before,
        alignment.distance_after,
        args.output.display()
    );
    let mut value = json!({
        "distance_before": alignment.distance_before,
        "distance_after": alignment.distance_after,
        "moves": alignment.moves,
        "exact": alignment.exact,
        "output": args.output.display().to_string(),
    });
    if let (Some(path), None) = (&args.data, stopped) {
        let points = load_data(path)?.points;
        let before = interpolation_barrier(&a, &b, &points, None, 20)?;
        let after = interpolation_barrier(&a, &alignment.network, &points, None, 20)?;
        text += &format!("interpolation barrier {:.6e} -> {:.6e}\n", before.height, after.height);
        value["barrier_before"] = json!(before.height);
        value["barrier_after"] = json!(after.height);
    }
    value["limit"] = json!(stopped.map(|limit| limit.name()));
    output.result(&text, &value)?;
    Ok(if stopped.is_some() { Answer::Undecided } else { Answer::Yes })
}

/// Writes an exact network, rounded to doubles with a note where that is needed.
fn write_network(network: &ExactNetwork, path: &Path, output: &Output) -> anyhow::Result<Network> {
    let (rounded, lossless) = network.to_f64()?;
    if !lossless {
        output.note("some parameters are no doubles and were rounded to the nearest; the file is equal up to rounding");
    }
    save(&rounded, path, Precision::F64)?;
    Ok(rounded)
}

fn moves(n: usize) -> String {
    if n == 1 { "1 move".into() } else { format!("{n} moves") }
}

fn widths(widths: &[usize]) -> String {
    widths.iter().map(ToString::to_string).collect::<Vec<_>>().join("-")
}
