//! Drawings as TikZ: documents of the class `standalone` that LaTeX compiles as they are.
//!
//! A pixel is three quarters of a point, so that coordinates are the same numbers in both, and every class of the
//! style sheet is a style of the picture, to be changed in one place.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::drawing::{Canvas, POINT, Properties, Sheet, Stroke, Tag, hex, strokes, unescaped};
use super::{comment, escaped};
use crate::Svg;
use crate::draw::svg::coordinate;

/// Corners of a path on one line of the file: TeX reads lines of limited length.
const CORNERS: usize = 6;

impl Svg {
    /// The drawing as a document of LaTeX.
    pub fn to_tikz(&self) -> String {
        let mut picture = Picture {
            sheet: Sheet::new(),
            body: String::new(),
            styles: BTreeMap::new(),
            colours: BTreeMap::new(),
        };
        let title = self.draw_on(&mut picture);
        picture.document(&title)
    }
}

struct Picture {
    sheet: Sheet,
    body: String,
    /// The options of every class that was used.
    styles: BTreeMap<String, String>,
    /// The colours that were used.
    colours: BTreeMap<String, String>,
}

impl Picture {
    fn colour(&mut self, value: &str) -> String {
        let Some(hex) = hex(value) else { return value.to_owned() };
        let name = format!("fs{hex}");
        self.colours.insert(name.clone(), hex.to_uppercase());
        name
    }

    /// What TikZ is told of lines and areas.
    fn options(&mut self, properties: &Properties) -> String {
        let get = |name: &str| properties.get(name).copied();
        let (fill, stroke) = (get("fill").unwrap_or("#000"), get("stroke").unwrap_or("none"));
        let mut options =
            vec![format!("fill={}", self.colour(fill)), format!("draw={}", self.colour(stroke))];
        options.push(format!("line width={}", points(get("stroke-width").unwrap_or("1"))));
        for (name, option) in [("fill-opacity", "fill opacity"), ("stroke-opacity", "draw opacity")] {
            options.extend(get(name).map(|value| {
                format!("{option}={}", value.replacen('.', "0.", usize::from(value.starts_with('.'))))
            }));
        }
        for (name, option) in [("stroke-linecap", "line cap"), ("stroke-linejoin", "line join")] {
            options.extend(get(name).map(|value| format!("{option}={value}")));
        }
        if let Some(dashes) = get("stroke-dasharray") {
            let parts: Vec<String> = dashes
                .split(' ')
                .zip(["on", "off"].into_iter().cycle())
                .map(|(length, word)| format!("{word} {}", points(length)))
                .collect();
            options.push(format!("dash pattern={}", parts.join(" ")));
        }
        options.join(",")
    }

    fn document(self, title: &str) -> String {
        let mut text = format!(
            "% {}\n\\documentclass[tikz,border=4pt]{{standalone}}\n\\usepackage[T1]{{fontenc}}\n",
            comment(title)
        );
        for (name, hex) in &self.colours {
            let _ = writeln!(text, "\\definecolor{{{name}}}{{HTML}}{{{hex}}}");
        }
        for (class, options) in &self.styles {
            let _ = writeln!(text, "\\tikzset{{fs {class}/.style={{{options}}}}}");
        }
        let unit = coordinate(POINT);
        let _ = write!(
            text,
            "\\begin{{document}}\n\\begin{{tikzpicture}}[x={unit}pt,y=-{unit}pt,inner sep=0pt,outer sep=0pt]\n{}\\end{{tikzpicture}}\n\\end{{document}}\n",
            self.body
        );
        text
    }
}

impl Canvas for Picture {
    fn shape(&mut self, tag: &Tag, shift: (f64, f64)) {
        let class = tag.get("class");
        let all = self.sheet.properties(class, false);
        if !class.is_empty() && !self.styles.contains_key(class) {
            let options = self.options(&all);
            self.styles.insert(class.to_owned(), options);
        }
        let mut options = if class.is_empty() { "fill=black".into() } else { format!("fs {class}") };
        let width = tag.own_width(&all);
        if let Some(width) = width {
            let _ = write!(options, ",line width={}", points(width));
        }
        let shifted = |x: f64, y: f64| format!("({},{})", coordinate(x + shift.0), coordinate(y + shift.1));
        let line = match tag.name {
            "circle" => format!(
                "{} circle[radius={}]",
                shifted(tag.number("cx"), tag.number("cy")),
                points(tag.get("r"))
            ),
            "rect" => {
                if !tag.get("rx").is_empty() {
                    let _ = write!(options, ",rounded corners={}", points(tag.get("rx")));
                }
                let (x, y) = (tag.number("x"), tag.number("y"));
                format!(
                    "{} rectangle {}",
                    shifted(x, y),
                    shifted(x + tag.number("width"), y + tag.number("height"))
                )
            }
            _ => path(tag.get("d"), shifted),
        };
        if !line.is_empty() {
            let _ = writeln!(self.body, "\\path[{options}] {line};");
        }
    }

    fn label(&mut self, tag: &Tag, content: &str, shift: (f64, f64)) {
        let properties = self.sheet.properties(tag.get("class"), true);
        let get = |name: &str| properties.get(name).copied();
        let anchor = match get("text-anchor") {
            Some("middle") => "base",
            Some("end") => "base east",
            _ => "base west",
        };
        let size = POINT
            * get("font-size").and_then(|size| size.trim_end_matches("px").parse().ok()).unwrap_or(12.0);
        let colour = self.colour(get("fill").unwrap_or("#000"));
        let mut options = format!("anchor={anchor},text={colour}");
        if let Some(turn) = tag.numbers("transform", "rotate(") {
            let _ = write!(options, ",rotate={}", coordinate(-turn[0]));
        }
        // A halo keeps the text readable on lines.
        if get("stroke").is_some() {
            options += ",fill=white,fill opacity=0.75,text opacity=1,inner sep=1pt";
        }
        let weight = if get("font-weight").is_some() { "\\bfseries" } else { "" };
        let (text, lower) = content.split_once("<tspan").unwrap_or((content, ""));
        let mut text = escaped(&unescaped(text));
        if let Some(lower) = lower.split_once('>').and_then(|(_, inside)| inside.split('<').next()) {
            let _ = write!(text, "\\textsubscript{{{}}}", escaped(&unescaped(lower)));
        }
        let at = (coordinate(tag.number("x") + shift.0), coordinate(tag.number("y") + shift.1));
        let size = (coordinate(size), coordinate(1.2 * size));
        let _ = writeln!(
            self.body,
            "\\node[{options},font=\\fontsize{{{}}}{{{}}}\\selectfont\\sffamily{weight}] at ({},{}) {{{text}}};",
            size.0, size.1, at.0, at.1
        );
    }
}

/// A length in points.
fn points(pixels: &str) -> String {
    let pixels: f64 = pixels.trim_end_matches("px").parse().unwrap_or(1.0);
    format!("{}pt", coordinate(POINT * pixels))
}

/// The path of an SVG, in the words of TikZ.
fn path(d: &str, place: impl Fn(f64, f64) -> String) -> String {
    let mut text = String::new();
    for (at, stroke) in strokes(d).into_iter().enumerate() {
        if (at + 1) % CORNERS == 0 {
            text.push('\n');
        }
        match stroke {
            Stroke::Move(x, y) => text += &place(x, y),
            Stroke::Line(x, y) => text += &format!("--{}", place(x, y)),
            Stroke::Curve([a, b, c, d, x, y]) => {
                text += &format!("..controls {} and {}..{}", place(a, b), place(c, d), place(x, y));
            }
            Stroke::Close => text += "--cycle ",
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::graph::{Curve, Graph};
    use crate::draw::markup::Element;
    use crate::draw::svg::{circle, label, rectangle};

    #[test]
    fn every_element_of_a_chart_is_drawn_at_the_same_place() {
        let graph = Graph {
            title: "50% <a> & b_c".into(),
            x_label: "x".into(),
            y_label: "f(x)".into(),
            curves: vec![Curve {
                name: "f".into(),
                points: vec![(0.0, 0.0), (1.0, 2.0), (2.0, 1.0)],
                breakpoints: vec![(1.0, 2.0)],
            }],
        };
        let (svg, tikz) = (graph.draw().to_document(), graph.draw().to_tikz());
        let count = |text: &str, sign: &str| text.matches(sign).count();
        assert_eq!(count(&svg, "<text"), count(&tikz, "\\node["));
        assert_eq!(count(&svg, "<path") + count(&svg, "<circle"), count(&tikz, "\\path["));
        assert!(tikz.contains("50\\% \\textless{}a\\textgreater{} \\& b\\_c"), "{tikz}");
        assert!(
            tikz.contains("\\tikzset{fs curve-1/.style={fill=none,draw=fs0072b2,line width=3.38pt"),
            "{tikz}"
        );
        assert!(tikz.contains(",rotate=90"), "{tikz}");
        // The coordinates of the curve are those of the SVG.
        let d = svg.split("class=\"curve-1\" d=\"M").nth(1).unwrap().split('"').next().unwrap();
        let first = d.split('L').next().unwrap().replace(' ', ",");
        assert!(tikz.contains(&format!("\\path[fs curve-1] ({first})--")), "{first} in {tikz}");
    }

    #[test]
    fn groups_are_shifted_and_shapes_have_their_forms() {
        let group = Element::new("g").attr("transform", "translate(10 20)").children([
            rectangle("flow-used", (1.0, 2.0), (3.0, 4.0)).attr("rx", "3"),
            circle("hides", (5.0, 5.0), 2.0),
            Element::new("path").class("cover").attr("d", "M0 0C1 1 2 2 3 3"),
        ]);
        let tikz = Svg::new((50.0, 50.0), "t", "d", vec![group, label("mid", (1.0, 1.0), "ü…")]).to_tikz();
        for part in [
            "(11,22) rectangle (14,26);",
            "rounded corners=2.25pt",
            "(15,25) circle[radius=1.5pt];",
            "(10,20)..controls (11,21) and (12,22)..(13,23);",
            "dash pattern=on 3.75pt off 1.95pt",
            "at (1,1) {?\\ldots{}};",
        ] {
            assert!(tikz.contains(part), "{part} in {tikz}");
        }
    }
}
