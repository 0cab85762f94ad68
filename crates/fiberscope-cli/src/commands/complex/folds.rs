//! `fiberscope folds`

use std::fmt::Write as _;
use std::io::Write;
use std::time::Duration;

use anyhow::bail;
use fiberscope::complex::{
    BreakpointComplex, Built, ComplexLimits, DependencyGraph, FoldMatch, FoldSet, Genericity,
    IdentifiabilityCertificate, PolyhedralComplex, find_relabelling, match_folds, region_bound,
};
use fiberscope_core::{Network, Rational};
use fiberscope_io::write_atomically;
use fiberscope_report::complex::{FoldEdge, FoldNode, FoldPicture};
use serde_json::{Value, json};

use super::args::FoldsArgs;
use crate::Answer;
use crate::args::Global;
use crate::commands::{read_domain, read_model};
use crate::output::Output;
use crate::output::write_picture;

pub fn run(args: &FoldsArgs, global: &Global, output: &mut Output) -> anyhow::Result<Answer> {
    for path in &args.graph {
        if !matches!(path.extension().and_then(|e| e.to_str()), Some("svg" | "png" | "dot")) {
            bail!("{}: expected a file name ending in .svg, .png or .dot", path.display());
        }
    }
    let network = read_model(&args.model, &args.read.options(), output)?.network;
    let other = args.other.as_ref().map(|other| read_model(other, &args.read.options(), output));
    let other = other.transpose()?.map(|model| model.network);
    let domain = read_domain(args.domain.as_deref(), network.input_width())?;
    let limits = ComplexLimits {
        time: global.time_limit.map(Duration::from_secs_f64),
        regions: Some(args.max_regions),
    };
    let shown: &Output = output;
    let built = PolyhedralComplex::build(&network, &domain, &limits, &|progress| {
        shown.progress(&format!("{} regions", progress.regions));
    })?;
    output.end_progress();
    let Built::Complete(complex) = built else { return stopped(args, &network, output) };
    let breakpoints = BreakpointComplex::new(&complex);
    if let Some(other) = &other {
        return relabelling(&complex, &breakpoints, [&network, other], output);
    }
    let folds = FoldSet::new(&complex, &breakpoints.facets, 0);
    let graph = folds.dependencies(&complex, &breakpoints.facets, 0);
    let genericity = Genericity::new(&complex, global.seed);
    let certificate = IdentifiabilityCertificate::new(&network, &complex, &breakpoints, &genericity);
    let picture = picture(args, &folds, &graph);
    for path in &args.graph {
        match path.extension().and_then(|e| e.to_str()) {
            Some("dot") => write_atomically(path, |file| file.write_all(picture.to_dot().as_bytes()))?,
            _ => write_picture(path, &picture.draw())?,
        }
    }
    let mut text = text(&folds, &graph, &genericity, &certificate);
    for path in &args.graph {
        let _ = writeln!(text, "wrote {}", path.display());
    }
    output.result(&text, &value(&folds, &graph, &genericity, &certificate))?;
    Ok(Answer::Yes)
}

fn stopped(args: &FoldsArgs, network: &Network, output: &Output) -> anyhow::Result<Answer> {
    let bound = region_bound(network);
    let text = format!(
        "stopped at a limit: more than {} regions or out of time; there may be up to {bound:.1e}\n",
        args.max_regions
    );
    let value = json!({"order": null, "pieces": null, "edges": null, "transparent": null, "general": null, "certified_identifiable": null, "estimate": bound});
    output.result(&text, &value)?;
    Ok(Answer::Undecided)
}

fn picture(args: &FoldsArgs, folds: &FoldSet, graph: &DependencyGraph) -> FoldPicture {
    let node = |(at, piece): (usize, &fiberscope::complex::FoldPiece)| FoldNode {
        name: (at + 1).to_string(),
        level: piece.level,
    };
    FoldPicture {
        title: format!("Dependency graph of the fold-set of {}", args.model),
        nodes: folds.pieces.iter().enumerate().map(node).collect(),
        edges: graph.edges.iter().map(|&(from, to)| FoldEdge { from, to }).collect(),
    }
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

fn text(
    folds: &FoldSet,
    graph: &DependencyGraph,
    genericity: &Genericity,
    certificate: &IdentifiabilityCertificate,
) -> String {
    let mut text = format!(
        "fold-set of order {}: {} pieces, {} dependencies\n",
        folds.order(),
        folds.pieces.len(),
        graph.edges.len()
    );
    for level in 1..=folds.order() {
        let count = folds.pieces.iter().filter(|piece| piece.level == level).count();
        let _ = writeln!(text, "  level {level}                {count} pieces");
    }
    if folds.left_over > 0 {
        let _ = writeln!(
            text,
            "  left over              {} visible facets that no step reaches",
            folds.left_over
        );
    }
    let transversal = match genericity.transversality_violations {
        0 => "yes".to_owned(),
        n => format!("no ({n} cells lie on more bent hyperplanes than their codimension)"),
    };
    let _ = writeln!(text, "  supertransversal       {transversal}");
    let masks = if genericity.masks_complete { "all" } else { "random" };
    let _ = writeln!(
        text,
        "  maximal masked ranks   {} ({} {masks} masks)",
        match genericity.rank_violations {
            0 => "yes".to_owned(),
            n => format!("no: {n} products are deficient"),
        },
        genericity.masks_checked
    );
    let _ = writeln!(text, "  general                {}", yes(genericity.is_general()));
    match &genericity.opaque {
        None => text.push_str("  transparent            yes\n"),
        Some((layer, x)) => {
            let _ = writeln!(text, "  transparent            no: layer {} is off at x = {x:?}", layer + 1);
        }
    }
    match certificate.reason() {
        None => text.push_str("  certified identifiable yes: the function determines the parameters among general networks, up to permutation and scaling\n"),
        Some(reason) => {
            let _ = writeln!(text, "  certified identifiable no: {reason}");
        }
    }
    text
}

fn value(
    folds: &FoldSet,
    graph: &DependencyGraph,
    genericity: &Genericity,
    certificate: &IdentifiabilityCertificate,
) -> Value {
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
        "opaque_at": genericity.opaque.as_ref().map(|(layer, x)| json!({"layer": layer + 1, "x": x})),
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

/// The paths of every layer.
pub fn paths(certificate: &IdentifiabilityCertificate) -> Value {
    let layer = |layer: &fiberscope::complex::LayerPaths| json!({"layer": layer.layer + 1, "wanted": layer.wanted, "length": layer.length, "paths": layer.paths});
    json!(certificate.layers.iter().map(layer).collect::<Vec<_>>())
}

/// Matches two networks by their folds; where these do not tell, by their parameters.
fn relabelling(
    complex: &PolyhedralComplex,
    breakpoints: &BreakpointComplex,
    [a, b]: [&Network; 2],
    output: &Output,
) -> anyhow::Result<Answer> {
    if a.input_width() != b.input_width() {
        bail!(
            "the networks have {} and {} inputs; expected the same number",
            a.input_width(),
            b.input_width()
        );
    }
    let (found, method) = match match_folds(complex, breakpoints, a, b) {
        FoldMatch::Relabelled(found) => (found, "folds"),
        FoldMatch::Different(x) => {
            let x: Vec<f64> = x.iter().map(Rational::to_f64).collect();
            let text =
                format!("the functions differ: near x = {x:?} the first bends and the second is affine\n");
            let value = json!({"matched": false, "method": "folds", "reason": "the functions differ", "bends_at": x, "layers": null});
            output.result(&text, &value)?;
            return Ok(Answer::No);
        }
        FoldMatch::Open(reason) => match find_relabelling(a, b) {
            Some(found) => {
                output.note(&format!("{reason}; the parameters themselves match"));
                (found, "parameters")
            }
            None => {
                let text = format!(
                    "no permutation and scaling of neurons turns the first network into the second: {reason}\n"
                );
                let value =
                    json!({"matched": false, "method": "parameters", "reason": reason, "layers": null});
                output.result(&text, &value)?;
                return Ok(Answer::No);
            }
        },
    };
    let read = if method == "folds" { "read off the folds" } else { "read off the parameters" };
    let mut text = format!("the second network is the first with neurons permuted and scaled ({read})\n");
    for (l, layer) in found.iter().enumerate() {
        let order: Vec<String> = layer.order.iter().map(|i| (i + 1).to_string()).collect();
        let scales: Vec<String> = layer.scales.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "  layer {}   neurons go to {}; scaled by {}",
            l + 1,
            order.join(", "),
            scales.join(", ")
        );
    }
    let layers: Vec<Value> = found
        .iter()
        .map(|layer| {
            let order: Vec<usize> = layer.order.iter().map(|i| i + 1).collect();
            let scales: Vec<String> = layer.scales.iter().map(ToString::to_string).collect();
            json!({"permutation": order, "scales": scales})
        })
        .collect();
    output.result(&text, &json!({"matched": true, "method": method, "layers": layers}))?;
    Ok(Answer::Yes)
}
