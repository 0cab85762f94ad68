//! Cells of a function of two inputs: convex polygons on which it is affine.

use fiberscope_algebra::dense::peak;

use super::super::inquiry::Inquiry;

/// A point of the plane.
pub(super) type Point = [f64; 2];

/// `a + t b`.
pub(super) fn along(a: Point, t: f64, b: Point) -> Point {
    [a[0] + t * b[0], a[1] + t * b[1]]
}

/// `a - b`.
pub(super) fn minus(a: Point, b: Point) -> Point {
    along(a, -1.0, b)
}

/// The scalar product.
pub(super) fn dot(a: Point, b: Point) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

/// The determinant of two vectors.
pub(super) fn cross(a: Point, b: Point) -> f64 {
    a[0] * b[1] - a[1] * b[0]
}

/// The length.
pub(super) fn norm(a: Point) -> f64 {
    a[0].hypot(a[1])
}

/// An affine function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Affine {
    /// A point.
    pub at: Point,
    /// The value there.
    pub value: f64,
    /// The gradient.
    pub gradient: Point,
    /// Over how long a base the gradient was measured.
    pub base: f64,
    /// The noise of the answers it was measured with.
    pub noise: f64,
}

impl Affine {
    /// The value at `x`.
    pub fn of(&self, x: Point) -> f64 {
        self.value + dot(self.gradient, minus(x, self.at))
    }

    /// How exactly the value at `x` is known, if an answer there has this noise.
    pub fn error(&self, noise: f64, x: Point) -> f64 {
        noise + self.noise * (1.0 + norm(minus(x, self.at)) / self.base) + 1e-14 * self.of(x).abs()
    }
}

/// A corner of a polygon.
#[derive(Clone, Copy, Debug)]
pub(super) struct Corner {
    /// Where it is.
    pub at: Point,
    /// The cell beyond the side that leads from here to the next corner; nothing at the border of the window.
    pub beyond: Option<usize>,
}

/// A convex polygon on which the function is affine.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// The function.
    pub affine: Affine,
    /// A point inside.
    pub inside: Point,
    /// The cells that are known to have a side in common with it.
    pub beyond: Vec<usize>,
    /// Whether the function is constant: then nothing behind it can be seen, and it may not be convex.
    pub dark: bool,
    /// Corners that are known to belong to it.
    pub reached: Vec<Point>,
}

/// The part of a polygon where the affine function `h(x) = side . x + offset` is at most zero; the new side leads to
/// `beyond`.
pub(super) fn clipped(polygon: &[Corner], h: impl Fn(Point) -> f64, beyond: usize) -> Vec<Corner> {
    let mut kept = Vec::with_capacity(polygon.len() + 1);
    let heights: Vec<f64> = polygon.iter().map(|corner| h(corner.at)).collect();
    for (i, corner) in polygon.iter().enumerate() {
        let next = (i + 1) % polygon.len();
        let (here, there) = (heights[i], heights[next]);
        let between = || along(corner.at, here / (here - there), minus(polygon[next].at, corner.at));
        match (here <= 0.0, there <= 0.0) {
            (true, true) => kept.push(*corner),
            (true, false) => {
                kept.push(*corner);
                kept.push(Corner { at: between(), beyond: Some(beyond) });
            }
            (false, true) => kept.push(Corner { at: between(), beyond: corner.beyond }),
            (false, false) => {}
        }
    }
    kept
}

/// The answers of an oracle with two inputs, several outputs made one by a combination without a pattern.
pub(super) struct Combined {
    weights: Vec<f64>,
    noise: f64,
}

impl Combined {
    /// A combination.
    pub fn new(inquiry: &mut Inquiry<'_>) -> Self {
        let count = inquiry.outputs;
        let weights: Vec<f64> =
            if count == 1 { vec![1.0] } else { (0..count).map(|_| inquiry.uniform(0.5, 1.0)).collect() };
        Combined { noise: inquiry.eta * weights.iter().sum::<f64>(), weights }
    }

    /// One number of several outputs.
    pub fn of(&self, answer: &[f64]) -> f64 {
        self.weights.iter().zip(answer).map(|(w, y)| w * y).sum()
    }

    /// The noise of an answer at `x`.
    pub fn noise(&self, x: Point) -> f64 {
        self.noise * (1.0 + peak(&x))
    }
}
