//! Tables of results as CSV and Parquet.

mod columnar;

use std::io::{self, Write};

/// A table: columns of the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<(String, Values)>,
}

/// The entries of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Integers.
    Integers(Vec<i64>),
    /// Doubles.
    Numbers(Vec<f64>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Integers(values) => values.len(),
            Values::Numbers(values) => values.len(),
        }
    }

    fn text(&self, row: usize) -> String {
        match self {
            Values::Integers(values) => values[row].to_string(),
            // The shortest decimal that is read back as the same double.
            Values::Numbers(values) => values[row].to_string(),
        }
    }
}

impl Table {
    /// A table without columns.
    pub fn new() -> Self {
        Table::default()
    }

    /// With one more column; `None` if it is not as long as the others.
    pub fn column(mut self, name: impl Into<String>, values: Values) -> Option<Self> {
        let fits = self.columns.first().is_none_or(|(_, first)| first.len() == values.len());
        fits.then(|| {
            self.columns.push((name.into(), values));
            self
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, values)| values.len())
    }

    /// Writes CSV with a header.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        writeln!(out, "{}", names.join(","))?;
        for row in 0..self.rows() {
            let cells: Vec<String> = self.columns.iter().map(|(_, values)| values.text(row)).collect();
            writeln!(out, "{}", cells.join(","))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn table() -> Table {
        let numbers = Values::Numbers(vec![0.1, -2.5, 1e300]);
        Table::new()
            .column("epoch", Values::Integers(vec![0, 1, 2]))
            .unwrap()
            .column("loss", numbers)
            .unwrap()
    }

    #[test]
    fn csv_is_read_back() {
        let mut bytes = Vec::new();
        table().write_csv(&mut bytes).unwrap();
        let data = crate::csv::read(&bytes).unwrap();
        assert_eq!(data.columns.unwrap(), ["epoch", "loss"]);
        assert_eq!(data.points.row(2), [2.0, 1e300]);
    }

    #[test]
    fn columns_have_the_same_length() {
        assert!(table().column("x", Values::Integers(vec![1])).is_none());
    }
}
