//! `fiberscope explore`

mod request;
mod server;

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use fiberscope_io::write_atomically;
use fiberscope_report::page::data_block;
use serde_json::json;

use super::read_model;
use super::report::network_text;
use crate::Answer;
use crate::args::{Global, ReadArgs};
use crate::output::Output;
use crate::web::EXPLORER;
use server::Server;

/// Networks with more parameters are not put into a page.
const LARGEST: usize = 1 << 18;
/// Where the page expects the network.
const PLACE: &str = r#"<script type="application/json" id="model">null</script>"#;

/// Explore a network in the browser: regions, folds, weights, and its fiber
///
/// Serves one page, with the network in it, on this machine only, under an address that nobody can guess; Ctrl-C (or --time-limit) stops. The page computes in the
/// browser. With --output it is written to a file instead, which needs no server and can be handed on.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope explore zoo:hiding-two\n  fiberscope explore model.onnx --port 8080\n  fiberscope explore model.onnx --output explorer.html"
)]
pub struct ExploreArgs {
    /// The network [default: the page begins with an example]
    pub model: Option<String>,
    /// The port [default: one that is free]
    #[arg(long, value_name = "N", conflicts_with = "output")]
    pub port: Option<u16>,
    /// The address to listen at; others than the default let other machines in that know the link
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), conflicts_with = "output")]
    pub address: IpAddr,
    /// Write the page to this file and serve nothing
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
}

pub fn run(args: &ExploreArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let data = args.model.as_deref().map(|model| read_data(model, args, output)).transpose()?;
    let page = EXPLORER.context(
        "this build has no explorer page: run `cargo xtask web` in the repository and build the command again",
    )?;
    ensure!(
        page.contains(PLACE),
        "the explorer page of this build has no place for a network; build it again"
    );
    let page = data.map_or_else(|| page.to_owned(), |data| page.replacen(PLACE, &data, 1));
    if let Some(path) = &args.output {
        write_atomically(path, |file| file.write_all(page.as_bytes()))?;
        let text = format!("wrote {}: open it in a browser\n", path.display());
        output.result(&text, &json!({"output": path.display().to_string()}))?;
        return Ok(Answer::Yes);
    }
    let server = Server::bind(args.address, args.port.unwrap_or(0), page.into_bytes())?;
    if !args.address.is_loopback() {
        output.note("other machines can reach this page if they know its address");
    }
    let url = server.url();
    let text = format!("the explorer is at {url}\nCtrl-C stops it\n");
    output.result(&text, &json!({"url": url, "port": server.port()}))?;
    server.serve(global.time_limit.map(Duration::from_secs_f64));
    Ok(Answer::Yes)
}

/// The network as the block of data that the page reads.
fn read_data(model: &str, args: &ExploreArgs, output: &Output) -> anyhow::Result<String> {
    let read = read_model(model, &args.read.options(), output)?;
    let found = read.network.parameter_count();
    ensure!(found <= LARGEST, "{model}: {found} parameters; the explorer takes at most {LARGEST}");
    let name = Path::new(model).file_name().map_or(model.into(), |name| name.to_string_lossy());
    let data = json!({"name": name, "network": network_text(&read.network)?, "notes": read.notes});
    Ok(data_block("model", &data.to_string()))
}
