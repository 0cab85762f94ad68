//! Slopes for the triangle relaxation, in floats: which neurons are dead or linear on a box.
//!
//! The bound of [`fiberscope_core::relaxed_bound`] is minimised over the slopes by projected subgradient
//! steps: the derivative by the slope of neuron `j` is `c_j z_j` at the point where the current bound is
//! attained. Its minimum is the optimum of the linear programme. What is proposed here is verified exactly
//! when the move is made.

use fiberscope_core::{
    Activation, BiasShift, Domain, ExactNetwork, Layer, Rational, ShownRole, preactivation_range,
};

use crate::limit::Deadline;

/// Subgradient steps per neuron and sign.
const STEPS: usize = 40;

/// The most multiplications for a layer.
const WORK: usize = 1 << 29;

/// What looks like this or less may be zero or less.
const CLOSE: f64 = 1e-9;

/// Slopes are proposed as multiples of `2^-12`.
const SLOPE_BITS: i32 = 12;

/// The neurons of a hidden layer that the relaxation shows to be dead or linear while intervals do not, with
/// shifts of their biases after which intervals do.
pub fn shifts(
    network: &ExactNetwork,
    domain: &Domain,
    layer: usize,
    units: &[usize],
    deadline: &Deadline,
) -> Vec<BiasShift> {
    let bounded = domain.sides(network.input_width()).iter().all(|side| side.magnitude().is_some());
    let parameters: usize =
        network.layers()[..=layer].iter().map(|layer| layer.width() * layer.input_width()).sum();
    let work = parameters.saturating_mul(4 * STEPS).saturating_mul(units.len());
    if layer == 0 || !bounded || work > WORK || network.layers()[layer].activation() != Activation::Relu {
        return Vec::new();
    }
    let Some(inputs) = network.activation_ranges(domain).nth(layer) else { return Vec::new() };
    let relaxation = Relaxation::new(network, domain, layer);
    let mut found = Vec::new();
    for &unit in units {
        if deadline.is_past() {
            break;
        }
        for (role, sign) in [(ShownRole::Dead, 1.0), (ShownRole::Linear, -1.0)] {
            let (bound, slopes) = relaxation.minimize(unit, sign);
            if bound <= CLOSE {
                let z = preactivation_range(&network.layers()[layer], unit, &inputs);
                let end = match role {
                    ShownRole::Dead => z.upper,
                    ShownRole::Linear => z.lower,
                };
                let Some(amount) = end.and_then(|end| beyond(&end)) else { continue };
                found.push(BiasShift { unit, role, amount, slopes });
                break;
            }
        }
    }
    found
}

/// The opposite of a number, rounded away from zero to a short one.
fn beyond(end: &Rational) -> Option<Rational> {
    let wide = (end.to_f64() as f32) * 1.001;
    Rational::from_f64(-f64::from(wide)).filter(|amount| amount.abs() >= end.abs())
}

/// The layers before a neuron, in doubles.
struct Relaxation {
    layers: Vec<Floats>,
    box_sides: Vec<(f64, f64)>,
}

/// A layer with the intervals of its pre-activations.
struct Floats {
    rows: Vec<Vec<f64>>,
    bias: Vec<f64>,
    relu: bool,
    ranges: Vec<(f64, f64)>,
}

impl Relaxation {
    fn new(network: &ExactNetwork, domain: &Domain, layer: usize) -> Self {
        let floats = |(of, inputs): (&Layer<Rational>, Vec<fiberscope_core::Interval>)| {
            let range = |unit: usize| {
                let z = preactivation_range(of, unit, &inputs);
                let end = |end: Option<Rational>, missing: f64| end.map_or(missing, |end| end.to_f64());
                (end(z.lower, f64::NEG_INFINITY), end(z.upper, f64::INFINITY))
            };
            Floats {
                rows: of.weight().iter_rows().map(|row| row.iter().map(Rational::to_f64).collect()).collect(),
                bias: of.bias().iter().map(Rational::to_f64).collect(),
                relu: of.activation() == Activation::Relu,
                ranges: (0..of.width()).map(range).collect(),
            }
        };
        let layers = network.layers()[..=layer].iter().zip(network.activation_ranges(domain)).map(floats);
        let side = |side: &fiberscope_core::Interval| {
            let end = |end: &Option<Rational>| end.as_ref().map_or(0.0, Rational::to_f64);
            (end(&side.lower), end(&side.upper))
        };
        let box_sides = domain.sides(network.input_width()).iter().map(side).collect();
        Relaxation { layers: layers.collect(), box_sides }
    }

    /// The least bound found for `sign z`, and short slopes that give it.
    fn minimize(&self, unit: usize, sign: f64) -> (f64, Vec<Vec<Rational>>) {
        let depth = self.layers.len() - 1;
        let start = |&(lower, upper): &(f64, f64)| if upper > -lower { 1.0 } else { 0.0 };
        let mut slopes: Vec<Vec<f64>> =
            self.layers[..depth].iter().map(|layer| layer.ranges.iter().map(start).collect()).collect();
        let mut best = (f64::INFINITY, slopes.clone());
        for step in 0..STEPS {
            let (bound, gradient) = self.bound(unit, sign, &slopes);
            if bound < best.0 {
                best = (bound, slopes.clone());
            }
            let size = gradient.iter().flatten().fold(0.0f64, |m, g| m.max(g.abs()));
            if bound <= 0.0 || size == 0.0 || !size.is_finite() {
                break;
            }
            let rate = 1.0 / (size * (1.0 + 0.25 * step as f64));
            for (slope, g) in slopes.iter_mut().flatten().zip(gradient.iter().flatten()) {
                *slope = (*slope - rate * g).clamp(0.0, 1.0);
            }
        }
        let unit_length = 2f64.powi(SLOPE_BITS);
        let short =
            |slope: &f64| Rational::dyadic((slope * unit_length).round() as i128, -i64::from(SLOPE_BITS));
        (best.0, best.1.iter().map(|slopes| slopes.iter().map(short).collect()).collect())
    }

    /// The bound for `sign z`, and its derivatives by the slopes.
    fn bound(&self, unit: usize, sign: f64, slopes: &[Vec<f64>]) -> (f64, Vec<Vec<f64>>) {
        let depth = self.layers.len() - 1;
        let last = &self.layers[depth];
        let mut coefficients: Vec<f64> = last.rows[unit].iter().map(|w| sign * w).collect();
        let mut constant = sign * last.bias[unit];
        // Per layer: the lines that replace relu, and the coefficients of the activations.
        let mut lines: Vec<Vec<(f64, f64)>> = Vec::new();
        let mut kept: Vec<Vec<f64>> = Vec::new();
        for (layer, slopes) in self.layers[..depth].iter().zip(slopes).rev() {
            let line = |j: usize| {
                let (lower, upper) = layer.ranges[j];
                match (layer.relu, coefficients[j] < 0.0) {
                    (false, _) => (1.0, 0.0),
                    _ if upper <= 0.0 => (0.0, 0.0),
                    _ if lower >= 0.0 => (1.0, 0.0),
                    (true, true) => (slopes[j], 0.0),
                    (true, false) => {
                        let p = upper / (upper - lower);
                        (p, -p * lower)
                    }
                }
            };
            let here: Vec<(f64, f64)> = (0..layer.rows.len()).map(line).collect();
            let mut next = vec![0.0; layer.rows[0].len()];
            for (j, (p, q)) in here.iter().enumerate() {
                let slope = coefficients[j] * p;
                constant += coefficients[j] * q + slope * layer.bias[j];
                next.iter_mut().zip(&layer.rows[j]).for_each(|(sum, w)| *sum += slope * w);
            }
            lines.push(here);
            kept.push(std::mem::replace(&mut coefficients, next));
        }
        let corner = |(c, (lower, upper)): (&f64, &(f64, f64))| if *c > 0.0 { *upper } else { *lower };
        let mut point: Vec<f64> = coefficients.iter().zip(&self.box_sides).map(corner).collect();
        let bound = constant + coefficients.iter().zip(&point).map(|(c, x)| c * x).sum::<f64>();
        // Forward through the lines, for the derivatives.
        let mut gradient = Vec::new();
        for (layer, (lines, kept)) in self.layers.iter().zip(lines.iter().rev().zip(kept.iter().rev())) {
            let z = |j: usize| -> f64 {
                layer.rows[j].iter().zip(&point).map(|(w, a)| w * a).sum::<f64>() + layer.bias[j]
            };
            let z: Vec<f64> = (0..layer.rows.len()).map(z).collect();
            let unstable = |j: usize| layer.relu && layer.ranges[j].0 < 0.0 && layer.ranges[j].1 > 0.0;
            let slope = |j: usize| if unstable(j) && kept[j] < 0.0 { kept[j] * z[j] } else { 0.0 };
            gradient.push((0..z.len()).map(slope).collect());
            point = z.iter().zip(lines).map(|(z, (p, q))| p * z + q).collect();
        }
        (bound, gradient)
    }
}
