//! The facts of an anatomy in words.

use fiberscope::anatomy::Anatomy;
use fiberscope::fiber::Identifiability;
use fiberscope_core::Role;

use crate::number::grouped;
use crate::words::{LAYERS, enumeration, plural};

/// Why the network has a bottleneck or not.
pub fn bottleneck(anatomy: &Anatomy) -> String {
    let rank = anatomy.first_rank;
    match (anatomy.bottleneck, anatomy.widths.as_slice()) {
        (Some(true), _) => format!("W_1 has full row rank {}", rank.lower),
        (Some(false), [_, _] | [_] | []) => "there is no hidden layer".into(),
        (Some(false), [inputs, first, ..]) if inputs < first => {
            format!("layer 1 is wider ({first}) than the input ({inputs})")
        }
        (Some(false), [_, first, ..]) => format!("W_1 has rank at most {}, not {first}", rank.upper),
        (None, _) => format!("the rank of W_1 lies between {} and {}", rank.lower, rank.upper),
    }
}

/// The numbers of dead, linear and nonlinear neurons of a hidden layer, and of those of which that is not decided.
pub fn role_counts(anatomy: &Anatomy, layer: usize) -> [usize; 4] {
    let [dead, linear, others] = [Role::Dead, Role::Linear, Role::Nonlinear]
        .map(|wanted| anatomy.roles[layer].iter().filter(|&&role| role == wanted).count());
    let undecided = anatomy.undecided.iter().filter(|neuron| neuron.layer == layer).count();
    [dead, linear, others - undecided, undecided]
}

/// The name of every hidden layer and what its neurons do; cut in the middle if there are many.
pub fn layers(anatomy: &Anatomy) -> Vec<(String, String)> {
    let count = anatomy.roles.len();
    let one = |layer: usize| (format!("layer {}", layer + 1), layer_roles(anatomy, layer));
    if count <= LAYERS {
        return (0..count).map(one).collect();
    }
    let left_out = ("...".into(), format!("{} layers left out", count - (LAYERS - 1)));
    (0..LAYERS - 2).map(one).chain([left_out, one(count - 1)]).collect()
}

fn layer_roles(anatomy: &Anatomy, layer: usize) -> String {
    let names = ["dead", "linear", "nonlinear", "not decided"];
    let counts = role_counts(anatomy, layer).into_iter().zip(names).filter(|(count, _)| *count > 0);
    let roles: Vec<_> = counts.map(|(count, name)| format!("{} {name}", grouped(count))).collect();
    let relu = anatomy.relu.get(layer).copied().unwrap_or(true);
    format!("{}{}", roles.join(", "), if relu { "" } else { " (identity activation)" })
}

/// The neurons whose hyperplane is hidden.
pub fn hidden(anatomy: &Anatomy) -> String {
    let neurons: Vec<_> = anatomy.hidden.iter().map(|neuron| neuron.to_string()).collect();
    if neurons.is_empty() { "none".into() } else { enumeration(&neurons) }
}

/// Whether the parameters are generic: a failing condition decides; conditions that hold do where the
/// description of the fiber uses no others.
pub fn generic(anatomy: &Anatomy) -> Option<bool> {
    match anatomy.conditions.iter().all(|condition| condition.holds) {
        true => anatomy.fiber.map(|_| true),
        false => Some(false),
    }
}

/// What is known of genericity.
pub fn generic_reason(anatomy: &Anatomy) -> String {
    let count = anatomy.conditions.len();
    match anatomy.conditions.iter().filter(|condition| !condition.holds).count() {
        0 if anatomy.fiber.is_some() => {
            format!(
                "the {count} conditions that the description of the fiber uses hold; the full check is exponential"
            )
        }
        0 => format!("the {count} conditions that were checked hold; the full check is exponential"),
        failing => format!(
            "{failing} of the {count} conditions that were checked {}",
            plural(failing, "fails", "fail")
        ),
    }
}

/// Whether the network is identifiable, and why.
pub fn identifiable(anatomy: &Anatomy) -> (Option<bool>, &str) {
    match &anatomy.identifiability {
        Identifiability::Yes { reason } => (Some(true), reason),
        Identifiability::No { reason } => (Some(false), reason),
        Identifiability::Unknown { reason } => (None, reason),
    }
}

/// The dimension and the components of the fiber, where they are known.
pub fn fiber(anatomy: &Anatomy) -> Option<String> {
    let facts = anatomy.fiber?;
    let pieces = match facts.components {
        Some(0) => return Some("no parameter of these widths has one neuron on each visible hyperplane, the others linear or dead".into()),
        Some(1) => "1 piece with points".into(),
        Some(count) => format!("{count} pieces with points"),
        None => "more pieces than were gone through".into(),
    };
    let dimension = match (facts.dimension, facts.own_dimension) {
        (Some(dimension), _) => format!("dimension {dimension}"),
        (None, Some(own)) => format!("dimension at least {own}"),
        (None, None) => return Some(pieces),
    };
    Some(format!("{dimension} modulo permutation and scaling, {pieces}"))
}

/// Where identifiability is not decided: what is known all the same, how far the network is from what is decided,
/// and what to ask next.
pub struct Undecided {
    /// What is known, in numbers.
    pub known: String,
    /// What the theory needs and this network lacks.
    pub needed: String,
    /// Commands that tell more.
    pub next: String,
}

/// What can be said where identifiability is not decided; `None` where it is.
pub fn undecided(anatomy: &Anatomy) -> Option<Undecided> {
    if identifiable(anatomy).0.is_some() {
        return None;
    }
    let scaled: usize = anatomy
        .roles
        .iter()
        .zip(&anatomy.relu)
        .filter(|(_, relu)| **relu)
        .map(|(roles, _)| roles.len())
        .sum();
    let parameters = anatomy.parameters;
    let known = format!(
        "each of the {} ReLU neurons can be scaled, so at least {} of the {} dimensions of the parameters keep the function, and it fixes at most {}",
        grouped(scaled),
        grouped(scaled),
        grouped(parameters),
        grouped(parameters.saturating_sub(scaled))
    );
    let next = "`fiberscope fiber MODEL` bounds the dimension of all parameters with this function from both sides; \
                `fiberscope folds MODEL --box LO,HI` proves identifiability among general networks where it can; \
                `fiberscope equiv` compares with another network";
    Some(Undecided { known, needed: needed(anatomy), next: next.into() })
}

/// How far the network is from those that are decided.
fn needed(anatomy: &Anatomy) -> String {
    let hidden = anatomy.roles.len();
    let mut lacks = Vec::new();
    if anatomy.domain != fiberscope_core::Domain::Space {
        lacks.push("the question was asked on a box".to_owned());
    }
    if hidden > 2 {
        lacks.push(format!("{hidden} hidden layers are {} too many", hidden - 2));
    }
    if let [inputs, first, ..] = anatomy.widths[..]
        && hidden == 2
        && first > inputs
    {
        lacks.push(format!("layer 1 has {first} neurons for {inputs} inputs, {} too many", first - inputs));
    } else if anatomy.bottleneck == Some(false) && hidden == 2 {
        lacks.push(bottleneck(anatomy));
    }
    for condition in anatomy.conditions.iter().filter(|condition| !condition.holds) {
        let place = condition.detail.as_ref().map_or(String::new(), |detail| format!(" ({detail})"));
        lacks.push(format!("it fails that {}{place}", condition.statement));
    }
    let rule = "decided are generic networks on the whole space with one hidden layer, or with two if layer 1 is not wider than the input and its rows are independent";
    match lacks.is_empty() {
        true => rule.into(),
        false => format!("{rule}; here {}", lacks.join("; ")),
    }
}
