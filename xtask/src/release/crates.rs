//! Crates for crates.io: every member of the workspace that may be published, packed and compiled from its
//! package.

use std::fs;

use serde_json::Value;

use crate::shell::{Failure, cargo, root, target};
use crate::web::DIST;

/// What crates.io takes.
const LARGEST: u64 = 10 << 20;

/// Packs the crates; each is compiled from its package, with the packages of the others.
pub fn package() -> Result<(), Failure> {
    let names = publishable()?;
    let mut words = vec!["package", "--locked", "--allow-dirty"];
    words.extend(names.iter().flat_map(|(name, _)| ["--package", name]));
    cargo(&words).run()?;
    for (name, version) in &names {
        let path = target().join("package").join(format!("{name}-{version}.crate"));
        let size =
            fs::metadata(&path).map_err(|error| Failure(format!("{}: {error}", path.display())))?.len();
        println!("{name} {version}: {} kB", size / 1000);
        if size > LARGEST {
            return Err(Failure(format!("{name}: {size} bytes, and crates.io takes {LARGEST}")));
        }
    }
    embedded()
}

/// The page and the checker must be in the crate that embeds them.
fn embedded() -> Result<(), Failure> {
    let (folder, dist) = DIST.rsplit_once('/').unwrap_or((DIST, ""));
    let list = ["package", "--list", "--allow-dirty", "--manifest-path"];
    let manifest = root().join(folder).join("Cargo.toml").display().to_string();
    let files = cargo(&[&list[..], &[&manifest]].concat()).output()?;
    for name in ["explorer.html", "checker.b64"] {
        let file = format!("{dist}/{name}");
        if !files.lines().any(|line| line.replace('\\', "/") == file) {
            return Err(Failure(format!("{folder}: its package lacks {file}")));
        }
    }
    Ok(())
}

/// Names and versions of the crates that may be published.
fn publishable() -> Result<Vec<(String, String)>, Failure> {
    let text = cargo(&["metadata", "--no-deps", "--format-version", "1"]).output()?;
    let metadata: Value =
        serde_json::from_str(&text).map_err(|error| Failure(format!("cargo metadata: {error}")))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    // `publish = false` is an empty list of registries there.
    let open = packages.filter(|package| package["publish"].is_null());
    let word = |package: &Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
    Ok(open.map(|package| (word(package, "name"), word(package, "version"))).collect())
}
