//! In which stratum of its fiber a linear network lies: text, JSON, and the flow of its bases.

use std::fmt::Write;

use anyhow::bail;
use fiberscope::linear::{
    ActiveBlock, Conserved, FlowBases, LinearError, LinearNetwork, NormalKind, RankList, Stratum, Subspaces,
    TangentSpace, Tolerance, canonical_weights, count_strata, exact_rank_list,
};
use fiberscope_core::{Domain, Network};
use serde_json::{Value, json};

use super::{FlowBar, FlowPicture, LatticePicture, rows, stratum_json};
use crate::number::significant;
use crate::words::joined;

/// Multiplications of rationals that exact ranks may take.
const EXACT_WORK: usize = 1 << 23;
/// The most weights for which tangent and normal bases are written.
const SPACES: u64 = 2000;

/// What is asked of a network.
#[derive(Clone, Debug, Default)]
pub struct InspectQuestion {
    /// The network's name.
    pub name: String,
    /// Only the layers from one to another, counted from 1.
    pub layers: Option<(usize, usize)>,
    /// Only the always-active neurons of this ReLU layer, counted from 1.
    pub block: Option<usize>,
    /// What counts as zero.
    pub tolerance: Tolerance,
    /// Also the ranks over the rationals.
    pub exact: bool,
    /// Also flow bases and canonical weights.
    pub bases: bool,
    /// Also tangent and normal bases.
    pub spaces: bool,
    /// Also the subspaces of the layers and their prebases.
    pub subspaces: bool,
}

/// What is looked at, and what was found.
#[derive(Debug)]
pub struct Inspection {
    /// The linear network.
    pub network: LinearNetwork,
    /// The neurons it is made of, if they are those of a ReLU layer.
    pub block: Option<ActiveBlock>,
    /// Bases along which the network is in normal form.
    pub flow: FlowBases,
    /// Its stratum.
    pub stratum: Stratum,
    /// The ranks over the rationals.
    pub exact: Option<RankList>,
    /// What gradient flow conserves.
    pub conserved: Conserved,
}

/// Finds the stratum; neurons of a block must be active on the domain.
pub fn inspect(
    question: &InspectQuestion,
    network: &Network,
    domain: &Domain,
) -> Result<Inspection, LinearError> {
    let block = match question.block {
        Some(layer) => Some(ActiveBlock::find(network, layer - 1, domain)?),
        None => None,
    };
    let linear = match (&block, question.layers) {
        (Some(block), _) => block.network.clone(),
        (None, Some((first, last))) => LinearNetwork::from_layers(network, first - 1, last - 1)?,
        (None, None) => LinearNetwork::from_network(network)?,
    };
    let flow = FlowBases::compute(&linear, question.tolerance)?;
    let stratum = Stratum::new(flow.barcode().rank_list());
    let exact = if question.exact { Some(exact_rank_list(&linear, EXACT_WORK)?) } else { None };
    let conserved = Conserved::of(&linear.to_network());
    Ok(Inspection { network: linear, block, flow, stratum, exact, conserved })
}

/// The facts with the keys of `fiberscope linear inspect --json`.
pub fn value(question: &InspectQuestion, found: &Inspection) -> anyhow::Result<Value> {
    let Inspection { flow, stratum, .. } = found;
    let fiber = stratum.fiber();
    let mut value = stratum_json(stratum);
    value["model"] = json!(question.name);
    value["widths"] = json!(fiber.widths());
    value["rank"] = json!(fiber.rank());
    value["name"] = json!(stratum.short_name());
    value["bias_dimension"] = json!(fiber.bias_dimension());
    value["maximal"] = json!(stratum.rank_increasing_degrees_of_freedom() == 0);
    value["hidden_orbit_dim"] = json!(stratum.hidden_orbit_dimension());
    value["strata_of_the_fiber"] = count_strata(fiber).map_or(Value::Null, |count| json!(count.to_string()));
    value["up"] = super::ups(stratum);
    value["down"] = super::downs(stratum);
    value["threshold"] = json!(flow.threshold());
    value["smallest_kept"] = json!(flow.smallest_kept());
    value["largest_dropped"] = json!(flow.largest_dropped());
    value["residual"] = json!(flow.residual());
    let inertia = found.conserved.inertia(question.tolerance.relative)?;
    value["conserved"] = found
        .conserved
        .matrices()
        .iter()
        .zip(&inertia)
        .map(|(matrix, inertia)| {
            json!({"trace": (0..matrix.rows()).map(|i| matrix[(i, i)]).sum::<f64>(), "positive": inertia.positive, "negative": inertia.negative})
        })
        .collect();
    if let Some(exact) = &found.exact {
        value["exact_r"] = json!(exact.rows());
        value["exact_agrees"] = json!(exact == stratum.ranks());
    }
    if let Some(block) = &found.block {
        let active: Vec<usize> = block.active.iter().map(|unit| unit + 1).collect();
        value["block"] = json!({"layer": block.layer + 1, "active": active, "mixed": block.mixed, "dead": block.dead,
            "freedom": block.layer_pair_freedom(stratum)});
    }
    if question.bases {
        value["flow_bases"] = (0..=fiber.depth()).map(|layer| rows(&flow.basis(layer))).collect();
        value["canonical_weights"] = canonical_weights(stratum.barcode()).iter().map(rows).collect();
        value["product"] = rows(&found.network.product());
    }
    if question.spaces {
        spaces(&mut value, found)?;
    }
    if question.subspaces {
        value["subspaces"] = super::subspaces::value(&found.network, &found.flow)?;
    }
    Ok(value)
}

/// Orthonormal bases, one column per vector, weights in the order `W_1, W_2, ...`, row by row.
fn spaces(value: &mut Value, found: &Inspection) -> anyhow::Result<()> {
    let parameters = found.stratum.fiber().parameter_count();
    if parameters > SPACES {
        bail!(
            "tangent and normal spaces are written for networks of at most {SPACES} weights; this one has {parameters}"
        );
    }
    let space = TangentSpace::new(&found.flow);
    value["tangent"] = rows(&TangentSpace::orthonormal(space.tangents()));
    value["normal_product"] = rows(&TangentSpace::orthonormal(space.normals(NormalKind::Product)));
    value["normal_rank"] = rows(&TangentSpace::orthonormal(space.normals(NormalKind::Rank)));
    Ok(())
}

/// The flow of bases through the layers of the network `model`.
pub fn flow_picture(model: &str, stratum: &Stratum) -> FlowPicture {
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

/// The subspaces of the layers of the network `model`.
pub fn lattice_picture(model: &str, found: &Inspection) -> LatticePicture {
    LatticePicture::of(format!("Subspaces of {model}"), &Subspaces::new(&found.flow))
}

/// The facts for a terminal.
pub fn text(question: &InspectQuestion, found: &Inspection) -> anyhow::Result<String> {
    let Inspection { flow, stratum, .. } = found;
    let fiber = stratum.fiber();
    let mut text = format!("{}: linear network of widths {}\n", question.name, joined(fiber.widths(), ","));
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
            &fiber.widths()[1..fiber.depth()].iter().map(|width| width - fiber.rank()).collect::<Vec<_>>(),
            ","
        )
    );
    let _ = writeln!(
        text,
        "singular values up to {} count as zero; smallest kept {}, largest dropped {}; residual {}",
        significant(flow.threshold(), 2),
        number(flow.smallest_kept()),
        number(flow.largest_dropped()),
        significant(flow.residual(), 2),
    );
    if let Some(exact) = &found.exact {
        let verdict = if exact == stratum.ranks() { "agree" } else { "DIFFER; the exact ones are" };
        let _ = writeln!(text, "exact ranks {verdict}: {:?}", exact.rows());
    }
    for (l, inertia) in found.conserved.inertia(question.tolerance.relative)?.iter().enumerate() {
        let (layer, next) = (l + 1, l + 2);
        let _ = writeln!(
            text,
            "gradient flow keeps rk W{next} >= {} and rk [W{layer} b{layer}] >= {}",
            inertia.positive, inertia.negative
        );
    }
    if question.subspaces {
        text.push_str(&super::subspaces::text(&found.network, &found.flow)?);
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
    value.map_or("none".into(), |value| significant(value, 2))
}
