//! Permutation and scaling matrices between two networks.
//!
//! If `b` is `a` with neurons permuted and scaled, then row `s_l(i)` of layer `l` of `b`, with its columns put back by the relabelling of the layer before, is a positive multiple of row `i` of `a`. Among
//! networks that their function identifies ([`super::IdentifiabilityCertificate`]) these are all with the same function, so that the answer `None` means different functions.

use fiberscope_core::{Network, Rational, Scalar};

/// A permutation with scales: neuron `i` of the first network is neuron `order[i]` of the second, divided by `scales[i]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Relabelling {
    /// Where every neuron went.
    pub order: Vec<usize>,
    /// The positive factor on its pre-activation.
    pub scales: Vec<Rational>,
}

/// The relabelling of every hidden layer that turns `a` into `b`, exactly; `None` if there is none.
pub fn find_relabelling(a: &Network, b: &Network) -> Option<Vec<Relabelling>> {
    if a.widths() != b.widths() {
        return None;
    }
    let mut found: Vec<Relabelling> = Vec::new();
    for (l, (from, to)) in a.layers().iter().zip(b.layers()).enumerate() {
        if from.activation() != to.activation() {
            return None;
        }
        let row = |layer: &fiberscope_core::Layer, i: usize| -> Vec<Rational> {
            layer.weight().row(i).iter().chain([&layer.bias()[i]]).map(Scalar::to_rational).collect()
        };
        let own: Vec<Vec<Rational>> = (0..from.width()).map(|i| row(from, i)).collect();
        // Rows of b in the coordinates of a's layer before.
        let other: Vec<Vec<Rational>> = (0..to.width())
            .map(|i| {
                let row = row(to, i);
                match found.last() {
                    None => row,
                    Some(before) => {
                        let back = before.order.iter().zip(&before.scales).map(|(&j, s)| &row[j] * s);
                        back.chain(row.last().cloned()).collect()
                    }
                }
            })
            .collect();
        if l + 1 == a.depth() {
            return (own == other).then_some(found);
        }
        let mut order = Vec::with_capacity(own.len());
        let mut scales = Vec::with_capacity(own.len());
        for row in &own {
            let (j, scale) = (0..other.len())
                .filter(|j| !order.contains(j))
                .find_map(|j| Some((j, multiple(row, &other[j])?)))?;
            order.push(j);
            scales.push(scale);
        }
        found.push(Relabelling { order, scales });
    }
    None
}

/// The positive `c` with `to = c from`.
fn multiple(from: &[Rational], to: &[Rational]) -> Option<Rational> {
    let lead = from.iter().position(|x| !x.is_zero());
    let Some(lead) = lead else {
        return to.iter().all(Rational::is_zero).then_some(Rational::ONE);
    };
    let c = &to[lead] / &from[lead];
    (c.is_positive() && from.iter().zip(to).all(|(x, y)| &(x * &c) == y)).then_some(c)
}
