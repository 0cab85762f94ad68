//! Fold-sets, their dependency graphs, and relabellings read off them: text, JSON and pictures.

mod graph;
mod question;
mod text;

pub use graph::{FoldEdge, FoldNode, FoldPicture};
pub use question::{FoldsAnswer, FoldsQuestion, StoppedFolds, folds};

use crate::json::upper;
use anyhow::ensure;
use fiberscope::complex::{
    BreakpointComplex, ComplexOptions, DependencyGraph, FoldMatch, FoldPaths, FoldPiece, FoldPoint, FoldSet,
    Genericity, IdentifiabilityCertificate, PolyhedralComplex, match_folds,
};
use fiberscope::limit::{Deadline, LimitReached};
use fiberscope::orbit::{self, LayerRelabelling, NearRelabelling, Relabelling};
use fiberscope_core::{Network, Rational};
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
    /// Analyses a complex of the network, unless the deadline of the options comes first.
    pub fn new(
        network: &Network,
        complex: &PolyhedralComplex,
        breakpoints: &BreakpointComplex,
        options: &ComplexOptions,
    ) -> Result<Self, LimitReached> {
        let folds = FoldSet::new(complex, &breakpoints.facets, 0, options)?;
        let graph = folds.dependencies(complex, &breakpoints.facets, 0);
        let genericity = Genericity::new(complex, options)?;
        let certificate =
            IdentifiabilityCertificate::new(network, complex, breakpoints, &genericity, options)?;
        Ok(FoldAnswer { folds, graph, genericity, certificate })
    }

    /// Whether the function identifies the network, all conditions being decided.
    pub fn is_certified(&self) -> bool {
        self.certificate.holds() && self.genericity.masks_complete
    }

    /// The dependency graph, to be drawn; `name` is that of the network.
    pub fn picture(&self, name: &str) -> FoldPicture {
        let node = |(at, piece): (usize, &FoldPiece)| FoldNode { name: at.to_string(), level: piece.level };
        FoldPicture {
            title: format!("Dependency graph of the fold-set of {name}"),
            nodes: (1..).zip(&self.folds.pieces).map(node).collect(),
            edges: self.graph.edges.iter().map(|&(from, to)| FoldEdge { from, to }).collect(),
        }
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
        // What rests on masks that were not looked at is not known.
        let decided = |holds: bool| if holds && !genericity.masks_complete { None } else { Some(holds) };
        json!({
            "order": folds.order(),
            "pieces": pieces,
            "edges": graph.edges.iter().map(|&(a, b)| [a, b]).collect::<Vec<_>>(),
            "left_over": folds.left_over,
            "transparent": genericity.is_transparent(),
            "opaque_at": genericity.opaque.as_ref().map(|(layer, x)| opaque_at(*layer, x)),
            "linear_programs": genericity.programs,
            "general": decided(genericity.is_general()),
            "supertransversal": genericity.is_supertransversal(),
            "masks": {"checked": genericity.masks_checked, "complete": genericity.masks_complete, "deficient": genericity.rank_violations},
            "zero_optima": genericity.zero_optima.iter().map(neuron).collect::<Vec<_>>(),
            "proportional": genericity.proportional.iter().map(|(a, b)| [neuron(a), neuron(b)]).collect::<Vec<_>>(),
            "certified_identifiable": decided(certificate.holds()),
            "identifiable_if_general": certificate.holds().then_some(true),
            "reason": certificate.missing().map(|missing| missing.to_string()),
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

/// The paths of every layer.
pub(crate) fn paths(certificate: &IdentifiabilityCertificate) -> Value {
    let layer = |layer: &fiberscope::complex::LayerPaths| json!({"layer": layer.layer + 1, "wanted": layer.wanted, "length": layer.length, "paths": layer.paths});
    json!(certificate.layers.iter().map(layer).collect::<Vec<_>>())
}

/// For every hidden layer the paths that points prove: neurons, and the point of the first.
pub(crate) fn points_json(paths: &FoldPaths) -> Value {
    let depth = paths.points.len();
    let layer = |(l, points): (usize, &Vec<Option<FoldPoint>>)| {
        let path = |(unit, point): (usize, &Option<FoldPoint>)| {
            let point = point.as_ref()?;
            let neurons: Vec<[usize; 2]> =
                paths.path(l, unit)?.iter().map(|n| [n.layer + 1, n.unit + 1]).collect();
            let exact = point.point();
            let near: Vec<f64> = exact.iter().map(Rational::to_f64).collect();
            let exact: Vec<String> = exact.iter().map(ToString::to_string).collect();
            Some(json!({"path": neurons, "x": near, "exact": exact}))
        };
        let found: Vec<Value> = points.iter().enumerate().filter_map(path).collect();
        json!({"layer": l + 1, "wanted": points.len(), "length": depth - 1 - l, "paths": found})
    };
    paths.points.iter().enumerate().map(layer).collect()
}

/// Whether permutations and scalings of neurons turn one network into another.
pub enum Matched {
    /// They do.
    Relabelled {
        /// What turns the second into the first, one per hidden layer.
        layers: Vec<LayerRelabelling>,
        /// Why the folds did not tell and the parameters were compared.
        open: Option<String>,
    },
    /// They do up to rounding.
    Nearly {
        /// What turns the second into the first, one per hidden layer.
        layers: Vec<LayerRelabelling>,
        /// The largest difference of corresponding parameters after the relabelling, relative to the larger
        /// one; not zero.
        relative: Rational,
        /// Where the first function bends and the second is affine, so that the functions are not the same.
        bends_at: Option<Vec<f64>>,
        /// Whether the relabelling was read off the folds, not off the parameters.
        from_folds: bool,
    },
    /// The functions differ: near this point the first bends and the second is affine.
    Different(Vec<f64>),
    /// Neither folds nor parameters match.
    Unmatched {
        /// What the folds left open.
        reason: String,
        /// Whether the search for a relabelling is complete: no neuron is zero or a multiple of another.
        certain: bool,
    },
}

/// Matches two networks by their folds; where these do not tell, or tell two functions that rounding has made
/// different, by their parameters. The complex is that of the first.
fn relabelling(
    complex: &PolyhedralComplex,
    breakpoints: &BreakpointComplex,
    [a, b]: [&Network; 2],
    deadline: &Deadline,
) -> anyhow::Result<Matched> {
    ensure_inputs(a, b)?;
    let near = |x: Vec<Rational>| x.iter().map(Rational::to_f64).collect::<Vec<_>>();
    Ok(match match_folds(complex, breakpoints, a, b) {
        FoldMatch::Relabelled(found) => Matched::Relabelled { layers: found.layers, open: None },
        FoldMatch::Nearly(NearRelabelling { relabelling, relative }, x) => {
            Matched::Nearly { layers: relabelling.layers, relative, bends_at: x.map(near), from_folds: true }
        }
        FoldMatch::Different(x) => {
            let x = near(x);
            nearly(a, b, Some(&x), deadline).unwrap_or(Matched::Different(x))
        }
        FoldMatch::Open(reason) => by_parameters([a, b], reason, deadline)?,
    })
}

fn ensure_inputs(a: &Network, b: &Network) -> anyhow::Result<()> {
    let (from, to) = (a.input_width(), b.input_width());
    ensure!(from == to, "the networks have {from} and {to} inputs; expected the same number");
    Ok(())
}

/// Matches two networks by their parameters, where the folds leave something open.
fn by_parameters([a, b]: [&Network; 2], reason: String, deadline: &Deadline) -> anyhow::Result<Matched> {
    ensure_inputs(a, b)?;
    Ok(match orbit::find(&a.to_exact(), &b.to_exact()) {
        Some(found) => Matched::Relabelled { layers: found.layers, open: Some(reason) },
        None => nearly(a, b, None, deadline).unwrap_or_else(|| Matched::Unmatched {
            reason,
            certain: a.widths() != b.widths() || (orbit::rows_tell(a) && !deadline.is_past()),
        }),
    })
}

/// A relabelling up to rounding.
fn nearly(a: &Network, b: &Network, bends_at: Option<&[f64]>, deadline: &Deadline) -> Option<Matched> {
    let NearRelabelling { relabelling: Relabelling { layers }, relative } = orbit::find_near(a, b, deadline)?;
    let bends_at = bends_at.map(<[f64]>::to_vec);
    Some(if relative.is_zero() && bends_at.is_none() {
        Matched::Relabelled { layers, open: Some("the folds do not tell".into()) }
    } else {
        Matched::Nearly { layers, relative, bends_at, from_folds: false }
    })
}

impl Matched {
    /// The facts with the keys of `fiberscope folds --match --json`.
    pub fn to_json(&self) -> Value {
        match self {
            Matched::Relabelled { layers, open } => {
                let method = if open.is_none() { "folds" } else { "parameters" };
                json!({"matched": true, "exact": true, "relative": 0.0, "method": method, "layers": layers_json(layers)})
            }
            Matched::Nearly { layers, relative, bends_at, from_folds } => {
                let method = if *from_folds { "folds" } else { "parameters" };
                json!({
                    "matched": true, "exact": false, "relative": upper(relative), "method": method,
                    "bends_at": bends_at, "layers": layers_json(layers),
                })
            }
            Matched::Different(x) => {
                json!({"matched": false, "method": "folds", "reason": "the functions differ", "bends_at": x, "layers": null})
            }
            Matched::Unmatched { reason, certain } => {
                let matched = if *certain { json!(false) } else { Value::Null };
                json!({"matched": matched, "method": "parameters", "reason": reason, "layers": null})
            }
        }
    }
}

/// The relabellings of the hidden layers.
fn layers_json(layers: &[LayerRelabelling]) -> Value {
    let layer = |layer: &LayerRelabelling| {
        let order: Vec<usize> = layer.order.iter().map(|i| i + 1).collect();
        let scales: Vec<String> = layer.scales().iter().map(ToString::to_string).collect();
        json!({"permutation": order, "scales": scales})
    };
    layers.iter().map(layer).collect()
}
