//! `fiberscope diff`

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Args;
use fiberscope::difference::{DifferenceOptions, GAP};
use fiberscope_core::{Domain, Network, Rational};
use fiberscope_io::{load_data, write_atomically};
use fiberscope_report::certificate::parse_decimal;
use fiberscope_report::difference::{Asked, around, certificate, on_data, rows, search, size, text, value};
use serde_json::json;

use super::{property, read_domain, read_model, top1};
use crate::Answer;
use crate::args::{Global, ReadArgs};
use crate::output::Output;

/// Tell how far apart two networks can be on a box, with proof
///
/// Both bounds of the largest difference of an output are certified: the upper one by the checker's own
/// bounds on small boxes, the lower one by exact evaluation at the worst input found. Networks may be
/// permuted, rescaled, pruned or of different depths: moves that keep the functions bring them to one shape
/// first.
///
/// With --epsilon, exit code 0: the outputs differ by at most EPS; 1: an input where they differ by more is
/// shown; 3: neither was found within the limits. Without: exit code 0 when the upper bound is at most 1 + G
/// times the lower one; 3 with the best bounds when a limit comes first.
///
/// With --top1 the question is the decision instead: wherever A is sure of a class (its largest output), is it
/// the class of B? Exit code 0: yes, for every input of the box; 1: an input where B decides otherwise is
/// shown; 3: neither was found within the limits.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope diff zoo:deep zoo:deep-rounded --box -1,1 --epsilon 1e-9 --certificate proof.json\n  fiberscope diff a.onnx pruned.onnx --box 0,1 --gap 0.05 --time-limit 60 --resume search.json\n  fiberscope diff a.onnx b.onnx --around images.npy --radius 0.01 --epsilon 0.5\n  fiberscope diff a.onnx pruned.onnx --box 0,1 --top1 --margin 0.5 --certificate classes.json\n  fiberscope diff a.onnx pruned.onnx --box 0,1 --top1 --confidence 0.9\n  fiberscope diff f.onnx g.onnx --property instance.vnnlib --time-limit 100"
)]
pub struct DiffArgs {
    /// The first network
    #[arg(value_name = "A")]
    pub a: String,
    /// The second network
    #[arg(value_name = "B")]
    pub b: String,
    /// The inputs that matter: LO,HI for every input, or a file (JSON, CSV, VNN-LIB)
    #[arg(long = "box", value_name = "LO,HI or FILE", allow_hyphen_values = true)]
    pub domain: Option<String>,
    /// Take the box, and the question if it asks one, from a VNN-LIB file (2.0 with two networks, or 1.0)
    #[arg(long, value_name = "FILE", conflicts_with = "domain")]
    pub property: Option<PathBuf>,
    /// Where the inputs of the file are no box, use the smallest box around them
    #[arg(long, requires = "property")]
    pub bounding_box: bool,
    /// Where the file's constraints on outputs contradict each other, ask what seems to be meant
    #[arg(long, requires = "property")]
    pub intended: bool,
    /// Decide whether the outputs differ by at most EPS
    #[arg(long, value_name = "EPS", value_parser = epsilon, allow_hyphen_values = true)]
    pub epsilon: Option<Rational>,
    /// Search until the upper bound is at most 1 + G times the lower one
    #[arg(long, value_name = "G", default_value_t = GAP, value_parser = not_negative, allow_hyphen_values = true, conflicts_with = "epsilon")]
    pub gap: f64,
    /// Measure against the largest absolute value of an output of A on the box; EPS is a part of it
    #[arg(long, conflicts_with = "around")]
    pub relative: bool,
    /// Compare the networks on the rows of this file too (.csv, .npy, .npz)
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Bound the difference on balls around the rows of this file (.csv, .npy, .npz), cut with the box
    #[arg(long, value_name = "FILE", requires = "radius", conflicts_with_all = ["certificate", "resume"])]
    pub around: Option<PathBuf>,
    /// The radius of the balls, in every input
    #[arg(long, value_name = "R", value_parser = epsilon, allow_hyphen_values = true, requires = "around")]
    pub radius: Option<Rational>,
    /// Decide whether B has A's class, its largest output, wherever A is sure of it
    #[arg(long, conflicts_with_all = ["epsilon", "gap", "relative", "around", "resume"])]
    pub top1: bool,
    /// A is sure where its largest output leads all others by at least M; without this, by anything
    #[arg(long, value_name = "M", value_parser = epsilon, allow_hyphen_values = true, requires = "top1")]
    pub margin: Option<Rational>,
    /// A is sure where its largest output has a softmax probability of at least D
    #[arg(long, value_name = "D", value_parser = epsilon, allow_hyphen_values = true, requires = "top1", conflicts_with = "margin")]
    pub confidence: Option<Rational>,
    /// Do not permute and scale B towards A first
    #[arg(long)]
    pub as_given: bool,
    /// Write the certificate to this file
    #[arg(long, value_name = "OUT")]
    pub certificate: Option<PathBuf>,
    /// Go on with the search in this file if it exists, and write it there if a limit ends it
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
}

fn epsilon(text: &str) -> Result<Rational, String> {
    match parse_decimal(text) {
        Ok(number) if !number.is_negative() => Ok(number),
        _ => Err("expected a decimal number that is not negative, such as 0.05 or 1e-6".into()),
    }
}

pub fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number that is not negative".into()),
    }
}

pub fn run(args: &DiffArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let start = Instant::now();
    let read = args.read.options();
    let (a, b) = (read_model(&args.a, &read, output)?.network, read_model(&args.b, &read, output)?.network);
    ensure!(
        args.domain.is_some() || args.around.is_some() || args.property.is_some(),
        "a box of inputs is needed: far away two networks are as far apart as they like; use --box LO,HI, --box FILE, or --around FILE --radius R"
    );
    let how = property::Reading {
        bounding_box: args.bounding_box,
        intended: args.intended,
        own: args.epsilon.is_some() || args.top1 || args.around.is_some() || args.relative,
    };
    let file =
        args.property.as_deref().map(|path| property::read(path, &how, (&a, &b), output)).transpose()?;
    let domain = match &file {
        Some(file) => file.domain.clone(),
        None => read_domain(args.domain.as_deref(), a.input_width())?,
    };
    if let Some(file) = &file
        && let Some(told) = &file.contradiction
    {
        let seconds = start.elapsed().as_secs_f64();
        let json =
            json!({"property": property::result(file, Some(true)), "domain": domain, "seconds": seconds});
        output.result(told, &json)?;
        return Ok(Answer::Yes);
    }
    let data = args.data.as_deref().map(|path| table(path, &a)).transpose()?;
    let options = DifferenceOptions::new()
        .align(!args.as_given)
        .seed(global.seed)
        .deadline(global.deadline())
        .points(data.clone().unwrap_or_default());
    let of_file = file.as_ref().and_then(|file| file.epsilon.clone());
    let mut asked = Asked { epsilon: args.epsilon.clone().or(of_file), gap: args.gap, size: None };
    let shown = output.clone();
    let say = |text: &str| shown.progress(text);
    let summary = match &data {
        Some(points) => Some(on_data(&a, &b, points, sides(&domain).as_deref())?),
        None => None,
    };
    let (mut told, mut json, holds) = if let (Some(path), Some(radius)) = (&args.around, &args.radius) {
        let points = table(path, &a)?;
        let found = around((&a, &b), &points, radius, &domain, (&asked, &options), &say)?;
        output.end_progress();
        (found.text(&asked), found.summary(&asked), found.holds(&asked))
    } else if args.top1 {
        let points = data.clone().unwrap_or_default();
        let asked = top1::Asked {
            margin: args.margin.as_ref(),
            confidence: args.confidence.as_ref(),
            as_given: args.as_given,
            certificate: args.certificate.as_deref(),
        };
        let found = top1::answer(&asked, (&a, &b), &domain, points, global, output)?;
        output.end_progress();
        found
    } else {
        if args.relative {
            asked.size = Some(size(&a, &domain, asked.size_gap(), &global.deadline(), &say)?);
        }
        let found = search((&a, &b), &domain, &asked, options, args.resume.as_deref(), &say)?;
        output.end_progress();
        let mut checked = false;
        if let Some(path) = &args.certificate
            && let Some((certificate, accepted)) =
                certificate((&a, &b), &domain, &asked, &found, &global.deadline())?
        {
            let json = certificate.to_json();
            write_atomically(path, |file| file.write_all(json.as_bytes()))?;
            checked = accepted;
        }
        (text(&asked, &found, checked), value(&asked, &found, &domain), asked.holds(&found))
    };
    if let Some(rows) = summary {
        told += &rows.text();
        json["data"] = rows.value();
    }
    if let Some(file) = file.as_ref().filter(|file| file.epsilon.is_some()) {
        json["property"] = property::result(file, holds);
        told += &format!("property: {}\n", property::word(file, holds));
    }
    json["seconds"] = json!(start.elapsed().as_secs_f64());
    output.result(&told, &json)?;
    Ok(answer(holds))
}

fn answer(holds: Option<bool>) -> Answer {
    match holds {
        Some(true) => Answer::Yes,
        Some(false) => Answer::No,
        None => Answer::Undecided,
    }
}

/// The rows of a table of points.
fn table(path: &Path, network: &Network) -> anyhow::Result<Vec<Vec<f64>>> {
    rows(&load_data(path)?.points, network.input_width()).with_context(|| path.display().to_string())
}

/// The ends of a box as doubles.
fn sides(domain: &Domain) -> Option<Vec<(f64, f64)>> {
    let Domain::Box(sides) = domain else { return None };
    sides.iter().map(|side| Some((side.lower.as_ref()?.to_f64(), side.upper.as_ref()?.to_f64()))).collect()
}
