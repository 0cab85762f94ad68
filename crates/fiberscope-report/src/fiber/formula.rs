//! Numbers, vectors and affine forms as formulas: plain text and LaTeX.

use fiberscope_core::{Matrix, Rational};

use crate::number::short;

/// `(1, 2)`, or the number itself if there is one.
pub fn vector_text(entries: &[Rational]) -> String {
    match entries {
        [one] => short(one),
        _ => format!("({})", entries.iter().map(short).collect::<Vec<_>>().join(", ")),
    }
}

/// `[1 2; 3 4]`.
pub fn matrix_text(matrix: &Matrix<Rational>) -> String {
    let row = |row: &[Rational]| row.iter().map(short).collect::<Vec<_>>().join(" ");
    format!("[{}]", matrix.iter_rows().map(row).collect::<Vec<_>>().join("; "))
}

/// `x_1 - 2 x_2 + 1`.
pub fn affine_form(normal: &[Rational], offset: &Rational) -> String {
    form(normal, offset, short, |j| format!("x_{j}"))
}

/// The same in LaTeX.
pub fn affine_latex(normal: &[Rational], offset: &Rational) -> String {
    form(normal, offset, number_latex, |j| format!("x_{{{j}}}"))
}

fn form(
    normal: &[Rational],
    offset: &Rational,
    number: impl Fn(&Rational) -> String,
    variable: impl Fn(usize) -> String,
) -> String {
    let mut text = String::new();
    let mut add = |negative: bool, term: String| {
        text += match (text.is_empty(), negative) {
            (true, true) => "-",
            (true, false) => "",
            (false, true) => " - ",
            (false, false) => " + ",
        };
        text += &term;
    };
    for (j, w) in normal.iter().enumerate().filter(|(_, w)| !w.is_zero()) {
        let size = w.abs();
        let x = variable(j + 1);
        add(w.is_negative(), if size == Rational::ONE { x } else { format!("{} {x}", number(&size)) });
    }
    if !offset.is_zero() || normal.iter().all(Rational::is_zero) {
        add(offset.is_negative(), number(&offset.abs()));
    }
    text
}

/// A number in LaTeX: fractions as `\tfrac`, powers of ten written out.
pub fn number_latex(x: &Rational) -> String {
    let text = short(x);
    let (sign, size) = text.strip_prefix('-').map_or(("", text.as_str()), |size| ("-", size));
    if let Some((p, q)) = size.split_once('/') {
        return format!(r"{sign}\tfrac{{{p}}}{{{q}}}");
    }
    match size.split_once('e') {
        Some((mantissa, exponent)) if mantissa.parse::<f64>().is_ok() => {
            format!(r"{sign}{mantissa}\cdot 10^{{{exponent}}}")
        }
        _ => text.replace('<', "{<}").replace('>', "{>}"),
    }
}

/// A column vector in LaTeX.
pub fn vector_latex(entries: &[Rational]) -> String {
    match entries {
        [one] => number_latex(one),
        _ => format!(
            r"\begin{{pmatrix}}{}\end{{pmatrix}}",
            entries.iter().map(number_latex).collect::<Vec<_>>().join(r"\\")
        ),
    }
}

/// A matrix in LaTeX.
pub fn matrix_latex(matrix: &Matrix<Rational>) -> String {
    let row = |row: &[Rational]| row.iter().map(number_latex).collect::<Vec<_>>().join(" & ");
    format!(
        r"\begin{{pmatrix}}{}\end{{pmatrix}}",
        matrix.iter_rows().map(row).collect::<Vec<_>>().join(r"\\")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_read_as_they_are_written() {
        let r = |text: &str| text.parse::<Rational>().unwrap();
        assert_eq!(affine_form(&[r("1"), r("-2"), r("0")], &r("-1/2")), "x_1 - 2 x_2 - 1/2");
        assert_eq!(affine_form(&[r("-1")], &r("0")), "-x_1");
        assert_eq!(affine_form(&[r("0")], &r("0")), "0");
        assert_eq!(affine_latex(&[r("1/3")], &r("-1/1000000")), r"\tfrac{1}{3} x_{1} - 1\cdot 10^{-6}");
        assert_eq!(number_latex(&r("-2/3")), r"-\tfrac{2}{3}");
    }
}
