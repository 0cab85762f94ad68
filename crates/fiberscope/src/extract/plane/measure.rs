//! Affine functions of cells, measured.
//!
//! A cell is entered where another one is left, often at a corner, where it is narrow. A gradient over a short base is
//! not exact enough to tell cells apart; so the base grows, away from the sides of the cell, while answers are those of
//! the affine function.

use std::collections::VecDeque;

use super::super::inquiry::{Halt, Inquiry};
use super::cell::{Affine, Corner, Point, along, cross, dot, minus, norm};
use super::explore::{CLEAR, Plane};

/// A base, in radii, over which gradients are exact enough to tell cells apart.
const SHORT: f64 = 2e-3;

/// Ways this many times as long as a base tell more than it.
const LONG: f64 = 20.0;

impl Plane {
    /// The affine function around `x`.
    pub(super) fn measure(&self, inquiry: &mut Inquiry<'_>, x: Point) -> Result<Option<Affine>, Halt> {
        for share in [0.05, 0.01, 2e-3, 4e-4, 8e-5] {
            let s = share * self.radius;
            let around = [[0.0, 0.0], [s, 0.0], [-s, 0.0], [0.0, s], [0.0, -s], [0.7 * s, 0.6 * s]];
            let points: Vec<Point> = around.iter().map(|d| along(x, 1.0, *d)).collect();
            let y = self.ask(inquiry, &points)?;
            let gradient = [(y[1] - y[2]) / (2.0 * s), (y[3] - y[4]) / (2.0 * s)];
            let mut affine = Affine { at: x, value: y[0], gradient, base: s, noise: self.combined.noise(x) };
            let noise = 4.0 * self.noise(x);
            if points.iter().zip(&y).all(|(x, y)| (affine.of(*x) - y).abs() < noise) {
                if norm(gradient) * s < noise {
                    affine.gradient = [0.0, 0.0];
                }
                return Ok(Some(affine));
            }
        }
        Ok(None)
    }

    /// The cell that begins at `wall` and reaches `end`.
    pub(super) fn beyond(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        wall: Point,
        end: Point,
        queue: &mut VecDeque<usize>,
    ) -> Result<Option<usize>, Halt> {
        let way = minus(end, wall);
        let length = norm(way);
        let unit = [way[0] / length, way[1] / length];
        let beside = [-unit[1], unit[0]];
        for share in [1.0, 0.2, 0.04, 8e-3, 1.6e-3] {
            let length = share * length;
            let place = |t: f64| along(wall, t * length, unit);
            let (near, middle, far) = (place(0.1), place(0.5), place(0.9));
            let noise = 4.0 * self.noise(middle);
            let y = self.ask(inquiry, &[near, middle, far])?;
            if (y[0] + y[2] - 2.0 * y[1]).abs() > noise {
                continue;
            }
            let slope = (y[2] - y[0]) / (0.8 * length);
            for share in [0.4, 0.08, 0.016, 3e-3, 6e-4] {
                let s = share * length;
                let sides = [along(middle, s, beside), along(middle, -s, beside)];
                let z = self.ask(inquiry, &sides)?;
                if (z[0] + z[1] - 2.0 * y[1]).abs() > noise {
                    continue;
                }
                let across = (z[0] - z[1]) / (2.0 * s);
                let gradient = along([slope * unit[0], slope * unit[1]], across, beside);
                let (base, noise_here) = (s.min(0.4 * length), self.combined.noise(far));
                let mut affine = Affine { at: middle, value: y[1], gradient, base, noise: noise_here };
                if norm(gradient) * affine.base < noise {
                    affine.gradient = [0.0, 0.0];
                }
                let affine = self.grown(inquiry, affine)?;
                let off = |a: usize| self.off(a, &affine).map(|off| (off, a));
                let known = (0..self.cells.len()).filter_map(off).min_by(|a, b| a.0.total_cmp(&b.0));
                return Ok(Some(known.map_or_else(|| self.add(affine, queue), |(_, a)| a)));
            }
        }
        Ok(None)
    }

    /// Takes the way to a place at the rim into account, if it is long for the base over which the affine function of a
    /// narrow cell was measured; whether that made a difference.
    pub(super) fn lengthened(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        a: usize,
        rim: Point,
    ) -> Result<bool, Halt> {
        let (affine, inside) = (self.cells[a].affine, self.cells[a].inside);
        let way = minus(rim, inside);
        if norm(way) < LONG * affine.base {
            return Ok(false);
        }
        let middle = along(inside, 0.5, way);
        let y = self.ask(inquiry, &[inside, middle])?;
        let off = ((y[1] - y[0]) - dot(affine.gradient, minus(middle, inside))) / (0.5 * dot(way, way));
        let affine = &mut self.cells[a].affine;
        affine.gradient = along(affine.gradient, off, way);
        Ok(off.abs() * norm(way) > 1e-3 * affine.noise / affine.base)
    }

    /// How far an affine function is from that of a cell, if it may be the same, as far as both are known, and was measured
    /// within the sides of the cell that are known.
    fn off(&self, a: usize, b: &Affine) -> Option<f64> {
        let cell = &self.cells[a];
        let mut off = 0.0f64;
        for d in [[0.0, 0.0], [b.base, 0.0], [0.0, b.base]] {
            let x = along(b.at, 1.0, d);
            let noise = self.combined.noise(x);
            let errors = cell.affine.error(noise, x) + b.error(noise, x);
            off = off.max((cell.affine.of(x) - b.of(x)).abs() / errors);
        }
        let within = |&c: &usize| {
            let other = &self.cells[c].affine;
            let (there, inside) =
                (other.of(b.at) - b.of(b.at), other.of(cell.inside) - cell.affine.of(cell.inside));
            let noise = self.combined.noise(b.at);
            there * inside > 0.0 || there.abs() < CLEAR * (other.error(noise, b.at) + b.error(noise, b.at))
        };
        (off < 2.0 * CLEAR && (cell.dark || cell.beyond.iter().all(within))).then_some(off)
    }

    /// The affine function measured over a longer base, if that is short, away from the sides of its cell.
    fn grown(&self, inquiry: &mut Inquiry<'_>, affine: Affine) -> Result<Affine, Halt> {
        let mut best = affine;
        if norm(best.gradient) == 0.0 {
            return Ok(best);
        }
        for _ in 0..12 {
            if best.base > SHORT * self.radius {
                break;
            }
            let r = 16.0 * best.base;
            let turn = inquiry.uniform(0.0, std::f64::consts::TAU);
            let around: Vec<Point> = (0..6)
                .map(|k| {
                    let angle = turn + f64::from(k) * std::f64::consts::TAU / 6.0;
                    along(best.at, r, [angle.cos(), angle.sin()])
                })
                .collect();
            let y = self.ask(inquiry, &around)?;
            let mut inside = vec![best.at];
            inside.extend(around.iter().zip(&y).filter_map(|(x, y)| {
                let error = best.error(self.combined.noise(*x), *x);
                ((best.of(*x) - y).abs() < 2.0 * CLEAR * error).then_some(*x)
            }));
            let share = 1.0 / inside.len() as f64;
            let center = inside.iter().fold([0.0, 0.0], |sum, x| along(sum, share, *x));
            let mut better = None;
            for s in [0.5 * r, 0.1 * r] {
                let points: Vec<Point> = [[0.0, 0.0], [s, 0.0], [-s, 0.0], [0.0, s], [0.0, -s]]
                    .iter()
                    .map(|d| along(center, 1.0, *d))
                    .collect();
                let y = self.ask(inquiry, &points)?;
                let noise = 4.0 * self.noise(center);
                let even = |i: usize, k: usize| (y[i] + y[k] - 2.0 * y[0]).abs() < noise;
                let error = 4.0 * CLEAR * best.error(self.combined.noise(center), points[1]);
                let known = points.iter().zip(&y).all(|(x, y)| (best.of(*x) - y).abs() < error);
                if even(1, 2) && even(3, 4) && known {
                    let gradient = [(y[1] - y[2]) / (2.0 * s), (y[3] - y[4]) / (2.0 * s)];
                    let noise = self.combined.noise(center);
                    better = Some(Affine { at: center, value: y[0], gradient, base: s, noise });
                    break;
                }
            }
            let Some(found) = better else { break };
            best = found;
        }
        Ok(best)
    }

    /// Measures the affine function of a cell as far apart as the cell allows.
    pub(super) fn sharpen(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        a: usize,
        polygon: &[Corner],
    ) -> Result<(), Halt> {
        if polygon.len() < 3 {
            return Ok(());
        }
        let count = polygon.len() as f64;
        let center = polygon.iter().fold([0.0, 0.0], |sum, corner| along(sum, 1.0 / count, corner.at));
        // The triangle of corners with the largest area.
        let mut best = (0.0, [0, 0, 0]);
        for i in 0..polygon.len() {
            for j in 0..i {
                for k in 0..j {
                    let (u, v) = (minus(polygon[i].at, polygon[k].at), minus(polygon[j].at, polygon[k].at));
                    let area = cross(u, v).abs();
                    if area > best.0 {
                        best = (area, [i, j, k]);
                    }
                }
            }
        }
        let places: Vec<Point> =
            best.1.iter().map(|&i| along(center, 0.9, minus(polygon[i].at, center))).collect();
        let mut points = places.clone();
        points.push(center);
        let y = self.ask(inquiry, &points)?;
        let (u, v) = (minus(places[1], places[0]), minus(places[2], places[0]));
        let area = cross(u, v);
        if area == 0.0 {
            return Ok(());
        }
        let (du, dv) = (y[1] - y[0], y[2] - y[0]);
        let gradient = [(du * v[1] - dv * u[1]) / area, (dv * u[0] - du * v[0]) / area];
        let longest = norm(u).max(norm(v)).max(norm(minus(u, v)));
        let value = y[0] + dot(gradient, minus(center, places[0]));
        let noise = places.iter().map(|x| self.combined.noise(*x)).fold(0.0, f64::max);
        let affine = Affine { at: center, value, gradient, base: area.abs() / longest, noise };
        if (value - y[3]).abs() > 4.0 * CLEAR * noise {
            self.open += 1;
            return Ok(());
        }
        let cell = &mut self.cells[a];
        if affine.noise / affine.base < cell.affine.noise / cell.affine.base {
            cell.affine = affine;
            cell.inside = center;
        }
        Ok(())
    }
}
