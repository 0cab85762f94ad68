//! Surveys: rows are what the questions answer, whatever the threads and the tasks.
use fiberscope::anatomy::examine;
use fiberscope::complex::{ComplexOptions, walk_regions};
use fiberscope::core::{Role, Sign};
use fiberscope::fiber::{Identifiability, volume};
use fiberscope::rigidity::{RigidityOptions, rigidity};
use fiberscope::survey::{Measure, Plan, PlanError, Row, Task, Training, rows};
use fiberscope::train::{Samples, Task as Data, TrainOptions, Trainer};
use fiberscope::{Deadline, Domain};

fn all_rows(plan: &Plan) -> Vec<Row> {
    plan.tasks().iter().flat_map(|task| rows(plan, task, &Deadline::NEVER).unwrap()).collect()
}

#[test]
fn rows_are_what_the_questions_answer() {
    let widths = vec![vec![2, 3, 2, 1], vec![3, 3, 2, 1], vec![2, 3, 1]];
    let plan = Plan::new(widths, 20, Measure::ALL.to_vec()).unwrap();
    let found = all_rows(&plan);
    assert_eq!(found.len(), 60);
    let mut missed = 0;
    for (at, row) in found.iter().enumerate() {
        let network = plan.network(at / 20, row.seed);
        let value =
            |measure: Measure| row.values[Measure::ALL.iter().position(|&each| each == measure).unwrap()];
        let anatomy = examine(&network, &Domain::Space, &Deadline::NEVER);
        let expected = match anatomy.identifiability {
            Identifiability::Yes { .. } => Some(1.0),
            Identifiability::No { .. } => Some(0.0),
            Identifiability::Unknown { .. } => None,
        };
        assert_eq!(value(Measure::Identifiable), expected);
        assert_eq!(value(Measure::Hidden), Some(anatomy.hidden.len() as f64));
        assert_eq!(
            value(Measure::FiberDimension),
            anatomy.fiber.and_then(|facts| facts.dimension).map(|d| d as f64)
        );
        let walked = walk_regions(&network, &Domain::Space, &ComplexOptions::new()).unwrap();
        let regions = walked.sign_vectors(&network);
        assert_eq!(value(Measure::Regions), Some(regions.len() as f64));
        // What a neuron does is what it does on all regions.
        let signs: Vec<Vec<Sign>> = regions.iter().map(|region| region.signs().collect()).collect();
        let neurons = 0..signs[0].len();
        let is_on = |neuron: usize| signs.iter().map(move |signs| signs[neuron] == Sign::Positive);
        let dead = neurons.clone().filter(|&neuron| !is_on(neuron).any(|on| on)).count();
        let linear = neurons.filter(|&neuron| is_on(neuron).all(|on| on)).count();
        assert_eq!(value(Measure::Dead), Some(dead as f64), "{at}");
        assert_eq!(value(Measure::Linear), Some(linear as f64), "{at}");
        let proved = |role: Role| anatomy.roles.iter().flatten().filter(|&&each| each == role).count();
        missed += linear - proved(Role::Linear);
        assert!(dead + linear <= proved(Role::Dead) + proved(Role::Linear) + anatomy.undecided.len());
        let rigid = rigidity(&network, &Domain::Space, &RigidityOptions::new()).unwrap();
        assert_eq!(value(Measure::LocallyIdentifiable) == Some(1.0), rigid.is_proved());
        let rank = value(Measure::FunctionalDimension).unwrap();
        assert!(rigid.rank as f64 <= rank && rank <= (rigid.parameters - rigid.scalings) as f64);
    }
    assert!(missed > 0, "bounds alone find all linear neurons here");
}

#[test]
fn neither_threads_nor_tasks_matter() {
    let mut plan =
        Plan::new(vec![vec![2, 4, 3, 1]], 70, vec![Measure::LocallyIdentifiable, Measure::Regions]).unwrap();
    plan.seed = 5;
    let whole = all_rows(&plan);
    assert!(plan.tasks().len() > 1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(pool.install(|| all_rows(&plan)), whole);
    let part = rows(&plan, &Task { axis: 0, first: 50, count: 7 }, &Deadline::NEVER).unwrap();
    assert_eq!(part, whole[45..52]);
    let over = Deadline::after(Some(std::time::Duration::ZERO));
    assert_eq!(rows(&plan, &plan.tasks()[0], &over), None);
}

/// The fraction of identifiable parameters is 193/256 for widths 3-3-2-1, within five standard errors.
#[test]
fn frequencies_are_near_the_exact_fraction() {
    for widths in [vec![3, 3, 2, 1], vec![2, 2, 2, 1]] {
        let exact = volume(&widths).unwrap().exact.to_f64();
        let plan = Plan::new(vec![widths], 4000, vec![Measure::Identifiable]).unwrap();
        let found = all_rows(&plan);
        let mean = found.iter().map(|row| row.values[0].unwrap()).sum::<f64>() / 4000.0;
        assert!((mean - exact).abs() < 5.0 * (exact * (1.0 - exact) / 4000.0).sqrt(), "{mean} {exact}");
    }
}

#[test]
fn plans_that_cannot_be_are_refused() {
    let with = |widths: Vec<usize>| Plan::new(vec![widths], 1, vec![Measure::Dead]);
    assert!(matches!(with(vec![3]), Err(PlanError::Widths(_))));
    assert!(matches!(with(vec![3, 0, 1]), Err(PlanError::Widths(_))));
    assert!(matches!(with(vec![usize::MAX, usize::MAX, 1]), Err(PlanError::TooLarge(_))));
    assert_eq!(Plan::new(vec![], 1, vec![Measure::Dead]), Err(PlanError::NoWidths));
    assert_eq!(Plan::new(vec![vec![1, 1]], 1, vec![]), Err(PlanError::NoMeasures));
    let mut plan = with(vec![2, 2, 1]).unwrap();
    plan.interval = Some((1.0, 1.0));
    assert!(matches!(plan.check(), Err(PlanError::Interval(..))));
    (plan.interval, plan.seed) = (None, u64::MAX);
    assert!(matches!(plan.check(), Err(PlanError::Seeds(..))));
}

/// A trained network of a survey is the one that a training from its seed ends with; of a task with more inputs it is
/// given the first ones.
#[test]
fn networks_are_trained_before_they_are_measured() {
    let mut changed = 0;
    for (task, widths) in [("f1", vec![1, 4, 3, 1]), ("heating", vec![2, 4, 3, 1])] {
        let mut plan = Plan::new(vec![widths.clone()], 4, vec![Measure::Regions, Measure::Dead]).unwrap();
        (plan.seed, plan.training) = (5, Some(Training { task: task.into(), epochs: 12 }));
        plan.check().unwrap();
        let found = all_rows(&plan);
        let (inputs, targets) = Data::from_name(task).unwrap().samples();
        let inputs = inputs.select_columns(&(0..widths[0]).collect::<Vec<_>>());
        let options = TrainOptions::paper(&widths, 12);
        let samples = Samples::<f32>::new(&inputs, &targets);
        for row in &found {
            let mut trainer = Trainer::new(&options, &samples, row.seed);
            (0..12).for_each(|_| _ = trainer.run_epoch(&Deadline::NEVER).unwrap());
            let count = |network: &fiberscope::Network| {
                let walked = walk_regions(network, &Domain::Space, &ComplexOptions::new()).unwrap();
                Some(walked.sign_vectors(network).len() as f64)
            };
            assert_eq!(row.values[0], count(&trainer.network().unwrap()), "{task} {}", row.seed);
            changed += usize::from(row.values[0] != count(&plan.network(0, row.seed)));
        }
    }
    assert!(changed > 0, "training changed nothing");
    let with = |widths: &[usize], task: &str| {
        let mut plan = Plan::new(vec![widths.to_vec()], 1, vec![Measure::Dead]).unwrap();
        plan.training = Some(Training { task: task.into(), epochs: 1 });
        plan.check()
    };
    assert_eq!(with(&[1, 2, 1], "f9"), Err(PlanError::Task("f9".into())));
    assert!(matches!(with(&[2, 2, 1], "f1"), Err(PlanError::TaskWidths(_, 1, _))));
    assert!(matches!(with(&[1, 2, 2], "f1"), Err(PlanError::TaskWidths(..))));
}
