//! Tables of results as CSV and Parquet.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Repetition, Type as PhysicalType};
use parquet::data_type::{DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

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

    /// Writes Parquet: one row group, columns without nulls, not compressed.
    pub fn write_parquet(&self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        self.parquet(out).map_err(|error| match error {
            ParquetError::External(source) => match source.downcast::<io::Error>() {
                Ok(error) => *error,
                Err(other) => io::Error::other(other),
            },
            other => io::Error::other(other),
        })
    }

    fn parquet(&self, out: &mut (dyn Write + Send)) -> Result<(), ParquetError> {
        let field = |(name, values): &(String, Values)| {
            let physical = match values {
                Values::Integers(_) => PhysicalType::INT64,
                Values::Numbers(_) => PhysicalType::DOUBLE,
            };
            let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
            Ok(Arc::new(field.build()?))
        };
        let fields = self.columns.iter().map(field).collect::<Result<Vec<_>, ParquetError>>()?;
        let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?);
        let properties = WriterProperties::builder()
            .set_created_by(concat!("fiberscope ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        for (_, values) in &self.columns {
            let Some(mut column) = group.next_column()? else { break };
            match values {
                Values::Integers(values) => {
                    column.typed::<Int64Type>().write_batch(values, None, None)?;
                }
                Values::Numbers(values) => {
                    column.typed::<DoubleType>().write_batch(values, None, None)?;
                }
            }
            column.close()?;
        }
        group.close()?;
        writer.close()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;

    fn table() -> Table {
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
    fn parquet_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        table().write_parquet(&mut std::fs::File::create(&path).unwrap()).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 3);
        assert_eq!((rows[1].get_long(0).unwrap(), rows[1].get_double(1).unwrap()), (1, -2.5));
    }

    #[test]
    fn columns_have_the_same_length() {
        assert!(table().column("x", Values::Integers(vec![1])).is_none());
    }
}
