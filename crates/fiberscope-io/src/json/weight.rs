//! The value of `weight`: a list of rows, or an object with the entries that are not zero.

use std::fmt;

use fiberscope_core::{Matrix, SparseMatrix, Weights};
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::json_text::{Key, Number, Numbers, Place, once, required, seed};

/// A weight, and whether it is given by its entries.
pub(super) struct Weight<'p> {
    pub(super) place: &'p mut Place,
    /// The most columns of a weight whose zeros the file does not hold.
    pub(super) most_columns: usize,
}

seed!(Weight<'_>, deserialize_any);

impl<'de> Visitor<'de> for Weight<'_> {
    type Value = (Weights, bool);

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of rows")
    }

    /// All rows go into one vector.
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let (mut entries, mut rows, mut cols) = (Vec::new(), 0, 0);
        loop {
            let name = |j| format!("weight[{}][{j}]", rows + 1);
            match list.next_element_seed(Numbers { into: &mut entries, place: self.place, name }) {
                Ok(Some(found)) if rows == 0 => cols = found,
                Ok(Some(found)) if found == cols => {}
                Ok(Some(found)) => {
                    let message =
                        format_args!("row {} has {found} entries; expected {cols}, as in row 1", rows + 1);
                    return Err(A::Error::custom(message));
                }
                Ok(None) => break,
                Err(error) => {
                    return Err(self.place.inside_at_least(format_args!("weight[{}]", rows + 1), error));
                }
            }
            rows += 1;
        }
        entries.shrink_to_fit();
        let matrix = Matrix::from_entries(rows, cols, entries).expect("every row has this many columns");
        Ok((matrix.into(), false))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        const KEYS: &[&str] = &["columns", "rows"];
        let (mut columns, mut rows) = (None, None);
        while let Some(key) = map.next_key_seed(Key(KEYS))? {
            let read = match key {
                0 => map.next_value_seed(Columns).and_then(|value| once(&mut columns, value)),
                _ => map.next_value_seed(Rows { place: self.place }).and_then(|value| once(&mut rows, value)),
            };
            read.map_err(|error| self.place.inside_at_least(KEYS[key], error))?;
        }
        let (columns, rows): (usize, Vec<Entries>) = (required(columns, "columns")?, required(rows, "rows")?);
        if columns > self.most_columns {
            let most = self.most_columns;
            return Err(A::Error::custom(format_args!("{columns} columns; expected at most {most}")));
        }
        let mut matrix = SparseMatrix::with_capacity(columns, rows.len(), rows.iter().map(Vec::len).sum());
        for (i, row) in rows.into_iter().enumerate() {
            if let Some((last, _)) = row.last().filter(|(last, _)| *last >= columns) {
                let found = format_args!("row {} has an entry in column {}", i + 1, last + 1);
                return Err(A::Error::custom(format_args!("{found}; expected at most {columns}")));
            }
            matrix.push_row(row);
        }
        Ok((matrix.into(), true))
    }
}

struct Columns;

seed!(Columns, deserialize_u64);

impl Visitor<'_> for Columns {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number of columns")
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<usize, E> {
        usize::try_from(count).map_err(E::custom)
    }
}

/// The entries of a row: increasing columns from 0, and numbers.
type Entries = Vec<(usize, f64)>;

struct Rows<'p> {
    place: &'p mut Place,
}

seed!(Rows<'_>, deserialize_seq);

impl<'de> Visitor<'de> for Rows<'_> {
    type Value = Vec<Entries>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of rows, each a list of pairs [column, number]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut rows: Vec<Entries> = Vec::new();
        loop {
            match list.next_element_seed(OneRow) {
                Ok(Some(row)) => rows.push(row),
                Ok(None) => return Ok(rows),
                Err(error) => {
                    return Err(self
                        .place
                        .inside_at_least(format_args!("weight row {}", rows.len() + 1), error));
                }
            }
        }
    }
}

struct OneRow;

seed!(OneRow, deserialize_seq);

impl<'de> Visitor<'de> for OneRow {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of pairs [column, number]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Entries, A::Error> {
        let mut row = Entries::new();
        while let Some((column, number)) = list.next_element_seed(Pair)? {
            let after = row.last().is_none_or(|(last, _)| *last < column);
            if !after {
                return Err(A::Error::custom(format_args!(
                    "column {} does not come after the one before",
                    column + 1
                )));
            }
            row.push((column, number));
        }
        row.shrink_to_fit();
        Ok(row)
    }
}

struct Pair;

seed!(Pair, deserialize_seq);

impl<'de> Visitor<'de> for Pair {
    type Value = (usize, f64);

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a pair [column, number]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(usize, f64), A::Error> {
        let short = || A::Error::custom("expected a pair [column, number]");
        let column = list.next_element_seed(Columns)?.ok_or_else(short)?;
        let number = list.next_element_seed(Number)?.ok_or_else(short)?;
        if list.next_element::<IgnoredAny>()?.is_some() {
            return Err(short());
        }
        let column =
            column.checked_sub(1).ok_or_else(|| A::Error::custom("columns count from 1, found 0"))?;
        Ok((column, number))
    }
}
