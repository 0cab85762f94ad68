//! The complex of a function of two inputs, cell by cell.
//!
//! A cell is a convex polygon. Of the sides that are known of it, those of the neighbours from which it was found among
//! them, a polygon is made that contains it; a corner of the polygon at which the answer is that of the cell's affine
//! function belongs to it. Towards any other corner one leaves the cell across a side that was not known. When all
//! corners belong to it, so does the polygon.

use std::collections::VecDeque;

use super::super::inquiry::{Halt, Inquiry};
use super::cell::{Affine, Cell, Combined, Corner, Point, along, clipped, cross, minus, norm};

/// Half the width of the window, in radii of the domain: more than what fits use.
const WINDOW: f64 = 13.0;

/// More cells than this are not looked at.
const MOST_CELLS: usize = 3_000;

/// Multiples of the noise that count as a difference.
pub(super) const CLEAR: f64 = 60.0;

/// A place this near to a corner, relative to the way there, is taken for it.
const CORNER: f64 = 1e-5;

/// How far apart, in radii, places are that are taken for one.
const SAME: f64 = 1e-6;

/// Points from which it is begun again if stored answers are not explained.
const MOST_STARTS: usize = 12;

/// What was seen on the way from a cell to a place outside of it.
enum Way {
    /// The cell is left here, and the function goes on with this value and slope up to the second point.
    Out { wall: Point, end: Point },
    /// The place is at the rim of the cell.
    Rim,
    /// Nothing could be made of it.
    Lost,
}

/// Cells of the plane.
pub(in super::super) struct Plane {
    pub(super) cells: Vec<Cell>,
    pub(super) reach: f64,
    pub(super) radius: f64,
    pub(super) combined: Combined,
    /// Cells that could not be followed all around.
    pub(super) open: usize,
}

impl Plane {
    /// Explores the window; `None` if there are too many cells.
    pub fn explore(inquiry: &mut Inquiry<'_>) -> Result<Option<Plane>, Halt> {
        let (radius, combined) = (inquiry.radius, Combined::new(inquiry));
        let mut plane = Plane { cells: Vec::new(), reach: WINDOW * radius, radius, combined, open: 0 };
        let mut start = Some(inquiry.point(0.3));
        for _ in 0..MOST_STARTS {
            let Some(x) = start else { return Ok(Some(plane)) };
            if let Some(affine) = plane.measure(inquiry, [x[0], x[1]])? {
                let mut queue = VecDeque::new();
                plane.add(affine, &mut queue);
                while let Some(cell) = queue.pop_front() {
                    plane.settle(inquiry, cell, &mut queue)?;
                    if plane.cells.len() > MOST_CELLS {
                        return Ok(None);
                    }
                }
            }
            start = plane.unexplained(inquiry);
        }
        Ok(Some(plane))
    }

    pub(super) fn add(&mut self, affine: Affine, queue: &mut VecDeque<usize>) -> usize {
        let dark = norm(affine.gradient) == 0.0;
        let index = self.cells.len();
        self.cells.push(Cell { affine, inside: affine.at, beyond: Vec::new(), dark, reached: Vec::new() });
        if !dark {
            queue.push_back(index);
        }
        index
    }

    /// A stored question that no cell explains.
    fn unexplained(&self, inquiry: &Inquiry<'_>) -> Option<Vec<f64>> {
        let (points, answers) = inquiry.stored(2.0, 3_000);
        let polygons: Vec<_> = (0..self.cells.len()).map(|a| self.polygon(a)).collect();
        let explained = |x: Point, y: f64| {
            self.cells.iter().enumerate().any(|(a, cell)| {
                let inside = || {
                    let polygon = &polygons[a];
                    (0..polygon.len()).all(|i| {
                        let (p, q) = (polygon[i].at, polygon[(i + 1) % polygon.len()].at);
                        cross(minus(q, p), minus(x, p)) > -1e-3 * self.radius
                    })
                };
                (cell.affine.of(x) - y).abs() < 1e-6 * (1.0 + y.abs()) && (cell.dark || inside())
            })
        };
        points
            .iter_rows()
            .zip(answers.iter_rows())
            .find(|(x, y)| !explained([x[0], x[1]], self.combined.of(y)))
            .map(|(x, _)| x.to_vec())
    }

    pub(super) fn ask(&self, inquiry: &mut Inquiry<'_>, points: &[Point]) -> Result<Vec<f64>, Halt> {
        let questions: Vec<Vec<f64>> = points.iter().map(|x| x.to_vec()).collect();
        Ok(inquiry.ask(&questions)?.iter().map(|y| self.combined.of(y)).collect())
    }

    pub(super) fn noise(&self, x: Point) -> f64 {
        CLEAR * self.combined.noise(x)
    }

    /// The polygon of the sides that are known.
    pub(super) fn polygon(&self, a: usize) -> Vec<Corner> {
        let cell = &self.cells[a];
        let r = self.reach;
        let mut polygon: Vec<Corner> =
            [[-r, -r], [r, -r], [r, r], [-r, r]].iter().map(|at| Corner { at: *at, beyond: None }).collect();
        for &b in &cell.beyond {
            let other = &self.cells[b].affine;
            let difference = |x: Point| other.of(x) - cell.affine.of(x);
            let sign = difference(cell.inside).signum();
            polygon = clipped(&polygon, |x| -sign * difference(x), b);
        }
        polygon
    }

    /// Finds all sides of a cell.
    fn settle(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        a: usize,
        queue: &mut VecDeque<usize>,
    ) -> Result<(), Halt> {
        for _ in 0..300 {
            let same = |x: Point, y: Point| norm(minus(x, y)) < SAME * (self.radius + norm(x));
            let polygon = self.polygon(a);
            let cell = &self.cells[a];
            let next = polygon.iter().find(|corner| !cell.reached.iter().any(|x| same(*x, corner.at)));
            let Some(corner) = next.map(|corner| corner.at) else {
                return self.sharpen(inquiry, a, &polygon);
            };
            match self.way(inquiry, a, corner)? {
                Way::Rim => self.cells[a].reached.push(corner),
                Way::Out { wall, end } => {
                    let found = self.beyond(inquiry, wall, end, queue)?;
                    if found == Some(a) && self.lengthened(inquiry, a, wall)? {
                        continue;
                    }
                    let Some(b) = found.filter(|b| *b != a && !self.cells[a].beyond.contains(b)) else {
                        if found.is_none() {
                            self.open += 1;
                        }
                        self.cells[a].reached.push(corner);
                        continue;
                    };
                    self.cells[a].beyond.push(b);
                    if !self.cells[b].beyond.contains(&a) {
                        self.cells[b].beyond.push(a);
                    }
                }
                Way::Lost => {
                    self.open += 1;
                    self.cells[a].reached.push(corner);
                }
            }
        }
        self.open += 1;
        Ok(())
    }

    /// Where one leaves the cell on the way to `x`.
    fn way(&self, inquiry: &mut Inquiry<'_>, a: usize, x: Point) -> Result<Way, Halt> {
        let (affine, inside) = (self.cells[a].affine, self.cells[a].inside);
        let way = minus(x, inside);
        let place = |t: f64| along(inside, t, way);
        let small = |t: f64| CLEAR * affine.error(self.combined.noise(place(t)), place(t));
        let off = |y: f64, t: f64| y - affine.of(place(t));
        // Inside up to `low`, outside at `high`. On the line of a side the answers beyond it are those of the cell, too.
        let (mut low, mut high) = (0.0, 1.0 - CORNER);
        let mut d = off(self.ask(inquiry, &[place(high)])?[0], high);
        if d.abs() <= small(high) {
            return Ok(Way::Rim);
        }
        for _ in 0..80 {
            if high - low < 1e-9 {
                break;
            }
            let back = high - 0.02 * (high - low);
            let before = off(self.ask(inquiry, &[place(back)])?[0], back);
            let t = high - d * (high - back) / (d - before);
            let meets = t > low && t < back - 0.01 * (high - back);
            if meets {
                // The cell must reach from before the meeting point to it, and its neighbour from there on.
                let (last, near) = (t - 1e-3 * (t - low), t + 1e-3 * (high - t));
                let y = self.ask(inquiry, &[place(last), place(t), place(near)])?;
                let (here, there, beside) = (off(y[0], last), off(y[1], t), off(y[2], near));
                let expected = d * (near - t) / (high - t);
                let rough = small(high) * (high - low) / (high - back) + 1e-6 * expected.abs();
                let is_inside = here.abs() <= small(last);
                if is_inside && there.abs() <= rough && (beside - expected).abs() <= rough {
                    let t = near - beside * (high - near) / (d - beside);
                    if 1.0 - t < 2.0 * CORNER {
                        return Ok(Way::Rim);
                    }
                    return Ok(Way::Out { wall: place(t), end: place(high) });
                }
                if is_inside {
                    low = last;
                    if beside.abs() > small(near) {
                        (high, d) = (near, beside);
                    } else {
                        low = near;
                    }
                } else {
                    (high, d) = (last, here);
                }
                continue;
            }
            let middle = if low == 0.0 { 0.3 * high } else { 0.5 * (low + high) };
            let here = off(self.ask(inquiry, &[place(middle)])?[0], middle);
            if here.abs() <= small(middle) {
                low = middle;
            } else {
                (high, d) = (middle, here);
            }
        }
        Ok(if 1.0 - low < 2.0 * CORNER { Way::Rim } else { Way::Lost })
    }
}
