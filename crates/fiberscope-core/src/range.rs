//! What a neuron can do on a domain, by exact interval arithmetic.
//!
//! From intervals for the activations of layer `l-1`, the pre-activation `z = w a + b` lies between
//! `b + sum_j min(w_j lo_j, w_j hi_j)` and `b + sum_j max(w_j lo_j, w_j hi_j)`. A neuron is *dead* if
//! `z <= 0` on the whole domain and *linear* if `z >= 0`. For a layer behind a ReLU layer the
//! activations are `>= 0`, so sign patterns alone give a first answer: dead if `w <= 0, b <= 0`, linear
//! if `w >= 0, b >= 0`.
//!
//! Intervals are rounded outward to [`BITS`] bits, which keeps them short and never makes them false.

use crate::{Activation, Domain, Interval, Layer, Network, ProductSum, Rational, Scalar};

/// The length of the numbers in intervals.
const BITS: u32 = 192;

/// What a hidden neuron is known to do on a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its activation is 0 everywhere.
    Dead,
    /// Its activation is its pre-activation everywhere (and it was not found dead).
    Linear,
    /// Neither was proved.
    Nonlinear,
}

impl<S: Scalar> Network<S> {
    /// Intervals that contain the inputs of layer 0, 1, ... (one list per layer, computed when it is
    /// asked for) for every point of the domain.
    pub fn activation_ranges(&self, domain: &Domain) -> impl Iterator<Item = Vec<Interval>> {
        let mut layers = self.hidden_layers().iter();
        std::iter::successors(Some(domain.sides(self.input_width())), move |inputs| {
            let layer = layers.next()?;
            Some(activation_ranges_behind(layer, inputs))
        })
    }

    /// The role of every hidden neuron, layer by layer: certain where it says dead or linear.
    ///
    /// For the first layer, and on `R^n` for the second one if the first maps onto the orthant, the converse holds
    /// too: nonlinear neurons do bend.
    pub fn roles(&self, domain: &Domain) -> Vec<Vec<Role>> {
        let of_layer = |(layer, inputs): (&Layer<S>, Vec<Interval>)| {
            (0..layer.width()).map(|unit| role(layer, unit, &inputs)).collect()
        };
        self.hidden_layers().iter().zip(self.activation_ranges(domain)).map(of_layer).collect()
    }
}

/// Intervals that contain the activations of a layer when its inputs lie in `inputs`.
pub fn activation_ranges_behind<S: Scalar>(layer: &Layer<S>, inputs: &[Interval]) -> Vec<Interval> {
    let activation_range = |unit: usize| {
        let z = preactivation_range(layer, unit, inputs);
        match layer.activation() {
            Activation::Relu => relu_range(z),
            Activation::Identity => z,
        }
    };
    (0..layer.width()).map(activation_range).collect()
}

fn role<S: Scalar>(layer: &Layer<S>, unit: usize, ranges: &[Interval]) -> Role {
    let z = preactivation_range(layer, unit, ranges);
    let nonpositive = z.upper.as_ref().is_some_and(|upper| !upper.is_positive());
    let nonnegative = z.lower.as_ref().is_some_and(|lower| !lower.is_negative());
    match layer.activation() {
        Activation::Relu if nonpositive => Role::Dead,
        Activation::Relu if nonnegative => Role::Linear,
        Activation::Relu => Role::Nonlinear,
        Activation::Identity if nonpositive && nonnegative => Role::Dead,
        Activation::Identity => Role::Linear,
    }
}

/// An interval that contains the pre-activation of neuron `unit` when the layer's inputs lie in
/// `ranges`.
pub fn preactivation_range<S: Scalar>(layer: &Layer<S>, unit: usize, ranges: &[Interval]) -> Interval {
    let (mut lower, mut upper) = (Some(ProductSum::default()), Some(ProductSum::default()));
    for (j, w) in layer.weights().row(unit) {
        let (w, range) = (w.to_rational(), &ranges[j]);
        let (low_end, high_end) = match w.signum() {
            0 => continue,
            1 => (&range.lower, &range.upper),
            _ => (&range.upper, &range.lower),
        };
        add_end(&mut lower, &w, low_end);
        add_end(&mut upper, &w, high_end);
        if lower.is_none() && upper.is_none() {
            break;
        }
    }
    // The bias comes last: the first term of a sum says how fine its numbers are, and a bias is short.
    let bias = layer.bias()[unit].to_rational();
    let [lower, upper] = [lower, upper].map(|sum| {
        let mut sum = sum?;
        sum.add(&bias, &Rational::ONE);
        Some(sum.to_rational())
    });
    Interval { lower: lower.map(|x| round_down(&x)), upper: upper.map(|x| x.round_up(BITS)) }
}

/// Adds `w` times the end of an interval to a sum; where there is no end, there is no sum.
fn add_end(sum: &mut Option<ProductSum>, w: &Rational, end: &Option<Rational>) {
    match (&mut *sum, end) {
        (Some(sum), Some(end)) => sum.add(w, end),
        _ => *sum = None,
    }
}

fn round_down(x: &Rational) -> Rational {
    -(-x).round_up(BITS)
}

fn relu_range(z: Interval) -> Interval {
    let clamp = |x: Rational| x.max(Rational::ZERO);
    Interval { lower: Some(z.lower.map_or(Rational::ZERO, clamp)), upper: z.upper.map(clamp) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;

    #[test]
    fn signs_decide_behind_a_relu_layer() {
        use Role::{Dead, Linear, Nonlinear};
        let net = Network::from_rows(&[
            (&[&[1.0], &[0.0], &[0.0]], &[0.0, -1.0, 2.0]),
            (&[&[-1.0, 0.0, -2.0], &[1.0, 0.0, 0.0], &[1.0, 0.0, -1.0]], &[-1.0, 0.0, 0.0]),
            (&[&[1.0, 1.0, 1.0]], &[0.0]),
        ])
        .unwrap();
        let roles = net.roles(&Domain::Space);
        assert_eq!(roles[0], [Nonlinear, Dead, Linear]);
        assert_eq!(roles[1], [Dead, Linear, Nonlinear]);
    }

    #[test]
    fn a_box_decides_more() {
        let net =
            Network::from_rows(&[(&[&[1.0], &[1.0], &[1.0]], &[2.0, -2.0, 0.5]), (&[&[1.0; 3]], &[0.0])])
                .unwrap();
        let domain = Domain::from_bounds(&[(-1.0, 1.0)]).unwrap();
        assert_eq!(net.roles(&domain)[0], [Role::Linear, Role::Dead, Role::Nonlinear]);
        assert_eq!(net.roles(&Domain::Space)[0], [Role::Nonlinear; 3]);
    }

    /// The definition, one rational number after the other.
    fn slow(layer: &Layer<Rational>, unit: usize, ranges: &[Interval]) -> Interval {
        let end = |upper: bool| {
            layer.weights().row(unit).filter(|(_, w)| !w.is_zero()).try_fold(
                layer.bias()[unit].clone(),
                |sum, (j, w)| {
                    let end = if w.is_positive() == upper { &ranges[j].upper } else { &ranges[j].lower };
                    end.as_ref().map(|end| &sum + &(w * end))
                },
            )
        };
        Interval { lower: end(false).map(|x| round_down(&x)), upper: end(true).map(|x| x.round_up(BITS)) }
    }

    #[test]
    fn intervals_are_those_of_the_definition_whatever_the_numbers() {
        use rand::{RngExt, SeedableRng};
        let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(3);
        let third: Rational = "1/3".parse().unwrap();
        let mut ends = 0;
        for round in 0..400 {
            let mut number = || -> Rational {
                let wide =
                    [1.0, 1e-30, 1e300, 5e-324][if round % 4 == 0 { rng.random_range(0..4) } else { 0 }];
                let number = Rational::from_f64(rng.random_range(-1.0..1.0) * wide).unwrap();
                match rng.random_range(0..12) {
                    0 => Rational::ZERO,
                    1 if round % 3 == 0 => &number * &third,
                    _ => number,
                }
            };
            let (inputs, width) = (round % 7, 3);
            let sides: Vec<Interval> = (0..inputs.max(1))
                .map(|_| {
                    let (x, y) = (number(), number());
                    let (lower, upper) = if x < y { (x, y) } else { (y, x) };
                    Interval { lower: Some(lower), upper: Some(upper) }
                })
                .collect();
            let weight = Matrix::from_fn(width, sides.len(), |_, _| number());
            let bias = (0..width).map(|_| number()).collect();
            let mut sides = sides;
            let activation = if round % 2 == 0 { Activation::Relu } else { Activation::Identity };
            let mut layer = Layer::new(weight, bias, activation);
            for _ in 0..4 {
                if round % 5 == 0 {
                    sides[0].upper = None;
                }
                for unit in 0..width {
                    let found = preactivation_range(&layer, unit, &sides);
                    assert_eq!(found, slow(&layer, unit, &sides));
                    ends += [&found.lower, &found.upper].into_iter().flatten().count();
                }
                // On, with longer and longer ends.
                sides = activation_ranges_behind(&layer, &sides);
                let weight = Matrix::from_fn(width, width, |_, _| number());
                layer = Layer::new(weight, (0..width).map(|_| number()).collect(), activation);
            }
        }
        assert!(ends > 5000, "{ends}");
    }
}
