//! The facts of an anatomy and of a certificate in words, shared by text and pages.

use fiberscope_check::{AskedClaim, Outcome, Question, Shortfall};
use fiberscope_core::{
    Anatomy, Certificate, Claim, Domain, Evidence, Identifiability, Interval, MoveChain, Rational, Role,
    RoundingStep, decimal,
};

use crate::moves::enumeration;
use crate::number::{exact, grouped, precise, short};

/// Lists of layers longer than this are cut in the middle.
const LAYERS: usize = 12;

/// `3-3-2-1`.
pub fn widths(widths: &[usize]) -> String {
    let join = |widths: &[usize]| widths.iter().map(usize::to_string).collect::<Vec<_>>().join("-");
    match widths {
        [.., last] if widths.len() > LAYERS => {
            format!("{}-...-{last} ({} layers)", join(&widths[..LAYERS - 2]), widths.len() - 1)
        }
        _ => join(widths),
    }
}

/// `all of R^2`, `the box [-1, 1]^2`.
pub fn domain(domain: &Domain, inputs: usize) -> String {
    let sides = match domain {
        Domain::Space => return format!("all of R^{inputs}"),
        Domain::Box(sides) => sides,
    };
    match sides.as_slice() {
        [] => "an empty product of intervals".into(),
        [only] => format!("the interval {}", interval(only)),
        [first, rest @ ..] if rest.iter().all(|side| side == first) => {
            format!("the box {}^{}", interval(first), sides.len())
        }
        [first, second, ..] if sides.len() > 4 => {
            format!("the box {} x {} x ... with {} sides", interval(first), interval(second), sides.len())
        }
        _ => format!("the box {}", sides.iter().map(interval).collect::<Vec<_>>().join(" x ")),
    }
}

fn interval(side: &Interval) -> String {
    let lower = side.lower.as_ref().map_or("(-inf".into(), |x| format!("[{}", exact(x)));
    let upper = side.upper.as_ref().map_or("inf)".into(), |x| format!("{}]", exact(x)));
    format!("{lower}, {upper}")
}

/// Yes, no or unknown, as a word.
pub fn answer(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not decided",
    }
}

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

/// The numbers of dead, linear and nonlinear neurons.
pub fn role_counts(roles: &[Role]) -> [usize; 3] {
    [Role::Dead, Role::Linear, Role::Nonlinear]
        .map(|wanted| roles.iter().filter(|&&role| role == wanted).count())
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
    let names = ["dead", "linear", "nonlinear"];
    let counts = role_counts(&anatomy.roles[layer]).into_iter().zip(names).filter(|(count, _)| *count > 0);
    let roles: Vec<_> = counts.map(|(count, name)| format!("{} {name}", grouped(count))).collect();
    let relu = anatomy.relu.get(layer).copied().unwrap_or(true);
    format!("{}{}", roles.join(", "), if relu { "" } else { " (identity activation)" })
}

/// The neurons whose hyperplane is hidden.
pub fn hidden(anatomy: &Anatomy) -> String {
    let neurons: Vec<_> = anatomy.hidden.iter().map(|neuron| neuron.to_string()).collect();
    if neurons.is_empty() { "none".into() } else { enumeration(&neurons) }
}

/// Whether the parameters are generic: a failing condition decides; conditions that hold do where the description of the fiber uses
/// no others.
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
        Evidence::Regions { a, b, .. } => format!(
            "{}; a tree{} that divides the domain into cells",
            chains(a, b),
            listed.map_or(String::new(), |n| format!(" of {} {}", grouped(n), plural(n, "node", "nodes")))
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
        Evidence::Witness { x, .. } => format!("a point with {}, and the values there", coordinates(x)),
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
        | Evidence::Difference { a, b, .. } => vec![("A", a), ("B", b)],
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
pub const STOPPED: &str = "not checked within the time limit";

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
        (None, _) => "the same".into(),
    };
    let why = match shortfall {
        Shortfall::Claim => "that is another claim",
        Shortfall::Bound => "the bound is larger",
        Shortfall::Domain => "the domain asked for is not inside the certificate's",
        Shortfall::Point => "the point where they differ lies outside the domain asked for",
    };
    format!(
        "the certificate proves that {}; asked was, on {}, {asked}: {why}",
        claim(certificate),
        place(asked_place)
    )
}

fn plural<'a>(n: usize, one: &'a str, many: &'a str) -> &'a str {
    if n == 1 { one } else { many }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_have_short_names() {
        let r = |text: &str| text.parse::<Rational>().unwrap();
        let check =
            |given: Domain, inputs: usize, expected: &str| assert_eq!(domain(&given, inputs), expected);
        check(Domain::Space, 3, "all of R^3");
        check(Domain::from_bounds(&[(-1.0, 0.5)]).unwrap(), 1, "the interval [-1, 1/2]");
        check(Domain::from_bounds(&[(-1.0, 1.0); 784]).unwrap(), 784, "the box [-1, 1]^784");
        check(Domain::from_bounds(&[(0.0, 1.0), (0.0, 2.0)]).unwrap(), 2, "the box [0, 1] x [0, 2]");
        check(Domain::from_bounds(&[(0.0, 0.99999)]).unwrap(), 1, "the interval [0, 0.99999]");
        check(Domain::orthant(2), 2, "the box [0, inf)^2");
        let below = Interval { lower: None, upper: Some(r("1/3")) };
        let mut sides = vec![below; 5];
        sides[1] = Interval::ALL;
        check(Domain::Box(sides), 5, "the box (-inf, 1/3] x (-inf, inf) x ... with 5 sides");
    }

    #[test]
    fn many_widths_are_cut() {
        assert_eq!(widths(&[2, 3, 1]), "2-3-1");
        assert_eq!(widths(&[2; 20]), "2-2-2-2-2-2-2-2-2-2-...-2 (19 layers)");
    }

    #[test]
    fn witnesses_of_many_entries_are_cut() {
        assert_eq!(vector(&[Rational::ONE]), "1");
        assert_eq!(vector(&[]), "()");
        assert_eq!(vector(&vec![Rational::ONE; 9]), "(1, 1, 1, 1, 1, 1, 1, 1, ...) with 9 entries");
    }
}
