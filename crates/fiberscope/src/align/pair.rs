//! What it costs to put a neuron of `B`, scaled, where `A` has one.

use super::Scaling;

/// The inner products of a neuron or channel of `A` and one of `B`.
pub(super) struct Pair {
    pub(super) in_a: f64,
    pub(super) in_b: f64,
    pub(super) in_both: f64,
    pub(super) out_a: f64,
    pub(super) out_b: f64,
    pub(super) out_both: f64,
}

impl Pair {
    fn cost(&self, c: f64) -> f64 {
        self.in_a - 2.0 * c * self.in_both + c * c * self.in_b + self.out_a - 2.0 * self.out_both / c
            + self.out_b / (c * c)
    }

    /// The least cost and its factor. The factor that balances the norms against those of `A`,
    /// `c^2 = (norm a_in / norm b_in) (norm b_out / norm a_out)`, is where the search for the best one
    /// begins.
    pub(super) fn best(&self, scaling: Scaling) -> (f64, f64) {
        let with_outputs = self.out_a > 0.0 && self.out_b > 0.0;
        let ratio = if with_outputs {
            (self.in_a / self.in_b) * (self.out_b / self.out_a)
        } else {
            (self.in_a / self.in_b).powi(2)
        };
        let balanced = ratio.sqrt().sqrt();
        let usable = balanced.is_finite() && (1e-100..1e100).contains(&balanced);
        let candidates = match scaling {
            Scaling::Auto | Scaling::PowersOfTwo if usable => {
                let below = 2f64.powi(balanced.log2().floor() as i32);
                [1.0, below / 2.0, below, 2.0 * below, 4.0 * below]
            }
            Scaling::Doubles if usable => [1.0, balanced, self.refine(balanced), 1.0, 1.0],
            _ => [1.0; 5],
        };
        let priced = candidates.into_iter().map(|c| (self.cost(c), c));
        priced.min_by(|x, y| x.0.total_cmp(&y.0)).expect("there is a candidate")
    }

    /// A few steps of Newton's method for the stationary points of the cost in `s = log c`.
    fn refine(&self, mut c: f64) -> f64 {
        for _ in 0..8 {
            let (rising, falling) = (c * c * self.in_b, self.out_b / (c * c));
            let (first, second) = (c * self.in_both, self.out_both / c);
            let slope = 2.0 * (rising - first + second - falling);
            let curvature = 4.0 * (rising + falling) - 2.0 * (first + second);
            if curvature <= 0.0 {
                break;
            }
            c *= (-slope / curvature).clamp(-1.0, 1.0).exp();
        }
        if c.is_finite() && c > 0.0 { c } else { 1.0 }
    }
}
