//! Tables as Parquet files.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Repetition, Type as PhysicalType};
use parquet::data_type::{DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::{Table, Values};

impl Table {
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

    use crate::table::tests::table;

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
}
