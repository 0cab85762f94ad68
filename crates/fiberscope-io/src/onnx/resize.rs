//! `Resize` and `Upsample` by the nearest entry or linearly, with constant scales or sizes.
//!
//! Entry `i` of an axis of the result lies at a place `x` of the value, which need not be a whole number; what
//! `x` is (`coordinate_transformation_mode`) and which entry is nearest to it (`nearest_mode`) the file says. The
//! arithmetic is that of runtimes, in single precision: `1 / 0.33333334` is 3 there and not a little less.
//!
//! Linearly, an entry is a mean of the two entries around `x`, with weights of single precision. The product of two of
//! them is a double, so that two axes share a matrix.

use fiberscope_core::SparseMatrix;

use super::lowering::{Lowering, Site};
use super::proto::Quoted;
use super::shape;
use crate::FormatError;

/// What is given for these axes, and for the others what they have else; nothing if it is not one for each.
fn spread<T: Clone>(given: Vec<T>, axes: Option<&[usize]>, others: &[T]) -> Vec<T> {
    let Some(axes) = axes else { return given };
    if axes.len() != given.len() {
        return Vec::new();
    }
    let mut all = others.to_vec();
    axes.iter().zip(given).for_each(|(&axis, value)| all[axis] = value);
    all
}

impl<'a> Lowering<'_, 'a> {
    /// `Resize` with constant scales or sizes.
    pub(super) fn resize(&mut self, site: &Site<'a>) -> Result<(), FormatError> {
        let node = &site.node;
        site.data_comes_first()?;
        let text = |name: &str, default: &'static [u8]| -> Result<&[u8], FormatError> {
            let given = node.attribute(name)?.map(|attribute| attribute.string()).transpose()?;
            Ok(given.unwrap_or(default))
        };
        let policy = text("keep_aspect_ratio_policy", b"stretch")?;
        if policy != b"stretch" {
            let found = String::from_utf8_lossy(policy);
            return Err(node.unsupported(format!(
                "expected keep_aspect_ratio_policy `stretch`, found {}",
                Quoted(&found)
            )));
        }
        // Before version 11 there were no choices.
        let is_old = node.operator == "Upsample" || self.graph.is_before(11);
        let coordinates = match text("coordinate_transformation_mode", b"half_pixel")? {
            _ if is_old => Some(Coordinates::Asymmetric),
            b"asymmetric" => Some(Coordinates::Asymmetric),
            b"half_pixel" => Some(Coordinates::HalfPixel),
            b"pytorch_half_pixel" => Some(Coordinates::PytorchHalfPixel),
            b"align_corners" => Some(Coordinates::AlignCorners),
            _ => None,
        };
        let nearest = match text("nearest_mode", b"round_prefer_floor")? {
            _ if is_old => Some(Nearest::Simple),
            b"round_prefer_floor" => Some(Nearest::RoundPreferFloor),
            b"round_prefer_ceil" => Some(Nearest::RoundPreferCeil),
            b"floor" => Some(Nearest::Floor),
            b"ceil" => Some(Nearest::Ceil),
            _ => None,
        };
        let mode = text("mode", b"nearest")?;
        let (Some(coordinates), Some(nearest), b"nearest" | b"linear" | b"bilinear") =
            (coordinates, nearest, mode)
        else {
            let expected =
                "expected the nearest entry or linear interpolation, with coordinates that are read";
            let found =
                [mode, text("coordinate_transformation_mode", b"half_pixel")?].map(String::from_utf8_lossy);
            return Err(node.unsupported(format!("{expected}; found `{}`, `{}`", found[0], found[1])));
        };
        if node.integer("antialias", 0)? != 0 {
            return Err(node.unsupported("its attribute `antialias` is not read"));
        }
        let dims = self.hand.dims.clone();
        // Scales and sizes may be those of some axes.
        let axes: Option<Vec<usize>> = match node.integers("axes")? {
            None => None,
            Some(axes) => {
                let axis = |&axis: &i64| shape::resolve(axis, dims.len(), false);
                Some(
                    axes.iter()
                        .map(axis)
                        .collect::<Result<_, _>>()
                        .map_err(|reason| node.malformed(reason))?,
                )
            }
        };
        let sizes = if is_old { None } else { self.integers(site, 3)? };
        let (result, scales): (Vec<usize>, Vec<f32>) = match (sizes, node.attribute("scales")?) {
            (Some(sizes), _) => {
                let sizes = sizes.iter().map(|&size| usize::try_from(size).unwrap_or(0)).collect();
                let mut result = spread(sizes, axes.as_deref(), &dims);
                self.one_sample(&dims, &mut result);
                let scales = result.iter().zip(&dims).map(|(&to, &from)| to as f32 / from as f32).collect();
                (result, scales)
            }
            (None, attribute) => {
                let scales: Vec<f32> = match attribute {
                    Some(scales) => scales.floats()?,
                    None => {
                        self.floats(site, if is_old { 1 } else { 2 })?.1.iter().map(|&s| s as f32).collect()
                    }
                };
                let scales = spread(scales, axes.as_deref(), &vec![1.0; dims.len()]);
                let size = |(&dim, &scale): (&usize, &f32)| (dim as f32 * scale).floor() as usize;
                let fits = scales.len() == dims.len();
                (if fits { dims.iter().zip(&scales).map(size).collect() } else { vec![] }, scales)
            }
        };
        if result.len() != dims.len() || result.contains(&0) {
            return Err(node.malformed("its scales or sizes do not fit the value"));
        }
        if result == dims && scales.iter().any(|&scale| scale != 1.0) {
            let what =
                "its scales leave the size as it is: ONNX's formulas move entries, onnxruntime copies them";
            return Err(node.unsupported(what));
        }
        self.budget.entries(node, shape::count(&result).unwrap_or(usize::MAX), 1)?;
        if mode != b"nearest" {
            return self.interpolate(site, coordinates, &result, &scales);
        }
        let list = |axis: usize| -> Vec<usize> {
            let (from, to, scale) = (dims[axis], result[axis], scales[axis]);
            let place = |i: usize| nearest.of(coordinates.of(i, scale, from, to), scale);
            (0..to).map(|i| place(i).clamp(0.0, from as f32 - 1.0) as usize).collect()
        };
        let lists: Vec<Vec<usize>> = (0..dims.len()).map(list).collect();
        self.hand.map.select(&shape::product(&dims, &lists));
        self.hand.dims = result;
        Ok(())
    }

    /// Means of neighbours, two axes at a time.
    fn interpolate(
        &mut self,
        site: &Site<'a>,
        coordinates: Coordinates,
        result: &[usize],
        scales: &[f32],
    ) -> Result<(), FormatError> {
        // A scale may move the places and leave the size as it is.
        let is_changed = |&at: &usize| result[at] != self.hand.dims[at] || scales[at] != 1.0;
        let changed: Vec<usize> = (0..result.len()).filter(is_changed).collect();
        for axes in changed.chunks(2) {
            let from = self.hand.dims.clone();
            let mut to = from.clone();
            axes.iter().for_each(|&axis| to[axis] = result[axis]);
            let means = |axis: usize| -> Vec<Vec<(usize, f64)>> {
                let place = |i| coordinates.of(i, scales[axis], from[axis], to[axis]);
                let own = |i: usize| vec![(i, 1.0)];
                match axes.contains(&axis) {
                    true => (0..to[axis]).map(|i| neighbours(place(i), from[axis])).collect(),
                    false => (0..to[axis]).map(own).collect(),
                }
            };
            let count = shape::count(&to).unwrap_or(usize::MAX);
            let width = self.width();
            self.budget.matrix(site.node, (count, width), count.saturating_mul(4))?;
            // Row by row of the result, what is taken of which entry.
            let mut rows: Vec<Vec<(usize, f64)>> = vec![vec![(0, 1.0)]];
            for (axis, &size) in from.iter().enumerate() {
                let own = means(axis);
                rows = rows
                    .iter()
                    .flat_map(|before| {
                        own.iter().map(move |mean| {
                            let each = |&(at, w): &(usize, f64)| {
                                mean.iter().map(move |&(i, v)| (at * size + i, w * v))
                            };
                            before.iter().flat_map(each).collect()
                        })
                    })
                    .collect();
            }
            let mut weight = SparseMatrix::with_capacity(width, count, count * 4);
            rows.into_iter().for_each(|row| weight.push_row(row));
            self.multiply(&site.node, weight, to)?;
        }
        Ok(())
    }

    /// A shape that was written down for the batch of the file is meant for one sample here.
    pub(super) fn one_sample(&self, dims: &[usize], target: &mut [usize]) {
        if let (Some(batch), Some(1), Some(first)) = (self.batch, dims.first(), target.first_mut())
            && *first == batch
        {
            *first = 1;
        }
    }
}

/// Where an entry of the result lies in the value.
#[derive(Clone, Copy)]
enum Coordinates {
    Asymmetric,
    HalfPixel,
    PytorchHalfPixel,
    AlignCorners,
}

impl Coordinates {
    fn of(self, i: usize, scale: f32, from: usize, to: usize) -> f32 {
        let i = i as f32;
        match self {
            Coordinates::Asymmetric => i / scale,
            Coordinates::AlignCorners | Coordinates::PytorchHalfPixel if to == 1 => 0.0,
            Coordinates::HalfPixel | Coordinates::PytorchHalfPixel => (i + 0.5) / scale - 0.5,
            Coordinates::AlignCorners => i * (from - 1) as f32 / (to - 1) as f32,
        }
    }
}

/// The entries around a place and their weights, which runtimes compute in single precision.
fn neighbours(x: f32, size: usize) -> Vec<(usize, f64)> {
    let x = x.clamp(0.0, size as f32 - 1.0);
    let below = (x as usize).min(size - 1);
    match x - below as f32 {
        0.0 => vec![(below, 1.0)],
        part => vec![(below, f64::from((below + 1) as f32 - x)), (below + 1, f64::from(part))],
    }
}

/// The entry nearest to a place.
#[derive(Clone, Copy)]
enum Nearest {
    RoundPreferFloor,
    RoundPreferCeil,
    Floor,
    Ceil,
    /// As it was before there was a choice: down where the value grows, up where it shrinks.
    Simple,
}

impl Nearest {
    fn of(self, x: f32, scale: f32) -> f32 {
        match self {
            Nearest::RoundPreferFloor => (x - 0.5).ceil(),
            Nearest::RoundPreferCeil => (x + 0.5).floor(),
            Nearest::Simple if scale < 1.0 => x.ceil(),
            Nearest::Floor | Nearest::Simple => x.floor(),
            Nearest::Ceil => x.ceil(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_places() {
        assert_eq!(neighbours(-0.25, 3), [(0, 1.0)]);
        assert_eq!(neighbours(0.25, 3), [(0, 0.75), (1, 0.25)]);
        assert_eq!(neighbours(2.25, 3), [(2, 1.0)]);
    }

    #[test]
    fn places_as_runtimes_find_them() {
        let row = |coordinates: Coordinates, nearest: Nearest, from: usize, to: usize| -> Vec<f32> {
            let scale = to as f32 / from as f32;
            (0..to).map(|i| nearest.of(coordinates.of(i, scale, from, to), scale)).collect()
        };
        assert_eq!(row(Coordinates::Asymmetric, Nearest::Floor, 2, 4), [0.0, 0.0, 1.0, 1.0]);
        assert_eq!(row(Coordinates::HalfPixel, Nearest::RoundPreferFloor, 4, 2), [0.0, 2.0]);
        assert_eq!(row(Coordinates::HalfPixel, Nearest::RoundPreferCeil, 4, 2), [1.0, 3.0]);
        assert_eq!(row(Coordinates::AlignCorners, Nearest::Floor, 3, 5), [0.0, 0.0, 1.0, 1.0, 2.0]);
        assert_eq!(row(Coordinates::PytorchHalfPixel, Nearest::Floor, 4, 1), [0.0]);
        // A third of three is one place, though neither is a number of single precision.
        assert_eq!(Nearest::Floor.of(Coordinates::Asymmetric.of(1, 1.0 / 3.0, 3, 1), 1.0 / 3.0), 3.0);
        assert_eq!(row(Coordinates::Asymmetric, Nearest::Floor, 6, 14)[7], 3.0);
    }
}
