//! Polyhedral complexes, given by the points and rays of their largest cells, for polymake and Oscar.

use std::io::{self, Write};

use fiberscope_core::Rational;

use super::comment;

/// A polyhedral complex: every cell is the convex hull of some points, plus the cone of some rays, plus the
/// linear space that all cells share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellComplex {
    /// What it is.
    pub title: String,
    /// The dimension of the space around it.
    pub ambient: usize,
    /// The points.
    pub points: Vec<Vec<Rational>>,
    /// The rays; they count behind the points.
    pub rays: Vec<Vec<Rational>>,
    /// The largest cells: numbers of points and rays, from 0, in increasing order.
    pub cells: Vec<Vec<usize>>,
    /// A basis of the linear space that all cells share.
    pub lineality: Vec<Vec<Rational>>,
}

impl CellComplex {
    /// Points and rays, with the first coordinate 1 or 0 that polymake puts before the others.
    fn homogeneous(&self) -> impl Iterator<Item = (bool, &Vec<Rational>)> {
        let points = self.points.iter().map(|point| (true, point));
        points.chain(self.rays.iter().map(|ray| (false, ray)))
    }

    /// A file of polymake: an object of the type `fan::PolyhedralComplex`.
    pub fn write_polymake(&self, out: &mut impl Write) -> io::Result<()> {
        let row = |first: &str, x: &[Rational]| {
            let mut row = format!("[\"{first}\"");
            x.iter().for_each(|x| row += &format!(",\"{x}\""));
            row + "]"
        };
        writeln!(out, "{{\"_ns\":{{\"polymake\":[\"https://polymake.org\",\"4.6\"]}},")?;
        let title = serde_json::Value::from(comment(&self.title));
        writeln!(
            out,
            "\"_type\":\"fan::PolyhedralComplex<Rational>\",\"_info\":{{\"description\":{title}}},"
        )?;
        write!(out, "\"POINTS\":[")?;
        for (at, (is_point, x)) in self.homogeneous().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(out, "{comma}\n{}", row(if is_point { "1" } else { "0" }, x))?;
        }
        write!(out, "],\n\"INPUT_POLYTOPES\":[")?;
        for cell in &self.cells {
            write!(out, "\n{},", serde_json::json!(cell))?;
        }
        write!(out, "{{\"cols\":{}}}],\n\"INPUT_LINEALITY\":[", self.points.len() + self.rays.len())?;
        if self.lineality.is_empty() {
            write!(out, "{{\"cols\":{}}}", self.ambient + 1)?;
        }
        for (at, direction) in self.lineality.iter().enumerate() {
            write!(out, "{}\n{}", if at > 0 { "," } else { "" }, row("0", direction))?;
        }
        writeln!(out, "]}}")
    }

    /// A script of Julia that makes the complex in Oscar.
    pub fn write_oscar(&self, out: &mut impl Write) -> io::Result<()> {
        let matrix = |rows: Vec<&Vec<Rational>>| {
            let row = |x: &&Vec<Rational>| x.iter().map(entry).collect::<Vec<_>>().join(", ");
            let lines: Vec<String> = rows.iter().map(row).collect();
            let (count, lines) = (rows.len(), lines.join(",\n"));
            format!("matrix(QQ, {count}, {}, Rational{{BigInt}}[\n{lines}\n])", self.ambient)
        };
        let numbers = |cell: &[usize]| {
            format!("[{}]", cell.iter().map(|at| (at + 1).to_string()).collect::<Vec<_>>().join(","))
        };
        writeln!(out, "# {}\nusing Oscar\n", comment(&self.title))?;
        writeln!(out, "cells = IncidenceMatrix([")?;
        for cell in &self.cells {
            writeln!(out, "{},", numbers(cell))?;
        }
        let vertices: Vec<&Vec<Rational>> = self.homogeneous().map(|(_, x)| x).collect();
        let far: Vec<usize> = (self.points.len()..vertices.len()).collect();
        writeln!(out, "])\nvertices_and_directions = {}", matrix(vertices))?;
        writeln!(out, "far = Int{}", numbers(&far))?;
        if self.lineality.is_empty() {
            return writeln!(out, "complex = polyhedral_complex(cells, vertices_and_directions, far)");
        }
        writeln!(out, "lineality = {}", matrix(self.lineality.iter().collect()))?;
        writeln!(out, "complex = polyhedral_complex(cells, vertices_and_directions, far, lineality)")
    }
}

/// A number in Julia, whose integers grow with their digits.
fn entry(x: &Rational) -> String {
    let text = x.to_string();
    if text.contains('/') { text.replace('/', "//") } else { format!("{text}//1") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_programs_get_points_rays_and_cells() {
        let r = |text: &str| text.parse::<Rational>().unwrap();
        let complex = CellComplex {
            title: "a \"strip\"".into(),
            ambient: 2,
            points: vec![vec![r("0"), r("-1/3")], vec![r("12345678901234567890123"), r("1/2")]],
            rays: vec![vec![r("1"), r("0")]],
            cells: vec![vec![0, 1, 2]],
            lineality: vec![],
        };
        let mut text = Vec::new();
        complex.write_polymake(&mut text).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let expected =
            serde_json::json!([["1", "0", "-1/3"], ["1", "12345678901234567890123", "1/2"], ["0", "1", "0"]]);
        assert_eq!(value["POINTS"], expected);
        assert_eq!(value["INPUT_POLYTOPES"], serde_json::json!([[0, 1, 2], {"cols": 3}]));
        assert_eq!(value["INPUT_LINEALITY"], serde_json::json!([{"cols": 3}]));
        let mut text = Vec::new();
        complex.write_oscar(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.contains("BigInt}[\n0//1, -1//3,\n12345678901234567890123//1, 1//2,\n1//1, 0//1\n])"),
            "{text}"
        );
        assert!(text.contains("far = Int[3]\n") && text.contains("[1,2,3],\n"), "{text}");
    }
}
