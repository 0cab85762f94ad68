//! Whether the parameters near the given ones with the same function are its scalings: text, JSON, and facts of a
//! page.

use std::time::Duration;

use fiberscope::anatomy::Anatomy;
use fiberscope::fiber::{Identifiability, symmetries_beside};
use fiberscope::limit::Deadline;
use fiberscope::rigidity::{Rigidity, RigidityOptions, rigidity};
use fiberscope_core::{Certificate, Domain, Network};
use serde_json::{Value, json};

use crate::number::grouped;
use crate::page::{Cell, Table};
use crate::text::Lines;
use crate::words::{answer as word, enumeration, plural};

/// What local identifiability rests on.
pub const STATEMENT: &str = "near the given parameters, those with the same function lie in a manifold whose dimension is the number of parameters less the rank of the Jacobian of the outputs at finitely many inputs. Positive scalings of hidden neurons keep the function and form a manifold of one dimension per hidden neuron. If the two dimensions agree, these are all parameters near the given ones with the same function: they are locally identifiable. The rank is computed modulo a prime, which gives a lower bound that is proved.";

/// Networks with more parameters are not looked at unless a proof is asked for, and no longer than this.
const LARGE: usize = 100_000;
const PATIENCE: Duration = Duration::from_secs(6);
/// Symmetries are counted for networks of at most so many parameters.
const COUNTED: usize = 20_000;
/// So many neurons are named.
const NAMED: usize = 6;

/// What is known of the fiber near the parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// Whether the parameters are locally identifiable; `None` if that is not decided.
    pub identifiable: Option<bool>,
    /// Why.
    pub reason: String,
    /// A lower bound of the fiber's dimension near the parameters, scalings included.
    pub lower: usize,
    /// A proved upper bound.
    pub upper: Option<usize>,
    /// What was found of the rank.
    pub found: Option<Rigidity>,
}

impl Local {
    /// Looks at a network of which the anatomy on the domain is known. `asked` says that a proof is asked for, so
    /// that the network is looked at whatever its size.
    pub fn examine(
        network: &Network,
        domain: &Domain,
        anatomy: &Anatomy,
        asked: bool,
        limits: (u64, &Deadline),
    ) -> Self {
        let hidden: usize = network.hidden_layers().iter().map(fiberscope_core::Layer::width).sum();
        let (seed, deadline) = limits;
        let parameters = network.parameter_count();
        let dead = anatomy.dead_behind_relu();
        let known = (parameters <= COUNTED && !deadline.is_past())
            .then(|| symmetries_beside(&network.to_exact(), domain, &dead));
        let lower = known.as_ref().map_or(hidden, |known| known.dimension);
        let more = known.as_ref().is_some_and(|known| known.dimension > known.scalings);
        let refuted = match &anatomy.identifiability {
            Identifiability::No { reason } if more || anatomy.fiber.is_none() => Some(reason.clone()),
            _ if more => Some("there are symmetries beyond permutation and scaling".into()),
            _ => None,
        };
        let deadline = if asked { deadline.clone() } else { deadline.at_most(PATIENCE) };
        let options = RigidityOptions::new().seed(seed).deadline(deadline.clone());
        let found = match parameters > LARGE && !asked {
            true => Err(format!(
                "not looked for in networks of more than {} parameters unless a certificate is asked for",
                grouped(LARGE)
            )),
            false => rigidity(network, domain, &options).map_err(|error| error.to_string()),
        };
        let (identifiable, reason) = match (&refuted, &found) {
            (Some(reason), _) => (Some(false), reason.clone()),
            (None, Err(reason)) => (None, reason.clone()),
            (None, Ok(found)) => (found.is_proved().then_some(true), sentence(found)),
        };
        let found = found.ok();
        let proved = found.as_ref().filter(|found| found.certificate.is_some());
        let upper = proved.map(|found| found.parameters - found.rank);
        Local {
            identifiable,
            reason,
            lower: lower.max(hidden + usize::from(refuted.is_some())),
            upper,
            found,
        }
    }

    /// The certificate that proves the upper bound, or that the parameters are locally identifiable.
    pub fn certificate(&self) -> Option<&Certificate> {
        self.found.as_ref().and_then(|found| found.certificate.as_ref())
    }

    /// The answer as lines below an anatomy.
    pub fn text(&self) -> String {
        let mut out = Lines::default();
        out.fact("locally", &format!("identifiable: {}: {}", word(self.identifiable), self.reason));
        if let Some(bounds) = self.bounds() {
            out.fact("", &bounds);
        }
        out.finish()
    }

    /// The same as facts of a table.
    pub fn facts(&self, table: Table) -> Table {
        let answer = format!("{}: {}", word(self.identifiable), self.reason);
        let table = table.fact("locally identifiable", Cell::text(answer));
        match self.bounds() {
            Some(bounds) => table.fact("fiber near the parameters", Cell::text(bounds)),
            None => table,
        }
    }

    fn bounds(&self) -> Option<String> {
        let upper = self.upper?;
        let found = self.found.as_ref()?;
        (self.identifiable != Some(true)).then(|| {
            format!(
                "the fiber near the parameters has dimension {} at most, {} at least; {} of it are scalings",
                grouped(upper),
                grouped(self.lower),
                grouped(found.scalings)
            )
        })
    }

    /// Adds the keys `locally_identifiable`, `local_reason`, `local_dimension` and `rank`.
    pub fn add_to(&self, value: &mut Value) {
        value["locally_identifiable"] = json!(self.identifiable);
        value["local_reason"] = json!(self.reason);
        value["local_dimension"] = json!({"lower": self.lower, "upper": self.upper});
        value["rank"] = self.found.as_ref().map_or(Value::Null, rank);
    }
}

/// What was found of the rank of the Jacobian.
fn rank(found: &Rigidity) -> Value {
    let open = found.open.iter().map(
        |(neuron, missing)| json!({"layer": neuron.layer + 1, "neuron": neuron.unit + 1, "missing": missing}),
    );
    let [points, folds, extra] = found.used;
    json!({
        "lower": found.rank,
        "parameters": found.parameters,
        "scalings": found.scalings,
        "unexplained": {"most": found.unexplained()},
        "open": open.collect::<Vec<_>>(),
        "points": points,
        "folds": folds,
        "points_in_full": extra,
        "limit": found.limit.map(|limit| limit.name()),
    })
}

/// What was proved, in words.
pub fn sentence(found: &Rigidity) -> String {
    if found.is_proved() { proved(found) } else { open(found) }
}

fn proved(found: &Rigidity) -> String {
    let [points, ..] = found.used;
    format!(
        "proved: the Jacobian of the outputs at {} {} has rank {}, the number of parameters less that of hidden neurons",
        grouped(points),
        plural(points, "point", "points"),
        grouped(found.rank)
    )
}

/// Said where a limit ended the search, be it the user's or one of ours.
const ENDED: &str = "the search ended at a limit; `info --certificate FILE` sets none of its own";

fn open(found: &Rigidity) -> String {
    let limit = found.limit.map(|_| ENDED);
    if found.certificate.is_none() {
        return match limit {
            Some(limit) => format!("nothing is proved ({limit})"),
            None => "no point was found in the interior of a linear region".into(),
        };
    }
    let most = found.unexplained();
    let stopped = limit.map_or(String::new(), |limit| format!(" ({limit})"));
    let named: Vec<String> = found.open.iter().take(NAMED).map(|(neuron, _)| neuron.to_string()).collect();
    let place = match found.open.len() {
        0 => String::new(),
        n if n > NAMED => format!("; open at {} and {} others", named.join(", "), grouped(n - NAMED)),
        _ => format!("; open at {}", enumeration(&named)),
    };
    format!(
        "a rank of {} of at most {} is proved, so at most {} {} unexplained by scalings{place}{stopped}",
        grouped(found.rank),
        grouped(found.rank + most),
        grouped(most),
        plural(most, "dimension is", "dimensions are")
    )
}
