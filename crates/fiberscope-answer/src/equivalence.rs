//! Verdicts on two networks.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, anyhow};
use fiberscope::check::{Outcome, check};
use fiberscope::equivalence::regions::{SearchProgress, SearchState};
use fiberscope::equivalence::{Decision, EquivalenceError, EquivalenceOptions, TOO_LARGE, Verdict, decide};
use fiberscope_core::{Certificate, Domain, Evidence, MoveChain, Network, NetworkName, Rational};
use fiberscope_io::write_atomically;
use serde_json::{Value, json};

use crate::Say;

/// Decides whether two networks are equal. With a file, a search that it holds is gone on with, and one that the time ends is written to it.
pub fn search(
    networks: (&Network, &Network),
    domain: &Domain,
    mut options: EquivalenceOptions,
    file: Option<&Path>,
    say: Say,
) -> anyhow::Result<Decision> {
    options.resume = file.filter(|path| path.exists()).map(read_state).transpose()?;
    let progress = |now: SearchProgress| {
        let percent = 100.0 * now.explored;
        say(&format!(
            "searched {percent:.2} % of the joint regions; the networks agree on {} cells",
            now.leaves
        ));
    };
    let decided = decide(networks.0, networks.1, domain, &options, &progress);
    let decision = decided.map_err(|error| match (&error, file) {
        (EquivalenceError::Search(_), Some(path)) => anyhow!("{}: {error}", path.display()),
        _ => error.into(),
    })?;
    if let (Some(path), Verdict::Undecided { state: Some(state), .. }) = (file, &decision.verdict) {
        let json = serde_json::to_vec(state)?;
        write_atomically(path, |file| file.write_all(&json))?;
    }
    Ok(decision)
}

fn read_state(path: &Path) -> anyhow::Result<SearchState> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    SearchState::from_json(&bytes).with_context(|| path.display().to_string())
}

/// The certificate of a verdict.
pub fn certificate(verdict: &Verdict) -> Option<&Certificate> {
    match verdict {
        Verdict::Equivalent { certificate }
        | Verdict::EquivalentUpToRounding { certificate, .. }
        | Verdict::Different { certificate, .. } => Some(certificate),
        Verdict::Undecided { .. } => None,
    }
}

/// The verdict in a word.
pub fn name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Equivalent { .. } => "equivalent",
        Verdict::EquivalentUpToRounding { .. } => "equivalent_up_to_rounding",
        Verdict::Different { .. } => "different",
        Verdict::Undecided { .. } => "undecided",
    }
}

/// A decision with the keys of `fiberscope equiv --json`; `domain` is where it was asked for.
pub fn value(decision: &Decision, domain: &Domain) -> Value {
    let proved_on = certificate(&decision.verdict).map_or(domain, |certificate| &certificate.domain);
    let numbers = |xs: &[Rational]| -> Vec<f64> { xs.iter().map(Rational::to_f64).collect() };
    let exact = |xs: &[Rational]| -> Vec<String> { xs.iter().map(ToString::to_string).collect() };
    let mut value = json!({
        "verdict": name(&decision.verdict),
        "method": decision.method,
        "domain": proved_on,
        "bound": null,
        "witness": null,
    });
    match &decision.verdict {
        Verdict::Equivalent { .. } => {}
        Verdict::EquivalentUpToRounding { bound, differ_at, .. } => {
            value["bound"] = json!(bound.to_f64());
            value["bound_exact"] = json!(bound.to_string());
            value["differ_at"] = json!(differ_at.as_deref().map(numbers));
        }
        Verdict::Different { x, a, b, .. } => {
            value["witness"] =
                json!({"x": numbers(x), "a": numbers(a), "b": numbers(b), "x_exact": exact(x)});
        }
        Verdict::Undecided { explored, cells, .. } => {
            value["explored"] = json!(explored);
            value["cells"] = json!(cells);
        }
    }
    value
}

/// The certificate that the moves lead from one network to the other, if they do so exactly.
pub fn certify(a: &Network, b: &Network, moves: &MoveChain, domain: &Domain) -> Option<Certificate> {
    let certificate = Certificate {
        a: NetworkName::of(a),
        b: NetworkName::of(b),
        domain: domain.clone(),
        evidence: Evidence::Moves { a: moves.clone(), b: MoveChain::default() },
    };
    matches!(check(&certificate, a, b), Outcome::Proved(_)).then_some(certificate)
}

/// The verdict as text.
pub fn text(decision: &Decision, domain: &Domain) -> String {
    let place = match domain {
        Domain::Space => "everywhere",
        Domain::Box(_) => "on the box",
    };
    let on_box = if *domain == Domain::Space { "" } else { " on the box" };
    let method = decision.method;
    match &decision.verdict {
        Verdict::Equivalent { .. } => format!("equivalent {place} (method: {method}; certificate checked)\n"),
        Verdict::EquivalentUpToRounding { bound, differ_at, certificate } => {
            let on = if certificate.domain == *domain { "the box" } else { "the box [-1, 1]^n" };
            let known = match differ_at {
                Some(x) => format!("not exactly equal: they differ at x = {}", point(x)),
                None => "not proved exactly equal: their parameters differ in the last places, and no point \
                         where the outputs differ was found"
                    .to_owned(),
            };
            format!(
                "equivalent up to rounding: the outputs differ by at most {:.3e} on {on} (certificate checked)\n\
                 {known}\n",
                bound.to_f64()
            )
        }
        Verdict::Different { x, a, b, .. } => format!(
            "different{on_box} (method: {method}; witness checked exactly)\n  x    = {}\n  A(x) = {}\n  B(x) = {}\n",
            point(x),
            point(a),
            point(b)
        ),
        Verdict::Undecided { state: None, .. } if method == TOO_LARGE => {
            "undecided: the networks are too large for a search whose result the checker could read\n".into()
        }
        Verdict::Undecided { state: None, .. } => {
            "undecided within the time limit: it was reached before the search of joint regions began\n"
                .into()
        }
        Verdict::Undecided { explored, cells, .. } => format!(
            "undecided within the time limit: {:.2} % of the joint regions searched; the networks agree on {cells} cells, each of one region or more\n",
            100.0 * explored
        ),
    }
}

/// A vector with its numbers as doubles, shortened where it is long.
fn point(xs: &[Rational]) -> String {
    const SHOWN: usize = 8;
    let numbers: Vec<_> = xs.iter().take(SHOWN).map(|x| x.to_f64().to_string()).collect();
    let rest = if xs.len() > SHOWN { format!(", ... ({} in all)", xs.len()) } else { String::new() };
    format!("({}{rest})", numbers.join(", "))
}
