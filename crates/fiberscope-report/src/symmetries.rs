//! Hidden symmetries: text, JSON, and the files of the ends of paths.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use fiberscope::symmetries::{HiddenSymmetries, HiddenSymmetry, Mechanism, Parameter, Proof};
use fiberscope_core::{Certificate, Domain, Network, Neuron};
use fiberscope_io::{Precision, save, write_atomically};
use serde_json::{Value, json};

use crate::json::upper;
use crate::number::{grouped, short};
use crate::rigidity::sentence;
use crate::text::Lines;
use crate::words::{domain as place, enumeration, plural};

/// Where the end of a path was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndFiles {
    /// The network.
    pub network: String,
    /// The certificate that compares it with the given network, if there is one.
    pub certificate: Option<String>,
}

/// Writes the certificate of the rank and the ends with their certificates into a folder; the files of each symmetry.
pub fn write(found: &HiddenSymmetries, folder: &Path) -> anyhow::Result<Vec<Option<EndFiles>>> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let text = |name: &str, certificate: &Certificate| -> anyhow::Result<String> {
        let path = folder.join(name);
        let json = certificate.to_json();
        write_atomically(&path, |file| file.write_all(json.as_bytes()))?;
        Ok(path.display().to_string())
    };
    if let Some(certificate) = &found.rigidity.certificate {
        text("rank.json", certificate)?;
    }
    let one = |(at, symmetry): (usize, &HiddenSymmetry)| {
        let Some(end) = &symmetry.end else { return Ok(None) };
        let path = folder.join(format!("end-{:03}.json", at + 1));
        save(&end.network, &path, Precision::F64)?;
        let certificate = certificate(&end.proof)
            .map(|certificate| text(&format!("end-{:03}-certificate.json", at + 1), certificate));
        Ok(Some(EndFiles { network: path.display().to_string(), certificate: certificate.transpose()? }))
    };
    found.found.iter().enumerate().map(one).collect()
}

/// The certificate of an end, if it has one.
pub fn certificate(proof: &Proof) -> Option<&Certificate> {
    match proof {
        Proof::Equal { certificate, .. } | Proof::Within { certificate, .. } => Some(certificate),
        _ => None,
    }
}

/// What was found, in words. `files` are those of the ends, if they were written.
pub fn text(
    name: &str,
    network: &Network,
    domain: &Domain,
    found: &HiddenSymmetries,
    files: &[Option<EndFiles>],
) -> String {
    let inputs = network.input_width();
    let mut out = Lines::titled(name);
    out.fact("rank", &sentence(&found.rigidity));
    if found.rigidity.is_proved() {
        out.fact("symmetries", "none beyond permutations and scalings near the parameters");
        return out.finish();
    }
    if found.certain > 0 {
        let (certain, are) =
            (grouped(found.certain), plural(found.certain, "is a symmetry", "are symmetries"));
        out.fact("", &format!("at least {certain} of them {are}, by the signs of the numbers"));
    }
    let all = if found.complete {
        format!("all of them on {}", place(domain, inputs))
    } else {
        "not all there are: those of the points that were found".into()
    };
    out.fact("regions", &format!("{}, {all}", grouped(found.regions)));
    if found.learned > 0 {
        let learned = found.learned;
        let points = plural(learned, "input", "inputs");
        out.fact("", &format!("{learned} {points} at the ends of paths showed new regions"));
    }
    let Some(gap) = found.gap else {
        out.fact("kernel", "not computed: a limit came first");
        return out.finish();
    };
    let dimensions = plural(gap, "dimension", "dimensions");
    let keep = plural(gap, "keeps", "keep");
    out.fact(
        "kernel",
        &format!(
            "{} {dimensions} beyond scalings {keep} the outputs of these regions to first order",
            grouped(gap)
        ),
    );
    for (at, symmetry) in found.found.iter().enumerate() {
        let count = symmetry.dimensions;
        let count = format!("{count} {}", plural(count, "dimension", "dimensions"));
        out.fact(
            symmetry.mechanism.name(),
            &format!("{count}: {}", reason(network, symmetry, found.complete)),
        );
        if let Some(end) = end_text(symmetry, domain, inputs, files.get(at).and_then(Option::as_ref), found) {
            out.fact("", &end);
        }
    }
    let explained: Vec<String> = Mechanism::ALL
        .into_iter()
        .map(|mechanism| (mechanism.name(), found.explained_by(mechanism)))
        .filter(|(_, dimensions)| *dimensions > 0)
        .map(|(name, dimensions)| format!("{name} {dimensions}"))
        .collect();
    if !explained.is_empty() {
        out.fact("together", &explained.join(", "));
    }
    out.finish()
}

/// A neuron; those of the last layer are outputs.
fn called(network: &Network, neuron: Neuron) -> String {
    match neuron.layer == network.hidden_depth() {
        true => format!("output {}", neuron.unit + 1),
        false => neuron.to_string(),
    }
}

/// What lets the parameters move; of a list of regions that is not complete, there.
fn reason(network: &Network, symmetry: &HiddenSymmetry, complete: bool) -> String {
    let why = why(network, symmetry);
    if complete { why } else { format!("in these regions, {why}") }
}

/// What lets the parameters move in the regions of the list.
fn why(network: &Network, symmetry: &HiddenSymmetry) -> String {
    let names: Vec<String> = symmetry.neurons.iter().map(|&neuron| called(network, neuron)).collect();
    let first = names.first().map_or("", String::as_str);
    let pair = names.get(1).map(String::as_str);
    match (symmetry.mechanism, pair) {
        (Mechanism::Dead, _) => {
            format!("{first} is never on: its weights, its bias and its outgoing weights are free")
        }
        (Mechanism::Unseen, _) => {
            format!("no output depends on {first} where it is on: its weights and its bias are free")
        }
        (Mechanism::Idle, _) => {
            let inputs: Vec<String> = symmetry
                .directions
                .iter()
                .flatten()
                .map(|(parameter, _)| (parameter.input + 1).to_string())
                .collect();
            let (weights, inputs) = (
                plural(inputs.len(), "the weight from neuron", "the weights from neurons"),
                enumeration(&inputs),
            );
            format!("{first}: free, as the input is off wherever the neuron counts: {weights} {inputs}")
        }
        (Mechanism::Linear, None) => {
            format!("{first} is always on: its bias can move into the next layer")
        }
        (Mechanism::Linear, Some(second)) => {
            format!("{first} and {second} are always on: the first can take up a multiple of the second")
        }
        (Mechanism::Hidden, _) => format!(
            "{first} is on wherever an output depends on it: its bend is seen nowhere, and its bias can move into the next layer"
        ),
        (Mechanism::Twins, Some(second)) => format!(
            "wherever an output depends on {first}, it is on if and only if {second} is: it can take up a multiple of the other"
        ),
        (Mechanism::Proportional, Some(second)) => {
            format!("{first} and {second} are positive multiples of each other and share outgoing weights")
        }
        (Mechanism::Dependent, _) => format!(
            "{first}: what it reads satisfies a linear equation wherever it counts; a multiple of the equation can be added to its row"
        ),
        (Mechanism::Balanced, _) => {
            let moved = symmetry.directions.iter().flatten().next().map(|(parameter, _)| *parameter);
            let from = moved.map_or_else(String::new, |parameter| source(network, parameter));
            format!("changes of {from} cancel on their way to the outputs: those of {}", enumeration(&names))
        }
        _ => format!(
            "the rows of {} move together; no mechanism of the catalogue does that",
            enumeration(&names)
        ),
    }
}

/// What a weight comes from.
fn source(network: &Network, parameter: Parameter) -> String {
    let layer = parameter.neuron.layer;
    match parameter.input == network.layers()[layer].input_width() {
        true => "biases".into(),
        false if layer == 0 => format!("the weights from input {}", parameter.input + 1),
        false => format!("the weights from {}", Neuron { layer: layer - 1, unit: parameter.input }),
    }
}

fn end_text(
    symmetry: &HiddenSymmetry,
    domain: &Domain,
    inputs: usize,
    files: Option<&EndFiles>,
    found: &HiddenSymmetries,
) -> Option<String> {
    let Some(end) = &symmetry.end else {
        let limit = found.limit.is_some();
        let differs = "no end of a path: at every step that was tried the function is another";
        return (found.followed && !limit).then(|| differs.into());
    };
    let network = files.map_or("a network along it", |files| &files.network);
    let certificate = match files.and_then(|files| files.certificate.as_ref()) {
        Some(file) => format!("certificate {file}"),
        None => "certificate checked".into(),
    };
    Some(match &end.proof {
        Proof::Equal { method, .. } => {
            let place = place(domain, inputs);
            format!("{network} computes the same function on {place}: proved by {method} ({certificate})")
        }
        Proof::Within { bound, domain, .. } => {
            let (place, bound) = (place(domain, inputs), short(bound));
            format!(
                "{network}, rounded: its outputs differ by at most {bound} on {place}: proved ({certificate})"
            )
        }
        _ => format!("{network}: whether it computes the same function was not decided within the limits"),
    })
}

/// The same with the keys of `--json`.
pub fn value(
    network: &Network,
    domain: &Domain,
    found: &HiddenSymmetries,
    files: &[Option<EndFiles>],
) -> Value {
    let inputs = network.input_width();
    let neuron = |neuron: &Neuron| json!({"layer": neuron.layer + 1, "neuron": neuron.unit + 1});
    let parameter = |parameter: &Parameter| {
        let bias = parameter.input == network.layers()[parameter.neuron.layer].input_width();
        let input = if bias { Value::Null } else { json!(parameter.input + 1) };
        json!({"layer": parameter.neuron.layer + 1, "neuron": parameter.neuron.unit + 1, "input": input})
    };
    let entry = |(p, speed): &(Parameter, fiberscope_core::Rational)| {
        let mut entry = parameter(p);
        entry["speed"] = json!(speed.to_f64());
        entry
    };
    let symmetry = |(at, symmetry): (usize, &HiddenSymmetry)| {
        let files = files.get(at).and_then(Option::as_ref);
        let end = symmetry.end.as_ref().map(|end| {
            let (verdict, method, bound, on) = match &end.proof {
                Proof::Equal { method, .. } => {
                    ("equivalent", json!(method.name()), Value::Null, Some(domain))
                }
                Proof::Within { bound, domain, .. } => ("within", Value::Null, upper(bound), Some(domain)),
                _ => ("undecided", Value::Null, Value::Null, None),
            };
            json!({
                "verdict": verdict, "method": method, "bound": bound, "step": end.step,
                "domain": on.map(|on| place(on, inputs)),
                "file": files.map(|files| &files.network),
                "certificate": files.and_then(|files| files.certificate.as_ref()),
            })
        });
        let directions = symmetry.directions.iter().map(|one| one.iter().map(entry).collect::<Vec<_>>());
        json!({
            "mechanism": symmetry.mechanism.name(),
            "neurons": symmetry.neurons.iter().map(neuron).collect::<Vec<_>>(),
            "dimensions": symmetry.dimensions,
            "reason": reason(network, symmetry, found.complete),
            "directions": directions.collect::<Vec<_>>(),
            "end": end,
        })
    };
    let explained =
        Mechanism::ALL.into_iter().map(|each| (each.name().to_owned(), json!(found.explained_by(each))));
    json!({
        "parameters": found.rigidity.parameters,
        "scalings": found.scalings,
        "rank": {"proved": found.rigidity.rank, "unexplained": {"least": found.certain, "most": found.rigidity.unexplained()}},
        "regions": {"count": found.regions, "complete": found.complete, "learned": found.learned},
        "gap": found.gap,
        "symmetries": found.found.iter().enumerate().map(symmetry).collect::<Vec<_>>(),
        "explained": explained.collect::<serde_json::Map<_, _>>(),
        "limit": found.limit.map(|limit| limit.name()),
    })
}
