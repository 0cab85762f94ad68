//! Fibers of networks with three weights, as surfaces, planes and lines in space.
//!
//! Widths `(1,1,1,1)`: the fiber of 1 is the surface `xyz = 1` with four sheets, the fiber of 0 three planes.
//! Widths `(2,1,1)` and `(1,1,2)`: the fiber of 0 is a plane with a line through it.

use fiberscope::linear::ProductFiber;

use crate::draw::markup::Element;
use crate::draw::svg::{Svg, circle, label, polyline, segment};

/// A fiber that fits into space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceFiber {
    /// `W_3 W_2 W_1 = 1` for numbers.
    ThreeNumbersOne,
    /// `W_3 W_2 W_1 = 0` for numbers.
    ThreeNumbersZero,
    /// `W_2 W_1 = 0` for a row `W_1` of two numbers and a number `W_2`.
    RowZero,
    /// `W_2 W_1 = 0` for a number `W_1` and a column `W_2` of two numbers.
    ColumnZero,
}

impl SpaceFiber {
    /// The drawing of a fiber, if there is one.
    pub fn of(fiber: &ProductFiber) -> Option<Self> {
        match (fiber.widths(), fiber.rank()) {
            ([1, 1, 1, 1], 1) => Some(SpaceFiber::ThreeNumbersOne),
            ([1, 1, 1, 1], 0) => Some(SpaceFiber::ThreeNumbersZero),
            ([2, 1, 1], 0) => Some(SpaceFiber::RowZero),
            ([1, 1, 2], 0) => Some(SpaceFiber::ColumnZero),
            _ => None,
        }
    }
}

type Point = [f64; 3];

const SIZE: f64 = 460.0;
const SCALE: f64 = 118.0;
/// Where planes and lines end.
const REACH: f64 = 1.15;

/// Draws a fiber.
pub fn draw_fiber(fiber: SpaceFiber) -> Svg {
    let axes = match fiber {
        SpaceFiber::ThreeNumbersOne | SpaceFiber::ThreeNumbersZero => ["W1", "W2", "W3"],
        SpaceFiber::RowZero => ["W1[1]", "W1[2]", "W2"],
        SpaceFiber::ColumnZero => ["W2[1]", "W2[2]", "W1"],
    };
    let (title, marks): (&str, &[(&str, Point)]) = match fiber {
        SpaceFiber::ThreeNumbersOne => ("The fiber W3 W2 W1 = 1: one stratum of four sheets", &[]),
        SpaceFiber::ThreeNumbersZero => ("The fiber W3 W2 W1 = 0: seven strata", &THREE_PLANES),
        SpaceFiber::RowZero => ("The fiber W2 W1 = 0 for widths 2,1,1: three strata", &ROW),
        SpaceFiber::ColumnZero => ("The fiber W2 W1 = 0 for widths 1,1,2: three strata", &COLUMN),
    };
    let mut patches = surface(fiber);
    patches.sort_by(|a, b| a.depth().total_cmp(&b.depth()));
    let mut content = vec![label("head", (16.0, 24.0), title)];
    content.extend(patches.iter().map(Patch::element));
    content
        .extend(lines(fiber).into_iter().map(|(from, to)| segment("fiber-line", project(from), project(to))));
    for (axis, name) in axes.into_iter().enumerate() {
        let mut end = [0.0; 3];
        end[axis] = 1.5;
        let (x, y) = project(end);
        content.push(segment("axis", project([0.0; 3]), (x, y)));
        content.push(label("mid", (x + 14.0 * if axis == 0 { 1.0 } else { 0.0 }, y - 6.0), name));
    }
    if fiber != SpaceFiber::ThreeNumbersOne {
        content.push(circle("fiber-point", project([0.0; 3]), 4.5));
    }
    content.extend(marks.iter().map(|(name, at)| {
        let (x, y) = project(*at);
        label("fiber-name", (x, y), name)
    }));
    Svg::new((SIZE, SIZE), title, "A fiber of a linear network with three weights, drawn in space.", content)
}

const THREE_PLANES: [(&str, Point); 7] = [
    ("S_011", [0.75, 0.75, 0.0]),
    ("S_101", [0.8, 0.0, -0.75]),
    ("S_110", [0.0, -0.75, 0.75]),
    ("S_001", [1.3, 0.0, -0.1]),
    ("S_010", [0.0, -1.3, -0.1]),
    ("S_100", [0.2, 0.0, 1.24]),
    ("S_000", [-0.2, 0.0, -0.18]),
];
const ROW: [(&str, Point); 3] =
    [("S_01", [0.75, 0.75, 0.0]), ("S_10", [0.2, 0.0, 1.0]), ("S_00", [-0.2, 0.0, -0.18])];
const COLUMN: [(&str, Point); 3] =
    [("S_10", [0.75, 0.75, 0.0]), ("S_01", [0.2, 0.0, 1.0]), ("S_00", [-0.2, 0.0, -0.18])];

/// A flat piece of a surface.
struct Patch {
    corners: Vec<Point>,
    class: &'static str,
}

impl Patch {
    /// How far towards the eye.
    fn depth(&self) -> f64 {
        let sum: f64 = self.corners.iter().map(|[x, y, z]| 0.48 * x - 0.92 * y + 0.53 * z).sum();
        sum / self.corners.len() as f64
    }

    fn element(&self) -> Element {
        let points: Vec<(f64, f64)> = self.corners.iter().map(|&corner| project(corner)).collect();
        Element::new("path").class(self.class).attr("d", format!("{}Z", polyline(&points)))
    }
}

/// Parallel projection along `(0.48, -0.92, 0.53)`: the first axis to the right, the second away from the
/// eye, the third up.
fn project([x, y, z]: Point) -> (f64, f64) {
    let right = 0.92 * x + 0.48 * y;
    let up = -0.30 * x + 0.42 * y + z;
    (SIZE / 2.0 + SCALE * right, SIZE / 2.0 + 16.0 - SCALE * up)
}

fn surface(fiber: SpaceFiber) -> Vec<Patch> {
    match fiber {
        SpaceFiber::ThreeNumbersOne => hyperbolic_sheets(),
        SpaceFiber::ThreeNumbersZero => (0..3).flat_map(plane).collect(),
        SpaceFiber::RowZero | SpaceFiber::ColumnZero => plane(2),
    }
}

/// The plane orthogonal to an axis, in four quarters so that planes cut each other properly.
fn plane(normal: usize) -> Vec<Patch> {
    const CLASSES: [&str; 3] = ["fiber-1", "fiber-2", "fiber-3"];
    let (u, v) = ((normal + 1) % 3, (normal + 2) % 3);
    let corner = |a: f64, b: f64| {
        let mut point = [0.0; 3];
        (point[u], point[v]) = (REACH * a, REACH * b);
        point
    };
    let quarter = |&(a, b): &(f64, f64)| Patch {
        corners: vec![corner(0.0, 0.0), corner(a, 0.0), corner(a, b), corner(0.0, b)],
        class: CLASSES[normal],
    };
    [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)].iter().map(quarter).collect()
}

/// The lines that belong to the fiber: intersections of planes, or the line through the plane.
fn lines(fiber: SpaceFiber) -> Vec<(Point, Point)> {
    let line = |axis: usize| {
        let (mut from, mut to) = ([0.0; 3], [0.0; 3]);
        (from[axis], to[axis]) = (-REACH, REACH);
        (from, to)
    };
    match fiber {
        SpaceFiber::ThreeNumbersOne => Vec::new(),
        SpaceFiber::ThreeNumbersZero => (0..3).map(line).collect(),
        SpaceFiber::RowZero | SpaceFiber::ColumnZero => vec![line(2)],
    }
}

/// `xyz = 1` in logarithmic coordinates: hexagons `|a|, |b|, |a + b| <= STEPS`, one for each pair of signs,
/// with the unit at [`UNIT`] and everything inside [`REACH`].
fn hyperbolic_sheets() -> Vec<Patch> {
    const CLASSES: [&str; 4] = ["fiber-1", "fiber-2", "fiber-3", "fiber-4"];
    const STEPS: i32 = 7;
    let size = |step: i32| UNIT * (REACH / UNIT).powf(f64::from(step) / f64::from(STEPS));
    let inside = |&(i, j): &(i32, i32)| i.abs().max(j.abs()).max((i + j).abs()) <= STEPS;
    let mut patches = Vec::new();
    for (class, (p, q)) in CLASSES.into_iter().zip([(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)]) {
        let point = |(i, j): (i32, i32)| [p * size(i), q * size(j), p * q * size(-i - j)];
        for i in -STEPS..=STEPS {
            for j in -STEPS..=STEPS {
                let halves = [[(i, j), (i + 1, j), (i, j + 1)], [(i + 1, j), (i + 1, j + 1), (i, j + 1)]];
                for half in halves.into_iter().filter(|half| half.iter().all(inside)) {
                    patches.push(Patch { corners: half.map(point).to_vec(), class });
                }
            }
        }
    }
    patches
}

/// The length of 1 on the axes of the surface `xyz = 1`.
const UNIT: f64 = 0.4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fiber_is_drawn_inside_the_picture() {
        use SpaceFiber::{ColumnZero, RowZero, ThreeNumbersOne, ThreeNumbersZero};
        for (fiber, patches) in [(ThreeNumbersZero, 12), (RowZero, 4), (ColumnZero, 4)] {
            let svg = draw_fiber(fiber).to_document();
            assert_eq!(
                svg.matches("<path class=\"fiber-").count() - lines(fiber).len(),
                patches,
                "{fiber:?}"
            );
        }
        assert!(draw_fiber(ThreeNumbersOne).to_document().matches("fiber-4\"").count() > 10);
        for patch in hyperbolic_sheets() {
            for [x, y, z] in patch.corners {
                assert!((x * y * z - UNIT.powi(3)).abs() < 1e-12);
                let (px, py) = project([x, y, z]);
                assert!((0.0..SIZE).contains(&px) && (0.0..SIZE).contains(&py), "{px} {py}");
            }
        }
    }
}
