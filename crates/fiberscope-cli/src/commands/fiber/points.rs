//! `fiberscope fiber --sample` and `--path`: points of the fiber in files, each checked.

use std::path::Path;

use anyhow::{Context, bail};
use fiberscope::equivalence::{EquivalenceOptions, Verdict, decide};
use fiberscope::fiber::{FiberPath, FiberPoint, FiberSampler, Ground, Orientation, PathError};
use fiberscope_core::{Domain, Network, Rational};
use fiberscope_io::{Precision, save};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use super::args::FiberArgs;
use super::{Subject, not_covered, read_model};
use crate::Answer;
use crate::output::Output;

/// How often an exact point is looked for.
const TRIES: usize = 2000;

pub fn sample(subject: &Subject, count: usize, args: &FiberArgs, output: &Output) -> anyhow::Result<Answer> {
    let fiber = match &subject.fiber {
        Ok(fiber) => fiber,
        Err(conditions) => return not_covered(subject, conditions, output),
    };
    let own = fiber.own();
    let orientation = match &args.orientation {
        None => own,
        Some(text) => {
            let signs = own.active().len();
            Orientation::parse(text).filter(|orientation| orientation.active().len() == signs).with_context(
                || format!("--orientation {text}: expected + or - for each of {signs} hyperplanes"),
            )?
        }
    };
    let Some(sampler) = FiberSampler::new(fiber, &orientation) else {
        let text = format!("the component {orientation} is empty\n");
        output.result(&text, &json!({"files": [], "max_difference": null, "empty": true}))?;
        return Ok(Answer::No);
    };
    let mut rng = ChaCha8Rng::seed_from_u64(subject.seed);
    let mut draw = || -> anyhow::Result<FiberPoint> {
        if !args.exact {
            return Ok(sampler.sample(&mut rng));
        }
        let exact = (0..TRIES).map(|_| sampler.sample(&mut rng)).find(|point| point.exact);
        exact.with_context(|| format!("{}: no point of the component {orientation} was found whose doubles lie in the fiber exactly; leave out --exact", subject.name))
    };
    let mut written = Written::new(subject, args)?;
    for k in 0..count {
        output.progress(&format!("point {} of {count}", k + 1));
        if subject.deadline.is_past() {
            break;
        }
        written.add(&draw()?.network)?;
    }
    output.end_progress();
    written.finish(count, &format!("of the component {orientation}"), output)
}

pub fn path(subject: &Subject, ends: &[String], args: &FiberArgs, output: &Output) -> anyhow::Result<Answer> {
    let fiber = match &subject.fiber {
        Ok(fiber) => fiber,
        Err(conditions) => return not_covered(subject, conditions, output),
    };
    let read = |name: &String| anyhow::Ok(read_model(name, &args.read.options(), output)?.network.to_exact());
    let (a, b) = (read(&ends[0])?, read(&ends[1])?);
    let path = match FiberPath::between(fiber, &a, &b) {
        Ok(path) => path,
        Err(error) => {
            let text = format!("not connected: {error}\n");
            output.result(&text, &json!({"connected": false, "reason": error.to_string(), "files": [], "max_difference": null}))?;
            let unknown = matches!(error, PathError::RankDefect { .. });
            return Ok(if unknown { Answer::Undecided } else { Answer::No });
        }
    };
    let mut written = Written::new(subject, args)?;
    let steps = i64::from(args.steps);
    for k in 0..=steps {
        output.progress(&format!("point {} of {}", k + 1, steps + 1));
        if subject.deadline.is_past() {
            break;
        }
        let point = path.at(&(&Rational::from(k) / &Rational::from(steps)))?;
        written.add(&point.to_f64()?.0)?;
    }
    output.end_progress();
    written.finish(steps as usize + 1, "of the path (the second end up to the order of its neurons)", output)
}

/// The points written so far and how they compare with the given network.
struct Written<'a> {
    subject: &'a Subject,
    folder: &'a Path,
    domain: Domain,
    files: Vec<String>,
    exact: usize,
    unproved: usize,
    largest: f64,
}

impl<'a> Written<'a> {
    fn new(subject: &'a Subject, args: &'a FiberArgs) -> anyhow::Result<Self> {
        let folder = args.output.as_deref().context("expected --output DIR")?;
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let domain = match subject.ground {
            Ground::Space => Domain::Space,
            Ground::Orthant => Domain::orthant(subject.network.input_width()),
        };
        Ok(Written { subject, folder, domain, files: Vec::new(), exact: 0, unproved: 0, largest: 0.0 })
    }

    /// Checks a point against the given network and writes it.
    fn add(&mut self, network: &Network) -> anyhow::Result<()> {
        let options = EquivalenceOptions {
            precision: f64::EPSILON,
            time: self.subject.deadline.left(),
            seed: self.subject.seed,
            ..EquivalenceOptions::default()
        };
        let decision = decide(&self.subject.network, network, &self.domain, &options, &|_| {})?;
        match decision.verdict {
            Verdict::Equivalent { .. } => self.exact += 1,
            Verdict::EquivalentUpToRounding { bound, .. } => {
                self.largest = self.largest.max(bound.to_f64().next_up());
            }
            Verdict::Different { a, b, .. } => {
                // Rounded parameters differ a little; the certificate for "up to rounding" was not found.
                let gap = a.iter().zip(&b).map(|(x, y)| (x - y).abs().to_f64()).fold(0.0, f64::max);
                self.unproved += 1;
                self.largest = self.largest.max(gap);
            }
            Verdict::Undecided { .. } => self.unproved += 1,
        }
        let path = self.folder.join(format!("point-{:03}.json", self.files.len()));
        save(network, &path, Precision::F64)?;
        self.files.push(path.display().to_string());
        Ok(())
    }

    fn finish(self, wanted: usize, what: &str, output: &Output) -> anyhow::Result<Answer> {
        if self.files.is_empty() && wanted > 0 {
            bail!("the time limit was reached before the first point");
        }
        let (count, rounded) = (self.files.len(), self.files.len() - self.exact - self.unproved);
        let mut text = format!("wrote {count} points {what} to {}\n", self.folder.display());
        text += &format!(
            "{} compute the same function exactly, {rounded} up to rounding (by equiv, certificates checked)\n",
            self.exact
        );
        if self.unproved > 0 {
            text += &format!("{} were rounded and no bound was proved for them\n", self.unproved);
        }
        if rounded + self.unproved > 0 {
            text += &format!(
                "the outputs differ by at most {:.3e}{}\n",
                self.largest,
                if self.unproved > 0 { " where that was looked at" } else { "" }
            );
        }
        let value = json!({
            "files": self.files, "max_difference": self.largest, "exact": self.exact,
            "up_to_rounding": rounded, "unproved": self.unproved, "connected": true,
        });
        output.result(&text, &value)?;
        Ok(if count == wanted && self.unproved == 0 { Answer::Yes } else { Answer::Undecided })
    }
}
