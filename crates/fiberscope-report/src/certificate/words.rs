//! What a certificate claims and brings, and what the checker said, in words.

use fiberscope_check::{AskedClaim, Outcome, Question, Shortfall};
use fiberscope_core::{
    Certificate, Claim, Domain, Evidence, MoveChain, RankEvidence, Rational, RoundingStep, decimal,
};

use crate::number::{exact, grouped, precise, short};
use crate::words::{domain, plural};

/// What a certificate says, with the domain.
pub fn claim(certificate: &Certificate) -> String {
    let inputs = certificate.a.widths.first().copied().unwrap_or(0);
    format!("on {}, {}", domain(&certificate.domain, inputs), certificate.claim())
}

/// What a certificate brings, in words that are true whether it holds or not.
pub fn evidence(evidence: &Evidence) -> String {
    let listed = match evidence {
        Evidence::Regions { tree, .. } => tree.len(),
        Evidence::Line { breakpoints, .. } => breakpoints.len(),
        Evidence::Difference { tree, .. } => tree.len(),
        Evidence::Decision { tree, .. } => tree.len(),
        _ => 0,
    };
    evidence_with(evidence, Some(listed))
}

/// The same, where its tree or its breakpoints are not kept; `listed` is their number, if they were all read.
pub fn evidence_with(evidence: &Evidence, listed: Option<usize>) -> String {
    match evidence {
        Evidence::Moves { a, b } => format!("{}, to make the same network of both", chains(a, b)),
        Evidence::Rounding { a, b, bound } => {
            format!(
                "{}, to align the networks; {} as a bound for what is left",
                chains(a, b),
                decimal::upper(bound)
            )
        }
        Evidence::Nudged { a, b, bound } => {
            let nudges = a.iter().chain(b).filter(|step| matches!(step, RoundingStep::Nudge(_))).count();
            format!(
                "moves and {} of parameters to nearby values, to align the networks; {} as a bound for all of it",
                format_args!("{nudges} {}", plural(nudges, "change", "changes")),
                decimal::upper(bound)
            )
        }
        Evidence::Close { a, b, relative } => format!(
            "{}, to align the networks; {} as the largest relative difference of two parameters",
            chains(a, b),
            decimal::upper(relative)
        ),
        Evidence::Hyperplanes { a, b, prefix } => format!(
            "{}, to make the first {prefix} layers equal; then hyperplane representations",
            chains(a, b)
        ),
        Evidence::Regions { a, b, prefix, .. } => format!(
            "{}{}; a tree{} that divides {} into cells",
            chains(a, b),
            match prefix {
                0 => String::new(),
                1 => ", to make the first layer equal".into(),
                n => format!(", to make the first {} layers equal", grouped(*n)),
            },
            listed.map_or(String::new(), |n| format!(" of {} {}", grouped(n), plural(n, "node", "nodes"))),
            if *prefix == 0 { "the domain" } else { "a box around their values" }
        ),
        Evidence::Line { a, b, .. } => format!(
            "{}; {} of functions of one variable",
            chains(a, b),
            listed.map_or("breakpoints".into(), |n| format!(
                "{} {}",
                grouped(n),
                plural(n, "breakpoint", "breakpoints")
            ))
        ),
        Evidence::Difference { a, b, bounds, .. } => format!(
            "{}, to align the networks; a tree{} that divides the box; {} as the largest bound of an output",
            chains(a, b),
            listed.map_or(String::new(), |n| format!(" of {} {}", grouped(n), plural(n, "node", "nodes"))),
            decimal::upper(bounds.iter().max().unwrap_or(&Rational::ZERO))
        ),
        Evidence::Decision { a, b, .. } => format!(
            "{}, to align the networks; trees{} that divide the box, one for each class",
            chains(a, b),
            listed.map_or(String::new(), |n| format!(" of {} {}", grouped(n), plural(n, "node", "nodes")))
        ),
        Evidence::Witness { x, .. } => format!("a point with {}, and the values there", coordinates(x)),
        Evidence::Rank(RankEvidence { points, folds, extra, rank, .. }) => format!(
            "{} {}, {} {} of them for folds of neurons{}; {} as the rank of the parameter Jacobian there",
            grouped(points.len()),
            plural(points.len(), "point", "points"),
            grouped(folds.len()),
            plural(folds.len(), "pair", "pairs"),
            match extra.len() {
                0 => String::new(),
                n => format!(", {} used in full", grouped(n)),
            },
            grouped(usize::try_from(*rank).unwrap_or(usize::MAX))
        ),
        _ => "of a kind that this version does not know".into(),
    }
}

fn chains(a: &MoveChain, b: &MoveChain) -> String {
    let count = |chain: &MoveChain| match chain.moves().len() {
        0 => "no moves".into(),
        n => format!("{} {}", grouped(n), plural(n, "move", "moves")),
    };
    format!("{} on A and {} on B", count(a), count(b))
}

fn coordinates(x: &[Rational]) -> String {
    format!("{} {}", x.len(), plural(x.len(), "coordinate", "coordinates"))
}

/// The chains of moves of a certificate, with the name of the network they are for.
pub fn move_chains(evidence: &Evidence) -> Vec<(&'static str, &MoveChain)> {
    match evidence {
        Evidence::Moves { a, b }
        | Evidence::Rounding { a, b, .. }
        | Evidence::Close { a, b, .. }
        | Evidence::Hyperplanes { a, b, .. }
        | Evidence::Line { a, b, .. }
        | Evidence::Difference { a, b, .. }
        | Evidence::Decision { a, b, .. } => vec![("A", a), ("B", b)],
        _ => Vec::new(),
    }
}

/// The point and the values of a witness, each cut after a few entries.
pub fn witness(evidence: &Evidence) -> Option<[(&'static str, String); 3]> {
    let Evidence::Witness { x, a, b } = evidence else { return None };
    Some([("x", vector(x)), ("A(x)", vector(a)), ("B(x)", vector(b))])
}

fn vector(entries: &[Rational]) -> String {
    const ENTRIES: usize = 8;
    let shown: Vec<_> = entries.iter().take(ENTRIES).map(precise).collect();
    match entries.len() {
        1 => shown[0].clone(),
        n if n > ENTRIES => format!("({}, ...) with {n} entries", shown.join(", ")),
        _ => format!("({})", shown.join(", ")),
    }
}

/// What the checker said, in a sentence.
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Proved(claim) => format!("proved: {claim}"),
        Outcome::Refused(refusal) => format!("refused at {refusal}"),
        Outcome::Stopped => STOPPED.into(),
    }
}

/// What is said of a certificate whose check was stopped.
pub const STOPPED: &str = "not checked: a limit came first";

/// Why a certificate that holds does not answer the question.
pub fn shortfall(certificate: &Certificate, question: &Question, shortfall: Shortfall) -> String {
    let inputs = certificate.a.widths.first().copied().unwrap_or(0);
    let place = |asked: &Domain| domain(asked, inputs);
    let asked_place = question.domain.as_ref().unwrap_or(&certificate.domain);
    let asked = match (&question.claim, certificate.claim()) {
        (Some(AskedClaim::Equivalent), _) | (None, Claim::Equivalent) => {
            "whether the networks compute the same function".into()
        }
        (Some(AskedClaim::Different), _) | (None, Claim::Different) => {
            "whether the networks compute different functions".into()
        }
        (Some(AskedClaim::Within(eps)), _) => {
            format!("whether the outputs differ by at most {}", short(eps))
        }
        (Some(AskedClaim::SameClass(margin)), _) => {
            format!("whether B decides for A's class{}", by_margin(margin))
        }
        (Some(AskedClaim::OtherClass(margin)), _) => {
            format!("whether B does not decide for A's class somewhere{}", by_margin(margin))
        }
        (Some(AskedClaim::LocallyIdentifiable), _) => {
            "whether the parameters are locally identifiable".into()
        }
        (None, _) => "the same".into(),
    };
    let larger = match (&question.claim, certificate.claim().bound()) {
        // Rounded, both look the same; the shortest decimal of a double may be the very number that was asked about.
        (Some(AskedClaim::Within(eps)), Some(bound)) if short(eps) == short(bound) => {
            let fraction = bound.to_string();
            let full = if fraction.len() <= LONGEST_FRACTION { fraction } else { exact(bound) };
            format!("the bound is larger, {full}")
        }
        _ => "the bound is larger".into(),
    };
    let why = match shortfall {
        Shortfall::Claim => "that is another claim",
        Shortfall::Bound => &larger,
        Shortfall::Margin => "it does not say so for a lead as small as that",
        Shortfall::Domain => "the domain asked for is not inside the certificate's",
        Shortfall::Point => "the point where they differ lies outside the domain asked for",
        Shortfall::Around => "the domain asked for does not contain the certificate's",
    };
    format!(
        "the certificate proves that {}; asked was, on {}, {asked}: {why}",
        claim(certificate),
        place(asked_place)
    )
}

fn by_margin(margin: &Rational) -> String {
    if margin.is_zero() {
        " wherever A has one".into()
    } else {
        format!(" wherever A leads by at least {}", short(margin))
    }
}

/// Longer fractions are given as decimals.
const LONGEST_FRACTION: usize = 120;

#[cfg(test)]
mod tests {
    use fiberscope_core::Network;

    use super::*;

    #[test]
    fn witnesses_of_many_entries_are_cut() {
        assert_eq!(vector(&[Rational::ONE]), "1");
        assert_eq!(vector(&[]), "()");
        assert_eq!(vector(&vec![Rational::ONE; 9]), "(1, 1, 1, 1, 1, 1, 1, 1, ...) with 9 entries");
    }

    #[test]
    fn a_bound_that_looks_like_the_number_asked_about_is_shown_in_full() {
        let line = Network::from_rows(&[(&[&[1.0]], &[0.0])]).unwrap();
        let bound: Rational = "373811987067/1237940039285380274899124224".parse().unwrap();
        let (a, b) = Default::default();
        let certificate =
            Certificate::new(&line, &line, Domain::orthant(1), Evidence::Rounding { a, b, bound });
        let said = |eps: &str| {
            let claim = Some(AskedClaim::Within(decimal::parse(eps).unwrap()));
            shortfall(&certificate, &Question { claim, ..Question::default() }, Shortfall::Bound)
        };
        let close = said("3.019629184001421e-16");
        assert!(close.ends_with("the bound is larger, 373811987067/1237940039285380274899124224"), "{close}");
        let far = said("1e-17");
        assert!(far.ends_with("the bound is larger"), "{far}");
    }
}
