//! `fiberscope report`

mod proofs;
mod regions;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use fiberscope::anatomy::examine;
use fiberscope::clock::Instant;
use fiberscope::dimension::DimensionOptions;
use fiberscope::equivalence::{EquivalenceOptions, Verdict, decide};
use fiberscope::fiber::Ground;
use fiberscope::limit::Deadline;
use fiberscope_answer::fiber::{Listing, Subject};
use fiberscope_answer::{equivalence, fiber};
use fiberscope_core::{Domain, Network};
use fiberscope_io::{Model, json as network_json, write_atomically};
use fiberscope_report::page::{Badge, Page};
use fiberscope_report::{anatomy, sections};
use serde_json::{Value, json};

use super::equiv;
use super::funcdim::{FuncdimArgs, on_batch};
use super::{read_domain, read_model};
use crate::Answer;
use crate::args::{Global, ReadArgs};
use crate::output::Output;
use crate::web::CHECKER;
use proofs::Proofs;

/// Write a page about a network, or about two: what they are, with proof
///
/// One self-contained HTML file: roles of neurons, symmetries and fiber, identifiability, linear regions with a picture, the functional dimension on given data, and
/// for two networks the verdict. Every claim stands with the statement it rests on; certificates are embedded, and a button of the page checks them again in the reader's
/// browser (if the command was built with `cargo xtask web`).
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope report zoo:hiding-two --output report.html\n  fiberscope report before.onnx after.onnx --box -1,1 --data inputs.csv -o report.html"
)]
pub struct ReportArgs {
    /// The network
    pub model: String,
    /// A second network to compare with
    #[arg(value_name = "B")]
    pub b: Option<String>,
    /// Inputs for the functional dimension (.csv, .npy, .npz)
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Use the first N columns of the data as inputs (the others may be targets)
    #[arg(long, value_name = "N", requires = "data")]
    pub inputs: Option<usize>,
    /// Judge and compare on a box: LO,HI for every input, or a file (JSON, CSV, VNN-LIB)
    #[arg(long = "box", value_name = "LO,HI or FILE", allow_hyphen_values = true)]
    pub domain: Option<String>,
    /// Where to write the page
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// At most so many components are listed.
const COMPONENTS: usize = 16;

pub fn run(args: &ReportArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let time = global.time_limit.map(Duration::from_secs_f64);
    let read = args.read.options();
    let a = read_model(&args.model, &read, output)?;
    let b = args.b.as_deref().map(|name| read_model(name, &read, output)).transpose()?;
    let domain = read_domain(args.domain.as_deref(), a.network.input_width())?;
    let mut report = Report {
        args,
        domain: &domain,
        seed: global.seed,
        time,
        deadline: Deadline::after(time),
        page: Page::new(title(args)),
        claims: Vec::new(),
        text: String::new(),
    };
    report.introduce();
    // The verdict comes first: a report on two networks is read for it.
    let verdict = b.as_ref().map(|b| report.compare(&a, b, output)).transpose()?;
    report.describe(&args.model, &a.network);
    if let (Some(name), Some(b)) = (&args.b, &b) {
        report.describe(name, &b.network);
    }
    report.fiber(&a.network, output)?;
    report.regions(&a.network, output)?;
    report.dimension(&a.network, output)?;
    report.prove(&a.network)?;
    report.finish(verdict, output)
}

fn title(args: &ReportArgs) -> String {
    match &args.b {
        Some(b) => format!("Report on {} and {b}", args.model),
        None => format!("Report on {}", args.model),
    }
}

struct Report<'a> {
    args: &'a ReportArgs,
    domain: &'a Domain,
    seed: u64,
    time: Option<Duration>,
    deadline: Deadline,
    page: Page,
    claims: Vec<Value>,
    text: String,
}

impl Report<'_> {
    fn change(&mut self, work: impl FnOnce(Page) -> Page) {
        let page = std::mem::replace(&mut self.page, Page::new(""));
        self.page = work(page);
    }

    fn introduce(&mut self) {
        self.change(|page| {
            page.introduce(
                "What this network is, which other parameters compute its function, and why. Numbers are those of the file, taken exactly; \
                 what was not decided says so.",
            )
        });
    }

    fn note(&mut self, line: &str) {
        self.text += &format!("  {line}\n");
    }

    fn describe(&mut self, name: &str, network: &Network) {
        let facts = examine(network, self.domain);
        let section = anatomy::section(name, network, &facts).statement(sections::ANATOMY);
        self.change(|page| page.section(section));
        self.claims.push(json!({"about": name, "claim": "anatomy"}));
        self.note(&format!("what {name} is"));
    }

    fn fiber(&mut self, network: &Network, output: &Output) -> anyhow::Result<()> {
        let (name, network) = (self.args.model.clone(), network.clone());
        let subject = Subject::new(name, network, Ground::Space, self.deadline, self.seed);
        let listing = Listing { components: COMPONENTS, classes: None };
        let summary = fiber::summary(&subject, listing, &|text| output.progress(text))?;
        output.end_progress();
        self.change(|page| page.section(sections::fiber(&summary)));
        self.claims.push(json!({"about": self.args.model, "claim": "fiber"}));
        self.note("symmetries and fiber");
        Ok(())
    }

    fn regions(&mut self, network: &Network, output: &Output) -> anyhow::Result<()> {
        let section = regions::section(&self.args.model, network, self.domain, self.deadline, output)?;
        self.change(|page| page.section(section));
        self.claims.push(json!({"about": self.args.model, "claim": "regions"}));
        self.note("linear regions");
        Ok(())
    }

    fn dimension(&mut self, network: &Network, output: &Output) -> anyhow::Result<()> {
        let Some(path) = &self.args.data else { return Ok(()) };
        let args = FuncdimArgs::plain(&self.args.model, self.args.inputs);
        let deadline = self.deadline.left().and_then(|left| Instant::now().checked_add(left));
        let options = DimensionOptions { seed: self.seed, deadline, ..DimensionOptions::default() };
        let summary = on_batch(&args, network, path, &options, output)?;
        self.change(|page| page.section(sections::dimension(&summary)));
        self.claims
            .push(json!({"about": self.args.model, "claim": "functional_dimension", "rank": summary.rank}));
        self.note(&format!("functional dimension on {}", path.display()));
        Ok(())
    }

    fn prove(&mut self, network: &Network) -> anyhow::Result<()> {
        for proof in Proofs::of(&self.args.model, network, self.domain, self.seed, self.deadline)? {
            let claim = json!({"a": self.args.model, "b": proof.name, "claim": "equivalent", "valid": true});
            self.claims.push(claim);
            self.note(&format!("certificate: {} and {}", self.args.model, proof.name));
            let texts = [
                (self.args.model.clone(), network_text(network)?),
                (proof.name.clone(), network_text(&proof.network)?),
            ];
            self.change(|page| {
                texts
                    .into_iter()
                    .fold(page.section(proof.section), |page, (name, text)| page.network(&name, text))
            });
        }
        Ok(())
    }

    /// The verdict on two networks with its certificate.
    fn compare(&mut self, a: &Model, b: &Model, output: &Output) -> anyhow::Result<&'static str> {
        let names = (self.args.model.as_str(), self.args.b.as_deref().unwrap_or_default());
        let options = EquivalenceOptions {
            precision: a.precision.min(b.precision).epsilon(),
            time: self.time,
            seed: self.seed,
            ..EquivalenceOptions::default()
        };
        let decision = decide(&a.network, &b.network, self.domain, &options, &|progress| {
            output.progress(&format!("searched {:.2} % of the joint regions", 100.0 * progress.explored));
        })?;
        output.end_progress();
        let verdict = equivalence::name(&decision.verdict);
        let words = verdict.replace('_', " ");
        let badge = match &decision.verdict {
            Verdict::Equivalent { .. } | Verdict::EquivalentUpToRounding { .. } => Badge::good(words),
            Verdict::Different { .. } => Badge::bad(words),
            Verdict::Undecided { .. } => Badge::open(words),
        };
        let text = equiv::text(&decision, self.domain);
        let certificate = equivalence::certificate(&decision.verdict);
        self.note(&format!("verdict on {} and {}: {}", names.0, names.1, verdict.replace('_', " ")));
        let section = match certificate {
            Some(_) => sections::verdict(badge, &text),
            None => fiberscope_report::page::Section::new("Verdict").badge(badge).paragraph(text.trim()),
        };
        self.change(|page| page.section(section));
        if let Some(certificate) = certificate {
            let section = proofs::checked(names, certificate, &a.network, &b.network)?;
            let (text_a, text_b) = (network_text(&a.network)?, network_text(&b.network)?);
            self.change(|page| page.section(section).network(names.0, text_a).network(names.1, text_b));
            self.claims.push(json!({"a": names.0, "b": names.1, "claim": verdict, "valid": true}));
        }
        Ok(verdict)
    }

    fn finish(mut self, verdict: Option<&str>, output: &Output) -> anyhow::Result<Answer> {
        self.change(|page| page.section(sections::references()));
        if let Some(checker) = CHECKER {
            self.change(|page| page.checker(checker));
        }
        let html = self.page.to_html();
        let path = &self.args.output;
        write_atomically(path, |file| file.write_all(html.as_bytes()))?;
        let text =
            format!("{}\n{}wrote {}: open it in a browser\n", title(self.args), self.text, path.display());
        let value = json!({
            "report": path.display().to_string(),
            "claims": self.claims,
            "verdict": verdict,
            "checker": CHECKER.is_some(),
        });
        output.result(&text, &value)?;
        Ok(Answer::Yes)
    }
}

/// A network as the text of a file, for the data of a page.
pub fn network_text(network: &Network) -> anyhow::Result<String> {
    let mut text = Vec::new();
    network_json::write(network, &mut text)?;
    Ok(String::from_utf8(text)?)
}
