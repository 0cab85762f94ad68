//! The benchmark set: named networks with everything that is proved about them, so that other programs can be tested
//! against it.
//!
//! The networks of the zoo, and generated ones: `random-WIDTHS-SEED` is the network that `train` starts with. What is
//! not decided is `null`. Ranks on all regions are computed modulo primes: `functional_dimension` has bounds that are
//! certain, and they need not meet.

use fiberscope::anatomy::examine;
use fiberscope::canonical::canonicalize;
use fiberscope::complex::ComplexOptions;
use fiberscope::dimension::{DimensionOptions, full_functional_dimension, list_regions};
use fiberscope::limit::Deadline;
use fiberscope::train::{Initialization, initial_network};
use fiberscope_core::{Domain, Network};
use fiberscope_io::{json as network_json, zoo};
use serde_json::{Value, json};

use crate::words::joined;
use crate::{Say, anatomy, rigidity::Local};

/// How many networks the set has.
const NETWORKS: usize = 100;
/// The widths of generated networks, one after the other, with increasing seeds.
const WIDTHS: [&[usize]; 12] = [
    &[1, 4, 1],
    &[2, 3, 1],
    &[2, 5, 2],
    &[2, 2, 2, 1],
    &[3, 3, 2, 1],
    &[4, 4, 3, 2],
    &[2, 4, 4, 1],
    &[3, 5, 4, 2],
    &[2, 3, 3, 3, 1],
    &[3, 3, 3, 2, 2, 1],
    &[1, 3, 3, 1],
    &[5, 4, 3, 1],
];
/// Regions are listed up to this number.
const REGIONS: u64 = 20_000;

/// The set as one JSON object; unfinished (`complete: false`) if the deadline comes first.
pub fn benchmark_set(deadline: &Deadline, say: Say) -> anyhow::Result<Value> {
    let mut found = Vec::new();
    for (name, shows, network) in networks()? {
        if deadline.is_past() {
            break;
        }
        say(&name);
        let facts = facts(&name, shows, &network, deadline)?;
        if !deadline.is_past() {
            found.push(facts);
        }
    }
    Ok(json!({
        "format": "fiberscope-benchmark-set",
        "version": 1,
        "complete": found.len() == NETWORKS,
        "domain": "space",
        "networks": found,
    }))
}

fn networks() -> anyhow::Result<Vec<(String, Option<String>, Network)>> {
    let mut all = Vec::new();
    for entry in zoo::entries() {
        all.push((format!("zoo:{}", entry.name), Some(entry.shows), zoo::network(&entry.name)?.network));
    }
    for number in 0..NETWORKS.saturating_sub(all.len()) {
        let (widths, seed) = (WIDTHS[number % WIDTHS.len()], (number / WIDTHS.len()) as u64);
        let name = format!("random-{}-{seed}", joined(widths, "-"));
        all.push((name, None, initial_network(widths, Initialization::He, false, seed)));
    }
    Ok(all)
}

fn facts(name: &str, shows: Option<String>, network: &Network, deadline: &Deadline) -> anyhow::Result<Value> {
    let domain = Domain::Space;
    let found = examine(network, &domain, deadline);
    let mut value = anatomy::value(&found);
    let local = Local::examine(network, &domain, &found, false, (0, deadline));
    local.add_to(&mut value);
    let options = ComplexOptions::new().regions(REGIONS).deadline(deadline.clone());
    let regions = list_regions(network, &domain, &options).ok().flatten();
    let options = DimensionOptions::new().deadline(deadline.clone());
    let dimension = regions.as_ref().map(|regions| full_functional_dimension(network, regions, &options));
    let canonical = canonicalize(network, &domain, deadline).ok();
    let mut text = Vec::new();
    network_json::write(network, &mut text)?;
    let certificate =
        local.certificate().map(|certificate| serde_json::from_str::<Value>(&certificate.to_json()));
    value["name"] = json!(name);
    value["shows"] = json!(shows);
    value["regions"] = json!(regions.map(|regions| regions.count()));
    value["functional_dimension"] =
        json!(dimension.map(|found| json!({"lower": found.rank.lower, "upper": found.upper})));
    value["canonical"] = json!(canonical.map(|found| json!({
        "fingerprint": found.fingerprint,
        "class": found.class.name(),
        "complete": found.class.is_complete(),
        "widths": found.network.widths(),
    })));
    value["certificate"] = certificate.transpose()?.unwrap_or(Value::Null);
    value["network"] = serde_json::from_slice(&text)?;
    Ok(value)
}
