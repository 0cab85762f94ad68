//! What lines showed, and what of it the layers found by now explain.
//!
//! A line meets boundaries of all layers. Each kink on it that a known row predicts is *explained*; the share
//! of explained kinks says how much of the network is known, whatever its depth. The other way round, each
//! place where a known row must have its boundary on the line is either *seen* there or not: a row of which
//! most is not seen is hardly one of a neuron.

use fiberscope_algebra::dense::norm;

use super::prefix::Prefix;

/// Lines that are kept, the last ones.
const MOST_LINES: usize = 40;

/// Distances along a line, relative to the radius and the place, up to which two places are the same.
const SAME: f64 = 1e-5;

/// Boundaries that were met on lines, and what is known of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explained {
    /// Kinks that were seen on lines.
    pub kinks: usize,
    /// Of them, kinks that the neurons found predict.
    pub explained: usize,
}

impl Explained {
    /// The share of the kinks that are explained; 1 if there are none.
    ///
    /// ```
    /// use fiberscope::extract::Explained;
    ///
    /// assert_eq!(Explained { kinks: 8, explained: 6 }.share(), 0.75);
    /// assert_eq!(Explained::default().share(), 1.0);
    /// ```
    pub fn share(&self) -> f64 {
        if self.kinks == 0 { 1.0 } else { self.explained as f64 / self.kinks as f64 }
    }
}

/// How sure the neurons of a layer are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Certainty {
    /// Places on lines where the neurons of the layer must switch.
    pub predicted: usize,
    /// Of them, places where the function was seen to bend. It does not where everything behind the layer is
    /// off.
    pub seen: usize,
}

/// One line, and where on it the function was seen to bend.
struct Line {
    x: Vec<f64>,
    u: Vec<f64>,
    reach: f64,
    kinks: Vec<f64>,
}

/// The lines so far.
#[derive(Default)]
pub(super) struct Census {
    lines: Vec<Line>,
}

impl Census {
    /// Adds the line `x + t u`, `|t| < reach`, with the places at which the function was seen to bend.
    pub fn add(&mut self, x: &[f64], u: &[f64], reach: f64, mut kinks: Vec<f64>) {
        if self.lines.len() == MOST_LINES {
            self.lines.remove(0);
        }
        kinks.sort_by(f64::total_cmp);
        self.lines.push(Line { x: x.to_vec(), u: u.to_vec(), reach, kinks });
    }

    /// What the known layers explain of all kinks, and how well each of them is seen.
    pub fn count(&self, prefix: &Prefix, radius: f64) -> (Explained, Vec<Certainty>) {
        let mut all = Explained::default();
        let mut layers = vec![Certainty::default(); prefix.layers.len()];
        for line in &self.lines {
            let scale = radius / norm(&line.u);
            let same = |s: f64, t: f64| (s - t).abs() < SAME * (scale + t.abs());
            let mut predicted: Vec<f64> = Vec::new();
            for (l, layer) in layers.iter_mut().enumerate() {
                let before = Prefix::of(prefix.inputs, &prefix.layers[..l]);
                let upto = Prefix::of(prefix.inputs, &prefix.layers[..=l]);
                let earlier = before.flips(&line.x, &line.u, -line.reach, line.reach);
                let own = upto.flips(&line.x, &line.u, -line.reach, line.reach);
                for t in own.into_iter().filter(|t| !meets(&earlier, *t, &same)) {
                    layer.predicted += 1;
                    layer.seen += usize::from(meets(&line.kinks, t, &same));
                    predicted.push(t);
                }
            }
            predicted.sort_by(f64::total_cmp);
            all.kinks += line.kinks.len();
            all.explained += line.kinks.iter().filter(|t| meets(&predicted, **t, &same)).count();
        }
        (all, layers)
    }
}

/// Whether one of the places, which are in order, is the same as `t`.
fn meets(places: &[f64], t: f64, same: &dyn Fn(f64, f64) -> bool) -> bool {
    let at = places.partition_point(|&s| s < t);
    places[at.saturating_sub(1)..places.len().min(at + 1)].iter().any(|&s| same(s, t))
}

#[cfg(test)]
mod tests {
    use super::super::prefix::Rows;
    use super::*;

    #[test]
    fn kinks_are_explained_by_the_layer_that_has_them() {
        // x = 1, and behind it ReLU(x - 1) = 2.
        let layer = |w: f64, b: f64| Rows::new(&[(vec![w], b)]).unwrap();
        let prefix = Prefix::of(1, &[layer(1.0, -1.0), layer(1.0, -2.0)]);
        let mut census = Census::default();
        census.add(&[0.0], &[1.0], 10.0, vec![5.0, 1.0, 3.0]);
        let (all, layers) = census.count(&prefix, 3.0);
        assert_eq!(all, Explained { kinks: 3, explained: 2 });
        assert_eq!(layers, [Certainty { predicted: 1, seen: 1 }; 2]);
        // A line on which nothing was seen: the first layer is predicted there in vain.
        census.add(&[2.0], &[1.0], 1.5, Vec::new());
        let (all, layers) = census.count(&prefix, 3.0);
        assert_eq!(all.kinks, 3);
        assert_eq!(layers, [Certainty { predicted: 2, seen: 1 }, Certainty { predicted: 2, seen: 1 }]);
    }
}
