//! Text and documents of LaTeX.

/// Text with the special characters of LaTeX escaped; what has no sign there is a question mark.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '~' => out.push_str(r"\textasciitilde{}"),
            '^' => out.push_str(r"\textasciicircum{}"),
            '\\' => out.push_str(r"\textbackslash{}"),
            '<' => out.push_str(r"\textless{}"),
            '>' => out.push_str(r"\textgreater{}"),
            '|' => out.push_str(r"\textbar{}"),
            '…' => out.push_str(r"\ldots{}"),
            '–' => out.push_str("--"),
            '×' => out.push_str(r"$\times$"),
            '·' => out.push_str(r"$\cdot$"),
            '→' => out.push_str(r"$\to$"),
            '≤' => out.push_str(r"$\leq$"),
            '≥' => out.push_str(r"$\geq$"),
            '−' => out.push('-'),
            c if c.is_ascii() && !c.is_control() => out.push(c),
            _ => out.push('?'),
        }
    }
    out
}

/// Text on one line, as it can stand behind the sign of a comment in every language.
pub(crate) fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A document of the class `article` with formulas.
pub(crate) fn article(body: &str) -> String {
    format!(
        "\\documentclass{{article}}\n\\usepackage{{amsmath}}\n\\usepackage[margin=25mm]{{geometry}}\n\\begin{{document}}\n{body}\\end{{document}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_written_out() {
        assert_eq!(
            escaped(r"50% a_b\c {x} <y>"),
            r"50\% a\_b\textbackslash{}c \{x\} \textless{}y\textgreater{}"
        );
        assert_eq!(escaped("3×4 … ü\n"), r"3$\times$4 \ldots{} ??");
        assert_eq!(comment("a\nb"), "a b");
    }
}
