//! Upper bounds of the functional dimension that depend on the activation patterns alone.
//!
//! On the batch hidden layer `l` has `R_l` switching, `a_l` always-active and `k_l` inactive neurons; `D` is
//! the number of parameters. With the patterns fixed the Jacobian is polynomial in the parameters, so its
//! rank is at most that at generic parameters, and what follows holds for every parameter with these
//! patterns.
//!
//! - *Scaling*: `D - sum_l n_l`, since positive scalings of the hidden neurons act locally freely at generic
//!   parameters.
//! - *Theorem 1* [ntk2026complexity, Theorem 1]: `D - sum_l R_l - sum_l (a_l + k_l)^2` if the widths are
//!   roughly monotonic: `n_l - 1 <= n_{l-1}` for all `l`, or `n_{l-1} - 1 <= n_l` for all `l`. Without the
//!   condition it is false: widths (1, 3, 1), all active, give 1 where the rank is 2.
//! - *Symmetry*: let `e` be the greatest vector with `e_l <= min(a_l, N_{l-1}, N_{l+1})`, `N_l = R_l + e_l`,
//!   `N_0` the dimension of the inputs and `N_{H+1}` the number of outputs; if some `N_l` is 0, drop
//!   everything up to the last such layer. Then
//!
//!   ```text
//!   FD <= B = sum_{l=1}^{H+1} N_l (N_{l-1} + 1) - sum_l (R_l + e_l^2 + e_l).
//!   ```
//!
//!   Inactive neurons can be deleted; `a_l - e_l` surplus linear neurons collapse, by a smooth map, into a network with `e_l`; in that
//!   network scalings of the switching neurons and the affine group of the linear ones act locally freely.
//! - *Regions*: `n_out` times (the sum, over sampled regions without a dead layer, of the rank of the points
//!   `(x, 1)` in the region, plus 1 per distinct last dead layer of the others). It refines
//!   [ntk2026complexity, Proposition 4.6]. Where layer `l` is dead, the rows do not depend on `x`.
//! - *Layers*: layer by layer the smaller of the layer's share of `B` and of `n_out` times the sum, over
//!   patterns of the layers from `l` on, of the rank of `(h_{l-1}(x), 1)`, at generic parameters with the
//!   same patterns.

use super::pattern::{LayerStates, NeuronState};

/// The numbers of neurons of a hidden layer by their state on a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateCounts {
    /// `R_l`.
    pub switching: usize,
    /// `a_l`.
    pub active: usize,
    /// `k_l`.
    pub inactive: usize,
}

impl From<&LayerStates> for StateCounts {
    fn from(states: &LayerStates) -> Self {
        StateCounts {
            switching: states.count(NeuronState::Switching),
            active: states.count(NeuronState::Active),
            inactive: states.count(NeuronState::Inactive),
        }
    }
}

/// The smaller network to which inactive and surplus linear neurons reduce a network on a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReducedArchitecture {
    /// `N_0, ..., N_{H+1}`.
    pub widths: Vec<usize>,
    /// `R_l` of the hidden layers.
    pub switching: Vec<usize>,
    /// `e_l` of the hidden layers.
    pub linear: Vec<usize>,
    /// The layers up to this one are dropped (0: none): `N` of it is 0.
    pub dropped: usize,
}

impl ReducedArchitecture {
    /// The reduced network for inputs that span an affine space of dimension `inputs`.
    pub fn new(inputs: usize, states: &[StateCounts], outputs: usize) -> Self {
        let switching: Vec<usize> = states.iter().map(|state| state.switching).collect();
        let mut linear: Vec<usize> = states.iter().map(|state| state.active).collect();
        loop {
            let widths = widths(inputs, &switching, &linear, outputs);
            let next: Vec<usize> =
                (0..linear.len()).map(|l| linear[l].min(widths[l]).min(widths[l + 2])).collect();
            if next == linear {
                let last = widths[..widths.len() - 1].iter().rposition(|&width| width == 0);
                return ReducedArchitecture { widths, switching, linear, dropped: last.unwrap_or(0) };
            }
            linear = next;
        }
    }

    /// The share of layer `l = 1, ..., H+1` in the bound: `N_l (N_{l-1} + 1) - (R_l + e_l^2 + e_l)`; 0 for a
    /// layer that is dropped.
    pub fn share(&self, layer: usize) -> usize {
        if layer <= self.dropped {
            return 0;
        }
        let (r, e) = match self.switching.get(layer - 1) {
            Some(&r) => (r, self.linear[layer - 1]),
            None => (0, 0),
        };
        self.widths[layer] * (self.widths[layer - 1] + 1) - (r + e * e + e)
    }

    /// The symmetry bound `B`.
    pub fn bound(&self) -> usize {
        (1..self.widths.len()).map(|layer| self.share(layer)).sum()
    }

    /// The number of parameters of the layers that are not dropped.
    pub fn parameters(&self) -> usize {
        parameters(&self.widths[self.dropped..])
    }

    fn kept(&self) -> std::ops::Range<usize> {
        self.dropped..self.linear.len()
    }
}

fn widths(inputs: usize, switching: &[usize], linear: &[usize], outputs: usize) -> Vec<usize> {
    let hidden = switching.iter().zip(linear).map(|(r, e)| r + e);
    std::iter::once(inputs).chain(hidden).chain([outputs]).collect()
}

/// `sum_l n_l (n_{l-1} + 1)`.
pub(crate) fn parameters(widths: &[usize]) -> usize {
    widths.windows(2).map(|pair| pair[1] * (pair[0] + 1)).sum()
}

/// `D - sum_l R_l - sum_l (a_l + k_l)^2`, if the widths are roughly monotonic. (Where the formula is negative
/// the bound is 0.)
pub fn theorem_1(widths: &[usize], states: &[StateCounts]) -> Option<usize> {
    let falling = widths.windows(2).all(|pair| pair[1] <= pair[0] + 1);
    let rising = widths.windows(2).all(|pair| pair[0] <= pair[1] + 1);
    let symmetries: usize =
        states.iter().map(|state| state.switching + (state.active + state.inactive).pow(2)).sum();
    (falling || rising).then(|| parameters(widths).saturating_sub(symmetries))
}

/// All bounds for a batch, each an upper bound of its functional dimension.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Bounds {
    /// The number of rows: points times outputs.
    pub rows: usize,
    /// `D - sum_l n_l`.
    pub scaling: usize,
    /// Theorem 1, where its condition on the widths holds.
    pub theorem_1: Option<usize>,
    /// The symmetry bound `B`.
    pub symmetry: usize,
    /// `B` for inputs that span less than the input space.
    pub symmetry_on_data: usize,
    /// The region bound.
    pub regions: usize,
    /// The layer bound; not computed where only the rank was asked for. Its ranks are taken modulo a prime,
    /// so it counts as certified only through the others.
    pub layers: Option<usize>,
}

impl Bounds {
    /// The names and values of the bounds, in the order of the documentation.
    pub fn named(&self) -> Vec<(&'static str, Option<usize>)> {
        vec![
            ("rows", Some(self.rows)),
            ("scaling", Some(self.scaling)),
            ("theorem_1", self.theorem_1),
            ("symmetry", Some(self.symmetry)),
            ("symmetry_on_data", Some(self.symmetry_on_data)),
            ("regions", Some(self.regions)),
            ("layers", self.layers),
        ]
    }

    /// The least of the bounds that rest on exact arithmetic alone.
    pub fn certified(&self) -> usize {
        let all = [self.rows, self.scaling, self.symmetry, self.symmetry_on_data, self.regions];
        let least = all.into_iter().min().expect("there are bounds");
        self.theorem_1.map_or(least, |bound| bound.min(least))
    }

    /// The least of all bounds.
    pub fn least(&self) -> usize {
        self.layers.map_or(self.certified(), |bound| bound.min(self.certified()))
    }
}

/// What makes up `D - FD`. The parts add up to it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Deficit {
    /// Parameters of inactive neurons and of layers before a layer that is constant on the batch.
    pub inactive: usize,
    /// Parameters of linear neurons in excess of what their neighbours can use.
    pub collapse: usize,
    /// Positive scalings of switching neurons.
    pub scaling: usize,
    /// General linear groups of the remaining linear neurons.
    pub general_linear: usize,
    /// Translations of the remaining linear neurons.
    pub translation: usize,
    /// Directions in which the inputs do not vary.
    pub data: usize,
    /// Too few points or regions: the rest of the least bound.
    pub regions: usize,
    /// What no bound explains.
    pub unexplained: usize,
}

impl Deficit {
    /// The decomposition for a network of these widths; the inputs span an affine space of dimension `data`.
    pub fn new(widths: &[usize], states: &[StateCounts], data: usize, bounds: &Bounds, rank: usize) -> Self {
        let (inputs, outputs) = (widths[0], widths[widths.len() - 1]);
        let live: Vec<usize> = states.iter().map(|state| state.switching + state.active).collect();
        let dead = live.iter().rposition(|&width| width == 0).map_or(0, |l| l + 1);
        let alive: Vec<usize> = std::iter::once(inputs).chain(live).chain([outputs]).collect();
        let without_dead = parameters(&alive[dead..]);
        let reduced = ReducedArchitecture::new(inputs, states, outputs);
        let on_data = ReducedArchitecture::new(data, states, outputs);
        let linear = |f: fn(usize) -> usize| reduced.kept().map(|l| f(reduced.linear[l])).sum::<usize>();
        let least = bounds.least();
        Deficit {
            inactive: parameters(widths) - without_dead,
            collapse: without_dead - reduced.parameters(),
            scaling: reduced.kept().map(|l| reduced.switching[l]).sum(),
            general_linear: linear(|e| e * e),
            translation: linear(|e| e),
            data: reduced.bound() - on_data.bound(),
            regions: on_data.bound().saturating_sub(least),
            unexplained: least.min(on_data.bound()) - rank,
        }
    }

    /// The names and values of the parts.
    pub fn named(&self) -> [(&'static str, usize); 8] {
        [
            ("inactive", self.inactive),
            ("collapse", self.collapse),
            ("scaling", self.scaling),
            ("general_linear", self.general_linear),
            ("translation", self.translation),
            ("data", self.data),
            ("regions", self.regions),
            ("unexplained", self.unexplained),
        ]
    }

    /// `D - FD`.
    pub fn total(&self) -> usize {
        self.named().iter().map(|(_, value)| value).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(counts: &[(usize, usize, usize)]) -> Vec<StateCounts> {
        counts
            .iter()
            .map(|&(switching, active, inactive)| StateCounts { switching, active, inactive })
            .collect()
    }

    #[test]
    fn linear_neurons_collapse_to_the_narrowest_place() {
        // (1, 3 | 1) all active: one linear neuron is enough.
        let reduced = ReducedArchitecture::new(1, &states(&[(0, 3, 0)]), 1);
        assert_eq!((reduced.linear.clone(), reduced.bound()), (vec![1], 2));
        // A deep linear network of widths 4-6-5-2.
        let reduced = ReducedArchitecture::new(4, &states(&[(0, 6, 0), (0, 5, 0)]), 2);
        assert_eq!((reduced.linear.clone(), reduced.bound()), (vec![2, 2], 10));
    }

    #[test]
    fn a_dead_layer_leaves_the_biases_behind_it() {
        let reduced = ReducedArchitecture::new(3, &states(&[(2, 1, 0), (0, 0, 4), (0, 2, 1)]), 2);
        assert_eq!((reduced.dropped, reduced.bound()), (3, 2));
        let reduced = ReducedArchitecture::new(0, &states(&[(0, 2, 1)]), 2);
        assert_eq!(reduced.bound(), 2);
    }

    #[test]
    fn theorem_1_has_a_condition() {
        let all_active = states(&[(0, 3, 0)]);
        assert_eq!(theorem_1(&[1, 3, 1], &all_active), None);
        assert_eq!(theorem_1(&[3, 3, 1], &all_active), Some(16 - 9));
        assert_eq!(theorem_1(&[1, 2, 2, 2], &states(&[(2, 0, 0), (1, 1, 0)])), Some(16 - 4));
    }
}
