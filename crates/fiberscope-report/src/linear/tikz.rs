//! Drawings as TikZ: documents of the class `standalone` that LaTeX compiles as they are, with named nodes
//! that can be edited and put into a paper.

use std::fmt::Write;

use super::{DagPicture, FlowPicture, LatticePicture};
use crate::draw::svg::coordinate;
use crate::export::escaped;

/// Pixels of our drawings in a centimetre of paper.
const PIXELS: f64 = 38.0;

/// The colours of Okabe and Ito by the names of our style sheet.
const COLOURS: [(&str, &str); 5] = [
    ("used", "0072B2"),
    ("lost", "E07B00"),
    ("unfed", "35B58D"),
    ("idle", "C4C9CF"),
    ("smoothhere", "D9EFE6"),
];

/// A document with one picture.
fn document(title: &str, body: &str) -> String {
    let mut text = format!("% {}\n", title.replace('\n', " "));
    text.push_str("\\documentclass[tikz,border=4pt]{standalone}\n\\usetikzlibrary{arrows.meta}\n");
    for (name, colour) in COLOURS {
        let _ = writeln!(text, "\\definecolor{{{name}}}{{HTML}}{{{colour}}}");
    }
    text.push_str(
        "\\begin{document}\n\\begin{tikzpicture}[font=\\sffamily\\footnotesize,>={Stealth[length=4pt]}]\n",
    );
    text.push_str(body);
    text.push_str("\\end{tikzpicture}\n\\end{document}\n");
    text
}

/// A place on paper, whose vertical axis points up.
fn place((x, y): (f64, f64)) -> String {
    format!("({},{})", coordinate(x / PIXELS), coordinate(-y / PIXELS))
}

impl DagPicture {
    /// The dag as TikZ: a node `s0`, `s1`, ... per stratum, an arrow per covering edge.
    pub fn to_tikz(&self) -> String {
        let mut body = String::from(
            "\\tikzset{stratum/.style={draw=black!60,rounded corners=2pt,align=center,inner sep=3pt,fill=white},\n  isopen/.style={draw=black,line width=1pt},issmooth/.style={fill=smoothhere},swapping/.style={dashed}}\n",
        );
        let places = self.node_places();
        let title_at =
            places.iter().fold((f64::INFINITY, f64::INFINITY), |(x, y), p| (x.min(p.0), y.min(p.1)));
        if title_at.0.is_finite() {
            let at = place((title_at.0, title_at.1 - 44.0));
            let _ = writeln!(
                body,
                "\\node[anchor=west,font=\\sffamily\\bfseries] at {at} {{{}}};",
                escaped(&self.title)
            );
        }
        for (at, (node, &centre)) in self.nodes.iter().zip(&places).enumerate() {
            let open = if node.maximal { ",isopen" } else { "" };
            let smooth = if node.smooth || node.maximal { ",issmooth" } else { "" };
            let (name, numbers) = (escaped(&node.name), escaped(&node.numbers));
            let _ = writeln!(
                body,
                "\\node[stratum{open}{smooth}] (s{at}) at {} {{{name}\\\\{numbers}}};",
                place(centre)
            );
        }
        for edge in &self.edges {
            let swap = if edge.swap { "swapping," } else { "" };
            let _ = writeln!(
                body,
                "\\draw[{swap}->] (s{}) -- (s{}); % {}",
                edge.from,
                edge.to,
                edge.bars.replace('\n', " ")
            );
        }
        document(&self.title, &body)
    }
}

impl FlowPicture {
    /// The basis-flow diagram as TikZ.
    pub fn to_tikz(&self) -> String {
        let layout = self.layout();
        let mut body = String::new();
        let (top, bottom) = (layout.top, layout.bottom);
        let _ = writeln!(
            body,
            "\\node[anchor=west,font=\\sffamily\\bfseries] at {} {{{}}};",
            place((layout.at(0) - 30.0, top - 56.0)),
            escaped(&self.title)
        );
        for (layer, width) in self.widths.iter().enumerate() {
            let x = layout.at(layer);
            let _ = writeln!(body, "\\draw[black!20] {} -- {};", place((x, top - 8.0)), place((x, bottom)));
            let _ = writeln!(
                body,
                "\\node[align=center] at {} {{layer {layer}\\\\width {width}}};",
                place((x, top - 26.0))
            );
        }
        for strip in &layout.strips {
            let (from, to) = ((strip.from - 7.0, strip.y), (strip.to + 7.0, strip.y + strip.height));
            let colour = strip.class.trim_start_matches("flow-");
            let _ = writeln!(
                body,
                "\\fill[{colour},rounded corners=1.5pt] {} rectangle {};",
                place(from),
                place(to)
            );
            let middle = (strip.to + 9.0, strip.y + strip.height / 2.0);
            let _ = writeln!(body, "\\node[anchor=west] at {} {{{}}};", place(middle), escaped(&strip.name));
        }
        for (j, rank) in self.ranks.iter().enumerate() {
            let x = (layout.at(j) + layout.at(j + 1)) / 2.0;
            let _ = writeln!(
                body,
                "\\node at {} {{$\\mathrm{{rk}}\\,W_{{{}}}={rank}$}};",
                place((x, bottom + 12.0)),
                j + 1
            );
        }
        for (line, (class, text)) in layout.legend.iter().enumerate() {
            let y = bottom + 40.0 + 18.0 * line as f64;
            let colour = class.trim_start_matches("flow-");
            let x = layout.at(0) - 30.0;
            let _ = writeln!(
                body,
                "\\fill[{colour}] {} rectangle {};",
                place((x, y - 4.0)),
                place((x + 20.0, y + 4.0))
            );
            let _ = writeln!(body, "\\node[anchor=west] at {} {{{}}};", place((x + 24.0, y)), escaped(text));
        }
        document(&self.title, &body)
    }
}

impl LatticePicture {
    /// The lattices of subspaces as TikZ.
    pub fn to_tikz(&self) -> String {
        let mut body = String::new();
        let (size, left, top) = (46.0, 40.0, 80.0);
        let _ = writeln!(
            body,
            "\\node[anchor=west,font=\\sffamily\\bfseries] at {} {{{}}};",
            place((left, top - 56.0)),
            escaped(&self.title)
        );
        let mut x0 = left;
        for layer in &self.layers {
            let (j, columns) = (layer.layer, layer.layer + 1);
            let middle = x0 + size * columns as f64 / 2.0;
            let _ = writeln!(
                body,
                "\\node at {} {{$j={j}$, width {}}};",
                place((middle, top - 16.0)),
                layer.width
            );
            for cell in &layer.cells {
                let (x, y) = (x0 + size * cell.i as f64, top + size * (self.depth - cell.k) as f64);
                let fill = if cell.count > 0 {
                    format!("fill={}!35,", self.class(cell.i, cell.k).trim_start_matches("flow-"))
                } else {
                    String::new()
                };
                let _ = writeln!(
                    body,
                    "\\draw[{fill}draw=black!40] {} rectangle {};",
                    place((x, y)),
                    place((x + size, y + size))
                );
                let text = format!(
                    "$A\\,{}$\\\\$B\\,{}$\\\\$\\omega\\,{}$",
                    cell.forward, cell.backward, cell.count
                );
                let centre = place((x + size / 2.0, y + size / 2.0));
                let _ = writeln!(body, "\\node[align=center,font=\\scriptsize] at {centre} {{{text}}};");
            }
            for i in 0..columns {
                let at =
                    place((x0 + size * (i as f64 + 0.5), top + size * (self.depth - j + 1) as f64 + 8.0));
                let _ = writeln!(body, "\\node[font=\\scriptsize] at {at} {{$i={i}$}};");
            }
            x0 += size * columns as f64 + 26.0;
        }
        for k in 0..=self.depth {
            let at = place((left - 14.0, top + size * (self.depth - k) as f64 + size / 2.0));
            let _ = writeln!(body, "\\node[font=\\scriptsize] at {at} {{$k={k}$}};");
        }
        document(&self.title, &body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::{DagEdge, DagNode, FlowBar};

    /// Braces and environments open and close in order, outside of comments and escapes.
    fn check(text: &str) {
        let mut depth = 0i64;
        let mut open: Vec<&str> = Vec::new();
        for line in text.lines() {
            let code = line.replace("\\%", "").replace("\\{", "").replace("\\}", "");
            let code = code.split('%').next().unwrap_or("");
            for c in code.chars() {
                depth += i64::from(c == '{') - i64::from(c == '}');
                assert!(depth >= 0, "{line}");
            }
            assert_eq!(code.replace("\\$", "").matches('$').count() % 2, 0, "{line}");
            if let Some(name) = line.strip_prefix("\\begin{") {
                open.push(name.split('}').next().unwrap());
            }
            if let Some(name) = line.strip_prefix("\\end{") {
                assert_eq!(open.pop(), name.split('}').next());
            }
        }
        assert_eq!((depth, open.len()), (0, 0));
    }

    #[test]
    fn every_stratum_edge_and_bar_is_drawn() {
        let node = |name: &str, level| DagNode {
            name: name.into(),
            numbers: "1 / 2 / 1".into(),
            level,
            ..DagNode::default()
        };
        let dag = DagPicture {
            title: "50 % of {a_b} & c".into(),
            nodes: vec![node("S_0 #0", 0), node("S_1 #1", 1)],
            edges: vec![DagEdge { from: 0, to: 1, swap: true, bars: "[0,0] [1,1]".into() }],
            axes: None,
        };
        let text = dag.to_tikz();
        check(&text);
        assert!(
            text.contains("\\draw[swapping,->] (s0) -- (s1);") && text.contains("{S\\_1 \\#1\\\\1 / 2 / 1}")
        );
        let bar = |start, end, count| FlowBar { start, end, count };
        let bars = vec![bar(0, 2, 1), bar(0, 1, 1), bar(1, 2, 2)];
        let flow = FlowPicture { title: "x".into(), widths: vec![2, 4, 3], ranks: vec![2, 3], bars };
        let text = flow.to_tikz();
        check(&text);
        assert_eq!(text.matches(",rounded corners=1.5pt]").count(), 3);
    }
}
