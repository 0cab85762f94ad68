//! Systems of polynomial equations and inequalities, piece by piece, as files for LaTeX, Sage and Macaulay2.

use std::fmt::Write;

use fiberscope_core::Rational;

use super::polynomial::number;
use super::{Polynomial, Program, Variable, article, comment, escaped};

/// Equations and inequalities in some variables: a set that is the union of its pieces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct System {
    /// What it describes.
    pub title: String,
    /// Sentences about it.
    pub notes: Vec<String>,
    /// The variables.
    pub variables: Vec<Variable>,
    /// The pieces.
    pub pieces: Vec<Piece>,
    /// A point of it, if one is known, and the number of the piece that it lies in.
    pub point: Option<(Vec<Rational>, usize)>,
}

/// A piece: where all equations and inequalities hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece {
    /// Its name and what is known of it.
    pub title: String,
    /// Polynomials that are zero.
    pub equations: Vec<Polynomial>,
    /// Polynomials that are positive.
    pub positive: Vec<Polynomial>,
    /// Polynomials that are not negative.
    pub nonnegative: Vec<Polynomial>,
}

impl System {
    /// The system in the language of a program.
    pub fn to_text(&self, program: Program) -> String {
        if program == Program::Latex {
            return self.to_latex();
        }
        let names: Vec<String> = self.variables.iter().map(|variable| variable.name(program)).collect();
        let sign = program.comment();
        let mut text = String::new();
        for line in std::iter::once(&self.title).chain(&self.notes) {
            let _ = writeln!(text, "{sign} {}", comment(line));
        }
        text += &match program {
            Program::Macaulay2 => format!("\nR = QQ[{}];\n", names.join(", ")),
            _ => format!(
                "\nR = PolynomialRing(QQ, names=[{}])\nR.inject_variables(verbose=False)\n",
                names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
            ),
        };
        for (at, piece) in (1..).zip(&self.pieces) {
            let list = |polynomials: &[Polynomial]| {
                let each = |polynomial: &Polynomial| format!("  {}", polynomial.text(program, &names));
                polynomials.iter().map(each).collect::<Vec<_>>().join(",\n")
            };
            let [zero, positive, nonnegative] =
                [&piece.equations, &piece.positive, &piece.nonnegative].map(|each| list(each));
            let _ = writeln!(text, "\n{sign} {}", comment(&piece.title));
            text += &match program {
                // Without generators Macaulay2 does not know the ring.
                Program::Macaulay2 if zero.is_empty() => format!("P{at} = ideal(0_R);\n"),
                Program::Macaulay2 => format!("P{at} = ideal(\n{zero}\n);\n"),
                _ => format!("P{at} = R.ideal([\n{zero}\n])\n"),
            };
            let (open, close) = if program == Program::Macaulay2 { ("{", "};") } else { ("[", "]") };
            let _ = writeln!(text, "positive{at} = {open}\n{positive}\n{close}");
            let _ = writeln!(text, "nonnegative{at} = {open}\n{nonnegative}\n{close}");
        }
        let all: Vec<String> = (1..=self.pieces.len()).map(|at| format!("P{at}")).collect();
        let (open, close) = if program == Program::Macaulay2 { ("{", "};") } else { ("[", "]") };
        let _ = writeln!(text, "\n{sign} the ideals of all pieces\npieces = {open}{}{close}", all.join(", "));
        if let Some((point, piece)) = &self.point {
            let values = point.iter().map(|x| signed(program, x)).collect::<Vec<_>>().join(", ");
            let theta = match program {
                // Of integers alone Macaulay2 would make a matrix over the integers.
                Program::Macaulay2 => format!("matrix(QQ, {{{{{values}}}}});"),
                _ => format!("[{values}]"),
            };
            let _ = writeln!(
                text,
                "\n{sign} a point of piece {0}: all generators of P{0} vanish there\ntheta = {theta}",
                piece + 1
            );
        }
        text
    }

    fn to_latex(&self) -> String {
        let names: Vec<String> =
            self.variables.iter().map(|variable| variable.name(Program::Latex)).collect();
        let mut body = format!("\\allowdisplaybreaks\n\\section*{{{}}}\n\n", escaped(&self.title));
        for note in &self.notes {
            let _ = writeln!(body, "{}\n", escaped(note));
        }
        for piece in &self.pieces {
            let _ = writeln!(body, "\\subsection*{{{}}}", escaped(&piece.title));
            let parts = [(&piece.equations, "= 0"), (&piece.positive, "> 0"), (&piece.nonnegative, "\\ge 0")];
            let lines: Vec<String> = parts
                .iter()
                .flat_map(|(polynomials, relation)| polynomials.iter().map(move |each| (each, relation)))
                .map(|(each, relation)| format!("& {} {relation}", each.text(Program::Latex, &names)))
                .collect();
            match lines.is_empty() {
                true => body += "No condition.\n\n",
                false => {
                    let _ = writeln!(body, "\\begin{{align*}}\n{}\n\\end{{align*}}\n", lines.join("\\\\\n"));
                }
            }
        }
        article(&body)
    }
}

/// A number with its sign; with a sign it stands alone in a list.
fn signed(program: Program, x: &Rational) -> String {
    let size = number(program, &x.abs());
    match (program, x.is_negative()) {
        (Program::Sage, false) => format!("QQ({size})"),
        (Program::Sage, true) => format!("QQ(-{size})"),
        (_, false) => size,
        (_, true) => format!("-{size}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_every_piece() {
        let x = Polynomial::monomial(Rational::ONE, &[0]);
        let system = System {
            title: "a line\nwith 50%".into(),
            notes: vec!["its half".into()],
            variables: vec![Variable::new('w', &[1, 1, 1]), Variable::new('b', &[1, 1])],
            pieces: vec![
                Piece { title: "first".into(), equations: vec![x.clone()], ..Piece::default() },
                Piece { title: "second".into(), positive: vec![x], ..Piece::default() },
            ],
            point: Some((vec![Rational::ZERO, "-1/3".parse().unwrap()], 0)),
        };
        let m2 = system.to_text(Program::Macaulay2);
        assert!(m2.starts_with("-- a line with 50%\n-- its half\n\nR = QQ[w_(1,1,1), b_(1,1)];\n"), "{m2}");
        assert!(m2.contains("P2 = ideal(0_R);\npositive2 = {\n  w_(1,1,1)\n};"), "{m2}");
        assert!(m2.ends_with("theta = matrix(QQ, {{0, -(1/3)}});\n"), "{m2}");
        let sage = system.to_text(Program::Sage);
        assert!(sage.contains("P1 = R.ideal([\n  w1_1_1\n])\npositive1 = [\n\n]\n"), "{sage}");
        assert!(sage.ends_with("theta = [QQ(0), QQ(-(1/3))]\n"), "{sage}");
        let latex = system.to_text(Program::Latex);
        assert!(latex.contains("50\\%") && latex.contains("& w^{(1)}_{1,1} = 0\n"), "{latex}");
    }
}
