//! Drawings as pixels.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use crate::Svg;

const REGULAR: &[u8] = include_bytes!("fonts/DejaVuSans.ttf");
const BOLD: &[u8] = include_bytes!("fonts/DejaVuSans-Bold.ttf");

impl Svg {
    /// The drawing as the bytes of a PNG file on white ground, `scale` pixels per unit; `None` if it is too large for memory.
    pub fn to_png(&self, scale: f32) -> Option<Vec<u8>> {
        let mut options = Options { font_family: "DejaVu Sans".into(), ..Options::default() };
        let fonts = options.fontdb_mut();
        fonts.load_font_data(REGULAR.to_vec());
        fonts.load_font_data(BOLD.to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        let tree = Tree::from_str(&self.to_print_document(), &options).ok()?;
        let size = tree.size().to_int_size().scale_by(scale)?;
        let mut pixels = Pixmap::new(size.width(), size.height())?;
        pixels.fill(resvg::tiny_skia::Color::WHITE);
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
        pixels.encode_png().ok()
    }
}

#[cfg(test)]
mod tests {
    use crate::graph::{Curve, Graph};

    #[test]
    fn a_chart_becomes_a_png_with_text() {
        let curve = Curve { name: "f".into(), points: vec![(0.0, 0.0), (1.0, 1.0)], breakpoints: vec![] };
        let graph = Graph { title: "Some title".into(), curves: vec![curve], ..Graph::default() };
        let png = graph.draw().to_png(1.0).unwrap();
        assert!(png.starts_with(b"\x89PNG"));
        let untitled = Graph { title: String::new(), ..graph }.draw().to_png(1.0).unwrap();
        assert_ne!(png, untitled, "text is drawn");
    }
}
