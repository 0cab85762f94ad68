//! The description of a fiber as data for reports.

use std::time::Duration;

use super::{ClassRow, ComponentRow, Equations, FiberSummary, HiddenRow};
use fiberscope::anatomy::outweighed_neurons;
use fiberscope::dimension::DimensionOptions;
use fiberscope::fiber::Condition;
use fiberscope::fiber::{
    Class, DeeperFacts, Existence, Fiber, FiberComponent, FiberCount, GeneralFiber, Ground, LayerFiber,
    Membership, Orientation, Rest, Symmetry, describe, local_dimension, symmetries_beside,
};
use fiberscope::limit::Deadline;
use fiberscope::rigidity::{RigidityOptions, rigidity};
use fiberscope_core::{Domain, Network, Neuron};
use serde_json::{Value, json};

use crate::Say;

/// Equations with numbers are written for at most this many inputs, outputs and hyperplanes.
const SMALL: usize = 8;
/// Chains of folds, and a proof of local identifiability, are not looked for any longer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The local dimension is computed for at most this many parameters.
const LOCAL: usize = 6_000;

/// A network, its fiber if the theory covers it, and where it is considered.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The network's name.
    pub name: String,
    /// The network.
    pub network: Network,
    /// Where it is considered.
    pub ground: Ground,
    /// Its fiber, or the conditions of which one fails.
    pub fiber: Result<Fiber, Vec<Condition>>,
    /// When to stop.
    pub deadline: Deadline,
    /// The seed.
    pub seed: u64,
}

impl Subject {
    /// The subject for a network.
    pub fn new(name: String, network: Network, ground: Ground, deadline: Deadline, seed: u64) -> Self {
        let fiber = describe(&network.to_exact(), ground);
        Subject { name, network, ground, fiber, deadline, seed }
    }

    /// The inputs on which the network is considered.
    pub fn domain(&self) -> Domain {
        match self.ground {
            Ground::Space => Domain::Space,
            Ground::Orthant => Domain::orthant(self.network.input_width()),
        }
    }

    /// The conditions that keep the theory from covering the network, each with what fails.
    pub fn failing(&self) -> Vec<String> {
        let conditions = self.fiber.as_ref().err().map_or(&[][..], Vec::as_slice);
        conditions
            .iter()
            .filter(|condition| !condition.holds)
            .map(|condition| {
                format!("{}: {}", condition.statement, condition.detail.as_deref().unwrap_or("fails"))
            })
            .collect()
    }
}

impl Subject {
    /// That the theory does not cover the network, and why, as text.
    pub fn not_covered_text(&self) -> String {
        format!(
            "undecided: the theory of generic fibers does not cover {}\n{}",
            self.name,
            self.failing().iter().map(|line| format!("  fails: {line}\n")).collect::<String>()
        )
    }
}

/// What is listed.
#[derive(Clone, Copy, Debug)]
pub struct Listing {
    /// At most this many components.
    pub components: usize,
    /// Also so many classes of the fiber without any assumption.
    pub classes: Option<usize>,
}

/// Describes a fiber.
pub fn summary(subject: &Subject, listing: Listing, say: Say) -> anyhow::Result<FiberSummary> {
    let network = &subject.network;
    let dead = outweighed_neurons(network, &subject.domain(), &subject.deadline);
    let known = symmetries_beside(&network.to_exact(), &subject.domain(), &dead);
    let mut summary = FiberSummary {
        name: subject.name.clone(),
        widths: network.widths(),
        parameters: network.parameter_count(),
        lower_bound: known.dimension,
        scalings: known.scalings,
        symmetries: known.symmetries.iter().filter_map(sentence).collect(),
        ..FiberSummary::default()
    };
    if subject.ground == Ground::Space && network.parameter_count() <= LOCAL && !subject.deadline.is_past() {
        say("functional dimension");
        let options = DimensionOptions::new().seed(subject.seed).deadline(subject.deadline.clone());
        let local = local_dimension(network, 20_000, 10_000, &options);
        summary.local = Some((local.dimension, local.complete));
        say("local identifiability");
        let limit = subject.deadline.at_most(PATIENCE);
        let options = RigidityOptions::new().seed(subject.seed).deadline(limit);
        summary.rigidity = rigidity(network, &subject.domain(), &options).ok();
        let proved = summary.rigidity.as_ref().filter(|found| found.certificate.is_some());
        let upper = proved.map_or(local.dimension, |found| found.parameters - found.rank);
        if upper < local.dimension {
            summary.local = Some((upper, false));
        }
    }
    match &subject.fiber {
        Err(conditions) => {
            summary.conditions.clone_from(conditions);
            if subject.ground == Ground::Space && network.hidden_depth() > 2 && !subject.deadline.is_past() {
                say("chains of folds");
                summary.deeper =
                    Some(DeeperFacts::new(&network.to_exact(), &subject.deadline.at_most(PATIENCE)));
            }
        }
        Ok(fiber) => covered(subject, fiber, listing.components, say, &mut summary),
    }
    if let Some(count) = listing.classes {
        summary.classes = classes(subject, count)?;
    }
    Ok(summary)
}

/// Whether the network `other` lies in the fiber of a subject, as text.
pub fn membership_text(other: &str, subject: &Subject, found: &Membership) -> String {
    let name = &subject.name;
    match found {
        Membership::Member(piece) => format!("{other} lies in the fiber of {name}, in the piece {piece}\n"),
        Membership::Elsewhere(violation) => {
            format!("{other} lies in the fiber of {name}, in none of its pieces\n  {violation}\n")
        }
        Membership::Outside(violation) => {
            format!("{other} does not lie in the generic fiber of {name}\n  {violation}\n")
        }
    }
}

/// Whether a network lies in a fiber: `member`, the `orientation` and the number of `linear` neurons of its
/// piece, or the `reason` why it lies in none.
pub fn membership(found: &Membership) -> Value {
    let (member, piece, reason) = match found {
        Membership::Member(piece) => (true, Some(piece), None),
        Membership::Elsewhere(violation) => (true, None, Some(violation)),
        Membership::Outside(violation) => (false, None, Some(violation)),
    };
    json!({
        "member": member,
        "orientation": piece.map(|piece| piece.orientation.to_string()),
        "linear": piece.map(|piece| piece.linear),
        "reason": reason.map(ToString::to_string),
    })
}

fn covered(subject: &Subject, fiber: &Fiber, listed: usize, say: Say, summary: &mut FiberSummary) {
    summary.conditions = fiber.conditions().to_vec();
    summary.exponent = fiber.component_exponent();
    match fiber.own() {
        Ok(own) => summary.own = fiber.component(&own).map(|component| row(&component)),
        Err(violation) => summary.apart = Some(violation.to_string()),
    }
    summary.components = fiber
        .components()
        .take(listed)
        .take_while(|_| !subject.deadline.is_past())
        .map(|component| row(&component))
        .collect();
    say("components");
    let facts = fiber.facts();
    let count = fiber.count();
    summary.dimension = facts.dimension;
    summary.generic_dimension = facts.generic_dimension;
    summary.nonempty = facts.components;
    summary.pieces = count.map(|count| count.pieces);
    summary.generic = count.and_then(|count| count.generic);
    summary.case = Some(case(fiber, count));
    if let Fiber::Bottleneck(inner) = fiber
        && let Some(hidden) = inner.hidden()
    {
        let neuron = Neuron { layer: 0, unit: hidden.unit };
        summary.hidden = Some(HiddenRow { neuron, least: hidden.least.clone(), flips: inner.flips() });
    }
    summary.equations = fiber.layer().filter(|layer| is_small(layer)).map(equations);
}

fn is_small(layer: &LayerFiber) -> bool {
    layer.inputs().max(layer.outputs()).max(layer.hyperplanes().len()) <= SMALL
}

fn equations(layer: &LayerFiber) -> Equations {
    let all = Orientation::new(vec![true; layer.hyperplanes().len()]);
    let shown = layer.own().map_or(all, |own| own.orientation);
    let (matrix, constant) = layer.affine_rest(&shown);
    let hyperplane =
        |h: &fiberscope::fiber::OrientedHyperplane| (h.normal.clone(), h.offset.clone(), h.weight.clone());
    Equations {
        orthant: layer.ground() == Ground::Orthant,
        base: layer.base().to_vec(),
        hyperplanes: layer.hyperplanes().iter().map(hyperplane).collect(),
        others: layer.others(),
        shown: shown.to_string(),
        matrix,
        constant,
    }
}

fn case(fiber: &Fiber, count: Option<FiberCount>) -> String {
    let which = match count {
        Some(count) if count.nonempty > 0 && count.generic == Some(0) => {
            "parameters that are not generic (no generic one has the function)"
        }
        Some(count) if count.generic == Some(count.nonempty) => "all generic parameters",
        Some(count) if count.generic.is_some() => "all generic parameters, and others that are not generic",
        _ => "all generic parameters, perhaps with others",
    };
    let roles = |layer: &LayerFiber| {
        let visible = match layer.hyperplanes().len() {
            1 => "1 visible hyperplane".into(),
            count => format!("{count} visible hyperplanes"),
        };
        match layer.others() {
            0 => visible,
            1 => format!("{visible}, 1 other neuron"),
            others => format!("{visible}, {others} other neurons"),
        }
    };
    match fiber {
        Fiber::OneHiddenLayer(layer) => {
            let ground = if layer.ground() == Ground::Space { "R^" } else { "the orthant of R^" };
            format!("{which}: one hidden layer on {ground}{} ({})", layer.inputs(), roles(layer))
        }
        Fiber::Bottleneck(inner) => match inner.rest() {
            Rest::Layerwise(layer) => format!(
                "{which}: layer 1 is fixed; layers 2 and 3 are a map with one hidden layer on the orthant of R^{} ({})",
                layer.inputs(),
                roles(layer)
            ),
            Rest::Hiding(hidden) => {
                let flips = if hidden.flips { " of all flips" } else { "" };
                let dead = match inner.dead().len() {
                    0 => String::new(),
                    1 => "; 1 dead neuron is free".into(),
                    count => format!("; {count} dead neurons are free"),
                };
                let hides = match fiber.own() {
                    Ok(_) => "layer 2 hides",
                    Err(_) => "layer 2 of networks with this function hides",
                };
                // Parameters with the first layer of one of these and more linear neurons are not listed.
                format!(
                    "{}: {hides} neuron {} of layer 1; the translations{flips} (half-lines){dead}",
                    if count.is_some_and(|count| count.generic == Some(0)) {
                        which
                    } else {
                        "all generic parameters"
                    },
                    hidden.unit + 1
                )
            }
        },
    }
}

fn row(component: &FiberComponent) -> ComponentRow {
    let (rank, linear) = (component.rank, component.linear);
    let reason = match &component.existence {
        Existence::NothingToAbsorb => "M_S = 0".into(),
        Existence::Translations => "translations of the hidden hyperplane".into(),
        Existence::AsManyAsInputs => format!("rank M_S = {rank}, and as many linear neurons as inputs"),
        Existence::MoreThanOutputs => format!("rank M_S = {rank}, and more linear neurons than outputs"),
        Existence::PointedCone(_) => format!("rank M_S = {rank}, and its columns span a pointed cone"),
        Existence::RankTooLarge => format!("rank M_S = {rank} asks for {linear} linear neurons"),
        Existence::NotPointed(multipliers) => {
            let used: Vec<String> =
                (1..).zip(multipliers).filter(|(_, x)| !x.is_zero()).map(|(j, _)| j.to_string()).collect();
            format!(
                "rank M_S = {rank}, but a positive combination of its columns {} vanishes",
                used.join(", ")
            )
        }
    };
    ComponentRow {
        orientation: component.orientation.to_string(),
        linear,
        dead: component.dead,
        generic: component.generic,
        empty: component.is_empty(),
        dimension: component.dimension,
        reason,
    }
}

/// The first classes of the general fiber.
fn classes(subject: &Subject, count: usize) -> anyhow::Result<Vec<ClassRow>> {
    let network = subject.network.to_exact();
    let (hidden, output, ground) = match network.layers() {
        [hidden, output] => (hidden, output, subject.ground),
        [_, hidden, output] => (hidden, output, Ground::Orthant),
        _ => anyhow::bail!("--classes: expected one or two hidden layers, found {}", network.hidden_depth()),
    };
    let fiber = GeneralFiber::new(hidden, output, ground, hidden.width());
    let row = |class: Class| ClassRow {
        name: class_name(&class),
        empty: fiber.point(&class).ok().map(|point| point.is_none()),
        constraints: class.constraints(ground),
    };
    Ok(fiber.classes().take_while(|_| !subject.deadline.is_past()).take(count).map(row).collect())
}

fn class_name(class: &Class) -> String {
    let pair = |(plus, minus): &(usize, usize)| format!("{plus}+{minus}-");
    let mut parts: Vec<String> =
        class.visible.iter().enumerate().map(|(i, counts)| format!("H_{} {}", i + 1, pair(counts))).collect();
    parts.extend(class.cancelling.iter().map(|counts| format!("cancelling {}", pair(counts))));
    parts.extend((class.linear > 0).then(|| format!("{} linear", class.linear)));
    parts.extend((class.dead > 0).then(|| format!("{} dead", class.dead)));
    parts.join(", ")
}

/// A symmetry in words.
fn sentence(symmetry: &Symmetry) -> Option<String> {
    let list = |units: &[usize]| -> String {
        let shown: Vec<String> = units.iter().take(12).map(|unit| (unit + 1).to_string()).collect();
        let more = if units.len() > 12 { ", ..." } else { "" };
        format!("{} {}{more}", if units.len() == 1 { "neuron" } else { "neurons" }, shown.join(", "))
    };
    let verb =
        |units: &[usize], one: &'static str, many: &'static str| if units.len() == 1 { one } else { many };
    let neurons =
        |width: usize| if width == 1 { "its neuron".into() } else { format!("its {width} neurons") };
    Some(match symmetry {
        Symmetry::Permutation { width: 1, .. } => return None,
        Symmetry::Permutation { layer, width } => {
            format!("layer {}: permutations of {}", layer + 1, neurons(*width))
        }
        Symmetry::Scaling { layer, width } => {
            format!("layer {}: positive scalings of {}", layer + 1, neurons(*width))
        }
        Symmetry::LinearNeurons { layer, units } => {
            let mixed = if units.len() == 1 {
                "its bias can move"
            } else {
                "they can be mixed and their biases moved"
            };
            format!(
                "layer {}: {} {} linearly; {mixed} into the next layer",
                layer + 1,
                list(units),
                verb(units, "acts", "act")
            )
        }
        Symmetry::DeadNeurons { layer, units } => {
            format!(
                "layer {}: {} {} free weights",
                layer + 1,
                list(units),
                verb(units, "is dead and has", "are dead and have")
            )
        }
        Symmetry::UnconnectedNeurons { layer, units } => {
            let free = verb(
                units,
                "has no outgoing weights, so its incoming ones are free",
                "have no outgoing weights, so their incoming ones are free",
            );
            format!("layer {}: {} {free}", layer + 1, list(units))
        }
        Symmetry::SharedRay { layer, units } => {
            format!(
                "layer {}: {} are positive multiples and share their outgoing weights",
                layer + 1,
                list(units)
            )
        }
        Symmetry::Translation { neuron, least } => {
            format!(
                "the next layer hides {neuron}: its hyperplane can be translated by every t >= {}",
                short(least)
            )
        }
        Symmetry::Flips { count: 0, .. } => return None,
        Symmetry::Flips { neuron, count: 1 } => {
            format!("the other neuron can be flipped across the hidden hyperplane of {neuron}")
        }
        Symmetry::Flips { neuron, count } => {
            format!("the other {count} neurons can be flipped across the hidden hyperplane of {neuron}")
        }
        _ => return None,
    })
}

fn short(x: &fiberscope_core::Rational) -> String {
    let exact = x.to_string();
    if exact.len() <= 12 { exact } else { format!("{:.6}", x.to_f64()) }
}
