//! Tables and sums: functional dimensions, trainings, estimates of volumes.

use fiberscope::dimension::{DimensionOptions, functional_dimension};
use fiberscope::fiber::monte_carlo;
use fiberscope::tasks::{Answer, DimensionQuestion, Plan, TrainingGroup, TrainingQuestion, VolumeQuestion};
use fiberscope::train::{TrackOptions, TrainError, TrainOptions, TrainStart, train};
use fiberscope::{Deadline, Matrix};

use super::{Manner, answer, network, reread};

#[test]
fn dimensions_are_those_of_every_network_on_every_data_set() {
    let networks: Vec<_> = (0..3).map(|seed| network(&[2, 4, 3, 1], seed, 0.0)).collect();
    let data: Vec<Matrix> =
        [7, 20].map(|n| Matrix::from_fn(n, 2, |i, j| ((3 * i + 5 * j) % 11) as f64 / 7.0 - 0.6)).to_vec();
    let question = DimensionQuestion::new(&data, &DimensionOptions::new().seed(4).generic(true));
    let all: Vec<_> = networks.iter().collect();
    let options = DimensionOptions::new().seed(4).generic(true);
    let expected: Vec<String> = networks
        .iter()
        .flat_map(|network| {
            data.iter().map(|points| functional_dimension(network, points, &options).unwrap())
        })
        .map(|found| format!("{found:?}"))
        .collect();
    for (tasks, manner) in
        [(1, Manner::Plain), (6, Manner::Plain), (2, Manner::Wild(1)), (100, Manner::Wild(2))]
    {
        let plan = Plan::new(question.clone(), &all, tasks, &Deadline::NEVER).unwrap();
        let (Answer::Dimensions(found), _) = answer(&reread(&plan), manner) else { panic!("another answer") };
        let found: Vec<String> = found.iter().map(|found| format!("{found:?}")).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn sliced_trainings_are_the_same_bit_by_bit() {
    let inputs = Matrix::from_fn(12, 1, |i, _| i as f64 / 12.0);
    let targets = Matrix::from_fn(12, 1, |i, _| (i as f64 / 3.0).sin());
    for (every, single) in [(3, true), (0, false), (50, true)] {
        let options = TrainOptions::paper(&[1, 4, 1], 10);
        let track = TrackOptions::new().every(every).dimension(true);
        let starts: Vec<_> = (5..8).map(TrainStart::Seed).collect();
        let runs = match single {
            true => train::<f32, TrainError>(&options, &track, &inputs, &targets, &starts).unwrap(),
            false => train::<f64, TrainError>(&options, &track, &inputs, &targets, &starts).unwrap(),
        };
        let expected: Vec<_> = runs.into_iter().map(|run| run.unwrap().state).collect();
        let group = TrainingGroup::new(&options, &track, (&inputs, &targets), (5, 3), single);
        let question = TrainingQuestion::new(vec![group]);
        let plan = Plan::new(question, &[], 2, &Deadline::NEVER).unwrap();
        for manner in [Manner::Plain, Manner::Wild(every)] {
            let (Answer::Trainings(found), _) = answer(&reread(&plan), manner) else {
                panic!("another answer")
            };
            let found: Vec<_> = found.into_iter().map(|run| run.state).collect();
            assert_eq!(found, expected, "every {every}");
        }
    }
}

#[test]
fn draws_add_up() {
    let widths = [3, 3, 2, 1];
    for samples in [0, 1, 1000, 5000, 700_001] {
        let expected = monte_carlo(&widths, samples, 9, &Deadline::NEVER).unwrap();
        for (tasks, manner) in [(1, Manner::Plain), (7, Manner::Wild(3))] {
            let plan =
                Plan::new(VolumeQuestion::new(&widths, samples, 9), &[], tasks, &Deadline::NEVER).unwrap();
            let (Answer::Volume(found), _) = answer(&reread(&plan), manner) else { panic!("another answer") };
            assert_eq!(found, expected);
        }
    }
}
