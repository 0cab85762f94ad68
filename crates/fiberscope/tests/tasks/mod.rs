//! Laws of tasks: the answer does not depend on how a question was cut, in which order its tasks were done, how often, or with
//! which time slices; and what is no result of the plan is refused.

mod cells;
mod envelope;
mod searches;
mod tables;

use std::time::Duration;

use fiberscope::tasks::{Answer, Merged, Plan, Results, Task};
use fiberscope::{Deadline, Domain, Layer, Matrix, Network};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A network with random parameters on a grid, so that some of them are special.
fn network(widths: &[usize], seed: u64, grid: f64) -> Network {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut number = |size: f64| {
        let x: f64 = rng.random_range(-size..size);
        if grid > 0.0 { (x / grid).round() * grid } else { x }
    };
    let layers = widths.windows(2).enumerate().map(|(l, pair)| {
        let weight = Matrix::from_fn(pair[1], pair[0], |_, _| number(1.0));
        let bias = (0..pair[1]).map(|_| number(0.5)).collect();
        let last = l + 2 == widths.len();
        let activation = if last { fiberscope::Activation::Identity } else { fiberscope::Activation::Relu };
        Layer::new(weight, bias, activation)
    });
    Network::new(layers.collect()).unwrap()
}

fn cube(d: usize) -> Domain {
    Domain::from_bounds(&vec![(-1.0, 1.0); d]).unwrap()
}

/// How tasks are done.
#[derive(Clone, Copy, Debug)]
enum Manner {
    /// One after the other, each to its end.
    Plain,
    /// In random order, some of them twice, with slices so short that hardly anything is finished in one.
    Wild(u64),
}

/// The answer, and how many tasks were done.
fn answer(plan: &Plan, manner: Manner) -> (Answer, usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(if let Manner::Wild(seed) = manner { seed } else { 0 });
    let mut results = Results::new(plan);
    let mut waiting: Vec<Vec<u8>> = Vec::new();
    let mut done = 0;
    for _ in 0..100_000 {
        let mut tasks: Vec<Task> = match results.merge(&Deadline::NEVER).unwrap() {
            Merged::Answer(answer) => return (*answer, done),
            Merged::Missing(tasks) => tasks,
            Merged::Known => panic!("the answer was asked for"),
        };
        assert!(!tasks.is_empty(), "nothing is missing, and there is no answer");
        if let Manner::Wild(_) = manner {
            tasks.shuffle(&mut rng);
            let some = rng.random_range(1..=tasks.len());
            tasks.truncate(some);
        }
        for task in tasks {
            let times = if matches!(manner, Manner::Wild(_)) { rng.random_range(1..=2) } else { 1 };
            for _ in 0..times {
                let slice = match manner {
                    Manner::Plain => Deadline::NEVER,
                    Manner::Wild(_) if rng.random_range(0..4) > 0 => Deadline::after(Some(Duration::ZERO)),
                    Manner::Wild(_) => Deadline::after(Some(Duration::from_millis(rng.random_range(0..20)))),
                };
                waiting.push(plan.work(&task.bytes, &slice).unwrap());
                done += 1;
            }
        }
        waiting.shuffle(&mut rng);
        let late =
            if matches!(manner, Manner::Wild(_)) { rng.random_range(0..=waiting.len() / 2) } else { 0 };
        for result in waiting.split_off(late) {
            results.add(&result).unwrap();
        }
    }
    panic!("no end");
}

/// The answer of a plan that was written and read again.
fn reread(plan: &Plan) -> Plan {
    let again = Plan::from_bytes(plan.bytes().to_vec()).unwrap();
    assert_eq!(again.digest(), plan.digest());
    again
}
