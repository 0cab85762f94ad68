//! `fiberscope explore`

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use clap::Args;
use fiberscope_io::{IoError, Model, load_data, write_atomically};
use fiberscope_report::explore::{Server, page};
use serde_json::json;

use super::read_dense_model;
use crate::Answer;
use crate::args::{Global, ReadArgs};
use crate::output::Output;

/// Explore a network in the browser: regions, folds, weights, and its fiber
///
/// Serves one page, with the network in it, on this machine only, under an address that nobody can guess;
/// Ctrl-C (or --time-limit) stops. The page computes in the browser. With -o it is written to a file instead,
/// which needs no server and can be handed on.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  fiberscope explore zoo:hiding-two\n  fiberscope explore model.onnx --port 8080\n  fiberscope explore model.onnx --data inputs.csv -o explorer.html"
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
    #[arg(long = "out", short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// A table (.csv, .npy, .npz) through whose rows planes can be laid
    #[arg(long, value_name = "FILE", requires = "model")]
    pub data: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
}

pub fn run(args: &ExploreArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    let model = args
        .model
        .as_deref()
        .map(|model| read_dense_model(model, &args.read.options(), output))
        .transpose()?;
    let network = args.model.as_deref().zip(model.as_ref().map(|model| &model.network));
    let read = |path: &PathBuf| Ok::<_, IoError>((path.display().to_string(), load_data(path)?.points));
    let table = args.data.as_ref().map(read).transpose()?;
    let table = table.as_ref().map(|(name, points)| (name.as_str(), points));
    let page = page(network, &model.as_ref().map_or_else(Vec::new, Model::remarks), table)?;
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
    server.serve(&global.deadline());
    Ok(Answer::Yes)
}
