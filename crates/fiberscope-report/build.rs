//! Embeds the explorer page and the checker that `cargo xtask web` builds, where they are.
#![allow(clippy::print_stdout, reason = "how a build script talks to cargo")]

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> std::io::Result<()> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist");
    // A folder that is not there would make cargo run this every time.
    let watched = if built.is_dir() { "dist" } else { "build.rs" };
    println!("cargo::rerun-if-changed={watched}");
    let constant = |name: &str, about: &str, file: &str| {
        let path = built.join(file);
        let value = if path.is_file() { format!("Some(include_str!({path:?}))") } else { "None".into() };
        format!("/// {about}\npub const {name}: Option<&str> = {value};\n")
    };
    let code = constant("EXPLORER", "The explorer page.", "explorer.html")
        + &constant("CHECKER", "The checker as WebAssembly, in base64.", "checker.b64");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names a folder for what is made"));
    fs::write(out.join("web.rs"), code)
}
