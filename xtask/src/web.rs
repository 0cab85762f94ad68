//! The explorer page and the checker as WebAssembly, each one file in [`DIST`], where the crate that embeds
//! them finds them when it is compiled or packaged.

use std::fs;
use std::path::Path;

use crate::shell::{Failure, cargo, program, root, target};

/// Where they go: into the crate that embeds them.
pub const DIST: &str = "crates/fiberscope-report/dist";
const TARGET: &str = "wasm32-unknown-unknown";
/// Browsers start no larger module on the page itself, outside of workers.
const LARGEST: usize = 8 << 20;
/// What runs a module, shared with reports.
const ENGINE: &str = "crates/fiberscope-report/src/page/engine.js";
/// The scripts of the page that come after it, in this order.
const SCRIPTS: [&str; 11] = [
    "network", "palette", "heights", "plane", "view", "judge", "app", "panels", "settings", "pointer", "main",
];

/// What the compiler does for the pages: profiles of the workspace.
#[derive(Clone, Copy)]
pub enum Effort {
    /// For those who look at them.
    Full,
    /// For tests, which look at small networks: less time of the compiler.
    Tests,
}

impl Effort {
    fn profile(self) -> &'static str {
        match self {
            Effort::Full => "web",
            Effort::Tests => "web-tests",
        }
    }
}

/// Builds both.
pub fn build(effort: Effort) -> Result<(), Failure> {
    add_target()?;
    let explorer = module(effort, &[])?;
    if explorer.len() > LARGEST {
        let size = explorer.len();
        return Err(Failure(format!(
            "the module of the explorer has {size} bytes, browsers start {LARGEST}"
        )));
    }
    let explorer = base64(&explorer);
    let checker = base64(&module(effort, &["--no-default-features"])?);
    let page = page(&explorer)?;
    for (name, text) in [("explorer.html", &page), ("checker.b64", &checker)] {
        let path = root().join(DIST).join(name);
        // The command is compiled again only if something changed.
        if fs::read_to_string(&path).is_ok_and(|old| old == *text) {
            continue;
        }
        fs::write(&path, text).map_err(|error| Failure(format!("{}: {error}", path.display())))?;
        println!("wrote {DIST}/{name} ({} kB)", text.len() / 1000);
    }
    Ok(())
}

fn add_target() -> Result<(), Failure> {
    let sysroot = program("rustc", &["--print", "sysroot"]).output()?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).is_dir() {
        return Ok(());
    }
    program("rustup", &["target", "add", TARGET]).run().map_err(|Failure(message)| {
        Failure(format!(
            "{message}\nthe Rust target {TARGET} is needed for the explorer and for checkers in reports"
        ))
    })
}

/// Builds the module with these further arguments.
fn module(effort: Effort, arguments: &[&str]) -> Result<Vec<u8>, Failure> {
    let profile = effort.profile();
    let common = ["build", "--profile", profile, "--target", TARGET, "--package", "fiberscope-web"];
    cargo(&[&common, arguments].concat()).run()?;
    read_bytes(&target().join(TARGET).join(profile).join("fiberscope_web.wasm"))
}

/// The page with its style, its scripts and the module in it.
fn page(module: &str) -> Result<String, Failure> {
    let part = |name: &str| read(&root().join("web/page").join(name));
    let mut script = String::from("\"use strict\";\n(() => {\n");
    script += &read(&root().join(ENGINE))?;
    for name in SCRIPTS {
        script += &part(&format!("{name}.js"))?;
    }
    script += "})();\n";
    if script.contains("</script") {
        return Err(Failure("web/page: a script must not contain the text that ends it".into()));
    }
    let page = part("explorer.html")?.replace("{{style}}", &part("explorer.css")?);
    Ok(page.replace("{{script}}", &script).replace("{{wasm}}", module))
}

fn read(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read_bytes(path)?).map_err(|error| Failure(format!("{}: {error}", path.display())))
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure(format!("{}: {error}", path.display())))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for block in bytes.chunks(3) {
        let number = (0..3).fold(0u32, |sum, i| sum << 8 | u32::from(block.get(i).copied().unwrap_or(0)));
        for i in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * i)) as usize % 64] as char;
            text.push(if i <= block.len() { digit } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (text, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(text.as_bytes()), expected);
        }
        assert_eq!(base64(&[251, 255, 191]), "+/+/");
    }
}
