//! What is this network? Roles of neurons, bottleneck, hidden hyperplanes, and the moves beyond
//! permutation and scaling that can be read off the signs.
//!
//! A dead or linear neuron, a neuron without outgoing weights, two neurons that are positive multiples of
//! each other or a hidden hyperplane each give parameters with the same function that are not permutations
//! and scalings of the given ones, so the network is not identifiable. The converse holds for generic
//! parameters of one hidden layer and of three layers with a bottleneck, whose fibers are known
//! [threelayer2026, Section 6]; for others the answer is "unknown".

mod switching;

use std::collections::HashSet;

use fiberscope_algebra::rank;
use fiberscope_core::{Activation, Digest, Domain, Layer, Network, Neuron, RankBounds, Role, Strictness};

use crate::fiber::{Condition, Fiber, FiberFacts, Ground, Identifiability, describe};
use crate::limit::Deadline;
use crate::orbit::lines;
use crate::reduce::outweighed;

/// The anatomy of a network on a domain: facts, each of them proved, and what follows from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Anatomy {
    /// The widths `(n_0, ..., n_L)`.
    pub widths: Vec<usize>,
    /// The number of parameters.
    pub parameters: usize,
    /// The digest of the parameters.
    pub digest: Digest,
    /// The inputs the roles are about.
    pub domain: Domain,
    /// Whether each hidden layer is a ReLU layer (otherwise it has identity activation).
    pub relu: Vec<bool>,
    /// The role of every hidden neuron, layer by layer.
    pub roles: Vec<Vec<Role>>,
    /// The neurons that were not proved to be dead or linear, and of which no two points were found at which one is on
    /// and off: whether they bend is not decided.
    pub undecided: Vec<Neuron>,
    /// Whether `n_0 >= n_1` and `W_1` has full row rank; `None` if its rank was not decided.
    pub bottleneck: Option<bool>,
    /// The rank of `W_1`, or what is known of it.
    pub first_rank: RankBounds,
    /// Genericity conditions, each with whether it holds.
    pub conditions: Vec<Condition>,
    /// The neurons whose hyperplane the next layer hides.
    pub hidden: Vec<Neuron>,
    /// Whether the parameters are determined by the function up to permutation and scaling.
    pub identifiability: Identifiability,
    /// The fiber, where the theory covers the network.
    pub fiber: Option<FiberFacts>,
}

/// The anatomy of a network. A box for the domain must have as many sides as the network has inputs. When the
/// deadline comes first, the rank of the first layer may be known by bounds only, and the fiber is not looked
/// at.
///
/// ```
/// use fiberscope::anatomy::examine;
/// use fiberscope::fiber::Identifiability;
/// use fiberscope::{Deadline, Domain, Network};
///
/// // The second neuron is never active.
/// let network = Network::from_rows(&[(&[&[1.0], &[0.0]], &[0.0, -1.0]), (&[&[1.0, 1.0]], &[0.0])]).unwrap();
/// let anatomy = examine(&network, &Domain::Space, &Deadline::NEVER);
/// assert_eq!((anatomy.widths, anatomy.parameters), (vec![1, 2, 1], 7));
/// assert!(matches!(anatomy.identifiability, Identifiability::No { .. }));
/// ```
pub fn examine(network: &Network, domain: &Domain, deadline: &Deadline) -> Anatomy {
    let mut roles = network.roles(domain);
    let first = &network.layers()[0];
    let size = first.width().saturating_mul(first.input_width());
    let first_rank = match first.weights().is_sparse() && size > LARGEST_RANK {
        true => cheap_rank(first),
        false => rank::rank(first.weight(), &|| deadline.is_past()),
    };
    let rows = first.width();
    let bottleneck = if network.hidden_depth() == 0 || first.input_width() < rows || first_rank.upper < rows {
        Some(false)
    } else {
        (first_rank.lower == rows).then_some(true)
    };
    let onto = bottleneck == Some(true) && *domain == Domain::Space;
    let mut undecided = undecided(network, domain, &roles, 1 + usize::from(onto), deadline);
    for Neuron { layer, unit } in outweighed(network, domain, &undecided, deadline) {
        roles[layer][unit] = Role::Dead;
    }
    undecided.retain(|neuron| roles[neuron.layer][neuron.unit] != Role::Dead);
    let hidden = hidden_neurons(network);
    let mut conditions = conditions(network);
    let mut identifiability = identifiability(&roles, &hidden, &conditions);
    let known = if *domain == Domain::Space && !deadline.is_past() { known_fiber(network) } else { None };
    let fiber = known.as_ref().map(Fiber::facts);
    if let Some(fiber) = &known {
        conditions.extend(fiber.conditions().iter().cloned());
        conditions.extend(largest_ranks(fiber));
        if matches!(identifiability, Identifiability::Unknown { .. }) {
            identifiability = fiber.identifiability();
        }
    }
    Anatomy {
        widths: network.widths(),
        parameters: network.parameter_count(),
        digest: Digest::of(network),
        domain: domain.clone(),
        relu: network.hidden_layers().iter().map(|layer| layer.activation() == Activation::Relu).collect(),
        roles,
        undecided,
        bottleneck,
        first_rank,
        conditions,
        hidden,
        identifiability,
        fiber,
    }
}

impl Anatomy {
    /// The neurons that were proved to be dead and stand behind a ReLU layer, where smaller rows are dead, too.
    pub fn dead_behind_relu(&self) -> Vec<Neuron> {
        let dead = |layer: usize| {
            let roles = self.roles[layer].iter().enumerate();
            roles.filter(|(_, role)| **role == Role::Dead).map(move |(unit, _)| Neuron { layer, unit })
        };
        (1..self.roles.len()).filter(|&l| self.relu[l - 1] && self.relu[l]).flat_map(dead).collect()
    }
}

/// The neurons that are dead because what could turn them on is outweighed, though neither signs nor intervals tell.
pub fn outweighed_neurons(network: &Network, domain: &Domain, deadline: &Deadline) -> Vec<Neuron> {
    let open = undecided(network, domain, &network.roles(domain), 1, deadline);
    outweighed(network, domain, &open, deadline)
}

/// The neurons whose roles are not certain; those of the first layers are.
pub(crate) fn undecided(
    network: &Network,
    domain: &Domain,
    roles: &[Vec<Role>],
    certain: usize,
    deadline: &Deadline,
) -> Vec<Neuron> {
    let open = roles.iter().enumerate().skip(certain).flat_map(|(layer, roles)| {
        let open = (0..roles.len()).filter(|&unit| roles[unit] == Role::Nonlinear);
        open.map(move |unit| Neuron { layer, unit })
    });
    switching::not_seen_switching(open.collect(), network, domain, deadline)
}

/// The rank of a larger weight that is stored by its entries is not computed, only bounded.
const LARGEST_RANK: usize = 1 << 22;

/// Bounds for the rank of a weight from the places of its entries: rows whose first entries stand in different columns
/// are independent, and so are rows whose last entries do.
fn cheap_rank(layer: &Layer) -> RankBounds {
    let ends = |i: usize| {
        let mut row = layer.weights().row(i).map(|(column, _)| column);
        let first = row.next()?;
        Some((first, row.last().unwrap_or(first)))
    };
    let ends: Vec<(usize, usize)> = (0..layer.width()).filter_map(ends).collect();
    let firsts: HashSet<usize> = ends.iter().map(|(first, _)| *first).collect();
    let lasts: HashSet<usize> = ends.iter().map(|(_, last)| *last).collect();
    let used = layer.weights().used_columns().iter().filter(|used| **used).count();
    RankBounds { lower: firsts.len().max(lasts.len()), upper: ends.len().min(used) }
}

/// Networks with more parameters are not examined for their fiber.
const LARGE: usize = 1 << 20;

/// The fiber of a network of one or two hidden layers, if the theory covers it.
fn known_fiber(network: &Network) -> Option<Fiber> {
    let small = (1..=2).contains(&network.hidden_depth()) && network.parameter_count() <= LARGE;
    if small { describe(&network.to_exact(), Ground::Space).ok() } else { None }
}

/// Whether the given parameter lies in a generic piece of its fiber; `None` if that is too much work.
fn largest_ranks(fiber: &Fiber) -> Option<Condition> {
    let detail = match fiber.own() {
        Err(violation) => Some(violation.to_string()),
        Ok(own) => {
            let smaller = format!("it lies in the piece {own} of its fiber, where one has a smaller rank");
            (!fiber.component(&own)?.generic?).then_some(smaller)
        }
    };
    let statement = "the matrices M_S of its fiber have the largest possible ranks".into();
    Some(Condition { statement, holds: detail.is_none(), detail })
}

/// The neurons that the next layer hides. (The paper asks for strict signs, which generic parameters have;
/// the translation needs no more than this.)
fn hidden_neurons(network: &Network) -> Vec<Neuron> {
    let hidden_in =
        |layer: usize| network.hidden_unit(layer, Strictness::Weak).map(|unit| Neuron { layer, unit });
    (0..network.hidden_depth()).filter_map(hidden_in).collect()
}

/// The conditions of genericity that can be checked layer by layer.
fn conditions(network: &Network) -> Vec<Condition> {
    let condition = |statement: &str, failure: Option<String>| Condition {
        statement: statement.into(),
        holds: failure.is_none(),
        detail: failure,
    };
    let first_failure = |test: &dyn Fn(usize) -> Option<String>| (0..network.hidden_depth()).find_map(test);
    let multiples = |sign: i8| {
        first_failure(&|layer| {
            let (i, j) = multiple_neurons(&network.layers()[layer], sign)?;
            Some(format!("neurons {} and {} of layer {}", i + 1, j + 1, layer + 1))
        })
    };
    vec![
        condition(NO_ZERO_ROW, first_failure(&|layer| zero_row(network, layer))),
        condition(NO_ZERO_COLUMN, first_failure(&|layer| zero_column(network, layer))),
        condition(NO_POSITIVE_MULTIPLES, multiples(1)),
        condition(NO_NEGATIVE_MULTIPLES, multiples(-1)),
    ]
}

const NO_ZERO_ROW: &str = "no hidden neuron has only zero incoming weights";
const NO_ZERO_COLUMN: &str = "no hidden neuron has only zero outgoing weights";
const NO_POSITIVE_MULTIPLES: &str = "no two neurons of a layer are positive multiples of each other";
const NO_NEGATIVE_MULTIPLES: &str = "no two neurons of a layer are negative multiples of each other";

fn zero_row(network: &Network, layer: usize) -> Option<String> {
    let rows = network.layers()[layer].weights();
    let unit = rows.iter_rows().position(|mut row| row.next().is_none())?;
    Some(Neuron { layer, unit }.to_string())
}

fn zero_column(network: &Network, layer: usize) -> Option<String> {
    let used = network.layers()[layer + 1].weights().used_columns();
    let unit = used.iter().position(|used| !used)?;
    Some(Neuron { layer, unit }.to_string())
}

/// The first pair of rows `(w, b)` that are multiples of each other by a factor of the given sign.
fn multiple_neurons(layer: &Layer, sign: i8) -> Option<(usize, usize)> {
    let pairs = lines::groups(layer).into_iter().flat_map(|group| {
        let of_sign = |i: usize, j: usize| group[i].factor.signum() * group[j].factor.signum() == sign;
        let pair = |i: usize| {
            let j = (i + 1..group.len()).find(|&j| of_sign(i, j))?;
            Some((group[i].unit, group[j].unit))
        };
        (0..group.len()).filter_map(pair).min()
    });
    pairs.min()
}

fn identifiability(roles: &[Vec<Role>], hidden: &[Neuron], conditions: &[Condition]) -> Identifiability {
    let with_role = |wanted: Role| {
        roles.iter().enumerate().find_map(|(layer, roles)| {
            let unit = roles.iter().position(|&role| role == wanted)?;
            Some(Neuron { layer, unit })
        })
    };
    let no = |reason: String| Identifiability::No { reason };
    if let Some(neuron) = with_role(Role::Dead) {
        return no(format!("{neuron} is dead, so its weights are free"));
    }
    if let Some(neuron) = with_role(Role::Linear) {
        return no(format!("{neuron} acts linearly, so its bias can move into the next layer"));
    }
    if let Some(neuron) = hidden.first() {
        return no(format!("the next layer hides {neuron}, so its hyperplane can be translated"));
    }
    let failure = |statement: &str| {
        conditions.iter().find(|each| each.statement == statement).and_then(|each| each.detail.as_deref())
    };
    if let Some(neuron) = failure(NO_ZERO_COLUMN) {
        return no(format!("{neuron} has no outgoing weights, so its incoming weights are free"));
    }
    if let Some(neurons) = failure(NO_POSITIVE_MULTIPLES) {
        return no(format!("{neurons} are multiples and can share their outgoing weights in any way"));
    }
    let found = match failure(NO_NEGATIVE_MULTIPLES) {
        Some(neurons) => format!(
            "{neurons} share a hyperplane, which alone decides nothing; no dead or linear neuron and no hidden \
             hyperplane was found"
        ),
        None => "no dead or linear neuron, no shared hyperplane and no hidden hyperplane was found".into(),
    };
    let reason = format!("{found}; whether other parameters have the same function is not decided");
    Identifiability::Unknown { reason }
}
