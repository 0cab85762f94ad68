//! `fiberscope folds`

use std::fmt::Write as _;
use std::io::Write;

use anyhow::bail;
use fiberscope::complex::{
    BreakpointComplex, Built, ComplexLimits, PolyhedralComplex, Transparency, TransparencyLimits,
    exact_region_bound,
};
use fiberscope::orbit::LayerRelabelling;
use fiberscope_answer::folds::{self, FoldAnswer, Matched, relabelling};
use fiberscope_core::{Network, Rational, decimal};
use fiberscope_io::write_atomically;
use fiberscope_report::complex::{FoldEdge, FoldNode, FoldPicture};

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
    let limits = ComplexLimits { deadline: global.deadline(), regions: Some(args.max_regions) };
    let shown: &Output = output;
    let built = PolyhedralComplex::build(&network, &domain, &limits, &|progress| {
        shown.progress(&format!("{} regions", progress.regions));
    })?;
    output.end_progress();
    let Built::Complete(complex) = built else {
        let programs = TransparencyLimits { deadline: limits.deadline, ..TransparencyLimits::default() };
        let transparency = Transparency::new(&network, &domain, &programs)?;
        return stopped(args, &network, &transparency, output);
    };
    let deadline = &limits.deadline;
    output.know(format!("the complex has {} regions", complex.regions().len()));
    let breakpoints = BreakpointComplex::until(&complex, deadline)?;
    if let Some(other) = &other {
        return matched(&relabelling(&complex, &breakpoints, [&network, other], &limits.deadline)?, output);
    }
    let found = FoldAnswer::until(&network, &complex, &breakpoints, global.seed, deadline)?;
    let picture = picture(args, &found);
    for path in &args.graph {
        match path.extension().and_then(|e| e.to_str()) {
            Some("dot") => write_atomically(path, |file| file.write_all(picture.to_dot().as_bytes()))?,
            _ => write_picture(path, &picture.draw())?,
        }
    }
    let mut text = text(&found);
    for path in &args.graph {
        let _ = writeln!(text, "wrote {}", path.display());
    }
    output.result(&text, &found.to_json())?;
    Ok(Answer::Yes)
}

fn stopped(
    args: &FoldsArgs,
    network: &Network,
    transparency: &Transparency,
    output: &Output,
) -> anyhow::Result<Answer> {
    let bound = decimal::upper(&exact_region_bound(network));
    let transparent = match (transparency.opaque(), &transparency.unknown()[..]) {
        (None, []) => format!("yes ({} linear programs)", transparency.programs),
        (None, open) => {
            let layers: Vec<String> = open.iter().map(|l| (l + 1).to_string()).collect();
            format!("unknown for layer {} after {} linear programs", layers.join(", "), transparency.programs)
        }
        (Some((layer, x)), _) => off(layer, x),
    };
    let text = format!(
        "stopped at a limit: more than {} regions or out of time; there may be up to {bound}\n  transparent            {transparent}\n",
        args.max_regions
    );
    output.result(&text, &folds::stopped(network, transparency))?;
    Ok(Answer::Undecided)
}

fn picture(args: &FoldsArgs, found: &FoldAnswer) -> FoldPicture {
    let node = |(at, piece): (usize, &fiberscope::complex::FoldPiece)| FoldNode {
        name: (at + 1).to_string(),
        level: piece.level,
    };
    FoldPicture {
        title: format!("Dependency graph of the fold-set of {}", args.model),
        nodes: found.folds.pieces.iter().enumerate().map(node).collect(),
        edges: found.graph.edges.iter().map(|&(from, to)| FoldEdge { from, to }).collect(),
    }
}

/// Where a layer (from 0) is off.
fn off(layer: usize, x: &[Rational]) -> String {
    let near: Vec<f64> = x.iter().map(Rational::to_f64).collect();
    format!("no: layer {} is off at x = {near:?}", layer + 1)
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

fn text(found: &FoldAnswer) -> String {
    let FoldAnswer { folds, graph, genericity, certificate } = found;
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
        None => {
            let _ = writeln!(text, "  transparent            yes ({} linear programs)", genericity.programs);
        }
        Some((layer, x)) => {
            let _ = writeln!(text, "  transparent            {}", off(*layer, x));
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

/// Prints whether the second network is the first, relabelled.
fn matched(found: &Matched, output: &Output) -> anyhow::Result<Answer> {
    let (text, answer) = match found {
        Matched::Different(x) => (
            format!("the functions differ: near x = {x:?} the first bends and the second is affine\n"),
            Answer::No,
        ),
        Matched::Unmatched { reason, certain: true } => (
            format!(
                "no permutation and scaling of neurons turns the first network into the second: {reason}\n"
            ),
            Answer::No,
        ),
        Matched::Unmatched { reason, certain: false } => (
            format!(
                "undecided: no permutation and scaling of neurons that turns the first network into the second was found, and neurons that are \
                 zero or multiples of each other leave open whether there is one: {reason}\n"
            ),
            Answer::Undecided,
        ),
        Matched::Relabelled { layers, open } => {
            if let Some(reason) = open {
                output.note(&format!("{reason}; the parameters themselves match"));
            }
            let read = if open.is_none() { "read off the folds" } else { "read off the parameters" };
            let text = format!(
                "the second network is the first with neurons permuted and scaled, exactly ({read})\n"
            );
            (text + &relabellings(layers), Answer::Yes)
        }
        Matched::Nearly { layers, relative, bends_at } => {
            let mut text = format!(
                "the second network is the first with neurons permuted and scaled, up to a relative difference of {} of the parameters\n",
                decimal::upper(relative)
            );
            if let Some(x) = bends_at {
                let _ = writeln!(
                    text,
                    "not exactly: near x = {x:?} the first function bends and the second is affine"
                );
            }
            (text + &relabellings(layers), Answer::Yes)
        }
    };
    output.result(&text, &found.to_json())?;
    Ok(answer)
}

/// One line per hidden layer.
fn relabellings(layers: &[LayerRelabelling]) -> String {
    let mut text = String::new();
    for (l, layer) in layers.iter().enumerate() {
        let order: Vec<String> = layer.order.iter().map(|i| (i + 1).to_string()).collect();
        let scales: Vec<String> = layer.scales().iter().map(shown).collect();
        let _ = writeln!(
            text,
            "  layer {}   neurons go to {}; scaled by {}",
            l + 1,
            order.join(", "),
            scales.join(", ")
        );
    }
    text
}

/// A fraction if it is short, otherwise its double; the JSON has all digits.
fn shown(x: &Rational) -> String {
    const LENGTH: usize = 20;
    let text = x.to_string();
    if text.len() <= LENGTH { text } else { format!("{:?}", x.to_f64()) }
}
