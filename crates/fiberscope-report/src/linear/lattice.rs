//! The subspaces of the layers as a picture: for every layer `j` a table with a row per `k` and a column per
//! `i`.
//!
//! `A_kji` grows to the right and upwards, `B_kji` to the left and downwards. A cell is coloured, as the bar
//! `[i, k]` is in the flow diagram, if it holds a prebasis subspace: `omega_ki` dimensions that neither the
//! cell on the left nor the cell below has.

use fiberscope::linear::{Family, Subspaces};

use super::FlowBar;
use super::flow::meaning;
use crate::draw::svg::{Svg, label, rectangle, text_width};

/// One pair of subspaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatticeCell {
    /// The row.
    pub k: usize,
    /// The column.
    pub i: usize,
    /// The dimension of `A_kji`.
    pub forward: usize,
    /// The dimension of `B_kji`.
    pub backward: usize,
    /// The dimension of the prebasis subspaces.
    pub count: usize,
}

/// The subspaces of one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatticeLayer {
    /// The layer `j`.
    pub layer: usize,
    /// Its width.
    pub width: usize,
    /// Its cells.
    pub cells: Vec<LatticeCell>,
}

/// The subspaces of all layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatticePicture {
    /// The title.
    pub title: String,
    /// The number of matrices.
    pub depth: usize,
    /// The layers.
    pub layers: Vec<LatticeLayer>,
}

const CELL: f64 = 46.0;
const LEFT: f64 = 52.0;
const TOP: f64 = 74.0;
const LEGEND: &str = "A grows to the right and upwards, B to the left and downwards; coloured: a prebasis subspace of dimension ω";

impl LatticePicture {
    /// The picture of the subspaces of a network.
    pub fn of(title: String, subspaces: &Subspaces<'_>) -> Self {
        let depth = subspaces.depth();
        let layer = |j: usize| {
            let cells = (j..=depth).flat_map(|k| (0..=j).map(move |i| (k, i))).map(|(k, i)| LatticeCell {
                k,
                i,
                forward: subspaces.dimension(Family::Forward, k, j, i),
                backward: subspaces.dimension(Family::Backward, k, j, i),
                count: subspaces.multiplicity(k, i),
            });
            // All bars of a layer end at the last one or before and start at the layer or before.
            let width = subspaces.dimension(Family::Forward, depth, j, j);
            LatticeLayer { layer: j, width, cells: cells.collect() }
        };
        LatticePicture { title, depth, layers: (0..=depth).map(layer).collect() }
    }

    /// The class of a cell in the style sheet: that of its bar.
    pub(super) fn class(&self, i: usize, k: usize) -> &'static str {
        meaning(&FlowBar { start: i, end: k, count: 1 }, self.depth).0
    }

    /// Draws the picture.
    pub fn draw(&self) -> Svg {
        let mut content = vec![label("head", (16.0, 24.0), &self.title)];
        let mut x0 = LEFT;
        let bottom = TOP + CELL * (self.depth + 1) as f64;
        for layer in &self.layers {
            let j = layer.layer;
            let middle = x0 + CELL * (j + 1) as f64 / 2.0;
            content.push(label("mid", (middle, TOP - 24.0), &format!("layer {j}")));
            content.push(label("soft", (middle, TOP - 9.0), &format!("width {}", layer.width)));
            for cell in &layer.cells {
                let (x, y) = (x0 + CELL * cell.i as f64, TOP + CELL * (self.depth - cell.k) as f64);
                content.push(rectangle("stratum", (x, y), (CELL, CELL)));
                if cell.count > 0 {
                    let corner = (x + 3.0, y + CELL - 14.0);
                    content.push(rectangle(self.class(cell.i, cell.k), corner, (11.0, 11.0)));
                    content.push(label("tick", (x + 17.0, y + CELL - 4.0), &format!("ω {}", cell.count)));
                }
                content.push(label("mid", (x + CELL / 2.0, y + 13.0), &format!("A {}", cell.forward)));
                content.push(label("mid", (x + CELL / 2.0, y + 27.0), &format!("B {}", cell.backward)));
            }
            for i in 0..=j {
                let at = (x0 + CELL * (i as f64 + 0.5), TOP + CELL * (self.depth - j + 1) as f64 + 13.0);
                content.push(label("soft", at, &format!("i = {i}")));
            }
            x0 += CELL * (j + 1) as f64 + 24.0;
        }
        for k in 0..=self.depth {
            let at = (LEFT - 8.0, TOP + CELL * (self.depth - k) as f64 + CELL / 2.0 + 4.0);
            content.push(label("tick end", at, &format!("k = {k}")));
        }
        content.push(label("tick", (16.0, bottom + 38.0), LEGEND));
        let right = x0.max(30.0 + 0.95 * text_width(LEGEND)).max(16.0 + 1.25 * text_width(&self.title));
        let description = format!("Dimensions of the subspaces of {} layers.", self.layers.len());
        Svg::new((right, bottom + 50.0), &self.title, description, content)
    }
}
