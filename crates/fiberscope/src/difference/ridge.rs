//! Ascents along ridges.
//!
//! `B_k - A_k` is linear on every cell on which no neuron of A or B changes its sign. Where a hyperplane of A and the one of B that belongs
//! to it lie close together the slopes between both are those of a whole network, not those of a difference, so that maxima lie in thin slivers
//! and where several of them meet: steps of a given length pass by them. This ascent goes from cell to cell. Its direction is that of the
//! slopes; where the next cell falls in this direction the hyperplane between both cells is a ridge, and from there on the ascent stays on it.
//! The normal of the hyperplane is the difference of the slopes on both sides, as the function is continuous. All of it proposes; values are evaluated again.

use fiberscope_core::Activation;

use super::probe::Probe;
use super::rows::{output, sign};
use super::through::{product as dot, through};

/// So far, in units of the box, a step goes into the next cell.
const NUDGE: f64 = 1e-9;
/// What is left of a direction that is this small, relatively, is nothing.
const NOTHING: f64 = 1e-7;

impl Probe<'_> {
    /// Goes up from a point of the box, at most so many steps. The value there; `x` is the point.
    pub fn ascend(&mut self, x: &mut Vec<f64>, row: usize, lo: &[f64], hi: &[f64], steps: usize) -> f64 {
        let widths: Vec<f64> = lo.iter().zip(hi).map(|(lo, hi)| hi - lo).collect();
        let mut best = sign(row) * self.difference(x)[output(row)];
        if widths.iter().any(|width| !width.is_finite()) || !best.is_finite() {
            return best;
        }
        let scaled =
            |slopes: &[f64]| -> Vec<f64> { slopes.iter().zip(&widths).map(|(c, w)| c * w).collect() };
        let moved = |x: &[f64], direction: &[f64], way: f64| -> Vec<f64> {
            let at = |j: usize| (x[j] + way * direction[j] * widths[j]).clamp(lo[j], hi[j]);
            (0..x.len()).map(at).collect()
        };
        let mut at = x.clone();
        let mut slopes = scaled(self.slopes(row));
        let mut ridges: Vec<Vec<f64>> = Vec::new();
        let mut risen = true;
        for _ in 0..steps {
            let Some(direction) = direction(&slopes, &ridges, &at, (lo, hi)) else {
                // On a corner of ridges, some of which may be behind by now.
                if ridges.is_empty() || !std::mem::take(&mut risen) {
                    break;
                }
                ridges.clear();
                continue;
            };
            let inside = moved(&at, &direction, NUDGE);
            self.difference(&inside);
            let ahead = scaled(self.slopes(row));
            if dot(&ahead, &direction) <= 0.0 {
                let normal = slopes.iter().zip(&ahead).map(|(here, ahead)| here - ahead).collect();
                if ridges.len() >= x.len() {
                    break;
                }
                ridges.push(normal);
                continue;
            }
            let way = self.way(&scaled(&direction)).min(room(&inside, &direction, (lo, hi), &widths));
            at = moved(&inside, &direction, way);
            slopes = ahead;
            let value = sign(row) * self.difference(&at)[output(row)];
            if value > best {
                best = value;
                x.clone_from(&at);
                risen = true;
            }
        }
        best
    }

    /// Goes from one point to another through all cells on the way, at most so many, and shows every point where one ends, with the
    /// differences there: a function that is linear on cells is largest at one of them.
    pub fn sweep(&mut self, from: &[f64], to: &[f64], cells: usize, mut show: impl FnMut(&[f64], &[f64])) {
        let way: Vec<f64> = from.iter().zip(to).map(|(from, to)| to - from).collect();
        let at = |part: f64| -> Vec<f64> {
            let ends = from.iter().zip(to).zip(&way);
            ends.map(|((from, to), way)| (from + part * way).clamp(from.min(*to), from.max(*to))).collect()
        };
        show(from, self.difference(from));
        if way.iter().any(|way| !way.is_finite()) {
            return;
        }
        let mut part = 0.0;
        for _ in 0..cells {
            self.difference(&at(part + NUDGE));
            part += NUDGE + self.way(&way);
            let next = at(part.min(1.0));
            show(&next, self.difference(&next));
            if part.is_nan() || part >= 1.0 {
                break;
            }
        }
    }

    /// How far it is in a direction from the last point to where a neuron changes its sign.
    fn way(&self, direction: &[f64]) -> f64 {
        let (mut a, mut e) = (direction.to_vec(), vec![0.0; direction.len()]);
        let mut way = f64::INFINITY;
        let (mut rates, mut changes) = (Vec::new(), Vec::new());
        for (l, (layer, (z, d))) in self.pair().layers().iter().zip(self.values()).enumerate() {
            rates.resize(layer.rows, 0.0);
            changes.resize(layer.rows, 0.0);
            through(layer, &a, (l > 0).then_some(&e[..]), &mut rates, &mut changes);
            let (mut next_a, mut next_e) = (Vec::with_capacity(layer.rows), Vec::with_capacity(layer.rows));
            for (i, (&rate, &change)) in rates.iter().zip(&changes).enumerate() {
                if layer.activation == Activation::Identity {
                    next_a.push(rate);
                    next_e.push(change);
                    continue;
                }
                let (of_a, of_b) = (z[i], z[i] + d[i]);
                for (value, rate) in [(of_a, rate), (of_b, rate + change)] {
                    let zero = -value / rate;
                    if zero > NUDGE && zero < way {
                        way = zero;
                    }
                }
                let on = |value: f64, rate: f64| if value > 0.0 { rate } else { 0.0 };
                next_a.push(on(of_a, rate));
                next_e.push(on(of_b, rate + change) - on(of_a, rate));
            }
            (a, e) = (next_a, next_e);
        }
        way
    }
}

/// How far it is to the end of the box.
fn room(x: &[f64], direction: &[f64], (lo, hi): (&[f64], &[f64]), widths: &[f64]) -> f64 {
    let to = |j: usize| {
        let end = if direction[j] > 0.0 { hi[j] - x[j] } else { x[j] - lo[j] };
        end / (direction[j].abs() * widths[j])
    };
    let moving = (0..x.len()).filter(|&j| direction[j] != 0.0 && widths[j] > 0.0);
    moving.map(to).fold(1.0, f64::min)
}

/// The part of the slopes that stays on the ridges and in the box, its largest entry 1; `None` if nothing is left of them.
fn direction(slopes: &[f64], ridges: &[Vec<f64>], x: &[f64], (lo, hi): (&[f64], &[f64])) -> Option<Vec<f64>> {
    let n = slopes.len();
    let mut free: Vec<bool> = (0..n).map(|j| lo[j] < hi[j]).collect();
    let largest = |v: &[f64]| v.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    loop {
        let kept = |v: &[f64]| -> Vec<f64> {
            v.iter().zip(&free).map(|(x, free)| if *free { *x } else { 0.0 }).collect()
        };
        let mut basis: Vec<Vec<f64>> = Vec::new();
        for ridge in ridges {
            let mut v = kept(ridge);
            let before = dot(&v, &v);
            for b in &basis {
                subtract(&mut v, b);
            }
            let left = dot(&v, &v);
            if left > NOTHING * NOTHING * before {
                let unit = left.sqrt();
                v.iter_mut().for_each(|x| *x /= unit);
                basis.push(v);
            }
        }
        let mut v = kept(slopes);
        let before = largest(&v);
        // Twice, for what rounding leaves.
        for b in basis.iter().chain(&basis) {
            subtract(&mut v, b);
        }
        let left = largest(&v);
        if left.is_nan() || left <= NOTHING * before || left == 0.0 {
            return None;
        }
        let outward = |j: usize| v[j] > 0.0 && x[j] >= hi[j] || v[j] < 0.0 && x[j] <= lo[j];
        let stopped: Vec<usize> = (0..n).filter(|&j| free[j] && outward(j)).collect();
        if stopped.is_empty() {
            v.iter_mut().for_each(|x| *x /= left);
            return Some(v);
        }
        stopped.into_iter().for_each(|j| free[j] = false);
    }
}

/// Subtracts from a vector its part in the direction of a unit vector.
fn subtract(v: &mut [f64], unit: &[f64]) {
    let part = dot(v, unit);
    v.iter_mut().zip(unit).for_each(|(x, b)| *x -= part * b);
}

#[cfg(test)]
mod tests {
    use fiberscope_check::difference::Pair;
    use fiberscope_core::Network;

    use super::*;

    /// `relu(x + y)` against `relu(x + y + 1/1024)`, less a slope: the difference is largest on the ridge `x + y = 0`, at its end.
    fn ridge() -> Pair {
        let network = |shift: f64, out: f64| {
            let hidden: &[&[f64]] = &[&[1.0, 1.0], &[1.0, 0.0], &[-1.0, 0.0], &[1.0, 1.0]];
            let slope = out / 4096.0;
            let rows: &[&[f64]] = &[&[1.0, slope, -slope, -out / 1024.0]];
            Network::from_rows(&[(hidden, &[shift, 0.0, 0.0, 0.0]), (rows, &[0.0])]).unwrap()
        };
        Pair::new(&network(0.0, 0.0).to_exact(), &network(1.0 / 1024.0, 1.0).to_exact()).unwrap()
    }

    #[test]
    fn an_ascent_stays_on_its_ridge_to_the_end() {
        let pair = ridge();
        let (lo, hi) = ([-1.0, -1.0], [1.0, 1.0]);
        let mut probe = Probe::new(&pair);
        for start in [[0.3, -0.29], [-0.5, 0.5], [0.0, -0.0005], [-0.9, 0.1]] {
            let mut x = start.to_vec();
            let value = probe.ascend(&mut x, 0, &lo, &hi, 50);
            assert!((x[0] - 1.0).abs() < 1e-6 && (x[1] + 1.0).abs() < 1e-6, "{start:?} -> {x:?}");
            assert!((value - 5.0 / 4096.0).abs() < 1e-9, "{value}");
        }
    }

    #[test]
    fn a_way_shows_where_signs_change() {
        let pair = ridge();
        let mut places = Vec::new();
        Probe::new(&pair).sweep(&[0.5, -1.0], &[0.5, 1.0], 100, |x, _| places.push(x[1]));
        for expected in [-1.0, -0.5 - 1.0 / 1024.0, -0.5, 1.0] {
            assert!(places.iter().any(|place| (place - expected).abs() < 1e-8), "{expected}: {places:?}");
        }
    }
}
