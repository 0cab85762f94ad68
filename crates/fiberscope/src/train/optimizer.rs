//! Steps of Adam [kingma2015adam, Algorithm 1], with weight decay added to the gradient or decoupled
//! [loshchilov2019decoupled, Algorithm 2], and of gradient descent with momentum. Formulas, and the order of
//! their operations, are those of `torch.optim`.

use serde::{Deserialize, Serialize};

use super::real::Real;

/// The optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "name", deny_unknown_fields)]
pub enum Optimizer {
    /// Adam; `torch.optim.Adam`, or `AdamW` with decoupled decay.
    Adam {
        /// Decay of the mean of the gradient.
        beta1: f64,
        /// Decay of the mean of its square.
        beta2: f64,
        /// Added to the denominator.
        epsilon: f64,
    },
    /// Gradient descent; `torch.optim.SGD`.
    Sgd {
        /// The share of the last step in the next one.
        momentum: f64,
    },
}

impl Optimizer {
    /// Adam with the usual constants.
    pub const ADAM: Optimizer = Optimizer::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 };
}

/// What weight decay does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decay {
    /// `decay * parameter` is added to the gradient: an L2 penalty.
    #[default]
    Coupled,
    /// The parameter shrinks by the factor `1 - rate * decay`, apart from the gradient.
    Decoupled,
}

/// Moments of the gradient and the number of steps.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moments<T> {
    pub first: Vec<T>,
    /// Empty for gradient descent.
    pub second: Vec<T>,
    pub steps: u64,
}

impl<T: Real> Moments<T> {
    pub fn new(optimizer: Optimizer, parameters: usize) -> Self {
        let second = match optimizer {
            Optimizer::Adam { .. } => parameters,
            Optimizer::Sgd { .. } => 0,
        };
        Moments { first: vec![T::ZERO; parameters], second: vec![T::ZERO; second], steps: 0 }
    }

    /// One step along the gradient.
    pub fn step(
        &mut self,
        optimizer: Optimizer,
        (rate, decay, kind): (f64, f64, Decay),
        parameters: &mut [T],
        gradient: &mut [T],
    ) {
        self.steps += 1;
        if decay != 0.0 {
            match kind {
                Decay::Coupled => {
                    let decay = T::from_f64(decay);
                    gradient.iter_mut().zip(&*parameters).for_each(|(g, &p)| *g += decay * p);
                }
                Decay::Decoupled => {
                    let factor = T::from_f64(1.0 - rate * decay);
                    parameters.iter_mut().for_each(|p| *p = *p * factor);
                }
            }
        }
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || match optimizer {
                Optimizer::Adam { beta1, beta2, epsilon } => {
                    self.adam(rate, (beta1, beta2, epsilon), parameters, gradient);
                }
                Optimizer::Sgd { momentum } => {
                    let (rate, momentum) = (T::from_f64(rate), T::from_f64(momentum));
                    for ((p, v), &g) in parameters.iter_mut().zip(&mut self.first).zip(&*gradient) {
                        *v = momentum * *v + g;
                        *p = *p - rate * *v;
                    }
                }
            },
        );
    }

    #[inline(always)]
    fn adam(
        &mut self,
        rate: f64,
        (beta1, beta2, epsilon): (f64, f64, f64),
        parameters: &mut [T],
        gradient: &[T],
    ) {
        let steps = i32::try_from(self.steps).unwrap_or(i32::MAX);
        let step = T::from_f64(rate / (1.0 - beta1.powi(steps)));
        let root = T::from_f64((1.0 - beta2.powi(steps)).sqrt());
        let (keep, take) = (T::from_f64(beta2), T::from_f64(1.0 - beta2));
        let (move_by, epsilon) = (T::from_f64(1.0 - beta1), T::from_f64(epsilon));
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((p, (m, v)), &g) in parameters.iter_mut().zip(moments).zip(gradient) {
            *m += move_by * (g - *m);
            *v = keep * *v + take * g * g;
            let denominator = v.sqrt() / root + epsilon;
            *p = *p - step * (*m / denominator);
        }
    }
}
