//! Questions where combinations of neurons are extreme.
//!
//! A neuron `w . h + b` that is in one state nearly everywhere is in its other one, if at all, where `w . h`
//! is largest or smallest on the domain: in a place that random points and lines do not come near. The
//! features `h` are known, so such places are found by computing alone, and one question each tells whether
//! there is something. What `w` may be:
//!
//! - any combination of the features, if nothing of the neuron was seen;
//! - a row that was found with one weight changed, if that weight was guessed;
//! - `sum_j a_j w_j` over the rows that are always active and over some of the others, if the neuron is the
//!   one that makes the linear part of the last hidden layer: `a ReLU(z) = a ReLU(-z) + a z`, so the linear
//!   part is known only up to such sums.

use fiberscope_algebra::dense::{along, direction, dot, norm, row_times, scaled};

use super::inquiry::Inquiry;
use super::prefix::{Prefix, Rows};

/// Steps of a climb, and the length of the last one by that of the first.
const STEPS: usize = 160;
const LAST_STEP: f64 = 0.002;

/// The most operations of all climbs in a layer, and the fewest climbs nevertheless.
const WORK: usize = 1_000_000_000;
const FEWEST: usize = 50;

/// How much features that are off count at first.
const LEAK: f64 = 0.5;

/// Neurons and outputs of a layer whose extremes are looked for.
const MOST_ROWS: usize = 40;

/// Sums that may be the linear part of the last hidden layer.
const MOST_SUMS: usize = 512;

/// Stored questions that a place is compared with.
const COMPARED: usize = 500;

/// Random combinations that are drawn for every climb.
const DRAWS: usize = 30;

/// At most `most` points of the domain where combinations of neurons are more extreme than at all questions
/// so far.
///
/// A combination is looked at if a neuron with its weights and a bias of the usual size would have been in
/// one state at all questions so far, and in the other one at the new point.
pub(super) fn extremes(inquiry: &mut Inquiry<'_>, layers: &[Rows], most: usize) -> Vec<Vec<f64>> {
    let (stored, _) = inquiry.stored(1.0 + 1e-9, COMPARED);
    let hidden_layers = layers.len() - 1;
    let mut points = Vec::new();
    for depth in 1..hidden_layers {
        let prefix = Prefix::of(inquiry.inputs, &layers[..depth]);
        let hidden: Vec<Vec<f64>> = stored.iter_rows().map(|x| prefix.hidden(x)).collect();
        let bias = usual_bias(&layers[depth], &hidden);
        let mut likely = changed_rows(&layers[depth]);
        if depth + 1 == hidden_layers {
            likely.extend(linear_parts(inquiry, &layers[depth], &layers[depth + 1], &hidden));
        }
        let affordable =
            WORK / (STEPS * prefix.layers.iter().map(|rows| 4 * rows.weight.entries().len()).sum::<usize>());
        let mut climbs = (most / (hidden_layers - 1)).min(affordable.max(FEWEST));
        for draw in 0..likely.len() + DRAWS * climbs {
            if climbs == 0 || inquiry.options.deadline.is_past() {
                break;
            }
            let goal = likely.get(draw).cloned().unwrap_or_else(|| inquiry.normals(prefix.width()));
            let Some(goal) = direction(&goal) else { continue };
            let height = hidden.iter().map(|h| dot(&goal, h)).fold(f64::NEG_INFINITY, f64::max);
            if height >= bias {
                continue;
            }
            climbs -= 1;
            let start = inquiry.point_of_domain();
            let x = prefix.climb(&goal, &start, inquiry.radius);
            if dot(&goal, &prefix.hidden(&x)) > height.max(-bias) {
                points.push(x);
            }
        }
    }
    points
}

/// Twice the usual size of a bias if rows have length one, and no less than a part of the usual size of the
/// features.
fn usual_bias(rows: &Rows, hidden: &[Vec<f64>]) -> f64 {
    let median = |mut sizes: Vec<f64>| {
        sizes.sort_by(f64::total_cmp);
        sizes.get(sizes.len() / 2).copied().unwrap_or(0.0)
    };
    let biases = rows.iter().map(|(w, b)| b.abs() / norm(w)).collect();
    (2.0 * median(biases)).max(0.05 * median(hidden.iter().map(|h| norm(h)).collect()))
}

/// Rows, either way, and rows with one weight replaced by a small positive one.
fn changed_rows(rows: &Rows) -> Vec<Vec<f64>> {
    let mut goals = Vec::new();
    for (w, _) in rows.iter().take(MOST_ROWS) {
        goals.extend([w.to_vec(), scaled(w, -1.0)]);
        for k in 0..w.len().min(MOST_ROWS) {
            for sign in [1.0, -1.0] {
                let mut goal = scaled(w, sign);
                goal[k] = 0.0;
                let mean = goal.iter().map(|v| v.abs()).sum::<f64>() / w.len() as f64;
                goal[k] = 0.3 * mean;
                goals.push(goal);
            }
        }
    }
    goals
}

/// What may be the linear part of the last hidden layer, either way; nothing if every row switches.
fn linear_parts(inquiry: &mut Inquiry<'_>, rows: &Rows, output: &Rows, hidden: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let switches = |&j: &usize| {
        let on = hidden.iter().filter(|h| dot(rows.weight.row(j), h) + rows.bias[j] > 0.0).count();
        on > 0 && on < hidden.len()
    };
    let (switching, constant): (Vec<usize>, Vec<usize>) = (0..rows.len()).partition(switches);
    if constant.is_empty() {
        return Vec::new();
    }
    let count = switching.len();
    let all = count <= MOST_SUMS.ilog2() as usize;
    let sums = if all { 1 << count } else { MOST_SUMS };
    let mut goals = Vec::with_capacity(2 * sums);
    for choice in 0..sums {
        let weights = inquiry.normals(output.len());
        let slope = |j: usize| (0..output.len()).map(|o| weights[o] * output.weight[(o, j)]).sum::<f64>();
        let mut goal = vec![0.0; rows.weight.cols()];
        for &j in &constant {
            goal = along(&goal, slope(j), rows.weight.row(j));
        }
        for (i, &j) in switching.iter().enumerate() {
            let chosen = if all { choice >> i & 1 == 1 } else { inquiry.below(2) == 1 };
            if chosen {
                goal = along(&goal, slope(j), rows.weight.row(j));
            }
        }
        goals.extend([scaled(&goal, -1.0), goal]);
    }
    goals
}

impl Prefix {
    /// A point of the box of this radius where `v . h` is large: by following its gradient from `start` with
    /// ever shorter steps. Combinations with negative weights are largest where features vanish, so corners
    /// would not do.
    pub fn climb(&self, v: &[f64], start: &[f64], radius: f64) -> Vec<f64> {
        let (mut x, mut best, mut highest) = (start.to_vec(), start.to_vec(), f64::NEG_INFINITY);
        let count = (self.inputs as f64).sqrt();
        for step in 0..STEPS {
            let share = step as f64 / STEPS as f64;
            let (height, gradient) = self.slope(v, &x, LEAK * (1.0 - 1.5 * share).max(0.0));
            if height > highest {
                highest = height;
                best.copy_from_slice(&x);
            }
            let size = norm(&gradient);
            if size == 0.0 {
                break;
            }
            let length = radius * LAST_STEP.powf(share) * count / size;
            for (x, g) in x.iter_mut().zip(&gradient) {
                *x = (*x + length * g).clamp(-radius, radius);
            }
        }
        best
    }

    /// `v . h(x)` and a direction in which it grows: the gradient, if features that are off but would help
    /// count in part.
    fn slope(&self, v: &[f64], x: &[f64], leak: f64) -> (f64, Vec<f64>) {
        let mut values = vec![x.to_vec()];
        for layer in &self.layers {
            let h = layer.at(&values[values.len() - 1]).into_iter().map(|z| z.max(0.0)).collect();
            values.push(h);
        }
        let top = &values[self.layers.len()];
        let mut gradient = v.to_vec();
        for (layer, h) in self.layers.iter().zip(&values[1..]).rev() {
            gradient.iter_mut().zip(h).filter(|(_, h)| **h <= 0.0).for_each(|(g, _)| *g = leak * g.max(0.0));
            gradient = row_times(&gradient, &layer.weight);
        }
        (dot(v, top), gradient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(layers: &[&[(&[f64], f64)]]) -> Prefix {
        let rows = |layer: &&[(&[f64], f64)]| {
            Rows::new(&layer.iter().map(|(w, b)| (w.to_vec(), *b)).collect::<Vec<_>>()).unwrap()
        };
        Prefix::of(layers[0][0].0.len(), &layers.iter().map(rows).collect::<Vec<_>>())
    }

    /// `-|x - 1|` has its maximum inside the box.
    #[test]
    fn the_highest_point_may_be_inside() {
        let prefix = prefix(&[&[(&[1.0, 0.0], -1.0), (&[-1.0, 0.0], 1.0)]]);
        let x = prefix.climb(&[-1.0, -1.0], &[-2.5, 0.3], 3.0);
        assert!((x[0] - 1.0).abs() < 0.05, "{x:?}");
    }

    /// `ReLU(x - 2.5)` is flat at the start.
    #[test]
    fn a_plain_is_left() {
        let prefix = prefix(&[&[(&[1.0], -2.5)]]);
        assert_eq!(prefix.climb(&[1.0], &[-1.0], 3.0), [3.0]);
    }

    /// `ReLU(ReLU(x) + ReLU(y) - 5)` is positive near one corner only.
    #[test]
    fn two_layers_are_climbed() {
        let prefix = prefix(&[&[(&[1.0, 0.0], 0.0), (&[0.0, 1.0], 0.0)], &[(&[1.0, 1.0], -5.0)]]);
        assert_eq!(prefix.climb(&[1.0], &[-1.0, -2.0], 3.0), [3.0, 3.0]);
    }
}
