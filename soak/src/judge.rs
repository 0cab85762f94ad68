//! A verdict held against the truth.
//!
//! Read from what users get: the JSON of `fiberscope equiv` and the certificate.

use fiberscope_core::{Domain, Rational};
use serde_json::Value;

use crate::generate::Case;
use crate::truth::{Standing, Truth, distance};

/// What was asked.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// `--exact`
    pub exact: bool,
    /// `--tolerance`
    pub tolerance: Option<f64>,
    /// `--time-limit`
    pub seconds: f64,
}

/// What a certificate says.
#[derive(Clone, Debug)]
pub enum Statement {
    /// The networks are equal.
    Equal,
    /// They differ by at most this.
    Within(Rational),
    /// They differ at this point.
    Different(Vec<Rational>),
    /// Their parameters agree, to this relative difference, after moves.
    Close(Rational),
}

/// The words of the report for a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Equal.
    Equivalent,
    /// Up to rounding, or within the tolerance.
    Rounding,
    /// Different.
    Different,
    /// A limit was reached.
    Undecided,
}

/// A verdict that is not known to be wrong.
pub struct Judged {
    /// The verdict.
    pub word: Word,
    /// Whether it rests on samples alone.
    pub sampled: bool,
}

/// The statement and the domain of a certificate.
pub fn statement(certificate: &Value) -> Option<(Statement, Domain)> {
    let domain = serde_json::from_value(certificate["domain"].clone()).ok()?;
    let evidence = &certificate["evidence"];
    let number = |value: &Value| value.as_str()?.parse::<Rational>().ok();
    let statement = match evidence["kind"].as_str()? {
        "moves" | "hyperplanes" | "regions" | "tails" | "line" => Statement::Equal,
        "rounding" | "nudged" => Statement::Within(number(&evidence["bound"])?),
        "difference" => {
            let bounds = evidence["bounds"].as_array()?.iter().map(number).collect::<Option<Vec<_>>>()?;
            Statement::Within(bounds.into_iter().max()?)
        }
        "witness" => {
            Statement::Different(evidence["x"].as_array()?.iter().map(number).collect::<Option<_>>()?)
        }
        "close" => Statement::Close(number(&evidence["relative"])?),
        _ => return None,
    };
    Some((statement, domain))
}

/// Whether what a certificate says is true.
pub fn holds(case: &Case, truth: &Truth, statement: &Statement, domain: &Domain) -> Standing {
    match statement {
        Statement::Equal => truth.within(&Rational::ZERO, domain),
        Statement::Within(bound) => truth.within(bound, domain),
        Statement::Different(x) => {
            let there = x.len() == case.pair.a.inputs() && domain.contains(x);
            if there && case.pair.a.value(x) != case.pair.b.value(x) {
                Standing::True
            } else {
                Standing::False
            }
        }
        // Says nothing about the outputs: what matters is that both checkers agree.
        Statement::Close(_) => Standing::Sampled,
    }
}

/// Holds a verdict against the truth; the error is a sentence that says what is wrong.
pub fn judge(
    case: &Case,
    truth: &Truth,
    question: &Question,
    answer: &Value,
    certificate: Option<&Value>,
) -> Result<Judged, String> {
    let word = match answer["verdict"].as_str() {
        Some("equivalent") => Word::Equivalent,
        Some("equivalent_up_to_rounding" | "within_tolerance" | "within") => Word::Rounding,
        Some("different") => Word::Different,
        Some("undecided") => return Ok(Judged { word: Word::Undecided, sampled: false }),
        other => return Err(format!("no such verdict: {other:?}")),
    };
    let certificate = certificate.ok_or("a verdict without a certificate")?;
    let (statement, domain) = statement(certificate).ok_or("a certificate that says nothing")?;
    if domain != case.domain {
        return Err(format!("a certificate for another domain: {}", certificate["domain"]));
    }
    let standing = holds(case, truth, &statement, &domain);
    let judged = Judged { word, sampled: standing == Standing::Sampled };
    if standing == Standing::False {
        return Err(format!("the certificate says what is false: {statement:?}"));
    }
    let tolerance = question.tolerance.and_then(Rational::from_f64);
    match (word, statement) {
        (Word::Equivalent, Statement::Equal) => Ok(judged),
        (Word::Different, Statement::Different(x)) => match tolerance {
            Some(eps) if distance(&case.pair.a.value(&x), &case.pair.b.value(&x)) <= eps => {
                Err(format!("different, with a witness within the tolerance {eps}"))
            }
            _ => Ok(judged),
        },
        (Word::Rounding, _) if question.exact => Err("up to rounding, although --exact was asked for".into()),
        (Word::Rounding, Statement::Within(bound)) => rounding(truth, tolerance, &bound, judged),
        (Word::Rounding, Statement::Close(relative)) => close(case, truth, tolerance, &relative, judged),
        (word, statement) => Err(format!("the verdict {word:?} with a certificate that says {statement:?}")),
    }
}

/// A bound on a box: within the tolerance, or small beside the outputs.
fn rounding(
    truth: &Truth,
    tolerance: Option<Rational>,
    bound: &Rational,
    judged: Judged,
) -> Result<Judged, String> {
    if let Some(eps) = tolerance {
        if *bound > eps {
            return Err(format!("the bound {:e} is above the tolerance {:e}", bound.to_f64(), eps.to_f64()));
        }
        return Ok(judged);
    }
    if truth.is_small(bound) == Standing::False {
        return Err(format!("the bound {:e} is not small beside the outputs", bound.to_f64()));
    }
    Ok(judged)
}

/// Parameters that agree one by one: never for pairs that were made to differ by more than that.
fn close(
    case: &Case,
    truth: &Truth,
    tolerance: Option<Rational>,
    relative: &Rational,
    judged: Judged,
) -> Result<Judged, String> {
    if tolerance.is_some() {
        return Err("parameters that agree do not bound a difference of outputs".into());
    }
    // Sixteen units in the last place.
    let precision = if case.single { -23 } else { -52 };
    if *relative > Rational::dyadic(1, precision + 4) {
        return Err(format!("parameters agree to {:e} only", relative.to_f64()));
    }
    if !case.pair.close && truth.within(&Rational::ZERO, &case.domain) == Standing::False {
        return Err("up to rounding, although the networks differ by construction by more than that".into());
    }
    Ok(judged)
}
