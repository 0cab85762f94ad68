//! Files that pictures are written to.

use std::io::Write;
use std::path::Path;

use crate::Svg;
use crate::draw::png::{self, PngError};
use crate::export::ending;
use anyhow::Context;
use fiberscope_io::write_atomically;

/// Whether [`write_picture`] knows the ending of this file: to be asked before long work.
pub fn check_picture(path: &Path) -> anyhow::Result<()> {
    match ending(path).as_str() {
        "png" if !png::AVAILABLE => Err(PngError::Unavailable).with_context(|| path.display().to_string()),
        "svg" | "png" | "pdf" | "tex" => Ok(()),
        _ => anyhow::bail!("{}: expected a file name ending in .svg, .png, .pdf or .tex", path.display()),
    }
}

/// Writes a drawing as SVG, PNG, PDF or TikZ, as the file's name asks for.
pub fn write_picture(path: &Path, drawing: &Svg) -> anyhow::Result<()> {
    check_picture(path)?;
    let bytes = match ending(path).as_str() {
        "png" => drawing.to_png(2.0).with_context(|| path.display().to_string())?,
        "pdf" => drawing.to_pdf(),
        "tex" => drawing.to_tikz().into_bytes(),
        _ => drawing.to_document().into_bytes(),
    };
    write_atomically(path, |file| file.write_all(&bytes))?;
    Ok(())
}

/// Writes a drawing as SVG, and as PNG where this build can, beside each other; gives the names of the files.
pub fn write_pictures(folder: &Path, stem: &str, drawing: &Svg) -> anyhow::Result<Vec<String>> {
    let endings: &[&str] = if png::AVAILABLE { &["svg", "png"] } else { &["svg"] };
    let write = |ending: &&str| {
        let path = folder.join(format!("{stem}.{ending}"));
        write_picture(&path, drawing)?;
        Ok(path.display().to_string())
    };
    endings.iter().map(write).collect()
}

/// The same with TikZ of its own.
pub fn write_figure(path: &Path, drawing: &Svg, tikz: impl FnOnce() -> String) -> anyhow::Result<()> {
    match ending(path).as_str() {
        "tex" => Ok(write_atomically(path, |file| file.write_all(tikz().as_bytes()))?),
        _ => write_picture(path, drawing),
    }
}
