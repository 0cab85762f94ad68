//! The zoo: small named networks with known answers, and certificates about them.
//!
//! The files stand in the folder `zoo/` of this crate (the one at the root of the repository leads here) and
//! are part of the program, so that `zoo:NAME` works wherever a model file does.

use serde::Deserialize;

use crate::{IoError, Model, ReadOptions, json};

/// What the zoo says of one of its networks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZooEntry {
    /// The name, as in `zoo:NAME`.
    pub name: String,
    /// The widths.
    pub widths: Vec<usize>,
    /// What the network shows.
    pub shows: String,
    /// The statement it illustrates, with its paper.
    pub statement: String,
    /// The known numbers of dead, linear and nonlinear neurons of each hidden layer, on all of `R^n`.
    pub roles: Vec<[usize; 3]>,
    /// The neuron of layer 1 that layer 2 hides (counted from 1), if any.
    #[serde(default)]
    pub hides: Option<usize>,
}

/// A certificate of the zoo.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZooCertificate {
    /// The file in `zoo/certificates/`.
    pub file: String,
    /// The first network's name.
    pub a: String,
    /// The second network's name.
    pub b: String,
    /// For a certificate that must be refused: part of the reason.
    #[serde(default)]
    pub refused: Option<String>,
    /// For a file that is no certificate, but almost: part of the reason.
    #[serde(default)]
    pub unreadable: Option<String>,
}

impl ZooCertificate {
    /// Whether the certificate must be accepted.
    pub fn is_valid(&self) -> bool {
        self.refused.is_none() && self.unreadable.is_none()
    }
}

macro_rules! embedded {
    ($folder:literal: $($name:literal)*) => {
        &[$(($name, include_str!(concat!("../zoo/", $folder, "/", $name, ".json")))),*]
    };
}

const NETWORKS: &[(&str, &str)] = embedded!("networks":
    "abs" "cancelling" "cancelling-reduced" "constant" "dead" "deep" "deep-rounded" "deep-shuffled"
    "duplicate" "duplicate-merged" "hiding-one" "hiding-one-flipped" "hiding-two" "hiding-two-too-far"
    "hiding-two-translated" "identifiable" "identifiable-nudged" "linear-few" "linear-many"
    "linear-network" "linear-network-folded" "linear-pointed" "linear-square" "linear-square-turned"
    "nonlocal" "nonlocal-turned" "tent" "unconnected");

const CERTIFICATES: &[(&str, &str)] = embedded!("certificates":
    "abs-line" "abs-line-more" "cancelling-folded" "cancelling-reduced" "constant-on-a-box" "dead-inserted" "deep-close" "deep-difference" "deep-muted" "deep-rounded"
    "deep-shifted" "deep-shuffled" "deep-tails" "duplicate-merged" "duplicate-nudged" "duplicate-split" "hiding-one-classes" "hiding-one-flipped" "hiding-two-difference" "hiding-two-rank" "hiding-two-regions"
    "hiding-two-same" "hiding-two-signs" "hiding-two-too-far" "hiding-two-translated" "identifiable-nudged" "identifiable-rank" "identifiable-rank-box" "linear-network-folded"
    "linear-network-unfolded" "linear-square-hyperplanes" "linear-square-turned" "nonlocal-turned");

/// The networks of the zoo, in the order of `zoo/index.json`.
pub fn entries() -> Vec<ZooEntry> {
    serde_json::from_str(include_str!("../zoo/index.json")).expect("a test reads the index")
}

/// The network of that name.
pub fn network(name: &str) -> Result<Model, IoError> {
    let unknown = || IoError::UnknownZooNetwork { name: name.into() };
    let (_, text) = NETWORKS.iter().find(|(known, _)| *known == name).ok_or_else(unknown)?;
    let read = json::read(text.as_bytes(), &ReadOptions::default());
    read.map_err(|source| IoError::Format { path: format!("zoo:{name}").into(), source })
}

/// The valid certificate of that name, as JSON.
pub fn certificate(name: &str) -> Option<&'static str> {
    CERTIFICATES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
