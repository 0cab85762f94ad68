//! What `cargo xtask web` built, if it was there when this crate was compiled.

include!(concat!(env!("OUT_DIR"), "/web.rs"));
