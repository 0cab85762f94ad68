//! `fiberscope tour`: the main results on built-in networks, on the terminal and as a page.

use std::io::Write;

use anyhow::Context;
use fiberscope::anatomy::examine;
use fiberscope::symmetry::relabel;
use fiberscope_check::{Outcome, check};
use fiberscope_core::{Certificate, Claim, Domain, Network};
use fiberscope_io::{write_atomically, zoo};
use fiberscope_report::graph::{Curve, Graph};
use fiberscope_report::page::{Page, Section};
use fiberscope_report::{Svg, anatomy, certificate, text};
use serde_json::json;

use super::report::network_text;
use crate::Answer;
use crate::args::{Global, TourArgs};
use crate::output::Output;
use crate::web::CHECKER;

pub fn run(args: &TourArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let mut tour = Tour::new();
    tour.same_function()?;
    tour.hidden_hyperplane()?;
    tour.nonlocal()?;
    tour.fresh_twin(global.seed)?;
    if let Some(checker) = CHECKER {
        tour.page = tour.page.checker(checker);
    }
    let html = tour.page.to_html();
    write_atomically(&args.output, |file| file.write_all(html.as_bytes()))?;
    tour.text += &format!(
        "{} certificates were checked in exact arithmetic. Wrote {}: open it in a browser.\n",
        tour.claims.len(),
        args.output.display()
    );
    let value = json!({"report": args.output.display().to_string(), "claims": tour.claims});
    output.result(&tour.text, &value)?;
    Ok(Answer::Yes)
}

struct Tour {
    text: String,
    page: Page,
    claims: Vec<serde_json::Value>,
}

impl Tour {
    fn new() -> Self {
        let page = Page::new("Fiberscope tour")
            .introduce("When do two networks compute the same function, and which other parameters compute it?")
            .introduce(
                "Every statement below comes with a certificate that a small checker verified in exact rational \
                 arithmetic on the stored numbers before this page was written. The certificates are embedded in the \
                 page; `fiberscope check` checks them again.",
            );
        Tour { text: String::new(), page, claims: Vec::new() }
    }

    fn same_function(&mut self) -> anyhow::Result<()> {
        self.heading("1. The same function, other parameters");
        let (a, b) = (network("deep")?, network("deep-shuffled")?);
        self.show_network("zoo:deep", &a);
        self.show_network("zoo:deep-shuffled", &b);
        self.show_zoo_certificate("deep-shuffled", "deep", "deep-shuffled")
    }

    fn hidden_hyperplane(&mut self) -> anyhow::Result<()> {
        self.heading("2. A hidden hyperplane moves, and the function does not");
        self.show_network("zoo:hiding-two", &network("hiding-two")?);
        self.show_zoo_certificate("hiding-two-translated", "hiding-two", "hiding-two-translated")?;
        self.show_zoo_certificate("hiding-two-too-far", "hiding-two", "hiding-two-too-far")?;
        let graph = translation_graph()?;
        let caption = "One line through the input space. Translated within its half-line, the hidden hyperplane changes \
                       nothing; translated too far, it changes the function, but only on a small region.";
        self.page = std::mem::replace(&mut self.page, Page::new(""))
            .section(Section::new("The hidden translation along a line").figure(graph, caption));
        Ok(())
    }

    fn nonlocal(&mut self) -> anyhow::Result<()> {
        self.heading("3. Fibers are not local");
        self.show_network("zoo:nonlocal", &network("nonlocal")?);
        self.show_zoo_certificate("nonlocal-turned", "nonlocal", "nonlocal-turned")
    }

    fn fresh_twin(&mut self, seed: u64) -> anyhow::Result<()> {
        self.heading(&format!("4. A fresh twin, made from seed {seed}"));
        let original = network("identifiable")?;
        let twin = relabel(&original, seed);
        self.show_certificate("zoo:identifiable", &original, "its twin", &twin.network, &twin.certificate)
    }

    fn heading(&mut self, heading: &str) {
        self.text += &format!("{heading}\n\n");
    }

    fn show_network(&mut self, name: &str, network: &Network) {
        let facts = examine(network, &Domain::Space);
        self.text += &format!("{}\n", text::anatomy(name, &facts));
        self.add(anatomy::section(name, network, &facts));
    }

    fn show_zoo_certificate(&mut self, name: &str, a: &str, b: &str) -> anyhow::Result<()> {
        let json = zoo::certificate(name).with_context(|| format!("zoo certificate {name}"))?;
        let certificate = Certificate::from_json(json.as_bytes())?;
        self.show_certificate(
            &format!("zoo:{a}"),
            &network(a)?,
            &format!("zoo:{b}"),
            &network(b)?,
            &certificate,
        )
    }

    fn show_certificate(
        &mut self,
        name_a: &str,
        a: &Network,
        name_b: &str,
        b: &Network,
        proof: &Certificate,
    ) -> anyhow::Result<()> {
        let outcome = check(proof, a, b);
        if let Outcome::Refused(refusal) = &outcome {
            anyhow::bail!("the certificate for {name_a} and {name_b} was refused: {refusal}");
        }
        let claim: Claim = proof.claim();
        self.claims.push(json!({"a": name_a, "b": name_b, "claim": claim.name(), "valid": true}));
        self.text += &format!("{}\n", text::certificate((name_a, name_b), proof, &outcome));
        self.add(certificate::section((name_a, name_b), proof, &outcome));
        let (text_a, text_b) = (network_text(a)?, network_text(b)?);
        self.page =
            std::mem::replace(&mut self.page, Page::new("")).network(name_a, text_a).network(name_b, text_b);
        Ok(())
    }

    fn add(&mut self, section: Section) {
        self.page = std::mem::replace(&mut self.page, Page::new("")).section(section);
    }
}

fn network(name: &str) -> anyhow::Result<Network> {
    Ok(zoo::network(name)?.network)
}

/// The three networks of the hidden translation on the line through the witness of their difference.
fn translation_graph() -> anyhow::Result<Svg> {
    let names = ["hiding-two", "hiding-two-translated", "hiding-two-too-far"];
    let at = |t: f64| [-1.0, t, -1.0];
    let curve = |name: &str| -> anyhow::Result<Curve> {
        let network = network(name)?;
        let sample = |i: i32| -> anyhow::Result<(f64, f64)> {
            let t = f64::from(i) / 100.0;
            Ok((t, network.evaluate(&at(t))?[0]))
        };
        let points = (-400..=400).map(sample).collect::<anyhow::Result<_>>()?;
        Ok(Curve { name: format!("zoo:{name}"), points, breakpoints: Vec::new() })
    };
    let graph = Graph {
        title: "f(x) along x = (-1, t, -1)".into(),
        x_label: "t".into(),
        y_label: "f".into(),
        curves: names.into_iter().map(curve).collect::<anyhow::Result<_>>()?,
    };
    Ok(graph.draw())
}
