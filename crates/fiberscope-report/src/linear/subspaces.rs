//! The subspaces `A_kji`, `B_kji` and their prebases, as text and JSON.

use std::fmt::Write;

use anyhow::bail;
use fiberscope::linear::{Family, FlowBases, LinearNetwork, SubspaceDefects, Subspaces};
use serde_json::{Value, json};

use super::rows;
use crate::number::significant_upper;

/// The most numbers in the bases that JSON holds.
const NUMBERS: usize = 1 << 20;
/// The most subspaces times the cube of the largest width: below a minute.
const WORK: f64 = 1e9;

/// Refuses networks whose subspaces are too many, or too large.
fn check(subspaces: &Subspaces<'_>, widths: &[usize]) -> anyhow::Result<()> {
    let width = widths.iter().copied().max().unwrap_or(0);
    let layers = subspaces.depth() as f64 + 1.0;
    if layers * (layers + 1.0) * (layers + 2.0) / 6.0 * (width as f64).powi(3) > WORK {
        bail!(
            "the subspaces of {} matrices with widths up to {width} take too long; --layers looks at some of the matrices",
            subspaces.depth()
        );
    }
    Ok(())
}

/// The tables of dimensions, and what was checked, for a terminal.
pub(super) fn text(network: &LinearNetwork, flow: &FlowBases) -> anyhow::Result<String> {
    let subspaces = Subspaces::new(flow);
    let widths = network.widths();
    check(&subspaces, &widths)?;
    let depth = subspaces.depth();
    let mut text = String::from(
        "subspaces, dim A_kji / dim B_kji / omega_ki: rows k, columns i\n\
         A: from layer i, lost by layer k+1; B: seen by layer k, not there before layer i; omega: the prebases\n",
    );
    for (j, width) in widths.iter().enumerate() {
        let _ = writeln!(text, "layer j = {j}, width {width}");
        let cell = |k: usize, i: usize| {
            let [a, b] =
                [Family::Forward, Family::Backward].map(|family| subspaces.dimension(family, k, j, i));
            format!("{a}/{b}/{}", subspaces.multiplicity(k, i))
        };
        let wide =
            (j..=depth).flat_map(|k| (0..=j).map(move |i| (k, i))).map(|(k, i)| cell(k, i).len()).max();
        let wide = wide.unwrap_or(0).max(4);
        for k in (j..=depth).rev() {
            let cells: Vec<String> = (0..=j).map(|i| format!("{:>wide$}", cell(k, i))).collect();
            let _ = writeln!(text, "  k = {k:<2} | {}", cells.join("  "));
        }
        let heads: Vec<String> = (0..=j).map(|i| format!("{:>wide$}", format!("i={i}"))).collect();
        let _ = writeln!(text, "           {}", heads.join("  "));
    }
    let SubspaceDefects { definition, lemma, instances, condition } = subspaces.defects(network)?;
    let _ = writeln!(
        text,
        "spanned by flow bases: off their definition by at most {}, off Lemma 1 by a sine of at most {} in its {instances} one-step instances (the others are compositions)",
        significant_upper(definition, 2),
        significant_upper(lemma, 2)
    );
    let _ = writeln!(
        text,
        "the prebases of a layer add up to the whole layer: condition number of the bases at most {}",
        significant_upper(condition, 2)
    );
    Ok(text)
}

/// The same with bases: orthonormal ones of the subspaces, flow and standard ones of the prebases.
pub(super) fn value(network: &LinearNetwork, flow: &FlowBases) -> anyhow::Result<Value> {
    let subspaces = Subspaces::new(flow);
    let widths = network.widths();
    check(&subspaces, &widths)?;
    let families = [Family::Forward, Family::Backward];
    let sizes = subspaces.indices().flat_map(|(k, j, i)| families.map(|family| (family, k, j, i)));
    let total: usize = sizes.map(|(family, k, j, i)| widths[j] * subspaces.dimension(family, k, j, i)).sum();
    if total > NUMBERS {
        bail!("the bases of all subspaces are {total} numbers, more than the {NUMBERS} that are written");
    }
    let family = |family: Family| -> Vec<Value> {
        let one = |(k, j, i): (usize, usize, usize)| {
            let mut one = json!({
                "k": k, "j": j, "i": i, "dim": subspaces.dimension(family, k, j, i),
                "basis": rows(&subspaces.basis(family, k, j, i)), "prebasis_dim": subspaces.multiplicity(k, i),
            });
            if subspaces.multiplicity(k, i) > 0 {
                one["flow_prebasis"] = rows(&subspaces.flow_prebasis(family, k, j, i));
                one["standard_prebasis"] = rows(&subspaces.standard_prebasis(family, k, j, i));
            }
            one
        };
        subspaces.indices().map(one).collect()
    };
    let defects = subspaces.defects(network)?;
    Ok(json!({
        "A": family(Family::Forward),
        "B": family(Family::Backward),
        "definition_defect": defects.definition,
        "lemma_1": {"one_step_instances": defects.instances, "largest_sine": defects.lemma},
        "largest_condition": defects.condition,
    }))
}
