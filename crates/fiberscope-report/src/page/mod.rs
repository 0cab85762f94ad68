//! Pages: HTML files that need nothing but themselves.
//!
//! A page has a title, an introduction and sections of blocks (paragraphs, tables, figures, lists, code,
//! data). There are no fonts and no addresses of other places, and no scripts that run but one: a page with a
//! [`Page::checker`] has a button that checks its certificates again. A content security policy in the page forbids
//! everything else. Data, such as certificates and networks, stand in blocks of JSON with an `id`.
//!
//! ```
//! use fiberscope_report::page::{Badge, Cell, Page, Section, Table};
//!
//! let table = Table::new(["network", "parameters"]).row([Cell::text("deep"), Cell::number("37")]);
//! let section = Section::new("Networks").badge(Badge::good("checked: equivalent")).table(table);
//! let html = Page::new("Report").introduce("Two networks.").section(section).to_html();
//! assert!(html.starts_with("<!DOCTYPE html>"));
//! ```

mod badge;
mod prose;
mod section;
mod table;

use std::collections::BTreeSet;

pub use badge::Badge;
pub use section::{Figure, Section};
pub use table::{Cell, Table};

use crate::draw::markup::Element;
use crate::draw::svg;

const STYLE: &str = include_str!("page.css");
/// Nothing is loaded and nothing runs.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
/// Nothing is loaded; the script of the page and the checker run.
const CHECKER_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; base-uri 'none'; form-action 'none'";
/// The code that runs a WebAssembly module, shared with the explorer.
const ENGINE: &str = include_str!("engine.js");
const RECHECK: &str = include_str!("recheck.js");
/// From so many sections on, a page has a table of contents.
const CONTENTS: usize = 3;

/// An HTML page.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    introduction: Vec<String>,
    summary: Option<Section>,
    sections: Vec<Section>,
    networks: Vec<(String, String)>,
    checker: Option<&'static str>,
}

impl Page {
    /// A page with this title.
    pub fn new(title: impl Into<String>) -> Self {
        Page {
            title: title.into(),
            introduction: Vec::new(),
            summary: None,
            sections: Vec::new(),
            networks: Vec::new(),
            checker: None,
        }
    }

    /// With one more paragraph in its introduction.
    pub fn introduce(mut self, paragraph: impl Into<String>) -> Self {
        self.introduction.push(paragraph.into());
        self
    }

    /// With a section before the table of contents: what the page says, for readers in a hurry.
    pub fn summary(mut self, section: Section) -> Self {
        self.summary = Some(section);
        self
    }

    /// With one more section.
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// With a network that its certificates are about, as the text of a network file.
    pub fn network(mut self, name: &str, json: String) -> Self {
        if self.networks.iter().all(|(_, known)| *known != json) {
            self.networks.push((format!("network-{name}"), json));
        }
        self
    }

    /// With the checker as a WebAssembly module in base64, and a button that checks the certificates of the
    /// page again. Without certificates there is none.
    pub fn checker(mut self, wasm: &'static str) -> Self {
        self.checker = Some(wasm);
        self
    }

    /// The page as the text of an HTML file.
    pub fn to_html(&self) -> String {
        let mut ids = Ids::default();
        // Taken by the part that checks again.
        for id in ["check-again", "recheck", "recheck-result", "checker"] {
            ids.unique(id);
        }
        let anchors: Vec<_> = self.sections.iter().map(|section| ids.unique(section.heading())).collect();
        let mut header = Element::new("header").line(Element::of_text("h1", &self.title));
        for paragraph in &self.introduction {
            header = header.line(prose::prose(Element::new("p"), paragraph));
        }
        let mut main = Element::new("main").line(header);
        if let Some(summary) = &self.summary {
            let anchor = ids.unique(summary.heading());
            main = main.line(summary.element(&anchor, &mut ids).class("summary"));
        }
        if self.sections.len() >= CONTENTS {
            main = main.line(self.contents(&anchors));
        }
        for (section, anchor) in self.sections.iter().zip(&anchors) {
            main = main.line(section.element(anchor, &mut ids));
        }
        for (name, json) in &self.networks {
            main = main.line(Element::data(&ids.unique(name), json));
        }
        if let Some(wasm) = self.active_checker() {
            main = main.line(recheck(self.certificates(), wasm));
        }
        let footer =
            concat!("Made by Fiberscope ", env!("CARGO_PKG_VERSION"), ". This file needs nothing else.");
        let mut body = Element::new("body").line(main).line(Element::of_text("footer", footer));
        if self.active_checker().is_some() {
            body = body.line(Element::new("script").verbatim(ENGINE).verbatim(RECHECK));
        }
        let html = Element::new("html").attr("lang", "en").line(self.head()).line(body);
        format!("<!DOCTYPE html>\n{html}\n")
    }

    fn head(&self) -> Element {
        let meta = |name: &'static str, content: &'static str| {
            Element::new("meta").attr("name", name).attr("content", content)
        };
        let policy = if self.active_checker().is_some() { CHECKER_POLICY } else { POLICY };
        let policy =
            Element::new("meta").attr("http-equiv", "Content-Security-Policy").attr("content", policy);
        Element::new("head")
            .line(Element::new("meta").attr("charset", "utf-8"))
            .line(policy)
            .line(meta("viewport", "width=device-width, initial-scale=1"))
            .line(meta("color-scheme", "light dark"))
            .line(meta("generator", concat!("fiberscope ", env!("CARGO_PKG_VERSION"))))
            .line(Element::of_text("title", &self.title))
            .line(Element::new("style").verbatim(STYLE).verbatim(svg::STYLE))
    }

    fn certificates(&self) -> usize {
        self.sections.iter().map(Section::certificates).sum()
    }

    fn active_checker(&self) -> Option<&'static str> {
        self.checker.filter(|_| self.certificates() > 0)
    }

    fn contents(&self, anchors: &[String]) -> Element {
        let entry = |(section, anchor): (&Section, &String)| {
            let link = Element::of_text("a", section.heading()).attr("href", format!("#{anchor}"));
            Element::new("li").child(link)
        };
        let list = Element::new("ol").children(self.sections.iter().zip(anchors).map(entry));
        Element::new("nav").attr("aria-label", "Contents").child(list)
    }
}

/// The part of a page that checks its certificates again.
fn recheck(count: usize, wasm: &'static str) -> Element {
    let about = format!(
        "This page carries {} and the checker, compiled to WebAssembly. The button runs it here, on the numbers in this file: nothing is loaded and nothing is sent.",
        if count == 1 {
            "one certificate, its networks".into()
        } else {
            format!("{count} certificates, their networks")
        }
    );
    let button = Element::of_text("button", "Check the certificates again")
        .attr("type", "button")
        .attr("id", "recheck");
    let result = Element::new("p").attr("id", "recheck-result").attr("role", "status");
    let module = Element::new("script").attr("type", "text/plain").attr("id", "checker").verbatim(wasm);
    Element::new("section")
        .attr("id", "check-again")
        .line(Element::of_text("h2", "Check it again"))
        .line(Element::of_text("p", &about))
        .line(Element::new("p").child(button))
        .line(result)
        .line(module)
}

/// JSON as a block of data that a page can hold and its scripts can read: for pages that are not made here.
pub fn data_block(id: &str, json: &str) -> String {
    Element::data(id, json).to_string()
}

/// The identifiers given away in a page, none of them twice.
#[derive(Debug, Default)]
struct Ids(BTreeSet<String>);

impl Ids {
    /// An identifier made from a text: lower-case letters, digits and hyphens.
    fn unique(&mut self, text: &str) -> String {
        let base = slug(text);
        let numbered = (2u64..).map(|n| format!("{base}-{n}"));
        let free = std::iter::once(base.clone()).chain(numbered).find(|id| !self.0.contains(id));
        let id = free.expect("there are more numbers than sections");
        self.0.insert(id.clone());
        id
    }
}

fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().take(80) {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.starts_with(|c: char| c.is_ascii_alphabetic()) { slug.into() } else { format!("part-{slug}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_plain_and_never_given_twice() {
        let mut ids = Ids::default();
        assert_eq!(ids.unique("Certificate: deep & \"<x>\""), "certificate-deep-x");
        assert_eq!(ids.unique("certificate deep x"), "certificate-deep-x-2");
        assert_eq!(ids.unique("日本"), "part-");
        assert_eq!(ids.unique("2-2-1"), "part-2-2-1");
    }

    fn page() -> Page {
        let json = r#"{"format": "fiberscope-network", "name": "</script>"}"#;
        Page::new("A").section(Section::new("B").data("x", &serde_json::json!(1))).network("n", json.into())
    }

    #[test]
    fn the_checker_comes_with_certificates_only() {
        let quiet = page().checker("AAAA").to_html();
        assert!(!quiet.contains("id=\"recheck\"") && !quiet.contains("script-src"));
        let certificate = fiberscope_core::Certificate {
            a: fiberscope_core::NetworkName { sha256: digest(), widths: vec![1, 1] },
            b: fiberscope_core::NetworkName { sha256: digest(), widths: vec![1, 1] },
            domain: fiberscope_core::Domain::Space,
            evidence: fiberscope_core::Evidence::Moves { a: Default::default(), b: Default::default() },
        };
        let proof = Section::new("C").certificate("c", &certificate);
        let html = page().section(proof).checker("AAAA").to_html();
        assert!(
            html.contains("id=\"recheck\"") && html.contains(">AAAA<") && html.contains("one certificate")
        );
        assert_eq!(html.matches("</script>").count(), html.matches("<script").count());
        assert!(!html.contains("http://") && !html.contains("https://"));
    }

    #[test]
    fn a_network_is_embedded_once() {
        let html =
            page().network("m", r#"{"format": "fiberscope-network", "name": "</script>"}"#.into()).to_html();
        assert!(html.contains("id=\"network-n\"") && !html.contains("id=\"network-m\""));
    }

    fn digest() -> fiberscope_core::Digest {
        let layer = fiberscope_core::Layer::new(
            fiberscope_core::Matrix::from_rows(&[[1.0]]).unwrap(),
            vec![0.0],
            fiberscope_core::Activation::Identity,
        );
        fiberscope_core::Digest::of(&fiberscope_core::Network::new(vec![layer]).unwrap())
    }

    /// The contrast of two colours by WCAG 2: `(L_1 + 0.05) / (L_2 + 0.05)`, `L` the relative luminance.
    fn contrast(x: &str, y: &str) -> f64 {
        let luminance = |hex: &str| {
            let channel = |at: usize| {
                let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
                if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
        };
        let (x, y) = (luminance(x), luminance(y));
        (x.max(y) + 0.05) / (x.min(y) + 0.05)
    }

    #[test]
    fn text_has_enough_contrast_in_both_schemes() {
        let schemes: Vec<_> = STYLE.match_indices(":root{").map(|(at, _)| &STYLE[at..]).collect();
        assert_eq!(schemes.len(), 2);
        for scheme in schemes {
            let colour = |name: &str| {
                let at = scheme.find(&format!("--{name}:")).unwrap() + name.len() + 3;
                &scheme[at..at + 7]
            };
            let pairs = [
                ("ink", "paper"),
                ("soft", "paper"),
                ("link", "paper"),
                ("ink", "panel"),
                ("soft", "panel"),
                ("good", "good-paper"),
                ("bad", "bad-paper"),
                ("open", "open-paper"),
            ];
            for (text, ground) in pairs {
                let ratio = contrast(colour(text), colour(ground));
                assert!(ratio >= 4.5, "{text} on {ground}: {ratio:.2}");
            }
        }
    }
}
