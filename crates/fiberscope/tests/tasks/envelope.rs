//! What is no plan, task or result, or belongs to another plan, is refused by name.

use fiberscope::Deadline;
use fiberscope::limit::Stop;
use fiberscope::tasks::{CellsQuestion, Merged, Plan, Results, TaskError, VolumeQuestion};

use super::{cube, network};

fn plan(seed: u64) -> Plan {
    Plan::new(CellsQuestion::new(cube(2)), &[&network(&[2, 6, 4, 1], seed, 0.0)], 3, &Deadline::NEVER)
        .unwrap()
}

/// A task of a plan and its result.
fn first(plan: &Plan) -> (Vec<u8>, Vec<u8>) {
    let Merged::Missing(tasks) = Results::new(plan).merge(&Deadline::NEVER).unwrap() else {
        panic!("no task")
    };
    let result = plan.work(&tasks[0].bytes, &Deadline::NEVER).unwrap();
    (tasks[0].bytes.clone(), result)
}

#[test]
fn other_plans_are_told_apart() {
    let (one, other) = (plan(1), plan(2));
    let (task, result) = first(&one);
    assert!(matches!(other.work(&task, &Deadline::NEVER), Err(TaskError::OtherPlan { .. })));
    assert!(matches!(Results::new(&other).add(&result), Err(TaskError::OtherPlan { .. })));
    let volume = Plan::new(VolumeQuestion::new(&[3, 3, 2, 1], 100, 0), &[], 3, &Deadline::NEVER).unwrap();
    assert!(matches!(Results::new(&volume).add(&result), Err(TaskError::OtherPlan { .. })));
    assert!(matches!(Results::new(&one).add(&task), Err(TaskError::Format { .. })));
    assert!(matches!(one.work(&result, &Deadline::NEVER), Err(TaskError::Format { .. })));
    assert!(Results::new(&one).add(&result).is_ok());
}

#[test]
fn damaged_bytes_are_refused() {
    let plan = plan(1);
    let (task, result) = first(&plan);
    for bytes in [&task, &result, &plan.bytes().to_vec()] {
        let refused = |bytes: Vec<u8>| {
            Plan::from_bytes(bytes.clone()).is_err()
                && plan.work(&bytes, &Deadline::NEVER).is_err()
                && Results::new(&plan).add(&bytes).is_err()
        };
        for cut in [0, 1, 40, bytes.len() / 2, bytes.len() - 2] {
            assert!(refused(bytes[..cut].to_vec()), "cut at {cut}");
        }
        let line = bytes.iter().position(|byte| *byte == b'\n').unwrap();
        for at in [line + 1, line + (bytes.len() - line) / 2, bytes.len() - 2] {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(refused(changed), "changed at {at}");
        }
        let newer = String::from_utf8(bytes.clone()).unwrap();
        let newer = newer.replacen("\"version\":1", "\"version\":2", 1).into_bytes();
        assert!(refused(newer));
        let text = String::from_utf8(bytes.clone()).unwrap();
        let program = format!("\"program\":\"{}\"", env!("CARGO_PKG_VERSION"));
        assert!(text.contains(&program));
        let error = Results::new(&plan).add(text.replacen(&program, "\"program\":\"99.0.0\"", 1).as_bytes());
        assert!(error.is_err());
    }
    let text = String::from_utf8(result).unwrap();
    let program = format!("\"program\":\"{}\"", env!("CARGO_PKG_VERSION"));
    let error = Results::new(&plan).add(text.replacen(&program, "\"program\":\"99.0.0\"", 1).as_bytes());
    assert!(error.unwrap_err().to_string().contains("written by fiberscope 99.0.0"));
}

#[test]
fn work_that_is_stopped_hands_over_nothing() {
    let plan = plan(1);
    let (task, _) = first(&plan);
    let stop = Stop::default();
    stop.pull();
    assert!(matches!(plan.work(&task, &Deadline::NEVER.or(stop)), Err(TaskError::Stopped)));
}
