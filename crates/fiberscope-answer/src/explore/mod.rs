//! The explorer page: with a network in it, as a file or from a server on this machine.

mod request;
mod server;

use anyhow::{Context, ensure};
use fiberscope_core::Network;
use fiberscope_report::page::data_block;
use fiberscope_report::web::EXPLORER;
use serde_json::json;

use crate::report::network_text;
pub use server::Server;

/// Networks with more parameters are not put into a page.
const LARGEST: usize = 1 << 18;
/// Where the page expects the network.
const PLACE: &str = r#"<script type="application/json" id="model">null</script>"#;

/// The page, with a network in it if one is given; `notes` are those of its reader.
pub fn page(network: Option<(&str, &Network)>, notes: &[String]) -> anyhow::Result<String> {
    let data = network.map(|(name, network)| data(name, network, notes)).transpose()?;
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
fn data(name: &str, network: &Network, notes: &[String]) -> anyhow::Result<String> {
    let found = network.parameter_count();
    ensure!(found <= LARGEST, "{name}: {found} parameters; the explorer takes at most {LARGEST}");
    // The page shows the name of the file, without the folders on the way to it.
    let short = std::path::Path::new(name).file_name().map_or(name.into(), |name| name.to_string_lossy());
    let data = json!({"name": short, "network": network_text(network)?, "notes": notes});
    Ok(data_block("model", &data.to_string()))
}
