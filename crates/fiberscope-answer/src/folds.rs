//! Fold-sets, their dependency graphs, and relabellings read off them.

use anyhow::ensure;
use fiberscope::complex::{
    BreakpointComplex, Constructed, DependencyGraph, FoldMatch, FoldSet, Genericity,
    IdentifiabilityCertificate, PolyhedralComplex, Relabelling, Transparency, find_relabelling, match_folds,
    region_bound,
};
use fiberscope::limit::{Deadline, LimitReached};
use fiberscope_core::{Digest, Network, Rational};
use serde_json::{Value, json};

/// What the folds of a network say.
pub struct FoldAnswer {
    /// The fold-set.
    pub folds: FoldSet,
    /// Which pieces depend on which.
    pub graph: DependencyGraph,
    /// Whether the network is general and transparent.
    pub genericity: Genericity,
    /// Whether its function identifies it.
    pub certificate: IdentifiabilityCertificate,
}

impl FoldAnswer {
    /// Analyses a complex of the network.
    pub fn new(
        network: &Network,
        complex: &PolyhedralComplex,
        breakpoints: &BreakpointComplex,
        seed: u64,
    ) -> Self {
        FoldAnswer::until(network, complex, breakpoints, seed, &Deadline::NEVER).expect("there is no limit")
    }

    /// The same, unless the deadline comes first.
    pub fn until(
        network: &Network,
        complex: &PolyhedralComplex,
        breakpoints: &BreakpointComplex,
        seed: u64,
        deadline: &Deadline,
    ) -> Result<Self, LimitReached> {
        let folds = FoldSet::until(complex, &breakpoints.facets, 0, deadline)?;
        let graph = folds.dependencies(complex, &breakpoints.facets, 0);
        let genericity = Genericity::until(complex, seed, deadline)?;
        let certificate =
            IdentifiabilityCertificate::until(network, complex, breakpoints, &genericity, deadline)?;
        Ok(FoldAnswer { folds, graph, genericity, certificate })
    }

    /// The facts with the keys of `fiberscope folds --json`.
    pub fn to_json(&self) -> Value {
        let FoldAnswer { folds, graph, genericity, certificate } = self;
        let pieces: Vec<Value> = folds
            .pieces
            .iter()
            .map(|piece| {
                json!({
                    "level": piece.level,
                    "facets": piece.facets.len(),
                    "layers": piece.layers.iter().map(|l| l + 1).collect::<Vec<_>>(),
                    "normal": piece.normal.iter().map(|x| x.to_f64()).collect::<Vec<_>>(),
                    "offset": piece.offset.to_f64(),
                })
            })
            .collect();
        let neuron = |n: &fiberscope_core::Neuron| [n.layer + 1, n.unit + 1];
        json!({
            "order": folds.order(),
            "pieces": pieces,
            "edges": graph.edges.iter().map(|&(a, b)| [a, b]).collect::<Vec<_>>(),
            "left_over": folds.left_over,
            "transparent": genericity.is_transparent(),
            "opaque_at": genericity.opaque.as_ref().map(|(layer, x)| opaque_at(*layer, x)),
            "linear_programs": genericity.programs,
            "general": genericity.is_general(),
            "supertransversal": genericity.is_supertransversal(),
            "masks": {"checked": genericity.masks_checked, "complete": genericity.masks_complete, "deficient": genericity.rank_violations},
            "zero_optima": genericity.zero_optima.iter().map(neuron).collect::<Vec<_>>(),
            "proportional": genericity.proportional.iter().map(|(a, b)| [neuron(a), neuron(b)]).collect::<Vec<_>>(),
            "certified_identifiable": certificate.holds(),
            "reason": certificate.reason(),
            "paths": paths(certificate),
        })
    }
}

/// A layer (from 0) that is off at a point: the point in doubles, and exactly.
fn opaque_at(layer: usize, x: &[Rational]) -> Value {
    let near: Vec<f64> = x.iter().map(Rational::to_f64).collect();
    let exact: Vec<String> = x.iter().map(ToString::to_string).collect();
    json!({"layer": layer + 1, "x": near, "exact": exact})
}

/// The same keys for a complex that a limit stopped; linear programs may still know whether the network is transparent.
pub fn stopped(network: &Network, transparency: &Transparency) -> Value {
    let unknown: Vec<usize> = transparency.unknown().iter().map(|l| l + 1).collect();
    json!({
        "order": null,
        "pieces": null,
        "edges": null,
        "transparent": transparency.is_transparent(),
        "opaque_at": transparency.opaque().map(|(layer, x)| opaque_at(layer, x)),
        "unknown_layers": unknown,
        "linear_programs": transparency.programs,
        "general": null,
        "certified_identifiable": null,
        "estimate": region_bound(network),
    })
}

/// The paths of every layer.
pub fn paths(certificate: &IdentifiabilityCertificate) -> Value {
    let layer = |layer: &fiberscope::complex::LayerPaths| json!({"layer": layer.layer + 1, "wanted": layer.wanted, "length": layer.length, "paths": layer.paths});
    json!(certificate.layers.iter().map(layer).collect::<Vec<_>>())
}

/// The certificate of a network that was built to be identified by its function.
pub fn constructed(built: &Constructed, seed: u64) -> Value {
    json!({
        "claim": "certified_identifiable",
        "network": Digest::of(&built.network).to_string(),
        "widths": built.network.widths(),
        "domain": built.domain,
        "general": built.certificate.general,
        "transparent": built.certificate.transparent,
        "layers": paths(&built.certificate),
        "seed": seed,
        "attempts": built.attempts,
    })
}

/// Whether permutations and scalings of neurons turn one network into another.
pub enum Matched {
    /// They do.
    Relabelled {
        /// One per hidden layer.
        layers: Vec<Relabelling>,
        /// Why the folds did not tell and the parameters were compared.
        open: Option<String>,
    },
    /// The functions differ: near this point the first bends and the second is affine.
    Different(Vec<f64>),
    /// Neither folds nor parameters match: what the folds left open.
    Unmatched(String),
}

/// Matches two networks by their folds; where these do not tell, by their parameters. The complex is that of the first.
pub fn relabelling(
    complex: &PolyhedralComplex,
    breakpoints: &BreakpointComplex,
    [a, b]: [&Network; 2],
) -> anyhow::Result<Matched> {
    let (from, to) = (a.input_width(), b.input_width());
    ensure!(from == to, "the networks have {from} and {to} inputs; expected the same number");
    Ok(match match_folds(complex, breakpoints, a, b) {
        FoldMatch::Relabelled(layers) => Matched::Relabelled { layers, open: None },
        FoldMatch::Different(x) => Matched::Different(x.iter().map(Rational::to_f64).collect()),
        FoldMatch::Open(reason) => match find_relabelling(a, b) {
            Some(layers) => Matched::Relabelled { layers, open: Some(reason) },
            None => Matched::Unmatched(reason),
        },
    })
}

impl Matched {
    /// The facts with the keys of `fiberscope folds --match --json`.
    pub fn to_json(&self) -> Value {
        match self {
            Matched::Relabelled { layers, open } => {
                let layer = |layer: &Relabelling| {
                    let order: Vec<usize> = layer.order.iter().map(|i| i + 1).collect();
                    let scales: Vec<String> = layer.scales.iter().map(ToString::to_string).collect();
                    json!({"permutation": order, "scales": scales})
                };
                let method = if open.is_none() { "folds" } else { "parameters" };
                json!({"matched": true, "method": method, "layers": layers.iter().map(layer).collect::<Vec<_>>()})
            }
            Matched::Different(x) => {
                json!({"matched": false, "method": "folds", "reason": "the functions differ", "bends_at": x, "layers": null})
            }
            Matched::Unmatched(reason) => {
                json!({"matched": false, "method": "parameters", "reason": reason, "layers": null})
            }
        }
    }
}
