//! Weights of features that were off where the row of a neuron was found: one bend each.
//!
//! At a point of the boundary where feature `k` is raised to `sigma` and the other unknown ones are off, the kink
//! moves by `-w_k sigma` along a line that changes `w_K . h_K` alone.

use fiberscope_algebra::dense::{along, dot, norm, peak};

use super::algebra::least_squares;
use super::deeper::Layer;
use super::inquiry::{Halt, Inquiry};
use super::line::{Kink, Sweep};
use super::probe::{Boundary, Place, Sight};

/// Earlier questions with the features there, after so many questions.
#[derive(Default)]
struct Recent {
    count: u64,
    points: Vec<(Vec<f64>, Vec<f64>)>,
}

impl Layer<'_> {
    /// Finds the weights of the features that were off at the kink.
    pub fn complete(
        &self,
        inquiry: &mut Inquiry<'_>,
        boundary: &mut Boundary,
        kink: &Kink,
    ) -> Result<bool, Halt> {
        let mut todo: Vec<usize> = boundary.unknown(None).collect();
        let mut failures = 0;
        let mut recent = Recent::default();
        while !todo.is_empty() {
            let mut left = Vec::new();
            for &k in &todo {
                let before = inquiry.count();
                match self.weight(inquiry, boundary, kink, k, &mut recent)? {
                    Some(weight) => {
                        boundary.w[k] = weight;
                        boundary.known[k] = true;
                    }
                    None => {
                        left.push(k);
                        // A feature that cannot be reached yet may be so once others are known.
                        failures += usize::from(inquiry.count() > before);
                        if failures >= 3.max(2 * todo.len()) {
                            return Ok(false);
                        }
                    }
                }
            }
            if left.len() == todo.len() {
                return Ok(false);
            }
            todo = left;
        }
        Ok(true)
    }

    /// The weight of feature `k`, seen as a bend of the boundary.
    fn weight(
        &self,
        inquiry: &mut Inquiry<'_>,
        boundary: &Boundary,
        kink: &Kink,
        k: usize,
        recent: &mut Recent,
    ) -> Result<Option<f64>, Halt> {
        const SIGMA: [f64; 9] = [0.05, 0.02, 0.02, 0.005, 0.01, 0.003, 0.02, 0.005, 0.001];
        const REACH: [f64; 9] = [2.5, 2.5, 8.0, 8.0, 30.0, 30.0, 8.0, 30.0, 30.0];
        let mut places = None;
        for attempt in 0..SIGMA.len() {
            inquiry.go_on()?;
            let start = match attempt {
                0 | 1 => kink.x.clone(),
                2..6 => along(&kink.x, 1.0, &inquiry.point(0.5 * attempt as f64)),
                _ => {
                    let places = places.get_or_insert_with(|| self.where_on(inquiry, k, recent));
                    if places.is_empty() {
                        break;
                    }
                    places[inquiry.below(places.len())].clone()
                }
            };
            let sigma = SIGMA[attempt] * inquiry.radius;
            let Some((x, m, level)) = self.bend(inquiry, boundary, k, sigma, &start) else { continue };
            let reach = REACH[attempt] * peak(&boundary.w) * level;
            let known = self.prefix.flips(&x, &m, -reach, reach);
            let kinks =
                Sweep { x: &x, u: &m, from: -reach, to: reach, known, grid: Vec::new() }.kinks(inquiry)?;
            let mut weights: Vec<f64> = kinks
                .iter()
                .filter_map(|seen| {
                    let local = self.prefix.local(&seen.x);
                    let alone = boundary.unknown(Some(k)).all(|j| !local.active[j]) && local.hidden[k] > 0.0;
                    alone.then(|| -boundary.value(&local.hidden) / local.hidden[k])
                })
                .collect();
            weights.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
            for weight in weights.into_iter().take(4) {
                if self.bends_so(inquiry, boundary, k, weight, &x, sigma)? {
                    return Ok(Some(weight));
                }
            }
        }
        Ok(None)
    }

    /// Earlier questions at which feature `k` is on: a feature that rarely is, is hard to reach from
    /// elsewhere.
    fn where_on(&self, inquiry: &Inquiry<'_>, k: usize, recent: &mut Recent) -> Vec<Vec<f64>> {
        if recent.count != inquiry.count() {
            let (points, _) = inquiry.recent(4.0, 3_000);
            let with_features = |x: &[f64]| (x.to_vec(), self.prefix.hidden(x));
            *recent =
                Recent { count: inquiry.count(), points: points.iter_rows().map(with_features).collect() };
        }
        let on = recent.points.iter().filter(|(_, features)| features[k] > 0.0);
        on.map(|(x, _)| x.clone()).collect()
    }

    /// A point of the boundary with feature `k` at `sigma`, and a direction that changes the known part
    /// alone.
    fn bend(
        &self,
        inquiry: &Inquiry<'_>,
        boundary: &Boundary,
        k: usize,
        sigma: f64,
        start: &[f64],
    ) -> Option<(Vec<f64>, Vec<f64>, f64)> {
        let place = Place { raise: Some((k, sigma)), margin: Some(1e-3 * inquiry.radius) };
        let x = boundary.reach(inquiry, self.prefix, start, place)?;
        let local = self.prefix.local(&x);
        let mut rows = vec![boundary.gradient(&local), local.pre_gradient.row(k).to_vec()];
        let near = 0.07 * inquiry.radius;
        rows.extend(
            boundary
                .unknown(Some(k))
                .filter(|&j| local.pre[j] > -near)
                .map(|j| local.pre_gradient.row(j).to_vec()),
        );
        let attempt = |rows: &[Vec<f64>]| {
            let mut right = vec![0.0; rows.len()];
            right[0] = 1.0;
            let m = least_squares(rows, &right, 1e-9)?;
            let error: Vec<f64> = rows.iter().zip(&right).map(|(row, r)| dot(row, &m) - r).collect();
            (norm(&error) <= 1e-6).then_some(m)
        };
        let m = attempt(&rows).or_else(|| attempt(&rows[..2]))?;
        Some((x, m, local.hidden[k]))
    }

    /// Whether the boundary with this weight of feature `k` is seen at a second place.
    fn bends_so(
        &self,
        inquiry: &mut Inquiry<'_>,
        boundary: &Boundary,
        k: usize,
        weight: f64,
        near: &[f64],
        sigma: f64,
    ) -> Result<bool, Halt> {
        let mut trial = boundary.clone();
        trial.w[k] = weight;
        trial.known[k] = true;
        for attempt in 0..3 {
            let spread = 0.3 * (1.0 + attempt as f64);
            let start = along(near, 1.0, &inquiry.point(spread));
            let raise = Some((k, sigma * (2.0 + attempt as f64)));
            let place = Place { raise, margin: Some(1e-3 * inquiry.radius) };
            let Some(x) = trial.reach(inquiry, self.prefix, &start, place) else { continue };
            if trial.look(inquiry, self.prefix, &x)? == Some(Sight::Hit) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
