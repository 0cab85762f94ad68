//! Drawings as PNG files, by `resvg` with a font of our own, so that they look the same everywhere. Reading
//! fonts is a large part of a build, so that this is a feature, `png`; without it there are drawings as SVG
//! only.

use thiserror::Error;

use crate::Svg;

/// Whether this build makes pictures of drawings.
pub const AVAILABLE: bool = cfg!(feature = "png");

/// Why a drawing has no picture.
#[derive(Debug, Error)]
pub enum PngError {
    /// This build makes no pictures: see [`AVAILABLE`].
    #[error("this build writes no PNG: name a file that ends in .svg, or build with `--features png`")]
    Unavailable,
    /// The text is no SVG drawing.
    #[error("the drawing cannot be read: {0}")]
    Drawing(String),
    /// The picture would be empty or too large.
    #[error("a picture of {width} x {height} pixels is empty or too large")]
    Size {
        /// Pixels.
        width: f32,
        /// Pixels.
        height: f32,
    },
    /// The picture cannot be encoded.
    #[error("the picture cannot be encoded: {0}")]
    Encoding(String),
}

impl Svg {
    /// The drawing as a picture on white, `scale` pixels per unit.
    pub fn to_png(&self, scale: f32) -> Result<Vec<u8>, PngError> {
        raster::png(&self.to_print_document(), scale)
    }
}

#[cfg(not(feature = "png"))]
mod raster {
    use super::PngError;

    /// Without fonts there is no picture.
    pub(super) fn png(_: &str, _: f32) -> Result<Vec<u8>, PngError> {
        Err(PngError::Unavailable)
    }
}

#[cfg(feature = "png")]
mod raster {
    use std::sync::Arc;

    use resvg::tiny_skia::{Color, Pixmap, Transform};
    use resvg::usvg::{self, fontdb};

    use super::PngError;

    const REGULAR: &[u8] = include_bytes!("fonts/DejaVuSans.ttf");
    const BOLD: &[u8] = include_bytes!("fonts/DejaVuSans-Bold.ttf");
    /// Pictures with more pixels are refused.
    const LARGEST: f32 = 2e8;

    /// The picture of an SVG document on white, `scale` pixels per unit.
    pub(super) fn png(svg: &str, scale: f32) -> Result<Vec<u8>, PngError> {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(REGULAR.to_vec());
        fonts.load_font_data(BOLD.to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        let options = usvg::Options {
            font_family: "DejaVu Sans".to_owned(),
            fontdb: Arc::new(fonts),
            ..usvg::Options::default()
        };
        let tree =
            usvg::Tree::from_str(svg, &options).map_err(|error| PngError::Drawing(error.to_string()))?;
        let (width, height) = ((tree.size().width() * scale).ceil(), (tree.size().height() * scale).ceil());
        let size = PngError::Size { width, height };
        if (width * height).is_nan() || width * height > LARGEST {
            return Err(size);
        }
        let mut pixels = Pixmap::new(width as u32, height as u32).ok_or(size)?;
        pixels.fill(Color::WHITE);
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
    }
}

#[cfg(all(test, feature = "png"))]
mod tests {
    use super::raster::png;

    #[test]
    fn text_leaves_ink_and_nonsense_is_refused() {
        let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='60' height='20'><text x='2' y='15'>rank</text></svg>";
        let blank = "<svg xmlns='http://www.w3.org/2000/svg' width='60' height='20'></svg>";
        let (written, empty) = (png(svg, 2.0).unwrap(), png(blank, 2.0).unwrap());
        assert!(written.starts_with(b"\x89PNG") && written.len() > empty.len() + 100);
        assert!(png("<svg", 1.0).is_err());
        assert!(png(svg, 1e6).is_err());
    }
}
