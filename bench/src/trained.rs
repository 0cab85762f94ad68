//! Networks that fit the heating loads of buildings.

use std::error::Error;

use fiberscope::Deadline;
use fiberscope::core::Network;
use fiberscope::train::{Samples, Task, TrainOptions, Trainer};

/// A network that begins as the random one of its seed and fits the heating loads (Adam, rate 0.01, batches of 64); of
/// fewer than eight inputs it is given the first ones.
pub fn fitted(widths: &[usize], seed: u64, epochs: u64) -> Result<Network, Box<dyn Error>> {
    let (inputs, targets) = Task::from_name("heating").ok_or("a task")?.samples();
    let inputs = inputs.select_columns(&(0..widths[0]).collect::<Vec<_>>());
    let options = TrainOptions::paper(widths, epochs).batch(64);
    options.check(&inputs, &targets)?;
    let samples = Samples::<f64>::new(&inputs, &targets);
    let mut trainer = Trainer::new(&options, &samples, seed);
    for _ in 0..epochs {
        trainer.run_epoch(&Deadline::NEVER);
    }
    Ok(trainer.network().ok_or("training diverged")?)
}
