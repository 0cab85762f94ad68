//! The command as one file to download: for Linux linked statically, so that it runs on any distribution.

use std::fs;
use std::path::Path;

use crate::shell::{Failure, cargo, program, root, target};

/// What lies beside the program in its archive.
const BESIDE: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Builds the command for a target as it is released, and packs it into `programs/` of the target folder.
pub fn build(triple: &str) -> Result<(), Failure> {
    let package = ["--package", "fiberscope-cli", "--features", "full", "--locked", "--target", triple];
    cargo(&[&["build", "--profile", "dist"], &package[..]].concat()).run()?;
    let name = if triple.contains("windows") { "fiberscope.exe" } else { "fiberscope" };
    let built = target().join(triple).join("dist").join(name);
    if triple.contains("musl") {
        is_static(&built)?;
    }
    if runs_here(triple) {
        program(&built, &["equiv", "zoo:hiding-two", "zoo:hiding-two-translated"]).run()?;
    }
    pack(triple, &built, name)
}

/// Whether this machine runs programs of the target: its own processor and system.
fn runs_here(triple: &str) -> bool {
    triple.starts_with(std::env::consts::ARCH)
        && match std::env::consts::OS {
            "macos" => triple.contains("apple"),
            system => triple.contains(system),
        }
}

/// A static program names no interpreter that would load libraries for it: the path of one stands in the file
/// if there is.
fn is_static(path: &Path) -> Result<(), Failure> {
    let bytes = fs::read(path).map_err(|error| Failure(format!("{}: {error}", path.display())))?;
    for loader in [&b"/lib64/ld-linux"[..], b"/lib/ld-linux", b"/lib/ld-musl"] {
        // The name is looked for in the first page, where the headers and the interpreter stand.
        if bytes[..bytes.len().min(4096)].windows(loader.len()).any(|window| window == loader) {
            return Err(Failure(format!("{}: linked dynamically", path.display())));
        }
    }
    Ok(())
}

fn pack(triple: &str, built: &Path, name: &str) -> Result<(), Failure> {
    let stem = format!("fiberscope-{}-{triple}", env!("CARGO_PKG_VERSION"));
    let programs = target().join("programs");
    let folder = target().join("packing").join(&stem);
    let failed = |error| Failure(format!("{}: {error}", folder.display()));
    fs::create_dir_all(&folder).map_err(failed)?;
    fs::create_dir_all(&programs).map_err(failed)?;
    fs::copy(built, folder.join(name)).map_err(failed)?;
    for file in BESIDE {
        fs::copy(root().join(file), folder.join(file)).map_err(failed)?;
    }
    // Windows has this tar too, and it writes zip files by their name.
    let ending = if triple.contains("windows") { "zip" } else { "tar.gz" };
    let archive = programs.join(format!("{stem}.{ending}")).display().to_string();
    let from = target().join("packing").display().to_string();
    program("tar", &["-c", "-a", "-f", &archive, "-C", &from, &stem]).run()
}
