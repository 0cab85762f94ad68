//! Data as text: one point per line, one number per cell.
//!
//! Cells are separated by tabs, semicolons or commas, whichever of these (in this order) the first
//! line contains; spaces around a cell do not count, and a cell may stand in double quotes. The first
//! line is a header if one of its cells is neither a number nor a sign for a missing one. Empty lines
//! and a byte order mark are skipped.
//!
//! A number is read as the double nearest to it. There are no missing values in [`Data`]: empty cells,
//! `NA`, `NaN` and infinities are errors, as are rows of different lengths.

use std::borrow::Cow;

use fiberscope_core::Matrix;

use crate::text::clip;
use crate::{Data, FormatError};

/// Reads a table of numbers. Errors name the line and the column, both counted from 1.
///
/// ```
/// let data = fiberscope_io::csv::read(b"x,y\n0.5,1\n-2,3e-1\n").unwrap();
/// assert_eq!(data.columns.unwrap(), ["x", "y"]);
/// assert_eq!(data.points.row(1), [-2.0, 0.3]);
/// ```
pub fn read(bytes: &[u8]) -> Result<Data, FormatError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines = Lines { rest: bytes, line: 0 };
    let Some(first) = lines.next() else {
        return Err(FormatError::malformed("the file is empty; expected rows of numbers"));
    };
    let (line, text) = first?;
    let separator = separator(text);
    let header = cells(line, text, separator)?.any(|cell| !looks_like_a_number(&cell));
    let mut table = Table { separator, width: None, entries: Vec::new(), rows: 0 };
    if header {
        table.width = Some((cells(line, text, separator)?.count(), line));
    } else {
        table.push(line, text)?;
    }
    for row in lines {
        let (line, text) = row?;
        table.push(line, text)?;
    }
    if table.rows == 0 {
        return Err(FormatError::malformed(format!(
            "line {line} is a header; expected rows of numbers after it"
        )));
    }
    let columns = match table.width.filter(|_| header) {
        Some((width, _)) => {
            let mut names = Vec::with_capacity(width);
            names.extend(cells(line, text, separator)?.map(Cow::into_owned));
            Some(names)
        }
        None => None,
    };
    Ok(Data { points: table.into_matrix(), columns })
}

/// The lines that are not empty, with their numbers.
struct Lines<'t> {
    rest: &'t [u8],
    line: usize,
}

impl<'t> Iterator for Lines<'t> {
    type Item = Result<(usize, &'t str), FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let end = self.rest.iter().position(|&byte| byte == b'\n');
            let (line, rest) = match end {
                Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
                None => (self.rest, &self.rest[self.rest.len()..]),
            };
            self.rest = rest;
            self.line += 1;
            let Ok(text) = std::str::from_utf8(line) else {
                let message = format!("line {}: expected text in UTF-8", self.line);
                return Some(Err(FormatError::malformed(message)));
            };
            // Spaces only: a tab is an empty cell.
            if !text.trim_matches([' ', '\r']).is_empty() {
                return Some(Ok((self.line, text.trim_end_matches('\r'))));
            }
        }
        None
    }
}

/// The numbers read so far.
struct Table {
    separator: char,
    /// The number of columns, and the line that set it.
    width: Option<(usize, usize)>,
    entries: Vec<f64>,
    rows: usize,
}

impl Table {
    fn push(&mut self, line: usize, text: &str) -> Result<(), FormatError> {
        let mut found = 0;
        for cell in cells(line, text, self.separator)? {
            found += 1;
            let number = number(&cell).map_err(|what| {
                FormatError::malformed(format!(
                    "line {line}, column {found}: {what}; expected a finite number"
                ))
            })?;
            self.entries.push(number);
        }
        self.rows += 1;
        let (expected, origin) = *self.width.get_or_insert((found, line));
        if found == expected {
            return Ok(());
        }
        let message = format!("line {line}: expected {expected} cells, as in line {origin}, found {found}");
        Err(FormatError::malformed(message))
    }

    fn into_matrix(mut self) -> Matrix {
        self.entries.shrink_to_fit();
        let cols = self.entries.len() / self.rows.max(1);
        Matrix::from_entries(self.rows, cols, self.entries).expect("every row has the same number of cells")
    }
}

/// The first of tab, semicolon and comma that occurs outside of quotes.
fn separator(line: &str) -> char {
    let occurs = |separator| line.split('"').step_by(2).any(|outside| outside.contains(separator));
    ['\t', ';'].into_iter().find(|&separator| occurs(separator)).unwrap_or(',')
}

/// The cells of a line, without quotes and without spaces around them.
fn cells(
    line: usize,
    text: &str,
    separator: char,
) -> Result<impl Iterator<Item = Cow<'_, str>>, FormatError> {
    if text.matches('"').count() % 2 == 1 {
        return Err(FormatError::malformed(format!("line {line}: a quote is not closed")));
    }
    let mut rest = Some(text);
    Ok(std::iter::from_fn(move || {
        let text = rest?;
        let mut quoted = false;
        let end = text.find(|c| {
            quoted ^= c == '"';
            c == separator && !quoted
        });
        let cell = match end {
            Some(end) => {
                rest = Some(&text[end + separator.len_utf8()..]);
                &text[..end]
            }
            None => {
                rest = None;
                text
            }
        };
        Some(unquoted(cell.trim()))
    }))
}

fn unquoted(cell: &str) -> Cow<'_, str> {
    match cell.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')) {
        Some(inner) if inner.contains('"') => Cow::Owned(inner.replace("\"\"", "\"")),
        Some(inner) => Cow::Borrowed(inner.trim()),
        None => Cow::Borrowed(cell),
    }
}

/// Whether a cell of the first line speaks against a header: a number, or what stands in place of one.
fn looks_like_a_number(cell: &str) -> bool {
    const MISSING: &[&str] = &["", "?", "-", "na", "n/a", "#n/a", "null", "none", "missing"];
    cell.parse::<f64>().is_ok() || MISSING.iter().any(|missing| cell.eq_ignore_ascii_case(missing))
}

fn number(cell: &str) -> Result<f64, String> {
    match cell.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ if cell.is_empty() => Err("the cell is empty".to_owned()),
        _ => Err(format!("found {:?}", clip(cell))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn accepts(text: &str, rows: &[&[f64]], columns: Option<&[&str]>) {
        let data = read(text.as_bytes()).unwrap();
        assert_eq!(data.points, Matrix::from_rows(rows).unwrap(), "{text:?}");
        assert_eq!(data.columns, columns.map(|names| names.iter().map(|&name| name.to_owned()).collect()));
    }

    #[track_caller]
    fn refuses(text: impl AsRef<[u8]>, expected: &str) {
        assert_eq!(read(text.as_ref()).unwrap_err().to_string(), expected);
    }

    #[test]
    fn tables() {
        accepts("1", &[&[1.0]], None);
        accepts("1,2\n3,4", &[&[1.0, 2.0], &[3.0, 4.0]], None);
        accepts("1;2\r\n\r\n 3 ; -4e-1 \r\n", &[&[1.0, 2.0], &[3.0, -0.4]], None);
        accepts("a\tb\n1\t2\n", &[&[1.0, 2.0]], Some(&["a", "b"]));
        accepts("\u{feff}x, y\n\n1,2\n", &[&[1.0, 2.0]], Some(&["x", "y"]));
        accepts("\"a, \"\"b\"\"\",c\n\"1\",\" 2\"\n", &[&[1.0, 2.0]], Some(&["a, \"b\"", "c"]));
        accepts("1,x\n1,2", &[&[1.0, 2.0]], Some(&["1", "x"]));
        accepts(",x\n1,2", &[&[1.0, 2.0]], Some(&["", "x"]));
        accepts("+.5,5.\n-0,1e-400", &[&[0.5, 5.0], &[-0.0, 0.0]], None);
    }

    #[test]
    fn broken_tables() {
        refuses("", "the file is empty; expected rows of numbers");
        refuses("\n \r\n", "the file is empty; expected rows of numbers");
        refuses("\nx,y\n\n", "line 2 is a header; expected rows of numbers after it");
        refuses("1,2\n\n3", "line 3: expected 2 cells, as in line 1, found 1");
        refuses("x\n1,2", "line 2: expected 1 cells, as in line 1, found 2");
        refuses("1,,3", "line 1, column 2: the cell is empty; expected a finite number");
        refuses("1,2\n3,", "line 2, column 2: the cell is empty; expected a finite number");
        refuses("\t\n1\t2", "line 1, column 1: the cell is empty; expected a finite number");
        refuses("1,NA", "line 1, column 2: found \"NA\"; expected a finite number");
        refuses("x\nNaN", "line 2, column 1: found \"NaN\"; expected a finite number");
        refuses("1\n-inf", "line 2, column 1: found \"-inf\"; expected a finite number");
        refuses("nan,1", "line 1, column 1: found \"nan\"; expected a finite number");
        refuses("1\n1e999", "line 2, column 1: found \"1e999\"; expected a finite number");
        refuses("1;2\n3,5;4", "line 2, column 1: found \"3,5\"; expected a finite number");
        refuses("1\n\"2", "line 2: a quote is not closed");
        refuses(b"1\n\xff", "line 2: expected text in UTF-8");
        refuses(b"\xff\xfe1\x00", "line 1: expected text in UTF-8");
    }
}
