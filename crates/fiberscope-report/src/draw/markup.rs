//! Elements of HTML and SVG, escaped by construction.
//!
//! What is written is well-formed both as HTML 5 and as XML. Text and attribute values are escaped as
//! they enter; the only text that is taken as it stands is `'static`, that is, written in this crate.

use std::fmt::{self, Display, Write};

/// Elements that never have content.
const VOID: [&str; 5] = ["circle", "line", "meta", "path", "rect"];

/// An element with its attributes and its content.
#[derive(Clone, Debug)]
pub struct Element {
    name: &'static str,
    attributes: String,
    content: String,
}

impl Element {
    /// An element without attributes and content.
    pub fn new(name: &'static str) -> Self {
        Element { name, attributes: String::new(), content: String::new() }
    }

    /// An element that contains a text.
    pub fn of_text(name: &'static str, text: &str) -> Self {
        Element::new(name).text(text)
    }

    /// A block of JSON data, readable by scripts through its `id` and never run. In JSON the characters
    /// that could end the block occur in strings only, where they have another spelling.
    pub fn data(id: &str, json: &str) -> Self {
        let mut element = Element::new("script").attr("type", "application/json").attr("id", id);
        for c in json.chars() {
            match c {
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    write!(element.content, "\\u{:04x}", c as u32)
                        .expect("writing to a string does not fail");
                }
                _ => element.content.push(c),
            }
        }
        element
    }

    /// With one more attribute.
    pub fn attr(mut self, name: &'static str, value: impl Display) -> Self {
        self.attributes.push(' ');
        self.attributes.push_str(name);
        self.attributes.push_str("=\"");
        escape_into(&mut self.attributes, &value.to_string());
        self.attributes.push('"');
        self
    }

    /// With a class.
    pub fn class(self, name: &'static str) -> Self {
        self.attr("class", name)
    }

    /// With text added to its content.
    pub fn text(mut self, text: &str) -> Self {
        escape_into(&mut self.content, text);
        self
    }

    /// With text added as it stands.
    pub fn verbatim(mut self, text: &'static str) -> Self {
        self.content.push_str(text);
        self
    }

    /// With an element added to its content.
    pub fn child(self, child: Element) -> Self {
        self.children([child])
    }

    /// With elements added to its content.
    pub fn children(mut self, children: impl IntoIterator<Item = Element>) -> Self {
        for child in children {
            write!(self.content, "{child}").expect("writing to a string does not fail");
        }
        self
    }

    /// With an element added to its content on a line of its own.
    pub fn line(mut self, child: Element) -> Self {
        if self.content.is_empty() {
            self.content.push('\n');
        }
        writeln!(self.content, "{child}").expect("writing to a string does not fail");
        self
    }
}

impl Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Element { name, attributes, content } = self;
        if content.is_empty() && VOID.contains(name) {
            write!(f, "<{name}{attributes}/>")
        } else {
            write!(f, "<{name}{attributes}>{content}</{name}>")
        }
    }
}

/// A text without control characters, which neither XML nor a terminal should see.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn escape_into(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ if c.is_control() => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_are_escaped() {
        let element = Element::new("p").attr("title", "\"><script>").text("a < b & 'c'\u{1b}[0m\u{0}");
        let expected =
            "<p title=\"&quot;&gt;&lt;script&gt;\">a &lt; b &amp; &#39;c&#39;\u{fffd}[0m\u{fffd}</p>";
        assert_eq!(element.to_string(), expected);
    }

    #[test]
    fn only_void_elements_close_themselves() {
        assert_eq!(Element::new("meta").attr("charset", "utf-8").to_string(), "<meta charset=\"utf-8\"/>");
        assert_eq!(Element::new("td").to_string(), "<td></td>");
    }

    #[test]
    fn data_cannot_end_its_block_and_is_still_the_same_json() {
        let value = serde_json::json!({"name": "</script><!--<script>&\u{2028}"});
        let block = Element::data("x", &value.to_string()).to_string();
        let inside = block.strip_prefix("<script type=\"application/json\" id=\"x\">").unwrap();
        let inside = inside.strip_suffix("</script>").unwrap();
        assert!(!inside.contains(['<', '>', '&', '\u{2028}']));
        assert_eq!(serde_json::from_str::<serde_json::Value>(inside).unwrap(), value);
    }
}
