//! A tour: the main results on built-in networks, as text and as a page.

use std::path::Path;

use crate::draw::graph::{Curve, Graph};
use crate::page::{Page, Section};
use crate::{Svg, anatomy, certificate};
use anyhow::Context;
use fiberscope::Deadline;
use fiberscope::anatomy::examine;
use fiberscope::orbit::relabel;
use fiberscope_check::{Outcome, check};
use fiberscope_core::{Certificate, Claim, Domain, Network};
use fiberscope_io::zoo;
use serde_json::{Value, json};

use crate::report::network_text;
use crate::web::CHECKER;

/// A finished tour.
#[derive(Clone, Debug)]
pub struct Tour {
    /// The page.
    pub html: String,
    text: String,
    claims: Vec<Value>,
}

impl Tour {
    /// What was shown on the page, which was written to a file.
    pub fn to_text(&self, path: &Path) -> String {
        let (text, count) = (&self.text, self.claims.len());
        let end = format!("{count} certificates were checked in exact arithmetic. Wrote {}", path.display());
        format!("{text}{end}: open it in a browser.\n")
    }

    /// The same with the keys of `fiberscope tour --json`.
    pub fn to_json(&self, path: &Path) -> Value {
        json!({"report": path.display().to_string(), "claims": self.claims})
    }
}

/// Makes the tour; `seed` is that of the twin at its end.
pub fn tour(seed: u64) -> anyhow::Result<Tour> {
    let mut draft = Draft::new();
    draft.same_function()?;
    draft.hidden_hyperplane()?;
    draft.nonlocal()?;
    draft.fresh_twin(seed)?;
    if let Some(checker) = CHECKER {
        draft.page = draft.page.checker(checker);
    }
    Ok(Tour { html: draft.page.to_html(), text: draft.text, claims: draft.claims })
}

struct Draft {
    text: String,
    page: Page,
    claims: Vec<Value>,
}

impl Draft {
    fn new() -> Self {
        let page = Page::new("Fiberscope tour")
            .introduce("When do two networks compute the same function, and which other parameters compute it?")
            .introduce(
                "Every statement below comes with a certificate that a small checker verified in exact rational \
                 arithmetic on the stored numbers before this page was written. The certificates are embedded in the \
                 page; `fiberscope check` checks them again.",
            );
        Draft { text: String::new(), page, claims: Vec::new() }
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
        let facts = examine(network, &Domain::Space, &Deadline::NEVER);
        self.text += &format!("{}\n", anatomy::text(name, &facts));
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
        self.text += &format!("{}\n", certificate::text((name_a, name_b), proof, &outcome));
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
