//! What is this network? Roles of neurons, bottleneck, hidden hyperplanes, and the moves beyond
//! permutation and scaling that can be read off the signs.
//!
//! A dead or linear neuron, a neuron without outgoing weights, two neurons that are positive multiples of
//! each other or a hidden hyperplane each give parameters with the same function that are not permutations and
//! scalings of the given ones, so the network is not identifiable. The converse holds for generic parameters of one hidden layer and of three
//! layers with a bottleneck, whose fibers are known [threelayer2026, Section 6]; for others the answer is "unknown".

use fiberscope_algebra::rank;
use fiberscope_core::{
    Activation, Anatomy, Condition, Digest, Domain, Identifiability, Layer, Network, Neuron, Role, Scalar,
};

use crate::fiber::{Fiber, Ground, describe};
use crate::limit::Deadline;

/// The anatomy of a network. A box for the domain must have as many sides as the network has inputs.
pub fn examine(network: &Network, domain: &Domain) -> Anatomy {
    examine_until(network, domain, &Deadline::NEVER)
}

/// The same; when the deadline comes first, the rank of the first layer may be known by bounds only, and the fiber is not looked at.
pub fn examine_until(network: &Network, domain: &Domain, deadline: &Deadline) -> Anatomy {
    let roles = network.roles(domain);
    let first = &network.layers()[0];
    let first_rank = rank::rank(first.weight(), &|| deadline.is_past());
    let rows = first.width();
    let bottleneck = if network.hidden_depth() == 0 || first.input_width() < rows || first_rank.upper < rows {
        Some(false)
    } else {
        (first_rank.lower == rows).then_some(true)
    };
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
        bottleneck,
        first_rank,
        conditions,
        hidden,
        identifiability,
        fiber,
    }
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

/// The neurons that the next layer hides: after leaving out its dead neurons (row and bias `<= 0`),
/// each of its neurons `j` has `W[j,k] > 0`, `W[j,i] <= 0` for `i != k` and `b[j] <= 0`. (The paper asks for strict
/// signs, which generic parameters have; the translation needs no more than this.)
fn hidden_neurons(network: &Network) -> Vec<Neuron> {
    let relu = |layer: &Layer| layer.activation() == Activation::Relu;
    let pairs = network.hidden_layers().windows(2).enumerate();
    let hidden_in = |(layer, pair): (usize, &[Layer])| {
        let unit = (relu(&pair[0]) && relu(&pair[1])).then(|| hidden_unit(&pair[1])).flatten()?;
        Some(Neuron { layer, unit })
    };
    pairs.filter_map(hidden_in).collect()
}

fn hidden_unit(next: &Layer) -> Option<usize> {
    let dead = |j: usize| next.bias()[j] <= 0.0 && next.weight().row(j).iter().all(|&w| w <= 0.0);
    let mut candidate = None;
    for j in (0..next.width()).filter(|&j| !dead(j)) {
        let row = next.weight().row(j);
        let mut positive = (0..row.len()).filter(|&i| row[i] > 0.0);
        let (unit, others) = (positive.next()?, positive.next());
        let hides = others.is_none() && next.bias()[j] <= 0.0;
        if !hides || candidate.is_some_and(|other| other != unit) {
            return None;
        }
        candidate = Some(unit);
    }
    candidate
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
    let rows = network.layers()[layer].weight();
    let unit = rows.iter_rows().position(|row| row.iter().all(|&w| w == 0.0))?;
    Some(Neuron { layer, unit }.to_string())
}

fn zero_column(network: &Network, layer: usize) -> Option<String> {
    let columns = network.layers()[layer + 1].weight();
    let unit = (0..columns.cols()).find(|&j| columns.column(j).all(|&v| v == 0.0))?;
    Some(Neuron { layer, unit }.to_string())
}

/// The first pair of rows `(w, b)` that are multiples of each other by a factor of the given sign.
///
/// Floats propose: dividing each row by its largest entry gives multiples the same direction up to
/// rounding errors far below the threshold. Exact cross-multiplication disposes.
fn multiple_neurons(layer: &Layer, sign: i8) -> Option<(usize, usize)> {
    const CLOSE: f64 = 1e-9;
    let row = |i: usize| layer.weight().row(i).iter().copied().chain([layer.bias()[i]]);
    let direction = |i: usize| -> Option<Vec<f64>> {
        let largest = row(i).fold(0.0f64, |m, x| if x.abs() > m.abs() { x } else { m });
        (largest != 0.0).then(|| row(i).map(|x| x / largest).collect())
    };
    let mut rows: Vec<(usize, Vec<f64>)> =
        (0..layer.width()).filter_map(|i| Some((i, direction(i)?))).collect();
    rows.sort_by(|(_, x), (_, y)| x[0].total_cmp(&y[0]));
    let mut found: Option<(usize, usize)> = None;
    for (at, (i, x)) in rows.iter().enumerate() {
        for (j, y) in rows[at + 1..].iter().take_while(|(_, y)| y[0] - x[0] <= CLOSE) {
            let close = x.iter().zip(y).all(|(a, b)| (a - b).abs() <= CLOSE);
            if close && multiple_sign(layer, *i, *j) == Some(sign) {
                let pair = (*i.min(j), *i.max(j));
                found = Some(found.map_or(pair, |other| other.min(pair)));
            }
        }
    }
    found
}

/// The sign of the `c != 0` with row `j` = `c` times row `i`, if there is one.
fn multiple_sign(layer: &Layer, i: usize, j: usize) -> Option<i8> {
    let row = |i: usize| layer.weight().row(i).iter().chain([&layer.bias()[i]]).map(Scalar::to_rational);
    let (x, y) = row(i).zip(row(j)).find(|(x, _)| !x.is_zero())?;
    let multiple = !y.is_zero() && row(i).zip(row(j)).all(|(a, b)| &a * &y == &b * &x);
    multiple.then(|| x.signum() * y.signum())
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
    let reason = "no dead or linear neuron, no shared hyperplane and no hidden hyperplane was found; whether \
                  other parameters have the same function is not decided";
    Identifiability::Unknown { reason: reason.into() }
}
