//! The experiments of "Empirical NTK tracks task complexity": what is run, and what the paper says.

use fiberscope::limit::Deadline;
use fiberscope::tasks::TrainingGroup;
use fiberscope::train::{
    Decay, Task, TrackOptions, TrainError, TrainEvent, TrainOptions, TrainRecord, TrainStart, train,
};
use fiberscope_core::Matrix;

/// A run counts if it fits the data so well.
pub const SUCCESS: f64 = 0.9;

/// An experiment: groups of trainings that differ in one thing.
#[derive(Clone, Debug)]
pub struct Experiment {
    pub name: &'static str,
    pub title: &'static str,
    /// What the paper says.
    pub claim: &'static str,
    pub kind: Kind,
    pub groups: Vec<Group>,
    pub seeds: u64,
    pub epochs: u64,
    pub every: u64,
    /// The width of the four hidden layers.
    pub hidden: usize,
}

/// The width of the paper's hidden layers.
pub const HIDDEN: usize = 10;

/// The widths of hidden layers that the sweep compares.
pub const SWEEP: [usize; 3] = [5, 10, 15];

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// At initialisation the mean is below a number, one per group.
    Below,
    /// At the end of training the means grow from group to group.
    Rising,
    /// They fall.
    Falling,
    /// In each run functional dimension and regions are correlated.
    Correlated,
}

/// Trainings from several seeds.
#[derive(Clone, Debug)]
pub struct Group {
    pub label: &'static str,
    pub task: Task,
    pub weight_decay: f64,
    /// The paper's number for the group, if it gives one: an upper bound at initialisation.
    pub paper: Option<f64>,
    /// Seeds, where they are not those of the experiment.
    pub seeds: Option<u64>,
    /// Belongs to the comparison; others are shown for what they tell about it.
    pub compared: bool,
}

impl Group {
    fn new(label: &'static str, task: &str) -> Self {
        let task = Task::from_name(task).expect("a task of ours");
        Group { label, task, weight_decay: 1e-4, paper: None, seeds: None, compared: true }
    }
}

pub const NAMES: [&str; 7] = [
    "ntk-init",
    "ntk-univariate",
    "ntk-bivariate",
    "ntk-energy",
    "ntk-weight-decay",
    "ntk-regions",
    "ntk-sweep",
];

/// The experiment of that name.
pub fn experiment(name: &str) -> Option<Experiment> {
    let fs = || vec![Group::new("f1", "f1"), Group::new("f2", "f2"), Group::new("f3", "f3")];
    Some(match name {
        "ntk-init" => Experiment {
            name: "ntk-init",
            title: "The functional dimension at initialisation",
            claim: "on average below 20 (1-D), below 60 (2-D) and below 400 (energy): far below full rank",
            kind: Kind::Below,
            groups: vec![
                Group { paper: Some(20.0), seeds: Some(200), ..Group::new("1-D", "f1") },
                Group { paper: Some(60.0), seeds: Some(50), ..Group::new("2-D", "g1") },
                Group { paper: Some(400.0), seeds: Some(20), ..Group::new("energy", "heating") },
            ],
            seeds: 200,
            epochs: 0,
            every: 1,
            hidden: HIDDEN,
        },
        "ntk-univariate" => Experiment {
            name: "ntk-univariate",
            title: "Functions of one variable (the paper's Figure 2)",
            claim: "the functional dimension after training grows with the complexity of the function: f1 < f2 < f3",
            kind: Kind::Rising,
            groups: fs(),
            seeds: 15,
            epochs: 6000,
            every: 50,
            hidden: HIDDEN,
        },
        "ntk-bivariate" => Experiment {
            name: "ntk-bivariate",
            title: "Functions of two variables (the paper's Figure 9)",
            claim: "the functional dimension after training grows with the complexity of the function: g1 < g2 < g3",
            kind: Kind::Rising,
            groups: vec![Group::new("g1", "g1"), Group::new("g2", "g2"), Group::new("g3", "g3")],
            seeds: 20,
            epochs: 3000,
            every: 100,
            hidden: HIDDEN,
        },
        "ntk-energy" => Experiment {
            name: "ntk-energy",
            title: "Energy efficiency (the paper's Figure 3)",
            claim: "cooling loads, which are harder to predict, give a higher functional dimension than heating loads",
            kind: Kind::Rising,
            groups: vec![
                Group::new("heating", "heating"),
                Group::new("cooling", "cooling"),
                Group { compared: false, ..Group::new("heating, min-max", "heating-minmax") },
                Group { compared: false, ..Group::new("cooling, min-max", "cooling-minmax") },
            ],
            seeds: 10,
            epochs: 1000,
            every: 25,
            hidden: HIDDEN,
        },
        "ntk-weight-decay" => Experiment {
            name: "ntk-weight-decay",
            title: "Weight decay (the paper's Figure 4)",
            claim: "stronger weight decay gives a lower functional dimension after training",
            kind: Kind::Falling,
            groups: vec![
                Group { weight_decay: 0.0, ..Group::new("decay 0", "f2") },
                Group { weight_decay: 1e-4, ..Group::new("decay 1e-4", "f2") },
                Group { weight_decay: 1e-3, ..Group::new("decay 1e-3", "f2") },
            ],
            seeds: 10,
            epochs: 2000,
            every: 50,
            hidden: HIDDEN,
        },
        "ntk-regions" => Experiment {
            name: "ntk-regions",
            title: "Regions sampled (the paper's Figures 5 and 6)",
            claim: "during training the functional dimension is strongly correlated with the number of regions sampled",
            kind: Kind::Correlated,
            groups: fs()
                .into_iter()
                .chain([Group::new("heating", "heating"), Group::new("cooling", "cooling")])
                .collect(),
            seeds: 5,
            epochs: 1000,
            every: 50,
            hidden: HIDDEN,
        },
        "ntk-sweep" => Experiment {
            name: "ntk-sweep",
            title: "Widths and epochs (the claim of the paper's Figure 2)",
            claim: "the functional dimension after training grows with the complexity of the function: f1 < f2 < f3",
            kind: Kind::Rising,
            groups: fs(),
            seeds: 10,
            epochs: 4000,
            every: 100,
            hidden: HIDDEN,
        },
        _ => return None,
    })
}

impl Experiment {
    /// With other numbers of seeds and epochs; `quick` has a tenth of the epochs and a third of the seeds.
    pub fn sized(mut self, seeds: Option<u64>, epochs: Option<u64>, quick: bool) -> Self {
        if quick {
            self.seeds = self.seeds.div_ceil(3).max(2);
            self.epochs /= 10;
            self.every = (self.every / 5).max(1);
            self.groups.iter_mut().for_each(|g| g.seeds = g.seeds.map(|seeds| seeds.div_ceil(3)));
        }
        if let Some(seeds) = seeds {
            self.seeds = seeds;
            self.groups.iter_mut().for_each(|group| group.seeds = None);
        }
        if let Some(epochs) = epochs.filter(|_| self.kind != Kind::Below) {
            self.epochs = epochs;
            self.every = self.every.min((epochs / 4).max(1));
        }
        self
    }

    /// The records of every seed of every group, in order; `None` of a seed that was stopped by the deadline.
    pub fn run(
        &self,
        first_seed: u64,
        deadline: &Deadline,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<Vec<Vec<Vec<TrainRecord>>>, TrainError> {
        self.groups.iter().map(|group| self.run_group(group, first_seed, deadline, progress)).collect()
    }

    /// The same trainings for many workers.
    pub fn tasks(&self, first_seed: u64) -> Vec<TrainingGroup> {
        let of_group = |group: &Group| {
            let (inputs, targets) = group.task.samples();
            let track = TrackOptions::new().every(self.every).dimension(true);
            let (options, seeds) = (self.options(group, &inputs), (first_seed, self.seeds_of(group)));
            TrainingGroup::new(&options, &track, (&inputs, &targets), seeds, true)
        };
        self.groups.iter().map(of_group).collect()
    }

    /// How many seeds a group has.
    pub fn seeds_of(&self, group: &Group) -> u64 {
        group.seeds.unwrap_or(self.seeds)
    }

    fn options(&self, group: &Group, inputs: &Matrix) -> TrainOptions {
        let hidden = self.hidden;
        let widths = [inputs.cols(), hidden, hidden, hidden, hidden, 1];
        TrainOptions::paper(&widths, self.epochs).weight_decay(group.weight_decay, Decay::Coupled)
    }

    fn run_group(
        &self,
        group: &Group,
        first_seed: u64,
        deadline: &Deadline,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<Vec<Vec<TrainRecord>>, TrainError> {
        let (inputs, targets) = group.task.samples();
        let (options, seeds) = (self.options(group, &inputs), self.seeds_of(group));
        let starts: Vec<_> = (first_seed..first_seed + seeds).map(TrainStart::Seed).collect();
        let on = |event: TrainEvent| {
            if let TrainEvent::Record(record) = event {
                progress(&format!(
                    "{}: {}, seed {}, epoch {} of {}",
                    self.name, group.label, record.seed, record.epoch, self.epochs
                ));
            }
            Ok::<(), TrainError>(())
        };
        let track =
            TrackOptions::new().every(self.every).dimension(true).deadline(deadline.clone()).listener(&on);
        let runs = train::<f32, TrainError>(&options, &track, &inputs, &targets, &starts)?;
        runs.into_iter().map(|run| Ok(run?.state.records)).collect()
    }

    /// The experiment with hidden layers of another width.
    pub fn of_width(self, hidden: usize) -> Self {
        Experiment { hidden, ..self }
    }

    /// The name of its files.
    pub fn stem(&self) -> String {
        if self.hidden == HIDDEN && self.name != "ntk-sweep" {
            self.name.to_owned()
        } else {
            format!("{}-width-{}", self.name, self.hidden)
        }
    }

    /// How long it takes on one core, about.
    pub fn seconds(&self) -> f64 {
        // Measured: for a step of training, and for a point whose rank is taken, with the paper's widths.
        const STEP: f64 = 12e-6;
        const POINT: f64 = 36e-6;
        let size = 0.6 + 0.4 * (self.hidden as f64 / HIDDEN as f64).powi(2);
        let of_group = |group: &Group| {
            let (seeds, (inputs, _)) = (self.seeds_of(group), group.task.samples());
            let records = 1 + self.epochs.checked_div(self.every).unwrap_or(0);
            let steps = self.epochs * (inputs.rows() as u64).div_ceil(16);
            let points = records * inputs.rows() as u64;
            size * seeds as f64 * (STEP * steps as f64 + POINT * points as f64)
        };
        self.groups.iter().map(of_group).sum()
    }

    /// Whether a run counts: it reached the last epoch and fits the data.
    pub fn counts(&self, run: &[TrainRecord]) -> bool {
        run.last().is_some_and(|last| last.epoch == self.epochs && (self.epochs == 0 || last.score > SUCCESS))
    }
}
