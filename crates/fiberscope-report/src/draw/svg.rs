//! Drawings: SVG elements with a name and a description for those who do not see them.
//!
//! Colours are those of Okabe and Ito (distinguishable with every common colour vision), written as
//! classes of one small style sheet, with a second set for dark backgrounds. Nothing is told by colour
//! alone.

use crate::draw::markup::Element;

/// The style sheet of drawings.
pub(crate) const STYLE: &str = include_str!("svg.css");

/// A drawing, ready to stand in a page or in a file of its own.
#[derive(Clone, Debug)]
pub struct Svg {
    width: f64,
    height: f64,
    title: String,
    description: String,
    content: Vec<Element>,
}

impl Svg {
    pub(crate) fn new(
        (width, height): (f64, f64),
        title: impl Into<String>,
        description: impl Into<String>,
        content: Vec<Element>,
    ) -> Self {
        Svg { width, height, title: title.into(), description: description.into(), content }
    }

    /// Drawings one below the other.
    pub(crate) fn stack(title: impl Into<String>, drawings: &[Svg]) -> Svg {
        let width = drawings.iter().map(|each| each.width).fold(0.0, f64::max);
        let mut height = 0.0;
        let mut content = Vec::new();
        for each in drawings {
            let shift = format!("translate(0 {})", coordinate(height));
            content.push(Element::new("g").attr("transform", shift).children(each.content.iter().cloned()));
            height += each.height;
        }
        let descriptions: Vec<&str> = drawings.iter().map(|each| each.description.as_str()).collect();
        Svg::new((width, height), title, descriptions.join(" "), content)
    }

    /// Its width and height in pixels.
    pub(crate) fn size(&self) -> (f64, f64) {
        (self.width, self.height)
    }

    /// The drawing as the text of an SVG file.
    pub fn to_document(&self) -> String {
        let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
        format!("{head}{}\n", self.element(Some(Element::new("style").verbatim(STYLE))))
    }

    /// The drawing for programs that know one style and no media queries.
    pub(crate) fn to_print_document(&self) -> String {
        let light = STYLE.split("@media").next().unwrap_or(STYLE);
        self.element(Some(Element::new("style").verbatim(light))).to_string()
    }

    /// The drawing as an element of a page, whose style sheet has [`STYLE`].
    pub(crate) fn inline(&self) -> Element {
        let narrowest = coordinate(0.62 * self.width);
        let style = format!("max-width:100%;min-width:{narrowest}px;height:auto");
        self.element(None).attr("style", style)
    }

    fn element(&self, style: Option<Element>) -> Element {
        let (width, height) = (coordinate(self.width), coordinate(self.height));
        Element::new("svg")
            .attr("xmlns", "http://www.w3.org/2000/svg")
            .attr("viewBox", format!("0 0 {width} {height}"))
            .attr("width", &width)
            .attr("height", &height)
            .attr("role", "img")
            .class("fs")
            .child(Element::of_text("title", &self.title))
            .child(Element::of_text("desc", &self.description))
            .children(style)
            .children(self.content.iter().cloned())
    }
}

/// A coordinate with at most two decimals.
pub(crate) fn coordinate(x: f64) -> String {
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// A line of text at a point.
pub(crate) fn label(class: &'static str, (x, y): (f64, f64), text: &str) -> Element {
    Element::of_text("text", text).class(class).attr("x", coordinate(x)).attr("y", coordinate(y))
}

/// A straight line.
pub(crate) fn segment(class: &'static str, from: (f64, f64), to: (f64, f64)) -> Element {
    Element::new("path").class(class).attr("d", polyline(&[from, to]))
}

/// The path through points.
pub(crate) fn polyline(points: &[(f64, f64)]) -> String {
    let mut path = String::with_capacity(12 * points.len());
    for (i, &(x, y)) in points.iter().enumerate() {
        path.push(if i == 0 { 'M' } else { 'L' });
        path.push_str(&coordinate(x));
        path.push(' ');
        path.push_str(&coordinate(y));
    }
    path
}

/// A circle.
pub(crate) fn circle(class: &'static str, (x, y): (f64, f64), radius: f64) -> Element {
    let element = Element::new("circle").class(class).attr("cx", coordinate(x)).attr("cy", coordinate(y));
    element.attr("r", coordinate(radius))
}

/// A rectangle with its upper left corner and its size.
pub(crate) fn rectangle(class: &'static str, (x, y): (f64, f64), (width, height): (f64, f64)) -> Element {
    let element = Element::new("rect").class(class).attr("x", coordinate(x)).attr("y", coordinate(y));
    element.attr("width", coordinate(width)).attr("height", coordinate(height))
}

/// The width of a text of 12 pixels in an ordinary sans serif font, roughly.
pub(crate) fn text_width(text: &str) -> f64 {
    6.6 * text.chars().count() as f64
}

/// The first characters of a text, and an ellipsis if there are more.
pub(crate) fn shortened(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        let check = |x: f64, expected: &str| assert_eq!(coordinate(x), expected);
        check(1.0, "1");
        check(-0.001, "0");
        check(100.0, "100");
        check(1.256, "1.26");
        check(-3.5, "-3.5");
    }

    #[test]
    fn texts_are_shortened_between_characters() {
        assert_eq!(shortened("äöü", 2), "äö…");
        assert_eq!(shortened("äöü", 3), "äöü");
    }
}
