//! A report on a network, or on two: one page on which every claim stands with the statement that it rests
//! on, and every certificate with the networks that it is about.

mod proofs;
mod summary;
mod unfinished;

use std::path::Path;
use std::sync::MutexGuard;

use crate::page::{Badge, Cell, Page, Section, Table};
use fiberscope::anatomy::examine;
use fiberscope::dimension::DimensionOptions;
use fiberscope::equivalence::regions::SearchProgress;
use fiberscope::equivalence::{EquivalenceOptions, Verdict, decide};
use fiberscope::fiber::Ground;
use fiberscope::limit::{Deadline, LimitReached, Progress};
use fiberscope_core::{Domain, Network};
use fiberscope_io::{Assumed, Precision, json as network_json};
use serde_json::{Value, json};

use crate::Say;
use crate::difference::Compared;
use crate::difference::section::Apart;
use crate::dimension::{BatchQuestion, on_batch};
use crate::fiber::{Listing, Subject};
use crate::json::{lower, upper};
use crate::reading::HowRead;
use crate::regions::section::Regions;
use crate::rigidity::Local;
use crate::web::CHECKER;
use crate::{anatomy, difference, dimension, equivalence, fiber, regions, rigidity};
use proofs::Proofs;
use summary::Summary;

pub use unfinished::Unfinished;

/// At most so many components are listed.
const COMPONENTS: usize = 16;

/// A network with its name and the precision in which it was stored.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The name.
    pub name: &'a str,
    /// The network.
    pub network: &'a Network,
    /// The precision.
    pub precision: Precision,
    /// What was assumed of it.
    pub assumed: Option<Assumed>,
    /// Its heads, which are no part of the network.
    pub set_aside: &'a [String],
}

/// What a report is asked for.
pub struct ReportQuestion<'a> {
    /// The network.
    pub a: Named<'a>,
    /// A second one to compare with.
    pub b: Option<Named<'a>>,
    /// Where they are judged and compared.
    pub domain: &'a Domain,
    /// Inputs for the functional dimension.
    pub batch: Option<BatchQuestion<'a>>,
    /// The seed.
    pub seed: u64,
    /// When to stop; what is not known by then is said so.
    pub deadline: Deadline,
}

/// A finished report.
#[derive(Clone, Debug)]
pub struct Report {
    /// The page.
    pub html: String,
    /// The verdict on two networks, as `fiberscope equiv` names it.
    pub verdict: Option<&'static str>,
    title: String,
    notes: String,
    claims: Vec<Value>,
}

impl Report {
    /// What the page has in it, which was written to a file.
    pub fn to_text(&self, path: &Path) -> String {
        format!("{}\n{}wrote {}: open it in a browser\n", self.title, self.notes, path.display())
    }

    /// The same with the keys of `fiberscope report --json`.
    pub fn to_json(&self, path: &Path) -> Value {
        json!({
            "report": path.display().to_string(),
            "claims": self.claims,
            "verdict": self.verdict,
            "checker": CHECKER.is_some(),
        })
    }
}

/// Writes a report.
pub fn report(question: &ReportQuestion, say: Say) -> anyhow::Result<Report> {
    report_with(question, &Unfinished::new(question), say)
}

/// Writes a report. What there is of it lies in `unfinished` while it is made.
pub fn report_with(question: &ReportQuestion, unfinished: &Unfinished, say: Say) -> anyhow::Result<Report> {
    let mut draft = Draft { question, say, parts: unfinished, claims: Vec::new(), notes: String::new() };
    // The verdict comes first: a report on two networks is read for it.
    let verdict = question.b.map(|b| draft.compare(b)).transpose()?;
    draft.describe(question.a);
    question.b.into_iter().for_each(|b| draft.describe(b));
    draft.fiber()?;
    draft.regions()?;
    draft.dimension()?;
    draft.prove()?;
    let Draft { claims, notes, .. } = draft;
    Ok(Report { html: unfinished.html(), verdict, title: title(question), notes, claims })
}

fn title(question: &ReportQuestion) -> String {
    match &question.b {
        Some(b) => format!("Report on {} and {}", question.a.name, b.name),
        None => format!("Report on {}", question.a.name),
    }
}

struct Draft<'a> {
    question: &'a ReportQuestion<'a>,
    say: Say<'a>,
    parts: &'a Unfinished,
    claims: Vec<Value>,
    notes: String,
}

impl Draft<'_> {
    fn change(&mut self, work: impl FnOnce(Page) -> Page) {
        self.parts.change(work);
    }

    fn summary(&self) -> MutexGuard<'_, Summary> {
        self.parts.summary()
    }

    fn note(&mut self, line: &str) {
        self.notes += &format!("  {line}\n");
    }

    fn describe(&mut self, Named { name, network, assumed, set_aside, .. }: Named) {
        let facts = examine(network, self.question.domain, &self.question.deadline);
        self.summary().network(name, &facts);
        let limits = (self.question.seed, &self.question.deadline);
        let local = Local::examine(network, self.question.domain, &facts, false, limits);
        let mut section = anatomy::section(name, network, &facts)
            .table(local.facts(Table::facts()))
            .statement(anatomy::STATEMENT)
            .statement(rigidity::STATEMENT);
        if self.summary().local(name, &facts, &local) {
            section = section.badge(Badge::good("locally identifiable"));
        }
        let mut read = HowRead::default();
        read.add(name, assumed, set_aside);
        for line in read.text().lines() {
            section = section.paragraph(line);
        }
        self.change(|page| page.section(section));
        self.claims.push(json!({"about": name, "claim": "anatomy"}));
        self.note(&format!("what {name} is"));
    }

    fn fiber(&mut self) -> anyhow::Result<()> {
        let Named { name, network, .. } = self.question.a;
        let (deadline, seed) = (self.question.deadline.clone(), self.question.seed);
        let subject = Subject::new(name.into(), network.clone(), Ground::Space, deadline, seed);
        let listing = Listing { components: COMPONENTS, classes: None };
        let summary = fiber::summary(&subject, listing, self.say)?;
        self.summary().fiber(&summary);
        self.change(|page| page.section(fiber::section(&summary)));
        self.claims.push(json!({"about": name, "claim": "fiber"}));
        self.note("symmetries and fiber");
        Ok(())
    }

    fn regions(&mut self) -> anyhow::Result<()> {
        let Named { name, network, .. } = self.question.a;
        let Regions { section, known, open } = regions::section::section(
            name,
            network,
            self.question.domain,
            &self.question.deadline,
            self.say,
        )?;
        self.summary().known.extend(known);
        self.summary().open.extend(open);
        self.change(|page| page.section(section));
        self.claims.push(json!({"about": name, "claim": "regions"}));
        self.note("linear regions");
        Ok(())
    }

    fn dimension(&mut self) -> anyhow::Result<()> {
        let Some(batch) = &self.question.batch else { return Ok(()) };
        let Named { name, network, .. } = self.question.a;
        let (deadline, seed) = (self.question.deadline.clone(), self.question.seed);
        let options = DimensionOptions::new().seed(seed).deadline(deadline);
        let summary = match on_batch(name, network, batch, &options, self.say) {
            Err(error) if error.chain().any(|cause| cause.is::<LimitReached>()) => {
                self.note(&format!("functional dimension on {}: undecided, {error}", batch.place));
                self.summary().open.push(format!("The functional dimension on {}: {error}.", batch.place));
                return Ok(());
            }
            summary => summary?,
        };
        self.summary().dimension(&summary);
        self.change(|page| page.section(dimension::section(&summary)));
        self.claims.push(json!({"about": name, "claim": "functional_dimension", "rank": summary.rank}));
        self.note(&format!("functional dimension on {}", batch.place));
        Ok(())
    }

    fn prove(&mut self) -> anyhow::Result<()> {
        let Named { name, network, .. } = self.question.a;
        let ReportQuestion { domain, seed, deadline, .. } = self.question;
        for proof in Proofs::of(name, network, domain, *seed, deadline)? {
            self.summary().certificates += 1;
            self.claims.push(json!({"a": name, "b": proof.name, "claim": "equivalent", "valid": true}));
            self.note(&format!("certificate: {name} and {}", proof.name));
            let (own, other) = (network_text(network)?, network_text(&proof.network)?);
            self.change(|page| page.section(proof.section).network(name, own).network(&proof.name, other));
        }
        Ok(())
    }

    /// The verdict on two networks with its certificate.
    fn compare(&mut self, b: Named) -> anyhow::Result<&'static str> {
        let a = self.question.a;
        let (domain, say, names) = (self.question.domain, self.say, (a.name, b.name));
        let progress = |now: SearchProgress| {
            say(&format!("searched {:.2} % of the joint regions", 100.0 * now.explored));
        };
        let options = EquivalenceOptions::new()
            .precision(equivalence::precision(a.precision, b.precision))
            .deadline(self.question.deadline.clone())
            .seed(self.question.seed)
            .progress(Progress::to(&progress));
        let decision = decide(a.network, b.network, domain, &options)?;
        let verdict = equivalence::name(&decision.verdict);
        self.summary().verdict(names, &decision, domain);
        self.note(&format!("verdict on {} and {}: {}", names.0, names.1, verdict.replace('_', " ")));
        self.change(|page| page.section(equivalence::section(&decision, domain)));
        if let Some(certificate) = equivalence::certificate(&decision.verdict) {
            let section = proofs::checked(names, certificate, a.network, b.network)?;
            let (text_a, text_b) = (network_text(a.network)?, network_text(b.network)?);
            self.change(|page| page.section(section).network(names.0, text_a).network(names.1, text_b));
            self.claims.push(
                json!({"a": names.0, "b": names.1, "claim": certificate.claim().name(), "valid": true}),
            );
        }
        if !matches!(decision.verdict, Verdict::Equivalent { .. }) {
            self.apart(b)?;
        }
        Ok(verdict)
    }

    /// How far apart two networks are that are not equal.
    fn apart(&mut self, b: Named) -> anyhow::Result<()> {
        let ReportQuestion { a, domain, batch, seed, deadline, .. } = self.question;
        let names = (a.name, b.name);
        let of = Compared { networks: (a.network, b.network), names, domain };
        let data = batch.as_ref().map(|batch| (batch.place.as_str(), batch.points));
        let Some(Apart { found, section }) =
            difference::section::section(&of, data, *seed, deadline, self.say)?
        else {
            self.note("how far apart they are: needs a bounded box, --box LO,HI");
            self.summary().open.push(
                "How far apart the outputs can be: that needs a bounded box; `fiberscope report A B --box LO,HI` tells it.".into(),
            );
            return Ok(());
        };
        let between = difference::between(&found.lower, found.upper.as_ref());
        self.note(&format!("how far apart they are: {between}"));
        self.summary().apart(&found);
        self.change(|page| page.section(section));
        if let Some(certificate) = &found.certificate {
            let section = proofs::checked(names, certificate, a.network, b.network)?;
            let (text_a, text_b) = (network_text(a.network)?, network_text(b.network)?);
            self.change(|page| page.section(section).network(names.0, text_a).network(names.1, text_b));
        }
        self.claims.push(json!({
            "a": names.0,
            "b": names.1,
            "claim": "difference",
            "lower": lower(&found.lower),
            "upper": found.upper.as_ref().map(upper),
        }));
        Ok(())
    }
}

/// A network as the text of a file, for the data of a page.
pub fn network_text(network: &Network) -> anyhow::Result<String> {
    let mut text = Vec::new();
    network_json::write(network, &mut text)?;
    Ok(String::from_utf8(text)?)
}

/// What the names in square brackets are.
pub fn references() -> Section {
    Section::new("References").table(
        Table::facts()
            .fact("threelayer2026", Cell::text("The Symmetries of Three-Layer ReLU Networks. Preprint, 2026"))
            .fact("rolnick2020reverse", Cell::text("Rolnick, Kording: Reverse-engineering deep ReLU networks. ICML 2020"))
            .fact("grigsby2022functional", Cell::text("Grigsby, Lindsey, Meyerhoff, Wu: Functional dimension of feedforward ReLU neural networks. arXiv:2209.04036, 2022")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimension::DimensionSummary;
    use crate::fiber::FiberSummary;
    use crate::regions::section::{self as region_section, RegionFacts};

    fn html(section: Section) -> String {
        Page::new("x").section(section).to_html()
    }

    #[test]
    fn every_section_says_what_it_rests_on() {
        let summary =
            FiberSummary { name: "n".into(), symmetries: vec!["<s>".into()], ..FiberSummary::default() };
        let facts = RegionFacts {
            cells: vec![1, 4, 4],
            bounded: Some(0),
            facets: (4, 2),
            unseen: vec!["neuron 1".into()],
            ..RegionFacts::default()
        };
        let dimension_summary =
            DimensionSummary { interval: (3, 3), rank: Some(3), ..DimensionSummary::default() };
        let sections = [
            fiber::section(&summary),
            region_section::found(&facts, None),
            dimension::section(&dimension_summary),
        ];
        for section in sections {
            assert!(html(section).contains("Rests on:"));
        }
        assert!(
            html(fiber::section(&summary)).contains("&lt;s&gt;")
                && html(fiber::section(&summary)).contains("a part of it is known")
        );
        assert!(html(region_section::found(&facts, None)).contains("4, 0 of them bounded"));
        assert!(html(dimension::section(&dimension_summary)).contains("3, proved"));
        for text in [anatomy::STATEMENT, fiber::STATEMENT, region_section::STATEMENT, dimension::STATEMENT] {
            let key = text.split('[').nth(1).and_then(|rest| rest.split([',', ']']).next()).unwrap();
            assert!(html(references()).contains(key), "{key}");
        }
    }
}
