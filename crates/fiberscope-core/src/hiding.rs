//! Hidden hyperplanes: what the next layer can see of a layer.
//!
//! Let layers `l` and `l+1` be ReLU layers. Neuron `j` of layer `l+1`, with weights `w` and bias `b`, reads activations
//! `a >= 0`. It *sees* neuron `k` of layer `l` if it is active for some `a >= 0` with `a_k = 0`.
//!
//! **Lemma** [threelayer2026, Section 5]. It does not see `k` iff `b <= 0` and `w[i] <= 0` for all `i != k`. So there are three
//! kinds of neurons ([`Sight`]): without a positive entry in `(w, b)` it is *dead* and sees nothing; if `w[k]` is the only
//! positive one, it *hides* `k` and sees every other neuron; else it sees all of them.
//! *Proof.* If the signs are as stated, `w a + b <= w[k] a_k = 0` where `a_k = 0`. If `b > 0`, it is active at `a = 0`, and if
//! `w[i] > 0`, at a large multiple of the unit vector `e_i`; both have `a_k = 0`. QED.
//!
//! Layer `l+1` *hides* `k` if each of its neurons is dead or hides `k`, and not all are dead. A neuron that hides `k` is active
//! only where `z_k > 0`, where `relu(z_k)` is `z_k`: the bend of neuron `k` is never seen. Hence, with the same function,
//!
//! - *translation*: `b_l[k] += t`, `b_{l+1}[j] -= t w_j[k]` for every `t >= t_min = max_j b_{l+1}[j] / w_j[k]`, the maximum over the
//!   neurons that hide `k` ([`least_translation`]); these still hide it, as their biases stay `<= 0`. Neurons with `w_j[k] = 0` are
//!   not concerned and may see what they like.
//! - *flip* of any `i != k`, if one neuron `j` is not dead: `relu(z_i) = z_i + relu(-z_i)`, and `z_k` takes `w_j[i] z_i / w_j[k]` over.
//!
//! **Converse.** Where layer `l` maps onto the orthant, a neuron `j` that sees `k` and is connected to it changes under the
//! translation by any `t > 0`: take `a >= 0` with `a_k = 0` at which it is active and `z_k` far below zero; only its bias moves.
//! The same point shows that flips change it.
//!
//! How much is asked beyond that is a [`Strictness`]: the paper's definition has strict signs, which generic parameters have.

use crate::{Activation, Layer, Network, Rational, Scalar};

/// What a ReLU neuron sees of the ReLU layer before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Nothing: it is never active, for no weight and no bias is positive.
    Dead,
    /// Every neuron but this one: it is active only where that one is.
    Hides(usize),
    /// Every neuron.
    Sees,
}

impl Sight {
    /// The sight of a neuron, from the signs of its weights and of its bias.
    ///
    /// ```
    /// use fiberscope_core::Sight;
    ///
    /// assert_eq!(Sight::of_signs([-1, 1, 0].into_iter(), -1), Sight::Hides(1));
    /// assert_eq!(Sight::of_signs([-1, 1, 0].into_iter(), 1), Sight::Sees);
    /// assert_eq!(Sight::of_signs([-1, 0, 0].into_iter(), 0), Sight::Dead);
    /// ```
    pub fn of_signs(weights: impl Iterator<Item = i8>, bias: i8) -> Self {
        if bias > 0 {
            return Sight::Sees;
        }
        let mut positive = weights.enumerate().filter(|(_, sign)| *sign > 0).map(|(unit, _)| unit);
        match (positive.next(), positive.next()) {
            (None, _) => Sight::Dead,
            (Some(unit), None) => Sight::Hides(unit),
            _ => Sight::Sees,
        }
    }

    /// The sight of a neuron of a layer.
    pub fn of<S: Scalar>(layer: &Layer<S>, unit: usize) -> Self {
        Self::of_signs(layer.weight().row(unit).iter().map(Scalar::sign), layer.bias()[unit].sign())
    }
}

/// How much is asked of the neurons of a layer that hides a neuron; each asks for more than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Each is dead or hides the neuron, and not all are dead: the hyperplane can be translated.
    Weak,
    /// Each hides the neuron, none is dead: what is left of [`Strictness::Weak`] when dead neurons are dropped.
    Alive,
    /// Each hides the neuron and has no zero among its weights and its bias: the paper's definition, which parameters nearby
    /// satisfy, too.
    Strict,
}

/// The neuron that a layer hides in the ReLU layer before it. There is at most one: a neuron hides no more.
pub fn hidden_unit<S: Scalar>(next: &Layer<S>, strictness: Strictness) -> Option<usize> {
    if next.activation() != Activation::Relu {
        return None;
    }
    let mut hidden = None;
    for j in 0..next.width() {
        match Sight::of(next, j) {
            Sight::Dead if strictness == Strictness::Weak => {}
            Sight::Hides(unit) if hidden.is_none_or(|other| other == unit) => hidden = Some(unit),
            _ => return None,
        }
        let zero = || next.weight().row(j).iter().chain([&next.bias()[j]]).any(|x| x.sign() == 0);
        if strictness == Strictness::Strict && zero() {
            return None;
        }
    }
    hidden
}

impl<S: Scalar> Network<S> {
    /// The neuron of a hidden layer that the next hidden layer hides; `None` unless both are ReLU layers.
    ///
    /// ```
    /// use fiberscope_core::{Activation, Layer, Matrix, Network, Strictness};
    ///
    /// let layer = |rows: &[[f64; 2]], bias: &[f64], activation| {
    ///     Layer::new(Matrix::from_rows(rows).unwrap(), bias.to_vec(), activation)
    /// };
    /// let network = Network::new(vec![
    ///     layer(&[[1.0, 0.5], [0.25, -1.0]], &[0.5, 0.25], Activation::Relu),
    ///     layer(&[[-1.0, 2.0], [0.0, 1.0]], &[-1.0, 0.0], Activation::Relu),
    ///     layer(&[[1.0, 1.0]], &[0.0], Activation::Identity),
    /// ])
    /// .unwrap();
    /// assert_eq!(network.hidden_unit(0, Strictness::Alive), Some(1));
    /// assert_eq!(network.hidden_unit(0, Strictness::Strict), None);
    /// ```
    pub fn hidden_unit(&self, layer: usize, strictness: Strictness) -> Option<usize> {
        let [rows, next] = self.hidden_layers().get(layer..layer + 2)? else { return None };
        if rows.activation() == Activation::Relu { hidden_unit(next, strictness) } else { None }
    }
}

/// `t_min = max_j b[j] / w_j[k]`, from the biases of the neurons that hide `k` and their weights on it; `None` if there are none.
pub fn least_translation<'a>(
    neurons: impl Iterator<Item = (&'a Rational, &'a Rational)>,
) -> Option<Rational> {
    neurons.map(|(bias, weight)| bias / weight).max()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::{Domain, ExactNetwork, Matrix, Move};

    const WIDTH: usize = 3;

    /// Three inputs, the identity as first layer (so that it maps onto the orthant), a layer of small integers (mostly negative, so
    /// that all kinds of neurons are frequent), and its neurons as outputs.
    fn network(rng: &mut ChaCha8Rng, neurons: usize) -> ExactNetwork {
        let unit = |i: usize, j: usize| Rational::from(i64::from(i == j));
        let positive = rng.random_range(0..WIDTH);
        let mut small = |often: bool| {
            let number = rng.random_range(-2..=2i64);
            let abs = number.abs();
            Rational::from(if rng.random_range(0..6) == 0 {
                number
            } else if often {
                abs
            } else {
                -abs
            })
        };
        let weight = Matrix::from_fn(neurons, WIDTH, |_, i| small(i == positive));
        let bias = (0..neurons).map(|_| small(false)).collect();
        let zeros = |n: usize| vec![Rational::ZERO; n];
        Network::new(vec![
            Layer::new(Matrix::from_fn(WIDTH, WIDTH, unit), zeros(WIDTH), Activation::Relu),
            Layer::new(weight, bias, Activation::Relu),
            Layer::new(Matrix::from_fn(neurons, neurons, unit), zeros(neurons), Activation::Identity),
        ])
        .unwrap()
    }

    /// Points that reach every neuron of [`network`] with the others on or off.
    fn grid() -> Vec<Vec<Rational>> {
        let values = [-20, -3, 0, 3, 20].map(Rational::from);
        let points = (0..values.len().pow(WIDTH as u32)).map(|code| {
            (0..WIDTH).map(|i| values[code / values.len().pow(i as u32) % values.len()].clone()).collect()
        });
        points.collect()
    }

    fn same_function(a: &ExactNetwork, b: &ExactNetwork) -> bool {
        let mut points = grid().into_iter();
        points.all(|x| a.evaluate_exact(&x).unwrap() == b.evaluate_exact(&x).unwrap())
    }

    fn edited(network: &ExactNetwork, change: impl Fn(&mut [Layer<Rational>])) -> ExactNetwork {
        let mut network = network.clone();
        change(network.layers_mut());
        network
    }

    /// Whether a neuron is active somewhere with `a_k = 0`, by trying activations.
    fn sees(layer: &Layer<Rational>, j: usize, k: usize) -> bool {
        grid().into_iter().filter(|a| a[k].is_zero() && a.iter().all(|x| !x.is_negative())).any(|a| {
            let sum: Rational = layer.weight().row(j).iter().zip(&a).map(|(w, a)| w * a).sum();
            (&sum + &layer.bias()[j]).is_positive()
        })
    }

    #[test]
    fn sight_is_being_active_with_a_neuron_off() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut kinds = [0; 3];
        for _ in 0..300 {
            let network = network(&mut rng, 1);
            let next = &network.layers()[1];
            let seen: Vec<usize> = (0..WIDTH).filter(|&k| sees(next, 0, k)).collect();
            let sight = Sight::of(next, 0);
            let expected = match sight {
                Sight::Dead => vec![],
                Sight::Hides(unit) => (0..WIDTH).filter(|&k| k != unit).collect(),
                Sight::Sees => (0..WIDTH).collect(),
            };
            assert_eq!(seen, expected);
            kinds[match sight {
                Sight::Dead => 0,
                Sight::Hides(_) => 1,
                Sight::Sees => 2,
            }] += 1;
        }
        assert!(kinds.iter().all(|&count| count > 20), "{kinds:?}");
    }

    /// Law: for `t > 0`, `translate` applies iff translating keeps the function.
    #[test]
    fn a_translation_keeps_the_function_iff_no_connected_neuron_sees_it() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut counts = [0; 2];
        for case in 0..400 {
            let network = network(&mut rng, case % 3 + 1);
            for unit in 0..WIDTH {
                let translated = edited(&network, |layers| {
                    let next = layers[1].clone();
                    layers[0].parts_mut().1[unit] += &Rational::ONE;
                    let live = (0..next.width()).filter(|&j| Sight::of(&next, j) != Sight::Dead);
                    live.for_each(|j| layers[1].parts_mut().1[j] -= &next.weight()[(j, unit)]);
                });
                let kept = same_function(&network, &translated);
                let mut moved = network.clone();
                let amount = Rational::ONE;
                let applies = Move::Translate { layer: 0, unit, amount }.apply(&mut moved, &Domain::Space);
                assert_eq!(applies.is_ok(), kept);
                assert!(!kept || moved == translated);
                counts[usize::from(kept)] += 1;
            }
        }
        assert!(counts.iter().all(|&count| count > 50), "{counts:?}");
    }

    /// Law: behind one neuron that is connected to both, flipping `i` across `k` keeps the function iff the neuron hides `k`.
    #[test]
    fn a_flip_keeps_the_function_iff_the_neuron_is_hidden() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut counts = [0; 2];
        for _ in 0..400 {
            let network = network(&mut rng, 1);
            let next = &network.layers()[1];
            let connected = |unit: usize| !next.weight()[(0, unit)].is_zero();
            for (unit, i) in (0..WIDTH).flat_map(|k| (0..WIDTH).map(move |i| (k, i))) {
                if unit == i || !connected(unit) || !connected(i) || Sight::of(next, 0) == Sight::Dead {
                    continue;
                }
                let ratio = &next.weight()[(0, i)] / &next.weight()[(0, unit)];
                let flipped = edited(&network, |layers| {
                    let (weight, _) = layers[0].parts_mut();
                    weight[(unit, i)] += &ratio;
                    weight[(i, i)] = -Rational::ONE;
                });
                let kept = same_function(&network, &flipped);
                assert_eq!(kept, Sight::of(next, 0) == Sight::Hides(unit));
                let mut moved = network.clone();
                let applies = Move::Flip { layer: 0, unit, flips: vec![i] }.apply(&mut moved, &Domain::Space);
                assert_eq!(applies.is_ok(), kept);
                assert!(!kept || moved == flipped);
                counts[usize::from(kept)] += 1;
            }
        }
        assert!(counts.iter().all(|&count| count > 50), "{counts:?}");
    }

    /// Law: the three degrees are the formulas of the module, each contained in the one before.
    #[test]
    fn strictness_is_what_its_formula_says() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut counts = [0; 4];
        for case in 0..4000 {
            let network = network(&mut rng, case % 3 + 1);
            let next = &network.layers()[1];
            let signs = |j: usize| -> Vec<i8> {
                next.weight().row(j).iter().chain([&next.bias()[j]]).map(Rational::signum).collect()
            };
            let rows: Vec<Vec<i8>> = (0..next.width()).map(signs).collect();
            let dead = |row: &Vec<i8>| row.iter().all(|&s| s <= 0);
            let hides = |row: &Vec<i8>, k: usize, most: i8| {
                (0..row.len()).all(|i| if i == k { row[i] == 1 } else { row[i] <= most })
            };
            let find = |test: &dyn Fn(usize) -> bool| (0..WIDTH).find(|&k| test(k));
            let weak = find(&|k| {
                rows.iter().all(|row| dead(row) || hides(row, k, 0)) && rows.iter().any(|row| !dead(row))
            });
            let alive = find(&|k| rows.iter().all(|row| hides(row, k, 0)));
            let strict = find(&|k| rows.iter().all(|row| hides(row, k, -1)));
            let degrees = [Strictness::Weak, Strictness::Alive, Strictness::Strict];
            let found = degrees.map(|strictness| network.hidden_unit(0, strictness));
            assert_eq!(found, [weak, alive, strict]);
            counts[found.iter().flatten().count()] += 1;
        }
        assert!(counts.iter().all(|&count| count > 50), "{counts:?}");
    }

    #[test]
    fn layers_without_relu_hide_nothing() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let hiding = std::iter::repeat_with(|| network(&mut rng, 1))
            .find(|network| network.hidden_unit(0, Strictness::Weak).is_some())
            .unwrap();
        for layer in [0, 1] {
            let mut layers = hiding.layers().to_vec();
            let (weight, bias, _) = layers[layer].clone().into_parts();
            layers[layer] = Layer::new(weight, bias, Activation::Identity);
            assert_eq!(Network::new(layers).unwrap().hidden_unit(0, Strictness::Weak), None);
        }
        // The output layer hides nothing either.
        assert_eq!(hiding.hidden_unit(1, Strictness::Weak), None);
    }
}
