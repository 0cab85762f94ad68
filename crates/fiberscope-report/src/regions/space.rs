//! A three-dimensional complex as a page that can be turned with the mouse: one file, no other.

use serde_json::json;

use super::mesh::Mesh;
use crate::draw::markup::Element;

const SCRIPT: &str = include_str!("space.js");
const STYLE: &str = include_str!("space.css");
/// Nothing is loaded; only the script of the page runs.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The page: a canvas, the mesh as JSON, and the script that draws it.
pub fn space_page(mesh: &Mesh) -> String {
    let facets: Vec<_> = mesh
        .facets
        .iter()
        .map(|facet| json!({"c": facet.corners, "l": facet.layer, "u": facet.unit, "w": facet.weight}))
        .collect();
    let data = json!({"points": mesh.points, "facets": facets, "regions": mesh.regions}).to_string();
    let head = Element::new("head")
        .line(Element::new("meta").attr("charset", "utf-8"))
        .line(Element::new("meta").attr("http-equiv", "Content-Security-Policy").attr("content", POLICY))
        .line(
            Element::new("meta")
                .attr("name", "viewport")
                .attr("content", "width=device-width, initial-scale=1"),
        )
        .line(Element::of_text("title", &mesh.title))
        .line(Element::new("style").verbatim(STYLE));
    let body = Element::new("body")
        .line(Element::of_text("h1", &mesh.title))
        .line(Element::of_text(
            "p",
            "Drag to turn, scroll to zoom, double-click to start again; arrow keys turn as well.",
        ))
        .line(Element::new("div").attr("id", "legend"))
        .line(
            Element::new("canvas")
                .attr("id", "view")
                .attr("tabindex", "0")
                .attr("role", "img")
                .attr("aria-label", &mesh.title)
                .text("This page draws on a canvas."),
        )
        .line(Element::data("mesh", &data))
        .line(Element::new("script").verbatim(SCRIPT));
    let html = Element::new("html").attr("lang", "en").line(head).line(body);
    format!("<!DOCTYPE html>\n{html}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_one_file() {
        let page = space_page(&Mesh { title: "<script>".into(), ..Mesh::default() });
        assert!(page.contains("&lt;script&gt;") && !page.contains("src="));
        assert!(!page.contains("http://") && !page.contains("https://"));
    }
}
