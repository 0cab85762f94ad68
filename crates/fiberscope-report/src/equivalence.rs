//! Verdicts on two networks.

use std::io::Write;
use std::path::Path;

use crate::json::{lower, number, upper};
use crate::number::exact;
use anyhow::{Context, anyhow};
use fiberscope::check::{Outcome, check};
use fiberscope::difference::DifferenceProgress;
use fiberscope::equivalence::regions::{SearchProgress, SearchState};
use fiberscope::equivalence::{
    Agreement, Decision, Difference, EquivalenceError, EquivalenceOptions, Method, Verdict, decide,
};
use fiberscope::limit::{Limit, Progress};
use fiberscope_core::{Certificate, Domain, Evidence, Matrix, MoveChain, Network, Rational, decimal};
use fiberscope_io::{Precision, write_atomically};
use serde_json::{Value, json};

use crate::Say;
use crate::page::{Badge, Section};
use crate::words;

/// Decides whether two networks are equal. With a file, a search that it holds is gone on with, and one that
/// the time ends is written to it.
pub fn search(
    networks: (&Network, &Network),
    domain: &Domain,
    options: EquivalenceOptions,
    file: Option<&Path>,
    say: Say,
) -> anyhow::Result<Decision> {
    let state = file.filter(|path| path.exists()).map(read_state).transpose()?;
    let progress = |now: SearchProgress| {
        let percent = 100.0 * now.explored;
        say(&format!(
            "searched {percent:.2} % of the joint regions; the networks agree on {} cells",
            now.leaves
        ));
    };
    let apart = |now: DifferenceProgress| say(&words::apart(now));
    let options = options.resume(state).progress(Progress::to(&progress)).apart(Progress::to(&apart));
    let decided = decide(networks.0, networks.1, domain, &options);
    let decision = decided.map_err(|error| match (&error, file) {
        (EquivalenceError::Search(_) | EquivalenceError::Refused(_), Some(path)) => {
            anyhow!("{}: {error}", path.display())
        }
        _ => error.into(),
    })?;
    if let (Some(path), Verdict::Undecided { state: Some(state), .. }) = (file, &decision.verdict) {
        let json = serde_json::to_vec(state)?;
        write_atomically(path, |file| file.write_all(&json))?;
    }
    Ok(decision)
}

/// The points of a table as exact numbers, for [`EquivalenceOptions::data`]; a table with other columns
/// behind the inputs is cut.
pub fn data_points(points: &Matrix, inputs: usize) -> anyhow::Result<Vec<Vec<Rational>>> {
    if points.cols() < inputs {
        return Err(anyhow!("expected a column for each of {inputs} inputs, found {}", points.cols()));
    }
    let exact =
        |row: &[f64]| row[..inputs].iter().map(|&x| Rational::from_f64(x)).collect::<Option<Vec<_>>>();
    Ok(points.iter_rows().filter_map(exact).collect())
}

fn read_state(path: &Path) -> anyhow::Result<SearchState> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    SearchState::from_json(&bytes).with_context(|| path.display().to_string())
}

/// The precision to which the parameters of two models count as rounded, for [`EquivalenceOptions::precision`]: where one
/// was stored in single or half precision, that which the numbers show, so that the same numbers get the same verdict in
/// either; otherwise that of doubles.
pub fn precision(a: Precision, b: Precision) -> Option<f64> {
    (a.min(b) == Precision::F64).then_some(f64::EPSILON)
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

/// The answer of a command: yes only if the networks are proved equal, or agree in the sense that was asked
/// for.
pub fn holds(verdict: &Verdict) -> Option<bool> {
    match verdict {
        Verdict::Equivalent { .. } | Verdict::EquivalentUpToRounding { .. } => Some(true),
        Verdict::Different { .. } => Some(false),
        Verdict::Undecided { .. } => None,
    }
}

/// A decision with the keys of `fiberscope equiv --json`; `domain` is where it was asked for. Upper bounds
/// are rounded up and lower ones down; numbers beyond the doubles are texts.
pub fn value(decision: &Decision, domain: &Domain) -> Value {
    let numbers = |xs: &[Rational]| -> Vec<Value> { xs.iter().map(number).collect() };
    let texts = |xs: &[Rational]| -> Vec<String> { xs.iter().map(ToString::to_string).collect() };
    let mut value = json!({
        "verdict": name(&decision.verdict),
        "method": decision.method.name(),
        "domain": domain,
        "bound": null,
        "witness": null,
    });
    let mut put = |key: &str, x: Value| value[key] = x;
    if let Some(tolerance) = &decision.tolerance {
        put("tolerance", number(tolerance));
    }
    let bounded = match &decision.verdict {
        Verdict::Equivalent { .. } => None,
        Verdict::EquivalentUpToRounding { agreement, differ_at, .. } => {
            match agreement {
                Agreement::Outputs { size: Some(size), .. } => put("size", lower(size)),
                Agreement::Outputs { size: None, .. } => {}
                Agreement::Parameters { relative } => put("relative", upper(relative)),
            }
            put("differ_at", json!(differ_at.as_ref().map(|found| numbers(&found.x))));
            put("differ_at_exact", json!(differ_at.as_ref().map(|found| texts(&found.x))));
            put("difference", json!(differ_at.as_ref().map(|found| lower(&found.size()))));
            agreement.bound()
        }
        Verdict::Different { x, a, b, bound, .. } => {
            let found = Difference { x: x.clone(), a: a.clone(), b: b.clone() };
            put("witness", json!({"x": numbers(x), "a": numbers(a), "b": numbers(b), "x_exact": texts(x)}));
            put("difference", lower(&found.size()));
            bound.as_ref()
        }
        Verdict::Undecided { explored, cells, limit, bound, difference, .. } => {
            put("explored", json!(explored));
            put("cells", json!(cells));
            put("limit", json!(limit.map(Limit::name)));
            put("differ_at", json!(difference.as_ref().map(|found| numbers(&found.x))));
            put("differ_at_exact", json!(difference.as_ref().map(|found| texts(&found.x))));
            put("difference", json!(difference.as_ref().map(|found| lower(&found.size()))));
            bound.as_ref()
        }
    };
    if let Some(bound) = bounded {
        put("bound", upper(bound));
        put("bound_exact", json!(bound.to_string()));
    }
    value
}

/// The certificate that the moves lead from one network to the other, if they do so exactly.
pub fn certify(a: &Network, b: &Network, moves: &MoveChain, domain: &Domain) -> Option<Certificate> {
    let certificate =
        Certificate::new(a, b, domain.clone(), Evidence::Moves { a: moves.clone(), b: MoveChain::default() });
    matches!(check(&certificate, a, b), Outcome::Proved(_)).then_some(certificate)
}

/// The verdict as text.
pub fn text(decision: &Decision, domain: &Domain) -> String {
    let place = match domain {
        Domain::Space => "everywhere",
        Domain::Box(_) => "on the box",
    };
    let method = decision.method;
    let tolerance = decision.tolerance.as_ref().map(tolerance_text);
    match &decision.verdict {
        Verdict::Equivalent { .. } => format!("equivalent {place} (method: {method}; certificate checked)\n"),
        Verdict::EquivalentUpToRounding { agreement, differ_at, .. } => {
            let known = match differ_at {
                Some(found) => format!("not exactly equal: {}", differing(found)),
                None => "not proved exactly equal; no point where the outputs differ was found\n".to_owned(),
            };
            format!("{}\n{known}{}", agreeing(agreement, tolerance, place), asking(agreement))
        }
        Verdict::Different { x, a, b, bound, .. } => {
            let found = Difference { x: x.clone(), a: a.clone(), b: b.clone() };
            let on_box = if *domain == Domain::Space { "" } else { " on the box" };
            let bounded = tolerance.is_some() || is_bounded(domain);
            let beyond = tolerance.map_or(String::new(), |eps| format!(", more than the tolerance {eps}"));
            format!(
                "different{on_box}: the outputs differ by {}{beyond} (method: {method}; witness checked exactly)\n{}{}{}",
                decimal::lower(&found.size()),
                values(&found),
                at_most(bound.as_ref()),
                if bounded { "" } else { small_beside(&found) }
            )
        }
        Verdict::Undecided { explored, cells, state, limit, bound, difference } => {
            let mut sentences = Vec::new();
            if let Some(eps) = tolerance {
                sentences.push(format!(
                    "no bound of {eps} or less was proved, and no point where the outputs differ by more was found"
                ));
            }
            if method == Method::TooLarge {
                sentences.push(
                    "the networks are too large for a search whose result the checker could read".into(),
                );
            }
            if let Some(limit) = limit {
                sentences.push(limit.to_string());
            }
            if sentences.is_empty() && state.is_none() {
                sentences.push("none of the methods that were asked for decides".into());
            }
            if state.is_some() {
                sentences.push(format!(
                    "{:.2} % of the joint regions searched; the networks agree on {cells} cells, each of one region or more",
                    100.0 * explored
                ));
            }
            let seen = difference
                .as_ref()
                .map_or(String::new(), |found| format!("they are not equal: {}", differing(found)));
            format!("undecided: {}\n{seen}{}", sentences.join("; "), at_most(bound.as_ref()))
        }
    }
}

/// The verdict as a section of a page.
pub fn section(decision: &Decision, domain: &Domain) -> Section {
    let words = name(&decision.verdict).replace('_', " ");
    let badge = match &decision.verdict {
        Verdict::Equivalent { .. } | Verdict::EquivalentUpToRounding { .. } => Badge::good(words),
        Verdict::Different { .. } => Badge::bad(words),
        Verdict::Undecided { .. } => Badge::open(words),
    };
    let (text, section) = (text(decision, domain), Section::new("Verdict").badge(badge));
    if certificate(&decision.verdict).is_none() {
        return section.paragraph(text.trim());
    }
    told(section, &text)
}

/// The lines of a text whose certificate was checked, and what they rest on.
fn told(section: Section, text: &str) -> Section {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.fold(section, |section, line| section.paragraph(line)).statement(
        "the certificate below, which the checker accepted in exact rational arithmetic on the stored numbers; the rules it may use stand with their proofs in the description of the certificate format.",
    )
}

/// In what sense the networks agree.
fn agreeing(agreement: &Agreement, tolerance: Option<String>, place: &str) -> String {
    match (agreement, tolerance) {
        (Agreement::Outputs { bound, .. }, Some(eps)) => format!(
            "within the tolerance {eps}: the outputs differ by at most {} {place} (certificate checked)",
            decimal::upper(bound)
        ),
        (Agreement::Outputs { bound, size }, None) => format!(
            "equivalent up to rounding: the outputs differ by at most {} {place} (certificate checked){}",
            decimal::upper(bound),
            size.as_ref().map_or(String::new(), |size| {
                format!(
                    ",\nsmall beside their size: an output of A has absolute value {} or more there",
                    decimal::lower(size)
                )
            })
        ),
        (Agreement::Parameters { relative }, _) => format!(
            "equivalent up to rounding of the parameters: moves that keep both functions {place} lead to networks\n\
             whose parameters agree one by one to a relative difference of {} (certificate checked)",
            decimal::upper(relative)
        ),
    }
}

/// What to ask where nothing is known about the outputs.
fn asking(agreement: &Agreement) -> &'static str {
    match agreement {
        Agreement::Outputs { .. } => "",
        Agreement::Parameters { .. } => {
            "nothing is proved about how far apart the outputs are; ask with --box LO,HI for a bounded box\n"
        }
    }
}

fn is_bounded(domain: &Domain) -> bool {
    matches!(domain, Domain::Box(sides) if sides.iter().all(|side| side.magnitude().is_some()))
}

/// What to ask where a difference is small beside the outputs.
fn small_beside(found: &Difference) -> &'static str {
    let largest = found.a.iter().chain(&found.b).map(Rational::abs).max().unwrap_or_default();
    if &found.size() * &Rational::from(1024) > largest {
        return "";
    }
    "small beside these outputs: with --box LO,HI the same question asks for agreement up to rounding on a bounded box,\n\
     and fiberscope diff tells how far apart the networks are at most there\n"
}

fn differing(found: &Difference) -> String {
    format!(
        "the outputs differ by {} (evaluated exactly) at\n{}",
        decimal::lower(&found.size()),
        values(found)
    )
}

/// An input and what both networks make of it, a line each.
fn values(found: &Difference) -> String {
    format!("  x    = {}\n  A(x) = {}\n  B(x) = {}\n", point(&found.x), point(&found.a), point(&found.b))
}

fn at_most(bound: Option<&Rational>) -> String {
    bound.map_or(String::new(), |bound| {
        format!("on the box they differ by at most {} (certified)\n", decimal::upper(bound))
    })
}

/// The tolerance as it was typed: a double, or a decimal number beyond the doubles.
pub(crate) fn tolerance_text(tolerance: &Rational) -> String {
    match decimal::fits_f64(tolerance) {
        Some(value) if value == 0.0 || (1e-4..1e6).contains(&value) => value.to_string(),
        Some(value) => format!("{value:e}"),
        None => decimal::nearest(tolerance, 17),
    }
}

/// A vector, shortened where it is long.
pub(crate) fn point(xs: &[Rational]) -> String {
    const SHOWN: usize = 8;
    let shown = |x: &Rational| match x.to_f64() {
        near if (near == 0.0 || (1e-6..1e17).contains(&near.abs()))
            && Rational::from_f64(near).as_ref() == Some(x) =>
        {
            near.to_string()
        }
        _ => exact(x),
    };
    let numbers: Vec<_> = xs.iter().take(SHOWN).map(shown).collect();
    let rest = if xs.len() > SHOWN { format!(", ... ({} in all)", xs.len()) } else { String::new() };
    format!("({}{rest})", numbers.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Page;

    #[test]
    fn a_verdict_with_a_certificate_says_what_it_rests_on() {
        let section = told(Section::new("Verdict").badge(Badge::good("same")), "a\n\n b\n");
        assert!(Page::new("x").section(section).to_html().contains("Rests on:"));
    }

    #[test]
    fn tolerances_are_shown_as_they_were_typed() {
        for text in ["0", "0.05", "1e-6", "5e-324", "1e-400", "25"] {
            assert_eq!(tolerance_text(&decimal::parse(text).unwrap()), text);
        }
    }
}
