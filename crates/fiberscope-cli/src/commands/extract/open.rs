//! From the words of the command line to an oracle.

use std::env;
use std::time::Duration;

use anyhow::{Context, bail};
use fiberscope::extract::{NetworkOracle, Oracle};
use fiberscope::limit::Deadline;

use super::args::ExtractArgs;
use crate::commands::read_dense_model;
use crate::oracle::{HttpOptions, HttpOracle, Patience, ProcessOracle};
use crate::output::Output;

/// So many queries at once, unless there are many inputs.
const BATCH: usize = 512;
/// About so many numbers are sent at once, a megabyte of JSON.
const NUMBERS: usize = 50_000;
/// A model in this process is asked so much at once.
const OWN_BATCH: usize = 4096;

/// An oracle, its name, and how many queries to ask at once.
pub struct Opened {
    pub oracle: Box<dyn Oracle>,
    pub name: String,
    pub batch: usize,
    /// The number of classes of an oracle that answers only these.
    pub classes: Option<usize>,
}

/// Opens the oracle that the command line names.
pub fn open(args: &ExtractArgs, deadline: &Deadline, output: &Output) -> anyhow::Result<Opened> {
    let patience =
        Patience { timeout: Duration::from_secs_f64(args.remote.timeout), deadline: deadline.clone() };
    let Some(name) = args.oracle.clone() else {
        only_endpoints(args, "a command")?;
        let words: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
        let oracle = ProcessOracle::start(&args.command, patience)?;
        let batch = batch(args, oracle.inputs(), oracle.max_batch());
        let (name, classes) = (words.join(" "), oracle.classes());
        return Ok(Opened { name, batch, classes, oracle: Box::new(oracle) });
    };
    if is_endpoint(&name) {
        let options = http_options(args, &name, output)?;
        let oracle = HttpOracle::connect(&name, options, patience)?;
        let batch = batch(args, oracle.inputs(), oracle.max_batch());
        let classes = oracle.classes();
        return Ok(Opened { oracle: Box::new(oracle), name, batch, classes });
    }
    only_endpoints(args, "a model")?;
    let network = read_dense_model(&name, &args.read.options(), output)?.network;
    let oracle = Box::new(NetworkOracle::new(network));
    Ok(Opened { oracle, name, batch: OWN_BATCH, classes: None })
}

/// Whether a word is the address of an endpoint.
pub fn is_endpoint(name: &str) -> bool {
    name.starts_with("http://") || name.starts_with("https://")
}

/// Flags that only make sense for endpoints are mistakes elsewhere.
fn only_endpoints(args: &ExtractArgs, found: &str) -> anyhow::Result<()> {
    let remote = &args.remote;
    let given = [
        ("--rate", remote.rate.is_some()),
        ("--token-env", remote.token_env.is_some()),
        ("--sizes", remote.sizes.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) => bail!("{flag}: expected an oracle http(s)://..., found {found}"),
        None => Ok(()),
    }
}

fn http_options(args: &ExtractArgs, url: &str, output: &Output) -> anyhow::Result<HttpOptions> {
    let remote = &args.remote;
    let token = remote.token_env.as_ref().map(|name| token(name)).transpose()?;
    let local =
        ["http://localhost", "http://127.", "http://[::1]"].iter().any(|start| url.starts_with(start));
    if token.is_some() && url.starts_with("http://") && !local {
        output.note("the token is sent over http, where others can read it; https protects it");
    }
    Ok(HttpOptions { sizes: remote.sizes, retries: remote.retries, rate: remote.rate, token })
}

fn token(name: &str) -> anyhow::Result<String> {
    let value =
        env::var(name).with_context(|| format!("--token-env: the environment variable {name} is not set"))?;
    let value = value.trim().to_owned();
    if value.is_empty() || value.chars().any(|c| c.is_control() || !c.is_ascii()) {
        bail!("--token-env: the environment variable {name} does not hold a token");
    }
    Ok(value)
}

/// How many queries to send at once.
fn batch(args: &ExtractArgs, inputs: usize, most: Option<usize>) -> usize {
    let wanted = args.remote.batch.map_or(BATCH.min(NUMBERS / inputs.max(1)), |batch| batch as usize);
    // With a rate, no batch takes more than a second of it.
    let rate = args.remote.rate.map_or(usize::MAX, |rate| rate as usize);
    wanted.min(most.unwrap_or(usize::MAX)).min(rate).max(1)
}
