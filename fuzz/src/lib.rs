//! What every fuzz target does with its bytes.
//!
//! A reader may refuse anything, but neither panic nor hang, and what it accepts must be a network:
//! it survives being written and read again.
//!
//! `cargo xtask fuzz json` starts from the committed corpus and keeps what it finds under `fuzz/target`;
//! inputs worth keeping go to `crates/fiberscope-io/tests/corpus`, where `tests/hostile.rs` reads them.

use fiberscope_check::{check, check_reader};
use fiberscope_core::{Certificate, NetworkName};
use fiberscope_io::{FormatError, Model, Normalization, ReadOptions, json, zoo};

/// The reader of a network format.
pub type Reader = fn(&[u8], &ReadOptions) -> Result<Model, FormatError>;

/// Reads a network, with and without its normalisation, and expects JSON to keep every bit of it.
pub fn model(read: Reader, bytes: &[u8]) {
    for normalization in [Normalization::Fold, Normalization::Ignore] {
        let options = ReadOptions { normalization, max_dense_entries: 1 << 16 };
        let Ok(model) = read(bytes, &options) else { continue };
        let mut written = Vec::new();
        json::write(&model.network, &mut written).expect("writing to memory does not fail");
        let again = json::read(&written, &options).expect("what was written can be read");
        let (old, new) = (model.network.layers(), again.network.layers());
        // Doubles compare equal to themselves except for the sign of zero, which their text shows.
        assert_eq!(format!("{old:?}"), format!("{new:?}"));
    }
}

/// Reads data or anything else; what matters is that it returns.
pub fn any<T, E>(read: impl Fn(&[u8]) -> Result<T, E>, bytes: &[u8]) {
    let _ = read(bytes);
}

/// Checks a certificate against zoo networks, as if it were for them; what matters is that it returns, and
/// that it makes no difference whether the certificate is read as a stream. What is read is written as it
/// was.
pub fn certificate(bytes: &[u8]) {
    let networks = ["deep", "hiding-two", "cancelling"]
        .map(|name| zoo::network(name).expect("a network of the zoo").network);
    let _ = check_reader(bytes, &networks[0], &networks[0], &|| false);
    let Ok(mut certificate) = Certificate::from_json(bytes) else { return };
    for network in &networks {
        (certificate.a, certificate.b) = (NetworkName::of(network), NetworkName::of(network));
        let outcome = check(&certificate, network, network);
        let text = certificate.to_json();
        let streamed = check_reader(text.as_bytes(), network, network, &|| false);
        assert_eq!(streamed.expect("what was written can be read").outcome, outcome);
    }
}
