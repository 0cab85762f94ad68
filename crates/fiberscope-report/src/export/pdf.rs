//! Drawings as PDF: one page of the size of the drawing, its letters in Helvetica, which every reader has.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::drawing::{Canvas, POINT, Properties, Sheet, Stroke, Tag, hex, strokes, unescaped};
use crate::Svg;
use crate::draw::svg::coordinate;

/// The widths of the letters from the space to the tilde, in thousandths of the size (Helvetica's metrics).
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
    556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
/// The width of other letters.
const USUAL: u16 = 556;
/// How far a circle's control points are from its ends, in radii.
const ROUND: f64 = 0.5523;
/// The size of a subscript, and how far it is lowered, in sizes of the text.
const SUBSCRIPT: (f64, f64) = (0.75, 0.25);

impl Svg {
    /// The drawing as a PDF document.
    pub fn to_pdf(&self) -> Vec<u8> {
        let mut sheet = Page { sheet: Sheet::new(), content: String::new(), opacities: BTreeMap::new() };
        let title = self.draw_on(&mut sheet);
        sheet.document(&title, self.size())
    }
}

struct Page {
    sheet: Sheet,
    content: String,
    /// The names of pairs of opacities: of areas, of lines.
    opacities: BTreeMap<(String, String), usize>,
}

impl Page {
    /// Sets colours, lines and opacity; the operator that paints a path.
    fn pen(&mut self, properties: &Properties, width: Option<&str>) -> &'static str {
        let get = |name: &str| properties.get(name).copied();
        let (fill, stroke) = (get("fill").unwrap_or("#000"), get("stroke").unwrap_or("none"));
        let name = self.opacity(get("fill-opacity"), get("stroke-opacity"));
        let width = width.or(get("stroke-width")).unwrap_or("1").trim_end_matches("px");
        let cap = match get("stroke-linecap") {
            Some("round") => 1,
            Some("square") => 2,
            _ => 0,
        };
        let join = match get("stroke-linejoin") {
            Some("round") => 1,
            Some("bevel") => 2,
            _ => 0,
        };
        let dashes = get("stroke-dasharray").unwrap_or("");
        let _ = writeln!(
            self.content,
            "/G{name} gs {} rg {} RG {width} w {cap} J {join} j [{dashes}] 0 d",
            colour(fill),
            colour(stroke)
        );
        match (fill == "none", stroke == "none") {
            (false, false) => "B",
            (false, true) => "f",
            (true, false) => "S",
            (true, true) => "n",
        }
    }

    /// The number of a pair of opacities.
    fn opacity(&mut self, fill: Option<&str>, stroke: Option<&str>) -> usize {
        let value = |value: Option<&str>| match value.unwrap_or("1") {
            short if short.starts_with('.') => format!("0{short}"),
            value => value.to_owned(),
        };
        let next = self.opacities.len();
        *self.opacities.entry((value(fill), value(stroke))).or_insert(next)
    }

    fn path(&mut self, parts: &[Stroke], (dx, dy): (f64, f64)) {
        let at = |x: f64, y: f64| format!("{} {}", coordinate(x + dx), coordinate(y + dy));
        for part in parts {
            let _ = match *part {
                Stroke::Move(x, y) => writeln!(self.content, "{} m", at(x, y)),
                Stroke::Line(x, y) => writeln!(self.content, "{} l", at(x, y)),
                Stroke::Curve([a, b, c, d, x, y]) => {
                    writeln!(self.content, "{} {} {} c", at(a, b), at(c, d), at(x, y))
                }
                Stroke::Close => writeln!(self.content, "h"),
            };
        }
    }

    /// Letters at a point, turned by an angle.
    fn letters(&mut self, text: &str, font: (&str, f64), (x, y): (f64, f64), angle: f64) {
        let (sine, cosine) = angle.to_radians().sin_cos();
        // Down is up for letters.
        let _ = writeln!(
            self.content,
            "BT /{} {} Tf {cosine:.5} {sine:.5} {sine:.5} {:.5} {} {} Tm ({}) Tj ET",
            font.0,
            coordinate(font.1),
            -cosine,
            coordinate(x),
            coordinate(y),
            literal(text)
        );
    }

    fn document(self, title: &str, (width, height): (f64, f64)) -> Vec<u8> {
        let opacity = |((fill, stroke), name): (&(String, String), &usize)| {
            format!("/G{name}<</ca {fill}/CA {stroke}>>")
        };
        let opacities: String = self.opacities.iter().map(opacity).collect();
        let (w, h) = (coordinate(POINT * width), coordinate(POINT * height));
        let content = format!("{POINT} 0 0 -{POINT} 0 {h} cm\n{}", self.content);
        let font =
            |name: &str| format!("<</Type/Font/Subtype/Type1/BaseFont/{name}/Encoding/WinAnsiEncoding>>");
        let objects = [
            "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
            "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
            format!(
                "<</Type/Page/Parent 2 0 R/MediaBox[0 0 {w} {h}]/Contents 4 0 R/Resources<</Font<</R 5 0 R/B 6 0 R>>/ExtGState<<{opacities}>>>>>>"
            ),
            format!("<</Length {}>>\nstream\n{content}endstream", content.chars().count()),
            font("Helvetica"),
            font("Helvetica-Bold"),
            format!("<</Title({})/Producer(Fiberscope)>>", literal(&encoded(title))),
        ];
        let mut bytes = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec();
        let mut places = Vec::new();
        for (at, object) in objects.iter().enumerate() {
            places.push(bytes.len());
            let text = format!("{} 0 obj\n{object}\nendobj\n", at + 1);
            // Letters are bytes of the encoding that the fonts have.
            bytes.extend(text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')));
        }
        let table = bytes.len();
        let count = objects.len() + 1;
        bytes.extend(format!("xref\n0 {count}\n0000000000 65535 f \n").bytes());
        places.iter().for_each(|place| bytes.extend(format!("{place:010} 00000 n \n").bytes()));
        let end = format!("trailer\n<</Size {count}/Root 1 0 R/Info 7 0 R>>\nstartxref\n{table}\n%%EOF\n");
        bytes.extend(end.bytes());
        bytes
    }
}

impl Canvas for Page {
    fn shape(&mut self, tag: &Tag, shift: (f64, f64)) {
        let properties = self.sheet.properties(tag.get("class"), false);
        let paint = self.pen(&properties, tag.own_width(&properties));
        let parts = match tag.name {
            "circle" => circle(tag.number("cx"), tag.number("cy"), tag.number("r")),
            "rect" => {
                let (x, y, width, height) =
                    (tag.number("x"), tag.number("y"), tag.number("width"), tag.number("height"));
                box_of((x, y), (width, height), tag.number("rx"))
            }
            _ => strokes(tag.get("d")),
        };
        self.path(&parts, shift);
        let _ = writeln!(self.content, "{paint}");
    }

    fn label(&mut self, tag: &Tag, content: &str, shift: (f64, f64)) {
        let properties = self.sheet.properties(tag.get("class"), true);
        let get = |name: &str| properties.get(name).copied();
        let size = get("font-size").and_then(|size| size.trim_end_matches("px").parse().ok()).unwrap_or(12.0);
        let font = (if get("font-weight").is_some() { "B" } else { "R" }, size);
        let (text, lower) = content.split_once("<tspan").unwrap_or((content, ""));
        let text = encoded(&unescaped(text));
        let lower = lower.split_once('>').and_then(|(_, inside)| inside.split('<').next());
        let lower = encoded(&unescaped(lower.unwrap_or("")));
        let (own, small) = (width_of(&text, size), width_of(&lower, SUBSCRIPT.0 * size));
        let back = match get("text-anchor") {
            Some("middle") => (own + small) / 2.0,
            Some("end") => own + small,
            _ => 0.0,
        };
        let angle = tag.numbers("transform", "rotate(").map_or(0.0, |turn| turn[0]);
        let (sine, cosine) = angle.to_radians().sin_cos();
        let (x, y) = (tag.number("x") + shift.0, tag.number("y") + shift.1);
        let start = (x - back * cosine, y - back * sine);
        let fill = colour(get("fill").unwrap_or("#000"));
        let opaque = self.opacity(None, None);
        let halo = get("stroke").map(|stroke| {
            let width = get("stroke-width").unwrap_or("3").trim_end_matches("px");
            format!("{} RG {width} w 1 j [] 0 d 1 Tr\n", colour(stroke))
        });
        for begin in halo.into_iter().chain(["0 Tr\n".to_owned()]) {
            let _ = write!(self.content, "/G{opaque} gs {fill} rg {begin}");
            self.letters(&text, font, start, angle);
            if !lower.is_empty() {
                let down = SUBSCRIPT.1 * size;
                let at = (start.0 + own * cosine - down * sine, start.1 + own * sine + down * cosine);
                self.letters(&lower, (font.0, SUBSCRIPT.0 * size), at, angle);
            }
        }
    }
}

fn circle(x: f64, y: f64, r: f64) -> Vec<Stroke> {
    box_of((x - r, y - r), (2.0 * r, 2.0 * r), r)
}

/// A rectangle with round corners.
fn box_of((x, y): (f64, f64), (width, height): (f64, f64), radius: f64) -> Vec<Stroke> {
    let r = radius.min(width / 2.0).min(height / 2.0).max(0.0);
    let (k, right, low) = (r * (1.0 - ROUND), x + width, y + height);
    if r == 0.0 {
        let corners = [Stroke::Line(right, y), Stroke::Line(right, low), Stroke::Line(x, low), Stroke::Close];
        return std::iter::once(Stroke::Move(x, y)).chain(corners).collect();
    }
    vec![
        Stroke::Move(x + r, y),
        Stroke::Line(right - r, y),
        Stroke::Curve([right - k, y, right, y + k, right, y + r]),
        Stroke::Line(right, low - r),
        Stroke::Curve([right, low - k, right - k, low, right - r, low]),
        Stroke::Line(x + r, low),
        Stroke::Curve([x + k, low, x, low - k, x, low - r]),
        Stroke::Line(x, y + r),
        Stroke::Curve([x, y + k, x + k, y, x + r, y]),
        Stroke::Close,
    ]
}

/// Red, green and blue from 0 to 1; black for what is no colour.
fn colour(value: &str) -> String {
    let hex = hex(value).unwrap_or_else(|| "000000".into());
    let part = |at: usize| {
        let part = hex.get(at..at + 2).and_then(|part| u8::from_str_radix(part, 16).ok()).unwrap_or(0);
        format!("{:.3}", f64::from(part) / 255.0)
    };
    [part(0), part(2), part(4)].join(" ")
}

/// The letters that the encoding of the fonts has, each as the character of its byte.
fn encoded(text: &str) -> String {
    let letter = |c: char| match c {
        ' '..='~' | '\u{a0}'..='\u{ff}' => c.to_string(),
        '…' => '\u{85}'.to_string(),
        '’' => '\u{92}'.to_string(),
        '–' => '\u{96}'.to_string(),
        '−' => '-'.to_string(),
        '≤' => "<=".to_string(),
        '≥' => ">=".to_string(),
        _ => '?'.to_string(),
    };
    text.chars().map(letter).collect()
}

/// Encoded letters as they stand between parentheses.
fn literal(letters: &str) -> String {
    letters.replace('\\', "\\\\").replace('(', "\\(").replace(')', "\\)")
}

fn width_of(text: &str, size: f64) -> f64 {
    let letter =
        |c: char| (c as usize).checked_sub(32).and_then(|at| WIDTHS.get(at)).copied().unwrap_or(USUAL);
    text.chars().map(|c| f64::from(letter(c))).sum::<f64>() * size / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::markup::Element;
    use crate::draw::svg::{circle, label, rectangle};

    #[test]
    fn the_table_of_objects_is_right_and_everything_is_drawn() {
        let group = Element::new("g").attr("transform", "translate(10 20)").children([
            rectangle("flow-used", (1.0, 2.0), (3.0, 4.0)).attr("rx", "1"),
            rectangle("fiber-1", (1.0, 2.0), (3.0, 4.0)),
            circle("hides", (5.0, 5.0), 2.0),
            Element::new("path").class("cover").attr("d", "M0 0C1 1 2 2 3 3"),
        ]);
        let content = vec![group, label("mid", (25.0, 1.0), "50% (ü) \\ …"), label("end", (9.0, 9.0), "ab")];
        let bytes = Svg::new((100.0, 40.0), "a (title)", "d", content).to_pdf();
        let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
        let start: usize = text.split("startxref\n").nth(1).unwrap().lines().next().unwrap().parse().unwrap();
        let mut lines = text[text.char_indices().nth(start).unwrap().0..].lines();
        assert_eq!((lines.next(), lines.next()), (Some("xref"), Some("0 8")));
        for (at, line) in lines.skip(1).take(7).enumerate() {
            let place: usize = line[..10].parse().unwrap();
            assert!(bytes[place..].starts_with(format!("{} 0 obj", at + 1).as_bytes()), "{line}");
        }
        let stream: usize =
            text.split("/Length ").nth(1).unwrap().split('>').next().unwrap().parse().unwrap();
        let (before, after) = text.split_once("stream\n").unwrap();
        assert!(bytes[before.chars().count() + 7 + stream..].starts_with(b"endstream"), "{after}");
        for part in [
            "/MediaBox[0 0 75 30]",
            "11 22 m\n14 22 l\n14 26 l\n11 26 l\nh\nB",
            "0.000 0.447 0.698 rg",
            "10 20 m\n11 21 12 22 13 23 c\nS",
            "/ca 0.5/CA 0.5",
            "(50% \\(\u{fc}\\) \\\\ \u{85}) Tj",
            "/Title(a \\(title\\))",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        // Two letters of 556 thousandths of 12 pixels end at 9.
        assert!(text.contains(&format!("{} 9 Tm (ab)", coordinate(9.0 - 2.0 * 0.556 * 12.0))), "{text}");
    }
}
