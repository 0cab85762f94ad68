//! Layers with neurons that are always active.
//!
//! If neurons of a layer never switch where `f` is asked, the next layer is affine in the others and in `h`,
//! the features before the layer: `h` is *carried* past it by rows that never switch either (`h >= 0` behind
//! a ReLU; inputs get a large bias). The signs of the layer's rows `z` are then free, since
//! `ReLU(-z) = ReLU(z) - z` and `z` is affine in `h`; at every kink they are chosen such that all `ReLU(z)`
//! are off there.
//!
//! Once the next layer is known, its weights `U` on `ReLU(z)` and `P` on `h` tell the signs: with
//! `beta_j = 1` for rows that look the wrong way, `P + U diag(beta) W` is the map of the neurons that are
//! always active, and has low rank. Its column space `S` shows where `W` is zero; `beta_j` is chosen such
//! that column `j` of `P W^+ + U diag(beta)` lies in `S`. Neurons with a large bias then take the place of
//! the carried features.

use fiberscope_algebra::dense::{along, dot, norm, product, scaled};
use fiberscope_core::Matrix;

use super::algebra::Svd;
use super::first::Row;
use super::prefix::{Prefix, Rows};

/// How far beyond the domain's radius carried inputs stay positive.
const REACH: f64 = 100.0;

/// How small what should vanish is, relative to the rest.
const SMALL: f64 = 1e-5;

/// A layer that carries its inputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carry {
    /// The rows of its own; those after them carry.
    pub own: usize,
    /// The bias of the rows that carry.
    bias: f64,
}

impl Carry {
    /// The rows of a layer behind `prefix`, and rows that carry its inputs.
    pub fn rows(prefix: &Prefix, rows: &[Row], radius: f64) -> Option<(Rows, Carry)> {
        let carry =
            Carry { own: rows.len(), bias: if prefix.layers.is_empty() { REACH * radius } else { 0.0 } };
        let unit = |k: usize| (0..prefix.width()).map(|i| f64::from(u8::from(i == k))).collect();
        let mut all = rows.to_vec();
        all.extend((0..prefix.width()).map(|k| (unit(k), carry.bias)));
        Some((Rows::new(&all)?, carry))
    }

    /// The prefix with the layer's own rows turned such that they are off at `x`, and which were.
    pub fn off_at(self, prefix: &Prefix, x: &[f64]) -> (Prefix, Vec<bool>) {
        let mut prefix = prefix.clone();
        let before = Prefix::of(prefix.inputs, &prefix.layers[..prefix.layers.len() - 1]);
        let last = prefix.layers.last_mut().expect("the layer that carries");
        let z = last.at(&before.hidden(x));
        let turned: Vec<bool> = z[..self.own].iter().map(|&z| z > 0.0).collect();
        for j in (0..self.own).filter(|&j| turned[j]) {
            last.weight.row_mut(j).iter_mut().for_each(|w| *w = -*w);
            last.bias[j] = -last.bias[j];
        }
        (prefix, turned)
    }

    /// A row of the next layer for turned rows as one for the rows of `layer` as they are.
    pub fn turned_back(self, layer: &Rows, turned: &[bool], (w, b): &Row) -> Row {
        let (mut w, mut b) = (w.clone(), *b);
        for j in (0..self.own).filter(|&j| turned[j]) {
            let weight = w[j];
            b += self.add(&mut w, -weight, layer.weight.row(j), layer.bias[j]);
        }
        let length = norm(&w);
        (scaled(&w, 1.0 / length), b / length)
    }

    /// A row of the next layer once it is known which of the layer's `rows` look the wrong way and that nothing
    /// of the carried features is left.
    pub fn settled(self, rows: &[Row], turned: &[bool], (w, b): &Row) -> Row {
        let (mut w, mut b) = (w.clone(), *b);
        for j in (0..self.own).filter(|&j| turned[j]) {
            let weight = w[j];
            b += self.add(&mut w, weight, &rows[j].0, rows[j].1);
        }
        b += self.bias * w.split_off(self.own).iter().sum::<f64>();
        let length = norm(&w);
        (scaled(&w, 1.0 / length), b / length)
    }

    /// Adds `factor * (v . h + c)` to the carried part of a row; what it adds to the bias.
    fn add(self, w: &mut [f64], factor: f64, v: &[f64], c: f64) -> f64 {
        for (w, v) in w[self.own..].iter_mut().zip(v) {
            *w += factor * v;
        }
        factor * (c - self.bias * v.iter().sum::<f64>())
    }

    /// Puts neurons that are always active in the place of the rows of `layer` that carry; says how many.
    /// They stay active where the features before the layer are within `ranges`.
    pub fn replace(self, layer: &mut Rows, next: &mut Rows, ranges: &[(f64, f64)]) -> Option<usize> {
        let own: Vec<Row> = layer.iter().take(self.own).map(|(w, b)| (w.to_vec(), b)).collect();
        let mut rows: Vec<Row> = next.iter().map(|(w, b)| (w.to_vec(), b)).collect();
        let mut signs = vec![1.0; self.own];
        for (j, turn) in self.turns(&own, next).unwrap_or_default().into_iter().enumerate() {
            if turn {
                signs[j] = -1.0;
                for (w, b) in &mut rows {
                    let weight = w[j];
                    *b += self.add(w, weight, &own[j].0, own[j].1);
                }
            }
        }
        let carried = Matrix::from_fn(rows.len(), ranges.len(), |i, k| rows[i].0[self.own + k]);
        let svd = Svd::of(&carried)?;
        let rank = svd.rank(SMALL);
        let mut all: Vec<Row> = own.iter().zip(&signs).map(|((w, b), s)| (scaled(w, *s), s * b)).collect();
        for (w, b) in &mut rows {
            let part = w.split_off(self.own);
            *b += self.bias * part.iter().sum::<f64>();
            for v in svd.v.iter().take(rank) {
                let weight = dot(&part, v);
                *b -= weight * active_bias(v, ranges);
                w.push(weight);
            }
        }
        all.extend(svd.v.iter().take(rank).map(|v| (v.clone(), active_bias(v, ranges))));
        (*layer, *next) = (Rows::new(&all)?, Rows::new(&rows)?);
        Some(rank)
    }

    /// Which of the layer's own rows look the wrong way, if that can be told.
    fn turns(self, own: &[Row], next: &Rows) -> Option<Vec<bool>> {
        let w = Rows::new(own)?.weight;
        let (outputs, inputs) = (next.len(), w.cols());
        let used = Matrix::from_fn(outputs, self.own, |i, j| next.weight[(i, j)]);
        let carried = Matrix::from_fn(outputs, inputs, |i, k| next.weight[(i, self.own + k)]);
        let svd = Svd::of(&w.transpose())?;
        if svd.rank(1e-9) < self.own {
            return None;
        }
        // `P W^+`, row by row: the coefficients of `P_i` in the rows of `W`.
        let within: Vec<Vec<f64>> = carried.iter_rows().map(|row| svd.solve(row, 1e-12)).collect();
        let within = Matrix::from_rows(&within)?;
        let inside = product(&within, &w);
        let outside = Matrix::from_fn(outputs, inputs, |i, k| carried[(i, k)] - inside[(i, k)]);
        let space = Svd::of(&outside)?;
        let size = norm(carried.entries()) + norm(used.entries());
        let basis: Vec<&Vec<f64>> =
            space.u.iter().zip(&space.s).filter(|(_, s)| **s > SMALL * size).map(|(u, _)| u).collect();
        let distance = |j: usize, bit: f64| {
            let mut column: Vec<f64> = (0..outputs).map(|i| within[(i, j)] + bit * used[(i, j)]).collect();
            for u in &basis {
                column = along(&column, -dot(&column, u), u);
            }
            norm(&column)
        };
        let tell = |j: usize| {
            let (straight, turned) = (distance(j, 0.0), distance(j, 1.0));
            let clear = straight.min(turned) < 0.01 * straight.max(turned);
            clear.then_some(turned < straight)
        };
        (0..self.own).map(tell).collect()
    }
}

/// A bias with which `v . h` stays positive while `h` is within `ranges`.
pub(super) fn active_bias(v: &[f64], ranges: &[(f64, f64)]) -> f64 {
    let least: f64 = v.iter().zip(ranges).map(|(v, (lo, hi))| (v * lo).min(v * hi)).sum();
    1.0 - 1.1 * least.min(0.0)
}
