//! Networks that were built to have a proved property: text and JSON.

use std::path::Path;

use fiberscope::complex::{Generality, IdentifiableNetwork, MaskedRanks, exact_region_bound};
use fiberscope::fiber::Construction;
use fiberscope_core::{Digest, Domain, Interval, Rational, decimal};
use serde_json::{Value, json};

use crate::folds::points_json;

/// What is known of a network that was built to be identified by its function, with the points that prove it.
pub fn value(built: &IdentifiableNetwork, seed: u64) -> Value {
    let [proved, open] = claims(built);
    let masks = match &built.generality {
        Generality::Checked(found) => {
            json!({"checked": found.masks_checked, "complete": found.masks_complete})
        }
        Generality::OneLayer => json!({"checked": 1, "complete": true}),
        Generality::AlmostSure(MaskedRanks { checked, is_complete, .. }) => {
            json!({"checked": checked, "complete": is_complete})
        }
    };
    json!({
        "claim": if built.is_certain() { "certified_identifiable" } else { "identifiable_if_general" },
        "network": Digest::of(&built.network).to_string(),
        "widths": built.network.widths(),
        "domain": built.domain,
        "general": if built.is_certain() { json!(true) } else { Value::Null },
        "masks": masks,
        "transparent": true,
        "proved": proved,
        "almost_sure": open,
        "layers": points_json(&built.paths),
        "seed": seed,
        "attempts": built.attempts,
    })
}

/// What is proved of a network that its function identifies, what holds with probability one, and the files of
/// network and certificate.
pub fn identifiable_text(built: &IdentifiableNetwork, network: &Path, certificate: &Path) -> String {
    let [proved, open] = claims(built);
    let mut text = format!("wrote {}: {}\n", network.display(), identifiable_claim(built));
    proved.iter().for_each(|claim| text += &format!("  proved: {claim}\n"));
    open.iter().for_each(|claim| text += &format!("  not proved, holds with probability one: {claim}\n"));
    text + &format!(
        "wrote {}: one exact point per neuron, from which the paths follow\n",
        certificate.display()
    )
}

/// What is claimed of a network that its function identifies.
pub fn identifiable_claim(built: &IdentifiableNetwork) -> String {
    let place = place(&built.domain, built.network.input_width());
    let among = format!("identified by its function on {place} among general networks of its widths");
    if built.is_certain() { among } else { format!("{among}, if it is general itself") }
}

/// The sentences that are proved, and those that hold with probability one.
pub fn claims(built: &IdentifiableNetwork) -> [Vec<String>; 2] {
    let points = built.paths.points.iter().flatten().flatten().count();
    let mut proved = vec![
        "transparent: in every hidden layer two neurons are nowhere negative together".to_owned(),
        format!(
            "every neuron starts a path of full length in the dependency graph of its layer, by {points} exact points"
        ),
    ];
    let mut open = Vec::new();
    let ranks = |checked: usize, is_complete: bool, proved: &mut Vec<String>, open: &mut Vec<String>| {
        if is_complete && checked == 1 {
            proved.push(
                "general: all masked products have maximal rank, as the rows of W_1 are independent"
                    .to_owned(),
            );
        } else if is_complete {
            proved.push(format!("general: all masked products have maximal rank ({checked} masks, all)"));
        } else {
            open.push(format!(
                "all masked products have maximal rank ({checked} random masks were checked and have it)"
            ));
        }
    };
    match &built.generality {
        Generality::Checked(found) => {
            ranks(found.masks_checked, found.masks_complete, &mut proved, &mut open);
            proved.push(
                "general: on all regions no local optimum of a neuron is 0 and no two functions are proportional"
                    .to_owned(),
            );
            proved.push("the whole complex has the paths, too".to_owned());
        }
        Generality::OneLayer => proved.push(
            "general: the rows of W_1 are independent and no weight of the output is 0, which is all it takes with one hidden layer"
                .to_owned(),
        ),
        Generality::AlmostSure(MaskedRanks { checked, is_complete, .. }) => {
            ranks(*checked, *is_complete, &mut proved, &mut open);
            let bound = decimal::upper(&exact_region_bound(&built.network));
            open.push(format!(
                "no local optimum of a neuron is 0 and no two functions are proportional (up to {bound} regions, not listed)"
            ));
        }
    }
    [proved, open]
}

/// A box in words: short if all sides are the same.
fn place(domain: &Domain, inputs: usize) -> String {
    let sides = domain.sides(inputs);
    let end = |end: &Option<Rational>| end.as_ref().map_or("?".to_owned(), |x| format!("{:?}", x.to_f64()));
    let side = |Interval { lower, upper }: &Interval| format!("[{}, {}]", end(lower), end(upper));
    match sides.first() {
        Some(first) if sides.iter().all(|side| side == first) => {
            let number =
                |end: &Option<Rational>| end.as_ref().map_or("?".to_owned(), |x| x.to_f64().to_string());
            format!("[{}, {}]^{inputs}", number(&first.lower), number(&first.upper))
        }
        _ if inputs <= 4 => sides.iter().map(side).collect::<Vec<_>>().join(" x "),
        _ => "the given box".to_owned(),
    }
}

/// What is proved of a network and its twin, and the files of network, twin and certificate.
pub fn twin_text(built: &Construction, [network, twin, certificate]: &[String; 3]) -> String {
    let mut text = format!("wrote {network}, its twin {twin} and the certificate {certificate}\n");
    built.claims.iter().for_each(|claim| text += &format!("  proved: {claim}\n"));
    text + "  proved: network and twin compute the same function (certificate checked)\n"
}
