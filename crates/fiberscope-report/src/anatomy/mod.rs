//! What a network is: text, JSON, and a section of a page with its drawing.

pub mod diagram;
pub(crate) mod words;

use fiberscope::anatomy::Anatomy;
use fiberscope::limit::Limit;
use fiberscope_core::Network;
use fiberscope_io::Precision;
use serde_json::{Value, json};

use crate::number::grouped;
use crate::page::{Badge, Cell, Section, Table};
use crate::text::Lines;
use crate::words::{answer as word, domain, widths};
use words::Undecided;

/// What the roles of neurons and identifiability rest on.
pub const STATEMENT: &str = "a neuron is dead on the domain if its pre-activation is never positive there and linear if it is never negative; both are proved by interval arithmetic in exact rational numbers, or, for dead neurons behind a ReLU layer, by shares of its negative weights that outweigh each of its positive ones (the move `mute` of certificates). It is called nonlinear if it is proved to be on at one point and off at another; where none of this is proved, it is not decided. A dead or linear neuron, a hidden hyperplane, a neuron without outgoing weights and two neurons on one ray each give parameters with the same function that are no permutation and scaling of the given ones; the converse is known for generic parameters of one hidden layer and of three layers with a bottleneck [threelayer2026, Section 6].";

/// The anatomy of a network.
pub fn text(name: &str, anatomy: &Anatomy) -> String {
    let decided = |holds: Option<bool>, reason: &str| format!("{}: {reason}", word(holds));
    let inputs = anatomy.widths.first().copied().unwrap_or(0);
    let mut out = Lines::titled(name);
    out.fact("widths", &widths(&anatomy.widths));
    out.fact("parameters", &grouped(anatomy.parameters));
    out.fact("sha256", &anatomy.digest.to_string());
    out.fact("domain", &domain(&anatomy.domain, inputs));
    out.fact("bottleneck", &decided(anatomy.bottleneck, &words::bottleneck(anatomy)));
    for (layer, roles) in words::layers(anatomy) {
        out.fact(&layer, &roles);
    }
    out.fact("hidden", &words::hidden(anatomy));
    out.fact("generic", &decided(words::generic(anatomy), &words::generic_reason(anatomy)));
    for condition in &anatomy.conditions {
        let holds = if condition.holds { "holds" } else { "fails" };
        let place = condition.detail.as_ref().map_or(String::new(), |detail| format!(" ({detail})"));
        out.fact("", &format!("{holds}  {}{place}", condition.statement));
    }
    let (answer, reason) = words::identifiable(anatomy);
    out.fact("identifiable", &decided(answer, reason));
    if let Some(Undecided { known, needed, next }) = words::undecided(anatomy) {
        out.fact("known", &known);
        out.fact("needed", &needed);
        out.fact("ask next", &next);
    }
    if let Some(fiber) = words::fiber(anatomy) {
        out.fact("fiber", &fiber);
    }
    out.finish()
}

/// The same for a model that was read, with all keys of `fiberscope info --json`: its name, its precision and
/// the limit that was reached.
pub fn model_value(name: &str, precision: Precision, limit: Option<Limit>, anatomy: &Anatomy) -> Value {
    let mut value = value(anatomy);
    value["model"] = json!(name);
    value["precision"] = json!(precision.name());
    value["limit"] = json!(limit.map(Limit::name));
    value
}

/// The anatomy of a network, with keys of `fiberscope info --json`. What is not decided is `null`;
/// layers and neurons count from 1; `activations` has one entry per layer, the last layer included.
pub fn value(anatomy: &Anatomy) -> Value {
    let neurons = (0..anatomy.roles.len()).map(|layer| {
        let [dead, linear, nonlinear, undecided] = words::role_counts(anatomy, layer);
        json!({
            "layer": layer + 1, "dead": dead, "linear": linear, "nonlinear": nonlinear, "undecided": undecided,
        })
    });
    let conditions = anatomy.conditions.iter().map(|condition| {
        let mut value = json!({"condition": condition.statement, "holds": condition.holds});
        if let Some(detail) = &condition.detail {
            value["detail"] = json!(detail);
        }
        value
    });
    let hides =
        anatomy.hidden.iter().map(|neuron| json!({"layer": neuron.layer + 1, "neuron": neuron.unit + 1}));
    let activations = anatomy.relu.iter().map(|&relu| if relu { "relu" } else { "identity" });
    let (identifiable, reason) = words::identifiable(anatomy);
    json!({
        "widths": anatomy.widths,
        "activations": activations.chain(["identity"]).collect::<Vec<_>>(),
        "parameters": anatomy.parameters,
        "sha256": anatomy.digest.to_string(),
        "domain": anatomy.domain,
        "neurons": neurons.collect::<Vec<_>>(),
        "bottleneck": anatomy.bottleneck,
        "generic": {"holds": words::generic(anatomy), "checked": conditions.collect::<Vec<_>>()},
        "hides": hides.collect::<Vec<_>>(),
        "identifiable": identifiable,
        "reason": reason,
        "needed": words::undecided(anatomy).map(|open| open.needed),
        "fiber_dimension": anatomy.fiber.and_then(|facts| facts.dimension),
        "fiber_generic_dimension": anatomy.fiber.and_then(|facts| facts.generic_dimension),
        "fiber_components": anatomy.fiber.and_then(|facts| facts.components),
    })
}

/// The section for a network: the drawing, a table of facts, and the conditions of genericity.
pub fn section(name: &str, network: &Network, anatomy: &Anatomy) -> Section {
    let drawing = diagram::draw(name, network, anatomy);
    let section = Section::new(name)
        .badge(identifiable(anatomy))
        .figure(drawing, format!("{name}: {}", widths(&anatomy.widths)))
        .table(facts(anatomy));
    if anatomy.conditions.is_empty() { section } else { section.table(conditions(anatomy)) }
}

fn identifiable(anatomy: &Anatomy) -> Badge {
    match words::identifiable(anatomy).0 {
        Some(true) => Badge::good("identifiable"),
        Some(false) => Badge::note("not identifiable"),
        None => Badge::open("identifiability not decided"),
    }
}

fn facts(anatomy: &Anatomy) -> Table {
    let decided = |holds: Option<bool>, reason: &str| Cell::text(format!("{}: {reason}", word(holds)));
    let inputs = anatomy.widths.first().copied().unwrap_or(0);
    let mut table = Table::facts()
        .fact("widths", Cell::text(widths(&anatomy.widths)))
        .fact("parameters", Cell::text(grouped(anatomy.parameters)))
        .fact("domain", Cell::text(domain(&anatomy.domain, inputs)))
        .fact("bottleneck", decided(anatomy.bottleneck, &words::bottleneck(anatomy)));
    for (layer, roles) in words::layers(anatomy) {
        table = table.fact(layer, Cell::text(roles));
    }
    let (answer, reason) = words::identifiable(anatomy);
    if let Some(fiber) = words::fiber(anatomy) {
        table = table.fact("fiber", Cell::text(fiber));
    }
    if let Some(Undecided { known, needed, .. }) = words::undecided(anatomy) {
        table = table.fact("known", Cell::text(known)).fact("needed", Cell::text(needed));
    }
    table
        .fact("hidden hyperplanes", Cell::text(words::hidden(anatomy)))
        .fact("generic", decided(words::generic(anatomy), &words::generic_reason(anatomy)))
        .fact("identifiable", decided(answer, reason))
        .fact("SHA-256", Cell::code(anatomy.digest.to_string()))
}

fn conditions(anatomy: &Anatomy) -> Table {
    let table =
        Table::new(["condition", "holds"]).caption("Conditions of genericity that were checked exactly");
    anatomy.conditions.iter().fold(table, |table, condition| {
        let badge = if condition.holds { Badge::good("holds") } else { Badge::bad("fails") };
        let detail = condition.detail.clone().unwrap_or_default();
        table.row([Cell::text(&condition.statement), Cell::Status(badge, detail)])
    })
}
