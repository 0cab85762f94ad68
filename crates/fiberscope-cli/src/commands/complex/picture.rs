//! Pictures of complexes in files.

use std::io::Write;
use std::path::Path;

use anyhow::{bail, ensure};
use fiberscope::complex::{BreakpointComplex, PolyhedralComplex};
use fiberscope_io::write_atomically;
use fiberscope_report::regions::picture::{mesh, svg};
use fiberscope_report::regions::space_page;

use super::args::RegionsArgs;
use super::regions::Job;
use crate::output::write_picture;

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or("")
}

/// Refuses what cannot be drawn before anything is computed.
pub fn check(args: &RegionsArgs, inputs: usize) -> anyhow::Result<()> {
    for path in &args.plot {
        let name = path.display();
        match (ending(path), inputs) {
            ("svg" | "png", 1 | 2) | ("html", 3) => {}
            ("svg" | "png", 3) => bail!(
                "{name}: a complex with 3 inputs is drawn as .html; for .svg and .png draw a slice (--slice, --directions)"
            ),
            ("html", 1 | 2) => bail!("{name}: a complex with {inputs} inputs is drawn as .svg or .png"),
            ("svg" | "png" | "html", _) => bail!(
                "{name}: a complex with {inputs} inputs cannot be drawn; draw a slice (--slice with three points, or --directions with two vectors)"
            ),
            _ => bail!("{name}: expected a file name ending in .svg, .png or .html"),
        }
        ensure!(inputs != 3 || args.domain.is_some(), "{name}: a picture in space needs a box (--box LO,HI)");
    }
    for path in &args.export {
        let name = path.display();
        match (ending(path), inputs) {
            ("json", _) | ("obj" | "vtk", 3) => {}
            ("obj" | "vtk", _) => {
                bail!("{name}: .obj and .vtk hold complexes with 3 inputs; this one has {inputs}")
            }
            _ => bail!("{name}: expected a file name ending in .json, .obj or .vtk"),
        }
        ensure!(ending(path) == "json" || args.domain.is_some(), "{name}: a mesh needs a box (--box LO,HI)");
    }
    Ok(())
}

/// Draws the complex in the format that the file's name asks for.
pub fn draw(
    job: &Job,
    complex: &PolyhedralComplex,
    breakpoints: &BreakpointComplex,
    path: &Path,
) -> anyhow::Result<()> {
    if ending(path) == "html" {
        let page = space_page(&mesh(&job.view, complex, breakpoints));
        write_atomically(path, |file| file.write_all(page.as_bytes()))?;
        return Ok(());
    }
    match svg(&job.view, complex, breakpoints) {
        Some(svg) => write_picture(path, &svg),
        None => bail!("{}: this complex has {} dimensions", path.display(), complex.factor_dimension()),
    }
}
