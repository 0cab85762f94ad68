//! Networks that were built to have a proved property: text and JSON.

use std::path::Path;

use fiberscope::complex::IdentifiableNetwork;
use fiberscope::fiber::Construction;
use fiberscope_core::Digest;
use serde_json::{Value, json};

use crate::folds::paths;

/// The certificate of a network that was built to be identified by its function.
pub fn value(built: &IdentifiableNetwork, seed: u64) -> Value {
    json!({
        "claim": "certified_identifiable",
        "network": Digest::of(&built.network).to_string(),
        "widths": built.network.widths(),
        "domain": built.domain,
        "general": built.certificate.general,
        "transparent": built.certificate.transparent,
        "layers": paths(&built.certificate),
        "seed": seed,
        "attempts": built.attempts,
    })
}

/// What is proved of a network that its function identifies, and the files of network and certificate.
pub fn identifiable_text(built: &IdentifiableNetwork, network: &Path, certificate: &Path) -> String {
    format!(
        "wrote {}: {} (attempt {})\nwrote {}: the paths of every layer\n",
        network.display(),
        identifiable_claim(built),
        built.attempts,
        certificate.display()
    )
}

/// What is proved of a network that its function identifies.
pub fn identifiable_claim(built: &IdentifiableNetwork) -> String {
    let inputs = built.network.input_width();
    format!("general, transparent, and identified by its function on [-1, 1]^{inputs}")
}

/// What is proved of a network and its twin, and the files of network, twin and certificate.
pub fn twin_text(built: &Construction, [network, twin, certificate]: &[String; 3]) -> String {
    let mut text = format!("wrote {network}, its twin {twin} and the certificate {certificate}\n");
    built.claims.iter().for_each(|claim| text += &format!("  proved: {claim}\n"));
    text + "  proved: network and twin compute the same function (certificate checked)\n"
}
