//! The outputs of a region and their derivatives by the parameters, in doubles.

use fiberscope_check::rank::Pattern;
use fiberscope_core::Neuron;

use super::kernel::Place;
use super::layout::{Layout, Parameter};

/// A parameter vector in doubles, read region by region.
pub struct Numeric<'a> {
    /// Where parameters lie.
    pub layout: &'a Layout,
    /// The regions.
    pub patterns: &'a [Pattern],
}

impl Numeric<'_> {
    /// What each layer reads at a unit vector of homogeneous coordinates, the constant last, and the outputs.
    fn forward(&self, theta: &[f64], region: usize, at: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
        let mut h: Vec<f64> = (0..=self.layout.widths[0]).map(|k| f64::from(u8::from(k == at))).collect();
        let (last, mut all) = (self.layout.last(), Vec::new());
        for layer in 0..=last {
            let z: Vec<f64> = (0..self.layout.widths[layer + 1])
                .map(|unit| {
                    let row = self.row(theta, Neuron { layer, unit });
                    row.iter().zip(&h).map(|(w, h)| w * h).sum()
                })
                .collect();
            let constant = h[h.len() - 1];
            all.push(h);
            if layer == last {
                return (all, z);
            }
            let on = &self.patterns[region][layer];
            h = z.iter().zip(on).map(|(&z, &on)| if on { z } else { 0.0 }).chain([constant]).collect();
        }
        unreachable!("a network has layers")
    }

    fn row<'t>(&self, theta: &'t [f64], neuron: Neuron) -> &'t [f64] {
        let start = self.layout.place(Parameter { neuron, input: 0 });
        &theta[start..=start + self.layout.widths[neuron.layer]]
    }

    /// The value of an equation.
    pub fn value(&self, theta: &[f64], place: Place) -> f64 {
        self.forward(theta, place.region, place.at).1[place.output]
    }

    /// Its derivatives by all parameters.
    pub fn gradient(&self, theta: &[f64], place: Place) -> Vec<f64> {
        let (inputs, _) = self.forward(theta, place.region, place.at);
        let mut gradient = vec![0.0; theta.len()];
        let mut signal: Vec<f64> = (0..self.layout.widths[self.layout.last() + 1])
            .map(|o| f64::from(u8::from(o == place.output)))
            .collect();
        for layer in (0..=self.layout.last()).rev() {
            let mut before = vec![0.0; self.layout.widths[layer]];
            for (unit, &s) in signal.iter().enumerate().filter(|(_, s)| **s != 0.0) {
                let neuron = Neuron { layer, unit };
                let start = self.layout.place(Parameter { neuron, input: 0 });
                gradient[start..].iter_mut().zip(&inputs[layer]).for_each(|(g, h)| *g = s * h);
                before.iter_mut().zip(self.row(theta, neuron)).for_each(|(b, w)| *b += s * w);
            }
            if layer > 0 {
                let on = &self.patterns[place.region][layer - 1];
                before.iter_mut().zip(on).filter(|(_, on)| !**on).for_each(|(b, _)| *b = 0.0);
            }
            signal = before;
        }
        gradient
    }
}
