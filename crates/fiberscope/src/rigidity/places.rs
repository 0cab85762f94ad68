//! Where searches begin: points and lines, at all scales.

use rand::{Rng, RngExt};

use super::walker::{Walker, unit};

/// A line: where it begins, its direction, and how far it goes.
pub fn random_line(walker: &Walker, rng: &mut impl Rng) -> (Vec<f64>, Vec<f64>, f64) {
    let scale = 2f64.powf(rng.random_range(-3.0..8.0));
    let (start, n) = (random_point(walker, scale, rng), walker.sides().len());
    let target = match rng.random_range(0..3) {
        0 => random_point(walker, scale, rng),
        _ => meeting_point(walker, rng),
    };
    let straight: Vec<f64> = target.iter().zip(&start).map(|(t, s)| t - s).collect();
    let random = (0..n).map(|_| normal(rng)).collect();
    let d = unit(straight).or_else(|| unit(random)).unwrap_or_else(|| vec![1.0; n]);
    let distance = target.iter().zip(&start).map(|(t, s)| (t - s) * (t - s)).sum::<f64>().sqrt();
    (start, d, 4.0 * distance + 4.0 * scale)
}

/// A point near which several hyperplanes of the first layer meet, by projections from one to the next.
fn meeting_point(walker: &Walker, rng: &mut impl Rng) -> Vec<f64> {
    const SWEEPS: usize = 12;
    let first = &walker.network().layers()[0];
    let mut x = random_point(walker, 1.0, rng);
    let count = first.width().min(x.len()).min(24);
    let units: Vec<usize> = (0..count).map(|_| rng.random_range(0..first.width())).collect();
    for _ in 0..SWEEPS {
        for &unit in &units {
            let row = first.weight().row(unit);
            let square: f64 = row.iter().map(|w| w * w).sum();
            if square.is_normal() {
                let z = row.iter().zip(&x).map(|(w, x)| w * x).sum::<f64>() + first.bias()[unit];
                x.iter_mut().zip(row).for_each(|(x, w)| *x -= z / square * w);
            }
        }
    }
    for (x, &(low, high)) in x.iter_mut().zip(walker.sides()) {
        *x = x.clamp(low, high);
    }
    x
}

/// A point of the domain, of about this size where the domain has no ends.
pub fn random_point(walker: &Walker, scale: f64, rng: &mut impl Rng) -> Vec<f64> {
    let coordinate = |&(low, high): &(f64, f64)| {
        let share: f64 = rng.random();
        match (low.is_finite(), high.is_finite()) {
            (true, true) => low + share * (high - low),
            (true, false) => low + share * scale,
            (false, true) => high - share * scale,
            (false, false) => normal(rng) * scale,
        }
    };
    walker.sides().iter().map(coordinate).collect()
}

/// A number that is normally distributed, about.
pub fn normal(rng: &mut impl Rng) -> f64 {
    (0..4).map(|_| rng.random_range(-1.0..1.0)).sum::<f64>()
}
