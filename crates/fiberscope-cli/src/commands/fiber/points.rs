//! `fiberscope fiber --sample` and `--path`: points of the fiber in files, each checked.

use std::path::Path;

use anyhow::{Context, bail};
use fiberscope::fiber::{FiberPath, FiberSampler, PathError, SamplerError};
use fiberscope::limit::{Limit, LimitReached};
use fiberscope_core::Network;
use fiberscope_io::{Precision, save};
use fiberscope_report::fiber::Subject;
use fiberscope_report::fiber::points::{self, Comparison};
use serde_json::json;

use super::args::FiberArgs;
use super::{not_covered, read_dense_model};
use crate::Answer;
use crate::output::Output;

pub fn sample(subject: &Subject, count: usize, args: &FiberArgs, output: &Output) -> anyhow::Result<Answer> {
    let Ok(fiber) = &subject.fiber else { return not_covered(subject, output) };
    let piece = points::piece(fiber, args.orientation.as_deref(), args.linear)?;
    let sampler = match FiberSampler::new(fiber, &piece) {
        Ok(sampler) => sampler,
        Err(error @ SamplerError::NoPiece(_)) => bail!("{error}"),
        Err(error) => {
            let empty = matches!(error, SamplerError::Empty(_));
            let value =
                json!({"files": [], "max_difference": null, "empty": empty, "reason": error.to_string()});
            output.result(&format!("{error}\n"), &value)?;
            return Ok(if empty { Answer::No } else { Answer::Undecided });
        }
    };
    let mut written = Written::new(subject, args)?;
    let say = |text: &str| output.progress(text);
    points::sample(subject, &sampler, (count, args.exact), &say, |point| written.add(&point))?;
    output.end_progress();
    written.finish(count, &format!("of the piece {piece}"), output)
}

pub fn path(subject: &Subject, ends: &[String], args: &FiberArgs, output: &Output) -> anyhow::Result<Answer> {
    let Ok(fiber) = &subject.fiber else { return not_covered(subject, output) };
    let read =
        |name: &String| anyhow::Ok(read_dense_model(name, &args.read.options(), output)?.network.to_exact());
    let (a, b) = (read(&ends[0])?, read(&ends[1])?);
    let path = match FiberPath::between(fiber, &a, &b) {
        Ok(path) => path,
        Err(error) => {
            let text = format!("no path: {error}\n");
            output.result(&text, &json!({"connected": false, "reason": error.to_string(), "files": [], "max_difference": null}))?;
            let unknown = matches!(error, PathError::RankDefect { .. });
            return Ok(if unknown { Answer::Undecided } else { Answer::No });
        }
    };
    let mut written = Written::new(subject, args)?;
    let say = |text: &str| output.progress(text);
    points::path(subject, &path, args.steps, &say, |point| written.add(&point))?;
    output.end_progress();
    written.finish(
        args.steps as usize + 1,
        "of the path (the second end up to the order of its neurons)",
        output,
    )
}

/// The points written so far and how they compare with the given network.
struct Written<'a> {
    subject: &'a Subject,
    folder: &'a Path,
    files: Vec<String>,
    compared: Comparison,
}

impl<'a> Written<'a> {
    fn new(subject: &'a Subject, args: &'a FiberArgs) -> anyhow::Result<Self> {
        let folder = args.output.as_deref().context("expected -o DIR")?;
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        Ok(Written { subject, folder, files: Vec::new(), compared: Comparison::default() })
    }

    /// Checks a point against the given network and writes it.
    fn add(&mut self, network: &Network) -> anyhow::Result<()> {
        self.compared.add(self.subject, network)?;
        let path = self.folder.join(format!("point-{:03}.json", self.files.len()));
        save(network, &path, Precision::F64)?;
        self.files.push(path.display().to_string());
        Ok(())
    }

    fn finish(self, wanted: usize, what: &str, output: &Output) -> anyhow::Result<Answer> {
        if self.files.is_empty() && wanted > 0 {
            let limit = self.subject.deadline.limit().unwrap_or(Limit::Time);
            return Err(LimitReached { limit, when: "before the first point".into() }.into());
        }
        let count = self.files.len();
        let text =
            format!("wrote {count} points {what} to {}\n", self.folder.display()) + &self.compared.to_text();
        let value = self.compared.to_json(&self.files);
        output.result(&text, &value)?;
        Ok(if count == wanted && self.compared.unproved == 0 { Answer::Yes } else { Answer::Undecided })
    }
}
