//! `fiberscope linear inspect`

use std::fmt::Write;

use anyhow::{Context, anyhow};
use fiberscope::linear::{LinearError, Stratum, compress_block, count_strata};
use fiberscope_io::{Precision, ReadOptions, save, write_atomically};
use fiberscope_report::linear::inspect::{InspectQuestion, Inspection, inspect, value};
use fiberscope_report::linear::{FlowBar, FlowPicture};

use super::args::InspectArgs;
use super::joined;
use crate::Answer;
use crate::commands::{read_domain, read_model};
use crate::output::Output;

pub fn run(args: &InspectArgs, output: &mut Output) -> anyhow::Result<Answer> {
    let model = read_model(&args.model, &ReadOptions::default(), output)?;
    let domain = read_domain(args.domain.as_deref(), model.network.input_width())?;
    let question = InspectQuestion {
        name: args.model.clone(),
        layers: args.layers,
        block: args.block,
        tolerance: args.tolerance.get(),
        exact: args.exact,
        bases: args.bases,
        spaces: args.spaces,
    };
    let found = inspect(&question, &model.network, &domain)
        .map_err(|error| match error {
            LinearError::NotLinear { .. } => anyhow!("{error} (--block LAYER --box LO,HI)"),
            other => other.into(),
        })
        .with_context(|| args.model.clone())?;
    if let Some(path) = &args.flow {
        let svg = flow_picture(&args.model, &found.stratum).draw().to_document();
        write_atomically(path, |out| std::io::Write::write_all(out, svg.as_bytes()))?;
    }
    if let (Some(path), Some(block)) = (&args.compress, &found.block) {
        let small = compress_block(&model.network, block, &domain, args.tolerance.tolerance)?;
        save(&small, path, Precision::F64)?;
    }
    let value = value(&question, &found)?;
    output.result(&text(args, &found)?, &value)?;
    Ok(Answer::Yes)
}

fn flow_picture(model: &str, stratum: &Stratum) -> FlowPicture {
    let ranks = stratum.ranks();
    FlowPicture {
        title: format!("Basis flow of {model}"),
        widths: ranks.widths().to_vec(),
        ranks: (1..=ranks.depth()).map(|j| ranks.get(j, j - 1)).collect(),
        bars: stratum
            .barcode()
            .bars()
            .map(|(bar, count)| FlowBar { start: bar.start, end: bar.end, count })
            .collect(),
    }
}

fn text(args: &InspectArgs, found: &Inspection) -> anyhow::Result<String> {
    let Inspection { flow, stratum, .. } = found;
    let fiber = stratum.fiber();
    let mut text = format!("{}: linear network of widths {}\n", args.model, joined(fiber.widths()));
    if let Some(block) = &found.block {
        let units: Vec<String> = block.active.iter().map(|unit| (unit + 1).to_string()).collect();
        let _ = writeln!(
            text,
            "always-active neurons of layer {}: {} ({} mixed, {} dead)\ndirections of the two layers that keep the function (mixed neurons generic): {}",
            block.layer + 1,
            units.join(","),
            block.mixed,
            block.dead,
            block.layer_pair_freedom(stratum),
        );
    }
    let _ =
        writeln!(text, "stratum {} of the fiber of a product of rank {}", stratum.short_name(), fiber.rank());
    let _ = writeln!(text, "bars   {}", stratum.barcode());
    for (k, row) in stratum.ranks().rows().iter().enumerate() {
        let products: Vec<String> =
            row.iter().enumerate().map(|(i, rank)| format!("{}: {rank}", product(k + 1, i))).collect();
        let _ = writeln!(text, "{} {}", if k == 0 { "ranks " } else { "      " }, products.join("  "));
    }
    let _ = writeln!(
        text,
        "dim {}, dof {}, rdof {}, {} connected component(s); with biases dim and dof grow by {}",
        stratum.dimension(),
        stratum.degrees_of_freedom(),
        stratum.rank_increasing_degrees_of_freedom(),
        stratum.components(),
        fiber.bias_dimension(),
    );
    let (ups, downs) = (stratum.up_moves(), stratum.down_moves());
    let covers =
        (ups.iter().filter(|up| up.covering).count(), downs.iter().filter(|down| down.covering).count());
    let _ = writeln!(text, "in the dag: covered by {}, covers {} strata{}", covers.0, covers.1, total(found));
    let _ = writeln!(
        text,
        "removable width: {}",
        joined(
            &fiber.widths()[1..fiber.depth()].iter().map(|width| width - fiber.rank()).collect::<Vec<_>>()
        )
    );
    let _ = writeln!(
        text,
        "singular values up to {:.1e} count as zero; smallest kept {}, largest dropped {}; residual {:.1e}",
        flow.threshold(),
        number(flow.smallest_kept()),
        number(flow.largest_dropped()),
        flow.residual(),
    );
    if let Some(exact) = &found.exact {
        let verdict = if exact == stratum.ranks() { "agree" } else { "DIFFER; the exact ones are" };
        let _ = writeln!(text, "exact ranks {verdict}: {:?}", exact.rows());
    }
    for (l, inertia) in found.conserved.inertia(args.tolerance.tolerance)?.iter().enumerate() {
        let (layer, next) = (l + 1, l + 2);
        let _ = writeln!(
            text,
            "gradient flow keeps rk W{next} >= {} and rk [W{layer} b{layer}] >= {}",
            inertia.positive, inertia.negative
        );
    }
    Ok(text)
}

/// The name of `W_{k~i}`: `W3`, `W3W2`, or `W9..W2`.
fn product(k: usize, i: usize) -> String {
    match k - i {
        1 => format!("W{k}"),
        2 => format!("W{k}W{}", k - 1),
        _ => format!("W{k}..W{}", i + 1),
    }
}

fn total(found: &Inspection) -> String {
    count_strata(found.stratum.fiber()).map_or_else(|_| String::new(), |count| format!(" (of {count})"))
}

fn number(value: Option<f64>) -> String {
    value.map_or("none".into(), |value| format!("{value:.1e}"))
}
