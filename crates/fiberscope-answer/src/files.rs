//! Files that answers are written to: pictures and tables.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use fiberscope::train::Record;
use fiberscope_io::table::{Table, Values};
use fiberscope_io::write_atomically;
use fiberscope_report::Svg;
use fiberscope_report::png::{self, PngError};

/// Whether [`write_picture`] knows the ending of this file: to be asked before long work.
pub fn check_picture(path: &Path) -> anyhow::Result<()> {
    let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_lowercase);
    match ending.as_deref() {
        Some("png") if !png::AVAILABLE => {
            Err(PngError::Unavailable).with_context(|| path.display().to_string())
        }
        Some("svg" | "png") => Ok(()),
        _ => anyhow::bail!("{}: expected a file name ending in .svg or .png", path.display()),
    }
}

/// Writes a drawing as SVG or PNG, as the file's name asks for.
pub fn write_picture(path: &Path, drawing: &Svg) -> anyhow::Result<()> {
    check_picture(path)?;
    let bytes = if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("png")) {
        drawing.to_png(2.0).with_context(|| path.display().to_string())?
    } else {
        drawing.to_document().into_bytes()
    };
    write_atomically(path, |file| file.write_all(&bytes))?;
    Ok(())
}

/// The records as a table.
fn records_table(records: &[Record]) -> Table {
    let integers =
        |f: &dyn Fn(&Record) -> u64| Values::Integers(records.iter().map(|r| f(r) as i64).collect());
    let numbers = |f: &dyn Fn(&Record) -> f64| Values::Numbers(records.iter().map(f).collect());
    let columns = [
        ("seed", integers(&|r| r.seed)),
        ("epoch", integers(&|r| r.epoch)),
        ("loss", numbers(&|r| r.loss)),
        ("score", numbers(&|r| r.score)),
        ("rank", integers(&|r| r.rank as u64)),
        ("rank_upper", integers(&|r| r.rank_upper as u64)),
        ("rank_float32", integers(&|r| r.rank_float32 as u64)),
        ("regions", integers(&|r| r.regions as u64)),
        ("switching", integers(&|r| r.switching as u64)),
        ("active", integers(&|r| r.active as u64)),
        ("inactive", integers(&|r| r.inactive as u64)),
        ("drift", numbers(&|r| r.drift)),
    ];
    let add = |table: Table, (name, values): (&str, Values)| {
        table.column(name, values).expect("one entry per record")
    };
    columns.into_iter().fold(Table::new(), add)
}

/// Writes the records as CSV and Parquet: `stem.csv`, `stem.parquet`.
pub fn write_tables(stem: &Path, records: &[Record]) -> anyhow::Result<Vec<String>> {
    let table = records_table(records);
    let (csv, parquet) = (stem.with_extension("csv"), stem.with_extension("parquet"));
    write_atomically(&csv, |file| table.write_csv(file))?;
    write_atomically(&parquet, |file| table.write_parquet(file))?;
    Ok(vec![csv.display().to_string(), parquet.display().to_string()])
}
