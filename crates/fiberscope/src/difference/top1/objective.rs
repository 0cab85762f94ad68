//! How far an input is from changing the class: a function of the outputs in doubles that is not negative where
//! it does.
//!
//! For a class `i` and a rival `j` it is the least of `B_j - B_i` and of what `A` has beyond being sure: every
//! `A_i - A_l - g`, or `-log sum_{l != i} exp(A_l - A_i) - log(D / (1 - D))` with a confidence. Climbing such a
//! minimum follows the mean slope of its smallest terms.

use super::super::probe::Probe;

/// What is climbed.
#[derive(Clone, Copy, Debug)]
pub struct Objective {
    pub class: usize,
    pub rival: usize,
    pub sure: Sure,
}

/// When `A` is sure, in doubles.
#[derive(Clone, Copy, Debug)]
pub enum Sure {
    /// The margin.
    Lead(f64),
    /// The logarithm of the odds.
    LogOdds(f64),
}

/// Terms this part of the size of the outputs above the smallest still count when slopes are taken.
const SOFT: f64 = 1e-3;

impl Sure {
    /// What is beyond being sure of a class.
    pub fn beyond(self, class: usize, a: &[f64]) -> f64 {
        let others = (0..a.len()).filter(|&l| l != class);
        match self {
            Sure::Lead(margin) => others.map(|l| a[class] - a[l] - margin).fold(f64::INFINITY, f64::min),
            Sure::LogOdds(odds) => {
                let lead = others.clone().map(|l| a[class] - a[l]).fold(f64::INFINITY, f64::min);
                let rest: f64 = others.map(|l| (a[l] - a[class]).exp()).sum();
                // At a confidence of a half or less a class has to lead as well.
                (-rest.ln() - odds).min(lead)
            }
        }
    }
}

impl Objective {
    /// The objective at a point where it may be largest: for the class of `A` there and the best other class
    /// of `B`; `None` if there are no numbers.
    pub fn at(probe: &mut Probe, x: &[f64], sure: Sure) -> Option<(Objective, f64)> {
        probe.difference(x);
        let (a, d) = probe.outputs();
        let best = |except: Option<usize>, value: &dyn Fn(usize) -> f64| {
            let all = (0..a.len()).filter(|&k| Some(k) != except && !value(k).is_nan());
            all.reduce(|best, next| if value(next) > value(best) { next } else { best })
        };
        let class = best(None, &|k| a[k])?;
        let rival = best(Some(class), &|k| a[k] + d[k])?;
        let objective = Objective { class, rival, sure };
        let value = objective.value(a, d);
        value.is_finite().then_some((objective, value))
    }

    /// The value for these outputs of `A` and differences.
    pub fn value(&self, a: &[f64], d: &[f64]) -> f64 {
        let (i, j) = (self.class, self.rival);
        self.sure.beyond(i, a).min((a[j] + d[j]) - (a[i] + d[i]))
    }

    /// The value at a point.
    pub fn of(&self, probe: &mut Probe, x: &[f64]) -> f64 {
        probe.difference(x);
        let (a, d) = probe.outputs();
        self.value(a, d)
    }

    /// Slopes at the last point: the mean of those of the smallest terms.
    pub fn slopes(&self, probe: &mut Probe) -> Vec<f64> {
        let (a, d) = probe.outputs();
        let (i, j) = (self.class, self.rival);
        let size = a.iter().zip(d).fold(0.0f64, |most, (a, d)| most.max(a.abs()).max((a + d).abs()));
        let least = self.value(a, d);
        // The slopes of a small term and of one that is larger by the softness have weights 1 and exp(-1).
        let weight =
            |term: f64| (-(term - least) / (SOFT * size + 0.1 * least.abs() + f64::MIN_POSITIVE)).exp();
        let (mut of_a, mut of_d) = (vec![0.0; a.len()], vec![0.0; a.len()]);
        let of_b = weight((a[j] + d[j]) - (a[i] + d[i]));
        for row in [&mut of_a, &mut of_d] {
            row[j] += of_b;
            row[i] -= of_b;
        }
        let together = match self.sure {
            Sure::Lead(_) => 1.0,
            Sure::LogOdds(_) => weight(self.sure.beyond(i, a)),
        };
        let rest: f64 = (0..a.len()).filter(|&l| l != i).map(|l| (a[l] - a[i]).exp()).sum();
        for l in (0..a.len()).filter(|&l| l != i) {
            let part = match self.sure {
                Sure::Lead(margin) => weight(a[i] - a[l] - margin),
                Sure::LogOdds(_) => together * (a[l] - a[i]).exp() / rest,
            };
            if part.is_finite() {
                of_a[i] += part;
                of_a[l] -= part;
            }
        }
        probe.slopes_of(of_a, of_d).to_vec()
    }
}
