//! Equal first layers, and equal hyperplane representations behind them.
//!
//! Lemma. Let the first `p` layers of `A` and `B` be the same map `h`, and let both have one hidden layer
//! more. By interval arithmetic `h` maps the domain into a box `X`. If what is behind has the same hyperplane
//! representation on `X`, it is the same map on `X` (see [`HyperplaneRepresentation`]), so `f_A = f_B`.

use fiberscope_core::{Domain, ExactNetwork, HyperplaneRepresentation};

use crate::{End, refuse, verify_prefix};

/// Checks that the first `prefix` layers are equal and the rest has the same representation.
pub fn verify(a: &ExactNetwork, b: &ExactNetwork, domain: &Domain, prefix: usize) -> Result<(), End> {
    for (name, network) in [("A", a), ("B", b)] {
        if network.hidden_depth().checked_sub(1) != Some(prefix) {
            let found = network.hidden_depth();
            let rule = format!(
                "{name} has {found} hidden layers after the moves; expected one more than the prefix, {prefix}"
            );
            return refuse("prefix", rule);
        }
    }
    let sides = verify_prefix(a, b, domain, prefix)?;
    let representation = |network: &ExactNetwork| {
        HyperplaneRepresentation::new(&network.layers()[prefix], &network.layers()[prefix + 1], &sides)
    };
    if !representation(a).same_map(&representation(b)) {
        return refuse(
            "hyperplane representation",
            "the hyperplanes, their weights and the affine rest must be equal",
        );
    }
    Ok(())
}
