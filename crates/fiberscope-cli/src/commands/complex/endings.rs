//! The names of files for pictures and exports of complexes.

use std::path::Path;

use anyhow::{bail, ensure};

use super::args::RegionsArgs;
use crate::output::check_picture;

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or("")
}

/// Refuses what cannot be drawn before anything is computed.
pub fn check(args: &RegionsArgs, inputs: usize) -> anyhow::Result<()> {
    for path in &args.plot {
        let name = path.display();
        match (ending(path), inputs) {
            ("svg" | "png" | "pdf" | "tex", 1 | 2) => check_picture(path)?,
            ("html", 3) => {}
            ("svg" | "png" | "pdf" | "tex", 3) => bail!(
                "{name}: a complex with 3 inputs is drawn as .html; for .svg, .png, .pdf and .tex draw a slice (--slice, --directions)"
            ),
            ("html", 1 | 2) => {
                bail!("{name}: a complex with {inputs} inputs is drawn as .svg, .png, .pdf or .tex")
            }
            ("svg" | "png" | "pdf" | "tex" | "html", _) => bail!(
                "{name}: a complex with {inputs} inputs cannot be drawn; draw a slice (--slice with three points, or --directions with two vectors)"
            ),
            _ => bail!("{name}: expected a file name ending in .svg, .png, .pdf, .tex or .html"),
        }
        ensure!(inputs != 3 || args.domain.is_some(), "{name}: a picture in space needs a box (--box LO,HI)");
    }
    for path in &args.export {
        let name = path.display();
        match (ending(path), inputs) {
            ("json" | "pcom" | "jl", _) | ("obj" | "vtk", 3) => {}
            ("obj" | "vtk", _) => {
                bail!("{name}: .obj and .vtk hold complexes with 3 inputs; this one has {inputs}")
            }
            _ => bail!("{name}: expected a file name ending in .json, .pcom, .jl, .obj or .vtk"),
        }
        let is_mesh = matches!(ending(path), "obj" | "vtk");
        ensure!(!is_mesh || args.domain.is_some(), "{name}: a mesh needs a box (--box LO,HI)");
    }
    Ok(())
}
