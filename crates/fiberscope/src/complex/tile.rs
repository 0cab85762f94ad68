//! Boxes that tile a domain.

use serde::{Deserialize, Serialize};

use super::count::SideKind;
use super::frame::Frame;

/// Where a cut lies between two points: not the middle, where symmetric networks have their folds.
pub(crate) const PLACE: f64 = 0.487_654_321_234_567;

/// A box of the tiling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tile {
    pub sides: Vec<[f64; 2]>,
    kinds: Vec<[u8; 2]>,
}

impl Tile {
    pub fn whole(frame: &Frame) -> Self {
        Tile { sides: frame.sides.clone(), kinds: frame.kinds.iter().map(|pair| pair.map(code)).collect() }
    }

    /// Whether this is a box of that dimension.
    pub fn fits(&self, dimension: usize) -> bool {
        is_box(&self.sides, dimension) && self.kinds.len() == dimension
    }

    /// The part of the domain's volume.
    pub fn share(&self, frame: &Frame) -> f64 {
        let part = |(own, all): (&[f64; 2], &[f64; 2])| (own[1] - own[0]) / (all[1] - all[0]);
        self.sides.iter().zip(&frame.sides).map(part).product()
    }

    pub fn kinds(&self) -> Vec<[SideKind; 2]> {
        self.kinds.iter().map(|pair| pair.map(kind)).collect()
    }

    /// Tiles with about equally many of the points, at least `parts`. Cuts lie at this part of the way between
    /// two points, or sides.
    pub fn parts(&self, points: &[f64], parts: usize, place: f64) -> Vec<Tile> {
        let mut points: Vec<&[f64]> = points.chunks_exact(self.sides.len()).collect();
        let mut tiles = Vec::with_capacity(parts.next_power_of_two());
        self.divide(&mut points, parts, place, &mut tiles);
        tiles
    }

    fn divide(&self, points: &mut [&[f64]], parts: usize, place: f64, tiles: &mut Vec<Tile>) {
        let (axis, at) = self.cut(points, place);
        // Numbers as close as doubles can be have none between them.
        if parts <= 1 || at <= self.sides[axis][0] || at >= self.sides[axis][1] {
            tiles.push(self.clone());
            return;
        }
        let (mut lower, mut upper) = (self.clone(), self.clone());
        (lower.sides[axis][1], upper.sides[axis][0]) = (at, at);
        (lower.kinds[axis][1], upper.kinds[axis][0]) = (code(SideKind::Shared), code(SideKind::Neighbour));
        let middle = points.iter().filter(|x| x[axis] < at).count();
        if middle > 0 && middle < points.len() {
            points.select_nth_unstable_by(middle, |x, y| x[axis].total_cmp(&y[axis]));
        }
        let (left, right) = points.split_at_mut(middle);
        lower.divide(left, parts.div_ceil(2), place, tiles);
        upper.divide(right, parts.div_ceil(2), place, tiles);
    }

    /// A place between 0.4 and 0.6 that is another one for every input and every interval: where several inputs were cut alike, hyperplanes
    /// such as `x_1 = x_2` would pass through the points where cuts meet.
    fn scattered(&self, axis: usize, place: f64) -> f64 {
        let [low, high] = self.sides[axis].map(f64::to_bits);
        let interval = (low ^ high.rotate_left(17)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
        let mixed =
            interval as f64 / (1u64 << 53) as f64 + 0.754_877_666_246_692_8 * (axis + 1) as f64 + 7.0 * place;
        0.4 + 0.2 * mixed.fract()
    }

    /// The input along which the middle half of the points is longest, and a place near their median.
    fn cut(&self, points: &mut [&[f64]], place: f64) -> (usize, f64) {
        let longest = |lengths: &dyn Fn(usize) -> f64| {
            (0..self.sides.len()).max_by(|&i, &j| lengths(i).total_cmp(&lengths(j)).then(j.cmp(&i)))
        };
        let n = points.len();
        let mut quantile = |i: usize, k: usize| {
            points.select_nth_unstable_by(k, |x, y| x[i].total_cmp(&y[i]));
            points[k][i]
        };
        if n >= 8 {
            let spread: Vec<f64> =
                (0..self.sides.len()).map(|i| quantile(i, 3 * n / 4) - quantile(i, n / 4)).collect();
            let axis = longest(&|i| spread[i]).expect("a box has sides");
            // Between two points, so that the cut meets no vertex.
            let (below, above) = (quantile(axis, n / 2 - 1), quantile(axis, n / 2));
            let at = below + (above - below) * place;
            if self.sides[axis][0] < at && at < self.sides[axis][1] && below < above {
                return (axis, at);
            }
        }
        let axis = longest(&|i| self.sides[i][1] - self.sides[i][0]).expect("a box has sides");
        let [low, high] = self.sides[axis];
        (axis, low + (high - low) * self.scattered(axis, place))
    }
}

/// Whether these are the sides of a bounded box with an interior.
pub(crate) fn is_box(sides: &[[f64; 2]], dimension: usize) -> bool {
    sides.len() == dimension
        && sides.iter().all(|[low, high]| low.is_finite() && high.is_finite() && low < high)
}

const KINDS: [SideKind; 4] = [SideKind::Boundary, SideKind::Infinity, SideKind::Neighbour, SideKind::Shared];

fn code(kind: SideKind) -> u8 {
    KINDS.iter().position(|&k| k == kind).unwrap_or(0) as u8
}

fn kind(code: u8) -> SideKind {
    KINDS.get(code as usize).copied().unwrap_or(SideKind::Boundary)
}
