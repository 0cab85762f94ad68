//! Hidden hyperplanes: what the next layer can see of a layer.
//!
//! Let layers `l` and `l+1` be ReLU layers. Neuron `j` of layer `l+1`, with weights `w` and bias `b`, reads
//! activations `a >= 0`. It *sees* neuron `k` of layer `l` if it is active for some `a >= 0` with `a_k = 0`.
//!
//! **Lemma** [threelayer2026, Section 5]. It does not see `k` iff `b <= 0` and `w[i] <= 0` for all `i != k`.
//! So there are three kinds of neurons ([`Sight`]): without a positive entry in `(w, b)` it is *dead* and
//! sees nothing; if `w[k]` is the only positive one, it *hides* `k` and sees every other neuron; else it sees
//! all of them. *Proof.* If the signs are as stated, `w a + b <= w[k] a_k = 0` where `a_k = 0`. If `b > 0`,
//! it is active at `a = 0`, and if `w[i] > 0`, at a large multiple of the unit vector `e_i`; both have
//! `a_k = 0`. QED.
//!
//! Layer `l+1` *hides* `k` if each of its neurons is dead or hides `k`, and not all are dead. A neuron that
//! hides `k` is active only where `z_k > 0`, where `relu(z_k)` is `z_k`: the bend of neuron `k` is never
//! seen. Hence, with the same function,
//!
//! - *translation*: `b_l[k] += t`, `b_{l+1}[j] -= t w_j[k]` for every
//!   `t >= t_min = max_j b_{l+1}[j] / w_j[k]`, the maximum over the neurons that hide `k`
//!   ([`least_translation`]); these still hide it, as their biases stay `<= 0`. Neurons with `w_j[k] = 0` are
//!   not concerned and may see what they like.
//! - *flip* of any `i != k`, if one neuron `j` is not dead: `relu(z_i) = z_i + relu(-z_i)`, and `z_k` takes
//!   `w_j[i] z_i / w_j[k]` over.
//!
//! **Converse.** Where layer `l` maps onto the orthant, a neuron `j` that sees `k` and is connected to it
//! changes under the translation by any `t > 0`: take `a >= 0` with `a_k = 0` at which it is active and `z_k`
//! far below zero; only its bias moves. Flips of neurons that it is connected to change it likewise.
//!
//! How much is asked beyond that is a [`Strictness`]: the paper's definition has strict signs, which generic
//! parameters have.

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
        Self::of_positive(weights.enumerate().filter(|(_, sign)| *sign > 0).map(|(unit, _)| unit))
    }

    /// The sight of a neuron with these positive weights and no positive bias.
    fn of_positive(mut positive: impl Iterator<Item = usize>) -> Self {
        match (positive.next(), positive.next()) {
            (None, _) => Sight::Dead,
            (Some(unit), None) => Sight::Hides(unit),
            _ => Sight::Sees,
        }
    }

    /// The sight of a neuron of a layer.
    pub fn of<S: Scalar>(layer: &Layer<S>, unit: usize) -> Self {
        if layer.bias()[unit].sign() > 0 {
            return Sight::Sees;
        }
        Self::of_positive(layer.weights().row(unit).filter(|(_, w)| w.sign() > 0).map(|(j, _)| j))
    }
}

/// How much is asked of the neurons of a layer that hides a neuron; each asks for more than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Each is dead or hides the neuron, and not all are dead: the hyperplane can be translated.
    Weak,
    /// Each hides the neuron, none is dead: what is left of [`Strictness::Weak`] when dead neurons are
    /// dropped.
    Alive,
    /// Each hides the neuron and has no zero among its weights and its bias: the paper's definition, which
    /// parameters nearby satisfy, too.
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
        let zero = || next.bias()[j].is_zero() || next.weights().row(j).count() < next.input_width();
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

/// `t_min = max_j b[j] / w_j[k]`, from the biases of the neurons that hide `k` and their weights on it;
/// `None` if there are none.
pub fn least_translation<'a>(
    neurons: impl Iterator<Item = (&'a Rational, &'a Rational)>,
) -> Option<Rational> {
    neurons.map(|(bias, weight)| bias / weight).max()
}
