//! The explorer page: with a network in it, as a file or from a server on this machine.

mod request;
mod server;

use crate::page::data_block;
use anyhow::{Context, ensure};
use fiberscope_core::{Matrix, Network};
use serde_json::json;

use crate::report::network_text;
use crate::web::EXPLORER;
pub use server::Server;

/// Networks with more parameters are not put into a page.
const LARGEST: usize = 1 << 18;
/// Where the page expects the network.
const PLACE: &str = r#"<script type="application/json" id="model">null</script>"#;

/// The page, with a network in it if one is given; `notes` are those of its reader. Planes can be laid through the rows of
/// a table.
pub fn page(
    network: Option<(&str, &Network)>,
    notes: &[String],
    table: Option<(&str, &Matrix)>,
) -> anyhow::Result<String> {
    let data = network.map(|(name, network)| data(name, network, notes, table)).transpose()?;
    let page = EXPLORER.context(
        "this build has no explorer page: run `cargo xtask web` in the repository and build again",
    )?;
    ensure!(
        page.contains(PLACE),
        "the explorer page of this build has no place for a network; build it again"
    );
    Ok(data.map_or_else(|| page.to_owned(), |data| page.replacen(PLACE, &data, 1)))
}

/// The network as the block of data that the page reads.
fn data(
    name: &str,
    network: &Network,
    notes: &[String],
    table: Option<(&str, &Matrix)>,
) -> anyhow::Result<String> {
    let found = network.parameter_count();
    ensure!(found <= LARGEST, "{name}: {found} parameters; the explorer takes at most {LARGEST}");
    let mut data = json!({"name": file_name(name), "network": network_text(network)?, "notes": notes});
    if let Some((name, points)) = table {
        data["data"] = json!({"name": file_name(name), "rows": rows(name, points, network.input_width())?});
    }
    Ok(data_block("model", &data.to_string()))
}

/// The page shows the name of a file, without the folders on the way to it.
fn file_name(name: &str) -> String {
    std::path::Path::new(name).file_name().map_or(name.into(), |name| name.to_string_lossy().into_owned())
}

/// The first columns of a table, one for each input; as many rows as a page has room for.
fn rows<'a>(name: &str, points: &'a Matrix, inputs: usize) -> anyhow::Result<Vec<&'a [f64]>> {
    let found = points.cols();
    ensure!(found >= inputs, "{name}: expected {inputs} columns (one per input), found {found}");
    ensure!(points.entries().iter().all(|x| x.is_finite()), "{name}: expected finite numbers");
    Ok(points.iter_rows().take(LARGEST / inputs).map(|row| &row[..inputs]).collect())
}
