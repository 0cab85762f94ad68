//! Training against recorded trajectories of PyTorch; resuming; divergence; the paper's initialisation.
use std::sync::Mutex;

use fiberscope::core::{Activation, Matrix};
use fiberscope::train::TrainStart::{self, Seed};
use fiberscope::train::{
    Decay, Estimate, Initialization, Loss, Optimizer, Real, Samples, Task, TrackOptions, TrainError,
    TrainEvent, TrainOptions, TrainRecord, TrainRun, Trainer, train,
};
use serde_json::Value;

const TORCH: &str = include_str!("data/torch/trajectories.json");

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn matrix(value: &Value) -> Matrix {
    let rows: Vec<Vec<f64>> = value.as_array().unwrap().iter().map(numbers).collect();
    Matrix::from_rows(&rows).unwrap()
}

fn options(case: &Value) -> TrainOptions {
    let option = |name: &str| case["options"][name].as_f64().unwrap_or(0.0);
    let name = case["optimizer"].as_str().unwrap();
    let optimizer =
        if name == "sgd" { Optimizer::Sgd { momentum: option("momentum") } } else { Optimizer::ADAM };
    let decay = if name == "adamw" { Decay::Decoupled } else { Decay::Coupled };
    let widths: Vec<usize> = numbers(&case["widths"]).iter().map(|&w| w as usize).collect();
    TrainOptions::paper(&widths, 1)
        .loss(if case["loss"] == "mse" { Loss::Mse } else { Loss::CrossEntropy })
        .optimizer(optimizer)
        .rate(option("lr"))
        .weight_decay(option("weight_decay"), decay)
        .batch(16)
        .init(Initialization::Torch)
}

fn follow<T: Real>(case: &Value, tolerance: f64) {
    let options = options(case);
    let (inputs, targets) = (matrix(&case["inputs"]), matrix(&case["targets"]));
    options.check(&inputs, &targets).unwrap();
    let samples = Samples::<T>::new(&inputs, &targets);
    let mut trainer = Trainer::new(&options, &samples, 0);
    let initial: Vec<T> = numbers(&case["initial"]).into_iter().map(T::from_f64).collect();
    trainer.set_parameters(&initial).unwrap();
    let steps = case["batches"].as_array().unwrap();
    for (k, batch) in steps.iter().enumerate() {
        let rows: Vec<u32> = numbers(batch).iter().map(|&row| row as u32).collect();
        let loss = trainer.step(&rows);
        assert!((loss - case["losses"][k].as_f64().unwrap()).abs() < tolerance, "loss of step {k}");
        let expected = numbers(&case["after"][k]);
        for (p, e) in trainer.parameters().iter().zip(&expected) {
            assert!((p.to_f64() - e).abs() < tolerance, "{} step {k}: {p:?}, torch {e}", case["optimizer"]);
        }
    }
    assert!(steps.len() >= 10);
}

#[test]
fn steps_agree_with_pytorch() {
    let recorded: Value = serde_json::from_str(TORCH).unwrap();
    for case in recorded["cases"].as_array().unwrap() {
        match case["precision"].as_str() {
            Some("f32") => follow::<f32>(case, 2e-5),
            _ => follow::<f64>(case, 1e-11),
        }
    }
}

fn run<T: Real>(
    options: &TrainOptions,
    every: u64,
    starts: &[TrainStart],
    task: (Matrix, Matrix),
) -> Vec<TrainRun> {
    let track = TrackOptions::new().every(every).dimension(true);
    let runs = train::<T, TrainError>(options, &track, &task.0, &task.1, starts).unwrap();
    runs.into_iter().map(Result::unwrap).collect()
}

#[test]
fn a_resumed_training_is_the_same_bit_by_bit() {
    let whole = TrainOptions::paper(&[1, 6, 6, 1], 12);
    let half = whole.clone().epochs(7);
    let task = || Task::Univariate(2).samples();
    let straight = run::<f32>(&whole, 2, &[Seed(3), Seed(4)], task());
    let first = run::<f32>(&half, 2, &[Seed(3), Seed(4)], task());
    assert!(first.iter().all(|run| run.finished && run.state.epoch == 7));
    // The record of the end of the first half is not one of the whole.
    let without_end = |mut run: TrainRun| {
        run.state.records.retain(|record: &TrainRecord| record.epoch.is_multiple_of(2));
        TrainStart::State(run.state)
    };
    let states: Vec<_> = first.into_iter().map(without_end).collect();
    let resumed = run::<f32>(&whole, 2, &states, task());
    for (a, b) in straight.iter().zip(&resumed) {
        assert_eq!(a.state, b.state);
        assert_eq!(a.network, b.network);
    }
    assert_ne!(straight[0].network, straight[1].network, "seeds differ");
    let wrong = whole.widths(&[1, 5, 1]);
    let (x, y) = task();
    let refused = train::<f32, TrainError>(&wrong, &TrackOptions::new(), &x, &y, &states).unwrap();
    let error = refused.into_iter().next().unwrap().unwrap_err().to_string();
    assert_eq!(error, "the state does not fit: expected 16 numbers in parameters, found 61");
}

#[test]
fn training_reduces_the_loss_and_records_what_happens() {
    let options = TrainOptions::paper(&[1, 10, 10, 1], 60);
    let runs = run::<f64>(&options, 20, &[Seed(0), Seed(1)], Task::Univariate(1).samples());
    for run in &runs {
        let records = &run.state.records;
        assert_eq!(records.iter().map(|r| r.epoch).collect::<Vec<_>>(), [0, 20, 40, 60]);
        assert!(records[3].loss < 0.5 * records[0].loss);
        assert_eq!(records[0].drift, 0.0);
        for r in records {
            assert_eq!(r.switching + r.active + r.inactive, 20);
            assert!(r.rank_float32 <= r.rank && r.rank <= r.rank_upper && r.rank <= 100, "{r:?}");
        }
    }
}

#[test]
fn a_diverging_seed_stops_and_the_others_go_on() {
    let options = TrainOptions::paper(&[1, 8, 8, 1], 50)
        .optimizer(Optimizer::Sgd { momentum: 0.9 })
        .rate(1e6)
        .weight_decay(0.0, Decay::Coupled);
    let told = Mutex::new(Vec::new());
    let (x, y) = Task::Univariate(1).samples();
    let on = |event: TrainEvent| {
        if let TrainEvent::Diverged { seed, epoch } = event {
            told.lock().unwrap().push((seed, epoch));
        }
        Ok::<(), TrainError>(())
    };
    let track = TrackOptions::new().every(10).dimension(true).checkpoint(5).listener(&on);
    let runs = train::<f32, TrainError>(&options, &track, &x, &y, &[Seed(0)]).unwrap();
    let run = runs.into_iter().next().unwrap().unwrap();
    assert!(!run.finished);
    let epoch = run.state.diverged.unwrap();
    assert_eq!(*told.lock().unwrap(), [(0, epoch)]);
    assert!(run.state.parameters.iter().all(|p| p.is_finite()), "the last finite state is kept");
    assert_eq!(run.state.records.len(), 1 + (epoch as usize - 1) / 10);
}

#[test]
fn an_error_of_the_listener_ends_its_seed_only() {
    let options = TrainOptions::paper(&[1, 4, 1], 6);
    let (x, y) = Task::Univariate(1).samples();
    let on = |event: TrainEvent| match event {
        TrainEvent::Checkpoint(state) if state.seed == 1 => Err(TrainError::State("the disk is full".into())),
        _ => Ok(()),
    };
    let track = TrackOptions::new().checkpoint(2).listener(&on);
    let runs = train::<f32, TrainError>(&options, &track, &x, &y, &[Seed(0), Seed(1)]).unwrap();
    assert!(runs[0].as_ref().unwrap().finished);
    assert!(runs[1].is_err());
}

#[test]
fn options_and_data_are_checked() {
    let (x, y) = Task::Bivariate(1).samples();
    let paper = TrainOptions::paper(&[2, 4, 1], 1);
    let refuse = |options: TrainOptions| options.check(&x, &y).unwrap_err().to_string();
    let widths = |widths: &[usize]| paper.clone().widths(widths);
    assert_eq!(refuse(widths(&[1, 4, 1])), "expected 1 input columns (the first width), found 2");
    assert_eq!(refuse(widths(&[2, 4, 3])), "expected 3 target columns, found 1");
    assert_eq!(refuse(widths(&[2])), "widths [2]: expected at least two, none of them 0");
    assert_eq!(refuse(paper.clone().batch(0)), "a batch of 0 samples: expected at least 1");
    assert!(refuse(paper.clone().rate(f64::NAN)).starts_with("learning rate NaN"));
    let classes = paper.clone().loss(Loss::CrossEntropy);
    assert!(refuse(classes).starts_with("row 1: expected a class from 0 to 0, found"));
}

/// The mean over seeds is within three standard errors of the difference of the reference, a mean over as
/// many seeds.
#[test]
fn initial_dimensions_are_those_of_the_reference() {
    let check = |task: Task, seeds: u64, references: [f64; 3]| {
        let options = TrainOptions::paper(&[task.inputs(), 10, 10, 10, 10, 1], 0);
        let starts: Vec<_> = (0..seeds).map(Seed).collect();
        let runs = run::<f32>(&options, 1, &starts, task.samples());
        let records: Vec<&TrainRecord> = runs.iter().map(|run| &run.state.records[0]).collect();
        let values: [fn(&TrainRecord) -> usize; 3] = [|r| r.rank_float32, |r| r.rank, |r| r.regions];
        for (value, reference) in values.iter().zip(references) {
            let estimate = Estimate::of(records.iter().map(|r| value(r) as f64));
            let error = estimate.error * 2f64.sqrt();
            assert!(
                (estimate.mean - reference).abs() < 3.0 * error,
                "{task:?}: {estimate:?}, reference {reference}"
            );
        }
    };
    check(Task::Univariate(1), 200, [16.99, 17.45, 9.26]);
    check(Task::Bivariate(1), 50, [59.98, 68.16, 43.0]);
    check(Task::from_name("heating").unwrap(), 10, [302.6, 324.6, 510.0]);
}

/// From small weights and a target of singular values 3 and 1, gradient descent passes the strata of product
/// rank 0, 1 and 2 in this order.
#[test]
fn a_linear_network_visits_strata_of_growing_rank() {
    let corners = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]];
    let inputs = Matrix::from_rows(&corners).unwrap();
    let targets = Matrix::from_fn(4, 2, |k, o| corners[k][o] * [3.0, 1.0][o]);
    let options = TrainOptions::paper(&[2, 3, 2], 600)
        .optimizer(Optimizer::Sgd { momentum: 0.0 })
        .rate(0.02)
        .weight_decay(0.0, Decay::Coupled)
        .linear(true)
        .no_bias(true)
        .init_scale(1e-3);
    let track = TrackOptions::new().every(10).strata(0.3);
    let runs = train::<f64, TrainError>(&options, &track, &inputs, &targets, &[Seed(0), Seed(1)]).unwrap();
    for run in runs {
        let run = run.unwrap();
        assert!(run.network.layers().iter().all(|layer| layer.bias().iter().all(|&b| b == 0.0)));
        assert!(run.network.hidden_layers().iter().all(|layer| layer.activation() == Activation::Identity));
        let strata: Vec<_> = run.state.records.iter().map(|record| record.stratum.clone().unwrap()).collect();
        let mut ranks: Vec<usize> = strata.iter().map(|stratum| stratum.product_rank).collect();
        ranks.dedup();
        assert_eq!(ranks, [0, 1, 2]);
        assert!(strata[0].below_lower.is_none() && strata[0].offset < 0.05);
        let last = strata.last().unwrap();
        assert_eq!(last.ranks, [vec![2], vec![2, 2]]);
        // The network has learned diag(3, 1) with balanced factors: W_1 has the singular values sqrt 3 and 1,
        // and taking the 1 out of either factor is the nearest way down.
        assert!((last.below_upper.unwrap() - 1.0).abs() < 0.02, "{last:?}");
        assert!(last.below_lower.unwrap() <= last.below_upper.unwrap() && last.offset < 1e-12);
        assert!(run.state.records.last().unwrap().loss < 1e-3);
    }
    let relu = options.clone().linear(false);
    let error = train::<f64, TrainError>(&relu, &track, &inputs, &targets, &[Seed(0)]).unwrap_err();
    assert_eq!(error.to_string(), "strata are those of linear networks; this one has ReLUs");
}

/// One step of gradient descent changes what is conserved by the square of the rate times a number that does
/// not depend on the rate.
#[test]
fn the_drift_of_a_step_is_quadratic_in_the_rate() {
    let (inputs, targets) = Task::Bivariate(1).samples();
    let changes = |rate: f64| -> Vec<f64> {
        let options = TrainOptions::paper(&[2, 7, 5, 1], 1)
            .optimizer(Optimizer::Sgd { momentum: 0.0 })
            .weight_decay(0.0, Decay::Coupled)
            .batch(inputs.rows())
            .rate(rate);
        let track = TrackOptions::new();
        let runs = train::<f64, TrainError>(&options, &track, &inputs, &targets, &[Seed(3)]).unwrap();
        let records = runs.into_iter().next().unwrap().unwrap().state.records;
        assert!(records[0].changes.iter().flatten().all(|&change| change == 0.0));
        assert_eq!(records[1].states.iter().map(String::len).collect::<Vec<_>>(), [7, 5]);
        records[1].changes.concat()
    };
    let [large, small] = [0.1, 0.01].map(changes);
    assert!(large.iter().any(|change| change.abs() > 1e-4), "{large:?}");
    for (x, y) in large.iter().zip(&small) {
        assert!((x - 100.0 * y).abs() <= 1e-9 * (1.0 + x.abs()), "{x} {y}");
    }
}
