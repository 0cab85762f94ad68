//! Tables.

use super::badge::Badge;
use super::prose::prose;
use crate::draw::markup::Element;

/// A table; the first cell of every row is the row's heading.
#[derive(Clone, Debug)]
pub struct Table {
    caption: Option<String>,
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// What a cell of a table shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A number, set flush right.
    Number(String),
    /// A text in a fixed-width font that may be broken anywhere, such as a digest.
    Code(String),
    /// A status and an explanation.
    Status(Badge, String),
}

impl Cell {
    /// A cell with text.
    pub fn text(text: impl Into<String>) -> Self {
        Cell::Text(text.into())
    }

    /// A cell with a number.
    pub fn number(text: impl Into<String>) -> Self {
        Cell::Number(text.into())
    }

    /// A cell with text in a fixed-width font.
    pub fn code(text: impl Into<String>) -> Self {
        Cell::Code(text.into())
    }

    fn element(&self, heading: bool) -> Element {
        let cell = if heading { Element::new("th").attr("scope", "row") } else { Element::new("td") };
        match self {
            Cell::Text(text) => prose(cell, text),
            Cell::Number(text) => cell.class("number").text(text),
            Cell::Code(text) => cell.child(Element::of_text("code", text)),
            Cell::Status(badge, text) => prose(cell.child(badge.element()).text(" "), text),
        }
    }
}

impl Table {
    /// A table with these column headings.
    pub fn new<'a>(header: impl IntoIterator<Item = &'a str>) -> Self {
        Table { caption: None, header: header.into_iter().map(String::from).collect(), rows: Vec::new() }
    }

    /// A table of facts: a name and a value in each row, no column headings.
    pub fn facts() -> Self {
        Table::new([])
    }

    /// With a caption.
    pub fn caption(mut self, text: impl Into<String>) -> Self {
        self.caption = Some(text.into());
        self
    }

    /// With one more row.
    pub fn row(mut self, cells: impl IntoIterator<Item = Cell>) -> Self {
        self.rows.push(cells.into_iter().collect());
        self
    }

    /// With one more fact.
    pub fn fact(self, name: impl Into<String>, value: Cell) -> Self {
        self.row([Cell::Text(name.into()), value])
    }

    pub(super) fn element(&self) -> Element {
        let mut table = Element::new("table");
        if self.header.is_empty() {
            table = table.class("facts");
        }
        table = table.children(self.caption.as_ref().map(|text| prose(Element::new("caption"), text)));
        if !self.header.is_empty() {
            let heading = |(column, text): (usize, &String)| {
                let number = self.rows.iter().any(|row| matches!(row.get(column), Some(Cell::Number(_))));
                let cell = Element::of_text("th", text).attr("scope", "col");
                if number { cell.class("number") } else { cell }
            };
            let row = Element::new("tr").children(self.header.iter().enumerate().map(heading));
            table = table.child(Element::new("thead").child(row));
        }
        let row = |cells: &Vec<Cell>| {
            let cells = cells.iter().enumerate().map(|(column, cell)| cell.element(column == 0));
            Element::new("tr").children(cells)
        };
        let body = Element::new("tbody").children(self.rows.iter().map(row));
        let name = self.caption.as_deref().unwrap_or("table");
        let scroll = Element::new("div").class("scroll").attr("tabindex", "0").attr("role", "group");
        scroll.attr("aria-label", name).child(table.child(body))
    }
}
