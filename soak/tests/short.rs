//! The soak in short, so that it does not rot: a few hundred pairs and some 10^5 readings with a fixed seed.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use fiberscope_core::Domain;
use fiberscope_soak::generate::{Case, Known, Maker, case};
use fiberscope_soak::judge::{Question, judge};
use fiberscope_soak::memory::Counting;
use fiberscope_soak::truth::Truth;
use fiberscope_soak::{Options, parsers, run};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

#[test]
fn a_short_soak_finds_nothing() {
    let readers = parsers::names().count() as u64;
    let mut options = Options::new(root());
    (options.cases, options.rounds, options.executions, options.threads) =
        (Some(600), Some(readers), 8192, 2);
    let tally = run(&options, &AtomicBool::new(false)).unwrap();
    assert!(tally.findings.is_empty(), "{:#?}", tally.findings);
    assert!(tally.pairs() > 400, "{} pairs", tally.pairs());
    assert!(tally.certificates > 200 && tally.mutants > 300, "{tally:#?}");
    assert_eq!(tally.executions(), readers * options.executions);
}

/// The first case on `R^n` that is as wanted.
fn find(wanted: impl Fn(&Case) -> bool) -> Case {
    let made = (0..5000).filter_map(|number| case(&mut Maker::new(3, number)));
    made.into_iter().find(|case| case.domain == Domain::Space && wanted(case)).unwrap()
}

/// What the judge says of an answer with a certificate of this evidence.
fn judged(
    case: &Case,
    question: &Question,
    verdict: &str,
    domain: Value,
    evidence: Value,
) -> Result<(), String> {
    let certificate = json!({"domain": domain, "evidence": evidence});
    let truth = Truth::new(case, 1);
    judge(case, &truth, question, &json!({"verdict": verdict}), Some(&certificate)).map(|_| ())
}

#[test]
fn wrong_verdicts_are_told() {
    let bump = find(|case| case.class == "far bump" && matches!(case.pair.known, Known::Different(_)));
    let Known::Different(x) = &bump.pair.known else { unreachable!() };
    let x: Vec<String> = x.iter().map(ToString::to_string).collect();
    let (plain, n) = (Question::default(), x.len());
    let exact = Question { exact: true, ..Question::default() };
    let wide = Question { tolerance: Some(1e300), ..Question::default() };
    let space = || json!("space");
    let refuse = |question: &Question, verdict: &str, domain: Value, evidence: Value, why: &str| {
        let error = judged(&bump, question, verdict, domain, evidence).unwrap_err();
        assert!(error.contains(why), "{error}");
    };
    let witness = json!({"kind": "witness", "x": x});
    judged(&bump, &plain, "different", space(), witness.clone()).unwrap();
    judged(&bump, &plain, "undecided", space(), json!(null)).unwrap();
    refuse(&plain, "equivalent", space(), json!({"kind": "moves"}), "what is false");
    refuse(
        &plain,
        "equivalent_up_to_rounding",
        space(),
        json!({"kind": "nudged", "bound": "1"}),
        "what is false",
    );
    refuse(
        &plain,
        "equivalent_up_to_rounding",
        json!({"box": vec![["-1", "1"]; n]}),
        json!({"kind": "rounding", "bound": "0"}),
        "another domain",
    );
    refuse(
        &plain,
        "equivalent_up_to_rounding",
        space(),
        json!({"kind": "close", "relative": "0"}),
        "differ by construction",
    );
    refuse(
        &plain,
        "equivalent_up_to_rounding",
        space(),
        json!({"kind": "close", "relative": "1/1024"}),
        "agree to",
    );
    refuse(
        &exact,
        "equivalent_up_to_rounding",
        space(),
        json!({"kind": "close", "relative": "0"}),
        "--exact",
    );
    refuse(&wide, "different", space(), witness, "within the tolerance");
    let zeros = vec!["0"; n];
    refuse(&plain, "different", space(), json!({"kind": "witness", "x": zeros}), "what is false");
    refuse(&plain, "equivalent", space(), json!({"kind": "witness", "x": x}), "the verdict Equivalent");
}
