//! `fiberscope reduce`, `canon` and `align`: a network rewritten inside its fiber.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use fiberscope::align::{AlignOptions, Scaling, align as align_networks};
use fiberscope::canonical::{CanonicalError, FingerprintVersion, canonicalize};
use fiberscope::reduce::{ReduceOptions, reduce_in_doubles};
use fiberscope_core::{Certificate, Domain, Network};
use fiberscope_io::{Model, Names, Precision, load_data, save, save_named, write_atomically};
use fiberscope_report::reading::{add_names, names_text};
use fiberscope_report::rewrite::{Aligned, Reduced, WrittenForm, canonical_json, canonical_text, images};
use serde_json::json;

use super::{read_dense_model, read_domain, read_model};
use crate::Answer;
use crate::args::{AlignArgs, AlignMetric, AlignScaling, CanonArgs, CanonFingerprint, Global, ReduceArgs};
use crate::output::{Output, check_picture, write_picture};

pub fn reduce(args: &ReduceArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let deadline = global.deadline();
    let Model { network, names, .. } = read_model(&args.model, &args.read.options(), output)?;
    let domain = read_domain(args.domain.as_deref(), network.input_width())?;
    // Half of the time is left to writing and checking.
    let half = deadline.left().map_or_else(|| deadline.clone(), |left| deadline.at_most(left / 2));
    let options = ReduceOptions::new().round(args.round).deadline(half);
    let reduction = reduce_in_doubles(&network, &domain, &options)?;
    let stopped = options.deadline.limit();
    if let Some(limit) = stopped {
        output.note(&format!("{limit}; more neurons might go"));
    }
    let reduced = Reduced::new(reduction, &network, &domain, stopped.is_none())?;
    save(&reduced.reduction.network, &args.output, Precision::F64)?;
    let proof = write_certificate(args.certificate.as_deref(), reduced.certificate.as_ref(), output)?;
    let mut value = reduced.to_json();
    value["certificate"] = json!(proof);
    value["output"] = json!(args.output.display().to_string());
    value["limit"] = json!(stopped.map(|limit| limit.name()));
    add_names(&mut value, names.as_ref());
    let called = names_text(names.as_ref());
    output.result(&format!("{}{called}wrote {}\n", reduced.text(), args.output.display()), &value)?;
    Ok(if stopped.is_some() { Answer::Undecided } else { Answer::Yes })
}

pub fn canon(args: &CanonArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let model = read_dense_model(&args.model, &args.read.options(), output)?;
    let deadline = global.deadline();
    let mut canonical = match canonicalize(&model.network, &Domain::Space, &deadline) {
        Err(CanonicalError::Limit(reached)) => return Err(reached.into()),
        found => found?,
    };
    let version = match args.fingerprint {
        CanonFingerprint::V1 => FingerprintVersion::V1,
        CanonFingerprint::V2 => FingerprintVersion::V2,
    };
    canonical.fingerprint = canonical.fingerprint_of(version, &Domain::Space, &deadline)?;
    let mut text = canonical_text(&canonical);
    let mut written = None;
    if let Some(path) = &args.output {
        let form = WrittenForm::new(&canonical)?;
        if !form.rounding.is_zero() && !args.round {
            bail!(
                "{}: not written, because the canonical representative has parameters that are no doubles; --round writes it rounded, \
                 and without -o the fingerprint is printed",
                path.display()
            );
        }
        save(&form.network, path, Precision::F64)?;
        text += &form.written_text(path);
        written = Some(form);
    }
    let mut value = canonical_json(&canonical, written.as_ref());
    value["output"] = json!(args.output.as_ref().map(|path| path.display().to_string()));
    output.result(&text, &value)?;
    Ok(Answer::Yes)
}

pub fn align(args: &AlignArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let read = args.read.options();
    if let Some(path) = &args.plot {
        check_picture(path)?;
    }
    let Model { network: a, names: names_of_a, .. } = read_model(&args.a, &read, output)?;
    let Model { network: b, precision, names, .. } = read_model(&args.b, &read, output)?;
    let points = args.data.as_ref().map(|path| load_data(path)).transpose()?.map(|data| data.points);
    let matched_on = match (args.metric, &points) {
        (AlignMetric::Weights, _) => None,
        (AlignMetric::Activations, Some(points)) => Some(points.clone()),
        (AlignMetric::Activations, None) => {
            bail!("--metric activations: expected --data FILE, on whose inputs neurons are compared")
        }
    };
    let scaling = match args.scaling {
        AlignScaling::Auto => Scaling::Auto,
        AlignScaling::PowersOfTwo => Scaling::PowersOfTwo,
        AlignScaling::Real => Scaling::Doubles,
        AlignScaling::None => Scaling::None,
    };
    let options = AlignOptions::new()
        .scaling(scaling)
        .activations(matched_on)
        .images(images(names_of_a.as_ref(), names.as_ref()))
        .starts(args.starts)
        .seed(global.seed)
        .deadline(global.deadline());
    let aligned = Aligned::new(align_networks(&a, &b, &options)?, &b)?;
    let stopped = options.deadline.limit();
    if let Some(limit) = stopped {
        output.note(&format!("{limit}; there may be a closer network"));
    }
    let precision = save_in(&aligned.alignment.network, names.as_ref(), &args.output, precision)?;
    let proof = write_certificate(args.certificate.as_deref(), aligned.certificate.as_ref(), output)?;
    let mut text = aligned.text();
    let mut value = aligned.to_json();
    value["certificate"] = json!(proof);
    value["output"] = json!(args.output.display().to_string());
    value["precision"] = json!(precision.name());
    if let (Some(points), None) = (&points, stopped) {
        let barrier = aligned.barrier(&a, &b, points)?;
        text += &barrier.to_text();
        barrier.add_to(&mut value);
        if let Some(path) = &args.plot {
            write_picture(path, &barrier.draw())?;
            text += &format!("wrote {}\n", path.display());
            value["plot"] = json!(path.display().to_string());
        }
    }
    value["limit"] = json!(stopped.map(|limit| limit.name()));
    text += &format!("wrote {} ({precision})\n", args.output.display());
    output.result(&text, &value)?;
    Ok(if stopped.is_some() { Answer::Undecided } else { Answer::Yes })
}

/// Writes a network in the precision that it came in, or in doubles where that would round a number.
fn save_in(
    network: &Network,
    names: Option<&Names>,
    path: &Path,
    precision: Precision,
) -> anyhow::Result<Precision> {
    let precision = precision.max(Precision::F32);
    let kept = save_named(network, names, path, precision)?.loss.is_none();
    if kept {
        return Ok(precision);
    }
    save_named(network, names, path, Precision::F64)?;
    Ok(Precision::F64)
}

/// Writes the certificate where that is asked for and there is one; the name of the file.
fn write_certificate(
    path: Option<&Path>,
    certificate: Option<&Certificate>,
    output: &Output,
) -> anyhow::Result<Option<String>> {
    let Some(path) = path else { return Ok(None) };
    let Some(certificate) = certificate else {
        output.note(
            "no certificate was written: the parameters were rounded, and there is no bound for the outputs",
        );
        return Ok(None);
    };
    write_atomically(path, |file| file.write_all(certificate.to_json().as_bytes()))?;
    Ok(Some(path.display().to_string()))
}
