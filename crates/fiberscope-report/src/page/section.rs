//! Sections of a page and what they are made of.

use fiberscope_core::Certificate;
use serde_json::Value;

use super::badge::Badge;
use super::prose::prose;
use super::{Ids, Table};
use crate::draw::markup::Element;
use crate::draw::svg::Svg;
use crate::number::grouped;

/// Of a longer list so many entries are shown; the others can be opened.
const LISTED: usize = 30;

/// A section: a heading, a badge if it has a status, and blocks.
#[derive(Clone, Debug)]
pub struct Section {
    heading: String,
    badge: Option<Badge>,
    blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
enum Block {
    Subheading(String),
    Paragraph(String),
    Statement(String),
    Table(Table),
    Figures(Vec<Figure>),
    List(Vec<String>),
    Points(Vec<String>),
    Code { summary: String, text: String },
    Data { id: String, json: String },
    Certificate { id: String, json: String },
}

/// A drawing and what is to be said about it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The drawing.
    pub drawing: Svg,
    /// The caption.
    pub caption: String,
}

impl Section {
    /// A section with this heading.
    pub fn new(heading: impl Into<String>) -> Self {
        Section { heading: heading.into(), badge: None, blocks: Vec::new() }
    }

    /// With a badge beside the heading.
    pub fn badge(mut self, badge: Badge) -> Self {
        self.badge = Some(badge);
        self
    }

    /// With a heading for the blocks that follow.
    pub fn subheading(self, text: impl Into<String>) -> Self {
        self.block(Block::Subheading(text.into()))
    }

    /// With a paragraph.
    pub fn paragraph(self, text: impl Into<String>) -> Self {
        self.block(Block::Paragraph(text.into()))
    }

    /// With the statement that a claim rests on.
    pub fn statement(self, text: impl Into<String>) -> Self {
        self.block(Block::Statement(text.into()))
    }

    /// With a table.
    pub fn table(self, table: Table) -> Self {
        self.block(Block::Table(table))
    }

    /// With a figure.
    pub fn figure(self, drawing: Svg, caption: impl Into<String>) -> Self {
        self.figures([Figure { drawing, caption: caption.into() }])
    }

    /// With figures side by side where there is room.
    pub fn figures(self, figures: impl IntoIterator<Item = Figure>) -> Self {
        self.block(Block::Figures(figures.into_iter().collect()))
    }

    /// With a numbered list. Entries beyond the thirtieth are folded away.
    pub fn list(self, entries: impl IntoIterator<Item = String>) -> Self {
        self.block(Block::List(entries.into_iter().collect()))
    }

    /// With a list without numbers.
    pub fn points(self, points: impl IntoIterator<Item = String>) -> Self {
        self.block(Block::Points(points.into_iter().collect()))
    }

    /// With a text in a fixed-width font that is folded away behind a summary.
    pub fn code(self, summary: impl Into<String>, text: impl Into<String>) -> Self {
        self.block(Block::Code { summary: summary.into(), text: text.into() })
    }

    /// With data that scripts can read: a JSON block. Its `id` is made of `name`, and numbered if the page
    /// has that `id` already.
    pub fn data(self, name: impl Into<String>, value: &Value) -> Self {
        self.block(Block::Data { id: name.into(), json: value.to_string() })
    }

    /// With a certificate: folded away for readers, and as data like [`Section::data`].
    pub fn certificate(self, name: impl Into<String>, certificate: &Certificate) -> Self {
        let json = certificate.to_json();
        let summary = format!("certificate (JSON, {} bytes)", grouped(json.len()));
        self.code(summary, &json).block(Block::Certificate { id: name.into(), json })
    }

    pub(super) fn certificates(&self) -> usize {
        self.blocks.iter().filter(|block| matches!(block, Block::Certificate { .. })).count()
    }

    pub(crate) fn heading(&self) -> &str {
        &self.heading
    }

    fn block(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    pub(super) fn element(&self, anchor: &str, ids: &mut Ids) -> Element {
        let mut section =
            Element::new("section").attr("id", anchor).line(Element::of_text("h2", &self.heading));
        if let Some(badge) = &self.badge {
            section = section.line(Element::new("p").class("status").child(badge.element()));
        }
        self.blocks.iter().fold(section, |section, block| section.line(block.element(ids)))
    }
}

impl Block {
    fn element(&self, ids: &mut Ids) -> Element {
        match self {
            Block::Subheading(text) => Element::of_text("h3", text),
            Block::Paragraph(text) => prose(Element::new("p"), text),
            Block::Points(points) => {
                let point = |text: &String| prose(Element::new("li"), text);
                Element::new("ul").children(points.iter().map(point))
            }
            Block::Statement(text) => {
                let head = Element::of_text("strong", "Rests on: ");
                prose(Element::new("p").class("rests").child(head), text)
            }
            Block::Table(table) => table.element(),
            Block::Figures(figures) => {
                Element::new("div").class("figures").children(figures.iter().map(figure))
            }
            Block::List(entries) => list(entries),
            Block::Code { summary, text } => {
                let code = Element::new("pre").attr("tabindex", "0").child(Element::of_text("code", text));
                details(summary, code)
            }
            Block::Data { id, json } | Block::Certificate { id, json } => {
                Element::data(&ids.unique(id), json)
            }
        }
    }
}

fn figure(figure: &Figure) -> Element {
    let drawing = Element::new("div").class("scroll").attr("tabindex", "0").attr("role", "group");
    let drawing = drawing.attr("aria-label", &figure.caption).child(figure.drawing.inline());
    Element::new("figure").child(drawing).child(prose(Element::new("figcaption"), &figure.caption))
}

fn list(entries: &[String]) -> Element {
    let numbered = |entries: &[String]| {
        Element::new("ol").children(entries.iter().map(|entry| prose(Element::new("li"), entry)))
    };
    let shown = numbered(&entries[..entries.len().min(LISTED)]);
    if entries.len() <= LISTED {
        return shown;
    }
    let rest = numbered(&entries[LISTED..]).attr("start", LISTED + 1);
    let summary = format!("{} more", entries.len() - LISTED);
    Element::new("div").child(shown).child(details(&summary, rest))
}

fn details(summary: &str, content: Element) -> Element {
    Element::new("details").child(Element::of_text("summary", summary)).child(content)
}
