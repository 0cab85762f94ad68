//! Drawings read back from their SVG text, for those who write them in other languages: paths, rectangles, circles
//! and labels, with what the style sheet says of their classes.

use std::collections::BTreeMap;

use crate::Svg;
use crate::draw::svg::STYLE;

/// Points of paper in a pixel.
pub const POINT: f64 = 0.75;

/// What a drawing is drawn on.
pub trait Canvas {
    /// A path, a rectangle or a circle.
    fn shape(&mut self, tag: &Tag, shift: (f64, f64));
    /// A line of text; `content` may end with a subscript in a `tspan`.
    fn label(&mut self, tag: &Tag, content: &str, shift: (f64, f64));
}

impl Svg {
    /// Draws everything on a canvas, in its order; the title.
    pub(super) fn draw_on(&self, canvas: &mut impl Canvas) -> String {
        let mut shifts = vec![(0.0, 0.0)];
        let (mut title, mut skipped) = (String::new(), None::<&str>);
        let text = self.to_print_document();
        let mut rest = text.as_str();
        while let Some(start) = rest.find('<') {
            let Some(end) = rest[start..].find('>').map(|end| start + end) else { break };
            let tag = Tag::read(&rest[start + 1..end]);
            rest = &rest[end + 1..];
            match (tag.name, skipped) {
                (name, Some(open)) => skipped = (name != open).then_some(open),
                // Parts of a drawing may have titles of their own.
                ("title", _) if title.is_empty() => {
                    title = rest.split('<').next().map(unescaped).unwrap_or_default()
                }
                ("style", _) => skipped = Some("/style"),
                ("desc", _) => skipped = Some("/desc"),
                ("g", _) => {
                    let (x, y) =
                        tag.numbers("transform", "translate(").map_or((0.0, 0.0), |by| (by[0], by[1]));
                    let last = shifts.last().copied().unwrap_or_default();
                    shifts.push((last.0 + x, last.1 + y));
                }
                ("/g", _) => {
                    shifts.pop();
                }
                ("text", _) => {
                    let (own, after) = rest.split_once("</text>").unwrap_or((rest, ""));
                    canvas.label(&tag, own, shifts.last().copied().unwrap_or_default());
                    rest = after;
                }
                ("path" | "rect" | "circle", _) => {
                    canvas.shape(&tag, shifts.last().copied().unwrap_or_default());
                }
                _ => {}
            }
        }
        title
    }
}

/// An element's name and attributes.
pub struct Tag<'a> {
    /// The name; that of a closing tag keeps its stroke.
    pub name: &'a str,
    attributes: BTreeMap<&'a str, &'a str>,
}

impl<'a> Tag<'a> {
    fn read(text: &'a str) -> Self {
        let text = text.trim_end_matches('/');
        let (name, mut rest) = text.split_once(' ').unwrap_or((text, ""));
        let mut attributes = BTreeMap::new();
        while let Some((key, value)) = rest.split_once("=\"") {
            let Some((value, after)) = value.split_once('"') else { break };
            attributes.insert(key.trim(), value);
            rest = after;
        }
        Tag { name, attributes }
    }

    /// An attribute; empty if it is not there.
    pub fn get(&self, name: &str) -> &'a str {
        self.attributes.get(name).copied().unwrap_or("")
    }

    /// An attribute that is a number; 0 if it is not there.
    pub fn number(&self, name: &str) -> f64 {
        self.get(name).parse().unwrap_or(0.0)
    }

    /// The numbers behind a word in an attribute, at least two; `None` if the word is not there.
    pub fn numbers(&self, name: &str, word: &str) -> Option<Vec<f64>> {
        let inside = self.get(name).split(word).nth(1)?.split(')').next()?;
        let numbers: Vec<f64> = inside.split([' ', ',']).filter_map(|x| x.parse().ok()).collect();
        (numbers.len() >= 2).then_some(numbers)
    }

    /// The width of its line where the element itself says it: its own style counts more than the style sheet, which
    /// counts more than its attributes.
    pub fn own_width(&self, sheet: &Properties) -> Option<&'a str> {
        let style = self.get("style").split(';').filter_map(|each| each.split_once(':'));
        let own = style.filter(|(name, _)| *name == "stroke-width").map(|(_, value)| value).next();
        let attribute = self.get("stroke-width");
        own.or((!sheet.contains_key("stroke-width") && !attribute.is_empty()).then_some(attribute))
    }
}

/// The properties of an element.
pub type Properties = BTreeMap<&'static str, &'static str>;

/// What the style sheet says, class by class, in its order; `text` stands for all labels.
pub struct Sheet(Vec<(&'static str, Vec<(&'static str, &'static str)>)>);

impl Sheet {
    /// The style sheet of drawings, for light paper.
    pub fn new() -> Self {
        let light = STYLE.split("@media").next().unwrap_or(STYLE);
        let mut rules = Vec::new();
        for rule in light.lines() {
            let Some((selectors, properties)) = rule.trim_end_matches('}').split_once('{') else { continue };
            let properties: Vec<_> = properties.split(';').filter_map(|each| each.split_once(':')).collect();
            for selector in selectors.split(',') {
                let class = selector.trim().trim_start_matches(".fs").trim().trim_start_matches('.');
                rules.push((class, properties.clone()));
            }
        }
        Sheet(rules)
    }

    /// The properties of an element of these classes.
    pub fn properties(&self, classes: &str, is_text: bool) -> Properties {
        let applies =
            |class: &str| classes.split(' ').any(|each| each == class) || is_text && class == "text";
        let rules = self.0.iter().filter(|(class, _)| applies(class));
        rules.flat_map(|(_, properties)| properties.iter().copied()).collect()
    }
}

/// A part of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stroke {
    /// A new start.
    Move(f64, f64),
    /// A straight line.
    Line(f64, f64),
    /// A cubic curve: two control points and its end.
    Curve([f64; 6]),
    /// Back to the start.
    Close,
}

/// The path of an SVG, made of moves, straight lines and cubic curves.
pub fn strokes(d: &str) -> Vec<Stroke> {
    let mut found = Vec::new();
    let mut rest = d;
    while let Some(command) = rest.chars().next() {
        let after = &rest[command.len_utf8()..];
        let end = after.find(|c: char| c.is_ascii_uppercase()).unwrap_or(after.len());
        let numbers: Vec<f64> = after[..end].split([' ', ',']).filter_map(|x| x.parse().ok()).collect();
        rest = &after[end..];
        found.extend(match (command, &numbers[..]) {
            ('M', [x, y]) => Some(Stroke::Move(*x, *y)),
            ('L', [x, y]) => Some(Stroke::Line(*x, *y)),
            ('C', [a, b, c, d, x, y]) => Some(Stroke::Curve([*a, *b, *c, *d, *x, *y])),
            ('Z', _) => Some(Stroke::Close),
            _ => None,
        });
    }
    found
}

/// The six digits of a colour, of which `#fff` is short for `#ffffff`.
pub fn hex(colour: &str) -> Option<String> {
    let hex = colour.strip_prefix('#')?;
    let double = |hex: &str| hex.chars().flat_map(|c| [c, c]).collect();
    Some(if hex.len() == 3 { double(hex) } else { hex.to_owned() })
}

/// The text that markup stands for.
pub fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    text.replace("&amp;", "&")
}
