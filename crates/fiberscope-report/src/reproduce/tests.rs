//! The course of experiments whose records are made up.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use fiberscope::train::{Estimate, TrainRecord};

use super::course::{Moment, shapes, shown, turning};
use super::experiment::{Experiment, Kind, experiment};
use super::outcome::Outcome;
use super::standing::ClaimStanding;

/// The moments as an outcome judges them.
fn moments(experiment: &Experiment, runs: &[Vec<Vec<TrainRecord>>]) -> Vec<Moment> {
    let judge =
        |experiment: Experiment, runs: Vec<Vec<Vec<TrainRecord>>>| -> (Vec<Estimate>, ClaimStanding) {
            let outcome = Outcome::at_end(experiment, runs);
            (outcome.compared_means(), outcome.standing)
        };
    super::course::moments(experiment, runs, &judge)
}

/// Trainings whose ranks are given by group, seed and epoch.
fn runs(epochs: u64, rank: impl Fn(usize, u64, u64) -> usize) -> Vec<Vec<Vec<TrainRecord>>> {
    let record = |group: usize, seed: u64, epoch: u64| TrainRecord {
        seed,
        epoch,
        loss: 0.0,
        score: 1.0,
        rank: rank(group, seed, epoch),
        rank_upper: 0,
        rank_doubt: 1.0,
        rank_float32: 0,
        regions: 0,
        switching: 0,
        active: 0,
        inactive: 0,
        drift: 0.0,
        states: Vec::new(),
        changes: Vec::new(),
        stratum: None,
    };
    let run =
        |group: usize, seed: u64| (0..=epochs).step_by(50).map(|epoch| record(group, seed, epoch)).collect();
    (0..3).map(|group| (0..6).map(|seed| run(group, seed)).collect()).collect()
}

fn univariate(epochs: u64) -> Experiment {
    Experiment { epochs, every: 50, ..experiment("ntk-univariate").unwrap() }
}

#[test]
fn the_verdict_turns_where_the_groups_come_apart() {
    // The groups are the same up to epoch 600 and two apart from 650 on; a difference of a seed is noise.
    let runs = runs(2000, |group, seed, epoch| {
        let apart = if epoch > 600 { 2 * group } else { 0 };
        20 + apart + usize::from(seed == 1 && group == 1)
    });
    let experiment = univariate(2000);
    let moments = moments(&experiment, &runs);
    assert_eq!(moments.len(), 40);
    assert_eq!(turning(&moments), Some(650));
    assert!(moments[..12].iter().all(|moment| moment.standing != ClaimStanding::Holds));
    assert_eq!(shown(&moments).iter().map(|m| m.epoch).collect::<Vec<_>>(), [250, 500, 1000, 1500, 2000]);
    let outcome = Outcome::new(experiment, runs);
    assert_eq!(outcome.standing, ClaimStanding::Holds);
    let claims = outcome.findings();
    assert!(claims[0].ours.contains("from epoch 650 on"), "{}", claims[0].ours);
    // The other way round nothing holds, at no epoch.
    let falling = Experiment { kind: Kind::Falling, ..univariate(2000) };
    let reversed = self::moments(&falling, &outcome.runs);
    assert_eq!((turning(&reversed), reversed[39].standing), (None, ClaimStanding::Fails));
}

#[test]
fn rising_and_staying_is_told_from_rising_on() {
    let shape = |late: &dyn Fn(u64) -> usize| {
        let runs = runs(1600, |_, seed, epoch| if epoch == 0 { 10 } else { late(epoch) + seed as usize % 2 });
        shapes(&univariate(1600), &runs)
    };
    let flat = shape(&|_| 30);
    // The seeds are alike at the start and differ by one later: a rise of 20 and a half.
    assert!((flat[0].rise.mean - 20.5).abs() < 1e-12 && flat[0].late.mean.abs() < 1e-12);
    assert_eq!(flat[0].standing(), ClaimStanding::Holds);
    let falling = shape(&|epoch| if epoch <= 800 { 30 } else { 25 });
    assert!((falling[0].late.mean + 5.0).abs() < 1e-12 && falling[0].standing() == ClaimStanding::Holds);
    let growing = shape(&|epoch| 20 + epoch as usize / 100);
    assert_eq!(growing[0].standing(), ClaimStanding::Fails);
    // Second quarter: epochs 450 to 800; last quarter: 1250 to 1600. The floors of a hundredth add 8.
    assert!((growing[0].late.mean - 8.0).abs() < 1e-12, "{}", growing[0].late.mean);
    let sinking = shape(&|_| 5);
    assert_eq!(sinking[0].standing(), ClaimStanding::Fails);
}

#[test]
fn too_few_runs_decide_nothing() {
    // One run of the third group fits its data: there is no interval, whatever the means are.
    let mut few = runs(2000, |group, _, _| 20 + 2 * group);
    for run in &mut few[2][1..] {
        run.iter_mut().for_each(|record| record.score = 0.0);
    }
    let outcome = Outcome::new(univariate(2000), few);
    assert_eq!(outcome.standing, ClaimStanding::TooFew);
    assert!(outcome.findings().iter().all(|f| f.standing != ClaimStanding::Holds));
    // Nor do correlations that nobody has measured refute anything.
    let mut none = runs(1000, |_, _, epoch| 20 + epoch as usize / 50);
    none[1].iter_mut().flatten().for_each(|record| record.score = 0.0);
    let regions = Experiment { groups: univariate(1000).groups, ..experiment("ntk-regions").unwrap() };
    assert_eq!(Outcome::at_end(regions, none).standing, ClaimStanding::TooFew);
}

#[test]
fn two_pairs_show_little() {
    // Two seeds whose differences are 1 and 5: t is 1.5 and would have to be 12.7.
    let pairs = |first: usize, second: usize| {
        let mut all = runs(1000, |group, seed, _| 20 + group * if seed == 0 { first } else { second });
        all.iter_mut().for_each(|group| group.truncate(2));
        Outcome::at_end(univariate(1000), all).standing
    };
    assert_eq!(pairs(1, 5), ClaimStanding::NotSignificant);
    // 9 and 11: t is 10, more than twice its error, and still chance.
    assert_eq!(pairs(9, 11), ClaimStanding::NotSignificant);
    assert_eq!(pairs(10, 10), ClaimStanding::Holds);
}
